"""`if`, and every other choice: taken as Python does where the test is known, captured as a `cond` where data
decides."""

import types

from ...ir.core import Lit
from ...ir.ops import OPS
from ..common.errors import ConcretizationError, UnsupportedError, message
from ..common.frames import locate
from ..guards.state import CONTAINERS, cells
from ..rewriter import completion
from ..rewriter.completion import Completion
from ..rewriter.sites import SITES
from ..values.array import Traced
from ..values.capturing import captured_or_taken, may_be_by_value
from ..values.poison import Poison
from ..values.speculate import by_value
from ..values.storage import current_trace
from . import merge
from .builtins import truth
from .lending import pass_on
from .phis import Merger
from .raised import answers, thrown
from .run import Run, closed, emit
from .variant_phis import refuse_other_orders
from .variants import narrow, narrowing

ASKED = types.CellType()  # how the truth of an object is asked for; filled by `hooks`
GROWN = types.CellType()  # how a choice is captured whose sides append to lists; likewise


def decided(test):
    """Whether a test holds, as a bool; None where only the running program knows, and the choice is not made by
    value."""
    if not isinstance(test, Traced):
        if type(test) is bool:
            return test
        test = ASKED.cell_contents(test)
        if not isinstance(test, Traced):
            return bool(test)
    if test.type.size == 1 and test.known() is None:
        return by_value(test)
    return bool(test)


def branch(test, body, orelse, rest, number):
    """`if test: body else: orelse`, then `rest`; -> how it ended."""
    site = SITES[number]
    known = decided(test)
    if known is not None:
        if isinstance(test, Traced):
            narrow(cells(body, orelse, rest))
        code = body() if known else orelse() if orelse is not None else None
        return checked_completion(run_rest(code, rest, number), site)
    named = cells(body, orelse, rest)
    slots = [named[n] for n in sorted(site.names) if n in named]
    then = lambda: run_rest(body(), rest, number)
    other = lambda: run_rest(orelse() if orelse is not None else None, rest, number)
    test = truth(test)
    then, other = narrowing(named, test.value, True, then), narrowing(named, test.value, False, other)
    both = lambda: either_way(test, then, other, slots, site.after, named)
    return checked_completion(captured_or_taken(test, both, lambda known: then() if known else other()), site)


def run_rest(code, rest, number, live=None):
    """What comes after a statement that ended with `code`: its rest, as far as control gets there; `live` after
    that."""
    if code is None:
        return rest() if rest is not None else None
    if rest is None or completion.FALLS not in code.may:
        return code
    site = SITES[number]
    named = cells(rest)
    slots = [named[n] for n in sorted(site.names) if n in named]
    gone = Completion(code.status, code.may - {completion.FALLS}, code.value)
    gone = gone if gone.open else Completion(*gone.may, gone.may, gone.value)
    falls = code.status == completion.FALLS
    known = decided(falls)
    if known is not None:
        return rest() if known else gone
    after = site.after if live is None else live
    both = lambda: either_way(falls, rest, lambda: gone, slots, after, named)
    return captured_or_taken(falls, both, lambda known: rest() if known else gone)


def checked_completion(code, site):
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


def watched(named):
    """The containers that variables hold: a body that changes them in ways no hook sees is found out."""
    return [x for slot in named.values() if isinstance(x := slot.get(), CONTAINERS)]


def choose(test, body, orelse, slots=(), live=(), straight=False):
    """`body() if test else orelse()`: an expression, whose value is merged as a variable's would be, and the `slots` it
    binds.

    straight: numbers that are cheap and harmless to compute are computed both ways, without a branch.
    """
    known = decided(test)
    if known is not None:
        if isinstance(test, Traced):
            narrow(cells(body, orelse))
        return body() if known else orelse()
    a, b = (lambda side=side: Completion(completion.RETURNS, {completion.RETURNS}, side()) for side in (body, orelse))
    named = cells(body, orelse)
    test = truth(test)
    a, b = narrowing(named, test.value, True, a), narrowing(named, test.value, False, b)
    simple = ANY if straight else None if slots else TRUTHS
    both = lambda: either_way(test, a, b, slots, live, named, simple=simple).value
    return captured_or_taken(test, both, lambda known: body() if known else orelse())


# -- both ways -------------------------------------------------------------------------------------


def either_way(test, then, other, slots, live, named, simple=None):
    """Capture two bodies, of which data chooses one, and merge all they leave -> how they ended, merged. named: name ->
    Slot of the variables that they share with their function."""
    captured = lambda keeper=None: captured_sides(test, then, other, slots, live, watched(named), simple, keeper)
    if may_be_by_value():
        return captured()  # what is refused is taken by value
    return GROWN.cell_contents(locate(), named, captured)


def captured_sides(test, then, other, slots, live, held, simple, keeper):
    """Likewise. held: containers that variables hold; keeper: who takes what the bodies append to lists, or None."""
    test = truth(test)
    condition = test.value
    where = locate()
    a = ran("then", then, slots, held, (condition, True), keeper)
    b = ran("otherwise", other, slots, held, (condition, False), keeper)
    if a.raised and b.raised and is_alike(a.raised, b.raised):
        raise a.raised
    if simple and not (a.thrown or b.thrown):
        found = _logical(condition, a, b, simple)
        if found is not None:
            return found
    joint = Merger(a, b, condition, where)
    try:
        code = merged(joint, a, b, condition, where, slots, live)
    finally:
        for used in (joint, a, b):
            used.close()
    if a.raised and b.raised:  # nothing follows; the program has raised one of the two before it comes here
        current_trace().root.raised_as.append(a.raised)
        raise a.raised
    return code


def merged(joint, a, b, condition, where, slots, live):
    """The `cond` of two sides that were run -> how it ends; then every place is as it leaves it."""
    plans = []
    refuse_other_orders(a, b, where)
    for slot in [*slots, *{**a.heap, **b.heap}]:
        x, y = a.after(slot), b.after(slot)
        before = a.before.get(slot, b.before.get(slot))
        if x is before and y is before:
            continue
        if slot.kind == "cell" and slot.name not in live:
            plans.append((slot, lambda out, slot=slot: Poison(f"{slot.name} was not thought to be read after {where}")))
        else:
            plans.append((slot, joint.place(x, y, slot.name)))
    code = joint.code(a.code, b.code)
    joint.finish()
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
        pass_on(slot, a.after(slot), b.after(slot))
    return code(out)


def ran(name, body, slots, held, side, keeper):
    """One side run, `side` is (test, what it is there). Where Python raises in it, the program raises when data takes
    that side, behind what it does before."""
    raised = None

    def ending():
        nonlocal raised
        current_trace().region.keeper = keeper
        try:
            return body()
        except StopIteration:
            text = "data decides whether an iterator ends"
            hint = "Count its steps in a loop: for k in range(n)."
            raise ConcretizationError(message(text, locate(), hint)) from None
        except BaseException as error:
            if not answers(error):
                raise
            raised = error
        return thrown(raised)

    run = Run(name, ending, slots, watched=held, choice=side)
    run.raised = raised
    return run


def is_alike(a, b):
    """Whether two exceptions say the same, and neither stands for another as well."""
    either = any(error in (a, b) for error in current_trace().root.raised_as)
    return type(a) is type(b) and str(a) == str(b) and not either


TRUTHS, ANY = ("b",), tuple("biufc")  # of what dtypes numbers are that may be computed both ways


def _logical(condition, a, b, kinds):
    """Two numbers that are cheap and harmless to compute: `and`, `or`, or a choice without branches; None for all
    else."""
    code_a, code_b = a.code, b.code
    a.code = b.code = None
    fine = a.trifling and b.trifling
    a.code, b.code = code_a, code_b
    x, y = code_a.value, code_b.value
    specs = merge.spec(x), merge.spec(y)
    if not fine or any(
        s[0] not in merge.SCALARS or any(merge.type_of(p).kind not in kinds for p in merge.part_specs(s)[:1])
        for s in specs
    ):
        return None
    s = merge.join(*specs, x, y)
    if s is None or merge.int_beyond_float(x, s) or merge.int_beyond_float(y, s):
        return None
    values = []
    for run, v in ((a, x), (b, y)):
        with run.trace:
            found = [merge.widened(v, s), merge.tag_of(v)] if s[0] == "mixed" else [merge.operand(v, s)]
        lifted = list(run.trace.lifted)
        func = closed(run, found, lifted)
        values.append(current_trace().build.inline(func, [current_trace().bring(o) for o in lifted]))
    value, *tag = [_either(condition, x, y) for x, y in zip(*values)]
    return Completion(
        completion.RETURNS, {completion.RETURNS}, merge.mixed(value, *tag, s) if tag else merge.made(value, s)
    )


def _either(condition, x, y):
    if x.type.kind == "b" and (isinstance(y, Lit) and not y.value or y is condition):
        return OPS["and"](condition, x)
    if x.type.kind == "b" and (isinstance(x, Lit) and x.value or x is condition):
        return OPS["or"](condition, y)
    return (
        x
        if x is y or isinstance(x, Lit) and isinstance(y, Lit) and x.value == y.value
        else OPS["select"](condition, x, y)
    )
