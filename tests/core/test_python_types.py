"""Python's own types stand for dtypes wherever a dtype is asked for: `float` is float64, `int` int64."""

import warnings

import pytest

import pullback

torch = pytest.importorskip("torch")

CALLS = """
x.cumprod(0, dtype=D)
x.cumsum(0, dtype=D)
x.mean(dtype=D)
x.nanmean(dtype=D)
x.nansum(dtype=D)
x.new_empty(2, dtype=D)
x.new_empty_strided((2, 2), (2, 1), dtype=D)
x.new_full((2,), 1, dtype=D)
x.new_ones(2, dtype=D)
x.new_tensor([1], dtype=D)
x.new_zeros(2, dtype=D)
x.norm(dtype=D)
x.norm(2, 0, dtype=D)
x.prod(dtype=D)
x.prod(0, dtype=D)
x.softmax(0, dtype=D)
x.softmax(0, D)
x.log_softmax(0, dtype=D)
x.log_softmax(0, D)
x.sum(dtype=D)
x.sum(0, dtype=D)
x.type(D)
x.to(D)
x.to("cpu", D)
x.to(dtype=D)
x.to("cpu", dtype=D)
x.view(D)
x.view(dtype=D)
x.to_sparse().sum(dtype=D)
T.sparse.sum(x.to_sparse(), dtype=D)
T.sparse.softmax(x.to_sparse(), 0, dtype=D)
T.sparse.log_softmax(x.to_sparse(), 0, dtype=D)
T.sparse_coo_tensor([[0], [1]], [1.0], (2, 2), dtype=D)
T.arange(3, dtype=D)
T.as_tensor([1], dtype=D)
T.asarray([1], dtype=D)
T.bartlett_window(3, dtype=D)
T.blackman_window(3, dtype=D)
T.hamming_window(3, dtype=D)
T.hann_window(3, dtype=D)
T.kaiser_window(3, dtype=D)
T.cumprod(x, 0, dtype=D)
T.cumsum(x, 0, dtype=D)
T.empty(2, dtype=D)
T.empty_like(x, dtype=D)
T.empty_permuted((2, 2), (0, 1), dtype=D)
T.empty_strided((2, 2), (2, 1), dtype=D)
T.eye(2, dtype=D)
T.fft.fftfreq(3, dtype=D)
T.fft.rfftfreq(3, dtype=D)
T.frombuffer(bytearray(16), dtype=D)
T.full((2,), 1, dtype=D)
T.full((2,), 1.5, dtype=D)
T.full_like(x, 1, dtype=D)
T.linalg.matrix_norm(x, dtype=D)
T.linalg.norm(x, dtype=D)
T.linalg.norm(x, 2, dtype=D)
T.linalg.vector_norm(x, dtype=D)
T.linspace(0, 1, 3, dtype=D)
T.logspace(0, 1, 3, dtype=D)
T.log_softmax(x, 0, dtype=D)
T.softmax(x, 0, dtype=D)
T.softmax(x, 0, D)
T.mean(x, dtype=D)
T.mean(x, 0, dtype=D)
T.nanmean(x, dtype=D)
T.nansum(x, dtype=D)
F.log_softmax(x, 0, dtype=D)
F.softmax(x, 0, dtype=D)
F.softmin(x, 0, dtype=D)
T.norm(x, dtype=D)
T.norm(x, 2, 0, dtype=D)
T.normal(0.0, 1.0, (2,), dtype=D)
T.ones(2, dtype=D)
T.ones_like(x, dtype=D)
T.zeros(2, dtype=D)
T.zeros_like(x, dtype=D)
T.prod(x, dtype=D)
T.prod(x, 0, dtype=D)
T.rand(2, dtype=D)
T.rand_like(x, dtype=D)
T.randn(2, dtype=D)
T.randn_like(x, dtype=D)
T.randint(3, (2,), dtype=D)
T.randint_like(x, 3, dtype=D)
T.randperm(3, dtype=D)
T.range(0, 2, dtype=D)
T.scalar_tensor(1, dtype=D)
T.special.log_softmax(x, 0, dtype=D)
T.special.softmax(x, 0, dtype=D)
T.sum(x, dtype=D)
T.sum(x, 0, dtype=D)
T.tensor([1], dtype=D)
T.tril_indices(3, 3, dtype=D)
T.triu_indices(3, 3, dtype=D)
T.promote_types(D, T.float32)
T.promote_types(T.int8, D)
T.can_cast(D, T.float32)
T.can_cast(T.float32, D)
T.result_type(x, x.to(D))
T.finfo(D).bits
T.iinfo(D).bits
T.nn.Linear(2, 2, dtype=D).weight
T.nn.Linear(2, 2).to(D).weight
T.nn.Linear(2, 2).to(dtype=D).weight
T.nn.Linear(2, 2).type(D).weight
T.nn.LayerNorm(2, dtype=D).weight
T.nn.Embedding(2, 2, dtype=D).weight
T.nn.Conv1d(2, 2, 1, dtype=D).weight
T.nn.BatchNorm1d(2, dtype=D).running_mean
T.nn.GRU(2, 2, dtype=D).weight_ih_l0
T.nn.MultiheadAttention(2, 1, dtype=D).in_proj_weight
T.nn.LazyLinear(2, dtype=D).weight.dtype
T.sparse_csr_tensor([0, 1, 2], [0, 1], [1.0, 2.0], dtype=D)
x.index_select(0, T.tensor([0], dtype=D))
x.to(x.device, D, False, True)
T.masked.sum(x, dtype=D)
T.masked.softmax(x, 0, dtype=D)
T.masked.norm(x, 2, dtype=D)
T.masked.prod(x, dtype=D)
T.masked.amax(x, 0, dtype=D)
T.masked.cumsum(x, 0, dtype=D)
T.empty(2, dtype=T.float32).fill_(1).double().type(D)
"""


def answer(library, call, kind):
    x = library.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=library.float64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = eval(call, {"T": library, "F": library.nn.functional, "D": kind, "x": x})
    except (RuntimeError, TypeError, ValueError):  # not AttributeError: that would be an accident
        return None
    return str(getattr(found, "dtype", found))


@pytest.mark.parametrize("call", CALLS.strip().splitlines())
def test_types_of_python_are_dtypes(call):
    for kind in (float, int, bool, complex):
        want = answer(torch, call, kind)
        if want is not None:  # what torch refuses may be allowed here
            assert answer(pullback, call, kind) == want, kind
        else:
            answer(pullback, call, kind)


def test_a_tensor_seen_as_another_type():
    for library in (pullback, torch):
        x = library.ones(2, dtype=library.float64)
        assert x.view(int).tolist() == [4607182418800017408] * 2 and x.view(dtype=float).tolist() == [1.0, 1.0]
        with pytest.raises(TypeError):
            x.view(str)


def test_frequencies_are_not_whole_numbers():
    for library in (pullback, torch):
        for name in ("fftfreq", "rfftfreq"):
            with pytest.raises(RuntimeError, match=f"{name} requires a floating point or complex dtype"):
                getattr(library.fft, name)(3, dtype=library.int64)


def test_dtypes_are_not_mistaken_for_numpys():
    """Programs ask a dtype for `kind`, `name` or `numpy` to know NumPy's dtypes (and TensorFlow's)."""
    ours = {name for name in dir(pullback.float32) if not name.startswith("_")}
    theirs = {name for name in dir(torch.float32) if not name.startswith("_")}
    assert theirs <= ours and ours - theirs == {"short_name", "type_name"}
    for name in ("kind", "name", "numpy", "char", "str", "type", "category"):
        assert not hasattr(pullback.float32, name) and not hasattr(torch.float32, name)


def test_rules_ask_for_the_kind_of_what_they_run_on():
    from pullback.core.basics.dtypes import kind_of

    for kind in ("float32", "float64", "int64", "bool", "complex64", "bfloat16"):
        x = pullback.ones(2).to(getattr(pullback, kind))
        assert kind_of(x) == kind_of(x._array) == x._array.dtype.kind
