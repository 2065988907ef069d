"""What is the user's stays text: names of functions, variables, keys and files, and strings, of any characters."""

import base64
import hashlib
import html
import json
import re

import chromium
import numpy as np
import pytest

from wengert import jit
from wengert.ir.types import parse_type
from wengert.tracer.view.page import json_text, page_html

HOSTILE = (
    "<script>alert(1)</script>", "</script>", "<!--", "]]>", "\"'`", "\u2028\u2029", "a" * 5000, "\u202egnirts", "{{7*7}}", "\x00\x1b", "\ud800",
    "<img src=x onerror=alert(1)>", "</title><b>", "&lt;&amp;",
)  # fmt: skip
SOURCE = '''
import numpy as np

def f(x):
    text = "</script><script>window.hacked = 1</script><!-- \\u2028 "
    return np.sin(x) * 2  # <img src=x onerror="window.hacked = 1">
'''


def hostile_function(tmp_path, name):
    """A function of a hostile name, from a file of a hostile name, which has hostile text in it."""
    path = tmp_path / "<b>&'.py"
    path.write_text(SOURCE, encoding="utf-8")
    space = {}
    exec(compile(SOURCE, str(path), "exec"), space)
    space["f"].__name__ = name
    return space["f"]


def data_of(text):
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)[1])


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_json_ends_no_block(text):
    told = json_text({text: [text]})
    assert json.loads(told) == {text: [text]}
    assert not re.search("[<>&\u2028\u2029\u202e\ud800]", told)
    told.encode()


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_a_page_has_two_scripts_and_no_markup_of_the_users(tmp_path, name):
    f = jit(hostile_function(tmp_path, name))
    page = f.view(np.ones(3), path=tmp_path / "page.html")
    assert len(re.findall(r"(?i)<script", page.text)) == len(re.findall(r"(?i)</script", page.text)) == 2
    assert "<!--" not in page.text and "<img" not in page.text and page.text.isascii()
    assert data_of(page.text)["title"] == name


def test_the_policy_names_the_one_script_and_the_one_style(tmp_path):
    text = jit(np.sin).view(np.ones(3), path=tmp_path / "page.html").text
    policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1])
    assert policy.startswith("default-src 'none';")
    for tag, pattern in (("script", r"<script>(.*?)</script>"), ("style", r"<style>(.*?)</style>")):
        digest = base64.b64encode(hashlib.sha256(re.search(pattern, text, re.DOTALL)[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}';" in policy
    assert "unsafe" not in policy and "http" not in policy


def test_a_page_loads_nothing():
    text = page_html({"title": "x"})
    assert not re.findall(r"""(?i)(?:src|href|url\(|@import|https?:)""", text.replace("referrer", "").replace("-src ", ""))


def test_a_notebook_shows_the_page_in_a_frame_that_is_escaped(tmp_path):
    page = jit(hostile_function(tmp_path, "</iframe><script>")).view(np.ones(3), path=tmp_path / "page.html")
    frame = page._repr_html_()
    assert frame.count("<") == 2 and 'sandbox="allow-scripts"' in frame
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == page.text


def test_cards_and_functions_of_the_ir_are_escaped(tmp_path):
    f = jit(hostile_function(tmp_path, "<script>alert(1)</script>"))
    f(np.ones(3))
    func = f.ir(np.ones(3))
    func.params[0].hint = "<b>"
    for text in (f._repr_html_(), func._repr_html_()):
        assert "<script" not in text and "<b>" not in text.replace("<b style", "") and "&lt;" in text
    assert repr(parse_type("f64[3]")) in func._repr_html_()


@pytest.mark.skipif(chromium.installed() is None, reason="no chromium: hostile names were not opened in a browser (apt-get install chromium)")
def test_nothing_of_the_users_runs(tmp_path):
    name = "</script><img src=x onerror='window.hacked=1'><script>window.hacked = 1</script>"
    page = jit(hostile_function(tmp_path, name)).view(np.ones(3), path=tmp_path / "page.html")
    browser = chromium.Browser(chromium.installed())
    try:
        browser.show(page.path)
        assert browser.errors == [] and browser.ask("window.hacked") is None
        assert browser.ask("document.querySelector('h1').textContent") == name
        assert "window.hacked" in browser.ask("[...document.querySelectorAll('.line code')].map((e) => e.textContent).join()")
        assert browser.ask("document.querySelectorAll('img, iframe, script').length") == 2  # the data and ours
        browser.ask("(() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1'; document.body.append(s); })()")
        browser.settle()
        assert browser.ask("window.hacked") is None and "Content Security Policy" in browser.errors[0]
    finally:
        browser.close()
