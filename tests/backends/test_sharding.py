"""Arrays that lie over several devices keep it through everything; eight devices, in processes of their own."""

import pytest

FAILED = [  # in XLA's partitioner, as they are lowered for one device
    "reduce_and", "reduce_or", "reduce_xor", "reduce_max", "reduce_min", "argmax", "argmin", "pad", "fft", "reduce_window_sum",
    "reduce_window_max", "reduce_window_argmin", "cumsum", "cummax", "sort", "scatter_add", "gather",
]  # fmt: skip
SWEEP = """
from several_devices import sweep
print(json.dumps(sweep({names!r}, {kind!r})))
"""


def test_ops_that_the_partitioner_refuses(said):
    bad, count = said(SWEEP.format(names=FAILED[:11], kind="auto"))
    assert bad == [] and count > 60


def test_ops_whose_results_are_wanted_spread(said):
    bad, count = said("from several_devices import sweep_wanted\nprint(json.dumps(sweep_wanted(['pad', 'conv_general', 'fft'])))")
    assert bad == [] and count > 40


@pytest.mark.slow
def test_all_results_wanted_spread(said_slowly):
    bad, count = said_slowly("from several_devices import *\nprint(json.dumps(sweep_wanted(list(OPS))))")
    assert bad == [] and count > 1000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["auto", "explicit"])
def test_all_ops(said_slowly, kind):
    bad, count = said_slowly("from several_devices import *\n" + SWEEP.format(names="ALL", kind=kind).replace("'ALL'", "list(OPS)"))
    assert bad == [] and count > 1500


NAMES = """
from several_devices import *
X = np.random.default_rng(0).normal(size=(1024, 8))
X[3, 2] = np.nan
I = np.random.default_rng(1).integers(0, 1024, (1024, 8))

def stepped(x, i):
    y = x.copy()
    y[3:100] *= 2
    y[:, 1] = 0
    y[x > 1] = 5
    return y

def added(x, i):
    z = np.zeros(x.shape)
    np.add.at(z, i[:, 0], x)
    return z

F = {
    "max": lambda x, i: x.max(0), "argmax": lambda x, i: x.argmax(0), "sort": lambda x, i: np.sort(x, 0), "median": lambda x, i: np.nanmedian(x, 0),
    "cumsum": lambda x, i: np.cumsum(i, 0), "any": lambda x, i: (x > 2).any(0), "mask": lambda x, i: x[x > 0], "strided": lambda x, i: x[::3],
    "xor": lambda x, i: np.bitwise_xor.reduce(i, 0), "take": lambda x, i: x[i[:, 0]], "bincount": lambda x, i: np.bincount(i[:, 0], minlength=1024),
    "element": lambda x, i: x[i[0, 0], i[1, 1] % 8], "stepped": stepped, "added": added, "gram": lambda x, i: i.T @ i,
}
found = {}
for kind, names in ("auto", [*F]), ("explicit", ["max", "sort", "cumsum", "mask", "strided", "stepped", "gram"]):
    mesh = mesh_of({"rows": 4, "cols": 2}, kind)
    for name in names:
        s = P("rows", "cols") if name != "cumsum" else P(("rows", "cols"))
        got = jit(F[name], whole=True)(spread(X, s, mesh), spread(I, s, mesh))
        found[f"{name} {kind}"] = spec(got) if close(got, F[name](X, I)) else "wrong"
print(json.dumps(found))
"""


def test_functions_on_a_mesh_of_two_axes(said):
    found = said(NAMES)
    assert not [name for name, how in found.items() if how == "wrong"]
    kept = {"max": ["cols"], "sort": [None, "cols"], "cumsum": [["rows", "cols"]], "stepped": ["rows", "cols"], "gram": ["cols"]}
    kept = {f"{name} {kind}": how for name, how in kept.items() for kind in ("auto", "explicit")}
    assert {name: found[name] for name in kept} == kept


LOOPS = """
from several_devices import *
from wengert import grad
X = np.random.default_rng(0).normal(size=(64, 16))
mesh = mesh_of()

def rows(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        for j in range(1, x.shape[1]):
            y[i, j] = y[i, j - 1] * 0.5 + x[i, j] * i
    return y

def stencil(x):
    u, v = x.copy(), x.copy()
    for t in range(3):
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        for i in range(1, x.shape[0] - 1):
            for j in range(1, x.shape[1] - 1):
                u[i, j] = v[i, j]
    return u

def total(x):
    s = 0.0
    for i in range(x.shape[0]):
        t = 0.0
        for j in range(x.shape[1]):
            t += x[i, j] * 0.1
        if t > 0:
            s += np.log1p(t)
        s -= t * t
    return s

def backwards(x):
    return grad(lambda x: (rows(x) ** 2).sum())(x)

def serial(x):
    y = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        y[i] = y[i - 1] * 0.5 + x[i, 0]
    return y

def arrays(x):
    u = x.copy()
    for t in range(5):
        u[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    return u

found = {}
for f in (rows, stencil, total, backwards, serial, arrays):
    x, want = spread(X, P("rows"), mesh), f(X)
    got = jit(f, whole=True)(x)
    found[f.__name__] = [bool(close(got, want)), spec(got), sorted(sent(f, x))]
print(json.dumps(found))
"""


def test_each_device_takes_the_trips_of_its_rows(said):
    found = said(LOOPS)
    halo, shared = ["collective-permute", 128], ["all-gather", 8 * 64 * 16]
    assert found == {
        "rows": [True, ["rows"], []],
        "stencil": [True, ["rows"], [halo, halo]],
        "total": [True, [], [["all-reduce", 8]]],
        "backwards": [True, ["rows"], []],
        "serial": [True, [], [shared]],
        "arrays": [True, ["rows"], [halo, halo]],
    }


INSIDE = """
from several_devices import *
from wengert import from_jax, grad, vmap
X = np.random.default_rng(0).normal(size=(64, 16))
W = np.random.default_rng(1).normal(size=(16, 3))

def loss(w, x):
    return np.tanh(x @ w * 0.1).max(0).sum()

def branch(x):
    return np.where(x > 0, x * 2, 0).sum(0) if x.sum() > 0 else x[0]

automatic, found = mesh_of(), {}
local = lambda a: jax.lax.psum(jax.numpy.tanh(a).sum(), "rows")
turned = lambda a: jax.lax.ppermute(a, "rows", [(k, (k + 1) % 8) for k in range(8)]) + jax.lax.all_gather(a, "rows").sum()
summed = jax.shard_map(local, mesh=automatic, in_specs=P("rows"), out_specs=P())
moved = jax.shard_map(turned, mesh=automatic, in_specs=P("rows"), out_specs=P("rows"), check_vma=False)
for kind in ("auto", "explicit"):
    mesh = mesh_of(kind=kind)
    x, w = spread(X, P("rows"), mesh), jax.numpy.asarray(W)
    want, out = grad(loss)(W, X), {}
    out["call"] = close(grad(loss)(w, x), want)
    out["jax.jit"] = close(jax.jit(lambda w, x: grad(loss)(w, x))(w, x), want)
    with jax.set_mesh(mesh):
        out["set_mesh"] = close(grad(loss)(w, x), want) and close(jax.jit(lambda w, x: grad(loss)(w, x))(w, x), want)
    out["branch"] = close(jit(branch)(x), branch(X))
    out["vmap"] = close(vmap(lambda r: np.sort(r)[0] + r.max())(x), np.sort(X, 1)[:, 0] + X.max(1))
    out["shard_map"] = close(jit(lambda x: from_jax(summed)(x * 2) + 1)(x), np.tanh(X * 2).sum() + 1)
    out["its gradient"] = close(grad(lambda x: from_jax(summed)(x))(x), 1 - np.tanh(X) ** 2)
    out["collectives"] = close(jit(lambda x: from_jax(moved)(x))(x), np.roll(X, 8, 0) + X.sum())
    one = jit(lambda a: a.max(0) + np.cumsum(a, 0)[-1])
    inner = jax.shard_map(lambda a: one(a)[None], mesh=mesh, in_specs=P("rows"), out_specs=P("rows"), check_vma=False)
    parts = X.reshape(8, 8, 16)
    out["within shard_map"] = close(jax.jit(inner)(x), parts.max(1) + parts.sum(1))
    try:
        jit(lambda x, i: x[i])(x, jax.numpy.array([1, 70]))
    except IndexError:
        out["check"] = True
    found[kind] = [name for name, right in out.items() if not right], len(out)
print(json.dumps(found))
"""


def test_within_jax_and_with_collectives_of_the_users(said):
    assert said(INSIDE) == {"auto": [[], 10], "explicit": [[], 10]}


CHECKED = """
from several_devices import *
X, i, found = np.random.default_rng(0).normal(size=(64, 16)), np.array([1, 2]), {}
f = lambda x, i: x * 2 + x[i].sum()
for kind in ("auto", "explicit"):
    g, x = jit(f, whole=True), spread(X, P("rows"), mesh_of(kind=kind))
    right = [close(g(x, jax.numpy.asarray(i)), f(X, i)) and spec(g(x, jax.numpy.asarray(i))) == ["rows"] for _ in range(3)]
    try:
        g(x, jax.numpy.asarray(i + 70))
    except IndexError:
        right.append(True)
    trap = next(iter(g.compiled.entries.values())).worlds[0].call
    text = trap.quick.lower(x, jax.numpy.asarray(i)).compile().as_text()
    found[kind] = right + [type(trap).__name__, max(c.size for c in collectives(parse_module(text), 8))]
print(json.dumps(found))
"""


def test_checks_gather_nothing(said):
    rows = 2 * 16 * 8  # those that are picked, of 64
    assert said(CHECKED) == dict.fromkeys(("auto", "explicit"), [True, True, True, True, "Trap", rows])


EXPLICIT = """
from several_devices import *
from wengert import from_jax
mesh = mesh_of(kind="explicit")
f = jax.shard_map(lambda a: a * 2, mesh=mesh, in_specs=P("rows"), out_specs=P("rows"))
try:
    jit(lambda x: from_jax(f)(x), whole=True)(spread(np.ones((8, 2)), P("rows"), mesh))
except ValueError as error:
    print(json.dumps("".join(error.__notes__)))
"""


def test_a_shard_map_of_explicit_axes_is_refused_with_what_to_write(said):
    assert "axis_types=(jax.sharding.AxisType.Auto,)" in said(EXPLICIT)


MET = """
from several_devices import *
from wengert import grad
x, y = np.random.default_rng(0).normal(size=(2, 16))

def stored(x, y):
    v = y * 2
    v[1::3] += x[:5]
    return v

def backwards(x, y):
    v = y.copy()
    v[::-2] = x[:8]
    return v

def moved(x, y):
    v = y.copy()
    v[1:7] = x[6:12]
    v[3:14] += np.sort(x)[:11]
    return v

def picked(x, y):
    v = x.copy()
    v[np.argsort(x)[:6]] += y[5:11]
    return v

F = {
    "picked": picked, "moved": moved, "stored": stored, "backwards": backwards, "slope": lambda x, y: grad(lambda x: (x[1::3] ** 2).sum())(x) + y,
    "diagonal": lambda x, y: np.diag(x) @ y, "windows": lambda x, y: np.convolve(x, y[:3], "same") * y, "fft": lambda x, y: np.fft.fft(x) * y,
}
bad = []
for n in (4, 8):
    for kind in KINDS:
        b = spread(y, P("rows"), mesh_of({"rows": n}, kind))
        a = spread(x, P(), mesh_of({"rows": n}, kind))
        bad += [f"{name} {n} {kind}" for name, f in F.items() if not close(jit(f)(a, b), f(x, y))]
print(json.dumps(bad))
"""


def test_what_is_computed_whole_meets_what_is_spread(said):
    assert said(MET) == []


UNREAD = """
from several_devices import *
from wengert import grad
x = np.arange(16.0)
F = {
    "linear": grad(lambda x: (x * 3.0).sum()), "made": lambda x: np.linspace(0.0, 1.0, len(x)), "empty": lambda x: (x[:0].sum(), x)[0],
    "one of two": lambda x: (np.zeros(4), x.sum())[1],
}
print(json.dumps([
    name for name, f in F.items() for kind in KINDS if not close(jit(f)(spread(x, P("rows"), mesh_of(kind=kind))), f(x))
]))
"""


def test_programs_that_read_no_argument(said):
    assert said(UNREAD) == []


ROWS = """
from several_devices import *
x, y = np.random.default_rng(0).normal(size=(2, 8, 16))
F = {"real": lambda x, y: np.fft.rfft(x)[:, :5] * y[:, :5], "columns": lambda x, y: np.fft.fft(x, axis=0) * y}
ways = [P("rows"), P(None, "rows"), P(None, ("rows", "cols")), P("cols", "rows")]
bad = []
for kind in KINDS:
    mesh = mesh_of({"rows": 4, "cols": 2}, kind)
    for name, f in F.items():
        bad += [f"{name} {kind} {a} {b}" for a in ways for b in ways if not close(jit(f)(spread(x, a, mesh), spread(y, b, mesh)), f(x, y))]
print(json.dumps(bad))
"""


def test_transforms_of_what_lies_in_another_order(said):
    assert said(ROWS) == []
