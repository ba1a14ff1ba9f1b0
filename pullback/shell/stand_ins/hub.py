"""`torch.hub`: weights that are already on disk can be loaded; nothing is ever downloaded."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any, NoReturn
from urllib.parse import urlparse

from pullback.core.basics.on_demand import names_on_demand

HASH_REGEX: re.Pattern[str] = re.compile(r"-([a-f0-9]*)\.")  # the checksum in the name of a file of weights
READ_DATA_CHUNK: int = 128 * 1024

_directory: str | None = None


def _get_torch_home() -> str:
    """The folder torch keeps its files in."""
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder of downloaded files, as torch computes it."""
    return _directory if _directory is not None else os.path.join(_get_torch_home(), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder of downloaded files."""
    global _directory
    _directory = os.path.expanduser(os.fspath(d))


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """The weights of a file that is in `model_dir` already; they are not downloaded."""
    from pullback.serialization import load as load_file

    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        raise RuntimeError(
            f"Pullback downloads nothing. Fetch {url} yourself and put it at {path}, then run this again."
        )
    return load_file(path, map_location=map_location)


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Repositories are not fetched and run."""
    raise RuntimeError(
        "torch.hub fetches and runs code from the network, which Pullback does not do. Install the model's package and "
        "build the model from its class; weights on disk load with torch.load."
    )


download_url_to_file: Callable[..., Any]
help: Callable[..., Any]
list: Callable[..., Any]
load = list = help = download_url_to_file = _refuse


names_on_demand(__name__, names={"tqdm": "tqdm"})  # torch has the package's progress bar under this name
