"""A physics-informed network: solve u'' + u = 0 with u(0) = 0, u'(0) = 1 (the sine) from the equation alone.

The loss contains second derivatives of the network by its input, so every training step differentiates three times.
"""

import math
import sys

import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 300

torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=5e-3)
x = torch.linspace(0, math.pi, 50).unsqueeze(1).requires_grad_()
zero = torch.zeros(1, 1, requires_grad=True)


def derivative(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


for step in range(steps):
    u = net(x)
    second = derivative(derivative(u, x), x)
    u0 = net(zero)
    slope0 = derivative(u0, zero)
    equation = (second + u).pow(2).mean()
    boundary = u0.pow(2).sum() + (slope0 - 1).pow(2).sum()
    loss = equation + boundary
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(1, steps // 5) == 0:
        print(f"step {step:4d}  equation {equation.item():.3e}  boundary {boundary.item():.3e}")

with torch.no_grad():
    error = (net(x) - torch.sin(x)).abs().max().item()
    print(f"u(1) = {net(torch.ones(1, 1)).item():.4f}, sin(1) = {math.sin(1):.4f}")
print("largest error is below 0.2:", error < 0.2)
