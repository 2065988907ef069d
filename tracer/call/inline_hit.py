"""What the generated function of the inline cache does once the tests of a signature hold: launch and result, with
nothing that it does not need."""

import types

import numpy as np

from ...backends.xla import dispatch, hosted, waiting
from ..capture.handover import ARRAY, SCALAR
from ..common.frames import GENERATED
from ..guards.emit_lookups import namer
from ..guards.guard import Read
from ..program.backend_choice import BackendChoice
from ..program.emit_results import memoised_check, return_lines
from ..program.emit_stores import store_lines
from ..program.numpy_function import stored_names
from ..program.specialisation_set import IN_TURN
from ..program.trace_tree import Trees
from ..program.trap import Trap
from .beside_xla import awaits_calls, countdowns
from .contest import contests
from .deferred import is_deferred
from .in_front import in_front
from .interim import interims

# arrays of which it costs less to ask for their dtypes than to enter the scope of 64-bit types; measured by
# benchmarks/tune.py
FEW = 4
SEVERAL = 32  # bound: programs that are all tried inline


class Hit:
    """The lines of one signature. leaves: their texts; given: text of (args, kwargs); k: the number of its names in
    `space`; lookups: of the places that its tests have read."""

    def __init__(self, space, entry, here, k, leaves, given, lookups):
        self.space, self.entry, self.k, self.leaves, self.lookups = space, entry, k, leaves, lookups
        self.names = [leaves[i] for i in entry.dynamic]
        self.in_full, self.given = given, [] if entry.flat else [f"given={given}"]
        self.here = here
        self.versions = here.versions
        self.call = here.call
        space |= {f"inputs_{k}": here.inputs, f"entry_{k}": entry, f"here_{k}": here}
        # lines that come first; texts of what follows the leaves
        self.lead, self.behind, named = [], [], namer(f"g{k}", space)
        for n, x in enumerate(here.inputs):
            text = lookups.text(x) if isinstance(x, Read) else named(x)
            if not text.isidentifier():
                self.lead.append(f"i{n} = {text}")
                text = f"i{n}"
            self.behind.append(text)
        self.arguments = ", ".join([*self.names, *self.behind])
        self.everything = f"({self.arguments}{',' if self.arguments else ''})"

    def contested(self, called, plain):
        """Lines that hand calls to plain Python, or to the contest while it is open; called: text of what is handed on;
        plain: whether plain Python answers in any case, None as contests have it."""
        lines, named, groups = [], namer(f"p{self.k}", self.space), {}
        for contest in contests(self.entry, self.here).values() if plain is not False else ():
            if plain is None and contest.plain is False:
                continue
            at_once = bool(plain or contest.plain and not contest.watched)
            places = tuple([place for place, *_ in contest.arrays])
            groups.setdefault((at_once, places), []).append(contest)
        for (at_once, places), alike in groups.items():
            if len(alike) > IN_TURN:
                lines.append(self.in_a_table(at_once, places, alike, named, called))
                continue
            for contest in alike:
                answer = f"callee.given({called})" if at_once else f"{named(contest)}(callee, {called})"
                lines.append(f"{self.where(contest.arrays, named)}return {answer}")
        others = [*interims(self.entry, self.here), *in_front(self.entry, self.here), *countdowns(self.here)]
        for found in others if plain is None else ():
            asks = f"{named(found)}.is_next()"
            lines.append(f"{self.where(found.arrays, named, asks)}return {named(found)}(callee, {called})")
        return [*self.lead, *lines] if lines else []

    def in_a_table(self, at_once, places, contests, named, called):
        """The line that looks for the contest of a call among many, by the arrays at these places."""
        taken = [*self.names, *self.behind]
        shapes = "".join(f"{taken[place]}.shape, {taken[place]}.dtype, " for place in places)
        kinds = lambda contest: tuple([kind for _, *kinds in contest.arrays for kind in kinds])
        table = named({kinds(contest): contest for contest in contests})
        if at_once:
            return f"if ({shapes}) in {table}: return callee.given({called})"
        return f"if (found := {table}.get(({shapes}))) is not None: return found(callee, {called})"

    def where(self, arrays, named, *more):
        """The beginning of a line that asks whether leaves and inputs have such shapes and dtypes, and more."""
        taken = [*self.names, *self.behind]
        asks = lambda x, shape, dtype: f"{x}.shape == {named(shape)} and {x}.dtype is {named(dtype)}"
        tests = [*(asks(taken[place], *kinds) for place, *kinds in arrays), *more]
        return f"if {' and '.join(tests)}: " if tests else ""

    def lines(self):
        here, k = self.here, self.k
        numbered = enumerate(self.straight_inline())
        lead = [*self.lead, *(line for j, straight in numbered for line in self.as_numpy(j, straight))]
        slow = f"return callee(slow, *{self.in_full})"  # plain Python may be as fast as to look among many
        if len(here.straight) > SEVERAL:
            return [*lead, slow]
        again = f"return callee(entry_{k}.run, {', '.join(['[' + ', '.join(self.names) + ']', *self.given])})"
        asked = any(v.asks_first for v in self.versions)
        other = any(is_deferred(v) and not awaits_calls(v) for v in self.versions)
        if asked or here.straight and all(v.engine for v in self.versions) or other:
            return [*lead, *(self.in_cells([again]) if len(self.versions) <= SEVERAL else [slow])]
        if all(v.straight for v in self.versions if v.engine or v.chain) and isinstance(here.call, BackendChoice):
            self.call = here.call.program
        waits, result = self.result()
        lines = self.launch()
        if here.endures and not isinstance(here.call, Trees):
            self.space |= {"heard": waiting.heard, "original": hosted.original, f"name_{k}": self.entry.compiled.name}
            self.space[f"program_{k}"] = self.call
            lines.append(f"heard(raw, name_{k}, program_{k})")
        elif self.entry.numpy and self.spin() is not None:
            self.space[f"spin_{k}"] = self.spin()
            last = self.last()
            lines.append(f"if not {last}.is_ready(): spin_{k}({last})")
        first = f"return callee(entry_{k}.first, {', '.join([*self.names, *self.given])})"
        # what has no program is run behind the handler: the user's code is to find no exception of ours there
        lines = ["try:", *("    " + line for line in [*lines, *waits]), "except Untraced:", "    raw = MISS"]
        given = ", ".join([f"[{', '.join(self.names)}]", *self.given])
        lines += ["except TypeError as error:", f"    return callee(entry_{k}.mistyped, error, {given})"]
        if here.endures:
            lines += ["except FAILURES as failure:", "    raise original(failure) from None"]
        if waits:  # a call that fails is made again, to find out which check it is
            lines += ["except FAILURES:", f"    {again}"]
        lines += ["if raw is MISS:", f"    {first}"]
        return [*lead, *self.in_cells([*lines, *result])]

    def straight_inline(self):
        """The programs as NumPy that are tried inline: of many, those of all sizes and the latest."""
        found = self.here.straight
        if len(found) <= SEVERAL:
            return found
        of_all_sizes = [v.straight for v in self.versions if v.symbolic is not None and v.straight is not None]
        return [*of_all_sizes, *(x for x in found[-IN_TURN:] if x not in of_all_sizes)]

    def in_cells(self, lines):
        """Lines around those that ask Reads, or the entry: the arguments known by their class are in their cells."""
        cells = {id(cell): (f"cell{n}_{self.k}", f"held{n}", cell, i) for n, (i, cell) in enumerate(self.entry.cells)}
        if not cells:
            return lines
        self.space |= {name: cell for name, _, cell, _ in cells.values()}
        put = [f"{h} = {n}.object; {n}.object = {self.leaves[i]}" for n, h, _, i in cells.values()]
        back = [f"    {n}.object = {h}" for n, h, _, _ in cells.values()]
        return [*put, "try:", *("    " + line for line in lines), "finally:", *back]

    def as_numpy(self, j, straight):
        """Lines that return what a program gives that runs as generated NumPy, if it does."""
        k, given = self.k, [*map(self.lookups.text, straight.reads), *self.names, *self.behind]
        self.space |= {
            f"run_{k}_{j}": straight.run,
            f"straight_{k}_{j}": straight.call,
            f"again_{k}_{j}": straight.again,
        }
        names = stored_names(straight.stores)
        behind = [*store_lines(straight.stores, names[1:], self.lookups), "return out"] if straight.stores else []
        lead, given = self.in_locals(given)
        if straight.silent and (text := straight.inlined(f"_{k}_{j}", given, self.space, behind)):
            return [*lead, *text]
        arguments = ", ".join(given)
        done = [f"{', '.join(names)} = out", *behind] if behind else ["return out"]
        done = ["if out is not MISS:", *("    " + line for line in done)]
        if straight.silent:
            return [*lead, f"out = straight_{k}_{j}({arguments})", *done]
        run = f"    out = run_{k}_{j}(straight_{k}_{j}{', ' if arguments else ''}{arguments})"
        return [*lead, "try:", run, "except RuntimeError:", f"    out = again_{k}_{j}({arguments})", *done]

    def in_locals(self, texts):
        """Lines that write what is no name to a local; the names."""
        lead, names = [], []
        for text in texts:
            if not text.isidentifier():
                lead.append(f"o{len(lead)} = {text}")
                text = f"o{len(lead) - 1}"
            names.append(text)
        return lead, names

    def launch(self):
        """Lines that give `raw`, what the program returns."""
        k = self.k
        if self.entry.compiled.device is not None:
            return [f"raw = entry_{k}.launch(here_{k}, {self.everything})"]
        asks, launch = [*self.narrow(), "x64.value"], f"raw = {self.launched()}({self.arguments})"
        return [f"if {' or '.join(asks)}:", f"    {launch}", "else:", "    with scope:", f"        {launch}"]

    def spin(self):
        """What waits for the results, if they are those of one program that runs on this machine, and no Python."""
        if type(self.call) is not dispatch.Program or not dispatch.on_host():
            return None
        silent = not any(hosted.calls_python(v.func) for v in self.versions)
        counts = set(map(self.given_back, self.versions))
        return self.call.spin if silent and len(counts) == 1 and 0 not in counts else None

    def given_back(self, version):
        """How many results the program of a version gives."""
        return len(version.func.results) - isinstance(self.here.call, Trap)

    def last(self):
        """Text of the last result."""
        return "raw[-1]" if self.given_back(self.versions[0]) > 1 else "raw"

    def launched(self):
        """Text of what is launched: of one program the function of jax, of several the one for these shapes."""
        k, call, named = self.k, self.call, namer(f"s{self.k}", self.space)
        one = type(call) is dispatch.Program and len(self.versions) == 1 and len(call.known) < 2
        self.space[f"call_{k}"] = call.first if one else call
        if one or type(call) is not dispatch.Program:
            return f"call_{k}"
        parts = [self.part(text, self.entry.types[i], named) for text, i in zip(self.names, self.entry.dynamic)]
        for text, x in zip(self.behind, self.here.inputs):
            kept = None if isinstance(x, Read) else named(*dispatch.signature([x]))
            parts.append(kept or self.part(text, type(x.value), named))
        self.space[f"known_{k}"] = call.known
        return f"(known_{k}.get(({', '.join(parts)},)) or call_{k})"

    def part(self, text, kind, named):
        """Text of what `dispatch.signature` says of a leaf, of a class that the tests have asked for."""
        if issubclass(kind, np.generic):
            return named(((), np.dtype(kind)))
        return named(kind) if issubclass(kind, int | float | complex) else f"({text}.shape, {text}.dtype)"

    def narrow(self):
        """A test that the program needs no scope of 64-bit types for such arguments, if there may be one."""
        k, versions, types = self.k, self.versions, self.entry.types
        if self.here.inputs or not all(v.straight or dispatch.narrow(v.func) for v in versions):
            return []
        numbers = np.generic | int | float | complex
        dynamic = zip(self.names, self.entry.dynamic, versions[0].types)
        arrays = [(n, t.dtype) for n, i, t in dynamic if not issubclass(types[i], numbers)]
        if len(arrays) > FEW:
            return []
        self.space |= {f"{n}_{k}": dtype for n, dtype in arrays}
        same = "({n}.dtype is {n}_{k} or {n}.dtype == {n}_{k})" if len(versions) == 1 else "{n}.dtype.char in narrow"
        return [" and ".join(same.format(n=n, k=k) for n, _ in arrays) or "True"]

    def result(self):
        """Lines that wait for the checks, none where they are asked with the result; lines that return it."""
        here, entry, k, versions, names = self.here, self.entry, self.k, self.versions, self.names
        if here.plain is not None:
            return [], [self.whole()]
        otherwise = f"return callee(entry_{k}.finish, {', '.join([f'here_{k}', 'raw', self.everything, *self.given])})"
        named = namer(f"r{k}", self.space)
        made = lambda raising: [
            return_lines(v, entry, names, named, otherwise, raising, self.lookups.text) for v in versions
        ]
        quick = made(True) if isinstance(here.call, Trap) and here.call.bearer is not None else [None]
        ways = made(False) if None in quick else quick
        if ways[0] is None or any(w != ways[0] for w in ways):
            return [], [otherwise]
        if ways is not quick:
            return [], ways[0]
        self.call = here.call.quick
        one = f"[{here.call.bearer}]" if len(versions[0].func.results) > 2 else ""
        return memoised_check(versions[0], entry, names, named, [f"raw{one}.block_until_ready()"]), ways[0]

    def whole(self):
        """A line that returns all that the program gives."""
        if not self.entry.numpy:
            return "return raw"
        return (
            "return "
            + ("array(raw)" if self.here.small else "owned(raw)")
            + {ARRAY: "", SCALAR: "[()]"}.get(self.here.plain, ".item()")
        )


def front_code(free, head, body):
    """The code of the function a user calls: its parameters, `head`, the lines of its body, and the variables that it
    encloses. What it raises is shown without our frames."""
    every = f"if 0: {', '.join(free)}"  # a function takes no code that encloses fewer variables
    lines = [
        f"def around({', '.join(free)}):",
        f"    def call({head}):",
        "        try:",
        *("            " + line for line in [every, *body]),
        "        except BaseException as error:",
        "            callee.seen(error)",  # no name of ours: cloudpickle leaves them behind
        "            raise",
    ]
    code = compile("\n".join(lines), GENERATED, "exec")
    for _ in range(2):
        code = next(c for c in code.co_consts if isinstance(c, types.CodeType))
    return code.replace(co_qualname="call")
