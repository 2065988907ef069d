"""Random straight programs of arrays of changing sizes: one generated function for all sizes against plain Python.

    python tests/helpers/random_size_free.py 0 200 [--show] [--nests]

--nests makes their straight lines nests. `outcome(seed)` is "agree", "none: why" where there is no function for all sizes, or a description
of a difference.
"""

import argparse
import copy
import linecache
import random

import jax
import numpy as np
from compare import agree

from wengert import grad, jit
from wengert.ir.types import type_of
from wengert.tracer.call.family import NoFamily, family
from wengert.tracer.guards.guard import Read
from wengert.tracer.program.numpy_function import MISS
from wengert.tracer.program.size_free import SizeFree, Unalike

HEAD = "import numpy as np\ndef f(a, b, m, q, s):\n"
# of each kind of value, expressions: V vectors of n, W of n - 1, D of 2n, M matrices of n rows, Q square ones, S numbers
STEPS = {
    "V": ("{V} + {V}", "{V} * {S}", "np.tanh({V})", "np.where({V} > {V}, {V}, {S})", "np.sort({V})", "np.cumsum({V}) / len({V})",
          "{M}.sum(1)",
          "{M} @ np.arange(4.0)", "{Q} @ {V}", "{Q}.mean(0)", "np.diag({Q})", "{V}[::-1]", "{D}[::2]", "{D}[:len({V})]", "np.roll({V}, 2)",
          "{V} - {V}.mean()",
          "np.append({W}, {S})", "np.concatenate([{W}, {V}[:1]])", "np.abs({V}) / np.sqrt(len({V}))", "{V}.astype(np.float32).astype(float)",
          "{V} * np.arange({V}.shape[0])", "{V}[np.argsort({V})]", "np.clip({V}, -1.0, {S})", "np.maximum.accumulate({V})", "np.full({V}.shape, {S})",
          "np.linspace({S}, 1.0, {V}.size)", "({V} > 0) * 1.0", "np.minimum({V}, np.ones_like({V}))", "{M}[:, 1]", "{Q}[0]", "{M}.T[2]"),
    "W": ("np.diff({V})", "{V}[1:]", "{V}[:-1] * {V}[1:]", "{W} - {W}", "{V}[:-1].copy()", "np.exp(-np.abs({W}))"),
    "D": ("np.concatenate([{V}, {V}])", "np.repeat({V}, 2)", "np.tile({V}, 2)", "np.stack([{V}, {V}]).ravel()",
          "np.stack([{V}, {V}], 1).reshape(-1)", "{D} * 2.0"),
    "M": ("{M} * {S}", "{M} + {V}[:, None]", "{Q} @ {M}", "np.exp({M} - {M}.max(1, keepdims=True))", "{M} / (1.0 + {M}.std())",
          "np.outer({V}, np.arange(4.0))",
          "np.maximum({M}, 0.0)", "{M}[::-1]", "np.stack([{V}] * 4, 1)",
          "{M} @ np.ones((4, 4))", "np.cumsum({M}, 0)"),
    "Q": ("{M} @ {M}.T", "{Q}.T", "{Q} + np.eye(len({V}))", "np.tril({Q})", "{V}[:, None] - {V}", "np.triu({Q}, 1)", "{Q} / {Q}.shape[0]",
          "np.outer({V}, {V})"),
    "S": ("{V}.sum()", "{V} @ {V}", "{V}[0]", "{V}[-1]", "{M}.mean()", "{Q}.max()", "np.trace({Q})", "{V}.var()", "float(len({V}))",
          "{W}.sum() / {V}.size",
          "{S} * 0.5 + 1.0", "np.linalg.norm({V})", "({V} > 0).sum() * 1.0", "np.log(np.exp({V}).sum())", "{D}.min()", "1.0 / {V}.size"),
}  # fmt: skip
STORES = ("{V}[1:] = {W}", "{V}[0] = {S}", "{V}[-1] *= 2.0", "{M}[:, 0] = {V}", "{V} += {S}", "{M}[1:-1] = {S}", "{Q}[0] = {V}")
START = {"V": ["a", "b"], "M": ["m"], "Q": ["q"], "S": ["s"]}
SEEN, SIZES = (40, 57), (*range(3, 20), 23, 31, 32, 33, 39, 40, 41, 57, 63, 64, 65, 90)


def text_of_program(seed):
    """The text of a program of changing sizes, and whether a gradient is taken of it."""
    rng, lines = random.Random(seed), []
    known = {kind: list(names) for kind, names in START.items()}
    pick = lambda template: fill(template, lambda kind: rng.choice(known[kind]))
    known["W"], known["D"] = ["w0"], ["d0"]
    lines += ["w0, d0 = a[1:] * 1.0, np.concatenate([a, b])"]
    differentiated = rng.random() < 0.3
    for k in range(rng.randint(2, 9)):
        kind = rng.choice("VVVVWDMMQSS")
        lines.append(f"{kind.lower()}{k + 1} = {pick(rng.choice(STEPS[kind]))}")
        known[kind].append(f"{kind.lower()}{k + 1}")
        if rng.random() < 0.15:
            lines.append(pick(rng.choice(STORES)))
    kinds = [rng.choice("VVWDMQS") for _ in range(rng.randint(1, 4))]
    results = [known[kind][-1] for kind in kinds]
    if differentiated:
        lines.append(f"return {' + '.join(f'np.sum({r} * {r})' for r in results)}")
    else:
        lines.append(f"return {rng.choice(['({},)', '[{}]', '{{0: [{}], 1: len(a)}}']).format(', '.join(results))}")
    return HEAD + "".join(f"    {line}\n" for line in lines), differentiated


def fill(template, pick):
    for kind in STEPS:
        while f"{{{kind}}}" in template:
            template = template.replace(f"{{{kind}}}", pick(kind), 1)
    return template


def arguments(n, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(n), rng.standard_normal(n), rng.standard_normal((n, 4)), rng.standard_normal((n, n)) / n, float(rng.standard_normal())


def of_family(function, nests=False):
    """The SizeFree of a compiled function, and tests of its family; by calls at SEEN, at first."""
    compiled = function.compiled
    for n in SEEN:
        function(*arguments(n, 0))
    entry = list(compiled.entries.values())[-1]
    observed = [tuple(map(type_of, jax.tree_util.tree_leaves(arguments(n, 0)))) for n in SEEN]
    (callee,) = compiled.front.callees
    with compiled.lock:
        found = callee(family, entry, observed)
        types = [entry.types[i] for i in entry.dynamic]
        made = SizeFree(found.specialisations, types, [s.sizes for s in found.samples], found.names.names, nests=nests)
        for n in (3, 90):
            if callee(found.extended, tuple(map(type_of, jax.tree_util.tree_leaves(arguments(n, 0))))):
                continue
        for sizes in found.verified[len(found.samples) :]:
            if not made.agrees(found.version(sizes), sizes):
                raise Unalike(f"the function is another at {sizes} than the program says")
    return made, found.told_facts()


def function_of(text, file):
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    space = {}
    exec(compile(text, file, "exec"), space)
    return space["f"]


def outcome(seed, nests=False):
    text, differentiated = text_of_program(seed)
    plain = function_of(text, f"<sized {seed}>")
    compiled = jit(grad(plain, argnums=(0, 2)) if differentiated else plain, engine="numpy", whole=True)
    with np.errstate(all="ignore"):
        try:
            made, facts = of_family(compiled, nests)
        except (NoFamily, Unalike, ValueError) as why:  # ValueError: it stores where it cannot
            return f"none: {type(why).__name__}: {why}"
        call = made.call(facts)
        inputs, served = [x.get() if isinstance(x, Read) else x for x in made.inputs], 0
        exact = jit(grad(plain, argnums=(0, 2)), engine="numpy", dynamic=False) if differentiated else plain
        for n in SIZES:
            given, want_given = arguments(n, n), arguments(n, n)
            got = call(*given, *inputs)
            if got is MISS:
                try:
                    agree(given, arguments(n, n))
                except AssertionError:
                    return f"at n = {n} arguments are changed by a call that is another's\n{text}"
                continue
            served += 1
            want = exact(*want_given)
            try:
                agree(copy.deepcopy(got), want, rtol=1e-8)
                agree(given, want_given, rtol=1e-8)
            except AssertionError as error:
                return f"at n = {n}: {error}\n{text}"
    return "agree" if served else "none: no size is served"


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--nests", action="store_true")
    options, tally = parser.parse_args(), {}
    for seed in range(options.first, options.last):
        try:
            found = outcome(seed, options.nests)
        except Exception as error:
            found = f"{type(error).__name__}: {error}\n{text_of_program(seed)[0]}"
        key = found if found == "agree" else found.split(":")[0]
        tally[key] = tally.get(key, 0) + 1
        if found != "agree" and (options.show or not found.startswith("none")):
            print(seed, found, flush=True)
    print(tally)
