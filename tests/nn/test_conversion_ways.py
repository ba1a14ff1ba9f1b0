"""`torch.__future__`: conversions that replace parameters, or swap their contents, instead of giving them new data."""

from __future__ import annotations

import pytest

import pullback

torch = pytest.importorskip("torch")


def conversion(module, way):
    """What becomes of a parameter, of a tied one and of the gradient when a model is cast."""
    flag = getattr(module.__future__, f"set_{way}_module_params_on_conversion", None)
    model = module.nn.Sequential(module.nn.Linear(2, 2), module.nn.Linear(2, 2))
    model[1].weight = model[0].weight
    model(module.ones(1, 2)).sum().backward()
    before, gradient = model[0].weight, model[0].weight.grad
    before.note = 1
    if flag is not None:
        flag(True)
    try:
        model.double()
    finally:
        if flag is not None:
            flag(False)
    after = model[0].weight
    return (
        after is before, after is model[1].weight, str(before.dtype), str(after.dtype), str(after.grad.dtype),
        after.grad is gradient, hasattr(after, "note"), type(after).__name__, after.requires_grad,
    )  # fmt: skip


@pytest.mark.parametrize("way", ["no", "overwrite", "swap"])
def test_a_model_is_cast_as_in_torch(way):
    ours, theirs = conversion(pullback, way), conversion(torch, way)
    assert ours[:5] == theirs[:5] and ours[7:] == theirs[7:]


def test_swapped_tensors_exchange_all_but_their_identity():
    for module in (pullback, torch):
        a, b = module.nn.Parameter(module.ones(2)), module.zeros(3, dtype=module.float64)
        a.note, holder = "a", [a]
        module.utils.swap_tensors(a, b)
        assert type(b) is module.nn.Parameter and type(a) is module.Tensor and b.note == "a" and not hasattr(a, "note")
        assert holder[0] is a and a.shape == (3,) and b.requires_grad and a.dtype is module.float64
        b.sum().backward()
        assert b.grad.tolist() == [1, 1]


def test_no_gradient_goes_to_the_wrong_one_of_two_swapped_tensors():
    for module in (pullback, torch):
        a, b = module.ones(2, requires_grad=True), module.zeros(2, requires_grad=True)
        result = (a * 2).sum()
        with pytest.raises(RuntimeError):  # by the swap here, by the pass in torch
            module.utils.swap_tensors(a, b)
            result.backward()
        assert a.grad is None and b.grad is None


def test_the_number_of_what_a_tensor_has_goes_with_a_swap():
    first, second = pullback.ones(2), pullback.zeros(3)
    numbers = first._cdata, second._cdata
    first.data = pullback.ones(4)
    assert first._cdata == numbers[0] != numbers[1]
    pullback.utils.swap_tensors(first, second)
    assert (second._cdata, first._cdata) == numbers
