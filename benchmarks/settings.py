"""Constants of one machine that have no one size at which they pay, for `benchmarks/tune.py`: SETTINGS, each with a
program that runs with some values of it, and QUANTITIES, of which a time itself is measured.
"""

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from wengert import grad, jit
from wengert.backends import native
from wengert.benchmarks.timing import interleave
from wengert.tracer.common import events

RNG = np.random.default_rng(0)
draw = RNG.standard_normal


@dataclasses.dataclass
class Setting:
    """program: () -> (function, arguments), which comes to the constant; values: those that are tried.

    engine: as of a gate.
    """

    program: Callable[[], tuple[Callable[..., Any], tuple[Any, ...]]]
    values: Sequence[float]
    engine: str = "xla"


def rescaled_rows():
    def f(a):
        out = np.zeros(a.shape)
        for i in range(a.shape[0]):
            row = a[i] * 2 + a[0] * 3
            for j in range(1, a.shape[1]):
                out[i, j] = out[i, j - 1] * 0.5 + row[j]
        return out

    return f, (draw((256, 256)),)


def distances():
    def f(x):
        out = np.zeros(x.shape)
        for i in range(x.shape[0]):
            for j in range(x.shape[0]):
                out[i] += 1.0 / np.sqrt(1.0 + (x[j] - x[i]) ** 2)
        return out

    return f, (draw(600),)


def long_line():
    def f(a, b):
        for _ in range(50):
            b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
            a[1:-1] = (b[:-2] + b[1:-1] + b[2:]) / 3
        return a

    return f, (draw(1 << 16), draw(1 << 16))


def three_fields():
    """The finite differences in time of Yee (1966), in a plane."""

    def f(ex, ey, hz):
        for _ in range(20):
            ey[1:, :] -= 0.5 * (hz[1:, :] - hz[:-1, :])
            ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
            hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
        return hz

    return f, tuple(draw((300, 300)) for _ in range(3))


def many_statements():
    def f(a, b, c, d):
        for _ in range(20):
            e, g = a * b + c * d, a * c - b * d
            a += 0.01 * (np.sqrt(np.abs(e)) + g * g / (1 + e * e))
            b -= 0.01 * (np.sqrt(np.abs(g)) + e * e / (1 + g * g))
            c += 0.01 * (a * e - b * g) / (1 + np.abs(e))
            d -= 0.01 * (a * g - b * e) / (1 + np.abs(g))
        return a + b + c + d

    return f, tuple(draw((128, 128)) for _ in range(4))


def escape_times():
    def f(x, y):
        c = x + y[:, None] * 1j
        z, n = np.zeros(c.shape, complex), np.zeros(c.shape)
        for _ in range(60):
            inside = np.abs(z) < 2
            n[inside] += 1
            z[inside] = z[inside] ** 2 + c[inside]
        return n

    return f, (np.linspace(-2.2, 0.6, 256), np.linspace(-1.2, 1.2, 256))


def padded():
    def f(a):
        for _ in range(20):
            p = np.pad(a * 0.2, 1)
            a = p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] + p[1:-1, 1:-1]
        return a

    return f, (draw((64, 64)),)


def chosen_columns():
    return lambda a, x: x @ np.where(a > 0.5, a, 0.0), (draw((2000, 2000)), draw(2000))


def kept_by_trips(left):
    """left: bytes."""

    def f(x, y):
        for _ in range(20):
            x, y = x + 0.01 * x * (1.1 - 0.4 * y), y + 0.01 * y * (0.1 * x - 0.4)
        return x, y

    return f, (draw(left // 16), draw(left // 16))


def columns_of_layers():
    """A sweep down and one up over layers of a plane, as of tridiagonal systems side by side."""

    def f(a, b):
        for k in range(1, a.shape[0]):
            a[k] = a[k] / (2 + b[k - 1])
            b[k] = (b[k] - a[k] * b[k - 1]) / (2 + a[k] * a[k - 1])
        for k in range(a.shape[0] - 2, -1, -1):
            b[k] -= a[k] * b[k + 1]
        return b

    return f, (np.abs(draw((64, 128, 128))), np.abs(draw((64, 128, 128))))


def eliminated():
    def f(a):
        for k in range(a.shape[0] - 1):
            a[k + 1 :] -= a[k + 1 :, k : k + 1] / 8 * a[k]
        return a

    return f, (draw((64, 64)) / 64,)


def spread_number():
    return (lambda a, b: (np.zeros(2048) + a, np.broadcast_to(b, 2048).copy())), (1.5, 2.5)


def recurrences(length):
    def program():
        def f(a, b):
            s = a
            for _ in range(8):
                s = np.tanh(s * 0.5 + b) + s
            return s, s.sum()

        return f, (draw(length), draw(length))

    return program


def on_numbers(steps):
    """Three operations on numbers of NumPy's, so many times."""

    def program():
        def f(a, b):
            s = a
            for _ in range(steps):
                s = s * b + (a - s)
            return s, s + b

        return f, (np.float64(0.5), np.float64(1.25))

    return program


def residual_network(elements, layers=80):
    """Layers written out, each of which reads the sum of those before."""

    def behind(x, w, k):
        if k == layers:
            return x
        y = np.tanh(np.maximum(x, 0.1 * x) * 0.9 + 0.05 * w[k])
        return behind(x + np.maximum(y, 0.3 * y) * (y - 0.5) + np.abs(x) * 0.01, w, k + 1)

    return (lambda x, w: behind(x, w, 0)), (draw(elements) * 0.01, draw(layers))


def soft_maxima():
    def f(x, w):
        z = (x * w[:, None] + x) * x + w[:, None]
        return np.exp(-(z * z).sum(axis=-1)) + np.log(1 + np.abs(z).sum(axis=-1))

    return f, (draw((4096, 8)), draw(4096))


def digits():
    return np.sort, (draw(1 << 16),)


def few_digits():
    return np.sort, (draw(1 << 12),)


def moved_parts():
    def f(a):
        for k in range(1, 200):
            part = a[k : k + 64] * 0.5 + a[k - 1 : k + 63] * 0.25 + a[k + 1 : k + 65] * 0.25
            a[k : k + 64] = part / (1 + np.abs(part.sum()))
        return a

    return f, (draw(512),)


def chained_products():
    return (lambda a, b, v: (a @ b) @ v), (draw((128, 64)), draw((64, 128)), draw((128, 96)))


def row_and_column():
    def f(a):
        for k in range(a.shape[0]):
            a[k] = a[k] * 0.5 + 1
            a[:, k] = a[:, k] + a[k, k]
        return a

    return f, (draw((128, 128)),)


SETTINGS = {
    "ir.passes.memory.SHARE": Setting(row_and_column, (1, 4, 16), "auto"),
    "ir.rules.contractions.SHARE": Setting(chained_products, (0.4, 0.8, 0.95), "auto"),
    "backends.native.control.INVARIANT": Setting(rescaled_rows, (0, 2, 8, 32), "auto"),
    "backends.native.fuse.STRIP": Setting(long_line, (128, 512, 2048, 8192), "auto"),
    "backends.native.fuse.WORK": Setting(many_statements, (40, 80, 160, 320), "auto"),
    "backends.native.mask_skip.STRETCH": Setting(escape_times, (16, 32, 64), "auto"),
    "backends.native.region.CHEAP": Setting(many_statements, (4, 12, 36), "auto"),
    "backends.native.region.DEAR": Setting(many_statements, (25, 100, 400), "auto"),
    "backends.native.region.PLACES": Setting(padded, (0, 2, 8), "auto"),
    "backends.native.region.STRIP": Setting(chosen_columns, (64, 256, 1024), "nests"),
    "backends.native.parallel.PART": Setting(distances, (1 << 15, 1 << 18, 1 << 21), "auto"),
    "backends.native.skew.FAR": Setting(three_fields, (2, 8, 32), "auto"),
    "backends.native.skew.ROWS": Setting(three_fields, (1, 3, 9), "auto"),
    "backends.native.skew.NEAR": Setting(three_fields, (1 << 13, 1 << 15, 1 << 17), "auto"),
    "backends.native.skew.MIDDLE": Setting(three_fields, (1 << 18, 1 << 20, 1 << 22), "auto"),
    "backends.native.strip_mine.ROOM": Setting(lambda: kept_by_trips(1 << 22), (1 << 13, 1 << 15, 1 << 17), "auto"),
    "backends.native.strip_mine.NEAR": Setting(columns_of_layers, (1 << 11, 1 << 13, 1 << 15, 1 << 17), "auto"),
    "backends.native.writes.PART": Setting(eliminated, (2, 8, 32), "auto"),
    "backends.numpy.emit_fast.SMALL": Setting(spread_number, (256, 4096, 1 << 16), "numpy"),
    "backends.numpy.partition.LEAST": Setting(recurrences(64), (1, 2, 4), "nests"),
    "backends.numpy.partition.NUMBER": Setting(on_numbers(2), (0.1, 0.2, 0.4, 0.7), "nests"),
    "backends.xla.fusion_barrier.LONG": Setting(lambda: residual_network(4096), (16, 64, 256)),
    "backends.xla.fusion_barrier.SEVERAL": Setting(soft_maxima, (1, 4, 16, 64)),
    "backends.xla.radix_sort.NARROW": Setting(few_digits, (6, 8, 11)),
    "backends.xla.radix_sort.WIDE": Setting(digits, (8, 11, 13)),
    "backends.xla.write_after_read.MANY": Setting(moved_parts, (1, 3, 9)),
    "backends.xla.write_after_read.SHARE": Setting(moved_parts, (2, 4, 16)),
}


def seconds(*runs):
    """The time of each of some functions of no arguments, which take turns."""
    times = interleave(dict(enumerate(runs)), 0.1, 15, 15)
    return [times[k] for k in range(len(runs))]


def launch():
    f, x = jit(lambda x: x + 1, engine="xla", cache=False), draw(8)
    return seconds(lambda: f(x))[0]


def numpy_call():
    x, y = np.zeros(1), draw(1)
    return seconds(lambda: np.add(x, y, y))[0]


def of_matrices():
    a, x, y = draw((2, 2)), np.zeros(1), draw(1)
    solved, added = seconds(lambda: np.linalg.solve(a, a), lambda: np.add(x, y, y))
    return solved / added


def bandwidth():
    x = draw(1 << 22)
    y = x.copy()
    return 2 * x.nbytes / seconds(lambda: np.copyto(y, x))[0]


XLA = "xla trace", "xla lower", "xla compile"


def seconds_of_events(kinds, function, *args):
    """Seconds that events of some kinds take in a call."""
    found = []
    listener = lambda event: found.append(event.seconds) if event.kind in kinds else None
    events.LISTENERS.append(listener)
    try:
        function(*args)
    finally:
        events.LISTENERS.remove(listener)
    return sum(filter(None, found))


def compiled_equation():
    f, arguments = residual_network(64, 10)
    made = jit(f, engine="xla", cache=False)
    return seconds_of_events(XLA, made, *arguments) / made.ir(*arguments).count()


def distances_one_by_one(points):
    pairs = [(a, b) for i, a in enumerate(points) for b in points[:i]]
    return sum(((x - u) ** 2 + (y - v) ** 2) ** 0.5 for (x, y), (u, v) in pairs)


def shortened(x):
    for k in range(200):  # each trip has arrays of other sizes
        x = x[1:] * 0.5 + np.sin(x[:-1] * k)
    return x


def first_answer(function, *args):
    """(equations, seconds from the end of the trace to the answer) of a function's first call."""
    made, begun = jit(function, dynamic=False, cache=False, whole=True), time.perf_counter()
    traced = seconds_of_events(("traced",), made, *args)
    took = time.perf_counter() - begun - traced
    return made.ir(*args, passes=False).count(), took


def equation_answered():
    equations, took = first_answer(distances_one_by_one, draw((20, 2)).tolist())
    return took / equations


def smoothed(x, s):
    y = np.zeros_like(x)
    for i in range(1, x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = np.tanh(y[i - 1, j] * s + y[i, j - 1] / (1 + x[i, j] ** 2))
    return y.sum()


def optimised(function, *args):
    """(lines, seconds for LLVM to optimise them) of the nests that a first call compiles."""
    with native.compiled_quickly() as quick:
        function(*args)
    lines, start = sum(code.text.count("\n") for code in quick), time.perf_counter()
    for code in quick:
        code.optimise()
    return lines, time.perf_counter() - start


def optimised_line():
    made = jit(grad(smoothed), engine="numpy", dynamic=False, cache=False)
    lines, took = optimised(made, draw((20, 20)), 0.5)
    return took / lines


QUANTITIES = {
    "tracer.call.deferred.EQUATION": compiled_equation,
    "tracer.call.deferred.LINE": optimised_line,
    "tracer.call.patience.MAKING": equation_answered,
    "tracer.program.backend_choice.LAUNCH": launch,
    "tracer.program.numpy_costs.CALL": numpy_call,
    "tracer.program.numpy_costs.OF_MATRICES": of_matrices,
    "tracer.program.numpy_costs.BANDWIDTH": bandwidth,
}
