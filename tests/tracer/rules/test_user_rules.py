"""Rules of the user's, stated by two functions: where they fire, what they refuse, and what becomes of programs made before."""

import numpy as np
import pytest

import wengert
from wengert import CheckError, UnsupportedError, grad, jit, vmap

pytestmark = pytest.mark.usefixtures("inexact_rules")
X = np.random.default_rng(0).random((4, 3))
W = X[0]


def naive(x):
    return np.log(np.exp(x).sum())


def stable(x):
    m = x.max()
    return m + np.log(np.exp(x - m).sum())


def fired(f):
    """The rules that explain() names, in order."""
    return [line.split()[2] for line in f.explain().splitlines() if line.split()[:2] == ["note", "rule"]]


def agrees(function, *args, fires=True):
    """The function under the rules in force gives what it does, and a rule has fired, or has not."""
    compiled = jit(function, engine="numpy")
    np.testing.assert_allclose(compiled(*args), function(*args), rtol=1e-6)
    assert bool(fired(compiled)) == fires


def logsumexp():
    return wengert.rule(naive, stable, name="logsumexp")


# -- where they fire -------------------------------------------------------------------------------


@pytest.mark.parametrize("x", [W, X, W.astype("f4"), np.arange(4), np.float64(2.0), 0.5])
def test_whatever_the_shape_and_dtype(x):
    with logsumexp():
        agrees(lambda x: 2 * np.log(np.sum(np.exp(x))), x)


def test_the_replacement_is_what_runs():
    f = jit(lambda x: np.log(np.exp(2.0 * x).sum()) + 1.0)
    big = np.full(3, 1000.0)
    assert np.isinf(f(big))
    with logsumexp():
        assert f(big) == 2001.0 + np.log(3.0)


@pytest.mark.parametrize("pattern, replacement, function, args", [
    (lambda a, b: np.sqrt(a**2 + b**2), lambda a, b: np.hypot(a, b), lambda x, s: np.sqrt(s**2 + x**2), (W, 2.0)),
    (lambda x, m, s: (x - m) / s, lambda x, m, s: x / s - m / s, lambda x: (x - x.mean(axis=0)) / x.std(axis=0), (X,)),
    (lambda a, b: np.linalg.inv(a) @ b, lambda a, b: np.linalg.solve(a, b), lambda a, b: np.linalg.inv(a) @ b, (X[:3], W)),
    (lambda x: np.sort(x)[0], lambda x: x.min(axis=0), lambda x: np.sort(x)[0], (W,)),
    (lambda x: np.sort(x), lambda x: np.sort(x.copy()), lambda x: np.sort(2.0 * x), (W,)),
    (lambda a, b: (a @ b)[0], lambda a, b: a[0] @ b, lambda a, b: (a @ b)[0], (X, X.T)),
    (lambda a: np.trace(a @ a), lambda a: (a * a.T).sum(), lambda a: np.trace(a @ a), (np.eye(300),)),
    (lambda x, eps=0.5: np.maximum(x, eps), lambda x, eps=0.5: np.where(x > eps, x, eps), lambda x: np.maximum(x, 0.5), (W,)),
    (lambda x: x.reshape(2, 2).sum(axis=0), lambda x: x[:2] + x[2:], lambda x: x.reshape(2, 2).sum(axis=0), (X[:, 0],)),
    (lambda x: x.T, lambda x: np.swapaxes(x, 0, 1), lambda x: x.T + 1.0, (X,)),
])  # fmt: skip
def test_patterns(pattern, replacement, function, args):
    where = (lambda x: x.ndim == 2) if function(*args).shape == (3, 4) else None
    with wengert.rule(pattern, replacement, where=where):
        agrees(function, *args)


def test_only_what_is_the_same_to_numpy():
    with logsumexp(), wengert.rule(lambda x: x * 2.5, lambda x: x + 1.5 * x, name="half"):
        agrees(lambda x: np.log(np.exp(x).sum(axis=0)), X, fires=False)
        agrees(lambda x: x * 3.5, X, fires=False)
        agrees(lambda x: np.log(np.exp(x.sum())), X, fires=False)


def test_inside_a_loop_and_after_our_own_rules():
    def function(x):
        for _ in range(x.shape[0]):
            x = x + np.tanh(x) * np.cosh(x) / 8.0
        return x

    with wengert.rule(lambda x: np.tanh(x) * np.cosh(x), lambda x: np.sinh(x)):
        agrees(function, W)
    with wengert.rule(lambda x: np.log(1.0 + np.exp(x)), lambda x: np.logaddexp(0.0, x)):  # ours makes a softplus of it
        agrees(lambda x: 2.0 * np.log1p(np.exp(x)), W)


def test_of_a_derivative_and_of_a_batch():
    big = np.full((2, 3), 1000.0)
    with logsumexp():
        np.testing.assert_allclose(grad(naive)(big[0]), 1 / 3)
        np.testing.assert_allclose(vmap(grad(naive))(big), 1 / 3)
        np.testing.assert_allclose(jit(lambda x: vmap(naive)(x).sum())(big), 2 * (1000.0 + np.log(3.0)))
    with wengert.rule(lambda x: np.cos(x) * np.exp(x), lambda x: np.exp(x) * np.sin(x + np.pi / 2), name="shifted"):
        slope = grad(lambda x: np.sin(x) + x * x)  # what is not there before is there after
        assert not fired(slope)
        slope = jit(lambda x: grad(lambda x: np.sin(x))(x) * np.exp(x))
        np.testing.assert_allclose(slope(0.3), np.cos(0.3) * np.exp(0.3))
        assert fired(slope) == ["shifted"]


def test_rules_that_make_what_they_look_for():
    with wengert.rule(lambda x, y: x - y, lambda x, y: -(y - x), exact=False), wengert.rule(lambda x: -x, lambda x: 0.0 - x):
        agrees(lambda x: (x - 1.0) * 3.0, W)


def test_which_are_inexact():
    with logsumexp():
        f = jit(naive, exact=True, engine="numpy")
        f(W)
        assert not fired(f)
    with wengert.rule(lambda x: np.abs(x) + np.abs(x), lambda x: 2.0 * np.abs(x), exact=True, where=lambda x: x.dtype.kind == "f"):
        f = jit(lambda x: np.abs(x) + np.abs(x), exact=True)
        f(W)
        assert fired(f)


# -- programs made before --------------------------------------------------------------------------


def test_programs_follow_the_rules_in_force():
    f, big = jit(naive, engine="numpy"), np.full(3, 1000.0)
    assert np.isinf(f(big)) and np.isinf(f(big))
    kept = logsumexp()
    assert "test_user_rules.py" in repr(kept)
    with kept:
        assert np.isfinite(f(big)) and np.isfinite(f(big))
        assert "because      rules were stated or removed since" in f.explain()
    assert np.isinf(f(big)) and np.isinf(f(big))
    kept.remove()
    with kept:
        assert np.isfinite(f(big))
    assert np.isinf(f(big)) and f.explain().startswith("naive: 2 trace(s)")


OPTIONS = {}, {"dynamic": True}, {"dynamic": False}, {"engine": "numpy"}, {"tier": "background"}, {"whole": True}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_every_length_is_answered_under_the_rules(options, learning):
    """By plain Python, which answers new shapes of other programs, it would not be."""
    with logsumexp():
        f, g = jit(naive, **options), vmap(jit(naive, **options), ragged=True)
        for n in (3, 4, 5, 3, 4, 1, 2, 7):
            assert np.isclose(f(np.full(n, 1000.0)), 1000 + np.log(n)), n
        assert np.isfinite(g([np.full(n, 1000.0) for n in (3, 4, 1, 2, 6)])).all()
    assert np.isinf(f(np.full(9, 1000.0)))


def test_a_function_that_is_refused_is_plain_python_under_rules_too(learning):
    def refused(x):
        return np.log(np.exp(x).sum()) + len(str(x[0]))

    with logsumexp():
        for options in ({}, {"tier": "background"}):
            f = jit(refused, **options)
            for n in (3, 4, 3):
                assert np.isclose(f(np.ones(n)), refused(np.ones(n)))


def test_explain_names_the_rule_and_its_line():
    with logsumexp() as made:
        f = jit(naive)
        f(W)
        line = made.family.source.line
    place = f"note         rule logsumexp (test_user_rules.py:{line}), in place of test_user_rules.py:{naive.__code__.co_firstlineno + 1}"
    assert place in f.explain()


def test_programs_under_rules_are_not_on_disk(tmp_path):
    def result():
        f = jit(naive, cache=tmp_path)
        return f(np.full(3, 1000.0)), [line for line in f.explain().splitlines() if line.startswith("    cache")][0]

    assert np.isinf(result()[0])
    with logsumexp():
        value, told = result()
        assert np.isfinite(value) and "not kept: rules of the user's were in force" in told
    value, told = result()
    assert np.isinf(value) and "read from" in told


# -- refusals --------------------------------------------------------------------------------------


def test_a_wrong_rule_is_refused():
    with pytest.raises(CheckError, match=r"its sides differ for x = array\(.*\), y = .*the pattern gives .* at \[\d\], the replacement .*nan"):
        wengert.rule(lambda x, y: np.log(x * y), lambda x, y: np.log(x) + np.log(y))
    with wengert.rule(lambda x, y: np.log(x * y), lambda x, y: np.log(x) + np.log(y), check=False):
        agrees(lambda x: np.log(x * W), W)
    with pytest.raises(CheckError, match="differ"):
        wengert.rule(lambda x: x + 0.0, lambda x: x * 1.0, exact=True)
    f = jit(lambda x: np.log(x * 2.0))
    with pytest.raises(CheckError, match="differ"), wengert.rule(
        lambda x: np.log(x * 2.0), lambda x: np.log(x) + np.log(2.0) + (x.ndim == 3)
    ):  # right where it was stated, wrong where it is met
        f(np.ones((2, 2, 2)))


def test_a_replacement_of_another_type_is_refused():
    text = r"at x: f64\[3\] its pattern gives f64\[\], and its replacement f64\[1\]\n  at .*test_user_rules.py:\d+\n(.*\n)*.*of shape \(\)"
    with pytest.raises(CheckError, match=text):
        wengert.rule(lambda x: x.sum(axis=0), lambda x: x.sum(axis=0, keepdims=True))
    with pytest.raises(CheckError, match=r"Return y.astype\(np.float64\)"):
        wengert.rule(lambda x: x.sum(), lambda x: x.sum().astype("f4"))


SCALE, TABLE = 2.0, np.ones(3)


@pytest.mark.parametrize("pattern, replacement, text", [
    (lambda x: x * SCALE, lambda x: x + x, "its pattern reads SCALE outside"),
    (lambda x: x + TABLE, lambda x: x + 1.0, "its pattern reads TABLE outside"),
    (lambda x: x + x, lambda x: x * SCALE, "its replacement reads SCALE outside"),
    (lambda x: (x, x), lambda x: x, "returns a container"),
    (lambda x: x, lambda x: x, "the pattern computes nothing"),
    (lambda x, y: x + 1.0, lambda x, y: 1.0 + x, "reads all of its parameters"),
    (lambda x: x + np.random.random(), lambda x: x, "draws random numbers"),
    (lambda x: x + 1.0, lambda z: z + 1.0, r"its pattern takes \(x\), its replacement \(z\)"),
    (lambda *xs: xs[0] + 1.0, lambda x: x + 1.0, "not known by position"),
])  # fmt: skip
def test_what_is_no_rule(pattern, replacement, text):
    with pytest.raises(UnsupportedError, match=text):
        wengert.rule(pattern, replacement)


def test_mistakes_are_those_of_python():
    with pytest.raises(NameError):
        wengert.rule(lambda x: missing.exp(x), lambda x: x)  # noqa: F821
    with pytest.raises(CheckError, match="its replacement fails: name 'missing' is not defined"):
        wengert.rule(lambda x: np.exp(x), lambda x: missing.exp(x))  # noqa: F821
    with pytest.raises(TypeError, match="two functions"):
        wengert.rule(np.exp, 2.0)


def test_no_rule_is_stated_in_a_program():
    with pytest.raises(UnsupportedError, match="while a function is traced"):
        jit(lambda x: [logsumexp(), x][1])(W)
