"""Switches that are attributes of a module, set for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def switched(attributes: dict[str, Any], **wanted: Any) -> Iterator[None]:
    """Other values for a module's attributes (its `globals()`) for the length of a `with` block."""
    before = {name: attributes[name] for name in wanted}
    attributes.update(wanted)
    try:
        yield
    finally:
        attributes.update(before)
