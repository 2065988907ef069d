"""JAX's primitives as our ops, where they mean the same on all values: `rule(result type, *operands, **params)`.

Left out: what has another value somewhere (integer division by zero, sign of -0.0, complex branch cuts) or another
derivative (|x| at 0, whose slope is 1 to JAX).
"""

import numpy as np
from jax import lax

from ...ir.core import Lit
from ...ir.ops import OPS
from ...ir.ops.shape import broadcast, reshape
from .indexing import MODES

FLOAT, REAL, NUMBER, ANY = "f", "iuf", "iufc", "biufc"
PRIMITIVES = {}
SPELLED = {found: name for name, found in MODES.items() if name != "fill"}


def ints(values):
    return tuple(map(int, values))


def primitive(*names):
    def register(rule):
        for name in names:
            PRIMITIVES[name] = rule
        return rule

    return register


def spread(x, shape):
    """x in that shape: JAX leaves it to its elementwise primitives to repeat scalars, and axes of size one."""
    if x.type.shape == shape:
        return x
    if isinstance(x, Lit):
        return Lit(x.value, x.type.like(shape))
    kept = tuple(d for d, (n, m) in enumerate(zip(x.type.shape, shape)) if n == m)
    return broadcast(resized(x.type.like([shape[d] for d in kept]), x), shape=shape, dims=kept)


def elementwise_rule(name, kinds, **fixed):
    """The op of that name on operands of those kinds; parameters must be as `fixed`, or None."""
    op = OPS[name]

    def rule(t, *xs, **params):
        if xs[-1].type.kind not in kinds or any(
            v is not None and (k not in fixed or v != fixed[k]) for k, v in params.items()
        ):
            return None
        return op(*[spread(x, t.shape) for x in xs])

    return rule


# fmt: off
ELEMENTWISE = {  # name of the primitive -> name of the op, kinds
    "neg": ("neg", NUMBER), "abs": ("abs", "iu"), "sign": ("sign", "iu"),
    "add": ("add", NUMBER), "add_any": ("add", NUMBER), "sub": ("sub", NUMBER), "mul": ("mul", NUMBER),
    "div": ("div", "fc"),
    "rem": ("rem", FLOAT), "pow": ("pow", FLOAT), "max": ("maximum", REAL), "min": ("minimum", REAL),
    "clamp": ("clamp", REAL),
    "nextafter": ("nextafter", FLOAT), "atan2": ("atan2", FLOAT),
    "sqrt": ("sqrt", FLOAT), "rsqrt": ("rsqrt", FLOAT), "cbrt": ("cbrt", FLOAT),
    "floor": ("floor", FLOAT), "ceil": ("ceil", FLOAT), "is_finite": ("is_finite", FLOAT),
    "exp": ("exp", "fc"), "exp2": ("exp2", FLOAT), "expm1": ("expm1", FLOAT), "log": ("log", FLOAT),
    "log1p": ("log1p", FLOAT),
    "sin": ("sin", "fc"), "cos": ("cos", "fc"), "tan": ("tan", FLOAT), "asin": ("asin", FLOAT), "acos": ("acos", FLOAT),
    "atan": ("atan", FLOAT),
    "sinh": ("sinh", FLOAT), "cosh": ("cosh", FLOAT), "tanh": ("tanh", FLOAT),
    "asinh": ("asinh", FLOAT), "acosh": ("acosh", FLOAT), "atanh": ("atanh", FLOAT), "logistic": ("logistic", FLOAT),
    "erf": ("erf", FLOAT), "erfc": ("erfc", FLOAT), "erf_inv": ("erf_inv", FLOAT), "lgamma": ("lgamma", FLOAT),
    "digamma": ("digamma", FLOAT),
    "bessel_i0e": ("bessel_i0e", FLOAT), "bessel_i1e": ("bessel_i1e", FLOAT),
    "and": ("and", "biu"), "or": ("or", "biu"), "xor": ("xor", "biu"), "not": ("not", "biu"),
    "shift_left": ("shift_left", "iu"), "shift_right_arithmetic": ("shift_right", "i"),
    "shift_right_logical": ("shift_right", "u"),
    "eq": ("eq", ANY), "ne": ("ne", ANY), "lt": ("lt", REAL), "le": ("le", REAL), "gt": ("gt", REAL),
    "ge": ("ge", REAL),
    "real": ("real", "c"), "imag": ("imag", "c"), "complex": ("make_complex", FLOAT),
}
for _name, (_op, _kinds) in ELEMENTWISE.items():
    PRIMITIVES[_name] = elementwise_rule(_op, _kinds)
PRIMITIVES["round"] = elementwise_rule("round", FLOAT, rounding_method=lax.RoundingMethod.TO_NEAREST_EVEN)
# fmt: on


@primitive("copy", "copy_p")
def copy(t, x, **_):
    return x


@primitive("square")
def square(t, x):
    return OPS["mul"](x, x) if x.type.kind in NUMBER else None


@primitive("integer_pow")
def integer_pow(t, x, *, y):
    return OPS["integer_pow"](x, n=int(y)) if x.type.kind in "fc" else None


@primitive("convert_element_type")
def cast(t, x, **_):
    if x.type.dtype == t.dtype:
        return x
    if x.type.kind == "f" and t.kind in "iu":
        return nearest_integer(t, x)
    return OPS["cast"](x, dtype=t.dtype) if x.type.kind != "c" or t.kind == "c" else None


def nearest_integer(t, x):
    """A float as an integer: the nearest that there is where it is out of range, 0 for nan."""
    span, place = np.iinfo(t.dtype), lambda number: Lit(number, x.type)
    with np.errstate(over="ignore"):  # of 16 bits only infinity is above many an integer
        limits = np.array([span.max + 1, span.min], np.float64).astype(x.type.dtype)
    above, below = OPS["ge"](x, place(limits[0])), OPS["lt"](x, place(limits[1]))
    outside = OPS["or"](OPS["or"](above, below), OPS["ne"](x, x))
    found = OPS["cast"](OPS["select"](outside, place(0.0), x), dtype=t.dtype)
    return OPS["select"](above, Lit(int(span.max), t), OPS["select"](below, Lit(int(span.min), t), found))


@primitive("select_n")
def select(t, which, *cases):
    if which.type.kind != "b" or len(cases) != 2:
        return None
    return OPS["select"](spread(which, t.shape), spread(cases[1], t.shape), spread(cases[0], t.shape))


# -- shapes ----------------------------------------------------------------------------------------


@primitive("reshape")
def reshaped(t, x, *, dimensions=None, **_):
    return resized(t, x) if dimensions is None else None


@primitive("squeeze", "expand_dims")
def resized(t, x, **_):
    return x if x.type.shape == t.shape else reshape(x, shape=t.shape)


@primitive("transpose")
def transpose(t, x, *, permutation):
    return OPS["transpose"](x, perm=ints(permutation))


@primitive("broadcast_in_dim")
def broadcast_in_dim(t, x, *sizes, broadcast_dimensions, **_):
    return None if sizes else broadcast(x, shape=t.shape, dims=ints(broadcast_dimensions))


@primitive("rev")
def rev(t, x, *, dimensions):
    return OPS["reverse"](x, axes=ints(dimensions))


@primitive("concatenate")
def concatenate(t, *xs, dimension):
    return OPS["concatenate"](*xs, axis=int(dimension)) if len(xs) > 1 else xs[0]


@primitive("pad")
def pad(t, x, value, *, padding_config):
    low, high, interior = zip(*map(ints, padding_config)) if padding_config else ((), (), ())
    return OPS["pad"](x, value, low=low, high=high, interior=interior)


@primitive("slice")
def cut(t, x, *, start_indices, limit_indices, strides):
    return OPS["slice"](
        x, start=ints(start_indices), stop=ints(limit_indices), stride=ints(strides or (1,) * x.type.ndim)
    )


@primitive("iota")
def iota(t, *sizes, dimension, **_):
    return None if sizes else OPS["iota"](shape=t.shape, axis=int(dimension), dtype=t.dtype)


# -- reductions ------------------------------------------------------------------------------------


def reduction_rule(name, kinds):
    def rule(t, x, *, axes, **_):
        return OPS[name](x, axes=ints(axes)) if x.type.kind in kinds else None

    return rule


def scan_rule(name):
    def rule(t, x, *, axis, reverse):
        return OPS[name](x, axis=int(axis), reverse=bool(reverse)) if x.type.kind in REAL else None

    return rule


def arg_reduction_rule(name):
    def rule(t, x, *, axes, index_dtype):
        return OPS[name](x, axis=int(axes[0]), dtype=np.dtype(index_dtype)) if x.type.kind in REAL else None

    return rule


for _name, _kinds in {
    "sum": NUMBER,
    "prod": REAL,
    "max": REAL,
    "min": REAL,
    "and": "biu",
    "or": "biu",
    "xor": "biu",
}.items():
    PRIMITIVES[f"reduce_{_name}"] = reduction_rule(f"reduce_{_name}", _kinds)
for _name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"):
    PRIMITIVES[_name] = scan_rule(_name)
for _name in ("argmax", "argmin"):
    PRIMITIVES[_name] = arg_reduction_rule(_name)


@primitive("sort")
def sort(t, *xs, dimension, is_stable, num_keys):
    real = all(x.type.kind in "biuf" for x in xs[:num_keys])
    return OPS["sort"](*xs, axis=int(dimension), num_keys=int(num_keys), stable=bool(is_stable)) if real else None


@primitive("dot_general")
def dot_general(t, x, y, *, dimension_numbers, precision, preferred_element_type, **more):
    plain = all(v is None for v in more.values()) and precision in (None, (lax.Precision.DEFAULT,) * 2)
    if not plain or x.type.dtype != y.type.dtype or preferred_element_type not in (None, t.dtype):
        return None
    contract, batch = (tuple(map(ints, pair)) for pair in dimension_numbers)
    return OPS["dot_general"](x, y, contract=contract, batch=batch)


# -- windows ---------------------------------------------------------------------------------------


@primitive("dynamic_slice")
def dynamic_slice(t, x, *starts, slice_sizes):
    return OPS["dynamic_slice"](x, *starts, sizes=ints(slice_sizes)) if len(starts) == x.type.ndim else None


@primitive("dynamic_update_slice")
def dynamic_update_slice(t, x, update, *starts):
    return OPS["dynamic_update_slice"](x, update, *starts)


@primitive("gather")
def gather(t, x, indices, *, dimension_numbers, slice_sizes, mode, fill_value, unique_indices, **_):
    d = dimension_numbers
    filled = mode == lax.GatherScatterMode.FILL_OR_DROP
    return OPS["gather"](
        x, indices, sizes=ints(slice_sizes), offset_dims=ints(d.offset_dims), collapsed=ints(d.collapsed_slice_dims),
        start_index_map=ints(d.start_index_map), operand_batch=ints(d.operand_batching_dims),
        indices_batch=ints(d.start_indices_batching_dims),
        mode="fill" if filled else SPELLED.get(mode), fill=out_of_bounds_fill(x.type, fill_value) if filled else 0,
        unique=bool(unique_indices),
    )  # fmt: skip


def out_of_bounds_fill(t, fill_value):
    """What JAX reads beyond an array, said out loud."""
    if fill_value is not None:
        return np.asarray(fill_value).item()
    if t.kind in "fc":
        return float("nan")
    return True if t.kind == "b" else int(np.iinfo(t.dtype).min if t.kind == "i" else np.iinfo(t.dtype).max)


def scatter_rule(name):
    def rule(t, x, indices, updates, *, dimension_numbers, mode, unique_indices, update_jaxpr=None, **_):
        d = dimension_numbers
        if name == "scatter" and update_jaxpr is not None and update_jaxpr.eqns:  # a function of what is there
            return None
        return OPS[name](
            x, indices, updates, offset_dims=ints(d.update_window_dims), collapsed=ints(d.inserted_window_dims),
            start_index_map=ints(d.scatter_dims_to_operand_dims), operand_batch=ints(d.operand_batching_dims),
            indices_batch=ints(d.scatter_indices_batching_dims), mode=SPELLED.get(mode), unique=bool(unique_indices),
        )  # fmt: skip

    return rule


for _name, _op in {"scatter": "scatter", "scatter-add": "scatter_add", "scatter_add": "scatter_add"}.items():
    PRIMITIVES[_name] = scatter_rule(_op)
