"""`torch._utils_internal`: where files that come with tests lie."""

from __future__ import annotations

import os


def get_file_path(*path_components: str) -> str:
    """The parts of a path, joined."""
    return os.path.join(*path_components)


get_file_path_2 = get_file_path
