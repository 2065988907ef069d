"""Python called at run time: effects run once, in order, in every transform; what is drawn is kept, not drawn again."""

import jax
import numpy as np
import pytest

from wengert.autodiff import batch, jvp, vjp
from wengert.backends.numpy import callable_of
from wengert.backends.xla import lower
from wengert.ir.core import Builder
from wengert.ir.ops.control import cond, host, loop, region
from wengert.ir.ops.elementwise import lt
from wengert.ir.ops.transcendental import sin
from wengert.ir.passes import cse, dce
from wengert.ir.text import show
from wengert.ir.types import IRTypeError, parse_type


def func(function, *types):
    """`function` as a Func, its parameters named as its own."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return region(function, [parse_type(t) for t in types], hints=names)


def run_numpy(f, operands):
    return [np.asarray(r) for r in callable_of(f)(*operands)]


def run_xla(f, operands):
    with jax.enable_x64(True):
        results = [np.asarray(r) for r in jax.jit(lambda *a: lower(f, a))(*operands)]
        jax.effects_barrier()
        return results


class Log:
    """A callback that remembers what it was given."""

    __name__ = "log"

    def __init__(self):
        self.seen = []

    def __call__(self, *xs):
        self.seen.append([np.asarray(x).tolist() for x in xs])


class Draw(Log):
    __name__ = "draw"

    def __call__(self, *xs):
        super().__call__(*xs)
        return (np.asarray(float(len(self.seen))),)


@pytest.mark.parametrize("run", [run_numpy, run_xla])
def test_effects_run_once_in_order_and_survive(run):
    log = Log()

    def program(x):
        host(x, function=log, results=())
        host(x, function=log, results=())
        host(x + 1.0, function=log, results=())
        return sin(x)

    f = func(program, "f64[]")
    for g, more in ((f, ()), (dce(cse(f)), ()), (vjp(f), (1.0,)), (jvp(f), (1.0,)), (inlined(f), ())):
        log.seen.clear()
        run(g, [np.array(0.5), *map(np.array, more)])
        assert log.seen == [[0.5], [0.5], [1.5]]


def inlined(f):
    """`f` inside a call, inlined: equations are replayed, effects with them."""
    build = Builder("g")
    with build:
        x = build.param(f.params[0].type)
        out = build.inline(f, [x])
    return build.finish(out)


@pytest.mark.parametrize("run", [run_numpy, run_xla])
def test_effects_in_regions_run_once_in_gradients(run):
    """A drawn number is kept for the backward half, not drawn again."""
    draw = Draw()

    def step(i, x):
        (r,) = host(i, function=draw, results=(parse_type("f64[]"),))
        return sin(x * r)

    def twice(x):
        return loop(x, body=func(step, "i64[]", "f64[]"), carried=1, trips=2)

    def program(x):
        return cond(lt(x, 9.0), x, branches=(func(lambda x: x, "f64[]"), func(twice, "f64[]")))

    x = 0.4
    _, ct = run(vjp(func(program, "f64[]")), [np.array(x), np.array(1.0)])
    assert draw.seen == [[0], [1]]
    np.testing.assert_allclose(ct, np.cos(x) * np.cos(np.sin(x) * 2) * 2, rtol=1e-12)


@pytest.mark.parametrize("run", [run_numpy, run_xla])
def test_effects_in_batches_run_for_the_lanes_that_chose_them(run):
    log = Log()

    def quiet(x):
        return -x

    def loud(x):
        host(x, function=log, results=())
        return x * 2.0

    f = func(lambda c, x: cond(c, x, branches=(func(quiet, "f64[]"), func(loud, "f64[]"))), "bool[]", "f64[]")
    (z,) = run(batch(f, (True, True), 3), [np.array([True, False, True]), np.array([1.0, 2.0, 3.0])])
    assert z.tolist() == [2.0, -2.0, 6.0] and log.seen == [[1.0], [3.0]]


def test_host_checks_what_it_gets():
    f = func(lambda x: host(x, function=np.modf, results=(parse_type("f64[]"),)), "f64[]")
    with pytest.raises(IRTypeError, match=r"host: modf gave \(f64\[\], f64\[\]\) where \(f64\[\]\) was declared"):
        run_numpy(f, [np.array(0.5)])


def test_host_has_no_derivative():
    f = func(lambda x: host(x, function=np.modf, results=(parse_type("f64[]"),) * 2), "f64[]")
    for transform in (vjp, jvp):
        with pytest.raises(IRTypeError, match=r"host: modf is Python called at run time and has no derivative"):
            transform(f)


def test_host_prints_its_types():
    text = show(func(lambda x: host(x, function=np.modf, results=(parse_type("f64[]"),) * 2, ordered=False), "f64[]"))
    assert "%0, %1 = host %x function=<modf> results=[f64[],f64[]] ordered=False : f64[], f64[]" in text
