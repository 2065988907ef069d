"""What crosses from a program to its way back: exact minimum cuts, and texts of halves."""

import itertools
import random

from wengert.autodiff.split import halves
from wengert.ir.mincut import lightest
from wengert.ir.text import parse, show


def drawn(seed):
    """(what is needed, prices, what each value is computed from): a random program of nine values."""
    rng = random.Random(seed)
    sources = {k: sorted(rng.sample(range(k), min(k, rng.choice((1, 2, 2, 3))))) if k > 1 and rng.random() < 0.8 else None for k in range(9)}
    return {k for k in range(9) if rng.random() < 0.4}, {k: rng.choice((0, 1, 1, 2, 3, 5, 8)) for k in range(9)}, sources


def known(kept, prices, sources):
    """All values at hand where `kept` are: operands come before what is computed from them."""
    found = {k for k in prices if k in kept or not prices[k]}
    for k, xs in sources.items():
        if xs is not None and found.issuperset(xs):
            found.add(k)
    return found


def test_no_set_of_values_to_keep_is_lighter():
    for seed in range(60):
        needed, prices, sources = drawn(seed)
        kept, again = lightest(needed, prices.get, sources.get)
        assert known(kept, prices, sources) >= needed | again and all(sources[k] is not None for k in again)
        choices = itertools.chain.from_iterable(itertools.combinations(prices, n) for n in range(len(prices) + 1))
        least = min(sum(prices[k] for k in choice) for choice in choices if known(set(choice), prices, sources) >= needed)
        assert sum(prices[k] for k in kept) == least, f"seed {seed}"


def test_of_equal_prices_the_later_value_is_kept():
    assert lightest({3}, {0: 2, 1: 2, 2: 2, 3: 4}.get, {0: None, 1: [0], 2: [1], 3: [2]}.get) == ({2}, {3})


SHARED = """
func f(%x: f64[9], %y: f64[9], %g: f64[9]) -> f64[9], f64[9], f64[9] {
  %p = sin %x     : f64[9]
  %q = exp %y     : f64[9]
  %a = add %p, %q : f64[9]
  %b = mul %p, %q : f64[9]
  %c = sub %p, %q : f64[9]
  %z = mul %a, %b : f64[9]
  %1 = mul %g, %a : f64[9]
  %2 = mul %g, %b : f64[9]
  %3 = mul %g, %c : f64[9]
  %4 = add %2, %3 : f64[9]
  return %z, %1, %4
}
"""
NARROW = """
func f(%x: f32[9], %y: f64[9], %g: f64[9]) -> f64[], f64[9], f64[9] {
  %s = sin %x                 : f32[9]
  %t = mul %s, 2.0            : f32[9]
  %w = cast %t dtype=f64      : f64[9]
  %v = mul %w, %y             : f64[9]
  %u = sub %w, 1.0            : f64[9]
  %e = exp %u                 : f64[9]
  %z = reduce_sum %e axes=[0] : f64[]
  %1 = mul %g, %e             : f64[9]
  %2 = mul %1, %v             : f64[9]
  %3 = mul %g, %u             : f64[9]
  %4 = mul %3, %w             : f64[9]
  return %z, %2, %4
}
"""


def test_halves(golden):
    """Of three values that come from two, the two are kept; a value is kept in its narrowest form, an expensive one as it is."""
    for name, text in (("shared", SHARED), ("narrow", NARROW)):
        golden(f"split/{name}.ir", "\n".join(map(show, halves(parse(text), 2, 1))))
