"""Functions of functions under autograd's names: each takes (fun, argnum=0) and returns a function of fun's arguments.

argnum: a position among the positional arguments, or a list or tuple of them, which gives a tuple of
derivatives. Cotangents and complex gradients need no conversion: both sides write that of a real loss as
df/dx - i df/dy. Source: autograd's tutorial, "Complex numbers", and the notes on complex numbers of JAX,
which took its convention from there.
"""

import functools
import inspect
import types
import warnings

import numpy as np

import wengert
from wengert import DerivativeError, jit, jvp, vjp


def named(made, operator, fun, argnum):
    """`made` under the name autograd gives it."""
    of = getattr(fun, "__name__", type(fun).__name__)
    new = made.__setattr__  # made a moment ago: in a captured loop, a store into it is none that its trips share
    new("__name__", f"{operator}_of_{of}_wrt_argnum_{argnum}")
    new("__doc__", f"{operator} of {of}, in argument {argnum}. Takes the arguments of {of}.")
    return made


def positions(argnum):
    return tuple(argnum) if isinstance(argnum, list | tuple) else argnum


def chosen(fun, argnum, args, kwargs):
    """(fun as a function of the arguments `argnum` alone, those arguments); several are one tuple."""
    several = isinstance(argnum, tuple)
    places = [i % len(args) for i in (argnum if several else (argnum,))]

    def unary(x):
        given = dict(zip(places, x if several else (x,)))
        return fun(*[given.get(i, a) for i, a in enumerate(args)], **kwargs)

    return unary, tuple([args[i] for i in places]) if several else args[places[0]]


def one_number(fun, operator):
    """fun with its one number, of whatever shape, as a scalar to differentiate, and its value as it is."""

    @functools.wraps(fun)
    def loss(*args, **kwargs):
        value = fun(*args, **kwargs)
        if isinstance(value, list | tuple | dict) or np.size(value) != 1:
            raise DerivativeError(
                f"{operator} needs a function with one real number as its result; try jacobian or elementwise_grad"
            )
        return np.sum(value), value

    return loss


def grad(fun, argnum=0):
    """The gradient of a function whose result is one real number, of any shape of size one."""
    return named(_slope(fun, argnum, "grad"), "grad", fun, argnum)


def _slope(fun, argnum, operator):
    made = _compiled_slope if type(fun) is types.FunctionType else _compiled_slope.__wrapped__
    slope = made(fun, positions(argnum), operator)
    return lambda *args, **kwargs: slope(*args, **kwargs)[0]


@functools.lru_cache(512)
def _compiled_slope(fun, argnum, operator):
    """One for every function, which programs of autograd's differentiate anew at each step."""
    return wengert.grad(one_number(fun, operator), argnum, has_aux=True)


def value_and_grad(fun, argnum=0):
    """(value, gradient) of a function whose result is one real number."""
    both = wengert.value_and_grad(one_number(fun, "value_and_grad"), positions(argnum), has_aux=True)

    def value_and_slope(*args, **kwargs):
        (_, value), slope = both(*args, **kwargs)
        return value, slope

    return named(value_and_slope, "value_and_grad", fun, argnum)


def elementwise_grad(fun, argnum=0):
    """The gradient of the sum of the results: the diagonal of the Jacobian where it is diagonal."""

    @functools.wraps(fun)
    def total(*args, **kwargs):
        value = fun(*args, **kwargs)
        if np.iscomplexobj(value):
            raise DerivativeError("elementwise_grad needs a function with real results")
        return np.sum(value)

    return named(wengert.grad(total, positions(argnum)), "elementwise_grad", fun, argnum)


def holomorphic_grad(fun, argnum=0):
    """The complex derivative of a holomorphic function: as it is, the gradient of its real part."""
    slope = _slope(
        functools.wraps(fun)(lambda *args, **kwargs: np.real(fun(*args, **kwargs))), argnum, "holomorphic_grad"
    )

    def derivative(*args, **kwargs):
        if not np.iscomplexobj(args[argnum]):
            warnings.warn("the argument of holomorphic_grad is real", stacklevel=2)
        return slope(*args, **kwargs)

    return named(derivative, "holomorphic_grad", fun, argnum)


def grad_named(fun, argname):
    """The gradient by the argument of that name."""
    return grad(fun, list(inspect.signature(fun).parameters).index(argname))


def grad_and_aux(fun, argnum=0):
    """(gradient, aux) of a function that returns (loss, aux)."""

    @functools.wraps(fun)
    def loss(*args, **kwargs):
        value, aux = fun(*args, **kwargs)
        return np.sum(value), aux

    return named(wengert.grad(loss, positions(argnum), has_aux=True), "grad_and_aux", fun, argnum)


def multigrad_dict(fun):
    """{name: gradient} in all arguments, those that take their defaults among them."""
    signature = inspect.signature(fun)
    kinds = {name: p.kind for name, p in signature.parameters.items()}

    def unpacked(given):
        args, kwargs = [], {}
        for name, value in given.items():
            if kinds[name] is inspect.Parameter.VAR_POSITIONAL:
                args += value
            elif kinds[name] is inspect.Parameter.VAR_KEYWORD:
                kwargs.update(value)
            elif kinds[name] is inspect.Parameter.KEYWORD_ONLY:
                kwargs[name] = value
            else:
                args.append(value)
        return fun(*args, **kwargs)

    slope = grad(unpacked)

    def gradients(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return slope(dict(bound.arguments))

    return gradients


def jacobian(fun, argnum=0):
    """The Jacobian, of shape result + argument."""
    return named(wengert.jacrev(fun, positions(argnum)), "jacobian", fun, argnum)


def hessian(fun, argnum=0):
    """The second derivatives, of shape result + argument + argument."""
    return named(wengert.hessian(fun, positions(argnum)), "hessian", fun, argnum)


def make_vjp(fun, argnum=0):
    """At a point: (vjp, value); `vjp(g)` is the cotangent of the argument for g, one of the result."""

    def forward(args, kwargs):
        return vjp(*chosen(fun, positions(argnum), args, kwargs))

    run = jit(forward)

    def at(*args, **kwargs):
        value, pull = run(args, kwargs)
        return (lambda g: pull(g)[0]), value

    return named(at, "make_vjp", fun, argnum)


def make_jvp(fun, argnum=0):
    """At a point: a function of a tangent of the argument that gives (value, tangent of the result)."""

    def forward(args, kwargs, v):
        unary, x = chosen(fun, positions(argnum), args, kwargs)
        return jvp(unary, (x,), (v,))

    run = jit(forward)

    def at(*args, **kwargs):
        return lambda v: run(args, kwargs, v)

    return named(at, "make_jvp", fun, argnum)


def make_jvp_reversemode(fun, argnum=0):
    """At a point: a function of a tangent of the argument that gives the tangent of the result alone."""
    at = make_jvp(fun, argnum)

    def tangents(*args, **kwargs):
        push = at(*args, **kwargs)
        return lambda v: push(v)[1]

    return named(tangents, "make_jvp_reversemode", fun, argnum)


def deriv(fun, argnum=0):
    """The tangent of the result where that of every element of the argument is one."""

    def forward(args, kwargs):
        unary, x = chosen(fun, argnum, args, kwargs)
        return jvp(unary, (x,), (np.ones_like(x),))[1]

    run = jit(forward)
    return named(lambda *args, **kwargs: run(args, kwargs), "deriv", fun, argnum)


def make_hvp(fun, argnum=0):
    """At a point: (hvp, gradient); `hvp(v)` is the Hessian times v."""
    return named(make_vjp(grad(fun, argnum), argnum), "make_hvp", fun, argnum)


def hessian_tensor_product(fun, argnum=0):
    """A function of (*args, v): the Hessian contracted with v."""
    slope = grad(fun, argnum)

    def along(*args, **kwargs):
        return np.tensordot(slope(*args[:-1], **kwargs), args[-1], np.ndim(args[-1]))

    return grad(along, argnum)


def tensor_jacobian_product(fun, argnum=0):
    """A function of (*args, v): v contracted with the leading axes of the result's Jacobian."""

    def along(*args, **kwargs):
        return np.tensordot(args[-1], fun(*args[:-1], **kwargs), np.ndim(args[-1]))

    return jacobian(along, argnum)


hessian_vector_product, vector_jacobian_product = hessian_tensor_product, tensor_jacobian_product


def half_square(y):
    return 0.5 * np.sum(y**2, axis=-1)


def make_ggnvp(f, g=half_square, f_argnum=0):
    """At a point: `ggnvp(v)`, v times the generalised Gauss-Newton matrix J' H J of g(f(x)). Source: Schraudolph
    (2002)."""

    def product(args, kwargs, v):
        unary, x = chosen(f, f_argnum, args, kwargs)
        y, pull = vjp(unary, x)
        push = jvp(unary, (x,), (v,))[1]
        return pull(jvp(grad(g), (y,), (push,))[1])[0]

    run = jit(product)
    return named(lambda *args, **kwargs: lambda v: run(args, kwargs, v), "make_ggnvp", f, f_argnum)


def checkpoint(fun):
    """`fun`, of which a derivative keeps only the arguments, and computes the rest again."""
    return wengert.checkpoint(fun)
