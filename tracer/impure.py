"""Randomness met while tracing: a number drawn then would be repeated by every later call, so it is refused."""

import random

import numpy as np

from .errors import UnsupportedError, message


class Draws:
    """The states of the generators a function can reach, before it is traced; `refuse` puts them back and raises if they moved."""

    def __init__(self, values):
        self.generators = [v for v in values if isinstance(v, np.random.Generator | np.random.RandomState)]
        self.before = self._states()

    def _states(self):
        legacy = np.random.get_state(legacy=False)
        found = {"np.random": (legacy["state"]["pos"], legacy["state"]["key"].tobytes(), legacy), "random": (random.getstate(),)}
        for g in self.generators:
            state = g.bit_generator.state if isinstance(g, np.random.Generator) else g.get_state(legacy=False)
            found[g] = (repr(state), state)
        return found

    def refuse(self, name):
        after = self._states()
        moved = [g for g, state in self.before.items() if state[:-1] != after[g][:-1] or (g == "random" and state != after[g])]
        if not moved:
            return
        for g in moved:
            state = self.before[g][-1]
            if g == "np.random":
                np.random.set_state(state)
            elif g == "random":
                random.setstate(state)
            elif isinstance(g, np.random.Generator):
                g.bit_generator.state = state
            else:
                g.set_state(state)
        which = ", ".join(g if isinstance(g, str) else repr(g).split(" at ")[0] for g in moved)
        raise UnsupportedError(
            message(
                f"{name} drew random numbers from {which} while it was traced; every later call would repeat them",
                None,
                "Draw them outside and pass them as an argument: f(x, np.random.normal(size=3)).",
            )
        )
