"""Ops that compute nothing themselves: they say what derivatives, and the compiler's reordering, may not pass."""

from ..op import ANY, Cost, case, elementwise, op
from .control import _PAIR, _takes, _wave, evaluate


@op(
    elementwise(ANY),
    traits=["exact"],
    cost=Cost.MOVE,
    cases=[case("f32[3,4]"), case("i64[5]"), case("bool[2]"), case("c64[]")],
)
def stop_gradient(x):
    """x itself, taken as a constant by derivatives.

    x: any type. Finite differences do not stop, so the generated tests have no case they could check.
    """
    return x


def _apart_rule(op, *operands, body):
    _takes(op, "the body", body, operands)
    return body.result_types


@op(_apart_rule, multiple=True, traits=["region"], cases=[case(*_PAIR, body=_wave)])
def apart(*operands, body):
    """The results of `body`, which begins when all its operands are there, and shares no work with what is around
    it."""
    return evaluate(body, operands)
