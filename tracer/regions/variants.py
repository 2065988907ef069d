"""Variants where their test is known, and what is asked of them where it is not.

The body of an `if` knows that its test holds: names that hold a `Variant` of that test hold the one of its sides while
the body runs (type narrowing, as checkers of static types do it).
"""

from ...ir.core import Lit
from ...ir.ops import OPS
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..guards.state import UNBOUND, regions
from ..values.array import TracedScalar
from ..values.room import assumed_room, require_room
from ..values.storage import around_regions, current_trace
from ..values.variant import Variant, canonical, cases, held, is_chosen_by_value, is_within


def facts(value, truth):
    """value -> truth of all that follows from a test."""
    found, todo = {}, [(value, truth)]
    while todo:
        value, truth = todo.pop()
        if isinstance(value, Lit):
            continue
        value = canonical(value)
        found[value] = truth
        op = value.eqn and value.eqn.op
        if op is OPS["not"]:
            todo.append((value.eqn.operands[0], not truth))
        elif op is OPS["and" if truth else "or"]:
            todo += [(x, truth) for x in value.eqn.operands]
    return found


def side_of(x, known):
    """What a Variant is where tests are known, itself if its test is not, or the side is a variable not bound."""
    while type(x) is Variant and (truth := known.get(canonical(x.test))) is not None:
        side = x.sides[not truth]
        if side is UNBOUND:
            break
        x = side
    return x


def narrowed(x):
    """Likewise in the regions that are run, and by the choices that have been made by value."""
    if type(x) is not Variant:
        return x
    known, made = {}, current_trace().root.choices
    for region in regions():
        if type(region.choice) is tuple:
            known |= facts(*region.choice)
    if made is not None:
        truths = {t.choice: t.truth for t in made.taken if type(t.truth) is bool}
        for value, number in made.numbers.items():
            if number in truths:
                known |= facts(value, truths[number])
    return side_of(x, known)


def narrow(named):
    """Let variables hold what they are, now that more tests are known."""
    for slot in named.values():
        if type(v := slot.get()) is Variant and (x := narrowed(v)) is not v:
            slot.set(x)


def narrowing(named, test, truth, body):
    """`body`, in which variables hold what they are where a test holds, or does not."""
    held = [slot for slot in named.values() if type(slot.get()) is Variant]
    if not held:
        return body

    def inside():
        known = facts(test, truth)
        changed = [(slot, v, x) for slot in held if (x := side_of(v := slot.get(), known)) is not v]
        for slot, _, x in changed:
            slot.set(x)
        try:
            return body()
        finally:
            for slot, v, x in changed:
                if slot.get() is x:
                    slot.set(v)

    return inside


def that_is_there(x, key=None):
    """What may be None or one other thing, where only the other can be kept, as in the items of a list that grows in a
    captured loop: the other, which the program checks. key: a call that finds None goes on in another trace, which is
    given what may be None; it is the same in each trace."""
    x = narrowed(x)
    kept = [case for case in cases(x) if case[0] is not None] if type(x) is Variant else []
    if len(kept) != 1 or kept[0][0] is UNBOUND or is_chosen_by_value(x) or not is_within(x, current_trace()):
        return x
    value, tests = kept[0]
    trace = current_trace()
    if key is not None and around_regions(trace).parent is None and trace.root.choices is not None:
        with trace.root:
            presumed = assumed_room(key, 0)
        if presumed[0]:
            return x
        require_room(held(tests), presumed[1], 1)
        return value
    text = message(NONE, locate(), "Keep such items apart, or give another number in the place of None.")
    trace.check(held(tests), UnsupportedError, text)
    return value


NONE = "None is to be an item of a list whose other items are numbers or arrays, in a captured loop"


def equal_by_sides(equal, a, b):
    """`a == b` or `a != b`, of a Variant where its sides say it."""
    if type(a) is type(b) is Variant:  # the cases of one test go together
        return equal(a, b)
    if type(a) is Variant:
        return of_each(a, lambda side: equal_by_sides(equal, side, b))
    return of_each(b, lambda side: equal(a, side)) if type(b) is Variant else equal(a, b)


def of_each(x, ask):
    """What `ask` says of a Variant, a bool or a traced one; refused where its sides do not say it."""
    x = narrowed(x)
    if type(x) is not Variant:
        return ask(x)
    yes, no = (UNBOUND if side is UNBOUND else of_each(side, ask) for side in x.sides)
    if type(yes) is not bool or type(no) is not bool:
        return x.fail()
    if yes is no:
        return yes
    value = current_trace().bring(x.test)
    return TracedScalar(value if yes else OPS["not"](value), bool)
