"""What a file holds, as text: what it takes, gives, changes and raises, and what is frozen in it."""

from ...ir.types import SHORT
from ..common.terminal import several
from .structure import spelled_node

MOST = 40  # bound: lines of one kind
NUMBERS = {"scalar": "np.{}", "float": "float", "complex": "complex", "int": "int", "bool": "bool"}


def description(head):
    """The text for the header of a file."""
    results = spelled_node(head["results"], [out_text(head["outs"][n], head) for n in head["shown"]])
    convention = head["exported"]["calling_convention_version"]
    lines = [
        f"{head['name']}{arguments_text(head)} -> {results}",
        f"  made by      wengert {head['wengert']}, jax {head['jax']}, numpy {head['numpy']}, Python {head['python']}",
        f"  runs on      {', '.join(head['platforms'])}; calling convention {convention} of jax.export, which jax "
        f"{head['oldest jax']} and newer have",
    ]
    lines += labelled("changes", changed_names(head))
    lines += labelled("may raise", [f"{c[0]}: {c[1].partition(chr(10))[0]}" for c in head["checks"]])
    lines += labelled("frozen", head["frozen"])
    lines += labelled("note", head["notes"])
    return "\n".join(lines)


def arguments_text(head):
    """The arguments as a call has them."""
    leaves = [f"{name}: {leaf_type(kind, dtype, shape)}" for name, kind, dtype, shape in head["leaves"]]
    _, (positional, keywords) = head["arguments"]
    inside = [spelled_node(node, leaves) for node in positional[1]]
    inside += [f"{key}={spelled_node(node, leaves)}" for key, node in keywords[3]]
    return f"({', '.join(inside)})"


def leaf_type(kind, dtype, shape):
    """What a leaf is: `f64[3,4]` for an array, `np.float64` for a scalar of NumPy's, `float` for Python's."""
    return NUMBERS[kind].format(dtype) if kind in NUMBERS else f"{SHORT[dtype]}[{','.join(map(str, shape))}]"


def out_text(out, head):
    """What a leaf of the result is."""
    how, *rest = out
    if how == "fixed":
        return repr(rest[0]) if not isinstance(rest[0], list) else str(rest[0][-1])
    if how == "copy":
        return "a constant array"
    kind, index, chain = rest
    if how in ("chosen", "unsure"):
        return " or ".join(dict.fromkeys(out_text(part, head) for part in kind)) if how == "chosen" else "an array"
    if how == "argument":
        return f"{'a view of ' if chain else ''}{head['leaves'][index][0]}"
    dtype, shape = head["given"][index]
    return "a view" if chain else leaf_type(kind, dtype, shape)


def changed_names(head):
    """The arguments that a call changes."""
    names = [head["leaves"][i][0] for i in head["writes"]]
    return names + [f"a {node[0]} among the arguments" for _, node in head["changes"]]


def labelled(label, texts):
    """A line for each text, the first ones of many."""
    lines = [f"  {label:<13}{text}" for text in texts[:MOST]]
    left = len(texts) - MOST
    return [*lines, f"  {label:<13}and {several(left, 'more place')}"] if left > 0 else lines
