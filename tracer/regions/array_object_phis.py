"""Instances of the user's subclasses of np.ndarray where two ways meet.

An instance that one side has made, where the other side does not come to the meeting, is after it an instance of what
its memory and its attributes are after it. Two arrays of one shape and dtype, of which one is an instance, are a
`ChosenArray`: the elements are chosen by the program, and who asks for no more than these gets them.
"""

import numpy as np

from ..guards import state
from ..guards.subclasses import stand_in_class
from ..values.array import TracedArray
from ..values.array_object import ArrayObject
from ..values.chosen_array import ChosenArray
from . import merge
from .array_object_results import elements_of
from .array_objects import OnTheWay, memory

NOTHING = object()  # what a side holds that raises, or that leaves otherwise: its value is never read


def is_instance(x):
    return isinstance(x, ArrayObject) or type(x) is ChosenArray


def arrays_of_classes(x, y):
    """Whether two leaves are arrays of one shape and dtype, and not both plain ones."""
    if not any(map(is_instance, (x, y))):
        return False
    if not all(isinstance(z, ArrayObject | TracedArray) or type(z) in (ChosenArray, np.ndarray) for z in (x, y)):
        return False
    if any(isinstance(z, ArrayObject) and type(z.__of_trace__) is OnTheWay for z in (x, y)):
        return False
    return merge.join(*map(merge.spec, map(elements_of, (x, y)))) is not None


def kinds_of_array(x):
    """The classes that an array may be of."""
    if type(x) is ChosenArray:
        return x.kinds
    return (type(x).__stands_for__ if isinstance(x, ArrayObject) else np.ndarray,)


def is_made_within(x, run):
    """Whether an instance was made in the run of a body, or is one of several: its memory has to leave that."""
    return type(x) is ChosenArray or isinstance(x, ArrayObject) and id(x) in run.trace.region.owned


class InstancePhis:
    """The part of `Merger` that knows instances."""

    def lone_instance(self, x, side, name):
        """A plan for an instance, or an array of one of several classes, that one side only has."""
        if not is_made_within(x, (self.a, self.b)[side]):
            return lambda out: x
        if type(x) is ChosenArray:
            array = self.alone(x.array, side, name)
            return lambda out: ChosenArray(x.reason, array(out), x.kinds)
        key = id(x), side, "instance"
        if key in self.containers:
            return self.containers[key]
        made = []

        def plan(out):
            if not made:
                new = object.__new__(stand_in_class(type(x).__stands_for__))
                new.__of_trace__, new.__of_caller__ = array(out), None
                made.append(state.own(new))
                new.__dict__.update({key: part(out) for key, part in parts.items()})
            return made[0]

        self.containers[key] = plan
        array = self.alone(memory(x), side, name)
        pair = lambda v: (NOTHING, v) if side else (v, NOTHING)
        parts = {key: self.value(*pair(v), f"{name}.{key}") for key, v in x.__dict__.items()}
        return plan

    def of_classes(self, x, y, name):
        """A plan for two arrays of which not both are plain."""
        array = self.leaf(elements_of(x), elements_of(y), name)
        if array is None:
            return None
        kinds = tuple(dict.fromkeys([*kinds_of_array(x), *kinds_of_array(y)]))
        told = " or ".join(f"a {kind.__name__}" for kind in kinds)
        told = told if len(kinds) > 1 else f"one of two instances of {kinds[0].__name__}"
        text = f"{name} is {told}, as data decide at {self.where}"
        return lambda out: ChosenArray(text, array(out), kinds)
