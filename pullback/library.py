"""`torch.library`: operators of your own, made from Python functions, with a backward formula if you give one.

`custom_op` and `Library` put them into `torch.ops`. What torch needs besides (fake implementations for its compiler,
kernels for other devices, batching rules) is accepted and kept, and not needed here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from .autograd import Function
from .core.basics.notices import warn_user
from .core.mode import current_mode, is_grad_enabled
from .core.special_nodes import warn_of_gradients
from .core.tensor import Tensor
from .shell.torch_names.operators import Operator, Overload, add_operator
from .utils._pytree import tree_leaves

__all__ = [
    "CustomOpDef", "Library", "custom_op", "define", "fallthrough_kernel", "impl", "impl_abstract", "infer_schema", "opcheck",
    "register_autograd", "register_fake", "register_kernel", "register_vmap", "triton_op",
]  # fmt: skip

_defined: dict[str, CustomOpDef] = {}


def _decorator(keep: Callable[[Any], Any], function: Any) -> Any:
    """`keep(function)`, or a decorator that does it."""
    if function is not None:
        return keep(function)

    def decorate(function: Any) -> Any:
        keep(function)
        return function

    return decorate


class CustomOpDef:
    """An operator made from a Python function. Without `register_autograd` it has no derivative.

    One that a `Library` defines and gives a body is open: differentiated as far as its body can be, with a warning.
    """

    def __init__(self, qualified_name: str, function: Callable[..., Any] | None, is_open: bool = False) -> None:
        self._namespace, _, self._name = qualified_name.partition("::")
        if not self._name:
            raise ValueError(f"the name of an operator is 'namespace::name', not {qualified_name!r}")
        self._qualname: str = qualified_name
        self._function: Callable[..., Any] | None = function
        self._backward: Callable[..., Any] | None = None
        self._setup_context: Callable[..., Any] | None = None
        self._open: bool = is_open
        self._composite: bool = False  # made of differentiable functions, and differentiated through them
        self._opoverload: Overload = add_operator(self._namespace, self._name, self).default
        shown = f"GeneratedBackwardFor_{self._namespace}_{self._name}_default"  # what torch shows as `grad_fn`
        self._call: type[_Call] = type(shown, (_Call,), {})
        _defined[qualified_name] = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            raise NotImplementedError(
                f"Could not run '{self._qualname}': it was defined without an implementation. "
                "Give it one with torch.library.impl or register_kernel."
            )
        if self._composite:
            return self._function(*args, **kwargs)
        if self._open and self._backward is None:
            return _followed(self, args, kwargs)
        bound = inspect.signature(self._function).bind(*args, **kwargs)
        bound.apply_defaults()
        return self._call.apply(self, bound.kwargs, *bound.args)

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Accepted: shapes without data are not computed here."""
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Give the derivative: `backward(ctx, *grads)`, and `setup_context(ctx, inputs, output)` to keep what it needs."""
        self._backward, self._setup_context = backward, setup_context

    def register_kernel(self, device_types: Any, fn: Callable[..., Any] | None = None, /) -> Any:
        """An implementation for other devices; that for the CPU replaces the function."""

        def keep(function: Callable) -> Callable:
            if device_types is None or "cpu" in ([device_types] if isinstance(device_types, str) else device_types):
                self._function = function
            return function

        return _decorator(keep, fn)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Accepted: batches go through the function example by example."""
        return _decorator(lambda function: function, func)


class Fallback:
    """The answer to a gradient that reaches an operator which was given none: "warn" or "nothing"."""

    mode: str = "warn"


def _followed(op: CustomOpDef, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an operator that has no derivative; whoever sends a gradient to its results is warned."""
    assert op._function is not None
    output = run_shown(op, args, kwargs)
    inputs = [value for value in tree_leaves((args, kwargs)) if isinstance(value, Tensor)]
    if Fallback.mode == "nothing" or not is_grad_enabled() or not any(value.requires_grad for value in inputs):
        return output
    message = (
        f"{op._qualname}: an autograd kernel was not registered to the Autograd key(s) but we are trying to backprop "
        "through it. This may lead to silently incorrect behavior: give it a derivative with "
        "torch.library.register_autograd, or register its body as CompositeImplicitAutograd."
    )
    known = set(map(id, inputs))
    for value in tree_leaves(output):
        if not isinstance(value, Tensor):
            continue
        if value.requires_grad:
            for watched in {id(each): each for each in (value, value._base) if each is not None}.values():
                if watched.requires_grad:
                    watched.register_hook(lambda _: warn_user(message))
        elif id(value) not in known and (value.is_floating_point() or value.is_complex()):
            warn_of_gradients(message, tuple(inputs), value)
    return output


def run_shown(op: CustomOpDef, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Run an operator's body, shown to dispatch modes as one operator."""
    assert op._function is not None
    if current_mode().dispatch:
        from .shell.dispatch import run_custom

        return run_custom(op._opoverload, op._function, args, keywords)
    return op._function(*args, **keywords)


class _Call(Function):
    """One call of a custom operator. The last gradients are for its arguments; the operator itself has none."""

    @staticmethod
    def forward(ctx: Any, op: CustomOpDef, keywords: dict[str, Any], *args: Any) -> Any:
        ctx.operator = op
        output = run_shown(op, args, keywords)
        if op._setup_context is not None:
            extra = {"keyword_only_inputs": keywords} if keywords else {}
            op._setup_context(ctx=ctx, inputs=args, output=output, **extra)
        return tuple(output) if isinstance(output, list) else output

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if ctx.operator._backward is None:
            raise RuntimeError(
                f"Trying to backward through {ctx.operator._opoverload} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        found = ctx.operator._backward(ctx, *grads)
        return (None, None, *(found if isinstance(found, (tuple, list)) else (found,)))


def custom_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], device_types: Any = None,
    schema: str | None = None, tags: Any = None,
) -> Any:  # fmt: skip
    """Make an operator `namespace::name` of a function: `torch.ops.namespace.name`. Also a decorator."""

    def make(function: Callable) -> CustomOpDef:
        return CustomOpDef(name, function)

    return make if fn is None else make(fn)


def triton_op(
    name: str, fn: Callable[..., Any] | None = None, /, *, mutates_args: str | Iterable[str], schema: str | None = None
) -> Any:
    """`custom_op` of a function that may call Triton kernels where there is a GPU."""
    return custom_op(name, fn, mutates_args=mutates_args, schema=schema)


def _operator(op: Any) -> CustomOpDef:
    """A custom operator by its name, as a definition or as an entry of `torch.ops`; made if it is only a name yet."""
    if isinstance(op, Operator):
        op = op.function
    if isinstance(op, CustomOpDef):
        return op
    if not isinstance(op, str):
        raise ValueError(f"expected an operator or its name 'namespace::name', got {op!r}")
    return _defined.get(op) or CustomOpDef(op, None)


def register_fake(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None, **_: Any) -> Any:
    """Accepted: shapes without data are not computed here."""
    return _decorator(lambda function: function, func)


impl_abstract = register_fake


def register_autograd(
    op: Any, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None, lib: Any = None
) -> None:
    """Give an operator its derivative."""
    _operator(op).register_autograd(backward, setup_context=setup_context)


def register_kernel(op: Any, device_types: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Give an operator an implementation."""
    return _operator(op).register_kernel(device_types, func)


def register_vmap(op: Any, func: Callable[..., Any] | None = None, /, *, lib: Any = None) -> Any:
    """Accepted: batches go through the function example by example."""
    return _decorator(lambda function: function, func)


def define(qualname: Any, schema: str, *, lib: Any = None, tags: Any = ()) -> Any:
    """Announce an operator; `impl` gives it a body. The older form, with a `Library`, decorates the body."""
    if isinstance(qualname, Library):
        name = qualname.define(schema)
        return _decorator(lambda function: qualname.impl(name, function), None)
    CustomOpDef(qualname, None, is_open=True)


_COMPOSITE = ("", "default", "CompositeImplicitAutograd", "Autograd", "AutogradCPU")


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """Give an announced operator its body, for the CPU or for all devices.

    The older form is `impl(library, name, dispatch_key)`, a decorator.
    """
    if isinstance(qualname, Library):
        return _decorator(lambda function: qualname.impl(types, function, func or ""), None)

    def keep(function: Callable) -> Callable:
        kinds = [types] if isinstance(types, str) else list(types)
        if any(kind in ("cpu", "CPU", "CompositeExplicitAutograd", *_COMPOSITE) for kind in kinds):
            operator = _operator(qualname)
            operator._function = function
            operator._composite = any(kind in _COMPOSITE for kind in kinds)
        return function

    return _decorator(keep, func)


class Library:
    """A namespace of `torch.ops` to define operators in."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("DEF", "IMPL", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" and kind != "IMPL":
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self.m: Any = None  # torch's handle on what was registered, which is let go by deleting it
        self.ns: str = ns
        self.kind: str = kind
        self.dispatch_key: str = dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Announce an operator by its schema, `name(Tensor x, int n) -> Tensor`; returns its name."""
        name = schema.partition("(")[0].strip()
        define(f"{self.ns}::{name.split('.')[0]}", schema)
        return name

    def impl(
        self, op_name: Any, fn: Callable[..., Any], dispatch_key: str = "", *, with_keyset: bool = False, **_: Any
    ) -> None:
        """Give an operator its body."""
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        if fn is fallthrough_kernel:
            return
        name = op_name if isinstance(op_name, str) else op_name.__name__
        name = name.rpartition("::")[2].split(".")[0]
        impl(f"{self.ns}::{name}", dispatch_key or self.dispatch_key, fn)


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """Stands for "do not handle it here" as the body of an operator; `impl` takes no notice of it."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


@contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """A `Library` for the length of a `with` block; what it defined stays."""
    yield Library(*args, **kwargs)


_TYPES = {"Tensor": "Tensor", "int": "SymInt", "float": "float", "bool": "bool", "str": "str"}


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The schema of a function, from its annotations."""

    def kind(annotation: Any) -> str:
        text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
        return _TYPES.get(text.rpartition(".")[2], text)

    signature = inspect.signature(prototype_function)
    parts = [
        f"{kind(parameter.annotation)} {name}"
        + ("" if parameter.default is parameter.empty else f"={parameter.default}")
        for name, parameter in signature.parameters.items()
    ]
    result = "()" if signature.return_annotation is None else kind(signature.return_annotation)
    return f"{op_name or ''}({', '.join(parts)}) -> {result}"


def opcheck(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **_: Any) -> dict[str, str]:
    """Run an operator and, where it has a derivative, check that against differences."""
    operator, keywords = _operator(op), kwargs or {}
    operator(*args, **keywords)
    asked = [value for value in args if isinstance(value, Tensor) and value.requires_grad]
    if asked and operator._backward is not None and all(value._array.dtype.itemsize >= 8 for value in asked):
        from .autograd import gradcheck

        gradcheck(lambda *given: operator(*given, **keywords), args)
    return dict.fromkeys(("test_schema", "test_autograd_registration", "test_faketensor"), "SUCCESS")
