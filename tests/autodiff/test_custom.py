"""Derivatives by hand against those of the program, in every mode and nesting; what a checkpoint keeps; errors."""

import re

import jax
import numpy as np
import pytest
from compare import agree
from sweep import by_xla

from wengert import (
    DerivativeError,
    UnsupportedError,
    checkpoint,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    implicit_root,
    implicit_solve,
    jacfwd,
    jacrev,
    jit,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from wengert.backends.xla import lower

X, W = np.random.default_rng(0).uniform(0.3, 1.5, size=(4, 3)), np.random.default_rng(1).normal(size=3)


def plain(x, w):
    return np.sin(x * w) * x.sum()


def by_vjp():
    @custom_vjp
    def f(x, w):
        return np.sin(x * w) * x.sum()

    def fwd(x, w):
        return f(x, w), {"c": np.cos(x * w), "x": x, "w": w}

    def bwd(kept, g):
        x, w, c = kept["x"], kept["w"], kept["c"]
        s = x.sum()
        return g * c * w * s + (g * np.sin(x * w)).sum(), g * c * x * s

    f.defvjp(fwd, bwd)
    return f


def by_vjp_apart():
    """The forward half does not call the function."""

    @custom_vjp
    def f(x, w):
        return np.sin(x * w) * x.sum()

    def bwd(kept, g):
        return vjp(plain, *kept)[1](g)

    f.defvjp(lambda x, w: (plain(x, w), (x, w)), bwd)
    return f


def by_jvp():
    @custom_jvp
    def f(x, w):
        return np.sin(x * w) * x.sum()

    @f.defjvp
    def rule(primals, tangents):
        (x, w), (dx, dw) = primals, tangents
        return f(x, w), np.cos(x * w) * (dx * w + x * dw) * x.sum() + np.sin(x * w) * dx.sum()

    return f


def by_jvps():
    f = custom_jvp(plain)
    f.defjvps(
        lambda dx, y, x, w: np.cos(x * w) * dx * w * x.sum() + np.sin(x * w) * dx.sum(),
        lambda dw, y, x, w: np.cos(x * w) * x * dw * x.sum(),
    )
    return f


def by_checkpoint():
    return checkpoint(plain)


FORMS = [by_vjp, by_vjp_apart, by_jvp, by_jvps, by_checkpoint]
each = pytest.mark.parametrize("form", by_xla([by_vjp], *FORMS), ids=lambda f: f.__name__)


@each
def test_values_and_all_modes_are_those_of_the_program(form):
    f, x = form(), X[0]
    assert np.array_equal(f(x, W), plain(x, W))  # plain Python outside
    agree(jit(f)(x, W), plain(x, W), 1e-14)
    loss, want = (lambda x, w: (f(x, w) ** 2).sum()), (lambda x, w: (plain(x, w) ** 2).sum())
    for k in (0, 1, (0, 1)):
        for a, b in zip(np.atleast_2d(grad(loss, k)(x, W)), np.atleast_2d(grad(want, k)(x, W))):
            agree(a, b, 1e-12)
    for mode in (jacfwd, jacrev):
        for k in (0, 1):
            agree(mode(f, k)(x, W), mode(plain, k)(x, W), 1e-12)
    t = W[::-1].copy()
    for a, b in zip(jvp(f, (x, W), (t, x)), jvp(plain, (x, W), (t, x))):
        agree(a, b, 1e-12)
    agree(linearize(lambda x: f(x, W), x)[1](t), jvp(lambda x: plain(x, W), (x,), (t,))[1], 1e-12)
    agree(jit(value_and_grad(loss))(x, W)[0], want(x, W), 1e-14)


@each
def test_second_order_in_every_nesting(form):
    f, x = form(), X[0]
    loss, want = (lambda x: (f(x, W) ** 2).sum()), (lambda x: (plain(x, W) ** 2).sum())
    h = hessian(want)(x)
    for twice in (hessian(loss), jacrev(jacrev(loss)), jacrev(jacfwd(loss)), jacfwd(jacfwd(loss))):
        agree(twice(x), h, 1e-11)
    agree(hvp(loss, (x,), (W,))[0], h @ W, 1e-11)
    third = lambda q: grad(lambda x: (hvp(q, (x,), (W,))[0] * W).sum())(x)
    agree(third(loss), third(want), 1e-10)


def total_over(f, axes):
    return lambda *args: (vmap(f, in_axes=axes)(*args) ** 2).sum()


@each
def test_lanes(form):
    f = form()
    agree(vmap(f, in_axes=(0, None))(X, W), np.stack([plain(x, W) for x in X]), 1e-14)
    for axes in ((0, None), (None, 0), (0, 0)):
        args = X if axes[0] == 0 else X[0], X if axes[1] == 0 else W
        loss, want = total_over(f, axes), total_over(plain, axes)
        for a, b in zip(grad(loss, (0, 1))(*args), grad(want, (0, 1))(*args)):
            agree(a, b, 1e-11)
        agree(jvp(loss, args, args)[1], jvp(want, args, args)[1], 1e-11)
        for mode, k in ((jacfwd, 0), (jacrev, 1)):
            agree(vmap(mode(f, k), in_axes=axes)(*args), vmap(mode(plain, k), in_axes=axes)(*args), 1e-12)
    agree(vmap(hessian(lambda x: f(x, W).sum()))(X), vmap(hessian(lambda x: plain(x, W).sum()))(X), 1e-11)


@each
def test_in_captured_loops_and_branches(form):
    f = form()

    def program(f):
        def run(x, w):
            y = x
            for _ in range(7):
                y = f(y, w) / 3 + 0.1
            for _ in range(4):
                if np.abs(y).sum() < 0.2:
                    break
                if y[0] > 0:
                    y = f(y, w * 0.5) * 0.2
                else:
                    y = y * 0.5
            return (y * y).sum() + y[1]

        return run

    for a, b, c in zip(*(mode(program(g), (0, 1))(X[0], W) for mode, g in ((grad, f), (jacfwd, f), (grad, plain)))):
        agree(a, c, 1e-12)
        agree(b, c, 1e-12)
    agree(hessian(program(f))(X[0], W), hessian(program(plain))(X[0], W), 1e-10)
    agree(vmap(grad(program(f)), in_axes=(0, None))(X, W), np.stack([grad(program(plain))(x, W) for x in X]), 1e-12)


# -- the rule is what counts -----------------------------------------------------------------------


@custom_vjp
def clipped(x):
    return x


clipped.defvjp(lambda x: (x, None), lambda _, g: (np.clip(g, -1.0, 1.0),))


@custom_jvp
def tripled(x):
    return x


@tripled.defjvp
def tripled_rule(primals, tangents):
    return primals[0], 3.0 * tangents[0]


def test_a_rule_is_used_even_where_the_function_returns_its_argument():
    assert np.array_equal(grad(lambda x: (clipped(x) * 5.0).sum())(W), np.ones(3))
    assert np.array_equal(grad(lambda x: (x * 2.0 + clipped(x) * 0.25).sum())(W), np.full(3, 2.25))
    assert grad(lambda x: tripled(x) + x)(1.0) == 4.0 == jvp(lambda x: tripled(x) + x, (1.0,), (1.0,))[1]
    assert grad(tripled)(1.0) == 3.0 and vmap(grad(tripled))(W).tolist() == [3.0] * 3

    def loop(x):
        for _ in range(4):
            x = tripled(x)
        return x.sum()

    assert grad(loop)(W).tolist() == [81.0] * 3


def test_memory_shared_with_an_argument_is_not_written():
    def write(x):
        y = clipped(x)
        y[0] = 1.0
        return x

    with pytest.raises(ValueError, match="read-only"):
        jit(write)(W.copy())


def test_a_rule_costs_nothing_where_nothing_is_differentiated():
    text = str(jit(by_vjp()).ir(X[0], W))
    assert "call" not in text and "cos" not in text


def test_higher_orders_use_the_rule_too():
    @custom_jvp
    def log1pexp(x):
        return np.log(1.0 + np.exp(x))

    @log1pexp.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        return log1pexp(x), dx * half(x)

    @custom_jvp
    def half(x):
        return 1.0 - 1.0 / (1.0 + np.exp(x))

    half.defjvps(lambda dx, y, x: y * (1.0 - y) * dx)
    assert grad(log1pexp)(1000.0) == 1.0 and grad(grad(log1pexp))(1000.0) == 0.0 and grad(grad(grad(log1pexp)))(1000.0) == 0.0
    agree(grad(grad(log1pexp))(0.5), float(np.exp(0.5) / (1 + np.exp(0.5)) ** 2), 1e-14)


# -- arguments -------------------------------------------------------------------------------------


def test_containers_keywords_defaults_and_integers():
    @custom_vjp
    def model(p, x, n=2, mode="sum"):
        y = p["w"] * x**n + p["b"][0]
        return {"y": y, "n": n, "loss": y.sum() if mode == "sum" else y.mean()}

    def bwd(kept, g):
        p, x, n = kept
        gy = g["y"] + g["loss"]
        return {"w": (gy * x**n).sum(), "b": [gy.sum(), None]}, None, None, None

    model.defvjp(lambda p, x, n, mode: (model(p, x, n, mode), (p, x, n)), bwd)
    p = {"w": 2.0, "b": [1.0, 3.0]}
    for args, kwargs in [((W,), {}), ((), {"x": W}), ((W, 2, "sum"), {}), ((W,), {"mode": "sum", "n": 2})]:
        call = lambda p, args=args, kwargs=kwargs: model(p, *args, **kwargs)
        out = grad(lambda p, call=call: call(p)["loss"] + (call(p)["y"] * W).sum())(p)
        agree(out["w"], float((W**2).sum() + (W**3).sum()), 1e-13)
        assert out["b"] == [3.0 + W.sum(), 0.0]
    assert jit(model)(p, W)["n"] == 2
    assert grad(lambda x: model(p, x)["loss"])(W).tolist() == [0.0] * 3  # as the rule says
    k = np.array([1, 2, 3])
    agree(grad(lambda p: model(p, k)["loss"])(p)["w"], 14.0, 1e-14)


def test_arguments_without_a_derivative():
    @custom_vjp(nondiff_argnums=(0, 2))
    def apply(g, x, n):
        return g(x) * n

    apply.defvjp(lambda g, x, n: (g(x) * n, x), lambda g, n, x, ct: (ct * n * 100.0,))
    assert grad(lambda x: apply(np.sin, x, 3))(0.5) == 300.0
    decorated = custom_jvp(nondiff_argnums=1)(lambda x, n: x**n)
    decorated.defjvp(lambda n, primals, tangents: (primals[0] ** n, 7.0 * n * tangents[0]))
    assert grad(decorated)(2.0, 3) == 21.0 and jvp(lambda x: decorated(x, 3), (2.0,), (1.0,))[1] == 21.0


def test_single_precision_and_complex():
    x = X[0].astype(np.float32)
    for form in FORMS:
        f = form()
        assert grad(lambda x, f=f: f(x, W.astype(np.float32)).sum())(x).dtype == np.float32
    f = custom_vjp(lambda z: z * z)
    f.defvjp(lambda z: (z * z, z), lambda z, g: (2.0 * z * g,))
    z = np.array([1 + 2j, 0.5j])
    agree(grad(lambda z: np.abs(f(z)).sum())(z), grad(lambda z: np.abs(z * z).sum())(z), 1e-14)
    agree(jvp(f, (z,), (z,))[1], 2 * z * z, 1e-14)


def test_other_values_of_the_function_around_it():
    table, i = np.arange(5.0), np.int64(2)

    def outer(x, scale, i):
        @custom_vjp
        def f(x):
            return x * scale * table[i]

        f.defvjp(lambda x: (f(x), None), lambda _, g: (g * scale * table[i] * 10.0,))
        return f(x) + scale

    assert grad(outer)(2.0, 3.0, i) == 60.0
    table[2] = 4.0
    g = jit(grad(outer))
    assert g(2.0, 3.0, i) == 120.0
    assert vmap(grad(outer), in_axes=(0, None, None))(np.ones(2), 3.0, i).tolist() == [120.0, 120.0]
    with pytest.raises(DerivativeError, match="closes over a value that is being differentiated"):
        grad(outer, 1)(2.0, 3.0, i)
    with pytest.raises(DerivativeError, match="Pass the value as an argument"):
        jvp(lambda s: outer(2.0, s, i), (3.0,), (1.0,))


def test_a_rule_in_which_the_function_and_arrays_made_anew_are_read():
    @custom_vjp
    def f(x):
        return x * np.arange(3.0)[1:].sum()

    f.defvjp(lambda x: (f(x) + 0.0 * (np.ones(3) * 2.0)[0], np.full(3, 2.0)), lambda r, g: (g * f(1.0) * r[0],))
    assert grad(f)(5.0) == 6.0 == jvp(f, (5.0,), (1.0,))[1] and grad(grad(f))(5.0) == 0.0

    def around(x, s):
        @custom_vjp
        def h(x):
            return x * s

        h.defvjp(lambda x: (h(x), x), lambda x, g: (g * h(x) * 3.0,))
        return h(x)

    assert grad(around)(2.0, 4.0) == 24.0 == jvp(lambda x: around(x, 4.0), (2.0,), (1.0,))[1]
    assert grad(grad(around))(2.0, 4.0) == 72.0  # of 3 h(x), by the rule again


def test_checks_inside_raise_as_without_a_rule():
    @custom_vjp
    def at(x, i):
        return x[i]

    def bwd(kept, g):
        n, i = kept
        out = np.zeros(n)
        out[i] = g
        return out, None

    at.defvjp(lambda x, i: (at(x, i), (x.shape[0], i)), bwd)
    assert jit(at)(W, np.int64(1)) == W[1] and grad(at)(W, np.int64(1)).tolist() == [0, 1, 0]
    assert jacfwd(at)(W, np.int64(-1)).tolist() == [0, 0, 1]
    for run in (jit(at), grad(at), jit(lambda x, i: at(x, i) + grad(at)(x, i)[0]), lambda x, i: jvp(lambda x: at(x, i), (x,), (x,))):
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            run(W, np.int64(7))
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        vmap(grad(at), in_axes=(None, 0))(W, np.array([0, 7]))


def test_what_a_backward_half_checks_makes_its_cotangents_nan():
    f = custom_vjp(lambda x, i: x.sum())

    def bwd(kept, g):
        x, i = kept
        return x[i] * g + x * 0.0, None

    f.defvjp(lambda x, i: (x.sum(), (x, i)), bwd)
    agree(grad(f)(W, np.int64(1)), np.full(3, W[1]), 1e-14)
    assert np.isnan(grad(f)(W, np.int64(9))).all()


# -- errors ----------------------------------------------------------------------------------------


def given(fwd, bwd):
    f = custom_vjp(lambda x, y: x * y)
    f.defvjp(fwd, bwd)
    return lambda x, y: f(x, y).sum()


def keep(x, y):
    return x * y, (x, y)


WRONG = {
    "no_pair": (lambda x, y: x * y, lambda r, g: (g, g), "must return a pair"),
    "other_result": (lambda x, y: ((x, y), None), lambda r, g: (g, g), "where lambda returns"),
    "other_shape": (lambda x, y: (x[:2], None), lambda r, g: (g, g), r"returned f64\[2\], where lambda returns f64\[3\]"),
    "one": (keep, lambda r, g: g, "one cotangent for each of 2 arguments"),
    "three": (keep, lambda r, g: (g, g, g), "returned a tuple of 3"),
    "structure": (keep, lambda r, g: ([g], g), "structure"),
    "shape": (keep, lambda r, g: (g.sum(), g), r"shape \(\) .* f64\[3\]"),
    "dtype": (keep, lambda r, g: (g.astype(np.float32), g), "dtype float32"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_a_rule_returns_is_checked(name):
    fwd, bwd, said = WRONG[name]
    with pytest.raises(DerivativeError, match=said) as error:
        grad(given(fwd, bwd))(W, W)
    assert "test_custom.py:" in str(error.value)


def test_what_a_forward_rule_returns_is_checked():
    for rule, said in [
        (lambda p, t: p[0], "must return a pair"),
        (lambda p, t: (p[0], (t[0],)), "structure"),
        (lambda p, t: (p[0], t[0].sum()), "shape"),
        (lambda p, t: ((p[0],), t[0]), "structure"),
    ]:
        f = custom_jvp(lambda x: x)
        f.defjvp(rule)
        with pytest.raises(DerivativeError, match=said) as error:
            grad(lambda x, f=f: f(x).sum())(W)
        assert "test_custom.py:" in str(error.value)


def test_rules_are_given_once_and_before_the_call():
    f = custom_vjp(lambda x: np.sin(x))
    with pytest.raises(DerivativeError, match="without a rule"):
        grad(lambda x: f(x))(1.0)
    f.defvjp(lambda x: (np.sin(x), x), lambda x, g: (g * np.cos(x),))
    assert grad(lambda x: f(x))(0.0) == 1.0
    with pytest.raises(DerivativeError, match="already"):
        f.defvjp(lambda x: (x, x), lambda x, g: (g,))
    with pytest.raises(TypeError, match="custom_jvp takes a function"):
        custom_jvp(3.0)
    only = custom_vjp(lambda x, *, k: x)
    only.defvjp(lambda x: (x, None), lambda _, g: (g,))
    with pytest.raises(DerivativeError, match="by keyword only"):
        only(1.0, k=2)


def test_a_mode_that_cannot_be_derived_is_refused():
    assert grad(lambda x: clipped(x).sum())(W).tolist() == [1, 1, 1]
    for run in (lambda: jvp(clipped, (W,), (W,)), lambda: jacfwd(clipped)(W)):
        with pytest.raises(DerivativeError, match="not linear in the cotangent, so forward mode"):
            run()
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda p, t: (p[0], np.clip(t[0], -1.0, 1.0)))
    assert jvp(f, (2.0,), (3.0,))[1] == 1.0
    with pytest.raises(DerivativeError, match="not linear in the tangents, so reverse mode"):
        grad(f)(2.0)


class Counter:
    n = 0


@pytest.mark.parametrize(
    "act, said", [("write", "writes to its arguments"), ("print", "prints"), ("store", "changes what lies outside"), ("draw", "random")]
)
@pytest.mark.parametrize("where", ["f", "fwd", "bwd"])
def test_effects_are_refused(act, said, where):
    rng = np.random.default_rng(0)

    def effect(x):
        if act == "write":
            x[0] = 1.0
        elif act == "print":
            print(x)
        elif act == "store":
            Counter.n += 1
        else:
            return x + rng.normal()
        return x

    run = lambda at, x: effect(x) if at == where else x
    f = custom_vjp(lambda x: run("f", x) * 2.0)
    f.defvjp(lambda x: (run("fwd", x) * 2.0, x), lambda x, g: (g * run("bwd", x),))
    with pytest.raises(UnsupportedError, match=said):
        grad(lambda x: f(x).sum())(W.copy())
    assert Counter.n == 0


def test_a_backward_half_may_write_its_cotangent():
    f = custom_vjp(lambda x: x * 2.0)

    def bwd(_, g):
        g *= 2.0
        return (g,)

    f.defvjp(lambda x: (x * 2.0, None), bwd)
    assert grad(lambda x: f(x).sum())(W).tolist() == [2.0] * 3


# -- stop_gradient ---------------------------------------------------------------------------------


def test_stop_gradient():
    assert grad(lambda x: x * stop_gradient(x))(3.0) == 3.0 == jvp(lambda x: x * stop_gradient(x), (3.0,), (1.0,))[1]
    assert grad(lambda p: (stop_gradient(p)["a"] * p["b"]).sum())({"a": W, "b": W})["a"].tolist() == [0.0] * 3
    assert hessian(lambda x: (x * stop_gradient(x * x)).sum())(W).tolist() == np.zeros((3, 3)).tolist()
    agree(vmap(grad(lambda x: x * stop_gradient(x)))(W), W, 1e-15)
    for x in (2.0, 3, W, np.float32(2.0), np.arange(3), "a", None):
        for made in (stop_gradient(x), jit(stop_gradient)(x)):
            assert type(made) is type(x) and np.array_equal(made, x)
    assert "stop_gradient" not in str(jit(lambda x: stop_gradient(x) * 2).ir(W))
    write = lambda x: (stop_gradient(x), x.fill(0.0))[0]
    assert np.array_equal(jit(write)(W.copy()), write(W.copy())) and write(W.copy())[0] == W[0]


# -- checkpoint ------------------------------------------------------------------------------------


def temporary(f, *args):
    """Bytes that the compiled program holds besides arguments and results."""
    func = f.ir(*args)
    with jax.enable_x64(True):
        compiled = jax.jit(lambda *xs: lower(func, xs)).lower(*args).compile()
    return compiled.memory_analysis().temp_size_in_bytes


def test_a_long_loop_is_reversed_within_a_budget():
    def steps(x, w):
        for _ in range(20_000):
            x = np.tanh(w @ x) + 0.1 * np.sin(x)
        return (x * x).sum()

    x, w = np.linspace(-1, 1, 8), np.random.default_rng(0).normal(size=(8, 8)) / 2
    whole, frugal = (jit(grad(steps, argnums=(0, 1)), memory=size) for size in ("1GB", 100_000))
    for a, b in zip(whole(x, w), frugal(x, w)):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert temporary(frugal, x, w) < 200_000 < 3_000_000 < temporary(whole, x, w)
    assert "keeps 3.84 MB, for 20000 trips" in whole.explain()
    assert "runs it once more" in frugal.explain()


@pytest.mark.parametrize("trips, budget", [(20_000, 20_000), (19_999, 6_000)])
def test_a_budget_too_small_for_two_levels_takes_more(trips, budget):
    def steps(x, w):
        for k in range(trips):
            x = np.tanh(w @ x) + 0.1 * np.sin(x + 1e-4 * k)
        return (x * x).sum()

    x, w = np.linspace(-1, 1, 8), np.random.default_rng(0).normal(size=(8, 8)) / 2
    whole, tiny = (jit(grad(steps, argnums=(0, 1)), memory=size) for size in ("1GB", budget))
    for a, b in zip(whole(x, w), tiny(x, w)):
        np.testing.assert_allclose(a, b, rtol=1e-11)
    assert temporary(tiny, x, w) < 3 * budget
    assert "in each trip around it" in tiny.explain()


def layers(x, *ws):
    for w in ws:
        x = np.tanh(x @ w)
    return x


def test_a_deep_program_is_reversed_within_a_budget():
    x, ws = np.random.default_rng(0).normal(size=(100, 20)), np.random.default_rng(1).normal(size=(60, 20, 20)) / 5
    loss = lambda *xs: (layers(*xs) ** 2).sum()
    whole, frugal = (jit(grad(loss, argnums=(0, 60)), memory=size) for size in ("1MB", "250kB"))
    for a, b in zip(whole(x, *ws), frugal(x, *ws)):
        agree(a, b, 1e-12)
    assert temporary(frugal, x, *ws) < 260_000 < 900_000 < temporary(whole, x, *ws)
    assert "the way back through lambda keeps 960 kB in all" in whole.explain()
    assert re.search(r"runs \d+ of \d+ stretches of it once more, and takes 2[0-4]\d kB in all\n", frugal.explain())


def test_within_a_budget_effects_happen_once_and_derivatives_nest(capsys):
    x, w = np.random.default_rng(0).normal(size=(10, 4)), np.random.default_rng(1).normal(size=(4, 4)) / 2

    def loud(x, w):
        x = layers(x, *[w] * 5)
        print("half")
        return layers(x, *[w] * 5)

    def pulled(x, w):
        y, pull = vjp(loud, x, w)
        return pull(y)

    def steep(x, w):
        return (grad(lambda x: (layers(x, *[w] * 10) ** 2).sum())(x) ** 2).sum()

    for program, times in ((pulled, 1), (jit(grad(steep, 1)), 0)):
        want, frugal = jit(program)(x, w), jit(program, memory=1300)
        capsys.readouterr()
        for a, b in zip(want, frugal(x, w)):
            agree(a, b, 1e-12)
        assert "stretches of it once more" in frugal.explain() and capsys.readouterr().out == "half\n" * times


def test_a_trip_that_keeps_more_than_the_budget_runs_in_stretches():
    def repeated(x, w):
        for _ in range(30):
            x = layers(x, *[w] * 12) + 0.1 * x
        return (x * x).sum()

    x, w = np.random.default_rng(0).normal(size=(10, 4)), np.random.default_rng(1).normal(size=(4, 4)) / 2
    frugal = jit(grad(repeated, 1), memory=2500)
    agree(frugal(x, w), grad(repeated, 1)(x, w), 1e-12)
    assert "one trip of a loop runs" in frugal.explain()


def test_the_second_order_of_a_bounded_loop_keeps_its_trips():
    def total(x):
        for k in range(6):
            for j in range(k):
                x = np.sin(x) * x + j
        return x.sum()

    x, step = np.linspace(0.5, 1, 3), 1e-6
    second = jit(grad(lambda x: grad(total)(x).sum()))
    ahead, behind = (grad(total)(x + d) for d in (step, -step))
    np.testing.assert_allclose(second(x), (ahead - behind) / (2 * step), rtol=1e-6)
    assert "for 5 trips" in second.explain() and "runs it" not in second.explain()


@pytest.mark.parametrize("size", ["lots", "12", "1.2.3MB", "0MB", -1, 0, [3]])
def test_a_budget_that_is_no_size(size):
    with pytest.raises(ValueError, match="memory='200MB'"):
        jit(np.sin, memory=size)


def segment(x, w):
    for k in (1.0, 2.0, 3.0, 4.0):
        x = np.tanh(x @ w * k) + np.sin(x)
    return x


def chain(f):
    return lambda x, w: f(f(f(f(x, w), w), w), w).sum()


def looped(f):
    def run(x, w):
        for _ in range(30):
            x = f(x, w)
        return x.sum()

    return run


@pytest.mark.parametrize("program, share", [(chain, 0.5), (looped, 0.2)])
def test_a_checkpoint_keeps_arguments_alone(program, share):
    x, w = np.random.default_rng(0).normal(size=(200, 20)), np.random.default_rng(1).normal(size=(20, 20)) / 9
    kept, again = grad(program(segment), (0, 1)), grad(program(checkpoint(segment)), (0, 1))
    assert temporary(again, x, w) < share * temporary(kept, x, w)
    for a, b in zip(again(x, w), kept(x, w)):
        agree(a, b, 1e-12)
    assert len(re.findall(" tanh ", str(again.ir(x, w)))) > len(re.findall(" tanh ", str(kept.ir(x, w))))


def test_a_loop_in_a_checkpoint_keeps_no_trips():
    x, w = X.copy(), np.random.default_rng(1).normal(size=(3, 3)) / 9
    whole = looped(lambda x, w: np.tanh(x @ w) + np.sin(x))
    both = lambda f: lambda x, w: f(x, w) ** 2 + f(x * 2, w)
    for a, b in zip(grad(both(checkpoint(whole)), (0, 1))(x, w), grad(both(whole), (0, 1))(x, w)):
        agree(a, b, 1e-12)
    agree(hvp(lambda x: both(checkpoint(whole))(x, w), (x,), (x,))[0], hvp(lambda x: both(whole)(x, w), (x,), (x,))[0], 1e-11)


def test_a_checkpointed_function_may_write_close_over_and_check():
    def body(x, s, i):
        x[i] = x[i] * s
        return x

    def program(f):
        def run(x, s, i):
            x = x * 1.0
            shared = s * s
            y = f(lambda x: np.sin(body(x, shared, i)) * shared)(x)
            return (x * y).sum()

        return run

    for k in (0, 1):
        agree(grad(program(checkpoint), k)(W, 1.5, np.int64(1)), grad(program(lambda f: f), k)(W, 1.5, np.int64(1)), 1e-13)
    with pytest.raises(IndexError, match="index 5"):
        grad(program(checkpoint))(W, 1.5, np.int64(5))
    x = W.copy()
    assert jit(checkpoint(body))(x, 2.0, np.int64(0)) is x and x[0] == W[0] * 2.0


def test_a_checkpoint_does_nothing_twice():
    def loud(x):
        print(x)
        return x

    with pytest.raises(UnsupportedError, match="would do so again"):
        grad(checkpoint(loud))(1.0)


# -- implicit_root ---------------------------------------------------------------------------------


def to_tolerance(f, x):
    """Newton's method, in plain NumPy."""
    for _ in range(50):
        y = f(x)
        if np.abs(y).max() < 1e-13:
            break
        x = x - np.linalg.solve(jacfwd(f)(x), y)
    return x


def bisect(f, x):
    low, high = 0.0, x
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if f(middle) > 0:
            high = middle
        else:
            low = middle
    return low


def test_an_implicit_root_has_the_derivatives_of_the_root():
    root = lambda a: implicit_root(lambda x, a: x**3 - a, 3.0, bisect, a)
    agree(jit(root)(8.0), 2.0, 1e-14)
    for got in (grad(root)(8.0), jacfwd(root)(8.0), jit(grad(root))(8.0)):
        agree(float(got), 1 / 12, 1e-13)
    agree(grad(grad(root))(8.0), -2 / 9 * 8.0 ** (-5 / 3), 1e-12)
    agree(vmap(grad(root))(np.array([8.0, 1.0])), np.array([1 / 12, 1 / 3]), 1e-12)


@pytest.mark.as_numpy
def test_an_implicit_root_of_a_system():
    m = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.0, 0.1, 5.0]])
    equation = lambda x, p, b: p["m"] @ x + 0.1 * x**3 - b
    root = lambda p, b: implicit_root(equation, np.zeros(3), to_tolerance, p, b)
    p = {"m": m}
    x = root(p, W)
    agree(jit(root)(p, W), x, 1e-12)
    slope = np.linalg.inv(m + np.diag(0.3 * x**2))
    for mode in (jacfwd, jacrev):
        agree(mode(root, 1)(p, W), slope, 1e-11)
        agree(mode(root)(p, W)["m"], -np.einsum("ij,k->ijk", slope, x), 1e-11)
    h, step = hessian(lambda b: root(p, b).sum())(W), 1e-5
    columns = [(jacrev(root, 1)(p, W + step * e) - jacrev(root, 1)(p, W - step * e)).sum(0) / (2 * step) for e in np.eye(3)]
    agree(h, np.stack(columns), 1e-7)
    with pytest.raises(DerivativeError, match="closes over"):
        grad(lambda b: implicit_root(lambda x: m @ x - b, np.zeros(3), to_tolerance).sum())(W)


# -- implicit_solve --------------------------------------------------------------------------------

SKEW = np.array([[4.0, 1.0, 0.5], [-1.0, 3.0, 0.2], [0.3, 0.1, 5.0]])


def richardson(matvec, b):
    x = np.zeros_like(b)
    while np.abs(b - matvec(x)).max() > 1e-14:
        x = x + 0.2 * (b - matvec(x))
    return x


def solved(m, b):
    return implicit_solve(lambda x: m @ x, b, richardson)


@pytest.mark.as_numpy
def test_an_implicit_solve_has_the_derivatives_of_the_solution():
    exact = lambda m, b: np.linalg.solve(m, b)
    agree(jit(solved)(SKEW, W), exact(SKEW, W), 1e-12)
    agree(implicit_solve(lambda x: SKEW @ x, W, richardson), exact(SKEW, W), 1e-12)
    moved, given = jvp(solved, (SKEW, W), (X[:3], W * W)), jvp(exact, (SKEW, W), (X[:3], W * W))
    agree(moved[1], given[1], 1e-12)
    agree(jacrev(solved)(SKEW, W), jacrev(exact)(SKEW, W), 1e-12)
    loss = lambda f: lambda m: (f(m, W) ** 2).sum()
    agree(hvp(loss(solved), (SKEW,), (X[:3],))[0], hvp(loss(exact), (SKEW,), (X[:3],))[0], 1e-11)
    many = np.stack([SKEW, SKEW + 0.1, SKEW.T])
    agree(vmap(grad(loss(solved)))(many), vmap(grad(loss(exact)))(many), 1e-12)


def test_an_implicit_solve_in_a_loop_solves_for_the_cotangents_by_another_program():
    def downwards(matvec, b):
        """For lower triangular matrices."""
        x = np.zeros_like(b)
        for i in range(3):
            x[i] = (b - matvec(x))[i] / matvec(np.eye(3)[i])[i]
        return x

    def upwards(matvec, b):
        x = np.zeros_like(b)
        for i in (2, 1, 0):
            x[i] = (b - matvec(x))[i] / matvec(np.eye(3)[i])[i]
        return x

    lower = np.tril(SKEW)

    def program(solve):
        def run(m, b):
            for _ in range(4):
                b = np.tanh(solve(m, b) + b)
            return b.sum()

        return run

    ours = program(lambda m, b: implicit_solve(lambda x: np.tril(m) @ x, b, downwards, upwards))
    exact = program(lambda m, b: np.linalg.solve(np.tril(m), b))
    for a, b in zip(grad(ours, (0, 1))(lower, W), grad(exact, (0, 1))(lower, W)):
        agree(a, b, 1e-12)
    one_way = program(lambda m, b: implicit_solve(lambda x: np.tril(m) @ x, b, downwards))
    assert np.abs(grad(one_way, 1)(lower, W) - grad(ours, 1)(lower, W)).max() > 1e-3


@pytest.mark.as_numpy
def test_an_implicit_root_without_a_matrix():
    equation = lambda x, m, b: m @ x + 0.1 * x**3 - b
    root = lambda m, b: implicit_root(equation, np.zeros(3), to_tolerance, m, b, tangent_solve=richardson)
    dense = lambda m, b: implicit_root(equation, np.zeros(3), to_tolerance, m, b)
    loss = lambda f: jit(grad(lambda m, b: (f(m, b) ** 2).sum(), (0, 1)))
    for a, b in zip(loss(root)(SKEW, W), loss(dense)(SKEW, W)):
        agree(a, b, 1e-11)
    agree(jvp(root, (SKEW, W), (X[:3], W))[1], jvp(dense, (SKEW, W), (X[:3], W))[1], 1e-11)
    count = lambda f: len(re.findall(" solve ", str(loss(f).ir(SKEW, W))))
    assert count(root) == count(dense) - 1  # Newton's own is left


def test_errors_of_an_implicit_solve_say_what_to_write(golden):
    short = lambda matvec, b: matvec(b)[:2]
    wrong = {
        "quadratic": (lambda x: SKEW @ x * x, richardson),
        "two results": (lambda x: (x, x), richardson),
        "another shape": (lambda x: x[:2], richardson),
        "a short solution": (lambda x: SKEW @ x, short),
        "a short argument": (lambda x: SKEW @ x, lambda matvec, b: matvec(b[:2])),
    }
    said, loss = [], lambda b, matvec, solve: implicit_solve(matvec, b, solve).sum()
    for name, functions in wrong.items():
        with pytest.raises(DerivativeError) as error:
            grad(loss)(W, *functions)
        said.append(f"{name}: {re.sub(r'test_custom.py:[0-9]+', 'test_custom.py', str(error.value))}")
    golden("errors/implicit_solve.txt", "\n".join(said))


# -- a rule whose loops and checks carry values and tangents together ------------------------------


@pytest.mark.as_numpy
def test_a_rule_whose_loop_moves_value_and_tangent_together_has_a_transpose():
    table = np.array([0.5, 2.0, 3.0])

    def steps(x, k):
        y, i = x, 0
        while y < 50.0:
            y = y * table[k[i % 3]] + 0.5
            i += 1
        return y

    f = custom_jvp(steps)

    @f.defjvp
    def rule(primals, tangents):
        (y, k), (dy, _) = primals, tangents
        i = 0
        while y < 50.0:
            w = table[k[i % 3]]  # an index that is checked where the tangent moves
            y, dy = y * w + 0.5, dy * w
            i += 1
        return y, dy

    k = np.array([1, 2, 1])
    agree(f(1.5, k), steps(1.5, k))
    g, h = (lambda x: f(x, k) ** 2), (lambda x: steps(x, k) ** 2)
    agree(jvp(g, (1.5,), (1.0,))[1], jvp(h, (1.5,), (1.0,))[1], 1e-12)
    agree(grad(g)(1.5), grad(h)(1.5), 1e-12)
    agree(grad(grad(g))(1.5), grad(grad(h))(1.5), 1e-12)
    with pytest.raises(IndexError):
        grad(lambda x: f(x, np.array([1, 2, 7])))(1.5)


def test_a_rule_whose_loop_is_not_linear_has_no_transpose():
    f = custom_jvp(lambda x: x)

    @f.defjvp
    def rule(primals, tangents):
        (x,), (dx,) = primals, tangents
        for _ in range(3):
            x, dx = x, dx * dx
        return x, dx

    with pytest.raises(DerivativeError, match="not linear"):
        grad(f)(2.0)
