"""A program as a chain of executables: its pieces (`ir/outline.py`), one after the other, those that are alike compiled
once.

Values pass from piece to piece in memory, as jax arrays; what no later piece reads is let go at once. Before the first
call all of them are compiled, some at the same time: XLA holds no lock of Python's.
"""

import os
from concurrent.futures import ThreadPoolExecutor

import jax
import numpy as np
from jax import numpy as jnp

from ...ir.core import Lit
from ..forked import refuse_forked, under_jit
from .compile_times import CLOCK
from .dispatch import lowering_as, wide
from .lower import lower

ARRAYS = jax.Array | np.ndarray


class OutlinedProgram:
    """Called with what the parameters of `func` are given, it returns what `program` would; `counts` are the calls of
    each function."""

    def __init__(self, func, pieces, **options):
        """options: as of `lowering_as`."""
        self.types, self.counts, self.programs, self.ready = func.param_types, {}, {}, False
        place = {p: i for i, p in enumerate(func.params)}
        self.given = len(place)  # the first place of what is computed
        for piece in pieces:
            self.counts[piece.func] = self.counts.get(piece.func, 0) + 1
            if piece.func not in self.programs:
                self.programs[piece.func] = jitted_piece(piece, options)
            place.update(zip(piece.results, range(len(place), len(place) + len(piece.results))))
        self.size, self.results, last = len(place), [place.get(r, r) for r in func.results], {}
        steps = [(self.programs[p.func], [place[x] for x in p.operands], [place[r] for r in p.results]) for p in pieces]
        for n, (_, takes, gives) in enumerate(steps):
            last.update(dict.fromkeys([*takes, *gives], n))
        for i in self.results:
            last.pop(i, None)
        self.called = [(p.func, len(p.operands)) for p in pieces]
        over = [[] for _ in steps]
        for i, n in last.items():
            over[n].append(i)
        self.steps = [(*step, gone) for step, gone in zip(steps, over)]

    def __call__(self, *leaves):
        refuse_forked()
        with wide():
            if not self.ready:
                self.compile(leaves)
            values = [
                x if isinstance(x, ARRAYS) else np.asarray(x, t.dtype) for x, t in zip(leaves, self.types, strict=True)
            ]
            values += [None] * (self.size - len(values))
            for program, takes, gives, gone in self.steps:
                for i, x in zip(gives, program(*[values[i] for i in takes])):
                    values[i] = x
                for i in gone:
                    values[i] = None
            out = [self.result(r, values) for r in self.results]
        return out[0] if len(out) == 1 else tuple(out)

    def compile(self, leaves):
        """Have all functions compiled, for arrays that are not bound to a device: for others, the calls do that one by
        one."""
        self.ready = True
        if any(getattr(x, "committed", False) for x in leaves):
            return
        functions = sorted(self.programs, key=lambda func: -func.count())
        with ThreadPoolExecutor(min(len(functions), os.cpu_count() or 1)) as pool:
            stand_ins = [[jax.ShapeDtypeStruct(t.shape, t.dtype) for t in func.param_types] for func in functions]
            waiting = [pool.submit(self.programs[f].lower(*xs).compile) for f, xs in zip(functions, stand_ins)]
            for one in waiting:
                one.result()
        CLOCK.note()

    def result(self, r, values):
        """What a piece has computed, a literal, or an array that was given."""
        if isinstance(r, Lit):
            return jnp.full(r.type.shape, r.value, r.type.dtype)
        return values[r] if r >= self.given else jnp.array(values[r])


def jitted_piece(piece, options):
    """A piece under jax.jit."""

    def run(*operands):
        with lowering_as(**options):
            return unaliased_results(lower(piece.func, operands, marked=piece.marks), operands)

    run.__name__ = run.__qualname__ = piece.func.name
    return under_jit(run)


def unaliased_results(results, operands):
    """Results that have memory of their own: jax gives back an operand, or another result, where it is the same
    value."""
    seen, out = set(map(id, operands)), []
    for x in results:
        out.append(jnp.array(x, copy=True) if id(x) in seen else x)
        seen.add(id(x))
    return tuple(out)


def is_traced(leaves):
    """Whether jax is tracing what the leaves are given to: then it compiles all of it, and pieces are of no use."""
    return any(isinstance(x, jax.core.Tracer) for x in leaves)
