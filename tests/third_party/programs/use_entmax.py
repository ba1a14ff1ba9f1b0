"""entmax: sparse softmaxes and their losses, checked against finite differences."""

import torch
from entmax import (
    Entmax15Loss,
    EntmaxBisectLoss,
    SparsemaxBisectLoss,
    SparsemaxLoss,
    budget_bisect,
    entmax15,
    entmax_bisect,
    normmax_bisect,
    sparsemax,
    sparsemax_bisect,
)
from torch.autograd import gradcheck

torch.manual_seed(1)
x = torch.randn(4, 6, dtype=torch.float64, requires_grad=True)
y = torch.randint(0, 6, (4,))
maps = {
    "sparsemax": sparsemax,
    "entmax15": entmax15,
    "sparsemax_bisect": sparsemax_bisect,
    "entmax_bisect": lambda z: entmax_bisect(z, 1.3),
    "normmax_bisect": lambda z: normmax_bisect(z, 2.5),
    "budget_bisect": lambda z: budget_bisect(z, 2),
    "sparsemax top 3": lambda z: sparsemax(z, dim=0, k=3),
    "entmax15 top 3": lambda z: entmax15(z, dim=1, k=3),
}
for name, function in maps.items():
    p = function(x)
    print(name, f"{p.max().item():.6f}", (p == 0).sum().item(), gradcheck(function, (x,), eps=1e-5))
for Loss in (SparsemaxLoss, Entmax15Loss, SparsemaxBisectLoss, EntmaxBisectLoss):
    for reduction in ("sum", "elementwise_mean"):
        loss = Loss(reduction=reduction)
        print(Loss.__name__, reduction, f"{loss(x, y).item():.6f}", gradcheck(loss, (x, y), eps=1e-5))
alpha = torch.tensor(1.7, dtype=torch.float64, requires_grad=True)
entmax_bisect(x, alpha)[0, 0].backward()
print(f"{alpha.grad.item():.6f}")
