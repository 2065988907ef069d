"""The names that an error gives to operands and variables are those of the line where the number was born."""

import os
import subprocess
import sys

import numpy as np
import pytest

from wengert import NumericalError, grad, jit


def centred(x, w):
    logits = x @ w
    m = logits.max(axis=1, keepdims=True)
    return np.exp(logits - m).sum()


def error_of_call(f, *args):
    with pytest.raises(NumericalError) as caught:
        f(*args)
    return caught.value


FAR = np.array([[1.0, 2.0], [np.inf, 1.0]]), np.ones((2, 3))


def test_an_operand_that_is_spread_has_its_own_name_and_index():
    found = error_of_call(jit(centred, debug="nan"), *FAR)
    assert found.expression == "logits - m" and "m[1, 0]" in found.operands


def test_what_a_line_gives_is_no_variable_of_the_derivative():
    found = error_of_call(grad(jit(centred, debug="nan"), 1), *FAR)
    assert found.expression == "logits - m" and not found.adjoint and found.variable is None


def test_an_operand_is_told_once():
    text = str(error_of_call(jit(lambda x: x / x, debug="nan"), np.array([1.0, 0.0])))
    assert text.count("operand") == 1 and "x[1] = 0.0" in text


def test_a_wrong_word_of_the_environment_is_told_as_such():
    asked = {**os.environ, "WENGERT_DEBUG": "nans"}
    done = subprocess.run(
        [sys.executable, "-c", "import wengert; wengert.jit(lambda x: x)"], capture_output=True, text=True, env=asked
    )
    assert done.returncode == 1 and "by WENGERT_DEBUG=nans in the environment" in done.stderr, done.stderr
