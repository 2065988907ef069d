"""Generators of which the program knows the state: a value that it takes in, moves on, and gives back.

So a draw is an equation as others are, in loops and branches, in machine code and in derivatives (`ir/ops/drawing.py`),
and the generators themselves are moved on when the program has run.
"""

import random

import numpy as np

from ...backends import native
from ...backends.target import platform
from ...ir.core import Value
from ...ir.ops.drawing import FAMILIES, TWINS, WORD, WORDS, bits_of, set_words, words_kept, words_of
from ...ir.types import Tensor
from ..values.storage import Storage
from .draw_sources import Draw

MANY = 1 << 10  # bound: numbers of one draw, up to which calling Python for them takes longer than drawing them


class GeneratorState:
    """The state of one bit generator during a call. source: the generator, the way to it, or the Draw that makes it."""

    def __init__(self, draws, generator, source, root):
        self.draws, self.owner, self.source = draws, generator, source
        self.family, self.bits = known_bits(generator)
        self.value = Value(Tensor((words_kept(self.family, self.bits),), WORD), None, "state")
        root.build.values.add(self.value)
        self.storage = Storage(self.value, root)
        self.raised = None  # where a draw that raised has left it
        self.normal = self.family == "Random"  # whether the normal number that it keeps matters

    @property
    def index(self):
        """Its place behind the draws that are made before the launch."""
        return len(self.draws.list) + [*self.draws.states.values()].index(self)

    def generator(self, env):
        return env.generator(self.source)

    def locks(self, env):
        """What to hold so that nobody else draws from it, if anybody can."""
        found = None if isinstance(self.source, Draw) else self.generator(env)
        return [bits_of(found).lock] if isinstance(found, np.random.Generator | np.random.RandomState) else []

    def fits(self, env):
        """Whether the generator still is what the program was made for."""
        return known_bits(self.generator(env)) == (self.family, self.bits)

    def words(self, env):
        return words_of(self.generator(env), self.normal)

    def leave(self, env, words):
        set_words(self.generator(env), words, self.normal)


def known_bits(generator):
    """(family, bit generator) of a generator whose state can be told; None for others."""
    family = next((name for name, kind in FAMILIES.items() if type(generator) is kind), None)
    if family in (None, "Random"):
        return family and (family, "MT19937")
    bits = type(bits_of(generator))
    name = bits.__name__
    return (family, name) if name in WORDS and bits is getattr(np.random, name) else None


def state_key(generator):
    """What generators of one state have in common."""
    return id(generator if isinstance(generator, random.Random) else bits_of(generator))


def slow(family, bits, kind, allowed):
    """Why a draw is made by calling Python, or None."""
    if kind is None:
        return "it has no machine code"
    if not allowed or not native.allowed() or platform() != "cpu":
        return "there is no machine code for it here"
    return native.unlike_numpy(family, bits, kind)


class Twin:
    """The function of a `host` equation: a draw of any kind, from a state that it is given.

    Where it raises, the generator itself is left as the exception finds it.
    """

    def __init__(self, state, late):
        self.state, self.late, self.__name__ = state, late, late.__name__

    def __call__(self, words, *operands):
        twin = TWINS.at(self.state.family, self.state.bits, np.asarray(words))
        try:
            made = self.late.made(twin, operands)
        except Exception:
            if not isinstance(self.state.source, Draw):
                self.state.raised = words_of(twin)
            raise
        return words_of(twin), *made
