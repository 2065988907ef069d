"""A function traced at sizes that no call has: for types alone, and with nothing left behind.

The trace is one made beside the program (`guards/isolation.py`): it sees copies of globals and cells, and where it
would store, draw or act, or need the arguments' data, there is no program of such sizes. Beside the program it gives
what the trace has asked of sizes (`values/sizes.py`).
"""

import time
import warnings

import numpy as np

from ...autodiff import checkpoints
from ...ir import collector
from ...ir.core import Func
from ...ir.exactness import exactly
from ...ir.pipeline import run as optimise
from ...ir.setting import OF_ALL_SIZES, set_within
from ...ir.types import Tensor
from ..capture.capture import Kind
from ..capture.handover import ARRAY
from ..capture.suspended import refuse_generator
from ..guards import isolation, patched_numpy
from ..program.specialisation import Specialisation
from ..regions.budget import limited
from ..rules import rules
from ..values.acting import acts
from ..values.asked import SizesAsked, asked_by
from ..values.speculate import Speculation
from ..values.status import PASSED
from ..values.storage import current_trace
from ..values.weak import promoting
from .shape_relations import tell_shapes
from .size_facts import shown_sizes


class Unsampled(Exception):
    """There is no program of these sizes that may stand for others. Its text says why."""


class Sample:
    """One trace at made-up sizes. sizes: the number of each name; version: the Specialisation; asked: what it tells of
    sizes."""

    def __init__(self, sizes, version, asked):
        self.sizes, self.version, self.asked = sizes, version, asked


def version_at(entry, kinds, sizes, leaves):
    """-> the Sample of an entry at these sizes, optimised, in the present state of the outside.

    kinds: what each dynamic argument is to a trace; leaves: what each of its sizes is, an int or a Dim of names.
    Unsampled where it cannot be had: the function raises at these sizes, stores, draws, acts, or asks for data.
    """
    if current_trace() is not None:
        raise Unsampled("it is called while another function is traced")
    asked = SizesAsked(leaves, sizes)
    kept = (entry.fixed.copy(), entry.pinned, entry.compiled.patience.overran)
    try:
        with asked_by(asked), isolation.beside(), np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            version = sampled_trace(entry, kinds, asked)
    except isolation.Conflict as conflict:
        raise Unsampled(conflict.text) from None
    except Exception as error:
        said = (str(error).strip().splitlines() or [""])[0]
        raise Unsampled(f"at {shown_sizes(sizes)}: {type(error).__name__}: {said}") from error
    finally:
        entry.fixed, entry.pinned, entry.compiled.patience.overran = kept
    if asked.refused:
        raise Unsampled(asked.refused)
    return Sample(dict(sizes), version, asked)


def kinds_at(entry, kinds, shapes):
    """The Kinds of arguments of other shapes, which lie in row-major order."""
    made = []
    for k, shape in zip(kinds, shapes, strict=True):
        type = Tensor(tuple(shape), k.type.dtype)
        made.append(Kind(type, k.kind, k.readonly, k.name) if k.kind is ARRAY else k)
    return made


def sampled_trace(entry, kinds, asked):
    """The trace and its passes, as `Attempts.trace` makes them, reported to nobody."""
    compiled, start, kept = entry.compiled, time.perf_counter(), []
    refuse_generator(compiled.function)
    patched_numpy.refuse_patched()
    if compiled.debug is not None:
        raise Unsampled("it is watched by jit(debug=)")
    with (
        limited(),
        rules.held() as stated,
        checkpoints.room(compiled.memory, kept),
        exactly(compiled.exact),
        promoting(compiled.promote),
        set_within(OF_ALL_SIZES, True),
    ):
        choices = Speculation(isolation.Withheld(), (), not entry.falls_back())
        found = entry.attempt(kinds, choices, entry.changing())
    if found is None:
        raise Unsampled("it takes in numbers from outside that Python must know")
    captured, choices = found
    require_alone(captured, choices)
    captured.notes += kept
    entry.place_constants(captured)
    tell_shapes(asked, captured.func)
    seconds = time.perf_counter()
    applying = rules.applying(stated, compiled.exact)
    with set_within(OF_ALL_SIZES, True), collector.waiting():
        func = optimise(
            captured.func, exact=compiled.exact, notes=captured.notes, rules=applying, known=captured.bounded
        )
    func = asked.settled(func)
    captured.func = asked.settled(captured.func)
    del captured.inputs[len(captured.inputs) - len(asked.params) :]
    if captured.checks and func.results[-1] is PASSED:
        func, captured.checks = Func(func.name, func.params, func.eqns, func.results[:-1]), ()
    types = tuple(k.type for k in kinds)
    version = Specialisation(captured, func, types, "a sample of sizes", seconds - start, time.perf_counter() - seconds)
    version.rules = stated
    return version


def require_alone(captured, choices):
    """Refuse a program that is more than what it gives for its arguments."""
    if choices.taken:
        raise Unsampled("data choose among several programs of it")
    if captured.outside.draws:
        raise Unsampled("it draws random numbers")
    if captured.stores:
        raise Unsampled("it stores outside its arguments")
    if captured.outside.subclassed:
        raise Unsampled("it has instances of a subclass of np.ndarray, which tell their sizes unseen")
    if captured.outside.alone or captured.outside.pins:
        raise Unsampled("it is of one object alone")
    if next(acts(captured.func), None) is not None:
        raise Unsampled("it acts on the world")
