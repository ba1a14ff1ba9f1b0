"""`Module` against torch: registration, attributes, traversal, conversion, hooks, and their errors."""

import copy
import pickle

import pytest
from nn.transcripts import compare

import pullback

torch = pytest.importorskip("torch")

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.rest = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))
        self.register_buffer("scale", torch.ones(2))
        self.register_buffer("hidden", torch.zeros(1), persistent=False)
        self.alias = self.first
    def forward(self, x):
        return self.rest(self.norm(self.first(x))) * self.scale
net = Net()
x = torch.linspace(-1, 1, 15).reshape(5, 3)
"""

PROGRAMS = {
    "repr": NET + "say(repr(net)); say(repr(nn.Module())); say(str(nn.Sequential()))",
    "traversal": NET
    + """
say([n for n, _ in net.named_parameters()], [n for n, _ in net.named_parameters(remove_duplicate=False)])
say([n for n, _ in net.named_buffers()], [n for n, _ in net.named_buffers(recurse=False, prefix="p")])
say([n for n, _ in net.named_modules()], [n for n, _ in net.named_modules(remove_duplicate=False)])
say([n for n, _ in net.named_modules(prefix="top")], [n for n, _ in net.named_children()])
say(len(list(net.parameters())), len(list(net.parameters(recurse=False))), len(list(net.modules())))
say([n for n, _ in net.named_parameters(prefix="a.b", recurse=False)], len(list(net.children())))
""",
    "get by name": NET
    + """
say(net.get_submodule("rest.1"), net.get_submodule("") is net, net.get_parameter("rest.1.bias"))
say(net.get_buffer("norm.running_mean"))
attempt(lambda: net.get_submodule("rest.7"))
attempt(lambda: net.get_submodule("scale"))
attempt(lambda: net.get_parameter("first.none"))
attempt(lambda: net.get_parameter("scale"))
attempt(lambda: net.get_buffer("first.weight"))
attempt(lambda: net.set_submodule("rest.1", nn.Identity())); say(net)
attempt(lambda: net.set_submodule("rest.new", nn.Identity())); say(net)
attempt(lambda: net.set_submodule("", nn.Identity()))
attempt(lambda: net.set_submodule("rest.other", nn.Identity(), strict=True))
attempt(lambda: net.set_submodule("scale", nn.Identity()))
attempt(lambda: net.set_submodule("rest.1", 3))
""",
    "registration errors": """
m = nn.Module()
m.taken = 1
w = nn.Parameter(torch.zeros(2))
for name in ("a.b", "", 3, "taken", "ok"):
    attempt(lambda: m.register_parameter(name, w))
    attempt(lambda: m.register_buffer(name, torch.zeros(1)) if name != "ok" else None)
    attempt(lambda: m.add_module(name, nn.ReLU()) if name != "ok" else None)
attempt(lambda: m.register_parameter("p", torch.zeros(2)))
attempt(lambda: m.register_parameter("p", 3))
attempt(lambda: m.register_parameter("p", "text"))
attempt(lambda: m.register_parameter("p", np.zeros(2)))
attempt(lambda: m.register_buffer("b", 3))
attempt(lambda: m.add_module("c", 3))
attempt(lambda: m.register_parameter("none", None)); say(m.none, list(m._parameters))
attempt(lambda: m.register_buffer("empty", None)); say(m.empty, list(m._buffers))
attempt(lambda: m.register_module("child", None)); say(m.child, list(m._modules))
""",
    "attribute errors": """
m = nn.Module()
m.w = nn.Parameter(torch.zeros(2))
m.register_buffer("b", torch.zeros(1))
m.c = nn.ReLU()
attempt(lambda: setattr(m, "w", torch.zeros(2)))
attempt(lambda: setattr(m, "w", 3))
attempt(lambda: setattr(m, "b", 3))
attempt(lambda: setattr(m, "c", 3))
attempt(lambda: m.nothing)
attempt(lambda: delattr(m, "nothing"))
m.w = None; m.b = None; m.c = None
say(list(m._parameters), list(m._buffers), list(m._modules), m.w, m.b, m.c)
m.b = torch.ones(3); say(m.b, m.state_dict())
m.w = nn.Parameter(torch.ones(1)); m.w = nn.Parameter(torch.zeros(1)); say(m.w)
m.c = nn.Tanh(); m.w2 = 3; m.w2 = nn.Parameter(torch.zeros(1)); say("w2" in m.__dict__, list(m._parameters))
m.c = nn.Parameter(torch.zeros(1)); say(list(m._modules), list(m._parameters))
del m.w, m.b; say(hasattr(m, "w"), hasattr(m, "b"))
m.buf = nn.Buffer(torch.zeros(2), persistent=False); say(list(m._buffers), m.state_dict(), repr(m.buf))
say(repr(m.load_state_dict({"x": 1}, strict=False)))
say([name for name in ("c", "buf", "training", "forward") if name in dir(m)])
""",
    "before init": """
class Early(nn.Module):
    def __init__(self, what):
        self.plain = 1
        if what == "parameter":
            self.w = nn.Parameter(torch.zeros(1))
        elif what == "module":
            self.m = nn.ReLU()
        elif what == "buffer":
            self.register_buffer("b", torch.zeros(1))
        elif what == "register":
            self.register_parameter("b", None)
        super().__init__()
for what in ("parameter", "module", "buffer", "register"):
    attempt(lambda: Early(what))
attempt(lambda: nn.Module(1))
attempt(lambda: nn.Module(a=1))
attempt(lambda: nn.Tanh(1, 2, 3))
""",
    "forward missing": """
attempt(lambda: nn.Module()(1))
attempt(lambda: nn.ModuleList()(1))
""",
    "modes and gradients": NET
    + """
net(x).sum().backward()
say(net.training, [m.training for m in net.eval().modules()], net.train() is net)
attempt(lambda: net.train(1))
say([p.grad is None for p in net.parameters()])
net.zero_grad(set_to_none=False); say([p.grad for p in net.parameters()])
net.zero_grad(); say([p.grad for p in net.parameters()])
say(net.requires_grad_(False) is net, [p.requires_grad for p in net.parameters()])
""",
    "conversion": NET
    + """
say(net.norm.num_batches_tracked)
w = net.first.weight
say(net.double() is net, net.first.weight is w, net.first.weight, net.norm.num_batches_tracked, net.scale)
net.to(torch.float32); say(net.scale)
net.to("cpu", torch.float64); say(net.scale)
net.to(device="cpu"); net.to(torch.zeros(1)); say(net.scale)
net.to(dtype=torch.float64); say(net.scale); net.float(); say(net.scale); net.half(); say(net.scale); net.float()
attempt(lambda: net.to(torch.int64) and None)
net(x).sum().backward(); g = net.first.weight.grad
net.double(); say(net.first.weight.grad, net.first.weight.grad is g)
say(net.cpu() is net)
seen = []; net.apply(lambda m: seen.append(type(m).__name__)); say(seen)
""",
    "forward hooks": NET
    + """
log = []
h1 = net.first.register_forward_pre_hook(lambda m, a: log.append(("pre", len(a))) or (a[0] * 2,))
h2 = net.first.register_forward_hook(lambda m, a, o: log.append("post") or o + 1)
h3 = net.first.register_forward_hook(lambda m, a, k, o: log.append(("kw", dict(k))), with_kwargs=True, prepend=True)
say(net.first(x)); say(log)
h1.remove(); log.clear(); say(net.first(input=x)); say(log)
with h2: pass
log.clear(); say(net.first(x)); say(log, len(net.first._forward_hooks))
say(str(net._forward_hooks), str(net._backward_hooks), type(net.first._forward_hooks).__name__)
h4 = net.first.register_forward_pre_hook(lambda m, a, k: (a, {"input": k["input"] * 3}), with_kwargs=True)
say(net.first(input=x))
h4.remove()
net.first.register_forward_pre_hook(lambda m, a, k: 5, with_kwargs=True)
attempt(lambda: net.first(input=x))
""",
    "pre hook returning one value": """
m = nn.Linear(2, 2); m.register_forward_pre_hook(lambda m, a: a[0] * 0)
say(m(torch.ones(1, 2)) - m.bias)
""",
    "always called": """
log = []
class Bad(nn.Module):
    def forward(self, x):
        raise KeyError("oops")
m = Bad()
m.register_forward_hook(lambda m, a, o: log.append(("always", o)), always_call=True)
m.register_forward_hook(lambda m, a, o: log.append("never"))
def failing(m, a, o):
    raise ValueError("in hook")
m.register_forward_hook(failing, always_call=True)
attempt(lambda: m(torch.ones(1))); say(log)
""",
    "global hooks": NET
    + """
from importlib import import_module
M = nn.modules.module
log = []
a = M.register_module_forward_pre_hook(lambda m, a: log.append("pre " + type(m).__name__))
b = M.register_module_forward_hook(lambda m, a, o: log.append("post " + type(m).__name__))
c = M.register_module_parameter_registration_hook(lambda m, n, p: log.append("par " + n))
d = M.register_module_buffer_registration_hook(lambda m, n, p: log.append("buf " + n))
e = M.register_module_module_registration_hook(lambda m, n, p: log.append("mod " + n))
net(x); nn.BatchNorm1d(2); nn.Sequential(nn.ReLU()); say(log)
for handle in (a, b, c, d, e): handle.remove()
log.clear(); net(x); say(log)
f = M.register_module_full_backward_pre_hook(lambda m, g: log.append("bpre " + type(m).__name__))
g = M.register_module_full_backward_hook(lambda m, gi, go: log.append("bwd " + type(m).__name__))
net(x.clone().requires_grad_()).sum().backward(); say(log)
attempt(lambda: M.register_module_backward_hook(lambda *a: None))
f.remove(); g.remove()
""",
    "full backward hooks": """
m = nn.Linear(2, 3); x = torch.ones(4, 2, requires_grad=True); log = []
m.register_full_backward_hook(lambda m, gi, go: log.append(("hook", gi, go)))
h = m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))
m.register_full_backward_pre_hook(lambda m, go: (go[0] * 2,))
m.register_full_backward_pre_hook(lambda m, go: log.append(("pre", go)), prepend=True)
(m(x) * 3).sum().backward()
say(log, x.grad, m.weight.grad, m.bias.grad)
h.remove(); x.grad = None; log.clear()
m(x).sum().backward(); say(log, x.grad)
attempt(lambda: m.register_backward_hook(lambda *a: None))
""",
    "backward hook counts": """
class Two(nn.Module):
    def forward(self, a, b, c):
        return a * b, a + 1
m = Two(); log = []
m.register_full_backward_hook(lambda m, gi, go: log.append((gi, go)))
a = torch.ones(2, requires_grad=True); b = torch.full((2,), 3.0)
p, q = m(a, b, "text"); p.sum().backward(); say(log, a.grad)
bad = m.register_full_backward_hook(lambda m, gi, go: (None,))
p, q = m(a, b, "text"); attempt(lambda: p.sum().backward())
bad.remove()
bad = m.register_full_backward_pre_hook(lambda m, go: (None,))
p, q = m(a, b, "text"); attempt(lambda: p.sum().backward())
""",
    "backward hook without input gradients": """
m = nn.Linear(2, 3); log = []
m.register_full_backward_hook(lambda m, gi, go: log.append((gi, go)))
y = m(torch.ones(4, 2))
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    y.sum().backward()
say(len(caught), str(caught[0].message)[:60], log, m.weight.grad)
m.register_full_backward_hook(lambda m, gi, go: (torch.ones(1),))
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    attempt(lambda: m(torch.ones(4, 2)).sum().backward())
with torch.no_grad():
    say(m(torch.ones(1, 2)))
""",
    "legacy backward hook": """
m = nn.Linear(2, 3); log = []
m.register_backward_hook(lambda m, gi, go: log.append(go))
attempt(lambda: m(torch.ones(4, 2, requires_grad=True)).sum().backward()); say(log)
attempt(lambda: m.register_full_backward_hook(lambda *a: None))
""",
    "tied and nested": """
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2, bias=False); self.b = nn.Linear(2, 2, bias=False); self.b.weight = self.a.weight
m = Tied(); say([n for n, _ in m.named_parameters()], list(m.state_dict()))
m.a.weight = nn.Parameter(torch.ones(2, 2)); say([n for n, _ in m.named_parameters()])
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    compare(PROGRAMS[name], pullback, torch)


def make_net():
    nn = pullback.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 2))
    net.register_buffer("offset", pullback.ones(1))
    return net


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["deepcopy", "pickle"]
)
def test_copies_are_equal_and_independent(duplicate):
    net = make_net()
    calls = []
    copied = duplicate(net)
    assert repr(copied) == repr(net)
    before = {name: tensor.detach().numpy().copy() for name, tensor in net.state_dict().items()}
    with pullback.no_grad():
        for parameter in copied.parameters():
            parameter.add_(1.0)
    copied[0].register_forward_hook(lambda *args: calls.append(1))
    net(pullback.ones(2, 3))
    assert calls == []
    for name, tensor in net.state_dict().items():
        if "running" not in name and "num_batches" not in name:
            assert (tensor.detach().numpy() == before[name]).all()


def test_hook_of_a_copied_module_sees_the_copy():
    net = make_net()
    seen = []
    net[0].register_load_state_dict_pre_hook(lambda module, *args: seen.append(module))
    copied = copy.deepcopy(net)
    copied.load_state_dict(copied.state_dict())
    assert seen == [copied[0]]


@pytest.mark.parametrize(
    "duplicate", [copy.deepcopy, lambda net: pickle.loads(pickle.dumps(net))], ids=["deepcopy", "pickle"]
)
def test_a_copied_lazy_module_takes_its_own_shapes(duplicate):
    lazy = pullback.nn.LazyConv2d(4, 3)
    copied = duplicate(lazy)
    assert copied(pullback.ones(1, 2, 5, 5)).shape == (1, 4, 3, 3)
    assert type(copied) is pullback.nn.Conv2d and len(copied._forward_pre_hooks) == 0
    assert lazy(pullback.ones(1, 3, 5, 5)).shape == (1, 4, 3, 3)


def test_a_handle_does_not_keep_a_module_alive():
    import gc
    import weakref

    net = make_net()
    handle = net.register_forward_hook(lambda *args: None)
    alive = weakref.ref(net)
    del net
    gc.collect()
    assert alive() is None
    handle.remove()


TO_ARGUMENTS = """
m.to("cpu", True)
m.to(None, True)
m.to(T.float64, "cpu")
m.to(T.float32, T.float32)
m.to(1, 2, 3)
m.to(1, True, 2)
m.to([])
m.to({}, non_blocking=True)
m.to(m)
m.to(x=1)
m.to(T.int64)
m.to("cpu", T.int64, True)
m.to(T.zeros(1), True, True)
m.to(T.zeros(1, dtype=T.int64))
m.to("cpu", T.float64, True)
m.to(None, T.float64)
m.to(T.float64, True)
m.to(T.zeros(1, dtype=T.float64), True)
m.to(dtype=T.float64, device="cpu", non_blocking=True)
"""


@pytest.mark.parametrize("line", TO_ARGUMENTS.strip().splitlines())
def test_the_arguments_of_to_are_read_as_in_torch(line):
    def outcome(module):
        model = module.nn.Linear(2, 2)
        try:
            eval(line, {"m": model, "T": module})
        except (TypeError, RuntimeError) as error:
            return type(error)
        return str(model.weight.dtype)

    assert outcome(pullback) == outcome(pytest.importorskip("torch"))


def test_a_subclass_may_register_buffers_without_asking_whether_they_persist():
    class Old(pullback.nn.Module):
        def register_buffer(self, name, value):
            super().register_buffer(name, value, True)

    module = Old()
    module.table = pullback.nn.Buffer(pullback.ones(2))
    assert list(module.state_dict()) == ["table"]


def test_a_buffer_does_not_take_the_name_of_a_plain_attribute():
    for library in (pullback, pytest.importorskip("torch")):
        module = library.nn.Module()
        module.table = 5
        with pytest.raises(KeyError, match="already exists"):
            module.table = library.nn.Buffer(library.ones(2))
        module.rows = library.nn.Buffer(library.ones(2))
        module.rows = library.nn.Buffer(library.zeros(2), persistent=False)
        assert module.table == 5 and not module.state_dict()


UNINITIALIZED = """
p.numel()
p.shape
p + p
p.clone()
p.norm()
p.dim()
len(p)
p.share_memory_()
T.empty_like(p)
T.nn.init.ones_(p)
T.nn.functional.linear(T.ones(1, 2), p)
T.optim.Adagrad([p])
sum(x.numel() for x in T.nn.LazyLinear(3).parameters())
T.nn.LazyConv2d(3, 2).share_memory()
"""


@pytest.mark.parametrize("line", UNINITIALIZED.strip().splitlines())
def test_a_parameter_without_a_shape_is_not_taken_for_an_empty_one(line):
    for library in (pullback, pytest.importorskip("torch")):
        with pytest.raises((ValueError, RuntimeError), match="uninitialized parameter"):
            eval(line, {"p": library.nn.UninitializedParameter(), "T": library})


def test_a_parameter_without_a_shape_has_a_dtype():
    for library in (pullback, pytest.importorskip("torch")):
        lazy = library.nn.LazyLinear(3).half()
        assert str(lazy.weight) == repr(lazy.weight) == "<UninitializedParameter>"
        lazy.cpu().weight.materialize(4)
        assert lazy.weight.shape == (4,) and lazy.weight.dtype is library.float16
        assert type(lazy.weight) is library.nn.Parameter
        stepper = library.optim.SGD(lazy.parameters(), lr=0.1)
        stepper.step()
        assert not list(stepper.state)


def test_complex_modules_come_with_a_warning():
    for library in (pullback, pytest.importorskip("torch")):
        with pytest.warns(UserWarning, match="Complex modules are a new feature"):
            module = library.nn.Linear(2, 2).to(library.complex64)
        assert module.weight.dtype is library.complex64


class Forwarding(pullback.nn.Module):
    """Asks another object for what it does not have."""

    def __init__(self):
        super().__init__()
        self.inner = pullback.nn.Linear(2, 3)
        self.register_buffer("count", pullback.zeros(1))

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(super().__getattr__("inner"), name)


def test_registered_names_are_found_in_the_registries():
    module, other = Forwarding(), Forwarding()
    assert module.inner is module._modules["inner"] and module.count is module._buffers["count"]
    assert module.weight is module.inner.weight and module.out_features == 3  # neither is its own
    replaced = module._modules["inner"] = pullback.nn.Identity()
    assert module.inner is replaced and other.inner is not replaced
    del module.inner
    with pytest.raises(AttributeError):
        module.inner  # noqa: B018
    module.inner = "a string"  # an attribute like any other
    assert module.inner == "a string" and isinstance(other.inner, pullback.nn.Linear)


def test_classes_do_not_have_what_their_modules_register():
    pullback.nn.Linear(2, 3), Forwarding()
    assert not hasattr(pullback.nn.Linear, "weight") and not hasattr(Forwarding, "inner")

    class Doubled(pullback.nn.Linear):
        """What parametrizations make: a class of its own whose `weight` is computed."""

    layer = Doubled(2, 3)
    Doubled.weight = property(lambda self: self._parameters["weight"] * 2)
    assert pullback.equal(layer.weight, layer._parameters["weight"] * 2)


def test_buffers_may_be_like_tensors():
    class Like:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return NotImplemented

    module, first, second = pullback.nn.Module(), Like(), Like()
    module.register_buffer("state", first)
    assert module.state is first and dict(module.named_buffers()) == {"state": first}
    module.state = second
    assert module._buffers["state"] is second
    with pytest.raises(TypeError, match="cannot assign 'int' object to buffer"):
        module.register_buffer("number", 3)


@pytest.mark.parametrize("kind", ["LazyLinear", "LazyConv2d", "LazyBatchNorm1d", "LazyConvTranspose3d"])
def test_modules_without_shapes_are_moved_and_cast(kind):
    sizes = {"LazyLinear": (3,), "LazyBatchNorm1d": ()}.get(kind, (3, 2))
    module = getattr(pullback.nn, kind)(*sizes).to("cpu").to(pullback.float64)
    assert {parameter.dtype for parameter in module.parameters()} == {pullback.float64}
