"""Launches of NPBench's kernels with loops, forward and gradient, through XLA's own kernels and with loops as kernels
of ours (`backends/gpu`), compiled for a graphics card that need not be here.

    pip install jax==X jax-cuda12-plugin==X jax-cuda12-pjrt==X llvmlite        # of one version; see target.py
    git clone https://github.com/spcl/npbench
    python benchmarks/gpu/kernels.py npbench                 # some ten minutes on one core
    python benchmarks/gpu/kernels.py npbench --only lu,nussinov --size tiny --what forward --told

"xla" is with native=False. "steps" are the most trips that an outermost loop makes, and "a step" the launches divided
by them. "s" are seconds to lower and compile. --told prints what each loop has become, or why it is none, with the
estimates that decide. Nothing is run: no time is measured. NVIDIA's libdevice is needed for functions such as exp.
"""

import argparse
import pathlib
import time
import warnings

import jax
import numpy as np

from wengert.backends import gpu
from wengert.backends.native.interrupts import UNKNOWN, trips
from wengert.backends.xla.inspected import inspected
from wengert.benchmarks.gpu import subjects
from wengert.benchmarks.gpu.launches import launches_of
from wengert.benchmarks.gpu.target import CARDS, NoCompiler, described
from wengert.benchmarks.gpu.trips import average_trips
from wengert.benchmarks.timing import table
from wengert.ir.ops.control import loop
from wengert.ir.walk import every_equation

HEAD = ["kernel", "what", "steps", "xla: launches", "waits", "a step", "s"]
HEAD += ["ours: launches", "waits", "a step", "s", "kernels"]


def outermost(func):
    for eqn in func.eqns:
        if eqn.op is loop:
            yield eqn
        else:
            for inner in eqn.regions():
                yield from outermost(inner)


def launched(func, device, native, known):
    """(Launches of a function there, seconds)"""
    start = time.perf_counter()
    text = inspected(func, native=native, device=device).hlo()
    return launches_of(text, known), time.perf_counter() - start


def row_of(subject, device, told):
    """The row of a program, or None where it has no loop."""
    found = subject.program(device)
    if found is None or not any(eqn.op is loop for eqn in every_equation(found[0])):
        return None
    func, operands = found
    steps = max(trips(eqn.attrs) or UNKNOWN for eqn in outermost(func))
    with np.errstate(all="ignore"):
        known = average_trips(func, [np.asarray(x, p.type.dtype) for x, p in zip(operands, func.params, strict=True)])
    row = [subject.name, subject.what, str(steps)]
    for native in (False, True):
        made, seconds = launched(func, device, native, known)
        row += [f"{made.launches:.0f}", f"{made.waits:.0f}", f"{made.launches / steps:.1f}", f"{seconds:.1f}"]
    forms = list(gpu.kernel_forms(func))
    row.append(f"{sum(choice is not None for _, choice, _ in forms)} of {len(forms)}")
    if told:
        for eqn, choice, reason in forms:
            what = reason if choice is None else choice.told()
            print(f"  {subject.name} {subject.what}, {eqn.source}: {what}", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("npbench", type=pathlib.Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--size", default="S", choices=("tiny", "S"))
    parser.add_argument("--what", default="forward,gradient")
    parser.add_argument("--card", default="sm_90", choices=CARDS)
    parser.add_argument("--told", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    jax.config.update("jax_platforms", "cpu")
    try:
        device = described(options.card)
    except NoCompiler as error:
        raise SystemExit(str(error)) from None
    jax.config.update("jax_enable_x64", True)
    only, rows = set(filter(None, options.only.split(","))), []
    for subject in subjects.from_npbench(options.npbench, [options.size]):
        if subject.what not in options.what or only and subject.name not in only:
            continue
        try:
            row = row_of(subject, device, options.told)
        except Exception as problem:  # what does not compile is a row that says so
            row = [subject.name, subject.what, subjects.text_of(problem), *[""] * (len(HEAD) - 3)]
        if row is not None:
            rows.append(row)
            print("  ".join(row), flush=True)
    print()
    table(rows, HEAD)


if __name__ == "__main__":
    main()
