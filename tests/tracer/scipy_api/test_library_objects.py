"""Objects that SciPy makes of traced data: made by the program, used by its calls, returned and stored as real ones."""

import numpy as np
import pytest
from compare import agree
from scipy.interpolate import BSpline, CubicSpline, UnivariateSpline, interp1d, make_interp_spline
from scipy.spatial import ConvexHull, KDTree, Voronoi, cKDTree
from scipy.stats import gaussian_kde

import wengert
from wengert import UnsupportedError, grad, jit

RNG = np.random.default_rng(0)
X, P, Q = np.linspace(0, 3, 7), RNG.normal(size=(30, 2)), RNG.normal(size=(3, 2))
Y, T = np.sin(X), np.linspace(0.1, 2.9, 20)


def interpolated(x, y, t):
    f = interp1d(x, y, kind="quadratic")
    return [f(v) for v in t], f(t), f.x


def neighbours(p, q):
    tree = KDTree(p)
    d, i = tree.query(q, k=2)
    return d * 2, i, p[i[0]], tree.n, tree.maxes, bool(tree)


def smoothed(x, y, t):
    s = UnivariateSpline(x, y, k=3, s=0.1)
    return s(t), s.derivative(1)(t), s.get_knots()


def cells(p):
    return Voronoi(p).vertices[:, 0].sum(), ConvexHull(p).volume


def near_ones(p, n):
    out, tree = [], cKDTree(p)
    for k in range(n):
        d, _ = tree.query(p[k] * 1.1)
        if d > 0.1:
            out.append(d)
    return out, len(out)


def classes(x, y, t):
    s = make_interp_spline(x, y)
    return s(t), s.c, isinstance(s, BSpline), type(s).__name__, callable(s), hasattr(s, "missing")


def on_sides(p, q):
    tree = KDTree(p) if q[0, 0] > 0 else KDTree(p * 2)
    return tree.query(q)


def of_a_loop(x, y, n):
    total = 0.0
    for k in range(n):
        f = CubicSpline(x, y * k)
        total += f(0.5) + f.derivative()(0.5)
    return total


def density(x, y):
    return gaussian_kde(x)(y)


CASES = [
    (interpolated, (X, Y, T)), (neighbours, (P, Q)), (smoothed, (X, Y, T)), (cells, (P,)), (near_ones, (P, 20)), (classes, (X, Y, T)),
    (on_sides, (P, Q)), (of_a_loop, (X, Y, 9)), (density, (X, Y)),
]  # fmt: skip


@pytest.mark.parametrize("f, args", CASES, ids=[f.__name__ for f, _ in CASES])
def test_as_plain_python(f, args):
    compiled = jit(f)
    for scale in (1.0, 1.5, -1.0 if f in (on_sides, cells) else 0.5):
        given = [x * scale if isinstance(x, np.ndarray) else x for x in args]
        agree(compiled(*given), f(*given))


class Path:
    def __init__(self, x, y):
        s = np.append(0, np.cumsum(np.hypot(np.diff(x), np.diff(y))))
        self.X, self.Y, self.length = CubicSpline(s, x), CubicSpline(s, y), s[-1]
        self.dX = self.X.derivative(1)

    def at(self, s):
        return np.array([self.X(s), self.Y(s), self.dX(s)])


def test_they_are_real_where_they_are_handed_out():
    def made(x, y, held):
        path = Path(x, y)
        held.append(path.X)
        return path, path.at(1.0), [path.X, {"x": path.X}]

    compiled = jit(made)
    for scale in (1.0, 2.0):
        held = []
        path, at, (one, two) = compiled(X * scale, Y, held)
        want = Path(X * scale, Y)
        agree([path.length, path.at(0.5), at], [want.length, want.at(0.5), want.at(1.0)])
        assert type(path.X) is CubicSpline and path.X is held[0] is one is two["x"]
    compiled = jit(Path.at)
    agree(compiled(path, 0.7), path.at(0.7))  # from outside


def test_data_of_which_none_can_be_made():
    def splined(x, y, out):
        out[0] = 1.0
        spline = CubicSpline(x, y)
        return x if x.size > 90 else spline

    def unused(x, y):
        CubicSpline(x, y)
        return x

    def caught(x, y):
        try:
            return CubicSpline(x, y)(0.5)
        except ValueError:
            return -1.0

    for f, more in ((splined, (np.zeros(1),)), (unused, ())):
        compiled = jit(f)
        compiled(X, Y, *more)
        for bad in (X[::-1], X * np.nan):
            with pytest.raises(ValueError) as want:
                f(bad, Y, *more)
            for run in (compiled, jit(f)):
                with pytest.raises(ValueError) as got:
                    run(bad, Y, *more)
                assert str(got.value).splitlines()[0] == str(want.value)
    with pytest.warns(wengert.Fallback):
        assert jit(caught, whole=False)(X[::-1], Y) == -1.0


def drawn(x):
    return gaussian_kde(x).resample(3)


def told(p):
    return f"{KDTree(p)}"


def stored(x, y):
    s = CubicSpline(x, y)
    s.extrapolate = False
    return s(9.0)


def held_in_a_loop(p, n):
    tree = KDTree(p)
    for k in range(n):
        tree = KDTree(p * k)
    return tree.query(p[0])


@pytest.mark.parametrize("f, args", [(drawn, (X,)), (told, (P,)), (stored, (X, Y)), (held_in_a_loop, (P, 30))])
def test_what_is_not_known_to_be_pure_is_refused(f, args):
    with pytest.raises(UnsupportedError):
        jit(f)(*args)


def test_no_derivative():
    def loss(y):
        return CubicSpline(X, y)(0.5)

    with pytest.raises(UnsupportedError, match="has no derivative here"):
        grad(loss)(Y)
    assert grad(lambda y: (y * CubicSpline(X, X)(T[:7])).sum())(Y).shape == Y.shape
