"""Steps of torch's functions that layers written after torch's own import from `torch.nn.functional` by inner names."""

from __future__ import annotations

from typing import Any

from ...core.basics.notices import warn_user
from ...core.tensor import Tensor
from ...functional.matmul import linear
from .. import _reduction
from ..modules.utils import _list_with_default, _pair, _single, _triple
from .activation import _implicit_dim
from .attention import _check_ranks, _project_packed, additive_mask


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """A mask as numbers to add to scores: -inf where a boolean one is True."""
    if mask is not None and check_other and other_type is not None and mask.dtype != other_type:
        warn_user(f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.")
    return additive_mask(mask, mask_name, None, other_name, target_type._numpy)


def _none_or_dtype(input: Tensor | None) -> Any:
    """The dtype of a tensor, None for None."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor, b_q: Tensor | None = None,
    b_k: Tensor | None = None, b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Query, key and value, each through its own weight, to the width of the query."""
    width = q.shape[-1]
    rows = (("query", q, w_q, b_q), ("key", k, w_k, b_k), ("value", v, w_v, b_v))
    for name, operand, weight, _ in rows:
        wanted = (width, operand.shape[-1])
        if tuple(weight.shape) != wanted:
            raise AssertionError(f"expecting {name} weights shape of {wanted}, but got {weight.shape}")
    for name, _, _, bias in rows:
        if bias is not None and tuple(bias.shape) != (width,):
            raise AssertionError(f"expecting {name} bias shape of {(width,)}, but got {bias.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _get_softmax_dim(name: str, ndim: int, stacklevel: int) -> int:
    """The dim that softmax takes if it is told none."""
    return _implicit_dim(name, ndim)


def _verify_batch_size(size: list[int]) -> None:
    """An error where there is a single value for each channel."""
    from math import prod

    if size[0] * prod(size[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


STEPS: dict[str, Any] = {
    step.__name__: step
    for step in (
        _canonical_mask, _get_softmax_dim, _in_projection, _list_with_default, _none_or_dtype, _pair, _single, _triple,
        _verify_batch_size,
    )
} | {"_Reduction": _reduction, "_in_projection_packed": _project_packed, "_mha_shape_check": _check_ranks}  # fmt: skip
