"""Where torch-level functions are announced: as names of the package, as Tensor methods, as in-place methods.

`@public()` marks a function of a family module; `methods.py` and the package's `__init__` read the tables. What a call of one
goes through is `gate.py`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from . import names
from .gate import NUMPY, Facts, gated, module_of, with_own_name
from .gate import announce as make_public
from .out_argument import KINDS

F = TypeVar("F", bound=Callable[..., Any])


class Table(dict[str, Any]):
    """Functions by name. One that belongs to a module that is not loaded yet is loaded when it is looked up."""

    def __init__(self, names_in: dict[str, str]) -> None:
        super().__init__()
        self.homes: dict[str, str] = {name: home for home, names in names_in.items() for name in names.split()}

    def __missing__(self, name: str) -> Callable[..., Any]:
        load(self.homes[name])
        if name not in self:
            raise KeyError(f"{name} is not in functional.{self.homes[name]}: run python -m pullback.functional.late")
        return dict.__getitem__(self, name)

    def find(self, name: str) -> Callable[..., Any] | None:
        """The function of this name, None if there is none."""
        return self[name] if name in self or name in self.homes else None


def load(module: str) -> None:
    """Import one family and give Tensor its methods."""
    importlib.import_module(f"{__package__}.{module}")
    for attach in on_load:
        attach()


on_load: list[Callable[[], None]] = []  # called after a family was imported late

FUNCTIONS = Table(names.FUNCTIONS)  # torch.name
METHODS = Table(names.METHODS)  # Tensor.name
IN_PLACE = Table(names.IN_PLACE)  # Tensor.name_, given as the out-of-place function


def public(
    *names: str,
    name: str | None = None,
    function: bool = True,
    method: bool = True,
    in_place: bool = False,
    direct: bool = False,
    out: str | None = None,
    autocast: str | None = None,
    spellings: Mapping[str, tuple[str, ...]] = NUMPY,
    asks: str = "arguments",
    tensors: bool = True,
    passed: str | None = None,
    passed_by_method: str | None = None,
) -> Callable[[F], F]:
    """Announce a function under its own name (or `name`, if Python needs another here) and others, and what is known of it.

    `function` makes it a name of the package, `method` one of Tensor, `in_place` one with a trailing underscore.
    `direct` functions run as they are written, without a gate. For the others,
    `out` says of which kind `out=` is (`out_argument.py`); None: it takes none;
    `autocast` is "full" (in float32) or "as given"; None: its operations say it;
    `spellings` are other names under which its arguments are understood.
    For `__torch_function__`,
    `asks` is "arguments", "modes" (arguments have no say) or "nobody"; `tensors` is False if it is given none as a rule;
    `passed` says how torch hands over arguments (`shell/torch_names/passed_arguments.py`), None: as they were given, and
    `passed_by_method` the same of the method.
    """

    def announce(f: F) -> F:
        own = name or f.__name__
        facts = _checked(Facts(
            own, f, "torch" if function else "torch.Tensor", out, autocast, spellings, asks,
            passed if function else passed_by_method, passed_by_method, tensors=tensors, made_by=None if direct else gated,
        ))  # fmt: skip
        exposed = make_public(facts)
        if exposed is not f:
            exposed.__module__, exposed.__qualname__ = "pullback", own if function else f"Tensor.{own}"  # pickles ask
        for each in (own, *names):
            if function:
                FUNCTIONS[each] = exposed if each == own else with_own_name(exposed, each, "torch")
            if method:
                METHODS[each] = exposed
            if in_place:
                IN_PLACE[each + "_"] = f
        return f

    return announce


def public_in(
    home: str,
    *,
    name: str | None = None,
    direct: bool = False,
    out: str | None = None,
    autocast: str | None = None,
    spellings: Mapping[str, tuple[str, ...]] | None = None,
    asks: str = "arguments",
    tensors: bool = True,
    passed: str | None = None,
    compiled: bool = False,
) -> Callable[[F], F]:
    """Announce a function of `torch.linalg`, `torch.fft` and so on: the name in its module is what programs call.

    `name` is what torch calls it, `compiled` says that it is one of its core's; the other arguments are those of `public`.
    """

    def announce(f: F) -> F:
        own, place = f.__name__, f.__qualname__
        prefix = f"{home.rpartition('.')[2]}_" if home in ("torch.linalg", "torch.special", "torch.fft") else ""
        exposed = make_public(_checked(Facts(
            name or prefix + own, f, home, out, autocast, spellings or {}, asks, passed, compiled=compiled, tensors=tensors,
            made_by=None if direct else gated,
        )))  # fmt: skip
        exposed.__module__, exposed.__qualname__ = module_of(home), place
        return exposed

    return announce


def _checked(facts: Facts) -> Facts:
    for field, known in (
        ("out", KINDS),
        ("autocast", {"full", "as given"}),
        ("asks", {"arguments", "modes", "nobody"}),
    ):
        value = getattr(facts, field)
        if value is not None and value not in known:
            raise TypeError(f"{field} of {facts.name} is {value!r}: it is one of {sorted(known)}")
    if facts.made_by is None and (facts.out or facts.autocast):
        raise TypeError(f"{facts.name} cannot be direct: only gates read out= and mind autocast")
    return facts


def alias(function: Callable[..., Any], *names: str, method: bool = True, in_place: bool = False) -> None:
    """Further names for a function that is already announced."""
    for name in names:
        FUNCTIONS[name] = function if function.__name__ == name else with_own_name(function, name, "torch")
        if method:
            METHODS[name] = function
        if in_place:
            IN_PLACE[name + "_"] = function
