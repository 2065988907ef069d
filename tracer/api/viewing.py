"""`f.view(...)`: a page on which a compiled function is seen."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from ..plan.subject import means_call
from ..view.model import PageModel, nothing_to_show
from ..view.page import Page, page_html, written_page


class Viewing:
    """What stands behind `f.view` of one function."""

    def __init__(self, callee: Any) -> None:
        self.callee = callee

    def __call__(self, /, *args: Any, path: str | os.PathLike[str] | None = None, **kwargs: Any) -> Page:
        """Write a page on which the program for these arguments is seen: source with cost and memory by line, the graph
        with its passes, the traces and what each relies on, and where the time went.

        args, kwargs: arguments of a call. The function is called with copies of their arrays and timed: a few times,
            or once where it acts on more than these. Without any, the page is of the calls that were made.
        path: the file; default: the function's name and ".html" in the working directory.

        Returns the page: `.path`, `.open()` shows it in the browser, a notebook shows it in a frame.
        Raises UnsupportedError where there is no program: before the first call, and of what only plain Python runs.
        """
        given = (args, kwargs) if means_call(self.callee.compiled, args, kwargs) else (None, None)
        return view_page([self.callee], [given], path)


def view_page(callees: Sequence[Any], given: Sequence[tuple[Any, Any]], path: str | os.PathLike[str] | None) -> Page:
    """The page of the functions behind some Callees, each with the (args, kwargs) of a call, or (None, None)."""
    name = callees[0].compiled.name
    model = PageModel(name)
    found = [model.add(callee, args, kwargs) for callee, (args, kwargs) in zip(callees, given, strict=True)]
    if not any(found):
        raise nothing_to_show(name)
    return written_page(page_html(model.data()), path or file_name(name))


def file_name(name: str) -> str:
    """A name of a file for a function of any name."""
    return (re.sub(r"[^\w.-]+", "_", name).strip("._")[:80] or "function") + ".html"
