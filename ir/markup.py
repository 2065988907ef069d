"""A function as HTML, for notebooks: its text with what is an op, a name, a type and a line told apart by colour.

Everything is escaped, names and attributes may be of any characters.
"""

import html
import re

from .core import Func
from .text import show

STYLE = {
    "op": "font-weight:600", "name": "color:#2f6fb3", "type": "color:#8250a8", "source": "opacity:.6",
    "keyword": "opacity:.75",
}  # fmt: skip
LONGEST = 100_000  # bound: characters that are shown
TOKEN = re.compile(
    r"(?P<string>\"(?:[^\"\\]|\\.)*\")|(?P<source>\#.*$)|(?P<keyword>\b(?:func|return)\b)|(?P<name>%[^\s,:()=]+)"
    r"|(?P<type>\b(?:bool|[iufc]\d+)\[[\d,]*\])|(?P<op>(?<== )\w+)",
    re.MULTILINE,
)


def func_html(func: Func) -> str:
    """The text of a function as a block of HTML."""
    text, found, at = show(func), [], 0
    rest = f"\n... {len(text) - LONGEST} more characters: print(func)" if len(text) > LONGEST else ""
    for token in TOKEN.finditer(text := text[:LONGEST]):
        found.append(html.escape(text[at : token.start()]))
        style = STYLE.get(token.lastgroup or "")
        word = html.escape(token[0])
        found.append(f'<span style="{style}">{word}</span>' if style else word)
        at = token.end()
    body = "".join(found) + html.escape(text[at:]) + rest
    return f'<pre style="overflow-x:auto;line-height:1.45;max-height:40em">{body}</pre>'


Func._repr_html_ = func_html  # type: ignore[attr-defined]
