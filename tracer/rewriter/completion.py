"""How a body ended: None where it fell through, else a `Code`; on data, a code whose status is traced."""

# LEFT: a loop that ended by its own break, as seen from behind it; THROWS: by an exception, which the program will
# raise
FALLS, CONTINUES, BREAKS, RETURNS, LEFT, THROWS = range(6)


class Completion:
    """status: one of these, or a traced int; may: all it can be; value: what is returned, if it can return."""

    __slots__ = ("status", "may", "value")

    def __init__(self, status, may, value=None):
        self.status, self.may, self.value = status, frozenset(may), value

    @property
    def open(self):
        """Whether data decides."""
        return len(self.may) > 1


THROWN = Completion(THROWS, {THROWS})
BREAK, CONTINUE = Completion(BREAKS, {BREAKS}), Completion(CONTINUES, {CONTINUES})


def Return(value):
    return Completion(RETURNS, {RETURNS}, value)


def may(code):
    return frozenset((FALLS,)) if code is None else code.may
