"""Grouped products, gradients of convolutions as functions, and torch's own layer functions with their statistics."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
from pullback.shell.torch_names import operators

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 4, 6)).astype(np.float32)
GRID = RNG.uniform(-1, 1, (2, 3, 3, 2)).astype(np.float32)
NATIVE = """
t.native_layer_norm(x, [4, 6], None, None, 1e-5)
t.native_layer_norm(x, [6], x[0, 0], x[0, 1], 1e-5)
t.native_group_norm(x, None, None, 2, 4, 6, 2, 1e-5)
t.native_batch_norm(x, None, None, t.zeros(4), t.ones(4), True, 0.1, 1e-5)
t.native_batch_norm(x, None, None, t.zeros(4), t.ones(4), False, 0.1, 1e-5)
t.native_dropout(x, 0.5, True)
t.native_dropout(x, 0.5, False)
t.embedding_bag(x[0], t.tensor([1, 2, 3]), t.tensor([0, 2]))
t.grid_sampler_2d(x[:, None], grid, 0, 1, True)
t.grid_sampler(x[:, None], grid, 1, 0, False)
t.nn.grad.conv1d_input((2, 4, 8), x[:, :3, :3].reshape(6, 1, 3)[:4], x.repeat(1, 2, 1)[:, :4], groups=4, padding=0)
t.nn.grad.conv1d_weight(x, (4, 4, 3), x[:, :, :4])
t.nn.grad.conv2d_input((1, 2, 4, 6), x[:, :2, :2].reshape(1, 2, 2, 2), x[:1, None, :3, :5])
t.nn.grad.conv2d_weight(x[None], (3, 2, 2, 2), x[None, :1, :3, :5].repeat(1, 3, 1, 1))
t.nn.grad.conv2d_weight(x[None], (3, 2, 2, 2), x[None, :1, :2, :3].repeat(1, 3, 1, 1), stride=2)
""".strip().splitlines()


@pytest.mark.parametrize("expression", NATIVE)
def test_native_functions(expression: str) -> None:
    answers = []
    for t in (torch, pullback):
        t.manual_seed(5)
        result = eval(expression, {"t": t, "x": t.tensor(X), "grid": t.tensor(GRID)})
        answers.append(result if isinstance(result, tuple) else (result,))
    for theirs, ours in zip(*answers, strict=True):
        assert str(ours.dtype) == str(theirs.dtype)
        np.testing.assert_allclose(ours.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-5)


LOSSES = """
kl_div(x, y)
binary_cross_entropy_with_logits(x, y)
hinge_embedding_loss(x, signs)
margin_ranking_loss(x[0, 0], y[0, 0], signs[0, 0])
cosine_embedding_loss(x[0], y[0], signs[0, :, 0])
triplet_margin_loss(x[0], y[0], x[1])
ctc_loss(x.log_softmax(2), t.tensor([[1, 2], [3, 1], [1, 1], [4, 2]]), t.tensor([2] * 4), t.tensor([2, 2, 1, 2]))
poisson_nll_loss(x, y, True, False, 1e-8, 0)
""".strip().splitlines()


@pytest.mark.parametrize("loss", LOSSES)
def test_losses_at_the_top_give_all_and_operators_the_mean(loss: str) -> None:
    calls = [f"t.{loss}", *(f"t.{loss[:-1]}, reduction={number})" for number in range(3) if "poisson" not in loss)]
    if not loss.startswith(("ctc", "poisson")):
        calls += [f"aten.{loss}", f"aten.{loss[:-1]}, reduction=2)"]
    for call in calls:
        answers = []
        for t in (torch, pullback):
            x = t.tensor(X)
            y = x.flip(1).sigmoid()
            aten = torch.ops.aten if t is torch else operators.aten
            answers.append(eval(call, {"t": t, "aten": aten, "x": x, "y": y, "signs": x.sign()}).numpy())
        assert answers[0].shape == answers[1].shape, call
        np.testing.assert_allclose(answers[1], answers[0], rtol=1e-4, atol=1e-5, err_msg=call)


def test_gradients_of_convolutions_have_gradients() -> None:
    weight = pullback.randn(2, 3, 2, dtype=pullback.float64, requires_grad=True)
    upstream = pullback.randn(1, 2, 4, dtype=pullback.float64, requires_grad=True)
    assert pullback.autograd.gradcheck(
        lambda w, g: pullback.nn.grad.conv1d_input((1, 3, 5), w, g), (weight, upstream), check_undefined_grad=False
    )


GROUPED = [((6, 8), (3, 8, 16), [2, 5, 6]), ((6, 8), (3, 8, 16), [2, 2, 5]), ((8, 24), (24, 16), [8, 8, 24]),
           ((3, 8, 16), (16, 24), [8, 16, 24]), ((3, 8, 16), (3, 16, 8), None)]  # fmt: skip


@pytest.mark.parametrize(("left", "right", "ends"), GROUPED)
def test_grouped_mm(left: tuple, right: tuple, ends: list | None) -> None:
    a, b = (RNG.standard_normal(shape).astype(np.float32) for shape in (left, right))
    results = []
    for t in (torch, pullback):
        offsets = None if ends is None else t.tensor(ends, dtype=t.int32)
        results.append(t.nn.functional.grouped_mm(t.tensor(a), t.tensor(b), offs=offsets))
    kept = slice(None) if ends is None or len(left) == 3 or len(right) == 2 else slice(ends[-1])
    np.testing.assert_allclose(results[1].numpy()[kept], results[0].numpy()[kept], rtol=1e-5, atol=1e-5)
    x, y = (pullback.tensor(value[..., :8].astype(float), requires_grad=True) for value in (a, b))
    if x.shape[-1] == y.shape[-2]:
        offsets = None if ends is None else pullback.tensor(ends, dtype=pullback.int32)
        function = pullback.nn.functional.grouped_mm
        assert pullback.autograd.gradcheck(lambda x, y: function(x, y, offs=offsets), (x, y), fast_mode=True)


def test_grouped_mm_refuses() -> None:
    def grouped(left: tuple, right: tuple, **options: object) -> None:
        pullback.nn.functional.grouped_mm(pullback.ones(left), pullback.ones(right), **options)

    offsets = pullback.tensor([2, 5, 6], dtype=pullback.int32)
    for message, left, right, options in (
        ("provide offsets", (6, 8), (3, 8, 16), {}),
        ("provide offsets", (3, 6, 8), (3, 8, 16), {"offs": offsets}),
        ("have to be int32", (6, 8), (3, 8, 16), {"offs": offsets.long()}),
        ("contraction dimension", (6, 8), (3, 16, 8), {"offs": offsets}),
        ("batch sizes have to match", (6, 8), (2, 8, 16), {"offs": offsets}),
        ("Bias not supported", (6, 8), (3, 8, 16), {"offs": offsets, "bias": pullback.ones(16)}),
        ("output dtype must match", (6, 8), (3, 8, 16), {"offs": offsets, "out_dtype": pullback.float16}),
    ):
        with pytest.raises(RuntimeError, match=message):
            grouped(left, right, **options)


@pytest.mark.parametrize("name", ["nn.functional.scaled_mm", "nn.qat", "linalg.nothing", "fft.fft9", "func.nothing"])
def test_missing_names_get_advice(name: str) -> None:
    module = pullback
    *path, last = name.split(".")
    for part in path:
        module = getattr(module, part)
    with pytest.raises(AttributeError, match="no attribute") as caught:
        getattr(module, last)
    assert f"Pullback does not have torch.{name}" in str(caught.value)


@pytest.mark.parametrize("size", [(2, 1, 3, 4), (2, 1, 2, 3, 4)])
@pytest.mark.parametrize("align_corners", [False, True])
def test_grids_of_affine_maps_keep_nothing(size, align_corners):
    axes = len(size) - 2
    found = []
    for library in (torch, pullback):
        maps = (
            (library.arange(2.0 * axes * (axes + 1), dtype=library.float64) / 7)
            .reshape(2, axes, axes + 1)
            .requires_grad_()
        )
        grid = library.nn.functional.affine_grid(maps, size, align_corners=align_corners)
        (first,) = library.autograd.grad((grid**3).sum(), maps, create_graph=True)
        (second,) = library.autograd.grad(first.square().sum(), maps)
        for _ in range(2):  # torch saves no values, and so has none to free
            grid.sum().backward()
        found.append([one.detach().numpy() for one in (grid, first, second, maps.grad)] + [grid.grad_fn.name()])
    for theirs, ours in zip(*found, strict=True):
        if isinstance(ours, str):
            assert ours == theirs
        else:
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)
