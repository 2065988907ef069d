"""Loops as statements of generated NumPy: one call of their machine code, on the memory of the arrays themselves.

What a loop carries is stored into where it lies: in an array that nobody else reads, otherwise in a copy. An argument
that the program leaves changed is such an array where nothing can fail any more. Numbers come back in
arrays of no axes, and scratch memory that does not fit on the stack is an array that is dropped.
"""

import numpy as np

from ...ir.core import Lit
from ...ir.ops.control import loop
from ...ir.sample import SAMPLE
from .. import native
from . import scratch
from .looped import LOOPED, SCATTERED, looped
from .operand import NUMPY, PYTHON, LazyOperand


def nest_of(eqn):
    """The nest that a loop is, or None where there is none that NumPy's arrays can be given to."""
    return native.callable_nest([x.type for x in eqn.operands], eqn.attrs)


def with_loops(eqn):
    """Whether an equation runs as a nest, or not as NumPy at all."""
    return eqn.op is loop or eqn.op in LOOPED and eqn.op not in SCATTERED


def machine_code(eqn):
    """Whether an equation is a nest, or can be written with nests."""
    func = looped(eqn)
    return (
        nest_of(eqn) is not None
        if eqn.op is loop
        else func is not None and all(nest_of(e) is not None for e in func.eqns if e.op is loop)
    )


def call_nest(writer, eqn):
    """The statements of a loop that is a nest."""
    nest, lines, given, homes = nest_of(eqn), [], [], {}
    first = len(eqn.operands) - eqn.attrs["carried"]
    # one that ends early leaves what it was given
    reads = read_before(eqn) if nest.early_exit is None else set(range(eqn.attrs["carried"]))

    def named(wish, text):
        lines.append(f"{(name := writer.fresh(wish))} = {text}")
        return name

    for kind, k in nest.buffers:
        if kind == "argument":
            given.append(read_operand(writer, eqn.operands[k], named))
        elif k >= len(eqn.results):
            given.append(scratch_text(writer, nest.extra[k - len(eqn.results)]))
        else:
            t = eqn.results[k].type
            kept = t.shape and (k in reads or not isinstance(eqn.operands[first + k], Lit))
            given_to = eqn.operands[first + k]
            homes[k] = (
                written_operand(writer, given_to, named, nest.hearing is None)
                if kept
                else named("state" if t.shape else "number", empty_text(t))
            )
            given.append(homes[k])
    sizes = SAMPLE.get()
    made = (native.builtin(nest), native.again(nest)) if sizes is None else native.sampled(nest)
    call, again = writer.constant(made[0], "nest"), writer.constant(made[1], "again")
    listed = ", ".join([*(str(sizes[name]) for name in sorted(sizes or ())), *given])
    lines += [f"if {call}({listed}):", f"    {again}({listed})"]
    for k, r in enumerate(eqn.results):
        if r.type.shape:
            writer.held[r] = LazyOperand(homes[k], r.type.shape, new=True)
        else:
            lines += writer.keep(r, f"{homes[k]}[()]", (), [NUMPY])
    return lines


def read_before(eqn):
    """The places of what a loop carries and reads before it has computed it: the others it overwrites, all of them."""
    carried, regions = eqn.attrs["carried"], eqn.regions()
    if not eqn.attrs["trips"]:
        return set(range(carried))
    read = [{*region.results, *(x for e in region.eqns for x in e.operands)} for region in regions]
    return {
        k
        for k in range(carried)
        if any(region.params[len(region.params) - carried + k] in found for region, found in zip(regions, read))
    }


def written_operand(writer, x, named, finishes=True):
    """The name of an array with the elements of an operand, which the loop may store into. finishes: nothing interrupts
    it meanwhile."""
    held = writer.hold(x)
    if held.new and held.shape == x.type.shape and writer.uses[x] == 1:
        return held.text
    if finishes and x in writer.overwritable and writer.uses[x] == 1:
        name = named("state", f"{held.text} if {held.text}.flags.carray else {held.text}.copy()")
        writer.overwritten[name] = held.text
        return name
    if isinstance(x, Lit) and not any(x.value.tobytes()):
        return named("state", f"np.zeros({x.type.shape}, np.{x.type.dtype.name})")
    if isinstance(x, Lit) and (SAMPLE.get() is not None or (full := writer.full(x)).shape != x.type.shape):
        return named("state", f"np.full({x.type.shape}, {writer.constant(x.value, 'number')}, np.{x.type.dtype.name})")
    if isinstance(x, Lit):
        return named("state", f"{full.text}.copy()")
    return named("state", f"{writer.whole(writer.full(x), x.type)}.copy()")


def read_operand(writer, x, named):
    """Text of an operand that is only read: an array, or a number of the type that the loop takes."""
    if x.type.shape:
        text = writer.whole(held := writer.full(x), x.type)
        return text if text == held.text else named("whole", text)
    held = writer.hold(x)
    known = held.kinds <= ({NUMPY, PYTHON} if x.type.dtype == np.float64 else {NUMPY})
    return held.text if known else f"np.{x.type.dtype.name}({held.text})"


def scratch_text(writer, t):
    """Text of an array that is dropped after the call."""
    if t.size * t.dtype.itemsize < scratch.LEAST:
        return empty_text(t)
    return f"{writer.constant(scratch.scratch, 'scratch')}({t.shape}, np.{t.dtype.name})"


def empty_text(t):
    return f"np.empty({t.shape}, np.{t.dtype.name})"
