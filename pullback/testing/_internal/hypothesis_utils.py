"""Strategies of `hypothesis` for quantized tensors, which are not here: tests that draw from them find nothing."""

from __future__ import annotations

from typing import Any


def tensor(*args: Any, **kwargs: Any) -> Any:
    """A strategy without examples."""
    from hypothesis import strategies  # type: ignore[import-not-found]

    return strategies.nothing()


qparams = array_shapes = tensor_conv = per_channel_tensor = tensor


def assert_deadline_disabled() -> None:
    """Nothing: tests that are not drawn have no deadline."""
