"""Programs as StableHLO in bytes, through `jax.export`, and the functions that such bytes are.

The bytes are the portable artifact of StableHLO, which is read for years; the form in which jax.export writes itself is
read for months, and needs flatbuffers. So the rest of an `Exported` is made anew of the types, by exporting another
program of these, of which the module is exchanged.

What is exported takes the leaves of a call as arrays and gives a tuple of arrays. It holds no call of Python and no
nest of ours: a foreign function is known to the process that has registered it, and to no other. Bytes that come from
elsewhere are looked through for such calls before XLA is given them.
"""

import dataclasses
import functools
import re

import jax
import numpy as np
from jax import export

from ..forked import refuse_forked
from ..target import lowering_for_others
from .dispatch import lowering_as, wide
from .lower import lower

PLATFORMS = "cpu", "cuda", "rocm", "tpu"
OLDEST = {9: "0.4.31", 10: "0.7.0"}  # fact: calling convention -> the first jax that reads it, by jax's documentation
# fact: the parts of an Exported that tell how its module is called, and are not told by its types
PARTS = "calling_convention_version", "module_kept_var_idx", "uses_global_constants"
CALL = "stablehlo.custom_call"
CALLED = re.compile(r'\bstablehlo\.custom_call\s+@(?:"([^"]*)"|([\w.$-]+))')  # in the text of a module
NAMED = re.compile(r'\bcall_target_name\s*=\s*"([^"]*)"')
# fact: what JAX lowers its own operations to; none of them runs Python, a kernel that the bytes bring, or an address
LIBRARY = re.compile(
    r"(lapack|blas|cusolver|cublas|cudnn|cusparse|hipsolver|hipblas|hipsparse|cu|hip)_\w+$|(mhlo|chlo|stablehlo|sdy)\.|"
    r"(Sharding|SPMDFullToShardShape|SPMDShardToFullShape|ApproxTopK|TopK|PartialReduce|Qr|Eigh|LuDecomposition|"
    r"ProductOfElementaryHouseholderReflectors|AllocateBuffer|annotate_device_placement|shape_assertion)$"
)


class NotExported(Exception):
    """jax makes no bytes of a program, or reads none; the text says why."""


def exported(func, count, constants, copies, platforms, name, exact=False, precision="highest"):
    """-> (bytes, {what is said of them: text or number}).

    func: takes `count` leaves of a call, then `constants`, ndarrays that the bytes hold; copies: ndarrays that are
    results behind those of `func`; exact, precision: as for `dispatch.program`.
    """
    refuse_forked()
    types = func.param_types[:count]

    def run(*leaves):
        with lowering_as(False, exact, precision), lowering_for_others(platforms):
            out = lower(func, [*leaves, *map(jax.numpy.asarray, constants)])
        return (*out, *map(jax.numpy.asarray, copies))

    run.__name__ = run.__qualname__ = name
    with wide():
        try:
            found = export.export(jax.jit(run), platforms=platforms)(
                *[jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types]
            )
        except (ValueError, NotImplementedError) as error:
            raise NotExported(str(error)) from None
    return found.mlir_module_serialized, {
        "jax": jax.__version__,
        "oldest jax": OLDEST.get(found.calling_convention_version, jax.__version__),
        "platforms": list(found.platforms),
        "exported": {name: getattr(found, name) for name in PARTS},
    }


class Runnable:
    """The function that bytes are; compiled at its first call on each platform."""

    def __init__(self, data, told, takes, gives):
        """told: what `exported` has said; takes, gives: [(shape, dtype)]. Raises NotExported where the bytes are none,
        or call what is none of JAX's own."""
        convention = told["exported"]["calling_convention_version"]
        least = export.minimum_supported_calling_convention_version
        most = export.maximum_supported_calling_convention_version
        if not least <= convention <= most:
            reads = f"jax {jax.__version__} reads calling conventions {least} to {most}"
            raise NotExported(f"{reads}, and it is of {convention}")
        try:
            self.exported = rebuilt_export(data, told, takes, gives)
            text = self.exported.mlir_module()
        except Exception as error:  # whatever MLIR says of bytes that are none of its own
            raise NotExported(f"jax {jax.__version__} does not read it: {first_line(error)}") from error
        names = call_targets(text)
        strange = [name for name in names if not LIBRARY.match(name)]
        if strange or self.exported.ordered_effects or self.exported.unordered_effects:
            what = ", ".join(sorted(set(strange))) or "Python"
            raise NotExported(f"it calls {what}, which is no operation of JAX's")
        if any(name.startswith("lapack_") for name in names):
            initialize_lapack()
        self.call = jax.jit(self.exported.call)
        self.see(takes)

    def see(self, takes):
        """Raise NotExported where the module is not of the types that are told: jax asks when it lowers a call."""
        if platform_of([]) not in self.exported.platforms:
            return
        try:
            with wide():
                self.call.lower(*[jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in takes])
        except Exception as error:  # whatever jax and MLIR say of a module that is none of these types
            raise NotExported(f"jax {jax.__version__} does not call it: {first_line(error)}") from error

    def __call__(self, leaves):
        """The results, a tuple of jax arrays. Raises NotExported on a platform that it is not for."""
        refuse_forked()
        platform = platform_of(leaves)
        if platform not in self.exported.platforms:
            wanted = ", ".join(self.exported.platforms)
            raise NotExported(f"it runs on {wanted}, not on {platform}")
        with wide():
            return self.call(*leaves)


def rebuilt_export(data, told, takes, gives):
    """The Exported of a module."""
    with wide():
        other = export.export(
            jax.jit(lambda *leaves: tuple([jax.numpy.zeros(shape, dtype) for shape, dtype in gives])),
            platforms=told["platforms"],
        )(*[jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in takes])
    parts = {name: tuple(x) if type(x := told["exported"][name]) is list else x for name in PARTS}
    return dataclasses.replace(other, mlir_module_serialized=data, **parts)


@functools.cache
def initialize_lapack():
    """Have jaxlib look LAPACK up, as it does when it lowers a call of it: jaxlib 0.8 runs into nothing without."""
    jax.jit(jax.numpy.linalg.cholesky).lower(jax.ShapeDtypeStruct((1, 1), np.float32))


def platform_of(leaves):
    """The platform, as jax.export has it, on which a call of these leaves runs."""
    arrays = [x for x in leaves if isinstance(x, jax.Array) and not isinstance(x, jax.core.Tracer)]
    kinds = {device.platform for x in arrays for device in x.devices()}
    name = kinds.pop() if len(kinds) == 1 else jax.default_backend()
    return name if name != "gpu" else "rocm" if "rocm" in jax.devices()[0].client.platform_version.lower() else "cuda"


def call_targets(text):
    """The names of what a module calls; "?" for a call that tells none in a form that is known."""
    names = [a or b for a, b in CALLED.findall(text)] + NAMED.findall(text)
    others = text.count(CALL) - len(names)
    return names + ["?"] * max(others, 0)


def first_line(error):
    """What an exception says, cut to a line."""
    return (str(error).strip().partition("\n")[0] or type(error).__name__)[:200]


def is_under_jit(leaves):
    """Whether leaves of a call are jax's tracers."""
    return any(isinstance(x, jax.core.Tracer) for x in leaves)
