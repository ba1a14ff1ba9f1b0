"""`torch.ops`: operators by the names of torch's compiled core, `torch.ops.aten.add`, and those of `torch.library`.

Under the `torch` alias this module is `torch.ops`; `pullback.ops` are Pullback's own operations, another thing.
A name of `aten` stands for the torch function, method or `linalg_`/`fft_`/`special_` function of that name; its
overloads (`add.Tensor`, `add.default`) do the same. A `TorchDispatchMode` is shown operations as these overloads.
Compiled libraries cannot be loaded.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

from ...core import seams
from ...core.basics.on_demand import names_on_demand

loaded_libraries: set[str] = set()


class Operator:
    """Something of `torch.ops` that can be called."""

    def __init__(self, namespace: str, name: str, function: Callable[..., Any]) -> None:
        self.namespace: str = namespace
        self.function: Callable[..., Any] = function
        self.__name__: str = name
        self.__module__: str = f"torch._ops.{namespace}"
        self.__doc__ = function.__doc__

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if "self" in kwargs:  # the core calls its first argument so
            return self.function(kwargs.pop("self"), *args, **kwargs)
        return self.function(*args, **kwargs)

    def name(self) -> str:
        """`namespace::operator`."""
        return f"{self.namespace}::{self.__name__.removesuffix('.default')}"

    def __str__(self) -> str:
        return f"{self.namespace}.{self.__name__}"


class Packet(Operator):
    """One operator with all its overloads, which are its attributes."""

    def __getattr__(self, overload: str) -> Overload:
        if overload.startswith("_"):
            raise AttributeError(f"operator {self} has no attribute {overload!r}")
        found = Overload(self, overload)
        self.__dict__[overload] = found  # the same object each time: programs compare operators
        return found

    def overloads(self) -> list[str]:
        """The names of the overloads: one stands for all."""
        return ["default"]

    def __repr__(self) -> str:
        return f"<OpOverloadPacket(op='{self}')>"


class Overload(Operator):
    """One overload of an operator. What a dispatch mode is shown; called by it, it is the operation that was shown."""

    def __init__(self, packet: Packet, overload: str) -> None:
        super().__init__(packet.namespace, f"{packet.__name__}.{overload}", packet.function)
        self._overloadpacket: Packet = packet
        self.overloadpacket: Packet = packet
        self._overloadname: str = overload

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        result = seams.answer_of_mode(self, args, kwargs)
        return super().__call__(*args, **kwargs) if result is NotImplemented else result

    def __repr__(self) -> str:
        return f"<OpOverload(op='{self.overloadpacket}', overload='{self._overloadname}')>"


OpOverload, OpOverloadPacket = Overload, Packet  # torch's names


class OperatorNamespace(ModuleType):
    """`torch.ops.<name>`: operators as attributes, found when they are first asked for."""

    def __init__(self, name: str) -> None:
        super().__init__(f"torch.ops.{name}")
        self._own_name: str = name

    def __getattr__(self, name: str) -> Packet:
        function: Callable[..., Any] | None = None
        if self._own_name == "profiler":
            function = _PROFILER.get(name)
        elif self._own_name in ("aten", "prims") and not name.startswith("__"):
            function = find_function(name)
        if function is None:
            raise AttributeError(
                f"'_OpNamespace' '{self._own_name}' object has no attribute '{name}'. "
                "Operators of compiled extensions are not here; torch.library.custom_op makes one in Python."
            )
        return add_operator(self._own_name, name, function)


_FAMILIES = {"linalg_": "linalg", "fft_": "fft", "special_": "special"}
_RENAMED = {
    "_unsafe_view": "view", "_to_copy": "to", "alias": "detach", "_reshape_alias": "reshape", "_conj": "conj",
    "_local_scalar_dense": "item", "_pin_memory": "pin_memory", "_is_all_true": "all", "_is_any_true": "any",
    "lift_fresh": "detach",
}  # fmt: skip


def slice_of(x: Any, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> Any:
    """`x[start:end:step]` along one dim."""
    return x[(slice(None),) * (dim % x.dim()) + (slice(start, end, step),)]


def index_of(x: Any, indices: Any) -> Any:
    """`x[indices]`; None stands for a whole dim."""
    return x[tuple(slice(None) if index is None else index for index in indices)]


def convolution_backward(
    grad_output: Any, input: Any, weight: Any, bias_sizes: Any, stride: Any, padding: Any, dilation: Any,
    transposed: bool, output_padding: Any, groups: int, output_mask: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """The gradients of a convolution's input, weight and bias, None for those that `output_mask` leaves out."""
    from ...core.tape import apply
    from ...ops import convolution as ops

    axes = weight.dim() - 2
    stride, padding, dilation = (tuple(each) * (axes if len(each) == 1 else 1) for each in (stride, padding, dilation))
    geometry = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    for_input = for_weight = None
    if output_mask[0]:
        spatial = {} if transposed else {"spatial": tuple(input.shape[2:])}
        op = ops.convolution if transposed else ops.convolution_input
        for_input = apply(op, (grad_output, weight), {**spatial, **geometry})
    if output_mask[1]:
        pair = (input, grad_output) if transposed else (grad_output, input)
        for_weight = apply(ops.convolution_weight, pair, {"kernel": tuple(weight.shape[2:]), **geometry})
    return for_input, for_weight, grad_output.sum((0, *range(2, axes + 2))) if output_mask[2] else None


_WRITTEN_OUT: dict[str, Callable[..., Any]] = {
    "slice": slice_of, "index": index_of, "convolution_backward": convolution_backward,
}  # fmt: skip


# Losses whose operators give the mean where torch's functions of the same name give all: the place of `reduction`.
_MEANS = {
    "binary_cross_entropy_with_logits": 4, "cosine_embedding_loss": 4, "ctc_loss": 5, "hinge_embedding_loss": 3,
    "kl_div": 2, "margin_ranking_loss": 4, "triplet_margin_loss": 7,
}  # fmt: skip


def _mean_of(name: str, place: int) -> Callable[..., Any]:
    """The operator of a loss."""
    import pullback

    function = getattr(pullback, name)

    def loss(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **({"reduction": 1, **kwargs} if len(args) <= place else kwargs))

    loss.__name__ = name
    return loss


def _mentioned(name: str) -> Callable[..., Any]:
    """Stands for a private operator of torch's core: programs have them as keys of tables, and rarely call them."""

    def function(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(
            f"torch.ops.aten.{name} belongs to torch's C++ core and is not in Pullback. Call the public function instead."
        )

    return function


def find_function(name: str) -> Callable[..., Any] | None:
    """The function that an operator of torch's core is here, None if there is none of its name and arguments."""
    import importlib

    import pullback

    name = _RENAMED.get(name, name)
    if name in _WRITTEN_OUT:
        return _WRITTEN_OUT[name]
    if name in _MEANS:
        return _mean_of(name, _MEANS[name])
    for prefix, family in _FAMILIES.items():
        if name.startswith(prefix):
            return getattr(importlib.import_module(f"pullback.{family}"), name.removeprefix(prefix), None)
    private = name.startswith("_")  # what our own classes call so is something else
    function = None if private else getattr(pullback.Tensor, name, None) or getattr(pullback, name, None)
    if function is None and not private:
        function = getattr(importlib.import_module("pullback.nn.functional"), name, None)
        if "reduction" in getattr(getattr(function, "__code__", None), "co_varnames", ()):
            return None  # the formula takes a number there
    if callable(function) and not isinstance(function, type):
        return function
    return _mentioned(name) if name.startswith(("_", "sym_")) else None


def _record_function_enter(name: str, args: str | None = None) -> Any:
    """Begin a named block of a profile."""
    from ...profiler import record_function

    return record_function(name, args).__enter__()


def _record_function_exit(block: Any) -> None:
    """End a named block of a profile."""
    block.__exit__(None, None, None)


_PROFILER: dict[str, Callable[..., Any]] = {
    "_record_function_enter": _record_function_enter, "_record_function_enter_new": _record_function_enter,
    "_record_function_exit": _record_function_exit,
}  # fmt: skip


def namespace(name: str) -> OperatorNamespace:
    """The namespace of this name, made when it is first asked for."""
    found = globals().get(name)
    if not isinstance(found, OperatorNamespace):
        found = globals()[name] = OperatorNamespace(name)
    return found


def add_operator(space: str, name: str, function: Callable[..., Any]) -> Packet:
    """Make the operator `torch.ops.<space>.<name>` of a function."""
    operator = Packet(space, name, function)
    setattr(namespace(space), name, operator)
    return operator


def overload_of(space: str, name: str, overload: str) -> Overload:
    """An overload by its name. One of the core that is no function here can be looked at, and not called by name."""
    try:
        operator = getattr(namespace(space), name)
    except AttributeError:
        operator = add_operator(space, name, _mentioned(name))
    return getattr(operator, overload)


_OpNamespace = OperatorNamespace  # torch's name


class HigherOrderOperator:
    """An operator for captured programs, which takes functions. Programs derive from it and ask what is one; none runs."""

    def __init__(self, name: str, **options: Any) -> None:
        self.__name__: str = name

    def py_impl(self, key: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """A decorator of implementations, which are not called."""
        return lambda function: function

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(
            f"{self.__name__} is an operator of captured programs. Call the function that it is given."
        )


def _operators_of(name: str) -> OperatorNamespace | None:
    """Any namespace. None is called like the classes of `torch._ops`."""
    return None if name.startswith("_") or name[:1].isupper() else namespace(name)


names_on_demand(__name__, made=_operators_of, shown="torch.ops")


def load_library(path: str) -> NoReturn:
    """Raises: compiled operators need torch's own core."""
    raise OSError(
        f"Could not load this library: {path}. Compiled operators are written against torch's C++ core, which is not "
        "here. Use the pure Python form of the package, or write the operator with torch.library.custom_op."
    )
