"""Programs compiled for a graphics card that is not here: the counts that are read of the text, and the compiler itself,
where it is installed (`benchmarks/gpu/target.py` says how)."""

import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest

from wengert import jit
from wengert.backends import target
from wengert.backends.gpu import ptx
from wengert.backends.xla.inspected import inspected
from wengert.benchmarks.gpu.launches import GRAPH, launches_of
from wengert.benchmarks.gpu.trips import average_trips

LOOPS = """HloModule jit_f, is_scheduled=true

%fused (p: f64[8]) -> f64[8] {
  %p = f64[8]{0} parameter(0)
  ROOT %n = f64[8]{0} negate(%p)
}

%inner_body (q: (s32[], f64[8])) -> (s32[], f64[8]) {
  %q = (s32[], f64[8]{0}) parameter(0)
  %x = f64[8]{0} get-tuple-element(%q), index=1
  %i = s32[] get-tuple-element(%q), index=0
  %a = f64[8]{0} fusion(%x), kind=kLoop, calls=%fused
  %b = f64[8]{0} custom-call(%a), custom_call_target="__cublas$gemm"
  ROOT %t = (s32[], f64[8]{0}) tuple(%i, %b)
}

%inner_test (q.1: (s32[], f64[8])) -> pred[] {
  %q.1 = (s32[], f64[8]{0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%q.1), index=0
  ROOT %less = pred[] compare(%i.1, %i.1), direction=LT
}

%outer_body (r: (s32[], f64[8])) -> (s32[], f64[8]) {
  %r = (s32[], f64[8]{0}) parameter(0)
  %c = (s32[], f64[8]{0}) while(%r), condition=%inner_test, body=%inner_body, backend_config={"known_trip_count":{"n":"3"}}
  %y = f64[8]{0} get-tuple-element(%c), index=1
  %j = s32[] get-tuple-element(%c), index=0
  %z = f64[8]{0} custom-call(%y), custom_call_target="xla_ffi_python_gpu_callback"
  ROOT %u = (s32[], f64[8]{0}) tuple(%j, %z)
}

ENTRY %main (arg: f64[8]) -> f64[8] {
  %arg = f64[8]{0} parameter(0)
  %zero = s32[] constant(0)
  %start = (s32[], f64[8]{0}) tuple(%zero, %arg)
  %w = (s32[], f64[8]{0}) while(%start), condition=%inner_test, body=%outer_body, backend_config={"known_trip_count":{"n":"5"}}
  %v = (s32[], f64[8]{0}) while(%w), condition=%inner_test, body=%inner_body
  ROOT %out = f64[8]{0} get-tuple-element(%v), index=1
}
"""


def straight(count):
    lines = "\n".join(f"  %x{k + 1} = f32[8]{{0}} fusion(%x{k}), kind=kLoop, calls=%fused" for k in range(count))
    return f"""HloModule m

%fused (p: f32[8]) -> f32[8] {{
  %p = f32[8]{{0}} parameter(0)
  ROOT %n = f32[8]{{0}} negate(%p)
}}

ENTRY %main (x0: f32[8]) -> f32[8] {{
  %x0 = f32[8]{{0}} parameter(0)
{lines}
  ROOT %out = f32[8]{{0}} bitcast(%x{count})
}}
"""


def test_launches_are_kernels_times_the_trips_of_all_loops_around():
    found = launches_of(LOOPS)
    assert found.kernels == 6  # two in the inner body, the callback, and body and test of the loop whose trips are unknown
    assert found.launches == 5 * (3 * 2 + 1) + (2 + 1 + 1)  # its test runs before the trip, and after it
    assert found.libraries == {"__cublas$gemm": 5 * 3 + 1}
    assert (found.callbacks, found.unknown, found.waits) == (5, 1, 5 + 2)
    assert found.doubles == 2 * 2  # a body that two loops have counts for each


def triangle(x, n):
    for i in range(n):
        for j in range(i):
            x[i] = x[i] + x[j] * 0.5
    return x


def test_trips_of_inner_loops_are_counted_by_running_the_meaning():
    x = np.ones(6)
    func = jit(triangle).ir(x, 6)
    found = average_trips(func, [x][: len(func.params)])
    trips = {depth: count for (_, _, depth), count in found.items()}
    assert trips[0] in (5.0, 6.0)  # the first trip may be written out
    assert trips[0] * trips[1] == 0 + 1 + 2 + 3 + 4 + 5


def test_waits_and_launches_of_a_loop_whose_trips_were_counted():
    """Its test runs once more than its body, and is waited for each time."""
    lines = LOOPS.replace(
        "body=%inner_body\n",
        'body=%inner_body, metadata={op_name="jit(f)/while" source_file="user.py" source_line=3}\n',
    )
    assert lines != LOOPS
    known, unknown = launches_of(lines, {("user.py", 3, 0): 10.0}), launches_of(lines)
    assert (known.unknown, unknown.unknown) == (0, 1)
    assert known.launches - unknown.launches == (10 - 1) * (2 + 1) and known.waits - unknown.waits == 10 - 1


@pytest.mark.parametrize("count", [1, GRAPH - 1, GRAPH, 3 * GRAPH])
def test_a_stretch_of_kernels_is_submitted_as_one_graph(count):
    found = launches_of(straight(count))
    assert (found.kernels, found.launches, found.doubles) == (count, count, 0)
    assert found.submissions == (count if count < GRAPH else 1)


def test_forms_follow_the_device_that_is_asked_for(monkeypatch):
    """On a CPU-only machine, a lowering for another platform takes no machine code and no form of the CPU."""

    class Elsewhere:
        platform = "gpu"

    taken = []
    with target.lowering_for(Elsewhere()):
        assert target.platform() == "gpu"
        target.per_platform(1, cpu=lambda x: taken.append("cpu"), default=lambda x: taken.append("other"))
        with target.lowering_for(None):
            assert target.platform() == "gpu"
    assert taken == ["other"] and target.platform() != "gpu"


COMPILED = """
import json, sys
import numpy as np
from wengert import grad, jit
from wengert.backends.xla.inspected import inspected
from wengert.benchmarks.gpu.compiled import compiled_for
from wengert.benchmarks.gpu.launches import launches_of
from wengert.benchmarks.gpu.target import described

def steps(a, b):
    for _ in range(7):
        b[1:-1] = (a[:-2] + a[2:]) / 2
        a[1:-1] = (b[:-2] + b[2:]) / 2
    return np.cumsum(np.sort(a)).max()

cards = {card: described(card) for card in ("sm_80", "sm_90")}  # before jax looks for its platforms
x = np.linspace(0.0, 1.0, 600)
jit(steps)(x.copy(), x.copy())  # what was made for the CPU is not taken for another device
found = {}
for card, device in cards.items():
    for name, f in (("forward", steps), ("gradient", grad(steps))):
        made = compiled_for(device, f, x, x.copy())
        trips = launches_of(inspected(jit(f, device=device).ir(x, x.copy()), native=False, device=device).hlo()).launches
        native = 'custom_call_target="wengert_nest' in made.text  # of the CPU
        found[f"{card} {name}"] = trips, made.launches.callbacks, native, made.launches.launches, "gpu.ptx" in made.text
plan = str(jit(steps, device=cards["sm_90"]).plan(x, x.copy()))
print(json.dumps([found, "7 trips" in plan]))
"""


SAMPLED = """
import json, random, warnings
from wengert.benchmarks.gpu import subjects
from wengert.benchmarks.gpu.target import described
cards = {card: described(card) for card in ("sm_80", "sm_90")}
import jax
jax.config.update("jax_enable_x64", True)
warnings.simplefilter("ignore")
ops, programs = {}, list(subjects.from_suite(("tiny",)))
for subject in subjects.ops():
    ops.setdefault(subject.name, []).append(subject)
draw = random.Random()
chosen = [draw.choice(cases) for cases in ops.values()] + draw.sample(programs, 12)
found = {}
for subject in chosen:
    for card, row in subjects.row_of(subject, cards).items():
        found[f"{subject.key} {card}"] = row.get("error") if not row.get("unseen") else None
print(json.dumps([len(ops), found]))
"""
KNOWN = "suite controller"  # its gradient is not captured on any device


def by_itself(code):
    """A script in a process of its own: plugins are looked for once a process."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)


def installed():
    """Why the compiler is not there, or ""."""
    return by_itself("from wengert.benchmarks.gpu.target import refusal; print(refusal() or '')").stdout.strip()


@pytest.mark.slow
def test_programs_compile_for_both_cards():
    if why := installed():
        pytest.skip(why)
    done = by_itself(COMPILED)
    assert done.returncode == 0, done.stderr
    found, planned = json.loads(done.stdout.splitlines()[-1])
    assert planned
    assert set(found) == {f"{card} {what}" for card in ("sm_80", "sm_90") for what in ("forward", "gradient")}
    for trips, callbacks, native, launches, kernel in found.values():
        assert trips > 14 and callbacks == 0 and not native
        assert launches < trips if ptx.refusal() is None else launches == trips
        assert kernel == (ptx.refusal() is None)


def test_a_plan_is_of_the_device_that_is_asked_for():
    """The CPU by name, of which nothing is to differ from the CPU that is taken by default."""
    x = np.linspace(0.0, 1.0, 64)
    func = jit(lambda x: np.cumsum(x) * 2).ir(x)
    here = inspected(func, device=jax.devices("cpu")[0])
    assert here is not inspected(func) and here is inspected(func, device=jax.devices("cpu")[0])
    assert [line.strip() for line in here.hlo().splitlines() if "ENTRY" in line]


@pytest.mark.slow
def test_every_op_and_some_programs_compile_for_both_cards():
    """A case of each op, another at each run."""
    if why := installed():
        pytest.skip(why)
    done = by_itself(SAMPLED)
    assert done.returncode == 0, done.stderr
    count, found = json.loads(done.stdout.splitlines()[-1])
    assert count > 140 and len(found) >= 2 * (count + 12)
    assert {name: error for name, error in found.items() if error and not name.startswith(KNOWN)} == {}
