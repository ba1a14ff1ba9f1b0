"""Names from before dtypes: `torch.FloatTensor([1, 2])`, `torch.LongTensor`, `set_default_tensor_type`, `typename`.

Each legacy type makes tensors of its dtype and answers `isinstance` by dtype; it is never the class of a tensor.
"""

from __future__ import annotations

from typing import Any

from ...core.basics import dtypes
from ...core.basics.device import cpu, defaults, device, place_of
from ...core.basics.device import device as device_type
from ...core.basics.notices import warn_user
from ...core.basics.on_demand import names_on_demand
from ...core.tensor import Tensor
from ...functional.creation import legacy_tensor

_DTYPES = {
    "FloatTensor": dtypes.float32, "DoubleTensor": dtypes.float64, "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16, "ByteTensor": dtypes.uint8, "CharTensor": dtypes.int8,
    "ShortTensor": dtypes.int16,
    "IntTensor": dtypes.int32, "LongTensor": dtypes.int64, "BoolTensor": dtypes.bool_,
    "ComplexFloatTensor": dtypes.complex64, "ComplexDoubleTensor": dtypes.complex128,
}  # fmt: skip


class tensortype(type):
    """The type of `torch.FloatTensor` and the other legacy types."""

    dtype: dtypes.dtype
    is_cuda: bool

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        if cls.is_cuda:
            raise TypeError(
                f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled. "
                f"Use torch.{cls.__name__}: Pullback computes on the CPU."
            )
        if len(args) == 1 and isinstance(args[0], Tensor):
            if args[0].dtype is not cls.dtype:
                raise TypeError(
                    f"expected TensorOptions(dtype={cls.dtype.short_name}) (got TensorOptions(dtype="
                    f"{args[0].dtype.short_name})). Convert it: x.to({cls.dtype!r})."
                )
            return args[0].detach()
        return legacy_tensor(Tensor, *args, dtype=cls.dtype, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return not cls.is_cuda and isinstance(instance, Tensor) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


_made: dict[tuple[str, bool], tensortype] = {}


def tensor_type(name: str, on_gpu: bool = False) -> tensortype:
    """The legacy type of that name; AttributeError if torch never had it."""
    found = _made.get((name, on_gpu))
    if found is None:
        if name not in _DTYPES:
            raise AttributeError(f"module 'torch' has no attribute {name!r}", name=name)
        found = tensortype(
            name, (), {"dtype": _DTYPES[name], "is_cuda": on_gpu, "__module__": "torch.cuda" if on_gpu else "torch"}
        )
        _made[name, on_gpu] = found
    return found


def set_default_tensor_type(t: Any) -> None:
    """The old way to say `set_default_dtype`."""
    warn_user(
        "torch.set_default_tensor_type() is deprecated as of PyTorch 2.1, please use torch.set_default_dtype() and "
        "torch.set_default_device() as alternatives.",
    )
    name = t if isinstance(t, str) else f"{t.__module__}.{t.__name__}"
    parts = name.split(".")
    if parts[-1] not in _DTYPES:
        raise TypeError(f"invalid type object: {name}")
    kind = _DTYPES[parts[-1]]
    if "cuda" in parts:
        raise TypeError(
            f"type {name} not available. Torch not compiled with CUDA enabled. Pullback computes on the CPU."
        )
    if not kind.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, not {name}")
    dtypes.set_default_dtype(kind)


def typename(obj: Any, /) -> str:
    """The name of an object's type, with its module; of a tensor, its legacy type."""
    if isinstance(obj, Tensor):
        return f"torch.{obj.dtype.type_name}Tensor"
    kind = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(kind, "__module__", None) or ""
    if module == "pullback" or module.startswith("pullback."):
        module = "torch" + module.removeprefix("pullback")
    return kind.__qualname__ if module in ("", "builtins", "__builtin__") else f"{module}.{kind.__qualname__}"


def get_default_device() -> device:
    """Where new tensors go."""
    return defaults[-1] if defaults else cpu


def set_default_device(device: Any) -> None:
    """Let new tensors go there, "cpu" or "meta", outside of `with torch.device(...)`."""
    place = place_of(device)
    defaults[:1] = [] if place is cpu else [place]


def get_device_module(device: Any = None) -> Any:
    """The module of a device type, as in `torch.get_device_module("cuda")`."""
    import importlib

    name = "cpu" if device is None else device_type(device).type
    return importlib.import_module(f"pullback.{name}")


class OutOfMemoryError(RuntimeError):
    """The error that torch raises when a GPU's memory is full; nothing here raises it."""


AcceleratorError = RuntimeError


names_on_demand(__name__, made=tensor_type)
