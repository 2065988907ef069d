"""How often loops run whose trips XLA does not know: counted in one run of the program's meaning, in NumPy, by line."""

import collections
from unittest import mock

from wengert.ir.ops import control


def average_trips(func, operands):
    """{(file, line, depth): trips in one run of the loops of that line that have so many loops around them, on average
    over all of their runs}"""
    runs, plain = collections.Counter(), control.evaluate

    def counting(region, operands):
        runs[region] += 1
        return plain(region, operands)

    with mock.patch.object(control, "evaluate", counting):
        counting(func, operands)
    trips, begun = collections.Counter(), collections.Counter()
    for eqn, region, depth in loops_in(func, 0):
        if eqn.source is not None:
            trips[eqn.source.file, eqn.source.line, depth] += runs[eqn.attrs["body"]]
            begun[eqn.source.file, eqn.source.line, depth] += runs[region]
    return {place: trips[place] / begun[place] for place in trips if begun[place]}


def loops_in(region, depth):
    """(loop equation, the function it stands in, how many loops are around it)"""
    for eqn in region.eqns:
        is_loop = eqn.op is control.loop
        if is_loop:
            yield eqn, region, depth
        for inner in eqn.regions():
            yield from loops_in(inner, depth + is_loop)
