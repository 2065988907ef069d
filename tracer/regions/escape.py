"""Arrays that leave a region: its memory becomes memory of the trace around it, shared by whom it was shared inside."""

import numpy as np

from ...ir.core import Lit, Value
from ..values.array import TracedArray
from ..values.elements import Element
from ..values.layout import layout_storages, merged_layouts
from ..values.storage import AliasSet, Plain, Storage, UnknownAlias, current_trace, is_by_jax, memories
from ..values.views import IndexView

MANY = 6  # so many arrays are told apart where data chose one of them


class Leaving:
    """What one run leaves behind. row(value, name) -> the number of the result that gives a value of the run's
    trace."""

    def __init__(self, run, row):
        self.run, self.row = run, row
        self.made = {}  # memory of the run -> the plan for the memory that stands for it
        self.plain = {}  # id -> (array, Plain)

    def choices(self, leaf):
        """[(test or None, memory, chain of views)] of what an array may be."""
        if isinstance(leaf, np.ndarray):
            if id(leaf) not in self.plain:
                self.plain[id(leaf)] = leaf, Plain(current_trace().capture(leaf), current_trace())
            return [(None, self.plain[id(leaf)][1], ())]
        if isinstance(leaf.storage, AliasSet):
            return [(test, s, (*chain, *leaf.chain)) for test, s, chain in leaf.storage.choices]
        return [(None, leaf.storage, leaf.chain)]

    def value(self, value):
        """A plan for a value: a function of the region's results."""
        trace = self.run.trace
        if type(value) is Element and value.whole in trace.build.values and value.whole not in trace.root.lifts:
            with trace:
                value = trace.bring(value)
        if value is None or isinstance(value, Lit) or value not in trace.build.values:
            return lambda out: value
        outer = trace.root.lifts.get(value)
        if outer is not None:
            return lambda out: outer
        at = self.row(value, None)
        return lambda out: out[at]

    def memory(self, storage, name=None):
        """A plan for a memory."""
        if not self.run.owns(storage):
            return lambda out: storage
        if storage not in self.made:
            at = self.row(self.run.written(storage), name)
            sources = [self.memory(s) for s, _ in storage.sources] if isinstance(storage, UnknownAlias) else []
            made = []

            def plan(out):
                if not made:
                    others = [s(out) for s in sources]
                    made.append(
                        UnknownAlias(out[at], others)
                        if others
                        else Storage(out[at], current_trace(), None, storage.readonly)
                    )
                    made[0].by_jax = is_by_jax(storage)
                    made[0].lies = merged_layouts(made[0].lies, storage.lies)
                return made[0]

            self.made[storage] = plan
        return self.made[storage]

    def chain(self, chain):
        """A plan for a chain of views, the traced starts among them given by the region."""
        steps = [self.step(step) for step in chain]
        return lambda out: tuple([step(out) for step in steps])

    def step(self, step):
        if not (isinstance(step, IndexView) and step.dynamic):
            return lambda out: step
        axes = [
            (self.value(start) if isinstance(start, Value) else lambda out, start=start: start, n, stride)
            for start, n, stride in step.axes
        ]
        return lambda out: IndexView([(start(out), n, stride) for start, n, stride in axes], step.shape, step.key)

    def parts(self, choices, name=None):
        """Plans for choices: [(test, memory, chain)]."""
        return [(self.value(test), self.memory(s, name), self.chain(chain)) for test, s, chain in choices]


def strides(leaf):
    """How an array lies in memory."""
    return leaf.strides if isinstance(leaf, np.ndarray) else leaf.shadow.strides


def shadow(leaf):
    return None if isinstance(leaf, np.ndarray) else leaf.shadow


def new(value, leaves, readonly=False):
    """Memory that holds a value, and lies as the arrays that it was."""
    made = Storage(value, current_trace(), None, readonly)
    made.by_jax = any(isinstance(x, TracedArray) and is_by_jax(x.storage) for x in leaves)
    for x in leaves:
        if isinstance(x, TracedArray) and (len(x.type.shape) > 1 or not is_of_trace(x)):  # new rows lie as rows do
            made.lies = merged_layouts(made.lies, layout_storages(x))
    return made


def is_of_trace(x):
    """Whether all memories that an array may show were made in the trace."""
    return all(m.origin is None for m in memories(x.storage))


def handle(choices, kind, value=None, mixed=False, seen=None):
    """An array that is one of the choices, of which the last is taken where no test holds."""
    if len(choices) == 1 and not mixed:
        _, storage, chain = choices[0]
        return TracedArray(storage, chain, kind, seen)
    blend = AliasSet(choices, kind, value, mixed)
    if len(blend.choices) > MANY:
        return TracedArray(UnknownAlias(blend.value, memories(blend), blend), (), kind, seen)
    return TracedArray(blend, (), kind, seen)
