"""Forms that run elsewhere than on CPUs compute the same: they are plain XLA, so they run here too."""

import jax
import numpy as np
import pytest
from op_cases import EVERY_OP, LOOSER, ULPS, close, draw, func_of

from wengert import jit
from wengert.backends import target
from wengert.backends.xla import lower
from wengert.ir.ops import OPS


class Asked:
    """Says that programs are for a graphics card, and counts how often it was asked."""

    count = 0

    @property
    def platform(self):
        self.count += 1
        return "gpu"

    @platform.setter
    def platform(self, given):
        """Whatever is asked for, it stays."""


@pytest.fixture
def elsewhere(monkeypatch):
    monkeypatch.setattr(target, "TARGET", asked := Asked())
    return asked


def on_jax(*runs):
    """The results of each (func, operands), all as one program."""
    program = jax.jit(lambda *given: [lower(func, xs) for (func, _), xs in zip(runs, given, strict=True)])
    with jax.enable_x64(True):
        return [[np.asarray(x) for x in results] for results in program(*(xs for _, xs in runs))]


def has_forms(func, operands, asked):
    """Whether the lowering of a function asks for the platform."""
    before = asked.count
    with jax.enable_x64(True):
        jax.make_jaxpr(lambda *xs: lower(func, xs))(*operands)
    return asked.count > before


@EVERY_OP
def test_ops_have_the_same_values_in_the_forms_of_other_platforms(op, elsewhere):
    drawn = [draw(op, c)[:2] for c in op.cases]
    runs = [(func_of(op, operands, attrs), operands, attrs) for operands, attrs in drawn]
    runs = [run for run in runs if has_forms(*run[:2], elsewhere)]
    for (_, operands, attrs), got in zip(runs, on_jax(*(run[:2] for run in runs)) if runs else (), strict=True):
        if callable(op.check):
            op.check(operands, got, **attrs)
            continue
        with np.errstate(all="ignore"):
            want = op.body(*operands, **attrs)
            for a, b in zip(got, want if op.multiple else (want,), strict=True):
                close(a, np.asarray(b), LOOSER.get(op.name, ULPS))


def test_other_forms_are_met(elsewhere):
    """Were no op asked for its platform, the test above would compare nothing."""
    op = OPS["conv_general"]
    operands, attrs, _ = draw(op, op.cases[-1])
    assert has_forms(func_of(op, operands, attrs), operands, elsewhere)


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.uint64])
def test_convolutions_of_integers_are_exact(dtype, elsewhere):
    """cuDNN has none of integers; wrapped sums are those of NumPy."""
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    x, w = (rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True) for n in (50, 7))
    for f in (np.convolve, np.correlate):
        for mode in ("full", "same", "valid"):
            made = jit(lambda x, w: f(x, w, mode))  # noqa: B023
            ((got,),) = on_jax((made.ir(x, w), [x, w]))
            assert got.dtype == f(x, w, mode).dtype
            np.testing.assert_array_equal(got, f(x, w, mode))


def test_every_case_of_a_convolution_in_integers(elsewhere):
    op, rng, runs, wanted = OPS["conv_general"], np.random.default_rng(1), [], []
    for c in op.cases:
        operands, attrs, _ = draw(op, c)
        given = [rng.integers(-(2**40), 2**40, x.shape) for x in operands]
        runs.append((func_of(op, given, attrs), given))
        wanted.append(op.body(*given, **attrs))
    for (got,), want in zip(on_jax(*runs), wanted, strict=True):
        np.testing.assert_array_equal(got, want)
