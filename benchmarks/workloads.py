"""The programs that are measured, and their data. Each is written once, in torch's API, and runs on either library.

`make(name, torch)` gives a function that does one whole iteration and returns what it computed, for comparison.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

Step = Callable[[], list]
WORKLOADS: dict[str, Callable[..., Step]] = {}


def workload(function: Callable[..., Step]) -> Callable[..., Step]:
    WORKLOADS[function.__name__] = function
    return function


def make(name: str, torch: Any) -> Step:
    rng = np.random.default_rng(zlib.crc32(name.encode()))

    def data(*shape: int, scale: float = 1.0) -> Any:
        return (rng.standard_normal(shape) * scale).astype(np.float32)

    return WORKLOADS[name](torch, data, rng)


def _leaf(torch: Any, array: Any) -> Any:
    return torch.tensor(array, requires_grad=True)


def _loop(loss_of: Callable, parameters: list, *constants: Any) -> Step:
    """Forward, backward, collect the gradients."""

    def step() -> list:
        loss = loss_of(*parameters, *constants)
        loss.backward()
        gradients = [p.grad for p in parameters]
        for p in parameters:
            p.grad = None
        return [loss, *gradients]

    return step


# --- overhead ---


@workload
def seed(torch: Any, data: Callable, rng: Any) -> Step:
    """x=[2,3]; (x*x).backward(gradient=[1,.5]), with the creation of the tensors"""

    def step() -> list:
        x = torch.tensor([2.0, 3.0], requires_grad=True)
        y = x * x
        y.backward(gradient=torch.tensor([1.0, 0.5]))
        return [y, x.grad]

    return step


@workload
def chain100(torch: Any, data: Callable, rng: Any) -> Step:
    """100 multiplications of 10-vectors, sum, backward"""

    def loss(x: Any, y: Any) -> Any:
        for _ in range(100):
            x = x * y
        return x.sum()

    return _loop(loss, [_leaf(torch, data(10)), _leaf(torch, 1 + data(10, scale=0.01))])


@workload
def scalar1000(torch: Any, data: Callable, rng: Any) -> Step:
    """a graph of 1000 scalar additions, multiplications and tanhs, backward"""
    program = []
    for k in range(1000):
        n = 8 + k
        program.append((k % 3, n - 1, 7 - k if k < 7 else int(rng.integers(max(0, n - 20), n))))
    tanh = torch.tanh

    def loss(*leaves: Any) -> Any:
        values = list(leaves)
        for kind, i, j in program:
            if kind == 0:
                values.append(values[i] + values[j])
            elif kind == 1:
                values.append(values[i] * values[j])
            else:
                values.append(tanh(values[i]))
        return values[-1]

    return _loop(loss, [_leaf(torch, float(v)) for v in rng.uniform(-1, 1, 8)])


def _mlp(torch: Any, data: Callable, batch: int, inputs: int, hidden: int, outputs: int) -> Step:
    X, Y = torch.tensor(data(batch, inputs)), torch.tensor(data(batch, outputs))
    parameters = [
        _leaf(torch, data(inputs, hidden, scale=inputs**-0.5)), _leaf(torch, data(hidden, scale=0.1)),
        _leaf(torch, data(hidden, outputs, scale=hidden**-0.5)), _leaf(torch, data(outputs, scale=0.1)),
    ]  # fmt: skip

    def step() -> list:
        W1, b1, W2, b2 = parameters
        loss = ((torch.tanh(X @ W1 + b1) @ W2 + b2 - Y) ** 2).mean()
        loss.backward()
        gradients = [p.grad for p in parameters]
        with torch.no_grad():
            for p in parameters:
                p -= 1e-3 * p.grad
                p.grad = None
        return [loss, *gradients]

    return step


@workload
def mlp_small(torch: Any, data: Callable, rng: Any) -> Step:
    """batch 32, 16-32-4, tanh, MSE, backward, SGD step"""
    return _mlp(torch, data, 32, 16, 32, 4)


@workload
def mlp_medium(torch: Any, data: Callable, rng: Any) -> Step:
    """batch 256, 128-256-10, tanh, MSE, backward, SGD step"""
    return _mlp(torch, data, 256, 128, 256, 10)


@workload
def mlp_large(torch: Any, data: Callable, rng: Any) -> Step:
    """batch 1024, 784-1024-10, tanh, MSE, backward, SGD step"""
    return _mlp(torch, data, 1024, 784, 1024, 10)


@workload
def mlp_adam(torch: Any, data: Callable, rng: Any) -> Step:
    """the small MLP as nn.Sequential with Adam"""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.Tanh(), torch.nn.Linear(32, 4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    X, Y = torch.tensor(data(32, 16)), torch.tensor(data(32, 4))

    def step() -> list:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(X), Y)
        loss.backward()
        optimizer.step()
        return [loss]

    return step


# --- vector losses and transforms ---


@workload
def multilabel(torch: Any, data: Callable, rng: Any) -> Step:
    """(256,512)@(512,20)+b, BCE with logits unreduced, backward(gradient=class weights)"""
    X, Y = torch.tensor(data(256, 512)), torch.tensor((rng.random((256, 20)) < 0.3).astype(np.float32))
    weights = torch.tensor(np.tile(np.linspace(0.5, 2, 20, dtype=np.float32), (256, 1)))
    W, b = _leaf(torch, data(512, 20, scale=512**-0.5)), _leaf(torch, data(20, scale=0.1))

    def step() -> list:
        loss = torch.nn.functional.binary_cross_entropy_with_logits(X @ W + b, Y, reduction="none")
        loss.backward(gradient=weights)
        gradients = [W.grad, b.grad]
        W.grad = b.grad = None
        return [loss, *gradients]

    return step


@workload
def jacobian(torch: Any, data: Callable, rng: Any) -> Step:
    """64x64 Jacobian of tanh(W2 tanh(W1 x + b1) + b2)"""
    x, W1, b1 = torch.tensor(data(64)), torch.tensor(data(64, 64, scale=0.125)), torch.tensor(data(64, scale=0.1))
    W2, b2 = torch.tensor(data(64, 64, scale=0.125)), torch.tensor(data(64, scale=0.1))
    function = torch.func.jacrev(lambda x: torch.tanh(W2 @ torch.tanh(W1 @ x + b1) + b2))
    return lambda: [function(x)]


@workload
def hessian(torch: Any, data: Callable, rng: Any) -> Step:
    """Hessian of the 50-dimensional Rosenbrock function"""
    x = torch.tensor(data(50, scale=0.5))
    function = torch.func.hessian(lambda x: (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum())
    return lambda: [function(x)]


@workload
def per_sample(torch: Any, data: Callable, rng: Any) -> Step:
    """gradients of a small MLP for each of 256 samples, vmap(grad)"""
    X, Y = torch.tensor(data(256, 16)), torch.tensor(data(256, 4))
    parameters = (torch.tensor(data(16, 32)), torch.tensor(data(32)), torch.tensor(data(32, 4)), torch.tensor(data(4)))

    def loss(p: tuple, x: Any, y: Any) -> Any:
        return ((torch.tanh(x @ p[0] + p[1]) @ p[2] + p[3] - y) ** 2).sum()

    function = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))
    return lambda: list(function(parameters, X, Y))


@workload
def hmc(torch: Any, data: Callable, rng: Any) -> Step:
    """100 leapfrog steps, logistic regression 500x20"""
    X, theta = data(500, 20), data(20)
    y = torch.tensor((rng.random(500) < 1 / (1 + np.exp(-X @ theta))).astype(np.float32))
    X, q0, p0 = torch.tensor(X), torch.tensor(data(20, scale=0.1)), torch.tensor(data(20))
    softplus = torch.nn.functional.softplus

    def grad(q: Any) -> Any:
        q = q.detach().requires_grad_(True)
        z = X @ q
        return torch.autograd.grad((y * z - softplus(z)).sum() - 0.5 * (q * q).sum(), q)[0]

    def step() -> list:
        q, p = q0, p0 + 0.005 * grad(q0)
        for i in range(100):
            q = q + 0.01 * p
            p = p + (0.01 if i < 99 else 0.005) * grad(q)
        return [q, p]

    return step


@workload
def rnn(torch: Any, data: Callable, rng: Any) -> Step:
    """a GRU-like cell, 100 steps, batch 8, hidden 32, backward"""
    size = 32
    gates = [
        (data(size, size, scale=size**-0.5), data(size, size, scale=size**-0.5), data(size, scale=0.1)) for _ in "zrn"
    ]
    parameters = [_leaf(torch, array) for gate in gates for array in gate]
    xs, h0 = torch.tensor(data(100, 8, size)), torch.tensor(data(8, size, scale=0.1))

    def loss(Wz: Any, Uz: Any, bz: Any, Wr: Any, Ur: Any, br: Any, Wn: Any, Un: Any, bn: Any, xs: Any, h: Any) -> Any:
        for t in range(100):
            x = xs[t]
            z = torch.sigmoid(x @ Wz + h @ Uz + bz)
            r = torch.sigmoid(x @ Wr + h @ Ur + br)
            n = torch.tanh(x @ Wn + (r * h) @ Un + bn)
            h = (1 - z) * n + z * h
        return (h * h).mean()

    return _loop(loss, parameters, xs, h0)


# --- large arrays ---


@workload
def softmax_xent(torch: Any, data: Callable, rng: Any) -> Step:
    """logits (4096,1000), log_softmax and nll, backward"""
    F = torch.nn.functional
    target = torch.tensor(rng.integers(0, 1000, 4096))
    return _loop(lambda x: F.nll_loss(F.log_softmax(x, dim=1), target), [_leaf(torch, data(4096, 1000))])


@workload
def gelu_ln(torch: Any, data: Callable, rng: Any) -> Step:
    """(4096,1024): sum(layer_norm(gelu(x*w+b))**2), backward to five inputs"""
    F = torch.nn.functional

    def loss(x: Any, w: Any, b: Any, gamma: Any, beta: Any) -> Any:
        y = F.layer_norm(F.gelu(x * w + b, approximate="tanh"), (1024,), gamma, beta)
        return (y * y).sum()

    return _loop(
        loss, [_leaf(torch, a) for a in (data(4096, 1024), data(1024), data(1024, scale=0.1), data(1024), data(1024))]
    )


@workload
def attention(torch: Any, data: Callable, rng: Any) -> Step:
    """a GPT block: batch 4, 128 tokens, 256 channels, 4 heads, backward"""
    F = torch.nn.functional
    B, S, C, H = 4, 128, 256, 4
    d, s = C // H, C**-0.5
    arrays = [
        data(B, S, C), 1 + data(C, scale=0.1), data(C, scale=0.1), data(C, 3 * C, scale=s), data(3 * C, scale=0.1),
        data(C, C, scale=s), data(C, scale=0.1), 1 + data(C, scale=0.1), data(C, scale=0.1), data(C, 4 * C, scale=s),
        data(4 * C, scale=0.1), data(4 * C, C, scale=0.5 * s), data(C, scale=0.1),
    ]  # fmt: skip
    mask = torch.tensor(np.triu(np.full((S, S), -1e9, np.float32), 1))

    def loss(x, g1, c1, Wqkv, bqkv, Wo, bo, g2, c2, W1, b1, W2, b2):  # type: ignore[no-untyped-def]
        h = F.layer_norm(x, (C,), g1, c1)
        q, k, v = (h @ Wqkv + bqkv).reshape(B, S, 3, H, d).permute(2, 0, 3, 1, 4)
        a = F.softmax((q @ k.transpose(-2, -1)) * d**-0.5 + mask, dim=-1) @ v
        x = x + a.permute(0, 2, 1, 3).reshape(B, S, C) @ Wo + bo
        h = F.layer_norm(x, (C,), g2, c2)
        x = x + F.gelu(h @ W1 + b1, approximate="tanh") @ W2 + b2
        return (x * x).mean()

    return _loop(loss, [_leaf(torch, array) for array in arrays])


@workload
def conv(torch: Any, data: Callable, rng: Any) -> Step:
    """16x3x32x32: conv16-relu-maxpool-conv32-relu-mean-linear-cross entropy, backward"""
    F = torch.nn.functional
    x, y = torch.tensor(data(16, 3, 32, 32)), torch.tensor(rng.integers(0, 10, 16))

    def loss(k1: Any, c1: Any, k2: Any, c2: Any, W: Any, b: Any) -> Any:
        h = F.max_pool2d(F.relu(F.conv2d(x, k1, c1, padding=1)), 2)
        h = F.relu(F.conv2d(h, k2, c2, padding=1)).mean(dim=(2, 3))
        return F.cross_entropy(h @ W + b, y)

    arrays = (
        data(16, 3, 3, 3, scale=0.2), data(16, scale=0.1), data(32, 16, 3, 3, scale=0.1), data(32, scale=0.1),
        data(32, 10, scale=0.2), data(10, scale=0.1),
    )  # fmt: skip
    return _loop(loss, [_leaf(torch, array) for array in arrays])


@workload
def bigew(torch: Any, data: Callable, rng: Any) -> Step:
    """16M elements: sum(tanh(x)*exp(-x*x)), backward"""
    return _loop(lambda x: (torch.tanh(x) * torch.exp(-x * x)).sum(), [_leaf(torch, data(1 << 24))])


@workload
def embedding(torch: Any, data: Callable, rng: Any) -> Step:
    """a 50k x 64 table, 4096 lookups, sum, backward"""
    index = torch.tensor(rng.integers(0, 50000, 4096))
    return _loop(lambda table: torch.nn.functional.embedding(index, table).sum(), [_leaf(torch, data(50000, 64))])
