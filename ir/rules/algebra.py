"""Identities of arithmetic, comparison, choice and conversion.

Integers wrap, so theirs are the identities of a ring. Floats have -0.0, infinities and NaN, so x * 0.0
and x - x stay as they are. Sums of floats keep their order: programs that recover rounding errors rely on it.
"""
# ruff: noqa: I001, the names of a family fill lines

import numpy as np

from ..core import Builder, Lit, Value
from ..op import BOOL, COMPLEX, FLOAT, INEXACT, INTEGER, OPS, REAL, UINT, Cost
from ..ops.elementwise import (
    abs, and_, cast, conj, eq, ge, gt, imag, integer_pow, le, lt, make_complex, maximum, minimum, ne, neg, not_, or_,
    pow, real, rsqrt,
    select, sqrt, strong_mul, xor,
)  # fmt: skip
from ..pattern import holes, literals
from ..rewrite import RuleSet
from ..setting import OF_ALL_SIZES
from ..types import SMALL

ALGEBRA = RuleSet("algebra")
rule = ALGEBRA.rule
x, y, z = holes("x y z")
c, d, e = holes("c d e", BOOL)
f = holes("f", FLOAT)
i, j = holes("i j", INTEGER)
r = holes("r", FLOAT + INTEGER)
w = holes("w", COMPLEX)
p, q = holes("p q")  # attributes
m, n = literals("m n", INTEGER)
a, b = literals("a b", INEXACT)
k, l = literals("k l", FLOAT)


def is_normal_factor(value):
    """Whether a folded factor is an ordinary number: neither it nor what it multiplies gains an overflow."""
    dtype = np.asarray(value).dtype
    return dtype not in SMALL and bool(np.isfinite(value)) and np.abs(value) >= np.finfo(dtype).tiny


def times(a, b):
    """The product of two literals, when it is ordinary."""
    with np.errstate(all="ignore"):
        value = a.value * b.value
    return Lit(value, a.type) if is_normal_factor(value) and usual(a) and usual(b) else None


def over(a, b):
    """Their quotient, when it is ordinary."""
    with np.errstate(all="ignore"):
        value = a.value / b.value
    return Lit(value, a.type) if is_normal_factor(value) and usual(a) and usual(b) else None


def usual(a):
    """Whether a step with this literal overflows for no number that its neighbours do not overflow for, as good as
    ever."""
    return 1e-30 < np.abs(a.value) < 1e30 and not OF_ALL_SIZES.get()


def opposite(k, l):
    """Whether numbers are k > 0 and -k: a sum of 0.0 that a negative one multiplies is -0.0."""
    return k.value == -l.value and k.value > 0


# fmt: off
# -- zero and one ----------------------------------------------------------------------------------

rule(i + 0,      i)
rule(f + -0.0,   f)
rule(x + 0.0,    x, exact=False, keeps="")    # -0.0 + 0.0 = 0.0
rule(i - 0,      i)
rule(f - 0.0,    f)
rule(w - 0.0,    w)
rule(0 - i,      -i)
rule(-0.0 - f,   -f)
rule(0.0 - x,    -x, exact=False, keeps="")   # 0.0 - 0.0 = 0.0
rule(i * 0,      0)
rule(r * 1,      r)
rule(w * 1.0,    w, exact=False, keeps="")    # (inf + 0i)(1 + 0i) = inf + nan i
rule(f * -1.0,   -f)
rule(strong_mul(a, x), a * x, where=lambda a: a.value != 0, never=[{"a": 0.0}])
# zeros of other signs
rule(strong_mul(x, a), x * a, exact=False, keeps="", where=lambda a: bool(np.isfinite(a.value)), never=[{"a": np.inf}])
rule(i * -1,     -i)
rule(w * -1.0,   -w, exact=False, keeps="")
rule(f / 1.0,    f)
rule(w / 1.0,    w, exact=False, keeps="")
rule(f / -1.0,   -f)
rule(i - i,      0)
rule(r + r,      2 * r)

# -- signs -----------------------------------------------------------------------------------------

rule(neg(-x),    x)
rule(x + -y,     x - y)
rule(x - -y,     x + y)
rule(-(i - j),   j - i)
rule(-(x - y),   y - x, exact=False, keeps="")    # -(1 - 1) = -0.0
rule(-x * -y,    x * y)
rule(-f / -y,    f / y)
rule(-w / -y,    w / y, exact=False, keeps="")    # zeros and infinities of other signs
rule(-r * y,     -(r * y))
rule(-f / y,     -(f / y))
rule(f / -y,     -(f / y))
rule(-(k * f),   (-k) * f)
rule(-(m * i),   (-m) * i)
rule(-(f / k),   f / (-k))
rule(-(k / f),   (-k) / f)
rule(abs(-x),    abs(x), where=lambda x: x.type.kind != UINT, never=[{"x": "u8[3]"}])
rule(abs(abs(x)),  abs(x), where=lambda x: x.type.kind in REAL, never=[{"x": "c128[3]"}])
rule(abs(r) * abs(r),  r * r)

# -- literals meet: one rounding instead of two ----------------------------------------------------

rule(m + (n + i),  (m + n) + i)
rule(m * (n * i),  (m * n) * i)
rule((i - m) + n,  i + (n - m))
rule((i + m) - n,  i + (m - n))
rule((i - m) - n,  i - (m + n))


@rule(a * (b * x), exact=False, keeps=REAL, never=[{"a": 1e31, "b": 1.0}])
def multiply_literals(a, b, x):
    return product * x if (product := times(a, b)) else None


@rule(a * (x / b), exact=False, keeps=REAL, never=[{"a": 1e31, "b": 1.0}])
def scale_quotient(a, x, b):
    return ratio * x if (ratio := over(a, b)) else None


@rule((a * x) / b, exact=False, keeps=REAL, never=[{"a": 1e31, "b": 1.0}])
def divide_multiple(a, x, b):
    return ratio * x if (ratio := over(a, b)) else None


@rule((x / a) / b, exact=False, keeps=REAL, never=[{"a": 1e31, "b": 1.0}])
def divide_twice(x, a, b):
    return x / product if (product := times(a, b)) else None


@rule(a * (b / x), exact=False, keeps=REAL, never=[{"a": 1e31, "b": 1.0}])
def multiply_numerator(a, b, x):
    return product / x if (product := times(a, b)) else None


@rule((a / x) / b, exact=False, keeps=REAL, never=[{"a": 1e31, "b": 1.0}])
def divide_numerator(a, x, b):
    return ratio / x if (ratio := over(a, b)) else None


@rule(a / (b * x), exact=False, keeps=REAL, never=[{"a": 1e31, "b": 1.0}])
def divide_by_multiple(a, b, x):
    return ratio / x if (ratio := over(a, b)) else None


@rule(f / k, cases=[{"k": v} for v in (2.0, -0.25, 4.0, 3.0)], never=[{"k": 3.0}])
def divide_by_power_of_two(f, k):
    """Its reciprocal is exact, so x / 2^n and x * 2^-n round alike."""
    if OF_ALL_SIZES.get():
        return None
    return f * Lit(1 / k.value, k.type) if np.abs(np.frexp(k.value)[0]) == 0.5 and is_normal_factor(1
        / k.value) and is_normal_factor(k.value) else None


# -- common factors --------------------------------------------------------------------------------

rule(m * i + m * j,  m * (i + j))
# and overflows where x + y does
rule(a * x + a * y,  a * (x + y), exact=False, keeps="")    # -1 + 1 = 0.0
rule(k * x + k * y,  k * (x + y), exact=False, where=lambda k: k.value > 0, never=[{"k": -0.5}])
# `once`: a rounded product that is used beside its difference from another is an error-free transformation's, and stays
rule(a * x - a * y,  a * (x - y), exact=False, once=True, keeps="")
rule(k * x - k * y,  k * (x - y), exact=False, once=True, where=lambda k: k.value > 0, never=[{"k": -0.5}])
rule(k * x + l * y,  k * (x - y), exact=False, once=True, where=opposite, cases=[{"k": 0.1, "l": -0.1}],
    never=[{"k": 0.1, "l": 0.2}])
rule(k * x - l * y,  k * (x + y), exact=False, once=True, where=opposite, cases=[{"k": 0.1, "l": -0.1}],
    never=[{"k": 0.1, "l": 0.2}])

# -- quotients -------------------------------------------------------------------------------------

rule(x * (1.0 / y),      x / y, exact=False, keeps=REAL)    # one rounding instead of two
rule(x / (1.0 / y),      x * y, exact=False, keeps=REAL)
rule(1.0 / (x / y),      y / x, exact=False, keeps=REAL)

# -- powers ----------------------------------------------------------------------------------------

rule(pow(f, 0.0),        1.0)
rule(pow(f, 1.0),        f)
rule(pow(x, 1.0),        x, exact=False, keeps=REAL)
rule(pow(1.0, f),        1.0)
rule(pow(x, 2.0),        x * x, exact=False, keeps=REAL)        # pow may miss the last digit
rule(pow(x, -1.0),       1.0 / x, exact=False, keeps=REAL)
rule(pow(f, 0.5),        select(eq(f, -np.inf), np.inf, sqrt(f)), exact=False, grows=True)      # at -0.0
rule(pow(f, -0.5),       select(eq(f, -np.inf), 0.0, select(eq(f, 0.0), np.inf, rsqrt(f))), exact=False, grows=True)
rule(integer_pow(x, n=0),   1)
rule(integer_pow(r, n=1),   r)
rule(integer_pow(w, n=1),   w, exact=False, keeps="")
rule(integer_pow(i, n=2),   i * i)
rule(integer_pow(f, n=2),   f * f)
rule(integer_pow(f, n=-1),  1.0 / f)
rule(1.0 / sqrt(x),      rsqrt(x), exact=False)      # devices have their own


# several roundings instead of one
@rule(pow(x, a), exact=False, cases=[{"a": 3.0}, {"a": -2.0}, {"a": 2.5}], never=[{"a": 2.5}, {"a": 65.0}])
def power_of_whole_number(x, a):
    whole = a.value.real == np.rint(a.value.real) and np.abs(a.value) <= 64
    return integer_pow(x, n=int(a.value.real)) if whole and a.value.imag == 0 else None


# -- order -----------------------------------------------------------------------------------------

for same in (maximum, minimum, and_, or_):
    rule(same(x, x),           x)
    rule(same(same(x, y), y),  same(x, y))

rule(lt(x, x),  False)
rule(gt(x, x),  False)
rule(ne(i, i),  False)
rule(eq(i, i),  True)
rule(le(i, i),  True)
rule(ge(i, i),  True)
rule(not_(eq(x, y)),  ne(x, y))
rule(not_(ne(x, y)),  eq(x, y))
rule(not_(lt(i, j)),  ge(i, j))
rule(not_(le(i, j)),  gt(i, j))
rule(not_(gt(i, j)),  le(i, j))
rule(not_(ge(i, j)),  lt(i, j))

# -- bits and truth --------------------------------------------------------------------------------

rule(not_(not_(x)),   x)
rule(and_(c, True),   c)
rule(and_(c, False),  False)
rule(or_(c, True),    True)
rule(or_(c, False),   c)
rule(xor(c, False),   c)
rule(xor(c, True),    not_(c))
rule(xor(x, x),       0)
rule(and_(i, 0),      0)
rule(and_(i, -1),     i)
rule(or_(i, 0),       i)
rule(xor(i, 0),       i)
rule(and_(c, not_(c)),  False)
rule(or_(c, not_(c)),   True)
rule(and_(c, select(c, d, e)),  and_(c, d))
rule(eq(c, True),     c)
rule(eq(c, False),    not_(c))
rule(ne(c, False),    c)
rule(ne(c, True),     not_(c))

# -- choice ----------------------------------------------------------------------------------------

rule(select(c, x, x),        x)
rule(select(True, x, y),     x)
rule(select(False, x, y),    y)
rule(select(not_(c), x, y),  select(c, y, x))
rule(select(c, True, False),  c)
rule(select(c, False, True),  not_(c))
rule(select(c, select(c, x, y), z),  select(c, x, z))
rule(select(c, x, select(c, y, z)),  select(c, x, z))
rule(select(c, -x, -y),      -select(c, x, y))
rule(select(c, x, 0.0) + select(c, 0.0, y),  select(c, x, y) + 0.0, exact=False)
# -0.0 + 0.0; what is kept need not be stored
rule(x + select(c, y, 0.0),  select(c, x + y, x), exact=False, once=True, keeps="")


# computed once more for a choice of their own
CHEAP = {op for op in OPS.values() if "elementwise" in op.traits and op.cost is Cost.STEP} - {select}


@rule(None, fits=lambda op, heads: op is select, grows=True, never=["""
    func other(%c: bool[3], %d: bool[3], %x: f64[3], %y: f64[3]) -> f64[3] {
      %0 = select %d, %x, %y : f64[3]
      %1 = add %0, %x        : f64[3]
      %2 = select %c, %1, %y : f64[3]
      return %2
    }"""])
def known_within(operands):
    """Where a choice takes x + y, a choice under the same condition in there has been made."""
    (test, *sides), build = operands, Builder.current()

    def made(x, side):
        if not isinstance(x, Value) or x.eqn is None or x.eqn.op not in CHEAP:
            return x
        inner = [y.eqn.operands[side] if is_choice(y, test) else y for y in x.eqn.operands]
        return build.emit(x.eqn.op, inner, x.eqn.attrs) if inner != list(x.eqn.operands) else x

    found = [made(x, 1 + side) for side, x in enumerate(sides)]
    return select(test, *found) if found != sides else None


def is_choice(x, test):
    return isinstance(x, Value) and x.eqn is not None and x.eqn.op is select and x.eqn.operands[0] is test


# -- conversion ------------------------------------------------------------------------------------


def represents_all(wide, narrow):
    """Whether every number of dtype `narrow` is one of dtype `wide`."""
    if wide in SMALL:
        return narrow == wide
    if narrow.kind in INTEGER and wide.kind in INEXACT and 8 * narrow.itemsize > np.finfo(wide).nmant + 1:
        return False
    return np.can_cast(narrow, wide, "safe")


rule(cast(x, dtype=p),  x, where=lambda x, p: x.type.dtype == p,
    cases=[{"x": t, "p": np.dtype(n)} for t, n in (("f64[7]", "f8"), ("bool[7]", "?"))],
     never=[{"x": "f64[7]", "p": np.dtype("f4")}])


@rule(cast(cast(x, dtype=p), dtype=q), cases=[
    {"x": f"{t}[9]", "p": np.dtype(n), "q": np.dtype(m)} for t, n, m in
    (("f32", "f8", "f4"), ("f32", "c16", "f8"), ("i32", "f8", "i8"), ("bool", "i8", "f4"), ("i8", "i4", "u1"),
        ("u8", "i4", "f2"), ("f16", "f4", "?"))
], never=[{"x": f"{t}[9]", "p": np.dtype(n), "q": np.dtype(m)} for t, n,
m in (("f64", "f4", "f8"), ("i64", "f8", "i8"), ("f64", "i8", "f8"))])
def merge_casts(x, p, q):
    """Nothing was lost on the way. Floats beyond the integers of q go their own ways, so they may not meet q first."""
    lossless = represents_all(p, x.type.dtype) and (q.kind not in INTEGER or p.kind not in INEXACT or represents_all(q,
        x.type.dtype))
    return cast(x, dtype=q) if lossless else None


# -- complex parts ---------------------------------------------------------------------------------

rule(real(make_complex(x, y)),  x)
rule(imag(make_complex(x, y)),  y)
rule(make_complex(real(w), imag(w)),  w)
rule(conj(conj(w)),  w)
rule(real(conj(w)),  real(w))
rule(imag(conj(w)),  -imag(w))
rule(abs(conj(w)),   abs(w))
# fmt: on
