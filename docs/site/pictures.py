"""The pages of the gallery: a picture that the build computes, the text of the example's docstring, and its code."""

import ast
import hashlib
import importlib
import io
import pathlib
import re
import warnings

import wengert
from wengert.examples.gallery.__main__ import HERE, picture

LINKED = re.compile(r"\(\.\./examples/gallery/(\w+)\.py\)")
NAMES = LINKED.findall((pathlib.Path(__file__).parents[1] / "gallery.md").read_text())  # in the order of the page
SHOWN = ("spheres", "gray_scott", "mandelbrot", "wave")  # on the first page


def parts(name):
    """(title, text, code) of an example."""
    code = (HERE / f"{name}.py").read_text()
    doc = ast.get_docstring(ast.parse(code))
    title, _, text = doc.partition("\n")
    return title.rstrip("."), text.strip(), code.split('"""\n', 1)[1].lstrip()


def page(name):
    title, text, code = parts(name)
    run = f"It is `examples/gallery/{name}.py`; `python -m wengert.examples.gallery {name}` draws it."
    return f"# {title}\n\n![{title}]({name}.png)\n\n{text}\n\n```python\n{code}```\n\n{run}\n"


def overview(markdown):
    """The page of the gallery, with cards in the place of each paragraph `**Title**: [text](link), ...`."""

    def section(found):
        return f"## {found[1]}\n\n{cards(LINKED.findall(found[2]))}\n"

    return re.sub(r"^\*\*(.+?)\*\*: ((?:.+\n)+)", section, markdown, flags=re.M)


def cards(names):
    card = "-   [![{0}](gallery/{1}.png)](gallery/{1}.md)\n\n    [{0}](gallery/{1}.md)\n\n"
    each = [card.format(parts(name)[0], name) for name in names]
    return f'<div class="grid cards" markdown>\n\n{"".join(each)}</div>'


def strip():
    """A row of pictures that lead to their pages."""
    shown = '<a href="gallery/{1}.html"><img src="gallery/{1}.png" alt="{0}"></a>'
    return f'<p class="strip">{"".join(shown.format(parts(name)[0], name) for name in SHOWN)}</p>'


def png(name, size, folder):
    """The picture, from `folder` where this program has drawn it before. A Fallback warning is an error."""
    key = hashlib.sha256("\n".join([wengert.__version__, size, (HERE / f"{name}.py").read_text()]).encode()).hexdigest()
    kept = folder / f"{name}-{key[:16]}.png"
    if not kept.exists():
        sizes = importlib.import_module(f"wengert.examples.gallery.{name}").SMALL if size == "small" else {}
        made = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("error", wengert.Fallback)
            picture(name, **sizes).savefig(made, format="png")
        folder.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(made.getvalue())
    return kept.read_bytes()
