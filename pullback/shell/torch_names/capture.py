"""Functions that mean more to torch's tracer than to a program that simply runs: `cond`, `_check`, `sym_int`, ...

Here a program always simply runs: conditions are looked at, sizes are numbers.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.tape import wrap


def _message(message: Any) -> str:
    if message is None:
        return (
            "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an "
            "enhancement request to PyTorch.)"
        )
    return str(message() if callable(message) else message)


def _checker(error: type[Exception]) -> Callable[..., None]:
    def check(cond: Any, message: Callable[[], str] | None = None) -> None:
        """Raise the error unless the condition holds; the message is only made then."""
        if type(cond) is not bool:
            raise TypeError(f"cond must be a bool, but got {type(cond)}")
        if not cond:
            raise error(_message(message))

    return check


_check: Callable[..., None] = _checker(RuntimeError)
_check_index: Callable[..., None] = _checker(IndexError)
_check_value: Callable[..., None] = _checker(ValueError)
_check_type: Callable[..., None] = _checker(TypeError)
_check_not_implemented: Callable[..., None] = _checker(NotImplementedError)


def _check_is_size(i: Any, message: Callable[[], str] | None = None, *, max: Any = None) -> None:
    """Raise RuntimeError unless a number can be a size."""
    _check(i >= 0 and (max is None or i <= max), message)


def _check_tensor_all(cond: Any, message: Callable[[], str] | None = None) -> None:
    """Raise RuntimeError unless a condition holds everywhere."""
    if not hasattr(cond, "all"):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    _check(bool(cond.all()), message)


def _assert(condition: Any, message: str) -> Any:
    """`assert` as a function."""
    if hasattr(type(condition), "__torch_function__"):
        from ...overrides import handle_torch_function, has_torch_function

        if has_torch_function((condition,)):
            return handle_torch_function(_assert, (condition,), condition, message)
    assert condition, message
    return None


def _assert_async(condition: Any, assert_msg: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError if a tensor of one element is zero."""
    if not condition:
        raise RuntimeError(assert_msg)


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """The result of one of two functions."""
    return (true_fn if pred else false_fn)(*operands)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Apply `body_fn` to its own results while `cond_fn` of them holds."""
    while cond_fn(*carried_inputs):
        results = body_fn(*carried_inputs)
        carried_inputs = results if isinstance(results, (tuple, list)) else (results,)
    return tuple(carried_inputs)


def sym_ite(b: Any, t: Any, f: Any) -> Any:
    """One of two numbers."""
    return t if b else f


def sym_not(a: Any) -> bool:
    """`not a`."""
    return not a


def sym_sum(args: Any) -> Any:
    """The sum of numbers."""
    return builtins.sum(args)


def _shape_as_tensor(self: Any) -> Any:
    """A tensor's shape, as a tensor."""
    return wrap(np.array(tuple(self.shape), dtype=np.int64))


def _nnpack_available() -> bool:
    """False: no library for mobile processors is used."""
    return False


def _has_compatible_shallow_copy_type(input: Any, from_: Any) -> bool:
    """True: any tensor's data can be replaced by another's, since there is one kind of tensor."""
    return True


sym_int, sym_float, sym_max, sym_min, sym_sqrt = int, float, builtins.max, builtins.min, math.sqrt
