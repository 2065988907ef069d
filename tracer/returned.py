"""What a function returns, as generated Python over the raw results of its program: what `Version.finish` does, where that only reads."""

import numpy as np

from ..backends.xla import dispatch
from .capture import ARRAY, SCALAR
from .written import made


def returned(version, entry, names, constant, otherwise, raising=False):
    """Lines that end in `return`, None where a call does more than make a result.

    names: of the leaves, which are the dynamic ones of `entry`; constant(x) names an object; otherwise: a line for a check that failed;
    raising: whether the program has raised by then if one has, and gives no status.
    """
    captured = version.captured
    if version.effects or version.tree is not None or captured.writes or captured.stores or captured.given is not None or captured.outside.draws:
        return None
    places = [version.places[i] for i in captured.layout]
    if any(p >= len(names) or issubclass(entry.types[entry.dynamic[p]], np.ndarray) for p in places):  # whose order in memory is to be seen
        return None
    several = len(version.func.results) - raising > 1
    lines, held = [], {}

    def raw(i):
        return f"raw[{i}]" if several else "raw"

    def followed(text, chain):
        return f"follow({text}, {constant(chain)})" if chain else text

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
        if out.how in ("object", "copy", "outside"):
            return constant(out.object) + {"object": "", "copy": ".copy()", "outside": ".get()"}[out.how]
        if out.how == "argument":
            place = version.places[out.index]
            return followed(names[place], out.chain) if place < len(names) else None
        if not entry.numpy:
            return followed(raw(out.index), out.chain)
        if out.kind is ARRAY:
            return array(out.index, out.chain)
        return f"asarray({raw(out.index)})" + ("[()]" if out.kind is SCALAR else ".item()")

    texts = [leaf(out) for out in captured.outs]
    if None in texts:
        return None
    checked = []
    if captured.checks and not raising:
        checked = ["try:", f"    failed, = word({raw(-1)})", "except UNREADABLE:", f"    failed = settled({raw(-1)})", f"if failed: {otherwise}"]
    return [*checked, *lines, f"return {made(captured.rebuild, texts, lambda x, _: constant(x))}"]
