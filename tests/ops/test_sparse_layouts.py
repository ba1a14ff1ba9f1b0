"""Matrices by rows, by columns and in blocks, and what graph libraries ask of sparse tensors, as in torch."""

import io
import warnings

import pytest

import pullback

torch = pytest.importorskip("torch")


def matrix(t):
    return t.tensor([[0.0, 2, 0, 0], [1, 0, 3, 0], [0, 0, 0, 0], [0, 4, 0, 5]])


def rows(t, layout="csr"):
    return getattr(matrix(t), f"to_sparse_{layout}")(*([(2, 2)] if layout[0] == "b" else []))


def graph(t):
    places, values = t.tensor([[0, 1, 1], [1, 0, 1]]), t.tensor([1.0, 2.0, 3.0])
    return t.sparse_coo_tensor(places, values, (2, 2))


LAYOUTS = ("csr", "csc", "bsr", "bsc")
STARTS, OTHERS, NUMBERS = [0, 1, 3], [1, 0, 1], [1.0, 2.0, 3.0]
BLOCKS = [[[0.0, 1], [2, 3]], [[4, 5], [6, 7]]]
CASES = {
    **{f"to {name}": (lambda name: lambda t: rows(t, name))(name) for name in LAYOUTS},
    **{f"from {name} to coo": (lambda name: lambda t: rows(t, name).to_sparse_coo().coalesce())(name) for name in LAYOUTS},
    **{f"{name} turned": (lambda name: lambda t: rows(t, name).transpose(0, 1))(name) for name in LAYOUTS},
    **{f"{name} times a matrix": (lambda name: lambda t: rows(t, name) @ matrix(t))(name) for name in ("csr", "csc", "bsr")},
    **{f"{name} doubled": (lambda name: lambda t: rows(t, name) * 2)(name) for name in ("csr", "csc")},
    "csc made": lambda t: t.sparse_csc_tensor(t.tensor(STARTS), t.tensor(OTHERS), t.tensor(NUMBERS), (2, 2)),
    "csc without a size": lambda t: t.sparse_csc_tensor(t.tensor(STARTS), t.tensor(OTHERS), t.tensor(NUMBERS)),
    "bsr made": lambda t: t.sparse_bsr_tensor(t.tensor([0, 1, 2]), t.tensor([1, 0]), t.tensor(BLOCKS), (4, 4)),
    "bsc made": lambda t: t.sparse_bsc_tensor(t.tensor([0, 1, 2]), t.tensor([1, 0]), t.tensor(BLOCKS), (4, 4)),
    "by its layout": lambda t: t.sparse_compressed_tensor(
        t.tensor(STARTS), t.tensor(OTHERS), t.tensor(NUMBERS), (2, 2), layout=t.sparse_csc
    ),
    "to_sparse of a layout": lambda t: matrix(t).to_sparse(layout=t.sparse_bsr, blocksize=(2, 2)),
    "csr to csc": lambda t: rows(t).to_sparse_csc(),
    "csc to csr": lambda t: rows(t, "csc").to_sparse_csr(),
    "wide blocks": lambda t: matrix(t).to_sparse_bsr((4, 1)),
    "starts of rows": lambda t: t._convert_indices_from_coo_to_csr(t.tensor([0, 1, 1]), 3),
    "starts of no rows": lambda t: t._convert_indices_from_coo_to_csr(t.tensor([], dtype=t.int64), 2, out_int32=True),
    "rows of starts": lambda t: t._convert_indices_from_csr_to_coo(t.tensor(STARTS), t.tensor(OTHERS)),
    "rows of starts, turned": lambda t: t._convert_indices_from_csr_to_coo(
        t.tensor(STARTS), t.tensor(OTHERS), out_int32=True, transpose=True
    ),
    "_coalesced_": lambda t: graph(t)._coalesced_(True).is_coalesced(),
    **{f"mm by {name}": (lambda name: lambda t: t.sparse.mm(rows(t), matrix(t) - 2, name))(name)
       for name in ("sum", "mean", "amax", "amin")},
    "columns of rows": lambda t: rows(t).ccol_indices(),
    "rows of columns": lambda t: rows(t, "csc").crow_indices(),
    "columns of places": lambda t: graph(t).ccol_indices(),
    "blocks that do not fit": lambda t: matrix(t).to_sparse_bsr((3, 2)),
    "mm by products": lambda t: t.sparse.mm(rows(t), matrix(t), "prod"),
    "mm by something": lambda t: t.sparse.mm(rows(t), matrix(t), "median"),
}  # fmt: skip


def shown(t, value):
    if not isinstance(value, t.Tensor):
        return value
    if value.layout is t.strided:
        return str(value.dtype), value.tolist()
    names = {"csr": "crow col", "bsr": "crow col", "csc": "ccol row", "bsc": "ccol row"}.get(str(value.layout)[-3:], "")
    indices = [getattr(value, f"{name}_indices")().tolist() for name in names.split()] or [value.indices().tolist()]
    return (
        str(value.layout),
        tuple(value.shape),
        indices,
        value.values().tolist(),
        value._nnz(),
        value.to_dense().tolist(),
    )


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name):
    found = []
    for t in (torch, pullback):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found.append(shown(t, CASES[name](t)))
            except Exception as error:
                found.append((type(error).__name__, str(error)[:40]))
    assert found[0] == found[1]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_printed_as_torch(layout):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert repr(rows(pullback, layout)) == repr(rows(torch, layout))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weights_only", [True, False])
def test_saved_and_loaded(layout, weights_only):
    file = io.BytesIO()
    pullback.save({"a": rows(pullback, layout)}, file)
    file.seek(0)
    found = pullback.load(file, weights_only=weights_only)["a"]
    assert shown(pullback, found) == shown(pullback, rows(pullback, layout))
    file.seek(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert shown(torch, torch.load(file)["a"]) == shown(pullback, found)


@pytest.mark.parametrize("reduce", ["sum", "mean", "amax", "amin"])
def test_gradients_of_products(reduce):
    found = []
    for t in (torch, pullback):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values, dense = t.tensor([1.0, 2.0, 3.0], requires_grad=True), (matrix(t)[:2] - 1.5).requires_grad_()
            a = t.sparse_csr_tensor(t.tensor(STARTS), t.tensor(OTHERS), values.detach(), (2, 2)).requires_grad_()
            (t.sparse.mm(a, dense, reduce) * t.arange(8.0).reshape(2, 4)).sum().backward()
            found.append((dense.grad.tolist(), a.grad.to_dense().tolist()))
    assert found[0] == found[1]


def test_gradients_reach_values_through_every_layout():
    x = matrix(pullback).requires_grad_()
    for layout in LAYOUTS:
        made = getattr(x, f"to_sparse_{layout}")(*([(2, 2)] if layout[0] == "b" else []))
        gradient = pullback.autograd.grad((made.values() ** 2).sum(), x)[0]
        assert gradient.tolist() == (2 * x).tolist()
