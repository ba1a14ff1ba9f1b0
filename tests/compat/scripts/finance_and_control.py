"""Greeks, implied volatility, portfolios, GARCH, LQR and iLQR, fitted dynamics, a fixed point, bandits."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from torch.distributions import Normal

torch.manual_seed(0)
torch.set_default_dtype(torch.double)
N = Normal(0.0, 1.0)


def bs(S, K, T, r, s):
    d1 = (torch.log(S / K) + (r + 0.5 * s**2) * T) / (s * torch.sqrt(T))
    return S * N.cdf(d1) - K * torch.exp(-r * T) * N.cdf(d1 - s * torch.sqrt(T))


S, K, T, r, s = (torch.tensor(v, requires_grad=True) for v in (100.0, 105.0, 0.5, 0.02, 0.25))
c = bs(S, K, T, r, s)
gS, gT, gr, gs = torch.autograd.grad(c, (S, T, r, s), create_graph=True)
(gam,) = torch.autograd.grad(gS, S)
print(c, gS, gam, gT, gr, gs)


def implied(p, n=8):
    v = torch.tensor(0.5, requires_grad=True)
    for _ in range(n):
        d = bs(S.detach(), K.detach(), T.detach(), r.detach(), v) - p
        (g,) = torch.autograd.grad(d, v)
        v = (v - d / g).detach().requires_grad_()
    return v


print(implied(c.detach()))
Z = torch.randn(5000, 20)
paths = S * torch.exp(torch.cumsum((r - 0.5 * s**2) * T / 20 + s * torch.sqrt(T / 20) * Z, 1))
asian = torch.exp(-r * T) * F.relu(paths.mean(1) - K).mean()
print(asian, torch.autograd.grad(asian, (S, s), retain_graph=True), paths[:, -1].mean(), paths.std(0)[-1])
up = torch.exp(-r * T) * (F.softplus(paths[:, -1] - K) * torch.sigmoid((130 - paths.max(1).values) / 0.5)).mean()
print(up, torch.autograd.grad(up, S))
R = torch.randn(250, 4) @ torch.tensor(
    [[1.0, 0.3, 0, 0], [0, 1, 0.2, 0], [0, 0, 1, 0.5], [0, 0, 0, 1]]
) * 0.01 + torch.tensor([0.001, 0.0005, 0.0008, 0.0002])
mu, C = R.mean(0), torch.cov(R.T)
w = torch.zeros(4, requires_grad=True)
o = torch.optim.LBFGS([w], lr=0.5, max_iter=20, line_search_fn="strong_wolfe")


def cl():
    o.zero_grad()
    p = F.softmax(w, 0)
    l = -(p @ mu) / torch.sqrt(p @ C @ p)
    l.backward()
    return l


print(o.step(cl), F.softmax(w, 0), cl())
mv = torch.linalg.solve(C, torch.ones(4))
print(mv / mv.sum())
q = torch.quantile(R @ F.softmax(w, 0).detach(), torch.tensor([0.01, 0.05]))
print("VaR", q, (R @ torch.ones(4) / 4)[(R @ torch.ones(4) / 4) <= torch.quantile(R @ torch.ones(4) / 4, 0.05)].mean())
dd = torch.cumprod(1 + R[:, 0], 0)
print("mdd", ((torch.cummax(dd, 0).values - dd) / torch.cummax(dd, 0).values).max())
ew = torch.zeros(250)
a = 0.06
for t in range(1, 250):
    ew[t] = (1 - a) * ew[t - 1] + a * R[t - 1, 0] ** 2
print(
    ew[-3:].sqrt(),
    torch.nn.functional.avg_pool1d(R[:, :1].T[None], 5, 1)[0, 0, :3],
    R[:, 0].unfold(0, 5, 1).std(-1)[:3],
    torch.corrcoef(R.T)[0],
)


class GARCH(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.tensor([-9.0, -2.0, 2.0]))

    def forward(self, r):
        w, a, b = self.p[0].exp(), *torch.softmax(torch.cat([self.p[1:], torch.zeros(1)]), 0)[:2]
        h = r.var()
        ll = 0.0
        for x in r:
            ll = ll + 0.5 * (torch.log(h) + x**2 / h)
            h = w + a * x**2 + b * h
        return ll / len(r)


g = GARCH()
og = torch.optim.Adam(g.parameters(), 0.05)
for _i in range(6):
    l = g(R[:80, 0])
    og.zero_grad()
    l.backward()
    og.step()
print("garch", l, g.p)
# control: LQR by Riccati, iLQR with jacobians, MPC through dynamics, system identification
A, B = torch.tensor([[1.0, 0.1], [0.0, 1.0]]), torch.tensor([[0.0], [0.1]])
Q, Rr = torch.eye(2), 0.1 * torch.eye(1)
P = Q.clone()
for _ in range(100):
    Kg = torch.linalg.solve(Rr + B.T @ P @ B, B.T @ P @ A)
    P = Q + A.T @ P @ (A - B @ Kg)
print("lqr", Kg, P, torch.linalg.eigvals(A - B @ Kg))
f = lambda x, u: torch.stack([x[0] + 0.1 * x[1], x[1] + 0.1 * (torch.sin(x[0]) * 2 + u[0])])
cost = lambda x, u: x @ x + 0.01 * u @ u
H = 12
us = torch.zeros(H, 1)
x0 = torch.tensor([1.0, 0.0])
for it in range(4):
    xs = [x0]
    for u in us:
        xs.append(f(xs[-1], u))
    J = sum(cost(x, u) for x, u in zip(xs, us)) + 10 * xs[-1] @ xs[-1]
    Vx, Vxx = 20 * xs[-1], 20 * torch.eye(2)
    ks, Ks = [], []
    for x, u in reversed(list(zip(xs[:-1], us))):
        fx, fu = jacobian(f, (x, u))
        lx, lu = jacobian(cost, (x, u))
        (lxx, _), (lux, luu) = hessian(cost, (x, u))
        Qx, Qu = lx + fx.T @ Vx, lu + fu.T @ Vx
        Qxx, Quu, Qux = lxx + fx.T @ Vxx @ fx, luu + fu.T @ Vxx @ fu + 1e-3 * torch.eye(1), lux + fu.T @ Vxx @ fx
        k, Kk = -torch.linalg.solve(Quu, Qu), -torch.linalg.solve(Quu, Qux)
        Vx = Qx + Kk.T @ Quu @ k + Kk.T @ Qu + Qux.T @ k
        Vxx = Qxx + Kk.T @ Quu @ Kk + Kk.T @ Qux + Qux.T @ Kk
        ks.insert(0, k)
        Ks.insert(0, Kk)
    x, new = x0, []
    for t in range(H):
        u = us[t] + 0.8 * ks[t] + Ks[t] @ (x - xs[t])
        new.append(u)
        x = f(x, u)
    us = torch.stack(new)
    print("ilqr", it, J)
th = torch.tensor([0.5, 0.5], requires_grad=True)
om = torch.optim.Rprop([th], 0.05)
tr = [torch.tensor([1.0, 0.0])]
for _ in range(30):
    tr.append(torch.stack([tr[-1][0] + 0.1 * tr[-1][1], tr[-1][1] + 0.1 * (-1.3 * tr[-1][0] - 0.4 * tr[-1][1])]))
tr = torch.stack(tr)
for _i in range(15):
    x, l = tr[0], 0.0
    for t in range(30):
        x = torch.stack([x[0] + 0.1 * x[1], x[1] + 0.1 * (-th[0] * x[0] - th[1] * x[1])])
        l = l + (x - tr[t + 1]).square().sum()
    om.zero_grad()
    l.backward()
    om.step()
print("sysid", l, th)
y = torch.tensor([0.99, 0.01, 0.0])
beta, ga = torch.tensor(0.6, requires_grad=True), torch.tensor(0.2, requires_grad=True)
I = []
for _ in range(40):
    dS, dI = -beta * y[0] * y[1], beta * y[0] * y[1] - ga * y[1]
    y = y + 0.5 * torch.stack([dS, dI, ga * y[1]])
    I.append(y[1])
pk = torch.stack(I).max()
pk.backward()
print("sir", pk, beta.grad, ga.grad)
F_ = lambda x: torch.stack([x[0] ** 2 * x[1], x[1].sin()])
v = torch.tensor([1.0, 2.0])
x = torch.tensor([0.5, 0.3])
print(
    jacobian(F_, x),
    vjp(F_, x, v),
    jvp(F_, x, v),
    hvp(lambda x: F_(x).sum(), x, v),
    vhp(lambda x: F_(x).sum(), x, v),
    hessian(lambda x: F_(x).sum(), x),
    jacobian(F_, x, vectorize=True, strategy="forward-mode"),
)
xr = torch.tensor(1.0, requires_grad=True)


class Fixed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a):
        x = torch.ones_like(a)
        for _ in range(50):
            x = torch.cos(a * x)
        ctx.save_for_backward(a, x)
        return x

    @staticmethod
    def backward(ctx, g):
        a, x = ctx.saved_tensors
        return g * (-torch.sin(a * x) * x) / (1 + a * torch.sin(a * x))


fx = Fixed.apply(xr)
fx.backward()
print(fx, xr.grad, torch.autograd.gradcheck(Fixed.apply, (torch.tensor(0.9, requires_grad=True),), atol=1e-4))
pr = torch.rand(5, 5)
pr = pr / pr.sum(0)
pi = torch.ones(5) / 5
for _ in range(60):
    pi = 0.85 * pr @ pi + 0.03
print("pagerank", pi, pi.sum())
arms, cnt, val = torch.tensor([0.2, 0.5, 0.7]), torch.zeros(3), torch.zeros(3)
for t in range(60):
    a = int(torch.argmax(val + torch.sqrt(2 * math.log(t + 1) / (cnt + 1e-5))))
    rw = float(torch.rand(()) < arms[a])
    cnt[a] += 1
    val[a] += (rw - val[a]) / cnt[a]
print("ucb", cnt, val)
ts = torch.distributions.Beta(1 + cnt * val, 1 + cnt * (1 - val))
print(ts.sample((3,)).argmax(1), ts.mean)
