"""Nodes that are no operation of their own: errors and warnings that wait for a backward pass, gradients that are dropped.

`DelayedError` and `UndefinedGrad` are called on tensors and give the same values with such a node behind them. The
nodes of operations come from `node.py`, those of custom functions from `function.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..autograd.function import plan_without_rules
from .basics.notices import warn_user
from .node import Node, fill
from .recording import edges_of
from .tape import wrap
from .tensor import Tensor

if TYPE_CHECKING:
    from .basics.types import Cotangent, Gradient
    from .engine import Sweep

_PLAN = plan_without_rules()


class Error(Node):
    """Stands where a gradient is asked for that cannot be given."""

    __module__ = "torch.autograd"
    full_name: str = "torch::autograd::Error"
    message: str = ""

    def run(self, sweep: Sweep, cotangent: Cotangent) -> list[Gradient]:
        """Raise the error."""
        raise RuntimeError(self.message)


class UndefinedGradBackward(Node):
    """Lets no gradient through."""

    __module__ = "torch.autograd"
    full_name: str = "torch::autograd::UndefinedGradBackward"

    def run(self, sweep: Sweep, cotangent: Cotangent) -> list[Gradient]:
        """Send nothing on."""
        return [None] * len(self.edges)


class WarnNotImplemented(Node):
    """Stands where a gradient would be needed that nobody has written: warns, and lets none through."""

    __module__ = "torch.autograd"
    full_name: str = "WarnNotImplemented"
    message: str = ""

    def run(self, sweep: Sweep, cotangent: Cotangent) -> list[Gradient]:
        """Warn, and send nothing on."""
        warn_user(self.message)
        return [None] * len(self.edges)


def warn_of_gradients(message: str, inputs: tuple[Tensor, ...], output: Tensor) -> None:
    """Give a tensor without history a node that leads to these inputs and warns of gradients."""
    node = _joined(WarnNotImplemented, inputs)
    node.outputs, node.shape, node.dtype = None, output._array.shape, output._array.dtype
    node.message = message
    output._node, output._output_nr, output._requires_grad = node, 0, True


class DelayedError(Error):
    """`DelayedError(message, number)(*tensors)`: the same tensors, but going back through them is an error."""

    def __init__(self, msg: str, num_inputs: int) -> None:  # no node yet: each call makes one
        self.message: str = msg
        self.num_inputs: int = num_inputs

    def __call__(self, *tensors: Tensor | None) -> Any:
        node = _joined(Error, tensors)
        node.message = self.message
        return _results(node, tensors)


class UndefinedGrad:
    """`UndefinedGrad()(*tensors)`: the same tensors, but no gradient comes back from them."""

    def __call__(self, *tensors: Tensor | None) -> Any:
        return _results(_joined(UndefinedGradBackward, tensors), tensors)


def _joined(kind: type[Node], tensors: tuple[Tensor | None, ...]) -> Any:
    wanted = [
        position for position, tensor in enumerate(tensors) if isinstance(tensor, Tensor) and tensor.requires_grad
    ]
    edges, slots = edges_of(tensors, tuple(wanted))
    node = fill(kind(), _PLAN, edges, slots, (), None, None, None, None, True)
    node.outputs = tuple(
        (tensor._array.shape, tensor._array.dtype) if isinstance(tensor, Tensor) else ((), None) for tensor in tensors
    )
    return node


def _results(node: Node, tensors: tuple[Tensor | None, ...]) -> Any:
    results = []
    for number, tensor in enumerate(tensors):
        result = tensor
        if isinstance(tensor, Tensor):
            result = wrap(tensor._array)
            if any(edge is not None for edge in node.edges):
                result._node, result._output_nr, result._requires_grad = node, number, True
        results.append(result)
    return results[0] if len(results) == 1 else tuple(results)
