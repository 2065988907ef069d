"""How the tests of a call write the places they read: each is looked up once, and as the interpreter does it fastest.

What is read again at every call is held by the local that its type was tested in. Objects known by the way to them are
locals of the generated function: who asks for one does not look into its cell. A global is an attribute of its module,
which is found by the number of its entry in the module's dictionary; what a module holds that answers for more
attributes than it has (`__getattr__`) is an item of that dictionary, for such a module's attributes are searched for.
"""

import itertools
import keyword
import sys
import types

CALLED = "callee.object"  # the function that is called, as generated code writes it
_numbers = itertools.count()


def namer(prefix, space):
    """A function that gives objects names in a namespace, one each; `space` may know some by names of their own."""
    known, own = space.setdefault("names of objects", {}), space.get("own names", {})

    def named(x):
        if id(x) in own:
            return own[id(x)]
        if (prefix, id(x)) not in known:
            known[prefix, id(x)] = name = f"{prefix}_{next(_numbers)}"
            space[name] = x
        return known[prefix, id(x)]

    return named


def variable(i):
    """What an enclosing variable of the function that is called is named in generated code."""
    return f"cell{i}"


def is_spelled(key):
    """Whether a name may stand behind a dot, as it is."""
    return type(key) is str and key.isascii() and key.isidentifier() and not keyword.iskeyword(key)


def is_plain_name(key):
    """Whether a module holds what it is asked for by a name, and no descriptor of its class answers."""
    return is_spelled(key) and not hasattr(types.ModuleType, key)


class Lookups:
    """The text of the places of one guard's reads. named(object) gives an object a name in it.

    inputs: Reads whose values the call wants; cells: id of an InstanceCell -> the local that has what is to be in it.
    """

    def __init__(self, reads, named, inputs=(), cells=None):
        self.named, self.cells, self.places = named, cells or {}, {}
        self.holders = {self.place(r.parent) for r in reads if r.parent is not None}
        self.holders |= {self.place(r) for r in inputs}
        self.held = {}  # place -> the local that holds what was found there

    def place(self, read):
        """What tells a Read from those of other places; of the same place there may be several."""
        if id(read) not in self.places:
            self.places[id(read)] = read, read.place
        return self.places[id(read)][1]

    def text(self, read):
        """A place as a Python expression."""
        if self.place(read) in self.held:
            return self.held[self.place(read)]
        return self.rooted(read) if read.parent is None else read.text(self.named, self.text(read.parent))

    def holder(self, read):
        """The object that a place is in, as a Python expression."""
        return self.named(read.owner) if read.parent is None else self.text(read.parent)

    def given(self, read):
        """Whether a place is the root of a way, which the call has tested the class of."""
        return read.parent is None and id(read.owner) in self.cells

    def rooted(self, read):
        owner, key = read.owner, read.key
        if id(owner) in self.cells:
            return self.cells[id(owner)]
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
        if self.place(read) not in self.holders or self.place(read) in self.held or text.isidentifier():
            return text
        self.held[self.place(read)] = name = f"q{len(self.held)}"
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
