"""Straight lines as nests: what NumPy computes call by call, an array each, becomes a few functions of machine code.

Equations are told apart into those that machine code does well, which are put together, and those that are left to
NumPy: products, sorting, rows of calls of the C library, of which NumPy has vectors. A stage is one nest and then what
NumPy does with its results. Equations that only move elements belong to neither: nests contain them, and NumPy has them
where it reads them.
"""

import functools

from ...ir.core import Builder, Lit, Value, map_regions
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER, loop
from ...ir.ops.linalg import dot_general
from ...ir.ops.shape import iota
from ...ir.passes import dce
from ...ir.walk import operands_first
from .. import native
from .looped import FUSED, looped
from .nests import nest_of
from .pretty import product_call
from .trips import by_python

FREE = {op for op in OPS.values() if "moves" in op.traits and len(op.operands) == 1 and not op.variadic} | {iota}
LEAST = 2  # NumPy calls that a nest has to stand for; measured by benchmarks/tune.py
NUMBER = 0.1  # what an equation on numbers is of such a call; measured by benchmarks/tune.py
# multiplications from which a product that NumPy has a call for is better done by it; measured by benchmarks/tune.py
PRODUCT = 1 << 11


def fused(func):
    """`func` with its straight lines in loops of one trip each, which are nests; None where nothing is put together."""
    func = expanded(func)
    bodies = {eqn.attrs["body"] for eqn in func.eqns if eqn.op is loop}
    if not any(inner(eqn) or by_python(eqn) for eqn in func.eqns):
        return None
    plan, build = Partition(func), Builder(func.name)
    writer = Writer(plan, build, {p: build.param(p.type, p.hint) for p in func.params})
    with build:
        for stage in range(plan.last + 1):
            writer.nest(stage)
            for eqn in plan.outer[stage]:
                writer.replay(eqn, attrs=map_regions(eqn.attrs, trips_fused) if by_python(eqn) else None)
        results = tuple([writer.value(r) for r in func.results])
    made = build.finish(results)
    return dce(made) if any(eqn.op is loop and eqn.attrs["body"] not in bodies for eqn in made.eqns) else None


def expanded(func):
    """Ops that NumPy has only a spelling with loops for, written with those."""
    while any(eqn.op in FUSED and looped(eqn) is not None for eqn in func.eqns):
        build = Builder(func.name)
        env = {p: build.param(p.type, p.hint) for p in func.params}
        for eqn in func.eqns:
            known = looped(eqn) if eqn.op in FUSED else None
            if known is None:
                build.replay(eqn, env)
            else:
                env.update(zip(eqn.results, build.inline(known, [env.get(x, x) for x in eqn.operands]), strict=True))
        func = build.finish(tuple(env.get(r, r) for r in func.results))
    return func


def trips_fused(body):
    """The body of a loop of Python's, its straight lines put together."""
    return fused(body) or body


class Partition:
    """When each equation runs: outer ones as soon as they can, inner ones as late as they may, so that little is kept
    for later stages."""

    def __init__(self, func):
        self.func, self.stage = func, {}
        inside = {eqn for eqn in func.eqns if inner(eqn)}
        self._as_soon_as_possible(inside)
        self._as_late_as_possible(inside)
        rest = [eqn for eqn in func.eqns if not free(eqn)]
        parts = {(kind, k): [] for kind in (False, True) for k in range(self.last + 1)}
        for eqn in rest:
            parts[eqn in inside, self.stage[eqn]].append(eqn)
        self.outer, self.inner = ([parts[kind, k] for k in range(self.last + 1)] for kind in (False, True))
        self.read = {x for r in func.results for x in sources(r)}  # by others than equations of the same nest
        makers = {r: self.stage[eqn] for eqn in rest if eqn in inside for r in eqn.results}
        for eqn in rest:
            own = self.stage[eqn] if eqn in inside else None
            self.read.update(x for y in eqn.operands for x in sources(y) if makers.get(x, own) != own)

    def _as_soon_as_possible(self, inside):
        early = {}
        for eqn in self.func.eqns:
            stage = self.stage[eqn] = max((early.get(x, 0) for x in eqn.operands), default=0)
            early.update((r, stage + (not free(eqn) and eqn not in inside)) for r in eqn.results)
        self.last = max([*self.stage.values(), *(early.get(r, 0) for r in self.func.results)], default=0)

    def _as_late_as_possible(self, inside):
        late = dict.fromkeys(self.func.results, self.last)
        for eqn in reversed(self.func.eqns):
            if free(eqn) or eqn in inside:
                self.stage[eqn] = min((late[r] for r in eqn.results if r in late), default=self.last)
            for x in eqn.operands:
                late[x] = min(late.get(x, self.last), self.stage[eqn])

    def left(self, stage):
        """What the nest of a stage leaves for others: its values that they read, if only through equations that are
        free."""
        return [r for eqn in self.inner[stage] for r in eqn.results if r in self.read]


def sources(x):
    """The values that a value is moved elements of."""
    found = operands_first(
        [x], lambda x: x.eqn.operands if isinstance(x, Value) and x.eqn is not None and free(x.eqn) else ()
    )
    return [y for y in found if not (isinstance(y, Value) and y.eqn is not None and free(y.eqn))]


class Writer:
    """The program being written."""

    def __init__(self, plan, build, env):
        self.plan, self.build, self.env = plan, build, env

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

    def nest(self, stage):
        """The equations of a stage that belong together, as a loop; one by one where that does not pay."""
        eqns = self.plan.inner[stage]
        left = self.plan.left(stage) if sum(map(weight, eqns)) >= LEAST else ()
        made = one_trip_loop(eqns, left, self) if left else None
        if made is None:
            for eqn in eqns:
                self.replay(eqn)
            return
        given, attrs = made
        operands = [*(self.value(x) for x in given), *(Lit(0, r.type) for r in left)]
        if native.callable_nest([x.type for x in operands], attrs) is None:
            for eqn in eqns:
                self.replay(eqn)
            return
        self.env.update(zip(left, loop(*operands, **attrs), strict=True))


def one_trip_loop(eqns, left, writer):
    """(what is read, the attributes of a loop of one trip that computes `left`)"""
    own = {r for eqn in eqns for r in eqn.results}
    given = dict.fromkeys(
        y for eqn in eqns for x in eqn.operands for y in sources(x) if isinstance(y, Value) and y not in own
    )
    build = Builder("together")
    with build:
        build.param(COUNTER)
        env = {x: build.param(x.type, x.hint) for x in given}
        for r in left:
            build.param(r.type)
        for eqn in eqns:
            writer.replay(eqn, env)
        body = build.finish(tuple(env[r] for r in left))
    return list(given), {"body": body, "carried": len(left), "test": None, "trips": 1, "bound": None}


def free(eqn):
    """Whether an equation only says where elements are."""
    return eqn.op in FREE


def views(eqn):
    """Whether NumPy has the result of an equation without writing it."""
    return free(eqn) and eqn.op is not iota


def inner(eqn):
    """Whether machine code does an equation well."""
    if eqn.op is loop:
        return nest_of(eqn) is not None
    if eqn.op in FREE or eqn.effect:
        return False
    if eqn.op is dot_general and multiplications(eqn) > PRODUCT and "@" in (product_call(eqn, "", "") or ""):
        return False
    return alone(
        eqn.op,
        tuple([x if isinstance(x, Lit) else x.type for x in eqn.operands]),
        tuple(eqn.attrs.items()),
        native.allowed(),
    )


@functools.lru_cache(4096)
def alone(op, operands, attrs, allowed):
    """Whether an equation is a nest by itself."""
    if not allowed:
        return False
    build = Builder("alone")
    with build:
        build.param(COUNTER)
        given = [build.param(x) if not isinstance(x, Lit) else x for x in operands]
        out = op(*given, **dict(attrs))
        results = out if op.multiple else (out,)
        for r in results:
            build.param(r.type)
        body = build.finish(results)
    types = [*(x for x in operands if not isinstance(x, Lit)), *(r.type for r in results)]
    return (
        native.callable_nest(types, {"body": body, "carried": len(results), "test": None, "trips": 1, "bound": None})
        is not None
    )


def multiplications(eqn):
    n = eqn.results[0].type.size
    for axis in eqn.attrs["contract"][0]:
        n *= eqn.operands[0].type.shape[axis]
    return n


def weight(eqn):
    """NumPy calls that an equation is worth."""
    return 1 if any(x.type.shape for x in (*eqn.operands, *eqn.results)) else NUMBER
