"""State dicts against torch: keys, hooks, extra state, error texts; and that a failed load changes nothing."""

import gc
import weakref

import pytest
from nn.transcripts import compare

import pullback

torch = pytest.importorskip("torch")

NET = """
def make():
    torch.manual_seed(1)
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sequential(nn.ReLU(), nn.Linear(4, 2)))
    net.register_buffer("extra", torch.zeros(2))
    return net
net = make()
def values():
    return {name: tensor for name, tensor in net.state_dict().items()}
"""

PROGRAMS = {
    "keys and metadata": NET
    + """
state = net.state_dict(); say(state, state._metadata)
say(list(net.state_dict(prefix="model.")), type(state).__name__)
say(net.state_dict()["0.weight"].requires_grad, net.state_dict(keep_vars=True)["0.weight"] is net[0].weight)
mine = {}; say(net.state_dict(destination=mine) is mine, list(mine))
""",
    "aliasing": NET
    + """
state = net.state_dict()
with torch.no_grad(): net[0].weight.fill_(3.0)
say(state["0.weight"])
""",
    "round trip": NET
    + """
other = make()
with torch.no_grad():
    for p in other.parameters(): p.mul_(2)
attempt(lambda: net.load_state_dict(other.state_dict()))
say(values())
attempt(lambda: repr(net.load_state_dict(dict(other.state_dict()))))
""",
    "wrong keys": NET
    + """
state = net.state_dict()
del state["0.bias"]; state["0.bias2"] = torch.zeros(4); state["9.x"] = torch.zeros(1)
attempt(lambda: net.load_state_dict(state))
attempt(lambda: net.load_state_dict(state, strict=False))
attempt(lambda: net.load_state_dict([1, 2]))
attempt(lambda: net.load_state_dict({}))
""",
    "wrong values": NET
    + """
state = net.state_dict()
state["0.weight"] = torch.zeros(4, 5); state["2.1.bias"] = 3; state["2.1.weight"] = [1.0]
attempt(lambda: net.load_state_dict(state))
attempt(lambda: net.load_state_dict(state, strict=False))
""",
    "scalars saved with a dimension": """
m = nn.Module(); m.register_buffer("s", torch.tensor(2.0))
attempt(lambda: m.load_state_dict({"s": torch.tensor([5.0])})); say(m.s)
""",
    "dtype is kept": NET
    + """
attempt(lambda: net.load_state_dict({k: v.double() for k, v in make().state_dict().items()})); say(values())
""",
    "assign": NET
    + """
state = {k: v.double() for k, v in make().state_dict().items()}
attempt(lambda: net.load_state_dict(state, assign=True))
say(values(), [type(p).__name__ for p in net.parameters()], [p.requires_grad for p in net.parameters()])
net[0].weight.requires_grad_(False)
net.load_state_dict({k: nn.Parameter(v) if v.is_floating_point() else v for k, v in make().state_dict().items()},
                    assign=True)
say([p.requires_grad for p in net.parameters()])
""",
    "old batch norm": NET
    + """
state = {k: v for k, v in net.state_dict().items() if "num_batches" not in k}
attempt(lambda: net.load_state_dict(state))
state = net.state_dict(); del state["1.num_batches_tracked"]
attempt(lambda: net.load_state_dict(state))
""",
    "old instance norm": """
m = nn.InstanceNorm1d(2)
import warnings
try:
    m.load_state_dict({"running_mean": torch.zeros(2)})
except RuntimeError as error:
    say(str(error)[:120])
""",
    "hooks": NET
    + """
log = []
net.register_state_dict_pre_hook(lambda m, prefix, keep: log.append(("pre", prefix, keep)))
net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.update(tag=torch.zeros(1)))
net[0]._register_state_dict_hook(lambda m, state, prefix, meta: log.append((prefix, meta)))
say(list(net.state_dict()), log)
log.clear()
net.register_load_state_dict_pre_hook(lambda m, state, *rest: (log.append((type(m).__name__, rest[0], rest[2])),
                                                               state.pop("tag", None)))
net[0].register_load_state_dict_post_hook(lambda m, keys: (log.append(keys.missing_keys), None)[1])
attempt(lambda: net.load_state_dict(net.state_dict())); say(log)
state = net.state_dict(); del state["0.bias"]
h = net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
attempt(lambda: net.load_state_dict(state))
h.remove()
net.register_load_state_dict_post_hook(lambda m, keys: keys)
attempt(lambda: net.load_state_dict(net.state_dict()))
net.register_state_dict_post_hook(lambda m, state, prefix, meta: state)
attempt(lambda: net.state_dict() and None)
""",
    "replacing hook": NET
    + """
net._register_state_dict_hook(lambda m, state, prefix, meta: {"only": torch.zeros(1)})
say(net.state_dict())
""",
    "extra state": """
class Extra(nn.Module):
    def __init__(self):
        super().__init__(); self.w = nn.Parameter(torch.zeros(1)); self.note = "fresh"
    def get_extra_state(self): return {"note": self.note}
    def set_extra_state(self, state): self.note = state["note"]
m = nn.Sequential(Extra(), nn.Linear(1, 1)); m[0].note = "kept"
say(m.state_dict())
other = nn.Sequential(Extra(), nn.Linear(1, 1)); attempt(lambda: other.load_state_dict(m.state_dict()))
say(other[0].note)
state = m.state_dict(); del state["0._extra_state"]; attempt(lambda: other.load_state_dict(state))
attempt(lambda: nn.Sequential(nn.Linear(1, 1), nn.Linear(1, 1)).load_state_dict(m.state_dict()))
""",
    "positional arguments": NET
    + """
attempt(lambda: list(net.state_dict({}, "p.")))
""",
    "prefix": NET
    + """
state = net.state_dict(prefix="module.")
nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
say(list(state), list(state._metadata)); attempt(lambda: net.load_state_dict(state))
""",
    "lazy": """
m = nn.LazyLinear(3); say(list(m.state_dict()))
source = nn.Linear(4, 3)
attempt(lambda: m.load_state_dict(source.state_dict())); say(m.weight, type(m).__name__)
m(torch.ones(1, 4)); say(type(m).__name__, repr(m))
fresh = nn.LazyLinear(3); attempt(lambda: nn.LazyLinear(3).load_state_dict(fresh.state_dict()))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    compare(PROGRAMS[name], pullback, torch)


def make_net():
    nn = pullback.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 2))
    return net


def doubled(net):
    return {name: tensor * 2 + 1 for name, tensor in net.state_dict().items()}


def snapshot(net):
    return {name: tensor.detach().numpy().copy() for name, tensor in net.state_dict().items()}


def break_shape(net, state):
    state["2.bias"] = pullback.zeros(7)


def break_type(net, state):
    state["2.weight"] = "not a tensor"


def drop_key(net, state):
    del state["2.bias"]


def add_key(net, state):
    state["unknown"] = pullback.zeros(1)


def failing_hook(net, state):
    def hook(*args):
        raise KeyboardInterrupt

    net[2].register_load_state_dict_post_hook(hook)


@pytest.mark.parametrize("assign", [False, True])
@pytest.mark.parametrize("damage", [break_shape, break_type, drop_key, add_key, failing_hook])
def test_a_failed_load_changes_nothing(damage, assign):
    net = make_net()
    before = snapshot(net)
    parameters = list(net.parameters())
    state = doubled(net)
    damage(net, state)
    with pytest.raises((RuntimeError, KeyboardInterrupt)):
        net.load_state_dict(state, assign=assign)
    for name, value in snapshot(net).items():
        assert (value == before[name]).all(), name
    assert all(now is then for now, then in zip(net.parameters(), parameters))


def test_a_parameter_that_cannot_be_written_leaves_the_others():
    model = pullback.nn.Sequential(pullback.nn.Linear(2, 2), pullback.nn.Linear(2, 2), pullback.nn.Linear(2, 2))
    before = {key: value.tolist() for key, value in model.state_dict().items()}
    model[1].weight._array.flags.writeable = False
    with pytest.raises(RuntimeError, match='While copying the parameter named "1.weight"'):
        model.load_state_dict({key: value + 1 for key, value in model.state_dict().items()})
    assert before == {key: value.tolist() for key, value in model.state_dict().items()}


def test_a_failed_load_restores_extra_state():
    class Extra(pullback.nn.Module):
        note = "old"

        def get_extra_state(self):
            return self.note

        def set_extra_state(self, state):
            self.note = state

    net = pullback.nn.Sequential(Extra(), pullback.nn.Linear(2, 2))
    state = net.state_dict()
    state["0._extra_state"] = "new"
    del state["1.weight"]
    with pytest.raises(RuntimeError):
        net.load_state_dict(state)
    assert net[0].note == "old"


def test_a_failed_load_leaves_a_lazy_module_lazy():
    net = pullback.nn.Sequential(pullback.nn.LazyLinear(3), pullback.nn.Linear(3, 2))
    state = pullback.nn.Sequential(pullback.nn.Linear(4, 3), pullback.nn.Linear(3, 2)).state_dict()
    del state["1.bias"]
    with pytest.raises(RuntimeError):
        net.load_state_dict(state)
    assert net(pullback.ones(1, 5)).shape == (1, 2)


def test_a_load_that_is_not_strict_takes_what_fits():
    net = make_net()
    state = doubled(net)
    want = state["0.weight"].detach().numpy().copy()
    del state["2.bias"]
    keys = net.load_state_dict(state, strict=False)
    assert keys.missing_keys == ["2.bias"] and keys.unexpected_keys == []
    assert (net[0].weight.detach().numpy() == want).all()


def test_a_module_with_a_load_hook_is_freed_without_the_collector():
    module = pullback.nn.Linear(2, 2)
    module.register_load_state_dict_pre_hook(lambda *args: None)
    reference = weakref.ref(module)
    gc.disable()
    try:
        del module
        assert reference() is None
    finally:
        gc.enable()
