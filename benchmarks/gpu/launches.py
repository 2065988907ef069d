"""What an executable for a graphics card launches, counted in its text: nothing is run.

A kernel is an instruction that is launched; its launches are how often it stands in the way of one call: trips of loops
times trips of the loops around. Of the sides of a branch the one with most launches counts. Where XLA does not know the
trips of a loop, its test runs at each trip and is waited for, as the choice of a branch is (`waits`); how often it runs
is what `trips.py` has counted for its line, else once, which is told of (`unknown`).

XLA puts stretches of `GRAPH` kernels and more that follow each other into a CUDA graph, when it makes thunks of the
text: the text does not show it, so `submissions`, what the host has to submit, is reckoned so.
"""

import collections
import dataclasses
import functools
import math

from wengert.backends.xla.hlo_cost import FREE, MOVES
from wengert.backends.xla.hlo_text import parse_module
from wengert.backends.xla.op_lines import module_lines

GRAPH = 5  # `xla_gpu_graph_min_graph_size`
TILE = 2048  # keys that a block sorts in its shared memory
HOST = "callback"  # in the names of targets that call Python
DOUBLE = ("f64", "c128")


@dataclasses.dataclass
class Launches:
    """kernels: instructions that are launched; launches, submissions, waits, callbacks: in one call; libraries: target
    -> calls; doubles: operations (instructions, not executions) on float64 numbers; unknown: loops whose trips only the
    data tell."""

    kernels: int = 0
    launches: int = 0
    submissions: int = 0
    waits: int = 0
    callbacks: int = 0
    libraries: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    doubles: int = 0
    unknown: int = 0

    def add(self, other, times=1):
        """Count `other`, which happens so often."""
        self.kernels += other.kernels
        self.doubles += other.doubles
        self.unknown += other.unknown
        for name in ("launches", "submissions", "waits", "callbacks"):
            setattr(self, name, getattr(self, name) + times * getattr(other, name))
        self.libraries.update({name: times * n for name, n in other.libraries.items()})

    def rounded(self):
        """The same in whole numbers: trips of loops within loops are averages."""
        whole = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        whole |= {name: round(n) for name, n in whole.items() if name != "libraries"}
        return Launches(**whole | {"libraries": {name: round(n) for name, n in self.libraries.items()}})


def launches_of(text, trips=None):
    """The `Launches` of one call of an executable, whose text (`as_text()`) is given; trips: {(file, line, how many
    loops are around): trips of the loops there, a number that need not be whole}, for those that XLA does not know."""
    module = parse_module(text)
    return Walk(module, trips or {}).computation(module.entry).rounded()


class Walk:
    def __init__(self, module, trips):
        self.module, self.trips, self.known, self.depth = module, trips, {}, 0

    @functools.cached_property
    def places(self):
        """{instruction: (file, line)}"""
        return {name: place[:2] for name, place in module_lines(self.module).items()}

    def computation(self, name):
        """Of one run of a computation."""
        if name not in self.known:
            self.known[name] = found = Launches()
            stretch = 0
            for i in self.module.computations[name]:
                if i.opcode in FREE:
                    continue
                part = self.of(i)
                found.add(part)
                if part.submissions or part.waits:  # it has told what of it is submitted
                    found.submissions, stretch = found.submissions + submitted(stretch), 0
                else:
                    stretch += part.launches
            found.submissions += submitted(stretch)
        return self.known[name]

    def of(self, i):
        """Of one instruction."""
        if i.opcode == "while":
            return self.loop(i)
        if i.opcode == "conditional":
            sides = [self.computation(c) for c in i.called("branch", "true_computation", "false_computation")]
            return self.branch(sides)
        if i.opcode == "call" or i.opcode.startswith("async-start"):
            found = Launches()
            for name in i.called("to_apply", "calls"):
                found.add(self.computation(name))
            return found
        if i.opcode.endswith(("-done", "-update")):
            return Launches()
        return self.kernel(i)

    def loop(self, i):
        found, counted = Launches(), i.trips
        if counted is None:
            counted = self.trips.get((*self.places.get(i.name, ()), self.depth))
        trips = 1 if counted is None else counted
        self.depth += 1
        found.add(self.computation(*i.called("body")), trips)
        self.depth -= 1
        if i.trips is None:
            found.add(self.computation(*i.called("condition")), trips + 1)
            found.waits += trips + 1
            found.unknown += counted is None
        return found

    def branch(self, sides):
        found, dearest = Launches(waits=1), max(sides, key=lambda side: side.launches)
        for side in sides:
            found.add(side, int(side is dearest))
        return found

    def kernel(self, i):
        found, inside = Launches(kernels=1, launches=1), self.inside(i)
        found.doubles = sum(map(of_doubles, inside))
        if any(x.opcode == "sort" for x in inside):
            found.launches = max(sorting(x) for x in inside if x.opcode == "sort")
        for x in inside:
            if x.opcode == "custom-call" and HOST in x.target:
                found.callbacks, found.waits, found.submissions = 1, 1, 1
            elif x.opcode == "custom-call":
                found.libraries[x.target] += 1
        return found

    def inside(self, i):
        """The instructions that one launch computes: those of a fusion, and of the fusions in it."""
        if i.opcode != "fusion":
            return [i]
        return [x for c in i.called("calls") for e in self.module.computations[c] for x in self.inside(e)]


def of_doubles(i):
    """Whether an instruction computes a float64 number."""
    computes = i.opcode not in FREE | MOVES and HOST not in i.target
    return computes and any(s.element in DOUBLE for s in i.shapes)


def submitted(stretch):
    """What the host submits for so many kernels that follow each other."""
    return stretch if stretch < GRAPH else 1


def sorting(i):
    """Launches of a bitonic sort: one for all stages within a tile, then of each later stage one for each distance
    above the tile's, and one for those within."""
    (axis,) = [int(n) for n in i.attributes.partition("dimensions={")[2].partition("}")[0].split(",")]
    stages = math.ceil(math.log2(max(i.shapes[0].sizes[axis], 2)))
    beyond = max(0, stages - int(math.log2(TILE)))
    return 1 + sum(k + 1 for k in range(1, beyond + 1))
