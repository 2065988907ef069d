"""Whether a check has failed, instead of which and what its message quotes: all that generated NumPy has to know.

    0 <= i[argmax(~(0 <= i < 8))] < 8   ->   all(0 <= i < 8)

A call in which one has failed is run again through XLA, before anything is returned or written, and that tells which.
Whether a system can be solved NumPy finds out when it solves it, and whether an index is in range when it takes rows by
it.
"""

import functools

import numpy as np

from ...backends.numpy import checked_rows, rows_of, solved
from ...ir.core import Builder, Lit
from ...ir.ops import OPS
from ...ir.passes import dce
from ...ir.pattern import made_by
from ...ir.sticky import lowest, says_0
from ...ir.types import Tensor
from ...ir.walk import conjuncts, operands_first

TRUTH = Tensor((), np.dtype(bool))
NO, YES = Lit(False, TRUTH), Lit(True, TRUTH)
AND, OR, NOT, SELECT, NE = (OPS[name] for name in ("and", "or", "not", "select", "ne"))
ALL, SLICE, RESHAPE, LU, SOLVE = (OPS[name] for name in ("reduce_and", "slice", "reshape", "lu", "solve"))
FEW = 64  # bound: equations that a condition on an index has, and more
GE, LT, AT, FIRST = (OPS[name] for name in ("ge", "lt", "dynamic_slice", "argmax"))


def decided(func, least=0):
    """`func`, whose last result is the status, with whether that is not 0 instead.

    Systems of `least` equations and more that are asked whether they can be solved are left to NumPy, which says so
    itself; and if that is all of them, rows by indices that are asked whether they are in range.
    """
    build, known, whole = Builder(func.name), regular(func, least), everywhere(func)
    rows = checked_row_reads(func, whole) if not least else {}
    known |= {test: None for test, _ in rows.values()}
    env = {p: build.param(p.type, p.hint) for p in func.params}
    with build:
        for eqn in func.eqns:
            if eqn.op is SOLVE and eqn.operands[0] in known.values():
                a, b = (env.get(x, x) for x in eqn.operands)
                env[eqn.results[0]] = solved(a, b, **eqn.attrs)
            elif eqn.results and eqn.results[0] in rows:
                x, i, size = rows[eqn.results[0]][1]
                env[eqn.results[0]] = checked_rows(eqn, env.get(x, x), env.get(i, i), size)
            else:
                build.replay(eqn, env)
                env.update((r, ALL(env[whole[r]], axes=(0,))) for r in eqn.results if r in whole)
                env.update((r, YES) for r in eqn.results if r in known)
        *results, status = (env.get(r, r) for r in func.results)
        failed = other_than_0(status)
    return dce(build.finish((*results, failed)))


def regular(func, least):
    """{whether no pivot of a matrix is 0: the matrix}, of matrices of systems that are solved."""
    matrices = {eqn.operands[0] for eqn in func.eqns if eqn.op is SOLVE}
    asked = {eqn.results[0]: without_0(eqn, least) for eqn in func.eqns if eqn.op is ALL} if matrices else {}
    return {test: matrix for test, matrix in asked.items() if matrix in matrices}


def without_0(eqn, least):
    """The matrix of `least` rows and more of whose factors no pivot is 0 where an `ALL` is true, or None."""
    (test,) = eqn.operands
    diagonal = made_by(test, NE) if len(eqn.attrs["axes"]) == test.type.ndim else None
    flat = made_by(diagonal[0], SLICE) if diagonal and diagonal[1] is Lit(0, diagonal[1].type) else None
    factors = made_by(flat[0], RESHAPE) if flat else None
    if not factors or not made_by(factors[0], LU) or factors[0] is not factors[0].eqn.results[0]:
        return None
    *batch, n, _ = factors[0].type.shape
    cut = diagonal[0].eqn.attrs
    pivots = (
        flat[0].type.shape == (*batch, n * n)
        and not any(cut["start"])
        and cut["stride"] == (*(1 for _ in batch), n + 1)
    )
    return factors[0].eqn.operands[0] if n >= least and pivots and diagonal[0].type.shape == (*batch, n) else None


def everywhere(func):
    """{a condition on the first element of a vector that does not meet it: that condition on every element}"""
    found = {}
    for eqn in func.eqns:
        test = eqn.results[0] if eqn.results else None
        if test is None or test.type is not TRUTH or not (is_elementwise(eqn) or eqn.op is RESHAPE):
            continue
        for x in elements(test):
            vector, at = x.eqn.operands
            first = made_by(at, FIRST)
            each = first and made_by(first[0], NOT)
            if each and same_test(test, each[0], x, vector):
                found[test] = each[0]
    return found


def elements(test):
    """The elements of vectors that a condition of at most `FEW` equations is about."""
    seen, found, pending = set(), [], [test]
    while pending:
        x = pending.pop()
        if x in seen or isinstance(x, Lit) or x.eqn is None:
            continue
        seen.add(x)
        if len(seen) > FEW:
            return []
        if made_by(x, AT) and x.eqn.attrs["sizes"] == (1,):
            found.append(x)
        elif made_by(x, RESHAPE) or is_elementwise(x.eqn):
            pending += x.eqn.operands[::-1]
    return found


def is_elementwise(eqn):
    return "elementwise" in eqn.op.traits


def same_test(test, each, element, vector):
    """Whether `each` says of every element of a vector what `test` says of one."""
    seen, pending = set(), [(made_by(test, RESHAPE) or (test,)) + (each,)]
    while pending:
        x, y = pending.pop()
        if (x, y) in seen:
            continue
        seen.add((x, y))
        if made_by(x, RESHAPE):
            (x,) = x.eqn.operands
        if x is element or isinstance(x, Lit) or isinstance(y, Lit):
            if (
                y is not vector
                if x is element
                else not (isinstance(x, Lit) and isinstance(y, Lit) and x.value == y.value)
            ):
                return False
            continue
        a, b = x.eqn, y.eqn
        if a is None or b is None or a.op is not b.op or a.attrs != b.attrs or not is_elementwise(a):
            return False
        pending += zip(a.operands, b.operands, strict=True)
    return True


def checked_row_reads(func, whole):
    """{rows that are taken by indices: (whether these are in range, (x, indices, length of the axis))}"""
    asked, found = {asks(each): test for test, each in whole.items()}, {}
    for eqn in func.eqns:
        rows = rows_of(eqn)
        if rows is not None and (unreshaped(rows[1]), rows[2]) in asked:
            found[eqn.results[0]] = asked[unreshaped(rows[1]), rows[2]], rows
    return found


def asks(each):
    """(indices, length) if a condition is that they are in [-length, length), else None."""
    low, high = (both := made_by(each, AND)) and [made_by(x, op) for op, x in zip((GE, LT), both)] or (None, None)
    if not (
        low
        and high
        and unreshaped(low[0]) is unreshaped(high[0])
        and isinstance(low[1], Lit)
        and isinstance(high[1], Lit)
    ):
        return None
    return (unreshaped(low[0]), int(high[1].value)) if low[1].value == -high[1].value else None


def unreshaped(x):
    """What a value is a reshape of."""
    while made_by(x, RESHAPE):
        (x,) = x.eqn.operands
    return x


def other_than_0(status):
    """Whether a number is not 0, as an operand."""
    found = {}
    for x in operands_first(
        [status], lambda x: () if lowest(x) else made_by(x, SELECT)[1:] if made_by(x, SELECT) else ()
    ):
        if lowest(x):
            found[x] = YES
        elif isinstance(x, Lit):
            found[x] = Lit(bool(x.value), TRUTH)
        elif not made_by(x, SELECT):
            found[x] = NE(x, Lit(0, x.type))
        else:
            condition, one, other = x.eqn.operands
            one, unknown = found[one], found[other]
            conditions = map(without_double_not, conjuncts(condition))
            if one is YES:  # where the other is not 0, it says so itself
                conditions = (c for c in conditions if not says_0(c, other))
            found[x] = select_truth(conjunction([*conditions]), one, unknown)
    return found[status]


def conjunction(conditions):
    """Whether all of them are true, as an operand."""
    if NO in conditions:
        return NO
    return functools.reduce(AND, whole) if (whole := [c for c in conditions if c is not YES]) else YES


def turned(x):
    """The opposite of a truth."""
    if isinstance(x, Lit):
        return YES if x is NO else NO
    return made_by(x, NOT)[0] if made_by(x, NOT) else NOT(x)


def select_truth(condition, one, other):
    """One truth or the other."""
    if condition is YES or one is other:
        return one
    if condition is NO:
        return other
    if one is YES:
        return condition if other is NO else OR(condition, other)
    if one is NO:
        return NO if other is NO else turned(condition) if other is YES else AND(turned(condition), other)
    if other is NO:
        return AND(condition, one)
    return OR(turned(condition), one) if other is YES else SELECT(condition, one, other)


def without_double_not(x):
    """A truth, without what is said twice of it: not not."""
    return turned(*made_by(x, NOT)) if made_by(x, NOT) else x
