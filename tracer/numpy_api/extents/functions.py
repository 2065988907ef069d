"""NumPy's functions of bounded arrays: elementwise ones where extents meet, reductions of what is meant, everything
else refused."""

import numpy as np

from ....ir.ops import OPS
from ...common.emit import counted, reshape_to
from ...common.errors import UnsupportedError, message, with_note
from ...common.frames import locate
from ...extents.align import aligned_operands, covered, ranks
from ...extents.bounded import BoundedArray, SpanExtent, made, mentioned, refused
from ...extents.indexing import assign, getitem
from ...extents.numbers import number, traced
from ...extents.windows import FLIP, WHOLE, view
from ...values.array import TracedArray, fresh
from ..handles import handle
from ..registry import HANDLERS, METHODS
from ..ufunc_calls import apply_ufunc, call_ufunc, casting_error
from ..ufunc_rules import computed_where

FUNCTIONS = {}  # NumPy function -> handler
normalize_axis_index, normalize_axis_tuple = (
    np.lib.array_utils.normalize_axis_index,
    np.lib.array_utils.normalize_axis_tuple,
)

# ufuncs whose derivative is finite wherever they are: junk among their operands is cut off by whoever reads the result
TAME = {
    np.add, np.subtract, np.negative, np.positive, np.conjugate, np.less, np.less_equal, np.greater, np.greater_equal,
    np.equal, np.not_equal,
    np.logical_and, np.logical_or, np.logical_not, np.logical_xor, np.isnan, np.isinf, np.isfinite, np.signbit, np.sign,
    np.floor, np.ceil,
    np.trunc, np.rint, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.invert, np.maximum, np.minimum, np.fmax,
    np.fmin,
}  # fmt: skip


def handles(*functions, method=None):
    def register(handler):
        FUNCTIONS.update(dict.fromkeys(functions, handler))
        for name in (method,) if isinstance(method, str) else method or ():
            BoundedArray.methods[name] = handler
        return handler

    return register


def call_function(function, args, kwargs):
    """A NumPy function of which an argument is bounded."""
    handler = FUNCTIONS.get(function)
    if handler is None:
        name = f"{getattr(function, '__module__', 'numpy')}.{getattr(function, '__name__', function)}".replace(
            "numpy", "np", 1
        )
        refused(name, mentioned((*args, *kwargs.values())))
    return handler(*args, **kwargs)


# -- elementwise -----------------------------------------------------------------------------------


def calm(type):
    """A number at which nearly every function has a value and a derivative."""
    return {"b": True, "i": 1, "u": 1, "f": 0.5, "c": 0.5}[type.kind]


def calm_beyond_one(type):
    return 2 if type.kind in "fc" else 1


def elementwise(function, operands, fill=None, **kwargs):
    """`function` of the operands where they meet."""
    arrays, extents = aligned_operands(operands, fill)
    with computed_where(lambda: covered(np.broadcast_shapes(*map(np.shape, arrays)), extents)):
        out = function(*arrays, **kwargs)
    return (
        tuple(made(o, extents) for o in out)
        if isinstance(out, tuple)
        else made(out, extents)
        if isinstance(out, TracedArray)
        else out
    )


def call_ufunc_method(ufunc, method, inputs, kwargs):
    """A ufunc of which an argument is bounded."""
    kwargs = dict(kwargs)
    if method == "reduce" and (ufunc, method) in FUNCTIONS:
        return FUNCTIONS[ufunc, method](*inputs, **kwargs)
    if method == "outer" and len(inputs) == 2:
        x, y = inputs
        return call_ufunc_method(ufunc, "__call__", (getitem(x, (..., *(None,) * np.ndim(y))), y), kwargs)
    found = mentioned((*inputs, *kwargs.values()))
    if method != "__call__":
        refused(f"np.{ufunc.__name__}.{method}", found)
    if ufunc in FUNCTIONS:
        return FUNCTIONS[ufunc](*inputs, **kwargs)
    if ufunc.signature is not None:
        refused(f"np.{ufunc.__name__}", found)
    out, where = kwargs.pop("out", None), kwargs.pop("where", True)
    fill = None if ufunc in TAME else calm_beyond_one if ufunc is np.arccosh else calm
    if where is not True:
        return masked_ufunc(ufunc, inputs, out, where, kwargs)
    result = elementwise(
        (lambda *xs: call_ufunc(ufunc, *xs)) if not kwargs else lambda *xs: apply_ufunc(ufunc, xs, **kwargs),
        inputs,
        fill,
    )
    return stored(ufunc.__name__, result, out, kwargs.get("casting", "same_kind"))


def masked_ufunc(ufunc, inputs, out, where, kwargs):
    """`ufunc(..., out=out, where=where)`."""
    target = out[0] if isinstance(out, tuple) else out
    if target is None:
        raise UnsupportedError(
            message(f"np.{ufunc.__name__}(where=...) without out leaves elements undefined", locate(), "Give out=...")
        )
    result = call_ufunc_method(ufunc, "__call__", inputs, kwargs)
    return stored(ufunc.__name__, where_(where, result, target), (target,), "unsafe")


def stored(name, result, out, casting="same_kind"):
    """The result, put into `out=` where that was given."""
    if out is None or isinstance(out, tuple) and all(o is None for o in out):
        return result
    outs = out if isinstance(out, tuple) else (out,)
    for value, target in zip(result if isinstance(result, tuple) else (result,), outs):
        if not isinstance(target, TracedArray | BoundedArray):
            raise UnsupportedError(
                message(
                    f"np.{name}(out=...) was given an array that is not traced",
                    locate(),
                    "Make it with np.zeros_like(x).",
                )
            )
        if not np.can_cast(value.dtype, target.dtype, casting):
            raise casting_error(name, value.dtype, target.dtype, casting)
        assign(target, value)
    return outs[0] if len(outs) == 1 else outs


def array_function(function, fill=None, method=None, operands=1):
    """Register an elementwise function: its first `operands` arguments are arrays."""

    def handler(*args, **kwargs):
        out = kwargs.pop("out", None)
        run = lambda *xs: HANDLERS[function](*xs, *args[operands:], **kwargs)
        return stored(function.__name__, elementwise(run, args[:operands], fill), out)

    return handles(function, method=method)(handler)


array_function(np.copy, method="copy")
for _f in (np.real, np.imag, np.isreal, np.iscomplex, np.isposinf, np.isneginf):
    array_function(_f)
for _f, _m in (
    (np.round, "round"),
    (np.around, None),
    (np.nan_to_num, None),
    (np.angle, calm),
    (np.sinc, calm),
    (np.fix, None),
):
    array_function(_f, fill=_m if callable(_m) else None, method=_m if isinstance(_m, str) else None)
for _f in (np.zeros_like, np.ones_like, np.empty_like, np.full_like):
    array_function(_f)
array_function(np.isclose, operands=2)


@handles(np.clip, method="clip")
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None, **kwargs):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    ends = [x for x in (low, high) if x is not None]
    name = "a_min" if high is None else "a_max"
    run = (
        (lambda x, e: np.clip(x, **{name: e}, **kwargs)) if len(ends) == 1 else (lambda x, *e: np.clip(x, *e, **kwargs))
    )
    return stored("clip", elementwise(run, (a, *ends)), out)


@handles(np.where)
def where_(condition, *choices):
    if not choices:
        return nonzero(condition)
    return elementwise(np.where, (condition, *choices))


@handles(method="astype")
def astype(x, dtype, **kwargs):
    return elementwise(lambda a: a.astype(dtype, **kwargs), (x,))


@handles(method="conj")
def conj(x):
    return np.conjugate(x)


BoundedArray.methods["conjugate"] = conj


@handles(np.asarray, np.asanyarray, np.ascontiguousarray)
def asarray(x, dtype=None, **kwargs):
    return x if dtype is None or np.dtype(dtype) == x.dtype else astype(x, dtype)


@handles(np.array)
def array(x, dtype=None, **kwargs):
    return astype(x, x.dtype if dtype is None else dtype)


# -- shapes ----------------------------------------------------------------------------------------


FUNCTIONS.update({np.shape: lambda a: a.shape, np.ndim: lambda a: a.ndim})


@handles(np.size)
def size(a, axis=None):
    return a.size if axis is None else a.shape[axis]


@handles(np.transpose, method="transpose")
def transpose(a, *axes):
    axes = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes
    perm = normalize_axis_tuple(axes, a.ndim) if axes else tuple(range(a.ndim))[::-1]
    return BoundedArray(np.transpose(a.array, perm), [a.extents[p] for p in perm])


@handles(np.flip)
def flip(m, axis=None):
    axes = range(m.ndim) if axis is None else normalize_axis_tuple(axis, m.ndim)
    return view(m, tuple(FLIP if d in axes else WHOLE for d in range(m.ndim)))


handles(np.flipud)(lambda m: flip(m, 0))
handles(np.fliplr)(lambda m: flip(m, 1))


@handles(np.expand_dims)
def expand_dims(a, axis):
    axes = normalize_axis_tuple(axis if isinstance(axis, tuple) else (axis,), a.ndim + np.size(axis))
    return view(a, tuple(None if d in axes else WHOLE for d in range(a.ndim + len(axes))))


FUNCTIONS[np.atleast_1d] = lambda *xs: xs[0] if len(xs) == 1 else xs


def real_part(x):
    return BoundedArray(x.array.real, x.extents) if x.array.dtype.kind == "c" else x


def imaginary_part(x):
    return BoundedArray(x.array.imag, x.extents)


# -- places ----------------------------------------------------------------------------------------


@handles(np.nonzero, method="nonzero")
def nonzero(a):
    """The places of what is not zero, an array of them along every axis; of a whole array too."""
    test = np.not_equal(a, 0) if a.dtype.kind != "b" else a
    n = a.array.shape if type(a) is BoundedArray else a.shape
    if not n:
        raise with_note(ValueError, message("Calling nonzero on 0d arrays is not allowed.", locate()))
    grids = []
    for axis in range(len(n)):
        places = fresh(counted(n, axis))
        if type(a) is BoundedArray and len(n) == 1:
            extent = a.extents[0]
            rank = (
                np.subtract(places, traced(number(extent.start)))
                if isinstance(extent, SpanExtent)
                else fresh(ranks(extent.mask.value))
            )
            places = BoundedArray(rank, a.extents)
        elif type(a) is BoundedArray:
            refused("np.nonzero of several axes", a)
        grids.append(getitem(places, test))
    return tuple(grids)


@handles(np.flatnonzero)
def flatnonzero(a):
    return nonzero(a if a.ndim == 1 else np.ravel(a))[0]


@handles(np.argwhere)
def argwhere(a):
    if not a.ndim:
        return argwhere(np.atleast_1d(a))[:, :0]
    grids = nonzero(a)
    parts_ = [reshape_to(g.array.value, (*g.array.shape, 1)) for g in grids]
    value = OPS["concatenate"](*parts_, axis=1) if len(parts_) > 1 else parts_[0]
    return BoundedArray(fresh(value), (grids[0].extents[0], None))


@handles(np.compress, method=None)
def compress(condition, a, axis=None, out=None):
    x = a if axis is not None else np.ravel(a)
    axis = normalize_axis_index(axis or 0, x.ndim)
    known = not isinstance(condition, BoundedArray) and (type(x) is not BoundedArray or x.extents[axis] is None)
    if known and (n := np.shape(condition)[0]) < x.shape[axis]:
        x = x[(*(WHOLE,) * axis, slice(0, n))]
    if not known:  # it may be longer, if nothing beyond is chosen
        condition = np.flatnonzero(condition)
    return stored("compress", getitem(x, (*(WHOLE,) * axis, condition)), out)


BoundedArray.methods["compress"] = lambda x, condition, axis=None, out=None: compress(condition, x, axis, out)


@handles(np.extract)
def extract(condition, arr):
    return compress(np.not_equal(np.ravel(condition), 0), np.ravel(arr))


for _f, _run in ((np.nonzero, nonzero), (np.flatnonzero, flatnonzero), (np.argwhere, argwhere)):
    HANDLERS[_f] = lambda a, run=_run: run(handle(a))
METHODS["nonzero"] = lambda a: nonzero(handle(a))
FUNCTIONS[np.take] = lambda a, indices, axis=None, out=None, mode="raise": take(a, indices, axis, out, mode)


def take(a, indices, axis, out, mode):
    if mode != "raise":
        refused(f"np.take(mode={mode!r})", a if type(a) is BoundedArray else indices)
    axis = 0 if axis is None and np.ndim(a) == 1 else axis
    if axis is None:
        refused("np.take without an axis", a if type(a) is BoundedArray else indices)
    return stored("take", getitem(a, (*(WHOLE,) * normalize_axis_index(axis, np.ndim(a)), indices)), out)


BoundedArray.methods["take"] = lambda a, indices, axis=None, out=None, mode="raise": take(a, indices, axis, out, mode)
