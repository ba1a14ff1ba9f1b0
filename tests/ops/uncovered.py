"""Operations that some check says nothing about, with the reason."""

# Difference quotients by all elements of an input mislead: not every input is one that the operation is for.
DIFFERENCES_MISLEAD = {
    "decompositions.eigh": "its input is symmetric",
    "linalg.cholesky": "its input is symmetric",
    "ctc.ctc": "its input holds logarithms of probabilities",
    "normalization.fixed_norm": "statistics are constants",
    "embedding.lookup_rows": "its gradient is sparse",
    "loss.cross_entropy": "weights of classes are constants",
    "loss.cross_entropy_2d": "weights of classes are constants",
}

# Rules that `explain` describes by what they use.
DESCRIBED = set()

# Kernels of operations that have samples of their own, which work on NumPy's memory alone, and functions that CuPy does not have.
NOT_ELSEWHERE = {"embedding.lookup_rows"}  # its gradient is dense there

# By file of pullback/ops/. Neither samples of their own, nor a row of the table of gradients: compared with torch alone.
_UNCOVERED = {
    "activation": "rrelu_with_noise",
    "casting": "clone_in complex_pairs copied imag real_pairs view_as_complex view_as_real",
    "counting": """
        any_axes argmax argmin argwhere bincount count_nonzero hash_bits histc histogram isin nonzero_rows nonzero_static
        searchsorted
    """,
    "cumulative": "products_before",
    "decompositions": "eig",
    "fft": "frames overlap_add resize",
    "indexing": "masked_fill_from",
    "linalg": "cholesky_inverse cholesky_solve lu_factor permutation solve_vector unit_diagonal",
    "matmul": "addbmm addmm addmv addr baddbmm bmm linear_map trace vdot vm",
    "norms": "distance euclidean_distances pair_distances pairs_of symmetric",
    "pairs": """
        copysign_scalar divide_floor divide_trunc floor_divide fmod fmod_scalar heaviside ldexp lerp_scalar nextafter
        remainder
    """,
    "pointwise": """
        ceil clamp_above clamp_below clamp_between clamp_max clamp_min conj_physical divide_by fill fill_from fmax frexp
        identity minimum multiply_by multiply_itself reverse_subtract_scaled reverse_subtract_tensors round_ round_to
        subtract_scaled trunc zero
    """,
    "pooling": "fractional_max_pool[2] fractional_max_pool[3]",
    "quantization": "fake_quantize fake_quantize_by_tensors fake_quantize_channels",
    "rearranging": "block_diagonal empty_sum pad pad_with rotate",
    "recurrence": "gru_cell layer lstm_cell rnn_cell",
    "scatter": "clear_flat index_fill index_fill_from masked_scatter place_flat put take",
    "scatter_reduce": "count index_reduce tie_count",
    "shape": """
        clear clear_diagonal copied_diagonal matrix_transpose_in_place replace_diagonal replace_selected replace_slice
        squeeze_all_in_place squeeze_in_place squeeze_several squeeze_several_in_place transpose_in_place unsqueeze_in_place
    """,
    "sorting": "cummin distinct distinct_slices mode nanmedian runs",
    "special": """
        airy_ai airy_ai_derivative chebyshev_polynomial_t chebyshev_polynomial_u chebyshev_polynomial_v chebyshev_polynomial_w
        hermite_polynomial_h hermite_polynomial_he igamma igammac k0e k1e laguerre_polynomial_l legendre_polynomial_p
        modified_bessel_i0 modified_bessel_i1 recurrence_slope shifted_chebyshev_polynomial_t shifted_chebyshev_polynomial_u
        shifted_chebyshev_polynomial_v shifted_chebyshev_polynomial_w spherical_bessel_j0 zeta zeta_of_number
    """,
    "splitting": "split_sizes",
    "square_roots": "matrix_sqrth polar sylvester",
    "statistics": "deviation_mean median_of_all nanmedian_of_all nansum variance_mean",
    "striding": "clear_strided replace_strided",
    "vision": "affine_maps affine_points points_of_volumes",
}
UNCOVERED = {f"{place}.{name}" for place, names in _UNCOVERED.items() for name in names.split()}
