"""Derivatives against central differences, along random directions."""

import itertools

import numpy as np

from wengert import jit, jvp, vjp

from .differential_operators import chosen, positions
from .misc.flatten import flatten

PRODUCTS = {"fwd": "jvp", "rev": "vjp"}
STEP, TOLERANCE = 1e-6, 1e-6  # autograd's own, the tolerance relative to numbers beyond one


def scalar_close(a, b):
    """Whether two numbers agree as derivatives and differences do."""
    return abs(a - b) <= TOLERANCE * (1.0 + abs(a) + abs(b))


def random_like(x):
    """Normal numbers in the structure, shapes and dtypes of x."""
    vector, unflatten = flatten(x)
    draw = np.random.standard_normal(vector.shape)
    return unflatten(draw + 1j * np.random.standard_normal(vector.shape) if np.iscomplexobj(vector) else draw)


def moved(x, v, step):
    vector, unflatten = flatten(x)
    return unflatten(vector + step * flatten(v)[0])


def pairing(g, v):
    """What a cotangent gives for a tangent."""
    return float(np.sum(np.real(flatten(g)[0] * flatten(v)[0])))


def check_grads(f, argnum=0, modes=("fwd", "rev"), order=2):
    """A function of f's arguments that raises AssertionError where a derivative of f differs from differences.

    modes: of "fwd" (jvp) and "rev" (vjp). order: how often to differentiate; every derivative of order n + 1
    is of one of order n, in each of the modes. f runs as plain Python where differences are taken.
    """
    modes = ("fwd", "rev") if modes is None else tuple(modes)
    if not modes or set(modes) - {"fwd", "rev"}:
        raise ValueError(f'modes={modes!r}: give some of "fwd" and "rev"')

    def check(*args, **kwargs):
        unary, x = chosen(f, positions(argnum), args, kwargs)
        _check(unary, x, modes, order, getattr(f, "__name__", type(f).__name__))

    return check


def _check(f, x, modes, order, name):
    value = f(x)
    v, w = random_like(x), random_like(value)

    def slopes(x, v, w):
        made = {}
        if "fwd" in modes:
            made["fwd"] = jvp(f, (x,), (v,))[1]
        if "rev" in modes:
            made["rev"] = vjp(f, x)[1](w)[0]
        return made

    compiled = jit(slopes)
    found = compiled(x, v, w)
    up, down = (flatten(f(moved(x, v, step)))[0] for step in (STEP / 2, -STEP / 2))
    expected = float(np.sum(np.real(flatten(w)[0] * ((up - down) / STEP))))
    for mode, slope in found.items():
        like = value if mode == "fwd" else x
        assert shapes(slope) == shapes(like), (
            f"{mode} of {name}: the derivative has the shapes {shapes(slope)}, and should have {shapes(like)}"
        )
        given = pairing(w, slope) if mode == "fwd" else pairing(slope, v)
        text = (
            f"({PRODUCTS[mode].upper()}) check of {name} failed at {x}: {given} along a random direction, where "
            f"differences give {expected}"
        )
        assert scalar_close(given, expected), text
    if order > 1:
        _check(
            lambda at: compiled(*at),
            (x, v, w),
            modes,
            order - 1,
            f"{'_'.join(PRODUCTS[mode] for mode in modes)}_{name}",
        )


def shapes(x):
    """The structure of x, with the shape and kind of number of each leaf."""
    if isinstance(x, dict):
        return {key: shapes(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return tuple(shapes(value) for value in x)
    return np.shape(x), "complex" if np.iscomplexobj(x) else "real"


def check_equivalent(x, y):
    """AssertionError where two containers of numbers differ in structure, shapes or numbers."""
    assert shapes(x) == shapes(y), f"{shapes(x)} against {shapes(y)}"
    assert all(map(scalar_close, flatten(x)[0], flatten(y)[0])), f"{x} against {y}"


def combo_check(f, argnum=0, modes=("fwd", "rev"), order=2):
    """A function of lists: `check_grads` for every combination of one from each."""
    check = check_grads(f, argnum, modes, order)

    def every(*args, **kwargs):
        for given in itertools.product(*args, *kwargs.values()):
            check(*given[: len(args)], **dict(zip(kwargs, given[len(args) :])))

    return every
