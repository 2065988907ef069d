"""Straight lines of equations in stages: a nest of what machine code is to do, then the others that read its results.

Equations that only move elements belong to neither: nests contain them, and the others have them where they read them.
"""

import collections
import functools
import graphlib

from ...ir.core import Builder, Lit, Value
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, loop
from ...ir.ops.shape import concatenate, iota, reshape, slice_
from ...ir.passes import dce
from ...ir.sample import SAMPLE
from ...ir.types import Tensor
from ...ir.walk import operands_first
from .run import allowed, callable_nest

FREE = {op for op in OPS.values() if "moves" in op.traits and len(op.operands) == 1 and not op.variadic} | {iota}
FEW, ROW = 8, 128  # bound: numbers that a nest leaves in one array, at least and at most
LONGEST = 1024  # bound: equations of a nest; those of longer ones are taken by several


def in_stages(func, inside, pays, kept=None):
    """`func` with the equations `inside` in loops of one trip, which are nests; None where nothing is put together.

    pays: whether a nest of some equations does; kept: eqn -> the attributes with which one of the others is kept, None
    for its own.
    """
    bodies = {eqn.attrs["body"] for eqn in func.eqns if eqn.op is loop}
    plan, build = Partition(func, inside), Builder(func.name)
    writer = Writer(plan, {p: build.param(p.type, p.hint) for p in func.params}, pays)
    with build:
        for stage in range(plan.last + 1):
            for eqns in plan.inner[stage]:
                writer.nest(eqns)
            for eqn in plan.outer[stage]:
                writer.replay(eqn, attrs=kept(eqn) if kept else None)
        results = tuple([writer.value(r) for r in func.results])
    made = build.finish(results)
    return dce(made) if any(eqn.op is loop and eqn.attrs["body"] not in bodies for eqn in made.eqns) else None


class Partition:
    """When each equation runs: outer ones as soon as they can, inner ones as late as they may, so that little is kept
    for later stages."""

    def __init__(self, func, inside):
        self.func, self.stage = func, {}
        self._as_soon_as_possible(inside)
        self._as_late_as_possible(inside)
        rest = [eqn for eqn in func.eqns if not free(eqn)]
        parts = {(kind, k): [] for kind in (False, True) for k in range(self.last + 1)}
        for eqn in rest:
            parts[eqn in inside, self.stage[eqn]].append(eqn)
        self.outer = [parts[False, k] for k in range(self.last + 1)]
        self.inner = [in_pieces(parts[True, k]) for k in range(self.last + 1)]
        place = {eqn: (k, n) for k, nests in enumerate(self.inner) for n, eqns in enumerate(nests) for eqn in eqns}
        self.read = {x for r in func.results for x in sources(r)}  # by others than equations of the same nest
        makers = {r: place[eqn] for eqn in rest if eqn in inside for r in eqn.results}
        for eqn in rest:
            own = place.get(eqn)
            self.read.update(x for y in eqn.operands for x in sources(y) if makers.get(x, own) != own)

    def _as_soon_as_possible(self, inside):
        early, acted = {}, 0
        for eqn in self.func.eqns:
            stage = max((early.get(x, 0) for x in eqn.operands), default=0)
            if eqn.effect:  # what acts keeps its order
                stage = acted = max(stage, acted)
            self.stage[eqn] = stage
            early.update((r, stage + (not free(eqn) and eqn not in inside)) for r in eqn.results)
        self.last = max([*self.stage.values(), *(early.get(r, 0) for r in self.func.results)], default=0)

    def _as_late_as_possible(self, inside):
        late = dict.fromkeys(self.func.results, self.last)
        for eqn in reversed(self.func.eqns):
            if free(eqn) or eqn in inside:
                self.stage[eqn] = min((late[r] for r in eqn.results if r in late), default=self.last)
            for x in eqn.operands:
                late[x] = min(late.get(x, self.last), self.stage[eqn])

    def left(self, eqns):
        """What a nest of these leaves for others: its values that they read, if only through equations that are
        free."""
        return [r for eqn in eqns for r in eqn.results if r in self.read]


def in_pieces(eqns):
    """The equations of a stage by nests: each as soon as what it reads is there, so that little is left from one nest
    to the next."""
    if len(eqns) <= LONGEST:
        return [eqns] if eqns else []
    makers = {r: eqn for eqn in eqns for r in eqn.results}
    needed = {eqn: {makers[x] for y in eqn.operands for x in sources(y) if x in makers} for eqn in eqns}
    sorter, order = graphlib.TopologicalSorter(needed), []
    sorter.prepare()
    todo = [*sorter.get_ready()][::-1]
    while todo:
        order.append(todo.pop())
        sorter.done(order[-1])
        todo += sorter.get_ready()
    return [order[n : n + LONGEST] for n in range(0, len(order), LONGEST)]


def sources(x):
    """The values that a value is moved elements of."""
    found = operands_first(
        [x], lambda x: x.eqn.operands if isinstance(x, Value) and x.eqn is not None and free(x.eqn) else ()
    )
    return [y for y in found if not (isinstance(y, Value) and y.eqn is not None and free(y.eqn))]


class Writer:
    """The program being written."""

    def __init__(self, plan, env, pays):
        self.plan, self.env, self.pays = plan, env, pays
        self.rows = {}  # number -> the array in which a nest leaves it, and where

    def value(self, x, env=None):
        """A value of the program in the one being written, in a nest of it where `env` has that one's values."""
        env = self.env if env is None else env
        if x not in env and isinstance(x, Value):
            for y in x.eqn.operands:
                self.value(y, env)
            Builder.current().replay(x.eqn, env)
        return env.get(x, x)

    def replay(self, eqn, env=None, attrs=None):
        env = self.env if env is None else env
        for x in eqn.operands:
            self.value(x, env)
        Builder.current().replay(eqn, env, attrs=attrs)

    def nest(self, eqns):
        """Equations that belong together, as a loop; one by one where that does not pay."""
        left = self.plan.left(eqns) if self.pays(eqns) else ()
        made = self.one_trip_loop(eqns, left) if left else None
        if made is None:
            for eqn in eqns:
                self.replay(eqn)
            return
        rows, results = made
        for row, result in zip(rows, results, strict=True):
            if len(row) == 1:
                self.env[row[0]] = result
            else:
                self.rows.update((r, (result, k)) for k, r in enumerate(row))
                self.env.update((r, number_at(result, k)) for k, r in enumerate(row))

    def one_trip_loop(self, eqns, left):
        """(the values that it leaves by rows, its results: a row each), None where it is no nest."""
        own, rows = {r for eqn in eqns for r in eqn.results}, in_rows(left)
        read = dict.fromkeys(
            y for eqn in eqns for x in eqn.operands for y in sources(x) if isinstance(y, Value) and y not in own
        )
        found = {y: self.rows[y] if y in self.rows else (self.value(y), None) for y in read}
        build = Builder("together")
        with build:
            build.param(COUNTER)
            given = {x: build.param(x.type, x.hint) for x in dict.fromkeys(x for x, _ in found.values())}
            env = {y: given[x] if k is None else number_at(given[x], k) for y, (x, k) in found.items()}
            for row in rows:
                build.param(Tensor((len(row),), row[0].type.dtype) if len(row) > 1 else row[0].type)
            for eqn in eqns:
                self.replay(eqn, env)
            body = build.finish(tuple([row_of([env[r] for r in row]) for row in rows]))
        attrs = one_trip(body, len(rows))
        operands = [*given, *(Lit(0, r.type) for r in body.results)]
        return None if callable_nest([x.type for x in operands], attrs) is None else (rows, loop(*operands, **attrs))


def one_trip(body, carried):
    """The attributes of a loop of one trip."""
    return {"body": body, "carried": carried, "test": None, "trips": 1, "bound": None}


def in_rows(left):
    """The values that a nest leaves, numbers of one dtype together where they are many: each is memory of its own
    otherwise, of which LLVM asks whether it is that of another."""
    alike, rows = collections.defaultdict(list), []
    for r in left:
        alike[r if r.type.shape else r.type.dtype].append(r)
    for found in alike.values():
        width = ROW if len(found) >= FEW else 1
        rows += [found[n : n + width] for n in range(0, len(found), width)]
    return rows


def row_of(numbers):
    """Numbers as an array; one alone as it is."""
    return concatenate(*[reshape(x, shape=(1,)) for x in numbers], axis=0) if len(numbers) > 1 else numbers[0]


def number_at(row, k):
    return reshape(slice_(row, start=(k,), stop=(k + 1,), stride=(1,)), shape=())


def free(eqn):
    """Whether an equation only says where elements are."""
    return eqn.op in FREE


def stands_alone(eqn):
    """Whether an equation is a nest by itself."""
    operands = tuple([x if isinstance(x, Lit) else x.type for x in eqn.operands])
    return allowed() and one_nest(eqn.op, operands, tuple(eqn.attrs.items()), SAMPLE.get() is not None)


@functools.lru_cache(4096)
def one_nest(op, operands, attrs, sized):
    """sized: whether it is one of several samples, which is all that the answer hangs on beside these."""
    return callable_nest(*alone(op, operands, attrs)) is not None


@functools.lru_cache(256)
def alone(op, operands, attrs, first=0):
    """(types of what it takes, attributes) of a loop of one trip whose one equation is an op, which leaves its results
    from the first-th on. operands: types and Lits; attrs: items."""
    build = Builder(op.name)
    with build:
        build.param(COUNTER)
        given = [build.param(x) if not isinstance(x, Lit) else x for x in operands]
        out = op(*given, **dict(attrs))
        results = out[first:] if op.multiple else (out,)
        for r in results:
            build.param(r.type)
        body = build.finish(results)
    types = [*(x for x in operands if not isinstance(x, Lit)), *(r.type for r in results)]
    return types, one_trip(body, len(results))
