"""Generated from the registry; names no op. Types, text, NumPy, XLA, both derivative modes, batching.

Tolerances stand here once: derivatives agree with finite differences to 1e-6 relative in float64 (less
where a value on the way is single or half, `PRECISION`), XLA agrees with NumPy to `ULPS` units in the last
place of the result's largest magnitude per array (table below for the few ops whose algorithms differ).
"""

import contextlib

import jax
import numpy as np
import pytest
from op_cases import EVERY_OP, LOOSER, ULPS, close, draw, func_of

from wengert.autodiff import BATCH, DERIVATIVE, batch, jvp, vjp
from wengert.backends.numpy import callable_of
from wengert.backends.xla import XLA, lower
from wengert.ir.core import Func
from wengert.ir.ops import OPS
from wengert.ir.text import parse, show
from wengert.ir.types import type_of
from wengert.ir.verify import verify

PRECISION = ((3e-16, 1e-3, 1e-6), (1e-6, 3e-2, 1e-4), (1e-3, 1e-1, 5e-2))  # coarsest eps on the way -> step and bound of finite differences

CASES = [pytest.param(op, c, id=f"{op.name}{c!r}") for op in OPS.values() for c in op.cases]


@contextlib.contextmanager
def about(c):
    """What fails inside says which case of the op it is about."""
    try:
        yield
    except Exception as error:
        error.add_note(f"This is case {c!r}.")
        raise


def run_numpy(func, operands):
    with np.errstate(all="ignore"):
        return [np.asarray(r) for r in callable_of(func)(*operands)]


def run_xla(runs, **options):
    """The results of many (case, func, operands), as one program: what each costs is the start of a compilation."""

    def lowered(c, func, operands):
        with about(c):
            return lower(func, operands)

    cases, funcs, arguments = zip(*runs, strict=True)
    with jax.enable_x64(True):
        program = jax.jit(lambda *arguments: [lowered(*run) for run in zip(cases, funcs, arguments)]).lower(*arguments)
        found = program.compile(compiler_options=options or None)(*arguments)
    return [[np.asarray(r) for r in results] for results in found]


@pytest.mark.parametrize("table", [DERIVATIVE, BATCH, XLA], ids=lambda t: t.name)
def test_tables_are_total(table):
    assert table.missing() == []


def test_every_op_has_cases_and_documentation():
    assert [op.name for op in OPS.values() if not op.cases or not op.doc] == []


@pytest.mark.parametrize("op, c", CASES)
def test_type_rule_is_numpys(op, c):
    operands, attrs, _ = draw(op, c)
    func = func_of(op, operands, attrs)
    assert list(func.result_types) == [type_of(r) for r in run_numpy(func, operands)]


@pytest.mark.parametrize("op, c", CASES)
def test_text_round_trip(op, c):
    operands, attrs, _ = draw(op, c)
    text = show(func_of(op, operands, attrs))
    if "<" not in text:  # an attribute without text, such as a host callback
        assert show(parse(text)) == text


@EVERY_OP
def test_xla_is_numpy(op):
    drawn = [draw(op, c)[:2] for c in op.cases]
    runs = [(c, func_of(op, operands, attrs), operands) for c, (operands, attrs) in zip(op.cases, drawn)]
    for (c, func, operands), (_, attrs), got in zip(runs, drawn, run_xla(runs), strict=True):
        with about(c):
            want = run_numpy(func, operands)
            assert [type_of(r) for r in got] == [type_of(r) for r in want]
            if callable(op.check):
                op.check(operands, want, **attrs)
                op.check(operands, got, **attrs)
                continue
            for a, b in zip(got, want, strict=True):
                close(a, b, LOOSER.get(op.name, ULPS))


def smooth(operands):
    return [i for i, x in enumerate(operands) if x.dtype in (np.float64, np.complex128)]


def directions(rng, operands, indices):
    out = {}
    for i in indices:
        x = operands[i]
        t = rng.standard_normal(x.shape)
        out[i] = t + 1j * rng.standard_normal(x.shape) if x.dtype.kind == "c" else np.asarray(t)
    return out


def precision(func):
    """(step, bound) of finite differences: rounding is divided by the step, so coarser types on the way want a longer one."""
    types = [r.type for e in func.eqns for r in e.results if r.type.inexact]
    coarsest = max([np.finfo(t.dtype).eps for t in types], default=0.0)
    return next((h, bound) for eps, h, bound in PRECISION if coarsest <= eps)


def numeric(function, operands, tangents, h):
    """Directional derivative of `function` (a list of arrays), sixth-order central differences of step h."""
    total = None
    for k, weight in ((1, 45), (2, -9), (3, 1)):
        for sign in (1, -1):
            moved = [x + sign * k * h * tangents[i] if i in tangents else x for i, x in enumerate(operands)]
            term = [sign * weight / (60 * h) * np.asarray(r) if r.dtype.kind in "fc" else None for r in function(moved)]
            total = term if total is None else [None if a is None else a + b for a, b in zip(total, term)]
    return [t for t in total if t is not None]


def agree(a, b, bound, message):
    a, b = np.asarray(a), np.asarray(b)
    scale = max(np.max(np.abs(a), initial=0.0), np.max(np.abs(b), initial=0.0), 1.0)
    assert np.max(np.abs(a - b), initial=0.0) <= bound * scale, f"{message}\n{a}\n{b}"


def inner(gs, zs):
    return sum(np.sum(g * z).real for g, z in zip(gs, zs))


def inexact_results(func):
    return [i for i, r in enumerate(func.results) if r.type.inexact]


def check_first_order(func, operands, rng):
    """-> (the program of the gradient, its operands, its results, the bound of their error)"""
    wrt = smooth(operands)
    t = directions(rng, operands, wrt)
    h, bound = precision(func)
    want = numeric(lambda moved: run_numpy(func, moved), operands, t, h)
    got = run_numpy(verify(jvp(func, wrt, keep=False)), [*operands, *(t[i] for i in wrt)])
    for a, b in zip(got, want, strict=True):
        agree(a, b, bound, "jvp against finite differences")
    zs = run_numpy(func, operands)
    imaginary = lambda z: 1j * rng.standard_normal(z.shape) if z.dtype.kind == "c" else 0
    g = [np.asarray(rng.standard_normal(z.shape) + imaginary(z)).astype(z.dtype) for z in zs if z.dtype.kind in "fc"]
    backward = verify(vjp(func, wrt, keep=False))
    cts = run_numpy(backward, [*operands, *g])
    for i, ct in zip(wrt, cts):
        assert type_of(ct) == type_of(operands[i])
    agree(inner(cts, [t[i] for i in wrt]), inner(g, want), bound, "vjp against finite differences")
    return backward, [*operands, *g], cts, bound


def gradients(op):
    """[(order, (case, program, operands), its results, the bound of their error)]: right by finite differences, in both modes."""
    found = []
    for c in op.cases:
        operands, attrs, rng = draw(op, c)
        func = func_of(op, operands, attrs)
        if not smooth(operands) or not inexact_results(func):
            continue
        with about(c):
            for order in (1, 2) if not any(isinstance(v, Func) for v in attrs.values()) else (1,):
                func, operands, cts, bound = check_first_order(func, operands, rng)  # the gradient is a program like any other
                found.append((order, (f"{c!r} in order {order}", func, operands), cts, bound))
    return found


def check_xla(gradients):
    """Ops are compared on XLA as it compiles them for users; that these compositions of them lower at all can be seen of quick compilations."""
    _, runs, results, bounds = zip(*gradients, strict=True) if gradients else [()] * 4
    for (c, *_), cts, bound, got in zip(runs, results, bounds, run_xla(runs, xla_backend_optimization_level=0) if runs else (), strict=True):
        with about(c):
            for a, b in zip(got, cts, strict=True):
                agree(a, b, bound, "vjp on XLA against NumPy")


@EVERY_OP
def test_derivatives(op):
    check_xla([g for g in gradients(op) if g[0] == 1])


@pytest.mark.slow
@EVERY_OP
def test_second_derivatives_by_xla(op):
    check_xla([g for g in gradients(op) if g[0] == 2])


@pytest.mark.parametrize("op, c", CASES)
def test_batch_is_a_stack_of_singles(op, c):
    rng = np.random.default_rng(1)
    draws = [c.draw(op, rng) for _ in range(3)]
    attrs = draws[0][1]
    func = func_of(op, draws[0][0], attrs)
    n = len(func.params)
    patterns = {(True,) * n, *(tuple(i == j for i in range(n)) for j in range(n))} if n else ()
    for batched in patterns:
        operands = [np.stack([d[0][i] for d in draws]) if b else draws[0][0][i] for i, b in enumerate(batched)]
        got = run_numpy(verify(batch(func, batched, 3)), operands)
        for k in range(3):
            one = [x[k] if b else x for x, b in zip(operands, batched)]
            for a, b in zip([r[k] for r in got], run_numpy(func, one)):
                if callable(op.check):
                    op.check(one, [r[k] for r in got], **attrs)
                else:
                    close(np.asarray(a), b, 64)
