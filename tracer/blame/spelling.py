"""How the user's source spells what an equation computes: the expression, the statement around it, the variable it is
for, the loop it is in."""

import ast
import functools
import linecache

from ...ir.core import Lit
from ...ir.source import hint_name, place_of_node
from ...ir.syntax import parse

STORES = {"dynamic_update_slice", "scatter"}
MOST = 60  # bound: characters of an expression that a message shows


@functools.lru_cache(64)
def nodes(file):
    """(statements, expressions by position) of a file; empty where there is none."""
    try:
        tree = parse("".join(linecache.getlines(file)))
    except (SyntaxError, ValueError):
        return (), {}
    statements, expressions = [], {}
    for node in ast.walk(tree):
        if isinstance(node, ast.stmt):
            statements.append(node)
        if isinstance(node, ast.expr | ast.AugAssign):
            expressions.setdefault(place_of_node(node), node)
    return statements, expressions


def expression(source):
    """The text of the expression that an instruction evaluates, or None."""
    if source is None:
        return None
    node = nodes(source.file)[1].get(source.position())
    if node is None:
        return None
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= MOST else text[: MOST - 3] + "..."


def operand_text(eqn, k):
    """The text of operand k of an equation, where that stands in the expression as such; None where it does not."""
    node = None if eqn.source is None or eqn.source.mark else nodes(eqn.source.file)[1].get(eqn.source.position())
    parts = {ast.Call: lambda n: n.args, ast.BinOp: lambda n: [n.left, n.right], ast.UnaryOp: lambda n: [n.operand]}
    found = parts[type(node)](node) if type(node) in parts else ()
    if len(found) != len(eqn.operands) or isinstance(node, ast.Call) and node.keywords:
        return None
    text = " ".join(ast.unparse(found[k]).split())
    return text if len(text) <= MOST else None


def statement(source):
    """The innermost statement around an instruction, or None."""
    line, end, *_ = source.position()
    if line is None:
        return None
    around = [s for s in nodes(source.file)[0] if s.lineno <= line and (s.end_lineno or s.lineno) >= (end or line)]
    return min(around, key=lambda s: (s.end_lineno - s.lineno, -s.col_offset), default=None)


def stored_into(source):
    """The text of what a statement stores an item into, or None."""
    found = statement(source)
    targets = found.targets if isinstance(found, ast.Assign) else [getattr(found, "target", None)]
    return ast.unparse(targets[0].value) if isinstance(targets[0], ast.Subscript) else None


def assigned(source):
    """The text of the variable that a statement assigns to, if its elements are those of the expression that an
    instruction evaluates: it is all of it, or an operand of its arithmetic. Else None."""
    found, place = statement(source), source.position()
    if isinstance(found, ast.Assign) and len(found.targets) == 1:
        target = found.targets[0]
    elif isinstance(found, ast.AugAssign | ast.AnnAssign):
        target = found.target
    else:
        return None
    if not isinstance(target, ast.Name | ast.Attribute):
        return None
    node = found if place_of_node(found) == place else found.value
    while node is not None and place_of_node(node) != place:
        parts = {ast.BinOp: lambda n: (n.left, n.right), ast.UnaryOp: lambda n: (n.operand,)}.get(type(node))
        node = next((p for p in parts(node) if is_around(p, place)), None) if parts else None
    return ast.unparse(target) if node is not None else None


def is_around(node, place):
    line, end, column, last = place_of_node(node)
    return (line, column) <= (place[0], place[2]) and (place[1], place[3]) <= (end, last)


def loop_variable(source):
    """(the name that a `for` binds, the arguments of the `range` that it goes through or None), or None."""
    found = statement(source)
    if not isinstance(found, ast.For) or not isinstance(found.target, ast.Name):
        return None
    over = found.iter if isinstance(found.iter, ast.Call) else None
    plain = over is not None and isinstance(over.func, ast.Name) and over.func.id == "range" and not over.keywords
    return found.target.id, over.args if plain else None


def written_number(node):
    """The int that is written there, or None."""
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return found if type(found) is int else None


def spelling_of(atom):
    """A value as the user would call it: its number, its variable, the expression it is of, or None."""
    if isinstance(atom, Lit):
        return repr(atom.value.item())
    name = hint_name(atom)
    if name or atom.eqn is None or atom.eqn.source is None:
        return name
    if atom.eqn.op.name in STORES and not atom.eqn.source.mark and (stored := stored_into(atom.eqn.source)):
        return stored
    found = expression(atom.eqn.source)
    return found and (f"the derivative at {found}" if atom.eqn.source.mark else found)
