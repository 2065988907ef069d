"""How the tests of a call write the places they read: each is looked up once, and as the interpreter does it fastest.

A global is an attribute of its module, which is found by the number of its entry in the module's dictionary; what a
module holds that answers for more attributes than it has (`__getattr__`) is an item of that dictionary, for such a
module's attributes are searched for.
"""

import keyword
import sys
import types


def is_plain_name(key):
    """Whether a module holds what it is asked for by a name, and no descriptor of its class answers."""
    return (
        type(key) is str
        and key.isascii()
        and key.isidentifier()
        and not keyword.iskeyword(key)
        and not hasattr(types.ModuleType, key)
    )


class Lookups:
    """The text of the places of one guard's reads. named(object) gives an object a name in it."""

    def __init__(self, reads, named):
        self.named = named
        self.holders = {id(r.parent) for r in reads if r.parent is not None}
        self.held = {}  # id of a Read -> the local that holds what was found there

    def text(self, read):
        """A place as a Python expression."""
        if id(read) in self.held:
            return self.held[id(read)]
        if read.kind not in ("item", "attribute") or read.parent is None:
            return self.rooted(read) if read.parent is None else read.text(self.named)
        return read.text(self.named, self.text(read.parent))

    def rooted(self, read):
        owner, key = read.owner, read.key
        if read.kind == "item" and type(owner) is dict and is_plain_name(key):
            module = sys.modules.get(str(owner.get("__name__")))
            if type(module) is types.ModuleType and vars(module) is owner and "__getattr__" not in owner:
                return f"{self.named(module)}.{key}"
        if (
            read.kind == "attribute"
            and type(owner) is types.ModuleType
            and is_plain_name(key)
            and "__getattr__" in vars(owner)
            and key in vars(owner)
        ):
            return f"{self.named(vars(owner))}[{key!r}]"
        return read.text(self.named)

    def kept(self, read, text):
        """The text of a place where it is tested: written to a local if others lie in it."""
        if id(read) not in self.holders or id(read) in self.held:
            return text
        self.held[id(read)] = name = f"q{len(self.held)}"
        return f"({name} := {text})"

    def keywords(self, read):
        """A test of what the dict of a function's keyword-only defaults holds, object by object; None where other
        objects are equal."""
        parent, held = read.parent, read.parent and read.parent.value
        if parent is None or parent.key != "__kwdefaults__" or parent.how != "value" or type(held) is not dict:
            return None
        if read.get() != read.value or not all(type(k) is str for k in held):
            return None
        text = self.text(parent)
        return " and ".join(
            [f"len({text}) == {len(held)}", *(f"{text}[{k!r}] is {self.named(v)}" for k, v in held.items())]
        )
