"""Programs kept on disk: found by another process where all that decided them is as it was, and only there."""

import functools
import sys

import numpy as np
import pytest
from cached import EXPECTED, SIMPLE, X, how, kept_file, plainly

from wengert import grad, jit
from wengert.backends.xla import executables
from wengert.ir.source import code_place
from wengert.ir.walk import every_equation
from wengert.tracer.cache import environment, store
from wengert.tracer.call import attempts

PLAIN = """
    import math
    import numpy as np

    SCALE = 2.0
    FLAGS = {"shift": 1.0, "steps": [1, 2, 3]}
    TABLE = np.arange(5.0)

    def inner(x, power=2):
        return x ** power + math.pi

    def helper(x):
        return inner(x) * SCALE

    def f(x):
        total = 0.0
        for s in FLAGS["steps"]:
            total = total + s * np.sum(helper(x) + FLAGS["shift"])
        return total + (TABLE * x).sum()
"""


def test_the_second_process_neither_traces_nor_compiles(process, monkeypatch):
    first = process.run(PLAIN, X)
    monkeypatch.setattr(attempts, "capture", None)  # what traces
    second = process.run(PLAIN, X)
    assert (first[0], second[0]) == ("kept", "read") and first[1] == second[1]
    assert second[1] == pytest.approx(plainly(PLAIN, X))


def test_a_program_that_was_read_has_its_lines(process):
    """Each equation in its function and line, those of regions too, and of generated NumPy the file."""
    text = """
        import numpy as np

        def helper(x):
            return np.tanh(x)

        def f(x):
            for _ in range(30):
                x = helper(x) * 1.5
            return np.cos(x)
    """

    def places():
        ((version,),) = [w.versions for e in process.function.compiled.entries.values() for w in e.worlds]
        return [code_place(eqn.source) for eqn in every_equation(version.func)], version.straight and version.straight.call.__code__.co_filename

    assert process.run(text, X, engine="numpy")[0] == "kept"
    traced = places()
    assert process.run(text, X, engine="numpy")[0] == "read"
    assert places() == traced
    file = str(process.path / "cached_program.py")
    assert {(file, "helper", 5, ""), (file, "f", 9, ""), (file, "f", 10, "")} <= set(traced[0]) and traced[1] == file


EDITS = [
    ("** power + math.pi", "** power - math.pi"),
    ("power=2", "power=3"),
    ("power=2", "power=2.0"),
    ("math.pi", "math.e"),
    ("SCALE = 2.0", "SCALE = 2"),
    ("SCALE = 2.0", "SCALE = 2.5"),
    ("SCALE = 2.0", "SCALE = np.float64(2.0)"),
    ("SCALE = 2.0", "SCALE = np.float32(2.0)"),
    ("SCALE = 2.0", "SCALE = -0.0"),
    ('"shift": 1.0', '"shift": True'),
    ('"shift": 1.0', '"shift": 0.5'),
    ("[1, 2, 3]", "[1, 2, 3, 4]"),
    ("[1, 2, 3]", "(1, 2, 3)"),
    ("[1, 2, 3]", "[1, 3, 2]"),
    ("TABLE = np.arange(5.0)", "TABLE = np.arange(5)"),
    ("TABLE = np.arange(5.0)", "TABLE = 2.0"),
    ("TABLE = np.arange(5.0)", "TABLE = np.ones((2, 5))"),
    ("def helper(x):", "@lambda g: (lambda x: g(x) + 1)\n    def helper(x):"),
    ("return inner(x) * SCALE", "return inner(x, 4) * SCALE"),
    ("import math", "import cmath as math"),
    ("def inner", "from math import fsum as len\n\n    def inner"),
    ("total = 0.0", "total = 1.0"),
    ("return total +", "return abs(total) -"),
    ("def inner", "def abs(x):\n        return x\n\n    def inner"),
]


@pytest.mark.parametrize("edits", [EDITS[::4], pytest.param(EDITS, marks=pytest.mark.slow)], ids=["some", "all"])
def test_whatever_is_edited_is_traced_again(process, edits):
    assert process.run(PLAIN, X)[0] == "kept"
    for old, new in edits:
        edited = PLAIN.replace(old, new)
        assert edited != PLAIN
        came, result = process.run(edited, X)
        assert came != "read", (old, new)
        assert result == pytest.approx(plainly(edited, X)), (old, new)
        assert process.run(PLAIN, X) == ("read", pytest.approx(plainly(PLAIN, X)))


def test_arrays_outside_are_read_at_every_call(process):
    process.run(PLAIN, X)
    edited = PLAIN.replace("np.arange(5.0)", "np.arange(5.0) + 7.0")
    assert process.run(edited, X) == ("read", pytest.approx(plainly(edited, X)))
    table = process.function.__wrapped__.__globals__["TABLE"]
    table += 1.0
    assert process.function(X) == pytest.approx(plainly(edited, X) + X.sum())


def test_a_program_that_was_read_is_guarded_as_any_other(process):
    process.run(PLAIN, X)
    assert process.run(PLAIN, X)[0] == "read"
    space = process.function.__wrapped__.__globals__
    space["SCALE"] = 5.0
    assert process.function(X) == pytest.approx(plainly(PLAIN.replace("SCALE = 2.0", "SCALE = 5.0"), X))
    space["SCALE"], space["inner"] = 2.0, lambda x: x * 100
    assert process.function(X) == pytest.approx(plainly(PLAIN.replace("x ** power + math.pi", "x * 100"), X))


def test_arguments_and_options_are_part_of_the_key(process):
    text = "def f(x, n=2):\n    return x * n\n"
    assert process.run(text, X, exact=False)[0] == "kept"
    others = (X[:2],), (X.astype(np.float32),), (X, 3), (X, True), (X, 3.0), (1.0,), (X, 2)
    options = {"exact": True}, {"native": False}, {"memory": 1 << 20}, {"engine": "xla"}
    for came in ("kept", "read"):
        assert [process.run(text, *args)[0] for args in others] == [came] * len(others)
        assert [process.run(text, X, **o)[0] for o in options] == [came] * len(options)


@pytest.mark.parametrize("what", ["numpy", "python", "source", "processor", "printing"])
def test_versions_are_part_of_the_key(process, monkeypatch, what):
    text = "def f(x):\n    return x * 2\n"
    assert [process.run(text, X)[0] for _ in range(2)] == ["kept", "read"]
    environment.fixed.cache_clear()
    if what == "numpy":
        monkeypatch.setattr(np, "__version__", "9.9")
    elif what == "python":
        monkeypatch.setattr(sys, "version", "9.9")
    elif what == "printing":
        np.set_printoptions(precision=3)
    else:
        monkeypatch.setattr(environment, what, lambda *_: "9.9")
    try:
        assert process.run(text, X)[0] == "kept"
    finally:
        environment.fixed.cache_clear()
        np.set_printoptions(precision=8)


def test_versions_of_what_a_program_uses_are_compared(process, monkeypatch):
    special = pytest.importorskip("scipy.special")
    text = "from scipy import special\ndef f(x):\n    return special.erf(x)\n"
    assert [process.run(text, X)[0] for _ in range(2)] == ["kept", "read"]
    monkeypatch.setattr(sys.modules["scipy"], "__version__", "9.9")
    came, result = process.run(text, X)
    assert came == "kept" and np.allclose(result, special.erf(X))


def test_our_own_source_edited_meanwhile_keeps_nothing(process, monkeypatch):
    monkeypatch.setattr(environment, "LOADED", 0)
    environment.fixed.cache_clear()
    try:
        assert "changed since it was imported" in process.run("def f(x):\n    return x * 2\n", X)[0]
    finally:
        environment.fixed.cache_clear()


LOSS = """
    import numpy as np
    from wengert import grad

    def layer(p, x):
        return np.tanh(x @ p["w"] + p["b"])

    def f(params, x, y):
        for p in params:
            x = layer(p, x)
        return np.mean((x - y) ** 2)

    slope = grad(f)

    def step(params, x, y, rate=0.5):
        g = slope(params, x, y)
        return [{k: p[k] - rate * d[k] for k in p} for p, d in zip(params, g)]
"""


def test_gradients_and_containers(process, rng):
    args = [{"w": rng.normal(size=(3, 3)), "b": rng.normal(size=3)} for _ in range(2)], rng.normal(size=(4, 3)), rng.normal(size=(4, 3))
    for name, transform in (("f", grad), ("step", lambda f: f), ("slope", lambda f: f)):
        (how1, one), (how2, two) = (process.run(LOSS, *args, transform=transform, name=name) for _ in range(2))
        assert (how1, how2) == ("read" if name == "slope" else "kept", "read")  # jit(grad(f)) and grad(f) are one thing
        assert type(two) is list and [list(p) for p in two] == [list(p) for p in one]
        assert all(np.array_equal(p[k], q[k]) for p, q in zip(one, two) for k in p)
        edited = LOSS.replace("np.tanh", "np.sin")
        assert process.run(edited, *args, transform=transform, name=name)[0] == how1
    assert process.run(LOSS, *args, transform=functools.partial(grad, argnums=1))[0] == "kept"


def test_memory_results_and_errors_are_as_traced(process):
    text = """
        import numpy as np

        def f(u, i, tol):
            n = 0
            while np.abs(u).max() > tol:
                u *= 0.5
                n += 1
            v = u[i]
            return {"z": u, "a": (n, v, None), "s": np.float32(v), "k": "word", "c": 2.5}

        def g(x, i):
            return x[i]
    """
    u, v = np.full(4, 16.0), np.full(4, 16.0)
    (_, one), (came, two) = process.run(text, u, 2, 1.0), process.run(text, v, 2, 1.0)
    assert came == "read" and two["z"] is v and np.array_equal(u, v) and list(two) == ["z", "a", "s", "k", "c"]
    assert repr(one) == repr(two) and [type(x) for x in two["a"]] == [int, np.float64, type(None)] and type(two["s"]) is np.float32
    process.run(text, X, np.int64(1), name="g")
    assert process.run(text, X, np.int64(1), name="g") == ("read", X[1])
    with pytest.raises(IndexError, match="index 9 is out of bounds"):
        process.function(X, np.int64(9))


def test_a_file_without_its_executables_gets_them(process, monkeypatch):
    path = kept_file(process)
    told, parts = store.unpacked(path.read_bytes())
    assert list(parts)[0] == "program" and len(parts) == 2
    path.write_bytes(store.packed(told, {"program": parts["program"]}))
    path.chmod(0o600)
    for file in executables.directory().glob("*-cache"):
        file.unlink()
    came, result = process.run(SIMPLE, X)
    assert came == "read" and np.allclose(result, EXPECTED)
    assert store.unpacked(path.read_bytes())[1].keys() == parts.keys()


def test_programs_with_regions_and_names_of_several_words(process):
    text = """
        def f(x, n):
            for k in range(n):
                if x.sum() > 10.0:
                    return x * k
                x = x + 1.0 if x[0] < 2.0 else x * 2.0
            return x
    """
    for came in ("kept", "read"):
        for n in (3, 40):
            assert process.run(text, X, n) == (came, pytest.approx(plainly(text, X, n)))


CALLERS = """
    import functools
    import numpy as np

    SCALE = 2.0

    def one(x, k=1.0):
        return np.sin(x) * SCALE + k

    def make(a):
        return lambda x: x * a

    part = functools.partial(one, k=3.0)
    rows = functools.partial(lambda t, x: t * x, np.arange(5.0))
    table = {"one": one, "two": [make(2.0), part]}

    def apply(g, x, h=make(4.0), *, last=one):
        return h(g(x)) + last(x)

    def f(x):
        return apply(table["one"], x) + table["two"][0](x) + table["two"][1](x) + part(x) + rows(x)

    def given(x, g):
        return g(x) + 1.0

    whole = functools.partial(apply, one)
"""


def test_functions_wherever_they_are_held(process):
    def run(text, name, *args):
        module = process.load(text)
        f = jit(getattr(module, name), cache=process.cache)
        args = [getattr(module, a) if isinstance(a, str) else a for a in args]
        result = f(*args)
        assert np.allclose(result, getattr(module, name)(*args))
        return how(f)

    calls = ("f", X), ("given", X, "one"), ("given", X, "part"), ("whole", X)
    for came in ("kept", "read"):
        assert [run(CALLERS, *call) for call in calls] == [came] * 4
    edits = {
        "np.sin": ("np.cos", calls),
        "SCALE = 2.0": ("SCALE = 2.5", calls),
        "k=3.0": ("k=3", (calls[0], calls[2])),
        "make(4.0)": ("make(5.0)", (calls[0], calls[3])),
        "make(2.0)": ("make(5.0)", (calls[0],)),
        "last=one": ("last=make(1.0)", (calls[0], calls[3])),
        "lambda t, x: t * x": ("lambda t, x: t - x", (calls[0],)),
        '"one": one': ('"one": part', (calls[0],)),
    }
    for old, (new, affected) in edits.items():
        for call in [affected[0], *(c for c in calls if c not in affected)]:
            assert run(CALLERS.replace(old, new), *call) == ("kept" if call in affected else "read"), (old, call)
    assert run(CALLERS.replace("np.arange(5.0))", "np.ones(5))"), "f", X) == "read"


def test_functions_of_other_modules_are_compared_too(process):
    def other(text):
        return process.load(f"import numpy as np\nRATE = 3.0\ndef deep(x):\n    return {text}\n", "cached_other")

    text = "import cached_other\nfrom cached_other import deep as d\ndef f(x):\n    return d(x) + cached_other.deep(x) * cached_other.RATE\n"
    other("np.sin(x)")
    assert [process.run(text, X)[0] for _ in range(2)] == ["kept", "read"]
    other("np.cos(x)")
    came, result = process.run(text, X)
    assert came == "kept" and np.allclose(result, 4 * np.cos(X))
    other("np.cos(x)").RATE = 4.0
    came, result = process.run(text, X)
    assert came == "kept" and np.allclose(result, 5 * np.cos(X))


def test_closures(process):
    text = """
        import numpy as np

        def make(scale, g):
            def f(x):
                return g(x) * scale + 3
            return f

        f = make({scale}, {g})
    """
    settings = [("2.0", "np.sin"), ("3.0", "np.sin"), ("2.0", "np.cos"), ("2.0", "lambda x: x")]
    values = [2 * np.sin(X), 3 * np.sin(X), 2 * np.cos(X), 2 * X]
    for expected in ("kept", "read"):
        for (scale, g), v in zip(settings, values):
            came, result = process.run(text.format(scale=scale, g=g), X)
            assert came == expected and np.allclose(result, v + 3)
