"""vmap(ragged=True) against a loop over the examples: lists of many shapes, containers, writes, draws, in jit and grad, errors."""

import numpy as np
import pytest
from compare import agree

from wengert import grad, jit, value_and_grad, vmap
from wengert.tracer.common import events

RNG = np.random.default_rng(0)
LENGTHS = (3, 5, 3, 1, 8, 5, 3, 0)
XS = [RNG.normal(size=n) for n in LENGTHS]
ROWS = [RNG.normal(size=(n, 4)) for n in LENGTHS]
W = RNG.normal(size=4)


def branches(x):
    total = 0.0
    for k in range(len(x)):
        if x[k] > 0:
            total = total + x[k] ** 2
        elif x[k] < -1:
            break
    return total


def scaled(x, scale):
    return (x * scale).sum() if len(x) > 2 else float(len(x))


def with_mask(pair):
    x, mask = pair
    return {"kept": x[mask], "n": int(mask.sum())}


def grows(x):
    x += 1
    return x


def last_two(x):
    return x[-2:], x, len(x)


def loop(f, xs, *more):
    return [f(x.copy(), *more) for x in xs]


@pytest.mark.parametrize("f", [np.sum, np.sort, branches, np.cumsum, lambda x: x * 2, lambda x: (x.sum(), {"all": x - 1.0}), lambda x: 3.0, last_two])
def test_results_are_those_of_a_loop_in_its_order(f):
    xs = [x.copy() for x in XS]
    agree(vmap(f, ragged=True)(xs), loop(f, XS), 1e-12)
    agree(jit(lambda xs: vmap(f, ragged=True)(xs))(xs), loop(f, XS), 1e-12)
    agree(xs, XS, 0)


def test_arguments_of_each_example_and_of_all():
    scales = RNG.normal(size=len(XS))
    want = [scaled(x, s) for x, s in zip(XS, scales)]
    agree(vmap(scaled, ragged=True)(XS, scales), want, 1e-12)
    agree(vmap(scaled, ragged=True)(tuple(XS), scale=scales), want, 1e-12)
    agree(vmap(scaled, in_axes=(0, None), ragged=True)(XS, 2.0), loop(scaled, XS, 2.0), 1e-12)
    agree(vmap(lambda x, p: x @ p["w"] * p["s"], in_axes=[0, {"w": None, "s": 0}], ragged=True)(ROWS, {"w": W, "s": scales}),
          [x @ W * s for x, s in zip(ROWS, scales)], 1e-12)  # fmt: skip
    agree(vmap(np.dot, in_axes=(0, 1), ragged=True)(ROWS, RNG.normal(size=(4, len(ROWS))) * 0 + 2), [x.sum(axis=1) * 2 for x in ROWS], 1e-12)
    masks = [x > 0 for x in XS]
    agree(vmap(with_mask, ragged=True)([*zip(XS, masks)]), [with_mask(pair) for pair in zip(XS, masks)], 0)
    assert vmap(np.sum, ragged=True)([]) == []


def test_derivatives_of_each_example():
    loss = lambda w, x: (np.tanh(x @ w) ** 2).sum()
    want = [grad(loss)(W, x) for x in ROWS]
    agree(vmap(grad(loss), in_axes=(None, 0), ragged=True)(W, ROWS), want, 1e-12)
    agree(jit(lambda w, rows: vmap(grad(loss), in_axes=(None, 0), ragged=True)(w, rows))(W, ROWS), want, 1e-12)
    total = value_and_grad(lambda w: sum(vmap(loss, in_axes=(None, 0), ragged=True)(w, ROWS)))(W)
    agree(total, (sum(loss(W, x) for x in ROWS), sum(want)), 1e-12)
    agree(grad(lambda rows: sum(vmap(loss, in_axes=(None, 0), ragged=True)(W, rows)))(ROWS), [grad(loss, argnums=1)(W, x) for x in ROWS], 1e-12)


def test_examples_are_written_one_after_the_other():
    xs, ys = [x.copy() for x in XS], [x.copy() for x in XS]
    found = jit(lambda xs: vmap(grows, ragged=True)(xs))(xs)
    agree((found, xs), ([grows(y) for y in ys], ys), 0)
    xs.append(xs[0])
    ys.append(ys[0])
    found = vmap(grows, ragged=True)(xs)
    agree((found, xs), ([grows(y) for y in ys], ys), 0)
    assert found[0] is found[-1] is xs[0]
    rows = np.arange(12.0).reshape(3, 4)
    vmap(grows, ragged=True)(rows)
    agree(rows, np.arange(12.0).reshape(3, 4) + 1, 0)


def test_what_examples_share_is_written_in_their_order():
    def adds(total, x):
        total[0] = total[0] * 0.5 + x.sum()
        return total[0]

    total, want = np.zeros(1), np.zeros(1)
    agree((vmap(adds, in_axes=(None, 0), ragged=True)(total, XS), total), ([adds(want, x) for x in XS], want), 1e-12)
    total, want = np.zeros(1), np.zeros(1)
    mapped = jit(lambda total, xs: vmap(adds, in_axes=(None, 0), ragged=True)(total, xs))
    agree((mapped(total, XS), total), ([adds(want, x) for x in XS], want), 1e-12)


def test_draws_are_those_of_a_loop():
    noisy = lambda x, rng: x + rng.normal(size=x.shape)
    mapped = jit(lambda xs, rng: vmap(noisy, in_axes=(0, None), ragged=True)(xs, rng))
    agree(mapped(XS, np.random.default_rng(3)), loop(noisy, XS, np.random.default_rng(3)), 1e-12)


def test_examples_of_one_shape_are_one_batch_in_a_trace():
    many = [RNG.normal(size=n) for n in (4, 6) * 20]
    mapped = jit(lambda xs: vmap(np.tanh, ragged=True)(xs))
    agree(mapped(many), [np.tanh(x) for x in many], 1e-12)
    assert sum(eqn.op.name == "tanh" for eqn in mapped.ir(many).eqns) == 2
    numbers = [RNG.normal() for _ in range(6)]
    agree(jit(lambda xs: vmap(lambda x: x * np.float32(2), ragged=True)(xs))(numbers), [x * np.float32(2) for x in numbers], 0)


def test_a_new_length_is_no_new_batch():
    """Programs are of examples: batches of other numbers of them, in another order, need none of their own."""
    f = lambda x: np.tanh(x).sum() * 1.25
    mapped, made = vmap(f, ragged=True), []
    mapped(XS)
    events.LISTENERS.append(made.append)
    try:
        agree(mapped([*XS[::-1], XS[2]]), [f(x) for x in [*XS[::-1], XS[2]]], 1e-12)
    finally:
        events.LISTENERS.pop()
    assert not [e for e in made if e.kind == "traced"]
    assert "call" in mapped.explain()


def test_a_list_without_the_word_is_a_container():
    a, b = RNG.normal(size=(3, 2)), RNG.normal(size=(3, 4))
    agree(vmap(lambda pair: pair[0].sum() + pair[1].sum())([a, b]), a.sum(1) + b.sum(1), 1e-12)
    with pytest.raises(ValueError, match="mapped axes must be of one size"):  # before f meets a list
        vmap(lambda x: x.mean(axis=0))([np.ones((2, 3)), np.ones((4, 3))])
    with pytest.raises(ValueError, match="mapped axes must be of one size") as raised:
        vmap(np.sum)([np.ones(3), np.ones(4)])
    assert "vmap(f, ragged=True)" in raised.value.__notes__[0]
    with pytest.raises(ValueError) as raised:
        vmap(np.add)(np.ones(3), np.ones(4))
    assert "ragged=True" not in "".join(getattr(raised.value, "__notes__", ()))


def test_errors_say_what_a_batch_is():
    with pytest.raises(ValueError, match="one number of examples; argument 0 has 8, argument 1 has 2"):
        vmap(scaled, ragged=True)(XS, np.ones(2))
    with pytest.raises(ValueError, match="no argument is mapped"):
        vmap(scaled, in_axes=None, ragged=True)(XS[0], 2.0)
    with pytest.raises(ValueError, match="argument 0 .* is a list, which has no axis 1"):
        vmap(np.sum, in_axes=1, ragged=True)(XS)
    with pytest.raises(ValueError, match=r"argument 1 .* has no axis 0 of examples, but shape \(\)"):
        vmap(scaled, ragged=True)(XS, 2.0)
    with pytest.raises(ValueError, match="in_axes=\\(0,\\) has an entry for 1 arguments, and 2 are given"):
        vmap(scaled, in_axes=(0,), ragged=True)(XS, 2.0)
    with pytest.raises(ValueError, match="does not match argument 0"):
        vmap(np.sum, in_axes=({"a": 0},), ragged=True)(XS)
    with pytest.raises(ValueError, match="out_axes=1"):
        vmap(np.sum, out_axes=1, ragged=True)
    with pytest.raises(IndexError):
        vmap(lambda x: x[2], ragged=True)(XS)


def test_a_compiled_function_keeps_its_options():
    single = jit(branches, exact=True)
    agree(vmap(single, ragged=True)(XS), loop(branches, XS), 0)
    assert all(f"f64[{n}]" in single.explain() for n in set(LENGTHS))


def test_texts_are_of_the_program_of_one_example():
    f = vmap(lambda x: (x * x).sum(), ragged=True)
    with pytest.raises(ValueError, match="has not been called yet"):
        f.text("ir")
    f(XS)
    assert "(%x: f64[" in f.text("ir") and "mul %x, %x" in f.text("ir")
    assert "n: x.shape[0]" in f.text("symbolic")
    assert f.text("ir", XS).splitlines()[0].count("f64[") > len(XS)  # of these arguments, in one program
