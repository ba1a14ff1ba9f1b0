"""Losses on pairs of numbers, distributions and margins. Losses on classes are in `classification.py`.

`reduction` is 'mean', 'sum' or 'none'; the older `size_average` and `reduce` are understood and warned about.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.basics.notices import warn_user
from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.checks import is_known_true, need_tensor
from ...functional.operands import broadcast_error, common_shape, need_room, promote
from ...functional.registry import FUNCTIONS
from ...functional.ternary import where
from ...ops import loss as ops
from ...ops.piecewise import clamp_min_scalar
from ._common import constant, layer_function, reduced, reduction_name, warn_sizes
from .activation import logsigmoid
from .distance import cosine_of_last, in_one_shape, pairwise_distance


def _paired(input: Tensor, target: Tensor, first_decides: bool = False) -> tuple[Tensor, Tensor]:
    """Both in one shape and dtype; `first_decides`: in the dtype of the first."""
    if not isinstance(target, Tensor):
        raise TypeError(f"argument 'target' (position 2) must be Tensor, not {type(target).__name__}")
    input, target = in_one_shape(input, target)
    if input._array.dtype == target._array.dtype:
        return input, target
    return (input, target.to(input.dtype)) if first_decides else promote(input, target)


def _weighted_mean(losses: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """Torch's reduction of losses times weights: the mean divides by the sum of the weights."""
    losses = losses * weight
    if reduction == "none":
        return losses
    return losses.sum() if reduction == "sum" else losses.sum() / weight.sum()


def _same_size(weight: Tensor, input: Tensor) -> None:
    if tuple(weight.shape) != tuple(input.shape):
        raise ValueError("Weights and input must have the same size.")


def _refuse_integers(x: Tensor, kernel: str, kinds: str = "biu") -> None:
    if x._array.dtype.kind in kinds:
        raise NotImplementedError(
            f"\"{kernel}\" not implemented for '{x.dtype.type_name}'. Convert it first: x.float()."
        )


@layer_function(autocast="full", passed="")
def mse_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Squared differences."""
    if input._array.shape != target._array.shape:
        warn_sizes(target, input)
    name = reduction_name(reduction, size_average, reduce)
    x, y = _paired(input, target)
    if weight is not None:
        _same_size(weight, input)
        return _weighted_mean((x - y) ** 2, weight, name)
    _refuse_integers(x, "mse_cpu", "biuc")
    return apply(ops.mse, (x, y), {"reduction": name})


@layer_function(autocast="full", passed="input target, size_average reduce reduction")
def l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """Absolute differences."""
    warn_sizes(target, input)
    name = reduction_name(reduction, size_average, reduce)
    x, y = in_one_shape(input, target)
    losses = (x - y).abs()
    if weight is not None:
        _same_size(weight, input)
        return _weighted_mean(losses, weight, name)
    return reduced(losses, name)


@layer_function(autocast="full", passed="")
def smooth_l1_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", beta: float = 1.0,
) -> Tensor:  # fmt: skip
    """Quadratic for differences below beta, absolute (minus a constant) above."""
    warn_sizes(target, input)
    name = reduction_name(reduction, size_average, reduce)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    if beta == 0:
        x, y = in_one_shape(input, target)
        return reduced((x - y).abs(), name)
    x, y = _paired(input, target)
    _refuse_integers(x, "smooth_l1_cpu", "biuc")
    return apply(ops.smooth_l1, (x, y), {"beta": float(beta), "reduction": name})


@layer_function(autocast="full", passed="")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """Half the square for differences up to delta, delta times the rest above."""
    warn_sizes(target, input)
    name = reduction_name(reduction)
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    x, y = _paired(input, target, first_decides=True)
    _refuse_integers(x, "huber_cpu", "biuc")
    if weight is not None:
        _same_size(weight, input)
        losses = apply(ops.huber, (x, y), {"delta": float(delta), "reduction": "none"})
        return reduced(losses * weight, name)  # unlike the other weighted losses, not over the weights' sum
    return apply(ops.huber, (x, y), {"delta": float(delta), "reduction": name})


@layer_function(autocast="full", passed="")
def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-target * input)) for targets 1 and -1."""
    name = reduction_name(reduction, size_average, reduce)
    x, y = _paired(input, target, first_decides=True)
    given, kind = input._array.shape, input._array.dtype.kind
    if given != x._array.shape and not x.is_nested:
        raise RuntimeError(
            f"output with shape {list(given)} doesn't match the broadcast shape {list(x._array.shape)}. "
            "The target may not be larger than the input: expand the input first."
        )
    if kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. Convert it first: x.float()."
        )
    if kind in "iu" or kind != "c" and target._array.dtype.kind == "c":
        result = "ComplexFloat" if target._array.dtype.kind == "c" else "Float"
        raise RuntimeError(
            f"result type {result} can't be cast to the desired output type {input.dtype.type_name}. "
            "Convert the input first: x.float()."
        )
    if kind == "c":
        return reduced(((-x * y).exp() + 1).log(), name)
    return apply(ops.soft_margin, (x, y), {"reduction": name})


# --- probabilities and distributions ---


@layer_function(autocast="full", passed="")
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """-target * log(input) - (1 - target) * log(1 - input), with logarithms cut at -100."""
    name = reduction_name(reduction, size_average, reduce)
    if target._array.shape != input._array.shape:
        raise ValueError(
            f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is "
            "deprecated. Please ensure they have the same size."
        )
    if target._array.dtype != input._array.dtype:
        raise RuntimeError(
            f"Found dtype {target.dtype.type_name} but expected {input.dtype.type_name}. Convert with target.to(input.dtype)."
        )
    _refuse_integers(input, "binary_cross_entropy")
    for label, values in (("input", input._array), ("target", target._array)):
        if not _in_unit_interval(values) and is_known_true(np.any((values < 0) | (values > 1))):
            raise RuntimeError(
                f"all elements of {label} should be between 0 and 1. Logits go to the _with_logits form."
            )
    if weight is not None:
        weight = weight.expand(common_shape(tuple(target.shape), tuple(weight.shape))).to(input.dtype)
    return apply(ops.bce, (input, target, weight), {"reduction": name})


def _in_unit_interval(values: Any) -> bool:
    """True if a quick look shows all values to be between 0 and 1 (not if one is nan)."""
    if type(values) is not np.ndarray or not values.size:
        return False
    return values.item(values.argmin()) >= 0 and values.item(values.argmax()) <= 1


@layer_function(autocast="full", passed="")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean", pos_weight: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """binary_cross_entropy(sigmoid(input), target) without overflow; `pos_weight` multiplies the positive term."""
    name = reduction_name(reduction, size_average, reduce)
    shape = input._array.shape
    if target._array.shape != shape:
        help = ". Give it that shape: target.view_as(input)." if target.numel() == input.numel() else ""
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()}){help}")
    _refuse_integers(input, "binary_cross_entropy_with_logits")
    if target._array.dtype.kind in "biu":
        raise RuntimeError(
            f"result type {input.dtype.type_name} can't be cast to the desired output type {target.dtype.type_name}. "
            "Targets are floating-point numbers: target.float()."
        )
    kind = target.dtype
    if any(each is not None and each._array.dtype.kind == "c" for each in (input, target, weight, pos_weight)):
        return reduced(_complex_losses(input, target, weight, pos_weight), name)
    if target._array.dtype != input._array.dtype:
        input, target = promote(input, target)
    if weight is not None:
        weight = _fitting(weight, input, shape)
    if pos_weight is not None:
        pos_weight = _fitting(pos_weight, input, shape)
    if target.dtype is kind:
        return apply(ops.bce_with_logits, (input, target, weight, pos_weight), {"reduction": name})
    losses = apply(ops.bce_with_logits, (input, target, weight, pos_weight), {"reduction": "none"})
    return reduced(losses.to(kind), name)  # torch computes where the target was


def _complex_losses(input: Tensor, target: Tensor, weight: Tensor | None, pos_weight: Tensor | None) -> Tensor:
    """Losses of real numbers with complex targets, the one kind of complex numbers that torch takes here."""
    if input._array.dtype.kind == "c":
        kind = input.dtype.type_name
        raise NotImplementedError(f"\"log_sigmoid_cpu\" not implemented for '{kind}'. Give real numbers: input.real.")
    if target._array.dtype.kind != "c" or pos_weight is not None:
        raise RuntimeError(
            "result type ComplexDouble can't be cast to the desired output type Double: with weights that are complex, or "
            "with complex targets and pos_weight, there are no losses."
        )
    losses = (1 - target) * input - logsigmoid(input)
    return (losses if weight is None else losses * weight).to(target.dtype)


def _fitting(weight: Tensor, input: Tensor, shape: tuple) -> Tensor:
    if tuple(weight.shape) != shape:
        wide = common_shape(shape, tuple(weight.shape))
        if wide != shape:
            raise broadcast_error(shape, tuple(weight.shape))
        weight = weight.expand(shape)
    return weight if weight._array.dtype == input._array.dtype else weight.to(input.dtype)


@layer_function(autocast="full", passed="")
def kl_div(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean", log_target: bool = False,
) -> Tensor:  # fmt: skip
    """Kullback-Leibler divergence of log-probabilities `input` from the distribution `target`.

    `input` holds logarithms of probabilities, `target` probabilities or, with `log_target`, logarithms as well. The
    mathematical mean over a batch is `reduction="batchmean"`; "mean" divides by the number of elements.
    """
    if size_average is not None or reduce is not None:
        name = reduction_name(reduction, size_average, reduce)
    else:
        if reduction == "mean":
            warn_user(
                "reduction: 'mean' divides the total loss by both the batch size and the support size."
                "'batchmean' divides only by the batch size, and aligns with the KL div math definition."
                "'mean' will be changed to behave the same as 'batchmean' in the next major release.",
            )
        name = "sum" if reduction == "batchmean" else reduction_name(reduction)
    if input._array.dtype.kind in "biu" or target._array.dtype.kind in "biu":
        raise RuntimeError("kl_div: Integral inputs not supported. Convert them first: target.float().")
    if log_target:
        losses = target.exp() * (target - input)
    else:
        losses = FUNCTIONS["xlogy"](target, target) - target * input
    result = reduced(losses, name)
    return result / input.shape[0] if reduction == "batchmean" and input.ndim else result


@layer_function(autocast="full", passed="")
def poisson_nll_loss(
    input: Tensor, target: Tensor, log_input: bool = True, full: bool = False, size_average: bool | None = None,
    eps: float = 1e-8, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Negative log-likelihood of counts under Poisson rates (or their logarithms); `full` adds Stirling's term."""
    name = reduction_name(reduction, size_average, reduce)
    losses = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        # Where the target is at most 1 the term is 0, so its logarithm must not be looked at.
        safe = where(target > 1, target, 2.0)
        stirling = safe * safe.log() - safe + 0.5 * (2 * math.pi * safe).log()
        losses = losses + where(target > 1, stirling, 0.0).to(losses.dtype)
    return reduced(losses, name)


@layer_function(passed="")
def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """Negative log-likelihood under normal distributions; variances below eps count as eps."""
    if isinstance(var, float):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = constant(np.full(input.shape, var, input._array.dtype))
    elif is_known_true(np.any(var._array < 0)):
        raise ValueError("var has negative entry/entries")
    wanted, given = tuple(input.shape), tuple(var.shape)
    if given == wanted[:-1] != wanted:
        var = var.unsqueeze(-1)
    elif given != wanted and (
        len(given) != len(wanted) or sum(g for g, w in zip(given, wanted, strict=True) if g != w) != 1
    ):
        raise ValueError(
            f"var is of incorrect size: {list(given)} for an input of {list(wanted)}. It has a variance for each element, or "
            "one for all along one dim: var.expand_as(input)."
        )
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    # The floor takes no part in the gradient.
    variance = var + (clamp_min_scalar(var.detach(), minimum=eps, maximum=None) - var.detach())
    losses = 0.5 * (variance.log() + (input - target) ** 2 / variance)
    if full:
        losses = losses + 0.5 * math.log(2 * math.pi)
    return reduced(losses, reduction)


# --- margins between pairs and triplets ---


@layer_function(autocast="full", passed="")
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, -target * (input1 - input2) + margin)."""
    name = reduction_name(reduction, size_average, reduce)
    for place, value in enumerate((input1, input2, target), 1):
        need_tensor(value, "margin_ranking_loss", "target" if place == 3 else f"input{place}", place)
    if not input1.ndim == input2.ndim == target.ndim:
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: "
            f"{input1.size()}, input2: {input2.size()}, target: {target.size()} "
        )
    return reduced(_positive(-target * (input1 - input2) + margin * 1.0), name)


def _positive(x: Tensor) -> Tensor:
    """max(x, 0) whose gradient passes at 0, as torch's clamp_min has it."""
    return apply(clamp_min_scalar, (x,), {"minimum": 0, "maximum": None})


@layer_function(autocast="full", passed="")
def hinge_embedding_loss(
    input: Tensor, target: Tensor, margin: float = 1.0, size_average: bool | None = None, reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """The input where the target is 1, max(0, margin - input) where it is -1."""
    name = reduction_name(reduction, size_average, reduce)
    need_room(margin, input._array.dtype)
    far = where(target != 1, _positive(margin - input), 0)
    near = where(target != -1, input, 0)
    return reduced(far + near, name)


@layer_function(autocast="full", passed="")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """1 - cos where the target is 1, max(0, cos - margin) where it is -1."""
    name = reduction_name(reduction, size_average, reduce)
    for place, value in enumerate((input1, input2, target), 1):
        need_tensor(value, "cosine_embedding_loss", "target" if place == 3 else f"input{place}", place)
    if target.ndim > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if target.ndim == 1 and (input1.ndim != 2 or input2.ndim != 2):
        raise RuntimeError(
            "1D target tensor expects 2D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    if target.ndim == 0 and (input1.ndim != 1 or input2.ndim != 1):
        raise RuntimeError(
            "0D target tensor expects 1D input tensors, but found inputs with sizes "
            f"{list(input1.shape)} and {list(input2.shape)}."
        )
    cosine = cosine_of_last(input1, input2)
    losses = where(target == 1, 1 - cosine, 0) + where(target == -1, _positive(cosine - margin), 0)
    return reduced(losses, name)


@layer_function(autocast="full", passed="")
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2, eps: float = 1e-6,
    swap: bool = False, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """max(0, margin + distance(anchor, positive) - distance(anchor, negative))."""
    name = reduction_name(reduction, size_average, reduce)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")

    def distance(a: Tensor, b: Tensor) -> Tensor:
        return pairwise_distance(a, b, p, eps)

    _same_ndim(anchor, positive, negative)
    return _triplet(anchor, positive, negative, distance, margin, swap, name)


def _same_ndim(anchor: Tensor, positive: Tensor, negative: Tensor) -> None:
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
            f"anchor {anchor.ndim}D, positive {positive.ndim}D, and negative {negative.ndim}D inputs"
        )


def _triplet(
    anchor: Tensor, positive: Tensor, negative: Tensor, distance: Callable, margin: float, swap: bool, reduction: str
) -> Tensor:
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = FUNCTIONS["minimum"](far, distance(positive, negative))
    return reduced(_positive(margin + near - far), reduction)


@layer_function(passed="")
def triplet_margin_with_distance_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, *, distance_function: Callable[..., Any] | None = None,
    margin: float = 1.0, swap: bool = False, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """triplet_margin_loss with a distance of one's own."""
    name = reduction_name(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if distance_function is None:
        distance_function = pairwise_distance
    _same_ndim(anchor, positive, negative)
    return _triplet(anchor, positive, negative, distance_function, margin, swap, name)


@layer_function(passed="")
def multilabel_soft_margin_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Binary cross entropy of logits, averaged over the classes of each sample."""
    name = reduction_name(reduction, size_average, reduce)
    losses = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        losses = losses * weight
    return reduced(losses.sum(-1) / input.shape[-1], name)
