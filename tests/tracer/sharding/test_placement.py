"""`jit(mesh=, shard=)`: ndarrays on eight devices, in processes of their own, and what is refused before there are any."""

import numpy as np
import pytest

from wengert import jit
from wengert.tracer.sharding.placement import KEPT, is_part_of, normal_shard, placement

CALLS = """
from several_devices import *
from wengert import grad
rng = np.random.default_rng(0)
X, y, w = rng.normal(size=(64, 16)), rng.normal(size=64), rng.normal(size=16)

def loss(w, X, y):
    return np.mean((np.tanh(X @ w) - y) ** 2)

def change(X, s):
    X[1:-1] *= s
    X += 1
    return X[0].sum()

def nested(p, X):
    return np.tanh(X @ p["w1"] + p["b"][0]).sum(0)

p = {"w1": rng.normal(size=(16, 8)), "b": [np.ones(8)]}
slope, out = grad(loss)(w, X, y), {}
for name, options in {
    "names": {"shard": {"X": "rows", "y": "rows"}}, "auto": {"mesh": 8}, "auto on 4": {"mesh": 4, "shard": "auto"},
    "two axes": {"mesh": {"a": 4, "b": 2}, "shard": {"X": ("a", "b"), "y": "a"}}, "joined": {"mesh": {"a": 4, "b": 2}, "shard": {"X": (("a", "b"),)}},
    "a mesh": {"mesh": mesh_of(kind="explicit"), "shard": {"X": P("rows")}}, "whole": {"shard": {"w": None}, "mesh": 8},
}.items():
    f = jit(grad(loss), **options)
    got = [f(w, X, y) for _ in range(3)][-1]
    out[name] = close(got, slope) and type(got) is np.ndarray and got.flags.writeable
mine, numpys = X.copy(), X.copy()
out["written"] = close(jit(change, mesh=8, shard={"X": "r"})(mine, 2.0), change(numpys, 2.0)) and close(mine, numpys)
for shard in ({"p.w1": (None, "r")}, {"p": "r"}, {"p['w1']": "r", "p['b'][0]": "r"}):
    out[str(shard)] = close(jit(nested, shard=shard)(p, X), nested(p, X))
f = jit(loss, shard={"X": "rows"}, debug="nan")
out["debug"] = close(f(w, X, y), loss(w, X, y))
out["jax arrays"] = spec(jit(lambda X: X * 2, shard={"X": "rows"})(jax.numpy.asarray(X))) == ["rows"]
try:
    jit(lambda X, i: X[i], shard={"X": "rows"})(X, np.array([1, 70]))
except IndexError as error:
    out["check"] = "70" in str(error)
print(json.dumps([name for name, right in out.items() if not right] + [len(out)]))
"""


def test_ndarrays_go_out_and_come_back(said):
    assert said(CALLS) == [14]


ERRORS = """
from several_devices import *
X, w, found = np.ones((64, 16)), np.ones(16), []
f = lambda w, X: X @ w
for options, args in (
    ({"shard": {"Z": "r"}}, (w, X)), ({"shard": {"w": ("r", None)}}, (w, X)), ({"shard": {"w": "r"}}, (np.ones(10), X[:, :10])),
    ({"mesh": {"a": 8}, "shard": {"w": "r"}}, (w, X)), ({"mesh": 16}, (w, X)), ({"shard": {"X": "r", "w": "q"}}, (w, X)),
):
    try:
        jit(f, **options)(*args)
    except ValueError as error:
        found.append(type(error).__name__ + ": " + str(error))
print(json.dumps(found))
"""


def test_what_does_not_fit_is_named(said):
    unknown, axes, length, axis, devices, sizes = said(ERRORS)
    assert unknown.startswith("ShardingError: shard names 'Z'") and "They are w, X" in unknown
    assert "2 axes for w, whose shape is (16,)" in axes and "shard={'w': 'r'}" in axes
    assert "axis 0 of w has length 10, which 8 devices along 'r' do not divide" in length and "Pad it to 16, or take 5 devices" in length
    assert "mesh axis 'r', and the mesh has 'a'" in axis
    assert "16 devices, and there are 8" in devices
    assert "mesh={'r': ..., 'q': ...}" in sizes


@pytest.mark.parametrize(
    "options, error, text",
    [
        ({"mesh": 3.5}, TypeError, "mesh is 3.5"),
        ({"shard": "rows"}, TypeError, "shard='auto'"),
        ({"shard": {"w": 3}}, TypeError, "shard has 3 for 'w'"),
        ({"shard": {"X": ("r", "r")}}, ValueError, "twice for 'X'"),
        ({"mesh": 1, "engine": "numpy"}, ValueError, "engine='numpy'"),
        ({"mesh": 1, "device": "cpu"}, ValueError, "device="),
        ({"mesh": 1, "tier": "background"}, ValueError, "tier="),
    ],
)
def test_options_that_are_none(options, error, text):
    with pytest.raises(error, match=text):
        jit(lambda x: x, **options)


def test_names():
    assert is_part_of("params['w1'][0]", "params.w1") and is_part_of("params['w1'][0]", "params['w1']") and is_part_of("x", "x")
    assert not is_part_of("params['w10']", "params.w1") and not is_part_of("xy", "x")
    assert normal_shard({"x": "r", "y": (None, ("a", "b")), "z": None}) == {"x": ("r",), "y": (None, ("a", "b")), "z": ()}


TOLD = """
from several_devices import *
from wengert import grad
rng = np.random.default_rng(0)
w, v, X, y = rng.normal(size=(64, 8)), np.ones(8), rng.normal(size=(1024, 64)), rng.normal(size=1024)

def loss(w, v, X, y):
    return np.mean((np.tanh(X @ w) @ v - y) ** 2)

def heads(Q, K, V):
    scores = np.exp(Q @ K.transpose(0, 2, 1))
    return scores / scores.sum(-1, keepdims=True) @ V

def stencil(u):
    for _ in range(20):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
    return u

f = jit(grad(loss), mesh=8)
f(w, v, X, y)
plan = f.plan(w, v, X, y)
devices = plan.json()["traces"][0]["devices"]
three = [rng.normal(size=(8, 16, 4)) for _ in range(3)]
others = [jit(heads, mesh=8).plan(*three), jit(stencil, mesh=8).plan(np.ones((64, 32)))]
others = [p.json()["traces"][0]["devices"] for p in others]
print(json.dumps([devices, str(plan), f.explain(), others]))
"""


def test_auto_spreads_the_data_and_says_what_that_costs(said):
    devices, text, explained, (heads, stencil) = said(TOLD)
    assert devices["arguments"] == {"w": "whole", "v": "whole", "X": "devices", "y": "devices"}
    # the slope by w, 64 x 8 numbers of 8 bytes, is added up over 8 devices
    assert devices["sent"] == devices["expected"] == 2 * 7 / 8 * 64 * 8 * 8
    assert [(c["kind"], c["runs"], c["bytes"]) for c in devices["collectives"]] == [("all-reduce", 1, 64 * 8 * 8)]
    costs = [way["sent"] for way in devices["ways"]]
    assert len(costs) > 10 and costs == sorted(costs) and costs[-1] > costs[0]
    assert "each device sends 7.17 kB a call" in text and "all-reduce" in text and "X (devices); y (devices); whole: w, v" in text
    assert "8 devices (devices 8): X (devices); y (devices); whole: w, v" in explained
    assert heads["arguments"] == dict.fromkeys("QKV", "devices") and heads["sent"] == heads["expected"] == 0
    # rows are 32 numbers; columns have no neighbours that are read
    assert stencil["arguments"] == {"u": "-, devices"} and stencil["sent"] == stencil["expected"] == 0


CACHE = """
from several_devices import *
X = np.arange(64.0)
out = []
for options in ({"shard": {"x": "rows"}}, {"mesh": 4}, {}):
    f = jit(lambda x: np.sin(x).sum(), cache="cached", **options)
    right = close(f(X), np.sin(X).sum())
    out.append([right, next(line.split()[1] for line in f.explain().splitlines() if line.split()[:1] == ["cache"])])
print(json.dumps(out))
"""


def test_programs_are_kept_by_mesh_and_spec(said, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert said(CACHE) == [[True, "kept"]] * 3
    assert said(CACHE) == [[True, "read"]] * 3


def test_the_page_of_the_guide_on_eight_devices(said):
    assert said("from several_devices import *\nimport pages\nprint(json.dumps(pages.run('guide/many_devices.md')))") == [0, 35]


def test_a_mesh_of_one_device_is_a_device():
    x = np.arange(8.0)
    for options in ({"shard": {"x": "rows"}, "mesh": 1}, {"mesh": 1}):
        f = jit(lambda x: np.sin(x).sum(), **options)
        assert f(x) == pytest.approx(np.sin(x).sum()) and f.plan(x).json()["traces"][0]["devices"]["sent"] == 0


def test_of_how_many_signatures_it_is_kept_is_bounded():
    made = placement(1, {"x": "rows"})
    for n in range(KEPT + 9):
        assert made.specs(None, (0,), ("x",), ((n,),)) == [("rows",)]
    assert len(made.found) == KEPT
