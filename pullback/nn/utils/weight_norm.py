"""The older weight normalisation, which recomputes the weight in a hook before every call.

`parametrizations.weight_norm` is the newer form; the arithmetic is shared from here.
"""

from __future__ import annotations

from typing import Any

import pullback

from ...core.basics.notices import warn_user
from ...core.tensor import Tensor
from ..parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def norm_except_dim(weight: Tensor, dim: int) -> Tensor:
    """The norm over every dimension but `dim`, kept for broadcasting; over all of them if `dim` is -1."""
    if dim == -1:
        return pullback.linalg.vector_norm(weight)
    others = [axis for axis in range(weight.dim()) if axis != dim]
    return pullback.linalg.vector_norm(weight, dim=others, keepdim=True) if others else weight.abs()


def scaled_to_norm(direction: Tensor, magnitude: Tensor, dim: int) -> Tensor:
    """`direction` scaled so that `norm_except_dim` of it is `magnitude`."""
    return direction * (magnitude / norm_except_dim(direction, dim))


class WeightNorm:
    """The hook: sets the weight from its magnitude `<name>_g` and direction `<name>_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name: str = name
        self.dim: int = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """The weight for the module's present magnitude and direction."""
        return scaled_to_norm(getattr(module, f"{self.name}_v"), getattr(module, f"{self.name}_g"), self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Replace the parameter by magnitude and direction, and hook the module."""
        warn_user(
            "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
            FutureWarning,
        )
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        hook = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure to run "
                "the dummy forward before applying weight normalization"
            )
        del module._parameters[name]
        module.register_parameter(f"{name}_g", Parameter(norm_except_dim(weight, hook.dim).data))
        module.register_parameter(f"{name}_v", Parameter(weight.data))
        setattr(module, name, hook.compute_weight(module))
        module.register_forward_pre_hook(hook)
        return hook

    def remove(self, module: Any) -> None:
        """Make the present weight a parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[f"{self.name}_g"]
        del module._parameters[f"{self.name}_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """Learn a parameter's magnitude and direction separately."""
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Undo `weight_norm`, keeping the weight."""
    for identity, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[identity]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
