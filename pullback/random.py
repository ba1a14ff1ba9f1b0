"""`torch.random`: the generator programs hold, the default one, and seeding, saving and restoring its state.

The engine and its bits are in `kernels/random/engine.py`; functions drawing tensors in `functional/random_sampling.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator as _Iterator
from collections.abc import Iterable
from typing import Any

import numpy as np

from .core.basics.device import cpu
from .core.tape import wrap
from .core.tensor import Tensor
from .kernels.random import engine as _engine

__all__ = [
    "Generator", "default_generator", "fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed",
    "set_rng_state",
    "thread_safe_generator",
]  # fmt: skip


class Generator(_engine.Generator):
    """A stream of random numbers of its own: seed it, pass it to samplers, save and restore its state."""

    def __init__(self, device: Any = "cpu") -> None:
        super().__init__("cpu" if device is None else device)
        self.device: Any = cpu

    def __repr__(self) -> str:
        return f"<torch._C.Generator object at {id(self):#x}>"  # what notebooks show after torch.manual_seed(0)

    def get_state(self) -> Tensor:
        """The whole state as a tensor of bytes."""
        return wrap(self.state_bytes())

    def set_state(self, new_state: Tensor) -> Generator:
        """Continue from a state that `get_state` returned."""
        if not isinstance(new_state, Tensor):
            raise TypeError(f"expected a torch.ByteTensor, but got {type(new_state).__name__}")
        self.load_state_bytes(np.asarray(new_state._array))
        return self

    def clone_state(self) -> Generator:
        """An independent generator that will produce the same numbers."""
        clone = type(self)()
        clone.load_state_bytes(self.state_bytes())
        return clone

    def get_offset(self) -> int:
        """Only generators of graphics cards have an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def set_offset(self, offset: int) -> Generator:
        """Only generators of graphics cards have an offset."""
        raise RuntimeError("CPU Generator does not use offset")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.state_bytes(),)


def _restored(state: np.ndarray) -> Generator:
    generator = Generator()
    generator.load_state_bytes(state)
    return generator


# The engine's default generator is the stream everybody draws from: the same object, shown with tensor methods.
default_generator: Generator = _engine.default_generator  # type: ignore[assignment]
default_generator.__class__ = Generator
default_generator.device = cpu


def manual_seed(seed: Any) -> Generator:
    """Restart the default stream from a seed. The same seed gives torch's numbers."""
    default_generator.manual_seed(int(seed))
    return default_generator


def seed() -> int:
    """Restart the default stream from a seed of the operating system, and return that seed."""
    return default_generator.seed()


def initial_seed() -> int:
    """The seed the default stream was last started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Tensor:
    """The state of the default stream as a tensor of bytes."""
    return default_generator.get_state()


def set_rng_state(new_state: Tensor) -> None:
    """Continue the default stream from a state that `get_rng_state` returned."""
    default_generator.set_state(new_state)


def thread_safe_generator() -> Generator | None:
    """The generator of a data-loading thread, if this is one: here always None, for the default stream."""
    return None


@contextlib.contextmanager
def fork_rng(
    devices: Iterable[Any] | None = None, enabled: bool = True, _caller: str = "fork_rng", _devices_kw: str = "devices",
    device_type: str = "cuda",
) -> _Iterator[None]:  # fmt: skip
    """Run a block and then put the default stream back where it was."""
    if not enabled:
        yield
        return
    state = default_generator.state_bytes()
    try:
        yield
    finally:
        default_generator.load_state_bytes(state)
