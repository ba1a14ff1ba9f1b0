"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from . import constraints
from .gamma import Gamma


class Chi2(Gamma):
    """The sum of `df` squared standard normals."""

    arg_constraints: dict[Any, Any] = {"df": constraints.positive}
    _parameters: dict[Any, Any] = {"concentration": 0, "rate": 0}

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    @property
    def df(self) -> Tensor:
        """Degrees of freedom."""
        return self.concentration * 2
