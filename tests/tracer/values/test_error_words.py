"""Exceptions of Python's own kinds say what Python's and NumPy's say; where, and what to write, is a note."""

import numpy as np
import pytest

from wengert import jit

RAISING = {
    "float division": (lambda x, y: x / y, (1.0, 0.0)),
    "int division": (lambda x, y: x / y, (1, 0)),
    "floor of floats": (lambda x, y: x // y, (1.0, 0.0)),
    "floor of ints": (lambda x, y: x // y, (7, 0)),
    "remainder of ints": (lambda x, y: x % y, (7, 0)),
    "remainder of floats": (lambda x, y: x % y, (7.0, 0.0)),
    "complex division": (lambda x, y: x / y, (1j, 0j)),
    "int of nan": (lambda x: int(x), (float("nan"),)),
    "int of inf": (lambda x: int(x), (float("inf"),)),
    "index": (lambda x, i: x[i], (np.ones(3), 5)),
    "dtype": (lambda x, i: x + i, (np.ones(3, np.int8), 300)),
    "no numbers": (lambda x, i: np.min(x[:i]), (np.ones(3), 0)),
    "frozen": (lambda x: np.broadcast_to(x, (3, 3)).__setitem__(0, 1.0), (np.ones(3),)),
}


def words(f, args):
    with pytest.raises(Exception) as raised:
        f(*args)
    return type(raised.value), str(raised.value)


@pytest.mark.parametrize("name", RAISING)
def test_words_are_pythons(name):
    f, args = RAISING[name]
    g = jit(f)
    assert words(g, args) == words(g, args) == words(f, args)


def test_a_handler_prints_what_it_would(capsys):
    def f(xs, y):
        for x in xs:
            try:
                print(x / y)
            except ZeroDivisionError as error:
                print(f"skipped: {error}")
        return y

    for y in (2.0, 0.0):
        f([1.0, 2.0], y)
        expected = capsys.readouterr().out
        jit(f)([1.0, 2.0], y)
        assert capsys.readouterr().out == expected


def test_the_note_has_the_line():
    def f(x, y):
        return x / y

    with pytest.raises(ZeroDivisionError) as raised:
        jit(f)(1.0, 0.0)
    (note,) = raised.value.__notes__
    assert "test_error_words.py:" in note and "return x / y" in note
