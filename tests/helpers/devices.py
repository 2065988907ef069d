"""`pytest --device NAME`: programs run there, and what is no question of a device is left out.

`gpu` and `gpu:1` are cards that are here. `cpu:1` is a second CPU device, which XLA makes of the same processor: on it
fails what takes the first device for granted. `like-gpu` is the CPU, with programs in the forms that a card takes: no
machine code of ours, no generated NumPy by the clock, no form that is for CPUs alone. `cpu` changes nothing but what is
selected.

The most telling tests run first, and names of those that fail are printed as they fail. `--minutes 9` begins no test
after nine minutes, so that one command of ten ends with its summary.
"""

import os
import re
import sys
import time

import jax
import pytest

from wengert.backends import target
from wengert.backends.xla import dispatch

TELLING = (  # of a run on a device, from the most telling on; what is in none of them asks nothing of it
    "ir/test_ops.py::test_xla_is_numpy",
    "backends/test_other_platforms.py",
    "backends/test_lowering.py",
    "backends/test_sorting.py",
    "backends/test_dispatch.py",
    "backends/test_division.py",
    "backends/test_restored.py",
    "house/test_suite.py",
    "autodiff/",
    "tracer/numpy_api/",
    "tracer/program/",
    "tracer/api/",
    "tracer/values/",
    "tracer/extents/",
    "tracer/sharding/",
    "tracer/interop/",
    "tracer/export/",
    "tracer/regions/",
    "tracer/blame/",
    "tracer/scipy_api/",
    "tracer/plan/",
    "tracer/call/",
    "tracer/capture/",
    "tracer/guards/",
    "backends/",
    "compat/",
    "ir/",
)
ELSEWHERE = {}  # the beginning of a test's name -> why it says nothing off the CPU
FORMS = "like-gpu"


def add_options(parser):
    parser.addoption("--device", help="cpu, cpu:1, gpu, gpu:1 or like-gpu: where programs run")
    parser.addoption("--minutes", type=float, help="begin no test after so many minutes")


def configure(config):
    """Have programs run on the device that was asked for."""
    name = config.getoption("--device")
    config.begun = time.monotonic()
    if name is None:
        return
    if name == FORMS:
        target.Target.platform = "gpu"
        return
    platform, _, number = name.partition(":")
    if platform == "cpu" and number not in ("", "0"):
        count = f"--xla_force_host_platform_device_count={int(number) + 1}"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {count}"
    if platform == "gpu":
        os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # several processes share the card
    try:
        jax.config.update("jax_default_device", dispatch.find_device(name))
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
    if platform not in ("cpu", jax.default_backend()):
        raise pytest.UsageError(f"programs run on {jax.default_backend()} here by default, not on {platform}")


def name_of(item):
    """ "ROOM/FILE.py::test[case]" of a test."""
    return item.nodeid.removeprefix("tests/")


def rank(name):
    """How early a test runs; None where it asks nothing of a device."""
    return next((k for k, part in enumerate(TELLING) if name.startswith(part)), None)


def select(config, items):
    """Leave out what asks nothing of a device, skip what is of CPUs alone, and have the telling tests first."""
    device = config.getoption("--device")
    if device is None:
        return
    kept, left = [], []
    for item in items:
        of_device = rank(name_of(item)) is not None and not item.get_closest_marker("as_numpy")
        (kept if of_device else left).append(item)
    config.hook.pytest_deselected(items=left)
    items[:] = sorted(kept, key=lambda item: rank(name_of(item)))
    for item in items if not device.startswith("cpu") else ():
        why = next((why for part, why in ELSEWHERE.items() if re.match(part, name_of(item))), None)
        if why is not None:
            item.add_marker(pytest.mark.skip(reason=why))


def in_time(config):
    """Skip a test that would begin too late."""
    minutes = config.getoption("--minutes")
    if minutes is not None and time.monotonic() - config.begun > 60 * minutes:
        pytest.skip(f"{minutes:g} minutes are over")


def report_at_once(config, report):
    """Print the name of a test that fails when it fails, where there is no time for all of them."""
    if config.getoption("--device") is not None and report.failed and not hasattr(config, "workerinput"):
        said = str(report.longrepr).strip().splitlines()
        print(f"\nFAILED {report.nodeid}: {said[-1][:150] if said else ''}", file=sys.stderr, flush=True)
