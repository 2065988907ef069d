"""Kernels of a GPU run by threads of the CPU: the same LLVM IR but for what a barrier is, so what the threads of a block
get wrong among themselves, real threads get wrong too.

`with_kernels(func, operands, ...)` evaluates a program of the IR with its loops run so."""

import collections
import ctypes
import functools
import threading

import numpy as np

from wengert.backends.gpu.kernel import Kernel
from wengert.backends.gpu.launch import gathered_totals
from wengert.backends.native.build import has_symbol, immortal, machine
from wengert.backends.native.values import NotNative
from wengert.backends.xla.dispatch import wide
from wengert.ir.core import Lit
from wengert.ir.exactness import exactly
from wengert.ir.ops.control import cond, loop

BARRIER = [
    "@gate = global [64 x i8] zeroinitializer, align 16",
    "declare i32 @pthread_barrier_wait(ptr)",
    "define void @barrier() noinline {\n  %r = call i32 @pthread_barrier_wait(ptr @gate)\n  ret void\n}",
]
OTHER = 77  # what memory holds that nobody has written
PROCESS = ctypes.CDLL(None)


@functools.lru_cache(256)
def compiled(text):
    """(address of @nest, address of its barrier)"""
    llvm, target = machine()
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = target.triple, str(target.target_data)
    module.verify()
    builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=2))
    builder.getModulePassManager().run(module, builder)
    engine = immortal(llvm.create_mcjit_compiler(module, target))
    engine.finalize_object()
    return engine.get_function_address("nest"), engine.get_global_value_address("gate")


def launch(kernel, operands):
    """The results of a kernel: its blocks one after the other, the threads of each at once."""
    for name in (*kernel.functions(), "pthread_barrier_wait"):
        assert name == "barrier" or has_symbol(name), name
    address, gate = compiled(kernel.module("", BARRIER))
    PROCESS.pthread_barrier_init(ctypes.c_void_p(gate), None, kernel.threads)
    types = [*(r.type for r in kernel.results), *kernel.extra]
    results = [np.full(t.shape, OTHER, t.dtype) for t in types]
    operands = [np.array(x, p.type.dtype, order="C") for x, p in zip(operands, kernel.func.params, strict=True)]
    for i, k in kernel.aliases.items():
        results[k] = operands[i].copy()
    memory = {"argument": operands, "result": results}
    pointers = [memory[kind][k].ctypes.data for kind, k in kernel.buffers]
    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers), ctypes.c_int32, ctypes.c_int32)(address)
    for block in range(kernel.blocks):
        first = block * kernel.threads if kernel.form == "threads" else 0
        team = [threading.Thread(target=run, args=(*pointers, first + n, block)) for n in range(kernel.threads)]
        for t in team:
            t.start()
        for t in team:
            t.join()
    with wide():
        return [np.asarray(x) for x in gathered_totals(kernel, results)]


class Evaluation:
    """kernel: {"threads", "form", "blocks"}; waves: {loop equation: what `in_waves` made of it}; ran: how many loops were kernels,
    and why others were not."""

    def __init__(self, kernel, exact=False, waves=()):
        self.kernel, self.exact, self.waves, self.ran = kernel, exact, waves or {}, collections.Counter()

    def __call__(self, func, operands):
        env = dict(zip(func.params, operands, strict=True))
        read = lambda x: np.full(x.type.shape, x.value, x.type.dtype)[()] if isinstance(x, Lit) else env[x]
        with np.errstate(all="ignore"):
            for eqn in func.eqns:
                out = self.equation(eqn, [read(x) for x in eqn.operands])
                env.update(zip(eqn.results, out if eqn.op.multiple else (out,), strict=True))
        return [read(r) for r in func.results]

    def equation(self, eqn, operands):
        if eqn.op is loop:
            try:
                with exactly(self.exact):
                    attrs, sure = self.waves.get(eqn, (eqn.attrs, ()))
                    types = [x.type for x in eqn.operands]
                    made = Kernel(loop, types, attrs, self.exact, sure=sure, **self.kernel)
            except NotNative as why:
                self.ran[str(why)] += 1
            else:
                self.ran["kernel"] += 1
                return launch(made, operands)
        if eqn.op is cond:
            index, *rest = operands
            return self(eqn.attrs["branches"][min(max(int(index), 0), len(eqn.attrs["branches"]) - 1)], rest)
        return eqn.op.body(*operands, **eqn.attrs)


def with_kernels(func, operands, exact=False, waves=(), **kernel):
    """-> (the results of a program, Counter of its outermost loops: "kernel", or why not)"""
    run = Evaluation(kernel, exact, waves)
    return run(func, operands), run.ran
