"""Run the standard library's tests of MODULES with every function of theirs converted: `converted.py [blind | plain] MODULE[=TEST] ...`

blind: as if no function had source; plain: unconverted, to compare with. TEST is what `unittest` takes, if it is not test_MODULE.
"""

import importlib.machinery
import sys
import types
import unittest

from wengert.tracer.common import origin
from wengert.tracer.regions import convert as source
from wengert.tracer.regions import hooks
from wengert.tracer.rewriter import converted as code

counts = [0, 0]
made_of = {}  # function -> its twin
OURS = {"copy", "ast", "linecache", "tokenize", "types", "inspect", "dis", "enum", "operator"}  # conversion itself needs them


def converted(function, module):
    if function.__code__.co_filename != module.__file__ or hasattr(function, "__wrapped__"):
        return function
    if function not in made_of:
        made_of[function] = source.convert(function)
        counts[made_of[function] is not function] += 1
    return made_of[function]


def convert_module(module):
    origin._users[module.__file__] = module.__name__ not in OURS  # so that helpers called from converted code are converted too
    for owner in [module, *(c for c in vars(module).values() if isinstance(c, type) and c.__module__ == module.__name__)]:
        for name, f in list(vars(owner).items()):
            if isinstance(f, types.FunctionType):
                setattr(owner, name, converted(f, module))
            elif isinstance(f, classmethod | staticmethod) and isinstance(f.__func__, types.FunctionType):
                setattr(owner, name, type(f)(converted(f.__func__, module)))
            elif isinstance(f, property) and isinstance(f.fget, types.FunctionType):
                setattr(owner, name, property(converted(f.fget, module), f.fset, f.fdel, f.__doc__))


def suite_of(tests):
    loader = unittest.defaultTestLoader
    return unittest.TestSuite(loader.loadTestsFromName(f"test.{t}") for t in tests)


def main(how, names):
    assert hooks.call
    if how == "blind":
        code.find = lambda code, space: None
    modules = [n.partition("=")[0] for n in names]
    original = importlib.machinery.SourceFileLoader.exec_module

    def exec_module(self, module):
        original(self, module)
        if module.__name__ in modules and how != "plain":
            convert_module(module)

    importlib.machinery.SourceFileLoader.exec_module = exec_module
    for name in modules:
        if name in sys.modules and how != "plain":
            convert_module(sys.modules[name])
    result = unittest.TextTestRunner(verbosity=0).run(suite_of([n.partition("=")[2] or f"test_{n}" for n in names]))
    bad = sorted(str(test) for test, _ in result.failures + result.errors)
    print(f"{counts[1]} functions converted, {counts[0]} left; {result.testsRun} tests, {len(bad)} failed")
    for test in bad:
        print("failed", test)
    return not bad


if __name__ == "__main__":
    way = sys.argv[1] if sys.argv[1] in ("blind", "plain") else "converted"
    sys.exit(not main(way, sys.argv[1 + (way != "converted") :]))
