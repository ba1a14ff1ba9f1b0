"""Vector losses: Jacobians from an existing graph, and aggregators."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback import multi


def _losses():
    rng = np.random.default_rng(0)
    w = P.tensor(rng.standard_normal((4, 3)), requires_grad=True)
    b = P.tensor(rng.standard_normal(3), requires_grad=True)
    x = P.tensor(rng.standard_normal((6, 4)))
    h = (x @ w + b).tanh()
    return w, b, h


def test_jacobian_of_an_existing_graph_is_row_by_row_gradients():
    w, b, h = _losses()
    losses = (h**2).mean(0)
    rows = P.jacobian(losses, {"w": w, "b": b})
    for number in range(3):
        expected = P.autograd.grad(losses[number], (w, b), retain_graph=True)
        np.testing.assert_allclose(rows["w"][number].numpy(), expected[0].numpy())
        np.testing.assert_allclose(rows["b"][number].numpy(), expected[1].numpy())
    pieces = P.jacobian([losses[0], losses[1:]], (w, b), chunk_size=2)
    np.testing.assert_allclose(pieces[1][0].numpy(), rows["w"][1:].numpy())
    assert pieces[0][1].shape == (3,)


def test_jacobian_of_non_leaves_and_with_graph():
    w, b, h = _losses()
    rows = P.jacobian(h.sum(0), h, create_graph=True)
    assert rows.shape == (3, 6, 3)
    second = P.jacobian((h**3).sum(0), w, create_graph=True)
    assert P.autograd.grad(second.sum(), b)[0].shape == (3,)


def test_gramian_is_the_product_of_the_matrix_with_itself():
    w, b, h = _losses()
    losses = h.flatten()[:5]
    matrix = multi.jacobian_matrix(losses, [w, b]).numpy()
    np.testing.assert_allclose(multi.gramian(losses, [w, b]).numpy(), matrix @ matrix.T)


def test_backward_with_sum_is_backward_of_the_sum():
    w, b, h = _losses()
    multi.backward(h.mean(0), retain_graph=True)
    expected = P.autograd.grad(h.mean(0).sum(), (w, b))
    np.testing.assert_allclose(w.grad.numpy(), expected[0].numpy())
    np.testing.assert_allclose(b.grad.numpy(), expected[1].numpy())


ROWS = np.array([[1.0, 1.0, 0.0], [-4.0, 1.0, 1.0], [0.5, -0.3, 2.0]])
CONFLICT_FREE = [multi.UPGrad(), multi.DualProj(), multi.MGDA(epsilon=1e-8, max_iters=20000), multi.CAGrad(c=1.0)]


@pytest.mark.parametrize("aggregator", CONFLICT_FREE, ids=repr)
def test_no_row_is_in_conflict_with_the_aggregate(aggregator):
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.standard_normal((4, 6))
        assert (rows @ aggregator(rows)).min() > -2e-2


def test_known_values():
    assert multi.Sum()(ROWS).tolist() == ROWS.sum(0).tolist()
    np.testing.assert_allclose(multi.Mean()(ROWS), ROWS.mean(0))
    np.testing.assert_allclose(multi.Constant([1, 0, 2])(ROWS), ROWS[0] + 2 * ROWS[2])
    two = np.array([[-4.0, 1.0, 1.0], [6.0, 1.0, 1.0]])  # the worked example of the UPGrad paper's library
    np.testing.assert_allclose(multi.UPGrad()(two), [0.2929, 1.9004, 1.9004], atol=2e-4)
    shortest = multi.MGDA()(np.eye(2))
    np.testing.assert_allclose(shortest, [0.5, 0.5])
    impartial = multi.IMTLG()(ROWS)
    cosines = ROWS @ impartial / np.linalg.norm(ROWS, axis=1)
    np.testing.assert_allclose(cosines, cosines[0])
    aligned = multi.AlignedMTL()(np.diag([1.0, 3.0]))
    np.testing.assert_allclose(aligned, [0.5, 0.5])
    orthogonal = np.diag([1.0, 2.0])
    np.testing.assert_allclose(multi.PCGrad()(orthogonal), orthogonal.sum(0))
    np.testing.assert_allclose(multi.CAGrad(c=0.0)(ROWS), ROWS.mean(0))


def test_dual_projection_solves_its_quadratic_program():
    rng = np.random.default_rng(1)
    for _ in range(50):
        rows = rng.standard_normal((5, 8))
        gramian = rows @ rows.T
        lower = np.abs(rng.standard_normal(5))
        v = multi.aggregation.project(lower, gramian)
        slopes = gramian @ v
        assert (v >= lower - 1e-9).all() and (slopes >= -1e-9).all()
        np.testing.assert_allclose(slopes * (v - lower), 0, atol=1e-8)


def test_training_with_an_aggregator_lowers_all_losses():
    P.manual_seed(0)
    w = P.zeros(3, requires_grad=True)
    targets = P.tensor([[1.0, 0.0, 0.5], [0.8, 0.3, 0.5]])
    before = None
    for _ in range(50):
        losses = ((w - targets) ** 2).sum(1)
        before = losses.tolist() if before is None else before
        w.grad = None
        multi.backward(losses, aggregator=multi.UPGrad())
        with P.no_grad():
            w -= 0.2 * w.grad
    after = ((w - targets) ** 2).sum(1).tolist()
    assert all(new < old / 4 for new, old in zip(after, before, strict=True))
