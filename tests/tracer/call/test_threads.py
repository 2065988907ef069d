"""Threads that trace at once, different functions and the same: each gets its own program and the right numbers."""

import ast
import gc
import linecache
import os
import threading
import time

import numpy as np
import pytest

from wengert import grad, jit
from wengert.ir import collector, syntax

COUNT = 8


def steps(x, n):
    h = np.zeros_like(x)
    for i in range(n):
        if h.sum() > 3:
            h[i % len(h)] += x[0]
        else:
            h = h + x * i
    return h


def norm(x, n):
    total = 0.0
    for v in x:
        total += v * v if v > 0 else -n * v
    return total


def until(x, n):
    k = 0
    while np.abs(x).max() > 1e-2:
        x = x / n
        k += 1
    return x, k


def together(work):
    """Run work(k) in COUNT threads that start at once; their results, or the first exception."""
    start, out = threading.Barrier(COUNT), [None] * COUNT

    def run(k):
        start.wait()
        try:
            out[k] = work(k)
        except BaseException as error:
            out[k] = error

    threads = [threading.Thread(target=run, args=(k,)) for k in range(COUNT)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for found in out:
        if isinstance(found, BaseException):
            raise found
    return out


def same(got, want):
    for g, w in zip(got if isinstance(got, tuple) else (got,), want if isinstance(want, tuple) else (want,)):
        np.testing.assert_allclose(g, w, rtol=1e-12)


def argument(k):
    return np.linspace(-1, 2, 4 + k % 3)


def test_different_functions():
    functions = [steps, norm, until]
    got = together(lambda k: jit(functions[k % 3])(argument(k), 2 + k))
    for k, found in enumerate(got):
        same(found, functions[k % 3](argument(k), 2 + k))


def test_one_compiled_function():
    compiled = jit(steps)
    for k, found in enumerate(together(lambda k: [compiled(argument(k), 2 + k % 2) for _ in range(5)])):
        for f in found:
            same(f, steps(argument(k), 2 + k % 2))


def test_functions_first_converted_at_once():
    """Each thread is the first to meet a body of many branches: their regions must not be mixed up."""
    branches = [f"    if x[{k % 4}] > {k}:\n        s += {k}.0\n    else:\n        s -= x[{k % 4}]" for k in range(20)]
    text = "\n".join(["def f(x):", "    s = 0.0", *branches, "    return s"])
    spaces = []
    for k in range(COUNT):
        spaces.append({})
        exec(source_of(f"<threads {k}>", text), spaces[-1])
    x = np.array([3.0, 7.0, 11.0, 1.0])
    want = spaces[0]["f"](x)
    assert together(lambda k: float(jit(spaces[k]["f"])(x))) == [want] * COUNT


def source_of(name, text):
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    return compile(text, name, "exec")


def test_syntax_trees_are_made_at_one_go():
    """CPython 3.11 loses count of a tree's depth where the garbage collector calls Python, and another thread makes one meanwhile."""
    calls, text, thresholds = [], "\n".join(f"x{k} = [{k}, (y + {k}) * f(z)]" for k in range(300)), gc.get_threshold()
    note = lambda *_: calls.append(gc.isenabled())
    gc.callbacks.append(note)
    gc.set_threshold(10)
    try:
        tree = syntax.parse(text)
        made = len(calls)
        for _ in range(100):  # as often as it takes: the collector counts what the process has made before
            compile(tree, "<tree>", "exec")
            ast.parse(text)
            if len(calls) > made:
                break
            time.sleep(0.01)  # a thread of an earlier test may hold the collector up
        assert len(calls) > made  # elsewhere it is called
        with syntax.undisturbed():
            del calls[:]
            ast.parse(text)
            compile(tree, "<tree>", "exec")
            during = len(calls)
        assert gc.isenabled() and during == 0
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*thresholds)


def test_the_collector_waits_for_all():
    """Those who want it to wait come and go in any order; then it is as it was before the first of them."""
    assert gc.isenabled()
    first, second = collector.waiting(), collector.waiting()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()
    gc.disable()
    try:
        with collector.waiting(), collector.waiting():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore:.*fork")
def test_a_new_process_collects():
    """Though a thread that is not there any more wanted it to wait."""
    held, done = threading.Event(), threading.Event()

    def hold():
        with collector.waiting():
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        child = os.fork()
        if not child:
            os._exit(7 if gc.isenabled() else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7 and not gc.isenabled()
    finally:
        done.set()
        thread.join()
    assert gc.isenabled()


def test_without_source():
    space = {}
    exec("def f(x, n):\n    s = 0.0\n    for i in range(n):\n        for j in range(3):\n            s = s + x * j\n    return s", space)
    for k, found in enumerate(together(lambda k: jit(space["f"])(1.0 + k, 100))):
        same(found, space["f"](1.0 + k, 100))


def test_gradients():
    def loss(x):
        s = 0.0
        for v in x:
            s += v**3 if v > 0 else v
        return s

    for k, found in enumerate(together(lambda k: grad(loss)(argument(k)))):
        x = argument(k)
        same(found, np.where(x > 0, 3 * x**2, 1.0))
