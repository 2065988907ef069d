"""From a bad number in a result back to the equation that bore it: through moves and sums by index, into the branch
that ran, into the trip of a loop in which what it carries became bad.

A number is *born* in an equation where no operand that it depends on is bad. Which operands those are: for elementwise
ops those at its own index, for reductions those along the axes, for ops that only move numbers it is found by moving
the indices themselves. All others are asked: run again with some of the bad numbers replaced by 1, is the result still
bad?
"""

from typing import NamedTuple

import numpy as np

from ...ir.core import Lit
from ...ir.types import ir_kind
from .replay import branch_taken, lane, loop_parts, value_at
from .words import REACHING

HOPS = 64  # bound: times that one loop is run again to follow a number from trip to trip
MOVED = {  # ops that only move numbers -> which of the operands are moved; None: all
    "reshape": None, "transpose": None, "broadcast": None, "reverse": None, "slice": None, "concatenate": None,
    "pad": None, "dynamic_slice": (0,), "gather": (0,), "dynamic_update_slice": (0, 1), "scatter": (0, 2),
}  # fmt: skip


class LoopTrip(NamedTuple):
    """A loop around a birth: its equation, the trip counted from 0, and what its body was given; lane: of a `map`, of
    independent runs."""

    eqn: object
    number: int
    given: tuple
    lane: bool


class PathStep(NamedTuple):
    """A value on the way: its equation, which result, the index, and the trips around it."""

    eqn: object
    result: int
    index: tuple
    trips: tuple


class Birth(NamedTuple):
    """Where a number was born: `step`, the operands there as arrays, the result; `path` from there to the result that
    was asked about, which comes last. cause: the Birth, or the Arrived, of an infinity of which a NaN was born."""

    step: PathStep
    operands: tuple
    result: object
    path: tuple
    cause: object = None


class Arrived(NamedTuple):
    """A number that came in: from a parameter of the function, or an operand of an equation by its position; None: it
    was written in the program. index: where in that; path: from the result back to it."""

    param: object
    index: tuple
    path: tuple


class Lost(Exception):
    """The way back cannot be told."""


class WayBack:
    """The way back of bad numbers in one call. word: a key of REACHING."""

    def __init__(self, replay, word):
        self.replay, self.word, self.bad = replay, word, REACHING[word]

    def back(self, func, env, atom, index, trips=()):
        """-> a Birth or an Arrived, of a value of `func` at an index, where it is bad."""
        path, params = [], set(func.params)
        while not isinstance(atom, Lit) and atom not in params and atom.eqn.op.name != "constant":
            eqn = atom.eqn
            step = PathStep(eqn, eqn.results.index(atom), index, trips)
            path.append(step)
            xs = [value_at(x, env) for x in eqn.operands]
            if eqn.op.name in INTO:
                found = INTO[eqn.op.name](self, eqn, xs, step.result, index, trips)
                if isinstance(found, Birth):
                    found = found._replace(path=(*found.path, *reversed(path)))
                    return self.traced_on(found, func, env, eqn, trips)
                if found.param is None:
                    return found._replace(path=(*path, *found.path))
                path += found.path
            else:
                found = self.operand(eqn, xs, step.result, index)
                if found is None:
                    made = Birth(step, tuple(xs), env[atom], tuple(reversed(path)), self.infinity(eqn, xs, index))
                    return self.traced_on(made, func, env, eqn, trips)
                if isinstance(eqn.operands[found.param], Lit) and eqn.source is not None and eqn.source.mark:
                    return Birth(step, tuple(xs), env[atom], tuple(reversed(path)))  # the rule of a derivative says NaN
            atom, index = eqn.operands[found.param], found.index
        return Arrived(None if isinstance(atom, Lit) or atom not in params else atom, index, tuple(path))

    def infinity(self, eqn, xs, index):
        """Of a NaN's equation, the operand that is infinite there; None where there is none."""
        if self.word != "nan":
            return None
        if "elementwise" in eqn.op.traits:
            return next((Arrived(k, index, ()) for k, x in enumerate(xs) if np.isinf(x[index])), None)
        masks = [(k, np.isinf(x)) for k, x in enumerate(xs) if ir_kind(x.dtype) in "fc"]
        return next((Arrived(k, first_place(m), ()) for k, m in masks if m.any()), None)

    def traced_on(self, birth, func, env, eqn, trips):
        """A Birth with the birth of the infinity that it was born of, as far as that is in `func`: the cause it has is
        an operand of `eqn`."""
        if not isinstance(birth.cause, Arrived) or birth.cause.param is None:
            return birth
        try:
            atom = eqn.operands[birth.cause.param]
            return birth._replace(cause=WayBack(self.replay, "inf").back(func, env, atom, birth.cause.index, trips))
        except Lost:
            return birth._replace(cause=None)

    # -- single equations ----------------------------------------------------------------------------
    def operand(self, eqn, xs, at, index):
        """The operand from which a result has its bad number, as an Arrived; None where it is born here."""
        bad = [k for k, x in enumerate(xs) if ir_kind(x.dtype) in "fc" and self.bad(x).any()]
        if not bad:
            return None
        if eqn.op.name == "select":
            return Arrived(1 if xs[0][index] else 2, index, ())
        if "elementwise" in eqn.op.traits:
            return next((Arrived(k, index, ()) for k in bad if self.bad(xs[k][index])), None)
        if eqn.op.name in MOVED:
            return self.moved(eqn, xs, index)
        if "reduction" in eqn.op.traits:
            return self.reduced(eqn, xs[0], index)
        return self.probed(eqn, xs, bad, at, index)

    def moved(self, eqn, xs, index):
        """Of an op that moves numbers, where one comes from: the op on the numbers of the places."""
        which = MOVED[eqn.op.name]
        labels, starts, start = list(xs), {}, 0
        for k in range(len(xs)) if which is None else which:
            labels[k] = np.arange(start, start + xs[k].size, dtype=np.int64).reshape(xs[k].shape)
            starts[k] = start
            start += xs[k].size
        label = int(np.asarray(eqn.op.body(*labels, **eqn.attrs))[index])
        k = next(k for k, s in reversed(starts.items()) if label >= s and xs[k].size)
        return Arrived(k, tuple(map(int, np.unravel_index(label - starts[k], xs[k].shape))), ())

    def reduced(self, eqn, x, index):
        """The first bad number along the axes of a reduction."""
        axes, rest = eqn.attrs["axes"], iter(index)
        cut = tuple([slice(None) if a in axes else next(rest) for a in range(x.ndim)])
        mask = np.zeros(x.shape, bool)
        mask[cut] = self.bad(x[cut])
        return Arrived(0, first_place(mask), ()) if mask.any() else None

    def probed(self, eqn, xs, bad, at, index):
        """Of an op of any kind: a bad number on which the result depends, by running it on fewer of them."""

        def still(masks):
            """Whether the result is bad with the numbers alone bad that the masks leave."""
            given = [
                np.where(self.bad(x) & ~masks[k], np.ones((), x.dtype), x) if k in bad else x for k, x in enumerate(xs)
            ]
            with np.errstate(all="ignore"):
                out = eqn.op.body(*given, **eqn.attrs)
            return self.bad(np.asarray(out[at] if eqn.op.multiple else out)[index])

        nothing = {k: np.zeros(xs[k].shape, bool) for k in bad}
        if still(nothing):
            return None
        for k in bad:
            mask = self.bad(xs[k])
            if not still({**nothing, k: mask}):
                continue
            places = np.flatnonzero(mask)
            while len(places) > 1:
                half = np.zeros(mask.size, bool)
                half[places[: len(places) // 2]] = True
                within = still({**nothing, k: half.reshape(mask.shape)})
                places = places[: len(places) // 2] if within else places[len(places) // 2 :]
            return Arrived(k, tuple(map(int, np.unravel_index(places[0], mask.shape))), ())
        return Arrived(bad[0], first_place(self.bad(xs[bad[0]])), ())

    # -- regions -------------------------------------------------------------------------------------
    def region(self, func, xs, at, index, trips, place):
        """`back` in a region that runs on these -> a Birth or an Arrived. place(the position of a parameter, an index
        in it) -> the same among the operands of the region's equation."""
        found = self.back(func, self.replay.values(func, xs), func.results[at], index, trips)

        def outside(arrived):
            if arrived.param is None:
                return arrived
            operand, index = place(func.params.index(arrived.param), arrived.index)
            return Arrived(operand, index, arrived.path)

        if isinstance(found, Arrived):
            return outside(found)
        return found._replace(cause=outside(found.cause)) if isinstance(found.cause, Arrived) else found

    def cond(self, eqn, xs, at, index, trips):
        return self.region(branch_taken(eqn, xs[0]), xs[1:], at, index, trips, lambda k, index: (k + 1, index))

    def call(self, eqn, xs, at, index, trips):
        return self.region(eqn.attrs["body"], xs, at, index, trips, lambda k, index: (k, index))

    def map(self, eqn, xs, at, index, trips):
        run, mapped = index[0], eqn.attrs["mapped"]
        inside = (*trips, LoopTrip(eqn, run, (), True))
        place = lambda k, index: (k, (run, *index) if mapped[k] else index)
        return self.region(eqn.attrs["body"], lane(eqn, xs, run), at, index[1:], inside, place)

    def loop(self, eqn, xs, at, index, trips, upto=np.inf):
        """Into the trip in which what a loop carries became bad; from there on, where that is told by a number carried
        into it, into the one in which that became bad. upto: trips that are looked at."""
        limits, invariants, _ = loop_parts(eqn, xs)
        stay, path = len(limits) + len(invariants), []
        for _ in range(HOPS):
            trip, after = self.trip(eqn, xs, at, index, upto)
            if trip < 0:
                return Arrived(stay + at, index, tuple(path))
            if not self.bad(after[at][index]):
                at = next(k for k, x in enumerate(after) if self.is_bad(x))
                index = first_place(self.bad(after[at]))
            given = [np.int64(trip), *invariants, *self.replay.state(eqn, xs, trip)]
            inside = (*trips, LoopTrip(eqn, trip, tuple(given), False))
            found = self.region(eqn.attrs["body"], given, at, index, inside, lambda k, index: (k, index))
            if isinstance(found, Birth):
                found = found._replace(path=(*found.path, *reversed(path)))
                return self.before(found, eqn, xs, trip, trips)
            path += found.path
            if found.param is None:
                return found._replace(path=tuple(path))
            if found.param <= len(invariants):
                return Arrived(found.param - 1 + len(limits), found.index, tuple(path))
            at, index, upto = found.param - 1 - len(invariants), found.index, trip
        raise Lost

    def trip(self, eqn, xs, at, index, upto):
        """The last trip before `upto` in which all that is carried became bad, else the number at `index` alone -> (it,
        or -1; what is carried behind it)."""
        trip, _ = self.replay.transition(eqn, xs, self.word, upto)
        if trip < 0:
            shape = eqn.results[at].type.shape
            flat = int(np.ravel_multi_index(index, shape)) if index else 0
            trip, _ = self.replay.transition(eqn, xs, self.word, upto, (at, flat))
        return trip, self.replay.state(eqn, xs, trip + 1) if trip >= 0 else None

    def before(self, birth, eqn, xs, trip, trips):
        """A Birth in a trip of a loop, with the cause that the trip began with followed through those before it."""
        cause = birth.cause
        if not isinstance(cause, Arrived) or cause.param is None:
            return birth
        limits, invariants, _ = loop_parts(eqn, xs)
        if cause.param <= len(invariants):
            return birth._replace(cause=Arrived(cause.param - 1 + len(limits), cause.index, cause.path))
        try:
            at = cause.param - 1 - len(invariants)
            return birth._replace(cause=WayBack(self.replay, "inf").loop(eqn, xs, at, cause.index, trips, trip))
        except Lost:
            return birth._replace(cause=None)

    def is_bad(self, x):
        return ir_kind(x.dtype) in "fc" and bool(self.bad(x).any())


INTO = {"cond": WayBack.cond, "call": WayBack.call, "apart": WayBack.call, "map": WayBack.map, "loop": WayBack.loop}


def first_place(mask):
    """The index of the first place where a mask holds."""
    return tuple(map(int, np.unravel_index(int(np.argmax(mask)), mask.shape)))
