"""What values of a trace are for the arguments of its call: the equations that lead to them, run while it is traced.

NumPy runs them. Where an argument is spread over several processes, they run on the devices that hold it, and what is
asked for alone is read: every process comes here with the same trace, and gets the same numbers.
"""

import numpy as np

from ...backends.numpy import once_callable
from ...backends.xla import dispatch
from ...backends.xla.processes import host_array, is_spread
from ...ir.core import Func, Lit
from ..common.errors import UnsupportedError, message
from ..common.frames import locate


def take_in(made, trace):
    """Note what all is in this call that a program takes in."""
    if made.seen is None:
        if any(dispatch.is_tracer_type(type(x)) for x in made.leaves):
            text = "a Python decision on data, which has no value yet while jax traces"
            hint = "Write np.where(test, a, b); what decides sizes and types is static there (static_argnums)."
            raise UnsupportedError(message(text, locate(), hint))
        made.seen = dict(zip(trace.build.params, map(host_or_spread, made.leaves)))
    for versions in trace.captures.values():
        made.seen |= {c.value: host_or_spread(c.contents) for c in versions}
    made.seen |= {value: np.asarray(read.value, value.type.dtype) for read, value in trace.outside.inputs}
    made.seen |= trace.outside.draws.drawn


def host_or_spread(x):
    """An array as an ndarray; one that is spread over several processes as it is."""
    return x if is_spread(x) else np.asarray(x)


def leading_to(values, known, trace, refuse):
    """The equations of a trace that compute values from known ones; refuse(equation) raises where one acts, or there is
    none."""
    needed, todo = set(), [*values]
    while todo:
        x = todo.pop()
        if isinstance(x, Lit) or x in known or x.eqn in needed:
            continue
        if x.eqn is None or x.eqn.effect:
            refuse(x.eqn)
        needed.add(x.eqn)
        todo += x.eqn.operands
    return [e for e in trace.build.eqns if e in needed]


def run_so_far(made, trace, eqns, wanted):
    """Run equations on what is known, and note what comes of it: of all of them; of the `wanted` values alone where
    operands are spread."""
    params = list({x: None for e in eqns for x in e.operands if x in made.seen})
    operands = [made.seen[p] for p in params]
    wanted = [x for x in dict.fromkeys(wanted) if not isinstance(x, Lit) and x not in made.seen]
    if any(map(is_spread, operands)):
        results = on_devices(Func("so_far", params, eqns, wanted), operands) if wanted else ()
        made.seen |= dict(zip(wanted, results, strict=True))
    else:
        new = [r for e in eqns for r in e.results]
        with np.errstate(all="ignore"), trace.outside.stray.unseen():
            results = once_callable(Func("so_far", params, eqns, new))(*operands)
        made.seen |= {v: np.asarray(x, v.type.dtype) for v, x in zip(new, results, strict=True)}


def host_value(made, x):
    """What is known of a value, as an ndarray."""
    return np.full(x.type.shape, x.value, x.type.dtype) if isinstance(x, Lit) else host_array(made.seen[x])


def on_devices(func, operands):
    """The results of a program by XLA, as ndarrays."""
    run = dispatch.program(lambda types: (func, range(len(func.params))), func.name)
    with dispatch.wide():
        out = run(*operands)
    out = out if isinstance(out, tuple) else (out,)
    return [host_array(x, r.type.dtype) for x, r in zip(out, func.results, strict=True)]
