"""`wengert.devices()`, `device=` and what plans and explain() say of where a program runs."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from wengert import devices, jit


def test_devices_are_listed():
    found = devices()
    (default,) = [d for d in found if d.default]
    assert found[0] is default and default.device == jax.devices()[0] and found[-1].name.startswith("cpu:")
    assert [d.device for d in found if d.device.platform == "cpu"] == jax.devices("cpu")
    assert all(d.memory is None or d.memory > 1 << 28 for d in found) or sys.platform == "win32"
    first, *rows = repr(found).splitlines()
    assert first.split() == ["device", "kind", "memory", "in", "use"] and len(rows) == len(found) and rows[0].endswith("default")


def test_each_name_is_one_that_jit_takes():
    for d in devices():
        assert jit(np.sin, device=d.name).compiled.device == d.device
    assert jit(np.sin, device="cpu").compiled.device == jax.devices("cpu")[0]


@pytest.mark.parametrize("name", ["gpu17", "cpu:99", "cpu:-1", "cpu:one", "tpu:3"])
def test_what_is_not_there_is_said_with_what_is(name):
    with pytest.raises(ValueError, match=rf"no '{name}' device here: there is .*cpu:0.*\n.*wengert\.devices\(\)"):
        jit(np.sin, device=name)


def test_plans_say_where_a_call_runs_and_why():
    f, x = jit(lambda x: x * 2), np.ones(3)
    where = lambda f, x: f.plan(x).json()["traces"][0]["device"]
    assert where(f, x) == f"{devices()[0].name}, the default device"
    assert where(f, jnp.ones(3)) == f"{devices()[0].name}, where its arguments are"
    g = jit(lambda x: x * 2, device="cpu")
    g(x)
    assert where(g, x) == "cpu:0, as asked by device=" and "device       cpu:0, as asked" in str(g.plan(x)) and "device='cpu:0'" in g.explain()
    assert "device " not in str(f.plan(x)).replace("the default device", "") or devices()[0].name != "cpu:0"


SCRIPT = """
import jax, numpy as np
from wengert import devices, jit
print([(d.name, d.default) for d in devices()])
jax.config.update("jax_default_device", jax.devices()[1])
print([(d.name, d.default) for d in devices()])
jax.config.update("jax_default_device", "cpu")
print([(d.name, d.default) for d in devices()])
f = jit(lambda x: x * 2)
print(f.plan(jax.device_put(np.ones(2), jax.devices()[1])).json()["traces"][0]["device"])
print(next(line.strip() for line in str(jit(lambda x: x * 2, device="cpu:1").plan(np.ones(2))).splitlines() if "device  " in line))
"""


def test_several_devices():
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=120, env=env)
    assert done.stdout.splitlines() == [
        "[('cpu:0', True), ('cpu:1', False)]",
        "[('cpu:1', True), ('cpu:0', False)]",
        "[('cpu:0', True), ('cpu:1', False)]",
        "cpu:1, where its arguments are",
        "device       cpu:1, as asked by device=",
    ], done.stderr
