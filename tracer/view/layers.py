"""Layers of a graph of boxes, and the order within each: the part of a layered layout that takes search. Where each box
stands then follows from how large it is, which changes when it is folded, so that part is the page's.

Source: Sugiyama, Tagawa, Toda, Methods for visual understanding of hierarchical system structures (1981). The package
`fast-sugiyama` (of the extra `view`) does it where it is installed; else the plain form below.
"""

import collections
import functools
import importlib.util

LONGEST = 8  # layers across which an edge has room of its own; longer ones are drawn across what lies between
SWEEPS = 6  # times that the order of each layer follows that of its neighbours


@functools.cache
def library():
    """The package that finds layers, loaded when the first page is made; None where it is not installed."""
    found = importlib.util.find_spec("fast_sugiyama") is not None
    return importlib.import_module("fast_sugiyama") if found else None


def layered(count, edges):
    """The layers of boxes 0 .. count - 1, from the top: lists of boxes, and of -1 - e where edge e passes, which is
    longer than a layer.

    edges: pairs of boxes, without cycles.
    """
    xs, ys = by_library(edges) if library() is not None and edges else ({}, {})
    if not ys:
        ys = layer_ranks(count, edges)
        xs = layer_order(ys, edges)
    rows = {y: k for k, y in enumerate(sorted(set(ys.values())))} or {0: 0}
    layers = [[] for _ in rows]
    for box in range(count):  # those without any edge are in the first layer, behind
        layers[rows[ys[box]] if box in ys else 0].append((xs.get(box, float("inf")), box))
    for e, (a, b) in enumerate(edges):
        first, last = rows[ys[a]], rows[ys[b]]
        for k in range(first + 1, last) if last - first <= LONGEST else ():
            share = (k - first) / (last - first)
            layers[k].append((xs[a] + share * (xs[b] - xs[a]), -1 - e))
    return [[box for _, box in sorted(layer)] for layer in layers]


def by_library(edges):
    """({box: x}, {box: layer}) by the library, components beside each other."""
    xs, ys, right = {}, {}, 0.0
    for positions, *_ in library().from_edges(edges, dummy_vertices=False, check_layout=False):
        top, left = max(y for _, (_, y) in positions), min(x for _, (x, _) in positions)
        widest = 0.0
        for box, (x, y) in positions:
            xs[box], ys[box] = right + x - left, round(top - y)
            widest = max(widest, x - left)
        right += widest + 1.0
    return xs, ys


def layer_ranks(count, edges):
    """{box: layer}: below all that it reads; what reads nothing stands right above what reads it first."""
    readers, reads = collections.defaultdict(list), collections.defaultdict(list)
    for a, b in edges:
        readers[a].append(b)
        reads[b].append(a)
    found, waiting = {}, {b: len(reads[b]) for b in range(count)}
    ready = [b for b in range(count) if not waiting[b]]
    for box in ready:  # which grows
        found[box] = 1 + max((found[a] for a in reads[box]), default=-1)
        for b in readers[box]:
            waiting[b] -= 1
            if not waiting[b]:
                ready.append(b)
    return {
        box: min(found[b] for b in readers[box]) - 1 if not reads[box] and readers[box] else row
        for box, row in found.items()
    }


def layer_order(rows, edges):
    """{box: x} in which few edges cross: each layer in the order of the means of what its boxes are joined to, from the
    top and from the bottom in turn."""
    layers, joined = (
        collections.defaultdict(list),
        {+1: collections.defaultdict(list), -1: collections.defaultdict(list)},
    )
    for box, row in rows.items():
        layers[row].append(box)
    for a, b in edges:
        joined[+1][b].append(a)
        joined[-1][a].append(b)
    xs = {box: (k + 0.5) / len(layer) for layer in layers.values() for k, box in enumerate(layer)}
    for sweep in range(SWEEPS):
        way = -1 if sweep % 2 else +1
        for row in sorted(layers, reverse=way < 0):
            layer = layers[row]
            mean = {
                box: sum(xs[x] for x in joined[way][box]) / len(joined[way][box]) if joined[way][box] else xs[box]
                for box in layer
            }
            layer.sort(key=mean.__getitem__)
            xs.update((box, (k + 0.5) / len(layer)) for k, box in enumerate(layer))
    return xs
