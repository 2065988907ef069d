"""Examples of pages as doctests whose exceptions are compared in kind, words and notes: doctest itself looks at the last line alone."""

import doctest
import sys
import time
import traceback
import types

from places import ROOT

import wengert

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def told(kind, error):
    """An exception as pages show it: its public name, what it says, and its notes."""
    public = getattr(wengert, kind.__name__, None) is kind
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{'wengert' if public else kind.__module__}.{kind.__qualname__}"
    return ["\n".join([f"{name}: {error}", *getattr(error, "__notes__", ())]) + "\n"]


class Checker(doctest.OutputChecker):
    """What is shown of an exception may end before its notes do."""

    def check_output(self, want, got, flags):
        shortened = ": " in want.partition("\n")[0] and super().check_output(want.rstrip() + " ...\n", got, flags)
        return shortened or super().check_output(want, got, flags)


class Runner(doctest.DocTestRunner):
    """With `--times` among the arguments of this file, each example that took a while is told."""

    def report_start(self, out, test, example):
        self.began = time.perf_counter()

    def report_success(self, out, test, example, got):
        took = time.perf_counter() - self.began
        if "--times" in sys.argv and took > 0.2:
            out(f"{took:7.2f} s  {test.name}:{example.lineno + 1}  {example.source.splitlines()[0][:70]}\n")


def run(page):
    """(failed, tried) of the examples of a page, docs/PAGE."""
    text = (ROOT / "docs" / page).read_text()
    test = doctest.DocTestParser().get_doctest(text, {"__name__": "__main__"}, page, str(ROOT / "docs" / page), 0)
    kept = doctest.traceback
    doctest.traceback = types.SimpleNamespace(print_exception=traceback.print_exception, format_exception_only=told)
    try:
        failed, tried = Runner(Checker(), optionflags=FLAGS).run(test)
    finally:
        doctest.traceback = kept
    return failed, tried


if __name__ == "__main__":
    for page in sys.argv[1:]:
        if page != "--times":
            print(page, *run(page))
