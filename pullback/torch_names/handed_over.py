"""How torch names its functions, and how it passes their arguments, when a `__torch_function__` takes them over.

Functions that torch writes in Python fill in what was left out and give it by name: `F.relu(x)` arrives as
`relu(x, inplace=False)`. Those of its compiled core arrive as they were called, and are found in `torch._C`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

# Written in Python in torch. The rest of a form: the arguments given by position and those given by name, where they
# are not simply those without and those with a default.
_FUNCTIONAL: dict[str, str] = dict.fromkeys(
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul lobpcg lu pca_lowrank "
    "stft svd_lowrank unique unique_consecutive".split(), ""
) | {
    "einsum": "*",
    "meshgrid": "..., indexing",
    "norm": "input, p dim keepdim out dtype",
    "split": "tensor split_size_or_sections, dim",
    "tensordot": "a b, dims out",
    "unravel_index": "indices, shape",
}  # fmt: skip
_NN_FUNCTIONAL: dict[str, str] = dict.fromkeys(
    "adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d "
    "adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid alpha_dropout "
    "batch_norm binary_cross_entropy binary_cross_entropy_with_logits celu cosine_embedding_loss cross_entropy ctc_loss "
    "dropout dropout1d dropout2d dropout3d elu embedding embedding_bag feature_alpha_dropout fold fractional_max_pool2d "
    "fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices gaussian_nll_loss glu "
    "grid_sample group_norm gumbel_softmax hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss instance_norm "
    "interpolate kl_div layer_norm leaky_relu linear_cross_entropy local_response_norm log_softmax lp_pool1d lp_pool2d "
    "lp_pool3d margin_ranking_loss max_pool1d max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d "
    "max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d mish mse_loss multi_head_attention_forward "
    "multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss normalize pad poisson_nll_loss relu "
    "relu6 rms_norm rrelu selu silu smooth_l1_loss soft_margin_loss softmax softmin softsign tanhshrink threshold "
    "triplet_margin_loss triplet_margin_with_distance_loss unfold".split(), ""
) | {"l1_loss": "input target, size_average reduce reduction"}  # fmt: skip
_NN_INIT = {  # every argument by name
    "constant_": ", tensor val", "kaiming_uniform_": ", tensor a mode nonlinearity generator",
    "normal_": ", tensor mean std generator", "uniform_": ", tensor a b generator",
}  # fmt: skip
_NN_COMPILED = frozenset("avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear log_sigmoid one_hot "
                         "scaled_dot_product_attention softplus softshrink".split())  # fmt: skip
_METHODS = dict.fromkeys("istft stft unique unique_consecutive".split(), "") | {
    "lu": "A, pivot get_infos",
    "backward": "self, gradient retain_graph create_graph inputs",
    "norm": "input, p dim keepdim dtype",
    "register_hook": "self hook,",
    "register_post_accumulate_grad_hook": "self hook,",
    "split": "input split_size, dim",
}


def _form_of(torch_name: str) -> str | None:
    """The entry for a function in the tables above; None if it arrives as it was called."""
    module, _, name = torch_name.rpartition(".")
    if module == "torch.nn.functional":
        return _NN_FUNCTIONAL.get(name)
    if module == "torch.Tensor":
        return _METHODS.get(name)
    if module == "torch.nn.init":
        return _NN_INIT[name]
    return _FUNCTIONAL.get(name) if module == "torch" else None


def drawing_functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    """The functions of `nn.init` that torch hands over, with their names: all others end in these."""
    from ..nn import init

    yield from ((f"torch.nn.init.{name}", getattr(init, name)) for name in _NN_INIT)


def passing(torch_name: str, function: Callable[..., Any]) -> Callable[[Any, Any], tuple[Any, Any]] | None:
    """What turns the arguments of a call into those that torch hands over; None if they stay as they are."""
    form = _form_of(torch_name)
    if form is None:
        return None
    if form == "*":  # one list of operands is each of them
        return lambda args, kwargs: (
            (args[0], *args[1]) if len(args) == 2 and isinstance(args[1], (list, tuple)) else args, kwargs
        )  # fmt: skip
    if form.startswith("..."):  # any number of tensors
        left_out = dict.fromkeys(form.partition(",")[2].split())
        return lambda args, kwargs: (args, left_out | kwargs)
    names: list[str] = []
    defaults: dict[str, Any] = {}

    def look_up() -> None:
        import inspect

        parameters = inspect.signature(function).parameters.values()
        if all(each.kind is not each.VAR_POSITIONAL for each in parameters):
            names.extend(each.name for each in parameters)
            defaults.update({each.name: each.default for each in parameters if each.default is not each.empty})
        if form:
            positional, by_name = (part.split() for part in form.split(","))
            names[:] = [*positional, *by_name]
            kept = {name: defaults.get(name) for name in by_name}
            defaults.clear()
            defaults.update(kept)

    def as_passed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        if not names and not defaults:
            look_up()
        given = {**dict(zip(names, args)), **kwargs}
        positional = [name for name in names if name not in defaults and name in given]
        leading = names[: len(positional)] == positional
        if len(args) > len(names) or not leading or not given.keys() <= {*positional, *defaults}:
            return args, kwargs  # any number of tensors, a mistake, or a name that only NumPy has
        by_name = {name: given.get(name, default) for name, default in defaults.items()}
        return tuple(given[name] for name in positional), by_name

    return as_passed


@cache
def _torch_names() -> dict[Any, str]:
    from types import FunctionType

    from ..torch_function import public_functions

    names: dict[Any, str] = {}
    for torch_name, function in public_functions():
        if isinstance(function, FunctionType):
            module, _, name = torch_name.rpartition(".")
            if module in ("torch.linalg", "torch.special", "torch.fft"):
                names.setdefault(function, f"torch._C._{module.rpartition('.')[2]}.{function.__name__}")
            elif module == "torch.nn.functional":
                own = name in _NN_FUNCTIONAL
                name = function.__name__
                if own or name in _NN_COMPILED:
                    names[function] = f"{module}.{name}" if own else f"torch._C._nn.{name}"
                else:
                    names.setdefault(function, f"torch.{name}")
            else:
                names.setdefault(function, f"torch.functional.{name}" if name in _FUNCTIONAL else torch_name)
    return names


def torch_name_of(function: Any) -> str | None:
    """The dotted name torch has for a function of the library: `torch._C._nn.gelu`; None for what is not one."""
    try:
        return _torch_names().get(function)
    except TypeError:
        return None  # it has no hash
