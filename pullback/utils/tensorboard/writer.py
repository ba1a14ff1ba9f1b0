"""`SummaryWriter`: tensorboardX's, given arrays and numbers instead of tensors."""

from __future__ import annotations

from typing import Any

from ...core.basics.notices import warn_user
from ...core.tensor import Tensor


def _plain(value: Any) -> Any:
    """Tensors inside arguments as NumPy arrays (0-d ones as numbers)."""
    if isinstance(value, Tensor):
        value = value.detach()
        array = (value.float() if value.is_floating_point() and value.itemsize < 4 else value).numpy()
        return array.item() if array.ndim == 0 else array
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(item) for item in value)
    return value


def _passed_on(name: str) -> Any:
    """A method that calls the method of that name of tensorboardX's writer."""

    def call(self: SummaryWriter, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._writer, name)(*_plain(args), **_plain(kwargs))

    call.__name__ = name
    call.__doc__ = f"The same as tensorboardX's `{name}`, with tensors converted."
    return call


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
        return getattr(self._writer, name)

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: Any) -> None:
        self._writer.close()


for _name in (
    "add_audio", "add_custom_scalars", "add_custom_scalars_marginchart", "add_custom_scalars_multilinechart",
    "add_embedding", "add_figure", "add_histogram", "add_histogram_raw", "add_hparams", "add_image",
    "add_image_with_boxes", "add_images", "add_mesh", "add_pr_curve", "add_pr_curve_raw", "add_scalar", "add_scalars",
    "add_text", "add_video", "close", "flush",
):  # fmt: skip
    setattr(SummaryWriter, _name, _passed_on(_name))
