"""torchjd: aggregators of Jacobians, and training on two losses at once."""

import torch
import torchjd.aggregation as aggregation
from torch import nn
from torchjd.autogram import Engine
from torchjd.autojac import backward, jac_to_grad

jacobian = torch.tensor([[-4.0, 1.0, 1.0], [6.0, 1.0, 1.0]])
for name in ("UPGrad", "AlignedMTL", "DualProj", "MGDA", "Mean", "PCGrad", "IMTLG", "Random", "ConFIG", "GradDrop"):
    torch.manual_seed(3)
    aggregator = getattr(aggregation, name)()
    print(aggregator, " ".join(f"{value:.4f}" for value in aggregator(jacobian).tolist()))

for chunk in (None, 1):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(10, 5), nn.ReLU(), nn.Linear(5, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, first, second = torch.randn(16, 10), torch.randn(16), torch.randn(16)
    for _ in range(5):
        output = model(x)
        losses = [nn.functional.mse_loss(output[:, 0], first), nn.functional.mse_loss(output[:, 1], second)]
        backward(losses, parallel_chunk_size=chunk)
        jac_to_grad(model.parameters(), aggregation.UPGrad())
        optimizer.step()
        optimizer.zero_grad()
    print(chunk, " ".join(f"{loss.item():.4f}" for loss in losses))

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(10, 5), nn.ReLU(), nn.Linear(5, 1), nn.Flatten(0))
x = torch.randn(8, 10)
for batch_dim in (0, None):
    engine = Engine(model, batch_dim=batch_dim)
    losses = (model(x) - 1) ** 2
    gramian = engine.compute_gramian(losses)
    losses.backward(aggregation.UPGradWeighting()(gramian))
    print(f"{gramian.sum().item():.3f} {model[0].weight.grad.sum().item():.4f}")
