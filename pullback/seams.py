"""Where lower modules call higher ones: every such place, by name. Each function is imported when it is first called for.

`seams.apply_dual(...)` is an ordinary attribute of this module from then on: nothing is looked up twice.
"""

from __future__ import annotations

from .on_demand import names_on_demand

__getattr__ = names_on_demand(
    __name__,
    shown="pullback.seams",
    names={
        "pullback.arrays.batching_rules": "apply_batched",
        "pullback.arrays.own_memory": "look_at_base without_history",
        "pullback.autograd.anomaly_mode": "check_forward",
        "pullback.autograd.forward_mode": "apply_dual below_level tangents_of",
        "pullback.autograd.general": "apply_special apply_together",
        "pullback.autograd.roots": "backward_from",
        "pullback.autograd.tape": "apply",
        "pullback.autograd.views": "look look_at_history",
        "pullback.dispatch": "run_by_modes run_on_tensors",
        "pullback.interop.numpy_functions": "function_of_numpy",
        "pullback.multi": "backward_to_jac",
        "pullback.torch_function": "claimed take_over",
    },
)
