"""Losses on classes: negative log-likelihood, cross entropy, and multi-class margins."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.tape import apply
from ...core.tensor import Tensor
from ...functional.checks import need_tensor
from ...functional.matmul import linear
from ...functional.operands import need_int
from ...functional.reductions import log_softmax
from ...ops import class_losses as ops
from ...ops.piecewise import relu
from ...ops.sorting import take_along
from ._common import constant, layer_function, reduced, reduction_name


def _check_classes(input: Tensor, target: Tensor, weight: Tensor | None) -> None:
    """Torch's complaints about shapes and dtypes of log-probabilities, class numbers and class weights."""
    x, y = input._array, target._array
    if weight is None and x.ndim == 2 and y.shape == x.shape[:1] and y.dtype.char == "l" and x.dtype.kind == "f":
        return
    if input.ndim < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {input.ndim})")
    rows = target.shape[0] if target.ndim else 0
    if input.ndim != 1 and input.shape[0] != rows:
        raise ValueError(f"Expected input batch_size ({input.shape[0]}) to match target batch_size ({rows}).")
    if input.ndim <= 2:
        if target.ndim > 1:
            raise RuntimeError(
                "0D or 1D target tensor expected, multi-target not supported. A target is one class number for each row: "
                "target.squeeze(1) removes an axis of size 1, target.argmax(1) makes numbers of one-hot rows."
            )
        if input.ndim == 1 and target.ndim == 1 and target.numel() != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.numel()}")
    elif tuple(target.shape) != (input.shape[0], *input.shape[2:]):
        _refuse_target_shape(input, target)
    if target._array.dtype not in (np.int64, np.uint8):
        raise RuntimeError(
            f"expected target dtype to be Long or Byte, but got {target.dtype.type_name}. Class numbers are made so by "
            "target.long()."
        )
    if input._array.dtype.kind not in "fV":
        raise NotImplementedError(f"\"nll_loss_out_frame\" not implemented for '{input.dtype.type_name}'")
    if weight is not None:
        classes = input.shape[1] if input.ndim > 1 else input.shape[0]
        if tuple(weight.shape) != (classes,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got weight "
                f"tensor of shape: {list(weight.shape)}"
            )
        if weight.dtype != input.dtype:
            raise RuntimeError(f"expected scalar type {input.dtype.type_name} but found {weight.dtype.type_name}")


def _refuse_target_shape(input: Tensor, target: Tensor) -> None:
    if input.ndim == 4:
        if target.ndim != 3:
            raise RuntimeError(
                f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {target.ndim}"
            )
        raise RuntimeError(f"size mismatch (got input: {list(input.shape)} , target: {list(target.shape)}")
    raise RuntimeError(f"Expected target size {[input.shape[0], *input.shape[2:]]}, got {list(target.shape)}")


def _class_target(input: Tensor, target: Tensor) -> Tensor:
    """int64 class numbers; a single sample may come with a target of shape (1,)."""
    if target._array.dtype.char == "B":
        target = target.long()
    return target.reshape(()) if input._array.ndim == 1 and target._array.ndim == 1 else target


@layer_function(autocast="full", passed="")
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Minus the log-probability of the target class; weighted by class, and 0 where the target is `ignore_index`."""
    name = reduction_name(reduction, size_average, reduce)
    _check_classes(input, target, weight)
    ignore_index = need_int(ignore_index, "nll_loss_nd", "ignore_index", 5)
    params = {"ignore_index": ignore_index, "reduction": name, "smoothing": 0.0}
    ndim = input._array.ndim
    op = ops.pick_classes if ndim <= 2 else ops.pick_classes_2d
    one_sample = ndim == 1 and target._array.ndim == 1
    losses = apply(op, (input, _class_target(input, target), weight), params)
    return losses.reshape((1,)) if one_sample and name == "none" else losses


@layer_function(autocast="full", passed="")
def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, size_average: bool | None = None,
    ignore_index: int = -100, reduce: bool | None = None, reduction: str = "mean", label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """nll_loss of log_softmax(input); targets are class numbers, or probabilities of the input's shape.

    `input` has shape (batch, classes) or (batch, classes, ...) and holds any numbers: do not apply a softmax before.
    `weight` is one number for each class; targets equal to `ignore_index` do not count; `label_smoothing` mixes
    targets with the uniform distribution. `reduction` is "mean", "sum" or "none".
    """
    name = reduction_name(reduction, size_average, reduce)
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing}")
    input, target = need_tensor(input, "cross_entropy_loss"), need_tensor(target, "cross_entropy_loss", "target", 2)
    ignore_index = need_int(ignore_index, "cross_entropy_loss", "ignore_index", 5)
    if input._array.shape == target._array.shape:
        return _probability_cross_entropy(input, target, weight, ignore_index, name, label_smoothing)
    if input._array.dtype.kind in "biu":  # often the target, given first
        return log_softmax(input, 1 if input.ndim > 1 else 0)  # refuses, in torch's words
    _check_classes(input, target, weight)
    params = {"ignore_index": ignore_index, "reduction": name, "smoothing": float(label_smoothing)}
    ndim = input._array.ndim
    one_sample = ndim == 1 and target._array.ndim == 1
    inputs = (input, _class_target(input, target), weight)
    if input._array.dtype.kind == "V" or input._array.dtype.itemsize == 2:
        scores = log_softmax(input, 1 if ndim > 1 else 0)
        losses = apply(ops.pick_classes, (scores, *inputs[1:]), params)
    else:
        losses = apply(ops.cross_entropy if ndim <= 2 else ops.cross_entropy_2d, inputs, params)[0]
    return losses.reshape((1,)) if one_sample and name == "none" else losses


def _probability_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str, smoothing: float
) -> Tensor:
    """Cross entropy with a distribution over classes for each sample."""
    if target._array.dtype.kind not in "fV":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {target.dtype.type_name}. Probabilities "
            "are made so by target.float(), class numbers of one-hot rows by target.argmax(1)."
        )
    if ignore_index >= 0:
        raise RuntimeError("ignore_index is not supported for floating point target")
    axis = 1 if input.ndim > 1 else 0
    classes = input.shape[axis] if input.ndim else 1
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {classes} classes or no classes but got "
            f"weight tensor of shape: {list(weight.shape)}"
        )
    scores = log_softmax(input, axis)
    if smoothing:
        target = target * (1 - smoothing) + smoothing / max(classes, 1)
    products = scores * target
    if weight is not None:
        products = products * weight.reshape((classes, *(1,) * (input.ndim - axis - 1)))
    if reduction == "none":
        return -products.sum(axis)
    total = -products.sum()
    samples = input.numel() // max(classes, 1)
    return total if reduction == "sum" else total / samples if samples else total * float("nan")


@layer_function(passed="")
def linear_cross_entropy(
    input: Tensor, linear_weight: Tensor, target: Tensor, *, linear_bias: Tensor | None = None,
    weight: Tensor | None = None, reduction: str = "mean", ignore_index: int | None = None,
    label_smoothing: float = 0.0, options: Any = None,
) -> Tensor:  # fmt: skip
    """cross_entropy(linear(input, linear_weight, linear_bias), target). `options` do not change the result."""
    if not 1 <= input.ndim <= 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.ndim}")
    if linear_weight.ndim < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.ndim}")
    width = input.shape[-1]
    if width != linear_weight.shape[-1]:
        raise RuntimeError(
            f"expected equal input and linear_weight last dimensions (in_features), got {width} and "
            f"{linear_weight.shape[-1]}, respectively"
        )
    classes = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != classes:
        raise RuntimeError(f"expected linear_bias shape {classes}, got {tuple(linear_bias.shape)}")
    if len(classes) > 1 and input.ndim == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
            f"(N, {width}), got unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*input.shape[:-1], *classes)
    if ignore_index is not None and tuple(target.shape) == shape:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    bias = None if linear_bias is None else linear_bias.reshape((-1,))
    logits = linear(input, linear_weight.reshape((-1, width)), bias).reshape(shape)
    return cross_entropy(
        logits, target, weight=weight, reduction=reduction, label_smoothing=label_smoothing,
        ignore_index=-100 if ignore_index is None else ignore_index,
    )  # fmt: skip


# --- margins between classes ---


@layer_function(autocast="full", passed="")
def multi_margin_loss(
    input: Tensor, target: Tensor, p: int = 1, margin: float = 1.0, weight: Tensor | None = None,
    size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean",
) -> Tensor:  # fmt: skip
    """Mean over the other classes of max(0, margin - x[target] + x[i]) ** p."""
    name = reduction_name(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.ndim != 1:
        raise ValueError(f"weight must be one-dimensional, got {weight.ndim} dimensions")
    if input.ndim > 2 or input.ndim == 2 and input.shape[1] == 0 or input.ndim < 2 and input.numel() == 0:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    rows = input if input.ndim == 2 else input.reshape((1, -1))
    samples, classes = rows.shape
    if target.ndim > 1 or target.numel() != samples:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch "
            f"size). Expected target size [{samples}], but got {list(target.shape)}. Input has shape "
            f"{list(input.shape)}."
        )
    if weight is not None and weight.numel() != classes:
        raise RuntimeError(f"inconsistent weight size, expected {classes} but got {list(weight.shape)}")
    picked = target._array.reshape(-1)
    if np.any((picked < 0) | (picked >= classes)):
        raise RuntimeError("target out of range")
    index = constant(np.array(picked[:, None]))  # as the mask of other classes, it does not follow later writes
    own = apply(take_along, (rows, index), {"axis": 1})
    others = constant((np.arange(classes) != picked[:, None]).astype(rows._array.dtype))
    excess = apply(relu, (margin - own + rows,)) * others  # no gradient where the margin is just met
    losses = excess if p == 1 else excess * excess
    if weight is not None:
        losses = losses * weight.detach()[index]
    losses = losses.sum(1) / classes
    return reduced(losses if input.ndim == 2 or target.ndim else losses.reshape(()), name)


@layer_function(autocast="full", passed="")
def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Mean over target classes j and other classes i of max(0, 1 - x[j] + x[i]); a target row ends at its first -1."""
    name = reduction_name(reduction, size_average, reduce)
    if input.ndim > 2 or input.ndim == 2 and input.shape[1] == 0 or input.ndim == 1 and input.shape[0] == 0:
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if tuple(input.shape) != tuple(target.shape):
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    rows = input if input.ndim == 2 else input.reshape((1, -1))
    wanted = target._array.reshape(rows.shape)
    classes = rows.shape[1]
    if np.any((wanted < -1) | (wanted >= classes)):
        raise RuntimeError("argument #2 'target' is out of range")
    named = np.logical_and.accumulate(wanted >= 0, axis=1)  # up to the first -1
    places = np.where(named, wanted, 0)
    is_target = np.zeros(wanted.shape, bool)
    np.logical_or.at(is_target, (np.nonzero(named)[0], wanted[named]), True)
    own = apply(take_along, (rows, constant(places)), {"axis": 1})
    counts = (named[:, :, None] & ~is_target[:, None, :]).astype(rows._array.dtype)
    gaps = apply(relu, (1 - own.unsqueeze(2) + rows.unsqueeze(1),))
    losses = (gaps * constant(counts)).sum((1, 2)) / classes
    return reduced(losses if input.ndim == 2 else losses.reshape(()), name)
