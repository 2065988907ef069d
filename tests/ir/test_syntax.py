"""Walks, copies and changes of syntax trees give what the module `ast` gives, over sources of Python's own library."""

import ast
import collections
import dis
import inspect
import statistics
import textwrap

import pytest

from wengert.ir.syntax import Transformer, children, copied, fill_places, nodes_of, parse

SOURCES = [ast, collections, dis, inspect, statistics, textwrap]
LEFT_OUT = (ast.expr_context, ast.boolop, ast.operator, ast.unaryop)


@pytest.fixture(params=SOURCES, ids=lambda m: m.__name__)
def tree(request):
    return parse(inspect.getsource(request.param))


def without_places(tree, every):
    """The tree, of which each `every`th node has lost its place, with all that is below it."""
    for n, node in enumerate(ast.walk(tree)):
        if n % every == 0:
            for part in ast.walk(node):
                for name in ("lineno", "end_lineno", "col_offset", "end_col_offset"):
                    vars(part).pop(name, None)
    return tree


def places(tree):
    return ast.dump(tree, include_attributes=True)


def test_nodes_are_those_of_the_library(tree):
    expected = {id(n) for n in ast.walk(tree) if not isinstance(n, LEFT_OUT)}
    assert {id(n) for n in nodes_of(tree) if not isinstance(n, LEFT_OUT)} == expected
    for node in ast.walk(tree):
        below = [n for n in ast.iter_child_nodes(node) if not isinstance(n, LEFT_OUT)]
        assert [n for n in children(node) if not isinstance(n, LEFT_OUT)] == below


def test_a_copy_is_alike_and_apart(tree):
    made = copied(tree)
    assert places(made) == places(tree)
    shared = {id(n) for n in ast.walk(made)} & {id(n) for n in ast.walk(tree)}
    assert all(isinstance(n, (*LEFT_OUT, ast.cmpop)) for n in ast.walk(tree) if id(n) in shared)


@pytest.mark.parametrize("every", [1, 3, 50])
def test_places_are_filled_in_as_by_the_library(tree, every):
    for part in (tree, tree.body[-1]):
        expected = ast.fix_missing_locations(without_places(copied(part), every))
        assert places(fill_places(without_places(part, every))) == places(expected)


def test_what_has_a_place_is_left_alone_with_all_below_it():
    tree = parse("f(x, y + 1)", mode="eval").body
    bare = without_places(tree.args[1].left, 1)
    new = ast.copy_location(ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.USub(), tree)), tree.args[1])
    fill_places(new, below=False)
    assert new.operand.col_offset == tree.args[1].col_offset and not hasattr(bare, "lineno")


class Changes:
    """Names get longer, `pass` and asserts go, `return` becomes two statements."""

    def visit_Name(self, node):
        return ast.copy_location(ast.Name(node.id + "_", node.ctx), node)

    def visit_Assert(self, node):
        return None

    def visit_Return(self, node):
        self.generic_visit(node)
        return [ast.copy_location(ast.Pass(), node), node]

    def visit_BinOp(self, node):
        self.generic_visit(node)
        return ast.copy_location(ast.BinOp(node.right, node.op, node.left), node)


def test_changes_are_those_of_the_library(tree):
    ours, theirs = type("Ours", (Changes, Transformer), {}), type("Theirs", (Changes, ast.NodeTransformer), {})
    expected = theirs().visit(copied(tree))
    assert places(ours().visit(tree)) == places(expected)
