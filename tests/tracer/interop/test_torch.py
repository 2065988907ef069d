"""`to_torch`: values, dtypes and derivatives of all orders as torch's own, and what torch must be told."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

from wengert import UnsupportedError, grad, jit, to_torch
from wengert.examples import logistic

torch = pytest.importorskip("torch")
D = torch.float64


@pytest.fixture
def a():
    return torch.tensor([0.3, -0.7, 1.1], dtype=D, requires_grad=True)


@pytest.fixture
def b():
    return torch.tensor([0.5, 2.0, -1.0], dtype=D, requires_grad=True)


def relaxed(u, f):
    """Loops, stores and a branch on data."""
    u = u.copy()
    for _ in range(3):
        u[1:-1] = 0.5 * (u[:-2] + u[2:]) + f[1:-1] ** 2
        if u.sum() > 0:
            u = np.tanh(u) * f
    return u


FUNCTIONS = {
    "elementwise": lambda x, y: np.sin(x) * y,
    "several": lambda x, y: (np.exp(x) @ y, {"a": x * x, "n": 3, "i": np.argmax(x)}),
    "loop": relaxed,
    "views": lambda x, y: (x[::-1], y.reshape(3, 1), x),
    "constant": lambda x, y: (np.ones(2), (x * y).sum()),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradcheck(name, a, b):
    def tensors(x, y):  # of which alone gradcheck knows
        return tuple(t for t in torch.utils._pytree.tree_leaves(f(x, y)) if torch.is_tensor(t) and t.is_floating_point())

    f = to_torch(FUNCTIONS[name])
    assert torch.autograd.gradcheck(tensors, (a, b), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(tensors, (a, b))


def test_complex_gradients_have_the_convention_of_torch():
    f = to_torch(lambda z: z * z * np.abs(z) + np.conj(z))
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(f, (z,)) and torch.autograd.gradgradcheck(f, (z,))
    assert torch.autograd.gradcheck(lambda z: f(z.conj()), (z,))  # a view that conjugates as it is read


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_numpys(name, a, b):
    f = FUNCTIONS[name]
    meant = torch.utils._pytree.tree_leaves(f(a.detach().numpy(), b.detach().numpy()))
    for x, y in ((a, b), (a.detach(), b.detach())):
        found = torch.utils._pytree.tree_leaves(to_torch(f)(x, y))
        for got, want in zip(found, meant, strict=True):
            assert torch.is_tensor(got) == isinstance(want, np.ndarray | np.generic)
            np.testing.assert_allclose(got.detach().numpy() if torch.is_tensor(got) else got, want, rtol=1e-15)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.int32, torch.bool])
def test_dtypes_are_kept(dtype):
    x = torch.ones(3).to(dtype)
    assert to_torch(lambda x: x[::-1])(x).dtype == dtype
    assert to_torch(lambda x: x.sum())(x).dtype == torch.from_numpy(np.asarray(x.numpy().sum())).dtype


def test_what_needs_no_gradient_gets_none(a):
    x, i = torch.ones(3, dtype=D), torch.tensor([0, 0, 1])
    f = to_torch(lambda w, x, i, n, s: (w * x)[i].sum() * n if s == "sum" else 0.0)
    f(a, x, i, 2, s="sum").backward()
    np.testing.assert_array_equal(a.grad, [4.0, 2.0, 0.0])
    assert x.grad is None
    with torch.no_grad():
        assert not f(a, x, i, 2, "sum").requires_grad
    assert not f(a, x, i, 2, "none").requires_grad or f(a, x, i, 2, "none") == 0


def test_memory_is_not_copied():
    seen, x, f = [], torch.ones(4, dtype=D), to_torch(lambda x: x * 2)
    compiled = f.compiled
    f.compiled = lambda x: seen.append(x.__array_interface__["data"][0]) or compiled(x)
    y = f(x)
    assert seen == [x.data_ptr()] and y.data_ptr() != x.data_ptr()


def test_results_are_memory_of_their_own(a):
    """torch may write into a result: neither the argument nor what the gradient reads may change by that."""
    x = a.detach()
    before = x.clone()
    for f in (lambda x: x, lambda x: x[1:], lambda x: (x, x)):
        out = to_torch(f)(x)
        (out[0] if isinstance(out, tuple) else out).mul_(5)
        assert torch.equal(x, before)
    y = to_torch(np.exp)(a)
    y.mul_(2)
    y.sum().backward()
    np.testing.assert_allclose(a.grad, 2 * np.exp(before))


def test_arguments_that_are_changed_meanwhile_are_refused_by_torch(a):
    x = a * 1
    y = to_torch(lambda x: x * x)(x)
    with torch.no_grad():
        x.mul_(3)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_writes_into_arguments_are_refused(a):
    def write(x):
        x[0] = 5.0
        return x

    for x in (a, a.detach()):
        with pytest.raises(ValueError, match="read-only"):
            to_torch(write)(x)
    assert a[0] == 0.3


def test_containers_and_modules():
    """A network whose layers are NumPy, trained by torch's optimizer: as with torch's own functions."""

    def network(p, x):
        return np.tanh(x @ p["in"].T + p["bias"]) @ p["out"]

    class Net(torch.nn.Module):
        def __init__(self, f):
            super().__init__()
            self.f = f
            self.weights = torch.nn.ParameterDict({"out": torch.ones(4), "in": torch.full((4, 2), 0.3), "bias": torch.zeros(4)})

        def forward(self, x):
            return self.f(dict(self.weights), x)

    def theirs(p, x):
        return torch.tanh(x @ p["in"].T + p["bias"]) @ p["out"]

    x = torch.linspace(-1, 1, 16).reshape(8, 2)
    y, histories = x.sum(1) + 1, []
    for f in (to_torch(network), theirs):
        net = Net(f)
        optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
        histories.append([])
        for _ in range(5):
            optimizer.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            histories[-1].append(loss.item())
    np.testing.assert_allclose(*histories, rtol=1e-5)
    assert histories[0][-1] < histories[0][0]
    again = copy.deepcopy(net)
    assert torch.equal(again(x), net(x))


def test_the_function_transforms_of_torch(a):
    x, cube = a.detach(), to_torch(lambda x: (x**3).sum())
    lanes = torch.stack([x, 2 * x])
    func = torch.func
    assert torch.allclose(func.grad(cube)(x), 3 * x**2)
    assert torch.allclose(func.vmap(func.grad(cube))(lanes), 3 * lanes**2)
    assert torch.allclose(func.grad(lambda x: func.vmap(to_torch(lambda x, y: x @ y), (0, None))(lanes, x).sum())(x), lanes.sum(0))
    assert torch.allclose(func.vmap(to_torch(lambda x: {"n": 2, "x": x * 2}), in_dims=1)(lanes)["x"], 2 * lanes.T)
    assert torch.allclose(func.jvp(cube, (x,), (torch.ones_like(x),))[1], (3 * x**2).sum())
    for jacobian in (func.jacrev, func.jacfwd):
        assert torch.allclose(jacobian(to_torch(lambda x: x**3))(x), torch.diag(3 * x**2))
    assert torch.allclose(func.hessian(cube)(x), torch.diag(6 * x))


def test_the_older_vmap_is_refused(a):
    y = to_torch(lambda x: x**3)(a)
    with pytest.raises(RuntimeError, match="Use torch.func.vmap, jacrev or jacfwd"):
        torch.autograd.grad(y, a, torch.eye(3, dtype=D), is_grads_batched=True)


def test_compiled_by_torch_around_it(a):
    f = to_torch(lambda x: np.sin(x).sum())
    around = torch.compile(lambda x: f(x * 2) + 1, backend="aot_eager")
    for _ in range(2):
        (slope,) = torch.autograd.grad(around(a), a)
        np.testing.assert_allclose(slope, 2 * np.cos(2 * a.detach().numpy()))


def test_options_and_pickles(a):
    f = to_torch(logistic.loss, exact=True)
    assert f.compiled.compiled.exact and f.__name__ == "loss"
    assert pickle.loads(pickle.dumps(f)).given == f.given
    with pytest.raises(TypeError, match="to_torch takes a function, got int"):
        to_torch(3)


# -- tensors where there is no to_torch ------------------------------------------------------------


def test_tensors_given_to_jit_stay_torchs(a):
    """Plain Python answers, and torch's own gradient is there, or torch's own error; the warning names to_torch."""
    f = jit(lambda x: x * 2 + 1, whole=False)
    with pytest.warns(match="wengert.to_torch"):
        y = f(a)
    y.sum().backward()
    np.testing.assert_array_equal(a.grad, [2.0, 2.0, 2.0])
    with pytest.warns(match="to_torch"), pytest.raises(RuntimeError, match="requires grad"):
        jit(lambda x: np.sin(x), whole=False)(a)
    with pytest.raises(UnsupportedError, match="wengert.to_torch"):
        grad(lambda x: (x * x).sum())(a)


def test_an_array_that_is_written_after_the_call_is_what_it_was(a):
    def f(x, held):
        held += 1.0
        return np.sin(x) * held

    held = np.ones(3)
    y = to_torch(f)(a, held)
    held *= 3.0
    (slope,) = torch.autograd.grad(y.sum(), a, create_graph=True)
    torch.testing.assert_close(slope, 2 * torch.cos(a))
    np.testing.assert_array_equal(held, np.full(3, 6.0))


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_a_tensor_that_is_no_argument_is_refused(a):
    class Layer:
        weight = a

    f = to_torch(lambda layer, x: (layer.weight * x).sum(), whole=False)
    with pytest.raises(TypeError, match="not among the arguments"):
        f(Layer(), torch.ones(3, dtype=D))


def test_torch_is_not_imported():
    code = """if 1:
        import sys, wengert
        f = wengert.to_torch(lambda x: x)
        assert not {"torch", "pandas", "xarray", "numba", "dask", "joblib"} & set(sys.modules)
        try: f(1.0)
        except TypeError as error: print(error)"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "to_torch takes tensors, and torch has not been imported\n  Write import torch first.\n", done.stderr


def test_bfloat16_tensors():
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.bfloat16, requires_grad=True)
    y = to_torch(lambda x: (x * x).sum())(x)
    y.backward()
    assert y.dtype == x.grad.dtype == torch.bfloat16
    assert y.item() == 14 and x.grad.tolist() == [2, 4, 6]


def test_branches_are_captured_where_a_pickle_arrives():
    cloudpickle = pytest.importorskip("cloudpickle")

    def halved(x):
        while x.sum() > 1.0:
            x = x / 2
        return (x * x).sum()

    x = torch.ones(4, dtype=D, requires_grad=True)
    pickle.loads(cloudpickle.dumps(to_torch(halved)))(x).backward()
    assert x.grad.tolist() == [0.125] * 4
