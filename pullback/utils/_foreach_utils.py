"""`torch.utils._foreach_utils`: lists of tensors in groups that one operation can take, for optimizers."""

from __future__ import annotations

from typing import Any

Groups = dict[tuple[Any, Any], tuple[list[list[Any]], list[int]]]


def _group_tensors_by_device_and_dtype(tensorlistlist: list[list[Any]], with_indices: bool = False) -> Groups:
    """Parallel lists, split by the device and dtype of the first list's tensors; with the positions they had."""
    groups: Groups = {}
    for position, row in enumerate(zip(*tensorlistlist, strict=True)):
        key = row[0].device, row[0].dtype
        lists, positions = groups.setdefault(key, ([[] for _ in tensorlistlist], []))
        for kept, value in zip(lists, row, strict=True):
            kept.append(value)
        if with_indices:
            positions.append(position)
    return groups


def _get_fused_kernels_supported_devices() -> list[str]:
    """Devices with kernels that update all parameters at once: every update here is of that kind."""
    return ["cpu"]


def _get_foreach_kernels_supported_devices() -> list[str]:
    """Devices with operations on lists of tensors."""
    return ["cpu"]
