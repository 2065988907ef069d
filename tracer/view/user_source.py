"""The user's source that a program is made of: the functions whose equations are in it, line by line, with the kinds of
tokens that are drawn otherwise."""

import builtins
import io
import keyword
import linecache
import os
import token
import tokenize

LONGEST = 400  # bound: characters of a line that are shown
WORDS = frozenset(keyword.kwlist)
BUILT_IN = frozenset(dir(builtins))


def source_files(files, spans):
    """[{path, name, lines: [[number, text, [[start, stop, kind], ...]], ...]}] for the paths `files`; spans: of each,
    the pairs of first and last line that are shown."""
    return [shown_file(path, spans.get(n, ())) for n, path in enumerate(files)]


def shown_file(path, spans):
    text = linecache.getlines(path)
    kinds = token_kinds(text)
    lines = []
    for number in sorted({n for first, last in spans for n in range(first, last + 1)}):
        raw = text[number - 1].rstrip("\r\n") if 0 < number <= len(text) else ""
        line = raw.expandtabs()
        cut = line[:LONGEST] + ("..." if len(line) > LONGEST else "")
        told = (
            kinds.get(number, ()) if line == raw and max(raw, default="") < "\U00010000" else ()
        )  # JavaScript counts two
        lines.append([number, cut, [[a, min(b, LONGEST), k] for a, b, k in told if a < LONGEST]])
    return {"path": shown_path(path), "name": os.path.basename(path), "lines": lines}


def shown_path(path):
    """A path below the working directory from there on, any other as it is."""
    try:
        near = os.path.relpath(path)
    except ValueError:  # on another drive
        return path
    return path if near.startswith("..") or not os.path.exists(path) else near


def function_span(code):
    """The first and the last line of a function; of a module, nothing."""
    if code.co_name == "<module>":
        return None
    lines = [line for *_, line in code.co_lines() if line]
    inner = [function_span(c) for c in code.co_consts if hasattr(c, "co_lines")]
    return min([code.co_firstlineno, *lines]), max(
        [code.co_firstlineno, *lines, *(last for _, last in filter(None, inner))]
    )


def token_kinds(lines):
    """{line: [(start, stop, kind)]} with the kinds k keyword, s string, c comment, n number, d name that is defined,
    b builtin; nothing where the text is no Python."""
    found, before = {}, ""
    try:
        for t in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            kind = token_kind(t, before)
            before = t.string
            for row in range(t.start[0], t.end[0] + 1) if kind else ():
                start = t.start[1] if row == t.start[0] else 0
                stop = t.end[1] if row == t.end[0] else len(lines[row - 1])
                found.setdefault(row, []).append((start, stop, kind))
    except (tokenize.TokenError, SyntaxError):
        return {}
    return found


def token_kind(t, before):
    name = token.tok_name[t.type]
    if name == "NAME":
        return "k" if t.string in WORDS else "d" if before in ("def", "class") else "b" if t.string in BUILT_IN else ""
    if name.startswith(("STRING", "FSTRING", "TSTRING")):
        return "s"
    return {"COMMENT": "c", "NUMBER": "n"}.get(name, "")
