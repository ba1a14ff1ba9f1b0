"""Densities: energies, scores, diffusion, flow matching, mixtures, transport, importance sampling."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import vmap
from torch.func import grad, jacrev, jvp, vjp

torch.manual_seed(0)


def moons(n):
    t = torch.rand(n) * math.pi
    s = torch.randint(0, 2, (n,)).float()
    return torch.stack([torch.cos(t) * (1 - 2 * s) + s, torch.sin(t) * (1 - 2 * s) + 0.5 * s], 1) + 0.05 * torch.randn(
        n, 2
    )


X = moons(128)
mlp = lambda i, o, h=32: nn.Sequential(nn.Linear(i, h), nn.SiLU(), nn.Linear(h, h), nn.SiLU(), nn.Linear(h, o))
E = mlp(2, 1)
oe = torch.optim.Adam(E.parameters(), 5e-3)
buf = torch.randn(64, 2)
for _it in range(8):
    xb = X[torch.randint(0, 128, (32,))]
    neg = buf[torch.randint(0, 64, (32,))].clone()
    for _ in range(5):
        neg.requires_grad_(True)
        (g,) = torch.autograd.grad(E(neg).sum(), neg)
        neg = (neg - 0.1 * g + 0.05 * torch.randn_like(neg)).detach()
    buf[:32] = neg
    ep, en = E(xb), E(neg)
    l = (ep - en).mean() + 0.1 * (ep**2 + en**2).mean()
    oe.zero_grad()
    l.backward()
    oe.step()
print("ebm", f"{l.item():.5f}", ep.mean(), en.mean())
S = mlp(2, 2)
os_ = torch.optim.Adam(S.parameters(), 5e-3)
for _it in range(6):
    xb = X[:32].clone().requires_grad_()
    s = S(xb)
    tr = sum(torch.autograd.grad(s[:, i].sum(), xb, create_graph=True)[0][:, i] for i in range(2))
    l = (tr + 0.5 * s.pow(2).sum(1)).mean()
    os_.zero_grad()
    l.backward()
    os_.step()
v = torch.randn(32, 2)
sl = torch.autograd.grad((S(xb) * v).sum(), xb, create_graph=True)[0]
print("sm", f"{l.item():.5f}", (sl * v).sum(1).mean(), vmap(lambda x: jacrev(S)(x).trace())(X[:3]))
J = vmap(jacrev(S))(X[:2])
print(J.shape, torch.linalg.eigvals(J).abs().max())


class Fourier(nn.Module):
    def __init__(self, d, sc=10.0):
        super().__init__()
        self.W = nn.Parameter(torch.randn(d // 2) * sc, requires_grad=False)

    def forward(self, t):
        p = t[:, None] * self.W[None] * 2 * math.pi
        return torch.cat([p.sin(), p.cos()], -1)


class Score(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Sequential(Fourier(16), nn.Linear(16, 16), nn.SiLU())
        self.n = mlp(18, 2)

    def forward(self, x, t):
        return self.n(torch.cat([x, self.e(t)], 1)) / std(t)[:, None]


sg = 5.0
std = lambda t: torch.sqrt((sg ** (2 * t) - 1.0) / 2.0 / math.log(sg))
sc = Score()
oc = torch.optim.Adam(sc.parameters(), 3e-3)
print([n for n, p in sc.named_parameters() if not p.requires_grad])
for _it in range(12):
    xb = X[torch.randperm(128)[:64]]
    t = torch.rand(64) * (1.0 - 1e-5) + 1e-5
    z = torch.randn_like(xb)
    l = ((sc(xb + z * std(t)[:, None], t) * std(t)[:, None] + z) ** 2).sum(1).mean()
    oc.zero_grad()
    l.backward()
    oc.step()
print("vesde", f"{l.item():.5f}")


@torch.no_grad()
def em(n, steps=20):
    x = torch.randn(n, 2) * std(torch.ones(1))
    ts = torch.linspace(1.0, 1e-3, steps)
    dt = ts[0] - ts[1]
    for t in ts:
        g = sg**t
        mean = x + g**2 * sc(x, t.expand(n)) * dt
        x = mean + torch.sqrt(dt) * g * torch.randn_like(x)
    return mean


o = em(50)
print(o.mean(0), o.std(0))
Vf = mlp(3, 2)
ov = torch.optim.AdamW(Vf.parameters(), 5e-3)
for _it in range(15):
    x1 = X[torch.randint(0, 128, (64,))]
    x0 = torch.randn_like(x1)
    t = torch.rand(64, 1)
    xt = (1 - t) * x0 + t * x1
    l = F.mse_loss(Vf(torch.cat([xt, t], 1)), x1 - x0)
    ov.zero_grad()
    l.backward()
    ov.step()
x = torch.randn(40, 2)
ld = torch.zeros(40)
for i in range(10):
    t = torch.full((40, 1), i / 10.0)
    f = lambda y: Vf(torch.cat([y, t], 1))
    out, pull = vjp(f, x)
    e = torch.randn_like(x)
    ld = ld + (pull(e)[0] * e).sum(1) * 0.1
    k2 = f(x + 0.05 * out)
    x = x + 0.1 * k2
print("fm", f"{l.item():.5f}", x.mean(0).detach(), ld.mean().detach())
print(jvp(lambda y: Vf(torch.cat([y, t], 1)), (x.detach(),), (torch.ones_like(x),))[1].mean().detach())


class MDN(nn.Module):
    def __init__(self, k=4):
        super().__init__()
        self.h = nn.Sequential(nn.Linear(1, 24), nn.Tanh())
        self.pi, self.mu, self.s = nn.Linear(24, k), nn.Linear(24, k), nn.Linear(24, k)

    def forward(self, x):
        h = self.h(x)
        return F.softmax(self.pi(h), -1), self.mu(h), torch.exp(self.s(h))


m = MDN()
om = torch.optim.Adam(m.parameters(), 2e-2)
xs = torch.linspace(-1, 1, 100)[:, None]
ys = xs + 0.3 * torch.sin(6 * xs) + 0.05 * torch.randn_like(xs)
for _it in range(25):
    pi, mu, s = m(ys)
    nll = -torch.logsumexp(pi.log() + torch.distributions.Normal(mu, s).log_prob(xs), 1).mean()
    om.zero_grad()
    nll.backward()
    om.step()
k = torch.distributions.Categorical(pi).sample()
print(
    "mdn", f"{nll.item():.5f}", torch.normal(mu, s).gather(1, k[:, None])[:3].flatten(), torch.bincount(k, minlength=4)
)
a, b = torch.ones(8) / 8, torch.ones(10) / 10
C = torch.cdist(X[:8], X[8:18]).pow(2).requires_grad_()
f, g = torch.zeros(8), torch.zeros(10)
eps = 0.1
for _ in range(40):
    f = -eps * torch.logsumexp((g[None] - C) / eps + b.log(), 1)
    g = -eps * torch.logsumexp((f[:, None] - C) / eps + a.log()[:, None], 0)
ot = (f * a).sum() + (g * b).sum()
ot.backward()
print("sinkhorn", ot, C.grad.sum(), (C.grad.sum(1) - a).abs().max())
x, y = X[:20].clone().requires_grad_(), X[20:60]
K = lambda p, q: sum(torch.exp(-(torch.cdist(p, q) ** 2) / (2 * s)) for s in (0.1, 1.0))
mmd = K(x, x).mean() + K(y, y).mean() - 2 * K(x, y).mean()
mmd.backward()
print("mmd", mmd, x.grad.norm())
pr = torch.randn(30, 2)
pr = pr / pr.norm(dim=1, keepdim=True)
print("swd", ((X[:60] @ pr.T).sort(0)[0] - (X[60:120] @ pr.T).sort(0)[0]).pow(2).mean().sqrt())
ga = lambda x: torch.distributions.MultivariateNormal(torch.zeros(2), torch.tensor([[1.0, 0.5], [0.5, 2.0]])).log_prob(
    x
)
print(vmap(grad(ga))(X[:2]), torch.func.hessian(ga)(X[0]))
ais = torch.zeros(50)
z = torch.randn(50, 2)
for bt in torch.linspace(0, 1, 8)[1:]:
    lp = lambda q: (1 - bt) * (-0.5 * q.pow(2).sum(1)) + bt * ga(q)
    ais += (1 / 7) * (ga(z) + 0.5 * z.pow(2).sum(1))
    prop = z + 0.3 * torch.randn_like(z)
    acc = torch.rand(50).log() < lp(prop) - lp(z)
    z = torch.where(acc[:, None], prop, z)
print("ais", torch.logsumexp(ais, 0) - math.log(50), z.mean(0))
gum = F.gumbel_softmax(torch.randn(3, 4, requires_grad=True), tau=0.5, hard=True)
gum.sum().backward()
print(gum.argmax(1), -torch.empty(3).exponential_().log(), F.gumbel_softmax(torch.zeros(2, 3), tau=1.0))
