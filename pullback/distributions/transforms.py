"""Transforms under torch's names; they live in the `_transform*` modules next to this one."""

# ruff: noqa: F403

from __future__ import annotations

from . import _transform_base, _transforms_elementwise, _transforms_structured
from ._transform_base import *
from ._transforms_elementwise import *
from ._transforms_elementwise import clipped_sigmoid as _clipped_sigmoid
from ._transforms_structured import *

__all__ = [
    "_clipped_sigmoid", *_transform_base.__all__, *_transforms_elementwise.__all__, *_transforms_structured.__all__,
]  # fmt: skip
