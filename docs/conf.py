"""Sphinx settings of the documentation. `make docs` builds it into docs/_build/html and takes no warning for an answer.

Docstrings are plain English with `code` in single backticks; `as_prose` makes reStructuredText of that, so that nobody
has to write markup in code.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pullback.version import __version__  # noqa: E402

project = "Pullback"
author = "The Pullback maintainers"
copyright = "2026, The Pullback maintainers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"Pullback {__version__}"
html_static_path: list[str] = []

myst_heading_anchors = 3
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_inherit_docstrings = False
python_maximum_signature_line_length = 100
# Annotations name `Tensor`, `device` or `dtype`, which are classes, attributes of Tensor and methods all at once.
suppress_warnings = ["ref.python"]

_CODE = re.compile(r"(`+)(.+?)\1", re.DOTALL)
_MARKUP = re.compile(r"([*|\\]|_(?=\W|$))")


def prose(text: str) -> str:
    """One paragraph: single backticks become double ones, and what would be markup elsewhere is taken literally."""
    parts, position = [], 0
    for match in _CODE.finditer(text):
        parts += [_MARKUP.sub(r"\\\1", text[position : match.start()]), f"``{match.group(2)}``"]
        if text[match.end() : match.end() + 1].isalnum():
            parts.append("\\ ")  # markup must end at a boundary: `Tensor`s
        position = match.end()
    return "".join([*parts, _MARKUP.sub(r"\\\1", text[position:])])


def as_prose(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Turn a docstring of this project into reStructuredText, paragraph by paragraph; indented ones are code."""
    result: list[str] = []
    for paragraph in "\n".join(lines).strip().split("\n\n"):
        first = paragraph.lstrip("\n")
        if first.startswith(" "):
            result += ["::", "", *paragraph.splitlines(), ""]
        elif first.startswith(("- ", ">>> ")):
            result += [*(prose(first) if first.startswith("- ") else first).splitlines(), ""]
        else:
            result += [*prose(" ".join(first.split())).splitlines(), ""]
    lines[:] = result


def setup(app: object) -> None:
    from tools.api_pages import write

    app.connect("builder-inited", lambda app: write())  # type: ignore[attr-defined]
    app.connect("autodoc-process-docstring", as_prose, priority=900)  # type: ignore[attr-defined]
