"""Bayes by backprop, MC dropout, Laplace, SVGD, HMC/NUTS-like, ADVI with distributions, EM for mixtures, Kalman filter MLE."""

import math

import torch
import torch.distributions as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import (
    Beta,
    Categorical,
    Dirichlet,
    Gamma,
    HalfCauchy,
    Independent,
    MixtureSameFamily,
    MultivariateNormal,
    Normal,
    kl_divergence,
)

torch.manual_seed(13)


class BayesLinear(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.mu = nn.Parameter(torch.Tensor(o, i).uniform_(-0.2, 0.2))
        self.rho = nn.Parameter(torch.Tensor(o, i).uniform_(-5, -4))
        self.b_mu = nn.Parameter(torch.zeros(o))
        self.b_rho = nn.Parameter(torch.full((o,), -4.5))

    def forward(self, x):
        qw, qb = Normal(self.mu, F.softplus(self.rho)), Normal(self.b_mu, F.softplus(self.b_rho))
        w, b = qw.rsample(), qb.rsample()
        mix = MixtureSameFamily(Categorical(torch.tensor([0.5, 0.5])), Normal(torch.zeros(2), torch.tensor([1.0, 0.1])))
        self.kl = (qw.log_prob(w).sum() + qb.log_prob(b).sum()) - (mix.log_prob(w).sum() + mix.log_prob(b).sum())
        self.kl2 = kl_divergence(qw, Normal(0.0, 1.0)).sum()
        return F.linear(x, w, b)


x = torch.linspace(-2, 2, 32).unsqueeze(1)
y = x**3 - x + 0.3 * torch.randn_like(x)
net = nn.Sequential(BayesLinear(1, 16), nn.Tanh(), BayesLinear(16, 1))
opt = torch.optim.Adam(net.parameters(), 1e-2)
for i in range(15):
    opt.zero_grad()
    l = (
        sum(
            -Normal(net(x), 0.3).log_prob(y).sum() + sum(m.kl for m in net if isinstance(m, BayesLinear)) / 10
            for _ in range(2)
        )
        / 2
    )
    l.backward()
    opt.step()
    if i % 5 == 4:
        print("bbb", i, f"{l.item():.3f}", f"{net[0].kl2.item():.3f}")
mc = nn.Sequential(nn.Linear(1, 32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1))
mc.eval()
for m in mc.modules():
    if m.__class__.__name__.startswith("Dropout"):
        m.train()
pr = torch.stack([mc(x) for _ in range(20)])
print(
    "mc",
    pr.mean(0)[:3].flatten(),
    pr.var(0, correction=1)[:3].flatten(),
    pr.quantile(torch.tensor([0.1, 0.9]), dim=0)[:, 0],
)
# Laplace on last layer via full hessian
w = torch.zeros(3, dtype=torch.double)
X = torch.randn(40, 3, dtype=torch.double)
yy = (X @ torch.tensor([1.0, -2.0, 0.5], dtype=torch.double) + 0.3 * torch.randn(40, dtype=torch.double) > 0).double()
nlp = lambda w: F.binary_cross_entropy_with_logits(X @ w, yy, reduction="sum") + 0.5 * w @ w
for _ in range(6):
    w = w - torch.linalg.solve(torch.autograd.functional.hessian(nlp, w), torch.autograd.functional.jacobian(nlp, w))
H = torch.func.hessian(nlp)(w)
S = torch.linalg.inv(H)
post = MultivariateNormal(w, precision_matrix=H)
print(
    "laplace",
    w,
    post.covariance_matrix.diagonal(),
    post.entropy(),
    post.rsample((2,)),
    -nlp(w) + 0.5 * 3 * math.log(2 * math.pi) - 0.5 * torch.logdet(H),
)
k = 1 / torch.sqrt(1 + math.pi / 8 * ((X[:4] @ S) * X[:4]).sum(1))
print(torch.sigmoid(k * (X[:4] @ w)))
# SVGD
target = MixtureSameFamily(
    Categorical(torch.tensor([0.3, 0.7])),
    Independent(Normal(torch.tensor([[-2.0, 0.0], [2.0, 1.0]]), torch.ones(2, 2)), 1),
)
P = torch.randn(20, 2)
for _ in range(30):
    P = P.detach().requires_grad_()
    s = torch.autograd.grad(target.log_prob(P).sum(), P)[0]
    D = torch.cdist(P, P) ** 2
    h = D.detach().median() / (2 * math.log(21))
    K = torch.exp(-D / (2 * h))
    phi = (K.detach() @ s - torch.autograd.grad(K.sum(), P)[0]) / 20
    P = P + 0.3 * phi
print("svgd", P.mean(0).detach(), P.std(0).detach(), target.sample((3,)), target.mean, target.variance)


def hmc(logp, q, n, eps=0.15, L=8):
    out, acc = [], 0
    for _ in range(n):
        p = torch.randn_like(q)
        q0, p0 = q, p
        q = q.clone().requires_grad_()
        g = torch.autograd.grad(logp(q), q)[0]
        p = p + 0.5 * eps * g
        for k in range(L):
            q = (q + eps * p).detach().requires_grad_()
            g = torch.autograd.grad(logp(q), q)[0]
            p = p + eps * g * (1 if k < L - 1 else 0.5)
        dH = (logp(q) - 0.5 * p @ p) - (logp(q0) - 0.5 * p0 @ p0)
        q = q.detach()
        if torch.rand(()).log() < dH:
            acc += 1
        else:
            q = q0
        out.append(q)
    return torch.stack(out), acc / n


s, a = hmc(target.log_prob, torch.zeros(2), 40)
print("hmc", s.mean(0), torch.cov(s.T), a)
# hierarchical ADVI (eight schools)
yS, sg = torch.tensor([28.0, 8, -3, 7, -1, 1, 18, 12]), torch.tensor([15.0, 10, 16, 11, 9, 11, 10, 18])
loc, ls = torch.zeros(10, requires_grad=True), torch.full((10,), -1.0, requires_grad=True)
ao = torch.optim.Adam([loc, ls], 0.1)
for _ in range(40):
    q = Normal(loc, ls.exp())
    z = q.rsample((4,))
    mu, lt, eta = z[:, 0], z[:, 1], z[:, 2:]
    tau = lt.exp()
    lp = (
        Normal(0.0, 5.0).log_prob(mu)
        + HalfCauchy(5.0).log_prob(tau)
        + lt
        + Normal(0.0, 1.0).log_prob(eta).sum(-1)
        + Normal(mu[:, None] + tau[:, None] * eta, sg).log_prob(yS).sum(-1)
    )
    e = lp.mean() + q.entropy().sum()
    ao.zero_grad()
    (-e).backward()
    ao.step()
print("advi", f"{e.item():.3f}", loc.detach()[:3])
# EM for a mixture
Z = torch.cat([torch.randn(30, 2) + 2, torch.randn(30, 2) * 0.5 - 1])
mu, cov, pi = Z[[0, 40]], torch.eye(2).repeat(2, 1, 1), torch.ones(2) / 2
for _ in range(8):
    lr = MultivariateNormal(mu, cov).log_prob(Z[:, None]) + pi.log()
    ll = lr.logsumexp(1).sum()
    r = lr.softmax(1)
    Nk = r.sum(0)
    mu = (r.T @ Z) / Nk[:, None]
    d = Z[:, None] - mu
    cov = torch.einsum("nk,nki,nkj->kij", r, d, d) / Nk[:, None, None] + 1e-4 * torch.eye(2)
    pi = Nk / len(Z)
print("em", f"{ll.item():.3f}", mu, pi, cov.det())
# Kalman filter maximum likelihood
T = 25
zt = torch.cumsum(0.3 * torch.randn(T), 0)
obs = zt + 0.5 * torch.randn(T)
th = torch.zeros(2, requires_grad=True)
ko = torch.optim.Rprop([th], lr=0.1)
for _ in range(12):
    q, r = th.exp()
    m, P, nll = torch.tensor(0.0), torch.tensor(1.0), 0.0
    for t in range(T):
        P = P + q
        S = P + r
        v = obs[t] - m
        nll = nll + 0.5 * (torch.log(2 * math.pi * S) + v**2 / S)
        K = P / S
        m = m + K * v
        P = (1 - K) * P
    ko.zero_grad()
    nll.backward()
    ko.step()
print("kalman", f"{nll.item():.4f}", th.exp().detach(), m.detach(), P.detach())
for d in (
    Gamma(2.0, 3.0),
    Beta(torch.tensor([0.5, 2.0]), 1.0),
    Dirichlet(torch.ones(3)),
    dist.StudentT(3.0),
    dist.Laplace(0.0, 2.0),
    dist.Gumbel(1.0, 2.0),
    dist.Weibull(1.0, 2.0),
    dist.Pareto(1.0, 3.0),
    dist.Kumaraswamy(2.0, 3.0),
    dist.VonMises(0.0, 4.0),
    dist.Poisson(3.0),
    dist.NegativeBinomial(5, 0.4),
    dist.Geometric(0.3),
    dist.Binomial(10, 0.4),
    dist.Multinomial(5, torch.ones(3)),
    dist.OneHotCategorical(torch.ones(4)),
    dist.RelaxedBernoulli(torch.tensor(0.5), 0.3),
    dist.ContinuousBernoulli(0.3),
    dist.LKJCholesky(3, 1.0),
    dist.Chi2(3.0),
    dist.FisherSnedecor(3.0, 4.0),
    dist.InverseGamma(3.0, 2.0),
    dist.HalfNormal(2.0),
    dist.Uniform(-1.0, 2.0),
    dist.Exponential(2.0),
    dist.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2)),
    dist.LogisticNormal(torch.zeros(2), torch.ones(2)),
    dist.RelaxedOneHotCategorical(torch.tensor(0.5), torch.ones(3)),
    dist.Wishart(4.0, torch.eye(2)),
):
    torch.manual_seed(0)
    s = d.sample((2,))
    print(type(d).__name__, d, s.flatten(), d.log_prob(s))
