"""A function inside a trace: captured as IR with the current trace around it, for a transform to apply."""

import numpy as np

from ...ir.core import Builder, Func, Lit, Value
from ..capture.capture import capture, kind_of
from ..capture.handover import ARRAY, SCALAR
from ..capture.signature import names_of
from ..common import pytree
from ..common.errors import DerivativeError, UnsupportedError, message
from ..common.frames import locate
from ..rules import rules
from ..values.array import Traced, TracedScalar, bring, fresh
from ..values.array_object import ArrayObject
from ..values.mixed import Mixed
from ..values.promote import operand_as, read, result_dtype
from ..values.storage import current_trace


class Inner:
    """A function captured inside the current trace: its IR, the operands it is applied to, its leaves."""

    once = True  # whether the current trace runs it once

    def __init__(self, function, args, kwargs, signature, selected=()):
        """selected: indices among the leaves of (args, kwargs) that must become traced, being differentiated."""
        self.leaves, self.tree = pytree.flatten((args, kwargs))
        self.names = names_of(signature, args, kwargs)
        for i in selected:
            self.leaves[i] = as_traced(self.leaves[i], self.names[i])
        stand_ins, kinds, self.places = list(self.leaves), [], {}
        for i, leaf in enumerate(self.leaves):
            if isinstance(leaf, Traced):
                stand_ins[i] = self.kind(i)
                self.places[i] = len(kinds)  # leaf -> parameter
                kinds.append(stand_ins[i])
        self.refuse_leaves()
        self.captured = capture(
            function,
            stand_ins,
            self.tree,
            kinds,
            name_of(function),
            current_trace(),
            pytree.key_order((args, kwargs)),
            once=self.once,
            given=[self.leaves[i].value for i in self.places] if self.once else (),
        )
        # of derivatives and batches they are to be found no more
        self.captured.func = rules.applied(self.captured.func)
        # shown: which result each leaf's value is, None where it is an object
        self.func, self.shown = with_shown(self.captured)
        self.operands = [self.leaves[i].value for i in self.places] + [bring(v) for v in self.captured.lifted]

    def refuse_leaves(self):
        """Raise where leaves are none that the function can be run on."""

    def kind(self, i):
        """What leaf i is in the function."""
        return kind_of(self.leaves[i], self.names[i])

    def settle(self, results):
        """Give the arrays that the inner function wrote their new values."""
        captured, after = self.captured, list(results[self.captured.values :])
        leaf_of = {place: i for i, place in self.places.items()}
        for place, value in zip(captured.writes, after):
            self.leaves[leaf_of[place]].write(value)
        for storage, value in zip(captured.effects, after[len(captured.writes) :]):
            storage.write(value)

    def returned(self, results):
        """What the function returned, as traced objects of the current trace."""
        leaf_of = {place: i for i, place in self.places.items()}
        leaves = [returned(o, results, self.leaves, leaf_of) for o in self.captured.outs]
        return self.captured.rebuild(leaves)


def with_shown(captured):
    """(the function, with the values of what is returned as a view or as an argument behind its other results; which
    result each leaf is)."""
    func = captured.func
    build = Builder(func.name)
    build.params, build.eqns = list(func.params), list(func.eqns)
    build.values = {*func.params, *(r for e in func.eqns for r in e.results)}
    results, shown = list(func.results), []
    after = dict(zip(captured.writes, func.results[captured.values :]))
    with build:
        for out in captured.outs:
            if out.how not in ("argument", "value"):
                shown.append(None)
            elif out.how == "value" and not out.chain:
                shown.append(out.index)
            else:
                value = (
                    after.get(out.index, func.params[out.index]) if out.how == "argument" else func.results[out.index]
                )
                for step in out.chain:
                    value = step.get(value)
                shown.append(len(results))
                results.append(value)
    return (
        func if len(results) == len(func.results) else Func(func.name, build.params, build.eqns, tuple(results))
    ), shown


def returned(out, results, leaves, leaf_of):
    if out.how in ("object", "copy"):
        return out.object
    array = leaves[leaf_of[out.index]] if out.how == "argument" else wrapped(results[out.index], out.kind)
    if out.kind is not ARRAY and out.chain:
        return wrapped(out.chain[0].get(results[out.index]), out.kind)
    for step in out.chain:
        array = array.window(step)
    return array


def wrapped(value, kind):
    if kind is ARRAY:
        return fresh(value)
    return TracedScalar(value, None if kind is SCALAR else kind)


def as_traced(leaf, name):
    """A concrete leaf that is differentiated, as a traced object."""
    if isinstance(leaf, Traced):
        return leaf
    if isinstance(leaf, ArrayObject):
        kind = type(leaf).__stands_for__.__name__
        text = f"argument {name}, a {kind}, is differentiated or mapped: it is more than its elements"
        hint = f"Pass the array, np.asarray({name}), and make the {kind} of it within the function."
        raise DerivativeError(message(text, locate(), hint))
    try:
        operand, key = read(leaf)
    except UnsupportedError:
        if not getattr(leaf, "__dict__", None):
            raise
        kind = type(leaf).__name__
        text = f"argument {name}, a {kind}, is differentiated or mapped: what it holds are attributes"
        hint = "Pass a dict, tuple or list of its arrays, and make the object of it within the function."
        raise DerivativeError(message(text, locate(), hint)) from None
    dtype = result_dtype([key])
    weak = key if isinstance(key, type) and key in (float, complex) else None
    value = operand_as(operand, dtype)
    return TracedScalar(value, weak) if not value.type.shape and not hasattr(leaf, "flags") else fresh(value)


def like_type(leaf, type, what, source=None):
    """A tangent or cotangent leaf as a value of `type`, or an error that states both types, at `source` or the line now
    running."""
    operand, key = read(leaf.widest() if isinstance(leaf, Mixed) else leaf)
    dtype = result_dtype([key])
    weak = key in (bool, int, float, complex)
    if weak and np.can_cast(dtype, type.dtype, "same_kind"):
        dtype = type.dtype
    shape = operand.type.shape if isinstance(operand, Value | Lit) else ()
    if shape != type.shape or dtype != type.dtype:
        raise DerivativeError(
            message(
                f"the {what} has shape {shape} and dtype {dtype}; its value is {type}",
                source or locate(),
                f"Give np.asarray(g, np.{type.dtype.name}) of shape {type.shape}.",
            )
        )
    return operand_as(operand, type.dtype)


def name_of(function):
    return getattr(function, "__name__", type(function).__name__).replace("<lambda>", "lambda")
