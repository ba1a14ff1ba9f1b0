"""Averaged models and their schedule against torch."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")
pytest.importorskip("pullback.nn")

AVERAGES = {
    "default": lambda s: {},
    "ema multi": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.7)},
    "swa multi": lambda s: {"multi_avg_fn": s.get_swa_multi_avg_fn()},
    "ema": lambda s: {"avg_fn": s.get_ema_avg_fn(0.7)},
    "swa": lambda s: {"avg_fn": s.get_swa_avg_fn()},
    "buffers": lambda s: {"use_buffers": True, "multi_avg_fn": s.get_ema_multi_avg_fn(0.6)},
}


def run(library, name):
    library.manual_seed(0)
    model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4), library.nn.Linear(4, 2))
    averaged = library.optim.swa_utils.AveragedModel(model, **AVERAGES[name](library.optim.swa_utils))
    random = np.random.RandomState(0)
    for _ in range(4):
        with library.no_grad():
            for param in model.parameters():
                param.add_(library.tensor(random.randn(*param.shape), dtype=library.float32))
            model(library.tensor(random.randn(5, 3), dtype=library.float32))
        averaged.update_parameters(model)
    out = averaged(library.tensor(random.randn(5, 3), dtype=library.float32))
    state = {key: value.numpy() for key, value in averaged.state_dict().items()}
    return state, out.detach().numpy()


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_follow_torch(name):
    ours, theirs = run(pullback, name), run(torch, name)
    assert ours[0].keys() == theirs[0].keys()
    for key in ours[0]:
        np.testing.assert_allclose(ours[0][key], theirs[0][key], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(ours[1], theirs[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("options", [{}, {"anneal_strategy": "linear", "anneal_epochs": 4}, {"anneal_epochs": 0}])
def test_swa_schedule_follows_torch(options):
    rows = []
    for library in (pullback, torch):
        optimizer = library.optim.SGD([library.ones(1, requires_grad=True)], lr=0.5)
        scheduler = library.optim.swa_utils.SWALR(optimizer, swa_lr=0.05, **options)
        row = []
        for _ in range(13):
            optimizer.step()
            scheduler.step()
            row.append(scheduler.get_last_lr()[0])
        rows.append(row)
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-12)


def test_batch_norm_statistics_are_recomputed():
    results = []
    for library in (pullback, torch):
        library.manual_seed(0)
        model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4)).eval()
        random = np.random.RandomState(1)
        batches = [[library.tensor(random.randn(6, 3), dtype=library.float32)] for _ in range(3)]
        library.optim.swa_utils.update_bn(batches, model)
        assert not model.training and model[1].momentum == 0.1
        results.append((model[1].running_mean.numpy(), model[1].running_var.numpy()))
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_mistakes():
    swa = pullback.optim.swa_utils
    with pytest.raises(ValueError, match="Invalid decay value"):
        swa.get_ema_avg_fn(1.5)
    with pytest.raises(AssertionError, match="Only one of"):
        swa.AveragedModel(pullback.nn.Linear(1, 1), avg_fn=len, multi_avg_fn=len)
    optimizer = pullback.optim.SGD([pullback.ones(1, requires_grad=True)], lr=0.5)
    with pytest.raises(ValueError, match="anneal_strategy must be"):
        swa.SWALR(optimizer, 0.1, anneal_strategy="x")
    with pytest.raises(ValueError, match="anneal_epochs must be"):
        swa.SWALR(optimizer, 0.1, anneal_epochs=-1)
