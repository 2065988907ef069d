"""Ops that compute nothing: they say what derivatives, and what the compiler's reordering, may not pass."""

from ..op import ANY, case, elementwise, op, require


@op(elementwise(ANY), cases=[case("f32[3,4]"), case("i64[5]"), case("bool[2]"), case("c64[]")])
def stop_gradient(x):
    """x itself, taken as a constant by derivatives.

    x: any type. Finite differences do not stop, so the generated tests have no case they could check.
    """
    return x


def _barrier_rule(op, *operands):
    require(operands, op, "there is nothing to hold back")
    return operands


@op(_barrier_rule, multiple=True, cases=[case("f64[3,4]", "f64[]", "i64[2]"), case("f64[3]")])
def barrier(*operands):
    """The operands, each once all of them are there; what is computed from the results is not merged with
    what is computed from the operands, nor done before.  [StableHLO optimization_barrier]
    """
    return operands
