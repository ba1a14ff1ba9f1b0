"""Annotations for Intel's tracing tools, which are not available here."""

from __future__ import annotations


def is_available() -> bool:
    """False: nothing is listening."""
    return False
