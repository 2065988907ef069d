"""`math`, einops and opt_einsum on traced values, as they stand; the last two where they are installed."""

import math

import numpy as np
import pytest
from compare import check_same

from wengert import grad, jit

X = np.random.default_rng(2).normal(size=(2, 3, 4))
Y, Z = np.random.default_rng(3).normal(size=(4, 5)), np.random.default_rng(4).normal(size=(5, 2))

NUMBERS = {
    "erf": [(0.7,), (-2.5,), (math.inf,), (math.nan,), (np.float32(0.5),), (np.int64(1),)],
    "erfc": [(0.7,), (5.0,), (-math.inf,)],
    "lgamma": [(0.7,), (25.0,), (-1.5,), (0.0,), (-2.0,), (math.inf,), (np.int64(5),)],
    "gamma": [(0.7,), (5.0,), (-1.5,), (170.5,), (172.0,), (0.0,), (-2.0,), (math.inf,), (math.nan,)],
    "remainder": [(7.0, 2.0), (5.0, 2.0), (-7.5, 2.0), (1e300, 3.0), (0.3, 0.1), (1.0, math.inf), (-0.0, 1.0), (1.0, 0.0), (math.inf, 1.0)],
    "sin": [(math.inf,), (math.nan,)],
    "pow": [(0.0, -1.0), (-1.0, 0.5), (10.0, 400.0), (math.inf, 2.0), (2.0, math.nan)],
    "log": [(0.0,), (-1.0,), (math.inf,)],
    "nextafter": [(1.0, 2.0), (0.0, -1.0)],
    "modf": [(2.75,), (-2.75,), (-0.0,), (math.inf,), (math.nan,)],
    "gcd": [(np.int64(12), np.int64(18)), (np.int64(-12), 18), (np.int64(0), np.int64(0))],
    "lcm": [(np.int64(4), np.int64(6)), (np.int64(-4), 6), (np.int64(0), np.int64(3))],
}


@pytest.mark.parametrize("name, args", [(name, args) for name, rows in NUMBERS.items() for args in rows])
def test_math(name, args):
    check_same(lambda *a: getattr(math, name)(*a), *args)


def test_math_has_derivatives():
    slopes = (math.erf, 2 / math.sqrt(math.pi) * math.exp(-0.49)), (math.lgamma, -1.2200235536979349), (lambda x: math.remainder(x, 0.5), 1.0)
    for f, slope in slopes:
        assert grad(lambda x, f=f: f(x))(0.7) == pytest.approx(slope, rel=1e-12)
    assert grad(lambda x: math.gamma(x))(0.7) == pytest.approx(math.gamma(0.7) * -1.2200235536979349, rel=1e-10)


def agrees(f):
    check_same(f, X)
    leaves = lambda x: f(x) if isinstance(f(x), list | tuple) else [f(x)]
    loss = lambda x: sum(np.sum(np.sin(v)) for v in leaves(x))
    t, h = np.cos(X), 1e-4
    want = sum(w / (60 * h) * (loss(X + k * h * t) - loss(X - k * h * t)) for k, w in ((1, 45), (2, -9), (3, 1)))
    np.testing.assert_allclose((jit(grad(loss))(X) * t).sum(), want, rtol=1e-8)


EINOPS = {
    "rearrange": lambda e, x: e.rearrange(x, "a (b k) c -> k (a b) c", k=3),
    "list": lambda e, x: e.rearrange([x[0], x[1]], "a b c -> b a c"),
    **{how: lambda e, x, how=how: e.reduce(x, "a b c -> c a", how) for how in ("mean", "max", "min", "sum", "prod")},
    "kept": lambda e, x: e.reduce(x, "a (b two) c -> a two () c", "mean", two=1),
    "repeat": lambda e, x: e.repeat(x, "a b c -> a (b r) c", r=2),
    "einsum": lambda e, x: e.einsum(x, Y, "a b c, c d -> a b d"),
    "pack": lambda e, x: e.pack([x, x[:, 0]], "a * c")[0],
    "unpack": lambda e, x: e.unpack(x, [[1], [2]], "a * c"),
    "shape": lambda e, x: e.parse_shape(x, "a b c")["b"] * x,
}


@pytest.mark.parametrize("name", EINOPS)
def test_einops(name):
    einops = pytest.importorskip("einops")
    agrees(lambda x: EINOPS[name](einops, x))


CONTRACTIONS = {
    "chain": lambda oe, x: oe.contract("abc,cd,da->b", x, Y, Z),
    "greedy": lambda oe, x: oe.contract("abc,cd->abd", x, Y, optimize="greedy"),
    "alone": lambda oe, x: oe.contract("abc->ac", x),
    "batch": lambda oe, x: oe.contract("abc,abc,abd->bd", x, x, np.ones((2, 3, 4))),
    "expression": lambda oe, x: oe.contract_expression("abc,cd->abd", x.shape, Y.shape)(x, Y),
    "path": lambda oe, x: oe.contract("abc,cd,da->b", x, Y, Z, optimize=oe.contract_path("abc,cd,da->b", x, Y, Z)[0]),
    "numbered": lambda oe, x: oe.contract(x, [0, 1, 2], Y, [2, 3], [0, 1, 3]),
}


@pytest.mark.parametrize("name", CONTRACTIONS)
def test_opt_einsum(name):
    oe = pytest.importorskip("opt_einsum")
    agrees(lambda x: CONTRACTIONS[name](oe, x))
