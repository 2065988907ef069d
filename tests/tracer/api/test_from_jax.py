"""`from_jax`: JAX functions in programs mean what they mean in JAX, values, dtypes and derivatives of all orders."""

import functools

import jax
import numpy as np
import pytest
from jax import lax
from jax import numpy as jnp

import wengert
from wengert import UnsupportedError, from_jax, grad, jit, jvp, vjp
from wengert.autodiff import batch
from wengert.backends.numpy import callable_of
from wengert.backends.xla import bridge
from wengert.backends.xla.primitives import PRIMITIVES
from wengert.ir.types import IRTypeError, type_of
from wengert.ir.verify import verify

X = np.array([-1.5, -0.25, 0.0, 0.5, 2.0])
P = np.array([0.1, 0.3, 0.5, 0.7, 0.9])
A = np.arange(12.0).reshape(3, 4) / 7 - 0.6
I = np.array([3, -1, 0, 7, -8])
U = np.array([3, 1, 0, 7, 250], np.uint8)
B = X > 0
Z = X + 1j * P
HIT = np.array([[0], [3], [9]])
PATCH = lax.GatherDimensionNumbers((1,), (), (0,))
STORE = lax.ScatterDimensionNumbers((), (0,), (0,))


def patches(x, i, mode, fill):
    return lax.gather(x, i, PATCH, (2,), mode=mode, fill_value=fill)


PLAIN = {  # primitive -> [(function, operands)]: translated, not opaque
    **{name: [(getattr(lax, name), (X,))] for name in "exp exp2 sin cos tan sinh cosh tanh asinh atan expm1 floor ceil is_finite".split()},
    **{name: [(getattr(lax, name), (P,))] for name in "logistic sqrt rsqrt cbrt log log1p asin acos atanh erf erfc erf_inv lgamma digamma".split()},
    **{name: [(getattr(lax, name), (X, P))] for name in "add sub mul div rem max min nextafter atan2 eq ne lt le gt ge complex".split()},
    "neg": [(lax.neg, (X,)), (lax.neg, (U,)), (lax.neg, (Z,))],
    "add": [(lax.add, (X, P)), (lax.add, (U, U)), (lambda x: lax.add(x, 2.0), (X,)), (jnp.add, (X.astype("f4"), P.astype("f4")))],
    "abs": [(lax.abs, (I,))],
    "sign": [(lax.sign, (I,))],
    "acosh": [(lax.acosh, (1 + P,))],
    "pow": [(lax.pow, (P, X))],
    "clamp": [(lambda x: lax.clamp(-1.0, x, 1.0), (X,)), (lax.clamp, (X - 1, P, X + 1))],
    "add_any": [],  # only transposition makes it
    "round": [(lambda x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), (X,))],
    "bessel_i0e": [(lax.bessel_i0e, (X,))],
    "bessel_i1e": [(lax.bessel_i1e, (X,))],
    "real": [(lax.real, (Z,))],
    "imag": [(lax.imag, (Z,))],
    "and": [(lax.bitwise_and, (I, I[::-1].copy())), (lax.bitwise_and, (B, B))],
    "or": [(lax.bitwise_or, (I, I[::-1].copy()))],
    "xor": [(lax.bitwise_xor, (U, U[::-1].copy()))],
    "not": [(lax.bitwise_not, (I,)), (lax.bitwise_not, (B,))],
    "shift_left": [(lambda x: lax.shift_left(x, 2), (I,))],
    "shift_right_arithmetic": [(lambda x: lax.shift_right_arithmetic(x, 1), (I,))],
    "shift_right_logical": [(lambda x: lax.shift_right_logical(x, jnp.uint8(1)), (U,))],
    "copy": [(jnp.copy, (X,))],
    "copy_p": [(jnp.array, (X,))],
    "square": [(lax.square, (X,))],
    "integer_pow": [(lambda x: lax.integer_pow(x, 3), (X,)), (lambda x: lax.integer_pow(x, -2), (P,))],
    "convert_element_type": [(lambda x: x.astype(jnp.float32), (X,)), (lambda x: x.astype(jnp.float64), (U,)), (lambda x: x.astype(jnp.int32), (X,))],
    "select_n": [(jnp.where, (B, X, P)), (lambda c, x: lax.select_n(c, x, -x), (B[0], X))],
    "reshape": [(lambda x: x.reshape(4, 3), (A,))],
    "squeeze": [(lambda x: lax.squeeze(x.reshape(3, 1, 4), (1,)), (A,))],
    "expand_dims": [(lambda x: lax.expand_dims(x, (1,)), (A,))],
    "transpose": [(lambda x: lax.transpose(x, (1, 0)), (A,))],
    "broadcast_in_dim": [(lambda x: jnp.broadcast_to(x, (2, 3, 4)), (A,))],
    "rev": [(lambda x: x[::-1], (A,))],
    "concatenate": [(lambda x: jnp.concatenate([x, 2 * x], 1), (A,))],
    "pad": [(lambda x: lax.pad(x, 0.5, ((1, 2, 1), (-1, 0, 0))), (A,))],
    "slice": [(lambda x: lax.slice(x, (0, 1), (3, 4), (2, 1)), (A,)), (lambda x: lax.slice(x, (1, 0), (2, 2)), (A,))],
    "iota": [(lambda x: x * jnp.arange(4.0), (A,)), (lambda x: x[:, None] * x[None], (A,))],
    **{f"reduce_{name}": [(functools.partial(getattr(jnp, name), axis=1), (A,))] for name in ("sum", "prod", "max", "min")},
    "reduce_and": [(lambda x: jnp.all(x, 0), (A > 0,))],
    "reduce_or": [(lambda x: jnp.any(x, 0), (A > 0,))],
    "reduce_xor": [(lambda x: lax.reduce_xor(x, (0,)), (I,))],
    **{name: [(functools.partial(getattr(lax, name), axis=1, reverse=True), (A,))] for name in "cumsum cumprod cummax cummin cumlogsumexp".split()},
    "argmax": [(lambda x: jnp.argmax(x, 1), (A,))],
    "argmin": [(lambda x: lax.argmin(x, 0, jnp.int32), (A,))],
    "sort": [(lambda x: lax.sort(x, dimension=0), (P[::-1].copy(),)), (lambda x, y: lax.sort((x, y), num_keys=1), (P[::-1].copy(), X))],
    "dot_general": [(jnp.matmul, (A, A.T.copy())), (lambda x, y: jnp.einsum("bij,bjk->bik", x, y), (np.stack([A, A]), np.stack([A.T, -A.T])))],
    "dynamic_slice": [(lambda x, i: lax.dynamic_slice(x, (i, 0), (2, 2)), (A, np.int64(2)))],
    "dynamic_update_slice": [(lambda x, u, i: lax.dynamic_update_slice(x, u, (i,)), (X, P[:2], np.int64(4)))],
    "gather": [
        *((functools.partial(patches, mode=mode, fill=fill), (X, HIT)) for mode, fill in (("clip", None), ("fill", None), ("fill", 7.0))),
        (lambda x, i: x[i], (A, np.array([2, -1, 0]))),
    ],
    "scatter": [(lambda x, i, u: lax.scatter(x, i, u, STORE, mode="drop"), (X, HIT, P[:3]))],
    "scatter-add": [
        (lambda x, i, u: lax.scatter_add(x, i, u, STORE, mode="clip"), (X, HIT, P[:3])),
        (lambda x: x.at[jnp.array([1, 1])].add(x[0]), (X,)),
    ],
}  # fmt: skip
ALIASES = {"add_any", "copy_p", "copy", "expand_dims", "scatter_add"}  # names that jax gives by turns, or only to derivatives
CASES = [pytest.param(name, *c, id=f"{name}{k}") for name, cases in PLAIN.items() for k, c in enumerate(cases)]


def in_jax(function, *operands):
    with jax.enable_x64(True):
        return jax.tree_util.tree_map(np.asarray, jax.jit(function)(*operands))


def same(got, want, rtol=2e-14):
    got, want = ([np.asarray(leaf) for leaf in jax.tree_util.tree_leaves(x)] for x in (got, want))
    assert len(got) == len(want)
    for g, w in zip(got, want):
        assert g.dtype == w.dtype and g.shape == w.shape, f"{type_of(g)} against {type_of(w)}"
        np.testing.assert_allclose(g, w, rtol=rtol if w.dtype.itemsize > 4 else 2e-6, atol=1e-14 if w.dtype.itemsize > 4 else 1e-6)


def program(function, *operands):
    tree = jax.tree_util.tree_structure((operands, {}))
    return bridge.imported(function, tree, tuple((type_of(x), False) for x in operands))


def ops_of(func):
    return {e.op.name for e in func.eqns}


@pytest.mark.parametrize("name, function, operands", CASES)
def test_a_primitive_with_a_counterpart_is_translated(name, function, operands):
    func = verify(program(function, *operands).func)
    assert "external" not in ops_of(func)
    want = in_jax(function, *operands)
    same(jit(from_jax(function))(*operands), want)
    with np.errstate(all="ignore"):
        same(callable_of(func)(*operands), want, 1e-12)


@pytest.mark.parametrize("name, function, operands", CASES)
def test_its_derivative_is_jaxs(name, function, operands):
    wrt = tuple(i for i, x in enumerate(operands) if x.dtype == np.float64 and name != "nextafter")  # JAX has none
    with jax.enable_x64(True):
        floating = wrt and all(jnp.issubdtype(z.dtype, jnp.floating) for z in jax.tree_util.tree_leaves(jax.eval_shape(function, *operands)))
    if not floating:
        return
    loss = lambda *xs: sum((z * jnp.cos(jnp.arange(z.size).reshape(z.shape))).sum() for z in jax.tree_util.tree_leaves(function(*xs)))
    same(grad(from_jax(loss), wrt)(*operands), in_jax(jax.grad(loss, wrt), *operands), 1e-12)


def test_every_rule_has_a_case():
    met = set()
    for cases in PLAIN.values():
        for function, operands in cases:
            with jax.enable_x64(True):
                met |= {e.primitive.name for e in bridge.equations(jax.make_jaxpr(function)(*operands).jaxpr)}
    assert PRIMITIVES.keys() - met - ALIASES == set()


# -- what stays JAX's ------------------------------------------------------------------------------


def powers(x):
    return lax.scan(lambda c, y: (c * y, c + y), x.sum(), x)


def newton(x):
    return lax.while_loop(lambda s: jnp.any(jnp.abs(s * s - x) > 1e-9), lambda s: (s + x / s) / 2, x)


def sides(x):
    return lax.cond(x.sum() > 0, jnp.sin, lambda x: x**3, x)


def solved(x):
    return jnp.linalg.solve(jnp.outer(x, x) + jnp.eye(x.size), x)


@jax.custom_jvp
def bent(x):
    return jnp.sin(x)


bent.defjvp(lambda p, t: (bent(p[0]), 3.0 * jnp.cos(p[0]) * t[0]))


@jax.custom_vjp
def turned(x):
    return jnp.sin(x)


turned.defvjp(lambda x: (jnp.sin(x), x), lambda x, g: (5.0 * x * g,))

OPAQUE = {
    "scan": powers, "cond": sides, "solve": solved, "custom_jvp": bent, "custom_vjp": turned, "relu": jax.nn.relu,
    "fft": lambda x: jnp.fft.fft(x).imag, "abs": lambda x: jnp.abs(x * 0) + jnp.sign(x),
}  # fmt: skip


def total(function):
    return lambda x: sum((z * jnp.cos(jnp.arange(z.size).reshape(z.shape))).sum() for z in jax.tree_util.tree_leaves(function(x)))


@pytest.mark.parametrize("name", [*OPAQUE, "while"])
def test_an_opaque_function_has_jaxs_values(name):
    function = OPAQUE.get(name, newton)
    func = verify(program(function, P).func)
    assert "external" in ops_of(func)
    same(jit(from_jax(function))(P), in_jax(function, P))
    same(callable_of(func)(P), in_jax(function, P))


@pytest.mark.parametrize("name", OPAQUE)
def test_its_derivatives_nest(name):
    f, x = total(OPAQUE[name]), P + 0.1
    g = from_jax(f)
    first = jax.grad(f)
    second = jax.grad(lambda x: (first(x) ** 2).sum())
    same(grad(g)(x), in_jax(first, x), 1e-12)
    same(grad(lambda x: (grad(g)(x) ** 2).sum())(x), in_jax(second, x), 1e-11)
    same(jit(grad(lambda x: (jit(grad(g))(x * 1.0) ** 2).sum()))(x), in_jax(second, x), 1e-11)
    same(grad(lambda x: (grad(lambda y: (grad(g)(y) ** 2).sum())(x) ** 2).sum())(x), in_jax(jax.grad(lambda x: (second(x) ** 2).sum()), x), 1e-10)
    if name != "custom_vjp":
        same(jvp(g, (x,), (X,)), in_jax(lambda x, t: jax.jvp(f, (x,), (t,)), x, X), 1e-12)
        same(jvp(grad(g), (x,), (X,)), in_jax(lambda x, t: jax.jvp(first, (x,), (t,)), x, X), 1e-11)


def test_only_what_is_asked_for_is_differentiated():
    f = lambda i, x, s: lax.cond(i > 2, lambda x: (x * s, i), lambda x: (x + s, -i), x)
    g = from_jax(f)
    loss = lambda i, x, s: (lambda z, n: (z * n).sum())(*g(i, x, s))
    want = jax.grad(lambda i, x, s: (lambda z, n: (z * n).sum())(*f(i, x, s)), (1, 2))
    for i in (np.int64(2), np.int64(5)):
        same(grad(loss, (1, 2))(i, P, 2.0), in_jax(want, i, P, np.float64(2.0)))
    value, back = vjp(lambda x: g(np.int64(3), x, 2.0)[0], P)
    same(back(X)[0], 2 * X)


@pytest.mark.parametrize("name", [*OPAQUE, "while"])
def test_batching_is_jaxs(name):
    function, rows = OPAQUE.get(name, newton), np.stack([P, P + 1, P + 2])
    func = verify(batch(program(function, P).func, (True,), 3))
    same(callable_of(func)(rows), in_jax(jax.vmap(function), rows))


def test_an_opaque_function_in_a_captured_loop():
    g = from_jax(jax.nn.relu)

    def run(x, n):
        for _ in range(n):
            x = g(x * 1.1 - 0.3) - x / 4
        return x

    def in_numpy(x, n):
        for _ in range(n):
            x = np.maximum(x * 1.1 - 0.3, 0) - x / 4
        return x

    same(jit(run)(P, 40), in_numpy(P, 40), 1e-6)
    slope = (in_numpy(P + 1e-6, 9) - in_numpy(P - 1e-6, 9)) / 2e-6
    np.testing.assert_allclose(grad(lambda x: run(x, 9).sum())(P), slope, rtol=1e-6)


# -- the public function ---------------------------------------------------------------------------


def test_pytrees_and_kinds():
    f = from_jax(lambda d, k=2.0: {"sum": d["a"] + d["b"][0], "pair": (d["a"].sum(), k * d["b"][1])})
    args = {"a": X, "b": [P, np.float32(2.0)]}
    plain, compiled = f(args, k=3.0), jit(lambda d: f(d, k=3.0))(args)
    for out in (plain, compiled):
        assert type(out["sum"]) is np.ndarray and type(out["pair"][0]) is np.float64 and type(out["pair"][1]) is np.float32
        assert out["sum"].flags.writeable and out["sum"].base is None
    same(compiled, plain)


@pytest.mark.parametrize("dtype", "bool i1 u2 i4 i8 u8 f2 f4 f8 c8 c16".split())
def test_dtypes_stay(dtype):
    f, x = from_jax(lambda x: (x, jnp.stack([x, x]))), np.ones(3, dtype)
    assert [z.dtype for z in f(x)] == [z.dtype for z in jit(f)(x)] == [x.dtype] * 2


def test_python_numbers_stay_weak():
    f = from_jax(lambda x, s: x * s)
    x = np.ones(2, np.float32)
    assert f(x, 2.0).dtype == jit(f)(x, 2.0).dtype == jit(lambda x: f(x, 2.0))(x).dtype == np.float32
    assert f(x, np.float64(2)).dtype == jit(f)(x, np.float64(2)).dtype == np.float64


def test_jax_arrays_stay_jax_arrays_and_the_setting_is_left_alone():
    f = from_jax(lambda x: x * 2)
    assert not jax.config.jax_enable_x64
    assert isinstance(f(jnp.ones(2)), jax.Array) and isinstance(jit(f)(jnp.ones(2)), jax.Array)
    assert f(np.ones(2)).dtype == np.float64 and not jax.config.jax_enable_x64


def test_static_arguments_and_objects():
    f = from_jax(lambda x, axis, how: getattr(jnp, how)(x, axis=axis), static_argnums=(-2,))
    same(jit(lambda x: f(x, (0, 1), "sum"))(A), A.sum())
    same(jit(lambda x: f(x, 1, "max"))(A), A.max(1))
    same(jit(lambda x: f(x, None, "min"))(A), A.min())
    with pytest.raises(TypeError, match="cannot be hashed"):
        jit(lambda x: f(x, [0], "sum"))(A)
    with pytest.raises(UnsupportedError, match="is traced"):
        jit(lambda x: from_jax(lambda x, y: x, static_argnums=1)(x, x))(A)


def test_one_trace_for_one_set_of_types():
    count = []
    f = from_jax(lambda x, k: (count.append(k), x * k)[1])
    for size in (2, 3, 2):
        jit(lambda x: f(x, 2) + f(x, 2))(np.ones(size))
    assert count == [2, 2]
    jit(lambda x: f(x, 3))(np.ones(2))
    jit(lambda x: f(x, 3.0))(np.ones(2))
    assert count == [2, 2, 3, 3.0]


def test_signed_zeros_and_kinds_are_told_apart():
    f = from_jax(lambda x, s: x / s)
    assert jit(lambda x: (f(x, 0.0), f(x, -0.0)))(np.ones(1)) == (np.inf, -np.inf)
    g = from_jax(lambda x, s: jnp.asarray(s))
    assert [jit(lambda x, s=s: g(x, s))(np.ones(1)).dtype.name for s in (True, 1, 1.0)] == ["bool", "int64", "float64"]


def test_constants_large_and_small():
    big, small = jnp.arange(100.0, dtype=jnp.float32), np.arange(3.0)
    f = from_jax(lambda x: x * big[:3] + small.sum() + big.sum())
    same(jit(f)(np.ones(3)), f(np.ones(3)))
    h = from_jax(lambda x: jax.jit(lambda x: x * big[:3] + jnp.asarray(small))(x))
    same(jit(lambda x: h(h(x)))(np.ones(3)), h(h(np.ones(3))))


@pytest.mark.parametrize("kind", [jnp.int8, jnp.int32, jnp.int64, jnp.uint16])
def test_floats_become_the_nearest_integers(kind):
    x = np.array([np.nan, np.inf, -np.inf, 1e30, -1.5, 255.7, 2.0**31, -(2.0**63)])
    for given in (x, x.astype(np.float32)):
        same(jit(from_jax(lambda x: x.astype(kind)))(given), in_jax(lambda x: x.astype(kind), given))


def test_types_that_only_jax_has():
    f = lambda x: (x.astype(jnp.float8_e4m3b11fnuz) * 2).astype(jnp.float32)
    func = program(f, P).func
    assert [e.op.name for e in func.eqns] == ["external"]
    same(jit(from_jax(f))(P), in_jax(f, P))


def test_small_floats_are_equations():
    f = lambda x: (x.astype(jnp.bfloat16) * 2).astype(jnp.float32)
    assert [e.op.name for e in program(f, P).func.eqns] == ["cast", "mul", "cast"]
    same(jit(from_jax(f))(P), in_jax(f, P))


REFUSED = {
    "draws random numbers": lambda x: x + jax.random.normal(jax.random.key(0)),
    "has effects": lambda x: (jax.debug.print("{}", x), x)[1],
    "calls back into Python": lambda x: jax.pure_callback(np.sin, x, x),
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_acts_is_refused(reason):
    with pytest.raises(UnsupportedError, match=reason) as error:
        jit(from_jax(REFUSED[reason]))(X)
    assert "test_from_jax.py" in str(error.value)
    nested = lambda x: lax.scan(lambda c, y: (c, REFUSED[reason](y)), 0.0, x)[1]
    with pytest.raises(UnsupportedError, match=reason):
        jit(from_jax(nested))(X)


def test_errors_of_jax_come_through_with_the_line():
    with pytest.raises(TypeError) as error:
        jit(from_jax(lambda x, y: x @ y))(np.ones(3), np.ones(4))
    assert any("test_from_jax.py" in note for note in error.value.__notes__)
    with pytest.raises(IRTypeError, match="while has no reverse-mode derivative in JAX.*\n.*test_from_jax.py"):
        grad(lambda x: from_jax(newton)(x).sum())(P)
    with pytest.raises(IRTypeError, match="no forward-mode derivative"):
        jvp(from_jax(turned), (P,), (X,))
    with pytest.raises(TypeError, match="from_jax takes a function"):
        from_jax(3)


def test_it_is_public():
    assert "from_jax" in wengert.__all__
