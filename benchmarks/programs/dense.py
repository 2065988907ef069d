"""Dense algebra: products, factorisations and solvers, as calls of NumPy and as loops over rows."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.scipy.linalg import solve_triangular

from wengert.benchmarks.programs import Program

# -- straight lines ------------------------------------------------------------------------------


def covariance(X):
    centred = X - X.mean(axis=0)
    return centred.T @ centred / (X.shape[0] - 1)


def least_squares(X, y, ridge):
    return np.linalg.solve(X.T @ X + ridge * np.eye(X.shape[1]), X.T @ y)


def gaussian_process(x, y, length, noise):
    """The negative log-likelihood of y, up to a constant."""
    K = np.exp(-0.5 * ((x[:, None] - x[None, :]) / length) ** 2) + noise * np.eye(len(x))
    L = np.linalg.cholesky(K)
    a = np.linalg.solve(L, y)
    return 0.5 * (a @ a) + np.log(np.diag(L)).sum()


def gaussian_process_jax(x, y, length, noise):
    K = jnp.exp(-0.5 * ((x[:, None] - x[None, :]) / length) ** 2) + noise * jnp.eye(len(x))
    L = jnp.linalg.cholesky(K)
    a = solve_triangular(L, y, lower=True)
    return 0.5 * (a @ a) + jnp.log(jnp.diag(L)).sum()


def pairwise(X, Y, gamma):
    d = ((X[:, None, :] - Y[None, :, :]) ** 2).sum(axis=-1)
    return np.exp(-gamma * d)


def contraction(A, B, C):
    return np.einsum("abc,cd,be->ade", A, B, C, optimize=True)


# -- loops ---------------------------------------------------------------------------------------


def power_iteration(A, x, steps):
    for _ in range(steps):
        y = A @ x
        x = y / np.sqrt(y @ y)
    return x @ (A @ x), x


def power_iteration_jax(A, x, steps):
    def step(_, x):
        y = A @ x
        return y / jnp.sqrt(y @ y)

    x = lax.fori_loop(0, steps, step, x)
    return x @ (A @ x), x


def conjugate_gradient(A, b, steps):
    x = np.zeros_like(b)
    r = b.copy()
    p = b.copy()
    rr = r @ r
    for _ in range(steps):
        Ap = A @ p
        alpha = rr / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        p = r + (new / rr) * p
        rr = new
    return x


def conjugate_gradient_jax(A, b, steps):
    def step(_, state):
        x, r, p, rr = state
        Ap = A @ p
        alpha = rr / (p @ Ap)
        r = r - alpha * Ap
        new = r @ r
        return x + alpha * p, r, r + (new / rr) * p, new

    return lax.fori_loop(0, steps, step, (jnp.zeros_like(b), b, b, b @ b))[0]


def elimination(A):
    """L and U in one matrix, without pivots."""
    A = A.copy()
    for k in range(A.shape[0] - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])
    return A


def elimination_jax(A):
    at = jnp.arange(A.shape[0])

    def step(k, A):
        column = jnp.where(at > k, A[:, k] / A[k, k], 0.0)
        A = A - jnp.outer(column, jnp.where(at > k, A[k], 0.0))
        return A.at[:, k].set(jnp.where(at > k, column, A[:, k]))

    return lax.fori_loop(0, A.shape[0] - 1, step, A)


# -- arguments -----------------------------------------------------------------------------------


def definite(rng, n):
    X = rng.normal(size=(n, n))
    return X @ X.T / n + 2.0 * np.eye(n)


def two_clouds(rng, n):
    return rng.normal(size=(n, 8)), rng.normal(size=(n + 1, 8)), 0.1


def for_contraction(rng, n):
    return rng.normal(size=(n, n + 1, n + 2)), rng.normal(size=(n + 2, n)), rng.normal(size=(n + 1, n + 3))


PROGRAMS = [
    Program(covariance, lambda rng, n: (rng.normal(size=(4 * n, n)),), (5, 30, 200), (0,), numba=False),
    Program(
        least_squares,
        lambda rng, n: (rng.normal(size=(5 * n, n)), rng.normal(size=5 * n), 0.1),
        (5, 20, 100),
        (0, 1, 2),
    ),
    Program(
        gaussian_process,
        lambda rng, n: (rng.normal(size=n), rng.normal(size=n), 1.3, 0.5),
        (6, 50, 300),
        (0, 1, 2, 3),
        gaussian_process_jax,
    ),
    Program(pairwise, two_clouds, (5, 40, 300), (0, 1, 2)),
    Program(contraction, for_contraction, (4, 10, 40), (0, 1, 2), numba=False),
    Program(
        power_iteration,
        lambda rng, n: (definite(rng, n), rng.normal(size=n), 20),
        (5, 30, 200),
        (0, 1),
        power_iteration_jax,
    ),
    Program(
        conjugate_gradient,
        lambda rng, n: (definite(rng, n), rng.normal(size=n), 10),
        (12, 30, 200),
        (0, 1),
        conjugate_gradient_jax,
    ),
    Program(elimination, lambda rng, n: (definite(rng, n),), (6, 30, 120), (0,), elimination_jax),
]
