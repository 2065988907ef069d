"""What the draws of a call draw from: generators outside, those on a way from an argument, those that the function
makes; and the seeds of these, which the program of a call may compute from its arguments.
"""

import copy
import random

import numpy as np

from ...backends.numpy import callable_of
from ...ir.core import Func, Lit
from ...ir.ops import OPS
from ...ir.ops.drawing import FAMILIES
from ..common.errors import UnsupportedError, message
from ..common.frames import locate
from ..values.so_far import leading_to
from ..values.speculate import sampled
from ..values.storage import current_trace
from .guard import Read

GENERATORS = tuple(FAMILIES.values())
LEGACY = np.random.rand.__self__  # that of NumPy's own functions


class Draw:
    """One call made on the host. index: its place in the order of those made before the launch; source: what finds the
    generator, None for clocks."""

    __slots__ = ("index", "source", "function", "args", "kwargs", "name", "kind")

    def __init__(self, index, source, function, args, kwargs):
        self.index, self.source, self.function, self.args, self.kwargs = index, source, function, args, kwargs
        self.name = function if isinstance(function, str) else function.__name__
        self.kind = None  # the Python type of what it gives

    def __call__(self, env):
        return self.made(None if self.source is None else env.generator(self.source))

    def made(self, generator):
        """What it gives, of a generator."""
        f = getattr(generator, self.function) if isinstance(self.function, str) else self.function
        if self.name == "shuffle":  # the order that shuffling gives
            rows = np.arange(self.args[0])
            f(rows)
            return rows
        return f(*copy.copy(self.args), **self.kwargs)


class Maker(Draw):
    """The making of a generator."""

    def __call__(self, env):
        try:
            return self.function(env)
        except (ValueError, TypeError, OverflowError):  # of seeds: the program raises it where it comes there
            return self.function(SEEN)


class ByWayGenerator:
    """A generator that is another at each call: the one at the end of a way."""

    __slots__ = ("way",)

    def __init__(self, way):
        self.way = way


class DrawEnvironment(list):
    """The results of the draws that one call makes before its program runs, and what it draws from. leaves: its
    arguments."""

    def __init__(self, draws, leaves=()):
        super().__init__()
        self.leaves = leaves
        self.found = {x: x.way.get() for x in draws.on_ways.values()}

    def generator(self, source):
        """The generator behind the source of a draw."""
        if isinstance(source, GENERATORS):
            return source
        return self.found[source] if type(source) is ByWayGenerator else self[source.index]

    def number(self, seed):
        """What a Seed is in this call."""
        given = []
        for how, x in seed.taken:
            given.append(self.leaves[x] if how == "argument" else x.get() if how == "read" else self[x.index])
        return seed.kind(np.asarray(seed.computed(*given)[0]))


class TrialEnvironment:
    """Stands for the environment of a call in which seeds are what they were in the call that is traced, or `given`."""

    def __init__(self, given):
        self.given = given

    def number(self, seed):
        return seed.kind(self.given.get(seed, seed.now))


SEEN = TrialEnvironment({})
EDGES = {-1: lambda x: OPS["ge"](x, Lit(0, x.type)), 2**32: lambda x: OPS["lt"](x, Lit(2**32, x.type))}


class Seed:
    """An int that the program of a call computes before it draws. now: what it is in the call that is traced; kind: its
    Python type."""

    def __init__(self, traced, draws):
        root, value = current_trace().root, traced.value
        if root.trying:
            text = "a random generator is seeded with a traced number within `try`"
            raise UnsupportedError(message(text, locate(), HINT))
        self.value, self.kind = value, int if traced.weak is int else traced.dtype.type
        self.now = self.kind(known_number(value))
        params = {p: ("argument", k) for k, p in enumerate(root.build.params)}
        params |= {v: ("read", read) for read, v in root.outside.inputs if isinstance(read, Read)}
        params |= {v: ("draw", draw) for draw, v in draws.taken}
        eqns = leading_to([value], params, root, refuse_seed)
        used = list({x: None for x in (value, *(x for e in eqns for x in e.operands)) if x in params})
        self.taken = [params[x] for x in used]
        self.computed = callable_of(Func("seed", used, eqns, [value]))


def check_seeds(seeds, make):
    """Have the program raise what the maker of a generator raises of seeds that it does not take; make(environment)."""
    for number, fits in EDGES.items() if seeds else ():
        limits = [np.iinfo(seed.value.type.dtype) for seed in seeds]
        beyond = [seed for seed, i in zip(seeds, limits) if i.min <= number <= i.max]  # that may be as large
        try:
            make(TrialEnvironment(dict.fromkeys(beyond, number)))
        except Exception as error:
            for seed in beyond:
                current_trace().check(fits(seed.value), type(error), message(str(error), locate()))


TEXT = "a random generator is seeded with numbers that only the running program knows"
HINT = "Make it outside, and pass it."


def refuse_seed(eqn=None):
    raise UnsupportedError(message(TEXT, locate(), HINT))


def known_number(value):
    """What an int of the outermost trace is in this call."""
    found = sampled([value]) if current_trace().parent is None else None
    return refuse_seed() if found is None else int(found[0])


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
