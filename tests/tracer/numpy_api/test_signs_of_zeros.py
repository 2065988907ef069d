"""Which zero it is: 0.0 and -0.0 as in Python and NumPy, on all engines; `random_zeros.py` draws more."""

import numpy as np
import pytest
from draws import on
from random_exact import same_bits

from wengert import grad, jit

NUMBERS = {
    "0 - x": lambda x: 0 - x, "x + 0": lambda x: x + 0, "0.0 + x": lambda x: 0.0 + x, "x - -0.0": lambda x: x - -0.0,
    "-(x - 1)": lambda x: -(x - 1),
    "-(x + 0)": lambda x: -(x + 0), "sum": lambda x: sum([x, x]), "sum of one": lambda x: sum([x]), "sum from -0.0": lambda x: sum([x, x], -0.0),
    "sum of a generator": lambda x: sum(x for _ in range(30)), "root": lambda x: abs(x) ** 0.5 * 1 if x < 0 else x**0.5,
    "-2x - 2y": lambda x: -2 * x + -2 * -x, "x + 0j": lambda x: x + 0j, "0j - x": lambda x: 0j - x, "times 1+0j": lambda x: complex(x, -x) * 1,
    "over 1": lambda x: complex(x, -x) / 1, "over -2": lambda x: complex(x, -x) / -2, "exp - 1": lambda x: np.exp(x * 0) - 1,
    "log": lambda x: np.log(1 + x * 0),
    "floor": lambda x: x // -2, "remainder": lambda x: x % -2,
}  # fmt: skip
ARRAYS = {
    "sum": np.sum, "sum of one row": lambda x: np.sum(x[None], axis=0), "sum of opposites": lambda x: np.sum(-x),
    "sum of many": lambda x: np.sum(-2 * x),
    "mean": np.mean, "cumsum": np.cumsum, "sum of nothing": lambda x: np.sum(x, axis=()), "from -0.0": lambda x: np.sum(x, initial=-0.0),
    "sum from -0.0": lambda x: sum(x, -0.0), "clip": lambda x: np.clip(x, -0.0, 1), "clip at 0.0": lambda x: np.clip(x, 0, 1),
    "x + 0": lambda x: x + 0,
    "chosen": lambda x: np.where(x > 0, x, 0.0) + np.where(x > 0, 0.0, x), "x + chosen": lambda x: x + np.where(x > 0, x, 0.0),
    "einsum": lambda x: np.einsum("i,j->ij", x, x), "sum of repeats": lambda x: np.sum(np.broadcast_to(x, (4, *x.shape)), axis=0),
}  # fmt: skip
ENGINES = ["straight", "native", "xla"]


@pytest.mark.parametrize("engine", ENGINES)
def test_of_numbers(engine):
    with on(engine):
        for name, f in NUMBERS.items():
            compiled = jit(f)
            for x in (0.0, -0.0, 1.0):
                for kind in (float, np.float64, np.float32):
                    assert same_bits(compiled(kind(x)), f(kind(x))), (name, x, kind)


@pytest.mark.parametrize("engine", ENGINES)
def test_of_arrays(engine):
    with on(engine):
        for name, f in ARRAYS.items():
            compiled = jit(f)
            for x in ([-0.0], [-0.0, 0.0], [-0.0] * 3, [1.0, -1.0], [-0.0] * 40):
                for dtype in ("f8", "f4"):
                    assert same_bits(compiled(np.array(x, dtype)), f(np.array(x, dtype))), (name, x, dtype)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_loops(engine):
    def f(x):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = 0 - (x[i] + 0) + (-2 * x[i] + -2 * x[i - 1]) * 0
        return out

    with on(engine):
        x = np.array([0.0, -0.0, 1.0, -1.0, 0.0])
        assert same_bits(jit(f)(x), f(x)) and same_bits(jit(f)(-x), f(-x))


def test_what_the_user_adds_stays_and_what_derivatives_add_goes():
    assert "add %x, 0.0" in str(jit(lambda x: x + 0.0).ir(np.ones(3)))
    assert " add " not in str(jit(grad(lambda x: np.sum(x) + 0 * x[0])).ir(np.ones(3)))
