"""Rows by indices as they come: NumPy counts negative ones from the end, and refuses those out of range with an
IndexError.

An equation says that whether indices are in range is left to NumPy (`checked_rows`).
"""

from ...ir.core import Lit
from ...ir.ops.control import call, region
from ...ir.ops.elementwise import add, lt, select
from ...ir.ops.indexing import gather
from ...ir.ops.shape import reshape
from ...ir.pattern import is_number, made_by
from .pretty import take

NAME = "taken"


def rows_of(eqn):
    """(x, indices, length of the axis) of an equation that takes rows of x by indices of which negative ones count from
    its end, else None."""
    if eqn.op is not gather or not (take(eqn, "", "") or "").startswith("np.take("):
        return None
    x, index = eqn.operands
    size, made = x.type.shape[eqn.attrs["collapsed"][0]], made_by(index, reshape)
    if made is None or made[0].type.shape != index.type.shape[:-1]:
        return None
    found = made_by(made[0], select)
    test = found and made_by(found[0], lt)
    if not test or test[0] is not found[2] or not is_number(test[1], 0):
        return None
    base, offset = sum_of(found[2])
    return (x, found[2], size) if sum_of(found[1]) == (base, offset + size) else None


def checked_rows(eqn, x, indices, size):
    """`eqn`, of `rows_of`, by the indices as they come, where what is generated may raise IndexError."""

    def rows(x, i):
        at = select(lt(i, Lit(0, i.type)), add(i, Lit(size, i.type)), i)
        return gather(x, reshape(at, shape=(*at.type.shape, 1)), **eqn.attrs)

    return call(x, indices, body=region(rows, [x.type, indices.type], NAME), name=NAME)[0]


def is_taken(eqn):
    return eqn.op is call and eqn.attrs["name"] == NAME


def of_rows(writer, eqn):
    """The statement that calls NumPy."""
    writer.raises.add("IndexError")
    x, i = (writer.whole(writer.full(operand), operand.type) for operand in eqn.operands)
    (r,) = eqn.results
    axis = next(e for e in eqn.attrs["body"].eqns if e.op is gather).attrs["collapsed"][0]
    return writer.keep(r, f"{x}.take({i}, {axis})", r.type.shape, new=True)


def sum_of(x):
    """(what, a number) that an integer is the sum of."""
    for a, b in (made := made_by(x, add)) and (made, made[::-1]) or ():
        if isinstance(b, Lit):
            return a, int(b.value)
    return x, 0
