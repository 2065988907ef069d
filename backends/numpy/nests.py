"""Loops as statements of generated NumPy: one call of their machine code, on the memory of the arrays themselves.

What a loop carries is stored into where it lies: in an array that nobody else reads, otherwise in a copy. An argument
that the program leaves changed is such an array where nothing can fail any more. Numbers, and arrays of which the loop
needs no element, it makes itself; scratch memory that does not fit on the stack is an array that is dropped.
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
    nest, lines, first = nest_of(eqn), [], len(eqn.operands) - eqn.attrs["carried"]
    # one that ends early leaves what it was given
    reads = read_before(eqn) if nest.early_exit is None else set(range(eqn.attrs["carried"]))
    sizes = SAMPLE.get()

    def named(wish, text):
        lines.append(f"{(name := writer.fresh(wish))} = {text}")
        return name

    def memory(k):
        """Text of the array that a result is stored into, None where any is good enough."""
        x = eqn.operands[first + k]
        if not eqn.results[k].type.shape or isinstance(x, Lit) and k not in reads:
            return None
        if sizes is None and isinstance(x, Lit) and not any(x.value.tobytes()):
            return str(native.ZEROED)
        return written_operand(writer, x, named, nest.hearing is None)

    given, homes = [], {}
    for kind, k in nest.buffers:
        if kind == "argument":
            given.append(read_operand(writer, eqn.operands[k], named))
        elif k >= len(eqn.results):
            given.append(scratch_text(writer, nest.extra[k - len(eqn.results)]))
        else:
            homes[k], t = memory(k), eqn.results[k].type
            if sizes is not None:
                homes[k] = homes[k] or named("state" if t.shape else "number", empty_text(t))
            if sizes is not None or t.shape:
                given.append(homes[k] or str(native.FRESH))
    if sizes is None:
        return call_of_objects(writer, eqn, nest, lines, given, homes)
    call, again = map(writer.constant, native.sampled(nest), ("nest", "again"))
    listed = ", ".join([*(str(sizes[name]) for name in sorted(sizes)), *given])
    lines += [f"if {call}({listed}):", f"    {again}({listed})"]
    for k, r in enumerate(eqn.results):
        if r.type.shape:
            writer.held[r] = LazyOperand(homes[k], r.type.shape, new=True)
        else:
            lines += writer.keep(r, f"{homes[k]}[()]", (), [NUMPY])
    return lines


class Opening:
    """The call of a nest that is the first statement: `made = nest(...)`, and `again` where that has refused.

    given: texts of its operands.
    """

    def __init__(self, made, again, given):
        self.made, self.again, self.given = made, again, given


def call_of_objects(writer, eqn, nest, lines, given, homes):
    """The statements that call a nest, and name what it makes.

    lines: statements that come first; homes: place of a result -> text of the array that it is stored into, or of what
    stands for one that is made.
    """
    run = native.builtin(nest)
    call, again = writer.constant(run, "nest"), writer.constant(native.again(nest, run), "again")
    writer.quiet |= {call, again}
    makes = [k for k, home in homes.items() if home in (None, str(native.ZEROED))]
    names = {k: writer.bind(eqn.results[k]) if k in makes else homes[k] for k in homes}
    for k, r in enumerate(eqn.results):
        kinds = () if r.type.shape else [NUMPY]
        writer.held[r] = LazyOperand(names[k], r.type.shape, frozenset(kinds), new=r.type.shape != ())
    listed = ", ".join(given)
    if not makes:
        return [*lines, f"if {call}({listed}) is None: {again}({listed})"]
    made = names[0] if len(names) == 1 else writer.fresh("made")
    once_more = f"{made} = {again}({listed})"
    if writer.opening is None and not lines:
        writer.opening = Opening(made, once_more, given)
    lines += [f"{made} = {call}({listed})", f"if {made} is None: {once_more}"]
    if len(names) > 1:
        lines.append(f"{', '.join(names[k] if k in makes else writer.fresh('given') for k in sorted(names))} = {made}")
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
    python = {PYTHON} if x.type.dtype == np.float64 or x.type.kind == "b" and SAMPLE.get() is None else set()
    known = held.kinds <= {NUMPY, *python}
    return held.text if known else f"np.{x.type.dtype.name}({held.text})"


def scratch_text(writer, t):
    """Text of an array that is dropped after the call."""
    if t.size * t.dtype.itemsize < scratch.LEAST:
        return empty_text(t)
    return f"{writer.constant(scratch.scratch, 'scratch')}({t.shape}, np.{t.dtype.name})"


def empty_text(t):
    return f"np.empty({t.shape}, np.{t.dtype.name})"
