"""Random programs on arrays of bfloat16, float8_e4m3fn and float8_e5m2 beside others, against NumPy with ml_dtypes.

    python tests/helpers/random_small_floats.py 0 500 [--exact]

Each program is some statements, each an operation on values that are there: arithmetic, comparisons, functions of
numbers, casts, moves, stores, branches, loops, and at the end sums and products. Until there results have NumPy's dtype
and bits, but for the last digit of functions that XLA and the C library round otherwise; sums are compared with those
taken in float64.
"""

import argparse
import collections
import copy
import sys
import warnings

import ml_dtypes
import numpy as np

from wengert import UnsupportedError, jit

SMALL = [np.dtype(t) for t in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2)]
OTHERS = [np.dtype(t) for t in ("f4", "f8", "f2", "i1", "u1", "i4", "i8", "?")]
SHAPE = (4, 3)
BINARY = [
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} / {b}",
    "np.maximum({a}, {b})",
    "np.minimum({a}, {b})",
    "np.fmax({a}, {b})",
    "np.copysign({a}, {b})",
    "{a} < {b}",
    "{a} >= {b}",
    "{a} == {b}",
    "{a} != {b}",
    "np.where({a} > 0, {a}, {b})",
    "np.concatenate([{a}, {b}])[:4]",
    "np.stack([{a}, {b}])[1]",
    "{a} % {b}",
    "{a} // {b}",
    "np.logical_and({a}, {b})",
    "np.nextafter({a}, {b})",
    "np.heaviside({a}, {b})",
    "np.fmod({a}, {b})",
]
UNARY = [
    "-{a}",
    "abs({a})",
    "{a} + 1",
    "{a} * 2",
    "3 - {a}",
    "{a} * 0.5",
    "{a} * True",
    "{a} / 3",
    "{a} ** 2",
    "np.sqrt(abs({a}))",
    "np.sign({a})",
    "np.floor({a})",
    "np.rint({a})",
    "np.isfinite({a})",
    "np.signbit({a})",
    "{a}[::-1]",
    "{a}.T.reshape(4, 3)",
    "{a}[:, [2, 0, 1]]",
    "np.roll({a}, 1)",
    "np.clip({a}, -1, 1)",
    "np.square({a})",
    "np.spacing({a})",
    "np.sort({a}, axis=0)",
    "{a} * np.float32(1.5)",
    "{a} * np.int8(2)",
    "{a} + np.float64(0.25)",
    "np.take_along_axis({a}, np.argsort({a}, axis=0), 0)",
    "{a}.max(axis=0) + {a}",
    "{a} - {a}.min()",
    "np.frexp({a})[0]",
    "np.modf({a})[1]",
    "np.trunc({a})",
]
FUNCTIONS = ["np.exp({a})", "np.tanh({a})", "np.sin({a})", "np.log1p(abs({a}))", "np.arctan2({a}, {b})", "np.cbrt({a})", "np.hypot({a}, {b})"]
CASTS = ["{a}.astype({d})", "np.asarray({a}, {d})", "np.zeros_like({a}) + {a}", "np.full((4, 3), 1.5, {d})", "np.ones((4, 3), {d}) - {a}"]
STATEMENTS = [
    "{v} = {a}.copy()\n    {v}[1] = {b}[0]",
    "{v} = {a}.copy()\n    {v}[{a} > 0] = 1",
    "{v} = {a}.copy()\n    {v} += {a}",
    "{v} = {a}.copy()\n    {v} *= {b}.astype({v}.dtype)",
    "{v} = {a}\n    for i in range(3):\n        {v} = {v} + {a}[i]",
    "{v} = {a}\n    if {a}[0, 0] > {b}[0, 0]:\n        {v} = {v} + {a}",
    "{v} = {a}.copy()\n    for i in range(3):\n        {v}[i] = {v}[i + 1] + {v}[i]",
]
ENDS = ["{a}.sum(axis=0)", "{a}.mean()", "{a} @ {b}.T", "np.dot({a}, {b}.T)", "{a}.cumsum(axis=1)", "{a}.var()", "np.inner({a}, {b})"]


def program(seed):
    """(text of a function, its arguments)"""
    rng = np.random.default_rng(seed)
    dtypes = [SMALL[rng.integers(3)], SMALL[0], OTHERS[rng.integers(len(OTHERS))]]
    draw = lambda d: (rng.normal(size=SHAPE) * 4).astype(np.float32 if d.kind not in "f" else d).astype(d)
    values, lines, rounded = ["x", "y", "z"], [], False
    for n in range(rng.integers(2, 7)):
        kinds = [BINARY, UNARY, UNARY, CASTS, STATEMENTS, FUNCTIONS]
        kind = kinds[rng.choice(6, p=[0.3, 0.2, 0.15, 0.15, 0.15, 0.05])]
        a, b = rng.choice(values[-4:], 2)
        text = kind[rng.integers(len(kind))]
        said = text.format(a=a, b=b, v=f"v{n}", d=f"DTYPES[{rng.integers(len(SMALL) + 2)}]")
        lines.append(said if kind is STATEMENTS else f"v{n} = {said}")
        rounded |= kind is FUNCTIONS
        values.append(f"v{n}")
    end = ENDS[rng.integers(len(ENDS))].format(a=values[-1], b=rng.choice(values)) if rng.random() < 0.3 else None
    body = "\n    ".join(lines)
    text = f"def f(x, y, z):\n    {body}\n    return ({', '.join(values[3:])},), {end}"
    return text, [draw(d) for d in dtypes], rounded, values, end


ROUNDED = {np.dtype("f2"): 2e-3, np.dtype("f4"): 2e-6, np.dtype("f8"): 1e-12}  # quotients of which are products
DTYPES = [*SMALL, np.dtype("f4"), np.dtype("f8")]


def function_of(text):
    names = {"np": np, "DTYPES": DTYPES}
    exec(compile(text, f"<small floats {text}>", "exec"), names)
    return names["f"]


def tried(f, arguments):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return f(*copy.deepcopy(arguments))
        except Exception as error:
            return error


def as_double(x):
    """Numbers to compare."""
    x = np.asarray(x)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def has_subnormals(x):
    """Whether there are numbers that XLA takes for zero: of bfloat16 and float32, below the smallest normal one."""
    x = abs(as_double(x))
    return bool(((x > 0) & (x < 1.2e-38)).any())


def unlike(got, want, loose):
    """How two results differ, None where they do not. loose: they may in the last digit."""
    same = (type(got), getattr(got, "dtype", None), np.shape(got)) == (type(want), getattr(want, "dtype", None), np.shape(want))
    if not same:
        said = [f"{type(z).__name__} {getattr(z, 'dtype', None)} {np.shape(z)}" for z in (got, want)]
        return " against ".join(said)
    u, v = as_double(got), as_double(want)
    with np.errstate(all="ignore"):
        near = np.isclose(u, v, rtol=loose, atol=loose, equal_nan=True)
    return None if near.all() else f"{got!r} against {want!r}"


def in_double(end, names, values):
    """(what a sum of values is in float64, the sum of their magnitudes)."""
    env = dict(zip(names, map(as_double, values), strict=True))
    with np.errstate(all="ignore"):
        return eval(end, {"np": np}, env), eval(end, {"np": np}, {k: abs(x) + 1 for k, x in env.items()})


def outcome(seed, **options):
    """agree, raises, subnormal (what NumPy computes is not looked at), or how the results differ."""
    text, arguments, rounded, names, end = program(seed)
    f = function_of(text)
    want, got = tried(f, arguments), tried(jit(f, whole=True, **options), arguments)
    if isinstance(got, UnsupportedError) and "array of objects" in str(got):
        return "raises"
    if isinstance(want, Exception) or isinstance(got, Exception):
        both = isinstance(want, Exception) and isinstance(got, Exception)
        if both and (isinstance(got, type(want)) or isinstance(got, TypeError | ValueError)):
            return "raises"
        return f"differs: {got!r:.300} against {want!r:.300}"
    if any(has_subnormals(x) for x in want[0]):
        return "subnormal"
    for a, b in zip(got[0], want[0], strict=True):
        if rounded and np.asarray(b).dtype.kind == "b":
            continue
        if (found := unlike(a, b, max(0.3 * rounded, ROUNDED.get(np.asarray(b).dtype, 0.0)))) is not None:
            return f"differs: {found}"
    if end is None or rounded:
        return "agree"
    (a, b), (ours, all_of_it) = (got[1], want[1]), in_double(end, names, [*arguments, *want[0]])
    if (type(a), getattr(a, "dtype", None), np.shape(a)) != (type(b), getattr(b, "dtype", None), np.shape(b)):
        return f"differs: the end is {a!r} against {b!r}"
    if np.asarray(a).dtype.kind in "biu":
        return "agree" if np.array_equal(a, b) else f"differs: {end} is {a!r} against {b!r}"
    step = 0.3 if np.asarray(a).dtype in SMALL else 1e-3  # a sum is rounded once, to some two bits at least
    if np.asarray(a).dtype in SMALL and not np.isfinite(as_double(a)).all():
        return "agree"  # beyond the dtype
    with np.errstate(all="ignore"):
        near = abs(as_double(a) - ours) <= step * (1 + np.where(np.isfinite(all_of_it), all_of_it, 0))
    return "agree" if (near | ~np.isfinite(ours)).all() else f"differs: {end} is {a!r} against {b!r}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("first", type=int)
    parser.add_argument("count", type=int)
    parser.add_argument("--exact", action="store_true")
    given, found = parser.parse_args(), collections.Counter()
    for seed in range(given.first, given.first + given.count):
        said = outcome(seed, exact=given.exact)
        found[said.split(":")[0]] += 1
        if said.startswith("differs"):
            print(f"{seed}: {said}\n{program(seed)[0]}\n")
    print(dict(found))
    sys.exit(found["differs"] > 0)


if __name__ == "__main__":
    main()
