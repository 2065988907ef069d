"""Random programs over SciPy's rotations: made, composed, compared, indexed, carried round loops, returned.

    python tests/helpers/random_rotations.py 0 1000

`draw(rng)` gives a `Case`: the source of `f(v, V, Q, s)` of vectors, quaternions and a number. `differences(case)` calls it plainly and compiled,
three times, on new numbers. Tests on data stand away from what rounding could decide.
"""

import copy
import sys
import warnings
from typing import NamedTuple

import numpy as np
from compare import agree
from draws import function, print_seeds, run_of
from productions import Grammar

from wengert import jit

try:
    from scipy.spatial.transform import Rotation, Slerp
except ImportError:  # then every program is refused
    Rotation = Slerp = None

COUNT = 3  # rotations of a stack
RULES = {
    "seq": ["'xyz'", "'ZYX'", "'zxz'", "'YXY'", "'XZY'"],
    "number": ["s", "<vector>[1]", "<one>.magnitude()", "<vector>.sum()", "<many>.magnitude()[2]", "0.7"],
    "vector": [
        "v", "V[1]", "<one>.apply(<vector>)", "<one>.apply(<vector>, inverse=True)", "<one>.as_rotvec()", "<one>.as_euler(<seq>)",
        "(<one>.as_euler(<seq>, degrees=True) * 0.01)", "<one>.as_mrp()", "<one>.as_matrix()[1]", "(<vector> * <number>)", "(<vector> - <vector>)",
        "<many>.apply(<vector>)[0]", "np.array([<number>, 0.3, s])", "<one>.as_quat(canonical=True)[1:]", "np.tanh(<vector>)",
    ],
    "vectors": [
        "V", "<many>.apply(<vectors>)", "<many>.apply(<vector>)", "<one>.apply(<vectors>)", "<many>.as_rotvec()", "<many>.as_euler(<seq>)",
        "<many>.as_mrp()", "<many>.as_matrix()[:, 0]", "(<vectors> * <number>)", "<many>.as_quat()[:, :3]", "np.stack([<vector>, v, <vector>])",
        "(<many>.as_rotvec(degrees=True) * 0.02)",
    ],
    "one": [
        "Rotation.from_rotvec(<vector>)", "Rotation.from_euler(<seq>, <vector>)", "Rotation.from_euler('z', <number>)",
        "Rotation.from_euler('xy', [<number>, s])", "Rotation.from_euler(<seq>, <vector>, degrees=True)", "Rotation.from_quat(Q[0])",
        "Rotation.from_quat(Q[1], scalar_first=True)", "Rotation(Q[2])", "Rotation.from_mrp(<vector>)", "(<one> * <one>)", "<one>.inv()",
        "(<one> ** <number>)", "(<one> ** 2)", "(<one> ** -1)", "<many>[1]", "<many>[-1]", "Rotation.from_matrix(<one>.as_matrix())",
        "copy.copy(<one>)",
        "ONE", "Rotation.identity()", "(<one> if <number> > 0.123 else <one>)", "Slerp([0, 1, 2.5], <many>)(1.2)",
        "Rotation.from_matrix(np.eye(3) * 2 + np.tanh(np.outer(<vector>, v)) * 0.3)", "[r for r in <many>][0]",
        "max([<one>, <one>], key=Rotation.magnitude)",
    ],
    "many": [
        "Rotation.from_rotvec(<vectors>)", "Rotation.from_euler(<seq>, <vectors>)", "Rotation.from_quat(Q)", "(<one> * <many>)", "(<many> * <one>)",
        "(<many> * <many>)", "<many>.inv()", "(<many> ** 0.5)", "<many>[::-1]", "<many>[[2, 0, 1]]", "Rotation.concatenate([<one>, <one>, <one>])",
        "MANY", "Rotation.from_mrp(<vectors>)", "Rotation.concatenate([<one>, <many>[1:]])", "Slerp([0, 1, 2.5], <many>)([0.0, 0.3, 2.5])",
        "Rotation.identity(3)",
    ],
    "asked": [
        "<one>.single", "<many>.shape", "len(<many>)", "isinstance(<one>, Rotation)", "type(<many>) is Rotation", "<one>.approx_equal(<one>, 0.5)",
        "<many>.approx_equal(<many>, <number>)", "<many>.magnitude()", "<one>.as_quat()", "bool(<one>)", "<many>.mean().as_matrix()",
        "<many>.mean([1, 2, s * s]).as_matrix()", "[r.magnitude() for r in <many>]", "<one>.as_matrix()",
    ],
}  # fmt: skip
LEAVES = {
    "seq": RULES["seq"],
    "number": ["s", "v[0]"],
    "vector": ["v", "V[0]", "V[2]"],
    "vectors": ["V", "(-V)"],
    "one": ["Rotation.from_rotvec(v)", "Rotation.from_quat(Q[1])", "ONE", "Rotation.from_euler('zyx', v)"],
    "many": ["Rotation.from_rotvec(V)", "Rotation.from_quat(Q)", "MANY"],
    "asked": ["s"],
}
STEPS = {  # of a trip: what it stores in, what
    "r": [
        "r * <one>", "<one> * r", "r.inv() * <one>", "r ** 0.9", "Rotation.from_rotvec(r.apply(v) + 0.1 * i * <vector>)",
        "Rotation.from_quat(r.as_quat())",
    ],
    "w": ["np.tanh(w + r.apply(<vector>))", "w * 0.5 + r.as_euler('zyx')", "r.as_rotvec()", "r.as_matrix() @ w"],
}  # fmt: skip
CHANGES = ["p[1] = <one>", "p[0] = p[2]", "p[:2] = <many>[1:]", "p = p[::-1]", "p = <one> * p"]
ONE = Rotation and Rotation.from_rotvec([0.3, -0.5, 0.2])
MANY = Rotation and Rotation.from_euler("xyz", [[0.1, 0.2, 0.3], [1.0, -0.4, 2.0], [-0.7, 0.9, 0.1]])
HEAD = "import copy\n\nimport numpy as np\nfrom random_rotations import MANY, ONE, Rotation, Slerp\n\n\n"


class Case(NamedTuple):
    text: str
    seed: int
    calls: int = 3


def draw(rng):
    grow = Grammar(rng, RULES, LEAVES, 2)
    lines, results = ["r = " + grow("<one>"), "p = " + grow("<many>"), "w = " + grow("<vector>")], ["r", "w", "p"]
    for n in range(rng.randint(1, 4)):
        kind = rng.choice(["asked", "asked", "loop", "items", "branch", "changed", "kept"])
        if kind == "asked":
            lines.append(f"a{n} = {grow('<asked>')}")
            results.append(f"a{n}")
        elif kind == "loop":
            lines.append(f"for i in range({rng.choice([2, 5, 20, 40])}):")
            lines += [f"    {x} = {grow(rng.choice(STEPS[x]), 1)}" for x in rng.choice(["r", "rw", "wr"])]
        elif kind == "kept":
            lines += [f"k{n} = []", f"for i in range({rng.choice([3, 20])}):", f"    r = {grow(rng.choice(STEPS['r']), 1)}"]
            lines.append(f"    k{n}.append(r.as_rotvec())")
            results.append(f"np.array(k{n})")
        elif kind == "items":
            lines += ["for q in p:", f"    {rng.choice(['r = r * q', 'w = w + q.apply(w)', 'r = q.inv() * r ** 0.5'])}"]
        elif kind == "branch":
            lines += [f"if {grow('<number>', 1)} > 0.123:", f"    r = {grow('<one>', 1)}"]
            lines += ["else:", f"    {rng.choice(['w', 'v'])} = {grow('<vector>', 1)}"] if rng.random() < 0.5 else []
        else:
            lines.append(grow(rng.choice(CHANGES), 1))
    text = HEAD + "def f(v, V, Q, s):\n" + "".join(f"    {line}\n" for line in lines) + f"    return {', '.join(results)}\n"
    return Case(text, rng.randrange(1 << 30))


def laid_open(x):
    """What a result consists of: of rotations, all that they hold."""
    if isinstance(x, list | tuple):
        return [type(x).__name__, *map(laid_open, x)]
    return [type(x).__name__, x._backend.__name__, x._single, x._quat.copy()] if Rotation and type(x) is Rotation else x


def outcome(f, given, frames):
    """What a call comes to, and leaves of the rotations outside, which are as they were before it."""
    for r, held in frames:
        r._quat[...] = held
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            made = laid_open(f(*given)), [str(w.message) for w in told if w.category is UserWarning]
        except (ValueError, IndexError, TypeError, np.linalg.LinAlgError) as error:
            made = f"{type(error).__name__}: {error}", None
    return made, [laid_open(r) for r, _ in frames]


def differences(case):
    if Rotation is None or not hasattr(Rotation, "_from_raw_quat"):
        return "refused: SciPy's rotations are not written in Python here"
    rng, plain = np.random.default_rng(case.seed), function(case.text, f"rotations {case.seed}")
    compiled, frames = jit(plain), [(r, r._quat.copy()) for r in (plain.__globals__["ONE"], plain.__globals__["MANY"])]
    for _ in range(case.calls):
        given = [rng.normal(size=3), rng.normal(size=(COUNT, 3)), rng.normal(size=(COUNT, 4)), rng.normal()]
        want, got = (outcome(f, copy.deepcopy(given), frames) for f in (plain, compiled))
        try:
            agree(got, want, 1e-9)
        except AssertionError as error:
            return str(error)
    return None


run = run_of(sys.modules[__name__])

if __name__ == "__main__":
    print_seeds(run, HEAD)
