"""A new op, end to end: with the places that docs/contributing.md names, all generated tests of ops pass; without any one of them, one fails."""

import os
import re
import subprocess
import sys

import pytest
from places import ROOT

TESTS = ["tests/ir/test_ops.py", "tests/ir/test_traits.py", "tests/ir/test_elementwise.py", "tests/ir/test_intervals.py"]


def places():
    """{heading: code} of the blocks that add the op."""
    text = (ROOT / "docs" / "contributing.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    return dict(zip(("declaration", "derivative", "lowering"), blocks))


def outcome(tmp_path, missing=None):
    """How the generated tests of ops end where the op is added before they are collected: (exit status, report)."""
    code = "\n".join(block for name, block in places().items() if name != missing)
    (tmp_path / "a_new_op.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-rp", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "a_new_op", "-k", "softsign or total", *TESTS]
    paths = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_an_op_is_added_in_three_places(tmp_path):
    assert len(places()) == 3
    status, report = outcome(tmp_path)
    assert status == 0, report
    assert len(re.findall("PASSED .*softsign", report)) >= 20, report


@pytest.mark.parametrize("place", ["derivative", "lowering"])
def test_each_place_is_asked_for(tmp_path, place):
    status, report = outcome(tmp_path, place)
    assert status == 1 and "softsign" in report
