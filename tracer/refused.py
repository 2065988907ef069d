"""Whether any check of a program has failed, for less than it costs to know which: what a call asks that runs again where one has.

    select(0 <= i[argmax(~(0 <= i < 8))] < 8, 0, quoted * 65536 + 1)   ->   all(0 <= i < 8)

NumPy refuses an index out of range itself, so where rows are taken by the very indices that are checked, nothing is left to ask.
"""

from ..ir.core import Builder, Func, Lit, Value
from ..ir.ops import OPS
from ..ir.passes.dce import dce
from .status import BITS, PASSED


def conditions(func):
    """-> (func with bools that hold where nothing has failed in the place of its last result, the status; {the result of a gather that
    may refuse: its indices as they come}).
    """
    build = Builder(func.name)
    with build:
        *values, status = build.inline(func, [build.param(p.type, p.hint) for p in func.params])
        asked = [whole(c) for c in passing(status)]
    made = dce(build.finish((*values, *asked)))
    rows, asked = {}, list(made.results[len(values) :])
    for eqn in made.eqns:
        found = refusing(eqn, made.results[len(values) :])
        if found is not None:
            rows[eqn.results[0]], done = found
            asked = [c for c in asked if c is not done]
    return Func(func.name, made.params, made.eqns, (*made.results[: len(values)], *asked)), rows


def passing(status):
    """Bools that hold together where a status is 0."""
    if isinstance(status, Lit):
        return [] if status.value == 0 else [Lit(False, status.type.like(dtype=bool))]
    if made_by(status, "select"):
        test, yes, no = status.eqn.operands
        if test.type.shape == () and nonzero(no):
            return [test, *passing(yes)]
        if test.type.shape == () and nonzero(yes):
            return [*passing(no), *denied(test, no)]
    return [OPS["eq"](status, PASSED)]


def denied(test, before):
    """Bools that hold together where a test does not, given that `before` is 0, which the test may ask too."""
    if made_by(test, "not"):
        return [test.eqn.operands[0]]
    if made_by(test, "and"):
        left = [x for x in test.eqn.operands if not (made_by(x, "eq") and x.eqn.operands[0] is before and number(x.eqn.operands[1], 0))]
        if len(left) == 1:
            return denied(left[0], before)
    return [OPS["not"](test)]


def nonzero(status):
    """Whether a status is that of a check that has failed, whatever it quotes."""
    if isinstance(status, Lit):
        return status.value != 0
    if made_by(status, "select"):
        return nonzero(status.eqn.operands[1]) and nonzero(status.eqn.operands[2])
    if made_by(status, "add"):
        quoted, number = status.eqn.operands
        scaled = made_by(quoted, "mul") and isinstance(quoted.eqn.operands[1], Lit) and quoted.eqn.operands[1].value % (1 << BITS) == 0
        return scaled and isinstance(number, Lit) and number.value % (1 << BITS) != 0
    return False


def made_by(x, name):
    return isinstance(x, Value) and x.eqn is not None and x.eqn.op is OPS[name]


def whole(test):
    """A condition on the first element that does not meet it, as one on all elements."""
    for x in elements(test, set()):
        flat, at = x.eqn.operands
        if x.eqn.attrs["sizes"] == (1,) and made_by(at, "argmax") and made_by(at.eqn.operands[0], "not"):
            each = at.eqn.operands[0].eqn.operands[0]
            if alike(test, each, x, flat):
                return OPS["reduce_and"](each, axes=(0,))
    return test


def elements(test, seen):
    """The elements of vectors that a condition is about."""
    if isinstance(test, Lit) or test.eqn is None or test in seen:
        return
    seen.add(test)
    if made_by(test, "dynamic_slice") and len(test.eqn.operands) == 2:
        yield test
    elif "elementwise" in test.eqn.op.traits or made_by(test, "reshape"):
        for x in test.eqn.operands:
            yield from elements(x, seen)


def alike(test, each, element, flat):
    """Whether `each` says of every element of `flat` what `test` says of one."""
    if made_by(test, "reshape"):
        test = test.eqn.operands[0]
    if isinstance(test, Lit):
        return isinstance(each, Lit) and each.value == test.value
    if test is element:
        return each is flat
    if isinstance(each, Lit) or test.eqn is None or each.eqn is None or "elementwise" not in test.eqn.op.traits or test.eqn.op is not each.eqn.op:
        return False
    return test.eqn.attrs == each.eqn.attrs and all(alike(a, b, element, flat) for a, b in zip(test.eqn.operands, each.eqn.operands, strict=True))


def refusing(eqn, asked):
    """-> (indices, the condition that all of them are in range) of rows that NumPy would take by these, and refuse others; else None."""
    if eqn.op is not OPS["gather"]:
        return None
    operand, index = eqn.operands
    index = unshaped(index)
    if not made_by(index, "select") or len(eqn.attrs["collapsed"]) != 1:
        return None
    test, back, given = index.eqn.operands
    size = operand.type.shape[eqn.attrs["collapsed"][0]]
    below = made_by(test, "lt") and test.eqn.operands[0] is given and number(test.eqn.operands[1], 0)
    base, offset = sum_of(given)
    if not below or sum_of(back) != (base, offset + size):
        return None
    for c in asked:
        if made_by(c, "reduce_and") and c.eqn.operands[0].type.size == given.type.size and about(c.eqn.operands[0], given, size):
            return given, c
    return None


def about(each, given, size):
    """Whether a condition is that `given` lies in [-size, size), as NumPy has it."""
    if not made_by(each, "and"):
        return False
    low, high = each.eqn.operands
    if not (made_by(low, "ge") and made_by(high, "lt")):
        return False
    (x, least), (y, most) = low.eqn.operands, high.eqn.operands
    return unshaped(x) is unshaped(y) is unshaped(given) and number(least, -size) and number(most, size)


def sum_of(x):
    """(what, a number) that a value is the sum of."""
    if made_by(x, "add"):
        a, b = x.eqn.operands
        if isinstance(b, Lit):
            return a, int(b.value)
        if isinstance(a, Lit):
            return b, int(a.value)
    return x, 0


def unshaped(x):
    """What a value is a reshape of."""
    while made_by(x, "reshape"):
        x = x.eqn.operands[0]
    return x


def number(x, value):
    return isinstance(x, Lit) and x.value == value

