"""The examples of docs/interop.md, section by section, where the libraries that they use are installed."""

import doctest
import re

import pytest
from places import ROOT

PAGE = (ROOT / "docs" / "interop.md").read_text()
SECTIONS = {text.partition("\n")[0]: text for text in PAGE.split("\n## ")[1:]}
EXAMPLES = {name: text for name, text in SECTIONS.items() if ">>> " in text}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    for line in re.findall(r"^>>> import (.*)$", EXAMPLES[name], re.M):
        for library in line.split(", "):
            pytest.importorskip(library.partition(" as ")[0])
    # functions of `__main__` travel by value, as those of a script do
    test = doctest.DocTestParser().get_doctest(EXAMPLES[name], {"__name__": "__main__"}, name, "docs/interop.md", 0)
    result = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test)
    assert result.attempted > 3 and not result.failed


def test_each_row_names_its_test():
    """Of the table: what works, where that is shown, what others expect."""
    rows = [line.strip("|").split("|") for line in SECTIONS["What works"].splitlines() if line.startswith("| ")][1:]
    assert len(rows) > 20
    tests, last = set(), None
    for row in rows:
        assert len(row) == 4 and row[0].strip() and row[1].strip()
        last = row[2].strip("` ") if "`" in row[2] else last if "the same" in row[2] else None
        tests.add(last)
    assert all((ROOT / path).is_file() for path in tests - {None})
