"""The files by which others find, cite and package the project agree with the package."""

import json
import re
import tomllib
from pathlib import Path

import pullback

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_they_name_the_same_version():
    assert re.search(r"^version: (.*)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1] == pullback.__version__
    assert f'version = "{pullback.__version__}"' in (ROOT / "recipe" / "meta.yaml").read_text()
    assert f"## [{pullback.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


def test_they_name_the_same_requirements():
    recipe = (ROOT / "recipe" / "meta.yaml").read_text().replace(" >=", ">=")
    optional = [each for extra in PROJECT["optional-dependencies"].values() for each in extra]
    for requirement in PROJECT["dependencies"]:
        assert f"- {requirement}\n" in recipe
    for name in ("scipy", "ml_dtypes", "opt_einsum"):
        assert f"- {next(each for each in optional if each.startswith(name))}\n" in recipe


def test_every_python_of_the_classifiers_is_tested():
    said = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert said and [version for version in said if f'"{version}"' not in workflow] == []


def test_the_places_they_point_to_are_one():
    source = PROJECT["urls"]["Source"]
    for name in ("CITATION.cff", "recipe/meta.yaml", ".github/ISSUE_TEMPLATE/config.yml"):
        assert source in (ROOT / name).read_text()
    json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
