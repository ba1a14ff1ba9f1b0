"""Type aliases that programs import from `torch.types`."""

from __future__ import annotations

import builtins
import os
from collections.abc import Sequence
from typing import IO, Any, TypeAlias, Union

from pullback.core.basics.device import device
from pullback.core.basics.dtypes import dtype
from pullback.core.basics.layout import layout
from pullback.core.basics.size import Size
from pullback.core.tensor import Tensor

Number: TypeAlias = Union[builtins.int, builtins.float, builtins.bool]  # noqa: UP007 (a value, not an annotation)
PySymType: TypeAlias = Number
Device: TypeAlias = Any
FileLike: TypeAlias = Union[str, os.PathLike[str], IO[bytes]]  # noqa: UP007
_TensorOrTensors: TypeAlias = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
_TensorOrTensorsOrGradEdge: TypeAlias = Any
_dtype = dtype
_device = device
_layout = layout
_size: TypeAlias = Union[Size, list[builtins.int], tuple[builtins.int, ...]]  # noqa: UP007
_int = builtins.int
_float = builtins.float
_bool = builtins.bool
_complex = builtins.complex
