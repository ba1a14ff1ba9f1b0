"""How many threads kernels may use, and other switches of torch's runtime that mean something, or nothing, here."""

from __future__ import annotations

from typing import Any

from .functional.registry import FUNCTIONS


def get_num_threads() -> int:
    """The number of threads large operations are split over."""
    from .kernels.threads import get_num_threads as get

    return get()


def set_num_threads(int: int, /) -> None:
    """Split large operations over at most this many threads."""
    from .kernels.threads import set_num_threads as set_

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
    _interop_threads = int


_deterministic: dict[str, bool] = {"mode": False, "warn_only": False}


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Accepted: every algorithm here is deterministic."""
    _deterministic.update(mode=bool(mode), warn_only=bool(warn_only))


def are_deterministic_algorithms_enabled() -> bool:
    """What `use_deterministic_algorithms` was last told; results are deterministic either way."""
    return _deterministic["mode"]


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether algorithms that are not deterministic would only warn."""
    return _deterministic["warn_only"]


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
    """What `set_float32_matmul_precision` was last told; products have full precision either way."""
    return _precision


def is_tensor(obj: Any) -> bool:
    """Whether an object is a Tensor."""
    from .tensor import Tensor

    return isinstance(obj, Tensor)


def compiled_with_cxx11_abi() -> bool:
    """True, as in torch's builds; there is no C++ here."""
    return True


for _function in (
    get_num_threads, set_num_threads, get_num_interop_threads, set_num_interop_threads, use_deterministic_algorithms,
    are_deterministic_algorithms_enabled, is_deterministic_algorithms_warn_only_enabled,
    set_flush_denormal, set_float32_matmul_precision, get_float32_matmul_precision,
    is_tensor, compiled_with_cxx11_abi,
):  # fmt: skip
    FUNCTIONS[_function.__name__] = _function
