"""Numbers that stay what they are once they are not 0, as the status of a program with checks does.

    s2 = select(bad and s1 == 0, code, s1)    # code is never 0

Where nothing but such a number is looked at once it is not 0, a loop that carries it may end as soon as it changes
(`backends/native/early_exit.py`).
"""

import weakref

from .core import Func, Lit, Value
from .ops import OPS
from .ops.control import COUNTER, cond, groups, loop, runs_once
from .pattern import made_by
from .walk import conjuncts

# functions whose last result is such a number, and of which nothing else is looked at where that is not 0
CHECKED: weakref.WeakSet[Func] = weakref.WeakSet()
BITS = 16  # of a status, that say which check has failed; above them is what its message quotes
SELECT, EQ, ADD, MUL, OR, NE = (OPS[name] for name in ("select", "eq", "add", "mul", "or", "ne"))


def sticky_values(func, k, known=None):
    """(the values of a region that are its k-th result, or what that was before, its parameter that this begins as);
    None where the number does not stay what it is.

    known: parameter -> what it is outside of the region, of those that are the same at each trip; None where it has
    been found already that the number stays.
    """
    found, start = traced_back(func.results[k], known)
    return (found, start) if isinstance(start, Value) else None


def telling_values(func, k, known=None):
    """`sticky_values` of a region that runs once: its k-th result may also be whether such a number is not 0, and what
    it was before is None where it begins as 0."""
    x = func.results[k]
    found, start = traced_back(compared_with_0(x) or x, known)
    if isinstance(start, Value):
        return found, start
    return (found, None) if found and start is Lit(0, COUNTER) else None


def traced_back(x, known):
    """(the values that a sticky number has been, the parameter or the number that it begins as); None for the latter
    where it does not stay what it is."""
    found = set()
    while isinstance(x, Value) and x.type.shape == () and x.type.dtype == "i8":
        found.add(x)
        if x.eqn is None:
            return frozenset(found), x
        x = before(x, known)
    return frozenset(found), x if isinstance(x, Lit) else None


def compared_with_0(x):
    """What a truth says of whether it is not 0, or None."""
    operands = made_by(x, NE) or ()
    many = [y for y in operands if isinstance(y, Value)]
    return many[0] if len(many) == 1 and Lit(0, many[0].type) in operands else None


def before(x, known):
    """The number that a sticky one was before an equation, None where that may not leave it as it is."""
    eqn = x.eqn
    if eqn.op is SELECT:
        return eqn.operands[2] if known is None or sticks(eqn, known) else None
    if eqn.op is loop:
        k = eqn.results.index(x)
        return carried_on(eqn, k)[1] if sticky_body(eqn, k, known) is not None else None
    if eqn.op is cond:
        k, starts = eqn.results.index(x), set()
        for branch in eqn.attrs["branches"]:
            inner = sticky_values(branch, k, outside(branch.params, eqn.operands[1:], known))
            starts.add(None if inner is None else branch.params.index(inner[1]))
        return eqn.operands[1 + starts.pop()] if len(starts) == 1 and None not in starts else None
    return None


def sticky_body(eqn, k, known):
    """The sticky values of the body of a loop whose k-th result is such a number, None where it is none."""
    body, (_, invariants, _) = eqn.attrs["body"], groups(eqn.operands, **eqn.attrs)
    inner = sticky_values(body, k, outside(body.params[1:], invariants, known))
    return inner[0] if inner is not None and inner[1] is carried_on(eqn, k)[0] else None


def outside(params, operands, known):
    """What is known in a region of its parameters, which are operands of an equation."""
    return None if known is None else {p: known.get(x, x) for p, x in zip(params, operands)}


def carried_on(eqn, k):
    """(the parameter of the body, the operand) of the k-th number that a loop carries."""
    at, body = k - eqn.attrs["carried"], eqn.attrs["body"]
    return body.params[at], eqn.operands[at]


def sticks(eqn, known):
    """Whether a `select` gives something else than its last operand only where that is 0, and then no 0."""
    test, one, other = eqn.operands
    return never_0(known.get(one, one)) and any(says_0(t, other) for t in conjuncts(test))


def never_0(code):
    """Whether a number is known not to be 0, whatever is chosen in it."""
    chosen = made_by(code, SELECT)
    return all(map(never_0, chosen[1:])) if chosen else lowest(code) != 0


def telling_loops(func):
    """{the body of a loop: k}, of those of a function whose k-th result is sticky and, where it is not 0, makes the
    last result of the function other than 0, or True."""
    found, others, pending, met = {}, set(), [func.results[-1]], set()
    while pending:
        x = pending.pop()
        if not isinstance(x, Value) or x.eqn is None or x in met:
            continue
        met.add(x)
        eqn = x.eqn
        if eqn.op is OR:
            pending += eqn.operands
        elif (number := compared_with_0(x)) is not None:
            pending.append(number)
        elif eqn.op is loop and runs_once(eqn.attrs):
            k, body = eqn.results.index(x), eqn.attrs["body"]
            if (inner := telling_values(body, k, outside(body.params[1:], eqn.operands, {}))) is not None:
                found[body] = eqn, k
                pending += [y for p, y in zip(body.params[1:], eqn.operands) if p is inner[1]]
        elif eqn.op is loop and sticky_body(eqn, k := eqn.results.index(x), {}) is not None:
            found[eqn.attrs["body"]] = eqn, k
            pending.append(carried_on(eqn, k)[1])
        elif eqn.op is SELECT and sticks(eqn, {}):
            pending.append(eqn.operands[2])
    for eqn in func.eqns:  # one body may be of several loops
        if eqn.op is loop and found.get(eqn.attrs["body"], (eqn,))[0] is not eqn:
            others.add(eqn.attrs["body"])
    return {body: k for body, (_, k) in found.items() if body not in others}


def says_0(x, number):
    """Whether x is that a number is 0."""
    return (
        isinstance(x, Value)
        and x.eqn is not None
        and x.eqn.op is EQ
        and number in x.eqn.operands
        and Lit(0, number.type) in x.eqn.operands
    )


def lowest(x):
    """The low bits of a status, 0 where they are not known."""
    if isinstance(x, Lit):
        return int(x.value) % (1 << BITS)
    if x.type.shape == () and x.type.dtype == "i8" and made_by(x, ADD):
        many = [y for y in x.eqn.operands if isinstance(y, Value)]
        if len(many) == 1 and multiple(many[0]):
            return sum(map(lowest, x.eqn.operands)) % (1 << BITS)
    return 0


def multiple(x):
    """Whether a number has low bits of 0."""
    factors = made_by(x, MUL) or ()
    return any(isinstance(y, Lit) and int(y.value) % (1 << BITS) == 0 for y in factors)
