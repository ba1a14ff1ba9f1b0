"""`torch._subclasses`: tensors that only pretend to have data. There are none; `is_fake` says so of everything."""

from .fake_tensor import FakeTensor

__all__ = ["FakeTensor"]
