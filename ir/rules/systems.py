"""Systems whose matrix is known, by the equation it comes from, to be a triangle: they need no factorisation."""

from ..core import Value
from ..ops.dense import cholesky, lu, qr, solve, triangular_solve
from ..ops.elementwise import ne
from ..ops.shape import reshape, slice_, transpose
from ..pattern import holes
from ..rewrite import RuleSet

SYSTEMS = RuleSet("systems")
rule = SYSTEMS.rule
x, y = holes("x y")
t, s, p, q, d = holes("t s p q d")  # attributes

FACTORS = """
  %0 = mul %a, %a                            : f64[3,3]
  %1 = add %0, 1.0                           : f64[3,3]
  %2, %r = qr %1                             : f64[3,3], f64[3,3]
  %3 = dot_general %r, %r contract=[[0],[0]] : f64[3,3]
  %l = cholesky %3                           : f64[3,3]
  %t = transpose %l perm=[1,0]               : f64[3,3]"""


def program(line):
    """One that ends in an equation on an upper triangle r, a lower one l, and the transpose t of that."""
    return f"func f(%a: f64[3,3], %b: f64[3,2]) -> {line.rpartition(' ')[2]} {{{FACTORS}\n  {line}\n  return %x\n}}"


def triangle(x):
    """(the matrix that is kept in memory, whether it is the lower triangle, whether x is its transpose), or None."""
    turned = False
    while isinstance(x, Value) and x.eqn is not None and x.eqn.op is transpose and swaps(x.eqn.attrs["perm"]):
        x, turned = x.eqn.operands[0], not turned
    eqn = x.eqn if isinstance(x, Value) else None
    if eqn is not None and eqn.op is cholesky:
        return x, True, turned
    return (x, False, turned) if eqn is not None and eqn.op is qr and x is eqn.results[1] else None


def swaps(perm):
    """Whether the last two axes change places, and no others."""
    n = len(perm)
    return n > 1 and tuple(perm) == (*range(n - 2), n - 1, n - 2)


# Row interchanges round in another way, and may find a pivot of 0 where one is below the smallest float.
@rule(solve(x, y, transpose=t), exact=False, cases=[
    program(f"%x = solve %{m}, %b transpose={turned} : f64[3,2]") for m in "rlt" for turned in (False, True)
], never=[program("%x = solve %3, %b transpose=False : f64[3,2]")])  # fmt: skip
def by_substitution(x, y, t):
    found = triangle(x)
    if found is None:
        return None
    x, lower, turned = found
    return triangular_solve(x, y, lower=lower, transpose=turned != t)


def is_diagonal(x, s, p, q, d):
    """Whether elements p to q of x in steps of d, x being in rows, are the diagonal of a matrix."""
    shape = x.type.shape
    return (
        len(shape) == 2
        and shape[0] == shape[1]
        and (s, p, q, d) == ((x.type.size,), (0,), (x.type.size,), (shape[0] + 1,))
    )


@rule(ne(slice_(reshape(x, shape=s), start=p, stop=q, stride=d), 0.0), exact=False, where=is_diagonal, cases=[
    program(f"""%4, %5, %6 = lu %{m}                         : f64[3,3], i32[3], i32[3]
  %7 = reshape %4 shape=[9]                    : f64[9]
  %8 = slice %7 start=[0] stop=[9] stride=[4] : f64[3]
  %x = ne %8, 0.0 : bool[3]""") for m in "rlt"
], never=[program("""%4, %5, %6 = lu %3                         : f64[3,3], i32[3], i32[3]
  %7 = reshape %4 shape=[9]                    : f64[9]
  %8 = slice %7 start=[0] stop=[9] stride=[4] : f64[3]
  %x = ne %8, 0.0 : bool[3]""")])  # fmt: skip
def pivots(x, s, p, q, d):
    """The pivots of a triangle are those on its diagonal."""
    made = x.eqn if isinstance(x, Value) else None
    found = triangle(made.operands[0]) if made is not None and made.op is lu and x is made.results[0] else None
    return None if found is None else ne(slice_(reshape(found[0], shape=s), start=p, stop=q, stride=d), 0.0)
