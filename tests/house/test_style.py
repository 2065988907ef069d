"""Lint and import order, by the one tool that pyproject.toml configures; how long files are, and how many ways lead through functions."""

import ast
import re
import subprocess
import sys

from places import ROOT

from wengert.ir import syntax

ROOMS = ("tracer", "ir", "autodiff", "backends", "compat", "examples")
SOURCES = [ROOT / "__init__.py", ROOT / "__main__.py", *(p for room in ROOMS for p in sorted((ROOT / room).rglob("*.py")))]
LONGEST = 400  # lines of a file
MANY, SHARE = 10, 0.04  # ways through a function by C901, and how many of all functions may have more
WIDEST, WIDE_SHARE = 25, 0.0885  # the same, operands of `and` and `or` and comprehensions counted too
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
BRANCHES = ast.If | ast.IfExp | ast.For | ast.AsyncFor | ast.While | ast.ExceptHandler | ast.Assert | ast.comprehension | ast.match_case


def test_ruff():
    done = subprocess.run([sys.executable, "-m", "ruff", "check", "--no-cache", str(ROOT)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_files_are_short():
    lines = {str(p.relative_to(ROOT)): p.read_text().count("\n") for p in SOURCES}
    assert {name: n for name, n in lines.items() if n > LONGEST} == {}


def functions(tree):
    return [node for node in ast.walk(tree) if isinstance(node, FUNCTIONS)]


def within(node):
    """All nodes of a function but those of functions defined in it."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, FUNCTIONS):
            yield child
            yield from within(child)


def ways(function):
    """Decisions in a function, and one: McCabe's number, with the operands of `and` and `or`, and comprehensions."""
    nodes = [*within(function)]
    operands = sum(len(n.values) - 1 for n in nodes if isinstance(n, ast.BoolOp))
    loops = [n for n in nodes if isinstance(n, ast.For | ast.AsyncFor | ast.While | ast.Try)]
    conditions = sum(len(n.ifs) for n in nodes if isinstance(n, ast.comprehension))
    return 1 + operands + conditions + sum(isinstance(n, BRANCHES) for n in nodes) + sum(bool(n.orelse) for n in loops)


def test_ways_are_counted():
    tree = ast.parse("def f(x):\n    def g(y):\n        return y and x or [i for i in y if i]\n    return g(x) if x else 0\n")
    assert [ways(f) for f in functions(tree)] == [2, 5]


def test_few_functions_have_many_ways():
    config = f"lint.mccabe.max-complexity={MANY}"
    command = [sys.executable, "-m", "ruff", "check", "--no-cache", "--select", "C901", "--output-format", "concise", "--config", config]
    found = re.findall(r".*C901.*", subprocess.run([*command, *map(str, SOURCES)], capture_output=True, text=True).stdout)
    count = sum(len(functions(syntax.parse(p.read_text()))) for p in SOURCES)
    assert len(found) < SHARE * count, "\n".join(found)


def test_few_functions_have_many_ways_with_operands_and_comprehensions_counted():
    found = [(ways(f), f"{p.relative_to(ROOT)}:{f.lineno} {f.name}") for p in SOURCES for f in functions(syntax.parse(p.read_text()))]
    assert [x for x in found if x[0] > WIDEST] == []
    assert sum(n > MANY for n, _ in found) < WIDE_SHARE * len(found)
