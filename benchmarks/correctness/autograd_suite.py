"""HIPS autograd's own tests, run on `wengert.compat.autograd`: passed, failed and excluded, file by file.

    python benchmarks/correctness/autograd_suite.py CHECKOUT [FILE ...] [-v]

CHECKOUT is a clone of github.com/HIPS/autograd; nothing in it but tests/ is read. `import autograd` finds the
compat module. Tests of autograd's internals are excluded by name, with the reason; -v prints why the others fail.
"""

import argparse
import collections
import importlib
import importlib.abc
import importlib.util
import pathlib
import sys
import types

import numpy as np
import pytest

INTERNALS = {
    "test_vspaces": "VSpace, the class of autograd's vector spaces",
    "test_core": "core.make_vjp and wrap_util.unary_to_nary, without NumPy",
    "test_logic::test_unimplemented_falseyness": "the dict core.primitive_vjps",
    "test_misc::test_const_graph": "tracers.const_graph, which counts how often Python runs",
    "test_misc::test_const_graph_args": "tracers.const_graph, which counts how often Python runs",
    "test_wrappers::test_deprecated_defgrad_wrapper": "core.primitive's methods deprecated in 2017",
    "test_wrappers::test_deprecated_defvjp_wrapper": "core.primitive's methods deprecated in 2017",
    "test_wrappers::test_deprecated_defvjp_is_zero_wrapper": "core.primitive's methods deprecated in 2017",
    "test_wrappers::test_deprecated_quick_grad_check_wrapper": "util.quick_grad_check, deprecated in 2017",
    "test_wrappers::test_wrapped_name_and_docs": "the wording of a docstring",
    "test_fft::test_rfftn_odd_not_implemented": "that autograd has no gradient there; Wengert has",
    "test_wrappers::test_custom_where": "where of autograd's own NumPy: by keywords, which NumPy refuses",
    "test_wrappers::test_custom_where_dtypes[int-True-1-2]":
        "where of autograd's own NumPy: numbers as they are, of which NumPy makes arrays",
    "test_wrappers::test_custom_where_dtypes[float-True-3.0-4.0]": "as above",
    "test_wrappers::test_custom_where_dtypes[float-False-1-2.0]": "as above",
    "test_wrappers::test_custom_where_dtypes[list-True-x3-y3]": "as above, of lists",
}
SHIMS = {  # names that the tests import from autograd's internals and that mean something here
    "autograd.tracer": {"isbox": lambda x: False},
    "autograd.core": {"primitive_vjps": {}},
}


def make_diagonal(D, offset=0, axis1=0, axis2=1):
    """What autograd adds to NumPy: matrices with the last axis of D on their diagonals."""
    if (offset, axis1, axis2) not in ((0, -1, -2), (0, -2, -1)):
        raise NotImplementedError("other diagonals")
    return D[..., None] * np.eye(D.shape[-1])


HELPERS = {  # names of autograd's own NumPy, with which some tests make their arguments
    "make_diagonal": make_diagonal,
    "linalg.T": lambda x: np.swapaxes(x, -1, -2),
    "linalg._dot": lambda x, y: np.einsum("...ij,...jk->...ik", x, y),
}


class Alias(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `autograd.x` as `wengert.compat.autograd.x`."""

    def find_spec(self, name, path=None, target=None):
        return importlib.util.spec_from_loader(name, self) if name.split(".")[0] == "autograd" else None

    def exec_module(self, module):
        name = module.__name__
        if name in SHIMS:
            found = types.ModuleType(name)
            vars(found).update(
                SHIMS[name],
                **{n: getattr(importlib.import_module("wengert.compat.autograd.extend"), n) for n in ("primitive",)},
            )
        else:
            found = importlib.import_module(f"wengert.compat.{name}")
            # imported later, they would hide functions
            for inner in [n for n in sys.modules if n.startswith(f"{found.__name__}.")]:
                sys.modules.setdefault(inner.removeprefix("wengert.compat."), sys.modules[inner])
        sys.modules[name] = found


class Counts:
    """What became of each test, by file; set-up errors count as failures."""

    def __init__(self, verbose):
        self.files, self.verbose = collections.defaultdict(collections.Counter), verbose

    def pytest_collection_modifyitems(self, config, items):
        for item in [*items]:
            stem = pathlib.Path(item.location[0]).stem
            if INTERNALS.keys() & {f"{stem}::{item.originalname}", f"{stem}::{item.name}"}:
                items.remove(item)
                self.files[stem]["excluded"] += 1

    def pytest_collectreport(self, report):
        if report.failed:
            self.note(report, "failed")

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.failed or report.skipped:
            self.note(report, report.outcome)

    def note(self, report, outcome):
        self.files[pathlib.Path(report.nodeid.split("::")[0]).stem][outcome] += 1
        if self.verbose and outcome == "failed":
            lines = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
            print(f"  {report.nodeid.split('/')[-1]}: {' '.join(x[1:].strip() for x in lines[:3])[:240]}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=pathlib.Path)
    parser.add_argument("files", nargs="*", help="stems of test files; all without any")
    parser.add_argument("-v", "--verbose", action="store_true")
    given = parser.parse_args()
    sys.meta_path.insert(0, Alias())
    for name, helper in HELPERS.items():
        setattr(np.linalg if name.startswith("linalg.") else np, name.removeprefix("linalg."), helper)
    importlib.import_module("autograd.misc").const_graph = None  # imported beside what is tested
    tests = given.checkout.resolve() / "tests"
    counts, paths = Counts(given.verbose), []
    for path in [tests / f"{name}.py" for name in given.files] or sorted(tests.glob("test_*.py")):
        if path.stem in INTERNALS:  # not even imported
            counts.files[path.stem]["excluded"] = path.read_text().count("\ndef test_")
        else:
            paths.append(str(path))
    options = [
        "-c",
        "/dev/null",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:terminal",
        "-W",
        "ignore",
        "--rootdir",
        str(tests),
    ]
    if paths:
        pytest.main([*options, *paths], plugins=[counts])
    columns = ("passed", "failed", "excluded", "skipped")
    print(f"{'':24}" + "".join(f"{c:>10}" for c in columns))
    for name, found in [*sorted(counts.files.items()), ("all", sum(counts.files.values(), collections.Counter()))]:
        print(f"{name:24}" + "".join(f"{found[c]:10}" for c in columns))
    print("\nexcluded, because they test autograd's internals, limits or wording:")
    for name, why in INTERNALS.items():
        print(f"  {name}: {why}")


if __name__ == "__main__":
    main()
