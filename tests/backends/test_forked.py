"""Children that are forked after XLA was started answer every call without it: as generated NumPy, or as plain Python with a Fallback."""

import os
import types

import pytest

from wengert.backends import target

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

COMMON = """
import jax.numpy as jnp, pickle, random, traceback
from concurrent.futures import ProcessPoolExecutor
from wengert import grad, linearize, vjp, vmap

x, y = np.ones(2), np.ones((2, 3))
foreign = lambda x: pickle.loads(pickle.dumps(x))
topf = jit(lambda x: (x**2).sum())
loss = lambda p: ((p["w"] @ p["w"]) ** 2).sum() * p["b"]
slope, sloped = grad(loss), jit(grad(loss), engine="xla")
p, other = {"w": np.eye(2), "b": 2.0}, {"w": np.eye(3), "b": 2.0}
xla = jit(lambda x: x @ x, engine="xla")
checked = jit(lambda x: x @ x + 1, check=True)
raising = jit(lambda x, n: x.sum() / float(n))
drawing = jit(lambda x: x.sum() * 0 + random.random())
behind = jit(lambda x: x.sum() * 3, tier="background")
never = jit(lambda x: x @ x, tier="background")

@jit
def piled(x):
    for _ in range(64):
        x = np.tanh(x @ x) + 2.0
    return x[0, :1] * 0 + 3

@jit
def chosen(x):
    if x.sum() > 5:
        return x * 2
    return [x, 1]

warnings.simplefilter("ignore")
device = jnp.zeros(2)
xla(np.ones((3, 3)))  # so XLA is there
"""

CALLS = {
    "as it is": "topf(foreign(x)).item(), 2",
    "of other types": "topf(y).item(), 6",
    "compiled by XLA": "xla(np.ones((3, 3))).tolist(), [[3.0] * 3] * 3",
    "compiled by XLA, foreign": "xla(foreign(np.ones((3, 3)))).tolist(), [[3.0] * 3] * 3",
    "a slope": "[v.sum().item() if hasattr(v, 'sum') else v for v in slope(p).values()], [16.0, 2.0]",
    "a new slope": "slope(foreign(other))['b'], 3.0",
    "a slope by XLA": "sloped(p)['b'], 2.0",
    "checks": "checked(np.ones((2, 2))).tolist(), [[3.0, 3.0], [3.0, 3.0]]",
    "raises": "caught(lambda: raising(x, np.float64(2.0)).item()), 1.0",
    "draws": "0 <= drawing(x) < 1, True",
    "in the background": "[behind(x).item() for _ in range(3)], [6.0] * 3",
    "never before in the background": "never(np.eye(2)).tolist(), [[1.0, 0.0], [0.0, 1.0]]",
    "chosen": "[chosen(x)[1], chosen(x * 9).tolist()], [1, [18.0, 18.0]]",
    "of numbers": "jit(lambda x: x + 1)(np.float32(2)).item(), 3.0",
    "of a lane": "vmap(lambda x: x.sum())(foreign(y)).tolist(), [3.0, 3.0]",
    "backwards": "vjp(lambda x: x * x, foreign(x))[1](x)[0].tolist(), [2.0, 2.0]",
    "jax arrays": "jit(lambda x: np.sin(x) * 0)(device).tolist(), [0.0, 0.0]",
    "jax arrays in the background": "jit(lambda x: np.sin(x) * 0, tier='background')(device).tolist(), [0.0, 0.0]",
    "a slope that draws": "0 < grad(lambda x: x * random.random())(2.0) < 1, True",
    "linear": "linearize(lambda x: x * x, foreign(x))[1](x).tolist(), [2.0, 2.0]",
    "in pieces": "piled(np.ones((64, 64))).tolist(), [3.0]",
}


@pytest.mark.parametrize("before", [False, True], ids=["first there", "called before"])
def test_no_call_reaches_xla(said, before):
    """Whether or not the parent had called it; each child is one that may hang."""
    found = said(
        COMMON
        + f"""
    def caught(call):
        try:
            return call()
        except Exception as error:
            return repr(error)

    calls = {CALLS!r}
    if {before}:
        sloped(p), checked(np.ones((2, 2))), raising(x, np.float64(2.0)), drawing(x), piled(np.ones((64, 64)))
        slope(p), topf(x), behind(x)
    children = {{}}
    for name, text in calls.items():
        child = os.fork()
        if not child:
            try:
                found, wanted = eval(text)
                code = 7 if found == wanted else 8
                if code == 8:
                    print(name, found, wanted, file=sys.stderr, flush=True)
            except BaseException:
                traceback.print_exc()
                sys.stderr.flush()
                code = 9
            os._exit(code)
        children[child] = name
    results, end = {{}}, time.time() + 20
    while children and time.time() < end:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid:
            results[children.pop(pid)] = os.waitstatus_to_exitcode(status)
        else:
            time.sleep(0.02)
    for child, name in children.items():
        os.kill(child, 9)
        results[name] = "hangs"
    print(json.dumps(results))
    """.replace("\n    ", "\n")
    )
    assert found == dict.fromkeys(CALLS, 7)


def test_what_runs_as_numpy_starts_no_xla_and_children_may(said):
    found = said(
        """
    from wengert.backends.forked import Process
    f = jit(lambda x: (x * 2).sum())
    before = f(np.ones(3)).item(), Process.started
    read, write = os.pipe()
    if not os.fork():
        os.write(write, str(jit(lambda x: x @ x, engine="xla")(np.eye(2)).tolist()).encode())
        os._exit(0)
    signal.alarm(30)
    print(json.dumps([*before, os.read(read, 100).decode()]))
    """.replace("\n    ", "\n")
    )
    assert found == [6.0, False, "[[1.0, 0.0], [0.0, 1.0]]"]


@pytest.mark.parametrize("told, first", [("cpu", True), ("tpu,cpu", False), (None, True), ("", True)])
def test_whether_there_is_only_the_cpu_is_known_without_xla(monkeypatch, told, first):
    config = types.SimpleNamespace(jax_platforms=told)
    monkeypatch.setattr(target, "jax", types.SimpleNamespace(config=config))
    monkeypatch.setattr(target, "may_find_devices", lambda: False)
    assert target.has_only_cpu() == first
    monkeypatch.setattr(target, "may_find_devices", lambda: True)
    assert target.has_only_cpu() == (told == "cpu")


@pytest.mark.parametrize("name", ["PJRT_NAMES_AND_LIBRARY_PATHS", "TPU_LIBRARY_PATH"])
def test_a_plugin_named_in_the_environment_may_find_devices(monkeypatch, name):
    monkeypatch.setenv(name, "somewhere")
    assert target.may_find_devices.__wrapped__()


@pytest.mark.parametrize("pool", ["fork.Pool(2)"])
def test_pools(said, pool):
    """What they hand over is pickled, so that its dtypes are not NumPy's own objects."""
    found = said(
        COMMON
        + f"""
    def done(result):
        print(json.dumps(result), flush=True)
        for child in multiprocessing.active_children():
            child.kill()
        os._exit(0)
    def late(signum, frame):
        done("hangs")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(20)
    found = [v.item() for v in {pool}.map(work, [x, x * 2, np.ones(3)])]
    done(found)
    """.replace("\n    ", "\n").replace("def done", "def work(x): return topf(x)\n\nfork = multiprocessing.get_context('fork')\ndef done")
    )
    assert found == [2.0, 8.0, 3.0]


def test_while_another_thread_compiles(said):
    """jax.jit has a lock, which that thread may hold at the fork: a child never asks for it."""
    found = said(
        COMMON
        + """
    import jax, threading
    busy = lambda: [jax.jit(lambda x: x * k).lower(1.0) for k in range(10**6)]
    threading.Thread(target=busy, daemon=True).start()
    children = []
    for _ in range(40):
        child = os.fork()
        if not child:
            signal.alarm(20)
            os._exit(7 if jit(lambda x: x + 1)(x).tolist() == [2.0, 2.0] else 8)
        children.append(child)
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]), flush=True)
    os._exit(0)
    """.replace("\n    ", "\n")
    )
    assert found == [7] * 40
