"""The constants of one machine that decide whether a rule or a lowering is applied, measured again: today's value
beside the one in the code.

    python benchmarks/tune.py [NAME...]

Each gate is asked at several sizes: one program is compiled with the gate open and once with it shut, and the two take
turns. Its value today is the first size from which the special form takes less than 0.95 of the time at every size
(`up to`: the last size up to which it does). The ratios, shut/open, stand beside it: above 1 the special form is
quicker. What is measured is the gate as a whole, on the way a user's call goes, of one program: a ratio near 1 may also
say that another condition shut the gate both times. On a machine that others use, ratios are some 0.3 off.
"""

import dataclasses
import importlib
import sys
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from wengert import jit
from wengert.benchmarks.timing import interleave, table

RNG = np.random.default_rng(0)
draw = RNG.standard_normal
ENOUGH = 1 / 0.95  # shut/open from which the special form is worth its place
ALL, NONE = 0, 1 << 60  # of a constant from which a form is taken: at every size, and at none


@dataclasses.dataclass
class Gate:
    """program: size -> (function, arguments), at a size counted as the constant counts.

    taken, left: the constant with which the special form is taken at all sizes that are tried, and at none.
    engine: that compiles it, as `jit` is told.
    """

    program: Callable[[int], tuple[Callable[..., Any], tuple[Any, ...]]]
    sizes: Sequence[int]
    taken: int = ALL
    left: int = NONE
    up_to: bool = False
    engine: str = "xla"


def sums_of_products(rows):
    return (lambda x, y, z: x @ y + x @ z), (draw((rows, 64)), draw((64, 64)), draw((64, 64)))


def inverse(rows):
    return (lambda a, b: np.linalg.inv(a) @ b), (draw((rows, rows)) + rows * np.eye(rows), draw(rows))


def windowed(products):
    channels, results = 8, products // 8

    def f(x, w):
        return np.tensordot(np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(0, 1)), w, ((2, 3, 4), (0, 1, 2)))

    return f, (draw((64, 64, channels)).astype("f4"), draw((channels, 3, 3, results)).astype("f4"))


def by_rows(elements):
    n = int(elements**0.5)

    def f(a, b):
        out = np.zeros(a.shape)
        for i in range(a.shape[0]):
            out[i] = a[i] @ b
        return out

    return f, (draw((n, n)), draw((n, n)))


def half_power(elements):
    return (lambda x: x**1.5), (np.abs(draw(elements)),)


def filtered(elements):
    return (lambda x, k: np.convolve(x, k, "valid")), (draw(elements + 6), draw(7))


def sorted_row(elements):
    return np.sort, (draw(elements),)


def columns(number):
    return (lambda x: x.sum(axis=0)), (draw((256, number)),)


def in_both_transposed(terms):
    return (lambda x, y: x.T @ y.T), (draw((terms, 256)), draw((256, terms)))


def first_greatest(elements):
    return (lambda x: x.argmax(axis=1)), (draw((4096, elements)),)


def thin(rows):
    return (lambda x, y: x.T @ y.T), (draw((512, rows)).astype("f4"), draw((512, 512)).astype("f4"))


def of_a_computed_matrix(elements):
    n = int(elements**0.5)
    return (lambda x, v: np.exp(-np.abs(x[:, None] - x)) @ v), (draw(n), draw(n))


def short_axis(length):
    return (lambda x: x.sum(axis=1)), (draw((256, length, 256)),)


def swept(elements):
    def f(x):
        for _ in range(4):
            x = np.tanh(x) * 0.5 + 1.0
        return x

    return f, (draw(elements),)


def exponentials_by_rows(elements):
    def f(a):
        out = np.zeros(a.shape)
        for i in range(a.shape[0]):
            out[i] = np.exp(a[i]) + out[i - 1]
        return out

    return f, (draw((512, elements)),)


def small_products_by_rows(multiplications):
    n = int(multiplications**0.5)

    def f(a, b):
        out = np.zeros(a.shape)
        for i in range(1, a.shape[0]):
            out[i] = np.tanh((a[i] + out[i - 1]) @ b)
        return out

    return f, (draw((64, n)), draw((n, n)) / n)


def sum_of_columns(elements):
    def f(a):
        s = np.zeros(a.shape[2])
        for i in range(a.shape[0]):
            s = s * 0.5 + a[i].sum(axis=0)
        return s

    return f, (draw((64, 64, elements)),)


def clipped(elements):
    return (lambda x, low, high: np.clip(x, low, high)), (draw(elements), -1.0, 1.0)


def scan_of_rows(elements):
    return (lambda x, y: np.cumsum(x * y, axis=0)), (draw((512, elements)), draw((512, elements)))


def grown_products(elements):
    return (lambda x: np.cumprod(x, axis=0)), (1 + draw((512, elements)) / 512,)


def weights(elements):
    return (lambda x: x / np.sqrt((x * x).sum(axis=-1, keepdims=True))), (draw((elements, 4)),)


def few_rows(rows):
    return (lambda x: x.sum(axis=0)), (draw((rows, 4096)),)


def moved_ahead(elements):
    def f(a):
        for _ in range(64):
            b = a[1:] * 0.5 + a[:-1] * 0.5
            a[:-1] = b
            a[0] = b.sum() if b[0] > 0 else 0.0
        return a

    return f, (draw(elements),)


GATES = {
    "ir.passes.loops.WIDE": Gate(swept, (1 << 12, 1 << 14, 1 << 16, 1 << 18)),
    "ir.rules.sums.ENOUGH": Gate(sums_of_products, (2, 4, 8, 16, 32, 128)),
    "ir.rules.contractions.LEAST": Gate(inverse, (9, 12, 17, 33)),  # programs of smaller ones do not come to this gate
    "ir.rules.windows.FEATURES": Gate(windowed, (8, 16, 64, 256)),
    "ir.passes.products.LEAST": Gate(by_rows, (64, 256, 1024, 4096)),
    "backends.xla.powers.LARGE": Gate(half_power, (1 << 10, 1 << 12, 1 << 14, 1 << 16)),
    "backends.xla.signal.LARGE": Gate(filtered, (256, 1024, 4096, 16384)),
    "backends.xla.radix_sort.LEAST": Gate(sorted_row, (64, 256, 512, 1024, 4096)),
    "backends.xla.reduction.COLUMNS": Gate(columns, (512, 1024, 4096, 16384)),
    "backends.xla.reduction.LONG": Gate(first_greatest, (8, 16, 32, 64, 256)),
    "backends.xla.reduction.SHORT": Gate(short_axis, (2, 4, 8, 16, 32), NONE, ALL, up_to=True),
    "backends.xla.linalg.FEW": Gate(in_both_transposed, (16, 32, 64, 128)),
    "backends.xla.linalg.LARGE": Gate(of_a_computed_matrix, (1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22)),
    "backends.xla.linalg.THIN": Gate(thin, (8, 16, 32, 64, 128), NONE, ALL, up_to=True),
    "backends.native.region.ROW": Gate(exponentials_by_rows, (2, 4, 8, 16, 32), NONE, ALL, True),
    "backends.native.region.PRODUCT": Gate(small_products_by_rows, (64, 1024, 4096, 1 << 14, 1 << 16), NONE, ALL, True),
    "backends.native.reduce.ROW": Gate(sum_of_columns, (2, 4, 8, 16, 64)),
    "backends.numpy.templates.SHORT": Gate(clipped, (1 << 10, 1 << 12, 1 << 14, 1 << 16), NONE, ALL, True, "numpy"),
    "backends.xla.reduction.ROWS": Gate(few_rows, (8, 16, 32, 128)),
    "backends.xla.reduction.ROW": Gate(scan_of_rows, (2, 4, 8, 16, 32)),
    "backends.xla.reduction.MANY": Gate(weights, (64, 256, 512, 2048)),
    "backends.xla.write_after_read.LEAST": Gate(moved_ahead, (64, 256, 512, 4096)),
}


class Asked(int):
    """A number that knows whether it has been compared: a program that never comes to its gate measures nothing."""

    compared = False

    def _noting(name):
        def method(self, other):
            self.compared = True
            return getattr(int, name)(self, other)

        return method

    __lt__, __le__, __gt__, __ge__, __mul__, __rmul__, __floordiv__ = map(_noting, (
        "__lt__", "__le__", "__gt__", "__ge__", "__mul__", "__rmul__", "__floordiv__",
    ))


@contextmanager
def at(name, value):
    """The constant of that name is another for a while."""
    module, constant = place(name)
    before = getattr(module, constant)
    setattr(module, constant, value)
    try:
        yield
    finally:
        setattr(module, constant, before)


def place(name):
    """(module, name of the constant in it)"""
    module, _, constant = name.rpartition(".")
    return importlib.import_module(f"wengert.{module}"), constant


def compiled(name, f, arguments, value, engine="xla"):
    """A program compiled with the constant at a value; LookupError where nothing compares it."""
    form, asked = jit(lambda *xs: f(*xs), engine=engine, cache=False), Asked(value)
    with at(name, asked):
        form(*arguments)
    if not asked.compared:
        raise LookupError(f"{name} is not asked about by {f.__name__} on {[np.shape(x) for x in arguments]}")
    return form


def ratio(name, gate, size):
    """How many times as long a program takes with the gate shut as with it open."""
    f, arguments = gate.program(size)
    forms = {side: compiled(name, f, arguments, getattr(gate, side), gate.engine) for side in ("taken", "left")}
    times = interleave({side: lambda g=g: g(*arguments) for side, g in forms.items()}, 0.1, 15, 15)
    return times["left"] / times["taken"]


def today(gate, ratios):
    """The size from which, or up to which, the special form pays; the text says where that is at none, or at all that
    were tried."""
    pays = [r > ENOUGH for r in ratios] if gate.up_to else [r > ENOUGH for r in ratios][::-1]
    sizes = list(gate.sizes) if gate.up_to else list(gate.sizes)[::-1]
    count = pays.index(False) if False in pays else len(pays)
    return (
        f"{sizes[count - 1]}"
        if 0 < count < len(pays)
        else "none"
        if not count
        else f"{'>=' if gate.up_to else '<='}{sizes[-1]}"
    )


def main(names):
    rows = []
    for name in names or GATES:
        gate = GATES[name]
        ratios = [ratio(name, gate, size) for size in gate.sizes]
        found = ", ".join(f"{size}: {r:.2f}" for size, r in zip(gate.sizes, ratios))
        rows.append([name, str(getattr(*place(name))), today(gate, ratios), found])
    table(rows, ["gate", "in the code", "today", "shut/open at each size"])


if __name__ == "__main__":
    main(sys.argv[1:])
