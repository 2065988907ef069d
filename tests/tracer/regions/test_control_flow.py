"""Loops and branches captured: plain Python against the compiled function, gradients against differences, and the IR's shape."""

import linecache

import numpy as np
import pytest
from compare import agree, check_same

from wengert import grad, jit
from wengert.tracer.regions.fixpoint import Roll

X = np.random.default_rng(0).normal(size=(5, 6))
S = np.random.default_rng(2).normal(size=(5, 5))
V = np.random.default_rng(1).normal(size=12)
W = [np.random.default_rng(k).normal(size=(6, 6)) for k in range(3)]

# -- branches --------------------------------------------------------------------------------------


def early_return(x):
    if x > 0:
        return x * 2
    return -x


def several_returns(x, y):
    if x > 2:
        return y + 1
    if x > 1:
        return y * 2
    elif x > 0:
        y = y * 3
    else:
        return y - x
    return y + x


def store_in_branch(v, t):
    if v.sum() > t:
        v[0] = 7
        v[1:] *= 2
    else:
        v -= 1
    return v.sum()


def rebind_in_branch(v, t):
    y = v * 2
    if t > 0:
        y = y + 1
        z = y * y
    else:
        z = -y
    return y, z


def same_array_either_way(v, t):
    w = v * 2
    u = w if t > 0 else w
    u[0] = 5
    return w


def python_numbers(x):
    n, kind, flag = 0, 1.5, False
    if x > 1:
        n = 3
        kind = 2
        flag = True
    return n, kind * 1.0, flag


def logic(x, y):
    a = 0 < x < 2 and not y > 1
    b = x > 1 or y > 1
    c = 5.0 if a else x if b else y
    return a, b, c, not a, (x and y), (x or y)


def clip(x, low, high):
    return max(low, min(x, high)), max([x, low, high]), min(x, 3.0)


def nested_branch(x, v):
    out = np.zeros(3)
    if x > 0:
        if v[0] > 0:
            out[0] = x
        else:
            out[1] = x
    elif v[1] > 0:
        out[2] = 1
    return out


def one_sided(x, v):
    if x > 0:
        v[2] += x
    return v


class State:
    def __init__(self, h):
        self.h, self.log = h, {"steps": 0, "last": 0.0}

    def step(self, x):
        self.h = np.tanh(self.h * x)
        self.log["steps"] += 1
        self.log["last"] = self.h.sum()
        if self.h.sum() > 0.1:
            self.h = self.h * 0.5
        return self.h


def attribute_branch(v, t):
    s = State(v * 1.0)
    if t > 0:
        s.h = s.h + t
        s.log["last"] = t
    else:
        s.log["last"] = -t
    return s.h, s.log["last"]


def asserted(x):
    assert x > 0, "x must be positive"
    return np.sqrt(x)


def refuses(x, v):
    if x < 0:
        raise ValueError("x must not be negative")
    elif x > 10:
        w = v * 2
        v += 1
        raise KeyError("large")
    else:
        w = v + x
    u = w
    w[0] = 1
    return w, u, v


def refuses_in_loop(v, t):
    total, n = 0.0, 0
    while total < t:
        if v[n] < -1:
            raise ArithmeticError("too small")
        total += abs(v[n])
        n += 1
    return total, n


def missing_key(x):
    d = {"a": 1.0}
    if x > 0:
        return d["b"]
    return d["a"]


def window_shrinks(v):
    s = np.zeros(2)
    for i in range(len(v)):
        s[0] += v[i : i + 3].sum()
        s[1] += v[i - 1 : i + 1].sum()
    return s


BRANCHES = [
    *[(refuses, x, V) for x in (1.0, -1.0, 11.0)], (refuses_in_loop, V, 2.0), (refuses_in_loop, V, 6.0), (missing_key, 1.0), (missing_key, -1.0),
    (window_shrinks, V),
    *[(early_return, x) for x in (2.0, -2.0)], *[(several_returns, x, V) for x in (3.0, 1.5, 0.5, -1.0)], (store_in_branch, V, -100.0),
    (store_in_branch, V, 100.0), (rebind_in_branch, V, 1.0), (rebind_in_branch, V, -1.0), (same_array_either_way, V, 1.0), (python_numbers, 2.0),
    *[(logic, x, y) for x in (0.5, 1.5, -1.0, 0.0) for y in (0.5, 1.5)], (clip, 2.0, 0.0, 1.0), (clip, -2.0, 0.0, 1.0), (clip, 0.5, 0.0, 1.0),
    *[(nested_branch, x, V * s) for x in (1.0, -1.0) for s in (1, -1)], (one_sided, 1.0, V), (one_sided, -1.0, V), (attribute_branch, V, 1.0),
    (attribute_branch, V, -1.0), (asserted, 4.0), (asserted, -4.0),
]  # fmt: skip


@pytest.mark.parametrize("case", BRANCHES, ids=lambda c: c[0].__name__)
def test_branches(case):
    check_same(*case)


# -- loops -----------------------------------------------------------------------------------------


def accumulate(v):
    s = 0.0
    for i in range(len(v)):
        s += v[i] * i
    return s


def windows(v):
    c = np.zeros(len(v))
    for i in range(1, len(v) - 1):
        c[i] = v[i - 1 : i + 2].sum() + v[i - 1]
    return c


def matmul(a, b):
    c = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


def recurrence(v):
    out = np.empty_like(v)
    out[0] = v[0]
    for i in range(1, v.shape[0]):
        out[i] = 0.5 * out[i - 1] + np.sin(v[i])
    return out


def in_place(v):
    for i in range(len(v) - 1):
        v[i + 1] += v[i]


def backwards(v):
    out = v * 1.0
    for i in range(len(v) - 2, -1, -1):
        out[i] += 0.3 * out[i + 1]
    for i in range(10, 0, -3):
        out[-i] *= 2
    return out


def rows(a):
    s = np.zeros(a.shape[1])
    for row in a:
        s = s + row * row
        row[0] = 1.0
    return s, a


def pairs(a, v):
    total = 0.0
    for i, (row, x) in enumerate(zip(a, v)):
        total += row.sum() * x + i
    for j, k in zip(range(3), range(5, 9)):
        total += j * k
    return total, i, x


def swap(a, b):
    for _ in range(7):
        b[1:-1] = 0.5 * (a[:-2] + a[2:])
        a, b = b, a
    return a


def rebinding(u):
    for t in range(5):
        new = u.copy()
        new[1:] = u[:-1] + t
        u = new
    return u, t


def uses_after(v):
    for i in range(len(v)):
        last = v[i]
        square = last * last
    return last, square, i


def kinds(v):
    t, s, n, c = 0, 0.0, 0, 0j
    for i in range(4):
        t += 0.25
        s += v[i]
        n += 1
        c += v[i] * 1j
        n += 2 if v[i] > 0 else 1
    return t, s, n, c


def float32_sum(v):
    s = 0.0
    for i in range(len(v)):
        s = s + v[i]
    return s


def state_in_tuple(v):
    state = (0.0, np.zeros(3), {"n": 0})
    for i in range(6):
        a, b, d = state
        b = b + v[i]
        state = (a + b.sum(), b, {"n": d["n"] + 1})
    return state


def layers(x, weights):
    for w in weights:
        x = np.tanh(x @ w)
    for k in range(len(weights)):
        x = x + weights[k : k + 1][0][0]
    return x


def listed(v):
    ys = []
    for i in range(4):
        ys.append(v[i] * i)
    return np.stack(ys), [v[i] + 1 for i in range(3)], sum(v[i] for i in range(5))


def setup(v):
    names, table = [], {}
    for i in range(200):
        names.append(i * i)
        table[i % 7] = i
    return v * names[-1] + table[3]


def break_on_data(v, t):
    s = 0.0
    for i in range(len(v)):
        if s > t:
            break
        s += v[i] ** 2
    return s, i


def continue_on_data(v):
    s, n = 0.0, 0
    for x in v:
        if x < 0:
            continue
        s += x
        n += 1
    return s, n


def return_from_loop(v, t):
    for i in range(len(v)):
        v[i] += 1
        if v[i] > t:
            return v[i] * 10
    return v.sum()


def return_from_nested(a, t):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > t:
                return i, j
    return -1, -1


def static_break(v, n):
    for i in range(20):
        if i == n:
            break
        v = v * 1.1
    else:
        return v
    return v + i


def while_tolerance(x, tol):
    err, n = np.inf, 0
    while err > tol:
        new = 0.5 * (x + 2.0 / x)
        err = np.abs(new - x).max()
        x = new
        n += 1
    return x, n


def while_counter(v):
    k, total = 0, 0.0
    while k < len(v):
        total += v[k]
        k += 2
    return total, k


def while_break(x):
    n = 0
    while True:
        x = x / 2
        n += 1
        if x < 1:
            break
    return x, n


def while_walrus(v):
    i = -1
    while (x := v[i + 1]) < 1:
        i += 1
    return i, x


def while_zero_trips(x, u):
    while x > 1:
        u = u * 0.5
        x = x / 2
    return x, u


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def sometimes(v):
    best, where = v[0], 0
    for i in range(1, len(v)):
        if v[i] > best:
            best, where = v[i], i
    return best, where


def branch_stores(a):
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            if a[i, j] > 0:
                a[i, j] = np.sqrt(a[i, j])
            elif i > j:
                a[i, j] = 0.0
            else:
                a[j, i % 5] += 1e-3
    return a


def object_state(v):
    s = State(v[:3] * 1.0)
    for i in range(5):
        s.step(v[i])
    return s.h, s.log["steps"], s.log["last"]


def closure_state(v):
    total = 0.0

    def add(x):
        nonlocal total
        total = total + x
        return total

    for i in range(len(v)):
        add(v[i])
    return total


def view_of_row(a):
    for i in range(a.shape[0]):
        row = a[i]
        row *= 2
        row[1:] = row[:-1] + 1
        b = a[:, i]
        b[0] = 9
    return a


def cholesky_like(a):
    n = a.shape[0]
    for k in range(n):
        a[k, k] = np.sqrt(np.abs(a[k, k]) + 1)
        for i in range(n):
            if i > k:
                a[i, k] = a[i, k] / a[k, k]
                for j in range(n):
                    if j > k:
                        a[i, j] -= a[i, k] * a[j, k]
    return a


def negative_indices(v):
    out = np.zeros(12)
    for i in range(12):
        out[-i - 1] = v[i - 12] + v[-i]
    return out


def gather_table(v):
    order = np.array([3, 1, 2, 0])
    weights = np.linspace(0.0, 1.0, 4)
    s = 0.0
    for i in range(4):
        s += v[order[i]] * weights[i]
    return s


def integers(k):
    total = 0
    for i in range(5):
        for bit in range(8):
            total += ((k[i] >> bit) & 1) * (i + bit) // 2
        total = total % 1000
    return total


def last_is_alias(a):
    for i in range(3):
        row = a[i]
    row[0] = 100.0
    return a


def empty_range(v):
    s = v.sum()
    for _i in range(0):
        s = s * 2
    for _i in range(3, 3):
        v[0] = 0
    return s


def unpacking(a):
    x, y = a[0], a[1]
    for _ in range(4):
        x, y = x + y, x - y
    return x, y


def in_try(v):
    s = 0.0
    for i in range(len(v)):
        try:
            s = s + v[i]
            for j in range(3):
                s = s * 1.01 + j
        finally:
            s = s - 1
    return s


def dynamic_range(v):
    n = int((v > 0).sum())
    s = 0.0
    for i in range(n):
        s += v[i]
    for i in range(1, n, 2):
        s *= 1.5 + i
    return s


def two_loops(v, a):
    s = 0.0
    for i in range(3):
        row = v[2 * i : 2 * i + 2]
        s += row.sum()
    for i in range(4):
        row = a[i]
        s += row.sum() * i
    return s


def lambda_in_loop(v):
    f = lambda x, k: x * k if k > 2 else x - k
    s = 0.0
    for i in range(len(v)):
        s += f(v[i], i)
    return s


def names_of_one_array(v, t):
    x, y, p, i, j = v * 1.0, v * 2.0, t, 0, 0
    while i < 2:
        i, y, p = i + 1, x, p * 0.5
    while j < 3 and v[0] < t:
        x, y, j = y, x, j + 1
    return x, y, p


def made_anew(s, t):
    pair, items, j = (s * 2.0, t), [s * 3.0, t], 0
    while j < 3 and t > j:
        pair, items, j = (pair[0], t), [items[0], t], j + 1
    return pair, items


def reversed_and_swapped(v, w):
    x, y, i = v, w, 0
    while i < 3 and v[i] < 99.0:
        x = x[::-1]
        x, y, i = y, x, i + 1
    return x, y


LOOPS = [
    (accumulate, V), (accumulate, np.arange(5)), (windows, V), (matmul, X, X.T), (recurrence, V), (in_place, V), (backwards, V), (rows, X),
    (pairs, X, V[:5]), (swap, V, V * 2), (rebinding, V), (uses_after, V), (kinds, V), (float32_sum, V), (float32_sum, V.astype(np.float32)),
    (float32_sum, np.arange(4)), (state_in_tuple, V), (layers, X, W), (listed, V), (setup, V), (break_on_data, V, 1.0), (break_on_data, V, 1e9),
    (continue_on_data, V), (return_from_loop, V, 1.5), (return_from_loop, V, 99.0), (return_from_nested, X, 1.0), (return_from_nested, X, 99.0),
    (static_break, V, 4), (static_break, V, 40), (while_tolerance, V + 3, 1e-9), (while_counter, V), (while_break, 100.0),
    (while_walrus, np.arange(-3.0, 5.0)), (while_zero_trips, 0.5, V), (while_zero_trips, 50.0, V), (collatz, np.int64(27)), (sometimes, V),
    (branch_stores, S), (object_state, V), (closure_state, V), (view_of_row, S), (cholesky_like, S), (negative_indices, V), (gather_table, V),
    (integers, np.arange(50, 60)), (last_is_alias, X), (empty_range, V), (unpacking, X), (in_try, V), (dynamic_range, V), (two_loops, V, X),
    (lambda_in_loop, V), (names_of_one_array, V, 99.0), (names_of_one_array, V, -99.0), (made_anew, V, -1.0), (made_anew, V, 1.5),
    (made_anew, 0.5, -1.0), (made_anew, 0.5, 1.5), (reversed_and_swapped, V, V * 2),
]  # fmt: skip


@pytest.mark.parametrize("case", LOOPS, ids=lambda c: c[0].__name__)
def test_loops(case):
    check_same(*case, rtol=1e-10)


# -- what is captured ------------------------------------------------------------------------------


def regions(func):
    return [(e.op.name, [regions(r) for r in e.regions()]) for e in func.eqns if e.regions()]


def count_loops(text):
    return text.count("= loop ")


@pytest.mark.parametrize("function", [accumulate, windows, recurrence, in_place, continue_on_data, rebinding, sometimes, closure_state])
def test_the_program_does_not_grow_with_the_trips(function):
    short, long = (jit(function).ir(np.resize(V, n)) for n in (16, 512))
    assert short.count() == long.count() and count_loops(str(long)) == 1


def test_nested_loops_nest():
    func = jit(matmul).ir(X, X.T)
    assert regions(func) == [("loop", [[("loop", [[("loop", [[]])]])]])]
    assert func.count() < 25


def test_names_and_lines_reach_the_ir():
    text = str(jit(accumulate).ir(V))
    assert "%s = loop" in text and "func(%i: i64[], %v: f64[12], %s: f64[])" in text and "# test_control_flow.py:" in text


def test_loops_without_traced_work_leave_no_trace():
    assert "loop" not in str(jit(setup).ir(V))


def test_counters_need_no_bounds_checks():
    for function in (accumulate, windows, in_place, negative_indices, recurrence):
        assert not jit(function).ir(V).result_types[-1].kind == "i"
    f = jit(windows)
    f(V)
    assert "IndexError" not in f.explain()


def test_explain_tells_what_was_written_out():
    f = jit(layers)
    f(X, W)
    assert "3 trips are written out one by one, since a traced value of type i64[] was used as a Python integer" in f.explain()
    g = jit(swap)
    g(V.copy(), V * 2)
    assert "two trips are captured as one" in g.explain() and "is written in place while other names may hold the same array" in g.explain()
    h = jit(accumulate)
    h(V)
    assert "note" not in h.explain()


def test_one_program_for_all_paths():
    f = jit(several_returns)
    for x in (3.0, 1.5, 0.5, -1.0):
        agree(f(x, V), several_returns(x, V))
    assert f.explain().startswith("several_returns: 1 trace(s)")


# -- derivatives -----------------------------------------------------------------------------------


def slope(function, x, *args):
    """The derivative of `function` along a random direction, by central differences, and by grad."""
    t = np.random.default_rng(5).normal(size=np.shape(x))
    t = t if np.ndim(x) else float(t)
    h = 1e-6
    want = (function(x + h * t, *args) - function(x - h * t, *args)) / (2 * h)
    return np.sum(grad(function)(x, *args) * t), want


DERIVATIVES = [
    (accumulate, V), (lambda v: (windows(v) ** 2).sum(), V), (lambda v: recurrence(v).sum(), V), (lambda a: (matmul(a, X.T) ** 2).sum(), X),
    (lambda v: (rebinding(v)[0] ** 2).sum(), V), (lambda v: sometimes(v)[0] ** 2, V), (lambda v: continue_on_data(v)[0] ** 2, V),
    (lambda v: break_on_data(v, 1.0)[0] ** 2, V), (early_return, 2.0), (early_return, -2.0), (lambda x: several_returns(x, V).sum() * x, 1.5),
    (lambda a: (branch_stores(a.copy()) ** 2).sum(), S), (lambda v: object_state(v)[0].sum(), V), (lambda v: closure_state(v) ** 2, V),
    (lambda a: (cholesky_like(a.copy()) ** 2).sum(), S), (lambda v: gather_table(v) ** 2, V), (lambda x: layers(x, W).sum(), X), (in_try, V),
    (lambda v: swap(v.copy(), v * 2).sum(), V), (lambda v: return_from_loop(v.copy(), 1.5), V), (lambda x: float(max(x, 1.0)) * min(x, 3.0), 2.0),
]  # fmt: skip


@pytest.mark.parametrize("case", DERIVATIVES, ids=range(len(DERIVATIVES)))
def test_gradients_are_the_slopes(case):
    got, want = slope(*case)
    np.testing.assert_allclose(got, want, rtol=2e-6, atol=1e-7)


def test_an_untaken_branch_leaves_no_nan_in_the_gradient():
    def safe(x):
        return np.sqrt(x) if x > 0 else 0.0 * x

    assert grad(safe)(0.0) == 0.0 and grad(safe)(4.0) == 0.25


def test_reverse_mode_through_a_loop_that_prints_and_has_no_bound_says_so():
    def loud(x):
        while x < 10:
            print(x)
            x = x * x
        return x

    with pytest.raises(TypeError, match="trip count is known at run time only(.|\n)*prints"):
        grad(loud)(1.5)


# -- Python's own functions ------------------------------------------------------------------------


def conversions(x, v):
    import math

    n = int(v.sum())
    a, b, c = float(v[0]), int(x), bool(x > 1)
    return a * 2, b + n, c, abs(x), round(x), math.sqrt(x) + math.exp(-x) * math.atan2(x, 2), math.floor(x), isinstance(x, float), type(x) is float


def arrays_made(x, v):
    a = np.array([x, v[0], 1.0])
    b = np.array([[1, 2], [3, 4]])
    c = np.asarray([v, v * 2])
    d = np.arange(6).reshape(2, 3)
    e, f, g = np.eye(3), np.full((2, 2), x), np.zeros((2, 0))
    e[0] = v[:3]
    d[1, 1] = 7
    b[b > 2] = 0
    h = np.empty(3, dtype=np.float32)
    h[:] = x
    return a, b, c, d, e, f, g, h, v[np.array([0, 2])], v[np.arange(12) % 2 == 0], np.linspace(0, 1, 5) * x, np.ones(3)


def known_numbers(v):
    order = np.array([2, 0, 1])
    if order[0] > 1:
        n = int(order.sum())
    for k in order:
        v = v + k
    return v[:n], [1, 2, 3][order[1]], np.zeros(order[0]), list(range(n))


PYTHON = [(conversions, 2.5, V), (conversions, 0.3, V), (conversions, -1.0, V), (arrays_made, 2.0, V), (known_numbers, V)]


@pytest.mark.parametrize("case", PYTHON, ids=lambda c: c[0].__name__)
def test_builtins_and_creation(case):
    check_same(*case)


def test_methods_helpers_partials_and_decorators_are_captured():
    import functools

    class Model:
        def __init__(self, w):
            self.w = w
            self.scale = 2.0 if w.sum() > 0 else 3.0

        def __call__(self, x):
            return self.apply(x, self.w)

        def apply(self, x, w):
            if x.sum() > 0:
                return x * w
            return x - w

    def logged(f):
        @functools.wraps(f)
        def inner(*args):
            return f(*args)

        return inner

    @logged
    def forward(v, t):
        m = Model(v * 2)
        run = functools.partial(m.apply, w=v)
        return m(v) * m.scale, run(v * t)

    for t in (1.0, -1.0):
        check_same(forward, V, t)


def test_a_function_without_source_is_traced_by_value():
    space = {}
    exec("def f(x):\n    return x if x > 0 else -x", space)
    f = jit(space["f"])
    assert (f(2.0), f(-3.0), f(4.0)) == (2.0, 3.0, 4.0)


def added_in_a_try(x, g):
    for i in range(len(x)):
        try:
            g += x[i]
        finally:
            x[i] *= 0.5
    return x


def test_names_added_to_in_a_try_are_carried():
    check_same(added_in_a_try, np.arange(5.0), 1.0)


def stored_in_place_in_a_try(v, t):
    k, n = 0, 3
    while t < 4 and k < 6:
        k += 1
        if t < 2:
            try:
                v += 0.5
                n -= 1
            finally:
                t = t * 1.5
        else:
            t = t + 1
    return t, n


def test_what_a_try_reads():
    for t in (1.0, 5.0, -3.0):
        check_same(stored_in_place_in_a_try, V.copy(), t)


def guarded(x, n):
    if x.sum() > 100:
        return x / (2.0 * n), 1.0 / n, x[5] + (x + np.ones(7)).sum()
    return x, 0.0, 1.0


def test_an_error_on_the_side_that_is_not_taken_is_not_raised():
    f = jit(guarded)
    agree(f(np.ones(3), 0), guarded(np.ones(3), 0))
    with pytest.raises((ZeroDivisionError, IndexError)):
        f(np.full(3, 100.0), 0)


def bound_anew(x, p):
    for k in range(4):
        if x[k] > 0:
            pair = p, x
        else:
            pair = x
        i = 0
        while i < 5 and p < 3:
            pair = p, x
            p, i = pair[0] + 1, i + 1
        if i > 0:
            p = p + pair[1].sum()
    return p


def test_a_name_that_is_not_one_thing_before_a_loop_that_may_make_no_trip():
    f = jit(bound_anew)
    for p in (0.5, 7.0, 2.5):
        x = np.array([1.0, -1.0, 2.0, -2.0])
        agree(f(x, p), bound_anew(x, p))


def nest(depth):
    """Loops within loops, of which each settles only in its second pass."""
    lines = ["def nest(x, y):", "    t = 0.0"]
    for d in range(depth):
        lines += ["    " * (d + 1) + f"for i{d} in range(2):", "    " * (d + 2) + f"t = t * 0.5 + x[i{d}]", "    " * (d + 2) + f"y[i{d}] += t"]
    return "\n".join([*lines, "    return t"])


def test_loops_in_loops_are_not_traced_exponentially(monkeypatch):
    passes = []
    passed = Roll.passed
    monkeypatch.setattr(Roll, "passed", lambda self: passes.append(1) or passed(self))
    made = {}
    for depth in (4, 8):
        text = nest(depth)
        space = {"np": np}
        linecache.cache[f"<nest {depth}>"] = len(text), None, text.splitlines(True), f"<nest {depth}>"
        exec(compile(text, f"<nest {depth}>", "exec"), space)
        passes.clear()
        check_same(space["nest"], np.arange(2.0), np.ones(2))
        made[depth] = len(passes)
    assert made[8] < 4 * made[4]


def another_kind(g, w, q):
    p = w[0]  # a NumPy scalar, which the loop replaces by a Python number
    for k in range(3):
        p = q * 0.5
        q = q * (k + 1.5)
    g += p
    return g, p


def test_a_number_is_after_a_loop_what_the_last_trip_made_it():
    g = np.random.default_rng(0).normal(size=50).astype(np.float32)
    check_same(another_kind, g, np.ones(2), 0.3)


def either_raises(x, n):
    if n == 1:
        raise ValueError("one")
    raise KeyError("other")


def caught(x):
    try:
        return (either_raises(x, 1) if x[0] > 1 else either_raises(x, 2)) + 1
    except ValueError:
        return x * 3
    except KeyError:
        return x * 4


def divided(x):
    y = x.astype("c8")
    y[x > 0] //= y[1] ** 2 if x[0] > 1 else float(x[0])
    return y


@pytest.mark.parametrize("f", [
    lambda x: (either_raises(x, 1) if x[0] > 1 else either_raises(x, 2)) + 1,
    lambda x: (either_raises(x, 1) if x[0] > 1 else either_raises(x, 1)) + 1,
    caught, lambda x: caught(x * 2) if x[1] > 3 else x, divided,
])  # fmt: skip
def test_a_choice_of_which_both_sides_raise(f):
    compiled = jit(f)
    for scale in (1, 10, 0):
        told = []
        for g in (f, compiled):
            try:
                told.append(g(np.array([1.0, 2.0]) * scale).tolist())
            except Exception as error:
                told.append((type(error), str(error).partition("\n")[0]))
        assert told[0] == told[1]
