"""The programs that the arguments of a call lead to: those that there are, with what runs each and why; and where there
is none yet, the one that would be made."""

from __future__ import annotations

from typing import Any

from ...backends import forked
from ...backends.xla import dispatch
from ...ir.amounts import in_time
from ...ir.core import Func
from ...ir.passes.widen import has_small
from ...ir.types import type_of
from ..call.contest import TURNS, taken_types
from ..call.explain import arguments_text, leaves_text, runs, static_text
from ..call.fallback import Refused
from ..capture.signature import kind_of_type
from ..common import pytree
from ..common.errors import REFUSALS
from ..program import backend_choice
from ..sharding.placement import Placement

ENGINES = {  # `Subject.engine` -> its name in texts
    "xla": "XLA",
    "numpy": "generated NumPy",
    "pieces": "XLA, in pieces",
    "python": "plain Python",
    "none": "not decided",
}


class Subject:
    """One program of a plan.

    func: its equations after the passes; captured: its Captured; version, here, entry: the Specialisation and where it
    is, all None where it was not made by a call; engine: a key of ENGINES, "none" where the first call will
    decide; why: in words; straight: the one function of generated NumPy that runs it, where there is one; times:
    {"numpy", "xla", "python", "compiled"} -> seconds, where they were taken.
    """

    def __init__(
        self, compiled: Any, func: Func | None, captured: Any, version: Any = None, here: Any = None, entry: Any = None
    ) -> None:
        self.compiled, self.func, self.captured = compiled, func, captured
        self.version, self.here, self.entry = version, here, entry
        self.engine, self.why, self.times = "none", "", {}
        self.arguments, self.static = "", ""
        self.straight = getattr(version, "straight", None)
        self.names: list[str] = []
        if version is not None:
            self.names, self.arguments, self.static = (
                list(entry.names),
                arguments_text(entry, version),
                static_text(entry),
            )
            self.decide()

    def decide(self) -> None:
        """Say what runs, of a program that there is."""
        version, contest = self.version, self.here.contests.get(taken_types(self.version))
        if version.times is not None:
            self.times |= {k: t for k, t in zip(("numpy", "xla"), version.times, strict=True) if t is not None}
        self.engine = "numpy" if version.engine else "pieces" if version.chain is not None else "xla"
        self.why = without_engine(runs(version)) if version.times is not None else self.reason()
        if contest is None:
            return
        ours, plain = contest.spent
        self.times |= {k: min(t) for k, t in (("compiled", ours), ("python", plain)) if t}
        if contest.plain:
            self.engine, self.why = "python", f"plain Python was faster: {contest.told().partition(': ')[2]}"
        elif contest.plain is False and plain:
            self.why += f"; plain Python took {in_time(min(plain))} against {in_time(min(ours))}"
        elif contest.plain is None:
            self.why += f"; the first calls are still shared with plain Python, {len(plain)} of {TURNS} timed"

    def reason(self) -> str:
        """Why a program that was not timed runs as it does."""
        entry, version = self.entry, self.version
        if version.symbolic is not None:
            return told_symbolic(version.symbolic)
        if version.deferred is not None:
            return str(version.deferred.told()).removeprefix(version.deferred.MEANWHILE)
        if version.engine:
            return asked_for(entry) if backend_choice.asked(entry.compiled) else "as it was kept on disk"
        if version.chain is not None:
            return "it says the same many times, so alike pieces are compiled once"
        return why_xla(entry, version)

    @property
    def name(self) -> str:
        return str(self.compiled.name)


def without_engine(text: str) -> str:
    """What `explain` says of the engine, without its name in front."""
    return next((text[len(p) :] for p in ("as NumPy, ", "as NumPy: ", "through XLA: ") if text.startswith(p)), text)


def asked_for(entry: Any) -> str:
    """Who has asked for the engine."""
    if entry.compiled.engine is not None:
        return f"as was asked for by engine={entry.compiled.engine!r}"
    if forked.Process.forked:
        return "XLA is left alone in a forked process"
    if backend_choice.CHOICE is None:
        return "several processes run it, and no choice among them is timed"
    return "as was asked for, for all functions"


def why_xla(entry: Any, version: Any) -> str:
    """Why there is no other form of a program than the one through XLA, that was timed."""
    if backend_choice.asked(entry.compiled) == "xla":
        return asked_for(entry)
    if not entry.numpy:
        return "arguments are jax arrays"
    if entry.compiled.device is not None or not dispatch.on_host():
        if isinstance(entry.compiled.device, Placement):
            return f"on {entry.compiled.device.text()}"
        return "on the device asked for" if entry.compiled.device is not None else "the default device is no CPU"
    if version.equations is not None:
        return "read from disk, where it was kept so"
    if version.effects:
        return "it prints, stores or calls Python as it runs"
    if has_small(version.func):
        return "it has numbers of bfloat16 or of eight bits, of which XLA alone makes programs"
    with backend_choice.as_asked(entry):
        if not backend_choice.may_be_numpy(version):
            return "it has loops that are not machine code, many equations, or much memory between them"
    if version.first_seconds is None:
        return "it has not run yet"
    if version.captured.outside.draws:
        return "it draws random numbers, so it is not timed against its form as NumPy"
    return "it would write too much memory as NumPy, which fuses nothing"


def means_call(compiled: Any, args: Any, kwargs: Any) -> bool:
    """Whether arguments are those of a call. None at all are where nothing else can be given, and where nothing need
    be and there is no program yet; else they stand for all programs that there are."""
    if args or kwargs or compiled.signature is None:
        return bool(args or kwargs)
    taken = compiled.signature.parameters.values()
    return not taken or not compiled.entries and all(p.default is not p.empty for p in taken)


def existing(compiled: Any) -> list[Subject]:
    """All programs of a compiled function, in the order of `explain`."""
    found: dict[Any, Subject] = {}
    for entry in list(compiled.entries.values()):
        for here in (*entry.worlds, *entry.old):
            for v in here.versions:
                tree = v.tree or here.drawing
                for member in tree.versions.values() if tree is not None else (v,):
                    place = member.drawing_in or here
                    found.setdefault(member, Subject(compiled, member.func, member.captured, member, place, entry))
    return list(found.values())


def for_arguments(compiled: Any, args: Any, kwargs: Any) -> list[Subject]:
    """The programs that a call with these arguments may run: several where data choose among them. One that is made for
    the plan where there is none; its `engine` is "python" where such calls are not compiled."""
    found = serving_now(compiled, args, kwargs)
    if found:
        return found
    try:
        func, captured, names, kinds = compiled.optimised(args, kwargs)
    except REFUSALS as error:
        return [refused_subject(compiled, error, args, kwargs)]
    made = Subject(compiled, func, captured)
    typed = [(n, k.type) for n, k in zip(names, kinds, strict=True) if k is not None]
    made.names = [n for n, _ in typed]
    made.arguments = leaves_text(typed)
    entry = compiled.known_entry(args, kwargs)[0]
    if entry is not None and entry.jobs:
        made.why = "it is made in the background, and plain Python answers meanwhile; this is what XLA would run"
    else:
        made.why = "it has not been called with such arguments; the first call decides, and this is what XLA would run"
    return [made]


def serving_now(compiled: Any, args: Any, kwargs: Any) -> list[Subject]:
    """The programs there are for a call."""
    entry, leaves = compiled.known_entry(args, kwargs)
    if entry is None:
        return []
    with entry.held(leaves):
        dynamic = [leaves[i] for i in entry.dynamic]
        try:
            types = entry.types_of(dynamic)
        except (Refused, *REFUSALS) as error:
            return [refused_subject(compiled, getattr(error, "why", error), args, kwargs)]
        here, version = entry.known_version(types)
        if here is None:
            return [refused_subject(compiled, entry.refused[types].why, args, kwargs)] if types in entry.refused else []
    if version is None or version.symbolic is not None:
        made = at_symbolic_sizes(compiled, entry, here, types)
        if made is not None or version is None:
            return [made] if made is not None else []
    tree = version.tree or here.drawing
    members = list(tree.versions.values()) if tree is not None else [version]
    return [Subject(compiled, v.func, v.captured, v, v.drawing_in or here, entry) for v in members]


def at_symbolic_sizes(compiled: Any, entry: Any, here: Any, types: Any) -> Subject | None:
    """The program of symbolic sizes that serves these types, at the sizes of the call."""
    made = here.sizing.fitting(types) if here is not None and here.sizing is not None else None
    sizes = made.family.serves(types) if made is not None and made.free is not None else None
    if sizes is None:
        return None
    version = made.family.version(sizes)
    subject = Subject(compiled, version.func, version.captured)
    subject.names, subject.arguments = list(entry.names), arguments_text(entry, made.version)
    subject.static, subject.engine, subject.why = static_text(entry), "numpy", told_symbolic(made)
    subject.straight = made.version.straight
    at = ", ".join(f"{name} = {n}" for name, n in sizes.items())
    subject.arguments += f" at {at}"
    return subject


def told_symbolic(made: Any) -> str:
    """What runs the calls of a family."""
    return f"one program for all sizes: {'; '.join(made.family.texts())}"


def refused_subject(compiled: Any, why: Any, args: Any, kwargs: Any) -> Subject:
    """What there is of a call that plain Python answers."""
    made, leaves = Subject(compiled, None, None), pytree.leaves((args, kwargs))
    named = zip(compiled.leaf_names(args, kwargs), leaves, strict=True)
    made.arguments = leaves_text([(n, type_of(x)) for n, x in named if kind_of_type(type(x)) is not None])
    made.engine, made.why = "python", refusal_text(why)
    return made


def refusal_text(error: Any) -> str:
    """Why calls are answered by plain Python."""
    return f"plain Python answers such calls, uncompiled: {' '.join(str(error).split())}"
