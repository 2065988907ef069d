"""The world outside a traced function: read as it is at every call, changed as plain Python changes it."""

import collections
import copy
import functools
import operator
import os
import threading
import types

import numpy as np
import pytest
from compare import agree

from wengert import LeakError, grad, jit

X = np.arange(1.0, 4.0)


def traces(f):
    return int(f.explain().split("\n")[0].split()[-2])


def side_by_side(make, *arguments, limit=3, between=None):
    """Run `make() -> (function, state)` plain and compiled on the same arguments, call by call; states must agree throughout."""
    plain, want_state = make()
    twin, got_state = make()
    compiled = jit(twin)
    for k, args in enumerate(arguments):
        want, got = plain(*copy.deepcopy(args)), compiled(*copy.deepcopy(args))
        agree(got, want)
        agree(state_of(got_state), state_of(want_state))
        if between:
            between(k, want_state), between(k, got_state)
    assert traces(compiled) <= limit, compiled.explain()
    return compiled


def state_of(x):
    if isinstance(x, list | tuple | collections.deque):
        return [state_of(v) for v in x]
    if isinstance(x, dict):
        return {str(k): state_of(v) for k, v in x.items()}
    if hasattr(x, "__dict__") and not isinstance(x, type | types.FunctionType):
        return state_of(vars(x))
    return x


class Model:
    def __init__(self):
        self.h, self.w, self.n, self.rate, self.layers = np.float64(0.5), np.ones(3), 0, 0.1, [np.ones(3), np.full(3, 2.0)]
        self.cfg = {"rate": 0.5, "deep": {"table": np.arange(3.0)}, "unused": 1}
        self.log = []
        self._scale = 2.0

    @property
    def scale(self):
        return self._scale * 2

    def use(self, x):
        return x * self.scale * self.w + self.cfg["rate"] + self.cfg["deep"]["table"]

    def count(self, x):
        self.n += 1
        self.h = (x * self.h).sum()
        return x * self.n

    def learn(self, x):
        for k in range(3):
            self.w -= self.rate * (self.w - x)
            self.h = self.h * 0.5 + k
        return self.w.sum()

    def rebind(self, x):
        self.w = self.w * 0.5 + x
        return self.w

    def choose(self, x):
        if x.sum() > 8:
            self.h = x.sum()
        else:
            self.n = self.n + 1
        return x

    def record(self, x):
        self.log.append(x.sum())
        return x + 1

    def layered(self, x):
        for w in self.layers:
            x = x * w
        return x + sum(w.sum() for w in self.layers)

    def store(self, x):
        self.cfg["rate"] = x.sum()
        self.cfg["new"] = 3
        return x


def bound(name):
    def make():
        m = Model()
        return getattr(m, name), m

    return make


def test_attributes_properties_and_items_are_read_at_every_call():
    def between(k, m):
        if k == 0:
            m._scale = 3.0
        if k == 1:
            m.w = np.full(3, 7.0)  # rebound: no new trace
        if k == 2:
            m.cfg["deep"]["table"][1] = 9.0
        if k == 3:
            m.cfg["unused"] = 2  # not read: no new trace

    f = side_by_side(bound("use"), *[(X,)] * 5, limit=2, between=between)
    assert "self._scale = 2.0 (test_outside.py:" in f.explain().replace("Model.", "self."), f.explain()


@pytest.mark.parametrize("name, limit", [("count", 1), ("learn", 1), ("rebind", 1), ("choose", 1), ("record", 1), ("layered", 1), ("store", 1)])
def test_state_of_objects_is_what_python_leaves(name, limit):
    side_by_side(bound(name), (X,), (X * 2,), (X * 3,), (X,), limit=limit)


def test_exchanged_objects_are_seen():
    m = Model()
    f = jit(m.use)
    agree(f(X), m.use(X))
    m.cfg = {"rate": 1.0, "deep": {"table": np.zeros(3)}}
    agree(f(X), m.use(X))
    m.cfg["deep"] = {"table": np.full(3, 5.0)}
    agree(f(X), m.use(X))
    m.w = np.ones(3, np.float32)
    agree(f(X), m.use(X))
    del m.cfg["rate"]
    with pytest.raises(KeyError):
        f(X)
    Model.scale, kept = property(lambda self: 1.0), Model.scale
    try:
        m.cfg["rate"] = 0.0
        agree(f(X), m.use(X))
    finally:
        Model.scale = kept


TABLE, COUNT, PAIR, FLAGS = np.arange(3.0), 0, [1.0, 2.0], {"on": True}


def test_concrete_work_on_outside_arrays_is_not_frozen():
    def f(x):
        total = TABLE.sum() + TABLE[1] + np.max(TABLE)
        y = TABLE * 2
        return x * total + y + len(TABLE)

    g = jit(f)
    for _ in range(3):
        agree(g(X), f(X))
        TABLE[:] += 1.0
    assert traces(g) == 1
    TABLE[:] = np.arange(3.0)


def test_outside_arrays_are_written_at_every_call():
    def make():
        table = np.zeros(3)

        def f(x):
            table[1] += x[0]
            table[:2] *= 2
            return x + table

        return f, table

    side_by_side(make, (X,), (X * 2,), (X,), limit=1)


def test_a_global_counter():
    def f(x):
        global COUNT
        COUNT += 1
        return x * COUNT

    g = jit(f)
    for k in range(1, 8):
        agree(g(X), X * k)
        assert COUNT == k and type(COUNT) is int
    assert traces(g) == 1


def test_a_cell_assigned_by_the_function():
    def make():
        total, state = np.float64(0), {}

        def f(x):
            nonlocal total
            total = total + x.sum()
            for k in range(4):
                total += k
            state["total"] = total
            return x * total

        return f, state

    side_by_side(make, (X,), (X,), (X,), limit=1)


def test_containers_seen_whole_and_changed():
    def make():
        state = {"a": [1.0, 2.0], "n": 0, "q": collections.deque([1.0]), "s": {1, 2}}

        def f(x):
            a = state["a"]
            a[0] = x.sum()
            a.append(3.0)
            a.pop(1)
            for k in state:
                x = x + len(k)
            state["n"] = state["n"] + 1
            state["q"].append(x[0])
            state["s"].add(7)
            return x, [v + 1 for v in a]

        return f, state

    side_by_side(make, (X,), (X * 2,), (X * 3,), limit=4)


@pytest.mark.parametrize("then", ["store", "add", "remove", "slice", "first"])
def test_lists_that_are_added_to_and_stored_into(then):
    def make():
        items = []

        def f(x):
            items.append(x * 2)
            k = len(items) - 1
            if then == "store":
                items[k] = x + 1
            elif then == "add":
                items[-1] += 1
            elif then == "remove":
                del items[k]
                items.append(x)
            elif then == "slice":
                items[k:] = [x, x - 1]
            else:
                items[0] = x + 3

        return f, items

    side_by_side(make, (X,), (X * 2,), (X * 3,))


ASKED = {k: float(k) for k in range(3000)}


@pytest.mark.parametrize("ask", ["get", "in", "not in", "default"])
def test_one_item_of_a_large_dict_is_relied_on_alone(ask):
    def make():
        d = dict(ASKED)

        def f(x, key):
            if ask == "get":
                return x * (d.get(key) or 2.0)
            if ask == "default":
                return x * d.get(key, 7.0)
            return x + 1 if (key in d if ask == "in" else key not in d) else x

        return f, d

    (f, d), (plain, e) = make(), make()
    compiled = jit(f)
    for key in (17, 5000):
        agree(compiled(X, key), plain(X, key))
        d["other"] = e["other"] = 1.0
        agree(compiled(X, key), plain(X, key))
        assert str(compiled.explain()).startswith(f"f: {1 + (key == 5000)} trace(s)")
    d[5000] = e[5000] = 3.0
    agree(compiled(X, 5000), plain(X, 5000))
    del d[17], e[17]
    agree(compiled(X, 17), plain(X, 17))


def test_containers_among_the_arguments_are_changed():
    def step(p, xs, *, more):
        p["w"] = p["w"] * 2
        p["new"] = p["w"].sum()
        xs.append(p["b"])
        more["k"] += 1.0
        del xs[0]
        return p["w"]

    a = [{"w": X.copy(), "b": 1.0}, [X.copy(), 2.0]], {"more": {"k": np.float64(1)}}
    b = copy.deepcopy(a)
    g = jit(step)
    for _ in range(2):
        agree(g(*b[0], **b[1]), step(*a[0], **a[1]))
        agree(b, a)


def test_changing_outside_numbers_are_taken_in_after_some_values():
    m = types.SimpleNamespace(rate=0.5, steps=2)
    f = lambda x: x * m.rate + sum(x[0] for _ in range(m.steps))
    g = jit(f)
    for k in range(20):
        m.rate = k / 7
        agree(g(X), f(X))
    assert traces(g) <= 3
    for k in range(5):
        m.steps = k
        agree(g(X), f(X))
    assert "any float" in g.explain()


def test_values_are_told_apart_exactly():
    m = types.SimpleNamespace(v=0.0)
    f = lambda x: np.copysign(x, m.v) if isinstance(m.v, float) else x * m.v
    g = jit(f)
    for v in (0.0, -0.0, 1, True, 1.0, np.nan, np.nan, np.float32(2), None and 0):
        m.v = v
        if v is not None:
            agree(g(X), f(X))


def test_nothing_traced_is_left_behind_on_errors():
    m = Model()

    def f(x):
        m.h = x.sum()
        m.cfg["rate"] = x
        m.log.append(x)
        TABLE[0] = x[0]
        raise KeyError("stop")

    before = copy.deepcopy(state_of(m))
    with pytest.raises(KeyError):
        jit(f)(X)
    agree(state_of(m), before)
    assert TABLE[0] == 0.0

    def late(x):
        m.h = x[0]
        x[0] = 5.0
        assert (x > 0).all()
        return x

    x = np.array([1.0, -1.0])
    with pytest.raises(AssertionError):
        jit(late)(x)
    agree(state_of(m), before)
    assert x[0] == 1.0


def test_a_flag_set_by_the_function():
    def make():
        m = types.SimpleNamespace(first=True, mode="a", best=None)

        def f(x):
            if m.first:
                m.first = False
                m.best = x * 2
            m.mode = "b"
            return x + m.best

        return f, m

    side_by_side(make, (X,), (X * 2,), (X * 3,), limit=2)


def test_objects_made_inside_are_nobodys():
    class Acc:
        def __init__(self, x):
            self.total = x

        def add(self, y):
            self.total = self.total + y

    def f(x):
        a = Acc(x)
        for k in range(5):
            a.add(k * x)
        return a.total

    g = jit(f)
    agree(g(X), f(X))
    agree(g(X), f(X))
    assert "stores" not in g.explain() and "total" not in g.explain()


def test_sizes_read_from_outside_arrays():
    sizes = np.array([2, 3])
    f = lambda x: np.ones(int(sizes[0])) * x[0]
    g = jit(f)
    agree(g(X), f(X))
    sizes[0] = 5
    agree(g(X), f(X))
    agree(g(X), f(X))


def test_the_same_array_under_two_names():
    m = types.SimpleNamespace(a=np.ones(3), b=None)
    m.b = m.a

    def f(x):
        m.a[0] = x[0]
        return m.b + x

    g = jit(f)
    agree(g(X), np.array([1.0, 1, 1]) + X)
    m.b = np.zeros(3)
    agree(g(X), X)


def test_identity_of_what_is_returned():
    m = types.SimpleNamespace(w=np.ones(3), cfg={"a": [1]}, h=None)

    def f(x):
        m.h = x * 2
        return m.w, m.w[1:], m.cfg, m.h

    w, part, cfg, h = jit(f)(X)
    assert w is m.w and np.shares_memory(part, m.w) and cfg is m.cfg and h is m.h


# -- ints that keep changing -----------------------------------------------------------------------


def decay(x, step):
    if step > 2:
        x = x * 0.5
    return x / (1 + step), step, step + 1, step // 2, x**step


def sized(x, n):
    return np.ones(n) * x[0]


def test_a_changing_int_argument_is_promoted():
    f = jit(decay)
    for n in (*range(12), -3, 2**40, 2**70, 5):
        if n < 2**50:
            agree(f(X, n), decay(X, n))
    assert traces(f) == 3 and "step keeps changing" in f.explain()
    f = jit(lambda n: (n, 2**n))
    for n in (1, 2, 3, 4, 70):
        agree(f(n), (n, 2**n))
    f = jit(lambda x, n: x * n)
    for n in (1, 2, 3, 4, 2**63, 2**70, 5, True, -(2**63)):
        agree(f(X, n), X * n)
    assert type(jit(lambda n: n)(3)) is int


def test_a_changing_size_is_a_power_of_two():
    f = jit(sized)
    for n in (1, 2, 3, 4, 5, 3, 32, 33):
        agree(f(X, n), sized(X, n))
    assert traces(f) == 4  # 1 and 2 are static; up to 32; up to 64


def test_promoted_ints_keep_numpys_rules():
    f = jit(lambda x, n: x + n)
    small = np.arange(3, dtype=np.uint8)
    for n in (1, 2, 3, 4, 250):
        agree(f(small, n), small + n)
    with pytest.raises(OverflowError):
        f(small, 300)
    g = jit(lambda x, n: x**n)
    for n in (1, 2, 3, 4):
        agree(g(np.arange(3), n), np.arange(3) ** n)
    with pytest.raises(ValueError):
        g(np.arange(3), -1)


def test_a_thousand_calls():
    state = types.SimpleNamespace(step=0, table=np.arange(4.0), rate=1.0)

    def f(x, t, step):
        state.step += 1
        return x * t + step * state.table[step % 4] + state.step * state.rate

    g, xs = jit(f), np.ones(2)
    for k in range(1000):
        state.table[k % 4] = k
        state.rate = 1.0 / (k + 1)
        got = g(xs, k * 0.1, k)
        assert got[0] == pytest.approx(k * 0.1 + k * state.table[k % 4] + (k + 1) * state.rate, rel=1e-12)
        assert state.step == k + 1
    assert traces(g) <= 8, g.explain()


def test_code_without_hooks_freezes_nothing():
    table, m, mask, name = np.ones(3), types.SimpleNamespace(h=1.0, d={"k": 2.0}), np.array([True, False, True]), "h"

    def generated(x):
        for k in range(3):
            yield x[k] * table[k]

    def f(x):
        return sum(generated(x)) + operator.attrgetter("h")(m) + operator.itemgetter("k")(m.d) + getattr(m, name) + x[mask].sum() + vars_of(m)

    def vars_of(m):
        return sum(v for v in m.__dict__.values() if isinstance(v, float))

    g = jit(f)
    agree(g(X), f(X))
    for change in (lambda: table.__setitem__(1, 5.0), lambda: setattr(m, "h", 4.0), lambda: m.d.update(k=7.0), lambda: mask.__setitem__(1, True)):
        change()
        agree(g(X), f(X))


def test_threads_that_trace_methods_of_their_own_objects():
    failed = []
    models = [types.SimpleNamespace(w=np.full(3, float(k)), n=0) for k in range(4)]

    def method(m):
        def f(x):
            m.n += 1
            return x * m.w + TABLE

        return jit(f)

    functions = [method(m) for m in models]

    def work(k):
        for _ in range(5):
            if not np.array_equal(functions[k](X), X * k + TABLE):
                failed.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failed and [m.n for m in models] == [5] * 4


def cubes(n, x):
    t = n
    for i in range(len(x)):
        if x[i] > 0:
            t = t + n
    return n * n * n, n * n * n * x[0], t


def test_ints_stay_exact_beyond_64_bits():
    f, x = jit(cubes), np.ones(2)
    for n in (1, 2, 3, 4, 2**22, 2**30):
        assert f(n, x) == cubes(n, x)


def test_environment_variables_are_relied_on(monkeypatch):
    def scaled(x):
        return x * float(os.environ["WENGERT_SCALE"]) + float(os.environ.get("WENGERT_SHIFT", 0)) + ("WENGERT_SHIFT" in os.environ)

    f = jit(scaled)
    for scale, shift in (("2", None), ("3", None), ("3", "1"), ("2", "4")):
        monkeypatch.setenv("WENGERT_SCALE", scale)
        if shift is not None:
            monkeypatch.setenv("WENGERT_SHIFT", shift)
        assert np.array_equal(f(np.ones(2)), scaled(np.ones(2)))


STORE = {}


def keeps_inside(x):
    STORE["double"] = x * 2
    return (x**2).sum()


def test_what_a_differentiated_function_stores_is_refused():
    STORE.clear()
    for g in (grad(keeps_inside), jit(grad(keeps_inside))):
        with pytest.raises(LeakError, match="differentiated"):
            g(np.ones(2))
    assert STORE == {}
    jit(keeps_inside)(np.ones(2))
    assert np.array_equal(STORE["double"], [2.0, 2.0])


def draws_and_decides(x, rng):
    n = rng.normal()
    if x[0] > 0:
        return [x * n]
    return None


def test_a_decision_by_value_does_not_draw_twice():
    compiled = jit(draws_and_decides)
    for seed in range(6):
        mine, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
        assert str(compiled(np.ones(2), mine)) == str(draws_and_decides(np.ones(2), theirs))
        assert mine.bit_generator.state == theirs.bit_generator.state


class Tally:
    def __init__(self):
        self.n, self.log, self.scale = 0, [], np.ones(2)


def tallies(x, tally, other):
    tally.n += 1
    if x[0] > 0:
        tally.log.append("up")
        return [x * tally.scale]
    tally.log.append("down")
    return (x - other.scale,)


def test_traces_of_a_tree_store_once_and_read_what_is_there():
    f, ours, plain, other = jit(tallies), Tally(), Tally(), Tally()
    for k in range(10):
        x = np.array([1.0, 2.0]) * (-1) ** (k % 3)
        if k == 4:
            other.scale = np.full(2, 3, np.float32)
        if k == 7:
            ours.scale, plain.scale = np.full(1, 5.0), np.full(1, 5.0)
        assert repr(f(x, ours, other)) == repr(tallies(x, plain, other))
        assert ours.n == plain.n and ours.log == plain.log


def test_check_mode_puts_back_what_the_first_run_did():
    def f(x):
        global tally
        tally += 1
        return x * tally + np.random.rand()

    global tally
    tally = 1
    np.random.seed(5)
    got = [jit(f, check=True)(np.ones(2)) for _ in range(2)]
    np.random.seed(5)
    want = [np.ones(2) * n + np.random.rand() for n in (2, 3)]
    assert np.array_equal(got, want) and tally == 3


HELD = np.ones(3)


def by_default(p, w=HELD):
    return (w**2).sum() * p


def by_keyword(p, *, w=HELD):
    return (w**2).sum() * p


def in_a_list(p, ws=[HELD]):  # noqa: B006
    return (ws[0] ** 2).sum() * p


def in_a_tuple(p, args=(HELD,)):
    return by_default(p, *args)


def written_default(p, w=HELD):
    w[1] = p
    return w.sum()


class Holder:
    def method(self, p, w=HELD):
        return (w**2).sum() * p


exec("def unseen(p, w=HELD): return (w**2).sum() * p")
HOLDERS = [by_default, by_keyword, in_a_list, in_a_tuple, written_default, Holder().method, functools.partial(by_default, w=HELD)]
HOLDERS += [lambda p: by_default(p), lambda p: in_a_list(p), functools.partial(by_default, 2.0, HELD), lambda p: unseen(p)]  # noqa: F821


@pytest.mark.parametrize("f", HOLDERS, ids=range(len(HOLDERS)))
def test_arrays_in_default_arguments_and_partials_are_read_anew(f):
    compiled, given = jit(f), () if getattr(f, "args", ()) else (2.0,)
    for value in (1.0, 5.0, -3.0):
        HELD[:] = 1.0, value, 2.0
        got, left = compiled(*given), HELD.copy()
        HELD[:] = 1.0, value, 2.0
        agree((got, left), (f(*given), HELD), 1e-12)
    assert "1 trace(s)" in compiled.explain()
