"""Programs of all sizes: what functions ask of sizes, in every form, becomes a fact of a call, part of the program, or the reason why there is
no such program; what is served is what plain Python gives."""

import collections
import functools
import math
import operator

import numpy as np
import pytest
from random_asking import drawn
from sized import SEEN, Sized, random_arguments

from wengert.tracer.call.size_ranges import Ranges

pytestmark = pytest.mark.as_numpy
SIZES = (2, 3, 4, 5, 8, 10, 11, 16, 17, 22, 23, 24, 30, 31, 37, 41, 48, 50, 53, 63, 64, 70)
ASKING, PINNING = [], []


def asks(*facts):
    """Decorator: a function with a program of all sizes, and the facts that a call has to share."""

    def register(f):
        ASKING.append(pytest.param(f, list(facts), id=f.__name__))
        return f

    return register


def pins(why):
    """Decorator: a function without one, and why."""

    def register(f):
        PINNING.append(pytest.param(f, why, id=f.__name__))
        return f

    return register


# -- facts -----------------------------------------------------------------------------------------


@asks()
def of_no_size(x):
    return np.tanh(x).sum()


@asks("n < 40")
def least(x):
    return x.sum() if len(x) < 40 else x[0]


@asks("n % 2 != 0")
def parity(x):
    if x.shape[0] % 2 == 0:
        return x[::2].sum()
    return x.sum()


@asks("n % 53 != 0")
def a_remainder_that_no_sample_leaves(x):
    return x.sum() if x.size % 53 else x[0]


@asks("n > 5", "n < 2000")
def chained(x):
    return x.sum() if 5 < len(x) < 2000 else x[0]


@asks("n > 4")
def operands_of_and(x):
    n = len(x)
    return x.sum() * ((n and 3) + (n > 4 or 7))


@asks()
def truth_of_a_size(x):
    return x.sum() if not len(x) else x.sum() * 2


@asks("n > 12")
def compared_with_a_float(x):
    return x.sum() if len(x) > 12.5 else x[0]


@asks()
def half_of_it_compared(x):
    return x.sum() if len(x) / 2 > 20 else x[0]


@asks("n != 3", "n != 50")
def among_a_list(x):
    return x.sum() * (2.0 if len(x) in [3, 50] else 1.0)


@asks("n != 50")
def shape_compared(x):
    return x.sum() if x.shape == (50,) else x[0]


@asks("n != 50")
def index_into_a_tuple_by_a_test(x):
    return x.sum() * (1.0, 2.0)[len(x) == 50]


@asks("n != 50")
def matched(x):
    match len(x):
        case 50:
            return x.sum()
        case _:
            return x[0]


@asks("n != 50")
def asserted(x):
    assert len(x) != 50, "fifty"
    return x.sum()


@asks("n != 50")
def raised(x):
    if len(x) == 50:
        raise ValueError(f"bad {len(x)}")
    return x.sum()


@asks("n <= 30", "n >= 5")
def min_and_max(x):
    return x[: min(len(x), 30)].sum() + max(len(x), 5) * x[0]


@asks()
def in_order(x):
    return x.sum() * sorted([len(x), 20, 40])[1]


def halves(x):
    return x.shape[0] // 2, {"n": len(x)}


@asks()
def returned_by_a_helper(x):
    h, d = halves(x)
    return x[:h].sum() + x[d["n"] - 2]


class Box:
    def __init__(self, x):
        self.n, self.half = len(x), len(x) / 2

    @property
    def last(self):
        return self.n - 1

    def big(self):
        return self.n > 40


@asks("n <= 40")
def held_by_an_object(x):
    b = Box(x)
    return x[b.last] * b.half + (x.sum() if b.big() else x[0])


@asks("n > 3")
def held_by_a_closure(x):
    n = len(x)

    def g(y):
        return y * n + (n > 3)

    return g(x)


@asks("n > 3")
def given_back(x):
    return x, len(x), x.shape, {"half": len(x) // 2, "big": len(x) > 3}


@asks("2*n <= 60")
def of_an_array_made(x):
    y = np.concatenate([x, x])
    return y.sum() if y.shape[0] > 60 else y[: y.shape[0] // 2].sum() / y.size


@asks("n//2 > 1", "(n//2)//2 > 1", "((n//2)//2)//2 > 1", "(((n//2)//2)//2)//2 <= 1")
def halved_while(x):
    n, k = len(x), 0
    while n > 1:
        n, k = n // 2, k + 1
    return x.sum() * k


# -- sizes in the program --------------------------------------------------------------------------


@asks()
def arithmetic(x):
    n = len(x)
    return x.sum() / n + 1 / n + n * 0.3 + math.sqrt(n) + np.log(n) + float(n) + n**2 + n**0.5 + (-n) + (n << 1) + (n >> 1)


@asks()
def numbers_of_numpy(x):
    return x.sum() * np.float64(len(x)) + np.int64(len(x)) + np.array([len(x), 2 * len(x)]) / np.prod(x.shape)


@asks()
def divided(x):
    q, r = divmod(len(x), 2)
    return x[:q].sum() * r + x[operator.index(len(x)) - 1] + (len(x) & 1) + round(len(x)) + int(len(x)) + math.ceil(len(x) / 2)


@asks()
def slices(x):
    n = len(x)
    return x[: n // 2].sum() + x[n - 1] + x[-n] + x[n // 3 :].mean()


@asks()
def made_of_a_size(x):
    n = len(x)
    y = np.zeros(n)
    y[1:] = x[:-1]
    return y + np.eye(n)[0] + np.identity(n)[1] + np.tri(n)[2] + np.full(n, 0.5) + np.ones((n, 2))[:, 0] + np.linspace(0.0, 1.0, n)


@asks()
def counted(x):
    n = len(x)
    return x * np.arange(n) + np.arange(1, n + 1) + np.arange(0, 2 * n, 2) + np.arange(n, 0, -1)


@asks()
def reshaped(x):
    return x.reshape(len(x), -1).sum(axis=1) + x.reshape(-1, len(x))[0] + np.broadcast_to(x, (len(x), len(x))).sum(axis=0)


@asks()
def loops(x):
    t = 0.0
    for i in range(len(x)):
        t = t + x[i] * (2 if i == len(x) - 1 else 1)
    for i, v in enumerate(x):
        t = t + i * v
    for i, v in zip(reversed(range(len(x))), x):
        t = t - i * v
    return t


@asks()
def searched(x):
    n = len(x)
    places = np.searchsorted(np.sort(x), [0.3, 0.7]) + np.digitize(0.5, np.sort(x))
    return np.interp([0.5, n / 3], np.arange(n), x), places, np.searchsorted(np.cumsum(x), x, side="right")


@asks()
def quantiles(x):
    return np.quantile(x, 0.9), np.percentile(x, [5, 50, 100]), np.quantile(x, 0.3, method="nearest"), np.nanquantile(x, 0.2)


@asks()
def every_other_one_stored(x):
    y, a = x * 2.0, np.outer(x, x)
    y[::2], y[1::3] = 0.0, x[1::3]
    np.fill_diagonal(a, 0.5)
    return y, a


@asks("n > 3", "n > 2")
def rests(x):
    t = 0.0
    for i in range(2 * len(x)):
        t = t + x[i % len(x)] * (i // len(x) + 1)
    return t + 3 % len(x) + 2 // len(x) + divmod(1, len(x))[1]


@asks()
def carried(x):
    k, t = len(x), 0.0
    for v in x:
        k = k - 1
        t = t + v * k
    return t


@asks()
def chosen_by_data(x):
    k = len(x) if x[0] > 0.5 else len(x) - 1
    return x.sum() * k


@asks()
def other_ways_to_ask(x):
    return x.sum() * np.shape(x)[0] / np.size(x) + np.ndim(x) + x.strides[0] + x.nbytes + isinstance(len(x), int) + (type(len(x)) is int)


@asks("n != 50", "8*n != 400")
def asked_by_name(x):
    n = getattr(x, "shape")[0]  # noqa: B009
    return x.sum() * (2 if n == 50 else 1) * (2 if operator.attrgetter("nbytes")(x) == 400 else 1) * (2 if x.__len__() == 50 else 1)


@asks()
def length_of_a_range(x):
    return x.sum() * len(range(0, len(x), 2))


@asks()
def appended(x):
    ys = []
    for v in x:
        ys.append(v * 2)
    return np.array(ys) / len(ys)


@asks()
def counted_by_a_generator(x):
    return x.sum() * (2 if sum(1 for _ in x) == 50 else 1)


@asks()
def written(x):
    x[: len(x) // 2] *= 2
    x[-1] = len(x)
    return x[1:]


# -- mere numbers ----------------------------------------------------------------------------------


@pins("a key of a dict or set")
def key_of_a_dict(x):
    return x.sum() * {50: 3.0}.get(len(x), 1.0)


@pins("a key of a dict or set")
def member_of_a_set(x):
    return x.sum() * (2.0 if len(x) in {3, 50} else 1.0)


@pins("UnsupportedError: the text of a traced value")
def text(x):
    return x.sum() * (2.0 if f"{len(x)}" == "50" else 1.0)


@pins("what it asks of sizes is not the same")
def made_text(x):
    return x.sum() * (2.0 if str(len(x)) == "50" else 1.0)


@pins("an index into a container")
def index_into_a_list(x):
    return x.sum() * ([1.0] * 100)[len(x)]


@pins("the length of a container")
def length_of_a_list(x):
    return np.array([0.0] * len(x)) + x


@pins("its attribute bit_length")
def attribute_of_an_int(x):
    return x.sum() * len(x).bit_length()


@pins("Counter() is given it")
def given_to_a_library(x):
    return x.sum() * collections.Counter([len(x)])[50]


@pins("hash() is given it")
def hashed(x):
    return x.sum() * (hash(len(x)) % 7)


@pins("goes through items, not as often")
def trips_counted(x):
    c = 0
    for _ in range(len(x)):
        c += 1
    return x.sum() * (2.0 if c == 50 else 1.0)


@pins("what it asks of sizes is not the same")
def items_appended(x):
    ys = []
    for _ in x:
        ys.append(1)
    return x.sum() * (2 if sum(ys) == 50 else 1)


@pins("what it asks of sizes is not the same")
def summed_range(x):
    return x.sum() * (2 if sum(range(len(x))) == 1225 else 1)


@pins("Python asks for a number that is computed of arrays of these sizes")
def decided_by_an_array_made(x):
    return x.sum() if np.arange(len(x)).sum() % 53 else x[0]


@pins("Python asks for a number that is computed of arrays of these sizes")
def decided_by_ones(x):
    return x.sum() if np.ones_like(x).sum() != 50 else x[0]


@pins("an exception is caught")
def caught(x):
    try:
        y = x.reshape(53, -1)
    except ValueError:
        return x.sum()
    return y.sum()


@pins("start is")
def an_expression_that_is_not_looked_for(x):
    return x[len(x) % 53 - 1]


@pins("acts on the world")
def printed(x):
    print("n", len(x))
    return x.sum()


@pins("draws random numbers")
def random(x):
    return x * np.random.default_rng(0).random(len(x))


@pins("array_equal() says whether shapes are equal")
def compared_with_an_array(x):
    return x.sum() * (2 if np.array_equal(x, np.ones(50)) else 1)


without_source = {}
exec("def reads(x):\n    return x.shape[0] == 50\ndef given(n):\n    return n == 50", without_source)


@pins("what it asks of sizes is not the same")
def read_by_code_without_hooks(x):
    return x.sum() * (2 if without_source["reads"](x) else 1)


@pins("given() is given it")
def given_to_code_without_hooks(x):
    return x.sum() * (2 if without_source["given"](len(x)) else 1)


class Sub(np.ndarray):
    pass


@pins("instances of a subclass of np.ndarray")
def of_a_subclass(x):
    return x.sum() * (2 if x.view(Sub).shape[0] == 50 else 1)


STATE = {"n": 0}


@pins("stores")
def stored_outside(x):
    STATE["n"] = len(x)
    return x.sum()


@pytest.mark.parametrize("function, facts", ASKING)
def test_facts_of_user_code(function, facts):
    found = Sized(function, random_arguments)
    assert found.facts() == facts
    wrong, served = found.wrong(SIZES)
    assert not wrong and served > 2


@pytest.mark.parametrize("function, why", PINNING)
def test_mere_numbers(function, why):
    found = Sized(function, random_arguments)
    assert found.family is None and why in found.why


# -- where a family serves -------------------------------------------------------------------------


def test_range_grows_by_traces_that_agree():
    found = Sized(of_no_size, random_arguments)
    assert found.family.serves(found.types(300)) is None and found.family.serves(found.types(5)) is None
    assert found.extended(300) and found.extended(5)
    traces = found.family.finder.traces
    assert found.family.serves(found.types(599)) == {"n": 599} and found.family.ranges.shown("n") == "verified 2 to 600"
    assert found.extended(1000) and found.family.finder.traces == traces  # those that verify are not counted among tries
    assert not found.extended(1) and found.family.serves(found.types(1)) is None  # sizes 0 and 1 have traces of their own
    assert not found.wrong((5, 7, 77, 600, 1000))[0]


def test_few_sizes_of_a_large_range_are_looked_at(monkeypatch):
    has, asked = Ranges.has, []
    monkeypatch.setattr(Ranges, "has", lambda ranges, sizes: asked.append(sizes) or has(ranges, sizes))
    found = Sized(lambda x: (x - x.mean()) / x.std(), random_arguments, (1000, 2_000_000))
    assert found.family is not None, found.why
    assert len(asked) < 1000


def test_range_ends_where_the_program_is_another():
    found = Sized(lambda x: x[:50].sum() / len(x[:50]), random_arguments)
    assert found.family.ranges.largest["n"] < 50 and not found.extended(51) and not found.extended(64)
    wrong, served = found.wrong(range(2, 71))
    assert not wrong and served > 30


def test_remainders_that_a_program_is_not_of_are_left_out():
    found = Sized(lambda x: x[: len(x) // 4 * 4].reshape(4, -1).sum(axis=1), random_arguments)  # of whole fours, no slice is left
    assert not found.wrong(range(2, 71))[0] and (found.family is None or found.facts() == ["n % 4 in (1, 2, 3)"])
    ranges = Ranges([{"n": n} for n in (9, 10, 11, 21)], [("n", 4)])
    assert ranges.told_residues() == ["n % 4 in (1, 2, 3)"] and not ranges.has({"n": 12}) and ranges.has({"n": 13})
    assert Ranges([{"n": n} for n in (9, 11, 21)], [("n", 4)]).told_residues() == []  # of odd numbers there are no others


def test_sizes_of_one_class():
    found = Sized(lambda x: x.reshape(6, -1).sum(axis=0), random_arguments, (12, 36, 18))
    assert found.family.ranges.steps == {"n": 6} and found.family.ranges.shown("n").endswith("of the form 6*k + 0")
    assert found.family.serves(found.types(24)) == {"n": 24} and found.family.serves(found.types(25)) is None
    assert not found.extended(25) and not found.wrong(range(2, 71))[0]


def two(function, arguments, seen=((10, 12), (11, 30), (23, 14))):
    return Sized(function, lambda s: arguments(*s), seen)


def uniform(*shape):
    return np.random.default_rng(sum(shape)).random(shape) + 0.1


GRID = [(n, m) for n in (2, 7, 12, 22, 32, 50, 64) for m in (3, 9, 12, 21, 32, 64)] + [(10, 10), (14, 19), (19, 14), (25, 30)]


@pytest.mark.parametrize(
    "function, arguments, texts",
    [
        (
            lambda x, w, b: x @ w + b[:, None],
            lambda n, m: (uniform(n, m), uniform(m, 4), uniform(n)),
            ["n: x.shape[0]", "m: x.shape[1]", "w.shape[0] == m", "b.shape[0] == n"],
        ),
        (
            lambda e, c, y: np.diff(e) * c + y.sum() * len(e),
            lambda n, m: (uniform(n + 1), uniform(n), uniform(m)),
            ["n: c.shape[0]", "m: y.shape[0]", "e.shape[0] == n + 1"],
        ),
        (
            lambda x, y: x.reshape(y.shape) + y * y.size,
            lambda n, m: (uniform(n * m), uniform(n, m)),
            ["n: y.shape[0]", "m: y.shape[1]", "x.shape[0] == m*n"],
        ),
        (
            lambda x, y: x.sum() if len(x) < len(y) else y.sum(),
            lambda n, m: (uniform(n), uniform(m)),
            ["n: x.shape[0], n >= m", "m: y.shape[0], n >= m"],
        ),
        (
            lambda x, y: (x * y).sum() if x.shape == y.shape else x.sum() * y.sum(),
            lambda n, m: (uniform(n), uniform(m)),
            ["n: x.shape[0], n != m", "m: y.shape[0], n != m"],
        ),
    ],
    ids=["products", "one more", "products of names", "order", "equality"],
)
def test_names_of_several_sizes(function, arguments, texts):
    found = two(function, arguments)
    assert [t.partition(", verified")[0] for t in found.family.texts()] == texts
    wrong, served = found.wrong(GRID)
    assert not wrong and served > 6


def test_calls_that_break_a_relation_are_none_of_the_family():
    found = two(lambda x, y: x + y, lambda n, m: (uniform(n), uniform(m)), ((10, 10), (11, 11), (23, 23)))
    assert found.family.texts() == ["n: x.shape[0], verified 10 to 75", "y.shape[0] == n"]
    assert found.family.serves(found.types((12, 12))) == {"n": 12} and found.family.serves(found.types((12, 13))) is None


def test_nothing_is_left_behind(capsys, recwarn):
    found = Sized(stored_outside, random_arguments, (10, 11))
    assert found.family is None and STATE == {"n": 10}  # as the call left it
    entry = Sized(lambda x: np.log(x - 1.0).sum(), random_arguments).entry
    assert len(entry.worlds) == 1 and len(entry.worlds[0].versions) == 1 and not entry.fixed
    assert capsys.readouterr().out == "" and not recwarn.list


def test_state_outside_is_that_of_now():
    scale = {"k": 2.0}

    def scaled(x):
        return x.sum() * scale["k"]

    found = Sized(scaled, random_arguments)
    reads = found.family.specialisations[0].captured.outside.reads
    assert any(r.key == "k" for r in reads.values()) and not found.wrong(SIZES)[0]


@pytest.mark.parametrize("seed", [0, 2, 5, 8, 11, 17])
def test_random_functions(seed):
    found, text = drawn(seed)
    if found is not None:
        wrong, _ = found.wrong(range(2, 71, 3))
        assert not wrong, text


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20, 200))
def test_many_random_functions(seed):
    found, text = drawn(seed)
    if found is not None:
        assert not found.wrong(range(2, 71))[0], text


def test_a_fact_that_is_not_told_would_be_seen(monkeypatch):
    from wengert.tracer.values import asked

    tell = asked.SizesAsked.tell
    monkeypatch.setattr(asked.SizesAsked, "tell", lambda self, e: None if type(e) is asked.Fact else tell(self, e))
    wrong, _ = Sized(shape_compared, random_arguments).wrong(range(40, 60))
    assert [n for n, _ in wrong] == [50]


@pytest.mark.parametrize("seen", [SEEN, (64, 12)])
def test_gradients(seen):
    from wengert.tracer.api.transforms import grad

    for f in (chained, functools.partial(np.linalg.norm), lambda x: np.logaddexp.reduce(x), lambda x: x.std()):
        found = Sized(grad(lambda x, f=f: f(x)), random_arguments, seen)
        wrong, served = found.against(SIZES)
        assert not wrong and served > 5


def test_sizes_0_and_1_teach_nothing():
    found = Sized(of_no_size, random_arguments, (1, 10, 0, 11))
    assert found.family.ranges.least == {"n": 10} and found.family.serves(found.types(1)) is None
    assert "sizes 0 and 1" in Sized(of_no_size, random_arguments, (10, 1, 0)).why
    assert "no size has differed" in Sized(of_no_size, random_arguments, (10, 10)).why
