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
        t.utils.deterministic.fill_uninitialized_memory = True
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


def test_what_is_said_about_streams_and_layouts_can_be_asked_for():
    for t in (torch, pullback):
        assert t._C._warn_on_accumulate_grad_stream_mismatch()
        t.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(False)
        assert not t._C._warn_on_accumulate_grad_stream_mismatch()
        t.autograd.graph.set_warn_on_accumulate_grad_stream_mismatch(True)
        t.autograd.graph.set_override_stale_capture_stream(False)
        x = t.ones(2, requires_grad=True)
        with t.autograd.enforce_grad_layout_policy(False):
            assert not t._C._is_grad_layout_enforcement_enabled()
            (x * 2).sum().backward()
        assert t._C._is_grad_layout_enforcement_enabled() and x.grad.tolist() == [2, 2]


@pytest.mark.parametrize("budget, error", [(True, TypeError), ("a", TypeError), (-1, ValueError), (1.5, ValueError)])
def test_memory_budgets_are_ratios(budget, error):
    for t in (torch, pullback):
        with pytest.raises(error, match="region_activation_memory_budget"):
            t.autograd.graph.region_activation_memory_budget(budget)
    with pullback.autograd.graph.region_activation_memory_budget(0.5):
        pass


UNWRITTEN = [
    lambda t, x: t.empty(3, dtype=x.dtype),
    lambda t, x: t.empty(2, 3, 2, 2, dtype=x.dtype, memory_format=t.channels_last),
    lambda t, x: t.empty((), dtype=x.dtype),
    lambda t, x: t.empty(2, dtype=x.dtype, out=t.ones(0, dtype=x.dtype)),
    lambda t, x: t.empty_like(x),
    lambda t, x: t.empty_like(x.t()),
    lambda t, x: t.empty_like(x, dtype=t.int16),
    lambda t, x: t.empty_strided((2, 2), (1, 2), dtype=x.dtype),
    lambda t, x: t.empty_permuted((2, 3), (1, 0), dtype=x.dtype),
    lambda t, x: x.new_empty(2),
    lambda t, x: x.new_empty_strided((2, 2), (2, 1)),
    lambda t, x: x.new(3),
    lambda t, x: x.clone().resize_(7),
    lambda t, x: x.clone().resize_(2),
    lambda t, x: x.clone().resize_as_(t.ones(2, 3)),
    lambda t, x: t.Tensor(2, 3),
    lambda t, x: t.Tensor(t.Size([2])),
]


@pytest.mark.parametrize("number", range(len(UNWRITTEN)))
@pytest.mark.parametrize(
    "dtype", "float64 float32 float16 bfloat16 complex64 complex128 int8 int16 int32 int64 uint8 bool".split()
)
def test_elements_that_nobody_has_written_are_filled_for_programs_that_ask_for_determinism(dtype, number):
    answers = []
    for t in (torch, pullback):
        t.use_deterministic_algorithms(True)
        made = UNWRITTEN[number](t, t.ones(2, 2, dtype=getattr(t, dtype)))
        answers.append((str(made.tolist()), str(made.dtype).rpartition(".")[2], tuple(made.stride())))
    assert answers[0] == answers[1]


def test_filling_is_a_switch():
    for t in (torch, pullback):
        assert t.utils.deterministic.fill_uninitialized_memory is True
        with pytest.raises(RuntimeError, match="expected a bool, but got int"):
            t.utils.deterministic.fill_uninitialized_memory = 1
    pullback.use_deterministic_algorithms(True)
    pullback.utils.deterministic.fill_uninitialized_memory = False
    kept = pullback.full((64,), 3.0)
    assert kept.resize_(32).tolist() == [3.0] * 32
    memory = pullback.core.basics.unwritten.filled(pullback.zeros(3).numpy())
    assert memory.tolist() == [0.0, 0.0, 0.0]
    assert pullback._C._get_deterministic_fill_uninitialized_memory() is False


def test_tensors_without_elements_are_not_filled():
    pullback.use_deterministic_algorithms(True)
    assert pullback.empty(2, 3, device="meta").shape == (2, 3)
