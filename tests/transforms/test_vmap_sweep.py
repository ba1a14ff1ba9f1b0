"""`vmap(f)` equals a loop for every function in the registry, and for those of linalg, special, fft and nn.functional.

Arguments are found by trying: whatever a function accepts of a list of usual ones is compared, with all its tensors
batched and with one at a time. Functions that accept none have a row of their own, or a reason why not.
"""

from __future__ import annotations

import types
import warnings

import numpy as np
import pytest

import pullback as P
from pullback.functional.names import FUNCTIONS as LATE
from pullback.functional.registry import FUNCTIONS as EARLY
from pullback.utils._pytree import tree_flatten, tree_unflatten

COUNT = 3  # examples
ENOUGH = 3  # kinds of arguments to compare
RNG = np.random.default_rng(0)


def floats(*shape):
    return P.tensor(RNG.random((COUNT, *shape)) * 0.6 + 0.2)


def integers(*shape, below=3):
    return P.tensor(RNG.integers(0, below, (COUNT, *shape)))


X, Y, Z, V, W = floats(3, 3), floats(3, 3), floats(3, 3), floats(3), floats(3)
DEFINITE = X @ X.mT + 3 * P.eye(3, dtype=X.dtype)
I, MASK = integers(3, 3), P.tensor(RNG.random((COUNT, 3, 3)) > 0.5)
BLOCK, IMAGE, VIDEO = floats(2, 3, 4), floats(2, 4, 5, 5), floats(1, 2, 4, 4, 4)
C = P.complex(X, Y)
USUAL = [
    (X,), (X, Y), (X, Y, Z), (DEFINITE,), (DEFINITE, X), (V,), (V, W), (X, 0), (X, 1.5), (X, (0,)), (X, 0, 1), (X, (1, 0)),
    (X, 0, I), (X, 0, I, Y), (X, I), (X, MASK), (X, MASK, Y), (X, MASK, 0.5), (I,), (I, I), (MASK,), (MASK, X, Y),
    ([X, Y],), (X, 2), (2.5, X), (0.5, X, Y), (X, V), (V, X), (V, X, W), (X, V, W), (BLOCK, BLOCK), (BLOCK,), (BLOCK, (2,)),
    (BLOCK, floats(4, 5)), (BLOCK, 2, 1), (IMAGE, (2, 2)), (IMAGE, 2), (IMAGE, floats(3, 4, 2, 2)),
    (IMAGE, floats(4, 3, 2, 2)), (BLOCK, floats(3, 3, 2)), (BLOCK, floats(3, 2, 2)), (I, floats(5, 4)), (X, integers(3)),
    (C,), (C, C.mT), ("ij,jk->ik", X, Y), (X, Y, Z, 0.5), (X, 3), (X, [1, 2], 0), (X, (9,)), (X, -1, (3, 1)), (X, 0, 0, 2),
    (X, (1, 1)), (IMAGE, (1, 1, 1, 1)), (floats(2, 6, 4), 2, (1,)), (X, 0, integers(2)), (X, 0, integers(2), floats(2, 3)),
    (X, 0, integers(2), 0.5), (X, (integers(2),), floats(2, 3)), (VIDEO,), (VIDEO, 2), (VIDEO, floats(3, 2, 2, 2, 2)),
    (VIDEO, floats(2, 3, 2, 2, 2)), (X, (3,)), (BLOCK, floats(2, 4, 2)), (BLOCK, floats(2, 3, 2), floats(2, 2, 4)),
    (X, floats(2, 3, 4), floats(2, 4, 3)), (1, X), (2, X), (X, 3.0, 0, 1.0), (X, floats(3), 0, 1), (BLOCK.mT, (4, 3)),
    (floats(2, 2), 2), (DEFINITE, P.tensor([[2, 3, 3]] * COUNT).int(), X), (X, Y, MASK[:, 0].double().sign() * 2 - 1),
]  # fmt: skip
ROWS = {
    "fake_quantize_per_tensor_affine": (X, 0.1, 0, 0, 255),
    "fake_quantize_per_channel_affine": (X, V.abs().float(), integers(3).int(), 1, 0, 255),
    "as_strided_scatter": (X, V, (3,), (1,)),
    "select_scatter": (X, V, 0, 1),
    "scatter_reduce": (X, 0, I, Y, "amax"),
    "index_reduce": (X, 0, P.tensor([[2, 0, 1]] * COUNT), Y, "prod"),
    "put": (X, integers(2, below=9), floats(2)),
    "poisson_nll_loss": (X, Y, True, False, 1e-8, 1),
    "nn.functional.poisson_nll_loss": (X, Y),
    "layer_norm": (X, (3,), V, W),
    "nn.functional.layer_norm": (X, (3,), V, W),
    "native_layer_norm": (X, (3,), V, W, 1e-5),
    "native_group_norm": (BLOCK, V, W, 2, 3, 4, 3, 1e-5),
    "native_batch_norm": (BLOCK, V, W, None, None, True, 0.1, 1e-5),
    "embedding_bag": (X, integers(4), P.tensor([[0, 2]] * COUNT)),
    "rms_norm": (X, (3,), V),
    "nn.functional.rms_norm": (X, (3,), V),
    "instance_norm": (IMAGE, None, None, None, None, True, 0.1, 1e-5, False),
    "nn.functional.bilinear": (X, Y, floats(2, 3, 3), floats(2)),
    "bilinear": (X, Y, floats(2, 3, 3), floats(2)),
    "renorm": (X, 2, 0, 1.0),
    "polygamma": (1, X),
    "grid_sampler": (IMAGE, floats(2, 3, 3, 2), 0, 0, False),
    "grid_sampler_2d": (IMAGE, floats(2, 3, 3, 2), 0, 0, False),
    "grid_sampler_3d": (VIDEO, floats(1, 2, 2, 2, 3), 0, 0, False),
    "nn.functional.grid_sample": (IMAGE, floats(2, 3, 3, 2)),
    "nn.functional.affine_grid": (floats(2, 2, 3), (2, 3, 4, 4)),
    "affine_grid_generator": (floats(2, 2, 3), (2, 3, 4, 4), False),
    "pixel_unshuffle": (floats(1, 4, 4), 2),
    "nn.functional.pixel_unshuffle": (floats(1, 4, 4), 2),
    "gru_cell": (X, Y, floats(9, 3), floats(9, 3)),
    "lstm_cell": (X, (Y, Z), floats(12, 3), floats(12, 3)),
    "rnn_tanh_cell": (X, Y, floats(3, 3), floats(3, 3)),
    "rnn_relu_cell": (X, Y, floats(3, 3), floats(3, 3)),
    "conv_tbc": (floats(5, 2, 3), floats(2, 3, 4), floats(4)),
    "nn.functional.conv_tbc": (floats(5, 2, 3), floats(2, 3, 4), floats(4)),
    "convolution": (BLOCK, floats(2, 3, 2), None, (1,), (0,), (1,), False, (0,), 1),
    "linalg.solve_triangular": None,  # its argument is a keyword: see below
    "lu_solve": None,
    "linalg.lu_solve": None,
    "linalg.ldl_solve": None,
    "linalg.cholesky": (DEFINITE,),
    "linalg.tensorinv": (floats(2, 3, 6), 2),
    "linalg.tensorsolve": (floats(6, 2, 3), floats(6)),
    "view_as_complex": (floats(3, 2),),
    "view_as_complex_copy": (floats(3, 2),),
    "expand_copy": (V, (2, 3)),
    "broadcast_to": (V, (2, 3)),
    "stft": (floats(16), 4, None, None, None, True, "reflect", False, True, True),
    "unravel_index": (integers(4, below=6), (2, 3)),
    "nn.functional.cosine_embedding_loss": (X, Y, P.tensor([[1, -1, 1]] * COUNT)),
    "cosine_embedding_loss": (X, Y, P.tensor([[1, -1, 1]] * COUNT)),
    "nn.functional.max_unpool1d": (BLOCK[..., ::2], P.tensor([[[[0, 2]] * 3] * 2] * COUNT), 2),
    "nn.functional.max_unpool2d": (floats(1, 2, 1, 1), P.zeros(COUNT, 1, 2, 1, 1, dtype=P.int64), 2),
    "nn.functional.lp_pool3d": (VIDEO, 2, 2),
    "nan_to_num": (X, 0.5),
    "split_with_sizes": (X, [1, 2]),
    "split_with_sizes_copy": (X, [1, 2]),
    "unsafe_split_with_sizes": (X, [1, 2]),
    "nn.functional.binary_cross_entropy": (X, Y),
    "nn.functional.instance_norm": (IMAGE,),
    "addbmm": (X, floats(2, 3, 4), floats(2, 4, 3)),
    "baddbmm": (floats(2, 3, 3), floats(2, 3, 4), floats(2, 4, 3)),
    "bmm": (BLOCK, floats(2, 4, 5)),
}
ROWS |= {
    f"fft.{name}2": (X,) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
}  # a list is no matrix to torch
KEYWORDS = {
    "linalg.solve_triangular": lambda a, b: P.linalg.solve_triangular(a.tril(), b, upper=False),
    "lu_solve": lambda a, b: P.lu_solve(b, *P.linalg.lu_factor(a)),
    "linalg.lu_solve": lambda a, b: P.linalg.lu_solve(*P.linalg.lu_factor(a), b),
    "linalg.ldl_solve": lambda a, b: P.linalg.ldl_solve(*P.linalg.ldl_factor(a), b),
}
# No tensors in or out, or results whose size or value is not a function of the arguments alone.
RANDOM = """_sample_dirichlet _standard_gamma bernoulli binomial multinomial normal poisson rand randint randn randperm rand_like
randn_like randint_like dropout alpha_dropout feature_dropout feature_alpha_dropout native_dropout rrelu rrelu_ dropout_
alpha_dropout_ feature_dropout_ feature_alpha_dropout_ empty empty_like pca_lowrank svd_lowrank
nn.functional.gumbel_softmax nn.functional.dropout
nn.functional.dropout1d nn.functional.dropout2d nn.functional.dropout3d nn.functional.alpha_dropout nn.functional.rrelu
nn.functional.rrelu_ nn.functional.feature_alpha_dropout nn.functional.fractional_max_pool2d
nn.functional.fractional_max_pool2d_with_indices nn.functional.fractional_max_pool3d
nn.functional.fractional_max_pool3d_with_indices""".split()
SIZED_BY_VALUES = (
    "argwhere bincount masked_select nonzero nonzero_static unique unique_consecutive repeat_interleave".split()
)
NO_TENSORS = """Generator allclose arange bartlett_window blackman_window broadcast_shapes compiled_with_cxx11_abi
empty_permuted empty_strided equal eye frombuffer from_file full from_numpy get_device hamming_window hann_window init_num_threads
is_complex is_conj is_distributed is_floating_point is_inference is_neg is_nonzero is_same_size is_signed is_tensor
is_storage kaiser_window linspace logspace manual_seed seed initial_seed numel ones zeros range result_type can_cast
promote_types tensor as_tensor asarray scalar_tensor tril_indices triu_indices cartesian_prod vander
get_rng_state set_rng_state typename fft.fftfreq fft.rfftfreq nn.functional.assert_int_or_pair""".split()
ELSEWHERE = {  # compared in tests of their own
    "_chunk_cat", "_unsafe_masked_index", "_unsafe_masked_index_put_accumulate", "batch_norm", "ctc_loss", "detach_",
    "embedding_renorm_", "gru", "lstm", "rnn_relu", "rnn_tanh", "istft", "lu_unpack", "segment_reduce",
    "nn.functional.ctc_loss", "nn.functional.grouped_mm", "nn.functional.max_unpool3d", "nn.functional.scaled_grouped_mm",
    "nn.functional.multi_head_attention_forward", "where", "nn.functional.one_hot", "index_put_",
}  # fmt: skip


def _functions():
    found = {name: getattr(P, name, None) for name in sorted({*EARLY, *LATE})}
    for path in ("linalg", "special", "fft", "nn.functional"):
        module = P
        for part in path.split("."):
            module = getattr(module, part)
        for name in module.__all__ if hasattr(module, "__all__") else dir(module):
            function = getattr(module, name)
            if isinstance(function, types.FunctionType) and not name.startswith("_"):
                found[f"{path}.{name}"] = function
    left_out = {*RANDOM, *SIZED_BY_VALUES, *NO_TENSORS, *ELSEWHERE}
    settings = ("set_", "use_", "get_", "are_", "is_", "_")
    return {
        name: function
        for name, function in found.items()
        if callable(function) and name not in left_out and not name.split(".")[-1].startswith(settings)
    }


ALL = _functions()


def _example(args, number, which):
    flat, spec = tree_flatten(args)
    tensors = [position for position, value in enumerate(flat) if isinstance(value, P.Tensor)]
    for position in tensors:
        flat[position] = flat[position][number if position in which else 0].clone()
    return tree_unflatten(flat, spec)


def _leaves(result):
    return [leaf for leaf in tree_flatten(result)[0] if isinstance(leaf, P.Tensor)]


def _compare(function, args):
    """Whether there was something to compare; it is compared."""
    flat, spec = tree_flatten(args)
    tensors = [position for position, value in enumerate(flat) if isinstance(value, P.Tensor)]
    try:
        if not _leaves(function(*_example(args, 0, tensors))):
            return False
    except Exception:
        return False  # not what this function takes

    def of_tensors(*values):
        whole = list(flat)
        for position, value in zip(tensors, values, strict=True):
            whole[position] = value
        return function(*tree_unflatten(whole, spec))

    for which in [tensors] + [[position] for position in tensors if len(tensors) > 1]:
        if function.__name__.endswith("_") and tensors[0] not in which:
            continue  # it would write a batch into one tensor
        dims = tuple(0 if position in which else None for position in tensors)
        given = [flat[p].clone() if p in which else flat[p][0].clone() for p in tensors]
        found = _leaves(P.vmap(of_tensors, in_dims=dims)(*given))
        loop = [_leaves(of_tensors(*[flat[p][n if p in which else 0].clone() for p in tensors])) for n in range(COUNT)]
        for got, want in zip(found, zip(*loop, strict=True), strict=True):
            assert got.dtype == want[0].dtype
            expected = np.stack([part.resolve_conj().numpy() for part in want])
            np.testing.assert_allclose(got.resolve_conj().numpy(), expected, rtol=1e-9, atol=1e-10)
    return True


def _compare_gradients(function, args):
    """Whether there were gradients to compare; they are compared: of the first tensor, of one number made of the results."""
    flat, spec = tree_flatten(args)
    tensors = [position for position, value in enumerate(flat) if isinstance(value, P.Tensor)]
    if not tensors or not flat[tensors[0]].is_floating_point():
        return False

    def loss(*values):
        whole = list(flat)
        for position, value in zip(tensors, values, strict=True):
            whole[position] = value.clone()
        smooth = [leaf for leaf in _leaves(function(*tree_unflatten(whole, spec))) if leaf.is_floating_point()]
        return sum(((leaf * leaf).sum() for leaf in smooth), start=0 * values[0].sum())

    gradient = P.func.grad(loss)
    try:
        loop = [gradient(*[flat[p][n] for p in tensors]) for n in range(COUNT)]
    except Exception:
        return False  # not what this function takes, or it has no gradient
    found = P.vmap(gradient)(*[flat[p] for p in tensors])
    np.testing.assert_allclose(found.numpy(), np.stack([part.numpy() for part in loop]), rtol=1e-7, atol=1e-9)
    return True


def _cases(name):
    if name in KEYWORDS:
        return KEYWORDS[name], [(DEFINITE, X)]
    return ALL[name], [ROWS[name]] if name in ROWS else USUAL


def _sweep(name, compare):
    function, candidates = _cases(name)
    compared = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for args in candidates:
            compared += compare(function, args)
            if compared == ENOUGH:
                break
    return compared


@pytest.mark.parametrize("name", ALL)
def test_equals_a_loop(name):
    assert _sweep(name, _compare), f"no arguments for {name}: give it a row in ROWS"


@pytest.mark.parametrize("name", ALL)
def test_gradients_equal_a_loop(name):
    _sweep(name, _compare_gradients)
