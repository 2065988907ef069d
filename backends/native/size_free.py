"""Nests of symbolic sizes: one machine code for all sizes, found by comparing what is emitted at several.

How generated NumPy comes by one. Within `ir.sample.of_sample({"n": 37})`

- `builtin(nest)` and `again(nest)` give a `SampledNest` and a `SampledAgain`, of which nothing is compiled;
- generated text calls them with the sizes first, by their names in order, as plain ints: `if nest(37, x, y): again(37,
  x, y)`. Comparing the texts of several samples makes `nest(n, x, y)` of that, as of all other numbers.

`one = SampledNest.unified(nests, samples)` takes the objects that stand at the same place in the texts of several
samples (the same samples in the same order for all nests of a program) and gives a `SizeFreeNest`, or raises
`ir.sample.Unalike`; `one.again` is what stands where samples have a `SampledAgain`: it runs on copies of the objects
that are as machine code wants them. Then

- `one.function`, compiled when it is asked for first, is the builtin function that generated text is to call:
  `one.function(n, x, y)` runs and gives False, or gives True where it has done nothing, since an object is not what it
  should be, or the sizes are not covered;
- `one.covers({"n": 41})`: whether it may be called with such sizes, which a guard asks once for a new size, before any
  of the program runs. They lie between the least and the largest that were compared (each name by itself), have the
  remainder that all those have, and fulfil `one.conditions`, each a Dim that must be no less than 0;
- `one.extended(nest, sizes)`: whether the nest of another sample is the one that this one says; if so, those sizes and
  all between are covered from then on.

Why memory is safe. An array's shape is compared with its sizes, as expressions, at each call. What the code takes for
granted of sizes (an index that needs no check, the place of a part) is a number at each sample, and no less than 0
there; it is an expression of the sizes too, and tested at each call. That the code is what would be emitted at a size
in between is concluded from its being so at both ends: what a compiler decides by sizes are thresholds.
"""

import functools
import math

from ...ir.dims import Dim
from ...ir.sample import Unalike
from .build import LOCK, has_symbol, machine_code
from .debug_lines import asked_for, nest_name
from .direct import UNLOCKED, accepted, builtin_function, in_order, wanted_objects
from .interrupts import ROW
from .legal import emitted
from .nest import ON_STACK
from .size_entry import SYMBOLS, sized_entry
from .size_module import module_text
from .size_text import LARGEST, Computed, agrees, fitted_to, greatest_met, unified_lines


class SampledNest:
    """A nest as one of several that are compared."""

    def __init__(self, nest):
        self.nest = nest

    @staticmethod
    def unified(nests, samples):
        """The nest of symbolic sizes that these are, each a SampledNest; Unalike if they are not one."""
        largest = max(range(len(samples)), key=lambda k: sum(samples[k].values()))
        decisions = nests[largest].nest.decisions
        return SizeFreeNest([followed(n.nest, decisions) for n in nests], samples)


class SampledAgain:
    """What is called where such a nest cannot run on the objects as they lie."""

    def __init__(self, nest):
        self.nest = nest


def sampled(nest):
    """What generated text of one sample calls in the place of `builtin(nest)` and `again(nest)`."""
    return SampledNest(nest), SampledAgain(nest)


def followed(nest, decisions):
    """A nest emitted with the decisions of another sample."""
    if nest.decisions == decisions:
        return nest
    made = emitted(*nest.made_from, True, tuple(decisions))
    if isinstance(made, str):
        raise Unalike(made)
    return made


def fixed_parts(nest):
    """What two nests that are one have in common."""
    kinds = [(t.dtype, t.ndim, array) for t, array in nest.kinds()]
    scratched = [(name, dtype) for name, dtype, _ in nest.scratched]
    code = nest.code
    parts = [(p.name, p.captured, p.number) for p in nest.parts]
    return nest.buffers, kinds, scratched, nest.long, nest.constants, code.declared, code.defined, parts


def segments(nest):
    """The lines of a nest: what stands at its beginning, the others, and both of each part that threads share."""
    return [nest.code.head, nest.code.spelled(), *(lines for p in nest.parts for lines in (p.head, p.spelled()))]


def loop_total(found, fitted):
    """The work of a loop, from its trips and its work at each sample: where it is no expression of the sizes, as many
    times its trips as it is of each, or the most of it."""
    counts, totals = map(tuple, zip(*found, strict=True))
    total = fitted(totals)
    if total is not None:
        return total
    count, each = fitted(counts), fitted(tuple(-(-t // n) for n, t in found))
    return max(totals) if count is None or each is None else each * count


def size_numbers(nest):
    """What hangs on the sizes beside the lines, in one order: shapes, scratch memory, what is taken for granted."""
    shapes = [n for t, array in nest.kinds() if array for n in t.shape]
    return [*shapes, *(size for _, _, size in nest.scratched), *nest.proofs]


class SizeFreeNest:
    """See the module."""

    def __init__(self, nests, samples):
        self.nest, self.names = nests[0], sorted(samples[0])
        self.decisions, fitted = self.nest.decisions, fitted_to(samples)
        if any(fixed_parts(n) != fixed_parts(self.nest) for n in nests):
            raise Unalike("a loop takes other memory at one size than at another")
        texts = zip(*map(segments, nests), strict=True)
        self.head, self.lines, *parts = [unified_lines(lines, fitted) for lines in texts]
        self.parts = list(zip(self.nest.parts, parts[::2], parts[1::2], strict=True))
        rows = [size_numbers(n) for n in nests]
        if len({len(row) for row in rows}) != 1:
            raise Unalike("at one size more is taken for granted than at another")
        self.numbers = [fitted(found) for found in zip(*rows, strict=True)]
        if None in self.numbers:
            raise Unalike("a number in the machine code of a loop hangs on the sizes in no way that is known")
        # threads are a matter of speed: where work is no expression of the sizes, most of it decides
        work = [n.work - UNLOCKED * ROW for n in nests]
        self.much = fitted(tuple(work)) or max(work)
        self.work = [loop_total(found, fitted) for found in zip(*(n.numbers.estimates for n in nests), strict=True)]
        self.known = self.ranges(samples)
        self.conditions = self.all_conditions()
        largest = {name: self.range_of(name)[1] for name in self.names}
        if not all(map(self.covers, samples)) or not self.whole(largest):
            raise Unalike("what is taken for granted does not hold at the samples")

    def all_lines(self):
        """Those of parts too, in the order of `segments`."""
        return [*self.head, *self.lines, *(line for _, *both in self.parts for lines in both for line in lines)]

    def ranges(self, samples):
        """The array that the function is given: type, least and largest of each size, then the types of objects."""
        self.residues, known = [], []
        for name in self.names:
            values = [s[name] for s in samples]
            step = math.gcd(*(v - values[0] for v in values)) or 1
            self.residues.append((values[0] % step, step))
            known += [id(int), min(values), max(values)]
        known += [id(x) for t, array in self.nest.kinds() for x in accepted(t, array)]
        return wanted_objects(known, nest_name(self.nest.place))

    def all_conditions(self):
        """The Dims that are to be no less than 0."""
        kinds = self.nest.kinds()
        axes = sum(t.ndim for t, array in kinds if array)
        proofs = len(self.nest.proofs)
        sizes = [d - 1 for d in self.numbers[: axes + len(self.nest.scratched)] if isinstance(d, Dim)]
        whole = [d for d in self.numbers[len(self.numbers) - proofs :] if isinstance(d, Dim)]
        narrow = []
        for line in self.all_lines():
            for slot in () if isinstance(line, str) else line[1].values():
                if slot.form is None and slot.type != "i64":
                    most = (1 << (int(slot.type[1:]) - 1)) - 1
                    narrow += [most - slot.dim, slot.dim + (most + 1)]
                elif slot.form is not None:
                    narrow.append(slot.dim - 1)
        made = {str(d): d for d in (Dim.of(d).simplified() for d in (*sizes, *whole, *narrow))}
        return [d for d in made.values() if isinstance(d, Dim)]

    # -- what it may be called with ----------------------------------------------------------------
    def range_of(self, name):
        """(least, largest) size of a name that is covered."""
        k = 3 * self.names.index(name)
        return int(self.known[k + 1]), int(self.known[k + 2])

    def covers(self, sizes):
        for name, (rest, step) in zip(self.names, self.residues, strict=True):
            low, high = self.range_of(name)
            if not low <= sizes[name] <= high or sizes[name] % step != rest:
                return False
        return self.holds(sizes)

    def holds(self, sizes):
        """Whether all that is taken for granted does."""
        try:
            return all(c.at(sizes) >= 0 for c in self.conditions)
        except ArithmeticError:
            return False

    def whole(self, largest):
        """Whether no number leaves the integers while it is computed, of sizes up to these."""
        lines = [line for line in self.all_lines() if not isinstance(line, str)]
        slots = [slot.dim for line in lines for slot in line[1].values()]
        dims = {str(d): d for d in (*self.numbers, *self.conditions, *self.work, *slots) if isinstance(d, Dim)}
        return all(greatest_met(d, largest) < LARGEST for d in dims.values())

    def extended(self, nest, sizes):
        """Whether a SampledNest of these sizes is this one at them, which are then covered, and all between."""
        try:
            nest = followed(nest.nest, self.decisions)
        except Unalike:
            return False
        if fixed_parts(nest) != fixed_parts(self.nest) or not self.is_at(nest, sizes):
            return False
        if any(sizes[name] % step != rest for name, (rest, step) in zip(self.names, self.residues, strict=True)):
            return False
        if not self.whole({name: max(sizes[name], self.range_of(name)[1]) for name in self.names}):
            return False
        for k, name in enumerate(self.names):
            low, high = self.range_of(name)
            self.known[3 * k + 1 : 3 * k + 3] = min(low, sizes[name]), max(high, sizes[name])
        return True

    def is_at(self, nest, sizes):
        """Whether the text and the numbers of a nest are those of this one at some sizes."""
        lines, others = self.all_lines(), [line for lines in segments(nest) for line in lines]
        found = size_numbers(nest)
        try:
            return (
                len(lines) == len(others)
                and len(found) == len(self.numbers)
                and all(Dim.of(d).at(sizes) == n for d, n in zip(self.numbers, found, strict=True))
                and all(agrees(line, other, sizes) for line, other in zip(lines, others, strict=True))
                and self.holds(sizes)
            )
        except ArithmeticError:
            return False

    # -- machine code ------------------------------------------------------------------------------
    def text(self, lines=None, forms=True):
        """The module, as `Nest.text`. forms: whether there is one for short rows where that pays."""
        return module_text(self, asked_for() if lines is None else lines, forms)

    def memory(self):
        """Scratch memory as (pointer, dtype, elements): what is on the stack of @nest, and what is given to it."""
        first, near, far, room = len(self.numbers) - len(self.nest.proofs), [], [], ON_STACK
        sizes = self.numbers[first - len(self.nest.scratched) : first]
        for (name, dtype, _), size in zip(self.nest.scratched, sizes, strict=True):
            if isinstance(size, Dim) or size * dtype.itemsize > room:
                far.append((name, dtype, size))
            else:
                near.append((name, dtype, size))
                room -= size * dtype.itemsize
        return near, far

    def entry(self, far):
        """Text of the function that Python calls."""
        dims, shapes = iter(self.numbers), []
        for t, array in self.nest.kinds():
            shapes.append(tuple(next(dims) for _ in t.shape) if array else None)
        computed = Computed({name: f"%s{k}" for k, name in enumerate(self.names)}, "e")
        scratch = [size * dtype.itemsize for _, dtype, size in far]
        found = self.residues, shapes, self.conditions, scratch
        return sized_entry(self.names, *found, computed, self.much, self.nest.long)

    @functools.cached_property
    def function(self):
        """The builtin function; compiled when it is asked for first."""
        missing = [name for name in SYMBOLS if not has_symbol(name)]
        if missing:
            raise Unalike(f"this Python shows no {missing[0]}")
        with LOCK:
            return builtin_function(machine_code(self.text()), self.known)

    def __call__(self, *objects):
        return self.function(*objects)

    @property
    def again(self):
        """`call(*sizes, *objects)` for objects on which the function cannot run: on copies that are as it wants
        them."""
        count, kinds = len(self.names), self.nest.kinds()

        def run(*given):
            sizes, objects = given[:count], given[count:]
            ready = [in_order(x, t) if array else t.dtype.type(x) for x, (t, array) in zip(objects, kinds, strict=True)]
            if self.function(*sizes, *ready):
                raise SystemError("a native loop was given other arguments or sizes than it was made for")
            for (kind, _), x, y in zip(self.nest.buffers, objects, ready, strict=True):
                if kind == "result" and x is not y:
                    x[...] = y

        return run
