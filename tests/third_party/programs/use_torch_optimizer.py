"""torch-optimizer: each optimizer on Rosenbrock's valley."""

import warnings

import torch
import torch_optimizer as optim

warnings.simplefilter("ignore")


def valley(point):
    x, y = point
    return (1 - x) ** 2 + 1 * (y - x**2) ** 2


NAMES = (
    "A2GradExp A2GradInc A2GradUni AccSGD AdaBelief AdaBound AdaMod Adafactor Adahessian AdamP AggMo Apollo "
    "DiffGrad LARS Lamb MADGRAD NovoGrad PID QHAdam QHM RAdam SGDP SGDW SWATS Yogi"
).split()
for name in NAMES:
    point = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)
    torch.manual_seed(0)
    optimizer = getattr(optim, name)([point], lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        loss = valley(point)
        loss.backward(create_graph=True)
        optimizer.step()
    print(name, " ".join(f"{value:.4f}" for value in point.tolist()))
inner = torch.tensor([-1.5, 2.0], dtype=torch.float64, requires_grad=True)
lookahead = optim.Lookahead(optim.Yogi([inner], lr=0.05), k=5, alpha=0.5)
for _ in range(40):
    lookahead.zero_grad()
    valley(inner).backward()
    lookahead.step()
print("Lookahead", " ".join(f"{value:.4f}" for value in inner.tolist()))
