"""`torch.distributed` for one process. Programs that ask first (`is_available()`) go on without it.

A world of one can be initialized (rank 0 of 1): then every collective has a result, the process's own contribution.
More processes are refused when the group is made.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn

from .store import DistError, DistStoreError, FileStore, HashStore, Store, TCPStore

__all__ = [
    "DistError", "DistStoreError", "FileStore", "HashStore", "ReduceOp", "Store", "TCPStore", "all_gather",
    "all_gather_object", "all_reduce", "barrier", "broadcast", "broadcast_object_list",
    "destroy_process_group", "gather", "get_backend", "get_rank", "get_world_size", "group", "init_process_group",
    "is_available", "is_initialized", "is_torchelastic_launched", "new_group", "recv", "reduce", "scatter", "send",
]  # fmt: skip

_initialized = False
_backend = "gloo"


class ReduceOp:
    """How contributions are combined."""

    SUM, AVG, PRODUCT, MIN, MAX, BAND, BOR, BXOR = range(8)


class ProcessGroup:
    """The one process there is."""

    def size(self) -> int:
        """How many processes there are: 1."""
        return 1

    def rank(self) -> int:
        """The number of this process: 0."""
        return 0


class group:
    """`group.WORLD`."""

    WORLD = ProcessGroup()


GroupMember = group


def is_available() -> bool:
    """False: several processes cannot work together here."""
    return False


def is_initialized() -> bool:
    """True if a group (of one) was made."""
    return _initialized


def is_gloo_available() -> bool:
    """False: there is no backend that connects processes."""
    return False


is_mpi_available: Callable[..., bool]
is_ucc_available: Callable[..., bool]
is_nccl_available = is_mpi_available = is_ucc_available = is_gloo_available


def is_torchelastic_launched() -> bool:
    """False: `torchrun` starts no processes of Pullback."""
    return False


def init_process_group(
    backend: str | None = None, init_method: str | None = None, timeout: Any = None, world_size: int = -1,
    rank: int = -1, store: Any = None, group_name: str = "", **others: Any,
) -> None:  # fmt: skip
    """Make the group of one process."""
    global _initialized, _backend
    size = int(os.environ.get("WORLD_SIZE", 1)) if world_size < 0 else world_size
    if size != 1:
        raise RuntimeError(
            f"Pullback runs in one process: a group of {size} cannot be made. Start the program without torchrun, with "
            "world_size=1."
        )
    if _initialized:
        raise ValueError("trying to initialize the default process group twice!")
    _initialized, _backend = True, backend or "gloo"


def destroy_process_group(group: Any = None) -> None:
    """Forget the group."""
    global _initialized
    _initialized = False


def _require_group() -> None:
    if not _initialized:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


def get_rank(group: Any = None) -> int:
    """The number of this process: 0."""
    _require_group()
    return 0


def get_world_size(group: Any = None) -> int:
    """The number of processes: 1."""
    _require_group()
    return 1


def get_backend(group: Any = None) -> str:
    """The name that was given to `init_process_group`."""
    _require_group()
    return _backend


def new_group(ranks: Any = None, *args: Any, **kwargs: Any) -> ProcessGroup:
    """A group of the one process."""
    _require_group()
    return ProcessGroup()


class _Done:
    def wait(self, timeout: Any = None) -> bool:
        return True

    def is_completed(self) -> bool:
        return True


def _finished(async_op: bool) -> _Done | None:
    return _Done() if async_op else None


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Any:
    """One contribution, combined with no other: the tensor stays as it is."""
    _require_group()
    return _finished(async_op)


def broadcast(tensor: Any, src: int = 0, group: Any = None, async_op: bool = False, **_: Any) -> Any:
    """The tensor stays as it is."""
    _require_group()
    return _finished(async_op)


def reduce(
    tensor: Any, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False, **_: Any
) -> Any:
    """The tensor stays as it is."""
    _require_group()
    return _finished(async_op)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Any:
    """Return at once: there is no other process to wait for."""
    _require_group()
    return _finished(async_op)


monitored_barrier = barrier


def all_gather(tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Writes the tensor into the one place of the list."""
    _require_group()
    tensor_list[0].copy_(tensor)
    return _finished(async_op)


def gather(
    tensor: Any, gather_list: list[Any] | None = None, dst: int = 0, group: Any = None, async_op: bool = False, **_: Any
) -> Any:
    """Writes the tensor into the one place of the list."""
    return all_gather(gather_list or [tensor], tensor, group, async_op)


def scatter(
    tensor: Any,
    scatter_list: list[Any] | None = None,
    src: int = 0,
    group: Any = None,
    async_op: bool = False,
    **_: Any,
) -> Any:
    """Reads the tensor from the one place of the list."""
    _require_group()
    tensor.copy_((scatter_list or [tensor])[0])
    return _finished(async_op)


def all_gather_into_tensor(output_tensor: Any, input_tensor: Any, group: Any = None, async_op: bool = False) -> Any:
    """Copies the input."""
    _require_group()
    output_tensor.copy_(input_tensor.reshape(output_tensor.shape))
    return _finished(async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """Puts the object into the one place of the list."""
    _require_group()
    object_list[0] = obj


def broadcast_object_list(
    object_list: list[Any], src: int = 0, group: Any = None, device: Any = None, **_: Any
) -> None:
    """The list stays as it is."""
    _require_group()


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    """Complain: there is no other process."""
    _require_group()
    raise ValueError("Invalid destination rank: there is no other process to talk to.")


irecv: Callable[..., Any]
isend: Callable[..., Any]
recv: Callable[..., Any]
send = recv = isend = irecv = _refuse
