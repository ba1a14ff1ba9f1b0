"""`torch.__future__`: how conversions such as `module.to(dtype)` treat parameters.

By default a parameter stays the same object and gets new data. It can be replaced by a new parameter instead
(overwrite), or exchange its contents with a new one (swap), which is what subclasses of Tensor need.
"""

from __future__ import annotations

_overwrite = False
_swap = False


def set_overwrite_module_params_on_conversion(value: bool) -> None:
    """Let conversions put new parameters into modules (True), or new data into the same parameters (False)."""
    global _overwrite
    _overwrite = value


def get_overwrite_module_params_on_conversion() -> bool:
    return _overwrite


def set_swap_module_params_on_conversion(value: bool) -> None:
    """Let conversions exchange parameters with their converted forms by `torch.utils.swap_tensors`, or not."""
    global _swap
    _swap = value


def get_swap_module_params_on_conversion() -> bool:
    return _swap
