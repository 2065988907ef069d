"""The pages of the gallery: a picture that the build computes, the text of the example's docstring, and its code."""

import ast
import hashlib
import importlib
import io
import pathlib
import warnings

import wengert
from wengert.examples.gallery.__main__ import HERE, NAMES, picture

KEPT = pathlib.Path(__file__).parents[2] / "build" / "gallery"  # pictures of programs that have not changed since


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


def overview():
    """All examples as cards."""
    cards = [f"-   [![{parts(name)[0]}](gallery/{name}.png)](gallery/{name}.md)\n\n    [{parts(name)[0]}](gallery/{name}.md)" for name in NAMES]
    return '<div class="grid cards" markdown>\n\n' + "\n\n".join(cards) + "\n\n</div>"


def png(name, size):
    """The picture, from `build/gallery` where this program has drawn it before. A Fallback warning is an error."""
    key = hashlib.sha256("\n".join([wengert.__version__, size, (HERE / f"{name}.py").read_text()]).encode()).hexdigest()
    kept = KEPT / f"{name}-{key[:16]}.png"
    if not kept.exists():
        sizes = importlib.import_module(f"wengert.examples.gallery.{name}").SMALL if size == "small" else {}
        made = io.BytesIO()
        with warnings.catch_warnings():
            warnings.simplefilter("error", wengert.Fallback)
            picture(name, **sizes).savefig(made, format="png")
        KEPT.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(made.getvalue())
    return kept.read_bytes()
