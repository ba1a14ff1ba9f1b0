"""`call_for_per_sample_grads`: a module whose parameters get the gradient of every sample, in `.grad_sample`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor
from ...func import functional_call, vmap
from ...utils._pytree import tree_leaves, tree_map
from ..modules.module import Module
from ..parameter import Parameter

__all__ = ["call_for_per_sample_grads"]


def call_for_per_sample_grads(
    module: Module, *, batch_size: int | None = None, loss_reduction: str = "sum", batch_first: bool = True
) -> Callable[..., Any]:
    """A function that calls the module on a batch; `backward` of a loss of it then fills `.grad_sample` instead of `.grad`.

    Every sample goes through the module with a copy of the parameters of its own, all at once (`func.vmap`), so what
    mixes samples, as batch normalization does, is refused or sees one sample. A loss that is a mean over the batch
    (`loss_reduction="mean"`) has its gradients multiplied by the size of the batch.
    """
    if loss_reduction not in ("sum", "mean"):
        raise RuntimeError(f"Expected loss_reduction argument to be sum or mean, got {loss_reduction}")
    if not isinstance(module, Module):
        raise RuntimeError(f"Module passed must be nn.Module, got {type(module).__name__}")
    if not (batch_size is None or isinstance(batch_size, int)):
        raise RuntimeError(f"Batch size passed must be None or an integer, got {type(batch_size).__name__}")
    if batch_size is not None and batch_size < 1:
        raise RuntimeError(f"Batch size must be positive, got {batch_size}")
    for parameter in module.parameters():
        if getattr(parameter, "grad_sample", None) is not None:
            raise RuntimeError(
                "Current Expanded Weights accumulates the gradients, which will be incorrect for multiple calls "
                f"without clearing gradients. Please clear out the grad_sample parameter of {parameter}."
            )
    axis = 0 if batch_first else 1

    def call(*args: Any, **kwargs: Any) -> Any:
        size = batch_size or _size_of((args, kwargs), axis)
        scale = size if loss_reduction == "mean" else 1
        own = {name: _expanded(each, size, scale) for name, each in module.named_parameters() if each.requires_grad}
        where = tree_map(lambda each: axis if _is_batch(each, size, axis) else None, (args, kwargs))

        def one(parameters: dict[str, Tensor], inputs: Any) -> Any:
            inputs = tree_map(lambda each, at: each if at is None else each.unsqueeze(axis), inputs, where)
            result = functional_call(module, parameters, *inputs)
            return tree_map(lambda each: each.squeeze(axis) if isinstance(each, Tensor) else each, result)

        return vmap(one, in_dims=(0, where), out_dims=axis, randomness="different")(own, (args, kwargs))

    return call


def _is_batch(value: Any, size: int, axis: int) -> bool:
    return isinstance(value, Tensor) and value.dim() > axis and value.shape[axis] == size


def _size_of(inputs: Any, axis: int) -> int:
    """The size of the batch, of which all tensors have one axis."""
    sizes = {each.shape[axis] for each in tree_leaves(inputs) if isinstance(each, Tensor)}
    if len(sizes) == 1:
        return sizes.pop()
    if not sizes:
        raise RuntimeError(
            "Unable to find a tensor in the passed args and kwargs. They may not be pytree-able and so Expanded Weights "
            "cannot infer the batch size. Please pass in the batch size."
        )
    raise RuntimeError(
        "When computing batch size, found at least one input with a different batch size than the others: "
        f"{sorted(sizes)}. Please pass in the batch size."
    )


def _expanded(parameter: Parameter, size: int, scale: int) -> Tensor:
    """The parameter once for every sample; the gradient of that goes to the parameter's `grad_sample`."""
    expanded = parameter.detach().expand(size, *parameter.shape).requires_grad_()

    def keep(gradient: Tensor) -> None:
        mine = gradient.detach() * scale
        known = getattr(parameter, "grad_sample", None)
        parameter.grad_sample = mine if known is None else known + mine  # type: ignore[attr-defined]

    expanded.register_hook(keep)
    return expanded
