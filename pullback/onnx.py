"""`torch.onnx`: exporting is not supported, and says so."""

from __future__ import annotations

from typing import Any, NoReturn


def export(model: Any = None, args: Any = (), f: Any = None, **kwargs: Any) -> NoReturn:
    """ONNX files cannot be written."""
    raise NotImplementedError(
        "torch.onnx.export is not supported by Pullback. Save the weights with torch.save(model.state_dict(), path) or "
        "safetensors and export under torch."
    )


dynamo_export = export


def is_in_onnx_export() -> bool:
    """Whether a program is being exported: never."""
    return False
