"""Nests of symbolic sizes: one machine code agrees with NumPy at all sizes that it covers, stays within memory, and refuses the others."""

import concurrent.futures
import copy
import functools
import importlib.util
import signal

import numpy as np
import pytest
from compare import agree
from random_shared import however_small
from sized_nests import SizedProgram, checked_at, looked_at, refuse

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.native import parallel, size_text
from wengert.backends.native.build import address
from wengert.backends.native.legal import emitted
from wengert.backends.native.size_free import SizeFreeNest
from wengert.backends.native.size_text import fitted_to, unified_lines
from wengert.ir.dims import Dim, parse_dim
from wengert.ir.ops.control import COUNTER, loop, region
from wengert.ir.ops.shape import dynamic_slice, dynamic_update_slice
from wengert.ir.sample import Decisions, Unalike, decide, deciding
from wengert.ir.types import parse_type

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")

SIZES = 6, 7, 23, 38, 61, 80


def of(*sizes):
    return [{"n": n} for n in sizes]


def running(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] * 0.5 + x[i]
    return x, x[-1]


def sieve(x):
    found = np.ones(len(x), bool)
    for i in range(2, len(x)):
        for j in range(2, i):
            if i % j == 0:
                found[i] = False
    return found, found.any()


def julia(z):
    count = np.zeros(z.shape, np.int32)
    for i in range(len(z)):
        for _ in range(20):
            if abs(z[i]) > 2:
                break
            z[i] = z[i] * z[i] + (-0.4 + 0.6j)
            count[i] += 1
    return count, z


def triangle(a, b):
    for i in range(len(a)):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
    total = 0.0
    for i in range(len(a)):
        total += a[i, i] * b[i]
    return a, total


def relaxed(u):
    u = u.copy()
    change = 1.0
    while change > 1e-3:
        inner = 0.5 * (u[:-2] + u[2:])
        change = np.max(np.abs(inner - u[1:-1]))
        u[1:-1] = inner
    return u


def backwards(x, y):
    out = np.zeros(len(x))
    for i in range(len(x) - 1, -1, -1):
        out[i] = x[-1 - i] * y[i // 2] + (out[i + 1] if i + 1 < len(x) else 0.0)
    return out


def places(x, k):
    out, best = np.zeros(len(x)), 0
    for i in range(len(x)):
        out[k[i]] += x[i]
        if x[k[i]] > x[best]:
            best = i
    return out, best


def rows(a):
    for i in range(1, len(a)):
        a[i] = a[i] + a[i - 1, ::-1]
        a[:, i] = a[:, i] * 0.5 + a[:, 0]
    return a.sum(axis=0), a


def padded(x):
    for _ in range(3):
        p = np.zeros(len(x) + 2)
        p[1:-1] = x
        x = p[:-2] + p[2:] - x
    return np.concatenate([x, x[:2]])


def narrow(x):
    s = np.float32(0)
    for i in range(len(x)):
        s = s * np.float32(0.5) + x[i] / np.float32(len(x))
        x[i] = s
    return x, s


def square(n, rng):
    return rng.random((n, n)) + np.eye(n)


PROGRAMS = {
    "recurrence": (running, lambda n, rng: (rng.random(n),)),
    "bools, a triangle of trips": (sieve, lambda n, rng: (rng.random(n),)),
    "complex": (julia, lambda n, rng: (rng.normal(size=n) + 1j * rng.normal(size=n),)),
    "a matrix, rows of changing length": (triangle, lambda n, rng: (square(n, rng), rng.random(n))),
    "until it changes little": (relaxed, lambda n, rng: (rng.random(n),)),
    "backwards": (backwards, lambda n, rng: (rng.random(n), rng.random(n))),
    "places from data": (places, lambda n, rng: (rng.random(n), rng.integers(0, n, n))),
    "rows and columns": (rows, lambda n, rng: (square(n, rng),)),
    "a frame, parts": (padded, lambda n, rng: (rng.random(n),)),
    "float32": (narrow, lambda n, rng: (rng.random(n).astype(np.float32),)),
    "gradient of a recurrence": (grad(lambda x: np.sum(running(x.copy())[0] ** 2)), lambda n, rng: (rng.random(n),)),
    "gradient of sweeps": (grad(lambda x: np.sum(padded(x) ** 2)), lambda n, rng: (rng.random(n),)),
    "gradient of rows": (grad(lambda a: np.sum(rows(a.copy())[0])), lambda n, rng: (square(n, rng),)),
}


def of_program(name):
    """(sizes -> its function in the IR, sizes -> arguments)"""
    f, draw = PROGRAMS[name]
    arguments = lambda sizes: draw(sizes["n"], np.random.default_rng(sizes["n"]))
    return functools.cache(lambda *items: jit(f).ir(*arguments(dict(items)))), arguments


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_code_agrees_at_all_sizes_and_stays_in_memory(name):
    traced, arguments = of_program(name)
    assert checked_at(lambda sizes: traced(*sizes.items()), of(*SIZES), of(8, 9, 37, 64), arguments) == "ran"


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_size(name):
    traced, arguments = of_program(name)
    assert checked_at(lambda sizes: traced(*sizes.items()), of(*SIZES), of(*range(6, 81)), arguments) == "ran"


def shared_rows(a):
    out, s = np.zeros(len(a)), 0.0
    for i in range(len(a)):
        y = np.cumsum(a[i])
        out[i] = y[::2].sum() + y.max()
        s += out[i]
    return out, s, np.exp(a) * a + a[0]


SHARED = {
    "trips": (shared_rows, lambda n, rng: (square(n, rng),)),
    "rows of a matrix and vector": (lambda a, x: np.sin(a @ x) + a.sum(1), lambda n, rng: (square(n, rng), rng.random(n))),
    "bools, a triangle of trips": PROGRAMS["bools, a triangle of trips"],
    "complex": PROGRAMS["complex"],
}


@pytest.mark.parametrize("name", SHARED)
def test_threads_share_loops_of_all_sizes(name, monkeypatch):
    """However little they do: then they are cut into as many parts as there may be."""
    monkeypatch.setattr(parallel, "thread_count", lambda: 2)
    monkeypatch.setitem(PROGRAMS, name, SHARED[name])
    traced, arguments = of_program(name)
    shared, init = [], SizeFreeNest.__init__

    def counted(one, *given):
        init(one, *given)
        shared.extend(one.parts)

    monkeypatch.setattr(SizeFreeNest, "__init__", counted)
    with however_small():
        assert checked_at(lambda sizes: traced(*sizes.items()), of(*SIZES), of(8, 9, 37, 64), arguments) == "ran"
    assert shared


def test_a_loop_of_any_size_is_one_part_where_it_does_little(monkeypatch):
    monkeypatch.setattr(parallel, "thread_count", lambda: 2)
    traced, _ = of_program("complex")
    program = SizedProgram(traced, of(2000, 2001, 2600, 2900, 2750))
    (part,) = [part for one in program.nests for part, *_ in one.parts]
    assert part.name == "part0" and f", {parallel.LEAST}\n" in program.nests[0].text()


def test_two_sizes():
    def table(x, y):
        t = np.zeros((len(x) + 1, len(y) + 1))
        for i in range(len(x)):
            for j in range(len(y)):
                t[i + 1, j + 1] = max(t[i, j + 1], t[i + 1, j]) + x[i] * y[j]
        return t

    samples = [{"n": n, "m": m} for n, m in ((5, 9), (6, 40), (33, 7), (12, 12), (40, 33), (20, 5), (9, 21))]
    arguments = lambda sizes: (np.arange(sizes["n"]) * 0.1, np.arange(sizes["m"]) * 0.3)
    traced = lambda sizes: jit(table).ir(*arguments(sizes))
    assert checked_at(traced, samples, [{"n": 40, "m": 5}, {"n": 5, "m": 40}, {"n": 17, "m": 18}], arguments) == "ran"


# -- what makes the code alike --------------------------------------------------------------------


def running_nest(sizes=SIZES):
    traced, _ = of_program("recurrence")
    program = SizedProgram(traced, of(*sizes))
    (one,) = program.nests
    return program, one


def test_one_compilation_and_numbers_as_expressions():
    _, one = running_nest()
    assert "icmp slt i64 %v" in one.text() and str(SIZES[2] - 1) not in one.text().partition("declare")[0]
    assert one.names == ["n"] and [str(c) for c in one.conditions] == ["n - 1"]
    assert one.function is one.function


def test_thresholds_follow_the_largest_sample():
    """Rows of a product are added up in another way from some length on."""
    def products(a, x):
        for i in range(len(x)):
            x = 0.1 * (x @ a) + i
        return x

    arguments = lambda sizes: (np.ones((sizes["n"], sizes["n"])) / sizes["n"], np.arange(1.0 * sizes["n"]))
    traced = functools.cache(lambda *items: jit(products).ir(*arguments(dict(items))))
    nest = lambda n: emitted(*loop_of(traced(("n", n))), False, sized=True)
    assert nest(20).decisions != nest(90).decisions
    assert checked_at(lambda s: traced(*s.items()), of(20, 21, 60, 90, 75), of(47, 48, 64), arguments) == "ran"


def loop_of(func):
    (eqn,) = [e for e in func.eqns if e.op is loop]
    return eqn.op, tuple(x.type for x in eqn.operands), tuple(eqn.attrs.items())


def test_decisions_are_followed_in_order():
    log = Decisions()
    with deciding(log):
        assert decide("one", True) and not decide("two", False)
    with deciding(Decisions(log.made)) as again:
        assert decide("one", False)
        with pytest.raises(Unalike, match="at one sample it is asked for three, at another for two"):
            decide("three", True)
    with pytest.raises(Unalike, match="asked for two, at another for nothing"):
        again.finish()
    assert decide("anything", True)


LINES = {
    "a constant": (["  %v1 = alloca i64, i64 3, align {n}"], "where machine code has a constant"),
    "a case": (["  switch i64 %v1, label %b2 [ i64 {n}, label %b3 ]"], "where machine code has a constant"),
    "a vector": (["  %v1 = load <{n} x i8>, ptr %p0"], "where machine code has a constant"),
    "a name": (["  %v1 = add i64 %v{n}, 1"], "another at another size"),
    "no expression": (["  %v1 = add i64 %v2, {odd}"], "in no way that is known"),
    "a wrap": (["  %v1 = add i8 %v2, {big}"], "wraps"),
    "a float": (["  %v1 = fmul double %v2, {float}"], "a float hangs on a size"),
    "more": (["  ret void"], "more instructions"),
}


@pytest.mark.parametrize("name", LINES)
def test_what_is_not_alike(name):
    (line,), reason = LINES[name]
    texts = []
    for n in SIZES:
        told = {"n": n, "odd": n**5 % 97, "big": n + 100, "float": size_text.hex_float(1.0 / (n + 0.1))}
        texts.append([line.format(**told)] * (2 if name == "more" and n == 7 else 1))
    with pytest.raises(Unalike, match=reason):
        unified_lines(texts, fitted_to(of(*SIZES)))


FORMS = {
    "x": lambda n: n,
    "1/x": lambda n: type(n)(1) / n,
    "2/x": lambda n: type(n)(2) / n,
    "sqrt(x)": np.sqrt,
    "1/sqrt(x)": lambda n: type(n)(1) / np.sqrt(n),
}


@pytest.mark.parametrize("type", ["double", "float"])
@pytest.mark.parametrize("form", FORMS)
def test_floats_of_sizes(form, type):
    dtype = size_text.NUMPY[type]
    literal = lambda n: size_text.hex_float(FORMS[form](dtype(n + 3)))
    (line,) = unified_lines([[f"  %v1 = fmul {type} %v2, {literal(n)}"] for n in SIZES], fitted_to(of(*SIZES)))
    (slot,) = line[1].values()
    assert (str(slot.dim), slot.type, slot.form) == ("n + 3", type, form)
    assert all(slot.literal({"n": n}) == literal(n) for n in range(2, 500))


@pytest.mark.parametrize("text", ["2*n + 1", "n*n - 3*n", "n//4", "(n*n + n)//2", "7*n//2", "m*n - m", "(n - 90)//8"])
def test_sizes_are_computed_as_they_are_said(text):
    dim, names = parse_dim(text), ("m", "n")
    computed = size_text.Computed({name: f"%{name}" for name in names}, "d")
    found = computed.whole(dim)
    body = "\n".join(computed.lines)
    place, _ = address(f"define i64 @of(i64 %m, i64 %n) {{\n{body}\n  ret i64 {found}\n}}", "of")
    call = native.direct.ctypes.CFUNCTYPE(*[native.direct.ctypes.c_int64] * 3)(place)
    for m, n in ((1, 2), (5, 8), (4, 90), (7, 100), (3, 1000)):
        if text != "7*n//2" or n % 2 == 0:
            assert call(m, n) == dim.at({"m": m, "n": n})


# -- what it refuses ------------------------------------------------------------------------------


def test_objects_and_sizes_that_are_refused():
    _, one = running_nest((6, 8, 24, 38, 60, 80))
    call, x = one.function, np.arange(12.0)
    assert not call(12, x.copy())
    refused = [
        (13, x), (11, x), (5, x[:5]), (82, np.ones(82)),
        (7, x[:7].copy()), (12.0, x), (np.int64(12), x), (True, x),
        (2**70, x), (-(2**70), x), (-1, x), (12, np.arange(24.0)[::2]),
        (12, x.astype(np.float32)), (12, x[None]), (12, x, x), (), (12,),
    ]  # fmt: skip
    for given in refused:
        before = copy.deepcopy(given)
        assert call(*given) is True
        agree(given, before)
    assert one.covers({"n": 12}) and not any(one.covers({"n": n}) for n in (4, 7, 82, 13))


def test_what_a_dropped_check_takes_for_granted_is_tested_at_each_call():
    """A trip reads the element of its number, unchecked where the array has as many; how long it is need not grow with the trips."""
    def at(n, length):
        x = parse_type(f"f64[{length}]")
        body = region(lambda i, x, y: dynamic_update_slice(y, dynamic_slice(x, i, sizes=(1,)), i), [COUNTER, x, parse_type(f"f64[{n}]")])
        return region(lambda x, y: loop(x, y, body=body, carried=1, trips=n), [x, parse_type(f"f64[{n}]")])

    length = lambda n: n * n - 110 * n + 3060
    program = SizedProgram(functools.cache(lambda item: at(item[1], length(item[1]))), of(37, 38, 74, 101, 45, 64))
    (one,) = program.nests
    assert "smin" not in one.text().partition("define ptr @direct")[0]
    assert any(parse_dim("n*n - 111*n + 3060") == c for c in one.conditions)
    call, outside = looked_at(one)
    for n in range(37, 102):
        fits = length(n) >= n
        assert one.covers({"n": n}) == fits
        for f in (call, one.function):
            x, y = np.arange(1.0 * max(length(n), 0)), np.zeros(n)
            assert f(n, x, y) is not fits
            assert not fits or (y == x[:n]).all()
    assert outside() == 0


def test_what_holds_at_both_ends_and_not_between():
    """A part is computed in its place where it lies off what is read, before it or behind; at sizes in the middle it does not."""
    def at(n):
        def moved(x):
            for _ in range(3):
                x[50:60] = x[n : n + 10] * 2.0 + 1.0
            return x

        return moved

    arguments = lambda n: np.arange(160.0)
    traced = functools.cache(lambda item: jit(at(item[1])).ir(arguments(item[1])))
    with pytest.raises(Unalike, match="in no way that is known"):
        SizedProgram(traced, of(30, 31, 64, 100, 85, 70))
    program = SizedProgram(traced, of(60, 61, 64, 100, 85, 70))
    (one,) = program.nests
    for n in (*range(60, 101), 31):
        assert one.covers({"n": n}) == (n >= 60)
        if one.covers({"n": n}):
            agree(program.at({"n": n}, [one.function])(arguments(n))[0], at(n)(arguments(n)), 0)
        else:
            assert one.function(n, arguments(n)) is True
    assert not any(one.extended(program.sampled({"n": n})[0], {"n": n}) for n in (30, 45, 59))


def test_an_access_outside_of_memory_is_seen():
    _, one = running_nest()
    for k, line in enumerate(one.lines):
        if not isinstance(line, str) and line[0][2] == "icmp":
            one.lines[k] = line[0], {place: size_text.SizeSlot(slot.dim + 1, slot.type) for place, slot in line[1].items()}
    call, outside = looked_at(one)
    assert not call(12, np.zeros(16)[:12]) and outside() > 0


def test_a_range_grows_by_samples_that_agree():
    program, one = running_nest((10, 11, 20, 31, 25))
    sample = lambda n: program.sampled({"n": n})[0]
    x = np.arange(500.0)
    assert one.range_of("n") == (10, 31) and one.function(500, x) is True
    assert one.extended(sample(500), {"n": 500}) and one.range_of("n") == (10, 500)
    assert one.function(500, x) is False and one.covers({"n": 499})
    assert not one.extended(sample(600), {"n": 601}) and one.range_of("n") == (10, 500)
    other, _ = of_program("backwards")
    stranger = SizedProgram(other, of(10, 11, 20, 31, 25)).sampled({"n": 40})[0]
    assert not one.extended(stranger, {"n": 40})


def test_sizes_of_one_remainder():
    program, one = running_nest((9, 13, 25, 41, 33))
    assert one.covers({"n": 17}) and not one.covers({"n": 18})
    assert not one.extended(program.sampled({"n": 50})[0], {"n": 50}) and one.range_of("n") == (9, 41)


def test_memory_is_compared_at_each_sample():
    programs = [of_program(name)[0] for name in ("recurrence", "backwards", "until it changes little")]
    mixed = lambda item: programs[item[1] % 2](item)
    with pytest.raises(Unalike):
        SizedProgram(mixed, of(*SIZES))
    assert isinstance(Dim.symbol("n"), Dim)


# -- how it runs ----------------------------------------------------------------------------------


def test_objects_as_they_come_go_through_copies():
    traced, arguments = of_program("rows and columns")
    program = SizedProgram(traced, of(*SIZES))
    (one,) = program.nests
    for n in (6, 40):
        (a,) = arguments({"n": n})
        call = program.at({"n": n}, [one.function])
        for name, x in list(call.__globals__.items()):
            if x is refuse:
                call.__globals__[name] = one.again
        want = call(a.copy())
        turned = np.asfortranarray(a)
        for given in (turned, np.repeat(a, 2, axis=1)[:, ::2]):
            agree(call(given), want)
        assert (turned == a).all()


def test_scratch_memory_of_each_call_is_its_own():
    traced, arguments = of_program("a frame, parts")
    program = SizedProgram(traced, of(10, 11, 500, 2000, 4001))
    assert any(isinstance(size, Dim) for one in program.nests for _, _, size in one.memory()[1])
    calls = {n: program.at({"n": n}, [one.function for one in program.nests]) for n in (10, 700, 4001)}
    want = {n: call(*arguments({"n": n})) for n, call in calls.items()}
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for n, got in pool.map(lambda n: (n, calls[n](*arguments({"n": n}))), [10, 700, 4001] * 100):
            agree(got, want[n], 0)


def endless(x):
    s = 0.0
    while s < 1e300:
        s = s * 0.5 + x[0] * 0 + x.sum() * 0
    return s


def test_signals_are_heard():
    def raised(number, frame):
        raise TimeoutError

    program = SizedProgram(functools.cache(lambda item: jit(endless).ir(np.ones(item[1]))), of(*SIZES))
    call = program.at({"n": 40}, [one.function for one in program.nests])
    before = signal.signal(signal.SIGALRM, raised)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TimeoutError):
            call(np.ones(40))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_lines_of_the_user():
    _, one = running_nest()
    assert "!DILocation" not in one.text(lines=False)
    text, line = one.text(lines=True), running.__code__.co_firstlineno
    assert f"line: {line + 2}" in text and 'name: "nest running test_size_free.py' in text
    known = native.direct.wanted_objects(one.known[: one.known.count], "running")
    call = native.direct.builtin_function(native.build.machine_code(text), known)
    x = np.arange(12.0)
    assert call(12, x) is False and call.__name__ == "running"
    assert "running test_size_free.py" in one.function.__name__
