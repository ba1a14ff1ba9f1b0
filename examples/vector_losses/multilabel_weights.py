"""Four questions about each handwritten digit, one network: what weightings and aggregators do to the four losses.

Is it even? Is it prime? Does it have a closed loop? Is it above four? Each label has its own loss, so the loss is a
vector, and how to make one gradient of it is a choice: fixed weights, or an aggregator that looks at how the
gradients disagree.

    python examples/vector_losses/multilabel_weights.py [steps] [picture.png]

Needs scikit-learn for the images that ship with it; shows a bar with tqdm and draws with matplotlib, if they are
installed.
"""

import sys

import pullback as torch
from pullback import multi, nn

try:
    from sklearn.datasets import load_digits
except ModuleNotFoundError:
    sys.exit("This example needs scikit-learn: pip install scikit-learn")

try:
    from tqdm import trange
except ModuleNotFoundError:
    trange = lambda count, **_: range(count)

LABELS = {"even": (0, 2, 4, 6, 8), "prime": (2, 3, 5, 7), "loop": (0, 6, 8, 9), "above four": (5, 6, 7, 8, 9)}
CHOICES = {
    "equal weights": torch.tensor([0.25, 0.25, 0.25, 0.25]),
    "loops matter": torch.tensor([0.1, 0.1, 0.7, 0.1]),
    "by rarity": None,  # filled in from the data below
    "UPGrad": multi.UPGrad(),
    "MGDA": multi.MGDA(),
    "CAGrad": multi.CAGrad(c=0.5),
    "IMTL-G": multi.IMTLG(),
    "Aligned-MTL": multi.AlignedMTL(),
}


def load():
    digits = load_digits()
    images = torch.tensor(digits.data / 16.0, dtype=torch.float32)
    numbers = torch.tensor(digits.target)
    labels = torch.stack([sum((numbers == n) for n in members).float() for members in LABELS.values()], 1)
    order = torch.randperm(len(images))
    return images[order], labels[order]


def train(choice, images, labels, steps, name):
    torch.manual_seed(1)
    model = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, len(LABELS)))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    history = []
    for _ in trange(steps, desc=f"{name:>14}", leave=False):
        batch = torch.randint(0, len(images), (256,))
        losses = nn.functional.binary_cross_entropy_with_logits(model(images[batch]), labels[batch], reduction="none")
        per_label = losses.mean(0)
        optimizer.zero_grad()
        if isinstance(choice, torch.Tensor):
            per_label.backward(gradient=choice)  # the founding question: how much does each loss count?
        else:
            multi.backward(per_label, model.parameters(), aggregator=choice)
        optimizer.step()
        history.append(per_label.detach().tolist())
    return model, history


def conflicts(model, images, labels):
    """Cosines between the gradients of the four losses; negative ones are conflicts."""
    losses = nn.functional.binary_cross_entropy_with_logits(model(images), labels, reduction="none").mean(0)
    products = multi.gramian(losses, model.parameters())
    lengths = products.diagonal().sqrt()
    return products / (lengths[:, None] * lengths)


def draw(histories, path):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        print("matplotlib is not installed: no picture")
        return
    figure, axes = plt.subplots(1, len(LABELS), figsize=(16, 4), sharey=True)
    for column, (axis, label) in enumerate(zip(axes, LABELS, strict=True)):
        for name, history in histories.items():
            axis.plot([row[column] for row in history], label=name, linewidth=1)
        axis.set_title(label)
        axis.set_yscale("log")
        axis.set_xlabel("step")
    axes[0].set_ylabel("loss")
    axes[-1].legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=100)
    print(f"losses drawn in {path}")


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 150
    torch.manual_seed(0)
    images, labels = load()
    known, unseen = slice(0, 1400), slice(1400, None)
    rarity = 1 / labels[known].mean(0)
    choices = {**CHOICES, "by rarity": rarity / rarity.sum()}
    print("share of yes:  " + "  ".join(f"{n}: {s:.2f}" for n, s in zip(LABELS, labels.mean(0).tolist(), strict=True)))
    print(f"\n{'':>14}  " + "  ".join(f"{label:>10}" for label in LABELS) + "   all right")
    histories = {}
    for name, choice in choices.items():
        model, histories[name] = train(choice, images[known], labels[known], steps, name)
        with torch.no_grad():
            right = (model(images[unseen]) > 0) == (labels[unseen] > 0.5)
        shares = [*right.float().mean(0).tolist(), right.all(1).float().mean().item()]
        print(f"{name:>14}  " + "  ".join(f"{share:10.3f}" for share in shares))
    print("\ncosines between the labels' gradients, for the last model:")
    print(conflicts(model, images[known], labels[known]))
    if len(sys.argv) > 2:
        draw(histories, sys.argv[2])


if __name__ == "__main__":
    main()
