"""Programs that say the same many times: cut into pieces, of which those that are alike are one function.

A Python list of layers makes a straight line in which the same equations follow each other once a layer, and so does its derivative. Such a
stretch is found by its period: an equation is like another if they are the same op with the same attributes on operands of the same types.
It is cut where the fewest bytes are alive, into pieces of some periods each; what lies between stretches is pieces too. Two pieces are one
function if they spell the same but for what comes from outside of them, so nothing is assumed of which values they pass on to each other.

What passes from a piece to one far behind it, as from a layer to its adjoint, is written to memory and read again. Where it can be computed
cheaply from less, the reader does that: for each piece, the lightest set of values from which all it reads can be had.
"""

import collections

import numpy as np

from . import mincut
from .core import Builder, Func, Value, map_regions
from .passes.cse import spelled

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
    spans = Cut(func, used, sorted(bounds), sorted(periods), sources, marks).merged()
    return built(func, spans, marks) if sum({key: len(eqns) for eqns, key in spans}.values()) < len(func.eqns) / 2 else None


def labels(eqns):
    """A number for each equation, the same for those that are alike."""
    numbers = {}
    kind = lambda e: (e.op, tuple(x.type if isinstance(x, Value) else x for x in e.operands), tuple(map_regions(e.attrs, spelled).items()))
    return np.array([numbers.setdefault(kind(e), len(numbers)) for e in eqns])


def uses(func):
    """{value: the places of the equations that read it, in order}; one behind the last for the results of the function."""
    found = collections.defaultdict(list)
    for place, eqn in enumerate(func.eqns):
        for x in eqn.operands:
            found[x].append(place)
    for x in func.results:
        found[x].append(len(func.eqns))
    return found


def stretches(numbers, start, stop):
    """(start, stop, period) of what is repeated between two places, in order: the longest, and those before and behind it."""
    part, best = numbers[start:stop], None
    for period in distances(part):
        edges = np.flatnonzero(np.diff(np.concatenate(([False], part[:-period] == part[period:], [False]))))
        if len(edges):
            k = 2 * np.argmax(edges[1::2] - edges[::2])
            same = edges[k + 1] - edges[k]
            if same >= (FEWEST - 1) * period and (best is None or same > best[0]):
                best = same, start + int(edges[k]), start + int(edges[k + 1]) + period, period
    if best is None:
        return []
    _, first, last, period = best
    return [*stretches(numbers, start, first), (first, last, period), *stretches(numbers, last, stop)]


def distances(part):
    """The distances at which a few equations are most often met again."""
    last, found = {}, collections.Counter()
    for place in range(len(part) - GRAM + 1):
        gram = part[place : place + GRAM].tobytes()
        if gram in last:
            found[place - last[gram]] += 1
        last[gram] = place
    return [period for period, count in found.most_common(TRIED) if count >= FEWEST]


def narrowest(func, used, start, stop, period):
    """The first place of a stretch at which the fewest bytes pass from a period to the next; what is read long after passes anywhere."""
    middle = start + (stop - start) // period // 2 * period
    alive = np.zeros(3 * period + 1)  # from one period before the middle one
    for place in range(middle - period, middle + 2 * period):
        for r in func.eqns[place].results:
            readers = used.get(r, ())
            if readers and readers[-1] - place <= period:
                alive[place - middle + period + 1 : readers[-1] - middle + period + 1] += r.type.size * r.type.dtype.itemsize
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
        """[(equations, key)] of the pieces, as `span` gives them; of neighbours that no other piece is like, one is made."""
        spans = [self.span(start, stop) for start, stop in zip(self.bounds, self.bounds[1:])]
        count = collections.Counter(key for _, key in spans)
        inner = [k for k in range(1, len(spans)) if count[spans[k - 1][1]] == count[spans[k][1]] == 1]
        bounds = [b for k, b in enumerate(self.bounds) if k not in inner]
        return spans if not inner else [self.span(start, stop) for start, stop in zip(bounds, bounds[1:])]

    def span(self, start, stop):
        """The equations between two places, behind those that are computed again for them; how many those are, the marked ones, what all spell."""
        eqns = self.func.eqns[start:stop]
        far = [x for x in outside(eqns) if x in self.place]
        _, again = mincut.lightest(far, self.price, lambda x: None if x in self.passed else self.sources(x))
        before = sorted({x.eqn for x in again}, key=lambda e: self.place[e.results[0]])
        eqns = (*before, *eqns)
        marked = tuple(tuple(k for k, e in enumerate(eqns) if e in found) for found in self.marks)
        return eqns, (len(before), marked, spelled(Func("piece", outside(eqns), eqns, ())))

    def price(self, x):
        """Of keeping a value: twice its bytes, once for writing and once for reading; nothing for what is in memory anyway and may be read."""
        size = x.type.size * x.type.dtype.itemsize
        return 0 if x not in self.place else 1 + (size if x in self.passed else 2 * size)


def outside(eqns):
    """The values that equations read and do not compute, in order."""
    made = {r for e in eqns for r in e.results}
    return list(dict.fromkeys(x for e in eqns for x in e.operands if isinstance(x, Value) and x not in made))


def built(func, spans, marks):
    """The Pieces of spans of equations. What any of those alike computes for others, all of them give back."""
    wanted = {*func.results, *(x for eqns, _ in spans for x in outside(eqns))}
    given = collections.defaultdict(set)  # key: which of the values they compute
    for eqns, key in spans:
        given[key].update(k for k, r in enumerate(results_of(eqns, key)) if r in wanted)
    functions, out = {}, []
    for eqns, key in spans:
        values = results_of(eqns, key)
        operands, results = outside(eqns), [values[k] for k in sorted(given[key])]
        if key not in functions:
            functions[key] = alone(f"{func.name}_{len(functions)}", operands, eqns, results, marks)
        made, marked = functions[key]
        out.append(Piece(made, operands, results, marked))
    return out


def results_of(eqns, key):
    """The values that a piece is there to compute."""
    return [r for e in eqns[key[0] :] for r in e.results]


def alone(name, operands, eqns, results, marks):
    """-> (equations as a function of what they read, its equations that stand for the marked ones)"""
    build = Builder(name)
    env = {x: build.param(x.type, x.hint) for x in operands}
    for eqn in eqns:
        build.replay(eqn, env)
    marked = tuple({env[e.results[0]].eqn for e in eqns if e in found} for found in marks)
    return build.finish([env[r] for r in results]), marked
