"""Exceptions of the checkpoint readers and writers.

Whatever is wrong with a file, its readers raise `CheckpointError`. torch raises `pickle.UnpicklingError` for a
bad pickle, `RuntimeError` for a bad zip archive and `EOFError` for a file that ends too early; `CheckpointError`
is an instance of the first two and `TruncatedCheckpointError` of all three, so programs written for torch's
exceptions keep working. Only the exception class comes from `pickle` here, none of its readers.
"""

from __future__ import annotations

from pickle import UnpicklingError


class CheckpointError(UnpicklingError, RuntimeError):
    """The file is not a readable checkpoint: damaged, hostile, or of an unsupported kind."""


class TruncatedCheckpointError(CheckpointError, EOFError):
    """The file ends before its content does."""


class SourceChangeWarning(Warning):
    """torch's warning about classes whose code has changed since they were saved; here for programs that filter it."""
