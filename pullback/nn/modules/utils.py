"""Small helpers of the layers: a number repeated for each spatial dimension, and prefixes in state dicts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _unusual(module: Any, **defaults: Any) -> str:
    """For `extra_repr`: `, name=value` for each attribute that is not what it is by default."""
    values = ((name, getattr(module, name), default) for name, default in defaults.items())
    return "".join(f", {name}={value}" for name, value, default in values if value != default)


def _ntuple(count: int, name: str = "parse") -> Callable[[Any], tuple]:
    def parse(value: Any) -> tuple:
        return tuple(value) if isinstance(value, Iterable) else (value,) * count

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(values: Sequence[int], count: int) -> list[int]:
    """`(a, b)` as `[b, b, a, a]` for count 2: the order in which `F.pad` takes its amounts."""
    return [value for value in reversed(values) for _ in range(count)]


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """Sizes of an output, those of the input in the places of None."""
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    last = defaults[-len(out_size) :]
    return [given if size is None else size for size, given in zip(out_size, last, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Strip `prefix` from the keys (and metadata keys) that have it, in place."""
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is None:
        return
    for key in list(metadata):
        if key and (key == prefix.replace(".", "") or key.startswith(prefix)):
            metadata[key[len(prefix) :]] = metadata.pop(key)
