"""`jit(promote="weak")`: arrays of narrow floats keep their dtype beside integers and numbers; and NumPy's rules without it."""

import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from wengert import UnsupportedError, grad, jit, value_and_grad, vmap

F4, BF, F2 = np.float32, ml_dtypes.bfloat16, np.float16
X = np.arange(12, dtype=F4).reshape(4, 3) / 4 - 1
I = np.arange(3)

KEPT = {
    "an array of integers": (lambda x, i: x * i, F4),
    "unsigned": (lambda x, i: x + i.astype(np.uint64), F4),
    "a scalar of integers": (lambda x, i: x * i[1], F4),
    "np.sqrt": (lambda x, i: x / np.sqrt(2), F4),
    "a float64 of the program": (lambda x, i: x * i.mean(), F4),
    "a masked mean": (lambda x, i: (x * (x > 0)).sum() / np.maximum((x > 0).sum(), 1), F4),
    "matmul": (lambda x, i: x @ i, F4),
    "dot": (lambda x, i: np.dot(x, i), F4),
    "einsum": (lambda x, i: np.einsum("ij,j->i", x, i), F4),
    "where": (lambda x, i: np.where(x > 0, x, i), F4),
    "concatenate": (lambda x, i: np.concatenate([x[0], i]), F4),
    "stack": (lambda x, i: np.stack([x[0], i]), F4),
    "power": (lambda x, i: abs(x) ** i, F4),
    "list": (lambda x, i: np.array([x[0, 0], 1]), F4),
    "average": (lambda x, i: np.average(x, axis=1, weights=i + 1), F4),
    "loop": (lambda x, i: sum(x[k] * k for k in i[:3]), F4),
    "clip": (lambda x, i: np.clip(x, i[0], i[2]), F4),
    "less": (lambda x, i: x < i, bool),
    "complex": (lambda x, i: (x + 1j) * i, np.complex64),
    "float16": (lambda x, i: x.astype(F2) * i, F2),
    "bfloat16": (lambda x, i: x.astype(BF) * i, BF),
    "bfloat16 beside a float": (lambda x, i: x.astype(BF) * 0.5, BF),
    "bfloat16 and float32": (lambda x, i: x.astype(BF) * x, F4),
    "out of range": (lambda x, i: x[:, :2][x[:, :2] > 0] * 3, F4),
    # what has no narrow float, or a wide array, is NumPy's
    "integers alone": (lambda x, i: i / 2, np.float64),
    "a mean of integers": (lambda x, i: i.mean(), np.float64),
    "an array of float64": (lambda x, i: x * np.ones(3), np.float64),
    "numbers alone": (lambda x, i: np.float64(2) * i[1], np.float64),
}


@pytest.mark.parametrize("name", KEPT)
def test_dtypes_are_kept(name):
    f, dtype = KEPT[name]
    got, want = jit(f, promote="weak", exact=False)(X, I), f(X, I)
    assert np.asarray(got).dtype == dtype
    np.testing.assert_allclose(np.asarray(got).astype(complex), np.asarray(want).astype(complex), rtol=1e-2 if dtype in (BF, F2) else 1e-5)
    assert np.asarray(jit(f)(X, I)).dtype == np.asarray(want).dtype


def test_without_it_float64_arises_where_numpy_has_it():
    wide = [name for name, (f, dtype) in KEPT.items() if np.asarray(f(X, I)).dtype != dtype]
    assert len(wide) >= 18


def test_what_is_derived_or_made_of_it_has_it():
    f = jit(lambda x: ((x / np.sqrt(2)) * I).sum(), promote="weak", exact=False)
    value, slope = value_and_grad(f)(X)
    assert value.dtype == slope.dtype == F4 and vmap(jit(lambda x: x * I, promote="weak", exact=False))(X).dtype == F4
    assert "f64" not in str(grad(f).ir(X)) and jit(f, exact=True)(X).dtype == np.float64


def test_jax_arrays_and_scalars():
    f = jit(lambda x, s: x * s, promote="weak", exact=False)
    assert f(jnp.asarray(X), np.int64(3)).dtype == F4 and f(X, np.float64(2.5)).dtype == F4 and f(F4(2), np.int64(3)).dtype == F4


def test_programs_are_told_apart(tmp_path):
    f = lambda x: x * I
    weak, plain = jit(f, promote="weak", exact=False), jit(f, exact=False)
    assert (weak(X).dtype, plain(X).dtype) == (F4, np.float64) and weak.compiled is not plain.compiled
    assert "promote='weak'" in weak.explain() and weak.plan(X).json()["traces"][0]["promote"] == "weak"
    for how in ("weak", "numpy"):
        g = jit(f, promote=how, cache=tmp_path, exact=False)
        assert g(X).dtype == (F4 if how == "weak" else np.float64) and "kept in" in g.explain()


def test_within_a_program_the_outermost_decides():
    inner = jit(lambda x: x * I, promote="weak", exact=False)
    assert jit(lambda x: inner(x), exact=False)(X).dtype == np.float64
    assert jit(lambda x: x * I, exact=False)(X).dtype == np.float64


def test_plain_python_never_answers(falling_back):
    f = jit(lambda x: (x * I, set(x.tolist()[0])), promote="weak", exact=False)
    assert f.compiled.whole
    with pytest.raises(UnsupportedError):
        jit(lambda x: np.linalg.eig(x * I).eigenvalues.view("S8"), promote="weak", exact=False)(X[:3])
    with np.errstate(all="raise"), pytest.raises(UnsupportedError, match="errstate"):
        jit(lambda x: x * I, promote="weak", exact=False)(X)


@pytest.mark.parametrize("other", [{"exact": True}, {"check": True}, {"tier": "background"}])
def test_it_is_not_numpy(other):
    with pytest.raises(ValueError, match=r"promote='weak' gives other dtypes than NumPy"):
        jit(np.sin, promote="weak", **{"exact": False, **other})


def test_only_what_there_is_can_be_asked_for():
    with pytest.raises(ValueError, match=r"promote='numpy' or 'weak', not 'float32'"):
        jit(np.sin, promote="float32")
