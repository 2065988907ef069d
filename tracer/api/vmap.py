"""`vmap`: a function of one example applied to many, as a whole axis of arrays or as a list of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..call.pickled import remembered
from .differentiable import check_function, compiled
from .mapped import MappedFunction
from .ragged import ragged_vmap
from .typed import CompiledFunction


def vmap(
    function: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0, *, ragged: bool = False
) -> CompiledFunction[..., Any]:
    """`function` over an axis of its arguments: as a loop over that axis that stacks the results, in one program.

    in_axes:  the axis of each array that is mapped over, or None for what every lane gets whole: one for
              all arguments, or a tuple with one for each positional argument, which may be a container that
              matches the argument's. Keyword arguments are mapped over axis 0.
    out_axes: where the mapped axis is in the results: one for all, or a container that matches the result.
    ragged:   examples may be of different shapes. A mapped argument is a list or tuple of them (in_axes 0), or an array
              with an axis of them, and the result is the list `[function(...) for each example]`, in order: of any
              function, which may also write its example, draw and print. One program serves all lengths where the
              function allows it (docs/guide/sizes.md); in a trace, examples of one shape are one batch.

    An array that the function writes in place has all its lanes written. Shapes, kinds and dtypes
    inside are those of one lane: of a vector, NumPy scalars. Every lane draws random numbers of its own, all
    those of one draw before the next. Raises ValueError where mapped axes differ in size or there is none,
    UnsupportedError where lanes would have to take turns: a shared array is written.

    >>> import numpy as np
    >>> from wengert import vmap
    >>> vmap(lambda w, x: w @ x, in_axes=(None, 0))(np.array([1.0, 2.0]), np.arange(6.0).reshape(3, 2))
    array([ 2.,  8., 14.])
    >>> vmap(np.sum, ragged=True)([np.ones(2), np.ones(5)])
    [np.float64(2.0), np.float64(5.0)]
    """
    check_function(function, "vmap")
    if ragged:
        if out_axes != 0:
            text = f"vmap(ragged=True) gives a list of results, which have no common axis, and out_axes={out_axes!r}"
            raise ValueError(f"{text}\n  Leave it out, and stack the results: np.stack(results, axis).")
        return ragged_vmap(function, in_axes)
    front = compiled(_mapped, function, "vmap", in_axes, out_axes)
    return remembered(front, "vmap", in_axes=in_axes, out_axes=out_axes)


def _mapped(function, signature, in_axes, out_axes, args, kwargs):
    lanes = MappedFunction(function, args, kwargs, signature, in_axes)
    return lanes.returned(lanes.run(), out_axes)
