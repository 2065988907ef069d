"""Where the user finds a number that a program gives: in the result, in an argument, in what is stored."""

from ..common import pytree


class Leaf:
    """Stands for a result of a program where the user's containers are made of them; position: in `outs`."""

    def __init__(self, position):
        self.position = position


class Callers:
    """Stands for the arguments of a call, containers in containers."""

    def __getitem__(self, key):
        return Callers()


def place_of_result(captured, position, index):
    """Where a result of the program is to be found by the user: "the result['w'][0]", "x, which is written"."""
    at = f"[{', '.join(map(str, index))}]" if index else ""
    if position >= captured.values:
        written = captured.writes[position - captured.values : position - captured.values + 1]
        hint = captured.func.params[written[0]].hint if written else None
        return f"{hint}{at}, which the function writes" if hint else None
    outs = [n for n, out in enumerate(captured.outs) if shows(out, position)]
    if not outs:
        return None
    tree, changed = made_of_leaves(captured)
    for path, contents in changed:
        found = path_of(contents, outs)
        if found is not None:
            (first, *rest) = path[1:]
            name = first if path[0] else f"argument {first}"
            return f"{name}{''.join(f'[{key!r}]' for key in rest)}{found}{at}, which the function writes"
    if captured.stores:
        tree, stored = tree
        for place, value in zip(captured.stores, stored, strict=True):
            found = path_of(value, outs)
            if found is not None and path_of(tree, outs) is None:
                return f"{place.name}{found}{at}, which the function stores"
    return f"result{path_of(tree, outs) or ''}{at}"


def made_of_leaves(captured):
    """-> (what the function gives, around Leaves; [(path of a container among the arguments, what it holds then)])."""
    leaves = captured.rebuild([Leaf(n) for n in range(len(captured.outs))])
    if captured.given is None:
        return leaves, []
    _, result, changes = captured.given
    given = Callers(), Callers(), {}
    changed = [(path, contents(leaves, given)) for path, contents in changes]
    return result(leaves, given), changed


def path_of(x, outs, seen=()):
    """The text of the path to the first of some Leaves, by their positions; None where none is there."""
    if type(x) is Leaf:
        return "" if x.position in outs else None
    if type(x) is Callers or id(x) in seen:
        return None
    if isinstance(x, dict):
        items = [(f"[{key!r}]", item) for key, item in x.items()]
    elif isinstance(x, list | tuple):
        items = [(f"[{key}]", item) for key, item in enumerate(x)]
    else:
        found, _ = pytree.flatten_with_path(x)
        items = [(pytree.path_text(path), item) for path, item in found if item is not x]
        items = items or [(f".{name}", item) for name, item in getattr(x, "__dict__", {}).items()]
    for text, item in items:
        found = path_of(item, outs, (*seen, id(x)))
        if found is not None:
            return text + found
    return None


def shows(out, position):
    """Whether a leaf of what the function returns is, or may be, this result of the program."""
    return out.how == "value" and out.index == position or out.how == "chosen" and any(
        part.how == "value" and part.index == position for part in out.object
    )
