"""`torch.masked` against torch: reductions over selected elements, with rows that have none."""

from __future__ import annotations

import numpy as np
import pytest
from against_torch import compare

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(3, 4))
MASK = np.array([[True, False, True, True], [False, False, False, False], [True, True, False, False]])
ROW = np.array([True, False, True, True])

REDUCTIONS = ("sum", "prod", "amax", "amin", "mean", "logsumexp", "var", "std", "norm")
ALONG = ("cumsum", "cumprod", "softmax", "log_softmax", "softmin")


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("mask", [MASK, ROW, None], ids=["matrix", "row", "none"])
def test_reductions(name: str, mask) -> None:
    for dim in (None, 1, (0, 1), 0):
        for keepdim in (False, True):

            def call(t, x, dim=dim, keepdim=keepdim):
                selected = None if mask is None else t.tensor(mask)
                order = (2.5,) if name == "norm" else ()
                return getattr(t.masked, name)(x, *order, dim, keepdim=keepdim, mask=selected)

            empty_rows = mask is MASK and name in ("mean", "var", "std", "logsumexp", "amax", "amin", "norm", "prod")
            compare(call, X, order=0 if empty_rows else 1, names=False)


@pytest.mark.parametrize("name", ALONG)
def test_along_a_dim(name: str) -> None:
    compare(lambda t, x: getattr(t.masked, name)(x, 1, mask=t.tensor(MASK)), X, order=0)
    compare(
        lambda t, x: getattr(t.masked, name)(x, -1, mask=t.tensor(ROW)),
        X,
        order=2 if "log" not in name else 0,
        names=False,
    )


def test_others() -> None:
    mask = lambda t: t.tensor(MASK)
    compare(lambda t, x: t.masked.normalize(x, 2.0, 1, mask=mask(t)), X, order=1, names=False)
    compare(lambda t, x: t.masked.median(x, 0, mask=mask(t)), X, order=0)
    compare(lambda t, x: t.masked.argmax(x, 0, mask=mask(t)), X, order=0)
    compare(lambda t, x: t.masked.argmin(x, mask=mask(t)), X, order=0)
    compare(lambda t, x: t.masked.logaddexp(x, x * 2, input_mask=mask(t), other_mask=~mask(t)), X, order=1, names=False)
    compare(lambda t, x: t.masked.sum(x, 1, mask=mask(t)), np.arange(12).reshape(3, 4))
    compare(lambda t, x: t.masked.amax(x, 1, mask=mask(t)), np.arange(12).reshape(3, 4))


def test_mask_with_too_many_dims() -> None:
    import pullback

    with pytest.raises(IndexError, match="broadcastable mask"):
        pullback.masked.sum(pullback.ones(3), mask=pullback.ones(2, 3).bool())
