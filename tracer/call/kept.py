"""What a function keeps of its traces: those used lately, within a limit.

Calls that the function in front answers tell nobody, so use is not counted: traces are of two generations. All that are
made are young. When the young are half of what may be kept, they become the old ones, and the old ones so far are let
go, with their programs, machine code and generated functions. Nothing is tested inline then, so that each call looks
for its program once more: an old one that is asked for is young again, with all that was made for it. What is let go
has been asked for by no call since at least half as many traces as are kept were made. A call that comes after that is
traced anew.
"""

import functools
import os
import re

from ...ir.types import type_of
from ..common import events
from ..guards.static_arguments import key_of
from ..program import backend_choice, outlined, trap
from ..program.siblings import sets_of
from ..program.specialisation_set import SpecialisationSet
from . import donation
from .deferred import is_deferred
from .patience import SEEN
from .route import ROOM

TRACES = 256  # bound: traces of one function
BYTES = 1 << 28  # bound: bytes that they, their programs and machine code take, as far as can be told beforehand
ALONE = 4  # bound: traces of a set that stay together
TOLD = 4096  # bound: traces let go of which `explain` knows when they come again
# bound: bytes that count for a trace and for an equation of it, as benchmarks/sizes/memory.py has found them
TRACE, EQUATION = 1 << 16, 1 << 13
# bound: bytes that count on top of these for a program compiled through XLA and for an equation of it
PROGRAM, COMPILED = 3 << 19, 1 << 15
VARIABLE = "WENGERT_KEEP"
UNITS = {"kb": 10**3, "mb": 10**6, "gb": 10**9}


@functools.cache
def limits(text):
    """-> (traces, bytes) that the variable asks for: "1000", "2GB", or both."""
    traces, size = TRACES, BYTES
    for part in text.replace(",", " ").split():
        found = re.fullmatch(r"(\d+)(kb|mb|gb)?", part.lower())
        if found is None or not int(found[1]):
            raise ValueError(
                f"{VARIABLE}={text!r} is no limit\n  Write how many traces of a function are kept, as 1000, or how "
                "many bytes they may take, as 2GB, or both."
            )
        traces, size = (
            (traces, int(found[1]) * UNITS[found[2]]) if found[2] else (int(found[1]), size)
        )
    return traces, size


class KeptTraces:
    """Of one Compiled: what was let go, and how much. made: traces since the generations changed last."""

    def __init__(self, compiled):
        self.compiled, self.count = compiled, 0
        self.gone = {}  # digests of what the traces let go were for
        self.size = {}  # young version -> bytes

    def make_room(self, asking):
        """Before another trace of an entry is made: let the old ones go, if there are as many young ones as may be. ->
        whether"""
        traces, size = limits(os.environ.get(VARIABLE, ""))
        young = [version for here in sets_of(self.compiled) for version in here.versions]
        many = len(self.compiled.entries) >= 2 * traces
        if not many and len(young) < max(traces // 2, 1) and sum(map(weight_of, young)) < size // 2:
            return False
        self.grow_old(many, asking)
        return True

    def grow_old(self, many, asking=None):
        """many: whether there are too many signatures for those to stay that have no trace, but for the one asking."""
        compiled, gone, count = self.compiled, [], self.count
        compiled.front.cool()
        for key, entry in list(compiled.entries.items()):
            for here in entry.old:
                gone += [(entry, here)]
            entry.old, entry.worlds, entry.current = entry.worlds, [], None
            entry.forget_jobs()
            if entry is not asking and not entry.old and (many or not entry.refused):
                self.leave_out(key, entry)
        for entry, here in gone:
            for version in here.versions:
                self.note(entry, version.types)
            entry.forget_programs(here)
        if self.count > count:
            text = f"let go of {self.count - count} traces that no call has used lately"
            events.report("guards", "let go", text, of=compiled)

    def leave_untraced(self, route):
        """Where a route has had many static values, let the older of those go that no trace was made for: most are not
        met again."""
        if len(route.entries) < route.room:
            return
        used = lambda e: e.worlds or e.old or e.interpreted or e.jobs or e.refused
        bare = [(static, entry) for static, entry in route.entries.items() if not used(entry)]
        for static, entry in bare[:-SEEN]:
            del route.entries[static]
            self.compiled.entries.pop((entry.built, route.promoted, static), None)
            self.compiled.patience.forget(entry)
        route.room = len(route.entries) + ROOM

    def leave_out(self, key, entry):
        """Know a signature no more."""
        del self.compiled.entries[key]
        for built, route in list(self.compiled.routes.items()):
            for found in (route, route.plain):
                for static in [k for k, e in found.entries.items() if e is entry]:
                    del found.entries[static]
                found.postponed = {i: e for i, e in found.postponed.items() if e is not entry}
            if not route.entries and not route.plain.entries and not route.plain.postponed:
                del self.compiled.routes[built]

    def note(self, entry, types):
        self.count += 1
        self.gone[digest_of(entry, types)] = None
        while len(self.gone) > TOLD:
            del self.gone[next(iter(self.gone))]

    def was_let_go(self, entry, types):
        """Whether there was a trace for such a call."""
        return digest_of(entry, types) in self.gone

    def lines(self):
        """What `explain` says."""
        traces, size = limits(os.environ.get(VARIABLE, ""))
        kept = f"{traces} of a function are kept, or {size >> 20} MB of them"
        return [f"  let go       {self.count} trace(s) that no call has used lately; {kept}"] if self.count else []


def digest_of(entry, types):
    return hash((entry.built, types, tuple(map(key_of, entry.static.values()))))


def weight_of(version):
    """What a trace and its programs take in memory, roughly."""
    if version.weight is None or version.weight[0] != version.engine:
        count = version.func.count()
        found = TRACE + EQUATION * count + (0 if version.engine else PROGRAM + COMPILED * count)
        version.weight = version.engine, found
    return version.weight[1]


def version_in(here, types):
    return here.version((*types, *(type_of(x) for x in here.gather())))


class Recalling:
    """The part of `SignatureEntry` that finds old traces. old: the sets of those."""

    @property
    def donor(self):
        """What makes a Donor for a set of traces; None where calls give nothing away."""
        return functools.partial(donation.Donor, self) if donation.donates(self) else None

    def known_version(self, types):
        """-> (the specialisation set that serves arguments of these types now, the version in it that they are for),
        None each where there is none."""
        found, known = None, (self.current, *(w for w in self.worlds if w is not self.current))
        for here in known:
            if here is None or not here.serves(types):
                continue
            version = here.versions[0] if here.draws is not None else version_in(here, types)
            if version is not None:
                return here, version
            found = found or here
        return self.old and self.recall_kept(types) or (found, None)

    def recall_kept(self, types):
        """The same, of the old ones: it is a young one then. None where there is none."""
        with self.compiled.lock:
            for old in [w for w in self.old if w.serves(types)]:
                version = old.versions[0] if old.draws is not None else version_in(old, types)
                if old.sizing is not None and old.sizing.answering(types) is not None:  # it stays whole
                    self.old.remove(old)
                    self.worlds.append(old)
                    return old, version
                if version is None:
                    continue
                here = next((w for w in self.worlds if w.draws is None and w.rules == old.rules and w.holds()), None)
                if old.draws is not None or here is None and len(old.versions) <= ALONE:
                    self.old.remove(old)
                    self.worlds.append(old)
                    return old, version
                return self.hand_over(version, old, here), version

    def hand_over(self, version, old, here):
        """Have a set of the young ones, a new one if there is none, serve what a version of an old one serves, by what
        was compiled for it. -> the set"""
        if here is None:
            here = SpecialisationSet(self.compiled, old.rules, self.donor)
            self.worlds.append(here)
        for moved, same in here.take_over_from(old, version):
            if not same and (moved.engine or is_deferred(moved)):  # what it runs as takes its inputs from other places
                moved.deferred = None
                if moved.engine:
                    backend_choice.switch_to_numpy(self, here, moved)
            elif moved.tree is not None:
                continue
            elif is_deferred(moved):
                moved.deferred.here = here
                backend_choice.begin(here, moved.deferred)
            elif moved.engine and moved.straight is not None:
                backend_choice.stand_by(self, here, moved)
            elif moved.engine:
                backend_choice.switch_to_numpy(self, here, moved)
            elif moved.chain is not None:
                outlined.put_pieces(here, moved)
        if version.tree is None:
            trap.settle(self, here)
        return here

    def forget_jobs(self):
        """Nothing is being made beside the program."""

    def forget_programs(self, here):
        """Keep nothing that was compiled for a set that is let go. Who still runs it has it compiled anew."""
        here.forget_compiled()
