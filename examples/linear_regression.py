"""Fit a line through noisy points: model, loss, optimizer and the training loop everything else is made of."""

import sys

import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200

torch.manual_seed(0)
x = torch.linspace(-1, 1, 100).unsqueeze(1)
y = 3 * x - 0.5 + 0.1 * torch.randn(100, 1)

model = nn.Linear(1, 1)
loss_fn = nn.MSELoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

for step in range(steps):
    loss = loss_fn(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(1, steps // 4) == 0:
        print(f"step {step:4d}  loss {loss.item():.6f}")

print(f"slope {model.weight.item():.5f}  offset {model.bias.item():.5f}")

# The same line in closed form.
design = torch.cat([x, torch.ones_like(x)], dim=1)
solution = torch.linalg.lstsq(design, y).solution
print(f"slope {solution[0].item():.5f}  offset {solution[1].item():.5f}  (least squares)")
