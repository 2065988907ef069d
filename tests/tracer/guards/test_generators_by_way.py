"""Random generators and seeds are what a call is given: one trace serves all, and each is left where NumPy leaves it."""

import copy
import dataclasses
import gc
import pickle
import random
import types

import numpy as np
import pytest
from collected import collect

from wengert import jit
from wengert.tracer.common.errors import WengertError
from wengert.tracer.guards.draw_sources import states


def walked(n, rng):
    x = 0.0
    for _ in range(n):
        x += rng.normal()
    return x


def pi(n, rng):
    p = rng.random((n, 2))
    return 4 * np.mean((p**2).sum(1) < 1)


def stepped(n, sim):
    for _ in range(n):
        sim.x += sim.rng.normal()
    sim.x += sim.rng.random()
    return sim.x


def held(n, given):
    return given["rng"].normal(size=n).sum() + given["more"][0].random()


def two(n, a, b):
    out = np.zeros(n)
    for k in range(n):
        out[k] = a.normal() - 2 * b.normal()
    return out


def two_at_once(n, a, b):
    return a.normal(size=n) - 2 * b.random(n) + a.normal()


def given_or_made(n, rng=None):
    rng = np.random.default_rng(7) if rng is None else rng
    return rng.normal(size=n)


def scaled(scales, rng):
    out = 0.0
    for s in scales:
        out += rng.normal(0.0, s)
    return out


def of_python(n, rng):
    out = 0.0
    for _ in range(n):
        out += rng.random() + rng.gauss(0.0, 1.0)
    return out


def handed_back(n, rng):
    return rng, rng.normal(size=n)


def kept(n, sim):
    sim.other = sim.rng
    return sim.other.normal(size=n)


def compared(n, a, b):
    return a.normal(size=n) if a is b else b.normal(size=n)


@dataclasses.dataclass
class Sim:
    rng: object
    x: float = 0.0


BITS = np.random.PCG64, np.random.Philox, np.random.MT19937, np.random.SFC64


def generator(k):
    return np.random.Generator(BITS[k % 4](k)) if k > 4 else np.random.default_rng(k)


def shared(k):
    """Two generators of one bit generator, or of two."""
    bits = np.random.PCG64(k)
    return np.random.Generator(bits), np.random.Generator(bits if k % 2 else np.random.PCG64(k + 1))


def one_or_two(k):
    a = np.random.default_rng(k)
    return a, a if k % 3 == 0 else np.random.default_rng(k + 1)


def legacy(k):
    bits = np.random.MT19937(k)
    return np.random.RandomState(bits), np.random.Generator(bits if k % 2 else np.random.MT19937(k + 1))


CALLS = {
    "walked": (walked, lambda k: (9, generator(k))),
    "walked by RandomState": (walked, lambda k: (9, np.random.RandomState(k))),
    "pi": (pi, lambda k: (50, generator(k))),
    "of an object": (stepped, lambda k: (4, Sim(generator(k)))),
    "of a namespace": (stepped, lambda k: (4, types.SimpleNamespace(rng=generator(k), x=1.0))),
    "of a dict": (held, lambda k: (4, {"rng": generator(k), "more": [np.random.RandomState(k)]})),
    "two": (two, lambda k: (4, *one_or_two(k))),
    "two at once": (two_at_once, lambda k: (4, *one_or_two(k))),
    "two of one": (two, lambda k: (4, *shared(k))),
    "two of one, other first": (two, lambda k: (4, *shared(k + 1))),
    "two of one at once": (two_at_once, lambda k: (4, *shared(k))),
    "two kinds of one": (two, lambda k: (4, *legacy(k))),
    "two kinds of one, other first": (two, lambda k: (4, *legacy(k + 1))),
    "given or made": (given_or_made, lambda k: (3, None if k % 3 == 0 else generator(k))),
    "raised": (scaled, lambda k: ([1.0, 2.0, -1.0 if k % 2 else 1.0, 3.0], generator(k))),
    "of Python": (of_python, lambda k: (5, random.Random(k))),
    "handed back": (handed_back, lambda k: (3, generator(k))),
    "kept": (kept, lambda k: (3, Sim(generator(k)))),
    "compared": (compared, lambda k: (3, *one_or_two(k))),
}


# what `whole=True` refuses: two generators of different kinds that share a bit generator
PLAIN = {"two kinds of one", "two kinds of one, other first", "of Python"}


def outcome(f, args):
    try:
        result = f(*args)
    except Exception as error:
        result = type(error), str(error).splitlines()[0]
    return result, [x for a in args for x in drawn_from(a)]


def drawn_from(x):
    """The states of all generators that an argument leads to, and the numbers beside them."""
    if isinstance(x, np.random.Generator | np.random.RandomState | random.Random):
        return [repr(states([x])[0][1])]
    if isinstance(x, dict | list):
        parts = x.values() if isinstance(x, dict) else x
    else:
        parts = vars(x).values() if hasattr(x, "__dict__") else ()
    return [s for part in parts for s in drawn_from(part)] or [repr(x)]


def same(got, want):
    if isinstance(want, np.random.Generator):
        return type(got) is type(want) and drawn_from(got) == drawn_from(want)
    if isinstance(want, tuple):
        return type(got) is tuple and len(got) == len(want) and all(map(same, got, want))
    if isinstance(want, list):
        return type(got) is list and len(got) == len(want) and all(map(same, got, want))
    return type(got) is type(want) and np.allclose(got, want, 1e-14) if isinstance(want, float | np.ndarray) else got == want


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_calls_draw_what_numpy_draws(name, whole):
    f, given = CALLS[name]
    compiled = jit(f, whole=whole and name not in PLAIN)
    for k in [0, 1, 2, 3, 4, 5, 6, 7, 1, 0]:
        args = given(k)
        want = outcome(f, copy.deepcopy(args))
        got = outcome(compiled, args)
        assert same(got[0], want[0]), (k, got[0], want[0])
        assert got[1] == want[1], k


@pytest.mark.parametrize("f, given", [(walked, generator), (pi, generator), (stepped, lambda k: Sim(generator(k)))])
def test_one_trace_serves_all_generators(f, given):
    compiled = jit(f)
    for k in range(4):
        compiled(5, given(k))
    assert compiled.explain().count("receipt") == 1


def test_no_generator_is_kept_alive():
    compiled = jit(pi)
    rng = np.random.default_rng(3)
    compiled(5, rng)
    collect()
    before = [x for x in gc.get_referrers(rng) if not isinstance(x, types.FrameType)]
    assert not before


def seeded(seed, n):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n).sum()


def seeded_in_loop(seed, n):
    rng, x = np.random.default_rng(seed + 1), 0.0
    for _ in range(n):
        x += rng.random()
    return x


def seeded_by_two(seed, n):
    return np.random.default_rng([seed, 2 * seed]).integers(0, 9, n)


def seeded_legacy(seed, n):
    return np.random.RandomState(seed % 5).rand(n) + random.Random(seed).random()


def seeded_by_bits(seed, n):
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(seed))).random(n)


def seeded_later(seed, n):
    if n < 1:
        raise KeyError("nothing to draw")
    rng = np.random.default_rng(seed - 3)
    return rng.normal(size=3) * n


def seeded_by_draw(seed, n):
    rng = np.random.default_rng(seed)
    return np.random.default_rng(rng.integers(1000)).normal(size=n)


SEEDED = [seeded, seeded_in_loop, seeded_by_two, seeded_legacy, seeded_by_bits, seeded_later, seeded_by_draw]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("f", SEEDED)
def test_seeds_that_change_are_one_trace(f, whole):
    compiled = jit(f, whole=whole)
    for seed in [3, 4, 5, 6, 7, 8, 9, 4]:
        got, want = outcome(compiled, (seed, 4)), outcome(f, (seed, 4))
        assert same(got[0], want[0]), (seed, got, want)
    assert compiled.explain().count("receipt") <= 3


def test_a_seed_that_numpy_refuses_raises_where_python_does():
    compiled = jit(seeded_later)
    for seed, n in [(3, 4), (4, 4), (5, 4), (6, 4), (1, 4), (1, 0), (6, 0), (7, 4)]:
        assert same(outcome(compiled, (seed, n))[0], outcome(seeded_later, (seed, n))[0]), (seed, n)


def seeded_behind_a_test(x, seed):
    if seed < 0:
        return x
    return np.random.default_rng(seed).random() + x


def seeded_behind_data(x, seed):
    if x[0] > 5:
        return x
    return np.random.default_rng(seed).random() + x


def seeded_behind_an_exception(x, seed):
    if x.sum() > 99:
        raise KeyError("first")
    return np.random.default_rng(seed).random() + x


def seeded_behind_an_index(x, seed):
    y = x[seed]
    return np.random.default_rng(seed - 2).random() + y


def seeded_in_try(x, seed):
    try:
        return np.random.default_rng(seed).random() + x
    except ValueError:
        return x


def seeded_behind_print(x, seed):
    a = np.random.default_rng(abs(seed)).random()
    print("hello")
    return np.random.default_rng(seed).random() + a


def seeded_too_large(x, seed):
    return np.random.default_rng(int(x[1]) + seed).random()


def seeded_by_square(x, seed):
    return np.random.default_rng(seed * seed).random()


def seeded_python(x, seed):
    return x + random.Random(seed).random()


def seeded_state(x, seed):
    return np.random.RandomState(seed).rand(2) + x[:2]


def seeded_list(x, seed):
    return np.random.default_rng([seed, 2]).random()


def seeded_bits(x, seed):
    return np.random.Generator(np.random.PCG64(seed)).random()


LATER = [
    (seeded_behind_a_test, (6, 7, 8, 9, -1, 5)), (seeded_behind_data, (6, 7, 8, 9, -1, 3)), (seeded_behind_an_exception, (6, 7, 8, 9, -1)),
    (seeded_behind_an_index, (3, 2, 3, 2, -9, 1, 0)), (seeded_in_try, (1, 2, 3, 4, -1, 5)), (seeded_behind_print, (1, 2, 3, -1, 4)),
    (seeded_too_large, (1, 2, 3, 2**63 - 1, 5)), (seeded_by_square, (1, 2, 3, 2**40, 5)), (seeded_state, (1, 2, 3, 2**33, -1, 5)),
    (seeded_python, (1, 2, 3, np.int64(5), np.int64(6), 7, -3)), (seeded_list, (1, 2, 3, -1, 5)), (seeded_bits, (1, 2, 3, -1, 5)),
]  # fmt: skip


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("f, seeds", LATER)
def test_seeds_that_are_refused_raise_where_python_does(f, seeds, whole, capsys, falling_back):
    compiled = jit(f, whole=whole)
    for seed in seeds:
        for scale in (1.0, 100.0):
            x = np.arange(4.0) * scale
            want, said = outcome(f, (x, seed))[0], capsys.readouterr().out
            got, told = outcome(compiled, (x, seed))[0], capsys.readouterr().out
            if whole and type(got) is tuple and issubclass(got[0], WengertError):
                continue  # in `try`, or beyond 64 bits
            assert same(got, want) and said == told, (seed, scale, got, want)


def filled(x, rng):
    rng.random(out=x)
    return x


def filled_part(x, rng):
    rng.standard_normal(out=x[:2])
    return x


def filled_new(x, rng):
    made = np.empty(3)
    return rng.random(out=made) is made, made


def permuted(x, rng):
    rng.permuted(x, out=x)
    return x


def filled_gamma(x, rng):
    return rng.standard_gamma(2.0, out=x)


def copied(x, rng):
    y = rng.random()
    return copy.deepcopy(rng).random(), rng.random(), y


def pickled(x, rng):
    y = rng.random()
    return pickle.loads(pickle.dumps(rng)).random(), rng.random(), y


def by_generator(x, rng):
    def drawn():
        for _ in range(3):
            yield rng.random()

    for v in drawn():
        x[0] = x[0] * 0.5 + rng.random() - v
    return x[0]


def by_generator_of_an_object(x, rng):
    held = types.SimpleNamespace(rng=rng)

    def drawn():
        while True:
            yield held.rng.random()

    total = 0.0
    for _, v in zip(range(30), drawn()):
        total = total + v * rng.random()
    return total


def left_by_data(x, rng):
    for v in (rng.random() for _ in range(6)):
        x[0] += v
        if v > 0.5:
            break
    return rng.random()


def sorted_by_draws(x, rng):
    return sorted(range(6), key=lambda _: rng.random()), rng.random()


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    "f",
    [
        filled,
        filled_part,
        filled_new,
        permuted,
        filled_gamma,
        copied,
        pickled,
        by_generator,
        by_generator_of_an_object,
        left_by_data,
        sorted_by_draws,
    ],
)
def test_draws_at_odds_with_tracing(f, whole, falling_back):
    compiled = jit(f, whole=whole)
    for k in range(3):
        given = lambda k=k: (np.arange(4.0), np.random.default_rng(k))
        got, want = outcome(compiled, args := given()), outcome(f, given())
        if whole and type(got[0]) is tuple and got[0] and type(got[0][0]) is type and issubclass(got[0][0], WengertError):
            assert np.array_equal(args[0], given()[0]) and drawn_from(args[1]) == drawn_from(given()[1])
            continue
        assert same(got[0], want[0]) and got[1] == want[1], (k, got[0], want[0])


WIDTHS = [int, bool, np.int8, np.uint8, np.int16, np.int32, np.uint32, np.int64, np.uint64]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("kind", WIDTHS)
def test_seeds_of_every_width(kind, whole):
    """A seed that NumPy does not take says so, whatever its type; one of another library's type is given as it is."""
    compiled = jit(seeded_state, whole=whole)
    for seed in (0, 1, 2, 3, 4, 5, *(() if np.dtype(kind).kind in "ub" else (-1,)), 6):
        got, want = (outcome(f, (np.arange(3.0), kind(seed)))[0] for f in (compiled, seeded_state))
        assert same(got, want), (seed, got, want)


def test_seeds_of_an_object_that_counts():
    @dataclasses.dataclass
    class Counted:
        seed: int

        def run(self, x):
            self.seed += 1
            return np.random.default_rng(self.seed * 3).normal(size=2) * x

    mine, theirs, compiled = Counted(3), Counted(3), jit(Counted.run)
    for _ in range(6):
        assert np.array_equal(compiled(mine, 2.0), theirs.run(2.0)) and mine == theirs
    assert compiled.explain().count("receipt") <= 2
