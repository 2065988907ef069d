"""The text of executables read: instructions, shapes and calls; costs are those of XLA's analysis, and memory what it reserves."""

import weakref

import jax
import numpy as np
import pytest
from collected import collect

from wengert import grad, jit
from wengert.backends.xla.collectives import collectives
from wengert.backends.xla.hlo_cost import Costs
from wengert.backends.xla.hlo_text import Shape, parse_module
from wengert.backends.xla.inspected import inspected
from wengert.tracer.plan.hlo_buffers import hlo_buffers
from wengert.tracer.plan.xla_steps import XlaSteps

TEXT = """HloModule jit_f, is_scheduled=true, entry_computation_layout={(f64[4]{0})->(f64[4]{0}, s64[])}

%body (arg: (s64[], f64[4])) -> (s64[], f64[4]) {
  %arg = (s64[], f64[4]{0}) parameter(0)
  %i = s64[] get-tuple-element(%arg), index=0
  %x = f64[4]{0} get-tuple-element(%arg), index=1
  %y = f64[4]{0} exponential(%x), metadata={op_name="exp (a, b) {c}"}
  ROOT %out = (s64[], f64[4]{0}) tuple(%i, /*index=1*/%y)
}

%test (arg.1: (s64[], f64[4])) -> pred[] {
  %arg.1 = (s64[], f64[4]{0}) parameter(0)
  %j = s64[] get-tuple-element(%arg.1), index=0
  %n = s64[] constant(7)
  ROOT %less = pred[] compare(%j, %n), direction=LT
}

ENTRY %main (p: f64[4]) -> (f64[4], s64[]) {
  %p = f64[4]{0} parameter(0)
  %zero = s64[] constant(0)
  %both = (s64[], f64[4]{0}) tuple(%zero, %p)
  %loop = (s64[], f64[4]{0}) while(%both), condition=%test, body=%body, backend_config={"known_trip_count":{"n":"7"}}
  %k = s64[] get-tuple-element(%loop), index=0
  %nest = f64[4]{0} custom-call(%p), custom_call_target="wengert_nest_1", output_to_operand_aliasing={{}: (0, {})}
  ROOT %result = (f64[4]{0}, s64[]) tuple(%nest, %k)
}
"""


def test_what_instructions_say():
    module = parse_module(TEXT)
    named = {i.name: i for found in module.computations.values() for i in found}
    assert module.entry == "main" and [i.name for i in module.steps] == ["p", "zero", "both", "loop", "k", "nest", "result"]
    assert named["out"].operands == ("i", "y") and named["out"].root and not named["y"].root
    assert named["loop"].trips == 7 and named["loop"].called("body") == ["body"] and named["loop"].called() == ["test", "body"]
    assert named["nest"].target == "wengert_nest_1" and named["nest"].aliases == {0: 0}
    assert named["loop"].shapes == (Shape("s64", ()), Shape("f64", (4,))) and named["loop"].bytes == 40
    assert str(Shape("pred", (2,))) == "bool[2]" and str(Shape("s64", ())) == "i64[]" and Shape("bf16", (3,)).bytes == 6


def test_loops_cost_their_trips_and_once_what_xla_says():
    module = parse_module(TEXT)
    assert Costs(module).computation("main").flops == 7 * 4 + 8
    assert Costs(module, once=True).computation("main").flops == 4 + 1
    assert not Costs(module).computation("main").known  # what the nest does is not known
    costs = Costs(module, lambda i: Costs(module).computation("test"))
    assert costs.computation("main").known


def network(w, v, x, y):
    return ((np.tanh(x @ w) @ v - y) ** 2).mean()


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def pairs(x):
    d = x[:, None] - x[None, :]
    return (d / (d * d + 1.0)).sum(1)


def steps(x):
    for _ in range(9):
        x = np.tanh(x) * 0.5 + x[::-1]
    return x


def cell(w, x):
    h = np.zeros(8)
    for t in range(20):
        h = np.tanh(w @ h + x[t])
    return (h * h).sum()


NETWORK = np.ones((20, 30)), np.ones((30, 5)), np.ones((40, 20)), np.ones((40, 5))
PROGRAMS = [
    (jit(network), NETWORK), (grad(network), NETWORK), (jit(softmax), (np.ones((50, 20)),)),
    (grad(lambda x: softmax(x)[:, 0].sum()), (np.ones((50, 20)),)), (jit(pairs), (np.ones(60),)),
    (grad(lambda x: pairs(x).sum()), (np.ones(60),)),
    (jit(steps), (np.ones(90),)), (jit(lambda x, i: x[i] * 2.0), (np.ones((50, 20)), np.arange(9))),
    (grad(cell), (np.ones((8, 8)), np.ones((20, 8)))),
]  # fmt: skip


@pytest.mark.parametrize("f, arguments", PROGRAMS, ids=lambda x: getattr(x, "__name__", ""))
def test_totals_are_those_of_xla(f, arguments):
    func = f.ir(*arguments)
    looked = inspected(func, native=False)
    module, told = parse_module(looked.hlo()), looked.cost()
    mine = Costs(module, once=True).computation(module.entry)
    assert mine.flops == pytest.approx((told["flops"] or 0) + (told["transcendentals"] or 0), rel=0.1)
    if "scatter" not in looked.hlo() and "gather(" not in looked.hlo():
        assert mine.bytes == pytest.approx(told["bytes accessed"], rel=0.1)
    steps = XlaSteps(module, {})
    buffers, temporaries, _ = hlo_buffers(module, steps)
    ends = sum(b.bytes for b in buffers if b.kind != "temporary")
    memory = looked.memory()
    reserved = memory["argument"] + memory["output"] + memory["temp"] - memory["alias"]
    assert ends + temporaries == pytest.approx(reserved, rel=0.1, abs=512)  # XLA rounds small ones up


def test_a_function_is_not_kept_by_what_is_told_of_it():
    func = jit(softmax).ir(np.ones((3, 4)))
    assert inspected(func) is inspected(func) and "exponential" in inspected(func).hlo()
    gone = weakref.ref(func)
    del func
    collect()
    jax.clear_caches()
    collect()
    assert gone() is None


STARTS = """HloModule m

ENTRY %main (p: f32[4], q: f32[6]) -> f32[8] {
  %p = f32[4]{0} parameter(0)
  %q = f32[6]{0} parameter(1)
  %r = (f32[4]{0}, f32[6]{0}) all-reduce-start(%p, %q), replica_groups={{0,1}}, to_apply=%add
  %rd = (f32[4]{0}, f32[6]{0}) all-reduce-done(%r)
  %c = (f32[4]{0}, f32[4]{0}, u32[], u32[]) collective-permute-start(%p), source_target_pairs={{0,1},{1,0}}
  %cd = f32[4]{0} collective-permute-done(%c)
  %g = (f32[4]{0}, f32[8]{0}) all-gather-start(%cd), replica_groups={{0,1}}, dimensions={0}
  ROOT %gd = f32[8]{0} all-gather-done(%g)
}
"""


def test_what_begins_a_collective_counts_for_its_results():
    found = collectives(parse_module(STARTS), 2)
    assert [(c.kind, c.size) for c in found] == [("all-reduce", 40), ("collective-permute", 16), ("all-gather", 32)]
