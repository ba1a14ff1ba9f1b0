"""One test method for each combination of parameters: `parametrize`, and what turns marked methods into real ones."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias

# A mark turns (test, generic class, class for a device) into cases.
Mark: TypeAlias = Callable[[Any, Any, Any], Iterable[Any]]


class subtest:
    """One set of arguments of a parametrised test, with a name and decorators of its own."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Iterable[Any] | None = None) -> None:
        self.arg_values: Any = arg_values
        self.name: str | None = name
        self.decorators: list[Any] = list(decorators or ())


class Case(NamedTuple):
    """One way to call a test: what to call, how its name ends, arguments, and what decorates it given all arguments."""

    test: Any
    suffix: str
    kwargs: dict[str, Any]
    decorators: Callable[[dict[str, Any]], Iterable[Any]]


def add_mark(function: Any, mark: Mark) -> Any:
    """Mark a test with ways to call it; several marks multiply."""
    function._test_marks = [*getattr(function, "_test_marks", ()), mark]
    return function


class _TestParametrizer:
    """A mark of one's own: `_parametrize_test` of a subclass yields (test, end of its name, arguments, decorators)."""

    def __call__(self, function: Any) -> Any:
        return add_mark(function, self._parametrize_test)

    def _parametrize_test(self, test: Any, generic_cls: Any, device_cls: Any) -> Iterable[Any]:
        raise NotImplementedError("a mark says in _parametrize_test with which arguments a test is called")


def parametrize(
    arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None
) -> Callable[[Any], Any]:
    """Call a test once for each of these values of its arguments (named in a comma-separated string)."""
    names = [name.strip() for name in arg_str.split(",") if name.strip()]
    given_values = list(arg_values)

    def mark(test: Any, generic_cls: Any, device_cls: Any) -> Iterator[Case]:
        for number, value in enumerate(given_values):
            given = value if isinstance(value, subtest) else subtest(value)
            values = [given.arg_values] if len(names) == 1 else list(given.arg_values)
            if given.name is not None:
                name = given.name
            elif name_fn is not None:
                name = name_fn(*values)
            else:
                name = "_".join(_name_of(key, each, number) for key, each in zip(names, values, strict=True))
            yield Case(test, name, dict(zip(names, values, strict=True)), _always(given.decorators))

    return lambda function: add_mark(function, mark)


def swap(swap_values: Iterable[bool]) -> Callable[[Any], Any]:
    """Run a test with and without `torch.utils.swap_tensors` in the conversions of modules."""
    return parametrize(
        "",
        [subtest((), name=f"swap_{value}", decorators=[functools.partial(_swapping, value)]) for value in swap_values],
    )


def _swapping(value: bool, test: Any) -> Any:
    from pullback import __future__ as future

    @functools.wraps(test)
    def run(*args: Any, **kwargs: Any) -> Any:
        before = future.get_swap_module_params_on_conversion()
        future.set_swap_module_params_on_conversion(value)
        try:
            return test(*args, **kwargs)
        finally:
            future.set_swap_module_params_on_conversion(before)

    return run


def _always(decorators: list[Any]) -> Callable[[dict[str, Any]], list[Any]]:
    return lambda arguments: decorators


def _name_of(key: str, value: Any, number: int) -> str:
    if isinstance(value, (int, float, str)):
        return f"{key}_{str(value).replace('.', '_')}"
    return str(value).removeprefix("torch.") if type(value).__name__ in ("dtype", "device") else f"{key}{number}"


class decorateIf:
    """Decorate a test only for the parameters that a predicate picks."""

    def __init__(self, decorator: Any, predicate_fn: Callable[[dict[str, Any]], bool]) -> None:
        self.decorator: Any = decorator
        self.predicate: Callable[[dict[str, Any]], bool] = predicate_fn

    def __call__(self, function: Any) -> Any:
        function._decorators_if = [*getattr(function, "_decorators_if", ()), self]
        return function


def expanded(function: Any, generic_cls: Any, device_cls: Any = None) -> list[Case]:
    """All the tests a marked function stands for. The mark written above another comes first in a test's name."""
    cases = [Case(function, "", {}, lambda _: ())]
    for mark in getattr(function, "_test_marks", ()):
        cases = [_joined(old, Case(*new)) for old in cases for new in mark(old.test, generic_cls, device_cls)]
    return cases


def _joined(old: Case, new: Case) -> Case:
    suffix = "_".join(filter(None, (new.suffix, old.suffix)))
    both = lambda kwargs: [*old.decorators(kwargs), *new.decorators(kwargs)]
    return Case(new.test, suffix, {**old.kwargs, **new.kwargs}, both)


def method(case: Case, name: str) -> Any:
    """The test of a case as a method that takes no arguments, with all its decorators."""
    kwargs, function = case.kwargs, case.test

    @functools.wraps(function)
    def test(self: Any) -> Any:
        return function(self, **kwargs)

    del test.__wrapped__  # type: ignore[attr-defined]  # runners would look for the original's arguments as fixtures
    test.__dict__.pop("_test_marks", None)
    for decorator in case.decorators(kwargs):
        test = decorator(test)
    for conditional in getattr(function, "_decorators_if", ()):
        if conditional.predicate(kwargs):
            test = conditional.decorator(test)
    test.__name__ = name
    return test


def instantiate_parametrized_tests(generic_cls: Any) -> Any:
    """Replace the marked tests of a class by one method for each combination of their parameters."""
    for name, function in list(vars(generic_cls).items()):
        if name.startswith("test") and inspect.isfunction(function) and getattr(function, "_test_marks", None):
            delattr(generic_cls, name)
            for case in expanded(function, generic_cls):
                full = f"{name}_{case.suffix}" if case.suffix else name
                setattr(generic_cls, full, method(case, full))
    return generic_cls
