"""A version as one generated function: it asks for the types that are left to ask, computes with NumPy, and makes the
result.

    def call(a0, a1):
        if not (a0.shape == s0 and (a0.dtype is d0 or a0.dtype == d0)): return MISS
        return np.tanh(a0) * a1

Where a nest comes first, that asks its operands for all this itself, and only what it refuses is asked here.

What it stores outside the arguments it gives behind the result, and whoever calls it stores that: `NumPyCall.stores`
are the places. `NumPyCall.reads` are of objects that results or stores name: it takes them in front of the leaves.
"""

import numpy as np

from ...backends import native
from ...backends.numpy import NUMPY, PYTHON, ZERO, LazyOperand, Statements
from ...ir.sample import SAMPLE
from ..capture.handover import ARRAY, SCALAR, Located, follow, writeable
from ..guards.guard import Read
from . import relied
from .emit_stores import is_written
from .emit_structure import listed, rebuild_text, rebuild_texts
from .numpy_function import MISS, NumPyCall

PASSED = np.zeros((), np.int64)  # the status of a call of which no check has failed
PLAIN = {float: float, complex: complex, int: int, bool: bool}


def raw(version, types):
    """The results of the program alone, as arrays of their own, as one or as a tuple; MISS where leaves are of other
    types or a check fails."""
    lines, checked = _CallLines(version, types), bool(version.captured.checks)
    if checked:
        lines.refuse()
    texts = [lines.own(i) for i in range(len(version.func.results) - checked)]
    texts += [lines.program.constant(PASSED, "passed")] if checked else []
    return lines.define(texts[0] if len(texts) == 1 else listed(texts))


def clocked_call(version, types, clock):
    """`raw`, of statements that tell a clock when they have run."""
    lines, checked = _CallLines(version, types, clock=clock), bool(version.captured.checks)
    results = [lines.own(i) for i in range(len(version.func.results) - checked)]
    return lines.define(listed(results))


def finished(version, types):
    """What the function returns, MISS where leaves are of other types or a check fails; None if a call does more than
    compute."""
    captured = version.captured
    if captured.given is not None or version.unsure or not all(map(is_written, captured.stores)):
        return None
    lines = _CallLines(version, types, () if captured.checks else captured.writes)
    # NumPy may refuse what no check asks: nothing is to be written by then
    if lines.program.raises and lines.program.overwritten:
        lines = _CallLines(version, types)
    lines.tests += relied.tests(captured.relied, lines.leaves)
    for k in captured.layout:
        a = lines.leaves[k]
        lines.tests.append(f"(type({a}) is not ndarray or {a}.flags.c_contiguous and {a}.flags.aligned)")
    if captured.checks:
        lines.refuse()
    texts = [lines.leaf(out) for out in captured.outs]
    if None in texts:
        return None
    rebuilt = rebuild_texts if captured.stores else rebuild_text
    result = rebuilt(captured.rebuild, texts, lines.program.constant)
    return lines.define(lines.written(captured, result) if captured.writes else result, captured.stores)


class _CallLines:
    """The generated function of one version, being written.

    types: of the leaves where they are known, None where anything may come; overwritable: leaves that may be changed at
    once, not only when all is computed, since nothing can fail. clock: as `Statements` has it.
    """

    def __init__(self, version, types, overwritable=(), clock=None):
        func = version.numpy if SAMPLE.get() is None else version.decided
        places = dict(zip(version.places, func.params, strict=True))
        self.names = [f"a{n}" for n in range(max([*places, len(types) - 1], default=-1) + 1)]
        types = dict(enumerate(types)) | types_of_inputs(version, len(types))
        self.leaves = [self.names[place] for place in version.places]
        self.space = {
            "MISS": MISS,
            "ndarray": np.ndarray,
            "follow": follow,
            "writeable": writeable,
            "copied": np.array,
            "fits": fits,
            "alone": owned_array,
            "answered": relied.answered,
        }
        self.space |= {"shares": np.may_share_memory, "LinAlgError": np.linalg.LinAlgError}
        self.tests, self.exact, head, held = [], {}, [], {}
        for place, p in places.items():
            held[p] = self.parameter(place, p, types.get(place), head)
        taken = {*self.names, *(h.text for h in held.values()), *self.space}
        arrays = {func.params[k] for k in overwritable if held[func.params[k]].kinds == {ZERO}}
        with native.ending(func):
            program = Statements(func, [held[p] for p in func.params], taken, arrays, clock)
        self.program, self.results = program, list(zip(program.results, func.results))
        self.body = [*head, *self.opened(program.lines)]
        self.made = {}  # (result, views that lead on) -> name
        self.shared, self.reads = version.shared, {}  # Read -> name of what it finds
        self.types = [types.get(place) for place in version.places]
        self.fixed = ()

    def parameter(self, place, p, known, head):
        """What is held of a leaf; its tests."""
        a, type = f"a{place}", p.type
        self.space |= {f"s{place}": type.shape, f"d{place}": type.dtype, f"n{place}": type.dtype.type}
        shape = (
            f"{a}.ndim == 1 and len({a}) == {type.shape[0]}"
            if known is np.ndarray and len(type.shape) == 1
            else f"{a}.shape == s{place}"
        )
        # no tuple is made of the length of a vector; dtypes may be copies
        exact = f"{shape} and ({a}.dtype is d{place} or {a}.dtype == d{place})"
        if known is np.ndarray:
            self.tests.append(exact)
            self.exact[a] = exact
            return LazyOperand(a, type.shape, frozenset([ZERO]))
        if known is float and type.dtype == np.float64:
            return LazyOperand(a, (), frozenset([PYTHON]))
        if known is not None and issubclass(known, np.generic) and np.dtype(known) == type.dtype:
            return LazyOperand(a, (), frozenset([NUMPY]))
        if known in (int, complex):
            head.append(f"b{place} = n{place}({a})")
            return LazyOperand(f"b{place}", (), frozenset([NUMPY]))
        self.tests.append(f"({exact} if type({a}) is ndarray else not s{place} and fits({a}, d{place}))")
        if type.shape:
            return LazyOperand(a, type.shape)
        head.append(f"b{place} = {a} if type({a}) is ndarray else n{place}({a})")
        return LazyOperand(f"b{place}", (), frozenset([NUMPY, ZERO]))

    def opened(self, lines):
        """The lines of the program. What its first nest asks of arrays is asked here only where that has refused
        them."""
        opening = self.program.opening
        asked = [a for a in opening.given if a in self.exact] if opening is not None else ()
        if not asked:
            return lines
        moved = [self.exact[a] for a in asked]
        self.tests = [test for test in self.tests if test not in moved]
        none = f"{opening.made} is None"
        return [
            lines[0],
            f"if {none} and {' and '.join(moved)}: {opening.again}",
            f"if {none}: return MISS",
            *lines[2:],
        ]

    # -- results -----------------------------------------------------------------------------------
    def number(self, i):
        return self.results[i][0].text

    def refuse(self):
        """A check that has failed is for the slow way to tell of."""
        if (failed := self.number(-1)) != "False":
            self.body.append(f"if {failed}: return MISS")

    def own(self, i):
        """A result as an array that shares memory with no other, nor with arguments."""
        if (i, ()) not in self.made:
            held, value = self.results[i]
            text = self.program.whole(held, value.type)
            if not (
                value.type.shape
                and text == held.text
                and held.new
                and not self.shared[i]
                and text not in self.program.overwritten
            ):
                fresh = text != held.text and text.startswith("np.full(")
                others = "".join(f"{o}, " for o in (*self.leaves, *self.arrays(but=i)))
                text = (
                    text
                    if fresh
                    else f"alone({text}, ({others}))"
                    if (SAMPLE.get() is not None or value.type.size > LARGE)
                    and not self.shared[i]
                    and not self.program.is_object(text)
                    else f"copied({text}, order='C')"
                    if len(value.type.shape) > 1
                    else f"copied({text})"
                )
            self.name((i, ()), text)
        return self.made[i, ()]

    def arrays(self, but):
        """Names of the other results, which may be the same array."""
        return [
            h.text
            for j, (h, value) in enumerate(self.results)
            if j != but and value.type.shape and h.shape == value.type.shape
        ]

    def name(self, key, text):
        self.made[key] = self.program.fresh("out")
        self.body.append(f"{self.made[key]} = {text}")

    def leaf(self, out):
        """Text of one leaf of what is returned, None where there is none."""
        if out.how == "outside":
            return self.reads.setdefault(out.object, f"o{len(self.reads)}")
        if out.how in ("object", "copy"):
            return self.program.constant(out.object, "object") + {"object": "", "copy": ".copy()"}[out.how]
        if out.how == "chosen":
            texts, which = [self.leaf(part) for part in out.object], self.number(out.index)
            return (
                "(" + "".join(f"{text} if {which} == {n} else " for n, text in enumerate(texts[:-1])) + f"{texts[-1]})"
            )
        if out.how == "argument":
            if out.chain and (out, ()) not in self.made:
                self.name((out, ()), self.followed(self.leaves[out.index], out.chain))
            return self.made.get((out, ()), self.leaves[out.index])
        if out.kind is ARRAY:
            array = self.own(out.index)
            if (out.index, out.chain) not in self.made:
                self.name((out.index, out.chain), self.followed(array, out.chain))
            return self.made[out.index, out.chain]
        held, value = self.results[out.index]
        if value.type.shape and not out.chain and out.kind is SCALAR:  # a mask, beside the array that it is of
            return self.own(out.index)
        if out.chain:  # a number of a list
            key = out.index, "numbers"
            if out.kind is not SCALAR and key not in self.made:
                self.name(key, f"{self.program.whole(held, value.type)}.tolist()")
            return f"{self.own(out.index) if out.kind is SCALAR else self.made[key]}[{out.chain[0].place}]"
        if value.type.shape:
            return None
        if out.kind is SCALAR:
            return held.text if held.kinds == {NUMPY} else f"np.{value.type.dtype.name}({held.text})"
        if out.kind not in PLAIN:
            return None
        return (
            held.text
            if held.kinds == {PYTHON} and type_of_python(value.type) is out.kind
            else f"{out.kind.__name__}({held.text})"
        )

    def written(self, captured, result):
        """What the program changes is written last, when all else has been computed; arrays that overlap are left to
        others."""
        arrays = [
            (a, t) for a, t in zip(self.leaves, self.types, strict=True) if t is None or issubclass(t, np.ndarray)
        ]
        for k in captured.writes:
            mine = self.leaves[k]
            others = [(a, t) for a, t in arrays if a != mine]
            owns = f"{mine}.flags.owndata"  # of two that do, neither has the other's
            if len(others) > 1:
                owns = self.program.fresh("owns")
                self.tests.append(f"(({owns} := {mine}.flags.owndata) or True)")
            for a, t in others:
                apart = f"({a} is not {mine} and {owns} and {a}.flags.owndata or not shares({mine}, {a}))"
                self.tests.append(apart if t is np.ndarray else f"(type({a}) is not ndarray or {apart})")
            self.tests.append(f"({mine}.flags.carray or writeable({mine}))")
        several, new = len(captured.writes) > 1, {}
        for n, k in enumerate(captured.writes, captured.values):
            text = self.results[n][0].text
            new[k] = text if not several or self.program.overwritten.get(text) == self.leaves[k] else self.own(n)
        new = {k: text for k, text in new.items() if text != self.leaves[k]}
        if not new:
            return result
        names, end = {k: self.program.fresh("new") for k in new}, self.program.fresh("result")
        self.fixed = {*names.values(), end}
        self.body += [*(f"{names[k]} = {text}" for k, text in new.items()), f"{end} = {result}"]
        for k, text in new.items():
            elsewhere = (
                f"if {names[k]} is not {self.leaves[k]}: "
                if self.program.overwritten.get(text) == self.leaves[k]
                else ""
            )
            self.body.append(f"{elsewhere}{self.leaves[k]}[...] = {names[k]}")
        return end

    def followed(self, text, chain):
        starts = [p for step in chain if type(step) is Located for p in step.places]
        values = f", {{{', '.join(f'{p}: {self.number(p)}' for p in starts)}}}" if starts else ""
        return f"follow({text}, {self.program.constant(chain, 'views')}{values})" if chain else text

    def define(self, result, stores=()):
        lines = [f"if not ({' and '.join(self.tests)}): return MISS"] if self.tests else []
        body = [*self.body, f"return {result}"]
        if self.program.raises:
            body = [
                "try:",
                *("    " + line for line in body),
                f"except ({', '.join(self.program.raises)},):",
                "    return MISS",
            ]
        head = f"def call({', '.join([*self.reads.values(), *self.names, '*rest'])}):"
        call = self.program.define([head, *("    " + line for line in [*lines, *body])], self.space, self.fixed)
        made = NumPyCall(call, self.program.silent, self.program.function, self.reads, stores)
        if SAMPLE.get() is not None:
            made.recipes = self.program.recipes
        return made


def types_of_inputs(version, arguments):
    """place in the call -> type of what is taken in there, where it is guarded or never changes."""
    inputs = zip(version.places[arguments:], version.captured.inputs)
    found = {place: type(x.value if isinstance(x, Read) else x) for place, x in inputs}
    return {place: t for place, t in found.items() if issubclass(t, np.ndarray | np.generic | float | int | complex)}


LARGE = 4096  # elements from which a copy is made only where it must be; measured by benchmarks/tune.py


def type_of_python(type):
    """The Python type of numbers that are held as Python's."""
    return {"f": float, "b": bool}.get(type.kind)


def fits(x, dtype):
    """Whether a number may stand where one of `dtype` was traced."""
    found = getattr(x, "dtype", None)
    return found is dtype or type(x) in (bool, int, float, complex) or isinstance(found, np.dtype) and found == dtype


def owned_array(x, others):
    """An array as it is if it is its own memory's, else a copy."""
    return x if type(x) is np.ndarray and x.base is None and not any(x is y for y in others) else np.array(x, order="C")
