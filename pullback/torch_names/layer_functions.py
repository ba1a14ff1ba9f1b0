"""Layer functions under the names they have in `torch` itself: `torch.conv2d`, `torch.dropout`, `torch.relu_`.

Most are `nn.functional`'s own; a few take their arguments in another order there and are translated here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SAME: frozenset[Any] = frozenset(
    {
        "adaptive_avg_pool1d", "adaptive_max_pool1d", "avg_pool1d", "bilinear", "binary_cross_entropy_with_logits",
        "celu",
        "channel_shuffle", "conv1d", "conv2d", "conv3d", "conv_tbc", "conv_transpose1d", "conv_transpose2d",
        "conv_transpose3d", "cosine_embedding_loss", "cosine_similarity", "ctc_loss", "group_norm", "hardshrink",
        "hinge_embedding_loss", "instance_norm", "kl_div", "margin_ranking_loss", "max_pool1d", "max_pool2d",
        "max_pool3d",
        "native_channel_shuffle", "pairwise_distance", "pdist", "pixel_shuffle", "pixel_unshuffle", "poisson_nll_loss",
        "prelu", "relu6", "rms_norm", "rrelu", "selu", "threshold", "triplet_margin_loss",
    }
)  # fmt: skip
TRANSLATED: dict[str, Callable[..., Any]] = {}


def _translated(function: Callable) -> Callable:
    TRANSLATED[function.__name__] = function
    return function


def _functional() -> Any:
    from ..nn import functional

    return functional


@_translated
def dropout(input: Any, p: float, train: bool) -> Any:
    """Zero elements with probability p while training."""
    return _functional().dropout(input, p, train)


@_translated
def alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """Dropout that keeps mean and variance of SELU networks."""
    return _functional().alpha_dropout(input, p, train)


@_translated
def feature_dropout(input: Any, p: float, train: bool) -> Any:
    """Zero whole channels with probability p while training."""
    return _functional().dropout2d(input, p, train)


@_translated
def feature_alpha_dropout(input: Any, p: float, train: bool) -> Any:
    """Alpha dropout of whole channels."""
    return _functional().feature_alpha_dropout(input, p, train)


@_translated
def embedding(
    weight: Any, indices: Any, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Any:
    """Rows of `weight` by their numbers."""
    padding = None if padding_idx < 0 else padding_idx
    return _functional().embedding(indices, weight, padding, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse)


@_translated
def layer_norm(
    input: Any,
    normalized_shape: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    """Normalize over the last dims."""
    return _functional().layer_norm(input, normalized_shape, weight, bias, eps)


@_translated
def batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float,
    eps: float, cudnn_enabled: bool = True,
) -> Any:  # fmt: skip
    """Normalize over batch and positions."""
    return _functional().batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


# --- with the statistics that backward needs ---


def _inverse_root(variance: Any, eps: float) -> Any:
    return (variance + eps).rsqrt()


@_translated
def native_layer_norm(input: Any, normalized_shape: Any, weight: Any, bias: Any, eps: float) -> Any:
    """Layer norm, and the mean and the inverse standard deviation it used."""
    dims = tuple(range(input.ndim - len(normalized_shape), input.ndim))
    rows = input.detach()
    out = _functional().layer_norm(input, tuple(normalized_shape), weight, bias, eps)
    return out, rows.mean(dims, True), _inverse_root(rows.var(dims, correction=0, keepdim=True), eps)


@_translated
def native_group_norm(input: Any, weight: Any, bias: Any, N: int, C: int, HxW: int, group: int, eps: float) -> Any:
    """Group norm, and the mean and the inverse standard deviation it used, (N, group)."""
    rows = input.detach().reshape((N, group, -1))
    out = _functional().group_norm(input, group, weight, bias, eps)
    return out, rows.mean(2), _inverse_root(rows.var(2, correction=0), eps)


@_translated
def native_batch_norm(
    input: Any, weight: Any, bias: Any, running_mean: Any, running_var: Any, training: bool, momentum: float, eps: float
) -> Any:
    """Batch norm, and in training the mean and the inverse standard deviation it used; else two empty tensors."""
    out = _functional().batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)
    if not training:
        return out, input.new_zeros((0,)), input.new_zeros((0,))
    dims = (0, *range(2, input.ndim))
    rows = input.detach()
    return out, rows.mean(dims), _inverse_root(rows.var(dims, correction=0), eps)


@_translated
def native_dropout(input: Any, p: float, train: bool | None) -> Any:
    """Dropout, and the mask of what it kept."""
    ones = input.new_ones(tuple(input.shape))
    if train is False or p == 0:
        return input.clone(), ones.bool()
    mask = _functional().dropout(ones, p, True)
    return input * mask, mask != 0


@_translated
def embedding_bag(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0, sparse: bool = False,
    per_sample_weights: Any = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Any:  # fmt: skip
    """Sums, means or maxima (mode 0, 1, 2) of bags of rows, and what backward needs besides, which is empty here."""
    out = _functional().embedding_bag(
        indices, weight, offsets, None, 2.0, scale_grad_by_freq, ("sum", "mean", "max")[mode], sparse,
        per_sample_weights, include_last_offset, padding_idx,
    )  # fmt: skip
    return out, offsets.new_zeros((0,)), offsets * 0, offsets * 0


@_translated
def grid_sampler_2d(input: Any, grid: Any, interpolation_mode: int, padding_mode: int, align_corners: bool) -> Any:
    """Values at the places of a grid; modes are numbers here."""
    interpolation, padding = ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    return _functional().grid_sample(
        input, grid, interpolation[interpolation_mode], padding[padding_mode], align_corners
    )


TRANSLATED["grid_sampler"] = TRANSLATED["grid_sampler_3d"] = grid_sampler_2d


def find(name: str) -> Callable[..., Any] | None:
    """The function torch has under this name, or None."""
    if name in TRANSLATED:
        return TRANSLATED[name]
    if name.startswith("_foreach_"):
        from .foreach import find as find_foreach

        return find_foreach(name)
    if name in SAME:
        return getattr(_functional(), name, None)
    if name.endswith("_"):
        from ..functional.registry import IN_PLACE
        from ..tensor import Tensor

        if name in IN_PLACE or name in ("as_strided_", "resize_as_"):
            return getattr(Tensor, name)
        if name in ("relu_", "dropout_", "selu_", "celu_", "rrelu_", "threshold_", "alpha_dropout_"):
            return getattr(_functional(), name, None) or getattr(Tensor, name, None)
    return None
