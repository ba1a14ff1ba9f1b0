"""How a module's backward hooks see its gradients.

Two identity functions are put into the graph, one around the module's tensor inputs and one around its outputs. The
outer one meets the gradients of the outputs first, the inner one the gradients of the inputs; `BackwardProbe` carries
the former to the latter. Imported only when a module with backward hooks is called.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pullback

from ...core.basics.notices import warn_user


class BackwardHookFunction(pullback.autograd.Function):
    """Identity on tensors whose backward passes the gradients through its node's `on_gradients`."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> tuple[Any, ...]:
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*[tensor for tensor in tensors if not tensor.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        return ctx.on_gradients(gradients)


class BackwardProbe:
    """One call of one module: remembers where its tensors stand and runs the user's hooks on their gradients."""

    def __init__(
        self, module: Any, hooks: Sequence[Callable[..., Any]], pre_hooks: Sequence[Callable[..., Any]]
    ) -> None:
        self.module: Any = module
        self.hooks: Sequence[Callable[..., Any]] = hooks
        self.pre_hooks: Sequence[Callable[..., Any]] = pre_hooks
        self.input_positions: list[int] | None = None
        self.input_count: int = 0
        self.grad_outputs: tuple[Any, ...] | None = None

    def tap_inputs(self, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        self.input_count = len(inputs)
        self.inputs_like = [(one.shape, one.dtype, one.device) for one in inputs if isinstance(one, pullback.Tensor)]
        inputs, self.input_positions = _replace_with_probed(inputs, self._on_input_gradients)
        return inputs

    def tap_outputs(self, outputs: Any) -> Any:
        if isinstance(outputs, tuple):
            self.output_count = len(outputs)
            outputs, self.output_positions = _replace_with_probed(outputs, self._on_output_gradients)
            return outputs
        self.output_count = 1
        (outputs,), self.output_positions = _replace_with_probed((outputs,), self._on_output_gradients)
        return outputs

    def _on_output_gradients(self, gradients: tuple) -> tuple:
        grad_outputs = _spread(self.output_positions, gradients, self.output_count)
        for hook in self.pre_hooks:
            replaced = hook(self.module, grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != self.output_count:
                raise RuntimeError(
                    "Backward pre hook returned an invalid number of grad_output, "
                    f"got {len(replaced)}, but expected {self.output_count}"
                )
            grad_outputs = replaced
        if self.input_positions is None:
            self._run_hooks_without_inputs(grad_outputs)
        else:
            self.grad_outputs = grad_outputs
        return tuple(grad_outputs[position] for position in self.output_positions or ())

    def _run_hooks_without_inputs(self, grad_outputs: tuple) -> None:
        # No input needs a gradient, so the inner tap will never run: this is the only chance to call the hooks.
        if self.hooks:
            warn_user(
                "Full backward hook is firing when gradients are computed with respect to module outputs "
                "since no inputs require gradients."
            )
        for hook in self.hooks:
            result = hook(self.module, (None,) * self.input_count, grad_outputs)
            if result is not None and not (isinstance(result, tuple) and all(one is None for one in result)):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always return "
                    "None or None for all gradients."
                )

    def _on_input_gradients(self, gradients: tuple) -> tuple:
        if self.grad_outputs is None:  # the gradient reached the inputs on a way that avoids the outputs
            return gradients
        # Hooks see zeros, not None, for inputs that the outputs do not depend on.
        gradients = tuple(
            pullback.zeros(shape, dtype=dtype, device=device) if gradient is None else gradient
            for gradient, (shape, dtype, device) in zip(gradients, self.inputs_like)
        )
        grad_inputs = _spread(self.input_positions, gradients, self.input_count)
        for hook in self.hooks:
            replaced = hook(self.module, grad_inputs, self.grad_outputs)
            if replaced is None:
                continue
            if len(replaced) != self.input_count:
                raise RuntimeError(
                    "Backward hook returned an invalid number of grad_input, "
                    f"got {len(replaced)}, but expected {self.input_count}"
                )
            grad_inputs = replaced
        self.grad_outputs = None
        return tuple(grad_inputs[position] for position in self.input_positions or ())


def _replace_with_probed(values: tuple, on_gradients: Callable[[tuple], tuple]) -> tuple[tuple, list[int] | None]:
    """`values` with its tensors replaced by tapped ones, and their positions (None when nothing needs a gradient)."""
    positions: list[int] = [index for index, value in enumerate(values) if isinstance(value, pullback.Tensor)]
    if not (pullback.is_grad_enabled() and any(values[index].requires_grad for index in positions)):
        return values, None
    tapped = list(values)
    tensors = BackwardHookFunction.apply(*[values[index] for index in positions])
    next(tensor.grad_fn for tensor in tensors if tensor.grad_fn is not None).on_gradients = on_gradients
    for index, tensor in zip(positions, tensors):
        tapped[index] = tensor
    return (tuple(tapped) if type(values) is tuple else type(values)(*tapped)), positions


def _spread(positions: list[int] | None, gradients: Sequence, count: int) -> tuple:
    spread: list = [None] * count
    for position, gradient in zip(positions or (), gradients):
        spread[position] = gradient
    return tuple(spread)


def register_legacy_hooks(
    module: Any, hooks: Sequence[Callable[..., Any]], inputs: tuple[Any, ...], result: Any
) -> None:
    """Put non-full hooks on the node that made the first tensor of `result`, with torch's warnings."""
    first = result
    while not isinstance(first, pullback.Tensor):
        if isinstance(first, dict):
            first = next(value for value in first.values() if isinstance(value, pullback.Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grad_inputs, grad_outputs, hook=hook: hook(module, grad_inputs, grad_outputs))
    _warn_about_legacy_hook(inputs, result, node)


def _warn_about_legacy_hook(inputs: tuple, result: Any, node: Any) -> None:
    results = result if isinstance(result, tuple) else (result,)
    lacks = "grad_input"
    if not all(isinstance(one, pullback.Tensor) for one in results):
        what = "non-full backward hooks on a Module that does not return a single Tensor or a tuple of Tensors"
        lacks = "of the grad_output"
    elif not all(isinstance(one, pullback.Tensor) for one in inputs):
        what = "non-full backward hooks on a Module that does not take as input a single Tensor or a tuple of Tensors"
        lacks = "of the grad_input"
    elif len(results) > 1:
        what = "a non-full backward hook when outputs are generated by different autograd Nodes"
        lacks = "grad_output"
    elif {one.grad_fn for one in inputs if one.grad_fn is not None} != {above for above, _ in node.next_functions}:
        what = "a non-full backward hook when the forward contains multiple autograd Nodes"
    else:
        return
    warn_user(
        f"Using {what} is deprecated and will be removed in future versions. This hook will be missing some "
        f"{lacks}. Please use register_full_backward_hook to get the documented behavior.",
        FutureWarning,
    )
