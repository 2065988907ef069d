"""Ten programs as users write them, with the types that mypy and pyright find in them. Each is run too.

`# type: ignore[...]` marks what a checker must refuse: it is an error where it does not.
"""

from collections.abc import Callable
from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import wengert
from wengert import (
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
    source,
    stop_gradient,
    value_and_grad,
    vjp,
    vmap,
)
from wengert.ir.core import Func

Vector = NDArray[np.float64]


def decorated() -> None:
    """`@jit` keeps parameters, defaults, names and the result."""

    @jit
    def scaled(x: Vector, factor: float = 2.0) -> Vector:
        return x * factor

    x = np.ones(3)
    assert_type(scaled(x), Vector)
    assert_type(scaled(x, factor=3.0), Vector)
    assert_type(scaled.ir(x), Func)
    assert_type(scaled.ir(x, 3.0, passes=False), Func)
    assert_type(scaled.explain(), str)
    assert_type(source(scaled, x), str)
    if not x.size:
        scaled("no")  # type: ignore[arg-type]
        scaled(x, 1.0, 2.0)  # type: ignore[call-arg]
        scaled(x, scale=1.0)  # type: ignore[call-arg]
        scaled.compile()  # type: ignore[attr-defined]


def decorated_with_options() -> None:
    """`@jit(...)` keeps as much, and knows its options."""

    @jit(exact=True, engine="numpy", memory="200MB", cache=False)
    def length(x: Vector) -> float:
        return float(np.sqrt((x * x).sum()))

    assert_type(length(np.ones(4)), float)
    assert_type(length.explain(), str)
    assert_type(jit(length, check=True)(np.ones(4)), float)
    if not length.__name__:
        jit(engine="cuda")  # type: ignore[call-overload]
        jit(exact=True, tier="soon")(length)  # type: ignore[call-overload]


class Layer:
    def __init__(self, w: Vector) -> None:
        self.w = w

    @jit
    def apply(self, x: Vector) -> Vector:
        return np.tanh(self.w @ x)

    @checkpoint
    def again(self, x: Vector) -> Vector:
        return np.sin(x)


def methods() -> None:
    """A compiled method is bound as any method is."""
    layer, x = Layer(np.eye(2)), np.ones(2)
    assert_type(layer.apply(x), Vector)
    assert_type(Layer.apply(layer, x=x), Vector)
    assert_type(layer.again(x), Vector)
    assert_type(layer.apply.explain(), str)
    if not x.size:
        layer.apply(x, x)  # type: ignore[call-arg]


def training() -> None:
    """Gradients keep the parameters of the loss; `value_and_grad` its result."""

    def loss(w: Vector, X: Vector, y: Vector) -> np.float64:
        rest = X @ w - y
        return np.float64(np.dot(rest, rest))

    def with_aux(w: Vector, X: Vector) -> tuple[np.float64, dict[str, Vector]]:
        return (X @ w).sum(), {"z": X @ w}

    w, X, y = np.zeros(2), np.ones((3, 2)), np.ones(3)
    value, slope = value_and_grad(loss)(w, X, y=y)
    assert_type(value, np.float64)
    w = w - 0.1 * slope
    w = w - 0.1 * grad(loss, argnums="w")(w, X, y)
    (_, aux), _ = value_and_grad(with_aux, has_aux=True)(w, X)
    assert_type(aux, dict[str, Vector])
    assert_type(grad(with_aux, has_aux=True)(w, X)[1], dict[str, Vector])
    assert_type(grad(loss).explain(), str)
    assert_type(grad(loss, argnums=(0, 1)).ir(w, X, y), Func)
    assert_type(jit(grad(jit(loss))).ir(w, X, y), Func)
    if not w.size:
        grad(loss)(w, X)  # type: ignore[call-arg]
        value_and_grad(loss)(w, X, "no")  # type: ignore[arg-type]
        grad(0.0)  # type: ignore[call-overload]


def both_modes() -> None:
    """`vjp` gives cotangents of the types of the primals, `jvp` and `linearize` a tangent of the type of the result."""

    def f(x: Vector, t: float) -> Vector:
        return np.sin(x) * t

    x = np.ones(3)
    y, back = vjp(f, x, 2.0)
    assert_type(y, Vector)
    dx, dt = back(y)
    assert_type(dt, float)
    assert dx.shape == x.shape
    assert_type(jvp(f, (x, 2.0), (x, 0.0)), tuple[Vector, Vector])
    z, push = linearize(f, x, 2.0)
    assert_type(z, Vector)
    assert_type(push(x, 0.0), Vector)


def second_derivatives() -> None:
    """Jacobians and Hessians keep the parameters; what they give depends on containers, so it is Any."""

    def energy(x: Vector, k: float = 1.0) -> np.float64:
        return k * (x**3).sum()

    x = np.ones(2)
    assert_type(hessian(energy)(x, k=2.0), Any)
    assert_type(jacrev(grad(energy))(x), Any)
    assert_type(jacfwd(np.sin)(x), Any)
    assert_type(hvp(energy, (x,), (x,)), tuple[Any, ...])
    if not x.size:
        hessian(energy)(x, j=2.0)  # type: ignore[call-arg]


def ufuncs_and_lambdas() -> None:
    """NumPy's own functions have many signatures, and lambdas none that is written: they are taken as they are."""
    assert_type(jit(np.tanh)(np.ones(2)), Any)
    assert_type(grad(np.tanh)(0.5), Any)
    assert_type(vmap(np.dot, in_axes=(None, 0))(np.ones(2), np.ones((3, 2))), Any)
    assert vmap(lambda a, b: a + b)(np.ones(2), b=np.ones(2)).shape == (2,)
    assert jit(lambda a, b: a + b)(1.0, 2.0) == 3.0
    assert_type(jit(np.tanh).explain(), str)


@custom_vjp
def clipped(x: Vector) -> Vector:
    return x


@custom_jvp(nondiff_argnums=(1,))
def power(x: Vector, n: int) -> Vector:
    return x**n


@power.defjvp
def power_rule(n: int, primals: tuple[Vector], tangents: tuple[Vector]) -> tuple[Vector, Vector]:
    (x,), (dx,) = primals, tangents
    return x**n, n * x ** (n - 1) * dx


clipped.defvjp(lambda x: (x, None), lambda _, g: (np.clip(g, -1.0, 1.0),))


def own_derivatives() -> None:
    """Functions with derivatives given by hand keep their parameters; a rule stays the function it is."""
    x = np.ones(2)
    assert_type(clipped(x), Vector)
    assert_type(power(x, n=3), Vector)
    assert_type(power_rule(3, (x,), (x,)), tuple[Vector, Vector])
    assert_type(stop_gradient((1.0, x.size)), tuple[float, int])
    assert_type(checkpoint(power_rule)(3, (x,), (x,)), tuple[Vector, Vector])
    if not x.size:
        clipped(x, x)  # type: ignore[call-arg]
        clipped.defjvp(power_rule)  # type: ignore[attr-defined]


def solvers() -> None:
    """What a solver gives is of the type that its own code says."""

    def newton(f: Callable[[float], float], x: float) -> float:
        for _ in range(20):
            x = x - f(x) / (2.0 * x)
        return x

    def fixed(matvec: Callable[[Vector], Vector], b: Vector) -> Vector:
        x = np.zeros_like(b)
        for _ in range(50):
            x = x + 0.5 * (b - matvec(x))
        return x

    assert_type(implicit_root(lambda x, a: x * x - a, 2.0, newton, 9.0), float)
    assert_type(implicit_solve(lambda x: 1.5 * x, np.ones(2), fixed), Vector)


def rules_and_errors() -> None:
    """Rules are context managers; errors are classes that `except` knows, Fallback one for `warnings`."""
    with wengert.rule(lambda x: np.log(np.exp(x)), lambda x: x, exact=False) as stated:
        assert_type(jit(lambda x: np.log(np.exp(x)))(1000.0) == 1000.0, Any)
    assert_type(stated.remove(), None)
    try:
        grad(lambda x: x)(1)
    except wengert.DerivativeError as error:
        assert isinstance(error, wengert.WengertError)
    assert issubclass(wengert.Fallback, UserWarning)
    assert_type(wengert.__version__, str)


PROGRAMS: tuple[Callable[[], None], ...] = (
    decorated, decorated_with_options, methods, training, both_modes, second_derivatives, ufuncs_and_lambdas, own_derivatives, solvers,
    rules_and_errors,
)  # fmt: skip
