"""Times everyday calls on small tensors, where what counts is the cost of a call: `python -m benchmarks.calls`.

Each line of `CALLS` runs on torch and on Pullback in turns, in bursts of a few milliseconds; reported is the fastest
burst of each. Up to three times: on plain tensors, recorded (the floating point tensors require grad), and recorded and
sent back. `--only TEXT` picks lines, `--write FILE` keeps the table.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

# What the calls are made of: v, w are vectors of 10, m, n matrices of 8 x 8, M, N of 32 x 32, s is a 0-d tensor.
# Lines that begin with `plain:` have nothing to record.
CALLS: str = """
Arithmetic
    v + w
    v * 2.0
    m / n
    v - s
    -v
    v ** 2
    m @ n
    torch.mv(m, v[:8])
    torch.outer(v, w)
    torch.dot(v, w)
    torch.exp(v)
    torch.tanh(v)
    torch.sqrt(p)
    torch.relu(v)
    torch.sigmoid(v)
    v.abs()
    torch.clamp(v, -0.5, 0.5)
    v.clamp(min=0)
    torch.lerp(v, w, 0.3)
    torch.where(mask, v, w)
    torch.where(mask, v, 0.0)
    v.masked_fill(mask, 0.0)
    torch.maximum(v, w)
    torch.addmm(n[0], m, n)
    torch.einsum("ij,jk->ik", m, n)
    torch.bmm(batch, batch)
Matrices of 32 x 32
    M + N
    M @ N
    torch.tanh(M)
    M.sum(dim=1)
    F.gelu(M)
    F.softmax(M, dim=-1)
    F.layer_norm(M, (32,))
    F.linear(M, N)
Reductions
    v.sum()
    m.sum(dim=1)
    m.mean()
    m.mean(dim=-1, keepdim=True)
    v.norm()
    torch.linalg.norm(m, dim=1)
    v.std()
    m.var(dim=0)
    v.max()
    m.max(dim=1)
    m.amax(dim=1)
    v.prod()
    m.logsumexp(dim=1)
    m.cumsum(dim=1)
    v.sort()
    v.topk(3)
    plain: v.argmax()
    plain: m.argmax(dim=1)
    plain: v.argsort()
    plain: mask.any()
    plain: mask.all()
    plain: mask.sum()
Comparison
    plain: v > 0
    plain: v == w
    plain: (v == w).float().mean()
    plain: torch.isnan(v)
    plain: torch.allclose(v, w)
    plain: torch.equal(v, w)
    plain: ~mask
    plain: mask & mask
Shape
    m.t()
    m.T
    m.view(-1)
    m.reshape(4, 16)
    m.flatten()
    batch.flatten(1)
    batch.permute(2, 0, 1)
    batch.transpose(1, 2)
    v.unsqueeze(0)
    v[None]
    m[:1].squeeze(0)
    v.expand(4, 10)
    m.repeat(2, 1)
    m.contiguous()
    torch.cat([v, w])
    torch.cat((m, n), dim=1)
    torch.stack([v, w])
    m.chunk(2)
    m.chunk(2, dim=-1)
    m.split(4)
    m.unbind(0)
    torch.tril(m)
    torch.flip(v, (0,))
    torch.roll(v, 1, 0)
Indexing
    v[3]
    m[3]
    m[3, 4]
    m[:, 2]
    m[1:5]
    v[::2]
    m[..., -1]
    v[mask]
    m[index]
    m[rows, columns]
    torch.gather(m, 1, places)
    m.index_select(0, index)
    torch.take_along_dim(m, places, 1)
    m.diagonal()
    plain: torch.nonzero(mask)
    plain: v.__setitem__(3, 1.0)
    plain: m.__setitem__(3, v[:8])
    plain: m.__setitem__((3, 4), 1.0)
    plain: v.__setitem__(mask, 0.0)
    plain: m.__setitem__(index, 0.0)
    plain: torch.zeros(8, 8).scatter_(1, places, 1.0)
    plain: torch.zeros(8).index_add_(0, index, v[:4])
Writing
    plain: v.add_(w)
    plain: v.mul_(1.0)
    plain: v.zero_()
    plain: v.fill_(0.5)
    plain: v.copy_(w)
    plain: v.lerp_(w, 0.1)
    plain: v.addcmul_(w, w, value=0.0)
    plain: v.clamp_(-1, 1)
Creation
    plain: torch.tensor(1.5)
    plain: torch.tensor([1.0, 2.0, 3.0])
    plain: torch.tensor([[1, 2], [3, 4]])
    plain: torch.tensor(array)
    plain: torch.from_numpy(array)
    plain: torch.as_tensor(array)
    plain: torch.zeros(10)
    plain: torch.zeros(8, 8)
    plain: torch.ones(10)
    plain: torch.full((10,), 2.0)
    plain: torch.empty(10)
    plain: torch.arange(10)
    plain: torch.linspace(0, 1, 10)
    plain: torch.eye(8)
    plain: torch.zeros_like(v)
    plain: torch.rand(10)
    plain: torch.randn(10)
    plain: torch.randn(8, 8)
    plain: torch.randint(0, 10, (10,))
    plain: torch.randperm(10)
    plain: torch.rand_like(v)
Out of tensors
    plain: s.item()
    plain: float(s)
    plain: v.tolist()
    plain: m.numpy()
    plain: v.shape
    plain: m.size(0)
    plain: len(v)
    plain: v.dtype
    plain: v.detach()
    v.clone()
    plain: v.to(torch.float32)
    plain: v.to("cpu")
    plain: v.long()
    v.double()
Functions of nn
    F.relu(m)
    F.gelu(m)
    F.silu(m)
    F.softmax(m, dim=-1)
    F.log_softmax(m, dim=-1)
    F.layer_norm(m, (8,), v[:8], w[:8])
    F.layer_norm(m, (8,))
    F.linear(m, n, v[:8])
    F.cross_entropy(m, labels)
    F.nll_loss(m, labels)
    F.mse_loss(v, w)
    F.l1_loss(v, w)
    F.smooth_l1_loss(v, w)
    F.binary_cross_entropy_with_logits(v, target)
    F.binary_cross_entropy(target, target)
    F.kl_div(m, n, reduction="batchmean")
    F.dropout(m, 0.5)
    F.dropout(m, 0.5, training=False)
    F.embedding(index, m)
    plain: F.one_hot(labels, 8)
    F.normalize(m, dim=1)
    F.cosine_similarity(m, n)
    F.pad(m, (1, 1))
    F.max_pool2d(image, 2)
    F.avg_pool2d(image, 2)
    F.adaptive_avg_pool2d(image, 1)
    F.conv2d(image, kernel, padding=1)
    F.conv1d(batch, batch[:, :, :3], padding=1)
    F.batch_norm(m, None, None, v[:8], w[:8], training=True)
    F.batch_norm(m, v[:8].detach(), p[:8].detach(), v[:8], w[:8])
    F.interpolate(image, scale_factor=2)
    F.scaled_dot_product_attention(batch, batch, batch)
Modules
    nn_linear(m)
    nn_relu(m)
    nn_sequential(m)
    nn_dropout_eval(m)
    nn_layer_norm(m)
    nn_embedding(index)
    nn_loss(m, labels)
    plain: nn_sequential.state_dict()
    plain: list(nn_sequential.parameters())
    plain: torch.nn.Linear(8, 8)
Training
    plain: sgd.step()
    plain: momentum.step()
    plain: adam.step()
    plain: adam.zero_grad(set_to_none=False)
    plain: torch.nn.utils.clip_grad_norm_(parameters, 1.0)
    plain: list(loader)
    plain: no_grad_block()
"""

Namespace = dict[str, Any]
MODES = ("plain", "recorded", "with backward")


def namespace(library: str, recorded: bool) -> Namespace:
    """The tensors, modules and optimizers that the calls name."""
    torch = importlib.import_module(library)
    for name in ("nn", "nn.functional", "nn.utils", "optim", "utils.data", "linalg"):
        importlib.import_module(f"{library}.{name}")
    torch.manual_seed(0)
    rng = np.random.default_rng(0)

    def floats(*shape: int, positive: bool = False) -> Any:
        values = rng.uniform(0.1, 0.9, shape) if positive else rng.standard_normal(shape)
        return torch.tensor(values.astype(np.float32), requires_grad=recorded)

    def integers(*shape: int) -> Any:
        return torch.tensor(rng.integers(0, 8, shape))

    nn = torch.nn
    names: Namespace = {"torch": torch, "F": nn.functional, "array": rng.standard_normal(10)}
    names |= {"v": floats(10), "w": floats(10), "p": floats(10, positive=True), "s": floats()}
    names |= {"m": floats(8, 8), "n": floats(8, 8), "M": floats(32, 32), "N": floats(32, 32), "batch": floats(4, 4, 4)}
    names |= {"image": floats(1, 3, 8, 8), "kernel": floats(4, 3, 3, 3), "mask": torch.tensor(rng.random(10) > 0.5)}
    names |= {
        "index": torch.tensor([0, 3, 5, 7]),
        "rows": integers(8),
        "columns": integers(8),
        "places": integers(8, 3),
    }
    names |= {"labels": integers(8), "target": floats(10, positive=True)}
    names |= {"nn_linear": nn.Linear(8, 8), "nn_relu": nn.ReLU(), "nn_dropout_eval": nn.Dropout().eval()}
    names |= {"nn_layer_norm": nn.LayerNorm(8), "nn_embedding": nn.Embedding(10, 8), "nn_loss": nn.CrossEntropyLoss()}
    names["nn_sequential"] = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
    names["parameters"] = parameters = list(nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 8)).parameters())
    for parameter in parameters:
        parameter.grad = torch.ones_like(parameter) * 1e-3
    names["sgd"] = torch.optim.SGD(parameters, lr=1e-6)
    names["momentum"] = torch.optim.SGD(parameters, lr=1e-6, momentum=0.9)
    names["adam"] = torch.optim.Adam(parameters, lr=1e-6)
    data = torch.utils.data
    names["loader"] = data.DataLoader(data.TensorDataset(names["m"].detach(), names["labels"]), batch_size=4)

    def no_grad_block() -> None:
        with torch.no_grad():
            pass

    names["no_grad_block"] = no_grad_block
    return names


def calls() -> list[tuple[str, str, tuple[str, ...]]]:
    """(family, expression, the modes it runs in) for each line of `CALLS`."""
    found, family = [], ""
    for line in CALLS.strip().splitlines():
        if not line.startswith(" "):
            family = line
            continue
        kind, _, expression = (
            line.strip().rpartition(": ") if line.strip().startswith("plain: ") else ("", "", line.strip())
        )
        found.append((family, expression, MODES[:1] if kind else MODES))
    return found


def function_of(expression: str, names: Namespace, mode: str) -> Callable[[], Any]:
    """A function that makes the call once, and in the last mode sends ones back from its (first) result."""
    call: Callable[[], Any] = eval(f"lambda: {expression}", names)  # lines of this file
    if mode != "with backward":
        return call
    result = call()
    several = not hasattr(result, "backward")
    ones = names["torch"].ones_like(result[0] if several else result)
    if several:
        return eval("lambda: call()[0].backward(ones)", {"call": call, "ones": ones})
    return eval("lambda: call().backward(ones)", {"call": call, "ones": ones})


def burst(function: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in itertools.repeat(None, count):
        function()
    return (time.perf_counter() - start) / count


def measure(functions: list[Callable[[], Any]], rounds: int, seconds: float) -> list[float]:
    """The fastest burst of each function, taken in turns."""
    counts = [max(1, int(seconds / min(burst(function, 5) for _ in range(3)))) for function in functions]
    times = [[burst(f, n) for f, n in zip(functions, counts)] for _ in range(rounds)]
    return [min(column) for column in zip(*times)]


def row(
    expression: str, modes: tuple[str, ...], spaces: dict[bool, list[Namespace]], rounds: int, seconds: float
) -> tuple:
    cells, ratios = [], []
    for mode in MODES:
        if mode not in modes:
            cells.append(" | | ")
            continue
        functions = [function_of(expression, names, mode) for names in spaces[mode != "plain"]]
        theirs, ours = measure(functions, rounds, seconds)
        ratios.append(theirs / ours)
        cells.append(f"{theirs * 1e6:.2f} | {ours * 1e6:.2f} | {theirs / ours:.2f}")
    return f"| `{expression}` | " + " | ".join(cells) + " |", ratios


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.calls", description=__doc__)
    parser.add_argument("--only", default="", help="only lines, or families, that contain this text")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--burst", type=float, default=0.002, help="seconds")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    arguments = parser.parse_args()
    spaces = {
        recorded: [namespace(library, recorded) for library in ("torch", "pullback")] for recorded in (False, True)
    }
    header = "| call | " + " | ".join(f"{mode}: torch | Pullback | ratio" for mode in MODES) + " |"
    lines, all_ratios, family = [header, "|---" * 10 + "|"], [], None
    print("\n".join(lines), flush=True)
    for belongs, expression, modes in calls():
        if arguments.only not in expression and arguments.only != belongs:
            continue
        if belongs != family:
            family = belongs
            lines.append(f"| **{family}** |" + " |" * 9)
        line, ratios = row(expression, modes, spaces, arguments.rounds, arguments.burst)
        lines.append(line)
        all_ratios += ratios
        print(line, flush=True)
    ahead, middle = sum(ratio >= 1 for ratio in all_ratios), statistics.median(all_ratios)
    summary = f"{ahead} of {len(all_ratios)} are faster than torch; the median ratio is {middle:.2f}."
    print(summary, file=sys.stderr)
    if arguments.write:
        arguments.write.write_text(
            "# Calls on small tensors\n\nMicroseconds of one call, torch eager and Pullback in turns. Above 1 is faster "
            "than torch. In the calls, `v`, `w` are vectors of 10, `m`, `n` matrices of 8 x 8.\n\n"
            + summary
            + "\n\n"
            + "\n".join(lines)
            + "\n"
        )


if __name__ == "__main__":
    main()
