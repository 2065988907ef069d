"""Which loops run natively, and why the others do not."""

import contextvars
import functools

from ...ir.core import regions
from ...ir.exactness import ONLY_EXACT
from ...ir.ops.control import loop
from ...ir.sample import SAMPLE, Unalike
from ...ir.setting import set_within
from ...ir.sticky import CHECKED, telling_loops
from .build import has_symbol
from .direct import UNLOCKED
from .draw_check import unlike_numpy
from .ffi import refusal
from .interrupts import is_long, loop_work
from .nest import Nest
from .sized_nest import SizedNest
from .threads import thread_count
from .values import NotNative

# work from which a nest pays for being compiled: equations run, rows by their length; measured by benchmarks/tune.py
LEAST = 128
# the loops that may end where a check fails: {body: which of what they carry says so}
ENDING = contextvars.ContextVar("ending", default=None)


def ending(func, made=None):
    """Within: nests of a function, or of `made`, as which it runs, end where a check fails, if its last result tells
    that."""
    return set_within(ENDING, telling_loops(func if made is None else made) if func in CHECKED else {})


def forms(func, least=...):
    """(loop equation, None if it is native, else why not) of a program, outer loops first; those within a native loop
    are part of it."""
    for eqn in func.eqns:
        reason = "loop"
        if eqn.op is loop:
            reason = taken(eqn.op, [x.type for x in eqn.operands], eqn.attrs, least)[1]
            yield eqn, reason
        if reason is not None:
            for region in eqn.regions():
                yield from forms(region, least)


def form_in_words(eqn):
    """The form of a loop that is native, in words."""
    nest = taken(eqn.op, [x.type for x in eqn.operands], eqn.attrs, 0)[0]
    return f"native, shared by {thread_count()} threads" if nest is not None and nest.shared else "native"


def least_work(asked):
    """Work from which a loop is native where `asked` is: ... stands for what pays."""
    return LEAST if asked is ... else asked


def taken(op, types, attrs, least=...):
    """(nest, None), or (None, the reason why a loop is left to XLA)."""
    reason = refusal()
    if reason is None and loop_work(attrs) < least_work(least):
        reason = "too little work to pay"
    if reason is not None:
        return None, reason
    asked = ONLY_EXACT.get(), SAMPLE.get() is not None, (ENDING.get() or {}).get(attrs["body"])
    return made(op, tuple(types), tuple(attrs.items()), *asked)


@functools.lru_cache(64)
def made(op, types, attrs, exact, sized=False, status=None):
    """`taken`, whatever the work is. sized: as one of several that are compared; status: as `Nest` has it."""
    nest = emitted(op, types, attrs, exact, status, sized)
    if isinstance(nest, str):
        return None, nest
    missing = [name for name in nest.functions() if not has_symbol(name)]
    if missing:
        return None, f"the C library has no {missing[0]}"
    reason = next((found for draw in nest.drawn if (found := unlike_numpy(*draw)) is not None), None)
    return (nest, None) if reason is None else (None, reason)


@functools.lru_cache(64)
def emitted(op, types, attrs, exact, status=None, sized=False, followed=None):
    """The nest of a loop, which nothing of this machine has been asked for yet, or the reason why it has none.

    status: as `Nest` has it; followed: decisions of another sample, where it is one of several that are compared.
    """
    attrs = dict(attrs)
    acting = next((eqn for region in regions(attrs) for eqn in region.eqns if eqn.effect), None)
    if acting is not None:
        return f"{acting.op.name} may have an effect"
    try:
        if sized:
            return SizedNest(op, types, attrs, exact, status, followed)
        unlocked = loop_work(attrs) >= UNLOCKED
        return Nest(op, types, attrs, unlocked=unlocked, exact=exact, long=is_long(attrs), status=status)
    except (NotNative, Unalike) as why:
        return str(why)
