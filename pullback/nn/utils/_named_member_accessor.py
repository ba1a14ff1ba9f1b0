"""The tensors of a module by name, whatever they are registered as: `set_tensor` and `swap_tensor`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pullback

if TYPE_CHECKING:
    from ...core.tensor import Tensor
    from ..modules.module import Module


def swap_tensor(module: Module, name: str, tensor: Tensor | None) -> Tensor | None:
    """Put a tensor into the place of a parameter, a buffer or an attribute, whose tensor is returned."""
    if not isinstance(module, pullback.nn.Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if tensor is not None and not isinstance(tensor, pullback.Tensor):
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if not name or "." in name:
        raise KeyError('tensor name can\'t contain "."' if name else 'tensor name can\'t be empty string ""')
    for registry in (module._parameters, module._buffers):
        if name in registry:
            previous, registry[name] = registry[name], tensor
            return previous
    if not hasattr(module, name):
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    found = getattr(module, name)
    if found is not None and not isinstance(found, pullback.Tensor):
        raise TypeError(f"attribute `{name}`: {found} is not an instance of torch.Tensor")
    setattr(module, name, tensor)
    return found


def set_tensor(module: Module, name: str, tensor: Tensor | None) -> None:
    """Put a tensor into the place of one of this name, or make it an attribute."""
    if hasattr(module, name):
        swap_tensor(module, name, tensor)
    else:
        setattr(module, name, tensor)
