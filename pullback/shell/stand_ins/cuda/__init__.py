"""`torch.cuda` on a machine without it: what a program asks before it decides, answered as torch's CPU build does.

Questions ("is there a GPU", "how much memory is used") have answers; seeds and cache clearing are accepted; what needs
a GPU raises torch's own `AssertionError`. Names that are not here are refused by the package's usual message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from pullback.core.basics.on_demand import names_on_demand

__all__ = [
    "Event", "Stream", "CUDAGraph", "amp", "current_device", "current_stream", "default_stream", "device",
    "device_count",
    "empty_cache", "get_device_capability", "get_device_name", "get_device_properties", "get_rng_state",
    "get_rng_state_all", "init", "initial_seed", "ipc_collect", "is_available", "is_bf16_supported", "is_initialized",
    "manual_seed", "manual_seed_all", "max_memory_allocated", "max_memory_reserved", "mem_get_info", "memory_allocated",
    "memory_reserved", "memory_stats", "memory_summary", "reset_max_memory_allocated", "reset_peak_memory_stats",
    "seed",
    "seed_all", "set_device", "set_rng_state", "set_rng_state_all", "stream", "synchronize",
]  # fmt: skip

_NO_CUDA = (
    "Torch not compiled with CUDA enabled. Pullback computes on the CPU: guard this call with "
    "`if torch.cuda.is_available():`, or use device='cpu'."
)


def refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """The answer to anything that needs a GPU."""
    raise AssertionError(_NO_CUDA)


_initialized: bool = False  # whether the driver was started: programs look before they fork or ask for states
default_generators: tuple[Any, ...] = ()

# --- questions ---


def is_available() -> bool:
    """False: there is no GPU to use."""
    return False


def device_count() -> int:
    """The number of GPUs: none."""
    return 0


def is_initialized() -> bool:
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return False


def is_current_stream_capturing() -> bool:
    return False


def get_arch_list() -> list[str]:
    return []


def get_rng_state_all() -> list[Any]:
    """The states of the generators of all GPUs: there are none."""
    return []


def memory_stats(device: Any = None) -> dict[str, Any]:
    """Statistics of the GPU allocator: empty."""
    return {}


def memory_summary(device: Any = None, abbreviated: bool = False) -> str:
    return "No GPU memory is in use: Pullback computes on the CPU."


def _no_memory(device: Any = None) -> int:
    """Bytes of GPU memory in use: none."""
    return 0


max_memory_allocated: Callable[..., int]
max_memory_reserved: Callable[..., int]
memory_reserved: Callable[..., int]
memory_allocated = max_memory_allocated = memory_reserved = max_memory_reserved = _no_memory
max_memory_cached: Callable[..., int]
memory_cached = max_memory_cached = _no_memory

# --- requests that are already fulfilled ---


def empty_cache() -> None:
    """There is no cache to empty."""


def synchronize(device: Any = None) -> None:
    """Nothing runs in the background."""


def ipc_collect() -> None:
    """There is no shared GPU memory to collect."""


def manual_seed(seed: int) -> None:
    """Accepted: there is no GPU generator to seed."""
    int(seed)


manual_seed_all = manual_seed


def seed() -> None:
    """Accepted: there is no GPU generator to seed."""


seed_all = seed


def set_rng_state_all(new_states: Any) -> None:
    """Accepts the states of no generators."""
    if len(new_states):
        refuse()


def _record_memory_history(*args: Any, **kwargs: Any) -> None:
    """Accepted: no GPU memory is used, so its history is empty."""


def _snapshot(device: Any = None) -> dict[str, Any]:
    """The blocks of GPU memory in use, and their history: none."""
    return {"segments": [], "device_traces": []}


def reset_peak_memory_stats(device: Any = None) -> None:
    """There are no statistics to reset."""


reset_accumulated_memory_stats: Callable[..., Any]
reset_max_memory_cached: Callable[..., Any]
reset_max_memory_allocated = reset_max_memory_cached = reset_accumulated_memory_stats = reset_peak_memory_stats


class stream:
    """`with torch.cuda.stream(None)` does nothing, as in torch; a real stream needs a GPU."""

    def __init__(self, stream: Any) -> None:
        if stream is not None:
            refuse()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: Any) -> None:
        return None


class device(stream):
    """`with torch.cuda.device(None)` (or a negative number) does nothing; another needs a GPU."""

    def __init__(self, device: Any) -> None:
        if isinstance(device, int) and device < 0:
            device = None
        super().__init__(device)


# --- what needs a GPU ---


class _NeedsGPU:
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"Tried to instantiate dummy base class {type(self).__name__}. {_NO_CUDA}")


class Stream(_NeedsGPU):
    """A queue of work on a GPU."""


class Event(_NeedsGPU):
    """A point in a queue of work on a GPU."""


class CUDAGraph(_NeedsGPU):
    """A recording of work on a GPU."""


class graph(_NeedsGPU):
    """A context in which work on a GPU is recorded."""


class StreamContext(_NeedsGPU):
    """A context in which work goes to one queue of a GPU."""


current_device: Callable[..., Any]
get_device_capability: Callable[..., Any]
get_device_name: Callable[..., Any]
get_device_properties: Callable[..., Any]
set_device: Callable[..., Any]
init = current_device = set_device = get_device_name = get_device_capability = get_device_properties = refuse
default_stream: Callable[..., Any]
get_rng_state: Callable[..., Any]
initial_seed: Callable[..., Any]
mem_get_info: Callable[..., Any]
set_rng_state: Callable[..., Any]
utilization: Callable[..., Any]
current_stream = default_stream = mem_get_info = get_rng_state = set_rng_state = initial_seed = utilization = refuse
can_device_access_peer: Callable[..., Any]
memory_snapshot: Callable[..., Any]
set_per_process_memory_fraction = memory_snapshot = can_device_access_peer = refuse


def _legacy(name: str) -> Any:
    from pullback.shell.torch_names.legacy_types import tensor_type

    return tensor_type(name, on_gpu=True) if name.endswith("Tensor") else None


if TYPE_CHECKING:
    from . import amp as amp
    from . import nvtx as nvtx

names_on_demand(
    __name__,
    modules=("amp", "nvtx"),
    names={"pullback.shell.torch_names.legacy_types": "OutOfMemoryError"},
    made=_legacy,
)
