"""Programs kept on disk: found by another process where all that decided them is as it was, and only there."""

import builtins
import errno
import functools
import importlib.util
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
import warnings

import numpy as np
import pytest

from wengert import WengertError, grad, jit
from wengert import __main__ as cli
from wengert.backends.native import build, direct, legal
from wengert.backends.xla import dispatch, executables
from wengert.tracer import engine
from wengert.tracer import entry as entries
from wengert.tracer.cache import environment, store
from wengert.tracer.cache.store import Store


class Process:
    """Stands for processes that share a cache: each `run` loads the modules anew, from text, and compiles a function of theirs anew."""

    def __init__(self, path, monkeypatch):
        self.path, self.monkeypatch, self.cache = path, monkeypatch, path / "cache"

    def load(self, text, name="cached_program"):
        file = self.path / f"{name}.py"
        file.write_text(textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        self.monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    def run(self, text, *args, transform=lambda f: f, name="f", cache=None, **options):
        """-> (how the program was come by: "read", "kept" or why not, the result)."""
        module = self.load(text)
        f = jit(transform(getattr(module, name)), cache=cache or self.cache, **options)
        result = f(*args)
        self.function = f
        return how(f), result


def how(f):
    """The `cache` lines of explain()."""
    found = [line.split(None, 1)[1] for line in f.explain().splitlines() if line.split()[:1] == ["cache"]]
    return " | ".join(t.split()[0] if t.startswith(("kept", "read")) else t for t in found)


@pytest.fixture
def process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return Process(tmp_path, monkeypatch)


X = np.linspace(0.1, 1.0, 5)
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


def plainly(text, *args, name="f"):
    space = {}
    exec(textwrap.dedent(text), space)
    return space[name](*args)


def test_the_second_process_neither_traces_nor_compiles(process, monkeypatch):
    first = process.run(PLAIN, X)
    monkeypatch.setattr(entries, "capture", None)  # what traces
    second = process.run(PLAIN, X)
    assert (first[0], second[0]) == ("kept", "read") and first[1] == second[1]
    assert second[1] == pytest.approx(plainly(PLAIN, X))


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


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import time\ndef f(x):\n    return x * time.localtime().tm_year", "it calls localtime"),
        ("from time import localtime\ndef f(x):\n    return x * localtime().tm_year", "localtime"),
        ("from time import time\ndef f(x):\n    return x * time()", "draws"),
        ("import numpy as np\ndef f(x):\n    return x + np.random.rand()", "draws"),
        ("def f(x):\n    print(x)\n    return x + 1", "prints"),
        ("def f(x):\n    import time\n    return x * 2", "imports time"),
        ("def f(x):\n    if x is None:\n        from .math import pi\n    return x * 2", "imports math"),
        ("def f(x):\n    from math import pi\n    return x * pi", "kept"),
        ("def f(x):\n    if x is None:\n        print('none')\n    return x * 2", "kept"),
        ("import sys\ndef f(x):\n    return x * len(sys.argv)", "the module sys"),
        ("from sys import argv\ndef f(x):\n    return x * len(argv[0])", "kept"),
        ("def f(x):\n    return sum(x * len(k) for k in {'a', 'bc'})", "set"),
        ("def f(x):\n    for k in {'a', 'bc'}:\n        x = x * len(k)\n    return x", "set"),
        ("def f(x):\n    return x * (hash('a') % 7)", "hash"),
        ("def f(x):\n    return x * len(globals())", "globals"),
        ("class C:\n    def __init__(self):\n        self.k = 2.0\nc = C()\ndef f(x):\n    return x * c.k", "a C"),
        ("class C:\n    def __add__(self, x):\n        return x * 3\nc = C()\ndef f(x):\n    return c + x", "a C"),
        ("def g(x):\n    yield x * 2\ndef f(x):\n    return sum(g(x))", "g ran without being captured"),
        ("n = 0\ndef f(x):\n    global n\n    n = n + 1\n    return x * 2", "stores"),
        ("def f(x):\n    return x[::2]", "view"),
        ("seen = []\ndef f(x):\n    seen.append(1)\n    return x * 2", "stores"),
        ("import numpy as np\ndef f(x):\n    return x if x.sum() > 0 else np.append(x, x)", "by value"),
        ("import functools\n@functools.cache\ndef k():\n    return 2.0\ndef f(x):\n    return x * k()", "it calls k"),
        ("from pathlib import Path\np = Path('q')\ndef f(x):\n    return x * p.exists()", "it calls Path.exists"),
        ("import numpy as np\nfrom wengert import custom_jvp\n@custom_jvp\ndef g(x):\n    return x * 2\ndef f(x):\n    return g(x)", "custom_jvp"),
        ("import numpy as np\ndef f(x):\n    return x + np.loadtxt('numbers.txt')", "loadtxt"),
        ("from os.path import exists\ndef f(x):\n    return x * exists('numbers.txt')", "exists"),
        ("def f(x):\n    return sorted([x, x * 2], key=id)[0]", "id"),
        ("def f(x):\n    return list(map(float, open('numbers.txt')))[0] * x", "open"),
    ],
)
def test_what_a_file_cannot_tell_is_not_kept_and_says_so(process, text, why):
    (process.path / "numbers.txt").write_text("3.0\n")
    try:
        came, _ = process.run(text + "\n", X)
    except Exception as error:  # refused by the tracer itself
        came = f"not kept: {error}"
    if why == "kept":
        assert came == "kept"
        return
    assert came.startswith("not kept: ") and why in came
    assert not Store(process.cache).all()


EDITED = """
    import functools
    import math
    import numpy as np
    from numpy import sin, cos as wave

    A, B, C = 2.0, 3, True
    NAMES = ("one", "two")
    SETTINGS = {"rate": 0.5, "power": [1, 2], "on": False}
    TABLE = np.linspace(0.0, 1.0, 5)

    def one(x, k=1.5, *, sign=-1):
        return sin(x) * A + k * sign

    def two(x):
        return one(x, 2.5) - wave(x * B) if C else one(x)

    def make(a, g=one):
        def inner(x, b=0.25):
            return g(x) * a + b
        return inner

    part = functools.partial(one, k=0.75, sign=2)
    CALLS = {"one": one, "two": two, "part": part}
    closure = make(1.25)
    other = make(0.5, two)

    def f(x, n=2):
        total = TABLE * x + closure(x) - other(x) + part(x)
        for i in range(n):
            for p in SETTINGS["power"]:
                total = total + CALLS[NAMES[0]](x) ** p * SETTINGS["rate"] + i * 1.5
        if SETTINGS["on"]:
            total = two(total)
        while total.max() > 8.0:
            total = total * 0.5
        return total + math.sqrt(4.0), len(NAMES), {"k": n + 3}
"""
SWAPS = [["sin", "wave", "np.tanh"], ["one", "two", "part"], ["+", "-", "*"], ["True", "False"], ["math.sqrt", "math.exp"], ["A", "B"]]


def edit(text, rng):
    """The text with one token exchanged for another of its kind."""
    tokens = re.split(r"(\b\d+\.?\d*\b|\bnp\.tanh\b|\bmath\.\w+\b|\b\w+\b| [-+*] )", text)
    places = [i for i, t in enumerate(tokens) if re.fullmatch(r"\d+\.?\d*", t) or any(t.strip() in s for s in SWAPS)]
    i = int(rng.choice(places))
    t = tokens[i].strip()
    if t[0].isdigit():
        new = str(rng.choice([t + "5" if "." in t else t + ".0", str(float(t) + 0.25), "1", "2", "3", "0.125"]))
    else:
        new = str(rng.choice(next(s for s in SWAPS if t in s)))
    tokens[i] = tokens[i].replace(t, new)
    return "".join(tokens)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_edits_are_never_answered_by_what_was_there_before(process, seed):
    rng = np.random.default_rng(seed)
    texts, came = [textwrap.dedent(EDITED)], []
    for _ in range(60):
        text = str(rng.choice(texts))
        text = edit(text, rng) if rng.random() < 0.6 else text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                expected = plainly(text, X)
            except Exception:
                continue
            if not np.isfinite(expected[0]).all():
                continue
            try:
                how_, result = process.run(text, X)
            except WengertError:
                continue
        np.testing.assert_allclose(result[0], expected[0], rtol=1e-9, err_msg=text)
        assert repr(result[1:]) == repr(expected[1:]), text
        texts.append(text)
        came.append(how_.split(":")[0])
    assert came.count("read") > 10 and came.count("kept") > 10


# -- files -----------------------------------------------------------------------------------------

SIMPLE = "import numpy as np\ndef f(x):\n    return np.sin(x) * 2 + 1\n"
EXPECTED = np.sin(X) * 2 + 1


def kept_file(process):
    assert process.run(SIMPLE, X)[0] == "kept"
    ((path, _),) = Store(process.cache).all()
    return path


def test_damaged_files_are_as_if_they_were_not_there(process):
    path = kept_file(process)
    whole = path.read_bytes()
    places = [*range(0, 64), *np.random.default_rng(0).integers(64, len(whole), 200)]
    damaged = [whole[:n] for n in places] + [whole[:n] + bytes([whole[n] ^ 1]) + whole[n + 1 :] for n in places]
    damaged += [b"", b"something else", whole + b"x"]
    for data in damaged:
        assert store.unpacked(data) is None
    for data in damaged[:: len(damaged) // 4]:
        path.write_bytes(data)
        came, result = process.run(SIMPLE, X)
        assert came == "kept" and np.allclose(result, EXPECTED)
        assert path.read_bytes()[:16] == whole[:16]
        assert process.run(SIMPLE, X)[0] == "read"


def test_a_file_under_another_key_is_not_believed(process):
    path = kept_file(process)
    other = SIMPLE.replace("* 2", "* 3")
    process.run(other, X)
    ((second, _),) = [f for f in Store(process.cache).all() if f[0] != path]
    second.write_bytes(path.read_bytes())
    came, result = process.run(other, X)
    assert came == "kept" and np.allclose(result, np.sin(X) * 3 + 1)


def test_files_that_others_may_write_are_not_believed(process, monkeypatch):
    path = kept_file(process)
    path.chmod(0o666)
    assert process.run(SIMPLE, X)[0] == "kept"
    assert path.stat().st_mode & 0o777 == 0o600 and process.run(SIMPLE, X)[0] == "read"
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    assert process.run(SIMPLE, X)[0] == "kept"


@pytest.mark.parametrize("where", ["mkstemp", "write", "rename"])
def test_a_directory_that_cannot_be_written(process, monkeypatch, where):
    def fail(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    real = builtins.open
    with monkeypatch.context() as patch:
        if where == "mkstemp":
            patch.setattr(store.tempfile, "mkstemp", fail)
        elif where == "rename":
            patch.setattr(store.os, "replace", fail)
        else:
            patch.setattr(store, "open", lambda f, mode: _Full(real(f, mode)) if mode == "wb" else real(f, mode), raising=False)
        came, result = process.run(SIMPLE, X)
    assert came == "not kept: OSError: No space left on device" and np.allclose(result, EXPECTED)
    assert [p for p in process.cache.rglob("*") if p.is_file()] == []
    assert [process.run(SIMPLE, X)[0] for _ in range(2)] == ["kept", "read"]


class _Full:
    """A file on a disk that fills up half-way."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()

    def write(self, data):
        self.file.write(data[: len(data) // 2])
        raise OSError(errno.ENOSPC, "No space left on device")


def test_a_directory_that_is_a_file_or_is_not_there(process):
    (process.path / "file").write_text("")
    for cache in (process.path / "file", process.path / "deep" / "er", "/proc/no"):
        came, result = process.run(SIMPLE, X, cache=cache)
        assert np.allclose(result, EXPECTED)
        assert came == "kept" if "deep" in str(cache) else came.startswith("not kept")


def test_the_least_recently_used_goes_first(tmp_path, monkeypatch):
    files = Store(tmp_path)
    monkeypatch.setattr(store, "MOST", 5000)
    keys = [f"{n:064x}" for n in range(6)]
    for n, key in enumerate(keys):
        files.write(key, "a", {"n": n}, {"program": b"x" * 1000})
        for path, _ in files.all():
            if path.parent.name == keys[0]:
                os.utime(path, (2e9, 2e9))
            elif path.parent.name == key:
                os.utime(path, (1e9 + n, 1e9 + n))
    assert {p.parent.name for p, _ in files.all()} == {keys[0], *keys[3:]}
    assert [told["n"] for _, told, _ in files.find(keys[0])] == [0]
    for n in range(store.EACH + 3):
        files.write(keys[0], f"{n}", {"n": n}, {})
    assert len([p for p, _ in files.all() if p.parent.name == keys[0]]) <= store.EACH
    assert files.clear() > 0 and not files.all() and not list(tmp_path.iterdir())


def test_writers_at_the_same_time(tmp_path):
    files, key, bad = Store(tmp_path), "a" * 64, []

    def work(n):
        for k in range(20):
            files.write(key, "same", {"n": n}, {"program": bytes([n]) * 5000})
            for _, told, parts in files.find(key):
                if parts["program"] != bytes([told["n"]]) * 5000:
                    bad.append((n, k))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not bad and len(files.all()) == 1 and not list(tmp_path.rglob("*.part"))


WRITER = """
import importlib.util, sys, time
spec = importlib.util.spec_from_file_location("store", sys.argv[1])
store = importlib.util.module_from_spec(spec)
spec.loader.exec_module(store)
files, n = store.Store(sys.argv[2]), int(sys.argv[3])
print("begun", flush=True)
for k in range(int(sys.argv[4])):
    assert files.write("a" * 64, str(k % 3), {"n": n}, {"program": bytes([n]) * 300_000}) is None
    for _, told, parts in files.find("a" * 64):
        assert parts["program"] == bytes([told["n"]]) * 300_000
"""


def writer(directory, n, times):
    return subprocess.Popen([sys.executable, "-S", "-c", WRITER, store.__file__, directory, str(n), str(times)], stdout=subprocess.PIPE)


def test_processes_that_write_at_the_same_time(tmp_path):
    processes = [writer(tmp_path, n, 10) for n in range(8)]
    assert [p.wait() for p in processes] == [0] * 8
    found = list(Store(tmp_path).find("a" * 64))
    assert len(found) == 3 and all(parts["program"] == bytes([told["n"]]) * 300_000 for _, told, parts in found)
    assert not list(tmp_path.rglob("*.part"))


def test_processes_that_are_killed_while_they_write(tmp_path, monkeypatch):
    for n in range(6):
        process = writer(tmp_path, n, 1 << 30)
        process.stdout.readline()
        time.sleep(0.01 + 0.007 * n)
        process.kill()
        process.wait()
        found = list(Store(tmp_path).find("a" * 64))
        assert all(parts["program"] == bytes([told["n"]]) * 300_000 for _, told, parts in found)
        assert len(found) == len(Store(tmp_path).all())  # none of them damaged
    unfinished = tmp_path / ("a" * 64) / "begun.part"
    unfinished.write_bytes(b"half")
    Store(tmp_path).trim()
    assert unfinished.exists()  # somebody may be at it
    monkeypatch.setattr(store, "FORGOTTEN", -1.0)
    Store(tmp_path).trim()
    assert not list(tmp_path.rglob("*.part")) and list(Store(tmp_path).find("a" * 64))


def test_two_worlds_are_two_files_and_each_is_found(process):
    text = "K = {}\ndef f(x):\n    return x * K\n"
    assert [process.run(text.format(k), X)[0] for k in (2.0, 3.0, 2.0, 3.0)] == ["kept", "kept", "read", "read"]


def test_the_command_lists_and_clears(process, capsys, monkeypatch):
    kept_file(process)
    monkeypatch.setenv("WENGERT_CACHE", str(process.cache))
    assert cli.main(["cache"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(f"{process.cache}: 1 program(s), 0.0 MB") and second.endswith("kB  f(%x: f64[5]) -> f64[5]")
    assert cli.main(["cache", str(process.cache), "--clear"]) == 0
    assert capsys.readouterr().out == f"{process.cache}: 1 program(s) removed\n"
    assert process.run(SIMPLE, X)[0] == "kept"


def test_where_programs_are_kept(process, monkeypatch, tmp_path):
    f = process.load(SIMPLE).f
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    for value, cache, where in (
        ("", None, None),
        ("", True, tmp_path / "home" / "wengert"),
        ("0", None, None),
        ("1", None, tmp_path / "home" / "wengert"),
        (str(tmp_path / "a"), None, tmp_path / "a"),
        (str(tmp_path / "a"), True, tmp_path / "a"),
        (str(tmp_path / "a"), False, None),
        (str(tmp_path / "a"), str(tmp_path / "b"), tmp_path / "b"),
    ):
        monkeypatch.setenv("WENGERT_CACHE", value)
        found = getattr(jit(f, cache=cache).compiled.cache, "store", None)
        assert (found and found.directory) == where
    assert not hasattr(jit(f, cache=True, check=True).compiled.cache, "store")
    with pytest.raises(TypeError, match="jit keeps programs in a directory"):
        jit(f, cache=3)


# -- processes -------------------------------------------------------------------------------------

SCRIPT = """
import os, sys
import numpy as np
import jax.monitoring
from wengert import grad
import cached_script

events = []
jax.monitoring.register_event_listener(lambda name, **_: events.append(name))
f = cached_script.f
print(f(np.linspace(0.1, 1.0, 5)).tolist())
print("compiled" if any("cache_misses" in e for e in events) else "not compiled")
print("asked" if any("compile_requests" in e for e in events) else "not asked")
print([line.split()[1] for line in f.explain().splitlines() if "  cache  " in line])
"""


@pytest.mark.parametrize("edited", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_another_process_finds_it_and_one_that_was_edited_does_not(tmp_path, edited):
    def run(text):
        (tmp_path / "cached_script.py").write_text(text)
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(entries.__file__))))
        env = {**os.environ, "WENGERT_CACHE": str(tmp_path / "cache"), "PYTHONPATH": os.pathsep.join([str(tmp_path), root])}
        env |= {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "random"}
        made = subprocess.run([sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, cwd=tmp_path)
        assert made.returncode == 0, made.stderr
        assert not made.stderr
        return made.stdout.split("\n")[:-1]

    text = "import numpy as np\nfrom wengert import jit\n@jit(engine='xla')\ndef f(x):\n    return np.sin(x) * 2\n"
    first = run(text)
    assert first[1:] == ["compiled", "asked", "['kept']"]
    if edited:
        other = run(text.replace("* 2", "* 3"))
        assert other[1:] == ["compiled", "asked", "['kept']"] and other[0] != first[0]
    assert run(text) == [first[0], "not compiled", "asked", "['read']"]


@pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")
def test_straight_lines_that_run_as_nests_are_kept(process, monkeypatch):
    text = "import numpy as np\ndef f(x, s):\n    y = np.abs(x * s - 1) + x\n    return np.sort(np.where(y > 1, y * y, y / 3))\n"
    monkeypatch.setattr(dispatch, "lower", None)  # XLA compiles nothing
    monkeypatch.setattr(engine, "CHOICE", None)
    for name, value in (("LAUNCH", 1.0), ("TINY", 0.0), ("BETTER", 1e9), ("estimated", lambda func: 1e9 * len(func.eqns))):
        monkeypatch.setattr(engine, name, value)
    want = pytest.approx(plainly(text, X.copy(), 0.37))
    assert process.run(text, X.copy(), 0.37) == ("kept", want)
    monkeypatch.setattr(engine, "fused", None)  # it is read as it was put together
    assert process.run(text, X.copy(), 0.37) == ("read", want)
    assert "as NumPy, straight lines and loops as 1 function of machine code" in process.function.explain()


@pytest.mark.skipif(importlib.util.find_spec("llvmlite") is None, reason="llvmlite, which is optional, is not installed")
def test_a_loop_that_runs_as_numpy_is_kept_as_machine_code_alone(process, monkeypatch):
    text = "def f(x, s):\n    for i in range(1, len(x)):\n        x[i] += x[i - 1] * s\n    return x.sum()\n"
    lower = dispatch.lower
    monkeypatch.setattr(dispatch, "lower", None)  # XLA compiles nothing
    monkeypatch.setattr(engine, "CHOICE", None)
    monkeypatch.setattr(engine, "LAUNCH", 1.0)
    assert process.run(text, X.copy(), 0.37) == ("kept", plainly(text, X.copy(), 0.37))
    objects = {}
    for module, name in ((build, "ENGINES"), (build, "OBJECTS"), (executables, "OBJECTS"), (direct, "MADE")):
        monkeypatch.setattr(module, name, objects if name == "OBJECTS" else {})
    monkeypatch.setattr(build.machine()[0], "create_pass_builder", None)  # nor does LLVM
    assert process.run(text, X.copy(), 0.37) == ("read", plainly(text, X.copy(), 0.37))
    assert "runs         as NumPy, 1 loop as machine code" in process.function.explain() and len(build.OBJECTS) == 1
    monkeypatch.setattr(direct, "refusal", lambda: "not here")
    monkeypatch.setattr(legal, "refusal", lambda: "nor here")
    monkeypatch.setattr(dispatch, "lower", lower)
    assert process.run(text, X.copy(), 0.37) == ("read", pytest.approx(plainly(text, X.copy(), 0.37)))
    assert "as NumPy" not in process.function.explain()
