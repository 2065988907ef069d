"""What MkDocs calls while it makes the site: the pages of the gallery and of all messages are made, and links to
examples become links to their pages."""

import inspect
import pathlib
import re

import messages
import pictures
from mkdocs.structure.files import File

import wengert
from wengert.tracer.api.typed import Inspected

EXAMPLE = re.compile(r"\]\((?:\.\./)+examples/gallery/(\w+)\.py\)")
DIRECTIVE = re.compile(r" *# doctest: .*")
FENCE = re.compile(r"^```python\n(?=>>> )(.*?)\n*^```$", re.M | re.S)


def named(items):
    """The pages that a navigation names."""
    for item in items:
        for x in item.values() if isinstance(item, dict) else [item]:
            yield from named(x) if isinstance(x, list) else [x]


def on_config(config):
    """Optional pages that are not there leave the navigation, GALLERY in it becomes the examples, and pages that nobody
    has named yet stand at the end of its last part."""
    folder = pathlib.Path(config.docs_dir)
    pages = {path.relative_to(folder).as_posix() for path in folder.rglob("*.md")}
    missing = set(config.extra["optional"]) - pages
    examples = [f"gallery/{name}.md" for name in pictures.NAMES]

    def settled(items):
        for item in items:
            if isinstance(item, dict):
                yield {title: list(settled(x)) if isinstance(x, list) else x for title, x in item.items()}
            elif item == "GALLERY":
                yield from examples
            elif item not in missing:
                yield item

    config.nav = list(settled(config.nav))
    last = next(iter(config.nav[-1].values()))
    last += sorted(pages - set(named(config.nav)))


def on_files(files, config):
    """A page and a picture for each example, and the page of all messages."""
    kept = pathlib.Path(config.site_dir).parent / "gallery"  # pictures of programs that have not changed since
    for name in pictures.NAMES:
        files.append(File.generated(config, f"gallery/{name}.md", content=pictures.page(name)))
        picture = pictures.png(name, config.extra["gallery"], kept)
        files.append(File.generated(config, f"gallery/{name}.png", content=picture))
    files.append(File.generated(config, "messages.md", content=messages.page()))


def with_all_names(markdown):
    """The page of functions, with what it does not name of a compiled function's methods and of `wengert.__all__`."""
    of = "::: wengert.tracer.api.typed.Inspected."
    more = [n for n in wengert.__all__ if f"::: wengert.{n}\n" not in markdown]
    methods = [n for n, x in vars(Inspected).items() if inspect.isfunction(x) and n[0] != "_"]
    others = [n for n in methods if of + n not in markdown]
    shown = "".join(f"{of}{name}\n    options: {{heading_level: 4}}\n\n" for name in others)
    markdown = markdown.replace("<!-- methods -->\n", shown)
    return markdown + "\n## More\n\n" * bool(more) + "".join(f"::: wengert.{name}\n\n" for name in more)


def on_page_markdown(markdown, page, config, files):
    """Sessions of the interpreter are highlighted as such; what is a program in the repository is a page here."""
    markdown = FENCE.sub(lambda found: f"```pycon\n{DIRECTIVE.sub('', found[1])}\n```", markdown)
    if page.file.src_uri == "gallery.md":
        markdown = pictures.overview(markdown)
    if page.file.src_uri == "index.md":
        page.meta["hide"] = ["navigation", "toc"]
        markdown = markdown.replace("<!-- pictures -->", pictures.strip())
    if page.file.src_uri == "api.md":
        markdown = with_all_names(markdown)
    if page.file.src_uri == "errors.md":
        written = "The page\n`messages`, which the site's build writes,"
        markdown = markdown.replace(written, "[All messages](messages.md)")
    up = "../" * page.file.src_uri.count("/")
    return EXAMPLE.sub(rf"]({up}gallery/\1.md)", markdown)
