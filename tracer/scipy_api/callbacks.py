"""Functions of the user's that SciPy calls: captured as programs, run on the host, their failures kept for the program.

What such a function checks fails with the number that it has among the checks of the whole program: the host hands it
over, and the program raises what plain Python raises.
"""

import functools
import sys

import numpy as np

from ...backends.numpy import callable_of
from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ...ir.types import Tensor
from ..api.custom_call import RuleFunction
from ..api.inner import name_of
from ..capture.capture import Kind, kind_of
from ..capture.handover import ARRAY, SCALAR
from ..common import pytree
from ..common.errors import message
from ..common.frames import locate
from ..numpy_api.handles import handle, value_of
from ..numpy_api.scipy_registry import refuse
from ..regions import hooks
from ..values.array import Traced, TracedScalar, bring, fresh
from ..values.status import PASSED, STATUS, passed
from ..values.storage import current_trace

select = OPS["select"]
HALF = 2**32  # a status is handed over as two numbers below it
CODES = {1: ValueError, 2: RuntimeError, 3: ArithmeticError, 4: TypeError}


def real(module, name):
    """SciPy's own function."""
    return getattr(sys.modules[module], name)


def numbers(*shape):
    return Tensor(shape, np.dtype(np.float64))


class Failed(Exception):
    """A check in a function that SciPy calls has failed."""


class Callback:
    """The function of one variable x and of `args` as an IR function.

    x: its shape, or `float` for a number of Python's and `SCALAR` for one of NumPy's. finish: what makes of the result,
    an array of float64, that which SciPy makes of it. func: (x, *operands) -> (the result, the status after it);
    operands: what it reads besides, values of the trace. python: whether it gives numbers of Python's, or arrays.
    """

    def __init__(self, function, x, args=(), finish=None, keywords=None):
        self.name = name_of(function)
        leaves, tree = pytree.flatten((tuple(args), dict(keywords or {})))
        given = [a for a in leaves if isinstance(a, Traced)]
        kinds = pytree.unflatten(tree, [kind_of(a) if isinstance(a, Traced) else a for a in leaves])

        def asked(x, args):
            given = hooks.call(function)(x, *args[0], **args[1])
            self.python = not isinstance(given, TracedScalar | np.generic) or isinstance(given, TracedScalar) and given.weak is not None
            out = handle(given)
            if out.dtype.kind == "c":
                refuse(f"{self.name}, which gives complex numbers to SciPy,")
            out = out.astype(np.float64)
            return finish(out) if finish else out

        self.type = numbers(*x) if isinstance(x, tuple) else numbers()
        kind, status = ARRAY if isinstance(x, tuple) else x, current_trace().root.status
        before, status.value = status.value, PASSED
        try:
            part = RuleFunction(asked, (Kind(self.type, kind), kinds), self, self.name)
        finally:
            status.value = before
        self.func = with_status(part, [self.type, *(a.value.type for a in given)])
        self.operands = [*(a.value for a in given), *(bring(v) for v in part.lifted)]

    @functools.cached_property
    def values(self):
        """The function of x and the operands alone."""
        f = self.func
        build = Builder(f.name)
        build.params, build.eqns, build.values = list(f.params), list(f.eqns), {*f.params}
        build.values |= {r for e in f.eqns for r in e.results}
        with build:
            return build.finish(f.results[:1])

    def inline(self, x):
        """Append the function of an operand to the program."""
        return Builder.current().inline(self.values, [x, *self.operands])[0]

    @functools.cached_property
    def compiled(self):
        return callable_of(self.func)

    def on_host(self, given, failures, made=lambda out: out):
        """What SciPy calls: a function of x, the numbers of the operands being `given`."""
        run, type = self.compiled, self.type

        def call(x, *_):
            out, status = run(np.asarray(x, np.float64).reshape(type.shape), *given)
            if status:
                failures.append(int(status))
                raise Failed
            return made(np.asarray(out))

        return call


def with_status(part, types):
    build = Builder(part.func.name)
    with build:
        given = [build.param(type) for type in types]
        known = {v: build.param(v.type, v.hint) for v in part.lifted}
        out = part.within(build, given, PASSED, known)
        return build.finish([out[part.shown[0]], Lit(0, STATUS) if part.status is None else out[part.status]])


class Told:
    """What a run on the host says besides its result, as a row of numbers: the exception it ended with, the status of a
    check that failed in a function it called, and `count` numbers more."""

    def __init__(self, count):
        self.count, self.type = count, numbers(3 + count)

    def run(self, failures, solve, empty):
        """`solve()` gives (result, numbers): these with the row, `empty` where it fails."""
        try:
            found, told = solve()
            return *found, np.array([0.0, 0.0, 0.0, *map(float, told)])
        except (Failed, ValueError, RuntimeError, ArithmeticError, TypeError, SystemError) as error:
            code = next((n for n, kind in CODES.items() if isinstance(error, kind)), 4)
            status = failures[0] if failures else 0
            return *empty, np.array([code, status % HALF, status // HALF, *[0.0] * self.count])
        except Exception:
            if not failures:
                raise
            return *empty, np.array([0.0, failures[0] % HALF, failures[0] // HALF, *[0.0] * self.count])

    def settle(self, row, texts):
        """The numbers, after the program has raised what the host met: texts[class] is the text of an exception."""
        trace = current_trace()
        numbers = row.astype(np.int64)
        inner, before = numbers[1] + numbers[2] * HALF, trace.bring(trace.root.status.value)
        trace.root.status.write(select(passed(before), bring(inner.value), before))
        for code, error in CODES.items():
            bad = (numbers[0] == code) & (inner == 0)
            text = texts.get(error, f"raised {error.__name__}")
            trace.check(OPS["not"](bring(bad.value)), error, message(f"{texts['name']}: {text}", locate()))
        return row[3:]


def number(value, weak=None):
    """A traced number, of Python's kind `weak` or NumPy's."""
    return TracedScalar(value, weak)


def truth(x):
    """A number told by the host as a bool."""
    return number((x != 0).value, bool)


def count(x):
    return number(x.astype(np.int64).value, int)


def scalar(out):
    if out.shape:
        refuse(f"an array of shape {out.shape} from a function that SciPy asks for a number")
    return out


def scalar_of_one(out):
    """A result of size one as a number."""
    if out.size != 1:
        text = "The user-provided objective function must return a scalar value."
        raise ValueError(message(f"{text} Its shape is {out.shape}", locate()))
    return out.reshape(())


def floats(x):
    """An array of float64 of what is given, traced or not."""
    return fresh(value_of(x)).astype(np.float64)


def plain_options(name, given):
    """Options as they are, none of them traced or a function."""
    for option, x in given.items():
        if any(isinstance(leaf, Traced) or callable(leaf) for leaf in pytree.leaves(x)):
            refuse(f"{name}({option}={type(x).__name__})", "Options are numbers and texts that do not depend on data.")
    return given

