"""Calls of Python from programs, with numbers of 64 bits whatever thread they come on.

XLA runs what takes long on threads of its own, where 64-bit types are off unless the user has them on everywhere: what
goes through a callback of JAX's is cut to 32 bits there. So such numbers pass as pairs of words.
"""

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from .hosted import recording_errors

WIDE = {np.dtype(t) for t in (np.float64, np.int64, np.uint64)}
COMPLEX, WORD = np.dtype(np.complex128), np.dtype(np.uint32)


def words(x):
    """An array of a program as words, those of an element along the last axis."""
    if x.dtype == COMPLEX:
        x = jnp.stack([jnp.real(x), jnp.imag(x)], -1)
    return lax.bitcast_convert_type(x, WORD) if x.dtype in WIDE else x


def numbers(x, dtype):
    """Words as an ndarray of the numbers that they are."""
    if dtype == COMPLEX:
        return np.ascontiguousarray(np.ascontiguousarray(x).view(np.float64)[..., 0]).view(dtype)[..., 0]
    return np.ascontiguousarray(x).view(dtype)[..., 0] if dtype in WIDE else x


def to_words(x, dtype):
    """Numbers of Python's as words."""
    x = np.asarray(x, dtype)
    if dtype == COMPLEX:
        return np.ascontiguousarray(x[..., None]).view(np.float64)[..., None].view(WORD)
    return np.ascontiguousarray(x[..., None]).view(WORD) if dtype in WIDE else x


def from_words(x, dtype):
    """Words that Python has given, as an array of the program."""
    if dtype == COMPLEX:
        parts = lax.bitcast_convert_type(x, np.float64)
        return lax.complex(parts[..., 0], parts[..., 1])
    return lax.bitcast_convert_type(x, dtype) if dtype in WIDE else x


def shape_of(t):
    wide = (2, 2) if t.dtype == COMPLEX else (2,) if t.dtype in WIDE else ()
    return jax.ShapeDtypeStruct((*t.shape, *wide), WORD if wide else t.dtype)


def callback(via, run, results, operands, **how):
    """`via(...)`, one of JAX's callbacks, of `run(*ndarrays) -> tuple of ndarrays`; `results` have shape and dtype
    each."""
    takes, gives = [np.dtype(x.dtype) for x in operands], [np.dtype(t.dtype) for t in results]

    def called(*xs):
        out = run(*map(numbers, map(np.asarray, xs), takes))
        return tuple(map(to_words, out, gives))

    return tuple(
        map(
            from_words,
            via(recording_errors(called), tuple(map(shape_of, results)), *map(words, operands), **how),
            gives,
        )
    )
