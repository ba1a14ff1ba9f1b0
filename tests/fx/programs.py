# ruff: noqa: B009, UP006, UP035, UP045
"""Programs to be traced. The tests run this file twice: with `torch` as torch itself, and as Pullback.

`CASES` has a row for each: its name, what to trace, and a function that makes its arguments.
"""

import math
import operator
from collections import namedtuple
from enum import Enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import nn

CASES: list[tuple[str, Any, Any]] = []
CONCRETE: dict[str, dict[str, Any]] = {}


def case(*shapes, **concrete):
    """Adds a function, or a module class, to the table; arguments are given by their shapes."""

    def add(what):
        torch.manual_seed(0)
        subject = what() if isinstance(what, type) else what
        CASES.append(
            (what.__name__, subject, lambda: tuple(torch.linspace(-1, 2, math.prod(s)).reshape(s) for s in shapes))
        )
        if concrete:
            CONCRETE[what.__name__] = concrete
        return what

    return add


@case((2, 3))
def one_operator(x):
    return x + 1


@case((2, 3), (2, 3))
def arithmetic(x, y):
    return ((x + y) * 2 - y / 3) ** 2 // 1 % 3 + -x - +y


@case((2, 3))
def reflected(x):
    return 1 + (2 * x) - (3 - x) + 1 / (x + 9) + 2**x + (5 % (abs(x) + 1)) + 7 // (abs(x) + 1)


@case((2, 3), (2, 3))
def comparisons(x, y):
    return (x < y) | (x >= 0) & (y != 1) ^ (x == y), ~(x > y), x <= 2


@case((2, 3))
def shifts(x):
    n = x.long()
    return n << 2, n >> 1, 1 << n.abs(), 3 | n, 3 & n, 3 ^ n


@case((2, 3), (3, 2))
def matrix_products(x, y):
    return x @ y, torch.matmul(x, y), x.mm(y), torch.mm(x, y)


@case((2, 3))
def in_place_operators(x):
    x = x.clone()
    x += 1
    x *= 2
    x -= x.mean()
    x /= 3
    return x


@case((2, 3))
def in_place_functions(x):
    y = operator.iadd(x.clone(), 1)
    z = operator.imul(y, 2)
    return z.relu_()


@case((4, 6))
def indexing(x):
    return x[0], x[1:3], x[..., 0], x[:, None, 2], x[-1][2], x[[0, 1]], x[x > 0]


@case((4, 6))
def sizes(x):
    batch, features = x.shape[0], x.size(1)
    return x.reshape(batch * 2, features // 2).view(x.size()[0], -1), x.dim(), x.ndim, x.dtype


@case((4, 6))
def methods(x):
    return x.sum(dim=1, keepdim=True).expand(4, 6).contiguous().t().transpose(0, 1).flatten(1).unsqueeze(0).squeeze()


@case((4, 6))
def attributes(x):
    return x.T, x.mT.shape, x.requires_grad, x.device


@case((4, 6))
def containers(x):
    return {"sum": x.sum(), "parts": [x, (x + 1, None)], "number": 3, "text": "text"}


@case((4, 6))
def constants(x):
    return x * float("inf"), x + math.pi, x.to(torch.float64), torch.where(x > 0, x, math.nan), x.to("cpu")


@case((4, 6))
def keyword_constants(x):
    return (
        torch.full_like(x, 3.0, dtype=torch.float64),
        torch.sum(x, dim=(0, 1), dtype=torch.float64),
        x.new_zeros(2, 3),
    )


@case((4, 6))
def no_result_used(x):
    torch.relu(x)
    x.sum()
    return x + 1


@case((4, 6))
def returns_its_argument(x):
    return x


@case((4, 6))
def returns_nothing(x):
    torch.relu(x)


@case()
def without_arguments():
    return 3


@case((4, 6), (4, 6))
def argument_unused(x, unused):
    return x.relu()


@case((4, 6))
def defaults(x, scale=2.0, name="n", none=None, flag=True, pair=(1, 2)):
    return x * scale


@case((4, 6))
def annotated(x: torch.Tensor, scale: float = 2.0, pair: Optional[Tuple[int, int]] = None) -> torch.Tensor:
    return x * scale


@case((4, 6))
def annotated_deeply(
    x: List[torch.Tensor], table: Dict[str, List[int]] = None, *, anything: Any = None
) -> Tuple[torch.Tensor, int]:
    return x[0], 3


@case((4, 6))
def annotated_newly(x: list[torch.Tensor] | None, table: dict[str, int] = None) -> tuple[torch.Tensor, ...]:
    return (x[0],)


@case((4, 6), (4, 6))
def starred(x, *rest, **named):
    return x + 1


@case((4, 6))
def shadowing(x):
    input = x + 1
    max = torch.max(input)
    sum = torch.sum(max)
    return torch.abs(sum), torch.round(sum), x.float(), x.int(), x.all(), x.any(), getattr(x, "real")


@case((4, 6))
def names_repeat(x):
    x_1 = x + 1
    add_1 = x_1 + 2
    add = torch.add(add_1, x)
    return add + add.add(1) + torch.add(x, 1, alpha=2)


@case((4, 6))
def lists(x):
    return torch.cat([x, x + 1], dim=0), torch.stack((x, x)), torch.cat([torch.relu(x) for _ in range(3)])


@case((4, 6))
def splitting(x):
    parts = torch.split(x, 2)
    values = torch.max(x, dim=1)
    pieces = x.chunk(2, dim=1)
    return parts[0], parts[1], values.values, values[1], pieces[0]


@case((4, 6))
def constant_arithmetic(x):
    return x + torch.ones(6) * 2, x - torch.tensor(3.0)


@case((4, 6))
def tensor_first(x):
    return (
        torch.ones(6) + x,
        torch.ones(4, 4) @ x,
        torch.ones(6) < x,
        torch.ones(6).mul(x),
        torch.ones(6) / x,
        torch.ones(6) - x,
    )


@case((4, 6))
def mathematics(x):
    return torch.exp(x).log1p().sin().cos().tanh().sqrt().abs().clamp(min=0.1, max=0.9).pow(2).reciprocal()


@case((4, 6))
def functional_activations(x):
    h = (
        F.relu(x)
        + F.gelu(x)
        + F.silu(x)
        + F.elu(x)
        + F.leaky_relu(x, 0.2)
        + F.softplus(x)
        + F.hardtanh(x)
        + F.sigmoid(x)
    )
    h = (
        h
        + F.tanh(x)
        + F.logsigmoid(x)
        + F.selu(x)
        + F.relu6(x)
        + F.mish(x)
        + F.hardswish(x)
        + F.softsign(x)
        + F.celu(x)
    )
    return (
        F.softmax(h, dim=1)
        + F.log_softmax(h, dim=-1)
        + F.normalize(h)
        + F.threshold(h, 0.0, 1.0)
        + F.prelu(h, torch.ones(1))
    )


@case((4, 6), (5, 6), (5,))
def functional_layers(x, weight, bias):
    h = F.linear(x, weight, bias)
    h = F.layer_norm(h, (5,))
    h = F.dropout(h, p=0.5, training=False)
    h = F.pad(h, (1, 1))
    return F.group_norm(h[:, :, None], 7), F.batch_norm(h, torch.zeros(7), torch.ones(7))


@case((1, 2, 8, 8), (3, 2, 3, 3))
def functional_images(x, kernel):
    h = F.conv2d(x, kernel, padding=1)
    h = F.max_pool2d(h, 2)
    h = F.avg_pool2d(h, 2)
    return (
        F.interpolate(h, scale_factor=2, mode="nearest"),
        F.adaptive_avg_pool2d(h, 1),
        F.adaptive_max_pool2d(h, (1, 1)),
    )


@case((4, 6), (4, 6))
def functional_losses(x, y):
    h = F.mse_loss(x, y) + F.l1_loss(x, y) + F.smooth_l1_loss(x, y, beta=0.5) + F.cross_entropy(x, y.argmax(1))
    h = h + F.binary_cross_entropy_with_logits(x, y.sigmoid()) + F.kl_div(x, y.exp(), reduction="sum")
    return h + F.nll_loss(x, y.argmax(1)) + F.cosine_similarity(x, y).sum()


@case((4, 4))
def namespaces(x):
    h = torch.linalg.norm(x), torch.linalg.inv(x + torch.eye(4) * 9), torch.fft.fft(x), torch.special.entr(x.abs())
    return (
        h,
        torch.einsum("ij,jk->ik", x, x),
        torch.norm(x),
        torch.tensordot(x, x, dims=1),
        torch.nn.functional.one_hot(x.long().abs()),
    )


@case((4, 6))
def standard_library(x):
    return x * math.sqrt(2), x + operator.add(x, 1), operator.neg(x), operator.getitem(x, 0)


class Point(NamedTuple):
    """A pair of values with names."""

    x: torch.Tensor
    y: torch.Tensor


Pair = namedtuple("Pair", ["first", "second"])


class Colour(Enum):
    """Values that are printed by name."""

    RED = 1


@case((4, 6))
def named_tuples(x):
    p = Point(x, x + 1)
    return Pair(p.x, p.y * 2)


@case((4, 6))
def slices(x):
    n = x.shape[0]
    return x[: n // 2, 1:n], x[slice(0, 2)]


@case((4, 6))
def branch_on_concrete(x, flag, scale=3):
    return x * scale if flag else x


CONCRETE["branch_on_concrete"] = {"flag": True}


@torch.fx.wrap
def left_alone(x, n):
    """A function that is called when the graph runs, not looked into."""
    return x * 2 if n > 3 else x


torch.fx.wrap("len")


@case((4, 6))
def wrapped_functions(x):
    return left_alone(x, x.size(0)), len(x)


@case((4, 6))
def wrapped_and_known(x, known=None):
    return left_alone(x, 4) if known is None else x


CONCRETE["wrapped_and_known"] = {"known": None}


@case((4, 6))
class Linear(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 5)

    def forward(self, x):
        return self.layer(x).relu()


@case((4, 6))
class Parameters(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(6))
        self.register_buffer("offset", torch.zeros(6))
        self.register_buffer("hidden", torch.ones(6), persistent=False)
        self.plain = torch.ones(6) * 3
        self.number = 4

    def forward(self, x):
        return self.weight * x + self.offset - x * self.hidden + self.plain / self.number + self.weight.sum()


@case((4, 6))
class Nested(nn.Module):
    class Inner(nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))
            self.layers = nn.ModuleList([nn.Linear(6, 6), nn.Tanh()])

        def forward(self, x, power=1):
            for layer in self.layers:
                x = layer(x)
            return x * self.scale**power

    def __init__(self):
        super().__init__()
        self.first, self.second = self.Inner(), self.Inner()

    def forward(self, x):
        return self.second(self.first(x), power=2)


@case((4, 6))
class Sequential(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(6, 6), nn.ReLU(), nn.Sequential(nn.Linear(6, 2), nn.Softmax(dim=1)))
        self.table = nn.ModuleDict({"a": nn.Identity(), "b c": nn.ReLU()})

    def forward(self, x):
        return self.table["b c"](self.table["a"](self.body(x)))


@case((4, 6))
class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)
        self.again = self.layer

    def forward(self, x):
        return self.again(self.layer(self.layer(x))) + self.layer.weight.sum() + F.linear(x, self.layer.weight)


@case((1, 1, 8, 8))
class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 3, 3, padding=1)
        self.norm = nn.BatchNorm2d(3)
        self.pool = nn.AdaptiveAvgPool2d((1, 1))
        self.head = nn.Linear(3, 2)

    def forward(self, x):
        x = F.relu(self.norm(self.conv(x)), inplace=True)
        return self.head(torch.flatten(self.pool(x), 1))


@case((2, 5, 8))
class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        b, t, c = x.size(0), x.size(1), x.size(2)
        q, k, v = (f(x).view(b, t, 2, c // 2).transpose(1, 2) for f in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v)
        scores = (q @ k.transpose(-2, -1) / math.sqrt(4)).softmax(-1)
        return self.norm(x + y.transpose(1, 2).reshape(b, t, c)), scores


@case((2, 5))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.cell = nn.GRU(4, 3, batch_first=True)
        self.dropout = nn.Dropout(0.0)

    def forward(self, x):
        out, hidden = self.cell(self.embed(x.long().abs()))[0], 1
        return self.dropout(out[:, -1]), hidden


@case((4, 6))
class ForwardDefaults(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor, scale: float = 1.5, *, shift: Optional[torch.Tensor] = None) -> torch.Tensor:
        if shift is None:
            shift = 1
        return self.layer(input=x) * scale + 2


@case((4, 6))
class Methods(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def half(self, x):
        return self.act(x) / 2

    def forward(self, x):
        return self.half(x) + self.half(x + 1) + self.training


@case((4, 6))
class ReusedNames(nn.Module):
    def __init__(self):
        super().__init__()
        self.add = nn.Linear(6, 6)
        self.relu = nn.ReLU()
        self.x = nn.Parameter(torch.zeros(6))
        self.lambda_ = nn.Identity()
        self.CamelCase = nn.Tanh()

    def forward(self, x):
        return self.CamelCase(self.lambda_(self.relu(self.add(x) + self.x).relu() + torch.relu(x)))


@case((4, 6))
class TensorConstants(nn.Module):
    def forward(self, x):
        return x + torch.ones(6) + torch.ones(6), torch.zeros(6) * x


@case((4, 6), (4, 6))
class StarredModule(nn.Module):
    def forward(self, *args, **kwargs):
        return args[0] + args[1]


@case((4, 6))
class EmptySequential(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(6, 3), nn.ReLU())


@case((4, 6))
def enumerations(x):
    return x + Colour.RED.value, [Colour.RED]


@case((4, 6))
def dictionaries(x):
    d = {"a": x, "b": x + 1}
    return torch.add(d["a"], other=d["b"]), {k: v * 2 for k, v in d.items()}


@case((4, 6))
def random_numbers(x):
    return x + torch.rand_like(x), torch.zeros_like(x), x.new_ones((2, 2)), torch.randn(3)


@case((4, 6))
def reductions(x):
    return (
        x.mean(),
        x.std(dim=0),
        x.var(unbiased=False),
        torch.argmax(x, dim=1),
        x.sort(dim=1)[0],
        torch.topk(x, k=2).values,
    )
