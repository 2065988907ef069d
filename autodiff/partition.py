"""Split a program at what is known early: the forward half of a vjp, and the residuals its backward half reads."""

from ..ir.core import Builder, Value


def split(func, unknown, early):
    """-> (known, rest): `known(early params) -> (the first `early` results, *residuals)`, `rest(unknown params, *residuals) -> the other results`.

    unknown: indices of the parameters that come late. The first `early` results must not depend on them.
    """
    late = {func.params[i] for i in unknown}
    for eqn in func.eqns:
        if any(x in late for x in eqn.operands):
            late.update(eqn.results)
    reads = [x for e in func.eqns if any(r in late for r in e.results) for x in e.operands] + list(func.results[early:])
    residuals = list(dict.fromkeys(x for x in reads if isinstance(x, Value) and x not in late))

    known, env = Builder(func.name), {}
    with known:
        for i, p in enumerate(func.params):
            if i not in unknown:
                env[p] = known.param(p.type, p.hint)
        for eqn in func.eqns:
            if not any(r in late for r in eqn.results):
                known.replay(eqn, env)
    first = known.finish([env.get(x, x) for x in (*func.results[:early], *residuals)])

    rest, env = Builder(f"pullback_{func.name}"), {}
    with rest:
        for i in unknown:
            env[func.params[i]] = rest.param(func.params[i].type, func.params[i].hint)
        for r in residuals:
            env[r] = rest.param(r.type, r.hint)
        for eqn in func.eqns:
            if any(r in late for r in eqn.results):
                rest.replay(eqn, env)
    return first, rest.finish([env.get(r, r) for r in func.results[early:]])
