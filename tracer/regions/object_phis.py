"""Objects that a trace makes where data choose between them, or where a loop carries one: attribute by attribute.

The phi of two objects of one class is an `ObjectPhi` of the phis of their attributes (scalar replacement of
aggregates, as compilers of static languages do it). What the objects have that does not meet is poison, and so are
lists and dicts: they would have to stay one with what the objects hold.
"""

import types

import numpy as np

from ..common import pytree
from ..common.errors import CannotRoll, message
from ..common.frames import locate
from ..common.origin import is_user
from ..guards.by_class import by_class
from ..guards.instances import attributes, blank, set_attributes
from ..guards.state import CONTAINERS, UNBOUND, own
from ..values.array import Traced
from ..values.array_object import ArrayObject
from ..values.chosen_array import ChosenArray
from ..values.object_phi import ObjectPhi, kind_of_object
from ..values.poison import Poison
from ..values.storage import current_trace
from ..values.variant import Variant
from . import merge
from .special import looked_up
from .variant_parts import VariantParts, as_parts, cases_form, holds_variants, opened_variant, varied

PLAIN = (bool, int, float, complex, np.generic, Traced)


def is_object(x):
    """Whether x can be one of the objects of a phi: made by the trace, and nothing but its attributes."""
    if type(x) is ObjectPhi:
        return True
    return by_class(type(x)) and bool(current_trace().root.outside.has_made(x))


def is_poison(x):
    return isinstance(x, Poison) and type(x) not in (ObjectPhi, ChosenArray)


def parts_of(x, run=None):
    """name -> value of the attributes of an object, after the run of a body."""
    if type(x) is ObjectPhi:
        return x.attributes
    heap = run.heap.items() if run is not None else ()
    changed = {s.key: v for s, v in heap if s.owner is x and s.kind == "attribute"}
    return {k: v for k, v in {**attributes(x), **changed}.items() if v is not UNBOUND}


def are_alike(x, y, a=None, b=None):
    """Whether two objects can meet in a phi, x after the run a, y after b."""
    return (
        is_object(x)
        and is_object(y)
        and kind_of_object(x) is kind_of_object(y)
        and list(parts_of(x, a)) == list(parts_of(y, b))
    )


def is_closed(x):
    """Whether nothing is known of what x is: poison, and no Variant that can be taken apart."""
    return is_poison(x) and (type(x) is not Variant or cases_form(x) is None)


def is_container(x):
    return isinstance(x, CONTAINERS) or isinstance(x, tuple) and bool(merge.containers(x))


def instances_of(*objects):
    """The instances that these may be, and those in their attributes."""
    found, todo = {}, list(objects)
    while todo:
        x = todo.pop()
        if is_object(x) and id(x) not in found:
            found[id(x)] = x
            todo += parts_of(x).values()
    return [x for x in found.values() if type(x) is not ObjectPhi]


# -- in loops ----------------------------------------------------------------------------------------


class ObjectForm:
    """The structure of the objects that a place in a loop holds: names of the attributes that go from trip to trip; the
    others, which stay; the order of all."""

    def __init__(self, kind, names, still, order):
        self.kind, self.names, self.still, self.order = kind, names, still, tuple(order)

    def __eq__(self, other):
        return (
            type(other) is ObjectForm
            and self.kind is other.kind
            and (self.names, self.order) == (other.names, other.order)
            and self.still.keys() == other.still.keys()
            and all(stays(x, other.still[k]) for k, x in self.still.items())
        )

    def __hash__(self):
        return hash((self.kind, self.names))


class Parts:
    """An object, as a node of the trees that loops carry."""

    def __init__(self, form, values):
        self.form, self.values = form, values


def _nodes(x):
    return tuple(x.values), x.form


def _phi_of(form, values):
    held = {**dict(zip(form.names, values)), **form.still}
    return ObjectPhi(form.kind, {name: held[name] for name in form.order})


pytree.register(Parts, _nodes, _phi_of)


def stays(x, y):
    return merge.equal(x, y) or is_poison(x) and is_poison(y)


def paired(x, y, name, varies=False):
    """Two values of a place as trees of one structure, as far as that can be; varies: where no such tree is either, one
    of the cases of both."""
    if not are_alike(x, y):
        return (varies and not are_one(x, y) and varied(x, y, name)) or (x, y)
    moving, still, xs, ys = {}, {}, parts_of(x), parts_of(y)
    for key in xs:
        p, q = xs[key], ys[key]
        if merge.equal(p, q) and not is_container(p):
            still[key] = p
        elif are_alike(p, q):
            moving[key] = paired(p, q, f"{name}.{key}")
        elif can_meet(p) and can_meet(q):
            moving[key] = p, q
        else:
            told = [v.reason if is_poison(v) else f"is {merge.described(v)}" for v in (p, q)]
            still[key] = Poison(f"{name}.{key} {' or '.join(dict.fromkeys(told))}, as data decide")
    form = ObjectForm(kind_of_object(x), tuple(moving), still, xs)
    return tuple([Parts(form, [pair[k] for pair in moving.values()]) for k in (0, 1)])


def are_one(x, y):
    """Whether one tree of numbers and arrays can be either value."""
    (xs, tree), (ys, other) = pytree.flatten(x), pytree.flatten(y)
    return tree == other and all(map(merge.are_joinable, xs, ys))


def is_instance_of_trace(x):
    """Whether x has memory that the trace has made."""
    return isinstance(x, ArrayObject) and x.__of_caller__ is None or type(x) is ChosenArray


def can_meet(x):
    return isinstance(x, PLAIN) or type(x) is np.ndarray


def formed(x, model):
    """A value of a place as a tree like another, None where it cannot be."""
    if type(model) is VariantParts:
        return as_parts(x, model.form)
    if type(model) is not Parts:
        return x
    form, held = model.form, parts_of(x) if is_object(x) and kind_of_object(x) is model.form.kind else {}
    if tuple(held) != form.order:
        return None
    if not all(is_poison(v) or stays(v, held[k]) for k, v in form.still.items()):
        return None
    values = [formed(held[k], v) for k, v in zip(form.names, model.values, strict=True)]
    return None if any(v is None for v in values) else Parts(form, values)


def opened(x):
    """An object or a Variant that a trip leaves, as a tree of all that the trip may have made; anything else as it
    is."""
    if type(x) is Variant or type(x) is tuple and holds_variants(x):
        return opened_variant(x)
    if not is_object(x):
        return x
    moving, still = {}, {}
    for key, v in parts_of(x).items():
        if is_object(v) or isinstance(v, Traced):
            moving[key] = opened(v)
        else:
            leaves_loop = not is_container(v) and not is_instance_of_trace(v)
            still[key] = v if leaves_loop else Poison(f"{key} is a {type(v).__name__} that a loop has made")
    return Parts(ObjectForm(kind_of_object(x), tuple(moving), still, parts_of(x)), list(moving.values()))


# -- what is asked of one ----------------------------------------------------------------------------


def attribute_of_phi(x, key, call, attribute):
    """`x.key`, with hooks."""
    kind = x.kind
    if key == "__class__":
        return kind
    held = x.read()
    looked_up(kind, key)
    found = next((vars(c)[key] for c in kind.__mro__ if key in vars(c)), None)
    if isinstance(found, property):
        return call(found.fget)(x) if is_user(getattr(found.fget, "__code__", None)) else x.fail()
    if key in held:
        return held[key]
    if type(found) is types.FunctionType:
        return types.MethodType(found, x)
    if found is None or hasattr(found, "__set__") or type(found) not in (staticmethod, classmethod, *SIMPLE):
        return x.fail()
    return attribute(kind, key)


SIMPLE = (bool, int, float, complex, str, tuple, type(None))


def phi(attributes, *objects):
    """The ObjectPhi of objects."""
    choice = next((x.choice for x in objects if type(x) is ObjectPhi and x.choice is not None), None)
    return depending(ObjectPhi(kind_of_object(objects[0]), attributes, choice), *objects)


def depending(made, *objects):
    """An ObjectPhi, of the objects that these are or may be; anything else as it is."""
    if type(made) is not ObjectPhi:
        return made
    made.depend_on(instances_of(*objects))
    for x in objects:
        if type(x) is ObjectPhi:
            made.sources.update(x.sources)
    return made


def require_fresh(run, value):
    """Refuse a loop whose trip leaves an object in a place that it has changed, or that may be one that it has."""
    if type(value) is ObjectPhi and value.stale or any(s.owner is x for x in instances_of(value) for s in run.heap):
        text = f"a loop changes an object of {kind_of_object(value).__name__}, and what holds it"
        raise CannotRoll(message(text, locate(), "Let a name hold one object, or make a new one for each trip."))


# -- handed out ----------------------------------------------------------------------------------------


def handed_out(result, stored):
    """(A result, and what is stored outside) with an object made anew for each call in place of an ObjectPhi, where
    nobody could tell it from those that it may be: it is the only one, and they are not handed out too."""
    found, todo, seen = {}, [result, *stored], set()
    while todo:
        x = todo.pop()
        if id(x) in seen:
            continue
        seen.add(id(x))
        if type(x) is ObjectPhi:
            found[id(x)] = x
            todo += x.attributes.values()
        elif type(x) in (list, tuple, dict):
            todo += x.values() if type(x) is dict else x
        elif is_object(x):
            todo += parts_of(x).values()
    if len(found) != 1:
        return result, stored
    (x,) = found.values()
    if x.stale or not x.sources.keys().isdisjoint(seen):
        return result, stored
    made = own(blank(x.kind))
    set_attributes(made, x.attributes)
    return with_instance(result, x, made), [with_instance(v, x, made) for v in stored]


def with_instance(value, x, made):
    if value is x:
        return made
    if type(value) in (list, tuple):
        return type(value)([with_instance(y, x, made) for y in value])
    return {k: with_instance(y, x, made) for k, y in value.items()} if type(value) is dict else value
