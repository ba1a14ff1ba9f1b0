"""Reductions, scans and order statistics against torch: values, gradients and second gradients."""

from __future__ import annotations

import numpy as np
import pytest
from against_torch import both_refuse, compare

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(3, 4, 5))
WITH_ZEROS = np.where(RANDOM.random((3, 4, 5)) < 0.2, 0, X)
WITH_NAN = np.where(RANDOM.random((3, 4, 5)) < 0.2, np.nan, X)
LEVELS, WEIGHTS = np.array([0.1, 0.65]), np.array([0.1, 0.4, 1.0, 2.0, 0.3])
COMPLEX = X + 1j * RANDOM.normal(size=X.shape)

PLAIN = [
    ("sum", lambda t, x: x.sum()),
    ("sum dims", lambda t, x: x.sum((0, -1))),
    ("sum keep", lambda t, x: x.sum(1, True)),
    ("mean", lambda t, x: x.mean()),
    ("mean dims", lambda t, x: x.mean((1, 2), keepdim=True)),
    ("prod", lambda t, x: x.prod()),
    ("prod dim", lambda t, x: x.prod(1)),
    ("prod keep", lambda t, x: x.prod(-1, True)),
    ("nansum", lambda t, x: t.nansum(x, 1)),
    ("nanmean", lambda t, x: t.nanmean(x, (0, 2))),
    ("std", lambda t, x: x.std()),
    ("std dim", lambda t, x: x.std(1)),
    ("var biased", lambda t, x: x.var(1, False)),
    ("var correction", lambda t, x: x.var((0, 1), correction=2, keepdim=True)),
    ("std_mean", lambda t, x: t.std_mean(x, 1)),
    ("var_mean", lambda t, x: t.var_mean(x)),
    ("norm", lambda t, x: x.norm()),
    ("norm 1", lambda t, x: t.norm(x, 1, 1)),
    ("norm 3", lambda t, x: t.norm(x, 3, (0, 1), True)),
    ("norm inf", lambda t, x: t.norm(x, float("inf"), 0)),
    ("norm 0.5", lambda t, x: t.norm(x, 0.5, 2)),
    ("norm -inf", lambda t, x: t.norm(x, -float("inf"), 0)),
    ("norm 0", lambda t, x: t.norm(x, 0)),
    ("dist", lambda t, x: t.dist(x, x.detach() * 2 + 1, 3)),
    ("logsumexp", lambda t, x: t.logsumexp(x, (0, 2))),
    ("logsumexp keep", lambda t, x: x.logsumexp(1, keepdim=True)),
    ("amax", lambda t, x: x.amax((0, 1))),
    ("amin", lambda t, x: x.amin(2, True)),
    ("aminmax", lambda t, x: t.aminmax(x, dim=1)),
    ("max", lambda t, x: x.max()),
    ("min", lambda t, x: x.min()),
    ("max dim", lambda t, x: x.max(1)),
    ("min keep", lambda t, x: x.min(2, keepdim=True)),
    ("median", lambda t, x: x.median()),
    ("median dim", lambda t, x: x.median(1)),
    ("nanmedian", lambda t, x: x.nanmedian(2)),
    ("mode", lambda t, x: x.mode(1)),
    ("kthvalue", lambda t, x: x.kthvalue(2, 1, True)),
    ("quantile", lambda t, x: x.quantile(0.3)),
    ("quantile dim", lambda t, x: x.quantile(t.tensor(LEVELS).to(x.dtype), 1, True)),
    ("quantile nearest", lambda t, x: t.quantile(x, 0.4, 2, interpolation="nearest")),
    ("quantile midpoint", lambda t, x: t.quantile(x, 0.3, 0, interpolation="midpoint")),
    ("topk", lambda t, x: x.topk(2, 1)),
    ("topk smallest", lambda t, x: x.topk(3, -1, largest=False)),
    ("sort", lambda t, x: x.sort(1, descending=True)),
    ("msort", lambda t, x: t.msort(x)),
    ("argsort", lambda t, x: x.argsort(0)),
    ("cumsum", lambda t, x: x.cumsum(1)),
    ("cumprod", lambda t, x: x.cumprod(2)),
    ("cummax", lambda t, x: x.cummax(1)),
    ("cummin", lambda t, x: x.cummin(0)),
    ("logcumsumexp", lambda t, x: x.logcumsumexp(1)),
    ("trapezoid", lambda t, x: t.trapezoid(x, dx=0.5, dim=1)),
    ("trapezoid x", lambda t, x: t.trapezoid(x, t.arange(5.0, dtype=x.dtype).cumsum(0))),
    ("cumulative_trapezoid", lambda t, x: t.cumulative_trapezoid(x, dim=0)),
    ("diff", lambda t, x: t.diff(x, 2, 1)),
    ("diff prepend", lambda t, x: t.diff(x, dim=2, prepend=x[..., :1] * 2, append=x[..., :2])),
    ("gradient", lambda t, x: t.gradient(x, spacing=0.5)),
    (
        "gradient points",
        lambda t, x: t.gradient(x, spacing=(t.tensor([0.0, 1.0, 3.0, 3.5, 5.0], dtype=x.dtype),), dim=2, edge_order=2),
    ),
    ("cov", lambda t, x: x[0].cov()),
    ("cov weights", lambda t, x: x[0].cov(fweights=t.tensor([1, 2, 1, 3, 1]), aweights=t.tensor(WEIGHTS).to(x.dtype))),
    ("corrcoef", lambda t, x: x[1].corrcoef()),
    ("softmax", lambda t, x: x.softmax(1)),
    ("log_softmax", lambda t, x: x.log_softmax(-1)),
    ("renorm", lambda t, x: x.renorm(2, 1, 1.5)),
    ("sum_to_size", lambda t, x: x.sum_to_size(4, 1)),
    ("argmax", lambda t, x: x.argmax(1)),
    ("argmin keep", lambda t, x: x.argmin(2, True)),
    ("argmax all", lambda t, x: x.argmax()),
    ("all", lambda t, x: (x > -1).all(1)),
    ("any", lambda t, x: (x > 2).any()),
    ("count_nonzero", lambda t, x: t.count_nonzero(x > 0, (0, 1))),
    ("segments", lambda t, x: x.sum(dtype=t.float32)),
]
UNNAMED = {  # compositions: the last node is another one
    "quantile",
    "quantile dim",
    "quantile nearest",
    "quantile midpoint",
    "trapezoid",
    "trapezoid x",
    "cov",
    "cov weights",
    "corrcoef",
    "renorm",
    "gradient",
    "gradient points",
    "cumulative_trapezoid",
    "segments",
}


@pytest.mark.parametrize(("label", "call"), PLAIN, ids=[row[0] for row in PLAIN])
def test_values_and_derivatives(label: str, call) -> None:
    compare(call, X, names=label not in UNNAMED)
    compare(call, X.astype(np.float32), order=1, names=False)
    compare(lambda t, x: call(t, x.permute(2, 0, 1).reshape(3, 4, 5)), X, names=False)


@pytest.mark.parametrize(
    "label",
    [
        "sum",
        "mean dims",
        "prod",
        "prod dim",
        "std dim",
        "var_mean",
        "norm",
        "norm 3",
        "norm inf",
        "logsumexp",
        "cumsum",
        "cumprod",
        "logcumsumexp",
    ],
)
def test_complex(label: str) -> None:
    compare(dict(PLAIN)[label], COMPLEX * (0.3 if "log" in label else 1))


@pytest.mark.parametrize(
    "label", ["prod", "prod dim", "cumprod", "norm", "norm 1", "norm 3", "norm 0.5", "norm inf", "amax", "max dim"]
)
def test_zeros(label: str) -> None:
    """Products and norms of zeros have derivatives, and products second ones."""
    compare(dict(PLAIN)[label], WITH_ZEROS, order=2 if "prod" in label else 1)
    compare(dict(PLAIN)[label], X * 0, order=1)


@pytest.mark.parametrize(
    "label",
    [
        "nansum",
        "nanmean",
        "nanmedian",
        "median",
        "median dim",
        "amax",
        "max",
        "max dim",
        "sort",
        "cummax",
        "quantile",
        "sum",
    ],
)
def test_nan(label: str) -> None:
    compare(dict(PLAIN)[label], WITH_NAN, order=0)
    if label.startswith("nan"):
        compare(dict(PLAIN)[label], WITH_NAN, order=1)


def test_ties_share_or_pick() -> None:
    x = np.array([[1.0, 2.0, 2.0], [3.0, 3.0, 3.0]])
    compare(lambda t, x: x.max(), x, order=2)  # a third is a third in float64 too when the pass is recorded
    for call in (
        lambda t, x: x.max(),
        lambda t, x: x.amax(1),
        lambda t, x: x.amin(0),
        lambda t, x: x.median(),
        lambda t, x: t.aminmax(x),
        lambda t, x: x.max(1),
    ):
        compare(call, x, order=1)


def test_constant_has_no_spread() -> None:
    compare(lambda t, x: x.std(1), np.ones((2, 3)), order=1)
    compare(lambda t, x: x.std(), np.ones(1), order=0)


@pytest.mark.parametrize("kind", ["int64", "int32", "uint8", "bool"])
def test_integers(kind: str) -> None:
    x = RANDOM.integers(0, 3, (3, 4)).astype(kind)
    for call in (
        lambda t, x: x.sum(0),
        lambda t, x: x.prod(),
        lambda t, x: x.cumsum(1),
        lambda t, x: x.amax(1),
        lambda t, x: x.all(0),
        lambda t, x: x.any(),
        lambda t, x: x.sort(dim=1, stable=True)[0],
        lambda t, x: t.logsumexp(x, 0),
        lambda t, x: x.max(),
    ):
        compare(call, x)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
@pytest.mark.parametrize(
    "label",
    ["sum", "mean dims", "prod dim", "std dim", "norm", "logsumexp", "amax", "cumsum", "softmax", "max dim", "sort"],
)
def test_half_precision(label: str, kind: str) -> None:
    call = dict(PLAIN)[label]
    rounded = np.round(X * 8) / 8 + np.arange(60).reshape(3, 4, 5) / 64  # exact in both, and without ties
    compare(lambda t, x: call(t, x.to(getattr(t, kind))), rounded.astype(np.float32), order=0)


EMPTY = [
    lambda t, x: x.sum(),
    lambda t, x: x.sum(1),
    lambda t, x: x.prod(0),
    lambda t, x: x.mean(1),
    lambda t, x: x.amax(1),
    lambda t, x: x.cumsum(0),
    lambda t, x: x.sort(0)[0],
    lambda t, x: x.softmax(0),
    lambda t, x: t.logsumexp(x, 1),
    lambda t, x: x.std(1),
    lambda t, x: x.norm(),
    lambda t, x: x.all(),
    lambda t, x: x.any(1),
]


@pytest.mark.parametrize("number", range(len(EMPTY)))
def test_empty_and_scalar(number: int) -> None:
    compare(EMPTY[number], np.zeros((0, 3)), order=1)
    if number not in (1, 3, 4, 8, 9, 12):
        compare(EMPTY[number], np.array(0.7), order=1, names=False)


MISTAKES = [
    (IndexError, lambda t: t.ones(2, 3).sum(2)),
    (RuntimeError, lambda t: t.ones(2, 3).sum((0, 0))),
    (RuntimeError, lambda t: t.ones(3).long().mean()),
    (RuntimeError, lambda t: t.zeros(0).max()),
    (IndexError, lambda t: t.zeros(2, 0).max(1)),
    (RuntimeError, lambda t: t.ones(2).topk(3)),
    (RuntimeError, lambda t: t.ones(2).kthvalue(3)),
    (RuntimeError, lambda t: t.ones(2).quantile(1.5)),
    (RuntimeError, lambda t: t.ones(2, 2, 2).cov()),
    (RuntimeError, lambda t: t.diff(t.ones(3), -1)),
    (RuntimeError, lambda t: t.ones(3).renorm(2, 0, 1)),
    (IndexError, lambda t: t.zeros(0).argmax()),
    (RuntimeError, lambda t: t.ones(2, 3).sum_to_size(4, 1)),
    (NotImplementedError, lambda t: t.ones(3).long().softmax(0)),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes(number: int) -> None:
    both_refuse(*MISTAKES[number])
