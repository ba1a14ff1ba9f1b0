"""Learning to learn: MAML by hand and by torch.func, Reptile, prototypes, hypernetworks, ensembles, a learned optimizer."""

import copy
import math
from collections import OrderedDict

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, stack_module_state, vmap

torch.manual_seed(8)


class Sine:
    def __init__(self):
        self.a = torch.empty(1).uniform_(0.1, 5.0).item()
        self.p = torch.empty(1).uniform_(0, math.pi).item()

    def draw(self, n):
        x = torch.rand(n, 1) * 10 - 5
        return x, self.a * torch.sin(x + self.p)


net = nn.Sequential(
    OrderedDict(
        [
            ("l1", nn.Linear(1, 24)),
            ("r1", nn.ReLU()),
            ("l2", nn.Linear(24, 24)),
            ("r2", nn.ReLU()),
            ("l3", nn.Linear(24, 1)),
        ]
    )
)


# MAML by functional weights
class MAML:
    def __init__(self, m, inner=0.01, meta=1e-3):
        self.m, self.inner = m, inner
        self.opt = torch.optim.Adam(m.parameters(), meta)

    def fwd(self, x, w):
        x = F.relu(F.linear(x, w[0], w[1]))
        x = F.relu(F.linear(x, w[2], w[3]))
        return F.linear(x, w[4], w[5])

    def loop(self, task, first_order=False):
        w = list(self.m.parameters())
        x, y = task.draw(10)
        for _s in range(2):
            l = F.mse_loss(self.fwd(x, w), y) / 10
            g = torch.autograd.grad(l, w, create_graph=not first_order)
            w = [p - self.inner * gg for p, gg in zip(w, g)]
        x, y = task.draw(10)
        return F.mse_loss(self.fwd(x, w), y) / 10

    def step(self, n, fo):
        self.opt.zero_grad()
        l = sum(self.loop(Sine(), fo) for _ in range(n)) / n
        l.backward()
        self.opt.step()
        return l.item()


for fo in (False, True):
    mm = MAML(copy.deepcopy(net))
    print(fo, [f"{mm.step(4, fo):.5f}" for _ in range(5)])
# MAML by torch.func over a batch of tasks
params = {k: v.detach().clone().requires_grad_() for k, v in net.named_parameters()}
opt = torch.optim.SGD(params.values(), 0.05)


def task_loss(pr, xs, ys, xq, yq):
    f = lambda p: F.mse_loss(functional_call(net, p, (xs,)), ys)
    g = grad(f)(pr)
    new = {k: pr[k] - 0.01 * g[k] for k in pr}
    return F.mse_loss(functional_call(net, new, (xq,)), yq)


for i in range(4):
    ts = [Sine() for _ in range(5)]
    S = [t.draw(8) for t in ts]
    Q = [t.draw(8) for t in ts]
    st = lambda L, j: torch.stack([a[j] for a in L])
    l = vmap(task_loss, in_dims=(None, 0, 0, 0, 0))(params, st(S, 0), st(S, 1), st(Q, 0), st(Q, 1))
    opt.zero_grad()
    l.mean().backward()
    opt.step()
    print(i, l.detach())
# Reptile
rep = copy.deepcopy(net)
w0 = copy.deepcopy(rep.state_dict())
for it in range(4):
    before = copy.deepcopy(rep.state_dict())
    so = torch.optim.SGD(rep.parameters(), 0.02)
    t = Sine()
    x, y = t.draw(20)
    for _k in range(3):
        so.zero_grad()
        l = (rep(x) - y).pow(2).mean()
        l.backward()
        so.step()
    after = rep.state_dict()
    rep.load_state_dict({n: before[n] + (after[n] - before[n]) * 0.1 * (1 - it / 4) for n in before})
print("reptile", f"{l.item():.5f}", {n: f"{(rep.state_dict()[n] - w0[n]).norm().item():.6f}" for n in w0})
# prototypical and matching networks
enc = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1),
    nn.BatchNorm2d(8, track_running_stats=False),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
)
po = torch.optim.RMSprop(enc.parameters(), 1e-3, alpha=0.95)
for _ep in range(4):
    way, shot, qn = 4, 2, 3
    base = torch.randn(way, 1, 8, 8)
    sup = base.repeat_interleave(shot, 0) + 0.3 * torch.randn(way * shot, 1, 8, 8)
    qry = base.repeat_interleave(qn, 0) + 0.3 * torch.randn(way * qn, 1, 8, 8)
    zs = enc(torch.cat([sup, qry]))
    proto = zs[: way * shot].view(way, shot, -1).mean(1)
    d = torch.cdist(zs[way * shot :].unsqueeze(0), proto.unsqueeze(0)).squeeze(0).pow(2)
    y = torch.arange(way).repeat_interleave(qn)
    l = F.cross_entropy(-d, y)
    po.zero_grad()
    l.backward()
    po.step()
    at = (
        F.softmax(F.cosine_similarity(zs[way * shot :, None], zs[None, : way * shot], dim=-1), 1)
        @ F.one_hot(torch.arange(way).repeat_interleave(shot)).float()
    )
    print(
        f"{l.item():.5f}",
        (d.argmin(1) == y).float().mean().item(),
        f"{F.nll_loss(at.clamp(1e-8, 1 - 1e-8).log(), y).item():.5f}",
    )


# hypernetwork
class Hyper(nn.Module):
    def __init__(self):
        super().__init__()
        self.shapes = [(8, 3), (8,), (2, 8), (2,)]
        self.h = nn.Sequential(nn.Linear(4, 16), nn.SELU(), nn.Linear(16, sum(math.prod(s) for s in self.shapes)))
        self.z = nn.Parameter(torch.randn(3, 4))

    def forward(self, x, t):
        w = [p.view(s) for p, s in zip(self.h(self.z[t]).split([math.prod(s) for s in self.shapes]), self.shapes)]
        return F.linear(F.mish(F.linear(x, w[0], w[1])), w[2], w[3])


hy = Hyper()
ho = torch.optim.RAdam(hy.parameters(), 1e-2)
X = torch.randn(6, 3)
for _ in range(10):
    l = sum(F.mse_loss(hy(X, t), X[:, :2] * (t + 1)) for t in range(3))
    ho.zero_grad()
    l.backward()
    ho.step()
print("hyper", f"{l.item():.5f}", hy.z.grad)
# ensembles with stack_module_state
ms = [nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)) for _ in range(3)]
P, B = stack_module_state(ms)
base = copy.deepcopy(ms[0]).to("meta")
f = lambda p, b, x: functional_call(base, (p, b), (x,))
print(
    vmap(f, (0, 0, None))(P, B, X).shape,
    vmap(f, (0, 0, None))(P, B, X)[:, 0],
    {k: tuple(v.shape) for k, v in P.items()},
    B,
)
# learned optimizer: LSTM on gradients with unrolled steps
cell = nn.LSTMCell(2, 8)
outl = nn.Linear(8, 1)
mo = torch.optim.Adam([*cell.parameters(), *outl.parameters()], 5e-3)
for _ep in range(3):
    W, yv = torch.randn(5, 5), torch.randn(5)
    th = torch.randn(5, requires_grad=True)
    hc = (torch.zeros(5, 8), torch.zeros(5, 8))
    tot = 0
    for _ in range(6):
        l = ((W @ th - yv) ** 2).sum()
        tot = tot + l
        g = torch.autograd.grad(l, th, retain_graph=True)[0].detach()
        inp = torch.stack(
            [torch.where(g.abs() > math.exp(-5), g.abs().log() / 5, torch.full_like(g, -1.0)), g.sign()], 1
        )
        hc = cell(inp, hc)
        th = th + 0.1 * outl(hc[0]).squeeze(-1)
    mo.zero_grad()
    tot.backward()
    mo.step()
    print("l2l", f"{tot.item():.4f}", f"{outl.weight.grad.norm().item():.4f}")
