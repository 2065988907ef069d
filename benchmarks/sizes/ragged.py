"""Batches of many lengths: `vmap(f, ragged=True)` on a list of sequences, against a loop in plain Python, a loop over
`jit(f)`, and padding by hand to the longest, with masks, under `jit(vmap(...))`.

    python benchmarks/sizes/ragged.py [--examples 256] [--most 512] [--batches 4] [--what forward,gradient]

Each batch has new lengths, drawn from 1 to `--most`. Columns: seconds of the first batch, and of the median of those
behind it, by those of the loop in plain Python (of a gradient: of the loop for values alone); programs made for the
later batches; the largest difference of a result from the loop's, relative. A row is a process of its own.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings

import numpy as np
from programs import HIDDEN, B, U, W, lstm, normal, softmax

from wengert import grad, jit, vmap
from wengert.tracer.common import events

QUERY = normal(8, 4)


def pooled(x, query):
    """Attention of four queries over the rows of x: f64[n, 8], in all."""
    return (softmax((x @ query).T) @ x).ravel()


def padded_pooled(x, n, query):
    """The same of the first n rows."""
    scores = np.where(np.arange(len(x)) < n, (x @ query).T, -np.inf)
    return (softmax(scores) @ x).ravel()


def padded_lstm(x, n, w, u, b):
    """The last state of an LSTM over the first n rows of x."""
    h, c = np.zeros(HIDDEN), np.zeros(HIDDEN)
    sigmoid = lambda z: 1.0 / (1.0 + np.exp(-z))
    for t in range(x.shape[0]):
        i, f, g, o = np.split(x[t] @ w + h @ u + b, 4)
        new = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        c, h = np.where(t < n, new, c), np.where(t < n, sigmoid(o) * np.tanh(new), h)
    return h


PROGRAMS = {"pooled attention": (pooled, padded_pooled, (QUERY,)), "LSTM": (lstm, padded_lstm, (W, U, B))}
WAYS = ["vmap(ragged=True)", "loop over jit(f)", "padded by hand"]


def batches(count, examples, most):
    rng = np.random.default_rng(0)
    for _ in range(count):
        yield [rng.standard_normal((n, 8)) for n in rng.integers(1, most + 1, examples)]


def padded(xs, most):
    """-> (the examples in one array, zeros behind them; their lengths)."""
    whole = np.zeros((len(xs), most, xs[0].shape[1]))
    for k, x in enumerate(xs):
        whole[k, : len(x)] = x
    return whole, np.array([len(x) for x in xs])


def squared(f):
    return lambda p, *rest: (f(*rest, p) ** 2).sum()


def way_of(way, name, what, most):
    """xs -> the results of the examples, or the gradients by the first of the parameters."""
    f, by_hand, fixed = PROGRAMS[name]
    if what == "gradient":
        first, rest = fixed[0], fixed[1:]
        slope = grad(lambda p, x: (f(x, p, *rest) ** 2).sum())
        by_hand_slope = grad(lambda p, x, n: (by_hand(x, n, p, *rest) ** 2).sum())
        mapped, whole = vmap(slope, (None, 0), ragged=True), jit(vmap(by_hand_slope, (None, 0, 0)))
        return {
            WAYS[0]: lambda xs: mapped(first, xs),
            WAYS[1]: lambda xs: [slope(first, x) for x in xs],
            WAYS[2]: lambda xs: whole(first, *padded(xs, most)),
        }[way]
    others = (None,) * len(fixed)
    mapped, whole, single = vmap(f, (0, *others), ragged=True), jit(vmap(by_hand, (0, 0, *others))), jit(f)
    return {
        WAYS[0]: lambda xs: mapped(xs, *fixed),
        WAYS[1]: lambda xs: [single(x, *fixed) for x in xs],
        WAYS[2]: lambda xs: whole(*padded(xs, most), *fixed),
    }[way]


def measure(way, name, what, given):
    warnings.simplefilter("ignore")
    f, _, fixed = PROGRAMS[name]
    ours = way_of(way, name, what, given.most)
    seconds, plain, made, error = [], [], [], 0.0
    events.LISTENERS.append(lambda event: made.append((event.kind, len(seconds))))
    for xs in batches(given.batches, given.examples, given.most):
        start = time.perf_counter()
        want = [f(x, *fixed) for x in xs]
        plain.append(time.perf_counter() - start)
        start = time.perf_counter()
        got = ours(xs)
        seconds.append(time.perf_counter() - start)
        error = max(error, largest_error(got, want, xs, name, what))
    later = statistics.median(seconds[1:]) / statistics.median(plain[1:])
    kinds = [kind for kind, batch in made if batch and kind in ("traced", "xla compile")]
    return [f"{plain[0]:.3g} s", f"{seconds[0] / plain[0]:.2f}", f"{later:.2f}", str(len(kinds)), f"{error:.0e}"]


def largest_error(got, want, xs, name, what):
    if what == "forward":
        return max(float(np.max(np.abs(g - w)) / (1 + np.max(np.abs(w)))) for g, w in zip(got, want, strict=True))
    f, _, (first, *rest) = PROGRAMS[name]
    along, worst = np.random.default_rng(1).standard_normal(first.shape), 0.0
    for g, x in [*zip(got, xs, strict=True)][:16]:  # against differences, of which a call takes two
        high, low = ((f(x, first + h * along, *rest) ** 2).sum() for h in (1e-5, -1e-5))
        worst = max(worst, abs(float((g * along).sum()) - (high - low) / 2e-5) / (1 + np.abs(g * along).sum()))
    return worst


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=256)
    parser.add_argument("--most", type=int, default=512)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--what", default="forward,gradient")
    parser.add_argument("--only", default="")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(measure(*given.one, given)))
        return
    head = ["program", "what", "way", "loop in Python", "first batch", "later", "programs made later", "error"]
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head))
    for name in PROGRAMS:
        for what in given.what.split(","):
            for way in WAYS if any(name.startswith(word) for word in given.only.split(",")) else ():
                line = [sys.executable, __file__, *sys.argv[1:], "--one", way, name, what]
                done = subprocess.run(line, capture_output=True, text=True)
                row = json.loads(done.stdout.splitlines()[-1]) if not done.returncode else [done.stderr[-200:]]
                print("| " + " | ".join([name, what, way, *row]) + " |", flush=True)


if __name__ == "__main__":
    main()
