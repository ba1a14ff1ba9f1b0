"""Functions with torch's name refuse an array where torch wants a tensor, and say how to make one; operators do not."""

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# Where a function is, its arguments (X is a matrix), and the names of functions called that way.
CALLS = """
torch | 1, X | polygamma
torch | 2.5, X | isin remainder
torch | X |
    abs absolute acos acosh adjoint alias_copy all amax amin aminmax angle any arccos arccosh arcsin arcsinh arctan
    arctanh argmax argmin argsort argwhere asin asinh atan atanh ceil celu cholesky cholesky_inverse clone conj
    conj_physical corrcoef cos cosh count_nonzero cov cumulative_trapezoid deg2rad det detach detach_copy diag
    diag_embed diagflat diagonal diagonal_copy diff digamma empty_like erf erfc erfinv exp exp2 expm1 fix flatten
    fliplr flipud floor frac frexp geqrf get_device gradient hash_tensor histc histogram i0 inverse is_complex
    is_conj is_floating_point is_inference is_neg is_signed isfinite isinf isnan isneginf isposinf isreal lgamma log
    log10 log1p log2 logdet logical_not logit matrix_exp max mode msort nan_to_num nanmean nansum neg negative
    nonzero norm_except_dim numel ones_like pinverse poisson positive qr rad2deg ravel real reciprocal relu
    resolve_conj resolve_neg rot90 round rrelu rsqrt selu sgn sigmoid sign signbit sin sinc sinh slice_copy slogdet
    sort sqrt square std std_mean svd t t_copy tan tanh trace trapezoid trapz tril triu trunc unbind unbind_copy var
    var_mean view_as_complex view_as_complex_copy where zeros_like
torch | X, 1 |
    chunk cummax cummin cumprod cumsum group_norm kthvalue log_softmax logcumsumexp matrix_power median multinomial
    mvlgamma nanmedian prod repeat_interleave softmax split_copy topk unsafe_chunk unsafe_split unsqueeze
    unsqueeze_copy
torch | X, 1, 1 | moveaxis movedim select select_copy swapaxes swapdims transpose transpose_copy
torch | X, 1, 1, 1 | narrow_copy unfold_copy
torch | X, 2.5 | copysign div divide float_power floor_divide full_like multiply pow rsub subtract true_divide xlogy
torch | X, 2.5, 1, 2.5 | renorm
torch | X, 2.5, 2.5 | threshold
torch | X, X |
    add allclose arctan2 atan2 binary_cross_entropy_with_logits binomial cholesky_solve clamp_max clamp_min complex
    dist eq equal fmax fmin fmod ge greater greater_equal gt heaviside hinge_embedding_loss hypot igamma igammac
    inner is_same_size isclose kl_div kron ldexp le less less_equal logaddexp logaddexp2 logical_and logical_or
    logical_xor lt matmul maximum min minimum mul ne nextafter not_equal polar slice_scatter sub triangular_solve
torch | X, X, X | addcdiv addcmul lerp margin_ranking_loss triplet_margin_loss
torch | X, X, X, X | rnn_relu_cell rnn_tanh_cell
torch.Tensor | X, 1 |
    chunk cummax cummin cumprod cumprod_ cumsum cumsum_ kthvalue log_softmax logcumsumexp matrix_power median
    multinomial mvlgamma mvlgamma_ nanmedian polygamma_ prod repeat_interleave softmax topk unsafe_chunk
    unsafe_split unsqueeze unsqueeze_
torch.Tensor | X, 1, 1 | moveaxis movedim select swapaxes swapaxes_ swapdims swapdims_ transpose transpose_
torch.Tensor | X, 1, 1, 1 | narrow_copy unfold
torch.Tensor | X, 2.5 |
    copysign copysign_ div div_ divide divide_ fill_diagonal_ float_power floor_divide floor_divide_ multiply
    multiply_ pow subtract subtract_ true_divide true_divide_ xlogy xlogy_
torch.Tensor | X, 2.5, 1, 2.5 | renorm renorm_
torch.Tensor | X, X |
    add add_ allclose arctan2 arctan2_ atan2 atan2_ cholesky_solve clamp_max clamp_max_ clamp_min clamp_min_ copy_
    dist eq eq_ equal expand_as fmax fmin fmod fmod_ ge ge_ greater greater_ greater_equal greater_equal_ gt gt_
    heaviside heaviside_ hypot hypot_ igamma igamma_ igammac igammac_ inner is_same_size is_set_to isclose kron
    ldexp ldexp_ le le_ less less_ less_equal less_equal_ logaddexp logaddexp2 logical_and logical_and_ logical_or
    logical_or_ logical_xor logical_xor_ lt lt_ matmul max maximum min minimum mm mul mul_ ne ne_ nextafter
    nextafter_ not_equal not_equal_ pow_ remainder remainder_ reshape_as resize_as_ slice_scatter sub sub_ to
    triangular_solve type_as view_as
torch.Tensor | X, X, X | addcdiv addcdiv_ addcmul addcmul_ addmm lerp lerp_
torch.fft | X |
    fft fft2 fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft
    rfft2 rfftn
torch.linalg | X |
    cholesky cholesky_ex det eig eigh eigvals eigvalsh inv inv_ex ldl_factor ldl_factor_ex lu lu_factor lu_factor_ex
    matrix_exp matrix_norm qr slogdet svd svdvals vander vector_norm
torch.linalg | X, 1 | matrix_power
torch.linalg | X, X | lstsq matmul solve solve_ex vecdot
torch.nn.functional | X |
    alpha_dropout celu dropout elu feature_alpha_dropout gelu gumbel_softmax hardshrink hardtanh leaky_relu
    logsigmoid mish pdist relu relu6 rrelu selu silu softplus softshrink
torch.nn.functional | X, X |
    binary_cross_entropy binary_cross_entropy_with_logits cosine_similarity cross_entropy hinge_embedding_loss
    huber_loss kl_div l1_loss linear mse_loss pairwise_distance smooth_l1_loss soft_margin_loss
torch.nn.functional | X, X, X | scaled_dot_product_attention triplet_margin_loss triplet_margin_with_distance_loss
torch.special | 1, X | polygamma
torch.special | X |
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0
    i0e i1 i1e log1p log_ndtr logit modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr
    ndtri psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc spherical_bessel_j0
torch.special | X, 1 | log_softmax multigammaln softmax
torch.special | X, 2.5 |
    chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
    hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w xlog1py xlogy zeta
torch.special | X, X | gammainc gammaincc
"""


def read(calls):
    place = arguments = ""
    for line in calls.strip().splitlines():
        if not line.startswith(" "):
            place, arguments, line = (part.strip() for part in line.split("|"))
        for name in line.split():
            yield pytest.param(f"{place}.{name}", arguments, id=f"{place}.{name}".removeprefix("torch."))


def found(library, dotted):
    value = library
    for part in dotted.split(".")[1:]:
        value = getattr(value, part)
    return value


def attempt(library, dotted, arguments, place):
    """The error that a call with an array at one place raises."""
    values = [
        library.tensor([[0.5, 0.3], [0.2, 0.6]]) if text == "X" else float(text) if "." in text else int(text)
        for text in arguments.split(", ")
    ]
    values[place] = values[place].numpy()
    with pytest.raises(TypeError) as refused:
        found(library, dotted)(*values)
    return str(refused.value)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dotted, arguments", list(read(CALLS)))
def test_an_array_is_no_tensor(dotted, arguments):
    for place, text in enumerate(arguments.split(", ")):
        if text == "X" and not (place == 0 and dotted.startswith("torch.Tensor.")):
            attempt(torch, dotted, arguments, place)
            attempt(pullback, dotted, arguments, place)


@pytest.mark.parametrize(
    "call",
    [
        lambda t, x, a: t.add(a, x),
        lambda t, x, a: t.add(x, a),
        lambda t, x, a: t.sin(a),
        lambda t, x, a: t.sum(a),
        lambda t, x, a: t.matmul(a, x),
        lambda t, x, a: t.maximum(x, a),
        lambda t, x, a: t.eq(a, x),
        lambda t, x, a: t.nn.functional.conv1d(a, x),
        lambda t, x, a: t.fft.fft(a),
    ],
)
def test_torchs_words_and_the_remedy(call):
    errors = []
    for t in (torch, pullback):
        with pytest.raises(TypeError) as refused:
            call(t, t.ones(2, 2), np.ones((2, 2)))
        errors.append(str(refused.value))
    theirs, ours = (error.replace("(position 1) ", "").replace("(position 2) ", "") for error in errors)
    assert ours.startswith(theirs) or "invalid combination" in theirs and "must be Tensor, not numpy.ndarray" in ours
    assert ours.endswith(
        "torch.from_numpy(array) is one with its memory, torch.as_tensor(array) one of anything like it."
    )


def test_what_is_not_torchs_takes_arrays_as_before():
    x = pullback.tensor([1.0, 2.0], requires_grad=True)
    array = np.array([3.0, 4.0], np.float32)
    (x * x).backward(gradient=array)
    assert x.grad.tolist() == [6.0, 16.0]
    for made in (array + x, x + array, np.add(array, x), np.add(x, array)):
        assert made.requires_grad and made.tolist() == [4.0, 6.0]
    y = x * 1
    y += array
    assert y.requires_grad and y.tolist() == [4.0, 6.0]
    with pullback.no_grad():
        for made in (array + x, x + array, np.add(array, x), np.sin(x), array * x, x @ array):
            assert isinstance(made, pullback.Tensor) and not made.requires_grad
    assert (pullback.ones(2) == array).tolist() == [False, False]
    assert pullback.tensor(array).tolist() == pullback.as_tensor(array).tolist() == [3.0, 4.0]
    assert x.detach()[np.array([1, 0])].tolist() == [2.0, 1.0]
