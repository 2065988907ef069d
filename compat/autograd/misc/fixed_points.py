"""Fixed points by iteration, differentiated by their equation."""

import numpy as np

import wengert


def fixed_point(f, a, x0, distance, tol):
    """x with x = f(a)(x), iterated from x0 until `distance` between two iterates is at most `tol`.

    Reverse mode solves the adjoint equation by the same iteration: nothing of the way to x is kept, and x0 has no
    derivative. What `f` closes over has none either: pass it in `a`. Source: Christianson, Reverse accumulation and
    attractive fixed points (1994).
    """

    @wengert.custom_vjp
    def solved(a):
        return iterated(f(a), x0, distance, tol)

    def forward(a):
        x = solved(a)
        return x, (a, x)

    def backward(at, g):
        back = wengert.vjp(lambda a, x: f(a)(x), *at)[1]
        return (back(iterated(lambda u: g + back(u)[1], np.zeros_like(g), distance, tol))[0],)

    solved.defvjp(forward, backward)
    return solved(a)


def iterated(step, x, distance, tol):
    x, last = step(x), x
    while distance(x, last) > tol:
        x, last = step(x), x
    return x
