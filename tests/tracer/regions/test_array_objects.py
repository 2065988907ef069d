"""Instances of the user's subclasses of np.ndarray: made, passed, returned, changed, and given to NumPy."""

import copy

import numpy as np
import pytest
from random_subclasses import compiled_from
from subclasses import Higher, Own, Plain, Tagged, Unit, check_calls

import wengert
from wengert import grad, jit, value_and_grad, vmap


def tagged(n):
    return Tagged([1.0 + n, 2.0, 3.0], f"t{n % 2}")


def plain(n):
    return np.array([1.0 + n, 2.0, 3.0])


def of_plain(n):
    return plain(n).view(Plain)


def higher(n):
    return plain(n).view(Higher)


def own(n):
    return plain(n).view(Own)


def unit(n):
    return Unit([1.0, 2.0, 2.0 + n])


HELD = Tagged([4.0, 5.0, 6.0], "held")


class Holder:
    def __init__(self, x):
        self.x, self.list = x, [x]


HOLDER = Holder(HELD)


def attribute_stored(a):
    a.tag = "changed"
    a.extra = a * 2
    return a.extra


def in_place(a):
    a[0] = 5.0
    a += 1
    return a


def by_setter(a):
    a.first = 9.0
    return a.first


def two_views(a):
    b = a * 2
    return b, b[1:], b


def seen_as_other_class(a):
    b = a.view(Plain)
    b[0] = 77.0
    return b


def way_by_data(a):
    if a.sum() > 7:
        return a * 2
    return a + 1


def in_a_loop(a):
    total = 0.0
    for i in range(30):
        total = total + a[i % 3] * i
    return total


def changed_in_a_loop(a):
    b = a.copy()
    for _ in range(40):
        b += a
    return b


def made_in_a_loop(a):
    rows = np.zeros((40, 3))
    rows[0] = np.asarray(a)
    for i in range(1, 40):
        rows[i] = Tagged(rows[i - 1]).scaled(0.9)
    return rows


def out_given(a):
    plain = np.empty(3)
    np.multiply(a, 2, out=plain)
    np.multiply(a, 2, out=a)
    return plain, a


def taken_apart(a):
    x, *rest = a
    return [x, *rest], x + rest[0], [v * 2 for v in a]


def classes_asked(a):
    return isinstance(a, Tagged), isinstance(a, np.ndarray), isinstance(a, Higher), type(a) is Tagged, a.__class__ is Tagged


def names_asked(a):
    return hasattr(a, "tag"), hasattr(a, "nope"), getattr(a, "nope", 3.0), a.tag + "!"


def of_class(a):
    return Tagged.zeros(3), Tagged.twice(a), a.unit, a.zeros(2), type(a)(np.asarray(a) * 2)


def of_python(a):
    return sum(a), max(a), min(a), sorted(a), list(a), tuple(a), float(a[0]), abs(a), len(a), round(float(a[1]))


def copies(a):
    return a.copy(), copy.copy(a), copy.deepcopy(a), a.astype(int), np.array(a), np.array(a, subok=True), a[...], a[::-1]


def joined(a):
    return np.concatenate([a, a]), np.vstack([a, a]), np.stack([a, a]), np.where(a > 1, a, 0)


def reduced(a):
    return a.sum(), a.mean(), a.std(), np.linalg.norm(a), np.dot(a, a), a @ a, a.max(), a.argmax(), np.allclose(a, a)


def shaped(a):
    r = a.reshape(3, 1)
    return r, r.T, r.T @ r, r[0], [v * 2 for v in r], a.real, a.flat[0]


def rebound(a):
    a = a if a[0] > 1.5 else a * 2
    return a.sum()


def beyond(a):
    return HOLDER.x * a, HOLDER.list[0] + HELD, HOLDER.x


def raised(a):
    return a.nope


def given_back(a):
    return [a, a], {"a": a, "b": a * 2}


@pytest.mark.parametrize(
    "f",
    [
        attribute_stored, in_place, by_setter, two_views, seen_as_other_class, way_by_data, in_a_loop, changed_in_a_loop,
        made_in_a_loop, out_given, taken_apart, classes_asked, names_asked, of_class, of_python, copies, joined, reduced,
        shaped, rebound, beyond, raised, given_back,
    ],
)  # fmt: skip
def test_an_argument_is_an_instance(f):
    check_calls(f, tagged)


@pytest.mark.parametrize("f", [in_place, two_views, seen_as_other_class, copies, reduced, shaped])
def test_of_a_class_above_another(f):
    check_calls(f, higher)


def test_super_finds_the_class_before():
    check_calls(lambda a: a.scaled(2.0), higher)


PAIRS = [(tagged, tagged), (tagged, plain), (plain, tagged), (tagged, higher), (higher, tagged), (of_plain, tagged)]


@pytest.mark.parametrize("first, second", PAIRS)
def test_operators_and_stores_of_two(first, second):
    def f(a, b):
        products = a @ b, a.dot(b), np.dot(b, a)
        found = a + b, b - a, a > b, a is b, type(a) is type(b), products
        a[:] = b
        return found

    check_calls(f, first, second)


def test_one_instance_twice_among_the_arguments():
    q = tagged(0)
    f = jit(lambda a, b: (a is b, a + b))
    assert f(q, q)[0] is True and f(q, tagged(0))[0] is False


def test_operators_of_the_users_own():
    check_calls(lambda a, p: (a + p, p + a, a * p, p * a, -a, a[0], a[1:], [v * 2 for v in a]), own, plain)
    check_calls(lambda a, b: (a + b, a == b, a != b, not a, len(a), 1.0 if a else 2.0), own, own)
    check_calls(lambda a: (np.asarray(a), np.linalg.norm(a), np.exp(a)), own)

    def in_place(a):
        a += 1
        return a

    check_calls(in_place, own)


@pytest.mark.parametrize("text", ["np.sum(a)", "np.roll(a, 1)"])
def test_what_numpy_asks_of_the_users_methods_is_refused(text):
    """They would run where no hook sees them: `np.sum` calls the `sum` of a class, `np.roll` its `__getitem__`."""
    f = eval(f"lambda a: {text}", {"np": np})
    with pytest.raises(wengert.UnsupportedError, match="NumPy asks for"):
        jit(f)(own(0))


def test_a_store_goes_where_getitem_says_or_is_refused():
    """NumPy stores `a[0] = x` into what the class's own `__getitem__` gives for it, where that is an array."""
    def f(a):
        a[0] = 5.0
        return a

    with pytest.raises(wengert.UnsupportedError, match="__getitem__"):
        jit(f)(np.ones((2, 2)).view(Own))


def test_memory_that_is_an_attribute_too():
    made = check_calls(lambda x: Unit(x), plain)
    q = made(plain(0))
    q[0] = 99.0
    assert q.A[0] == 99.0
    check_calls(lambda q: (q.flipped(), q.w(), q.A, q), unit)
    check_calls(lambda q: Unit(q * q.A + 1), unit)


@pytest.mark.filterwarnings("ignore::wengert.Fallback")
def test_writes_to_memory_that_is_an_attribute_too():
    check_calls(lambda q: (q.flip(), q.sum()), unit, compiled=jit(lambda q: (q.flip(), q.sum()), whole=False))


@pytest.mark.parametrize("text", ["a", "a.T", "a[::-1]", "a[:, 1:]", "a * 2", "np.asfortranarray(a * 2)", "a[0]", "a.astype(int)"])
def test_a_buffer_as_it_lies_in_memory(text):
    """Of a transposed array NumPy takes the memory, in the order of that."""
    source = f"import numpy as np\nfrom subclasses import Plain\ndef f(a):\n    return np.ndarray.__new__(Plain, (3,), float, {text})\n"
    check_calls(compiled_from(source), lambda n: np.arange(9.0).reshape(3, 3) + n)
    check_calls(compiled_from(source.replace("(3,)", "(3, 3)")), lambda n: np.arange(9.0).reshape(3, 3) + n)


def test_an_exception_of_new():
    def f(x):
        return Unit(x * 0)

    check_calls(f, plain)


def test_what_is_relied_on():
    f = jit(lambda q: q.w())
    assert f(unit(0)) == unit(0).w() and f(unit(1)) == unit(1).w()
    kept = Unit.w
    try:
        Unit.w = lambda self: 7.0
        assert f(unit(0)) == 7.0
    finally:
        Unit.w = kept
    assert f(unit(0)) == unit(0).w()
    q = unit(0)
    q.w = lambda: 11.0
    assert f(q) == 11.0
    q = unit(0)
    q.A = np.arange(4.0)
    assert f(q) == 0.0

    class Other(Unit):
        def w(self):
            return -1.0

    assert f(unit(0).view(Other)) == -1.0


def test_one_trace_serves_all_instances():
    f = jit(lambda q: q.w() + q.sum())
    for n in range(5):
        f(unit(n))
    assert len(f.compiled.entries if hasattr(f, "compiled") else [0]) == 1
    assert f.explain().count("to trace") == 1


def test_a_class_that_gets_protocols_of_its_own_is_captured_no_more():
    class Late(np.ndarray):
        pass

    f = jit(lambda a: a + 1)
    assert type(f(np.ones(2).view(Late))) is Late
    Late.__array_ufunc__ = lambda self, *args, **kwargs: 5
    with pytest.raises(wengert.UnsupportedError):
        f(np.ones(2).view(Late))
    with pytest.warns(wengert.Fallback):
        assert jit(lambda a: a + 1, whole=False)(np.ones(2).view(Late)) == 5


@pytest.mark.parametrize("kind", [np.matrix, np.recarray])
def test_classes_of_numpys_are_refused(kind):
    with pytest.raises(wengert.UnsupportedError, match="only plain ndarrays"):
        jit(lambda a: a + 1)(np.ones((2, 2)).view(kind))


def test_shapes_and_dtypes_have_programs_of_their_own():
    f = jit(lambda a: a * 2)
    for n in (2, 3, 2):
        assert f(np.ones(n).view(Plain)).shape == (n,)
    single = f(np.ones(3, np.float32).view(Plain))
    assert type(single) is Plain and single.dtype == np.float32


# -- derivatives -----------------------------------------------------------------------------------


def loss(x):
    return (Tagged(x) * x).scaled(3.0).sum()


def test_derivatives_pass_through():
    x = np.arange(3.0)
    np.testing.assert_allclose(grad(loss)(x), 6 * x)
    value, slope = value_and_grad(loss)(x)
    assert type(value) is np.float64 and type(slope) is np.ndarray
    np.testing.assert_allclose(jit(grad(loss))(x), 6 * x)
    h = 1e-6 * np.eye(3)
    at = np.array([1.0, 2.0, 2.0])
    numeric = [(Unit(at + d).w() - Unit(at - d).w()) / 2e-6 for d in h]
    np.testing.assert_allclose(grad(lambda x: Unit(x).w())(at), numeric, rtol=1e-6)


def test_transforms_give_plain_arrays():
    made = vmap(lambda x: Tagged(x) * 2)(np.ones((2, 3)))
    assert type(made) is np.ndarray and made.tolist() == [[2.0] * 3] * 2
    (_, aux), _ = value_and_grad(lambda x: (loss(x), Tagged(x)), has_aux=True)(np.arange(3.0))
    assert type(aux) is np.ndarray


def test_an_instance_that_is_held_still():
    np.testing.assert_allclose(grad(lambda q, x: (q * x).sum(), argnums=1)(tagged(0), np.ones(3)), plain(0))


@pytest.mark.parametrize("transform", [grad, vmap])
def test_with_respect_to_an_instance_is_refused(transform):
    with pytest.raises(wengert.DerivativeError, match="Pass the array"):
        transform(lambda q: q.sum())(tagged(0))
    with pytest.raises(wengert.DerivativeError, match="Pass the array"):
        jit(lambda q: transform(lambda x: x.sum())(q))(tagged(0))


# -- where ways meet -------------------------------------------------------------------------------


def number(n):
    return [-1.0, 1.0, 3.0, 200.0][n % 4]


def made_on_the_one_side_that_goes_on(a, c):
    if c < 0:
        raise ValueError("negative")
    else:
        b = a * 2
        b.extra = b
    return b, b.extra is b, b.tag


def in_a_dict_by_data(a, c):
    found = {}
    if c > 1.5:
        found["k"] = a * 2
    else:
        found["k"] = a + 1
    return found["k"]


def of_a_class_or_plain(a, c):
    r = a * 2 if c > 2 else np.asarray(a)
    return np.linalg.norm(r), np.array(r), r[0]


def given_back_of_a_class_or_plain(a, c):
    return a * 2 if c > 2 else np.asarray(a)


def of_a_class_or_plain_in_a_loop(a, c):
    total = 0.0
    for i in range(30):
        r = a * i if i * c > 20 else np.asarray(a)
        total += float(np.linalg.norm(r)) + float(r[0])
    return total


def memory_of_a_class_or_plain(a, c):
    b = np.asarray(a)
    r, w = a if c > 2 else b, np.zeros(3)
    w[:] = r
    b[0] = 50.0
    return np.array(r), w


def stepped(q, c):
    q = Tagged(q)
    if np.linalg.norm(c) < 0.5:
        return np.asarray(q)
    return q * 0.5


def filtered(a, c):
    rows = np.zeros((30, 3))
    rows[0] = np.asarray(a)
    for i in range(1, 30):
        rows[i] = stepped(rows[i - 1], np.asarray(a) * (i - 3))
    return rows


def returned_from_a_loop(a, c):
    for i in range(40):
        b = a * i
        if b[0] * c > 30:
            return b.sum()
    return 0.0


@pytest.mark.parametrize(
    "f",
    [
        made_on_the_one_side_that_goes_on, in_a_dict_by_data, of_a_class_or_plain, given_back_of_a_class_or_plain,
        of_a_class_or_plain_in_a_loop, memory_of_a_class_or_plain, filtered,
    ],
)  # fmt: skip
def test_ways_meet(f):
    check_calls(f, tagged, number, calls=4)


def test_the_filter_is_a_loop():
    assert jit(filtered).ir(tagged(0), 1.0).count() < 200


def test_an_instance_that_leaves_a_loop_is_refused():
    with pytest.raises(wengert.UnsupportedError, match="is an instance that the loop"):
        jit(returned_from_a_loop)(tagged(0), 1.0)


def test_what_depends_on_the_class_is_refused_in_a_loop():
    def f(a, c):
        total = 0.0
        for i in range(300):
            r = a * i if i * c > 20 else np.asarray(a)
            total += float((r * 2)[0])
        return total

    with pytest.raises(wengert.UnsupportedError, match="is a Tagged or a ndarray, as data decide"):
        jit(f)(tagged(0), 1.0)


class Spoken(Tagged):
    def __str__(self):
        return f"<{self[0]:.2f} {self.tag}>"


def test_text_of_the_users_own(capfd):
    def f(a):
        print(a)
        print("sum:", np.asarray(a).sum())

    jit(f)(plain(0).view(Spoken))
    assert capfd.readouterr().out.split("\n")[:2] == ["<1.00 none>", "sum: 6.0"]


@pytest.mark.parametrize("text", ["'%s' % a", "f'{a}'", "print(a)", "str(a)", "repr(a)"])
def test_text_that_numpy_would_write_is_refused(text):
    f = eval(f"lambda a: {text}")
    with pytest.raises(wengert.UnsupportedError):
        jit(f)(tagged(0))


def test_text_of_the_users_own_in_c_is_refused():
    with pytest.raises(wengert.UnsupportedError):
        jit(eval("lambda a: '%s' % a"))(plain(0).view(Spoken))


@pytest.mark.parametrize(
    "text",
    ["np.array(a.view(Plain), subok=True)", "np.asanyarray(a.view(Plain))", "isinstance(a.view(Plain), np.ndarray)", "type(a.view(Plain))",
        "len(a.view(Plain))", "[*a.view(Plain)]", "sum(a.view(Plain))", "np.stack([a.view(Plain), a])", "np.r_[a.view(Plain), a]",
        "abs(a.view(Plain))", "copy.copy(a.view(Plain))", "np.iterable(a.view(Plain))", "np.zeros(3) + a.view(Plain)"],
)  # fmt: skip
def test_the_first_instance_is_made_by_an_argument(text):
    check_calls(compiled_from(f"import copy\nimport numpy as np\nfrom subclasses import Plain\ndef f(a):\n    return {text}\n"), plain)


class Marked(np.ndarray):
    mark = "none"


def test_a_while_asks_the_truth_of_an_instance(falling_back):
    def halved(p):
        while p.sum() > 2:
            p = p * 0.5
        return p

    for x in ([1.0, 2.0], [0.5, 0.5]):
        found = jit(halved)(np.array(x).view(Marked))
        assert type(found) is Marked and np.array_equal(found, halved(np.array(x).view(Marked)))


class Reading:
    def __init__(self, x):
        self.x = x

    def __bool__(self):
        return bool(self.x[0] > 2)


def test_a_while_asks_an_object_of_which_data_decide_whether_it_is_true():
    def halved(x):
        reading = Reading(x)
        while reading:
            reading = Reading(reading.x * 0.5)
        return reading.x

    for x in ([9.0, 1.0], [1.0, 1.0]):
        assert np.array_equal(jit(halved)(np.array(x)), halved(np.array(x)))


def test_an_attribute_is_stored_into_one_of_two_instances(falling_back):
    def marked(p):
        q = p if p[0] > 2 else p.copy()
        q.mark = "seen"
        return q

    for x in ([1.0, 2.0], [3.0, 2.0]):
        p = np.array(x).view(Marked)
        found = jit(marked)(p)
        assert found.mark == "seen" and (found is p) == (x[0] > 2) and p.mark == ("seen" if x[0] > 2 else "none")
