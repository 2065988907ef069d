"""Signs of zeros: arithmetic in which nothing is rounded, on numbers and arrays of 0.0, -0.0 and a few others, to the bit.

    random_zeros.py FIRST LAST     draws programs of these seeds, and prints those that differ
"""

import dataclasses

import numpy as np
from draws import attempt, function, print_seeds, run_of
from random_exact import difference

from wengert import jit
from wengert.tracer.common.errors import WengertError

VALUES = [0.0, -0.0, 0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 3.0]
ENDS = [float("inf"), float("-inf"), float("nan")]
NUMBERS = ["0", "0.0", "-0.0", "1", "1.0", "-1", "2", "-0.5", "np.float64(0.0)", "np.float32(-0.0)"]
BOTH = """
    {0} + {1} | {0} - {1} | {0} + {n} | {n} + {0} | {0} - {n} | {n} - {0} | {0} * {1} | {0} * {n} | {0} / 2 | {0} / -1 | -{0} | +{0} | abs({0})
    -({0} - {1}) | -({0} + {1}) | 2 * {0} - 2 * {1} | -2 * {0} + -2 * {1} | {0} - -{1} | {0} + -{1} | ({0} + 1) - 1 | np.negative({0})
    np.copysign({1}, {0}) | np.sign({0}) | np.rint({0}) | np.trunc({0}) | np.floor({0}) | np.ceil({0}) | np.where({0} > {1}, {0}, 0.0)
    {0} + np.where({1} > 0, {1}, 0.0) | np.where({0} > 0, {0}, 0.0) + np.where({0} > 0, 0.0, {1}) | {0} // 1 | {0} % 2 | {0} % -2 | np.fmod({0}, 2)
    np.multiply(0, {0}) | np.add({0}, 0) | np.subtract(0, {0}) | sum([{0}, {1}]) | sum([{0}, {1}], -0.0) | sum(v for v in ({0}, {1}))
"""
ARRAYS = """
    {0}.sum() * {1} | np.sum(-{0}) + {1} | np.cumsum({0}) | np.sum({0}, keepdims=True) + {1} | np.sum(-2 * {0}) * {1} | np.prod({0}) * {1}
    np.add.reduce({0}) - {1} | np.mean({0}) * {1} | np.clip({0}, 0, 1) | np.clip({0}, -0.0, 1.0) | np.sum({0}, initial=-0.0) * {1}
    np.sum({0}[:, None], axis=1) | np.sum(np.stack([{0}, {1}]), axis=0) | np.diff({0}).sum() + {1} | np.einsum('i,i->i', {0}, {1})
"""
ONES = "max({0}, {1} + 1) | min({0} - 4, {1}) | divmod({0}, 2)[0] | divmod({0}, -2)[1] | float({0}) | round({0}) * 1.0 | {0} if {1} > 0 else 0 - {0}"


def productions(text):
    return [p.strip() for line in text.splitlines() for p in line.split("|") if p.strip()]


@dataclasses.dataclass
class Case:
    text: str
    calls_given: list
    calls: int = 2


def draw(rng):
    kind = rng.choice(["array", "array", "number", "scalar", "looped", "complex"])
    dtype = np.dtype("c16" if kind == "complex" else rng.choice(["f8", "f8", "f4"]))
    found = productions(BOTH) + (productions(ARRAYS) if kind == "array" else productions(ONES) if kind in ("number", "scalar") else [])
    if kind == "complex":
        found = [p for p in found if not any(w in p for w in ("//", "%", "np.", " > ", "/"))]
    lines = []
    for k in range(rng.randint(1, 5)):
        names = [rng.choice(["x", "y", *(f"v{i}" for i in range(k))]) for _ in range(2)]
        lines.append(f"v{k} = " + rng.choice(found).format(*names, n=rng.choice(NUMBERS)))
    last = f"v{len(lines) - 1}"
    if kind == "looped":
        trip = ["x, y = xs[i], ys[i]", *lines, f"out[i] = {last}"]
        body = ["out = np.zeros(len(xs), xs.dtype)", "for i in range(len(xs)):", *("    " + s for s in trip)]
        text = "def f(xs, ys):\n    " + "\n    ".join([*body, "return out"])
    else:
        text = "def f(x, y):\n    " + "\n    ".join([*lines, f"return {', '.join(['v0', last])}"])
    return Case("import numpy as np\n" + text + "\n", [[given(rng, kind, dtype) for _ in range(2)] for _ in range(2)])


def given(rng, kind, dtype):
    some = lambda: rng.choice(VALUES if rng.random() < 0.95 else ENDS)
    one = lambda: complex(some(), some()) if dtype.kind == "c" else some()
    if kind in ("array", "looped", "complex"):
        return np.array([one() for _ in range({"array": 3, "complex": 4}.get(kind, 6))], dtype)
    return some() if kind == "number" else dtype.type(some())


def differences(case):
    """See draws.py."""
    f = function(case.text, "zeros")
    compiled = jit(f)
    for arguments in case.calls_given:
        want, got = (attempt(g, [np.copy(x) if isinstance(x, np.ndarray) else x for x in arguments]) for g in (f, compiled))
        if isinstance(got.error, WengertError) and not isinstance(want.error, type(got.error)):
            return f"refused: {got.error}"
        if (got.error is None) != (want.error is None):
            return f"gives {got}, where Python gives {want}"
        if found := "" if want.error is not None else difference(got.result, want.result):
            return f"{found} on {arguments}"
    return None


if __name__ == "__main__":
    print_seeds(lambda seed, engine: run_of(__import__("random_zeros"))(seed, engine))
