"""Functions of SciPy that no rule stands for: the program calls them, on whatever the data are."""

import numpy as np
import pytest

from wengert import grad, jit
from wengert.tracer.common.errors import UnsupportedError

interpolate, ndimage = pytest.importorskip("scipy.interpolate"), pytest.importorskip("scipy.ndimage")
signal, spatial = pytest.importorskip("scipy.signal"), pytest.importorskip("scipy.spatial")
stats = pytest.importorskip("scipy.stats")
X = np.linspace(0.0, 5.0, 11)
Y = np.sin(X)
LINE, SPLINE, SMOOTH = interpolate.interp1d(X, Y), interpolate.PchipInterpolator(X, Y), interpolate.UnivariateSpline(X, Y, s=0)
TREE = spatial.KDTree(np.random.default_rng(0).random((20, 2)))
CALLS = {
    "gaussian_filter": lambda x: ndimage.gaussian_filter(x * 2, 1.0),
    "distance": lambda x: ndimage.distance_transform_edt(x > 1.5),
    "label": lambda x: ndimage.label(x > 1.5),
    "interp1d": lambda x: LINE(x),
    "of a number": lambda x: LINE(x[0]) + float(SMOOTH(x[1])),
    "spline": lambda x: SPLINE(x) + SPLINE(x, 1),
    "tree": lambda x: TREE.query(x[:2], k=3),
    "in a loop": lambda x: [float(LINE(v)) for v in x],
    "griddata": lambda x: interpolate.griddata(x.reshape(3, 2), x[:3], np.array([[0.5, 0.5]])),
    "medfilt": lambda x: signal.medfilt(x, 3),
}


def leaves(x):
    return [leaf for part in x for leaf in leaves(part)] if isinstance(x, list | tuple) else [x]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("engine", [None, "numpy"])
def test_it_gives_what_scipy_gives(name, engine):
    compiled = jit(CALLS[name], whole=True, engine=engine) if engine else jit(CALLS[name], whole=True)
    for x in (np.array([0.5, 1.5, 2.5, 1.0, 4.0, 3.0]), np.array([1.5, 0.5, 1.7, 2.0, 0.1, 3.5])):
        got, want = leaves(compiled(x)), leaves(CALLS[name](x))
        assert [type(a) for a in got] == [type(a) for a in want]
        assert all(np.asarray(a).dtype == np.asarray(b).dtype and np.allclose(a, b, 1e-12, equal_nan=True) for a, b in zip(got, want))


def test_what_it_raises_plain_python_raises(falling_back):
    f = jit(lambda x: LINE(x * 3))
    assert f(np.ones(2)).tolist() == LINE(np.full(2, 3.0)).tolist()
    with pytest.raises(ValueError, match="above the interpolation range"):
        f(np.full(2, 4.0))


def test_what_data_raise_and_the_function_catches():
    def f(x):
        try:
            return LINE(x)
        except ValueError:
            return x * 0.0

    compiled = jit(f, whole=False)
    for x in (np.ones(2), np.full(2, 9.0), np.full(2, 2.0)):
        assert compiled(x).tolist() == f(x).tolist()


def test_an_object_that_changes_is_asked_anew():
    line = interpolate.interp1d(X, Y)
    f = jit(lambda x: line(x), whole=True)
    assert f(np.ones(2)).tolist() == line(np.ones(2)).tolist()
    line.y = Y * 2
    line._y = line._reshape_yi(line.y)
    assert f(np.ones(2)).tolist() == line(np.ones(2)).tolist()


def test_it_has_no_derivative():
    with pytest.raises(UnsupportedError, match=r"has no derivative here\n  at .*test_host_calls.py"):
        grad(lambda x: LINE(x).sum())(np.ones(2))


def written_into(x):
    ndimage.gaussian_filter(x, 1.0, output=x)
    return x


def given_back(x):
    made = np.zeros_like(x)
    found = ndimage.gaussian_filter(x, 1.0, output=made)
    return found is made, made, spatial.distance.cdist(x[:, None], x[:, None], out=np.zeros((6, 6)))


def an_object(x):
    return stats.linregress(np.arange(len(x)), x).slope


@pytest.mark.parametrize("f", [written_into, given_back, an_object])
def test_what_writes_into_its_arguments_or_gives_objects_is_pythons(f, falling_back):
    x = np.array([0.5, 1.5, 2.5, 1.0, 4.0, 3.0])
    compiled = jit(f)
    for _ in range(2):
        mine, theirs = x.copy(), x.copy()
        assert str(compiled(mine)) == str(f(theirs)) and mine.tolist() == theirs.tolist()
