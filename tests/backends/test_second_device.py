"""Arrays on a device that is not the default one: results stay there, and are those of plain NumPy. XLA makes the second
device of the same processor, in a process of its own."""

import json
import os
import subprocess
import sys

SCRIPT = """
import json
import warnings
import jax
import numpy as np
from wengert import grad, jit, vmap

jax.config.update("jax_enable_x64", True)
second, table = jax.devices()[1], np.linspace(0.0, 1.0, 2000)
found = {}


def note(name, got, want, stays=True):
    leaves = jax.tree_util.tree_leaves(got)
    same = all(np.allclose(np.asarray(a), np.asarray(b)) for a, b in zip(leaves, jax.tree_util.tree_leaves(want), strict=True))
    there = all(x.devices() == {second} for x in leaves if isinstance(x, jax.Array))
    kinds = all(isinstance(x, jax.Array) == stays for x in leaves if np.shape(x))
    found[name] = [same, there, kinds]


def steps(u):
    for _ in range(30):
        u = u + 0.1 * (np.roll(u, 1) - 2 * u + np.roll(u, -1))
    return u


def swept(u):
    v = u.copy()
    for i in range(1, len(v)):
        v[i] = 0.5 * v[i - 1] + v[i]
    return v


def until(x):
    n = 0
    while np.abs(x).sum() > 1.0:
        x, n = x / 2, n + 1
    return x, n


def by_value(x):
    return np.sin(x) if x.sum() > 0 else np.cos(x)


def positive(x):
    return x[x > 0.0] * 2


def outside(x):
    return (x[:, None] * table).sum(-1)


def checked(x, i):
    return x[i]


def drawn(x):
    rng = np.random.default_rng(5)
    for _ in range(4):
        x = x + rng.normal(size=len(x))
    return x


x = np.linspace(-1.0, 2.0, 64)
there = jax.device_put(x, second)
for f in (steps, swept, until, by_value, positive, outside, np.sort, np.linalg.norm):
    run = jit(f)
    for _ in range(3):
        note(f.__name__, run(there), f(x))
    run = jit(f, device="cpu:1")
    for _ in range(3):
        note(f.__name__ + " of ndarrays", run(x), f(x), stays=False)
for f in (steps, swept, outside):
    slope = lambda u, f=f: (f(u) ** 2).sum()
    note(f.__name__ + " derived", jit(grad(slope))(there), jit(grad(slope))(x))
note("in lanes", vmap(lambda u: u * u.sum())(there.reshape(8, 8)), (lambda a: a * a.sum(1, keepdims=True))(x.reshape(8, 8)))
run = jit(checked)
note("an index", run(there, 3), x[3])
try:
    print(run(there, 64))
except IndexError as error:
    found["out of bounds"] = [str(error).startswith("index 64"), True, True]
with warnings.catch_warnings():
    warnings.simplefilter("error")  # it would run as plain Python
    note("draws in a loop", jit(drawn, device="cpu:1")(x), drawn(x), stays=False)
written = x.copy()
jit(lambda a: a.__setitem__(slice(2, 5), 7.0), device="cpu:1")(written)
found["written"] = [bool((written[2:5] == 7.0).all()), True, True]
print(json.dumps(found))
"""


def test_programs_of_arrays_on_another_device():
    paths = os.pathsep.join(sys.path)
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=2"
    env = os.environ | {"XLA_FLAGS": flags, "PYTHONPATH": paths}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert len(found) == 8 * 2 + 3 + 5
    assert {name: told for name, told in found.items() if not all(told)} == {}
