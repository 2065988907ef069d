"""SciPy's rotations on traced values: what they give, are and say is SciPy's, and gradients agree with finite differences."""

import copy
import itertools
import random
import sys
import types
import warnings

import numpy as np
import pytest
import random_rotations
from compare import agree
from random_rotations import laid_open

from wengert import Fallback, UnsupportedError, grad, jacfwd, jacrev, jit, vmap
from wengert.tracer.common.origin import SOURCES
from wengert.tracer.numpy_api.scipy_registry import FUNCTIONS
from wengert.tracer.scipy_api.rotations import COMPILED, GENERAL

pytest.importorskip("scipy")

from scipy.spatial import transform
from scipy.spatial.transform import Rotation, Slerp

if not hasattr(Rotation, "_from_raw_quat"):
    pytest.skip("SciPy's rotations are not written in Python here", allow_module_level=True)

RNG = np.random.default_rng(5)
TOLERANCE = 1e-13
SHAPES = (), (1,), (4,), (2, 3)
SEQUENCES = ["".join(s) for n in (1, 2, 3) for s in itertools.product("xyz", repeat=n) if all(a != b for a, b in itertools.pairwise(s))]
LOCKED = [[0.3, np.pi / 2, -0.4], [0.3, -np.pi / 2, -0.4], [0.3, 0.0, -0.4], [0.3, np.pi, 0.2]]
QUATERNIONS = [
    [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, -1.0], [-1.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 0.0], [0.6, 0.0, 0.0, -0.8],
    [-0.6, -0.8, 0.0, 0.0], [0.6, -0.8, 0.0, -0.0], [1e-5, 0.0, 1e-6, 1.0], [1e-5, 0.0, 1e-6, -1.0], [4e-4, 3e-4, 0.0, 1.0], [5e-4, 4e-4, 0.0, -1.0],
]  # fmt: skip
MADE = {
    "from_quat": lambda x: Rotation.from_quat(x),
    "from_quat, scalar first": lambda x: Rotation.from_quat(x, scalar_first=True),
    "Rotation": lambda x: Rotation(x),
    "from_quat as it is": lambda x: Rotation(x, normalize=False),
    "from_rotvec": lambda x: Rotation.from_rotvec(x),
    "from_rotvec, degrees": lambda x: Rotation.from_rotvec(x, degrees=True),
    "from_mrp": lambda x: Rotation.from_mrp(x),
    "from_euler": lambda x: Rotation.from_euler("xyz", x),
    "from_euler, degrees": lambda x: Rotation.from_euler("ZXZ", x, degrees=True),
    "from_matrix": lambda x: Rotation.from_matrix(x),
    "from_matrix as it is": lambda x: Rotation.from_matrix(x, assume_valid=True),
    "from_davenport": lambda x: Rotation.from_davenport(np.eye(3), "extrinsic", x),
    "identity": lambda x: Rotation.identity() * Rotation.from_rotvec(x),
}
LAST = {"quat": (4,), "matrix": (3, 3)}
ASKED = {
    "as_quat": lambda r: [r.as_quat(), r.as_quat(canonical=True), r.as_quat(scalar_first=True)],
    "as_matrix": lambda r: r.as_matrix(),
    "as_rotvec": lambda r: [r.as_rotvec(), r.as_rotvec(degrees=True)],
    "as_mrp": lambda r: r.as_mrp(),
    "as_euler": lambda r: [r.as_euler("xyz"), r.as_euler("ZYX", degrees=True), r.as_euler("zxz", suppress_warnings=True)],
    "apply": lambda r: [r.apply([1.0, 2.0, 3.0]), r.apply(np.ones((1, 3)), inverse=True)],
    "inv": lambda r: r.inv(),
    "magnitude": lambda r: r.magnitude(),
    "product": lambda r: [r * r, r * ONE, ONE * r],
    "power": lambda r: [r**0, r**1, r**-1, r**0.3, r**2, r ** np.array([1.5])],
    "mean": lambda r: r.mean().as_matrix(),
    "approx_equal": lambda r: [r.approx_equal(r), r.approx_equal(ONE, atol=1.5), r.approx_equal(ONE, atol=80, degrees=True)],
    "what it is": lambda r: [r.single, r.shape, type(r) is Rotation, isinstance(r, Rotation), bool(r), r is not ONE],
    "concatenate": lambda r: Rotation.concatenate([r, r, ONE]),
    "copies": lambda r: [copy.copy(r), copy.deepcopy(r)],
    "itself": lambda r: r,
}
ITEMS = {
    "len": lambda r: len(r), "first": lambda r: r[0], "last": lambda r: r[-1], "slice": lambda r: r[::-1], "ints": lambda r: r[np.array([0, -1])],
    "mask": lambda r: r[np.arange(len(r)) < 1], "beyond": lambda r: r[9], "items": lambda r: [x.as_quat() for x in r],
    "list": lambda r: list(r), "sum": lambda r: sum(x.magnitude() for x in r), "ellipsis": lambda r: r[...],
}  # fmt: skip
ONE = Rotation.from_rotvec([0.3, -0.5, 0.2])
MANY = Rotation.from_euler("xyz", [[0.1, 0.2, 0.3], [1.0, -0.4, 2.0], [-0.7, 0.9, 0.1], [0.5, 0.5, 0.5]])


def drawn(name, shape):
    """What a constructor takes, for rotations of a shape."""
    if "matrix" in name:
        return Rotation.from_quat(RNG.normal(size=(*shape, 4))).as_matrix() + (0.0 if "as it is" in name else RNG.choice([0.0, 0.03]))
    last = (4,) if "quat" in name or name == "Rotation" else (3,)
    return RNG.normal(size=(*shape, *last)) * (50 if "degrees" in name else 1)


def same(f, *calls, tolerance=TOLERANCE):
    """Plain Python and one compiled function agree about all calls: results, warnings, or exceptions and what they say."""
    compiled = jit(f)
    for given in calls:
        want, got = outcome(f, given), outcome(compiled, given)
        if isinstance(want, Exception):
            assert type(got) is type(want) and str(got) == str(want), f"{got!r} against {want!r}"
        else:
            assert not isinstance(got, Exception), repr(got)
            agree(got, want, tolerance)


def outcome(f, given):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            return laid_open(f(*copy.deepcopy(given))), [[str(w.message), w.filename, w.lineno] for w in told]
        except Exception as error:
            return error


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.as_numpy
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", MADE)
def test_constructors(name, shape):
    made = MADE[name]
    same(lambda x: [made(x), made(x).as_matrix()], (drawn(name, shape),), (drawn(name, shape),))


@pytest.mark.as_numpy
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ASKED)
def test_accessors(name, shape):
    asked = ASKED[name]
    if name == "concatenate" and len(shape) == 2:
        asked = lambda r: Rotation.concatenate([r, r])
    same(lambda q: asked(Rotation.from_quat(q)), (RNG.normal(size=(*shape, 4)),), (RNG.normal(size=(*shape, 4)),))
    same(lambda r: asked(r), (Rotation.from_quat(RNG.normal(size=(*shape, 4))),), (Rotation.from_quat(RNG.normal(size=(*shape, 4))),))


@pytest.mark.as_numpy
@pytest.mark.parametrize("name", [n for n in ASKED if n not in ("mean", "concatenate", "approx_equal")])
def test_accessors_at_the_ends(name):
    same(lambda q: ASKED[name](Rotation.from_quat(q)), (np.array(QUATERNIONS),), (np.array(QUATERNIONS[::-1]),), tolerance=1e-12)


@pytest.mark.parametrize("dtype", ["f4", "i8", "i2", "?", "f2"])
def test_other_dtypes_become_doubles(dtype):
    x = np.array([[1, 0, 1], [0, 1, 1]], dtype)
    same(lambda x: [Rotation.from_rotvec(x), Rotation.from_euler("xyz", x), ONE.apply(x), MANY[:2].mean(x[:, 0] + 1.0).as_matrix()], (x,), (x[::-1],))


@pytest.mark.as_numpy
def test_lists_of_numbers():
    same(lambda a, b: [Rotation.from_euler("xy", [a, b]), Rotation.from_rotvec([a, 0, b]), ONE.apply([a, b, 1.0])], (0.1, 0.2), (0.3, -1.0))


@pytest.mark.as_numpy
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("degrees", [False, True])
def test_sequences(upper, degrees):
    names = [s.upper() if upper else s for s in SEQUENCES]
    x = RNG.normal(size=(2, 5, 3)) * (60 if degrees else 1)
    for n in (1, 2, 3):
        found = [s for s in names if len(s) == n]
        same(lambda x, found=found: [Rotation.from_euler(s, x, degrees=degrees) for s in found], (x[0, :, :n],), (x[1, :, :n],), (x[0, 0, :n],))
    single = [s for s in names if len(s) == 1]
    same(lambda a: [Rotation.from_euler(s, a, degrees) for s in single], (0.3,), (1.2,))
    full = [s for s in names if len(s) == 3]
    q = RNG.normal(size=(2, 5, 4))
    same(lambda q: [Rotation.from_quat(q).as_euler(s, degrees) for s in full], (q[0],), (q[1],), tolerance=1e-12)


@pytest.mark.as_numpy
@pytest.mark.parametrize("name", ITEMS)
def test_items(name):
    same(lambda x: ITEMS[name](Rotation.from_rotvec(x)), (RNG.normal(size=(3, 3)),), (RNG.normal(size=(3, 3)),), (RNG.normal(size=3),))
    same(lambda r: ITEMS[name](r), (MANY,), (MANY[::-1],), (ONE,))


@pytest.mark.as_numpy
def test_an_index_that_data_decide_and_stores():
    x = RNG.normal(size=(3, 3))

    def stored(x, k):
        r = Rotation.from_rotvec(x)
        other, row = copy.copy(r), r[0:2]
        r[k] = Rotation.from_rotvec(x[0] * 2)
        r[-1] = ONE
        return r, other, row

    same(stored, (x, 1), (x * 2, 0), (x, 2))
    same(lambda x, k: Rotation.from_rotvec(x)[k], (x, 1), (x, 2), (x, 7), (x, np.array([2, 0])))

    def outside(r, x):
        r[0] = Rotation.from_rotvec(x)
        return r.apply(x)

    compiled, ours, theirs = jit(outside), copy.copy(MANY), copy.copy(MANY)
    for row in x:
        agree(compiled(ours, row), outside(theirs, row), TOLERANCE)
        agree(laid_open(ours), laid_open(theirs), TOLERANCE)


@pytest.mark.as_numpy
@pytest.mark.parametrize("n", [0, 1, -1, 0.0, 1.0, -1.0, 2.5, -0.7, 3, True])
def test_powers_that_data_decide(n):
    same(lambda q, n: Rotation.from_quat(q) ** n, (np.array(QUATERNIONS), n), (RNG.normal(size=(3, 4)), n), (RNG.normal(size=4), n), tolerance=1e-12)


@pytest.mark.as_numpy
def test_means():
    q, w = RNG.normal(size=(4, 4)), np.array([1.0, 0.0, 2.5, 0.3])
    same(lambda q, w: Rotation.from_quat(q).mean(w), (q, w), (q, w[::-1]), (q, -w), (q, w[:3]), (q, np.ones((4, 1))))
    same(lambda q: [Rotation.from_quat(q).mean(axis=a).as_matrix() for a in (0, 1, (0, 1))], (RNG.normal(size=(2, 3, 4)),))
    same(lambda q: Rotation.from_quat(q).mean(axis=1), (q,))
    same(lambda q: Rotation.from_quat(q).mean(axis="x"), (q,))


@pytest.mark.as_numpy
def test_interpolation():
    x = RNG.normal(size=(4, 3))
    same(lambda x, t: Slerp([0, 1, 2.5, 3], Rotation.from_rotvec(x))(t), (x, 0.0), (x, 3.0), (x, 1.7), (x, 3.5))
    same(lambda x, t: Slerp(np.cumsum(t), MANY)(x), (np.array([1.0, 1.5]), np.ones(4)), (np.array([3.0, 2.5]), np.ones(4)), (x[0], -np.ones(4)))


def test_matrices_that_are_no_rotations():
    m = Rotation.from_quat(RNG.normal(size=(3, 4))).as_matrix()
    m[1] *= 1.7
    m[2] += 0.1
    same(lambda m: Rotation.from_matrix(m), (m,), (m[1],), (m[2],), tolerance=1e-12)
    with pytest.raises(ValueError, match="Non-positive determinant .* in rotation matrix 2"):
        jit(lambda m: Rotation.from_matrix(m))(m * np.array([1, 1, -1])[:, None, None])


def test_a_matrix_that_is_shown_in_an_error_is_shown_by_plain_python(falling_back):
    compiled, bad = jit(lambda m: Rotation.from_matrix(m)), np.diag([1.0, 1.0, -1.0])
    agree(laid_open(compiled(np.eye(3))), laid_open(Rotation.identity()))
    with pytest.raises(ValueError) as plain:
        Rotation.from_matrix(bad)
    with pytest.warns(Fallback), pytest.raises(ValueError) as found:
        compiled(bad)
    assert str(found.value) == str(plain.value)


# -- what is said ----------------------------------------------------------------------------------

MISTAKES = [
    lambda x: Rotation.from_quat(x), lambda x: Rotation.from_rotvec(x[:2]), lambda x: Rotation.from_mrp(x[:2]), lambda x: Rotation.from_matrix(x),
    lambda x: Rotation.from_quat(np.concatenate([x, x[:1]]) * 0), lambda x: Rotation.from_euler("xx", x[:2]),
    lambda x: Rotation.from_euler("xY", x[:2]),
    lambda x: Rotation.from_euler("abc", x), lambda x: Rotation.from_euler("", x), lambda x: Rotation.from_euler("xyzx", x),
    lambda x: Rotation.from_euler("xy", x), lambda x: Rotation.from_euler("x", x), lambda x: Rotation.from_euler("xyz", x[0]),
    lambda x: Rotation.from_euler(3, x), lambda x: Rotation.from_rotvec(x[0]), lambda x: Rotation.from_quat(x[0]),
    lambda x: Rotation.from_rotvec(x).as_euler("xy"), lambda x: Rotation.from_rotvec(x).as_euler("xxz"),
    lambda x: Rotation.from_rotvec(x).as_euler("xYz"),
    lambda x: ONE.apply(x[:2]), lambda x: MANY.apply(np.stack([x, x])), lambda x: MANY * Rotation.from_rotvec(np.stack([x, x])),
    lambda x: Rotation.from_rotvec(x)[0], lambda x: len(Rotation.from_rotvec(x)), lambda x: [*Rotation.from_rotvec(x)],
    lambda x: Rotation.from_rotvec(x) * 3, lambda x: Rotation.from_rotvec(x) ** x, lambda x: pow(Rotation.from_rotvec(x), 2, 3),
    lambda x: Rotation.concatenate([Rotation.from_rotvec(x), 3]), lambda x: MANY.approx_equal(Rotation.from_rotvec(np.stack([x, x]))),
    lambda x: Rotation.from_davenport(np.ones((2, 3)), "e", x[:2]), lambda x: Rotation.from_davenport(np.eye(3), "z", x),
    lambda x: Rotation.from_davenport(x, "e", x[:2]), lambda x: Slerp([0, 1], Rotation.from_rotvec(x)),
    lambda x: Rotation.from_rotvec(x[None][:0]).mean(),
]  # fmt: skip


@pytest.mark.as_numpy
@pytest.mark.parametrize("n", range(len(MISTAKES)))
def test_mistakes(n):
    assert isinstance(outcome(MISTAKES[n], (np.array([0.1, 0.2, 0.3]),)), Exception)
    same(MISTAKES[n], (np.array([0.1, 0.2, 0.3]),), (np.array([0.1, -0.2, 0.4]),))


@pytest.mark.parametrize("shape", [(), (2,), (1, 2)])
@pytest.mark.parametrize("seq", ["xyz", "ZYX", "zxz", "YXY"])
def test_gimbal_lock(seq, shape):
    free = np.broadcast_to([0.1, 0.7, -0.3], (*shape, 3)).copy()
    calls = [(free,), *((np.broadcast_to(a, (*shape, 3)).copy(),) for a in LOCKED), (free,)]
    same(lambda x: Rotation.from_euler(seq, x).as_euler(seq), *calls, tolerance=1e-9)

    def caught(x):
        try:
            return Rotation.from_quat(x * 0.0)
        except ValueError:
            return ONE

    same(caught, (np.ones(4),))


def test_gimbal_lock_in_a_loop():
    def turned(x):
        out = []
        for k in range(20):
            out.append(Rotation.from_euler("xyz", x * k).as_euler("xyz"))
        return np.array(out)

    same(turned, (np.array([0.1, 0.05, 0.2]),), (np.array([0.1, np.pi / 20, 0.2]),), tolerance=1e-9)


# -- programs --------------------------------------------------------------------------------------


def inertial(rates, forces, dt):
    attitude, speed, place, track = Rotation.identity(), np.zeros(3), np.zeros(3), []
    for k in range(len(rates)):
        attitude = attitude * Rotation.from_rotvec(rates[k] * dt)
        pull = attitude.apply(forces[k]) + np.array([0, 0, -9.81])
        place, speed = place + speed * dt + 0.5 * pull * dt**2, speed + pull * dt
        track.append(attitude.as_euler("zyx", degrees=True))
    return attitude, place, np.array(track)


def arm(angles, lengths):
    turn, tip = Rotation.identity(), np.zeros(3)
    for axis, angle, length in zip("zyyxyx", angles, lengths):
        turn = turn * Rotation.from_euler(axis, angle)
        tip = tip + turn.apply([0, 0, length])
    return tip, turn


class Body:
    def __init__(self):
        self.attitude = Rotation.identity()

    def step(self, rate):
        self.attitude = self.attitude * Rotation.from_rotvec(rate)
        return self.attitude.as_quat()


@pytest.mark.as_numpy
def test_programs():
    rates, forces = RNG.normal(size=(2, 200, 3))
    same(inertial, (rates, forces, 0.01), (rates * 2, forces, 0.02), tolerance=1e-10)
    same(arm, (RNG.normal(size=6), np.ones(6)), (RNG.normal(size=6), np.arange(6.0)))
    same(lambda q: (Rotation.from_quat(q).mean().inv() * Rotation.from_quat(q)).magnitude(), (RNG.normal(size=(9, 4)),))
    ours, theirs, step = Body(), Body(), jit(lambda body, rate: body.step(rate))
    for rate in rates[:3]:
        agree(step(ours, rate), theirs.step(rate), TOLERANCE)
        agree(laid_open(ours.attitude), laid_open(theirs.attitude), TOLERANCE)


def test_rotations_from_outside_are_read_at_every_call():
    space = types.SimpleNamespace(frame=copy.copy(MANY))
    turned = jit(lambda v: space.frame.apply(v))
    v = RNG.normal(size=3)
    for change in (lambda: None, lambda: setattr(space, "frame", MANY.inv()), lambda: space.frame.__setitem__(0, ONE)):
        change()
        agree(turned(v), space.frame.apply(v), TOLERANCE)
    by_argument = jit(lambda r, v: r.apply(v))
    for r in (ONE, ONE.inv(), ONE * ONE):
        agree(by_argument(r, v), r.apply(v), TOLERANCE)
    assert by_argument.explain().startswith("<lambda>: 1 trace")


def test_what_a_loop_appends():
    def turned(x):
        r, angles, places, kept = Rotation.identity(), [], [], []
        for row in x:
            r = r * Rotation.from_rotvec(row)
            angles.append(r.as_euler("zyx"))
            places.append(r.apply(row))
            kept.append(r)
        return np.array(angles), places, places[3], Rotation.concatenate(kept), kept[-1]

    same(turned, (RNG.normal(size=(12, 3)) * 0.1,), (RNG.normal(size=(12, 3)) * 0.1,), tolerance=1e-10)
    same(lambda x: [Rotation.from_rotvec(row).as_matrix() for row in x], (RNG.normal(size=(40, 3)),), (RNG.normal(size=(40, 3)),))


def test_what_is_made_at_a_call_is_its_own():
    made = jit(lambda x: Rotation.from_rotvec(x))
    x = RNG.normal(size=(2, 3))
    first, second = made(x), made(x)
    assert first is not second and not np.shares_memory(first._quat, second._quat)
    first[0] = ONE
    agree(laid_open(second), laid_open(Rotation.from_rotvec(x)), TOLERANCE)


def test_draws_are_not_captured(falling_back):
    turned = jit(lambda v: Rotation.random(3).apply(v))
    with pytest.warns(Fallback, match="gives another answer each time"):
        first = turned(np.ones(3))
    assert not np.array_equal(turned(np.ones(3)), first)


def test_what_is_left_to_scipy_says_so():
    for f in (
        lambda x: Rotation.align_vectors(x, x),
        lambda x: Rotation.from_rotvec(x).reduce(MANY),
        lambda x: Rotation.from_rotvec(x).as_davenport(np.eye(3), "e"),
        lambda x: Rotation.from_rotvec(x).approx_equal(ONE, degrees=True),
        lambda x: Rotation.from_euler("x", 1j * x[:, :1]),
    ):
        with pytest.raises(UnsupportedError):
            jit(f)(np.eye(3))


# -- derivatives -----------------------------------------------------------------------------------

WEIGHT, AXIS = RNG.normal(size=(3, 3)), RNG.normal(size=3)
FLAT = np.eye(3) * 9.0
SMOOTH = {
    "matrix": lambda x: (Rotation.from_rotvec(x).as_matrix() * WEIGHT).sum(),
    "apply": lambda x: Rotation.from_rotvec(x).apply(AXIS) @ WEIGHT[0],
    "quaternion": lambda x: Rotation.from_quat(np.append(x, 0.8)).as_quat() @ WEIGHT.ravel()[:4],
    "there and back": lambda x: (Rotation.from_rotvec(x) * Rotation.from_rotvec(AXIS)).as_rotvec() @ AXIS,
    "power": lambda x: (Rotation.from_rotvec(x) ** (0.3 + x[0])).as_quat() @ WEIGHT.ravel()[:4],
    "parameters": lambda x: (Rotation.from_mrp(x) * ONE).as_mrp() @ AXIS,
    "angles": lambda x: (Rotation.from_euler("xyz", x).as_matrix() * WEIGHT).sum(),
    "to angles": lambda x: (Rotation.from_rotvec(x) * ONE).as_euler("ZXZ") @ AXIS,
    "from a rotation's matrix": lambda x: Rotation.from_matrix(Rotation.from_rotvec(x).as_matrix()).as_quat() @ WEIGHT.ravel()[:4],
    "from a matrix": lambda x: (Rotation.from_matrix(FLAT + np.outer(x, AXIS)).as_matrix() * WEIGHT).sum(),
    "mean": lambda x: (Rotation.concatenate([Rotation.from_rotvec(x), ONE, ONE**2]).mean().as_matrix() * WEIGHT).sum(),
    "mean of one axis": lambda x: (Rotation.from_rotvec(np.outer([0.3, 0.6, x[1]], x + [0.5, 0.3, -0.4])).mean().as_matrix() * WEIGHT).sum(),
    "interpolation": lambda x: (Slerp([0, 1, 2], Rotation.concatenate([Rotation.from_rotvec(x), ONE, MANY[0]]))(0.4).as_matrix() * WEIGHT).sum(),
}


def slopes(f, x, h=1e-5):
    return np.array([(f(x + h * e) - f(x - h * e)) / (2 * h) for e in np.eye(3)])


@pytest.mark.as_numpy
@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("x", [np.array([0.4, -0.3, 0.9]), np.zeros(3), np.array([3e-4, 0.0, 1e-4])], ids=["far", "identity", "near"])
def test_derivatives(name, x):
    f = SMOOTH[name]
    first = grad(f)
    np.testing.assert_allclose(first(x), slopes(f, x), rtol=1e-7, atol=1e-8)
    second = np.stack([grad(lambda x, k=k: first(x)[k])(x) for k in range(3)])
    np.testing.assert_allclose(second, slopes(first, x).T, rtol=1e-6, atol=1e-7)


def test_derivatives_where_there_is_a_kink_are_finite():
    assert np.isfinite(grad(lambda x: Rotation.from_rotvec(x).magnitude())(np.zeros(3))).all()
    for angles in LOCKED:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert np.isfinite(jacrev(lambda x: Rotation.from_euler("xyz", x).as_euler("xyz"))(np.array(angles))).all()


@pytest.mark.parametrize("name", ["to angles", "from a matrix", "mean", "power"])
def test_lanes_and_both_modes(name):
    f, x = SMOOTH[name], RNG.normal(size=(4, 3)) * 0.5
    np.testing.assert_allclose(vmap(f)(x), [f(row) for row in x], rtol=1e-12)
    np.testing.assert_allclose(jacfwd(f)(x[0]), jacrev(f)(x[0]), rtol=1e-10)
    np.testing.assert_allclose(vmap(jacrev(f))(x), [jacfwd(f)(row) for row in x], rtol=1e-9, atol=1e-12)


# -- how it is found -------------------------------------------------------------------------------


def test_every_function_that_scipy_has_compiled_has_a_handler():
    compiled = {n for n, f in vars(sys.modules[COMPILED]).items() if type(f).__name__ == "cython_function_or_method" and not n.startswith("_")}
    assert compiled - {"identity"} == FUNCTIONS[COMPILED].keys() == FUNCTIONS[GENERAL].keys()
    assert all(name in sys.modules for name in SOURCES) and transform.Rotation.__module__ in SOURCES


@pytest.mark.parametrize("seed", range(12))
def test_drawn_programs(seed):
    case = random_rotations.draw(random.Random(seed))
    assert random_rotations.differences(case) is None, case.text
