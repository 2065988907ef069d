"""An IR function as XLA compiles it, to be looked at: its texts, and what XLA says of its cost and memory.

Nothing is run. An executable is compiled once a function and set of options, beside the one that calls use, and what is
told of it is kept as long as the function lives. The device that it is compiled for need not be here: XLA's compiler
for GPUs takes a description of one (`jax.experimental.topologies`).
"""

import functools
import weakref

import jax

from ..forked import refuse_forked
from ..target import lowering_for
from .dispatch import lowering_as, program, wide
from .lower import lower
from .numbers import numbers_in_nests
from .sharding import laid_out, lying_so

MEMORY = "argument", "output", "temp", "alias"  # parts of XLA's memory_analysis that there are on every platform
ANALYSED = "flops", "transcendentals", "bytes accessed"
_known = weakref.WeakKeyDictionary()  # Func -> {options: Inspection}


def inspected(func, native=True, exact=False, precision="highest", device=None, laid=None):
    """The `Inspection` of a function; made once for each set of options, which are those of `dispatch.program`. laid: a
    mesh, and the specs of the parameters, where they are spread over several devices."""
    found, options = _known.setdefault(func, {}), (native, exact, precision, device)
    key = (*options, laid and (laid[0], tuple(laid[1])))
    if key not in found:
        found[key] = Inspection(func, *options, laid)
    return found[key]


class Inspection:
    """What becomes of a function under jax. It does not keep the function alive."""

    def __init__(self, func, native, exact, precision, device, laid):
        self.func, self.native, self.device, self.laid = weakref.ref(func), native, device, laid
        self.options = {"native": native, "exact": exact, "precision": precision, "device": device}

    def stand_ins(self):
        types = self.func().param_types
        if self.laid is not None:
            places = [lying_so(self.laid[0], spec) for spec in self.laid[1]]
        else:
            places = [None if self.device is None else jax.sharding.SingleDeviceSharding(self.device)] * len(types)
        return [jax.ShapeDtypeStruct(t.shape, t.dtype, sharding=s) for t, s in zip(types, places, strict=True)]

    def lowered(self):
        """jax's Lowered."""
        refuse_forked()
        func = self.func()
        places = range(len(func.params))
        with wide(), laid_out(None if self.laid is None else self.laid[1]):
            return program(lambda types: (func, places), func.name, **self.options).lower(*self.stand_ins())

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
            with lowering_as(**self.options):
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
