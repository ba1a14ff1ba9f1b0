"""Sparse tensors (COO, and CSR as a view of it) compute what torch's do, and so do their gradients."""

import warnings

import pytest

import pullback

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.filterwarnings("ignore")

PLACES = [[0, 1, 1, 0], [2, 0, 2, 2]]  # one place twice
VALUES = [3.0, 4.0, 5.0, -1.0]


def matrix(t, requires_grad=False):
    values = t.tensor(VALUES, requires_grad=requires_grad)
    return t.sparse_coo_tensor(PLACES, values, (2, 3)), values


def plain(value):
    """What can be compared: parts of sparse tensors, elements of dense ones."""
    if isinstance(value, (pullback.Tensor, torch.Tensor)):
        if value.is_sparse:
            ordered = value.coalesce()
            return tuple(value.shape), ordered.indices().tolist(), ordered.values().tolist()
        return value.tolist()
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def dense(t):
    return t.arange(6.0).reshape(3, 2)


WRITES = {
    "add": lambda t, x: x.add_(x * 3, alpha=2),
    "iadd": lambda t, x: x.__iadd__(x.clone()),
    "sub": lambda t, x: x.sub_(x * 3),
    "imul": lambda t, x: x.__imul__(2),
    "mul": lambda t, x: x.mul_(x.clone()),
    "abs": lambda t, x: x.neg_().abs_(),
    "sqrt": lambda t, x: x.sqrt_(),
    "transposed": lambda t, x: x.t_(),
    "copied": lambda t, x: x.copy_(x * 3),
    "out of add": lambda t, x: t.add(x * 2, x, out=x),
    "out of mul": lambda t, x: t.mul(x, x, out=x),
    "resized": lambda t, x: x.zero_().resize_as_(t.ones(4, 4).to_sparse()),
    "data": lambda t, x: setattr(x, "data", x * 5) or x,
}


def written(t, a, name):
    """A sparse tensor that was written to, and whether the same one came back."""
    x = a.coalesce()
    result = WRITES[name](t, x)
    return x, result is x


CASES = {
    "facts": lambda t, a: (tuple(a.shape), str(a.dtype), str(a.layout), a.is_sparse, a.dim(), a.numel(), len(a)),
    "parts": lambda t, a: (a.sparse_dim(), a.dense_dim(), a._nnz(), a._indices(), a._values(), a.is_coalesced()),
    "ordered": lambda t, a: (a.coalesce(), a.coalesce()._nnz(), a.coalesce().is_coalesced()),
    "dense": lambda t, a: a.to_dense(),
    "product": lambda t, a: (a @ dense(t), t.mm(a, dense(t)), t.sparse.mm(a, dense(t)), t.spmm(a, dense(t))),
    "printed": lambda t, a: [
        repr(x) for x in (a, a.double(), a * 2, t.eye(40).to_sparse(), t.sparse_coo_tensor((2, 3)))
    ],
    "printed by rows": lambda t, a: [repr(x.to_sparse_csr()) for x in (t.eye(2), t.eye(40), t.eye(3, dtype=t.float64))],
    "product of dense matrices": lambda t, a: (t.spmm(t.eye(3), dense(t)), t.sparse.mm(t.eye(3), dense(t))),
    "product with a vector": lambda t, a: (a @ t.ones(3), t.mv(a, t.ones(3))),
    "product from the left": lambda t, a: t.ones(4, 2) @ a,
    "product of two": lambda t, a: t.mm(a, a.t()),
    "added product": lambda t, a: t.sparse.addmm(t.ones(2, 2), a, dense(t), beta=2, alpha=3),
    "added product by another name": lambda t, a: t.addmm(t.ones(2, 2), a, dense(t)),
    "turned": lambda t, a: (a.t(), a.transpose(0, 1), a.transpose(-2, -1)),
    "turned attributes": lambda t, a: (a.T, a.mT, a.H, a.mH, t.stack([a, a]).mT, t.mm(a.mT, t.ones(2, 2))),
    "another": lambda t, a: [
        (x, str(x.dtype))
        for x in (
            *(b.new(b._indices(), b._values() * 2, b.size()) for b in (a, a.double())),
            *(a.new(), a.new(2, 3), a.new(a.size()), a.new_zeros(2, 2), a.new_zeros([3, 1]), t.zeros_like(a)),
            t.zeros_like(a, dtype=t.float64),
        )
    ],
    "written to": lambda t, a: [written(t, a, name) for name in WRITES],
    "parts of numbers": lambda t, a: (a.data, a.real, (a * 2j).imag),
    "scaled": lambda t, a: (a * 2, 2 * a, a / 2, -a, a.mul(3)),
    "added": lambda t, a: (a + a, a - a * 3),
    "masked": lambda t, a: a.coalesce() * t.arange(6.0).reshape(2, 3),
    "sums": lambda t, a: (a.sum(), t.sparse.sum(a), t.sparse.sum(a, 0), t.sparse.sum(a, 1)),
    "softmax": lambda t, a: (t.sparse.softmax(a, 1), t.sparse.log_softmax(a, 1)),
    "of functions": lambda t, a: (a.coalesce().abs(), a.coalesce().sqrt() if t is None else a.coalesce().tanh()),
    "converted": lambda t, a: (a.double().values if t is None else str(a.double().dtype), a.clone(), a.detach()),
    "from dense": lambda t, a: (t.eye(3).to_sparse(), dense(t).to_sparse(1), t.zeros(2, 2).to_sparse()),
    "by rows": lambda t, a: (
        a.to_sparse_csr().crow_indices(),
        a.to_sparse_csr().col_indices(),
        str(a.to_sparse_csr().layout),
    ),
    "a batch by rows": lambda t, a: [
        (x.to_dense(), x.values(), x.crow_indices(), x.col_indices(), repr(x))
        for x in [t.sparse_csr_tensor([[0, 1, 3], [0, 2, 3]], [[1, 0, 2], [0, 1, 1]], [[1.0, 2, 3], [4, 5, 6]])]
    ],
    "from rows": lambda t, a: t.sparse_csr_tensor([0, 1, 2], [1, 0], [1.0, 2.0]).to_dense(),
    "out of a sum with a product": lambda t, a: [
        (t.addmm(t.ones(2, 2), a, dense(t), out=out) is out, out) for out in [t.zeros(2, 2)]
    ],
    "of old": lambda t, a: t.sparse.FloatTensor(t.tensor([[0, 1], [1, 0]]), t.tensor([1.0, 2.0]), (2, 2)).to_dense(),
    "empty": lambda t, a: (t.sparse_coo_tensor((2, 3)).to_dense(), t.sparse_coo_tensor((2, 3))._nnz()),
    "shape not given": lambda t, a: tuple(t.sparse_coo_tensor(PLACES, VALUES).shape),
    "dense dims": lambda t, a: t.sparse_coo_tensor([[0, 0, 2]], t.ones(3, 2)),
    "text": lambda t, a: (repr(a), str(a), f"{a}"),
    "not ordered": lambda t, a: a.indices(),
    "of a dense tensor": lambda t, a: t.ones(2).indices(),
    "outside": lambda t, a: t.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,), check_invariants=True),
}


def outcome(case, t):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return plain(case(t, matrix(t)[0]))
        except Exception as error:
            return type(error).__name__, str(error).split(".")[0][:70]


def flat(value):
    if isinstance(value, (list, tuple)):
        return [number for item in value for number in flat(item)]
    return [value]


@pytest.mark.parametrize("name", CASES)
def test_as_torch(name):
    expected, result = outcome(CASES[name], torch), outcome(CASES[name], pullback)
    assert len(flat(result)) == len(flat(expected))
    for ours, theirs in zip(flat(result), flat(expected), strict=True):
        assert ours == (pytest.approx(theirs) if isinstance(theirs, float) else theirs)


LOSSES = {
    "product": lambda t, a, x: (t.sparse.mm(a, x) ** 2).sum(),
    "operator": lambda t, a, x: ((a * 2) @ x).sin().sum(),
    "turned": lambda t, a, x: (a.t() @ (a @ x)).sum(),
    "ordered": lambda t, a, x: (a.coalesce().values() ** 2).sum() + x.sum(),
    "sum": lambda t, a, x: t.sparse.sum(a, 0).to_dense().pow(2).sum() * x.sum(),
    "dense": lambda t, a, x: (a.to_dense() @ x).tanh().sum(),
    "mask": lambda t, a, x: (x.t().sparse_mask(a.detach()).to_dense() * x.t()).sum() + t.sparse.sum(a),
}


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_as_torch(name):
    gradients = []
    for t in (torch, pullback):
        a, values = matrix(t, requires_grad=True)
        x = dense(t).requires_grad_()
        LOSSES[name](t, a, x).backward()
        gradients.append(values.grad.tolist() + flat(x.grad.tolist()))
    assert gradients[1] == pytest.approx(gradients[0])


def test_what_has_no_sparse_form_is_computed_on_the_dense_tensor():
    a, _ = matrix(pullback)
    assert pullback.equal(a.cos(), a.to_dense().cos())
    assert pullback.cat([a, a]).tolist() == pullback.cat([a.to_dense(), a.to_dense()]).tolist()
    assert a[1].tolist() == a.to_dense()[1].tolist()


def test_the_data_of_a_dense_tensor_stays_dense():
    for t in (torch, pullback):
        with pytest.raises(RuntimeError, match="incompatible tensor type"):
            t.zeros(2, 3).data = matrix(t)[0]


SHAPES = {
    "permute": lambda t, x, y: x.permute(1, 0), "unsqueeze": lambda t, x, y: x.unsqueeze(-1),
    "cat": lambda t, x, y: t.cat([x, y]), "cat columns": lambda t, x, y: t.cat((x, y, x), -1),
    "cat transposed": lambda t, x, y: t.cat([x, y]).transpose(0, 1), "stack": lambda t, x, y: t.stack([x, y], 1),
    "rows": lambda t, x, y: x.index_select(0, t.tensor([2, 0, 2])),
    "columns": lambda t, x, y: t.index_select(y, 1, t.tensor([3, 1, 1, 0])),
    "none": lambda t, x, y: x.index_select(0, t.tensor([], dtype=t.long)),
    "narrow_copy": lambda t, x, y: y.narrow_copy(1, 1, 2), "item": lambda t, x, y: x[-1],
    "select": lambda t, x, y: y.select(1, 1), "item of item": lambda t, x, y: x[0][1],
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_changed_sparsely(name):

    def results(t):
        twice = t.sparse_coo_tensor(t.tensor([[0, 0, 2], [1, 1, 3]]), t.tensor([1.0, 2.0, 4.0]), (3, 4))
        other = t.tensor([[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 5.0, 0.0]]).to_sparse()
        result = SHAPES[name](t, twice, other)
        return str(result.layout), tuple(result.shape), (result.to_dense() if result.is_sparse else result).tolist()

    assert results(pullback) == results(torch)


def test_chosen_entries_get_gradients():
    values = pullback.tensor([1.0, 2.0, 4.0], requires_grad=True)
    x = pullback.sparse_coo_tensor(pullback.tensor([[0, 0, 2], [1, 1, 3]]), values, (3, 4))
    chosen = pullback.cat([x, x * 2]).index_select(1, pullback.tensor([1, 1, 3]))
    chosen.to_dense().square().sum().backward()
    assert values.grad.tolist() == [60.0, 60.0, 40.0]
