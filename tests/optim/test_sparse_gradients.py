"""Gradients that are sparse tensors: the optimizers that take them, and the tables that give them."""

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
PLACES = [[[1, 3, 1]], [[0, 3]], [[2]]]  # one sparse dim, some rows twice


def training(module, optimizer):
    """Weights after steps with gradients that were set by hand."""
    table = module.arange(12, dtype=module.float64).reshape(4, 3).requires_grad_()
    stepper = OPTIMIZERS[optimizer](module.optim, [table], module)
    for places in PLACES:
        values = module.ones(len(places[0]), 3, dtype=module.float64) * module.arange(1.0, 4.0)
        table.grad = module.sparse_coo_tensor(module.tensor(places), values, (4, 3))
        stepper.step()
        yield table.detach().numpy().copy()


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_table_is_trained_as_in_torch(optimizer):
    for ours, theirs in zip(training(pullback, optimizer), training(torch, optimizer), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_state_of_sparse_adam_survives_a_checkpoint():
    def run(module):
        table = module.ones(3, 2, requires_grad=True)
        gradient = module.sparse_coo_tensor(module.tensor([[1]]), module.ones(1, 2), (3, 2))
        stepper = module.optim.SparseAdam([table], 0.1)
        table.grad = gradient
        stepper.step()
        again = module.optim.SparseAdam([table], 0.5)
        again.load_state_dict(stepper.state_dict())
        again.step()
        return table.tolist(), sorted(again.state[table]), again.state[table]["step"]

    assert run(pullback) == run(torch)


def refused(call):
    with pytest.raises((RuntimeError, ValueError)) as caught:
        call()
    return str(caught.value)


def test_optimizers_say_which_gradients_they_take():
    def texts(module):
        table, layer = module.ones(3, 2, requires_grad=True), module.nn.Linear(2, 2)
        layer(module.ones(1, 2)).sum().backward()
        table.grad = module.sparse_coo_tensor(module.tensor([[1]]), module.ones(1, 2), (3, 2))
        yield refused(module.optim.Adam([table]).step)
        yield refused(module.optim.SparseAdam(layer.parameters()).step)
        yield refused(lambda: module.optim.SparseAdam([module.zeros(2, dtype=module.complex64)]))
        yield refused(lambda: module.optim.SparseAdam([module.zeros(2).to_sparse()]))
        yield refused(lambda: module.optim.SparseAdam(layer.parameters(), lr=0))
        yield refused(lambda: module.optim.SparseAdam(layer.parameters(), betas=(0.9, 1.0)))
        yield refused(lambda: module.optim.SparseAdam(layer.parameters(), eps=0))

    assert list(texts(pullback)) == list(texts(torch))


def test_gradients_are_changed_in_place():
    def run(module):
        gradient = module.sparse_coo_tensor(module.tensor([[1, 1, 2]]), module.ones(3, 2), (3, 2))
        for change in (
            lambda: gradient.mul_(2.0), lambda: gradient.div_(module.tensor(4.0)), lambda: gradient.neg_(),
            lambda: gradient.zero_(),
        ):  # fmt: skip
            change()
            yield gradient.to_dense().tolist()

    assert list(run(pullback)) == list(run(torch))
    table = pullback.ones(3, requires_grad=True)
    table.grad = pullback.sparse_coo_tensor(pullback.tensor([[1, 1]]), pullback.ones(2), (3,))
    pullback.nn.utils.clip_grad_value_([table], 1.5)
    assert table.grad.to_dense().tolist() == [0, 1.5, 0]


@pytest.mark.parametrize("value, expected", [(1.0, [0.0, -3.0]), (float("inf"), [1.0, 1.0])])
def test_scaled_sparse_gradients_are_unscaled_and_watched(value, expected):
    for module in (pullback, torch):
        table = module.ones(2, requires_grad=True)
        scaler = module.amp.GradScaler("cpu", init_scale=8.0)
        scaler.scale(table.sum())
        table.grad = module.sparse_coo_tensor(module.tensor([[0, 1]]), module.tensor([8 * value, 32.0]), (2,))
        scaler.step(module.optim.SGD([table], lr=1.0))
        assert table.tolist() == expected


# --- of tables: what `embedding(sparse=True)` leaves in `.grad`, and training with it ---

TABLES = {
    "embedding": lambda nn: nn.Embedding(6, 3, sparse=True),
    "padded": lambda nn: nn.Embedding(6, 3, sparse=True, padding_idx=2),
    "bags": lambda nn: nn.EmbeddingBag(6, 3, sparse=True, mode="sum"),
    "mean bags": lambda nn: nn.EmbeddingBag(6, 3, sparse=True, padding_idx=1),
}


def training_of_table(module, table, optimizer):
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
    steps = (training_of_table(module, table, optimizer) for module in (pullback, torch))
    for (sparse, ours), (expected, theirs) in zip(*steps, strict=True):
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


@pytest.mark.parametrize("selected_first", [False, True])
def test_a_table_may_be_used_as_a_tensor_too(selected_first):
    weight, rows = pullback.ones(3, 2, requires_grad=True), pullback.tensor([2, 2])
    parts = [weight[0]] if selected_first else []
    parts += [pullback.nn.functional.embedding(rows, weight, sparse=True) for _ in range(2)]
    parts += [] if selected_first else [weight[0]]
    sum(part.sum() for part in parts).backward()
    assert weight.grad.tolist() == [[1, 1], [0, 0], [4, 4]]


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


def test_torch_has_the_same_tables_at_its_top():
    for module in (pullback, torch):
        table = module.arange(8.0).reshape(4, 2).requires_grad_()
        module.embedding(table, module.tensor([1, 1]), sparse=True).sum().backward()
        assert table.grad.is_sparse and table.grad.to_dense()[1].tolist() == [2.0, 2.0]
