"""loops"""
from .codes import BREAK, CONTINUE


def each(iterable, body, orelse, rest, number):
    for item in iterable:
        code = body(item)
        if code is None or code is CONTINUE:
            continue
        if code is BREAK:
            break
        return code
    else:
        code = orelse() if orelse is not None else None
        if code is not None:
            return code
    return rest() if rest is not None else None


def repeat(test, body, orelse, rest, number):
    while test():
        code = body()
        if code is None or code is CONTINUE:
            continue
        if code is BREAK:
            break
        return code
    else:
        code = orelse() if orelse is not None else None
        if code is not None:
            return code
    return rest() if rest is not None else None
