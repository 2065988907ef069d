"""Objects of other libraries as arguments: the same answers as without `jit`, compiled where they are arrays, else with a line that says
what to pass; nothing that they know of their numbers is lost.
"""

import array
import decimal
import warnings

import numpy as np
import pytest

from wengert import Fallback, jit

X = np.array([1.0, 2.0, 0.5, 4.0])


class Held:
    """What NumPy makes an array of: polars' columns and others are such."""

    def __init__(self):
        self.numbers = X.copy()

    def __array__(self, dtype=None, copy=None):
        return self.numbers


class Told(Held):
    __array__ = None

    @property
    def __array_interface__(self):
        return self.numbers.__array_interface__


class Lent(Held):
    __array__ = None

    def __dlpack__(self, **options):
        return self.numbers.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.numbers.__dlpack_device__()


class Quantity:
    """Numbers with a unit, as pint and astropy have them: NumPy asks it through both protocols."""

    def __init__(self, numbers, unit):
        self.numbers, self.unit = numbers, unit

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        return self.over(ufunc, inputs, options)

    def __array_function__(self, function, types, args, options):
        return self.over(function, args, options)

    def over(self, function, args, options):
        plain = [x.numbers if isinstance(x, Quantity) else x for x in args]
        return Quantity(function(*plain, **options), self.unit)

    def __mul__(self, other):
        return self.over(np.multiply, (self, other), {})

    __rmul__ = __mul__


def quantity():
    return Quantity(X.copy(), "m")


def added(x, y):
    return np.sin(np.asarray(x)) + y


def stored(r):
    r["x"] = 9.0
    return r["x"] + r["y"]


def filled(m):
    m[1] = 5.0
    return m.sum()


FIELDS = [("x", float), ("y", float)]
COMPILED = {
    "__array__": (lambda x: np.sin(x) + X, Held),
    "np.asarray": (lambda x: added(x, X), Held),
    "__array_interface__": (lambda x: added(x, X), Told),
    "bytes": (lambda x: np.frombuffer(x, np.uint8) + X, lambda: b"abcd"),
    "lists of lists": (lambda x: np.asarray(x) @ X, lambda: [[1.0, 2, 3, 4], [5, 6, 7, 8]]),
    "units, ufunc": (lambda q: np.sin(q), quantity),
    "units, function": (lambda q: np.mean(q), quantity),
    "units, operator": (lambda q: 2 * q, quantity),
    "units, meeting arrays": (lambda q: np.add(np.sin(X), q), quantity),
    "numbers of other kinds": (lambda d: float(d[0]) * X, lambda: [decimal.Decimal(2)]),
}
LEFT_TO_PYTHON = {
    "array.array": (lambda x: added(x, X), lambda: array.array("d", X)),
    "memoryview": (lambda x: added(x, X), lambda: memoryview(X)),
    "__dlpack__": (lambda x: np.from_dlpack(x) * X, Lent),
    "np.recarray": (lambda r: r.x + r.y, lambda: np.rec.array([(1.0, 2.0), (3.0, 4.0)], dtype=FIELDS)),
    "structured": (stored, lambda: np.array([(1.0, 2.0), (3.0, 4.0)], dtype=FIELDS)),
    "datetime64": (lambda t: t[1:] - t[:-1], lambda: np.array(["2020-01-01", "2020-01-03"], "M8[D]")),
    "objects": (lambda x: x * 2, lambda: np.array([1, 2.5, "a"], object)),
    "strings": (lambda x: x == "a", lambda: np.array(["a", "b"])),
    "np.ma": (lambda m: m.mean(), lambda: np.ma.masked_array([1.0, 2, 3], mask=[0, 1, 0])),
    "np.matrix": (lambda m: m * m, lambda: np.matrix([[1.0, 2], [3, 4]])),
}


def same(got, meant):
    assert type(got) is type(meant)
    if isinstance(got, Quantity):
        assert got.unit == meant.unit
        got, meant = got.numbers, meant.numbers
    np.testing.assert_array_equal(got, meant)


@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name):
    f, make = COMPILED[name]
    compiled = jit(f)
    for _ in range(2):
        same(compiled(make()), f(make()))


@pytest.mark.parametrize("name", LEFT_TO_PYTHON)
def test_left_to_python(name):
    f, make = LEFT_TO_PYTHON[name]
    compiled = jit(f, whole=False)
    with pytest.warns(Fallback, match="ran as plain Python"):
        same(compiled(make()), f(make()))
    same(compiled(make()), f(make()))


def test_mapped_files(tmp_path):
    """A map is left to Python; as an array of the same memory it is compiled, and what is stored reaches the file."""
    for n, taken in enumerate([lambda m: m, np.asarray]):
        path = tmp_path / f"{n}"
        m = np.memmap(path, float, "w+", shape=4)
        m[:] = 1.0
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            assert jit(filled, whole=False)(taken(m)) == 8.0
        assert [issubclass(w.category, Fallback) for w in told] == [True] * (n == 0)
        m.flush()
        assert np.fromfile(path).tolist() == [1.0, 5.0, 1.0, 1.0]


def frames():
    pd = pytest.importorskip("pandas")
    series = pd.Series([1.0, 2, 3, 4], index=list("abcd"))
    frame = pd.DataFrame({"a": [1.0, 2], "b": [3.0, 4]})
    return [
        (lambda s: s * 2, series), (lambda s: np.sin(s), series), (lambda s: s + X, series), (lambda s: X + s, series),
        (lambda s: np.sin(s.to_numpy()), series), (lambda s: np.sin(s.values) * 2, series), (lambda s: s.sum(), series),
        (lambda d: np.sin(d["a"].to_numpy()), frame), (lambda d: d.values @ d.values.T, frame), (lambda d: d.apply(lambda c: c * 2), frame),
    ]  # fmt: skip


@pytest.mark.parametrize("n", range(10))
def test_pandas(n):
    f, given = frames()[n]
    with pytest.warns(Fallback, match=rf"Argument . is a {type(given).__name__} of pandas: pass its numbers, .\.to_numpy\(\)\."):
        got = jit(f, whole=False)(given)
    meant = f(given)
    assert type(got) is type(meant)
    assert got.equals(meant) if hasattr(got, "equals") else np.array_equal(got, meant)
    if n in (4, 5, 7):  # what the line says to write is compiled
        np.testing.assert_array_equal(jit(lambda a: np.sin(a) * (1 + (n == 5)))(given["a"].to_numpy() if n == 7 else given.to_numpy()), meant)


def test_xarray():
    xr = pytest.importorskip("xarray")
    given = xr.DataArray(np.arange(4.0), dims="t", coords={"t": list("abcd")})
    for f in (lambda d: (d * 2).sum("t"), lambda d: np.sin(d), lambda d: np.sin(X) + d):
        with pytest.warns(Fallback, match="Argument d is a DataArray of xarray: pass its numbers, d.to_numpy()"):
            assert jit(f, whole=False)(given).identical(f(given))


def test_dask_arrays():
    dask = pytest.importorskip("dask.array")
    f = lambda d: (np.sin(d) * 2).sum()
    with pytest.warns(Fallback, match="Argument d is a Array of dask: pass its numbers, d.compute()"):
        got = jit(f, whole=False)(dask.ones(4))
    assert type(got) is dask.Array and got.compute() == f(np.ones(4))
    blocks = dask.ones((4, 3), chunks=(2, 3)).map_blocks(jit(np.sin))
    np.testing.assert_array_equal(blocks.compute(scheduler="threads"), np.sin(np.ones((4, 3))))
