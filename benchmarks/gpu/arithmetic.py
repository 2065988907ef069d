"""The numbers of a GPU, without one: what products, casts and float32 programs become on described cards.

    python benchmarks/gpu/arithmetic.py

Of each program and option it prints the dtypes and the precision of its products and what computes them, how many
roundings there are, and how many instructions have float64. XLA's GPU compiler must be installed
(`benchmarks/gpu/target.py` says how); nothing is run.
"""

import re
import sys

import ml_dtypes
import numpy as np

from wengert import grad, jit
from wengert.benchmarks.gpu.target import CARDS, described, refusal

BF, F8 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn
X = np.ones((256, 256), np.float32)
H = X.astype(BF)
VALUE = re.compile(r"(%?[\w.-]+) = \(?(\w+)\[")
PRODUCT = re.compile(r"(?:%?[\w.-]+) = \(?(\w+)\[[^=]*? (dot|custom-call)\(([^)]*)\)(.*)")
PRECISION, TARGET = re.compile(r"operand_precision=\{(\w+)"), re.compile(r'custom_call_target="([^"]*)"')


def in_bf16(x, y):
    """A product of matrices as mixed precision has it."""
    return (x.astype(BF) @ y.astype(BF)).astype(BF)


PROGRAMS = {
    "x @ y": (lambda x, y: x @ y, (X, X), {}),
    "x @ y, high": (lambda x, y: x @ y, (X, X), {"precision": "high"}),
    "x @ y, default": (lambda x, y: x @ y, (X, X), {"precision": "default"}),
    "gradient of it, default": (grad(jit(lambda x, y: (x @ y).sum(), precision="default")), (X, X), {}),
    "np.convolve": (lambda x, y: np.convolve(x[0], y[0]), (X, X), {}),
    "np.convolve, default": (lambda x, y: np.convolve(x[0], y[0]), (X, X), {"precision": "default"}),
    "bf16 @ bf16": (lambda x, y: x @ y, (H, H), {}),
    "np.dot of bf16": (np.dot, (H, H), {}),
    "float32 cast to bf16": (lambda x, y: in_bf16(x, y), (X, X), {}),
    "gradient of it": (grad(lambda x, y: np.tanh(in_bf16(x, y)).sum()), (X, X), {}),
    "exp(h) * h + h": (lambda x, y: np.exp(x) * y + x, (H, H), {}),
    "to bf16 and back": (lambda x, y: x.astype(BF).astype(np.float32) + y, (X, X), {}),
    "to f8 and back": (lambda x, y: x.astype(F8).astype(np.float32) + y, (X, X), {}),
    "float64 to float32 and back": (lambda x, y: x.astype(np.float32).astype(float) + y, (X.astype(float), X), {}),
    "x / np.sqrt(2)": (lambda x, y: x / np.sqrt(2) + y, (X, X), {}),
    "x / np.sqrt(2), weak": (lambda x, y: x / np.sqrt(2) + y, (X, X), {"promote": "weak"}),
    "x * integers, weak": (lambda x, y: x * np.arange(256) + y, (X, X), {"promote": "weak"}),
}


def products_in(text):
    """Of each product in an executable: dtypes of the factors and of the result, precision, what computes it."""
    found, types = [], {}
    for line in text.splitlines():
        if made := VALUE.search(line):
            types[made[1].lstrip("%")] = made[2]
        if (product := PRODUCT.search(line)) is None:
            continue
        result, op, operands, rest = product.groups()
        target = TARGET.search(rest)
        if op == "custom-call" and not (target and re.search("gemm|conv|matmul|dot", target[1])):
            continue
        names = re.findall(r"%([\w.-]+)", operands)[:2]
        precision = PRECISION.search(rest)
        by = target[1] if target else "a kernel of XLA's"
        taken = " x ".join(types.get(n, "?") for n in names)
        found.append(f"{taken} -> {result}, {precision[1] if precision else 'default'}, {by}")
    return list(dict.fromkeys(found))


def wide_instructions(text):
    """How many instructions have float64 or complex128, parameters left out."""
    return sum(bool(re.search(r"= \(?(f64|c128)\[", line)) and " parameter(" not in line for line in text.splitlines())


def main():
    if why := refusal():
        sys.exit(why)
    cards = {card: described(card) for card in CARDS}
    print(f"{'program':28} {'card':6} {'roundings':>9} {'float64':>8}  products")
    for name, (f, args, options) in PROGRAMS.items():
        for card, device in cards.items():
            text = jit(f, device=device, **options).text("hlo", *args)
            roundings, wide = text.count(" reduce-precision("), wide_instructions(text)
            print(f"{name:28} {card:6} {roundings:9} {wide:8}  {'; '.join(products_in(text))}")


if __name__ == "__main__":
    main()
