"""`vmap(f, ragged=True)`: a function of one example applied to examples of many lengths, as a loop over them does.

Outside a trace each example is a call of the compiled function, of which a program of symbolic sizes is looked for at
the first of them. In a trace, examples of one shape are one batch where nothing is written and nothing else tells their
order; the others are called one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...ir.walk import every_equation
from ..call.pickled import remembered
from ..common import pytree
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..regions import hooks
from ..regions.foreign import CAPTURING
from ..values.array import TracedArray, TracedScalar, fresh
from ..values.mixed import Mixed
from ..values.storage import current_trace
from .differentiable import compiled
from .inner import Inner, name_of, wrapped
from .jit import jit, wrapper
from .mapped import MappedFunction
from .typed import CompiledFunction

PLAIN = bool | int | float | complex | str | bytes
ORDERED = ("host", "draw")
ADVICE = (
    "With ragged=True a mapped argument is a list of examples, in_axes=0, or an array with an axis of them; pass "
    "in_axes=None for what every example gets."
)


def ragged_vmap(function: Callable[..., Any], in_axes: Any) -> CompiledFunction[..., Any]:
    """The function that `vmap(function, in_axes, ragged=True)` gives."""
    in_axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    whole = compiled(_by_shape, function, "vmap", in_axes)
    one: Any = function if hasattr(function, "compiled") else jit(function, dynamic=True)

    def each(*args: Any, **kwargs: Any) -> Any:
        if current_trace() is not None:
            return whole(*args, **kwargs)
        return [one(*given, **named) for given, named in Examples(name_of(function), in_axes, args, kwargs)]

    CAPTURING.add(each.__code__)
    front = wrapper(whole.callee, whole, function, each)

    def text(kind: str, /, *args: Any, **kwargs: Any) -> str:
        """Of these arguments; without any, of the program of one example, as its calls have made it."""
        return (whole if args or kwargs else one).text(kind, *args, **kwargs)

    front.explain, front.text = one.explain, text
    return remembered(front, "vmap", in_axes=in_axes, ragged=True)


class Examples:
    """The calls that a batch stands for: iterates over the (args, kwargs) of each, and has their number as its length.

    Raises ValueError where arguments have different numbers of examples, or none is mapped.
    """

    def __init__(self, name: str, in_axes: Any, args: tuple[Any, ...], kwargs: dict[str, Any]):
        self.name, self.args, self.kwargs = name, args, kwargs
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        if len(axes) != len(args):
            raise self.refused(f"in_axes={in_axes!r} has an entry for {len(axes)} arguments, and {len(args)} are given")
        self.axes, self.counts = axes, dict[str, int]()
        for k, (axis, x) in enumerate(zip(axes, args, strict=True)):
            self.count(axis, x, f"argument {k}")
        for key, x in kwargs.items():
            self.count(0, x, f"argument {key}")
        if len(set(self.counts.values())) != 1:
            said = ", ".join(f"{what} has {n}" for what, n in self.counts.items()) or "no argument is mapped"
            raise self.refused(f"vmap of {name}: there must be one number of examples; {said}")

    def refused(self, text: str) -> BaseException:
        return with_note(ValueError, message(text, locate(), ADVICE))

    def count(self, axis: Any, x: Any, what: str) -> None:
        """Note how many examples there are in what an argument holds."""
        if isinstance(axis, tuple | list | dict):
            for key, inner, part in axes_and_parts(axis, x) or ():
                self.count(inner, part, f"{what}[{key!r}]")
            if axes_and_parts(axis, x) is None:
                raise self.refused(f"in_axes={axis!r} does not match {what} of vmap({self.name}), {type(x).__name__}")
        elif axis is not None and isinstance(x, list | tuple):
            if axis != 0:
                raise self.refused(f"{what} of vmap({self.name}) is a {type(x).__name__}, which has no axis {axis}")
            self.counts[what] = len(x)
        elif axis is not None:
            shape = getattr(x, "shape", ())
            if not -len(shape) <= axis < len(shape):
                raise self.refused(f"{what} of vmap({self.name}) has no axis {axis} of examples, but shape {shape}")
            self.counts[what] = shape[axis]

    def __len__(self) -> int:
        return next(iter(self.counts.values()))

    def __iter__(self) -> Iterator[tuple[list[Any], dict[str, Any]]]:
        for k in range(len(self)):
            args = [example(axis, x, k) for axis, x in zip(self.axes, self.args, strict=True)]
            yield args, {key: example(0, x, k) for key, x in self.kwargs.items()}


def axes_and_parts(axes: Any, x: Any) -> list[tuple[Any, Any, Any]] | None:
    """[(key, entry of the axes, part)] of a container and axes for it; None where they do not match."""
    if isinstance(axes, dict):
        return [(k, axes[k], x[k]) for k in x] if isinstance(x, dict) and set(x) == set(axes) else None
    if not isinstance(x, list | tuple) or len(x) != len(axes):
        return None
    return [(k, axis, part) for k, (axis, part) in enumerate(zip(axes, x, strict=True))]


def example(axes: Any, x: Any, k: int) -> Any:
    """What the example of this number gets of an argument."""
    if axes is None:
        return x
    if isinstance(axes, dict):
        return {key: example(axes[key], x[key], k) for key in x}
    if isinstance(axes, tuple | list):
        return type(x)([example(axis, part, k) for axis, part in zip(axes, x, strict=True)])
    return x[k] if axes == 0 else x[(slice(None),) * (axes % len(x.shape)) + (k,)]


# -- in a trace ------------------------------------------------------------------------------------


def _by_shape(function: Any, signature: Any, in_axes: Any, args: Any, kwargs: Any) -> list[Any]:
    """The results of all examples, those of one shape as one batch."""
    calls = [*Examples(name_of(function), in_axes, args, kwargs)]
    groups: dict[Any, list[int]] = {}
    for k, call in enumerate(calls):
        groups.setdefault(alike_key(call, k), []).append(k)
    results: list[Any] = [None] * len(calls)
    batches = batches_of(function, signature, [[calls[k] for k in g] for g in groups.values()])
    if batches is None:
        return [hooks.call(function)(*given, **named) for given, named in calls]
    for members, batch in zip(groups.values(), batches, strict=True):
        for k, result in zip(members, batch.results(), strict=True):
            results[k] = result
    return results


def alike_key(call: Any, k: int) -> Any:
    """Equal for examples that can be lanes of one batch."""
    leaves, tree = pytree.flatten(call)
    said: list[Any] = [tree, pytree.hashable(pytree.key_order(call))]
    for x in leaves:
        if is_stackable(x):
            said.append((isinstance(x, TracedScalar | np.generic), tuple(x.shape), str(x.dtype)))
        else:
            said.append(id(x))
    return tuple(said)


def is_stackable(x: Any) -> bool:
    """Whether x is an array, or a number of NumPy's."""
    if isinstance(x, TracedScalar):
        return x.weak is None
    return isinstance(x, TracedArray | np.generic) or type(x) is np.ndarray


def batches_of(function: Any, signature: Any, groups: list[list[Any]]) -> list[Batch] | None:
    """The batches of groups of examples; None where there is nothing to gain, or what the examples do tells their
    order."""
    if all(len(group) == 1 for group in groups):
        return None
    made = []
    for group in groups:
        try:
            made.append(Batch(function, signature, group))
        except UnsupportedError:  # of what lanes may not do, and examples one after the other may
            return None
        if not made[-1].is_free():
            return None
    return made


class Batch(MappedFunction):
    """A function captured on one of several examples of one shape."""

    def __init__(self, function: Any, signature: Any, calls: list[Any]):
        columns = [*zip(*map(pytree.leaves, calls), strict=True)]
        same = [all(x is column[0] for x in column) for column in columns]
        leaves = [c[0] if one else np.stack(c) for c, one in zip(columns, same, strict=True)]
        args, kwargs = pytree.unflatten(pytree.structure(calls[0]), leaves, pytree.key_order(calls[0]))
        self.axes, self.count, self.name = [None if one else 0 for one in same], len(calls), name_of(function)
        self.has_kinds = False  # whether data decide of which kind a number among the results is

        def looked_at(*args: Any, **kwargs: Any) -> Any:
            result = hooks.call(function)(*args, **kwargs)
            self.has_kinds |= any(type(x) is Mixed for x in pytree.leaves(result))
            return result

        CAPTURING.add(looked_at.__code__)
        Inner.__init__(self, looked_at, args, kwargs, signature, [k for k, one in enumerate(same) if not one])

    def size(self) -> int:
        return self.count

    def is_free(self) -> bool:
        """Whether the examples could come in any order: nothing is written, drawn or called, and results are new."""
        captured = self.captured
        if self.has_kinds or captured.writes or any(s is not current_trace().root.status for s in captured.effects):
            return False
        if any(eqn.op.name in ORDERED for eqn in every_equation(captured.func)):
            return False
        values = [out for out in captured.outs if out.how == "value"]
        objects = [out.object for out in captured.outs if out.how == "object"]
        return (
            len(values) + len(objects) == len(captured.outs)
            and not any(out.chain for out in values)
            and len({out.index for out in values}) == len(values)
            and all(x is None or isinstance(x, PLAIN) for x in objects)
        )

    def results(self) -> list[Any]:
        """What the function returns for each example."""
        found, size = self.run()
        each = [[self.leaf(out, r, k) for out, r in zip(self.captured.outs, found, strict=True)] for k in range(size)]
        return [self.captured.rebuild(leaves) for leaves in each]

    def leaf(self, out: Any, result: Any, k: int) -> Any:
        """A leaf of the result of one example."""
        if result is None:
            return out.object
        value, carried = result
        if carried:
            taken: Any = fresh(value)[k]
            value = taken.value
        return wrapped(value, out.kind)
