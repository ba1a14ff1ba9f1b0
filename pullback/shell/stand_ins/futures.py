"""`torch.futures`: results that arrive later, within one process."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future as _Future
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Future(Generic[T]):
    """A result that one thread sets and others wait for."""

    def __init__(self, *, devices: Any = None) -> None:
        self._inner: _Future[Any] = _Future()

    def done(self) -> bool:
        """True once the result, or an exception, is there."""
        return self._inner.done()

    def wait(self) -> Any:
        """The result; blocks until it is there."""
        return self._inner.result()

    value = wait

    def set_result(self, result: Any) -> None:
        """Deliver the result."""
        self._inner.set_result(result)

    def set_exception(self, result: Exception) -> None:
        """Deliver an exception, which `wait` raises."""
        self._inner.set_exception(result)

    def add_done_callback(self, callback: Callable[[Future[Any]], None]) -> None:
        """Call `callback(self)` once the result is there."""
        self._inner.add_done_callback(lambda _: callback(self))

    def then(self, callback: Callable[[Future[Any]], Any]) -> Future[Any]:
        """A future of what `callback(self)` returns."""
        following: Future[Any] = Future()

        def run(done: Future[Any]) -> None:
            try:
                following.set_result(callback(done))
            except Exception as error:
                following.set_exception(error)

        self.add_done_callback(run)
        return following


def wait_all(futures: list[Future[Any]]) -> list[Any]:
    """The results of all."""
    return [future.wait() for future in futures]


def collect_all(futures: list[Future[Any]]) -> Future[Any]:
    """A future of the list, which arrives when all have arrived."""
    result: Future[Any] = Future()
    missing = len(futures)
    if not futures:
        result.set_result([])

    def arrived(_: Future[Any]) -> None:
        nonlocal missing
        missing -= 1
        if missing == 0:
            result.set_result(list(futures))

    for future in futures:
        future.add_done_callback(arrived)
    return result
