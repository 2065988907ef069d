"""`pytest --device NAME`: programs run there, and what is no question of a device is left out.

`gpu` and `gpu:1` are cards that are here. `cpu:1` is a second CPU device, which XLA makes of the same processor: on it
fails what takes the first device for granted. `like-gpu` is the CPU, with programs in the forms that a card takes: no
machine code of ours, no generated NumPy by the clock, no form that is for CPUs alone. `cpu` changes nothing but what is
selected.

The most telling tests run first, and names of those that fail are printed as they fail. `--minutes 9` begins no test
after nine minutes, so that one command of ten ends with its summary.
"""

import os
import sys
import time

import jax
import pytest

from wengert.backends import target
from wengert.backends.xla.device_list import find_device

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
MACHINE_CODE = "loops are machine code of ours on CPUs alone"
AS_NUMPY = "programs run as generated NumPy on CPUs alone"
SPELLINGS = "it looks for forms that are for XLA's CPU compiler"
ELSEWHERE = {  # how a test's name begins -> why it says nothing off the CPU
    "backends/test_native": MACHINE_CODE,
    "backends/test_nests.py": MACHINE_CODE,
    "backends/test_stages.py": MACHINE_CODE,
    "backends/test_long_lines_of_numbers.py": MACHINE_CODE,
    "backends/test_engine.py": AS_NUMPY,
    "backends/test_straight.py": AS_NUMPY,
    "backends/test_forked.py": "children without XLA answer as generated NumPy, on CPUs alone",
    "backends/test_materialize.py": SPELLINGS,
    "backends/test_spelling.py": SPELLINGS,
    "backends/test_user_lines.py": "the texts are those of the CPU",
    "backends/test_raising.py": "the foreign function that raises is machine code of ours",
    "backends/test_described_gpu.py": "there it is described, here it is",
    "backends/test_lowering.py::test_a_form_for_the_platform": SPELLINGS,
    "tracer/call/test_contest.py": AS_NUMPY,
    "tracer/call/test_explain.py::test_a_program_for_an_int_that_changes_is_run_and_timed": AS_NUMPY,
    "tracer/plan/test_measured.py::test_statements_of_generated_numpy": AS_NUMPY,
    "tracer/plan/test_measured.py::test_bodies_of_loops_that_python_runs": AS_NUMPY,
    "tracer/plan/test_plan.py::test_a_loop_as_machine_code": MACHINE_CODE,
    "tracer/plan/test_plan.py::test_copies_of_what_is_not_aligned": "what XLA copies on CPUs; elsewhere all is moved",
    "tracer/plan/test_plan.py::test_pieces": "alike pieces are compiled one by one on CPUs alone",
    "tracer/plan/test_plan.py::test_plain_python_that_was_faster": AS_NUMPY,
    "tracer/plan/test_plan.py::test_times_of_engines_are_told": AS_NUMPY,
    "tracer/plan/test_sums.py::test_each_step_has_its_own_time": AS_NUMPY,
    "tracer/plan/test_sums.py::test_nothing_is_said_of_a_part_that_was_not_timed": AS_NUMPY,
    "tracer/plan/test_texts.py::test_generated_numpy": AS_NUMPY,
    "tracer/call/test_interrupts.py": "calls that XLA runs on the thread that calls are those of CPUs",
}
FORMS = "like-gpu"
NAN, TINY = "XLA's CPU compiler loses NaN there", "XLA's CPU compiler takes the smallest numbers for 0 there"
MISTAKEN = {  # how a test's name begins -> what XLA's CPU compiler gets wrong in the forms that are not for it
    "backends/test_lowering.py::test_extremes_of_large_arrays_are_nan": NAN,
    "backends/test_lowering.py::test_reductions_of_every_form": "XLA's CPU compiler sums float32 from one end there",
    "backends/test_restored.py::test_nan_is_where_it_has_to_be": NAN,
    "backends/test_sorting.py::test_orders": TINY,
    "backends/test_sorting.py::test_rows_along": TINY,
    "backends/test_sorting.py::test_wide_digits": TINY,
}


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
        jax.config.update("jax_default_device", find_device(name))
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
    table = {} if device.startswith("cpu") else ELSEWHERE | (MISTAKEN if device == FORMS else {})
    for item in items if table else ():
        why = next((why for part, why in table.items() if name_of(item).startswith(part)), None)
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
