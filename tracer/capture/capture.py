"""Run a Python function once on traced values -> an IR function, and how to give its results back.

Dynamic arguments are pytree leaves described by a `Kind` each; what the function returns is described
by an `Out` per leaf, so that the caller gets NumPy's own objects: arrays, scalars, Python numbers, the
very argument that was returned, or a view of it.
"""

import re

import numpy as np

from ...ir.core import Constant, Eqn
from ...ir.ops import OPS
from ..common import progress, pytree
from ..common.errors import UnsupportedError, WengertError, message
from ..common.frames import where_returned
from ..guards import float_errors
from ..guards.outside import Outside
from ..guards.static_arguments import SEEN
from ..regions import hooks, raised
from ..regions.array_objects import memory
from ..regions.bounded_results import given_out
from ..regions.object_phis import handed_out
from ..values.array import TracedArray, TracedScalar
from ..values.array_object import ArrayObject
from ..values.asked import asking, begin_asking
from ..values.known_arguments import take_arguments
from ..values.speculate import RaisedBefore, attempts, checked
from ..values.status import PASSED
from ..values.storage import Storage, current_trace, memories
from ..values.trace import Trace
from .containers import Containers
from .handover import ARRAY, SCALAR
from .results import describe, own_copies, refuse_phis, refuse_shared_choice
from .shared_containers import share


class Kind:
    """One dynamic argument: its IR type, and `kind` ARRAY, SCALAR, or float / complex / int / bool."""

    __slots__ = ("type", "kind", "readonly", "name", "shadow")

    def __init__(self, type, kind, readonly=False, name=None, shadow=None):
        self.type, self.kind, self.readonly, self.name, self.shadow = type, kind, readonly, name, shadow

    def handle(self, value, trace, index):
        """The traced object that stands for the argument."""
        if self.kind is ARRAY:
            return TracedArray(Storage(value, trace, index, self.readonly), shadow=self.shadow)
        return TracedScalar(value, None if self.kind is SCALAR else self.kind)


def printable(name):
    """`params['w'][0]` as a name in the IR's text: params_w_0."""
    return re.sub(r"\W+", "_", name).strip("_") if name else None


def kind_of(traced, name=None):
    """The Kind that a traced object would have as an argument of an inner trace."""
    if isinstance(traced, TracedArray):
        return Kind(traced.type, ARRAY, not traced.writeable, name, traced.shadow)
    return Kind(traced.type, traced.weak or SCALAR, False, name)


class Captured:
    """A finished trace.

    func:    parameters are the dynamic arguments, then `lifted` (inner traces) or `inputs` (outermost);
             results are the leaves of kind "value", then one a write, one an effect, then the states of the generators
             that it moves on, then the status.
    values:  how many results are leaves.
    inputs:  concrete arrays, or the `Read`s that find them (and numbers), re-read at every call; `Draw`s; the call's
             number, as None.
    lifted:  values of the enclosing trace.
    writes:  argument leaf indices whose arrays the function changed, in order of the results.
    effects: storages of enclosing traces it changed, likewise.
    checks:  the Check behind each nonzero status, from 1; empty when there is no status result.
    layout:  argument leaf indices that must be in row-major order, for the trace took them to be.
             Behind the arguments count the inputs: an outside array may be written, and may be returned.
    outside: what was read of the world outside (outermost).
    stores:  the places outside that every call stores to; what it stores comes behind the result.
    notes:   what could not be captured as it stands, and what was done instead.
    given:   what becomes of the argument's lists and dicts, see `containers`; None where they stay as they are.
    bounded: (position of a parameter, (least, greatest) of its integers) of inputs that never change.
    constants: the positions of those among the inputs.
    relied:  (argument leaf index, what was asked of the array, the answer): see `relied`.
    heeds:   whether NumPy might have floating-point errors to tell of, see `float_errors.possible`.
    """

    __slots__ = (
        "func", "values", "inputs", "lifted", "writes", "effects", "checks", "layout", "outs", "tree", "order", "notes",
    )
    __slots__ += ("outside", "stores", "given", "bounded", "constants", "relied", "heeds")

    def __init__(
        self,
        func,
        values,
        inputs,
        lifted,
        writes,
        effects,
        checks,
        layout,
        outs,
        tree,
        order,
        notes,
        outside,
        stores,
        given,
        bounded=(),
        constants=(),
        relied=(),
        heeds=True,
    ):
        self.func, self.values, self.inputs, self.lifted, self.writes = func, values, inputs, lifted, writes
        self.effects, self.checks, self.layout, self.outs, self.tree, self.order = (
            effects,
            checks,
            layout,
            outs,
            tree,
            order,
        )
        self.notes, self.outside, self.stores, self.given, self.bounded, self.constants = (
            notes,
            outside,
            stores,
            given,
            bounded,
            constants,
        )
        self.relied, self.heeds = relied, heeds

    def rebuild(self, leaves):
        """What the function returned, around these leaves."""
        return pytree.unflatten(self.tree, leaves, self.order)


def capture(
    function,
    leaves,
    tree,
    kinds,
    name,
    parent=None,
    order=None,
    choices=None,
    around=None,
    once=False,
    objects=False,
    shared=(),
    given=(),
):
    """Trace `function(*args, **kwargs)`; the `Kind` objects among `leaves` become traced arguments, numbered as in
    `kinds`.

    choices: which decisions on data are made by value, and the arguments that decide.
    around:  makes the `Outside` of an attempt, where it is to be more than a plain one.
    once:    what is captured stands once in the enclosing trace.
    objects: whether the caller's side takes ndarrays, and tells which of them a result is.
    shared:  which places of the arguments hold one list or dict, see `together`.
    given:   the values of the enclosing trace to which it is applied, one for each of `kinds`, where that is known.
    """
    if parent is not None:
        trace = Trace(name, parent)
        trace.once, trace.lanes = once and parent.once, parent.lanes or not once
        return _captured(trace, function, leaves, tree, kinds, order, None, False, shared, given)

    def attempt():
        outside = around() if around is not None else Outside(len(kinds))
        trace = Trace(name, None, outside)
        progress.tracing(trace)
        trace.choices = choices
        try:
            made = _captured(trace, function, leaves, tree, kinds, order, outside, objects, shared)
        except Exception as error:
            if outside.stray.refusal not in (None, error):  # what C or an `except` has made of it
                raise outside.stray.refusal from None
            raise
        finally:
            outside.stray.end()
            try:
                if choices is not None:
                    choices.put_back()
            finally:
                outside.restore()
        outside.let_go()
        if outside.stray.refusal is not None:  # somebody's `except` has kept it from us
            raise outside.stray.refusal
        return made

    return attempt() if choices is None else attempts(choices, attempt)


def _captured(trace, function, leaves, tree, kinds, order, outside, objects, shared, given=()):
    """One attempt of `capture`, in its trace."""
    with trace:
        parent = trace.parent
        handles = {id(k): k.handle(trace.param(k.type, printable(k.name)), trace, i) for i, k in enumerate(kinds)}
        params = list(trace.build.params)
        trace.given = dict(zip(params, given))
        begin_asking(trace, params)
        take_arguments(kinds, handles)
        storages = [h.storage for h in handles.values() if isinstance(h, TracedArray)]
        leaves = [handles.get(id(x), x) for x in leaves]
        # an int that is traced is one that keeps changing: where Python needs it, it is to be static
        if parent is None:
            trace.numbers |= {p for p, k in zip(params, kinds) if k.kind not in (ARRAY, int)}
            leaves = seen_arguments(leaves, outside)
        args, kwargs = pytree.unflatten(tree, leaves, order)
        args, kwargs = share((args, kwargs), shared) if shared else (args, kwargs)
        del leaves
        containers = Containers(args, kwargs, outside, objects)
        with checked():
            result = result_or_raised(function, args, kwargs, outside)
        del args, kwargs, handles
        places, plans = [], None
        if parent is not None:
            containers.refuse(trace.build.name)
            result = without_instances(result)
        else:
            trace.build.locate = where_returned(function, trace.build.eqns)
            changed = containers.changed()
            result, places = with_stores(given_out(result), outside, storages, changed)
            outside.finish()
            refuse_shared_choice(result, objects)
            plans = containers.plans(result, changed)
            result = result if plans is None else plans[0]
            params += [value for _, value in outside.inputs]
            storages += [h.storage for h in outside.arrays.values()]
        del containers
        outs, values, tree = describe(result, trace, objects)
        returned = shown_memories(result)
        order = pytree.key_order(result)
        del result
        if parent is None and trace.choices is not None and not trace.choices.again:
            trace.choices.undo.clear()
        own_copies(outs, outside)
        count = len(values)
        writes, effects, after = changes(trace, storages, params)
        values += after
        inputs, checks, layout, intervals, constants = [], (), (), {}, ()
        if parent is None:
            trace.check_early()
            trace.act_now()
            # passes that were thrown away may have checked
            checks = tuple(trace.checks) if trace.status.value is not PASSED else ()
            layout = trace.layout_arguments(returned)
            outside.settle_routes()
            outside.settle_ways(outs)
            values += outside.draws.left()
            values += [trace.status.value] if checks else []
            inputs, constants, intervals = taken_in(trace, outside)
    func = trace.build.finish(values)
    written = [s.origin for s in writes]
    notes = trace.root.notes
    bounded = tuple((k, intervals[p]) for k, p in enumerate(func.params) if intervals.get(p) is not None)
    args = (
        func,
        count,
        inputs,
        list(trace.lifted),
        written,
        effects,
        checks,
        layout,
        outs,
        tree,
        order,
        notes,
        outside,
        places,
        plans,
    )
    relied = tuple(trace.relied.items()) if parent is None else ()
    heeds = parent is not None or float_errors.possible(func, trace.of_python)
    return Captured(*args, bounded, constants, tuple([(*asked, answer) for asked, answer in relied]), heeds)


def without_instances(result):
    """What a function gives to a transform, instances of subclasses of np.ndarray as plain arrays and numbers."""
    leaves, tree = pytree.flatten(result)
    if not any(isinstance(x, ArrayObject) for x in leaves):
        return result
    arrays = [memory(x) if isinstance(x, ArrayObject) else x for x in leaves]
    leaves = [x[()] if isinstance(y, ArrayObject) and not x.shape else x for x, y in zip(arrays, leaves)]
    return pytree.unflatten(tree, leaves, pytree.key_order(result))


def result_or_raised(function, args, kwargs, outside):
    """What the function gives. An exception of its own that comes however the data are is raised by the program too,
    where that has drawn or acted on the world before: as often as the function does."""
    try:
        return hooks.call(function)(*args, **kwargs)
    except RaisedBefore:
        # the program has drawn by then, and raises where it comes there itself: what data let pass is another way
        if outside is None or not outside.draws or outside.draws.call is not None:
            raise
        current_trace().choices.end_before()
        return None
    except Exception as error:
        raised.refuse_stand_in(error)
        if outside is None:
            raise
        choices = current_trace().choices
        acted = choices is not None and choices.acted is not None or current_trace().waiting
        acts = outside.draws or acted
        if not acts or isinstance(error, WengertError) and (outside.inputs or not raised.is_raised_by_programs(error)):
            raise
        if not raised.is_raised_by_programs(error):
            raised.refuse_behind_acts(error)
            raise
        raised.thrown(error)


def seen_arguments(leaves, outside):
    """The arguments that are not traced, as the trace sees them."""
    leaves = [outside.seen(x) if type(x) in SEEN or isinstance(x, np.ndarray) else x for x in leaves]
    for x in leaves:
        if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
            text = f"an argument is a {type(x).__name__}, which was captured, and now has protocols of its own"
            raise UnsupportedError(message(text, None, "Pass np.asarray(x)."))
        outside.stray.meet(type(x))
    return leaves


def with_stores(result, outside, storages, changed):
    """-> (the result, with what is stored outside at every call beside it if there is anything; the places of that).
    changed: containers among the arguments that get other items."""
    stores = outside.effects()
    result, values = handed_out(outside.given(result), [value for _, value in stores])
    refuse_phis([result, *values, *changed], outside)
    stores = [(place, value) for (place, _), value in zip(stores, values)]
    stores += [
        (Flag(s.origin), TracedArray(s))
        for s in storages + [h.storage for h in outside.arrays.values()]
        if () in (s.frozen or ())
    ]
    return ((result, [value for _, value in stores]) if stores else result), [place for place, _ in stores]


def shown_memories(result):
    """The memories that arrays among the results may show."""
    return [
        m
        for leaf in pytree.leaves(result)
        if isinstance(leaf, TracedArray)
        for m in {leaf.storage, *memories(leaf.storage)}
    ]


def changes(trace, storages, params):
    """-> (the memories of arguments that are written to, other memories that are, what all these hold in the end)."""
    writes = [s for s in storages if s.written]
    effects = list(trace.journal)
    after = [trace.bring(s.value) for s in (*writes, *effects)]
    for storage, before in trace.journal.items():
        storage.value = before
    return writes, effects, after


def taken_in(trace, outside):
    """What the program takes in beside the arguments becomes parameters of it -> (all of that, places of constants,
    intervals of parameters)."""
    outside.draws.finish(trace.build.eqns)
    captured, local, intervals = trace.finish_captures()
    asked = asking()
    sizes = asked.inputs() if asked is not None else []  # which are the last
    captured = [*outside.inputs, *captured, *outside.draws.inputs(), *sizes]
    trace.build.params += [value for _, value in captured]
    trace.build.eqns[:0] = [_bind_constant(array, value) for array, value in local]
    return (
        [what for what, _ in captured],
        tuple(k for k, (_, value) in enumerate(captured) if value in intervals),
        intervals,
    )


def _bind_constant(array, value):
    value.eqn = Eqn(OPS["constant"], (), {"value": Constant(array)}, (value,), None)
    return value.eqn


class Flag:
    """The place of an argument's flag that says whether it may be written: what the function set it to, every call
    sets."""

    def __init__(self, index):
        self.name = f"the flags of argument {index}"

    def target(self):
        return None

    def store(self, _, array):
        array.flags.writeable = False
