"""Pruning: setting parameters to zero by a mask, once or repeatedly.

A pruned parameter `weight` is kept as `weight_orig` with a buffer `weight_mask`; a hook multiplies them before every
call. `remove` makes the product the parameter again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

import pullback

from ...core.tensor import Tensor
from .convert_parameters import parameters_to_vector

__all__ = ["BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
           "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity",
           "is_pruned", "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove"]  # fmt: skip


class BasePruningMethod(ABC):
    """A way to choose what to prune. Subclasses set `PRUNING_TYPE` and define `compute_mask`."""

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask for importance scores `t`, given the mask so far."""

    def apply_mask(self, module: Any) -> Tensor:
        """The original times the mask."""
        original = getattr(module, f"{self._tensor_name}_orig")
        return getattr(module, f"{self._tensor_name}_mask").to(dtype=original.dtype) * original

    @classmethod
    def apply(
        cls, module: Any, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune a parameter, on top of what was pruned before."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        earlier = _pruning_hook(module, name)
        if earlier is not None:
            container = earlier[1] if isinstance(earlier[1], PruningContainer) else PruningContainer(earlier[1])
            container.add_pruning_method(method)
            method = container
        original = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}, got "
                f"{importance_scores.shape} vs {original.shape}"
            )
        scores = original if importance_scores is None else importance_scores
        if earlier is None:
            mask = method.compute_mask(scores, default_mask=pullback.ones_like(original))
            del module._parameters[name]
            module.register_parameter(f"{name}_orig", original)
        else:
            mask = method.compute_mask(scores, default_mask=getattr(module, f"{name}_mask").detach().clone())
            del module._forward_pre_hooks[earlier[0]]
        module.register_buffer(f"{name}_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """The pruned version of a tensor that belongs to no module."""
        if importance_scores is not None and importance_scores.shape != t.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as tensor t, got {importance_scores.shape} vs {t.shape}"
            )
        scores = t if importance_scores is None else importance_scores
        mask = pullback.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module: Any) -> None:
        """Make the pruned tensor the parameter."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = weight.data
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _pruning_hook(module: Any, name: str) -> tuple[int, BasePruningMethod] | None:
    found = [
        (identity, hook)
        for identity, hook in module._forward_pre_hooks.items()
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
    ]
    if len(found) > 1:
        raise AssertionError(
            f"Avoid adding multiple pruning hooks to the same tensor {name} of module {module}. Use a PruningContainer."
        )
    return found[0] if found else None


class PruningContainer(BasePruningMethod):
    """Pruning methods applied one after the other to the same parameter."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[Any, ...] = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod | None) -> None:
        """Add a method for the same parameter."""
        if method is not None:
            if not isinstance(method, BasePruningMethod):
                raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
            if self._tensor_name != method._tensor_name:
                raise ValueError(
                    f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                    f"PruningContainer {self}. Found '{method._tensor_name}'"
                )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> BasePruningMethod:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask so far with the newest method's applied to what it leaves."""
        method = self._pruning_methods[-1]
        left = _left_by(default_mask, method)
        mask = default_mask.to(dtype=t.dtype)
        mask = mask.clone() if mask is default_mask else mask
        mask[left] = method.compute_mask(t[left], default_mask=default_mask[left]).to(dtype=mask.dtype)
        return mask


def _left_by(mask: Tensor, method: BasePruningMethod) -> Any:
    """The index of what the mask leaves for the method: elements, or whole channels, or everything."""
    if method.PRUNING_TYPE == "unstructured":
        return mask == 1
    everything: list[Any] = [slice(None)] * mask.dim()
    if method.PRUNING_TYPE == "global":
        return tuple(everything)
    if method.PRUNING_TYPE != "structured":
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
    if not hasattr(method, "dim"):
        raise AttributeError('Pruning methods of PRUNING_TYPE "structured" need to have the attribute `dim` defined.')
    dim = method.dim + mask.dim() if method.dim < 0 else method.dim
    if dim < 0:
        raise IndexError(f"Index is out of bounds for tensor with dimensions {mask.dim()}")
    everything[dim] = mask.sum(dim=[axis for axis in range(mask.dim()) if axis != dim]) != 0
    return tuple(everything)


class Identity(BasePruningMethod):
    """Prunes nothing, but sets up mask and original."""

    PRUNING_TYPE: str = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class _ByAmount(BasePruningMethod):
    """Prunes a number or a share."""

    def __init__(self, amount: float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount: float = amount

    def _count(self, size: int) -> int:
        count = _compute_nparams_toprune(self.amount, size)
        _validate_pruning_amount(count, size)
        return count


class _Unstructured(_ByAmount):
    PRUNING_TYPE: str = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        count = self._count(t.numel())
        mask = default_mask.clone()
        if count:
            mask.view(-1)[self._chosen(t, count)] = 0
        return mask

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        raise NotImplementedError


class RandomUnstructured(_Unstructured):
    """Prunes elements at random."""

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        return pullback.topk(pullback.rand_like(t).view(-1), k=count).indices


class L1Unstructured(_Unstructured):
    """Prunes the elements of smallest absolute value."""

    def _chosen(self, t: Tensor, count: int) -> Tensor:
        return pullback.topk(pullback.abs(t).reshape(-1), k=count, largest=False).indices


class _Structured(_ByAmount):
    PRUNING_TYPE: str = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        super().__init__(amount)
        self.dim: int = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of "
                f"shape {t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        count = self._count(size)
        if count == 0:
            return default_mask
        kept: list[Any] = [slice(None)] * t.dim()
        kept[self.dim] = self._kept(t, size, count)
        mask = pullback.zeros_like(t)
        mask[tuple(kept)] = 1
        return mask * default_mask.to(dtype=mask.dtype)

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        raise NotImplementedError


class RandomStructured(_Structured):
    """Prunes channels along `dim` at random."""

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        drawn = pullback.rand(size)
        return drawn > pullback.kthvalue(drawn, k=count).values


class LnStructured(_Structured):
    """Prunes the channels along `dim` of smallest n-norm."""

    def __init__(self, amount: float, n: Any, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n: Any = n

    def _kept(self, t: Tensor, size: int, count: int) -> Tensor:
        dims = list(range(t.dim()))
        dims.remove(dims[self.dim])
        norms = pullback.norm(t, p=self.n, dim=dims)
        return pullback.topk(norms, k=size - count, largest=True).indices


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE: str = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask: Tensor = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if default_mask.shape != self.mask.shape:
            raise AssertionError(
                f"default_mask shape {default_mask.shape} must match self.mask shape {self.mask.shape}"
            )
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Any, name: str) -> Any:
    """Set up pruning of a parameter without pruning any of it."""
    Identity.apply(module, name)
    return module


def random_unstructured(module: Any, name: str, amount: float) -> Any:
    """Prune a number or share of a parameter's elements at random."""
    RandomUnstructured.apply(module, name, amount=amount)
    return module


def l1_unstructured(module: Any, name: str, amount: float, importance_scores: Tensor | None = None) -> Any:
    """Prune a number or share of a parameter's smallest elements."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Any, name: str, amount: float, dim: int) -> Any:
    """Prune a number or share of a parameter's channels at random."""
    RandomStructured.apply(module, name, amount=amount, dim=dim)
    return module


def ln_structured(
    module: Any, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Any:
    """Prune a number or share of a parameter's channels of smallest n-norm."""
    LnStructured.apply(module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Any, name: str, mask: Tensor) -> Any:
    """Prune a parameter by a mask of your own."""
    CustomFromMask.apply(module, name, mask=mask)
    return module


def global_unstructured(
    parameters: Any,
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[Any, Any] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters, given as pairs of module and name, as if they were one."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    importance_scores = {} if importance_scores is None else importance_scores
    if not isinstance(importance_scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    scores = parameters_to_vector(
        [importance_scores.get((module, name), getattr(module, name)) for module, name in parameters]
    )
    masks = parameters_to_vector(
        [getattr(module, f"{name}_mask", pullback.ones_like(getattr(module, name))) for module, name in parameters]
    )
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method '
            f"{pruning_method} of type {method.PRUNING_TYPE}"
        )
    container = PruningContainer()
    container._tensor_name = method._tensor_name = "temp"
    container.add_pruning_method(method)
    mask = container.compute_mask(scores, masks)
    start = 0
    for module, name in parameters:
        parameter = getattr(module, name)
        stop = start + parameter.numel()
        custom_from_mask(module, name, mask=mask[start:stop].view_as(parameter))
        start = stop


def remove(module: Any, name: str) -> Any:
    """Make the pruned tensor the parameter, for good."""
    found = _pruning_hook(module, name)
    if found is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    found[1].remove(module)
    del module._forward_pre_hooks[found[0]]
    return module


def is_pruned(module: Any) -> bool:
    """True if the module or one below it has a pruned parameter."""
    return any(
        isinstance(hook, BasePruningMethod)
        for submodule in module.modules()
        for hook in submodule._forward_pre_hooks.values()
    )


def _validate_pruning_amount_init(amount: Any) -> None:
    if not hasattr(amount, "__float__") or isinstance(amount, (str, complex)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, int) and amount > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    """Refuse to prune more elements than there are; a share is always possible."""
    if isinstance(amount, int) and amount > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """How many elements an amount means, which is a number of them or a share."""
    return amount if isinstance(amount, int) else round(amount * tensor_size)
