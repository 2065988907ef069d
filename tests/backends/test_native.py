"""Loops as machine code: every op of the tables against its NumPy meaning, nests against plain Python, and what is refused."""

import concurrent.futures
import ctypes
import importlib.metadata
import importlib.util
import math

import jax
import numpy as np
import pytest
import random_windows
from compare import agree
from op_cases import LOOSER, ULPS, close, draw

from wengert import grad, jit
from wengert.backends import native
from wengert.backends.native import build, ffi, layout
from wengert.backends.native import missing as lacking
from wengert.backends.native.complex import rule_for
from wengert.backends.native.nest import Nest
from wengert.backends.native.reduce import COMPUTED
from wengert.backends.native.scalar import CALLS, NATIVE
from wengert.backends.native.scatter import SCATTERS
from wengert.backends.native.shapes import SHAPES
from wengert.backends.xla import lower
from wengert.ir.core import Builder
from wengert.ir.op import OPS
from wengert.ir.ops.control import COUNTER, evaluate, loop, region
from wengert.ir.ops.shape import broadcast, dynamic_slice, dynamic_update_slice, reshape
from wengert.ir.text import parse
from wengert.ir.types import Tensor, parse_type, type_of
from wengert.ir.verify import verify
from wengert.tracer.call import shared

pytestmark = pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")

MOVES = [op for op in (*SHAPES.rules, *COMPUTED, *SCATTERS) if op.cases]


def run(func, operands):
    """The results of a function whose loops all run natively."""
    log = []
    with jax.enable_x64(True), native.asked(0, log):
        found = [np.asarray(x) for x in jax.jit(lambda *xs: lower(func, xs))(*operands)]
    assert [reason for _, reason in log] == [None] * len(log) and log
    return found


def held(t):
    return t.size > 0 and t.dtype != np.float16


def cases(op):
    """(op, operands, attrs, result) of the cases of an op whose types have a native form."""
    found = []
    for c in op.cases:
        operands, attrs, _ = draw(op, c)
        with np.errstate(all="ignore"):
            want = np.asarray(op.body(*operands, **attrs))
        there = op not in NATIVE.rules or rule_for(op, operands[0].dtype, want.dtype) is not None
        if there and all(held(type_of(x)) for x in (*operands, want)) and not any(attrs.get("interior", ())):
            found.append((op, operands, attrs, want))
    return found


def looped(trips, runs, body):
    """A program of one loop that leaves in as many arrays what `body(i, op, operands, attrs, out)` gives for each of `runs`, and its operands."""
    every = [x for _, operands, _, _ in runs for x in operands]
    outs = [np.zeros_like(want) for *_, want in runs]

    def step(i, *values):
        values, state, out = iter(values[: len(every)]), values[len(every) :], []
        for (op, operands, attrs, _), before in zip(runs, state):
            out.append(body(i, op, [next(values) for _ in operands], attrs, before))
        return tuple(out)

    inner = region(step, [COUNTER, *map(type_of, every), *map(type_of, outs)])
    build = Builder("looped")
    with build:
        params = [build.param(type_of(x)) for x in (*every, *outs)]
        results = loop(*params, body=inner, carried=len(outs), trips=trips)
    return verify(build.finish(results)), [*every, *outs]


def check(runs, trips, body):
    func, operands = looped(trips, runs, body)
    for got, (op, *_, want) in zip(run(func, operands), runs, strict=True):
        try:
            close(got, want, max(ULPS, LOOSER.get(op.name, 0)))
        except AssertionError as error:
            error.add_note(f"This is {op.name} of {[str(type_of(x)) for x in operands]}.")
            raise


def flat(x):
    return x if x.type.ndim == 1 else reshape(x, shape=(x.type.size,))


def element(i, op, xs, attrs, out):
    """One element a trip."""
    got = op(*(reshape(dynamic_slice(flat(x), i, sizes=(1,)), shape=()) for x in xs), **attrs)
    return reshape(dynamic_update_slice(flat(out), reshape(got, shape=(1,)), i), shape=out.type.shape)


def whole(i, op, xs, attrs, out):
    """All of it, in every trip."""
    return op(*xs, **attrs)


PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_scalar_operations(part):
    runs = [c for op in [*NATIVE.rules][part::PARTS] for c in cases(op)]
    check(runs, max(want.size for *_, want in runs), element)


def tangents(x):
    y = np.empty_like(x)
    for i in range(len(x)):
        y[i] = np.tanh(x[i])
    return y


def test_tanh_is_as_near_as_that_of_numpy():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=4000) * 2, 10.0 ** rng.uniform(-300, 2, 1000), [0.625, np.nextafter(0.625, 0), 1e308]])
    with native.asked(0):
        got, want = jit(tangents)(x), np.vectorize(math.tanh)(x)
        ends = jit(tangents)(np.array([0.0, -0.0, np.inf, -np.inf, np.nan]))
    assert np.max(np.abs(got - want) / np.spacing(np.abs(want))) <= 3
    np.testing.assert_array_equal(ends, [0.0, -0.0, 1.0, -1.0, np.nan])
    assert not np.signbit(ends[0]) and np.signbit(ends[1])


def framed(x, n):
    for _ in range(n):
        y = np.pad(x, 1)
        x = y[:-2] + 0.5 * y[1:-1] - y[2:]
    return x


def test_a_frame_that_is_read_in_several_places_is_in_memory():
    """Otherwise each read chooses the side of the edge it lies on, and is no vector."""
    x = np.arange(50.0)
    (eqn,) = [e for e in jit(framed).ir(x, 3).eqns if e.op is loop]
    text = Nest(eqn.op, [o.type for o in eqn.operands], eqn.attrs).text()
    assert "select" not in text and "llvm.smax" not in text
    with native.asked(0):
        np.testing.assert_array_equal(jit(framed)(x, 3), framed(x, 3))


@pytest.mark.parametrize("part", range(PARTS))
def test_arrays(part):
    check([c for op in MOVES[part::PARTS] for c in cases(op)], 2, whole)


SUMS = [  # long rows are added up one after another
    ("dot_general", [(9, 4), (4, 8)], {"contract": ((1,), (0,)), "batch": ((), ())}),
    ("dot_general", [(4, 9), (4,)], {"contract": ((0,), (0,)), "batch": ((), ())}),
    ("dot_general", [(3,), (3, 11)], {"contract": ((0,), (0,)), "batch": ((), ())}),
    ("dot_general", [(2, 5, 3), (2, 3, 8)], {"contract": ((2,), (1,)), "batch": ((0,), (0,))}),
    ("dot_general", [(2, 3, 9), (3, 2)], {"contract": ((0, 1), (1, 0)), "batch": ((), ())}),
    ("dot_general", [(9, 4), (8, 4)], {"contract": ((1,), (1,)), "batch": ((), ())}),
    ("reduce_sum", [(5, 9)], {"axes": (0,)}),
    ("reduce_sum", [(3, 4, 2, 8)], {"axes": (0, 2)}),
    ("reduce_sum", [(4, 9)], {"axes": (1,)}),
]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
def test_sums_of_rows(dtype):
    rng, runs = np.random.default_rng(5), []
    for name, shapes, attrs in SUMS:
        xs = [rng.integers(-9, 9, shape).astype(dtype) for shape in shapes]
        xs = [x + 1j * rng.integers(-9, 9, x.shape) for x in xs] if dtype == "c16" else xs
        runs.append((OPS[name], xs, attrs, np.asarray(OPS[name].body(*xs, **attrs))))
    check(runs, 1, whole)


def test_rows_of_operations():
    """Elementwise operations of rows, those that XLA has no vector forms of."""
    check([c for op in NATIVE.rules if op not in CALLS for c in cases(op)[:1]], 2, whole)


# -- nests -----------------------------------------------------------------------------------------


def factor(a):
    """A = L L^T, by rows."""
    for i in range(len(a)):
        for j in range(i):
            a[i, j] = (a[i, j] - a[i, :j] @ a[j, :j]) / a[j, j]
        a[i, i] = np.sqrt(a[i, i] - a[i, :i] @ a[i, :i])
    return a


def eliminate(a):
    """A = L U without pivots, both in the place of A."""
    n = len(a)
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def smooth(a):
    """Each cell from its neighbours, old and new."""
    for _ in range(3):
        for i in range(1, len(a) - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1] + a[i, j]) / 5
    return a


def rows(a):
    """The same, a row at a time, of which the row itself is read shifted."""
    for i in range(1, len(a) - 1):
        a[i, 1:-1] = a[i - 1, 1:-1] + a[i + 1, :-2] - 0.5 * a[i, 2:]
    return a


def pairing(s):
    """The most pairs that fold."""
    n = len(s)
    t = np.zeros((n, n), int)
    for i in range(n - 2, -1, -1):
        for j in range(i + 1, n):
            best = max(t[i + 1, j], t[i, j - 1])
            if s[i] + s[j] == 3:
                best = max(best, t[i + 1, j - 1] + 1)
            for k in range(i + 1, j):
                best = max(best, t[i, k] + t[k + 1, j])
            t[i, j] = best
    return t


def checksum(data):
    crc = 0xFFFF
    for byte in data:
        crc = crc ^ int(byte)
        for _ in range(8):
            if crc & 1:
                crc = (crc >> 1) ^ 0xA001
            else:
                crc >>= 1
    return crc


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        if steps > 200:
            break
    return steps, n


def first_above(x, level):
    for i in range(len(x)):
        if x[i] > level:
            return i, x[i]
    return -1, 0.0


def triangle(a, x):
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = a[i, : i + 1].sum() + a[i, i:].max() - x[: i + 1].min() + (a[i, :i] * x[:i]).sum()
    return out


def swaps(a):
    for i in range(len(a) // 2):
        row = a[i].copy()
        a[i] = a[-1 - i]
        a[-1 - i] = row * 2
    return a


def overlap(x):
    for i in range(len(x) // 2):
        x[1:] = x[:-1] + 0.5
        x[:3] = x[2::-1]
        x[i] = x[::-1].sum() * 0.01
    return x


def backwards(r):
    y = np.zeros(len(r))
    y[0], alpha = -r[0], -r[0]
    for k in range(1, len(r)):
        alpha = -(r[k] + r[:k][::-1] @ y[:k]) / (2 - alpha * alpha)
        y[:k] += alpha * y[:k][::-1]
        y[k] = alpha
    return y


def missing(x):
    top, low, total = -np.inf, np.inf, 0.0
    for i in range(len(x)):
        top, low = np.maximum(top, x[i]), np.minimum(low, x[i])
        total = total + (x[i] if x[i] == x[i] else 0.0)
    return top, low, total, x.max()


def table_of(x, index):
    out = np.zeros(len(index))
    for i in range(len(index)):
        out[i] = x[index[i] % len(x)] + x[index[:4] % len(x)].sum()
    return out


def calculus(x):
    s = 0.0
    for i in range(len(x)):
        s = np.tanh(s) + np.exp(-x[i] ** 2) * np.sin(x[i]) + np.log1p(abs(x[i]))
    return s


def fractal(c):
    n = np.zeros(len(c), int)
    for i in range(len(c)):
        z = 0j
        while abs(z) <= 2.0 and n[i] < 50:
            z = z * z + c[i]
            n[i] += 1
    return n, (c / (c + 1j)).sum()


def sorted_in_place(x):
    for i in range(1, len(x)):
        k = i
        while k > 0 and x[k - 1] > x[k]:
            x[k - 1], x[k] = x[k], x[k - 1]
            k -= 1
    return x


def spread(a):
    """a + n times the identity, made definite."""
    return a @ a.T + len(a) * np.eye(len(a))


RNG = np.random.default_rng(5)
A, X = RNG.standard_normal((12, 12)), RNG.standard_normal(24)
PROGRAMS = {
    factor: [spread(A)], eliminate: [spread(A)], smooth: [A], rows: [A], pairing: [RNG.integers(0, 4, 14)],
    checksum: [RNG.integers(0, 256, 40).astype("u1")],
    collatz: [np.int64(27)], first_above: [X, 1.5], triangle: [A, X[:12]], swaps: [A], overlap: [X], backwards: [X * 0.1],
    fractal: [X[:12] + 1j * X[12:]], missing: [np.where(np.arange(24) == 7, np.nan, X)],
    table_of: [X, RNG.integers(-50, 50, 30)], calculus: [X], sorted_in_place: [X],
}  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_nests(function):
    plain, mine = ([np.copy(x) if isinstance(x, np.ndarray) else x for x in PROGRAMS[function]] for _ in range(2))
    log = []
    with np.errstate(all="ignore"):
        want = function(*plain)
    with native.asked(0, log):
        got = jit(function)(*mine)
    assert log and all(reason is None for _, reason in log), log
    agree(got, want, 1e-10)
    agree(mine, plain, 1e-10)


@pytest.mark.parametrize("function", [factor, triangle, calculus, overlap], ids=lambda f: f.__name__)
def test_gradients_of_nests(function):
    """The loop back is a loop like any other."""

    def loss(*args):
        return np.tanh(function(*args)).sum()

    def found(least, log=None):
        with native.asked(least, log):
            return grad(loss)(*map(np.copy, PROGRAMS[function]))

    log = []
    agree(found(0, log), found(None), 1e-10)
    assert sum(reason is None for _, reason in log) >= 1


GIVEN = """
func f(%x: f64[4]) -> f64[4] {
  %0 = loop %x carried=1 trips=2 : f64[4]
    body: func(%i: i64[], %x: f64[4]) -> f64[4] {
      %0 = loop 2:i64[], -7:i32[], %x carried=1 trips=3 : f64[4]
        body: func(%i: i64[], %k: i64[], %l: i32[], %x: f64[4]) -> f64[4] {
          %0 = dynamic_slice %x, %k sizes=[1]  : f64[1]
          %1 = dynamic_slice %x, %l sizes=[1]  : f64[1]
          %2 = add %0, %1                      : f64[1]
          %3 = dynamic_update_slice %x, %2, %i : f64[4]
          return %3
        }
      return %0
    }
  return %0
}
"""


def test_numbers_given_to_a_loop():
    func, x = parse(GIVEN), np.array([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_array_equal(run(func, [x])[0], evaluate(func, [x])[0])


@pytest.mark.parametrize("seed", range(1000, 1008))
def test_random_windows(seed):
    """Loops that read and write windows of arrays, overlapping, repeated, clamped, nested: the same bits."""
    func, xs = random_windows.program(seed), random_windows.arguments(seed)
    for got, want in zip(run(func, xs), evaluate(func, xs), strict=True):
        np.testing.assert_array_equal(got, want)


# -- what is refused -------------------------------------------------------------------------------


def complexes(z):
    for i in range(len(z)):
        z[i] = np.exp(z[i] * 1j)
    return z


def halves(x):
    for i in range(len(x)):
        x[i] = x[i] + 1
    return x


def prints(x):
    for i in range(len(x)):
        print(x[i])
        x[i] = i
    return x


def curves(x):
    for _ in range(100):
        x = np.fmod(x, 0.7) * 1.01
    return x


def sorts(x):
    for _ in range(100):
        x = np.cumsum(np.sort(x)) * 0.1
    return x


def products(a):
    for _ in range(100):
        a = a @ a % 7
    return a


REFUSED = [
    (halves, [np.ones(99, np.float16)], "float16 has no native form"),
    (complexes, [np.ones(99, complex)], "exp of complex numbers has no native form"),
    (curves, [np.ones(64)], "rem of 64 elements a trip, which XLA computes in vectors"),
    (products, [np.eye(64, dtype=int)], "a product of 262144 multiplications a trip, for which there are libraries"),
    (sorts, [np.arange(50.0)], "sort has no native form"),
    (checksum, [np.zeros(2, "u1")], "too little work to pay"),
]


@pytest.mark.parametrize("function, args, reason", REFUSED, ids=[r[2][:20] for r in REFUSED])
def test_reasons(function, args, reason):
    log = []
    with native.asked(native.LEAST, log):
        agree(jit(function)(*map(np.copy, args)), function(*map(np.copy, args)))
    assert reason in [why for _, why in log]


def test_effects_are_left_to_xla(capsys):
    log = []
    with native.asked(0, log):
        jit(prints)(np.arange(3.0))
    assert [why for _, why in log] == ["host may have an effect"] and len(capsys.readouterr().out.split()) == 3


# -- what is around it -----------------------------------------------------------------------------


def test_nothing_is_written_beside_the_arrays():
    """Random starts, mostly out of range, and guards on both sides of every buffer."""
    rng = np.random.default_rng(11)

    def body(i, starts, x, y):
        at = reshape(dynamic_slice(starts, i, sizes=(1,)), shape=())
        part = dynamic_slice(x, at, i, sizes=(2, 3))
        y = dynamic_update_slice(y, reshape(part, shape=(6,)), at)
        x = dynamic_update_slice(x, reshape(dynamic_slice(y, i, sizes=(4,)), shape=(2, 2)), i, at)
        return x, dynamic_update_slice(y, broadcast(reshape(dynamic_slice(x, at, at, sizes=(1, 1)), shape=()), shape=(2,), dims=()), at)

    types = [Tensor((40,), np.dtype("i8")), parse_type("f64[5,7]"), parse_type("f64[9]")]
    attrs = loop.complete({"body": region(body, [COUNTER, *types]), "carried": 2, "trips": 40})
    nest = Nest(loop, types, attrs)
    starts = np.concatenate([rng.integers(-12, 12, 36), [2**63 - 1, -(2**63), 2**62, -1]])
    arrays = [starts, rng.standard_normal((5, 7)), rng.standard_normal(9)]
    assert nest.buffers == [("argument", 0), ("result", 0), ("result", 1)]
    want = loop.body(*arrays, **attrs)
    guarded = [np.full(x.nbytes + 512, 0xA5, np.uint8) for x in arrays]
    for memory, x in zip(guarded, arrays):
        memory[256:-256] = np.frombuffer(x.tobytes(), np.uint8)
    place, _ = build.address(nest.text(), "nest")
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(place)(*(m.ctypes.data + 256 for m in guarded))
    for memory, x in zip(guarded, (starts, *want)):
        assert (memory[:256] == 0xA5).all() and (memory[-256:] == 0xA5).all()
        np.testing.assert_array_equal(memory[256:-256].view(x.dtype).reshape(x.shape), x)


def running(x):
    x = x.copy()
    for i in range(1, len(x)):
        x[i] += x[i - 1]
    return x


def test_callers_arrays_are_theirs():
    """Carried arrays are updated in place, but never those of the caller."""
    with native.asked(0):
        x, y = np.arange(8.0), jax.numpy.arange(8.0)
        for given in (x, y):
            np.testing.assert_array_equal(jit(running)(given), np.cumsum(np.arange(8.0)))
            np.testing.assert_array_equal(given, np.arange(8.0))


def recurrence(x):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i] * x[i]
    return s


def test_under_transformations_of_jax():
    with jax.enable_x64(True), native.asked(0):
        f, x = jit(recurrence), jax.numpy.arange(6.0)
        np.testing.assert_allclose(jax.vmap(f)(jax.numpy.stack([x, 2 * x])), [recurrence(np.arange(6.0)), 4 * recurrence(np.arange(6.0))])
        np.testing.assert_allclose(jax.jit(jax.grad(f))(x), 2 * np.arange(6.0) * 0.5 ** np.arange(5, -1, -1))


def test_without_llvmlite_or_with_other_foreign_functions(monkeypatch):
    elsewhere = ffi.header().replace("  size_t struct_size;", "  size_t struct_size;\n  size_t more;")
    reasons = [("INSTALLED", False, "llvmlite is not installed"), ("header", lambda: elsewhere, "in a way that is not known")]
    for name, value, reason in [*reasons, ("header", str, "without the header")]:
        with monkeypatch.context() as change:
            change.setattr(ffi, name, value)
            ffi.refusal.cache_clear()
            shared.forget_shared()
            log = []
            with native.asked(0, log):
                assert jit(recurrence)(np.arange(5.0)) == recurrence(np.arange(5.0))
            assert reason in log[0][1]
    ffi.refusal.cache_clear()


@pytest.mark.parametrize("name, value, why", [
    ("INSTALLED", False, "llvmlite is not installed: pip install -U 'wengert[native]'"),
    ("OLDEST", (9, 9), "llvmlite {}.{} is too old, 9.9 is not: pip install -U 'wengert[native]'".format(*build.version())),
    ("header", str, f"jaxlib comes without the header of XLA's foreign functions (jaxlib {importlib.metadata.version('jaxlib')})"),
])  # fmt: skip
def test_what_it_costs_that_native_code_is_off_is_said_once(monkeypatch, capfd, name, value, why):
    monkeypatch.setattr(lacking, "TOLD", [])
    for module in (ffi, build):
        monkeypatch.setattr(module, name, value, raising=False)
    ffi.refusal.cache_clear()
    x = np.arange(500.0)
    try:
        for f, a in ((np.cumsum, x), (recurrence, x[:5]), (lambda x: [np.sort(x + i) for i in range(3)], x)):
            jit(f)(a)  # none of these has a loop that would be native
        jit(recurrence, native=False)(x)
        monkeypatch.setenv("WENGERT_PROGRESS", "0")
        jit(recurrence)(x)
        monkeypatch.delenv("WENGERT_PROGRESS")
        assert capfd.readouterr().err == ""
        assert jit(lambda x: recurrence(x))(x) == recurrence(x)
        jit(lambda x: recurrence(x) + 1)(x), grad(recurrence)(x)
        line = capfd.readouterr().err
    finally:
        ffi.refusal.cache_clear()
    assert line.startswith("wengert: loops such as that at test_native.py:") and line.count("\n") == 1
    assert line.endswith(f"2 to 60 times faster; {why}\n")


def test_layouts_of_foreign_functions_are_read_off_the_header():
    """Versions that differ in what handlers do not touch are one to us. A field that lies elsewhere is not read, nor a number of another meaning."""
    text = ffi.header()
    assert layout.unknown(text) is None and layout.Header(text).version() == ffi.version()
    minor = f"XLA_FFI_API_MINOR {ffi.version()[1]}"
    assert minor in text and layout.unknown(text.replace(minor, "XLA_FFI_API_MINOR 77")) is None
    assert layout.unknown(text.replace("struct XLA_FFI_Args {", "struct XLA_FFI_Others {\n  int x;\n};\n\nstruct XLA_FFI_Args {")) is None
    changes = [
        ("XLA_FFI_API_MAJOR 0", "XLA_FFI_API_MAJOR 1", "version 1."),
        (minor, "", "no version"),
        ("  XLA_FFI_ExecutionStage stage;\n  XLA_FFI_Args args;", "  XLA_FFI_Args args;\n  XLA_FFI_ExecutionStage stage;", "CallFrame.stage"),
        ("  XLA_FFI_DataType dtype;\n  void* data;", "  void* data;\n  XLA_FFI_DataType dtype;", "Buffer.dtype"),
        ("  void* data;\n  int64_t rank;", "  void* memory;\n  int64_t rank;", "Buffer.data"),
        ("  int64_t size;\n  XLA_FFI_RetType* types;", "  int64_t size;\n  int more;\n  XLA_FFI_RetType* types;", "Rets.rets"),
        ("  int64_t size;\n  XLA_FFI_ArgType* types;", "  int64_t size;\n  int more[2];\n  XLA_FFI_ArgType* types;", "Args: int more[2]"),
        ("  int64_t size;\n  XLA_FFI_ArgType* types;", "  int64_t size;\n  XLA_FFI_Other more;\n  XLA_FFI_ArgType* types;", "no type XLA_FFI_Other"),
        ("struct XLA_FFI_Metadata {", "struct XLA_FFI_Told {", "no Metadata"),
        ("  int64_t size;\n  XLA_FFI_AttrType* types;", "  int64_t size;\n  int more;\n  XLA_FFI_AttrType* types;", "Attrs.attrs"),
        ("  void (*deleter)(void* object);", "  size_t version;\n  void (*deleter)(void* object);", "TypeInfo.deleter"),
        ("  void (*deleter)(void* object);", "  void (*deleter)(void* object, int (*)(int));", "TypeInfo: void"),
        ("_XLA_FFI_API_STRUCT_FIELD(XLA_FFI_State_Set);", "", "Api.XLA_FFI_State_Set"),
        ("struct XLA_FFI_State_Get_Args {", "struct XLA_FFI_State_Take_Args {", "no State_Get_Args"),
        ("ExecutionStage_INSTANTIATE = 0", "ExecutionStage_INSTANTIATE = 7", "ExecutionStage_INSTANTIATE"),
        ("ExecutionStage_EXECUTE = 3", "ExecutionStage_EXECUTE = 4", "ExecutionStage_EXECUTE"),
        ("XLA_FFI_Extension_Metadata = 1", "XLA_FFI_Extension_Metadata = 1 << 4", "Extension_Metadata"),
    ]
    stage = "  XLA_FFI_ExecutionStage stage;\n  XLA_FFI_TypeId* type_id;"  # releases before 0.10 ask for none
    assert layout.unknown(text.replace(stage, "  XLA_FFI_TypeId* type_id;")) is None
    for old, new, what in changes:
        assert old in text and what in (layout.unknown(text.replace(old, new)) or ""), what
    assert layout.unknown("") == "no version"


def test_threads_compile_and_run_at_once():
    """A nest is compiled once, and has no state between calls."""
    f, x = jit(recurrence), RNG.standard_normal(500)

    def work(k):
        with native.asked(0):
            return [f(x * k) for _ in range(20)]

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for k, found in enumerate(pool.map(work, range(4))):
            np.testing.assert_allclose(found, recurrence(x * k), rtol=1e-12)


def test_explain_tells_the_form_of_each_loop():
    def f(x):
        for i in range(1, len(x)):
            x[i] += x[i - 1] * 0.5
        for _ in range(100):
            x = np.fmod(x, 0.7)
        return x

    on, off = jit(f), jit(f, native=False)
    agree(on(np.ones(99)), off(np.ones(99)))
    lines = [line.split(":", 2)[-1].strip() for line in on.explain().splitlines() if line.startswith("    loop")]
    assert lines == ["native", "through XLA: rem of 99 elements a trip, which XLA computes in vectors"]
    assert "    loop" not in off.explain()
