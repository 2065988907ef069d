"""What exceptions say, where the function catches them and where its caller does: what Python and NumPy say."""

import math
import operator

import numpy as np
import pytest
from draws import space_of

from wengert import jit
from wengert.tracer.common.errors import UnsupportedError

# pytest gives the assertions of a test words of its own
SPACE = space_of(
    """
def asserted(x):
    assert x > 0
    return x


def asserted_with(x):
    assert x > 0, "not %g" % x
    return x
""",
    "assertions",
)
A, M = np.arange(3.0), np.ones((2, 3))
CASES = {  # the function -> calls
    "index of an array": (lambda a, n: a[n], (A, 1), (A, 5), (A, -4), (A, 7)),
    "index of a matrix": (lambda a, n: a[0, n], (M, 1), (M, 5), (M, -9)),
    "array of indices": (lambda a, n: a[n], (A, np.array([0, 1])), (A, np.array([-7, 5])), (A, np.array([0, 3]))),
    "index of a list": (lambda x, n: [x, 2.0][n], (1.0, 1), (1.0, 2), (1.0, -3)),
    "index of few": (lambda a, n: a[a > 5][n], (A + 9, 0), (A, 0), (A + 9, 7), (A, 0)),
    "first of few": (lambda a: a[a > 5][0], (A + 9,), (A,), (A + 5,)),
    "key": (lambda x, n: {1: x, 2: x + 1}[n], (1.0, 1), (1.0, 3), (1.0, 7)),
    "in a list": (lambda x, y: [x, 2.0].index(y), (1.0, 1.0), (1.0, 4.0), (1.0, 5.5)),
    "int in a list": (lambda x, y: [x, 2].index(y), (1, 1), (1, 4), (1, 5)),
    "in a tuple": (lambda x, y: (x, 2.0).index(y), (1.0, 1.0), (1.0, 4.0)),
    "known in a list": (lambda x: [x, 2.0].index(4), (4.0,), (1.0,)),
    "divmod of floats": (divmod, (1.0, 2.0), (1.0, 0.0)),
    "divmod of ints": (divmod, (1, 2), (1, 0)),
    "divmod of both": (divmod, (1.0, 2), (1.0, 0)),
    "division": (operator.truediv, (1.0, 2), (1.0, 0)),
    "division of ints": (operator.truediv, (1, 2), (1, 0)),
    "remainder": (operator.mod, (1.0, 2.0), (1.0, 0.0)),
    "floor division": (operator.floordiv, (1, 2), (1, 0)),
    "overflow": (operator.pow, (2.0, 3.0), (10.0, 1000.0)),
    "negative power": (operator.pow, (2.0, -3.0), (0.0, -1.0)),
    "root": (lambda x: math.sqrt(x), (2.0,), (-1.0,)),
    "logarithm": (lambda x: math.log(x), (2.0,), (0.0,)),
    "assertion": (SPACE["asserted"], (1.0,), (-1.0,)),
    "assertion that says so": (SPACE["asserted_with"], (1.0,), (-1.0,), (-2.5,)),
    "raised with a number": (lambda x: raised(x), (1.0,), (-1.0,), (-2.5,)),
    "greatest of none": (lambda a: max([v for v in a if v > 5]), (A + 9,), (A,)),
    "shapes": (operator.add, (A, A), (A, np.arange(4.0))),
    "shapes in place": (operator.iadd, (A, A), (A, np.arange(4.0))),
    "product": (operator.matmul, (A, A), (A, np.arange(4.0))),
    "joined": (lambda a, b: np.concatenate([a, b]), (A, A), (A, M), (M, A)),
    "joined along another axis": (lambda a, b: np.hstack([a, b]), (M, M), (M, np.ones((3, 3)))),
    "stacked": (lambda a, b: np.stack([a, b]), (A, A), (A, np.arange(4.0))),
    "ragged": (lambda a, b: np.array([a, b]), (A, A), (A, np.arange(4.0))),
    "int too large": (lambda a: a + 2**64, (np.arange(2),)),
    "int too large for a byte": (lambda a: a + 300, (np.arange(2, dtype="u1"),)),
    "truth of an array": (lambda a: bool(a), (A,)),
    "text and a number": (lambda x: x + "s", (1.0,)),
    "number and text": (lambda x: "s" + x, (1.0,)),
    "order": (lambda x: x < "s", (1.0,)),
    "list and a number": (lambda x: [1] + x, (1.0,)),
    "inverted float": (lambda x: ~x, (1.0,)),
    "item of a float": (lambda x: x[0], (1.0,)),
}  # fmt: skip
OF_OURS = {  # which are refused where our words would come to a handler
    "call of a float": (lambda x: x(1), (1.0,)),
    "loop over a float": (lambda x: [v + 1 for v in x], (1.0,)),
}


def raised(x):
    if x < 0:
        raise KeyError(x)
    return x


def caught(f):
    def inner(*args):
        try:
            return f(*args)
        except Exception as error:
            return str(error), len(error.args)

    return inner


def told(f, args):
    """What comes of a call, in words."""
    try:
        return repr(f(*[x.copy() if isinstance(x, np.ndarray) else x for x in args]))
    except Exception as error:
        kind = next(c for c in type(error).__mro__ if c.__module__ == "builtins")
        return kind.__name__, str(error), repr(error.args)


@pytest.mark.parametrize("name", CASES)
def test_what_comes_to_the_caller(name, falling_back):
    f, *calls = CASES[name]
    compiled = jit(f, engine="numpy")
    for args in [*calls, *calls]:
        assert told(compiled, args) == told(f, args)


@pytest.mark.parametrize("name", CASES)
def test_what_comes_to_a_handler(name, falling_back):
    f, *calls = CASES[name]
    compiled = jit(caught(f), engine="numpy")
    for args in [*calls, *calls]:
        assert told(compiled, args) == told(caught(f), args)


@pytest.mark.parametrize("name", OF_OURS)
def test_words_that_name_our_classes_come_to_no_handler(name):
    f, args = OF_OURS[name]
    with pytest.raises(UnsupportedError):
        jit(caught(f), engine="numpy")(*args)


def test_the_line_and_the_hint_are_notes():
    with pytest.raises(ValueError) as error:
        jit(lambda a, b: a + b)(A, np.arange(4.0))
    assert "\n" not in str(error.value) and "test_words.py" in error.value.__notes__[0]


def test_an_exception_of_traced_values_is_text_of_them():
    def f(x, n):
        try:
            return [x, 2.0][n] / x
        except (IndexError, ZeroDivisionError) as error:
            return f"{error}, {error!r}, {x}"

    compiled = jit(f)
    for args in (2.0, 1), (2.0, 4), (0.0, 1), (3.0, 5):
        assert compiled(*args) == f(*args)


def test_a_number_that_is_gone_through():
    def f(x):
        try:
            return list(x[0])
        except TypeError as error:
            return str(error)

    assert jit(f)(np.ones(3)) == f(np.ones(3))


class Formatted:
    def __init__(self, v):
        self.v = v

    def __format__(self, spec):
        return f"F[{spec}]{self.v}"

    def __str__(self):
        return f"S{self.v}"


class FormattedMore(Formatted):
    def __format__(self, spec):
        return super().__format__(spec) + "!"


def test_a_class_has_its_own_format(capsys):
    outside = FormattedMore(3)

    def f(x):
        inside = Formatted(x[0])
        print(f"{outside} {outside!s} {outside:>3} {inside} {inside!s}", inside)
        return f"{outside}"

    for x in (np.ones(1), np.ones(1) * 2):
        assert jit(f)(x) == f(x)
        got, want = capsys.readouterr().out.splitlines()
        assert got == want
