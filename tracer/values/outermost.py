"""Numbers of loops, branches and differentiated functions that depend on nothing that those do: taken by value in the
outermost trace, where a call's data are known.

Sizes that the call's own Python numbers decide are: `x = np.zeros(int(T / dt))` in a loop.

A function that is differentiated has no plain Python to go on as where a part of it is not captured. So where the
length of a selection stands in the way, the trace begins again, and takes such lengths by value; a call in which
another is meant has a trace of its own.
"""

from ...ir.core import Lit
from . import speculate
from .speculate import ARGUMENTS
from .storage import current_trace

LENGTHS = "lengths"  # among what is wanted by value
KEYS = 8  # bound: keys that are taken by value one by one


def differentiated(trace):
    """Whether a trace is of a function that is differentiated, or within one."""
    while trace is not None and trace.parent is not None:
        if trace.given:
            return True
        trace = trace.parent
    return False


def demand_lengths(error):
    """Begin again with lengths taken by value, where that may help; raise `error` where it has been tried."""
    prefer_lengths(error)
    raise error


def prefer_lengths(cause=None):
    """Begin again with lengths taken by value, where that may help and has not been tried."""
    trace = current_trace()
    made = trace.root.choices if trace is not None else None
    if made is not None and LENGTHS not in made.wanted and (made.insists or differentiated(trace)):
        raise made.signal(LENGTHS, cause)


def length_by_value(count):
    """The integer scalar `count` as a number, where lengths are wanted by value and it can be had; else None. It may be
    known before."""
    made = current_trace().root.choices
    if isinstance(count, int):
        return count if made is not None and LENGTHS in made.wanted else None
    return None if made is None or LENGTHS not in made.wanted else number_by_value(count, True)


def whole_number(x):
    """The number behind a traced integer that Python needs, a size say, taken by value; None where that cannot be.

    Only what follows from the call's own Python numbers is: the number may then change now and then. What
    depends on an array's contents may change at each call, and each would be a trace of its own: it is where the
    function would be refused else, and has no plain Python to go on as.
    """
    return concrete_number(x) if x.type.kind in "iu" else None


def concrete_number(x):
    """Likewise of any kind: the length of a window may be a float."""
    trace = current_trace()
    made = trace and trace.root.choices
    if made is None or x.type.shape:
        return None
    made.sized = True
    return number_by_value(x.value, made.insists and speculate.SIZES in made.wanted)


def number_of_key(x):
    """The number behind a traced one that Python asks for its hash, of its own kind; None where that cannot be.

    As of sizes, what arrays decide is taken by value only where the function would be refused else. So are keys within
    loops: there, all Python numbers among the arguments are, if the keys hang on nothing else.
    """
    found = x.known()
    if found is None:
        root = current_trace().root
        made = root.choices
        if made is None or x.type.kind not in "biuf":
            return None
        made.keyed += 1
        if root.turning or made.keyed > KEYS:  # the next trip would ask for others
            if not made.insists:
                return None
            outer = in_outermost(x.value, current_trace())
            if ARGUMENTS not in made.wanted and outer is not None and from_numbers(root, outer):
                raise made.signal(ARGUMENTS)
        found = number_by_value(x.value, made.insists)
    return None if found is None else x.weak(found) if x.weak else x.type.dtype.type(found)


def number_by_value(value, of_data):
    """A scalar, taken by value in the outermost trace; None where that cannot be, or unless `of_data` where arrays
    decide it."""
    trace = current_trace()
    outer = in_outermost(value, trace)
    if outer is None or isinstance(outer, Lit):
        return outer and outer.value
    with trace.root:
        taken = of_data or from_numbers(trace.root, outer)
        return speculate.contents(outer, trace is not trace.root) if taken else None


def from_numbers(root, value):
    """Whether nothing but Python numbers among the arguments enters a value of the outermost trace."""
    todo, seen = [value], set()
    while todo:
        x = todo.pop()
        if isinstance(x, Lit) or x in seen or x in root.numbers:
            continue
        seen.add(x)
        if x.eqn is None or x.eqn.effect or "region" in x.eqn.op.traits:
            return False
        todo += x.eqn.operands
    return True


def enters(value, wanted):
    """Whether one of these values of the outermost trace enters a scalar of the present one."""
    todo, seen = [in_outermost(value, current_trace())], set()
    while todo:
        x = todo.pop()
        if x in wanted:
            return True
        if x is not None and not isinstance(x, Lit) and x not in seen and x.eqn is not None:
            seen.add(x)
            todo += x.eqn.operands
    return False


def trips_by_value(x):
    """A bound of a `range`, as a number where sizes are wanted by value and it can be had."""
    made = current_trace().root.choices
    if made is None:
        return x
    made.sized = True
    found = whole_number(x) if speculate.SIZES in made.wanted else None
    return x if found is None else found


def in_outermost(value, trace):
    """The same value in the outermost trace, computed again there; None where it depends on what a loop or branch
    does."""
    while trace.parent is not None and not isinstance(value, Lit):
        if value not in trace.build.values:  # it was brought from further out
            trace = trace.parent
            continue
        known = dict(trace.given) | {p: v for v, p in trace.lifted.items()}
        eqns, todo = set(), [value]
        while todo:
            x = todo.pop()
            if isinstance(x, Lit) or x in known or x.eqn in eqns:
                continue
            if x.eqn is None or x.eqn.effect:
                return None
            eqns.add(x.eqn)
            todo += x.eqn.operands
        for eqn in trace.build.eqns:
            if eqn in eqns:
                operands = [trace.parent.bring(known.get(x, x)) for x in eqn.operands]
                known |= zip(eqn.results, emitted(trace.parent, eqn, operands))
        value, trace = known[value], trace.parent
    return value


def emitted(trace, eqn, operands):
    """What an equation gives in the trace around its own: the same values however often it comes there, as the body of
    a loop is captured several times."""
    key = eqn.op, tuple(operands), tuple(eqn.attrs.items())
    try:
        found = trace.hoisted.get(key)
    except TypeError:  # an array among the attributes
        key, found = None, None
    if found is None:
        with trace:
            out = trace.build.emit(eqn.op, operands, eqn.attrs)
        found = out if isinstance(out, tuple | list) else (out,)
        if key is not None:
            trace.hoisted[key] = found
    return found
