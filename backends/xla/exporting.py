"""Programs as StableHLO in bytes, through `jax.export`, and the functions that such bytes are.

What is exported takes the leaves of a call as arrays and gives a tuple of arrays. It holds no call of Python and no
nest of ours: a foreign function is known to the process that has registered it, and to no other. Bytes that come from
elsewhere are looked through for such calls before XLA is given them.
"""

import re

import jax
import numpy as np
from jax import export

from ...ir.exactness import exactly
from ..forked import refuse_forked
from ..native import asked
from .dispatch import wide
from .lower import lower

PLATFORMS = "cpu", "cuda", "rocm", "tpu"
OLDEST = {9: "0.4.31", 10: "0.7.0"}  # fact: calling convention -> the first jax that reads it, by jax's documentation
CALL = "stablehlo.custom_call"
CALLED = re.compile(r'\bstablehlo\.custom_call\s+@(?:"([^"]*)"|([\w.$-]+))')  # in the text of a module
NAMED = re.compile(r'\bcall_target_name\s*=\s*"([^"]*)"')
# fact: what JAX lowers its own operations to; none of them runs Python, or an address
LIBRARY = re.compile(
    r"(lapack_|cusolver_|cublas|cudnn|__cudnn|__cublas|hipsolver_|hipblas|cu_threefry|hip_threefry|blas_|mhlo\.|chlo\.|"
    r"stablehlo\.|tpu_|__gpu\$|sdy\.|Sharding$|SPMD|ApproxTopK|PartialReduce$|TopK$|Qr$|Eigh$|ProductOfElementary|"
    r"LuDecomposition$|annotate_device_placement$|shape_assertion$|cusparse_gtsv2|hipsparse_gtsv2|shardy\.)"
)


class NotExported(Exception):
    """jax makes no bytes of a program, or reads none; the text says why."""


def exported(func, count, constants, copies, platforms, name, exact=False):
    """-> (bytes, {what is said of them: text or number}).

    func: takes `count` leaves of a call, then `constants`, ndarrays that the bytes hold; copies: ndarrays that are
    results behind those of `func`.
    """
    refuse_forked()
    types = func.param_types[:count]

    def run(*leaves):
        with exactly(exact), asked(None):
            out = lower(func, [*leaves, *map(jax.numpy.asarray, constants)])
        return (*out, *map(jax.numpy.asarray, copies))

    run.__name__ = run.__qualname__ = name
    with wide():
        try:
            found = export.export(jax.jit(run), platforms=platforms)(
                *[jax.ShapeDtypeStruct(t.shape, t.dtype) for t in types]
            )
            data = bytes(found.serialize())
        except ImportError as error:
            raise NotExported(f"{error} (pip install 'wengert[export]')") from None
        except (ValueError, NotImplementedError) as error:
            raise NotExported(str(error)) from None
    convention = found.calling_convention_version
    return data, {
        "jax": jax.__version__,
        "calling convention": convention,
        "oldest jax": OLDEST.get(convention, jax.__version__),
        "platforms": list(found.platforms),
    }


class Runnable:
    """The function that bytes are; compiled at its first call on each platform."""

    def __init__(self, data):
        """Raises NotExported where the bytes are none, or call what is none of JAX's own."""
        try:
            self.exported = export.deserialize(bytearray(data))
            text = self.exported.mlir_module()
        except ImportError as error:
            raise NotExported(f"{error} (pip install 'wengert[export]')") from None
        except Exception as error:  # whatever flatbuffers and MLIR say of bytes that are none of theirs
            raise NotExported(f"jax {jax.__version__} does not read it: {first_line(error)}") from error
        strange = [name for name in call_targets(text) if not LIBRARY.match(name)]
        if strange or self.exported.ordered_effects or self.exported.unordered_effects:
            what = ", ".join(sorted(set(strange))) or "Python"
            raise NotExported(f"it calls {what}, which is no operation of JAX's")
        self.call = jax.jit(self.exported.call)

    def types(self):
        """-> (types of what it takes, types of what it gives), each (shape, dtype)."""
        both = self.exported.in_avals, self.exported.out_avals
        return tuple([(tuple(a.shape), np.dtype(a.dtype)) for a in avals] for avals in both)

    def __call__(self, leaves):
        """The results, a tuple of jax arrays. Raises NotExported on a platform that it is not for."""
        refuse_forked()
        platform = here(leaves)
        if platform not in self.exported.platforms:
            wanted = ", ".join(self.exported.platforms)
            raise NotExported(f"it runs on {wanted}, not on {platform}")
        with wide():
            return self.call(*leaves)


def here(leaves):
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
