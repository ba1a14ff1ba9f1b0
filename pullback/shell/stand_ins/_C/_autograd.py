"""The names of `torch._C._autograd`: saved values, hooks on them, and version counters."""

from __future__ import annotations

from collections.abc import Sequence

from pullback.autograd.function import CustomNode
from pullback.autograd.graph import saved_hooks_allowed as _saved_tensors_hooks_is_enabled
from pullback.core.grad_mode import set_versions
from pullback.core.running import keeps_graph as _get_current_graph_task_keep_graph
from pullback.core.saved import RawSaved as SavedTensor
from pullback.core.tensor import Tensor

__all__ = [
    "SavedTensor", "_get_current_graph_task_keep_graph", "_make_saved_tensor", "_saved_tensors_hooks_is_enabled",
    "_unsafe_set_version_counter",
]  # fmt: skip


def _make_saved_tensor(tensor: Tensor, is_output: bool, is_inplace_on_view: bool = False) -> SavedTensor:
    """A tensor saved by itself, as `save_for_backward` does it: through the hooks, if any, and watched for writes."""
    holder = CustomNode()
    holder.save_for_backward(tensor)
    holder.keep(())
    return SavedTensor(holder, 0)


def _unsafe_set_version_counter(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Set version counters. The checks of saved values can no longer be relied on then."""
    for version in versions:
        if version < 0:
            raise RuntimeError(f"Cannot set a version_counter to a value below 0: {version}")
    set_versions(tensors, versions)
