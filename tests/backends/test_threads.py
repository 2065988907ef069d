"""Loops that threads share: the same numbers as on one thread, bit by bit, from any thread, after a fork, and under Ctrl-C."""

import concurrent.futures
import importlib.util

import numpy as np
import pytest
from compare import agree
from random_shared import allow, however_small, outcome

from wengert import jit
from wengert.backends import native
from wengert.backends.native import parallel, threads
from wengert.tracer.program import backend_choice

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed"),
    pytest.mark.skipif(threads.thread_count() < 2, reason="one thread has nobody to share with"),
]


@pytest.fixture
def shared():
    """How many parts each loop has that is shared; all are that may be."""
    with however_small() as found:
        yield found
    allow(threads.thread_count() - 1)


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [pytest.param(k, marks=[pytest.mark.slow] * (k > 1)) for k in range(10)])  # a minute each
def test_random_nests_give_what_one_thread_gives(shared, seed):
    for k in range(10):
        what = outcome(100 * seed + k)
        assert not what.startswith("differs"), what
    assert shared


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2000, 2400))
def test_more_random_nests(shared, seed):
    what = outcome(seed)
    assert not what.startswith("differs"), what


def pairs(x, y):
    out = np.zeros((len(x), 2))
    for i in range(len(x)):
        u = v = 0.0
        for j in range(len(x)):
            r = 1.0 / np.sqrt((x[j] - x[i]) ** 2 + (y[j] - y[i]) ** 2 + 0.01)
            u, v = u + (x[j] - x[i]) * r, v + (y[j] - y[i]) * r
        out[i, 0], out[i, 1] = u, v
    return out


def energy(x, y):
    e = 0.0
    for i in range(len(x)):
        for j in range(i):
            if x[i] > x[j] - 1.0:
                e += 1.0 / np.sqrt((x[j] - x[i]) ** 2 + (y[j] - y[i]) ** 2 + 0.01)
    return e


def extremes(x, y):
    low, high, count, odd, all_small = np.inf, -np.inf, 0, False, True
    for i in range(len(x)):
        low, high, count = np.minimum(low, x[i] * y[i]), np.maximum(high, x[i] + y[i]), count + i * i
        odd, all_small = odd | (x[i] > 3.0), all_small & (abs(y[i]) < 9.0)
    return low, high, count, odd, all_small


def smoothed(x, y):
    a = np.outer(x[:700], y[:700])
    for _ in range(3):
        a[1:-1] = 0.5 * a[1:-1] + x[0]
    return a


def rowwise(x, y):
    out, a = np.zeros(len(x)), np.outer(x, y)
    for i in range(len(x)):
        row = a[i] * 2
        out[i] = np.sqrt((row * row).sum()) + row[len(x) // 2]
    return out


def reversed_trips(x, y):
    for i in range(len(x) - 1, -1, -1):
        y[i] = x[i] * x[i] - y[i]
    return y


def with_scratch(x, y):
    out, n = np.zeros(len(x)), len(x)
    for i in range(n):
        c = x * y[i]
        for j in range(1, n):
            c[j] = c[j] * 0.5 + c[j - 1]
        out[i] = c[n - 1] + c[n // 2]
    return out


PROGRAMS = [pairs, energy, extremes, smoothed, rowwise, reversed_trips, with_scratch]


@pytest.mark.parametrize("n", [9, 64, 1500])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_programs(shared, monkeypatch, function, n):
    monkeypatch.setattr(backend_choice, "CHOICE", "numpy")
    agrees_on_all_threads(shared, function, n)


def agrees_on_all_threads(shared, function, n):
    rng = np.random.default_rng(n)
    x, y = rng.normal(size=n), rng.normal(size=n)
    want = function(x.copy(), y.copy()) if n < 100 or function not in (pairs, energy) else None
    compiled, found = jit(function), []
    for helpers in (0, 0, *[threads.thread_count() - 1] * 4):
        allow(helpers)
        with native.asked(0):
            found.append(compiled(x.copy(), y.copy()))
    assert shared
    for got in found[1:]:
        assert [a.tobytes() for a in flat(got)] == [a.tobytes() for a in flat(found[1])]
    if want is not None:
        agree(found[0], want, 1e-9)


def by_rows(x, y):
    a = np.outer(x, x * 2)
    return np.where(a > 0, a, y) @ x


def by_columns(x, y):
    a = np.outer(x, x * 2)
    return (x * y) @ np.where(a > y, a, 1.0), np.stack([a * y, a + y]).sum(axis=1)


@pytest.mark.parametrize("n", [9, 64, 1500])
@pytest.mark.parametrize("function", [by_rows, by_columns], ids=lambda f: f.__name__)
def test_products_with_vectors(shared, monkeypatch, function, n):
    monkeypatch.setattr(backend_choice, "CHOICE", "nests")
    agrees_on_all_threads(shared, function, n)


def flat(x):
    return [np.asarray(part) for part in x] if isinstance(x, tuple) else [np.asarray(x)]


def given_away(x):
    out, s, m, other = np.zeros(len(x)), 0.0, 0, 0.0
    for i in range(len(x)):
        t = 0.0
        if x[i] > 0:
            t = s
        else:
            s += x[i]
        for j in range(3):
            if x[j] < x[i]:
                m += j
            else:
                other = m * 1.0
        out[i] = t + other
    return out, s, m


def marked_and_given(x):
    out, s = np.zeros(len(x)), 0
    for i in range(len(x)):
        t = 0
        if x[i] > 0:
            t = s
            s = 5
        out[i] = t
    return out, s


def flagged(x):
    out, flag = np.zeros(len(x)), 0
    for i in range(len(x)):
        if x[i] > 1.0:
            flag = 7
        out[i] = x[i] * 2
    return out, flag


@pytest.mark.parametrize("function", [given_away, marked_and_given, flagged], ids=lambda f: f.__name__)
def test_numbers_that_trips_leave_each_other(shared, function):
    """The first two hang together: what a branch does not change it gives to something else."""
    x = np.random.default_rng(0).normal(size=200)
    with native.asked(0):
        agree(jit(function, engine="numpy")(x), function(x), 1e-12)
    assert bool(shared) == (function is flagged)


def test_products_of_complex_numbers_are_made_in_order(shared):
    """Infinity times 1 + 0j is not infinity."""
    def product(z):
        p = 2 + 1j
        for i in range(len(z)):
            p *= z[i]
        return p

    z = np.ones(60, complex)
    z[-1] = complex(np.inf, 0)
    with native.asked(0), np.errstate(invalid="ignore"):
        agree(jit(product, engine="numpy")(z), product(z))


@pytest.mark.parametrize("dtype", ["float32", "int16", "uint8", "complex128", "bool"])
def test_dtypes(shared, dtype):
    def f(x):
        total, out = x[0], x.copy()
        for i in range(len(x)):
            out[i] = x[i] & x[0] if x.dtype == bool else x[i] * x[i]
            total = total | x[i] if x.dtype == bool else total + x[i]
        return out, total

    x = (np.arange(40) % 7).astype(dtype)
    with np.errstate(over="ignore"):
        agree(jit(f, engine="numpy")(x), f(x), 1e-5)


def test_the_first_check_that_fails_is_the_one_that_is_told(shared):
    def f(x, index):
        out = np.zeros(len(index))
        for i in range(len(index)):
            out[i] = x[index[i]] * 2
        return out

    compiled, index = jit(f, engine="numpy"), np.arange(300) % 7
    agree(compiled(np.arange(7.0), index), f(np.arange(7.0), index))
    assert shared
    index[[250, 30]] = 11, 9
    for _ in range(5):
        with pytest.raises(IndexError, match="index 9 is out of bounds"):
            compiled(np.arange(7.0), index)


def test_an_exact_program_shares_no_sums(shared):
    def f(x):
        s = 0.0
        for v in x:
            s += v * v
        return s

    x = np.random.default_rng(0).normal(size=999)
    assert jit(f, exact=True)(x) == f(x)
    assert not shared


# -- the pool --------------------------------------------------------------------------------------


def test_threads_that_call_at_once(shared):
    """One of them has the helpers, the others do all themselves."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=200), rng.normal(size=200)
    compiled, want = jit(pairs, engine="numpy"), None
    want = compiled(x, y), compiled(x, y)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: compiled(x, y), range(60)):
            assert got.tobytes() == want[1].tobytes()


POOLED = """
from wengert.backends.native import parallel, threads
from wengert.tracer.program import backend_choice
parallel.LEAST = parallel.PART = 1

def pairs(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        for j in range(len(x)):
            out[i] += x[j] / (1.0 + abs(x[i]))
    return out

f, x = jit(pairs, engine="numpy"), np.arange(900.0)
"""


def test_children_that_are_forked_share_with_nobody(said):
    found = said(POOLED + """
for _ in range(3):
    before = f(x)
read, write = os.pipe()
if not os.fork():
    os.write(write, str([f(x).tobytes() == before.tobytes() for _ in range(3)]).encode())
    os._exit(0)
signal.alarm(30)
print(json.dumps([os.read(read, 100).decode(), f(x).tobytes() == before.tobytes()]))
""")
    assert found == ["[True, True, True]", True]


def test_signals_go_to_the_threads_of_python_and_stop_a_loop_that_is_shared(said):
    found = said(POOLED + """
def far(x, n):
    out, s = np.zeros(len(x)), 0.0
    for t in range(n):
        for i in range(len(x)):
            out[i] = out[i] * 0.5 + x[i] * t
        s += out[3]
    return out, s

g = jit(far, engine="numpy")
g(x, 3)
print(json.dumps([*interrupted(lambda: g(x, 10**9)), f(x).tobytes() == f(x).tobytes()]), flush=True)
os._exit(0)
""")
    assert found == ["KeyboardInterrupt", True, True]


def test_one_thread_is_asked_for_by_the_variable_that_others_heed(said):
    """The parts are the same ones, and so are the sums."""
    text = POOLED + """
def total(x):
    s = 0.0
    for v in x:
        s += v * 0.1
    return s

print(json.dumps([threads.thread_count(), jit(total, engine="numpy")(x).hex(), "shared" in f.explain() or bool(f(x) is None)]))
"""
    one, several = (said(f"import os\nos.environ['OMP_NUM_THREADS'] = {n!r}\n" + text) for n in ("1", "2"))
    assert one[0] == 1 and several[0] == 2 and one[1] == several[1]


def test_one_thread_gives_memory_of_its_parts_back_once(said):
    """Where there is no pool, parts are a loop in the nest, and what each has of its own is taken once."""
    found = said("""
import os
os.environ["OMP_NUM_THREADS"] = "1"

def rows(x):
    out = np.zeros(len(x))
    for i in range(len(x)):
        y = np.cumsum(x[i])
        out[i] = y[::2].sum() + y.max()
    return out

x = np.linspace(0.0, 1.0, 1_200_000).reshape(300, 4000)
f = jit(rows, engine="numpy", whole=True)
print(json.dumps([bool(np.allclose(f(x), rows(x))) for _ in range(3)]))
""")
    assert found == [True] * 3


@pytest.mark.parametrize("text, expected", [("max 100000", None), ("150000 100000", 2), ("-1 100000", None), ("50000 100000", 1), ("", None)])
def test_quotas_of_control_groups(tmp_path, text, expected):
    (tmp_path / "cpu.max").write_text(text)
    assert threads.quota([tmp_path / "cpu.max"]) == expected
    assert threads.quota([tmp_path / "missing"]) is None


def test_explain_tells_what_is_shared(shared):
    compiled = jit(pairs, engine="numpy")
    compiled(np.arange(64.0), np.arange(64.0))
    assert f"native, shared by {threads.thread_count()} threads" in compiled.explain()


@pytest.mark.parametrize("text, expected", [
    ("add nsw i64 %v1, 1", "i64"), ("fadd reassoc double %v1, %v2", "double"), ("fcmp olt double %v1, %v2", "i1"),
    ("sext i32 %v1 to i64", "i64"), ("select i1 %v1, double %v2, double %v3", "double"), ("phi float [ %v1, %b2 ]", "float"),
    ("load double, ptr %v1", "double"), ("call double @exp(double %v1)", "double"), ("alloca double, i64 4, align 64", "ptr noalias"),
    ("insertvalue { double, double } %v1, double %v2, 0", "{ double, double }"), ("extractvalue { float, float } %v1, 0", "float"),
    ("getelementptr inbounds double, ptr %p0, i64 %v1", None), ("load ptr, ptr %v1", None), ("", None),
])  # fmt: skip
def test_types_of_registers(text, expected):
    assert parallel.register_type(text) == expected
