"""A function of one example, captured to be applied to a whole axis of them at once.

The function is captured once, on one lane; its IR then gets one more axis through every equation that
depends on a mapped argument. Branches stay branches where all lanes agree on the condition.
"""

from ...autodiff.batch import batch_into, spread
from ...ir.core import Lit, Value
from ...ir.ops import OPS
from ..capture.capture import Kind, kind_of
from ..capture.handover import ARRAY, SCALAR
from ..common import pytree
from ..common.emit import INDEX, cast_to, reshape_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..numpy_api.handles import value_of
from ..values.array import Traced, TracedArray, fresh
from ..values.storage import current_trace
from .inner import Inner

RAGGED = (
    "A list of arrays is a container of arrays that are mapped side by side. For a list of examples of different "
    "lengths write vmap(f, ragged=True)."
)


def spread_prefix(axes, tree_of, what):
    """One entry of `axes` a leaf of `tree_of`: an int or None stands for all leaves below it."""
    if axes is None or isinstance(axes, int):
        return [axes] * len(pytree.leaves(tree_of))
    inside = (
        list(tree_of.items())
        if isinstance(tree_of, dict)
        else list(enumerate(tree_of))
        if isinstance(tree_of, list | tuple)
        else None
    )
    given = dict(axes) if isinstance(axes, dict) else dict(enumerate(axes)) if isinstance(axes, list | tuple) else None
    if inside is None or given is None or set(given) != {k for k, _ in inside}:
        text = f"{what}={axes!r} does not match {pytree.structure(tree_of)}"
        raise with_note(ValueError, message(text, locate(), f"Write {what}=0, or one axis or None for each."))
    inside = sorted(inside, key=lambda item: item[0]) if isinstance(tree_of, dict) else inside
    return [axis for k, part in inside for axis in spread_prefix(given[k], part, what)]


class MappedFunction(Inner):
    """A function captured on one lane of its mapped arguments."""

    once = False

    def __init__(self, function, args, kwargs, signature, in_axes):
        if isinstance(in_axes, list):
            in_axes = tuple(in_axes)
        self.axes = spread_prefix(in_axes, args, "in_axes") + [0] * len(pytree.leaves(kwargs))
        self.holds_lists = any(isinstance(x, list | tuple) and len(x) > 1 for x in (*args, *kwargs.values()))
        mapped = [i for i, axis in enumerate(self.axes) if axis is not None]
        self.name = getattr(function, "__name__", type(function).__name__)
        super().__init__(function, args, kwargs, signature, mapped)

    def kind(self, i):
        leaf, axis = self.leaves[i], self.axes[i]
        if axis is None:
            return kind_of(leaf, self.names[i])
        shape = leaf.type.shape
        if not -len(shape) <= axis < len(shape):
            text = f"argument {self.names[i]} is {leaf.type}, and is mapped over axis {axis}"
            raise with_note(
                ValueError, message(text, locate(), "Map over an axis it has, or pass None in in_axes for it.")
            )
        self.axes[i] = axis = axis % len(shape)
        lane = leaf.type.like((*shape[:axis], *shape[axis + 1 :]))
        return Kind(
            lane, ARRAY if lane.shape else SCALAR, isinstance(leaf, TracedArray) and not leaf.writeable, self.names[i]
        )

    def size(self):
        sizes = {self.names[i]: self.leaves[i].type.shape[axis] for i, axis in enumerate(self.axes) if axis is not None}
        if len(set(sizes.values())) != 1:
            said = ", ".join(f"{name} has {n}" for name, n in sizes.items()) or "no argument is mapped"
            text = f"vmap of {self.name}: the mapped axes must be of one size; {said}"
            raise with_note(ValueError, message(text, locate(), RAGGED if self.holds_lists else None))
        return next(iter(sizes.values()))

    def refuse_leaves(self):
        self.size()  # before the function meets a list that was meant as examples

    def run(self):
        """Append the batched program -> [(value, whether it carries the mapped axis) a result leaf]."""
        captured, root, size = self.captured, current_trace().root, self.size()
        operands, flags = [], []
        for i in self.places:
            axis, value = self.axes[i], self.leaves[i].value
            operands.append(value if axis is None else moved(value, axis, 0))
            flags.append(axis is not None)
        operands += self.operands[len(operands) :]
        flags += [False] * (len(operands) - len(flags))
        results, carried = batch_into(current_trace().build, self.func, operands, flags, size)
        leaf_of = {place: i for i, place in self.places.items()}
        at = captured.values
        for place in captured.writes:
            leaf, axis = self.leaves[leaf_of[place]], self.axes[leaf_of[place]]
            value = results[at] if carried[at] or axis is None else spread(results[at], size)
            if carried[at] and axis is None:
                raise self.taking_turns(f"writes argument {self.names[leaf_of[place]]}, which all lanes share")
            leaf.write(value if axis is None else moved(value, 0, axis))
            at += 1
        for storage in captured.effects:
            if not carried[at]:
                storage.write(results[at])
            elif storage is root.status:
                storage.write(first_failed(results[at]))
            else:
                raise self.taking_turns("writes an array from outside, which all lanes share")
            at += 1
        return [(results[k], carried[k]) if k is not None else None for k in self.shown], size

    def taking_turns(self, what):
        text = f"under vmap, {self.name} {what}: lanes have no order"
        return UnsupportedError(message(text, locate(), "Return what is written, or write a loop over the axis."))

    def returned(self, found, out_axes):
        """What the function returned, the mapped axis where `out_axes` says."""
        results, size = found
        outs = self.captured.outs
        probe = self.captured.rebuild([*range(len(outs))])
        axes = dict(zip(pytree.leaves(probe), spread_prefix(out_axes, probe, "out_axes")))
        return self.captured.rebuild(
            [self.stacked(out, r, axes[n], size) for n, (out, r) in enumerate(zip(outs, results))]
        )

    def stacked(self, out, result, axis, size):
        if result is None:
            if (
                not isinstance(out.object, Traced)
                and not hasattr(out.object, "dtype")
                and not isinstance(out.object, bool | int | float | complex)
            ):
                return out.object
            result = value_of(out.object), False
        value, carried = result
        if axis is None:
            if carried:
                raise with_note(
                    ValueError,
                    message(
                        f"out_axes is None for a result of {self.name} that differs from lane to lane",
                        locate(),
                        "Give its axis.",
                    )
                )
            return fresh(value)
        value = value if carried else spread(value, size)
        ndim = value.type.ndim
        if not -ndim <= axis < ndim:
            raise with_note(
                ValueError, message(f"out_axes={axis} is no axis of a result of {self.name}, {value.type}", locate())
            )
        return fresh(moved(value, 0, axis % ndim))


def moved(value, source, target):
    """An axis of a value put elsewhere."""
    if source == target:
        return value
    order = [d for d in range(value.type.ndim) if d != source]
    order.insert(target, source)
    if isinstance(value, Lit):
        return Lit(value.value, value.type.like(tuple(value.type.shape[d] for d in order)))
    return OPS["transpose"](value, perm=tuple(order))


def first_failed(status):
    """The status of the first lane where something failed."""
    if not isinstance(status, Value):
        return reshape_to(status, ())
    bad = OPS["ne"](status, Lit(0, status.type))
    lane = OPS["argmax"](cast_to(bad, INDEX), axis=0)
    return reshape_to(OPS["dynamic_slice"](status, lane, sizes=(1,)), ())
