"""Switches of torch's runtime: what was set can be asked for, and nonsense is refused in torch's words."""

from __future__ import annotations

import pytest

import pullback

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def restored():
    yield
    for t in (torch, pullback):
        t.use_deterministic_algorithms(False)
        t.set_warn_always(False)


@pytest.mark.parametrize("mode", [0, 1, 2, "default", "warn", "error"])
def test_deterministic_debug_mode(mode):
    answers = []
    for t in (torch, pullback):
        t.set_deterministic_debug_mode(mode)
        answers.append(
            (
                t.get_deterministic_debug_mode(), t.are_deterministic_algorithms_enabled(),
                t.is_deterministic_algorithms_warn_only_enabled(),
            )
        )  # fmt: skip
    assert answers[0] == answers[1]


@pytest.mark.parametrize("mode", [5, "loud"])
def test_debug_modes_that_do_not_exist(mode):
    for t in (torch, pullback):
        with pytest.raises(RuntimeError, match="invalid value of debug_mode"):
            t.set_deterministic_debug_mode(mode)


def test_others():
    for t in (torch, pullback):
        t.set_warn_always(True)
        assert t.is_warn_always_enabled()
        assert not t.is_distributed(t.ones(1)) and t.init_num_threads() is None
        before = t.get_autocast_dtype("cpu")
        t.set_autocast_dtype("cpu", t.float16)
        assert t.get_autocast_dtype("cpu") == t.float16
        t.set_autocast_dtype("cpu", before)
    pullback.set_autocast_cpu_dtype(pullback.float16)
    assert pullback.get_autocast_cpu_dtype() == pullback.float16
    pullback.set_autocast_cpu_dtype(pullback.bfloat16)
