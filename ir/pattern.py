"""Patterns: calls of ops on holes, and every way they fit a program.

    x, y = holes("x y")
    log1p(exp(x))                 # fits %1 = log1p %0 where %0 = exp of anything
    x + -y                        # fits in both orders: add commutes
    transpose(x, perm=holes("p")) # attributes are held as operands are

Same name, same value. Numbers are splats of exactly that value.
"""

from .core import Lit, Operand, Value
from .source import hint_name


class Hole(Operand):
    """Stands for one operand (or one attribute), the same wherever its name appears."""

    __slots__ = ("name", "kinds", "literal", "rest", "type")

    def __init__(self, name, kinds=None, literal=False, rest=False, type=None):
        self.name, self.kinds, self.literal, self.rest, self.type = name, kinds, literal, rest, type

    def accepts(self, x):
        if self.type is not None and x.type is not self.type:
            return False
        return (not self.literal or isinstance(x, Lit)) and (self.kinds is None or x.type.kind in self.kinds)

    def apply(self, op, operands, attrs):
        return Pat(op, operands, attrs)

    def __repr__(self):
        return self.name


class Pat(Operand):
    """A call of `op` on patterns, its result `index`; numbers among its operands stand for splats of exactly that
    value."""

    __slots__ = ("op", "operands", "attrs", "index")

    def __init__(self, op, operands, attrs, index=0):
        self.op, self.operands, self.attrs, self.index = op, operands, attrs, index

    def apply(self, op, operands, attrs):
        return Pat(op, operands, attrs)

    def __repr__(self):
        return text_of(self)


def holes(names, kinds=None):
    """`holes("x y p")`; `kinds` restricts the operands they accept to those dtype kinds."""
    made = tuple(Hole(name, kinds) for name in names.split())
    return made if len(made) > 1 else made[0]


def literals(names, kinds=None):
    """Holes that accept splats only; a replacement sees the `Lit`."""
    made = tuple(Hole(name, kinds, literal=True) for name in names.split())
    return made if len(made) > 1 else made[0]


def rest(name):
    """A hole for all remaining operands of a variadic op, bound as a tuple."""
    return Hole(name, rest=True)


def pattern_of(func, typed=False):
    """A function of one result as a pattern over its parameters: a rule can be stated by two functions of the same
    names.

    typed: the parameters stand for operands of their types alone.
    """
    env = {p: Hole(hint_name(p) or f"x{i}", type=p.type if typed else None) for i, p in enumerate(func.params)}
    read = lambda x: x.value.item() if isinstance(x, Lit) else env[x]
    for eqn in func.eqns:
        operands = tuple(map(read, eqn.operands))
        env.update((r, Pat(eqn.op, operands, eqn.attrs, i)) for i, r in enumerate(eqn.results))
    (result,) = func.results
    return read(result)


_INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2), "pow": ("**", 4)}


def text_of(p, tight=0):
    """A pattern as it was written."""
    if not isinstance(p, Pat):
        return f"*{p}" if isinstance(p, Hole) and p.rest else repr(p)
    if p.op.name in _INFIX and len(p.operands) == 2:
        sign, level = _INFIX[p.op.name]
        text = f"{text_of(p.operands[0], level)} {sign} {text_of(p.operands[1], level + 1)}"
        return f"({text})" if level < tight else text
    if p.op.name == "neg":
        return f"-{text_of(p.operands[0], 3)}"
    attrs = [f"{k}={v!r}" for k, v in p.attrs.items() if isinstance(v, Hole) or v != p.op.attrs[k]]
    return f"{p.op.name}({', '.join([text_of(x) for x in p.operands] + attrs)})"


# -- matching --------------------------------------------------------------------------------------


def match(pattern, x, bound):
    """Every way `pattern` fits the operand x, as dicts that extend `bound`: hole name -> operand, Pat -> value."""
    if pattern in bound:  # a call that the pattern reads twice: the same call is the same value
        if bound[pattern] is x:
            yield bound
    elif isinstance(pattern, Pat):
        eqn = x.eqn if isinstance(x, Value) else None
        if eqn is not None and eqn.op is pattern.op and eqn.results[pattern.index] is x:
            yield from match_call(pattern, eqn.operands, eqn.attrs, {**bound, pattern: x})
    elif isinstance(pattern, Hole):
        known = bound.get(pattern.name)
        if known is x:
            yield bound
        elif known is None and pattern.accepts(x):
            yield {**bound, pattern.name: x}
    elif is_number(x, pattern):
        yield bound


def match_call(pattern, operands, attrs, bound):
    """The same for a call: its operands, in both orders where the op commutes, and its attributes."""
    for key, p in pattern.attrs.items():
        if isinstance(p, Hole):
            if bound.setdefault(p.name, attrs[key]) != attrs[key]:
                return
        elif p != attrs[key]:
            return
    yield from _match_all(pattern.operands, operands, bound)
    if pattern.op.commutative and operands[0] is not operands[1]:
        yield from _match_all(pattern.operands, operands[::-1], bound)


def _match_all(patterns, operands, bound):
    if not patterns:
        if not operands:
            yield bound
    elif isinstance(patterns[0], Hole) and patterns[0].rest:
        if bound.get(patterns[0].name, operands) == operands:
            yield {**bound, patterns[0].name: operands}
    elif operands:
        for found in match(patterns[0], operands[0], bound):
            yield from _match_all(patterns[1:], operands[1:], found)


def is_number(x, number):
    """Whether x is the splat of exactly this number: bools are no integers, -0.0 is not 0.0."""
    if not isinstance(x, Lit) or isinstance(number, bool) != (x.type.kind == "b"):
        return False
    return (x.value == number or number != number) and x is Lit(number, x.type)


def head(x):
    """What is seen of an operand at first sight: the op that made it, `Lit`, or None for a parameter."""
    return Lit if isinstance(x, Lit) else x.eqn.op if x.eqn is not None else None


def made_by(x, op):
    """The operands of the equation that x is the result of, if that is one of `op`; None if it is not."""
    return x.eqn.operands if isinstance(x, Value) and x.eqn is not None and x.eqn.op is op else None


def may_match(pattern, op, heads):
    """Whether a call of `op` on operands with these heads can fit, in either order."""
    if pattern.op is not op:
        return False
    fits = _may_match_all(pattern.operands, heads)
    return fits or (op.commutative and _may_match_all(pattern.operands, heads[::-1]))


def _may_match_all(patterns, heads):
    for i, p in enumerate(patterns):
        if isinstance(p, Hole) and p.rest:
            return True
        wanted = p.op if isinstance(p, Pat) else None if isinstance(p, Hole) and not p.literal else Lit
        if i == len(heads) or wanted not in (None, heads[i]):
            return False
    return len(patterns) == len(heads)
