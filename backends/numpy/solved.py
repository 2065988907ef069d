"""Systems of which NumPy itself says whether they can be solved: as an equation, and as text."""

from ...ir.ops.control import call, region
from ...ir.ops.dense import solve

NAME = "solved"


def solved(a, b, *, transpose):
    """`solve`, where what is generated may raise LinAlgError."""
    body = region(lambda a, b: solve(a, b, transpose=transpose), [a.type, b.type], NAME)
    return call(a, b, body=body, name=NAME)[0]


def is_solved(eqn):
    return eqn.op is call and eqn.attrs["name"] == NAME


def emit_solved(writer, eqn):
    """The statement."""
    a, b = (writer.whole(writer.full(x), x.type) for x in eqn.operands)
    turned = ".mT" if eqn.attrs["body"].eqns[0].attrs["transpose"] else ""
    writer.raises.add("LinAlgError")
    (r,) = eqn.results
    return writer.keep(r, f"np.linalg.solve({a}{turned}, {b})", r.type.shape, new=True)
