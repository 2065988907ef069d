"""One trace: the function as captured and as compiled, and how its raw results become what Python would have left."""

import functools

import numpy as np

from ...backends.numpy import LARGEST
from ...backends.xla import dispatch, hosted
from ...ir.passes.widen import has_small
from ...ir.sticky import CHECKED
from ..capture.containers import apply_container_changes
from ..capture.handover import ARRAY, SCALAR, Row, ambiguous, follow, non_overlapping
from ..common import pytree
from ..common.errors import REFUSALS, Untold
from ..common.frames import raises_for_user
from ..guards.effects import store_all
from ..rules import rules
from ..values.acting import acts
from ..values.status import Check, failure
from . import relied
from .check_weakening import decided


class Unfit(Exception):
    """Why plain Python has a call before its program has done anything: arrays are not as the program takes them."""


class Specialisation:
    """One trace: the function as captured and as compiled, and what explain() tells of it."""

    def __init__(self, captured, func, types, reason, trace_seconds, pass_seconds, assumed=()):
        self.assumed, self.path = assumed, tuple(a.step for a in assumed)  # choices made by value
        self.tree = self.program = None  # the Tree it belongs to then, and its own program
        self.drawing_in = None  # the set in which it is alone, of such a tree that draws random numbers
        # "NumPy" where it runs as that; seconds as NumPy and through XLA, where they were timed
        self.engine, self.times = None, None
        self.tried = 0.0  # seconds as NumPy before there was any other form
        self.inside = None  # of those as NumPy, the seconds in native loops, where XLA was not tried
        self.captured, self.func, self.types, self.reason = captured, func, types, reason
        self.trace_seconds, self.pass_seconds, self.first_seconds = trace_seconds, pass_seconds, None
        self.compile_seconds = None  # after those, until it could run
        # what ran while it was traced, where that was asked for; what explain() says of its file
        self.watch = self.kept = None
        # whether it has been compared with that of other processes, and how often it has run with them
        self.agreed, self.runs = False, 0
        self.ahead = False  # whether it was made for a call that has not run it yet
        # how many were traced, and the file it is from, where another process has made the trace
        self.equations = self.file = None
        self.kinds = ()  # of the arguments, where an int among them was traced ahead
        self.rules = ()  # those of the user's that were in force
        self.places = None  # which leaves of the call the function takes
        outs = captured.outs
        alone = len(outs) == len(func.results) == 1 and outs[0].how == "value"
        single = alone and pytree.is_leaf(captured.tree) and not outs[0].chain
        single = single and not captured.layout and not captured.relied and not self.assumed and captured.given is None
        # the kind of the one result where there is nothing to write, check, share or rebuild
        self.effects = next(acts(func), None) is not None
        single = single and not self.effects and not captured.outside.draws
        # of which nothing else is looked at where a check has failed: those that look for bad numbers may let it go on
        raises = captured.checks and all(type(c) is Check for c in captured.checks)
        if raises and not self.effects and not captured.outside.draws:
            CHECKED.add(func)
        self.plain = outs[0].kind if single and self.func.results[0] not in self.func.params else None
        self.fused = None  # the equations as NumPy runs them, where their straight lines are nests
        self.within_xla = None  # likewise as XLA runs them, where that is faster
        self.interpreted = None  # the program as generated NumPy, where it was needed
        self.symbolic = None  # where it stands for programs of all sizes, what knows them
        self.deferred = None  # where XLA waits until it pays, what has it compiled
        self.background = None  # what made it beside the program, and is told of that
        self.straight = None  # the whole call as NumPy, in one function
        self.on_jax_arrays = None  # its raw results as NumPy, of jax arrays and as such
        self.returned = {}  # SignatureEntry -> a generated function that makes the result, or None
        self.embedded = {}  # whether 64-bit types are off -> the program as a function that jax traces
        self.chain = None  # the program in pieces, where it says the same many times
        params, seen = set(func.params), set()
        # which results are an argument, or another result
        self.shared = [r in params or r in seen or bool(seen.add(r)) for r in func.results]
        self.unsure = any(
            part.how == "unsure" for out in outs for part in (out, *(out.object if out.how == "chosen" else ()))
        )
        self.endures = hosted.endures(func)  # whether calls are waited for with signals heard
        self.weight = None  # (engine, bytes that it takes in memory as that, roughly), once they are asked for
        self.bytes = sum(r.type.size * r.type.dtype.itemsize for r in func.results)

    @functools.cached_property
    def differs_from_plain(self):
        """Whether plain Python gives other numbers, by what is documented: of small floats, which NumPy rounds at each
        step of a sum, or where rules of the user's that change numbers are in force."""
        return has_small(self.func) or rules.change_numbers(self.rules)

    @functools.cached_property
    def decided(self):
        """The equations of which NumPy's calls are made: of the status they give whether it is 0."""
        return self._decided()

    @property
    def mixed(self):
        """The equations of which nests are made too, which solve small systems."""
        return self._decided(LARGEST + 1)

    def _decided(self, least=0):
        return self.as_checked(decided(self.func, least) if self.captured.checks else self.func)

    def as_checked(self, made):
        """A form of the program, or None: where a check fails, no more is looked at of it than of the program."""
        if made is not None and self.func in CHECKED:
            CHECKED.add(made)
        return made

    @property
    def numpy(self):
        """The equations as they run as NumPy."""
        return self.fused or self.decided

    def fits(self, types):
        """Whether the program takes these types of arguments and inputs."""
        return all(types[place] is p.type for place, p in zip(self.places, self.captured.func.params))

    def types_with_inputs(self, count):
        """The types of its arguments and of the inputs of its set, `count` together; None of inputs that it has not."""
        found = [*self.types, *[None] * (count - len(self.types))]
        for place, param in zip(self.places, self.captured.func.params):
            found[place] = param.type
        return found

    def takes(self):
        """The types of its arguments and inputs."""
        return self.types, [p.type for p in self.captured.func.params]

    @raises_for_user
    def finish(self, raw, leaves, numpy, again, given=None):
        """Turn raw results into what the function returns; what it changes is written last, all or none.

        leaves: the arguments, and behind them what was taken in; given: (args, kwargs) where they hold containers.
        """
        captured = self.captured
        results = raw if isinstance(raw, tuple) else (raw,)
        status = self.status(raw)
        if (why := self.unfit(leaves)) is not None:
            return again(why)
        if status:
            check, error = failure(captured.checks, status)
            if (isinstance(error, REFUSALS) or not check.told) and not self.effects:
                return again(Untold.unless(check.told, error))
            if (error := check.heard(error, leaves)) is not None:
                raise error
        values = [self.own(r, i) if numpy else r for i, r in enumerate(results[: captured.values])]
        if self.unsure and ambiguous(
            captured.outs, values, leaves, dict(zip(captured.writes, results[captured.values :]))
        ):
            return again("which of several arrays a result is cannot be told")
        for index, new in zip(captured.writes, results[captured.values :]):
            np.copyto(leaves[index], np.asarray(new))
        made = {}
        result = captured.rebuild([handed_leaf(o, values, leaves, numpy, made) for o in captured.outs])
        if captured.given is not None:
            result = apply_container_changes(result, captured.given, given)
        if not captured.stores:
            return result
        result, stored = result
        store_all(captured.stores, stored)
        return result

    @property
    def asks_first(self):
        """Whether it acts on the world - prints, calls Python - and may find arrays unfit: it is asked before."""
        return self.effects and bool(self.captured.relied or self.captured.writes or self.captured.layout)

    def unfit(self, leaves):
        """Why arrays of a call are not as the program takes them, beyond their types, in words; None where they are."""
        captured = self.captured
        if not relied.unchanged(leaves, captured.relied):
            return (
                "an array is read-only, a view of another or shares memory with one, which the program asks, and was "
                "not taken to be"
            )
        if not all(leaves[i].flags.writeable for i in captured.writes):
            return "an argument that is written is read-only"
        if captured.writes and overlapping(leaves, captured):
            return "an argument that is written shares memory with another array"
        if any(
            isinstance(x, np.ndarray) and not (x.flags.c_contiguous and x.flags.aligned)
            for x in map(leaves.__getitem__, captured.layout)
        ):
            return "an argument is not in row-major order, which decides what is a view of it"
        return None

    def status(self, raw):
        """0, or what tells which check failed, once all has happened."""
        try:
            if self.effects:
                dispatch.finish_effects()
            return dispatch.number(raw[-1] if isinstance(raw, tuple) else raw) if self.captured.checks else 0
        except dispatch.FAILURES as failure:  # what Python raised where XLA called it
            raise hosted.original(failure) from None

    def states(self, raw):
        """Of raw results, the states of generators that the program has moved on."""
        at = self.captured.values + len(self.captured.writes)
        return (raw if isinstance(raw, tuple) else (raw,))[at : at + len(self.captured.outside.draws.states)]

    def own(self, result, index):
        """A result as an ndarray the caller may write."""
        return np.array(result, order="C") if self.shared[index] else dispatch.owned(result)


def handed_leaf(out, values, leaves, numpy, made):
    """A leaf of what a call returns, as its Out says. values: the results of the program; numpy: whether they are
    ndarrays; made: the arrays handed out so far in this call."""
    if out.how == "chosen":
        out = out.object[int(values[out.index])]
    if out.how == "object":
        return out.object
    if out.how == "copy":
        return out.object.copy()
    if out.how == "outside":
        return out.object.get()
    if out.how == "argument":
        found = made.get((out, out.chain))
        if found is None:
            found = made[out, out.chain] = follow(leaves[out.index], out.chain, values)
        return found
    value = values[out.index]
    if not numpy:
        return follow(value, out.chain)
    if out.kind is ARRAY:
        return made.setdefault((out.index, out.chain), follow(value, out.chain, values))
    if out.kind is not SCALAR and out.chain and type(out.chain[0]) is Row:  # a list's, of which there may be many
        numbers = made.get((out.index, Row))
        if numbers is None:
            numbers = made[out.index, Row] = np.asarray(value).tolist()
        return numbers[out.chain[0].place]
    value = follow(value, out.chain)
    return value[()] if out.kind is SCALAR else value.item()


def overlapping(leaves, captured):
    """Whether an array about to be written shares memory with another array the program read, or elements of it with
    each other."""
    if not all(non_overlapping(leaves[i]) for i in captured.writes):
        return True
    return any(
        i != j and isinstance(x, np.ndarray) and np.may_share_memory(leaves[i], x)
        for i in captured.writes
        for j, x in enumerate(leaves)
    )
