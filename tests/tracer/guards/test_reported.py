"""NumPy's floating-point errors, where the caller's state asks for an exception: what NumPy raises is raised, and other calls run compiled."""

import threading
import warnings

import numpy as np
import pytest
from compare import agree

from wengert import Fallback, grad, jit

X, ZERO = np.array([1.0, 2.0]), np.zeros(2)
PROGRAMS = [
    (lambda x, y: x / y, (X, ZERO), "divide"), (lambda x, y: np.log(y), (X, ZERO), "divide"), (lambda x, y: x * 1e308 * 10, (X, ZERO), "over"),
    (lambda x, y: (x[0] * 1e-308) * 1e-10, (X, ZERO), "under"), (lambda x, y: np.sqrt(-x), (X, ZERO), "invalid"),
    (lambda x, y: x // y, (np.array([1, 2]), np.array([0, 1])), "divide"), (lambda x, y: (x + y * np.inf).astype("i4"), (X, X), "invalid"),
    (lambda x, y: [float(v) / w for v, w in zip(x, y)], (X, ZERO), "divide"),
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"engine": "numpy"}, {"engine": "xla"}], ids=str)
@pytest.mark.parametrize("case", range(len(PROGRAMS)))
def test_errstate_around_a_call(case, options):
    f, arguments, error = PROGRAMS[case]
    compiled = jit(f, **options)
    with np.errstate(all="ignore"):
        want = f(*arguments)
        agree(compiled(*arguments), want)
    for _ in range(2):
        with np.errstate(**{error: "raise"}), pytest.raises(FloatingPointError), pytest.warns(Fallback, match=rf"raise \({error}\)"):
            compiled(*arguments)
        with warnings.catch_warnings():
            warnings.simplefilter("error", Fallback)
            agree(compiled(*arguments), want)
            with np.errstate(all="warn", **{error: "ignore"}):
                agree(compiled(*arguments), want)


def test_seterr_before_the_first_call_and_on_one_thread():
    f, told = jit(lambda x: 1 / x), []
    before = np.seterr(divide="raise")
    try:
        with pytest.raises(FloatingPointError), pytest.warns(Fallback):
            f(ZERO)
        thread = threading.Thread(target=lambda: told.append(f(ZERO)))
        thread.start()
        thread.join()
    finally:
        np.seterr(**before)
    agree(f(ZERO), np.full(2, np.inf))
    agree(told[0], np.full(2, np.inf))


def test_a_function_of_the_callers_own():
    heard = []
    f = jit(lambda x: 1 / x)
    f(X)
    with np.errstate(divide="call", call=lambda kind, flag: heard.append(kind)), pytest.warns(Fallback):
        f(ZERO)
    assert heard == ["divide by zero"]


def test_what_has_no_such_errors_asks_for_nothing():
    """Elements moved, integers added, and operators of Python's numbers, which are not NumPy's."""

    def stored(x, n):
        x[0] = n

    for f, arguments in [(lambda a, b: a / (b + 2.0), (1.0, 0.5)), (stored, (np.zeros(2), 3.0)), (lambda a, n: a[::-1] + n, (np.arange(3), 2))]:
        compiled = jit(f)
        compiled(*arguments)
        version = compiled.compiled.entries.popitem()[1].current.versions[0]
        assert not version.captured.heeds


def test_derivatives_are_watched():
    """They have no plain Python that NumPy computes."""
    slope = jit(grad(lambda x: np.sqrt(x)))
    with np.errstate(all="raise"), pytest.warns(Fallback), pytest.raises(FloatingPointError, match="divide by zero"):
        slope(np.float64(0.0))
    with np.errstate(all="warn"):
        assert np.isinf(slope(np.float64(0.0)))
