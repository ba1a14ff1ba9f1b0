"""Times the array kernels, interleaved with torch's where torch is importable, and prints a Markdown table.

    python benchmarks/kernels.py [--threads 2] [--repeats 20] [--only conv]

The figure is the fastest of many runs, ours and torch's taken in turn, so that a busy machine slows both alike.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pullback.kernels import (
    activations,
    attention,
    averages,
    convolution,
    embedding,
    normalization,
    pooling,
    products,
    rectifier,
    softmax,
    threads,
)
from pullback.kernels.random import discrete, engine, streams
from pullback.ops import normalization as norms
from pullback.optim import _updates

try:
    import torch
except ImportError:
    torch = None

Row = tuple[str, Callable[[], object], Callable[[], object] | None]
GENERATOR = np.random.default_rng(0)


def normal(*shape: int) -> np.ndarray:
    return GENERATOR.standard_normal(shape).astype(np.float32)


def tensors(*arrays: np.ndarray) -> list:
    return [None if torch is None else torch.from_numpy(array) for array in arrays]


def convolutions() -> Iterator[Row]:
    cases = [
        ((16, 3, 32, 32), (16, 3, 3, 3), 1, 1, 1),
        ((16, 16, 16, 16), (32, 16, 3, 3), 1, 1, 1),
        ((32, 64, 28, 28), (128, 64, 3, 3), 1, 1, 1),
        ((8, 16, 1000), (32, 16, 5), 0, 1, 1),
        ((16, 32, 32, 32), (64, 32, 3, 3), 1, 2, 1),
        ((16, 32, 32, 32), (32, 1, 3, 3), 1, 1, 32),
        ((16, 64, 16, 16), (128, 64, 1, 1), 0, 1, 1),
        ((1, 3, 8, 8), (4, 3, 3, 3), 1, 1, 1),
    ]
    for x_shape, w_shape, pad, step, groups in cases:
        axes = len(x_shape) - 2
        x, w = normal(*x_shape), normal(*w_shape)
        options = {"stride": (step,) * axes, "padding": (pad,) * axes, "dilation": (1,) * axes, "groups": groups}
        g = normal(*convolution.convolution(x, w, **options).shape)
        tx, tw, tg = tensors(x, w, g)

        def theirs(mask: list[bool], tx=tx, tw=tw, tg=tg, axes=axes, pad=pad, step=step, groups=groups) -> object:
            backward = torch.ops.aten.convolution_backward
            return backward(
                tg, tx, tw, None, [step] * axes, [pad] * axes, [1] * axes, False, [0] * axes, groups, [*mask, False]
            )

        name = f"conv {x_shape} {w_shape} pad {pad} stride {step} groups {groups}"
        yield (
            f"{name} forward",
            lambda x=x, w=w, options=options: convolution.convolution(x, w, **options),
            lambda tx=tx, tw=tw, axes=axes, pad=pad, step=step, groups=groups: getattr(
                torch.nn.functional, f"conv{axes}d"
            )(tx, tw, padding=pad, stride=step, groups=groups),
        )
        yield (
            f"{name} input gradient",
            lambda g=g, w=w, x=x, options=options: convolution.convolution_input(g, w, spatial=x.shape[2:], **options),
            lambda theirs=theirs: theirs([True, False]),
        )
        yield (
            f"{name} weight gradient",
            lambda g=g, w=w, x=x, options=options: convolution.convolution_weight(g, x, kernel=w.shape[2:], **options),
            lambda theirs=theirs: theirs([False, True]),
        )
        if groups == 1 and x_shape[0] == 16 and step == 1 and w_shape[-1] > 1:
            geometry = {key: value for key, value in options.items() if key != "groups"}
            kept = convolution.convolution_keeping(x, w, None, **geometry)[1]
            yield (
                f"{name} weight gradient from kept columns",
                lambda g=g, w=w, x=x, kept=kept, geometry=geometry: convolution.gradients_from_columns(
                    g, kept, w.shape, x.shape, biased=False, **geometry
                ),
                lambda theirs=theirs: theirs([False, True]),
            )


def poolings() -> Iterator[Row]:
    for shape, size, step, pad in (((16, 16, 32, 32), 2, 2, 0), ((16, 32, 32, 32), 3, 2, 1)):
        x = normal(*shape)
        (tx,) = tensors(x)
        options = {"kernel": (size,) * 2, "stride": (step,) * 2, "padding": (pad,) * 2}
        name = f"pool {shape} kernel {size} stride {step} pad {pad}"
        _, indices = pooling.max_pool(x, dilation=(1, 1), **options)
        g = normal(*indices.shape)
        tg, ti = tensors(g, indices)
        yield (
            f"{name}: max with indices",
            lambda x=x, options=options: pooling.max_pool(x, dilation=(1, 1), **options),
            lambda tx=tx, a=(size, step, pad): torch.nn.functional.max_pool2d(tx, *a, return_indices=True),
        )
        yield (
            f"{name}: max backward",
            lambda g=g, indices=indices, shape=shape: pooling.scatter_planes(g, indices, spatial=shape[2:]),
            lambda tg=tg, tx=tx, ti=ti, a=([size] * 2, [step] * 2, [pad] * 2): (
                torch.ops.aten.max_pool2d_with_indices_backward(tg, tx, *a, [1, 1], False, ti)
            ),
        )
        yield (
            f"{name}: average",
            lambda x=x, options=options: averages.avg_pool(x, **options),
            lambda tx=tx, a=(size, step, pad): torch.nn.functional.avg_pool2d(tx, *a),
        )
        yield (
            f"{name}: average backward",
            lambda g=g, shape=shape, options=options: averages.avg_pool_transpose(g, spatial=shape[2:], **options),
            lambda tg=tg, tx=tx, a=([size] * 2, [step] * 2, [pad] * 2): torch.ops.aten.avg_pool2d_backward(
                tg, tx, *a, False, True, None
            ),
        )


def cross_entropies() -> Iterator[Row]:
    for samples, classes in ((4096, 1000), (8, 16)):
        x, target = normal(samples, classes), GENERATOR.integers(0, classes, samples)
        tx, tt = tensors(x, target)
        if torch is not None:
            tx = tx.requires_grad_()
        share = np.float32(1 / samples)

        def ours(x=x, target=target, share=share) -> np.ndarray:
            losses, logsumexp = softmax.cross_entropy(x, target)
            losses.mean()
            return softmax.cross_entropy_backward(share, x, target, logsumexp)

        yield (
            f"cross entropy ({samples}, {classes}) forward + backward",
            ours,
            lambda tx=tx, tt=tt: torch.autograd.grad(torch.nn.functional.cross_entropy(tx, tt), tx),
        )
        yield (
            f"softmax ({samples}, {classes})",
            lambda x=x: softmax.softmax(x, axis=1),
            lambda tx=tx: torch.softmax(tx.detach(), 1),
        )


def normalizations() -> Iterator[Row]:
    for shape in ((4096, 1024), (8, 16)):
        x, g = normal(*shape), normal(*shape)
        w, b = normal(shape[1]), normal(shape[1])
        _, mean, deviation = normalization.layer_norm(x, w, b)
        tx, tg, tw, tb, tm, td = tensors(x, g, w, b, mean, deviation)
        yield (
            f"layer norm {shape}",
            lambda a=(x, w, b): normalization.layer_norm(*a),
            lambda tx=tx, tw=tw, tb=tb: torch.nn.functional.layer_norm(tx, tx.shape[1:], tw, tb),
        )
        yield (
            f"layer norm {shape} backward",
            lambda a=(g, x, mean, deviation, w): normalization.layer_norm_backward(*a),
            lambda tg=tg, tx=tx, tm=tm, td=td, tw=tw, tb=tb: torch.ops.aten.native_layer_norm_backward(
                tg, tx, tx.shape[1:], tm, td, tw, tb, [True] * 3
            ),
        )
        for form in ("tanh", "none"):
            yield (
                f"gelu {form} {shape}",
                lambda x=x, form=form: activations.gelu(x, approximate=form),
                lambda tx=tx, form=form: torch.nn.functional.gelu(tx, approximate=form),
            )
            yield (
                f"gelu {form} {shape} backward",
                lambda g=g, x=x, form=form: activations.gelu_backward(g, x, approximate=form),
                lambda tg=tg, tx=tx, form=form: torch.ops.aten.gelu_backward(tg, tx, approximate=form),
            )
        yield f"silu {shape}", lambda x=x: activations.silu(x), lambda tx=tx: torch.nn.functional.silu(tx)
        target = GENERATOR.random(shape).astype(np.float32)
        (tz,) = tensors(target)
        yield (
            f"bce with logits {shape}",
            lambda a=(x, target): activations.bce_with_logits(*a),
            lambda tx=tx, tz=tz: torch.nn.functional.binary_cross_entropy_with_logits(tx, tz, reduction="none"),
        )


def image_norms() -> Iterator[Row]:
    for shape in ((16, 128, 56, 56), (32, 64, 28, 28)):
        x, g, ones, zeros = (
            normal(*shape),
            normal(*shape),
            np.ones(shape[1], np.float32),
            np.zeros(shape[1], np.float32),
        )
        for name, op, params in (("batch", norms.batch_norm, {}), ("group", norms.group_norm, {"groups": 8})):
            _, *extras = op.forward(x, ones, zeros, eps=1e-5, **params)
            tx, tg, tw, tb = tensors(x, g, ones, zeros)

            def theirs(tx=tx, tw=tw, tb=tb, name=name) -> object:
                functional = torch.nn.functional
                if name == "batch":
                    return functional.batch_norm(tx, None, None, tw, tb, True)
                return functional.group_norm(tx, 8, tw, tb)

            yield (
                f"{name} norm {shape}",
                lambda op=op, a=(x, ones, zeros), params=params: op.forward(*a, eps=1e-5, **params),
                theirs,
            )
            if torch is not None:
                for tensor in (tx, tw, tb):
                    tensor.requires_grad_()
            yield (
                f"{name} norm {shape} forward + backward",
                lambda op=op, a=(x, ones, zeros), g=g, params=params: op.joint(
                    (g,), a[0], a[1], op.forward(*a, eps=1e-5, **params)[1:], (True,) * 3, eps=1e-5, **params
                ),
                lambda theirs=theirs, tx=tx, tw=tw, tb=tb, tg=tg: torch.autograd.grad(theirs(), (tx, tw, tb), tg),
            )


def sums() -> Iterator[Row]:
    x = normal(4096, 1024)
    (tx,) = tensors(x)
    ones = np.ones(4096, np.float32)
    yield "sum of 4M elements", lambda: products.total(x), lambda: tx.sum()
    yield "sum of 4096 rows of 1024", lambda: products.sum_of_rows(x, ones), lambda: tx.sum(0)


def elementwise_chain() -> Iterator[Row]:
    x = normal(1 << 24)
    (tx,) = tensors(x)

    def chain(x: np.ndarray, out: np.ndarray) -> None:
        np.multiply(x, x, out=out)
        np.negative(out, out=out)
        np.exp(out, out=out)
        np.multiply(out, np.tanh(x), out=out)

    def ours() -> np.ndarray:
        out = np.empty_like(x)
        threads.parallel_elements(chain, [x], [out])
        return out

    yield "tanh(x) exp(-x x), 16M elements, fused", ours, lambda: torch.tanh(tx) * torch.exp(-tx * tx)

    def eager() -> np.ndarray:
        run = activations.elementwise
        return run(np.multiply, run(np.tanh, x), run(np.exp, run(np.negative, run(np.multiply, x, x))))

    yield "tanh(x) exp(-x x), 16M elements, one ufunc at a time", eager, lambda: torch.tanh(tx) * torch.exp(-tx * tx)


def embeddings_and_updates() -> Iterator[Row]:
    indices, rows = GENERATOR.integers(0, 50000, 4096), normal(4096, 64)
    ti, tr = tensors(indices, rows)
    yield (
        "embedding backward, 4096 lookups in 50000 x 64",
        lambda: embedding.embedding_backward(rows, indices, size=50000),
        lambda: torch.ops.aten.embedding_dense_backward(tr, ti, 50000, -1, False),
    )
    p, g = normal(4096, 1024), normal(4096, 1024)
    state = [np.zeros_like(p), np.zeros_like(p)]
    rates = (0.1, True, 0.999, 0.001, 1e-8, -1e-3, None, None, False)
    adam = sgd = None
    if torch is not None:
        parameter = torch.nn.Parameter(torch.from_numpy(p.copy()))
        parameter.grad = torch.from_numpy(g)
        adam, sgd = torch.optim.Adam([parameter]), torch.optim.SGD([parameter], lr=1e-3, momentum=0.9)
    yield (
        "Adam step, 4M parameters",
        lambda: _updates.update(_updates.adam, [p, g, *state, None], rates, {}),
        lambda: adam.step(),
    )
    yield (
        "SGD momentum step, 4M parameters",
        lambda: _updates.update(_updates.sgd, [p, g, state[0]], (-1e-3, None, False, 0.9, None, False, False), {}),
        lambda: sgd.step(),
    )


def attentions() -> Iterator[Row]:
    for shape in ((4, 8, 256, 64), (16, 8, 64, 32), (2, 2, 8, 4)):
        q, k, v, g = (normal(*shape) for _ in range(4))
        tq, tk, tv, tg = tensors(q, k, v, g)
        if torch is not None:
            tq, tk, tv = (a.requires_grad_() for a in (tq, tk, tv))
        scale = shape[-1] ** -0.5

        def ours(q=q, k=k, v=v, g=g, scale=scale) -> tuple:
            out, logsumexp = attention.attention(q, k, v, scale=scale)
            return attention.attention_backward(g, q, k, v, out, logsumexp, scale=scale)

        def theirs(tq=tq, tk=tk, tv=tv, tg=tg) -> tuple:
            out = torch.nn.functional.scaled_dot_product_attention(tq, tk, tv)
            return torch.autograd.grad(out, (tq, tk, tv), tg)

        yield f"attention {shape} forward + backward", ours, theirs

        def keeping(q=q, k=k, v=v, g=g, scale=scale) -> tuple:
            _, chances = attention.kept_attention(q, k, v, None, scale, False)
            return attention.kept_attention_backward(g, q, k, v, chances, scale, False, (True, True, True, False))

        yield f"attention {shape} forward + backward, probabilities kept", keeping, theirs


def rectifiers() -> Iterator[Row]:
    x, g = normal(16, 16, 32, 32), normal(16, 16, 32, 32)
    out = rectifier.rectified(x)
    tx, tg, to = tensors(x, g, out)
    yield "relu (16, 16, 32, 32)", lambda: rectifier.rectified(x), lambda: torch.relu(tx)
    yield (
        "relu (16, 16, 32, 32) backward",
        lambda: rectifier.rectified_backward(g, out),
        lambda: torch.ops.aten.threshold_backward(tg, to, 0),
    )


def batched_products() -> Iterator[Row]:
    packed = normal(4, 128, 3, 4, 64)
    query, key, _ = packed.transpose(2, 0, 3, 1, 4)
    tq, tk = tensors(query, key)
    yield (
        "queries times keys, 16 heads of (128, 64)",
        lambda: products.batched_product(query, key.swapaxes(-1, -2)),
        lambda: tq @ tk.transpose(-1, -2),
    )


def single_products() -> Iterator[Row]:
    for rows, inner, columns in ((512, 1024, 256), (256, 784, 10), (256, 128, 256), (1024, 784, 1024)):
        x, w, g = normal(rows, inner), normal(inner, columns), normal(rows, columns)
        tx, tw, tg = tensors(x, w, g)
        shape = f"({rows}, {inner}) ({inner}, {columns})"
        yield f"product {shape}", lambda x=x, w=w: products.product(x, w), lambda tx=tx, tw=tw: tx @ tw
        yield (
            f"product {shape}, for the weight",
            lambda x=x, g=g: products.product(x.T, g),
            lambda tx=tx, tg=tg: tx.T @ tg,
        )


def random_numbers() -> Iterator[Row]:
    stream, count = engine.Generator(), 1_000_000
    single, whole = np.dtype(np.float32), np.dtype(np.int64)
    yield "randn, 1M", lambda: streams.standard_normal(stream, count, single), lambda: torch.randn(count)
    yield "rand, 1M", lambda: streams.uniform(stream, count, single), lambda: torch.rand(count)
    yield (
        "randint, 1M",
        lambda: discrete.randint(stream, count, whole, 0, 1000),
        lambda: torch.randint(0, 1000, (count,)),
    )
    yield "randperm, 1M", lambda: discrete.randperm(stream, count), lambda: torch.randperm(count)
    yield "randperm, 60000", lambda: discrete.randperm(stream, 60_000), lambda: torch.randperm(60_000)
    target = None if torch is None else torch.empty(count)
    yield "bernoulli, 1M", lambda: discrete.bernoulli(stream, count, single, 0.3), lambda: target.bernoulli_(0.3)
    yield "exponential, 1M", lambda: streams.exponential(stream, count, single), lambda: target.exponential_()


def below(bound: int, *shape: int) -> np.ndarray:
    return GENERATOR.integers(0, bound, shape)


def operator_cases() -> Iterator[tuple]:
    """(name, function of a library and tensors, arrays): operators that go another way about many elements."""
    square, other, rows = normal(1000, 1000), normal(1000, 1000), normal(10_000, 64)
    table, lines, line = normal(1000, 64), below(1000, 10_000), below(1000, 1000)
    images, grid = normal(8, 16, 64, 64), GENERATOR.uniform(-1, 1, (8, 64, 64, 2)).astype(np.float32)
    for name in ("elu", "softshrink", "threshold"):
        options = (0.1, 20) if name == "threshold" else ()
        yield name, lambda t, x, n=name, o=options: getattr(t.nn.functional, n)(x, *o), square
    yield "prelu", lambda t, x, w: t.prelu(x, w), normal(16, 64, 56, 56), normal(64)
    yield "where", lambda t, x, y: t.where(x > 0, x, y), square, other
    yield "huber_loss", lambda t, x, y: t.nn.functional.huber_loss(x, y), square, other
    yield "smooth_l1_loss", lambda t, x, y: t.nn.functional.smooth_l1_loss(x, y), square, other
    yield "soft_margin_loss", lambda t, x: t.nn.functional.soft_margin_loss(x, x.detach()), square
    for name in ("logaddexp", "fmod", "remainder"):
        yield name, lambda t, x, y, n=name: getattr(t, n)(x, y), square, other
    for mode in ("bilinear", "nearest", "bicubic"):
        yield (
            f"grid_sample {mode}",
            lambda t, x, g, m=mode: t.nn.functional.grid_sample(x, g, m, align_corners=False),
            images,
            grid,
        )
    yield "index_add", lambda t, x, i, s: x.index_add(0, i, s), table, lines, rows
    yield "columns by index", lambda t, x, i: x[:, i], square, line
    yield "gather", lambda t, x, i: x.gather(1, i), square, below(1000, 1000, 1000)
    yield "scatter_add", lambda t, x, i, s: x.scatter_add(0, i, s), table, below(1000, 10_000, 64), rows
    for name in ("mean", "amax", "prod"):
        yield (
            f"scatter_reduce {name} of rows",
            lambda t, x, i, s, n=name: x.scatter_reduce(0, i[:, None].expand(-1, 64), s, n),
            table,
            lines,
            rows,
        )
    yield "embedding_bag", lambda t, i, w: t.nn.functional.embedding_bag(i, w), below(10_000, 512, 50), rows
    yield "one_hot", lambda t, i: t.nn.functional.one_hot(i, 100), below(100, 10_000)
    yield "topk", lambda t, x: x.topk(10)[0], square
    yield "cummax", lambda t, x: x.cummax(1)[0], square
    yield "cumsum", lambda t, x: x.cumsum(1), square
    yield "prod", lambda t, x: x.prod(1), 1 + 0.01 * square
    yield "norm", lambda t, x: x.norm(dim=1), square
    yield "pdist", lambda t, x: t.pdist(x), normal(400, 32)
    yield "cdist of order 1", lambda t, x, y: t.cdist(x, y, 1), normal(300, 32), normal(300, 32)
    yield "fft2 of real input", lambda t, x: t.fft.fft2(x).abs(), normal(16, 128, 128)
    yield "reflection padding", lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), "reflect"), normal(16, 64, 56, 56)


def operators() -> Iterator[Row]:
    """Through the whole library, forward + backward where there is a gradient."""
    import pullback

    def prepared(library: object, call: Callable, arrays: tuple) -> Callable[[], object] | None:
        if library is None:
            return None
        tensors = [library.from_numpy(array.copy()) for array in arrays]  # type: ignore[attr-defined]
        leaves = [tensor.requires_grad_() for tensor in tensors if tensor.is_floating_point()]
        if not leaves:
            return lambda: call(library, *tensors)
        slope = library.ones_like(call(library, *tensors).detach())  # type: ignore[attr-defined]
        return lambda: library.autograd.grad(call(library, *tensors), leaves, slope)  # type: ignore[attr-defined]

    for name, call, *arrays in operator_cases():
        shapes = ", ".join(str(array.shape) for array in arrays)
        yield f"{name} {shapes}", prepared(pullback, call, arrays), prepared(torch, call, arrays)  # type: ignore[misc]


def fastest(functions: list[Callable[[], object]], repeats: int) -> list[float]:
    """Microseconds of each function's fastest run, in short bursts that take turns.

    A pause before each burst lets the other library's idle threads stop spinning on the cores.
    """
    best = [float("inf")] * len(functions)
    for _ in range(max(repeats // 5, 2)):
        for index, function in enumerate(functions):
            time.sleep(0.03)
            until = time.perf_counter() + 0.02
            runs = 0
            while runs < 5 or (time.perf_counter() < until and runs < 200):
                begin = time.perf_counter()
                function()
                best[index] = min(best[index], time.perf_counter() - begin)
                runs += 1
    return [1e6 * seconds for seconds in best]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=threads.get_num_threads())
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    threads.set_num_threads(options.threads)
    if torch is not None:
        torch.set_num_threads(options.threads)
    print("| kernel | ours, µs | torch, µs | ours / torch |\n|---|---:|---:|---:|")
    groups = (convolutions, poolings, cross_entropies, normalizations, image_norms, sums, elementwise_chain)
    for group in (
        *groups,
        embeddings_and_updates,
        attentions,
        batched_products,
        single_products,
        rectifiers,
        random_numbers,
        operators,
    ):
        for name, ours, theirs in group():
            if options.only not in name:
                continue
            if torch is None:
                print(f"| {name} | {fastest([ours], options.repeats)[0]:.0f} | | |", flush=True)
                continue
            mine, reference = fastest([ours, theirs], options.repeats)
            print(f"| {name} | {mine:.0f} | {reference:.0f} | {mine / reference:.2f} |", flush=True)


if __name__ == "__main__":
    main()
