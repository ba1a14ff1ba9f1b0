"""Where lower modules call higher ones: every such place, by name. Each function is imported when it is first called for.

`seams.apply_dual(...)` is an ordinary attribute of this module from then on: nothing is looked up twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .basics.on_demand import names_on_demand

if TYPE_CHECKING:  # functions of many forms: checkers take them as they come

    def __getattr__(name: str) -> Any: ...


names_on_demand(
    __name__,
    shown="pullback.core.seams",
    names={
        "pullback.transforms.arrays.batched": "raw",
        "pullback.transforms.arrays.batching_rules": "apply_batched example_by_example get_item with_batch_axis",
        "pullback.transforms.arrays.protocol": "function_of_batches product_of_batches ufunc_of_batches",
        "pullback.transforms.arrays.own_memory": "repeat_view_steps without_history",
        "pullback.transforms.arrays.recurrence_rules": "batch_recurrence_pullback",
        "pullback.autograd.anomaly_mode": "check_forward",
        "pullback.autograd.compositions": "recorded_pullback",
        "pullback.transforms.forward_mode": "apply_dual below_level tangents_of",
        "pullback.core.general": "apply_special apply_together",
        "pullback.core.linear_graph": "show_linear_graph:rebuild",
        "pullback.core.mode": "is_grad_enabled",
        "pullback.core.roots": "backward_from",
        "pullback.core.special_nodes": "DelayedError",
        "pullback.core.tape": "apply wrap",
        "pullback.core.views": "refresh_if_usable refresh_or_raise",
        "pullback.functional.creation": "legacy_tensor",
        "pullback.shell.dispatch": "answer_of_mode run_by_modes run_on_tensors",
        "pullback.explaining.names": "describe_tensor",
        "pullback.functional.operands": "broadcast_error wrap_dim",
        "pullback.functional.refusals": "refuse_keywords",
        "pullback.functional.shape": "reshape_tensor:reshape",
        "pullback.functional.subviews": "as_strided",
        "pullback.shell.interop.numpy_functions": "function_of_numpy",
        "pullback.functional.meta": "outlined",
        "pullback.multi": "backward_to_jac",
        "pullback.sparse.tensor": "make_sparse:make",
        "pullback.sparse.writing": "write_sparse",
        "pullback.shell.torch_function": "notice_foreign_objects notice_subclass run_and_convert take_over",
    },
)
