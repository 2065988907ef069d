"""Loops over rows that are made in parts, in each of which it is known how comparisons of the index go."""

import importlib.util
import re

import numpy as np
import pytest
import random_extents
from compare import agree
from draws import function, on, splitting

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.native import legal
from wengert.tracer.call import shared

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")


def levinson(r):
    y, alpha, beta = np.zeros_like(r), -r[0], 1.0
    y[0] = -r[0]
    for k in range(1, len(r)):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def framed(x, w):
    out = np.zeros_like(x)
    for k in range(3, len(x) - 5):
        out[k - 3 : k + 4] += x[k - 3 : k + 4] * w
        out[k:] *= 1.01
    return out


def forget():
    """Emit nests anew, though they are known."""
    shared.forget_shared()
    legal.made.cache_clear()
    legal.emitted.cache_clear()


def emitted(f, *args):
    """The text of the longest nest that a gradient becomes, compiled as NumPy."""
    forget()
    with native.compiled_quickly() as quick:
        jit(grad(lambda *a: (f(*a) ** 2).sum()), engine="numpy", cache=False)(*args)
    return max((code.text[: code.text.index("@execute")] for code in quick), key=len)


def test_nothing_is_clamped_within_the_parts():
    text = emitted(levinson, np.linspace(0.1, 0.4, 90))
    with splitting(10**9):
        whole = emitted(levinson, np.linspace(0.1, 0.4, 90))
    assert text.count(" = phi i64") > whole.count(" = phi i64") + 3  # more loops
    asked = re.compile(r"icmp ult i64 %v\d+, 90\b")  # whether an index is within the row
    assert asked.search(whole) and not asked.search(text)


@pytest.mark.parametrize("n", [1, 2, 3, 12, 31, 32, 33, 67])
def test_rows_of_any_length(n):
    r = np.random.default_rng(n).random(n) * 0.1
    w, x = np.arange(7) * 0.1, np.random.default_rng(1).random(n + 9)
    loss = lambda r: (levinson(r) * np.arange(1.0, len(r) + 1)).sum()
    with splitting(1):
        agree(jit(levinson)(r), levinson(r), 1e-12)
        agree(jit(framed)(x, w), framed(x, w), 1e-12)
    whole, split = (found(loss, r, least) for least in (10**9, 1))
    agree(split, whole, 1e-11)
    whole, split = (found(loss, r, least, exact=True) for least in (10**9, 1))
    agree(split, whole, 0)
    if n > 2:
        step = 1e-6 * np.cos(np.arange(n))
        np.testing.assert_allclose(split @ step, (loss(r + step) - loss(r - step)) / 2, rtol=1e-6)


def found(loss, x, least, **options):
    """The gradient in nests of which rows of so many elements are split."""
    forget()
    with splitting(least):
        return jit(grad(loss), engine="numpy", cache=False, **options)(x)


@pytest.mark.parametrize("engine", ["quick", "native"])
@pytest.mark.parametrize("seed", range(8))
def test_random_parts(engine, seed):
    with on(engine):
        said = random_extents.outcome(9200 + seed)
    assert said == "agree" or said.startswith(("refused", "explained")), said


@pytest.mark.parametrize("seed", range(12))
def test_random_gradients_of_parts(seed):
    """Of a program whose rows are split, and whose rows are not."""
    f = function(random_extents.Program(7000 + seed).text, f"parts {seed}")
    y, others = random_extents.arguments(seed)[1], list(random_extents.arguments(seed))

    def loss(y):
        made = f(*[np.copy(y) if n == 1 else np.copy(x) if isinstance(x, np.ndarray) else x for n, x in enumerate(others)])
        return sum(np.sum(part * 0.5) for part in made)

    results = []
    for least in (10**9, 1):
        try:
            with np.errstate(all="ignore"):
                results.append(found(loss, y, least))
        except Exception as error:
            results.append(type(error).__name__)
    if isinstance(results[0], str):
        assert results[0] == results[1]
    else:
        agree(results[1], results[0], 1e-9)
