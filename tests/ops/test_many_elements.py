"""Operators that go another way about many elements than about few give torch's results there too, to second order."""

import numpy as np
import pytest
from against_torch import compare

import pullback

GENERATOR = np.random.default_rng(0)
MANY = 6000


def normal(*shape: int, dtype: str = "float64") -> np.ndarray:
    return GENERATOR.standard_normal(shape).astype(dtype)


def apart(*shape: int) -> np.ndarray:
    """Numbers of which no two are close: a kink is not missed by a rounding error."""
    count = int(np.prod(shape))
    return (GENERATOR.permutation(count) * 6.0 / count - 2.9999).reshape(shape)


def below(bound: int, *shape: int) -> np.ndarray:
    return GENERATOR.integers(0, bound, shape)


SPECIAL = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, 1e30, -1e30, 3.5, -2, 7e8, 2**24, 2**25, 1e-3])
PAIRS = [part.reshape(-1).astype(np.float32) for part in np.meshgrid(SPECIAL, SPECIAL)]
WITH_SPECIAL = [np.concatenate((part, normal(MANY, dtype="float32") * scale)) for part, scale in zip(PAIRS, (50, 1))]

MASKED = {
    "elu": (lambda t, x: t.nn.functional.elu(x, 1.5), apart(MANY)),
    "selu": (lambda t, x: t.selu(x), apart(MANY)),
    "celu": (lambda t, x: t.celu(x, 0.5), apart(MANY)),
    "leaky_relu steep": (lambda t, x: t.nn.functional.leaky_relu(x, 2.5), apart(MANY)),
    "prelu": (lambda t, x, w: t.prelu(x, w), apart(20, 5, 60), normal(5)),
    "hardshrink": (lambda t, x: t.nn.functional.hardshrink(x), apart(MANY)),
    "softshrink": (lambda t, x: t.nn.functional.softshrink(x, 0.3), apart(MANY)),
    "threshold": (lambda t, x: t.nn.functional.threshold(x, 0.1, 20), apart(MANY)),
    "hardswish": (lambda t, x: t.nn.functional.hardswish(x * 2), apart(MANY)),
    "where": (lambda t, x, y: t.where(x > 0, x * y, y), normal(MANY), normal(MANY)),
    "where, a number": (lambda t, x: t.where(x > 0, x, 2.5), normal(60, 100)),
    "where, a column": (lambda t, x, y: t.where(x > y, x, y), normal(60, 100), normal(60, 1)),
    "where, a row of bits": (lambda t, x, y: t.where(y[0] > 0, x, y), normal(60, 100), normal(60, 100)),
    "where, transposed": (lambda t, x, y: t.where(x.T > 0, y, x.T), normal(100, 60), normal(60, 100)),
    "where, whole numbers": (lambda t, x, y: t.where(x > y, x, -1), below(9, MANY), below(9, MANY)),
    "where, narrow and wide": (lambda t, x, y: t.where(x > 0, x, y.float()), normal(MANY), normal(MANY)),
    "masked_fill": (lambda t, x: x.masked_fill(x > 0.5, -np.inf), normal(60, 100)),
    "maximum": (lambda t, x, y: t.maximum(x, y), below(4, MANY) * 0.5, below(4, MANY) * 0.5),
    "lerp": (lambda t, x, y, w: t.lerp(x, y, w), normal(MANY), normal(MANY), GENERATOR.random(MANY)),
    "huber_loss": (lambda t, x, y: t.nn.functional.huber_loss(x, y, delta=0.4), apart(MANY), apart(MANY)),
    "huber_loss none": (lambda t, x, y: t.nn.functional.huber_loss(x, y, reduction="none"), apart(MANY), apart(MANY)),
    "smooth_l1_loss": (lambda t, x, y: t.nn.functional.smooth_l1_loss(x, y, beta=0.4), apart(MANY), apart(MANY)),
    "soft_margin_loss": (lambda t, x: t.nn.functional.soft_margin_loss(x, t.sign(x.detach() - 1)), apart(MANY)),
    "logaddexp": (lambda t, x, y: t.logaddexp(x, y), normal(MANY) * 20, normal(MANY) * 20),
    "logaddexp2": (lambda t, x, y: t.logaddexp2(x, y), normal(60, 100) * 20, normal(100)),
}


@pytest.mark.parametrize("name", MASKED)
def test_choices_by_bits(name):
    call, *arrays = MASKED[name]
    compare(call, *arrays)
    compare(call, *(a.astype(np.float32) if a.dtype.kind == "f" else a for a in arrays), order=1)


@pytest.mark.parametrize("name", ["fmod", "remainder", "floor_divide", "logaddexp", "logaddexp2"])
@pytest.mark.parametrize("second", ["many", "one"])
def test_remainders_and_sums_of_exponentials_of_special_numbers(name, second):
    a, b = WITH_SPECIAL
    compare(lambda t, x, y: getattr(t, name)(x, y), a, b if second == "many" else np.array(-2.5, np.float32), order=0)


@pytest.mark.parametrize("name", ["huber_loss", "smooth_l1_loss"])
def test_second_derivatives_of_huber_losses_at_the_kink(name):
    at_kink = np.array([1.0, -1.0, 0.5, 0.0, 2.0])
    compare(lambda t, x: getattr(t.nn.functional, name)(x, t.zeros_like(x), reduction="none"), at_kink)


@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_images_sampled_inside_and_far_outside(mode, padding, set_threads):
    images, grid = normal(2, 9, 20, 30), normal(2, 40, 50, 2) * 1.5
    for threads in (1, 2):
        set_threads(threads)
        compare(
            lambda t, x, g: t.nn.functional.grid_sample(x, g, mode, padding, align_corners=False),
            images,
            grid,
            order=1,
        )


def test_points_of_many_channels_are_summed_block_by_block(monkeypatch):
    from pullback.kernels import taps

    monkeypatch.setattr(taps, "TAP_BYTES", 4 * 60 * 2)
    volume, grid = normal(2, 5, 3, 4, 5), normal(2, 2, 3, 4, 3)
    compare(lambda t, x, g: t.nn.functional.grid_sample(x, g, align_corners=True), volume, grid, order=1)


ROWS, SIZE = 700, 90
UNEVEN = np.concatenate((below(SIZE, ROWS - 200), np.full(150, 7), np.full(50, 3)))  # two groups far longer than others
AT_PLACES = {
    "index_add rows": (lambda t, x, i, s: x.index_add(0, i, s), normal(SIZE, 40), UNEVEN, normal(ROWS, 40)),
    "index_add narrow rows": (lambda t, x, i, s: x.index_add(0, i, s), normal(SIZE, 3), UNEVEN, normal(ROWS, 3)),
    "index_add columns": (lambda t, x, i, s: x.index_add(1, i, s), normal(40, SIZE), UNEVEN, normal(40, ROWS)),
    "index_add few of many": (lambda t, x, i, s: x.index_add(0, i, s), normal(9, 4000), below(9, 12), normal(12, 4000)),
    "index_add middle": (lambda t, x, i, s: x.index_add(1, i, s), normal(3, SIZE, 20), UNEVEN, normal(3, ROWS, 20)),
    "index_select columns": (lambda t, x, i: x.index_select(1, i), normal(40, SIZE), UNEVEN),
    "columns by index": (lambda t, x, i: x[:, i], normal(40, SIZE), UNEVEN.reshape(70, 10)),
    "part of the columns by index": (lambda t, x, i: x[3:30, i - 90, ::2], normal(40, SIZE, 6), UNEVEN),
    "rows put with repeats": (
        lambda t, x, i, v: x.index_put((i - 90,), v, accumulate=True),
        normal(SIZE, 40),
        UNEVEN,
        normal(ROWS, 40),
    ),
    "gather": (lambda t, x, i: x.gather(1, i), normal(SIZE, 80), below(80, SIZE, 75)),
    "gather first": (lambda t, x, i: x.gather(0, i), normal(SIZE, 80), below(SIZE, ROWS, 75)),
    "gather middle": (lambda t, x, i: x.gather(1, i), normal(8, 30, 20), below(30, 8, 100, 20)),
    "gather, transposed": (lambda t, x, i: x.T.gather(1, i), normal(80, SIZE), below(80, SIZE, 75)),
    "gather whole columns": (lambda t, x, i: x.gather(1, i.expand(40, -1)), normal(40, SIZE), UNEVEN),
    "scatter_add": (
        lambda t, x, i, s: x.scatter_add(0, i, s),
        normal(SIZE, 70),
        below(SIZE, ROWS, 70),
        normal(ROWS, 70),
    ),
    "scatter_add whole": (
        lambda t, x, i, s: x.scatter_add(1, i.expand(40, -1), s),
        normal(40, SIZE),
        UNEVEN,
        normal(40, ROWS),
    ),
    "scatter": (lambda t, x, i, s: x.scatter(1, i.argsort(1), s), normal(60, 100), apart(60, 100), normal(60, 100)),
    "scatter a number": (lambda t, x, i: x.scatter(1, i, 2.5), normal(500, 20), below(20, 500, 12)),
    "sort": (lambda t, x: x.sort(0)[0], apart(300, 40)),
    "take_along_dim": (lambda t, x, i: t.take_along_dim(x, i, 1), normal(SIZE, 80), below(80, SIZE, 75)),
    "median": (lambda t, x: x.median(1)[0], apart(300, 41)),
}


@pytest.mark.parametrize("name", AT_PLACES)
def test_places_along_an_axis(name):
    call, *arrays = AT_PLACES[name]
    compare(call, *arrays, names=name != "scatter")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64"])
@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("reduce", ["sum", "prod", "mean", "amax", "amin"])
def test_reductions_into_places(reduce, include, dtype):
    x, values = normal(SIZE, 30), normal(ROWS, 30)
    if dtype == "int64":
        x, values = np.round(x * 3), np.round(values * 3)
    x, values = x.astype(dtype), values.astype(dtype)
    order = 1 if dtype == "float64" else 0

    def whole(t, x, i, s):
        return x.scatter_reduce(0, i[:, None].expand(-1, 30), s, reduce, include_self=include)

    def each(t, x, i, s):
        return x.scatter_reduce(0, i, s, reduce, include_self=include)

    def columns(t, x, i, s):
        return x.T.contiguous().index_reduce(1, i, s.T, "mean" if reduce == "sum" else reduce, include_self=include)

    compare(whole, x, UNEVEN, values, order=order)
    compare(each, x, below(SIZE, ROWS, 30), values, order=order)
    compare(columns, x, UNEVEN, values, order=order)


FOUND = {
    "topk": (lambda t, x: t.topk(x, 3), apart(40, 200)),
    "topk first": (lambda t, x: t.topk(x, 9, 0, largest=False), apart(200, 40)),
    "topk with equals left out": (lambda t, x: t.topk(x, 3)[0], below(6, 40, 200) * 1.0),
    "cumsum": (lambda t, x: x.cumsum(1), normal(80, 90)),
    "cumsum first": (lambda t, x: x.cumsum(0), normal(80, 90)),
    "one_hot": (lambda t, i: t.nn.functional.one_hot(i, 9), below(9, 30, 20)),
    "embedding_bag": (
        lambda t, i, w: t.nn.functional.embedding_bag(i, w, mode="sum"),
        below(50, 30, 40),
        normal(50, 20),
    ),
    "cummax": (lambda t, x: x.cummax(1), below(30, 60, 90) * 0.5),
    "cummin first": (lambda t, x: x.cummin(0), below(30, 90, 60) * 0.5),
    "norm of all": (lambda t, x: x.norm(), normal(3, 1701)),
    "norm of the last": (lambda t, x: x.norm(dim=-1, keepdim=True), normal(60, 90)),
    "norm of the last two": (lambda t, x: x.norm(dim=(2, 1)), normal(2, 51, 49)),
    "norm of the first": (lambda t, x: t.linalg.vector_norm(x, dim=0), normal(90, 60)),
    "norm of a middle one": (lambda t, x: x.norm(dim=1), normal(20, 30, 10)),
    "std": (lambda t, x: x.std(1), normal(2, 4001)),
    "prod": (lambda t, x: x.prod(1), 1 + 0.1 * normal(45, 133)),
    "prod of all": (lambda t, x: x.prod(), 1 + 0.01 * normal(45, 133)),
    "prod with a zero": (lambda t, x: (x * (x.detach() < 1.2)).prod(-1, keepdim=True), 1 + 0.1 * normal(40, 133)),
    "cdist": (lambda t, x, y: t.cdist(x, y, 2.0, "donot_use_mm_for_euclid_dist"), normal(70, 5), normal(80, 5)),
    "cdist of order 1": (lambda t, x, y: t.cdist(x, y, 1.0), normal(70, 5), normal(80, 5)),
    "cdist of order 3": (lambda t, x, y: t.cdist(x, y, 3.0), normal(70, 5), normal(80, 5)),
    "cdist of points that meet": (
        lambda t, x: t.cdist(x, x + 0, 2.0, "donot_use_mm_for_euclid_dist"),
        below(3, 70, 3) * 1.0,
    ),
    "cdist of batches": (lambda t, x, y: t.cdist(x, y, 1.0), normal(2, 1, 7, 3), normal(3, 8, 3)),
    "pdist": (lambda t, x: t.pdist(x), normal(80, 4)),
    "pdist of order 1": (lambda t, x: t.pdist(x, 1), normal(80, 4)),
    "pdist of many": (lambda t, x: t.pdist(x), normal(150, 3)),
    "pdist of order 3": (lambda t, x: t.pdist(x, 3), normal(9, 4)),
    "fft": (lambda t, x: t.view_as_real(t.fft.fft(x)), normal(3, 16)),
    "fft odd": (lambda t, x: t.view_as_real(t.fft.fft(x, dim=0)), normal(15, 3)),
    "ifft": (lambda t, x: t.view_as_real(t.fft.ifft(x, norm="ortho").resolve_conj()), normal(3, 15)),
    "fft2": (lambda t, x: t.view_as_real(t.fft.fft2(x)), normal(2, 7, 8)),
    "ifftn": (lambda t, x: t.view_as_real(t.fft.ifftn(x)), normal(4, 5, 6)),
    "fftn, last axis first": (lambda t, x: t.view_as_real(t.fft.fftn(x, dim=(2, 0))), normal(5, 4, 7)),
    "fft of one and two": (lambda t, x: t.view_as_real(t.fft.fft2(x)), normal(1, 2)),
}


@pytest.mark.parametrize("name", FOUND)
def test_found_in_fewer_steps(name):
    call, *arrays = FOUND[name]
    compare(call, *arrays, names=False, order=1 if "dist" in name else 2)  # torch has no second derivative of distances


@pytest.mark.parametrize("initial", [None, 0.75])
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segments(reduce, initial):
    lengths = np.array([3, 0, 5, 1, 11])

    def of_lengths(t, x, n):
        return t.segment_reduce(x, reduce, lengths=n, initial=initial)

    def of_offsets(t, x, n):
        return t.segment_reduce(x, reduce, offsets=t.nn.functional.pad(n.cumsum(0), (1, 0)), initial=initial)

    def of_rows(t, x, n):
        return t.segment_reduce(x, reduce, lengths=n.expand(2, -1).contiguous(), axis=1, initial=initial)

    for call, shape in ((of_lengths, (20,)), (of_lengths, (20, 3)), (of_offsets, (20, 3)), (of_rows, (2, 20, 3))):
        compare(call, normal(*shape), lengths, order=1, names=False)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_scans_keep_their_running_total_in_a_wider_dtype(name, dtype):
    torch = pytest.importorskip("torch")
    numbers = GENERATOR.random((3, 20000)) * 0.002 + 0.999
    for flat, dim in ((numbers[0, :300], 0), (numbers[0], 0), (numbers, 1), (numbers.T, 0)):
        ours, theirs = (getattr(t.tensor(flat).float().to(getattr(t, dtype)), name)(dim) for t in (pullback, torch))
        assert ours.tolist() == theirs.tolist()
