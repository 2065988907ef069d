"""Loops whose machine code generated NumPy calls: the same values, kinds, memory and errors as plain Python leaves, on arguments of every form."""

import copy
import ctypes
import importlib.util
import sys
import threading
import warnings

import numpy as np
import pytest
import random_windows
from compare import agree
from generated import results
from op_cases import draw, func_of

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.native import direct, objects
from wengert.backends.numpy import by_python, is_loop_free
from wengert.backends.numpy.looped import LARGEST, LOOPED
from wengert.backends.numpy.nests import machine_code
from wengert.backends.xla import dispatch
from wengert.ir.ops import OPS
from wengert.ir.ops.control import COUNTER, evaluate, loop, region
from wengert.ir.ops.shape import dynamic_update_slice, reshape
from wengert.ir.types import parse_type
from wengert.tracer.call import shared
from wengert.tracer.program import backend_choice

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")


def versions(f):
    return [v for e in f.compiled.entries.values() for w in e.worlds for v in w.versions]


def checked(f, *args, straight=True):
    """The compiled function, after calls that agree with plain Python's in what they give and what they change; all run as NumPy.

    The first runs in machine code that is not optimised.
    """
    g, theirs = jit(f, engine="numpy"), copy.deepcopy(args)
    with np.errstate(all="ignore"):
        want = f(*theirs)
    with native.compiled_quickly() as quick:
        ours = copy.deepcopy(args)
        agree(g(*ours), want, 1e-12)
        agree(ours, theirs, 1e-12)
    for code in quick:
        code.optimise()
    for _ in range(2):
        ours = copy.deepcopy(args)
        agree(g(*ours), want, 1e-12)
        agree(ours, theirs, 1e-12)
    assert all(v.engine and (v.straight or not straight) and any(e.op is loop for e in backend_choice.equations(v.func)) for v in versions(g))
    return g


def running(x, s):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * s + x[i]
    return x[-1], s * 2


def fibonacci(n, a, b):
    while a < n:
        a, b = b, a + b
    return a, b


def sieve(x):
    found = np.ones(len(x), bool)
    for i in range(2, len(x)):
        for j in range(2, i):
            if i % j == 0:
                found[i] = False
    return found, found.any()


def julia(z, c):
    count = np.zeros(z.shape, np.int32)
    for i in range(len(z)):
        for _ in range(20):
            if abs(z[i]) > 2:
                break
            z[i] = z[i] * z[i] + c
            count[i] += 1
    return count


def swapped(x, y):
    for i in range(len(x)):
        x, y = y + 0.5 * i, x * 1.0
    return x, y, x is y


def triangle(a, b):
    """Work outside of the loops, and a result of one within the other."""
    a = a.T + b
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
    total = 0.0
    for i in range(len(a)):
        total += a[i, i] * b[i]
    return np.tanh(a) * total, a, total


X = np.linspace(0.5, 1.5, 7)
PROGRAMS = {
    "float64": (running, X, 0.5),
    "numbers of NumPy's": (running, X, np.float64(0.25)),
    "float32": (running, X.astype(np.float32), np.float32(0.5)),
    "arrays of no axes": (running, X, np.array(0.5)),
    "int32": (running, np.arange(5, dtype=np.int32), np.int32(3)),
    "uint8": (running, np.arange(5, dtype=np.uint8), np.uint8(7)),
    "ints": (fibonacci, np.int64(1000), np.int64(0), np.int64(1)),
    "bools": (sieve, X),
    "complex": (julia, np.linspace(-1, 1, 6) * (1 + 0.5j), -0.4 + 0.6j),
    "complex64": (julia, (np.linspace(-1, 1, 6) * (1 + 0.5j)).astype(np.complex64), np.complex64(-0.4 + 0.6j)),
    "what is carried changes places": (swapped, X, X + 1),
    "more around": (triangle, X[:4, None] * X[:4], X[:4]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_kinds_and_changes(name):
    checked(*PROGRAMS[name])


def unaligned(x):
    memory = np.zeros(x.nbytes + 1, np.uint8)
    y = memory[1:].view(x.dtype)
    y[...] = x
    return y


def test_arguments_of_every_form():
    g = jit(triangle, engine="numpy")
    a = np.arange(49.0).reshape(7, 7) / 50
    wide = np.zeros((14, 7))
    wide[::2] = a
    for first in (a, a.T, np.asfortranarray(a), wide[::2], a[::-1], unaligned(a.ravel()).reshape(7, 7), a.view(np.dtype("f8", metadata={"a": 1}))):
        for second in (X, np.repeat(X, 2)[::2], unaligned(X)):
            agree(g(first, second), triangle(first, second), 1e-12)
    g = jit(lambda x: running(x, 0.5), engine="numpy")
    for made in (lambda: X.copy(), lambda: np.repeat(X, 2)[::2], lambda: unaligned(X), lambda: X[::-1].copy()[::-1]):
        ours, theirs = made(), made()
        agree(g(ours), running(theirs, 0.5), 1e-12)
        agree(ours, theirs, 1e-12)
    assert len(versions(g)) == 1


def test_several_signatures():
    g = jit(running, engine="numpy")
    for _ in range(2):
        for x in (X, X[:3], X.astype(np.float32), np.arange(4)):
            for s in (2.0, np.float32(2), np.int64(2)):
                if x.dtype.kind == "f" or isinstance(s, np.int64):
                    ours, theirs = x.copy(), x.copy()
                    agree(g(ours, s), running(theirs, s), 1e-6)
                    agree(ours, theirs, 1e-6)


def test_memory_of_results_is_theirs():
    def f(x, y):
        a, b, c = x + 0, x * 1, np.zeros(7)
        for i in range(7):
            a[i] += b[i]
            c[i] = a[i] + y[i]
        return a, b, c, y, x + y

    x, y = X.copy(), X.copy()
    a, b, c, same, _ = made = checked(f, x, y)(x, y)
    assert same is y and not any(np.shares_memory(p, q) for p in (a, b, c) for q in (a, b, c, x, y) if p is not q)
    assert all(m.flags.writeable for m in made)
    agree((x, y), (X, X), 0)


def test_what_is_read_later_is_not_stored_into():
    def f(x):
        a = np.tanh(x)
        b, c, e = a.copy(), a.copy(), np.exp(x)
        for i in range(1, 7):
            b[i] += b[i - 1]
            c[i] -= c[i - 1] * e[i]
            e[i] = 0.0
        return a, b, c, e

    checked(f, X)


def smooth(x, n=5):
    for _ in range(n):
        for i in range(1, len(x)):
            x[i] = 0.5 * (x[i] + x[i - 1])


def in_place(x):
    smooth(x)


def and_given(x):
    smooth(x)
    return x, x[1:3], x * 2


def before_and_after(x):
    y = x * 1
    smooth(x)
    return y, x.sum()


def between(x):
    smooth(x)
    y = x.copy()
    smooth(x, 3)
    return y, x[::-1] + 0


def left_as_made(x):
    y = x.copy()
    smooth(y)
    x[:] = y
    return y


def two(x, y):
    smooth(x)
    smooth(y)


def crossed(x, y):
    smooth(x)
    z = x.copy()
    smooth(x)
    x[:], y[:] = y * 1, z


def turned(x, y):
    smooth(x)
    y[:] = x[::-1]
    smooth(x)


IN_PLACE = {in_place: 1, and_given: 1, before_and_after: 1, between: 1, left_as_made: 1, two: 2, crossed: 2, turned: 2}


@pytest.mark.parametrize("f", IN_PLACE, ids=lambda f: f.__name__)
def test_arguments_that_loops_may_change_at_once(f):
    arrays = [X, X + 1][: IN_PLACE[f]]
    g = checked(f, *arrays)
    for made in (lambda x: np.repeat(x, 2)[::2], lambda x: unaligned(x), lambda x: x[::-1].copy()[::-1], lambda x: x.copy()):
        ours, theirs = [made(x) for x in arrays], [made(x) for x in arrays]
        memory, got = list(ours), g(*ours)
        agree(got, f(*theirs), 1e-12)
        agree(ours, theirs, 1e-12)
        out = [x for x in (got if isinstance(got, tuple) else (got,)) if isinstance(x, np.ndarray)]
        assert all(x is y for x, y in zip(ours, memory)) and all(x.flags.writeable for x in ours)
        if f is not and_given:
            assert not any(np.shares_memory(x, y) for x in out for y in ours)
    x = X.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        g(x, *arrays[1:])
    agree(x, X, 0)


def test_what_is_changed_at_once_is_not_copied():
    g = checked(in_place, X)
    (version,) = versions(g)
    space = version.straight.call.__globals__
    name, nest = next((k, x) for k, x in space.items() if getattr(x, "__name__", "").startswith("nest "))
    found, x = [], X.copy()
    space[name] = lambda *given: found.extend(given) or nest(*given)
    g(x)
    assert any(y is x for y in found)


def test_constants_stay_as_they_are():
    table = np.arange(7.0)

    def f(x):
        a, b = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]), table
        for i in range(7):
            a[i] += x[i] * b[i]
        return a

    g = checked(f, X)
    g(X)[...] = 0
    table[2] = 50
    agree(g(X), f(X), 1e-12)


def test_loops_in_branches():
    def f(x, y):
        if x[0] > 0:
            for i in range(1, len(x)):
                y[i] += y[i - 1] * x[i]
        else:
            y = y * 2
        return y

    for x in (X, -X):
        checked(f, x, X + 1)


def test_gradients():
    f = lambda x, s: running(x * 1.0, s)[0]
    g = jit(grad(f, argnums=(0, 1)), engine="numpy")
    want = grad(f, argnums=(0, 1))
    for _ in range(2):
        agree(g(X, 0.5), want(X, 0.5), 1e-12)
    assert all(v.engine for v in versions(g))


def test_errors_leave_arguments_alone():
    def f(x, at):
        for i in range(len(at)):
            x[at[i]] += x[i]
        return x.sum()

    g = checked(f, X, np.array([1, 3, 0]))
    for bad, said in ((np.array([1, 7, 0]), "index 7 is out of bounds"), (np.array([1, 3, -9]), "index -9 is out of bounds")):
        for _ in range(2):
            x = X.copy()
            with pytest.raises(IndexError, match=said):
                g(x, bad)
            agree(x, X, 0)
    x = X.copy()
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        g(x, np.array([1, 3, 0]))


def test_arguments_that_share_memory():
    def f(x, y):
        for i in range(len(x)):
            x[i] += y[i] * 2
        return x.sum()

    g = checked(f, X, X + 1)
    ours, theirs = np.arange(8.0), np.arange(8.0)
    with pytest.warns(match="shares memory with another array"):
        agree(g(ours[1:], ours[:-1]), f(theirs[1:], theirs[:-1]), 0)
    agree(ours, theirs, 0)


def test_threads():
    n = 3000  # long enough for other threads to run meanwhile
    f = jit(lambda x, s: running(x * 1.0, s), engine="numpy")
    want, wrong = [running(np.ones(n) * k, 0.5) for k in range(4)], []

    def work(k):
        x = np.ones(n) * k
        for _ in range(50):
            try:
                agree(f(x, 0.5), want[k], 1e-12)
            except AssertionError as error:
                wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong and all(v.engine for v in versions(f))


@pytest.mark.parametrize("seed", range(2000, 2006))
def test_random_windows(seed):
    """Loops that read and write windows of arrays: the same bits, on arrays of every layout."""
    func, xs = random_windows.program(seed), random_windows.arguments(seed)
    xs = [(np.copy, np.asfortranarray, lambda x: np.repeat(x, 2, axis=-1)[..., ::2])[seed % 3](x) for x in xs]
    before = copy.deepcopy(xs)
    for got, want in zip(results(func, xs), evaluate(func, xs), strict=True):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    agree(xs, before, 0)


# -- ops of which NumPy has only a spelling with loops --------------------------------------------------


@pytest.mark.parametrize("op", LOOPED, ids=lambda op: op.name)
def test_ops_with_loops_of_their_own(op):
    found = 0
    for c in op.cases:
        operands, attrs, _ = draw(op, c)
        func = func_of(op, operands, attrs)
        if not is_loop_free(func, machine_code):
            assert any(x.ndim > 2 for x in operands)
            continue
        want = op.body(*operands, **attrs)
        for got, wanted in zip(results(func, operands), want if op.multiple else (want,), strict=True):
            assert got.dtype == wanted.dtype
            agree(got, wanted, 1e-5 if wanted.dtype.char in "fF" else 1e-12)
        found += 1
    assert found >= 6


@pytest.mark.parametrize("n", [1, 2, 7, 33])
def test_systems_and_determinants(n):
    a, b = np.random.default_rng(n).normal(size=(n, n)), np.arange(n) + 1.0
    for f, args in ((np.linalg.solve, (a, b)), (np.linalg.det, (a,)), (np.linalg.slogdet, (a.astype(np.float32),)), (np.linalg.inv, (a + 1j,))):
        g = jit(lambda *args, f=f: tuple(f(*args)) if f is np.linalg.slogdet else f(*args), engine="numpy")
        for _ in range(2):
            agree(g(*args), tuple(f(*args)) if f is np.linalg.slogdet else f(*args), 1e-3 if f is np.linalg.slogdet else 1e-9)
        assert bool(versions(g)[0].engine) == (n <= LARGEST or f in (np.linalg.solve, np.linalg.inv))
        if f is not np.linalg.slogdet and n > 1:
            if f is np.linalg.det:
                assert g(np.ones((n, n))) == 0
            else:
                with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
                    g(np.ones((n, n), args[0].dtype), *args[1:])


# -- the function itself ---------------------------------------------------------------------------


def test_a_nest_takes_what_it_was_made_for_and_nothing_else():
    types = [parse_type(t) for t in ("f64[]", "i64[]", "bool[]", "c64[]", "f32[3,2]", "i64[4]", "f64[]")]

    def body(i, a, n, truth, z, x, at, total):
        return dynamic_update_slice(at, reshape(n, shape=(1,)), i), total + a

    nest = native.callable_nest(types, loop.complete({"body": region(body, [COUNTER, *types]), "carried": 2, "trips": 3}))
    call, again = native.builtin(nest), native.again(nest)
    values = {
        ("argument", 0): 1.5, ("argument", 1): np.int64(7), ("argument", 2): np.True_, ("argument", 3): np.complex64(1j),
        ("argument", 4): np.zeros((3, 2), np.float32), ("argument", 6): np.float64(2.0),
    }  # fmt: skip
    at = np.zeros(4, np.int64)
    values |= {("result", 0): at}
    given = lambda changed: [{**values, **changed}[b] for b in nest.buffers if b != ("result", 1)]
    found, total = call(*given({}))
    assert found is at and at.tolist() == [7, 7, 7, 0] and total == 6.5 and type(total) is np.float64
    # Python reads the definition of a function that goes, when the collector may have emptied all that this one holds
    place = ctypes.c_void_p.from_address(id(call) + object.__basicsize__).value - call.__self__.ctypes.data
    assert 0 < place <= call.__self__.base.nbytes - ctypes.sizeof(direct.Definition)
    others = {
        ("argument", 0): [2, np.float32(1), np.array(1.5), None, "x"], ("argument", 1): [7, np.int32(7), np.array(7), True],
        ("argument", 2): [1, 1.0, None],
        ("argument", 4): [np.zeros((2, 3), np.float32), np.zeros((3, 2)), np.zeros((2, 3), np.float32).T, np.zeros((3, 2, 1), np.float32), [0] * 6],
        ("result", 0): [np.zeros(8, np.int64)[::2], np.zeros(5, np.int64), np.zeros(4, np.uint64), np.zeros(4, ">i8"), np.zeros((4, 1), np.int64)],
    }  # fmt: skip
    for place, kinds in others.items():
        for x in [*kinds, True, *([] if place == ("result", 0) else [None, False])]:
            if place == ("argument", 2) and type(x) is bool:
                continue  # a bool of Python's is one
            at[...] = 0
            assert call(*given({place: x})) is None and at.sum() == 0
    good = given({})
    assert call() is None and call(*good, 1) is None and call(*good[:-1]) is None
    strided = np.zeros(8, np.int64)
    found, total = again(*given({("result", 0): strided[::2], ("argument", 2): 1, ("argument", 1): np.longlong(7)}))
    assert strided.tolist() == [7, 0, 7, 0, 7, 0, 0, 0] and total == 6.5 and found.base is strided
    with pytest.raises(SystemError, match="other arguments"):
        again(*given({("result", 0): np.zeros(5, np.int64)}))


def test_a_nest_makes_its_results():
    """Numbers of every kind, and arrays of their own where it is given none; nothing is kept of what it made or was given."""
    for name in ("f64", "f32", "i64", "i8", "u16", "bool", "c64", "c128"):
        t, u = parse_type(f"{name}[]"), parse_type(f"{name}[2,3]")

        def body(i, x, state, last):
            return OPS["broadcast"](reshape(x, shape=(1, 1)), shape=(2, 3), dims=(0, 1)), x

        nest = native.callable_nest([t, u, t], loop.complete({"body": region(body, [COUNTER, t, u, t]), "carried": 2, "trips": 1}))
        call, dtype = native.builtin(nest), np.dtype(t.dtype.name)
        x, mine = dtype.type(1), np.zeros((2, 3), dtype)
        held = [sys.getrefcount(y) for y in (dtype, mine, x)]
        for given in (native.FRESH, native.ZEROED, mine) * 20:
            state, last = call(x, given, x)
            assert type(last) is dtype.type and last == x and (dtype != bool or last is np.True_)  # noqa: E721
            assert state.dtype is dtype and state.shape == (2, 3) and (state == x).all() and state.flags.owndata
            assert state is mine if given is mine else sys.getrefcount(state) == 2
        del state, last, given
        assert [sys.getrefcount(y) for y in (dtype, mine, x)] == held


def test_where_objects_are_laid_out_otherwise(monkeypatch):
    assert objects.laid_out() and objects.works()
    for name, value in (("FLAGS", objects.FLAGS - 4), ("RANK", objects.RANK + 4), ("DTYPE", objects.DTYPE - 8), ("TYPE", objects.TYPE - 8)):
        with monkeypatch.context() as change:
            change.setattr(objects, name, value)
            assert not objects.laid_out()
    monkeypatch.setattr(direct, "refusal", lambda: "not here")
    f = jit(running, engine="numpy")
    agree(f(X.copy(), 0.5), running(X.copy(), 0.5), 1e-12)
    assert all(v.engine for v in versions(f)) and ": in Python: not here" in f.explain()


# -- which of the two ------------------------------------------------------------------------------


def test_what_xla_cannot_make_faster_it_never_sees(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "LAUNCH", 1.0)
    monkeypatch.setattr(dispatch, "lower", None)
    f, x = jit(running), X.copy()
    agree(f(x, 0.5), running(X.copy(), 0.5), 1e-12)
    agree(x[-1], f(X.copy(), 0.5)[0], 0)
    (version,) = versions(f)
    assert version.straight and "runs         as NumPy, 1 loop as machine code: " in f.explain() and "was not asked to compile it" in f.explain()
    assert [line.split(":", 2)[-1].strip() for line in f.explain().splitlines() if line.startswith("    loop")] == ["native"]


def test_what_xla_might_make_faster_is_timed(monkeypatch):
    monkeypatch.setattr(backend_choice, "CHOICE", None)
    monkeypatch.setattr(backend_choice, "LAUNCH", 0.0)
    monkeypatch.setattr(backend_choice, "LITTLE", 0.0)
    for cost, said in ((1e-6, "as NumPy, 1 loop as machine code: 1 us as NumPy, 100 us through XLA"), (1.0, "through XLA: 1 s as NumPy, 100 us")):
        monkeypatch.setattr(backend_choice, "turns", lambda forms, n, ready=0, cost=cost: (cost, 1e-4)[-len(forms) :])
        shared.forget_shared()
        f = jit(running)
        agree(f(X.copy(), 0.5), running(X.copy(), 0.5), 1e-12)
        assert f"runs         {said}" in f.explain() and bool(versions(f)[0].engine) == (cost < 1e-4)


def test_of_loops_that_are_not_native_python_makes_few_trips_of_long_rows():
    def f(x, n, c):
        before, y = x, x * c
        for i in range(n):
            x, y = np.fmod(y, 0.7) * 2 + i, x - 1
            y[1:3] = 0.5 * c
        return x, y, before

    def compiled(f, x, *args, **options):
        shared.forget_shared()
        g = jit(f, **options)
        for _ in range(2):
            agree(g(x.copy(), *args), f(x.copy(), *args), 1e-12)
        return g

    for n, size, taken in ((3, 50, True), (0, 50, True), (3, 20, False), (1000, 50, False)):
        x = np.linspace(-1, 1, size)
        g = compiled(f, x, n, 0.3, engine="numpy")
        assert versions(g)[0].engine and (f"in Python: rem of {size} elements" in g.explain()) == (n > 0)
        assert all(by_python(e) == taken for e in versions(g)[0].func.eqns if e.op is loop)
    h = compiled(lambda x: running(x * 1.0, 0.5), X, engine="numpy", native=False)
    assert versions(h)[0].engine and "native" not in h.explain()


def test_nothing_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked(running, X * np.inf, 0.0)


@pytest.mark.parametrize("first, then", [(a + n, b + n) for n in "1248" for a, b in ("iu", "ui")])
def test_machine_code_is_shared_by_signed_and_unsigned(first, then):
    def copied(x):
        for i in range(1, len(x)):
            x[i] = x[i - 1]
        return x

    for dtype in (first, then, first):
        checked(copied, np.arange(40, dtype=dtype))
