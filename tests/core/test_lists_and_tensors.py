"""What Python does with lists and torch leaves to it: extending, repeating; and arrays in matrix products."""

import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")


def test_a_list_takes_the_rows_of_a_tensor():
    for t in (torch, pullback):
        outputs, seen = [], [0.5]
        outputs += t.ones(2, 3)
        seen += t.tensor([1.0, 2.0])
        assert [row.tolist() for row in outputs] == [[1.0] * 3] * 2 and [float(value) for value in seen] == [
            0.5,
            1.0,
            2.0,
        ]
        with pytest.raises(TypeError):
            t.ones(2) + [1.0, 2.0]


def test_a_list_times_a_length_is_a_longer_list():
    for t in (torch, pullback):
        assert [0] * t.tensor(3) == [0, 0, 0] and t.tensor([2]) * [1, 2] == [1, 2, 1, 2]
        assert (1.5,) * t.tensor(2) == (1.5, 1.5) and [[]] * t.tensor(0) == []
    assert ([1.0, 2.0] * pullback.tensor([3, 4])).tolist() == [3.0, 8.0]


def test_products_with_arrays_of_another_dtype():
    product = pullback.ones(2, 2) @ np.array([1.0, 2.0])
    assert product.dtype is pullback.float64 and product.tolist() == [3.0, 3.0]


@pytest.mark.parametrize("kind", ["double", "long", "half"])
def test_a_layer_says_which_dtypes_do_not_fit(kind):
    messages = []
    for t in (torch, pullback):
        with pytest.raises(RuntimeError) as caught:
            t.nn.Linear(2, 2)(getattr(t.ones(1, 2), kind)())
        messages.append(str(caught.value))
    assert messages[1].startswith(messages[0])


@pytest.mark.parametrize("make", ["tensor", "as_tensor", "FloatTensor"])
def test_numbers_made_of_tensors_with_a_history_say_that_it_is_lost(make):
    x = pullback.tensor(2.0, requires_grad=True)
    for data in ([x, x], [1.0, x * 2], ([x], [1]), [[0.0, 1.0], pullback.stack([x, x])]):
        with pytest.warns(UserWarning, match="Converting a tensor with requires_grad=True") as seen:
            assert not getattr(pullback, make)(data).requires_grad
        assert "torch.stack(tensors)" in str(seen[0].message) and seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pullback.tensor([x.detach(), x.detach()])
    with pytest.raises(ValueError, match=r"only one element tensors .* torch.stack\(tensors\)"):
        pullback.tensor([pullback.ones(2), pullback.ones(2)])
