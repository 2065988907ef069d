"""Random numbers and clocks: drawn on the host, in the order of the program, by the user's own generators.

A draw whose arguments are plain, outside of regions and mapped functions, is made before the program is
launched, at every call, and is an input of the program. One whose arguments are traced, one inside a loop
or branch, and any that comes after such a one, is made by the running program, in order. While a function is traced,
copies of the generators are drawn from: the generators themselves stay where they are.
"""

import builtins
import contextlib
import copy
import itertools
import random
import time

import numpy as np

from ...ir.core import Value
from ...ir.ops import OPS
from ...ir.types import SHORT, Tensor, type_of
from ..common.errors import UnsupportedError, message, shown
from ..common.frames import locate
from ..numpy_api.handles import is_traced
from ..values.array import WEAK_DTYPES, Traced, TracedArray, TracedScalar
from ..values.storage import Storage, current_trace
from . import generator_state
from .generator_state import GENERATORS, GeneratorState, NotADraw, Twin

LEGACY = np.random.rand.__self__
MAKERS = (np.random.default_rng, np.random.Generator, np.random.RandomState, random.Random)
BITS = (
    np.random.MT19937, np.random.PCG64, np.random.PCG64DXSM, np.random.Philox, np.random.SFC64, np.random.SeedSequence,
)
# those that are not methods of the global generator
FUNCTIONS = {np.random.seed: LEGACY.seed, np.random.sample: LEGACY.random_sample, np.random.ranf: LEGACY.random_sample}
CLOCKS = [f"{n}{unit}" for n in (
    "time", "perf_counter", "monotonic", "process_time", "thread_time", "clock_gettime",
) for unit in ("", "_ns")]
CLOCKS = {getattr(time, n) for n in CLOCKS if hasattr(time, n)}
COMMON = frozenset(x for x in vars(builtins).values() if callable(x))  # that are called most; none of them draws
LOOPS = ("loop", "map", "call", "external")  # of which equations say not how much they compute
LITTLE = 256  # elements that are computed in no time
REORDERS = ("permutation", "shuffle", "choice")
STATEFUL = ("get_state", "set_state", "getstate", "setstate", "spawn", "jumped")
SHARED = (np.random.get_bit_generator, np.random.set_bit_generator)
COUNT = Tensor((), np.dtype(np.int64))


def drawing(f):
    """What stands in, while tracing, for a function that draws; None for all others."""
    try:
        if f in COMMON:
            return None
        f = FUNCTIONS.get(f, f)
        if f in MAKERS:
            return lambda *args, **kwargs: draws().make(f, args, kwargs)
        if f in BITS:
            return lambda *args, **kwargs: draws().bits(f, args, kwargs)
        if f in SHARED:
            return lambda *args: refuse_state(f.__name__)
        if f in CLOCKS:
            return lambda *args: draws().clock(f, args)
    except TypeError:
        return None
    owner = getattr(f, "__self__", None)
    if isinstance(owner, GENERATORS) and callable(getattr(owner, getattr(f, "__name__", ""), None)):
        return lambda *args, **kwargs: draws().method(owner, f.__name__, args, kwargs)
    if isinstance(owner, BITS):
        return lambda *args, **kwargs: refuse_state(f.__name__)
    return None


def refuse_state(name):
    raise UnsupportedError(
        message(f"the state of a random generator is handled ({name}) in a traced function", locate(), "Do it outside.")
    )


def draws():
    return current_trace().root.outside.draws


class Draw:
    """One call made on the host. index: its place in the order of those made before the launch."""

    __slots__ = ("index", "source", "function", "args", "kwargs", "name", "kind")

    def __init__(self, index, source, function, args, kwargs):
        self.index, self.source, self.function, self.args, self.kwargs = index, source, function, args, kwargs
        self.name = function if isinstance(function, str) else function.__name__
        self.kind = None  # the Python type of what it gives

    def __call__(self, env):
        return self.made(env[self.source.index] if isinstance(self.source, Draw) else self.source)

    def made(self, generator):
        """What it gives, of a generator."""
        f = getattr(generator, self.function) if isinstance(self.function, str) else self.function
        if self.name == "shuffle":  # the order that shuffling gives
            rows = np.arange(self.args[0])
            f(rows)
            return rows
        return f(*copy.copy(self.args), **self.kwargs)


class Draws:
    """The draws of one trace, and the making of them at each call."""

    def __init__(self):
        self.list, self.taken = [], []  # every draw before the launch; [(Draw, Value)] of those the program takes
        # id(generator) -> (it, its copy); id -> (a generator made in the trace, the Draw that makes it)
        self.copies, self.made = {}, {}
        self.late = False  # whether the program itself has drawn
        self.seeds = {}  # id(a bit generator or seed made in the trace) -> (it, what makes it anew)
        self.unseeded = {}  # id -> a seed that took its entropy from the system
        self.call = None  # the value that numbers the call, where the program calls generators of which it knows no state
        self.states = {}  # what generators of one state have in common -> their GeneratorState, where the program draws
        self.called = set()  # such keys of generators that the program calls
        self.plain, self.native = False, True  # whether plain Python answers what is refused; whether nests are allowed
        self.environments, self.numbers = {}, itertools.count()

    # -- while tracing -----------------------------------------------------------------------------
    def begin_trace(self, plain, native):
        """plain: whether plain Python answers a call that is refused; native: whether there may be machine code."""
        self.plain, self.native = plain, native

    def make(self, maker, args, kwargs):
        """A generator made in the function: anew at every call."""
        if maker is np.random.default_rng and args and isinstance(args[0], np.random.Generator):
            return args[0]
        again = self.anew(maker, args, kwargs)
        self.before_launch(maker.__name__)
        generator = maker(*args, **kwargs)
        self.made[id(generator)] = generator, self.append(None, again, (), {})
        return generator

    def bits(self, maker, args, kwargs):
        """A bit generator or seed made in the function: anew with the generator that is made of it."""
        again = self.anew(maker, args, kwargs)
        made = maker(*args, **kwargs)
        if not args and kwargs.get("entropy") is None:
            self.unseeded[id(made)] = made
        self.seeds[id(made)] = made, again
        return made

    def refuse_entropy(self, seed):
        """Entropy of the system's is another at each call."""
        if id(seed) in self.unseeded:
            text = "a seed that was made of nothing is looked at: it would be that of the first call ever after"
            raise UnsupportedError(message(text, locate(), "Make it outside, and pass its entropy."))

    def anew(self, maker, args, kwargs):
        """A function that makes it again, of seeds that are made again."""
        if is_traced([*args, *kwargs.values()]):
            raise UnsupportedError(
                message("a random generator is seeded with traced numbers", locate(), "Make it outside, and pass it.")
            )
        plain, keyed = list(map(self.seed, args)), {k: self.seed(x) for k, x in kwargs.items()}

        def again():
            return maker(*[x() for x in plain], **{k: x() for k, x in keyed.items()})

        again.__name__ = maker.__name__
        return again

    def seed(self, x):
        """What gives an argument of a generator that is made."""
        if not isinstance(x, (*BITS, *GENERATORS)):
            return lambda: copy.copy(x)
        if id(x) not in self.seeds:
            text = "a random generator is made of a bit generator or seed that is from outside, or another's already"
            raise UnsupportedError(message(text, locate(), "Make the generator outside, and pass it."))
        return self.seeds.pop(id(x))[1]

    def before_launch(self, name):
        if self.late or not current_trace().once:
            where = (
                "inside a loop, branch or mapped function"
                if not self.late
                else "after numbers that the running program draws"
            )
            raise UnsupportedError(
                message(f"{name}() is called {where}", locate(), "Call it before, at the top of the function.")
            )

    def append(self, source, function, args, kwargs):
        draw = Draw(len(self.list), source, function, args, kwargs)
        self.list.append(draw)
        return draw

    def method(self, generator, name, args, kwargs):
        """A method of a generator."""
        if name in STATEFUL or name.startswith("_"):
            refuse_state(name)
        if isinstance(generator, random.Random) and name in ("choice", "choices", "sample", "shuffle"):
            raise UnsupportedError(
                message(
                    f"random.{name}() picks objects",
                    locate(),
                    "Draw an index with random.randrange(n), and pick by it.",
                )
            )
        if name == "shuffle" and not isinstance(args[0], TracedArray):
            advice = "Shuffle an array that is traced, or draw rng.permutation(n)."
            raise UnsupportedError(message(f"a {type(args[0]).__name__} is shuffled", locate(), advice))
        if name in REORDERS and args and isinstance(args[0], TracedArray) and args[0].ndim and not kwargs.get("axis"):
            rows = self.draw(generator, name, (len(args[0]), *args[1:]), kwargs)
            if name != "shuffle":
                return args[0][rows]
            args[0][...] = args[0][rows]
            return None
        return self.draw(generator, name, args, kwargs)

    def clock(self, f, args):
        """A clock, read where it stands: before the program where nothing is computed before it, behind all that is
        where it ends with that."""
        trace = current_trace()
        around = [trace]
        while around[-1].parent is not None:
            around.append(around[-1].parent)
        if not any(computes_much(t.build.eqns) for t in around):
            return self.draw(None, f, args, {})
        if trace.region is None and trace.parent is not None:
            refuse_clock(f, locate())
        self.late = True
        used = {x for e in trace.build.eqns for x in e.operands}
        return self.drawn_late(
            None, f, args, {}, f(*args), [r for e in trace.build.eqns for r in e.results if r not in used]
        )

    def finish(self, eqns):
        """Refuse a clock that the program reads before it computes more: that might as well be computed before."""
        for n, e in enumerate(eqns) if self.call is not None else ():
            found = next(clocks(e), None)
            if found is not None and computes_much(eqns[n + 1 :]):
                refuse_clock(*found)
            for region in e.regions():
                self.finish(region.eqns)

    def draw(self, generator, function, args, kwargs):
        """One draw -> its result, traced."""
        trace = current_trace()
        root = trace.root
        traced = any(is_traced(x) for x in (*args, *kwargs.values()))
        self.late = self.late or traced or not trace.once
        sample = self.sample(generator, function, args, kwargs)
        if not self.late:
            source = self.made[id(generator)][1] if id(generator) in self.made else generator
            draw = self.append(source, function, copy.deepcopy(args), copy.deepcopy(kwargs))
            if sample is None:
                return None
            draw.kind = type(sample)
            value = Value(draw_type(sample), None, draw.name)
            root.build.values.add(value)
            self.taken.append((draw, value))
            return traced_like(trace.bring(value), sample)
        state = self.state_of(generator, function)
        if state is None:
            return self.drawn_late(generator, function, args, kwargs, sample)
        return self.drawn_from(state, generator, function, args, kwargs, sample)

    def state_of(self, generator, function):
        """The GeneratorState of a generator that the program itself moves on; None where it calls it."""
        twin = self.made[id(generator)][0] if id(generator) in self.made else generator
        if generator is None or function == "seed" or generator_state.known_bits(twin) is None:
            return None
        trace, key = current_trace(), generator_state.key_of(twin)
        found = self.states.get(key)
        if trace.lanes or key in self.called:
            if found is not None:
                text = "a generator is drawn from by lanes, after numbers that the running program draws from it"
                raise UnsupportedError(message(text, locate(), "Draw an array before, and map over its rows."))
            self.called.add(key)
            return None
        if found is None:
            source = self.made[id(generator)][1] if id(generator) in self.made else generator
            found = self.states[key] = GeneratorState(self, twin, source, trace.root)
        elif found.owner is not twin and not type(found.owner) is type(twin) is np.random.Generator:
            text = "two random generators that share a bit generator are drawn from by the running program"
            raise UnsupportedError(message(text, locate(), "Draw from one of them."))
        return found

    def drawn_from(self, state, generator, function, args, kwargs, sample):
        """A draw by the running program, from a state that it knows."""
        trace, late, ready = current_trace(), None, None
        try:
            ready = self.equation(state, generator, function, args, kwargs, np.shape(sample))
        except NotADraw:
            late, operands = self.late_call(generator, function, args, kwargs, sample)
        kind = ready and ready[0]
        with trace.root.outside.stray.unseen():
            why = generator_state.slow(state.family, state.bits, kind, self.native)
        if why is not None and trace.looped and self.plain and np.size(sample) <= generator_state.MANY:
            text = f"{function}() is drawn in a loop, where calling Python for each number takes longer than Python: {why}"
            raise UnsupportedError(message(text, locate(), "Draw an array of numbers before the loop, and read it there."))
        words = trace.bring(state.storage.value)
        if ready is None:
            result = () if sample is None else (draw_type(sample),)
            new, *out = trace.act(Twin(state, late), [words, *operands], (words.type, *result), ordered=False)
        else:
            how = {"family": state.family, "bits": state.bits, "kind": kind, "shape": ready[2]}
            new, *out = OPS["draw"](words, trace.passed(), *ready[1], **how)
        state.storage.write(new)
        return None if sample is None else traced_like(out[0], sample)

    def equation(self, state, generator, function, args, kwargs, shape):
        """(kind, operands, shape) of a draw that is an equation; what parameters must be is checked."""
        kind, given, size = generator_state.bound_call(state.family, function, args, kwargs)
        if any(isinstance(p, TracedArray) for p in given) and not size:
            size = shape
        if tuple(size) != tuple(shape):
            raise NotADraw
        dtype = generator_state.parameter_dtype(kind)
        checks = generator_state.conditions(state.family, kind, given)
        operands = [generator_state.spread(generator_state.operand(p, dtype), size) for p in given]
        for ok, failing in checks:
            error = self.refusal(generator, function, args, kwargs, kind, failing)
            current_trace().check(ok, type(error), message(str(error), locate()))
        return kind, operands, size

    def refusal(self, generator, function, args, kwargs, kind, failing):
        """What a method raises on parameters that it does not take."""
        copied = copy.deepcopy(self.made[id(generator)][0] if id(generator) in self.made else generator)
        method = getattr(copied, function)
        try:
            if failing is not None:
                method(*failing)
            elif "high" in kwargs or len(args) > 1 and function != "choice":
                method(3, 2)
            else:
                method(0)
        except Exception as error:  # NumPy's own
            return error
        raise AssertionError(f"{function}() takes what it should not")

    def sample(self, generator, function, args, kwargs):
        """A result of the kind that every call will have, from a copy of the generator."""
        if generator is None:
            return function(*args)
        if id(generator) in self.made:
            twin = self.made[id(generator)][0]
        else:
            twin = self.copies.setdefault(id(generator), (generator, copy.deepcopy(generator)))[1]
        plain, keyed = list(map(stand_in, args)), {k: stand_in(x) for k, x in kwargs.items()}
        if function == "shuffle":
            plain = [np.arange(args[0])]
            getattr(twin, function)(*plain)
            return plain[0]
        return getattr(twin, function)(*plain, **keyed)

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
            self.call = Value(COUNT, None, "call")
            trace.root.build.values.add(self.call)
        late, operands = self.late_call(generator, function, args, kwargs, sample)
        out = trace.act(late, [trace.bring(self.call), *operands, *behind], late.result)
        return None if sample is None else traced_like(out[0], sample)

    def late_call(self, generator, function, args, kwargs, sample):
        """-> (what makes a draw when the program runs, the operands that it takes)."""
        source = self.made[id(generator)][1] if id(generator) in self.made else generator
        draw = Draw(None, source, function, args, kwargs)
        places, operands = [], []
        for key, x in [*enumerate(args), *kwargs.items()]:
            if isinstance(x, Traced):
                places.append((key, None if isinstance(x, TracedArray) else x.weak or x.dtype.type))
                operands.append(x.value)
        return Late(self, draw, tuple(places), () if sample is None else (draw_type(sample),)), operands

    # -- at each call ------------------------------------------------------------------------------
    def __bool__(self):
        return bool(self.list or self.states or self.call is not None)

    def inputs(self):
        """What the program takes of them: (Draw, value), (GeneratorState, value), and (None, value) for the number of the
        call."""
        states = [(s, s.value) for s in self.states.values()]
        return [*self.taken, *states, *([(None, self.call)] if self.call is not None else [])]

    def left(self):
        """The states that the program gives back."""
        return [current_trace().bring(s.storage.value) for s in self.states.values()]

    def given(self, env):
        """The states among what `begin` gives."""
        return env[len(self.list) :]

    @contextlib.contextmanager
    def locked(self):
        """Around a call: nobody else draws from the generators whose states the program moves on."""
        with contextlib.ExitStack() as stack:
            for state in self.states.values():
                stack.enter_context(state.lock())
            yield

    def fit(self, env):
        """Whether all generators are what they were."""
        return all(s.fits(env) for s in self.states.values())

    def leave(self, env, words):
        """Move the generators on to where the program has left them."""
        for state, now in zip(self.states.values(), words, strict=True):
            state.leave(env, np.asarray(now))

    def sources(self):
        """The generators that the calls of this trace advance."""
        return {id(d.source): d.source for d in self.list if isinstance(d.source, GENERATORS)}.values()

    def run(self, upto=None):
        """Make the draws of one call, in order -> their results."""
        env = []
        for draw in self.list[:upto]:
            env.append(draw(env))
        return env

    def begin(self):
        """-> (the results of the draws made before the launch and the states of generators behind them, the number of
        the call)."""
        env, number = self.run(), next(self.numbers)
        env += [state.words(env) for state in self.states.values()]
        if self.call is not None:
            self.environments[number] = env
        return env, number


def clocks(e):
    """The clocks that an equation, or what is in its bodies, reads, and where."""
    found = e.attrs.get("function") if e.op.name == "host" else None
    if isinstance(found, Late) and found.draw.function in CLOCKS:
        yield found.draw.function, e.source
    for region in e.regions():
        for inside in region.eqns:
            yield from clocks(inside)


def refuse_clock(f, source):
    text = (
        f"{f.__name__}() is read in the midst of a computation: a compiled program has no such moment, what stands "
        "before it may run after it"
    )
    raise UnsupportedError(
        message(text, source, "Measure around the call, or read clocks before all that is computed, and behind it.")
    )


def computes_much(eqns):
    """Whether equations compute more than a few numbers."""
    if sum([r.type.size for e in eqns for r in e.results]) > LITTLE:
        return True
    return any(e.op.name in LOOPS for e in eqns)


class Late:
    """The function of a `host` equation: a draw with its traced arguments put in."""

    def __init__(self, draws, draw, places, result):
        self.draws, self.draw, self.places, self.result = draws, draw, places, result
        self.__name__ = draw.name

    def __call__(self, number, *operands):
        env, source = self.draws.environments.get(int(number)), self.draw.source
        return self.made(env[source.index] if isinstance(source, Draw) else source, operands)

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


def stand_in(x):
    """Something plain of the shape and type of an argument."""
    return np.ones(x.shape, x.dtype) if isinstance(x, TracedArray) else 1 if isinstance(x, Traced) else x


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


def states(generators):
    """[(generator, state)]."""
    return [(g, _state(g)) for g in generators]


def _state(g):
    if isinstance(g, np.random.Generator):
        return g.bit_generator.state
    return g.getstate() if isinstance(g, random.Random) else g.get_state(legacy=False)


def put_back(states):
    for g, state in states:
        if isinstance(g, np.random.Generator):
            g.bit_generator.state = state
        elif isinstance(g, random.Random):
            g.setstate(state)
        else:
            g.set_state(state)
