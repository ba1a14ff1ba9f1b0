"""`device`: where a tensor lives. "cpu" today; "cuda" names the seam where a CuPy array would stand in for NumPy's.

A device is only a label: the array inside a tensor decides what runs where, and rules reach it through NumPy's
protocols. "meta" tensors have no elements (`functional/meta.py`); torch's other devices are refused with an error that says so.
"""

from __future__ import annotations

from typing import Any

_KNOWN = ("cpu", "cuda", "meta", "mps", "xpu", "mkldnn", "xla", "hpu", "ipu", "vulkan", "mtia", "privateuseone")


class device:
    """A torch.device: `device("cpu")`, `device("cuda:1")`, `device("cuda", 1)`."""

    __slots__ = ("type", "index")

    def __init__(self, type: Any = "cpu", index: int | None = None) -> None:
        if isinstance(type, device):
            type, index = type.type, type.index if index is None else index
        if isinstance(type, int):
            type, index = "cuda", type
        if not isinstance(type, str):
            raise TypeError(f"device(): argument 'type' must be str, not {type.__class__.__name__}")
        name, colon, number = type.partition(":")
        if not type:
            raise RuntimeError("Device string must not be empty")
        if not name.replace("_", "").isalpha():
            raise RuntimeError(f"Invalid device string: '{type}'")
        if name not in _KNOWN:
            raise RuntimeError(
                f"Expected one of cpu, cuda, ipu, xpu, mkldnn, opengl, opencl, ideep, hip, ve, fpga, maia, xla, lazy, "
                f"vulkan, mps, meta, hpu, mtia, privateuseone device type at start of device string: {type}"
            )
        if colon:
            if index is not None:
                raise RuntimeError(
                    f"type (string) must not include an index because index was passed explicitly: {type}"
                )
            if not number.isdigit() or number != "0" and number[0] == "0":
                raise RuntimeError(f"Invalid device string: '{type}'")
            index = int(number)
        if index is not None and index < 0:
            raise RuntimeError("Device index must not be negative")
        self.type: str = name
        self.index: int | None = index

    def __repr__(self) -> str:
        return (
            f"device(type='{self.type}')" if self.index is None else f"device(type='{self.type}', index={self.index})"
        )

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, device) and (self.type, self.index) == (other.type, other.index)

    def __hash__(self) -> int:
        return hash((self.type, self.index))

    def __reduce__(self) -> tuple[type[device], tuple[str] | tuple[str, int]]:
        return (device, (self.type,) if self.index is None else (self.type, self.index))

    def __enter__(self) -> device:
        defaults.append(place_of(self))
        return self

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        defaults.pop()


cpu: device = device("cpu")
meta: device = device("meta")
defaults: list[device] = []
"""Where new tensors go that say nothing about it: the last of these, or the CPU if there is none."""


def place_of(value: object) -> device:
    """The device for a new tensor, `cpu` or `meta`; an error for one that is not here."""
    if value is None or value is cpu:
        return cpu
    wanted = value if isinstance(value, device) else device(value)
    if wanted.type == "meta":
        return meta
    if wanted.type in ("cuda", "xpu"):
        raise AssertionError(
            f"Torch not compiled with {wanted.type.upper()} enabled. Pullback computes on the CPU: use device='cpu', or drop "
            "the device argument."
        )
    if wanted.type != "cpu":
        raise RuntimeError(
            f"Pullback runs on the CPU: device '{wanted}' is not available here. "
            "Use device='cpu', or drop the device argument."
        )
    return cpu


def require_cpu(value: object) -> device:
    """The CPU; RuntimeError for another device."""
    if place_of(value) is meta:
        raise RuntimeError("Elements cannot be put on device 'meta', whose tensors have none. Use device='cpu'.")
    return cpu
