"""Sizes as expressions: their arithmetic, text, and the expression that sizes of several samples are."""

import itertools
import random

import pytest

from wengert.ir import dims
from wengert.ir.dims import Dim, fit, parse_dim

N, M = Dim.symbol("n"), Dim.symbol("m")


def drawn(rng, depth=3):
    """-> (a Dim, the function of n and m that it is)."""
    if depth == 0 or rng.random() < 0.2:
        return rng.choice([(N, lambda n, m: n), (M, lambda n, m: m), (Dim.of(3), lambda n, m: 3)])
    (a, f), (b, g) = drawn(rng, depth - 1), drawn(rng, depth - 1)
    k = rng.choice([2, 3, 4, 7])
    return rng.choice(
        [
            (a + b, lambda n, m: f(n, m) + g(n, m)),
            (a - b, lambda n, m: f(n, m) - g(n, m)),
            (a * b, lambda n, m: f(n, m) * g(n, m)),
            (a // k, lambda n, m: f(n, m) // k),
            (a % k, lambda n, m: f(n, m) % k),
            (5 - a, lambda n, m: 5 - f(n, m)),
        ]
    )


@pytest.mark.parametrize("seed", range(150))
def test_arithmetic_and_text_are_those_of_ints(seed):
    dim, function = drawn(random.Random(seed))
    again = Dim.of(parse_dim(str(dim)))
    for n, m in itertools.product((0, 1, 2, 5, 8, 37), (0, 3, 4, 64)):
        want = function(n, m)
        assert dim.at({"n": n, "m": m}) == want == again.at({"n": n, "m": m}) == eval(str(dim), {"n": n, "m": m})


@pytest.mark.parametrize(
    "text", ["n", "2*n + 1", "n*n", "m*n + n - 3", "n//4", "2*(n//4) + 1", "(n*n - n)//2", "-n + 7", "12"]
)
def test_text_is_read_as_it_is_written(text):
    assert str(parse_dim(text)) == text


@pytest.mark.parametrize("text", ["n+", "n/2", "n**2", "f(n)", "n//m", "1.5", "n//0", ""])
def test_other_texts_are_refused(text):
    with pytest.raises(ValueError, match="is no size"):
        parse_dim(text)


SAMPLES = [{"n": n, "m": m} for n, m in [(37, 5), (38, 11), (74, 6), (101, 17), (45, 23), (64, 9), (51, 8), (79, 13)]]
FORMS = ["n", "m", "n + 1", "3*n - 2", "n + m", "2*n - m + 4", "n*n", "n*m", "n*n + n", "n*n - n", "8*n*m", "n//2",
         "(n + 1)//2", "n - n//4", "(n*n - n)//2", "n*m + n", "7"]  # fmt: skip


@pytest.mark.parametrize("text", FORMS)
def test_sizes_of_samples_are_found_again(text):
    dim = Dim.of(parse_dim(text))
    found = Dim.of(fit([dim.at(s) for s in SAMPLES], SAMPLES))
    for n, m in itertools.product((2, 8, 39, 100, 512), (3, 64)):
        assert found.at({"n": n, "m": m}) == dim.at({"n": n, "m": m})


@pytest.mark.parametrize("text", ["n//4", "n - 2*(n//4)", "(n + 1)//8"])
def test_samples_that_leave_several_whole_divisions_tell_none(text):
    """No sample is 3 modulo 4: there n//4 is (n + 1)//4."""
    dim, few = Dim.of(parse_dim(text)), SAMPLES[:6]
    assert fit([dim.at(s) for s in few], few) is None


def test_what_no_expression_tells_is_not_found():
    assert fit([3, 1, 4, 1, 5, 9], SAMPLES[:6]) is None
    assert fit([min(s["n"], 40) for s in SAMPLES], SAMPLES) is None
    assert fit([s["n"] % 7 for s in SAMPLES[:5]], SAMPLES[:5]) is None  # and n - 7*((n + 1)//8) - 7, at more samples than these
    assert fit([37, 38], SAMPLES[:2]) is None  # two samples tell no line from others
    assert fit([5, 6, 7], [{"n": 1}, {"n": 1}, {"n": 1}]) is None


@pytest.mark.parametrize("text", ["n//2", "n - n//4", "3*n + 2*((n + 1)//3)", "n*n//3"])
def test_few_whole_divisions_are_solved_in_fractions(text, monkeypatch):
    """Those that ints rule out are not, which is nearly all; and what is found is the same."""
    samples = [{"n": n} for n in (4163, 308, 4946, 3835, 9921, 3981, 190, 77, 512)]
    values = [eval(text, dict(s)) for s in samples]
    solved, count = dims._solved, []
    monkeypatch.setattr(dims, "_solved", lambda *args: count.append(1) or solved(*args))
    found = fit(values, samples)
    assert len(count) < 16
    monkeypatch.setattr(dims, "_in_line", lambda *columns: True)
    assert found == fit(values, samples) and len(count) > 100
