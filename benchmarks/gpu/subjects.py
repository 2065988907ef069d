"""What is compiled for graphics cards: every op, the suite's programs and NPBench's kernels, forward and gradient."""

import collections.abc
import copy
import dataclasses
import importlib.util
import pathlib

import jax
import numpy as np

from wengert import grad, jit
from wengert.benchmarks import npbench, npbench_gradients, suite
from wengert.benchmarks.gpu.compiled import of_func
from wengert.benchmarks.gpu.launches import launches_of
from wengert.benchmarks.gpu.trips import average_trips
from wengert.ir.ops import OPS
from wengert.tracer.guards.outside import gathered

HELPERS = pathlib.Path(__file__).parents[2] / "tests" / "helpers"


@dataclasses.dataclass(frozen=True)
class Subject:
    """group: "ops", "suite" or "npbench"; what: "forward" or "gradient"; size: of the arguments; program(device): the
    IR function that it leads to there and what that is called with, or None where there is nothing to derive."""

    group: str
    name: str
    what: str
    size: str
    program: collections.abc.Callable

    @property
    def key(self):
        return " ".join((self.group, self.name, self.size, self.what))


def traced(function, args, device):
    """The IR function of a call on a device, and its operands."""
    func, captured, _, kinds = jit(function, device=device).compiled.optimised(tuple(copy.deepcopy(args)), {})
    leaves = [x for x, kind in zip(jax.tree_util.tree_leaves(args), kinds, strict=True) if kind is not None]
    return func, [*leaves, *gathered(captured.inputs)]


# -- ops -------------------------------------------------------------------------------------------


def op_cases():
    """`tests/helpers/op_cases.py`, which draws the cases of ops."""
    spec = importlib.util.spec_from_file_location("op_cases", HELPERS / "op_cases.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def ops():
    cases = op_cases()
    for op in OPS.values():
        for number, case in enumerate(op.cases):
            operands, attrs, _ = cases.draw(op, case)
            yield Subject("ops", op.name, "forward", f"case {number}", of_op(cases.func_of, op, operands, attrs))


def of_op(make, op, operands, attrs):
    return lambda device: (make(op, operands, attrs), operands)


# -- programs --------------------------------------------------------------------------------------


def from_suite(sizes):
    """sizes: "tiny", "S" or both; of the three of a program, "S" is the middle one."""
    for name, (_, program) in suite.programs().items():
        for size in sizes:
            n = program.sizes[("tiny", "S").index(size)]
            yield Subject("suite", name, "forward", size, of_program(program, n, False))
            if program.over:
                yield Subject("suite", name, "gradient", size, of_program(program, n, True))


def of_program(program, n, gradient):
    def traced_there(device):
        args = list(program.arguments(np.random.default_rng(0), n))
        if not gradient:
            return traced(program.function, args, device)
        cotangents = suite.drawn(program.function(*args))
        loss = suite.weighted(program.function, len(cotangents))
        return traced(grad(loss, argnums=program.over), [*args, *cotangents], device)

    return traced_there


def from_npbench(checkout, sizes):
    for name in npbench.kernels(checkout):
        for size in sizes:
            for what in ("forward", "gradient"):
                yield Subject("npbench", name, what, size, of_kernel(checkout, name, size, what == "gradient"))


def of_kernel(checkout, name, size, gradient):
    def traced_there(device):
        kernel = npbench.Kernel(checkout, name)
        function = kernel.function("_numpy")
        args, _ = npbench.prepared(kernel, "S", size == "tiny")
        if not gradient:
            return traced(function, args, device)
        where = tuple(i for i, a in enumerate(args) if npbench_gradients.real(a))
        if not where:
            return None
        written, shapes = npbench_gradients.observed(function, args)
        loss = npbench_gradients.weighted(function, npbench_gradients.drawn(shapes, False), written)
        return traced(grad(loss, argnums=where), args, device)

    return traced_there


def chosen(options):
    """The Subjects that a command line asks for, in order."""
    found = []
    sizes = options.sizes.split(",")
    if "ops" in options.groups:
        found += ops()
    if "suite" in options.groups:
        found += from_suite(sizes)
    if "npbench" in options.groups and options.npbench is not None:
        found += from_npbench(options.npbench, sizes)
    only = {name for name in options.only.split(",") if name}
    return [s for s in found if not only or s.name in only]


def row_of(subject, devices):
    """{card: what `CompiledProgram` tells, or the error} of one subject; no entry where there is nothing to compile."""
    try:
        traced_here = subject.program(next(iter(devices.values())))
    except Exception as problem:  # what is not traced is a row that says so
        return {card: {"error": text_of(problem)} for card in devices}
    if traced_here is None:
        return {}
    func, operands = traced_here
    rows, trips = {}, None
    for card, device in devices.items():
        try:
            made = of_func(device, func)
        except Exception as problem:  # it is what is to be found
            rows[card] = {"error": text_of(problem), "unseen": unseen(problem)}
            continue
        if made.launches.unknown and trips is None:
            given = [np.asarray(x, p.type.dtype) for x, p in zip(operands, func.params, strict=True)]
            with np.errstate(all="ignore"):
                trips = average_trips(func, given)
        found = launches_of(made.text, trips)
        rows[card] = vars(found) | {
            "temporary": made.temporary,
            "stray": found.doubles if not wide(func) else 0,
            "seconds": made.seconds,
        }
    return rows


def wide(func):
    """Whether a program is given or gives float64 numbers."""
    return any(t.dtype.name in ("float64", "complex128") for t in (*func.param_types, *func.result_types))


def unseen(problem):
    """Why a program cannot be compiled without a card, where that is no fault of the program; else None."""
    if "Unknown backend" in str(problem):  # of jax's callbacks
        return "it calls Python, which jax lowers for a device that is there"
    if "cusolverGetVersion" in str(problem):
        return "jax asks NVIDIA's cuSOLVER for its version: from 11.7.1 on it runs there, before that on the host"
    return None


def text_of(problem):
    return f"{type(problem).__name__}: {' '.join(str(problem).split())[:200]}"
