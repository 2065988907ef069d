"""Loops as kernels of a GPU: their values, by threads of the CPU that run the same LLVM IR (`tests/helpers/blocks.py`),
what is proved of their trips, their PTX, and the program that calls them. There is no GPU."""

import types

import jax
import numpy as np
import pytest
from blocks import launch, with_kernels
from random_nests import alike, in_waves_too, outcome

from wengert import jit
from wengert.backends import gpu
from wengert.backends.gpu import decision, proof, ptx
from wengert.backends.gpu import launch as launching
from wengert.backends.gpu.kernel import Kernel
from wengert.backends.native import asked
from wengert.backends.native.independent import FIRST, totals
from wengert.backends.native.values import NotNative
from wengert.backends.target import lowering_for
from wengert.backends.xla.dispatch import wide
from wengert.backends.xla.hlo_text import parse_module
from wengert.backends.xla.lower import lower
from wengert.ir.affine import Affine
from wengert.ir.core import Builder, Lit
from wengert.ir.exactness import exactly
from wengert.ir.ops import OPS
from wengert.ir.ops.control import COUNTER, evaluate, groups, loop
from wengert.ir.types import Tensor
from wengert.tracer.call import explain
from wengert.tracer.plan.analysis import nests_by_target

pytestmark = pytest.mark.skipif(ptx.refusal() is not None, reason=str(ptx.refusal()))

FORMS = ({"threads": 4}, {"threads": 1}, {"threads": 2, "form": "threads", "blocks": 3}, {"threads": 2, "form": "blocks", "blocks": 2})


class Card:
    platform = "gpu"


def only_loop(func):
    (eqn,) = [eqn for eqn in func.eqns if eqn.op is loop]
    return eqn


def known_totals(eqn):
    """What `totals` says of the outermost loop of a program."""
    known, body = Affine(), eqn.attrs["body"]
    limit, invariants, _ = groups(eqn.operands, **eqn.attrs)
    known.counter(body.params[0], limit[0] if limit else Lit(eqn.attrs["trips"], COUNTER))
    for p, x in zip(body.params[1:], invariants):
        known.same(p, x)
    return totals(known, body, eqn.attrs["carried"])


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(12))
def test_random_nests_give_what_numpy_gives(seed):
    for k in range(3):
        what, _ = outcome(100 * seed + k)
        assert "differs" not in what, what


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2400))
def test_more_random_nests(seed):
    what, _ = outcome(seed)
    assert "differs" not in what, what


def smooth(a, b):
    a, b = a.copy(), b.copy()
    for _ in range(20):
        b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a[1:-1, 1:-1] = b[1:-1, 1:-1] + 0.1 * b[2:, 2:]
    return a, b


def factor(a, b):
    a = a.copy()
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j] + 20.0
        for j in range(i, len(a)):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return (a,)


def shifted(a, b):
    a, x = a.copy(), b[0].copy()
    for i in range(30):
        x[1:] = x[:-1] * 0.5
        a[i % 6, :-1] = a[i % 6, 1:] + x[:-1]
        a[2] = np.where(a[1] > 0, a[2], x)
    return a, x


def extremes(a, b):
    out, at = np.zeros(40), np.zeros(40, int)
    for i in range(40):
        row = a * (i % 7 - 3) + b
        out[i], at[i] = row.max() + np.abs(row).sum(), row.ravel().argmin()
    return out, at


@pytest.mark.parametrize("f", [smooth, factor, shifted, extremes])
def test_rows_and_matrices_are_shared_out_among_threads(f):
    g = np.random.default_rng(0)
    a, b = g.normal(size=(9, 9)), g.normal(size=(9, 9))
    func, want = jit(f).ir(a, b), f(a, b)
    leaves = [a, b][: len(func.params)]
    assert all(map(alike, evaluate(func, leaves), want))
    for form in FORMS:
        got, ran = with_kernels(func, leaves, **form)
        assert all(map(alike, got, want)), form
        assert "form" in form or ran["kernel"]


def test_a_thread_sees_what_others_stored_before_a_barrier():
    """Without barriers one of sixteen threads would be too late, or too early, now and then."""
    g = np.random.default_rng(1)
    a, b = g.normal(size=(9, 9)), g.normal(size=(9, 9))
    func, want = jit(smooth).ir(a, b), smooth(a, b)
    for _ in range(3):
        got, _ = with_kernels(func, [a, b], threads=16)
        assert all(map(alike, got, want))


@pytest.mark.parametrize("unique, name", [(False, "scatter"), (True, "scatter"), (False, "scatter_add"), (True, "scatter_mul")])
@pytest.mark.parametrize("dtype", ["f8", "i4", "c16"])
def test_updates_of_a_scatter_are_made_at_once(name, unique, dtype):
    """Rows of a matrix, several of them at one place; indices out of the array are dropped."""
    g, d = np.random.default_rng(0), np.dtype(dtype)
    x, u = (g.integers(-9, 9, s).astype(d) for s in ((20, 3), (40, 3)))
    k = g.permutation(40)[:, None] if unique else g.integers(0, 25, (40, 1))
    dims = {"offset_dims": (1,), "collapsed": (0,), "start_index_map": (0,), "operand_batch": (), "indices_batch": ()}
    build, body = Builder("f"), Builder("body")
    with build:
        params = [build.param(Tensor(v.shape, v.dtype)) for v in (k, u, x)]
        with body:
            _, ks, us, xs = (body.param(t) for t in (COUNTER, *(p.type for p in params)))
            out = body.emit(OPS[name], (xs, ks, us), {"mode": "drop", "unique": unique, **dims})
        attrs = {"body": body.finish((out,)), "test": None, "trips": 2, "carried": 1, "bound": None}
        func = build.finish(build.emit(loop, params, attrs))
    want = evaluate(func, [k, u, x])
    for threads in (8, 1):
        got, ran = with_kernels(func, [k, u, x], threads=threads)
        assert ran["kernel"] or name == "scatter_add" and d.kind == "c" and threads > 1
        assert alike(got[0], want[0])
    with exactly(True):
        got, ran = with_kernels(func, [k, u, x], exact=True, threads=8)
        assert alike(got[0], want[0])


# -- trips that do not hang together ---------------------------------------------------------------


def rows(a, b):
    a = a.copy()
    for i in range(8, 0, -1):
        for j in range(1, 9):
            a[i - 1, j] = a[i - 1, j - 1] * 0.5 + b[i, j] * a[i - 1, 8]
    return (a,)


def neighbours(a, b):
    a = a.copy()
    for i in range(8):
        a[i, 0] = a[i + 1, 0] + b[i, 0]
    return (a,)


def columns(a, b):
    a, s = a.copy(), 1.0
    for j in range(9):
        a[2, j] = a[5, j] * 2 + b[j, 0]
        s = s + a[5, j] * b[0, j]
    return a, np.float64(s)


@pytest.mark.parametrize("f, found", [(rows, {}), (neighbours, None), (columns, {0: OPS["reduce_sum"]})])
def test_which_trips_hang_together(f, found):
    g = np.random.default_rng(0)
    a, b = g.normal(size=(9, 9)), g.normal(size=(9, 9))
    func = jit(f).ir(a, b)
    told = known_totals(only_loop(func))
    assert (None if told is None else list(told.values())) == (None if found is None else list(found.values()))
    for form in FORMS:
        got, ran = with_kernels(func, [a, b], **form)
        assert all(map(alike, got, f(a, b))), form
        assert bool(ran["kernel"]) == (found is not None or form.get("form") is None)


def test_an_index_that_would_be_clamped_is_another_trips_too():
    """x[i + 3] of six: the last trips store into one place, in order."""

    def stored(x, shift):
        def trip(i, x):
            one = OPS["reshape"](OPS["cast"](i, dtype=np.dtype("f8")), shape=(1,))
            return (OPS["dynamic_update_slice"](x, one, OPS["add"](i, Lit(shift, COUNTER))),)

        build = Builder("f")
        with build:
            p = build.param(x)
            body = Builder("body")
            with body:
                params = [body.param(COUNTER), body.param(x)]
                out = trip(*params)
            attrs = {"body": body.finish(out), "test": None, "trips": 6, "carried": 1, "bound": None}
            results = build.emit(loop, (p,), attrs)
        return build.finish(results)

    x = jit(lambda x: x).ir(np.zeros(6)).params[0].type
    assert known_totals(only_loop(stored(x, 0))) == {}
    assert known_totals(only_loop(stored(x, 3))) is None
    for shift, want in ((0, [0, 1, 2, 3, 4, 5]), (3, [0, 0, 0, 0, 1, 5])):
        for form in FORMS[:2]:
            got, ran = with_kernels(stored(x, shift), [np.zeros(6)], **form)
            assert got[0].tolist() == want and ran["kernel"]


def test_a_status_on_which_something_else_hangs_is_no_first_one():
    """Trips behind a failure store something else."""
    build, body = Builder("f"), Builder("body")
    with build:
        p, x = build.param(COUNTER), build.param(jit(lambda x: x).ir(np.zeros(6)).params[0].type)
        with body:
            i, q, y = body.param(COUNTER), body.param(COUNTER), body.param(x.type)
            free = OPS["eq"](q, Lit(0, COUNTER))
            r = OPS["select"](OPS["and"](OPS["ge"](i, Lit(2, COUNTER)), free), OPS["add"](i, Lit(1, COUNTER)), q)
            one = OPS["reshape"](OPS["cast"](free, dtype=np.dtype("f8")), shape=(1,))
            out = r, OPS["dynamic_update_slice"](y, one, i)
        attrs = {"body": body.finish(out), "test": None, "trips": 6, "carried": 2, "bound": None}
        func = build.finish(build.emit(loop, (p, x), attrs))
    assert known_totals(only_loop(func)) is None
    for form in FORMS:
        got, _ = with_kernels(func, [np.int64(0), np.zeros(6)], **form)
        assert got[0] == 3 and got[1].tolist() == [1, 1, 1, 0, 0, 0]


def looked_up(table, k):
    out = np.zeros(len(k))
    for i in range(len(k)):
        out[i] = table[k[i]] * 2.0
    return out


def test_the_first_check_that_fails_is_the_one_that_is_told():
    table, k = np.arange(5.0), np.array([0, 3, -2, 1] * 4)
    func = jit(looked_up).ir(table, k)
    assert FIRST in known_totals(only_loop(func)).values()
    for places in ([], [5], [14, 6, 9], [0, 15]):
        bad = k.copy()
        bad[places] = [-6 - n for n in range(len(places))]
        want = evaluate(func, [table, bad])
        for form in FORMS:
            got, ran = with_kernels(func, [table, bad], **form)
            assert ran["kernel"] and all(map(alike, got, want)), (places, form)
    assert any(np.any(np.asarray(w) != 0) for w in want if np.asarray(w).shape == ())


def test_sums_of_exact_programs_keep_their_order():
    def sums(x):
        out = np.zeros(3)
        for i in range(3):
            out[i] = (x * (i + 1.5)).sum()
        return out

    def adds(x):
        s = 0.0
        for i in range(len(x)):
            s = s + x[i]
        return s

    x = np.random.default_rng(0).normal(size=1000) * 10.0 ** np.arange(1000).clip(0, 12)
    for f in (sums, adds):
        func = jit(f, exact=True).ir(x)
        with exactly(True):
            plain, _ = with_kernels(func, [x], exact=True, threads=1)
            shared, _ = with_kernels(func, [x], exact=True, threads=8)
        assert np.array_equal(plain[0], shared[0])


# -- waves -----------------------------------------------------------------------------------------


def seidel(a, b):
    a = a.copy()
    for _ in range(3):
        for i in range(1, len(a) - 1):
            a[i, 1:-1] += a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:] + a[i + 1, :-2] + a[i + 1, 2:]
            for j in range(1, len(a) - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return (a,)


def align(a, b):
    a = a.copy()
    for i in range(1, len(a)):
        for j in range(1, a.shape[1]):
            same = 1.0 if b[0, i] > b[1, j] else -1.0
            a[i, j] = max(a[i - 1, j - 1] + same, a[i - 1, j] - 0.5, a[i, j - 1] - 0.5)
    return (a,)


def folded(a, b):
    a, n = a.copy(), len(a)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            a[i, j] = max(a[i, j], a[i, j - 1])
            if i + 1 < n:
                a[i, j] = max(a[i, j], a[i + 1, j])
            for k in range(i + 1, j):
                a[i, j] = max(a[i, j], a[i, k] + a[k + 1, j] * 0.5)
    return (a,)


def upwards(a, b):
    a = a.copy()
    for i in range(7, 0, -1):
        for j in range(8, 1, -1):
            a[i, j] = a[i + 1, j] * 0.5 + a[i, j - 1] + a[i - 1, j] * b[i, j]
    return (a,)


@pytest.mark.parametrize("f", [seidel, align, folded, upwards])
def test_loops_of_two_counters_run_in_waves(f):
    g = np.random.default_rng(0)
    a, b = g.normal(size=(9, 9)), g.normal(size=(9, 9))
    func = jit(f).ir(a, b)
    waves, leaves = in_waves_too(func), [a, b][: len(func.params)]
    assert len(waves) == 1
    (eqn,) = waves
    attrs, sure = waves[eqn]
    kernel = Kernel(loop, [x.type for x in eqn.operands], attrs, False, 4, sure=sure)
    assert kernel.code.widest > 4  # the cells of a wave are shared out
    for threads in (1, 2, 8):
        got, _ = with_kernels(func, leaves, waves=waves, threads=threads)
        assert all(map(alike, got, f(a, b))), threads


def far(a, b):
    a = a.copy()
    for i in range(1, 9):
        for j in range(0, 3):
            a[i, j] = a[i - 1, j + 6] + a[i, j]
            a[i, j + 6] = a[i, j] * 0.5
    return (a,)


def transposed(a, b):
    a = a.copy()
    for i in range(1, 9):
        for j in range(1, 9):
            a[i, j] = a[j, i] + a[i - 1, j]
    return (a,)


def overwritten(a, b):
    a = a.copy()
    for i in range(1, 8):
        a[i, 1:9] = a[i - 1, 0:8] * 0.5 + a[i, 0:8]
        for j in range(0, 8):
            a[i, j] = a[i, j + 1] * 0.5
    return (a,)


def wrapped(a, b):
    a = a.copy()
    for i in range(8):
        for j in range(i % 5, 9):
            a[i, j] = max(b[0, j], a[i + 1, j]) * 0.5
    return (a,)


@pytest.mark.parametrize("f", [far, transposed, overwritten, wrapped])
def test_what_no_wave_keeps_in_order_is_left_as_it_is(f):
    g = np.random.default_rng(0)
    a, b = g.normal(size=(9, 9)), g.normal(size=(9, 9))
    func = jit(f).ir(a, b)
    leaves = [a, b][: len(func.params)]
    assert not in_waves_too(func)
    got, ran = with_kernels(func, leaves, threads=4)
    assert ran["kernel"] and all(map(alike, got, f(a, b)))


# -- PTX, and the program that calls it ------------------------------------------------------------


def test_a_kernel_is_ptx_that_rounds_each_operation():
    func = jit(smooth).ir(np.ones((9, 9)), np.ones((9, 9)))
    (found,) = [c for _, c, _ in gpu.kernel_forms(func)]
    assert f".entry {found.name}(" in found.text and ".target sm_70" in found.text
    assert "bar.sync" in found.text and "mul.rn.f64" in found.text and "fma." not in found.text
    assert found.kernel.threads == 64  # 49 elements
    assert found.seconds < found.through_xla and f"{found.launches:,} launches" in found.told()


def test_functions_of_the_c_library_want_libdevice(monkeypatch):
    def decay(x):
        x = x.copy()
        for i in range(1, 50):
            x[i] = np.exp(-x[i - 1]) * x[i]
        return x

    func = jit(decay).ir(np.ones(50))
    monkeypatch.setattr(ptx, "libdevice", lambda: None)
    decision.decided.cache_clear()
    (reason,) = [reason for _, found, reason in gpu.kernel_forms(func)]
    decision.decided.cache_clear()
    assert "libdevice" in reason


def test_rows_too_large_for_a_thread_are_the_blocks():
    """As many trips as elements of a row, which is needed as it was."""

    def turned(a):
        a = a.copy()
        for _ in range(5):
            for i in range(300):
                a[i] = (a[i] + a[i, ::-1]).cumsum()[::-1] + a[i, ::-1]
        return a

    a = np.random.default_rng(0).normal(size=(300, 300))
    func = jit(turned).ir(a)
    for _, found, reason in gpu.kernel_forms(func):
        assert found is not None or "room" not in reason


def test_large_bodies_are_left_to_xla():
    a = np.ones((1500, 1500))
    ((_, found, reason),) = gpu.kernel_forms(jit(smooth).ir(a, a))
    assert found is None and "XLA's" in reason and "launches" in reason


def lowered_text(func, leaves, native=True):
    def run(*xs):
        with lowering_for(Card()), asked(... if native else None):
            return lower(func, xs)

    with wide():
        return jax.jit(run).trace(*map(np.asarray, leaves)).lower(lowering_platforms=("cuda",)).as_text()


def test_a_loop_is_one_call_in_a_program_for_a_gpu():
    a, b = np.ones((9, 9)), np.ones((9, 9))
    func = jit(seidel).ir(a, b)
    text = lowered_text(func, [a, b][: len(func.params)])
    assert text.count("@__gpu$xla.gpu.ptx") == 1 and "stablehlo.while" not in text
    assert "output_operand_aliases" in text or "output_operand_alias" in text
    (found,) = [c for _, c, _ in gpu.kernel_forms(func)]
    assert found.name in text and f"block_x = {found.kernel.threads} : i32" in text
    assert "@__gpu$xla.gpu.ptx" not in lowered_text(func, [a, b][: len(func.params)], native=False)


def test_programs_for_the_cpu_have_no_kernel():
    a = np.ones((9, 9))
    func = jit(seidel).ir(a, a)
    with wide():
        text = jax.jit(lambda *xs: lower(func, xs)).lower(*[a, a][: len(func.params)]).as_text()
    assert "ptx" not in text


def test_plans_and_explanations_say_what_became_of_a_loop():
    a = np.ones((9, 9))
    f = jit(seidel)
    func = f.ir(a, a)
    (found,) = [c for _, c, _ in gpu.kernel_forms(func)]
    ((name, (cost, _, places, told)),) = nests_by_target(func, True, Card()).items()
    assert name == found.name and told == f"3 trips: {found.told()}" and cost.flops > 0 and places
    assert nests_by_target(func, False, Card()) == {}
    call = f'custom_call_target="__gpu$xla.gpu.ptx", backend_config={{name = "{name}", kernel_type = "ptx"}}'
    module = parse_module(f"HloModule m\n\nENTRY %main (p: f64[4]) -> f64[4] {{\n  %p = f64[4]{{0}} parameter(0)\n"
                          f"  ROOT %k = f64[4]{{0}} custom-call(%p), {call}\n}}\n")  # fmt: skip
    assert module.computations[module.entry][-1].target == name
    version = types.SimpleNamespace(func=func, engine=None)
    (line,) = explain._loops(version, Card())
    assert "test_gpu_kernels.py" in line and line.endswith(found.told())
    big = np.ones((1500, 1500))
    (line,) = explain._loops(types.SimpleNamespace(func=jit(smooth).ir(big, big), engine=None), Card())
    assert "through XLA: one kernel would take" in line


def test_text_within_quotes():
    assert launching.escaped('a\tb"c\\\n') == "a\\09b\\22c\\5C\\0A"


def test_a_kernel_whose_block_must_be_one_is_no_other():
    func = jit(neighbours).ir(np.ones((9, 9)), np.ones((9, 9)))
    eqn = only_loop(func)
    types = [x.type for x in eqn.operands]
    with pytest.raises(NotNative, match="hang together"):
        Kernel(loop, types, eqn.attrs, False, 2, "blocks", 2)
    a = np.arange(81.0).reshape(9, 9)
    got = launch(Kernel(loop, types, eqn.attrs, False, 2), [a if t.shape == (9, 9) else 0 for t in types])
    assert got[0].shape == (9, 9)


# -- the proof on the card that is here ------------------------------------------------------------


def by_threads(choice, operands):
    return launch(choice.kernel, operands)


def test_a_card_that_computes_what_numpy_does_runs_kernels():
    tried = []
    assert proof.first_difference(lambda choice, operands: tried.append(choice.kernel.form) or by_threads(choice, operands)) is None
    assert {*tried} >= {"block", "threads"} and len(tried) >= 5


@pytest.mark.parametrize("wrong", ["result", "total", "swapped"])
def test_a_card_that_computes_otherwise_is_left_to_xla(wrong):
    def run(choice, operands):
        first, *rest = by_threads(choice, operands)
        if wrong == "swapped" and rest:
            return [*rest, first]
        place = first if wrong == "total" else rest[-1] if rest else first
        place.reshape(-1)[-1] += 0.001
        return [first, *rest]

    assert "computed other values than NumPy" in proof.first_difference(run)


class Drivers:
    """jax of a machine with a card, whose driver refuses kernels."""

    def devices(self, platform):
        return [f"{platform}:0"]


def test_a_driver_that_refuses_a_kernel_is_said_once_and_no_kernel_is_chosen(monkeypatch, caplog):
    def refuse(device, choice, operands):
        raise RuntimeError("CUDA_ERROR_INVALID_PTX")

    monkeypatch.setattr(proof, "jax", Drivers())
    monkeypatch.setattr(proof, "run_on", refuse)
    proof.refused_here.cache_clear()
    func = jit(smooth).ir(np.ones((9, 9)), np.ones((9, 9)))
    try:
        for _ in range(2):
            (found,) = gpu.kernel_forms(func)
            assert found[1] is None and "left to XLA" in found[2] and "CUDA_ERROR_INVALID_PTX" in found[2]
    finally:
        proof.refused_here.cache_clear()
    assert len(caplog.records) == 1


def test_nothing_is_tried_where_there_is_no_card():
    assert proof.refused_here() is None
