"""`f.text(kind, *args)`: what a function becomes on its way to the machine, each stage as text."""

from __future__ import annotations

import ast
import collections
from collections.abc import Callable
from typing import Any

from ...backends import native
from ...backends.numpy import by_python, with_loops
from ...backends.xla.inspected import Inspection, inspected
from ...ir.core import Func
from ...ir.text import show
from ...ir.walk import every_equation
from ..common.errors import REFUSALS
from ..common.terminal import several
from .devices import laid_of
from .subject import Subject, existing, for_arguments, means_call, refusal_text

KINDS = {
    "captured": "the IR as it was captured, before any pass",
    "passes": "the IR after each pass that changed it",
    "ir": "the IR after all passes",
    "symbolic": "the IR with names of sizes, where those that change have led to one",
    "jaxpr": "the jaxpr that it is lowered to",
    "stablehlo": "what is handed to XLA",
    "hlo": "what XLA has made of it, in the order in which it runs",
    "numpy": "the generated NumPy that runs",
    "llvm": "the LLVM IR of its loops and lines that are machine code",
    "assembly": "the machine code of those",
}


def stage_text(compiled: Any, kind: str, args: Any, kwargs: Any) -> str:
    """The text of a kind, in a call of the Callee; without arguments, of the program that was made last.

    Raises ValueError for other kinds, and for those that the program has not, which says why.
    """
    if not isinstance(kind, str) or kind not in KINDS:
        known = "\n".join(f"  {name:<10} {what}" for name, what in KINDS.items())
        raise ValueError(f"there is no text of kind {kind!r}; {compiled.name}.text(kind, *args) takes\n{known}")
    if kind == "passes" and means_call(compiled, args, kwargs):
        return passes_of_call(compiled, args, kwargs)
    subject = subject_of(compiled, kind, args, kwargs)
    if subject.func is None:
        raise ValueError(f"{compiled.name} has no text of kind {kind!r}: {subject.why}")
    return WRITERS[kind](subject)


def symbolic_text(compiled: Any) -> str:
    """The programs of symbolic sizes that calls have led to, each under what its names and facts are."""
    sets = [here for entry in compiled.entries.values() for here in entry.worlds if here.sizing is not None]
    found = [made.family for here in sets for made in here.sizing.families]
    if not found:
        why = next((here.sizing.why for here in sets if here.sizing.why), "sizes have not changed enough in its calls")
        raise ValueError(f"{compiled.name} has no program of symbolic sizes: {why}")
    return "\n".join(f"--- {'; '.join(one.texts())} ---\n{one.generic}" for one in found)


def subject_of(compiled: Any, kind: str, args: Any, kwargs: Any) -> Subject:
    """The program that is meant: of several between which data choose, the one that was right last."""
    if means_call(compiled, args, kwargs):
        found = for_arguments(compiled, args, kwargs)
    else:
        found = existing(compiled)
        if not found:
            raise ValueError(
                f"{compiled.name} has not been called yet, so there is no text of it\n  Give arguments as in a call: "
                f"f.text({kind!r}, x)."
            )
    tree = getattr(found[-1].version, "tree", None)
    return next((s for s in found if tree is not None and s.version is tree.current), found[-1])


def passes_of_call(compiled: Any, args: Any, kwargs: Any) -> str:
    """`passes_text` of what a call with these arguments leads to."""
    try:
        captured = compiled.captured(args, kwargs)[0]
    except REFUSALS as error:
        raise ValueError(f"{compiled.name} has no text of kind 'passes': {refusal_text(error)}") from None
    return passes_text(compiled, captured)


def passes_text(compiled: Any, captured: Any) -> str:
    """The program as captured, and after each pass that changed it, under a line that says what changed."""
    states: list[tuple[str, Func, list[Any]]] = []
    log: list[Any] = []
    note = lambda name, func: states.append((name, func, log[sum(len(rules) for *_, rules in states) :]))
    compiled.passed(captured, watch=note, log=log)
    parts, before = (
        [f"--- captured: {several(captured.func.count(), 'equation')} ---\n{show(captured.func)}"],
        captured.func,
    )
    unchanged: list[str] = []
    for name, func, fired in states:
        if func is before or show(func) == show(before):
            unchanged.append(name)
            continue
        parts.append(f"--- {name}: {what_changed(before, func, fired)} ---\n{show(func)}")
        before = func
    if unchanged:
        parts.append(f"--- no change by {', '.join(dict.fromkeys(unchanged))} ---")
    return "\n".join(parts)


def what_changed(before: Func, after: Func, fired: list[Any]) -> str:
    """What a pass did, in one line: how many equations there are, which ops went and came, the rules that fired."""
    old, new = op_counts(before), op_counts(after)
    went = [f"{n} {op}" for op, n in (old - new).items()]
    came = [f"{n} {op}" for op, n in (new - old).items()]
    text = f"{before.count()} -> {several(after.count(), 'equation')}"
    text += f"; without {', '.join(went)}" if went else ""
    text += f"; with {', '.join(came)}" if came else ""
    names = list(dict.fromkeys(str(getattr(rule, "name", rule)) for rule, _ in fired))
    return text + (f"; rules {', '.join(names)}" if names else "")


def op_counts(func: Func) -> collections.Counter[str]:
    """op -> how often it stands in a function and its regions."""
    return collections.Counter(eqn.op.name for eqn in every_equation(func))


def looked_at(subject: Subject) -> Inspection:
    return inspected(subject.func, **subject.compiled.lowering(), laid=laid_of(subject))


def xla_text(write: Callable[[Inspection], str]) -> Callable[[Subject], str]:
    """The text of what XLA is given, or has made; of a program in pieces, of each different piece."""

    def text(subject: Subject) -> str:
        chain = getattr(subject.version, "chain", None)
        if chain is None:
            return write(looked_at(subject))
        parts = []
        for func, count in chain.counts.items():
            looked = inspected(func, **subject.compiled.lowering())
            parts.append(f"// {func.name}: {several(count, 'call')}\n{write(looked)}")
        return "\n".join(parts)

    return text


def numpy_text(subject: Subject) -> str:
    """The generated function that answers calls."""
    version = subject.version
    if version is None and subject.straight is None:
        raise ValueError(
            f"{subject.name} was not called with such arguments, so no NumPy was generated\n  Call it first."
        )
    call = getattr(subject.straight or version.on_jax_arrays, "function", None)
    if call is None and version.engine:
        raise ValueError(
            f"{subject.name} runs as NumPy in a form that has no one text; wengert.source(f, ...) writes one"
        )
    if call is None:
        raise ValueError(
            f"{subject.name} does not run as generated NumPy: {subject.why}\n  wengert.source(f, ...) writes it as "
            "NumPy all the same."
        )
    return ast.unparse(call)


def nests_in(subject: Subject) -> list[tuple[Any, Any]]:
    """(equation, nest) of what runs as machine code."""
    if not subject.compiled.native:
        raise ValueError(f"{subject.name} has no nests: it was compiled with native=False")
    version = subject.version
    if version is not None and version.engine:
        regions = lambda eqn: eqn.regions() if not with_loops(eqn) or by_python(eqn) else ()
        found = list(native.listed_nests(version.numpy, 0, regions))
    else:
        found = list(native.listed_nests(looked_at(subject).nests()))
    if not found:
        reasons = dict.fromkeys(reason for _, reason in native.forms(subject.func) if reason)
        why = "; ".join(reasons) or "it has no loops, and its straight lines are left to the engine"
        raise ValueError(f"{subject.name} has no machine code of ours: {why}")
    return found


def nest_texts(write: Callable[[Any], str], comment: str) -> Callable[[Subject], str]:
    def text(subject: Subject) -> str:
        return "\n".join(f"{comment} {eqn.source or 'of no line'}\n{write(nest)}" for eqn, nest in nests_in(subject))

    return text


def passes_of_known(subject: Subject) -> str:
    """The passes, run again on a program that is there."""
    if subject.version.equations is not None:
        raise ValueError(
            f"{subject.name} was read from disk, where its last state alone is kept\n  Write f.text('passes', x), with "
            "arguments as in a call: it is traced again for that."
        )
    return passes_text(subject.compiled, subject.captured)


WRITERS: dict[str, Callable[[Subject], str]] = {
    "captured": lambda subject: show(subject.captured.func),
    "passes": passes_of_known,
    "ir": lambda subject: show(subject.func),
    "symbolic": lambda subject: symbolic_text(subject.compiled),
    "jaxpr": xla_text(Inspection.jaxpr),
    "stablehlo": xla_text(Inspection.stablehlo),
    "hlo": xla_text(Inspection.hlo),
    "numpy": numpy_text,
    "llvm": nest_texts(lambda nest: nest.text(), ";"),
    "assembly": nest_texts(native.assembly, "#"),
}
