"""Ops that run functions: choice, iteration, independent iterations, outlined calls, and Python itself.

A region is a closed `Func` held in an attribute. Everything it reads is an operand of its op, so a
transform treats a region as it treats any function.
"""

import inspect

import numpy as np

from ..core import Builder, Lit
from ..op import BOOL, INTEGER, case, op, require
from ..types import IRTypeError, Tensor, parse_type, type_of
from .elementwise import add, cast, lt, mul, sub
from .reduction import reduce_sum
from .transcendental import tanh

COUNTER = Tensor((), np.dtype("i8"))  # the type of loop counters and trip counts
TRUTH = Tensor((), np.dtype("?"))


def region(function, types, name=None, hints=None):
    """`function`, written with ops, as a Func on parameters of `types`; its equations take the source of the one being
    derived."""
    build = Builder(name or function.__name__)
    outer = Builder.building()
    build.source = outer.source if outer is not None else None
    with build:
        out = function(*[build.param(t, h) for t, h in zip(types, hints or [None] * len(types), strict=True)])
    return build.finish(out if isinstance(out, tuple) else (out,))


def evaluate(func, operands):
    """The results of `func` on arrays, by the bodies of its ops."""
    env = dict(zip(func.params, operands, strict=True))

    def read(x):
        return np.full(x.type.shape, x.value, x.type.dtype) if isinstance(x, Lit) else env[x]

    for eqn in func.eqns:
        out = eqn.op.body(*map(read, eqn.operands), **eqn.attrs)
        env.update(zip(eqn.results, out if eqn.op.multiple else (out,), strict=True))
    return tuple(read(r) for r in func.results)


def _spelled(types):
    return f"({', '.join(map(repr, types))})"


def _takes(op, what, func, types):
    types = tuple(types)
    if func.param_types != types:
        require(False, op, f"{what} takes {_spelled(func.param_types)}, but is run on {_spelled(types)}")


def _gives(op, what, func, types):
    types = tuple(types)
    if func.result_types != types:
        require(False, op, f"{what} gives {_spelled(func.result_types)} where {_spelled(types)} is needed")


# -- samples: small regions for the generated tests ------------------------------------------------


def _sample(function, *spelled):
    return region(
        function,
        [parse_type(t) for t in spelled],
        function.__name__.strip("_"),
        list(inspect.signature(function).parameters),
    )


def _quiet(x, y):
    return tanh(mul(x, y)), x


def _loud(x, y):
    return add(mul(x, 3.0), y), mul(y, y)


def _count_down(x, y):
    return y, sub(x, y)


def _decay(i, rate, x, total):
    x = tanh(add(mul(x, rate), cast(i, dtype=x.type.dtype)))
    return x, add(total, mul(x, rate))


def _below(i, rate, x, total):
    return lt(total, 4.0)


def _short(i, rate, x, total):
    return lt(i, 2)


def _pairing(row, w, x):
    return mul(reduce_sum(mul(row, w), axes=(0,)), x), tanh(row)


def _wave(x, y):
    return mul(tanh(x), y), x


_PAIR = "f64[3]", "f64[3]"
_STEP = "i64[]", "f64[]", "f64[]", "f64[]"
_quiet, _loud, _count_down, _wave = (_sample(f, *_PAIR) for f in (_quiet, _loud, _count_down, _wave))
_decay, _below, _short = (_sample(f, *_STEP) for f in (_decay, _below, _short))
_pairing = _sample(_pairing, "f64[4]", "f64[4]", "f64[]")


# -- the ops ---------------------------------------------------------------------------------------


def _cond_rule(op, index, *operands, branches):
    require(
        not index.shape and index.kind in BOOL + INTEGER,
        op,
        f"the index is {index}; a choice needs a bool[] or an integer scalar",
    )
    require(branches, op, "there is no branch to run")
    require(index.kind != "b" or len(branches) == 2, op, f"a bool[] chooses between two branches, not {len(branches)}")
    for k, branch in enumerate(branches):
        _takes(op, f"branch {k}", branch, operands)
        _gives(op, f"branch {k}", branch, branches[0].result_types)
    return branches[0].result_types


@op(_cond_rule, multiple=True, traits=["region"], cases=[
    case("bool[]", *_PAIR, branches=(_quiet, _loud)),
    case(lambda rng: np.asarray(rng.integers(-1, 4)), *_PAIR, branches=(_quiet, _loud, _count_down)),
    case(np.int32(7), *_PAIR, branches=(_quiet, _loud)),
])  # fmt: skip
def cond(index, *operands, branches):
    """The results of one branch on the operands; only that branch runs.

    index: bool[] chooses branches[0] where False and branches[1] where True; an integer scalar
    chooses by position, clamped to those there are.  [StableHLO if, case]
    """
    return evaluate(branches[min(max(int(index), 0), len(branches) - 1)], operands)


def groups(operands, *, test, trips, carried, **_):
    """The operands of a loop as (limit, invariants, carried); limit is empty unless the trip count is an operand."""
    first, last = int(trips is None and test is None), len(operands) - carried
    return operands[:first], operands[first:last], operands[last:]


def runs_once(attrs):
    """Whether a loop makes one trip, whatever the data are."""
    return attrs["trips"] == 1 and attrs["test"] is None


def _loop_rule(op, *operands, body, carried, test, trips, bound):
    limit, invariants, state = groups(operands, test=test, trips=trips, carried=carried)
    require(
        0 <= carried <= len(operands) - len(limit), op, f"{carried} carried values among operands {_spelled(operands)}"
    )
    counted = all(t is COUNTER for t in limit)
    require(
        counted,
        op,
        f"the trip count is {_spelled(limit)}, not i64[]; without `trips` or `test` it is the first operand",
    )
    require(trips is None or trips >= 0, op, f"trips={trips} is negative")
    require(bound is None or bound >= 1, op, f"bound={bound}: a loop that may run needs room for one trip")
    _takes(op, "the body (counter, invariants, carried)", body, (COUNTER, *invariants, *state))
    _gives(op, "the body", body, state)
    if test is not None:
        _takes(op, "the test (counter, invariants, carried)", test, (COUNTER, *invariants, *state))
        _gives(op, "the test", test, (TRUTH,))
    return state


@op(_loop_rule, multiple=True, traits=["region"], cases=[
    case("f64[]", "f64[]", "f64[]", body=_decay, carried=2, trips=4),
    case("f64[]", "f64[]", "f64[]", body=_decay, carried=2, trips=0),
    case(lambda rng: np.asarray(rng.integers(1, 6)), "f64[]", "f64[]", "f64[]", body=_decay, carried=2, bound=8),
    case("f64[]", "f64[]", "f64[]", body=_decay, test=_short, carried=2, bound=5),
    case("f64[]", "f64[]", "f64[]", body=_decay, test=_below, carried=2, trips=5),
])  # fmt: skip
def loop(*operands, body, carried, test=None, trips=None, bound=None):
    """Carried values replaced by `body` again and again; the results are their last ones.

        i = 0
        while i < n and test(i, *invariants, *carried):
            carried = body(i, *invariants, *carried)
            i = i + 1

    Operands: the limit n, when it is data; then the invariants; then the `carried` values, that many
    at the end. i is i64[]. n is `trips` when that is given; the first operand (i64[]) when neither
    `trips` nor `test` is; else there is no limit. Without a test only the limit counts.
    bound: what is known where `trips` is None: there are never more trips, so that reverse mode may keep
    something for each.  [StableHLO while]
    """
    limit, invariants, state = groups(operands, test=test, trips=trips, carried=carried)
    n = limit[0] if limit else np.inf if trips is None else trips
    i = np.int64(0)
    while i < n and (test is None or evaluate(test, (i, *invariants, *state))[0]):
        state = evaluate(body, (i, *invariants, *state))
        i += 1
    return tuple(state)


def _map_rule(op, *operands, body, mapped, size):
    require(len(mapped) == len(operands), op, f"{len(mapped)} flags for {len(operands)} operands")
    for t, flag in zip(operands, mapped, strict=True):
        require(not flag or t.shape[:1] == (size,), op, f"{t} has no leading axis of {size} to be mapped over")
    _takes(op, "the body", body, (t.like(t.shape[1:]) if flag else t for t, flag in zip(operands, mapped, strict=True)))
    return tuple(t.like((size, *t.shape)) for t in body.result_types)


@op(_map_rule, multiple=True, traits=["region"], cases=[
    case("f64[3,4]", "f64[4]", "f64[3]", body=_pairing, mapped=(True, False, True), size=3),
    case("f64[4]", "f64[5,4]", "f64[]", body=_pairing, mapped=(False, True, False), size=5),
    case("f64[4]", "f64[0,4]", "f64[]", body=_pairing, mapped=(False, True, False), size=0),
])  # fmt: skip
def map_(*operands, body, mapped, size):
    """`size` independent runs of `body`, their results stacked along a new leading axis.

    Operands flagged in `mapped` are sliced along their leading axis, the others go whole to every run.
    """
    runs = [
        evaluate(body, [x[k] if flag else x for x, flag in zip(operands, mapped, strict=True)]) for k in range(size)
    ]
    stacked = zip(*runs, strict=True) if size else [()] * len(body.results)
    return tuple(
        np.array(column, t.dtype).reshape((size, *t.shape))
        for column, t in zip(stacked, body.result_types, strict=True)
    )


def _call_rule(op, *operands, body, name, inline, rule):
    _takes(op, name, body, operands)
    return body.result_types


@op(_call_rule, multiple=True, traits=["region"], cases=[
    case(*_PAIR, body=_wave, name="wave", inline=True),
    case(*_PAIR, body=_wave, name="wave"),
])  # fmt: skip
def call(*operands, body, name, inline=False, rule=None):
    """The results of `body`, a function kept apart: under its own name, compiled once, or with a derivative `rule` of
    its own."""
    return evaluate(body, operands)


def _host_rule(op, *operands, function, results, ordered):
    require(all(isinstance(t, Tensor) for t in results), op, f"results are types, such as f64[3], not {results}")
    return results


@op(_host_rule, multiple=True, effect="ordered", traits=["region"], cases=[
    case("i64[4]", np.array([2, 3, 5, 7]), function=np.divmod, results=(parse_type("i64[4]"),) * 2),
    case("i64[4]", np.array([2, 3, 5, 7]), function=np.divmod, results=(parse_type("i64[4]"),) * 2, ordered=False),
])  # fmt: skip
def host(*operands, function, results, ordered=True):
    """Python at run time: `function(*arrays)` gives a tuple of arrays of the types `results`.

    ordered: it has an effect, so it runs exactly once, and in order with the others; else it may run
    any number of times.
    """
    out = function(*map(np.asarray, operands))
    out = tuple(map(np.asarray, out if isinstance(out, tuple | list) else () if out is None else (out,)))
    found = tuple(map(type_of, out))
    if found != tuple(results):
        name = getattr(function, "__name__", type(function).__name__)
        raise IRTypeError(f"host: {name} gave {_spelled(found)} where {_spelled(results)} was declared")
    return out
