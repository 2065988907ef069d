"""Programs that say the same many times run in pieces, of which alike ones are one function, and give what they gave as a whole."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from compare import agree

from wengert import grad, jit, value_and_grad
from wengert.autodiff.split import sources
from wengert.backends.xla.division import exact_divisions
from wengert.backends.xla.lower import marks
from wengert.ir import outline
from wengert.ir.core import Func
from wengert.ir.ops.control import evaluate
from wengert.ir.text import parse
from wengert.ir.verify import verify
from wengert.tracer.call import shared
from wengert.tracer.program import outlined

DEPTH, WIDTH = 16, 5


@pytest.fixture
def short(monkeypatch, inexact_rules):
    """Short programs of little work are looked at, where they need not be exact."""
    monkeypatch.setattr(outline, "LEAST", 16)
    monkeypatch.setattr(outline, "FEWEST", 4)
    monkeypatch.setattr(outlined, "ENOUGH", 0)


def layer(x, w):
    h = np.tanh((x - x.mean()) @ w[0] + w[1])
    return x + h * np.exp(-h * h)


def network(x, weights):
    for w in weights:
        x = layer(x, w)
    return (x * x).sum()


def data(depth=DEPTH):
    rng = np.random.default_rng(depth)
    return rng.normal(size=(3, WIDTH)), [(rng.normal(size=(WIDTH, WIDTH)) / 3, rng.normal(size=WIDTH)) for _ in range(depth)]


def version(compiled):
    (entry,) = compiled.compiled.entries.values()
    return entry.current.versions[-1]


def check(f, *args, pieces=True):
    """A compiled function on arguments: as without pieces, and each piece is well formed; -> the text of explain()."""
    got = f(*args)
    v = version(f)
    assert (v.chain is not None) == pieces
    whole = v.func
    arrays = lambda xs: tuple(map(np.asarray, xs))
    agree(arrays(flat(got)), arrays(reference(v, args)[: len(flat(got))]), rtol=1e-9)
    for func in v.chain.counts if pieces else ():
        verify(func)
    assert whole is v.func
    return f.explain()


def flat(x):
    return jax.tree_util.tree_leaves(x)


def reference(v, args):
    """The results of a version by the NumPy meaning of its equations."""
    leaves = [np.asarray(x, p.type.dtype) for x, p in zip(flat(args), v.func.params, strict=True)]
    with np.errstate(all="ignore"):
        return evaluate(v.func, leaves)


def test_layers_are_compiled_once(short):
    for f in (jit(network), grad(network, argnums=1)):
        text = check(f, *data())
        counts = version(f).chain.counts
        compiled = sum(func.count() for func in counts)
        assert f"{len(counts)} functions of {compiled} equations" in text and compiled < version(f).func.count() / 2
        assert max(counts.values()) >= DEPTH // 2 - 1


def test_pieces_mean_what_the_program_means(short):
    """The NumPy meaning of the pieces, one after the other, is that of the program, to the last bit."""
    for argnums in (0, 1, (0, 1)):
        f = value_and_grad(network, argnums=argnums)
        args = data()
        f(*args)
        func = version(f).func
        env = dict(zip(func.params, flat(args), strict=True))
        for piece in outline.pieces(func, sources):
            env.update(zip(piece.results, evaluate(piece.func, [env[x] for x in piece.operands]), strict=True))
        for r, want in zip(func.results, reference(version(f), args), strict=True):
            np.testing.assert_array_equal(env[r], want)


def skipping(x, weights):
    """Layers that read what layers long before them left, and one that is another."""
    kept = []
    for n, w in enumerate(weights):
        x = layer(x, w) if n != 9 else np.sin(x)
        if n % 3 == 0 and kept:
            x = x + 0.1 * kept[-1]
        kept.append(x)
    return sum(k.sum() for k in kept[-3:]), kept[4], 2.0 * np.ones(2)


def sharing(x, weights):
    """Every layer has the same weights, and a second chain reads the first."""
    for _ in weights:
        x = layer(x, weights[0])
    y = x
    for w in weights:
        y = layer(y, w) * x
    return y.sum() + x.sum()


def stops(x, weights):
    """A check in each layer."""
    for w in weights:
        x = layer(x, w)
        if not np.isfinite(x).all():
            raise ValueError("too far")
    return x.sum()


def rows(x, weights):
    """A loop in each layer."""
    for w in weights:
        h = np.zeros(WIDTH)
        for row in x:
            h = np.tanh(h @ w[0] + row)
        x = x + np.sin(h) * w[1]
    return x.sum()


@pytest.mark.parametrize(("f", "depth"), [(skipping, 30), (sharing, 8), (rows, 8)])
def test_any_shape_of_program(short, f, depth):
    check(jit(f), *data(depth))


@pytest.mark.slow
@pytest.mark.parametrize(("f", "depth"), [(sharing, 8), (rows, 8), (lambda x, ws: skipping(x, ws)[0], 30)])
def test_gradients_of_any_shape_of_program(short, f, depth):
    check(grad(f, argnums=1), *data(depth))


def test_checks_still_raise(short):
    f = jit(stops)
    x, weights = data(24)
    np.testing.assert_allclose(f(x, weights), stops(x, weights))
    assert version(f).chain is not None
    weights[20][0][:] = np.inf
    with pytest.raises(ValueError, match="too far"), np.errstate(all="ignore"):
        f(x, weights)


def test_arguments_are_written_last(short):
    def update(x, weights):
        slopes = grad(network, argnums=1)(x, weights)
        for w, s in zip(weights, slopes):
            for a, b in zip(w, s):
                a -= 0.1 * b
        return weights[2][0]

    x, weights = data()
    plain = [(a - 0.1 * b, c - 0.1 * d) for (a, c), (b, d) in zip(weights, grad(network, argnums=1)(x, weights))]
    f = jit(update)
    out = f(x, weights)
    assert version(f).chain is not None and out is weights[2][0]
    agree(weights, plain, rtol=1e-9)


def test_arrays_of_jax(short):
    x, weights = data()
    with jax.enable_x64(True):
        on_device = jax.tree_util.tree_map(jnp.asarray, weights)
        f = value_and_grad(network, argnums=1)
        mixed = f(x, on_device)
        assert version(f).chain is not None and all(isinstance(r, jax.Array) for r in flat(mixed))
        agree(jax.tree_util.tree_map(np.asarray, mixed[1]), grad(network, argnums=1)(x, weights), rtol=1e-9)
        within = jax.jit(lambda x, w: f(x, w)[0] * 2.0)(jnp.asarray(x), on_device)  # jax compiles all of it
        np.testing.assert_allclose(within, 2.0 * network(x, weights))


def test_results_have_memory_of_their_own(short):
    """What jax would hand back as it was given is copied: results may be written."""

    def f(x, weights):
        for w in weights:
            x = layer(x, w)
        return x, x.copy(), x.reshape(-1).copy(), weights[0][1].copy()

    g, (x, weights) = jit(f), data()
    out = g(x, weights)
    assert version(g).chain is not None
    for k, a in enumerate(out):
        a[:] = k
    assert [set(a.ravel()) for a in out] == [{0.0}, {1.0}, {2.0}, {3.0}] and not (weights[0][1] == 3.0).any()


def test_another_type_runs_whole_until_it_is_traced(short):
    f = jit(network)
    x, weights = data()
    check(f, x, weights)
    narrow = x.astype(np.float32), [(a.astype(np.float32), b.astype(np.float32)) for a, b in weights]
    np.testing.assert_allclose(f(*narrow), network(x, weights), rtol=1e-4)
    np.testing.assert_allclose(f(x, weights), network(x, weights))
    assert all(v.chain for e in f.compiled.entries.values() for w in e.worlds for v in w.versions)


def test_what_does_not_repeat_is_left_whole(short):
    def f(x, weights):
        for n, (a, b) in enumerate(weights):
            x = np.tanh(x @ a + b) * (n + 1.5)  # a number of its own
        return x.sum()

    check(jit(f), *data(), pieces=False)


def test_little_work_is_left_whole(short, monkeypatch):
    monkeypatch.setattr(outlined, "ENOUGH", 1 << 20)
    check(jit(network), *data(), pieces=False)


def test_what_is_to_be_exact_is_left_whole(short):
    check(jit(network, exact=True), *data(), pieces=False)


def test_pieces_are_kept(short, process):
    """Another process makes the same pieces, and finds each compiled."""
    text = f"import numpy as np\n\n{inspect.getsource(layer)}\n\n{inspect.getsource(network)}"
    misses, weighed = [], data()
    listen = lambda event, **_: misses.append(event) if event.endswith("/cache_misses") else None
    jax.monitoring.register_event_listener(listen)
    found, compiled = [], []
    for _ in range(2):
        found.append(process.run(text, *weighed, name="network"))
        compiled.append(len(misses))
        assert version(process.function).chain is not None
    getattr(jax.monitoring, "unregister_event_listener", id)(listen)  # jax 0.8.0 has none
    (kept, first), (read, again) = found
    assert (kept, read) == ("kept", "read") and 0 < compiled[0] == compiled[1]
    assert first == again == pytest.approx(network(*weighed))


def test_prints_are_left_whole(short, capfd):
    def f(x, weights):
        for w in weights:
            x = layer(x, w)
        print(x.sum())
        return x.sum()

    g = jit(f)
    out = g(*data())
    assert version(g).chain is None and f"{out:.6}"[:6] in capfd.readouterr().out


def test_periods():
    numbers = np.array([9, *[1, 2, 3, 4, 5, 6, 7] * 10, 8, *[1, 2] * 12, 0])
    assert outline.stretches(numbers, 0, len(numbers)) == [(1, 71, 7), (72, 96, 2)]
    assert outline.together(48) == 3 and outline.together(8) == 1


def test_divisions_stay_exact_across_pieces(short):
    """A quotient that a later piece compares is divided as NumPy divides, not multiplied by a reciprocal."""

    def f(x, s):
        y = x / s
        return np.where(y > 0.1, y * y, -x).sum()

    g = jit(f)
    g(np.ones(7), 3.0)
    func = version(g).func
    (quotient,) = exact_divisions(func)
    bounds = [0, func.eqns.index(quotient) + 1, len(func.eqns)]
    cut = outline.Cut(func, outline.uses(func), bounds, bounds, lambda x: None, marks(func))
    first, _ = outline.built(func, [cut.span(a, b) for a, b in zip(bounds, bounds[1:])], marks(func))
    assert not exact_divisions(first.func) and first.marks[0] == {first.func.eqns[-1]}


def test_an_adjoint_that_needs_less_is_no_function_of_its_own(short, monkeypatch):
    """The first layer's has no cotangent of x to compute: it is written as that of the others, and what that computes beside it is not read."""
    monkeypatch.setattr(outline, "CALL", 0.0)  # a piece a layer
    compiled = []
    for seen in (outline.within_others, lambda spans, params: spans):
        monkeypatch.setattr(outline, "within_others", seen)
        shared.forget_shared()
        f = grad(network, argnums=1)
        check(f, *data())
        compiled.append(sorted(version(f).chain.counts.values()))
    assert compiled[0][-2:] == [DEPTH, DEPTH] and compiled[1][-2:] == [DEPTH - 1, DEPTH]


def spans(text):
    """Spans of the equations of a function, of the first four and of those behind them."""
    eqns = parse(text).eqns
    made = [eqns[:4], eqns[4:]]
    return [outline.Span(e, (0, (), None), outline.outside(e), [r for q in e for r in q.results]) for e in made]


@pytest.mark.parametrize("eqns, part", [
    ("%4 = sin %0 : f64[]\n %5 = mul %4, %y : f64[]\n", True),
    ("%4 = sin %0 : f64[]\n %5 = mul %4, %4 : f64[]\n", False),  # what is an operand there is computed here
    ("%4 = cos %0 : f64[]\n %5 = mul %4, %y : f64[]\n", False),
    ("%4 = mul %0, %y : f64[]\n %5 = sub %4, %0 : f64[]\n", False),  # what is computed there is an operand here
    ("%4 = sin %0 : f64[]\n %5 = sub %4, %x : f64[]\n", False),  # of what the one left out gives there
    ("%4 = sin %0 : f64[]\n %5 = mul %4, %y : f64[]\n %6 = sub %5, %0 : f64[]\n", True),
    ("%4 = sin %0 : f64[]\n %5 = mul %4, %y : f64[]\n %6 = sub %5, %y : f64[]\n", False),  # one operand there, two here
])  # fmt: skip
def test_a_part_of_a_piece(eqns, part):
    """Of `sin x, sin x * y, that - x, that * z`: what is a part of it means the same, whatever is put for the rest."""
    model, span = spans(
        "func f(%x: f64[], %y: f64[], %z: f64[]) -> f64[] {\n"
        "%0 = sin %x : f64[]\n %1 = mul %0, %y : f64[]\n %2 = sub %1, %x : f64[]\n %3 = mul %2, %z : f64[]\n" + eqns + "return %5\n}"
    )
    found = outline.part_of(span, model, span.operands)
    assert (found is not None) == part
    if part:
        rng = np.random.default_rng(0)
        env = {x: rng.normal() for x in span.operands}
        inside = lambda s, values: evaluate(Func("f", s.operands, s.eqns, s.values), values)
        want = dict(zip(span.values, inside(span, [env[x] for x in span.operands])))
        got = evaluate(Func("f", model.operands, model.eqns, model.values), [env[x] for x in found.operands])
        assert {r: v for r, v in zip(found.values, got) if r in want} == want
