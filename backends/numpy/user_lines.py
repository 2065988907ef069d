"""Statements of generated NumPy at the user's lines: tracebacks, profilers and debuggers show these.

A statement ends in a comment with a number, by which `StatementSources` knows its source; when the text has become a
tree, its nodes get the place of that source, and the function the file. One code object has one file: what comes from
another one, a helper's, has the place of the statement before it.
"""

import ast
from collections import Counter

import numpy as np

from ...ir.source import COMPILED, Source
from ...ir.syntax import compiled, nodes_of

NUMBERED = "  # @"  # in front of the number that ends a statement


class StatementSources:
    """The sources of statements, by the numbers in their comments."""

    def __init__(self):
        self.sources, self.numbers = [], {}

    def marked(self, line, source):
        """A line of text with its source, unless it has one, or there is none."""
        if not isinstance(source, Source) or statement_number(line) is not None:
            return line
        key = id(source)
        if key not in self.numbers:
            self.numbers[key] = len(self.sources)
            self.sources.append(source)
        return f"{line}{NUMBERED}{self.numbers[key]}"

    def settle(self, function, text):
        """Give the nodes of a function, parsed from the text, the user's places -> the file; None where no statement
        has one."""
        numbers = map(statement_number, text.split("\n")[function.lineno - 1 : function.end_lineno])
        found = [None if n is None else self.sources[n] for n in numbers]
        files = Counter(source.file for source in found if source is not None)
        if not files:
            return None
        (file, _), *_ = files.most_common(1)
        places, now, before = [], None, function.lineno
        for source in found:
            now = node_place(source) if source is not None and source.file == file else now
            places.append(now)
        known = [place for place in places if place is not None]
        place_nodes(function, [place or known[0] for place in places], before)
        function.lineno = min(line for line, *_ in known)
        return file


def statement_number(line):
    """The number that ends a statement; None where there is none."""
    _, found, number = line.rpartition(NUMBERED)
    return int(number) if found and number.isdecimal() else None


def place_nodes(function, places, first):
    """Put the nodes of a function at the places of the lines they stand in, of which the first has the number
    `first`."""
    for node in nodes_of(function):
        if "lineno" in vars(node):
            place = places[node.lineno - first]
            node.lineno, node.end_lineno, node.col_offset, node.end_col_offset = place


def node_place(source):
    """(line, end line, column, end column) as nodes of a tree have them."""
    line, end, column, end_column = source.position()
    if None in (end, column, end_column):
        return source.line, source.line, -1, -1
    return line, end, column, end_column


def defined(function, file, name, space, otherwise):
    """Define a function, whose nodes are settled, in a namespace.

    file: of the user's, or None; name: what it is the compiled form of; otherwise: the file of what has no place.
    """
    with np.errstate(all="ignore"):
        exec(compiled(ast.Module([function], []), file or otherwise, "exec"), space)
    made = space[function.name]
    if file is not None:
        name += COMPILED
        made.__code__ = made.__code__.replace(co_name=name, co_qualname=name)
    return made
