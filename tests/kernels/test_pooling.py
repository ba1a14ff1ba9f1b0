"""Pooling and unfold kernels against torch, and their transposes by the adjoint identity."""

import itertools

import numpy as np
import pytest

from pullback.kernels import averages, few_columns, pooling, unfold

torch = pytest.importorskip("torch")
functional = torch.nn.functional


@pytest.fixture(params=[pooling.TAPS_AT_ONCE, 0], ids=["few", "blocks"])
def both_ways(request, monkeypatch):
    """Few elements have a way of their own; the cases here are small, and shall test both."""
    monkeypatch.setattr(pooling, "TAPS_AT_ONCE", request.param)
    monkeypatch.setattr(few_columns, "FEW_COLUMN_ELEMENTS", request.param)


def values(shape, dtype="float64", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def same(ours, reference, tolerance=0.0):
    reference = reference.detach().numpy()
    assert ours.shape == reference.shape and ours.dtype == reference.dtype
    np.testing.assert_allclose(ours, reference, rtol=tolerance, atol=tolerance)


SHAPES = {1: (2, 3, 13), 2: (2, 3, 9, 10), 3: (2, 2, 7, 6, 8)}
MAX_CASES = [
    (axes, kernel, stride, padding, dilation, ceil)
    for axes, kernel, stride, padding, dilation, ceil in itertools.product(
        [1, 2, 3], [2, 3], [1, 2, 3], [0, 1], [1, 2], [False, True]
    )
]


@pytest.mark.parametrize("case", MAX_CASES, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_max_pool(case, dtype, both_ways):
    axes, *rest, ceil = case
    kernel, stride, padding, dilation = ((value,) * axes for value in rest)
    x = np.round(values(SHAPES[axes], dtype) * 2) / 2
    reference = getattr(functional, f"max_pool{axes}d")
    out, indices = pooling.max_pool(x, kernel=kernel, stride=stride, padding=padding, dilation=dilation, ceil_mode=ceil)
    tx = torch.from_numpy(x).requires_grad_()
    expected, places = reference(tx, kernel, stride, padding, dilation, ceil_mode=ceil, return_indices=True)
    same(out, expected)
    same(indices, places)
    g = values(out.shape, dtype, 1)
    (gradient,) = torch.autograd.grad(expected, tx, torch.from_numpy(g))
    same(pooling.scatter_planes(g, indices, spatial=x.shape[2:]), gradient, 1e-6)
    np.testing.assert_array_equal(pooling.gather_planes(x, indices, axes=axes), out)


@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "ceil"),
    [(2, 2, 0, False), (3, 2, 1, False), (3, 1, 1, False), (3, 2, 1, True), (2, 3, 1, True)],
)
@pytest.mark.parametrize("share", [0.1, 0.6, 1.0])
@pytest.mark.parametrize("special", [np.nan, -np.inf, np.inf])
def test_max_pool_of_nan_and_infinity(kernel, stride, padding, ceil, share, special, both_ways):
    x = values((2, 3, 8, 9))
    x[np.random.default_rng(1).random(x.shape) < share] = special
    x[0, 0, :3, :3] = -np.inf
    pair = {"kernel": (kernel,) * 2, "stride": (stride,) * 2, "padding": (padding,) * 2, "dilation": (1, 1)}
    out, indices = pooling.max_pool(x, ceil_mode=ceil, **pair)
    expected, places = functional.max_pool2d(
        torch.from_numpy(x), kernel, stride, padding, ceil_mode=ceil, return_indices=True
    )
    same(out, expected)
    same(indices, places)


def test_max_pool_of_integers_and_large_blocks():
    x = np.random.default_rng(0).integers(-5, 5, (40, 16, 30, 30))
    pair = {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1), "dilation": (1, 1)}
    out, indices = pooling.max_pool(x, **pair)
    expected, places = functional.max_pool2d(torch.from_numpy(x), 3, 2, 1, return_indices=True)
    same(out, expected)
    same(indices, places)
    values_only, nothing = pooling.max_pool(x, indices=False, **pair)
    assert nothing is None
    same(values_only, expected)


AVERAGE_CASES = [
    case
    for case in itertools.product([1, 2, 3], [2, 3], [1, 2, 3], [0, 1], [False, True], [False, True], [None, 5])
    if case[0] > 1 or case[-1] is None  # torch has no divisor for one axis
]


@pytest.mark.parametrize("case", AVERAGE_CASES, ids=str)
def test_avg_pool_and_its_transpose(case, both_ways):
    axes, kernel, stride, padding, ceil, include, override = case
    x = values(SHAPES[axes])
    parameters = {"kernel": (kernel,) * axes, "stride": (stride,) * axes, "padding": (padding,) * axes}
    options = {"count_include_pad": include, "divisor_override": override}
    ours = averages.avg_pool(x, ceil_mode=ceil, **parameters, **options)
    theirs = {"count_include_pad": include} if axes == 1 else options
    tx = torch.from_numpy(x).requires_grad_()
    expected = getattr(functional, f"avg_pool{axes}d")(tx, kernel, stride, padding, ceil, **theirs)
    same(ours, expected, 1e-12)
    g = values(ours.shape, seed=1)
    back = averages.avg_pool_transpose(g, spatial=x.shape[2:], **parameters, **options)
    same(back, torch.autograd.grad(expected, tx, torch.from_numpy(g))[0], 1e-12)
    assert np.vdot(g, ours) == pytest.approx(np.vdot(back, x))


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_avg_pool_in_lower_precision(dtype, both_ways):
    x = values((64, 16, 24, 24), dtype)
    pair = {"kernel": (3, 3), "stride": (2, 2), "padding": (1, 1)}
    tolerance = {"float16": 1e-3, "float32": 1e-6}[dtype]
    same(averages.avg_pool(x, **pair), functional.avg_pool2d(torch.from_numpy(x), 3, 2, 1), tolerance)


@pytest.mark.parametrize(
    ("axes", "output"),
    [
        (1, (1,)),
        (1, (5,)),
        (1, (13,)),
        (1, (20,)),
        (2, (1, 1)),
        (2, (3, 4)),
        (2, (9, 5)),
        (2, (12, 3)),
        (3, (2, 3, 4)),
        (3, (7, 6, 8)),
    ],
)
def test_adaptive_pooling(axes, output):
    x = values(SHAPES[axes])
    x[0, 0].flat[3] = np.inf
    tx = torch.from_numpy(x).requires_grad_()
    expected = getattr(functional, f"adaptive_avg_pool{axes}d")(tx, output)
    ours = averages.adaptive_avg_pool(x, output=output)
    same(ours, expected, 1e-12)
    g = values(ours.shape, seed=1)
    back = averages.adaptive_avg_pool_transpose(g, spatial=x.shape[2:])
    same(back, torch.autograd.grad(expected, tx, torch.from_numpy(g))[0], 1e-12)
    x[1, 0].flat[:4] = np.nan
    reference = getattr(functional, f"adaptive_max_pool{axes}d")
    expected, places = reference(torch.from_numpy(x), output, return_indices=True)
    ours, indices = pooling.adaptive_max_pool(x, output=output)
    same(ours, expected)
    same(indices, places)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_max_unpool_undoes_max_pool(axes):
    x = values(SHAPES[axes])
    spatial = x.shape[2:]
    twos = (2,) * axes
    out, indices = pooling.max_pool(x, kernel=twos, stride=twos, padding=(0,) * axes, dilation=(1,) * axes)
    expected = getattr(functional, f"max_unpool{axes}d")(
        torch.from_numpy(out), torch.from_numpy(indices), 2, output_size=spatial
    )
    unpooled = pooling.max_unpool(out, indices, spatial=spatial)
    same(unpooled, expected)
    np.testing.assert_array_equal(pooling.gather_planes(unpooled, indices, axes=axes), out)
    with pytest.raises(RuntimeError, match="invalid max index"):
        pooling.max_unpool(out, indices + 10**6, spatial=spatial)


def test_scatter_and_gather_are_adjoint():
    indices = np.random.default_rng(0).integers(0, 90, (2, 3, 4, 5))
    x, g = values((2, 3, 9, 10)), values((2, 3, 4, 5), seed=1)
    scattered = pooling.scatter_planes(g, indices, spatial=(9, 10))
    assert np.vdot(scattered, x) == pytest.approx(np.vdot(g, pooling.gather_planes(x, indices, axes=2)))
    complex_values = pooling.scatter_planes(g * (1 + 2j), indices, spatial=(9, 10))
    np.testing.assert_allclose(complex_values, scattered * (1 + 2j))


@pytest.mark.parametrize(
    ("axes", "kernel", "output"),
    [(2, (2, 3), (4, 5)), (2, (3, 2), (7, 9)), (2, (2, 2), (1, 1)), (3, (2, 2, 3), (3, 4, 5))],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_fractional_max_pool(axes, kernel, output, dtype):
    x = values(SHAPES[axes], dtype)
    x[0, 0].flat[5] = np.nan
    samples = np.random.default_rng(3).random((*x.shape[:2], axes)).astype(dtype)
    function = getattr(functional, f"fractional_max_pool{axes}d")
    expected, places = function(
        torch.from_numpy(x), kernel, output, _random_samples=torch.from_numpy(samples), return_indices=True
    )
    ours, indices = pooling.fractional_max_pool(x, samples, kernel=kernel, output=output)
    same(ours, expected)
    same(indices, places)


UNFOLD_CASES = list(itertools.product([(2, 3), (1, 1), (3, 3)], [1, 2], [0, 1], [1, 2]))


@pytest.mark.parametrize("case", UNFOLD_CASES, ids=str)
def test_unfold_and_fold(case):
    kernel, *rest = case
    stride, padding, dilation = ((value,) * 2 for value in rest)
    parameters = {"kernel": kernel, "stride": stride, "padding": padding, "dilation": dilation}
    x = values((3, 2, 8, 9))
    columns = unfold.unfold(x, **parameters)
    same(columns, functional.unfold(torch.from_numpy(x), kernel, dilation, padding, stride))
    y = values(columns.shape, seed=1)
    folded = unfold.fold(y, spatial=(8, 9), **parameters)
    same(folded, functional.fold(torch.from_numpy(y), (8, 9), kernel, dilation, padding, stride), 1e-12)
    assert np.vdot(folded, x) == pytest.approx(np.vdot(y, columns))


def test_unfold_over_one_and_three_axes_is_adjoint_to_fold():
    for shape, kernel in (((2, 3, 9), (3,)), ((2, 2, 5, 6, 7), (2, 3, 2))):
        axes = len(kernel)
        parameters = {"kernel": kernel, "stride": (2,) * axes, "padding": (1,) * axes, "dilation": (1,) * axes}
        x = values(shape)
        columns = unfold.unfold(x, **parameters)
        y = values(columns.shape, seed=1)
        assert np.vdot(unfold.fold(y, spatial=shape[2:], **parameters), x) == pytest.approx(np.vdot(y, columns))


ERRORS = [
    (
        lambda t: t.max_pool2d(torch.zeros(1, 1, 2, 2), 3),
        lambda: pooling.pooled_shape((2, 2), (3, 3), (3, 3), (0, 0), (1, 1)),
        "Output size is too small",
    ),
    (
        lambda t: t.max_pool2d(torch.zeros(1, 1, 8, 8), 2, 2, 2),
        lambda: pooling.pooled_shape((8, 8), (2, 2), (2, 2), (2, 2), (1, 1)),
        "pad should be at most half of effective kernel size",
    ),
    (
        lambda t: t.max_pool2d(torch.zeros(1, 1, 8, 8), 2, 2, -1),
        lambda: pooling.pooled_shape((8, 8), (2, 2), (2, 2), (-1, -1), (1, 1)),
        "pad must be non-negative",
    ),
    (
        lambda t: t.max_pool2d(torch.zeros(1, 1, 8, 8), 2, 0),
        lambda: pooling.pooled_shape((8, 8), (2, 2), (0, 0), (0, 0), (1, 1)),
        "stride should not be zero",
    ),
    (
        lambda t: t.max_pool2d(torch.zeros(1, 1, 8, 8), 0, 1),
        lambda: pooling.pooled_shape((8, 8), (0, 0), (1, 1), (0, 0), (1, 1)),
        "kernel size should be greater than zero",
    ),
    (
        lambda t: t.max_pool2d(torch.zeros(1, 1, 8, 8), 2, 2, 0, 0),
        lambda: pooling.pooled_shape((8, 8), (2, 2), (2, 2), (0, 0), (0, 0)),
        "dilation should be greater than zero",
    ),
    (
        lambda t: t.avg_pool2d(torch.zeros(1, 1, 8, 8), 2, divisor_override=0),
        lambda: averages.avg_pool(
            np.zeros((1, 1, 8, 8)), kernel=(2, 2), stride=(2, 2), padding=(0, 0), divisor_override=0
        ),
        "divisor must be not zero",
    ),
    (
        lambda t: t.unfold(torch.zeros(1, 1, 2, 2), 3),
        lambda: unfold.unfold(np.zeros((1, 1, 2, 2)), kernel=(3, 3), stride=(1, 1), padding=(0, 0), dilation=(1, 1)),
        "but its components must be at least one",
    ),
    (
        lambda t: t.fold(torch.zeros(1, 5, 9), (4, 4), 2),
        lambda: unfold.fold(
            np.zeros((1, 5, 9)), spatial=(4, 4), kernel=(2, 2), stride=(1, 1), padding=(0, 0), dilation=(1, 1)
        ),
        "divisible by the product of kernel_size",
    ),
    (
        lambda t: t.fold(torch.zeros(1, 4, 8), (4, 4), 2),
        lambda: unfold.fold(
            np.zeros((1, 4, 8)), spatial=(4, 4), kernel=(2, 2), stride=(1, 1), padding=(0, 0), dilation=(1, 1)
        ),
        "to match the calculated number of sliding blocks",
    ),
]


@pytest.mark.parametrize(("theirs", "ours", "phrase"), ERRORS, ids=[row[2] for row in ERRORS])
def test_errors_have_torchs_phrase(theirs, ours, phrase):
    with pytest.raises(RuntimeError, match=phrase):
        theirs(functional)
    with pytest.raises(RuntimeError, match=phrase):
        ours()
