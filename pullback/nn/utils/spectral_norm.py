"""The older spectral normalisation, which recomputes the weight in a hook before every call.

`parametrizations.spectral_norm` is the newer form.
"""

from __future__ import annotations

from typing import Any

import pullback

from ...core.tensor import Tensor
from .. import functional as F
from ..parameter import Parameter, UninitializedParameter

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]


def output_dim(module: Any) -> int:
    """The dimension of a layer's weight that counts its outputs."""
    from ..modules.conv import _ConvTransposeNd

    return 1 if isinstance(module, _ConvTransposeNd) else 0


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight with `dim` first and the others flattened."""
    if dim != 0:
        weight = weight.permute(dim, *(axis for axis in range(weight.dim()) if axis != dim))
    return weight.reshape(weight.shape[0], -1)


class SpectralNorm:
    """The hook: divides the weight by an estimate of its largest singular value."""

    _version: int = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name: str = name
        self.dim: int = dim
        self.n_power_iterations: int = n_power_iterations
        self.eps: float = eps

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """The normalised weight, the estimate refined first if asked for."""
        weight = getattr(module, f"{self.name}_orig")
        left, right = getattr(module, f"{self.name}_u"), getattr(module, f"{self.name}_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with pullback.no_grad():
                for _ in range(self.n_power_iterations):
                    right.copy_(F.normalize(pullback.mv(matrix.t(), left), dim=0, eps=self.eps))
                    left.copy_(F.normalize(pullback.mv(matrix, right), dim=0, eps=self.eps))
                # Copies, so that a second call before backward does not change what this one saved.
                left, right = left.clone(), right.clone()
        return weight / pullback.dot(left, pullback.mv(matrix, right))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Replace the parameter by the original and its singular vectors, and hook the module."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        hook = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make sure to "
                "run the dummy forward before applying spectral normalization"
            )
        with pullback.no_grad():
            vectors = [
                F.normalize(weight.new_empty(size).normal_(0, 1), dim=0, eps=eps)
                for size in as_matrix(weight, dim).shape
            ]
        delattr(module, name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)  # replaced before every forward; here so that it can be read until then
        module.register_buffer(f"{name}_u", vectors[0])
        module.register_buffer(f"{name}_v", vectors[1])
        module.register_forward_pre_hook(hook)
        module._register_state_dict_hook(_VersionHook(hook))
        module._register_load_state_dict_pre_hook(_OlderState(hook))
        return hook

    def remove(self, module: Any) -> None:
        """Make the present weight a parameter again."""
        with pullback.no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        for suffix in ("", "_u", "_v", "_orig"):
            delattr(module, self.name + suffix)
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, do_power_iteration=module.training))


class _VersionHook:
    """Notes the format's version in the state dict's metadata, where torch looks for it."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook: SpectralNorm = hook

    def __call__(self, module: Any, state_dict: dict[Any, Any], prefix: str, local_metadata: dict[Any, Any]) -> None:
        local_metadata.setdefault("spectral_norm", {})[f"{self.hook.name}.version"] = self.hook._version


class _OlderState:
    """Brings a state dict from before the right vector was kept up to date: it has the normalised weight instead."""

    def __init__(self, hook: SpectralNorm) -> None:
        self.hook: SpectralNorm = hook

    def __call__(self, state: dict[Any, Any], prefix: str, metadata: dict[Any, Any], *_: Any) -> None:
        key = prefix + self.hook.name
        version = metadata.get("spectral_norm", {}).get(f"{self.hook.name}.version")
        if version is not None and version >= 1 or any(key + suffix not in state for suffix in ("_orig", "_u", "")):
            return  # of today, or not whole: loading says what is missing
        with pullback.no_grad():
            weight, left = state[f"{key}_orig"], state[f"{key}_u"]
            norm = (weight / state.pop(key)).mean()
            matrix = as_matrix(weight, self.hook.dim)
            right = pullback.linalg.pinv(matrix) @ left  # what the matrix takes to a multiple of `left`
            state[f"{key}_v"] = right * (norm / pullback.dot(left, matrix @ right))


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """Divide a parameter by its largest singular value, estimated by power iteration."""
    SpectralNorm.apply(module, name, n_power_iterations, output_dim(module) if dim is None else dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Undo `spectral_norm`, keeping the normalised weight."""
    for identity, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[identity]
            break
    else:
        raise ValueError(f"spectral_norm of '{name}' not found in {module}")
    for identity, noted in list(module._state_dict_hooks.items()):
        if isinstance(noted, _VersionHook) and noted.hook is hook:
            del module._state_dict_hooks[identity]
    for identity, older in list(module._load_state_dict_pre_hooks.items()):
        if isinstance(older.hook, _OlderState) and older.hook.hook is hook:
            del module._load_state_dict_pre_hooks[identity]
    return module
