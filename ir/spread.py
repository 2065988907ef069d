"""Which axes of the values of a program lie over which axes of a mesh of devices, and what the devices have to send.

A spec has an entry for each axis of a value: the name of a mesh axis, a tuple of such names, or None. `Spread` takes
the specs of the parameters through the equations, forward, as XLA's partitioner does: an elementwise result lies as its
operands do, a sum along a spread axis is a sum of partial sums, what no rule knows is gathered first. Nothing here
decides how a program runs: it is a model, from which axes are chosen and costs are told.

Bytes are those that one device sends: of an all-reduce of b bytes over n devices 2 b (n - 1) / n, of an all-gather and
an all-to-all of b bytes b (n - 1) / n, b of a permutation.  [Thakur, Rabenseifner and Gropp 2005, Optimization of
Collective Communication Operations in MPICH, sections 4 and 5]
"""

import math

from .amounts import in_units
from .core import Lit
from .for_devices import for_devices
from .laid import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, PERMUTE, RULES, lay_elementwise, lay_gathered, mesh_axes


def sent(kind, size, n):
    """Bytes that one of n devices sends in a collective whose result has `size` bytes on it."""
    if n <= 1:
        return 0.0
    return {ALL_REDUCE: 2.0 * (n - 1) / n, PERMUTE: 1.0}.get(kind, (n - 1) / n) * size


class Collective:
    """One collective that an equation leads to. size: bytes of its result on one device; n: devices that take part;
    times: how often it runs."""

    __slots__ = ("kind", "eqn", "n", "size", "times")

    def __init__(self, eqn, kind, size, n, times):
        self.eqn, self.kind, self.size, self.n, self.times = eqn, kind, size, n, times

    @property
    def bytes(self):
        """What one device sends in all of them."""
        return self.times * sent(self.kind, self.size, self.n)

    def __repr__(self):
        return f"<{self.kind} of {in_units(self.size, 'B')} over {self.n}, {self.times} x>"


class Spread:
    """.specs: {value: its spec}; .moved: the collectives, in order. sizes: {mesh axis: devices along it}."""

    def __init__(self, func, specs, sizes):
        self.sizes, self.specs, self.moved, self.times = sizes, {}, [], 1
        specs = [(*spec, *[None] * p.type.ndim)[: p.type.ndim] for p, spec in zip(func.params, specs, strict=True)]
        self.results = self.run(func, specs)

    def run(self, func, specs):
        """The specs of the results of a function, as it runs on several devices."""
        func = for_devices(func)
        self.specs.update(zip(func.params, specs, strict=True))
        for eqn in func.eqns:
            given = [self.of(x) for x in eqn.operands]
            found = RULES.get(eqn.op.name, lay_elementwise if "elementwise" in eqn.op.traits else lay_gathered)(
                self, eqn, *given
            )
            for r, spec in zip(eqn.results, found if eqn.op.multiple else (found,), strict=True):
                self.specs[r] = self.fitting(r, spec)
        return [self.of(r) for r in func.results]

    def of(self, x):
        return (None,) * x.type.ndim if isinstance(x, Lit) else self.specs.get(x, (None,) * x.type.ndim)

    def fitting(self, x, spec):
        """A spec without axes that do not divide, or that lie along an earlier axis too."""
        out, used = [], set()
        for size, entry in zip(x.type.shape, spec, strict=True):
            names = mesh_axes(entry)
            keep = names and not used & set(names) and size % self.count(entry) == 0 and size
            used |= set(names) if keep else set()
            out.append(entry if keep else None)
        return tuple(out)

    def count(self, *entries):
        """Devices along the mesh axes of entries of a spec."""
        return math.prod(self.sizes[a] for e in entries for a in mesh_axes(e))

    def local(self, x, spec):
        """Bytes of a value on one device."""
        return x.type.size * x.type.dtype.itemsize / self.count(*spec)

    def move(self, eqn, kind, size, *entries):
        if (n := self.count(*entries)) > 1 and size:
            self.moved.append(Collective(eqn, kind, size, n, self.times))

    def whole(self, eqn, x, spec, axes):
        """The spec of a value that is made whole along some of its axes first."""
        cut = tuple(None if a in axes else e for a, e in enumerate(spec))
        entries = [spec[a] for a in axes if spec[a] is not None]
        if entries:
            self.move(eqn, ALL_GATHER, self.local(x, cut), *entries)
        return cut

    def laid(self, eqn, x, spec, wanted):
        """What it takes to have a value lie as is wanted: nothing where it is whole, or lies so along all its axes."""
        moves = [e for e, w in zip(spec, wanted, strict=True) if e is not None and e != w]
        if moves:
            taken = {a for e in wanted for a in mesh_axes(e)}
            kind = ALL_TO_ALL if {a for e in moves for a in mesh_axes(e)} <= taken else ALL_GATHER
            self.move(eqn, kind, self.local(x, wanted if kind is ALL_GATHER else spec), *moves)

    @property
    def bytes(self):
        """What one device sends in one call."""
        return sum(m.bytes for m in self.moved)
