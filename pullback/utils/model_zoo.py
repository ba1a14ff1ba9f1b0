"""`torch.utils.model_zoo`: the old name of `torch.hub.load_state_dict_from_url`."""

from __future__ import annotations

from .. import hub
from ..core.basics.on_demand import names_on_demand

load_url = load_state_dict_from_url = hub.load_state_dict_from_url

__all__ = ["load_state_dict_from_url", "load_url"]


names_on_demand(__name__, names={"tqdm": "tqdm"})
