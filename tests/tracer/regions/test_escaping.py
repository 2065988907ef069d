"""Exceptions that leave a loop or branch: what was done before them stays done, and of several the first is raised."""

import contextlib

import numpy as np
import pytest
from random_raising import agrees, differs, outcome

from wengert import jit

LOW, HIGH, FAR = np.full(4, -9.0), np.full(4, 9.0), np.array([1, 7, 1, 1])
NEAR = np.array([0, 1, 2, 3])


def a_sum_before_it(x, j):
    s = 0.0
    with contextlib.suppress(KeyError):
        for k in range(3):
            s += x[j[k]]
            {}["b"]
    return s


def each_time_around(x, j):
    s = 0.0
    for _ in range(4):
        try:
            for k in range(3):
                s += x[j[k]]
                {}["b"]
        except LookupError as error:
            s += 100 + isinstance(error, KeyError)
    return s


def a_python_number(x, j):
    n = 0
    try:
        for _ in range(4):
            n += 1
            {}["b"]
    except KeyError:
        pass
    return x + n


def a_list(x, j):
    found = []
    try:
        for v in x:
            found.append(v)
            {}["b"]
    except KeyError:
        pass
    return found


def an_array(x, j):
    y = np.zeros(4)
    try:
        for i in range(4):
            y[i] = x[i]
            np.ones(3) @ np.ones(4)
    except ValueError:
        pass
    return y


def an_attribute(x, j):
    box = type("Box", (), {})()
    box.total = 0.0
    try:
        for v in x:
            box.total += v
            box.total = box.missing
    except AttributeError:
        pass
    return box.total


def a_while(x, j):
    s, k = 0.0, 0
    try:
        while k < 4:
            s += x[k]
            k += 1
            s = s.nothing
    except AttributeError:
        pass
    return s, k


def what_it_printed(x, j):
    s = 0.0
    for i in range(4):
        s += x[i]
        print(s)
        {}["b"]
    return s


def a_side_that_prints(x, j):
    if x[0] > 5:
        print("large:", x[0])
        raise ValueError("large")
    return x


def a_check_before_it(x, j):
    for i in range(4):
        if x[i] < 0:
            raise ValueError("below zero")
        x[12]


def a_check_on_the_side(x, j):
    s = 0.0
    if x[0] > 5:
        s += x[j[1]]
        {}["b"]
    return s


def a_side_before_it(x, j):
    if x[0] > 5:
        x[7]
    raise LookupError


def trips_of_data(x, j):
    for _ in range(j[1]):
        x[j[0]]
        x[7]
    return x


def an_assignment_that_never_comes(x, j):
    s = 0.0
    for a, b in zip(x, j):
        if b > 40:
            s.real = 3
        s += a
    return s


def one_of_two_handlers(x, j):
    try:
        for i in range(4):
            if x[i] < 0:
                raise ValueError("below zero")
            x[12]
    except IndexError:
        return 1.0
    except ValueError:
        return 2.0


def axes_in_order(x, j):
    return x.reshape(2, 2)[j[1], 9]


def single_numbers_first(x, j):
    return x.reshape(2, 2)[j, 9]


def a_finally_that_returns(x, j):
    found = []
    try:
        for _ in range(j[-1]):
            found.append(0)
            found += [x[0], x[1]]
    finally:
        if not found:
            return "empty"  # noqa: B012
    return len(found)


def a_finally_that_asks(x, j):
    found = []
    try:
        for _ in range(j[-1]):
            found.append(0)
            found += [x[0], x[1]]
    finally:
        found[:1]
        found[0] = 1
    return found


class Strict:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        if kind is not None:
            raise KeyError(kind.__name__)


def a_manager_that_asks(x, j):
    found = []
    with Strict():
        for _ in range(j[-1]):
            found.append(0)
            found += [x[0], x[1]]
    return len(found)


def a_finally_that_pops(x, j):
    found = [1]
    try:
        found += [x[k] for k in j]
    finally:
        found.pop()
    return found


def a_finally_that_raises(x, j):
    try:
        return x[j[1]]
    finally:
        raise KeyError("finally")


def a_finally_that_prints(x, j):
    try:
        return x[j[1]]
    finally:
        print("finally", x[0])


def a_finally_instead(x, j):
    try:
        if x[0] > 5:
            raise ValueError("large")
        return 1.0
    finally:
        return 3.0  # noqa: B012


def a_finally_of_a_name(x, j):
    y = 0.0
    try:
        y = x[j[1]]
    finally:
        y = y + 1
    return y


def every_exception(x, j):
    found = []
    try:
        for k in j:
            found.append(x[k])
    except:  # noqa: E722
        return len(found)


class Mine(BaseException):
    pass


def no_exception(x, j):
    if x[0] > 5:
        raise Mine(5)
    return 0.0


def an_exit(x, j):
    n = 0
    for i in range(4):
        try:
            if x[i] * j[i] > 6:
                raise SystemExit
        except SystemExit:
            n += 1
    return n


def a_full_stack(x, j):
    try:
        try:
            raise RecursionError("mine")
        except RecursionError:
            if x[0] > 5:
                raise
            return 2.0
    except RecursionError:
        return 3.0


PROGRAMS = [
    a_finally_that_returns, a_finally_that_asks, a_manager_that_asks, a_finally_that_pops, a_finally_that_raises, a_finally_that_prints,
    a_finally_instead, a_finally_of_a_name, every_exception, no_exception, an_exit, a_full_stack,
    a_sum_before_it, each_time_around, a_python_number, a_list, an_array, an_attribute, a_while, what_it_printed, a_side_that_prints,
    a_check_before_it, a_check_on_the_side, a_side_before_it, trips_of_data, an_assignment_that_never_comes, one_of_two_handlers,
    axes_in_order, single_numbers_first,
]  # fmt: skip


@pytest.mark.parametrize("function", PROGRAMS)
def test_as_in_python(function, falling_back):
    made = jit(function)
    for x, j in ((LOW, NEAR), (HIGH, NEAR), (HIGH, FAR), (LOW, FAR), (HIGH, NEAR)):
        assert agrees(outcome(made, x, j), outcome(function, x, j))


@pytest.mark.parametrize("seed", range(0, 40, 4))
def test_random_programs(seed, tmp_path, falling_back):
    text, _ = differs(seed, tmp_path)
    assert text is None, text


def test_the_first_of_two_is_told_where_there_is_no_python_to_ask():
    with pytest.raises(ValueError, match="below zero"):
        jit(a_check_before_it)(LOW, NEAR)
    with pytest.raises(IndexError, match="index 12 is out of bounds"):
        jit(a_check_before_it)(HIGH, NEAR)


def of_an_alias(a, b, table):
    a[0] = 1
    return table[b[0]]


def test_arguments_that_are_one_memory_are_seen_before_a_failed_check(falling_back):
    made = jit(of_an_alias)
    table = np.arange(5.0)
    assert made(np.array([9, 2]), np.array([3, 1]), table) == 3.0
    a = np.array([9, 2])
    with pytest.warns(UserWarning, match="shares memory"):
        assert made(a, a[:], table) == 1.0
    a = np.array([9, 2])
    a.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"), pytest.warns(UserWarning, match="read-only"):
        made(a, np.array([7, 1]), table)


def at_a_constant(x, j):
    k = j[0] * 0 + 12
    return x[k] if k < 4 else 0.0


def at_a_constant_beyond(x, j):
    return x[j[0] * 0 + 12]


def quiet_then_refused(x, n):
    old, found = np.seterr(all="ignore"), []
    try:
        for _ in range(n):
            found.append(0)
            found += [x[0]]
        return len(found)
    finally:
        np.seterr(**old)


def test_a_finally_puts_back_what_a_trace_that_ends_has_changed(falling_back):
    before = np.geterr()
    assert jit(quiet_then_refused)(HIGH, np.int64(3)) == 6
    assert np.geterr() == before


def test_an_index_that_passes_find_out_of_bounds():
    assert jit(at_a_constant)(HIGH, NEAR) == 0.0
    with pytest.raises(IndexError, match="index 12 is out of bounds for axis 0 with size 4"):
        jit(at_a_constant_beyond)(HIGH, NEAR)


def two_of_three_alike(x, j):
    if x[0] < 0:
        raise ValueError("bad")
    elif x[1] < 0:
        raise ValueError("bad")
    else:
        raise KeyError("other")


def alike_or_out_of_range(x, j):
    for v in x:
        if v < 0:
            raise ValueError("bad")
        elif v < 1:
            raise ValueError("bad")
        else:
            x[9]


@pytest.mark.parametrize("f", [two_of_three_alike, alike_or_out_of_range])
def test_the_side_that_data_take_raises(f):
    compiled = jit(f)
    for x in ([2.0, 2.0], [-1.0, 2.0], [2.0, -1.0], [0.5, 3.0]):
        want = outcome(f, np.array(x), NEAR)
        assert outcome(compiled, np.array(x), NEAR) == want


def one_of_two_made(x, j):
    error = ValueError("neg") if x[0] < 0 else IndexError("pos")
    raise error


def one_of_two_classes(x, j):
    raise (ValueError if x[0] < 0 else KeyError)("a") if x[1] < 0 else [OSError("c"), LookupError("d")][int(x[0] > 0)]


def the_first_found(x, j):
    error = None
    for i in range(len(x)):
        if x[i] < 0:
            error = ValueError(i)
            break
    if error is not None:
        raise error
    return x.sum()


def no_exception(x, j):
    error = 5
    raise error


@pytest.mark.parametrize("f", [one_of_two_made, one_of_two_classes, the_first_found, no_exception])
def test_exceptions_that_data_choose(f, falling_back, recwarn):
    compiled = jit(f)
    for x in ([2.0, 2.0], [-1.0, 2.0], [2.0, -1.0], [-0.5, -3.0]):
        assert outcome(compiled, np.array(x), NEAR) == outcome(f, np.array(x), NEAR)
