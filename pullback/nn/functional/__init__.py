"""`torch.nn.functional`: activations, losses, layers and vision operations as functions."""

from ...functional.elementary import relu, sigmoid, tanh
from ...functional.reductions import log_softmax, softmax

__all__ = ["log_softmax", "relu", "sigmoid", "softmax", "tanh"]
