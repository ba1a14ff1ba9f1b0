"""einops on tensors, without the alias: a backend class, which einops finds among the subclasses of its own.

einops may be imported before or after this package, so `watch()` registers the backend at once or waits for the import.
"""

from __future__ import annotations

import sys
from typing import Any


def register() -> None:
    """Define the backend; einops finds it when it first meets a tensor."""
    from einops._backends import AbstractBackend  # type: ignore[import-not-found]

    import pullback

    class PullbackBackend(AbstractBackend):
        """The backend that tells einops about tensors."""

        framework_name: str = "pullback"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, pullback.Tensor)

        def from_numpy(self, x: Any) -> Any:
            return pullback.from_numpy(x)

        def to_numpy(self, x: Any) -> Any:
            return x.detach().numpy()

        def arange(self, start: int, stop: int) -> Any:
            return pullback.arange(start, stop)

        def reduce(self, x: Any, operation: str, axes: Any) -> Any:
            axes = tuple(axes)
            return getattr(x, {"min": "amin", "max": "amax"}.get(operation, operation))(dim=axes)

        def transpose(self, x: Any, axes: Any) -> Any:
            return x.permute(axes)

        def stack_on_zeroth_dimension(self, tensors: list) -> Any:
            return pullback.stack(tensors)

        def add_axis(self, x: Any, new_position: int) -> Any:
            return x.unsqueeze(new_position)

        def tile(self, x: Any, repeats: Any) -> Any:
            return x.repeat(repeats)

        def concat(self, tensors: Any, axis: int) -> Any:
            return pullback.cat(tensors, dim=axis)

        def is_float_type(self, x: Any) -> bool:
            return x.is_floating_point()

        def einsum(self, pattern: str, *x: Any) -> Any:
            return pullback.einsum(pattern, *x)

    _defined.append(PullbackBackend)


_defined: list[type[Any]] = []  # einops looks for subclasses, which live only as long as something refers to them


class _Watcher:
    """A finder that finds nothing: it waits for einops, steps aside, and registers once einops is there."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != "einops":
            return None
        sys.meta_path.remove(self)  # type: ignore[arg-type]
        from importlib.util import find_spec

        spec = find_spec("einops")
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_register(module: Any) -> None:
            execute(module)
            register()

        spec.loader.exec_module = execute_and_register  # type: ignore[method-assign]
        return spec


def watch() -> None:
    """Register the backend now if einops is imported, else when it will be."""
    if "einops" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _Watcher())  # type: ignore[arg-type]
