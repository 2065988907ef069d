"""Numbers that stay as they are once they are not 0 are found in loops and choices; what may be 0 again is not."""

import numpy as np
import pytest

from wengert.ir.reading import parse
from wengert.ir.sticky import never_0, sticky_values, telling_loops

LOOP = """
func f(%x: i64[9], %s0: i64[]) -> i64[9], i64[] {{
  %s, %y = loop %s0, %x carried=2 trips=9 : i64[], i64[9]
    body: func(%i: i64[], %s: i64[], %y: i64[9]) -> i64[], i64[9] {{
      %v = dynamic_slice %y, %i sizes=[1] : i64[1]
      %n = reshape %v shape=[] : i64[]
      %bad = gt %n, 5 : bool[]
      %none = eq %s, 0 : bool[]
      %first = and %bad, %none : bool[]
      %high = mul %n, 65536 : i64[]
      %code = add %high, 3 : i64[]
      %t = select {test}, {code}, %s : i64[]
      return {result}, %y
    }}
  return %y, {last}
}}
"""


def made(test="%first", code="%code", result="%t", last="%s"):
    return parse(LOOP.format(test=test, code=code, result=result, last=last))


def test_the_first_of_several_is_sticky():
    func = made()
    body = func.eqns[0].attrs["body"]
    assert telling_loops(func) == {body: 0}
    values, param = sticky_values(func, 1)
    assert param is func.params[1] and values == {func.results[1], param}
    assert sticky_values(body, 0) == ({body.results[0], body.params[1]}, body.params[1])


@pytest.mark.parametrize(
    "change",
    [
        {"test": "%bad"},  # a later one replaces it
        {"code": "%high"},  # may be 0
        {"code": "%n"},
        {"code": "0"},
        {"result": "%code"},
        {"result": "0:i64[]"},
        {"last": "%s0"},  # nobody looks at it
    ],
)
def test_others_are_not(change):
    assert telling_loops(made(**change)) == {}


@pytest.mark.parametrize("code", ["1", "65537", "-1"])
def test_numbers_other_than_0_are_codes(code):
    assert telling_loops(made(code=code)) != {}


def test_codes_are_never_0():
    body = made().eqns[0].attrs["body"]
    code = next(e.results[0] for e in body.eqns if e.op.name == "add")
    high = next(e.results[0] for e in body.eqns if e.op.name == "mul")
    assert never_0(code) and not never_0(high)
    n = np.arange(-(2**62), 2**62, 2**60 + 7, dtype=np.int64)
    with np.errstate(over="ignore"):
        assert np.all(n * 65536 + 3 != 0)
