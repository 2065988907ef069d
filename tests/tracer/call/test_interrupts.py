"""Ctrl-C during a call raises KeyboardInterrupt where it was called, soon, with arguments as they were; and children that are forked do not hang."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("options, later", [("engine='numpy'", 3), ("", 3), ("engine='xla'", 0), ("engine='xla', native=False", 0)])
def test_loops_are_interrupted(said, options, later):
    """Those without a bound, those of so many trips, and those in others; what they store is not left half done. XLA goes on."""
    found = said(f"""
    def endless(x, w):
        while x < 1e300:
            w[0] = w[0] + x
            x = x + 1e-9 * w[1]
        return x

    def many(x, n):
        s = 0.0
        for i in range(n):
            s = s + i * x
        return s

    def nested(w, n):
        for i in range(n):
            for j in range(1, len(w)):
                w[j] = w[j - 1] * 0.5 + w[j]
        return w

    out, w, row = [], np.ones(2), np.ones(9)
    cases = [(endless, (1e301, w), (0.5, w)), (many, (0.5, 3), (0.5, 10**13)), (nested, (row, 3), (row.copy(), 10**12))]
    for f, small, large in cases[:{later} or 1]:
        g = jit(f, {options})
        g(*[x.copy() if isinstance(x, np.ndarray) else x for x in small])
        before = [x.tolist() if isinstance(x, np.ndarray) else x for x in large]
        how = interrupted(lambda: g(*large))
        same = before == [x.tolist() if isinstance(x, np.ndarray) else x for x in large]
        again = [x.copy() if isinstance(x, np.ndarray) else x for x in small]
        out.append([*how, same, not {later} or bool(np.all(g(*small) == f(*again)))])
    print(json.dumps(out), flush=True)
    os._exit(0)  # XLA goes on
    """)
    assert found == [["KeyboardInterrupt", True, True, True]] * (later or 1)


def test_programs_of_xla_are_interrupted_on_its_threads_and_on_ours(said):
    """Where all is small XLA runs native loops on the thread that calls it, which hears signals; where not, Python waits. JAX may call too."""
    found = said("""
    import jax, jax.numpy as jnp

    def count(x, n):
        s = x.sum() * 0
        while s < n:
            s = s + 1
        return s

    def several(x, n):
        s = t = x.sum() * 0
        for i in range(2):
            if x[i] > 0:
                while s < n:
                    s = s + 1
        while t < n:
            t = t + 2
        return s, t, x * 2

    out = []
    small = jit(count)
    small(jnp.ones(4), 7.0)
    out.append([*interrupted(lambda: jax.jit(lambda x: small(x, 1e13))(jnp.ones(4)), 1.5), float(small(jnp.ones(4), 7.0)) == 7])
    for f, size in [(count, 4), (several, 4), (count, 5000)]:
        g, x = jit(f), jnp.ones(size)
        told = lambda n: [np.asarray(y).tolist() for y in jax.tree.leaves(g(x, n))]
        told(7.0)
        how = interrupted(lambda: g(x, 1e13), 0.2)
        out.append([*how, size > 9 or told(7.0) == [np.asarray(y).tolist() for y in jax.tree.leaves(f(np.ones(size), 7.0))]])
    print(json.dumps(out), flush=True)
    os._exit(0)  # XLA goes on
    """)
    assert found == [["KeyboardInterrupt", True, True]] * 4


@pytest.mark.parametrize("options", ["", "engine='xla'"])
def test_handlers_of_signals_may_do_anything(said, options):
    """What they raise is raised as they raised it; one that raises nothing stops nothing, and may run programs; other threads hear none."""
    found = said(f"""
    import jax, jax.numpy as jnp, threading
    jax.config.update("jax_enable_x64", True)

    def count(x, n):
        s = x.sum() * 0
        while s < n:
            s = s + 1
        return s

    g, x, out, seen = jit(count, {options}), np.ones(4) if {options!r} else jnp.ones(4), [], []
    g(x, 7.0)

    def quiet(*_):
        seen.append([float(g(x, 5.0)), float(jnp.sum(jnp.ones((50, 50)) @ jnp.ones(50)))])

    def chained(*_):
        try:
            raise KeyError
        except KeyError as error:
            raise LookupError("of a handler") from error

    def timed(handler, call):
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        try:
            return float(call())
        except LookupError as error:
            return [str(error), type(error.__cause__).__name__, type(error.__context__).__name__]

    out += [timed(quiet, lambda: g(x, 2e8)), seen, timed(chained, lambda: g(x, 1e13)), float(g(x, 7.0))]
    thread = threading.Thread(target=lambda: out.append(float(g(x, 2e8))))
    thread.start()
    out += [timed(chained, lambda: g(x, 1e13))]
    thread.join()
    print(json.dumps(out))
    """)
    chained = ["of a handler", "KeyError", "KeyError"]
    assert found[:4] == [2e8, [[5, 2500]], chained, 7] and sorted(found[4:], key=str) == [2e8, chained]


def test_python_that_xla_calls_raises_what_it_raises(said):
    found = said("""
    class Slow:
        wait = 0
        def write(self, text):
            end = time.perf_counter() + self.wait
            while time.perf_counter() < end:
                time.sleep(0.01)
            if self.wait < 0:
                raise ZeroDivisionError
        def flush(self):
            pass

    def f(x):
        y = x * 2
        print(y)
        return y

    g, real, sys.stdout, out = jit(f), sys.stdout, Slow(), []
    g(np.ones(2))
    Slow.wait = 20
    out.append(interrupted(lambda: g(np.ones(2))))
    Slow.wait = 0
    out.append(g(np.ones(2)).tolist())
    Slow.wait = -1
    try:
        g(np.ones(2))
    except ZeroDivisionError:
        out.append("itself")
    Slow.wait = 0
    out.append(g(np.ones(2)).tolist())
    sys.stdout = real
    print(json.dumps(out))
    """)
    assert found == [["KeyboardInterrupt", True], [2, 2], "itself", [2, 2]]


def test_loops_that_draw_are_interrupted(said):
    found = said("""
    def total(n):
        t = 0.0
        for i in range(n):
            t += np.random.random()
        return t

    g = jit(total)
    g(10)
    print(json.dumps([interrupted(lambda: g(10**10)), g(10) > 0]))
    sys.stdout.flush()
    os._exit(0)
    """)
    assert found == [["KeyboardInterrupt", True], True]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_does_not_wait_for_threads_that_are_not_there(said):
    found = said("""
    def loop(x):
        s = 0.0
        while s < x.sum():
            s = s + 1
        return s

    f, g = jit(lambda x: np.sort(x @ x) + 1, engine="xla"), jit(loop)
    f(np.ones((3, 3))), g(np.ones(3))

    def child(queue):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            out = [float(f(np.ones((n, n))).sum()) for n in (3, 4, 4)] + [g(np.ones(3)), g(np.ones(5)), jit(loop)(np.ones(4))]
        queue.put((out, any("forked" in str(w.message) for w in caught)))

    fork = multiprocessing.get_context("fork")
    queue = fork.SimpleQueue()
    process = fork.Process(target=child, args=(queue,))
    process.start()
    process.join(60)
    process.kill()
    print(json.dumps([queue.get() if not queue.empty() else "hangs", float(f(np.ones((5, 5))).sum())]))
    """)
    assert found == [[[36.0, 80.0, 80.0, 3.0, 5.0, 4.0], True], 150.0]


def test_importing_draws_no_number():
    script = """
import random
import numpy as np
state = lambda: (str(np.random.get_state()), random.getstate())
np.random.seed(7), random.seed(7)
before = state()
import wengert
assert before == state()
"""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script], check=True, env=env)
