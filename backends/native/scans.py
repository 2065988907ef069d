"""Arrays made in order along an axis: prefix sums and their like, recurrences, and the order of bools.

Each element follows from the one before, so what comes before an element is kept: in a register where the axis is the
last one; otherwise in the result, whose rows are gone over whole, so that neighbours are read and LLVM makes vectors.
Numbers are taken in one by one from the first, so sums round as NumPy's do. Bools have two places in their
order, False and True: counted once, each is put where those before it end (a stable partition).
"""

from ...ir.ops import OPS
from .code import IndexForm, llvm_type
from .elements import Elements, offset
from .reduce import combined
from .values import Memory, NotNative

COUNT = "i64"
TAKEN_IN = {
    OPS["cumsum"]: combined("add"), OPS["cumprod"]: combined("mul"), OPS["cummax"]: combined("maximum"),
    OPS["cummin"]: combined("minimum"), OPS["recurrence"]: combined("add"),
}  # fmt: skip


def emit_scan(region, eqn):
    """The rep of the result of a prefix sum, or of its like."""
    *factors, x = [region.read(y) for y in eqn.operands]
    (r,), axis, d = eqn.results, eqn.attrs["axis"], x.type.dtype
    cell, code = region.own_cell(r, [*factors, x]), region.code
    n, shape = r.type.shape[axis], r.type.shape
    region.flush()

    def at(index, k):
        """The index of the k-th element along the axis, counted from where the scan begins."""
        place = IndexForm(n - 1).plus(k, -1) if eqn.attrs["reverse"] else IndexForm.of(k)
        return (*index[:axis], place, *index[axis:])

    def taken_in(index, sofar):
        for factor in factors:
            sofar = combined("mul")(code, d, Elements(code).get(factor, index), sofar)
        return TAKEN_IN[eqn.op](code, d, sofar, Elements(code).get(x, index))

    def put(index, value):
        code.store(cell.pointer, d, offset(shape, index), value)
        return value

    def first(index):
        here = at(index, 0)
        return put(here, Elements(code).get(x, here))

    def step(index, k, sofar):
        here = at(index, k)
        return put(here, taken_in(here, sofar))

    def row(index):
        code.count_up("1", n, lambda k, sofar: [step(index, k, sofar)], [llvm_type(d)], [first(index)])

    def rows(outer):
        inner = lambda body: region.over(shape[axis + 1 :], lambda rest: body((*outer, *rest)))
        before = lambda index, k: offset(shape, at(index, IndexForm.of(k).plus(-1)))
        inner(first)
        one = lambda k: inner(lambda index: step(index, k, code.load(cell.pointer, d, before(index, k)))) or ()
        code.count_up("1", n, one)

    region.shared_over(shape[:axis], x.type.size * (1 + x.cost), row if axis == len(shape) - 1 else rows)
    cell.written()
    return [Memory(r.type, cell)]


def emit_order(region, eqn):
    """The reps of what is sorted by bools; of those that nothing reads, that of the operand."""
    attrs = eqn.attrs
    if eqn.operands[0].type.kind != "b" or attrs["num_keys"] != 1:
        raise NotNative("sort has no native form")
    code, axis, shape = region.code, attrs["axis"], eqn.results[0].type.shape
    key = region.read(eqn.operands[0])
    key = key if isinstance(key, Memory) else region.materialised(key)
    xs = [key, *(region.read(x) for x in eqn.operands[1:])]
    cells = {}
    for k, r in enumerate(eqn.results):
        if region.uses.get(r):
            cells[k] = region.own_cell(r, xs, cells.values())
    region.flush()

    def row(index):
        at = lambda place: (*index[:axis], IndexForm.of(place), *index[axis:])
        truth = lambda k: Elements(code).get(key, at(k))
        counted = lambda k, n: [code.op(f"add i64 {n}, {code.op(f'zext i1 {truth(k)} to i64')}")]
        (trues,) = code.count_up("0", shape[axis], counted, [COUNT], ["0"])
        falses = code.op(f"sub i64 {shape[axis]}, {trues}")

        def put(k, before):
            """before: the trues that have come."""
            is_true = truth(k)
            lower, higher = code.op(f"sub i64 {k}, {before}"), code.op(f"add i64 {falses}, {before}")
            place = code.op(f"select i1 {is_true}, i64 {higher}, i64 {lower}")
            for n, cell in cells.items():
                d = xs[n].type.dtype
                code.store(cell.pointer, d, offset(shape, at(place)), Elements(code).get(xs[n], at(k)))
            return [code.op(f"add i64 {before}, {code.op(f'zext i1 {is_true} to i64')}")]

        code.count_up("0", shape[axis], put, [COUNT], ["0"])

    others = (*shape[:axis], *shape[axis + 1 :])
    region.shared_over(others, key.type.size * sum(2 + x.cost for x in xs), row)
    for cell in cells.values():
        cell.written()
    return [Memory(r.type, cells[k]) if k in cells else xs[k] for k, r in enumerate(eqn.results)]


SCANS = {**dict.fromkeys(TAKEN_IN, emit_scan), OPS["sort"]: emit_order}
