"""`nn.utils` against torch, and programs that need more of a layer than one call: masks, packed sequences, errors."""

import pytest
from nn.transcripts import compare

import pullback

torch = pytest.importorskip("torch")

PROGRAMS = {
    "clip norm": """
def make():
    torch.manual_seed(2)
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)); net(torch.ones(5, 3)).pow(2).sum().backward(); return net
for kind in (2.0, 1, float("inf"), 0.5):
    net = make(); say(nn.utils.clip_grad_norm_(net.parameters(), 0.7, kind), [p.grad for p in net.parameters()])
net = make(); say(nn.utils.clip_grad_norm_(net[0].weight, 1e9), net[0].weight.grad)
say(nn.utils.get_total_norm([p.grad for p in net.parameters()]))
nn.utils.clip_grads_with_norm_(net.parameters(), 0.1, torch.tensor(2.0)); say([p.grad for p in net.parameters()])
nn.utils.clip_grad_value_(net.parameters(), 0.01); say([p.grad for p in net.parameters()])
attempt(lambda: nn.utils.clip_grad_norm_((p for p in []), 1.0)); attempt(lambda: nn.utils.clip_grad_norm_([], 1.0))
net[0].weight.grad.fill_(float("nan"))
attempt(lambda: nn.utils.clip_grad_norm_(net.parameters(), 1.0, error_if_nonfinite=True))
attempt(lambda: nn.utils.clip_grad_norm(net[1].parameters(), 1.0))
""",
    "vectors": """
net = nn.Linear(2, 3); v = nn.utils.parameters_to_vector(net.parameters()); say(v, v.requires_grad)
nn.utils.vector_to_parameters(torch.arange(9.0), net.parameters()); say(net.weight, net.bias, net.weight.requires_grad)
attempt(lambda: nn.utils.vector_to_parameters([1.0], net.parameters()))
""",
    "pad": """
s = [torch.arange(n, dtype=torch.float32) for n in (3, 1, 2)]
R = nn.utils.rnn
say(R.pad_sequence(s), R.pad_sequence(s, batch_first=True, padding_value=-1.0), R.pad_sequence(s, padding_side="left"))
say(R.unpad_sequence(R.pad_sequence(s, True), torch.tensor([3, 1, 2]), True))
attempt(lambda: R.pad_sequence([])); attempt(lambda: R.pad_sequence(3))
""",
    "pack": """
R = nn.utils.rnn
x = torch.arange(24.0).reshape(4, 3, 2)
for kwargs in ({}, {"enforce_sorted": False}):
    p = R.pack_padded_sequence(x, [4, 2, 1], **kwargs); say(tuple(p)); say(R.pad_packed_sequence(p))
p = R.pack_padded_sequence(x.transpose(0, 1), torch.tensor([2, 4, 1]), batch_first=True, enforce_sorted=False)
say(tuple(p)); say(R.pad_packed_sequence(p, batch_first=True, padding_value=9.0, total_length=6))
say(R.unpack_sequence(p), tuple(R.pack_sequence([torch.ones(3), torch.ones(2)])), tuple(p.double())[0], p.is_cuda)
attempt(lambda: R.pack_padded_sequence(x, [1, 2, 4]))
attempt(lambda: R.pack_padded_sequence(x, [4, 2]))
attempt(lambda: R.pack_padded_sequence(x, [4, 2, 0]))
attempt(lambda: R.pad_packed_sequence(p, total_length=2))
say(R.invert_permutation(torch.tensor([2, 0, 1])), R.invert_permutation(None))
""",
    "packed recurrent": """
R = nn.utils.rnn
x = torch.linspace(-1, 1, 40).reshape(5, 4, 2).requires_grad_()
for kind, options in ((nn.RNN, {}), (nn.GRU, {"bidirectional": True, "num_layers": 2}), (nn.LSTM,
        {"bidirectional": True}),
                      (nn.LSTM, {"proj_size": 2, "num_layers": 2}), (nn.GRU, {"dropout": 0.4, "num_layers": 2})):
    torch.manual_seed(3); net = kind(2, 3, **options); x.grad = None
    packed = R.pack_padded_sequence(x, [2, 5, 5, 1], enforce_sorted=False)
    output, state = net(packed); say(tuple(output), state)
    (output.data.sum() + (state[0] if isinstance(state, tuple) else state).pow(2).sum()).backward()
    say(x.grad, [p.grad for p in net.parameters()])
    start = torch.ones(net.num_layers * (2 if net.bidirectional else 1), 4, net.proj_size or 3)
    if kind is not nn.LSTM: say(net.eval()(packed, start)[1])
""",
    "recurrent attributes": """
net = nn.LSTM(3, 4, 2, bidirectional=True)
say([[tuple(w.shape) for w in ws] for ws in net.all_weights], net._flat_weights_names, net.flatten_parameters())
""",
    "parametrize": """
import copy
P = nn.utils.parametrize
class Symmetric(nn.Module):
    def forward(self, x): return x.triu() + x.triu(1).transpose(-1, -2)
    def right_inverse(self, a): return a.triu()
class Double(nn.Module):
    def forward(self, x): return 2 * x
    def right_inverse(self, a): return a / 2
layer = nn.Linear(3, 3)
attempt(lambda: P.register_parametrization(layer, "weight", Symmetric()))
say(layer, type(layer).__name__, layer.weight, list(layer.state_dict()), [n for n, _ in layer.named_parameters()])
P.register_parametrization(layer, "weight", Double())
say(layer, layer.weight, P.is_parametrized(layer), P.is_parametrized(layer, "bias"))
layer.weight = torch.eye(3); say(layer.weight, layer.parametrizations.weight.original)
layer(torch.ones(1, 3)).sum().backward(); say(layer.parametrizations.weight.original.grad)
with P.cached(): say(layer.weight is layer.weight)
say(layer.weight is layer.weight, P.type_before_parametrizations(layer).__name__)
twin = copy.deepcopy(layer); twin.weight = torch.ones(3, 3); say(twin.weight, layer.weight)
other = P.transfer_parametrizations_and_params(layer, nn.Linear(3, 3)); say(other, other.weight)
P.remove_parametrizations(layer, "weight"); say(layer, type(layer).__name__, layer.weight, list(layer.state_dict()))
attempt(lambda: P.remove_parametrizations(layer, "weight"))
attempt(lambda: P.register_parametrization(layer, "nothing", Double()))
P.register_parametrization(layer, "weight", Double())
P.remove_parametrizations(layer, "weight", leave_parametrized=False); say(layer.weight)
import pickle
P.register_parametrization(layer, "bias", Double())
try:
    pickle.dumps(layer)
except RuntimeError as error:
    say(str(error)[:78])
""",
    "parametrize errors": """
P = nn.utils.parametrize
def kind(forward, inverse=None):
    members = {"forward": forward}
    if inverse: members["right_inverse"] = inverse
    return type("K", (nn.Module,), members)()
for p in (kind(lambda s, x: x.sum()), kind(lambda s, x: x.double()), kind(lambda s, x: 3),
          kind(lambda s, x: x, lambda s, x: 3), kind(lambda s, x: x, lambda s, x: x.double()),
          kind(lambda s, x: x, lambda s, x: [x, 3])):
    attempt(lambda: repr(P.register_parametrization(nn.Linear(2, 2), "weight", p)))
layer = nn.Linear(2, 2); P.register_parametrization(layer, "weight", kind(lambda s, x: x))
attempt(lambda: setattr(layer, "weight", torch.ones(2, 2)))
attempt(lambda: P.ParametrizationList([], torch.zeros(1)))
""",
    "weight norm": """
W = nn.utils.parametrizations.weight_norm
for layer, dim in ((nn.Linear(3, 2), 0), (nn.Conv2d(2, 3, 2), 1), (nn.Linear(3, 2), None)):
    W(layer, dim=dim); x = torch.ones(1, 3) if isinstance(layer, nn.Linear) else torch.ones(1, 2, 3, 3)
    y = layer(x); y.pow(2).sum().backward(); say(layer, y, layer.state_dict(), [p.grad for p in layer.parameters()])
layer = W(nn.Linear(2, 2)); old = {"bias": torch.zeros(2), "weight_g": torch.ones(2, 1), "weight_v": torch.eye(2)}
attempt(lambda: layer.load_state_dict(old)); say(layer.weight)
attempt(lambda: nn.utils.weight_norm(layer) and None)
layer = nn.Linear(3, 2); attempt(lambda: nn.utils.weight_norm(layer))
say(layer.state_dict(), [n for n, _ in layer.named_parameters()])
layer(torch.ones(1, 3)).sum().backward(); say([p.grad for p in layer.parameters()])
attempt(lambda: nn.utils.remove_weight_norm(layer)); say(layer.state_dict())
attempt(lambda: nn.utils.remove_weight_norm(layer))
""",
    "spectral norm": """
S = nn.utils.parametrizations.spectral_norm
for layer in (nn.Linear(3, 2), nn.Conv2d(2, 3, 2), nn.ConvTranspose2d(2, 3, 2)):
    torch.manual_seed(5); S(layer); x = torch.ones(1, 3) if isinstance(layer, nn.Linear) else torch.ones(1, 2, 3, 3)
    y = layer(x); y.pow(2).sum().backward(); say(layer, y, layer.state_dict(), [p.grad for p in layer.parameters()])
    say(layer.eval()(x), layer(x))
attempt(lambda: S(nn.Linear(2, 2), "nothing")); attempt(lambda: S(nn.Linear(2, 2), dim=5))
attempt(lambda: S(nn.Linear(2, 2), n_power_iterations=0))
say(S(nn.Linear(2, 2), "bias").bias)
torch.manual_seed(6); layer = nn.utils.spectral_norm(nn.Linear(3, 2))
say(layer.state_dict(), layer.state_dict()._metadata[""])
layer(torch.ones(1, 3)).sum().backward(); say(layer.weight_orig.grad, layer.weight, layer.eval()(torch.ones(1, 3)))
nn.utils.remove_spectral_norm(layer); say(layer.state_dict()); attempt(lambda: nn.utils.remove_spectral_norm(layer))
attempt(lambda: nn.utils.spectral_norm(nn.Linear(2, 2), n_power_iterations=0))
""",
    "spectral norm, older states": """
for make in (lambda: nn.Linear(2, 2), lambda: nn.ConvTranspose2d(2, 2, 1)):
    torch.manual_seed(6); layer = nn.utils.spectral_norm(make(), n_power_iterations=30)
    x = torch.ones(1, 2) if isinstance(layer, nn.Linear) else torch.ones(1, 2, 3, 3)
    layer(x); state = layer.state_dict(); del state["weight_v"]; state["weight"] = layer.weight.detach().clone()
    for part in (state._metadata, state._metadata[""]): part.pop("spectral_norm", None)
    other = nn.utils.spectral_norm(make()); say(other.load_state_dict(state), other.eval()(x), other.weight_v)
    say("weight" in state, layer.load_state_dict(layer.state_dict()))
    state = layer.state_dict(); state._metadata[""].pop("spectral_norm")
    say(other.load_state_dict(state)); del state["weight_u"]
    attempt(lambda: other.load_state_dict(state, strict=False) and None)
    nn.utils.remove_spectral_norm(other); say([name for name, _ in other.named_parameters()])
""",
    "orthogonal": """
O = nn.utils.parametrizations.orthogonal
for shape in ((3, 3), (4, 2), (2, 4)):
    for kind in (None, "matrix_exp", "cayley", "householder"):
        for trivial in (True, False):
            torch.manual_seed(7); layer = nn.Linear(*shape, bias=False).double()
            attempt(lambda: repr(O(layer, orthogonal_map=kind, use_trivialization=trivial)))
            layer.weight.pow(3).sum().backward()
            say(layer.weight, layer.parametrizations.weight.original.grad)
            if trivial: layer.weight = nn.init.orthogonal_(torch.empty_like(layer.weight)); say(layer.weight)
attempt(lambda: O(nn.Linear(2, 2), "bias")); attempt(lambda: O(nn.Linear(2, 2), "none"))
attempt(lambda: O(nn.Linear(2, 2), orthogonal_map="x"))
""",
    "prune": """
from importlib import import_module
P = nn.utils.prune if hasattr(nn.utils, "prune") else import_module(nn.__name__ + ".utils.prune")
def fresh(): torch.manual_seed(8); return nn.Linear(4, 3)
for name, args in (("identity", ()), ("random_unstructured", (3,)), ("random_unstructured", (0.5,)),
        ("l1_unstructured", (0.4,)),
                   ("random_structured", (1, 0)), ("ln_structured", (0.5, 2, 1)), ("ln_structured", (1, float("inf"),
                           0))):
    layer = fresh()
    say(getattr(P, name)(layer, "weight", *args) is layer, layer.weight, layer.state_dict(), P.is_pruned(layer))
    layer(torch.ones(1, 4)).sum().backward(); say(layer.weight_orig.grad)
layer = fresh(); P.custom_from_mask(layer, "bias", torch.tensor([1.0, 0.0, 1.0])); say(layer.bias)
layer = fresh(); P.l1_unstructured(layer, "weight", 2); P.ln_structured(layer, "weight", 1, 1, 0)
P.random_unstructured(layer, "weight", 2)
say(layer.weight, len(layer._forward_pre_hooks), len(list(layer._forward_pre_hooks.values())[0]))
P.remove(layer, "weight"); say(layer.state_dict(), P.is_pruned(layer)); attempt(lambda: P.remove(layer, "weight"))
a, b = fresh(), nn.Linear(3, 2); P.global_unstructured([(a, "weight"), (b, "weight")], P.L1Unstructured, amount=0.3)
say(a.weight, b.weight)
for amount in (-1, 1.5, "x", 100): attempt(lambda: P.l1_unstructured(fresh(), "weight", amount) and None)
attempt(lambda: P.random_structured(fresh(), "bias", 1, 0) and None)
attempt(lambda: P.random_structured(fresh(), "weight", 1, 5) and None)
attempt(lambda: P.global_unstructured(3, P.L1Unstructured))
attempt(lambda: P.global_unstructured([(fresh(), "weight")], P.LnStructured, amount=1, n=1))
say(P.L1Unstructured(2).prune(torch.tensor([3.0, 1.0, 2.0])))
""",
    "stateless": """
S = nn.utils.stateless
net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)); x = torch.tensor([[1.0, 2.0], [3.0, 5.0]])
w = torch.ones(2, 2, requires_grad=True)
given = {"0.weight": w, "1.running_mean": torch.full((2,), 3.0)}
y = S._functional_call(net, given, x); y.pow(3).sum().backward()
say(y, w.grad, given, net.state_dict(), [p.grad for p in net.parameters()])
attempt(lambda: S.functional_call(net, {"0.weight": w}, (x,)))
attempt(lambda: S._functional_call(net, {"0.weight": w, "no": w}, x, strict=True))
class Tied(nn.Module):
    def __init__(self):
        super().__init__(); self.a = nn.Linear(2, 2, bias=False); self.b = nn.Linear(2, 2, bias=False)
        self.b.weight = self.a.weight
    def forward(self, x, scale=1.0): return self.b(self.a(x)) * scale
t = Tied()
say(S._functional_call(t, {"a.weight": w}, x), S._functional_call(t, {"a.weight": w}, x, {"scale": 2.0},
        tie_weights=False))
attempt(lambda: S._functional_call(t, {"a.weight": w, "b.weight": w * 2}, x))
class Bad(nn.Linear):
    def forward(self, x): raise KeyError("x")
bad = Bad(2, 2); own = bad.weight; attempt(lambda: S._functional_call(bad, {"weight": w}, x)); say(bad.weight is own)
class Looks(nn.Module):
    def __init__(self): super().__init__(); self.inner = nn.Linear(1, 1); self.plain = 0.0
    def forward(self, x): return [n for n, _ in self.named_parameters()], getattr(self, "extra", None), self.inner.bias
looks = Looks(); own = torch.ones(1, 1)
for value in (own, nn.Parameter(own), 3, None): attempt(lambda: S._functional_call(looks, {"extra": value}, x))
for value in (own, 3, None): attempt(lambda: S._functional_call(looks, {"inner.bias": value}, x))
for name in ("plain", "inner", "inner.", "", "outer.weight", "inner.weight.x"):
    attempt(lambda: S._functional_call(looks, {name: own}, x))
say(list(looks.state_dict()), hasattr(looks, "extra"))
""",
    "fusion": """
conv, norm = nn.Conv2d(2, 3, 2), nn.BatchNorm2d(3); x = torch.linspace(-1, 1, 36).reshape(2, 2, 3, 3)
norm(conv(x)); conv.eval(); norm.eval(); fused = nn.utils.fuse_conv_bn_eval(conv, norm)
say(fused, fused(x) - norm(conv(x)))
say(fused.weight, fused.bias, fused.weight.requires_grad)
linear, norm1 = nn.Linear(2, 3).eval(), nn.BatchNorm1d(3).eval(); fused = nn.utils.fuse_linear_bn_eval(linear, norm1)
say(fused.weight, fused.bias)
attempt(lambda: nn.utils.fuse_conv_bn_eval(conv.train(), norm))
attempt(lambda: nn.utils.fuse_linear_bn_eval(nn.Linear(2, 4).eval(), norm1))
""",
    "skip init": """
layer = nn.utils.skip_init(nn.Linear, 3, 2); say(tuple(layer.weight.shape), layer, torch.rand(2))
attempt(lambda: nn.utils.skip_init(nn.ReLU)); attempt(lambda: nn.utils.skip_init(dict))
""",
    "sync batch norm": """
net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3), nn.Sequential(nn.BatchNorm2d(2, affine=False))).eval()
new = nn.SyncBatchNorm.convert_sync_batchnorm(net); say(new, list(new.state_dict()), new[1].training, new is net)
attempt(lambda: nn.SyncBatchNorm(2)(torch.ones(3)))
""",
    "attention masks": """
torch.manual_seed(1); mha = nn.MultiheadAttention(4, 2, batch_first=True); x = torch.randn(2, 3, 4)
pad = torch.tensor([[False, False, True], [False, False, False]])
causal = torch.triu(torch.ones(3, 3, dtype=torch.bool), 1)
for kwargs in ({"key_padding_mask": pad}, {"attn_mask": causal}, {"attn_mask": causal, "key_padding_mask": pad,
        "need_weights": False},
               {"average_attn_weights": False}, {"attn_mask": nn.Transformer.generate_square_subsequent_mask(3),
                       "is_causal": True, "need_weights": False}):
    say(mha(x, x, x, **kwargs))
layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
enc = nn.TransformerEncoder(layer, 2, nn.LayerNorm(4))
say(enc(x, src_key_padding_mask=pad), enc.eval()(x, src_key_padding_mask=pad))
with torch.no_grad():
    say(enc(x, src_key_padding_mask=pad), enc(x, mask=causal), enc(x), enc(x, src_key_padding_mask=pad.flip(1)))
attempt(lambda: repr(nn.TransformerEncoder(nn.TransformerEncoderLayer(4, 1, 8), 1)))
attempt(lambda: nn.MultiheadAttention(5, 2)); attempt(lambda: nn.MultiheadAttention(0, 2))
attempt(lambda: nn.TransformerEncoderLayer(4, 2, activation="x"))
t = nn.Transformer(4, 2, 1, 1, 8, dropout=0.0); y = torch.randn(3, 2, 4)
say(t(y, y, tgt_mask=t.generate_square_subsequent_mask(3)), t.generate_square_subsequent_mask(2, dtype=torch.float64))
attempt(lambda: t(y, y[:, :1])); attempt(lambda: t(y[..., :2], y))
""",
    "data parallel": """
d = nn.DataParallel(nn.Linear(2, 2)); say(d, list(d.state_dict()), d(torch.ones(1, 2)), d.module)
""",
    "attention kernels": """
A = nn.attention
with A.sdpa_kernel([A.SDPBackend.MATH, A.SDPBackend.FLASH_ATTENTION]):
    say(int(A.SDPBackend.MATH), A.SDPBackend.MATH.name)
with A.sdpa_kernel(A.SDPBackend.MATH): say(int(A.SDPBackend.CUDNN_ATTENTION))
attempt(lambda: A.sdpa_kernel("x").__enter__())
""",
    "ctc": """
lp = torch.log_softmax(torch.linspace(-1, 1, 60).reshape(5, 3, 4), 2).requires_grad_()
loss = nn.CTCLoss(blank=1, zero_infinity=True)(lp, torch.tensor([[0, 2], [3, 0], [2, 2]]), torch.tensor([5, 4, 3]),
        torch.tensor([2, 1, 2]))
loss.backward(); say(loss, lp.grad, nn.CTCLoss())
""",
    "adaptive": """
torch.manual_seed(2); m = nn.AdaptiveLogSoftmaxWithLoss(6, 10, [3, 6], div_value=2.0); x = torch.randn(7, 6)
say(m.log_prob(x), m.predict(x), m(x[0], torch.tensor(7)))
attempt(lambda: m(x, torch.full((7,), 10))); attempt(lambda: m(x[:2], torch.zeros(3, dtype=torch.long)))
attempt(lambda: m(x, torch.zeros(7, 1)))
for cutoffs in ([], [5, 3], [3, 3], [0, 2], [10], [2.5]):
    attempt(lambda: nn.AdaptiveLogSoftmaxWithLoss(6, 10, cutoffs))
""",
    "unpool and transpose sizes": """
x = torch.linspace(-1, 1, 60).reshape(1, 2, 30); y, i = nn.MaxPool1d(2, return_indices=True)(x)
say(nn.MaxUnpool1d(2)(y, i), nn.MaxUnpool1d(2)(y, i, output_size=[1, 2, 31]))
t = nn.ConvTranspose2d(2, 3, 3, stride=2, padding=1); z = torch.ones(1, 2, 4, 4)
say(t(z, output_size=[8, 8]), t(z, output_size=[1, 3, 7, 8])); attempt(lambda: t(z, output_size=[9, 9]))
attempt(lambda: t(z, [1]))
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    compare(PROGRAMS[name], pullback, torch)


def test_import_paths():
    import importlib

    for path in (
        "nn.modules.module",
        "nn.modules.linear",
        "nn.modules.conv",
        "nn.modules.activation",
        "nn.modules.batchnorm",
        "nn.modules.normalization",
        "nn.modules.loss",
        "nn.modules.rnn",
        "nn.modules.transformer",
        "nn.modules.utils",
        "nn.modules.lazy",
        "nn.utils.rnn",
        "nn.utils.clip_grad",
        "nn.utils.prune",
        "nn.utils.weight_norm",
        "nn.utils.spectral_norm",
        "nn.common_types",
        "nn.init",
    ):
        module = importlib.import_module(f"pullback.{path}")
        theirs = importlib.import_module(f"torch.{path}")
        public = [name for name in getattr(theirs, "__all__", []) if "Hook" not in name]
        assert [name for name in public if not hasattr(module, name)] == [], path
    assert callable(pullback.nn.utils.weight_norm) and callable(pullback.nn.utils.spectral_norm)
