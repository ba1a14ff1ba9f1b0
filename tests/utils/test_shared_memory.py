"""Tensors in memory that forked processes share: what one writes, the others see."""

import multiprocessing
import sys

import pytest

import pullback
from pullback import nn

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")


def _train(model, lock):
    optimizer = pullback.optim.SGD(model.parameters(), lr=0.5)
    with lock:
        model(pullback.ones(1, 3)).sum().backward()
        optimizer.step()
        model.steps += 1


def test_processes_train_one_model():
    context = multiprocessing.get_context("fork")
    model = nn.Linear(3, 2)
    model.register_buffer("steps", pullback.zeros(1, dtype=pullback.int64))
    assert model.share_memory() is model and model.weight.is_shared() and model.steps.is_shared()
    before, lock = model.weight.detach().clone(), context.Lock()
    assert not before.is_shared()
    processes = [context.Process(target=_train, args=(model, lock)) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0]
    assert model.steps.item() == 2 and pullback.allclose(model.weight, before - 1)


@pytest.mark.parametrize("value", [3.0, [[1.0, 2.0], [3.0, 4.0]], []])
def test_a_tensor_stays_what_it_was(value):
    x = pullback.tensor(value, requires_grad=True)
    assert x.share_memory_() is x and x.tolist() == value and x.is_leaf and x.requires_grad
    assert x.is_shared() is bool(x.numel()) and x[..., None].is_shared() is bool(x.numel())
    assert x.untyped_storage().is_shared() is x.storage().is_shared() is x.is_shared()
    (x * x).sum().backward()
    assert pullback.equal(x.grad, 2 * x.detach())
    assert x.share_memory_().data_ptr() == x.data_ptr()
