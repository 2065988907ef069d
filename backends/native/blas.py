"""Products within nests by the BLAS that NumPy came with: those of many multiplications, for which a loop is no match.

The routines are called where the nest comes to them, on memory that lies together, by the C interface with 64-bit sizes
(https://netlib.org/blas/blast-forum/cblas.tgz), which NumPy's own wheels have under names that say so. Where they are
not there, such a product is none for a nest.
"""

import functools
from typing import NamedTuple

from ...ir.ops import OPS
from .build import library_address
from .code import IndexForm, llvm_literal, llvm_type
from .elements import offset
from .reduce import multiplications
from .values import Memory, Moved, NotNative

DOT = OPS["dot_general"]
NAMES = "scipy_cblas_{}64_", "cblas_{}64_"  # fact: of OpenBLAS with 64-bit sizes; others may take them as 32 bits
ROWS, PLAIN, TRANSPOSED = 101, 111, 112  # fact: the numbers of CblasRowMajor, CblasNoTrans and CblasTrans
READ = 8  # bound: times that each element of a matrix is read, so that it is written down for a routine
LARGE = "a product of {} multiplications a trip, for which there are libraries"


@functools.cache
def routine(name):
    """The symbol of a routine, None where it is not there."""
    return next((symbol for form in NAMES if library_address(symbol := form.format(name)) is not None), None)


def is_made_by_blas(eqn):
    """Whether an equation is the product of a matrix with a vector or a matrix, of floats, that a routine makes."""
    if eqn.op is not DOT or any(eqn.attrs["batch"]) or any(len(axes) != 1 for axes in eqn.attrs["contract"]):
        return False
    types = [*(x.type for x in eqn.operands), eqn.results[0].type]
    ranks = sorted(t.ndim for t in types[:2])
    if ranks not in ([1, 2], [2, 2]) or len({t.dtype for t in types}) > 1 or types[0].dtype.str not in ("<f4", "<f8"):
        return False
    return routine(letter(types[0].dtype) + ("gemm" if ranks == [2, 2] else "gemv")) is not None


def letter(d):
    return {4: "s", 8: "d"}[d.itemsize]


def product_by_blas(region, eqn, t, xs):
    """Emit a product by a routine -> the Rep of the result. t: its type; xs: the Reps of the operands."""
    n = multiplications(eqn)
    factors = [factor_in_memory(region.code, x) for x in xs]
    for k, x in enumerate(xs):
        if factors[k] is None and x.type.ndim == 2 and n < READ * x.type.size:
            raise NotNative(LARGE.format(n))
        factors[k] = factors[k] or factor_in_memory(region.code, region.materialised(x))
    cell = region.own_cell(eqn.results[0], xs)
    region.flush()
    call_blas(region.code, eqn, factors, cell.pointer)
    cell.written()
    return Memory(t, cell)


class Factor(NamedTuple):
    """Where an operand lies. step: elements from one row to the next, or from one element of a vector; flipped: whether
    it is the columns of a matrix that lie together."""

    pointer: str
    step: int
    flipped: bool = False


def factor_in_memory(code, x):
    """The Factor of what lies in memory, maybe as a part of something larger; None of what a routine cannot read."""
    shape, names = x.type.shape, [code.name() for _ in x.type.shape]
    index = tuple(map(IndexForm.of, names))
    while isinstance(x, Moved):
        index, x = x.move(index), x.operand
    if not isinstance(x, Memory) or not x.latest:
        return None
    place = offset(x.type.shape, index)
    steps = [place.multiple(name) for name in names]
    for name in names:
        place = place.without(name)
    found = read_along(shape, steps)
    return found and Factor(code.address(x.cell.pointer, x.type.dtype, place), *found)


def read_along(shape, steps):
    """(step, whether columns lie together) of an array whose elements lie so many apart; None if neither its rows nor
    its columns lie together, one after the other."""
    if len(shape) == 1:
        return (max(steps[0], 1),) if steps[0] > 0 or shape[0] == 1 else None
    for axis in (1, 0):
        (count, length), (far, near) = (shape[1 - axis], shape[axis]), (steps[1 - axis], steps[axis])
        if (near == 1 or length == 1) and (far >= length or count == 1):
            return max(far, length), axis == 0
    return None


def call_blas(code, eqn, factors, out):
    """Emit the call. factors: those of the operands; out: a pointer to the result, in row-major order."""
    (a, b), d = (z.type for z in eqn.operands), eqn.results[0].type.dtype
    (i,), (j,) = eqn.attrs["contract"]
    way = lambda factor, last: PLAIN if last != factor.flipped else TRANSPOSED
    x, y = factors
    if a.ndim == 2 and b.ndim == 2:
        sizes = a.shape[1 - i], b.shape[1 - j], a.shape[i]
        call_routine(code, "gemm", d, [way(x, i == 1), way(y, j == 0)], sizes, factors, 0, Factor(out, sizes[1]))
        return
    if a.ndim == 1:
        (x, a, i), y = (y, b, j), x
    nothing = llvm_literal(0, d)  # added to what is there: a NaN of before, times 0, would stay one
    code.count_up("0", a.shape[1 - i], lambda t: code.store(out, d, IndexForm.of(t), nothing) or ())
    sizes = a.shape[::-1] if x.flipped else a.shape
    call_routine(code, "gemv", d, [way(x, i == 1)], sizes, [x, y], 1, Factor(out, 1))


def call_routine(code, name, d, ways, sizes, factors, beta, out):
    """A call of a routine. ways, sizes: which factors are transposed, and the sizes that it asks for; beta: times what
    is in `out`, which is added."""
    t = llvm_type(d)
    numbers = lambda values, type: [f"{type} {n}" for n in values]
    memory = lambda factor: [f"ptr {factor.pointer}", f"i64 {factor.step}"]
    scale = lambda n: f"{t} {llvm_literal(n, d)}"
    arguments = [*numbers([ROWS, *ways], "i32"), *numbers(sizes, "i64"), scale(1.0)]
    arguments += [text for factor in factors for text in memory(factor)] + [scale(float(beta)), *memory(out)]
    symbol = routine(letter(d) + name)
    code.declared[symbol] = f"declare void @{symbol}({', '.join(x.partition(' ')[0] for x in arguments)})"
    code.do(f"call void @{symbol}({', '.join(arguments)})")
