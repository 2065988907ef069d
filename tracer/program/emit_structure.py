"""Containers, matrices of scipy.sparse among them, as Python text: the test that arguments are built as those of a call
before, and what makes a result."""

import re

from ..values.sparse_matrix import arrays_within, format_of, taken_apart

# bound: containers nested deeper are not written out: text and the recursion through it grow with each level
DEEPEST = 200
ITEM = re.compile(r"(\w+)\[(\d+)\]")


class LeafPlace:
    """Stands for leaf `n` while its containers are looked at."""

    def __init__(self, n):
        self.n = n


class MatrixPlaces:
    """Stands for a matrix of scipy.sparse, of whose arrays these are the places."""

    def __init__(self, kind, shape, arrays):
        self.kind, self.shape, self.arrays = kind, shape, arrays


def places(args, leaves):
    """`args` with a Place for each of its leaves, None where a container is not a tuple, list or dict of Python's own
    or a matrix of scipy.sparse, or nested too deeply.

    Leaves are in the order of pytrees, to which keys of dicts are sorted.
    """
    rest = list(enumerate(leaves))[::-1]

    def place(x, depth=0):
        if x is None:
            return None
        if depth > DEEPEST:
            raise TypeError
        if type(x) in (tuple, list):
            return type(x)([place(y, depth + 1) for y in x])
        if type(x) is dict:
            found = {k: place(x[k], depth + 1) for k in sorted(x)}
            return {k: found[k] for k in x}
        if format_of(type(x)) is not None and (apart := taken_apart(x)) is not x:
            return MatrixPlaces(apart.kind, apart.shape, [LeafPlace(rest.pop()[0]) for _ in apart.arrays])
        n, leaf = rest.pop()
        if leaf is not x:
            raise TypeError
        return LeafPlace(n)

    try:
        found = tuple([place(x) for x in args])
    except (TypeError, IndexError):  # keys that have no order, a container of another kind
        return None
    return None if rest else found


def structure_tests(text, x, constant, leaf):
    """Python conditions that hold where `text` is built as x is, of places; `leaf(n, text)` gives those of a leaf."""
    if type(x) is LeafPlace:
        return leaf(x.n, text)
    if x is None:
        return [f"{text} is None"]
    if type(x) is MatrixPlaces:
        apart, *told = (constant(y, "told") for y in (arrays_within, x.kind, x.shape))
        made = f"m{x.arrays[0].n}"
        tests = [f"({made} := {apart}({text}, {', '.join(told)})) is not None"]
        return [*tests, *(t for n, y in enumerate(x.arrays) for t in leaf(y.n, f"{made}[{n}]"))]
    kind = type(x).__name__
    if type(x) is dict:
        tests = [f"type({text}) is {kind} and [*{text}] == {constant(list(x), 'keys')}"]
        return [
            *tests,
            *(
                t
                for k, y in x.items()
                for t in structure_tests(f"{text}[{written_key(k, constant)}]", y, constant, leaf)
            ),
        ]
    tests = [f"type({text}) is {kind} and len({text}) == {len(x)}"]
    return [*tests, *(t for n, y in enumerate(x) for t in structure_tests(f"{text}[{n}]", y, constant, leaf))]


def written_key(key, constant):
    return repr(key) if type(key) in (str, int) else constant(key, "key")


def written_structure(x, texts, constant):
    """Text of tuples, lists and dicts with a LeafPlace for each of the leaves that have these texts; TypeError for
    others."""
    if type(x) is LeafPlace:
        return texts[x.n]
    if x is None:
        return "None"
    text = lambda y: written_structure(y, texts, constant)
    if type(x) is tuple:
        return listed([text(y) for y in x])
    if type(x) is list:
        parts = list(map(text, x))
        return sliced(parts) or f"[{', '.join(parts)}]"
    if type(x) is dict:
        return f"{{{', '.join(f'{written_key(k, constant)}: {text(y)}' for k, y in x.items())}}}"
    raise TypeError


def sliced(texts):
    """Text of a list whose items, with these texts, follow each other in one sequence; None of others."""
    found = [ITEM.fullmatch(text) for text in texts] if len(texts) > 1 else [None]
    if None in found or len({m[1] for m in found}) > 1:
        return None
    first = int(found[0][2])
    if [int(m[2]) for m in found] != [*range(first, first + len(texts))]:
        return None
    return f"list({found[0][1]}[{first}:{first + len(texts)}])"


def rebuild_text(rebuild, texts, constant):
    """Text of what `rebuild` makes of leaves with these texts: tuples, lists and dicts are written, others rebuilt."""
    try:
        return written_structure(rebuild([LeafPlace(n) for n in range(len(texts))]), texts, constant)
    except TypeError:
        return f"{constant(rebuild, 'rebuild')}([{', '.join(texts)}])"


def rebuild_texts(rebuild, texts, constant):
    """Text of a tuple of a result and what is to be stored beside it, where `rebuild` makes (result, [what is
    stored])."""
    try:
        result, stored = rebuild([LeafPlace(n) for n in range(len(texts))])
        return listed([written_structure(x, texts, constant) for x in (result, *stored)])
    except TypeError:
        return f"{constant(beside, 'beside')}({constant(rebuild, 'rebuild')}([{', '.join(texts)}]))"


def beside(made):
    result, stored = made
    return result, *stored


def listed(texts):
    """Text of a tuple."""
    return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"
