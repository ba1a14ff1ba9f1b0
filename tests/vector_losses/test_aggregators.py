"""Aggregators: equal to torchjd's where it is installed, and with the properties their papers promise."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

import pullback as P
from pullback import multi, nn
from pullback.multi import solvers

# name: (ours, torchjd's) for a number of losses; tolerances are those of torchjd's iterative solvers
PAIRS = {
    "Sum": (lambda m: multi.Sum(), lambda t, m: t.Sum(), 1e-12),
    "Mean": (lambda m: multi.Mean(), lambda t, m: t.Mean(), 1e-12),
    "Constant": (
        lambda m: multi.Constant(np.arange(m) - 1.0), lambda t, m: t.Constant(_torch().arange(m).double() - 1), 1e-12,
    ),
    "Random": (lambda m: multi.Random(), lambda t, m: t.Random(), 1e-12),
    "UPGrad": (lambda m: multi.UPGrad(), lambda t, m: t.UPGrad(), 1e-10),
    "UPGrad, preferences": (
        lambda m: multi.UPGrad(np.arange(m) + 1.0), lambda t, m: t.UPGrad(_torch().arange(m).double() + 1), 1e-10,
    ),
    "DualProj": (lambda m: multi.DualProj(), lambda t, m: t.DualProj(), 1e-10),
    "MGDA": (lambda m: multi.MGDA(), lambda t, m: t.MGDA(), 1e-10),
    "PCGrad": (lambda m: multi.PCGrad(), lambda t, m: t.PCGrad(), 1e-10),
    "CAGrad": (lambda m: multi.CAGrad(c=0.5), lambda t, m: t.CAGrad(c=0.5), 1e-3),
    "CAGrad, far": (lambda m: multi.CAGrad(c=2.0), lambda t, m: t.CAGrad(c=2.0), 1e-3),
    "IMTLG": (lambda m: multi.IMTLG(), lambda t, m: t.IMTLG(), 1e-9),
    "AlignedMTL": (lambda m: multi.AlignedMTL(), lambda t, m: t.AlignedMTL(), 1e-9),
    "AlignedMTL, median": (
        lambda m: multi.AlignedMTL(scale_mode="median"), lambda t, m: t.AlignedMTL(scale_mode="median"), 1e-9,
    ),
    "AlignedMTL, rmse": (
        lambda m: multi.AlignedMTL(scale_mode="rmse"), lambda t, m: t.AlignedMTL(scale_mode="rmse"), 1e-9,
    ),
    "GradDrop": (lambda m: multi.GradDrop(), lambda t, m: t.GradDrop(), 1e-12),
    "GradDrop, leak": (
        lambda m: multi.GradDrop(leak=np.full(m, 0.2)),
        lambda t, m: t.GradDrop(leak=_torch().full((m,), 0.2, dtype=_torch().float64)), 1e-12,
    ),
    "Krum": (lambda m: multi.Krum(1, 2), lambda t, m: t.Krum(1, 2), 1e-12),
    "TrimmedMean": (lambda m: multi.TrimmedMean(1), lambda t, m: t.TrimmedMean(1), 1e-12),
    "ConFIG": (lambda m: multi.ConFIG(), lambda t, m: t.ConFIG(), 1e-9),
    "FairGrad": (lambda m: multi.FairGrad(1.0), lambda t, m: t.FairGrad(1.0), 1e-9),
    "FairGrad, two": (lambda m: multi.FairGrad(2.0, 50), lambda t, m: t.FairGrad(2.0, 50), 1e-9),
    "FairGrad, none": (lambda m: multi.FairGrad(0), lambda t, m: t.FairGrad(0), 1e-12),
    "GradVac": (lambda m: multi.GradVac(), lambda t, m: t.GradVac(), 1e-9),
    "PCD": (lambda m: multi.PCD(), lambda t, m: t.PCD(), 1e-8),
    "PCD, demanding": (lambda m: multi.PCD(0.5, beta=0.1), lambda t, m: t.PCD(0.5, beta=0.1), 1e-8),
    "ExcessMTL": (lambda m: multi.ExcessMTL(), lambda t, m: t.ExcessMTL(), 1e-9),
    "CRMOGM": (lambda m: multi.CRMOGM(multi.UPGrad()), lambda t, m: _of_rows(t, t.CRMOGMWeighting(t.UPGradWeighting())), 1e-10),
    "MoDo": (lambda m: multi.MoDo(), lambda t, m: _of_rows(t, t.MoDoWeighting()), 1e-9),
    "SDMGrad": (lambda m: multi.SDMGrad(), lambda t, m: _of_rows(t, t.SDMGradWeighting()), 1e-9),
}  # fmt: skip
DRAWING = ("Random", "PCGrad", "GradDrop", "GradDrop, leak", "GradVac")


def _of_rows(theirs, weighting):
    return theirs.GramianWeightedAggregator(weighting)


def _torch():
    return pytest.importorskip("torch")


def _matrices():
    rng = np.random.default_rng(0)
    shapes = [(1, 3), (2, 3), (3, 5), (5, 3), (9, 11), (6, 10)]
    yield from (rng.standard_normal(shape) for shape in shapes)
    yield 100 * rng.standard_normal((4, 4))
    yield rng.standard_normal((9, 5)) @ rng.standard_normal((5, 11))  # rank 5
    yield np.array([[-4.0, 1.0, 1.0], [6.0, 1.0, 1.0]])
    strong = rng.standard_normal((4, 6))
    yield strong - strong.mean(0)  # the rows add up to zero: nothing helps all of them
    yield np.zeros((3, 4))
    yield np.zeros((9, 3))


def _odd_matrices():
    rng = np.random.default_rng(5)
    yield rng.standard_normal((5, 1))
    yield np.array([[-2.0]])
    yield np.repeat(rng.standard_normal((1, 5)), 4, 0)
    odd = rng.standard_normal((5, 6))
    odd[1], odd[2], odd[3] = 0, odd[0], -odd[0]  # a row of zeros, one twice, and its opposite
    yield odd
    yield np.array([[1.0, 2.0, 3.0], [-1.0, -2.0, -3.0]])
    yield 1e8 * rng.standard_normal((4, 6))
    yield 1e-12 * rng.standard_normal((4, 6))
    yield rng.standard_normal((4, 6)) * np.array([[1e-3], [1.0], [1e2], [1e3]])
    yield rng.standard_normal((3, 500))
    yield rng.standard_normal((40, 3))


@pytest.mark.parametrize("name", PAIRS)
def test_equal_to_torchjd(name):
    torch, theirs = _torch(), pytest.importorskip("torchjd.aggregation")
    ours, make, tolerance = PAIRS[name]
    for rows in (*_matrices(), *_odd_matrices()):
        try:
            torch.manual_seed(1)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = make(theirs, len(rows))(torch.tensor(rows)).numpy()
        except ImportError as missing:
            pytest.skip(str(missing))
        except ValueError:  # too few rows
            with pytest.raises(ValueError):
                ours(len(rows))(rows)
            continue
        P.manual_seed(1)
        found = ours(len(rows))(rows)
        room = tolerance * max(np.abs(rows).max(), 1e-15)
        if np.abs(found - expected).max() > room:  # rounding decides there, and so does the processor: for torchjd, too
            room = 20 * max(
                np.abs(again - expected).max() for again in _with_other_roundings(torch, theirs, make, rows)
            )
        np.testing.assert_allclose(found, expected, rtol=0, atol=room)


def _with_other_roundings(torch, theirs, make, rows):
    """What torchjd answers where the last bits of its numbers are others."""
    rng = np.random.default_rng(7)
    for _ in range(4):
        torch.manual_seed(1)
        noise = 1 + 4e-16 * rng.integers(-1, 2, rows.shape)
        yield make(theirs, len(rows))(torch.tensor(rows * noise)).numpy()


REMEMBERING = {
    "GradVac": (lambda: multi.GradVac(beta=0.3), lambda t: t.GradVac(beta=0.3)),
    "PCD": (lambda: multi.PCD(0.2, beta=0.7), lambda t: t.PCD(0.2, beta=0.7)),
    "PCD, each": (
        lambda: multi.PCD(np.array([0.4, 0.9]), 0.2),
        lambda t: t.PCD(_torch().tensor([0.4, 0.9], dtype=_torch().float64), 0.2),
    ),
    "ExcessMTL": (lambda: multi.ExcessMTL(0.5), lambda t: t.ExcessMTL(0.5)),
    "ExcessMTL, warm": (lambda: multi.ExcessMTL(n_warmup_steps=3), lambda t: t.ExcessMTL(n_warmup_steps=3)),
    "CRMOGM": (
        lambda: multi.CRMOGM(multi.MGDA(), 0.6, [0.5, 0.2, 0.3]),
        lambda t: _of_rows(
            t, t.CRMOGMWeighting(t.MGDAWeighting(), 0.6, _torch().tensor([0.5, 0.2, 0.3], dtype=_torch().float64))
        ),
    ),
    "MoDo": (lambda: multi.MoDo(0.05, 0.0), lambda t: _of_rows(t, t.MoDoWeighting(0.05, 0.0))),
    "SDMGrad": (
        lambda: multi.SDMGrad(lr=1.0, lambda_=0.5, pref_vector=[0.2, 0.3, 0.5]),
        lambda t: _of_rows(
            t, t.SDMGradWeighting(
                lr=1.0, lambda_=0.5, pref_vector=_torch().tensor([0.2, 0.3, 0.5], dtype=_torch().float64)
            ),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REMEMBERING)
def test_a_memory_over_several_calls_is_torchjds(name):
    torch, theirs = _torch(), pytest.importorskip("torchjd.aggregation")
    rng = np.random.default_rng(8)
    batches = [rng.standard_normal((3, 5)) + 0.3 for _ in range(8)]
    ours, reference = REMEMBERING[name][0](), REMEMBERING[name][1](theirs)
    results = []
    for number, rows in enumerate(batches):
        torch.manual_seed(number)
        P.manual_seed(number)
        results.append(ours(rows))
        np.testing.assert_allclose(results[-1], reference(torch.tensor(rows)).numpy(), atol=1e-9)
    assert not np.allclose(REMEMBERING[name][0]()(batches[-1]), results[-1])  # it does depend on earlier calls
    ours.reset()
    P.manual_seed(0)
    np.testing.assert_array_equal(ours(batches[0]), results[0])


@pytest.mark.parametrize("name", ["MoDo", "SDMGrad"])
def test_inner_products_of_two_batches(name):
    torch, theirs = _torch(), pytest.importorskip("torchjd.aggregation")
    rng = np.random.default_rng(9)
    ours, reference = getattr(multi, name)(), getattr(theirs, name + "Weighting")()
    for _ in range(4):
        products = rng.standard_normal((4, 6)) @ rng.standard_normal((6, 4))
        expected = reference(torch.tensor(products)).numpy()
        np.testing.assert_allclose(ours.weights(P.tensor(products)).numpy(), expected, atol=1e-10)


@pytest.mark.parametrize(
    "name", ["UPGrad", "DualProj", "MGDA", "PCGrad", "CAGrad", "IMTLG", "AlignedMTL", "Mean", "GradVac"]
)
def test_weights_of_a_gramian_are_torchjds(name):
    torch, theirs = _torch(), pytest.importorskip("torchjd.aggregation")
    arguments = (0.5,) if name == "CAGrad" else ()
    rows = np.random.default_rng(10).standard_normal((4, 6))
    torch.manual_seed(0)
    try:
        expected = getattr(theirs, name + "Weighting")(*arguments)(torch.tensor(rows @ rows.T)).numpy()
    except ImportError as missing:
        pytest.skip(str(missing))
    P.manual_seed(0)
    found = getattr(multi, name)(*arguments).weights(P.tensor(rows @ rows.T))
    np.testing.assert_allclose(found.numpy(), expected, atol=1e-3 if name == "CAGrad" else 1e-9)
    with pytest.raises(ValueError, match="square matrix"):
        multi.UPGrad().weights(rows)


@pytest.mark.parametrize(
    "make",
    [
        lambda: multi.GradVac(beta=1.1), lambda: multi.GradVac(eps=-1.0), lambda: multi.PCD(tau=2.0),
        lambda: multi.PCD(tau=[0.1, -0.1]), lambda: multi.PCD(beta=1.0), lambda: multi.ExcessMTL(0.0),
        lambda: multi.ExcessMTL(n_warmup_steps=-1), lambda: multi.MoDo(gamma=0.0), lambda: multi.SDMGrad(momentum=1.0),
        lambda: multi.SDMGrad(n_iter=0), lambda: multi.CRMOGM(multi.Mean(), alpha=-0.1),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_refused(make):
    with pytest.raises(ValueError, match="must be in"):
        make()


def test_without_scipy_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    with pytest.raises(ImportError, match=r"pullback\[scipy\]"):
        multi.FairGrad(1.0)


def test_fairness_is_what_it_says():
    rows = np.random.default_rng(12).standard_normal((4, 9))
    weights = multi.FairGrad(2.0).weights(rows @ rows.T)
    np.testing.assert_allclose(rows @ rows.T @ weights, weights**-0.5, rtol=1e-5)


def test_the_first_loss_comes_first_and_the_others_improve():
    rng = np.random.default_rng(13)
    for _ in range(10):
        rows = rng.standard_normal((3, 8))
        found = multi.PCD(0.1)(rows)
        np.testing.assert_allclose(np.linalg.norm(found), np.linalg.norm(rows[0]))
        assert (rows @ found > 0).all()


def test_nash_is_equal_where_theirs_has_an_outcome():
    torch, theirs = _torch(), pytest.importorskip("torchjd.aggregation")
    pytest.importorskip("cvxpy")
    pytest.importorskip("ecos")
    compared = 0
    for rows in _matrices():
        try:
            reference = theirs.NashMTL(n_tasks=len(rows))
            expected = reference(torch.tensor(rows)).numpy()
        except (ValueError, ImportError):
            continue
        alpha = np.asarray(reference.weighting.prvs_alpha, dtype=np.float64)
        if not np.allclose(alpha * (rows @ rows.T @ alpha), 1, rtol=1e-4):  # its solver stopped before that
            continue
        np.testing.assert_allclose(multi.NashMTL(len(rows))(rows), expected, atol=2e-4)
        compared += 1
    assert compared >= 3


@pytest.mark.parametrize("spread", [0, 1, 3, 6])
def test_nash_does_not_ask_how_long_the_rows_are(spread):
    """Every row's gain times its weight is 1: rows of another length get other weights, and the result is the same."""
    rng = np.random.default_rng(5)
    for count in (1, 2, 3, 6):
        rows = rng.standard_normal((count, 8))
        scaled = rows * 10.0 ** rng.uniform(-spread, spread, (count, 1))
        alpha = multi.NashMTL(count, max_norm=0.0).weigh(scaled @ scaled.T)
        assert (alpha > 0).all()
        np.testing.assert_allclose(alpha * (scaled @ (scaled.T @ alpha)), 1, rtol=1e-4)
        np.testing.assert_allclose(multi.NashMTL(count)(scaled), multi.NashMTL(count)(rows), rtol=1e-4, atol=1e-6)


def test_nash_without_an_outcome_keeps_its_weights():
    game = multi.NashMTL(2, max_norm=0.0)
    first = game.weigh(np.diag([4.0, 0.25]))
    np.testing.assert_allclose(first, [0.5, 2.0])
    for hopeless in (np.zeros((2, 2)), np.diag([0.0, 1.0]), np.array([[1.0, -1.0], [-1.0, 1.0]])):
        np.testing.assert_array_equal(game.weigh(hopeless), first)
        np.testing.assert_array_equal(multi.NashMTL(2, max_norm=0.0).weigh(hopeless), [1.0, 1.0])


def test_nash_solves_the_bargaining_game():
    rng = np.random.default_rng(4)
    for _ in range(10):
        rows = rng.standard_normal((3, 6))
        alpha = multi.NashMTL(3, max_norm=0.0).weights(rows @ rows.T)
        np.testing.assert_allclose(alpha * (rows @ rows.T @ alpha), 1, rtol=1e-7)
    limited = multi.NashMTL(3, max_norm=0.5)
    assert np.linalg.norm(limited(rows)) <= 0.5 + 1e-12
    kept = multi.NashMTL(3, update_weights_every=2)
    first = kept(rows)
    np.testing.assert_array_equal(kept(rows), first)
    kept.reset()
    np.testing.assert_allclose(kept(rows), first, rtol=1e-6)


NON_CONFLICTING = {
    "UPGrad": multi.UPGrad(reg_eps=1e-9), "DualProj": multi.DualProj(reg_eps=1e-9),
    "MGDA": multi.MGDA(epsilon=1e-9, max_iters=20000), "CAGrad": multi.CAGrad(c=1.0),
    "NashMTL": multi.NashMTL(4), "ConFIG": multi.ConFIG(), "IMTLG": None,
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name, aggregator in NON_CONFLICTING.items() if aggregator is not None])
def test_no_row_is_in_conflict_with_the_aggregate(name):
    rng = np.random.default_rng(0)
    for _ in range(20):
        rows = rng.standard_normal((4, 6))
        found = NON_CONFLICTING[name](rows)
        assert (rows @ found).min() > -1e-3 * np.linalg.norm(found) * np.linalg.norm(rows)


INVARIANT = {
    "UPGrad": multi.UPGrad(), "DualProj": multi.DualProj(), "MGDA": multi.MGDA(), "CAGrad": multi.CAGrad(c=0.7),
    "IMTLG": multi.IMTLG(), "AlignedMTL": multi.AlignedMTL(), "ConFIG": multi.ConFIG(), "Krum": multi.Krum(1, 2),
    "TrimmedMean": multi.TrimmedMean(1), "Mean": multi.Mean(),
}  # fmt: skip


@pytest.mark.parametrize("name", INVARIANT)
def test_the_order_of_losses_does_not_matter(name):
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((5, 8))
    order = rng.permutation(5)
    np.testing.assert_allclose(INVARIANT[name](rows[order]), INVARIANT[name](rows), atol=1e-7)


@pytest.mark.parametrize("name", ["UPGrad", "ConFIG", "Mean"])
def test_linear_under_scaling_of_the_rows(name):
    aggregator = multi.UPGrad(reg_eps=1e-10) if name == "UPGrad" else INVARIANT[name]
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((3, 6))
    c1, c2 = rng.random(3) + 0.2, rng.random(3) + 0.2
    first, second = aggregator(np.diag(c1) @ rows), aggregator(np.diag(c2) @ rows)
    both = aggregator(np.diag(2 * c1 + 3 * c2) @ rows)
    np.testing.assert_allclose(both, 2 * first + 3 * second, atol=1e-6)


@pytest.mark.parametrize("name", PAIRS)
def test_tensors_dtypes_and_wrong_shapes(name):
    aggregator = PAIRS[name][0](5)
    rows = np.random.default_rng(5).standard_normal((5, 4))
    P.manual_seed(0)
    single = aggregator(P.tensor(rows.astype(np.float32)))
    P.manual_seed(0)
    plain = PAIRS[name][0](5)(rows.astype(np.float32))
    assert single.dtype == P.float32 and plain.dtype == np.float32
    np.testing.assert_array_equal(single.numpy(), plain)
    with pytest.raises(ValueError, match="matrix"):
        aggregator(rows[0])
    assert type(aggregator).__name__ in repr(aggregator)


def test_projection_and_mixtures_are_minima():
    rng = np.random.default_rng(6)
    for count in (2, 4, 7):
        rows = rng.standard_normal((count, 5))
        gramian = rows @ rows.T
        lower = rng.random(count)
        projected = solvers.project(lower, gramian + 1e-6 * np.eye(count))
        assert (projected >= lower - 1e-12).all()
        shortest = solvers.shortest_mixture(gramian)
        np.testing.assert_allclose(shortest.sum(), 1)
        for _ in range(200):
            other = lower + rng.random(count) * rng.random()
            assert other @ gramian @ other >= projected @ gramian @ projected - 1e-4
            mixture = rng.dirichlet(np.ones(count))
            assert mixture @ gramian @ mixture >= shortest @ gramian @ shortest - 1e-9


# --- backward --------------------------------------------------------------------------------------------------------


def _tasks():
    P.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 5), nn.Tanh(), nn.Linear(5, 3)).double()
    x, y = P.randn(8, 4, dtype=P.float64), P.randn(8, 3, dtype=P.float64)
    losses = nn.functional.mse_loss(model(x), y, reduction="none")
    return model, losses


@pytest.mark.parametrize("per_sample", [False, True])
@pytest.mark.parametrize("name", [name for name in PAIRS if name != "Krum" and "Drop" not in name])
def test_backward_fills_grad_with_the_aggregate_of_the_jacobian(name, per_sample):
    model, losses = _tasks()
    losses = losses.sum(1) if per_sample else losses.mean(0)
    aggregator = PAIRS[name][0](len(losses))
    rows = multi.jacobian_matrix(losses, model.parameters())
    P.manual_seed(3)
    expected = aggregator(rows)
    before = [P.ones_like(p) for p in model.parameters()]
    for p, g in zip(model.parameters(), before, strict=True):
        p.grad = g.clone()
    P.manual_seed(3)
    multi.backward(losses, model.parameters(), aggregator=PAIRS[name][0](len(losses)))
    found = P.cat([(p.grad - 1).flatten() for p in model.parameters()])
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-6, atol=1e-9)
    with pytest.raises(RuntimeError, match="second time"):
        multi.backward(losses, model.parameters(), aggregator=aggregator)


def test_backward_of_several_losses_and_of_all_leaves():
    model, losses = _tasks()
    multi.backward([losses[:, 0].mean(), losses[:, 1:].mean(0)], aggregator=multi.Mean(), retain_graph=True)
    expected = P.autograd.grad(losses.mean(0).sum() / 3, list(model.parameters()))
    for p, g in zip(model.parameters(), expected, strict=True):
        np.testing.assert_allclose(p.grad.numpy(), g.numpy(), atol=1e-12)


def test_backward_changes_nothing_if_the_aggregator_fails():
    model, losses = _tasks()

    def failing(rows):
        raise ArithmeticError("no")

    for aggregator in (failing, multi.Constant([1.0]), multi.TrimmedMean(5)):
        with pytest.raises((ArithmeticError, ValueError)):
            multi.backward(losses.mean(0), aggregator=aggregator, retain_graph=True)
    assert all(p.grad is None for p in model.parameters())
    multi.backward(losses.mean(0), aggregator=multi.UPGrad())
    assert all(p.grad is not None for p in model.parameters())


@pytest.mark.parametrize("name", DRAWING)
def test_drawing_aggregators_follow_the_seed(name):
    rows = np.random.default_rng(7).standard_normal((4, 50))
    results = []
    for seed in (0, 0, 1):
        P.manual_seed(seed)
        results.append(PAIRS[name][0](4)(rows))
    np.testing.assert_array_equal(results[0], results[1])
    assert not np.array_equal(results[0], results[2])


@pytest.mark.parametrize("reduction", ["one number each", "two numbers each"])
def test_gramian_is_that_of_torchjds_engine(reduction):
    torch, autogram = _torch(), pytest.importorskip("torchjd.autogram")
    ours = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.LayerNorm(6), nn.Linear(6, 2)).double()
    theirs = torch.nn.Sequential(
        torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.LayerNorm(6), torch.nn.Linear(6, 2)
    ).double()
    theirs.load_state_dict({name: torch.tensor(value.numpy()) for name, value in ours.state_dict().items()})
    data = np.random.default_rng(0).standard_normal((5, 4))
    engine = autogram.Engine(theirs, batch_dim=0)
    output, expected_output = ours(P.tensor(data)), theirs(torch.tensor(data))
    if reduction == "one number each":
        output, expected_output = output.square().sum(1), expected_output.square().sum(1)
        expected = engine.compute_gramian(expected_output).numpy()
    else:
        output = output.reshape(-1)
        expected = engine.compute_gramian(expected_output).reshape(10, 10).numpy()
    np.testing.assert_allclose(multi.gramian(output, ours.parameters()).numpy(), expected, rtol=1e-9, atol=1e-10)
