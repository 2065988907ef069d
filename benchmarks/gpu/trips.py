"""How often loops run whose trips XLA does not know: counted in one run of the program's meaning, in NumPy, by line."""

import collections
from unittest import mock

from wengert.ir.ops import control
from wengert.ir.walk import every_equation


def average_trips(func, operands):
    """{(file, line): trips in one run of the loops of that line, on average over all of their runs}"""
    runs, plain = collections.Counter(), control.evaluate

    def counting(region, operands):
        runs[region] += 1
        return plain(region, operands)

    with mock.patch.object(control, "evaluate", counting):
        counting(func, operands)
    trips, begun = collections.Counter(), collections.Counter()
    for region in [func, *(r for eqn in every_equation(func) for r in eqn.regions())]:
        for eqn in region.eqns:
            if eqn.op is control.loop and eqn.source is not None:
                trips[eqn.source.file, eqn.source.line] += runs[eqn.attrs["body"]]
                begun[eqn.source.file, eqn.source.line] += runs[region]
    return {place: trips[place] / begun[place] for place in trips if begun[place]}
