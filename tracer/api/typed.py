"""What the public functions give back, as type checkers see it; at run time these are plain functions with
attributes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any, Concatenate, ParamSpec, Protocol, Self, TypeAlias, TypeVar, TypeVarTuple, overload

from ...ir.core import Func
from ..export.saving import Export
from ..plan.plan import Plan
from ..view.page import Page

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)
Aux = TypeVar("Aux")
Ts = TypeVarTuple("Ts")
Rule = TypeVar("Rule", bound=Callable[..., Any])

Argnums: TypeAlias = int | str | tuple[int | str, ...] | list[int | str]


class Inspected(Protocol):
    """What a compiled function tells about itself, also where it is bound to an object."""

    __name__: str

    def explain(self) -> str:
        """Every trace: what it relied on, why it was made, and what it cost."""
        ...

    def ir(self, *args: Any, passes: bool = True, **kwargs: Any) -> Func:
        """The IR function these arguments lead to; `passes=False` as captured, before optimisation."""
        ...

    def plan(self, *args: Any, measure: bool = False, **kwargs: Any) -> Plan:
        """What a call with these arguments does and costs; measure: run the program on them, to say what lines took."""
        ...

    def text(self, kind: str, /, *args: Any, **kwargs: Any) -> str:
        """What the function becomes for these arguments: "ir", "captured", "passes", "jaxpr", "stablehlo", "hlo",
        "numpy", "llvm" or "assembly"."""
        ...

    def export(
        self,
        *args: Any,
        path: str | os.PathLike[str] | None = None,
        platforms: Sequence[str] = ("cpu", "cuda"),
        **kwargs: Any,
    ) -> Export:
        """Write the program for these arguments to a file that `wengert.load` reads in a process that does not know
        the function: see docs/export.md."""
        ...

    def view(self, *args: Any, path: str | os.PathLike[str] | None = None, **kwargs: Any) -> Page:
        """Write a page on which the program for these arguments is seen; without any, that of the calls made."""
        ...


class BoundCompiled(Inspected, Protocol[P, R_co]):
    """A compiled function as a method of an object; `ir` takes the object too."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class CompiledFunction(Inspected, Protocol[P, R_co]):
    """What `jit` and the derivatives give: parameters and result of the user's function. In a class it is a method."""

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> Self: ...
    @overload
    def __get__(
        self: CompiledFunction[Concatenate[Any, Q], R_co], instance: object, owner: type | None = None, /
    ) -> BoundCompiled[Q, R_co]: ...


class Jit(Protocol):
    """`jit` with its options given, as in `@jit(exact=True)`."""

    def __call__(self, function: Callable[P, R_co], /) -> CompiledFunction[P, R_co]: ...


class WithRule(Protocol[P, R_co]):
    """A function whose derivative is given by hand."""

    __name__: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    @overload
    def __get__(self, instance: None, owner: type | None = None, /) -> Self: ...
    @overload
    def __get__(
        self: WithRule[Concatenate[Any, Q], R_co], instance: object, owner: type | None = None, /
    ) -> Callable[Q, R_co]: ...


class ReverseRule(WithRule[P, R_co], Protocol[P, R_co]):
    """What `custom_vjp` gives."""

    def defvjp(self, fwd: Callable[..., tuple[Any, Any]], bwd: Callable[..., tuple[Any, ...]]) -> None:
        """Give the derivative: see `custom_vjp`."""
        ...


class ForwardRule(WithRule[P, R_co], Protocol[P, R_co]):
    """What `custom_jvp` gives."""

    def defjvp(self, rule: Rule, /) -> Rule:
        """Give the derivative: see `custom_jvp`. Returns the rule, to be a decorator."""
        ...

    def defjvps(self, *rules: Callable[..., Any] | None) -> None:
        """Give the derivative by one function for each argument: see `custom_jvp`."""
        ...


class CustomVjp(Protocol):
    """`custom_vjp` with its options given."""

    def __call__(self, function: Callable[P, R_co], /) -> ReverseRule[P, R_co]: ...


class CustomJvp(Protocol):
    """`custom_jvp` with its options given."""

    def __call__(self, function: Callable[P, R_co], /) -> ForwardRule[P, R_co]: ...
