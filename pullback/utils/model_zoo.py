"""`torch.utils.model_zoo`: the old name of `torch.hub.load_state_dict_from_url`."""

from __future__ import annotations

from typing import Any

from .. import hub

load_url = load_state_dict_from_url = hub.load_state_dict_from_url

__all__ = ["load_state_dict_from_url", "load_url"]


def __getattr__(name: str) -> Any:
    if name == "tqdm":
        return hub.tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
