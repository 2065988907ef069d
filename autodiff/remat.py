"""Straight-line programs whose way back keeps no more than a budget: stretches of them run again.

Where all that the way back reads is more than the budget, the equations are cut into stretches, and of some stretches
only what enters them is kept; backwards, each of those runs once more just before its adjoint. Cuts are where little is
alive, and those stretches run again that cost the least arithmetic for each byte they would have kept.

Source: T. Chen, B. Xu, C. Zhang & C. Guestrin, Training deep nets with sublinear memory cost (2016).
"""

import bisect
import itertools
import math

from ..ir.core import Builder, Value
from ..ir.ops import OPS
from ..ir.ops.control import call, loop
from ..ir.ops.linalg import dot_general
from ..ir.ops.signal import conv_general
from . import checkpoints
from .custom import AGAIN
from .split import Split, weight
from .vjp import pullback

FINEST = 64  # at most about so many stretches
FACTORS = {OPS[name] for name in "triangular_solve solve cholesky lu qr eigh eigvalsh eig eigvals svd".split()}


class Stretch:
    """Equations `start` to `stop` of a function: the bytes that they keep, the values that enter, their arithmetic."""

    def __init__(self, program, start, stop):
        self.start, self.stop = start, stop
        eqns = program.func.eqns[start:stop]
        made = {r for e in eqns for r in e.results}
        self.reads = list(dict.fromkeys(x for e in eqns for x in e.operands if isinstance(x, Value) and x not in made))
        self.keeps = sum(program.keeps[start:stop])
        self.work = sum(map(work, eqns))
        # never runs again: that saves nothing, or does something twice
        self.fixed = not self.keeps or any(e.effect for e in eqns)


class RematProgram:
    """A function to be differentiated, and for each of its equations the bytes that it would keep."""

    def __init__(self, func, wrt, results):
        self.func, marks = func, []
        build = Builder(func.name)
        with build:
            params = [build.param(p.type) for p in func.params]
            seeds = {i: build.param(func.results[i].type) for i in results}
            values, slopes = pullback(build, func, params, wrt, seeds, marks)
        half = Split(build.finish((*values, *slopes)), len(params), len(values), params, free=True)
        place = {r: k for k, e in enumerate(half.func.eqns) for r in e.results}
        self.keeps = [0] * len(func.eqns)
        for x in half.saved:
            _, k = marks[bisect.bisect_right(marks, place[x], key=lambda mark: mark[0])]
            self.keeps[k] += weight(x)
        self.total = sum(self.keeps)
        self.alive = self._alive()

    def _alive(self):
        """Bytes made before each equation and read from it on."""
        last = {x: k for k, e in enumerate(self.func.eqns) for x in e.operands if isinstance(x, Value)}
        change = [0] * (len(self.func.eqns) + 1)
        for k, eqn in enumerate(self.func.eqns):
            for r in eqn.results:
                if r in last:
                    change[k + 1] += weight(r)
                    change[last[r] + 1] -= weight(r)
        return list(itertools.accumulate(change))

    def stretches(self, size):
        """The equations cut into stretches that keep about `size` bytes each; what has an effect stands alone."""
        found, start, kept, best = [], 0, 0, None
        eqns = self.func.eqns
        for k, eqn in enumerate(eqns):
            if eqn.effect:
                found += [(start, k)] * (k > start) + [(k, k + 1)]
                start, kept, best = k + 1, 0, None
                continue
            if k > start and kept >= size / 2 and (best is None or self.alive[k] <= self.alive[best]):
                best = k
            kept += self.keeps[k]
            if kept > size and best is not None:
                found.append((start, best))
                start, kept, best = best, sum(self.keeps[best : k + 1]), None
        found += [(start, len(eqns))] * (len(eqns) > start)
        return [Stretch(self, *ends) for ends in found]

    def peak(self, stretches, again):
        """Bytes kept at most where the stretches `again` run again: on the way back what later ones kept is gone."""
        enters, kept, most = set(self.func.params), 0, 0
        for s in stretches:
            if s in again:
                kept += sum(weight(x) for x in s.reads if x not in enters)
                enters.update(s.reads)
                most = max(most, kept + s.keeps)
            else:
                kept += s.keeps
        return max(most, kept)

    def chosen(self, stretches, room):
        """(bytes kept at most, arithmetic done again, the stretches to run again): the cheapest for each byte first,
        until there is room."""
        again, size = set(), self.total
        for s in sorted((s for s in stretches if not s.fixed), key=lambda s: s.work / s.keeps):
            if size <= room:
                break
            again.add(s)
            size = self.peak(stretches, again)
        for s in sorted(again, key=lambda s: s.start, reverse=True):
            if self.peak(stretches, again - {s}) <= max(room, size):
                again.remove(s)
        return self.peak(stretches, again), sum(s.work for s in again), again


def within_budget(func, wrt, results, what=None):
    """`func`, to be differentiated by its parameters `wrt`, with stretches as calls that keep only their operands, if
    the budget asks for it.

    results: those that will have cotangents; what: what `explain` calls the function.
    """
    room = checkpoints.LIMIT.get()
    if room is None or not func.eqns:
        return func
    with checkpoints.unlimited():
        program = RematProgram(func, wrt, results)
    say = lambda text: checkpoints.note(f"the way back through {what or func.name} {text}")
    if program.total <= room:
        say(f"keeps {checkpoints.size_text(program.total)} in all")
        return func
    least = max(program.total / FINEST, min(filter(None, program.keeps)))
    sizes = [program.total / 2**n for n in range(1, 1 + max(1, math.ceil(math.log2(program.total / least))))]
    plans = [(program.chosen(stretches, room), stretches) for stretches in map(program.stretches, sizes)]
    (size, _, again), stretches = min(plans, key=lambda plan: (max(plan[0][0], room), plan[0][1]))
    if not again or size >= program.total:
        say(f"keeps {checkpoints.size_text(program.total)} in all: no part of it that may run again would keep less")
        return func
    over = "" if size <= room else ", the least that was found"
    say(
        f"runs {len(again)} of {len(stretches)} stretches of it once more, and takes {checkpoints.size_text(size)} in "
        f"all{over}"
    )
    return outlined(func, again)


def outlined(func, stretches):
    """`func` with these stretches as calls that keep nothing but their operands."""
    starts = {s.start: s for s in stretches}
    last = {x: k for k, e in enumerate(func.eqns) for x in e.operands if isinstance(x, Value)}
    last |= {r: len(func.eqns) for r in func.results if isinstance(r, Value)}
    build, k = Builder(func.name), 0
    with build:
        env = {p: build.param(p.type, p.hint) for p in func.params}
        while k < len(func.eqns):
            if k in starts:
                s = starts[k]
                leave = [r for e in func.eqns[k : s.stop] for r in e.results if last.get(r, -1) >= s.stop]
                build.source = func.eqns[k].source
                out = call(
                    *(env[x] for x in s.reads),
                    body=stretch_function(func, s, leave),
                    name=func.name,
                    inline=True,
                    rule=AGAIN,
                )
                build.source = None
                env |= zip(leave, out, strict=True)
                k = s.stop
            else:
                build.replay(func.eqns[k], env)
                k += 1
    return build.finish(tuple(env.get(r, r) for r in func.results))


def stretch_function(func, stretch, leave):
    """A stretch as a function from what enters it to what leaves it."""
    build = Builder(func.name)
    with build:
        env = {x: build.param(x.type, x.hint) for x in stretch.reads}
        for eqn in func.eqns[stretch.start : stretch.stop]:
            build.replay(eqn, env)
    return build.finish(tuple(env[r] for r in leave))


def work(eqn):
    """About how many operations an equation takes."""
    if eqn.op is loop:
        trips = eqn.attrs["trips"] or eqn.attrs["bound"] or 100
        return trips * sum(map(work, eqn.attrs["body"].eqns))
    if eqn.regions():
        return sum(work(e) for f in eqn.regions() for e in f.eqns)
    shapes = [x.type.shape for x in (*eqn.operands, *eqn.results)]
    size = sum(map(math.prod, shapes))
    if eqn.op is dot_general:
        return size + 2 * math.prod(shapes[-1]) * math.prod(shapes[0][k] for k in eqn.attrs["contract"][0])
    if eqn.op is conv_general:  # each output feature reads what the kernel has of it
        return size + 2 * math.prod(shapes[2]) * math.prod(shapes[1]) // max(
            shapes[1][eqn.attrs["dimension_numbers"][1][0]], 1
        )
    return size * max(shapes[0][-1:], default=1) if eqn.op in FACTORS else size
