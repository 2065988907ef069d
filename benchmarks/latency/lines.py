"""What the user's lines cost where programs are compiled.

    python benchmarks/latency/lines.py [rounds]

First table: a straight line of about 2,400 equations on 600 lines; milliseconds in which jax traces `lower` and makes
StableHLO of it, and in which XLA compiles that, with the user's lines in it and without (all equations lowered where
they stand). Second table: milliseconds in which LLVM compiles a nest, and bytes of its object code, with debug lines
and without. Best of some rounds, taking turns.
"""

import linecache
import sys
import time

import jax
import numpy as np

from wengert import grad, jit
from wengert.backends.native import build
from wengert.backends.native.legal import forms, taken
from wengert.backends.xla.lower import lower
from wengert.benchmarks.timing import table

STATEMENTS = "\n".join(
    f"    x = np.sin(x) * {k + 1.5} + x\n    x = np.exp(-x * x) + np.cos(x)\n    x = x - x.mean()" for k in range(200)
)
SOURCE = f"import numpy as np\n\n\ndef long(x):\n{STATEMENTS}\n    return x\n"
FILE = "<long program>"
ARGUMENT = jax.ShapeDtypeStruct((64, 64), np.float64)


def long_program():
    """A function of 600 lines."""
    linecache.cache[FILE] = len(SOURCE), None, SOURCE.splitlines(True), FILE
    space = {}
    exec(compile(SOURCE, FILE, "exec"), space)
    return space["long"]


def relax(u):
    for _ in range(20):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def slope(u):
    return grad(lambda v: (relax(v.copy()) ** 2).sum())(u)


def lowered(func, with_lines):
    """(seconds to trace, to StableHLO, to compile)"""
    module, times = sys.modules[lower.__module__], [time.perf_counter()]
    kept = module.Line
    if not with_lines:
        module.Line = lambda place: kept(None)
    try:
        stage = jax.jit(lambda *xs: tuple(lower(func, xs)))
        for further in (lambda run: run.trace(ARGUMENT), lambda traced: traced.lower(), lambda made: made.compile()):
            stage = further(stage)
            times.append(time.perf_counter())
    finally:
        module.Line = kept
    return np.diff(times)


def compiled_nest(nest, with_lines):
    """(seconds, bytes of object code)"""
    llvm, target = build.machine()
    start = time.perf_counter()
    module = llvm.parse_assembly(nest.text(lines=with_lines))
    module.verify()
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
    builder.getModulePassManager().run(module, builder)
    return time.perf_counter() - start, len(target.emit_object(module))


def main(rounds=5):
    with jax.enable_x64(True):
        func, best = jit(long_program()).ir(np.ones(ARGUMENT.shape)), {}
        for _ in range(rounds):
            for with_lines in (False, True):
                found = lowered(func, with_lines)
                best[with_lines] = np.minimum(best.get(with_lines, np.inf), found)
    rows = [[f"{'with' if k else 'without'} lines", *(f"{1e3 * s:.1f}" for s in best[k])] for k in best]
    table(rows, [f"{func.count()} equations", "trace, ms", "StableHLO, ms", "XLA, ms"])
    print()
    rows = []
    for f in (relax, slope):
        for eqn, _ in forms(jit(f).ir(np.ones((60, 60))), 0):
            nest, why = taken(eqn.op, [x.type for x in eqn.operands], eqn.attrs, 0)
            for with_lines in (False, True) if why is None else ():
                found = [compiled_nest(nest, with_lines) for _ in range(rounds)]
                seconds = min(s for s, _ in found)
                rows.append([f.__name__, "with" if with_lines else "without", f"{1e3 * seconds:.1f}", str(found[0][1])])
    table(rows, ["nest", "lines", "LLVM, ms", "bytes"])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
