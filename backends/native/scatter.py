"""Scatters in place: update after update, in the order of the index vectors."""

from ...ir.ops import OPS
from ...ir.sample import assume_less
from .code import IndexForm
from .elements import Elements, LiveWindow, offset, signed
from .reduce import combined
from .values import Mapped, Moved, Number, Selection

SCATTERS = {
    OPS["scatter"]: lambda code, d, old, new: new,
    OPS["scatter_add"]: combined("add"),
    OPS["scatter_mul"]: combined("mul"),
    OPS["scatter_max"]: combined("maximum"),
    OPS["scatter_min"]: combined("minimum"),
}
NOTHING = {OPS["scatter_add"]: 0, OPS["scatter_mul"]: 1}  # the update that changes nothing


def emit_scatter(code, eqn, cell, indices, updates, leave=None, every=None):
    """Scatter into a cell that neither operand reads.

    leave(place, update, its index): emits what becomes of an update, if not that it is stored; every(shape, body):
    emits `body(index)` for every update, if not in order.
    """
    attrs, shape, size, d = eqn.attrs, eqn.results[0].type.shape, updates.type.shape, cell.dtype
    offsets = attrs["offset_dims"]
    free = [a for a in range(len(shape)) if a not in attrs["collapsed"] and a not in attrs["operand_batch"]]
    extent = dict(zip(free, (size[k] for k in offsets)))  # of a window along the axes that it has
    order = [*(k for k in range(len(size)) if k not in offsets), *offsets]

    def put(index, known):
        elements = Elements(code, known)
        batch = tuple(i for k, i in enumerate(index) if k not in offsets)
        at = [IndexForm()] * len(shape)
        for a, k in zip(free, offsets):
            at[a] = index[k]
        for a, k in zip(attrs["operand_batch"], attrs["indices_batch"]):
            at[a] = batch[k]
        after = None

        def only_if(truth):
            """Go on only where `truth` holds."""
            nonlocal after
            after, inside = after or code.label(), code.label()
            code.branch(truth, inside, after)
            code.begin(inside)

        valid = None
        for k, a in enumerate(attrs["start_index_map"]):
            part, place = resolved(indices, (*batch, IndexForm(k)))
            last = shape[a] - extent.get(a, 1)
            if attrs["mode"] == "drop" and dropped(part, last):
                part, place = chosen_index(elements, part, place, only_if)
            start = signed(elements, part, place)
            if attrs["mode"] != "drop":  # what was promised does not hold once a check has failed
                start = code.least(str(last), code.most("0", start))
            else:
                there = code.op(f"icmp ule i64 {start}, {last}")
                valid = there if valid is None else code.op(f"and i1 {valid}, {there}")
            at[a] = at[a].plus(start)
        if valid is not None:
            only_if(valid)
        new = elements.get(updates, index)
        (leave or stored)(offset(shape, at), new, index)
        if after is not None:
            code.jump(after)
            code.begin(after)
        return ()

    def stored(place, new, _):
        old = None if eqn.op is OPS["scatter"] else code.load(cell.pointer, d, place)
        code.store(cell.pointer, d, place, SCATTERS[eqn.op](code, d, old, new))

    def nested(axes, index):
        axis, *rest = axes or [None]
        if axis is None:
            return put(tuple(index), {})
        t = code.name()
        at = [IndexForm.of(t) if k == axis else i for k, i in enumerate(index)]
        if rest:
            code.count_up("0", size[axis], lambda _: nested(rest, at), name=t)
            return ()
        low, high, known = "0", size[axis], {}
        if eqn.op in NOTHING:
            window = LiveWindow(code, updates, tuple(at), t, high, d.type(NOTHING[eqn.op]))
            low, high, known = window.low, window.high, window.known
        code.count_up(low, high, lambda _: put(tuple(at), known), name=t)
        return ()

    if every is not None:
        every(size, lambda index: put(index, {}))
    else:
        nested([k for k in order if size[k] != 1], [IndexForm()] * len(size))
    cell.written()


def resolved(x, index):
    """Whose element x[index] is, and at which index, as far as that is known."""
    while isinstance(x, Moved) or isinstance(x, Selection) and x.picks is not None and x.picks(index) is not None:
        x, index = (x.operand, x.move(index)) if isinstance(x, Moved) else x.picks(index)
    return x, index


def dropped(x, last):
    """Whether an index is chosen, and what else it would be is out of range."""
    if not isinstance(x, Mapped) or x.op is not OPS["select"] or not isinstance(x.operands[2], Number):
        return False
    other = int(x.operands[2].value)
    return assume_less(other, 0) or assume_less(last, other)


def chosen_index(elements, x, index, only_if):
    """Such an index where it is chosen: nothing of it is read elsewhere."""
    mask, there, _ = x.operands
    whole, at = resolved(mask, index)
    truth = elements.get(whole, at)
    if truth != "true":
        only_if(truth)
        elements.memo[whole, at] = "true"
    return resolved(there, index)
