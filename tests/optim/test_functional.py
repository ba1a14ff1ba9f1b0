"""Optimizers as functions of lists of tensors, and swapping an optimizer's tensors, against torch."""

from __future__ import annotations

import importlib
import inspect

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

ADAM = ["exp_avgs", "exp_avg_sqs", "max_exp_avg_sqs"]
BETAS = {"beta1": 0.8, "beta2": 0.95}
DECAY = {"lr": 0.05, "weight_decay": 0.1}
# name, state lists in order (entries ending in ! are scalars that begin at 1; at 0 otherwise), options
ROWS = [
    ("adam", ADAM, {**DECAY, **BETAS, "eps": 1e-6, "amsgrad": False, "maximize": False}),
    ("adam", ADAM, {**DECAY, **BETAS, "eps": 1e-6, "amsgrad": True, "maximize": True}),
    ("adam", ADAM,
     {**DECAY, **BETAS, "eps": 1e-6, "amsgrad": False, "maximize": False, "decoupled_weight_decay": True}),
    ("adamw", ADAM, {**DECAY, **BETAS, "eps": 1e-6, "amsgrad": True, "maximize": False}),
    ("adagrad", ["state_sums"], {**DECAY, "lr_decay": 0.1, "eps": 1e-6, "maximize": False}),
    ("adadelta", ["square_avgs", "acc_deltas"], {**DECAY, "rho": 0.9, "eps": 1e-6, "maximize": True}),
    ("adamax", ["exp_avgs", "exp_infs"], {**DECAY, **BETAS, "eps": 1e-6}),
    ("asgd", ["axs", "mus!", "etas!"], {**DECAY, "lambd": 1e-3, "t0": 1.0, "alpha": 0.75}),
    ("nadam", ["exp_avgs", "exp_avg_sqs", "mu_products!"], {**DECAY, **BETAS, "eps": 1e-6, "momentum_decay": 4e-3}),
    ("radam", ["exp_avgs", "exp_avg_sqs"], {**DECAY, **BETAS, "eps": 1e-6}),
    ("rmsprop", ["square_avgs", "grad_avgs", "momentum_buffer_list"],
     {**DECAY, "alpha": 0.9, "eps": 1e-6, "momentum": 0.5, "centered": True}),
    ("rmsprop", ["square_avgs", "grad_avgs", "momentum_buffer_list"],
     {**DECAY, "alpha": 0.9, "eps": 1e-6, "momentum": 0.0, "centered": False}),
    ("rprop", ["prevs", "step_sizes"], {"step_size_min": 1e-4, "step_size_max": 10.0, "etaminus": 0.5, "etaplus": 1.2}),
]  # fmt: skip
SHAPES = [(3, 2), (4,), ()]


def function(library: object, name: str) -> object:
    return getattr(importlib.import_module(f"{library.__name__}.optim.{name}"), name)


def run(library: object, name: str, lists: list[str], options: dict, **switches: object) -> list[np.ndarray]:
    """All tensors after three steps."""
    generator = np.random.default_rng(7)
    params = [library.tensor(generator.standard_normal(shape)) for shape in SHAPES]
    state = []
    for entry in lists:
        scalar = entry.endswith("!")
        start = 0.05 if entry in ("step_sizes", "etas!") else float(scalar)
        state.append([library.full(() if scalar else shape, start, dtype=library.float64) for shape in SHAPES])
    steps = [library.tensor(0.0) for _ in SHAPES]
    for _ in range(3):
        grads = [library.tensor(generator.standard_normal(shape)) for shape in SHAPES]
        function(library, name)(params, grads, *state, steps, **options, **switches)
    used = [tensors for entry, tensors in zip(lists, state) if entry != "max_exp_avg_sqs" or options["amsgrad"]]
    return [tensor.detach().numpy() for tensors in (params, *used, steps) for tensor in tensors]


@pytest.mark.parametrize("switches", [{}, {"foreach": True}, {"differentiable": True}], ids=str)
@pytest.mark.parametrize("name, lists, options", ROWS, ids=[f"{row[0]}{i}" for i, row in enumerate(ROWS)])
def test_three_steps(name: str, lists: list[str], options: dict, switches: dict) -> None:
    expected = run(torch, name, lists, options)
    for mine, theirs in zip(run(pullback, name, lists, options, **switches), expected, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", sorted({row[0] for row in ROWS} | {"sgd"}))
def test_signatures(name: str) -> None:
    mine, theirs = (inspect.signature(function(library, name)).parameters for library in (pullback, torch))
    assert list(mine) == list(theirs)
    assert [p.default for p in mine.values()] == [p.default for p in theirs.values()]
    assert [p.kind for p in mine.values()] == [p.kind for p in theirs.values()]
    assert getattr(pullback.optim._functional, name) is function(pullback, name)


@pytest.mark.parametrize("nesterov", [False, True])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_sgd(momentum: float, nesterov: bool) -> None:
    found = []
    for library in (torch, pullback):
        params = [library.ones(3, dtype=library.float64), library.zeros(2, 2, dtype=library.float64)]
        buffers = [None, None]
        for step in range(3):
            grads = [library.full_like(param, step + 1.0) for param in params]
            function(library, "sgd")(
                params, grads, buffers, weight_decay=0.1, momentum=momentum, lr=0.1, dampening=0.0,
                nesterov=nesterov and momentum > 0, maximize=False,
            )  # fmt: skip
        found.append([*params, *(buffer for buffer in buffers if buffer is not None)])
    assert len(found[0]) == len(found[1])
    for theirs, mine in zip(*found):
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-12)


def adam_arguments(library: object) -> tuple[list, dict]:
    state = [[library.zeros(2)], [library.zeros(2)], []]
    options = {
        "amsgrad": False,
        "beta1": 0.9,
        "beta2": 0.99,
        "lr": 0.1,
        "weight_decay": 0.0,
        "eps": 1e-8,
        "maximize": False,
    }
    return [[library.ones(2)], [library.ones(2)], *state, [library.tensor(0.0)]], options


def test_scaler_arguments() -> None:
    """What a gradient scaler gives to a fused step."""
    found = []
    for library in (torch, pullback):
        for scale, overflow in ((4.0, 0.0), (4.0, 1.0)):
            lists, options = adam_arguments(library)
            function(library, "adam")(
                *lists, fused=True, grad_scale=library.tensor(scale), found_inf=library.tensor(overflow), **options
            )
            found.append([tensors[0].numpy() for tensors in lists if tensors])
    for theirs, mine in zip(found[:2], found[2:]):
        for a, b in zip(theirs, mine):
            np.testing.assert_allclose(b, a, rtol=1e-6)


@pytest.mark.parametrize(
    "change", ["number as step", "tensor lr with foreach", "capturable", "gradient of another shape"]
)
def test_refused(change: str) -> None:
    errors = []
    for library in (torch, pullback):
        lists, options = adam_arguments(library)
        switches: dict = {}
        if change == "number as step":
            lists[5] = [1]
        elif change == "tensor lr with foreach":
            options["lr"], switches["foreach"] = library.tensor(0.1), True
        elif change == "capturable":
            switches["capturable"] = True
        else:
            lists[1] = [library.ones(3)]
        with pytest.raises((RuntimeError, AssertionError)) as caught:
            function(library, "adam")(*lists, **switches, **options)
        errors.append(caught.value)
        assert lists[0][0].tolist() == [1.0, 1.0]
    assert type(errors[0]) is type(errors[1]) or change == "gradient of another shape"
    if change != "capturable":
        assert str(errors[0]).split(". ")[0] in str(errors[1])


# --- swapping ---


def swapping(library: object) -> tuple:
    params = [library.nn.Parameter(library.full((2,), i + 1.0)) for i in range(2)]
    optimizer = library.optim.Adam(params, lr=0.1)
    for param in params:
        param.grad = library.ones(2)
    optimizer.step()
    return optimizer, params, {"a": library.zeros(2), "b": library.zeros(2)}


def test_swap_in() -> None:
    found = []
    for library in (torch, pullback):
        optimizer, params, others = swapping(library)
        given = optimizer.state_dict()
        with library.optim.swap_in_optimizer_params_and_state(optimizer, others, given):
            for other in others.values():
                other.grad = library.ones(2)
            optimizer.param_groups[0]["lr"] = 5.0
            optimizer.step()
        assert optimizer.param_groups[0]["lr"] == 0.1 and optimizer.param_groups[0]["params"][0] is params[0]
        found.append([*others.values(), *params, given["state"][0]["step"], optimizer.state[params[1]]["exp_avg"]])
    for theirs, mine in zip(*found):
        np.testing.assert_allclose(mine.detach().numpy(), theirs.detach().numpy(), rtol=1e-6)


def too_few(optimizer: object, others: dict, state: dict) -> None:
    others.pop("b")


def one_more_state(optimizer: object, others: dict, state: dict) -> None:
    state["state"][7] = {}


def no_groups(optimizer: object, others: dict, state: dict) -> None:
    del state["param_groups"]


def no_state(optimizer: object, others: dict, state: dict) -> None:
    del state["state"]


def another_group(optimizer: object, others: dict, state: dict) -> None:
    state["param_groups"] = state["param_groups"] * 2


def fewer_numbers(optimizer: object, others: dict, state: dict) -> None:
    state["param_groups"][0]["params"] = [0]


def never_stepped(optimizer: object, others: dict, state: dict) -> None:
    optimizer.state.clear()


@pytest.mark.parametrize(
    "damage", [too_few, one_more_state, no_groups, no_state, another_group, fewer_numbers, never_stepped]
)
def test_swap_in_refuses(damage: object) -> None:
    texts = []
    for library in (torch, pullback):
        optimizer, params, others = swapping(library)
        state = optimizer.state_dict()
        damage(optimizer, others, state)
        with pytest.raises(RuntimeError) as caught:
            with library.optim.swap_in_optimizer_params_and_state(optimizer, others, state):
                pass
        texts.append(str(caught.value))
        assert optimizer.param_groups[0]["params"][0] is params[0]
    assert texts[0].rstrip(".") in texts[1]
