"""The site builds without a warning, leads nowhere that is not there, asks no network for anything, and a browser has nothing to say of it."""

import os
import re
import shutil
import subprocess
import sys

import pytest
from places import ROOT

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
QUIET = """--headless=new --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update
--disable-sync --enable-logging=stderr --window-size=1280,1000""".split()
FETCHED = re.compile(r"<(?:script|img|iframe|source|link)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^\s>]*", re.I)
OPENED = ["index.html", "guide/fit.html", "gallery.html", "gallery/heat.html", "api.html", "messages.html"]


def built(folder, pictures):
    """The folder with the site, built by this interpreter from this checkout, whatever its name."""
    (folder / "wengert").symlink_to(ROOT, target_is_directory=True)
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {"PYTHONPATH": path, "GALLERY": pictures, "NO_MKDOCS_2_WARNING": "1"}
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-f", str(ROOT / "docs/site/mkdocs.yml"), "-d", str(folder / "site")]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for name in ("mkdocs", "material", "mkdocstrings", "matplotlib"):
        pytest.importorskip(name, reason=f"{name} is of the extra `docs`, which builds the site")
    return built(tmp_path_factory.mktemp("site"), "small")


def test_every_page_is_there_and_fetches_nothing(site):
    pages = sorted(site.rglob("*.html"))
    names = {page.relative_to(site).as_posix() for page in pages}
    sources = {path.relative_to(ROOT / "docs").with_suffix(".html").as_posix().replace("README", "index") for path in (ROOT / "docs").rglob("*.md")}
    assert sources <= names
    assert {f"gallery/{path.stem}.html" for path in (ROOT / "examples" / "gallery").glob("[a-z]*.py")} <= names
    assert [f"{page.name}: {found[0]}" for page in pages for found in FETCHED.finditer(page.read_text()) if "rel=\"canonical\"" not in found[0]] == []


def test_links_and_pictures_lead_to_files(site):
    wrong = []
    for page in site.rglob("*.html"):
        if page.name == "404.html":
            continue
        for target in re.findall(r"<(?:a|img|script|link)\b[^>]*?\b(?:href|src)=\"([^\"#?]+)", page.read_text()):
            if not re.match(r"[a-z]+:", target) and not (page.parent / target).exists():
                wrong.append(f"{page.relative_to(site)}: {target}")
    assert wrong == []


def test_what_is_public_is_in_the_reference(site):
    import wengert

    text = (site / "api.html").read_text()
    assert [name for name in wengert.__all__ if f'id="wengert.{name}"' not in text] == []
    assert "&gt;&gt;&gt;" in text and "doctest:" not in text and "&lt;BLANKLINE&gt;" not in text


def test_pictures_are_on_their_pages(site):
    for name in ("heat", "kalman"):
        picture = (site / "gallery" / f"{name}.png").read_bytes()
        assert picture.startswith(b"\x89PNG") and len(picture) > 5000
        assert f'src="{name}.png"' in (site / "gallery" / f"{name}.html").read_text()


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: the pages are not opened in a browser (apt-get install chromium)")
@pytest.mark.parametrize("page", OPENED)
def test_a_browser_has_nothing_to_say(site, page, tmp_path):
    done = opened((site / page).as_uri(), tmp_path)
    assert "CONSOLE" not in done.stderr, done.stderr
    assert "<h1" in done.stdout and "md-header" in done.stdout


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: the search is not tried")
def test_the_search_finds_pages_opened_as_files(site, tmp_path):
    done = opened((site / "index.html").as_uri() + "?q=cholesky", tmp_path)
    found = re.findall(r'md-search-result__item[^<]*<a href="[^"]*/(\w+\.html)', done.stdout)
    assert "gaussian_process.html" in found and "CONSOLE" not in done.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium here: the browser's console is not read")
def test_what_a_browser_says_is_seen(tmp_path):
    (tmp_path / "page.html").write_text("<script>nowhere()</script>")
    assert "CONSOLE" in opened((tmp_path / "page.html").as_uri(), tmp_path).stderr


def opened(address, folder):
    """A page in a browser without a network: its DOM on stdout, its console on stderr."""
    offline = ["--host-resolver-rules=MAP * ~NOTFOUND", f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=3000"]
    return subprocess.run([CHROMIUM, *QUIET, *offline, "--dump-dom", address], capture_output=True, text=True, timeout=120)


@pytest.mark.slow
def test_the_whole_site(tmp_path):
    """As it is published: pictures at their full sizes."""
    pytest.importorskip("mkdocs", reason="mkdocs is of the extra `docs`")
    assert len(list((built(tmp_path, "full") / "gallery").glob("*.png"))) >= 12
