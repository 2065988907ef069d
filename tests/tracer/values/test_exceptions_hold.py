"""Exceptions hold what plain Python's hold: their arguments, attributes, causes and words, whoever catches them."""

import re
import warnings

import numpy as np
import pytest
from asserting import (
    asserts_bare,
    asserts_in_a_loop,
    asserts_number,
    asserts_text,
    asserts_tuple,
    asserts_what_raises,
    asserts_words,
    caught_assertion,
)

from wengert import Fallback, grad, jit


class Told(Exception):
    def __init__(self, a):
        super().__init__("told")
        self.a, self.items = a, [a]


class Spoken(Exception):
    def __init__(self, a):
        self.a = a

    def __str__(self):
        return f"spoken {self.a}"


class Base(BaseException): ...


def raises_always(make):
    def f(x):
        raise make(x)

    return f


def raises_sometimes(make):
    def f(x):
        if x[0] > 0:
            raise make(x)
        return x * 2

    return f


def raises_in_a_loop(make):
    def f(x):
        total = x[0] * 0
        for i in range(40):
            total = total + x[0]
            if total > 20:
                raise make(x + i)
        return total

    return f


def with_attribute(x):
    error = ValueError("a")
    error.held = x[0]
    return error


def with_note(x):
    error = ValueError("a")
    error.add_note(f"note {x[0]}")
    return error


MAKES = [
    lambda x: ValueError("x", x[0]), lambda x: ValueError([x[0]]), lambda x: KeyError(int(x[0])),
    lambda x: Told(x[0]), lambda x: Spoken(x[0]), lambda x: Base(x[0]), lambda x: ValueError(x),
    lambda x: ValueError({"a": (x[0], x)}), lambda x: ValueError(f"bad {x[0]}"),
    lambda x: ValueError(f"bad {x}, {x.sum():.2f}"), lambda x: OSError(int(x[0]), "m"),
    lambda x: SystemExit(int(x[0])), lambda x: ExceptionGroup("g", [ValueError(x[0])]), lambda x: ValueError(),
    lambda x: ValueError, lambda x: ValueError(3), lambda x: ValueError(True), lambda x: ValueError(1.0, None), lambda x: ValueError("plain"),
    with_attribute, with_note,
]  # fmt: skip


def marked(x):
    error = ValueError("a")
    if x[0] > 0:
        error.held = x[0]
        raise error
    return x


def chosen_key(x):
    return {1: 2.0, 2: 3.0}[int(x[0]) + 1]


def caught(x):
    try:
        raise Told(x[0])
    except Told as error:
        return error.a, error.items, error.args, x


def caught_arguments(x):
    try:
        raise ValueError("x", x[0])
    except ValueError as error:
        return error.args


def caught_sometimes(x):
    try:
        if x[0] > 0:
            raise ValueError("x", x[0])
        return x[0]
    except ValueError as error:
        return error.args[1] * 2


def chained(x):
    try:
        raise ValueError("x", x[0])
    except ValueError as error:
        raise KeyError(x[1]) from error


def in_its_wake(x):
    try:
        raise ValueError(x[0])
    except ValueError:
        raise KeyError("b")  # noqa: B904


def caught_index(x):
    try:
        return x[int(x[0]) + 5], x
    except IndexError as error:
        return str(error), x


def caught_key(x):
    try:
        return {1: 2.0, 2: 3.0}[int(x[0])]
    except KeyError as error:
        return error.args


class Held:
    def __init__(self, a):
        self.a = a


def holds_what_it_has_made(x):
    held = Held([1.0])
    held.a.append(2.0)
    raise ValueError(held)


def asks_what_is_not_there(x):
    return Held(x[0]).missing


FUNCTIONS = [
    holds_what_it_has_made, asks_what_is_not_there,
    caught_index, caught_key,
    asserts_bare, asserts_text, asserts_words, asserts_tuple, asserts_number, asserts_what_raises, asserts_in_a_loop, caught_assertion,
    chosen_key, marked, caught, caught_arguments, caught_sometimes, chained, in_its_wake,
]  # fmt: skip
FUNCTIONS += [around(make) for around in (raises_always, raises_sometimes, raises_in_a_loop) for make in MAKES]


def told(x):
    """A value, or an exception, as far as programs tell it."""
    if isinstance(x, BaseException):
        notes = [n for n in getattr(x, "__notes__", ()) if "Wengert" not in n and "an assertion failed" not in n and n[:5] != "  at "]
        held = {k: told(v) for k, v in vars(x).items() if k != "__notes__"}
        within = told(x.exceptions) if isinstance(x, ExceptionGroup) else None
        return type(x), told(x.args), re.sub(r"at 0x\w+", "", str(x)), held, notes, told(x.__cause__), told(x.__context__), within
    if isinstance(x, list | tuple):
        return type(x), [told(v) for v in x]
    if isinstance(x, Held):
        return type(x), told(x.a)
    if isinstance(x, dict):
        return {k: told(v) for k, v in x.items()}
    return type(x), getattr(x, "dtype", None), np.asarray(x).tolist()


def outcome(f, x):
    try:
        return told(f(x))
    except BaseException as error:
        return told(error)


NUMBERS = (1.0, 3.5, -1.0, 2.0)


@pytest.mark.parametrize("f", FUNCTIONS)
def test_exceptions_hold_what_python_s_hold(f):
    compiled = jit(f)
    for v in NUMBERS:
        assert outcome(compiled, np.array([v, 3.0])) == outcome(f, np.array([v, 3.0]))


@pytest.mark.parametrize("f", FUNCTIONS)
def test_and_where_calls_fall_back(f, falling_back):
    compiled = jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Fallback)
        for v in NUMBERS:
            assert outcome(compiled, np.array([v, 3.0])) == outcome(f, np.array([v, 3.0]))


def test_an_exception_is_no_fallback(falling_back):
    f = jit(raises_sometimes(lambda x: ValueError("x", x[0])))
    with warnings.catch_warnings():
        warnings.simplefilter("error", Fallback)
        for v in NUMBERS:
            assert outcome(f, np.array([v, 3.0])) == outcome(raises_sometimes(MAKES[0]), np.array([v, 3.0]))
    assert "ran as plain Python" not in f.explain()


def test_a_bare_assertion_says_where_in_a_note():
    with pytest.raises(AssertionError) as caught:
        jit(asserts_bare)(np.ones(2))
    assert caught.value.args == () and "an assertion failed" in caught.value.__notes__[0]


def test_what_it_was_raised_in_is_the_user_s():
    f = jit(raises_sometimes(MAKES[0]))
    try:
        raise LookupError("before")
    except LookupError as before:
        for shape in (2, 3):
            with pytest.raises(ValueError) as caught:
                f(np.ones(shape))
            assert caught.value.__context__ is before


def test_a_program_that_raises_after_calls_that_did_not_tells_of_nothing_of_ours():
    @jit
    def f(x):
        if x.sum() > 2:
            raise ValueError("too much")
        return x * 2

    f(np.ones(2))
    for _ in range(2):
        with pytest.raises(ValueError, match="too much") as caught:
            f(np.ones(3))
        assert caught.value.__context__ is None


def test_what_is_stored_before_it_is_stored():
    log, held = [], {}

    def f(x):
        log.append(x[0])
        held["a"] = x[1]
        x[1] = 7
        if x[0] > 0:
            raise ValueError("x", x)
        return x

    compiled = jit(f)
    for v in NUMBERS:
        found = []
        for g in (f, compiled):
            log.clear()
            held.clear()
            x = np.array([v, 3.0])
            found.append((outcome(g, x), told(log), told(held), x.tolist()))
        assert found[0] == found[1]


def test_what_has_printed_does_not_begin_again(falling_back, capsys):
    def f(x):
        print("seen", x[0])
        if x[0] > 0:
            raise ValueError("x", x[0])
        return x

    compiled = jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Fallback)
        for v in NUMBERS:
            want, words = outcome(f, np.array([v, 3.0])), capsys.readouterr().out
            assert outcome(compiled, np.array([v, 3.0])) == want and capsys.readouterr().out == words


def test_a_derivative_says_what_its_program_knows():
    f = grad(lambda x: raises_sometimes(lambda x: ValueError("x", x[0]))(x).sum())
    with pytest.raises(ValueError, match="'x', …") as caught:
        f(np.ones(2))
    assert "traced" not in str(caught.value)
