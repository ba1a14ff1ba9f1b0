"""Convolution kernels against torch, and their transposes by the adjoint identity."""

import itertools

import numpy as np
import pytest

import pullback
from pullback.kernels import columns, few_columns
from pullback.kernels import convolution as kernels

torch = pytest.importorskip("torch")

CASES = [
    # x shape, weight shape, stride, padding, dilation, groups
    ((2, 3, 9), (4, 3, 3), (1,), (0,), (1,), 1),
    ((2, 4, 11), (6, 2, 4), (3,), (2,), (2,), 2),
    ((1, 2, 5), (3, 2, 5), (1,), (0,), (1,), 1),
    ((2, 3, 8, 7), (4, 3, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 3, 8, 7), (4, 3, 1, 1), (1, 1), (0, 0), (1, 1), 1),
    ((2, 3, 8, 7), (4, 3, 1, 1), (2, 2), (1, 0), (1, 1), 1),
    ((3, 4, 9, 10), (6, 2, 3, 2), (2, 1), (1, 2), (1, 2), 2),
    ((3, 4, 9, 10), (4, 1, 3, 3), (1, 1), (1, 1), (1, 1), 4),
    ((3, 4, 9, 10), (8, 1, 3, 3), (2, 2), (0, 1), (1, 1), 4),
    ((2, 2, 6, 7), (3, 2, 2, 3), (1, 1), (3, 4), (1, 1), 1),
    ((2, 8, 6, 7), (2, 8, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 2, 6, 7), (12, 2, 3, 3), (1, 1), (1, 1), (1, 1), 1),
    ((2, 2, 5, 6, 7), (4, 2, 3, 3, 3), (1, 1, 1), (1, 1, 1), (1, 1, 1), 1),
    ((2, 4, 5, 6, 7), (4, 2, 2, 3, 1), (2, 1, 3), (1, 0, 0), (1, 2, 1), 2),
    ((0, 2, 6, 7), (3, 2, 3, 3), (1, 1), (1, 1), (1, 1), 1),
]


@pytest.fixture(autouse=True, params=[few_columns.FEW_COLUMN_ELEMENTS, 0], ids=["few", "pieces"])
def both_ways(request, monkeypatch):
    """Few elements have a way of their own; the cases here are small, and shall test both."""
    monkeypatch.setattr(few_columns, "FEW_COLUMN_ELEMENTS", request.param)


TOLERANCE = {"float16": 2e-2, "float32": 2e-5, "float64": 1e-12, "complex128": 1e-12}


def sample(generator, shape, dtype):
    values = generator.standard_normal(shape)
    if dtype.startswith("complex"):
        values = values + 1j * generator.standard_normal(shape)
    return values.astype(dtype)


def close(ours, reference, dtype):
    reference = reference.detach().resolve_conj().numpy()
    assert ours.dtype == reference.dtype and ours.shape == reference.shape
    limit = TOLERANCE[dtype] * max(np.abs(reference).max(initial=0), 1)
    assert np.abs(ours.astype(np.complex128) - reference.astype(np.complex128)).max(initial=0) <= limit


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", list(TOLERANCE))
@pytest.mark.parametrize("column_bytes", [1 << 20, 512])
def test_all_three_maps_match_torch(case, dtype, column_bytes, monkeypatch):
    for module in (columns, kernels):
        monkeypatch.setattr(module, "COLUMN_BYTES", column_bytes)
    monkeypatch.setattr(columns, "WOKEN_PRODUCTS", 0)
    monkeypatch.setattr(columns, "UNPACKED_PRODUCT", 4000 if column_bytes == 512 else 1_000_000)
    monkeypatch.setattr(kernels, "BAND_BYTES", column_bytes)
    x_shape, w_shape, stride, padding, dilation, groups = case
    generator = np.random.default_rng(0)
    x, w = sample(generator, x_shape, dtype), sample(generator, w_shape, dtype)
    bias = sample(generator, w_shape[:1], dtype)
    parameters = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    function = getattr(torch.nn.functional, f"conv{len(stride)}d")
    tx, tw, tb = (torch.from_numpy(a).requires_grad_() for a in (x, w, bias))
    expected = function(tx, tw, tb, **parameters)
    close(kernels.convolution(x, w, bias=bias, **parameters), expected, dtype)
    g = sample(generator, tuple(expected.shape), dtype)
    gx, gw = torch.autograd.grad(expected, (tx, tw), torch.from_numpy(g))
    close(kernels.convolution_input(g, w.conj(), spatial=x_shape[2:], **parameters), gx, dtype)
    close(kernels.convolution_weight(g, x.conj(), kernel=w_shape[2:], **parameters), gw, dtype)


@pytest.mark.parametrize("case", [case for case in CASES[:-1] if case[-1] == 1], ids=str)
@pytest.mark.parametrize("biased", [False, True])
@pytest.mark.parametrize("column_bytes", [1 << 20, 512])
def test_columns_kept_for_the_gradient(case, biased, column_bytes, monkeypatch):
    for module in (columns, kernels):
        monkeypatch.setattr(module, "COLUMN_BYTES", column_bytes)
    x_shape, w_shape, stride, padding, dilation, groups = case
    geometry = {"stride": stride, "padding": padding, "dilation": dilation}
    generator = np.random.default_rng(0)
    x, w = (generator.standard_normal(shape) for shape in (x_shape, w_shape))
    bias = generator.standard_normal(w_shape[:1]) if biased else None
    out, kept = kernels.convolution_keeping(x, w, bias, **geometry)
    np.testing.assert_allclose(out, kernels.convolution(x, w, bias=bias, **geometry), atol=1e-12)
    g = generator.standard_normal(out.shape)
    for_weight, for_bias = kernels.gradients_from_columns(g, kept, w_shape, x_shape, biased=biased, **geometry)
    np.testing.assert_allclose(for_weight, kernels.convolution_weight(g, x, kernel=w_shape[2:], **geometry), atol=1e-11)
    assert (for_bias is None) is not biased
    if biased:
        np.testing.assert_allclose(for_bias, g.sum(axis=(0, *range(2, g.ndim))), atol=1e-11)


def test_what_is_worth_keeping():
    geometry = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1)}
    single = np.dtype(np.float32)
    assert kernels.worth_keeping((16, 16, 16, 16), (32, 16, 3, 3), single, groups=1, **geometry)
    assert not kernels.worth_keeping((16, 16, 16, 16), (32, 4, 3, 3), single, groups=4, **geometry)
    assert not kernels.worth_keeping((16, 16, 16, 16), (32, 16, 3, 3), np.dtype(np.complex64), groups=1, **geometry)
    assert not kernels.worth_keeping((64, 64, 56, 56), (64, 64, 3, 3), single, groups=1, **geometry)


def test_a_recorded_layer_of_any_order():
    import pullback

    generator = np.random.default_rng(2)
    arrays = [generator.standard_normal(shape) for shape in ((2, 3, 6, 5), (4, 3, 3, 3), (4,))]
    results = []
    for library in (torch, pullback):
        x, w, b = (library.tensor(a, requires_grad=True) for a in arrays)
        y = library.nn.functional.conv2d(x, w, b, padding=1).tanh()
        first = library.autograd.grad((y * y).sum(), (x, w, b), create_graph=True)
        second = library.autograd.grad(sum((g * g).sum() for g in first), (x, w, b))
        results.append([t.detach().numpy() for t in (*first, *second)])
    for theirs, ours in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES[:-1], ids=str)
def test_transposes_are_adjoint(case):
    x_shape, w_shape, stride, padding, dilation, groups = case
    generator = np.random.default_rng(1)
    parameters = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    x, w = generator.standard_normal(x_shape), generator.standard_normal(w_shape)
    y = kernels.convolution(x, w, **parameters)
    g = generator.standard_normal(y.shape)
    expected = np.vdot(g, y)
    assert np.vdot(kernels.convolution_input(g, w, spatial=x_shape[2:], **parameters), x) == pytest.approx(expected)
    assert np.vdot(kernels.convolution_weight(g, x, kernel=w_shape[2:], **parameters), w) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("stride", "padding", "output_padding", "dilation", "groups"),
    [case for case in itertools.product([1, 2, 3], [0, 1], [0, 1], [1, 2], [1, 2]) if case[2] < max(case[0], case[3])],
)
def test_transposed_convolution_matches_torch(stride, padding, output_padding, dilation, groups):
    generator = np.random.default_rng(2)
    x, w = generator.standard_normal((2, 4, 5, 6)), generator.standard_normal((4, 3, 3, 2))
    bias = generator.standard_normal(3 * groups)
    expected = torch.nn.functional.conv_transpose2d(
        *map(torch.from_numpy, (x, w, bias)), stride, padding, output_padding, groups, dilation
    )
    ours = pullback.nn.functional.conv_transpose2d(
        *map(pullback.from_numpy, (x, w, bias)), stride, padding, output_padding, groups, dilation
    )
    close(ours.numpy(), expected, "float64")


def test_output_padding_is_less_than_stride_or_dilation():
    for library in (torch, pullback):
        with pytest.raises(RuntimeError, match="output padding must be smaller than either stride or dilation"):
            library.nn.functional.conv_transpose2d(library.ones(1, 1, 4, 4), library.ones(1, 1, 3, 3), output_padding=1)


def test_large_input_uses_all_threads_and_matches():
    generator = np.random.default_rng(3)
    x = generator.standard_normal((9, 8, 20, 20)).astype("float32")
    w = generator.standard_normal((16, 8, 3, 3)).astype("float32")
    pairs = {"stride": (1, 1), "padding": (1, 1), "dilation": (1, 1)}
    expected = torch.nn.functional.conv2d(torch.from_numpy(x), torch.from_numpy(w), padding=1)
    close(kernels.convolution(x, w, **pairs), expected, "float32")
    swapped = np.asfortranarray(x)
    close(kernels.convolution(swapped, w, **pairs), expected, "float32")


@pytest.mark.parametrize(
    ("x", "w", "parameters"),
    [
        ((1, 3, 8, 8), (4, 2, 3, 3), {}),
        ((1, 3, 2, 8), (4, 3, 3, 3), {}),
        ((1, 4, 8, 8), (3, 2, 3, 3), {"groups": 2}),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"padding": -1}),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"stride": 0}),
        ((1, 3, 8, 8), (4, 3, 3, 3), {"groups": 0}),
    ],
)
def test_errors_have_torchs_phrase(x, w, parameters):
    with pytest.raises(RuntimeError) as theirs:
        torch.nn.functional.conv2d(torch.zeros(x), torch.zeros(w), **parameters)
    values = {"stride": 1, "padding": 0, "dilation": 1, **parameters}
    groups = values.pop("groups", 1)
    with pytest.raises(RuntimeError) as ours:
        kernels.check_convolution(x, w, groups=groups, **{name: (value,) * 2 for name, value in values.items()})
    assert str(ours.value)[:40] == str(theirs.value)[:40]


def test_transposed_convolution_errors_have_torchs_phrase():
    cases = [
        ((1, 3, 4, 4), (2, 3, 3, 3), {}),
        ((1, 2, 4, 4), (2, 3, 3, 3), {"output_padding": 2}),
        ((1, 2, 1, 1), (2, 3, 1, 1), {"padding": 1}),
    ]
    for x, w, parameters in cases:
        with pytest.raises(RuntimeError) as theirs:
            torch.nn.functional.conv_transpose2d(torch.zeros(x), torch.zeros(w), **parameters)
        with pytest.raises(RuntimeError) as ours:
            pullback.nn.functional.conv_transpose2d(pullback.zeros(x), pullback.zeros(w), **parameters)
        assert str(ours.value)[:30] == str(theirs.value)[:30]
