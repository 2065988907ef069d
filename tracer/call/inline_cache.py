"""The function a user calls: generated Python in which the signatures met last are tested inline.

    def call(x=MISSING, y=MISSING, *rest):
        if type(x) is T0 and type(y) is T1 and not rest and G['np'] is np:
            try:
                return program(x, y)
            except Untraced:
                pass
        return callee(slow, *parted((x, y), rest, names))

One frame, no tuple, no dictionary: what stands between the user and jax.jit's C++ dispatch costs
about a fifth of a microsecond. Parameters have the names of the user's, so that Python itself finds those given by
keyword; functions that take keywords of other kinds get `**keywords`, a dictionary a call. When a new signature is met
the code object is exchanged; the function, its parameters and its identity stay. Names are numbered, so that a thread
still inside the old code finds the old objects.

Functions that share a Compiled have their code in common, and differ in what it encloses: their Callee, and the cells
of the user's function. A new one begins with what was met last; one that keeps missing gets code of its own.
"""

import itertools
import types
import weakref

import numpy as np

from ...backends import forked
from ...backends.xla import dispatch
from ...ir.parameters import declared
from ...ir.types import SHORT
from ..capture import shared_containers
from ..guards import float_errors
from ..guards.by_class import InstanceCell
from ..guards.emit_lookups import Lookups, namer, variable
from ..guards.guard import LARGEST, STALE, Read
from ..program.emit_results import NAMED
from ..program.emit_structure import listed, structure_tests, written_key
from ..program.trace_tree import Untraced
from ..rules import rules
from .callee import Callee
from .inline_hit import Hit, front_code
from .inline_names import COMMON, OF_PYTHON, LineNames


class MISSING:
    """What a parameter holds where nothing was given: itself, which pickles find by its name."""


WIDEST = 1000  # bound: leaves beyond which no inline test is generated
MANY = 64  # bound: leaves beyond which it is generated for a second call only: that takes 50 us a leaf
NARROW = "".join(np.dtype(d).char for d in SHORT if d not in dispatch.WIDE)
HOT = 4  # bound: signatures, and states of the outside values, that are tested inline
CODES = 64  # bound: combinations of these whose code is kept
NUMBERS = itertools.count()  # of all fronts: code of one that is put into another finds none of its names there
CACHES = weakref.WeakSet()  # all there are
WATCHERS = []  # called with the Callee of each function that is made
COMPARED = (int, bool, str, type(None))  # static values compared by ==, after their type; others by identity


def named_of(function):
    """Names of the parameters of a function of the user's that it may as well be given by position, None for others."""
    if hasattr(function, "compiled"):
        return function.compiled.front.named
    if not isinstance(function, types.FunctionType | types.MethodType):
        return ()
    own = declared(function, follow_wrapped=False).parameters.values()
    return tuple(
        [p.name if p.kind is p.POSITIONAL_OR_KEYWORD else None for p in own if p.kind <= p.POSITIONAL_OR_KEYWORD]
    )


def if_all(tests, lines):
    """Lines that run if all tests hold; one that cannot be made does not."""
    hit = ["try:", f"    hit = {' and '.join(tests) or 'True'}", "except Stale:", "    hit = False", "if hit:"]
    return [*hit, *("    " + line for line in lines)]


def first_of(here, others):
    """The specialisation sets tested inline, with one in front."""
    return here, *[other for other in others if other is not here][: HOT - 1]


def split_call(values, rest, names):
    """(args, kwargs) of a call whose parameters have these values, MISSING where nothing was given."""
    n = next((i for i, x in enumerate(values) if x is MISSING), len(values))
    return (*values[:n], *rest), {name: x for name, x in zip(names[n:], values[n:]) if x is not MISSING}


class InlineCache:
    """The generated functions of one Compiled, and the namespace that their code lives in.

    cell: the CalleeCell that holds which of them is called, with the number of cells of the user's function; None where
    there is one function.
    """

    def __init__(self, compiled, signature, named=(), cells=0):
        parameters = list(signature.parameters.values()) if signature else []
        count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self.count = 0 if self.variadic or count > MANY else count
        self.named = named[: self.count]  # names of parameters that mean the same by position, None for others
        self.bare = 0 < self.count == len(self.named) == len(parameters)  # whether there are no other keywords
        self.latest = ()  # specialisation sets that a new function tests inline, the one met last in front
        self.lines, self.codes = weakref.WeakKeyDictionary(), {}  # of a set; of several: their numbers -> code
        self.callees, self.cell = weakref.WeakSet(), compiled.cell
        self.free = ("callee", *map(variable, range(cells)))
        self.space = {
            **OF_PYTHON,
            **COMMON,
            "MISSING": MISSING,
            "slow": compiled.slow,
            "own names": {} if self.cell is None else {id(self.cell): "callee"},
            "Untraced": (Untraced, forked.Forked),
            "Stale": (*STALE, NameError),
        }
        self.space |= {
            "narrow": NARROW,
            "x64": dispatch.X64,
            "scope": dispatch.SCOPE,
            "FAILURES": dispatch.FAILURES,
            **NAMED,
        }
        self.space |= {"errors": float_errors.get, "quiet": float_errors.quiet}
        # what the code names stands where Python looks for builtins: a function that is pickled by value takes its
        # globals with it, and nothing that is compiled
        self.globals = {"__builtins__": self.space}
        self.names = LineNames(self.space, self.globals)
        self.parameters = [p.name for p in parameters[: self.count]]
        self.space |= {"parted": split_call, "named": self.parameters}
        CACHES.add(self)
        self.own = None
        if self.cell is None:
            self.own = Callee(compiled, compiled.plain)
            self.alone = self.function(self.own)

    @property
    def call(self):
        """The one function in front, or any of several."""
        return self.alone if self.cell is None else next(iter(self.callees)).front()

    @property
    def hot(self):
        """Specialisation set -> its lines, of those that a new function tests inline."""
        return {here: self.lines[here] for here in self.latest}

    def function(self, callee):
        """The function that a user calls, in front of a Callee."""
        made = self.bound(self.code(self.latest), callee)
        callee.hot, callee.front = self.latest, weakref.ref(made)
        self.callees.add(callee)
        for tell in WATCHERS:
            tell(callee)
        return made

    def bound(self, code, callee):
        """A function of such code that encloses a Callee, and the cells of its function."""
        cells = {variable(i): cell for i, cell in enumerate(getattr(callee.object, "__closure__", None) or ())}
        cells["callee"] = types.CellType(callee)
        closure = tuple([cells[name] for name in code.co_freevars])
        return types.FunctionType(code, self.globals, "call", (MISSING,) * self.count, closure)

    def code(self, hot):
        """The code that tests these specialisation sets inline."""
        parts = [lines for lines in map(self.lines.get, hot) if lines is not None]  # another thread may drop some
        key = tuple([lines[0] for lines in parts]), self.count
        found = self.codes.get(key)
        if found is None:
            if len(self.codes) >= CODES:
                self.codes.clear()
            found = self.codes[key] = self._compile(parts)
        return found

    def _compile(self, parts):
        """The code that runs lines of several signatures."""
        names, hot = [f"a{i}" for i in range(self.count)], [line for part in parts for line in part]
        head, before, behind = self._bare(names) if self.bare else self._with_keywords(names)
        code = front_code(self.free, head, [*before, *hot, *behind])
        if self.bare:  # locals are numbered: under whatever names, they hide no object of ours
            code = code.replace(co_varnames=(*self.parameters, *code.co_varnames[self.count :]))
        return code

    def _bare(self, names):
        """Parameters, no lines that come first, and the one that hands a call on."""
        known = self.named.count(None)  # by position alone
        head = [
            *(f"{n}=MISSING" for n in names[:known]),
            *(["/"] if known else []),
            *(f"{n}=MISSING" for n in names[known:]),
            "*rest",
        ]
        return ", ".join(head), [], [f"return callee(slow, *parted({listed(names)}, rest, named))"]

    def _with_keywords(self, names):
        """Parameters, lines that take keywords by position where that means the same, and those that hand a call on."""
        head = ", ".join([*(f"{n}=MISSING" for n in names), *(["/"] if names else []), "*rest", "**keywords"])
        moved = [(i, f"a{i} = keywords.pop({name!r}, MISSING)") for i, name in enumerate(self.named) if name]
        moved = [f"if a{i} is MISSING{f' and a{i - 1} is not MISSING' if i else ''}: {text}" for i, text in moved]
        moved = ["if keywords:", *("    " + line for line in moved)] if moved else []
        given = [
            f"if a{i} is MISSING: return callee(slow, ({', '.join(names[:i])}{',' if i else ''}), keywords)"
            for i in range(self.count)
        ]
        everything = f"({', '.join([*names, '*rest'])})" if names else "rest"
        return head, moved, [*given, f"return callee(slow, {everything}, keywords)"]

    def install(self, entry, again=False):
        """Test inline for `entry`, whose leaves are the positional arguments, or in tuples, lists and dicts among
        them."""
        here = entry.current
        if here is None or not self._takes(entry, here):  # another thread has let it go
            return
        entry.postponed = len(entry.leaves) > MANY and not again and here not in self.lines
        if entry.postponed:
            return
        lines = self._lines(entry, here)
        if lines is None or here in self.lines:  # no function is to run the lines there were
            self.drop(here)
        if lines is not None:
            self.lines[here] = lines
            self.put(self.own or self.cell.callee, here)

    def drop(self, here):
        """Have no function run the lines of a specialisation set."""
        gone = self.lines.pop(here, None)
        if gone is not None:
            self.codes = {key: code for key, code in self.codes.copy().items() if gone[0] not in key[0]}
        self.latest = tuple([other for other in self.latest if other is not here])
        for callee in list(self.callees):
            if here in callee.hot:
                self.cool_one(callee)
        self.names.bury(gone)

    def put(self, callee, here):
        """Have one function test a specialisation set inline, before others, and those that are made from now on."""
        front = callee.answering()
        rules.recall(self)
        forked.Process.told.add(self)
        callee.hot, callee.misses, self.latest = first_of(here, callee.hot), 0, first_of(here, self.latest)
        if front is not None:
            front.__code__ = self.code(callee.hot)
        # changed by another thread just now, or these are left out within a rule
        if not rules.current(here.rules):
            self.cool()

    def cool_one(self, callee):
        front = callee.answering()
        callee.hot = ()
        if front is not None:
            front.__code__ = self.code(())

    def missed(self, entry):
        """A call was not answered inline though there is a program: its function is to have the lines, if it is not one
        made for one call."""
        callee, here = self.own or self.cell.callee, entry.current
        if here not in self.lines:
            self.install(entry)
        elif here not in callee.hot and callee.missed(here, len(self.callees) == 1, len(callee.hot) >= HOT):
            self.put(callee, here)

    def form(self, entry, here, plain):
        """The code of a function that does what the one in front does for a signature, compiled or as plain Python, and
        its lines, which are to be buried when it is called no more."""
        lines = self._lines(entry, here, plain) or []
        return self._compile([lines]), lines

    def _lines(self, entry, here, plain=None):
        """Lines that answer the calls of a signature, None where they cannot be told inline; plain: whether plain
        Python answers, None as contests have it."""
        k, space = next(NUMBERS), {"own names": self.space["own names"]}
        leaves = [f"a{i}" if entry.flat else f"l{i}" for i in range(len(entry.leaves))]
        held = lambda i, text: [
            self._test(i, leaves[i] if text == leaves[i] else f"({leaves[i]} := {text})", leaves[i], entry, k, space)
        ]
        named = namer(f"c{k}", space)
        prelude, tests, built, given, called = self._arguments(*entry.places)
        tests += [t for a, x in built for t in structure_tests(a, x, lambda x, _: named(x), held)]
        tests += self._shared_cells(entry, leaves)
        cells = {id(cell): leaves[i] for i, cell in entry.cells}
        inputs = [x for x in here.inputs if isinstance(x, Read)]
        lookups = Lookups(here.guard.reads, namer(f"g{k}", space), inputs, cells)
        tests += here.guard.inline(k, space, lookups)
        apart = self._apart(entry, here, namer(f"o{k}", space), built, named)
        if apart is None:
            return None
        tests += apart
        asks = entry.compiled.has_plain or entry.compiled.twin is not None and entry.compiled.debug is None
        if entry.numpy and asks and any(v.captured.heeds for v in here.versions):
            tests.append("(errors(None) is None or quiet())")
        hit = Hit(space, entry, here, k, leaves, given, lookups)
        found = [*hit.contested(called, plain), *(hit.lines() if here.draws is None else ())]
        if not found:
            return None
        lines = if_all(tests, found)
        lines = [*prelude, *("    " + line for line in lines)] if prelude else lines
        del space["own names"], space["names of objects"]
        return self.names.put([f"# {k}", *lines], space)

    def _shared_cells(self, entry, leaves):
        """Tests that the arguments in one cell are one object, and others others."""
        texts, out = {}, []
        for i, cell in entry.cells:
            if id(cell) in texts:
                out.append(f"{leaves[i]} is {texts[id(cell)]}")
            texts.setdefault(id(cell), leaves[i])
        if len(texts) > 1:
            out.append(f"len({{{', '.join(f'id({t})' for t in texts.values())}}}) == {len(texts)}")
        return out

    def _takes(self, entry, here):
        """Whether the calls of an entry can be told inline."""
        if entry.places is None or len(entry.leaves) > WIDEST:
            return False
        if forked.Process.forked and not all(v.engine for v in here.versions):
            return False
        if self.variadic and self.count < len(entry.places[0]):
            self.widen(entry)
        return not self.count or len(entry.places[0]) <= self.count

    def _apart(self, entry, here, number, built, named):
        """Tests that the containers given are one where they were and others elsewhere, where a trace could tell; None
        if it cannot be tested."""
        if entry.flat or not any(shared_containers.tells(v.captured) for v in here.versions):
            return None if entry.shared else []
        names = list(entry.places[1]) if self.bare else []  # keywords are the last of what is built
        placed = lambda path: (
            (1, len(entry.places[0]) + names.index(path[1]), *path[2:]) if names and path[0] == 1 else path
        )
        pairs = [(placed(p), placed(q)) for p, q in entry.shared]
        key = lambda key: written_key(key, lambda x, _: named(x))
        return shared_containers.tests(built, len(entry.places[0]), pairs, here.apart, number, key)

    def widen(self, entry):
        """As many parameters as a call has arguments: they cost less than a tuple of them. The entries tested so far
        come back one by one."""
        self.variadic = len(entry.places[0]) <= MANY
        self.cool()
        self.count = len(entry.places[0]) if self.variadic else 0
        for callee in list(self.callees) if self.variadic else ():
            # before the code that has as many: more than there are do no harm
            if (front := callee.answering()) is not None:
                front.__defaults__ = (MISSING,) * self.count
        for other in list(entry.compiled.entries.values()):
            other.postponed = other is not entry

    def _arguments(self, arguments, keywords):
        """-> (lines before, tests that these are what is given, text and containers of each, text of (args,
        kwargs), text of what is handed on)."""
        n = len(arguments)
        names = [f"a{i}" for i in range(n)]
        built = list(zip(names, arguments))
        if self.bare:
            own = {name: f"a{self.named.index(name)}" for name in keywords}
            tests = [f"a{i} is MISSING" for i in range(n, self.count) if f"a{i}" not in own.values()] or ["not rest"]
            mapping = f"{{{', '.join(f'{name!r}: {a}' for name, a in own.items())}}}"
            return (
                [],
                tests,
                [*built, *((own[name], x) for name, x in keywords.items())],
                f"({listed(names)}, {mapping})",
                ", ".join([*names, *(f"{name}={a}" for name, a in own.items())]),
            )
        tests = [] if keywords else ["not keywords"]
        built += [("keywords", keywords)] if keywords else []
        given, called = f"({listed(names)}, keywords)", ", ".join([*names, *(["**keywords"] if keywords else [])])
        if self.count:
            return [], [f"a{n} is MISSING" if n < self.count else "not rest", *tests], built, given, called
        taken = (
            [f"if len(rest) == {n}:", f"    {', '.join(names)}{',' if n == 1 else ''} = rest"]
            if n
            else ["if not rest:"]
        )
        return taken, tests, built, given, called

    def cool(self):
        """Ask the slow path at the next call."""
        gone, self.latest, self.codes = list(self.lines.values()), (), {}
        self.lines.clear()
        for callee in list(self.callees):
            self.cool_one(callee)
        for lines in gone:
            self.names.bury(lines)

    def _test(self, i, text, name, entry, k, space):
        """A condition on leaf i, which is `text` where it is first read and `name` from then on."""
        if i in entry.dynamic:
            space[f"t{i}_{k}"] = entry.types[i]
            return f"type({text}) is t{i}_{k}" + (
                f" and -{LARGEST} <= {name} < {LARGEST}" if entry.types[i] is int else ""
            )
        space[f"s{i}_{k}"] = leaf = entry.leaves[i]
        if type(leaf) is InstanceCell:
            space[f"s{i}_{k}"] = leaf.kind
            return f"type({text}) is s{i}_{k}"
        if isinstance(leaf, COMPARED):
            space[f"t{i}_{k}"] = type(leaf)
            return f"type({text}) is t{i}_{k} and {name} == s{i}_{k}"
        return f"{text} is s{i}_{k}"
