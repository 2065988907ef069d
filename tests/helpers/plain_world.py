"""An example as it runs without Wengert: `jit` is nothing, `vmap` a loop, and derivatives are central differences."""

import builtins
import itertools
import types

import numpy as np


def leaves(x):
    """The arrays and numbers of a container of dicts, in order."""
    return [leaf for key in x for leaf in leaves(x[key])] if isinstance(x, dict) else [x]


def changed(x, parts):
    """The container with other leaves, taken from an iterator."""
    return {key: changed(x[key], parts) for key in x} if isinstance(x, dict) else next(parts)


def jit(function=None, **options):
    return jit if function is None else function


def directions(x, h):
    """(one element of a leaf nudged by h, its leaf, its index) for every element of a container."""
    for number, leaf in enumerate(leaves(x)):
        for at in np.ndindex(np.shape(leaf)):
            moved = [np.array(y, float) for y in leaves(x)]
            moved[number][at] += h
            yield changed(x, iter(moved)), number, at


def grad(function, h=1e-5):
    def gradient(x, *rest):
        slopes = [np.zeros(np.shape(leaf)) for leaf in leaves(x)]
        for (up, number, at), (down, _, _) in zip(directions(x, h), directions(x, -h), strict=True):
            slopes[number][at] = (function(up, *rest) - function(down, *rest)) / (2 * h)
        return changed(x, iter(slopes))

    return gradient


def value_and_grad(function):
    return lambda x, *rest: (function(x, *rest), grad(function)(x, *rest))


def jacfwd(function, h=1e-5):
    def jacobian(x, *rest):
        columns = [(function(x + h * e, *rest) - function(x - h * e, *rest)) / (2 * h) for e in np.eye(len(x))]
        return np.stack(columns, axis=-1)

    return jacobian


def hessian(function):
    return jacfwd(grad(function, h=1e-4), h=1e-4)


def jvp(function, primals, tangents, h=1e-6):
    up, down = (function(*(p + s * h * t for p, t in zip(primals, tangents, strict=True))) for s in (1, -1))
    return function(*primals), (up - down) / (2 * h)


def vmap(function, in_axes=0):
    def mapped(*args):
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        lanes = [itertools.repeat(x) if axis is None else np.moveaxis(x, axis, 0) for x, axis in zip(args, axes, strict=True)]
        return np.stack([function(*lane) for lane in zip(*lanes, strict=False)])

    return mapped


STANDS_FOR = types.SimpleNamespace(jit=jit, grad=grad, value_and_grad=value_and_grad, jacfwd=jacfwd, hessian=hessian, jvp=jvp, vmap=vmap)


def main_of(path):
    """The `main` of a file that has all of Wengert from here."""
    found = lambda name, *more: STANDS_FOR if name == "wengert" else builtins.__import__(name, *more)
    space = {"__name__": path.stem, "__builtins__": vars(builtins) | {"__import__": found}}
    exec(compile(path.read_text(), str(path), "exec"), space)
    return space["main"]
