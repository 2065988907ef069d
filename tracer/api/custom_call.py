"""One call of a function that has a rule, and the functions of the rule, captured in the trace that the call is in."""

import inspect

from ...ir.core import Builder
from ...ir.ops import OPS
from ..capture.capture import Kind, capture, kind_of, printable
from ..capture.handover import ARRAY
from ..capture.signature import names_of
from ..common import pytree
from ..common.errors import DerivativeError, RuleError, UnsupportedError, message
from ..common.frames import locate
from ..extents.bounded import mentioned
from ..guards.outside import flat_contents
from ..regions import hooks
from ..values.array import Traced, TracedArray, bring
from ..values.outermost import prefer_lengths
from ..values.status import STATUS
from ..values.storage import Storage, current_trace
from .inner import with_shown, wrapped


class RuleFunction:
    """A function of the rule, captured in the current trace on arguments of which some are `Kind`s.

    func, shown: as of `with_shown`; lifted: the outer values it reads, besides the status before it, which is `before`;
    status: which result is the status after it, or None; checks: whether it reads or changes that.
    """

    def __init__(self, function, args, custom, what, free=()):
        trace = current_trace()
        root = trace.root
        leaves, tree = pytree.flatten((tuple(args), {}))
        kinds = [x for x in leaves if isinstance(x, Kind)]
        before = self.before = root.status.value
        had = changes(root.outside)
        captured = capture(function, leaves, tree, kinds, what, parent=trace, order=pytree.key_order((tuple(args), {})))
        self.captured = captured
        self.func, self.shown = with_shown(captured)
        self.lifted = [v for v in captured.lifted if v is not before]
        self.status = captured.values + len(captured.writes) if captured.effects else None
        self.checks = self.status is not None or before in captured.lifted
        named = custom.name if what == custom.name else f"{what}, the rule of {custom.name},"
        if any(place not in free for place in captured.writes):
            raise_unsupported(f"{named} writes to its arguments", "Work on a copy: x = x.copy().")
        if any(s is not root.status for s in captured.effects) or changes(root.outside) != had:
            raise_unsupported(
                f"{named} changes what lies outside it, or draws random numbers",
                "Pass it as an argument, and return the new value.",
            )
        if any(eqn.effect for eqn in self.func.eqns):
            raise_unsupported(
                f"{named} prints or draws random numbers",
                "Do so outside it: how often it runs is left to the derivative.",
            )

    def within(self, build, given, status, closed):
        """Append the function: its results on `given` arguments, on the status and on the outer values looked up in
        `closed`."""
        return build.inline(
            self.func, [*given, *(status if v is self.before else closed[v] for v in self.captured.lifted)]
        )

    def indices(self):
        """What the function returned, with the number of the leaf in place of every leaf."""
        return self.captured.rebuild([*range(len(self.shown))])

    def kind(self, leaf):
        """The Kind of a leaf of what it returned, or the object that it is."""
        k, out = self.shown[leaf], self.captured.outs[leaf]
        return out.object if k is None else Kind(self.func.results[k].type, out.kind or ARRAY)


def changes(outside):
    """What a trace has done outside so far, to be compared."""
    copies = [
        (key, ids(flat_contents(made)), first)
        for key, (_, made, first, _) in outside.mirrors.items()
        if first is not None
    ]
    copies = [(key, now) for key, now, first in copies if now != ids(first)]  # the others are only read
    return [(slot, id(slot.get())) for slot in outside.heap], len(outside.calls), len(outside.draws.list), copies


def ids(objects):
    return [*map(id, objects)]


def raise_unsupported(situation, instead):
    raise UnsupportedError(message(situation, locate(), instead))

PASSES = 5  # times that a rule in which its own function is called is captured until it reads nothing new


class CustomCall:
    """One call of a function with a rule, in the current trace.

    The operands are the traced leaves of the arguments, the status if anything checks, and `closed`: the outer
    values that any of the functions reads. A call of the same function in its own rule shares the rule of this one.
    """

    def __init__(self, custom, args):
        self.custom, self.args = custom, args
        if mentioned(args) is not None:  # a rule speaks of arrays, not of what is meant of them
            prefer_lengths()
        self.given = tuple(x for i, x in enumerate(args) if i not in custom.nondiff)
        self.leaves, self.tree = pytree.flatten((self.given, {}))
        self.names = self.named()
        kinds = [kind_of(x, n) if isinstance(x, Traced) else x for x, n in zip(self.leaves, self.names)]
        self.kinds = pytree.unflatten(self.tree, kinds, pytree.key_order((self.given, {})))[0]
        self.traced = [i for i, k in enumerate(kinds) if isinstance(k, Kind)]
        self.moving = [i for i in self.traced if kinds[i].type.inexact]
        self.types = {i: kinds[i].type for i in self.traced}
        self.key = current_trace().root, self.tree, tuple(map(likeness, (*kinds, *custom.others(args))))
        self.closed, self.stand_ins, self.checks, self.shared, self.grown = [], {}, False, False, False
        self.rule = custom.form(custom.name, [self.traced.index(i) for i in self.moving], self.refuse)

    def named(self):
        if self.custom.signature is None:
            return names_of(None, self.given, {})
        parameters = [
            p for i, p in enumerate(self.custom.signature.parameters.values()) if i not in self.custom.nondiff
        ]
        return names_of(inspect.Signature(parameters), self.given, {})

    def refuse(self, why):
        name = self.custom.name
        if why == "closed":
            this, rest = (
                f"{name}, a {self.custom.kind} function,",
                "a value that is being differentiated, for which its rule says nothing",
            )
            without = [
                str(i)
                for i in sorted(self.custom.nondiff)
                if any(isinstance(x, Traced) for x in pytree.leaves(self.args[i]))
            ]
            if without:
                text = f"{this} takes as argument {' or '.join(without)}, or closes over, {rest}"
                raise RuleError(message(text, locate(), "Give it a rule for that argument."))
            raise DerivativeError(
                message(f"{this} closes over {rest}", locate(), f"Pass the value as an argument: {name}(x, value).")
            )
        given, other = ("the cotangent", "forward mode") if why == "jvp" else ("the tangents", "reverse mode")
        text = f"the rule of {name} is not linear in {given}, so {other} cannot be derived from it"
        advice = "custom_jvp" if why == "jvp" else "custom_vjp"
        raise DerivativeError(message(text, locate(), f"Give the derivative by {advice}, or do not ask for {other}."))

    # -- capturing ---------------------------------------------------------------------------------
    def run(self):
        custom = self.custom
        outer = next((s for s in custom.active if s.key == self.key), None)
        if outer is not None:  # within its own rule
            outer.shared = True
            main = self.part(custom.function, custom.name)
            outer.reads(main)
            return self.emit(main, outer)
        custom.active.append(self)
        try:
            for _ in range(PASSES):
                self.grown, main, finish = False, None, None
                main = self.part(custom.function, custom.name)
                self.reads(main)
                self.check_returned(main)
                finish = custom.parts(self, main) if self.moving else lambda: None
                if not (self.grown and self.shared):
                    break
            else:
                text = (
                    f"{custom.name} is called in its own rule, and other arrays of the functions around it are read "
                    "each time"
                )
                raise_unsupported(text, "Pass what they read as arguments.")
        finally:
            custom.active.remove(self)
        first = len(self.traced) + self.checks
        self.rule.functions, self.rule.closed = finish(), range(first, first + len(self.closed))
        return self.emit(main, self)

    def part(self, function, what):
        """A function of the arguments, captured."""
        whole = lambda *moved: hooks.call(function)(*self.custom.merged(self.custom.others(self.args), moved))
        return RuleFunction(whole, self.kinds, self.custom, what)

    def reads(self, part, checks=True):
        """Make what a part reads operands of the call, the status among them if the part `checks` for the call."""
        new, root = [], current_trace().root
        for v in part.lifted:
            if v not in self.closed and v not in self.stand_ins:
                # made again, where a function is captured again
                same = next((w for w in self.closed if root.alike(v, w)), None)
                if same is None:
                    new.append(v)
                else:
                    self.stand_ins[v] = same
        checks = checks and part.checks
        self.grown |= bool(new) or (checks and not self.checks)
        self.closed += new
        self.checks |= checks

    def check_returned(self, main):
        for out in main.captured.outs:
            if isinstance(out.object, TracedArray):
                raise_unsupported(
                    f"{self.custom.name} returns an array of the function around it", "Return a new one: x.copy()."
                )

    def emit(self, main, site):
        """Append the call -> what the function returned."""
        status = current_trace().root.status
        operands = [self.leaves[i].value for i in self.traced]
        operands += [bring(status.value)] if site.checks else []
        operands += [bring(v) for v in site.closed]
        body = site.function(main, main.shown)
        out = OPS["call"](*operands, body=body, name=self.custom.name, inline=True, rule=site.rule)
        if site.checks:
            status.write(out[-1])
        found, leaves = iter(out), []
        for o, k in zip(main.captured.outs, main.shown):
            leaves.append(o.object if k is None else call_result(next(found), o))
        return main.captured.rebuild(leaves)

    def known(self, params):
        """The parameter that is each outer value."""
        found = dict(zip(self.closed, params))
        return found | {v: found[w] for v, w in self.stand_ins.items()}

    def function(self, part, results, others=(), more=()):
        """A part as a function of the operands (and of further arguments of types `more`) -> its `results`, the status,
        `others`."""
        build = Builder(part.func.name)
        with build:
            given = [build.param(self.types[i], printable(self.names[i])) for i in self.traced]
            status = build.param(STATUS) if self.checks else None
            known = self.known([build.param(v.type, v.hint) for v in self.closed])
            out = part.within(build, [*given, *(build.param(t) for t in more)], status, known)
            after = [status if part.status is None else out[part.status]] if self.checks else []
        return build.finish((*(out[k] for k in results if k is not None), *after, *(out[k] for k in others)))


def likeness(x):
    """What tells arguments apart: types of what is traced, values of numbers, and other objects themselves."""
    return (
        (x.type, x.kind)
        if isinstance(x, Kind)
        else (type(x), x)
        if isinstance(x, bool | int | float | complex | str)
        else id(x)
    )


def call_result(value, out):
    """A result of the call; memory that would be an argument's is not, so it must not be written."""
    if out.kind is ARRAY and (out.how == "argument" or out.chain):
        return TracedArray(Storage(value, current_trace(), None, True))
    return wrapped(value, out.kind or ARRAY)
