"""The programs of symbolic sizes of random programs, at each size they serve: a trace made there must be what they say, and results plain Python's.

The draws are those of random_lengths.py; `Checked(seed)` finds a family of programs for each dtype that the calls of a program have, without running
the call path that chooses among them.
"""

import copy

import jax
import numpy as np
from draws import apart, attempt, function, shaky
from random_lengths import Program

from wengert import jit
from wengert.ir.types import Tensor
from wengert.tracer.call.family import NoFamily, family
from wengert.tracer.call.sampling import Unsampled
from wengert.tracer.call.size_facts import difference
from wengert.tracer.program.numpy_function import MISS
from wengert.tracer.program.size_free import SizeFree, Unalike

MOST = 40  # sizes, or combinations of them, that are tried of one family


class Checked:
    """What came of one seed. counts: "family", "sizes" at which a trace was made, "calls" of the function for all sizes; reasons: why there was no
    family or no such function; wrong: how the first that differs does, None where none does."""

    def __init__(self, seed):
        self.program, self.counts, self.reasons, self.wrong = Program(seed), {"family": 0, "sizes": 0, "calls": 0}, [], None
        self.plain = function(self.program.text, f"every size {seed}")
        self.mine = jit(function(self.program.text, f"every size {seed} compiled"), engine="numpy", dynamic=False, cache=False, whole=False)
        self.rng = np.random.default_rng(seed)
        for dtype in dict.fromkeys(dtype for _, _, dtype, _ in self.program.calls):
            self.check(seed, dtype)

    def check(self, seed, dtype):
        """The family of the calls of one dtype."""
        calls = [self.program.arguments(seed, k) for k, (n, m, d, jaxs) in enumerate(self.program.calls) if d == dtype and not jaxs and min(n, m) > 1]
        calls = [given for given in calls if attempt(self.plain, copy.deepcopy(given)).error is None]
        observed = without_ones([types_of(given) for given in calls])
        if len(observed) < 2 or attempt(self.mine, copy.deepcopy(calls[0])).error is not None:
            return
        entry = [*self.mine.compiled.entries.values()][-1]
        if not entry.worlds:
            return
        try:
            self.check_family(self.mine.callee(family, entry, observed), entry, calls[0])
        except NoFamily as error:
            self.reasons.append(str(error))

    def check_family(self, found, entry, given):
        self.counts["family"] += 1
        call = self.function_for_all(found, entry)
        for sizes in self.served(found):
            self.counts["sizes"] += 1
            self.wrong = self.wrong or self.mine.callee(traced_otherwise, found, sizes)
            if call is not None:
                self.wrong = self.wrong or self.called_otherwise(call, found.names.shapes(sizes), given)
            if self.wrong is not None:
                self.wrong = f"at {sizes}: {self.wrong}\n{found.texts()}"
                return

    def function_for_all(self, found, entry):
        """The function for all sizes, None where there is none."""
        types = [entry.types[i] for i in entry.dynamic]
        try:
            made = SizeFree(found.specialisations, types, [s.sizes for s in found.samples], found.names.names)
            call = made.call()
        except Unalike as error:
            self.reasons.append(str(error))
            return None
        inputs = [x.get() if hasattr(x, "get") else x.value for x in made.inputs]
        return lambda *given: call(*given, *inputs)

    def served(self, found):
        """Sizes that the family says it serves."""
        least, largest = found.ranges.least, found.ranges.largest
        if len(least) == 1:
            ((name, first),) = least.items()
            drawn = [{name: n} for n in range(first, largest[name] + 1)]
        else:
            drawn = [{name: int(self.rng.integers(least[name], largest[name] + 1)) for name in least} for _ in range(10 * MOST)]
        drawn = [sizes for sizes in drawn if found.ranges.has(sizes) and found.holds(sizes)]
        some = range(len(drawn)) if len(drawn) <= MOST else sorted(self.rng.choice(len(drawn), MOST, replace=False))
        return [drawn[k] for k in some]

    def called_otherwise(self, call, shapes, like):
        """How a call of the function for all sizes differs from plain Python's; None where it does not, or says that it is no call of its."""
        drawn = [(self.rng.normal(size=shape) * 3, x) for shape, x in zip(shapes, like)]
        given = tuple(numbers.astype(x.dtype) if hasattr(x, "dtype") else float(numbers) for numbers, x in drawn)
        want, got = attempt(self.plain, copy.deepcopy(given)), attempt(call, copy.deepcopy(given))
        if got.error is None and got.result is MISS:
            return None
        self.counts["calls"] += 1
        rtol = 2e-4 if "f4" in self.program.dtypes else 1e-9
        found = apart(got, want, given, rtol)
        plainly = lambda arguments: attempt(self.plain, arguments)
        differs = found and not found.startswith(("refused", "explained")) and not shaky(plainly, given, found, got, rtol)
        return found if differs else None


def traced_otherwise(found, sizes):
    """How a trace at these sizes differs from what the family says they are; None where it does not."""
    try:
        sample = found.finder.sample(sizes)
    except Unsampled as error:
        return f"there is no trace: {error}"
    if (differ := difference(found.samples[0], sample)) is not None:
        return f"other facts: {differ}"
    if not found.generic.agrees(sample.version.func, sizes):
        return f"another program:\n{sample.version.func}\nand not\n{found.generic.at(sizes)}"
    return found.captured.agrees(sample.version.captured, sizes) or None


def types_of(given):
    return tuple(Tensor(np.shape(x), np.asarray(x).dtype) for x in jax.tree_util.tree_leaves(given))


def without_ones(observed):
    """The types without those that have a size of 0 or 1 where it changes."""
    columns = [*zip(*[[n for t in types for n in t.shape] for types in observed])]
    moving = [k for k, column in enumerate(columns) if len(set(column)) > 1]
    kept = [types for types in observed if all([n for t in types for n in t.shape][k] > 1 for k in moving)]
    return [*dict.fromkeys(kept)]
