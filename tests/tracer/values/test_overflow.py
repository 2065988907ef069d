"""Python's ints have no end, the program's have 64 bits: a result is right, or the call raises and has changed nothing."""

import math
import warnings

import numpy as np
import pytest
from compare import agree

from wengert import jit
from wengert.tracer.common.errors import IntegerOverflow
from wengert.tracer.values import overflow

X = np.array([0.1, 0.7, 0.9])


def tripled(x, n):
    k, s = 1, 0.0
    for i in range(n):
        k = k * 3
        s = s + x[i % 3]
    return k, s


def squared(x, n):
    k = int(x[2] * 10)
    for _ in range(n):
        k = k**2
        x[0] += 1
    return k


def shifted(x, n):
    k = int(x[2] * 10)
    for _ in range(n):
        k = k << 3
        x[0] += 1
    return k


def shifted_by(x, n):
    return int(x[2] * 10) << n + int(x[0])


def added(x, n):
    a, b = int(x[1] * 10), int(x[2] * 10)
    for _ in range(n):
        a, b = b, a + b
        x[0] += 1
    return a, b


def subtracted(x, n):
    a, b = int(x[1] * 10), -int(x[2] * 10)
    for _ in range(n):
        a, b = b, b - a - a
        x[0] += 1
    return a, b


def multiplied(x, n):
    k = 1
    for i in range(n):
        k *= int(x[2] * 10) + i
    return k


def by_negative(x, n):
    k = int(x[2] * 10)
    for _ in range(n):
        k = k * -5
        x[0] += 1
    return k


def converted(x, n):
    return int(x[2] * 10.0**n)


def caught(x, n):
    try:
        k = int(x[2] * 10) << n + int(x[0])
    except OverflowError:
        k = -1
    return k


@pytest.mark.parametrize(
    "case, few, many",
    [(tripled, 39, 40), (squared, 4, 5), (squared, 4, 7), (shifted, 19, 20), (shifted_by, 59, 60), (shifted_by, 59, 200), (added, 86, 89),
     (subtracted, 30, 200), (multiplied, 15, 30), (by_negative, 25, 26), (converted, 17, 20), (caught, 59, 60)],
)  # fmt: skip
def test_beyond_64_bits(case, few, many):
    for n in (few, many):
        compiled, mine, plain = jit(case), X.copy(), X.copy()
        want = case(plain, n)
        large = max(map(abs, want if isinstance(want, tuple) else (want,))) >= 2**63
        assert large == (n == many)
        if large:
            with pytest.raises(IntegerOverflow, match="exceeded 64 bits\n.*test_overflow.py"):
                compiled(mine, n)
            assert (mine == X).all()
        else:
            agree(compiled(mine, n), want)
            agree(mine, plain)


def test_numpy_integers_wrap():
    def f(m, n):
        k = m[0]
        for _ in range(n):
            k = k * m[1]
        return k

    m = np.array([3, 7])
    with np.errstate(all="ignore"):
        agree(jit(f)(m, 40), f(m, 40))


def counters(x, n):
    """None of these needs a check."""
    k = c = d = 0
    for _ in range(n):
        for j in range(5):
            if x[j % 3] > 0.5:
                k += 2
            else:
                k -= 1
        c = (c * 1103515245 + 12345) % 2**31
        d = ((d << 1) ^ (c & 255)) & 0xFFFF
    while x.sum() < 50:
        x = x * 1.5
        k += 1
    return k, c, d


def test_bounded_counters_cost_nothing():
    compiled = jit(counters)
    agree(compiled(X, 40), counters(X, 40))
    assert "may raise" not in compiled.explain()


def narrow(x, m, n):
    k = s = 0
    for i in range(n):
        k += x[i % 3] > 0.5
        k += bool(x[i % 3] > 0.2)
        s += int(m[i % 3]) * i
    return k, s


def test_small_types_cost_nothing():
    m = np.array([3, 7, -5], np.int8)
    compiled = jit(narrow)
    assert compiled(X, m, 40) == narrow(X, m, 40)
    assert "may raise" not in compiled.explain()


@pytest.mark.parametrize("limit, bound", [
    (lambda n: n % 6, 5), (lambda n: n % -6 + 6, 6), (lambda n: n & 7, 7), (lambda n: min(n, 5), 5), (lambda n: max(0, min(5, n, 7)), 5),
    (lambda n: abs(n % 6 - 3), 3), (lambda n: np.clip(n, 0, 5), 5), (lambda n: n % 9 // 2, 4), (lambda n: (n % 5) | 2, 7), (lambda n: n % 6 >> 1, 2),
    (lambda n: max(n, 5), None), (lambda n: n // 2, None),
])  # fmt: skip
def test_bounds_of_loops_over_what_numpy_integers_give(limit, bound):
    def f(x, n):
        for _ in range(limit(n)):
            x = np.sin(x)
        return x

    (found,) = [e.attrs["bound"] for e in jit(f).ir(1.0, np.int64(7), passes=False).eqns if e.op.name == "loop"]
    assert found == bound
    assert jit(f)(1.0, np.int64(9)) == pytest.approx(f(1.0, np.int64(9)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
def test_what_is_noted_of_numpy_integers_holds(dtype):
    rng, info = np.random.default_rng(0), np.iinfo(dtype)
    for ufunc in overflow.UNTOLD:
        for _ in range(100):
            spans = [sorted(rng.choice([*rng.integers(info.min, info.max + 1, 4), info.min, info.max, 0, 1], 2).tolist()) for _ in range(ufunc.nin)]
            with np.errstate(all="ignore"):
                made = ufunc(*np.meshgrid(*[np.arange(a, b + 1).astype(dtype) for a, b in spans]))
            least, most = overflow.RANGES[ufunc](*spans)
            wraps = least < info.min or most > info.max
            assert wraps or (least <= made.min() and made.max() <= most), (ufunc, spans)


BEYOND = [2**63, 2**63 + 5, 2**64 - 1, 2**64, 2**70, -(2**63) - 1, -(2**64), -(2**64) + 1, -(2**90) - 3]
OPERATORS = {
    "%": lambda n, k: n % k, "//": lambda n, k: n // k, "&": lambda n, k: n & k, "|": lambda n, k: n | k, "^": lambda n, k: n ^ k,
    "+": lambda n, k: n + k, "-": lambda n, k: n - k, "taken": lambda n, k: k - n, "*": lambda n, k: n * k, "**": lambda n, k: k**n,
    "divmod": lambda n, k: divmod(n, k), "behind divmod": lambda n, k: divmod(k, n),
    "behind //": lambda n, k: k // n, "behind %": lambda n, k: k % n, "behind >>": lambda n, k: k >> n,
    "orders": lambda n, k: (n < k, k <= n, n == k, k != n),
    "two kinds": lambda n, k: (min(n > 2, n) == k, max(n, n > 1) < k), "of what fails": lambda n, k: n // (n * k),
    "least": lambda n, k: min(n, k), "float": lambda n, k: (float(n) < k, float(n) >= k, float(n) == k, k < float(n), 0.5 * n + k),
    "in a loop": lambda n, k: looped(n // 2, k), "np": lambda n, k: (np.less(n, k), np.equal(k, n)), "/": lambda n, k: (n / k, n > 2 and k / n),
}  # fmt: skip
REFUSED = {"behind //", "behind divmod", "behind %", "^", "**", "of what fails"}  # of those whose result may fit; a negative power is a float


def looped(n, k):
    s = 0
    for i in range(4):
        s += (n + i) % k if (n + i < 0) == (k < 0) else (n - i) // k
    return s


@pytest.mark.parametrize("name", OPERATORS)
def test_known_ints_beyond_64_bits(name):
    """What fits 64 bits is right, and nothing else is given."""
    given = 0
    for k in BEYOND:
        def f(x, k=k, op=OPERATORS[name]):
            x[0] += 1
            return op(int(x[1]), k)

        compiled = jit(f, engine="numpy")
        for n in (3, 0, 1, -1, -7, 70, 2**40, -(2**62), 2**62, -(2**63)):
            plain, mine = np.array([0.0, n]), np.array([0.0, n])
            try:
                want = None if name == "**" and abs(n) > 99 else f(plain)
            except (ZeroDivisionError, ValueError) as error:
                with pytest.raises((type(error), IntegerOverflow)):
                    compiled(mine)
                continue
            fits = want is not None and all(not isinstance(w, int) or -(2**63) <= w < 2**63 for w in (want if isinstance(want, tuple) else (want,)))
            try:
                got = compiled(mine)
            except IntegerOverflow as error:
                assert not fits or name in REFUSED, (n, k)
                assert "test_overflow.py" in str(error)
                assert mine[0] == 0
            else:
                assert type(got) is type(want) and got == want, (n, k)
                agree(mine, plain)
                given += 1
    assert given or name in REFUSED


def test_floats_beside_known_ints_beyond_64_bits():
    for k in (*BEYOND, 2**64 + 1, 2**64 + 3000, 10**400, -(10**400)):
        f = lambda x, k=k: (x < k, k < x, x <= k, k <= x, x == k, k != x)
        compiled = jit(f, engine="numpy")
        for x in (0.0, 2.0**63, 2.0**64, math.nextafter(2.0**64, 0.0), math.nextafter(2.0**64, math.inf), -(2.0**64), math.inf, -math.inf, math.nan):
            assert compiled(x) == f(x), (x, k)


@pytest.mark.parametrize("f", [
    lambda i, u: i[0] * i[0], lambda i, u: i[0] + i[0] + i[0], lambda i, u: u[0] + u[0], lambda i, u: -u[0], lambda i, u: u[1] - u[0],
    lambda i, u: u[0] * 2, lambda i, u: (u[:1] + u[:1])[0], lambda i, u: np.add(u[0], u[0]),
])  # fmt: skip
def test_single_integers_that_wrap_where_numpy_is_to_raise(f):
    given, compiled = (np.array([2**62, 5]), np.array([200, 3], "u1")), jit(f)
    with np.errstate(all="ignore"):
        compiled(*given)
    for state in ("raise", "warn"):
        done = []
        for g in (f, compiled):
            with warnings.catch_warnings(), np.errstate(all=state):
                warnings.simplefilter("ignore")
                try:
                    done.append(repr(g(*given)))
                except FloatingPointError as error:
                    done.append(str(error))
        assert done[0] == done[1]
