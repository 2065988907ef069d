"""What a birth is called: variables, operands, iterations and the places where it arrives, as the user writes them."""

import numpy as np
import pytest

from wengert import NumericalError, grad, jit, vmap


def blamed(function, *args, **kwargs):
    """The error of a call."""
    with pytest.raises(NumericalError) as caught:
        function(*args, **kwargs)
    return caught.value


def iterations(error):
    return tuple(n for _, n in error.trips)


@pytest.mark.parametrize("make", [jit, lambda f, **kw: grad(jit(f, **kw)), lambda f, **kw: vmap(jit(f, **kw), (0, None))])
def test_the_variable_of_a_loop_that_may_end_early(make):
    def early(x, n):
        s = x
        for i in range(1, n):  # noqa: B007, for the message
            s = s - 0.01
            for j in range(3):
                if j == 1:
                    break
                s = s + np.sqrt(s) * 1e-6
        return s

    x = np.array([1e9, 0.6]) if make(early).__name__.startswith("vmap") else 0.6
    error = blamed(make(early, debug="nan"), x, 100)
    assert "i = 61) of" in str(error) and "j = 0) of" in str(error) and iterations(error) == (60, 0)


def test_a_variable_that_is_not_computed_is_not_told():
    def strides(x, first, n, step):
        for i in range(first, n, step):  # noqa: B007, for the message
            x = x - 0.01
            x = x + np.sqrt(x) * 1e-6
        return x

    assert "i = 182)" in str(blamed(jit(strides, debug="nan"), 0.6, 2, 1000, 3))
    assert "60 (counted from 0) of" in str(blamed(grad(jit(strides, debug="nan")), 0.6, 2, 1000, 3))


def test_an_operand_that_was_stored_into_is_called_by_its_name():
    def stored(x):
        u = x.copy()
        u[1] = -1.0
        v = np.log(u)
        return v

    assert list(blamed(jit(stored, debug="nan"), np.ones(3)).operands) == ["u[1]"]


def test_a_variable_is_of_the_number_and_no_other_that_is_made_of_it():
    def layer(x, w):
        return np.tanh(x @ w)

    def loss(ws, x):
        for w in ws:
            x = layer(x, w)
        return np.sqrt(np.sum(x * x, axis=1)).mean()

    x = np.ones((4, 2))
    x[3] = 0.0
    error = blamed(grad(jit(loss, debug="nan")), [np.eye(2), np.eye(2)], x)
    assert error.text == "return np.sqrt(np.sum(x * x, axis=1)).mean()"
    assert (error.variable, error.index, error.result) == (None, (3, 0), "result[0][0, 0]")


def test_the_list_or_dict_that_gets_a_number_is_named():
    def kept(x, *, into):
        into["all"].append(np.log(x))
        return x

    def first(seen, x):
        seen["low"] = np.log(x)
        return {"x": [x, x + 1.0]}

    into = {"all": []}
    for _ in range(2):
        error = blamed(jit(kept, debug="nan"), -1.0, into=into)
        assert error.result == "into['all'][0], which the function writes" and into == {"all": []}
    assert blamed(jit(first, debug="nan"), {}, -1.0).result == "argument 0['low'], which the function writes"
    assert blamed(jit(lambda s, x: (s.append(x), [np.sqrt(x)]), debug="nan"), [], -1.0).result == "result[1][0]"


def test_operands_are_called_by_what_is_written():
    """What is made on the way within one expression does not have the expression's name."""
    listed = blamed(jit(lambda x: [np.log(v) for v in x], debug="nan"), np.array([1.0, -2.0]))
    assert listed.operands == {"v": "-2.0"}
    turned = blamed(jit(lambda a: np.log(a.T[1:, ::-1]), debug="nan"), np.array([[1.0, 2.0], [3.0, -4.0]]))
    assert turned.operands == {"(a.T[1:, ::-1])[0, 0]": "-4.0"}
    assert "A[A > 5].mean()" not in blamed(jit(lambda A: A[A > 5].mean(), debug="nan"), np.ones(2)).operands
