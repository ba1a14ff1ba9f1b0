"""How torch names its functions, and how it passes their arguments, when a `__torch_function__` takes them over.

Functions that torch writes in Python fill in what was left out and give it by name: `F.relu(x)` arrives as
`relu(x, inplace=False)`. Those of its compiled core arrive as they were called, and are found in `torch._C`. Which is
which, each says itself: it is announced with `passed=`, which is

- "": arguments without a default by position, those with one by name;
- "input target, reduction": those before the comma by position, those after it by name;
- "*": the operands of a list one by one;
- "..., indexing": any number of tensors, and what was left out by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from ...functional.gate import FACTS


@cache
def _parameters(form: str, function: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    """The names of the parameters, and the defaults of those that are given by name."""
    names: list[str] = []
    defaults: dict[str, Any] = {}
    parameters = inspect.signature(function).parameters.values()
    if all(each.kind is not each.VAR_POSITIONAL for each in parameters):
        names = [each.name for each in parameters]
        defaults = {each.name: each.default for each in parameters if each.default is not each.empty}
    if form:
        positional, by_name = (part.split() for part in form.split(","))
        return [*positional, *by_name], {name: defaults.get(name) for name in by_name}
    return names, defaults


def as_passed(
    form: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call as torch hands them over."""
    if form == "*":
        one_list = len(args) == 2 and isinstance(args[1], (list, tuple))
        return ((args[0], *args[1]) if one_list else args), kwargs
    if form.startswith("..."):
        return args, dict.fromkeys(form.partition(",")[2].split()) | kwargs
    names, defaults = _parameters(form, function)
    given = {**dict(zip(names, args)), **kwargs}
    positional = [name for name in names if name not in defaults and name in given]
    leading = names[: len(positional)] == positional
    if len(args) > len(names) or not leading or not given.keys() <= {*positional, *defaults}:
        return args, kwargs  # any number of tensors, a mistake, or a name that only NumPy has
    by_name = {name: given.get(name, default) for name, default in defaults.items()}
    return tuple(given[name] for name in positional), by_name


def torch_name_of(function: Any) -> str | None:
    """The dotted name torch has for a function of the library: `torch._C._nn.gelu`; None for what is not one."""
    try:
        facts = FACTS.get(function)
    except TypeError:
        return None  # it has no hash
    return None if facts is None else facts.torch_name
