"""Every function of the table against torch: value, dtype, gradients and gradients of gradients, in float64."""

from __future__ import annotations

import warnings
import zlib

import numpy as np
import pytest
from nn_functional.functional_cases import ALL, ONCE_ONLY, Index, Plain, Positive, Signs, Unit, Weights

import pullback

torch = pytest.importorskip("torch")


def drawn(operand, rng, dtype):
    """(array or value, whether a gradient is asked for)."""
    if isinstance(operand, Plain):
        return operand.value, False
    if isinstance(operand, Index):
        return rng.integers(0, operand.below, operand.shape), False
    if isinstance(operand, Positive):
        return (np.abs(rng.standard_normal(operand.shape)) + 0.1).astype(dtype), True
    if isinstance(operand, Unit):
        return rng.uniform(0.05, 0.95, operand.shape).astype(dtype), True
    if isinstance(operand, Signs):
        return rng.choice([-1.0, 1.0], operand.shape).astype(dtype), False
    if isinstance(operand, Weights):
        return rng.uniform(0.5, 2, operand.shape).astype(dtype), False
    return rng.standard_normal(operand).astype(dtype), True


def operands_of(case, dtype=np.float64):
    rng = np.random.default_rng(zlib.crc32(repr(case).encode()))
    return [drawn(operand, rng, dtype) for operand in case[1]]


def run(module, case, order, dtype=np.float64, strided=False):
    arguments, leaves = [], []
    for value, wants in operands_of(case, dtype):
        if isinstance(value, np.ndarray):
            value = module.tensor(value)
            if wants:
                value.requires_grad_(True)
                leaves.append(value)
                if strided and value.ndim > 1:
                    value = value.transpose(0, -1).clone().transpose(0, -1)
        arguments.append(value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = getattr(module.nn.functional, case[0])(*arguments, **case[2])
    results = [out]
    cotangent = module.tensor(np.cos(np.arange(out.numel(), dtype=dtype)).reshape(tuple(out.shape)))
    cotangent.requires_grad_(order > 1)
    if order:
        first = module.autograd.grad((out * cotangent).sum(), leaves, create_graph=order > 1, allow_unused=True)
        results += list(first)
    if order > 1:
        total = sum((g * g).sum() for g in first if g is not None)
        results += list(module.autograd.grad(total, [*leaves, cotangent], allow_unused=True))
    return results


def compare(ours, theirs, tolerance):
    assert len(ours) == len(theirs)
    for number, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        if a is None or b is None:
            present = a if b is None else b
            assert present is None or not np.any((present.detach() + 0).numpy()), f"result {number}: only one is None"
            continue
        assert tuple(a.shape) == tuple(b.shape)
        assert str(a.dtype) == str(b.dtype)
        have, want = a.detach().numpy(), (b.detach() + 0).numpy()
        np.testing.assert_allclose(have, want, rtol=tolerance, atol=tolerance, err_msg=f"result {number}")


def label(case):
    return f"{case[0]}-{'-'.join(f'{k}={v}' for k, v in case[2].items())}-{len(case[1])}"


@pytest.mark.parametrize("case", ALL, ids=label)
def test_value_and_gradients(case):
    order = 1 if case[0] in ONCE_ONLY else 2
    compare(run(pullback, case, order), run(torch, case, order), 1e-7)


@pytest.mark.parametrize("case", [case for case in ALL if case[0] in ONCE_ONLY - {"grid_sample"}], ids=label)
def test_second_derivatives_torch_lacks(case):
    values = operands_of(case)
    leaves = [pullback.tensor(value, requires_grad=True) for value, wants in values if wants]

    def function(*tensors):
        rest = iter(tensors)
        arguments = [
            next(rest) if wants else pullback.tensor(v) if isinstance(v, np.ndarray) else v for v, wants in values
        ]
        return getattr(pullback.nn.functional, case[0])(*arguments, **case[2])

    assert pullback.autograd.gradgradcheck(function, leaves, atol=1e-4)


@pytest.mark.parametrize("case", ALL, ids=label)
def test_float32_of_strided_operands(case):
    compare(run(pullback, case, 1, np.float32, strided=True), run(torch, case, 1, np.float32, strided=True), 2e-4)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "huber_loss"])
def test_losses_with_a_weight_for_each_element(name, reduction):
    def losses(lib):
        x, y, weight = (
            lib.tensor(part, requires_grad=True) for part in np.random.default_rng(0).uniform(1, 3, (3, 2, 4))
        )
        loss = getattr(lib.nn.functional, name)(x, y, reduction=reduction, weight=weight)
        loss.sum().backward()
        return [loss, x.grad, y.grad, weight.grad]

    for ours, theirs in zip(losses(pullback), losses(torch), strict=True):
        np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-9)
