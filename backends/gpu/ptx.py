"""LLVM IR of a kernel -> PTX, by llvmlite's NVPTX target; no CUDA compiler is needed."""

import functools
import hashlib
import importlib
import os
import pathlib
import re
import sys

from ..native.build import INSTALLED, LOCK
from ..native.values import NotNative

TRIPLE, PROCESSOR = "nvptx64-nvidia-cuda", "sm_70"  # fact: what drivers compile for every later one too
NAMES = "wengert_nest_gpu_"  # how their names begin
SPACE = "addrspace(3) "  # fact: memory that a block shares
BARRIER = """declare void @llvm.nvvm.barrier0()
define internal void @barrier() alwaysinline convergent {
  call void @llvm.nvvm.barrier0()
  ret void
}"""
PLACES = "declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()\ndeclare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()"
DEFINED = re.compile(r"define internal \w+ @(\w+)")
SIGNATURE = re.compile(r"declare (\w+) @(\w+)\((.*)\)")
# fact: C functions that NVIDIA's library has under its own prefix, those of float32 with an f behind
KNOWN = {
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "atan2"),
    *("sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "hypot", "cbrt", "nextafter", "pow", "fmod", "erf", "erfc"),
    *("lgamma", "tgamma"),
}


@functools.cache
def target_machine():
    """(llvmlite.binding, the machine that PTX is written for)"""
    llvm = importlib.import_module("llvmlite.binding")
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    return llvm, llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=PROCESSOR, opt=3)


@functools.cache
def refusal():
    """Why no kernel can be made here, or None."""
    if not INSTALLED:
        return "llvmlite is not installed"
    try:
        with LOCK:
            target_machine()
    except RuntimeError:
        return "llvmlite was built without the target for GPUs of NVIDIA"
    return None


@functools.cache
def libdevice():
    """NVIDIA's library of the C library's functions as LLVM bitcode, which comes with CUDA and with the wheels that jax
    installs for it; None where it is not found."""
    places = [pathlib.Path(os.environ[name]) for name in ("CUDA_HOME", "CUDA_PATH") if name in os.environ]
    places += [p for path in sys.path if path for p in pathlib.Path(path).glob("nvidia/c*")]
    places.append(pathlib.Path("/usr/local/cuda"))
    found = (file for place in places for file in sorted(place.glob("**/nvvm/libdevice/libdevice*.bc")))
    return next((file.read_bytes() for file in found), None)


def stand_ins(kernel):
    """[definition] of the functions of the C library that a kernel calls."""
    out = []
    for name in kernel.functions():
        if name == "barrier":
            continue
        returns, _, arguments = SIGNATURE.match(kernel.code.declared[name]).groups()
        base = name.removesuffix("f") if returns == "float" else name
        if base not in KNOWN:
            raise NotNative(f"a GPU has no {name}")
        if libdevice() is None:
            raise NotNative(f"{name} wants NVIDIA's libdevice, which comes with CUDA and was not found")
        types = arguments.split(", ")
        given = ", ".join(f"{t} %x{n}" for n, t in enumerate(types))
        out.append(
            f"declare {returns} @__nv_{name}({arguments})\n"
            f"define internal {returns} @{name}({given}) alwaysinline {{\n"
            f"  %z = call {returns} @__nv_{name}({given})\n  ret {returns} %z\n}}"
        )
    return out


def entry(kernel, name):
    """The function of that name, which a launch calls; its pointers are all operands of the loop, then all results."""
    of = {"argument": "%a", "result": "%r"}
    count = len(kernel.results) + len(kernel.extra)
    params = [f"ptr %a{n}" for n in range(len(kernel.func.params))] + [f"ptr %r{n}" for n in range(count)]
    given = [f"ptr {of[kind]}{k}" for kind, k in kernel.buffers]
    return (
        f"define ptx_kernel void @{name}({', '.join(params)}) {{\n"
        f"  %own = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()\n"
        f"  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()\n"
        f"  %before = mul i32 %block, {kernel.threads if kernel.form == 'threads' else 0}\n"
        f"  %thread = add i32 %before, %own\n"
        f"  call void @nest({', '.join([*given, 'i32 %thread', 'i32 %block'])})\n  ret void\n}}\n"
        f"!nvvm.annotations = !{{!0}}\n"
        f'!0 = !{{ptr @{name}, !"maxntidx", i32 {kernel.threads}}}\n'
    )


def ptx(kernel, functions):
    """(the name of a kernel, which tells it from all others; the text that a driver compiles)

    functions: its `stand_ins`.
    """
    text = kernel.module(SPACE, [BARRIER, PLACES, *functions])
    for found in functions:  # they are defined beside it
        name = DEFINED.search(found)[1]
        text = text.replace(kernel.code.declared[name] + "\n", "", 1)
    name = NAMES + hashlib.sha256(f"{text} {kernel.threads} {kernel.form}".encode()).hexdigest()[:16]
    with LOCK:
        llvm, machine = target_machine()
        module = llvm.parse_assembly(text + entry(kernel, name))
        module.triple, module.data_layout = TRIPLE, str(machine.target_data)
        if functions:
            library = llvm.parse_bitcode(libdevice())
            library.triple, library.data_layout = module.triple, module.data_layout
            module.link_in(library)
        for f in module.functions:
            if f.name != name and not f.is_declaration:
                f.linkage = llvm.Linkage.internal
        module.verify()
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
        return name, machine.emit_assembly(module)
