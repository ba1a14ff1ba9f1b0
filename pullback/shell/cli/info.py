"""`pullback info`: what a bug report should say about the machine and the installation.

Gathers facts without importing any optional package: versions come from the installed metadata.
"""

from __future__ import annotations

import os
from typing import Any

# Optional packages and what they are for; the order is that of the printed list.
_OPTIONAL = {
    "scipy": "Sobol points, minimizers",
    "ml_dtypes": "bfloat16 and float8",
    "opt_einsum": "contraction order of einsum",
    "tqdm": "progress bars",
    "rich": "coloured explanations",
    "tensorboardX": "TensorBoard logs",
}

_THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def _installed_version(package: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _threads() -> dict[str, Any]:
    from ...kernels.threads import get_num_threads

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    variables = {name: os.environ[name] for name in _THREAD_VARIABLES if name in os.environ}
    return {"cores": cores, "pullback": get_num_threads(), **variables}


def gather() -> dict[str, Any]:
    """The facts, ready for JSON."""
    import platform

    import numpy

    from ...version import __version__, torch_version

    config: dict[str, Any] = numpy.show_config(mode="dicts")  # type: ignore[assignment, call-overload]
    blas = config.get("Build Dependencies", {}).get("blas", {})
    simd = config.get("SIMD Extensions", {})
    return {
        "pullback": __version__,
        "torch interface": torch_version,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "extras": {name: _installed_version(name) for name in _OPTIONAL},
        "blas": " ".join(str(blas[key]) for key in ("name", "version") if blas.get(key)) or "none",
        "threads": _threads(),
        "simd": simd.get("found") or simd.get("baseline") or [],
        "devices": ["cpu"],
    }


def _as_text(facts: dict[str, Any]) -> str:
    lines = []
    for name, value in facts.items():
        if name == "extras":
            lines.append("extras")
            for package, installed in value.items():
                lines.append(f"  {package:<15} {installed or '-':<12} {_OPTIONAL[package]}")
        elif isinstance(value, dict):
            lines.append(f"{name:<17} " + ", ".join(f"{key} {fact}" for key, fact in value.items()))
        else:
            lines.append(f"{name:<17} " + (", ".join(value) if isinstance(value, list) else str(value)))
    return "\n".join(lines)


def main(arguments: list[str]) -> int:
    """Print the facts, as text or JSON."""
    import argparse

    parser = argparse.ArgumentParser(
        prog="pullback info",
        description="Show versions, optional packages, BLAS, threads, SIMD and devices: what a bug report should contain.",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args(arguments)
    facts = gather()
    if options.json:
        import json

        print(json.dumps(facts, indent=2))
    else:
        print(_as_text(facts))
    return 0
