"""One trace as text and numbers, and back: the program, what was read of the world outside, and how results are given
back.

A file names an outside place by the way to it from the compiled function, or from a function that is an argument:
through closure cells, the dictionaries of globals, and what places named before it hold.
"""

import builtins
import functools
import os
import sys
import types

import numpy as np

from ...ir.equality import same_function
from ...ir.text import parse, show
from ...ir.types import IRTypeError, type_of
from ..capture.capture import Captured
from ..capture.handover import ARRAY, SCALAR, Out
from ..capture.number_lists import NumberList
from ..common import errors, pytree
from ..common.scan import NameLine
from ..guards.guard import MISSING, SCALARS, Guard, Read
from ..guards.outside import Outside
from ..guards.purity import is_foreign
from ..guards.reliance import expected
from ..program.specialisation import Specialisation
from ..values.status import Check
from .described import Unsaid, described, follow, leads, rebuilt_object
from .places import sources_said, with_sources
from .watch import hidden

FUNCTION = ("__code__", "__defaults__", "__kwdefaults__", "func", "args", "keywords")
OF_NUMPY = np.linalg.LinAlgError, np.exceptions.AxisError
KNOWN = (*vars(builtins).values(), *vars(errors).values(), *OF_NUMPY)
RAISED = {e.__name__: e for e in KNOWN if isinstance(e, type) and issubclass(e, Exception)}
KINDS = {ARRAY: ARRAY, SCALAR: SCALAR} | {t.__name__: t for t in (float, complex, int, bool)}  # of results, by name


# -- structures ------------------------------------------------------------------------------------


def skeleton(tree):
    """A structure of arguments or results with its leaves numbered; Unsaid unless it is made of dicts, lists and
    tuples."""
    return described_tree(pytree.unflatten(tree, range(tree.num_leaves)))


def described_tree(x):
    if x is None or type(x) is int:
        return x
    if type(x) in (list, tuple):
        return [type(x).__name__, *map(described_tree, x)]
    if type(x) is dict:
        return ["dict", *([described(k), described_tree(v)] for k, v in x.items())]
    if type(x) is NumberList:
        return ["numbers", described_tree(x.lists(list(range(x.size))))]
    raise Unsaid(f"a {type(x).__name__} among what it takes or gives is no dict, list or tuple")


def unnested(x):
    if not isinstance(x, list):
        return x
    kind, *parts = x
    if kind == "dict":
        return {rebuilt_object(k): unnested(v) for k, v in parts}
    return {"list": list, "tuple": tuple}[kind](map(unnested, parts))


def described_key_order(order):
    """The insertion orders of dicts, as `pytree.key_order` gives them."""
    if order is None or isinstance(order, list):
        return order and [described_key_order(o) for o in order]
    return ["dict", *([described(k), described_key_order(v)] for k, v in order.items())]


def unordered(said):
    if said is None or said[:1] != ["dict"]:
        return said and [unordered(o) for o in said]
    return {rebuilt_object(k): unordered(v) for k, v in said[1:]}


# -- what was read outside -------------------------------------------------------------------------


class Ways:
    """How objects are reached: id -> ["root" or "read", the number of the root or the read that holds the start,
    steps]."""

    def __init__(self, roots):
        self.found = {}
        for n, x in enumerate(roots):
            self.reach(x, ["root", n])

    def reach(self, x, way):
        if id(x) in self.found:
            return
        self.found[id(x)] = way
        for step, inside in leads(x):
            self.reach(inside, [*way, step])

    def to(self, x, name):
        if x is sys.modules:
            return ["modules", ""]
        if id(x) not in self.found and isinstance(x, types.ModuleType) and sys.modules.get(x.__name__) is x:
            return ["module", x.__name__]
        if id(x) not in self.found:
            raise Unsaid(f"{name} is reached in a way that is not known")
        return self.found[id(x)]


def object_at(way, roots, reads):
    """The object at the end of a way."""
    kind, number, *steps = way
    if kind == "modules":
        return sys.modules
    if kind == "module":
        return sys.modules.get(number)
    return follow(roots[number] if kind == "root" else reads[number].value, steps)


def said_of(read):
    """What is relied on of the value of a place."""
    if read.value is MISSING:
        return ["missing"] if read.builtin is MISSING else ["missing", described(read.builtin)]
    if read.how in ("kind", "input", "free"):
        return ["kind", type(read.value).__module__, type(read.value).__qualname__]
    if read.how in ("same", "apart"):
        return [read.how]
    held = read if read.kind != "state" or read.parent is None else read.parent
    if held.key in FUNCTION and held.parent is None and isinstance(held.owner, types.FunctionType | functools.partial):
        return ["function"]  # by which it is described
    if read.how != "value" or read.kind == "contents" and not isinstance(read.value, int | tuple):
        raise Unsaid(f"{read.name} is relied on by all that it holds")
    if type(read) is not Read:
        raise Unsaid(f"{read.name} is asked at every call")
    homes = type(read.value).__module__, getattr(read.value, "__module__", None) or "builtins"
    # what is called, the watch has seen
    if expected(read) and not isinstance(read.value, SCALARS) and all(map(is_foreign, homes)):
        return ["library", *homes, getattr(read.value, "__qualname__", None)]
    return ["value", described(read.value)]


def reads_of(outside, roots):
    """The reads of a trace, each by its way and by what was found."""
    ways, numbers, out = Ways(roots), {}, []
    if why := next(filter(None, (hidden(f.__code__) for f in outside.functions.values())), None):
        raise Unsaid(why)
    for read in outside.reads.values():
        others = [read.other] if read.how == "same" else read.other if read.how == "apart" else []
        if any(r is not None and id(r) not in numbers for r in (read.parent, *others)):
            raise Unsaid(f"{read.name} is in something that is reached in a way that is not known")
        parent = None if read.parent is None else numbers[id(read.parent)]
        way = ways.to(read.owner, read.name) if read.parent is None else None
        out.append(
            [
                read.kind,
                way,
                parent,
                None if read.how == "apart" else described(read.key),
                read.name,
                read.file,
                read.line,
                read.how,
                [numbers[id(r)] for r in others],
                said_of(read),
            ]
        )
        numbers[id(read)] = len(numbers)
        ways.reach(read.value, ["read", numbers[id(read)]])
    for f in outside.functions.values():
        if id(f) not in ways.found:
            raise Unsaid(f"{f.__qualname__} was called, and is reached in a way that is not known")
    return out, numbers


def reads_again(said, roots):
    """The reads of a file in this process, or None where a place holds something else now, or is not there."""
    reads = []
    for kind, way, parent, key, name, file, line, how, others, found in said:
        try:
            owner = None if way is None else object_at(way, roots, reads)
        except (StopIteration, AttributeError, TypeError):
            return None
        others = [reads[n] for n in others]
        key = tuple(r.place for r in others) if how == "apart" else rebuilt_object(key)
        read = Read(kind, owner, key, name, NameLine(file, line), None if parent is None else reads[parent])
        read.how, read.other = how, others if how == "apart" else others[0] if how == "same" else None
        if found[0] == "missing" and len(found) > 1:
            read.builtin = getattr(builtins, read.key, MISSING)
        reads.append(read)
        try:
            if said_of(read) != found or how == "same" and read.value is not read.other.value:
                return None
        except Unsaid:
            return None
    return reads if Guard(reads).holds() else None


# -- programs --------------------------------------------------------------------------------------


def text_of(func):
    """The text of a program, which is read back to be sure."""
    text = show(func, sources=False)
    try:
        read = parse(text)
        same = func.name == read.name and same_function(func, read)
    except (IRTypeError, SyntaxError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        # whatever reads no number of our own
        same = False
    if not same:
        raise Unsaid("its program has an equation that text does not tell")
    return text


def out_said(out):
    if out.chain:
        raise Unsaid("it returns a view")
    if out.how == "object":
        return ["object", described(out.object)]
    if out.how in ("chosen", "unsure"):
        return [out.how, [out_said(o) for o in out.object], out.index]
    if out.how not in ("value", "argument"):
        raise Unsaid("it returns an object from outside")
    return [out.how, next(name for name, kind in KINDS.items() if kind is out.kind), out.index]


def out_again(said):
    if said[0] == "object":
        return Out("object", object=rebuilt_object(said[1]))
    how, kind, index = said
    if how in ("chosen", "unsure"):
        return Out(how, ARRAY, index, (), tuple(map(out_again, kind)))
    return Out(how, KINDS[kind], index)


def refuse_unsaid(version):
    """Unsaid for traces that do what a file does not tell of."""
    captured = version.captured
    for found, why in (
        (captured.relied, "it asks of an argument whether it may be written, or is a view"),
        (version.rules, "rules of the user's were in force"),
        (version.assumed or version.tree, "data chooses between several programs by value"),
        (captured.outside.draws, "it draws random numbers"),
        (version.effects, "it prints, or calls Python while it runs"),
        (captured.stores, "it stores into objects outside"),
        (captured.given is not None, "it changes a list or dict that it is given"),
        (any(not isinstance(x, Read) for x in captured.inputs), "it takes in an array that no name outside leads to"),
        (
            any(c.drawn or RAISED.get(c.error.__name__) is not c.error for c in captured.checks),
            "it raises an exception of a class of the user's",
        ),
    ):
        if found:
            raise Unsaid(why)


def said(version, roots):
    """-> (what JSON holds of a trace, the text of its program); Unsaid where that is not all of it.

    roots: the function, and what it is given that is static.
    """
    captured = version.captured
    reads, numbers = reads_of(captured.outside, roots)
    checks = [[c.error.__name__, c.text, c.quotes, c.args, c.told] for c in captured.checks]
    return {
        "reads": reads,
        "inputs": [numbers[id(x)] for x in captured.inputs],
        "values": captured.values,
        "writes": list(captured.writes),
        "layout": list(captured.layout),
        "checks": checks,
        "where": os.getcwd() if checks else None,  # messages name files as seen from there
        "outs": [out_said(o) for o in captured.outs],
        "tree": skeleton(captured.tree),
        "order": described_key_order(captured.order),
        "notes": list(captured.notes),
        "sources": sources_said(version.func),
        "equations": captured.func.count(),
        "reason": version.reason,
        "engine": version.engine,
        "times": version.times,
        "inside": version.inside,
        "fused": version.fused and [text_of(version.fused), sources_said(version.fused)],
    }, text_of(version.func)


def restored_trace(told, text, roots, types):
    """The trace in this process, or None where something it relied on is not as it was. types: of the dynamic
    arguments."""
    reads = reads_again(told["reads"], roots)
    if reads is None or told["where"] not in (None, os.getcwd()):
        return None
    inputs = [reads[n] for n in told["inputs"]]
    func = with_sources(parse(text), told["sources"])
    values = [x.get() for x in inputs]
    if [*types, *map(type_of, values)] != [p.type for p in func.params]:
        return None
    outside = Outside(len(types))
    outside.identified = True  # which is not noted
    outside.reads = {r.place: r for r in reads}
    checks = tuple(
        Check(RAISED[e], words, quotes, 0, None if args is None else tuple(args), plain)
        for e, words, quotes, args, plain in told["checks"]
    )
    outs, tree = [out_again(o) for o in told["outs"]], pytree.structure(unnested(told["tree"]))
    captured = Captured(
        func, told["values"], inputs, [], told["writes"], [], checks, tuple(told["layout"]), outs, tree,
        unordered(told["order"]), told["notes"],
        outside, [], None,
    )  # fmt: skip
    version = Specialisation(captured, func, types, told["reason"], 0.0, 0.0)
    version.engine, version.times, version.equations = (
        told["engine"],
        told["times"] and tuple(told["times"]),
        told["equations"],
    )
    version.inside = told["inside"]
    if told["fused"]:
        fused, sources = told["fused"]
        version.fused = with_sources(parse(fused), sources)
    return version
