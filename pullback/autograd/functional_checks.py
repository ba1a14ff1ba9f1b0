"""Checks of the arguments of the functions in `functional.py`, with torch's words, and how the arguments are prepared."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.tape import wrap
from ..core.tensor import Tensor


def as_tuple(value: Any, name: str, function: str) -> tuple[tuple[Any, ...], bool]:
    """A tuple of tensors, and whether it was one."""
    is_tuple = isinstance(value, (tuple, list))
    values = tuple(value) if is_tuple else (value,)
    for position, item in enumerate(values):
        if not isinstance(item, Tensor):
            which = f"value at index {position}" if is_tuple else f"given {name}"
            raise TypeError(
                f"The {name} given to {function} must be either a Tensor or a tuple of Tensors but the {which} has "
                f"type {type(item)}."
            )
    return values, is_tuple


def prepared(inputs: tuple[Tensor, ...], create_graph: bool, need_graph: bool = True) -> tuple[Tensor, ...]:
    """Inputs to work with: connected to the caller's graph if that is wanted, fresh leaves otherwise."""
    if create_graph:
        return tuple(_connected(x, need_graph) for x in inputs)
    return tuple(x.detach().requires_grad_(need_graph and x._array.dtype.kind in "fcV") for x in inputs)


def _connected(x: Tensor, need_graph: bool) -> Tensor:
    if x.requires_grad:
        return x.view_as(x)
    return x.detach().requires_grad_(need_graph)


def finished(values: tuple[Tensor, ...], create_graph: bool, is_tuple: bool) -> Any:
    """Results as the caller wants them: with or without history, single or as a tuple."""
    results = values if create_graph else tuple(value.detach() for value in values)
    return results if is_tuple else results[0]


def is_single(values: tuple[Tensor, ...]) -> bool:
    """True if there is one tensor with one element."""
    return len(values) == 1 and values[0]._array.size == 1


def scalar_weight(x: Tensor) -> Tensor:
    """The weight 1 of an output with one element."""
    from ..functional.registry import FUNCTIONS

    return FUNCTIONS["ones_like"](x.detach())


def validate_v(v: tuple[Tensor, ...], other: tuple[Tensor, ...], is_tuple: bool) -> None:
    """The vector must look like what it is multiplied with."""
    if len(other) != len(v):
        if is_tuple:
            raise RuntimeError(f"v is a tuple of invalid length: should be {len(other)} but got {len(v)}.")
        raise RuntimeError("The given v should contain a single Tensor.")
    for position, (weight, value) in enumerate(zip(v, other, strict=True)):
        if weight.shape != value.shape:
            prefix = f"Entry {position} in " if is_tuple else ""
            raise RuntimeError(f"{prefix}v has invalid size: should be {value.shape} but got {weight.shape}.")


def check_requires_grad(values: tuple[Tensor, ...], kind: str, strict: bool) -> None:
    """In strict mode nothing may be independent of the inputs."""
    if not strict:
        return
    for position, value in enumerate(values):
        if value is None:
            raise RuntimeError(
                f"The output of the user-provided function is independent of input {position}. This is not allowed in "
                "strict mode."
            )
        if value.requires_grad:
            continue
        if kind == "jacobian":
            raise RuntimeError(
                "While computing the hessian, found that the jacobian of the user-provided function with respect to "
                f"input {position} is independent of the input. This is not allowed in strict mode. You should ensure "
                "that your function is twice differentiable and that the jacobian depends on the inputs (this would "
                "be violated by a linear function for example)."
            )
        if kind == "grad_inputs":
            raise RuntimeError(
                f"The gradient with respect to input {position} is independent of the inputs of the user-provided "
                "function. This is not allowed in strict mode."
            )
        raise RuntimeError(
            f"Output {position} of the user-provided function does not require gradients. The outputs must be "
            "computed in a differentiable manner from the input when running in strict mode."
        )


def zeros_for(
    gradients: tuple[Tensor, ...], like: tuple[Tensor, ...], create_graph: bool, strict: bool, stage: str
) -> tuple[Any, ...]:
    """Zeros where there is no gradient; in strict mode that is an error."""
    results = []
    for position, (gradient, value) in enumerate(zip(gradients, like, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(_independent(stage, position))
            gradient = wrap(np.zeros(value._array.shape, value._array.dtype))
        elif strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                f"The {'hessian' if stage.startswith('double') else 'jacobian'} of the user-provided function is "
                f"independent of input {position}. This is not allowed in strict mode when create_graph=True."
            )
        results.append(gradient)
    return tuple(results)


def _independent(stage: str, position: int) -> str:
    if stage == "back":
        return (
            f"The output of the user-provided function is independent of input {position}. This is not allowed in "
            "strict mode."
        )
    if stage == "back_trick":
        return (
            f"The gradient with respect to the input is independent of entry {position} in the grad_outputs when "
            "using the double backward trick to compute forward mode gradients. This is not allowed in strict mode."
        )
    return (
        f"The jacobian of the user-provided function is independent of input {position}. This is not allowed in "
        "strict mode."
    )


def check_strategy(strategy: str, create_graph: bool, strict: bool, vectorize: bool) -> None:
    """Complain about settings of `jacobian` that do not go together."""
    name = "torch.autograd.functional.jacobian"
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError(
            'Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has more outputs '
            'than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to use "reverse-mode".'
        )
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError(
                f'{name}: `create_graph=True` and `strategy="forward-mode"` are not supported together (yet). '
                "Please either set "
                '`create_graph=False` or `strategy="reverse-mode"`.'
            )
        if strict:
            raise RuntimeError(
                f'{name}: `strict=True` and `strategy="forward-mode"` are not supported together (yet). '
                "Please either set "
                '`strict=False` or `strategy="reverse-mode"`.'
            )
        if not vectorize:
            raise NotImplementedError(
                "Computing Jacobian using forward-AD or forward-over-reverse Hessian is only implemented for "
                "`vectorize=True`."
            )
    elif vectorize and strict:
        raise RuntimeError(
            f"{name}: `strict=True` and `vectorized=True` are not supported together. Please either set "
            "`strict=False` or `vectorize=False`."
        )


# --- torch's private names for the same, which optimizers of other packages import ---


def _as_tuple(inp: Any, arg_name: str | None = None, fn_name: str | None = None) -> tuple[Any, ...]:
    """(True if the value was a tuple, the value as a tuple); without names for messages, the tuple alone."""
    if arg_name is None or fn_name is None:
        return tuple(inp) if isinstance(inp, (tuple, list)) else (inp,)
    values, is_tuple = as_tuple(inp, arg_name, fn_name)
    return is_tuple, values


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Nested tuples of tensors, without history unless it is wanted."""
    if isinstance(inputs[0], Tensor):
        return inputs if create_graph else tuple(value.detach() for value in inputs)
    return tuple(_grad_postprocess(value, create_graph) for value in inputs)


def _tuple_postprocess(res: Any, to_unpack: bool | tuple[bool, bool]) -> Any:
    """The inverse of `_as_tuple`: a tuple where there was one, its only element otherwise."""
    outer, inner = to_unpack if isinstance(to_unpack, tuple) else (to_unpack, True)
    if not inner:
        res = tuple(value[0] for value in res)
    return res if outer else res[0]


def refuse_complex(outputs: tuple[Tensor, ...]) -> None:
    """Complain about complex outputs of a Jacobian in reverse mode, as torch does where it goes row by row."""
    for output in outputs:
        if output.requires_grad and output._array.dtype.kind == "c":
            raise RuntimeError(
                f"grad can be implicitly created only for real scalar outputs but got {output.dtype!r}. For derivatives of "
                'complex functions use strategy="forward-mode" with vectorize=True; vectorize=True alone gives their '
                "conjugates, as gradients are. torch.view_as_real makes real outputs of complex ones."
            )
