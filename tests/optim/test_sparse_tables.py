"""Sparse gradients of tables: what `embedding(sparse=True)` leaves in `.grad`, and training with it."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:Sparse invariant checks")

OPTIMIZERS = {
    "sgd": lambda optim, params, module: optim.SGD(params, 0.1),
    "momentum": lambda optim, params, module: optim.SGD(params, 0.1, momentum=0.9, dampening=0.1),
    "nesterov": lambda optim, params, module: optim.SGD(params, 0.1, momentum=0.9, nesterov=True),
    "adagrad": lambda optim, params, module: optim.Adagrad(params, 0.1, lr_decay=0.1),
    "sparse adam": lambda optim, params, module: optim.SparseAdam(params, 0.1),
    "options": lambda optim, params, module: optim.SparseAdam(
        params, module.tensor(0.1), betas=(0.5, 0.9), eps=1e-4, maximize=True
    ),
}
TABLES = {
    "embedding": lambda nn: nn.Embedding(6, 3, sparse=True),
    "padded": lambda nn: nn.Embedding(6, 3, sparse=True, padding_idx=2),
    "bags": lambda nn: nn.EmbeddingBag(6, 3, sparse=True, mode="sum"),
    "mean bags": lambda nn: nn.EmbeddingBag(6, 3, sparse=True, padding_idx=1),
}


def training(module, table, optimizer):
    """Gradients and weights of three steps, each of two passes that add up."""
    module.manual_seed(0)
    layer = TABLES[table](module.nn).double()
    stepper = OPTIMIZERS[optimizer](module.optim, list(layer.parameters()), module)
    for step in range(3):
        stepper.zero_grad(set_to_none=step != 1)
        (layer(module.tensor([[1, 2, 1], [4, 5, 1]])) ** 2).sum().backward()
        layer(module.tensor([[0, 2]])).sum().backward()
        yield layer.weight.grad.is_sparse, layer.weight.grad.to_dense().numpy()
        stepper.step()
        yield True, layer.weight.detach().numpy().copy()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("table", TABLES)
def test_tables_are_trained_as_in_torch(table, optimizer):
    for (sparse, ours), (expected, theirs) in zip(
        training(pullback, table, optimizer), training(torch, table, optimizer), strict=True
    ):
        assert sparse is expected
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def gradients(module):
    """Sparse and dense gradients of one leaf, in every order; hooks; `autograd.grad`; a weight that is no leaf."""
    layer = module.nn.Embedding(4, 2, sparse=True, _weight=module.arange(8.0).reshape(4, 2))
    weight, seen = layer.weight, []

    def look(sum_up):
        weight.grad = None
        sum_up()
        seen.append((weight.grad.is_sparse, weight.grad.to_dense().tolist()))

    def rows():
        return (layer(module.tensor([1, 3, 1])) ** 2).sum()

    look(lambda: rows().backward())
    look(lambda: (rows() + rows()).backward())
    look(lambda: (rows() + (weight**2).sum()).backward())
    look(lambda: ((weight**2).sum() + rows()).backward())
    look(lambda: (rows().backward(), (weight**2).sum().backward()))
    look(lambda: ((weight**2).sum().backward(), rows().backward(), rows().backward()))
    (found,) = module.autograd.grad(rows(), weight)
    seen.append((found.is_sparse, found.to_dense().tolist()))
    weight.grad = None
    module.nn.functional.embedding(module.tensor([1]), weight * 2).sum().backward()
    seen.append((weight.grad.is_sparse, weight.grad.to_dense().tolist()))
    hook = weight.register_hook(lambda gradient: seen.append((gradient.is_sparse, gradient.to_dense().tolist())))
    look(lambda: rows().backward())
    hook.remove()
    weight.register_hook(lambda gradient: gradient * 2)
    weight.grad = None
    rows().backward()
    return seen, weight.grad.to_dense().tolist()


def test_sparse_and_dense_gradients_add_up_as_in_torch():
    assert gradients(pullback) == gradients(torch)


def test_second_derivatives_go_through_the_dense_rule():
    weight = pullback.arange(6.0, dtype=pullback.float64).reshape(3, 2).requires_grad_()
    picked = pullback.nn.functional.embedding(pullback.tensor([2, 2]), weight, sparse=True)
    (first,) = pullback.autograd.grad((picked**3).sum(), weight, create_graph=True)
    (second,) = pullback.autograd.grad(first.sum(), weight)
    assert second.tolist() == [[0, 0], [0, 0], [48, 60]]


def test_a_sparse_gradient_has_memory_of_its_own():
    for module in (pullback, torch):
        weight, picked = module.ones(3, 2, requires_grad=True), module.tensor([2, 0])
        seed = module.ones(2, 2)
        module.nn.functional.embedding(picked, weight, sparse=True).backward(seed)
        module.nn.utils.clip_grad_value_([weight], 0.5) if module is pullback else weight.grad.mul_(0.5)
        seed.zero_()
        picked.zero_()
        assert weight.grad.to_dense().tolist() == [[0.5, 0.5], [0, 0], [0.5, 0.5]]
