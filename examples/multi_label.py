"""Several labels at once, rare ones weighted up, and what backward(gradient=...) means for a loss per label."""

import sys

import torch
from torch import nn

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100

torch.manual_seed(0)
features = torch.randn(400, 8)
rule = torch.randn(8, 3)
offset = torch.tensor([0.0, -2.0, -4.0])  # the last label is rare
labels = ((features @ rule + offset + 0.3 * torch.randn(400, 3)) > 0).float()
positives = labels.sum(dim=0)
weights = (len(labels) - positives) / positives
print("share of positives:", " ".join(f"{value:.4f}" for value in (positives / len(labels)).tolist()))

model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
criterion = nn.BCEWithLogitsLoss(pos_weight=weights, reduction="none")
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
importance = torch.tensor([1.0, 2.0, 0.5])

for step in range(steps):
    optimizer.zero_grad()
    per_label = criterion(model(features), labels).mean(dim=0)
    # One loss for each label: `gradient` says how much each of them counts.
    per_label.backward(gradient=importance)
    optimizer.step()
    if step % max(1, steps // 4) == 0:
        print(f"step {step:4d}  losses", " ".join(f"{value:.4f}" for value in per_label.tolist()))

with torch.no_grad():
    predicted = (model(features) > 0).float()
    recall = (predicted * labels).sum(dim=0) / positives
print("recall:", " ".join(f"{value:.3f}" for value in recall.tolist()))
