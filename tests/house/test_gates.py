"""Constants of one machine: each names the script that measured it, or where none is on record the one that measures it again, which is
`benchmarks/tune.py` for all of them. No time is taken here.
"""

import re

import numpy as np
import pytest
from places import ROOT

from wengert.benchmarks import tune

ROOMS = ("ir/passes", "ir/rules", "backends", "tracer/program", "tracer/call")
LINE = re.compile(r"((?:^#.*\n)*)^([A-Z][A-Z_]*(?:, [A-Z][A-Z_]*)*) = -?\d.*", re.MULTILINE)  # with the comment above
UNMEASURED = 50  # lines of numbers in these rooms that no script is named for: fewer is better, and a new gate is measured


def constants():
    """{module.NAME: the script it names, or None} of the numbers of the rooms that decide what is applied.

    A comment that begins with `bound:` is of a limit of work or memory, with `fact:` of what mathematics, a format or a
    library gives: neither is a choice of the faster form.
    """
    found = {}
    for path in (p for room in ROOMS for p in sorted((ROOT / room).rglob("*.py"))):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        for line in LINE.finditer(path.read_text()):
            if re.search(r"# (bound|fact)\b", line[0]):
                continue
            script = re.search(r"measured by (benchmarks/[\w/]+\.py)", line[0].replace("\n# ", " "))
            found[f"{module}.{line[2]}"] = script and script[1]
    return found


def test_gates_that_name_a_script_are_those_that_are_measured_again():
    named = {name: script for name, script in constants().items() if script}
    assert set(named) == set(tune.GATES)
    assert all((ROOT / script).is_file() for script in named.values())


def test_no_gate_comes_without_a_script():
    bare = [name for name, script in constants().items() if script is None]
    assert len(bare) <= UNMEASURED, "\n".join(bare)


@pytest.mark.parametrize("name", tune.GATES)
def test_programs_come_to_their_gates(name):
    """Open and shut, on the same numbers: the constant is asked about, and the answers agree, whatever form they come from."""
    found, gate = tune, tune.GATES[name]
    f, arguments = gate.program(gate.sizes[0])
    taken, left = (found.compiled(name, f, arguments, value, gate.engine)(*arguments) for value in (gate.taken, gate.left))
    np.testing.assert_allclose(taken, left, rtol=1e-4, atol=1e-4)


def test_what_never_comes_to_a_gate_is_found():
    with pytest.raises(LookupError, match="not asked"):
        tune.compiled("backends.xla.powers.LARGE", lambda x: x + 1, (np.ones(3),), 0)


def test_the_size_from_which_a_form_pays():
    found = tune
    gate, upto = found.Gate(None, (1, 2, 4)), found.Gate(None, (1, 2, 4), up_to=True)
    assert [found.today(gate, r) for r in ([0.5, 0.9, 2], [2, 1, 1.2], [2, 2, 2], [2, 2, 1])] == ["4", "4", "<=1", "none"]
    assert [found.today(upto, r) for r in ([2, 0.9, 2], [2, 2, 2], [1, 2, 2])] == ["1", ">=4", "none"]
