"""What a random call of each name of the registry looks like: arguments are drawn by the names of NumPy's own parameters.

A parameter of which nothing is known here raises KeyError: a name that joins the registry is drawn from that day on, or fails the tests.
"""

import functools
import inspect

import numpy as np
from grammar import DTYPES, FLOATS, INTS, OFTEN, REALS, SHAPES, SQUARES, Draw

from wengert.tracer.numpy_api.registry import HANDLERS, METHODS
from wengert.tracer.values.promote import UFUNCS

INFIX = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//", "remainder": "%", "power": "**", "left_shift": "<<",
         "right_shift": ">>", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^", "less": "<", "less_equal": "<=", "greater": ">",
         "greater_equal": ">=", "equal": "==", "not_equal": "!=", "matmul": "@"}  # fmt: skip
PREFIX = {"negative": "-", "positive": "+", "invert": "~", "absolute": "abs"}
SEVERAL = [s for s in SHAPES if len(s) > 1] + [(3, 4), (2, 5), (3,)]
LINES = [(n,) for n in (0, 1, 2, 3, 5)] + [(2, 3), ()]
NEVER = {"like", "device", "subok", "einsum_call", "overwrite_input", "optimize", "kwargs", "kw", "allow_pickle",
    "copy"}  # said nothing about: tested elsewhere

# -- parameters ------------------------------------------------------------------------------------


WRONG = {"'x'", "'X'", "9", "(0, 0)", "5", "(0, 5)", "(-1, -1)", "[9]", "-1.5"}


def one(*texts):
    """One of the texts; those that stand for mistakes are drawn as such."""
    good, bad = [t for t in texts if t not in WRONG] or list(texts), [t for t in texts if t in WRONG]
    return lambda d: d.pick(*bad) if bad and d.mistake(0.15) else d.pick(*good)


def array(dtypes=OFTEN, shapes=SHAPES, scalars=True):
    return lambda d: d.array(dtypes, shapes, scalars)


def counts(d):
    """Numbers to count. Of the largest integer NumPy makes no room, and writes where it has none."""
    name = d.array(["u1", "i8", "i8", "i4", "f8", "?"], [(0,), (3,), (5,), (2, 2)], False)
    x = d.operands[name]
    if x.dtype == np.int64:
        x[x == np.iinfo(np.int64).max] = 1
    return name


def line(dtypes=REALS):
    return lambda d: d.array(dtypes, LINES, False)


def square(d):
    """A matrix or a stack of them, mostly regular, sometimes singular."""
    d.wild = False
    name = d.array(FLOATS, SQUARES, False)
    x = d.operands[name]
    if x.ndim > 1 and x.shape[-1] == x.shape[-2] and d.chance(0.85):
        d.operands[name] = (x + 9 * np.eye(x.shape[-1])).astype(x.dtype)
    elif x.ndim > 1 and d.chance(0.3):
        x[...] = 0
    return name


def hermitian(d):
    name = square(d)
    x = d.operands[name]
    if x.ndim > 1 and x.shape[-1] == x.shape[-2] and x.dtype.kind in "fc":
        d.operands[name] = x + np.swapaxes(x, -1, -2).conj()
    return name


def right_side(d):
    shape = d.ref.shape
    return d.add(d.numbers(d.pick(shape, shape[-1:], (*shape[:-1], 2), (3,), shape), d.pick(*FLOATS)))


def tuple_of(*texts):
    return lambda d: "(" + "".join(f"{d.pick(*texts)}, " for _ in range(d.pick(1, 2, 2, 3))) + ")"


def several(d):
    return "*" + d.sequence(same=False)


def alike(d):
    return d.alike() if d.ref is not None else d.array()


def axis(d):
    return d.axis(several=False)


ARRAY = "a x m arr ary array ar object A prototype v p z f y element filt from_ val1 q_".split()
PARAMS = {
    **dict.fromkeys(ARRAY, array()),
    **dict.fromkeys(["b", "x2", "a2", "ar2", "test_elements", "values", "vals"], lambda d: d.partner()),
    **dict.fromkeys(["x1", "a1", "ar1", "val", "element"], array()),
    **dict.fromkeys(["return_index", "return_inverse", "return_counts", "equal_nan", "sorted", "writeable", "increasing", "endpoint", "retstep",
    "sparse"], Draw.flag),
    **dict.fromkeys(["assume_unique", "return_indices", "invert", "upper", "full_matrices", "compute_uv", "hermitian", "wrap", "returned"],
    Draw.flag),
    **dict.fromkeys(["include_initial", "rowvar", "bias", "density", "right", "keepdims", "full", "cov", "stable", "descending", "deg"], Draw.flag),
    "axis": Draw.axis, "axis1": axis, "axis2": axis, "source": Draw.axis, "destination": Draw.axis, "start": lambda d: d.small("3"),
    "axisa": axis, "axisb": axis, "axisc": axis, "axes": Draw.axis, "shape": Draw.shape, "new_shape": Draw.shape, "dtype": Draw.dtype,
    "order": one("'C'", "'F'", "'A'", "'K'", "'X'"), "casting": one("'no'", "'equiv'", "'safe'", "'same_kind'", "'unsafe'"),
    "arys": several, "args": several, "xi": several, "arrays": Draw.sequence, "tup": Draw.sequence, "arrays_and_dtypes": several,
    "where": Draw.mask, "initial": one("0", "1", "2.5", "-3", "np.float32(2)", "300", "None", "1j"), "ddof": one("0", "1", "1.5", "5", "True"),
    "correction": one("0", "1", "2.5"), "mean": lambda d: "None" if d.chance(0.2) else d.partner(), "weights": alike,
    "k": lambda d: d.small("5", "-3"),
    "offset": lambda d: d.small("5", "-3"), "n": lambda d: d.small("3", "5", "0"), "norm": one("'ortho'", "'forward'", "'backward'", "None", "'x'"),
    "s": one("(2,)", "(2, 3)", "(4, 4)", "(-1, 2)", "(0, 2)", "None"), "bitorder": one("'big'", "'little'", "'x'"),
    "count": lambda d: d.small("3", "-3", "None"),
    "decimals": lambda d: d.small("2", "-2", "5"), "ndmin": one("0", "1", "3"), "ndmax": one("0", "1", "3"), "tol": one("100", "1e-8", "0", "None"),
    "rtol": one("1e-5", "0.1", "0"), "atol": one("1e-8", "1", "0"), "rcond": one("None", "1e-10", "0.5"),
    "reps": one("2", "(2, 1)", "(1, 2, 2)", "0", "()", "-1"),
    "repeats": lambda d: d.pick("2", "0", "[1, 2, 0]", "-1", "[2]", "1.5"), "shift": one("1", "-2", "(1, 2)", "7", "0"),
    "indexing": one("'xy'", "'ij'", "'x'"),
    "indices_or_sections": one("2", "3", "[1, 2]", "[1]", "0", "[5, 1]", "1", "-1"), "obj": one("0", "1", "[0, 1]", "-1", "9", "slice(0, 2)", "[]"),
    "mode": one("'raise'", "'wrap'", "'clip'", "'x'"), "indices": lambda d: d.indices(d.length() or 1), "ind": lambda d: d.indices(d.ref.size or 1),
    "UPLO": one("'L'", "'U'", "'l'", "'x'"), "ord": one("None", "1", "2", "-1", "np.inf", "0", "'fro'", "'nuc'", "3", "-2", "'x'"),
    "side": one("'left'", "'right'", "'x'"), "sorter": one("None", "[0, 1, 2]"), "kind": one("None", "'stable'", "'quicksort'", "'mergesort'", "'x'"),
    "kth": one("0", "1", "-1", "(0, 1)", "9"), "a_min": lambda d: d.partner() if d.chance(0.8) else "None",
    "a_max": lambda d: d.partner() if d.chance(0.8) else "None",
    "min": lambda d: d.partner(), "max": lambda d: d.partner(), "prepend": lambda d: d.number() if d.chance(0.5) else d.alike(),
    "fill_value": lambda d: d.partner(wrong=0.04),
    "append": lambda d: d.number() if d.chance(0.5) else d.alike(), "to_end": Draw.number, "to_begin": Draw.number, "dx": one("1.0", "2", "0.5"),
    "edge_order": one("1", "2", "3"), "varargs": one("*()", "*()", "2.0", "0.5, 1.5"),
    "aweights": lambda d: d.vector(n=d.ref.shape[-1] if d.ref.ndim else 1),
    "fweights": lambda d: d.vector(["u1", "i8"], n=d.ref.shape[-1] if d.ref.ndim else 1), "nan": one("0.0", "1.5", "7"),
    "posinf": one("None", "9.0", "3"),
    "neginf": one("None", "-9.0", "3"), "discont": one("None", "1.0", "4"), "period": one("6.28", "4", "1.5"), "minlength": one("0", "5", "-1"),
    "step": one("1", "2", "-1", "0.5"),
    "q": one("0.5", "[0.1, 0.9]", "0", "1", "1.5", "[[0.2], [0.5]]", "0.25"), "left": one("None", "-1", "0.5"),
    "xp": lambda d: d.pick("[0.0, 1.0, 2.5]", "[0, 2, 3]", "[]"),
    "method": one("'linear'", "'lower'", "'higher'", "'midpoint'", "'nearest'", "'hazen'", "'median_unbiased'", "'inverted_cdf'", "'weibull'", "'x'"),
    "fp": lambda d: d.pick("[1.0, -1.0, 2.0]", "[1, 2, 3]", "[1j, 2, 3]", "[1.0]"),
    "bins": one("3", "10", "[0, 1, 2]", "[0.0, 0.5, 4.0]", "1", "0", "[2, 1]"),
    "range": one("None", "(0, 4)", "(-1.0, 1.0)", "(1, 0)"), "condition": array(["?", "?", "i8", "f8"]), "default": Draw.number,
    "window_shape": one("1", "2", "(2,)", "(2, 2)", "9"),
    "N": one("3", "0", "2"), "M": one("None", "2", "4"), "num": one("5", "0", "1", "7"), "stop": lambda d: d.partner(),
    "base": one("10.0", "2", "2.5"), "start_or_stop": one("3", "5", "0"),
    "inplace": Draw.flag, "write": Draw.flag, "align": Draw.flag, "uic": one("None"),  # uic=False frees the memory of a view
    "max_work": one("0",), "trim": one("'fb'", "'f'", "'b'"), "dims": one("(3, 4)", "(2, 2)", "5"),
    "multi_index": one("(1, 1)", "[[0, 1], [1, 0]]"), "to": Draw.dtype,
    "src": lambda d: d.partner(), "mask": Draw.mask, "u": line(), "w": lambda d: d.vector(n=d.ref.size), "period_": one("None"),
}  # fmt: skip

SPECIAL = {
    **{f"linalg.{f}.a": square for f in "solve inv det slogdet eig eigvals matrix_power tensorsolve".split()},
    **{f"linalg.{f}.a": hermitian for f in "cholesky eigh eigvalsh".split()},
    **{f"linalg.{f}.{p}": array(FLOATS, SQUARES + SEVERAL, False) for f, p in [("qr", "a"), ("svd", "a"), ("svdvals", "x"), ("pinv", "a"), ("cond",
    "x"), ("matrix_rank", "A")]},
    **{f"linalg.{f}.x": array(FLOATS, SQUARES + SEVERAL) for f in ("norm", "matrix_norm", "vector_norm")},
    **{f"fft.{f}.a": array(FLOATS, SHAPES + [(5,), (4,
    4)]) for f in "fft ifft rfft irfft hfft ihfft fftn fft2 ifftn ifft2 rfftn rfft2 irfftn irfft2".split()},
    "linalg.solve.b": right_side, "linalg.lstsq.a": array(FLOATS, [(3, 2), (3, 3), (2, 3)], False), "linalg.lstsq.b": right_side,
    "linalg.tensorsolve.b": right_side,
    "linalg.tensorinv.a": array(FLOATS, [(4, 2, 2), (2, 2), (3, 3)], False), "linalg.tensorinv.ind": one("1", "1", "2"),
    "linalg.qr.mode": one("'reduced'", "'complete'", "'r'", "'raw'", "'x'"),
    "linalg.matrix_power.n": one("0", "1", "2", "3", "-1", "-2", "5", "1.5"), "linalg.cond.p": one("None", "1", "2", "'fro'", "np.inf", "-2"),
    "linalg.tensorsolve.axes": one("None",),
    "linalg.multi_dot.arrays": lambda d: "[" + ", ".join(d.array(FLOATS, [s], False) for s in [(2, 3), (3, 3), (3, 2)]) + "]",
    "linalg.matmul.x1": array(OFTEN, SQUARES), "linalg.matmul.x2": lambda d: d.array(OFTEN, SQUARES),
    "linalg.cross.x1": array(OFTEN, [(3,), (2, 3), (2,), (3, 3)]),
    "pad.pad_width": one("1", "(1, 2)", "((1, 0),)", "0", "((1, 2), (0, 1))", "-1"), "expand_dims.axis": Draw.axis, "shape_.axis": axis,
    "pad.mode": one("'constant'", "'edge'", "'reflect'", "'symmetric'", "'wrap'", "'mean'", "'maximum'", "'minimum'", "'median'", "'linear_ramp'",
    "'empty'", "'x'"),
    "correlate.mode": one("'valid'", "'same'", "'full'", "'x'"), "convolve.mode": one("'valid'", "'same'", "'full'", "'x'"),
    "correlate.v": line(OFTEN), "convolve.v": line(OFTEN),
    "correlate.a": line(OFTEN), "convolve.a": line(OFTEN), "dot.a": array(OFTEN, SQUARES + SHAPES),
    "dot.b": lambda d: d.array(OFTEN, SQUARES + SHAPES),
    "inner.b": lambda d: d.alike(), "vdot.b": lambda d: d.alike(),
    "tensordot.axes": one("0", "1", "2", "([0], [0])", "((0, 1), (0, 1))", "([-1], [0])"), "kron.b": lambda d: d.array(),
    "linalg.tensordot.axes": one("0", "1", "2", "([0], [0])"), "linalg.vecdot.x2": lambda d: d.alike(),
    "cross.a": array(OFTEN, [(3,), (2, 3), (2,), (3, 3)]), "rot90.axes": one("(0, 1)", "(1, 0)", "(0, 0)", "(0, -1)", "(0, 5)"),
    "rollaxis.axis": axis, "transpose.axes": one("None", "(1, 0)", "(0, 1)", "(-1, 0)", "(2, 0, 1)", "(0, 0)", "()"),
    "take_along_axis.indices": lambda d: d.indices(d.length() or 1, d.pick(d.ref.shape, (1,) * d.ref.ndim)),
    "put_along_axis.indices": lambda d: d.indices(d.length() or 1, d.pick(d.ref.shape, (1,) * d.ref.ndim)), "take_along_axis.axis": axis,
    "put_along_axis.axis": axis, "delete.axis": axis, "insert.axis": axis, "append.axis": axis, "append.values": lambda d: d.alike(),
    "searchsorted.a": lambda d: "np.sort(" + d.array(REALS, [(n,) for n in (0, 1, 3, 5)], False) + ")", "searchsorted.v": lambda d: d.array(REALS),
    "digitize.x": array(REALS), "bincount.x": counts,
    "interp.x": array(OFTEN), "interp.right": one("None", "7"),
    "unpackbits.a": array(["u1", "u1", "u1", "i8"]), "packbits.a": array(["?", "?", "u1", "i8", "f8"]),
    "unravel_index.indices": lambda d: d.indices(7) if d.ref is not None else d.array(INTS), "unravel_index.shape": one("(3, 4)", "(2, 2, 2)", "5"),
    "ravel_multi_index.multi_index": lambda d: f"({d.array(INTS, [(3,), ()])}, {d.array(INTS, [(3,), ()])})",
    "choose.a": array(["i8", "i8", "u1", "?"]), "choose.choices": lambda d: f"[{d.partner()}, {d.partner()}, {d.partner()}]",
    "select.condlist": lambda d: f"[{d.array(['?'], scalars=False)}, {d.partner(['?'])}]",
    "select.choicelist": lambda d: f"[{d.partner()}, {d.partner()}]",
    "piecewise.condlist": lambda d: "[" + d.add(d.numbers(d.ref.shape, "?")) + "]",
    "piecewise.funclist": one("[lambda t: t * 2, 1]", "[np.sin, lambda t: -t]", "[0.5]", "[1, 2, 3]"), "piecewise.args": one("*()"),
    "apply_along_axis.func1d": one("np.sum", "np.sort", "lambda t: t[::-1]", "lambda t: t * 2"), "apply_along_axis.axis": one("0", "-1", "1", "5"),
    "apply_along_axis.args": one("*()"),
    "apply_over_axes.func": one("np.sum", "np.max"), "apply_over_axes.axes": one("0", "(0, 1)", "[-1]", "5"), "copyto.dst": array(scalars=False),
    "copyto.where": Draw.mask, "place.vals": line(OFTEN), "put.v": lambda d: d.partner(), "put.values": lambda d: d.partner(),
    "place.arr": array(scalars=False), "extract.arr": lambda d: d.partner(wrong=0), "compress.a": lambda d: d.array(),
    "compress.condition": array(["?", "?", "i8"], LINES, False), "fill_diagonal.a": array(shapes=SEVERAL, scalars=False),
    "fill_diagonal.val": Draw.number,
    "lexsort.keys": lambda d: f"({d.array(REALS, [(3,), (2, 3)], False)}, {d.alike()})", "einsum.operands": lambda d: einsum(d),
    "einsum_path.operands": lambda d: einsum(d), "ix_.args": lambda d: f"{d.vector(['i8', '?', 'u1'])}, {d.vector(['i8', '?'])}",
    "where.x": lambda d: d.partner(wrong=0.1), "where.y": lambda d: d.partner(), "where.condition": array(["?", "?", "i8", "f8"]),
    "trapezoid.x": lambda d: d.partner(), "gradient.axis": Draw.axis, "unwrap.p": array(REALS), "cov.m": array(shapes=SEVERAL),
    "corrcoef.x": array(shapes=SEVERAL),
    "cov.y": alike, "corrcoef.y": alike, "polyder.m": one("0", "1", "2", "-1"), "polyint.m": one("0", "1", "2"),
    "polyint.k": one("None", "0", "1.5"), "polyfit.x": array(FLOATS, [(5,)], False),
    "polyfit.y": lambda d: d.array(FLOATS, [(5,), (5, 2), (4,)], False), "polyfit.deg": one("1", "2", "0", "-1"),
    **{f"{f}.{p}": line(OFTEN) for f, p in [("polyval", "p"), ("polyadd", "a1"), ("polyadd", "a2"), ("polysub", "a1"), ("polysub", "a2"),
    ("polymul", "a1"), ("polymul", "a2"), ("polyder", "p"), ("polyint", "p"), ("roots", "p"), ("polydiv", "v"), ("vander", "x"), ("poly",
    "seq_of_zeros")]},
    "polyval.x": lambda d: d.array(), "diff.n": one("0", "1", "2", "3", "-1"), "diff.axis": axis, "eye.k": one("0", "1", "-1"),
    "linspace.start": array(FLOATS), "logspace.start": array(FLOATS), "geomspace.start": array(FLOATS), "isin.kind": one("None", "'sort'", "'table'"),
    "zeros_like.shape": one("None", "3", "(2, 3)", "()"), "ones_like.shape": one("None", "3", "(2, 3)"),
    "full_like.shape": one("None", "3", "(2, 3)"), "empty_like.shape": one("None", "3", "(2, 3)"),
    "broadcast_to.shape": lambda d: d.pick(str((2, *d.ref.shape)), str(d.ref.shape), "(3, 3)", "3", "()"),
    "block.arrays": lambda d: d.pick(d.sequence(), "[" + d.sequence() + "]"), "real_if_close.a": array(["c8", "c16", "f8"]),
    "resize.new_shape": one("3", "(2, 3)", "0", "(1, 7)", "(-1,)"), "searchsorted.sorter": one("None",),
    "meshgrid.xi": lambda d: f"{d.vector()}, {d.vector()}", "sort.order": one("None"), "argsort.order": one("None"),
    "partition.order": one("None"), "argpartition.order": one("None"), "partition.kind": one("'introselect'"),
    "argpartition.kind": one("'introselect'"), "hist.bins": one("3"), "trace.dtype": Draw.dtype, "insert.values": lambda d: d.partner(),
    "insert.obj": one("0", "1", "[0, 1]", "-1", "9", "slice(0, 2)"),
    "histogramdd.sample": array(REALS, [(5, 2), (4, 1), (3,)], False), "histogramdd.bins": one("3", "(2, 3)", "10"),
    "histogramdd.range": one("None"), "histogram2d.x": line(), "histogram2d.y": lambda d: d.alike(), "histogram2d.range": one("None"),
    "histogram2d.bins": one("3", "[2, 3]"), "asarray.order": one("None", "'C'", "'F'"),
    "can_cast.from_": lambda d: f"{d.array()}.dtype",
    "result_type.arrays_and_dtypes": lambda d: f"{d.array()}, {d.pick(d.partner(), 'np.float32', '2.5')}", "min_scalar_type.a": array(),
    "interp.period": one("None", "4.0"), "count_nonzero.axis": Draw.axis, "array_repr.precision": one("3"), "round.a": array(),
    "quantile.weights": one("None"), "percentile.q": one("50", "[10, 90]", "0", "100", "101"), "nanpercentile.q": one("50", "[10, 90]"),
    "sinc.x": array(FLOATS), "i0.x": array(REALS), "interp.xp": one("[0.0, 1.0, 2.5]", "[0, 2, 3]", "[]"),
    "choose.mode": one("'raise'", "'wrap'", "'clip'"), "trim_zeros.axis": one("None"),
    "flatten.order": PARAMS["order"], "fill.value": Draw.number, "dot.other": lambda d: d.array(OFTEN, SQUARES + SHAPES),
    "item.args": one("*()", "0", "-1", "0, 0", "9"), "view.args": one("'i8'", "'f4'", "np.uint8", "*()"),
    "clip.min": lambda d: d.partner() if d.chance(0.8) else "None", "clip.max": lambda d: d.partner() if d.chance(0.8) else "None",
    "resize.refcheck": one("False"), "to_device.device": one("'cpu'"),
    "to_device.stream": one("None"), "reshape.shape": lambda d: d.shape(), "transpose.axes_": one("*()"), "histogram.weights": alike,
    "bincount.weights": alike, "unique.axis": one("None"), "union1d.ar2": lambda d: d.array(), "intersect1d.ar2": lambda d: d.array(),
}  # fmt: skip


def einsum(d):
    spec, ranks = d.pick(("'ij,jk', ", (2, 2)), ("'ij->ji', ", (2,)), ("'ii', ", (2,)), ("'ii->i', ", (2,)), ("'i,i', ", (1, 1)),
        ("'...j,j->...', ", (3, 1)), ("'ij->', ", (2,)), ("'ij,ij->i', ", (2, 2)), ("'ij,k', ", (2, 1)), ("'ij->ik', ", (2,)))
    return spec + ", ".join(d.array(OFTEN, [(3,) * n, (3,) * n, (2,) * n], False) for n in ranks)


SKIP = {"save", "savetxt", "savez", "savez_compressed", "array2string", "array_repr", "array_str", "busday_count", "busday_offset", "is_busday",
        "datetime_as_string", "tofile", "dump", "dumps", "tobytes", "arange", "eye", "identity", "tri", "fromfunction", "zeros", "empty", "ones",
        "full", "tril_indices_from", "vectorize", "_"}  # fmt: skip

# -- calls -----------------------------------------------------------------------------------------


def spelled(function):
    """np.linalg.inv for numpy.linalg.inv, under "linalg.inv"."""
    name = f"{function.__module__}.{function.__name__}".removeprefix("numpy.")
    return "around" if function is np.around else name


@functools.cache
def names():
    """name -> how a call of it is drawn: every entry of the registry once."""
    found = {}
    for key in HANDLERS:
        if not isinstance(key, str | tuple):
            found[spelled(key)] = of_function
    for u in [u for u in (*UFUNCS, *(k[0] for k in HANDLERS if isinstance(k, tuple))) if getattr(np, u.__name__, None) is u]:  # not SciPy's
        found[u.__name__] = of_ufunc
        if u.nin == 2 and u.nout == 1 and u.signature is None:
            found.update({f"{u.__name__}.{method}": of_ufunc_method for method in HANDLERS if isinstance(method, str)})
    found.update({f"ndarray.{m}": of_method for m in METHODS if not m.startswith("_")})
    return {k: v for k, v in sorted(found.items()) if k.rpartition(".")[2] not in SKIP}


def draw(name, seed):
    d = Draw(name, seed)
    d.text = names()[name](d)
    return d


def argument(d, name, parameter):
    maker = SPECIAL.get(f"{name}.{parameter}") or SPECIAL.get(f"{name.rpartition('.')[2]}.{parameter}") or PARAMS.get(parameter)
    if maker is None:
        raise KeyError(f"{name}({parameter})")
    return maker(d)


def keywords(d, name, parameters, chance=0.3):
    """Some of the optional parameters, as texts."""
    texts = []
    for p in parameters:
        if p not in NEVER and p != "out" and d.chance(chance):
            texts.append(f"{p}={argument(d, name, p)}")
    return texts


def with_out(d, call, plain, outs=1):
    """The call with `out=` of what NumPy gives without, or nearly that."""
    try:
        with np.errstate(all="ignore"):
            result = eval(plain, {"np": np}, dict(d.operands))
    except Exception:
        result = np.zeros(3)
    parts = result if isinstance(result, tuple) else (result,)
    names = []
    for part in parts[:outs]:
        shape = d.pick((3,), (2, 3), () if np.ndim(part) == 0 else (1,)) if d.mistake(0.15) else np.shape(part)  # NumPy's accumulate dies of ()
        dtype = np.asarray(part).dtype if d.chance(0.6) or not d.mistake(1) else np.dtype(d.pick(*DTYPES))
        names.append(d.add(np.full(shape, 7).astype(dtype)))
    return call(names[0] if outs == 1 else f"({', '.join(names)})")


def of_function(d):
    function = eval("np." + d.name, {"np": np}) if not d.name.startswith("lib") else eval("np." + d.name)
    parameters = inspect.signature(function).parameters
    need, extra = [], []
    for p, spec in parameters.items():
        if p in NEVER:
            continue
        (need if spec.default is spec.empty else extra).append(p)
    if d.name == "where" and d.chance(0.9):
        need, extra = ["condition", "x", "y"], []
    if d.name == "clip":
        need, extra = (["a", "a_min", "a_max"], ["out"]) if d.chance(0.7) else (["a"], ["min", "max"])
    keyword = {p for p in need if parameters[p].kind is inspect.Parameter.KEYWORD_ONLY}
    texts = [f"{p}={argument(d, d.name, p)}" if p in keyword else argument(d, d.name, p) for p in need]
    texts += keywords(d, d.name, [p for p in extra if parameters[p].kind is not inspect.Parameter.POSITIONAL_ONLY])
    plain = f"np.{d.name}({', '.join(texts)})"
    result = plain
    if "out" in extra and d.chance(0.2):
        result = with_out(d, lambda o: f"np.{d.name}({', '.join([*texts, 'out=' + o])})", plain)
    if d.name in ("copyto", "putmask", "place", "put", "put_along_axis", "fill_diagonal"):
        result = f"({result}, {texts[0]})"
    return result


def of_method(d):
    name = d.name.removeprefix("ndarray.")
    twin = getattr(np, name, None)
    spec = inspect.signature(getattr(np.ndarray, name)).parameters if name != "is_integer" else {}
    if any(p.kind is p.VAR_KEYWORD for p in spec.values()) and twin is not None:
        spec = inspect.signature(twin).parameters
    me = d.array(["f8", "f4"], [()], scalars=True) if name == "is_integer" else argument(d, name, "a") if f"{name}.a" in SPECIAL else d.array()
    spec = list(spec.items())[1:]
    need = [p for p, s in spec if s.default is s.empty and s.kind is not s.VAR_KEYWORD]
    extra = [p for p, s in spec if s.default is not s.empty]
    if name in ("transpose", "reshape", "resize"):
        need = ["shape"] if name != "transpose" else ["axes"]
    texts = [argument(d, name, p) for p in need] + keywords(d, name, extra)
    plain = result = f"{me}.{name}({', '.join(texts)})"
    if "out" in extra and d.chance(0.2):
        result = with_out(d, lambda o: f"{me}.{name}({', '.join([*texts, 'out=' + o])})", plain)
    return f"({result}, {me})" if name in ("fill", "sort", "partition", "put", "resize") else result


def of_ufunc(d):
    u = getattr(np, d.name)
    core = u.signature is not None
    first = d.array(OFTEN, SQUARES + SHAPES if core else SHAPES)
    rest = [d.array(OFTEN, SQUARES + SHAPES) if core else d.partner() for _ in range(u.nin - 1)]
    inputs = [first, *rest]
    if u.nin == 2 and d.chance(0.15):
        inputs.reverse()
    kind = d.r.random()
    if d.name in INFIX and kind < 0.4:
        return f"{inputs[0]} {INFIX[d.name]} {inputs[1]}"
    if d.name in PREFIX and kind < 0.4:
        return f"{PREFIX[d.name]}({inputs[0]})"
    if d.name == "divmod" and kind < 0.4:
        return f"divmod({inputs[0]}, {inputs[1]})"
    texts = list(inputs)
    if d.chance(0.15):
        texts.append(f"dtype={d.dtype()}")
    if d.chance(0.1):
        texts.append(f"casting={argument(d, d.name, 'casting')}")
    plain = f"np.{d.name}({', '.join(texts)})"
    if not d.chance(0.2):
        return plain
    if not core and d.chance(0.4):
        texts.append(f"where={d.mask()}")
    return with_out(d, lambda o: f"np.{d.name}({', '.join([*texts, 'out=' + o])})", plain, u.nout)


def of_ufunc_method(d):
    name, method = d.name.rpartition(".")[::2]
    if method == "outer":
        return f"np.{name}.outer({d.array()}, {d.array() if d.chance(0.8) else d.number()})"
    x = d.array(scalars=False)
    if method == "at":
        return f"(np.{name}.at({x}, {d.indices(d.length() or 1)}, {d.number() if d.chance(0.5) else d.array(shapes=[(), (3,)])}), {x})"
    if method == "reduceat":
        texts = [x, d.pick("[0, 1]", "[0]", "[1, 0, 1]", "[]") if d.ref.shape[:1] != (1,) else "[0]"]
    else:
        texts = [x]
    allowed = {"reduce": ["axis", "dtype", "keepdims", "initial", "where"]}.get(method, ["axis", "dtype"])
    texts += keywords(d, name, allowed)
    plain = f"np.{name}.{method}({', '.join(texts)})"
    if d.chance(0.15):
        return with_out(d, lambda o: f"np.{name}.{method}({', '.join([*texts, 'out=' + o])})", plain)
    return plain

