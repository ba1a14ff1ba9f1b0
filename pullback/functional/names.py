"""The names that each late-loaded module of `functional/` announces. Written by `python -m pullback.functional.late`."""

FUNCTIONS: dict[str, str] = {
    "complex_views": "resolve_conj resolve_neg view_as_complex view_as_real",
    "contraction": "cdist cross einsum kron tensordot trace",
    "cumulative": "cummax cummin cumprod cumsum cumulative_trapezoid diff gradient logcumsumexp trapezoid trapz",
    "from_memory": "from_file frombuffer",
    "grids": "cartesian_prod combinations tril_indices triu_indices vander",
    "layers": """
        adaptive_avg_pool1d adaptive_max_pool1d affine_grid_generator alpha_dropout alpha_dropout_ avg_pool1d batch_norm
        bilinear binary_cross_entropy_with_logits celu celu_ channel_shuffle conv1d conv2d conv3d conv_tbc
        conv_transpose1d conv_transpose2d conv_transpose3d convolution cosine_embedding_loss cosine_similarity ctc_loss
        dropout dropout_ embedding embedding_bag embedding_renorm_ feature_alpha_dropout feature_alpha_dropout_
        feature_dropout feature_dropout_ grid_sampler grid_sampler_2d grid_sampler_3d group_norm hardshrink
        hinge_embedding_loss instance_norm kl_div layer_norm margin_ranking_loss max_pool1d max_pool1d_with_indices
        max_pool2d max_pool3d native_batch_norm native_channel_shuffle native_dropout native_group_norm
        native_layer_norm pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu relu_ rms_norm
        rrelu rrelu_ selu selu_ threshold threshold_ triplet_margin_loss
    """,
    "linear_algebra": """
        cholesky cholesky_inverse cholesky_solve det geqrf inverse lobpcg logdet lu lu_solve lu_unpack matrix_exp
        matrix_power orgqr ormqr pca_lowrank pinverse qr slogdet svd svd_lowrank triangular_solve
    """,
    "pairwise": """
        arctan2 atan2 complex copysign float_power fmax fmin gcd heaviside hypot lcm ldexp logaddexp logaddexp2 maximum
        minimum nextafter polar result_type
    """,
    "quantization": "fake_quantize_per_channel_affine fake_quantize_per_tensor_affine",
    "random_choices": """
        Generator bernoulli binomial default_generator get_rng_state initial_seed manual_seed multinomial normal poisson
        seed set_rng_state
    """,
    "random_gamma": "_sample_dirichlet _standard_gamma _standard_gamma_grad",
    "random_sampling": "rand rand_like randint randint_like randn randn_like randperm",
    "rearranging": "constant_pad_nd flip fliplr flipud repeat_interleave roll rot90 tile tril triu",
    "recurrence": "gru gru_cell lstm lstm_cell rnn_relu rnn_relu_cell rnn_tanh rnn_tanh_cell",
    "scatter": """
        index_add index_copy index_fill index_put index_put_ index_reduce masked_fill masked_scatter put scatter
        scatter_add scatter_reduce
    """,
    "searching": """
        argsort argwhere bincount bucketize hash_tensor histc histogram histogramdd isin msort nonzero nonzero_static
        searchsorted sort topk unique unique_consecutive
    """,
    "segments": "_segment_reduce segment_reduce",
    "selection": """
        _unsafe_masked_index _unsafe_masked_index_put_accumulate gather index_select masked_select take take_along_dim
        unravel_index
    """,
    "special_functions": "digamma erf erfc erfinv i0 igamma igammac lgamma logit mvlgamma polygamma sinc xlogy",
    "spectral": "istft stft",
    "statistics": """
        corrcoef cov dist frobenius_norm kthvalue median mode nanmedian nanquantile norm norm_except_dim nuclear_norm
        quantile renorm std std_mean var var_mean
    """,
    "strided_memory": "empty_permuted empty_strided",
    "subviews": """
        alias_copy as_strided as_strided_copy as_strided_scatter detach_copy diag diag_embed diagflat diagonal
        diagonal_copy diagonal_scatter expand_copy narrow narrow_copy permute_copy select select_copy select_scatter
        slice_copy slice_scatter split_copy split_with_sizes_copy squeeze_copy t_copy transpose_copy unbind_copy
        unfold_copy unsafe_chunk unsafe_split unsafe_split_with_sizes unsqueeze_copy view_as_complex_copy
        view_as_real_copy view_copy
    """,
    "ternary": "addcdiv addcmul clamp clamp_max clamp_min clip lerp where",
    "windows": "bartlett_window blackman_window hamming_window hann_window kaiser_window",
}

METHODS: dict[str, str] = {
    "complex_views": "resolve_conj resolve_neg",
    "contraction": "cross kron trace",
    "cumulative": "cummax cummin cumprod cumsum diff logcumsumexp",
    "explanations": "explain",
    "layers": "hardshrink prelu",
    "linear_algebra": """
        cholesky cholesky_inverse cholesky_solve det geqrf inverse logdet lu lu_solve matrix_exp matrix_power orgqr
        ormqr pinverse qr slogdet svd triangular_solve
    """,
    "pairwise": """
        arctan2 atan2 copysign float_power float_power_ fmax fmin gcd heaviside hypot lcm ldexp logaddexp logaddexp2
        maximum minimum nextafter
    """,
    "random_choices": "bernoulli multinomial",
    "random_sampling": "bernoulli_ cauchy_ exponential_ geometric_ log_normal_ normal_ random_ uniform_",
    "rearranging": "flip fliplr flipud repeat repeat_interleave roll rot90 tile tril triu",
    "scatter": """
        index_add index_add_ index_copy index_fill index_fill_ index_put index_put_ index_reduce masked_fill
        masked_fill_ masked_scatter put scatter scatter_ scatter_add scatter_reduce
    """,
    "searching": """
        argsort argwhere bincount hash_tensor histc histogram msort nonzero nonzero_static searchsorted sort topk unique
        unique_consecutive
    """,
    "selection": "gather index_select masked_select take take_along_dim",
    "sparse_forms": """
        _indices _nnz _values ccol_indices coalesce col_indices crow_indices indices is_coalesced row_indices
        sparse_mask to_dense to_sparse to_sparse_bsc to_sparse_bsr to_sparse_coo to_sparse_csc to_sparse_csr values
    """,
    "special_functions": "digamma erf erfc erfinv i0 igamma igammac lgamma logit mvlgamma polygamma sinc xlogy",
    "spectral": "istft stft",
    "statistics": "corrcoef cov dist kthvalue median mode nanmedian nanquantile norm quantile renorm std var",
    "strided_memory": "new_empty_strided resize_ resize_as_ set_",
    "subviews": """
        as_strided as_strided_ as_strided_scatter diag diag_embed diagflat diagonal diagonal_scatter fill_diagonal_
        narrow narrow_copy select select_scatter slice_scatter unfold unsafe_chunk unsafe_split unsafe_split_with_sizes
    """,
    "ternary": "addcdiv addcdiv_ addcmul addcmul_ clamp clamp_ clamp_max clamp_min clip lerp lerp_ where",
}

IN_PLACE: dict[str, str] = {
    "cumulative": "cumprod_ cumsum_",
    "pairwise": "arctan2_ atan2_ copysign_ gcd_ heaviside_ hypot_ lcm_ ldexp_ nextafter_",
    "rearranging": "tril_ triu_",
    "scatter": "index_copy_ index_reduce_ masked_scatter_ put_ scatter_add_ scatter_reduce_",
    "special_functions": """
        digamma_ erf_ erfc_ erfinv_ i0_ igamma_ igammac_ lgamma_ logit_ mvlgamma_ polygamma_ sinc_ xlogy_
    """,
    "statistics": "renorm_",
    "ternary": "addcdiv_ addcmul_ clamp_ clamp_max_ clamp_min_ clip_ lerp_",
}
