"""Dense linear algebra beyond the generated tests: vectors free up to sign, phase or order, matrices that fail, and how products print."""

import re

import jax
import numpy as np
import pytest

from wengert.autodiff import batch, jvp, vjp
from wengert.autodiff.linalg import adjoint, along_rows, conjugate, matmul
from wengert.autodiff.spectral import like
from wengert.backends.numpy import callable_of, emit
from wengert.backends.xla import lower
from wengert.ir.core import Builder
from wengert.ir.exactness import exactly
from wengert.ir.ops.dense import cholesky, qr, solve, triangular_solve
from wengert.ir.ops.elementwise import real
from wengert.ir.ops.linalg import dot_general
from wengert.ir.ops.reduction import reduce_sum
from wengert.ir.ops.signal import conv_general
from wengert.ir.ops.spectral import eig, eigh, eigvals, eigvalsh, svd
from wengert.ir.ops.transcendental import exp
from wengert.ir.types import IRTypeError, parse_type, type_of
from wengert.ir.verify import verify


def program(body, *types):
    """`body` of values as a function."""
    build = Builder("f")
    with build:
        out = body(*[build.param(parse_type(t) if isinstance(t, str) else t, n) for t, n in zip(types, "xyz")])
    return verify(build.finish(out if isinstance(out, tuple) else (out,)))


def on_numpy(func, *operands):
    return [np.asarray(r) for r in callable_of(func)(*operands)]


def on_xla(func, *operands):
    with jax.enable_x64(True):
        return [np.asarray(r) for r in jax.jit(lambda *a: lower(func, a))(*operands)]


def normal(rng, shape, dtype):
    return np.asarray(rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if dtype == "c16" else 0), dtype)


# -- derivatives of what does not depend on signs, phases and order --------------------------------


def of_hermitian(x):
    """exp(x), through its spectrum."""
    w, v = eigh(x)
    return matmul(v * like(along_rows(exp(w), v.type.shape), v), adjoint(v))


def of_general(x):
    """The eigenvalues weighed by the sizes of each component of their vectors: depends on norms, not on phases or order."""
    w, v = eig(x)
    return reduce_sum(v * conjugate(v) * along_rows(w * w, v.type.shape), axes=(x.type.ndim - 1,))


def of_singular(x):
    """u s^2 v^H"""
    u, s, vh = svd(x)
    return matmul(u * like(along_rows(s * s, u.type.shape), u), vh)


INVARIANTS = [
    (of_hermitian, (4, 4)), (of_general, (5, 5)), (of_general, (2, 3, 3)), (of_singular, (3, 3)), (of_singular, (2, 5, 3)), (of_singular, (3, 4)),
]  # fmt: skip


@pytest.mark.parametrize("body, shape", INVARIANTS)
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("run", [on_numpy, on_xla])
def test_derivatives_of_invariants(body, shape, dtype, run):
    rng = np.random.default_rng(sum(shape))
    x, t = (normal(rng, shape, dtype) for _ in range(2))
    func = program(body, type_of(x))
    h = 1e-3
    want = sum(c * (on_numpy(func, x + k * h * t)[0] - on_numpy(func, x - k * h * t)[0]) for k, c in ((1, 45), (2, -9), (3, 1))) / (60 * h)
    (z, got) = run(jvp(func), x, t)
    np.testing.assert_allclose(z, on_numpy(func, x)[0], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6 * np.abs(want).max())
    g = normal(rng, z.shape, "c16" if z.dtype.kind == "c" else "f8")
    (cotangent,) = run(vjp(func, keep=False), x, g)
    assert cotangent.dtype == x.dtype
    np.testing.assert_allclose(np.sum(cotangent * t).real, np.sum(g * want).real, rtol=1e-6)


@pytest.mark.parametrize("run", [on_numpy, on_xla])
def test_equal_eigenvalues_leave_symmetric_functions_differentiable(run):
    """d sum(w**2) = 2 x at the identity; the vectors have no derivative there, and say NaN."""

    def squares(x):
        w, v = eigh(x)
        return reduce_sum(w * w, axes=(0,)) + 0 * reduce_sum(v * v, axes=(0, 1))

    x = np.eye(3)
    (g,) = run(vjp(program(squares, "f64[3,3]"), keep=False), x, np.float64(1))
    np.testing.assert_allclose(g, 2 * x, atol=1e-12)
    moved = run(jvp(program(eigh, "f64[3,3]"), keep=False), x, np.ones((3, 3)))
    assert np.isfinite(moved[0]).all() and np.isnan(moved[1]).any()


def test_vectors_that_are_any_basis_have_no_derivative():
    for body in (lambda x: svd(x, full_matrices=True), lambda x: qr(x, full=True)):
        with pytest.raises(IRTypeError, match=r"no derivative .* f64\[4,2\]: the last 2 "):
            vjp(program(body, "f64[4,2]"))


# -- matrices that fail ----------------------------------------------------------------------------


def singular_values(x):
    return svd(x, compute_uv=False)


@pytest.mark.parametrize("body", [cholesky, eigh, eigvalsh, eig, eigvals, svd, singular_values], ids=lambda f: getattr(f, "name", "singular_values"))
@pytest.mark.parametrize("run", [on_numpy, on_xla])
def test_one_bad_matrix_spoils_no_other(body, run):
    good = np.array([[2.0, 1.0], [1.0, 3.0]])
    func = program(body, "f64[3,2,2]")
    stack = np.stack([good, np.full((2, 2), np.nan), good])
    for r, alone in zip(run(func, stack), run(func, np.stack([good] * 3))):
        assert np.isnan(r[1]).any()
        np.testing.assert_array_equal(r[[0, 2]], alone[[0, 2]])


# -- batching keeps what is shared shared ----------------------------------------------------------


def names(func):
    return {e.op.name for e in func.eqns}


def test_a_shared_operand_is_never_repeated():
    plain = {"strides": (1,), "padding": ((0, 0),), "lhs_dilation": (1,), "rhs_dilation": (1,), "dimension_numbers": ((0, 1, 2),) * 3}
    product = program(lambda x, y: dot_general(x, y, contract=((1,), (0,))), "f64[3,4]", "f64[4,5]")
    system = program(triangular_solve, "f64[4,4]", "f64[4,2]")
    filters = program(lambda x, y: conv_general(x, y, **plain), "f64[2,3,8]", "f64[4,3,3]")
    left, right = (True, False), (False, True)
    for func, flags in ((product, left), (product, right), (system, right), (filters, left), (filters, right)):
        made = batch(func, flags, 7)
        assert names(made) <= {func.eqns[0].op.name, "transpose", "reshape"}


def test_a_system_and_its_gradient_share_one_factorisation():
    func = vjp(program(solve, "f64[4,4]", "f64[4,2]"))
    with jax.enable_x64(True):
        made = jax.jit(lambda *a: lower(func, a)).lower(*(np.ones(p.type.shape) for p in func.params)).compile().as_text()
    assert len(re.findall(r'custom_call_target="\w*getrf', made)) == 1


# -- text ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "types, contract, over, text",
    [
        (("f64[3,4]", "f64[4]"), ((1,), (0,)), ((), ()), "x @ y"),
        (("f64[3,4]", "f64[3]"), ((0,), (0,)), ((), ()), "x.T @ y"),
        (("f64[3,4]", "f64[5,4]"), ((1,), (1,)), ((), ()), "x @ y.T"),
        (("f64[3]", "f64[4]"), ((), ()), ((), ()), "np.outer(x, y)"),
        (("f64[2,3,4]", "f64[2,5,4]"), ((2,), (2,)), ((0,), (0,)), "x @ y.mT"),
        (("f64[2,3,4]", "f64[4,5]"), ((2,), (0,)), ((), ()), "x @ y"),
        (("f64[2,3,4]", "f64[5,3]"), ((1,), (1,)), ((), ()), "np.einsum('abc,db->acd', x, y, optimize=True)"),
    ],
)
def test_products_print_as_a_person_writes_them(types, contract, over, text):
    func = program(lambda x, y: dot_general(x, y, contract=contract, batch=over), *types)
    assert f"= {text}\n" in emit(func)


def test_real_part_is_taken_where_the_operand_is_real():
    func = program(lambda x: real(eigvals(x)), "f64[2,2]")
    (g,) = on_numpy(vjp(func, keep=False), np.diag([1.0, 2.0]), np.array([1.0, 0.0]))
    np.testing.assert_allclose(g, np.diag([1.0, 0.0]), atol=1e-12)


# -- convolutions of one channel -------------------------------------------------------------------


@pytest.mark.parametrize("order", [((0, 1, 2, 3),) * 3, ((0, 3, 1, 2), (3, 2, 1, 0), (2, 3, 0, 1))], ids=["channels first", "mixed"])
@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_few_taps_are_shifted_sums(order, dtype):
    attrs = dict.fromkeys(("strides", "lhs_dilation", "rhs_dilation"), (1, 1)) | {"padding": ((1, 2), (0, 1)), "dimension_numbers": order}
    placed = lambda spec, a, b: [f"{dict(zip(spec, (1, 1, a, b)))[i]}" for i in range(4)]
    types = [f"{dtype}[{','.join(placed(spec, *size))}]" for spec, size in zip(order, ((70, 80), (3, 4)))]
    func = program(lambda x, w: conv_general(x, w, **attrs), *types)
    operands = [np.random.default_rng(0).normal(size=p.type.shape).astype(p.type.dtype) for p in func.params]
    with jax.enable_x64(True):
        text = jax.jit(lambda *a: lower(func, a)).lower(*operands).compile().as_text()
        (got,) = jax.jit(lambda *a: lower(func, a))(*operands)
    assert ("convolution(" in text) == (dtype == "f64") or jax.default_backend() != "cpu"
    np.testing.assert_allclose(got, conv_general.body(*operands, **attrs), rtol=1e-4 if dtype == "f32" else 1e-12, atol=1e-5)
    with jax.enable_x64(True), exactly(True):
        assert "stablehlo.convolution" in jax.jit(lambda *a: lower(func, a)).lower(*operands).as_text()
