"""Ops that move elements, as functions from an index to an index, or as choices among elements."""

from collections.abc import Callable
from typing import Any, TypeAlias

from ...ir.ops import OPS
from ...ir.sample import assume_less
from ...ir.table import RuleTable
from .code import IndexForm, llvm_type
from .elements import offset, row_major_strides, signed
from .values import Counted, Memory, Moved, NotNative, Selection

ShapeRule: TypeAlias = Callable[..., Any]  # (region, eqn, *reps of operands) -> rep

SHAPES: RuleTable[ShapeRule] = RuleTable("native form of an op that moves elements")
CONSTANT = 4096  # bound: elements that a constant within a nest may have


def shape_rule(name):
    return SHAPES.rule(OPS[name])


@shape_rule("iota")
def iota(region, eqn):
    return Counted(eqn.results[0].type, eqn.attrs["axis"])


@shape_rule("constant")
def constant(region, eqn):
    t = eqn.results[0].type
    if t.size > CONSTANT:
        raise NotNative(f"a constant of {t.size} elements is made in the loop")
    return Memory(t, region.nest.constant(eqn.attrs["value"].array))


@shape_rule("reshape")
def reshape(region, eqn, x):
    t = eqn.results[0].type
    if isinstance(x, Memory):
        return Memory(t, x.cell, x.reads[x.cell])
    old, new = ([(d, n) for d, n in enumerate(shape) if n != 1] for shape in (x.type.shape, t.shape))
    if [n for _, n in old] == [n for _, n in new]:
        places = {d: e for (d, _), (e, _) in zip(old, new)}
        return Moved(
            t, x, lambda index: tuple(index[places[d]] if d in places else IndexForm() for d in range(x.type.ndim))
        )

    def element(elements, index):
        code = elements.code
        at, out = code.value(offset(t.shape, index)), []
        for step in row_major_strides(x.type.shape):
            out.append(IndexForm.of(code.op(f"udiv i64 {at}, {step}")))
            at = code.op(f"urem i64 {at}, {step}")
        return elements.get(x, tuple(out))

    return Selection(t, [x], element)


@shape_rule("transpose")
def transpose(region, eqn, x):
    perm = eqn.attrs["perm"]
    places = [perm.index(d) for d in range(len(perm))]
    return Moved(eqn.results[0].type, x, lambda index: tuple(index[p] for p in places))


@shape_rule("broadcast")
def broadcast(region, eqn, x):
    t, dims = eqn.results[0].type, eqn.attrs["dims"]
    if x.cost > 2 and t.size > x.type.size:
        x = region.materialised(x)
    return Moved(t, x, lambda index: tuple(IndexForm() if n == 1 else index[d] for n, d in zip(x.type.shape, dims)))


@shape_rule("reverse")
def reverse(region, eqn, x):
    axes, shape = eqn.attrs["axes"], x.type.shape
    return Moved(
        x.type,
        x,
        lambda index: tuple(
            IndexForm(n - 1).plus(i, -1) if d in axes else i for d, (i, n) in enumerate(zip(index, shape))
        ),
    )


@shape_rule("slice")
def slice_(region, eqn, x):
    first, step = eqn.attrs["start"], eqn.attrs["stride"]
    return Moved(eqn.results[0].type, x, lambda index: tuple(i.times(s).plus(a) for i, a, s in zip(index, first, step)))


@shape_rule("dynamic_slice")
def dynamic_slice(region, eqn, x, *_):
    starts = region.starts(eqn.operands[1:], x.type.shape, eqn.attrs["sizes"])
    return Moved(eqn.results[0].type, x, lambda index: tuple(i.plus(s) for i, s in zip(index, starts)))


def in_range(code, i, n):
    """(whether 0 <= i < n, i or an end of it)"""
    if not i[1]:
        below, within = assume_less(i[0], 0), assume_less(i[0], n)
        return ("true" if within and not below else "false"), IndexForm(min(max(i[0], 0), n - 1))
    known = None if code.row is None else code.row.within(i, n)
    if known is not None:
        return ("true", i) if known else ("false", IndexForm())
    at = code.value(i)
    return code.op(f"icmp ult i64 {at}, {n}"), IndexForm.of(
        code.least(str(n - 1), code.most("0", at))
    ) if n > 1 else IndexForm()


def piece(elements, x, index, low, axes, other):
    """x[index - low] where that lies within x along `axes`, else the register `other`."""
    code, truth, at = elements.code, "true", list(index)
    for d in axes:
        there, at[d] = in_range(code, index[d].plus(low[d], -1), x.type.shape[d])
        truth = there if truth == "true" else truth if there == "true" else code.op(f"and i1 {truth}, {there}")
    if truth == "false":
        return other
    found = elements.get(x, tuple(at))
    return (
        found
        if truth == "true"
        else code.op(f"select i1 {truth}, {llvm_type(x.type.dtype)} {found}, {llvm_type(x.type.dtype)} {other}")
    )


@shape_rule("pad")
def pad(region, eqn, x, value):
    low = eqn.attrs["low"]
    if any(eqn.attrs["interior"]):
        raise NotNative("pad between elements has no native form")
    if x.type.size == 0:
        raise NotNative("an array without elements is padded")

    def element(elements, index):
        return piece(elements, x, index, [IndexForm(l) for l in low], range(x.type.ndim), elements.get(value, ()))

    return Selection(eqn.results[0].type, [x, value], element)


@shape_rule("concatenate")
def concatenate(region, eqn, *xs):
    axis = eqn.attrs["axis"]
    xs = [x for x in xs if x.type.size]
    ends = [0]
    for x in xs:
        ends.append(ends[-1] + x.type.shape[axis])

    def element(elements, index):
        found = None
        for x, low in zip(xs[::-1], ends[-2::-1]):
            first = [IndexForm(low if d == axis else 0) for d in range(x.type.ndim)]
            if found is None:
                _, i = in_range(elements.code, index[axis].plus(-low), x.type.shape[axis])
                found = elements.get(x, (*index[:axis], i, *index[axis + 1 :]))
            else:
                found = piece(elements, x, index, first, [axis], found)
        return found

    def picks(index):
        c, terms = index[axis]
        k = next((k for k, end in enumerate(ends[1:]) if assume_less(c, end)), None)
        return None if terms or k is None else (xs[k], (*index[:axis], IndexForm(c - ends[k]), *index[axis + 1 :]))

    made = Selection(eqn.results[0].type, xs, element)
    made.picks = picks
    return made


@shape_rule("dynamic_update_slice")
def dynamic_update_slice(region, eqn, x, u, *_):
    """As a value of its own, where it is no store."""
    starts = region.starts(eqn.operands[2:], x.type.shape, u.type.shape)
    axes = [d for d, (k, n) in enumerate(zip(u.type.shape, x.type.shape)) if k != n]

    def element(elements, index):
        return piece(elements, u, index, starts, axes, elements.get(x, index))

    return Selection(x.type, [x, u], element)


@shape_rule("gather")
def gather(region, eqn, x, indices):
    attrs, t = eqn.attrs, eqn.results[0].type
    sizes, mode, offsets = attrs["sizes"], attrs["mode"], attrs["offset_dims"]
    free = [a for a in range(x.type.ndim) if a not in attrs["collapsed"] and a not in attrs["operand_batch"]]
    if x.type.size == 0 or indices.cost > 200:
        raise NotNative("what is gathered is too much work for one element")

    def element(elements, index):
        code, valid = elements.code, "true"
        batch = tuple(i for d, i in enumerate(index) if d not in offsets)
        at = [IndexForm()] * x.type.ndim
        for a, d in zip(free, offsets):
            at[a] = index[d]
        for a, d in zip(attrs["operand_batch"], attrs["indices_batch"]):
            at[a] = batch[d]
        for k, a in enumerate(attrs["start_index_map"]):
            start, last = signed(elements, indices, (*batch, IndexForm(k))), str(x.type.shape[a] - sizes[a])
            if mode == "fill":
                there = code.op(f"icmp ule i64 {start}, {last}")
                valid = there if valid == "true" else code.op(f"and i1 {valid}, {there}")
            # what was promised does not hold once a check has failed
            at[a] = at[a].plus(code.least(last, code.most("0", start)))
        found = elements.get(x, tuple(at))
        if valid == "true":
            return found
        t, fill = llvm_type(x.type.dtype), region.filler(attrs["fill"], x.type.dtype)
        return code.op(f"select i1 {valid}, {t} {found}, {t} {fill}")

    return Selection(t, [x, indices], element)
