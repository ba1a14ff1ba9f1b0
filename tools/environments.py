"""Virtual environments with NumPy in them and nothing else, for what has to be tried as a stranger would."""

from __future__ import annotations

import sysconfig
import venv
from importlib.metadata import distribution
from pathlib import Path


def with_numpy(folder: Path) -> tuple[Path, Path]:
    """Make one: its Python, and the folder of its packages. NumPy is this environment's, linked."""
    venv.create(folder, with_pip=False)
    places = {"base": str(folder), "platbase": str(folder), "installed_base": str(folder)}
    packages = Path(sysconfig.get_path("purelib", "venv", vars=places))
    numpy = distribution("numpy")
    for name in {file.parts[0] for file in numpy.files or () if not file.parts[0].startswith(("..", "__"))}:
        (packages / name).symlink_to(str(numpy.locate_file(name)))
    return Path(sysconfig.get_path("scripts", "venv", vars=places)) / "python", packages
