"""The few helpers of torch's operator database that test files use apart from the database, which is not here."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ...core.tensor import Tensor

# Tables of operators with samples of their arguments: tests that read them have nothing to do.
op_db: list[Any] = []
unary_ufuncs: list[Any] = []
binary_ufuncs: list[Any] = []
binary_ufuncs_and_refs: list[Any] = []
reduction_ops: list[Any] = []
reference_masked_ops: list[Any] = []
shape_funcs: list[Any] = []
spectral_funcs: list[Any] = []


class OpInfo:
    """One entry of such a table: what it was made with."""

    def __init__(self, name: str = "", *args: Any, **facts: Any) -> None:
        self.name: str = name
        vars(self).update(facts)


UnaryUfuncInfo = BinaryUfuncInfo = ReductionOpInfo = ReductionPythonRefInfo = SpectralFuncInfo = OpInfo


class SampleInput:
    """Arguments to call an operator with."""

    def __init__(self, input: Any, *more: Any, args: Any = (), kwargs: Any = None, **named: Any) -> None:
        self.input: Any = input
        self.args: tuple[Any, ...] = more or tuple(args)
        self.kwargs: dict[str, Any] = {**(kwargs or {}), **named}


def mask_not_all_zeros(shape: Any) -> Tensor:
    """A random mask with at least one True."""
    from ... import randn

    while True:
        mask = randn(shape).gt(0)
        if mask.sum() > 0:
            return mask


class DecorateInfo:
    """Decorators of an entry of a table of operators, layers or optimizers, and for which of its tests they are meant."""

    def __init__(
        self, decorators: Any, cls_name: str | None = None, test_name: str | None = None, *,
        device_type: str | None = None, dtypes: Collection[Any] | None = None, active_if: Any = True,
    ) -> None:  # fmt: skip
        self.decorators: list[Any] = list(decorators) if isinstance(decorators, (list, tuple)) else [decorators]
        self.cls_name: str | None = cls_name
        self.test_name: str | None = test_name
        self.device_type: str | None = device_type
        self.dtypes: Collection[Any] | None = dtypes
        self.active_if: Any = active_if

    def is_active(
        self, cls_name: str, test_name: str, device_type: str, dtype: Any, param_kwargs: dict[str, Any]
    ) -> bool:
        """True if these decorators are for this test with these arguments. What is not said fits all."""
        asked = ((self.cls_name, cls_name), (self.test_name, test_name), (self.device_type, device_type))
        if any(wanted is not None and wanted != found for wanted, found in asked):
            return False
        if self.dtypes is not None and dtype not in self.dtypes:
            return False
        return bool(self.active_if(param_kwargs) if callable(self.active_if) else self.active_if)
