"""`SummaryWriter`: tensorboardX's, given arrays and numbers instead of tensors."""

from __future__ import annotations

from typing import Any

from ...notices import warn_user
from ...tensor import Tensor


def _plain(value: Any) -> Any:
    """Tensors inside arguments as NumPy arrays (0-d ones as numbers)."""
    if isinstance(value, Tensor):
        array = value.detach().float().numpy() if value.dtype.kind == "V" else value.detach().numpy()
        return array.item() if array.ndim == 0 else array
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    return value


class SummaryWriter:
    """Writes events for TensorBoard. Every method of tensorboardX's writer is here; tensors are converted."""

    def __init__(self, log_dir: str | None = None, comment: str = "", **options: Any) -> None:
        try:
            from tensorboardX import SummaryWriter as Writer
        except ImportError:
            raise ImportError(
                "torch.utils.tensorboard needs the optional package tensorboardX: pip install 'pullback[tensorboard]'."
            ) from None
        self._writer: Any = Writer(log_dir, comment, **options)

    @property
    def log_dir(self) -> str:
        return self._writer.logdir

    def get_logdir(self) -> str:
        """The folder that is written to."""
        return self._writer.logdir

    def add_graph(self, model: Any, input_to_model: Any = None, verbose: bool = False, **options: Any) -> None:
        """Pictures of models need TorchScript; nothing is written."""

        warn_user("SummaryWriter.add_graph needs TorchScript: Pullback writes no graph.")

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._writer, name)
        if not callable(method):
            return method

        def call(*args: Any, **kwargs: Any) -> Any:
            return method(*_plain(args), **_plain(kwargs))

        return call

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: Any) -> None:
        self._writer.close()
