"""`torch.testing`: `assert_close` with torch's tolerances and messages, and `make_tensor` for test data."""

from __future__ import annotations

from typing import Any

from ..core.basics.notices import warn_user
from . import comparison as _comparison  # torch's name for it
from .comparison import assert_close
from .creation import make_tensor

__all__ = ["assert_allclose", "assert_close", "make_tensor"]


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The old name of `assert_close`, with its looser ideas of what may be compared and of what is close."""
    warn_user(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a future release. Please use "
        "`torch.testing.assert_close()` instead.",
        FutureWarning,
    )
    from ..core.basics.dtypes import float16, float32, float64
    from ..core.tensor import Tensor
    from ..functional.creation import as_tensor

    if not isinstance(actual, Tensor):
        actual = as_tensor(actual)
    if not isinstance(expected, Tensor):
        expected = as_tensor(expected, dtype=actual.dtype)
    if rtol is None and atol is None:
        by_dtype = {float16: (1e-3, 1e-3), float32: (1e-4, 1e-5), float64: (1e-5, 1e-8)}
        pairs = [by_dtype.get(each.dtype, (0.0, 0.0)) for each in (actual, expected)]
        rtol, atol = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    assert_close(
        actual,
        expected,
        rtol=rtol,
        atol=atol,
        equal_nan=equal_nan,
        check_device=True,
        check_dtype=False,
        msg=msg or None,
    )
