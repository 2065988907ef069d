"""Every message of the package, read off its source: the words of `message(...)` and of errors raised with text, by kind."""

import ast
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
HOLE = "…"
KINDS = """UnsupportedError ConcretizationError LeakError DerivativeError ShapeError CheckError IntegerOverflow NoTrip Fallback
ValueError TypeError IndexError""".split()
NAMED = {"CannotRoll": "UnsupportedError", "Overrun": "UnsupportedError", "Overran": "UnsupportedError", "Unsettled": "UnsupportedError",
         "DeepRecursion": "UnsupportedError", "Untold": "UnsupportedError", "RuleError": "DerivativeError", "warn_fallback": "Fallback",
         "CheckFailed": "CheckError"}  # fmt: skip

Message = collections.namedtuple("Message", "kind words instead module")


def texts(node, scope):
    """The texts that an expression may be, with HOLE for what is filled in; none if it is no text."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else HOLE for part in node.values)]
    if isinstance(node, ast.IfExp):
        return texts(node.body, scope) + texts(node.orelse, scope)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [a + b for a in texts(node.left, scope) or [HOLE] for b in texts(node.right, scope) or [HOLE]]
    if isinstance(node, ast.Name):
        return [text for value in scope.get(node.id, ()) for text in texts(value, {})]
    return []


def assigned(tree):
    """{name: what is assigned to it} in a module or a function."""
    found = collections.defaultdict(list)
    for node in ast.walk(tree):
        for target in node.targets if isinstance(node, ast.Assign) else []:
            if isinstance(target, ast.Name):
                found[target.id].append(node.value)
            elif isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                for name, value in zip(target.elts, node.value.elts, strict=False):
                    if isinstance(name, ast.Name):
                        found[name.id].append(value)
    return found


def called(node):
    return getattr(node.func, "id", getattr(node.func, "attr", ""))


def kind_of(outer, node):
    """The public kind that a call around a text makes, None where it makes no error."""
    name = called(outer)
    if name == "with_note":
        name = getattr(outer.args[0], "id", "")
    name = NAMED.get(name, name)
    return name if name in KINDS else None


def of_file(path):
    tree = ast.parse(path.read_text())
    module, everywhere = path.relative_to(ROOT).as_posix(), assigned(tree)
    above = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}

    def around(node, kinds):
        while node in above and not isinstance(node, kinds):
            node = above[node]
        return node if isinstance(node, kinds) else None

    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        function = around(node, ast.FunctionDef | ast.AsyncFunctionDef)
        scope = {**everywhere, **(assigned(function) if function else {})}
        if called(node) == "message" and node.args:
            outer = above.get(node)
            kind = kind_of(outer, node) if isinstance(outer, ast.Call) else None
            instead = texts(node.args[2], scope) if len(node.args) > 2 else []
            words = texts(node.args[0], scope)
        elif (kind := kind_of(node, node)) and node.args and not isinstance(node.args[-1], ast.Call):
            words, instead = texts(node.args[-1], scope), []
        else:
            continue
        for text in words:
            if re.search(r"[a-z]{3}", text.replace(HOLE, "")) and " " in text:
                yield Message(kind or "others", text, instead[0] if len(instead) == 1 else " / ".join(instead), module)


def every():
    """All messages, each once, in the order of their words."""
    rooms = [path for room in ("tracer", "autodiff", "backends", "compat") for path in sorted((ROOT / room).rglob("*.py"))]
    found = {(m.kind, m.words): m for path in rooms for m in of_file(path)}
    return sorted(found.values(), key=lambda m: m.words.replace(HOLE, "").strip().lower())


def pattern(message):
    """What matches the first line of such a message as it is raised."""
    first = message.words.partition("\n")[0]
    return re.compile(".+".join(re.escape(part) for part in first.split(HOLE)))


def escaped(text):
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", " ".join(text.split()))


HEAD = f"""# All messages

What the package can say when something cannot be done, by the kind of the exception, read off its sources when this
page is made. `{HOLE}` stands for what is filled in. The second part of an entry is what the message says to write
instead. [Errors](errors.md) explains those met most, with examples.
"""
OTHERS = "Messages whose kind depends on the case, most of them UnsupportedError."


def page():
    """The page in Markdown."""
    by_kind = collections.defaultdict(list)
    for m in every():
        by_kind[m.kind].append(m)
    parts = [HEAD]
    for kind in [*KINDS, "others"]:
        if by_kind[kind]:
            parts.append(f"## {kind.capitalize() if kind == 'others' else kind}\n")
            parts += [OTHERS + "\n"] if kind == "others" else []
            parts += [f"- **{escaped(m.words)}** {escaped(m.instead)} (`{m.module}`)" for m in by_kind[kind]]
            parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page())
