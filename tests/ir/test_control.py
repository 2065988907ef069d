"""Programs with nested regions: values, both derivative modes to second order, batching, texts, errors."""

import itertools

import jax
import numpy as np
import pytest

from wengert.autodiff import batch, checkpoints, jvp, vjp
from wengert.autodiff.loops import UnboundedLoopError
from wengert.backends.numpy import callable_of, emit
from wengert.backends.xla import lower
from wengert.ir.core import Builder, Lit
from wengert.ir.ops import OPS
from wengert.ir.ops.control import call, cond, host, loop, map_, region
from wengert.ir.ops.elementwise import add, cast, gt, lt, mul
from wengert.ir.ops.reduction import reduce_sum
from wengert.ir.ops.shape import broadcast, dynamic_slice, dynamic_update_slice, reshape
from wengert.ir.ops.transcendental import exp, sin, tanh
from wengert.ir.passes import dce
from wengert.ir.source import Source
from wengert.ir.text import parse, show
from wengert.ir.types import IRTypeError, parse_type, type_of
from wengert.ir.verify import verify


def func(function, *types):
    """`function` as a Func, its parameters named as its own."""
    names = function.__code__.co_varnames[: function.__code__.co_argcount]
    return region(function, [parse_type(t) for t in types], hints=names)


def run_numpy(f, operands):
    with np.errstate(all="ignore"):
        return [np.asarray(r) for r in callable_of(f)(*operands)]


def run_xla(f, operands):
    with jax.enable_x64(True):
        return [np.asarray(r) for r in jax.jit(lambda *a: lower(f, a))(*operands)]


# -- programs --------------------------------------------------------------------------------------


def nested():
    """A loop in a branch in a loop; the trip count of the inner one is data."""

    def inner(k, r, y):
        return sin(y * r) + broadcast(cast(k, dtype=y.type.dtype), shape=(2,), dims=())

    def swung(n, r, x):
        return loop(n, r, x, body=func(inner, "i64[]", "f64[2]", "f64[2]"), carried=1, bound=4)

    def plain(n, r, x):
        return x * r

    def step(i, r, x, total):
        positive = lt(0.0, reduce_sum(x, axes=(0,)))
        branches = (func(plain, "i64[]", "f64[2]", "f64[2]"), func(swung, "i64[]", "f64[2]", "f64[2]"))
        (y,) = cond(positive, i, r, x, branches=branches)
        return tanh(y), total + reduce_sum(y * x, axes=(0,))

    def program(r, x):
        return loop(r, x, Lit(0.0, parse_type("f64[]")), body=func(step, "i64[]", "f64[2]", "f64[2]", "f64[]"), carried=2, trips=4)

    return func(program, "f64[2]", "f64[2]"), [np.array([0.7, -1.1]), np.array([0.4, 0.9])]


def newton():
    """A while loop whose trip count is data; its derivative is that of the square root."""

    def step(i, a, x):
        return (x + a / x) * 0.5

    def far(i, a, x):
        gap = x * x - a
        return gt(gap * gap, 1e-26)

    def program(a):
        types = "i64[]", "f64[]", "f64[]"
        return loop(a, a, body=func(step, *types), test=func(far, *types), carried=1, bound=30)

    return func(program, "f64[]"), [np.array(2.7)]


def recurrence():
    """b[i+1] = tanh(b[i] * w) + c[i], in place."""

    def step(i, w, c, b):
        old = dynamic_slice(b, i, sizes=(1,))
        new = tanh(old * reshape(w, shape=(1,))) + dynamic_slice(c, i, sizes=(1,))
        return dynamic_update_slice(b, new, add(i, 1))

    def program(w, c, b):
        return loop(w, c, b, body=func(step, "i64[]", "f64[]", "f64[5]", "f64[6]"), carried=1, trips=5)

    return func(program, "f64[]", "f64[5]", "f64[6]"), [np.array(0.8), np.linspace(-1, 1, 5), np.linspace(0.3, -0.5, 6)]


def stopped():
    """A counted loop with a break, and a value that no derivative reaches."""

    def step(i, w, x, n):
        return x * w + 0.1, add(n, i)

    def small(i, w, x, n):
        return lt(x, 3.0)

    def program(w, x):
        types = "i64[]", "f64[]", "f64[]", "i64[]"
        return loop(w, x, Lit(5, parse_type("i64[]")), body=func(step, *types), test=func(small, *types), trips=9, carried=2)

    return func(program, "f64[]", "f64[]"), [np.array(1.3), np.array(0.9)]


def spread():
    """A map whose body loops and calls; one operand goes whole to every run."""
    wave = func(lambda x, y: exp(sin(x) * y), "f64[3]", "f64[3]")

    def step(i, w, x):
        return call(w, x, body=wave, name="wave")

    def row(x, w):
        (z,) = loop(w, x, body=func(step, "i64[]", "f64[3]", "f64[3]"), carried=1, trips=2)
        return z, reduce_sum(z * x, axes=(0,))

    def program(w, xs):
        return map_(xs, w, body=func(row, "f64[3]", "f64[3]"), mapped=(True, False), size=2)

    return func(program, "f64[3]", "f64[2,3]"), [np.array([0.3, -0.6, 0.2]), np.array([[0.1, 0.5, -0.4], [0.7, -0.2, 0.3]])]


def complex_wave():
    def step(i, w, z):
        return mul(sin(z), w)

    def program(w, z):
        return loop(w, z, body=func(step, "i64[]", "c128[2]", "c128[2]"), carried=1, trips=3)

    return func(program, "c128[2]", "c128[2]"), [np.array([0.5 + 0.2j, 0.9 - 0.3j]), np.array([0.3j, 0.8 + 0.1j])]


PROGRAMS = {f.__name__: f for f in (nested, newton, recurrence, stopped, spread, complex_wave)}
every_program = pytest.mark.parametrize("name", PROGRAMS)


def agree(a, b, tolerance=1e-6):
    scale = max(np.max(np.abs(a), initial=0.0), np.max(np.abs(b), initial=0.0), 1.0)
    assert np.max(np.abs(np.asarray(a) - b), initial=0.0) <= tolerance * scale, f"\n{a}\n{b}"


def draw(rng, types):
    return [np.asarray(rng.standard_normal(t.shape) + (1j * rng.standard_normal(t.shape) if t.kind == "c" else 0)) for t in types]


def check_derivatives(f, operands, rng):
    """Both modes of `f` against central differences of sixth order; returns the reverse program and its operands."""
    wrt = [i for i, p in enumerate(f.params) if p.type.inexact]
    t = draw(rng, [f.params[i].type for i in wrt])

    def along(h):
        moved = list(operands)
        for i, d in zip(wrt, t):
            moved[i] = moved[i] + h * d
        return [r for r in run_numpy(f, moved) if r.dtype.kind in "fc"]

    h = 1e-3
    steps = [along(s * h) for s in (1, -1, 2, -2, 3, -3)]
    want = [(45 * (a - b) - 9 * (c - d) + (e - g)) / (60 * h) for a, b, c, d, e, g in zip(*steps)]
    for a, b in zip(run_numpy(verify(jvp(f, keep=False)), [*operands, *t]), want, strict=True):
        agree(a, b)
    back = verify(vjp(f))
    gs = draw(rng, [type_of(z) for z in want])
    out = run_numpy(back, [*operands, *gs])
    for a, b in zip(out, run_numpy(f, operands)):
        np.testing.assert_array_equal(a, b)
    cts = out[len(f.results) :]
    agree(sum(np.sum(a * b).real for a, b in zip(cts, t)), sum(np.sum(a * b).real for a, b in zip(gs, want)))
    for a, b in zip(run_xla(back, [*operands, *gs]), out, strict=True):
        agree(a, b, 1e-12)
    return back, [*operands, *gs]


@every_program
def test_values(name):
    f, operands = PROGRAMS[name]()
    verify(f)
    for a, b in zip(run_xla(f, operands), run_numpy(f, operands), strict=True):
        agree(a, b, 1e-14)


@every_program
def test_derivatives_to_second_order(name, rng):
    f, operands = PROGRAMS[name]()
    check_derivatives(*check_derivatives(f, operands, rng), rng)


@every_program
def test_forward_over_forward_and_reverse_over_forward(name, rng):
    f, operands = PROGRAMS[name]()
    forward = jvp(f)
    wrt = [p.type for p in f.params if p.type.inexact]
    check_derivatives(forward, [*operands, *draw(rng, wrt)], rng)


@every_program
def test_text(name):
    f, operands = PROGRAMS[name]()
    for g in (f, vjp(f)):
        assert show(verify(parse(show(g)))) == show(g)


@every_program
def test_dead_code_leaves_meaning(name, rng):
    f, operands = PROGRAMS[name]()
    back = vjp(f)
    xs = [*operands, *draw(rng, [r.type for r in f.results if r.type.inexact])]
    for a, b in zip(run_numpy(dce(back), xs), run_numpy(back, xs), strict=True):
        np.testing.assert_array_equal(a, b)


def check_batch(f, operands, rng, tolerance=1e-12):
    lanes = 3
    for flags in itertools.product((False, True), repeat=len(operands)):
        xs = [np.stack([x * (0.7 + 0.2 * k) for k in range(lanes)]).astype(x.dtype) if b else x for x, b in zip(operands, flags)]
        g = verify(batch(f, flags, lanes))
        got = run_numpy(g, xs)
        for a, b in zip(run_xla(g, xs), got, strict=True):
            agree(a, b, tolerance)
        for k in range(lanes):
            one = run_numpy(f, [x[k] if b else x for x, b in zip(xs, flags)])
            for a, b in zip(got, one, strict=True):
                agree(a[k], b, tolerance)


@every_program
def test_batch_is_a_stack_of_singles(name, rng):
    f, operands = PROGRAMS[name]()
    check_batch(f, operands, rng)


@every_program
def test_batch_of_gradient(name, rng):
    f, operands = PROGRAMS[name]()
    back = vjp(f, keep=False)
    gs = draw(rng, [r.type for r in f.results if r.type.inexact])
    first = [True] + [False] * (len(operands) - 1 + len(gs))
    lanes = 3
    xs = [np.stack([operands[0] * (0.7 + 0.2 * k) for k in range(lanes)]), *operands[1:], *gs]
    got = run_numpy(verify(batch(back, first, lanes)), xs)
    for k in range(lanes):
        for a, b in zip(got, run_numpy(back, [xs[0][k], *xs[1:]]), strict=True):
            agree(a[k], b, 1e-11)


@every_program
def test_gradient_of_batch(name, rng):
    f, operands = PROGRAMS[name]()
    g = batch(f, [True] * len(operands), 2)
    xs = [np.stack([x, x * 0.8]) for x in operands]
    check_derivatives(g, xs, rng)


def test_newton_has_the_derivative_of_the_square_root():
    f, (a,) = newton()
    _, ct = run_numpy(vjp(f), [a, np.array(1.0)])
    agree(ct, 0.5 / np.sqrt(a), 1e-12)


# -- what the reverse mode of loops keeps ------------------------------------------------------------


def loops_of(f):
    return [e for e in dce(f).eqns if e.op is loop]


def stacks_of(eqn):
    """Types of the carried values of a forward loop that start as zero splats: its stacks."""
    return [x.type for x in eqn.operands[len(eqn.operands) - eqn.attrs["carried"] :] if isinstance(x, Lit) and x.type.shape]


def test_the_primal_runs_once():
    for program in (nested, newton, recurrence, stopped):
        assert len(loops_of(vjp(program()[0]))) == 2


def test_slices_are_kept_and_arrays_are_not():
    forward, _ = loops_of(vjp(recurrence()[0]))
    assert sorted(map(repr, stacks_of(forward))) == ["f64[5,1]", "f64[5,1]"]


def linear_loop(**attrs):
    def step(i, w, x, y):
        return x * 2.0 + y, y * 0.5 - w

    def program(n, w, x, y):
        return loop(n, w, x, y, body=func(step, "i64[]", "f64[3]", "f64[3]", "f64[3]"), carried=2, **attrs)

    return func(program, "i64[]", "f64[3]", "f64[3]", "f64[3]")


def test_a_linear_loop_keeps_nothing_and_needs_no_bound(rng):
    f = linear_loop()
    forward, _ = loops_of(vjp(f))
    assert forward.attrs["carried"] == 2
    check_derivatives(f, [np.array(4), *draw(rng, [parse_type("f64[3]")] * 3)], rng)


def power(**attrs):
    """x ** (n + 1), n being data, or `trips` if given."""

    def step(i, x, y):
        return x * y

    def program(*xs):
        return loop(*xs, xs[-1], body=func(step, "i64[]", "f64[]", "f64[]"), carried=1, **attrs)

    return func(program, *["i64[]"] * ("trips" not in attrs), "f64[]")


def heard():
    """As `power`, calling Python in each trip."""

    def step(i, x, y):
        host(y, function=lambda y: (), results=())
        return x * y

    def program(n, x):
        return loop(n, x, x, body=func(step, "i64[]", "f64[]", "f64[]"), carried=1)

    return func(program, "i64[]", "f64[]")


def test_any_number_of_trips_has_a_reverse(rng):
    f = power()
    for n in (0, 1, 3, 40, 3000):
        for run in (run_numpy, run_xla):
            x = 1 + 1 / (n + 1)
            agree(run(vjp(f, keep=False), [np.array(n), np.array(x), np.array(1.0)])[0], (n + 1) * x**n, 1e-12)
    agree(run_numpy(vjp(vjp(f, keep=False), [1], keep=False), [np.array(3), np.array(1.5), np.array(1.0), np.array(1.0)])[0], 12 * 1.5**2, 1e-12)


@pytest.mark.parametrize("sizes", [(1, 2), (2, 2), (4, 4), (4, 8), (8, 2)])
def test_snapshots_are_thinned_where_there_is_no_more_room(sizes, monkeypatch):
    monkeypatch.setattr(checkpoints, "sizes", lambda *_: sizes)
    f = vjp(power(), keep=False)
    for n in (*range(10), 15, 16, 17, 31, 32, 33, 64, 100, 257):
        x = 1 + 1 / (n + 1)
        agree(run_numpy(f, [np.array(n), np.array(x), np.array(1.0)])[0], (n + 1) * x**n, 1e-12)


def test_a_loop_that_would_keep_too_much_keeps_snapshots():
    f = power(trips=1000)
    xs = [np.array(1.001), np.array(1.0)]
    with checkpoints.room(1 << 10):
        small = vjp(f, keep=False)
    agree(run_numpy(small, xs), run_numpy(vjp(f, keep=False), xs), 1e-12)
    kept = [v.type.size for e in small.eqns for r in e.regions() for v in (*r.params, *(y for q in r.eqns for y in q.results))]
    assert max(kept) <= 128


def sourced(f):
    """`f` with this line as the source of its equations."""
    build = Builder(f.name)
    with build:
        env = {p: build.param(p.type) for p in f.params}
        for eqn in f.eqns:
            build.emit(eqn.op, [env[x] for x in eqn.operands], eqn.attrs, Source(sourced.__code__, 0))
    return build.finish(build.eqns[-1].results)


def test_what_has_an_effect_and_no_bound_has_no_reverse(golden):
    with pytest.raises(UnboundedLoopError) as error:
        vjp(heard())
    golden("control/unbounded.txt", str(error.value))
    with pytest.raises(UnboundedLoopError, match=r"run time only, at test_control.py:\d+: each trip"):
        vjp(sourced(heard()))
    check = run_numpy(jvp(power(), keep=False), [np.array(3), np.array(1.1), np.array(1.0)])
    agree(check[0], 4 * 1.1**3, 1e-12)


# -- the body of an op on arrays; texts; errors -------------------------------------------------------


@every_program
def test_ops_on_arrays_run(name):
    f, operands = PROGRAMS[name]()
    (eqn,) = f.eqns
    env = dict(zip(f.params, operands))
    got = eqn.op(*[np.full(x.type.shape, x.value) if isinstance(x, Lit) else env[x] for x in eqn.operands], **eqn.attrs)
    for a, b in zip(got, run_numpy(f, operands), strict=True):
        agree(a, b, 1e-14)


def test_source_reads_like_numpy(golden):
    golden("control/nested.py", emit(nested()[0]).rstrip())
    golden("control/newton_vjp.py", emit(dce(vjp(newton()[0]))).rstrip())
    golden("control/spread.py", emit(spread()[0]).rstrip())


def test_names_of_calls_do_not_hide_values():
    wave = func(lambda x: sin(x), "f64[]")

    def program(wave_, np_):
        (y,) = call(wave_, body=wave, name="np")
        (z,) = call(y, body=wave, name="len")
        return z * np_

    f = func(program, "f64[]", "f64[]")
    agree(run_numpy(f, [np.array(0.3), np.array(2.0)])[0], np.sin(np.sin(0.3)) * 2, 1e-15)


def test_calls_of_one_function_share_one_text():
    wave = func(lambda x: sin(x), "f64[]")
    f = func(lambda x: call(*call(x, body=wave, name="wave"), body=wave, name="wave"), "f64[]")
    assert emit(f).count("def wave(") == 1


BODY = func(lambda i, x: x, "i64[]", "f64[]")
WRONG = {
    "cond on floats": lambda x: cond(x, branches=(BODY,) * 2),
    "bool with three branches": lambda x: cond(lt(x, 0.0), x, branches=(func(lambda x: x, "f64[]"),) * 3),
    "branch of other operands": lambda x: cond(lt(x, 0.0), x, branches=(func(lambda x: x, "f64[2]"),) * 2),
    "branches of other results": lambda x: cond(lt(x, 0.0), x, branches=(func(lambda x: x, "f64[]"), func(lambda x: lt(x, 0.0), "f64[]"))),
    "trip count of floats": lambda x: loop(x, x, body=BODY, carried=1),
    "body without counter": lambda x: loop(x, body=func(lambda x: x, "f64[]"), carried=1, trips=2),
    "body changes type": lambda x: loop(x, body=func(lambda i, x: lt(x, 0.0), "i64[]", "f64[]"), carried=1, trips=2),
    "test gives a number": lambda x: loop(x, body=BODY, test=BODY, carried=1),
    "map of a scalar": lambda x: map_(x, body=func(lambda x: x, "f64[]"), mapped=(True,), size=3),
    "call of another function": lambda x: call(x, x, body=func(lambda x: x, "f64[]"), name="f"),
    "open region": lambda x: verify(region(lambda y: add(x, y), [x.type])),
}


def test_errors_say_what_is_wrong(golden):
    lines = []
    for name, wrong in WRONG.items():
        with pytest.raises(IRTypeError) as error:
            func(wrong, "f64[]")
        lines.append(f"{name}\n    {error.value}")
    golden("control/errors.txt", "\n".join(lines))


def test_every_region_op_is_here():
    assert {op.name for op in OPS.values() if "region" in op.traits} == {"apart", "cond", "loop", "map", "call", "host", "external"}
