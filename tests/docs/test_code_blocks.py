"""Every Python block of the README and the documentation runs, page by page, each page in one namespace."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path) -> list[tuple[int, str]]:
    text = page.read_text()
    return [(text[: match.start(1)].count("\n"), match.group(1)) for match in BLOCK.finditer(text)]


@pytest.mark.parametrize("page", [p for p in PAGES if blocks(p)], ids=lambda page: page.name)
def test_the_code_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in [n for n in sys.modules if n.split(".")[0] in ("torch", "functorch")]:
        monkeypatch.delitem(sys.modules, name)  # a page starts as a reader does: torch, the oracle, is not there yet
    monkeypatch.setattr("pullback.core.engine.Hooks.in_use", False)  # nor has anybody listened to passes
    namespace = {"__name__": "__main__"}
    for line, source in blocks(page):
        exec(compile("\n" * line + source, str(page), "exec"), namespace)
