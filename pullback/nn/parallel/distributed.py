"""`DistributedDataParallel` in a group of one process: the module itself, with a prefix in its keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Calls `module`; there is no other process to average gradients with. Needs `init_process_group`, as in torch."""

    def __init__(
        self, module: Module, device_ids: Any = None, output_device: Any = None, dim: int = 0, **options: Any
    ) -> None:
        super().__init__()
        from ...distributed import get_world_size

        get_world_size()  # complains if there is no group
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        self.module = module
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)

    @contextmanager
    def no_sync(self) -> Iterator[None]:
        """There is nothing to synchronize."""
        yield
