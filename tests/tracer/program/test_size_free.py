"""One generated function for all sizes: of programs of every kind, against plain NumPy at every size it says it serves."""

import ast
import copy

import numpy as np
import pytest
from sampled_calls import SampledCalls, rows, square, vector, vectors

from wengert import grad, value_and_grad
from wengert.ir.dims import Dim
from wengert.ir.forms import Forms
from wengert.ir.sample import Unalike
from wengert.tracer.program.numpy_call import raw
from wengert.tracer.program.numpy_function import MISS
from wengert.tracer.program.size_free import SizeFree, is_never_negative, size_free
from wengert.tracer.program.sized_objects import SizedObjects, same_object
from wengert.tracer.program.sized_tree import code_filled, common_tree, matches, sign_folded

SIZES = [{"n": n} for n in range(3, 81)]
CONSTANT = np.arange(4.0)


def stored(a, b):
    a[1:] = b[:-1] * 2.0
    a[0] = 1.0
    return a.sum()


def both_stored(a, b):
    a += b
    b[1:-1] = a[:-2]


def several(a):
    s = a.sum()
    return a - s, {"mean": a.mean(), "max": [a.max(), a[0]]}, (a.shape[0], a.size, 2.5, None)


def shifted(a):
    return a[:-1] + a[1:], a[::2], a[::-1] * 2.0, a[: len(a) // 2], np.roll(a, 1), np.pad(a, 2)


def views(a):
    b = a * 2.0
    return a[1:-1], a[::2], a.reshape(-1, 1), b, b[1:], b[None].T


def ordered(a):
    return np.argsort(a), np.argmax(a), np.sort(a)[::-1], np.cumsum(a), np.diff(a), np.maximum.accumulate(a)


def narrow(a):
    x = a.astype(np.float32)
    return (x * np.float32(0.5)).mean(), x.std(), x / np.float32(len(a))


def joined(a, b):
    return np.stack([a, b]), np.concatenate([a, b, a[:2]]), np.vstack([a, b]).T, np.repeat(a, 3), np.tile(b, 2)


def multiplied(a):
    return a.T @ a, a @ a.T, a.T.reshape(2, -1), a.mean(0), a.var(), a.max(axis=1, keepdims=True), np.einsum("ij,kj->ik", a, a)


def chosen(a, b):
    return np.where(a > b, a, b), np.clip(a, -0.5, 0.5), (a > 0).sum(), np.any(a > 2), (a * 10).astype(int) % 3


def of_sizes(a):
    return a.sum() / len(a), len(a) * 2, np.sqrt(len(a)) * a[0], a * (1.0 / np.sqrt(len(a))), a * 0.25 * len(a)


def by_order(a, b):
    i = np.argsort(b)
    return a[i], np.take(a, i[:2])


def complex_ones(a):
    return (a * 1j).sum(), np.abs(a + 1j), np.fft.rfft(a)


def normal(a):
    e = np.exp(a - a.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) + CONSTANT


def loop(a):
    total = 0.0
    for i in range(len(a)):
        total = total * 0.5 + a[i] * i
    return total


def carried(a):
    m, p = np.zeros(2), np.eye(2)
    for x in a:
        m, p = p @ m + x, p * 0.9 + np.outer(m, m) * 0.01
    return m, p


def relaxed(a):
    u, change = a.copy(), 1.0
    while change > 1e-1:
        inner = 0.5 * (u[:-2] + u[2:])
        change = np.max(np.abs(inner - u[1:-1]))
        u[1:-1] = inner
    return u


def turned(a):
    return a * 2.0 if a.sum() > 0 else a - 1.0


def solved(a):
    b = a @ a.T + np.outer(a[:, 0], a[:, 0]) + 5.0
    return np.linalg.norm(a), np.linalg.eigvalsh(b)[-1]


def listed(a):
    return [x * i for i, x in enumerate(a)], a.tolist()


def kept(a):
    return a


OF_VECTORS = [several, shifted, views, ordered, narrow, of_sizes, complex_ones, loop, carried, turned, listed, kept]
KINDS = [
    *((f, vector) for f in OF_VECTORS),
    *((f, vectors) for f in (stored, both_stored, joined, chosen, by_order)),
    *((f, rows) for f in (multiplied, normal)),
    (solved, square),
]


@pytest.mark.parametrize("function, make", KINDS, ids=lambda x: getattr(x, "__name__", ""))
def test_all_sizes_are_plain_pythons(function, make):
    least = 20 if function is listed else 3  # few items are written out
    sized = SampledCalls(function, make)
    sized.grow({"n": least})
    sized.check([{"n": n} for n in range(least, 81)], rtol=1e-9)


def test_a_loop_that_data_end():
    sized = SampledCalls(relaxed, vector)
    sized.grow({"n": 5})
    sized.check(SIZES[2:], rtol=1e-9)


@pytest.mark.parametrize("function, make", [
    (chosen, vectors), (multiplied, rows), (carried, vector), (both_stored, vectors), (normal, rows), (solved, square),
])  # fmt: skip
def test_straight_lines_as_nests_of_all_sizes(function, make):
    sized = SampledCalls(function, make, nests=True)
    sized.grow({"n": 34})
    sized.check([{"n": n} for n in range(34, 102, 7)], rtol=1e-9)
    assert sized.made.nests or function is solved


def test_derivatives_as_nests_of_all_sizes():
    SampledCalls(log_sum_exp, vector, grad, nests=True).check([{"n": n} for n in range(37, 102, 9)], rtol=1e-9)


def log_sum_exp(x):
    top = x.max()
    return top + np.log(np.exp(x - top).sum())


def differences(a):
    return ((a[1:] - a[:-1]) ** 2).sum() + np.cumsum(a)[-1] * a[0] + np.concatenate([a, a[::-1] * 2]).std()


def updated(a):
    b = a.copy()
    b[1:] += b[:-1] ** 2
    return np.where(b > 0, b**2, -b).sum()


def attention(a):
    s = a @ a.T / np.sqrt(a.shape[1])
    e = np.exp(s - s.max(-1, keepdims=True))
    return ((e / e.sum(-1, keepdims=True)) @ a).sum()


def recurrent(a):
    h = np.zeros(3)
    for x in a:
        h = np.tanh(h * 0.5 + x)
    return (h**2).sum()


@pytest.mark.parametrize("transform", [grad, value_and_grad])
@pytest.mark.parametrize("loss, make", [
    (log_sum_exp, vector), (differences, vector), (updated, vector), (attention, rows), (recurrent, vector),
])  # fmt: skip
def test_derivatives(loss, make, transform):
    sized = SampledCalls(loss, make, transform)
    sized.grow({"n": 6})
    sized.check(SIZES[3::5], rtol=1e-9)


PAIRS = [{"n": n, "m": m} for n, m in ((7, 9), (11, 9), (7, 13), (20, 17), (33, 38), (25, 30))]


def of_two(a, b):
    return a @ b, (a.sum(0)[:, None] * b).mean(), np.concatenate([a.ravel(), b.ravel()]), a.T.reshape(-1), a.shape


def test_two_sizes():
    make = lambda rng, n, m: (rng.standard_normal((n, m)), rng.standard_normal((m, 3)))
    sized = SampledCalls(of_two, make, samples=PAIRS, where={"n": (0, 0), "m": (0, 1)})
    sized.check([{"n": n, "m": m} for n in range(7, 34, 5) for m in range(9, 39, 4) if n != m], rtol=1e-9)
    call = sized.made.call()
    a, b = make(np.random.default_rng(0), 10, 12)
    assert call(a, b) is not MISS
    assert call(a, b[1:]) is MISS and call(*make(np.random.default_rng(0), 12, 12)) is MISS


def test_of_two_sizes_the_order_is_that_of_the_samples():
    make = lambda rng, n, m: (rng.standard_normal(n), rng.standard_normal(m))
    samples = [{"n": n, "m": m} for n, m in ((7, 9), (11, 13), (7, 15), (20, 27), (33, 38), (25, 30))]
    sized = SampledCalls(lambda a, b: (a * 2.0, b * 3.0), make, samples=samples, where={"n": (0, 0), "m": (1, 0)})
    call = sized.check([{"n": 10, "m": 12}, {"n": 20, "m": 21}])
    assert call(np.ones(20), np.ones(20)) is MISS and call(np.ones(21), np.ones(20)) is MISS


def test_a_size_is_read_where_there_is_one_more():
    make = lambda rng, n: (rng.standard_normal(n + 2), rng.standard_normal(n))
    sized = SampledCalls(lambda a, b: a[1:-1] + b, make)
    call = sized.check([{"n": n} for n in (37, 50, 101)])
    assert call(np.ones(36 + 2), np.ones(36)) is MISS and call(np.ones(40), np.ones(40)) is MISS
    assert "len(a0) - 2" in ast.unparse(call.function)


def test_only_sizes_among_the_samples_are_served():
    sized = SampledCalls(of_sizes, vector)
    call = sized.made.call()
    served = lambda n, call: call(np.ones(n)) is not MISS
    assert [n for n in range(120) if served(n, call)] == [*range(37, 102)]
    assert sized.made.agrees(sized.version({"n": 110}), {"n": 110})
    assert served(110, sized.made.call()) and not served(110, call) and not served(111, sized.made.call())
    some = sized.made.call(["n % 3 == 1", "n != 40"])
    assert [n for n in range(120) if served(n, some)] == [n for n in range(37, 111) if n % 3 == 1 and n != 40]


def test_sizes_have_the_remainder_of_all_samples():
    median = SampledCalls(lambda a: np.median(a), vector, samples=[{"n": n} for n in (37, 39, 75, 101, 45)])
    median.check([{"n": n} for n in range(37, 102, 2)])
    assert median.made.call()(np.ones(40)) is MISS
    assert not median.made.agrees(median.version({"n": 40}), {"n": 40})


def test_calls_of_others():
    call = SampledCalls(stored, vectors).made.call()
    a, b = np.ones(40), np.ones(40)
    for given in [(a, b[1:]), (a[:, None], b), (a.astype(np.float32), b), (a, a), (a[:20], a[10:30]), (np.ones(()), b)]:
        before = copy.deepcopy(given)
        assert call(*given) is MISS
        assert all(np.array_equal(x, y) for x, y in zip(given, before, strict=True))


@pytest.mark.parametrize("function", [
    lambda a: np.median(a), lambda a: a * 2 if len(a) > 50 else a - 1, lambda a: a * np.sin(len(a)),
])  # fmt: skip
def test_what_is_not_one_program(function):
    with pytest.raises(Unalike):
        SampledCalls(function, vector)


def test_a_sample_that_is_another_program_is_found():
    """All but the last have what the last has not: it is none that the expressions are found by."""
    with pytest.raises(Unalike):
        SampledCalls(lambda a: a * 2 if len(a) > 50 else a - 1, vector, samples=[{"n": n} for n in (60, 63, 75, 101, 87, 45)])
    sized = SampledCalls(lambda a: a * 2 if len(a) > 50 else a - 1, vector, samples=[{"n": n} for n in (60, 63, 75, 101, 87, 91)])
    assert not sized.made.agrees(sized.version({"n": 45}), {"n": 45})
    assert sized.made.call()(np.ones(50)) is MISS


def test_where_a_size_stands_is_what_the_samples_say():
    sized = SampledCalls(kept, vector)
    versions = [sized.version({"n": n}) for n in (40, 41, 42)]
    with pytest.raises(ValueError, match="argument 0"):
        SizeFree(versions, sized.types, [{"n": n} for n in (40, 41, 43)], {"n": (0, 0)})


def test_raw_results():
    sized = SampledCalls(lambda a: (a[1:] * 2.0, a), vector)
    versions = [sized.version({"n": n}) for n in (40, 41, 55, 53)]
    call = size_free(versions, sized.types, [{"n": n} for n in (40, 41, 55, 53)], {"n": (0, 0)}, form=raw)
    x = np.random.default_rng(0).standard_normal(44)
    got = call(x)
    np.testing.assert_array_equal(got, x[1:] * 2.0)


def test_lines_in_the_place_of_a_call():
    """A silent function is put into the one in front, names and all."""
    sized = SampledCalls(lambda a, x: (x * 2.0 + len(a), a), lambda rng, n: (rng.standard_normal(n), 0.5))
    call = sized.made.call()
    assert call.silent
    space = {}
    lines = call.inlined("_7", ["x", "y"], space)
    exec("\n".join(["def f(x, y):", *("    " + line for line in lines), "    return None"]), space)
    x = np.arange(50.0)
    assert space["f"](x, 3.0) == (56.0, x) and space["f"](np.ones(7), 3.0) is None


def test_statements_are_alike_at_all_sizes():
    """What is measured by the number of elements hangs on no size."""
    f = lambda a: (np.clip(a, -1.0, 1.0) + np.full((len(a), 40), 2.0).sum(1), a * 0 + 1, np.arange(len(a)) + a)
    sized = SampledCalls(f, vector, samples=[{"n": n} for n in (70, 77, 101, 1500, 4001, 9999)])
    sized.check([{"n": n} for n in (71, 102, 103, 5000)])


# -- trees and objects -----------------------------------------------------------------------------
FORMS = Forms([{"n": n} for n in (5, 6, 9, 13, 20)])


@pytest.mark.parametrize("text, at", [
    ("x[{}:-2]", lambda n: n - 7), ("x * {}", lambda n: 2.0 / n), ("x * {}", lambda n: float(n)), ("x + {}", lambda n: -n),
    ("x / {}", lambda n: float(np.float32(1 / n))), ("x / {}", lambda n: n**0.5), ("f({}, 3)", lambda n: n * n),
])  # fmt: skip
def test_trees(text, at):
    trees = [sign_folded(ast.parse(text.format(at(s["n"])))) for s in FORMS.samples]
    made = common_tree([sign_folded(trees[0]), *trees[1:]], FORMS)
    for n in (5, 6, 7, 11, 30):
        known = sign_folded(ast.parse(text.format(at(n))))
        assert matches(made, known, {"n": n})
        assert not matches(made, known, {"n": n + 1})
        code = compile(ast.Expression(code_filled(made, {"n": "k"}).body[0].value), "", "eval")
        see = {"x": Seen(), "f": lambda *x: x, "k": n, "np": np, "math": __import__("math")}
        assert repr(eval(code, see)) == repr(eval(text.format(at(n)), see))


class Seen:
    """What is done with it."""

    def __getitem__(self, key):
        return key

    def __mul__(self, other):
        return other

    __truediv__ = __add__ = __mul__


@pytest.mark.parametrize("first, others", [
    ("x + 1", "x - 1"), ("f(x)", "f(x, x)"), ("x + 1", "x + 1.0"), ("x[1]", "x.y"), ("x", "y"), ("f(1.5)", "f(2.25)"), ("x(True)", "x(False)"),
    ("'a' + x", "'b' + x"),
])  # fmt: skip
def test_trees_that_are_unalike(first, others):
    with pytest.raises(Unalike):
        common_tree([sign_folded(ast.parse(text)) for text in [first, *[others] * 4]], FORMS)


def test_objects():
    objects = SizedObjects(FORMS, {})
    shapes = [(s["n"], 4) for s in FORMS.samples]
    assert ast.unparse(code_filled(objects.form(shapes), {"n": "n"})) == "(n, 4)"
    assert ast.unparse(code_filled(objects.form([np.int64(n - 1) for n, _ in shapes]), {"n": "n"})) == "number_type(n - 1)"
    assert ast.unparse(code_filled(objects.form([slice(0, n, 2) for n, _ in shapes]), {"n": "n"})) == "slice(0, n, 2)"
    assert objects.form([np.dtype(float)] * 5).id in objects.space
    for unlike in ([np.arange(n) for n, _ in shapes], [str(n) for n, _ in shapes], [1, 2.0, 3, 4, 5], [object() for _ in shapes]):
        with pytest.raises(Unalike):
            objects.form(unlike)


def test_objects_that_may_stand_for_each_other():
    same = [(0.0, 0.0), (np.float64(1), np.float64(1)), ((1, slice(2)), (1, slice(2))), (np.ones(2), np.ones(2)), (np.dtype("f4"), np.dtype("f4"))]
    unlike = [(0.0, -0.0), (1, True), (1, 1.0), (np.float32(1), np.float64(1)), (np.ones(2), np.ones(3)), ([1], (1,)), (object(), object())]
    assert all(same_object(a, b) for a, b in same)
    assert not any(same_object(a, b) for a, b in unlike)


def test_bounds_that_hold_for_all_sizes():
    n, m = Dim.symbol("n"), Dim.symbol("m")
    spans = {"n": (3, 10), "m": (2, 5)}
    assert is_never_negative(n - 3, spans) and is_never_negative(10 - n, spans) and is_never_negative(n - m + 2, spans)
    assert not is_never_negative(n - 4, spans) and not is_never_negative(9 - n, spans) and not is_never_negative(n * m, spans)
