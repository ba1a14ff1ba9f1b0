"""Custom operations: `Function` with a `forward` and a `backward` of your own.

The `ctx` that both get is the node itself, as in torch, so `output.grad_fn` shows what was stored on it. Saved tensors
are kept without reference cycles and checked for in-place writes like those of built-in operations.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.notices import warn_user
from ..core.basics.storage import storage_of
from ..core.cotangents import metadata_of
from ..core.general import show_new_node
from ..core.grad_mode import no_grad
from ..core.mode import current_mode
from ..core.node import FREED, Node, NodeType, fill
from ..core.plan import Call, Plan
from ..core.recording import anchor_or_self
from ..core.saved import SECOND_TIME, RawSaved, SavedTensor, describe_write, packed_output
from ..core.tape import wrap
from ..core.tensor import Anchor, Tensor
from ..core.unbroadcast import dense
from ..core.views import refresh_or_raise
from .function_outputs import connect_outputs

if TYPE_CHECKING:
    from ..core.basics.types import Arguments, Array, Cotangent, Gradient, Operand, Operands, Saved
    from ..core.engine import Sweep

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "NestedIOFunction", "once_differentiable"]


NO_RULE = Call(-1, None, ())


def plan_without_rules(frees: bool = False) -> Plan:
    """The plan of nodes with a `run` of their own instead of rules; it is given None where no gradient came."""
    return Plan(None, joint=NO_RULE, frees=frees)


_PLAN = plan_without_rules()
_KEEPING = plan_without_rules(frees=True)  # for a node that has saved something

ACCESSED = type(FREED)()  # in the place of saved values that may be asked for only once


class SavedOutput:
    """An output saved by its own function: the array, without the tensor that would make a cycle."""

    __slots__ = ("array", "number", "storage", "version")

    def __init__(self, tensor: Tensor, number: int) -> None:
        self.array: Array = tensor._array
        self.number: int = number
        self.storage: Any = storage_of(tensor)
        self.version: int = self.storage.version


class SavedInput:
    """A tensor saved by a custom function, with its version at the time."""

    __slots__ = ("tensor", "version")

    def __init__(self, tensor: Tensor) -> None:
        self.tensor: Any = anchor_or_self(tensor)
        self.version = 0 if tensor._storage is None else tensor._storage.version


class FunctionCtx:
    """The `ctx` of a custom function: `forward` leaves in it what `backward` needs."""

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `backward`, where they appear as `ctx.saved_tensors`."""
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`."""
        for value in tensors:
            if value is not None and not isinstance(value, Tensor):
                raise TypeError(
                    "save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes "
                    "on ctx."
                )
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs `forward` wrote in place; each must be returned."""
        self.dirty_tensors = args

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Accepted for old programs: outputs may share memory with inputs anyway."""
        warn_user(
            "function 'mark_shared_storage' is deprecated. Tensors with shared storages are automatically tracked.",
            FutureWarning,
        )

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Let `backward` get zeros (True) or None (False) for outputs that nothing was computed from."""
        self.materialize_grads: bool = bool(value)


class CustomNode(Node, FunctionCtx):
    """The node of a custom function, which is also its `ctx`."""

    forward_class: type[Function]
    is_tensor_input: tuple[bool, ...]
    not_filled: frozenset[Any] = frozenset()  # outputs whose missing cotangent stays None
    _materialize_non_diff_grads: bool = True
    # Ids of outputs without gradient, while forward mode asks.
    constant_outputs: set[Any] | frozenset[Any] = frozenset()
    _is_pure_view: bool = False

    def __init__(self) -> None:
        fill(self, _PLAN, (), None, (), None, None, None, None, True)
        self.to_save: Saved = ()
        self.dirty_tensors: tuple[Tensor, ...] = ()
        self.non_differentiable: tuple[Tensor, ...] = ()
        self.materialize_grads: bool = True
        self.needs_input_grad: tuple[bool, ...] = ()
        self.saved_for_forward: Saved = ()

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """The tensors given to `save_for_backward`; an error if one was written since."""
        if self.saved is FREED:
            raise RuntimeError(SECOND_TIME)
        if self.saved is ACCESSED:
            raise RuntimeError(
                "saved_tensors can only be accessed once when clear_saved_tensors_on_access=True is set on the "
                "autograd.Function. Either access saved_tensors only once, or set clear_saved_tensors_on_access=False."
            )
        values = tuple(self.unpacked(entry) for entry in self.saved)
        if self.forward_class.clear_saved_tensors_on_access and values:
            self.saved: Any = ACCESSED
        return values

    @property
    def _raw_saved_tensors(self) -> tuple[RawSaved, ...]:
        if self.saved is FREED:
            raise RuntimeError(SECOND_TIME)
        return tuple(RawSaved(self, position) for position in range(len(self.saved)))

    @property
    def saved_variables(self) -> tuple[Tensor | None, ...]:
        warn_user("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def unpacked(self, entry: Any) -> Tensor | None:
        if entry is None:
            return None
        if isinstance(entry, SavedTensor):
            tensor = entry.tensor(self)
            return tensor.owner_or_self() if type(tensor) is Anchor else tensor
        if isinstance(entry, SavedOutput):
            if entry.storage.version != entry.version:
                raise RuntimeError(
                    describe_write(entry.array, self, entry.number, entry.storage, entry.version, None, self)
                )
            tensor = wrap(entry.array)
            if entry.array.dtype.kind in "fcV":
                tensor._node, tensor._output_nr, tensor._requires_grad = self, entry.number, True
            if self.notes is not None:  # forward over reverse: it had tangents
                tensor._tangent = self.notes.get("tangents", {}).get(entry.number)
            return tensor
        tensor = entry.tensor
        version = 0 if tensor._storage is None else tensor._storage.version
        if version != entry.version:
            raise RuntimeError(
                describe_write(
                    tensor._array, tensor._node, tensor._output_nr, tensor._storage, entry.version, tensor._name, self
                )
            )
        return tensor.owner_or_self() if type(tensor) is Anchor else tensor

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def keep(self, outputs: Operands) -> None:
        """Turn what was given to `save_for_backward` into saved values."""
        hooks = current_mode().saved_hooks
        numbers = {id(output): number for number, output in enumerate(outputs) if isinstance(output, Tensor)}
        written = {id(tensor) for tensor in self.dirty_tensors}
        entries: list[Any] = []
        given, self.to_save = self.to_save, ()  # even if a hook fails: an output among them would make a cycle
        for position, value in enumerate(given):
            if value is None:
                entries.append(None)
            elif not isinstance(value, Tensor):
                raise TypeError(
                    f"save_for_backward can only save variables, but argument {position} is of type "
                    f"{type(value).__name__}"
                )
            elif id(value) in numbers and (value._node is self or id(value) in written):
                number = numbers[id(value)]
                entries.append(packed_output(self, number, value, hooks[-1]) if hooks else SavedOutput(value, number))
            elif hooks:
                entries.append(SavedTensor(anchor_or_self(value), hooks[-1]))
            else:
                entries.append(SavedInput(value))
        self.saved = tuple(entries)
        if entries:
            self.plan = _KEEPING

    def run(self, sweep: Sweep, cotangent: Cotangent) -> list[Gradient]:
        """Call the user's `backward` and check what it returns."""
        if self.saved is FREED:
            raise RuntimeError(SECOND_TIME)
        parts = cotangent if self.outputs is not None else (cotangent,)
        grads = [self.materialized(sweep, number, part) for number, part in enumerate(parts)]
        backward = self.user_backward()
        if sweep.level:  # a batched pass
            from ..core.hooks import call_hook

            results = call_hook(sweep, lambda *given: _unnested(backward, self, given), *grads)
        else:
            results = _unnested(backward, self, grads)
        if not isinstance(results, tuple):
            results = (results,)
        return self.checked(results, sweep.record)

    def materialized(self, sweep: Sweep, number: int, part: Cotangent) -> Tensor | None:
        """The cotangent of one output as `backward` gets it: zeros where none came, unless None is wanted."""
        if part is None and self.materialize_grads and self.outputs is not None and number not in self.not_filled:
            shape, dtype = self.outputs[number]
            part = None if dtype is None else sweep.zeros(shape, dtype)
        return part if part is None or isinstance(part, Tensor) else wrap(part)

    def user_backward(self) -> Callable[..., Any]:
        cls = self.forward_class
        own_backward = cls.backward is not Function.backward
        own_vjp = cls.vjp is not Function.vjp
        if own_backward and own_vjp:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only "
                "implement one of them."
            )
        backward = cls.vjp if own_vjp else cls.backward
        if cls.boxed_grads_call:  # all in one list, which `backward` may empty as it goes
            return lambda ctx, *grads: backward(ctx, list(grads))
        return backward

    def checked(self, results: tuple[Gradient, ...], record: bool) -> list[Gradient]:
        count = len(self.edges)
        if len(results) < count or any(extra is not None for extra in results[count:]):
            raise RuntimeError(
                f"function {self.name()} returned an incorrect number of gradients (expected {count}, got "
                f"{len(results)})"
            )
        gradients = []
        for position, result in enumerate(results[:count]):
            if result is not None and not isinstance(result, Tensor):
                raise RuntimeError(f"expected Variable or None (got {type(result).__name__})")
            if result is not None and self.edges[position] is None:
                if not self.is_tensor_input[position]:
                    raise RuntimeError(
                        f"function {self.name()} returned a gradient different than None at position {position + 1}, "
                        "but the corresponding forward input was not a Variable"
                    )
                result = None
            if result is not None:
                self.check_shape(result, position)
                result = dense(result)
                result = result if record else result._array
            gradients.append(result)
        return gradients

    def check_shape(self, gradient: Tensor, position: int) -> None:
        shape, _ = metadata_of(self.edges[position], self.slots[position] if self.slots else 0)
        try:
            fits = np.broadcast_shapes(shape, gradient._array.shape) == gradient._array.shape
        except ValueError:
            fits = False
        if not fits:
            raise RuntimeError(
                f"Function {self.name()} returned an invalid gradient at index {position} - got "
                f"{list(gradient._array.shape)} but expected shape compatible with {list(shape)}"
            )


class _Nesting(threading.local):
    depth: int = 0


_nesting = _Nesting()
_DEEPEST = 40  # a backward that runs backward passes of its own takes a dozen Python frames each time


def _unnested(backward: Callable, ctx: CustomNode, grads: Sequence[Any]) -> Any:
    """Call a user's `backward`; when such calls are nested deeply, in a thread with a fresh stack."""
    if _nesting.depth < _DEEPEST:
        _nesting.depth += 1
        try:
            return backward(ctx, *grads)
        finally:
            _nesting.depth -= 1
    from contextvars import copy_context

    answer: list[Any] = []
    failure: list[BaseException] = []

    def call() -> None:
        try:
            answer.append(backward(ctx, *grads))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=copy_context().run, args=(call,), name="pullback-nested-backward")
    thread.start()
    thread.join()
    if failure:
        raise failure[0]
    return answer[0]


BackwardCFunction = CustomNode  # torch's name of the base of all such nodes


class FunctionMeta(type):
    """Gives every Function its node class, named after it."""

    def __init__(cls, name: str, bases: tuple[Any, ...], attributes: dict[Any, Any]) -> None:
        own = {"forward_class": cls, "__module__": "torch.autograd.function"}
        cls._backward_cls = NodeType(f"{name}Backward", (CustomNode,), own)
        super().__init__(name, bases, attributes)


class Function(metaclass=FunctionMeta):
    """Subclass it with static methods `forward` and `backward`, and call it through `apply`."""

    generate_vmap_rule: bool = False
    clear_saved_tensors_on_access: bool = False
    boxed_grads_call: bool = False
    _backward_cls: type[CustomNode]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn_user(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should "
            "invoke them on the class itself. Instantiating an autograd function will raise an error in a future "
            "version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd "
            "function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation: `forward(ctx, *inputs)`, or `forward(*inputs)` together with `setup_context`."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Store on `ctx` what `backward` needs, when `forward` has no `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any, **kwargs: Any) -> Any:
        """The gradients of the inputs, given those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with "
            "backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any, **kwargs: Any) -> Any:
        """The tangents of the outputs, given those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any, **kwargs: Any) -> Any:
        """Run the operation on batches; returns (output, out_dims)."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set "
            "generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation and record it."""
        if kwargs or cls.setup_context is not Function.setup_context:
            args = _bound(cls, args, kwargs)
        mode = current_mode()
        if mode.dual_level or _any_batched(args) or mode.batch_level and cls.vmap is not Function.vmap:
            from ..transforms.custom_transforms import apply_transformed

            return apply_transformed(cls, args)
        return run_function(cls, args)


def _bound(cls: type[Function], args: tuple, kwargs: dict) -> tuple:
    """All arguments in order: gradients belong to positions, so none can be passed on by its name."""
    import inspect

    signature = inspect.signature(cls.forward)
    if cls.setup_context is not Function.setup_context:  # which is given the defaults too
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name in bound.kwargs:
            raise TypeError(f"forward() got an unexpected keyword argument {name!r}")
        return bound.args
    positional = [each.name for each in signature.parameters.values() if each.kind <= each.POSITIONAL_OR_KEYWORD]
    names = positional[1:]  # after ctx
    for name in kwargs:
        if name not in names:
            raise TypeError(f"forward() got an unexpected keyword argument {name!r}")
        if names.index(name) < len(args):
            raise TypeError(f"forward() got multiple values for argument {name!r}")
    filled = names[len(args) : 1 + max(map(names.index, kwargs))]
    for position, name in enumerate(filled, len(args)):
        if name not in kwargs:
            raise TypeError(
                f"forward() missing required argument: {name!r} (position {position}). What comes before an argument that is "
                "passed by its name has to be passed too, even if it has a default."
            )
    return *args, *[kwargs[name] for name in filled]


def _any_batched(args: tuple) -> bool:
    return any(isinstance(value, Tensor) and not isinstance(value._array, (np.ndarray, np.generic)) for value in args)


def run_function(
    cls: type[Function], args: Arguments, forward: Callable[..., Any] | None = None, made: list[Any] | None = None
) -> Any:
    """Forward (or another form of it) without recording, then one node for the whole, which is put into `made`."""
    mode = current_mode()
    ctx = cls._backward_cls()
    if made is not None:
        made.append(ctx)
    needs = tuple(isinstance(value, Tensor) and value.requires_grad for value in args)
    ctx.needs_input_grad = needs
    ctx.is_tensor_input = tuple(isinstance(value, Tensor) for value in args)
    if mode.grad:
        for needed, value in zip(needs, args, strict=True):
            if needed and value._view is not None:
                refresh_or_raise(value)
        for position, value in enumerate(args):
            if isinstance(value, (list, tuple, dict)):
                _warn_of_tensors_in(value, cls, args, position)
    with no_grad():
        if cls.setup_context is not Function.setup_context:
            output = (forward or cls.forward)(*args)
            cls.setup_context(ctx, args, output)
            if ctx.to_save or ctx.saved_for_forward:
                _refuse_saved_inputs(ctx, args, output if isinstance(output, tuple) else (output,))
        else:
            output = cls.forward(ctx, *args)
    single = not isinstance(output, tuple)
    raw = (output,) if single else output
    recording = mode.grad and any(needs)
    outputs = connect_outputs(ctx, args, needs, raw, recording)
    if recording:
        ctx.keep(outputs)
        if mode.anomaly is not None:
            from .anomaly_mode import running_node, user_stack

            ctx.notes = {"stack": user_stack(), "parent": running_node()}
        if mode.node_hooks:
            show_new_node(ctx, mode)
    if made is not None:
        constant = {id(value) for value in ctx.non_differentiable}
        ctx.constant_outputs = {id(outputs[number]) for number, value in enumerate(raw) if id(value) in constant}
    ctx.dirty_tensors = ctx.non_differentiable = ()
    return outputs[0] if single else outputs


def _warn_of_tensors_in(value: Operand, cls: type[Function], args: Arguments, position: int) -> None:
    """Gradients go to arguments that are tensors; torch says nothing about those that are inside others."""
    from ..utils._pytree import tree_flatten

    passed = {id(each) for each in args}
    inside = [each for each in tree_flatten(value)[0] if isinstance(each, Tensor) and each.requires_grad]
    if any(id(each) not in passed for each in inside):
        warn_user(
            f"{cls.__name__}.apply: argument {position} is a {type(value).__name__} with tensors that require grad, which get "
            "no gradient: only tensors that are arguments themselves do. Pass them one by one, as in "
            f"{cls.__name__}.apply(*tensors), or detach them."
        )


def _refuse_saved_inputs(ctx: Any, args: Arguments, outputs: Operands) -> None:
    """An input that comes back becomes another tensor, which `setup_context` has not seen."""
    inputs = {id(value) for value in args if isinstance(value, Tensor)}
    returned = inputs & {id(value) for value in outputs} - {id(value) for value in ctx.dirty_tensors}
    if returned and any(id(value) in returned for value in (*ctx.to_save, *ctx.saved_for_forward)):
        raise RuntimeError(
            "An input that has been returned as-is as output is being saved for backward. This is not supported if you "
            "override setup_context. You should return and save a view of the input instead, e.g. with x.view_as(x) or "
            "setup ctx inside the forward function itself."
        )


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """For a `backward` that is not itself differentiable: differentiating through it is an error."""

    @functools.wraps(function)
    def wrapper(ctx: Any, *grads: Any) -> Any:
        with no_grad():
            outputs = function(ctx, *grads)
        if not current_mode().grad:
            return outputs
        if not any(isinstance(grad, Tensor) and grad.requires_grad for grad in grads):
            return outputs
        from ..core.special_nodes import DelayedError

        single = not isinstance(outputs, tuple)
        results = (outputs,) if single else outputs
        leaves = [_leaf_like(result) if isinstance(result, Tensor) else result for result in results]
        message = "trying to differentiate twice a function that was marked with @once_differentiable"
        return DelayedError(message, len(leaves))(*leaves)

    return wrapper


def _leaf_like(value: Tensor) -> Tensor:
    leaf = wrap(value.memory())
    leaf._requires_grad = value._array.dtype.kind in "fcV"
    return leaf


class InplaceFunction(Function):
    """Kept for old programs: a Function that may work in place."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace: bool = inplace


class NestedIOFunction(Function):
    """Kept for old programs."""
