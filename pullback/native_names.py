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
    from .nn import functional

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
        from .functional.registry import IN_PLACE
        from .tensor import Tensor

        if name in IN_PLACE:
            return getattr(Tensor, name)
        if name in ("relu_", "dropout_", "selu_", "celu_", "rrelu_", "threshold_", "alpha_dropout_"):
            return getattr(_functional(), name, None) or getattr(Tensor, name, None)
    return None
