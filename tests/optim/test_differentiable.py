"""Steps recorded on the tape: derivatives of the trained parameters with respect to data and hyperparameters."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

CASES = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "maximize": True}),
    ("Adam", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.1, "amsgrad": True}),
    ("AdamW", {"lr": 0.1, "weight_decay": 0.2}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.7), "weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1, "initial_accumulator_value": 0.1, "weight_decay": 0.1}),
    ("Adadelta", {"lr": 0.5, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.1, "momentum": 0.5, "weight_decay": 0.1}),
    ("RMSprop", {"lr": 0.1, "centered": True, "maximize": True}),
    ("Rprop", {"lr": 0.1}),
    ("ASGD", {"lr": 0.1, "t0": 1, "weight_decay": 0.1}),
]
IDS = [f"{name}-{'-'.join(options)}" for name, options in CASES]


TORCH_CANNOT = {("Adam", "amsgrad"), ("Adamax", "lr"), ("RMSprop", "centered"), ("Rprop", "lr")}
"""Here torch overwrites values its own graph still needs."""


def derivative(library, name, options):
    """The derivative of a function of the parameters after four steps, with respect to the start and the data."""
    start = library.tensor([0.3, -0.8, 1.2], dtype=library.float64, requires_grad=True)
    data = library.tensor([0.7, 1.5, -0.4], dtype=library.float64, requires_grad=True)
    param = start.clone()
    optimizer = getattr(library.optim, name)([param], differentiable=True, **options)
    for step in range(4):
        param.grad = data * (step + 1) + 0.1
        optimizer.step()
    grads = library.autograd.grad((param**2).sum(), [start, data], allow_unused=True)
    return [np.zeros(3) if g is None else g.numpy() for g in grads]


def difference_quotients(name, options):
    """The same from differences of steps that are not recorded."""

    def outcome(start, data):
        param = pullback.tensor(start, requires_grad=True)
        optimizer = getattr(pullback.optim, name)([param], **options)
        for step in range(4):
            param.grad = pullback.tensor(data * (step + 1) + 0.1)
            optimizer.step()
        return (param.detach().numpy() ** 2).sum()

    start, data = np.array([0.3, -0.8, 1.2]), np.array([0.7, 1.5, -0.4])
    small = 1e-6 * np.eye(3)
    return [
        np.array([outcome(start + e, data) - outcome(start - e, data) for e in small]) / 2e-6,
        np.array([outcome(start, data + e) - outcome(start, data - e) for e in small]) / 2e-6,
    ]


@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_derivatives_through_steps(name, options):
    if any((name, option) in TORCH_CANNOT for option in options):
        expected = difference_quotients(name, options)
    else:
        expected = derivative(torch, name, options)
    for a, b in zip(derivative(pullback, name, options), expected):
        # Torch keeps bias corrections in single precision on this path.
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-7)


def hyper_gradient(library, name, options, hyper):
    start = library.tensor([0.3, -0.8, 1.2], dtype=library.float64, requires_grad=True)
    value = library.tensor(0.05, dtype=library.float64, requires_grad=True)
    param = start.clone()
    optimizer = getattr(library.optim, name)([param], differentiable=True, **{**options, hyper: value})
    for step in range(3):
        param.grad = library.tensor([0.7, 1.5, -0.4], dtype=library.float64) * (step + 1)
        optimizer.step()
    (param**2).sum().backward()
    return value.grad.item()


@pytest.mark.parametrize(
    ("name", "options", "hyper"),
    [
        ("SGD", {"momentum": 0.9}, "lr"),
        ("SGD", {"lr": 0.1}, "weight_decay"),
        ("Adam", {}, "lr"),
        ("RMSprop", {}, "lr"),
        ("AdamW", {"weight_decay": 0.1}, "lr"),
    ],
)
def test_derivatives_of_hyperparameters_follow_differences(name, options, hyper):
    got = hyper_gradient(pullback, name, options, hyper)

    def outcome(value):
        param = pullback.tensor([0.3, -0.8, 1.2], dtype=pullback.float64, requires_grad=True)
        optimizer = getattr(pullback.optim, name)([param], **{**options, hyper: value})
        for step in range(3):
            param.grad = pullback.tensor([0.7, 1.5, -0.4], dtype=pullback.float64) * (step + 1)
            optimizer.step()
        return (param**2).sum().item()

    numeric = (outcome(0.05 + 1e-6) - outcome(0.05 - 1e-6)) / 2e-6
    np.testing.assert_allclose(got, numeric, rtol=1e-5)


def test_leaves_cannot_be_updated_on_the_tape():
    for library in (pullback, torch):
        param = library.ones(2, requires_grad=True)
        optimizer = library.optim.SGD([param], lr=0.1, differentiable=True)
        param.grad = library.ones(2)
        with pytest.raises(RuntimeError, match="a leaf Variable that requires grad"):
            optimizer.step()


def test_complex_parameters_on_the_tape():
    results = []
    for library in (pullback, torch):
        start = library.tensor([0.3 + 1j, -0.8j], dtype=library.complex128, requires_grad=True)
        param = start.clone()
        optimizer = library.optim.Adam([param], lr=0.1, differentiable=True)
        for _ in range(3):
            param.grad = param * (0.5 + 0.1j)
            optimizer.step()
        param.abs().sum().backward()
        results.append((param.detach().numpy(), start.grad.numpy()))
    for a, b in zip(*results):
        np.testing.assert_allclose(a, b, rtol=1e-4)
