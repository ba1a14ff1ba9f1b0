"""`torch.utils.tensorboard.SummaryWriter`, written by the optional package tensorboardX."""

from .writer import SummaryWriter

__all__ = ["SummaryWriter"]
