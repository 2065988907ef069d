"""Stands for processes that share a cache on disk, for the tests of `tracer/cache/`."""

import importlib.util
import sys
import textwrap

import numpy as np

from wengert import jit
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


X = np.linspace(0.1, 1.0, 5)
SIMPLE = "import numpy as np\ndef f(x):\n    return np.sin(x) * 2 + 1\n"
EXPECTED = np.sin(X) * 2 + 1


def plainly(text, *args, name="f"):
    space = {}
    exec(textwrap.dedent(text), space)
    return space[name](*args)


def kept_file(process):
    assert process.run(SIMPLE, X)[0] == "kept"
    ((path, _),) = Store(process.cache).all()
    return path
