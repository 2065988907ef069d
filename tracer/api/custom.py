"""Derivatives given by hand: `custom_vjp`, `custom_jvp`.

A call is captured with its rule: the function, and beside it what the rule computes, all on the arguments of the
call. It becomes one `call` that carries the rule; once a program is not differentiated any more only the
function is left of it.
"""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable
from typing import Any, overload

import numpy as np

from ...autodiff.custom import Pulled, Pushed
from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ...ir.source import Source
from ..call.shared import Kept
from ..capture.capture import Kind
from ..common import pytree
from ..common.emit import spread_to
from ..common.errors import DerivativeError, message, shown
from ..common.frames import internal, locate
from ..regions import hooks
from ..values.array import Traced, fresh
from ..values.status import PASSED
from ..values.storage import current_trace
from .compiled import signature_of
from .custom_call import CustomCall, RuleFunction
from .differentiable import check_function
from .inner import like_type, name_of
from .typed import CustomJvp, CustomVjp, ForwardRule, P, R, ReverseRule, Rule


@overload
def custom_vjp(function: Callable[P, R], *, nondiff_argnums: int | Iterable[int] = ()) -> ReverseRule[P, R]: ...
@overload
def custom_vjp(function: None = None, *, nondiff_argnums: int | Iterable[int] = ()) -> CustomVjp: ...
def custom_vjp(
    function: Callable[P, R] | None = None, *, nondiff_argnums: int | Iterable[int] = ()
) -> ReverseRule[P, R] | CustomVjp:
    """`function` with a reverse-mode derivative of your own, given by `f.defvjp(fwd, bwd)`.

    fwd:  takes what f takes, and returns (what f returns, anything that bwd needs).
    bwd:  takes that, and the cotangent of the result in its structure, and returns a tuple with one cotangent for
          each positional argument, of its structure, shapes and dtypes; None, for an argument or inside it, is zero.
    nondiff_argnums: positions of arguments without a derivative; bwd takes them first.

    Forward mode, higher orders, vmap and captured loops work as with any function; forward mode by the transpose of
    bwd, which must be linear in the cotangent for it. A value that f closes over has no derivative: pass
    it as an argument. Where a check in bwd fails at run time (an index out of range), its cotangents are NaN. What f
    returns is new memory: where it is an argument or a view of one, it is read-only.
    Raises DerivativeError where there is no rule, where the rule returns something else, and for closures.

    >>> import numpy as np
    >>> from wengert import custom_vjp, grad
    >>> @custom_vjp
    ... def clipped(x):
    ...     return x
    >>> clipped.defvjp(lambda x: (x, None), lambda _, g: (np.clip(g, -1.0, 1.0),))
    >>> grad(lambda x: (clipped(x) * 5.0).sum())(np.ones(2))
    array([1., 1.])
    """
    if function is None:
        rest: Any = functools.partial(custom_vjp, nondiff_argnums=nondiff_argnums)
        return rest
    return Reverse(function, nondiff_argnums, "custom_vjp").wrapper("defvjp")


@overload
def custom_jvp(function: Callable[P, R], *, nondiff_argnums: int | Iterable[int] = ()) -> ForwardRule[P, R]: ...
@overload
def custom_jvp(function: None = None, *, nondiff_argnums: int | Iterable[int] = ()) -> CustomJvp: ...
def custom_jvp(
    function: Callable[P, R] | None = None, *, nondiff_argnums: int | Iterable[int] = ()
) -> ForwardRule[P, R] | CustomJvp:
    """`function` with a forward-mode derivative of your own, given by `f.defjvp(rule)` or `f.defjvps(...)`.

    rule: takes two tuples, the positional arguments and their tangents (zeros for those that do not vary), and returns
          (what f returns, its tangent in the structure of the result). It must be linear in the tangents: reverse mode
          is its transpose.
    defjvps: instead, one function for each argument, `(tangent, result, *arguments) -> tangent of the result`, or None
          for zero.
    nondiff_argnums: positions of arguments without a derivative; the rule takes them first.

    All else is as for `custom_vjp`.

    >>> import numpy as np
    >>> from wengert import custom_jvp, grad
    >>> @custom_jvp
    ... def log1pexp(x):
    ...     return np.log(1.0 + np.exp(x))
    >>> @log1pexp.defjvp
    ... def rule(primals, tangents):
    ...     (x,), (dx,) = primals, tangents
    ...     return log1pexp(x), (1.0 - 1.0 / (1.0 + np.exp(x))) * dx
    >>> grad(grad(log1pexp))(0.0)
    0.25
    """
    if function is None:
        rest: Any = functools.partial(custom_jvp, nondiff_argnums=nondiff_argnums)
        return rest
    return Forward(function, nondiff_argnums, "custom_jvp").wrapper("defjvp", "defjvps")


def source_of(function):
    """Where a function of the user's is defined, or the line that is running."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    return Source(code, 0) if code is not None and not internal(code) else locate()


class Custom:
    """A function whose derivative is given by hand."""

    def __init__(self, function, nondiff, kind):
        check_function(function, kind)
        self.function, self.nondiff, self.kind = (
            function,
            frozenset([nondiff] if isinstance(nondiff, int) else nondiff),
            kind,
        )
        self.name, self.signature, self.rule = name_of(function), signature_of(function), None
        self.active = []  # the sites whose rules are being captured

    def wrapper(self, *definers):
        def call(*args, **kwargs):
            return self.call(self.positional(args, kwargs))

        if hasattr(self.function, "__name__"):
            functools.update_wrapper(call, self.function)
        call.__wrapped__ = self.function
        for name in definers:
            setattr(call, name, getattr(self, name))
        self.called, call.kept = call, Kept(call)
        return call

    def define(self, rule):
        if self.rule is not None:
            raise DerivativeError(
                message(f"{self.name} has a derivative already, and programs may have been made with it", locate())
            )
        self.rule = rule

    def positional(self, args, kwargs):
        """The arguments by position, defaults filled in."""
        if self.signature is None:
            return args
        given = self.signature.bind(*args, **kwargs)
        if given.kwargs:
            text = (
                f"{self.name} takes {', '.join(given.kwargs)} by keyword only: a derivative rule knows arguments by "
                "their position"
            )
            raise DerivativeError(
                message(
                    text, locate(), "Make them positional parameters; nondiff_argnums= says which have no derivative."
                )
            )
        given.apply_defaults()
        return given.args

    def call(self, args):
        if self.rule is None:
            define = "f.defvjp(fwd, bwd)" if self.kind == "custom_vjp" else "f.defjvp(rule)"
            raise DerivativeError(
                message(
                    f"{self.name} is a {self.kind} function without a rule", locate(), f"Give it one first: {define}."
                )
            )
        if current_trace() is None:
            return self.function(*args)
        return CustomCall(self, args).run()

    def merged(self, others, moved):
        """All the arguments, from those without a derivative and the rest."""
        count, others, moved = len(others) + len(moved), iter(others), iter(moved)
        return [next(others if i in self.nondiff else moved) for i in range(count)]

    def others(self, args):
        """The arguments without a derivative."""
        return [x for i, x in enumerate(args) if i in self.nondiff]

    def wrong(self, function, said, hint):
        raise DerivativeError(
            message(f"{name_of(function)}, the rule of {self.name}, {said}", source_of(function), hint)
        )

    def slopes(self, function, made, kinds, names, what):
        """The tangents or cotangents that a rule returned, for each of some containers of Kinds, in order of the
        floating leaves."""
        found, names = [], iter(names)
        for x, like in zip(made, kinds):
            wanted, tree = pytree.flatten(like, lambda x: x is None)
            leaves, given = ([None] * len(wanted), tree) if x is None else pytree.flatten(x, lambda x: x is None)
            if given != tree:
                text = f"returned a {what} of structure {given}, where {next(names, 'the result')} has {tree}"
                self.wrong(function, text, "Give one of the same structure; None stands for zero.")
            for leaf, kind in zip(leaves, wanted):
                name = next(names) if kind is not None else None
                if isinstance(kind, Kind) and kind.type.inexact:
                    said = f"{what} of {name} that {name_of(function)}, the rule of {self.name}, returns"
                    found.append(
                        fresh(
                            Lit(0, kind.type) if leaf is None else like_type(leaf, kind.type, said, source_of(function))
                        )
                    )
        return tuple(found)

    def check_like(self, function, main, part, at, indices):
        """What a rule returns as the result must be like what the function returns."""
        wanted = pytree.structure(main.indices())
        if pytree.structure(indices) != wanted:
            said = f"returned a result of structure {pytree.structure(indices)}, where {self.name} returns {wanted}"
            self.wrong(function, said, "Return what the function returns.")
        for m, n in enumerate(at):
            a, b = main.kind(m), part.kind(n)
            types = [x.type if isinstance(x, Kind) else shown(x) for x in (a, b)]
            if types[0] != types[1] and (isinstance(a, Kind) or isinstance(b, Kind)):
                self.wrong(
                    function,
                    f"returned {types[1]}, where {self.name} returns {types[0]}",
                    "Return what the function returns.",
                )


class Reverse(Custom):
    """The backward half is given, and a forward half that keeps what it reads."""

    form = Pulled

    def defvjp(self, fwd: Callable[..., tuple[Any, Any]], bwd: Callable[..., tuple[Any, ...]]) -> None:
        """Give the derivative: see `custom_vjp`."""
        self.define((fwd, bwd))

    def parts(self, site, main):
        """Capture the halves -> a function that makes them functions of the site's operands."""
        fwd, bwd = self.rule

        def pair(*args):
            made = hooks.call(fwd)(*args)
            if not isinstance(made, tuple | list) or len(made) != 2:
                self.wrong(
                    fwd,
                    f"returned {described_value(made)}",
                    "It must return a pair: what the function returns, and what bwd needs.",
                )
            return made[0], made[1]

        ahead = site.part(pair, name_of(fwd))
        site.reads(ahead)
        at, kept = map(pytree.leaves, ahead.indices())
        self.check_like(fwd, main, ahead, at, ahead.indices()[0])
        leaves = [ahead.kind(n) for n in range(len(ahead.shown))]
        for n, m in zip(at, range(len(at))):
            leaves[n] = zero_or(main.kind(m))
        seeds, residuals = ahead.captured.rebuild(leaves)
        gs = [leaves[n].type for n in at if isinstance(leaves[n], Kind)]
        saved = [ahead.shown[n] for n in kept if isinstance(leaves[n], Kind)]

        def cotangents(residuals, seeds):
            made = hooks.call(bwd)(*(self.others(site.args)), residuals, seeds)
            if not isinstance(made, tuple | list) or len(made) != len(site.given):
                n = len(site.given)
                self.wrong(
                    bwd,
                    f"returned {described_value(made)}",
                    f"It must return a tuple with one cotangent for each of {n} argument{'s' * (n > 1)}.",
                )
            return self.slopes(bwd, made, site.kinds, site.names, "cotangent")

        status = current_trace().root.status
        before, status.value = status.value, PASSED
        try:
            first = len(saved)
            back = RuleFunction(cotangents, (residuals, seeds), self, name_of(bwd), range(first, first + len(gs)))
        finally:
            status.value = before
        site.reads(back, checks=False)
        types = [ahead.func.results[k].type for k in saved]

        def functions():
            forward = site.function(ahead, [ahead.shown[n] for n in at], saved)
            build = Builder(back.func.name)
            with build:
                held = [build.param(t) for t in types]
                known = site.known([build.param(v.type, v.hint) for v in site.closed])
                out = back.within(build, [*held, *(build.param(t) for t in gs)], PASSED, known)
                cts = [out[k] for k in back.shown]
                if back.status is not None:
                    cts = [or_nan(ct, out[back.status]) for ct in cts]
            return forward, build.finish(cts)

        return functions


class Forward(Custom):
    """Results and their tangents are given together."""

    form = Pushed

    def defjvp(self, rule: Rule) -> Rule:
        """Give the derivative: see `custom_jvp`. Returns the rule, to be a decorator."""
        self.define(rule)
        return rule

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Give the derivative by one function for each argument: see `custom_jvp`."""

        def together(*args):
            *others, primals, tangents = args
            if len(rules) != len(primals):
                raise DerivativeError(
                    message(
                        f"{self.name} takes {len(primals)} arguments, and defjvps was given {len(rules)} rules",
                        locate(),
                    )
                )
            out = self.called(*self.merged(others, primals))
            found = [hooks.call(r)(t, out, *primals) for r, t in zip(rules, tangents) if r is not None]
            return out, functools.reduce(functools.partial(pytree.map, operator.add), found) if found else None

        together.__name__ = self.name
        self.define(together)

    def parts(self, site, main):
        """Capture the rule -> a function that makes it a function of the site's operands."""
        moving = pytree.map(zero_or, site.kinds)
        n = len(main.shown)

        def both(primals, tangents):
            made = hooks.call(self.rule)(*self.others(site.args), primals, tangents)
            if not isinstance(made, tuple | list) or len(made) != 2:
                self.wrong(
                    self.rule,
                    f"returned {described_value(made)}",
                    "It must return a pair: what the function returns, and its tangent.",
                )
            kinds = main.captured.rebuild([main.kind(m) for m in range(n)])
            return made[0], self.slopes(self.rule, (made[1],), (kinds,), ["the result"] * n, "tangent")

        part = RuleFunction(both, (site.kinds, moving), self, name_of(self.rule))
        site.reads(part)
        at, slopes = map(pytree.leaves, part.indices())
        self.check_like(self.rule, main, part, at, part.indices()[0])
        types = [site.types[i] for i in site.moving]
        return lambda: site.function(part, [part.shown[k] for k in at], [part.shown[k] for k in slopes], types)


def zero_or(kind):
    """The Kind of a tangent; zeros for numbers that have none, None for other objects."""
    if isinstance(kind, Kind) and kind.type.inexact:
        return Kind(kind.type, kind.kind)
    shape = kind.type.shape if isinstance(kind, Kind) else getattr(kind, "shape", ())
    number = isinstance(kind, Kind | int | float | complex) or hasattr(kind, "dtype")
    return None if not number or isinstance(kind, bool) else np.zeros(shape) if shape else 0.0


def or_nan(x, status):
    """x where nothing has failed, else NaN."""
    ok = OPS["eq"](status, PASSED)
    return OPS["select"](spread_to(ok, x.type.shape), x, Lit(float("nan"), x.type))


def described_value(x):
    return (
        f"a {type(x).__name__} of {len(x)}"
        if isinstance(x, tuple | list)
        else repr(x)
        if isinstance(x, Traced)
        else type(x).__name__
    )
