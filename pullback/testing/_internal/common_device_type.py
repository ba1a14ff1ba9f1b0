"""Tests that are written for every device and dtype: here they run on the CPU.

`instantiate_device_type_tests` makes a class of real tests out of a generic one; the decorators say with which dtypes,
and which tests are for other devices.
"""

from __future__ import annotations

import functools
import inspect
import unittest
from collections.abc import Iterator
from typing import Any, NamedTuple

from .common_utils import TestCase, _does_nothing
from .parametrization import Case, expanded, method


class tol(NamedTuple):
    """Tolerances of one dtype."""

    atol: float
    rtol: float


class dtypes:
    """Run a test once for each dtype, which it gets as `dtype` (a tuple of dtypes as `dtypes`)."""

    device: str | None = None

    def __init__(self, *args: Any, device_type: str = "all") -> None:
        self.args: tuple[Any, ...] = tuple(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        if device_type in ("cpu", "all"):
            self.device = device_type

    def __call__(self, function: Any) -> Any:
        if self.device is not None and (self.device == "cpu" or not hasattr(function, "_test_dtypes")):
            function._test_dtypes = self.args
        return function


class dtypesIfCPU(dtypes):
    def __init__(self, *args: Any) -> None:
        super().__init__(*args, device_type="cpu")


class precisionOverride:
    """Absolute tolerances by dtype."""

    def __init__(self, d: dict[Any, float]) -> None:
        self.by_dtype: dict[Any, tol] = {dtype: tol(value, value) for dtype, value in d.items()}

    def __call__(self, function: Any) -> Any:
        function._tolerances = self.by_dtype
        return function


class toleranceOverride(precisionOverride):
    """Absolute and relative tolerances by dtype."""

    def __init__(self, d: dict[Any, tol]) -> None:
        self.by_dtype = d


def _skips(reason: str) -> Any:
    def decorator(*args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and callable(args[0]) and not kwargs:
            return unittest.skip(reason)(args[0])
        return unittest.skip(reason)

    return decorator


onlyCUDA: Any = _skips("for another device")
deviceCountAtLeast: Any = lambda count: (
    lambda function: function if count <= 1 else unittest.skip("one device")(function)
)
ops: Any = _skips("driven by torch's operator database")


def largeTensorTest(size: Any, device: Any = None, inductor: bool = False) -> Any:
    """Skips a test that needs much memory; `size` says how much, or is a function that does."""
    return unittest.skip("needs much memory")


def __getattr__(name: str) -> Any:
    if name.startswith(("TEST_", "IS_", "PYTORCH_")):
        return False
    if name.startswith(("onlyCUDA", "onlyMPS", "onlyXPU", "onlyPRIVATEUSE1", "onlyHPU")):
        return onlyCUDA
    return _does_nothing


class OpDTypes:
    """Which dtypes of an operator to test; only named in arguments of `ops`."""

    supported, unsupported, supported_backward, any_one, none, any_common_cpu_cuda_one = range(6)


def get_all_device_types() -> list[str]:
    return ["cpu"]


def skipIf(condition: bool, reason: str) -> Any:
    return unittest.skipIf(condition, reason)


def instantiate_device_type_tests(
    generic_test_class: Any, scope: dict[str, Any], except_for: Any = None, only_for: Any = None, **ignored: Any
) -> None:
    """Put a class with the tests for the CPU into `scope`, and take the generic class out of it."""
    name = generic_test_class.__name__
    scope.pop(name, None)
    if only_for is not None and "cpu" not in only_for or except_for is not None and "cpu" in except_for:
        return
    members: dict[str, Any] = {"device_type": "cpu", "get_primary_device": classmethod(lambda cls: "cpu")}
    bases = generic_test_class.__mro__
    for member in dir(generic_test_class):
        value = inspect.getattr_static(generic_test_class, member)
        if not member.startswith("test") or not inspect.isfunction(value):
            continue
        members[member] = None  # the generic form does not run
        for case in expanded(value, generic_test_class, _OnCPU):
            members.update((test.__name__, test) for test in _on_cpu(member, case, value))
    for member, value in list(vars(generic_test_class).items()):  # `super()` of either class goes past the generic one
        if not member.startswith("__") and member not in members:
            members[member] = value
            delattr(generic_test_class, member)
    concrete = type(
        f"{name}CPU", (generic_test_class,) if TestCase in bases else (generic_test_class, TestCase), members
    )
    concrete.__module__ = generic_test_class.__module__
    for member in [key for key, value in members.items() if value is None]:
        delattr(concrete, member)
        if hasattr(concrete, member):
            setattr(concrete, member, None)
    scope[f"{name}CPU"] = concrete


class _OnCPU:
    """The class that marks ask about when they make tests for the CPU."""

    device_type: str = "cpu"


def _on_cpu(name: str, case: Case, function: Any) -> Iterator[Any]:
    """The tests of a case, one for each dtype asked for; device and dtype are arguments and end the name."""
    start = f"{name}_{case.suffix}" if case.suffix else name
    names = inspect.signature(function).parameters
    device = {name: value for name, value in (("device", "cpu"), ("devices", ["cpu"])) if name in names}
    for dtype in getattr(function, "_test_dtypes", (None,)) if device else (None,):
        key = "dtypes" if isinstance(dtype, (list, tuple)) else "dtype"
        kwargs = case.kwargs | device | ({} if dtype is None else {key: dtype})
        shown = kwargs.get("dtypes", kwargs.get("dtype"))
        full = f"{start}_cpu" if shown is None else f"{start}_cpu_{_dtype_name(shown)}"
        yield _with_tolerance(method(case._replace(kwargs=kwargs), full))


def _dtype_name(dtype: Any) -> str:
    return "_".join(map(_dtype_name, dtype)) if isinstance(dtype, (list, tuple)) else str(dtype).removeprefix("torch.")


def _with_tolerance(test: Any) -> Any:
    by_dtype = getattr(test, "_tolerances", None)
    if by_dtype is None:
        return test

    @functools.wraps(test)
    def tolerant(self: Any) -> Any:
        for dtype, (atol, rtol) in by_dtype.items():
            if test.__name__.endswith(_dtype_name(dtype)):
                self.precision, self.rel_tol = max(self.precision, atol), max(self.rel_tol, rtol)
        return test(self)

    del tolerant.__wrapped__  # type: ignore[attr-defined]  # see parametrization.method
    return tolerant
