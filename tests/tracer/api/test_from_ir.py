"""`from_ir`: a function written as text is called, compiled, differentiated, mapped, optimised and exported as any other."""

import inspect

import numpy as np
import pytest

from wengert import UnsupportedError, from_ir, grad, jit, load, source, vmap
from wengert.ir import pipeline
from wengert.ir.reading import TextError
from wengert.ir.text import show

TEXT = """
func energy(%x: f64[3], %n: f64[], %k: i64[]) -> f64[], f64[3] {
  %0 = mul %x, %x             : f64[3]
  %1 = reduce_sum %0 axes=[0] : f64[]
  %2 = mul %1, %n             : f64[]
  %3 = cast %k dtype=f64      : f64[]
  %4 = add %2, %3             : f64[]
  return %4, %x
}
"""


@pytest.fixture
def energy():
    return from_ir(TEXT)


X = np.array([1.0, 2.0, 3.0])


@pytest.mark.parametrize("way", [lambda f: f, jit, lambda f: jit(f, engine="xla"), lambda f: jit(f, engine="numpy")])
def test_it_runs(energy, way):
    x, f = X.copy(), way(energy)
    total, same = f(x, 2.0, np.int64(1))
    assert type(total) is np.float64 and total == 29.0 and np.array_equal(same, x) and not np.shares_memory(same, x)
    same[0] = 7.0
    assert x[0] == 1.0 and f(x, n=0.5, k=np.int64(0))[0] == 7.0


def test_it_has_the_signature_and_the_text(energy):
    assert str(inspect.signature(energy)) == "(x, n, k)" and energy.__name__ == "energy"
    assert show(energy.func, sources=False).split() == TEXT.split() and show(from_ir(energy.func).func) == show(energy.func)


def test_it_is_part_of_programs_and_of_their_derivatives(energy):
    f = lambda x: np.sin(energy(x * 2, 3.0, np.int64(1))[0])
    assert np.allclose(grad(f)(X), 24 * X * np.cos(12 * (X @ X) + 1))
    assert np.allclose(vmap(lambda x: energy(x, 1.0, np.int64(0))[0])(np.stack([X, 2 * X])), [14.0, 56.0])
    assert "dot" not in show(jit(f).ir(X)) and "sin" in show(jit(f).ir(X))


def test_it_is_optimised_and_written_as_numpy_and_exported(energy, tmp_path):
    text = "func f(%x: f64[3]) -> f64[3] {\n  %0 = mul %x, 1.0\n  %1 = neg %0\n  %2 = neg %1\n  return %2\n}"
    assert len(pipeline.run(from_ir(text).func).eqns) == 0
    space = {}
    exec(source(energy, X, 2.0, np.int64(1)), space)
    assert space["energy"](X, 2.0, np.int64(1))[0] == 29.0
    jit(energy).export(X, 2.0, np.int64(1), path=tmp_path / "energy.wgt", platforms=("cpu",))
    assert load(tmp_path / "energy.wgt")(X, 2.0, np.int64(1))[0] == 29.0


def test_the_text_of_a_program_runs_as_the_program():
    def f(x, tol):
        while np.abs(x).max() > tol:
            x = x / 2
        return x

    again = from_ir(str(jit(f).ir(X, 0.1)))
    assert np.array_equal(again(X, 0.1), f(X, 0.1)) and np.array_equal(jit(again)(X, 0.1), f(X, 0.1))
    slope = from_ir(str(grad(lambda x: f(x, 0.1).sum()).ir(X)))
    assert np.array_equal(slope(X), grad(lambda x: f(x, 0.1).sum())(X))


def test_functions_of_scipy_are_known_by_name():
    special = pytest.importorskip("scipy.special")
    text = str(jit(lambda x: special.kv(1.5, x)).ir(X))
    assert "function=<kv>" in text and np.allclose(from_ir(text)(X), special.kv(1.5, X))


def test_other_arguments_are_refused(energy):
    for args, words in (((np.ones(4), 1.0, 1), r"parameter x is f64\[3\], and is given f64\[4\]"), ((X, 1.5, 2.5), r"parameter k is i64\[\]")):
        with pytest.raises(UnsupportedError, match=words):
            energy(*args)
    with pytest.raises(TypeError, match="missing a required argument: 'k'"):
        energy(X, 1.0)
    with pytest.raises(UnsupportedError, match=r"test_from_ir.py:\d+"):
        jit(lambda x: energy(x[1:], 1.0, 1), whole=True)(X)
    assert energy(X, 2, 1)[0] == jit(lambda x: energy(x, 2, 1)[0])(X) == 29.0


def test_a_text_that_means_nothing_says_where():
    with pytest.raises(TextError, match="line 2, column 8: no op is named 'sine'"):
        from_ir("func f(%x: f64[3]) -> f64[3] {\n  %0 = sine %x\n  return %0\n}")


def test_nothing_in_a_text_is_evaluated(tmp_path):
    gone = tmp_path / "there"
    gone.write_text("x")
    act = f"__import__('os').remove({str(gone)!r})"
    for text in (
        f"func f(%x: f64[3]) -> f64[3] {{\n  %0 = add %x, {act}\n  return %0\n}}",
        f"func f(%x: f64[3]) -> f64[3] {{\n  %0 = reduce_sum %x axes={act}\n  return %0\n}}",
        f"func f(%x: f64[3]) -> f64[3] {{\n  %{act} = neg %x\n  return %x\n}}",
    ):
        with pytest.raises(TextError):
            from_ir(text)
    named = "func f(%x: f64[3]) -> f64[3] {\n  %import = neg %x\n  return %import\n}"
    assert np.array_equal(from_ir(named)(X), -X) and gone.exists()
    odd = from_ir(f"func {act.replace(' ', '').split('(')[0]}(%lambda: f64[3]) -> f64[3] {{\n  return %lambda\n}}")
    assert np.array_equal(odd(X), X) and np.array_equal(jit(odd)(X), X)


def test_what_is_no_text_is_refused():
    with pytest.raises(TypeError, match="takes a text or a function of the IR, got int"):
        from_ir(3)


SIZED = """
func relax(%u: f64[n], %k: i64[]) -> f64[n], f64[] {
  %0 = loop %k, %u carried=1
    body: func(%i: i64[], %u: f64[n]) -> f64[n] {
      %left = slice %u start=[0] stop=[n-2] stride=[1]
      %right = slice %u start=[2] stop=[n] stride=[1]
      %sum = add %left, %right
      %mean = mul 0.5, %sum
      %new = dynamic_update_slice %u, %mean, 1:i64[]
      return %new
    }
  %1 = reduce_sum %0 axes=[0]
  %2 = div %1, n
  return %0, %2
}
"""


def relaxed(u, k):
    for _ in range(k):
        u = np.concatenate([u[:1], 0.5 * (u[:-2] + u[2:]), u[-1:]])
    return u, u.mean()


@pytest.mark.parametrize("way", [lambda f: f, jit])
def test_sizes_are_those_of_the_arguments(way):
    f = way(from_ir(SIZED))
    for n in (2, 3, 8, 40, 3):
        u = np.random.default_rng(n).normal(size=n)
        (got, mean), (want, average) = f(u, 3), relaxed(u, 3)
        np.testing.assert_allclose(got, want, rtol=1e-14)
        np.testing.assert_allclose(mean, average, rtol=1e-14)


def test_functions_of_symbolic_sizes_are_transformed():
    f, u = from_ir(SIZED), np.random.default_rng(0).normal(size=(4, 6))
    slope = grad(lambda u: (f(u, 2)[0] ** 2).sum())
    np.testing.assert_allclose(slope(u[0]), grad(lambda u: (relaxed(u, 2)[0] ** 2).sum())(u[0]))
    np.testing.assert_allclose(vmap(lambda u: f(u, 2))(u)[0], [relaxed(row, 2)[0] for row in u])
    again = from_ir(f.generic)
    assert again.__doc__ == f.__doc__ == str(f.generic) and f.func is f.generic.func
    np.testing.assert_allclose(again(u[1], 1)[0], relaxed(u[1], 1)[0])


@pytest.mark.parametrize("args, error, words", [
    ((np.ones(3, np.float32), 1), TypeError, r"takes \(f64\[n\], i64\[\]\), and is given \(f32\[3\], i64\[\]\)"),
    ((np.ones((3, 3)), 1), TypeError, r"is given \(f64\[3,3\], i64\[\]\)"),
    ((np.ones(1), 1), ArithmeticError, "would have a negative size"),
])  # fmt: skip
def test_arguments_of_no_such_sizes_are_refused(args, error, words):
    f = from_ir(SIZED)
    for way in (f, jit(f)):
        with pytest.raises(error, match=words):
            way(*args)
