"""Text of programs: what is printed is read back to the same program, and what means nothing is refused where it stands."""

import numpy as np
import pytest
from op_cases import EVERY_OP, draw, func_of

from wengert import grad, jit
from wengert.autodiff import jvp, vjp
from wengert.benchmarks.suite import programs
from wengert.ir import pipeline
from wengert.ir.core import Builder, Constant
from wengert.ir.equality import same_function
from wengert.ir.ops import OPS
from wengert.ir.reading import TextError
from wengert.ir.text import parse, show
from wengert.ir.types import IRTypeError
from wengert.ir.verify import verify
from wengert.ir.walk import every_equation


def held(func):
    """The Python functions that equations hold, by the names under which they are printed."""
    found = [eqn.attrs["function"] for eqn in every_equation(func) if "function" in eqn.attrs]
    return {getattr(f, "__name__", type(f).__name__).replace(" ", "_"): f for f in found}


def there_and_back(func):
    text = show(func)
    read = verify(parse(text, held(func)))
    assert read.name == func.name and same_function(func, read), text
    assert show(read, sources=False) == show(func, sources=False)


@EVERY_OP
def test_ops_and_their_derivatives_read_back(op):
    for c in op.cases[:12]:
        operands, attrs, _ = draw(op, c)
        func = func_of(op, operands, attrs)
        there_and_back(func)
        for transform in (vjp, jvp):
            try:
                changed = transform(func)
            except (TypeError, NotImplementedError):  # it has none
                continue
            there_and_back(changed)


def captured(function, *args):
    """The programs of a function: before the passes, and after them."""
    return [jit(function).ir(*args, passes=passes) for passes in (False, True)]


@pytest.mark.slow
@pytest.mark.parametrize("name", programs())
def test_programs_of_the_suite_read_back(name):
    program = programs()[name][1]
    args = program.arguments(np.random.default_rng(0), program.sizes[0])
    funcs = captured(program.function, *args)
    if program.over:
        first = lambda *a: sum(np.sum(x) for x in np.atleast_1d(program.function(*a)[0]))
        slope = grad(first, argnums=program.over)
        try:
            funcs += [slope.ir(*args, passes=passes) for passes in (False, True)]
        except (TypeError, IndexError, ValueError):  # its result is no tuple
            pass
    for func in funcs:
        there_and_back(func)


def loop_and_branch(x, tol):
    n = 0
    while np.abs(x).max() > tol:
        x = np.where(x > 0, x / 2, x / 3) if n % 2 else x * 0.9
        n += 1
    return x, n


def size(x, width):
    """A name that is no identifier: "what is returned"."""
    if x.sum() < width:
        return x.sum()
    return width


@pytest.mark.parametrize("f, args", [
    (loop_and_branch, (np.ones(3), 0.1)), (size, (np.ones(3), 2.0)), (lambda x: x[x > 0].sum(), (np.ones(4),)),
    (lambda x: np.array([np.nan, np.inf, -np.inf, -0.0]) * x, (np.ones(4),)), (lambda x: x * np.arange(40), (np.ones(40),)),
    (lambda x: x * (1 + 2j) + complex(np.nan, -np.inf), (np.ones(2),)),
])  # fmt: skip
def test_captured_programs_read_back(f, args):
    funcs = captured(f, *args)
    if f is loop_and_branch:
        funcs += [grad(lambda x: f(x, 0.1)[0].sum()).ir(args[0], passes=passes) for passes in (False, True)]
    for func in funcs:
        there_and_back(func)
        there_and_back(pipeline.run(parse(show(func), held(func)), exact=True))


def test_dtypes_are_the_same_under_another_name():
    there_and_back(jit(lambda x: x.astype(np.longlong) + 1).ir(np.ones(3), passes=False))
    assert not same_function(*[jit(lambda x, t=t: x.astype(t)).ir(np.ones(3)) for t in (np.int64, np.int32)])


def test_names_are_what_can_be_read():
    text = show(jit(size).ir(np.ones(3), 2.0))
    assert "%what_is_returned = cond" in text or "%what is" not in text


# -- what means nothing ----------------------------------------------------------------------------

HEAD = "func f(%x: f64[3]) -> f64[3] {"


@pytest.mark.parametrize("text, place, words", [
    ("", (1, 1), "there is no text"),
    ("func f(", (1, 1), "expected `func name"),
    (f"{HEAD}\n  %0 = mull %x, %x\n  return %0\n}}", (2, 8), "no op is named 'mull'"),
    (f"{HEAD}\n  %0 = add %x, %y\n  return %0\n}}", (2, 16), "%y is not bound here"),
    (f"{HEAD}\n  %0 = add %x, 1.0 : f32[3]\n  return %0\n}}", (2, 22), r"its type is f64\[3\], not f32\[3\]"),
    (f"{HEAD}\n  %0 = add 1.0, 2.0\n  return %0\n}}", (2, 12), "the number 1.0 needs its type"),
    (f"{HEAD}\n  %0 = reduce_sum %x axes=[4]\n  return %0\n}}", (2, 8), "has no axes"),
    (f"{HEAD}\n  %0 = reduce_sum %x axes=[0,\n  return %0\n}}", (2, 27), "cannot read the value"),
    (f"{HEAD}\n  %0 = reduce_sum %x way=1\n  return %0\n}}", (2, 8), "has no attribute way"),
    (f"{HEAD}\n  %0 = reduce_sum %x\n  return %0\n}}", (2, 8), "attribute axes is missing"),
    (f"{HEAD}\n  %0, %1 = add %x, %x\n  return %0\n}}", (2, 3), "it gives 1 results, and 2 are named"),
    (f"{HEAD}\n  %0 = add %x, %x\n  %0 = mul %x, %x\n  return %0\n}}", (3, 3), "%0 is bound twice"),
    (f"{HEAD}\n  %0 = sin %x\n  %1 = sin %\n  return %0\n}}", (3, 3), "% is not bound"),
    (f"{HEAD}\n  %0 = sin %x\n  % = sin %x\n  return %0\n}}", (3, 3), "% is no name"),
    (f"{HEAD}\n  %a b = add %x, %x\n  return %x\n}}", (2, 3), "%a b is no name"),
    (f"{HEAD}\n  %0 = external %x function=<f> : f64[3]\n  return %x\n}}", (2, 29), "is a function of Python's"),
    (f"{HEAD}\n  %0 = add %x, open\n  return %x\n}}", (2, 16), "cannot read the value open|needs its type"),
    (f"{HEAD}\n  return %x", (2, 3), "a `}` is missing"),
    (f"{HEAD}\n  return %x\n}}\n  more", (4, 3), "text goes on"),
    ("func f(%x: f64[3]) -> f64[4] {\n  return %x\n}", (2, 3), r"gives f64\[3\], and its first line says f64\[4\]"),
    ("func f(%x: f99[3]) -> f64[3] {\n  return %x\n}", (1, 8), "is no type"),
    ("func f(%x: f64[3], %x: i64[]) -> f64[3] {\n  return %x\n}", (1, 19), "bound twice"),
    ("func f() -> f64[2] {\n  %0 = constant value=dense(\"f64[2]\",[1.0]) : f64[2]\n  return %0\n}", (2, 23), "cannot read the value"),
])  # fmt: skip
def test_errors_say_where(text, place, words):
    with pytest.raises(TextError, match=words) as caught:
        parse(text)
    error = caught.value
    assert isinstance(error, IRTypeError) and str(error).startswith(f"line {error.line}, column {error.column}: ")
    assert error.line == place[0] and error.column in (place[1], place[1] + 1), (error.line, error.column)


def test_compressed_numbers_are_no_more_than_their_type_says():
    build = Builder("f")
    with build:
        numbers = OPS["constant"](value=Constant(np.arange(400.0)))
    func = build.finish([numbers])
    there_and_back(func)
    for size in (8, 4000):
        with pytest.raises(TextError, match="cannot read the value"):
            parse(show(func).replace("f64[400]", f"f64[{size}]"))


@pytest.mark.parametrize("seed", range(4))
def test_texts_with_changes_are_read_or_refused_in_words(seed):
    """Whatever is done to a text, it is a function that verifies, or a TextError: never another exception."""
    rng = np.random.default_rng(seed)
    slope = grad(lambda x: loop_and_branch(x, 0.1)[0].sum())
    texts = [show(jit(size).ir(np.ones(3), 2.0)), show(slope.ir(np.ones(3))), show(jit(lambda x: np.sort(x)[::2] @ np.arange(2)).ir(np.ones(4)))]
    letters, read = "%x0,.:[](){}<>=\"'#-+ \n\\éf6i1e_~" + "".join(OPS)[:40], 0
    for _ in range(120):
        text = list(texts[rng.integers(len(texts))])
        for _ in range(rng.integers(1, 4)):
            at, how = rng.integers(len(text)), rng.integers(3)
            if how == 0:
                del text[at : at + rng.integers(1, 9)]
            elif how == 1:
                text[at] = letters[rng.integers(len(letters))]
            else:
                text[at:at] = text[rng.integers(len(text)) :][: rng.integers(1, 40)]
        try:
            verify(parse("".join(text)))
            read += 1
        except TextError:
            pass
    assert read < 120
