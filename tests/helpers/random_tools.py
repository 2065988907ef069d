"""Random programs with objects that SciPy makes of data: interpolators, trees of points, hulls; in loops, branches, containers and attributes.

    python tests/helpers/random_tools.py 0 1000

Each program is called some times, with other data, some of which none can be made of, and other sizes. Results with the objects in them, what
the program has written, and exceptions are compared with plain Python's.
"""

import sys

import numpy as np
from draws import print_seeds, run_of
from random_attributes import alike, compile_text

from wengert import jit
from wengert.tracer.common.errors import WengertError

HEAD = """
import copy
import numpy as np
from scipy.interpolate import Akima1DInterpolator, CubicSpline, interp1d, make_interp_spline
from scipy.spatial import ConvexHull, KDTree, cKDTree
class Held:
    pass
SEEN = []
def value_of(f, t):
    return f(t)
"""
CURVES = (
    "CubicSpline(x, y)", "CubicSpline(x, y * k)", "interp1d(x, y)", "interp1d(x, y, kind='quadratic')", "make_interp_spline(x, y)",
    "Akima1DInterpolator(x, y)",
)  # fmt: skip
TREES = ("KDTree(p)", "cKDTree(p)", "KDTree(p * k)", "KDTree(p[1:])")
OF_CURVES = (
    "out.append({c}(t))", "out.append({c}(x[1:3]))", "out.append(value_of({c}, t))", "out.append([{c}(v) for v in x])", "out.append({c}.x)",
    "out.append([{c}(v) for v in x if v > t])", "out.append(type({c}).__name__)", "out.append(callable({c}))", "y = y + {c}(t)",
    "out.append((lambda v: {c}(v))(t))", "out.append(isinstance({c}, CubicSpline))",
)  # fmt: skip
OF_TREES = (
    "out.append({c}.query(p[0] * 1.1))", "out.append({c}.query(p, k=2))", "out.append({c}.n)",
    "p = p + {c}.query(p)[0][:, None]",
    "out.append(len({c}.query_ball_point(p[0], 1.0)))", "out.append([{c}.query(v)[1] for v in p])", "out.append({c}.maxes)", "out.append(bool({c}))",
)  # fmt: skip
WAYS = ("{c}", "o.{c}", "held['{c}']", "many[0]")
KEPT = (
    "o.{c} = {c}", "held['{c}'] = {c}", "many.insert(0, {c})", "SEEN.append({c})", "{c} = copy.copy({c})", "out.append({c} is {c})",
    "out.append({c})", "y[0] = k", "p[0, 0] = k", "y[:] = y * 2", "y = y * 1.0",
)  # fmt: skip
TESTS = ("t > 1", "k > 1", "y[0] > 0", "len(x) > 6")


class Case:
    calls = 4

    def __init__(self, r):
        self.curves = r.random() < 0.6
        made, uses = (CURVES, OF_CURVES) if self.curves else (TREES, OF_TREES)
        lines, ways = ["out, held, many, o = [], {}, [], Held()", f"c = {r.choice(made)}"], ["{c}"]
        for _ in range(r.randint(2, 6)):
            lines += self.statement(r, made, uses, ways)
        body = "".join(f"    {line}\n" for line in [*lines, "return out, held, many, vars(o), y, p"])
        self.text = f"{HEAD}\ndef f(x, y, p, t, k):\n{body}"
        bad = r.random() < 0.3
        self.given = [(r.choice([5, 7, 9]), r.randint(0, 99), bad and r.random() < 0.3) for _ in range(self.calls)]

    def statement(self, r, made, uses, ways, depth=0):
        kind = r.random()
        if kind < 0.5 or depth > 1:
            return [r.choice(uses).format(c=r.choice(ways).format(c="c"))]
        if kind < 0.65:
            k = r.randrange(len(KEPT))
            if k < 3 and not depth:
                ways.append(WAYS[k + 1])
            return [KEPT[k].format(c="c")]
        if kind < 0.75:
            return [f"c = {r.choice(made)}"]
        inner = [f"    {line}" for line in self.statement(r, made, uses, ways, depth + 1)]
        if kind < 0.87:
            other = [f"    {s}" for s in self.statement(r, made, uses, ways, depth + 1)]
            return [f"if {r.choice(TESTS)}:", *inner, *(["else:", *other] * (kind < 0.8))]
        if kind < 0.93:
            return ["try:", *inner, "except ValueError as error:", "    out.append(str(error))"]
        return [f"for i in range({r.choice(['3', 'len(x)', '20'])}):", *inner]


def draw(r):
    return Case(r)


def arguments(size, seed, bad):
    rng = np.random.default_rng(seed)
    x, y, p = np.linspace(0, 3, size), rng.normal(size=size), rng.normal(size=(size, 2))
    if bad:
        x[2], p[1, 0] = x[1], np.nan
    return x, y, p, float(rng.random() * 2), float(rng.integers(1, 3))


def shown(x, depth=0):
    """What is found, with what objects of SciPy's answer in their place."""
    if isinstance(x, list | tuple):
        return type(x)(shown(v, depth + 1) for v in x)
    if isinstance(x, dict):
        return {k: shown(v, depth + 1) for k, v in x.items()}
    if type(x).__module__.startswith("scipy."):
        return [type(x).__name__, x.query(np.zeros(2)) if hasattr(x, "query") else x(np.array([0.5, 1.5]))]
    return x


def outcome(f, space, given):
    x = [v.copy() if isinstance(v, np.ndarray) else v for v in given]
    try:
        found = f(*x)
    except WengertError:
        raise
    except Exception as error:
        return [type(error).__name__, str(error).splitlines()[0]]
    return shown(found), x, shown(space["SEEN"])


def differences(case, compile=jit):
    spaces = {}, {}
    for space in spaces:
        exec(compile_text(case.text), space)
    compiled = compile(spaces[0]["f"])
    for n, given in enumerate(case.given):
        got, want = (outcome(f, space, arguments(*given)) for f, space in ((compiled, spaces[0]), (spaces[1]["f"], spaces[1])))
        if not alike(got, want):
            return f"call {n}, of {given}: {got} for {want}"
    return None


if __name__ == "__main__":
    print_seeds(run_of(sys.modules[__name__]))
