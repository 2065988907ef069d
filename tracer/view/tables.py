"""IR functions as tables of numbers and texts for the page: what is the same object in several states of a program, or
in several regions, stands there once.

    texts   strings: types, hints, attributes, names of ops
    places  [file or -1, line, column, end line, end column, text of the function's name]
    values  [text of the type, text of the hint or -1]
    eqns    [op, attributes, operands, results, place or -1, mark, regions, cost]
    funcs   {name, params, eqns, results, groups}

An operand is the number of a value, or -1 - n for the literal that text n spells. A region is [text of its label,
number of the function, trips]: how often it runs each time its equation does, None where data decide. A cost is [flops,
bytes read, bytes written, 1 if that is known] of one execution.
"""

import collections

from ...ir.core import Value
from ...ir.cost import cost
from ...ir.op import OPS
from ...ir.source import Source, hint_name
from ...ir.text import attributes_text, labelled_regions, number_text

LOOP, MAP = OPS["loop"], OPS["map"]
SPELLED = 300  # bound: characters of the attributes of an equation, of which a dense constant may have millions


class Tables:
    """The tables while programs are added; `grouped(func)` says in which boxes a function is drawn."""

    def __init__(self, grouped):
        self.grouped = grouped
        self.texts, self.values, self.eqns, self.funcs, self.places, self.files = [], [], [], [], [], []
        self.numbers = collections.defaultdict(dict)  # of which table: {what: its number}
        self.kept = []  # whose ids are keys

    def number(self, table, key, make):
        """The number of what `key` stands for; `make()` gives its row where it is new."""
        known = self.numbers[table]
        if key not in known:
            rows = getattr(self, table)
            known[key] = len(rows)
            rows.append(None)
            rows[known[key]] = make()
        return known[key]

    def text(self, text):
        return self.number("texts", text, lambda: text)

    def value(self, value):
        self.kept.append(value)
        return self.number("values", id(value), lambda: [self.text(repr(value.type)), self.hint(value)])

    def hint(self, value):
        name = hint_name(value)
        return -1 if name is None else self.text(name)

    def operand(self, x, context):
        if isinstance(x, Value):
            return self.value(x)
        return -1 - self.text(number_text(x.value) + ("" if x.type is context else f":{x.type}"))

    def place(self, source):
        """The number of the place in the user's code; -1 where there is none."""
        if not isinstance(source, Source):
            return -1
        self.kept.append(source)
        code = getattr(source, "code", None)  # which one of a program from disk has not
        key = (source.file, source.function, source.position()) if code is None else (id(code), source.lasti)
        return self.number("places", key, lambda: self.place_row(source))

    def place_row(self, source):
        line, end, start, stop = source.position()
        function = self.text(source.function)
        return [self.file(source.file), line or source.line, start or 0, end or 0, stop or 0, function]

    def file(self, path):
        """The number of a file."""
        return self.number("files", path, lambda: path)

    def eqn(self, eqn):
        self.kept.append(eqn)
        return self.number("eqns", id(eqn), lambda: self.equation_row(eqn))

    def equation_row(self, eqn):
        context = next((x.type for x in reversed(eqn.operands) if isinstance(x, Value)), None)
        attrs = attributes_text(eqn).strip()
        attrs = attrs if len(attrs) <= SPELLED else attrs[:SPELLED] + " ..."
        operands = [self.operand(x, context) for x in eqn.operands]
        regions = [[self.text(label), self.func(f), region_trips(eqn)] for label, f in labelled_regions(eqn)]
        results = [self.value(r) for r in eqn.results]
        mark = self.text(mark_of(eqn.source))
        return [
            self.text(eqn.op.name),
            self.text(attrs),
            operands,
            results,
            self.place(eqn.source),
            mark,
            regions,
            told_cost(eqn),
        ]

    def func(self, func):
        self.kept.append(func)
        return self.number("funcs", id(func), lambda: self.function_row(func))

    def function_row(self, func):
        params = [self.value(p) for p in func.params]
        row = {"name": func.name, "params": params, "eqns": [self.eqn(e) for e in func.eqns]}
        row["results"] = [self.operand(r, None) for r in func.results]
        row["groups"] = self.grouped(func)
        return row

    def rows(self):
        """All tables, as the page takes them."""
        return {name: getattr(self, name) for name in ("texts", "places", "values", "eqns", "funcs")}


def mark_of(source):
    """The transform that made an equation: "vjp", "jvp", or "" for what the user wrote."""
    return source.mark if isinstance(source, Source) else ""


def region_trips(eqn):
    """How often a region runs each time its equation does, or None where data decide."""
    if eqn.op is MAP:
        return eqn.attrs["size"]
    if eqn.op is LOOP:
        return eqn.attrs["trips"] if eqn.attrs["test"] is None else None
    return 1


def told_cost(eqn):
    """Of one execution, without that of its regions, which have their own."""
    if eqn.regions():
        return [0, 0, 0, 1]
    found = cost(eqn)
    return [found.flops, found.read, found.written, int(found.known)]
