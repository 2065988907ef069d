"""The nests of a function as text: LLVM IR as it is emitted, and the assembly that it becomes on this processor."""

from ...ir.ops.control import loop
from .build import LOCK, machine
from .ffi import refusal
from .instances import registered
from .legal import ending, taken


def listed_nests(func, least=..., regions=lambda eqn: eqn.regions()):
    """(loop equation, its nest) of the outermost loops that run as machine code, in order; least: as `legal.taken`."""
    if refusal() is not None:
        return []
    with ending(func):
        return list(outermost_nests(func, least, regions))


def outermost_nests(func, least, regions):
    for eqn in func.eqns:
        nest = taken(eqn.op, [x.type for x in eqn.operands], eqn.attrs, least)[0] if eqn.op is loop else None
        if nest is not None:
            yield eqn, nest
        else:
            for region in regions(eqn):
                yield from outermost_nests(region, least, regions)


def target_name(nest):
    """The name by which XLA calls a nest."""
    return registered(nest.text())


def assembly(nest):
    """The text of a nest's machine code, optimised as it is when it runs."""
    with LOCK:
        llvm, target = machine()
        module = llvm.parse_assembly(nest.text())
        module.triple, module.data_layout = target.triple, str(target.target_data)
        builder = llvm.create_pass_builder(target, llvm.create_pipeline_tuning_options(speed_level=3))
        builder.getModulePassManager().run(module, builder)
        return target.emit_assembly(module)
