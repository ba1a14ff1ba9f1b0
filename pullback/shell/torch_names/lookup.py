"""Dotted torch names looked up in Pullback: does `torch.nn.functional.relu` exist here, and if not, what is nearest?

Shared by the `torch` alias (which words its errors with it) and by `pullback check`. It imports Pullback's own
modules and nothing else: never torch, never the program that is being looked at.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import NoReturn

from .placeholders import advice_for

COVERAGE_PAGE: str = "docs/coverage.md"

# Modules of torch whose name means something else in Pullback (`pullback.ops` are the operations of its own tape), or
# that have no module of their own here.
ELSEWHERE: dict[str, str] = {
    "functorch": "pullback.func.older",
    "functorch.einops": "pullback.func.patterns",
    "functorch.experimental": "pullback.func.older",
    "torch._functorch.deprecated": "pullback.func.older",
    "torch._functorch.make_functional": "pullback.func.older",
    "torch._VF": "pullback",
    "torch._dynamo.eval_frame": "pullback._dynamo",
    "torch._lowrank": "pullback",
    "torch._ops": "pullback.shell.torch_names.operators",
    "torch._subclasses.fake_tensor": "pullback._subclasses",
    "torch._tensor": "pullback.core.tensor",
    "torch._tensor_str": "pullback.core.basics.printing",
    "torch._vmap_internals": "pullback.func.older",
    "torch.cuda.amp.autocast_mode": "pullback.cuda.amp",
    "torch.cuda.amp.common": "pullback.cuda.amp",
    "torch.cuda.amp.grad_scaler": "pullback.cuda.amp",
    "torch.cuda.memory": "pullback.cuda",
    "torch.cuda.random": "pullback.cuda",
    "torch.cuda.streams": "pullback.cuda",
    "torch.distributed.distributed_c10d": "pullback.distributed",
    "torch.functional": "pullback",
    "torch.fx._pytree": "pullback.fx.trees",
    "torch.multiprocessing.pool": "multiprocessing.pool",
    "torch.multiprocessing.queue": "multiprocessing.queues",
    "torch.onnx.symbolic_helper": "pullback.onnx",
    "torch.ops": "pullback.shell.torch_names.operators",
    "torch.storage": "pullback.storage",
    "torch.testing._comparison": "pullback.testing.comparison",
    "torch.utils._contextlib": "pullback.core.grad_mode",
}

# Modules that may have what was looked for in another (torch.nn.relu, torch.functional.softmax), most likely first.
_NEIGHBOURS = (
    "torch", "torch.nn", "torch.nn.functional", "torch.Tensor", "torch.linalg", "torch.special", "torch.optim",
    "torch.optim.lr_scheduler", "torch.autograd", "torch.func", "torch.utils.data",
)  # fmt: skip


# What most files of torch import: programs, and editors that write imports, find it in any of them.
_EVERYWHERE = {
    "F": "torch.nn.functional", "Module": "torch.nn.Module", "Parameter": "torch.nn.Parameter", "Size": "torch.Size",
    "Tensor": "torch.Tensor", "device": "torch.device", "dtype": "torch.dtype", "nn": "torch.nn", "torch": "torch",
}  # fmt: skip


# What other libraries call something, and where it is here. The path is left out: `torch.grad`, `torch.func.tree_map`.
_ELSEWHERE_CALLED = {
    "grad": "torch.func.grad", "value_and_grad": "torch.func.grad_and_value", "tree_map": "torch.utils._pytree.tree_map",
    "tree_flatten": "torch.utils._pytree.tree_flatten", "tree_leaves": "torch.utils._pytree.tree_leaves",
    "tree_util": "torch.utils._pytree", "pytree": "torch.utils._pytree", "stop_gradient": "torch.Tensor.detach",
    "custom_vjp": "torch.autograd.Function", "custom_jvp": "torch.autograd.Function",
    "custom_gradient": "torch.autograd.Function",
    "GradientTape": "torch.autograd.grad", "gradients": "torch.autograd.grad", "pmap": "torch.vmap", "array": "torch.tensor",
    "checkpoint": "torch.utils.checkpoint.checkpoint", "remat": "torch.utils.checkpoint.checkpoint",
    "concatenate": "torch.cat", "expand_dims": "torch.unsqueeze", "convert_to_tensor": "torch.as_tensor",
    "reduce_sum": "torch.sum", "reduce_mean": "torch.mean", "astype": "torch.Tensor.to", "random_normal": "torch.randn",
}  # fmt: skip


def _child(parent: object, name: str) -> object:
    """`parent.name`, importing a submodule that is not loaded yet; AttributeError if there is no such name."""
    try:
        return getattr(parent, name)
    except AttributeError:
        if not isinstance(parent, ModuleType) or not hasattr(parent, "__path__"):
            raise
    full_name = f"{parent.__name__}.{name}"
    try:
        return importlib.import_module(full_name)
    except ModuleNotFoundError as error:
        if error.name != full_name:
            raise
        raise AttributeError(name) from None


def find_torch_name(dotted: str) -> object:
    """The object that `torch.a.b.c` means here; AttributeError if a part of the name is missing.

    Attributes of modules and classes are checked; what hangs on an instance (`torch.float32.itemsize`) is not.
    """
    found: object = importlib.import_module("pullback")
    path = "torch"
    for part in dotted.split(".")[1:]:
        if not isinstance(found, (ModuleType, type)):
            break
        path = f"{path}.{part}"
        try:
            found = importlib.import_module(ELSEWHERE[path]) if path in ELSEWHERE else _child(found, part)
        except AttributeError:
            found = find_imported_name(path)
    return found


def find_imported_name(path: str) -> object:
    """Find a name that a file of torch imports: everyday names, and classes of its package; else AttributeError."""
    *packages, _, name = path.split(".")
    package = ".".join(packages)
    if package in ("", "torch") or not (name in _EVERYWHERE or name[:1].isupper()):
        raise AttributeError(name)
    return find_torch_name(_EVERYWHERE.get(name, f"{package}.{name}"))


def has_torch_name(dotted: str) -> bool:
    """True if `torch.a.b.c` exists in Pullback, as installed: what needs an absent optional package does not."""
    try:
        find_torch_name(dotted)
    except (AttributeError, ImportError):
        return False
    return True


def only_refuses(dotted: str) -> bool:
    """True if a name only says that it is not there: a function that never returns, or a class without objects.

    What needs a GPU does not count: a torch without one refuses it, too, and programs ask before.
    """
    found = find_torch_name(dotted)
    function = found.__init__ if isinstance(found, type) else found  # type: ignore[misc]
    never = getattr(function, "__annotations__", {}).get("return") in ("NoReturn", NoReturn)
    return never and not dotted.startswith("torch.cuda.")


def nearest_torch_name(dotted: str) -> str | None:
    """The supported name a reader most likely meant: the same name in another module, or one spelled alike; else None."""
    import difflib

    parts = dotted.split(".")
    depth = 1
    while depth < len(parts) and has_torch_name(".".join(parts[: depth + 1])):
        depth += 1
    if depth == len(parts):
        return dotted
    parent, missing = ".".join(parts[:depth]), parts[depth]
    called = _ELSEWHERE_CALLED.get(missing)
    if called is not None and depth == len(parts) - 1 and called != f"{parent}.{missing}":
        return called
    if depth == len(parts) - 1:
        for neighbour in _NEIGHBOURS:
            if neighbour != parent and has_torch_name(f"{neighbour}.{missing}"):
                return f"{neighbour}.{missing}"
    public = [name for name in dir(find_torch_name(parent)) if not name.startswith("_")]
    by_lower_case = {name.lower(): name for name in reversed(public)}
    matches = difflib.get_close_matches(missing.lower(), by_lower_case, n=1, cutoff=0.7)
    return f"{parent}.{by_lower_case[matches[0]]}" if matches else None


def explain_missing(dotted: str) -> str:
    """One or two sentences for an error message about a torch name that Pullback lacks."""
    nearest = nearest_torch_name(dotted)
    hint = f"; the nearest supported name is {nearest}" if nearest else ""
    advice = advice_for(dotted)
    return f"Pullback does not have {dotted}{hint}. {advice + ' ' if advice else ''}{COVERAGE_PAGE} lists what is supported."


class MessageWithHelp(str):
    """An error message that looks for the nearest supported name only when it is shown: `hasattr` probes stay cheap."""

    torch_name: str

    def __str__(self) -> str:
        return f"{str.__str__(self)}. {explain_missing(self.torch_name)}"


def missing_attribute(parent: str, name: str) -> AttributeError:
    """The error for `parent.name` when Pullback has no such name."""
    message = MessageWithHelp(f"module {parent!r} has no attribute {name!r}")
    message.torch_name = f"{parent}.{name}"
    # Without an object to look at, the interpreter does not add a second suggestion of its own to ours.
    return AttributeError(message, name=name, obj=None)
