"""Run `python -m unittest` on the standard library's tests of MODULES with every function of theirs converted."""

import importlib.machinery
import sys
import types
import unittest

from wengert.tracer.source import convert as source
from wengert.tracer.source import hooks

counts = [0, 0]


def converted(function, module):
    if function.__code__.co_filename != module.__file__ or hasattr(function, "__wrapped__"):
        return function
    made = source.convert(function)
    counts[made is not function] += 1
    return made


def convert_module(module):
    source._users[module.__file__] = True  # so that helpers called from converted code are converted too
    for owner in [module, *(c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__)]:
        for name, f in list(vars(owner).items()):
            if isinstance(f, types.FunctionType):
                setattr(owner, name, converted(f, module))
            elif isinstance(f, classmethod | staticmethod) and isinstance(f.__func__, types.FunctionType):
                setattr(owner, name, type(f)(converted(f.__func__, module)))
            elif isinstance(f, property) and isinstance(f.fget, types.FunctionType):
                setattr(owner, name, property(converted(f.fget, module), f.fset, f.fdel, f.__doc__))


def main(names):
    assert hooks.call
    original = importlib.machinery.SourceFileLoader.exec_module

    def exec_module(self, module):
        original(self, module)
        if module.__name__ in names:
            convert_module(module)

    importlib.machinery.SourceFileLoader.exec_module = exec_module
    for name in names:
        if name in sys.modules:
            convert_module(sys.modules[name])
    suite = unittest.defaultTestLoader.loadTestsFromNames([f"test.test_{n}" for n in names])
    result = unittest.TextTestRunner(verbosity=0).run(suite)
    print(f"{counts[1]} functions converted, {counts[0]} left; {result.testsRun} tests, {len(result.failures) + len(result.errors)} failed")
    return result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(not main(sys.argv[1:]))
