"""The one number a program returns about its checks: 0, or which failed first and the number its message quotes.

The low bits count the checks of the trace from 1, the high ones hold the quoted number, an index out of
range. What a call relied on without knowing (`assume`) is a check like any other, so that of several
the first in program order speaks, an assumption before the errors that come only under it.
"""

from typing import NamedTuple

import numpy as np

from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ...ir.sticky import BITS
from ...ir.types import Tensor
from ..common.emit import INDEX, cast_to, reshape_to
from ..common.errors import with_args, with_note

STATUS = Tensor((), INDEX)
MOST = 2 ** (62 - BITS)  # larger numbers are quoted as this
SMALL = 64  # indices that are always looked through
PASSED = Lit(0, STATUS)


class Check(NamedTuple):
    """What a failed check raises: `error(text)`, with the quoted number in place of the first `{}` if it `quotes` one.

    drawn: how many draws of random numbers, made before the launch, Python makes before it; args: what the exception
    is made of in place of the text, which is a note then; told: whether that is all there is to it, as Python raises
    it.
    """

    error: type
    text: str
    quotes: bool
    drawn: int = 0
    args: tuple | None = None
    told: bool = True

    def heard(self, error, leaves):
        """What a call ends with that has failed this check; None: it goes on. leaves: what the program took."""
        return error


def passed(status):
    """Whether nothing has failed so far: a bool operand, True itself where there has been nothing to check."""
    return Lit(True, STATUS.like(dtype=bool)) if status is PASSED else OPS["eq"](status, PASSED)


def failed(number, quoted=None):
    """The status of check `number` with the number it quotes, an integer scalar operand."""
    if quoted is None:
        return Lit(number, STATUS)
    quoted = OPS["clamp"](Lit(-MOST, STATUS), cast_to(quoted, INDEX), Lit(MOST, STATUS))
    return OPS["add"](OPS["mul"](quoted, Lit(1 << BITS, STATUS)), Lit(number, STATUS))


def check_number(status):
    """Which check a status other than 0 is about."""
    return int(np.asarray(status)) % (1 << BITS)


def number_of(status):
    """Likewise, as an operand of the program; 0 where nothing has failed."""
    return OPS["and"](status, Lit((1 << BITS) - 1, STATUS))


def failure(checks, status):
    """The Check behind a status other than 0, and the error it stands for."""
    quoted, number = divmod(int(np.asarray(status)), 1 << BITS)
    check = checks[number - 1]
    if check.args is not None:
        return check, with_args(check.error, check.args, check.text)
    return check, quoting(check.error, check.text, quoted) if check.quotes else with_note(check.error, check.text)


def quoting(error, text, number):
    """The exception that a check of the text raises with a number; a KeyError is of the key itself."""
    words = f"{number} or beyond" if abs(number) == MOST else str(number)
    made = with_note(error, text.replace("{}", words, 1))
    if error is KeyError and text.partition("\n")[0] == "{}" and abs(number) != MOST:
        made.args = (number,)
    return made


def quoted(status):
    """The number that a status quotes."""
    return int(np.asarray(status)) >> BITS


# -- indices ---------------------------------------------------------------------------------------


def indices_in_range(index, n, below=True, above=True):
    """Whether each of the indices is in [-n, n), tested on the sides asked for."""
    shape = index.type.shape
    least, size = (Lit(v, index.type.like(shape)) for v in (-n, n))
    tests = [OPS["ge"](index, least)] if below else []
    tests += [OPS["lt"](index, size)] if above else []
    return tests[0] if len(tests) == 1 else OPS["and"](*tests)


def all_within(index, n, below=True, above=True, repeated=False):
    """-> (whether all indices are in [-n, n), as `indices_in_range`; the first that is not, or any where all are).

    repeated: whether that is asked in a region, where they may be part of a row that is short: which one it is is then
    looked for only where there is one. Elsewhere XLA makes one pass of looking.
    """
    if not index.type.shape:
        return indices_in_range(index, n, below, above), index
    if not repeated or index.type.size <= SMALL:
        first = _first_out_of_range(index, n, below, above)
        return indices_in_range(first, n, below, above), first
    inside = OPS["reduce_and"](indices_in_range(index, n, below, above), axes=tuple(range(index.type.ndim)))
    builders = []
    for name, body in (
        ("outside", lambda x: _first_out_of_range(x, n, below, above)),
        ("inside", lambda x: Lit(0, STATUS)),
    ):
        build = Builder(name)
        with build:
            build_result = body(build.param(index.type))
        builders.append(build.finish((build_result,)))
    return inside, OPS["cond"](inside, index, branches=tuple(builders))[0]


def _first_out_of_range(index, n, below, above):
    flat = reshape_to(index, (index.type.size,))
    at = OPS["argmax"](OPS["not"](indices_in_range(flat, n, below, above)), axis=0)
    return reshape_to(OPS["dynamic_slice"](flat, at, sizes=(1,)), ())
