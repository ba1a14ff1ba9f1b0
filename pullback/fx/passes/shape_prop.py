"""`ShapeProp`: runs a graph on an example, and notes the shape and dtype of every value."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...core.tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """Everything known of a tensor but its values."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    import pullback

    found = None
    if include_contiguity:
        formats = (pullback.contiguous_format, pullback.channels_last, pullback.channels_last_3d)
        fitting = [each for each in formats if _allows(each, result) and result.is_contiguous(memory_format=each)]
        found = fitting[0] if fitting else None
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, result.stride(), found, False, {})


def _allows(memory_format: Any, tensor: Tensor) -> bool:
    import pullback

    return tensor.dim() == {pullback.channels_last: 4, pullback.channels_last_3d: 5}.get(memory_format, tensor.dim())


class ShapeProp(Interpreter):
    """Notes `tensor_meta` and `type` in `node.meta`."""

    def run_node(self, n: Node) -> Any:
        """The value of a node, noted."""
        try:
            result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(f"ShapeProp error for: node={n.format_node()} with meta={n.meta}: {error}") from error
        tensors = []

        def note(value: Any) -> Any:
            if not isinstance(value, Tensor):
                return value
            tensors.append(value)
            return _extract_tensor_metadata(value)

        meta = map_aggregate(result, note)
        if tensors:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on an example; its value."""
        return super().run(*args)
