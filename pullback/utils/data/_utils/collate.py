"""From a list of samples to a batch: tensors are stacked, numbers become tensors, containers keep their form."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

import pullback

Collate = Callable[..., Any]

np_str_obj_array_pattern = re.compile(r"[SaUO]")  # dtypes of text and objects: they have no tensor
_ERROR = "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"


def default_convert(data: Any) -> Any:
    """One sample with its NumPy arrays and numbers made tensors; everything else stays as it is."""
    if isinstance(data, pullback.Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)):
        is_text = np_str_obj_array_pattern.search(data.dtype.str) or isinstance(data, (np.str_, np.bytes_))
        return data if is_text else pullback.as_tensor(data)
    if isinstance(data, Mapping):
        return _same_mapping(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple):
        parts = [default_convert(item) for item in data]
        return type(data)(*parts) if hasattr(data, "_fields") else parts
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _same_sequence(data, [default_convert(item) for item in data])
    return data


def collate(batch: Sequence[Any], *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """A batch from samples, by the functions of `collate_fn_map` for their types, container by container."""
    first = batch[0]
    kind = type(first)
    if collate_fn_map is not None:
        if kind in collate_fn_map:
            return collate_fn_map[kind](batch, collate_fn_map=collate_fn_map)
        for base, function in collate_fn_map.items():
            if isinstance(first, base):
                return function(batch, collate_fn_map=collate_fn_map)
    if isinstance(first, Mapping):
        parts = {key: collate([sample[key] for sample in batch], collate_fn_map=collate_fn_map) for key in first}
        return _same_mapping(first, parts)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return kind(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        columns = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return columns if isinstance(first, tuple) else _same_sequence(first, columns)
    raise TypeError(_ERROR.format(kind))


def _same_mapping(model: Any, parts: dict[Any, Any]) -> Any:
    """`parts` as a mapping of the model's type, with its other attributes where it can be copied."""
    try:
        if isinstance(model, MutableMapping):
            clone = copy.copy(model)
            clone.update(parts)
            return clone
        return type(model)(parts)
    except TypeError:
        return parts


def _same_sequence(model: Any, parts: list[Any]) -> Any:
    """`parts` as a sequence of the model's type, with its other attributes where it can be copied."""
    try:
        if isinstance(model, MutableSequence):
            clone = copy.copy(model)
            for position, part in enumerate(parts):
                clone[position] = part
            return clone
        return type(model)(parts)
    except TypeError:
        return parts


def collate_tensor_fn(batch: Sequence[Any], *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """Stack tensors along a new first axis."""
    try:
        return pullback.stack(list(batch), 0)
    except RuntimeError as error:
        error.add_note(
            "To make one batch of samples of different sizes, give the loader a collate_fn that pads them "
            "(nn.utils.rnn.pad_sequence) or keeps them in a list (collate_fn=list)."
        )
        raise


def collate_numpy_array_fn(batch: Sequence[Any], *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """Stack arrays of numbers; arrays of text and objects have no tensor."""
    if np_str_obj_array_pattern.search(batch[0].dtype.str):
        raise TypeError(_ERROR.format(batch[0].dtype))
    return collate([pullback.as_tensor(array) for array in batch], collate_fn_map=collate_fn_map)


def collate_numpy_scalar_fn(batch: Sequence[Any], *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """A tensor of NumPy numbers, of their dtype."""
    return pullback.as_tensor(np.asarray(batch))


def collate_float_fn(batch: Sequence[Any], *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """A double precision tensor."""
    return pullback.tensor(list(batch), dtype=pullback.float64)


def collate_int_fn(batch: Sequence[Any], *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """A tensor of integers or booleans."""
    return pullback.tensor(list(batch))


def collate_str_fn(batch: Sequence[Any], *, collate_fn_map: dict[Any, Collate] | None = None) -> Any:
    """Text stays a list."""
    return batch


default_collate_fn_map: dict[Any, Collate] = {
    pullback.Tensor: collate_tensor_fn,
    np.ndarray: collate_numpy_array_fn,
    (np.bool_, np.number, np.object_): collate_numpy_scalar_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def default_collate(batch: Sequence[Any]) -> Any:
    """The loader's way to make a batch of samples."""
    return collate(batch, collate_fn_map=default_collate_fn_map)
