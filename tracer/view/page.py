"""The page as one HTML file: our style, our script and the data in it, and nothing that it could load.

What is the user's is in the data alone: JSON in a block that is no script, with every character escaped that could end
the block. The policy in the head lets the one script run whose digest it names, and forbids all else, so that text
which came to be taken for markup would do nothing.
"""

import base64
import hashlib
import html
import importlib.resources
import json
import os
import pathlib
import re
import webbrowser

SCRIPTS = (
    "text", "program", "naming", "totals", "tree", "metric", "placing", "wires", "painting", "graph", "source",
    "passes", "detail", "traces", "timeline", "search", "keys", "split", "main",
)  # fmt: skip
STYLES = ("base", "panes", "graph", "drawer")
HEIGHT = 720  # pixels of the frame in a notebook
POLICY = (
    "default-src 'none'; style-src 'sha256-{style}'; script-src 'sha256-{script}'; base-uri 'none'; form-action 'none'"
)
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<noscript>This page draws a program with JavaScript, which is off.</noscript>
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
UNSEEN = re.compile("[\x00-\x1f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")  # or of no text


class Page:
    """A page that was written to `path`."""

    def __init__(self, path, text):
        self.path, self.text = os.path.abspath(path), text

    def open(self):
        """Show it in the browser. Returns whether there was one."""
        return webbrowser.open(pathlib.Path(self.path).as_uri())

    def _repr_html_(self):
        """The page in a frame that may run its script and has nothing of the notebook's."""
        return (
            f'<iframe sandbox="allow-scripts" style="width:100%;height:{HEIGHT}px;border:1px solid #8884" '
            f'srcdoc="{html.escape(self.text, quote=True)}"></iframe>'
        )

    def __repr__(self):
        return f"Page({self.path!r})"


def page_html(data):
    """The text of the page that shows `data`, what `PageModel.data` gives."""
    style, script = web_files("css", STYLES), '"use strict";\n(() => {\n' + web_files("js", SCRIPTS) + "})();\n"
    policy = POLICY.format(style=content_digest(style), script=content_digest(script))
    plain = UNSEEN.sub("\ufffd", f"{data['title']} - Wengert")
    title = html.escape(plain).encode("ascii", "xmlcharrefreplace").decode()
    return PAGE.format(policy=policy, title=title, style=style, data=json_text(data), script=script)


def web_files(kind, names):
    """The files of one kind, one behind the other."""
    folder = importlib.resources.files(__package__) / "web"
    return "".join((folder / f"{name}.{kind}").read_text(encoding="utf-8") for name in names)


def content_digest(text):
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def json_text(data):
    """JSON of ASCII in which no character ends a block of HTML."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return re.sub("[<>&]", lambda m: f"\\u{ord(m[0]):04x}", text)


def written_page(text, path):
    """The Page of a text, written to a file."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return Page(path, text)
