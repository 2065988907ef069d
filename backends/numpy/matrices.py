"""Functions of matrices as single calls of NumPy's, which raise LinAlgError where the ops give NaN.

Of systems, an equation says that whether they can be solved is left to NumPy (`solved`).
"""

from ...ir.ops.control import call, region
from ...ir.ops.dense import cholesky, solve, triangular_solve
from ...ir.ops.spectral import eigh, eigvals, eigvalsh, svd
from ...ir.sample import SAMPLE

NAME = "solved"


def solved(a, b, *, transpose):
    """`solve`, where what is generated may raise LinAlgError."""
    body = region(lambda a, b: solve(a, b, transpose=transpose), [a.type, b.type], NAME)
    return call(a, b, body=body, name=NAME)[0]


def is_solved(eqn):
    return eqn.op is call and eqn.attrs["name"] == NAME


def of_solved(eqn, a, b):
    turned = ".mT" if eqn.attrs["body"].eqns[0].attrs["transpose"] else ""
    return f"np.linalg.solve({a}{turned}, {b})"


def values_and_vectors(name):
    return lambda eqn, x: f"np.linalg.{name}({x}, '{'L' if eqn.attrs['lower'] else 'U'}')"


def singular(eqn, x):
    return (
        f"np.linalg.svd({x}, {eqn.attrs['full_matrices']})"
        if eqn.attrs["compute_uv"]
        else f"np.linalg.svd({x}, compute_uv=False),"
    )


def is_substituted(eqn):
    """Whether an equation is a triangular system of any size, which NumPy solves: its factors are the matrix itself,
    if that is an upper one."""
    return eqn.op is triangular_solve and SAMPLE.get() is not None


def of_substituted(eqn, a, b):
    """As `looped.substituted`. A lower matrix is an upper one from its end."""
    left, transpose, unit = (eqn.attrs[name] for name in ("left", "transpose", "unit"))
    m = f"{a}.mT" if transpose == left else a
    m, b = f"{m}.conj()" if eqn.attrs["conj"] else m, b if left else f"{b}.mT"
    down = eqn.attrs["lower"] == (transpose != left)
    side, apart = ("tril", "-1") if down else ("triu", "1")
    t = eqn.operands[0].type
    ones = f"np.eye({t.shape[-1]}, dtype=np.{t.dtype.name})"
    m = f"(np.{side}({m}, {apart}) + {ones})" if unit else f"np.{side}({m})"
    m, b = (f"{m}[..., ::-1, ::-1]", f"{b}[..., ::-1, :]") if down else (m, b)
    x = f"np.linalg.solve({m}, {b})" + ("[..., ::-1, :]" if down else "")
    return x if left else f"{x}.mT"


TEXTS = {
    cholesky: lambda eqn, x: f"np.linalg.cholesky({x})",
    eigh: values_and_vectors("eigh"),
    eigvalsh: values_and_vectors("eigvalsh"),
    eigvals: lambda eqn, x: f"np.linalg.eigvals({x}).astype(np.{eqn.results[0].type.dtype.name})",
    svd: singular,
    call: of_solved,
}


def of_matrices(writer, eqn):
    """The statement that calls NumPy."""
    writer.raises.add("LinAlgError")
    text = of_substituted if is_substituted(eqn) else TEXTS[eqn.op]
    text = text(eqn, *[writer.whole(writer.full(x), x.type) for x in eqn.operands])
    lines = [writer.keep(r, "", r.type.shape, new=True)[0].removesuffix(" = ") for r in eqn.results]
    return [f"{', '.join(lines)}{',' if len(lines) == 1 and eqn.op is svd else ''} = {text}"]
