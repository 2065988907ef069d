"""The order in which a region's equations are emitted: a store comes after all that reads what it overwrites, where
that can be.

Elements are computed where they are used, so what reads memory are the ends of chains of them: stores, scalars,
reductions.
"""

from ...ir.core import Value


def scheduled(func, cell_of, ends, in_order=False):
    """The equations, producers first. cell_of: {value: its cell} of arrays in memory; ends(eqn): whether it computes
    when it is met; in_order: what stores nothing keeps its order, so that a check comes before what it is of."""
    place = {eqn: n for n, eqn in enumerate(func.eqns)}
    makers = {eqn: {x.eqn for x in eqn.operands if isinstance(x, Value) and x.eqn is not None} for eqn in func.eqns}
    reads = reading(func, cell_of, ends)
    waiting = [eqn for eqn in func.eqns if ends(eqn)]  # what has yet to read
    left, done, out = dict.fromkeys(func.eqns), set(), []

    def emit(eqn):
        del left[eqn]
        done.add(eqn)
        out.append(eqn)
        if ends(eqn):
            waiting.remove(eqn)

    def written(eqn):
        return {cell_of[r] for r in eqn.results if r in cell_of}

    def disturbed(eqn):
        """How many that are yet to come read what a store overwrites."""
        cells = written(eqn)
        return sum(not cells.isdisjoint(reads[other]) for other in waiting if other is not eqn)

    while left:
        ready = [eqn for eqn in left if makers[eqn] <= done]
        quiet = [eqn for eqn in ready if not written(eqn)]
        if quiet and in_order:
            for eqn in [*left]:
                if makers[eqn] <= done and not written(eqn):
                    emit(eqn)
        elif quiet:
            for eqn in quiet:
                emit(eqn)
        else:
            emit(min(ready, key=lambda eqn: (disturbed(eqn), place[eqn])))
    return out


def reading(func, cell_of, ends):
    """{eqn: the cells that are read when it is computed}"""
    found = {}
    for eqn in func.eqns:
        cells = set()
        for x in eqn.operands:
            if x in cell_of:
                cells.add(cell_of[x])
            elif isinstance(x, Value) and x.eqn is not None and not ends(x.eqn):
                cells |= found[x.eqn]
        found[eqn] = cells
    return found
