"""Nests of symbolic sizes, run in the generated NumPy of programs at many sizes, each access to memory looked at.

    python tests/helpers/sized_nests.py 0 200

Run as a script, it does so with random nests of loops (`random_nests.py`) of two sizes, and prints those that differ
from Python, that read or write outside of memory, and why others are not of symbolic sizes.
"""

import argparse
import collections
import copy
import ctypes
import functools
import math
import re
import warnings

import numpy as np
from compare import agree
from random_nests import NestProgram

from wengert import jit
from wengert.backends import native
from wengert.backends.native import build, direct
from wengert.backends.native.size_text import Computed
from wengert.backends.numpy import callable_of, fused
from wengert.backends.numpy.operand import NUMPY
from wengert.backends.numpy.quick import statements_of
from wengert.ir.sample import Decisions, Unalike, deciding, of_sample
from wengert.tracer.common.errors import WengertError

ACCESS = re.compile(r"  (%\S+) = getelementptr inbounds (\S+|\{[^}]*\}), ptr (\S+) ?, i64 (\S+)(.*)")
COUNT = """
@outside = internal global i64 0
define i64 @count() {
entry:
  %n = load i64, ptr @outside
  ret i64 %n
}
"""
BYTES = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8, "{ float, float }": 8, "{ double, double }": 16}
GUARD = 64  # bytes before and after an array


class SizedProgram:
    """The generated NumPy of functions at samples of the sizes, one a sample, with nests of symbolic sizes.

    program(*items): the function of the IR at sizes, given as (name, size) pairs. `nests`: the SizeFreeNests, in the order of the text.
    """

    def __init__(self, program, samples):
        self.program, self.largest = program, max(samples, key=lambda s: sum(s.values()))
        self.log = Decisions()
        self.written(self.largest, self.log)
        found = [self.sampled(s) for s in samples]
        if len({len(nests) for nests in found}) != 1:
            raise Unalike("one sample has more nests than another")
        self.nests = [native.SampledNest.unified(nests, samples) for nests in zip(*found, strict=True)]

    def written(self, sizes, log):
        """The function of statements at some sizes."""
        func = self.program(*sizes.items())
        with of_sample(sizes), deciding(log):
            return statements_of(fused(func) or func, lambda type: NUMPY)

    def sampled(self, sizes):
        call = self.written(sizes, Decisions(self.log.made))
        return [x for x in call.__globals__.values() if isinstance(x, native.SampledNest)]

    def at(self, sizes, functions):
        """The function at some sizes, its nests those of symbolic sizes, as `functions` make them."""
        call = self.written(sizes, Decisions(self.log.made))
        space, made = call.__globals__, iter(functions)
        for name, x in list(space.items()):
            if isinstance(x, native.SampledNest):
                space[name] = next(made)
            if isinstance(x, native.SampledAgain):
                space[name] = refuse
        return call


def refuse(*given):
    raise AssertionError(f"a nest does not run on {given}")


def looked_at(one):
    """(a nest of symbolic sizes of which each access to memory is looked at, how many were outside)"""
    text, names = one.text(forms=False), {name: f"%s{k}" for k, name in enumerate(one.names)}
    sizes, dims = {}, iter(one.numbers)
    for k, (t, array) in enumerate(one.nest.kinds()):
        sizes[f"%p{k}"] = math.prod([next(dims) for _ in t.shape]) if array else 1
    for name, _, size in (found for part in one.memory() for found in part):
        sizes[name] = size
    for k, constant in enumerate(one.nest.constants):
        sizes[f"@c{k}"] = int(re.search(r"\[(\d+) x", constant)[1])
    made = COUNT + re.sub(r"#0 \{\nentry:\n.*?\n\}", lambda found: checked_accesses(found[0], sizes, names), text, flags=re.DOTALL)
    code = build.machine_code(made)
    count = ctypes.CFUNCTYPE(ctypes.c_int64)(code.address("count"))
    return direct.builtin_function(code, direct.wanted_objects(one.known[: one.known.count], "looked at")), count


def checked_accesses(function, sizes, names):
    """The body of a function, the nest or a part that threads share, whose accesses count those beyond the memory."""
    computed, lines = Computed(names, "z"), []
    taken = dict(re.findall(r"  (%\S+) = call ptr @malloc ?\( ?i64 (\S+?) ?\)", function))
    frames = set(re.findall(r"  (%\S+) = alloca \[\d+ x i8\], align 16", function))
    for k, line in enumerate(function.split("\n")):
        lines.append(line)
        found = ACCESS.fullmatch(line)
        if found is None or found[3] in frames:
            assert found or "getelementptr inbounds" not in line, line
            continue
        _, kind, pointer, at, _ = found.groups()
        q = f"%check.{k}"
        if pointer in taken:
            lines.append(f"  {q}.at = mul i64 {at}, {BYTES[kind]}")
            at, size = f"{q}.at", taken[pointer]
        else:
            size = computed.whole(sizes[pointer])
        lines += [
            f"  {q} = icmp uge i64 {at}, {size}",
            f"  {q}.n = zext i1 {q} to i64",
            f"  {q}.o = atomicrmw add ptr @outside, i64 {q}.n monotonic",
        ]
    known = [k for k, line in enumerate(lines) if line == "entry:" or re.match(r"  %s\d+ = load", line)]
    first = known[-1] + 1
    return "\n".join([*lines[:first], *computed.lines, *lines[first:]])


def guarded(function):
    """`function` on arrays with bytes before and after them that must stay as they are."""

    def run(*given):
        arrays, placed = [], []
        for x in given:
            if isinstance(x, np.ndarray):
                memory = np.full(2 * GUARD + x.nbytes + (-x.nbytes) % 64, 0xA5, np.uint8)
                y = memory[GUARD : GUARD + x.nbytes].view(x.dtype).reshape(x.shape)
                y[...] = x
                arrays.append((x, y, memory))
                placed.append(y)
            else:
                placed.append(x)
        if function(*placed):
            return True
        for x, y, memory in arrays:
            assert (memory[:GUARD] == 0xA5).all() and (memory[GUARD + x.nbytes :] == 0xA5).all(), "out of an array"
            if x.flags.writeable:
                x[...] = y
        return False

    return run


def compiled_source(program):
    space = {"np": np}
    exec(program.text, space)
    return space["f"]


SAMPLES = [{"n": n, "m": m} for n, m in ((11, 17), (12, 23), (23, 14), (17, 12), (29, 31), (14, 29), (9, 8), (26, 25))]
OTHERS = [{"n": n, "m": m} for n, m in ((9, 31), (10, 10), (29, 8), (13, 8), (28, 30), (21, 9))]


def checked(seed):
    """What becomes of a random program of two sizes."""
    of = functools.cache(lambda n, m: NestProgram(seed, (n, m)))
    traced = lambda sizes: jit(compiled_source(of(sizes["n"], sizes["m"]))).ir(*of(sizes["n"], sizes["m"]).arguments(1))
    return checked_at(traced, SAMPLES, OTHERS, lambda sizes: of(sizes["n"], sizes["m"]).arguments(seed))


def checked_at(traced, samples, others, arguments):
    """Run a program at sizes with nests of symbolic sizes, and as it is; say whether it has any."""
    program = SizedProgram(functools.cache(lambda *items: traced(dict(items))), samples)
    if not program.nests:
        return "no nests"
    seen = [looked_at(one) for one in program.nests]
    ran = "ran"
    for sizes in (*samples, *others):
        if not all(one.covers(sizes) for one in program.nests):
            ran = "ran, but not at all sizes"
            continue
        given, func = [np.asarray(x) for x in arguments(sizes)], traced(sizes)
        with np.errstate(all="ignore"):
            want = callable_of(func)(*copy.deepcopy(given))
            for functions in ([f for f, _ in seen], [guarded(one.function) for one in program.nests]):
                got = program.at(sizes, functions)(*numbers(copy.deepcopy(given)))
                for g, w in zip(got, want, strict=True):
                    agree(np.asarray(g), np.asarray(w), 1e-9)
        for _, outside in seen:
            assert outside() == 0, f"outside of memory at {sizes}"
    return ran


def numbers(given):
    return [x if x.ndim else x[()] for x in given]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("first", type=int)
    parser.add_argument("last", type=int)
    options = parser.parse_args()
    counts = collections.Counter()
    for seed in range(options.first, options.last):
        try:
            counts[checked(seed)] += 1
        except (Unalike, WengertError) as why:
            counts[str(why)[:160]] += 1
        except AssertionError as why:
            counts["DIFFERS"] += 1
            print(seed, str(why)[:300], NestProgram(seed, (5, 7)).text, sep="\n")
    for reason, n in counts.most_common():
        print(f"{n:6} {reason}")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
