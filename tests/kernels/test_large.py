"""Elementwise functions in blocks give what they give at once, however operands broadcast and lie in memory."""

import numpy as np
import pytest

from pullback.kernels import large

SHAPES = [
    ((40, 30), (40, 30)), ((40, 30), (30,)), ((40, 30), (1, 30)), ((40, 30), (40, 1)), ((4, 10, 30), (30,)),
    ((4, 10, 30), (10, 30)), ((4, 10, 30), (1, 10, 1)), ((4, 10, 30), (4, 1, 30)), ((4, 10, 30), ()), ((1200,), (1,)),
    ((2, 3, 10, 20), (1, 1, 10, 20)), ((1, 1200), (1, 1200)), ((1200,), (1200,)),
]  # fmt: skip


@pytest.fixture(params=[1, 2, 3], autouse=True)
def thread_count(request, monkeypatch, set_threads):
    monkeypatch.setattr(large, "SMALL_BYTES", 0)
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
