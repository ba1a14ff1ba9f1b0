"""Subclasses of Tensor with a `__torch_dispatch__`: operations on their objects are theirs to answer, below autograd.

A function that is given such an object runs with `SUBCLASSES` as the outermost dispatch mode (`shell/dispatch.py`), which
hands each operation on to the classes of its arguments, as an operator of `torch.ops.aten`. Functions that compute
without the tape (comparisons, new tensors) are handed on as a whole. A wrapper has a shape, a dtype and no elements:
those are in tensors that the class keeps as attributes. Programs without such classes never load this file.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from ..core.basics.dtypes import as_dtype, get_default_dtype
from ..core.basics.storage import storage_of
from ..core.grad_mode import no_grad
from ..core.mode import current_mode, set_mode
from ..core.tensor import Tensor, wrap
from ..functional.tensor_facts import disabled_torch_dispatch
from ..transforms.arrays.without_elements import NoElements, WrapperForm, is_form
from .dispatch import check_answer, show
from .torch_function import _Progress, make_functions_ask, make_members_ask, settings, takers_among
from .torch_names.operators import Overload, overload_of


def dispatches(kind: type) -> bool:
    """True if a class answers operations on its objects."""
    return issubclass(kind, Tensor) and kind.__torch_dispatch__ is not disabled_torch_dispatch  # type: ignore[attr-defined]


def notice_class(cls: type) -> None:
    """Let functions ask objects of a class from now on, if it answers operations: one is about to be made."""
    if dispatches(cls) and cls not in _Progress.dispatching:
        _Progress.dispatching.add(cls)
        make_functions_ask()
        make_members_ask(cls)


class _Subclasses:
    """Stands for the classes of all arguments among the dispatch modes."""

    def __torch_dispatch__(
        self, func: Overload, types: tuple[type, ...], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        takers = takers_among((*args, *kwargs.values()), wants=dispatches)
        for taker in takers:
            result = type(taker).__torch_dispatch__(func, tuple(map(type, takers)), args, kwargs)
            if result is not NotImplemented:
                return result
        if not takers:
            return func(*args, **kwargs)
        raise TypeError(
            f"Multiple dispatch failed for 'torch.ops.{func}'; all __torch_dispatch__ handlers returned NotImplemented:\n\n"
            + "\n".join(f"  - tensor subclass {type(taker)}" for taker in takers)
        )


SUBCLASSES = _Subclasses()


class DisableTorchDispatch:
    """A context in which classes are not asked: operations run on the elements that tensors themselves have."""

    def __enter__(self) -> None:
        self._before: bool = settings.dispatch
        self._mode: Any = current_mode()
        settings.dispatch = False
        set_mode(self._mode.replace(dispatch=()))

    def __exit__(self, *error: Any) -> None:
        settings.dispatch = self._before
        set_mode(self._mode)


# Functions that give a new tensor without an operation of the tape.
_WHOLE = frozenset(
    "detach eq ne lt le gt ge empty_like ones_like zeros_like full_like rand_like randn_like randint_like new_empty "
    "new_ones new_zeros new_full isnan isinf isfinite logical_and logical_or logical_not logical_xor argmax argmin nonzero "
    "argsort bitwise_and bitwise_or bitwise_xor bitwise_not".split()
)  # fmt: skip
_READING = frozenset("item bool int float complex index".split())  # in torch all of them read one element
_COMPARISONS = frozenset("eq ne lt le gt ge".split())


@contextmanager
def let_classes_answer() -> Iterator[None]:
    """Return a context in which classes answer the operations on their objects."""
    mode = current_mode()
    if SUBCLASSES not in mode.dispatch:
        set_mode(mode.replace(dispatch=(SUBCLASSES, *mode.dispatch)))
    try:
        yield
    finally:
        set_mode(mode)


def are_among(values: Sequence[Any], known: Sequence[Any]) -> bool:
    """True if there are tensors of such classes other than those known: a wrapper had wrappers inside."""
    return settings.dispatch and any(
        dispatches(type(value)) and not any(value is each for each in known) for value in values
    )


def run(name: str, does: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a function on arguments whose classes answer the operations in it."""
    with let_classes_answer():
        if name not in _WHOLE and kwargs.get("out") is None:
            try:
                return does(*args, **kwargs)
            except NoElements:
                if name in ("backward", "grad"):
                    raise
                if name in ("tolist", "numpy"):
                    raise RuntimeError(f".{name}() is not supported for tensor subclasses.") from None
                # otherwise it computes on its own
        return _run_whole(name, does, args, kwargs, current_mode())


def deliver_gradients(leaves: dict[Any, Any], accumulating: bool) -> None:
    """Gradients that a class has answered go to their leaves (`backward`) as they are."""
    for anchor, gradient in list(leaves.items()):
        leaf = anchor._owner()
        if accumulating and (dispatches(type(gradient)) or leaf is not None and is_form(leaf._array)):
            if leaf is not None and leaf._grad is not None:
                leaf._grad.add_(gradient)
            elif leaf is not None:
                leaf._grad = gradient
            del leaves[anchor]


def _run_whole(name: str, does: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], mode: Any) -> Any:
    """A function as an operator of its own."""
    overload = "default"
    if name in _COMPARISONS:
        overload = "Tensor" if isinstance(args[1], Tensor) else "Scalar"
    if kwargs.get("out") is not None:
        overload = "out"
    operator = overload_of("aten", "_local_scalar_dense" if name in _READING else name, overload)
    result = show(operator, None, args, {key: value for key, value in kwargs.items() if value is not None}, mode)
    if name == "detach":
        result = check_answer(result, "detach")
        result._storage = storage_of(args[0])  # writes to it count as writes to the tensor
    return keep_for_array(result) if isinstance(result, Tensor) else result


# --- wrappers ---


def make_wrapper_subclass(
    cls: type,
    size: Sequence[int],
    strides: Sequence[int] | None = None,
    storage_offset: int | None = None,
    memory_format: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    dispatch_sizes_strides_policy: str | None = None,
    dispatch_device: bool = False,
    dispatch_layout: bool = False,
    _extra_dispatch_keys: Any = None,
    storage_size: int | None = None,
) -> Any:
    """A tensor of a class that has a shape and no elements; the class answers what becomes of operations on it."""
    if not dispatches(cls):
        raise TypeError(
            f"{cls.__name__} must define __torch_dispatch__: a wrapper has no elements that operations could run on."
        )
    notice_class(cls)
    kind = (get_default_dtype() if dtype is None else as_dtype(dtype))._numpy
    steps = None if strides is None else tuple(step * kind.itemsize for step in strides)
    result = wrap(None, cls)
    result._array = WrapperForm(tuple(size), kind, steps)
    result._array.owner = weakref.ref(result)
    result._requires_grad = bool(requires_grad)
    return result


def attributes_of(x: Tensor) -> dict[str, Any]:
    """Return the attributes that a class has given to one of its objects, in slots too."""
    found = dict(x.__dict__)
    for base in type(x).__mro__:
        for name in vars(base).get("__slots__", ()):
            if name not in ("__dict__", "__weakref__") and hasattr(x, name):
                found[name] = getattr(x, name)
    return found


def copy_without_history(x: Tensor) -> Any:
    """A second object of the same class and content, without history."""
    result = wrap(None, type(x))
    array: Any = x._array
    result._array = array.again() if is_form(array) else array
    for name, value in attributes_of(x).items():
        setattr(result, name, value)
    return result


def keep_for_array(x: Tensor) -> Tensor:
    """Note the content of a tensor in its array, for code that saves only the array; return the tensor."""
    array: Any = x._array
    if is_form(array) and array.content is None and type(x) is not Tensor:
        array.content = copy_without_history(x)
    return x


def as_answered(x: Tensor, known: set[int]) -> Tensor:
    """An object that a class gave as a result; another one if it is in use already."""
    in_use = id(x) in known or x._requires_grad or x._view is not None or x._node is not None
    return keep_for_array(copy_without_history(x) if in_use else x)


def as_given(x: Any) -> Any:
    """An input of an operation as its class knows it: rules are given tensors around a wrapper's form."""
    if not isinstance(x, Tensor):
        return x
    if x._is_written is not None and dispatches(type(x._is_written)):
        return x._is_written
    array: Any = x._array
    if type(x) is Tensor and is_form(array):
        found = array.content if array.content is not None else array.owner()
        return x if found is None else found
    return x


def as_known(result: Any) -> Any:
    """The result of a function, with wrappers where it has tensors around their forms (gradients are such)."""
    if isinstance(result, Tensor):
        return as_given(result)
    return tuple(map(as_known, result)) if type(result) is tuple else result


# --- copies ---


def copy_of_wrapper(x: Tensor, memo: dict[int, Any]) -> Any:
    """A wrapper's copy is what it answers to `clone`."""
    if id(x) in memo:
        return memo[id(x)]
    with no_grad():
        result = x.clone()
    if type(result) is not type(x):
        raise RuntimeError(
            "The default implementation of __deepcopy__() for wrapper subclasses only works for subclass types that properly "
            "implement clone(), i.e. for which cloning returns another instance of the same subclass. Implement clone() "
            f"in __torch_dispatch__ of {type(x).__name__}, or __deepcopy__()."
        )
    memo[id(x)] = result
    for name, value in attributes_of(x).items():
        setattr(result, name, deepcopy(value, memo))
    return result.requires_grad_(x.requires_grad)


def rebuild_wrapper(
    cls: type,
    dtype: Any,
    size: tuple[int, ...],
    strides: tuple[int, ...],
    requires_grad: bool,
    attributes: dict[str, Any],
) -> Any:
    """A wrapper from what `reduce_wrapper` took down."""
    result = make_wrapper_subclass(cls, size, strides, dtype=dtype, requires_grad=requires_grad)
    for name, value in attributes.items():
        setattr(result, name, value)
    return result


def reduce_wrapper(x: Tensor) -> tuple[Any, ...]:
    """How a wrapper is pickled: its form, and what its class has attached to it."""
    size, strides = tuple(x.shape), tuple(x.stride())
    return rebuild_wrapper, (type(x), x.dtype, size, strides, x.requires_grad, attributes_of(x))
