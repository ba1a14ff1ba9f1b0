"""Scalarizers: equal to torchjd's, with their gradients, over training loops; settings that make no sense are refused."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback.multi import scalarization

VALUES = [np.array([1.5, 0.2, 3.0]), np.array([0.7, 0.9, 2.0]), np.array([0.4, 0.8, 0.1])]
WEIGHTS = np.array([0.5, 0.2, 1.3])
# name: how to make one, from the module and the library
CASES = {
    "Sum": lambda s, t: s.Sum(),
    "Mean": lambda s, t: s.Mean(),
    "Constant": lambda s, t: s.Constant(t.tensor(WEIGHTS)),
    "Random": lambda s, t: s.Random(),
    "GeometricMean": lambda s, t: s.GeometricMean(),
    "STCH": lambda s, t: s.STCH(0.3),
    "STCH, all": lambda s, t: s.STCH(2.0, t.tensor(WEIGHTS), t.tensor(WEIGHTS / 3)),
    "PBI": lambda s, t: s.PBI(2.0, t.tensor(WEIGHTS)),
    "PBI, reference": lambda s, t: s.PBI(0.0, t.tensor(WEIGHTS), t.tensor(WEIGHTS / 3)),
    "COSMOS": lambda s, t: s.COSMOS(1.5, t.tensor(WEIGHTS)),
    "UW": lambda s, t: s.UW(3).double(),
    "IMTLL": lambda s, t: s.IMTLL((3,)).double(),
    "DWA": lambda s, t: s.DWA(1.0),
    "FAMO": lambda s, t: s.FAMO(3).double(),
    "FAMO, bounds": lambda s, t: s.FAMO(3, t.tensor(-WEIGHTS), lr=0.1, weight_decay=0.0).double(),
}


def _train(scalarizer, library):
    """Values and gradients over three epochs of two batches; parameters learn, if there are any."""
    library.manual_seed(0)
    parameters = [p for name, p in scalarizer.named_parameters() if "log" in name and name[0] != "_"]
    optimizer = library.optim.SGD(parameters, lr=0.1) if parameters else None
    seen = []
    for epoch in range(4):
        for batch in VALUES[:2]:
            values = library.tensor(batch / (epoch + np.array([1.0, 1.5, 2.0])), requires_grad=True)
            loss = scalarizer(values)
            loss.backward()
            seen += [loss.detach().numpy(), values.grad.numpy()]
            if optimizer is not None:
                optimizer.step()
                optimizer.zero_grad()
            if hasattr(scalarizer, "update"):
                scalarizer.update(library.tensor(batch * np.array([0.9, 0.5, 0.99]) / (epoch + 1)))
        if hasattr(scalarizer, "step"):
            scalarizer.step()
    return seen


@pytest.mark.parametrize("name", CASES)
def test_equal_to_torchjd(name):
    torch, theirs = pytest.importorskip("torch"), pytest.importorskip("torchjd.scalarization")
    ours = CASES[name](scalarization, P)
    expected = _train(CASES[name](theirs, torch), torch)
    found = _train(ours, P)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    if hasattr(ours, "reset"):
        ours.reset()
        for a, b in zip(_train(ours, P), found, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9)
    assert type(ours).__name__ in repr(ours)


@pytest.mark.parametrize(
    "make",
    [
        lambda s: s.STCH(0.0), lambda s: s.PBI(-1.0, P.ones(2)), lambda s: s.COSMOS(-1.0, P.ones(2)), lambda s: s.DWA(0.0),
        lambda s: s.FAMO(2, lr=-1.0), lambda s: s.FAMO(2, min_losses=P.zeros(3)), lambda s: s.UW(2)(P.ones(3)),
        lambda s: s.Constant(P.ones(2))(P.ones(3)), lambda s: s.GeometricMean()(P.tensor([1.0, -1.0])),
        lambda s: s.FAMO(2).update(P.ones(2)),
    ],
)  # fmt: skip
def test_refused(make):
    with pytest.raises(ValueError):
        make(scalarization)


def test_found_from_the_package():
    assert P.multi.scalarization.Mean()(P.tensor([1.0, 3.0])).item() == 2.0
