"""Parametrizations: a parameter computed from others by modules, on every access.

`register_parametrization(layer, "weight", Symmetric())` makes `layer.weight` a property whose value is
`Symmetric()(original)`; assigning to it goes through the parametrization's `right_inverse`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pullback

from ...core.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = ["ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
           "transfer_parametrizations_and_params", "type_before_parametrizations"]  # fmt: skip

_cache_depth = 0
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once within the context."""
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if not _cache_depth:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, first to be applied first, and the tensor(s) they start from."""

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe: bool = unsafe
        shape, dtype = original.shape, original.dtype
        start = self._invert(original)
        self.is_tensor: bool = isinstance(start, pullback.Tensor)
        self.ntensors: int = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            self._start_from_one(original, start)
        else:
            self._start_from_several(original, start)
        if not unsafe:
            _check_same(self(), shape, dtype)

    def _invert(self, original: Tensor) -> Any:
        start: Any = original
        with pullback.no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    try:
                        start = module.right_inverse(start)
                    except NotImplementedError:
                        pass
        if not isinstance(start, (pullback.Tensor, Sequence)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(start).__name__}"
            )
        return start

    def _start_from_one(self, original: Tensor, start: Tensor) -> None:
        for what in ("dtype", "device"):
            if getattr(original, what) != getattr(start, what):
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {getattr(original, what)}\n"
                    f"right_inverse(original).{what}: {getattr(start, what)}"
                )
        if start is not original:
            original.data = start.detach()
        _register(self, "original", original)

    def _start_from_several(self, original: Tensor, start: Sequence[Any]) -> None:
        for index, tensor in enumerate(start):
            if not isinstance(tensor, pullback.Tensor):
                raise ValueError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                    f"Got element {index} of the sequence with type {type(tensor).__name__}."
                )
            if isinstance(original, Parameter):
                tensor = Parameter(tensor, original.requires_grad)
            tensor.requires_grad_(original.requires_grad)
            _register(self, f"original{index}", tensor)

    def right_inverse(self, value: Tensor) -> None:
        """Set the original(s) so that the parametrized tensor becomes `value`."""
        with pullback.no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
                value = module.right_inverse(value)
            if self.is_tensor:
                if not isinstance(value, pullback.Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(value).__name__}")
                self._assign("original", value, "The tensor")
                return
            if not isinstance(value, Sequence):
                raise ValueError(f"'right_inverse' must return a sequence of tensors. Got {type(value).__name__}.")
            if len(value) != self.ntensors:
                raise ValueError(
                    f"'right_inverse' must return a sequence of tensors of length {self.ntensors}. "
                    f"Got a sequence of length {len(value)}."
                )
            for index, tensor in enumerate(value):
                if not isinstance(tensor, pullback.Tensor):
                    raise ValueError(
                        "'right_inverse' must return a sequence of tensors. "
                        f"Got element {index} of type {type(tensor).__name__}."
                    )
                self._assign(f"original{index}", tensor, f"Tensor {index}")

    def _assign(self, name: str, value: Tensor, who: str) -> None:
        original = getattr(self, name)
        if original.dtype != value.dtype:
            raise ValueError(
                f"{who} returned by `right_inverse` has dtype {value.dtype} while `{name}` has dtype {original.dtype}"
            )
        original.data = value.detach()

    def forward(self) -> Tensor:
        originals = (
            [self.original] if self.is_tensor else [getattr(self, f"original{index}") for index in range(self.ntensors)]
        )
        first, *rest = list(self)
        value = first(*originals)
        for module in rest:
            value = module(value)
        return value


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _check_same(value: Any, shape: Any, dtype: Any) -> None:
    if not isinstance(value, pullback.Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(value).__name__}.")
    for what, before, after in (("dtype", dtype, value.dtype), ("shape", shape, value.shape)):
        if before != after:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless "
                f"`unsafe` flag is enabled.\nunparametrized {what}: {before}\n"
                f"parametrized {what}: {after}"
            )


def _deepcopy(self: Module, memo: dict[int, Any]) -> Module:
    # The class is shared by the copy: it belongs to the original and cannot be rebuilt by name.
    replica = self.__class__.__new__(self.__class__)
    memo[id(self)] = replica
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return replica


def _refuse_pickling(self: Module) -> Any:
    raise RuntimeError(
        "Serialization of parametrized modules is only supported through state_dict(). Save "
        "module.state_dict(), and load it into a module with the same parametrizations."
    )


def _give_own_class(module: Module) -> None:
    """Properties live on classes, so a module with one needs a class of its own."""
    kind = type(module)
    members: dict[str, Any] = {"__getstate__": _refuse_pickling}
    if not hasattr(kind, "__deepcopy__"):
        members["__deepcopy__"] = _deepcopy
    module.__class__ = type(f"Parametrized{kind.__name__}", (kind,), members)


def _add_property(module: Module, name: str) -> None:
    if hasattr(module, name):
        raise AssertionError(f"Module already has an attribute named '{name}'")

    def get(self: Any) -> Tensor:
        parametrization = self.parametrizations[name]
        if not _cache_depth:
            return parametrization()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = parametrization()
        return _cache[key]

    def assign(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(get, assign))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Make a parameter or buffer the result of a parametrization; a second one is applied to the first one's result.

    Unless `unsafe`, the parametrization must keep shape and dtype.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_appended(getattr(module, tensor_name), parametrization, tensor_name)
        parametrizations = module.parametrizations[tensor_name]
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        parametrizations = ParametrizationList([parametrization], getattr(module, tensor_name), unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _give_own_class(module)
            module.parametrizations = ModuleDict()
        _add_property(module, tensor_name)
        module.parametrizations[tensor_name] = parametrizations
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name "
            f"'{tensor_name}'"
        )
    return module


def _check_appended(before: Tensor, parametrization: Module, name: str) -> None:
    after = parametrization(before)
    _check_same(after, before.shape, before.dtype)
    if not hasattr(parametrization, "right_inverse"):
        return
    try:
        inverse = parametrization.right_inverse(after)
    except NotImplementedError:
        return
    if not isinstance(inverse, pullback.Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(inverse).__name__}")
    for what in ("dtype", "shape"):
        if getattr(inverse, what) != getattr(before, what):
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                f"module.{name}, unless the `unsafe` flag is enabled.\n"
                f"module.{name}.{what}: {getattr(before, what)}\n"
                f"returned {what}: {getattr(inverse, what)}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """True if the module has a parametrization, or one on this tensor."""
    parametrizations = getattr(module, "parametrizations", None)
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make the tensor an ordinary one again, with its present value or with the original."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if not parametrizations.is_tensor and not leave_parametrized:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in "
            "terms of a sequence of tensors."
        )
    if parametrizations.is_tensor:
        tensor = parametrizations.original
        if leave_parametrized:
            with pullback.no_grad():
                tensor.data = getattr(module, tensor_name).detach()
    else:
        tensor = getattr(module, tensor_name)
        tensor = Parameter(tensor) if tensor.requires_grad else tensor
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, tensor)
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type[Any]:
    """The class the module was made with."""
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give `to_module` the parametrizations of `from_module`, of all tensors or of one, and their originals."""
    if not is_parametrized(from_module):
        return to_module
    for name in list(from_module.parametrizations) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for original in ["original"] if source.is_tensor else [f"original{index}" for index in range(source.ntensors)]:
            setattr(target, original, getattr(source, original))
    return to_module
