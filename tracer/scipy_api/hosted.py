"""scipy.special by SciPy itself: functions that no backend has run on the host, and their derivatives by the argument
are stated here.

Derivatives by an order or another parameter are not known, and are refused. On complex numbers functions of `special`
run here too. Sources are chapters of the Digital Library of Mathematical Functions (DLMF).
"""

import math
import sys

from ...ir.core import splat
from ...ir.ops import OPS
from ...ir.ops.external import Pointwise
from ..numpy_api.scipy_registry import RULES, refuse, scipy_rule
from ..values.array import fresh
from .special import SPECIAL

exp = OPS["exp"]
ROOT_PI = math.sqrt(math.pi)
FUNCTIONS = {}  # name -> Pointwise
COMPLEX = []  # those that run here on complex numbers alone


def declare(name, *slopes):
    """`slopes` are `(z, *operands) -> the derivative by each`, None where it is not known."""
    FUNCTIONS[name] = Pointwise(name, lambda *xs: getattr(sys.modules[SPECIAL], name)(*xs), *slopes)


def apply(name, *operands):
    return OPS["pointwise"](*operands, function=FUNCTIONS[name])


def neighbours(name, below, above):
    """The derivative of a cylinder function, of those of the orders below and above."""
    return lambda z, v, x: below * apply(name, v - 1, x) + above * apply(name, v + 1, x)


def of_order(name, order, x):
    return apply(name, splat(float(order), x), x)


# [10.6.1, 10.29.1]
for _name in ("jv", "yv", "yn", "jve", "yve", "hankel1", "hankel2"):
    declare(_name, None, neighbours(_name, 0.5, -0.5))
declare("iv", None, neighbours("iv", 0.5, 0.5))
declare("kv", None, neighbours("kv", -0.5, -0.5))
declare("kn", None, neighbours("kn", -0.5, -0.5))
declare("ive", None, lambda z, v, x: neighbours("ive", 0.5, 0.5)(z, v, x) - OPS["sign"](x) * z)
declare("kve", None, lambda z, v, x: neighbours("kve", -0.5, -0.5)(z, v, x) + z)
declare("j0", lambda z, x: -apply("j1", x))
declare("j1", lambda z, x: 0.5 * (apply("j0", x) - of_order("jv", 2, x)))
declare("y0", lambda z, x: -apply("y1", x))
declare("y1", lambda z, x: 0.5 * (apply("y0", x) - of_order("yv", 2, x)))
declare("k0", lambda z, x: -apply("k1", x))
declare("k1", lambda z, x: -0.5 * (apply("k0", x) + of_order("kv", 2, x)))
declare("k0e", lambda z, x: z - apply("k1e", x))
declare("k1e", lambda z, x: z - 0.5 * (apply("k0e", x) + of_order("kve", 2, x)))
# [6.2, 7.2, 7.10, 8.19.12]
declare("exp1", lambda z, x: -exp(-x) / x)
declare("expi", lambda z, x: exp(x) / x)
declare("expn", None, lambda z, n, x: (OPS["cast"](n - 1, dtype=x.type.dtype) * z - exp(-x)) / x)
declare("dawsn", lambda z, x: 1 - 2 * x * z)
declare("erfi", lambda z, x: 2 / ROOT_PI * exp(x * x))
declare("erfcx", lambda z, x: 2 * x * z - 2 / ROOT_PI)
declare("wofz", lambda z, x: splat(2j / ROOT_PI, x) - 2 * x * z)
# [15.5.1, 13.3.15]
declare("hyp0f1", None, lambda z, b, x: apply("hyp0f1", b + 1, x) / as_type(b, x))
declare("hyp1f1", None, None, lambda z, a, b, x: as_type(a / b, x) * apply("hyp1f1", a + 1, b + 1, x))
declare(
    "hyp2f1", None, None, None, lambda z, a, b, c, x: as_type(a * b / c, x) * apply("hyp2f1", a + 1, b + 1, c + 1, x)
)


def as_type(v, x):
    return v if v.type.dtype == x.type.dtype else OPS["cast"](v, dtype=x.type.dtype)


def hosted(name, real_only=False):
    def run(*xs):
        if real_only and xs[-1].dtype.kind == "c":
            refuse(f"scipy.special.{name} of complex numbers", "It is no holomorphic function of them.")
        return fresh(apply(name, *(x.value for x in xs)))

    return run


for _name in FUNCTIONS:
    scipy_rule(_name)(hosted(_name, _name in ("jve", "yve", "ive")))
scipy_rule("jn")(hosted("jv"))

# -- on complex numbers, where the reals have ops --------------------------------------------------


def complex_too(name, slope):
    declare(name, slope)
    COMPLEX.append(name)
    of_reals, of_complex = RULES[SPECIAL][name], hosted(name)
    RULES[SPECIAL][name] = lambda x: of_reals(x) if x.type.kind == "f" else of_complex(fresh(x)).value


def times_psi(sign):
    return lambda z, x: sign * z * apply("psi", x)


complex_too("erf", lambda z, x: 2 / ROOT_PI * exp(-(x * x)))
complex_too("erfc", lambda z, x: -2 / ROOT_PI * exp(-(x * x)))
complex_too("gamma", times_psi(1))
complex_too("rgamma", times_psi(-1))
complex_too("psi", None)
RULES[SPECIAL]["digamma"] = RULES[SPECIAL]["psi"]
