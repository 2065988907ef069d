"""Functions of the user's that SciPy calls: captured as programs, run on the host, their failures kept for the program.

What such a function checks fails with the number that it has among the checks of the whole program: the host hands it
over, and the program raises what plain Python raises.
"""

import functools
import sys

import numpy as np

from ...backends.numpy import quick_callable, quick_number
from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ...ir.types import Tensor
from ..api.custom_call import RuleFunction
from ..api.inner import name_of
from ..capture.capture import Kind, kind_of
from ..capture.handover import ARRAY
from ..common import pytree
from ..common.errors import message, with_note
from ..common.frames import locate
from ..numpy_api.handles import handle, value_of
from ..numpy_api.scipy_registry import refuse
from ..regions import hooks
from ..values.array import Traced, TracedScalar, bring, fresh
from ..values.mixed import Mixed
from ..values.status import PASSED, STATUS, passed
from ..values.storage import current_trace

select = OPS["select"]
RAISED = ValueError, RuntimeError, ArithmeticError, TypeError  # by SciPy's solvers
CAUGHT = 1 << 62  # and above: no status of a program


def real(module, name):
    """SciPy's own function."""
    return getattr(sys.modules[module], name)


def number_types(*shape):
    return Tensor(shape, np.dtype(np.float64))


class CallbackFailed(Exception):
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
            of_numpy = isinstance(given, np.generic) or isinstance(given, TracedScalar) and given.weak is None
            self.python = not of_numpy
            out = handle(TracedScalar(bring(given._value)) if type(given) is Mixed else given)
            if out.dtype.kind == "c":
                refuse(f"{self.name}, which gives complex numbers to SciPy,")
            out = out.astype(np.float64)
            return finish(out) if finish else out

        self.type = number_types(*x) if isinstance(x, tuple) else number_types()
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
        checked = not isinstance(self.func.results[1], Lit)
        return quick_callable(self.func if checked else self.values), checked

    def on_host(self, given, failures, made=None):
        """What SciPy calls: a function of x, the numbers of the operands being `given`; `made` of what it gives."""
        (run, checked), shape = self.compiled, self.type.shape
        given = [quick_number(a) for a in given]
        reads = (lambda x: np.asarray(x, np.float64).reshape(shape)) if shape else float
        made = made or np.asarray

        def fails(x, *_):
            out, status = run(reads(x), *given)
            if status:
                failures.append(int(status))
                raise CallbackFailed
            return made(out)

        def call(x, *_):
            return made(run(reads(x), *given)[0])

        return fails if checked else call


def with_status(part, types):
    build = Builder(part.func.name)
    with build:
        given = [build.param(type) for type in types]
        known = {v: build.param(v.type, v.hint) for v in part.lifted}
        out = part.within(build, given, PASSED, known)
        return build.finish([out[part.shown[0]], Lit(0, STATUS) if part.status is None else out[part.status]])


class Told:
    """What a run on the host says besides its result: the status that the program has after it, and `count` numbers.

    That is the status of a check that failed in a function it called, or of a check of the program's own for an
    exception that SciPy raised: texts[class] is its text, after `name`.
    """

    def __init__(self, name, texts, count):
        self.count, self.types, trace = count, (STATUS, number_types(count)), current_trace()
        self.checks = [
            (error, f"{name}: {texts.get(error, f'it raises {error.__name__}')}") for error in RAISED
        ]
        self.checks = [(error, message(text, locate())) for error, text in self.checks]
        # where a handler waits, each exception is a check by itself, and the host gives its number in this list
        self.caught = any(trace.caught(*check) for check in self.checks)
        self.numbers = {
            error: CAUGHT + k if self.caught else trace.failing(error, text)
            for k, (error, text) in enumerate(self.checks)
        }

    def run(self, failures, solve, empty):
        """`solve()` gives (result, numbers): the results, the status and the row of numbers; `empty` where it fails."""
        try:
            found, told = solve()
            return *found, 0, told
        except Exception as error:
            number = next((n for kind, n in self.numbers.items() if isinstance(error, kind)), None)
            if number is None and not failures:
                raise
            return *empty, failures[0] if failures else number, np.zeros(self.count)

    def settle(self, status):
        """Have the program raise what the host met."""
        trace = current_trace()
        if self.caught:
            for k, (error, text) in enumerate(self.checks):
                trace.check(OPS["ne"](status, Lit(CAUGHT + k, STATUS)), error, text)
            status = OPS["select"](OPS["ge"](status, Lit(CAUGHT, STATUS)), PASSED, status)
        before = trace.bring(trace.root.status.value)
        trace.root.status.write(status if before is PASSED else select(passed(before), status, before))


def result_number(value, weak=None):
    """A traced number, of Python's kind `weak` or NumPy's."""
    return TracedScalar(value, weak)


def truth_result(x):
    """A number told by the host as a bool."""
    return result_number((x != 0).value, bool)


def count(x):
    return result_number(x.astype(np.int64).value, int)


def scalar_result(out):
    if out.shape:
        refuse(f"an array of shape {out.shape} from a function that SciPy asks for a number")
    return out


def scalar_of_one(out):
    """A result of size one as a number."""
    if out.size != 1:
        text = "The user-provided objective function must return a scalar value."
        raise with_note(ValueError, message(f"{text} Its shape is {out.shape}", locate()))
    return out.reshape(())


def as_floats(x):
    """An array of float64 of what is given, traced or not."""
    return fresh(value_of(x)).astype(np.float64)


def plain_options(name, given):
    """Options as they are, none of them traced or a function."""
    for option, x in given.items():
        if any(isinstance(leaf, Traced) or callable(leaf) for leaf in pytree.leaves(x)):
            refuse(f"{name}({option}={type(x).__name__})", "Options are numbers and texts that do not depend on data.")
    return given

