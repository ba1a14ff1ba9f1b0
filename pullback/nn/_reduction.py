"""The `reduction` argument of losses, and the two booleans it replaced."""

from __future__ import annotations

from ..core.basics.notices import warn_user

__all__ = ["get_enum", "legacy_get_enum", "legacy_get_string"]


def get_enum(reduction: str) -> int:
    """0 for none, 1 for mean, 2 for sum."""
    if reduction == "elementwise_mean":
        warn_user("reduction='elementwise_mean' is deprecated. Please use reduction='mean' instead.")
        return 1
    try:
        return ("none", "mean", "sum").index(reduction)
    except ValueError:
        raise ValueError(f"{reduction} is not a valid value for reduction") from None


def legacy_get_string(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> str:
    """The reduction that the old arguments `size_average` and `reduce` mean."""
    try:
        averaged = "mean" if size_average is None or size_average else "sum"
        name = averaged if reduce is None or reduce else "none"
    except RuntimeError as error:  # a tensor of several elements is neither true nor false
        error.add_note("A loss module is made first and then called: nn.MSELoss()(output, target).")
        raise
    if emit_warning:
        warn_user(f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.")
    return name


def legacy_get_enum(size_average: bool | None, reduce: bool | None, emit_warning: bool = True) -> int:
    """The number of `legacy_get_string`'s answer."""
    return get_enum(legacy_get_string(size_average, reduce, emit_warning))
