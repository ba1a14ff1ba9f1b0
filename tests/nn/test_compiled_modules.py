"""`torch.compile` of a module, and state dicts that name parameters whatever wraps the model, as torch has them."""

import os
import subprocess
import sys

import pytest
from nn.transcripts import compare

import pullback

torch = pytest.importorskip("torch")

MODEL = """
import copy, pickle
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.count = nn.Linear(2, 2), 1
        self.register_buffer("seen", torch.zeros(1))
        self.last = nn.Linear(2, 1, bias=False).requires_grad_(False)
    def forward(self, x):
        return self.last(self.inner(x))
    def twice(self, x):
        self.count += 1
        return 2 * self(x)
    @property
    def width(self):
        return 2
"""
COMPILED = MODEL + 'plain = Model(); model = torch.compile(plain, backend="eager")\n'

PROGRAMS = {
    "names": """
say(type(model).__name__, isinstance(model, nn.Module), model._orig_mod is plain, repr(model))
say(list(model.state_dict()), [name for name, _ in model.named_modules()], list(model._modules), len(list(model.children())))
say([n for n, p in model.named_parameters() if p.requires_grad])
outer = nn.Sequential(model); say(list(outer.state_dict()))
model.load_state_dict({key: torch.full_like(value, 2) for key, value in model.state_dict().items()})
say(plain.inner.weight, plain.seen)
attempt(lambda: model.load_state_dict({"seen": torch.ones(1)}, strict=False))
""",
    "attributes": """
say(model.count, model.width, model.inner is plain.inner, model.seen, model.twice.__self__ is plain)
model.count = 5; model.seen = torch.ones(1); model.extra = nn.Linear(1, 1)
say(plain.count, plain.seen, plain.extra is model.extra, list(model._modules), "count" in vars(model))
del model.count; say(hasattr(plain, "count"), hasattr(model, "count"))
attempt(lambda: model.nothing)
attempt(lambda: delattr(model, "nothing"))
attempt(lambda: len(model))
say(len(torch.compile(nn.Sequential(nn.ReLU(), nn.ReLU()), backend="eager")))
say(model.dynamo_ctx(plain.forward)(torch.zeros(1, 2)))
say([name in dir(model) for name in ("twice", "inner", "_orig_mod")])
model.eval(); say(model.training, plain.training, plain.inner.training)
model.training = True; say(plain.training, plain.inner.training)
""",
    "calls": """
x, order = torch.ones(1, 2), []
model.register_forward_hook(lambda *parts: order.append("around"))
plain.register_forward_hook(lambda *parts: order.append("inside"))
say(model(x), model.twice(x), order)
model(x).sum().backward(); say(plain.inner.weight.grad); model.zero_grad(); say(plain.inner.weight.grad)
other = copy.deepcopy(model); say(type(other).__name__, other._orig_mod is plain, torch.equal(other(x), model(x)))
say(type(pickle.loads(pickle.dumps(torch.compile(nn.Linear(2, 2), backend="eager")))).__name__)
say(type(model.double()).__name__, plain.inner.weight.dtype)
""",
    "ways": """
say(type(torch.compile(plain, disable=True)).__name__, type(torch.compile(backend="eager")(plain)).__name__)
say(torch.compile(backend="eager", disable=True)(plain) is plain)
""",
}

# get_model_state_dict and its neighbours; torch has a step of the optimizer made when its state is asked for.
BY_NAME = {
    "model": """
say(StateDictOptions())
for way in ({}, {"full_state_dict": True, "cpu_offload": True, "broadcast_from_rank0": True}, {"ignore_frozen_params": True}):
    state = get_model_state_dict(model, options=StateDictOptions(**way))
    say(list(state), state, state["inner.weight"].data_ptr() == plain.inner.weight.data_ptr())
attempt(lambda: get_model_state_dict(model, options=StateDictOptions(broadcast_from_rank0=True)))
filled = {key: torch.full_like(value, 2) for key, value in state.items()}
attempt(lambda: set_model_state_dict(plain, {**filled, "last.weight": torch.ones(1, 2)}))
say(plain.inner.weight, plain.last.weight)
attempt(lambda: set_model_state_dict(plain, filled))
attempt(lambda: set_model_state_dict(plain, {**filled, "more": torch.ones(1)}, options=StateDictOptions(strict=False)))
""",
    "optimizer": """
rates = [{"params": plain.inner.parameters(), "lr": 0.1}, {"params": plain.last.parameters()}]
optimizer = torch.optim.AdamW(rates, lr=0.01)
say(get_optimizer_state_dict(model, optimizer), plain.inner.weight.grad)
model(torch.ones(1, 2)).sum().backward(); optimizer.step()
flat = StateDictOptions(flatten_optimizer_state_dict=True)
nested, named = get_optimizer_state_dict(model, optimizer), get_optimizer_state_dict(model, optimizer, options=flat)
say(nested, named)
for state, options in ((nested, None), (named, flat)):
    second = Model()
    rates = [{"params": second.inner.parameters(), "lr": 0.7}, {"params": second.last.parameters()}]
    other = torch.optim.AdamW(rates, lr=0.07)
    set_optimizer_state_dict(second, other, state, options=options)
    say(other.state_dict())
sgd = torch.optim.SGD(plain.parameters(), lr=0.1, momentum=0.9)
say(get_optimizer_state_dict(model, sgd)["state"])  # not between a pass and its step
sgd.zero_grad(); say(get_optimizer_state_dict(model, sgd))
""",
    "both": """
optimizer = torch.optim.Adam(plain.inner.parameters())
weights, state = get_state_dict(model, optimizer)
say(weights, state)
second = Model(); other = torch.optim.Adam(second.inner.parameters(), lr=3.0)
say(set_state_dict(second, other, model_state_dict=weights, optim_state_dict=state), other.state_dict())
say(second.state_dict())
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_module(name):
    compare(COMPILED + PROGRAMS[name], pullback, torch)


@pytest.mark.parametrize("name", BY_NAME)
def test_state_dict_by_name(name):
    where = "from {}.distributed.checkpoint.state_dict import *\n".format
    program = COMPILED + "exec(where(torch.__name__), globals())\n" + BY_NAME[name]
    compare(f"where = {where('{}')!r}.format\n" + program, pullback, torch)


def test_optimizers_with_groups_in_another_order():
    from pullback.distributed.checkpoint.state_dict import get_optimizer_state_dict, set_optimizer_state_dict

    layer = pullback.nn.Linear(2, 2)
    first = [pullback.optim.SGD([layer.weight], lr=1.0), pullback.optim.SGD([layer.bias], lr=2.0, momentum=0.9)]
    state = get_optimizer_state_dict(layer, first)
    both = pullback.optim.SGD([{"params": [layer.bias]}, {"params": [layer.weight]}], lr=9.0)
    set_optimizer_state_dict(layer, both, state)
    assert [group["lr"] for group in both.param_groups] == [2.0, 1.0]
    assert list(both.state[layer.bias]) == ["momentum_buffer"] and layer.weight not in both.state


def test_names_of_torch():
    program = """
import torch
from torch._dynamo.eval_frame import OptimizedModule
from torch.utils.data.datapipes.iter.combinatorics import ShufflerIterDataPipe
assert OptimizedModule is torch._dynamo.OptimizedModule
assert isinstance(torch.compile(torch.nn.ReLU()), OptimizedModule) and torch.compile(torch.nn.ReLU())
assert not isinstance(torch.utils.data.TensorDataset(torch.ones(2)), ShufflerIterDataPipe)
"""
    run = [sys.executable, "-m", "pullback", "run", "-c", program]
    subprocess.run(run, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
