"""Machine code that is compiled quickly, and optimised while it is in use."""

import importlib.util
import threading

import numpy as np
import pytest

from wengert import jit
from wengert.backends import native
from wengert.backends.native import build, direct

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")


def scaled(x, s):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * s + np.sqrt(x[i])
    return x.sum()


def compiled(n):
    """A jit of a loop over n elements whose machine code is not optimised, its only MachineCode, and the builtin function of that."""
    f = jit(scaled, engine="numpy")
    before = dict(direct.MADE)
    with native.compiled_quickly() as quick:
        f(np.ones(n), 0.5)
    (code,) = quick
    (call,) = [call for key, call in direct.MADE.items() if key[0] == code.name and key not in before]
    return f, code, call


def entered(call):
    """The address that Python calls for a builtin function."""
    known = call.__self__
    return direct.Definition.from_address(known.ctypes.data + direct.WORD * known.count).function


def test_calls_go_to_the_optimised_code_once_it_is_there():
    f, code, call = compiled(501)
    assert entered(call) == code.address("direct") and code.name not in build.OBJECTS
    first = code.address("direct"), code.engine
    code.optimise()
    assert entered(call) == code.address("direct") != first[0]
    assert code.quick is first[1]  # where another thread may be
    assert build.OBJECTS[code.name] == code.data and code.text is None
    x, y = np.linspace(0, 1, 501), np.linspace(0, 1, 501)
    np.testing.assert_allclose(f(x, 0.25), scaled(y, 0.25))
    np.testing.assert_allclose(x, y)


def test_whoever_asks_for_code_in_earnest_has_it_optimised():
    _, code, call = compiled(502)
    assert build.machine_code(code.text) is code and code.text is None
    assert entered(call) == code.address("direct")
    with native.compiled_quickly() as quick:
        jit(scaled, engine="numpy")(np.ones(502), 0.5)
    assert quick == []


def test_code_is_optimised_under_calls():
    f, code, _ = compiled(503)
    want, found = scaled(np.ones(503), 0.5), []
    thread = threading.Thread(target=code.optimise)
    thread.start()
    while thread.is_alive():
        found.append(f(np.ones(503), 0.5))
    found.append(f(np.ones(503), 0.5))
    np.testing.assert_allclose(found, want)
