"""Low-rank adapters, quantization with straight-through gradients, pruning, parametrizations, experts, distillation."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.nn.utils.parametrize as P
import torch.nn.utils.prune as prune
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

torch.manual_seed(6)


class Adapted(nn.Module):
    """A frozen layer plus a low-rank correction that can be added to its weight."""

    def __init__(self, base, rank=4, strength=2.0):
        super().__init__()
        self.base, self.strength, self.merged = base.requires_grad_(False), strength, False
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / math.sqrt(rank))
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def correction(self):
        return self.strength * self.up @ self.down

    @torch.no_grad()
    def merge(self, on):
        if on != self.merged:
            self.base.weight.add_(self.correction(), alpha=1 if on else -1)
            self.merged = on

    def forward(self, x):
        out = self.base(x)
        return out if self.merged else out + F.linear(x, self.correction())


m = nn.Sequential(Adapted(nn.Linear(6, 8)), nn.ReLU(), Adapted(nn.Linear(8, 3)))
tr = sum(p.numel() for p in m.parameters() if p.requires_grad)
al = sum(p.numel() for p in m.parameters())
print(f"{tr} of {al} parameters are trained: {100 * tr / al:.2f} %")
opt = torch.optim.AdamW([p for p in m.parameters() if p.requires_grad], lr=1e-2)
x, y = torch.randn(20, 6), torch.randint(0, 3, (20,))
for _i in range(10):
    l = F.cross_entropy(m(x), y)
    opt.zero_grad()
    l.backward()
    opt.step()
a = m(x)
m[0].merge(True)
m[2].merge(True)
b = m(x)
m[0].merge(False)
print(f"{l.item():.5f}", torch.allclose(a, b, atol=1e-5), m[0].merged, m[0].base.weight.grad, m)


# quantisation aware training with straight-through
class RoundSTE(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bits):
        s = x.abs().max() / (2 ** (bits - 1) - 1)
        ctx.mark_non_differentiable(s)
        ctx.save_for_backward(x, s)
        return torch.round(x / s).clamp_(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) * s, s

    @staticmethod
    def backward(ctx, g, gs):
        x, s = ctx.saved_tensors
        return g * (x.abs() <= 127 * s), None


class QLinear(nn.Linear):
    def forward(self, x):
        w, self.s = RoundSTE.apply(self.weight, 4)
        xq = x + (torch.fake_quantize_per_tensor_affine(x, 0.05, 0, -128, 127) - x).detach()
        return F.linear(xq, w, self.bias)


q = nn.Sequential(QLinear(6, 16), nn.Hardtanh(), QLinear(16, 3))
oq = torch.optim.SGD(q.parameters(), 0.2, momentum=0.8)
for _i in range(10):
    l = F.cross_entropy(q(x), y)
    oq.zero_grad()
    l.backward()
    oq.step()
print("qat", f"{l.item():.5f}", q[0].s, torch.unique((q[0].weight / q[0].s).round()).numel())


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sign()

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g = g.clone()
        g[x.gt(1)] = 0
        g[x.lt(-1)] = 0
        return g


b = torch.randn(5, requires_grad=True)
Sign.apply(b * 2).sum().backward()
print(b, b.grad)
# pruning
net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3))
prune.l1_unstructured(net[0], "weight", amount=0.3)
prune.random_unstructured(net[0], name="bias", amount=1)
print(
    list(net[0].named_buffers()),
    [n for n, _ in net[0].named_parameters()],
    net[0]._forward_pre_hooks.values().__len__(),
)
prune.ln_structured(net[3], "weight", amount=0.34, n=2, dim=0)
print(net[3].weight_mask, net[3].weight.abs().sum(1))
prune.global_unstructured([(net[0], "weight"), (net[3], "weight")], pruning_method=prune.L1Unstructured, amount=0.2)
print([float((m.weight == 0).float().mean()) for m in (net[0], net[3])], prune.is_pruned(net))
net(torch.randn(2, 1, 4, 4)).sum().backward()
print(net[0].weight_orig.grad.flatten()[:5])
prune.remove(net[0], "weight")
print(sorted(net.state_dict()))


class EveryOther(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        m = default_mask.clone()
        m.view(-1)[::2] = 0
        return m


EveryOther.apply(net[3], "bias")
print(net[3].bias, net[3].bias_mask)
try:
    prune.l1_unstructured(net[3], "bias", amount=1.5)
except ValueError as e:
    print(e)
# parametrizations
l = orthogonal(nn.Linear(4, 4))
print((l.weight @ l.weight.T - torch.eye(4)).abs().max() < 1e-5, l)
l2 = orthogonal(nn.Linear(5, 3), orthogonal_map="cayley" if False else "householder")
print(torch.dist(l2.weight @ l2.weight.T, torch.eye(3)) < 1e-5, [n for n, _ in l2.named_parameters()])
s = spectral_norm(nn.Linear(5, 4), n_power_iterations=3)
s(torch.randn(2, 5))
print(torch.linalg.matrix_norm(s.weight, 2), [n for n, _ in s.named_buffers()])
wn = weight_norm(nn.Conv1d(2, 3, 3), dim=0)
print(wn, wn.parametrizations.weight.original0.shape, [n for n, _ in wn.named_parameters()])


class Sym(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


class MatExp(nn.Module):
    def forward(self, X):
        return torch.matrix_exp(X - X.mT)


lin = nn.Linear(3, 3)
P.register_parametrization(lin, "weight", Sym())
print(lin.weight.equal(lin.weight.T), lin.parametrizations, P.is_parametrized(lin, "weight"))
with P.cached():
    print(lin.weight is lin.weight)
lin.weight = torch.arange(9.0).view(3, 3)
print(lin.weight, lin.parametrizations.weight.original)
P.remove_parametrizations(lin, "weight")
print(type(lin).__name__, lin.weight.requires_grad)
rot = nn.Linear(3, 3, bias=False)
P.register_parametrization(rot, "weight", MatExp(), unsafe=False)
print(torch.det(rot.weight))
old = torch.nn.utils.spectral_norm(nn.Linear(3, 2))
print(old, sorted(old.state_dict()))
torch.nn.utils.remove_spectral_norm(old)


# distillation and mixture of experts with a zero gate
class Experts(nn.Module):
    """Each row goes to the best two of several layers, by a gate that starts even."""

    def __init__(self, d=6, n=4, k=2):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(d, d) for _ in range(n)])
        self.gate = nn.Parameter(torch.zeros(d, n))
        self.k = k

    def forward(self, x):
        scores = x @ self.gate
        if self.training:
            scores = scores + 0.5 * torch.randn_like(scores)
        best, which = scores.topk(self.k, dim=1)
        self.g = torch.zeros_like(scores).scatter(1, which, best.softmax(1))
        out = torch.zeros_like(x)
        for i, layer in enumerate(self.layers):
            rows = self.g[:, i].nonzero().flatten()
            out = out.index_add(0, rows, layer(x[rows]) * self.g[rows, i : i + 1])
        return out


moe = Experts()
moe.eval()
print(moe(x[:4]), moe.g[:3])
moe.train()
om = torch.optim.Adam(moe.parameters(), 0.01)
for _i in range(8):
    l = F.mse_loss(moe(x), x.flip(1))
    om.zero_grad()
    l.backward()
    om.step()
print(f"{l.item():.5f}", moe.g.sum(0))
t, sl = torch.randn(8, 5), torch.randn(8, 5, requires_grad=True)
T = 3.0
kd = nn.KLDivLoss(reduction="batchmean", log_target=False)(F.log_softmax(sl / T, 1), F.softmax(t / T, 1)) * T * T
kd.backward()
print(kd, sl.grad.norm(), F.kl_div(F.log_softmax(sl, 1), F.log_softmax(t, 1), reduction="sum", log_target=True))
