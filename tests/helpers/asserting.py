"""Assertions that pytest does not rewrite, being in no test file."""


def asserts_bare(x):
    assert x[0] < 0
    return x


def asserts_text(x):
    assert x[0] < 0, f"bad {x[0]}"
    return x


def asserts_words(x):
    assert x[0] < 0, "plain"
    return x


def asserts_tuple(x):
    assert x[0] < 0, ("t", x[0])
    return x


def asserts_number(x):
    assert x[0] < 0, 3
    return x


def asserts_what_raises(x):
    assert x[0] < 0, {}[1]
    return x


def asserts_in_a_loop(x):
    total = x[0]
    for i in range(40):
        total = total + x[0]
        assert total < 20, f"{total} at {i}"
    return total


def caught_assertion(x):
    try:
        assert x[0] < 0, f"bad {x[0]}"
    except AssertionError as error:
        return str(error)
    return "fine"
