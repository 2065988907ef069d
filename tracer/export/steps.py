"""How a leaf of a result is come by, as JSON: a result of the program or an argument, and the views that lead from
it."""

from ..cache.record import KINDS
from ..capture.handover import ARRAY, FREEZE, Located, Out, Row
from ..values.views import ComplexPart, Diagonal, IndexView, Padded, Permute, Repeat, Reshape

NAMES = {kind: name for name, kind in KINDS.items()}
SHAPED = {"reshape": Reshape, "repeat": Repeat, "padded": Padded, "permute": Permute}
SLICE = ("slice", "ellipsis", "new axis")
PARTS = ("real", "imag")


class Malformed(Exception):
    """What a file tells is none of what is written into one."""


def written_index(k):
    """One part of the key of a view."""
    if isinstance(k, slice):
        return ["slice", k.start, k.stop, k.step]
    return ["ellipsis"] if k is Ellipsis else ["new axis"] if k is None else int(k)


def index_again(said):
    if type(said) is int:
        return said
    kind, *parts = said
    if kind == "slice" and len(parts) == 3 and all(p is None or type(p) is int for p in parts):
        return slice(*parts)
    if kind in SLICE[1:] and not parts:
        return Ellipsis if kind == "ellipsis" else None
    raise Malformed


def written_step(step):
    """One view of a chain."""
    if type(step) is Located:
        return ["located", list(step.places), [[written_index(k), n] for k, n in step.key]]
    if isinstance(step, IndexView):
        return ["index", [written_index(k) for k in step.key]]
    if step is FREEZE:
        return ["freeze"]
    if isinstance(step, Row):
        return ["row", step.place]
    if isinstance(step, ComplexPart):
        return ["part", step.part]
    if isinstance(step, Diagonal):
        return ["diagonal", *map(int, step.args)]
    name = next(name for name, kind in SHAPED.items() if type(step) is kind)
    return [name, list(map(int, step.perm if name == "permute" else step.shape))]


def step_again(said):
    """The view that was written; it can be followed, and no more."""
    kind, *parts = said
    if kind == "freeze":
        return FREEZE
    if kind == "index":
        return IndexView((), (), tuple(map(index_again, parts[0])))
    if kind == "located":
        step = Located.__new__(Located)
        step.places, step.key = whole_numbers(parts[0]), [(index_again(k), n) for k, n in parts[1]]
        return step
    if kind == "part" and parts[0] in PARTS:
        return ComplexPart(parts[0])
    if kind == "row":
        return Row(*whole_numbers(parts))
    if kind == "diagonal":
        return Diagonal(*whole_numbers(parts))
    if kind in SHAPED:
        return SHAPED[kind](whole_numbers(parts[0]))
    raise Malformed


def whole_numbers(said):
    if not all(type(n) is int for n in said):
        raise Malformed
    return tuple(said)


def written_out(out, count, fixed):
    """An Out as JSON, of a call with `count` leaves. fixed(out): that of one which is no result of the program and no
    argument."""
    if out.how in ("chosen", "unsure"):
        parts = [written_out(part, count, fixed) for part in out.object]
        return [out.how, parts, out.index, [*map(written_step, out.chain)]]
    if out.how not in ("value", "argument") or out.how == "argument" and out.index >= count:
        return fixed(out)
    return [out.how, NAMES[out.kind], out.index, [*map(written_step, out.chain)]]


def out_of(said, fixed):
    """The Out that was written; "copy" is one of the arrays that stand behind the results. fixed(said): a value."""
    how, *rest = said
    if how == "fixed":
        return Out("object", object=fixed(rest[0]))
    if how == "copy":
        return Out("copy", ARRAY, *whole_numbers(rest))
    kind, index, chain = rest
    chain = tuple(map(step_again, chain))
    whole_numbers([index])
    if how in ("chosen", "unsure"):
        return Out(how, ARRAY, index, chain, tuple([out_of(part, fixed) for part in kind]))
    if how not in ("value", "argument"):
        raise Malformed
    return Out(how, KINDS[kind], index, chain)
