"""What is told of a birth: the error, its text, and the same as attributes."""

import itertools

import numpy as np

from ...ir.core import Lit, Value
from ...ir.source import hint_name
from ...ir.types import ir_kind
from ..common.errors import NumericalError, message
from .iterations import iterations, one_place
from .spelling import STORES, assigned, expression, operand_text, spelling_of, stored_into
from .walk import INTO, MOVED, Arrived, Birth
from .words import SAID, ufunc_name

NAMES = {"nan": "NaN", "inf": "an infinity"}
MOST = 4  # bound: operands and results that a message names


def error_of(word, birth, name, result):
    """The NumericalError of a Birth in the function `name`; result: the place where it arrives, or None."""
    step, eqn = birth.step, birth.step.eqn
    source = next((s.eqn.source for s in birth.path if s.eqn.source is not None), None)
    adjoint = bool(source is not None and source.mark)
    variable, index = variable_of(birth)
    operands = operands_of(birth)
    lanes = lane_of(step)
    text = expression(source) or eqn.op.name
    what = f"{SAID[word]} {ufunc_name(eqn)}" if word in SAID else f"{NAMES[word]} is born"
    head = f"{what} in {name}" + (f": in the derivative of {text}" if adjoint else f": {text} is {number_born(birth)}")
    said = [] if variable is None else [f"variable   {variable}{indexed(index)}"]
    said += [] if lanes is None else [f"lane       {lanes}"]
    loops = iterations(step.trips)
    said += [f"iteration  {iteration_told(loop, adjoint)}" for loop in loops]
    said += [f"derivative part of the {source.mark} of the line, not of what the line computes"] if adjoint else []
    said += [f"operand    {operand} = {value}" for operand, value in operands]
    said += cause_told(birth.cause)
    said += [] if result is None else [f"arrives    in {result}"]
    error = NumericalError(message(head, source, "\n".join(said)))
    error.word, error.variable, error.index, error.lane, error.adjoint = word, variable, index, lanes, adjoint
    error.expression, error.operands, error.result = text, dict(operands), result
    error.trips = tuple((loop.source and (loop.source.file, loop.source.line), loop.at) for loop in loops)
    if source is not None:
        error.file, error.line, error.text = source.file, source.line, source.text
    if isinstance(birth.cause, Birth) and birth.cause.step.eqn.source is not None:
        error.cause_line = birth.cause.step.eqn.source.line
    return error


def number_born(birth):
    """The number that was born, as text."""
    found = np.asarray(birth.result)[birth.step.index]
    return shown_number(found)


def shown_number(x):
    return repr(x.item()) if isinstance(x, np.generic) else repr(x)


def indexed(index):
    return f"[{', '.join(map(str, index))}]" if index else ""


def lane_of(step):
    """The lane of a `vmap`, a number or a tuple of them; None outside."""
    lanes = getattr(step.eqn.source, "lanes", 0)
    found = [t.number for t in step.trips if t.lane] + list(step.index[:lanes])
    return None if not found else found[0] if len(found) == 1 else tuple(found)


def within_lane(step):
    """The index in the value of one lane."""
    return step.index[getattr(step.eqn.source, "lanes", 0) :]


def variable_of(birth):
    """(the variable that first holds the number, its index there): of the line, else of one that it goes on to."""
    first = birth.step.eqn.source
    if first is None:
        return None, birth.step.index
    here = [s for s in birth.path if s.eqn.source is not None and line_of_step(s) == (first.file, first.line)]
    for step in here:
        found = name_at(step)
        if found is not None:
            return found, within_lane(step)
    target = assigned(first) if not first.mark else None
    if target is not None:
        return target, within_lane(birth.step)
    for step in itertools.takewhile(hands_on, birth.path):
        found = None if step.eqn.op.name in INTO else name_at(step)
        if found is not None and marked(step) == bool(first.mark):  # what a line gives is no derivative's variable
            return found, within_lane(step)
    return None, within_lane(birth.step)


def hands_on(step):
    """Whether a value on the way is the number itself, moved or changed element by element, and no other that is made
    of it; a region's result is what its body gives, which stands before it."""
    return "elementwise" in step.eqn.op.traits or step.eqn.op.name in MOVED or step.eqn.op.name in INTO


def marked(step):
    """Whether a step is part of a derivative."""
    return step.eqn.source is not None and bool(step.eqn.source.mark)


def line_of_step(step):
    return step.eqn.source.file, step.eqn.source.line


def name_at(step):
    """The variable that holds the value of a step: the one that it is stored into, too."""
    if step.eqn.op.name in STORES and step.eqn.source is not None and not step.eqn.source.mark:
        target = stored_into(step.eqn.source)
        if target is not None:
            return target
    return hint_name(step.eqn.results[step.result])


def operands_of(birth):
    """[(how an operand is spelled, its value as text)] of what decides the number."""
    eqn, found = birth.step.eqn, []
    for k, (atom, x) in enumerate(zip(eqn.operands, birth.operands)):
        if isinstance(atom, Lit):
            continue
        index, at = birth.step.index, birth.step.index
        if "elementwise" in eqn.op.traits:
            atom, at = unspread(atom, index)
        name = spelling_of(atom)
        if name is None or is_within(atom, eqn):  # the expression has no name of its own for what is made within it
            name = operand_text(eqn, k) or f"operand {k}"
        if eqn.source is not None and eqn.source.mark and (kept := kept_value(atom)):
            name = kept
        if "elementwise" in eqn.op.traits:
            found.append((item_of(name, at), shown_number(np.asarray(x)[index])))
        elif "reduction" in eqn.op.traits:
            rest = iter(index)
            cut = tuple([slice(None) if a in eqn.attrs["axes"] else next(rest) for a in range(x.ndim)])
            found.append((name, summary(x[cut])))
        elif ir_kind(x.dtype) in "fc":
            found.append((name, summary(x)))
    return list(dict.fromkeys(found))[:MOST]


def unspread(atom, index):
    """(the value of the user's that a value is a broadcast of, the index there of its item at `index`)."""
    eqn = getattr(atom, "eqn", None)
    while eqn is not None and eqn.op.name == "broadcast" and hint_name(atom) is None:
        if not isinstance(eqn.operands[0], Value):
            break
        (atom,) = eqn.operands
        index = tuple([index[d] if n != 1 else 0 for n, d in zip(atom.type.shape, eqn.attrs["dims"])])
        eqn = atom.eqn
    return atom, index


def is_within(atom, eqn):
    """Whether a value was made by the very instruction of the user's that an equation is of, and has no name."""
    made = atom.eqn.source if getattr(atom, "eqn", None) is not None and not hint_name(atom) else None
    source = eqn.source
    return made is not None and source is not None and not made.mark and not source.mark and one_place(made, source)


def kept_value(atom):
    """The name of a value of a derivative that the loop on the way there has kept for each of its trips; None for all
    others."""
    while getattr(atom, "eqn", None) is not None and atom.eqn.op.name in ("reshape", "dynamic_slice", "slice"):
        atom = atom.eqn.operands[0]
    name = hint_name(atom) if isinstance(atom, Value) and atom.eqn is None else None
    if name is None or not name.startswith("saved"):
        return None
    return name.removeprefix("saved_") if name.startswith("saved_") else "what was kept of the iteration"


def item_of(name, index):
    """The text of an item of what is called so."""
    return f"{name if name.isidentifier() or not index else f'({name})'}{indexed(index)}"


def summary(x):
    """An array in a few words."""
    if x.size <= MOST:
        return np.array2string(x, separator=", ")
    infinite = int(np.isinf(x).sum())
    shape = "x".join(map(str, x.shape))
    low, high = np.nanmin(x.real), np.nanmax(x.real)
    return f"{shape} numbers from {low:.6g} to {high:.6g}" + (f", {infinite} of them infinite" if infinite else "")


def iteration_told(loop, adjoint):
    """The text of an Iteration."""
    if loop.source is None:
        return f"{loop.at} of a loop"
    where = f"; {loop.name} = {loop.value}" if loop.name is not None else ""
    way = ", on the way back" if loop.back and adjoint else ""
    return f"{loop.at} (counted from 0{where}) of the loop in line {loop.source.line}{way}"


def cause_told(cause):
    """Where the infinity comes from of which a NaN was born."""
    if isinstance(cause, Birth) and cause.step.eqn.source is not None:
        source = cause.step.eqn.source
        way = "the derivative of " if source.mark else ""
        text = f"{way}{expression(source) or cause.step.eqn.op.name}"
        loops = iterations(cause.step.trips)
        at = f", iteration {', '.join(str(loop.at) for loop in loops)}" if loops else ""
        said = [f"the infinity was born in line {source.line}: {text}{at}"]
        return said + [f"           where {n} = {v}" for n, v in operands_of(cause)]
    if isinstance(cause, Arrived) and cause.param is not None and hasattr(cause.param, "hint"):
        return [f"the infinity was in {cause.param.hint}{indexed(cause.index)} when the call began"]
    return []
