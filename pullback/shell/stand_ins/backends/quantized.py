"""`torch.backends.quantized`: the engines for quantized operators, of which there are none."""

from __future__ import annotations

engine: str = "none"
supported_engines: list[str] = ["none"]
