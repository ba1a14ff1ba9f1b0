"""Which operations autocast casts on the CPU: products to the short dtype, losses and a few others to float32.

Called by the general path of the tape while `torch.autocast("cpu")` is on. The casts are recorded like any others, so
gradients come back in the dtype of the original tensors.
"""

from __future__ import annotations

from typing import Any

from ..dtypes import dtype, float32
from ..tensor import Tensor
from .mode import current_mode, set_mode
from .op import Op

# By the operation's name (that of its node): what torch runs in the short dtype, and what in float32.
_SHORT = frozenset(
    {
        "Mm", "Bmm", "UnsafeView", "Mv", "Addmm", "Baddbmm", "Addbmm", "Addmv", "Convolution",
        "ScaledDotProductFlashAttentionForCpu", "ScaledDotProductAttention",
    }
)  # fmt: skip
_FULL = frozenset(
    {
        "NllLoss", "NllLoss2D", "MseLoss", "SmoothL1Loss", "HuberLoss", "SoftMarginLoss", "BinaryCrossEntropy",
        "BinaryCrossEntropyWithLogits", "CtcLoss", "KlDiv", "MultiMarginLoss", "MultilabelMarginLoss", "Prod", "Trace",
        "AvgPool3D", "GridSampler2D", "GridSampler3D", "Cdist",
    }
)  # fmt: skip


def cast_inputs(op: Op, inputs: tuple[Any, ...], target: dtype) -> tuple[Any, ...]:
    """The inputs in the dtype this operation takes under autocast."""
    if op.name in _SHORT:
        wanted = target
    elif op.name in _FULL:
        wanted = float32
    else:
        return inputs
    mode = current_mode()
    set_mode(mode.replace(autocast=None))
    try:
        return tuple(_cast(value, wanted) for value in inputs)
    finally:
        set_mode(mode)


def _cast(value: Any, wanted: dtype) -> Any:
    # Only float32 and the short dtypes take part: float64 stays what it is, as in torch.
    if isinstance(value, Tensor) and value._array.dtype.kind in "fV" and value._array.dtype.itemsize <= 4:
        return value.to(wanted)
    return value


def is_active() -> bool:
    """Whether products will be cast to one dtype, so that mixed operands are no mistake."""
    return current_mode().autocast is not None
