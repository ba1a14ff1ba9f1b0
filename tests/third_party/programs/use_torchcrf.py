"""pytorch-crf: likelihoods with masks and reductions, training, decoding, its errors."""

import torch
from torchcrf import CRF

torch.manual_seed(0)
model = CRF(5)
emissions = torch.randn(7, 3, 5)
tags = torch.randint(0, 5, (7, 3))
mask = torch.ones(7, 3, dtype=torch.uint8)
mask[5:, 1] = 0
mask[3:, 2] = 0
print(model)
for reduction in ("sum", "mean", "token_mean", "none"):
    value = model(emissions, tags, mask=mask, reduction=reduction)
    print(reduction, " ".join(f"{each:.4f}" for each in value.reshape(-1).tolist()))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(20):
    optimizer.zero_grad()
    loss = -model(emissions, tags, reduction="mean")
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}", model.decode(emissions), model.decode(emissions, mask=mask))
for wrong in (lambda: model(emissions, tags[:2]), lambda: model(emissions, tags, reduction="x"), lambda: CRF(0)):
    try:
        wrong()
    except ValueError as error:
        print(error)
