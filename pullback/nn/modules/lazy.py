"""Modules whose parameters get their shapes from the first input they see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pullback

from ..parameter import UninitializedParameter, is_lazy

if TYPE_CHECKING:
    from .module import Module as _Mixed  # what the mixin is mixed with
else:
    _Mixed = object

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin(_Mixed):
    """Base, placed before a module class, of that class's lazy version.

    A subclass registers uninitialized parameters and defines `initialize_parameters(*args)`, which is called with the
    first inputs and materializes them; the object then becomes an instance of `cls_to_become`.
    """

    cls_to_become: type[Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(self._infer_parameters, with_kwargs=True)

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._local_state().items():
            destination[prefix + name] = tensor if keep_vars or is_lazy(tensor) else tensor.detach()

    def _lazy_load_hook(self, state_dict: dict, prefix: str, local_metadata: dict, *rest: Any) -> None:
        undo = local_metadata.get("undo")
        for registry in (self._parameters, self._buffers):
            for name, tensor in list(registry.items()):
                saved = state_dict.get(prefix + name)
                if saved is None or not is_lazy(tensor) or is_lazy(saved):
                    continue
                if undo is not None:
                    lazy_class = tensor.__class__
                    undo.will_change(
                        lambda registry=registry, name=name, kind=lazy_class, dtype=tensor.dtype: registry.__setitem__(
                            name, kind(dtype=dtype)
                        )
                    )
                with pullback.no_grad():
                    tensor.materialize(saved.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give the uninitialized parameters their shapes, from the inputs of the first call."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """True if any parameter or buffer still lacks its shape."""
        return any(is_lazy(tensor) for registry in (self._parameters, self._buffers) for tensor in registry.values())

    def _infer_parameters(self, module: Any, args: tuple, kwargs: dict[str, Any] | None = None) -> None:
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        module._initialize_hook.remove()
        module._load_hook.remove()
        del module._initialize_hook
        del module._load_hook
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


def register_uninitialized(module: Any, bias: bool, device: Any, dtype: Any) -> None:
    """Give a lazy module an uninitialized weight and, if asked for, bias."""
    module.weight = UninitializedParameter(device=device, dtype=dtype)
    if bias:
        module.bias = UninitializedParameter(device=device, dtype=dtype)
