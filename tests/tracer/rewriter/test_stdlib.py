"""The standard library's own tests, on modules whose every function has hooks: a function with hooks is the function.

Then once more as if no function had source, so that calls are hooked in bytecode.
"""

import subprocess
import sys

import pytest
from places import ROOT

HERE = ROOT / "tests" / "helpers"
QUICK = ["heapq", "fractions", "textwrap", "calendar", "colorsys"]
QUICK += [f"difflib=test_difflib.{c}" for c in ("TestSFbugs", "TestWithAscii", "TestOutputFormat", "TestBytes")]
QUICK += [f"statistics=test_statistics.{c}" for c in ("TestMode", "TestMedian", "TestStdev", "TestSum")]
MORE = [
    "statistics", "difflib", "bisect", "copy", "csv", "configparser", "_pydecimal=test_decimal", "dataclasses", "enum", "functools", "graphlib",
    "html", "json.decoder=test_json", "json.encoder=test_json", "operator", "pprint", "queue", "reprlib", "string", "shlex", "types",
    "urllib.parse=test_urlparse", "tokenize", "collections", "contextlib", "random", "argparse", "ipaddress", "optparse", "fnmatch", "posixpath",
    "base64",
]  # fmt: skip


def run(*args):
    """-> (tests run, tests that failed)"""
    done = subprocess.run([sys.executable, str(HERE / "converted.py"), *args], capture_output=True, text=True, cwd=HERE)
    lines = done.stdout.splitlines()
    summary = next((line for line in lines if "functions converted" in line), "")
    assert summary, done.stderr[-3000:]
    return int(summary.split("; ")[1].split()[0]), [line for line in lines if line.startswith("failed ")]


@pytest.mark.parametrize("how", ["converted", pytest.param("blind", marks=pytest.mark.slow)])
def test_standard_library_passes_its_own_tests(how):
    pytest.importorskip("test.test_heapq")  # systems that split Python into packages leave these out
    count, failed = run(*([how] if how == "blind" else []), *QUICK)
    assert count > 300 and not failed


@pytest.mark.slow
@pytest.mark.parametrize("how", ["converted", "blind"])
@pytest.mark.parametrize("module", MORE)
def test_no_test_of_the_standard_library_fails_that_passes_unconverted(module, how):
    pytest.importorskip("test.test_heapq")  # systems that split Python into packages leave these out
    _, before = run("plain", module)
    _, failed = run(*([how] if how == "blind" else []), module)
    assert set(failed) <= set(before)
