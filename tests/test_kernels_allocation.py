"""Memory of freed arrays stays with the process: a repeated step takes no page faults."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

STEPS = """
import resource
import numpy as np
{load}
def step():
    arrays = [np.ones(1 << 18, np.float32) for _ in range(8)]
for _ in range(5):
    step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    step()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20)
"""


def faults(load: str, **settings: str) -> float:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MALLOC_")} | settings
    answer = subprocess.run([sys.executable, "-c", STEPS.format(load=load)], env=environment, capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    return float(answer.stdout)


def glibc() -> bool:
    try:
        return os.confstr("CS_GNU_LIBC_VERSION") is not None
    except (AttributeError, ValueError, OSError):
        return False


@pytest.mark.skipif(not glibc(), reason="other C libraries have no such setting")
def test_repeated_steps_take_no_page_faults() -> None:
    assert faults("import pullback") < 20
    assert faults("import pullback", MALLOC_TRIM_THRESHOLD_="131072", MALLOC_MMAP_THRESHOLD_="131072") > 500


def test_a_library_without_the_setting_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    import ctypes

    from pullback.kernels.allocation import keep_freed_memory

    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())
    assert keep_freed_memory() is False
