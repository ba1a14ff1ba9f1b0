"""Elementwise functions in blocks give what they give at once, however operands broadcast and lie in memory."""

import numpy as np
import pytest

from pullback.kernels import half, large, rectifier

SHAPES = [
    ((40, 30), (40, 30)), ((40, 30), (30,)), ((40, 30), (1, 30)), ((40, 30), (40, 1)), ((4, 10, 30), (30,)),
    ((4, 10, 30), (10, 30)), ((4, 10, 30), (1, 10, 1)), ((4, 10, 30), (4, 1, 30)), ((4, 10, 30), ()), ((1200,), (1,)),
    ((2, 3, 10, 20), (1, 1, 10, 20)), ((1, 1200), (1, 1200)), ((1200,), (1200,)),
]  # fmt: skip


@pytest.fixture(params=[1, 2, 3], autouse=True)
def thread_count(request, monkeypatch, set_threads):
    monkeypatch.setattr(large, "SMALL_UFUNC_BYTES", 0)
    set_threads(request.param)
    return request.param


def several_steps(x, y):
    return np.exp(-x * x) * y


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("function", [np.add, np.less, several_steps], ids=["add", "less", "several_steps"])
@pytest.mark.parametrize("layout", ["rows", "columns", "gaps"])
def test_blocks_give_what_the_whole_gives(shapes, function, layout):
    generator = np.random.default_rng(0)
    x, y = (np.asarray(generator.standard_normal(shape), np.float32) for shape in shapes)
    if layout == "columns":
        x = np.asfortranarray(x)
    elif layout == "gaps":
        x = np.repeat(x, 2, axis=-1)[..., ::2]
    for operands in ((x, y), (y, x)):
        ours, expected = large.by_blocks(function, *operands), function(*operands)
        assert ours.dtype == expected.dtype and ours.shape == expected.shape
        np.testing.assert_array_equal(ours, expected)


def test_a_result_may_be_written_over_an_operand():
    x, y = np.arange(1200, dtype=np.float32).reshape(40, 30), np.ones(30, np.float32)
    expected = x * x + y
    assert large.by_blocks(lambda a, b: a * a + b, x, y, into=x) is x
    np.testing.assert_array_equal(x, expected)


def test_each_element_is_computed_once():
    seen = []
    x = np.zeros((4, 100, 50), np.float32)
    large.by_blocks(lambda a, b: (seen.append(a.size), a + b)[1], x, np.ones(50, np.float32))
    assert sum(seen) == x.size


def test_half_precision_is_converted_as_numpy_does():
    every = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    np.testing.assert_array_equal(half.widened(every), every.astype(np.float32))
    # Numbers in the middle of two, next to it, and anywhere.
    bits = every.astype(np.float32).view(np.uint32)[:, None] + np.array([0, 1, 0xFFF, 0x1000, 0x1001], np.uint32)
    anywhere = np.random.default_rng(0).integers(0, 1 << 32, 1 << 18, dtype=np.uint32)
    for wide in (bits.reshape(-1).view(np.float32), anywhere.view(np.float32)):
        with np.errstate(all="ignore"):
            expected = wide.astype(np.float16)
        np.testing.assert_array_equal(half.narrowed(wide), expected)
        signed = ~np.isnan(expected)
        assert np.array_equal(np.signbit(half.narrowed(wide))[signed], np.signbit(expected)[signed])
    many = np.linspace(-7e4, 7e4, 200_001).astype(np.float32)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(half.converted(many), many.astype(np.float16))
    np.testing.assert_array_equal(half.converted(half.converted(many)), half.widened(half.narrowed(many)))


def test_half_precision_is_rounded_once_in_blocks():
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(200_000).astype(np.float16) for _ in range(2))
    for function in (np.add, np.multiply, lambda a, b: a * b + a, lambda a, b: np.tanh(a) - b):
        expected = function(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
        np.testing.assert_array_equal(large.by_blocks(function, a, b), expected)
    assert large.by_blocks(lambda a, b: a > b, a, b).dtype == bool


def test_rectified_half_precision():
    every = np.tile(np.arange(1 << 16, dtype=np.uint16).view(np.float16), 2)
    out = rectifier.rectified(every)
    np.testing.assert_array_equal(out, np.maximum(every, np.float16(0)))
    gradient = np.full(every.shape, 3, np.float16)
    np.testing.assert_array_equal(rectifier.rectified_backward(gradient, out), np.where(out <= 0, 0, gradient))
