"""Compiled functions as tasks of worker processes: pools that start or fork them, and the schedulers that people use."""

import json
import multiprocessing
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

MODULE = """
import numpy as np
from wengert import grad, jit

@jit
def total(x):
    s = 0.0
    for i in range(len(x)):
        s += np.sin(x[i])
    return s

slope = jit(grad(lambda w, x: ((x @ w) ** 2).mean()))
squares = jit(lambda x: (x @ x).sum(), engine="xla")

def task(n):
    return total(np.arange(float(n))), slope(np.ones(n), np.ones((4, n))).sum(), squares(np.ones((n, n)))
"""
POOL = """
import concurrent.futures, json, multiprocessing, sys, warnings
import numpy as np
import tasks_of_workers as tasks

if __name__ == "__main__":
    how, before = sys.argv[1], sys.argv[2] == "after"
    if before:
        tasks.task(3)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(how)) as pool:
        mine = list(pool.map(tasks.task, [2, 3]))
        alone = list(pool.map(tasks.total, [np.ones(2), np.ones(3)]))
    print(json.dumps([mine, alone]))
"""


def expected(n):
    return [np.sin(np.arange(n)).sum(), 2.0 * n * n, float(n**3)]


@pytest.fixture
def ran(tmp_path):
    (tmp_path / "tasks_of_workers.py").write_text(MODULE)

    def run(code, *arguments):
        """(what a script writes as JSON on its last line, its stderr)."""
        (tmp_path / "script.py").write_text(textwrap.dedent(code))
        env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
        command = [sys.executable, tmp_path / "script.py", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    return run


SLOWLY = ("spawn", "before"), ("fork", "before"), ("forkserver", "after")


@pytest.mark.parametrize(
    "how, before",
    [("spawn", "after"), ("fork", "after"), *(pytest.param(*p, marks=pytest.mark.slow) for p in SLOWLY)],
)
def test_pools_of_processes(ran, how, before):
    if how not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {how} here")
    (mine, alone), said = ran(POOL, how, before)
    np.testing.assert_allclose(mine, [expected(2), expected(3)], rtol=1e-12)
    np.testing.assert_allclose(alone, [2 * np.sin(1), 3 * np.sin(1)], rtol=1e-12)
    lost = how == "fork" and before == "after"
    assert lost == ("this process was forked from one in which XLA had started its threads" in said)


def test_a_server_that_forks_before_the_first_call(ran):
    code = """
    import json, os, sys
    import numpy as np
    import tasks_of_workers as tasks

    read, write = os.pipe()
    for n in (2, 3):
        if os.fork() == 0:
            os.write(write, json.dumps([n, *map(float, tasks.task(n))]).encode() + b"\\n")
            os._exit(0)
    for _ in range(2):
        os.wait()
    os.close(write)
    print(json.dumps(sorted(map(json.loads, os.fdopen(read)))))
    """
    if not hasattr(os, "fork"):
        pytest.skip("there is no fork here")
    found, said = ran(code)
    np.testing.assert_allclose(found, [[n, *expected(n)] for n in (2, 3)], rtol=1e-12)
    assert "Fallback" not in said


# -- where they are installed ----------------------------------------------------------------------


def test_joblib(ran):
    pytest.importorskip("joblib")
    code = """
    import json, joblib
    import numpy as np
    import tasks_of_workers as tasks
    from wengert import jit

    if __name__ == "__main__":
        squares = jit(lambda x: (x * x).sum())
        squares(np.ones(2))
        do = lambda f, xs: joblib.Parallel(2)(joblib.delayed(f)(x) for x in xs)
        print(json.dumps([do(tasks.task, [2, 3]), do(squares, [np.ones(2), np.ones(3)])]))
    """
    (mine, alone), _ = ran(code)
    np.testing.assert_allclose(mine, [expected(2), expected(3)], rtol=1e-12)
    assert alone == [2.0, 3.0]


def test_dask(ran):
    pytest.importorskip("distributed")
    code = """
    import json
    import dask.array
    import numpy as np
    from dask.distributed import Client, LocalCluster
    import tasks_of_workers as tasks
    from wengert import jit

    if __name__ == "__main__":
        squares = jit(lambda x: (x * x).sum())
        squares(np.ones(2))
        with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None) as cluster, Client(cluster) as client:
            mine = client.gather(client.map(tasks.task, [2, 3]))
            alone = client.gather(client.map(squares, [np.ones(2), np.ones(3)]))
            blocks = dask.array.ones((8, 4), chunks=(2, 4)).map_blocks(jit(lambda b: b * 3.0)).sum().compute()
            print(json.dumps([mine, [float(x) for x in alone], float(blocks)]))
    """
    (mine, alone, blocks), _ = ran(code)
    np.testing.assert_allclose(mine, [expected(2), expected(3)], rtol=1e-12)
    assert alone == [2.0, 3.0] and blocks == 96.0


def test_ray(ran):
    pytest.importorskip("ray")
    code = """
    import json
    import numpy as np
    import ray
    from wengert import jit

    squares = jit(lambda x: (x * x).sum())
    squares(np.ones(2))
    doubled = ray.remote(lambda x: squares(x))

    @ray.remote
    class Actor:
        def __init__(self):
            self.add = jit(lambda x: x.sum() + 1.0)

        def call(self, x):
            return self.add(x)

    def first(x):
        x[0] = 5.0
        return x.sum()

    def stored(x):
        try:
            return jit(first)(x)
        except ValueError as error:
            return str(error)

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    kept = ray.put(np.ones(3))
    actor = Actor.remote()
    found = [ray.get(doubled.remote(kept)), ray.get(actor.call.remote(kept)), ray.get(actor.call.remote(kept))]
    print(json.dumps([*map(float, found), ray.get(ray.remote(stored).remote(kept))]))
    """
    found, _ = ran(code)
    assert found == [3.0, 4.0, 4.0, "assignment destination is read-only"]
