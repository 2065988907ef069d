"""Whether a check has failed, instead of which and what its message quotes: all that generated NumPy has to know.

    0 <= i[argmax(~(0 <= i < 8))] < 8   ->   all(0 <= i < 8)

A call in which one has failed is run again through XLA, before anything is returned or written, and that tells which. Whether a
system can be solved NumPy finds out when it solves it, and whether an index is in range when it takes rows by it.
"""

import numpy as np

from ..backends.numpy import rows_of, solved, taken
from ..ir.core import Builder, Lit, Value
from ..ir.ops import OPS
from ..ir.passes import dce
from ..ir.pattern import made_by
from ..ir.types import Tensor
from .status import BITS, STATUS

TRUTH = Tensor((), np.dtype(bool))
NO, YES = Lit(False, TRUTH), Lit(True, TRUTH)
AND, OR, NOT, SELECT, EQ, NE, ADD, MUL = (OPS[name] for name in ("and", "or", "not", "select", "eq", "ne", "add", "mul"))
ALL, SLICE, RESHAPE, LU, SOLVE = (OPS[name] for name in ("reduce_and", "slice", "reshape", "lu", "solve"))
GE, LT, AT, FIRST = (OPS[name] for name in ("ge", "lt", "dynamic_slice", "argmax"))


def decided(func, least=0):
    """`func`, whose last result is the status, with whether that is not 0 instead.

    Systems of `least` equations and more that are asked whether they can be solved are left to NumPy, which says so itself; and if
    that is all of them, rows by indices that are asked whether they are in range.
    """
    build, known, whole = Builder(func.name), regular(func, least), everywhere(func)
    rows = refused(func, whole) if not least else {}
    known |= {test: None for test, _ in rows.values()}
    env = {p: build.param(p.type, p.hint) for p in func.params}
    with build:
        for eqn in func.eqns:
            if eqn.op is SOLVE and eqn.operands[0] in known.values():
                a, b = (env.get(x, x) for x in eqn.operands)
                env[eqn.results[0]] = solved(a, b, **eqn.attrs)
            elif eqn.results[0] in rows:
                x, i, size = rows[eqn.results[0]][1]
                env[eqn.results[0]] = taken(eqn, env.get(x, x), env.get(i, i), size)
            else:
                build.replay(eqn, env)
                env.update((r, ALL(env[whole[r]], axes=(0,))) for r in eqn.results if r in whole)
                env.update((r, YES) for r in eqn.results if r in known)
        *results, status = (env.get(r, r) for r in func.results)
        failed = other_than_0(status)
    return dce(build.finish((*results, failed)))


def regular(func, least):
    """{whether no pivot of a matrix is 0: the matrix}, of matrices of systems that are solved."""
    matrices, found = {eqn.operands[0] for eqn in func.eqns if eqn.op is SOLVE}, {}
    for eqn in func.eqns:
        if eqn.op is not ALL or len(eqn.attrs["axes"]) != eqn.operands[0].type.ndim:
            continue
        diagonal = made_by(eqn.operands[0], NE)
        flat = diagonal and diagonal[1] is Lit(0, diagonal[1].type) and made_by(diagonal[0], SLICE)
        factors = flat and made_by(flat[0], RESHAPE)
        made = factors and factors[0].eqn
        if made is None or made.op is not LU or factors[0] is not made.results[0] or made.operands[0] not in matrices:
            continue
        *batch, n, _ = factors[0].type.shape
        cut = diagonal[0].eqn.attrs
        if n >= least and flat[0].type.shape == (*batch, n * n) and not any(cut["start"]) and cut["stride"] == (*(1 for _ in batch), n + 1):
            found |= {eqn.results[0]: made.operands[0]} if diagonal[0].type.shape == (*batch, n) else {}
    return found


def everywhere(func):
    """{a condition on the first element of a vector that does not meet it: that condition on every element}"""
    found = {}
    for eqn in func.eqns:
        test = eqn.results[0]
        if test.type is not TRUTH or not (elementwise(eqn) or eqn.op is RESHAPE):
            continue
        for x in elements(test):
            vector, at = x.eqn.operands
            first = made_by(at, FIRST)
            each = first and made_by(first[0], NOT)
            if each and alike(test, each[0], x, vector):
                found[test] = each[0]
    return found


def elements(test):
    """The elements of vectors that a condition is about."""
    if isinstance(test, Lit) or test.eqn is None:
        return
    if made_by(test, AT) and test.eqn.attrs["sizes"] == (1,):
        yield test
    elif made_by(test, RESHAPE) or elementwise(test.eqn):
        yield from {x: None for y in test.eqn.operands for x in elements(y)}


def elementwise(eqn):
    return "elementwise" in eqn.op.traits


def alike(test, each, element, vector):
    """Whether `each` says of every element of a vector what `test` says of one."""
    if made_by(test, RESHAPE):
        test = test.eqn.operands[0]
    if test is element:
        return each is vector
    if isinstance(test, Lit) or isinstance(each, Lit):
        return isinstance(test, Lit) and isinstance(each, Lit) and test.value == each.value
    a, b = test.eqn, each.eqn
    if a is None or b is None or a.op is not b.op or a.attrs != b.attrs or not elementwise(a):
        return False
    return all(alike(x, y, element, vector) for x, y in zip(a.operands, b.operands, strict=True))


def refused(func, whole):
    """{rows that are taken by indices: (whether these are in range, (x, indices, length of the axis))}"""
    asked, found = {asks(each): test for test, each in whole.items()}, {}
    for eqn in func.eqns:
        rows = rows_of(eqn)
        if rows is not None and (flat(rows[1]), rows[2]) in asked:
            found[eqn.results[0]] = asked[flat(rows[1]), rows[2]], rows
    return found


def asks(each):
    """(indices, length) if a condition is that they are in [-length, length), else None."""
    low, high = (both := made_by(each, AND)) and [made_by(x, op) for op, x in zip((GE, LT), both)] or (None, None)
    if not (low and high and flat(low[0]) is flat(high[0]) and isinstance(low[1], Lit) and isinstance(high[1], Lit)):
        return None
    return (flat(low[0]), int(high[1].value)) if low[1].value == -high[1].value else None


def flat(x):
    """What a value is a reshape of."""
    while made_by(x, RESHAPE):
        (x,) = x.eqn.operands
    return x


def other_than_0(x):
    """Whether a number is not 0, as an operand."""
    if lowest(x):
        return YES
    if isinstance(x, Lit):
        return Lit(bool(x.value), TRUTH)
    if x.eqn is None or x.eqn.op is not SELECT:
        return NE(x, Lit(0, x.type))
    condition, one, other = x.eqn.operands
    one, unknown = other_than_0(one), other_than_0(other)
    conditions = [c for c in conjuncts(condition) if not (one is YES and says_0(c, other))]  # where the other is not 0, it says so itself
    condition = NO if NO in conditions else YES
    for c in conditions:
        condition = c if condition is YES else condition if condition is NO or c is YES else AND(condition, c)
    return chosen(condition, one, unknown)


def turned(x):
    """The opposite of a truth."""
    if isinstance(x, Lit):
        return YES if x is NO else NO
    return made_by(x, NOT)[0] if made_by(x, NOT) else NOT(x)


def chosen(condition, one, other):
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


def conjuncts(x):
    if isinstance(x, Value) and x.eqn is not None and x.eqn.op is AND:
        return [c for y in x.eqn.operands for c in conjuncts(y)]
    return [turned(made_by(x, NOT)[0])] if made_by(x, NOT) else [x]


def says_0(x, number):
    """Whether x is that a number is 0."""
    return isinstance(x, Value) and x.eqn is not None and x.eqn.op is EQ and number in x.eqn.operands and Lit(0, number.type) in x.eqn.operands


def lowest(x):
    """The low bits of a status, 0 where they are not known."""
    if isinstance(x, Lit):
        return int(x.value) % (1 << BITS)
    if x.type is STATUS and x.eqn is not None and x.eqn.op is ADD:
        many = [y for y in x.eqn.operands if isinstance(y, Value)]
        if len(many) == 1 and multiple(many[0]):
            return sum(map(lowest, x.eqn.operands)) % (1 << BITS)
    return 0


def multiple(x):
    """Whether a number has low bits of 0."""
    return x.eqn is not None and x.eqn.op is MUL and any(isinstance(y, Lit) and int(y.value) % (1 << BITS) == 0 for y in x.eqn.operands)
