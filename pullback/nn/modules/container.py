"""Modules that hold other modules: `Sequential`, `ModuleList`, `ModuleDict`, and the deprecated `Container`.

`ParameterList` and `ParameterDict` live in `_parameter_containers` and are importable from here as in torch.
"""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any

from ...core.basics.notices import warn_user
from ._parameter_containers import ParameterDict, ParameterList, pairs
from .module import Module

if TYPE_CHECKING:
    from collections.abc import ItemsView, Iterator, KeysView, ValuesView
    from typing import Self

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


class Container(Module):
    """Deprecated: a module built from keyword arguments. Subclass `Module` instead."""

    def __init__(self, **kwargs: Any) -> None:
        warn_user(
            "`nn.Container` is deprecated. All of its functionality is now implemented in `nn.Module`. "
            "Subclass that instead.",
            FutureWarning,
        )
        super().__init__()
        for name, module in kwargs.items():
            self.add_module(name, module)


class _ModuleSequence(Module):
    """The base of `Sequential` and `ModuleList`: submodules by position, named "0", "1", ... unless named."""

    def _key_at(self, index: int) -> str:
        index = operator.index(index)
        size = len(self._modules)
        if not -size <= index < size:
            raise IndexError(f"index {index} is out of range")
        return list(self._modules)[index]

    def __getitem__(self, idx: int | slice) -> Any:
        if isinstance(idx, slice):
            return self._part(list(self._modules.items())[idx])
        return self._modules[self._key_at(idx)]

    def _part(self, entries: list[tuple[str, Module]]) -> Any:
        """A container of the same kind with some of the modules."""
        return self.__class__(OrderedDict(entries))

    def __setitem__(self, idx: int, module: Module) -> None:
        setattr(self, self._key_at(idx), module)

    def __delitem__(self, idx: int | slice) -> None:
        for key in list(self._modules)[idx] if isinstance(idx, slice) else [self._key_at(idx)]:
            delattr(self, key)
        self._renumber(list(self._modules.values()))

    def _renumber(self, modules: list[Module]) -> None:
        self._modules = {str(index): module for index, module in enumerate(modules)}

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[Module]:
        return iter(self._modules.values())

    def append(self, module: Module) -> Self:
        """Add a module at the end."""
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key: int | slice) -> Module:
        """Remove and return the module at this position."""
        popped = self[key]
        del self[key]
        return popped


class Sequential(_ModuleSequence):
    """Modules called one after the other, each on the previous one's output.

    `Sequential(a, b, c)(x)` is `c(b(a(x)))`. The parts are named "0", "1" and so on, or by the keys of an
    `OrderedDict`; they can be indexed, sliced, appended and inserted.
    """

    def __init__(self, *args: Any) -> None:
        super().__init__()
        if len(args) == 1 and isinstance(args[0], OrderedDict):
            for name, module in args[0].items():
                self.add_module(name, module)
        else:
            for index, module in enumerate(args):
                self.add_module(str(index), module)

    def forward(self, input: Any) -> Any:
        for module in self._modules.values():
            input = module(input)
        return input

    def __add__(self, other: Sequential) -> Sequential:
        _require_sequential(other)
        return Sequential(*self, *other)

    def __iadd__(self, other: Sequential) -> Self:
        _require_sequential(other)
        return self.extend(list(other))

    def __mul__(self, other: int) -> Sequential:
        self._require_factor(other)
        return Sequential(*(list(self) * other))

    __rmul__ = __mul__

    def __imul__(self, other: int) -> Self:
        self._require_factor(other)
        return self.extend(list(self) * (other - 1))

    def _require_factor(self, factor: Any) -> None:
        if not isinstance(factor, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(factor)}")
        if factor <= 0:
            raise ValueError(f"Non-positive multiplication factor {factor} for {type(self)}")

    def insert(self, index: int, module: Module) -> Self:
        """Insert a module before this position."""
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        size = len(self)
        if not -size <= index <= size:
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)
        return self

    def extend(self, sequential: Iterable[Module]) -> Self:
        """Add all the modules at the end."""
        for module in sequential:
            self.append(module)
        return self


def _require_sequential(other: Any) -> None:
    if not isinstance(other, Sequential):
        raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")


class ModuleList(_ModuleSequence):
    """A list of modules whose parameters are found; it has no forward.

    For a Python list of modules, as an attribute, `parameters()` and `to()` would not see what is in it.
    """

    def __init__(self, modules: Iterable[Module] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _part(self, entries: list[tuple[str, Module]]) -> ModuleList:
        return self.__class__([module for _, module in entries])

    def __add__(self, other: Iterable[Module]) -> ModuleList:
        return ModuleList(chain(self, other))

    def __iadd__(self, modules: Iterable[Module]) -> Self:
        return self.extend(modules)

    def insert(self, index: int, module: Module) -> None:
        """Insert a module before this position."""
        modules = list(self)
        modules.insert(index, module)
        self._renumber(modules)

    def extend(self, modules: Iterable[Module]) -> Self:
        """Add all the modules at the end."""
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules) if modules is self else modules:
            self.append(module)
        return self

    def __repr__(self) -> str:
        """Like any module's, with runs of equal entries folded: `(0-3): 4 x Linear(...)`."""
        runs: list[tuple[int, int, str]] = []
        for index, text in enumerate(map(repr, self)):
            if runs and runs[-1][2] == text:
                runs[-1] = (runs[-1][0], index, text)
            else:
                runs.append((index, index, text))
        if not runs:
            return f"{self._get_name()}()"
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(line.replace("\n", "\n  ") for line in lines) + "\n)"


class ModuleDict(Module):
    """A dictionary of modules whose parameters are found; it has no forward.

    For a Python dict of modules, as an attribute, `parameters()` and `to()` would not see what is in it.
    """

    def __init__(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]] | None = None) -> None:
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key: str) -> Module:
        return self._modules[key]

    def __setitem__(self, key: str, module: Module) -> None:
        self.add_module(key, module)

    def __delitem__(self, key: str) -> None:
        del self._modules[key]

    def __len__(self) -> int:
        return len(self._modules)

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __contains__(self, key: str) -> bool:
        return key in self._modules

    def clear(self) -> None:
        """Remove every module."""
        self._modules.clear()

    def pop(self, key: str) -> Module:
        """Remove and return the module with this key."""
        return self._modules.pop(key)

    def keys(self) -> KeysView[str]:
        """The keys."""
        return self._modules.keys()

    def items(self) -> ItemsView[str, Module]:
        """The pairs of key and module."""
        return self._modules.items()

    def values(self) -> ValuesView[Module]:
        """The modules."""
        return self._modules.values()

    def update(self, modules: Mapping[str, Module] | Iterable[tuple[str, Module]]) -> None:
        """Add modules from a mapping or from pairs, replacing those with the same keys."""
        if not isinstance(modules, Iterable):
            raise TypeError(
                "ModuleDict.update should be called with an iterable of key/value pairs, but got "
                + type(modules).__name__
            )
        given = modules.items() if isinstance(modules, (ModuleDict, Mapping)) else pairs(modules, "ModuleDict")
        for key, module in given:
            self[key] = module
