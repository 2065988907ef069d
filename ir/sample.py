"""A program made for one sample of its sizes: what is being made, and which way its decisions went.

Programs of symbolic sizes are found by comparing what is made at several samples of the sizes (`dims.py`). Within
`of_sample(sizes)` whatever writes text for such a comparison makes a form that holds for other sizes too, and is not
compiled. Decisions by a threshold on a size, either outcome of which is right, are asked of `decide`: a record of them
made at a large sample is followed at the others, so that all are alike.
"""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Mapping, Sequence

from .setting import set_within

SAMPLE: contextvars.ContextVar[Mapping[str, int] | None] = contextvars.ContextVar("sample", default=None)
DECISIONS: contextvars.ContextVar[Decisions | None] = contextvars.ContextVar("decisions", default=None)


class Unalike(ValueError):
    """Why what was made at several samples is not one thing of symbolic sizes, in words."""


SURE = 1 << 60  # bound: numbers from which sizes are not taken into account


class Decisions:
    """Outcomes, in order, as (what was asked, outcome). followed: those to give again, None to record new ones.

    margins: numbers that `assume` was told.
    """

    def __init__(self, followed: Sequence[tuple[str, bool]] | None = None):
        self.followed, self.made, self.margins = followed, list[tuple[str, bool]](), list[int]()

    def decide(self, what: str, outcome: bool) -> bool:
        if self.followed is not None:
            k = len(self.made)
            asked, outcome = self.followed[k] if k < len(self.followed) else ("nothing", outcome)
            if asked != what:
                raise Unalike(f"at one sample it is asked for {what}, at another for {asked}")
        self.made.append((what, outcome))
        return outcome

    def finish(self) -> None:
        """Unalike where not all that is followed was asked for."""
        if self.followed is not None and len(self.made) < len(self.followed):
            raise Unalike(f"at one sample it is asked for {self.followed[len(self.made)][0]}, at another for nothing")


def of_sample(sizes: Mapping[str, int] | None) -> contextlib.AbstractContextManager[Mapping[str, int] | None]:
    """Within: what is made is a sample, of these sizes by name, of something of symbolic sizes; None: it is not."""
    return set_within(SAMPLE, sizes)


def deciding(decisions: Decisions | None) -> contextlib.AbstractContextManager[Decisions | None]:
    """Within: decisions are recorded, or followed, there."""
    return set_within(DECISIONS, decisions)


def decide(what: str, outcome: bool) -> bool:
    """`outcome`, or what was decided where another sample was made. Both have to be right: it is a matter of speed."""
    decisions = DECISIONS.get()
    return outcome if decisions is None else decisions.decide(what, outcome)


def proved(what: str, prove: Callable[[], bool]) -> bool:
    """Whether something can be proved, and was where another sample was made: what is left then holds for both.
    Unalike where it was proved there, and cannot be here."""
    outcome = prove()
    made = decide(what, outcome)
    if made and not outcome:
        raise Unalike(f"at one sample {what} can be proved, at another not")
    return made


def assume(*margins: int) -> None:
    """Say that what is made holds where these numbers, which hang on sizes, are no less than 0, as they are now."""
    decisions = DECISIONS.get()
    if decisions is not None:
        decisions.margins += [int(m) for m in margins if m < SURE]


def assume_less(low: int, high: int) -> bool:
    """Whether a number is less than another, which is assumed from then on."""
    less = low < high
    assume(high - low - 1 if less else low - high)
    return less


def assume_zero(number: int) -> bool:
    """The same of whether a number is zero."""
    if number:
        assume(abs(number) - 1)
    else:
        assume(number, -number)
    return not number
