"""Products with windows that slide along an array are convolutions."""

import numpy as np

from ..core import Builder, Lit, Value
from ..ops.elementwise import add
from ..ops.indexing import gather
from ..ops.linalg import dot_general
from ..ops.shape import broadcast, constant, iota, reshape, transpose
from ..ops.signal import conv_general
from ..pattern import holes
from ..rewrite import RuleSet

WINDOWS = RuleSet("windows")
rule = WINDOWS.rule
x, y = holes("x y")
p, q = holes("p q")  # attributes

KNOWN = (add, broadcast, constant, iota, reshape)  # ops that places are computed by
MOST = 1 << 16  # bound: places that are looked at
RANK = 3  # fact: axes along which XLA has windows slide
# in times out: a float32 convolution of fewer takes longer than the product; re-measured by benchmarks/tune.py
FEATURES = 64

SLIDING = """
func f(%x: f64[2,7,5,3], %w: f64[3,3,2,4]) -> RESULT {
%0 = iota shape=[5,3] axis=0 dtype=i64 : i64[5,3]
%1 = iota shape=[5,3] axis=1 dtype=i64 : i64[5,3]
%2 = add %0, %1                        : i64[5,3]
%3 = reshape %2 shape=[5,3,1]          : i64[5,3,1]
%4 = gather %x, %3 sizes=[2,1,5,3] offset_dims=[0,3,4] collapsed=[1] start_index_map=[1] mode="promise" : f64[2,5,3,5,3]
%5 = transpose %4 perm=[0,1,3,4,2]     : f64[2,5,5,3,3]
%6 = constant value=dense("i64[4,2,1]",[0,1,1,2,2,3,3,4]) : i64[4,2,1]
%7 = gather %5, %6 sizes=[2,5,1,3,3] offset_dims=[0,1,4,5] collapsed=[2] start_index_map=[2] : f64[2,5,4,2,3,3]
%8 = dot_general PRODUCT : RESULT
return %8
}
"""


def known(z):
    """The numbers of a small value that hangs on nothing, or None."""
    if isinstance(z, Lit):
        return np.full(z.type.shape, z.value, z.type.dtype)
    if z.eqn is None or z.eqn.op not in KNOWN or z.type.size > MOST:
        return None
    operands = [known(o) for o in z.eqn.operands]
    return None if any(o is None for o in operands) else np.asarray(z.eqn.op.body(*operands, **z.eqn.attrs))


def slides(eqn):
    """The axis along which a gather takes all windows of one length, or None."""
    operand, places = eqn.operands
    (axis, *more), a = eqn.attrs["start_index_map"], eqn.attrs
    whole = all(k == (1 if d == axis else n) for d, (k, n) in enumerate(zip(a["sizes"], operand.type.shape)))
    if more or a["collapsed"] != (axis,) or a["operand_batch"] or not whole or places.type.ndim != 3:
        return None
    count, taps, _ = places.type.shape
    numbers = known(places) if count + taps == operand.type.shape[axis] + 1 else None
    sliding = numbers is not None and np.array_equal(numbers[..., 0], np.add.outer(np.arange(count), np.arange(taps)))
    return axis if sliding else None


def windows(z):
    """(the array that windows slide along, for each axis of z ("of", axis of it) or ("tap", axis along which they
    slide)), or None."""
    eqn = z.eqn if isinstance(z, Value) else None
    if eqn is None or eqn.op not in (gather, transpose):
        return None
    inner = eqn.operands[0]
    base, axes = windows(inner) or (inner, [("of", d) for d in range(inner.type.ndim)])
    if eqn.op is transpose:
        return base, [axes[i] for i in eqn.attrs["perm"]]
    axis = slides(eqn)
    if axis is None or axes[axis][0] != "of" or ("tap", axes[axis][1]) in axes:
        return None
    rest, new = (k for i, k in enumerate(axes) if i != axis), iter((axes[axis], ("tap", axes[axis][1])))
    return base, [next(rest if i in eqn.attrs["offset_dims"] else new) for i in range(z.type.ndim)]


# Sums are of the same terms in another order.
@rule(dot_general(x, y, contract=p, batch=q), exact=False, grows=True, where=lambda q: q == ((), ()), cases=[
    SLIDING.replace("PRODUCT", "%7, %w contract=[[5,4,3],[0,1,2]]").replace("RESULT", "f64[2,5,4,4]"),
    SLIDING.replace("PRODUCT", "%w, %7 contract=[[1,0,2],[4,5,3]]").replace("RESULT", "f64[4,2,5,4]"),
], never=["""
    func turned(%x: f64[3,2,7], %w: f64[7,4]) -> f64[2,3,4] {
      %0 = transpose %x perm=[1,0,2]             : f64[2,3,7]
      %1 = dot_general %0, %w contract=[[2],[0]] : f64[2,3,4]
      return %1
    }"""])  # fmt: skip
def convolution(x, y, p):
    for z, w, (over, along) in ((x, y, p), (y, x, p[::-1])):
        found = windows(z)
        if (
            found is not None
            and Builder.current().reads[z.eqn] <= 1
            and (made := convolved(*found, w, over, along, z is x)) is not None
        ):
            return made
    return None


def convolved(base, axes, w, over, along, first):
    """The product over axes `over` of windows, `axes` of a `base`, and `along` of w, to the right of them if `first`;
    None if it is not one."""
    summed, kept = [axes[i] for i in over], [k for i, k in enumerate(axes) if i not in over]
    spatial = [d for kind, d in sorted(axes) if kind == "tap"]
    if len(spatial) > RANK or not slide(spatial, summed):
        return None
    features, batch = [d for kind, d in summed if kind == "of"], [d for _, d in kept if d not in spatial]
    free = [j for j in range(w.type.ndim) if j not in along]
    taps = [along[summed.index(("tap", d))] for d in spatial]
    given = [along[summed.index(("of", d))] for d in features]
    n, c, o = (
        int(np.prod([t.type.shape[d] for d in ds], dtype=int)) for t, ds in ((base, batch), (base, features), (w, free))
    )
    if 0 in (n, c, o) or not pays(base.type.dtype, c * o):
        return None
    size = lambda z, ds: tuple(z.type.shape[d] for d in ds)
    image = reshape(transpose(base, perm=(*batch, *spatial, *features)), shape=(n, *size(base, spatial), c))
    kernel = reshape(transpose(w, perm=(*taps, *given, *free)), shape=(*size(w, taps), c, o))
    out = plain_convolution(image, kernel, len(spatial))
    have, want = [*(("of", d) for d in (*batch, *spatial)), *free], [*kept, *free] if first else [*free, *kept]
    out = reshape(out, shape=(*size(base, batch), *out.type.shape[1:-1], *size(w, free)))
    return transpose(out, perm=tuple(have.index(k) for k in want))


def slide(spatial, summed):
    """Whether windows slide along axes, one at least: it is summed over their taps, and not over where they lie."""
    return bool(spatial) and all(("tap", d) in summed and ("of", d) not in summed for d in spatial)


def pays(dtype, products):
    """Whether a convolution with so many products an element is faster than a product of the windows."""
    return dtype == np.float64 or dtype == np.float32 and products >= FEATURES


def plain_convolution(image, kernel, r):
    """Of an image (batch, r spatial axes, features) and a kernel (r spatial axes, features, results), without
    padding."""
    last, ones = (0, r + 1, *range(1, r + 1)), (1,) * r
    numbers = last, (r + 1, r, *range(r)), last
    return conv_general(
        image,
        kernel,
        strides=ones,
        padding=((0, 0),) * r,
        lhs_dilation=ones,
        rhs_dilation=ones,
        dimension_numbers=numbers,
    )
