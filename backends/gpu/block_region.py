"""Equations of a region as code of a block of threads: `RegionEmitter` with its loops over elements shared out.

That an element may be computed on its own is what the emitter proves for the CPU already, but for stores that read, in
place, what later elements overwrite: those are computed beforehand here.
"""

import math

from ...ir.exactness import ONLY_EXACT
from ...ir.ops import OPS
from ..native.code import IndexForm, llvm_literal, llvm_type
from ..native.elements import KEEP, Elements, LiveWindow, offset
from ..native.fuse import APART, SAME, CellStore, Fused
from ..native.interrupts import UNKNOWN, trips
from ..native.reduce import COMPUTED, REDUCTIONS, factors, merged_index, multiplications
from ..native.region import RegionEmitter
from ..native.scans import SCANS
from ..native.scatter import emit_scatter
from ..native.skew import Skewed
from ..native.values import Memory, Moved, NotNative, Register
from .scattered import how_at_once
from .spread import spread_trips

DOT, DRAW, LOOP, MUL = (OPS[name] for name in ("dot_general", "draw", "loop", "mul"))
SUMS = {OPS["reduce_sum"], OPS["reduce_prod"], DOT}
SCATTERED = 64  # bound: updates of a scatter that one thread makes in order
FEW = 32  # bound: terms of a sum that every thread adds up for itself


class SharedStore(CellStore):
    KEPT = SAME, APART


class SharedOut(Fused):
    def emit(self, block, bounds=None):
        first = self.stores[0]
        with self.code.at(first.source):
            self.code.stores([n for _, n in first.loops], self.names, lambda: self.body(None))


class OneByOne(Skewed):
    """Rows of several stores are not taken in turn: each store has all threads."""

    def takes(self, new):
        return None


class BlockRegion(RegionEmitter):
    STORED, FUSED, SKEWED = SharedStore, SharedOut, OneByOne
    COPIED, PRODUCT = 1 << 16, 1 << 20  # bound: elements and multiplications that a block makes in some microseconds

    def strips(self, attrs):
        return False

    def row_of_calls(self, op, d):
        return math.inf  # what large bodies cost is for the estimate to say

    def shared(self):
        return math.inf

    def spread(self, eqn, body, bound, invariants, start, step):
        return None if eqn.attrs["test"] else spread_trips(self, eqn, body, bound, invariants, start, step)

    def equation(self, eqn):
        if eqn.op is DRAW:
            raise NotNative("draws are made in order")
        if eqn.op in SCANS:
            raise NotNative(f"{eqn.op.name} is made in order")
        with self.code.often((trips(eqn.attrs) or UNKNOWN) if eqn.op is LOOP else 1):
            super().equation(eqn)

    def over(self, shape, body):
        axes = [d for d, n in enumerate(shape) if n != 1]
        names = {d: self.code.name() for d in axes}
        index = tuple(IndexForm.of(names[d]) if d in names else IndexForm() for d in range(len(shape)))
        self.code.stores([shape[d] for d in axes], [*names.values()], lambda: body(index))

    def scattered(self, eqn, cell, indices, updates):
        at_once = None if self.code.alone or updates.type.size <= FEW else how_at_once(eqn, cell.dtype)
        if at_once is not None:
            at_once(self, eqn, cell, indices, updates)
        elif updates.type.size > SCATTERED and not self.code.alone:
            raise NotNative(f"a scatter of {updates.type.size} updates, which are made in order")
        else:
            self.code.once(lambda: emit_scatter(self.code, eqn, cell, indices, updates))
            cell.written()

    def computed(self, eqn, t, xs):
        if eqn.op is DOT and multiplications(eqn) > self.PRODUCT:
            raise NotNative(f"a product of {multiplications(eqn)} multiplications a trip")
        if not t.shape:
            return Register(t, self.total(eqn, t, xs))
        element = COMPUTED[eqn.op](self, eqn, *xs)
        cell = self.own_cell(eqn.results[0], xs)
        self.flush()
        put = lambda index: self.code.store(cell.pointer, t.dtype, offset(t.shape, index), element(index))
        self.over(t.shape, put)
        cell.written()
        return Memory(t, cell)

    def total(self, eqn, t, xs):
        """The register of a reduction to one number: of many terms every thread takes its part."""
        self.flush()
        terms = self.terms(eqn, xs)
        ordered = eqn.op in SUMS and t.dtype.kind in "fc" and ONLY_EXACT.get()
        if self.code.alone or terms is None or terms.type.size <= FEW or ordered:
            return COMPUTED[eqn.op](self, eqn, *xs)(())
        code, d = self.code, terms.type.dtype
        take, nothing = REDUCTIONS[OPS["reduce_sum"] if eqn.op is DOT else eqn.op]
        axes = [a for a, n in enumerate(terms.type.shape) if n != 1]
        names = {a: code.name() for a in axes}
        at = tuple(IndexForm.of(names[a]) if a in names else IndexForm() for a in range(terms.type.ndim))
        bounds, known = None, {}
        if len(axes) == 1:
            n = terms.type.shape[axes[0]]
            window = LiveWindow(code, terms, at, names[axes[0]], n, d.type(nothing(d)))
            bounds, known = (window.low, window.high), window.known
        add = lambda sofar: [take(code, d, sofar, Elements(code, known).get(terms, at))]
        zero, size = llvm_literal(nothing(d), d), [terms.type.shape[a] for a in axes]
        (mine,) = code.indices(size, [*names.values()], add, [llvm_type(d)], [zero], bounds)
        return code.together(d, mine, take, self.nest.partials(d))

    def terms(self, eqn, xs):
        """What a reduction to one number is taken of, or None where it is no plain reduction."""
        if eqn.op is DOT:
            return None if xs[0].type.kind == "b" else factors(eqn, *xs, MUL)(())
        if eqn.op not in REDUCTIONS:
            return None
        (x,), axes = xs, eqn.attrs["axes"]
        over = tuple(x.type.shape[a] for a in axes)
        return Moved(x.type.like(over), x, lambda k: merged_index(axes, k, (), x.type.ndim))

    def pass_over(self, cell, x, lane, target, put):
        code, size = self.code, x.type.shape
        axes = [a for a, n in enumerate(size) if n != 1]
        names = {a: code.name() for a in axes}
        index = tuple(IndexForm.of(names[a]) if a in names else IndexForm() for a in range(len(size)))
        bounds, known = None, {}
        if len(axes) == 1:
            window = LiveWindow(code, x, index, names[axes[0]], size[axes[0]], KEEP, cell, target(index))
            bounds, known = (window.low, window.high), window.known
        code.stores([size[a] for a in axes], [*names.values()], lambda: put(index, known), bounds)
