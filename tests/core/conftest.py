"""Fixtures for tests of the tape and its passes."""

import pytest

from pullback.core.engine import Hooks


@pytest.fixture
def ordinary_passes(monkeypatch):
    """Passes are ordinary ones, whatever came before: a hook of several tensors changes all later ones of a process."""
    monkeypatch.setattr(Hooks, "in_use", False)
