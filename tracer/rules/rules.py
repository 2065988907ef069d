"""`wengert.rule`: rewrite rules of the user's, stated by two functions, and which of them are in force."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import threading
import weakref
from collections.abc import Callable
from typing import Any

from ...ir.exactness import ONLY_EXACT
from ...ir.passes import user_rules
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..values.storage import current_trace
from .monomorphic import Family

_stated = ()  # the rules in force, in the order in which they were stated
_held = contextvars.ContextVar("rules", default=None)  # those of the trace being made
_changing = threading.Lock()
_fronts: weakref.WeakSet[Any] = weakref.WeakSet()  # the functions that would run a program without asking for the rules


def rule(
    pattern: Callable[..., Any],
    replacement: Callable[..., Any],
    *,
    exact: bool = False,
    where: Callable[..., bool] | None = None,
    name: str | None = None,
    check: bool = True,
) -> Stated:
    """From here on, programs compute `replacement` where they compute `pattern`. Two plain functions of parameters of
    the same names.

    Both are traced, for each set of shapes and dtypes that the parameters meet in a program; what a program has is
    compared equation by equation. So the pattern finds every way of writing that is the same to NumPy (`x.sum()` and
    `np.sum(x)`, both orders of `a + b`), and no other: `np.exp(x).sum()` is no `np.exp(x).sum(axis=0)` of a matrix.
    Rules apply to what a derivative or `vmap` is taken of, and to what comes of it; built-in rules come after. A rule
    is not applied to what it made itself, so the replacement may contain the pattern.

    Numbers in the pattern stand for just these numbers. A parameter with a default is that value, for no operand.
    exact: whether the replacement gives the same bits; `jit(exact=True)` leaves out the others.
    where: a condition on the parameters, given in order, of which it may ask `.shape`, `.dtype`, `.ndim`, `.size`.
    name:  what `f.explain()` calls the rule; the name of the pattern's function if there is none.
    check: run both sides on random numbers, when the rule is stated and for each set of types that a program has;
           smaller arrays for large.

    Returns an object with `.remove()`, after which the rule is not applied any more; `with rule(...):` removes it at
    the end, and `with` the object states it again. Programs made under other rules are made anew; those of the rules in
    force are found again. No program made under rules is kept on disk. What raises is what is written: checks of the
    pattern stay in the program, and the replacement has none. Where NumPy would refuse the shapes that the replacement
    meets (ValueError, IndexError), the program stays as it is.
    Raises CheckError where the sides differ on an input on which the pattern is finite, or differ in type, and
    UnsupportedError where a side is no expression of its parameters: where it reads arrays or numbers outside, stores,
    draws, or has loops or branches on data.

    >>> import numpy as np
    >>> import wengert
    >>> def stable(x):
    ...     m = x.max()
    ...     return m + np.log(np.exp(x - m).sum())
    >>> with wengert.rule(lambda x: np.log(np.exp(x).sum()), stable):
    ...     wengert.jit(lambda x: np.log(np.sum(np.exp(x))))(np.array([1000.0, 1000.0])).round(6)
    np.float64(1000.693147)
    """
    source = locate()
    if current_trace() is not None:
        text = "a rule is stated while a function is traced, and the programs it is for are those made afterwards"
        raise UnsupportedError(
            message(text, source, "State it outside, before the first call: with wengert.rule(...): f(x).")
        )
    for function in (pattern, replacement):
        if not callable(function):
            text = f"a rule is stated by two functions, got {type(function).__name__} {function!r:.40}"
            raise with_note(TypeError, message(text, source, "Write wengert.rule(lambda x: ..., lambda x: ...)."))
    with _alone():
        stated = Stated(
            Family(
                pattern, replacement, where, name or inspect.unwrap(pattern).__name__.strip("<>"), source, exact, check
            )
        )
    return stated.__enter__()


class Stated:
    """A rule in force, until it is removed; `with` puts it in force again."""

    def __init__(self, family):
        self.family = family

    def remove(self) -> None:
        """Apply it no more."""
        change(lambda rules: tuple(r for r in rules if r is not self))

    def __enter__(self) -> Stated:
        change(lambda rules: rules if self in rules else (*rules, self))
        return self

    def __exit__(self, *exc: object) -> None:
        self.remove()

    def __repr__(self) -> str:
        return f"<{self.family}>"


def change(step):
    """Put other rules in force, and have every function ask before it runs a program made before."""
    global _stated
    with _changing:
        _stated = step(_stated)
        fronts = list(_fronts)
        _fronts.clear()
    for front in fronts:
        front.cool()


def recall(front):
    """`front.cool()` is to be called when the rules change."""
    with _changing:
        _fronts.add(front)


def in_force():
    """The rules that a program made now is made under."""
    held = _held.get()
    return _stated if held is None else held


def current(rules):
    """Whether these are the rules in force outside of traces."""
    return rules == _stated


@contextlib.contextmanager
def held(rules=None):
    """Within: these rules are in force, those of now if none are given, whatever other threads state."""
    rules = in_force() if rules is None else rules
    token = _held.set(rules)
    try:
        yield rules
    finally:
        _held.reset(token)


def _alone():
    return held(())


# -- applying them ---------------------------------------------------------------------------------


def applying(rules=None, exact=False):
    """The rules as a set for the rewriter, None where there are none."""
    rules = in_force() if rules is None else rules
    families = [r.family for r in rules if r.family.exact or not exact]
    return Applying(families) if families else None


def change_numbers(rules):
    """Whether a program may give other numbers for these rules."""
    return not all(r.family.exact for r in rules)


def numbers_change():
    """Whether a program made now may give other numbers than what is written, for the rules in force."""
    return change_numbers(in_force())


def applied(func):
    """`func`, captured within the current trace, after the rules in force."""
    rules = applying(exact=ONLY_EXACT.get()) if in_force() else None
    if rules is None:
        return func
    log = []
    func = user_rules(func, rules, log)
    current_trace().root.notes += rules.told(log)
    return func


class Applying:
    """A `RuleSet` of the rules of the user's, each as it is at the types of the operands at hand, before the rules of
    `others`."""

    def __init__(self, families, others=None):
        self.families, self.others = families, others

    def of(self, op, operands):
        """The rules that may apply to `op` on these operands."""
        with _alone():
            found = [instance for family in self.families for instance in family.at(op, operands)]
        return (*found, *(self.others.of(op, operands) if self.others is not None else ()))

    def told(self, log):
        """The firings of the user's rules, each line once, for explain()."""
        return list(dict.fromkeys(f"{r.origin}, in place of {source}" for r, source in log if r.origin is not None))

    def __add__(self, others):
        return Applying(self.families, others)
