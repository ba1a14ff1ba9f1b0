"""`torch.autograd.functional`: products with Jacobians and Hessians, and whole ones, of functions of tensors.

Inputs and outputs are a tensor or a tuple of tensors. `torch.func` does the same for any nesting of containers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import roots
from ..core.basics.types import Function
from ..core.grad_mode import enable_grad
from ..core.tape import wrap
from ..core.tensor import Tensor
from .functional_checks import (
    _as_tuple,  # noqa: F401
    _grad_postprocess,  # noqa: F401
    _tuple_postprocess,  # noqa: F401
    as_tuple,
    check_requires_grad,
    check_strategy,
    finished,
    is_single,
    prepared,
    refuse_complex,
    scalar_weight,
    validate_v,
    zeros_for,
)

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _outputs_of(func: Function, inputs: tuple, function: str, strict: bool) -> tuple[tuple, bool]:
    outputs, is_tuple = as_tuple(func(*inputs), "outputs of the user-provided function", function)
    check_requires_grad(outputs, "outputs", strict)
    return outputs, is_tuple


def _gradients(
    outputs: tuple[Tensor, ...],
    inputs: tuple[Tensor, ...],
    weights: Any,
    create_graph: bool,
    batched: bool = False,
) -> tuple:
    """`grad` of those outputs that are there and require it; None where an input has no part in them."""
    weights = (None,) * len(outputs) if weights is None else weights
    pairs = [
        (out, weight) for out, weight in zip(outputs, weights, strict=True) if out is not None and out.requires_grad
    ]
    if not pairs:
        return (None,) * len(inputs)
    picked, given = zip(*pairs, strict=True)
    return roots.grad(
        picked, inputs, None if given[0] is None else given, create_graph=create_graph, retain_graph=True,
        allow_unused=True, is_grads_batched=batched,
    )  # fmt: skip


def vjp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, ...]:
    """(outputs, v-weighted gradients of the inputs)."""
    with enable_grad():
        given, is_tuple = as_tuple(inputs, "inputs", "vjp")
        given = prepared(given, create_graph)
        outputs, outputs_tuple = _outputs_of(func, given, "vjp", strict)
        weights = _weights(v, outputs, outputs_tuple, create_graph, "vjp", "user-provided function returns")
        gradients = _gradients(outputs, given, weights, create_graph)
        result = zeros_for(gradients, given, create_graph, strict, "back")
    return finished(outputs, create_graph, outputs_tuple), finished(result, create_graph, is_tuple)


def _weights(v: Any, values: tuple, is_tuple: bool, create_graph: bool, function: str, what: str) -> Any:
    if v is not None:
        weights, _ = as_tuple(v, "v", function)
        weights = prepared(weights, create_graph, need_graph=False)
        validate_v(weights, values, is_tuple)
        return weights
    if not is_single(values):
        raise RuntimeError(f"The vector v can only be None if the {what} a single Tensor with a single element.")
    return None


def jvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, ...]:
    """(outputs, Jacobian times v), by differentiating the vector-Jacobian product."""
    with enable_grad():
        given, is_tuple = as_tuple(inputs, "inputs", "jvp")
        given = prepared(given, create_graph)
        weights = _weights(v, given, is_tuple, create_graph, "jvp", "input to the user-provided function is")
        if weights is None:
            weights = tuple(scalar_weight(x) for x in given)
        outputs, outputs_tuple = _outputs_of(func, given, "jvp", strict)
        dummies = tuple(_zeros_like(output, True) for output in outputs)
        pulled = _gradients(outputs, given, dummies, True)
        check_requires_grad(pulled, "grad_inputs", strict)
        tangents = _gradients(pulled, dummies, weights, create_graph)
        result = zeros_for(tangents, outputs, create_graph, strict, "back_trick")
    return finished(outputs, create_graph, outputs_tuple), finished(result, create_graph, outputs_tuple)


def _zeros_like(x: Tensor, requires_grad: bool) -> Tensor:
    from ..functional.registry import FUNCTIONS

    return FUNCTIONS["zeros_like"](x).requires_grad_(requires_grad)


# --- Jacobians ---


def _construct_standard_basis_for(tensors: tuple[Tensor, ...], tensor_numels: tuple[int, ...]) -> tuple[Tensor, ...]:
    """The rows of one identity matrix over all elements, cut into the columns that belong to each tensor."""
    rows = np.eye(sum(tensor_numels))
    cuts = np.cumsum((0, *tensor_numels))
    return tuple(
        wrap(rows[:, start:stop].astype(x._array.dtype))
        for x, start, stop in zip(tensors, cuts[:-1], cuts[1:], strict=True)
    )


def jacobian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian: one tensor, or a tuple (of tuples) when outputs (or inputs) are tuples.

    All rows come from one batched pass, so `vectorize` changes nothing but torch's checks. In reverse mode a row is the
    gradient of one element of the outputs: of a complex one, the conjugate of its derivative, which `vectorize` allows.
    """
    check_strategy(strategy, create_graph, strict, vectorize)
    if strategy == "forward-mode":
        return _jacobian_forward(func, inputs)
    with enable_grad():
        given, is_tuple = as_tuple(inputs, "inputs", "jacobian")
        given = prepared(given, create_graph)
        outputs, outputs_tuple = _outputs_of(func, given, "jacobian", strict)
        if not vectorize:
            refuse_complex(outputs)
        rows = [_rows(output, number, given, create_graph, strict) for number, output in enumerate(outputs)]
    result = [finished(row, create_graph, True) for row in rows]
    return _arranged(result, is_tuple, outputs_tuple)


def _arranged(rows: list, inputs_tuple: bool, outputs_tuple: bool) -> Any:
    blocks = tuple(tuple(row) if inputs_tuple else row[0] for row in rows)
    return blocks if outputs_tuple else blocks[0]


def _rows(output: Tensor, number: int, inputs: tuple, create_graph: bool, strict: bool) -> tuple:
    """The Jacobian of one output with respect to all inputs."""
    from ..func.reverse import standard_basis

    (basis,) = standard_basis([output])
    gradients = _gradients((output,), inputs, basis, create_graph, batched=True)
    blocks = []
    for position, (gradient, x) in enumerate(zip(gradients, inputs, strict=True)):
        if gradient is None:
            if strict:
                raise RuntimeError(
                    f"Output {number} of the user-provided function is independent of input {position}. This is not "
                    "allowed in strict mode."
                )
            blocks.append(_zeros(x, output, create_graph))
            continue
        if strict and create_graph and not gradient.requires_grad:
            raise RuntimeError(
                "The jacobian of the user-provided function is independent of input "
                f"{position}. This is not allowed in strict mode when create_graph=True."
            )
        blocks.append(gradient.reshape((*output._array.shape, *x._array.shape)))
    return tuple(blocks)


def _zeros(x: Tensor, output: Tensor, requires_grad: bool) -> Tensor:
    zeros = wrap(np.zeros((*output._array.shape, *x._array.shape), x._array.dtype))
    return zeros.requires_grad_() if requires_grad else zeros


def _jacobian_forward(func: Function, inputs: Any) -> Any:
    from ..func.forward import forward_jacobian

    given, is_tuple = as_tuple(inputs, "inputs", "jacobian")
    outputs_tuple = False

    def checked(*values: Tensor) -> tuple:
        nonlocal outputs_tuple
        outputs, outputs_tuple = as_tuple(func(*values), "outputs of the user-provided function", "jacobian")
        return outputs

    rows = forward_jacobian(checked, tuple(range(len(given))))(*given)
    return _arranged([tuple(block.detach() for block in row) for row in rows], is_tuple, outputs_tuple)


# --- Hessians ---


def _one_element(func: Function, inputs: tuple, function: str, strict: bool = False) -> Tensor:
    """The value of a function that must have a single element."""
    outputs, is_tuple = _outputs_of(func, inputs, function, strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor")
    if outputs[0]._array.size != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    return outputs[0]


def hessian(
    func: Function, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The second derivatives of a function with one element: a tensor, or a tuple of tuples.

    `create_graph` makes the answer differentiable; with `strict`, an input that the value does not depend on is an
    error. `outer_jacobian_strategy` is "reverse-mode" or, with `vectorize`, "forward-mode".
    """
    given, is_tuple = as_tuple(inputs, "inputs", "hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')

    def gradient(*values: Tensor) -> Any:
        output = _one_element(func, values, "hessian", strict).squeeze()
        found = _gradients((output,), values, None, True)
        result = zeros_for(found, values, True, False, "double_back")
        check_requires_grad(result, "jacobian", strict)
        return result if len(result) > 1 or is_tuple else result[0]

    if outer_jacobian_strategy == "forward-mode":
        from ..func.forward import hessian as forward_over_reverse

        numbers = tuple(range(len(given)))
        blocks = forward_over_reverse(lambda *values: _one_element(func, values, "hessian").squeeze(), argnums=numbers)(
            *given
        )
        return blocks if is_tuple else blocks[0][0]
    return jacobian(gradient, given if is_tuple else given[0], create_graph, strict, vectorize)


def vhp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, ...]:
    """(value, v times the Hessian) of a function with one element."""
    return _hessian_product(func, inputs, v, create_graph, strict, "vhp")


def hvp(
    func: Function, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> tuple[Any, ...]:
    """(value, Hessian times v) of a function with one element. The Hessian is symmetric: `vhp` gives the same."""
    return _hessian_product(func, inputs, v, create_graph, strict, "hvp")


def _hessian_product(func: Function, inputs: Any, v: Any, create_graph: bool, strict: bool, function: str) -> tuple:
    with enable_grad():
        given, is_tuple = as_tuple(inputs, "inputs", function)
        given = prepared(given, create_graph)
        weights = _weights(v, given, is_tuple, create_graph, function, "input to the user-provided function is")
        if weights is None:
            weights = tuple(scalar_weight(x) for x in given)
        output = _one_element(func, given, function, strict)
        first = _gradients((output,), given, None, True)
        check_requires_grad(first, "jacobian", strict)
        second = _gradients(first, given, weights, create_graph)
        result = zeros_for(second, given, create_graph, strict, "double_back")
    return finished((output,), create_graph, False), finished(result, create_graph, is_tuple)
