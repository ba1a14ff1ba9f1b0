"""`kernels/like.py`: new arrays, copies and running results where the array is that they are like."""

import numpy as np
import pytest

from pullback.kernels import like
from tests.core.another_library import Elsewhere

ARRAY = np.arange(6.0).reshape(2, 3)
MAKERS = {
    "zeros": lambda x: like.zeros((2, 1), x),
    "zeros without dims": lambda x: like.zeros((), x),
    "zeros of another dtype": lambda x: like.zeros((3,), x, np.bool_),
    "full": lambda x: like.full((2,), 7, x),
    "full of another dtype": lambda x: like.full((), True, x, np.bool_),
    "copy": like.copy,
    "brought": lambda x: like.brought((np.arange(3), 2, slice(1)), x)[0],
}


@pytest.mark.parametrize("name", MAKERS)
def test_new_arrays_are_where_the_other_is(name):
    expected, got = MAKERS[name](ARRAY), MAKERS[name](Elsewhere(ARRAY.copy()))
    assert type(expected) is np.ndarray and type(got) is Elsewhere
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got.there, expected)


def test_empty():
    for array in (ARRAY, Elsewhere(ARRAY)):
        made = like.empty((2, 0), array, np.int8)
        assert type(made) is type(array) and made.shape == (2, 0) and made.dtype == np.int8


def test_together():
    first, second = like.together(ARRAY, 2)
    assert first is ARRAY and second == 2
    index, array = np.arange(2), Elsewhere(ARRAY)
    first, second, third = like.together(index, array, None)
    assert type(first) is Elsewhere and second is array and third is None


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("ufunc", [np.add, np.multiply, np.maximum, np.minimum, np.logaddexp], ids=lambda u: u.__name__)
@pytest.mark.parametrize(
    ("shape", "axis"), [((7,), 0), ((4, 3), 0), ((2, 8, 3), 1), ((3, 1), 1), ((2, 0), 1), ((5, 9), 1)]
)
def test_running_results(ufunc, shape, axis):
    x = np.random.default_rng(0).standard_normal(shape)
    if x.size > 6:
        x.reshape(-1)[5] = np.nan
    got = like.running(ufunc, Elsewhere(x.copy()), axis)
    np.testing.assert_allclose(got.there, ufunc.accumulate(x, axis=axis), rtol=1e-14)
    np.testing.assert_array_equal(like.running(ufunc, x, axis), ufunc.accumulate(x, axis=axis))
