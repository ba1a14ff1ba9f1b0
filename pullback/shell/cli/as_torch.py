"""`pullback as-torch`: a small distribution called `torch` that hands every import over to Pullback.

With it, plain `python train.py` runs on Pullback, and packages that ask pip for torch are content. It is two files of a
few lines and their metadata, in the folder where pip puts packages; `pip uninstall torch` removes it like any other.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from ...version import __version__, torch_version

_USAGE = """usage: pullback as-torch {install,uninstall,status}

  install     let `import torch` mean Pullback in this environment, for pip as well
  uninstall   remove that again
  status      say what `import torch` means here, and how to change it
"""

_VERSION = f"{torch_version}+pullback"
_INFO = f"torch-{_VERSION}.dist-info"
_SIGNATURE = "pullback"  # what the file INSTALLER of our distribution says

# Written once for each of the two packages that torch installs.
_PACKAGE = '''"""`{name}`, answered by Pullback. Written by `pullback as-torch install`; `pip uninstall torch` removes it."""

import sys

from pullback import install_as_torch

del sys.modules["{name}"]
install_as_torch()

import {name}  # noqa: E402, F401
'''

_METADATA = f"""Metadata-Version: 2.1
Name: torch
Version: {_VERSION}
Summary: `import torch` answered by Pullback {__version__}. Not PyTorch.
Requires-Dist: pullback
"""

_WHEEL = "Wheel-Version: 1.0\nGenerator: pullback\nRoot-Is-Purelib: true\nTag: py3-none-any\n"

# Their releases are made for one release of torch each, and hold compiled operators.
_COMPANIONS = (
    f"torchvision: `pip install torchvision==0.{15 + int(torch_version.split('.')[1])}.0`, the release made for this torch (any "
    "other fetches a torch of its own); its compiled operators stay off.\n"
    "torchaudio cannot run: it loads compiled operators. torchtext is no longer released; `--no-deps` installs old ones."
)


class Refused(Exception):
    """Why nothing was done, and what to do about it."""


def _files() -> dict[str, str]:
    """Return the texts of the files to install, by their places below the folder of packages."""
    files = {f"{name}/__init__.py": _PACKAGE.format(name=name) for name in ("torch", "functorch")}
    files |= {f"{_INFO}/METADATA": _METADATA, f"{_INFO}/INSTALLER": f"{_SIGNATURE}\n", f"{_INFO}/WHEEL": _WHEEL}
    rows = [f"{name},{_checksum(text)},{len(text.encode())}" for name, text in files.items()]
    return files | {f"{_INFO}/RECORD": "\n".join([*rows, f"{_INFO}/RECORD,,\n"])}


def _checksum(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def packages_folder() -> Path:
    """Where pip puts packages of this Python."""
    return Path(sysconfig.get_path("purelib"))


def _found(folder: Path) -> Distribution | None:
    """The distribution `torch` that a new process would find: in this folder, or elsewhere on the path."""
    places = [str(folder), *[place for place in sys.path if place]]
    return next(iter(distributions(name="torch", path=places)), None)


def _is_ours(distribution: Distribution) -> bool:
    return (distribution.read_text("INSTALLER") or "").strip() == _SIGNATURE


def _place(distribution: Distribution) -> Path:
    return Path(str(distribution.locate_file("")))


def install(folder: Path) -> str:
    """Put the distribution there; what to tell the user."""
    present = _found(folder)
    if present is not None and not _is_ours(present):
        raise Refused(
            f"torch {present.version} is installed in {_place(present)}; it is left alone. To run programs on Pullback "
            f"beside it, use `pullback run script.py`. To replace it: `pip uninstall torch`, then `pullback as-torch install`."
        )
    if present is not None and _place(present) != folder:
        raise Refused(f"`import torch` means Pullback already, by {_place(present)}, which this environment can see.")
    for name in ("torch", "functorch"):
        if present is None and (folder / name).exists():
            raise Refused(f"{folder / name} is there, of no distribution that pip knows. Look at it, and move it away.")
    _check_managed()
    if present is not None:
        _remove(present)  # of another version, perhaps
    _write(folder)
    return (
        f"`import torch` now means Pullback {__version__} in {folder}, and pip takes it for torch {_VERSION}.\n"
        f"`pullback as-torch uninstall` removes it.\n\n{_COMPANIONS}"
    )


def _check_managed() -> None:
    """Refuse to write where the operating system's packages live, as pip does."""
    marker = Path(sysconfig.get_path("stdlib")) / "EXTERNALLY-MANAGED"
    if sys.prefix == sys.base_prefix and marker.exists():
        raise Refused(
            f"This Python ({sys.prefix}) belongs to the operating system. Make an environment of your own: "
            f"`python3 -m venv .venv`, then `.venv/bin/pip install pullback` and `.venv/bin/pullback as-torch install`."
        )


def _write(folder: Path) -> None:
    """All files or none: they are written beside their places, then moved there, the metadata last."""
    try:
        workshop = Path(tempfile.mkdtemp(prefix=".torch-", dir=folder))
    except OSError as error:
        raise Refused(
            f"{folder} cannot be written to ({error.strerror}). Use an environment of your own: `python3 -m venv .venv`."
        ) from None
    moved: list[Path] = []
    try:
        for name, text in _files().items():
            file = workshop / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
        for name in ("torch", "functorch", _INFO):
            (workshop / name).chmod(0o755)
            os.rename(workshop / name, folder / name)
            moved.append(folder / name)
    except BaseException:
        for each in moved:
            shutil.rmtree(each, ignore_errors=True)
        raise
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


def uninstall(folder: Path) -> str:
    """Remove what `install` put there; what to tell the user."""
    present = _found(folder)
    if present is None:
        return "Nothing to remove: no torch is installed here."
    if not _is_ours(present):
        raise Refused(
            f"torch {present.version} in {_place(present)} is not Pullback's. `pip uninstall torch` removes it."
        )
    _remove(present)
    return "Removed. `import torch` finds nothing now: `pip install torch` gets PyTorch, `pullback run` needs neither."


def _remove(distribution: Distribution) -> None:
    folder = _place(distribution)
    shutil.rmtree(folder / f"torch-{distribution.version}.dist-info")  # first: what is not listed is not installed
    for name in ("torch", "functorch"):
        shutil.rmtree(folder / name, ignore_errors=True)


def status(folder: Path) -> str:
    """Tell what `import torch` means in this environment."""
    present = _found(folder)
    if present is None:
        return (
            f"No torch is installed in {folder}.\n"
            "`pullback run script.py` runs programs that import torch; `pullback as-torch install` lets plain `python` do so."
        )
    if not _is_ours(present):
        return (
            f"torch {present.version} in {_place(present)} is a real one: `import torch` finds it.\n"
            "`pullback run script.py` runs programs on Pullback all the same."
        )
    stale = (
        ""
        if present.version == _VERSION
        else f" Pullback now answers as {_VERSION}: `pullback as-torch install` again."
    )
    return (
        f"`import torch` means Pullback {__version__}: pip lists it as torch {present.version} in {_place(present)}.{stale}\n"
        f"To get PyTorch back: `pullback as-torch uninstall`, then `pip install torch`.\n\n{_COMPANIONS}"
    )


def main(arguments: list[str]) -> int:
    """Run the command; its exit status."""
    if arguments and arguments[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0
    actions: dict[str, Any] = {"install": install, "uninstall": uninstall, "status": status}
    if len(arguments) != 1 or arguments[0] not in actions:
        print(_USAGE, end="", file=sys.stderr)
        return 2
    try:
        print(actions[arguments[0]](packages_folder()))
    except Refused as refusal:
        print(f"pullback as-torch: {refusal}", file=sys.stderr)
        return 1
    return 0
