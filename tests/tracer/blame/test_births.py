"""`jit(f, debug=)`: the line, variable, index, iteration and lane in which a number goes bad, under every engine."""

import jax.numpy as jnp
import numpy as np
import pytest

import wengert
from wengert import NumericalError, custom_vjp, grad, jacfwd, jit, value_and_grad, vmap

ENGINES = [{"engine": "xla", "native": False}, {"engine": "xla"}, {"engine": "numpy"}, {}]


def blamed(function, *args, **kwargs):
    """The error of a call, with the text of its line."""
    with pytest.raises(NumericalError) as caught:
        function(*args, **kwargs)
    return caught.value


def iterations(error):
    return tuple(n for _, n in error.trips)


def straight(x):
    y = np.exp(x)
    z = np.log(x - 2.0) * y
    return z.sum()


def loop(x, n):
    u = x.copy()
    s = 0.0
    for i in range(3, n):
        y = np.log(u[2] - i * 0.001)
        u[1] = y * 2 + u[0]
        s = s + np.sqrt(np.abs(y))
    return s


@pytest.mark.parametrize("options", ENGINES)
def test_a_straight_line(options):
    for make in (np.asarray, jnp.asarray) if options.get("engine") != "numpy" else (np.asarray,):
        g, x = jit(straight, debug="nan", **options), make(np.array([3.0, 4.0, 1.0, 5.0]))
        assert np.isfinite(g(x + 2.0))
        for _ in range(3):
            error = blamed(g, x)
            assert (error.text, error.variable, error.index) == ("z = np.log(x - 2.0) * y", "z", (2,))
            assert error.operands == {"(x - 2.0)[2]": "-1.0"} and error.result == "result" and not error.adjoint
        assert np.isfinite(g(x + 2.0))


@pytest.mark.parametrize("options", ENGINES)
def test_an_iteration_of_a_loop(options):
    error = blamed(jit(loop, debug="nan", **options), np.array([1.0, 1.0, 0.7345, 1.0]), 1000)
    assert error.text == "y = np.log(u[2] - i * 0.001)" and error.variable == "y"
    assert iterations(error) == (732,) and "i = 735" in str(error)


def test_an_iteration_of_nested_loops_in_a_nest():
    def sweeps(a):
        u = a.copy()
        for i in range(1, u.shape[0]):
            for j in range(u.shape[1]):
                u[i, j] = 0.5 * u[i - 1, j] + np.sqrt(a[i, j])
        return u

    a = np.ones((300, 200))
    a[131, 77] = -2.0
    g = jit(sweeps, debug="nan")
    g(np.ones((300, 200)))
    error = blamed(g, a)
    assert (error.variable, error.index, iterations(error)) == ("u", (131, 77), (130, 77))
    assert error.result == "result[131, 77]"


def test_a_while_loop_whose_trips_data_decide():
    def descent(x):
        k = 0
        while x > 1e-3:
            x = x - 0.01
            v = np.sqrt(x - 0.495)
            x = x + 0.0 * v
            k += 1
        return x, k

    error = blamed(jit(descent, debug="nan"), 1.0)
    assert error.text == "v = np.sqrt(x - 0.495)" and iterations(error) == (50,)


def test_a_number_that_wanders_through_an_array_is_followed():
    def rolled(u, n):
        for i in range(n):
            u = np.roll(u, 1) * 0.99 + np.where(np.arange(u.size) == 3, np.log(5.5 - i), 0.0)
        return u

    error = blamed(jit(rolled, debug="nan"), np.ones(50), 40)
    assert error.expression == "np.log(5.5 - i)" and iterations(error) == (6,) and error.index == (3,)


def test_a_nan_that_a_mask_swallows_is_no_matter_unless_asked_for():
    def masked(x):
        a = np.where(x > 10, np.sqrt(x - 10), 0.0)
        b = np.arcsin(x)
        return (a + b).sum()

    with np.errstate(invalid="ignore"):
        want = masked(np.array([0.5]))
    assert jit(masked, debug="nan")(np.array([0.5])) == want
    assert blamed(jit(masked, debug="nan"), np.array([0.5, 2.0])).text == "b = np.arcsin(x)"
    assert blamed(jit(masked, debug="invalid"), np.array([0.5, 2.0])).expression == "np.sqrt(x - 10)"


def test_derivatives_name_the_line_and_where_the_infinity_was_born():
    def length(x):
        s = x * x
        y = np.sqrt(s)
        return y.sum()

    x = np.array([4.0, 0.0])
    for g in (grad(jit(length, debug="nan")), jit(grad(length), debug="nan"), grad(grad_free(length))):
        error = blamed(g, x)
        assert error.adjoint and error.text == "s = x * x" and (error.variable, error.index) == ("d_x", (1,))
        assert error.line + 1 == error.cause_line
    assert blamed(value_and_grad(jit(length, debug="nan")), x).result == "result[1][1]"
    assert jit(length, debug="nan")(x) == 4.0


def grad_free(f):
    """The same function through one more jit."""
    return jit(jit(f, debug="nan"))


def test_derivatives_of_loops_name_the_iteration_of_the_loop_as_it_is_written():
    def distances(x, n):
        s = 0.0
        for i in range(n):
            d = np.sqrt(np.abs(x - i))
            s = s + d
        return s

    for memory in (None, 400):
        error = blamed(grad(jit(distances, debug="nan", memory=memory)), 731.0, 1000)
        assert error.adjoint and error.text == "d = np.sqrt(np.abs(x - i))" and iterations(error) == (731,)


def test_the_way_back_through_a_loop_whose_trips_data_decide():
    def distances(x):
        k, s = 0, 0.0
        while k < 3000:
            d = x - k
            q = d * d
            s = s + np.sqrt(q)
            k += 1
        return s

    error = blamed(grad(jit(distances, debug="nan")), 2731.0)
    assert error.adjoint and error.text == "q = d * d" and iterations(error) == (2731,)

    def roots(x):
        k, s = 0, 0.0
        while k < 3000:
            d = x - 0.001 * k
            s = s + np.sqrt(d)
            k += 1
        return s

    error = blamed(grad(jit(roots, debug="nan")), 1.5)  # which are computed again on the way back, the last first
    assert not error.adjoint and error.text == "s = s + np.sqrt(d)" and iterations(error) == (1501,)


def test_loops_in_loops_on_the_way_back():
    def squares(a):
        s = 0.0
        for i in range(a.shape[0]):
            t = 0.0
            for j in range(2, a.shape[1]):
                p = a[i, j] * a[i, j]
                t = t + np.sqrt(p)
            s = s + t * t
        return s

    a = np.ones((20, 30))
    a[7, 11] = 0.0
    error = blamed(grad(jit(squares, debug="nan")), a)
    assert (error.text, error.index, iterations(error)) == ("p = a[i, j] * a[i, j]", (7, 11), (7, 9))


def test_a_rule_by_hand_and_forward_mode():
    @custom_vjp
    def squared(x):
        return x**2

    def backward(x, g):
        slope = np.log(x)
        return (g * slope,)

    squared.defvjp(lambda x: (x**2, x), backward)
    error = blamed(grad(jit(lambda x: squared(x).sum(), debug="nan")), np.array([1.0, -1.0]))
    assert error.text == "slope = np.log(x)" and error.index == (1,)
    error = blamed(jacfwd(jit(lambda x: np.arctanh(x) * x, debug="inf")), np.array([1.0]))
    assert error.word == "inf"


def test_pullbacks_and_checkpoints():
    f = jit(lambda x: np.sqrt((x * x).sum()), debug="nan")
    _, back = wengert.vjp(f, np.zeros(2))
    assert blamed(back, 1.0).expression == "x * x"
    error = blamed(grad(jit(lambda x: wengert.checkpoint(lambda v: np.sqrt((v * v).sum()))(x), debug="nan")), np.zeros(2))
    assert error.expression == "v * v" and error.adjoint


def test_lanes():
    def logs(x):
        y = np.log(x)
        return y.sum()

    lanes = np.ones((6, 4))
    lanes[4, 2] = -1.0
    for g in (vmap(jit(logs, debug="nan")), jit(vmap(logs), debug="nan")):
        error = blamed(g, lanes)
        assert (error.lane, error.variable, error.index) == (4, "y", (2,))
    starts = np.array([[1.0, 1.0, 7.0, 1.0], [1.0, 1.0, 0.7345, 1.0]])
    error = blamed(vmap(jit(loop, debug="nan"), in_axes=(0, None)), starts, 1000)
    assert (error.lane, iterations(error)) == (1, (732,))


def test_branches_helpers_stores_and_lists():
    def sides(x):
        if x[0] > 0:
            y = np.log(x)
        else:
            y = x * 2.0
        return y.sum()

    assert blamed(jit(sides, debug="nan"), np.array([1.0, -3.0])).text == "y = np.log(x)"

    def helper(t):
        r = np.sqrt(t)
        return 2.0 * r

    error = blamed(jit(lambda x: helper(x).sum(), debug="nan"), np.array([1.0, -3.0]))
    assert (error.text, error.variable, error.index) == ("r = np.sqrt(t)", "r", (1,))

    def stored(u, v):
        for k in range(1, u.shape[0]):
            u[k] = u[k - 1] + np.log(v[k])

    u, v = np.zeros(20), np.ones(20)
    v[7] = -1.0
    error = blamed(jit(stored, debug="nan"), u, v)
    assert (error.variable, error.index, iterations(error)) == ("u", (7,), (6,)) and not u.any()
    assert error.result == "u[7], which the function writes"

    def listed(x, n):
        h = []
        for _ in range(n):
            x = x - 0.1
            h.append(np.sqrt(x))
        return np.array(h)

    assert iterations(blamed(jit(listed, debug="nan"), 0.55, 10)) == (5,)


def test_methods_leave_their_object_as_it_was():
    class Filter:
        def __init__(self):
            self.w, self.seen = np.array([1.0, -1.0]), []

        @jit(debug="nan")
        def step(self, x):
            h = np.sqrt(self.w * x)
            self.w = self.w + h
            self.seen.append(h)
            return 1.0

    made = Filter()
    error = blamed(made.step, 2.0)
    assert (error.variable, error.index) == ("h", (1,)) and made.w.tolist() == [1.0, -1.0] and made.seen == []
    assert error.result == "self.w[1], which the function stores"


def test_draws_are_those_of_the_call():
    def drawn(rng, n):
        s = 0.0
        for _ in range(n):
            z = rng.normal()
            s += np.sqrt(z + 1.5)
        return s

    numbers = np.random.default_rng(0).normal(size=50)
    error = blamed(jit(drawn, debug="nan"), np.random.default_rng(0), 50)
    assert iterations(error) == (int(np.argmax(numbers < -1.5)),)
    before = np.random.default_rng(3)
    error = blamed(jit(lambda rng: np.log(rng.normal(size=5)), debug="nan"), before)
    numbers = np.random.default_rng(3).normal(size=5)
    assert error.index == (int(np.argmax(numbers < 0)),) and before.normal() == np.random.default_rng(3).normal(size=6)[5]


def test_what_acts_is_not_done_again_by_the_replay(capsys):
    def prints(x):
        print("once", x[0])
        y = np.log(x)
        return y

    assert blamed(jit(prints, debug="nan"), np.array([1.0, -1.0])).index == (1,)
    assert capsys.readouterr().out == "once 1.0\n"


def test_products_solvers_and_moves():
    a, b = np.ones((3, 3)), np.ones((3, 3))
    a[1, 1], b[1, 2] = np.inf, 0.0
    error = blamed(jit(lambda a, b: (a @ b).sum(), debug="nan"), a, b)
    assert error.expression == "a @ b" and "the infinity was in a[1, 1] when the call began" in str(error)

    def solved(a, b):
        c = np.sqrt(b)
        return np.linalg.solve(a, c).sum()

    error = blamed(jit(solved, debug="nan"), np.eye(3) + 0.1, np.array([1.0, -2.0, 3.0]))
    assert (error.text, error.index) == ("c = np.sqrt(b)", (1,))

    def moved(x, at):
        y = np.log(x)
        out = np.zeros((2, 3))
        out[1] = np.sort(y[::-1][at])
        return np.concatenate([out.T.ravel(), x])

    error = blamed(jit(moved, debug="nan"), np.array([1.0, 2.0, 3.0, -4.0]), np.array([0, 3, 2]))
    assert (error.text, error.index) == ("y = np.log(x)", (3,))
    error = blamed(grad(jit(lambda a: np.linalg.eigh(a)[1].sum(), debug="nan")), np.eye(3))
    assert error.expression == "np.linalg.eigh(a)" and error.adjoint  # of equal eigenvalues the rule knows none


def test_what_came_in_is_said_and_not_raised():
    g = jit(lambda x: np.sqrt(x) + 1.0, debug="nan")
    with pytest.warns(RuntimeWarning, match=r"x\[1\] was nan when the call began; none was born in"):
        out = g(np.array([1.0, np.nan]))
    assert np.isnan(out).tolist() == [False, True]
    assert blamed(g, np.array([1.0, np.nan, -1.0])).index == (2,)
    assert np.isnan(jit(lambda x: np.array([x, np.nan]), debug="nan")(1.0)).tolist() == [False, True]


def test_what_the_compiled_program_alone_shows_is_said_to_be_so(inexact_rules):
    with wengert.rule(lambda x: np.hypot(x, 1.0) * 3.0, lambda x: np.sqrt(x * x + 1.0) * 3.0 + (x * 1e-300) * 0.0):
        error = blamed(jit(lambda x: np.hypot(x, 1.0) * 3.0, debug="nan"), np.array([1.0, np.inf]))
    assert error.line is None and "it comes of how the program was rewritten or compiled" in str(error)
