"""Looking rows up in a table, one by one (`embedding`) or in bags that are summed, averaged or maximised."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.basics.notices import warn_user
from ...core.basics.storage import storage_of
from ...core.mode import current_mode
from ...core.tape import apply, wrap
from ...core.tensor import Tensor
from ...core.writes import bump
from ...functional.checks import need_tensor
from ...functional.operands import need_int
from ...ops import embedding as ops
from ...transforms.arrays.batched import Batched
from ._common import constant, layer_function


def _check_indices(indices: Tensor, function: str) -> None:
    if indices._array.dtype not in (np.int64, np.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"torch.{indices.dtype.type_name}Tensor instead (while checking arguments for {function}). "
            "Rows of the table are numbered: convert with indices.long()."
        )


def shorten_rows(weight: Tensor, indices: np.ndarray, max_norm: float, norm_type: float) -> None:
    """Scale the rows in use down to `max_norm`, in place and unrecorded."""
    if type(weight._array) is Batched or type(indices) is Batched:
        _shorten_in_batch(weight.detach(), wrap(indices), max_norm, norm_type)
        return
    table = weight.memory()
    used = np.unique(indices)
    norms = np.linalg.norm(table[used].astype(np.float64), norm_type, axis=1)
    long = norms > max_norm
    if long.any():
        factors = max_norm / (norms[long] + 1e-7)
        bump(storage_of(weight))
        table[used[long]] = (table[used[long]] * factors[:, None]).astype(table.dtype)


def _shorten_in_batch(weight: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> None:
    used = (indices.reshape((-1, 1)) == constant(np.arange(weight.shape[0]))).any(0)
    norms = weight.norm(norm_type, 1)
    weight.mul_((used & (norms > max_norm)).to(weight.dtype).mul(max_norm / (norms + 1e-7) - 1).add(1).unsqueeze(1))


def _positive_index(padding_idx: int | None, rows: int) -> int | None:
    if padding_idx is None:
        return None
    padding_idx = need_int(padding_idx, "embedding", "padding_idx", 3)
    if not -rows <= padding_idx < rows:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % rows


@layer_function(direct=True, passed="")
def embedding(
    input: Tensor, weight: Tensor, padding_idx: int | None = None, max_norm: float | None = None,
    norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False,
) -> Tensor:  # fmt: skip
    """Rows of `weight`. The row `padding_idx` gets no gradient; with `sparse`, a leaf's gradient is a sparse tensor.

    `max_norm` first scales rows that are picked down to that norm of order `norm_type`, in `weight` itself;
    `scale_grad_by_freq` divides the gradient of a row by how often it was picked.
    """
    if not isinstance(input, Tensor) or not isinstance(weight, Tensor):
        input, weight = need_tensor(input, "embedding", "indices", 2), need_tensor(weight, "embedding", "weight")
    if weight._array.ndim != 2:
        if padding_idx is not None:
            _positive_index(padding_idx, weight.shape[0])
        raise RuntimeError("'weight' must be 2-D")
    padding = None if padding_idx is None else _positive_index(padding_idx, weight._array.shape[0])
    if input._array.dtype.char != "l":
        _check_indices(input, "embedding")
    if max_norm is not None:
        shorten_rows(weight, input._array, max_norm, norm_type)
    op = ops.lookup_rows if sparse and weight._node is None and not scale_grad_by_freq else ops.lookup
    return apply(op, (weight, input), {"padding": padding, "by_frequency": bool(scale_grad_by_freq)})


def _check_bags(input: Tensor, weight: Tensor, offsets: Tensor | None, mode: str, weights: Tensor | None) -> None:
    if weights is not None and tuple(input.shape) != tuple(weights.shape):
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({weights.size()}) is not None, then it must have the same shape "
            f"as the input ({input.size()})"
        )
    if weight.ndim != 2:
        raise ValueError(f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                f"sequences. However, found offsets of type {type(offsets)}"
            )
    elif input.ndim == 1:
        if not isinstance(offsets, Tensor):
            raise ValueError(f"offsets has to be a 1D Tensor but got {offsets}")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
    else:
        raise ValueError(f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}")
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for mode='sum' (got "
            f"mode='{mode}')."
        )
    _check_indices(input, "embedding_bag")
    if offsets is not None:
        _check_indices(offsets, "embedding_bag")
    if weights is not None and weights.dtype != weight.dtype:
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 "
            f"'per_sample_weights'; but type torch.{weight.dtype.type_name}Tensor does not equal "
            f"torch.{weights.dtype.type_name}Tensor (while checking arguments for embedding_bag)"
        )


def _refuse_index(position: int, found: int, rows: int, quick: bool) -> None:
    """torch has two ways to say it, by the kernel that would have run; both are here, its own first."""
    said = [
        f"embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be {found}",
        f"Index {position} of input takes value {found} which is not in the valid range [0, {rows})",
    ]
    raise RuntimeError(". ".join(reversed(said) if quick else said))


def _starts(input: Tensor, offsets: Tensor | None, include_last: bool) -> tuple[np.ndarray, int]:
    """Where each bag begins in the flattened indices, and how many bags there are."""
    if offsets is None:
        return np.arange(input.shape[0]) * input.shape[1], input.shape[0]
    starts = offsets._array.astype(np.int64)
    count = len(starts)
    if include_last:
        if count == 0:
            raise RuntimeError("include_last_offset: number of offset should be at least 1")
        starts, count = starts[:-1], count - 1
    if len(offsets._array) and int(offsets._array[0]) != 0:
        raise RuntimeError(
            "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
            f"However, got {int(offsets._array[0])}"
        )
    if len(offsets._array) and int(offsets._array[-1]) > input.numel():
        raise RuntimeError(
            f"offsets[-1] can not be greater than input's length {input.numel()} but got offsets[-1] of "
            f"{int(offsets._array[-1])}"
        )
    return starts, count


@layer_function(passed="")
def embedding_bag(
    input: Tensor, weight: Tensor, offsets: Tensor | None = None, max_norm: float | None = None, norm_type: float = 2,
    scale_grad_by_freq: bool = False, mode: str = "mean", sparse: bool = False,
    per_sample_weights: Tensor | None = None, include_last_offset: bool = False, padding_idx: int | None = None,
) -> Tensor:  # fmt: skip
    """Sum, mean or maximum of the rows in each bag; bags are the rows of a 2-d input, or begin at `offsets`.

    `mode` is "sum", "mean" or "max"; `per_sample_weights` are factors for the rows of sums. With
    `include_last_offset`, `offsets` also has the end of the last bag. Indices equal to `padding_idx` are left out.
    `max_norm` first scales rows of `weight` down to that norm of order `norm_type`; `scale_grad_by_freq` divides
    gradients by how often a row was picked; `sparse` makes them sparse.
    """
    if weight._array.dtype.kind in "iu" and input._array.dtype.kind == "f":
        warn_user(
            "Argument order of nn.functional.embedding_bag was changed. Usage `embedding_bag(weight, input, ...)` is "
            "deprecated, and should now be `embedding_bag(input, weight, ...)`.",
        )
        input, weight = weight, input
    _check_bags(input, weight, offsets, mode, per_sample_weights)
    if mode == "max" and (scale_grad_by_freq or sparse):
        what = "scaling the gradient by the frequency" if scale_grad_by_freq else "sparse weights"
        raise ValueError(f"max mode does not support {what}")
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= need_int(padding_idx, "embedding_bag", "padding_idx", 9) < rows:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-rows} through {rows - 1}, but got {padding_idx}"
        )
    if current_mode().batch_level and padding_idx is None and max_norm is None and not scale_grad_by_freq:
        if input.ndim == 2 and input.shape[1] and weight._array.dtype.kind in "fV":
            return _rows_together(embedding(input, weight), mode, per_sample_weights)
    starts, count = _starts(input, offsets, include_last_offset)
    places = input.detach()  # which counts the writes to the input
    places._array = indices = input._array.reshape(-1)
    wrong = np.flatnonzero((indices < 0) | (indices >= rows))
    if wrong.size:
        _refuse_index(
            int(wrong[0]), int(indices[wrong[0]]), rows, mode != "max" and padding_idx is None and weight.itemsize < 8
        )
    bags = np.searchsorted(starts, np.arange(indices.size), side="right") - 1
    if max_norm is not None:
        shorten_rows(weight, indices, max_norm, norm_type)
    weights = None if per_sample_weights is None else per_sample_weights.reshape((-1,))
    if padding_idx is not None:
        kept = np.flatnonzero(indices != padding_idx % rows)
        places, bags = constant(indices[kept]), bags[kept]
        weights = None if weights is None else weights[constant(kept)]
    op = ops.lookup_rows if sparse and weight._node is None and not scale_grad_by_freq else ops.lookup
    looked_up = apply(op, (weight, places), {"padding": None, "by_frequency": bool(scale_grad_by_freq)})
    return _bagged(looked_up, bags, count, mode, weights)


def _rows_together(looked_up: Tensor, mode: str, weights: Tensor | None) -> Tensor:
    """Bags of one length as a composition, which vmap takes as a whole."""
    if mode == "max":
        return looked_up.max(1)[0]
    if weights is not None:
        looked_up = looked_up * weights.unsqueeze(-1)
    return looked_up.sum(1) if mode == "sum" else looked_up.mean(1)


def _bagged(looked_up: Tensor, bags: np.ndarray, count: int, mode: str, weights: Any) -> Tensor:
    if mode == "max":
        return apply(ops.max_bags, (looked_up, constant(bags)), {"count": count})[0]
    if weights is not None:
        looked_up = looked_up * weights.unsqueeze(1)
    if mode == "sum":
        return apply(ops.sum_bags, (looked_up, constant(bags)), {"count": count})
    sizes = np.maximum(np.bincount(bags, minlength=count), 1).astype(looked_up._array.dtype)
    return apply(ops.mean_bags, (looked_up, constant(bags), constant(sizes[:, None])), {"count": count})
