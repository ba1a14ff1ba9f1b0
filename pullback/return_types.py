"""`torch.return_types`: the named tuples that functions with several results return, by the name of the function.

They are declared next to their functions, with `returned_by`; here live their common manners. A name that is asked for loads
the modules that declare them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

from .core.basics.on_demand import names_on_demand
from .core.tensor import Tensor  # noqa: F401 - where the annotations of the results are looked up

_DECLARE = ("functional.reductions", "functional.elementary", "functional.searching", "linalg", "linalg.older_results")
_Class = TypeVar("_Class", bound=type)
_declared: dict[str, Any] = {}


def _described(self: Any) -> str:
    """Each result on a line of its own, as torch prints them."""
    lines = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{lines})"


def _make_constructor(fields: tuple[str, ...]) -> Any:
    """Return a `__new__` that takes the parts one by one, or in one sequence as torch's classes do."""
    count = len(fields)
    make = tuple.__new__

    def made(cls: Any, *parts: Any, sequence: Any = None) -> Any:
        if len(parts) == count:
            return make(cls, parts)
        sequence = parts[0] if len(parts) == 1 and sequence is None else sequence
        if not hasattr(sequence, "__iter__"):
            raise TypeError(f"constructor requires a sequence, of {' and '.join(fields)}")
        parts = tuple(sequence)
        if len(parts) != count:
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {count}-sequence ({len(parts)}-sequence given)"
            )
        return make(cls, parts)

    return made


def returned_by(name: str) -> Any:
    """Declares a class of named tuples as what the function of this name returns."""

    def declare(cls: _Class) -> _Class:
        cls.__name__ = cls.__qualname__ = name
        cls.__module__ = __name__
        cls.__new__ = _make_constructor(cls._fields)  # type: ignore[attr-defined, method-assign, assignment]
        cls.__repr__ = _described  # type: ignore[assignment, method-assign]
        _declared[name] = cls
        return cls

    return declare


def declare_result(name: str, fields_of: _Class) -> _Class:
    """Declare the result of one more function, with the fields of another's."""
    return returned_by(name)(type(name, (fields_of,), {"__slots__": ()}))


def _result_class(name: str) -> Any:
    """Return the class of a function's results, after loading all modules that declare such classes."""
    if not name.startswith("_"):
        for module in _DECLARE:
            import_module(f"{__package__}.{module}")
    return _declared.get(name)


names_on_demand(__name__, made=_result_class)
