"""Random differentiable programs and a few models, shared by the tests of explanations."""

from __future__ import annotations

import numpy as np

import pullback
from pullback import nn

F = nn.functional

_UNARY = [
    lambda t: t.sin(),
    lambda t: t.tanh(),
    lambda t: t.sigmoid(),
    lambda t: t.relu(),
    lambda t: t * t,
    lambda t: -t,
    lambda t: t.exp() * 0.1,
    lambda t: t.T.contiguous().T,
    lambda t: t.softmax(-1),
    lambda t: t - t.mean(0, keepdim=True),
    lambda t: t.cumsum(0),
    lambda t: t.abs().sqrt() if t.abs().min() > 0 else t,
    lambda t: t[[1, 0, 1]],
    lambda t: t.roll(1, 0),
    lambda t: t.clamp(-1, 1),
    lambda t: t.reshape(-1).reshape(t.shape),
]
_BINARY = [
    lambda a, b: a + b,
    lambda a, b: a * b,
    lambda a, b: a - 2 * b,
    lambda a, b: a / (1 + b * b),
    lambda a, b: a @ b.T @ b,
    lambda a, b: pullback.where(a > b, a, b),
    lambda a, b: pullback.cat([a, b], 0)[1:4],
    lambda a, b: pullback.maximum(a, b),
]
_REDUCE = [
    lambda t: t.sum(),
    lambda t: t.sum(1),
    lambda t: t.mean(0),
    lambda t: t,
    lambda t: (t * t).sum(0),
    lambda t: t.logsumexp(1),
    lambda t: t.amax(1),
    lambda t: t[0],
]


def random_program(seed: int, dtype=pullback.float64):
    """(leaves by name, loss, weights) of a random program on 3 x 3 matrices."""
    generator = np.random.default_rng(seed)
    leaves = {
        f"leaf_{i}": pullback.tensor(generator.normal(size=(3, 3) if i else (3,)), dtype=dtype).requires_grad_()
        for i in range(int(generator.integers(1, 4)))
    }
    pool = [leaf if leaf.ndim == 2 else leaf.expand(3, 3) for leaf in leaves.values()]
    for _ in range(int(generator.integers(1, 14))):
        a, b = (pool[int(generator.integers(len(pool)))] for _ in range(2))
        if generator.random() < 0.5:
            pool.append(_UNARY[int(generator.integers(len(_UNARY)))](a))
        else:
            pool.append(_BINARY[int(generator.integers(len(_BINARY)))](a, b))
    total = pool[-1]
    for part in pool[:-1]:  # everything takes part
        total = total + 0.1 * part
    loss = _REDUCE[int(generator.integers(len(_REDUCE)))](total)
    weights = pullback.tensor(generator.normal(size=tuple(loss.shape)), dtype=dtype)
    return leaves, loss, weights


class Block(nn.Module):
    """A transformer block of the plain kind."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(self.norm1(x)).split(d, 2))
        mixed = ((q @ k.transpose(-2, -1)) / 4).softmax(-1) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.norm2(x))


def transformer_loss(blocks: int):
    """(model, loss) of a small transformer; the loss has 6 elements."""
    pullback.manual_seed(0)
    model = nn.Sequential(nn.Embedding(11, 8), *[Block(8, 2) for _ in range(blocks)], nn.Linear(8, 11))
    tokens = pullback.randint(0, 11, (2, 3))
    loss = F.cross_entropy(model(tokens).view(-1, 11), tokens.view(-1), reduction="none")
    return model, loss
