"""In which boxes the page draws a function: what the user wrote beside its adjoint and its tangents, stretches that say
the same once with a count, runs of equations by the function and by the line of the user's that they are of, and parts
where there are still many. No box holds more than a few dozen, whatever the program's size.

A box is {"c": children, "e": edges between them, "l": their layers} with "k", its kind, and "t", its title. A child is
the number of an equation, -1 - n for parameter n, the number of equations for what the function returns, or a box. One
of kind "alike" has "copies", boxes of which the page shows one. In one of kind "sides", which has no layers, the
adjoint stands beside what it is the adjoint of.
"""

import itertools
import re

from ...ir.outline import labels, stretches
from ...ir.source import Source
from .layers import layered
from .tables import mark_of

FEW = 20  # bound: equations that stand in a box as they are
MOST = 24  # bound: children of a box
ALIKE = 3  # times that a stretch is said, from which on it is drawn once
NAMELESS = re.compile(
    r"(\.<locals>)?\.?<(?!locals)\w+>.*"
)  # lambdas and comprehensions, which are of what they stand in
SIDES = {"": "forward", "vjp": "adjoint", "jvp": "tangent"}


class Boxes:
    """The boxes of one function."""

    def __init__(self, func):
        self.func, self.end = func, len(func.eqns)
        self.sources = [eqn.source for eqn in func.eqns]
        self.lines = [*map(line_of, self.sources)]
        self.numbers = labels(func.eqns) if self.end > FEW else None
        self.made = {p: -1 - n for n, p in enumerate(func.params)}
        self.made.update((r, n) for n, eqn in enumerate(func.eqns) for r in eqn.results)

    def tree(self):
        """The box of the whole function, with the layout of all boxes in it."""
        read = {x for eqn in self.func.eqns for x in eqn.operands}.union(self.func.results)
        params = [-1 - n for n, p in enumerate(self.func.params) if p in read]
        if len(params) > MOST // 2:
            params = [self.box("parameters", f"{len(params)} parameters", params)]
        sides = self.sides()
        inner = (
            [self.box(kind, kind, self.nested(eqns)) for kind, eqns in sides]
            if len(sides) > 1
            else self.nested(range(self.end))
        )
        root = self.box("sides" if len(sides) > 1 else "function", self.func.name, [*params, *inner, self.end])
        self.lay_out(root)
        return root

    def sides(self):
        """[(kind, equations)] of what the user wrote and what transforms made of it, where there is some of each."""
        sides = {kind: [] for kind in SIDES.values()}
        for n, source in enumerate(self.sources):
            sides[SIDES.get(mark_of(source), "forward")].append(n)
        weight = lambda eqns: sum(1 + sum(f.count() for f in self.func.eqns[n].regions()) for n in eqns)
        sides = {kind: eqns for kind, eqns in sides.items() if eqns}
        return [*sides.items()] if all(weight(eqns) > 1 for eqns in sides.values()) else []

    def box(self, kind, title, children):
        return {"k": kind, "t": title, "c": [*children], "e": [], "l": None}

    # -- which equations stand together ------------------------------------------------------------
    def nested(self, eqns):
        """The children of a box of these equations."""
        eqns = [*eqns]
        if len(eqns) <= FEW:
            return eqns
        children, at = [], 0
        for start, stop, period in stretches(self.numbers[eqns], 0, len(eqns), ALIKE):
            first = self.narrowest(eqns, start, stop, period)
            count = (stop - first) // period
            if count < ALIKE:
                continue
            children += self.runs(eqns[at:first], (self.function_of, self.line_of))
            copies = [eqns[first + k * period : first + (k + 1) * period] for k in range(count)]
            children.append(self.alike(copies))
            at = first + count * period
        return self.parted([*children, *self.runs(eqns[at:], (self.function_of, self.line_of))])

    def alike(self, copies):
        names = [name for name, _ in itertools.groupby(filter(None, map(self.function_name, copies[0])))]
        names = [*dict.fromkeys(names)]
        box = self.box("alike", ", ".join(names[:3]) + (", ..." if len(names) > 3 else ""), ())
        box["copies"] = [
            self.box("copy", f"{k} of {len(copies)}", self.runs(copy, (self.function_of, self.line_of)))
            for k, copy in enumerate(copies, 1)
        ]
        return box

    def narrowest(self, eqns, start, stop, period):
        """The place at which the fewest values pass from a period of a stretch to the next, of those that leave it as
        many periods as there is room for."""
        place, passing = {n: k for k, n in enumerate(eqns)}, [0] * (len(eqns) + 1)
        for k in range(start, min(stop, start + 3 * period)):
            for x in self.func.eqns[eqns[k]].operands:
                made = place.get(self.made.get(x), k)
                if start <= made and k - made <= period:
                    for between in range(made + 1, k + 1):
                        passing[between] += 1
        last = start + (stop - start) % period
        return min(range(start, last + 1), key=lambda k: passing[min(k + period, len(eqns))])

    def runs(self, eqns, keys):
        """Children for equations in order: as they are where they are few, else by runs that have a key in common."""
        if len(eqns) <= FEW:
            return [*eqns]
        if not keys:
            return self.parted(eqns)
        found = [[*run] for _, run in itertools.groupby(eqns, keys[0])]
        if len(found) == 1:
            return self.runs(found[0], keys[1:])
        return self.parted([self.run(run, keys) for run in found])

    def run(self, eqns, keys):
        if len(eqns) == 1:
            return eqns[0]
        by_line = keys[0] == self.line_of
        title = f"line {self.line_of(eqns[0])[1]}" if by_line else self.function_name(eqns[0]) or "of no line"
        return self.box("line" if by_line else "call", title, self.runs(eqns, keys[1:]))

    def parted(self, children):
        """Children in parts, and these again, until they are few."""
        while len(children) > MOST:
            size = min(MOST, max(MOST // 2, -(-len(children) // MOST)))
            chunks = [children[k : k + size] for k in range(0, len(children), size)]
            children = [self.box("part", self.span(chunk), chunk) if len(chunk) > 1 else chunk[0] for chunk in chunks]
        return children

    def span(self, children):
        """What the children of a part have in common: the lines they are of."""
        lines = [self.line_of(n)[1] for child in children for n in leaf_tokens(child) if self.sources[n] is not None]
        return f"lines {min(lines)}-{max(lines)}" if lines else "of no line"

    def function_of(self, n):
        source = self.sources[n]
        return (source.file, NAMELESS.sub("", source.function)) if isinstance(source, Source) else None

    def function_name(self, n):
        found = self.function_of(n)
        return "" if found is None else found[1].rpartition(".")[2]

    def line_of(self, n):
        return self.lines[n]

    # -- edges and layers --------------------------------------------------------------------------
    def lay_out(self, root):
        """Give each box the edges between its children, and their layers."""
        ways, boxes = {}, []
        note_ways(root, (), ways, boxes)
        between = {id(box): {} for box in boxes}
        reads = [(self.made.get(x), n) for n, eqn in enumerate(self.func.eqns) for x in eqn.operands]
        for a, b in [*reads, *((self.made.get(x), self.end) for x in self.func.results)]:
            if a is None:  # a literal
                continue
            for (box, i), (_, j) in zip(ways[a], ways[b]):
                if i != j:
                    between[id(box)][i, j] = None
                    break
        for box in boxes:
            box["e"] = [*between[id(box)]]
            if box["k"] not in ("alike", "sides"):
                box["l"] = layered(len(box["c"]), box["e"])


def note_ways(box, way, ways, boxes):
    """Note of each leaf the way to it, as (box, number of the child) from the root, and list all boxes."""
    boxes.append(box)
    for i, child in enumerate(box.get("copies", box["c"])):
        if isinstance(child, dict):
            note_ways(child, (*way, (box, i)), ways, boxes)
        else:
            ways[child] = (*way, (box, i))


def leaf_tokens(child):
    """The equations in a child of a box."""
    if not isinstance(child, dict):
        return [child]
    return [n for x in child.get("copies", child["c"]) for n in leaf_tokens(x)]


def line_of(source):
    """(file, line), by which runs of equations are told apart."""
    return (source.file, source.line) if isinstance(source, Source) else ("", 0)
