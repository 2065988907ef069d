"""A figure of ratios as SVG text: a row a program, a dot a peer and size, on a logarithmic axis, forward and gradient
side by side."""

import math

COLOURS = {"numpy": "#767b85", "jax": "#1f6fb8", "numba": "#e0812c", "torch": "#a3469b"}
NAMES = {"numpy": "NumPy", "jax": "jax.jit", "numba": "Numba", "torch": "torch.compile"}
INK, FAINT, LOSING = "#23272e", "#e4e6ea", "#fbf1ef"
LABELS, PANEL, GAP, ROW, HEADING, TOP, BOTTOM = 150, 390, 56, 17, 30, 104, 52


def figure(rows):
    """SVG of rows with family, program, what (forward or gradient), large, and ratios, {peer: its time over ours}."""
    ratios = [r for row in rows for r in row["ratios"].values() if r == r]
    low, high = math.floor(math.log10(min([0.5, *ratios]))), math.ceil(math.log10(max([2.0, *ratios])))
    places, height = rows_placed(rows)
    width = 24 + LABELS + 2 * PANEL + GAP + 24
    lefts = {"forward": 24 + LABELS, "gradient": 24 + LABELS + PANEL + GAP}
    parts = [
        opening(width, height),
        *legend([p for p in COLOURS if any(row["ratios"].get(p, math.nan) > 0 for row in rows)]),
    ]
    for what, left in lefts.items():
        parts += panel(what, left, height, low, high)
    for family, y in places["families"].items():
        parts.append(text(24, y, family, "bold"))
        parts.append(f'<line x1="24" y1="{y + 7}" x2="{width - 24}" y2="{y + 7}" stroke="{FAINT}"/>')
    for (family, program), y in places["programs"].items():
        parts.append(text(24 + LABELS - 12, y, program.replace("_", " "), anchor="end"))
        for what, left in lefts.items():
            these = [row for row in rows if (row["family"], row["program"], row["what"]) == (family, program, what)]
            parts += dots(these, y - 4, lambda r, left=left: left + PANEL * (math.log10(r) - low) / (high - low))
    return "\n".join([*parts, "</svg>", ""])


def rows_placed(rows):
    """({families: {name: y}, programs: {(family, name): y}}, the height of all)"""
    families, programs, y, order = {}, {}, TOP, [row["family"] for row in rows]
    for row in sorted(rows, key=lambda row: order.index(row["family"])):
        if row["family"] not in families:
            y += HEADING if families else ROW
            families[row["family"]] = y
            y += 6
        if (row["family"], row["program"]) not in programs:
            y += ROW
            programs[row["family"], row["program"]] = y
    return {"families": families, "programs": programs}, y + BOTTOM


def opening(width, height):
    font = "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\" font-size=\"11.5\""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} '
            f'{height}" {font} fill="{INK}">',
            f'<rect width="{width}" height="{height}" fill="white"/>',
            text(24, 32, "The time that others take, over Wengert's", "bold", size=17),
            text(
                24,
                51,
                "Right of the line Wengert is faster, in the shade it is slower. Small dots are small sizes, large "
                "dots large ones.",
            ),
        ]
    )


def legend(peers):
    x, parts = 24, []
    for peer in peers:
        parts.append(f'<circle cx="{x + 5}" cy="70" r="4.5" fill="{COLOURS[peer]}"/>')
        parts.append(text(x + 15, 74, NAMES[peer]))
        x += 32 + 6 * len(NAMES[peer])
    return parts


def panel(what, left, height, low, high):
    """The ground of one side: the shade where we lose, a line a decade, and the axis."""
    at = lambda decade: left + PANEL * (decade - low) / (high - low)
    bottom = height - BOTTOM + 10
    parts = [text(left, TOP - 6, what, "bold")]
    parts.append(f'<rect x="{left}" y="{TOP}" width="{at(0) - left:.1f}" height="{bottom - TOP}" fill="{LOSING}"/>')
    for decade in range(low, high + 1):
        line = f'stroke="{INK}" stroke-width="1.2"' if decade == 0 else f'stroke="{FAINT}"'
        parts.append(f'<line x1="{at(decade):.1f}" y1="{TOP}" x2="{at(decade):.1f}" y2="{bottom}" {line}/>')
        parts.append(text(at(decade), bottom + 15, f"{10.0**decade:g}×", anchor="middle"))
    return [*parts, text(left + PANEL / 2, bottom + 32, "their time / ours", anchor="middle")]


def dots(rows, y, at):
    """The dots of one program on one side, large sizes over small ones, and a line from the least to the greatest."""
    found = [(row["large"], peer, at(r), r) for row in rows for peer, r in row["ratios"].items() if r == r]
    if not found:
        return []
    xs = [x for *_, x, _ in found]
    parts = [f'<line x1="{min(xs):.1f}" y1="{y}" x2="{max(xs):.1f}" y2="{y}" stroke="{FAINT}"/>']
    for large, peer, x, r in sorted(found, key=lambda dot: not dot[0]):
        said = f"<title>{rows[0]['program']}, {rows[0]['what']}, {NAMES[peer]}: {r:.3g}</title>"
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y}" r="{4.6 if large else 2.9}" fill="{COLOURS[peer]}" stroke="white" '
            f'stroke-width="0.7">{said}</circle>'
        )
    return parts


def text(x, y, words, weight="normal", anchor="start", size=11.5):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-weight="{weight}" text-anchor="{anchor}" font-size="{size}">{words}</text>'
    )
