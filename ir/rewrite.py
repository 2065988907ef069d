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

from __future__ import annotations

import inspect
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from .core import Attrs, Builder, Eqn, Func, Lit, Operand, Value, effectful
from .op import Op
from .parameters import declared
from .pattern import Hole, Pat, head, holes, literals, match_call, may_match, rest, text_of
from .types import IRTypeError

__all__ = [
    "Hole", "Pat", "RewriteError", "Rewriter", "Rule", "RuleSet", "holes", "is_live", "literals", "readers", "rest",
    "rewrite", "rule",
]

DEEPEST = 40  # rules that fire inside each other before we call it a loop
ROUNDS = 20  # walks over a program before we call it one


Pattern: TypeAlias = Any  # what an expression over holes gives: Pat, Hole, Lit
Replacement: TypeAlias = Any  # a pattern, or a function that takes the holes by name, and declines by None
Condition: TypeAlias = Callable[..., Any]
Bound: TypeAlias = dict[Any, Any]  # what holes, by name, and patterns stand for


class RewriteError(IRTypeError):
    """A rule that changes a type, or rules that undo each other."""


# -- rules -----------------------------------------------------------------------------------------


class Rule:
    """pattern -> replacement, under a condition. `str(rule)` is its text and the line it stands on.

    With pattern None it looks at every equation, and binds `op`, `operands` and `attrs`.
    origin: what the rule is an instance of, if what one of them made is nothing for the others: it is kept in
    `Source.rules`.
    """

    origin: Any = None

    def __init__(
        self,
        pattern: Pattern | None,
        replacement: Replacement,
        exact: bool = True,
        where: Condition | None = None,
        fits: Condition | None = None,
        grows: bool = False,
        once: bool = False,
        keeps: str | None = None,
        cases: Iterable[dict[Any, Any]] = (),
        never: Iterable[Any] = (),
    ) -> None:
        self.pattern, self.replacement, self.where, self.fits, self.cases = (
            pattern,
            replacement,
            where,
            fits,
            tuple(cases),
        )
        self.never = tuple(never)
        self.exact, self.grows, self.once, self.keeps = exact, grows, once, keeps
        self.computed = inspect.isfunction(replacement)
        self.place = _caller()
        target = replacement.__name__ if self.computed else text_of(replacement)
        self.text = f"{'any op' if pattern is None else text_of(pattern)} -> {target}"
        self._names = _names(replacement) if self.computed else ()
        self._where_names = _names(where) if where else ()

    def may_match(self, op: Op, heads: Sequence[Any]) -> bool:
        """Whether an equation may fit, by its op and by the heads of its operands."""
        if self.pattern is None:
            return self.fits is None or self.fits(op, heads)
        return may_match(self.pattern, op, heads)

    def matches(self, op: Op, operands: Sequence[Any], attrs: Attrs) -> Iterator[Bound]:
        """The bindings under which the equation fits, those that fail `where` left out."""
        alone = {"op": op, "operands": operands, "attrs": attrs}
        found = (alone,) if self.pattern is None else match_call(self.pattern, operands, attrs, {})
        for bound in found:
            if self.where is None or self.where(*[bound[n] for n in self._where_names]):
                yield bound

    def inner(self, operands: Sequence[Any], bound: Bound) -> list[Eqn]:
        """The equations below the root that the rule looked at, readers first."""
        matched = operands if self.pattern is None else [x for k, x in bound.items() if isinstance(k, Pat)]
        return list(dict.fromkeys(x.eqn for x in matched if isinstance(x, Value) and x.eqn is not None))

    def build(self, bound: Bound) -> Any:
        """Append the replacement to the current builder; None when a computed rule declines."""
        given = [bound[n] for n in self._names]
        return self.replacement(*given) if self.computed else _build(self.replacement, bound)

    def __str__(self) -> str:
        return f"{self.text}  {self.place}"

    def __repr__(self) -> str:
        return f"<rule {self}>"


def _build(pattern, bound):
    if isinstance(pattern, Pat):
        attrs = {k: bound[v.name] if isinstance(v, Hole) else v for k, v in pattern.attrs.items()}
        return pattern.op(*[_build(x, bound) for x in pattern.operands], **attrs)
    return bound[pattern.name] if isinstance(pattern, Hole) else pattern


def _names(function):
    return tuple(declared(function).parameters)


def _caller():
    """file:line of the nearest frame outside this module."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"


def rule(pattern: Pattern | None, replacement: Replacement = None, **options: Any) -> Any:
    """A rule; without a replacement, the decorator of the function that computes it.

    exact: False when a bit may change; say on what input in a comment beside it.
    where: a condition on the bindings, taken by name as the computed replacement takes them.
    fits: of a rule without a pattern, a condition on op and heads alone, which is asked once for all equations that
    have the same. grows: True where the replacement is worth more equations than it frees.
    once: True where it pays only when nobody else reads the equations matched below the root.
    keeps: the dtype kinds of which it keeps the signs of zeros, if not all. Of others it is for what a derivative made:
    there no NumPy says which zero it is.
    cases: what the rule is tested on: `{hole: type, number or attribute}`; elementwise rules need none.
    never: cases, or programs, that its condition must decline.
    """
    if replacement is None:
        return lambda function: Rule(pattern, function, **options)
    return Rule(pattern, replacement, **options)


class RuleSet:
    """Rules in order, found by the op at their root and the heads of its operands. Sets add with `+`."""

    rules: list[Rule]
    _of: dict[Any, tuple[Rule, ...]]

    def __init__(self, name: str, rules: Iterable[Rule] = ()) -> None:
        self.name, self.rules, self._of = name, [], {}
        for r in rules:
            self.add(r)

    def add(self, rule: Rule) -> Rule:
        self.rules.append(rule)
        self._of.clear()
        return rule

    def rule(self, pattern: Pattern | None, replacement: Replacement = None, **options: Any) -> Any:
        """`rule(...)`, and the rule is a member of this set."""
        made = rule(pattern, replacement, **options)
        return self.add(made) if isinstance(made, Rule) else lambda function: self.add(made(function))

    def of(self, op: Op, operands: Sequence[Any]) -> tuple[Rule, ...]:
        """The rules that may apply to `op` on these operands."""
        key = op, tuple([head(x) for x in operands])
        found = self._of.get(key)
        if found is None:
            found = self._of[key] = tuple([r for r in self.rules if r.may_match(*key)])
        return found

    def exact(self) -> RuleSet:
        """The rules that change no bit."""
        return RuleSet(f"{self.name}, exact", [r for r in self.rules if r.exact])

    def __add__(self, other: RuleSet) -> RuleSet:
        return RuleSet(f"{self.name} + {other.name}", [*self.rules, *other.rules])

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)


# -- the driver ------------------------------------------------------------------------------------


class Rewriter(Builder):
    """A builder that tries its rules on every equation before appending it, those of replacements too.

    `reads` counts how often each equation will be read by the program being rebuilt: zero means dead.
    Each firing is appended to `log`, each rule that would not pay to `declined`, each equation that no rule fits to
    `settled`: what it computes hangs on nothing but itself, so none will.
    """

    def __init__(self, name, rules, log, declined, settled):
        super().__init__(name)
        self.rules, self.log, self.declined, self.settled = rules, log, declined, settled
        self.firing, self.reads = [], Counter()

    def append(self, op, operands, attrs, source, hints, eqn=None):
        if eqn is not None and eqn in self.settled:
            return super().append(op, operands, attrs, source, hints, eqn)
        hints, fitting = hints if eqn is None else tuple([r.hint for r in eqn.results]), False
        if not effectful(op, attrs):
            source = self.source if source is None else source
            for rule in self.rules.of(op, operands):
                if rule.origin is not None and source is not None and rule.origin in source.rules:
                    continue
                if rule.keeps is not None and not derived(source) and operands[-1].type.kind not in rule.keeps:
                    continue
                for bound in rule.matches(op, operands, attrs):
                    fitting, new = True, self.fire(rule, bound, op, operands, attrs, source, hints)
                    if new is not None:
                        return new
        made = super().append(op, operands, attrs, source, hints, eqn)
        if not fitting:
            self.settled.add(self.eqns[-1])
        return made

    def fire(self, rule, bound, op, operands, attrs, source, hints):
        """The replacement under one binding, or None where the rule declines or would not pay."""
        if len(self.firing) == DEEPEST:
            raise RewriteError(
                f"{self.name}: these rules undo each other:\n  " + "\n  ".join(map(str, _cycle(self.firing)))
            )
        if rule.once and self.freed(operands, inner := rule.inner(operands, bound)) < len(inner):
            self.declined.append(rule)
            return None
        if rule.origin is not None:
            source = rule.origin.source_for(source)
        start, mark, outer, self.source = len(self.eqns), len(self.log), self.source, source
        self.firing.append(rule)
        try:
            new = rule.build(bound)
        finally:
            self.source = outer
            self.firing.pop()
        if new is None:
            return None
        types = op.result_types(operands, attrs)
        new = tuple(
            x if isinstance(x, Operand) else Lit(x, t)
            for x, t in zip(new if op.multiple else (new,), types, strict=True)
        )
        if tuple(x.type for x in new) != types:
            raise RewriteError(f"{rule} turned {op.name} of type {list(types)} into {[x.type for x in new]}")
        freed = lambda: self.freed(operands, rule.inner(operands, bound))
        if not rule.grows and self.unread(new) > 1 + (self.unread(operands) if self.firing else freed()):
            del self.log[mark:]
            self.declined.append(rule)
            return None
        self.log.append((rule, source))
        self._name(self.eqns[start:], new, source, hints)
        return new if op.multiple else new[0]

    def _name(self, made, new, source, hints):
        """The replacement takes the user's name for what it replaces; the equations inside it have none."""
        made = {r: eqn for eqn in made for r in eqn.results}
        for r, eqn in made.items():
            if r.hint is None and eqn.source is source:
                r.hint = ""
        for r, hint in zip(new, hints or (None,) * len(new), strict=True):
            if r in made:
                r.hint = hint

    # -- who reads what ------------------------------------------------------------------------
    def retain(self, x, times=1):
        """Count readers of x; an equation read for the first time reads its operands."""
        pending = [(x, times)]
        while pending:
            x, times = pending.pop()
            if isinstance(x, Value) and x.eqn is not None and times:
                known = self.reads.get(x.eqn, 0)
                self.reads[x.eqn] = known + times
                if not known:
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

    def freed(self, operands, inner):
        """How many of the equations matched below the root nobody else reads, readers first."""
        gone, count = Counter(() if self.firing else (x.eqn for x in operands if isinstance(x, Value))), 0
        for eqn in inner:
            if gone[eqn] == self.reads[eqn]:
                count += 1
                gone.update(x.eqn for x in eqn.operands if isinstance(x, Value) and self.reads[eqn])
        return count


def rewrite(func: Func, rules: Any, log: list[Any] | None = None) -> Func:
    """`func`, in which none of `rules` applies any more, regions included; dead equations are gone.

    Each firing is appended to `log` as (rule, source of the equation it replaced).
    """
    settled: set[Any] = set()
    for _ in range(ROUNDS):
        firings: list[Any] = []
        declined: list[Any] = []
        func = _rewrite(func, rules, firings, declined, settled, {})
        if log is not None:
            log += firings
        if not firings or not declined:  # what one walk leaves unread may let the rules it declined pay
            return func
    raise RewriteError(
        f"{func.name}: these rules find work without end:\n  "
        + "\n  ".join(dict.fromkeys(str(rule) for rule, _ in firings))
    )


def _rewrite(func, rules, log, declined, settled, done):
    if func in done:
        return done[func]
    build, reads, env = Rewriter.again(func, rules, log, declined, settled), readers(func), {}
    with build:
        for eqn in func.eqns:
            if not is_live(eqn, reads):
                continue
            build.replay(
                eqn, env, attrs=eqn.mapped(lambda region: _rewrite(region, rules, log, declined, settled, done))
            )
            for r in eqn.results:
                build.retain(env.get(r, r), reads[r])
            if eqn.effect:
                made = build.eqns[-1]
                # an effect that gives nothing reads its operands all the same
                for x in () if build.reads[made] else made.operands:
                    build.retain(x)
                build.reads[made] += 1
            for x in eqn.operands:
                build.release(env.get(x, x))
    build.eqns = [eqn for eqn in build.eqns if build.reads[eqn]]
    done[func] = build.finish(tuple(env.get(r, r) for r in func.results))
    return done[func]


def readers(func):
    """How often the live equations and the results of `func` read each value."""
    reads = Counter(r for r in func.results if isinstance(r, Value))
    for eqn in reversed(func.eqns):
        if is_live(eqn, reads):
            for x in eqn.operands:
                if isinstance(x, Value):
                    reads[x] = reads.get(x, 0) + 1
    return reads


def derived(source):
    """Whether an equation from there computes a derivative, and nothing that the user's own code does."""
    return source is not None and bool(source.mark)


def is_live(eqn, reads):
    """Whether an equation is read, or must run anyway."""
    for r in eqn.results:
        if reads.get(r):
            return True
    return eqn.effect


def _cycle(firing):
    """The rules between the last two firings of the last one, each once."""
    last = firing[-1]
    back = next((i for i in range(len(firing) - 2, -1, -1) if firing[i] is last), 0)
    return dict.fromkeys(firing[back + 1 :])
