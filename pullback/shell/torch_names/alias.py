"""`import torch` answered by Pullback: `install_as_torch()` and `uninstall_as_torch()`.

One finder at the head of `sys.meta_path` resolves `torch` and every `torch.x.y`, so an installed torch is never
looked at. `torch.x.y` *is* the module `pullback.x.y`; `torch` itself is a module of its own (it has another name and
version) that carries Pullback's attributes. The same finder answers `importlib.metadata.version("torch")`.
What is missing is named in the error, with the nearest supported name; that wording lives in `lookup.py`.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

from ... import version
from ...torch_version import TorchVersion
from .class_names import claim_class, claim_classes, restore_classes
from .lookup import ELSEWHERE, explain_missing, find_imported_name, missing_attribute
from .placeholders import PlaceholderLoader, advice_for, placeholder_for

if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution, DistributionFinder


def _stand_in(parent: str, name: str, caller: FrameType) -> Any:
    """A placeholder for `parent.name`, or the error for it: another one if the caller executes `from parent import name`."""
    import opcode

    torch_name = f"{parent}.{name}"
    target = "pullback" + torch_name.removeprefix("torch")
    if not name.startswith("__") and vars(sys.modules.get(target.rpartition(".")[0], sys)).get("__path__"):
        if TorchFinder._find_submodule(target) is not None:
            found = importlib.import_module(target)  # torch loads most of its modules at once
            _adopt(found)
            return found
    imported = caller.f_code.co_code[caller.f_lasti] == opcode.opmap["IMPORT_FROM"]
    found = placeholder_for(torch_name, imported)
    if found is not None:
        return found
    with contextlib.suppress(AttributeError):
        value = find_imported_name(torch_name)
        return sys.modules["torch"] if name == "torch" else value
    if imported:
        raise ImportError(f"cannot import name {name!r} from {parent!r}. {explain_missing(torch_name)}", name=parent)
    raise missing_attribute(parent, name) from None


def _fallback(
    parent: str, lookup: Callable[[str], Any] | None, keep: Callable[[str, Any], None] | None = None
) -> Callable[[str], Any]:
    """A module-level `__getattr__`: ask `lookup` first, then explain what is missing from `parent`."""

    def __getattr__(name: str) -> Any:
        if f"{parent}.{name}" in ELSEWHERE:
            return importlib.import_module(f"{parent}.{name}")
        if lookup is not None:
            try:
                value = lookup(name)
            except AttributeError as error:
                if error.name not in (None, name):
                    raise  # not about this name: a mistake inside a module that was loaded on demand
            else:
                if isinstance(value, ModuleType):
                    _adopt(value)
                claim_class(name, value, "pullback" + parent.removeprefix("torch"), parent)
                if keep is not None:
                    keep(name, value)
                return value
        if name.startswith("__"):  # importlib asks modules for `__path__`: a plain answer, or it goes round in circles
            raise AttributeError(f"module {parent!r} has no attribute {name!r}", name=name)
        return _stand_in(parent, name, sys._getframe(1))

    return __getattr__


def _fill_facade(facade: ModuleType, target: ModuleType, **overrides: Any) -> None:
    """Give `facade` the attributes of `target`, those that appear later too, except the given ones.

    They are copied, not looked up each time: `torch.add` must cost what `pullback.add` costs.
    """
    own = facade.__dict__
    for name, value in vars(target).items():
        if not (name.startswith("__") and name.endswith("__")) or name in ("__doc__", "__all__"):
            own[name] = value
    for name in ELSEWHERE:
        own.pop(name.removeprefix(facade.__name__ + "."), None)  # looked up when it is asked for
    own.update(overrides)

    def keep(name: str, value: Any) -> None:
        if name in vars(target):
            own[name] = value

    own["__file__"] = getattr(target, "__file__", None)
    own["__getattr__"] = _fallback(facade.__name__, lambda name: getattr(target, name), keep)
    own["__dir__"] = lambda: sorted({*dir(target), *own})
    if "__all__" not in own:
        own["__all__"] = [name for name in dir(target) if not name.startswith("_")]


class _TorchLoader:
    """Makes the module `torch` (and `torch.version`, which must report torch's version as well)."""

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType("torch")

    def exec_module(self, module: ModuleType) -> None:
        torch_version = ModuleType("torch.version")
        _fill_facade(torch_version, version, __version__=version.torch_version)
        sys.modules["torch.version"] = torch_version
        pullback = importlib.import_module("pullback")
        overrides = {"version": torch_version, "torch": module}  # torch.torch is torch
        _fill_facade(module, pullback, __version__=TorchVersion(version.torch_version), **overrides)
        claim_classes(pullback, "torch")
        for name, value in list(vars(pullback).items()):
            if isinstance(value, ModuleType) and value.__name__ == f"pullback.{name}" and value is not version:
                _adopt(value)


class _SubmoduleLoader:
    """Answers `torch.x` with the module object `pullback.x`."""

    def __init__(self, target: str) -> None:
        self.target: str = target

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.target)
        self.true_spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        # The import system has just labelled the module as torch.x; it stays what it was.
        module.__spec__ = self.true_spec
        _adopt(module)


_adopted: dict[str, tuple[ModuleType, Callable[[str], Any] | None]] = {}


def _adopt(module: ModuleType) -> None:
    """Let errors about missing attributes of this module, and of its loaded submodules, speak of torch and help."""
    prefix = module.__name__ + "."
    loaded = [other for name, other in list(sys.modules.items()) if name.startswith(prefix)]
    # Inner modules first: a class found in `distributions.transforms` and in `distributions` belongs to the former.
    for each in sorted((module, *loaded), key=lambda each: -each.__name__.count(".")):
        if each.__name__ in _adopted or not each.__name__.startswith("pullback."):
            continue
        torch_name = "torch" + each.__name__.removeprefix("pullback")
        if advice_for(torch_name) is not None:
            vars(each).setdefault("__path__", [])  # torch has submodules there, which may be mentioned
        original = vars(each).get("__getattr__")
        _adopted[each.__name__] = each, original
        each.__dict__["__getattr__"] = _fallback(torch_name, original)
        claim_classes(each, torch_name)
        if torch_name not in ELSEWHERE:
            sys.modules.setdefault(torch_name, each)  # where `typing` and `inspect` look for the home of a class


def _is_probe() -> bool:
    """True if the import system asks on behalf of `importlib.util.find_spec`, which wants None for what is missing."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
        frame = frame.f_back
    return frame is not None and frame.f_globals.get("__name__") == "importlib.util"


class TorchFinder:
    """The meta-path entry: finds `torch`, its submodules and its distribution metadata in Pullback."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        loader: Any
        if fullname == "torch":
            loader, found = _TorchLoader(), importlib.util.find_spec("pullback")
        elif fullname.startswith(("torch.", "functorch.")) or fullname in ELSEWHERE:
            pullback_name = ELSEWHERE.get(fullname, "pullback" + fullname.removeprefix("torch"))
            found = (
                importlib.util.find_spec(pullback_name)
                if fullname in ELSEWHERE
                else self._find_submodule(pullback_name)
            )
            loader = _SubmoduleLoader(pullback_name)
        else:
            return None
        if found is None:
            if _is_probe():
                return None
            if advice_for(fullname) is not None:
                loader = PlaceholderLoader()
                return importlib.machinery.ModuleSpec(fullname, loader, is_package=True)
            raise ModuleNotFoundError(f"No module named {fullname!r}. {explain_missing(fullname)}", name=fullname)
        return importlib.machinery.ModuleSpec(
            fullname, loader, origin=found.origin,
            is_package=found.submodule_search_locations is not None or fullname == "functorch",
        )  # fmt: skip

    @staticmethod
    def _find_submodule(pullback_name: str) -> ModuleSpec | None:
        parent, _, child = pullback_name.rpartition(".")
        try:
            if importlib.util.find_spec(parent) is None:
                return None  # below a placeholder
        except ModuleNotFoundError:
            return None  # further below
        attributes = vars(importlib.import_module(parent))
        if child in attributes and not isinstance(attributes[child], ModuleType) and child != "gradcheck":
            return None  # a file may carry the name of the function it defines; torch has the function only, of most
        return importlib.util.find_spec(pullback_name)

    def find_distributions(self, context: DistributionFinder.Context) -> Iterable[Distribution]:
        if context.name is None or context.name.lower() == "torch":
            yield from _torch_distribution()

    def invalidate_caches(self) -> None:
        """Nothing is cached; the import system calls this on every finder."""


def _torch_distribution() -> Iterator[Distribution]:
    from importlib.metadata import Distribution

    class TorchDistribution(Distribution):
        """The description of torch for `importlib.metadata`: its name and version, and no files."""

        def read_text(self, filename: str) -> str | None:
            if filename not in ("METADATA", "PKG-INFO"):
                return None
            return f"Metadata-Version: 2.1\nName: torch\nVersion: {version.torch_version}\nSummary: by Pullback\n"

        def locate_file(self, path: Any) -> Any:
            from pathlib import Path

            return Path(__file__).parent / path

    yield TorchDistribution()


_finder = TorchFinder()


def _torch_modules() -> list[str]:
    return [name for name in sys.modules if name == "torch" or name.startswith("torch.") or name in ELSEWHERE]


def install_as_torch() -> None:
    """Make `import torch`, in this process and from now on, mean Pullback. Calling it again changes nothing."""
    if _finder in sys.meta_path:
        return
    if _torch_modules():
        raise RuntimeError(
            "torch is already imported in this process, so it cannot be replaced by Pullback. "
            "Call install_as_torch() before the first `import torch`, or start the program with `pullback run`."
        )
    sys.meta_path.insert(0, _finder)


def uninstall_as_torch() -> None:
    """Undo `install_as_torch()`: the next `import torch` finds whatever is installed under that name."""
    restore_classes()
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    for name in _torch_modules():
        del sys.modules[name]
    for module, original in _adopted.values():
        if original is None:
            vars(module).pop("__getattr__", None)
        else:
            vars(module)["__getattr__"] = original
    _adopted.clear()
