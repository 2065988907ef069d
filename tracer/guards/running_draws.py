"""Draws by the running program: from states that it knows (`generator_state.py`), or by calling the generators, in
order, where none can be told.

Generators are called by lanes of a mapped function too, each of which draws numbers of its own, and for clocks.
"""

import contextlib

import numpy as np

from ...ir.core import Value
from ...ir.ops import OPS
from ...ir.ops.control import COUNTER
from ...ir.ops.drawing import words_of
from ...ir.types import SHORT, Tensor, type_of
from ..common.errors import UnsupportedError, message, shown
from ..common.frames import locate
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar
from ..values.storage import Storage, current_trace
from . import draw_calls, generator_state
from .draw_calls import NotADraw
from .draw_sources import Draw
from .generator_state import GeneratorState, Twin

# kinds of draws that leave the normal number that `RandomState` keeps as it is
WITHOUT_NORMAL = "random", "uniform", "integers", "permutation", "exponential", "standard_exponential"
DRAWN = Draw, GeneratorState  # what a program takes in that draws give


class RunningDraws:
    """The part of `Draws` that the program makes."""

    def __init__(self):
        self.call = None  # the value that numbers the call, where the program calls generators
        self.states = {}  # what generators of one state have in common -> their GeneratorState
        self.called = set()  # such keys of generators that the program calls
        self.keyed = {}  # source -> such a key of it in the trace, of all generators that the program draws from
        self.plain, self.native = False, True  # whether plain Python answers what is refused; whether nests are allowed

    # -- while tracing -----------------------------------------------------------------------------
    def begin_trace(self, plain, native):
        """plain: whether plain Python answers a call that is refused; native: whether there may be machine code."""
        self.plain, self.native = plain, native

    def drawn_from_itself(self, generator):
        """The generator that is met: of one that the trace makes, the one that it has made."""
        return self.made[id(generator)][0] if id(generator) in self.made else generator

    def key_of(self, generator):
        """What it has in common with generators of one state; noted, to be so at each call."""
        return self.keyed.setdefault(
            self.source(generator), generator_state.state_key(self.drawn_from_itself(generator))
        )

    def state_of(self, generator, function):
        """The GeneratorState of a generator that the program itself moves on; None where it calls it."""
        twin = self.drawn_from_itself(generator)
        if generator is None or generator_state.known_bits(twin) is None:
            return None
        trace, key = current_trace(), self.key_of(generator)
        found = self.states.get(key)
        if trace.lanes or key in self.called:
            if found is not None:
                text = "a generator is drawn from by lanes, after numbers that the running program draws from it"
                raise UnsupportedError(message(text, locate(), "Draw an array before, and map over its rows."))
            self.called.add(key)
            return None
        if found is None:
            found = self.states[key] = GeneratorState(self, twin, self.source(generator), trace.root)
            self.drawn[found.value] = words_of(self.twin(generator), True)
            trace.root.outside.rely_on_bits(generator)
        elif found.owner is not twin and not type(found.owner) is type(twin) is np.random.Generator:
            text = "two random generators that share a bit generator are drawn from by the running program"
            raise UnsupportedError(message(text, locate(), "Draw from one of them."))
        return found

    def drawn_from(self, state, generator, function, args, kwargs, sample):
        """A draw by the running program, from a state that it knows."""
        trace, late, ready = current_trace(), None, None
        try:
            ready = self.equation(state, function, args, kwargs, np.shape(sample))
        except NotADraw:
            late, operands = self.late_call(generator, function, args, kwargs, sample)
        kind = ready and ready[0]
        with trace.root.outside.stray.unseen():
            why = generator_state.slow(state.family, state.bits, kind, self.native)
        if why is not None and trace.looped and self.plain and np.size(sample) <= generator_state.MANY:
            text = f"{function}() in a loop would call Python for each draw, which takes longer than Python does: {why}"
            raise UnsupportedError(message(text, locate(), "Draw all numbers before the loop, and read them there."))
        words = trace.bring(state.storage.value)
        state.normal |= kind not in WITHOUT_NORMAL
        if ready is None:
            result = () if sample is None else (draw_type(sample),)
            new, *out = trace.act(Twin(state, late), [words, *operands], (words.type, *result), ordered=False, kept=1)
        else:
            how = {"family": state.family, "bits": state.bits, "kind": kind, "shape": ready[2]}
            new, *out = OPS["draw"](words, trace.passed(), *ready[1], **how)
        state.storage.write(new)
        return None if sample is None else traced_like(out[0], sample)

    def equation(self, state, function, args, kwargs, shape):
        """(kind, operands, shape) of a draw that is an equation; what parameters must be is checked."""
        kind, given, size = draw_calls.bound_call(state.family, function, args, kwargs)
        if any(isinstance(p, TracedArray) for p in given) and not size:
            size = shape
        if tuple(size) != tuple(shape):
            raise NotADraw
        dtype = draw_calls.parameter_dtype(kind)
        operands = [draw_calls.over_shape(draw_calls.parameter_operand(p, dtype), size) for p in given]
        for condition in draw_calls.conditions(state.family, function, kind, given):
            condition.check(state.owner, function)
        return kind, operands, size

    def drawn_late(self, generator, function, args, kwargs, sample, behind=()):
        """A draw that the running program makes, when it has computed `behind`."""
        trace = current_trace()
        note = (
            f"{locate()}: {function if isinstance(function, str) else function.__name__}() is called by the running "
            "program, in order"
        )
        if note not in trace.root.notes:
            trace.root.notes.append(note)
        if self.call is None:
            self.call = Value(COUNTER, None, "call")
            trace.root.build.values.add(self.call)
        late, operands = self.late_call(generator, function, args, kwargs, sample)
        out = trace.act(late, [trace.bring(self.call), *operands, *behind], late.result)
        return None if sample is None else traced_like(out[0], sample)

    def late_call(self, generator, function, args, kwargs, sample):
        """-> (what makes a draw when the program runs, the operands that it takes)."""
        draw = Draw(None, self.source(generator), function, args, kwargs)
        if generator is not None:
            self.key_of(generator)
        places, operands = [], []
        for key, x in [*enumerate(args), *kwargs.items()]:
            if isinstance(x, Traced):
                places.append((key, None if isinstance(x, TracedArray) else x.weak or x.dtype.type))
                operands.append(x.value)
        return Late(self, draw, tuple(places), () if sample is None else (draw_type(sample),)), operands

    # -- at each call ------------------------------------------------------------------------------
    def left(self):
        """The states that the program gives back."""
        return [current_trace().bring(s.storage.value) for s in self.states.values()]

    def given(self, env):
        """The states among what `begin` gives."""
        return env[len(self.list) :]

    @contextlib.contextmanager
    def locked(self, env):
        """Around a call: nobody else draws from the generators whose states the program moves on."""
        with contextlib.ExitStack() as stack:
            for lock in {id(lock): lock for state in self.states.values() for lock in state.locks(env)}.values():
                stack.enter_context(lock)
            yield

    def fit(self, env):
        """Whether all generators are what they were: of the same kinds, and none of them another's."""
        if any(words is None for words in self.given(env)):
            return False
        then = list(self.keyed.values())
        now = [generator_state.state_key(env.generator(source)) for source in self.keyed] if self.on_ways else then
        return len({*now}) == len({*then}) == len({*zip(now, then)})

    def leave_raised(self, env):
        """Move the generators on to where draws that raised have left them."""
        for state in self.states.values():
            if state.raised is not None:
                state.leave(env, state.raised)
                state.raised = None

    def leave(self, env, words):
        """Move the generators on to where the program has left them."""
        for state, now in zip(self.states.values(), words, strict=True):
            if now is not None:
                state.leave(env, np.asarray(now))

    def begin(self, env):
        """Put into `env` the results of the draws made before the launch, and the states of generators behind them ->
        the number of the call."""
        self.run(env)
        number = next(self.numbers)
        env += [state.words(env) if state.fits(env) else None for state in self.states.values()]
        if self.call is not None:
            self.environments[number] = env
        return number


class Late:
    """The function of a `host` equation: a draw with its traced arguments put in."""

    def __init__(self, draws, draw, places, result):
        self.draws, self.draw, self.places, self.result = draws, draw, places, result
        self.__name__ = draw.name

    def __call__(self, number, *operands):
        env, source = self.draws.environments.get(int(number)), self.draw.source
        return self.made(None if source is None else env.generator(source), operands)

    def made(self, generator, operands):
        """The numbers, of a generator and what is traced of the arguments."""
        draw = self.draw
        args, kwargs = list(draw.args), dict(draw.kwargs)
        for (key, kind), x in zip(self.places, operands):
            x = np.array(x) if kind is None else kind(x[()])
            if isinstance(key, int):
                args[key] = x
            else:
                kwargs[key] = x
        made = Draw(None, draw.source, draw.function, args, kwargs).made(generator)
        return tuple(np.asarray(made, t.dtype) for t in self.result)


def draw_type(sample):
    t = np.asarray(sample).dtype
    if t.name not in SHORT:
        text = f"a draw gives {shown(sample)}, which is no number"
        raise UnsupportedError(message(text, locate(), "Draw an index, and pick by it."))
    return Tensor((), WEAK_DTYPES[type(sample)]) if type(sample) in WEAK_DTYPES else type_of(sample)


def traced_like(value, sample):
    """The traced object of the kind of `sample`."""
    if isinstance(sample, np.ndarray):
        return TracedArray(Storage(value, current_trace()))
    return TracedScalar(value, type(sample) if type(sample) in WEAK_DTYPES else None)
