"""The pages of the site are true: their examples give what they show, exceptions and notes included, and fall back nowhere unsaid."""

import importlib.util
import re
import warnings

import pages
import pytest
from places import ROOT

from wengert import Fallback
from wengert.tracer.common import errors

DOCS = ROOT / "docs"
FOLDERS = sorted(p.relative_to(DOCS).as_posix() for folder in ("guide", "migration") for p in (DOCS / folder).glob("*.md"))
NAMES = ["index.md", "first_steps.md", "errors.md", "way_of_a_call.md", "gpu.md", *(name for name in FOLDERS if not name.endswith("/index.md"))]


@pytest.mark.parametrize("page", NAMES)
def test_examples_of_a_page(page, inexact_rules, falling_back, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        if page != "errors.md":
            warnings.simplefilter("error", Fallback)
        failed, tried = pages.run(page)
    assert failed == 0 and tried >= 7


@pytest.mark.parametrize("text, failures", [
    (">>> raise ValueError('one')\nTraceback (most recent call last):\nValueError: other\n", 1),
    (">>> raise ValueError('one')\nTraceback (most recent call last):\nValueError: one\n", 0),
    (">>> raise KeyError('one')\nTraceback (most recent call last):\nValueError: 'one'\n", 1),
])  # fmt: skip
def test_exceptions_are_compared_in_words(text, failures, tmp_path, monkeypatch, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(text)
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    assert pages.run("page.md") == (failures, 1)


def test_each_kind_of_error_has_its_place():
    """Each class of errors.py is explained; each error that the page shows is one of these, or of Python."""
    page = (DOCS / "errors.md").read_text()
    told = page + "".join(path.read_text() for path in DOCS.glob("debug.md"))
    kinds = [name for name, x in vars(errors).items() if isinstance(x, type) and issubclass(x, errors.WengertError | errors.Fallback)]
    assert len(kinds) >= 16
    assert [kind for kind in kinds if f"`{kind}`" not in told and kind != "WengertError"] == []
    shown = set(re.findall(r"^wengert(?:\.\w+)*\.(\w+):", page, re.M))
    assert shown >= {"UnsupportedError", "ConcretizationError", "LeakError", "DerivativeError", "ShapeError", "CheckError"}


@pytest.fixture(scope="module")
def messages():
    spec = importlib.util.spec_from_file_location("messages", DOCS / "site" / "messages.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_messages_are_read_off_the_sources(messages):
    """What tests have seen raised is on the page of all messages, each by words of its own."""
    every = messages.every()
    patterns = [messages.pattern(m) for m in every if len(m.words.replace(messages.HOLE, "")) > 12]
    seen, unknown = 0, []
    for path in sorted((ROOT / "tests" / "golden" / "errors").glob("*.txt")):
        kind, words = path.read_text().splitlines()[:2]
        if kind.startswith(("UnsupportedError", "ConcretizationError", "LeakError", "CannotRoll", "DerivativeError", "DeepRecursion")):
            seen += 1
            unknown += [] if any(p.fullmatch(words) for p in patterns) else [f"{path.name}: {words}"]
    assert seen >= 30 and not unknown
    assert {m.kind for m in every} >= {"UnsupportedError", "ConcretizationError", "LeakError", "DerivativeError", "CheckError"}


def test_a_message_is_found_whatever_way_it_is_written(messages, tmp_path, monkeypatch):
    monkeypatch.setattr(messages, "ROOT", tmp_path)
    (tmp_path / "module.py").write_text(
        "HINT = 'Write it otherwise.'\n"
        "def f(x, long):\n"
        "    text = f'{x} cannot be ' + 'taken' if long else f'{x} is no number'\n"
        "    raise CannotRoll(message(text, locate(), HINT))\n"
        "def g(n):\n    raise DerivativeError(f'there are {n} of them')\n"
    )
    found = [(m.kind, m.words, m.instead) for m in messages.of_file(tmp_path / "module.py")]
    assert sorted(found) == [
        ("DerivativeError", "there are … of them", ""),
        ("UnsupportedError", "… cannot be taken", "Write it otherwise."),
        ("UnsupportedError", "… is no number", "Write it otherwise."),
    ]
