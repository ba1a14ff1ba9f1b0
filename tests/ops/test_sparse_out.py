"""`out=` of functions of sparse tensors: written into the same object wherever torch writes, refused where layouts differ."""

import warnings

import pytest

import pullback

torch = pytest.importorskip("torch")

LAYOUTS = {"dense": lambda x: x, "coo": lambda x: x.to_sparse(), "csr": lambda x: x.to_sparse_csr()}
OUTS = {
    "dense": lambda t: t.full((2, 2), 7.0),
    "empty": lambda t: t.empty(0),
    "of another shape": lambda t: t.full((3,), 7.0),
    "double": lambda t: t.full((2, 2), 7.0, dtype=t.float64),
    "whole": lambda t: t.full((2, 2), 7),
    "coo": lambda t: t.full((2, 2), 7.0).to_sparse(),
    "csr": lambda t: t.full((2, 2), 7.0).to_sparse_csr(),
    "with a gradient": lambda t: t.full((2, 2), 7.0, requires_grad=True),
}


def of_two(name):
    return lambda t, a, b, o: getattr(t, name)(a, b, out=o)


def of_one(name):
    return lambda t, a, b, o: getattr(t, name)(a, out=o)


PAIRS = {name: of_two(name) for name in "matmul mm add sub mul".split()}
ALONE = {name: of_one(name) for name in "sin sqrt neg abs tanh log1p sign floor signbit expm1 asin erf".split()}
CALLS = {
    **PAIRS,
    **ALONE,
    "mv": lambda t, a, b, o: t.mv(a, b.to_dense()[:, 0] if b.layout is not t.strided else b[:, 0], out=o),
    "addmm": lambda t, a, b, o: t.addmm(t.ones(2, 2), a, b, out=o),
    "times a number": lambda t, a, b, o: t.mul(a, 2.0, out=o),
    "divided by a number": lambda t, a, b, o: t.div(a, 2.0, out=o),
    "powers": lambda t, a, b, o: t.pow(a, 2, out=o),
    "sums": lambda t, a, b, o: t.sum(a, 0, out=o),
}
CASES = [
    (name, first, second, out)
    for name in CALLS
    for first in LAYOUTS
    for second in LAYOUTS
    for out in OUTS
    if (first != "dense" or second != "dense") and (name in (*PAIRS, "addmm") or second == "dense")
]


def outcome(t, name, first, second, kind):
    a = LAYOUTS[first](t.tensor([[2.0, 0.0], [0.0, 3.0]]))
    b = LAYOUTS[second](t.tensor([[1.0, 2.0], [3.0, 4.0]]))
    out = OUTS[kind](t)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = CALLS[name](t, a, b, out)
    assert result is out
    values = out if out.layout is t.strided else out.to_dense()
    return str(out.layout), str(out.dtype), values.tolist()


@pytest.mark.parametrize("case", CASES, ids=" ".join)
def test_as_torch(case):
    try:
        want = outcome(torch, *case)
    except Exception:
        return  # torch has few of these combinations; ours are in the tests below
    got = outcome(pullback, *case)
    assert got[:2] == want[:2]
    assert torch.tensor(got[2]).allclose(torch.tensor(want[2]), equal_nan=True)


@pytest.mark.parametrize("name", CALLS)
def test_a_gradient_is_refused(name):
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        outcome(pullback, name, "csr", "dense", "with a gradient")


@pytest.mark.parametrize("name", ["sin", "times a number"])
@pytest.mark.parametrize("kind", ["dense", "empty"])
def test_a_sparse_result_is_not_written_into_a_dense_tensor(name, kind):
    with pytest.raises(RuntimeError, match="expected sparse result tensor, got tensor with layout torch.strided"):
        outcome(pullback, name, "coo", "dense", kind)


@pytest.mark.parametrize("name", ["mm", "matmul", "addmm"])
@pytest.mark.parametrize("kind", ["coo", "csr"])
def test_a_dense_result_is_not_written_into_a_sparse_tensor(name, kind):
    with pytest.raises(RuntimeError, match="expected strided result tensor, got tensor with layout torch.sparse"):
        outcome(pullback, name, "coo", "dense", kind)


def test_the_dtype_of_products_is_theirs():
    for kind in ("double", "whole"):
        with pytest.raises(RuntimeError, match="Expected out tensor to have dtype float"):
            outcome(pullback, "mm", "csr", "dense", kind)


def test_another_shape_is_resized_with_a_warning():
    a = pullback.eye(2).to_sparse_csr()
    out = pullback.ones(3)
    with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
        pullback.mm(a, pullback.ones(2, 2), out=out)
    assert out.tolist() == [[1, 1], [1, 1]]
