"""How docstrings become Markdown: parameters become a list, examples code, public names links."""

import re

import griffe

PARAMETER = re.compile(r"([a-z_]+(?:, [a-z_]+)*):\s+(?=\S)")
NAME = re.compile(r"(?<![`\w])`(\w+)`(?!`)")


def markdown(text, names):
    """A docstring in Markdown; names: those that have a place on the page."""
    return "\n\n".join(paragraph(block, names) for block in re.split(r"\n\s*\n", text))


def paragraph(block, names):
    if block.lstrip().startswith(">>>"):
        lines = [line.replace("# doctest: +ELLIPSIS", "").rstrip() for line in block.splitlines()]
        return "```pycon\n" + "\n".join("" if line == "<BLANKLINE>" else line for line in lines) + "\n```"
    block = NAME.sub(lambda found: f"[`{found[1]}`][wengert.{found[1]}]" if found[1] in names else found[0], block)
    lines, listed = [], False
    for line in block.splitlines():
        found = PARAMETER.match(line)
        if found:
            lines += [*([] if listed else [""]), f"- `{found[1]}`: {line[found.end() :]}"]
            listed = True
        elif listed and line.startswith(" "):
            lines.append("    " + line.strip())
        else:
            lines += ["", line] if listed or line.startswith("Raises ") else [line]
            listed = False
    return "\n".join(lines).strip("\n")


class Docstrings(griffe.Extension):
    """Rewrites the docstrings of what is documented, once all is loaded."""

    def on_package(self, *, pkg, **_):
        names = {str(name) for name in pkg.exports or ()}
        for name in names:
            shown = pkg.members[name]
            shown = shown.final_target if shown.is_alias else shown
            for thing in [shown, *(m for m in shown.members.values() if not m.is_alias)]:
                if thing.docstring:
                    thing.docstring.value = markdown(thing.docstring.value, names - {thing.name})
