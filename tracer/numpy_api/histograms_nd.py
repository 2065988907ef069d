"""Counting in boxes: np.histogramdd and np.histogram2d."""

import operator

import numpy as np

from ..common.emit import INDEX, cast_to, reshape_to
from ..common.errors import ShapeError, message, with_note
from ..common.frames import locate
from ..values.array import TracedScalar, fresh
from .arguments import index_of
from .handles import dtype_of, handle, is_traced, value_of
from .histograms import counts, must, outer_edges
from .registry import implements


@implements(np.histogramdd)
def histogramdd(sample, bins=10, range=None, density=None, weights=None):
    columns = columns_of(sample)
    d = len(columns)
    if np.iterable(bins) and len(bins) != d:
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    bins = bins if np.iterable(bins) else [bins] * d
    if range is None:
        range = (None,) * d
    elif len(range) != d:
        raise ValueError("range argument must have one entry per dimension")
    edges = [edges_of(x, b, r, i) for i, (x, b, r) in enumerate(zip(columns, bins, range))]
    shape = [len(e) + 1 for e in edges]  # the outermost boxes hold what lies outside
    places = [np.searchsorted(e, x, side="right") - (x == e[-1]) for e, x in zip(edges, columns)]
    place = value_of(np.ravel_multi_index(places, shape), INDEX)
    weights = weights if place.type.size else None  # nobody looks at them then
    if weights is not None and not np.can_cast(dtype_of(weights), float, "safe"):
        raise with_note(
            TypeError,
            message(
                f"Cannot cast array data from {dtype_of(weights)!r} to dtype('float64') according to the rule 'safe'",
                locate(),
            )
        )
    weights = None if weights is None else value_of(weights, float)
    if weights is not None and weights.type.shape != place.type.shape:
        raise ValueError("The weights and list don't have the same length.")
    found = cast_to(counts(place, int(np.prod(shape)), weights), np.dtype(float))
    found = fresh(reshape_to(found, shape))[(slice(1, -1),) * d].copy()
    if density:
        total = np.sum(found)
        for i, e in enumerate(edges):
            found = found / np.diff(e).reshape([-1 if k == i else 1 for k in np.arange(d)])
        found = found / total
    return found, edges


def columns_of(sample):
    """The coordinates of [N, D] points, or of D lists of N."""
    if hasattr(sample, "shape") and len(sample.shape) == 2:
        return [handle(sample)[:, i] for i in np.arange(sample.shape[1])]
    rows = [handle(x) for x in sample] if isinstance(sample, list | tuple) else [handle(sample)]
    return [x.ravel() for x in rows]


def edges_of(x, bins, range, i):
    """The edges along one coordinate: given, or evenly spaced over a range or over the data's own."""
    bins = operator.index(bins) if isinstance(bins, TracedScalar) and bins.weak is int else bins
    if np.ndim(bins) == 1:
        edges = handle(bins) if is_traced(bins) else np.asarray(bins)
        must(edges[:-1] <= edges[1:], ValueError, f"`bins[{i}]` must be monotonically increasing, when an array")
        return edges
    if np.ndim(bins) != 0:
        raise ValueError(f"`bins[{i}]` must be a scalar or 1d array")
    if bins < 1:
        raise ValueError(f"`bins[{i}]` must be positive, when an integer")
    n = index_of(bins, f"`bins[{i}]` must be an integer, when a scalar")
    return np.linspace(*outer_edges(x, range), n + 1)


@implements(np.histogram2d)
def histogram2d(x, y, bins=10, range=None, density=None, weights=None):
    x, y = handle(x), handle(y)
    if x.ndim != 1 or y.ndim != 1:
        raise with_note(
            ValueError, message("histogram2d counts points of a plane: x and y must have one axis", locate())
        )
    x, y = (v.astype(np.result_type(x.dtype, y.dtype)) for v in (x, y))
    if len(x) != len(y):
        raise ShapeError(message(f"x and y must have the same length, not {len(x)} and {len(y)}.", locate()))
    if np.iterable(bins) and len(bins) not in (1, 2):
        bins = [bins, bins]
    found, edges = histogramdd([x, y], bins, range, density, weights)
    return found, edges[0], edges[1]
