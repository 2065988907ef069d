"""Programs that say the same many times: cut into pieces, of which those that are alike are one function.

A Python list of layers makes a straight line in which the same equations follow each other once a layer, and so does
its derivative. Such a stretch is found by its period: an equation is like another if they are the same op with the same
attributes on operands of the same types. It is cut where the fewest bytes are alive, into pieces of some periods each;
what lies between stretches is pieces too. Two pieces are one function if they spell the same but for what comes from
outside of them, so nothing is assumed of which values they pass on to each other.

What passes from a piece to one far behind it, as from a layer to its adjoint, is written to memory and read again.
Where it can be computed cheaply from less, the reader does that: for each piece, the lightest set of values from which
all it reads can be had.
"""

import collections

import numpy as np

from . import mincut
from .core import Builder, Func, Value, map_regions
from .passes.cse import structural_key

LEAST = 1024  # equations of a program that is looked at
FEWEST = 8  # times that something is repeated, and at least so many pieces of a stretch
GRAM = 6  # equations by which a period is recognised
TRIED = 8  # periods looked at for each stretch
CALL = 0.25  # what calling a piece costs, in periods to compile


class Piece:
    """`results = func(*operands)`, of the values of the program that was cut.

    marks: for each set of equations of the program that was to be kept in mind, those of `func`.
    """

    __slots__ = ("func", "operands", "results", "marks")

    def __init__(self, func, operands, results, marks):
        self.func, self.operands, self.results, self.marks = func, operands, results, marks


def pieces(func, sources, marks=(), least=None):
    """The Pieces of a program in order, alike ones with one `func`; None where less than half of it would be saved.

    sources: of a value, the values it is cheaply computed from, or None.
    marks:   sets of equations; pieces are alike if those in them are at the same places.
    least:   equations from which a program is looked at, if not LEAST.
    """
    if len(func.eqns) < (LEAST if least is None else least) or any(eqn.effect for eqn in func.eqns):
        return None
    numbers, used = labels(func.eqns), uses(func)
    bounds, periods = {0, len(func.eqns)}, {0, len(func.eqns)}
    for start, stop, period in stretches(numbers, 0, len(numbers)):
        first = narrowest(func, used, start, stop, period)
        bounds.update(range(first, stop + 1, period * together((stop - first) // period)))
        periods.update(range(first, stop + 1, period))
    spans = within_others(Cut(func, used, sorted(bounds), sorted(periods), sources, marks).merged(), func.params)
    return built(func, spans, marks) if sum({s.key: len(s.eqns) for s in spans}.values()) < len(func.eqns) / 2 else None


def labels(eqns):
    """A number for each equation, the same for those that are alike."""
    numbers = {}
    kind = lambda e: (e.op, tuple([x.type if isinstance(x, Value) else x for x in e.operands]), spelled_attrs(e))
    return np.array([numbers.setdefault(kind(e), len(numbers)) for e in eqns])


def spelled_attrs(eqn):
    """The attributes of an equation, the same for regions that say the same."""
    return tuple(map_regions(eqn.attrs, structural_key).items())


def uses(func):
    """{value: the places of the equations that read it, in order}; one behind the last for the results of the
    function."""
    found = collections.defaultdict(list)
    for place, eqn in enumerate(func.eqns):
        for x in eqn.operands:
            found[x].append(place)
    for x in func.results:
        found[x].append(len(func.eqns))
    return found


def stretches(numbers, start, stop, fewest=FEWEST):
    """(start, stop, period) of what is repeated `fewest` times or more between two places, in order: the longest, and
    those before and behind it."""
    part, best = numbers[start:stop], None
    for period in distances(part, fewest):
        edges = np.flatnonzero(np.diff(np.concatenate(([False], part[:-period] == part[period:], [False]))))
        if len(edges):
            k = 2 * np.argmax(edges[1::2] - edges[::2])
            same = edges[k + 1] - edges[k]
            if same >= (fewest - 1) * period and (best is None or same > best[0]):
                best = same, start + int(edges[k]), start + int(edges[k + 1]) + period, period
    if best is None:
        return []
    _, first, last, period = best
    before, behind = stretches(numbers, start, first, fewest), stretches(numbers, last, stop, fewest)
    return [*before, (first, last, period), *behind]


def distances(part, fewest=FEWEST):
    """The distances at which a few equations are most often met again, `fewest` times or more."""
    last, found = {}, collections.Counter()
    for place in range(len(part) - GRAM + 1):
        gram = part[place : place + GRAM].tobytes()
        if gram in last:
            found[place - last[gram]] += 1
        last[gram] = place
    return [period for period, count in found.most_common(TRIED) if count >= fewest]


def narrowest(func, used, start, stop, period):
    """The first place of a stretch at which the fewest bytes pass from a period to the next; what is read long after
    passes anywhere."""
    middle = start + (stop - start) // period // 2 * period
    alive = np.zeros(3 * period + 1)  # from one period before the middle one
    for place in range(middle - period, middle + 2 * period):
        for r in func.eqns[place].results:
            readers = used.get(r, ())
            if readers and readers[-1] - place <= period:
                alive[place - middle + period + 1 : readers[-1] - middle + period + 1] += (
                    r.type.size * r.type.dtype.itemsize
                )
    return start + int(np.argmin(alive[period : 2 * period]))


def together(count):
    """How many of `count` periods are one piece; what is left over is compiled once more."""
    return min(range(1, count // FEWEST + 1), key=lambda n: n + count % n + CALL * (count // n), default=1)


class Cut:
    """A program cut at some places, and what each piece computes for itself again."""

    def __init__(self, func, used, bounds, periods, sources, marks):
        self.func, self.bounds, self.sources, self.marks = func, bounds, sources, marks
        self.place = {r: k for k, e in enumerate(func.eqns) for r in e.results}
        # what the next period reads, or the caller, is written to memory whatever is decided
        after = np.searchsorted(periods, range(len(func.eqns) + 1), "right")
        near = lambda k, readers: any(after[n] == after[k] + 1 or n == len(func.eqns) for n in readers)
        self.passed = {r for r, k in self.place.items() if near(k, used.get(r, ()))}

    def merged(self):
        """The Spans of the pieces; of neighbours that no other piece is like, one is made."""
        spans = [self.span(start, stop) for start, stop in zip(self.bounds, self.bounds[1:])]
        count = collections.Counter(s.key for s in spans)
        inner = [k for k in range(1, len(spans)) if count[spans[k - 1].key] == count[spans[k].key] == 1]
        bounds = [b for k, b in enumerate(self.bounds) if k not in inner]
        return spans if not inner else [self.span(start, stop) for start, stop in zip(bounds, bounds[1:])]

    def span(self, start, stop):
        """The Span of the equations between two places, behind those that are computed again for them."""
        eqns = self.func.eqns[start:stop]
        far = [x for x in outside(eqns) if x in self.place]
        _, again = mincut.lightest(far, self.price, lambda x: None if x in self.passed else self.sources(x))
        before = sorted({x.eqn for x in again}, key=lambda e: self.place[e.results[0]])
        eqns = (*before, *eqns)
        marked = tuple(tuple(k for k, e in enumerate(eqns) if e in found) for found in self.marks)
        key = len(before), marked, structural_key(Func("piece", outside(eqns), eqns, ()))
        return Span(eqns, key, outside(eqns), [r for e in eqns[len(before) :] for r in e.results])

    def price(self, x):
        """Of keeping a value: twice its bytes, once for writing and once for reading; nothing for what is in memory
        anyway and may be read."""
        size = x.type.size * x.type.dtype.itemsize
        return 0 if x not in self.place else 1 + (size if x in self.passed else 2 * size)


class Span:
    """Equations that are a piece: those that are computed again first, as many as `key` says, the marked ones, and what
    all spell.

    operands: the values they read; values: those they are there to compute.
    """

    __slots__ = ("eqns", "key", "operands", "values")

    def __init__(self, eqns, key, operands, values):
        self.eqns, self.key, self.operands, self.values = eqns, key, operands, values


def within_others(spans, params):
    """Spans, of which those that no other is like are written as one that is met several times, where they do a part of
    what that does.

    So the adjoint of a first layer, which needs no cotangent of what the layer is given, is not compiled beside that of
    all others.
    """
    count = collections.Counter(s.key for s in spans)
    models = {s.key: s for s in spans if count[s.key] > 1}
    found = lambda s: (made for model in models.values() if (made := part_of(s, model, params)) is not None)
    return [s if count[s.key] > 1 else next(found(s), s) for s in spans]


def part_of(span, model, params=()):
    """A span as all of a model, equation by equation, with values that nobody reads for what the model computes beside
    it; else None.

    params: values that may be put for what only that reads.
    """
    marked = list(zip(model.key[1], span.key[1]))
    if not len(model.eqns) / 2 <= len(span.eqns) <= len(model.eqns) or span.key[0] != model.key[0]:
        return None
    # names: value of the model -> of the span
    names, given, read, left = {}, {*model.operands}, {*span.operands}, iter(enumerate(span.eqns))
    at, eqn = next(left)
    for place, other in enumerate(model.eqns):
        more = None if eqn is None else matched(other, eqn, names, given, read)
        if more is not None and all((place in m) == (at in n) for m, n in marked):
            names.update(more)
            names.update(zip(other.results, eqn.results))
            at, eqn = next(left, (None, None))
        elif other.regions():
            return None  # on what is put for its operands a loop may never end
    if eqn:
        return None
    spare = {x.type: x for x in (*params, *span.operands)}
    operands = [names.get(x) or spare.get(x.type) for x in model.operands]
    values = [names.get(x) or Value(x.type) for x in model.values]
    return (
        Span(model.eqns, model.key, operands, values) if None not in operands and {*span.values} <= {*values} else None
    )


def matched(other, eqn, names, given, read):
    """The new names by which an equation is another, {operand in `given`: operand in `read`}; None where it is not."""
    if not same(other, eqn):
        return None
    pairs = [(x, y) for x, y in zip(other.operands, eqn.operands) if x is not y or isinstance(x, Value)]
    more = {x: y for x, y in pairs if x not in names and x in given and y in read}
    return more if all(names.get(x, more.get(x)) is y for x, y in pairs) else None


def same(eqn, other):
    """Whether two equations are the same op with the same attributes, on operands of the same types."""
    if eqn.op is not other.op or [x.type for x in eqn.operands] != [x.type for x in other.operands]:
        return False
    return eqn.attrs == other.attrs or spelled_attrs(eqn) == spelled_attrs(other)


def outside(eqns):
    """The values that equations read and do not compute, in order."""
    made = {r for e in eqns for r in e.results}
    return list(dict.fromkeys(x for e in eqns for x in e.operands if isinstance(x, Value) and x not in made))


def built(func, spans, marks):
    """The Pieces of spans of equations. What any of those alike computes for others, all of them give back."""
    wanted = {*func.results, *(x for s in spans for x in s.operands)}
    given = collections.defaultdict(set)  # key: which of the values they compute
    for s in spans:
        given[s.key].update(k for k, r in enumerate(s.values) if r in wanted)
    functions, out = {}, []
    for s in spans:
        results = [s.values[k] for k in sorted(given[s.key])]
        if s.key not in functions:
            inside = outside(s.eqns), [r for e in s.eqns[s.key[0] :] for r in e.results]
            functions[s.key] = outlined_function(
                f"{func.name}_{len(functions)}", inside[0], s.eqns, [inside[1][k] for k in sorted(given[s.key])], marks
            )
        made, marked = functions[s.key]
        out.append(Piece(made, s.operands, results, marked))
    return out


def outlined_function(name, operands, eqns, results, marks):
    """-> (equations as a function of what they read, its equations that stand for the marked ones)"""
    build = Builder(name)
    env = {x: build.param(x.type, x.hint) for x in operands}
    for eqn in eqns:
        build.replay(eqn, env)
    marked = tuple({env[e.results[0]].eqn for e in eqns if e in found} for found in marks)
    return build.finish([env[r] for r in results]), marked
