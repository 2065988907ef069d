"""Functions of the C library in nests, one number at a time or on vectors."""

from .build import vector_form
from .code import chosen, compare, llvm_type
from .code import llvm_literal as literal
from .exponential import exp, exp2

SERIES = {"exp": exp, "exp2": exp2}  # those that are arithmetic of ours where LLVM makes vectors of a loop
LEAST = {"log": 0, "log2": 0, "log10": 0, "log1p": -1}  # fact: where it is minus infinity, and below which it is NaN


def library(code, function, d, *xs):
    """A function of the C library, by its vector form where LLVM makes vectors of a loop."""
    if code.in_vectors and function in SERIES:
        return SERIES[function](code, d, *xs)
    t, name = llvm_type(d), name_for(function, d)
    form = vector_form(name, t, len(xs)) if code.in_vectors else None
    if form is None:
        return code.call(name, t, *((t, x) for x in xs))
    code.declared[form.vector] = form.declaration
    call = lambda *xs: code.call(form.name, t, *((t, x) for x in xs), attributes=form.attributes)
    if function in LEAST:
        return logarithm_inside(code, d, *xs, LEAST[function], call)
    return call(*xs)


def name_for(function, d):
    """The name of a C function of such floats."""
    return function + ("f" if d.itemsize == 4 else "")


def has_vector_form(functions, d):
    """Whether {C function: of how many numbers} all have vector forms."""
    known = lambda function, n: function in SERIES or vector_form(name_for(function, d), llvm_type(d), n) is not None
    return all(known(function, n) for function, n in functions.items())


def logarithm_inside(code, d, x, least, call):
    """call(x), which is minus infinity at `least` and NaN below: there, at infinity and at NaN, lanes would be taken
    one by one."""
    compared = lambda kind, n: compare(code, kind, d, x, literal(n, d))
    inside = code.op(f"and i1 {compared('gt', least)}, {compared('lt', float('inf'))}")
    found = call(chosen(code, inside, d, x, literal(1.0, d)))
    beyond = chosen(code, compared("lt", least), d, literal(float("nan"), d), x)
    beyond = chosen(code, compared("eq", least), d, literal(float("-inf"), d), beyond)
    return chosen(code, inside, d, found, beyond)
