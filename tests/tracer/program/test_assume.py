"""Branches taken by value: trees of traces, what a failed assumption leaves alone, and where it ends."""


import numpy as np
import pytest
from compare import agree

from wengert import Fallback, UnsupportedError, grad, jit

UP, DOWN = np.array([1.0, 2.0, 3.0]), np.array([-1.0, -2.0, -3.0])


def alike(function, *calls, traces=None):
    """One compiled function and plain Python on each of `calls` in turn: results, arguments and errors."""
    compiled = jit(function)
    for args in calls:
        plain, ours = ([x.copy() if isinstance(x, np.ndarray) else x for x in args] for _ in range(2))
        try:
            want = function(*plain)
        except Exception as error:
            with pytest.raises(type(error)) as caught:
                compiled(*ours)
            assert str(error).strip() in str(caught.value)
            agree(ours, list(args))
            continue
        agree(compiled(*ours), want)
        agree(ours, plain)
    if traces is not None:
        assert compiled.explain().splitlines()[0].endswith(f": {traces} trace(s)")
    return compiled


def shapes(x):
    if x.sum() > 0:
        return x[1:]
    return -x


def found(x, v):
    for i in range(len(x)):
        if x[i] == v:
            return i
    return None


def kinds(x):
    y = x if x.sum() > 0 else None
    x[0] = 5
    if y is None:
        return "none"
    if y[1] > 2:
        return y, 2
    return y * 2


def writes(x, i):
    x[0] = 7
    if x.sum() > 0:
        return [x[i]]
    return x[i], x * 2


def no_cast(x, i):
    x[i] = 0
    x += 0.5
    return x


def no_key(x, i):
    int(x[i] * 1e300)
    return {"p": x}[str(i is None)]


def shapes_late(x, i):
    x[i] = 0
    return x + np.ones(7)


def test_what_fails_before_the_trace_ends_comes_first():
    whole = np.arange(3)
    for f, x in ((no_cast, whole), (no_key, UP * np.inf), (no_key, UP * 0), (shapes_late, UP)):
        alike(f, (x, np.int64(9)), (x, np.int64(1)), (x, np.int64(-9)))


def test_sides_of_other_shapes_structures_and_types():
    alike(shapes, (UP,), (DOWN,), (UP,), (DOWN * 2,), traces=2)
    alike(found, (UP, 2.0), (UP, 9.0), (DOWN, 1.0), (DOWN, -3.0), traces=2)
    alike(kinds, (UP,), (DOWN,), (UP + 1,), (UP,), (-UP,), traces=3)


def test_what_is_asked_by_identity_is_one_thing():
    def named(x):
        y = None if x.sum() > 0 else 1
        return "none" if y is None else "one"

    def matched(x):
        y = None if x.sum() > 0 else 1
        match y:
            case None:
                return "none"
            case 1:
                return "one"

    def typed(x):
        y = (1, 2) if x.sum() > 0 else "text"
        return isinstance(y, tuple), type(y).__name__, f"{y}"

    for f in (named, matched, typed):
        alike(f, (UP,), (DOWN,), (UP,), traces=2)


def test_in_a_loop_python_s_error_is_raised():
    def count(x):
        k = 0
        for i in range(len(x)):
            y = None if x[i] > 0 else 1
            k += y + 0
        return k

    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'NoneType' and 'int'"):
        jit(count)(UP)


def test_nothing_is_written_where_an_assumption_fails():
    alike(writes, (UP, 1), (DOWN * 9, 1), (UP, 2), traces=None)
    alike(lambda x, i: writes(x, i), (UP, np.int64(1)), (DOWN * 9, np.int64(1)), (UP, np.int64(5)), (DOWN * 9, np.int64(5)), traces=2)


def test_errors_under_a_failed_assumption_do_not_surface():
    def guarded(x, i):
        if i < 3:
            return [x[i]]
        return None

    alike(guarded, (UP, np.int64(1)), (UP, np.int64(7)), (UP, np.int64(-9)), (UP, np.int64(2)), traces=2)


def test_an_error_before_the_decision_is_the_one_raised():
    def late(x, i):
        y = x[i]
        return [y] if y > 2 else None

    alike(late, (UP, np.int64(9)), (UP, np.int64(0)), (UP, np.int64(-4)), (UP, np.int64(2)), traces=2)


def test_a_loop_under_a_failed_assumption_ends():
    def counted(x, n):
        r = [x] if n >= 0 else (x, x)
        k = 0 * n
        while k != n:
            k += 1 if n >= 0 else -1
        return r, k

    def endless(x, n):
        if n < 0:
            return None
        k = 0 * n
        while k != n:
            k += 1
        return k

    alike(counted, (1.0, np.int64(5)), (1.0, np.int64(-5)), traces=2)
    alike(endless, (1.0, np.int64(5)), (1.0, np.int64(-5)), traces=2)


def test_library_code_and_code_without_source():
    space = {}
    exec("def f(x, i):\n  if x.sum() > 0:\n    x[1] = 7\n    return x[i]\n  return x * 2", space)
    exec("def g(x):\n  return x[0] if x[0] > 1 and x[1] > 2 else x", space)
    alike(space["f"], (UP, np.int64(1)), (DOWN, np.int64(9)), (UP, np.int64(9)), (UP, np.int64(2)), traces=2)
    alike(space["g"], (UP,), (UP + 1,), (DOWN,), traces=2)
    alike(lambda a, b, c: sorted([a, b, c]), (1.0, 2.0, 3.0), (3.0, 1.0, 2.0), (2.0, 1.0, 3.0), (3.0, 2.0, 1.0))


def test_new_types_begin_a_tree_of_their_own():
    alike(shapes, (UP,), (np.ones(5, np.float32),), (DOWN,), (-np.ones(5, np.float32),), (UP,), (np.ones(5, np.float32),), traces=4)


def test_objects_changed_before_the_trace_began_again_are_put_back():
    class Box:
        pass

    def f(x):
        box.log.append(1)
        box.count += 1
        y = x if x.sum() > 0 else None
        return y is None

    box = Box()
    box.log, box.count = [], 0
    jit(f)(UP)
    assert len(box.log) == box.count == 1


def test_no_except_of_the_users_stops_the_trace_from_beginning_again():
    def f(x, i):
        try:
            y = x[i]
            z = [y] if y > 2 else None
            return z is None
        except:  # noqa: E722
            return "caught"

    alike(f, (UP, np.int64(0)), (UP, np.int64(2)), (UP, np.int64(9)), traces=2)  # the last comes to the user's own `except`


def test_too_many_ways():
    def bits(x):
        out = []
        for v in [x[0], x[1], x[2], x[3], x[4]]:
            pair = [v, "high"] if v > 0 else (v,)
            out.append(len(pair))
        return out

    f = jit(bits)
    with pytest.raises(UnsupportedError, match=r"(?s)16 different ways.*test_assume.py:\d+\n.*if v > 0"):
        for n in range(32):
            f(np.array([1.0 if n >> k & 1 else -1.0 for k in range(5)]))


def test_where_rounding_decides_the_call_is_plain():
    f = jit(lambda x: [x] if x > 0 else None)
    f(1.0)
    f(-1.0)
    (world,) = next(iter(f.compiled.entries.values())).worlds
    for version in world.versions[0].tree.versions.values():
        version.program = lambda *leaves: (np.array(1),)  # now each says that the other is right
    with pytest.warns(Fallback, match="rounding"):
        assert f(2.0) == [2.0]


def test_transforms_say_what_they_cannot_merge():
    with pytest.raises(UnsupportedError, match="one side"):
        grad(lambda x: x[1:].sum() if x.sum() > 0 else None)(UP)


def test_gradients_inside_a_branch_by_value():
    def f(x):
        if x.sum() > 0:
            return grad(lambda v: (v * v).sum())(x)
        return None

    g = jit(f)
    agree(g(UP), 2 * UP)
    assert g(DOWN) is None


def test_explain_prints_the_tree():
    text = alike(kinds, (UP,), (DOWN,), (UP + 1,)).explain()
    line = kinds.__code__.co_firstlineno + 1
    assert f"assumes      test_assume.py:{line} `y = x if x.sum() > 0 else None`: true" in text
    tree = text.split("which data chooses by value\n")[1].splitlines()
    assert [t.strip().split(" ")[0] for t in tree] == [f"test_assume.py:{line}", "true:", "true:", "false:", "false:"]


def euler(y0, x0, h, end):
    n = int(np.ceil((end - x0) / h))
    y = np.zeros(n + 1)
    y[0] = y0
    for k in range(n):
        y[k + 1] = y[k] + h * (x0 + k * h + y[k])
    return y


def test_a_size_that_follows_from_pythons_numbers_is_taken_by_value():
    f = jit(euler)
    for args in ((1.0, 0.0, 0.1, 0.5), (2.0, 0.0, 0.1, 0.5), (1.0, 0.0, 0.05, 0.5), (1.5, 0.25, 0.1, 0.75), (1.0, 0.0, 0.05, 0.5)):
        np.testing.assert_allclose(f(*args), euler(*args), rtol=1e-12)
    assert f.explain().count("because") == 2 and "`y = np.zeros(n + 1)`: 6" in f.explain()
    g = jit(lambda x: [x] * int(x))
    assert [g(x) for x in (2.0, 3.0, 2.5, 0.5)] == [[2.0, 2.0], [3.0] * 3, [2.5, 2.5], []]


def test_a_size_that_depends_on_an_array_is_a_power_of_two():
    f = jit(lambda x: np.zeros(int(x.sum())))
    assert [f(np.full(3, n)).size for n in (1.0, 1.4, 20.0, 21.0)] == [3, 4, 60, 63]
    assert f.explain().splitlines()[0].endswith(": 2 trace(s)")


def of_number(x, y):
    if np.linalg.norm(y) > 1.0:
        return None
    if x > 0:
        return x * 2
    return "not positive"


@pytest.mark.parametrize("engine", ["numpy", None])
def test_an_exception_joins_traces_with_choices(engine, monkeypatch):
    """A trace of other shapes that ends in an exception, run as NumPy, among those of a tree."""
    monkeypatch.setattr("wengert.tracer.program.backend_choice.CHOICE", engine)
    one, y = jit(of_number), np.zeros(4)
    assert one(np.array(2.0), y) == 4.0
    for _ in range(2):
        for shape in (3, 2), (4, 2):
            with pytest.raises(ValueError, match="ambiguous"):
                one(np.ones(shape), y)
        assert one(np.array(-2.0), y) == "not positive" and one(np.ones((1, 1)), y) == 2.0


def grown_by_views(g, h):
    out, t = [], 0
    while t < 2:
        g = h[:, None] + g
        g[0] = 1.0
        out.append(g)
        t += 1
    return g


@pytest.mark.parametrize("engine", ["xla", "numpy", None])
def test_one_result_of_choices_that_are_known_in_the_end(engine):
    """The ways of a tree are told apart where nothing is computed for that, too."""
    f = jit(grown_by_views, engine=engine)
    for n in (2, 2, 3, 2):
        args = np.zeros((n, 4)), np.ones(n)
        np.testing.assert_array_equal(f(*args), grown_by_views(*args))
