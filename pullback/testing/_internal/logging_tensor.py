"""A Tensor subclass for tests that functions work on subclasses; it logs nothing, for there is no dispatcher below Python."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor


class LoggingTensor(Tensor):
    """A tensor of another class."""

    def __new__(cls, elem: Any, *args: Any, requires_grad: bool = False, **kwargs: Any) -> Any:
        return elem.detach().as_subclass(cls).requires_grad_(requires_grad or elem.requires_grad)
