"""Groups, checkpoints, hooks, errors and the promise that a failed step changes nothing."""

from __future__ import annotations

import copy
import importlib
import os
import pickle
import sys
from itertools import count

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")


def leaf(library=pullback, shape=(3,)):
    return library.ones(shape).requires_grad_()


def base_module(library):
    return importlib.import_module(f"{library.__name__}.optim.optimizer")


NAMES = ["SGD", "Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "Adadelta", "RMSprop", "Rprop", "ASGD"]

MISTAKES = {
    "empty": lambda t: t.optim.SGD([], lr=0.1),
    "tensor": lambda t: t.optim.SGD(leaf(t), lr=0.1),
    "non-leaf": lambda t: t.optim.SGD([leaf(t) * 2], lr=0.1),
    "not a tensor": lambda t: t.optim.SGD([3.0], lr=0.1),
    "set": lambda t: t.optim.SGD([{"params": {leaf(t)}}], lr=0.1),
    "twice": lambda t: (lambda p: t.optim.SGD([{"params": [p]}, {"params": [p]}], lr=0.1))(leaf(t)),
    "names": lambda t: t.optim.SGD([("a", leaf(t)), leaf(t)], lr=0.1),
    "names of groups": lambda t: t.optim.SGD([{"params": [("a", leaf(t))]}, {"params": [leaf(t)]}], lr=0.1),
    "group": lambda t: t.optim.SGD([leaf(t)], lr=0.1).add_param_group([leaf(t)]),
    "lr": lambda t: t.optim.SGD([leaf(t)], lr=-1.0),
    "tensor lr": lambda t: t.optim.Adam([leaf(t)], lr=t.ones(2)),
    "foreach lr": lambda t: t.optim.Adam([leaf(t)], lr=t.tensor(0.1), foreach=True),
    "betas": lambda t: t.optim.Adam([leaf(t)], betas=(1.0, 0.9)),
    "mixed betas": lambda t: t.optim.Adam([leaf(t)], betas=(t.tensor(0.9), 0.9)),
    "eps": lambda t: t.optim.Adam([leaf(t)], eps=-1),
    "nesterov": lambda t: t.optim.SGD([leaf(t)], nesterov=True),
    "fused differentiable": lambda t: t.optim.Adam([leaf(t)], fused=True, differentiable=True),
    "fused foreach": lambda t: t.optim.SGD([leaf(t)], fused=True, foreach=True),
    "lbfgs groups": lambda t: t.optim.LBFGS([{"params": [leaf(t)]}, {"params": [leaf(t)]}]),
    "rho": lambda t: t.optim.Adadelta([leaf(t)], rho=1.5),
    "etas": lambda t: t.optim.Rprop([leaf(t)], etas=(1.5, 1.2)),
    "muon": lambda t: t.optim.Muon([leaf(t)]),
    "muon lr": lambda t: t.optim.Muon([leaf(t, (2, 2))], adjust_lr_fn="x"),
    "adafactor": lambda t: t.optim.Adafactor([leaf(t)], d=0.5),
    "load groups": lambda t: t.optim.SGD([leaf(t)]).load_state_dict({"state": {}, "param_groups": []}),
    "load size": lambda t: t.optim.SGD([leaf(t)]).load_state_dict({"state": {}, "param_groups": [{"params": [0, 1]}]}),
    "required": lambda t: t.optim.Optimizer([leaf(t)], {"lr": base_module(t).required}),
    "no step": lambda t: t.optim.Optimizer([leaf(t)], {}).step(),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_raise_what_torch_raises(name):
    with pytest.raises(Exception) as expected:
        MISTAKES[name](torch)
    with pytest.raises(type(expected.value)) as got:
        MISTAKES[name](pullback)
    assert str(expected.value).split(". ")[0].split(", but got")[0].rstrip(".") in str(got.value)


def test_capturable_needs_a_device():
    for library in (pullback, torch):
        param = leaf(library)
        optimizer = library.optim.Adam([param], capturable=True)
        param.grad = library.ones(3)
        with pytest.raises(AssertionError, match="If capturable=True"):
            optimizer.step()


def test_repr_is_torchs():
    for name in [*NAMES, "LBFGS"]:
        ours, theirs = (repr(getattr(t.optim, name)([leaf(t)])) for t in (pullback, torch))
        assert ours == theirs
    several = (repr(t.optim.SGD([{"params": [leaf(t)]}, {"params": [leaf(t)], "lr": 0.5}])) for t in (pullback, torch))
    assert len(set(several)) == 1


def test_duplicates_warn():
    param = leaf()
    with pytest.warns(UserWarning, match="duplicate parameters"):
        pullback.optim.SGD([param, param], lr=0.1)


def test_named_parameters():
    optimizer = pullback.optim.SGD([("w", leaf()), ("b", leaf())], lr=0.1)
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["w", "b"]


@pytest.mark.parametrize("name", NAMES)
def test_state_dicts_move_between_torch_and_here(name):
    optimizers, params = [], []
    for library in (torch, pullback):
        param = leaf(library)
        optimizer = getattr(library.optim, name)([param])
        optimizers.append(optimizer)
        params.append(param)
    for _ in range(3):
        params[0].grad = torch.tensor([1.0, -2.0, 0.5])
        optimizers[0].step()
    with torch.no_grad():
        params[1].data.copy_(pullback.tensor(params[0].detach().numpy()))
    saved = optimizers[0].state_dict()
    saved["state"] = {
        index: {key: pullback.tensor(value.numpy()) for key, value in entries.items() if value is not None}
        for index, entries in saved["state"].items()
    }
    optimizers[1].load_state_dict(saved)
    for _ in range(3):
        for library, param, optimizer in zip((torch, pullback), params, optimizers):
            param.grad = library.tensor([0.3, 0.2, -0.7])
            optimizer.step()
    np.testing.assert_allclose(params[1].detach().numpy(), params[0].detach().numpy(), rtol=3e-6)


@pytest.mark.parametrize("name", [*NAMES, "Adafactor", "Muon"])
def test_loading_gives_groups_the_options_that_torch_gives_them(name):
    found = []
    for t in (torch, pullback):
        optimizer = getattr(t.optim, name)([leaf(t, (2, 2))])
        saved = optimizer.state_dict()
        saved["param_groups"][0].pop("foreach", None)  # as in a checkpoint of long ago
        for _ in range(2):
            optimizer.load_state_dict(copy.deepcopy(saved))
        found.append({key: str(value) for key, value in optimizer.param_groups[0].items() if key != "params"})
    assert found[0] == found[1]


def test_number_as_step_is_made_a_tensor():
    param = leaf()
    optimizer = pullback.optim.Adam([param])
    param.grad = pullback.ones(3)
    optimizer.step()
    saved = optimizer.state_dict()
    saved["state"][0]["step"] = 5
    optimizer.load_state_dict(saved)
    optimizer.step()
    assert float(optimizer.state[param]["step"]) == 6


def test_zero_grad():
    param = leaf()
    optimizer = pullback.optim.SGD([param])
    param.grad = pullback.ones(3)
    held = param.grad
    optimizer.zero_grad(set_to_none=False)
    assert held.tolist() == [0, 0, 0] and param.grad is held
    optimizer.zero_grad()
    assert param.grad is None


@pytest.mark.parametrize("clone", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))])
def test_copies_continue_on_their_own(clone):
    param = leaf()
    optimizer = pullback.optim.Adam([param], lr=0.1)
    param.grad = pullback.ones(3)
    optimizer.step()
    other = clone(optimizer)
    twin = other.param_groups[0]["params"][0]
    assert twin is not param
    twin.grad = pullback.ones(3)
    other.step()
    assert float(other.state[twin]["step"]) == 2 and float(optimizer.state[param]["step"]) == 1


def test_hooks_run_in_torchs_order():
    logs = []
    for library in (pullback, torch):
        log = []
        module = base_module(library)
        param = leaf(library)
        optimizer = library.optim.SGD([param], lr=0.1)
        param.grad = library.ones(3)
        handles = [
            optimizer.register_step_pre_hook(lambda o, a, k: log.append("pre")),
            optimizer.register_step_post_hook(lambda o, a, k: log.append("post")),
            module.register_optimizer_step_pre_hook(lambda o, a, k: log.append("global pre")),
            module.register_optimizer_step_post_hook(lambda o, a, k: log.append("global post")),
            optimizer.register_state_dict_pre_hook(lambda o: log.append("save 2")),
            optimizer.register_state_dict_pre_hook(lambda o: log.append("save 1"), prepend=True),
            optimizer.register_state_dict_post_hook(lambda o, s: {**s, "more": 1}),
            optimizer.register_load_state_dict_pre_hook(lambda o, s: log.append(f"load {s.get('more')}")),
            optimizer.register_load_state_dict_post_hook(lambda o: log.append("loaded")),
        ]
        optimizer.step()
        optimizer.load_state_dict(optimizer.state_dict())
        for handle in handles:
            handle.remove()
        optimizer.step()
        logs.append(log)
    assert logs[0] == logs[1] and len(logs[0]) == 8


def test_pre_hook_may_replace_arguments():
    param = leaf()
    optimizer = pullback.optim.SGD([param], lr=0.1)
    optimizer.register_step_pre_hook(lambda o, a, k: (a, {"closure": lambda: 5}))
    assert optimizer.step() == 5
    optimizer.register_step_pre_hook(lambda o, a, k: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple"):
        optimizer.step()


def test_subclasses_get_hooks():
    class Sign(pullback.optim.Optimizer):
        def __init__(self, params, lr=1.0):
            super().__init__(params, {"lr": lr})

        def step(self, closure=None):
            with pullback.no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        param.add_(param.grad.sign(), alpha=-group["lr"])

    param = leaf()
    optimizer = Sign([param], lr=0.5)
    calls = []
    optimizer.register_step_post_hook(lambda *a: calls.append(1))
    param.grad = pullback.ones(3)
    optimizer.step()
    assert calls == [1] and param.tolist() == [0.5] * 3


@pytest.mark.parametrize("name", [*NAMES, "Adafactor"])
@pytest.mark.parametrize("fault", ["gradient", "state", "memory", "learning rate"])
def test_a_failed_step_changes_nothing(name, fault):
    params = [leaf(), leaf(shape=(2, 2)), leaf()]
    optimizer = getattr(pullback.optim, name)([{"params": params[:2]}, {"params": params[2:]}])
    for param in params:
        param.grad = pullback.full_like(param, 0.5)
    optimizer.step()
    if fault == "gradient":
        params[2].data = pullback.ones(4)
    elif fault == "memory":
        params[2]._array.flags.writeable = False
    elif fault == "learning rate":
        if name == "Rprop":
            pytest.skip("after the first step it has no use for one")
        optimizer.param_groups[1]["lr"] = None
    else:
        entries = [k for k, v in optimizer.state[params[2]].items() if v.dim()] if optimizer.state else []
        if not entries:
            pytest.skip("no state of the parameter's shape")
        optimizer.state[params[2]][entries[0]] = pullback.ones(7)
    before = [p.detach().clone() for p in params]
    saved = copy.deepcopy(optimizer.state_dict())
    complaint = {"memory": "read-only", "learning rate": None}.get(fault, "must match the size")
    with pytest.raises((RuntimeError, TypeError), match=complaint):
        optimizer.step()
    assert all(np.array_equal(a.numpy(), b.detach().numpy()) for a, b in zip(before, params))
    after = optimizer.state_dict()["state"]
    for index, entries in saved["state"].items():
        for key, value in entries.items():
            assert np.array_equal(value.numpy(), after[index][key].numpy()), (index, key)


@pytest.mark.parametrize("damage", ["state", "step", "hook"])
def test_a_failed_load_changes_nothing(damage):
    params = [leaf(), leaf(shape=(2, 2))]
    optimizer = pullback.optim.Adam(params)
    for param in params:
        param.grad = pullback.full_like(param, 0.5)
    optimizer.step()
    before, damaged = copy.deepcopy(optimizer.state_dict()), copy.deepcopy(optimizer.state_dict())
    damaged["param_groups"][0]["lr"] = 17.0
    if damage == "hook":
        optimizer.register_load_state_dict_post_hook(lambda optimizer: optimizer.no_such_thing)
    else:
        damaged["state"][1] = 5 if damage == "state" else {"step": object()}
    with pytest.raises((TypeError, AttributeError)):
        optimizer.load_state_dict(damaged)
    assert str(optimizer.state_dict()) == str(before)


def test_expanded_parameters_are_refused():
    param = pullback.ones(1).expand(3).requires_grad_()
    optimizer = pullback.optim.SGD([param], lr=0.1)
    param.grad = pullback.ones(3)
    with pytest.raises(RuntimeError, match="single memory location"):
        optimizer.step()


def test_a_step_counts_as_a_write():
    param = leaf()
    loss = (param * param).sum()
    optimizer = pullback.optim.SGD([param], lr=0.1)
    param.grad = pullback.ones(3)
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


@pytest.mark.parametrize("name", [*NAMES, "Adafactor", "Muon", "SparseAdam"])
def test_what_a_step_wrote_before_ctrl_c_counts_as_a_write(name):
    halfway = 0
    for end in range(1000):
        param = pullback.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        loss, optimizer = (param * param).sum(), getattr(pullback.optim, name)([param])
        param.grad = pullback.ones(2, 2).to_sparse() if name == "SparseAdam" else pullback.ones(2, 2)
        lines, usual = count(), sys.gettrace()

        def trace(frame, event, _):
            if event == "line" and next(lines) == end:  # noqa: B023
                raise KeyboardInterrupt
            return trace if f"{os.sep}optim{os.sep}" in frame.f_code.co_filename else None  # noqa: B023

        sys.settrace(trace)
        try:
            optimizer.step()
            break
        except KeyboardInterrupt:
            sys.settrace(usual)
            if param.tolist() != [[1.0, 2.0], [3.0, 4.0]]:
                halfway += 1
                with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                    loss.backward()
        finally:
            sys.settrace(usual)
    assert halfway
