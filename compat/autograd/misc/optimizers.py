"""Gradient descent under autograd's names: each takes (grad, x0, callback=None, ...), where `grad(x, i)` is the
gradient at trip i.

x0 is any container of arrays. `callback(x, i, g)`, if given, is called before each step. Sources: Polyak (1964) for
momentum; Tieleman and Hinton, Lecture 6.5 (2012); Kingma and Ba, Adam (2015), algorithm 1.
"""

import functools

import numpy as np

from .flatten import flatten


def on_containers(descend):
    """A descent on vectors as one on containers."""

    @functools.wraps(descend)
    def descent(grad, x0, callback=None, *args, **kwargs):
        vector, unflatten = flatten(x0)

        def slope(x, i):
            return flatten(grad(unflatten(x), i))[0]

        def shown(x, i, g):
            if callback:
                callback(unflatten(x), i, unflatten(g))

        return unflatten(descend(slope, vector, shown, *args, **kwargs))

    return descent


@on_containers
def sgd(grad, x, shown, num_iters=200, step_size=0.1, mass=0.9):
    """Descent with momentum: a running mean of gradients, `mass` of it kept at every step."""
    mean = np.zeros_like(x)
    for i in range(num_iters):
        g = grad(x, i)
        shown(x, i, g)
        mean = mass * mean + (1.0 - mass) * g
        x = x - step_size * mean
    return x


@on_containers
def rmsprop(grad, x, shown, num_iters=100, step_size=0.1, gamma=0.9, eps=1e-8):
    """Steps divided by the root of a running mean of squared gradients, which starts at one."""
    square = np.ones_like(x)
    for i in range(num_iters):
        g = grad(x, i)
        shown(x, i, g)
        square = gamma * square + (1.0 - gamma) * g**2
        x = x - step_size * g / (np.sqrt(square) + eps)
    return x


@on_containers
def adam(grad, x, shown, num_iters=100, step_size=0.001, b1=0.9, b2=0.999, eps=1e-8):
    """Running means of gradients and of their squares, each divided by the weight it has gathered so far."""
    mean, square = np.zeros_like(x), np.zeros_like(x)
    for i in range(num_iters):
        g = grad(x, i)
        shown(x, i, g)
        mean = b1 * mean + (1.0 - b1) * g
        square = b2 * square + (1.0 - b2) * g**2
        first, second = mean / (1.0 - b1 ** (i + 1)), square / (1.0 - b2 ** (i + 1))
        x = x - step_size * first / (np.sqrt(second) + eps)
    return x
