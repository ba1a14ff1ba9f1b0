"""Operations under the names and arguments of torch's core: `MulBackward0` is what `aten.mul.Tensor` recorded.

What a `TorchDispatchMode` is shown. Names follow from those of the nodes where the field `aten` gives no other; arguments are in
torch's order for the operations people look at, and for all others tensors in order and parameters by name.
Operations that torch makes of several of its own, and are one here, are taken apart where products are involved
(`PARTS`), so that these can be counted and kept; others show as the operation that gives them their name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from ...core.basics.dtypes import from_numpy_dtype
from ...core.op import Op
from ...core.running import running_sweep
from ...core.tape import apply
from ...core.tensor import Tensor
from ...ops import convolution, matmul, shape
from .aten_forms import in_order

Arguments = tuple[list[Any], dict[str, Any]]

# --- names ---

_SPECIAL = re.compile(r"(Airy|Bessel|Modified|Scaled(?!Dot)|Spherical|Chebyshev|Shifted|Hermite|Laguerre|Legendre)")
_IN_PLACE = {"Tensor_Scalar": "Scalar", "Tensor_Tensor": "Tensor"}  # overloads that are called otherwise there


def name_of(op: Op, in_place: bool = False) -> tuple[str, str]:
    """Name and overload of the operator of torch's core that is one of our operations: its field `aten`, or by its node."""
    name, _, overload = (op.aten or _name_by_node(op.node_name)).partition(".")
    if in_place or name.endswith("_"):
        return f"{name.removesuffix('_')}_", _IN_PLACE.get(overload, overload or "default")
    return name, overload or "default"


@cache
def _name_by_node(node_name: str) -> str:
    """`native_layer_norm` for "NativeLayerNormBackward0"."""
    found = re.fullmatch(r"(?:.*::)?(.+?)(?:Backward\d*|Backwards)?(_copy)?", node_name)
    assert found is not None
    stem, ending = found[1], found[2] or ""
    words = re.sub(r"(\d)([A-Z])", lambda each: each[1] + each[2].lower(), stem)
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", words).lower()
    return f"special_{name}{ending}" if _SPECIAL.match(stem) else name + ending


# --- arguments ---


def _trimmed(*args: Any) -> list[Any]:
    """Arguments without the False at the end that torch leaves out."""
    return list(args[:-1] if args[-1] is False else args)


def _over_axes(x: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Arguments:
    if axis is None:
        return [x], others
    axes = [axis] if isinstance(axis, int) else list(axis)
    return _trimmed(x, axes, keepdims), others


def _along(x: Any, axis: Any = None, keepdims: bool = False, **others: Any) -> Arguments:
    if axis is None or axis == ():
        return [x], others
    return _trimmed(x, axis[0] if isinstance(axis, tuple) else axis, keepdims), others


def _shaped(x: Any, shape: Any) -> Arguments:
    return [x, list(shape)], {}


def _swapped(x: Any, axes: Any) -> Arguments:
    moved = [number for number, axis in enumerate(axes) if axis != number]
    return [x, *(moved or [0, 0])], {}


def _selected(x: Any, index: Any) -> Arguments:
    places = [number for number, part in enumerate(index) if isinstance(part, int)]
    return ([x, places[0], index[places[0]]], {}) if len(places) == 1 else ([x], {"index": index})


def _sliced(x: Any, index: Any) -> Arguments:
    cuts = [(number, part) for number, part in enumerate(index) if isinstance(part, slice) and part != slice(None)]
    if len(cuts) != 1 or len(index) > x.ndim:
        return [x], {"index": index}
    number, part = cuts[0]
    start, stop, step = part.indices(x.shape[number])
    return [x, number, start, stop, *([step] if step != 1 else [])], {}


def _lengthened(x: Any, **where: Any) -> Arguments:
    """By a dim at one place, which `x[None]` says by an index."""
    (place,) = where.values()
    if isinstance(place, tuple):
        added = [number for number, part in enumerate(place) if part is None]
        place = added[0] if len(added) == 1 and all(part in (None, slice(None)) for part in place) else place
    return [x, place], {}


def _picked(x: Any, index: Any) -> Arguments:
    from ...functional.creation import as_tensor

    parts = [None if isinstance(part, slice) else as_tensor(part) for part in index]
    while parts and parts[-1] is None:
        parts.pop()
    return [x, parts], {}


def _put(x: Any, values: Any, index: Any, accumulate: bool = False) -> Arguments:
    return [x, _picked(x, index)[0][1], values, *([True] if accumulate else [])], {}


def _into_selected(x: Any, source: Any, index: Any) -> Arguments:
    args, named = _selected(x, index)
    return [x, source, *args[1:]], named


def _into_sliced(x: Any, source: Any, index: Any) -> Arguments:
    args, named = _sliced(x, index)
    return [x, source, *args[1:]], named


def _reduced_into(x: Any, index: Any, source: Any, axis: int, reduce: str, include_self: bool = True) -> Arguments:
    return [x, axis, index, source, reduce], {} if include_self else {"include_self": False}


def _embedded(x: Any, shape: Any, offset: int, axis1: int, axis2: int) -> Arguments:
    axes = [] if (axis1, axis2) == (x.ndim - 1, x.ndim) else [axis1, axis2]
    return [x, *([offset, *axes] if offset or axes else [])], {}


def _squeezed(x: Any, axes: Any = ()) -> Arguments:
    return [x, *([] if not axes else axes if len(axes) == 1 else [list(axes)])], {}


def _walked(x: Any, size: Any, stride: Any, offset: int = 0, **_: Any) -> Arguments:
    return [x, list(size), list(stride), *([offset] if offset else [])], {}


def _varied(x: Any, axis: Any = None, keepdims: bool = False, correction: Any = 1) -> Arguments:
    """Of variances: over all dims these are left out, and the usual correction is."""
    everything = not keepdims and (axis is None or isinstance(axis, tuple) and len(axis) == x.ndim)
    args = [x] if everything else _over_axes(x, axis, keepdims)[0]
    return args, {"correction": correction} if correction != 1 or not everything else {}


def _without_usual(*args: Any, usual: tuple[Any, ...] = (None,)) -> Arguments:
    """Arguments without those at the end that have their usual values."""
    count = len(args)
    while count > 1 and not isinstance(args[count - 1], Tensor) and args[count - 1] in usual:
        count -= 1
    return list(args[:count]), {}


def _weighed(x: Any, target: Any, weight: Any = None, positive: Any = None, reduction: str = "mean") -> Arguments:
    return _without_usual(x, target, weight, positive, {"none": 0, "sum": 2}.get(reduction))


def _filled(x: Any, mask: Any, value: Any) -> Arguments:
    """A number, which became a tensor on the way, is shown as the number."""
    plain = isinstance(value, Tensor) and not value.ndim and not value.requires_grad
    return [x, mask, value.item() if plain else value], {}


def _solved(a: Any, b: Any, left: bool = True, upper: bool = True, unit: bool = False) -> Arguments:
    return [a, b], {"upper": upper} | ({} if left else {"left": False}) | ({"unitriangular": True} if unit else {})


def _extremes(x: Any, axis: Any, keepdims: bool = False) -> Arguments:
    over = (
        {} if isinstance(axis, tuple) and len(axis) == x.ndim else {"dim": axis[0] if isinstance(axis, tuple) else axis}
    )
    return [x], over | ({"keepdim": True} if keepdims else {})


def _with_factors(*inputs: Any, **factors: Any) -> Arguments:
    return list(inputs), {name: factor for name, factor in factors.items() if factor != 1}


def _in_order(*inputs: Any, **params: Any) -> Arguments:
    return [*inputs, *params.values()], {}


def _cast(x: Any, dtype: Any) -> Arguments:
    return [x], {"dtype": from_numpy_dtype(dtype)}


def _convolved(x: Any, weight: Any, bias: Any = None, **geometry: Any) -> Arguments:
    """`convolution`, or with `spatial` the transposed one."""
    stride, padding, dilation = (list(geometry[name]) for name in ("stride", "padding", "dilation"))
    spatial = geometry.get("spatial")
    extra = [0] * len(stride)
    if spatial is not None:
        extra = [
            size - ((given - 1) * step - 2 * pad + spread * (taps - 1) + 1)
            for size, given, step, pad, spread, taps in zip(
                spatial, x.shape[2:], stride, padding, dilation, weight.shape[2:], strict=True
            )
        ]
    return [x, weight, bias, stride, padding, dilation, spatial is not None, extra, geometry["groups"]], {}


def _convolved_back(g: Any, x: Any, **geometry: Any) -> Arguments:
    """The part of `convolution_backward` that is for the weight, which is not there: its place is None."""
    stride, padding, dilation = (list(geometry[name]) for name in ("stride", "padding", "dilation"))
    mask = [False, True, False]
    return [g, x, None, None, stride, padding, dilation, False, [0] * len(stride), geometry["groups"], mask], {}


def _convolved_back_to_input(g: Any, weight: Any, **geometry: Any) -> Arguments:
    """The part that is for the input. Of a transposed convolution it is a convolution."""
    (_, _, _, stride, padding, dilation, transposed, extra, groups), _ = _convolved(g, weight, **geometry)
    mask = [True, False, False]
    return [g, None, weight, None, stride, padding, dilation, not transposed, extra, groups, mask], {}


def _joined(*tensors: Any, axis: int = 0) -> Arguments:
    return [list(tensors), *([axis] if axis else [])], {}


def _split(x: Any, bounds: Any, axis: int = 0) -> Arguments:
    sizes = [stop - start for start, stop in bounds]
    return [x, sizes[0] if len(set(sizes[:-1])) < 2 else sizes, *([axis] if axis else [])], {}


def _padded(x: Any, before: Any, after: Any, value: Any) -> Arguments:
    pairs = list(zip(before, after, strict=True))
    while len(pairs) > 1 and pairs[0] == (0, 0):  # torch begins at the last dim, and stops at the last that grows
        del pairs[0]
    return [x, [size for pair in reversed(pairs) for size in pair], float(value)], {}


def _in_groups(x: Any, weight: Any, bias: Any, groups: int, eps: float) -> Arguments:
    return [x, weight, bias, x.shape[0], x.shape[1], math.prod(x.shape[2:]), groups, eps], {}


def _attended(query: Any, key: Any, value: Any, mask: Any, dropout: Any, scale: float, causal: bool) -> Arguments:
    return [query, key, value, 0.0, causal], {"attn_mask": mask, "scale": scale}


_ARGUMENTS: dict[str, Callable[..., Arguments]] = {
    "sum": _over_axes, "mean": _over_axes, "amax": _over_axes, "amin": _over_axes, "logsumexp": _over_axes,
    "var": _varied, "std": _varied, "var_mean": _over_axes, "std_mean": _over_axes, "nansum": _over_axes,
    "max": _along, "min": _along, "median": _along, "prod": _along, "cummax": _along, "cummin": _along,
    "cumsum": lambda x, axis, reverse=False: ([x, axis], {"reverse": True} if reverse else {}), "cumprod": _along,
    "view": _shaped, "_unsafe_view": _shaped, "expand": _shaped,
    "permute": lambda x, axes: ([x, list(axes)], {}), "transpose": _swapped, "t": lambda x, axes=None: ([x], {}),
    "unsqueeze": _lengthened,
    "select": lambda x, index=(): _selected(x, index), "slice": _sliced, "index": _picked,
    "addmm": _with_factors, "baddbmm": _with_factors, "addmv": _with_factors, "addbmm": _with_factors, "add": _with_factors,
    "sub": _with_factors, "rsub": _with_factors,
    "pow": lambda x, b=2, **scalar: ([x, scalar.get("exponent", b)] if "base" not in scalar else [scalar["base"], x], {}),
    "_softmax": lambda x, axis: ([x, axis, False], {}), "_log_softmax": lambda x, axis: ([x, axis, False], {}),
    "any": _along, "all": _along, "constant_pad_nd": _padded, "native_group_norm": _in_groups,
    "_cdist_forward": lambda a, b, order: ([a, b, order, None], {}),
    "searchsorted": lambda a, b, side="left", **_: ([a, b], {"right": True} if side == "right" else {}),
    "cat": _joined, "stack": _joined, "split": _split, "_to_copy": _cast,
    "clamp": lambda x, *limits, minimum=None, maximum=None: _without_usual(x, *(limits or (minimum, maximum))),
    "gelu": lambda x, approximate="none": ([x], {} if approximate == "none" else {"approximate": approximate}),
    "leaky_relu": lambda x, slope: ([x] if slope == 0.01 else [x, slope], {}), "hardtanh": _in_order, "threshold": _in_order,
    "softshrink": lambda x, lambd: ([x] if lambd == 0.5 else [x, lambd], {}), "softshrink_backward": _in_order,
    "hardshrink": lambda x, lambd: ([x] if lambd == 0.5 else [x, lambd], {}), "hardshrink_backward": _in_order,
    "leaky_relu_backward": lambda g, x, slope: ([g, x, slope, False], {}), "hardtanh_backward": _in_order,
    "threshold_backward": lambda g, x, limit=0: ([g, x, limit], {}),
    "embedding": lambda weight, indices, **_: ([weight, indices], {}),
    "_scaled_dot_product_flash_attention_for_cpu": _attended, "convolution": _convolved,
    "convolution_backward": _convolved_back,
    "scatter_reduce": _reduced_into, "index_reduce": _reduced_into, "index_put": _put, "masked_fill": _filled,
    "select_scatter": _into_selected, "slice_scatter": _into_sliced, "diag_embed": _embedded, "squeeze": _squeezed,
    "as_strided": _walked, "addr": _with_factors, "linalg_solve_triangular": _solved, "aminmax": _extremes,
    "clamp_min": lambda x, limit=None, minimum=None, maximum=None: ([x, minimum if limit is None else limit], {}),
    "clamp_max": lambda x, limit=None, minimum=None, maximum=None: ([x, maximum if limit is None else limit], {}),
    "_linalg_eigh": lambda x, lower=True: ([x] if lower else [x, "U"], {}),
    "adaptive_max_pool2d": lambda x, output: ([x, list(output)], {}),
    "adaptive_max_pool3d": lambda x, output: ([x, list(output)], {}),
    "binary_cross_entropy_with_logits": _weighed, "logit": lambda x, eps=None: _without_usual(x, eps),
    "split_with_sizes": lambda x, bounds, axis=0: (
        [x, [stop - start for start, stop in bounds], *([axis] if axis else [])], {}
    ),
    "histc": lambda x, bins, low, high: _without_usual(x, bins, low, high, usual=(0,)),
    "bincount": lambda x, weights=None, minlength=0: _without_usual(x, weights, minlength, usual=(None, 0)),
    "block_diag": lambda *tensors: ([list(tensors)], {}),
    "fill": lambda x, value: ([x, value.item() if isinstance(value, np.generic) else value], {}),
    **dict.fromkeys(("normal", "uniform", "bernoulli"), lambda x, *drawn, **how: ([x], {})),
}  # fmt: skip
_PARAMETERS = {"axis": "dim", "keepdims": "keepdim"}


def arguments_of(op: Op, inputs: tuple[Any, ...], params: dict[str, Any], name: str) -> Arguments:
    """The arguments of one application under a name: tensors in order, then parameters, as torch's operator takes them."""
    if name == "convolution_backward" and name_of(op)[0] == "convolution":
        return _convolved_back_to_input(*inputs, **params)
    ordered = in_order(name.removesuffix("_"), inputs, params)
    if ordered is not None:
        return ordered
    written_out = _ARGUMENTS.get(name_of(op)[0].removesuffix("_"))
    if written_out is not None:
        try:
            return written_out(*inputs, **params)
        except TypeError:
            pass  # an operation of ours that shares the name and has other parameters
    args = [value.item() if isinstance(value, np.generic) else value for value in inputs]
    return args, {_PARAMETERS.get(name, name): value for name, value in params.items()}


def operator_name(op: Op, in_place: bool, grad: bool) -> tuple[str, str]:
    """Name and overload that an operation is shown under; transposes share the names of their nodes with others."""
    shown = name_of(op, in_place)
    if shown[0] == "convolution" and not grad and running_sweep() is not None:
        return "convolution_backward", "default"
    return shown


# Functions that torch's core has around an operator, and which a profile shows as well.
_AROUND = {
    "_softmax": "softmax", "_log_softmax": "log_softmax", "native_layer_norm": "layer_norm", "native_batch_norm": "batch_norm",
    "native_group_norm": "group_norm", "_embedding_bag": "embedding_bag", "_to_copy": "to",
    "_scaled_dot_product_flash_attention_for_cpu": "scaled_dot_product_attention", "nll_loss_forward": "nll_loss",
}  # fmt: skip


def profiled_names(op: Op, inputs: tuple[Any, ...]) -> list[str]:
    """The names under which a profile shows an operation, the outermost first."""
    name = operator_name(op, False, True)[0]
    if op.rare.taken_apart == "layer":
        return ["linear", name]
    if op is matmul.matmul:
        return ["matmul", "mm" if inputs[1].ndim == 2 else "bmm"]
    if op in (convolution.convolution, convolution.convolution_biased):
        return [f"conv{inputs[0].ndim - 2}d", name]
    around = _AROUND.get(name)
    return [name] if around is None else [around, name]


# --- operations that torch makes of several ---


def _product(a: Tensor, b: Tensor) -> Tensor:
    """`a @ b` as torch's core does it: products of two matrices, or of two stacks of them, and views around it."""
    if a.ndim < 2 or b.ndim < 2:
        return apply(matmul.mv if b.ndim == 1 and a.ndim == 2 else matmul.dot, (a, b))
    if b.ndim == 2:
        if a.ndim == 2:
            return apply(matmul.mm, (a, b))
        rows = a.reshape((math.prod(a.shape[:-1]), a.shape[-1]))
        return _unfolded(apply(matmul.mm, (rows, b)), (*a.shape[:-1], b.shape[-1]))
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    stacks = math.prod(lead)
    left, right = (each.expand((*lead, *each.shape[-2:])).reshape((stacks, *each.shape[-2:])) for each in (a, b))
    return _unfolded(apply(matmul.bmm, (left, right)), (*lead, a.shape[-2], b.shape[-1]))


def _unfolded(x: Tensor, size: tuple[int, ...]) -> Tensor:
    return apply(shape.unsafe_reshape, (x,), {"shape": size})


def _layer(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if bias is None or weight.ndim != 2 or x.ndim < 2:
        product = _product(x, weight.t())
        return product if bias is None else product + bias
    rows = x if x.ndim == 2 else x.reshape((math.prod(x.shape[:-1]), x.shape[-1]))
    out = apply(matmul.addmm, (bias, rows, weight.t()), {"beta": 1, "alpha": 1})
    return out if x.ndim == 2 else out.reshape((*x.shape[:-1], weight.shape[0]))


def _contraction(a: Tensor, b: Tensor, labels: tuple[Any, ...]) -> Tensor:
    """The product behind einsum, as one of two stacks of matrices."""
    first, second, last, batch, ours, theirs = matmul.arrangement(labels)
    x = a if first is None else a.permute(first)
    y = b if second is None else b.permute(second)
    lead, rows, columns = x.shape[:batch], x.shape[batch:ours], y.shape[theirs:]
    stacks, inner = math.prod(lead), math.prod(y.shape[batch:theirs])
    factors = x.reshape((stacks, math.prod(rows), inner)), y.reshape((stacks, inner, math.prod(columns)))
    product = apply(matmul.bmm, factors).reshape((*lead, *rows, *columns))
    return product if last is None else product.permute(last)


def _row_by_matrix(a: Tensor, b: Tensor) -> Tensor:
    return apply(shape.squeeze_in_place, (_product(a.unsqueeze(0), b),), {"axes": (0,)})


# By the field `taken_apart` of operations.
PARTS: dict[str, Callable[..., Tensor]] = {
    "contraction": _contraction,
    "product": _product,
    "product with transposed": lambda a, b: _product(a, b.t()),
    "product of transposed": lambda a, b: _product(a.t(), b),
    "layer": _layer,
    "row by matrix": _row_by_matrix,
}
