"""`torch.onnx`: exporting is not supported, and says so. What packages register for it is accepted."""

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
    """False: no program is ever being exported."""
    return False


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Any, opset_version: int) -> None:
    """Accepted: how an operator would be exported."""


def parse_args(*arg_descriptors: str) -> Any:
    """A decorator that returns the function as it is."""
    return lambda function: function
