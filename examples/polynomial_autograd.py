"""Fit sin(x) with a cubic. The gradients come from backward()."""

import math
import sys

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000

torch.manual_seed(1)
x = torch.linspace(-math.pi, math.pi, 2000)
y = torch.sin(x)

a, b, c, d = (torch.randn((), requires_grad=True) for _ in range(4))
learning_rate = 1e-6

for step in range(steps):
    loss = (a + b * x + c * x**2 + d * x**3 - y).pow(2).sum()
    if step % max(1, steps // 4) == 0:
        print(f"step {step:4d}  loss {loss.item():.4f}")
    loss.backward()

    with torch.no_grad():
        for parameter in (a, b, c, d):
            parameter -= learning_rate * parameter.grad
            parameter.grad = None

print(f"y = {a.item():.5f} + {b.item():.5f} x + {c.item():.5f} x^2 + {d.item():.5f} x^3")
