"""scipy.spatial.transform: its classes are traced through by their source (`origin.SOURCES`); what they have
computed in C is computed here.

SciPy itself is asked which shape each function gives, and how it lies in memory, on rotations by nothing: so its own
words say what is wrong with shapes and sequences of axes. What is wrong with numbers is asked when the program runs.
"""

import functools
import sys
import warnings

import numpy as np

from ..common.errors import UnsupportedError, message, with_note
from ..common.frames import locate
from ..common.origin import SOURCES
from ..numpy_api.handles import handle, laid_out
from ..numpy_api.registry import call_function
from ..numpy_api.scipy_registry import any_traced, captures, refuse
from ..regions.convert import STEADS, convert
from ..values.array import fresh
from ..values.storage import current_trace
from . import quaternions as qs
from .stats import demand

COMPILED, GENERAL = (f"scipy.spatial.transform._rotation_{name}" for name in ("cy", "xp"))
LOCK = (
    "Gimbal lock detected. Setting third angle to zero since it is not possible to uniquely determine all angles."
)


def computes(*names):
    """Decorator: the handler of what SciPy has compiled for stacks of one axis, and in Python for all others; its first
    argument ask_scipy the function itself for shapes."""

    def register(handler):
        for module in (COMPILED, GENERAL):
            for name in names:
                asked = functools.partial(ask_scipy, module, name)
                captures(module, name)(functools.partial(handler, asked))
        return handler

    return register


def in_stead(name):
    """Decorator: the function that is converted in place of a generator of SciPy's."""
    return lambda function: STEADS.setdefault((SOURCES[0], name), function)


def ask_scipy(module, name, *args, **kwargs):
    """What SciPy's own function gives for made-up arguments."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.asarray(getattr(sys.modules[module], name)(*args, **kwargs))
    except (ValueError, TypeError, IndexError) as error:
        raise with_note(type(error), message(str(error), locate())) from None


def is_general(asked):
    """Whether it is the function for stacks of several axes."""
    return asked.args[0] == GENERAL


def doubles(x, what="rotations"):
    x = handle(x)
    if x.dtype != np.float64:
        refuse(f"scipy.spatial.transform of {what} of {x.dtype}")
    return x


def as_given_back(result, like):
    """The result, in the shape and memory of what SciPy gives."""
    result = handle(result).reshape(like.shape)
    made = fresh(result.value) if like.flags.c_contiguous else laid_out(result.value, np.empty_like(like))
    made.storage.unnamed = True
    return made


def nothing(q):
    """Rotations by nothing, as many as q holds."""
    made = np.zeros(np.shape(q))
    made[..., -1] = 1.0
    return made


def flagged(*options):
    """UnsupportedError where an option of Python's is a traced value."""
    if any_traced(options):
        refuse("an option of scipy.spatial.transform")


# -- quaternions of what describes a rotation ------------------------------------------------------


@computes("from_quat")
def from_quat(asked, quat, normalize=True, copy=True, *, scalar_first=False):
    flagged(normalize, copy, scalar_first)
    q = doubles(quat, "quaternions")
    asked(np.ones(q.shape), normalize=normalize, copy=copy, scalar_first=scalar_first)
    if scalar_first:
        q = np.concatenate([q[..., 1:], q[..., :1]], axis=-1)
    if not normalize:
        return q if scalar_first or not copy else q.copy()
    norm = np.sqrt(qs.square_length(q))
    demand(np.all(norm != 0), ValueError, "Found zero norm quaternions in `quat`.")
    return q / norm


@computes("from_rotvec")
def from_rotvec(asked, rotvec, degrees=False):
    flagged(degrees)
    v = doubles(rotvec, "vectors")
    like = asked(np.zeros(v.shape), degrees=degrees)
    return as_given_back(qs.from_vector(v * qs.DEGREE if degrees else v), like)


@computes("from_mrp")
def from_mrp(asked, mrp):
    p = doubles(mrp, "parameters")
    return as_given_back(qs.from_parameters(p), asked(np.zeros(p.shape)))


@computes("from_euler")
def from_euler(asked, seq, angles, degrees=False):
    flagged(seq, degrees)
    a = doubles(angles, "angles")
    like = asked(seq, np.zeros(a.shape), degrees=degrees)
    a = (a * qs.DEGREE if degrees else a).reshape(*like.shape[:-1], len(seq))
    turns = [qs.about("xyz".index(axis), angle) for axis, angle in zip(seq.lower(), qs.components(a))]
    return as_given_back(qs.in_turn(turns, seq.isupper()), like)


@computes("from_davenport")
def from_davenport(asked, axes, order, angles, degrees=False):
    flagged(order, degrees)
    axes, a = doubles(axes, "axes"), doubles(angles, "angles")
    basis = np.resize(np.eye(3), axes.shape) if axes.ndim and axes.shape[-1] == 3 else np.ones(axes.shape)
    like = asked(basis, order, np.zeros(a.shape), degrees=degrees)
    axes, a = np.atleast_2d(axes), np.atleast_1d(a * qs.DEGREE if degrees else a)
    axes = axes / np.sqrt(qs.square_length(axes))
    for i in range(axes.shape[-2] - 1):
        cosine = (axes[..., i, :] * axes[..., i + 1, :]).sum(-1)
        demand(np.all(~(np.abs(cosine) > 1e-7)), ValueError, "Consecutive axes must be orthogonal.")
    turns = [qs.from_vector(a[..., i, None] * axes[..., i, :]) for i in range(axes.shape[-2])]
    return as_given_back(qs.in_turn(turns, order in ("i", "intrinsic")), like)


@computes("from_matrix")
def from_matrix(asked, matrix, assume_valid=False):
    flagged(assume_valid)
    m = doubles(matrix, "matrices")
    whole = m.shape[-2:] == (3, 3)
    like = asked(np.broadcast_to(np.eye(3), m.shape).copy() if whole else np.zeros(m.shape), assume_valid=assume_valid)
    if not assume_valid:
        demand_upright(m)
        m = convert(orthogonal)(m)
    return as_given_back(qs.from_orthogonal(m), like)


def demand_upright(m):
    """SciPy's error where a determinant is not positive. It shows the matrix, so plain Python is to raise it; where
    there is none to go on as, the number of the matrix is what it says."""
    upright = handle(~(np.linalg.det(m) <= 0))
    which = handle(np.argmin(upright.reshape(-1)))
    made = current_trace().root.choices
    error = ValueError if made is None or made.insists else UnsupportedError
    words = "Non-positive determinant (left-handed or null coordinate frame) in rotation matrix {}."
    current_trace().check(handle(np.all(upright)).value, error, message(words, locate()), which.value)


def orthogonal(m):
    """The rotations next to matrices: they themselves, where they are some."""
    gramians = np.matmul(m, np.swapaxes(m, -1, -2))
    fine = np.all(np.isclose(gramians, np.eye(3), atol=1e-12), axis=(-2, -1))
    if not np.all(fine):
        m = np.where(fine[..., None, None], m, qs.nearest(m))
    return m


# -- what describes a rotation, of its quaternion --------------------------------------------------


@computes("as_quat")
def as_quat(asked, quat, canonical=False, *, scalar_first=False):
    flagged(canonical, scalar_first)
    q = doubles(quat)
    q = qs.canonical(q) if canonical else q if is_general(asked) else q.copy()
    return np.concatenate([q[..., 3:], q[..., :3]], axis=-1) if scalar_first else q


@computes("as_matrix")
def as_matrix(asked, quat):
    return as_given_back(qs.to_matrix(doubles(quat)), asked(nothing(quat)))


@computes("as_rotvec")
def as_rotvec(asked, quat, degrees=False):
    flagged(degrees)
    v = qs.to_vector(doubles(quat))
    return as_given_back(v * qs.RADIAN if degrees else v, asked(nothing(quat), degrees=degrees))


@computes("as_mrp")
def as_mrp(asked, quat):
    return as_given_back(qs.to_parameters(doubles(quat)), asked(nothing(quat)))


@computes("as_euler")
def as_euler(asked, quat, seq, degrees=False, *, suppress_warnings=False):
    flagged(seq, degrees, suppress_warnings)
    q = doubles(quat)
    like = asked(nothing(q), seq, degrees=degrees, suppress_warnings=True)
    angles, locked = qs.to_angles(q, ["xyz".index(axis) for axis in seq.lower()], seq.isupper())
    if not suppress_warnings:
        convert(warn_of_lock)(np.any(locked), 1 if is_general(asked) else 2)
    whole = (angles + np.pi) % (2 * np.pi) - np.pi if is_general(asked) else qs.within_half_turn(angles)
    return as_given_back(whole * qs.RADIAN if degrees else whole, like)


def warn_of_lock(locked, level):
    if locked:
        warnings.warn(LOCK, stacklevel=level)


@computes("magnitude")
def magnitude(asked, quat):
    return as_given_back(qs.angle_of(doubles(quat)), asked(nothing(quat)))


# -- of rotations ----------------------------------------------------------------------------------


@computes("compose_quat")
def compose_quat(asked, p, q):
    return as_given_back(qs.composed(doubles(p), doubles(q)), asked(nothing(p), nothing(q)))


@computes("inv")
def inv(asked, quat):
    return as_given_back(qs.conjugated(doubles(quat)), asked(nothing(quat)))


@computes("pow")
def pow_(asked, quat, n):
    q, n = doubles(quat), handle(n) if any_traced([n]) else n
    if np.shape(n) not in ((), (1,)) or np.ndim(n) and n.dtype.kind not in "biuf":
        asked(nothing(q), np.ones(np.shape(n)) if any_traced([n]) else n)
        refuse("a power of rotations that is no number")
    n = n.reshape(()) if np.ndim(n) else n
    known = not any_traced([n])
    if known and n == 0:
        return handle(nothing(q))
    if known and n in (1, -1):
        return q[...] if n == 1 else qs.conjugated(q)
    return qs.from_vector(n * qs.to_vector(q)) if known else qs.times_over(q, n)


@computes("apply")
def apply(asked, quat, vectors, inverse=False):
    flagged(inverse)
    like = asked(nothing(quat), np.zeros(np.shape(vectors)), inverse=inverse)
    return as_given_back(qs.turned_vectors(doubles(quat), doubles(vectors, "vectors"), inverse), like)


@computes("approx_equal")
def approx_equal(asked, quat, other, atol=None, degrees=False):
    flagged(degrees)
    if atol is None and degrees:
        refuse("Rotation.approx_equal(degrees=True) without atol, which warns")
    like = asked(nothing(quat), nothing(other), atol=1.0)
    bound = 1e-8 if atol is None else atol * qs.DEGREE if degrees else atol
    return as_given_back(qs.angle_of(qs.composed(doubles(other), qs.conjugated(doubles(quat)))) < bound, like)


@computes("mean")
def mean(asked, quat, weights=None, axis=None):
    flagged(axis)
    q, axis = doubles(quat), int(axis) if isinstance(axis, np.integer) else axis
    w = None if weights is None else handle(weights).astype(np.float64)
    like = asked(nothing(q), weights=None if w is None else np.ones(w.shape), axis=axis)
    if axis == ():
        refuse("Rotation.mean(axis=())")
    if w is not None:
        demand(np.all(~(w < 0)), ValueError, "`weights` must be non-negative.")
        w = np.broadcast_to(w, q.shape[:-1])
    axes = range(q.ndim - 1) if axis is None else {a % (q.ndim - 1) for a in np.atleast_1d(axis).tolist()}
    return as_given_back(qs.average(q, w, tuple(axes)), like)


@computes("setitem")
def setitem(asked, quat, value, indexer):
    return convert(with_item)(quat, value, indexer)


def with_item(quat, value, indexer):
    quat[indexer] = value
    return quat


@in_stead("Rotation.__iter__")
def rotations_of(self):
    if self.single:
        raise TypeError("Single rotation is not iterable.")
    return map(functools.partial(type(self), normalize=False, copy=False), self._quat)


@computes("as_davenport", "align_vectors", "reduce")
def left_to_scipy(asked, *args, **kwargs):
    refuse(f"scipy.spatial.transform.Rotation.{asked.args[1]}")


# -- what the classes ask of SciPy's own helpers ---------------------------------------------------


@captures("scipy._external.array_api_compat.numpy")  # since 1.18
@captures("scipy._lib.array_api_compat.numpy")
def asarray(obj, /, *, dtype=None, device=None, copy=None):
    if device not in (None, "cpu") or copy is False:
        refuse("an array on a device, or one that must not be a copy,")
    return call_function(np.array if copy else np.asarray, (obj,), {} if dtype is None else {"dtype": dtype})


@captures("scipy._lib._array_api")
def xp_promote(*args, broadcast=False, force_floating=False, xp):
    """Arrays of one dtype: that in which NumPy would compute with all of them, floats if asked for."""
    if xp.__name__.rpartition(".")[2] != "numpy":
        refuse(f"an array of {xp.__name__}")
    arrays = [x if x is None else call_function(np.asarray, (x,), {}) for x in args]
    asked = [x for x in args if x is not None]
    dtype = np.result_type(*(x if isinstance(x, bool | int | float | complex) else handle(x).dtype for x in asked))
    if force_floating and dtype.kind not in "fc":
        dtype = np.result_type(dtype, np.float64)
    arrays = [x if x is None else x.astype(dtype, copy=False) for x in arrays]
    if broadcast:
        found = iter(np.broadcast_arrays(*(x for x in arrays if x is not None)))
        arrays = [x if x is None else next(found) for x in arrays]
    return arrays[0] if len(arrays) == 1 else tuple(arrays)
