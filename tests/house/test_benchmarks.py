"""Every script of benchmarks/ still finds what it is built on: it is imported, in an interpreter of its own."""

import subprocess
import sys

from places import ROOT

SCRIPTS = sorted((ROOT / "benchmarks").rglob("*.py"))
CHECK = """
import importlib, runpy, sys, traceback
for path in sys.argv[1:]:
    try:
        runpy.run_path(path, run_name="imported")
    except ModuleNotFoundError as e:
        if e.name in ("torch", "numba", "autograd", "matplotlib", "scipy"):
            continue
        print(path); traceback.print_exc(file=sys.stdout)
    except BaseException:
        print(path); traceback.print_exc(file=sys.stdout)
"""


def test_scripts_find_what_they_import():
    folders = {path.parent for path in SCRIPTS if path.parent.name != "programs"}
    for folder in sorted(folders):
        scripts = [str(path) for path in SCRIPTS if path.parent == folder]
        # as `python benchmarks/FOLDER/SCRIPT.py` does, whose folder is the first on sys.path
        code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{CHECK}"
        done = subprocess.run([sys.executable, "-c", code, *scripts], capture_output=True, text=True)
        assert done.stdout + done.stderr == ""
