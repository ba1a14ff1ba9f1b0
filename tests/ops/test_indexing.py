"""`x[...]`, `x[...] = y` and the shape, joining and scatter functions, compared with torch."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
import pullback  # noqa: E402

RNG = np.random.default_rng(3)
X = RNG.normal(size=(4, 3, 5))
MASK = X[..., 0] > 0


def outcome(function):
    """What a function gives: ('value', result) or ('error', type)."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return "value", function()
    except Exception as error:
        return "error", type(error)


def index_list(lib):
    """Indices of every kind for a tensor of shape (4, 3, 5), with the library's own tensors in them."""
    t = lib.tensor
    pairs = t([[0, 1], [2, -1]])
    return [
        1, -1, 4, -5, slice(1, 3), slice(None), slice(None, None, 2), slice(3, 1), slice(-2, None), None, Ellipsis,
        True, False,
        (0, 1, 2), (0, 1, 2, 3), (slice(1, 3), 0), (..., 0), (0, ..., 1), (None, 1), (1, None, slice(2)),
        (..., None), (..., ...),
        t([0, 2]), t([0, 4]), t([-1, -4]), t([], dtype=lib.int64), t(2), t(True), t([True, False, True, True]),
        t([True, False]), t(MASK), t(X > 0.5), [0, 2], [[0, 1], [2, 2]], np.array([1, 1]),
        np.array([True, False, False, True]),
        (t([0, 1]), t([1, 2])), (t([0, 1]), slice(None), t([1, 2])), (slice(None), t([0, 1]), t([1, 2])),
        (0, slice(None), t([1, 2])),
        (t([0, 1]), 0, t([1, 2])), (t([0, 1]), None, t([1, 2])), (pairs, 0), (slice(None), pairs), (..., pairs),
        (pairs, ..., 1),
        (slice(0, 2), t([True, False, True])), (t(MASK), 0), (t(MASK), t(2)), (0, t([True, False, True])),
        (t([0, 1]), t([0, 1, 2])),
        (True, 0), (0, True), (t([[0], [1]]), t([0, 2])), (None, t([0, 1]), None), t(1.5), "a", 1.0,
        (slice(None), [0, 2]),
        (t([0, 1], dtype=lib.int32),), np.int64(2), (np.int64(1), slice(None)), slice(np.int64(1), 3), range(2),
        ([0, 1], [1, 2]),
    ]  # fmt: skip


COUNT = len(index_list(torch))


@pytest.mark.parametrize("number", range(COUNT))
def test_reading(number):
    results = []
    for lib in (torch, pullback):
        x = lib.tensor(X, requires_grad=True)
        y = x * 1
        kind, value = outcome(lambda lib=lib, y=y: y[index_list(lib)[number]])
        if kind == "value":
            (value * value).sum().backward()
            results.append((kind, value, x.grad))
        else:
            results.append((kind, value))
    compare(results, number)


@pytest.mark.parametrize("number", range(COUNT))
@pytest.mark.parametrize("value", ["number", "scalar", "row", "grad", "wrong"])
@pytest.mark.parametrize("recorded", [False, True])
def test_writing(number, value, recorded):
    results = []
    for lib in (torch, pullback):
        x = lib.tensor(X, requires_grad=recorded)
        y = x * 1
        source = lib.tensor(RNG_ROW, requires_grad=value == "grad")
        given = {"number": 2.5, "scalar": lib.tensor(1.5), "row": source, "grad": source, "wrong": lib.ones(7, 7)}[
            value
        ]
        kind, error = outcome(lambda lib=lib, y=y, given=given: y.__setitem__(index_list(lib)[number], given))
        if kind == "value" and y.requires_grad:
            (y * y).sum().backward()
        results.append((kind, error if kind == "error" else y, x.grad, source.grad))
    compare(results, number)


RNG_ROW = RNG.normal(size=(1, 5))


def compare(results, label):
    (kind, wanted, *wanted_grads), (got_kind, got, *got_grads) = results
    assert kind == got_kind, (label, wanted, got)
    if kind == "error":
        # a value that does not fit is an IndexError or a RuntimeError, depending on where torch notices
        assert issubclass(got, wanted) or {got, wanted} <= {IndexError, RuntimeError, TypeError, ValueError}, (
            label,
            wanted,
            got,
        )
        return
    np.testing.assert_array_equal(got.detach().numpy(), wanted.detach().numpy())
    assert got._is_view() == wanted._is_view()
    for a, b in zip(wanted_grads, got_grads, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            np.testing.assert_allclose(b.numpy(), a.numpy(), rtol=1e-12)


# --- bounds of as_strided: never outside the memory ---


@pytest.mark.parametrize(
    "arguments",
    [
        ((3,), (1,), 5), ((3,), (100,), 0), ((3,), (-1,), 0), ((-1,), (1,), 0), ((2,), (1,), -1), ((2, 2), (1,), 0),
        ((2**40, 2**40), (0, 0), 0), ((2**62,), (0,), 0), ((7,), (1,), 0), ((2,), (2**61,), 0), ((1,), (1,), 2**61),
    ],
)  # fmt: skip
def test_as_strided_refuses(arguments):
    whole = pullback.arange(6.0)
    for tensor in (whole, whole[3:][:2], pullback.ones(2, 3).t(), whole.expand(4, 6)):
        with pytest.raises(RuntimeError):
            tensor.as_strided(*arguments)


def test_as_strided_of_an_empty_slice():
    base = pullback.arange(6.0)
    for empty in (base[6:], base[3:3]):
        with pytest.raises(RuntimeError, match="out of bounds for storage"):
            empty.as_strided((1,), (1,))
        assert empty.as_strided((0,), (1,)).shape == (0,)
        assert empty.as_strided((2,), (1,), 3).tolist() == [3, 4]


def test_resize_of_examples():
    x = pullback.arange(12.0).reshape(2, 6)
    for size, rows in (((2, 2), [[0, 1, 2, 3], [6, 7, 8, 9]]), ((0,), [[], []]), ((7,), None)):
        result = pullback.vmap(lambda row, size=size: row.clone().resize_(size))(x)
        assert result.shape == (2, *size)
        assert rows is None or result.reshape(2, -1).tolist() == rows
    assert result[:, :6].tolist() == x.tolist()


def test_as_strided_reaches_the_owner():
    base = pullback.arange(6.0)
    part = base[2:4]
    whole = part.as_strided((6,), (1,), 0)
    whole[0] = 9
    assert base[0].item() == 9 and whole._base is base and part._version == 1


def test_gradient_of_overlapping_views():
    for make in (
        lambda x: x.as_strided((3, 2), (1, 1)),
        lambda x: x.unfold(0, 3, 1),
        lambda x: x.expand(2, 4).as_strided((4,), (1,)),
    ):
        gradients = []
        for lib in (torch, pullback):
            x = lib.arange(4.0, dtype=lib.float64).requires_grad_()
            result = make(x * 1)
            (result * result).sum().backward()
            gradients.append(x.grad.numpy())
        np.testing.assert_allclose(gradients[1], gradients[0])


@pytest.mark.parametrize("rows", [5, 40, 3000])
@pytest.mark.parametrize("high", [3, 60, 70000])
def test_rows_added_with_repeats(rows, high):
    index = RNG.integers(-high, high, rows)
    values = RNG.normal(size=(rows, 4))
    gradients = []
    for lib in (torch, pullback):
        table = lib.zeros((high, 4), dtype=lib.float64, requires_grad=True)
        (table[lib.tensor(index)] * lib.tensor(values)).sum().backward()
        gradients.append(table.grad.numpy())
    np.testing.assert_allclose(gradients[1], gradients[0], atol=1e-12)


@pytest.mark.parametrize("function", ["scatter_reduce", "index_reduce"])
def test_second_derivative_of_products_with_several_zeros_is_refused(function):
    """It was silently zero: the product of two zeros is flat, its slope is not."""
    x = pullback.ones(1, dtype=pullback.float64, requires_grad=True)
    zeros = pullback.zeros(2, dtype=pullback.float64, requires_grad=True)
    y = getattr(pullback, function)(x, 0, pullback.tensor([0, 0]), zeros, "prod")
    assert pullback.autograd.grad(y, zeros, retain_graph=True)[0].tolist() == [0, 0]
    (first,) = pullback.autograd.grad(y, zeros, create_graph=True)
    assert first.tolist() == [0, 0]
    with pytest.raises(RuntimeError, match="Double backward is unsupported"):
        first.sum().backward()


WRITES = {  # what is written may have more leading dims of size 1 than what the index picks
    "pairs": ((4, 4), lambda lib: (list(range(4)), list(range(4))), (1, 4)),
    "rows": ((2, 3), lambda lib: lib.tensor([0, 1]), (1, 1, 2, 3)),
    "mask": ((2, 3), lambda lib: lib.ones(2, 3) > 0, (1, 6)),
    "one number": ((2, 3), lambda lib: lib.tensor([0, 1]), (1, 1, 1, 1)),
    "no place for it": ((2, 3), lambda lib: lib.tensor([0, 1]), (2, 1, 2, 3)),
    "view": ((2, 3), lambda lib: (0,), (1, 1, 3)),
}


@pytest.mark.parametrize("name", WRITES)
@pytest.mark.parametrize("recorded", [False, True])
def test_writing_drops_leading_ones(name, recorded):
    shape, index, value_shape = WRITES[name]

    def written(lib):
        value = lib.arange(1.0, np.prod(value_shape) + 1).reshape(value_shape).requires_grad_(recorded)
        target = lib.zeros(shape)
        target[index(lib)] = value
        return target.tolist(), lib.autograd.grad((target * target).sum(), value)[0].tolist() if recorded else None

    assert outcome(lambda: written(pullback)) == outcome(lambda: written(torch))


COMPLAINTS = {
    "take_along_dim": lambda t: t.take_along_dim(t.ones(2, 2), t.zeros(2, 2, dtype=t.int32), 0),
    "unravel floats": lambda t: t.unravel_index(t.tensor(0.5), (2, 2)),
    "unravel tensor shape": lambda t: t.unravel_index(t.tensor([1]), t.tensor([1, 2])),
    "unravel float shape": lambda t: t.unravel_index(t.tensor([1]), 2.0),
    "unravel float sizes": lambda t: t.unravel_index(t.tensor([1]), (1, 2.0)),
    "nothing to pick from": lambda t: t.empty(3, 0)[:, [0, 1]],
    "shape before dtype": lambda t: t.arange(4).__setitem__(t.tensor([0, 1]), t.tensor([1.0, 2.0, 3.0])),
    "dtype": lambda t: t.arange(4).__setitem__(t.tensor([0, 1]), t.tensor([1.0, 2.0])),
}


@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaints(name):
    with pytest.raises(Exception) as expected:
        COMPLAINTS[name](torch)
    phrase = str(expected.value).split("but got")[0].rstrip(". ")
    with pytest.raises(type(expected.value)) as raised:
        COMPLAINTS[name](pullback)
    assert phrase in str(raised.value)


def test_many_wide_rows_are_added_up() -> None:
    rng = np.random.default_rng(0)
    places, rows = rng.integers(0, 7, 200), rng.normal(size=(200, 40))
    from against_torch import compare

    compare(lambda t, x, rows: x.index_add(0, t.from_numpy(places), rows), rng.normal(size=(7, 40)), rows, order=1)
    compare(lambda t, x: x[t.from_numpy(places)] * 2, rng.normal(size=(7, 40)), order=1)
