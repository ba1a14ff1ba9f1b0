"""A neural ordinary differential equation: learn the vector field of a spiral from its trajectory.

The solver is a few lines of Runge-Kutta that autograd differentiates through; the adjoint method at the end gets the
same gradient by solving a second equation backwards.
"""

import sys

import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60


def rk4(f, y, times):
    """Values at the given times, one Runge-Kutta step between each two."""
    values = [y]
    for t0, t1 in zip(times[:-1], times[1:]):
        h = t1 - t0
        k1 = f(t0, y)
        k2 = f(t0 + h / 2, y + h / 2 * k1)
        k3 = f(t0 + h / 2, y + h / 2 * k2)
        k4 = f(t1, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        values.append(y)
    return torch.stack(values)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))
        for layer in self.net:
            if isinstance(layer, nn.Linear):
                nn.init.normal_(layer.weight, std=0.1)
                nn.init.zeros_(layer.bias)

    def forward(self, t, y):
        return self.net(y**3)


torch.set_default_dtype(torch.float64)
torch.manual_seed(0)
times = torch.linspace(0, 5, 40)
matrix = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
start = torch.tensor([2.0, 0.0])
truth = rk4(lambda t, y: y**3 @ matrix, start, torch.linspace(0, 5, 400))[::10][:40]

field = Field()
optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
for step in range(steps):
    first = torch.randint(0, 30, (16,))
    batch = torch.stack([truth[first + i] for i in range(8)])
    prediction = rk4(field, batch[0], times[:8])
    loss = (prediction - batch).abs().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % max(1, steps // 4) == 0:
        print(f"step {step:4d}  loss {loss.item():.4f}")

# The adjoint method: the gradient of the end point solves an equation that runs backwards in time.
parameters = list(field.parameters())
end = rk4(field, start, times[:20])[-1]
direct = torch.autograd.grad(end.sum(), parameters)

y, adjoint = end.detach(), torch.ones(2)
sums = [torch.zeros_like(p) for p in parameters]
for t1, t0 in zip(reversed(times[1:20]), reversed(times[:19])):
    for _ in range(20):
        h = (t1 - t0) / 20
        y = y.detach().requires_grad_()
        speed = field(None, y)
        grad_y, *grads = torch.autograd.grad(speed, [y, *parameters], adjoint)
        y, adjoint = y - h * speed, adjoint + h * grad_y
        sums = [total + h * grad for total, grad in zip(sums, grads)]
difference = max((a - b).abs().max().item() for a, b in zip(direct, sums))
print(f"direct gradient {direct[-1].norm().item():.4f}  adjoint {sums[-1].norm().item():.3f}")
print("they agree:", difference < 0.05 * max(g.abs().max().item() for g in direct))
