"""`if`, and every other choice: taken as Python does where the test is known, captured as a `cond` where data decides."""

from ...ir.core import Lit
from ...ir.ops import OPS
from .. import pytree
from ..array import Traced, TracedArray, TracedScalar
from ..assume import by_value, capturing
from ..errors import UnsupportedError, WengertError, message
from ..frames import internal, locate
from ..storage import Blend, Storage, current_trace
from ..unmerged import Unmerged
from . import codes, merge
from .builtins import truth
from .codes import Code
from .printing import Text
from .rewrite import SITES
from .run import Run, closed, emit
from .state import CONTAINERS, TRANSPARENT, UNBOUND, cells


def decided(test):
    """Whether a test holds, as a bool; None where only the running program knows, and the choice is not made by value."""
    if not isinstance(test, Traced):
        return bool(test)
    if test.type.size == 1 and test.known() is None:
        return by_value(test)
    return bool(test)


def branch(test, body, orelse, rest, number):
    """`if test: body else: orelse`, then `rest`; -> how it ended."""
    site = SITES[number]
    if isinstance(test, Traced) and test.known() is None:
        refuse_globals(site)
    known = decided(test)
    if known is not None:
        code = body() if known else orelse() if orelse is not None else None
        return follow(code, rest, number)
    named = cells(body, orelse, rest)
    slots = [named[n] for n in sorted(site.names) if n in named]
    then = lambda: follow(body(), rest, number)
    other = lambda: follow(orelse() if orelse is not None else None, rest, number)
    with capturing(test):
        return settled(either_way(test, then, other, slots, site.after, watched(named)), site)


def follow(code, rest, number, live=None):
    """What comes after a statement that ended with `code`: its rest, as far as control gets there; `live` after that."""
    if code is None:
        return rest() if rest is not None else None
    if rest is None or codes.FALLS not in code.may:
        return code
    site = SITES[number]
    named = cells(rest)
    slots = [named[n] for n in sorted(site.names) if n in named]
    gone = Code(code.status, code.may - {codes.FALLS}, code.value)
    gone = gone if gone.open else Code(*gone.may, gone.may, gone.value)
    falls = code.status == codes.FALLS
    known = decided(falls)
    if known is not None:
        return rest() if known else gone
    with capturing(falls):
        return either_way(falls, rest, lambda: gone, slots, site.after if live is None else live, watched(named))


def settled(code, site):
    """`code`, if the code around the statement can act on it."""
    if code is not None and code.open and not site.tail:
        raise UnsupportedError(
            message(
                "data decides whether this leaves by return, break or continue, inside `try`, `with` or `match`",
                locate(),
                "Set a flag and leave after that block, or choose values with `x = a if test else b`.",
            )
        )
    return code


def refuse_globals(site):
    if site.shared:
        name = sorted(site.shared)[0]
        raise UnsupportedError(message(f"the global {name} is assigned where data decides", locate(), "Return it, and assign it outside."))


def watched(named):
    """The containers that variables hold: a body that changes them in ways no hook sees is found out."""
    return [x for slot in named.values() if isinstance(x := slot.get(), CONTAINERS)]


def choose(test, body, orelse, slots=(), live=()):
    """`body() if test else orelse()`: an expression, whose value is merged as a variable's would be, and the `slots` it binds."""
    known = decided(test)
    if known is not None:
        return body() if known else orelse()
    a, b = (lambda: Code(codes.RETURNS, {codes.RETURNS}, body())), (lambda: Code(codes.RETURNS, {codes.RETURNS}, orelse()))
    named = cells(body, orelse)
    with capturing(test):
        return either_way(test, a, b, slots, live, watched(named), simple=not slots).value


# -- both ways -------------------------------------------------------------------------------------


def either_way(test, then, other, slots, live, held, simple=False):
    """Capture two bodies, of which data chooses one, and merge all they leave -> how they ended, merged."""
    test = truth(test)
    condition = test.value
    where = locate()
    a, b = ran("then", then, slots, held), ran("otherwise", other, slots, held)
    if simple and not (a.thrown or b.thrown):
        found = _logical(condition, a, b)
        if found is not None:
            return found
    joint = Merger(a, b, where)
    plans = []
    for slot in [*slots, *{**a.heap, **b.heap}]:
        x, y = a.after(slot), b.after(slot)
        before = a.before.get(slot, b.before.get(slot))
        if x is before and y is before:
            continue
        x, y = (y, y) if a.thrown else (x, x) if b.thrown else (x, y)
        if slot.kind == "cell" and slot.name not in live:
            plans.append((slot, lambda out, slot=slot: Unmerged(f"{slot.name} was not thought to be read after {where}")))
        else:
            plans.append((slot, joint.value(x, y, slot.name)))
    code = joint.code(a.code, b.code)
    stores = list(dict.fromkeys((*a.writes, *b.writes)))
    first = len(joint.rows)
    joint.rows += [(a.written(s), b.written(s), None) for s in stores]

    out = ()
    if joint.rows or a.acts or b.acts:
        lifted = list(dict.fromkeys((*a.trace.lifted, *b.trace.lifted)))
        funcs = [closed(run, [row[k] for row in joint.rows], lifted) for k, run in ((1, b), (0, a))]
        operands = [condition, *(current_trace().bring(v) for v in lifted)]
        out = emit("cond", operands, [row[2] for row in joint.rows], branches=tuple(funcs))
    for s, value in zip(stores, out[first:]):
        s.write(value)
    built = [(slot, plan(out)) for slot, plan in plans]
    for slot, value in built:
        slot.set(value)
    return code(out)


def ran(name, body, slots, held):
    """One side run. An exception of the user's there is one the program raises when data takes that side."""
    try:
        return Run(name, body, slots, watched=held, choice=True)
    except (WengertError, RecursionError):
        raise
    except Exception as error:
        last = error.__traceback__
        while last.tb_next is not None:
            last = last.tb_next
        if internal(last.tb_frame.f_code) and last.tb_frame.f_code not in TRANSPARENT:
            raise
        raised = error
    return Run(name, lambda: thrown(raised), slots, choice=True)


def thrown(error):
    text = error.args[0] if len(error.args) == 1 else ""
    text = text.template if isinstance(text, Text) else str(text)
    kind = type(error) if type(error).__module__ == "builtins" and len(error.args) < 2 else UnsupportedError
    current_trace().fail(kind, text if kind is type(error) else f"{type(error).__name__}: {text or error}")
    return codes.THROWN


def _logical(condition, a, b):
    """Two bools that are cheap and harmless to compute: `and`, `or`, or a choice without branches; None for all else."""
    code_a, code_b = a.code, b.code
    a.code = b.code = None
    fine = a.trifling and b.trifling
    a.code, b.code = code_a, code_b
    x, y = code_a.value, code_b.value
    if not fine or any(type(v) is not bool and not (isinstance(v, TracedScalar) and v.type.kind == "b") for v in (x, y)):
        return None
    s = merge.join(merge.spec(x), merge.spec(y), x, y)
    values = []
    for run, v in ((a, x), (b, y)):
        with run.trace:
            v = merge.operand(v, s)
        lifted = list(run.trace.lifted)
        func = closed(run, [v], lifted)
        values.append(current_trace().build.inline(func, [current_trace().bring(o) for o in lifted])[0])
    x, y = values
    if isinstance(y, Lit) and not y.value or y is condition:
        value = OPS["and"](condition, x)
    elif isinstance(x, Lit) and x.value or x is condition:
        value = OPS["or"](condition, y)
    else:
        value = OPS["select"](condition, x, y)
    return Code(codes.RETURNS, {codes.RETURNS}, TracedScalar(value, s[1] if s[0] == "weak" else None))


class Merger:
    """Collects the results of a `cond`: rows of (value in a, value in b, name); plans make objects of its results."""

    def __init__(self, a, b, where):
        self.a, self.b, self.where = a, b, where
        self.rows, self.arrays, self.seen = [], {}, {}

    def value(self, x, y, name):
        """A plan for a place that holds x after a, y after b: a function of the results."""
        if merge.equal(x, y) and not self.foreign(x):
            return lambda out: x
        if x is UNBOUND or y is UNBOUND:
            return self.unmerged(name, "is set on one side only of the choice")
        if isinstance(x, Unmerged) or isinstance(y, Unmerged):
            bad = x if isinstance(x, Unmerged) else y
            return lambda out: bad
        (xs, tree), (ys, other) = pytree.flatten(x), pytree.flatten(y)
        if tree != other:
            return self.unmerged(name, f"is {merge.described(x)} on one side and {merge.described(y)} on the other side of the choice")
        plans = []
        for p, q in zip(xs, ys):
            plan = self.leaf(p, q, name)
            if plan is None:
                return self.unmerged(name, f"is {merge.described(p)} on one side and {merge.described(q)} on the other side of the choice")
            plans.append(plan)
        if pytree.is_leaf(tree):
            return plans[0]
        order = pytree.key_order(x)
        return lambda out: pytree.unflatten(tree, [p(out) for p in plans], order)

    def unmerged(self, name, text):
        return lambda out: Unmerged(f"{name} {text} at {self.where}")

    def foreign(self, x):
        """Whether x, all that is left where the other side throws, belongs to the trace of its side."""
        if not (self.a.thrown or self.b.thrown):
            return False
        run = self.b if self.a.thrown else self.a
        return any(isinstance(v, TracedScalar) or isinstance(v, TracedArray) and run.owns(v.storage) for v in pytree.leaves(x))

    def leaf(self, x, y, name):
        if merge.equal(x, y) and not self.foreign(x):
            return lambda out: x
        s = merge.join(merge.spec(x), merge.spec(y), x, y)
        if s is None:
            return None
        if s[0] == "array":
            return self.array(x, y, name)
        at = self.row(self.operand(self.a, x, s), self.operand(self.b, y, s), name)
        return lambda out: merge.made(out[at], s)

    def row(self, x, y, name):
        for at, (p, q, _) in enumerate(self.rows):
            if p is x and q is y:  # one choice, so that what is one value on both sides is one after them
                return at
        self.rows.append((x, y, name))
        return len(self.rows) - 1

    def operand(self, run, x, s):
        if run.thrown:
            return merge.absent(s)
        with run.trace:
            return run.array(x) if isinstance(x, TracedArray) else merge.operand(x, s)

    def array(self, x, y, name):
        """Arrays: a new memory that stands for both, and knows which others it might be."""
        parts = [(v.storage, tuple(map(id, v.chain))) if isinstance(v, TracedArray) else (v, ()) for v in (x, y)]
        key = tuple((id(base), chain) for base, chain in parts)
        for base, _ in parts:
            self.seen.setdefault(id(base), set()).add(key)
        found = self.arrays.get(key)
        if found is None:
            s = merge.spec(x)
            at = self.row(self.operand(self.a, x, s), self.operand(self.b, y, s), name)
            found = self.arrays[key] = [at, None, parts, (x, y)]

        def plan(out):
            if found[1] is None:
                found[1] = self.memory(out[found[0]], parts)
            return TracedArray(found[1])

        return plan

    def memory(self, value, parts):
        others = []
        for (base, _), run in zip(parts, (self.a, self.b)):
            if isinstance(base, Storage) and not run.thrown:
                others += [base] if not run.owns(base) else base.alive() if isinstance(base, Blend) else []
        storage = Blend(value, current_trace(), others) if others else Storage(value, current_trace())
        shared = [base for base, _ in parts if len(self.seen[id(base)]) > 1]
        if shared:
            storage = storage if isinstance(storage, Blend) else Blend(value, current_trace(), [])
            storage.ambiguous = True
        return storage

    def code(self, x, y):
        """A plan for how the two bodies ended."""
        if self.a.thrown and self.b.thrown:
            return lambda out: codes.THROWN
        if self.a.thrown or self.b.thrown:
            x = y = y if self.a.thrown else x
            if x is not None and (x.open or codes.RETURNS in x.may):
                run = self.b if self.a.thrown else self.a
                at, value = self.half(x.status, run), self.half(x.value, run)
                return lambda out: Code(at(out), x.may, value(out))
        if x is y or (x is not None and y is not None and x.may == y.may and not x.open and codes.RETURNS not in x.may):
            return lambda out: x
        may = codes.may(x) | codes.may(y)
        returns = [c for c in (x, y) if c is not None and codes.RETURNS in c.may]
        status = lambda c: codes.FALLS if c is None else c.status
        at = self.value(status(x), status(y), "the way out")
        if len(returns) == 2:
            value = self.value(x.value, y.value, "what is returned")
        elif returns:
            value = self.half(returns[0].value, self.a if returns[0] is x else self.b)
        else:
            value = lambda out: None

        def plan(out):
            found = value(out)
            if len(returns) == 2 and isinstance(found, Unmerged):
                raise UnsupportedError(message(found.reason, self.where, "Return values of one structure, shape and type on all paths."))
            return Code(at(out), may, found)

        return plan

    def half(self, x, run):
        """A plan for a value that only one side has; the other side's is never read."""
        leaves, tree = pytree.flatten(x)
        plans = []
        for leaf in leaves:
            s = merge.spec(leaf)
            if s[0] == "object" or not isinstance(leaf, Traced):
                plans.append(lambda out, leaf=leaf: leaf)
                continue
            if isinstance(leaf, TracedArray) and not run.owns(leaf.storage):
                plans.append(lambda out, leaf=leaf: leaf)
                continue
            value, other = self.operand(run, leaf, s), merge.absent(s)
            at = self.row(*((value, other) if run is self.a else (other, value)), None)
            plans.append(lambda out, at=at, s=s: merge.made(out[at], s))
        if pytree.is_leaf(tree):
            return plans[0]
        order = pytree.key_order(x)
        return lambda out: pytree.unflatten(tree, [p(out) for p in plans], order)
