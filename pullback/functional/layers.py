"""Functions of `nn.functional` that torch also has at its top, where arguments may come in another order.

Reductions are numbers there (0 none, 1 mean, 2 sum), dropout takes `train`, embeddings take the table first; those called
`native_` also return what their backward passes need. Loading this module loads `nn.functional`, so it is a late one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor
from ..nn import functional as F
from ..nn.functional._common import REDUCTIONS
from ..nn.functional.dropout import feature_dropout as _feature_dropout
from ..nn.functional.embedding import shorten_rows as _shorten_rows
from ..nn.functional.grids import GRID_SAMPLE_INTERPOLATION_MODES, GRID_SAMPLE_PADDING_MODES
from .gate import with_own_name
from .registry import FUNCTIONS, alias, public

# The same function under both names.
_SHARED = (
    "adaptive_avg_pool1d", "avg_pool1d", "bilinear", "celu_", "channel_shuffle", "conv1d", "conv2d", "conv3d",
    "conv_tbc", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "cosine_similarity", "hardshrink",
    "native_channel_shuffle", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "prelu", "relu_",
    "rrelu_", "selu_", "threshold_",
)  # fmt: skip
# These do the same, and are handed to a `__torch_function__` in two ways.
_ALIKE = (
    "celu", "max_pool1d", "max_pool1d_with_indices", "max_pool2d", "max_pool3d", "rms_norm", "rrelu", "selu",
)  # fmt: skip
for _name in _SHARED:
    alias(getattr(F, _name), _name, method=_name in ("hardshrink", "prelu"))
for _name in _ALIKE:
    FUNCTIONS[_name] = with_own_name(getattr(F, _name), _name, "torch")

_at_top: Callable[..., Any] = public(method=False, spellings={})


def _reduction_name(number: int) -> str:
    """Return the name of a reduction given as a number. All but 1 and 2 mean "none", as in torch."""
    if type(number) is not int:
        raise TypeError(
            f'argument \'reduction\' must be int, not {type(number).__name__}: 0 for "none", 1 for "mean", 2 for "sum"'
        )
    return REDUCTIONS[number] if 0 <= number <= 2 else "none"


@public(method=False, out="cast")
def threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """x where it exceeds the threshold, `value` elsewhere."""
    return F.threshold(input, threshold, value)


# --- normalization ---


@_at_top
def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.batch_norm` with torch.batch_norm's order of arguments."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@_at_top
def instance_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    use_input_stats: bool, momentum: float, eps: float, cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.instance_norm` with torch.instance_norm's order of arguments."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


@_at_top
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.group_norm`."""
    return F.group_norm(input, num_groups, weight, bias, eps)


@_at_top
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    """`nn.functional.layer_norm`."""
    return F.layer_norm(input, normalized_shape, weight, bias, eps)


def _inverse_deviation(rows: Tensor, dims: Any, eps: float, keepdim: bool = False) -> Tensor:
    return (rows.var(dims, correction=0, keepdim=keepdim) + eps).rsqrt()


@_at_top
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Layer norm, and the mean and the inverse standard deviation it used."""
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    rows = input.detach()
    out = F.layer_norm(input, tuple(normalized_shape), weight, bias, eps)
    return out, rows.mean(dims, True), _inverse_deviation(rows, dims, eps, True)


@_at_top
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Group norm, and the mean and the inverse standard deviation it used, (N, group)."""
    if group <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {group}")
    rows = input.detach().reshape((N, group, -1))
    return F.group_norm(input, group, weight, bias, eps), rows.mean(2), _inverse_deviation(rows, 2, eps)


@_at_top
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None,
    training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Batch norm, and in training the mean and the inverse standard deviation it used; else two empty tensors."""
    out = F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_zeros((0,)), input.new_zeros((0,))
    dims = (0, *range(2, input.ndim))
    rows = input.detach()
    return out, rows.mean(dims), _inverse_deviation(rows, dims, eps)


# --- tables ---


@_at_top
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """Rows of `weight`; a negative `padding_idx` means there is none."""
    padding = padding_idx if padding_idx >= 0 else None
    return F.embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@_at_top
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Rows in use scaled down to `max_norm`, in place."""
    _shorten_rows(input, indices._array, max_norm, norm_type)
    return input


@_at_top
def embedding_bag(
    weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Sums, means or maxima (mode 0, 1, 2) of bags of rows, and what backward needs besides, which is empty here."""
    out = F.embedding_bag(
        indices, weight, offsets, None, 2.0, scale_grad_by_freq, ("sum", "mean", "max")[mode], sparse,
        per_sample_weights, include_last_offset, padding_idx,
    )  # fmt: skip
    return out, offsets.new_zeros((0,)), offsets * 0, offsets * 0


# --- dropout ---


def _dropout(name: str, function: Callable, inplace: bool) -> None:
    def dropped(input: Tensor, p: float, train: bool) -> Tensor:
        return function(input, p, train, inplace)

    dropped.__name__ = dropped.__qualname__ = name
    dropped.__doc__ = f"`nn.functional.{name.rstrip('_')}` with p and train required."
    _at_top(dropped)


for _name, _function in (
    ("dropout", F.dropout), ("alpha_dropout", F.alpha_dropout), ("feature_alpha_dropout", F.feature_alpha_dropout),
    ("feature_dropout", _feature_dropout),
):  # fmt: skip
    _dropout(_name, _function, False)
    _dropout(_name + "_", _function, True)


@_at_top
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, and the mask of what it kept."""
    ones = input.new_ones(tuple(input.shape))
    if train is False or p == 0:
        return input.clone(), ones.bool()
    mask = F.dropout(ones, p, True)
    return input * mask, mask != 0


# --- losses: without a reduction unless one is asked for, unlike those of `nn.functional` ---


@_at_top
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """`nn.functional.binary_cross_entropy_with_logits` with a number for the reduction."""
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction_name(reduction), pos_weight=pos_weight
    )


@_at_top
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.cosine_embedding_loss` with a number for the reduction."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction_name(reduction))


@_at_top
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """`nn.functional.hinge_embedding_loss` with a number for the reduction."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction_name(reduction))


@_at_top
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """`nn.functional.margin_ranking_loss` with a number for the reduction."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction_name(reduction))


@_at_top
def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """`nn.functional.kl_div` with a number for the reduction (and no warning about the mean)."""
    losses = F.kl_div(input, target, reduction="none", log_target=log_target)
    return losses if reduction == 0 else losses.mean() if reduction == 1 else losses.sum()


@_at_top
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """`nn.functional.poisson_nll_loss` with a number for the reduction."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction_name(reduction))


@_at_top
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: int = 0,
) -> Tensor:  # fmt: skip
    """`nn.functional.triplet_margin_loss` with a number for the reduction."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction_name(reduction))


@_at_top
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int = 0, reduction: int = 0,
    zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """`nn.functional.ctc_loss` with a number for the reduction."""
    return F.ctc_loss(
        log_probs, targets, input_lengths, target_lengths, blank, _reduction_name(reduction), zero_infinity
    )


# --- windows and grids ---


@_at_top
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """(values, indices) of `nn.functional.adaptive_max_pool1d`."""
    return F.adaptive_max_pool1d(input, output_size, return_indices=True)


@_at_top
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[int], padding: Sequence[int],
    dilation: Sequence[int], transposed: bool, output_padding: Sequence[int], groups: int,
) -> Tensor:  # fmt: skip
    """Convolution or transposed convolution over as many dims as the weight has."""
    axes = weight.ndim - 2
    if transposed:
        function = getattr(F, f"conv_transpose{axes}d")
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(F, f"conv{axes}d")(input, weight, bias, stride, padding, dilation, groups)


@public("grid_sampler_2d", "grid_sampler_3d", method=False, spellings={})
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """`nn.functional.grid_sample` with numbers for the modes."""
    modes, paddings = list(GRID_SAMPLE_INTERPOLATION_MODES), list(GRID_SAMPLE_PADDING_MODES)
    return F.grid_sample(input, grid, modes[interpolation_mode], paddings[padding_mode], align_corners)


@_at_top
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """`nn.functional.affine_grid`."""
    return F.affine_grid(theta, size, align_corners)
