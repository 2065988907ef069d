"""The hooks that rewritten code calls, gathered under the one name it knows them by."""

import operator
import sys
import types

import numpy as np

from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..common.origin import is_user
from ..guards import state
from ..guards.context_managers import STREAMS, read_stream
from ..guards.draws import GENERATORS, refuse_state
from ..guards.guard import MISSING, of_class
from ..guards.outside import Outside
from ..guards.state import SEEN_THROUGH
from ..numpy_api.concatenators import CONCATENATORS, concatenated
from ..numpy_api.handles import handle, is_traced
from ..rewriter import completion
from ..values.array import Traced, TracedArray
from ..values.array_object import ArrayObject
from ..values.library_object import LibraryObject
from ..values.object_phi import ObjectPhi, kind_of_object
from ..values.poison import Poison
from ..values.sizes import plain_key
from ..values.sparse_matrix import SETTLED, SparseMatrix
from ..values.storage import current_trace
from ..values.variant import Variant
from . import alternatives, backing, copying, folds
from .alternatives import of_sides
from .array_object_attributes import (
    attribute_of_instance,
    delete_attribute_of_instance,
    is_item_of_instance,
    item_of_instance,
    set_attribute_of_instance,
    set_item_of_instance,
)
from .attributes import attribute_above, attribute_of_traced, fallback, own_method
from .branch import branch, choose, decided
from .builtins import REPLACED, lacks, sample, truth
from .calls import ENVIRONMENT, environment, listed
from .classes import class_made
from .comprehensions import collect
from .foreign import ask, may_change
from .growing import list_behind, shown_whole
from .handed import RUNNING, handed
from .handlers import finishing, handled, trying, unwinding
from .held_objects import has_own_store, store_unseen
from .importing import imported, importing
from .keys import is_known, is_stand_in, member_of, traced_key
from .kinds import ANSWERING
from .loops import each, repeat
from .object_phis import attribute_of_phi
from .objects import asked, called, iterated, keyed, mapped, refuse_store
from .objects import called as call
from .operators import HOOKS, manager
from .patterns import is_instance, matched
from .printing import percent, text
from .sparse_operands import of_matrix
from .special import looked_up
from .truth import both, both_hold, chain, either, either_holds, negated, one_thing
from .variants import narrowed


def leave(code):
    """What a function returns, from how its body ended: None where that fell through."""
    if code is None:
        return None
    if not code.open:
        return code.value
    return choose(code.status == completion.RETURNS, lambda: code.value, lambda: None)


def strays():
    """Before a statement that runs code without hooks."""
    if (trace := current_trace()) is not None:
        trace.root.outside.stray.begin()


# -- reading and storing ---------------------------------------------------------------------------


def outer(value):
    """What a name of an enclosing scope, or a global, holds: arrays from outside are traced."""
    trace = current_trace()
    unseen = trace is None or type(value) not in SEEN and not isinstance(value, np.ndarray)
    return value if unseen else trace.root.outside.seen(value)


INDEXED = {list, tuple, range, dict, backing.RowInList}
SEEN = {np.ndarray, *SEEN_THROUGH}
QUICK = {list, dict, tuple, str, bytes, range, *SEEN}  # of which items are taken as they stand


def attribute(owner, key, whole=True):
    """`owner.key`; a property's getter is the user's function. whole: all of a container found there is wanted."""
    owner = list_behind(owner)
    if key in SETTLED:
        owner = of_matrix(owner)
    trace, kind = current_trace(), type(owner)
    if issubclass(kind, Traced):
        return attribute_of_traced(owner, key, trace)
    if issubclass(kind, ArrayObject):
        return attribute_of_instance(owner, key, whole)
    if kind is ObjectPhi:
        return attribute_of_phi(owner, key, call, attribute)
    if kind is Variant and trace is not None and not lacks(owner, key):
        return of_sides(lambda side: attribute(side, key, whole), (owner,))
    if trace is None or kind in (Poison, Variant, SparseMatrix):
        return getattr(sample(owner) if trace is not None and lacks(owner, key) else owner, key)
    if owner is sys and key in STREAMS:
        read_stream(key)
    if kind is super:
        return attribute_above(owner, key, whole)
    found = None if issubclass(kind, type) else getattr(kind, key, None)
    if key == "bit_generator" and issubclass(kind, GENERATORS):
        refuse_state(key)
    if isinstance(found, property) and type(found.fget) is types.FunctionType and is_user(found.fget.__code__):
        looked_up(kind, key)
        return fallback(lambda: call(found.fget)(owner), owner, key)
    if found is not None and key not in getattr(owner, "__dict__", ()) and may_change(owner) and not callable(found):
        return ask(getattr, owner, key)
    return attribute_outside(trace.root.outside, owner, key, whole)


def attribute_outside(outside, owner, key, whole):
    """`owner.key`, which is relied on."""
    if type(owner) is np.random.SeedSequence:
        outside.draws.refuse_entropy(owner)
    return narrowed(outside.attribute(owner, key, whole))


def attribute_of(owner, key):
    """`owner.key` of which only an attribute or item is wanted."""
    return attribute(owner, key, False)


def item(owner, key, whole=True):
    """`owner[key]`."""
    if Variant in (type(owner), type(key)):
        return of_sides(item, (owner, key))
    return item_of_one(owner, plain_key(owner, key), whole)


def item_of_one(owner, key, whole):
    """Likewise; a plain array is captured where it is from outside, or the key is traced."""
    owner = list_behind(owner)
    kind, trace = type(owner), current_trace()
    if is_item_of_instance(owner, key):
        return item_of_instance(owner, key)
    if kind in INDEXED and trace is not None and (found := backing.inside_of(owner, key, kind, trace)) is not None:
        return found[0]
    key = member_of(kind, key)
    if trace is not None and kind in SEEN:
        outside = trace.root.outside
        if kind is np.ndarray and id(owner) in outside.paths:
            return outside.array(owner)[key]
        if id(owner) in outside.containers:
            return outside.item(owner, key, whole)
    if kind is ENVIRONMENT and trace is not None:
        return environment(key)
    if kind in CONCATENATORS and traced_key(key):
        return concatenated(owner, key)
    if kind is np.ndarray and traced_key(key) and current_trace() is not None and not is_known(key):
        return handle(owner)[key]
    if trace is not None and may_change(owner) and not is_traced(key):
        return ask(operator.getitem, owner, key)
    return item_by_class(owner, key, kind)


def item_by_class(owner, key, kind):
    """Likewise, as its class has it."""
    found = own_method(kind_of_object(owner), "__getitem__")
    if found:
        return found(owner, key)
    if kind is list and type(key) is slice:
        return state.own_new(owner[keyed(key, owner)])
    if kind in QUICK and not (kind is np.ndarray and owner.dtype.hasobject):
        return owner[keyed(key, owner)]
    return handed(operator.getitem, owner, keyed(key, owner))


def item_of(owner, key):
    """`owner[key]` of which only an attribute or item is wanted."""
    return item(owner, key, False)


def set_item(value, owner, key):
    """`owner[key] = value`."""
    owner = list_behind(owner)
    kind = type(owner)
    if Variant in (kind, type(key)):
        return of_sides(lambda to, at: set_item(value, to, at), (owner, key))
    trace, key = current_trace(), plain_key(owner, key)
    if set_item_of_instance(owner, key, value):
        return
    if trace is None or kind is TracedArray:
        owner[key] = value
        return
    if (kind is list or kind is backing.RowInList) and backing.stored_by_place(owner, key, value):
        return
    outside = current_trace().root.outside
    if kind is np.ndarray and id(owner) in outside.paths:
        outside.array(owner)[key] = value
        return
    if (
        kind is dict
        and (instance := outside.instance_of(owner)) is not None
        and not hasattr(of_class(type(instance), key), "__set__")
    ):
        state.set_attribute(instance, key, value)
        return
    if id(owner) in outside.containers:
        by_place = isinstance(owner, list | dict) and not isinstance(key, slice)
        owner = outside.target(owner) if by_place else outside.mirror(owner)
    if kind is np.ndarray:
        if is_stand_in(value) or traced_key(key) and not is_known(key) or state.inside():
            raise CannotRoll(
                message(
                    f"a traced value, or a store that data decides, meets a plain array of shape {owner.shape} that "
                    "the trace does not own",
                    locate(),
                    state.OWN_COPY,
                )
            )
        owner[key] = value
        return
    found = own_method(kind_of_object(owner), "__setitem__")
    if found:
        found(owner, key, value)
        return
    if kind not in QUICK:
        refuse_store(owner, "an item is stored")
    state.set_item(owner, keyed(key, owner), value)


def set_attribute(value, owner, key):
    """`owner.key = value`; a property's setter and the class's `__setattr__` are the user's functions like any
    other."""
    kind = type(owner)
    if current_trace() is None or kind is SparseMatrix:
        setattr(owner, key, value)
        return
    if issubclass(kind, ArrayObject):
        set_attribute_of_instance(value, owner, key)
        return
    if issubclass(kind, ObjectPhi | Poison | LibraryObject):
        owner.fail()
    found = None if issubclass(kind, Traced) else own_method(kind, "__setattr__")
    if found is None:
        (store_unseen if has_own_store(kind) else put)(owner, key, value)
    elif of_class(kind, "__setattr__").__code__.co_filename.startswith("<"):  # without a source
        state.set_attribute(owner, key, value, setattr)
    else:
        found(owner, key, value)


def put(owner, key, value):
    """`object.__setattr__`: the setter of a data descriptor is the user's function too."""
    kind = type(owner)
    found = of_class(kind, key)
    if isinstance(found, property) and found.fset is not None:
        looked_up(kind, key)
        call(found.fset)(owner, value)
        return
    setter = None if found is MISSING or isinstance(found, property) else own_method(type(found), "__set__")
    if setter is None:
        state.set_attribute(owner, key, value)
    else:
        looked_up(kind, key)
        setter(found, owner, value)


def delete_item(owner, key):
    trace, owner = current_trace(), shown_whole(owner)
    instance = trace.root.outside.instance_of(owner) if trace is not None and type(owner) is dict else None
    if instance is not None and not hasattr(of_class(type(instance), key), "__set__"):
        outside = trace.root.outside
        if key not in (owner if id(owner) in outside.copies else outside.mirror(owner)):
            raise KeyError(key)
        remove(instance, key)
        return
    if trace is not None and id(owner) in trace.root.outside.containers:
        owner = trace.root.outside.mirror(owner)
    state.before_change(owner, f"an item of a {type(owner).__name__} is deleted")
    found = own_method(type(owner), "__delitem__")
    if found:
        found(owner, key)
        return
    if type(owner) not in QUICK:
        refuse_store(owner, "an item is deleted")
    del owner[keyed(key, owner)]


def delete_attribute(owner, key):
    """`del owner.key`; `__delattr__` of the class is the user's function like any other."""
    if isinstance(owner, ArrayObject):
        delete_attribute_of_instance(owner, key)
    kind = owner.fail() if type(owner) is ObjectPhi else type(owner)
    found = None if current_trace() is None else own_method(kind, "__delattr__")
    remove(owner, key) if found is None else found(owner, key)


def remove(owner, key):
    """`object.__delattr__`: so is what a data descriptor does about it."""
    kind = type(owner)
    found = MISSING if current_trace() is None or isinstance(owner, type) else of_class(kind, key)
    if isinstance(found, property) and found.fdel is not None:
        looked_up(kind, key)
        call(found.fdel)(owner)
        return
    own = None if found is MISSING or isinstance(found, property) else own_method(type(found), "__delete__")
    if own is not None:
        looked_up(kind, key)
        own(found, owner)
        return
    if current_trace() is not None:
        slot = state.Slot("attribute", owner, key, f"{type(owner).__name__}.{key}")
        state.note(slot)
        current_trace().root.outside.delete(slot)
    if state.inside():
        state.refuse_change(owner, f"an attribute of a {type(owner).__name__} is deleted")
    object.__delattr__(owner, key) if type(of_class(kind, "__delattr__")) is types.FunctionType else delattr(owner, key)
    space = current_trace().root.outside.space_of(owner, key) if current_trace() is not None else None
    if space is not None:
        space.pop(key, None)


# -- truth -----------------------------------------------------------------------------------------


def owns(variables):
    """A function begins whose variables, which `variables` names, are rebound by functions inside it."""
    state.own_cells(variables.__closure__ or ())


def asserted(test, *text):
    """Whether an assertion holds, so far as is known; on data it is checked when the program runs.

    text: what it says, if anything: a constant, or a function that makes it.
    """
    test = asked(test)
    known = decided(test)
    if known is not None:
        return known
    made = bool(text) and isinstance(text[0], types.FunctionType)
    said = str(text[0]) if text and not made else message("\nan assertion failed", locate())
    given = tuple(text) if text and not made and type(text[0]) is not str else None
    current_trace().check(truth(test).value, AssertionError, said, words=text[0] if made else None, args=given)
    return True


def over(iterable, *parts):
    """`for item in iterable`."""
    return each(iterated(iterable), *parts)


def on(test, *parts):
    """`if test`."""
    return branch(asked(test), *parts)


def choice(test, *parts):
    """`a if test else b`."""
    return choose(asked(test), *parts)


def layers(f):
    """A stand-in, and those that it stands before."""
    while f is not None:
        yield f
        f = getattr(f, "__wrapped__", None)


state.TRANSPARENT |= {f.__code__ for f in (
    outer, attribute, attribute_of, item, item_of_one, item_by_class, item_of,
    set_item, set_attribute, delete_item, delete_attribute,
)}
state.TRANSPARENT |= {f.__code__ for f in (attribute_of_traced, put, remove, fallback, attribute_above)}
state.TRANSPARENT |= {f.__code__ for f in (collect, folds.feed, folds.gone_through_by)}
state.TRANSPARENT |= {f.__code__ for f in (*copying.READING, *RUNNING, *ANSWERING)}
state.TRANSPARENT |= {f.__code__ for f in (state.set_item, state.set_attribute, Outside.attribute, Outside.item)}
alternatives.register()
_stand_ins = (listed, percent, each, *HOOKS.values(), *(g for f in REPLACED.values() for g in layers(f)))
state.TRANSPARENT |= {f.__code__ for f in _stand_ins if type(f) is types.FunctionType}
NAMESPACE = types.SimpleNamespace(
    call=called, outer=outer, attribute=attribute, attribute_of=attribute_of, item=item, item_of=item_of, slice=slice,
    set_item=set_item, set_attribute=set_attribute, put=put, remove=remove, delete_item=delete_item,
    delete_attribute=delete_attribute, both=both, both_hold=both_hold, either=either, either_holds=either_holds,
    negated=negated, one_thing=one_thing, chain=chain, choose=choice,
    asserted=asserted, asked=asked, iterated=iterated, mapped=mapped, matched=matched, is_instance=is_instance,
    owns=owns, text=alternatives.parted(text), own=state.own, branch=on, each=over, repeat=repeat, collect=collect,
    fed=folds.fed, generated=folds.generated, leave=leave, strays=strays, class_made=class_made,
    Return=completion.Return, BREAK=completion.BREAK, CONTINUE=completion.CONTINUE,
    handled=handled, manager=manager, trying=trying, finishing=finishing, unwinding=unwinding, imported=imported,
    importing=importing, **HOOKS,
)  # fmt: skip
