"""Fixed points by iteration."""


def fixed_point(f, a, x0, distance, tol):
    """x with x = f(a)(x), iterated from x0 until `distance` between two iterates is at most `tol`.

    Differentiated as it stands, through its iterates: the derivative has converged where those have, some trips later than x.
    """
    step = f(a)
    x, last = step(x0), x0
    while distance(x, last) > tol:
        x, last = step(x), x
    return x
