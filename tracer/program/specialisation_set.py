"""The traces made while the outside values were as their guard remembers, and the program that jax.jit dispatches among
them."""

import numpy as np

from ...backends.xla import dispatch
from ...ir.bounded import Limited
from ...ir.types import type_of
from ..capture.handover import ARRAY, SCALAR
from ..capture.shared_containers import outer_reads
from ..guards import guard
from ..guards.outside import gathered
from ..rules import rules
from . import trap
from .specialisation import Unfit
from .trace_tree import Tree, Trees, Untraced

IN_TURN = 4  # bound: programs that are asked one after the other; of more, those for the types of a call alone


class SpecialisationSet:
    """The traces that are valid while `guard` holds and `rules` are in force, and the program that jax.jit dispatches
    among them."""

    def __init__(self, compiled, rules=(), donor=None):
        """donor: makes for this set what `dispatch.program` is given as such; None where nothing is overwritten."""
        self.rules, self.options = rules, compiled.lowering()
        self.guard = guard.Guard(())
        self.reads = {}  # what the traces relied on: place -> Read
        self.versions = []
        self.known = (), Limited()  # the versions that were looked through, and types -> those for them
        self.differs_from_plain = False  # whether any of them gives other numbers than plain Python
        self.apart = []  # Reads of lists and dicts outside that must not be among the arguments
        # types of arguments and inputs -> a ShapeTally, of calls without a program, and of those that have one now
        self.shapes, self.served = {}, {}
        self.sizing = None  # what is known of programs of all sizes, once there is a second shape
        self.contests = {}  # types of arguments and inputs -> whether plain Python is faster, or what is to tell
        self.straight = []  # of those that are one function each, as NumPy, the functions
        self.inputs = []  # what is passed behind the arguments: arrays, and Reads that find what is to be passed
        self.plain = None  # the kind of the one result, where all versions have just that
        self.draws = None  # of the one version that is here, where it draws random numbers
        self.drawing = None  # the Tree of such versions that data choose among, each in a set of its own
        donor = donor and donor(self)
        self.call = self.base = dispatch.program(self.find, compiled.name, donor=donor, **self.options)
        self.endures = False  # whether calls are waited for with signals heard
        self.raising = None  # the program that raises where a check has failed, where there is one

    @property
    def live(self):
        """Whether any input is to be looked up at each call."""
        return any(isinstance(x, guard.Read) for x in self.inputs)

    def input_names(self):
        """What the user calls the inputs."""
        return [x.name if isinstance(x, guard.Read) else "an outside array" for x in self.inputs]

    def changes(self, types, names):
        """[(name, type, type in the latest trace)] of the arguments and inputs of a call that have another there."""
        last = next((v for v in reversed(self.versions) if v.symbolic is None), self.versions[-1])
        before = last.types_with_inputs(len(types) + len(self.inputs))
        now = [*types, *(type_of(x.get()) if isinstance(x, guard.Read) else None for x in self.inputs)]
        found = zip([*names, *self.input_names()], now, before)
        return [(n, t, u) for n, t, u in found if t is not None and u is not None and t is not u]

    def gather(self, env=None, number=None):
        """The inputs of a call, of which `env` are the draws."""
        return gathered(self.inputs, env, number)

    def holds(self):
        """Whether all is as it was when the traces were made. The generated function in front asks the guard alone:
        rules recall it."""
        return self.rules == rules.in_force() and self.guard.holds()

    def serves(self, types):
        """Whether the traces here may be used, or joined by another, for arguments of these types."""
        if not self.holds():
            return False
        if self.draws is None:
            return True
        version = self.versions[0]
        now = [*types, *(type_of(x.get()) for x in self.inputs if isinstance(x, guard.Read))]
        return all(t is p.type for t, p in zip(now, version.captured.func.params))

    def give(self, raw):
        """The one result of a program that does nothing else, in NumPy's kind."""
        value = np.array(raw) if self.small else dispatch.owned(raw)
        return value if self.plain is ARRAY else value[()] if self.plain is SCALAR else value.item()

    def find(self, types):
        """The program for the types of arguments and inputs."""
        version = self.version(types)
        if version is None:
            raise Untraced
        return version.func, version.places

    def version(self, types):
        """The trace for the types of arguments and inputs; of several between which data chooses, any."""
        if len(self.versions) <= IN_TURN:
            return next((v for v in self.versions if v.fits(types)), None)
        return next(iter(self.fitting(types)), None)

    def fitting(self, types):
        """The traces for these types, known once they have been looked for."""
        versions, known = self.known
        if versions is not self.versions:
            self.known = versions, known = self.versions, Limited()
        found = known.get(types)
        if found is None:
            found = known[types] = [v for v in versions if v.fits(types)]
        return found

    def straight_for(self, everything):
        """Of `straight`, the functions that arguments and inputs may be for."""
        if len(self.straight) <= IN_TURN:
            return self.straight
        versions = [v for v in self.versions if v.symbolic is not None]
        versions += self.fitting(tuple([type_of(x) for x in everything]))
        return [v.straight for v in versions if v.straight is not None]

    def refuse_unfit(self, everything):
        """`Unfit` for arguments and inputs that a program of theirs would find unfit only when it has acted."""
        for version in self.versions:
            if version.asks_first and version.fits([type_of(x) for x in everything]):
                if (why := version.unfit([everything[place] for place in version.places])) is not None:
                    raise Unfit(why)

    def version_of(self, leaves):
        types = tuple([type_of(x) for x in leaves])
        version = self.version(types)
        if version is None:
            raise Untraced
        return version, types

    def grow(self, version, tree):
        """One more trace of a tree: each has a program of its own, and the data of a call says which is right."""
        version.tree = tree or Tree()
        version.tree.add(version)
        version.program = dispatch.program(
            lambda types: (version.func, version.places), version.captured.func.name, **self.options
        )
        if not isinstance(self.call, Trees):
            self.call = Trees(trap.with_status(self.call), self.version_of)

    def choose_among(self, version, tree):
        """A new trace of a tree, which is here alone where one of them draws."""
        if version.captured.outside.draws or tree is not None and tree.draws:
            self.drawing, version.drawing_in = tree or Tree(), self
            self.drawing.draws = True
            self.drawing.add(version)
        else:
            self.grow(version, tree)

    def add(self, version, tree=None):
        """A new trace, of a tree if data chooses; what it takes in joins the inputs, what it read joins the guard."""
        arguments = len(version.types)
        places = list(range(arguments))
        # by their hashes: a number of NumPy's and a tuple, keys of one dict, are compared item by item
        numbers = {input_key(x): n for n, x in enumerate(self.inputs)}
        for x in version.captured.inputs:
            if input_key(x) not in numbers:
                numbers[input_key(x)] = len(self.inputs)
                self.inputs.append(x)
            places.append(arguments + numbers[input_key(x)])
        if version.places != places:  # the function that it is as NumPy takes its inputs from others
            version.places, version.straight = places, None
        if version.assumed:
            self.choose_among(version, tree)
        self.versions = [*(v for v in self.versions if v.tree is None or v.tree.holds(v)), version]
        self.differs_from_plain |= version.differs_from_plain
        self.apart += [
            read for read in outer_reads(version.captured) if read.place not in {r.place for r in self.apart}
        ]
        self.straight = [v.straight for v in self.versions if v.straight is not None]
        draws = version.captured.outside.draws
        self.draws = draws if draws or self.drawing is not None else None
        for place, read in version.captured.outside.reads.items():
            if place not in self.reads or self.reads[place].weaker(read):
                self.reads[place] = read
        self.guard = guard.Guard(self.reads.values())
        for contest in filter(None, self.contests.values()):
            contest.drop_forms()
        kinds = {v.plain for v in self.versions}
        self.plain = kinds.pop() if len(kinds) == 1 else None
        self.endures = any(v.endures for v in self.versions)
        self.small = all(v.bytes < dispatch.ZERO_COPY for v in self.versions)

    def take_over_from(self, other, version):
        """Serve what a version of another set serves, and all of its tree, by what was compiled for it there ->
        [(version, whether what it runs as is the same)]: not where other inputs lie in front of its own."""
        alike = [v for v in other.versions if v is version or version.tree is not None and v.tree is version.tree]
        other.versions = [v for v in other.versions if v not in alike]
        moved = []
        for v in alike:
            places, program = v.places, v.program
            self.add(v, v.tree)
            moved.append((v, v.places == places))
            if v.places != places:
                continue
            v.program = program
            types = tuple(p.type for p in v.captured.func.params)
            if (contest := other.contests.get(types)) is not None:
                contest.here, self.contests[types] = self, contest
                contest.drop_forms()
            if len(self.inputs) == len(other.inputs):
                self.base.take_compiled(other.base, v.fits)
        return moved

    def forget_compiled(self):
        """Hold no program of XLA's: whoever runs this set on another thread has it compiled once more."""
        raising = self.raising and self.raising.quick
        for program in (self.base, raising, *(v.program for v in self.versions)):
            if isinstance(program, dispatch.Program):
                program.forget()


def input_key(x):
    return x.place if isinstance(x, guard.Read) else id(x)


def takes_now(version, types):
    """Whether a version made elsewhere takes arguments of these types, and what lies outside in the sizes of now."""
    inputs = zip(version.captured.inputs, version.captured.func.params[len(types) :])
    return version.types == types and all(type_of(x.get()) is p.type for x, p in inputs if isinstance(x, guard.Read))
