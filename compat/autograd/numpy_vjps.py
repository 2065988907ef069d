"""`autograd.numpy.numpy_vjps`, of which programs with derivatives of their own take the transposes of broadcasting."""

import numpy as np

__all__ = ["unbroadcast", "unbroadcast_f"]


def unbroadcast(x, target_meta, broadcast_idx=0):
    """A cotangent of what was broadcast, summed to that of shape `target_meta[0]`; complex ones are real where the
    target is.

    target_meta: (shape, number of axes, dtype, whether complex), as autograd's `metadata` gives. broadcast_idx: before
    which axis new ones came; -1 is behind all.
    """
    shape, ndim, _, is_complex = target_meta
    while np.ndim(x) > ndim:
        x = np.sum(x, axis=broadcast_idx)
    for axis, size in enumerate(shape):
        if size == 1:
            x = np.sum(x, axis=axis, keepdims=True)
    return np.real(x) if np.iscomplexobj(x) and not is_complex else x


def unbroadcast_f(target, f):
    """`f` of a cotangent, its result summed to the shape of `target`."""
    meta = np.shape(target), np.ndim(target), getattr(target, "dtype", None), np.iscomplexobj(target)
    return lambda g: unbroadcast(f(g), meta)
