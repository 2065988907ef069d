"""Values of one kind among arguments, in lists, tuples and slices too."""


def found_within(kind, x):
    """Those that x is or holds."""
    if type(x) is kind:
        yield x
    elif type(x) in (list, tuple):
        for item in x:
            yield from found_within(kind, item)
    elif type(x) is slice:
        yield from found_within(kind, (x.start, x.stop, x.step))


def replaced_within(kind, x, change):
    """x with each of these changed."""
    if type(x) is kind:
        return change(x)
    if type(x) in (list, tuple):
        return type(x)([replaced_within(kind, item, change) for item in x])
    return slice(*replaced_within(kind, (x.start, x.stop, x.step), change)) if type(x) is slice else x
