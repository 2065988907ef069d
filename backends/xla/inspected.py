"""An IR function as XLA compiles it, to be looked at: its texts, and what XLA says of its cost and memory.

Nothing is run. An executable is compiled once a function and set of options, beside the one that calls use, and what is
told of it is kept as long as the function lives. The device that it is compiled for need not be here: XLA's compiler
for GPUs takes a description of one (`jax.experimental.topologies`).
"""

import contextlib
import functools
import weakref

import jax

from ..forked import refuse_forked
from ..native import asked
from ..target import lowering_for
from .dispatch import program, wide
from .lower import lower
from .numbers import numbers_in_nests

MEMORY = "argument", "output", "temp", "alias"  # parts of XLA's memory_analysis that there are on every platform
ANALYSED = "flops", "transcendentals", "bytes accessed"
_known = weakref.WeakKeyDictionary()  # Func -> {options: Inspection}


def inspected(func, native=True, exact=False, device=None):
    """The `Inspection` of a function as it is compiled for a jax device, None for the default one; made once for each
    set of options."""
    found, options = _known.setdefault(func, {}), (native, exact, device)
    if options not in found:
        found[options] = Inspection(func, *options)
    return found[options]


class Inspection:
    """What becomes of a function under jax. It does not keep the function alive."""

    def __init__(self, func, native, exact, device=None):
        self.func, self.native, self.exact, self.device = weakref.ref(func), native, exact, device

    def stand_ins(self):
        there = None if self.device is None else jax.sharding.SingleDeviceSharding(self.device)
        return [jax.ShapeDtypeStruct(t.shape, t.dtype, sharding=there) for t in self.func().param_types]

    def lowered(self):
        """jax's Lowered."""
        refuse_forked()
        func = self.func()
        places = range(len(func.params))
        with wide():
            made = program(lambda types: (func, places), func.name, self.native, self.exact, device=self.device)
            return made.lower(*self.stand_ins())

    @functools.cached_property
    def told(self):
        """(the text of the executable, XLA's cost analysis, its memory analysis or None), compiled for it."""
        with wide():
            compiled = self.lowered().compile()
        cost, memory = compiled.cost_analysis() or {}, compiled.memory_analysis()
        cost = cost[0] if isinstance(cost, list) else cost
        sizes = None if memory is None else {name: getattr(memory, f"{name}_size_in_bytes") for name in MEMORY}
        return compiled.as_text(), {name: cost.get(name) for name in ANALYSED}, sizes

    def nests(self):
        """The function as it is lowered: long straight lines on numbers are nests there."""
        with lowering_for(self.device):
            return numbers_in_nests(self.func()) if self.native else self.func()

    def jaxpr(self):
        """The text of the jaxpr that the function is lowered to."""
        func = self.func()

        def run(*operands):
            with lowering_for(self.device), contextlib.nullcontext() if self.native else asked(None):
                return lower(func, operands)

        with wide():
            return str(jax.make_jaxpr(run)(*self.stand_ins()))

    def stablehlo(self):
        """The text handed to XLA."""
        return self.lowered().as_text()

    def hlo(self):
        """The text of the executable, after XLA's own passes, in the order in which it runs."""
        return self.told[0]

    def cost(self):
        """XLA's cost analysis: {"flops", "transcendentals", "bytes accessed"}, a number or None each; bodies of loops
        count once there, and foreign functions nothing."""
        return self.told[1]

    def memory(self):
        """XLA's memory analysis in bytes: {"argument", "output", "temp", "alias"}, or None where it does not tell."""
        return self.told[2]
