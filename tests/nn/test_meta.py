"""Models on the meta device: built without elements and without random numbers, counted, and filled later."""

import pytest
from nn.transcripts import compare

import pullback
from pullback.shell.torch_function import while_everything_asks

torch = pytest.importorskip("torch")

LAYERS = [
    "nn.Linear(2, 3, device=d)", "nn.Conv2d(2, 3, 3, device=d)", "nn.BatchNorm2d(3, device=d)", "nn.LayerNorm(3, device=d)",
    "nn.Embedding(4, 3, padding_idx=1, device=d)", "nn.LSTM(2, 3, device=d)", "nn.MultiheadAttention(4, 2, device=d)",
    "nn.Transformer(4, 2, 1, 1, 8, device=d)", "nn.PReLU(device=d)", "nn.EmbeddingBag(3, 2, device=d)",
    "nn.GRUCell(2, 3, device=d)", "nn.InstanceNorm1d(2, affine=True, track_running_stats=True, device=d)",
]  # fmt: skip

PROGRAMS = {
    "tensors": """
x = torch.empty(2, 3, device="meta")
say(repr(x), repr(nn.Parameter(x)), repr(torch.ones(2, dtype=torch.int64, device="meta")))
say(tuple(x.shape), x.numel(), x.dim(), x.stride(), x.dtype, x.is_meta, x.is_cpu, str(x.device), x.element_size(), len(x))
say([tuple(y.shape) for y in (x.view(6), x[0], x.t(), x.reshape(3, 2), x[:, 1:], x.unsqueeze(0), x.flatten(), x.clone())])
say(x.to(torch.float64).dtype, x.half().dtype, x.to("meta") is x, str(torch.zeros(2).to("meta").device))
say(torch.ones(2, 2).to("meta", torch.float64).dtype, torch.zeros_like(x, device="cpu"), str(torch.empty_like(x).device))
say([y is x for y in (x.zero_(), x.fill_(3), x.normal_(), x.copy_(torch.ones(2, 3)))])
say(nn.Parameter(x).requires_grad, nn.Parameter(x, requires_grad=False).requires_grad, str(x.data.device))
""",
    "context": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.table, self.scale = nn.Linear(2, 2), nn.Embedding(3, 2), nn.Parameter(torch.ones(3))
        self.register_buffer("steps", torch.arange(3))
        self.register_buffer("start", torch.tensor([1.0, 2.0]))
        nn.init.trunc_normal_(self.linear.weight, std=0.02)
        nn.init.orthogonal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)
with torch.device("meta"):
    model = Model()
    say(str(torch.empty(2).device), str(torch.zeros(2, device="cpu").device), str(torch.get_default_device()))
    with torch.device("cpu"):
        say(str(torch.empty(1).device))
say(str(torch.empty(2).device))
say([(name, str(value.device), tuple(value.shape), value.dtype) for name, value in model.state_dict().items()])
model.load_state_dict(Model().state_dict(), assign=True)
say(model.linear(torch.ones(1, 2)), model.table(torch.tensor([1])), model.steps)
""",
    "default": """
torch.set_default_device("meta")
say(str(torch.empty(2).device), str(torch.get_default_device()))
torch.set_default_device("cpu")
say(str(torch.empty(2).device), str(torch.get_default_device()))
torch.set_default_device(None)  # in torch a default device is a mode, which changes what its layers do
say(str(torch.get_default_device()))
""",
    "modules": """
import copy
m = nn.Linear(2, 3, device="meta")
say(m.double().weight.dtype, str(m.weight.device), sum(p.numel() for p in m.parameters()), repr(m))
c = copy.deepcopy(m); say(str(c.weight.device), c.weight is m.weight)
m.requires_grad_(False).to_empty(device="cpu"); say(m.weight.requires_grad, m.weight.dtype, str(m.weight.device))
m = nn.Linear(2, 3).to("meta"); say(str(m.weight.device), isinstance(m.weight, nn.Parameter))
attempt(lambda: m.load_state_dict(nn.Linear(2, 3).state_dict())); say(str(m.weight.device))
attempt(lambda: m.load_state_dict({"weight": torch.ones(1, 1), "bias": torch.ones(3)}, assign=True))
m = nn.Sequential(nn.Linear(2, 2, device="meta"), nn.Linear(2, 2)); m.to_empty(device="cpu", recurse=False)
say(str(m[0].weight.device))
""",
    "filled one by one": """
m = nn.Linear(2, 3, device="meta")
say(m.weight.data_ptr(), m.weight.untyped_storage().data_ptr(), m.weight.untyped_storage().nbytes())
for name, parameter in list(m.named_parameters()):
    filled = type(parameter)(torch.ones(parameter.shape), requires_grad=parameter.requires_grad)
    say(type(filled).__name__, str(filled.device), filled.requires_grad)
    m._parameters[name] = filled
say(m(torch.ones(1, 2)), str(type(parameter)(parameter.to("meta")).device))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    compare(PROGRAMS[name], pullback, torch)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_without_elements(layer):
    compare(
        f"""
    before = torch.get_rng_state()
    make = lambda d: {layer}
    m = make("meta")
    say(bool((torch.get_rng_state() == before).all()), repr(m))
    say([(n, tuple(p.shape), p.dtype, str(p.device), p.requires_grad) for n, p in m.state_dict(keep_vars=True).items()])
    m.load_state_dict(make("cpu").state_dict(), assign=True)
    say(m.state_dict(), [p.requires_grad for p in m.parameters()])
    m = make("meta").to_empty(device="cpu")
    say([(str(p.device), tuple(p.shape), p.requires_grad, type(p).__name__) for p in m.state_dict(keep_vars=True).values()])
    """,
        pullback,
        torch,
    )


def test_operations_give_shapes():
    compare(
        """
    with torch.device("meta"):
        steps = torch.arange(0, 8, 2, dtype=torch.float32)
        rates = 1.0 / (10000 ** (steps / 8))
        angles = torch.outer(torch.arange(5).float(), rates)
        mask = torch.triu(torch.ones(5, 5), diagonal=1).bool()
        table = torch.cat([angles.sin(), angles.cos()], dim=-1) * 2 + torch.randn(8)
        top, places = torch.randn(3, 5).topk(2)
        out = nn.Sequential(nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Linear(4 * 36, 2))(torch.randn(1, 3, 8, 8))
        loss = nn.functional.cross_entropy(out, torch.zeros(1, dtype=torch.int64))
    for x in (steps, rates, angles, mask, table, top, places, out, loss, table.T[1:], mask.sum(), table.view(2, 20)):
        say(tuple(x.shape), x.dtype, str(x.device))
    """,
        pullback,
        torch,
    )


USES = {
    "to": lambda x: x.to("cpu"), "cpu": lambda x: x.cpu(), "numpy": lambda x: x.numpy(), "item": lambda x: x.item(),
    "operator": lambda x: pullback.ones(2, 3) + x, "list": lambda x: x.tolist(), "truth": lambda x: bool(x.sum()),
    "layer": lambda x: pullback.nn.functional.linear(pullback.ones(1, 3), x),
    "module": lambda x: pullback.nn.Linear(3, 2, device="meta").to("cpu"),
}  # fmt: skip


@pytest.mark.parametrize("use", USES)
def test_what_needs_elements_is_refused(use):
    with pytest.raises(RuntimeError, match=r"Cannot copy out of meta tensor; no data!.*to_empty\(\)"):
        USES[use](pullback.empty(2, 3, device="meta"))


def test_layers_too_large_for_any_memory():
    layer = pullback.nn.Conv2d(20_000, 320_000, kernel_size=3, device="meta")
    assert layer.weight.shape == (320_000, 20_000, 3, 3) and layer.weight.is_meta
    with pullback.device("meta"):
        assert pullback.zeros(10**7, 10**7).numel() == 10**14 and pullback.ones(10**7, 10**7).is_meta


def test_while_a_program_is_traced():
    """Attributes of tensors are other objects then, and are still the tensor's own."""
    layer = pullback.nn.Linear(2, 3, device="meta")
    with while_everything_asks():
        assert layer.weight.requires_grad and layer.weight.is_leaf and layer.weight.grad is None
