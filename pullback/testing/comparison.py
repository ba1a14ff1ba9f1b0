"""`assert_close`: compare tensors, numbers and nested containers of them, and say where and by how much they differ."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core.basics.dtypes import (
    bfloat16,
    complex64,
    complex128,
    dtype,
    float16,
    float32,
    float64,
    int64,
    promote_types,
    uint16,
    uint32,
    uint64,
)
from ..core.tape import wrap
from ..core.tensor import Tensor
from ..functional.operands import NUMBERS
from ..transforms.arrays.without_elements import is_form

# (rtol, atol) by dtype; whatever is not here must be equal.
_TOLERANCES: dict[dtype, tuple[float, float]] = {
    float16: (1e-3, 1e-5), bfloat16: (1.6e-2, 1e-5), float32: (1.3e-6, 1e-5), float64: (1e-7, 1e-7),
    complex64: (1.3e-6, 1e-5), complex128: (1e-7, 1e-7),
}  # fmt: skip

_WIDE = (uint16, uint32, uint64)
Message = str | Callable[[str], str] | None


def default_tolerances(
    *inputs: Any, dtype_precisions: Mapping[dtype, tuple[float, float]] | None = None
) -> tuple[float, float]:
    """rtol and atol for values of these dtypes (or tensors): the widest of each."""
    known = _TOLERANCES if dtype_precisions is None else dtype_precisions
    kinds = [value.dtype if isinstance(value, Tensor) else value for value in inputs]
    for kind in kinds:
        if not isinstance(kind, dtype):
            raise TypeError(f"Expected a torch.Tensor or a torch.dtype, but got {type(kind)} instead.")
    pairs = [known.get(kind, (0.0, 0.0)) for kind in kinds]
    return max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)


def get_tolerances(
    *inputs: Any, rtol: float | None, atol: float | None, id: tuple[Any, ...] = ()
) -> tuple[float, float]:
    """The tolerances that are given, both or none, or those of the dtypes."""
    if (rtol is None) != (atol is None):
        given, missing = ("atol", "rtol") if rtol is None else ("rtol", "atol")
        raise ValueError(
            f"Both 'rtol' and 'atol' must be either specified or unspecified, but only '{given}' came: add {missing}."
        )
    return default_tolerances(*inputs) if rtol is None or atol is None else (rtol, atol)


class _Differs(AssertionError):
    """A difference, and the path of keys that leads to it."""

    def __init__(self, message: str, path: tuple[Any, ...] = (), kind: type[Exception] = AssertionError) -> None:
        super().__init__(message)
        self.message, self.path, self.kind = message, path, kind


class _Options:
    def __init__(self, rtol: float | None, atol: float | None, equal_nan: bool, **checks: bool) -> None:
        self.rtol, self.atol, self.equal_nan = rtol, atol, equal_nan
        self.check_dtype: bool = checks["check_dtype"]
        self.check_layout: bool = checks["check_layout"]
        self.check_stride: bool = checks["check_stride"]
        self.allow_subclasses: bool = checks["allow_subclasses"]

    def tolerances(self, *dtypes: Any) -> tuple[float, float]:
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        return default_tolerances(*dtypes)


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = False, check_device: bool = True, check_dtype: bool = True, check_layout: bool = True,
    check_stride: bool = False, msg: Message = None,
) -> None:  # fmt: skip
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Sequences and mappings are compared element by element. Without `rtol` and `atol`, which are given together, the
    tolerances are those of the dtype. Shapes must agree, and unless switched off dtypes, layouts and devices
    (`check_dtype`, `check_layout`, `check_device`); `check_stride` adds strides. NaN equals NaN with `equal_nan`.
    `allow_subclasses=False` also wants the same types. `msg` is the error's text, or a function of the one that would
    be raised.
    """
    if (rtol is None) != (atol is None):
        raise ValueError(
            "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
            f"{'atol' if rtol is not None else 'rtol'}."
        )
    options = _Options(
        rtol, atol, equal_nan, check_dtype=check_dtype, check_layout=check_layout, check_stride=check_stride,
        allow_subclasses=allow_subclasses,
    )  # fmt: skip
    failure: Exception
    try:
        _compare(actual, expected, options, ())
        return
    except _Differs as difference:
        message = difference.message
        if difference.path:
            message += "\n\nThe failure occurred for item " + "".join(f"[{key!r}]" for key in difference.path)
        if difference.kind is AssertionError:
            message = msg if isinstance(msg, str) else msg(message) if msg is not None else message
        failure = difference.kind(message)
    raise failure


def _compare(actual: Any, expected: Any, options: _Options, path: tuple) -> None:
    if _is_plain_sequence(actual) and _is_plain_sequence(expected):
        if len(actual) != len(expected):
            raise _Differs(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
        for number, pair in enumerate(zip(actual, expected, strict=True)):
            _compare(*pair, options, (*path, number))
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        _compare_mappings(actual, expected, options, path)
    elif actual is None and expected is None:
        return
    elif isinstance(actual, NUMBERS) and isinstance(expected, NUMBERS) and not isinstance(actual, np.generic):
        _compare_numbers(actual, expected, options, path)
    elif isinstance(actual, (Tensor, np.ndarray, np.generic)) and isinstance(
        expected, (Tensor, np.ndarray, np.generic)
    ):
        _compare_tensors(_as_tensor(actual), _as_tensor(expected), options, path)
    else:
        raise _Differs(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
            path,
            TypeError,
        )


def _is_plain_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes))


def _as_tensor(value: Any) -> Tensor:
    return value if isinstance(value, Tensor) else wrap(np.asarray(value))


def _compare_mappings(actual: Mapping, expected: Mapping, options: _Options, path: tuple) -> None:
    missing = [key for key in expected if key not in actual]
    extra = [key for key in actual if key not in expected]
    if missing or extra:
        raise _Differs(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {sorted(missing, key=repr)}\n"
            f"Additional keys in the actual mapping: {sorted(extra, key=repr)}",
            path,
        )
    for key in actual:
        _compare(actual[key], expected[key], options, (*path, key))


def _compare_numbers(actual: Any, expected: Any, options: _Options, path: tuple) -> None:
    if options.check_dtype and type(actual) is not type(expected):
        raise _Differs(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    by_type = {int: None, bool: None, float: float64, complex: complex128}
    rtol, atol = options.tolerances(by_type.get(type(actual)), by_type.get(type(expected)))
    if actual == expected or (options.equal_nan and actual != actual and expected != expected):
        return
    difference = abs(actual - expected)
    if cmath.isfinite(difference) and difference <= atol + rtol * abs(expected):
        return
    relative = float("inf") if expected == 0 else abs(difference / expected)
    raise _Differs(_scalar_text(actual, expected, difference, relative, rtol, atol), path)


def _allowed(tolerance: float, exact: bool) -> str:
    return "" if exact else f" (up to {tolerance} allowed)"


def _scalar_text(actual: Any, expected: Any, difference: Any, relative: Any, rtol: float, atol: float) -> str:
    exact = rtol == atol == 0
    return (
        f"Scalars are not {'equal' if exact else 'close'}!\n\nExpected {expected} but got {actual}.\n"
        f"Absolute difference: {difference}{_allowed(atol, exact)}\n"
        f"Relative difference: {relative}{_allowed(rtol, exact)}"
    )


def _compare_tensors(actual: Tensor, expected: Tensor, options: _Options, path: tuple) -> None:
    if not options.allow_subclasses and type(actual) is not type(expected):
        raise _Differs(
            f"No comparison pair was able to handle inputs of type {type(actual)} and {type(expected)}.",
            path,
            TypeError,
        )
    if actual.shape != expected.shape:
        raise _Differs(f"The values for attribute 'shape' do not match: {actual.shape} != {expected.shape}.", path)
    if options.check_layout and actual.layout != expected.layout:
        raise _Differs(f"The values for attribute 'layout' do not match: {actual.layout} != {expected.layout}.", path)
    if options.check_dtype and actual.dtype is not expected.dtype:
        raise _Differs(f"The values for attribute 'dtype' do not match: {actual.dtype} != {expected.dtype}.", path)
    if options.check_stride and actual.stride() != expected.stride():
        raise _Differs(
            f"The values for attribute 'stride()' do not match: {actual.stride()} != {expected.stride()}.", path
        )
    rtol, atol = options.tolerances(actual.dtype, expected.dtype)
    if is_form(actual._array) or is_form(expected._array):
        from ..shell.torch_function import DisableTorchFunctionSubclass

        with DisableTorchFunctionSubclass():
            close = actual.isclose(expected, rtol, atol, options.equal_nan).all().item()
        if not close:
            raise _Differs(f"Tensor-likes are not close!\n\n{actual}\n{expected}", path)
        return
    a, b = _comparable(actual, expected)
    with np.errstate(all="ignore"):
        difference = np.abs(a.astype(np.int64) - b.astype(np.int64)) if a.dtype.kind in "biu" else np.abs(a - b)
        close = (a == b) | (np.isfinite(difference) & (difference <= atol + rtol * np.abs(b)))
        if options.equal_nan:
            close |= (a != a) & (b != b)
        if close.all():
            return
        size = np.abs(b.astype(np.float32 if b.dtype.kind in "biu" else b.dtype))
        relative = difference.astype(size.dtype) / size
    raise _Differs(_tensor_text(a, b, close, difference, relative, rtol, atol), path)


def _comparable(actual: Tensor, expected: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The arrays in one dtype NumPy can compute with."""
    arrays = [(t.to_dense() if t.is_sparse or t.is_sparse_csr else t)._array for t in (actual, expected)]
    kinds = [actual.dtype, expected.dtype]
    if kinds[0] is not kinds[1]:  # wide unsigned integers have no common type with others
        kinds = [int64 if kind in _WIDE else kind for kind in kinds]
    common = promote_types(*kinds)._numpy
    a, b = (np.asarray(array.astype(np.float32 if common.kind == "V" else common, copy=False)) for array in arrays)
    return a, b


def _tensor_text(
    a: np.ndarray,
    b: np.ndarray,
    close: np.ndarray,
    difference: np.ndarray,
    relative: np.ndarray,
    rtol: float,
    atol: float,
) -> str:
    if a.ndim == 0:
        return _scalar_text(a.item(), b.item(), difference.item(), relative.item(), rtol, atol)
    exact = rtol == atol == 0
    wrong, total = int((~close).sum()), close.size
    worst = np.unravel_index(np.argmax(np.where(close, -1, difference)), close.shape)
    worst_relative = np.unravel_index(np.argmax(np.where(close, -1, relative)), close.shape)
    return (
        f"Tensor-likes are not {'equal' if exact else 'close'}!\n\n"
        f"Mismatched elements: {wrong} / {total} ({wrong / total:.1%})\n"
        f"Greatest absolute difference: {difference[worst].item()} at index {_index_text(worst)}"
        f"{_allowed(atol, exact)}\n"
        f"Greatest relative difference: {relative[worst_relative].item()} at index {_index_text(worst_relative)}"
        f"{_allowed(rtol, exact)}"
    )


def _index_text(index: Any) -> str:
    return str(tuple(int(i) for i in index))
