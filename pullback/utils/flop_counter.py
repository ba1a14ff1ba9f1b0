"""`torch.utils.flop_counter`: floating point operations of products and convolutions, forward and backward.

A dispatch mode looks at the shapes of what operators are called with (`shell/dispatch.py`), and a table says what that costs.
Sums, activations and the like cost nothing, as in torch.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from math import prod
from typing import Any

from ..core.basics.notices import warn_user
from ..core.tensor import Tensor
from ..shell.torch_names.operators import Packet, namespace, overload_of
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map
from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

flop_registry: dict[Any, Callable[..., int]] = {}


def _shape_of(value: Any) -> Any:
    return tuple(value.shape) if isinstance(value, Tensor) else value


def shape_wrapper(formula: Callable[..., int]) -> Callable[..., int]:
    """A formula of shapes, as one of tensors."""

    def of_tensors(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        args, kwargs, out_shape = tree_map(_shape_of, (args, kwargs, out_val))
        return formula(*args, out_shape=out_shape, **kwargs)

    return of_tensors


def register_flop_formula(targets: Any, get_raw: bool = False) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Decorate a formula for operators (`torch.ops.aten.mm`): it gets the shapes of arguments and `out_shape`.

    With `get_raw` it gets the arguments themselves and `out_val`.
    """

    def keep(formula: Callable[..., int]) -> Callable[..., int]:
        counted = formula if get_raw else shape_wrapper(formula)
        for target in targets if isinstance(targets, (list, tuple)) else (targets,):
            if not isinstance(target, Packet):
                raise ValueError(
                    f"register_flop_formula(targets): expected each target to be OpOverloadPacket, got {target}"
                )
            flop_registry[target] = counted
        return formula

    return keep


# --- what operators cost ---

aten = namespace("aten")


@register_flop_formula(aten.mm)
def mm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """A product of matrices: a multiplication and an addition for each term."""
    return prod(a_shape) * b_shape[-1] * 2


@register_flop_formula(aten.addmm)
def addmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """The product in `addmm`."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.bmm)
def bmm_flop(a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """Products of stacks of matrices."""
    return mm_flop(a_shape, b_shape)


@register_flop_formula(aten.baddbmm)
def baddbmm_flop(self_shape: Any, a_shape: Any, b_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any) -> int:
    """The products in `baddbmm`."""
    return mm_flop(a_shape, b_shape)


def conv_flop_count(x_shape: Any, w_shape: Any, out_shape: Any, transposed: bool = False) -> int:
    """A convolution: every tap of every filter at every place it is put, twice."""
    places = (x_shape if transposed else out_shape)[2:]
    return prod(places) * prod(w_shape) * x_shape[0] * 2


@register_flop_formula(aten.convolution)
def conv_flop(
    x_shape: Any, w_shape: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool, *args: Any,
    out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """A convolution or a transposed one."""
    return conv_flop_count(x_shape, w_shape, out_shape, transposed)


def conv_backward_flop(
    grad_shape: Any, x_shape: Any, w_shape: Any, bias: Any, stride: Any, padding: Any, dilation: Any, transposed: bool,
    output_padding: Any, groups: int, output_mask: Any, out_shape: Any = None, **kwargs: Any,
) -> int:  # fmt: skip
    """The gradient of the input or that of the weight, of which groups are not looked at, as in torch."""
    if output_mask[0]:
        return conv_flop_count(grad_shape, w_shape, out_shape, not transposed)
    return prod(grad_shape) * x_shape[1] * prod(out_shape[2:]) * 2


def sdpa_flop_count(query_shape: Any, key_shape: Any, value_shape: Any) -> int:
    """Attention: scores, and their product with the values."""
    scores = prod(query_shape) * key_shape[-2] * 2
    return scores + prod(query_shape[:-1]) * prod(value_shape[-2:]) * 2


def sdpa_flop(
    query_shape: Any, key_shape: Any, value_shape: Any, *args: Any, out_shape: Any = None, **kwargs: Any
) -> int:
    """Scaled dot-product attention."""
    return sdpa_flop_count(query_shape, key_shape, value_shape)


def _register_private() -> None:
    for name, formula in (
        ("convolution_backward", conv_backward_flop), ("_scaled_dot_product_flash_attention_for_cpu", sdpa_flop)
    ):  # fmt: skip
        register_flop_formula(overload_of("aten", name, "default").overloadpacket)(formula)


_register_private()

# --- counting ---

_SUFFIXES = ["", "K", "M", "B", "T"]


def get_suffix_str(number: int) -> str:
    """The suffix under which a number has few digits: thousands, millions, ..."""
    return _SUFFIXES[max(0, min(len(_SUFFIXES) - 1, (len(str(number)) - 2) // 3))]


def convert_num_with_suffix(number: int, suffix: str) -> str:
    """A number in thousands, millions, ..."""
    return f"{number / 1000 ** _SUFFIXES.index(suffix):.3f}{suffix}"


def convert_to_percent_str(num: int, denom: int) -> str:
    """A share in percent."""
    return "0%" if denom == 0 else f"{num / denom:.2%}"


class _Counting(TorchDispatchMode):
    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter: FlopCounterMode = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return self.counter._count_flops(func._overloadpacket, func(*args, **kwargs), args, kwargs)


class FlopCounterMode:
    """Counts inside a `with` block, by module and operator; prints a table at the end unless `display` is False."""

    def __init__(
        self,
        mods: Any = None,
        depth: int | None = 2,
        display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:
        if mods is not None:
            warn_user("mods argument is not needed anymore, you can stop passing it")
        self.depth: int | None = depth
        self.display: bool = display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        custom = {
            operator: formula if getattr(formula, "_get_raw", False) else shape_wrapper(formula)
            for operator, formula in (custom_mapping or {}).items()
        }
        self.flop_registry: dict[Any, Callable[..., int]] = {**flop_registry, **custom}
        self.mod_tracker: ModuleTracker = ModuleTracker()

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._mode = _Counting(self)
        self._mode.__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        self._mode.__exit__(*args)
        del self._mode  # it refers to us
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def _count_flops(self, packet: Any, out: Any, args: Any, kwargs: Any) -> Any:
        formula = self.flop_registry.get(packet)
        if formula is not None:
            count = formula(*args, **kwargs, out_val=out)
            for parent in self.mod_tracker.parents:
                self.flop_counts[parent][packet] += count
        return out

    def get_total_flops(self) -> int:
        """Everything that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Counts by module and operator; "Global" holds all of them."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table, of modules down to a depth."""
        depth = depth or self.depth or 999999
        total = self.get_total_flops()
        rows: list[list[str]] = []
        inside = [name for name in sorted(self.flop_counts) if name != "Global" and name.count(".") < depth]
        whole = any(sum(self.flop_counts[name].values()) >= total for name in inside)
        if "Global" in self.flop_counts and not whole:
            rows += self._rows("Global", 0, total)
        for name in inside:
            rows += self._rows(name, name.count(".") + (not whole), total)
        return _table(["Module", "FLOP", "% Total"], rows or [["Global", "0", "0%"]])

    def _rows(self, name: str, indent: int, total: int) -> list[list[str]]:
        suffix, counts = get_suffix_str(total), self.flop_counts[name]
        return [
            [" " * indent + label, convert_num_with_suffix(count, suffix), convert_to_percent_str(count, total)]
            for label, count in [(name, sum(counts.values())), *((f" - {each}", counts[each]) for each in counts)]
        ]


def _table(header: list[str], rows: list[list[str]]) -> str:
    """Columns with two spaces between, the first to the left and the others to the right."""
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = [header, ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True))]
        )
        for line in lines
    )
