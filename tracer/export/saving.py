"""`f.export(...)`: the program of given arguments as a file."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

import numpy as np

from ...backends.xla import exporting
from ...backends.xla.hosted import is_host_call
from ...ir.text import show
from ...ir.types import SHORT
from ...ir.walk import every_equation
from ..cache.described import Unsaid
from ..cache.record import RAISED
from ..call.explain import told_reads
from ..capture.handover import Located, follow
from ..capture.number_lists import packed_call
from ..capture.shared_containers import found, sharing, tells
from ..common import pytree
from ..common.errors import UnsupportedError, message
from ..common.terminal import cut_text
from ..guards.guard import Read
from ..values.speculate import Assumption, Speculation
from .container import packed_file, write_file
from .described_export import description
from .steps import NAMES, written_out
from .structure import ExportedLeaf, NodeWriter, alike_containers, fixed_node

STABLEHLO, TEXT = "stablehlo", "ir"  # the sections of a file
DRAWS = "draws random numbers", "Draw them before, and pass them as arguments."
OTHER_WAY = "the data take another way than those that this was exported for: {} was {} then"
CALLED_PYTHON = "calls Python while it runs (a print, a callback, a function of SciPy's)"


class Export(str):
    """What was exported: its text says what the file holds, and what it was made for.

    data: the bytes of the file; path: where it was written, None where it was not.
    """

    data: bytes
    path: str | None

    def save(self, path: str | os.PathLike[str]) -> Export:
        """Write the file."""
        write_file(path, self.data)
        self.path = os.fspath(path)
        return self


class Exporting:
    """What stands behind `f.export` of one function."""

    def __init__(self, callee: Any) -> None:
        self.callee = callee

    def __call__(
        self,
        /,
        *args: Any,
        path: str | os.PathLike[str] | None = None,
        platforms: Sequence[str] = ("cpu", "cuda"),
        **kwargs: Any,
    ) -> Export:
        """Write the program for arguments like these to a file that `wengert.load` reads, in a process that knows
        nothing of this function; see docs/export.md for the form of the file, and how jax alone runs it.

        args, kwargs: arguments of a call, which is not made. Arrays, NumPy scalars, floats and complex numbers stand
            for all of their shape and dtype; ints, bools, text and None are part of the program.
        path: the file; None: none is written, and `.save(path)` of what is returned does.
        platforms: those that it is lowered for, of "cpu", "cuda", "rocm" and "tpu"; no device need be here.

        Returns an `Export`, whose text says what the program takes, gives, changes and raises, and which values outside
        its arguments are frozen in it. Raises UnsupportedError, which says what to write instead, where the function
        draws random numbers, prints, calls Python while it runs, stores outside its arguments, or takes or gives
        objects that are no arrays, numbers, text, lists, tuples, named tuples and dicts.
        """
        return self.callee(export_call, self.callee.compiled, args, kwargs, path, platforms)


def export_call(compiled, args, kwargs, path, platforms):
    """The Export of a Compiled for the arguments of a call."""
    if unknown := [p for p in platforms if p not in exporting.PLATFORMS] or (not platforms and ["none"]):
        raise ValueError(f"export is for platforms among {', '.join(exporting.PLATFORMS)}, not {', '.join(unknown)}")
    signature = compiled.signature
    if signature is not None:
        bound = signature.bind(*args, **kwargs)
        args, kwargs = bound.args, bound.kwargs
    head, sections = Written(compiled, args, kwargs, tuple(platforms)).parts()
    made = Export(description(head))
    made.data, made.path = packed_file(head, sections), None
    return made if path is None else made.save(path)


class Written:
    """The parts of one file."""

    def __init__(self, compiled, args, kwargs, platforms):
        self.compiled, self.args, self.kwargs, self.platforms = compiled, args, kwargs, platforms
        self.captured, self.names, self.kinds = compiled.captured(args, kwargs, objects=True, choices=self.noted)
        self.func = compiled.passed(self.captured)
        self.dynamic = [(n, k) for n, k in zip(self.names, self.kinds) if k is not None]
        self.copies = []  # arrays that are results behind those of the program
        self.refuse_acting()

    def noted(self, leaves):
        """The choices of the trace, which checks tell of by number."""
        self.choices = Speculation(leaves)
        return self.choices

    def refuse(self, what, hint, source=None):
        raise UnsupportedError(message(f"{self.compiled.name} cannot be exported: it {what}", source, hint))

    def refuse_acting(self):
        """Refuse what no file can do."""
        captured, func, count = self.captured, self.func, len(self.dynamic)
        if captured.outside.draws or any(not isinstance(x, np.ndarray | Read) for x in captured.inputs):
            self.refuse(*DRAWS)
        if (eqn := python_call(func)) is not None:
            self.refuse(CALLED_PYTHON, "Take that out of the function, and pass what it gives.", eqn.source)
        if captured.stores:
            self.refuse(f"stores to {captured.stores[0].name}, outside its arguments", "Return it.")
        if any(i >= count for i in captured.writes):
            name = next(captured.inputs[i - count].name for i in captured.writes if i >= count)
            self.refuse(f"writes to {name}, an array outside its arguments", "Pass it as an argument.")

    def parts(self):
        """-> (the header, {section: bytes})."""
        captured, count = self.captured, len(self.dynamic)
        arguments, containers = self.arguments()
        results, changes = self.results(containers)
        outs, shown = self.outs()
        constants = [np.asarray(x.get() if isinstance(x, Read) else x) for x in captured.inputs]
        try:
            made, options = self.compiled, (self.compiled.exact, self.compiled.precision)
            data, told = exporting.exported(
                self.func, count, constants, self.copies, self.platforms, made.name, *options
            )
        except exporting.NotExported as error:
            self.refuse(f"is not taken by jax.export: {error}", None)
        frozen, arrays = told_reads(captured)
        head = {
            "name": self.compiled.name,
            "wengert": sys.modules[__name__.partition(".")[0]].__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            **told,
            "parameters": told_parameters(self.compiled.signature),
            "arguments": arguments,
            "apart": tells(captured),
            "leaves": [[n, NAMES[k.kind], k.type.dtype.name, list(k.type.shape)] for n, k in self.dynamic],
            "results": results,
            "outs": outs,
            "shown": shown,
            "shared": self.shared(),
            "changes": changes,
            "values": captured.values,
            "given": [[t.dtype.name, list(t.shape)] for t in self.func.result_types],
            "copies": [[x.dtype.name, list(x.shape)] for x in self.copies],
            "writes": list(captured.writes),
            "layout": [i for i in captured.layout if i < count],
            "relied": [[i, what_said(what), bool(answer)] for i, what, answer in captured.relied if i < count],
            "checks": [self.check_said(c) for c in captured.checks],
            "frozen": [cut_text(r.describe(), 200) for r in (*frozen, *arrays) if type(r.value) is not ModuleType],
            "notes": [str(note) for note in captured.notes],
        }
        return head, {STABLEHLO: data, TEXT: show(self.func).encode()}

    # -- arguments and results ---------------------------------------------------------------------
    def arguments(self):
        """-> (the node of (args, kwargs), {id of a stand-in for a container among them: its path}, the stand-ins)."""
        taken = packed_call(self.args, self.kwargs)
        leaves, tree = pytree.flatten(taken)
        numbers = iter(range(len(self.dynamic)))
        stand_ins = [x if k is None else ExportedLeaf(next(numbers)) for x, k in zip(leaves, self.kinds, strict=True)]
        args, kwargs = pytree.unflatten(tree, stand_ins, pytree.key_order(taken))
        try:
            pairs = sharing(self.args, self.kwargs, tree) if tells(self.captured) else ()
            node = NodeWriter(alike=alike_containers((args, kwargs), pairs)).node((args, kwargs))
        except Unsaid as error:
            hint = "Pass arrays, numbers, text, and lists, tuples and dicts of them; let a lambda hold the rest:\n"
            self.refuse(f"takes {error}, which no file tells", f"{hint}jit(lambda x: f(model, x)).export(x)")
        return node, (args, kwargs)

    def results(self, containers):
        """-> (the node of the result, [[path, node]] of the lists and dicts among the arguments that change)."""
        captured = self.captured
        leaves = [ExportedLeaf(n) for n in range(len(captured.outs))]
        try:
            rebuilt = captured.rebuild(leaves)
            if captured.given is None:
                return NodeWriter().node(rebuilt), []
            _, plan, changes = captured.given
            given = (*containers, {})
            result = plan(rebuilt, given)
            changed = [(path, change(rebuilt, given)) for path, change in changes]
            writer = NodeWriter(paths_of(containers))
            node = writer.node(result)
            return node, [[[fixed_node(k)[1] for k in path], writer.node(x)] for path, x in changed]
        except Unsaid as error:
            self.refuse(
                f"returns {error}, which no file tells", "Return arrays, numbers, and lists, tuples and dicts of them."
            )

    def outs(self):
        """-> (what leaves of the result can be, one for each object; of each leaf, which of these it is)."""
        outs = {id(out): out for out in self.captured.outs}
        numbers = {key: n for n, key in enumerate(outs)}
        try:
            said = [written_out(out, len(self.dynamic), self.fixed_out) for out in outs.values()]
        except Unsaid as error:
            self.refuse(f"returns {error}, which no file tells", "Return a copy, or arrays and numbers alone.")
        if any(part[0] in ("copy", "fixed") for out in said if out[0] == "unsure" for part in out[1]):
            self.refuse("returns one of several arrays, as data decided in a loop", "Return a copy: x.copy().")
        return said, [numbers[id(out)] for out in self.captured.outs]

    def shared(self):
        """Of each result of the program, whether it is an argument of it, or a result before it."""
        results, params = self.func.results, set(self.func.params)
        return [r in params or r in results[:n] for n, r in enumerate(results)]

    def fixed_out(self, out):
        """The JSON of a leaf that is neither a result nor an argument."""
        x = out.object
        if out.how == "outside":
            x = x.get()
        elif out.how == "argument":  # an array outside, or a view of it
            if any(type(step) is Located for step in out.chain):
                raise Unsaid("a view, at a place that data decide, of an array outside its arguments")
            x = follow(self.captured.inputs[out.index - len(self.dynamic)].get(), out.chain)
        if isinstance(x, np.ndarray):
            if x.dtype.name not in SHORT or type(x) is not np.ndarray:
                raise Unsaid(f"an array of dtype {x.dtype}")
            self.copies.append(x)
            return ["copy", len(self.copies) - 1]
        return ["fixed", fixed_node(x)[1]]

    # -- checks ------------------------------------------------------------------------------------
    def check_said(self, check):
        """[name of the exception, its text, whether it quotes a number, its arguments or None]"""
        if check.error is Assumption:
            assumed = self.choices.taken[int(check.text)]
            return ["UnsupportedError", OTHER_WAY.format(assumed, assumed.truth), False, None]
        if check.drawn:
            self.refuse(*DRAWS)
        args = None if check.args is None else [fixed_node(a)[1] for a in check.args]
        name = next(c.__name__ for c in check.error.__mro__ if RAISED.get(c.__name__) in (c, *check.error.__mro__))
        return [name, check.text, bool(check.quotes), args]


def python_call(func):
    """The first equation of a program that acts on the world, or calls Python; None if there is none."""
    return next((e for e in every_equation(func) if is_host_call(e) or e.effect and not e.regions()), None)


def told_parameters(signature):
    """[[name, kind, whether it may be left out]], or None where a function does not tell."""
    if signature is None:
        return None
    return [[p.name, int(p.kind), p.default is not p.empty] for p in signature.parameters.values()]


def what_said(what):
    return list(what) if type(what) is tuple else what


def paths_of(containers):
    """id -> path of the lists and dicts within (args, kwargs)."""
    return {id(x): path for path, x in found(containers)}
