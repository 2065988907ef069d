"""A rule that two functions state, at the types that its parameters have in a program.

What NumPy means by a line depends on shapes and dtypes, so a pattern is traced at types. Which to try is asked of each
equation that may be its root: the types of what the equation is computed from, as far down as the pattern reaches.
"""

import itertools
import types as python
import warnings

import numpy as np

from ...ir.core import Builder, Func, Lit, Value
from ...ir.op import OPS
from ...ir.parameters import declared
from ...ir.passes import dce, inline
from ...ir.pattern import Hole, Pat, head, may_match, pattern_of
from ...ir.pipeline import run as optimise
from ...ir.rewrite import Rule
from ...ir.source import Source
from ...ir.types import Tensor
from ..capture.capture import Kind, capture
from ..capture.handover import ARRAY, SCALAR
from ..common import pytree
from ..common.errors import CheckError, UnsupportedError, message
from ..guards.guard import MISSING
from ..guards.reliance import expected
from ..regions import hooks
from ..values.array import TracedArray
from .equivalence import disagreement

NAMED = python.ModuleType, python.FunctionType, python.BuiltinFunctionType, type, np.ufunc, python.MethodType
# what is there or not, as shapes and dtypes have it
FITTING = {OPS[n] for n in ("broadcast", "reshape", "cast", "transpose")}
SLACK = 4  # equations of that kind by which a pattern may be deeper than any we have seen of it
TRIED = 2000  # sets of types for one equation


class Family:
    """A rule as stated. `at(op, operands)` gives its instances that may fit an equation."""

    def __init__(self, pattern, replacement, where, name, source, exact, check):
        self.pattern, self.replacement, self.where, self.source, self.exact = pattern, replacement, where, source, exact
        self.name, self.check = name, check
        self.params = parameters(pattern, self)
        theirs = parameters(replacement, self)
        if set(theirs) != set(self.params):
            text = f"{self}: its pattern takes ({', '.join(self.params)}), its replacement ({', '.join(theirs)})"
            hint = "Give both the same parameters; a value that is fixed is a default: lambda x, eps=1e-6: ..."
            raise UnsupportedError(message(text, source, hint))
        self.orders = {pattern: self.params, replacement: theirs}
        self.made = {}  # types -> instances
        self.seen = {}  # dtype -> Shapes of the pattern, or None where it has none
        self.probe()

    def __str__(self):
        return f"rule {self.name} ({self.source})"

    # -- which types -------------------------------------------------------------------------------
    def probe(self):
        """Look at the pattern at a few types, and compare the sides there; refuse a pattern that is none."""
        errors = []
        self.seen[np.dtype(np.float64)] = self.looked(np.float64, errors)
        found = [x[0] for x in self.made.values() if not isinstance(x, NotHere)]
        errors = [e for e in errors if e is not None]
        # not about shapes, which are those of no program
        if not found and errors and not isinstance(errors[0], ValueError | IndexError):
            raise errors[0]
        arrays = [x for x in found if all(t.shape for t in x.types)]
        refused = []
        for instance in (arrays or found) if self.check else ():
            try:
                instance.compared()
                return
            except Exception as error:
                refused.append(error)
        if refused:
            raise next((e for e in refused if not isinstance(e, NotHere)), refused[0].__cause__)

    def looked(self, dtype, errors=None):
        """What the pattern has in common on arrays of a few ranks."""
        found = []
        n = len(self.params)
        ranks = itertools.product(range(3), repeat=n) if n < 3 else ((r,) * n for r in (1, 2, 0))
        for rank in sorted(ranks, key=lambda r: r.count(1), reverse=True):
            try:
                found += self.instances(tuple(Tensor((3,) * r, np.dtype(dtype)) for r in rank))[:1]
            except NotHere as error:
                if errors is not None:
                    errors.append(error.__cause__)
        return Shapes([instance.func for instance in found]) if found else None

    def known(self, dtypes):
        """What is known of the pattern's programs on these dtypes."""
        for dtype in dtypes:
            if dtype not in self.seen:
                self.seen[dtype] = self.looked(dtype)
        return [s for s in (self.seen[d] for d in {np.dtype(np.float64), *dtypes}) if s is not None]

    def at(self, op, operands):
        """The instances whose root is `op`, for the types of what these operands are and are made of."""
        shapes = self.known({x.type.dtype for x in operands})
        if shapes and not any(op in s.roots for s in shapes):
            return ()
        reach = max((s.depth for s in shapes), default=SLACK) + SLACK
        ops, types = upstream_ops(op, operands, reach)
        if shapes and not any(s.ops <= ops for s in shapes):
            return ()
        found, heads = [], tuple(head(x) for x in operands)
        while len(types) ** len(self.params) > TRIED:
            types.pop()  # the furthest from the root
        for chosen in itertools.product(types, repeat=len(self.params)):
            try:
                instances = self.instances(chosen)
            except NotHere:
                continue
            found += [i for i in instances if may_match(i.pattern, op, heads)]
        return found

    # -- tracing -----------------------------------------------------------------------------------
    def instances(self, types):
        """The rule at these types: as it is written, and as our own rules leave it. NotHere where it is not for
        them."""
        found = self.made.get(types)
        if found is None:
            try:
                found = self.made[types] = tuple(self.instantiate(types))
            except NotHere as error:
                found = self.made[types] = error
        if isinstance(found, NotHere):
            raise found
        return found

    def instantiate(self, types):
        if self.where is not None and not self.where(*types):
            raise NotHere from None
        func = self.traced(self.pattern, types)
        written = self.instance(func, func, types)
        if written is None:
            raise NotHere from self.unfit("the pattern computes nothing that reads all of its parameters")
        yield written
        simpler = self.instance(optimise(func, exact=False), func, types)
        if simpler is not None and repr(simpler.pattern) != repr(written.pattern):
            yield simpler

    def instance(self, form, func, types):
        """One form of the pattern as an instance, or None where it is no call, or has lost a parameter."""
        (result,) = form.results
        if (
            isinstance(result, Lit)
            or result.eqn is None
            or len(result.eqn.results) > 1
            or any(e.regions() or e.effect for e in form.eqns)
        ):
            return None
        pattern = pattern_of(form, typed=True)
        holes = {h.name for h in leaves(pattern)}
        return Instance(self, pattern, func, types) if len(holes) == len(self.params) else None

    def traced(self, function, types):
        """One side as a function of the parameters, of one result; NotHere where NumPy would raise."""
        kinds = {n: Kind(t, ARRAY if t.shape else SCALAR, name=n) for n, t in zip(self.params, types)}
        leaves, tree = pytree.flatten((tuple(kinds[n] for n in self.orders[function]), {}))

        def owned(*args):
            result = hooks.call(function)(*args)
            return result.copy() if isinstance(result, TracedArray) else result

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                captured = capture(owned, leaves, tree, list(kinds.values()), self.name)
        except Exception as error:
            raise NotHere from error
        self.refuse(captured, "pattern" if function is self.pattern else "replacement")
        func = captured.func
        # what it checks is not what it computes
        return optimise(Func(func.name, func.params, func.eqns, func.results[:1]), (inline, dce))

    def refuse(self, captured, side):
        """UnsupportedError for a side that is no expression of its parameters."""
        outs, outside = captured.outs, captured.outside
        reads = [r for r in outside.reads.values() if not expected(r)]
        data = [
            r.name for r in reads if r.value is not MISSING and r.value is not None and not isinstance(r.value, NAMED)
        ]
        read = data[0] if data else "an array"
        for found, what, hint in (
            (outside.draws, "draws random numbers", "Pass them as a parameter."),
            (
                data or captured.inputs,
                f"reads {read} outside",
                "Make it a parameter, or a default: lambda x, eps=eps: ...",
            ),
            (
                captured.writes or captured.stores or captured.given,
                "stores into what it is given or what is outside",
                "Take a copy: x = x.copy().",
            ),
            (
                len(outs) != 1 or not pytree.is_leaf(captured.tree),
                "returns a container",
                "Return one array; state a rule for each.",
            ),
            (
                outs[0].how != "value",
                "returns no value that it computes",
                "Return an array computed from the parameters.",
            ),
        ):
            if found:
                raise UnsupportedError(message(f"{self}: its {side} {what}", self.source, hint))

    def unfit(self, what):
        hint = "A pattern is a NumPy expression of all its parameters, without loops and branches on data."
        return UnsupportedError(message(f"{self}: {what}", self.source, hint))

    def source_for(self, source):
        """The source of what the rule makes: the user's line, with a mark that keeps the rule from being applied there
        again."""
        return (source or Source(self.source.code, self.source.lasti)).by(self)


class NotHere(Exception):
    """A rule is not for these types; the cause is what NumPy would raise."""


class Shapes:
    """What programs of one pattern have in common."""

    def __init__(self, funcs):
        both = [*funcs, *map(optimise, funcs)]
        self.roots = {
            f.results[0].eqn.op for f in both if isinstance(f.results[0], Value) and f.results[0].eqn is not None
        }
        self.ops = set.intersection(*({e.op for e in f.eqns} for f in both)) - FITTING
        self.depth = max(len(f.eqns) for f in funcs)


def parameters(function, family):
    """The names of the parameters without a default."""
    try:
        given = declared(function).parameters.values()
    except (TypeError, ValueError):
        given = ()
    names = tuple(p.name for p in given if p.default is p.empty)
    if not names or any(
        p.kind not in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in given if p.default is p.empty
    ):
        text = f"{family}: the parameters of {getattr(function, '__name__', function)} are not known by position"
        raise UnsupportedError(message(text, family.source, "Write a function of them: lambda x, y: ..."))
    return names


def leaves(pattern):
    """The holes of a pattern."""
    found, todo, seen = {}, [pattern], set()
    while todo:
        p = todo.pop()
        if isinstance(p, Hole):
            found[p] = None
        elif isinstance(p, Pat) and p not in seen:
            seen.add(p)
            todo += p.operands
    return list(found)


def upstream_ops(op, operands, reach):
    """(the ops, the types) of what an equation is computed from, `reach` equations down; the nearest first."""
    ops, types, layer, seen = {op}, {}, list(operands), set()
    for _ in range(reach):
        types |= dict.fromkeys(x.type for x in layer)
        eqns = {x.eqn: None for x in layer if isinstance(x, Value) and x.eqn is not None and x.eqn not in seen}
        seen.update(eqns)
        ops.update(e.op for e in eqns)
        layer = [x for e in eqns for x in e.operands]
    return ops, list(types)


class Instance(Rule):
    """A rule at types. The replacement is traced when the pattern has been found."""

    def __init__(self, family, pattern, func, types):
        super().__init__(pattern, pattern, exact=family.exact, grows=True)
        self.origin, self.func, self.types = family, func, types
        self.place, self.text = str(family.source), f"{family.name}: {pattern!r}"
        self.right = None

    def build(self, bound):
        """Append the replacement; each equation of it is of the line replaced."""
        if self.right is None:
            try:
                self.compared()
            except NotHere:
                return None
        build, env = (
            Builder.current(),
            dict(zip(self.right.params, (bound[n] for n in self.origin.params), strict=True)),
        )
        for eqn in self.right.eqns:
            out = build.emit(eqn.op, tuple(env.get(x, x) for x in eqn.operands), eqn.attrs)
            env.update(zip(eqn.results, out if eqn.op.multiple else (out,), strict=True))
        (result,) = self.right.results
        made = env.get(result, result)
        return (made,) if self.pattern.op.multiple else made

    def compared(self):
        """Trace the replacement, and compare the sides: in type, and by value on random numbers."""
        family, types = self.origin, self.types
        try:
            right = family.traced(family.replacement, types)
        except NotHere as error:
            if isinstance(error.__cause__, ValueError | IndexError):  # of no meaning at these shapes
                raise
            text = f"{family}: at {self.at()} its pattern is found, and its replacement fails: {error.__cause__}"
            hint = "Let the replacement take what the pattern takes, or say which with where=lambda x: x.ndim == 1."
            raise CheckError(message(text, family.source, hint)) from error.__cause__
        (ours,), (theirs,) = self.func.result_types, right.result_types
        if ours is not theirs:
            text = f"{family}: at {self.at()} its pattern gives {ours}, and its replacement {theirs}"
            cast = (
                f"Return y.astype(np.{ours.dtype.name})"
                if ours.shape == theirs.shape
                else f"Return an array of shape {ours.shape}"
            )
            raise CheckError(
                message(
                    text,
                    family.source,
                    f"{cast} in the replacement, or say where the rule holds: where=lambda x: x.ndim == 1.",
                )
            )
        if family.check:
            found = disagreement(types, self.func, right, family.params, family.exact, self.smaller)
            if found:
                raise CheckError(
                    message(
                        f"{family}: its sides differ {found}",
                        family.source,
                        "Mend the replacement, or say where it holds.",
                    )
                )
        self.right = right

    def smaller(self, types):
        """Both sides at other types; None where that is not possible."""
        try:
            return [self.origin.traced(side, types) for side in (self.origin.pattern, self.origin.replacement)]
        except NotHere:
            return None

    def at(self):
        return ", ".join(f"{n}: {t}" for n, t in zip(self.origin.params, self.types))
