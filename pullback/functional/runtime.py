"""How many threads kernels may use, and other switches of torch's runtime that mean something, or nothing, here."""

from __future__ import annotations

from typing import Any

from ..core.basics.dtypes import can_cast, promote_types
from ..core.basics.unwritten import settings as unwritten
from ..core.tensor import Tensor
from .registry import public, public_in


def get_num_threads() -> int:
    """The number of threads large operations are split over."""
    from ..kernels.threads import get_num_threads as get

    return get()


def set_num_threads(int: int, /) -> None:
    """Split large operations over at most this many threads."""
    from ..kernels.threads import set_num_threads as set_

    if not isinstance(int, _builtin_int) or int <= 0:
        raise RuntimeError(f"set_num_threads expects a positive integer, got {int!r}")
    set_(int)


_builtin_int = type(1)  # noqa: UP003

_interop_threads = 1


def get_num_interop_threads() -> int:
    """Accepted for compatibility: operations are started from one thread."""
    return _interop_threads


def set_num_interop_threads(int: int, /) -> None:
    """Accepted for compatibility."""
    global _interop_threads
    if int <= 0:
        raise RuntimeError(f"set_num_interop_threads expects a positive integer, got {int}")
    _interop_threads = int


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Every algorithm here is deterministic; memory that has not been written is filled, too (`utils.deterministic`)."""
    for name, value in (("'mode' (position 1)", mode), ("'warn_only'", warn_only)):
        if type(value) is not bool:
            raise TypeError(
                f"_set_deterministic_algorithms(): argument {name} must be bool, not {type(value).__name__}"
            )
    unwritten.deterministic, unwritten.warn_only = mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """Return what `use_deterministic_algorithms` was last told; results are deterministic either way."""
    return unwritten.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Return the `warn_only` that `use_deterministic_algorithms` was last told."""
    return unwritten.warn_only


_DEBUG_MODES = ("default", "warn", "error")


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` in one word or number: 0 or "default", 1 or "warn", 2 or "error"."""
    if isinstance(debug_mode, str) and debug_mode not in _DEBUG_MODES:
        raise RuntimeError(
            f"invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got {debug_mode}"
        )
    number = _DEBUG_MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    if number not in (0, 1, 2):
        raise RuntimeError(f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}")
    use_deterministic_algorithms(number > 0, warn_only=number == 1)


def get_deterministic_debug_mode() -> int:
    """Return the mode that `set_deterministic_debug_mode` was last told, as a number."""
    return 0 if not unwritten.deterministic else 1 if unwritten.warn_only else 2


_warnings: dict[str, bool] = {"always": False}


def set_warn_always(b: bool) -> None:
    """Accepted: how often a warning appears is decided by Python's filters (`warnings.simplefilter`)."""
    _warnings["always"] = bool(b)


def is_warn_always_enabled() -> bool:
    """Return what `set_warn_always` was last told."""
    return _warnings["always"]


def is_distributed(input: Any) -> bool:
    """False: every tensor lives in one process."""
    return False


def init_num_threads() -> None:
    """Accepted: threads are counted when they are first used."""


def set_flush_denormal(mode: bool) -> bool:
    """Not available: NumPy keeps denormal numbers. False says so, as in torch."""
    return False


_precision = "highest"


def set_float32_matmul_precision(precision: str) -> None:
    """Accepted: products are always computed in full precision."""
    global _precision
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")
    _precision = precision


def get_float32_matmul_precision() -> str:
    """Return what `set_float32_matmul_precision` was last told; products have full precision either way."""
    return _precision


@public(method=False, direct=True, asks="nobody")
def is_tensor(obj: Any) -> bool:
    """True if an object is a Tensor."""
    return isinstance(obj, Tensor)


def compiled_with_cxx11_abi() -> bool:
    """True, as in torch's builds; there is no C++ here."""
    return True


for _function in (
    get_num_threads, set_num_threads, get_num_interop_threads, set_num_interop_threads, use_deterministic_algorithms,
    are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled, set_deterministic_debug_mode,
    get_deterministic_debug_mode, set_warn_always, is_warn_always_enabled, init_num_threads,
    set_flush_denormal, set_float32_matmul_precision, get_float32_matmul_precision,
    compiled_with_cxx11_abi,
):  # fmt: skip
    public(method=False, direct=True, asks="nobody")(_function)
public(method=False, direct=True)(is_distributed)
public_in("torch", direct=True, tensors=False)(can_cast)
public_in("torch", direct=True, tensors=False)(promote_types)
