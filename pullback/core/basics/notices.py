"""Lines of the user's program: where a call into this package came from, and warnings that name that place.

Only the place is found here; what is worth a warning is said where it happens.
"""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep


def warn_user(message: str | Warning, category: type[Warning] = UserWarning) -> None:
    """Warn at the innermost line outside this package, however many of our own functions lie between."""
    level = 1
    frame: FrameType | None = sys._getframe(0)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def warn_history_lost(remedy: str = "") -> None:
    """Say that a tensor that requires grad became a number, which has no history."""
    warn_user(
        "Converting a tensor with requires_grad=True to a scalar may lead to unexpected behavior.\n"
        f"Consider using tensor.detach() first.{remedy}"
    )
