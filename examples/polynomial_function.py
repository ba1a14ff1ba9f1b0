"""Fit sin(x) with a Legendre polynomial whose backward is written by hand, as a torch.autograd.Function."""

import math
import sys

import torch

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000


class LegendreCubic(torch.autograd.Function):
    """P3(x) = (5 x^3 - 3 x) / 2"""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return 0.5 * (5 * x**3 - 3 * x)

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return grad_output * 1.5 * (5 * x**2 - 1)


x = torch.linspace(-math.pi, math.pi, 2000)
y = torch.sin(x)
a, b, c, d = (torch.full((), value, requires_grad=True) for value in (0.0, -1.0, 0.0, 0.3))

for step in range(steps):
    prediction = a + b * LegendreCubic.apply(c + d * x)
    loss = (prediction - y).pow(2).sum()
    if step % max(1, steps // 4) == 0:
        print(f"step {step:4d}  loss {loss.item():.4f}")
    loss.backward()
    with torch.no_grad():
        for parameter in (a, b, c, d):
            parameter -= 5e-6 * parameter.grad
            parameter.grad = None

print(f"y = {a.item():.4f} + {b.item():.5f} P3({c.item():.4f} + {d.item():.5f} x)")
point = torch.randn(5, dtype=torch.float64, requires_grad=True)
print("backward agrees with finite differences:", torch.autograd.gradcheck(LegendreCubic.apply, (point,)))
