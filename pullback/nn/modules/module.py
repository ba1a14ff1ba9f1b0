"""`Module`: the base class of every layer and model.

Holds: the registries of parameters, buffers and submodules and the attribute access that fills them, the call, and
conversion of dtype and device. State dicts, traversal and hooks live in the mixins `_module_state`, `_module_tree` and
`_module_hooks`; everything public about modules can be imported from here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pullback

from ...core.accumulate import forget
from ...core.basics.interrupts import uninterrupted
from ...core.basics.notices import warn_user
from ...functional.copying import arguments_of_to
from ...functional.refusals import raise_complaint
from ...utils.hooks import HookDict, RemovableHandle
from ..parameter import Buffer, Parameter
from ._hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    run_registration_hooks,
)
from ._module_hooks import HookMixin
from ._module_state import EXTRA_STATE_KEY as _EXTRA_STATE_KEY_SUFFIX
from ._module_state import StateDictMixin, _IncompatibleKeys
from ._module_tree import TreeMixin

if TYPE_CHECKING:
    from typing import ParamSpec, Protocol, Self, TypeVar

    P = ParamSpec("P")
    Result = TypeVar("Result", covariant=True)

    class HasForward(Protocol[P, Result]):
        """Calling a module takes what its `forward` takes, and gives what that gives: so it is said to type checkers."""

        def forward(self, *args: P.args, **kwargs: P.kwargs) -> Result: ...


__all__ = [
    "Module", "register_module_backward_hook", "register_module_buffer_registration_hook",
    "register_module_forward_hook", "register_module_forward_pre_hook", "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook", "register_module_module_registration_hook",
    "register_module_parameter_registration_hook", "RemovableHandle", "_EXTRA_STATE_KEY_SUFFIX", "_IncompatibleKeys",
]  # fmt: skip


_global_forward_pre_hooks: HookDict = HookDict()
_global_forward_hooks: HookDict = HookDict()
_global_forward_hooks_with_kwargs: HookDict = HookDict()
_global_forward_hooks_always_called: HookDict = HookDict()
_global_backward_pre_hooks: HookDict = HookDict()
_global_backward_hooks: HookDict = HookDict()
_global_parameter_registration_hooks: HookDict = HookDict()
_global_buffer_registration_hooks: HookDict = HookDict()
_global_module_registration_hooks: HookDict = HookDict()
# Full and legacy backward hooks share one registry and may not be mixed; None means that nothing is registered yet.
_global_is_full_backward_hook: bool | None = None


def _forward_unimplemented(self: Module, *input: Any) -> None:
    """Refuse the call of a module without `forward`: every subclass defines what it computes."""
    raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')


class Module(HookMixin, StateDictMixin, TreeMixin):
    """A piece of a model: parameters, buffers and submodules set as attributes are found by name.

    Subclasses call `super().__init__()` before setting any of them, and define `forward`.
    """

    dump_patches: bool = False
    call_super_init: bool = False
    training: bool
    _compiled_call_impl: Callable[..., Any] | None = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not self.call_super_init and (args or kwargs):
            name = type(self).__name__
            if kwargs:
                raise TypeError(f"{name}.__init__() got an unexpected keyword argument '{next(iter(kwargs))}'")
            raise TypeError(f"{name}.__init__() takes 1 positional argument but {len(args) + 1} were given")
        state = self.__dict__
        state["training"] = True
        state["_parameters"] = {}
        state["_buffers"] = {}
        state["_non_persistent_buffers_set"] = set()
        state.update(self._new_hook_registries())
        state["_is_full_backward_hook"] = None
        state["_modules"] = {}
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # -- calling ---------------------------------------------------------------------------------------------

    forward: Callable[..., Any] = _forward_unimplemented  # declared so that a subclass may take any arguments

    if TYPE_CHECKING:

        def __call__(self: HasForward[P, Result], *args: P.args, **kwargs: P.kwargs) -> Result: ...

    else:

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            if self._compiled_call_impl is not None:
                return self._compiled_call_impl(*args, **kwargs)
            return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or _global_forward_hooks
            or _global_forward_pre_hooks
            or _global_backward_hooks
            or _global_backward_pre_hooks
        ):
            return self._call_with_hooks(args, kwargs)
        try:
            return self.forward(*args, **kwargs)
        except AttributeError as error:
            raise_complaint(error)
            raise

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Make every later call go through `compile`, in place."""
        self._compiled_call_impl = pullback.compile(self._call_impl, *args, **kwargs)

    # -- registration ----------------------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Parameter | None) -> None:
        """Enter a parameter (or None, to reserve the name)."""
        if "_parameters" not in self.__dict__:
            raise _not_begun("parameter")
        self._check_name("parameter", name, self._parameters)
        if param is not None:
            if not isinstance(param, Parameter):
                raise TypeError(
                    f"cannot assign '{_typename(param)}' object to parameter '{name}' "
                    "(torch.nn.Parameter or None required)"
                )
            if param.grad_fn is not None:
                raise ValueError(
                    f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be "
                    f"created explicitly. To express '{name}' as a function of another Tensor, compute "
                    "the value in the forward() method."
                )
            if _global_parameter_registration_hooks:
                param = run_registration_hooks(_global_parameter_registration_hooks, self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Enter a tensor that is state but not a parameter; `persistent` ones are part of the state dict."""
        if "_buffers" not in self.__dict__:
            raise _not_begun("buffer")
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, pullback.Tensor) and not hasattr(tensor, "__torch_function__"):
            raise TypeError(
                f"cannot assign '{_typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = run_registration_hooks(_global_buffer_registration_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Enter a submodule (or None, to reserve the name)."""
        if not isinstance(module, Module) and module is not None:
            raise _no_module(module)
        self._check_name("module", name, self._modules)
        self._modules[name] = run_registration_hooks(_global_module_registration_hooks, self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """The same as `add_module`."""
        self.add_module(name, module)

    def _check_name(self, kind: str, name: str, registry: dict[str, Any]) -> None:
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_typename(name)}")
        if "." in name:
            raise KeyError(f'{kind} name can\'t contain "."' + (f", got: {name}" if kind == "module" else ""))
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if name not in registry and hasattr(self, name):
            raise KeyError(f"attribute '{name}' already exists")

    # -- attributes ------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        if "_parameters" in state:
            registry = state["_parameters"]
            if name in registry:
                return registry[name]
            registry = state["_buffers"]
            if name in registry:
                return registry[name]
            registry = state["_modules"]
            if name in registry:
                return registry[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        state = self.__dict__
        parameters = state.get("_parameters")
        if isinstance(value, Parameter):
            if parameters is None:
                raise _not_begun("parameters")
            self._forget(name, keep=parameters)
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if parameters is None:
                raise _not_begun("module")
            modules = state["_modules"]
            self._forget(name, keep=modules)
            modules[name] = run_registration_hooks(_global_module_registration_hooks, self, name, value)
        elif parameters is None:
            if isinstance(value, Buffer):
                raise _not_begun("buffer")
            object.__setattr__(self, name, value)
        elif name in parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, None)
        elif name in state["_modules"]:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_typename(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            state["_modules"][name] = run_registration_hooks(_global_module_registration_hooks, self, name, None)
        elif name in state["_buffers"] or isinstance(value, Buffer):
            self._set_buffer(name, value)
        else:
            object.__setattr__(self, name, value)

    def _set_buffer(self, name: str, value: Any) -> None:
        if value is not None and not isinstance(value, pullback.Tensor) and not hasattr(value, "__torch_function__"):
            raise TypeError(
                f"cannot assign '{_typename(value)}' as buffer '{name}' "
                "(torch.nn.Buffer, torch.Tensor or None expected)"
            )
        if isinstance(value, Buffer):
            self.register_buffer(name, value, **({} if value.persistent else {"persistent": False}))
        else:
            self._buffers[name] = run_registration_hooks(_global_buffer_registration_hooks, self, name, value)

    def _forget(self, name: str, keep: dict[str, Any]) -> None:
        """Remove `name` from everywhere but the registry `keep`, so that a name has one meaning."""
        state = self.__dict__
        for registry in (state, state["_parameters"], state["_buffers"], state["_modules"]):
            if registry is not keep:
                registry.pop(name, None)
        state["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for registry in (self._parameters, self._buffers, self._modules):
            if name in registry:
                del registry[name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if name and not name[0].isdigit())

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state.pop("_compiled_call_impl", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        # A module saved by an older version lacks registries that were added since.
        self.__dict__.update(
            self._new_hook_registries(), _non_persistent_buffers_set=set(), _is_full_backward_hook=None
        )
        self.__dict__.update(state)

    # -- mode and gradients ----------------------------------------------------------------------------------

    def train(self, mode: bool = True) -> Self:
        """Set training mode (dropout and batch normalisation behave accordingly) here and below."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of every parameter."""
        parameters = list(self.parameters())
        with uninterrupted():
            for parameter in parameters:
                parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop every parameter's gradient, or fill it with zeros."""
        forget(self.parameters(), set_to_none)

    # -- conversion ------------------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], None]) -> Self:
        """Call `fn` on every submodule, children first, then on this module."""
        for module in self.children():
            module.apply(fn)
        fn(self)
        return self

    def _apply(self, fn: Callable[[Any], Any], recurse: bool = True) -> Self:
        """Replace the data of every parameter, gradient and buffer by `fn` of it; parameters keep their identity."""
        if recurse:
            for module in self.children():
                module._apply(fn)
        for name, parameter in self._parameters.items():
            if parameter is None:
                continue
            with pullback.no_grad():
                converted = fn(parameter)
            gradient = parameter.grad
            self._take_converted(name, parameter, converted)
            if gradient is not None:
                with pullback.no_grad():
                    gradient.data = fn(gradient)
                self._parameters[name].grad = gradient
        for name, buffer in self._buffers.items():
            if buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def _take_converted(self, name: str, parameter: Parameter, converted: Any) -> None:
        """Give a parameter its converted data, in the way that `torch.__future__` says."""
        how = pullback.__future__
        if how.get_swap_module_params_on_conversion():
            try:
                pullback.utils.swap_tensors(parameter, Parameter(converted, parameter.requires_grad))
            except Exception as error:
                raise RuntimeError(f"_apply(): Couldn't swap {self._get_name()}.{name}") from error
        elif how.get_overwrite_module_params_on_conversion() or parameter.is_meta is not converted.is_meta:
            self._parameters[name] = Parameter(converted, parameter.requires_grad)
        else:
            parameter.data = converted

    def to(self, *args: Any, **kwargs: Any) -> Self:
        """Move to a device and/or cast floating-point tensors: `to(device)`, `to(dtype)`, `to(device, dtype)`,
        `to(tensor)`. Integer tensors keep their dtype; a memory format is for those of four or five dims."""
        device, dtype, non_blocking, copy, order = arguments_of_to(args, kwargs)
        if copy:
            raise RuntimeError(".to() does not accept copy argument")
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError(
                f"nn.Module.to only accepts floating point or complex dtypes, but got desired dtype={dtype}"
            )
        if dtype is not None and dtype.is_complex:
            warn_user(
                "Complex modules are a new feature under active development whose design may change, and some "
                "modules might not work as expected when using complex tensors as parameters or buffers."
            )

        def convert(tensor: Any) -> Any:
            cast = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            wish = order if order is not None and tensor.dim() in (4, 5) else None  # lazy ones have no dims yet
            return tensor.to(device=device, dtype=cast, non_blocking=non_blocking, memory_format=wish)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move to a device without keeping the values."""
        return self._apply(lambda tensor: pullback.empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Cast every parameter and buffer, integer ones too."""
        return self._apply(lambda tensor: tensor.type(dst_type))

    def float(self) -> Self:
        """Cast floating-point tensors to float32."""
        return self._apply(lambda tensor: tensor.float() if tensor.is_floating_point() else tensor)

    def double(self) -> Self:
        """Cast floating-point tensors to float64."""
        return self._apply(lambda tensor: tensor.double() if tensor.is_floating_point() else tensor)

    def half(self) -> Self:
        """Cast floating-point tensors to float16."""
        return self._apply(lambda tensor: tensor.half() if tensor.is_floating_point() else tensor)

    def bfloat16(self) -> Self:
        """Cast floating-point tensors to bfloat16."""
        return self._apply(lambda tensor: tensor.bfloat16() if tensor.is_floating_point() else tensor)

    def cpu(self) -> Self:
        """Move to main memory."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move to a GPU."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def share_memory(self) -> Self:
        """Move every tensor to memory that other processes can map."""
        return self._apply(lambda tensor: tensor.share_memory_())

    # -- printing --------------------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return self.__class__.__name__

    def extra_repr(self) -> str:
        """Return the text that a subclass shows between the parentheses of its repr."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): " + _addindent(repr(module), 2) for name, module in self._modules.items()]
        if not children and len(lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


def _addindent(s_: str, numSpaces: int) -> str:
    """A text with every line but the first moved to the right; torch's name, which packages import."""
    return s_.replace("\n", "\n" + numSpaces * " ")


def _not_begun(what: str) -> AttributeError:
    error = AttributeError(f"cannot assign {what} before Module.__init__() call")
    error.add_note("Begin the __init__ of your class with super().__init__().")
    return error


def _no_module(value: Any) -> TypeError:
    error = TypeError(f"{_typename(value)} is not a Module subclass")
    if isinstance(value, (list, tuple)):
        error.add_note("Unpack it with a star, as in nn.Sequential(*layers).")
    elif isinstance(value, type):
        error.add_note(f"It is a class; make a layer of it: {value.__name__}(...).")
    elif callable(value):
        error.add_note("Functions have layers that call them: nn.ReLU() for torch.relu.")
    return error


def _typename(value: Any) -> str:
    """How torch's messages name a value's type: `int`, `numpy.ndarray`, `torch.FloatTensor`, `__main__.Net`."""
    return pullback.typename(value)
