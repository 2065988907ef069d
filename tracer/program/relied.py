"""What a trace relied on of the arrays that a call is given, besides their types: asked of each call."""

import numpy as np


def unchanged(leaves, relied):
    """Whether all is as the trace took it to be."""
    return all(answered(leaves[i], *question_of(what, leaves)) == answer for i, what, answer in relied)


def question_of(what, leaves):
    """(the question, the other leaf that it is about)"""
    return (what[0], leaves[what[1]]) if type(what) is tuple else (what, None)


def answered(x, what, other):
    """What a trace relied on of one argument; `other` is the one it is compared with."""
    if what == "other than":
        return x is not other
    if not isinstance(x, np.ndarray):
        return what != "writeable"
    return (
        x.flags.writeable
        if what == "writeable"
        else x.base is None
        if what == "owner"
        else not np.may_share_memory(x, other)
    )


def tests(relied, texts):
    """Python conditions that hold while `unchanged` does; texts: of the leaves, of which `answered` is asked."""
    out = []
    for i, what, answer in relied:
        question, other = question_of(what, texts)
        text = f"answered({texts[i]}, {question!r}, {other})"
        if question == "other than":
            text = f"({texts[i]} is not {other})"
        out.append(text if answer else f"not {text}")
    return out
