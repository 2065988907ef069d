"""What stands before and behind a program at each call: containers tested where they are, results made in place, checks asked in short."""

import collections
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compare import agree

from wengert import grad, jit, vmap
from wengert.backends.numpy.rows import is_taken
from wengert.backends.xla import dispatch
from wengert.ir.core import Lit
from wengert.tracer.api.compiled import Compiled
from wengert.tracer.call import inline_cache
from wengert.tracer.call.callee import Callee
from wengert.tracer.program.check_weakening import decided


def closed(f):
    """f, which from now on has only its inline way."""
    own = f.callee

    class Closed(Callee):
        __slots__ = ()

        def __call__(self, run, /, *args, **kwargs):
            return pytest.fail("the slow way was taken") if run == own.compiled.slow else own(run, *args, **kwargs)

    f.__closure__[f.__code__.co_freevars.index("callee")].cell_contents = Closed(own.compiled, own.given, own.object)
    return f


def alike(got, want):
    """The same, by their values where there are jax arrays."""
    known = any(isinstance(x, jax.Array) for x in jax.tree_util.tree_leaves(got))
    agree(*[jax.tree_util.tree_map(np.asarray, x) if known else x for x in (got, want)])


def warm(function, *args, **options):
    f = jit(function, **options)
    for _ in range(2):
        alike(f(*args), function(*args))
    return f


def nested(p, layers, rate, nothing):
    out = [x @ w + p["shift"] * rate for x, w in layers]
    return {"out": tuple(out), "rate": rate, "none": nothing, "first": p["x"]}


def arguments(make=np.asarray):
    layers = [(make(np.arange(3.0) + k), make(np.eye(3) * k)) for k in range(3)]
    return {"x": make(np.ones(3)), "shift": make(np.full(3, 2.0))}, layers, 0.5, None


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("engine", ["xla", None])
def test_containers_are_tested_inline(make, engine):
    f = closed(warm(nested, *arguments(make), engine=engine))
    given = arguments(make)
    got = f(*given)
    alike(got, nested(*given))
    assert list(got) == ["out", "rate", "none", "first"] and got["first"] is given[0]["x"]


def test_containers_of_other_builds():
    p, layers, rate, _ = arguments()
    f = warm(nested, p, layers, rate, None)
    others = [
        ({"shift": p["shift"], "x": p["x"]}, layers, rate, None),
        (p | {"more": rate}, layers, rate, None),
        (p, layers[:2], rate, None),
        (p, [[*layer] for layer in layers], rate, None),
        (p, tuple(layers), rate, None),
        (p, layers, np.float32(rate), None),
        (p, layers, rate, ()),
        (collections.OrderedDict(p), layers, rate, [p["x"]]),
    ]
    for args in others * 2:
        agree(f(*args), nested(*args))
    agree(f(p, layers, nothing=None, rate=rate), nested(p, layers, rate, None))


def test_orders_of_keys_are_seen():
    f = jit(lambda p: [2 * x for x in p.values()])
    g = jit(lambda **p: [2 * x for x in p.values()])
    h = jit(lambda a, b: a - b)
    for keys in ("ab", "ba", "ab", "ba"):
        p = {k: np.full(2, float(ord(k))) for k in keys}
        agree(f(p), [2 * x for x in p.values()])
        agree(g(**p), [2 * x for x in p.values()])
        agree(h(**p), np.full(2, -1.0))
    assert [len(x.compiled.entries) for x in (f, g, h)] == [2, 2, 1] and "because      keys in another order" in f.explain()


def test_containers_that_are_changed_or_handed_back():
    def f(p, xs):
        p["x"] = p["x"] + 1
        xs.append(p["x"])
        return p, xs

    g = jit(f)
    for _ in range(3):
        mine, theirs = ({"x": np.ones(2)}, [np.zeros(2)]), ({"x": np.ones(2)}, [np.zeros(2)])
        got = g(*mine)
        agree((got, mine), (f(*theirs), theirs))
        assert got[0] is mine[0] and got[1] is mine[1]


def test_nothing_but_containers():
    f = jit(lambda x, xs: (x, xs, 3.0))
    for _ in range(3):
        assert f(None, []) == (None, [], 3.0)


def test_more_leaves_than_a_first_call_waits_for():
    f, xs = jit(lambda xs: [x * 2 for x in xs]), [np.full(2, float(k)) for k in range(inline_cache.MANY + 1)]
    f(xs)
    f(xs)
    agree(closed(f)(xs), [x * 2 for x in xs])


def several(x, i):
    y = x[i]
    return y, y.sum(), x, (y[::-1], y), len(x), float(x[0]), int(i[0])


@pytest.mark.parametrize("make", [np.asarray, jnp.asarray])
@pytest.mark.parametrize("engine", ["xla", None])
def test_results_of_all_kinds(make, engine):
    x, i = make(np.arange(5.0)), make(np.array([1, -5, 4]))
    f = jit(lambda x, i: several(x, i)[:5] if make is jnp.asarray else several(x, i), engine=engine)
    want = several(x, i)[: 5 if make is jnp.asarray else 7]
    for _ in range(3):
        got = f(x, i)
        alike(got, want)
        assert [type(g) for g in got[:3] + got[4:]] == [type(w) for w in want[:3] + want[4:]] or make is jnp.asarray
        assert got[2] is x
        if make is np.asarray:
            assert got[3][1] is got[0] and got[3][0].base is not None and got[0].flags.writeable
            got[0][:] = 7.0
            assert got[3][0][0] == 7.0
        closed(f)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        f(x, make(np.array([0, 5, 1])))


@pytest.mark.parametrize("index", [[0, 2], [-3, 2], [3, 0], [0, -4], [-1, 7], [1 << 40, 0]])
@pytest.mark.parametrize("function", [lambda x, i: x[i], lambda x, i: np.take(x, i, axis=1), lambda x, i: x[i] + x.T[i[::-1]], lambda x, i: x[i, i]])
def test_indices_that_numpy_asks_itself(function, index):
    f, x = jit(function, engine="numpy"), np.arange(9.0).reshape(3, 3)
    f(x, np.array([0, 1]))
    try:
        want = function(x, np.array(index))
    except IndexError:
        for _ in range(2):
            with pytest.raises(IndexError, match=f"index {[k for k in index if not -3 <= k < 3][0]} is out of bounds for axis . with size 3"):
                f(x, np.array(index))
    else:
        agree(f(x, np.array(index)), want)


def test_what_is_left_to_ask():
    def left(function, *args):
        func = decided(jit(function).ir(*args))
        return not isinstance(func.results[-1], Lit), sum(map(is_taken, func.eqns)), sum(e.op.name == "argmax" for e in func.eqns)

    x, i = np.ones((8, 8)), np.arange(3)
    assert left(lambda x, i: x[i].sum(0), x, i) == (False, 1, 0)
    assert left(lambda x, i: x[i] + x[i + 1], x, i) == (False, 2, 0)
    assert left(lambda x, i: x[i[0]], x, i) == (True, 0, 0)
    assert left(lambda x, i: x[i, i], x, i) == (True, 0, 0)
    assert left(lambda x: np.linalg.solve(x, x), x) == (False, 0, 0)


def test_stores_in_place_where_nothing_can_fail():
    def f(x, y):
        x[1] = 2.0
        x[-2:] = y

    g = jit(f, engine="numpy")
    for make in (lambda: np.zeros(6), lambda: np.zeros(12)[::2]):
        for _ in range(2):
            mine, theirs = make(), make()
            g(mine, np.ones(2))
            f(theirs, np.ones(2))
            agree(mine, theirs)
    x = np.arange(6.0)
    g(x, x[:2])
    f(want := np.arange(6.0), want[:2])
    agree(x, want)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        g(x, np.ones(2))
    agree(x, want)


def scaled(x, scale=2.0, shift=1.0):
    return x * scale + shift


def test_keywords_by_position_are_no_other_call():
    f, x = jit(scaled), np.arange(3.0)
    for _ in range(2):
        agree((f(x, 3.0), f(x, scale=3.0), f(scale=3.0, x=x)), (scaled(x, 3.0),) * 3)
    assert len(f.compiled.entries) == 1
    g = closed(warm(scaled, x, 3.0))
    agree((g(x, scale=3.0), g(scale=3.0, x=x)), (scaled(x, 3.0),) * 2)
    for _ in range(2):  # behind a default they stay keywords
        agree((f(x, shift=3.0), f(shift=3.0, x=x), f(x), f(x, 1.0, shift=3.0)), (x * 2 + 3, x * 2 + 3, x * 2 + 1, x + 3))
    g = jit(scaled)
    g(x, shift=3.0)
    agree(closed(g)(x, shift=4.0), x * 2 + 4)
    slope = jit(grad(lambda x, scale: (x * scale).sum()))
    agree((slope(x, 2.0), slope(x, scale=2.0), grad(lambda x, scale: x * scale, argnums="scale")(2.0, scale=3.0)), (np.full(3, 2.0),) * 2 + (2.0,))
    assert len(slope.compiled.entries) == 1


def test_keywords_that_the_function_tells_apart():
    @functools.wraps(scaled)
    def wrapped(*args, **kwargs):
        return scaled(*args, **kwargs) + len(kwargs)

    f, x = jit(wrapped), np.arange(3.0)
    for _ in range(2):
        agree((f(x, 3.0), f(x, scale=3.0), f(x, scale=3.0, shift=2.0)), (x * 3 + 1, x * 3 + 2, x * 3 + 4))

    def only(x, /, y, *, z, **more):
        return x + y * z + sum(more.values())

    g = jit(only)
    for _ in range(2):
        agree((g(x, y=1.0, z=2.0), g(x, 1.0, z=2.0), g(x, 1.0, z=2.0, x=3.0, w=1.0)), (x + 2, x + 2, x + 6))
    agree(vmap(lambda x, s: x * s, in_axes=(0,))(x, s=x), x * x)


def test_parameters_under_any_names():
    """Those of the generated function itself among them."""

    def f(hit, raw, rest, a1=2.0, config=1.0):
        return hit * raw + rest * a1 / config

    g = jit(f)
    by_name = {"rest": 3.0, "hit": 1.0, "raw": 2.0}
    calls = [((1.0, 2.0, 3.0), {}), ((1.0,), {"raw": 2.0, "rest": 3.0}), ((1.0, 2.0), {"rest": 3.0, "config": 4.0}), ((), by_name)]
    for _ in range(3):
        agree([g(*args, **kwargs) for args, kwargs in calls], [f(*args, **kwargs) for args, kwargs in calls])
    g = closed(g)
    agree([g(*args, **kwargs) for args, kwargs in calls], [f(*args, **kwargs) for args, kwargs in calls])


def test_by_position_alone_and_by_keyword():
    def f(x, /, y, z=1.0):
        return x + y * z

    g = jit(f)
    for _ in range(2):
        agree((g(1.0, y=2.0), g(1.0, 2.0), g(1.0, z=2.0, y=3.0), g(1.0, 3.0, z=4.0)), (3.0, 3.0, 7.0, 13.0))
    for args, kwargs in [((), {"x": 1.0, "y": 2.0}), ((1.0,), {}), ((1.0, 2.0), {"y": 3.0}), ((1.0, 2.0, 3.0, 4.0), {})]:
        with pytest.raises(TypeError) as want:
            f(*args, **kwargs)
        with pytest.raises(TypeError) as got:
            g(*args, **kwargs)
        assert str(got.value) == str(want.value)


@pytest.mark.parametrize("function, args", [(lambda x, y: (x + y) * 2.0 - x, (3.0, 0.25)), (lambda x: x.__setitem__(0, 2.0), (np.arange(3.0),))])
def test_few_operations_stand_in_the_function_in_front(function, args):
    f = closed(warm(function, *args, engine="numpy"))
    (entry,) = f.compiled.entries.values()
    (straight,) = entry.current.straight
    straight.call.__code__ = (lambda *_: pytest.fail("called")).__code__
    mine, theirs = ([x.copy() if isinstance(x, np.ndarray) else x for x in args] for _ in range(2))
    agree(f(*mine), function(*theirs))
    agree(mine, theirs)


# -- checks of jax arrays --------------------------------------------------------------------------


equal = np.testing.assert_array_equal


def counting(f):
    """How often a call of f has waited for its status."""
    waited, word = [], f.compiled.front.space["word"]
    f.compiled.front.space["word"] = lambda x: waited.append(x) or word(x)
    return waited


@pytest.mark.parametrize("native", [False, True])
def test_the_same_indices_are_waited_for_once(native):
    f = warm(lambda x, i: x[i] * 2.0, jnp.arange(5.0), jnp.array([0, 3]), native=native)
    waited = counting(f)
    good, bad, x = jnp.array([1, 4]), jnp.array([1, 5]), jnp.arange(5.0)
    for k in range(4):
        equal(f(x + k, good), (np.arange(5.0) + k)[[1, 4]] * 2)
    assert len(waited) == (not native)
    for i, out in ((bad, "index 5 is out of bounds"), (good, None), (good, None), (bad, "index 5 is out of bounds"), (bad, "index 5")):
        if out is None:
            equal(f(x, i), np.arange(5.0)[[1, 4]] * 2)
        else:
            with pytest.raises(IndexError, match=out):
                f(x, i)
    assert len(waited) == 4 * (not native)  # what has failed is not forgotten for what passed
    equal(f(x, jnp.array([0, 1])), np.arange(2.0) * 2)
    assert len(waited) == 5 * (not native)


def test_checks_of_other_shapes_are_other_checks():
    """The axis is part of the check, and not of what it is about."""
    f, i = jit(lambda x, i: x[i]), jnp.array([0, 4])
    for _ in range(3):
        equal(f(jnp.arange(5.0), i), np.arange(5.0)[[0, 4]])
        with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 3"):
            f(jnp.arange(3.0), i)


def test_checks_of_arrays_that_may_change_are_asked_again():
    i, x = np.array([0, 3]), np.arange(5.0)
    f = warm(lambda x, i: x[i] * 2.0, x, i, engine="xla")
    i[0] = 7
    with pytest.raises(IndexError):
        f(x, i)


def test_numbers_and_arrays_that_decide_together():
    f, a, x = jit(lambda a, s, x: np.linalg.solve(a - s * np.eye(2), x), native=False), jnp.eye(2), jnp.ones(2)
    two, one = 2.0, 1.0
    for _ in range(3):
        equal(f(a, two, x), -np.ones(2))
    waited = counting(f)
    equal(f(a, two, x + 1), -np.full(2, 2.0))
    assert not waited
    with pytest.raises(np.linalg.LinAlgError):
        f(a, one, x)


REFUSED = [((), {}), ((), {"scale": 1.0}), ((1.0,), {"x": 1.0}), ((1.0,), {"size": 1.0}), ((1.0, 2.0, 3.0, 4.0), {})]


@pytest.mark.parametrize("args, keywords", REFUSED)
def test_calls_that_python_refuses(args, keywords):
    with pytest.raises(TypeError) as want:
        scaled(*args, **keywords)
    f = jit(scaled)
    f(1.0)
    with pytest.raises(TypeError, match=str(want.value).replace("(", r"\(").replace(")", r"\)")):
        f(*args, **keywords)


def ragged(values, columns, starts, x):
    y = np.zeros(len(starts) - 1)
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        y[i] = np.sum(values[row] * x[columns[row]])
    return y


def test_short_rows_are_looked_through_only_where_an_index_is_out_of_range():
    columns, starts = np.arange(100) % 7, np.arange(0, 101, 10)
    args = np.ones(100), columns, starts, np.arange(7.0)
    (eqn,) = [e for e in jit(ragged).ir(*args).eqns if e.op.name == "loop"]
    assert "argmax" not in {e.op.name for e in eqn.attrs["body"].eqns}
    agree(jit(ragged)(*args), ragged(*args))
    columns[33] = -8
    with pytest.raises(IndexError, match="index -8 is out of bounds for axis 0 with size 7"):
        jit(ragged)(*args)


def test_any_number_of_arguments(monkeypatch):
    """Each is tested inline after its first calls, in a parameter of its own while there are not too many."""
    slow, route = [], Compiled.route

    def seen(self, args, kwargs):
        slow.append(len(args))
        return route(self, args, kwargs)

    monkeypatch.setattr(Compiled, "route", seen)
    f, many = jit(lambda *xs, **named: sum(xs, 0.0) + len(xs) + sum(named.values())), [np.float64(k) for k in range(80)]
    for n in (0, 1, 3, 5, 3, 1):
        agree(f(*many[:n]), f.__wrapped__(*many[:n]))
    slow.clear()
    for n in (5, 3, 1):
        agree(f(*many[:n]), f.__wrapped__(*many[:n]))
    assert not slow and f.compiled.front.count == 5
    for n in (80, 80, 1, 80, 1):
        agree(f(*many[:n]), f.__wrapped__(*many[:n]))
    slow.clear()
    for n in (80, 1):
        agree(f(*many[:n]), f.__wrapped__(*many[:n]))
    assert not slow and f.compiled.front.count == 0
    agree(f(many[1], more=2.0), f.__wrapped__(many[1], more=2.0))


def test_what_tells_of_64_bit_types():
    """Where jax.enable_x64 has no value of its own, and where it has one."""
    for on in (True, False):
        with jax.enable_x64(on):
            assert dispatch.X64.value == dispatch.Setting().value == jax.config.jax_enable_x64 == on
