"""Ctrl-C during a call raises KeyboardInterrupt where it was called, soon, with arguments as they were; and children that are forked do not hang."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

HEAD = """
import json, multiprocessing, os, signal, sys, time, warnings
import numpy as np
from wengert import jit

def interrupted(call, after=0.5):
    "How long a call went on after a signal, and what came of it."
    sent = []
    def handler(*_):
        sent.append(time.perf_counter())
        raise KeyboardInterrupt
    signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        return "finished", call()
    except BaseException as error:
        return type(error).__name__, bool(sent) and time.perf_counter() - sent[0] < 1.0
"""


@pytest.fixture
def said(tmp_path):
    return lambda code: run(tmp_path / "script.py", code)


def run(path, code):
    """What a script writes as JSON."""
    path.write_text(HEAD + textwrap.dedent(code))
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


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
