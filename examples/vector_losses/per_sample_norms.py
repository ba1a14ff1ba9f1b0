"""Which training samples pull hardest? Per-sample gradient norms find labels that were spoiled on purpose.

A network is trained for a while on data of which a few labels are wrong. Then one ordinary forward pass with
`reduction="none"` and one backward pass give the length of every sample's gradient: the spoiled ones stand out. The
inner products of the gradients also tell which samples pull in the same direction as a given one.

    python examples/vector_losses/per_sample_norms.py [steps]
"""

import sys
import time

import pullback as torch
from pullback import multi, nn

SAMPLES, SPOILED = 500, 25


def data():
    centres = 2.5 * torch.randn(4, 8)
    labels = torch.arange(SAMPLES) % 4
    inputs = centres[labels] + torch.randn(SAMPLES, 8)
    spoiled = torch.randperm(SAMPLES)[:SPOILED]
    given = labels.clone()
    given[spoiled] = (labels[spoiled] + 1 + torch.randint(0, 3, (SPOILED,))) % 4
    return inputs, given, spoiled


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    torch.manual_seed(0)
    inputs, labels, spoiled = data()
    model = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(inputs), labels).backward()
        optimizer.step()

    begin = time.perf_counter()
    losses = nn.functional.cross_entropy(model(inputs), labels, reduction="none")
    norms = torch.per_sample_norms(losses, list(model.parameters()))
    print(f"norms of {SAMPLES} gradients in {1e3 * (time.perf_counter() - begin):.1f} ms")

    suspects = norms.argsort(descending=True)[:SPOILED]
    found = len(set(suspects.tolist()) & set(spoiled.tolist()))
    print(f"of the {SPOILED} samples with the longest gradients, {found} had been spoiled")
    print(f"median norm: spoiled {norms[spoiled].median().item():.3f}, all {norms.median().item():.3f}")

    products = multi.gramian(losses, model.parameters())
    cosines = products[0] / (norms * norms[0])
    friends = cosines.argsort(descending=True)[1:6].tolist()
    print(f"sample 0 (label {labels[0].item()}) pulls with samples {friends}, labels {labels[friends].tolist()}")

    rows = torch.per_sample_gradients(losses, list(model.parameters()))
    clipped = [row * (1 / norms.clamp(min=1)).reshape(-1, *[1] * (row.ndim - 1)) for row in rows]
    total = sum(part.mean(0).square().sum() for part in clipped) ** 0.5
    print(f"length of the mean gradient, each sample clipped to 1: {total.item():.4f}")


if __name__ == "__main__":
    main()
