"""Machine code that XLA calls stays as long as a program, or a trace of one, may call it, and no longer."""

import concurrent.futures
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from collected import collect

from wengert import jit
from wengert.backends import native
from wengert.backends.native import build, ffi
from wengert.backends.native.instances import RECENT, give_back

pytestmark = pytest.mark.skipif(ffi.refusal() is not None, reason="there is no machine code of ours here")


def recurrence(x):
    s = 0.0
    for i in range(len(x)):
        s = s * 0.5 + x[i] * x[i]
    return s


def fresh(k=1.0):
    return jit(lambda x: recurrence(x) * k, engine="xla", whole=True)


def alive():
    """How many nests there are, once what is deleted has been given back."""
    jax.clear_caches()
    RECENT.clear()
    collect()
    give_back()
    return len(build.ENGINES)


@pytest.fixture
def counted():
    """Within: nests for jax arrays; a function that says how many there are that were not there before."""
    with jax.enable_x64(True), native.asked(0):
        before = alive()
        yield lambda: alive() - before


X, WANT = np.arange(7.0), recurrence(np.arange(7.0))


def test_goes_with_its_function(counted):
    f = fresh()
    assert f(X) == f(jnp.asarray(X)) == WANT
    before = len(build.ENGINES)
    collect(), give_back()
    assert len(build.ENGINES) == before and counted() == 0  # jax has forgotten what it compiled
    assert f(X) == f(jnp.asarray(X)) == WANT
    del f
    assert counted() == 0


def test_shapes_that_go_take_theirs_along(counted):
    f = fresh()
    for n in range(2, 60):
        assert f(X[:1].repeat(n)) == recurrence(X[:1].repeat(n))
    del f
    assert counted() == 0


def test_a_trace_of_jax_keeps_it(counted):
    f = fresh()
    made = jax.make_jaxpr(f)(jnp.asarray(X))
    traced = jax.jit(f).trace(jnp.asarray(X))
    del f
    assert counted() == 1
    assert jax.jit(jax.extend.core.jaxpr_as_fun(made))(X) == [WANT]
    assert traced.lower().compile()(X) == WANT
    del made, traced
    assert counted() == 0


def test_a_compiled_program_of_jax_keeps_it(counted):
    f = fresh()
    compiled = jax.jit(lambda x, f=f: f(x) + f(2 * x)).lower(jnp.asarray(X)).compile()
    del f
    assert counted() >= 1
    assert compiled(X) == WANT + recurrence(2 * X)
    del compiled
    assert counted() == 0


def test_what_is_lowered_is_compiled_though_jax_has_forgotten_its_trace(counted):
    f = fresh()
    lowered = jax.jit(lambda x: f(x) * 2).lower(jnp.asarray(X))
    jax.clear_caches()
    collect()
    assert fresh(3.0)(X) == 3 * WANT
    assert lowered.compile()(X) == 2 * WANT


def test_what_nobody_has_any_more_is_named(counted):
    f = fresh()
    lowered = jax.jit(f).lower(jnp.asarray(X))
    del f
    assert counted() == 0
    with pytest.raises(jax.errors.JaxRuntimeError, match="the machine code of a loop has gone with the function"):
        lowered.compile()


def test_threads_make_and_drop_programs_at_once(counted):
    def work(k):
        with jax.enable_x64(True), native.asked(0):
            for n in range(2, 22):
                x = np.arange(float(n + k % 2))
                assert fresh(k + n)(x) == recurrence(x) * (k + n)
                alive() if n % 5 == 0 else None
        return True

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert all(pool.map(work, range(4)))
    assert counted() == 0


def test_a_process_that_ends_while_programs_are_there(tmp_path):
    """At any time: with programs kept by modules, by threads and by nobody."""
    code = """
        import atexit, threading, jax, numpy as np
        from wengert import jit
        def f(x):
            s = 0.0
            for i in range(len(x)):
                s = s * 0.5 + x[i] * x[i]
            return s
        made = jit(f, engine="xla", whole=True)
        dropped = jit(lambda x: f(x) * 2, engine="xla", whole=True)
        print(made(np.ones(3000)), dropped(np.ones(3000)))
        del dropped
        atexit.register(lambda: made(np.ones(3000)))
        threading.Thread(target=lambda: [made(np.ones(3000 + k % 3)) for k in range(50)]).start()
        jax.jit(lambda x: made(x))(np.ones(3000, np.float32))
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert (done.returncode, done.stdout.split()) == (0, ["2.0", "4.0"]), done.stderr


def test_children_are_forked_while_other_threads_compile(tmp_path):
    """They wait for no lock that a thread has which is not theirs."""
    code = """
        import os, signal, sys, threading, time, warnings
        import numpy as np
        from wengert import jit
        warnings.simplefilter("ignore")
        def make(k):
            def f(x):
                s = 0.0
                for i in range(len(x)):
                    s = s * 0.5 + x[i] * (x[i] + k)
                return s
            return f
        x, going = np.ones(500), [True]
        old, want = jit(make(0)), make(0)(x)
        old(x)
        def work():
            k = 0
            while going:
                k += 1
                jit(make(k))(x)
        threading.Thread(target=work, daemon=True).start()
        for k in range(6):
            time.sleep(0.05 + 0.02 * k)
            if not (child := os.fork()):
                signal.alarm(60)  # ends one that waits
                os._exit(not (np.isclose(old(x), want) and np.isclose(jit(make(-k))(x), make(-k)(x))))
            if os.waitpid(child, 0)[1]:
                sys.exit(f"child {k} has failed")
        going.clear()
        print("all")
        sys.stdout.flush()
        os._exit(0)
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert (done.returncode, done.stdout) == (0, "all\n"), done.stderr
