"""The forms of an explanation: well formed, readable for small and large graphs, and safe whatever names say."""

from __future__ import annotations

import io
import json
import re
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import pytest
from explain.programs import random_program, transformer_loss

import pullback
from pullback.explaining.grouping import READABLE, longest_repeat, views
from pullback.explaining.layout import GAP_X, arrange
from pullback.explaining.svg import LETTER, clean

HOSTILE = [
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "</script><script>x", "a & b < c",
    "'single' \"double\"",
    "]]>", "-->", "\x1b[31mred\x07\x00", "line\nbreak", "\u2028\ud800", "click x \"javascript:alert(1)\"",
    "${alert(1)}", "\\\"]; evil [",
]  # fmt: skip


def explanation_of(name: str):
    x = pullback.ones(2, requires_grad=True)
    x.name = name
    y = x * x
    y.name = name
    explanation = y.explain(pullback.ones(2), title=name)
    operation = explanation.operations[0]
    operation.variable, operation.module = name, name
    operation.line = pullback.explaining.records.Line(name, 3, name)
    explanation.warnings.append(pullback.explaining.records.Warning_(name, name, "op1"))
    operation.warnings.append(name)
    return explanation


class Reader(HTMLParser):
    """Collects tags, attributes that start scripts, and the bodies of scripts."""

    def __init__(self):
        super().__init__()
        self.tags, self.handlers, self.scripts, self.inside = [], [], [], False

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]
        self.handlers += [
            value for name, value in attrs if value and "javascript:" in value and name in ("href", "src")
        ]
        self.inside = tag == "script"

    def handle_endtag(self, tag):
        self.inside = False

    def handle_data(self, data):
        if self.inside:
            self.scripts.append(data)


def read(html: str) -> Reader:
    reader = Reader()
    reader.feed(html)
    return reader


def test_operands_stand_in_the_order_they_are_written_in():
    w = pullback.tensor([1.0, 2.0], requires_grad=True)
    loss = pullback.stack([w.sum(), w.prod(), (w * w).sum()])
    picture = loss.explain([1.0, 0.0, 0.5]).to_svg()
    places = {
        text: float(x) for x, text in re.findall(r'class="pb-label" x="([-.0-9]+)" y="[-.0-9]+">([^<]*)<', picture)
    }
    assert places["1"] < places["0"] < places["0.5"]


def test_labels_do_not_cover_each_other():
    a, b, c, d = (pullback.tensor([number, 2.5], requires_grad=True) for number in (0.0, 1.0, 2.0, 3.0))
    scale = pullback.tensor(1.5, requires_grad=True)
    crowded = pullback.addcmul(a, b, c) + pullback.lerp(a, d, b) + pullback.where(a > 0, c, d)
    for loss in (crowded, pullback.stack([(a * scale).sum(), (a - scale).square().sum(), a.prod().exp()])):
        texts = re.findall(
            r'class="pb-label" x="([-.0-9]+)" y="([-.0-9]+)">([^<]*)<', loss.explain(pullback.ones_like(loss)).to_svg()
        )
        spans = [(float(x), float(x) + LETTER * len(text), float(y)) for x, y, text in texts]
        for number, (left, right, y) in enumerate(spans):
            assert not any(left < r and l < right and abs(y - other) < 11 for l, r, other in spans[:number])


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_stay_text(name):
    explanation = explanation_of(name)
    tame = explanation_of("tame")
    page, svg = explanation.to_html(), explanation.to_svg()
    got, expected = read(page), read(tame.to_html())
    assert got.tags == expected.tags and got.handlers == []
    data = json.loads(got.scripts[0])
    assert data["leaves"][0]["name"].encode("utf-16", "surrogatepass") == name.encode("utf-16", "surrogatepass")
    assert len(got.scripts) == 2
    page.encode("utf-8"), svg.encode("utf-8")
    tags = [element.tag for element in ElementTree.fromstring(svg).iter()]
    assert tags == [element.tag for element in ElementTree.fromstring(tame.to_svg()).iter()]
    assert read(explanation._repr_html_()).tags == read(tame._repr_html_()).tags
    text = str(explanation)
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text) and text.count("\n") == str(tame).count("\n")
    dot = explanation.to_dot()
    assert dot.count("\n") == tame.to_dot().count("\n")
    assert len(re.findall(r'(?<!\\)(?:\\\\)*"', dot)) == len(re.findall(r'(?<!\\)(?:\\\\)*"', tame.to_dot()))
    mermaid = explanation.to_mermaid()
    assert mermaid.count("\n") == tame.to_mermaid().count("\n") and mermaid.count('"') == tame.to_mermaid().count('"')
    assert "<script" not in mermaid and "javascript:" not in mermaid


def test_clean_escapes_and_shortens():
    assert clean("<a href='x'>&\x00") == "&lt;a href=&#x27;x&#x27;&gt;&amp;\ufffd"
    assert clean("abcdef", 4) == "abc…"


@pytest.mark.parametrize("seed", range(20))
def test_pictures_are_well_formed_and_complete(seed):
    leaves, loss, weights = random_program(seed)
    explanation = pullback.explain(loss, weights, inputs=leaves)
    root = ElementTree.fromstring(explanation.to_svg(view="all"))
    classes = [g.get("class").split()[1] for g in root.iter("{http://www.w3.org/2000/svg}g")]
    assert classes.count("pb-operation") == len(explanation.operations) and classes.count("pb-root") == 1
    assert classes.count("pb-leaf") == len(explanation.leaves) or "pb-again" in classes
    assert explanation.to_dot().count(" -> ") == explanation.to_mermaid().count("-->")


@pytest.mark.parametrize("seed", range(20))
def test_the_layout_keeps_boxes_apart_and_lines_going_down(seed):
    import random

    generator = random.Random(seed)
    count = generator.choice([2, 5, 30, 120])
    links = sorted({tuple(sorted(generator.sample(range(count), 2))) for _ in range(count * 3 // 2)})
    sizes = {str(i): (generator.uniform(40, 200), generator.uniform(20, 90)) for i in range(count)}
    layout = arrange(sizes, [(str(a), str(b)) for a, b in links], {str(i) for i in range(count) if i % 3 == 0})
    for points in layout.paths.values():
        assert all(a[1] <= b[1] + 1e-6 for a, b in zip(points, points[1:], strict=False))
    rows: dict = {}
    for box in layout.boxes.values():
        assert -1e-6 <= box.x - box.width / 2 and box.x + box.width / 2 <= layout.width + 1e-6
        assert 0 <= box.y <= layout.height
        rows.setdefault(box.row, []).append(box)
    for row in rows.values():
        row.sort(key=lambda box: box.x)
        for left, right in zip(row, row[1:], strict=False):
            assert right.x - right.width / 2 - (left.x + left.width / 2) >= GAP_X - 1e-6


def test_large_models_are_summarised_by_module():
    model, loss = transformer_loss(12)
    explanation = loss.explain(pullback.ones(6), model=model)
    assert len(explanation.operations) > 200
    pictures = views(explanation)
    names = list(pictures)
    assert names[0] == "overview" and names[-1] == "all"
    assert all(len(pictures[name].boxes) <= 2 * READABLE for name in names[:-1])
    # every operation can be reached by opening groups
    reached, waiting = set(), ["overview"]
    while waiting:
        for box in pictures[waiting.pop()].boxes:
            if box.view:
                waiting.append(box.view)
            elif box.kind == "operation":
                reached.add(box.key)
    assert reached == {operation.key for operation in explanation.operations}
    assert {"1", "2", "12"} <= {box.title for box in pictures["overview"].boxes if box.kind == "group"}
    assert len(explanation.to_html()) < 3_000_000


def test_loops_are_summarised_by_repetition():
    x = pullback.ones(3, requires_grad=True)
    h = x
    for _ in range(60):
        h = (h * 0.9).tanh() + x
    explanation = h.sum().explain()
    pictures = views(explanation)
    assert len(pictures["overview"].boxes) <= READABLE
    assert longest_repeat(["a", *"bcd" * 5, "e"]) == (1, 3, 5)
    assert longest_repeat(list("abcdef"))[2] == 1


def test_a_graph_too_large_to_draw_whole():
    x = pullback.ones(1, requires_grad=True)
    h = x
    for _ in range(1600):
        h = h * 1.0
    explanation = h.sum().explain()
    assert "all" not in views(explanation) and "more operations" in str(explanation)
    explanation.to_svg()
    with pytest.raises(ValueError, match="no view 'all'"):
        explanation.to_svg(view="all")


def test_the_page_is_self_contained(tmp_path):
    explanation = explanation_of("x")
    path = tmp_path / "page.html"
    page = explanation.to_html(path)
    assert path.read_text("utf-8") == page
    assert not re.search(r"""(src|href)\s*=\s*["']?(https?:)?//""", page) and "@import" not in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page


def test_numbers_that_json_does_not_know():
    x = pullback.tensor([0.0, 1.0], requires_grad=True)
    explanation = x.sqrt().explain(pullback.tensor([float("nan"), float("inf")]))
    reader = read(explanation.to_html())
    assert json.loads(reader.scripts[0])["roots"][0]["flow"]["values"] == ["NaN", "Infinity"]
    assert "NaN" in str(explanation) and "NaN" in explanation.to_svg()


def test_text_tells_the_founding_story():
    x = pullback.tensor([2.0, 3.0], requires_grad=True)
    y = x * x
    text = str(y.explain(pullback.tensor([1.0, 0.5])))
    for line in (
        "y = [4, 9]   (2 elements)", "  seed [1, 0.5]   weights given as gradient=", "     ∂/∂a: g * (x + x)   → x: [4, 3]",
        "  x   (2 elements)   gradient [4, 3]", "      y[0]: 1 × [4, 0] = [4, 0]", "      y[1]: 0.5 × [0, 6] = [0, 3]",
    ):  # fmt: skip
        assert line in text.splitlines()


def test_rich_shows_the_same(capsys):
    explanation = explanation_of("[bold]name")
    explanation.show()
    shown = capsys.readouterr().out
    assert "[bold]name" in shown and "g * (" in shown
    rich = pytest.importorskip("rich.console")
    console = rich.Console(width=120, file=io.StringIO(), record=True)
    console.print(explanation_of("[red]x"))
    assert "[red]x" in console.export_text()
