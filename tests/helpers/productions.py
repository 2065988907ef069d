"""Texts from grammars: `<name>` stands for one of the alternatives of `name`."""

import re


class Grammar:
    """rules: name -> alternatives, of which those in `leaves` are taken where the depth is used up. A call expands a text; `r` decides."""

    def __init__(self, r, rules, leaves, depth):
        self.r, self.rules, self.leaves, self.depth = r, dict(rules), leaves, depth

    def __call__(self, text, depth=None):
        depth = self.depth if depth is None else depth

        def one(found):
            name = found[1]
            leaf = name in self.leaves and (depth <= 0 or self.r.random() < 0.25)
            down = depth - 1 if name in self.leaves else depth
            return self(self.r.choice((self.leaves if leaf else self.rules)[name]), down)

        return re.sub(r"<([a-z]\w*)>", one, text)
