"""Functions that have a batching rule run once for all examples, with the values and gradients of a loop."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback import nn
from pullback.func import grad, vmap
from pullback.transforms.arrays import batching_rules, fallback, level_of, protocol

F = nn.functional
COUNT = 4
RNG = np.random.default_rng(3)


def floats(*shape):
    return P.tensor(RNG.standard_normal((COUNT, *shape)))


def integers(*shape, below=3, least=0):
    return P.tensor(RNG.integers(least, below, (COUNT, *shape)))


def _definite():
    x = floats(3, 3)
    return x @ x.mT + 3 * P.eye(3, dtype=x.dtype)


def written(index, added=False):
    """A copy of x with a value at places of its own for each example."""

    def function(x, value, *places):
        y = x + 0 * (value.sum() + sum(place.sum() for place in places))  # a copy for each example, whatever is mapped
        if added:
            y[index(*places)] += value
        else:
            y[index(*places)] = value
        return y

    return function


X, Y, SLICES, SORTED = floats(3, 4), floats(3, 4), integers(2), floats(5).sort(1).values
SQUARE, BLOCK = _definite(), floats(3, 4, 3)
DISTINCT = P.tensor([[2, 0], [0, 1], [1, 2], [2, 1]])
# name: (function, examples of its arguments). The first argument is differentiated, if it is made of floats.
CASES = {
    "gather": (lambda x, i: P.gather(x, 0, i), X, integers(2, 4)),
    "gather, last": (lambda x, i: P.gather(x, -1, i), X, integers(3, 2)),
    "take_along_dim": (lambda x, i: P.take_along_dim(x, i, 1), X, integers(3, 2)),
    "index_select": (lambda x, i: P.index_select(x, 0, i), X, SLICES),
    "index_select, last": (lambda x, i: x.index_select(1, i), X, SLICES),
    "index_add": (lambda x, i, y: P.index_add(x, 0, i, y, alpha=2), X, SLICES, floats(2, 4)),
    "index_add, last": (lambda y, i, x: P.index_add(x, 1, i, y), floats(3, 2), SLICES, X),
    "index_copy": (lambda x, i, y: P.index_copy(x, 0, i, y), X, P.tensor([[0, 2]] * COUNT), floats(2, 4)),
    "index_fill": (lambda x, i: P.index_fill(x, 1, i, 2.5), X, SLICES),
    "index_fill, value": (lambda v, i, x: P.index_fill(x, 1, i, v), floats(), SLICES, X),
    "index_select, a number": (lambda x, i: P.index_select(x, 0, i), X, integers()),
    "index_fill, a number": (lambda x, i: P.index_fill(x, 1, i, 2.5), X, integers()),
    "index_fill, a number and a value": (lambda v, i, x: P.index_fill(x, 0, i, v), floats(), integers(), X),
    "take, a number": (lambda x, i: P.take(x, i), X, integers()),
    "index_reduce": (lambda x, i, y: P.index_reduce(x, 0, i, y, "amax"), X, SLICES, floats(2, 4)),
    "scatter": (lambda x, i, y: P.scatter(x, 0, i, y), X, P.tensor([[[0, 1, 2, 0]]] * COUNT), Y),
    "scatter, value": (lambda x, i: P.scatter(x, 0, i, 1.5), X, integers(2, 4)),
    "scatter_add": (lambda y, i, x: P.scatter_add(x, 0, i, y), Y, integers(2, 4), X),
    **{
        f"scatter_reduce, {how}": (lambda x, i, y, how=how: P.scatter_reduce(x, 0, i, y, how), X, integers(3, 4), Y)
        for how in ("sum", "mean", "prod", "amax", "amin")
    },
    "take": (lambda x, i: P.take(x, i), X, integers(2, 3, below=12, least=-12)),
    "put": (lambda x, i, y: P.put(x, i, y), X, P.tensor([[[0, -1], [5, 3]]] * COUNT), floats(2, 2)),
    "put, added": (lambda y, i, x: P.put(x, i, y, accumulate=True), floats(2, 2), integers(2, 2, below=12, least=-12), X),
    "searchsorted": (P.searchsorted, SORTED, X),
    "searchsorted, rows": (P.searchsorted, floats(3, 5).sort(-1).values, X),
    "bucketize": (P.bucketize, X, SORTED),
    "addbmm": (lambda x, a, b: P.addbmm(x, a, b, beta=0.5, alpha=2), X, floats(2, 3, 5), floats(2, 5, 4)),
    "addbmm, second": (lambda a, b, x: P.addbmm(x, a, b), floats(2, 3, 5), floats(2, 5, 4), X),
    "addbmm, row": (lambda x, a, b: P.addbmm(x, a, b), floats(4), floats(2, 3, 5), floats(2, 5, 4)),
    "addmm without the first": (lambda a, b, x: P.addmm(x, a, b, beta=0), floats(3, 2), floats(2, 4), X),
    "addmv without the first": (lambda a, b, x: P.addmv(x, a, b, beta=0), floats(3, 2), floats(2), floats(3)),
    "addr, number": (lambda x, a, b: P.addr(x, a, b), floats(), floats(3), floats(4)),
    "addr": (lambda x, a, b: P.addr(x, a, b, beta=0.5, alpha=2), X, floats(3), floats(4)),
    "addr, second": (lambda a, b, x: P.addr(x, a, b, beta=0), floats(3), floats(4), X),
    "cross": (lambda a, b: P.linalg.cross(a, b, dim=0), X, Y),
    "trace": (P.trace, X),
    "dist": (lambda a, b: P.dist(a, b, 3), X, floats(4)),
    "rsub": (lambda a, b: P.rsub(a, b), X, floats(4)),
    "pad": (lambda x: F.pad(x, (1, 0, 2, 1), value=1.5), X),
    "pinv": (P.linalg.pinv, X),
    "inv": (P.linalg.inv, SQUARE),
    "solve": (P.linalg.solve, SQUARE, X),
    "solve, vector": (P.linalg.solve, SQUARE, floats(3)),
    "diag": (P.diag, X),
    "fft of reals": (lambda x: P.view_as_real(P.fft.fft(x, dim=0)), X),
    "cholesky": (P.linalg.cholesky, SQUARE),
    "logdet": (P.logdet, SQUARE),
    "lu": (lambda x: P.linalg.lu(x)[2], SQUARE),
    "stft": (lambda x: P.stft(x, 4, hop_length=2, return_complex=False, window=P.ones(4, dtype=x.dtype)), floats(12)),
    "batch norm": (lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True), floats(5, 3), floats(3), floats(3)),
    "batch norm, planes": (lambda x: F.batch_norm(x, None, None, training=True), floats(2, 3, 4)),
    "batch norm, evaluated": (
        lambda x, m, v, w: F.batch_norm(x, m, v.exp(), w), floats(5, 3, 2), floats(3), floats(3), floats(3),
    ),
    **{
        f"masked {name}": (
            lambda x, m, name=name: getattr(P.masked, name)(x, 1, mask=m > 0, **({} if name == "mean" else {"unbiased": True})),
            floats(3, 5), floats(3, 5) + 1,
        )
        for name in ("mean", "var", "std")
    },
    "picked": (lambda x, i: x[i], X, SLICES),
    "picked by a number": (lambda x, i: x[i], X, integers()),
    "picked along the last axis": (lambda x, i: x[..., i], X, SLICES),
    "picked behind a slice": (lambda x, i: x[1:, i], X, SLICES),
    "picked beside a number": (lambda x, i: x[0, :, i], BLOCK, SLICES),
    "picked in a new axis": (lambda x, i: x[None, i[:, None]], X, SLICES),
    "picked apart": (lambda x, i, j: x[i, :, j], BLOCK, SLICES, integers(1, 2)),
    "picked in the middle": (lambda x, i, j: x[:, i, j], BLOCK, SLICES, integers(3, 1)),
    "written": (written(lambda i: i), X, floats(2, 4), DISTINCT),
    "written, a number": (written(lambda i: i), X, floats(), integers()),
    "written along the last axis": (written(lambda i: (..., i)), X, floats(3, 1), DISTINCT),
    "written behind a slice": (written(lambda i: (slice(1, None), i)), X, floats(), DISTINCT),
    "written apart": (written(lambda i, j: (i, slice(None), j)), BLOCK, floats(4), DISTINCT, integers(2)),
    "added in the middle": (written(lambda i: (0, i), added=True), BLOCK, floats(3), DISTINCT),
    "index_put": (lambda x, v, i, j: P.index_put(x, (i, j), v, accumulate=True), X, floats(2), SLICES, integers(2)),
    "negatives cleared": (written(lambda m: m < 0), X, floats(), X + 0),
    "rows cleared": (written(lambda m: m < 0), X, floats(), floats(3)),
    "new axes": (lambda x: x[None, :, None] * x[:, None], X),
    "block_diag": (lambda x, y: P.block_diag(x, y.T, x), X, Y),
    "median": (P.median, floats(3, 3)),
    "nanmedian": (lambda x: P.nanmedian(P.where(x > 1, P.nan, x)), X),
    "argsort": (lambda x: P.gather(x, 1, P.argsort(x, dim=1, descending=True)), X),
    "cdist": (P.cdist, X, floats(2, 4)),
    "cumprod": (lambda x: P.cumprod(x, 1), X),
    "logcumsumexp": (lambda x: P.logcumsumexp(x, 0), X),
    "diagonal_scatter": (lambda x, d: P.diagonal_scatter(x, d, 1), X, floats(3)),
    "lstsq": (lambda a, b: P.linalg.lstsq(a, b).solution, floats(5, 3), floats(5, 2)),
    "cholesky_inverse": (lambda x: P.cholesky_inverse(P.linalg.cholesky(P.stack([x, x + P.eye(3)]))), SQUARE),
    "solve_triangular": (lambda a, b: P.linalg.solve_triangular(a, b, upper=False), SQUARE, floats(2, 3, 2)),
    "embedding": (lambda w, i: F.embedding(i, w), X, SLICES),
    **{
        f"embedding_bag, {mode}": (lambda w, i, mode=mode: F.embedding_bag(i, w, mode=mode), X, integers(2, 3))
        for mode in ("sum", "mean", "max")
    },
    "embedding_bag, weighted": (
        lambda w, i, p: F.embedding_bag(i, w, mode="sum", per_sample_weights=p), X, integers(2, 3), floats(2, 3)),
    "embedding, padded": (lambda w, i: F.embedding(i, w, padding_idx=1), X, SLICES),
    **{
        f"{name}, {kind}, {reduction}": (
            lambda x, t, name=name, kind=kind, reduction=reduction: getattr(F, name)(
                x, t, reduction=reduction, ignore_index=1 if "ignored" in kind else -1,
                weight=P.tensor([0.5, 2.0, 1.5, 0.1], dtype=P.float64) if "weighted" in kind else None,
            ),
            *((floats(5, 4), integers(5, below=4)) if "images" not in kind else (floats(2, 4, 3), integers(2, 3, below=4))),
        )
        for name in ("cross_entropy", "nll_loss")
        for kind in ("ignored", "weighted", "ignored and weighted", "ignored and weighted images")
        for reduction in ("mean", "sum", "none")
    },
    "cov": (lambda x, w: P.cov(x, aweights=w.abs()), X, floats(4)),
}  # fmt: skip


@pytest.fixture
def no_loops(monkeypatch):
    def refused(*args, **kwargs):
        raise AssertionError(f"a loop: {getattr(args[0], 'name', args[0])}")

    monkeypatch.setattr(batching_rules.example_by_example, "__code__", refused.__code__)
    monkeypatch.setattr(fallback.call_example_by_example, "__code__", refused.__code__)
    loop = protocol.loop

    def checked(function, args, kwargs):  # of a value that all examples share, it calls the function once
        assert not any(level_of(leaf) and leaf.batched for leaf in protocol._leaves((args, kwargs))), (
            f"a loop: {function}"
        )
        return loop(function, args, kwargs)

    monkeypatch.setattr(protocol, "loop", checked)


def _dims(count):
    yield (0,) * count
    if count > 1:
        for one in range(count):
            yield tuple(0 if number == one else None for number in range(count))


def _examples(arguments, dims, number):
    return [value[0] if dim is None else value[number] for value, dim in zip(arguments, dims, strict=True)]


def _given(arguments, dims):
    return [value[0] if dim is None else value for value, dim in zip(arguments, dims, strict=True)]


@pytest.mark.parametrize("name", CASES)
def test_once_for_all_examples(name, no_loops):
    function, *arguments = CASES[name]
    for dims in _dims(len(arguments)):
        found = vmap(function, in_dims=dims)(*_given(arguments, dims))
        for number in range(COUNT):
            expected = function(*_examples(arguments, dims, number))
            np.testing.assert_allclose(found[number].numpy(), expected.numpy(), atol=1e-10, err_msg=str(dims))


@pytest.mark.parametrize("count", [0, 1])
def test_few_examples(count):
    for name, (function, *arguments) in CASES.items():
        found = vmap(function)(*(value[:count] for value in arguments))
        expected = function(*(value[0] for value in arguments))
        assert tuple(found.shape) == (count, *expected.shape), name
        if count:
            np.testing.assert_allclose(found[0].numpy(), expected.numpy(), atol=1e-10, err_msg=name)
        if arguments[0].dtype.is_floating_point and not name.startswith(("searchsorted", "bucketize")):
            slopes = vmap(grad(lambda *values: function(*values).sin().sum()))(*(value[:count] for value in arguments))
            assert slopes.shape == arguments[0][:count].shape, name


@pytest.mark.parametrize("function", [
    lambda x, i: P.gather(x, 0, i), lambda x, i: P.index_select(x, 0, i), lambda x, i: P.take(x, i),
    lambda x, i: P.scatter_add(x, 0, i[0], x * x), lambda x, i: P.index_add(x, 0, i[0], x * x),
])  # fmt: skip
def test_numbers_as_examples(function):
    x, index = floats(), P.zeros(COUNT, 1, dtype=P.int64)

    def loss(x, i):
        return function(x, i).sin().sum()

    np.testing.assert_allclose(vmap(grad(loss))(x, index), P.stack([grad(loss)(x[n], index[n]) for n in range(COUNT)]))


@pytest.mark.parametrize("function", [F.embedding, lambda i, w, **rest: F.embedding_bag(i.reshape(1, -1), w, **rest)])
def test_long_rows_of_tables_are_shortened(function):
    tables, single = 3 * floats(3, 4), []
    copies, indices = tables.clone(), integers(2)
    for table, index in zip(copies, indices, strict=True):
        single.append(function(index, table, max_norm=1.0))
    found = vmap(lambda i, w: function(i, w, max_norm=1.0))(indices, tables)
    np.testing.assert_allclose(found, P.stack(single))
    np.testing.assert_allclose(tables, copies)


def test_no_examples_leave_a_history():
    layer = nn.Conv1d(2, 3, 2)
    vmap(layer)(P.ones(0, 1, 2, 4)).sum().backward()
    assert not layer.weight.grad.any()


@pytest.mark.parametrize(
    "name", [name for name in CASES if name not in ("searchsorted", "searchsorted, rows", "bucketize")]
)
def test_gradients_are_those_of_a_loop(name):
    function, *arguments = CASES[name]

    def loss(*values):
        return function(*values).sin().sum()

    for dims in _dims(len(arguments)):
        found = vmap(grad(loss), in_dims=dims)(*_given(arguments, dims))
        first, *others = _given(arguments, dims)
        outside = [first.clone().requires_grad_(), *others]
        vmap(loss, in_dims=dims)(*outside).sum().backward()
        rows = [grad(loss)(*_examples(arguments, dims, number)) for number in range(COUNT)]
        np.testing.assert_allclose(found.numpy(), P.stack(rows).numpy(), atol=1e-9, err_msg=str(dims))
        total = P.stack(rows) if dims[0] == 0 else P.stack(rows).sum(0)
        np.testing.assert_allclose(outside[0].grad.numpy(), total.numpy(), atol=1e-9, err_msg=str(dims))


@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None)])
def test_a_loop_keeps_tangents_apart(dims):
    x, targets, tangents = floats(3, 4), integers(3), floats(3, 4)
    scores, labels = floats(5, 2, 4).log_softmax(-1), integers(2, 2, below=4, least=1)
    lengths, slopes = P.full((COUNT, 2), 5), floats(5, 2, 4)
    for function, values, others, pushed in (
        (F.multi_margin_loss, x, targets, tangents),  # look at what they are given
        (lambda x, n: F.ctc_loss(x, labels[0], n, P.tensor([2, 1])), scores, lengths, slopes),
    ):

        def push(value, other, tangent, function=function):
            return P.func.jvp(lambda value: function(value, other), (value,), (tangent,))[1]

        found = vmap(push, in_dims=(*dims, 0))(*_given((values, others), dims), pushed)
        rows = [push(*_examples((values, others), dims, number), pushed[number]) for number in range(COUNT)]
        np.testing.assert_allclose(found.numpy(), P.stack(rows).numpy(), atol=1e-12)


@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None)])
def test_a_loop_has_the_derivatives_of_its_examples(dims):
    x, targets = floats(3, 4), integers(3)

    def loss(x, target):  # looks at its targets
        return F.multi_margin_loss(x, target).sin()

    given = _given((x, targets), dims)
    for transform in (grad, P.func.jacfwd, P.func.hessian):
        found = vmap(transform(loss), in_dims=dims)(*given)
        rows = [transform(loss)(*_examples((x, targets), dims, number)) for number in range(COUNT)]
        np.testing.assert_allclose(found.numpy(), P.stack(rows).numpy(), atol=1e-12)


def test_indices_out_of_bounds_are_refused_in_any_example():
    x, places = floats(3, 4), integers(2)
    places[2, 1] = 3
    for function in (
        lambda x, i: x.index_select(0, i),
        lambda x, i: x.gather(0, i[:, None]),
        lambda x, i: x.index_fill(0, i, 1),
    ):
        with pytest.raises((RuntimeError, IndexError), match="out of bounds|out of range"):
            vmap(function)(x, places)


def test_a_matrix_without_an_inverse_is_refused_in_any_example():
    broken = SQUARE.clone()
    broken[2] = 0
    with pytest.raises(RuntimeError, match="singular"):
        vmap(P.linalg.inv)(broken)


def test_an_ensemble_with_batch_norm():
    models = [
        nn.Sequential(nn.Conv1d(2, 3, 2), nn.BatchNorm1d(3, track_running_stats=False), nn.ReLU()).double()
        for _ in range(3)
    ]
    parameters, buffers = P.func.stack_module_state(models)
    x = P.randn(4, 2, 6, dtype=P.float64)
    found = vmap(lambda p, b: P.func.functional_call(models[0], (p, b), (x,)))(parameters, buffers)
    for model, out in zip(models, found, strict=True):
        np.testing.assert_allclose(out.detach().numpy(), model(x).detach().numpy(), atol=1e-12)


NESTED = ("gather", "index_select", "index_add", "index_fill, value", "scatter_add", "scatter_reduce, amax", "take", "put",
          "addbmm", "addr", "trace", "dist", "pinv", "solve", "solve, vector", "batch norm", "masked var",
          "picked along the last axis", "picked apart", "picked in the middle", "written apart",
          "added in the middle", "index_put")  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_nested_maps_and_forward_mode(name):
    function, *arguments = CASES[name]

    def loss(*values):
        return function(*values).sin().sum()

    twice = [P.stack([value, value.flip(0)]) for value in arguments]
    found = vmap(vmap(function))(*twice)
    for row, values in enumerate((arguments, [value.flip(0) for value in arguments])):
        np.testing.assert_allclose(found[row].numpy(), vmap(function)(*values).numpy(), atol=1e-10)
    slopes = vmap(P.func.jacfwd(loss))(*arguments)
    np.testing.assert_allclose(slopes.numpy(), vmap(grad(loss))(*arguments).numpy(), atol=1e-8)
    bends = vmap(P.func.hessian(loss))(*arguments)
    single = P.func.hessian(loss)(*[value[1] for value in arguments])
    np.testing.assert_allclose(bends[1].numpy(), single.numpy(), atol=1e-8)
