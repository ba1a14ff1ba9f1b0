"""Fit sin(x) with a cubic. The polynomial is an nn.Module, and an optimizer moves its parameters."""

import math
import sys

import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 2000


class Cubic(nn.Module):
    def __init__(self):
        super().__init__()
        self.coefficients = nn.Parameter(torch.randn(4))

    def forward(self, x):
        powers = torch.stack([x**n for n in range(4)], dim=-1)
        return powers @ self.coefficients

    def extra_repr(self):
        return " + ".join(f"{value.item():.5f} x^{n}" for n, value in enumerate(self.coefficients))


torch.manual_seed(1)
x = torch.linspace(-math.pi, math.pi, 2000)
y = torch.sin(x)

model = Cubic()
criterion = nn.MSELoss(reduction="sum")
optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)

for step in range(steps):
    loss = criterion(model(x), y)
    if step % max(1, steps // 4) == 0:
        print(f"step {step:4d}  loss {loss.item():.4f}")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

print(model)
