"""Where lower modules call higher ones: every such place, by name. Each function is imported when it is first called for.

`seams.apply_dual(...)` is an ordinary attribute of this module from then on: nothing is looked up twice.
"""

from __future__ import annotations

from .on_demand import names_on_demand

__getattr__ = names_on_demand(
    __name__,
    shown="pullback.seams",
    names={
        "pullback.arrays.batched": "raw",
        "pullback.arrays.batching_rules": "apply_batched example_by_example get_item with_batch_axis",
        "pullback.arrays.protocol": "function_of_batches product_of_batches ufunc_of_batches",
        "pullback.arrays.own_memory": "look_at_base without_history",
        "pullback.arrays.recurrence_rules": "folded_pullback",
        "pullback.autograd.anomaly_mode": "check_forward",
        "pullback.autograd.compositions": "recorded_pullback",
        "pullback.autograd.forward_mode": "apply_dual below_level tangents_of",
        "pullback.autograd.general": "apply_special apply_together",
        "pullback.autograd.linear_graph": "show_linear_graph:rebuild",
        "pullback.autograd.mode": "is_grad_enabled",
        "pullback.autograd.roots": "backward_from",
        "pullback.autograd.special_nodes": "DelayedError",
        "pullback.autograd.tape": "apply wrap",
        "pullback.autograd.views": "look look_at_history",
        "pullback.creation": "legacy_tensor",
        "pullback.dispatch": "answer_of_mode run_by_modes run_on_tensors",
        "pullback.explaining.names": "described",
        "pullback.functional.operands": "broadcast_error wrap_dim",
        "pullback.functional.refusals": "refuse_keywords",
        "pullback.functional.shape": "reshape_tensor:reshape",
        "pullback.functional.subviews": "as_strided",
        "pullback.interop.numpy_functions": "function_of_numpy",
        "pullback.meta": "outlined",
        "pullback.multi": "backward_to_jac",
        "pullback.sparse.tensor": "make_sparse:make",
        "pullback.sparse.writing": "write_sparse",
        "pullback.torch_function": "claimed joined_by run_and_convert take_over",
    },
)
