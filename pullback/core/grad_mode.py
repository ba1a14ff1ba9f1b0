"""The public switches of grad mode: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`.

Each is a context manager and a decorator (of functions, generators and coroutines). The state they switch is in
`mode.py`.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar, overload

from .basics.notices import warn_user
from .basics.storage import storage_of
from .mode import NO_GRAD, RECORD, current_mode, set_mode

if TYPE_CHECKING:
    from typing import Self

    from .basics.types import Function
    from .tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])

_GENERATOR, _COROUTINE = 0x20, 0x80  # code flags, spelled out so that `inspect` is not imported


class _DecoratorContextManager:
    """A context manager that is a decorator too: a fresh one of its kind surrounds each call. Programs derive from it."""

    def clone(self) -> Self:
        """A fresh switch of the same kind, for each call of a decorated function."""
        return self.__class__()

    def __call__(self, function: F) -> F:
        return _decorate(self.clone, function)


class _NoParamDecoratorContextManager(_DecoratorContextManager):
    """One that decorates without being called, too: `@no_grad`."""

    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    def __new__(cls, orig_func: Any = None) -> Any:
        if orig_func is None:
            return object.__new__(cls)
        return _decorate(cls, orig_func)


class ModeSwitch(_DecoratorContextManager):
    """One that changes the mode. Subclasses say what of it in `_changes`."""

    _previous: Any = None

    def _changes(self) -> dict[str, object]:
        raise NotImplementedError

    def _restores(self) -> dict[str, object]:
        previous = self._previous
        return {name: getattr(previous, name) for name in self._changes()}

    def __enter__(self) -> None:
        self._previous = current_mode()
        set_mode(self._previous.replace(**self._changes()))
        return None

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        set_mode(current_mode().replace(**self._restores()))


def _decorate(make_context: Function, function: Any) -> Any:
    code: CodeType | None = getattr(function, "__code__", None)
    if isinstance(function, type):
        warn_user(
            "Decorating classes is deprecated and will be disabled in future versions. You should only decorate "
            f"functions or methods. What happens now is that {function.__name__}.__init__ runs in this mode: decorate "
            "that method.",
            FutureWarning,
        )
    if code is not None and code.co_flags & _GENERATOR:
        return _decorate_generator(make_context, function)
    if code is not None and code.co_flags & _COROUTINE:

        @functools.wraps(function)
        async def coroutine(*args: object, **kwargs: object) -> Any:
            with make_context():
                return await function(*args, **kwargs)

        return coroutine

    @functools.wraps(function)
    def decorated(*args: object, **kwargs: object) -> Any:
        with make_context():
            return function(*args, **kwargs)

    return decorated


def _decorate_generator(make_context: Function, function: Any) -> Any:
    @functools.wraps(function)
    def generator(*args: object, **kwargs: object) -> Any:
        """Every step of the body runs in the mode; between steps the caller has its own back."""
        inner = function(*args, **kwargs)
        try:
            with make_context():
                value = inner.send(None)
            while True:
                try:
                    sent = yield value
                except GeneratorExit:
                    with make_context():
                        inner.close()
                    raise
                except BaseException as error:
                    with make_context():
                        value = inner.throw(error)
                else:
                    with make_context():
                        value = inner.send(sent)
        except StopIteration as stop:
            return stop.value

    return generator


class no_grad(ModeSwitch, _NoParamDecoratorContextManager):
    """Operations inside are not recorded: `with no_grad(): ...`, `@no_grad()` or `@no_grad`."""

    def __enter__(self) -> None:
        previous = self._previous = current_mode()
        set_mode(NO_GRAD if previous is RECORD else previous.replace(grad=False))

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        mode = current_mode()
        previous = self._previous
        set_mode(previous if mode is NO_GRAD and not previous.special else mode.replace(grad=previous.grad))


class enable_grad(ModeSwitch, _NoParamDecoratorContextManager):
    """Operations inside are recorded even within `no_grad`."""

    def _changes(self) -> dict[str, object]:
        return {"grad": True}


class set_grad_enabled(ModeSwitch):
    """Switch recording on or off: takes effect at once, and as a context manager undoes itself at the end."""

    def __init__(self, mode: bool) -> None:
        if type(mode).__name__ not in ("bool", "bool_"):  # Python's or NumPy's
            raise TypeError(
                f"set_grad_enabled(): argument 'enabled' (position 1) must be bool, not {type(mode).__name__}"
            )
        self.mode: bool = bool(mode)
        self._previous = current_mode()
        set_mode(self._previous.replace(grad=self.mode))

    def _changes(self) -> dict[str, object]:
        return {"grad": self.mode}

    def __enter__(self) -> None:
        set_mode(current_mode().replace(grad=self.mode))

    def clone(self) -> set_grad_enabled:
        """A fresh switch to the same setting."""
        return self.__class__(self.mode)

    def __call__(self, function: F) -> F:
        set_mode(current_mode().replace(grad=self._previous.grad))
        return super().__call__(function)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(mode={self.mode})"


class inference_mode(ModeSwitch):
    """Like `no_grad`, and the tensors made inside can never take part in recording."""

    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    def __new__(cls, mode: Any = True) -> Any:
        if isinstance(mode, bool):
            return object.__new__(cls)
        return _decorate(cls, mode)

    def __init__(self, mode: bool = True) -> None:
        super().__init__()
        self.mode: bool = mode

    def _changes(self) -> dict[str, object]:
        if not self.mode:
            return {"inference": False, "grad": True}
        return {"inference": True, "grad": False, "dual_level": 0}

    def clone(self) -> inference_mode:
        """A fresh switch to the same setting."""
        return self.__class__(self.mode)


class _Switches(threading.local):
    """Settings that torch keeps for each thread. Programs can read them back; nothing else here depends on them."""

    multithreading: bool = True
    view_replay: bool = False
    grad_layout: bool = True


_switches = _Switches()


class ThreadSwitch:
    """Takes effect at once, and as a context manager or decorator undoes itself. Subclasses name what is switched."""

    _switched: str

    def __init__(self, mode: bool) -> None:
        self.mode: bool = bool(mode)
        self._previous = getattr(_switches, self._switched)
        setattr(_switches, self._switched, self.mode)

    def __enter__(self) -> None:
        setattr(_switches, self._switched, self.mode)

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        setattr(_switches, self._switched, self._previous)

    def clone(self) -> ThreadSwitch:
        """A fresh switch to the same setting."""
        return self.__class__(self.mode)

    def __call__(self, function: F) -> F:
        setattr(_switches, self._switched, self._previous)
        return _decorate(self.clone, function)


class set_multithreading_enabled(ThreadSwitch):
    """Accepted for compatibility: a backward pass here runs in the thread that asked for it."""

    _switched: str = "multithreading"


class _force_original_view_tracking(ThreadSwitch):
    """Give views whose base was written the nodes of the operations that made them, not one for the whole way."""

    _switched: str = "view_replay"


class enforce_grad_layout_policy(ThreadSwitch):
    """Accepted for compatibility: the memory of a gradient lies as that of its leaf, or row by row, either way."""

    _switched: str = "grad_layout"

    def __init__(self, enable: bool = True) -> None:
        super().__init__(enable)


def is_multithreading_enabled() -> bool:
    """Return the value that `set_multithreading_enabled` was last given."""
    return _switches.multithreading


def is_view_replay_enabled() -> bool:
    """Return True if views are replayed operation by operation after a write to their base."""
    return _switches.view_replay


def set_versions(tensors: Sequence[Tensor], versions: Sequence[int]) -> None:
    """Set version counters; a tensor whose counter goes back counts as not written since."""
    for tensor, version in zip(tensors, versions, strict=True):
        storage = storage_of(tensor)
        for _ in range(storage.version - version):
            if storage.recent:
                storage.recent.pop()
        storage.version = version
        storage.written = storage.recent[-1] if storage.recent else 0


class _unsafe_preserve_version_counter(ModeSwitch):
    """Writes to these tensors inside are not counted: saved values are used as they are by then."""

    def __init__(self, tensors: Any) -> None:
        self.tensors = tensors if isinstance(tensors, (tuple, list)) else (tensors,)
        self.versions = tuple(tensor._version for tensor in self.tensors)

    def __enter__(self) -> None:
        return None

    def __exit__(self, exc_type: object, exc_value: object, traceback: object) -> None:
        set_versions(self.tensors, self.versions)

    def clone(self) -> _unsafe_preserve_version_counter:
        return self.__class__(self.tensors)
