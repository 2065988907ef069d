"""What a trace returns: described in types and kinds, and refused where no call could make it anew."""

import numpy as np

from ...ir.core import Lit
from ...ir.ops import OPS
from ..common import pytree
from ..common.errors import LeakError, UnsupportedError, message
from ..extents.bounded import BoundedArray, MaskExtent
from ..extents.rooms import array_of
from ..guards.container_phis import phi_of, refuse_use
from ..guards.effects import Original
from ..guards.instances import attributes
from ..values.array import Traced, TracedArray, TracedScalar, bring
from ..values.elements import MANY, Element
from ..values.mixed import NUMBERS, TAG, Mixed
from ..values.outermost import demand_lengths
from ..values.poison import Poison
from ..values.storage import UnknownAlias, current_trace, memories
from ..values.texts import TracedText
from ..values.views import dynamic
from .containers import items_of
from .handover import ARRAY, SCALAR, Handover, Out, Row
from .remaking import is_value, refuse_shared
from .suspended import refuse_suspended


def describe(result, trace, objects):
    """-> (Out per leaf, result values, tree) of what a traced function returned."""
    refuse_suspended(result)
    leaves, tree = pytree.flatten(result)
    shared = {}  # storage -> how many leaves show it
    for leaf in leaves:
        if isinstance(leaf, TracedArray):
            shared[leaf.storage] = shared.get(leaf.storage, 0) + 1
    outs, values, place = [], [], {}
    arrays = [x for x in leaves if isinstance(x, TracedArray) and x.storage.trace is trace] if objects else ()
    handover = Handover(arrays, trace, values)
    rows = rows_of_results(leaves, trace, values) if objects else {}
    for n, leaf in enumerate(leaves):
        if n in rows:
            outs.append(rows[n])
            continue
        if isinstance(leaf, Poison):
            leaf.fail()
        refuse_untellable(leaf, trace)
        if isinstance(leaf, Original):
            outs.append(Out("outside", object=leaf.read))
        elif objects and type(leaf) is Mixed:
            outs.append(of_kinds(leaf, handover))
        elif isinstance(leaf, TracedScalar):
            outs.append(Out("value", leaf.weak or SCALAR, len(values)))
            values.append(leaf.value)
        elif not isinstance(leaf, TracedArray) or leaf.storage.trace is not trace:
            outs.append(Out("object", object=leaf))
        elif objects:
            outs.append(handover.out(leaf))
        elif leaf.storage.origin is not None and not dynamic(leaf.chain):
            outs.append(Out("argument", ARRAY, leaf.storage.origin, leaf.chain))
        elif shared[leaf.storage] > 1 and not dynamic(leaf.chain):
            if leaf.storage not in place:
                place[leaf.storage] = len(values)
                values.append(trace.bring(leaf.storage.value))
            outs.append(Out("value", ARRAY, place[leaf.storage], leaf.chain))
        else:
            outs.append(Out("value", ARRAY, len(values)))
            values.append(leaf.value)
    return outs, values, tree


def rows_of_results(leaves, trace, values):
    """place among the leaves -> its Out, of those that are the numbers of one array: one result of the program, which
    the caller's side takes apart."""
    shown, found = {}, {}
    for n, leaf in enumerate(leaves):
        if type(leaf) is TracedScalar and type(leaf._value) is Element:
            shown.setdefault(leaf._value.whole, []).append(n)
    for whole, places in shown.items():
        if MANY < len(places) >= whole.type.shape[0] // 4:
            refuse_leaked(leaves[places[0]], trace)
            for n in places:
                found[n] = Out("value", leaves[n].weak or SCALAR, len(values), (Row(leaves[n]._value.place),))
            values.append(trace.bring(whole))
    return found


def of_kinds(x, handover):
    """The Out of a number of which data decides the kind: the one of its kind."""
    parts = [x.of(kind) for kind in x.kinds]
    outs = tuple([Out("value", p.weak or SCALAR, handover.add(p.value)) for p in parts])
    which = Lit(len(parts) - 1, TAG)
    for n, kind in reversed([*enumerate(x.kinds[:-1])]):
        which = OPS["select"](OPS["eq"](bring(x.tag), Lit(NUMBERS[kind], TAG)), Lit(n, TAG), which)
    return Out("chosen", SCALAR, handover.add(which), (), outs)


def has_memory(x):
    return type(x) in (TracedArray, BoundedArray)


def arrays_within(result):
    """The arrays in a result, whatever the keys of its dicts are."""
    found, todo, seen = [], [result], {}
    while todo:
        x = todo.pop()
        if id(x) in seen:
            continue
        seen[id(x)] = x
        if has_memory(x):
            found.append(x)
        elif isinstance(x, list | tuple | dict):
            todo += items_of(x)
        else:
            todo += pytree.leaves(x, is_leaf=has_memory)
    return found


def may_be_seen(x, arrays):
    """Whether the memory that a BoundedArray may be of is the caller's, or shown by another of the arrays."""
    own = x.array.storage
    shown = {m for y in arrays if y is not x for m in memories(array_of(y).storage)}
    return any(m is not own and (m.origin is not None or m in shown) for m in memories(own))


def refuse_shared_choice(result, objects):
    """Refuse two arrays of what a mask chose once, `p = x[x > 0]` and `p[1:]`: NumPy's share memory, and each is made
    by itself here; and arrays of unknown length that may be views of others: what they hold does not tell, for there is
    junk in them."""
    if not objects:
        return
    seen, arrays = {}, arrays_within(result)
    for x in arrays:
        if type(x) is BoundedArray and type(x.array.storage) is UnknownAlias and may_be_seen(x, arrays):
            text = "which array one of a length that data decide is a view of cannot be told"
            demand_lengths(UnsupportedError(message(text, None, "Return or store a copy: x[1:].copy().")))
        if type(x) is BoundedArray and any(type(e) is MaskExtent for e in x.extents):
            other = seen.setdefault(x.array.storage, x)
            if other is not x:
                text = "two arrays are returned or stored that share memory, of elements that data choose"
                demand_lengths(UnsupportedError(message(text, None, "Copy one of them: y = x[1:].copy().")))


def refuse_phis(handed, outside):
    """Refuse a list or dict of which data decide whether it is another that is handed out, or the caller's own."""
    if not current_trace().container_phis:
        return
    met, seen, todo = {}, {}, [handed]
    while todo:
        x = todo.pop()
        if id(x) not in seen:
            seen[id(x)] = x
            todo += attributes(x).values() if outside.has_made(x) else items_of(x)
    for phi in filter(None, map(phi_of, seen.values())):
        for at, source in phi.sources.items():
            own = at in outside.of_arguments or at in outside.copies or outside.knows(source)
            if own or at in seen or met.setdefault(at, phi) is not phi:
                refuse_use(phi, "is returned or stored, as others that it may be are")


def refuse_untellable(leaf, trace):
    """Refuse what no call could hand out as plain Python does."""
    outside = trace.root.outside
    made = id(leaf) in outside.draws.made
    if made or isinstance(leaf, TracedText):
        what = "a random generator made in it" if made else "text of traced values"
        raise UnsupportedError(
            message(f"the function returns or stores {what}", None, "Return the values, and make it of them outside.")
        )
    refuse_suspended(leaf)
    outside.check_made(leaf)
    outside.check_state(leaf)
    if isinstance(leaf, Traced) and trace.parent is None:
        refuse_leaked(leaf, trace)


def refuse_leaked(leaf, trace):
    """A traced value of another trace leaves this one: of a function inside it that is differentiated, or of a call
    that has ended."""
    within = (
        leaf.storage.trace is trace
        if isinstance(leaf, TracedArray)
        else isinstance(leaf.value, Lit) or leaf.value in trace.build.values
    )
    if not within:
        text = (
            f"a traced value of type {leaf.type} is returned or stored outside, and was made inside a function that "
            "is differentiated or mapped"
        )
        raise LeakError(
            message(text, None, "Let that function return it: value_and_grad(f, has_aux=True), or beside its result.")
        )


def own_copies(outs, outside):
    """Of what the trace has made, and is returned as it is, every call must hand out a fresh one; all but arrays is
    refused."""
    for out in outs if outside is not None else ():
        if out.how == "object" and not is_value(out.object) and not outside.was_there(out.object):
            if type(out.object) is not np.ndarray:
                refuse_shared(out.object)
            out.how = "copy"
