"""`jit(precision=)`: in which precision products and convolutions are lowered, forward and backward, and what that is part of."""

import re
import types

import jax
import numpy as np
import pytest

from wengert import grad, jacfwd, jit, linearize, load, value_and_grad, vjp, vmap
from wengert.backends.xla.outlined import jitted_piece

NAMES = "highest", "high", "default"
FOUND = re.compile(r"precision = \[(\w+), (\w+)\]|#stablehlo<precision (\w+)>")


@pytest.fixture
def x(rng):
    return rng.normal(size=(8, 8)).astype(np.float32)


def lowered(f, *args):
    """The precisions that are in the text handed to XLA."""
    return {name for found in FOUND.findall(f.text("stablehlo", *args)) for name in found if name}


PRODUCTS = {
    "matmul": lambda x: (x @ x).sum(),
    "dot": lambda x: np.dot(x, x[0]).sum(),
    "einsum": lambda x: np.einsum("ij,kj,k->i", x, x, x[0]).sum(),
    "tensordot": lambda x: np.tensordot(x, x, 2) + 0.0,
    "convolve": lambda x: np.convolve(x[0], x[1, :3]).sum(),
    "in a loop": lambda x: sum_of_powers(x),
    "in a branch": lambda x: x @ x[0] if x[0, 0] > 0 else x[1] @ x,
}


def sum_of_powers(x):
    y = x
    for _ in range(20):
        y = np.tanh(y @ x)
    return y.sum()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("program", PRODUCTS)
def test_products_are_lowered_in_it(program, name, x):
    f = jit(PRODUCTS[program], precision=name, engine="xla", native=False, exact=False)
    assert lowered(f, x) == {name.upper()}
    np.testing.assert_allclose(f(x), PRODUCTS[program](x), rtol=2e-4, atol=1e-4)  # a CPU has all digits whatever is asked


@pytest.mark.parametrize("program", ["matmul", "einsum", "convolve", "in a loop"])
def test_derivatives_are_of_it_too(program, x):
    f = PRODUCTS[program]
    for slope in (jit(grad(f), precision="high", native=False, exact=False), jit(grad(jit(f, precision="high", exact=False)), native=False)):
        assert lowered(slope, x) == {"HIGH"}


def test_what_is_made_of_a_function_has_its_precision(x):
    f = jit(lambda x: x @ x, precision="default", exact=False)
    made = [
        grad(lambda x: 1.0),
        value_and_grad(lambda x: 1.0),
        jit(f, exact=False),
        vmap(f),
        jacfwd(f),
        grad(f),
        vjp(f, x)[1].half.compiled,
        linearize(f, x)[1].half.compiled,
    ]
    assert [g.compiled.precision for g in made] == ["highest"] * 2 + ["default"] * 6
    assert jit(f, precision="high", exact=False).compiled.precision == "high"
    assert jit(f, exact=True).compiled.precision == "highest"


def exported_text(f, x, folder):
    f.export(x, path=folder / "f.wgt")
    return load(folder / "f.wgt").text("stablehlo")


def test_programs_within_jax_and_in_files_have_it(x, tmp_path):
    f = jit(lambda x: (x @ x).sum(), precision="high")
    inside = jax.jit(lambda x: f(x)).lower(x).as_text(), jax.jit(jax.grad(lambda x: f(x))).lower(x).as_text()
    for text in (*inside, exported_text(f, x, tmp_path)):
        assert {name for found in FOUND.findall(text) for name in found if name} == {"HIGH"}


def test_within_a_program_the_outermost_decides(x):
    inner = jit(lambda x: x @ x, precision="default", exact=False)
    assert lowered(jit(lambda x: inner(x) + 1, exact=False), x) == {"HIGHEST"}
    assert lowered(jit(lambda x: inner(x) + 1, precision="high", exact=False), x) == {"HIGH"}


def test_functions_made_alike_are_told_apart(x):
    f = lambda x: x @ x
    made = [jit(f, precision=name, exact=False) for name in (*NAMES, None)]
    assert [lowered(g, x) for g in made] == [{"HIGHEST"}, {"HIGH"}, {"DEFAULT"}, {"HIGHEST"}]
    assert made[0].compiled is made[3].compiled and len({id(g.compiled) for g in made}) == 3


def test_programs_on_disk_are_told_apart(x, tmp_path):
    f = lambda x: x @ x
    for name, kept in ((None, "kept in"), ("highest", "read from"), ("high", "kept in"), ("high", "read from")):
        g = jit(f, precision=name, cache=tmp_path, exact=False)
        g(x)
        assert kept in g.explain()


@pytest.mark.parametrize("name", NAMES)
def test_pieces_of_a_program_are_of_it(name, x):
    piece = types.SimpleNamespace(func=jit(lambda x: x @ x, exact=False).ir(x), marks=(set(), set()))
    text = jitted_piece(piece, {"precision": name}).lower(jax.ShapeDtypeStruct(x.shape, x.dtype)).as_text()
    assert f"precision = [{name.upper()}, {name.upper()}]" in text


def test_the_plan_and_explain_say_it(x):
    f = jit(lambda x: x @ x, precision="default", exact=False)
    f(x)
    assert "precision='default'" in f.explain() and "precision='default'" in str(f.plan(x))
    assert f.plan(x).json()["traces"][0]["precision"] == "default"
    plain = jit(lambda x: x @ x + 1, exact=False)
    plain(x)
    assert "precision=" not in plain.explain() + str(plain.plan(x))


def test_less_than_all_digits_is_not_exact():
    with pytest.raises(ValueError, match=r"exact=True rounds each step as NumPy does, and precision='high'"):
        jit(np.sin, exact=True, precision="high")
    with pytest.raises(ValueError, match=r"precision='highest', 'high' or 'default', not 'tf32'"):
        jit(np.sin, precision="tf32", exact=False)
    assert jit(np.sin, exact=True, precision="highest").compiled.exact
