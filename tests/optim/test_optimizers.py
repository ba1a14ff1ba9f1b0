"""Every optimizer against torch: one table of options, several kinds of parameters, both precisions."""

from __future__ import annotations

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

CASES = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    ("SGD", {"lr": 0.1, "weight_decay": 0.2, "maximize": True, "foreach": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "fused": True}),
    ("Adam", {"lr": 0.1}),
    ("Adam", {"lr": 0.1, "betas": (0.3, 0.5), "eps": 1e-3}),
    ("Adam", {"lr": 0.1, "amsgrad": True, "weight_decay": 0.3}),
    ("Adam", {"lr": 0.1, "maximize": True, "weight_decay": 0.3, "decoupled_weight_decay": True}),
    ("Adam", {"lr": 0.1, "maximize": True, "amsgrad": True}),
    ("Adam", {"lr": 0.1, "betas": (0.0, 0.0)}),
    ("Adam", {"lr": 0.1, "fused": True}),
    ("AdamW", {"lr": 0.1}),
    ("AdamW", {"lr": 0.1, "amsgrad": True, "maximize": True, "foreach": True}),
    ("NAdam", {"lr": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.3, "momentum_decay": 0.1}),
    ("NAdam", {"lr": 0.1, "weight_decay": 0.3, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {"lr": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.7), "weight_decay": 0.1}),
    ("RAdam", {"lr": 0.1, "betas": (0.9, 0.7), "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Adamax", {"lr": 0.1}),
    ("Adamax", {"lr": 0.1, "weight_decay": 0.2, "maximize": True}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1, "initial_accumulator_value": 0.5, "maximize": True}),
    ("Adadelta", {}),
    ("Adadelta", {"lr": 0.5, "rho": 0.7, "weight_decay": 0.1, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True, "weight_decay": 0.1}),
    ("RMSprop", {"momentum": 0.9, "alpha": 0.3, "maximize": True}),
    ("RMSprop", {"centered": True, "alpha": 0.4}),
    ("Rprop", {}),
    ("Rprop", {"lr": 0.2, "etas": (0.4, 1.5), "step_sizes": (0.01, 0.3), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"lr": 0.1, "t0": 2, "weight_decay": 0.1, "lambd": 0.1, "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.3, "d": 1.5, "weight_decay": 0.1, "eps": (1e-6, 1e-2), "maximize": True}),
]
IDS = [f"{name}-{'-'.join(options) or 'default'}" for name, options in CASES]
TOLERANCE = {"float32": 2e-6, "float64": 1e-12, "complex64": 4e-6, "complex128": 1e-12}


def starts(dtype: str, kind: str) -> list[np.ndarray]:
    """Parameters of one kind: several small shapes, a large one that is cut into blocks, or transposed memory."""
    random = np.random.RandomState(3)
    shapes = {"small": [(3, 4), (5,), (), (2, 0)], "large": [(200, 170)], "strided": [(4, 6)]}[kind]
    arrays = [np.asarray(random.randn(*shape)) for shape in shapes]
    if np.dtype(dtype).kind == "c":
        arrays = [a + 1j * random.randn(*a.shape) for a in arrays]
    return [a.astype(dtype) for a in arrays]


def make(library, arrays, kind):
    tensors = [library.tensor(a) for a in arrays]
    if kind == "strided":
        tensors = [t.t() for t in tensors]
    return [t.requires_grad_() for t in tensors]


def train(library, name, options, dtype, kind, steps=6):
    arrays = starts(dtype, kind)
    if name == "Adafactor":
        # Torch divides by the number of elements.
        arrays = [a for a in arrays if a.size]
    params = make(library, arrays, kind)
    optimizer = getattr(library.optim, name)(params, **options)
    random = np.random.RandomState(5)
    for step in range(steps):
        for index, param in enumerate(params):
            noise = np.asarray(random.randn(*param.shape)).astype(dtype)
            if step == 2 and index == 1:
                param.grad = None
                continue
            values = param.detach().numpy() + noise
            param.grad = library.tensor(values.astype(dtype))
        optimizer.step()
    return params, optimizer


def close(ours, theirs, dtype, slack=1):
    np.testing.assert_allclose(ours, theirs, rtol=slack * TOLERANCE[dtype], atol=slack * TOLERANCE[dtype])


KINDS = [
    pytest.param(name, options, kind, id=f"{number}-{kind}")
    for number, (name, options) in zip(IDS, CASES, strict=True)
    for kind in ("small", "large", "strided")
    # Torch's fused kernels mix up elements where gradient and parameter differ in memory layout.
    if kind != "strided" or "fused" not in options
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "options", "kind"), KINDS)
def test_parameters_and_state_follow_torch(name, options, dtype, kind):
    ours, our_optimizer = train(pullback, name, options, dtype, kind)
    theirs, their_optimizer = train(torch, name, options, dtype, kind)
    for a, b in zip(ours, theirs):
        # Among many elements some cancel almost completely.
        close(a.detach().numpy(), b.detach().numpy(), dtype, 10 if kind == "large" else 1)
    our_state, their_state = our_optimizer.state_dict()["state"], their_optimizer.state_dict()["state"]
    assert our_state.keys() == their_state.keys()
    for index, entries in their_state.items():
        assert our_state[index].keys() == entries.keys()
        for key, value in entries.items():
            if value is None:
                continue
            got = our_state[index][key]
            assert tuple(got.shape) == tuple(value.shape)
            assert str(got.dtype).split(".")[-1] == str(value.dtype).split(".")[-1]
            close(got.detach().numpy(), value.detach().numpy(), "float32" if key in ("eta", "mu") else dtype, 10)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize(
    ("name", "options"), [case for case in CASES if case[0] != "Adafactor" and "fused" not in case[1]]
)
def test_complex_parameters_follow_torch(name, options, dtype):
    ours, _ = train(pullback, name, options, dtype, "small")
    theirs, _ = train(torch, name, options, dtype, "small")
    for a, b in zip(ours, theirs):
        close(a.detach().numpy(), b.detach().numpy(), dtype)


LR_CASES = [("Adam", {}), ("SGD", {"momentum": 0.9}), ("RMSprop", {}), ("Rprop", {})]


@pytest.mark.parametrize(("name", "options"), LR_CASES)
def test_learning_rate_may_be_a_tensor(name, options):
    for dtype in ("float32", "float64"):
        results = []
        for library in (pullback, torch):
            params, optimizer = train(library, name, {**options, "lr": library.tensor(0.05)}, dtype, "small")
            assert isinstance(optimizer.param_groups[0]["lr"], library.Tensor)
            results.append([p.detach().numpy() for p in params])
        for a, b in zip(*results):
            close(a, b, dtype)


def test_adam_betas_may_be_tensors():
    results = []
    for library in (pullback, torch):
        betas = (library.tensor(0.8, dtype=library.float64), library.tensor([0.95], dtype=library.float64))
        params, _ = train(library, "Adam", {"lr": 0.1, "betas": betas}, "float64", "small")
        results.append([p.detach().numpy() for p in params])
    for a, b in zip(*results):
        close(a, b, "float64")


@pytest.mark.parametrize("options", [{}, {"nesterov": False, "momentum": 0.5}, {"adjust_lr_fn": "match_rms_adamw"}])
def test_muon_follows_torch(options):
    results = []
    for library in (pullback, torch):
        random = np.random.RandomState(0)
        params = [library.tensor(random.randn(*s)).requires_grad_() for s in [(3, 4), (5, 2), (4, 4)]]
        optimizer = library.optim.Muon(params, lr=0.05, **options)
        for _ in range(5):
            for param in params:
                param.grad = library.tensor(random.randn(*param.shape))
            optimizer.step()
        results.append([p.detach().numpy() for p in params])
    for a, b in zip(*results):
        # One bit of bfloat16 may round differently where torch's order of summation differs.
        np.testing.assert_allclose(a, b, atol=0.05 * 2**-7, rtol=0)


def test_muon_decays_in_the_precision_of_a_rate_that_is_a_tensor():
    results = []
    for library in (pullback, torch):
        param = library.ones((2, 3), dtype=library.float64, requires_grad=True)
        param.grad = library.zeros_like(param)
        library.optim.Muon([param], lr=library.tensor(0.1), weight_decay=0.3).step()
        results.append(param.detach().numpy())
    np.testing.assert_array_equal(*results)


def rosenbrock(params):
    x, y = params[0], params[1]
    return ((1 - x) ** 2 + 100 * (y - x**2) ** 2).sum()


@pytest.mark.parametrize(
    "options",
    [{"lr": 0.1}, {"line_search_fn": "strong_wolfe"},
     {"line_search_fn": "strong_wolfe", "history_size": 3, "max_iter": 7},
     {"line_search_fn": "strong_wolfe", "max_eval": 4}, {"lr": 0.01, "max_iter": 4}],
)  # fmt: skip
def test_lbfgs_follows_torch(options):
    runs = []
    for library in (pullback, torch):
        params = [library.tensor(a, dtype=library.float64).requires_grad_() for a in ([-1.2, 0.4], [1.0, -0.3])]
        optimizer = library.optim.LBFGS(params, **options)
        track = []

        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(params)
            loss.backward()
            return loss

        for _ in range(4):
            track.append(float(optimizer.step(closure).detach()))
            track += [v for p in params for v in p.detach().numpy().tolist()]
        state = optimizer.state_dict()["state"][0]
        runs.append((track, state["n_iter"], state["func_evals"], len(state["old_dirs"])))
    # Eighty iterations multiply the last bits of dot products.
    np.testing.assert_allclose(runs[0][0], runs[1][0], rtol=1e-6, atol=1e-8)
    assert runs[0][1:] == runs[1][1:]


def test_lbfgs_closure_that_fails_changes_nothing():
    x = pullback.tensor([3.0, -2.0], requires_grad=True)
    optimizer = pullback.optim.LBFGS([x], line_search_fn="strong_wolfe")
    calls = []

    def closure():
        calls.append(1)
        if len(calls) == 6:
            raise RuntimeError("no more")
        optimizer.zero_grad()
        loss = (x**4).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="no more"):
        optimizer.step(closure)
    assert x.detach().numpy().tolist() == [3.0, -2.0]
    assert dict(optimizer.state[x]) == {}


def test_half_precision_moves_the_right_way():
    param = pullback.ones(4, dtype=pullback.float16).requires_grad_()
    optimizer = pullback.optim.Adam([param], lr=0.1)
    param.grad = pullback.full((4,), 1e-3, dtype=pullback.float16)
    optimizer.step()
    np.testing.assert_allclose(param.detach().numpy().astype("float32"), 0.9, atol=1e-3)


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "Adafactor"])
def test_infinite_gradients_are_silent(name, recwarn):
    param = pullback.ones(3, requires_grad=True)
    optimizer = getattr(pullback.optim, name)([param])
    param.grad = pullback.tensor([float("inf"), float("nan"), 1.0])
    optimizer.step()
    assert not recwarn.list
