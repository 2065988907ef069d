"""Random numbers and clocks: drawn on the host, in the order of the program, by the user's own generators.

A draw whose arguments are plain, outside of regions and mapped functions, is made before the program is
launched, at every call, and is an input of the program. One whose arguments are traced, one inside a loop
or branch, and any that comes after such a one, is made by the running program, in order. While a function is traced,
copies of the generators are drawn from: the generators themselves stay where they are.
"""

import builtins
import copy
import itertools
import random
import time

import numpy as np

from ...ir.core import Value
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..numpy_api.handles import is_traced
from ..values.array import TracedArray, TracedScalar
from ..values.mixed import has_mixed
from ..values.speculate import contents
from ..values.storage import current_trace
from .draw_sources import GENERATORS, LEGACY, ByWayGenerator, Draw, DrawEnvironment, Maker, Seed, check_seeds
from .running_draws import Late, RunningDraws, draw_type, traced_like

MAKERS = (np.random.default_rng, np.random.Generator, np.random.RandomState, random.Random)
BITS = (
    np.random.MT19937,
    np.random.PCG64,
    np.random.PCG64DXSM,
    np.random.Philox,
    np.random.SFC64,
    np.random.SeedSequence,
)
# those that are not methods of the global generator
FUNCTIONS = {np.random.seed: LEGACY.seed, np.random.sample: LEGACY.random_sample, np.random.ranf: LEGACY.random_sample}
CLOCKS = [
    f"{n}{unit}"
    for n in (
        "time",
        "perf_counter",
        "monotonic",
        "process_time",
        "thread_time",
        "clock_gettime",
    )
    for unit in ("", "_ns")
]
CLOCKS = {getattr(time, n) for n in CLOCKS if hasattr(time, n)}
COMMON = frozenset(x for x in vars(builtins).values() if callable(x))  # that are called most; none of them draws
LOOPS = ("loop", "map", "call", "external")  # of which equations say not how much they compute
LITTLE = 256  # elements that are computed in no time
FILLING = "random", "standard_normal", "standard_exponential"  # which take `out`
REORDERS = ("permutation", "shuffle", "choice")
STATEFUL = ("get_state", "set_state", "getstate", "setstate", "spawn", "jumped")
# what stands for the traced arguments of a draw, by their places, until a method takes them; None: 1 for numbers, and
# in arrays probabilities
STAND_INS = [(1,) * 9, (*range(1, 10),), (*range(1 << 16, (1 << 16) + 9),), (None,) * 9]
SHARED = (np.random.get_bit_generator, np.random.set_bit_generator)
OUTSIDE = (*GENERATORS, ByWayGenerator)  # sources that a call moves on for others to see


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


class Draws(RunningDraws):
    """The draws of one trace, and the making of them at each call."""

    def __init__(self):
        super().__init__()
        self.list, self.taken = [], []  # every draw before the launch; [(Draw, Value)] of those the program takes
        # id(generator) -> (it, its copy); id -> (a generator made in the trace, the Draw that makes it); id -> the way
        self.copies, self.made, self.on_ways = {}, {}, {}
        self.late = False  # whether the program itself has drawn
        self.drawn = {}  # Value -> what it is in this call, of draws before the launch and states behind them
        self.seeds = {}  # id(a bit generator or seed made in the trace) -> (it, what makes it anew)
        self.numbered = []  # Seeds
        self.unseeded = {}  # id -> a seed that took its entropy from the system
        self.environments, self.numbers = {}, itertools.count()

    # -- while tracing -----------------------------------------------------------------------------
    def make(self, maker, args, kwargs):
        """A generator made in the function: anew at every call."""
        if maker is np.random.default_rng and args and isinstance(args[0], np.random.Generator):
            return args[0]
        self.before_launch(maker.__name__)
        again, generator = self.anew(maker, args, kwargs)
        made = self.append(None, again, (), {}, Maker)
        self.made[id(generator)] = generator, made
        return generator

    def bits(self, maker, args, kwargs):
        """A bit generator or seed made in the function: anew with the generator that is made of it."""
        again, made = self.anew(maker, args, kwargs)
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
        """-> (a function that makes it again for the environment of a call, of seeds that are made again; it)."""
        before = len(self.numbered)
        given = [self.seed(x) for x in args], {k: self.seed(x) for k, x in kwargs.items()}
        plain, keyed = [now for _, now in given[0]], {k: now for k, (_, now) in given[1].items()}

        def again(env):
            return maker(*[x(env) for x, _ in given[0]], **{k: x(env) for k, (x, _) in given[1].items()})

        again.__name__ = maker.__name__
        made = maker(*plain, **keyed)
        check_seeds(self.numbered[before:], again)
        return again, made

    def seed(self, x):
        """-> (what gives an argument of a generator that is made, it in this call)."""
        if type(x) in (list, tuple):
            parts, kind = [self.seed(part) for part in x], type(x)
            return lambda env: kind([again(env) for again, _ in parts]), kind([now for _, now in parts])
        if is_int_of_data(x):
            self.numbered.append(seed := Seed(x, self))
            return lambda env: env.number(seed), seed.now
        if is_traced(x):
            text = "a random generator is seeded with traced numbers that are no ints"
            raise UnsupportedError(message(text, locate(), "Make it outside, and pass it."))
        if not isinstance(x, (*BITS, *GENERATORS)):
            return lambda env: copy.copy(x), x
        if id(x) not in self.seeds:
            text = "a random generator is made of a bit generator or seed that is from outside, or another's already"
            raise UnsupportedError(message(text, locate(), "Make the generator outside, and pass it."))
        return self.seeds.pop(id(x))[1], x

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

    def append(self, source, function, args, kwargs, kind=Draw):
        draw = kind(len(self.list), source, function, args, kwargs)
        self.list.append(draw)
        return draw

    def source(self, generator):
        """What finds a generator at each call: it, the way to it, or the Draw that makes it."""
        if id(generator) in self.made:
            return self.made[id(generator)][1]
        way = current_trace().root.outside.way(generator) if generator is not None else None
        return generator if way is None else self.on_ways.setdefault(id(generator), ByWayGenerator(way))

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
        if isinstance(generator, random.Random) and name == "uniform" and len(args) == 2 and has_mixed(args):
            low, high = args  # of a kind that data decide: as Python computes it
            return low + (high - low) * self.draw(generator, "random", (), {})
        if kwargs.get("out") is not None or name in FILLING and len(args) > 2:
            return self.filled(generator, name, args, kwargs)
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

    def filled(self, generator, name, args, kwargs):
        """A draw into an array."""
        out = kwargs.get("out")
        fits = isinstance(out, TracedArray) and out.dtype == np.float64 and name in FILLING and not args
        if not fits or kwargs.keys() - {"out", "method"}:
            text = f"{name}() draws into `out`, otherwise than float64 numbers into a whole array"
            raise UnsupportedError(message(text, locate(), "Assign what it gives: x[...] = rng.random(x.shape)."))
        out[...] = self.draw(generator, name, (), {"size": out.shape} | {k: x for k, x in kwargs.items() if k != "out"})
        return out

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
        args, kwargs = self.with_sizes(generator, function, args, kwargs)
        traced = any(is_traced(x) for x in (*args, *kwargs.values()))
        self.late = self.late or traced or not trace.once
        state = self.state_of(generator, function) if self.late else None
        sample = self.sample(generator, function, args, kwargs)
        if not self.late:
            draw = self.append(self.source(generator), function, copy.deepcopy(args), copy.deepcopy(kwargs))
            if sample is None:
                return None
            draw.kind = type(sample)
            value = Value(draw_type(sample), None, draw.name)
            root.build.values.add(value)
            self.taken.append((draw, value))
            self.drawn[value] = np.asarray(sample, value.type.dtype)
            return traced_like(trace.bring(value), sample)
        if state is None:
            return self.drawn_late(generator, function, args, kwargs, sample)
        return self.drawn_from(state, generator, function, args, kwargs, sample)

    def twin(self, generator):
        """What is drawn from while tracing."""
        if id(generator) in self.made:
            return self.made[id(generator)][0]
        return self.copies.setdefault(id(generator), (generator, copy.deepcopy(generator)))[1]

    def with_sizes(self, generator, function, args, kwargs):
        """The arguments of a draw, ints of data on which its shape hangs by value."""
        if generator is None or not any(map(is_int_of_data, (*args, *kwargs.values()))):
            return args, kwargs

        def shape(n):
            plain = [n if is_int_of_data(x) else stand_in(x, None) for x in args]
            keyed = {k: n if is_int_of_data(x) else stand_in(x, None) for k, x in kwargs.items()}
            try:
                return np.shape(getattr(copy.deepcopy(self.twin(generator)), function)(*plain, **keyed))
            except Exception:  # they are not what the method takes together
                return None

        if shape(2) == shape(3):
            return args, kwargs
        return tuple(map(size_by_value, args)), {k: size_by_value(x) for k, x in kwargs.items()}

    def sample(self, generator, function, args, kwargs):
        """A result of the kind that every call will have, from a copy of the generator."""
        if generator is None:
            return function(*args)
        twin = self.twin(generator)
        if function == "shuffle":
            rows = np.arange(args[0])
            twin.shuffle(rows)
            return rows
        last = len(STAND_INS) - 1
        for k, numbers in enumerate(STAND_INS):
            plain = [stand_in(x, n) for x, n in zip(args, numbers)]
            keyed = {key: stand_in(x, n) for (key, x), n in zip(kwargs.items(), numbers[len(args) :])}
            try:
                return getattr(twin, function)(*plain, **keyed)
            except ValueError:  # they are not what the method takes together, but others may be
                if k == last or not is_traced([*args, *kwargs.values()]):
                    raise

    # -- at each call ------------------------------------------------------------------------------
    def __bool__(self):
        return bool(self.list or self.states or self.call is not None)

    def inputs(self):
        """What the program takes of them: (Draw or GeneratorState, value), and (None, value) for the call's number."""
        states = [(s, s.value) for s in self.states.values()]
        return [*self.taken, *states, *([(None, self.call)] if self.call is not None else [])]

    def environment(self, leaves):
        """What the draws of a call draw from, before the first. leaves: its arguments."""
        return DrawEnvironment(self, leaves)

    def sources(self, env):
        """The generators that a call advances."""
        found = [env.generator(d.source) for d in self.list if isinstance(d.source, OUTSIDE)]
        return {id(g): g for g in found if isinstance(g, GENERATORS)}.values()

    def run(self, env, upto=None):
        """Make the draws of one call, in order: their results are `env`."""
        for draw in self.list[:upto]:
            env.append(draw(env))

    def let_go(self):
        """Keep no generator alive that is known by its way."""
        for key in self.on_ways:
            self.copies.pop(key, None)
        for state in self.states.values():
            state.owner = None


def is_int_of_data(x):
    return isinstance(x, TracedScalar) and x.dtype.kind in "iu"


def size_by_value(x):
    """An int of data as an int of Python's; all else as it is."""
    if not is_int_of_data(x):
        return x
    found = contents(x.value)
    if found is None:
        text = "data decide how many numbers are drawn, in a loop or branch that is captured as a whole"
        raise UnsupportedError(message(text, locate(), "Draw as many as there may be, and take some of them."))
    return int(found)


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


def stand_in(x, number):
    """Something plain of the shape and type of an argument."""
    if isinstance(x, TracedArray):
        return np.full(x.shape, number or 1 / max(1, *x.shape[-1:]), x.dtype)
    return (x.weak or x.dtype.type)(number or 1) if isinstance(x, TracedScalar) else x
