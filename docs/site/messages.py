"""Every message of the package, read off its sources: the words of `message(...)` and errors with a text, by kind."""

import ast
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]
HOLE = "…"
KINDS = """UnsupportedError ConcretizationError LeakError DerivativeError ShapeError CheckError IntegerOverflow NoTrip
Fallback ValueError TypeError IndexError""".split()
SPECIAL = "CannotRoll Overrun Overran Unsettled DeepRecursion Untold".split()
NAMED = dict.fromkeys(SPECIAL, "UnsupportedError") | {"RuleError": "DerivativeError", "warn_fallback": "Fallback"}
SAID = re.compile(rf"\b(message|warn_fallback|with_note|{'|'.join([*KINDS, *NAMED])})\(")

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


def kind_of(outer):
    """The public kind that a call around a text makes, None where it makes no error."""
    name = called(outer)
    if name == "with_note":
        name = getattr(outer.args[0], "id", "")
    name = NAMED.get(name, name)
    return name if name in KINDS else None


def calls(node, function):
    """(call, what is around it, the function it is in) for every call below a node."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Call):
            yield child, node, function
        inner = child if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        yield from calls(child, inner)


def of_file(path):
    text = path.read_text()
    if not SAID.search(text):
        return
    tree = ast.parse(text)
    module, everywhere, scopes = path.relative_to(ROOT).as_posix(), assigned(tree), {}
    for node, outer, function in calls(tree, tree):
        told = called(node) == "message"
        kind = kind_of(outer) if told and isinstance(outer, ast.Call) else None if told else kind_of(node)
        if not node.args or not told and (not kind or isinstance(node.args[-1], ast.Call)):
            continue
        if function not in scopes:
            scopes[function] = {**everywhere, **assigned(function)}
        words = texts(node.args[0] if told else node.args[-1], scopes[function])
        instead = texts(node.args[2], scopes[function]) if told and len(node.args) > 2 else []
        for text in words:
            if re.search(r"[a-z]{3}", text.replace(HOLE, "")) and " " in text:
                yield Message(kind or "others", text, instead[0] if len(instead) == 1 else " / ".join(instead), module)


def every():
    """All messages, each once, in the order of their words."""
    rooms = ("tracer", "autodiff", "backends", "compat")
    paths = [path for room in rooms for path in sorted((ROOT / room).rglob("*.py"))]
    found = {(m.kind, m.words): m for path in paths for m in of_file(path)}
    return sorted(found.values(), key=lambda m: re.sub(r"[^a-z]+", " ", m.words.lower()).strip())


def pattern(message):
    """What matches the first line of such a message as it is raised."""
    first = message.words.partition("\n")[0]
    return re.compile(".+".join(re.escape(part) for part in first.split(HOLE)))


def escaped(text):
    return re.sub(r"([\\`*_{}\[\]<>#|])", r"\\\1", " ".join(text.split()))


def entry(m):
    return " ".join(filter(None, [f"- **{escaped(m.words)}**", escaped(m.instead), f"(`{m.module}`)"]))


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
            parts += [entry(m) for m in by_kind[kind]]
            parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page())
