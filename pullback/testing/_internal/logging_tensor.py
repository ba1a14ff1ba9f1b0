"""A wrapper, and a dispatch mode, that write down the operations they see, and the block that gathers what they write."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from ...core.tensor import Tensor
from ...shell.dispatch_subclasses import DisableTorchDispatch
from ...utils._python_dispatch import TorchDispatchMode
from ...utils._pytree import tree_map
from ...utils.weak import WeakTensorKeyDictionary

no_dispatch: type = DisableTorchDispatch


def _log(func: Any, args: Any, kwargs: Any, results: Any) -> None:
    logging.getLogger("LoggingTensor").info(f"{func.__module__}.{func.__name__}", args, kwargs, results)


class LoggingTensor(Tensor):
    """Writes down every operation on it. It has the elements of another tensor, `elem`, and shares its memory."""

    elem: Any
    __slots__ = ["elem"]

    context: Any = nullcontext  # what is open while an operation runs

    def __new__(cls, elem: Any, *args: Any, **kwargs: Any) -> Any:
        made: Any = Tensor._make_subclass(cls, elem, kwargs.get("requires_grad", False))  # type: ignore[attr-defined]
        made.elem = elem.detach() if made.requires_grad else elem
        return made

    def __repr__(self) -> str:
        return f"LoggingTensor({self.elem})"

    __str__ = __repr__

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        def inside(value: Any) -> Any:
            return value.elem if isinstance(value, cls) else value

        def around(value: Any) -> Any:
            return cls(value) if isinstance(value, Tensor) else value

        with cls.context():
            results = tree_map(around, func(*tree_map(inside, args), **tree_map(inside, kwargs or {})))
        _log(func, args, kwargs, results)
        return results


class LoggingTensorMode(TorchDispatchMode):
    """Writes down every operation."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        results = func(*args, **kwargs)
        _log(func, args, kwargs, results)
        return results


class LoggingTensorReentrant(LoggingTensor):
    """The same by another name: what is inside may answer operations here, anyway."""


_SHORT = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c", "bool": "b"}


def _short(dtype: Any) -> str:
    """`f32` for torch.float32."""
    name = str(dtype).removeprefix("torch.")
    letters = name.rstrip("0123456789")
    return f"{_SHORT.get(letters, letters)}{name[len(letters) :] or 8}"


class LoggingTensorHandler(logging.Handler):
    """Gathers what was written down, a line for each operation; tensors are numbered in order."""

    def __init__(
        self,
        log_list: list[str],
        use_shortid_for_all_tensors: bool = False,
        with_type: bool = False,
        tracebacks_list: Any = None,
    ) -> None:
        super().__init__()
        self.log_list: list[str] = log_list
        self.use_shortid_for_all_tensors: bool = use_shortid_for_all_tensors
        self.tracebacks_list: Any = tracebacks_list
        self._numbers: Any = WeakTensorKeyDictionary()
        self._next: int = 0

    def _number(self, tensor: Tensor) -> int:
        if tensor not in self._numbers:
            self._numbers[tensor] = self._next
            self._next += 1
        return self._numbers[tensor]

    def _text(self, value: Any, with_type: bool = False) -> str:
        kinds = Tensor if self.use_shortid_for_all_tensors else LoggingTensor
        if not isinstance(value, kinds):
            return repr(value)
        kind = f": {_short(value.dtype)}{list(value.shape)}" if with_type else ""
        return f"${self._number(value)}{kind}"

    def emit(self, record: logging.LogRecord) -> None:
        given: Any = record.args
        args, kwargs, results = given
        texts = [str(tree_map(self._text, value)) for value in args]
        texts += [f"{name}={tree_map(self._text, value)}" for name, value in (kwargs or {}).items()]
        made = results if isinstance(results, (list, tuple)) else [results]
        shown = ", ".join(self._text(value, True) for value in made)
        self.log_list.append(f"{shown} = {record.msg}({', '.join(texts)})")


def log_input(name: str, var: Any) -> None:
    """Write a tensor down as one that came from outside."""
    logging.getLogger("LoggingTensor").info("input", (name,), {}, var)


@contextmanager
def capture_logs(
    is_mode: bool = False, python_tb: bool = False, script_tb: bool = False, cpp_tb: bool = False
) -> Iterator[Any]:
    """Gathers the lines of what is written down inside."""
    logger = logging.getLogger("LoggingTensor")
    lines: list[str] = []
    handler = LoggingTensorHandler(lines, use_shortid_for_all_tensors=is_mode)
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
    try:
        yield lines
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


@contextmanager
def capture_logs_with_logging_tensor_mode(
    python_tb: bool = False, script_tb: bool = False, cpp_tb: bool = False
) -> Iterator[Any]:
    """`capture_logs` of everything that happens inside."""
    with LoggingTensorMode(), capture_logs(is_mode=True) as lines:
        yield lines
