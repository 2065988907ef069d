"""Scatters whose updates are made at once.

Where several updates are of one element, the last is to be left there: each first puts its number where the greatest
stays, and then the one whose number that is stores. Sums are added up by atomic instructions, those of floats in any
order, as XLA's are; in exact programs they are made in order.
"""

import numpy as np

from ...ir.exactness import ONLY_EXACT
from ...ir.ops import OPS
from ...ir.types import Tensor
from ..native.code import llvm_type
from ..native.elements import offset
from ..native.scatter import emit_scatter

SCATTER, ADD = OPS["scatter"], OPS["scatter_add"]
NUMBER = np.dtype("i4")


def how_at_once(eqn, dtype):
    """The function that emits a scatter with its updates made at once; None where there is none."""
    if eqn.attrs["unique"]:
        return apart_from_each_other
    if eqn.op is SCATTER:
        return last_wins
    adds = eqn.op is ADD and (dtype.kind in "iu" and dtype.itemsize >= 4 or dtype.kind == "f" and not ONLY_EXACT.get())
    return added if adds else None


def apart_from_each_other(region, eqn, cell, indices, updates):
    emit_scatter(region.code, eqn, cell, indices, updates, every=region.over)


def added(region, eqn, cell, indices, updates):
    code, d = region.code, cell.dtype

    def add(place, new, _):
        kind = "fadd" if d.kind == "f" else "add"
        code.op(f"atomicrmw {kind} ptr {code.address(cell.pointer, d, place)}, {llvm_type(d)} {new} monotonic")

    emit_scatter(code, eqn, cell, indices, updates, add, region.over)


def last_wins(region, eqn, cell, indices, updates):
    code, size = region.code, updates.type.shape
    offsets = eqn.attrs["offset_dims"]
    order = [*(k for k in range(len(size)) if k not in offsets), *offsets]
    last = region.scratch(Tensor((cell.size,), NUMBER))

    def number(index):
        """Of an update, in the order in which they are made."""
        at = code.value(offset([size[k] for k in order], [index[k] for k in order]))
        return code.op(f"trunc i64 {at} to i32")

    def claim(place, _, index):
        at = code.address(last.pointer, NUMBER, place)
        code.op(f"atomicrmw max ptr {at}, i32 {number(index)} monotonic")

    def store(place, new, index):
        mine = code.op(f"icmp eq i32 {code.load(last.pointer, NUMBER, place)}, {number(index)}")
        code.only_if(mine, lambda: code.store(cell.pointer, cell.dtype, place, new))

    region.over((cell.size,), lambda index: code.store(last.pointer, NUMBER, index[0], "-1"))
    emit_scatter(code, eqn, cell, indices, updates, claim, region.over)
    emit_scatter(code, eqn, cell, indices, updates, store, region.over)
    last.written()
