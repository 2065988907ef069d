"""What a function returns, as generated Python over the raw results of its program: what `Version.finish` does, where
that only reads.

Whether a check has failed is waited for, and is not asked again of the very arrays of the call before: jax arrays never
change.

    p = passed[0]
    if not (p[0]() is a1):
        if word(raw[-1])[0]: return finish(...)
        passed[0] = (ref(a1),)
    return raw[0]
"""

import weakref

import numpy as np

from ...backends.xla import dispatch
from ...ir.core import Func
from ...ir.passes import dce
from ..capture.handover import ARRAY, SCALAR, Located, follow
from ..guards.emit_lookups import namer
from .emit_structure import rebuild_text
from .numpy_function import MISS

NUMBERS = (np.generic, int, float, complex)  # of which each is one object, too


# what the lines name
NAMED = {
    "array": np.array, "asarray": np.asarray, "owned": dispatch.owned, "follow": follow, "settled": dispatch.settled,
    "word": dispatch.word, "UNREADABLE": dispatch.UNREADABLE, "MISS": MISS,
}  # fmt: skip


def returned(version, entry):
    """A function of the raw results and the leaves: what is returned, MISS where a check has failed. None where a call
    does more than make a result."""
    names, space = [f"a{n}" for n in range(len(entry.dynamic))], dict(NAMED)
    lines = return_lines(version, entry, names, namer("c", space), "return MISS")
    if lines is None:
        return None
    text = "\n    ".join([f"def call({', '.join(['raw', *names])}):", *lines])
    exec(compile(text, "<wengert result>", "exec"), space)
    return space["call"]


def return_lines(version, entry, names, constant, otherwise, raising=False, found=None):
    """Lines that end in `return`, None where a call does more than make a result.

    names: of the leaves, which are the dynamic ones of `entry`; constant(x) names an object; otherwise: a line for a
    check that failed; raising: whether the program has raised by then if one has, and gives no status; found: text of
    what a Read finds, where the lines run in no `Callee`.
    """
    captured = version.captured
    if (
        version.effects
        or version.tree is not None
        or captured.writes
        or captured.stores
        or captured.given is not None
        or captured.outside.draws
    ):
        return None
    if captured.relied or any(out.how in ("chosen", "unsure") for out in captured.outs):
        return None
    places = [version.places[i] for i in captured.layout]
    # whose order in memory is to be seen
    if any(p >= len(names) or issubclass(entry.types[entry.dynamic[p]], np.ndarray) for p in places):
        return None
    several = len(version.func.results) - raising > 1
    lines, held = [], {}

    def raw(i):
        return f"raw[{i}]" if several else "raw"

    def followed(text, chain):
        starts = [p for step in chain if type(step) is Located for p in step.places]
        values = f", {{{', '.join(f'{p}: {raw(p)}' for p in starts)}}}" if starts else ""
        return f"follow({text}, {constant(chain)}{values})" if chain else text

    def array(i, chain):
        """The name of a result as an ndarray of the caller's, or of a view of that."""
        if (i, chain) not in held:
            size = version.func.results[i].type.size * version.func.results[i].type.dtype.itemsize
            kept = "array" if version.shared[i] or size < dispatch.ZERO_COPY else "owned"
            text = followed(array(i, ()), chain) if chain else f"{kept}({raw(i)})"
            held[i, chain] = f"r{len(held)}"
            lines.append(f"{held[i, chain]} = {text}")
        return held[i, chain]

    def leaf(out):
        if out.how == "outside" and found is not None:
            return found(out.object)
        if out.how in ("object", "copy", "outside"):
            return constant(out.object) + {"object": "", "copy": ".copy()", "outside": ".get()"}[out.how]
        if out.how == "argument":
            place = version.places[out.index]
            if place < len(names) and out.chain and (out, ()) not in held:
                held[out, ()] = f"r{len(held)}"
                lines.append(f"{held[out, ()]} = {followed(names[place], out.chain)}")
            return held.get((out, ()), names[place]) if place < len(names) else None
        if not entry.numpy:
            return followed(raw(out.index), out.chain)
        if out.kind is ARRAY:
            return array(out.index, out.chain)
        if out.chain:
            numbers = "list" if out.kind is SCALAR else "tolist"
            if (out.index, numbers) not in held:
                held[out.index, numbers] = f"r{len(held)}"
                text = array(out.index, ()) if out.kind is SCALAR else f"asarray({raw(out.index)}).tolist()"
                lines.append(f"{held[out.index, numbers]} = {text}")
            return f"{held[out.index, numbers]}[{out.chain[0].place}]"
        return f"asarray({raw(out.index)})" + ("[()]" if out.kind is SCALAR else ".item()")

    texts = [leaf(out) for out in captured.outs]
    if None in texts:
        return None
    checked = []
    if captured.checks and not raising:
        read = [
            "try:",
            f"    failed, = word({raw(-1)})",
            "except UNREADABLE:",
            f"    failed = settled({raw(-1)})",
            f"if failed: {otherwise}",
        ]
        checked = memoised_check(version, entry, names, constant, read)
    return [*checked, *lines, f"return {rebuild_text(captured.rebuild, texts, lambda x, _: constant(x))}"]


def memoised_check(version, entry, names, constant, ask):
    """Lines around those that `ask`, and leave if a check has failed: they pass them by where what decides is the same
    as when it last passed."""
    places = decisive(version)
    # others check other things, or the outside decides
    if len(entry.current.versions) > 1 or not all(p < len(names) for p in places):
        return ask
    types = [entry.types[entry.dynamic[p]] for p in places]
    if not any(map(dispatch.is_device_type, types)) or not all(
        dispatch.is_device_type(t) or issubclass(t, NUMBERS) for t in types
    ):
        return ask
    arrays = [dispatch.is_device_type(t) for t in types]
    same = " and ".join(
        f"p[{k}]() is {names[p]}" if a else f"p[{k}] is {names[p]}" for k, (p, a) in enumerate(zip(places, arrays))
    )
    now = ", ".join(f"{constant(weakref.ref)}({names[p]})" if a else names[p] for p, a in zip(places, arrays))
    passed = constant([[nothing] * len(places)])
    return [f"p = {passed}[0]", f"if not ({same}):", *("    " + line for line in ask), f"    {passed}[0] = ({now},)"]


def nothing():
    """No argument, in the place of a reference to one."""


def decisive(version):
    """Places in the call of what decides whether a check fails."""
    func = version.func
    asking = dce(Func(func.name, func.params, func.eqns, func.results[-1:]))
    read = {x for e in asking.eqns for x in e.operands} | set(asking.results)
    return [place for place, p in zip(version.places, asking.params) if p in read]
