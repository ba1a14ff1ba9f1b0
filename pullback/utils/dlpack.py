"""`torch.utils.dlpack`: exchange tensors with other libraries without copying."""

from ..shell.interop import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
