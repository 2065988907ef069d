"""`from_ir`: a function that is written as text of the IR, to be called, compiled, differentiated and exported as any
other."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...backends.numpy import callable_of, identifier
from ...ir.core import Func, Lit, Value
from ...ir.generic import Generic, parse_generic
from ...ir.sample_text import has_sizes
from ...ir.text import parse, show
from ...ir.types import type_of
from ...ir.verify import verify
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..numpy_api.handles import value_of
from ..values.array import Traced, wrap
from ..values.storage import current_trace

NUMBERS = (bool, int, float, complex)
KEPT = 64  # bound: combinations of shapes whose function is kept
HEADING = re.compile(r"\A--- .* ---$", re.MULTILINE)  # of a program among several of a text


def from_ir(text: str | Func | Generic, functions: Mapping[str, Any] | None = None) -> Callable[..., Any]:
    """The function that a text of the IR describes, such as `print(f.ir(x))` shows; docs/ir_text.md is its grammar.

    text:      a function of the IR, or the text of one; of symbolic sizes too, such as f64[n,64]. A first line
               `--- ... ---`, as `f.text()` heads each program with, is passed over.
    functions: what `<name>` stands for in it, of the equations that call Python's functions; those of scipy.special
               are known.

    The result takes one array or number for each parameter, by position or name, of exactly its shape and dtype
    (Python's numbers where the shape is ()), and gives new arrays, NumPy scalars where the shape is (): one, or a
    tuple, or None. Called as it stands it runs as generated NumPy; `jit` compiles it, `grad`, `vmap` and the others
    transform it, and in a compiled function it is part of the program. Its attribute `.func` is the function of the
    IR: `print(f.func)` is the text, `wengert.ir.pipeline.run(f.func)` optimises it, and `from_ir` of that runs it.

    Where sizes are names, the shapes of the arguments tell them, and each call runs the function of its sizes; `.func`
    is that of the first sample, and `.generic` the `wengert.ir.generic.Generic` itself.

    Raises TextError, a TypeError, with the line and column where the text means nothing.

    >>> from wengert import from_ir, grad, jit
    >>> f = from_ir('''
    ... func f(%x: f64[3]) -> f64[] {
    ...   %0 = mul %x, %x
    ...   %1 = reduce_sum %0 axes=[0] : f64[]
    ...   return %1
    ... }''')
    >>> x = np.array([1.0, 2.0, 3.0])
    >>> f(x), jit(f)(x), grad(f)(x)
    (np.float64(14.0), np.float64(14.0), array([2., 4., 6.]))
    """
    if not isinstance(text, str | Func | Generic):
        raise TypeError(f"from_ir takes a text or a function of the IR, got {type(text).__name__}")
    if isinstance(text, str):
        text = HEADING.sub("", text, count=1)
    if isinstance(text, str) and has_sizes(text):
        text = parse_generic(text, functions)
    if isinstance(text, Generic):
        return sized_function(text)
    func = verify(text if isinstance(text, Func) else parse(text, functions))
    signature = parameters_of(func)
    plain = NumPyForm(func)
    made: Any = lambda *args, **kwargs: called_form(plain, signature, signature.bind(*args, **kwargs).args)
    return dressed(made, func, signature, show(func, sources=False))


def dressed(made, func, signature, text):
    made.__name__ = made.__qualname__ = func.name
    made.__doc__, made.__signature__, made.func = text, signature, func
    return made


def called_form(plain, signature, given):
    """The results of a NumPyForm on arguments, or of its function within a trace."""
    func, trace = plain.func, current_trace()
    operands = [as_parameter(x, p, name, trace) for x, p, name in zip(given, func.params, signature.parameters)]
    results = plain(operands) if trace is None else map(wrap, trace.build.inline(func, operands))
    results = tuple(results)
    return results[0] if len(results) == 1 else results or None


def sized_function(generic):
    """The function that a Generic is: each call's is that of the sizes of its arguments."""
    signature, forms = parameters_of(generic.func), {}

    def described(*args, **kwargs):
        given = signature.bind(*args, **kwargs).args
        types = tuple(type_given(x, p) for x, p in zip(given, generic.func.params))
        if types not in forms:
            if len(forms) >= KEPT:
                forms.clear()
            forms[types] = NumPyForm(generic.at(generic.sizes_of(types)))
        return called_form(forms[types], signature, given)

    described.generic = generic
    return dressed(described, generic.func, signature, str(generic))


def type_given(x, param):
    """The type of an argument; of Python's numbers, that of the parameter."""
    if type(x) in NUMBERS and not param.type.shape:
        return param.type
    return value_of(x).type if isinstance(x, Traced) else type_of(x)


def parameters_of(func):
    """The parameters of a function of the IR, as Python has them."""
    names = []
    for n, text in enumerate(show(func, sources=False).partition("(")[2].split(":")[: len(func.params)]):
        name = identifier(text.rpartition("%")[2]) if func.params else ""
        names.append(name if name.isidentifier() and name not in names else f"x{n}")
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Signature([inspect.Parameter(name, kind) for name in names])


class NumPyForm:
    """A function of the IR on ndarrays, made at the first call."""

    def __init__(self, func):
        self.func, self.run, self.params = func, None, set(func.params)

    def __call__(self, operands):
        if self.run is None:
            self.run = callable_of(self.func)
        with np.errstate(all="ignore"):
            found = self.run(*operands)
        seen = set()
        for r, x in zip(self.func.results, found):
            known = r in self.params or r in seen or not isinstance(r, Value)
            seen.add(r)
            yield np.array(x)[()] if known or not r.type.shape else np.require(x, requirements=["O", "W"])


def as_parameter(x, param, name, trace):
    """An argument as an operand; refused unless it is of the type of the parameter."""
    if type(x) in NUMBERS and not param.type.shape:
        number = np.asarray(x)
        if np.can_cast(type(x), param.type.dtype) or number.astype(param.type.dtype) == x:
            return number.astype(param.type.dtype) if trace is None else Lit(x, param.type)
    found = x if trace is None else value_of(x)
    if (found.type if trace is not None else type_of(found)) is not param.type:
        given = found.type if trace is not None else type_of(found)
        source = locate() if trace is not None and isinstance(x, Traced) else None
        text = f"parameter {name} is {param.type}, and is given {given}"
        raise UnsupportedError(message(text, source, "An IR function has one type: convert the argument."))
    return found if trace is not None else np.asarray(found)
