"""Modules as functions: `functional_call` with other parameters, `stack_module_state` for ensembles, batch norms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.basics.types import Keywords
from ..core.tensor import Tensor


def functional_call(
    module: Any, parameter_and_buffer_dicts: Any, args: Any = None, kwargs: Keywords | None = None, *,
    tie_weights: bool = True, strict: bool = False,
) -> Any:  # fmt: skip
    """Call a module with tensors from a dict (or several) in place of its parameters and buffers.

    `functional_call(model, {"weight": w}, (x,))`: names are those of `named_parameters()` and `named_buffers()`;
    those that are missing keep their own tensors, unless `strict`. With `tie_weights`, a tensor given for one name is
    also used for others that share its parameter.
    """
    from ..nn.utils.stateless import _functional_call

    if isinstance(parameter_and_buffer_dicts, dict):
        merged = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        if not all(isinstance(part, dict) for part in parameter_and_buffer_dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        names = [name for part in parameter_and_buffer_dicts for name in part]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise ValueError(
                f"{sorted(repeated)} appeared in multiple dictionaries; behavior of functional call is ambiguous"
            )
        merged = {name: value for part in parameter_and_buffer_dicts for name, value in part.items()}
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return _functional_call(module, merged, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and buffers of several models of one kind, stacked: ({name: parameters}, {name: buffers})."""
    if not models:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if not (all(model.training for model in models) or all(not model.training for model in models)):
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if not all(type(model) is type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")
    parameters = [dict(model.named_parameters()) for model in models]
    buffers = [dict(model.named_buffers()) for model in models]
    return (
        {name: _stacked([part[name] for part in parameters], name) for name in parameters[0]},
        {name: _stacked([part[name] for part in buffers], name) for name in buffers[0]},
    )


def _stacked(tensors: list[Tensor], name: str) -> Tensor:
    from ..core.grad_mode import no_grad
    from ..functional.registry import FUNCTIONS

    wanted = tensors[0].requires_grad
    if any(tensor.requires_grad != wanted for tensor in tensors):
        raise RuntimeError(f"Expected {name} from each model to have the same .requires_grad")
    if not wanted:
        return FUNCTIONS["stack"](tensors)
    if all(tensor.is_leaf for tensor in tensors):
        with no_grad():
            return FUNCTIONS["stack"]([tensor.detach() for tensor in tensors]).requires_grad_()
    return FUNCTIONS["stack"](tensors)


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Switch the running statistics of all batch norms in a module off, in place: `vmap` cannot update them."""
    from ..nn.modules.batchnorm import _BatchNorm

    for module in root.modules():
        if isinstance(module, _BatchNorm) and module.track_running_stats:
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root
