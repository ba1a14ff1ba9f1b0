"""The graph as an SVG picture: the loss at the top, cotangents flowing down to the leaves.

Text from the user's program (names, lines) goes through `clean` before it is written. Colours follow the reader's light
or dark scheme. Which boxes are drawn is decided in `grouping.py`, where they go in `layout.py`.
"""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING, Any

from .grouping import Box, Link, View, views
from .layout import Layout, arrange
from .records import Flow, Leaf, Operation, Root, number, number_list, shape_text

if TYPE_CHECKING:
    from .explanation import Explanation

MARGIN: float = 18.0  # around the picture, in pixels
DETAILED: int = 30  # pictures with up to this many boxes show rules and cotangents
LINE: float = 17.0  # height of one in a box
LABEL_LENGTH: int = 44  # letters of a line in a box
FLOW_LENGTH: int = 28  # letters beside an arrow
LETTER: float = 6.2  # width of one in a label

STYLE: str = """
.pb-svg{font:13px/1.3 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
.pb-back{fill:#ffffff}
.pb-box{fill:#f4f6fa;stroke:#aeb9cc;stroke-width:1.2}
.pb-root .pb-box{fill:#fff4d9;stroke:#d89a1d}
.pb-leaf .pb-box{fill:#e3f5ea;stroke:#3c9a66}
.pb-group .pb-box{fill:#e6eefc;stroke:#5a82d2}
.pb-outside .pb-box{fill:none;stroke:#aeb9cc;stroke-dasharray:4 3}
.pb-again .pb-box{fill:#e3f5ea;stroke:#3c9a66;stroke-dasharray:4 3}
.pb-warned .pb-box{stroke:#d03b3b;stroke-width:2.2}
.pb-title{font-weight:650;fill:#1c2430}
.pb-text{fill:#45526a;font-size:12px}
.pb-rule{fill:#2f4fa8;font-size:12px}
.pb-link{fill:none;stroke:#7686a3;stroke-width:1.5}
.pb-head{fill:#7686a3}
.pb-zero{stroke:#b4bdcc;stroke-dasharray:5 4}
.pb-bad{stroke:#d03b3b;stroke-width:2.2}
.pb-head.pb-zero{fill:#b4bdcc;stroke:none}
.pb-head.pb-bad{fill:#d03b3b;stroke:none}
.pb-label{fill:#3a465c;font-size:11.5px;paint-order:stroke;stroke:#ffffff;stroke-width:4px;stroke-linejoin:round}
.pb-badge{fill:#d03b3b}
.pb-badge-text{fill:#ffffff;font-weight:700;font-size:11px}
@media (prefers-color-scheme:dark){
.pb-back{fill:#14181f}
.pb-box{fill:#212835;stroke:#56627a}
.pb-root .pb-box{fill:#3a2f14;stroke:#d9a436}
.pb-leaf .pb-box{fill:#163424;stroke:#4fb481}
.pb-group .pb-box{fill:#1d2c4c;stroke:#7097e4}
.pb-outside .pb-box{fill:none;stroke:#56627a}
.pb-again .pb-box{fill:#163424;stroke:#4fb481}
.pb-warned .pb-box{stroke:#ff6b6b}
.pb-title{fill:#eef2f8}
.pb-text{fill:#b6c1d4}
.pb-rule{fill:#9db8ff}
.pb-link{stroke:#8595b3}
.pb-head{fill:#8595b3}
.pb-zero{stroke:#56627a}
.pb-bad{stroke:#ff6b6b}
.pb-head.pb-zero{fill:#56627a}
.pb-head.pb-bad{fill:#ff6b6b}
.pb-label{fill:#ccd6e6;stroke:#14181f}
}
"""


def clean(text: Any, limit: int | None = None) -> str:
    """Text from outside made safe for HTML and XML: escaped, without control characters, at most `limit` long."""
    allowed = "".join(
        c if c >= " " and c not in "\x7f\ufffe\uffff" and not "\ud800" <= c <= "\udfff" else "\ufffd" for c in str(text)
    )
    if limit is not None and len(allowed) > limit:
        allowed = allowed[: limit - 1] + "…"
    return escape(allowed, quote=True)


def svg(explanation: Explanation, view: str | None = None, values: bool = True) -> str:
    """One picture with its own style, as a file of its own."""
    pictures = views(explanation)
    if view is None:
        chosen = next(iter(pictures.values()), None)
    else:
        chosen = pictures.get(view)
    if chosen is None:
        raise ValueError(f"there is no view {view!r}; there are: {', '.join(pictures) or 'none'}")
    return draw(explanation, chosen, values=values, style=True)


def draw(
    explanation: Explanation, view: View, *, values: bool = True, style: bool = False, interactive: bool = False
) -> str:
    """One view as SVG."""
    detailed = len(view.boxes) <= DETAILED
    everything: list[Any] = [*explanation.roots, *explanation.operations, *explanation.leaves]
    things = {each.key: each for each in everything}
    lines = {box.key: _lines(box, things, detailed, values) for box in view.boxes}
    sizes = {box.key: _size(box, lines[box.key]) for box in view.boxes}
    light = {box.key for box in view.boxes if box.kind in ("leaf", "again", "outside")}
    layout = arrange(sizes, [(link.source, link.target) for link in view.links], light)
    width, height = layout.width + 2 * MARGIN, layout.height + 2 * MARGIN
    # Labels may stick out where a picture is narrow.
    labels = _labels(view.links, layout) if detailed and values else []
    right = max((x + LETTER * len(text) for x, _, text in labels), default=0.0)
    left = min((x for x, _, _ in labels), default=0.0)
    left, width = min(0.0, left) - MARGIN, max(width, right + 2 * MARGIN) - min(0.0, left)
    parts = [
        f'<svg class="pb-svg" xmlns="http://www.w3.org/2000/svg" viewBox="{left:.0f} {-MARGIN:g} {width:.0f} '
        f'{height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="{"group" if interactive else "img"}" '
        f'aria-label="{clean(explanation.title)}">'
    ]
    if style:
        parts.append(f"<style>{STYLE}</style>")
        parts.append(
            f'<rect class="pb-back" x="{left:.0f}" y="{-MARGIN:g}" width="{width:.0f}" height="{height:.0f}"/>'
        )
    stands_for = {box.key: box.members[0] for box in view.boxes if box.kind in ("outside", "again")}
    for link in view.links:
        ends = (stands_for.get(link.source, link.source), stands_for.get(link.target, link.target))
        parts.append(_draw_link(link, layout, ends if interactive else None))
    parts += [_draw_box(box, lines[box.key], layout, interactive) for box in view.boxes]
    parts += [f'<text class="pb-label" x="{x:.1f}" y="{y:.1f}">{clean(text)}</text>' for x, y, text in labels]
    parts.append("</svg>")
    return "\n".join(parts)


# --- boxes -----------------------------------------------------------------------------------------------------------


def _lines(box: Box, things: dict[str, Any], detailed: bool, values: bool) -> list[tuple[str, str]]:
    """The lines of text in a box, each with its class."""
    thing = things.get(box.key)
    if isinstance(thing, Root):
        return _root_lines(thing, values)
    if box.kind == "again":
        return [("pb-text", f"{box.title}  ↺")]
    if isinstance(thing, Leaf):
        lines = [("pb-title", thing.name), ("pb-text", shape_text(thing.shape))]
        if values:
            lines.append(
                (
                    "pb-text",
                    "no gradient" if thing.flow is None else f"grad {thing.flow.short().replace('‖g‖', 'norm')}",
                )
            )
        return lines
    if isinstance(thing, Operation):
        return _operation_lines(thing, detailed)
    if box.kind == "group":
        return [("pb-title", box.title), ("pb-text", f"{len(box.members)} operations")]
    return [("pb-text", box.title)]


def _root_lines(root: Root, values: bool) -> list[tuple[str, str]]:
    lines = [("pb-title", root.name)]
    if values and root.value and "norm" not in root.value:
        lines[0] = ("pb-title", f"{root.name} = {root.value}")
    else:
        lines.append(("pb-text", shape_text(root.shape)))
    origin = {"given": "gradient =", "implicit": "seed, implicit:", "assumed": "weights assumed:"}[root.origin]
    lines.append(
        ("pb-text", f"{origin} {root.flow.short().replace('‖g‖', 'norm')}" if values else origin.rstrip(" =:"))
    )
    return lines


def _operation_lines(operation: Operation, detailed: bool) -> list[tuple[str, str]]:
    result = f"  →  {operation.variable}" if operation.variable else ""
    lines = [("pb-title", f"{operation.number}  {operation.title}{result}")]
    more = f"  (+{len(operation.outputs) - 1})" if len(operation.outputs) > 1 else ""
    lines.append(("pb-text", shape_text(operation.shape) + more))
    if operation.line is not None:
        lines[-1] = ("pb-text", f"{lines[-1][1]}  ·  {operation.line.place()}")
    if detailed:
        shown = operation.arrows[:4]
        lines += [("pb-rule", f"∂/∂{arrow.input}:  {arrow.rule}") for arrow in shown]
        if len(operation.arrows) > len(shown):
            lines.append(("pb-text", f"and {len(operation.arrows) - len(shown)} more inputs"))
    return lines


def _size(box: Box, lines: list[tuple[str, str]]) -> tuple[float, float]:
    widest = max((_width(text) * (8.0 if kind == "pb-title" else 6.9) for kind, text in lines), default=20.0)
    return max(56.0, widest + 24), len(lines) * LINE + (8.0 if box.kind in ("outside", "again") else 13.0)


def _width(text: str) -> int:
    return min(len(text), LABEL_LENGTH)


def _draw_box(box: Box, lines: list[tuple[str, str]], layout: Layout, interactive: bool) -> str:
    place = layout.boxes[box.key]
    x, y = place.x - place.width / 2, place.y - place.height / 2
    classes = f"pb-node pb-{box.kind}" + (" pb-warned" if box.warned else "")
    full = " · ".join(text for _, text in lines)
    attributes = ""
    if interactive:
        opens = f' data-view="{clean(box.view)}"' if box.view else ""
        key = box.members[0] if box.kind in ("outside", "again") else box.key
        attributes = f' data-key="{clean(key)}"{opens} tabindex="0" role="button" aria-label="{clean(full)}"'
    parts = [f'<g class="{classes}"{attributes}><title>{clean(full)}</title>']
    radius = place.height / 2 if box.kind == "leaf" and len(lines) <= 1 else 12 if box.kind in ("leaf", "root") else 5
    if box.kind == "group":  # a second sheet behind shows that there is more inside
        parts.append(
            f'<rect class="pb-box" x="{x + 5:.1f}" y="{y + 5:.1f}" width="{place.width:.1f}" '
            f'height="{place.height:.1f}" rx="5"/>'
        )
    parts.append(
        f'<rect class="pb-box" x="{x:.1f}" y="{y:.1f}" width="{place.width:.1f}" height="{place.height:.1f}" '
        f'rx="{radius:g}"/>'
    )
    top = y + (5.0 if box.kind in ("outside", "again") else 7.0)
    for number_, (kind, text) in enumerate(lines):
        parts.append(
            f'<text class="{kind}" x="{x + 12:.1f}" y="{top + LINE * number_ + 12.5:.1f}" xml:space="preserve">'
            f"{clean(text, LABEL_LENGTH)}</text>"
        )
    if box.warned:
        parts.append(f'<circle class="pb-badge" cx="{x + place.width:.1f}" cy="{y:.1f}" r="8"/>')
        parts.append(f'<text class="pb-badge-text" x="{x + place.width - 2:.1f}" y="{y + 4:.1f}">!</text>')
    parts.append("</g>")
    return "".join(parts)


# --- lines -----------------------------------------------------------------------------------------------------------


def _draw_link(link: Link, layout: Layout, ends: tuple[str, str] | None) -> str:
    points = layout.paths[link.source, link.target]
    x, y = points[0]
    path = f"M{x:.1f} {y:.1f}"
    for (x1, y1), (x2, y2) in zip(points, points[1:], strict=False):
        middle = (y2 - y1) / 2
        path += f"C{x1:.1f} {y1 + middle:.1f} {x2:.1f} {y2 - middle:.1f} {x2:.1f} {y2 - 1:.1f}"
    x, y = points[-1]
    kind = _condition(link.flows)
    head = f"M{x:.1f} {y:.1f}l-4 -8h8z"
    known = "" if ends is None else f' data-source="{clean(ends[0])}" data-target="{clean(ends[1])}"'
    return f'<path class="pb-link{kind}"{known} d="{path}"/><path class="pb-head{kind}"{known} d="{head}"/>'


def _condition(flows: list[Flow | None]) -> str:
    present = [flow for flow in flows if flow is not None]
    if any(not flow.finite for flow in present):
        return " pb-bad"
    return " pb-zero" if all(flow.all_zero for flow in present) else ""


def _labels(links: list[Link], layout: Layout) -> list[tuple[float, float, str]]:
    """Texts beside lines, each where it covers neither another text nor another line near its end, if there is such a place."""
    arriving = Counter(link.target for link in links)
    placed: list[tuple[float, float, str]] = []
    for link in links:
        key = (link.source, link.target)
        text = flow_text(link.flows)
        width = LETTER * len(text)
        ends = [(points[0], points[-1]) for other, points in layout.paths.items() if other != key]
        places = _places(layout.paths[key], arriving[link.target] > 1, width)
        clear = [place for place in places if not any(_meet(*place, width, x, y, words) for x, y, words in placed)]
        best = [place for place in clear if not _on_line(*place, width, ends)]
        placed.append((*(best or clear or places)[0], text))
    return placed


def _places(points: list[tuple[float, float]], shared: bool, width: float) -> list[tuple[float, float]]:
    """Where the text of a line may stand, best first: beside the end that is not shared with other lines, or the other."""
    places = []
    for (x, y), (other, _), step in ((points[0], points[1], 13), (points[-1], points[-2], -13)):
        sides = [x + 8, x - 8 - width]
        if other > x + 10:  # the line comes or goes to the right, so the text stands on the left
            sides.reverse()
        y += 14 if step > 0 else -12
        places.append([(side, height) for height in (y, y + step) for side in sides])
    leaving, arriving = places
    return leaving + arriving if shared else arriving + leaving


def _meet(x: float, y: float, width: float, other_x: float, other_y: float, words: str) -> bool:
    """True if two texts overlap."""
    return abs(other_y - y) < 12 and x < other_x + LETTER * len(words) + 4 and other_x < x + width + 4


def _on_line(x: float, y: float, width: float, ends: list[tuple[tuple[float, float], tuple[float, float]]]) -> bool:
    """True if a text lies on one of these lines, which leave and arrive upright."""
    beside = [px for (px, py), _ in ends if -4 < y - py < 30] + [px for _, (px, py) in ends if -4 < py - y < 30]
    return any(x - 4 < px < x + width + 4 for px in beside)


def flow_text(flows: list[Flow | None]) -> str:
    """Return the text along a line: the values that flow there where they are few and short, else their norms."""
    present = [flow for flow in flows if flow is not None]
    if not present:
        return "nothing"
    if all(flow.values is not None for flow in present):
        shapes = [flow.shape if len(flow.shape) < 2 else (flow.size,) for flow in present]
        texts = [number_list(flow.values or [], shape) for flow, shape in zip(present, shapes, strict=True)]
        joined = " + ".join(texts[:3]) + (" + …" if len(texts) > 3 else "")
        if len(joined) <= FLOW_LENGTH:
            return joined
    if any(not flow.finite for flow in present):
        return "NaN" if any(flow.nans for flow in present) else "Inf"
    return " + ".join(number(flow.norm) for flow in present[:3]) + (" + …" if len(present) > 3 else "")
