"""Generators and coroutines: they stop half-way and go on later, and a program runs from end to end."""

import inspect
import types

from ...ir.source import Source
from ..common.errors import UnsupportedError, message

SUSPENDED = (
    (types.GeneratorType, "the generator", "gi_code"),
    (types.CoroutineType, "the coroutine", "cr_code"),
    (types.AsyncGeneratorType, "the async generator", "ag_code"),
)


def refuse_suspended(leaf):
    """A generator or coroutine that is returned would go on when the trace has ended."""
    kind, code = next(((k, getattr(leaf, a)) for t, k, a in SUSPENDED if isinstance(leaf, t)), (None, None))
    if kind is not None:
        if not isinstance(leaf, types.AsyncGeneratorType):
            leaf.close()
        hint = "Return what it gives: list(...) of a generator; an async function cannot be awaited in a program."
        raise UnsupportedError(
            message(
                f"{kind} of {code.co_qualname} is returned, which goes on after the program has ended",
                Source(code, 0),
                hint,
            )
        )


def refuse_generator(function):
    """A generator or an async function stops half-way and goes on later, which a program does not."""
    if inspect.isgeneratorfunction(function):
        kind, hint = (
            "a generator",
            "Return all it yields, as a list or an array; inside a compiled function generators may be used.",
        )
    elif inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        kind, hint = (
            "an async function",
            "Write `def`, and await what it needs before calling it; results are there when it returns.",
        )
    else:
        return
    code = getattr(inspect.unwrap(function), "__code__", None)
    name = getattr(function, "__name__", type(function).__name__)
    text = f"{name} is {kind}: it stops half-way and goes on later, and a compiled program runs from end to end"
    raise UnsupportedError(message(text, code and Source(code, 0), hint))
