"""One call signature of a compiled function: its traces, and the shortest path through them.

An `Entry` belongs to one argument structure, one kind per leaf and one set of static values. Inside it
a `World` holds the traces made while the outside values were as its guard remembers, and a `Version`
is one trace: one combination of shapes and dtypes, which jax.jit's own cache tells apart.
"""

import contextlib
import logging
import time

from ...backends import forked
from ...backends.xla import compile_times, dispatch, hosted, waiting
from ...ir import collector
from ...ir.types import type_of
from ..capture.shared_containers import meet
from ..common import events, progress, pytree
from ..common.errors import UnsupportedError
from ..common.frames import raises_for_user
from ..guards import isolation, patched_numpy
from ..guards.by_class import present
from ..program import autotune, backend_choice, outlined, trap
from ..program.emit_results import returned
from ..program.emit_structure import LeafPlace
from ..program.numpy_function import MISS
from ..program.specialisation_set import SpecialisationSet
from ..program.trace_tree import SelectedResults, SideExit, Undecided, Untraced, missing_way
from ..rules import rules
from ..sharding.placement import Placement
from . import baseline, beside_xla
from .agreement import agree_on
from .attempts import Attempts, MustKnow
from .deferred import deferred, puts_off
from .drawing import DrawingCalls
from .dynamic import NewShapes
from .fallback import Fallbacks
from .instead import UNANSWERED, Instead
from .kept import Recalling
from .leaf_groups import leaves_text
from .on_mesh import run_on_mesh

MOST_ALIKE = 8  # bound: states of the outside and of instances of one class, until each instance has traces of its own


class SignatureEntry(Attempts, Fallbacks, Instead, NewShapes, DrawingCalls, Recalling):
    """See the module. `run(leaves)` takes the flat dynamic leaves."""

    def __init__(self, compiled, leaves, built, dynamic, names, places, cells=()):
        self.cells = cells  # [(leaf, the InstanceCell that holds it during a call)]
        self.compiled, self.built, self.dynamic, self.places = compiled, built, dynamic, places
        self.tree, self.types, order, self.shared = built
        self.order = pytree.order_of(order)  # of the keys of dicts among the arguments
        self.names = [names[i] for i in dynamic]
        self.static = {names[i]: leaves[i] for i in range(len(leaves)) if i not in dynamic}
        self.leaves = [None if i in dynamic else x for i, x in enumerate(leaves)]
        self.pinned = False  # whether a trace has learnt which object an argument in a cell is
        # the arguments are the leaves
        self.flat = places is not None and not places[1] and all(type(p) is LeafPlace for p in places[0])
        self.numpy = not any(dispatch.is_device_array(leaves[i]) for i in dynamic)
        traced = any(dispatch.is_tracer_type(self.types[i]) for i in dynamic)
        self.watched = compiled.debug is not None and not traced  # jax's own traces are asked nothing
        self.raises = (
            compiled.entry is SignatureEntry
            and compiled.native
            and compiled.device is None
            and not self.numpy
            and not traced
        )
        super().__init__()
        self.worlds, self.old = [], []  # sets of traces that are used, and of those that no call has asked for lately
        self.interpreted = []  # those whose programs ran as generated NumPy, before there was time to compile them
        self.current = None
        self.jobs = {}  # programs asked for that are not in use, under `jit(tier=)`
        self.postponed = False  # whether the generated function in front is to know of it at the next call
        self.equal = ()  # objects among the static leaves that may stand for others
        self.promoted = ()  # names of the ints among the dynamic leaves
        self.ahead = None  # a trace that was made before it was known to be used
        self.fixed = set()  # places of numbers that must be relied on: taken in, the trace fails

    def run(self, leaves, given=None):
        """The call, on any thread: guard, program, result; a trace first where there is none."""
        try:
            here = self.current
            if here is None or not here.holds():
                return self.first(*leaves, given=given)
            if here.apart and (read := self.met(here, given)) is not None:
                return self.together(leaves, read, given)
            if here.draws is not None:
                return (
                    self.drawn(here, leaves, given)
                    if here.serves(self.types_of(leaves))
                    else self.first(*leaves, given=given)
                )
            if self.postponed:
                self.compiled.front.install(self, again=True)
            elif here in self.compiled.front.lines:
                self.compiled.front.missed(self)
            everything = [*leaves, *here.gather()]
            for straight in here.straight_for(everything):
                out = straight(*everything)
                if out is not MISS:
                    return out
            try:
                if (why := self.unserved(here, everything)) is not None:
                    raise why
                raw = self.launch(here, everything)
            except Untraced:
                raw = MISS
            except TypeError as error:
                return self.mistyped(error, leaves, given)
            return self.first(*leaves, given=given) if raw is MISS else self.finish(here, raw, everything, given)
        except (*UNANSWERED, *dispatch.UNKNOWN) as error:
            why = error
        return self.instead(leaves, why, given)  # here: an exception of the user's has nothing to do with ours

    def run_on(self, full, given):
        """The call, of all leaves: those that are known by their class are in their cells meanwhile."""
        leaves = [full[i] for i in self.dynamic]
        if not self.cells:
            return self.run(leaves, given)
        with self.held(full):
            return self.run(leaves, given)

    def prepared(self, full):
        """A trace for a call of all these leaves, which runs it next, as its first."""
        with self.held(full):
            version, version.ahead = self.prepare([full[i] for i in self.dynamic])
        if version.ahead:
            self.current = None

    @contextlib.contextmanager
    def held(self, full):
        """Around a call: the leaves that are known by their class are in their cells."""
        before = [cell.object for _, cell in self.cells]
        for i, cell in self.cells:
            cell.object = full[i]
        try:
            yield
        finally:
            for (_, cell), x in zip(self.cells, before):
                cell.object = x
            if self.cells and (self.pinned or self.refused or len(self.worlds) > MOST_ALIKE):
                self.compiled.pin(self, full)

    # -- making traces -----------------------------------------------------------------------------
    def first(self, *leaves, given=None):
        """The slow path: make sure there is a trace for these leaves in the present world, then run it."""
        if isolation.is_answering():
            return baseline.answer(self, SpecialisationSet, leaves, given)
        if self.compiled.patience.rests(leaves) and self.falls_back():
            return self.unsettled(leaves, self.compiled.patience.why, given)
        try:
            if self.refused and not self.worlds and not self.old:
                self.refuse_known(self.types_of(leaves))
            return self.begun(leaves, given)
        except patched_numpy.Replaced as error:
            if self.compiled.plain is None:
                raise
            why = error
        except (*UNANSWERED, *dispatch.UNKNOWN) as error:
            why = error
        return self.instead(leaves, why, given)  # here: an exception of the user's has nothing to do with ours

    def begun(self, leaves, given):
        """The same, where nothing is made on another thread."""
        with self.compiled.lock, events.making(self.compiled):
            version, fresh = self.prepare(leaves)
            here = self.current
            if here.apart and (read := self.met(here, given)) is not None:
                return self.together(leaves, read, given)
            if here.draws is not None:
                self.keep(version, fresh)
                return self.drawn(here, leaves, given, fresh)
            if version.straight is not None and fresh:  # from disk
                start = time.perf_counter()
                out = version.straight(*leaves, *here.gather())
                if out is not MISS:
                    version.first_seconds, version.compile_seconds = time.perf_counter() - start, 0.0
                    events.report("compile", "first run", "ran as generated NumPy", version.first_seconds)
                    return out
            files, why = {}, None
            try:
                while True:
                    try:
                        start, everything = time.perf_counter(), [*leaves, *here.gather()]
                        if not fresh:
                            agree_on(self, here, version, everything)
                            raw = self.launch(here, everything)
                            break
                        progress.phase("compiling", version.func.count())
                        with undisturbed(version):
                            raw = deferred(self, here, version, everything)
                            if raw is not None:
                                break
                            outlined.outline_if_worthwhile(self, here, version)
                            with self.compiled.cache.collect(version) as files:
                                agree_on(self, here, version, everything)
                                later = puts_off(self, here, version, everything)
                                raw = autotune.tried(self, here, version, everything, later)
                                raw = self.launch(here, everything) if raw is None else raw
                        break
                    except SideExit as found:
                        missing = found
                    version, fresh = self.branched(here, leaves, missing), True
            except (MustKnow, Undecided) as found:
                why = found
            if why is not None:  # here: no exception of ours is handled where the user's code runs
                return self.run(leaves, given) if type(why) is MustKnow else self.plainly(leaves, why.reason, given)
            if isinstance(raw, SelectedResults):
                version, raw = raw.version, raw.raw
            if fresh and version.first_seconds is None:
                dispatch.wait(raw, version.func)
                version.first_seconds = seconds = time.perf_counter() - start
                events.report("compile", "first run", "compiled and run first", seconds, level=logging.DEBUG)
                if compile_times.compiled_at() > start or version.compile_seconds is None:
                    version.compile_seconds = max(compile_times.compiled_at() - start, 0.0)
                self.compiled.patience.compiled(version)
                # machine code of loops that only NumPy calls
                with undisturbed(version), self.compiled.cache.collect(version) as more:
                    if beside_xla.settle_engine(self, here, version, everything):
                        raw = self.launch(here, everything)
                        raw = raw.raw if isinstance(raw, SelectedResults) else raw
                if version.engine:
                    self.compiled.front.install(self)
                self.keep(version, fresh, files | more)
        return self.settle(here, version, raw, everything, given)

    def keep(self, version, fresh, files=()):
        """Write a new trace to disk, where that is asked for."""
        if fresh:
            self.compiled.cache.keep(self, version, files)

    def branched(self, here, leaves, missing):
        """The trace for data that goes another way through the choices made by value."""
        events.report("guards", "side exit", lambda: missing_way(missing.tree, missing.path))
        kinds = self.kinds_of(leaves)
        way = missing.path or tuple(map(repr, leaves))  # of floats it is not told
        self.have_patience(tuple(k.type for k in kinds), here, way)
        version = self.traced(kinds, tuple(k.type for k in kinds), "data took another way", leaves, missing.path)
        if version.path[: len(missing.path)] != missing.path:
            missing.tree.loose = True
        if version.captured.outside.draws:  # the first of the ways that does
            self.begin_anew(here, version)
            raise MustKnow
        known = missing.tree.versions.get(version.path)
        if known is not None and known.takes() == version.takes():  # whose program says that it is not for these data
            raise Undecided
        try:
            here.add(version, missing.tree)
        except UnsupportedError as error:  # there are too many
            if self.must_know(here):
                raise MustKnow from None
            if self.is_answerable():
                self.refuse(version.types, error)
            self.begin_anew(here, version)  # a derivative, which nothing else can answer
            raise MustKnow from None
        self.compiled.front.install(self)
        return version

    def begin_anew(self, here, version):
        """Have one trace in place of a set of them."""
        other = SpecialisationSet(self.compiled, version.rules)
        other.add(version)
        self.worlds = [w for w in self.worlds if w is not here] + [other]
        self.current = other

    def prepare(self, leaves):
        """-> (the version for these leaves, whether it is to run for the first time)."""
        kinds = self.kinds_of(leaves)
        types = tuple(k.type for k in kinds)
        here, version = self.known_version(types)
        if version is not None and here is self.current:
            return version, False
        fresh = version is None
        if fresh:
            if not self.hold_back(types, here):
                self.have_patience(types, here)
            reason = self._reason(types, here)
            self.tell_missed(types, here, reason)
            here = None if self.compiled.kept.make_room(self) else here
            version = self.of_family(here, types, reason) or self.stored(types, reason)
            version = version or self.traced(kinds, types, reason, leaves)
            self.tell_apart(version)
            if here is None or version.captured.outside.draws:
                here = SpecialisationSet(self.compiled, version.rules, self.donor)
                self.worlds.append(here)
            here.add(version)
            if version.engine:
                backend_choice.switch_to_numpy(self, here, version)
            trap.settle(self, here)
            self.begin_sizes(here, version)
        first, version.ahead = fresh or version.ahead, False
        self.current = here
        (self.compiled.front.install if first else self.compiled.front.missed)(self)
        if fresh:
            self.compiled.bound()
        return version, first

    def tell_apart(self, version):
        """Let no other object stand for an equal one among the arguments, where it is stored to or handed on."""
        given = {id(out.object) for out in version.captured.outs if out.how == "object"}
        for key in self.equal:
            key.alone = key.alone or bool(version.captured.stores) or id(key.object) in given

    def tell_missed(self, types, here, reason):
        """Say why no program there is answers a call: what a guard asks, or other arguments."""
        if self.current is None and reason == "first call":
            return
        kind = "guard" if here is None and self.current is not None else "signature"
        text = lambda: f"no program for ({self.shown_types(types)}): {reason}"
        events.report("guards", kind, text, reason=reason, types=types)

    def _reason(self, types, here):
        """Why there must be a new trace."""
        if self.compiled.kept.was_let_go(self, types):
            return "there was one, which was let go when no call had used it for long"
        here = here or next((w for w in self.old if w.serves(types)), None)
        if here is None and self.current is not None and self.current.holds():  # it draws
            here = self.current
        if here is not None:
            changed = leaves_text([(n, f"{t} (was {u})") for n, t, u in here.changes(types, self.names)])
            return "new " + changed if changed else "an outside array has another type"
        if self.current is not None:
            if self.current.rules != rules.in_force():
                return "rules were stated or removed since"
            return "changed since: " + ", ".join(
                f"{r} was {r.shown()}, is {r.shown(r.get())}" for r in self.current.guard.changed()
            )
        return self.compiled.reason_for(self)

    # -- running -----------------------------------------------------------------------------------
    @raises_for_user
    def launch(self, here, everything):
        """The raw results for arguments and inputs."""
        if forked.Process.forked:
            return backend_choice.without_xla(here, everything)
        here.refuse_unfit(everything)
        with dispatch.wide():
            try:
                raw = here.call(*everything) if self.compiled.device is None else self.on_device(here, everything)
            except dispatch.FAILURES as failure:
                raise hosted.original(failure) from None
        if not here.endures or isinstance(raw, SelectedResults):
            return raw
        return waiting.heard(raw, self.compiled.name, here.call)

    def types_of(self, leaves):
        return tuple([k.type for k in self.kinds_of(leaves)])

    def on_device(self, here, everything):
        """The raw results of all that a program takes, moved to the device asked for, or spread over several."""
        if isinstance(self.compiled.device, Placement):
            return run_on_mesh(self, here, everything)
        return here.call(*dispatch.moved_to_device(everything, self.compiled.device))

    def finish(self, here, raw, everything, given=None):
        if here.plain is not None:
            return here.give(raw) if self.numpy else raw
        if type(raw) is SelectedResults:
            return self.settle(here, raw.version, raw.raw, everything, given)
        versions = here.versions
        version = versions[0] if len(versions) == 1 else here.version(tuple(type_of(x) for x in everything))
        return self.settle(here, version, raw, everything, given)

    def settle(self, here, version, raw, everything, given):
        count = len(self.dynamic)
        if self not in version.returned:
            version.returned[self] = returned(version, self)
        if (made := version.returned[self]) is not None:
            alone = raw[0] if isinstance(raw, tuple) and len(raw) == 1 else raw
            if (out := made(alone, *everything[:count])) is not MISS:
                return out
        if self.promoted and not version.effects and version.status(raw):
            return self.compiled.statically(self, everything[:count], given)
        taken = [everything[p] for p in version.places]
        again = lambda reason: self.again(everything[:count], reason, given, here)
        return version.finish(raw, taken, self.numpy, again, given)

    def met(self, here, given):
        """The Read of an outside container that is also among the arguments, or None."""
        return None if self.flat or given is None else meet(given, here.apart)

    def together(self, leaves, read, given):
        """A call in which an outside container is also among the arguments, which the trace takes for two."""
        return self.plainly(
            leaves, f"{read.name}, a {type(read.get()).__name__} from outside, is also among the arguments", given
        )

    def filled(self, leaves):
        """All leaves of a call, the static ones among them."""
        full = list(map(present, self.leaves))
        for i, x in zip(self.dynamic, leaves):
            full[i] = x
        return full


def undisturbed(version):
    """While a version is compiled, and run first, no garbage is collected, unless that calls Python or may take long:
    what is made then lives on."""
    return contextlib.nullcontext() if version.endures else collector.waiting()
