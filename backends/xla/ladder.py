"""Programs of symbolic sizes through XLA: one executable for a step of a ladder of sizes, and all sizes up to it.

    made = Ladder(generic, "loss")
    made.call(leaves, {"n": 41})    # the results of the program at n = 41, by the executable that has room for 48

Arguments are put into kept arrays of the step's shapes, the sizes are operands, and results are cut. What a step
computes beyond the true sizes never reaches a result (`ir/padding`). There are as many steps as the logarithm of the
greatest size, so as many compilations.
"""

import math
import threading
import time

import numpy as np

from ...ir.generic import Generic
from ...ir.padding import Unroomy, in_room
from .dispatch import ahead, narrow, program, wide
from .spinning import ndarrays

FINEST = 8  # bound: the least step, and what the least ones lie apart
OCTAVE = 4  # bound: steps from a size to its double; benchmarks/sizes/ladder.py compares them
ALIGNED = 64  # fact: what begins at a multiple of so many bytes XLA takes as it lies


def step_for(n, apart=1, rest=0):
    """The step of the ladder for a size: the least one that is not below it, congruent to `rest` modulo `apart`."""
    between = max(2 ** max((n - 1).bit_length() - 1, 0) // OCTAVE, FINEST)
    step = -(-n // between) * between
    return step + (rest - step) % apart


class Steps:
    """Which sizes have room: those of a program that are met at samples alone have remainders in common."""

    def __init__(self, generic: Generic):
        self.classes = {}
        for name in generic.names:
            first, *others = (s[name] for s in generic.samples)
            apart = math.gcd(*(abs(n - first) for n in others)) or 1
            self.classes[name] = apart, first % apart

    def room(self, sizes):
        """name -> the step, for name -> size."""
        return {name: step_for(n, *self.classes[name]) for name, n in sizes.items()}


class Rung:
    """One step: a function in room, compiled when it is first called, and arrays that its arguments are put into."""

    def __init__(self, made, name, options):
        self.made, self.spare, self.calls, self.compiled_in = made, [], 0, None
        places = tuple(range(len(made.func.params)))
        self.run = program(lambda types: (made.func, places), name, **options)
        self.shapes = shapes_at(made.shapes, made.names)
        # of each argument: its type in room, where it needs any, else the class of a number, else nothing
        grows = lambda shape: any(not isinstance(d, int) for d in shape)
        self.plan = [
            (p.type if grows(shape) else None, None if shape else p.type.dtype.type)
            for p, shape in zip(made.func.params, made.params, strict=False)
        ]

    def prepare(self):
        """Compile it, for ndarrays."""
        ahead(self.run, [(p.type, None) for p in self.made.func.params], None, narrow(self.made.func))

    def operands(self, leaves, arrays):
        """The arguments in room, zeros in their tails."""
        given = list(leaves)
        for k, (type, number) in enumerate(self.plan):
            if type is not None:
                x = given[k]
                shape = x.shape
                array, before, part = arrays.get(k) or (zeros_aligned(type), shape, None)
                if shape != before and any(a > b for a, b in zip(before, shape, strict=True)):
                    array[...] = 0
                if shape != before or part is None:
                    arrays[k] = array, shape, part = array, shape, array[tuple(map(slice, shape))]
                part[...] = x
                given[k] = array
            elif number is not None:
                given[k] = number(given[k])
        return given

    def __call__(self, leaves, sizes):
        try:
            arrays = self.spare.pop()
        except IndexError:  # all are in use by other threads
            arrays = {}
        start = time.perf_counter() if not self.calls else None
        true = [sizes[n] for n in self.made.names]
        run = self.run.first if self.calls else self.run  # of the one signature
        with wide():
            out = run(*self.operands(leaves, arrays), *map(np.int64, true))
        pairs = zip(ndarrays(out, self.run), self.shapes(*true), strict=True)
        found = [np.array(x[tuple(map(slice, shape))] if shape else x) for x, shape in pairs]
        self.spare.append(arrays)  # nobody reads them any more
        self.calls += 1
        if start is not None:
            self.compiled_in = time.perf_counter() - start
        return found


class Ladder:
    """A program of symbolic sizes as the executables of its steps. Safe to call from several threads.

    rungs: step (a size for each name, sorted by names) -> Rung, or the Unroomy that says why there is none.
    """

    def __init__(self, generic: Generic, name="f", **options):
        """options: of `dispatch.program`."""
        self.generic, self.name, self.options = generic, name, options
        self.steps, self.rungs, self._making = Steps(generic), {}, threading.Lock()

    def rung(self, sizes):
        """The step for these sizes, made if it is not there. Raises Unroomy."""
        room = self.steps.room(sizes)
        key = tuple(room[n] for n in self.generic.names)
        found = self.rungs.get(key)
        if found is None:
            with self._making:
                found = self.rungs.get(key)
                if found is None:
                    found = self.rungs[key] = self._made(room)
        if isinstance(found, Unroomy):
            raise found
        return found

    def _made(self, room):
        try:
            return Rung(in_room(self.generic, room), f"{self.name}_{'_'.join(map(str, room.values()))}", self.options)
        except Unroomy as reason:
            return reason.with_traceback(None)

    def call(self, leaves, sizes):
        """The results at these sizes, ndarrays that own their memory. leaves: those of the program, ndarrays or what
        `numpy.asarray` takes. Raises Unroomy where there is no step for them."""
        return self.rung(sizes)(leaves, sizes)

    def told(self):
        """A line for each step: the sizes it has room for, its calls, what compiling it took, its masks."""
        lines = []
        for key, rung in sorted(self.rungs.items()):
            step = ", ".join(f"{n}<={k}" for n, k in zip(self.generic.names, key, strict=True))
            if isinstance(rung, Unroomy):
                lines.append(f"{step}: none, {rung}")
            else:
                took = "" if rung.compiled_in is None else f", compiled in {rung.compiled_in * 1e3:.0f} ms"
                lines.append(f"{step}: {rung.calls} calls{took}, {len(rung.made.masks)} masks")
        return lines


def shapes_at(shapes, names):
    """A function of sizes that gives what shapes of dimensions are there; their text is Python's."""
    texts = [f"({', '.join(map(str, shape))}{',' if shape else ''})" for shape in shapes]
    return eval(f"lambda {', '.join(names)}: ({', '.join(texts)},)")


def zeros_aligned(type):
    """An array of zeros that XLA takes as it lies."""
    size = type.size * type.dtype.itemsize
    memory = np.zeros(size + ALIGNED, np.uint8)
    start = -memory.ctypes.data % ALIGNED
    return memory[start : start + size].view(type.dtype).reshape(type.shape)
