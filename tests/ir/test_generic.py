"""Functions made at several sizes as one of symbolic sizes: what it is at other sizes, its text, and what is unalike."""

import random

import numpy as np
import pytest
import sized_programs
from compare import agree

from wengert import grad, jit
from wengert.autodiff import jvp, vjp
from wengert.autodiff.batch import batch
from wengert.benchmarks.sizes.programs import PROGRAMS
from wengert.ir.core import Builder, Constant, Lit
from wengert.ir.dims import Dim
from wengert.ir.equality import same_function
from wengert.ir.generic import Unalike, generalised, parse_generic
from wengert.ir.ops import OPS
from wengert.ir.ops.control import evaluate
from wengert.ir.reading import TextError
from wengert.ir.setting import OF_ALL_SIZES, set_within
from wengert.ir.text import parse
from wengert.ir.types import IRTypeError, parse_type
from wengert.ir.verify import verify

NS = [37, 38, 74, 103, 44, 57, 72, 43]  # of all residues modulo 8, and none a power of two
SAMPLES = [{"n": n} for n in NS]
OTHERS = [41, 90, 150]


def texts_of(template, samples=SAMPLES):
    """The functions of a text of symbolic sizes, read at samples."""
    return [parse(template, sizes=s) for s in samples]


def in_numbers(generic):
    """It and what its text is read as are the same."""
    text = str(generic)
    read = parse_generic(text)
    assert read.samples == generic.samples and read.names == generic.names
    assert str(parse_generic(str(read))) == str(read)
    for n in (*NS, *OTHERS):
        assert read.agrees(generic.at({"n": n}), {"n": n}), text


# -- programs --------------------------------------------------------------------------------------


def made(f, arguments, sizes):
    with set_within(OF_ALL_SIZES, True):
        return {n: jit(f).ir(*arguments(n)) for n in sizes}


def check(f, arguments, change=lambda func: func):
    """A function's programs, changed, are one; -> whether they are. It is that of other sizes, which no sample is."""
    funcs = {n: change(func) for n, func in made(f, arguments, (*NS, *OTHERS)).items()}
    generic = generalised([funcs[n] for n in NS], SAMPLES)
    for n in OTHERS:
        assert not generic.difference(funcs[n], {"n": n})
        verify(generic.at({"n": n}))
    in_numbers(generic)
    return generic


TRANSFORMS = vjp, jvp, lambda func: batch(func, (True,) * len(func.params), 3)


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_are_one_at_all_sizes(seed):
    """Whatever is made of arrays by lengths is the same program at all of them, and so are its transforms."""
    f = sized_programs.function_of(sized_programs.draw(random.Random(seed)))
    generic = check(f, sized_programs.arguments)
    n = OTHERS[seed % 3]
    args = sized_programs.arguments(n)
    with np.errstate(all="ignore"):
        got = evaluate(generic.at({"n": n}), [np.asarray(x) for x in args])
        want = f(*args)
    agree(tuple(map(np.asarray, got[: len(want)])), tuple(map(np.asarray, want)), rtol=1e-9)
    check(f, sized_programs.arguments, TRANSFORMS[seed % 3])
    check(grad(sized_programs.loss_of(f)), sized_programs.arguments)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 200))
def test_many_random_programs_are_one_at_all_sizes(seed):
    f = sized_programs.function_of(sized_programs.draw(random.Random(seed)))
    for change in (lambda func: func, *TRANSFORMS):
        check(f, sized_programs.arguments, change)
    check(grad(sized_programs.loss_of(f)), sized_programs.arguments)


def number(result):
    return result.sum() if np.ndim(result) else result


@pytest.mark.parametrize("name, derived", [
    ("decoder", False), ("lstm", True), ("kalman", False), ("convolution", True), ("stencil", True), ("log-sum-exp", True),
])  # fmt: skip
def test_programs_of_changing_sizes(name, derived):
    f, arguments, over = PROGRAMS[name]
    f = grad(lambda *args: number(PROGRAMS[name][0](*args)), argnums=over) if derived else f
    generic = check(f, lambda n: arguments(n, np.random.default_rng(0)))
    assert generic.dims(generic.func.params[0])[0] == Dim.symbol("n")


# -- functions of texts ----------------------------------------------------------------------------


def test_what_it_shows():
    """Each part of a function in which sizes are, and what it is elsewhere."""
    text = """
      func f(%x: f64[n,4], %k: i64[]) -> f64[2*n], f64[n + 1] {
        %0 = reduce_sum %x axes=[1]                              : f64[n]
        %1 = div %0, n                                           : f64[n]
        %2 = loop %1 carried=1 trips=n-1                         : f64[n]
          body: func(%i: i64[], %y: f64[n]) -> f64[n] {
            %3 = mul 1.0/sqrt(n), %y                             : f64[n]
            return %3
          }
        %4 = concatenate %2, 0.5*n:f64[n] axis=0                 : f64[2*n]
        %5 = pad %2, 0.0:f64[] low=[0] high=[1] interior=[0]     : f64[n + 1]
        return %4, %5
      }"""
    generic = generalised(texts_of(text), SAMPLES)
    total, mean, looped, joined, padded = generic.func.eqns
    n = Dim.symbol("n")
    assert generic.names == ("n",) and generic.func.param_types[0] is parse_type("f64[37,4]")
    assert generic.dims(generic.func.params[0]) == (n, 4) and generic.dims(generic.func.params[1]) == ()
    assert str(generic.operand(mean, 1).value) == "n" and generic.operand(mean, 1).dims == (n,)
    assert generic.operand(mean, 0) is total.results[0]
    assert generic.attr(looped, "trips") == n - 1 and generic.attr(looped, "carried") == 1
    body = generic.attr(looped, "body")
    assert body is looped.attrs["body"] and generic.dims(body.params[1]) == (n,)
    assert str(generic.operand(body.eqns[0], 0).value) == "1.0/sqrt(n)"
    assert generic.dims(joined.results[0]) == (2 * n,) and str(generic.operand(joined, 1).value) == "0.5*n"
    assert generic.attr(padded, "high") == (1,) and generic.dims(generic.result(generic.func, 1)) == (n + 1,)
    (there,) = generic.at({"n": 5}).eqns[2].attrs["body"].eqns
    assert there.operands[0] is Lit(1 / np.sqrt(5.0), parse_type("f64[5]"))
    assert generic.at({"n": 5}).param_types == (parse_type("f64[5,4]"), parse_type("i64[]"))
    in_numbers(generic)


def test_values_of_an_instance_are_its_own():
    f = texts_of("func f(%x: f64[n]) -> f64[n] {\n %0 = sin %x\n %1 = cast %0 dtype=f32\n %2 = cast %1 dtype=f64\n return %2\n}")
    generic = generalised(f, SAMPLES)
    a, b = generic.at({"n": 37}), generic.at({"n": 37})
    assert generic.func is f[0] and same_function(a, f[0]) and same_function(a, b)
    assert not {*a.params, *(r for e in a.eqns for r in e.results)} & {*b.params, *(r for e in b.eqns for r in e.results)}
    assert [e.source for e in a.eqns] == [e.source for e in f[0].eqns]


FORMS = [
    ("n", lambda n: n), ("2*n - 3", lambda n: 2 * n - 3), ("0.25*n", lambda n: n / 4),
    ("1.0/n", lambda n: 1 / n), ("2.0/n", lambda n: 2 / n), ("1.0/(n*n)", lambda n: 1 / n**2), ("1.0/(n - 1)", lambda n: 1 / (n - 1)),
    ("1.0/(-n)", lambda n: -1 / n), ("sqrt(n)", lambda n: np.sqrt(n)), ("-sqrt(n + 2)", lambda n: -np.sqrt(n + 2)),
    ("1.0/sqrt(n)", lambda n: 1 / np.sqrt(n)), ("-4.0/sqrt(n*n + 1)", lambda n: -4 * (1 / np.sqrt(n * n + 1))),
]  # fmt: skip


def with_number(value, type="f64[]"):
    build = Builder("f")
    x = build.param(parse_type(type))
    with build:
        out = OPS["add"](x, Lit(value, x.type))
    return build.finish([out])


@pytest.mark.parametrize("text, f", FORMS)
@pytest.mark.parametrize("dtype", ["f64", "f32"])
def test_numbers_that_sizes_tell(text, f, dtype):
    generic = generalised([with_number(f(n), f"{dtype}[]") for n in NS], SAMPLES)
    assert str(generic.operand(generic.func.eqns[0], 1).value) == text
    for n in (2, 3, 99, 1000):
        (eqn,) = generic.at({"n": n}).eqns
        assert eqn.operands[1].value == np.dtype(eqn.results[0].type.dtype).type(f(n))
    in_numbers(generic)


@pytest.mark.parametrize("f", [
    lambda n: 3.0 / n, lambda n: n * 0.1, lambda n: np.log(n), lambda n: 1.0 / n if n != 72 else np.nextafter(1.0 / n, 1), lambda n: n % 5 / 7,
    lambda n: np.inf if n < 50 else -np.inf,
])  # fmt: skip
def test_other_numbers_are_unalike(f):
    with pytest.raises(Unalike, match=r"equation 0 \(add\) of f, operand 1 is .* at n=37 and .* at n="):
        generalised([with_number(f(n)) for n in NS], SAMPLES)


@pytest.mark.parametrize("kind, values", [("i64[]", lambda n: 3 * n + 1), ("bool[]", lambda n: True), ("c128[]", lambda n: "1.0+2.0j")])
def test_numbers_that_are_no_floats(kind, values):
    build = lambda n: parse(f"func f() -> {kind} {{\n return {values(n)}:{kind}\n}}")
    generic = generalised([build(n) for n in NS], SAMPLES)
    assert same_function(generic.at({"n": 100}), build(100))
    in_numbers(generic)


@pytest.mark.parametrize("kind, values", [("c128[]", lambda n: f"{n}.0+1.0j"), ("bool[]", lambda n: n > 50), ("i64[]", lambda n: n % 7)])
def test_other_numbers_that_are_no_floats_are_unalike(kind, values):
    with pytest.raises(Unalike, match="result 0 of f is"):
        generalised([parse(f"func f() -> {kind} {{\n return {values(n)}:{kind}\n}}") for n in NS], SAMPLES)


def holding(array):
    with (build := Builder("f")):
        out = OPS["constant"](value=Constant(array))
    return build.finish([out])


def test_constants():
    """Arrays of one number have a form; others are the same."""
    generic = generalised([holding(np.full((n, 3), -0.0)) for n in NS], SAMPLES)
    assert str(generic.attr(generic.func.eqns[0], "value")) == "full(f64[n,3],-0.0)"
    in_numbers(generic)
    assert same_function(generic.at({"n": 7}), holding(np.full((7, 3), -0.0)))
    same = generalised([holding(np.arange(3)) for _ in NS], SAMPLES)
    assert same_function(same.at({"n": 9}), holding(np.arange(3)))
    in_numbers(generalised([holding(np.full(n, np.inf, np.float32)) for n in NS], SAMPLES))


@pytest.mark.parametrize("made", [
    np.arange, lambda n: np.full(3, n * 0.1), lambda n: np.where(np.arange(n) < n - 1, 0.0, -0.0), lambda n: np.zeros(n % 5),
    lambda n: np.zeros(n // 50), lambda n: np.zeros(n, np.float32 if n < 50 else float),
])  # fmt: skip
def test_other_constants_are_unalike(made):
    with pytest.raises(Unalike, match="value is"):
        generalised([holding(made(n)) for n in NS], SAMPLES)


F, END = "func f(%x: f64[n]) -> f64[n] {{\n", "\n return %0\n}}"
LOOP = " %0 = loop %x carried=1 trips=3\n body: func(%i: i64[], %y: f64[n]) -> f64[n] {{\n %1 = {0} %y\n return %1\n }}"
UNALIKE = [  # a text with gaps, what fills them at the first sample and at the others
    (F + " %0 = {0} %x" + END, "sin", "cos", "equation 0 .sin. of f: sin of 1 operands at n=37 and cos of 1 operands at n=38"),
    ("func f(%x: f64[n]{0}) -> f64[n] {{\n return %x\n}}", "", ", %y: f64[]", "the parameters of f: 1 at n=37 and 2 at n=38"),
    ("func f(%x: f64[4,4]) -> f64[4] {{\n %0 = reduce_sum %x axes=[{0}]" + END, "0", "1", r"axes is \(0,\) at n=37 and \(1,\) at n=38"),
    ("func f(%x: f64[n], %y: f64[n]) -> f64[n] {{\n %0 = sub {0}" + END, "%x, %y", "%y, %x", "operand 0 is value 0 at n=37 and 1 at n=38"),
    ("func f(%x: f64[n]) -> f64[n], f64[n] {{\n %0 = sin %x\n return {0}, %0\n}}", "%0", "%x", "result 0 of f is value 1 at n=37 and 0"),
    (F + " %0 = sin %x\n{0}" + END, "", " %1 = cos %x\n", "the number of equations of f: 1 at n=37 and 2 at n=38"),
    (F + " %0 = add %x, {0}" + END, "1.0", "%x", r"operand 1 is <.*> at n=37 and a value f64\[38\] at n=38"),
    ("func f(%x: f64[n]) -> {0}[n] {{\n %0 = cast %x dtype={0}" + END, "f32", "f16", "dtype is"),
    (F + LOOP + END, "sin", "cos", r"equation 0 \(loop\) of f, body: equation 0 \(sin\) of body: sin of 1 operands at n=37 and cos"),
    ("func f(%x: {0}) -> {0} {{\n return %x\n}}", "f64[7,1]", "f64[7]", "parameter 0 of f is f64.7,1. at n=37 and f64.7. at n=38"),
    ("func f(%x: f64[{0}]) -> f64[{0}] {{\n return %x\n}}", "9", "4", "parameter 0 of f is f64.9. at n=37 and f64.4."),
]


@pytest.mark.parametrize("template, first, other, words", UNALIKE)
def test_what_is_unalike_is_told(template, first, other, words):
    funcs = [parse(template.format(other if k else first), sizes=s) for k, s in enumerate(SAMPLES)]
    with pytest.raises(Unalike, match=words):
        generalised(funcs, SAMPLES)
    alike = generalised(texts_of(template.format(first)), SAMPLES)
    assert not alike.agrees(funcs[1], {"n": 38}) and alike.agrees(funcs[0], {"n": 37})
    assert alike.difference(funcs[1], {"n": 38}) and not alike.difference(funcs[0], {"n": 37})


def test_the_line_of_what_is_unalike():
    def f(x):
        y = x * 2.0
        return np.sin(y) if len(x) < 50 else np.cos(y)

    with pytest.raises(Unalike, match=r"equation 1 \(sin\) of f at test_generic.py:\d+: sin of 1 operands, .* at n=37 and cos .* at n=74"):
        generalised([jit(f).ir(np.ones(n)) for n in NS], SAMPLES)


def test_sizes_that_cannot_be():
    halves = generalised(texts_of("func f(%x: f64[n]) -> f64[n//2] {\n %0 = slice %x start=[0] stop=[n//2] stride=[1]\n return %0\n}",
                                  even := [{"n": n} for n in (40, 42, 66, 80, 104)]), even)  # fmt: skip
    assert halves.at({"n": 10}).result_types == (parse_type("f64[5]"),)
    with pytest.raises(ArithmeticError, match="is not whole"):
        halves.at({"n": 11})
    assert not halves.agrees(halves.at({"n": 10}), {"n": 11}) and "whole" in halves.difference(halves.at({"n": 10}), {"n": 11})
    less = generalised(texts_of("func f(%x: f64[n - 5]) -> f64[n - 5] {\n return %x\n}"), SAMPLES)
    assert less.at({"n": 5}).param_types == (parse_type("f64[0]"),)
    with pytest.raises(ArithmeticError, match="negative size: .-1."):
        less.at({"n": 4})
    first = generalised(texts_of("func f(%x: f64[n]) -> f64[9] {\n %0 = slice %x start=[0] stop=[9] stride=[1]\n return %0\n}"), SAMPLES)
    with pytest.raises(IRTypeError, match="slice"):
        first.at({"n": 8})


@pytest.mark.parametrize("types, sizes", [
    (("f64[5]", "f64[8,10]"), {"n": 5, "m": 7}), (("f64[0]", "f64[1,0]"), {"n": 0, "m": 0}),
    (("f64[5]", "f64[8,11]"), None), (("f32[5]", "f64[8,10]"), None), (("f64[5,1]", "f64[8,10]"), None), (("f64[5]",), None),
])  # fmt: skip
def test_sizes_told_by_types(types, sizes):
    pairs = [{"n": n, "m": m} for n, m in zip(NS, (5, 11, 6, 17, 23, 9, 4, 8), strict=True)]
    generic = generalised(texts_of("func f(%x: f64[n], %y: f64[m + 1,2*n]) -> f64[n] {\n return %x\n}", pairs), pairs)
    given = tuple(map(parse_type, types))
    if sizes is None:
        with pytest.raises(IRTypeError, match=r"f takes \(f64\[n\], f64\[m \+ 1,2\*n\]\), and is given \(f"):
            generic.sizes_of(given)
    else:
        assert generic.sizes_of(given) == sizes and generic.at(sizes).param_types == given


def test_sizes_that_types_do_not_tell():
    pairs = [{"n": n, "m": m} for n, m in zip(NS, (5, 11, 6, 17, 23, 9, 4, 8), strict=True)]
    generic = generalised(texts_of("func f(%x: f64[n*m]) -> f64[n*m] {\n return %x\n}", pairs), pairs)
    with pytest.raises(IRTypeError, match="do not tell m, n"):
        generic.sizes_of((parse_type("f64[6]"),))


def test_two_names():
    pairs = [{"n": n, "m": m} for n, m in zip(NS, (5, 11, 6, 17, 23, 9, 4, 8), strict=True)]
    text = "func f(%x: f64[m,n], %y: f64[n,m]) -> f64[m,m] {\n %0 = dot_general %x, %y contract=[[1],[0]]\n %1 = div %0, n*m\n return %1\n}"
    generic = generalised(texts_of(text, pairs), pairs)
    assert generic.names == ("m", "n") and str(generic).startswith("sizes m=[5,11,6,17,23,9,4,8] n=[37,")
    assert same_function(generic.at({"n": 3, "m": 2}), parse(text, sizes={"n": 3, "m": 2}))
    assert str(parse_generic(str(generic))) == str(generic)


BODY = "func(%i: i64[], %y: f64[n]) -> f64[n] {{\n %z = mul %y, {0}.0\n return %z\n }}"


def looping(n, *factors):
    """A loop for each factor, one behind the other, all of one body where the factors are the same."""
    lines = [f" %{k + 1} = loop %{k} carried=1 trips=2 : f64[n]\n body: {BODY.format(f)}\n" for k, f in enumerate(factors)]
    func = parse(f"func f(%0: f64[n]) -> f64[n] {{\n{''.join(lines)} return %{len(factors)}\n}}", sizes={"n": n})
    bodies = {f: eqn.attrs["body"] for f, eqn in zip(factors, func.eqns)}
    for f, eqn in zip(factors, func.eqns):
        eqn.attrs["body"] = bodies[f]
    return func


def test_one_function_that_is_several_at_other_sizes():
    """Two loops that have one body at the first sample, and bodies of other numbers at the others."""
    generic = generalised([looping(n, n, 37) for n in NS], SAMPLES)
    first, second = generic.func.eqns
    assert str(generic.operand(first.attrs["body"].eqns[0], 1).value) == "n"
    assert generic.operand(second.attrs["body"].eqns[0], 1).value == 37.0
    for n in (37, 50):
        assert same_function(generic.at({"n": n}), looping(n, n, 37))


def test_a_function_that_several_equations_run_stays_one():
    made = generalised([looping(n, 3, 3) for n in NS], SAMPLES).at({"n": 12})
    assert made.eqns[0].attrs["body"] is made.eqns[1].attrs["body"]


# -- texts -----------------------------------------------------------------------------------------


def test_a_text_without_samples_is_read_at_some():
    text = "func f(%x: f64[n,m]) -> f64[n*m] {\n %0 = reshape %x shape=[n*m] : f64[n*m]\n return %0\n}"
    generic = parse_generic(text)
    assert generic.names == ("m", "n") and len(generic.samples) >= 6
    assert generic.at({"n": 2, "m": 3}).result_types == (parse_type("f64[6]"),)


@pytest.mark.parametrize("text, words", [
    ("func f(%x: f64[k]) -> f64[n] {\n return %x\n}", "gives"),
    ("sizes n=[3,4,5,6]\nfunc f(%x: f64[k]) -> f64[k] {\n return %x\n}", "no size is named k"),
    ("sizes n=[3,4,5,6]\nfunc f(%x: f64[n/2]) -> f64[n/2] {\n return %x\n}", "is no size"),
    ("sizes n=[3,4,5,6]\nfunc f(%x: f64[n]) -> f64[n] {\n %0 = add %x, k\n return %0\n}", "cannot read the value k"),
    ("sizes n=[3,4,5,6]\nfunc f(%x: f64[n]) -> f64[n] {\n %0 = add %x, sqrt(%x)\n return %0\n}", "cannot read the value|is not"),
    ("sizes n=[3,4,5,6]\nfunc f(%x: f64[n]) -> f64[7] {\n %0 = slice %x start=[0] stop=[7] stride=[1]\n return %0\n}", "slice"),
])  # fmt: skip
def test_texts_that_mean_nothing(text, words):
    with pytest.raises(TextError, match=words):
        parse_generic(text)


@pytest.mark.parametrize("name", ["inf", "f64", "sqrt", "full", "a b", "None", "1n"])
def test_names_that_texts_have_for_something_else(name):
    with pytest.raises(ValueError, match="is no name of a size"):
        generalised([with_number(1.0)] * 3, [{name: n} for n in (3, 4, 5)])


def test_samples_of_other_names():
    with pytest.raises(ValueError, match="samples of the same names"):
        generalised([with_number(1.0)] * 2, [{"n": 3}, {"m": 3}])
    with pytest.raises(ValueError, match="a number for each sample"):
        parse_generic("sizes n=[3,4] m=[5]\nfunc f() -> nothing {\n return\n}")


def test_texts_of_numbers_know_no_names():
    with pytest.raises(TextError, match="is no type"):
        parse("func f(%x: f64[n]) -> f64[n] {\n return %x\n}")
    with pytest.raises(TextError, match="cannot read the value"):
        parse("func f(%x: f64[3]) -> f64[3] {\n %0 = add %x, 2*3\n return %0\n}")
