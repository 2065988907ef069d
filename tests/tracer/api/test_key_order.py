"""Dicts that transforms give have the order of those that they belong to: arguments', results'."""

from collections import OrderedDict, defaultdict

import numpy as np
import pytest

from wengert import custom_vjp, grad, hessian, hvp, jacfwd, jacrev, jit, jvp, linearize, stop_gradient, value_and_grad, vjp, vmap

P = {"w": 2.0, "b": 1.0}
NESTED = {"z": [{"y": np.ones(2), "x": 3.0}], "a": ({"q": 2.0, "c": np.ones(2)}, 1.0)}
NAMED = OrderedDict(v={"w": 2.0, "b": 1.0}, a=1.0)
DEFAULT = defaultdict(float, {"w": 2.0, "b": 1.0})


def loss(p):
    return sum((leaf * leaf).sum() if hasattr(leaf, "sum") else leaf * leaf for leaf in leaves(p))


def leaves(p):
    parts = p.values() if isinstance(p, dict) else p if isinstance(p, list | tuple) else None
    return [p] if parts is None else [x for part in parts for x in leaves(part)]


def out(p):
    return {"s": p["w"] * p["b"], "r": p["w"] + p["b"]}


def keys(x):
    """The orders of the keys of all dicts in x."""
    if isinstance(x, dict):
        return [(k, keys(v)) for k, v in x.items()]
    return [*map(keys, x)] if isinstance(x, list | tuple) else None


@pytest.mark.parametrize("p", [P, NESTED, NAMED, DEFAULT], ids=["flat", "nested", "ordered", "default"])
@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: jit(f, engine="numpy")], ids=["bare", "jit"])
def test_gradients(p, wrap):
    made = {
        "grad": wrap(grad(loss)),
        "value_and_grad": wrap(lambda p: value_and_grad(loss)(p)[1]),
        "jacrev": wrap(jacrev(loss)),
        "jacfwd": wrap(jacfwd(loss)),
        "vjp": wrap(lambda p: vjp(loss, p)[1](1.0)[0]),
        "hvp": wrap(lambda p: hvp(loss, (p,), (p,))[0]),
        "by name": wrap(lambda p: grad(lambda p, n: loss(p), argnums="p")(p=p, n=2)),
        "several": wrap(lambda p: grad(lambda n, p: loss(p) + n, argnums=(1, 0))(1.0, p)[0]),
        "aux": wrap(lambda p: grad(lambda p: (loss(p), p), has_aux=True)(p)[1]),
        "of a grad": wrap(lambda p: grad(lambda p: loss(grad(loss)(p)))(p)),
        "jvp": wrap(lambda p: jvp(grad(loss), (p,), (p,))[1]),
        "linearize": wrap(lambda p: linearize(grad(loss), p)[1](p)),
        "stopped": wrap(stop_gradient),
    }
    for name, f in made.items():
        for _ in range(2):
            found = f(p)
            assert keys(found) == keys(p), name
            assert type(found) is type(p)


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["bare", "jit"])
def test_values_stand_by_their_keys(wrap):
    again = {"b": 1.0, "w": 2.0}
    f, h, j = wrap(grad(lambda p: p["w"] ** 2 * p["b"])), wrap(hessian(lambda p: p["w"] ** 2 * p["b"])), wrap(jacrev(out))
    for p in (P, again, P):
        assert [*f(p).items()] == [(k, {"w": 4.0, "b": 4.0}[k]) for k in p]
        assert keys(h(p)) == [(k, keys(p)) for k in p]
        assert keys(j(p)) == [("s", keys(p)), ("r", keys(p))]
        assert j(p)["s"] == {"w": 1.0, "b": 2.0}
        assert keys(linearize(out, p)[1](p)) == keys(out(p)) == keys(jvp(out, (p,), (again,))[1])


def test_rules_of_the_user_and_lanes():
    rule = custom_vjp(loss)
    rule.defvjp(lambda p: (loss(p), p), lambda p, g: ({k: 2 * g * v for k, v in p.items()},))
    lanes = {"w": np.ones(3), "b": np.arange(3.0)}
    for _ in range(2):
        assert [*grad(rule)(P).items()] == [("w", 4.0), ("b", 2.0)]
        assert keys(vmap(grad(loss))(lanes)) == keys(lanes)
