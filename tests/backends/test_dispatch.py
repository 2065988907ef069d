"""What a call costs is the same whichever signature came first: jax's own dispatch in C++ answers each."""

import sys

import jax.numpy as jnp
import numpy as np
import pytest

from wengert import jit

SLOW = "cache_miss", "_python_pjit_helper"  # where jax's dispatch goes that does not know a signature


def python_calls(f, *args):
    """The functions of jax's own slow dispatch that a call of `f` enters, when it has been called before."""
    entered = []

    def note(frame, event, _):
        if event == "call" and "/jax/" in frame.f_code.co_filename and frame.f_code.co_name in SLOW:
            entered.append(frame.f_code.co_qualname)

    f(*args)
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        f(*args)
    finally:
        sys.setprofile(before)
    return entered


KINDS = {
    "ndarrays": [(np.ones(3),), (np.ones(4),), (np.ones((2, 2)),)],
    "dtypes": [(np.ones(3),), (np.ones(3, np.float32),), (np.ones(3, np.int64),)],
    "jax arrays": [(jnp.ones(3),), (jnp.ones(4),), (jnp.ones(3, np.int32),)],
    "numbers": [(np.ones(3), 2.0), (np.ones(4), 3.0), (np.ones(5), 2)],
    "numpy's numbers": [(np.ones(3), np.float64(2)), (np.ones(4), np.float64(2)), (np.ones(4), np.float32(2))],
}


@pytest.mark.parametrize("calls", KINDS.values(), ids=KINDS)
def test_later_signatures_are_dispatched_as_the_first(calls):
    f = jit(lambda x, s=2.0: (x * s).sum())
    for _ in range(2):
        for args in calls:
            np.testing.assert_allclose(f(*args), (np.asarray(args[0]) * (*args[1:], 2.0)[0]).sum(), rtol=1e-6)
    assert [python_calls(f, *args) for args in calls] == [[]] * len(calls)


def test_later_shapes_of_what_is_read_from_outside():
    outside = {"w": np.ones(3)}
    f = jit(lambda x: x * outside["w"])
    for n in (3, 4, 5, 3, 4, 5):
        outside["w"] = np.full(n, 2.0)
        np.testing.assert_array_equal(f(np.ones(n)), np.full(n, 2.0))
        assert python_calls(f, np.ones(n)) == []
