"""`autocast` as a context manager and decorator, its state as torch shows it, and custom Functions under it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..core.basics.device import device
from ..core.basics.dtypes import bfloat16, dtype, float16
from ..core.basics.notices import warn_user
from ..core.mode import current_mode, set_mode
from ..core.tensor import Tensor

_dtypes: dict[str, dtype] = {"cpu": bfloat16, "cuda": float16}
_cache = True


def is_autocast_available(device_type: str) -> bool:
    """True if autocast can be used on a type of device; RuntimeError if there is no such type."""
    if device_type in ("cpu", "cuda"):
        return True
    device(device_type)  # there may be no such type of device at all
    return False


class autocast:
    """Run matrix products and convolutions in `dtype` inside a `with` block (or a decorated function).

    `device_type` is "cpu"; under "cuda" it warns and does nothing. `dtype` is bfloat16 unless given, or float16.
    Sums, losses and functions that need their digits run in float32. `enabled=False` switches it off inside;
    `cache_enabled` is accepted.
    """

    def __init__(
        self, device_type: str, dtype: dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        if not is_autocast_available(device_type):
            raise RuntimeError(f"User specified an unsupported autocast device_type '{device_type}'")
        self.device: str = device_type
        self.fast_dtype: Any = get_autocast_dtype(device_type) if dtype is None else dtype
        if device_type == "cuda" and enabled:
            warn_user("CUDA is not available or torch_xla is imported. Disabling autocast.")
            enabled = False
        if device_type == "cpu" and enabled and self.fast_dtype not in (bfloat16, float16):
            warn_user(
                "In CPU autocast, but the target dtype is not supported. Disabling autocast.\nCPU Autocast only "
                "supports dtype of torch.bfloat16, torch.float16 currently.",
            )
            enabled = False
        self._enabled: bool = enabled
        self._before: list[tuple[Any, bool]] = []

    def __enter__(self) -> autocast:
        # A disabled GPU autocast says nothing about the CPU around it.
        relevant = self.device == "cpu"
        self._before.append((current_mode().autocast, relevant))
        if relevant:
            set_mode(current_mode().replace(autocast=self.fast_dtype if self._enabled else None))
        return self

    def __exit__(self, exc_type: Any, exc_value: Any, traceback: Any) -> None:
        before, relevant = self._before.pop()
        if relevant:
            set_mode(current_mode().replace(autocast=before))

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self:
                return function(*args, **kwargs)

        return wrapped


# --- the state, as torch's functions show it ---


def is_autocast_enabled(device_type: str | None = None) -> bool:
    """True if autocast is on for a type of device (a GPU unless given)."""
    return device_type == "cpu" and current_mode().autocast is not None


def is_autocast_cpu_enabled() -> bool:
    """True if autocast is on for the CPU."""
    return is_autocast_enabled("cpu")


def set_autocast_enabled(device_type: Any, enabled: bool | None = None) -> None:
    """Switch autocast for a type of device."""
    if device_type == "cpu":
        set_mode(current_mode().replace(autocast=_dtypes["cpu"] if enabled else None))


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """Switch autocast for the CPU."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype products take under autocast."""
    active = current_mode().autocast if device_type == "cpu" else None
    return active or _dtypes.get(device_type, float16)


def set_autocast_dtype(device_type: str, dtype: dtype) -> None:
    """Choose the dtype products take under autocast."""
    _dtypes[device_type] = dtype


def get_autocast_cpu_dtype() -> dtype:
    """The dtype products take under autocast on the CPU."""
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> dtype:
    """The dtype products would take under autocast on a GPU."""
    return get_autocast_dtype("cuda")


def set_autocast_cpu_dtype(dtype: dtype) -> None:
    """Choose the dtype products take under autocast on the CPU."""
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: dtype) -> None:
    """Choose the dtype products would take under autocast on a GPU."""
    set_autocast_dtype("cuda", dtype)


def is_autocast_cache_enabled() -> bool:
    """Return what `set_autocast_cache_enabled` was last told. Nothing else depends on it: casts are not cached."""
    return _cache


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Accepted: casts are not cached."""
    global _cache
    _cache = bool(enabled)


def clear_autocast_cache() -> None:
    """Casts are not cached."""


# --- custom Functions ---


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: dtype | None = None
) -> Callable[..., Any]:
    """Decorates the forward of a custom Function: note the autocast state, or cast and switch it off."""
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        context = args[0]
        context._dtype = get_autocast_dtype(device_type)
        active = is_autocast_enabled(device_type)
        if cast_inputs is None:
            context._fwd_used_autocast = active
            return fwd(*args, **kwargs)
        context._fwd_used_autocast = False
        if not active:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*_cast(args, cast_inputs), **_cast(kwargs, cast_inputs))

    return wrapped


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorates the backward of a custom Function: it runs with the autocast state its forward had."""
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with autocast(device_type, enabled=args[0]._fwd_used_autocast, dtype=args[0]._dtype):
            return bwd(*args, **kwargs)

    return wrapped


def _cast(value: Any, wanted: dtype) -> Any:
    if isinstance(value, Tensor):
        return value.to(wanted) if value.dtype.is_floating_point and value.dtype.itemsize <= 4 else value
    if isinstance(value, dict):
        return {key: _cast(item, wanted) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(item, wanted) for item in value)
    return value
