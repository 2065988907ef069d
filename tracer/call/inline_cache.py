"""The function a user calls: generated Python in which the signatures met last are tested inline.

    def call(x=MISSING, y=MISSING, *rest):
        if type(x) is T0 and type(y) is T1 and not rest and G['np'] is np:
            try:
                return program(x, y)
            except Untraced:
                pass
        return slow(*parted((x, y), rest, names))

One frame, no tuple, no dictionary: what stands between the user and jax.jit's C++ dispatch costs
about a fifth of a microsecond. Parameters have the names of the user's, so that Python itself finds those given by
keyword; functions that take keywords of other kinds get `**keywords`, a dictionary a call. When a new signature is met
the code object is exchanged; the function, its parameters and its identity stay. Names are numbered, so that a thread
still inside the old code finds the old objects.
"""

import itertools
import types

import numpy as np

from ...backends import forked
from ...backends.xla import dispatch
from ...ir.parameters import declared
from ...ir.types import SHORT
from ..capture import shared_containers
from ..capture.handover import follow
from ..guards import float_errors
from ..guards.by_class import InstanceCell
from ..guards.emit_lookups import Lookups
from ..guards.guard import LARGEST, STALE, Read, namer
from ..program.emit_structure import listed, structure_tests, written_key
from ..program.numpy_call import MISS
from ..program.trace_tree import Untraced
from ..rules import rules
from .inline_hit import Hit

MISSING = object()
WIDEST = 1000  # bound: leaves beyond which no inline test is generated
MANY = 64  # bound: leaves beyond which it is generated for a second call only: that takes 50 us a leaf
NARROW = "".join(np.dtype(d).char for d in SHORT if d not in dispatch.WIDE)
HOT = 4  # bound: signatures, and states of the outside values, that are tested inline
NUMBERS = itertools.count()  # of all fronts: code of one that is put into another finds none of its names there
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


def split_call(values, rest, names):
    """(args, kwargs) of a call whose parameters have these values, MISSING where nothing was given."""
    n = next((i for i, x in enumerate(values) if x is MISSING), len(values))
    return (*values[:n], *rest), {name: x for name, x in zip(names[n:], values[n:]) if x is not MISSING}


class InlineCache:
    """The generated function of one Compiled, and the namespace its code lives in."""

    def __init__(self, slow, signature, named=()):
        parameters = list(signature.parameters.values()) if signature else []
        count = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
        self.variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters)
        self.count = 0 if self.variadic or count > MANY else count
        self.named = named[: self.count]  # names of parameters that mean the same by position, None for others
        self.bare = 0 < self.count == len(self.named) == len(parameters)  # whether there are no other keywords
        self.hot = {}  # World -> its lines, the one met last in front
        self.space = {
            "MISSING": MISSING,
            "slow": slow,
            "Untraced": (Untraced, forked.Forked),
            "Stale": (*STALE, NameError),
        }
        self.space |= {
            "narrow": NARROW,
            "x64": dispatch.X64,
            "scope": dispatch.SCOPE,
            "owned": dispatch.owned,
            "MISS": MISS,
        }
        self.space |= {"array": np.array, "asarray": np.asarray, "follow": follow, "settled": dispatch.settled}
        self.space |= {"word": dispatch.word, "UNREADABLE": dispatch.UNREADABLE, "FAILURES": dispatch.FAILURES}
        self.space |= {"errors": float_errors.get, "quiet": float_errors.quiet}
        self.own = [p.name for p in parameters[: self.count]]
        self.space |= {"parted": split_call, "named": self.own}
        self.call = self._compile([])

    def _compile(self, hot):
        names = [f"a{i}" for i in range(self.count)]
        head, before, behind = self._bare(names) if self.bare else self._with_keywords(names)
        lines = [f"def call({head}):", *("    " + line for line in [*before, *hot, *behind])]
        exec(compile("\n".join(lines), "<wengert call>", "exec"), self.space)
        if self.bare:  # locals are numbered: under whatever names, they hide no object of ours
            code = self.space["call"].__code__
            self.space["call"].__code__ = code.replace(co_varnames=(*self.own, *code.co_varnames[self.count :]))
        return self.space["call"]

    def _bare(self, names):
        """Parameters, no lines that come first, and the one that hands a call on."""
        known = self.named.count(None)  # by position alone
        head = [
            *(f"{n}=MISSING" for n in names[:known]),
            *(["/"] if known else []),
            *(f"{n}=MISSING" for n in names[known:]),
            "*rest",
        ]
        return ", ".join(head), [], [f"return slow(*parted({listed(names)}, rest, named))"]

    def _with_keywords(self, names):
        """Parameters, lines that take keywords by position where that means the same, and those that hand a call on."""
        head = ", ".join([*(f"{n}=MISSING" for n in names), *(["/"] if names else []), "*rest", "**keywords"])
        moved = [(i, f"a{i} = keywords.pop({name!r}, MISSING)") for i, name in enumerate(self.named) if name]
        moved = [f"if a{i} is MISSING{f' and a{i - 1} is not MISSING' if i else ''}: {text}" for i, text in moved]
        moved = ["if keywords:", *("    " + line for line in moved)] if moved else []
        given = [
            f"if a{i} is MISSING: return slow(({', '.join(names[:i])}{',' if i else ''}), keywords)"
            for i in range(self.count)
        ]
        everything = f"({', '.join([*names, '*rest'])})" if names else "rest"
        return head, moved, [*given, f"return slow({everything}, keywords)"]

    def install(self, entry, again=False):
        """Test inline for `entry`, whose leaves are the positional arguments, or in tuples, lists and dicts among
        them."""
        if not self._takes(entry):
            return
        entry.postponed = len(entry.leaves) > MANY and not again and entry.current not in self.hot
        if entry.postponed:
            return
        lines = self._lines(entry, entry.current)
        if lines is None:
            if self.hot.pop(entry.current, None) is not None:
                self.call.__code__ = self._code([line for found in self.hot.values() for line in found])
            return
        others = [(here, found) for here, found in self.hot.items() if here is not entry.current]
        rules.recall(self)
        forked.Process.told.add(self)
        self.hot = dict([(entry.current, lines), *others][:HOT])
        self.call.__code__ = self._code([line for found in self.hot.values() for line in found])
        # changed by another thread just now, or these are left out within a rule
        if not rules.current(entry.current.rules):
            self.cool()

    def form(self, entry, here, plain):
        """A function that does what the one in front does for a signature, compiled or as plain Python."""
        code, call = self._code(self._lines(entry, here, plain) or []), self.call
        return types.FunctionType(code, self.space, call.__name__, call.__defaults__)

    def _lines(self, entry, here, plain=None):
        """Lines that answer the calls of a signature, None where they cannot be told inline; plain: whether plain
        Python answers, None as contests have it."""
        k = next(NUMBERS)
        leaves = [f"a{i}" if entry.flat else f"l{i}" for i in range(len(entry.leaves))]
        held = lambda i, text: [
            self._test(i, leaves[i] if text == leaves[i] else f"({leaves[i]} := {text})", leaves[i], entry, k)
        ]
        named = namer(f"c{k}", self.space)
        prelude, tests, built, given, called = self._arguments(*entry.places)
        tests += [t for a, x in built for t in structure_tests(a, x, lambda x, _: named(x), held)]
        tests += self._shared_cells(entry, leaves)
        cells = {id(cell): leaves[i] for i, cell in entry.cells}
        inputs = [x for x in here.inputs if isinstance(x, Read)]
        lookups = Lookups(here.guard.reads, namer(f"g{k}", self.space), inputs, cells)
        tests += here.guard.inline(k, self.space, lookups)
        apart = self._apart(entry, here, k, built, named)
        if apart is None:
            return None
        tests += apart
        if entry.numpy and entry.compiled.plain is not None and any(v.captured.heeds for v in here.versions):
            tests.append("(errors(None) is None or quiet())")
        hit = Hit(self.space, entry, here, k, leaves, given, lookups)
        found = [*hit.contested(called, plain), *(hit.lines() if here.draws is None else ())]
        if not found:
            return None
        lines = if_all(tests, found)
        return [*prelude, *("    " + line for line in lines)] if prelude else lines

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

    def _takes(self, entry):
        """Whether the calls of an entry can be told inline."""
        if entry.places is None or len(entry.leaves) > WIDEST:
            return False
        if forked.Process.forked and not all(v.engine for v in entry.current.versions):
            return False
        if self.variadic and self.count < len(entry.places[0]):
            self.widen(entry)
        return not self.count or len(entry.places[0]) <= self.count

    def _apart(self, entry, here, k, built, named):
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
        return shared_containers.tests(
            built, len(entry.places[0]), pairs, here.apart, namer(f"o{k}", self.space), key
        )

    def widen(self, entry):
        """As many parameters as a call has arguments: they cost less than a tuple of them. The entries tested so far
        come back one by one."""
        self.variadic = len(entry.places[0]) <= MANY
        self.count, self.hot = len(entry.places[0]) if self.variadic else 0, {}
        if self.variadic:
            # before the code that has as many: more than there are do no harm
            self.call.__defaults__ = (MISSING,) * self.count
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
        self.hot = {}
        self.call.__code__ = self._code([])

    def _code(self, hot):
        call = self.call
        code = self._compile(hot).__code__
        self.space["call"] = call
        return code

    def _test(self, i, text, name, entry, k):
        """A condition on leaf i, which is `text` where it is first read and `name` from then on."""
        if i in entry.dynamic:
            self.space[f"t{i}_{k}"] = entry.types[i]
            return f"type({text}) is t{i}_{k}" + (
                f" and -{LARGEST} <= {name} < {LARGEST}" if entry.types[i] is int else ""
            )
        self.space[f"s{i}_{k}"] = leaf = entry.leaves[i]
        if type(leaf) is InstanceCell:
            self.space[f"s{i}_{k}"] = leaf.kind
            return f"type({text}) is s{i}_{k}"
        if isinstance(leaf, COMPARED):
            self.space[f"t{i}_{k}"] = type(leaf)
            return f"type({text}) is t{i}_{k} and {name} == s{i}_{k}"
        return f"{text} is s{i}_{k}"
