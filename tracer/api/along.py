"""np.apply_along_axis, np.apply_over_axes and np.vectorize: a function traced once on one line or element of arrays,
then batched over all."""

import math
import operator

import numpy as np

from ...autodiff.batch import batch
from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.types import Tensor
from ..capture.capture import Kind, capture
from ..capture.handover import ARRAY
from ..common import pytree
from ..common.emit import cast_to, filled, reshape_to, spread_to
from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..numpy_api.arguments import flat, traced
from ..numpy_api.handles import dtype_of, handle, value_of
from ..numpy_api.registry import HANDLERS, implements
from ..numpy_api.shaping import expand_dims, moveaxis
from ..regions import hooks
from ..values.array import bring, fresh
from ..values.mixed import widest_number
from ..values.promote import broadcast_shapes, checked
from ..values.storage import current_trace


@implements(np.apply_along_axis)
def apply_along_axis(func1d, axis, arr, *args, **kwargs):
    x = handle(arr)
    axis = np.lib.array_utils.normalize_axis_index(operator.index(axis), x.ndim)
    lead = x.shape[:axis] + x.shape[axis + 1 :]
    size = int(np.prod(lead, dtype=object))
    if not size:
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    lines = reshape_to(moveaxis(x, axis, -1).value, (size, x.shape[axis]))
    row = Kind(Tensor(lines.type.shape[1:], lines.type.dtype), ARRAY, True)
    (found,) = on_every(
        "np.apply_along_axis", lambda line: fresh(value_of(func1d(line, *args, **kwargs))), [row], [lines]
    )
    rest = found.type.shape[1:]
    whole = fresh(reshape_to(found, (*lead, *rest)))
    return moveaxis(whole, range(len(lead), whole.ndim), range(axis, axis + len(rest)))


def on_every(name, function, kinds, columns):
    """The results of `function` for every row of the columns, stacked: traced on one of them, and batched."""
    leaves, tree = pytree.flatten((tuple(kinds), {}))
    trace = current_trace()
    captured = capture(function, leaves, tree, kinds, "along", parent=trace)
    status = trace.root.status
    if any(storage is not status for storage in captured.effects):
        text = f"the function given to {name} writes into an array outside it"
        raise UnsupportedError(message(text, locate(), "Return what it computes instead."))
    func = batch(captured.func, (*(True for _ in columns), *(False for _ in captured.lifted)), columns[0].type.shape[0])
    found = trace.build.inline(func, (*columns, *map(bring, captured.lifted)))
    results, failed = found[: captured.values], found[captured.values :]
    if failed:  # the status of the whole is that of the first line that failed
        bad = OPS["ne"](failed[0], Lit(0, failed[0].type))
        first = OPS["dynamic_slice"](failed[0], OPS["argmax"](bad, axis=0), sizes=(1,))
        status.write(reshape_to(first, ()))
    return results


# -- elements --------------------------------------------------------------------------------------


class Vectorized:
    """np.vectorize(f) on traced arrays: f is traced once on Python numbers, which is what NumPy calls it on, and
    batched over all elements."""

    def __init__(self, real):
        self.real, self.pyfunc = real, hooks.call(real.pyfunc)

    def __call__(self, *args, **named):
        if self.real.signature is not None or self.real.excluded or self.real.cache or named:
            text = (
                "np.vectorize with a signature, excluded or named arguments, or a cache is not captured on traced "
                "values"
            )
            raise UnsupportedError(message(text, locate(), "Write a loop: for i in range(n): y[i] = f(x[i])."))
        args = [traced(x) for x in args]
        shape = broadcast_shapes([x.shape for x in args])
        many, dtypes = self.dtypes(args)
        if not math.prod(shape):
            made = [fresh(filled(0, shape, d)) for d in dtypes]
        else:
            columns = [flat(spread_to(cast_to(x.value, python_dtype(x.dtype)), shape)) for x in args]
            kinds = [Kind(c.type.like(()), c.type.dtype.type(0).item().__class__) for c in columns]
            made = on_every("np.vectorize", lambda *xs: self.elements(xs, many, dtypes), kinds, columns)
            made = [fresh(reshape_to(v, shape)) for v in made]
        return tuple(made) if many else made[0]

    def dtypes(self, args):
        """(whether f gives a tuple, the dtypes of the results): those of f on the first elements, NumPy's scalars."""
        if self.real.otypes is not None:
            return len(self.real.otypes) > 1, [checked(np.dtype(t)) for t in self.real.otypes]
        if any(not x.size for x in args):
            raise with_note(
                ValueError, message("cannot call `vectorize` on size 0 inputs unless `otypes` is set", locate())
            )
        root = current_trace().root
        before = root.mixed
        found = self.pyfunc(*[x.ravel()[0] for x in args])
        if root.mixed != before:
            text = (
                "np.vectorize takes the dtype of what the function gives first, and here data decide whether that is "
                "an int or a float"
            )
            raise UnsupportedError(message(text, locate(), "Say which: np.vectorize(f, otypes=[float])."))
        return isinstance(found, tuple), [
            dtype_of(widest_number(x)) for x in (found if isinstance(found, tuple) else (found,))
        ]

    def elements(self, xs, many, dtypes):
        """What f gives for one element each, as NumPy makes arrays of it."""
        found = self.pyfunc(*xs)
        found = found if many else (found,)
        if type(found) is not tuple or len(found) != len(dtypes):
            raise with_note(
                ValueError,
                message("np.vectorize: the function does not always give the same number of results", locate())
            )
        return tuple(self.stored(x, dtype) for x, dtype in zip(found, dtypes))

    def stored(self, x, dtype):
        value = value_of(widest_number(x))
        have, safe = value.type.dtype, np.can_cast(value.type.dtype, dtype, "safe")
        if value.type.shape or not safe and (have.kind + dtype.kind) not in (
            "ff", "cc", "ii", "iu", "ui", "uu", "if", "bi", "bf", "ib", "fb",
        ):
            text = f"np.vectorize: the function gives {value.type}, where an element of dtype {dtype} is to be stored"
            raise UnsupportedError(
                message(
                    text, locate(), "Let it give numbers of one kind, and say which: np.vectorize(f, otypes=[float])."
                )
            )
        if not safe and dtype.kind in "iu":
            info, given = np.iinfo(dtype), fresh(value)
            inside = np.logical_and(given >= int(info.min), given <= int(info.max))
            current_trace().check(
                value_of(inside), OverflowError, message(f"Python integer out of bounds for {dtype}", locate())
            )
        return fresh(cast_to(value, dtype))


def python_dtype(dtype):
    """The dtype of the Python numbers that elements of a dtype are."""
    if dtype == np.uint64:
        raise UnsupportedError(
            message(
                "np.vectorize of np.uint64, whose numbers may exceed the 64 bits of ints", locate(), "Give it np.int64."
            )
        )
    return np.dtype({"b": bool, "i": np.int64, "u": np.int64, "f": np.float64, "c": np.complex128}[dtype.kind])


HANDLERS[np.vectorize] = Vectorized


@implements(np.apply_over_axes)
def apply_over_axes(func, a, axes):
    x = traced(a)
    for axis in (axes,) if isinstance(axes, int | np.integer) else axes:
        axis = axis + x.ndim if axis < 0 else axis
        found = traced(func(x, axis))
        found = found if found.ndim == x.ndim else expand_dims(found, axis)
        if found.ndim != x.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        x = found
    return x
