"""`pullback check PATH...`: how much of the torch surface a project uses is supported, without running it.

Prints the percentage first, then each unsupported name with its places and the nearest supported name, then packages that are
not installed and how to install them, and at last whether the program will run. `scan` reads
the files; what exists is asked of Pullback itself, so the answer cannot go stale.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from ..torch_names.lookup import COVERAGE_PAGE, find_torch_name, has_torch_name, nearest_torch_name, only_refuses
from . import counted
from .packages import absent, remedy
from .receivers import TENSOR
from .scan import Unreadable, Use, scan_file, source_files

_PLACES_SHOWN = 5


def _judged_part(name: str) -> str:
    """The part of a chain that Pullback can be asked about: `torch.float32` of `torch.float32.itemsize`."""
    parts = name.split(".")
    for length in range(2, len(parts)):
        prefix = ".".join(parts[:length])
        if not has_torch_name(prefix):
            return name
        if not isinstance(find_torch_name(prefix), (ModuleType, type)):
            return prefix
    return name


def report(paths: list[str]) -> dict[str, Any]:
    """The findings, ready for JSON; OSError for a path that cannot be read."""
    uses: list[Use] = []
    unreadable: list[Unreadable] = []
    files = [file for path in paths for file in source_files(path)]
    for file in files:
        found, failed = scan_file(file)
        uses += found
        unreadable += failed
    judged: dict[str, str] = {}
    packages: dict[str, list[str]] = {}
    places: dict[str, list[str]] = {}
    for use in uses:
        if use.name == "torch":
            continue
        if not use.name.startswith("torch."):
            if absent(use.name, use.place.split(":")[0]):
                packages.setdefault(use.name, []).append(use.place)
            continue
        if use.name not in judged:
            judged[use.name] = _judged_part(use.name)
        places.setdefault(judged[use.name], []).append(use.place)
    # Methods that only some tensors refuse, such as dense ones `indices()`, are there.
    here = {name for name in places if has_torch_name(name)}
    refused = {name for name in here if not name.startswith(TENSOR) and only_refuses(name)}
    supported = sorted(here - refused)
    missing = sorted(places.keys() - set(supported), key=lambda name: (-len(places[name]), name))
    # Rounded down, so that 100 means all.
    percent = 1000 * len(supported) // len(places) / 10 if places else 100.0
    return {
        "percent": percent,
        "files": len(files),
        "names": len(places),
        "uses": sum(len(where) for where in places.values()),
        "supported": supported,
        "unsupported": [
            {
                "name": name,
                "nearest": None if name in refused else nearest_torch_name(name),
                "refused": name in refused,
                "places": places[name],
            }
            for name in missing
        ],
        "packages": [
            {"name": name, "remedy": remedy(name), "places": where} for name, where in sorted(packages.items())
        ],
        "unreadable": [failure._asdict() for failure in unreadable],
    }


def _as_text(findings: dict[str, Any]) -> str:
    files = counted(findings["files"], "file")
    if findings["names"]:
        counts = (
            f"{len(findings['supported'])} of {counted(findings['names'], 'name')}, {counted(findings['uses'], 'use')}"
        )
        lines = [f"{findings['percent']:g} % of the torch names in {files} are supported ({counts})"]
    else:
        lines = [f"no torch names in {files}"]
    if findings["unsupported"]:
        lines += ["", "unsupported:"]
    for item in findings["unsupported"]:
        remark = f"  (nearest: {item['nearest']})" if item["nearest"] else ""
        if item["refused"]:
            remark = "  (can be imported; calling it raises an error that says what to do)"
        lines.append(f"  {item['name']}{remark}")
        shown = item["places"][:_PLACES_SHOWN]
        lines += [f"    {place}" for place in shown]
        if len(item["places"]) > len(shown):
            lines.append(f"    and {len(item['places']) - len(shown)} more")
    if findings["packages"]:
        lines += ["", "not installed:"]
        for item in findings["packages"]:
            lines += [f"  {item['name']}  ({item['remedy']})", f"    {item['places'][0]}"]
    if findings["unreadable"]:
        lines += ["", "not valid Python, so not checked:"]
        lines += [f"  {item['place']}: {item['reason']}" for item in findings["unreadable"]]
    if findings["unsupported"]:
        lines += [
            "",
            f"{COVERAGE_PAGE} lists what is supported. Methods are checked where the text says what they are asked of.",
        ]
    lines += ["", _verdict(findings)]
    return "\n".join(lines)


def _verdict(findings: dict[str, Any]) -> str:
    """The last line: whether the program will run as it is, or what stands in its way."""
    missing = [item["name"] for item in findings["unsupported"]]
    reasons = [f"it uses {', '.join(missing[:_PLACES_SHOWN])}"] if missing else []
    packages = [item["name"] for item in findings["packages"]]
    reasons += [f"{', '.join(packages)} cannot be imported"] if packages else []
    reasons += ["some files are not valid Python"] if findings["unreadable"] else []
    return f"will not run as it is, because {'; '.join(reasons)}" if reasons else "will run"


def main(arguments: list[str]) -> int:
    """Print the findings; 0 if it will run, 1 if something is missing, 2 for a path that cannot be read."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="pullback check",
        description="Say which torch names .py and .ipynb files use and which of them are supported, without running "
        "anything. Exit status: 0 if the program will run, 1 otherwise.",
    )
    parser.add_argument("paths", nargs="+", metavar="PATH", help="a file or a folder")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    try:
        findings = report(options.paths)
    except OSError as error:
        print(f"pullback check: cannot read {error.filename!r}: {error.strerror}", file=sys.stderr)
        return 2
    if options.json:
        import json

        print(json.dumps(findings, indent=2))
    else:
        print(_as_text(findings))
    return 1 if findings["unsupported"] or findings["packages"] or findings["unreadable"] else 0
