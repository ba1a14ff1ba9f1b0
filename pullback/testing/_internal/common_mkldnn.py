"""Decorators of torch's tests that repeat them in reduced precision, which there is none of here: tests run as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _as_it_is(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda test: test


bf32_on_and_off = reduced_f32_on_and_off = tf32_on_and_off = _as_it_is


def bf32_is_not_fp32() -> bool:
    """False: products of float32 are never rounded to bfloat16 first."""
    return False
