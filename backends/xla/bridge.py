"""JAX functions as IR functions: the jaxpr, equation by equation, into our ops; what has no counterpart stays JAX's own
(`external`).

An equation is translated where our op means the same on all values: `primitives` says how. A rule declines by returning
None or raising IRTypeError, and what it gives must have the types that JAX states. Functions with derivative rules of
their own stay opaque.
"""

import contextlib
import functools

import jax
import numpy as np
from jax import tree_util
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Var, jaxpr_as_fun

from ...ir.core import Builder, Constant, Lit
from ...ir.ops import OPS
from ...ir.ops.external import external
from ...ir.types import IRTypeError, Tensor
from .dispatch import WIDE, is_short, wide
from .external import JaxFunction
from .primitives import PRIMITIVES

INLINED = ("jit", "pjit", "closed_call", "core_call")
DRAWS = ("random_", "threefry", "rng_")
ANY = np.dtype(bool)  # of a constant that states none
SMALL = 64  # bound: constants up to this many elements stand in the program; larger ones are operands


class Imported:
    """func: the program; constants: arrays that are its last operands; tree: the structure of what the function
    returns."""

    __slots__ = ("func", "constants", "tree")

    def __init__(self, func, constants, tree):
        self.func, self.constants, self.tree = func, constants, tree


class NotImported(Exception):
    """The function does something that a program cannot."""


class Fixed:
    """A leaf that is part of the function: compared by type and value, floats by their bits."""

    __slots__ = ("value", "key")

    def __init__(self, value):
        self.value, self.key = value, (type(value), repr(value) if isinstance(value, float | complex) else value)

    def __eq__(self, other):
        return isinstance(other, Fixed) and self.key == other.key

    def __hash__(self):
        return hash(self.key)


@functools.lru_cache(512)
def imported(function, tree, leaves, widely=True):
    """The program of `function(*args, **kwargs)`, whose leaves are `Fixed` or (type, whether it is a Python number).
    widely: whether with 64-bit types on."""
    name = getattr(function, "__name__", type(function).__name__)
    return imported_once(lambda given: function(*given[0], **given[1]), tree_of_one(tree), leaves, widely, name)


def has_wide(types):
    """Whether any type has 64 bits, or such are on."""
    return not is_short() or any(t.dtype.name in WIDE for t in types)


def tree_of_one(tree):
    """The structure of (x,) where that of x is `tree`."""
    return tree_util.treedef_tuple((tree,))


def imported_once(function, tree, leaves, widely, name):
    """The program of `function(*args)`, which nobody keeps."""
    given = [leaf for leaf in leaves if not isinstance(leaf, Fixed)]

    def flat(*values):
        values = iter(values)
        args = tree_util.tree_unflatten(tree, [x.value if isinstance(x, Fixed) else next(values) for x in leaves])
        return function(*args)

    with wide() if widely else contextlib.nullcontext():
        program, shape = jax.make_jaxpr(flat, return_shape=True)(
            *[jax.ShapeDtypeStruct(t.shape, t.dtype, weak_type=weak) for t, weak in given]
        )
    refuse_impure(program.jaxpr)
    name = name.replace("<lambda>", "lambda")
    tree = tree_util.tree_structure(shape)
    try:
        return translated(program, name, tree)
    except IRTypeError:  # a type that only JAX knows is met on the way: then the whole is JAX's
        pass
    try:
        return opaque_program(program, name, tree)
    except (IRTypeError, TypeError) as error:
        raise NotImported(f"it takes or gives what only jax has: {error}") from None


def as_numbers(x):
    """A constant as an ndarray; a key of jax.random has no numbers."""
    if not isinstance(getattr(x, "dtype", ANY), np.dtype):
        raise IRTypeError(f"{x.dtype} is a type of jax's own")
    return np.asarray(x)


def translated(program, name, tree):
    build = Builder(name)
    with build:
        operands = [build.param(jaxpr_type(v)) for v in program.jaxpr.invars]
        constants, bound = [], []
        for c in map(as_numbers, program.consts):
            if c.size > SMALL:
                constants.append(c)
            bound.append(
                build.param(Tensor(c.shape, c.dtype)) if c.size > SMALL else OPS["constant"](value=Constant(c))
            )
        results = translate(program.jaxpr, bound, operands)
    return Imported(build.finish(results), constants, tree)


def opaque_program(program, name, tree):
    run, build = jaxpr_as_fun(program), Builder(name)
    with build:
        operands = [build.param(jaxpr_type(v)) for v in program.jaxpr.invars]
        results = run_opaque(JaxFunction(lambda *xs: tuple(run(*xs)), name), operands)
    return Imported(build.finish(results), [], tree)


def jaxpr_type(var):
    """The IR type of a variable of a jaxpr; IRTypeError where there is none."""
    try:
        return Tensor(tuple(var.aval.shape), np.dtype(var.aval.dtype))
    except (TypeError, AttributeError):
        raise IRTypeError(f"{var.aval} has no place in the IR") from None


def refuse_impure(jaxpr):
    """Refused where the function acts, rather than computes."""
    if jaxpr.effects:
        effects = ", ".join(sorted({type(e).__name__ for e in jaxpr.effects}))
        raise NotImported(f"it has effects ({effects}): a JAX function in a program only computes")
    for eqn in equations(jaxpr):
        if "callback" in (name := eqn.primitive.name):
            raise NotImported(f"it calls back into Python ({name}): a JAX function in a program only computes")
    if (name := drawn_again(jaxpr)) is not None:
        raise NotImported(
            f"it draws random numbers ({name}): draw outside, with np.random or jax.random, and pass what was drawn, "
            "or the key"
        )


def drawn_again(jaxpr):
    """The primitive of a draw whose key is none of the operands, so that it gives the same at every call; or None."""
    moving = set(jaxpr.invars)
    for eqn in jaxpr.eqns:
        depends = any(v in moving for v in eqn.invars if isinstance(v, Var))
        if not depends and eqn.primitive.name.startswith(DRAWS):
            return eqn.primitive.name
        if depends:
            moving.update(eqn.outvars)
        for inner in functions(tuple(eqn.params.values())):
            drawn = next((e for e in equations(inner) if e.primitive.name.startswith(DRAWS)), None)
            name = drawn_again(inner) if depends else drawn and drawn.primitive.name
            if name is not None:
                return name
    return None


def equations(jaxpr):
    """All equations, those of functions inside equations too."""
    for eqn in jaxpr.eqns:
        yield eqn
        for inner in functions(tuple(eqn.params.values())):
            yield from equations(inner)


def functions(x):
    if isinstance(x, ClosedJaxpr):
        yield x.jaxpr
    elif isinstance(x, Jaxpr):
        yield x
    elif isinstance(x, tuple | list):
        for part in x:
            yield from functions(part)


def translate(jaxpr, constants, operands):
    """Append the equations of a jaxpr in the current builder -> its results."""
    env = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*constants, *operands), strict=True))

    def read(var):
        return constant(var) if isinstance(var, Literal) else env[var]

    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outvars, translate_equation(jaxpr, eqn, [read(v) for v in eqn.invars]), strict=True))
    return tuple(map(read, jaxpr.outvars))


def constant(literal):
    value, t = np.asarray(literal.val), jaxpr_type(literal)
    return Lit(value, t) if not t.shape else OPS["constant"](value=Constant(value))


def translate_equation(jaxpr, eqn, operands):
    if eqn.primitive.name in INLINED and isinstance(eqn.params.get("jaxpr"), ClosedJaxpr):
        inner = eqn.params["jaxpr"]
        return translate(inner.jaxpr, [OPS["constant"](value=Constant(np.asarray(c))) for c in inner.consts], operands)
    types = tuple(map(jaxpr_type, eqn.outvars))
    rule = PRIMITIVES.get(eqn.primitive.name)
    if rule is not None:
        try:
            out = rule(types[0], *operands, **eqn.params)
        except IRTypeError:
            out = None
        out = out if isinstance(out, tuple) or out is None else (out,)
        if out is not None and tuple(z.type for z in out) == types:
            return out
    return opaque(jaxpr, eqn, operands)


def opaque(jaxpr, eqn, operands):
    """One equation as an external function; what nobody reads is not among its results."""
    given = {v: x for v, x in zip(eqn.invars, operands, strict=True) if isinstance(v, Var)}
    read = [v for v in eqn.outvars if type(v) is Var]
    program = jaxpr.replace(constvars=[], invars=list(given), outvars=read, eqns=[eqn], effects=eqn.effects)
    run = jaxpr_as_fun(ClosedJaxpr(program, ()))
    name = eqn.params.get("name") or eqn.primitive.name
    results = iter(run_opaque(JaxFunction(lambda *xs: tuple(run(*xs)), name), list(given.values())))
    return [next(results) if type(v) is Var else None for v in eqn.outvars]


def run_opaque(function, operands):
    return (
        external(*operands, function=function)
        if operands
        else Builder.current().emit(external, (), {"function": function})
    )


def call_plainly(function, args, kwargs):
    """`function(*args, **kwargs)`, its leaves as NumPy has them, or as jax arrays where an argument has one."""
    device = any(isinstance(x, jax.Array) for x in tree_util.tree_leaves((args, kwargs)))
    with wide():
        out = function(*args, **kwargs)
        return tree_util.tree_map(jax.numpy.asarray if device else as_numpy, out)


def as_numpy(x):
    """A writable array of its own, or a scalar."""
    found = np.array(x)
    return found if found.ndim else found[()]


@functools.cache
def library(path):
    """A function of JAX's own, by its dotted name within jax."""
    found = jax
    for name in path.split("."):
        found = getattr(found, name)
    return found
