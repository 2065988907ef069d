"""Functions with derivatives given by hand, as autograd's users define them: `primitive`, `defvjp`, `defjvp` and their
kin.

Each becomes a `wengert.custom_vjp`, or a `custom_jvp` where only that is given; the other mode is its transpose. The
function itself is captured like any other. An argument for which nothing is given has no derivative, and says so.
"""

import functools

import wengert

from .misc.flatten import leaves_of


class Box:
    """What holds a value while autograd differentiates. Here nothing does: nothing is an instance, and none is made."""

    def __init__(self, *args):
        raise TypeError("wengert has no boxes: functions are captured, and see arrays as arrays")


def primitive(f):
    """`f` as a function whose derivatives are given: by `defvjp`, `defjvp`, or those with an argument number."""

    @functools.wraps(f)
    def called(*args, **kwargs):
        return custom(f, called.vjp, called.jvp, len(args), tuple(kwargs.items()))(*args)

    called.body, called.vjp, called.jvp = f, None, None  # (rule, the arguments it is for; None for all)
    return called


def notrace_primitive(f):
    """`f`, of which nothing is differentiated."""
    return functools.wraps(f)(lambda *args, **kwargs: wengert.stop_gradient(f(*args, **kwargs)))


def defvjp(f, *makers, argnums=None):
    """`makers[i](ans, *args, **kwargs)(g)` is the cotangent of argument i, or of `argnums[i]`; None stands for zero."""
    places = tuple(range(len(makers)) if argnums is None else argnums)

    def rule(ans, args, kwargs, g):
        return {i: maker and maker(ans, *args, **kwargs)(g) for i, maker in zip(places, makers)}

    f.vjp = rule, places


def defvjp_argnums(f, maker):
    """`maker(argnums, ans, args, kwargs)(g)` are the cotangents of the arguments `argnums`."""

    def rule(ans, args, kwargs, g):
        argnums = floating(args)
        return dict(zip(argnums, maker(argnums, ans, args, kwargs)(g)))

    f.vjp = rule, None


def defvjp_argnum(f, maker):
    """`maker(argnum, ans, args, kwargs)(g)` is the cotangent of argument `argnum`."""

    def rule(ans, args, kwargs, g):
        return {i: maker(i, ans, args, kwargs)(g) for i in floating(args)}

    f.vjp = rule, None


def defjvp(f, *makers, argnums=None):
    """`makers[i](g, ans, *args, **kwargs)` is the tangent of the result for g of argument i; None is zero, "same" is f
    with g for the argument."""
    places = tuple(range(len(makers)) if argnums is None else argnums)

    def rule(ans, args, kwargs, tangents):
        given = [(i, g, makers[places.index(i)]) for i, g in tangents]
        return [
            linear(f, i, args, kwargs, g) if made == "same" else made(g, ans, *args, **kwargs)
            for i, g, made in given
            if made
        ]

    f.jvp = rule, places


def defjvp_argnums(f, maker):
    """`maker(argnums, gs, ans, args, kwargs)` is the tangent of the result for gs of the arguments `argnums`."""

    def rule(ans, args, kwargs, tangents):
        return [maker([i for i, _ in tangents], [g for _, g in tangents], ans, args, kwargs)]

    f.jvp = rule, None


def defjvp_argnum(f, maker):
    """`maker(argnum, g, ans, args, kwargs)` is the tangent of the result for g of argument `argnum`."""

    def rule(ans, args, kwargs, tangents):
        return [maker(i, g, ans, args, kwargs) for i, g in tangents]

    f.jvp = rule, None


def def_linear(f):
    """`f` is linear in each of its arguments."""
    defjvp_argnum(f, lambda i, g, ans, args, kwargs: linear(f, i, args, kwargs, g))


def linear(f, i, args, kwargs, g):
    """The tangent of a function that is linear in argument i: the function on g, itself to be derived from what it
    does."""
    return f.body(*args[:i], g, *args[i + 1 :], **kwargs)


def floating(args):
    """The positions of arguments with floating numbers in them."""
    return [
        i for i, x in enumerate(args) if any(isinstance(leaf, float | complex) or varies(leaf) for leaf in leaves_of(x))
    ]


def varies(leaf):
    return hasattr(leaf, "dtype") and leaf.dtype.kind in "fc"


@functools.lru_cache(512)
def custom(f, by_vjp, by_jvp, count, items):
    """f of `count` positional arguments, its keyword arguments given, under the rule it has."""
    rule, covered = by_vjp or by_jvp or (None, ())
    still = tuple([i for i in range(count) if covered is not None and i not in covered])

    @functools.wraps(f)
    def plain(*args):
        return f(*args, **dict(items))

    def forward(*args):
        ans = plain(*args)
        return ans, (ans, args)

    def backward(*given):
        (ans, args), g = given[len(still) :]
        found = rule(ans, args, dict(items), g)
        return tuple([found.get(i) for i in range(count) if i not in still])

    def along(*given):
        (*others, primals, tangents), moving = given, [i for i in range(count) if i not in still]
        args = [x for _, x in sorted([*zip(still, others), *zip(moving, primals)], key=lambda pair: pair[0])]
        ans = plain(*args)
        live = floating(args)
        parts = rule(ans, tuple(args), dict(items), [(i, g) for i, g in zip(moving, tangents) if i in live])
        return ans, sum(parts[1:], parts[0]) if parts else None

    del plain.__wrapped__  # its own parameters are positional, whatever those of f are
    if by_jvp and not by_vjp:
        made = wengert.custom_jvp(plain, nondiff_argnums=still)
        made.defjvp(along)
    else:
        made = wengert.custom_vjp(plain, nondiff_argnums=still)
        made.defvjp(forward, backward)
    return made
