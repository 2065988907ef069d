"""What docs/contributing.md adds (an op, a lowering, a NumPy function, a rule, a pass) is added, by a process of its own."""

import re
import subprocess
import sys
import tomllib

from places import ROOT


def test_the_walk_throughs_run(tmp_path):
    text = (ROOT / "docs" / "contributing.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)
    assert len(blocks) == 7 and sum("assert" in block for block in blocks) >= 4
    path = tmp_path / "additions.py"  # a file, for what an op is in NumPy is read from its source
    path.write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_pages_link_what_is_there():
    for page in (ROOT / "README.md", *(ROOT / "docs").rglob("*.md")):
        text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.S)  # code links nothing
        for target in re.findall(r"\]\((?!https?:|#)([^)#\s]+)", text):
            assert (page.parent / target).exists(), f"{page.name} links {target}"


def test_the_pages_say_the_versions_that_are_required():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pythons = [c.rpartition(" ")[2] for c in project["classifiers"] if re.search(r":: 3\.\d+$", c)]
    page, log = ((ROOT / "docs" / name).read_text() for name in ("versions.md", "changelog.md"))
    assert f"| CPython | {pythons[0]} or newer, up to {pythons[-1]} |" in page and project["requires-python"] == f">={pythons[0]}"
    for need in [*project["dependencies"], *project["optional-dependencies"]["native"]]:
        name, _, least = need.partition(">=")
        assert re.search(rf"^\| {name}\b.*\| {re.escape(least)} or newer \|", page, re.M | re.I), need
    assert f"\n## {project['version']}" in log
    assert set(re.findall(r"WENGERT_[A-Z]+", page)) == {f"WENGERT_{x}" for x in ("CACHE", "DEBUG", "KEEP", "LOG", "PERF", "PROGRESS")}
