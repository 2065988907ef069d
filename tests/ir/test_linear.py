"""Every walk over a program costs what the program has equations, though each of its values is read several times: visits are counted."""

import importlib.util

import jax
import numpy as np
import pytest
from deep import PROGRAMS, TRUTH, WHOLE, TooMany, deep, visits

from wengert import grad, jit
from wengert.autodiff import batch, jvp, split, vjp
from wengert.backends import numpy as generated
from wengert.backends.native import taken
from wengert.backends.numpy import callable_of, fused
from wengert.backends.xla.fusion_barrier import materialized
from wengert.backends.xla.lower import lower
from wengert.ir import outline, pipeline, text
from wengert.ir.core import Builder
from wengert.ir.ops.control import COUNTER, loop
from wengert.ir.rewrite import rewrite
from wengert.ir.rules import CONTRACTIONS
from wengert.ir.verify import verify
from wengert.tracer.program import check_weakening

FEW, MANY, MOST = 20, 60, 300_000
NATIVE = importlib.util.find_spec("llvmlite") is not None


def in_loop(func):
    """A loop of which a trip is the function."""
    body, build = Builder("body"), Builder("loop")
    _, p, x = body.param(COUNTER), body.param(func.params[1].type), body.param(func.params[0].type)
    with body:
        out = body.inline(func, [x, p])
    params = [build.param(t) for t in (p.type, x.type)]
    with build:
        results = loop(*params, body=body.finish(out[:1]), carried=1, trips=10)
    return build.finish(results)


def through_xla(func):
    with jax.enable_x64(True):
        jax.jit(lambda *args: tuple(lower(func, args))).trace(*(jax.ShapeDtypeStruct(t.shape, t.dtype) for t in func.param_types))


def in_nest(func):
    (eqn,) = in_loop(func).eqns
    assert not NATIVE or taken(loop, [x.type for x in eqn.operands], eqn.attrs | {"trips": 1000})


def of_passes(step):
    return lambda func: pipeline.run(func, (step,))


WALKS = {step.__name__: of_passes(step) for step in pipeline.PIPELINE} | {
    "all passes, exact": lambda func: pipeline.run(func, exact=True),
    "passes of a loop": lambda func: pipeline.run(in_loop(func)),
    "contractions": lambda func: rewrite(func, CONTRACTIONS),
    "verify": verify,
    "text": lambda func: text.parse(text.show(func)),
    "batch": lambda func: batch(func, (True, False), 3),
    "alike": lambda func: outline.pieces(func, lambda _: None),
    "materialized": materialized,
    "through XLA": through_xla,
    "nest": in_nest,
    "generated": callable_of,
    "fused": fused,
    "plain": generated.is_loop_free,
    "verdict": check_weakening.decided,
}
SMOOTH = {
    "vjp": lambda func: pipeline.run(vjp(func)),
    "jvp": jvp,
    "vjp of a loop": lambda func: vjp(in_loop(func)),
    "split": lambda func: split.halves(vjp(func), 2, len(func.results)),
}


def count(walk, func):
    with visits(MOST) as found:
        try:
            walk(func)
        except TooMany:
            return MOST
    return found[None]


@pytest.mark.parametrize("name", [*WALKS, *SMOOTH])
def test_visits(name):
    smooth = name in SMOOTH
    for program, (t, _) in PROGRAMS.items():
        if smooth and t in (WHOLE, TRUTH):
            continue
        few, many = deep(program, FEW), deep(program, MANY)
        one, other = (count((WALKS | SMOOTH)[name], func) for func in (few, many))
        assert other <= 4 * one + 20 * len(many.eqns), (program, one, other)


def polynomial(x, ps):
    for p in ps:
        x = x * x + x * p
    assert x < 1e9
    return x


def nearest(x, ps):
    found = [(x - p) ** 2 for p in ps]
    return found.index(min(found))


def checked(x, ps):
    i, a = int(x), np.arange(9.0)
    for p in ps:
        i = (i * i + int(a[i])) % 7 if x > p else i // 3
        x = x * x / (x + 1) + x * a[i]
    return x, i


def masked(x, ps):
    a = np.arange(5.0) * x
    for p in ps:
        a = np.where((a > p) & (a < 3 * p) | (a == 1), a * p, a + p)
    return a + 1 if (a > 0).all() else a


@pytest.mark.parametrize("f, n", [(polynomial, 30), (nearest, 20), (checked, 5), (masked, 20), (grad(polynomial), 20)])
def test_visits_of_a_first_call(f, n):
    found = []
    for k in (n, 3 * n):
        with visits(10 * MOST) as seen:
            jit(f, engine="numpy")(0.3, [0.1] * k)
        found.append(seen[None])
    assert found[1] <= 5 * found[0]


def test_no_depth_is_too_great():
    func, smooth = deep("numbers", 1200), deep("sums", 1200, checks=False)
    for walk in (check_weakening.decided, text.show, callable_of, materialized, of_passes(pipeline.bounds), of_passes(pipeline.simplify)):
        walk(func)
    for walk in (vjp, jvp, WALKS["batch"]):
        walk(smooth)


def test_names_are_found_at_once():
    n = 20_000
    assert len(jit(eval(f"lambda x: [0] * {n} + [x]"))(1)) == n + 1
