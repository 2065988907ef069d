"""Rewrite rules that read as equations, and the builder that applies them as it appends.

    x, p, q = holes("x p q")
    rule(log1p(exp(x)), softplus(x), exact=False)                  # an equation

    @rule(transpose(transpose(x, perm=p), perm=q))                 # a computed replacement, or None to decline
    def merge(x, p, q):
        return transpose(x, perm=tuple(p[i] for i in q))

A pattern is built by calling ops on holes. Calls of commutative ops match in both orders, and the
matcher backtracks, so a rule fires whenever some reading of the program fits it. A replacement
that needs more equations than it frees is not made, unless its rule `grows`.
"""

import inspect
import os
import sys
from collections import Counter

from .core import Builder, Lit, Operand, Value, effectful, map_regions
from .types import IRTypeError

DEEPEST = 40  # rules that fire inside each other before we call it a loop


class RewriteError(IRTypeError):
    """A rule that changes a type, or rules that undo each other."""


# -- patterns --------------------------------------------------------------------------------------


class Hole(Operand):
    """Stands for one operand (or one attribute), the same wherever its name appears."""

    __slots__ = ("name", "kinds", "literal", "rest")

    def __init__(self, name, kinds=None, literal=False, rest=False):
        self.name, self.kinds, self.literal, self.rest = name, kinds, literal, rest

    def accepts(self, x):
        return (not self.literal or isinstance(x, Lit)) and (self.kinds is None or x.type.kind in self.kinds)

    def apply(self, op, operands, attrs):
        return Pat(op, operands, attrs)

    def __repr__(self):
        return self.name


class Pat(Operand):
    """A call of `op` on patterns; numbers among its operands stand for splats of exactly that value."""

    __slots__ = ("op", "operands", "attrs")

    def __init__(self, op, operands, attrs):
        self.op, self.operands, self.attrs = op, operands, attrs

    def apply(self, op, operands, attrs):
        return Pat(op, operands, attrs)

    def __repr__(self):
        return _text(self)


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


_INFIX = {"add": ("+", 1), "sub": ("-", 1), "mul": ("*", 2), "div": ("/", 2), "pow": ("**", 4)}


def _text(p, tight=0):
    """A pattern as it was written."""
    if not isinstance(p, Pat):
        return f"*{p}" if isinstance(p, Hole) and p.rest else repr(p)
    if p.op.name in _INFIX and len(p.operands) == 2:
        sign, level = _INFIX[p.op.name]
        text = f"{_text(p.operands[0], level)} {sign} {_text(p.operands[1], level + 1)}"
        return f"({text})" if level < tight else text
    if p.op.name == "neg":
        return f"-{_text(p.operands[0], 3)}"
    attrs = [f"{k}={v!r}" for k, v in p.attrs.items() if isinstance(v, Hole) or v != p.op.attrs[k]]
    return f"{p.op.name}({', '.join([_text(x) for x in p.operands] + attrs)})"


# -- matching --------------------------------------------------------------------------------------


def match(pattern, x, bound):
    """Every way `pattern` fits the operand x, as dicts that extend `bound`: hole name -> operand, Pat -> value."""
    if isinstance(pattern, Pat):
        eqn = x.eqn if isinstance(x, Value) else None
        if eqn is not None and eqn.op is pattern.op and not eqn.op.multiple:
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
    if "commutative" in pattern.op.traits and operands[0] is not operands[1]:
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


def may_match(pattern, op, heads):
    """Whether a call of `op` on operands with these heads can fit, in either order."""
    if pattern.op is not op:
        return False
    fits = _may_match_all(pattern.operands, heads)
    return fits or ("commutative" in op.traits and _may_match_all(pattern.operands, heads[::-1]))


def _may_match_all(patterns, heads):
    for i, p in enumerate(patterns):
        if isinstance(p, Hole) and p.rest:
            return True
        wanted = p.op if isinstance(p, Pat) else None if isinstance(p, Hole) and not p.literal else Lit
        if i == len(heads) or wanted not in (None, heads[i]):
            return False
    return len(patterns) == len(heads)


# -- rules -----------------------------------------------------------------------------------------


class Rule:
    """pattern -> replacement, under a condition. `str(rule)` is its text and the line it stands on.

    With pattern None it looks at every equation, and binds `op`, `operands` and `attrs`.
    """

    def __init__(self, pattern, replacement, exact=True, where=None, grows=False, cases=()):
        self.pattern, self.replacement, self.exact, self.where, self.grows, self.cases = pattern, replacement, exact, where, grows, tuple(cases)
        self.computed = inspect.isfunction(replacement)
        self.place = _caller()
        target = replacement.__name__ if self.computed else _text(replacement)
        self.text = f"{'any op' if pattern is None else _text(pattern)} -> {target}"
        self._names = _names(replacement) if self.computed else ()
        self._where_names = _names(where) if where else ()

    def matches(self, op, operands, attrs):
        """The bindings under which the equation fits, those that fail `where` left out."""
        if self.pattern is None:
            found = ({"op": op, "operands": operands, "attrs": attrs},)
        else:
            found = match_call(self.pattern, operands, attrs, {})
        for bound in found:
            if self.where is None or self.where(*[bound[n] for n in self._where_names]):
                yield bound

    def build(self, bound):
        """Append the replacement to the current builder; None when a computed rule declines."""
        if self.computed:
            return self.replacement(*[bound[n] for n in self._names])
        return _build(self.replacement, bound)

    def __str__(self):
        return f"{self.text}  {self.place}"

    def __repr__(self):
        return f"<rule {self}>"


def _build(pattern, bound):
    if isinstance(pattern, Pat):
        attrs = {k: bound[v.name] if isinstance(v, Hole) else v for k, v in pattern.attrs.items()}
        return pattern.op(*[_build(x, bound) for x in pattern.operands], **attrs)
    return bound[pattern.name] if isinstance(pattern, Hole) else pattern


def _names(function):
    return tuple(inspect.signature(function).parameters)


def _caller():
    """file:line of the nearest frame outside this module."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def rule(pattern, replacement=None, *, exact=True, where=None, grows=False, cases=()):
    """A rule; without a replacement, the decorator of the function that computes it.

    exact: False when a bit may change; say on what input in a comment beside it.
    where: a condition on the bindings, taken by name as the computed replacement takes them.
    grows: True where the replacement is worth more equations than it frees.
    cases: what the rule is tested on: `{hole: type, number or attribute}`; elementwise rules need none.
    """
    if replacement is None:
        return lambda function: Rule(pattern, function, exact, where, grows, cases)
    return Rule(pattern, replacement, exact, where, grows, cases)


class RuleSet:
    """Rules in order, found by the op at their root and the heads of its operands. Sets add with `+`."""

    def __init__(self, name, rules=()):
        self.name, self.rules, self._of = name, [], {}
        for r in rules:
            self.add(r)

    def add(self, rule):
        self.rules.append(rule)
        self._of.clear()
        return rule

    def rule(self, pattern, replacement=None, **options):
        """`rule(...)`, and the rule is a member of this set."""
        made = rule(pattern, replacement, **options)
        return self.add(made) if isinstance(made, Rule) else lambda function: self.add(made(function))

    def of(self, op, operands):
        """The rules that may apply to `op` on these operands."""
        key = op, tuple([head(x) for x in operands])
        found = self._of.get(key)
        if found is None:
            found = self._of[key] = tuple(r for r in self.rules if r.pattern is None or may_match(r.pattern, *key))
        return found

    def exact(self):
        """The rules that change no bit."""
        return RuleSet(f"{self.name}, exact", [r for r in self.rules if r.exact])

    def __add__(self, other):
        return RuleSet(f"{self.name} + {other.name}", [*self.rules, *other.rules])

    def __iter__(self):
        return iter(self.rules)

    def __len__(self):
        return len(self.rules)


# -- the driver ------------------------------------------------------------------------------------


class Rewriter(Builder):
    """A builder that tries its rules on every equation before appending it, those of replacements too.

    `reads` counts how often each equation will be read by the program being rebuilt: zero means dead.
    """

    def __init__(self, name, rules, log=None):
        super().__init__(name)
        self.rules, self.log = rules, log
        self.firing, self.reads = [], Counter()

    def append(self, op, operands, attrs, source, hints):
        if not effectful(op, attrs):
            source = self.source if source is None else source
            for rule in self.rules.of(op, operands):
                for bound in rule.matches(op, operands, attrs):
                    new = self.fire(rule, bound, op, operands, attrs, source, hints)
                    if new is not None:
                        return new
        return super().append(op, operands, attrs, source, hints)

    def fire(self, rule, bound, op, operands, attrs, source, hints):
        """The replacement under one binding, or None where the rule declines or would not pay."""
        if len(self.firing) == DEEPEST:
            raise RewriteError(f"{self.name}: these rules undo each other:\n  " + "\n  ".join(map(str, _cycle(self.firing))))
        start, mark, outer, self.source = len(self.eqns), len(self.log or ()), self.source, source
        self.firing.append(rule)
        try:
            new = rule.build(bound)
        finally:
            self.source = outer
            self.firing.pop()
        if new is None:
            return None
        types = op.result_types(operands, attrs)
        new = tuple(x if isinstance(x, Operand) else Lit(x, t) for x, t in zip(new if op.multiple else (new,), types, strict=True))
        if tuple(x.type for x in new) != types:
            raise RewriteError(f"{rule} turned {op.name} of type {list(types)} into {[x.type for x in new]}")
        if not rule.grows and self.unread(new) > 1 + self.unread(operands) + (0 if self.firing else self.freed(operands, bound)):
            if self.log is not None:
                del self.log[mark:]
            return None
        if self.log is not None:
            self.log.append((rule, source))
        self._name(start, new, hints)
        return new if op.multiple else new[0]

    def _name(self, start, new, hints):
        """The replacement takes the user's name for what it replaces; the equations inside it have none."""
        fresh = {r for eqn in self.eqns[start:] for r in eqn.results}
        for r in fresh:
            r.hint = r.hint or ""
        for r, hint in zip(new, hints or (None,) * len(new), strict=True):
            if r in fresh:
                r.hint = hint

    # -- who reads what ------------------------------------------------------------------------
    def retain(self, x, times=1):
        """Count readers of x; an equation read for the first time reads its operands."""
        pending = [(x, times)]
        while pending:
            x, times = pending.pop()
            if isinstance(x, Value) and x.eqn is not None and times:
                self.reads[x.eqn] += times
                if self.reads[x.eqn] == times:
                    pending += [(y, 1) for y in x.eqn.operands]

    def release(self, x):
        """One reader of x is gone; an equation nobody reads stops reading its operands."""
        pending = [x]
        while pending:
            x = pending.pop()
            if isinstance(x, Value) and x.eqn is not None:
                self.reads[x.eqn] -= 1
                if not self.reads[x.eqn]:
                    pending += x.eqn.operands

    def unread(self, values):
        """How many equations are not read yet and would be if `values` were."""
        found, pending = set(), list(values)
        while pending:
            x = pending.pop()
            if isinstance(x, Value) and x.eqn is not None and x.eqn not in found and not self.reads[x.eqn]:
                found.add(x.eqn)
                pending += x.eqn.operands
        return len(found)

    def freed(self, operands, bound):
        """How many of the matched equations nobody else reads."""
        gone, count = Counter(x.eqn for x in operands if isinstance(x, Value)), 0
        for pattern, x in bound.items():
            if isinstance(pattern, Pat) and gone[x.eqn] == self.reads[x.eqn]:
                count += 1
                gone.update(y.eqn for y in x.eqn.operands if isinstance(y, Value))
        return count


def rewrite(func, rules, log=None):
    """`func`, in which none of `rules` applies any more, regions included; dead equations are gone.

    Each firing is appended to `log` as (rule, source of the equation it replaced).
    """
    return _rewrite(func, rules, log, {})


def _rewrite(func, rules, log, done):
    if func in done:
        return done[func]
    build, reads = Rewriter(func.name, rules, log), readers(func)
    with build:
        env = {p: build.param(p.type, p.hint) for p in func.params}
        for eqn in func.eqns:
            if not is_live(eqn, reads):
                continue
            operands = tuple(env.get(x, x) for x in eqn.operands)
            attrs = map_regions(eqn.attrs, lambda region: _rewrite(region, rules, log, done))
            out = build.emit(eqn.op, operands, attrs, eqn.source, tuple(r.hint for r in eqn.results))
            for old, new in zip(eqn.results, out if eqn.op.multiple else (out,), strict=True):
                env[old] = new
                build.retain(new, reads[old])
            if eqn.effect:
                build.reads[build.eqns[-1]] += 1
            for x in operands:
                build.release(x)
    build.eqns = [eqn for eqn in build.eqns if build.reads[eqn]]
    done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


def readers(func):
    """How often the live equations and the results of `func` read each value."""
    reads = Counter(r for r in func.results if isinstance(r, Value))
    for eqn in reversed(func.eqns):
        if is_live(eqn, reads):
            reads.update(x for x in eqn.operands if isinstance(x, Value))
    return reads


def is_live(eqn, reads):
    """Whether an equation is read, or must run anyway."""
    return eqn.effect or any(reads[r] for r in eqn.results)


def _cycle(firing):
    """The rules between the last two firings of the last one, each once."""
    last = firing[-1]
    back = next((i for i in range(len(firing) - 2, -1, -1) if firing[i] is last), 0)
    return dict.fromkeys(firing[back + 1 :])
