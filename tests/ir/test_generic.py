"""Functions made at several sizes as one of symbolic sizes: what it is at other sizes, its text, and what is unalike."""

import random

import numpy as np
import pytest
import sized_programs
from compare import agree

from wengert import grad, jit
from wengert.autodiff import jvp, vjp
from wengert.autodiff.batch import batch
from wengert.ir.exactness import of_all_sizes
from wengert.ir.generic import generalised, parse_generic
from wengert.ir.ops.control import evaluate
from wengert.ir.text import parse
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
    with of_all_sizes():
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


TRANSFORMS = {
    "forward": lambda func: func,
    "vjp": vjp,
    "jvp": jvp,
    "batch": lambda func: batch(func, (True,) * len(func.params), 3),
}


@pytest.mark.parametrize("seed", range(12))
def test_random_programs_are_one_at_all_sizes(seed):
    """Whatever is made of arrays by lengths is the same program at all of them, and so are its transforms."""
    f = sized_programs.function_of(sized_programs.draw(random.Random(seed)))
    generic = check(f, sized_programs.arguments)
    n = OTHERS[seed % 3]
    args = sized_programs.arguments(n)
    with np.errstate(all="ignore"):
        got = evaluate(generic.at({"n": n}), [np.asarray(x) for x in args])
        want = f(*args)
    agree(tuple(got[: len(want)]), tuple(map(np.asarray, want)), rtol=1e-9)
    for name in ("vjp", "jvp", "batch"):
        check(f, sized_programs.arguments, TRANSFORMS[name])
    check(grad(sized_programs.loss_of(f)), sized_programs.arguments)
