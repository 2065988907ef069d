"""One run of a body in a trace of its own: what it left in every place, with the places put back as they were."""

import contextlib

from ...ir.core import Func, Value
from ...ir.ops import OPS
from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..guards.state import RegionEffects, differs, items, restore
from ..rewriter.completion import THROWN
from ..values.storage import AliasSet, UnknownAlias, current_trace
from ..values.trace import Trace
from .budget import spend_time
from .raised import Escaped, answers

EFFECTLESS = 16  # so few scalar equations cost less than a branch around them


class Run:
    """code: how the body ended; values, heap: Slot -> its value after; writes: Storage -> its value after"""

    raised = None  # the exception that Python raised while the body was traced, which the program raises

    def __init__(self, name, body, slots, prepare=None, watched=(), trial=False, choice=False):
        spend_time()
        outside = current_trace().root.outside
        rebound = outside.enter_rebound()
        failed, before = False, {s: s.get() for s in slots}
        held = [(x, items(x)) for x in (*watched, *outside.copies_made())]
        self.trace = trace = Trace(name, current_trace())
        trace.region = RegionEffects(trial, choice)
        trace.region.cells = {id(s.owner) for s in slots if s.kind == "cell"}
        trace.region.heap.update(rebound)
        try:
            with trace:
                if prepare is not None:
                    prepare(trace)
                self.code = body()
                self.values = {s: s.get() for s in slots}
                self.heap = {s: s.get() for s in trace.region.heap}
                self.writes = {s: now for s, had in trace.journal.items() if (now := s.value) is not had}
        except BaseException as error:
            failed = True
            if answers(error):
                raise Escaped(error) from error
            raise
        finally:
            for storage, value in trace.journal.items():
                storage.value = value
            trace.journal = {}  # the trace outlives this: it must not keep memory alive that names have let go
            for slot, value in (*reversed(trace.region.heap.items()), *before.items()):
                if not trace.region.is_saved(slot):
                    slot.set(value)
            held += outside.copies_since(held)
            saved = {*trace.region.saved, *trace.region.owned}
            changed = [(x, had) for x, had in held if differs(x, had) and id(x) not in saved]
            for x, had in changed:
                restore(x, had)
            if failed:
                self.close()
        self.before = {**trace.region.heap, **before}
        if changed:
            kind = type(changed[0][0]).__name__
            raise CannotRoll(
                message(
                    f"a {kind} made outside it is changed, inside a loop or branch that is captured as a whole",
                    locate(),
                )
            )

    def close(self):
        """Let go of all it holds: who else sees an array is found by counting references, and a trace is held by its
        own equations."""
        self.values = self.heap = self.writes = self.before = None
        self.trace.container_phis = {}
        self.trace.region.heap, self.trace.region.owned, self.trace.region.saved = {}, {}, {}

    @property
    def thrown(self):
        """Whether the body ended in an exception that the program raises."""
        return self.code is THROWN

    @property
    def recorded(self):
        """Whether anything traced came of it."""
        t = self.trace
        return bool(t.build.eqns or self.writes or t.lifted or t.stored)

    def after(self, slot):
        """What the slot holds after the body."""
        found = self.values.get(slot, self)
        if found is self:
            found = self.heap.get(slot, self)
        return slot.get() if found is self else found

    def owns(self, storage):
        """Whether memory was made inside."""
        return storage.trace is self.trace

    def array(self, leaf):
        """The value of an array leaf at the end of the body, in the body's trace."""
        value = self.written(leaf.storage)
        with self.trace:
            for step in leaf.chain:
                value = step.get(value)
        return value

    def written(self, storage):
        """The value of a memory at the end of the body, in the body's trace."""
        with self.trace:
            return self.trace.bring(self.ended(storage))

    @contextlib.contextmanager
    def ending(self):
        """Around what is computed at the end of the body: what that checks, the body checks."""
        status = self.trace.root.status
        before, status.value = status.value, self.ended(status)
        try:
            with self.trace:
                yield
            if status.value is not self.ended(status):
                self.writes[status] = status.value
        finally:
            status.value, self.trace.journal = before, {}

    def check(self, ok, error, text):
        """Have the end of the body check that `ok` holds."""
        with self.ending():
            self.trace.check(ok, error, text)

    def ended(self, storage):
        """What a memory holds at the end of the body."""
        if isinstance(storage, AliasSet | UnknownAlias):
            return storage.given(self.ended)
        return self.writes[storage] if storage in self.writes else storage.value

    @property
    def acts(self):
        """Whether it prints or draws when the program runs."""
        return any(e.effect for e in self.trace.build.eqns)

    @property
    def trifling(self):
        """Whether running it needlessly costs and changes nothing: a few equations on scalars, without checks or
        regions."""
        eqns = self.trace.build.eqns
        small = len(eqns) <= EFFECTLESS and all(
            "elementwise" in e.op.traits and not e.results[0].type.shape for e in eqns
        )
        return small and not self.writes and not self.trace.region.heap and self.code is None


def closed(run, results, lifted, first=()):
    """The body as a Func of `first`, then of the outer values `lifted`, giving `results`."""
    params = [run.trace.lifted.get(v) or Value(v.type, None, v.hint) for v in lifted]
    return Func(run.trace.build.name, [*first, *params], run.trace.build.eqns, results)


def emit(name, operands, hints=None, **attrs):
    """An equation of a region op in the present trace, its results under the users' names."""
    op = OPS[name]
    return current_trace().build.emit(op, operands, op.complete(attrs), hints=hints)
