"""Constants of one machine: each names the script that measured it, or where none is on record the one that measures it again, which is
`benchmarks/tune.py` for all of them. No time is taken here.
"""

import re

import numpy as np
import pytest
from places import ROOT

from wengert.benchmarks import gates, tune

ROOMS = ("ir/passes", "ir/rules", "backends", "tracer/program", "tracer/call")
LINE = re.compile(r"((?:^#.*\n)*)^([A-Z][A-Z_]*(?:, [A-Z][A-Z_]*)*) = -?\d.*", re.MULTILINE)  # with the comment above


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
    assert set(named) == {*tune.GATES, *tune.SETTINGS, *tune.QUANTITIES}
    assert all((ROOT / script).is_file() for script in named.values())


def test_no_gate_comes_without_a_script():
    assert not [name for name, script in constants().items() if script is None]


@pytest.mark.parametrize("name", tune.GATES)
def test_programs_come_to_their_gates(name):
    """Open and shut, on the same numbers: the constant is asked about, and the answers agree, whatever form they come from."""
    gate = tune.GATES[name]
    f, arguments = gate.program(gate.sizes[0])
    taken, left = (tune.compiled(name, f, copied(arguments), value, gate.engine)(*copied(arguments)) for value in (gate.taken, gate.left))
    np.testing.assert_allclose(taken, left, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", tune.SETTINGS)
def test_programs_come_to_their_settings(name):
    setting = tune.SETTINGS[name]
    f, arguments = setting.program()
    forms = [tune.compiled(name, f, copied(arguments), value, setting.engine) for value in (setting.values[0], setting.values[-1])]
    least, most = (form(*copied(arguments)) for form in forms)
    for one, other in zip(least, most, strict=True) if isinstance(least, tuple) else [(least, most)]:
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def copied(arguments):
    """For a function that stores into them."""
    return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]


@pytest.mark.parametrize("name", tune.QUANTITIES)
def test_quantities_are_of_the_size_that_is_said(name):
    module, constant = tune.place(name)
    assert 1e-3 < tune.QUANTITIES[name]() / getattr(module, constant) < 1e3


def test_what_never_comes_to_a_gate_is_found():
    with pytest.raises(LookupError, match="not asked"):
        tune.compiled("backends.xla.powers.LARGE", lambda x: x + 1, (np.ones(3),), 0)


def test_the_size_from_which_a_form_pays():
    gate, upto = gates.Gate(None, (1, 2, 4)), gates.Gate(None, (1, 2, 4), up_to=True)
    assert [tune.today(gate, r) for r in ([0.5, 0.9, 2], [2, 1, 1.2], [2, 2, 2], [2, 2, 1])] == ["4", "4", "<=1", "none"]
    assert [tune.today(upto, r) for r in ([2, 0.9, 2], [2, 2, 2], [1, 2, 2])] == ["1", ">=4", "none"]
