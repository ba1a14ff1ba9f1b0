"""`backward` and `grad`: where a pass starts, with which weights, and where it goes.

The founding question of this library lives here: a root with one element has the implicit weight 1; any other needs
`gradient`, weights of exactly its shape.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import float32, ndarray

from ..autograd.graph import AccumulateGrad, GradientEdge
from ..kernels.like import is_elsewhere
from . import passes, seams
from .accumulate import DONE
from .basics.dtypes import from_numpy_dtype
from .basics.quiet import first_filter, usual_settings, warning_settings, warnings_are_dropped
from .basics.signatures import without_unknown
from .basics.size import Size
from .basics.storage import clock
from .cotangents import metadata_of
from .engine import Hooks
from .mode import RECORD, current_mode, transform_depth
from .tape import wrap
from .tensor import Tensor, anchor_of
from .unbroadcast import dense, unbroadcast_array
from .views import refresh_or_raise

if TYPE_CHECKING:
    from .basics.types import Array, Cotangent, DType, Gradient, Output, Outputs, Root, Shape, Targets, Weight

transforms_run = transform_depth.get
_ONE = float32(1)  # the weight of nearly every loss


def backward_from(
    root: Tensor, gradient: Weight, retain_graph: bool | None, create_graph: bool, inputs: Targets
) -> None:
    """`Tensor.backward`: the common case, one root and plain arguments, without detours."""
    if root._view is not None:
        refresh_or_raise(root)
    if create_graph or inputs is not None or not root._requires_grad:
        backward(root, gradient, retain_graph, create_graph, inputs=inputs)
        return
    target = root._node
    if target is None:
        target = anchor_of(root)
    array = root._array
    shape, dtype = array.shape, array.dtype
    if gradient is None:
        cotangent = _ONE if type(array) is float32 else _implicit_one(root, shape, dtype)
    elif type(gradient) is Tensor and gradient._array.dtype is dtype and gradient._array.shape == shape:
        cotangent = gradient._array
    else:
        (weight,) = _weights_for((root,), gradient, True)
        cotangent = (
            _implicit_one(root, shape, dtype) if weight is None else _weight_array(weight, shape, dtype, 0, root)._array
        )
    if (
        shape and root._node is not None and target.outputs is None and shape != target.shape
    ):  # its `.data` was replaced
        cotangent = unbroadcast_array(cotangent, target.shape, dtype)
    if (
        root._output_nr or not target.order or target.shape is None or Hooks.in_use or current_mode() is not RECORD
        or transforms_run()
    ):  # fmt: skip
        passes.backward_to_leaves([(target, root._output_nr)], [cotangent], bool(retain_graph), False)
        return
    found = None
    if warning_settings() is usual_settings and (
        warnings.filters and warnings.filters[0] is first_filter[0] or warnings_are_dropped()
    ):
        try:
            for program in target.plan.repeats.programs:
                found = program(target, cotangent, clock.last_write, None, retain_graph)
                if found is DONE:
                    return
                if found is not None:
                    break
        except RuntimeWarning:  # somebody made errors of warnings; nothing has happened yet
            pass
    passes.run_ordinary_backward(target, cotangent, retain_graph, found)


@without_unknown
def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
    **unknown: Any,
) -> None:
    """Add the gradients of the given tensors, weighted by `grad_tensors`, to `.grad` of the leaves.

    `grad_tensors` has weights for each of `tensors`, of its shape; None for one with a single element. `retain_graph`
    keeps the graph for another pass; `create_graph` also records this one, so that what it computes has derivatives.
    With `inputs`, only the `.grad` of these (leaves or not) is added to. A failing pass changes nothing.
    """
    if unknown:
        seams.refuse_keywords(backward, unknown)
    if grad_variables is not None:
        warnings.warn("`grad_variables` is deprecated. Use `grad_tensors` instead.", FutureWarning, stacklevel=2)
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`."
            )
        grad_tensors = grad_variables
    targets = _backward_inputs(inputs)
    outputs = _as_tuple(tensors)
    weights = _weights_for(outputs, grad_tensors, isinstance(tensors, (Tensor, GradientEdge)))
    record = bool(create_graph)
    retain = record if retain_graph is None else bool(retain_graph)
    roots, cotangents = _roots(outputs, weights, record)
    if record and inputs is None:
        _warn_cycle()
    keys = None if targets is None else [_edge_of(target) for target in targets]
    passes.backward_to_leaves(roots, cotangents, retain, record, keys)


@without_unknown
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
    **unknown: Any,
) -> Any:
    """The gradients of `outputs`, weighted by `grad_outputs`, with respect to `inputs`; `.grad` is not touched.

    The answer is a tuple, one gradient for each input. `grad_outputs` has weights of the shape of each output; None for
    one with a single element. With `is_grads_batched` the weights have one more axis in front, and so do the gradients.
    `retain_graph` keeps the graph for another pass; `create_graph` also records this one, for derivatives of
    derivatives. An input that the outputs do not depend on is an error, unless `allow_unused` (None for it) or
    `materialize_grads` (zeros).
    """
    if unknown:
        seams.refuse_keywords(grad, unknown)
    if type(outputs) is Tensor and not (
        create_graph or is_grads_batched or materialize_grads or outputs._view is not None or not only_inputs
    ):
        found = _try_gradients_of_leaves(outputs, inputs, grad_outputs, bool(retain_graph))
        if found is not None:
            return found
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    if not only_inputs:
        warnings.warn(
            "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for "
            "other parts of the graph, please use torch.autograd.backward.",
            FutureWarning,
            stacklevel=2,
        )
    names, targets = _grad_inputs(inputs)
    given = _as_tuple(outputs)
    weights = _weights_for(given, grad_outputs, isinstance(outputs, (Tensor, GradientEdge)))
    record = bool(create_graph)
    retain = record if retain_graph is None else bool(retain_graph)
    starts = None if is_grads_batched else _roots(given, weights, record)  # torch complains about outputs first
    keys = [_edge_of(target) for target in targets]
    if starts is None:
        from ..transforms.batched_grad import batched_gradients

        gradients = batched_gradients(given, weights, keys, retain, record)
    else:
        gradients = passes.backward_to_inputs(*starts, keys, retain, record)
    answers = tuple(
        _checked_gradient(gradient, key, target, position, allow_unused, materialize_grads, record)
        for position, (gradient, key, target) in enumerate(zip(gradients, keys, targets, strict=True))
    )
    return answers if names is None else dict(zip(names, answers, strict=True))


def _try_gradients_of_leaves(root: Tensor, inputs: Targets, weight: Weight, retain: bool) -> tuple[Tensor, ...] | None:
    """`grad` without detours, for leaves that are all there is to reach; None if it takes more than that."""
    target = root._node
    if target is None:
        return None
    anchors = []
    for leaf in (inputs,) if isinstance(inputs, Tensor) else inputs if type(inputs) in (list, tuple) else ():
        anchor = leaf._anchor if isinstance(leaf, Tensor) and leaf._node is None and leaf._requires_grad else None
        if anchor is None:
            return None
        anchors.append(anchor)
    if not anchors:
        return None
    array = root._array
    if weight is None:
        cotangent = _implicit_one(root, array.shape, array.dtype)
    else:
        given = weight._array if type(weight) is Tensor else None
        if type(given) is not ndarray or given.dtype is not array.dtype or given.shape != array.shape:
            return None
        cotangent = given
    return passes.gradients_of_leaves(target, root._output_nr, cotangent, anchors, retain)


# --- roots and weights -----------------------------------------------------------------------------------------------


def _as_tuple(tensors: Targets) -> Outputs:
    if isinstance(tensors, (Tensor, GradientEdge)):
        return (tensors,)
    return tuple(tensors)


def _weights_for(outputs: Outputs, weights: Any, single: bool) -> tuple[Weight, ...]:
    """One weight, or None, for each output. For a single output, anything that makes a tensor will do."""
    if weights is None:
        return (None,) * len(outputs)
    if isinstance(weights, Tensor):
        weights = (weights,)
    elif single and not (isinstance(weights, (list, tuple)) and len(weights) == 1 and isinstance(weights[0], Tensor)):
        if isinstance(weights, (list, tuple)) and (not weights or weights[0] is None or isinstance(weights[0], Tensor)):
            weights = tuple(weights)
        else:
            weights = (weights,)
    else:
        weights = tuple(weights)
    if len(weights) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(weights)} gradients")
    return weights


def _roots(outputs: Outputs, weights: tuple[Weight, ...], record: bool) -> tuple[list[Root], list[Cotangent]]:
    roots, cotangents = [], []
    for position, (output, weight) in enumerate(zip(outputs, weights, strict=True)):
        target, slot = root_of(output, position, weight)
        shape, dtype = metadata_of(target, slot)
        if weight is None:
            cotangent = _implicit_one(output, shape, dtype)
        else:
            cotangent = _weight_array(weight, shape, dtype, position, output)
        roots.append((target, slot))
        if record:
            cotangents.append(cotangent if isinstance(cotangent, Tensor) else wrap(cotangent))
        else:
            cotangents.append(cotangent._array if isinstance(cotangent, Tensor) else cotangent)
    return roots, cotangents


def root_of(output: Output, position: int, weight: Weight) -> Root:
    """The edge a root stands for."""
    if isinstance(output, GradientEdge):
        return _edge_of(output)
    if not isinstance(output, Tensor):
        raise TypeError(f"expected tensors to differentiate, but element {position} is a {type(output).__name__}")
    if not output.requires_grad:
        if weight is not None and isinstance(weight, Tensor) and weight._array.shape != output._array.shape:
            _shape_mismatch(weight._array.shape, output._array.shape, position, output)
        raise RuntimeError(
            f"element {position} of tensors does not require grad and does not have a grad_fn. It was computed without "
            "gradients: from leaves that do not have requires_grad=True, under no_grad(), after detach(), or by an "
            f"operation with integer or boolean results.{_described(output)}"
        )
    if output._view is not None:
        refresh_or_raise(output)
    return (anchor_of(output), 0) if output._node is None else (output._node, output._output_nr)


def _implicit_one(output: Output, shape: Shape, dtype: DType) -> Array:
    if shape == ():
        if dtype.kind != "c":
            array = getattr(output, "_array", None)  # an edge has none
            return np.ones_like(array) if is_elsewhere(array) else dtype.type(1)
    elif int(np.prod(shape)) != 1:
        raise needs_weights(output, shape)
    if dtype.kind == "c":
        raise RuntimeError(
            f"grad can be implicitly created only for real scalar outputs but got {from_numpy_dtype(dtype)!r}. "
            "Pass gradient=..., or take a real function of the result such as .abs()."
        )
    return np.ones(shape, dtype)


def needs_weights(output: Output, shape: Shape) -> RuntimeError:
    """The founding error. Its text is torch's to the letter; the way out is a note, which tracebacks show below it."""
    error = RuntimeError("grad can be implicitly created only for scalar outputs")
    node = getattr(output, "_node", None)
    made_by = "" if node is None else f" [made by {node.name()}]"
    named = f" named {output._name!r}" if isinstance(output, Tensor) and output._name else ""
    error.add_note(
        f"This tensor{named} has shape {shape}{made_by}. Weight its elements with backward(gradient=<tensor of shape "
        f"{shape}>) (grad_outputs= in autograd.grad), or reduce it first: .sum(), .mean()."
    )
    return error


def _weight_array(weight: Weight, shape: Shape, dtype: DType, position: int, output: Output) -> Tensor:
    """A given weight as tensor or array of exactly the output's shape, in its dtype."""
    tensor = dense(weight) if isinstance(weight, Tensor) else foreign_weight(weight, dtype)
    array = tensor._array
    if array.shape != shape:
        _shape_mismatch(array.shape, shape, position, output)
    if (array.dtype.kind == "c") != (dtype.kind == "c"):
        raise RuntimeError(
            "For complex Tensors, both grad_output and output are required to have the same dtype. Mismatch in dtype: "
            f"grad_output[{position}] has a dtype of {from_numpy_dtype(array.dtype)!r} and output[{position}] has a "
            f"dtype of {from_numpy_dtype(dtype)!r}."
        )
    if array.dtype == dtype:
        return tensor
    from ..ops.casting import cast

    return cast(tensor, dtype=dtype)


def foreign_weight(weight: Weight, dtype: DType) -> Tensor:
    """Weights given as a number, a list or an ndarray: torch refuses them, we do not."""
    array = np.asarray(weight)
    if array.dtype.kind not in "biufcV":
        raise TypeError(f"gradients can be either Tensors or None, but got {type(weight).__name__}")
    if array.dtype.kind != "c" or dtype.kind == "c":
        array = array.astype(dtype)
    return wrap(array)


def _shape_mismatch(given: Shape, wanted: Shape, position: int, output: Output) -> None:
    error = RuntimeError(
        f"Mismatch in shape: grad_output[{position}] has a shape of torch.Size({list(given)}) and output[{position}] "
        f"has a shape of torch.Size({list(wanted)})."
    )
    error.add_note(
        "The weights need exactly the output's shape, without broadcasting: expand them first, as in "
        f"gradient.expand_as(output).{_described(output)}"
    )
    raise error


def _warn_cycle() -> None:
    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the parameter and its gradient "
        "which can cause a memory leak. We recommend using autograd.grad when creating the graph to avoid this. If "
        "you have to use this function, make sure to reset the .grad fields of your parameters to None after use to "
        "break the cycle and avoid the leak.",
        UserWarning,
        stacklevel=4,
    )


# --- inputs ----------------------------------------------------------------------------------------------------------


def _backward_inputs(inputs: Targets) -> list[Output] | None:
    if inputs is None:
        return None
    if hasattr(inputs, "keys"):
        inputs = _plain_dict(inputs, "backward").values()
    targets = [inputs] if isinstance(inputs, (Tensor, GradientEdge)) else list(inputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `backward()` cannot be empty.")
    for target in targets:
        if isinstance(target, Tensor):
            if not target.requires_grad:
                raise RuntimeError(
                    "One of the differentiated Tensors does not require grad"
                    if target._node is not None
                    else f"can't retain_grad on Tensor that has requires_grad=False.{_described(target)}"
                )
            if target._node is not None:
                target.retain_grad()
    return targets


def _grad_inputs(inputs: Targets) -> tuple[list[str] | None, list[Output]]:
    names = None
    if hasattr(inputs, "keys"):
        inputs = _plain_dict(inputs, "grad")
        names = list(inputs)
        inputs = list(inputs.values())
    targets = [inputs] if isinstance(inputs, (Tensor, GradientEdge)) else list(inputs)
    if not targets:
        raise RuntimeError("`inputs` argument to `grad()` cannot be empty.")
    return names, targets


def _plain_dict(inputs: Targets, function: str) -> dict[str, Output]:
    if type(inputs) is not dict:
        raise TypeError(
            f"`inputs` argument to `{function}()` must be a dict, not {type(inputs).__name__}. Other Mapping types "
            "are not supported."
        )
    return inputs


def _edge_of(target: Output) -> Root:
    """(node or leaf anchor, output number) of a tensor or a GradientEdge."""
    if isinstance(target, GradientEdge):
        node = target.node
        return (node.anchor, 0) if isinstance(node, AccumulateGrad) else (node, target.output_nr)
    if not isinstance(target, Tensor):
        raise RuntimeError(f"all inputs have to be Tensors or GradientEdges, but got {type(target).__name__}")
    if not target.requires_grad:
        raise RuntimeError(
            "One of the differentiated Tensors does not require grad. Call requires_grad_() on it before the forward "
            f"pass.{_described(target)}"
        )
    if target._view is not None:
        refresh_or_raise(target)
    return (anchor_of(target), 0) if target._node is None else (target._node, target._output_nr)


def _checked_gradient(
    gradient: Gradient, key: Root, target: Output, position: int, allow_unused: bool, materialize: bool, record: bool
) -> Tensor | None:
    if gradient is not None:
        return gradient
    if not allow_unused:
        raise RuntimeError(
            f"The differentiated Tensor at index {position} appears to not have been used in the graph. Set "
            f"allow_unused=True if this is the desired behavior.{_described(target)}"
        )
    if not materialize:
        return None
    if isinstance(target, GradientEdge):
        raise RuntimeError("materialize_grads cannot be used when the given input is a GradientEdge")
    shape, dtype = metadata_of(*key)
    zeros = wrap(np.zeros(shape, dtype))  # of the input's shape, as in torch, also where gradients are batched
    zeros._requires_grad = record
    return zeros


def _described(target: Output) -> str:
    """Describe a tensor at the end of a message: its name in the program, and its shape."""
    return f" {seams.describe_tensor(target)}" if isinstance(target, Tensor) else ""


def _calculate_shape(output: Output, grad: Tensor, is_grads_batched: bool) -> tuple[Shape, Shape]:
    """The shapes of an output and of its weight that have to agree."""
    shape = Size(metadata_of(*_edge_of(output))[0]) if isinstance(output, GradientEdge) else output.shape
    return shape, Size(grad.shape[1:]) if is_grads_batched else grad.shape
