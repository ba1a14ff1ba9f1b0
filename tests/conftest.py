"""Fixtures for tests of every part."""

import signal

import pytest

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # A shell that runs us in the background has Ctrl-C ignored, here and in what we start; tests send it all the same.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def set_threads():
    """A function that sets the number of threads of large kernels until the test ends."""
    from pullback.kernels import threads

    before = threads.get_num_threads()
    yield threads.set_num_threads
    threads.set_num_threads(before)
