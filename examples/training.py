"""The main job: train the digits network through one compiled step, and show what the compiler made of it."""

import inspect
import os
import sys
import textwrap
import time

import numpy as np

from .. import grad, jit, value_and_grad
from ..ir.pipeline import PIPELINE
from . import by_hand, digits, logistic

BATCH, RATE = 32, 0.1
ENOUGH = 0.95  # test accuracy below which the job has failed
CLOSE = 1e-8  # between the gradient by hand and the compiled one


@jit
def update(params, velocity, images, labels, rate):
    """One training step: the whole of what is compiled."""
    value, slopes = value_and_grad(digits.loss)(params, images, labels)
    params, velocity = digits.step(params, velocity, slopes, rate)
    return params, velocity, value


def plain_update(params, velocity, images, labels, rate):
    """The same step as it is written without a compiler."""
    value, slopes = by_hand.value_and_gradient(params, images, labels)
    params, velocity = digits.step(params, velocity, slopes, rate)
    return params, velocity, value


def train(epochs, seed, data, progress):
    """-> (params, velocity, steps, seconds), the rate falling linearly from RATE to nothing."""
    rng = np.random.default_rng(seed)
    params = digits.init(rng)
    velocity = {name: np.zeros_like(x) for name, x in params.items()}
    steps, total = 0, epochs * (len(data[0]) // BATCH)
    start = time.perf_counter()
    for epoch in range(epochs):
        values = []
        for images, labels in digits.batches(rng, *data, BATCH):
            params, velocity, value = update(params, velocity, images, labels, RATE * (1 - steps / total))
            values.append(value)
            steps += 1
            progress(steps, total, f"epoch {epoch + 1:>{len(str(epochs))}} of {epochs}   loss {np.mean(values):.4f}")
    return params, velocity, steps, time.perf_counter() - start


class Progress:
    """A bar on stderr: redrawn in place on a terminal, elsewhere a line at every quarter of the way."""

    WIDTH = 30

    def __init__(self, stream):
        self.stream, self.live = stream, stream.isatty()

    def __call__(self, done, total, text):
        parts = 100 if self.live else 4
        if parts * done // total == parts * (done - 1) // total:
            return
        bar = "#" * (self.WIDTH * done // total)
        start, end = ("\r" if self.live else ""), ("" if self.live and done < total else "\n")
        self.stream.write(f"{start}  [{bar:.<{self.WIDTH}}]  {text}{end}")
        self.stream.flush()


def job(epochs: int, seed: int, quiet: bool) -> int:
    """Train, test, time, print. -> exit status: 0 where the accuracy is enough and the gradients agree."""
    data, test = digits.load()
    size = sum(x.size for x in digits.init(np.random.default_rng(seed)).values())
    if not quiet:
        print("Handwritten digits: a convolutional network in plain NumPy, wengert.examples.digits")
        print(
            f"  {len(data[0]):,} images to train on, {len(test[0])} to test on; {size:,} parameters; batches of "
            f"{BATCH}",
            flush=True,
        )
    params, velocity, steps, seconds = train(epochs, seed, data, (lambda *_: None) if quiet else Progress(sys.stderr))
    accuracy = digits.accuracy(params, *test)
    print(
        f"{'' if quiet else chr(10)}Test accuracy {accuracy:.1%}, {round(accuracy * len(test[0]))} of {len(test[0])} "
        "images",
        flush=True,
    )
    if accuracy < ENOUGH:
        print(f"wengert: the test accuracy is below {ENOUGH:.0%}; train longer: --epochs {2 * epochs}", file=sys.stderr)
    batch = next(digits.batches(np.random.default_rng(seed), *data, BATCH))
    gap = largest_difference(params, batch)
    agree = gap <= CLOSE
    if not agree:
        print(f"wengert: the gradient by hand and the compiled one differ by {gap:.1e}", file=sys.stderr)
    if not quiet:
        print_costs(steps, seconds)
        print_steps(params, velocity, batch, size, gap)
        print_programs()
    return 0 if accuracy >= ENOUGH and agree else 1


def largest_difference(params, batch):
    ours, by = value_and_grad(digits.loss)(params, *batch)[1], by_hand.value_and_gradient(params, *batch)[1]
    return np.max([np.abs(ours[name] - by[name]).max() for name in params])


# -- what it prints --------------------------------------------------------------------------------


def print_costs(steps, seconds):
    versions = [v for e in update.compiled.entries.values() for w in e.worlds for v in w.versions]
    trace, first = sum(v.trace_seconds for v in versions), sum(v.first_seconds for v in versions)
    before, after = versions[-1].captured.func.count(), versions[-1].func.count()
    print("\nWhere the time went, in seconds")
    print(f"  tracing   {trace:8.2f}   {before} equations, {after} after the passes")
    print(f"  compiling {first:8.2f}   with the first step")
    print(f"  running   {seconds - trace - first:8.2f}   {steps - len(versions):,} steps")


def print_steps(params, velocity, batch, size, gap):
    ours = milliseconds(update, params, velocity, *batch, RATE)
    by = milliseconds(plain_update, params, velocity, *batch, RATE)
    one = milliseconds(digits.loss, params, *batch)
    rows = [
        ("compiled by Wengert", ours, ""),
        ("NumPy, gradient by hand", by, f"agrees to {gap:.0e}"),
        ("NumPy, finite differences", one * (size + 1), f"estimated: {size + 1:,} losses of {one:.2f} ms"),
    ]
    print("\nOne training step, in milliseconds at best and relative to ours")
    for name, took, note in rows:
        print(f"  {name:<26} {three(took):>9} {three(took / ours):>9} x   {note}".rstrip())
    load, cores = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0, os.cpu_count()
    if load > 1.5 * cores:  # threads that wait for each other then wait for strangers too
        print(f"  The machine is busy, a load of {load:.1f} on {cores} cores: repeat this on a quiet one.")


def three(number):
    """Three digits, as far as they matter: 1.17, 24.1, 6,091."""
    return f"{number:,.{2 if number < 10 else 1 if number < 100 else 0}f}"


def milliseconds(function, *args, budget=0.5):
    """The best time of a call, over `budget` seconds of calls after a first one."""
    function(*args)
    best, start = np.inf, time.perf_counter()
    while time.perf_counter() - start < budget:
        begin = time.perf_counter()
        function(*args)
        best = min(best, time.perf_counter() - begin)
    return 1e3 * best


def print_programs():
    w, X, y = np.zeros(5), np.zeros((100, 5)), np.zeros(100)
    lines = inspect.getsource(logistic.loss).splitlines()
    print("\nA small loss, wengert.examples.logistic\n")
    print("\n".join("  " + line for line in lines))
    print(f"\nIts program\n\n{jit(logistic.loss).ir(w, X, y)}")
    print(f"\nThe program of its gradient\n\n{grad(logistic.loss).ir(w, X, y)}")
    print("\n" + textwrap.fill(f"Passes: {', '.join(step.__name__ for step in PIPELINE)}", 100))
