"""What a `__torch_function__` is handed for every function: prints the same under torch and under Pullback.

For each call: which function it is (its name, and whether it is the object that a program finds where it called it), and the
arguments. An alias is a function of its own, as are a method and the function of the same name.
"""

import warnings

import torch
import torch.fft
import torch.functional
import torch.linalg
import torch.nn.functional
import torch.nn.init
import torch.special

warnings.simplefilter("ignore")
seen = []


class Foreign:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        seen.append((func, args, kwargs or {}))
        return 77


class Sub(torch.Tensor):
    __torch_function__ = Foreign.__torch_function__


FOREIGN, SUB = Foreign(), torch.ones(2, 2).as_subclass(Sub)
seen.clear()

# Where a function is, its arguments (X takes over), and the names of functions called that way.
CALLS = """
torch | 1, X | polygamma
torch | 2.5, X | bitwise_left_shift bitwise_right_shift bucketize isin remainder
torch | X |
    abs absolute acos acosh adjoint alias_copy all amax amin aminmax angle any arccos arccosh arcsin arcsinh arctan
    arctanh argmax argmin argsort argwhere asin asinh atan atanh bincount bitwise_not ceil celu cholesky
    cholesky_inverse clamp clip clone combinations conj conj_physical corrcoef cos cosh count_nonzero cov
    cumulative_trapezoid deg2rad det detach detach_copy diag diag_embed diagflat diagonal diagonal_copy diff digamma
    empty_like erf erfc erfinv exp exp2 expm1 fix flatten fliplr flipud floor frac frexp geqrf get_device gradient
    hash_tensor histc histogram i0 imag inverse is_complex is_conj is_distributed is_floating_point is_inference
    is_neg is_nonzero is_signed isfinite isinf isnan isneginf isposinf isreal lgamma lobpcg log log10 log1p log2
    logdet logical_not logit matrix_exp max mode msort nan_to_num nanmean nansum neg negative nonzero norm_except_dim
    numel ones_like pinverse poisson positive qr rad2deg ravel real reciprocal relu resolve_conj resolve_neg rot90
    round rrelu rsqrt selu sgn sigmoid sign signbit sin sinc sinh slice_copy slogdet sort sqrt square std std_mean svd
    t t_copy tan tanh trace trapezoid trapz tril triu trunc unbind unbind_copy var var_mean view_as_complex
    view_as_complex_copy view_as_real view_as_real_copy where zeros_like
torch | X, 1 |
    chunk cummax cummin cumprod cumsum group_norm kthvalue log_softmax logcumsumexp matrix_power median multinomial
    mvlgamma nanmedian prod repeat_interleave softmax split_copy topk unsafe_chunk unsafe_split unsqueeze
    unsqueeze_copy
torch | X, 1, 1 | moveaxis movedim select select_copy swapaxes swapdims transpose transpose_copy
torch | X, 1, 1, 1 | narrow_copy unfold_copy
torch | X, 1, X | gather index_select
torch | X, 1, X, 1 | narrow
torch | X, 1, X, 2.5 | scatter
torch | X, 1, X, X | index_add index_copy index_fill scatter_add
torch | X, 1, X, X, "mean" | index_reduce scatter_reduce
torch | X, 1, [1, 1] | unflatten
torch | X, 1.5 | bernoulli nanquantile quantile
torch | X, 1.5, True | alpha_dropout dropout feature_alpha_dropout feature_dropout native_dropout
torch | X, 2.5 |
    copysign div divide float_power floor_divide full_like multiply pow rsub searchsorted subtract true_divide xlogy
torch | X, 2.5, 1, 2.5 | renorm
torch | X, 2.5, 2.5 | threshold
torch | X, X |
    add allclose arctan2 atan2 binary_cross_entropy_with_logits binomial bitwise_and bitwise_or bitwise_xor
    cholesky_solve clamp_max clamp_min complex cross diagonal_scatter dist dot embedding eq equal fmax fmin fmod gcd
    ge ger greater greater_equal gt heaviside hinge_embedding_loss hypot igamma igammac inner is_same_size isclose
    kl_div kron lcm ldexp le less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor lt lu_unpack
    masked_select matmul maximum min minimum mul mv ne nextafter not_equal orgqr outer polar slice_scatter sub take
    take_along_dim tensor_split triangular_solve vdot
torch | X, X, 1, 1 | select_scatter
torch | X, X, 1, 1, True | grid_sampler grid_sampler_2d grid_sampler_3d
torch | X, X, True, True, 1.5, 1 | poisson_nll_loss
torch | X, X, X |
    addbmm addcdiv addcmul addmv addr cosine_embedding_loss lerp lu_solve margin_ranking_loss masked_fill
    masked_scatter ormqr put triplet_margin_loss
torch | X, X, X, 1, 1 | fake_quantize_per_tensor_affine
torch | X, X, X, 1, 1, 1 | fake_quantize_per_channel_affine
torch | X, X, X, 1, 1, 1, 1, 1.5 | native_group_norm
torch | X, X, X, True, 1, True, X, True, 1 | embedding_bag
torch | X, X, X, X | ctc_loss gru_cell rnn_relu_cell rnn_tanh_cell
torch | X, X, X, X, X, True, 1.5, 1.5 | native_batch_norm
torch | X, X, X, X, X, True, 1.5, 1.5, True | batch_norm instance_norm
torch | X, X, X, [1, 1], [1, 1], [1, 1], True, [1, 1], 1 | convolution
torch | X, X, X, [X, X], True, 1, 1.5, True, True | gru rnn_relu rnn_tanh
torch | X, X, X, torch.float32 | addmm baddbmm
torch | X, X, [1, 1], [1, 1] | as_strided_scatter
torch | X, X, [X, X], [X, X], True, 1, 1.5, True, True | lstm
torch | X, X, torch.float32 | bmm
torch | X, [1, 1] |
    adaptive_max_pool1d broadcast_to constant_pad_nd dsplit expand_copy flip frobenius_norm hsplit layer_norm
    logsumexp max_pool1d max_pool1d_with_indices max_pool2d max_pool3d mean nuclear_norm permute permute_copy reshape
    rms_norm roll split_with_sizes split_with_sizes_copy squeeze squeeze_copy sum tile unsafe_split_with_sizes vsplit
torch | X, [1, 1], True | affine_grid_generator
torch | X, [1, 1], X, X, 1.5 | native_layer_norm
torch | X, [1, 1], [1, 1] | as_strided_copy
torch | X, [X, X] | histogramdd
torch | X, [X, X], X, X | lstm_cell
torch | X, [X], X | index_put
torch | X, torch.float32 | view_copy
torch | [X, X] | cat column_stack concat concatenate dstack hstack row_stack stack vstack
torch.Tensor | X |
    abs abs_ absolute absolute_ acos acos_ acosh acosh_ adjoint all amax amin aminmax angle any arccos arccos_ arccosh
    arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan arctan_ arctanh arctanh_ argmax argmin argsort argwhere asin asin_
    asinh asinh_ atan atan_ atanh atanh_ backward bernoulli_ bfloat16 bincount bitwise_not bitwise_not_ bool byte
    cauchy_ ccol_indices cdouble ceil ceil_ cfloat chalf char cholesky cholesky_inverse clamp clamp_ clip clip_ clone
    coalesce col_indices conj conj_physical conj_physical_ const_data_ptr contiguous corrcoef cos cos_ cosh cosh_
    count_nonzero cov cpu crow_indices cuda data_ptr deg2rad deg2rad_ dense_dim det detach detach_ diag diag_embed
    diagflat diagonal diff digamma digamma_ dim dim_order double element_size erf erf_ erfc erfc_ erfinv erfinv_ exp
    exp2 exp2_ exp_ expm1 expm1_ exponential_ fix fix_ flatten fliplr flipud float floor floor_ frac frac_ frexp geqrf
    get_device half hardshrink hash_tensor histc histogram i0 i0_ indices int inverse is_coalesced is_complex is_conj
    is_contiguous is_distributed is_floating_point is_inference is_neg is_nonzero is_pinned is_shared is_signed
    isfinite isinf isnan isneginf isposinf isreal item lgamma lgamma_ log log10 log10_ log1p log1p_ log2 log2_ log_
    log_normal_ logdet logical_not logical_not_ logit logit_ long lu matrix_exp mode msort nan_to_num nan_to_num_
    nanmean nansum neg neg_ negative negative_ nonzero normal_ numel numpy pin_memory pinverse positive qr rad2deg
    rad2deg_ random_ ravel reciprocal reciprocal_ relu relu_ requires_grad_ resolve_conj resolve_neg retain_grad rot90
    round round_ row_indices rsqrt rsqrt_ sgn sgn_ share_memory_ short sigmoid sigmoid_ sign sign_ signbit sin sin_
    sinc sinc_ sinh sinh_ size slogdet sort sparse_dim sqrt sqrt_ square square_ std storage storage_offset
    storage_type svd t t_ tan tan_ tanh tanh_ to_dense to_sparse tolist trace tril tril_ triu triu_ trunc trunc_ type
    unbind uniform_ unique unique_consecutive untyped_storage values var xpu zero_
torch.Tensor | X, 1 |
    chunk cummax cummin cumprod cumprod_ cumsum cumsum_ istft kthvalue log_softmax logcumsumexp matrix_power median
    multinomial mvlgamma mvlgamma_ nanmedian polygamma_ prod repeat_interleave softmax stft topk unsafe_chunk
    unsafe_split unsqueeze unsqueeze_
torch.Tensor | X, 1, 1 | moveaxis movedim select swapaxes swapaxes_ swapdims swapdims_ transpose transpose_
torch.Tensor | X, 1, 1, 1 | narrow_copy unfold
torch.Tensor | X, 1, X | gather index_select
torch.Tensor | X, 1, X, 1 | narrow
torch.Tensor | X, 1, X, 2.5 | scatter scatter_
torch.Tensor | X, 1, X, X |
    index_add index_add_ index_copy index_copy_ index_fill index_fill_ scatter_add scatter_add_
torch.Tensor | X, 1, X, X, "mean" | index_reduce index_reduce_ scatter_reduce scatter_reduce_
torch.Tensor | X, 1.5 | bernoulli geometric_ nanquantile quantile
torch.Tensor | X, 2.5 |
    bitwise_left_shift bitwise_left_shift_ bitwise_right_shift bitwise_right_shift_ copysign copysign_ div div_ divide
    divide_ fill_diagonal_ float_power floor_divide floor_divide_ multiply multiply_ pow subtract subtract_
    true_divide true_divide_ xlogy xlogy_
torch.Tensor | X, 2.5, 1, 2.5 | renorm renorm_
torch.Tensor | X, 2.5, [1, 1] | norm
torch.Tensor | X, X |
    add add_ allclose apply_ arctan2 arctan2_ atan2 atan2_ bitwise_and bitwise_and_ bitwise_or bitwise_or_ bitwise_xor
    bitwise_xor_ bmm cholesky_solve clamp_max clamp_max_ clamp_min clamp_min_ copy_ cross diagonal_scatter dist dot eq
    eq_ equal expand_as fill_ float_power_ fmax fmin fmod fmod_ gcd gcd_ ge ge_ ger greater greater_ greater_equal
    greater_equal_ gt gt_ heaviside heaviside_ hypot hypot_ igamma igamma_ igammac igammac_ inner is_same_size
    is_set_to isclose kron lcm lcm_ ldexp ldexp_ le le_ less less_ less_equal less_equal_ logaddexp logaddexp2
    logical_and logical_and_ logical_or logical_or_ logical_xor logical_xor_ lt lt_ masked_select matmul max maximum
    min minimum mm mul mul_ mv ne ne_ nextafter nextafter_ not_equal not_equal_ orgqr outer pow_ prelu register_hook
    register_post_accumulate_grad_hook remainder remainder_ reshape_as resize_as_ slice_scatter sparse_mask sub sub_
    take take_along_dim tensor_split to triangular_solve type_as vdot view_as
torch.Tensor | X, X, 1, 1 | select_scatter
torch.Tensor | X, X, 2.5 | where
torch.Tensor | X, X, X |
    addbmm addbmm_ addcdiv addcdiv_ addcmul addcmul_ addmm addmm_ addmv addmv_ addr addr_ baddbmm baddbmm_ lerp lerp_
    lu_solve map_ masked_fill masked_fill_ masked_scatter masked_scatter_ ormqr put put_
torch.Tensor | X, X, [1, 1], [1, 1] | as_strided_scatter
torch.Tensor | X, [1, 1] |
    broadcast_to dsplit expand flip hsplit logsumexp mean permute repeat reshape resize_ roll split split_with_sizes
    squeeze squeeze_ sum sum_to_size tile unsafe_split_with_sizes vsplit
torch.Tensor | X, [1, 1], [1, 1] | as_strided as_strided_
torch.Tensor | X, [X], X | index_put index_put_
torch.Tensor | X, torch.float32 | view
torch.fft | X |
    fft fft2 fftn fftshift hfft hfft2 hfftn ifft ifft2 ifftn ifftshift ihfft ihfft2 ihfftn irfft irfft2 irfftn rfft
    rfft2 rfftn
torch.functional | X |
    atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod chain_matmul lu meshgrid norm
    pca_lowrank svd_lowrank unique unique_consecutive
torch.functional | X, 1 | istft
torch.functional | X, X | cdist einsum split stft tensordot unravel_index
torch.linalg | X |
    cholesky cholesky_ex det diagonal eig eigh eigvals eigvalsh inv inv_ex ldl_factor ldl_factor_ex lu lu_factor
    lu_factor_ex matrix_exp matrix_norm qr slogdet svd svdvals tensorinv vander vector_norm
torch.linalg | X, "mean" | cond norm
torch.linalg | X, 1 | matrix_power
torch.linalg | X, X | cross householder_product lstsq matmul matrix_rank pinv solve solve_ex tensorsolve vecdot
torch.linalg | X, X, X | ldl_solve lu_solve
torch.linalg | [X, X] | multi_dot
torch.nn.functional | X |
    alpha_dropout celu dropout dropout1d dropout2d dropout3d elu feature_alpha_dropout gelu glu gumbel_softmax
    hardshrink hardtanh instance_norm interpolate leaky_relu log_softmax logsigmoid mish normalize one_hot pdist relu
    relu6 rrelu selu silu softmax softmin softplus softshrink softsign tanhshrink
torch.nn.functional | X, 1 | channel_shuffle native_channel_shuffle pixel_shuffle pixel_unshuffle
torch.nn.functional | X, X |
    adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool1d_with_indices adaptive_max_pool2d
    adaptive_max_pool2d_with_indices adaptive_max_pool3d adaptive_max_pool3d_with_indices affine_grid
    binary_cross_entropy binary_cross_entropy_with_logits conv1d conv2d conv3d conv_transpose1d conv_transpose2d
    conv_transpose3d cosine_similarity cross_entropy embedding embedding_bag fractional_max_pool2d
    fractional_max_pool2d_with_indices fractional_max_pool3d fractional_max_pool3d_with_indices grid_sample group_norm
    hinge_embedding_loss huber_loss kl_div l1_loss layer_norm linear local_response_norm max_pool1d
    max_pool1d_with_indices max_pool2d max_pool2d_with_indices max_pool3d max_pool3d_with_indices mse_loss
    multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss nll_loss pad pairwise_distance
    poisson_nll_loss prelu rms_norm smooth_l1_loss soft_margin_loss unfold
torch.nn.functional | X, X, X |
    batch_norm bilinear conv_tbc cosine_embedding_loss fold gaussian_nll_loss linear_cross_entropy lp_pool1d lp_pool2d
    lp_pool3d margin_ranking_loss max_unpool1d max_unpool2d max_unpool3d scaled_dot_product_attention threshold
    triplet_margin_loss triplet_margin_with_distance_loss
torch.nn.functional | X, X, X, X | ctc_loss
torch.nn.functional | X, X, X, X, X, X, X, X, X, X, X, X, X | multi_head_attention_forward
torch.nn.functional | X, [1, 1] | adaptive_avg_pool1d avg_pool1d avg_pool2d avg_pool3d
torch.nn.init | X | kaiming_uniform_ normal_ uniform_
torch.nn.init | X, X | constant_
torch.special | 1, X | polygamma
torch.special | X |
    airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammaln i0 i0e
    i1 i1e log1p log_ndtr logit modified_bessel_i0 modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtr ndtri
    psi round scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc spherical_bessel_j0
torch.special | X, 1 | log_softmax multigammaln softmax
torch.special | X, 2.5 |
    chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w hermite_polynomial_h
    hermite_polynomial_he laguerre_polynomial_l legendre_polynomial_p shifted_chebyshev_polynomial_t
    shifted_chebyshev_polynomial_u shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w xlog1py xlogy zeta
torch.special | X, X | gammainc gammaincc
torch.special | X, [1, 1] | logsumexp
"""


def shown(value):
    if value is FOREIGN or value is SUB:
        return "X"
    if isinstance(value, dict):
        return ", ".join(f"{name}={shown(value[name])}" for name in sorted(value))
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(shown, value))}]"
    return str(value).replace("pullback.", "torch.")


def read(calls):
    place = arguments = ""
    for line in calls.strip().splitlines():
        if not line.startswith(" "):
            place, arguments, line = (part.strip() for part in line.split("|"))
        for name in line.split():
            yield place, name, arguments


def report(place, name, call):
    seen.clear()
    call()
    func, args, kwargs = seen[0]
    found = torch
    for part in f"{place}.{name}".split(".")[1:]:
        found = getattr(found, part)
    print(f"{place}.{name}: {func.__name__} {found == func} {shown(args)} {shown(kwargs)} {len(seen)}")


for place, name, arguments in read(CALLS):
    taker = SUB if place == "torch.Tensor" else FOREIGN
    values = eval(f"[{arguments}]", {"X": taker, "torch": torch})
    found = eval(place)
    if taker is SUB:
        report(place, name, lambda: getattr(SUB, name)(*values[1:]))
    else:
        report(place, name, lambda: getattr(found, name)(*values))

# --- operators and attributes ---

BINARY = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
for name in [*BINARY, *(f"r{name}" for name in BINARY), *(f"i{name}" for name in BINARY if name != "matmul")]:
    report("torch.Tensor", f"__{name}__", lambda: getattr(SUB, f"__{name}__")(SUB))
for name in "eq ne lt le gt ge".split():
    report("torch.Tensor", f"__{name}__", lambda: getattr(SUB, f"__{name}__")(SUB))
for expression in (
    """
    1 + SUB; 1 - SUB; 1 * SUB; 1 / SUB; 1 // SUB; 1 % SUB; 1 ** SUB; True & SUB; True | SUB; True ^ SUB; SUB ** 2; SUB / 2
    P + SUB; P - SUB; P * SUB; P / SUB; P // SUB; P % SUB; P ** SUB; P @ SUB; P & SUB; -SUB; abs(SUB); ~SUB; +SUB
    reversed(SUB); SUB[0]; SUB.__add__(other=SUB); SUB.__eq__(other=2); SUB.shape; SUB.T; SUB.requires_grad
""".strip()
    .replace("\n", ";")
    .split(";")
):
    seen.clear()
    eval(expression.strip(), {"SUB": SUB, "P": torch.ones(2, 2)})
    func, args, kwargs = seen[0]
    print(expression.strip(), func.__name__, [type(value).__name__ for value in args], shown(kwargs))

# --- arguments by name ---

for expression in (
    """
    torch.absolute(input=X); torch.linalg.inv(A=X); torch.special.expit(input=X); torch.fft.fft(X, n=3, dim=0)
    torch.split(tensor=X, split_size_or_sections=2); torch.cat(tensors=[X, X], dim=1); torch.sum(X, dim=0, keepdim=True)
    torch.nn.functional.threshold(X, threshold=1.0, value=2.0); torch.nn.functional.relu(input=X, inplace=True)
    torch.nn.functional.max_pool2d_with_indices(X, kernel_size=2, stride=1); torch.lobpcg(X, k=2); torch.meshgrid(X, X)
    torch.pca_lowrank(X, q=2); torch.svd_lowrank(A=X); torch.max_pool2d(X, kernel_size=2); torch.celu(X, alpha=2.0)
""".strip()
    .replace("\n", ";")
    .split(";")
):
    seen.clear()
    eval(expression.strip(), {"X": FOREIGN, "torch": torch})
    func, args, kwargs = seen[0]
    print(expression.strip(), func.__name__, shown(args), shown(kwargs))
