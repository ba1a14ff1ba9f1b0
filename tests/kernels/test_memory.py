"""How much memory forward and backward take beside their operands: at most one tenth more than torch's kernels do."""

import tracemalloc

import pytest

import pullback

ROWS, COLUMNS = 2048, 256
SIZE = ROWS * COLUMNS * 4


def arrays_at_most(function, *inputs):
    """The most memory that forward and backward hold at once, in sizes of an input; the result's own gradient is not counted."""
    out = function(*(x[:2] for x in inputs))
    out.backward(pullback.ones_like(out))
    for x in inputs:
        x.grad = None
    cotangent = pullback.ones_like(function(*inputs)).clone()
    tracemalloc.start()
    try:
        function(*inputs).backward(cotangent)
        return tracemalloc.get_traced_memory()[1] / SIZE
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_batch_norm_of_a_matrix_makes_its_result_and_its_gradient_only(training, affine):
    layer = pullback.nn.BatchNorm1d(COLUMNS, affine=affine).train(training)
    assert arrays_at_most(layer, pullback.randn(ROWS, COLUMNS, requires_grad=True)) < 2.4


@pytest.mark.parametrize("rows", [2, 255, 256, 257, 1000])
def test_blocks_of_rows_change_no_gradient(rows):
    results = []
    for dtype in (pullback.float32, pullback.float64):
        pullback.manual_seed(0)
        x = pullback.randn(rows, COLUMNS).to(dtype).requires_grad_()
        layer = pullback.nn.BatchNorm1d(COLUMNS).to(dtype)
        (layer(x) * pullback.randn(rows, COLUMNS).to(dtype)).sum().backward()
        results.append([each.grad.double() for each in (x, layer.weight, layer.bias)])
    for narrow, wide in zip(*results, strict=True):
        assert (narrow - wide).abs().max() <= 1e-4 * wide.abs().max()
