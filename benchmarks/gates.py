"""Constants of one machine from which, or up to which, a rule or a lowering pays: a program for each, at sizes that are
counted as the constant counts. `benchmarks/tune.py` measures them.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from wengert.benchmarks.settings import draw, kept_by_trips, residual_network

ALL, NONE = 0, 1 << 60  # of a constant from which a form is taken: at every size, and at none


@dataclasses.dataclass
class Gate:
    """program: size -> (function, arguments), at a size counted as the constant counts.

    taken, left: the constant with which the special form is taken at all sizes that are tried, and at none.
    engine: that compiles it, as `jit` is told; "auto": the one that is chosen; "nests": as NumPy, with nests.
    """

    program: Callable[[int], tuple[Callable[..., Any], tuple[Any, ...]]]
    sizes: Sequence[int]
    taken: int = ALL
    left: int = NONE
    up_to: bool = False
    engine: str = "xla"


def sums_of_products(rows):
    return (lambda x, y, z: x @ y + x @ z), (draw((rows, 64)), draw((64, 64)), draw((64, 64)))


def inverse(rows):
    return (lambda a, b: np.linalg.inv(a) @ b), (draw((rows, rows)) + rows * np.eye(rows), draw(rows))


def windowed(products):
    channels, results = 8, products // 8

    def f(x, w):
        return np.tensordot(np.lib.stride_tricks.sliding_window_view(x, (3, 3), axis=(0, 1)), w, ((2, 3, 4), (0, 1, 2)))

    return f, (draw((64, 64, channels)).astype("f4"), draw((channels, 3, 3, results)).astype("f4"))


def trips_of_their_own(work):
    """Counted roughly: an equation is 16."""
    rows, inner = 32, max(work // (32 * 8 * 16), 1)

    def f(x):
        out = np.zeros(rows)
        for i in range(rows):
            s = 0.0
            for j in range(inner):
                s += np.sqrt(1.0 + (x[j] - i) ** 2)
            out[i] = s
        return out

    return f, (draw(inner),)


def by_rows(elements):
    n = int(elements**0.5)

    def f(a, b):
        out = np.zeros(a.shape)
        for i in range(a.shape[0]):
            out[i] = a[i] @ b
        return out

    return f, (draw((n, n)), draw((n, n)))


def half_power(elements):
    return (lambda x: x**1.5), (np.abs(draw(elements)),)


def filtered(elements):
    return (lambda x, k: np.convolve(x, k, "valid")), (draw(elements + 6).astype("f4"), draw(7).astype("f4"))


def sorted_row(elements):
    return np.sort, (draw(elements),)


def columns(number):
    return (lambda x: x.sum(axis=0)), (draw((256, number)),)


def in_both_transposed(terms):
    return (lambda x, y: x.T @ y.T), (draw((terms, 256)), draw((256, terms)))


def first_greatest(elements):
    return (lambda x: x.argmax(axis=1)), (draw((4096, elements)),)


def thin(rows):
    return (lambda x, y: x.T @ y.T), (draw((512, rows)).astype("f4"), draw((512, 512)).astype("f4"))


def of_a_computed_matrix(elements):
    n = int(elements**0.5)
    return (lambda x, v: np.exp(-np.abs(x[:, None] - x)) @ v), (draw(n), draw(n))


def short_axis(length):
    return (lambda x: x.sum(axis=1)), (draw((256, length, 256)),)


def swept(elements):
    def f(x):
        for _ in range(4):
            x = x * 0.5 + 1.0
        return x

    return f, (draw(elements),)


def rest(x):
    """Of the functions of the C library one that has no vector form."""
    return np.fmod(x, 0.7)


def called_by_rows(elements):
    def f(a):
        out = np.zeros(a.shape)
        for i in range(a.shape[0]):
            out[i] = rest(a[i]) + out[i - 1]
        return out

    return f, (draw((512, elements)),)


def small_products_by_rows(multiplications):
    n = int(multiplications**0.5)

    def f(a, b):
        out = np.zeros(a.shape)
        for i in range(1, a.shape[0]):
            out[i] = np.tanh((a[i] + out[i - 1]) @ b)
        return out

    return f, (draw((64, n)), draw((n, n)) / n)


def sum_of_columns(elements):
    def f(a):
        s = np.zeros(a.shape[2])
        for i in range(a.shape[0]):
            s = s * 0.5 + a[i].sum(axis=0)
        return s

    return f, (draw((64, 64, elements)),)


def turned_points(axes):
    return (lambda p, r, t: p @ r + t), (draw((10000, axes)), draw((axes, axes)), draw(axes))


def products_with_a_matrix(elements):
    def f(a, v):
        s = np.zeros(a.shape[1])
        for i in range(v.shape[0]):
            s = s * 0.5 + (v[i] * s[0]) @ a
        return s

    return f, (draw((64, elements)), draw((200, 64)))


def outer_products(multiplications):
    """Of 16 numbers that each trip computes of those of the trip before."""

    def f(xs):
        total, h = np.zeros((16, 16)), np.zeros(16)
        for x in xs:
            h = 0.5 * h + x
            total += np.outer(h, x)
        return total

    return f, (draw((multiplications // 256, 16)),)


def recurrence_of_parts(elements):
    n = int(elements**0.5)

    def f(w, u, xs):
        h = np.zeros(n)
        for x in xs:
            h = np.tanh(w @ h + u @ x)
        return h

    return f, (draw((n, n)) / n, draw((n, n)) / n, draw((100, n)))


def clipped(elements):
    return (lambda x, low, high: np.clip(x, low, high)), (draw(elements), -1.0, 1.0)


def scan_of_rows(elements):
    return (lambda x, y: np.cumsum(x * y, axis=0)), (draw((512, elements)), draw((512, elements)))


def grown_products(elements):
    return (lambda x: np.cumprod(x, axis=0)), (1 + draw((512, elements)) / 512,)


def weights(elements):
    return (lambda x: x / np.sqrt((x * x).sum(axis=-1, keepdims=True))), (draw((elements, 4)),)


def few_rows(rows):
    return (lambda x: x.sum(axis=0)), (draw((rows, 4096)),)


def moved_ahead(elements):
    def f(a):
        for _ in range(64):
            b = a[1:] * 0.5 + a[:-1] * 0.5
            a[:-1] = b
            a[0] = b.sum() if b[0] > 0 else 0.0
        return a

    return f, (draw(elements),)


def scalar_trips(trips):
    def f(a, b):
        for _ in range(trips):
            a = a * 0.5 + b
        return a

    return f, (1.5, 0.25)


def repeated(a, b, times):
    return repeated(a * 0.5 + b, b, times - 1) if times else a


def scalar_statements(equations):
    def f(a, b):
        for _ in range(6):
            a = repeated(a, b, equations // 2)
        return a

    return f, (1.5, 0.25)


def read_back(elements):
    def f(a, b):
        for k in range(200):
            a[:elements] = b * k
            b = a[:elements] * 0.5
        return a

    return f, (draw(1 << 15), draw(elements))


def reassociated(multiplications):
    n = int((multiplications / 2) ** 0.5)
    return (lambda a, b, v: (a @ b) @ v), (draw((n, 2)), draw((2, n)), draw((n, 2)))


def two_rows(elements):
    def f(a, b):
        for _ in range(20):
            b[1:-1] = a[1:-1] * 0.5 + a[:-2] * 0.25 + a[2:] * 0.25
            a[1:-1] = b[1:-1] * 0.5 + b[:-2] * 0.25 + b[2:] * 0.25
        return a

    return f, (draw(((1 << 14) // elements, elements)), draw(((1 << 14) // elements, elements)))


def recurrence(elements):
    def f(a):
        s = a[0]
        for k in range(1, a.shape[0]):
            s = s * 0.5 + a[k]
        return s

    return f, (draw(max(1, elements // 3)),)


def masked_rows(elements):
    def f(x, y):
        c = x + y[:, None] * 1j
        z, n = np.zeros(c.shape, complex), np.zeros(c.shape)
        for _ in range(60):
            inside = np.abs(z) < 2
            n[inside] += 1
            z[inside] = z[inside] ** 2 + c[inside]
        return n

    return f, (np.linspace(-2.2, 0.6, elements), np.linspace(-1.2, 1.2, 64))


def growing_parts(elements):
    def f(r):
        y = np.zeros_like(r)
        for k in range(1, len(r)):
            y[:k] += r[k] * y[:k][::-1]
            y[k] = r[k]
        return y

    return f, (draw(elements) * 0.01,)


def product_of(multiplications):
    n = round(multiplications ** (1 / 3))
    return (lambda a, b: np.abs(np.abs(a @ b + 1) * a - b) * 0.5 - a), (draw((n, n)), draw((n, n)))


def middle(elements):
    return (lambda x: np.sort(x, axis=-1)[:, :1]), (draw((256, elements)),)


def rows_by_python(elements):
    def f(a, b):
        for _ in range(8):
            a = np.fmod(b @ a, 0.7)
        return a

    return f, (draw((16, elements // 16)), draw((16, 16)) / 4)


def given_back(nbytes):
    return (lambda x: x + 1), (draw(nbytes // 8),)


def handed_over(nbytes):
    return (lambda x: x + 1), (jax.device_put(draw(nbytes // 4).astype("f4")),)


def soft_slices(slices):
    def f(x, w):
        z = x * w[:, None] + x
        return np.exp(-(z * z).sum(axis=-1))

    return f, (draw(8), draw(slices // 8))


def soft_rows(length):
    def f(x, w):
        z = x * w[:, None] + x
        return np.exp(-(z * z).sum(axis=-1))

    return f, (draw(length), draw(4096))


def one_of_two(elements):
    def f(x):
        if x[0] > 0:
            y = x * 2
        else:
            y = x + 1
        return y

    return f, (draw(elements),)


def arguments(number):
    return (lambda *xs: sum(xs[1:], xs[0])), tuple(draw(8).astype("f4") for _ in range(number))


GATES = {
    "ir.passes.loops.WIDE": Gate(swept, (1 << 12, 1 << 14, 1 << 16, 1 << 18), engine="auto"),
    "ir.rules.sums.ENOUGH": Gate(sums_of_products, (2, 4, 8, 16, 32, 128), engine="auto"),
    # programs of smaller ones do not come to this gate
    "ir.rules.contractions.LEAST": Gate(inverse, (9, 12, 17, 33), engine="auto"),
    "ir.rules.windows.FEATURES": Gate(windowed, (8, 16, 64, 256), engine="auto"),
    "ir.passes.fission.OUTER": Gate(outer_products, (1 << 11, 1 << 12, 1 << 13, 1 << 15), engine="auto"),
    "ir.passes.fission.MATRIX": Gate(recurrence_of_parts, (64, 256, 1024, 4096), engine="auto"),
    "ir.passes.products.LEAST": Gate(by_rows, (64, 256, 1024, 4096), engine="auto"),
    "backends.xla.powers.LARGE": Gate(half_power, (1 << 10, 1 << 12, 1 << 14, 1 << 16)),
    "backends.xla.signal.LARGE": Gate(filtered, (16, 64, 256, 1024, 4096)),
    "backends.xla.radix_sort.LEAST": Gate(sorted_row, (64, 256, 512, 1024, 4096)),
    "backends.xla.reduction.COLUMNS": Gate(columns, (512, 1024, 4096, 16384)),
    "backends.xla.reduction.LONG": Gate(first_greatest, (8, 16, 32, 64, 256)),
    "backends.xla.reduction.SHORT": Gate(short_axis, (2, 4, 8, 16, 32), NONE, ALL, up_to=True),
    "backends.xla.linalg.FEW": Gate(in_both_transposed, (16, 32, 64, 128)),
    "backends.xla.linalg.LARGE": Gate(of_a_computed_matrix, (1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22)),
    "backends.xla.linalg.THIN": Gate(thin, (8, 16, 32, 64, 128), NONE, ALL, up_to=True),
    "backends.native.region.ROW": Gate(called_by_rows, (2, 4, 8, 16, 32), NONE, ALL, True, engine="auto"),
    "backends.native.region.PRODUCT": Gate(
        small_products_by_rows, (64, 1024, 4096, 1 << 14, 1 << 16), NONE, ALL, True, engine="auto"
    ),
    "backends.native.parallel.LEAST": Gate(
        trips_of_their_own, (1 << 17, 1 << 18, 1 << 20, 1 << 22, 1 << 24), engine="auto"
    ),
    "backends.native.reduce.TINY": Gate(turned_points, (2, 3, 4, 6, 8), NONE, ALL, True, engine="nests"),
    "backends.native.reduce.PRODUCT_ROW": Gate(products_with_a_matrix, (16, 32, 48, 64, 128), engine="auto"),
    "backends.native.reduce.ROW": Gate(sum_of_columns, (8, 16, 48, 64, 128), engine="auto"),
    "backends.numpy.templates.SHORT": Gate(clipped, (1 << 10, 1 << 12, 1 << 14, 1 << 16), NONE, ALL, True, "numpy"),
    "backends.xla.reduction.ROWS": Gate(few_rows, (8, 16, 32, 128)),
    "backends.xla.reduction.ROW": Gate(scan_of_rows, (2, 4, 8, 16, 32)),
    "backends.xla.reduction.MANY": Gate(weights, (64, 256, 512, 2048)),
    "backends.xla.write_after_read.LEAST": Gate(moved_ahead, (64, 256, 512, 4096)),
    "ir.passes.loops.FEW": Gate(scalar_trips, (2, 4, 8, 16, 32), NONE, ALL, up_to=True, engine="auto"),
    "ir.passes.loops.SHORT": Gate(scalar_statements, (4, 8, 12, 24, 48), NONE, ALL, up_to=True, engine="auto"),
    "ir.passes.memory.SMALL": Gate(read_back, (8, 64, 512, 4096), NONE, ALL, up_to=True, engine="auto"),
    "ir.rules.contractions.SAVED": Gate(reassociated, (128, 1024, 4096, 1 << 14, 1 << 16), engine="auto"),
    "backends.native.fuse.ROW": Gate(two_rows, (4, 16, 64, 256), engine="auto"),
    "backends.native.index_split.LEAST": Gate(growing_parts, (8, 16, 32, 64, 256), engine="nests"),
    "backends.native.legal.LEAST": Gate(recurrence, (32, 128, 512, 2048)),
    "backends.native.strip_mine.FAR": Gate(
        kept_by_trips, (1 << 15, 1 << 16, 1 << 17, 1 << 18, 1 << 20), ALL, NONE, engine="auto"
    ),
    "backends.native.mask_skip.LEAST": Gate(masked_rows, (64, 128, 256, 512, 1024), engine="auto"),
    "backends.numpy.partition.PRODUCT": Gate(product_of, (8**3, 12**3, 16**3, 32**3), engine="nests"),
    "backends.numpy.templates.PICKED": Gate(middle, (8, 16, 32, 128, 512), engine="numpy"),
    "backends.numpy.trips.ROW": Gate(rows_by_python, (32, 128, 1024, 1 << 15), engine="nests"),
    "backends.xla.dispatch.ZERO_COPY": Gate(given_back, (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20)),
    "backends.xla.fusion_barrier.LEAST": Gate(residual_network, (24, 48, 128, 1024)),
    "backends.xla.host_arrays.BY_ITSELF": Gate(
        handed_over, (1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20), NONE, ALL, True, engine="numpy"
    ),
    "backends.xla.radix_sort.MANY": Gate(sorted_row, (1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 16)),
    "backends.xla.reduction.SMALL": Gate(soft_slices, (3 << 12, 1 << 15, 1 << 16, 1 << 18), NONE, ALL, up_to=True),
    "backends.xla.reduction.LITTLE": Gate(soft_slices, (1 << 12, 1 << 13, 3 << 12, 3 << 13, 1 << 15)),
    "backends.xla.reduction.LEAST": Gate(soft_rows, (3, 4, 6, 8)),
    "tracer.program.numpy_call.LARGE": Gate(one_of_two, (64, 1024, 4096, 1 << 16), engine="numpy"),
    "tracer.call.inline_hit.FEW": Gate(arguments, (1, 2, 4, 8, 16), NONE, ALL, up_to=True),
}
