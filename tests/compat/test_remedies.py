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
    ("t.grad(w.sum)", "torch.func.grad", "t.func.grad(t.sum)(x)"),
    ("t.func.value_and_grad(t.sum)", "torch.func.grad_and_value", "t.func.grad_and_value(t.sum)(x)"),
    ("t.func.tree_map(len, [w])", "torch.utils._pytree.tree_map", "t.utils._pytree.tree_map(len, [w])"),
    ("t.stop_gradient(w)", "torch.Tensor.detach", "t.Tensor.detach(w)"),
    ("t.array([1.0])", "torch.tensor", "t.tensor([1.0])"),
    ("t.concatenat([x])", "torch.concatenate", "t.concatenate([x])"),
    ("x.sum(axes=0)", "Did you mean dim=...?", "x.sum(dim=0)"),
    ("t.mean(x, dims=0)", "Did you mean dim=...?", "t.mean(x, dim=0)"),
    ("x.sum(0, keep_dims=True)", "Did you mean keepdim=...?", "x.sum(0, keepdim=True)"),
    ("w.backward(grad=t.ones(3))", "Did you mean gradient=...?", "w.backward(gradient=t.ones(3))"),
    ("w.backward(grad_tensors=t.ones(3))", "Did you mean gradient=...?", "w.backward(gradient=t.ones(3))"),
    ("t.func.vmap(t.sin, in_axes=0)", "Did you mean in_dims=...?", "t.func.vmap(t.sin, in_dims=0)(x)"),
    ("t.func.vmap(t.sin, out_axes=1)", "Did you mean out_dims=...?", "t.func.vmap(t.sin, out_dims=1)(x)"),
    ("t.func.grad(t.sum, argnum=0)", "Did you mean argnums=...?", "t.func.grad(t.sum, argnums=0)(x)"),
    ("t.func.jacrev(t.sin, hasaux=False)", "Did you mean has_aux=...?", "t.func.jacrev(t.sin, has_aux=False)(x)"),
    (
        "t.multi.backward([w.sum()], aggregator='upgard')",
        "'UPGrad'",
        "t.multi.backward([w.sum()], aggregator='UPGrad')",
    ),
    (
        "t.multi.backward([w.sum()], aggregator=t.multi.NashMTL)",
        "NashMTL(n_tasks=...)",
        "t.multi.backward([w.sum()], aggregator=t.multi.NashMTL(n_tasks=1))",
    ),
    (
        "t.multi.backward([w.sum()], aggregator=3)",
        "multi.UPGrad()",
        "t.multi.backward([w.sum()], aggregator=t.multi.UPGrad())",
    ),
    ("t.multi.jac_to_grad([w], 'kurm')", "Did you mean 'Krum'?", ""),
    ("t.func.vmap(lambda x: x if x > 0 else -x)(x[0])", "docs/howto/transforms.md", "t.func.vmap(t.abs)(x[0])"),
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


# What the message has to say about the tensor: its own name, its variable's, its path in a module, its place in a list.
NAMED = [
    ("t.autograd.grad(w.sum(), [w, v])", "'v', of shape (2,)"),
    ("t.autograd.grad(layer(x).sum(), list(both.parameters()))", "'both.1.weight', of shape (2, 3)"),
    ("t.autograd.grad(w.sum(), [w, x])", "'x', of shape (4, 10)"),
    ("x.sum().backward()", "has the shape ()"),
    ("x.backward(x)", "'x', of shape (4, 10)"),
    ("w.sum().backward(inputs=[x])", "'x', of shape (4, 10)"),
    ("w.add_(1)", "'w', of shape (3,)"),
    ("w[0] = 1.0", "'w', of shape (3,)"),
    ("both[1].weight[0].fill_(1)", "'both.1.weight', of shape (2, 3)"),
    ("several[1].mul_(2)", "'several[1]', of shape (5,)"),
    ("v.name = 'velocity'; v.add_(1)", "'velocity', of shape (2,)"),
    ("w.grad = t.ones(2)", "'w', of shape (3,)"),
    ("w.backward(t.ones(2))", "'w', of shape (3,)"),
    ("broken = Broken(); several[1].mul_(2)", "'several[1]', of shape (5,)"),
    ("broken = Broken(); broken.layer.weight.add_(1)", "has the shape (5, 10)"),
]


class Broken(pullback.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = pullback.nn.Linear(10, 5)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
        raise KeyError("mine")


@pytest.mark.parametrize(("line", "said"), NAMED, ids=[row[0] for row in NAMED])
def test_messages_name_the_tensor(line: str, said: str) -> None:
    t = pullback
    names = scene() | {
        "v": t.ones(2, requires_grad=True),
        "both": t.nn.Sequential(t.nn.Linear(10, 5), t.nn.Linear(3, 2)),
    }
    names |= {"several": [t.ones(5), t.ones(5, requires_grad=True)], "Broken": Broken}
    names["layer"] = names["both"][0]
    with pytest.raises(RuntimeError) as caught:
        exec(line, names)
    assert said in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])


def test_aggregators_may_be_named() -> None:
    w = pullback.tensor([1.0, 2.0], requires_grad=True)
    results = []
    for given in (pullback.multi.UPGrad(), pullback.multi.UPGrad, "UPGrad", "upgrad", "up-grad"):
        w.grad = None
        pullback.multi.backward([(w**2).sum(), -w.sum()], [w], aggregator=given)  # type: ignore[arg-type]
        results.append(w.grad.tolist())
    assert all(each == results[0] for each in results)
