"""The pages hold together: links lead somewhere, every page has its place, the reference has everything public."""

import inspect
import re
from pathlib import Path

import pytest

from tools import api_pages, coverage

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("howto/*.md"))]
LINK = re.compile(r"\]\(([^)#]+)(?:#[^)]*)?\)")
WRITTEN_BY_TOOLS = {"docs/coverage.md", "benchmarks/results.md"}  # they may not have run yet


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(), flags=re.DOTALL)
    links = [link for link in LINK.findall(prose) if "://" not in link]
    targets = [(page.parent / link).resolve().relative_to(ROOT) for link in links]
    missing = [str(target) for target in targets if not (ROOT / target).exists()]
    assert not set(missing) - WRITTEN_BY_TOOLS


def test_every_page_is_in_the_table_of_contents():
    listed = set(re.findall(r"^([\w/]+)$", (DOCS / "index.md").read_text(), re.MULTILINE))
    pages = {str(page.relative_to(DOCS).with_suffix("")) for page in PAGES if DOCS in page.parents} - {"index"}
    assert pages <= listed


@pytest.fixture(scope="module")
def reference():
    return api_pages.pages()


# Public by accident, or torch's names for what ordinary programs never write.
NOT_IN_THE_REFERENCE = re.compile(
    r"_.*|\w*Storage|\w+Tensor|sym_\w+|\w+_autocast_\w+|\w+Error|Future|TorchVersion|GradScaler|\w+_"
)


def test_every_public_name_is_in_the_reference_once(reference):
    import pullback

    entry = r"^\.\. auto(?:function|class):: pullback\.(\w+)$"
    shown = [name for text in reference.values() for name in re.findall(entry, text, re.MULTILINE)]
    assert len(shown) == len(set(shown))
    rest = [name for name in dir(pullback) if not NOT_IN_THE_REFERENCE.fullmatch(name) and name not in shown]
    found = [(name, getattr(pullback, name)) for name in rest]
    # What a page of the documentation announced while it ran as a test has another home.
    home = lambda value: getattr(inspect.unwrap(value), "__module__", None) or ""
    assert [name for name, value in found if callable(value) and home(value).startswith("pullback.")] == []


def test_every_namespace_that_is_counted_has_a_page(reference):
    namespaces = {namespace.removeprefix("torch.") for namespace in coverage.NAMESPACES} - {"torch"}
    assert {namespace.replace(".", "_").lower() for namespace in namespaces} <= set(reference)


def test_every_function_in_the_reference_says_what_it_does(reference):
    import pullback

    entry = re.compile(r"^\.\. auto\w+:: pullback\.(\S+)$", re.MULTILINE)
    silent = []
    for name in sorted({name for text in reference.values() for name in entry.findall(text)}):
        value = pullback
        for part in name.split("."):
            value = getattr(value, part)
        first = (value.__doc__ or "").strip().split("\n\n")[0].rstrip()
        if not first.endswith((".", "!", "?", ":")):
            silent.append(name)
    assert not silent


def test_every_method_of_a_tensor_says_what_it_does():
    from pullback import Tensor

    methods = {name: getattr(Tensor, name) for name in vars(Tensor) if not name.startswith("_")}
    silent = [name for name, method in methods.items() if callable(method) and not (method.__doc__ or "").strip()]
    assert sorted(silent) == []
