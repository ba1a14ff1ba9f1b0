"""Results lie in memory in the order of their axes wherever torch's do: what can be viewed there can be viewed here."""

from __future__ import annotations

import itertools
import math

import pytest

import pullback

torch = pytest.importorskip("torch")

INPUTS = {
    "permuted": lambda t: t.arange(1.0, 25.0).reshape(2, 3, 4).permute(2, 0, 1),
    "transposed": lambda t: t.arange(1.0, 17.0).reshape(4, 4).t(),
    "expanded": lambda t: t.arange(3.0).expand(4, 3),
    "sliced": lambda t: t.arange(24.0).reshape(4, 6)[:, ::2],
    "channels last": lambda t: t.arange(96.0).reshape(2, 4, 4, 3).permute(0, 3, 1, 2),
}
OPERATIONS = """
x.softmax(-1)
x.softmax(0)
x.log_softmax(0)
x.cumsum(0)
x.cumprod(-1)
x.logcumsumexp(0)
x.cummax(0)[0]
x.roll(1, 0)
x.tril()
x.triu()
x.masked_fill(x > 1, 0.0)
t.cat([x, x])
t.cat([x, x], -1)
t.stack([x, x])
x.sum(0)
x.sum(-1)
x.sum(0, keepdim=True)
x.half().sum(-1)
x.long().sum(-1)
x.mean(-1)
x.amax(0)
x.max(-1)[0]
x.topk(2, 0)[0]
x.topk(2, 0)[1]
x.topk(2)[1]
x.kthvalue(2)[1]
x.kthvalue(2, 0, True)[1]
x.median(-1)[0]
x.median(0, True)[1]
x.mode(0)[1]
t.nonzero(x, as_tuple=True)[1]
t.linalg.solve_triangular(x[..., :2, :2] + 1, x[..., :2, :1], upper=False)
x.min(0)[0]
x.var(0)
x.std(-1)
x.prod(0)
x.norm(dim=0)
x.logsumexp(-1)
x.any(0)
x.count_nonzero(0)
x.gather(0, t.zeros_like(x, dtype=t.int64))
t.take_along_dim(x, t.zeros_like(x, dtype=t.int64), -1)
x @ x.mT
x @ t.ones(x.shape[-1])
t.ones(x.shape[-2]) @ x
x.tile((1,))
t.fft.irfft(x)
t.nn.functional.batch_norm(x, None, None, training=True)
t.nn.functional.batch_norm(x, t.zeros(x.shape[1]), t.ones(x.shape[1]))
x.renorm(2, 0, 1.0)
t.linalg.cross(x[..., :3], x[..., :3] + 1)
t.logcumsumexp(x.cfloat(), 0)
x + 1
x.exp()
t.zeros_like(x)
t.ones_like(x)
t.full_like(x, 2.0)
t.empty_like(x)
t.fft.fft(x)
t.fft.rfft(x)
t.nn.functional.one_hot(x.long())
t.nn.functional.layer_norm(x, x.shape[-1:])
""".strip().splitlines()


@pytest.mark.parametrize("given", INPUTS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_torch_can_view_can_be_viewed(given, operation):
    expected, found = (eval(operation, {"t": t, "x": INPUTS[given](t)}) for t in (torch, pullback))
    assert found.shape == expected.shape
    if expected.is_contiguous():
        assert found.is_contiguous() and found.view(-1).shape == (expected.numel(),)


@pytest.mark.parametrize(
    "equation", ["ij,jk->ki", "bij,bjk->bki", "bij,jk->kbi", "abc,cd->dab", "i,j->ji", "bhid,bhjd->bhji"]
)
def test_products_lie_in_the_order_of_the_equation(equation):
    sides = equation.split("->")[0].split(",")
    sizes = {label: number for number, label in enumerate(sorted(set("".join(sides))), 2)}
    results = []
    for t in (torch, pullback):
        shapes = [[sizes[label] for label in side] for side in sides]
        operands = [t.arange(1.0, 1 + math.prod(shape)).reshape(shape) for shape in shapes]
        results.append(t.einsum(equation, *operands))
    theirs, ours = results
    assert ours.stride() == theirs.stride() and ours.is_contiguous()
    assert ours.tolist() == theirs.tolist()


LAYOUTS = {
    "rows": lambda t, shape, kind: t.ones(shape, dtype=kind),
    "columns": lambda t, shape, kind: t.ones(shape[::-1], dtype=kind).permute(*range(len(shape))[::-1]),
    "middle first": lambda t, shape, kind: t.ones(3, 2, 4, dtype=kind).permute(1, 0, 2),
    "gaps": lambda t, shape, kind: t.ones(*shape, 2, dtype=kind)[..., 0],
    "expanded": lambda t, shape, kind: t.ones(1, *shape[1:], dtype=kind).expand(shape),
    "expanded within": lambda t, shape, kind: t.ones(shape[0], 1, shape[2], dtype=kind).expand(shape),
}
OF_ONE = """
float16: a.sigmoid()
float16: a ** 3
float16: a ** -1
float16: a.rsqrt()
float16: t.selu(a)
float16: t.nn.functional.gelu(a)
float16: t.nn.functional.silu(a)
float16: t.nn.functional.softplus(a)
complex64: t.nn.functional.rms_norm(a, (4,))
float16: t.nn.functional.leaky_relu(a)
int64: a.isfinite()
int64: a.isnan()
bool: a > 0
bool: a == 1
bool: a.sign()
bool: a.sgn()
bool: t.where(a > 0, a, 0)
float64: a.half()
float64: a.to(t.bfloat16)
"""
OF_TWO = """
float32 float32: a > b
int64 float32: a > b
bool float64: a == b
bool bool: (a > 0) | (b > 0)
int64 float32: a.logical_and(b)
bool float32: t.where(a > 0, b, 1.0)
float32 bool: t.where(a > 0, a, b)
float32 float32: t.rsub(a, b)
float32 float32: t.complex(a, b)
float32 float32: t.polar(a, b)
float32 float32: t.remainder(a, b)
float32 float16: a + b
complex64 float32: t.nn.functional.soft_margin_loss(a, b, reduction="none")
"""


def steps(tensor):
    return [step for step, size in zip(tensor.stride(), tensor.shape, strict=True) if size > 1]


def run(t, row, *layouts):
    kinds, _, line = row.partition(": ")
    given = [LAYOUTS[name](t, (2, 3, 4), getattr(t, kind)) for name, kind in zip(layouts, kinds.split(), strict=True)]
    return eval(line, {"t": t, **dict(zip("ab", given, strict=False))})


@pytest.mark.parametrize("row", OF_ONE.strip().splitlines())
def test_results_lie_as_torchs_do_whatever_is_converted_first(row):
    for layout in LAYOUTS:
        assert steps(run(pullback, row, layout)) == steps(run(torch, row, layout)), layout


@pytest.mark.parametrize("row", OF_TWO.strip().splitlines())
def test_results_of_two_lie_as_torchs_do(row):
    for layouts in itertools.product(LAYOUTS, LAYOUTS):
        assert steps(run(pullback, row, *layouts)) == steps(run(torch, row, *layouts)), layouts


@pytest.mark.parametrize("line", ["a.conj()", "a.mH", "a.adjoint()", "a[0].H"])
def test_a_conjugate_has_the_steps_of_what_it_is_made_of(line):
    for layout in ("rows", "columns", "middle first", "gaps"):
        row = "complex64: " + line
        assert steps(run(pullback, row, layout)) == steps(run(torch, row, layout)), layout
