"""Small questions about tensors that are functions or methods in torch: `numel`, `is_complex`, `is_nonzero`, `dim_order`.

Also those about their memory and class (`storage`, `as_subclass`), which need no operation either.
"""

from __future__ import annotations

from sys import getrefcount
from typing import Any, NoReturn

from ..core.basics.layout import contiguous_format
from ..core.basics.on_demand import import_place
from ..core.tensor import Tensor, fields
from ..ops.striding import address
from .registry import public


def _announce_predicate(name: str, sentence: str) -> None:
    def function(input: Tensor) -> Any:
        if not isinstance(input, Tensor):
            raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
        return getattr(input, name)()

    function.__name__ = name
    function.__doc__ = sentence
    public(method=False)(function)


@public(direct=True)
def is_nonzero(input: Tensor) -> bool:
    """True if the one element differs from zero."""
    return bool(input)


@public()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """True if the shapes are equal."""
    return input._array.shape == other._array.shape


@public(function=False, direct=True)
def is_distributed(self: Tensor) -> bool:
    """False: a tensor is in one process."""
    return False


@public(function=False)
def is_set_to(input: Tensor, tensor: Tensor) -> bool:
    """True if both look at the same memory in the same way."""
    a, b = input.memory(), tensor.memory()
    return a.shape == b.shape and a.strides == b.strides and address(a) == address(b)


def layout_of(self: Tensor) -> Any:
    """`torch.strided`, always."""
    from ..core.basics.layout import strided

    return strided


@public("xpu", name="cuda", function=False, direct=True)
def to_gpu(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> NoReturn:
    """There is no GPU: raises what torch's CPU build raises."""
    from .. import cuda

    cuda.refuse()


@public(function=False, direct=True, asks="nobody")
def as_subclass(self: Tensor, cls: type[Any]) -> Any:
    """The same memory and history as an object of a subclass of Tensor."""
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise TypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not possible. Make sure your "
            f"class inherits from Tensor: {cls!r} does not."
        )
    from .methods import alias_of

    if type(self).__torch_dispatch__ is not disabled_torch_dispatch:  # type: ignore[attr-defined]
        raise RuntimeError(
            f"Creating a new Tensor subclass {cls.__name__} but the raw Tensor object is already associated to a python "
            f"object of type {type(self).__name__}, whose class answers operations on it."
        )
    result = alias_of(self)
    try:
        result.__class__ = cls
    except TypeError:  # it has slots
        attached, result = fields(result), object.__new__(cls)
        fields(result).update(attached)
    if cls.__torch_dispatch__ is not disabled_torch_dispatch:  # type: ignore[attr-defined]
        from ..shell.dispatch_subclasses import notice_class

        notice_class(cls)
    return result


@public(function=False, direct=True)
def dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dims from the outermost to the innermost, as they lie in memory.

    Dims of size 1 could lie anywhere: with `ambiguity_check` an error says so, unless a list of memory formats is given
    and the order is that of one of them.
    """
    strides, sizes = self.stride(), self.shape
    order = tuple(sorted(range(self.ndim), key=lambda dim: -strides[dim]))
    if not isinstance(ambiguity_check, (bool, list)):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    ordinary = isinstance(ambiguity_check, list) and contiguous_format in ambiguity_check and self.is_contiguous()
    if ambiguity_check is False or ordinary:
        return order
    if any(size == 1 for size in sizes) or len(set(strides)) != len(strides):
        raise RuntimeError(
            "The tensor does not have unique dim order, or cannot map to exact one of the given memory formats."
        )
    return order


@public(name="_use_count", function=False, direct=True)
def use_count(self: Tensor) -> int:
    """2 for a leaf while a graph refers to it, otherwise 1. (Torch counts more: each graph that saved the leaf.)"""
    # Graphs refer to the leaf's anchor; without them the leaf has it, and the call of getrefcount.
    return 2 if self._anchor is not None and getrefcount(self._anchor) > 2 else 1


@public(function=False, direct=True)
def record_stream(self: Tensor, stream: Any) -> None:
    """Nothing: there are no streams."""


def disabled_torch_dispatch(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    """`Tensor.__torch_dispatch__`: run an operation on the elements that the arguments themselves have."""
    from ..shell.dispatch_subclasses import DisableTorchDispatch

    with DisableTorchDispatch():
        return func(*args, **(kwargs or {}))


def make_wrapper_subclass(cls: type, size: Any, *args: Any, **kwargs: Any) -> Any:
    """A tensor of a subclass that has a shape and no elements; its `__torch_dispatch__` answers operations."""
    from ..shell import dispatch_subclasses

    return dispatch_subclasses.make_wrapper_subclass(cls, size, *args, **kwargs)


def make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Any:
    """A tensor of a subclass, a leaf, on the memory of `data` (how libraries write `__new__` of their parameters)."""
    result = as_subclass(data.detach(), cls)
    if require_grad:
        result.requires_grad_()
    return result


def _storage_method(name: str, where: str, sentence: str) -> None:
    def method(self: Tensor) -> Any:
        return import_place(f"storage:{where}")(self)

    method.__name__ = name
    method.__doc__ = sentence
    public(function=False)(method)


_QUESTIONS = {
    "numel": "The number of elements.",
    "is_floating_point": "True if the elements are floats.",
    "is_complex": "True if the elements are complex numbers.",
    "is_signed": "True if the dtype has negative numbers.",
    "is_inference": "True if the tensor was made under `inference_mode`.",
    "is_conj": "False: conjugation is done at once.",
    "is_neg": "False: negation is done at once.",
    "get_device": "-1: main memory has no number.",
}
for _name, _sentence in _QUESTIONS.items():
    _announce_predicate(_name, _sentence)
for _name, _where, _sentence in (
    ("untyped_storage", "untyped_storage", "The memory under this tensor, as bytes."),
    ("storage", "storage", "The memory under this tensor, as elements of its dtype."),
    ("_typed_storage", "typed_storage", "`storage()` without its warning."),
    ("storage_type", "storage_type", "The class of storages of this dtype."),
):
    _storage_method(_name, _where, _sentence)

# Of the class itself: `functional/methods.py` puts them there.
MEMBERS: dict[str, Any] = {
    "layout": property(layout_of),
    "_make_subclass": staticmethod(make_subclass),
    "_make_wrapper_subclass": staticmethod(make_wrapper_subclass),
    "__torch_dispatch__": staticmethod(disabled_torch_dispatch),
}
