"""Calls in which jax itself traces: the program, its derivatives and its checks become part of what jax builds.

What is known only when the program runs cannot decide here which program that is, nor what Python objects there are:
such calls are refused, with the line. What is read outside is read now, as jax reads what it traces.
"""

import contextvars
import functools
from typing import NamedTuple

import numpy as np

from ...autodiff import jvp, vjp
from ...autodiff.split import halves
from ...backends.xla import dispatch, embedded, failing
from ...ir.core import Builder, Func
from ...ir.pipeline import run as optimise
from ...ir.types import IRTypeError
from ..capture.capture import Kind
from ..capture.containers import apply_container_changes
from ..capture.handover import follow
from ..capture.signature import COMPLEX128, FLOAT64
from ..common import events
from ..common.errors import DerivativeError, UnsupportedError, message
from ..common.frames import raises_for_user
from ..program.specialisation_set import SpecialisationSet
from ..values.acting import acts
from ..values.status import check_number, failure
from .entry import SignatureEntry

CHECKS = contextvars.ContextVar("checks", default=True)  # whether those that fail raise, in what jax traces now
BATCHED = "Call wengert.vmap(f), which runs the lanes in order, or leave the printing out."
RETURNED = "Return an array of a shape that is known, such as np.where(test, x, 0.0), and the count beside it."


class Derived(NamedTuple):
    """The programs of a derivative: push(x..., t...) -> tangents, or why there is none; pull(x..., g...) -> cotangents;
    early(x...) -> (results..., residuals...), late(g..., residuals...) -> cotangents."""

    push: Func | str
    pull: Func
    early: Func
    late: Func


def derived(func, moving):
    """The derivative of a program, as it was captured, by some of its parameters."""
    func = without_acts(func)
    early, late = halves(optimise(vjp(func, wrt=moving)), len(func.params), len(func.results))
    try:
        push = jvp(func, wrt=moving, keep=False)
    except (IRTypeError, DerivativeError) as error:
        push = str(error)
    return Derived(push, vjp(func, wrt=moving, keep=False), early, late)


def without_acts(func):
    """`func` without what it prints and writes: that its results have done."""
    if next(acts(func), None) is None:
        return func
    with Builder(func.name) as build:
        env = {p: build.param(p.type, p.hint) for p in func.params}
        for eqn in func.eqns:
            if not eqn.effect or eqn.results:
                build.replay(eqn, env)
    left = build.finish([env.get(r, r) for r in func.results])
    if (found := next(acts(left), None)) is not None:
        text = "what acts on the world in a loop or branch, or gives a result, has no derivative in jax"
        raise UnsupportedError(message(text, found.source, "Differentiate with wengert.grad, or leave it out."))
    return left


def weak_kind(x, kind):
    """The Kind of a float or complex number of Python's in a trace of jax's; None for all else."""
    if kind.type.shape or kind.type.kind not in "fc" or not dispatch.is_weak(x):
        return None
    return Kind(FLOAT64, float, name=kind.name) if kind.type.kind == "f" else Kind(COMPLEX128, complex, name=kind.name)


class InsideJax(SignatureEntry):
    """An entry some of whose arguments stand for arrays in a trace of jax's."""

    def falls_back(self):
        return False

    def kinds_of(self, leaves):
        """What each argument is to a trace: what jax calls weak floats are Python's."""
        return [weak_kind(x, kind) or kind for x, kind in zip(leaves, super().kinds_of(leaves))]

    def run(self, leaves, given=None):
        """The call: its results stand for arrays in the same trace."""
        with self.compiled.lock, events.making(self.compiled):
            here, version = self.version_of(leaves)
        taken = [*leaves, *here.gather()]
        return inlined(version, [taken[p] for p in version.places], given, here.options)

    def version_of(self, leaves):
        """-> (the specialisation set, the version in it) for these leaves."""
        kinds = self.kinds_of(leaves)
        types = tuple(k.type for k in kinds)
        here, version = self.known_version(types)
        if version is None or version.captured.outside.draws:
            reason = self._reason(types, here)
            here = None if self.compiled.kept.make_room(self) else here
            version = self.traced(kinds, types, reason, leaves)
            self.tell_apart(version)
            refuse_once(version)
            if here is None:
                here = SpecialisationSet(self.compiled, version.rules)
                self.worlds.append(here)
            here.add(version)
        self.current = here
        return here, version


def refuse_once(version):
    """Refused where jax would do once, as it traces, what the function does at every call."""
    captured = version.captured
    if captured.outside.draws:
        text = "it draws random numbers, and jax would have the same ones at every call"
        hint = "Draw outside, with jax.random or a Generator, and pass what was drawn."
        raise UnsupportedError(told_inside(version, text, hint))
    if captured.stores:
        text = "it stores outside itself, where values of jax's trace would be left"
        raise UnsupportedError(told_inside(version, text, "Return the value."))


def told_inside(version, text, hint):
    return message(f"{version.captured.func.name} is called inside a transform of jax: {text}", None, hint)


@raises_for_user
def inlined(version, leaves, given, options):
    """The results of a program on what stands in a trace of jax's."""
    captured, func = version.captured, version.func
    written = [i for i in captured.writes if isinstance(leaves[i], np.ndarray)]
    if written:
        text = "it changes an argument that is an ndarray, which would happen once, as jax traces"
        raise UnsupportedError(told_inside(version, text, "Write x = x.copy() first, and return it."))
    try:
        raw = program_of(version, options)(*map(dispatch.as_operand, leaves, [p.type for p in func.params]))
    except embedded.ActsInOrder:
        text = "jax.vmap has no order in which its lanes print, draw or write"
        raise UnsupportedError(told_inside(version, text, BATCHED)) from None
    if captured.checks:
        *raw, status = raw
        if CHECKS.get():
            failing.raise_where_failed(status, functools.partial(failed_there, captured))
    return handed(version, raw, leaves, given)


def failed_there(captured, status):
    """The exception of a failed check, with the line in a note: no traceback of the program's tells it."""
    error = failure(captured.checks, status)[1]
    place = captured.outside.check_places.get(check_number(status))
    if place is not None and "  at " not in "".join([str(error), *getattr(error, "__notes__", ())]):
        error.add_note(message("", place).lstrip("\n"))
    return error


def program_of(version, options):
    """The program as a function of jax values, one for each setting of 64-bit types."""
    short = dispatch.is_short()
    if short not in version.embedded:
        found = version.captured.func
        whole = Func(found.name, found.params, found.eqns, found.results[: len(version.func.results)])

        def finished(func):
            return version.func if func is whole else optimise(func, exact=options["exact"])

        version.embedded[short] = embedded.Embedded(
            whole, derived, finished, short, {**options, "device": None}, bool(version.captured.checks)
        )
    return version.embedded[short]


def handed(version, raw, leaves, given):
    """What the function returns, around the results of its program."""
    captured = version.captured
    values = list(raw[: captured.values])
    try:
        made = captured.rebuild([leaf(o, values, leaves) for o in captured.outs])
    except dispatch.UNKNOWN:
        text = "how long a result is, or which array it is a part of, is known only when it runs"
        raise UnsupportedError(told_inside(version, text, RETURNED)) from None
    return made if captured.given is None else apply_container_changes(made, captured.given, given)


def leaf(out, values, leaves):
    if out.how == "chosen":
        return dispatch.picked_by(values[out.index], [leaf(o, values, leaves) for o in out.object])
    if out.how == "object":
        return out.object
    if out.how == "copy":
        return out.object.copy()
    if out.how == "outside":
        return out.object.get()
    return follow(leaves[out.index] if out.how == "argument" else values[out.index], out.chain, values)
