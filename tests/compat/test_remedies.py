"""What errors advise: the advice stands in the message or in a note below it, and a program that follows it runs."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pullback

# The mistake, words of the advice, and the program that follows it; each runs with the names of `scene`.
REMEDIES = [
    ("nn.Sequential([layer])", "with a star", "nn.Sequential(*[layer])(x)"),
    ("nn.Sequential(layer, t.relu)", "nn.ReLU() for torch.relu", "nn.Sequential(layer, nn.ReLU())(x)"),
    ("nn.Sequential(layer, nn.ReLU)", "make a layer of it: ReLU(...)", "nn.Sequential(layer, nn.ReLU())(x)"),
    ("Begun(False)", "super().__init__()", "Begun(True).layer(x)"),
    ("t.optim.SGD(layer, lr=0.1)", "model.parameters()", "t.optim.SGD(layer.parameters(), lr=0.1)"),
    ("nn.MSELoss(x, x)", "nn.MSELoss()(output, target)", "nn.MSELoss()(x, x)"),
    ("nn.CrossEntropyLoss(x, y)", "made first and then called", "nn.CrossEntropyLoss()(x, y)"),
    ("F.cross_entropy(x, y[:, None])", "target.squeeze(1)", "F.cross_entropy(x, y[:, None].squeeze(1))"),
    ("F.nll_loss(x, t.eye(4).long())", "target.argmax(1)", "F.nll_loss(x, t.eye(4).long().argmax(1))"),
    ("nn.BatchNorm1d(10)(x[:1])", "model.eval()", "nn.BatchNorm1d(10).eval()(x[:1])"),
    (
        "nn.Conv2d(3, 1, 1)(t.ones(2, 8, 8, 3))",
        "movedim(-1, -3)",
        "nn.Conv2d(3, 1, 1)(t.ones(2, 8, 8, 3).movedim(-1, -3))",
    ),
    ("nn.Conv2d(3, 1, 1)(t.ones(8, 8, 3))", "movedim(-1, -3)", "nn.Conv2d(3, 1, 1)(t.ones(8, 8, 3).movedim(-1, -3))"),
    ("nn.Conv2d(3, 1, 1)(t.ones(2, 1, 8, 8))", "in_channels=1", "nn.Conv2d(1, 1, 1)(t.ones(2, 1, 8, 8))"),
    ("t.randint(10)", "torch.randint(10, (2, 3))", "t.randint(10, (2, 3))"),
    ("nn.Embedding(9, 2)(y.float())", "indices.long()", "nn.Embedding(9, 2)(y.float().long())"),
    ("if x > 0: pass", "x.any() or x.all()", "if (x > 0).any(): pass"),
    ("x.item()", "x.tolist()", "x.tolist(); x.mean().item()"),
    ('f"{x:.3f}"', "x.mean().item()", 'f"{x.mean().item():.3f}"'),
    ("F.cross_entropy(x, t.eye(4, 10).long())", "target.argmax(1)", "F.cross_entropy(x, t.eye(4, 10).argmax(1))"),
    (
        "F.binary_cross_entropy(x, x.long())",
        "target.to(input.dtype)",
        "F.binary_cross_entropy(x, x.long().to(x.dtype))",
    ),
    ("t.optim.SGD([], lr=0.1)", "nn.ModuleList", "t.optim.SGD(nn.ModuleList([layer]).parameters(), lr=0.1)"),
    ("x.mean(0, 1)", "dim=(0, 1)", "x.mean(dim=(0, 1))"),
    ("y /= 2", "x = x / 2", "y = y / 2"),
    ("y += 0.5", "x.float()", "y = y.float(); y += 0.5"),
    ("t.from_numpy([1.0])", "torch.tensor(...)", "t.tensor([1.0])"),
    ("t.func.grad(t.sin)(1.0)", "torch.tensor(...)", "t.func.grad(t.sin)(t.tensor(1.0))"),
    ("w += 1", "torch.no_grad()", "with t.no_grad(): w += 1"),
    ("w[0] = 1", "x.clone()", "c = w.clone(); c[0] = 1"),
    ("e = w.exp(); e += 1; e.sum().backward()", "y = y + 1", "e = w.exp(); e = e + 1; e.sum().backward()"),
    ("layer(x.T)", "in_features", "layer(x)"),
    ("x @ x", "transpose: .T", "x @ x.T"),
    (
        "for _ in range(2): w2 = w * w if _ == 0 else w2; w2.sum().backward()",
        "compute the loss anew",
        "for _ in range(2): w2 = w * w; w2.sum().backward()",
    ),
    (
        "h = w.detach()\nfor _ in range(2): h = h * w; h.sum().backward()",
        "detach() what one step hands",
        "h = w.detach()\nfor _ in range(2): h = h.detach() * w; h.sum().backward()",
    ),
    ("t.autograd.grad(w * w, w)", "grad_outputs=", "t.autograd.grad(w * w, w, grad_outputs=t.ones(3))"),
    ("(w * w).backward()", "backward(gradient=", "(w * w).backward(gradient=t.ones(3))"),
    ("(w * w).backward(t.ones(1))", "expand_as(output)", "(w * w).backward(t.ones(1).expand_as(w))"),
    ("t.tensor([1], requires_grad=True)", "1. instead of 1", "t.tensor([1.], requires_grad=True)"),
    ("y.mean()", "x.float().mean()", "y.float().mean()"),
    ("layer(x.double())", "b.to(a.dtype)", "layer(x.double().to(layer.weight.dtype))"),
    ("t.optim.SGD(w, lr=0.1)", "[tensor]", "t.optim.SGD([w], lr=0.1)"),
    ("np.unwrap(w)", "x.detach().numpy()", "np.unwrap(w.detach().numpy())"),
    (
        "t.func.vmap(lambda x: x.item())(x[0])",
        'fallback="loop"',
        't.func.vmap(lambda x: x * x.item(), fallback="loop")(x[0])',
    ),
    ("t.zeroes(2)", "torch.zeros", "t.zeros(2)"),
    ("t.explain((w * w).sum().item())", "before .item()", "t.explain((w * w).sum())"),
    ("t.optim.SGD(layer.parameters, lr=0.1)", "model.parameters()", "t.optim.SGD(layer.parameters(), lr=0.1)"),
    ("t.cat(x, x)", "torch.cat([a, b])", "t.cat([x, x])"),
    (
        "F.binary_cross_entropy_with_logits(w, w[:, None])",
        "target.view_as(input)",
        "F.binary_cross_entropy_with_logits(w, w[:, None].view_as(w))",
    ),
    ("layer.load_state_dict(layer)", "state_dict()", "layer.load_state_dict(layer.state_dict())"),
    ("layer.load_state_dict('model.pt')", "torch.load(path)", ""),
    (
        "layer.load_state_dict(nn.Sequential(layer).state_dict())",
        '{name.removeprefix("0."): value for name, value in state_dict.items()}',
        "s = nn.Sequential(layer).state_dict(); layer.load_state_dict({n.removeprefix('0.'): v for n, v in s.items()})",
    ),
    (
        "list(t.utils.data.DataLoader([t.ones(2), t.ones(3)], batch_size=2))",
        "collate_fn=list",
        "list(t.utils.data.DataLoader([t.ones(2), t.ones(3)], batch_size=2, collate_fn=list))",
    ),
]


class Begun(pullback.nn.Module):
    def __init__(self, begun: bool) -> None:
        if begun:
            super().__init__()
        self.layer = pullback.nn.Linear(10, 5)


def scene() -> dict[str, Any]:
    t = pullback
    names = {"t": t, "nn": t.nn, "F": t.nn.functional, "np": np, "Begun": Begun, "layer": t.nn.Linear(10, 5)}
    return names | {"x": t.ones(4, 10), "y": t.tensor([0, 1, 2, 3]), "w": t.ones(3, requires_grad=True)}


@pytest.mark.parametrize(("mistake", "advice", "remedy"), REMEDIES, ids=[row[0] for row in REMEDIES])
def test_advice_can_be_followed(mistake: str, advice: str, remedy: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as caught:
            exec(mistake, scene())
        exec(remedy, scene())
    assert advice in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
