"""Fixtures for tests of every part."""

import pytest


@pytest.fixture
def set_threads():
    """A function that sets the number of threads of large kernels until the test ends."""
    from pullback.kernels import threads

    before = threads.get_num_threads()
    yield threads.set_num_threads
    threads.set_num_threads(before)
