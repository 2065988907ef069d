"""The source front end on plain values: a converted function is the function, to the last exception and line."""

import functools
import inspect
import traceback

import numpy as np
import pytest

from wengert.tracer.regions.convert import convert
from wengert.tracer.regions.hooks import call

# -- tricky functions ------------------------------------------------------------------------------


def early(n):
    for i in range(n):
        if i % 2:
            continue
        if i > 4:
            break
        for j in range(i):
            if j == 3:
                return i, j
    else:
        return "done"
    return i


def while_else(n):
    k = 0
    while (k := k + 1) < n:
        if k == 5:
            break
    else:
        k = -k
    return k


def unwinds(n):
    log = []
    for i in range(n):
        try:
            if i == 1:
                continue
            if i == 3:
                break
            if i == 2 and n == 3:
                return log
            log.append(i)
        except ZeroDivisionError as error:
            log.append(error)
        else:
            log.append("else")
        finally:
            log.append(("finally", i))
    return log, i


def raises(n):
    try:
        for i in range(n):
            if 1 / (2 - i) > 5:
                return None
    except ZeroDivisionError as error:
        kept = str(error)
    return kept, i


def order_of_stores():
    a, i = [0, 0, 0], 0
    i, a[i] = 1, 2
    a[i], i = 5, 2
    (a[0], *a[1:]), b = (7, 8, 9), 3
    c = a[2] = 4
    return a, i, b, c


class Tally:
    def __init__(self):
        self.count, self.__hidden, self.log = 0, 1, []

    def bump(self):
        self.log.append(self.count)
        self.count += 10
        return 1

    def twice(self):
        self.count += self.bump()  # the old count is read before the call
        self.__hidden *= 3
        __private = self.__hidden
        for _ in range(2):
            __private += 1
        return self.count, __private, self.log

    @property
    def half(self):
        return self.count / 2

    @half.setter
    def half(self, value):
        self.count = value * 2

    @classmethod
    def make(cls):
        return cls().twice()


class Louder(Tally):
    def twice(self):
        out = []
        for k in range(2):
            if k:
                out.append(super().twice())
        self.half = 4
        self.half += 1
        return out, self.count, __class__.__name__


def tally():
    return Tally().twice(), Louder().twice(), Louder.make()


def closures(n):
    total, made = 0, []

    def add(k):
        nonlocal total
        for _ in range(k):
            total += k
        return total

    for i in range(n):
        made.append(lambda k=i: (i, k, add(k)))  # noqa: B023
    return [f() for f in made], total


def chains(a, b, c):
    seen = []

    def note(x):
        seen.append(x)
        return x

    x = note(a) < note(b) < note(c)
    y = note(a) and note(b) or not note(c)
    z = note(1) if a < b else note(2) if b < c else note(3)
    w = a in (1, 2) in ((True,),) != c
    return x, y, z, w, seen


def comprehensions(n):
    last = 0
    squares = [last := i * i for i in range(n) if i % 2 or i > 3]
    return squares, last, {i: [j + 1 for j in range(i)] for i in range(n)}, {i % 3 for i in range(n)}, sum(i for i in range(n)), [*squares, *range(2)]


def unbound(n):
    for i in range(n):
        if i > 10:
            late = 1
    return late


def deletes(d):
    x = {"a": 1, **d}
    for k in list(x):
        if k == "a":
            del x[k]
    y = x
    del x
    try:
        return x
    except NameError:
        return y


COUNT = 0


def global_store(n):
    global COUNT
    for i in range(n):
        COUNT += i
        if COUNT > 3:
            return COUNT
    return -1


def asserts(n):
    for i in range(n):
        assert i < 3, f"i is {i}"
    assert n
    return n


class Context:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self.log

    def __exit__(self, *error):
        self.log.append("out")
        return error[0] is KeyError


def contexts(n):
    log = []
    for i in range(n):
        with Context(log) as entered, Context(log):
            if i == 1:
                break
            if i == 2:
                raise KeyError(i)
            entered.append(i)
    return log


def matches(x):
    match x:
        case {"k": [first, *rest], **more} if first:
            return first, rest, more
        case [a, b] | (a, b, _):
            for _ in range(2):
                a += b
            return a
        case str() as s:
            return s
    return None


def annotated(n: int) -> int:
    total: int = 0
    step: unknown  # noqa: F821
    for step in range(n):
        total: int = total + step
    return total


def recursion(n):
    return 1 if n < 2 else n * recursion(n - 1) if n % 2 else recursion(n - 1) * n


def defaults(a, /, b=[], *args, c=3, **kw):  # noqa: B006
    if a:
        b = [*b, a]
    return a, b, args, c, kw


def deep(n):
    if n == 0:
        return 0
    if n == 1:
        return 1
    if n == 2:
        return 2
    while True:
        n -= 3
        if n < 10:
            for k in range(3):
                if k == n:
                    return k, n
            return n


def in_try(n):
    for i in range(3):
        try:
            for j in range(3):
                if i * j == n:
                    return "found"
                if j == 2:
                    break
            if i == n:
                continue
            n += 1
        finally:
            n += 10
    return n


def generator(n):
    for i in range(n):
        yield i * i


def uses_generator(n):
    return list(generator(n)), next(generator(3))


two = [lambda x: x + 1 if x > 0 else x - 1, lambda x: x + 2 if x > 0 else x - 2]


def lambdas(x):
    return [f(x) for f in two], (lambda y: y and x)(2), sorted([3, 1, 2], key=lambda k: -k)


def wrapped(function):
    @functools.wraps(function)
    def inner(*args):
        if args:
            return function(*args), "wrapped"
        return None

    return inner


@wrapped
def decorated(x):
    return [x for _ in range(2)]


TABLE = [
    (early, 0), (early, 3), (early, 10), (while_else, 3), (while_else, 9), (unwinds, 2), (unwinds, 3), (unwinds, 6), (raises, 1), (raises, 5),
    (order_of_stores,), (tally,), (closures, 4), (chains, 1, 2, 3), (chains, 3, 2, 1), (chains, 0, 0, 0), (comprehensions, 7), (unbound, 3),
    (unbound, 12), (deletes, {"b": 2}), (global_store, 2), (global_store, 9), (asserts, 2), (asserts, 9), (asserts, 0), (contexts, 4), (contexts, 1),
    (matches, {"k": [1, 2], "l": 3}), (matches, (1, 2, 3)), (matches, [4, 5]), (matches, "s"), (matches, 7), (annotated, 4), (recursion, 9),
    (defaults, 0), (defaults, 1), (deep, 1), (deep, 31), (deep, 10), (in_try, 0), (in_try, 2), (in_try, 4), (uses_generator, 3), (lambdas, 1),
    (lambdas, -1), (decorated, 3), (decorated,),
]  # fmt: skip


def outcome(function, args):
    global COUNT
    COUNT = 0
    try:
        return function(*args), COUNT
    except Exception as error:
        text = "" if isinstance(error, NameError) else str(error).partition("\nassert")[0]  # pytest adds lines to assertions
        return type(error), "" if text.startswith("assert") else text


def changed(function):
    """The function with hooks, in which helpers have hooks too."""
    return call(function)


@pytest.mark.parametrize("case", TABLE, ids=lambda c: c[0].__name__)
def test_converted_is_the_original(case):
    function, *args = case
    assert convert(function) is not function or function is generator
    want, got = outcome(function, args), outcome(changed(function), args)
    if isinstance(want[0], type) and issubclass(want[0], NameError):
        assert issubclass(got[0], NameError)
    else:
        assert got[:2] == want[:2]


@pytest.mark.parametrize("function", [f for f, *_ in TABLE], ids=lambda f: f.__name__)
def test_names_signature_and_first_line_are_kept(function):
    made = convert(function)
    assert inspect.signature(made) == inspect.signature(function) and made.__doc__ == function.__doc__
    assert (made.__name__, made.__qualname__, made.__module__) == (function.__name__, function.__qualname__, function.__module__)
    assert made.__code__.co_firstlineno == function.__code__.co_firstlineno and made.__code__.co_filename == function.__code__.co_filename
    assert made.__globals__ is function.__globals__ and made.__defaults__ is function.__defaults__


def test_cells_stay_live():
    level = 1

    def read(n):
        return [level for _ in range(n)]

    made = convert(read)
    assert made is not read and made(1) == [1]
    level = 2
    assert made(1) == [2]


def test_tracebacks_show_the_users_lines():
    with pytest.raises(ZeroDivisionError) as caught:
        convert(in_loop)(3)
    first = in_loop.__code__.co_firstlineno
    frames = [f for f in traceback.extract_tb(caught.value.__traceback__) if f.filename == __file__ and f.name == "in_loop"]
    assert frames[-1].lineno == first + 3 and frames[-1].line == "a = 1 / (n - 1 - i)"


def in_loop(n):
    for i in range(n):
        if n:
            a = 1 / (n - 1 - i)
    return a


def test_what_cannot_be_converted_is_left_alone():
    space = {}
    exec("def f(x):\n    return x if x else -x", space)
    assert rewritten(space["f"]) is None and convert(space["f"])(0) == 0 and convert(generator) is generator
    assert convert(sees_frame) is sees_frame
    assert call(np.sin) is np.sin and call(len) is len and call(inspect.signature) is inspect.signature


def sees_frame(x):
    return locals()


def test_changed_source_is_not_believed(tmp_path):
    file = tmp_path / "changing.py"
    file.write_text("def f(x):\n    return x if x else 1\n")
    space = {}
    exec(compile(file.read_text(), str(file), "exec"), space)
    file.write_text("def f(x):\n    return x if x else 2\n")
    assert rewritten(space["f"]) is None and convert(space["f"])(0) == 1


def test_source_that_is_read_before_it_changes_with_the_function_is_read_again(tmp_path):
    file, space = tmp_path / "reloaded.py", {}
    for number in (1, 22):
        file.write_text(f"def f(x):\n    return x if x else {number}\n")
        exec(compile(file.read_text(), str(file), "exec"), space)
        assert rewritten(space["f"])(0) == number


def rewritten(function):
    """The twin of a function that has source; None for others."""
    made = convert(function)
    return made if "@w" in made.__code__.co_freevars else None
