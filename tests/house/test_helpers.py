"""What the tests share can be imported, and what it names of the package is there: most of it runs under options alone."""

import ast
import importlib
import pathlib
import types

import pytest

from wengert.ir import syntax

HELPERS = sorted(pathlib.Path(__file__).parents[1].glob("helpers/*.py"))


@pytest.mark.parametrize("path", HELPERS, ids=lambda path: path.stem)
def test_what_a_helper_names_of_the_package_is_there(path):
    module, tree = importlib.import_module(path.stem), syntax.parse(path.read_text())
    ours = {name: x for name, x in vars(module).items() if is_of_package(x)}
    asked = [n for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    missing = [f"{n.value.id}.{n.attr}, line {n.lineno}" for n in asked if is_missing(ours.get(n.value.id), n.attr)]
    assert not missing


def is_of_package(x):
    return isinstance(x, types.ModuleType) and x.__name__.partition(".")[0] == "wengert"


def is_missing(module, name):
    return module is not None and not hasattr(module, name)
