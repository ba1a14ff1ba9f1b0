"""Where lower modules call higher ones: every such place, by name. Each function is imported when it is first called for.

`seams.apply_dual(...)` is an ordinary attribute of this module from then on: nothing is looked up twice.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

PLACES: dict[str, str] = {
    "apply": "autograd.tape",
    "apply_batched": "arrays.batching_rules",
    "apply_dual": "autograd.forward_mode",
    "apply_special": "autograd.general",
    "apply_together": "autograd.general",
    "backward_from": "autograd.roots",
    "backward_to_jac": "multi",
    "below_level": "autograd.forward_mode",
    "check_forward": "autograd.anomaly_mode",
    "function_of_numpy": "interop.numpy_functions",
    "look": "autograd.views",
    "look_at_base": "arrays.own_memory",
    "run_by_modes": "dispatch",
    "run_on_tensors": "dispatch",
    "tangents_of": "autograd.forward_mode",
    "without_history": "arrays.own_memory",
}


def __getattr__(name: str) -> Any:
    if name not in PLACES:
        raise AttributeError(f"no seam is called {name!r}")
    function = globals()[name] = getattr(import_module(f".{PLACES[name]}", __package__), name)
    return function
