"""One test method for each combination of parameters: `parametrize`, and what turns marked methods into real ones."""

from __future__ import annotations

import functools
import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any


class subtest:
    """One set of arguments of a parametrised test, with a name and decorators of its own."""

    def __init__(self, arg_values: Any, name: str | None = None, decorators: Iterable[Any] | None = None) -> None:
        self.arg_values: Any = arg_values
        self.name: str | None = name
        self.decorators: list[Any] = list(decorators or ())


class Case:
    """One way to call a test: keyword arguments, what its name ends with, what decorates it."""

    def __init__(self, kwargs: dict[str, Any], suffix: str, decorators: Iterable[Any] = ()) -> None:
        self.kwargs: dict[str, Any] = kwargs
        self.suffix: str = suffix
        self.decorators: list[Any] = list(decorators)


def add_cases(function: Any, cases: list[Case]) -> Any:
    """Mark a test (or a class) with ways to call it; several marks multiply."""
    function._test_cases = [*getattr(function, "_test_cases", ()), cases]
    return function


class _TestParametrizer:
    """A mark of one's own: `_parametrize_test` of a subclass yields (test, end of its name, arguments, decorators)."""

    def __call__(self, function: Any) -> Any:
        given = list(self._parametrize_test(function, None, None))
        cases = [Case(kwargs, suffix, decorators(kwargs)) for _, suffix, kwargs, decorators in given]
        marked = add_cases(given[0][0] if given else function, cases)
        marked.__name__ = function.__name__
        return marked

    def _parametrize_test(self, test: Any, generic_cls: Any, device_cls: Any) -> Iterable[Any]:
        raise NotImplementedError("a mark says in _parametrize_test with which arguments a test is called")


def parametrize(
    arg_str: str, arg_values: Iterable[Any], name_fn: Callable[..., str] | None = None
) -> Callable[[Any], Any]:
    """Call a test once for each of these values of its arguments (named in a comma-separated string)."""
    names = [name.strip() for name in arg_str.split(",") if name.strip()]

    def mark(function: Any) -> Any:
        cases = []
        for number, value in enumerate(arg_values):
            given = value if isinstance(value, subtest) else subtest(value)
            values = list(given.arg_values) if len(names) > 1 else [given.arg_values]
            if given.name is not None:
                name = given.name
            elif name_fn is not None:
                name = name_fn(*values)
            else:
                name = "_".join(f"{key}_{_name_of(each, number)}" for key, each in zip(names, values, strict=True))
            cases.append(Case(dict(zip(names, values, strict=True)), name, given.decorators))
        return add_cases(function, cases)

    return mark


def _name_of(value: Any, number: int) -> str:
    if isinstance(value, (bool, int, float, str)) or value is None:
        return str(value)
    return getattr(value, "__name__", None) or str(value).removeprefix("torch.") if _is_simple(value) else str(number)


def _is_simple(value: Any) -> bool:
    return hasattr(value, "__name__") or str(value).startswith("torch.")


class decorateIf:
    """Decorate a test only for the parameters that a predicate picks."""

    def __init__(self, decorator: Any, predicate_fn: Callable[[dict[str, Any]], bool]) -> None:
        self.decorator: Any = decorator
        self.predicate: Callable[[dict[str, Any]], bool] = predicate_fn

    def __call__(self, function: Any) -> Any:
        function._decorators_if = [*getattr(function, "_decorators_if", ()), self]
        return function


def expanded(function: Any, extra: list[list[Case]] = []) -> dict[str, Any]:  # noqa: B006 - never written
    """All the tests a marked function stands for, by name."""
    marks = [*getattr(function, "_test_cases", ()), *extra]
    tests = {}
    for combination in itertools.product(*marks):
        kwargs: dict[str, Any] = {}
        for case in combination:
            kwargs.update(case.kwargs)
        name = "_".join([function.__name__, *(case.suffix for case in combination if case.suffix)])
        test = _bound(function, kwargs)
        for decorator in itertools.chain.from_iterable(case.decorators for case in combination):
            test = decorator(test)
        for conditional in getattr(function, "_decorators_if", ()):
            if conditional.predicate(kwargs):
                test = conditional.decorator(test)
        test.__name__ = name
        tests[name] = test
    return tests


def _bound(function: Any, kwargs: dict[str, Any]) -> Any:
    @functools.wraps(function)
    def test(self: Any) -> Any:
        return function(self, **kwargs)

    del test.__wrapped__  # type: ignore[attr-defined]  # runners would look for the original's arguments as fixtures
    return test


def instantiate_parametrized_tests(generic_cls: Any) -> Any:
    """Replace the marked tests of a class by one method for each combination of their parameters."""
    for name, function in list(vars(generic_cls).items()):
        if name.startswith("test") and inspect.isfunction(function) and getattr(function, "_test_cases", None):
            delattr(generic_cls, name)
            for each, test in expanded(function).items():
                setattr(generic_cls, each, test)
    return generic_cls
