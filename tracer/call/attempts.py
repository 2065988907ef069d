"""Traces of a signature: with numbers from outside as inputs where they keep changing, and without where Python must
know them."""

import contextlib
import functools
import logging
import time
import types

import numpy as np

from ...autodiff import checkpoints
from ...backends.xla import dispatch, processes
from ...ir import collector
from ...ir.core import Func
from ...ir.exactness import exactly
from ...ir.pipeline import run as optimise
from ..capture.capture import capture
from ..capture.causes import explained
from ..capture.remaking import is_value
from ..capture.suspended import refuse_generator
from ..common import events, progress
from ..common.errors import UnsupportedError, Untold, WengertError, called_outside, is_own, message
from ..common.frames import raises_for_user, without_internals
from ..common.origin import is_builtin
from ..guards import guard, patched_numpy
from ..guards.by_class import InstanceCell, beginning, present
from ..guards.instances import hidden
from ..guards.outside import Outside, changing
from ..guards.static_arguments import SEEN
from ..program.specialisation import Specialisation
from ..program.specialisation_set import takes_now
from ..regions.budget import limited, spend_equations
from ..rules import rules
from ..sharding.placement import Placement
from ..values.acting import acts, refuse_effects
from ..values.speculate import Speculation
from ..values.status import PASSED
from ..values.storage import current_trace
from ..values.weak import promoting

MOST_APART = 32  # bound: numbers that are tried one by one, where not all can be taken in


def same_number(a, b):
    return guard.snapshot(a) == guard.snapshot(b)


class MustKnow(Exception):
    """A call is to be traced again, with ints known that the traces took in."""


def is_whole(error):
    """Whether an exception that has ended a trace is as the function made it: what was stored into the attributes of
    objects has been put back by now."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        held = [v for k, v in vars(error).items() if k != "__notes__"]
        if not all(is_value(v) for v in (*error.args, *held, getattr(error, "obj", None))):
            return False
        error = error.__cause__ or error.__context__
    return True


def in_words(error):
    """An exception that holds what is traced, as one of its words alone; None where these name that."""
    told = is_builtin(type(error)) and all(type(x) is str and "traced" not in x for x in error.args)
    return type(error)(*error.args) if told else None


class Attempts:
    """The part of `SignatureEntry` that traces."""

    def trace(self, kinds, types, reason, given, path=()):
        start = time.perf_counter()
        events.report("trace", "begun", lambda: f"tracing ({self.shown_types(types)}): {reason}", level=logging.DEBUG)
        refuse_generator(self.compiled.function)
        if current_trace() is None:
            patched_numpy.refuse_patched()
        kept = []
        with (
            limited(*(self.compiled.patience.allowed() if self.falls_back() else ())),
            rules.held() as stated,
            self.watch() as watch,
            self.compiled.debug.hearing() if self.watched else contextlib.nullcontext() as told,
            checkpoints.room(self.compiled.memory, kept),
            exactly(self.compiled.exact),
            promoting(self.compiled.promote),
        ):
            captured, choices = self.captured(kinds, given, path)
            spend_equations(captured.func.count())
        if self.watched:
            self.compiled.debug.watch(captured, self.compiled.name, told)
        captured.notes += kept
        self.pinned = self.pinned or captured.outside.pins
        if captured.outside.alone:
            self.compiled.unshare()
        self.place_constants(captured)
        refuse_effects(captured, choices)
        if self.falls_back() and not all(c.told for c in captured.checks) and next(acts(captured.func), None):
            text = "an exception holds numbers that only the running program knows, and the function acts on the world"
            raise UnsupportedError(message(text, None, "Raise it with plain text, or print what is in it."))
        traced = time.perf_counter()
        count = captured.func.count()
        text = lambda: f"traced ({self.shown_types(types)}), {count} equation{'s' * (count != 1)}: {reason}"
        told = {"reason": reason, "types": types, "names": self.names, "equations": count}
        events.report("trace", "traced", text, traced - start, **told)
        progress.phase("optimising", captured.func.count())
        applying = rules.applying(stated, self.compiled.exact)
        watch_passes = events.PassClock() if events.heard("trace", logging.DEBUG) else None
        with collector.waiting():
            func = optimise(
                captured.func,
                exact=self.compiled.exact,
                notes=captured.notes,
                rules=applying,
                known=captured.bounded,
                watch=watch_passes,
            )
        if watch_passes is not None:
            text = f"passes left {func.count()} of {count} equations ({watch_passes.told()})"
            seconds, each = time.perf_counter() - traced, watch_passes.seconds
            events.report("trace", "passes", text, seconds, level=logging.DEBUG, passes=each)
        if captured.checks and func.results[-1] is PASSED and not choices.taken:  # nothing is left that could fail
            func, captured.checks = Func(func.name, func.params, func.eqns, func.results[:-1]), ()
        version = Specialisation(
            captured, func, types, reason, traced - start, time.perf_counter() - traced, tuple(choices.taken)
        )
        if version.unsure and version.effects and self.falls_back():
            text = "which of several arrays a result is may only be found once the function has acted on the world"
            raise UnsupportedError(message(text, None, "Act behind the call, or return copies: return x.copy()."))
        version.rules = stated
        version.watch = watch if current_trace() is None else None
        return version

    def place_constants(self, captured):
        """Put what a program takes in, and never changes, where it runs: jax would copy it at each call."""
        if self.numpy and any(map(processes.is_spread, captured.inputs)):
            text = "an array that is spread over several processes is read outside the function, and no argument is one"
            raise UnsupportedError(message(text, None, "Pass it as an argument."))
        for k in captured.constants if not self.numpy else ():
            if not processes.is_shared(captured.inputs[k]):
                captured.inputs[k] = dispatch.device_constant(captured.inputs[k], self.compiled.device)

    def shown_types(self, types):
        """The arguments of a trace, as text."""
        return ", ".join(f"{n}: {t}" for n, t in zip(self.names, types))

    def watch(self):
        """A `with` around a trace."""
        return self.compiled.cache.watch()

    @raises_for_user
    def captured(self, kinds, given, path):
        """A trace and its choices; another, where the function changes numbers that the first relied on, to take those
        in at every call."""
        promoted, insists = self.changing(), not self.falls_back()
        begun = lambda: Speculation(given, path, insists)
        first = self.attempt(kinds, begun(), promoted)
        if first is None and promoted:
            self.fixed |= promoted if len(promoted) == 1 else set()
            first, promoted = self.attempt(kinds, begun(), ()), frozenset()
        if first is None:  # whole numbers are what decides mostly, shapes among it
            self.fixed |= self.changing()
            return self.attempt(kinds, begun(), (), "biu") or self.attempt(kinds, begun(), (), "biufc", final=True)
        more = set(first[0].outside.worth_promoting()) - self.fixed | self.changing() - promoted
        return more and self.taking_in(kinds, begun, promoted, more)[0] or first

    @raises_for_user
    def taking_in(self, kinds, begun, sure, places):
        """-> (the trace that takes in the numbers at `sure` and as many of those at `places` as can be, None where
        that is none of these; the places it takes in). The others are fixed."""
        if (made := self.attempt(kinds, begun(), sure | places)) is not None:
            return made, sure | places
        if not 1 < len(places) <= MOST_APART:
            self.fixed |= places
            return None, sure
        wanted = sorted(places, key=repr)
        one, sure = self.taking_in(kinds, begun, sure, set(wanted[: len(wanted) // 2]))
        other, sure = self.taking_in(kinds, begun, sure, set(wanted[len(wanted) // 2 :]))
        return other or one, sure

    def changing(self):
        """The places of outside numbers that have had a third value by now."""
        seen = {}
        for here in (*self.worlds, *self.old):
            for place, read in here.reads.items():
                if read.how == "value" and changing(read.value) and not same_number(read.get(), read.value):
                    seen.setdefault(place, set()).add(repr(read.value))
                elif read.how == "input" and not isinstance(read.value, np.ndarray):
                    seen[place] = {1, 2}
        return {place for place, values in seen.items() if len(values) > 1 and place not in self.fixed}

    def must_know(self, here):
        """Whether a specialisation set takes in ints from outside, as which its program does not get on: they are
        relied on from now on, and the set answers no more."""
        ints = {x.place for x in here.inputs if isinstance(x, guard.Read) and type(x.value) is int}
        if ints:
            with self.compiled.lock:
                self.fixed |= ints
                self.worlds = [w for w in self.worlds if w is not here]
                self.current = None if self.current is here else self.current
                self.compiled.front.drop(here)
        return bool(ints)

    def trace_ahead(self, full):
        """A trace for a call of all these leaves, which may be used at a later one."""
        with self.held(full):
            kinds = self.kinds_of([full[i] for i in self.dynamic])
            types = tuple(k.type for k in kinds)
            leaves = [full[i] for i in self.dynamic]
            version = self.ahead = self.traced(kinds, types, self.compiled.reason_for(self), leaves)
            version.kinds = [k.kind for k in kinds]
        return version

    def stored(self, types, reason):
        """The trace that was made ahead, or that another process has made and kept for these types, or None."""
        ahead, self.ahead = self.ahead, None
        if ahead is not None and ahead.rules == rules.in_force():
            if guard.Guard(ahead.captured.outside.reads.values()).holds() and takes_now(ahead, types):
                return ahead
        start = time.perf_counter()
        version = self.compiled.cache.load(self, types) if current_trace() is None else None
        if version is not None:
            version.reason, version.trace_seconds = reason, time.perf_counter() - start
        return version

    def outside(self, arguments, promoted, frozen):
        """What a trace begins with knowing of the world: the function, the static arguments, and the ways to both."""
        compiled, made = self.compiled, Outside(arguments, promoted, frozen=frozen)
        device = compiled.device
        on_cpu = device is None or device.platform == "cpu" and not isinstance(device, Placement)
        made.of_jax = not self.numpy
        made.draws.begin_trace(self.falls_back(), compiled.native and on_cpu)
        known = [(compiled.name, compiled.function), *((n, present(x)) for n, x in self.static.items())]
        made.names.update((id(x), (x, name)) for name, x in known)
        if compiled.cell is not None and compiled.cell.object is not None:
            made.begin_callee(compiled.cell, compiled.name)
        for name, x in self.static.items():
            if type(x) in SEEN or type(x) in (types.BuiltinFunctionType, functools.partial):
                made.read("itself", x, None, name)
            way = made.way(present(x))
            if way is not None and type(x) is InstanceCell and beginning(way) is not x:  # it is what is called
                made.read("attribute", x, "object", name)
            elif way is not None and type(x) is not InstanceCell:
                made.pin(x)
            elif type(x) is InstanceCell and way is None:
                made.begin(x.object, x, name)
        return made

    def attempt(self, kinds, choices, promoted, frozen="", final=False):
        """One trace and its choices, or None if numbers taken in, and small arrays, must be known while tracing.

        frozen: of what kinds of numbers small arrays are known.
        """
        leaves, made = self.filled(kinds), []

        def around():
            made.append(self.outside(len(kinds), promoted, frozen))
            return made[-1]

        try:
            given = (self.compiled.function, leaves, self.tree, kinds, self.compiled.name)
            told = {"order": self.order, "objects": self.numpy, "shared": self.shared}
            captured = called_outside(capture, given, {**told, "choices": choices, "around": around})
        except BaseException as error:
            if not isinstance(error, Exception) and (is_own(error) or hidden(error) is None):
                raise
            # numbers that keep changing are traced: what takes Python's alone may raise anything
            if made[-1].inputs and not final and (promoted or isinstance(error, WengertError)):
                return None
            traced = hidden(error) is not None
            changed = any(e is error for e in made[-1].changed_errors) or not is_whole(error)
            # a list from outside that is among the arguments was taken for another
            changed |= not self.flat and any(type(x) in (list, dict) for x, _ in made[-1].containers.values())
            if (traced or changed) and not isinstance(error, WengertError):
                untold = Untold.of(error)
                untold.error = in_words(error) if traced else error
                raise untold.with_traceback(error.__traceback__) from None
            made = without_internals(explained(error))
            if made is error:
                raise
            raise made from error.__cause__
        return captured, choices
