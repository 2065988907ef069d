"""The README is true: its examples run as shown, and CI runs its second command to the letter."""

import doctest
import re

import pytest
from places import ROOT

from wengert.tracer.api import custom, flow, foreign, implicit, jacobians, jit, transforms, vmap
from wengert.tracer.rules import rules


@pytest.mark.parametrize("page", ["README.md", "docs/semantics.md", "docs/autograd.md", "docs/plan.md"])
def test_examples(page, inexact_rules, falling_back):
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE | doctest.IGNORE_EXCEPTION_DETAIL
    failed, tried = doctest.testfile(str(ROOT / page), module_relative=False, optionflags=flags)
    assert tried >= 15 and failed == 0


def test_docstrings(inexact_rules, falling_back):
    for module in (foreign, jit, transforms, jacobians, vmap, custom, flow, implicit, rules):
        failed, tried = doctest.testmod(module)
        assert tried and not failed


def test_ci_runs_the_second_command():
    commands = re.findall(r"^    (python3 -m venv .*)$", (ROOT / "README.md").read_text(), re.M)
    assert len(commands) == 2
    assert commands[1] in (ROOT / ".ci" / "run").read_text().splitlines()
