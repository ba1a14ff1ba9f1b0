"""Operations that some check says nothing about, with the reason."""

# Difference quotients by all elements of an input mislead: not every input is one that the operation is for.
DIFFERENCES_MISLEAD = {
    "decompositions.eigh": "its input is symmetric",
    "linalg.cholesky": "its input is symmetric",
    "ctc.ctc": "its input holds logarithms of probabilities",
    "normalization.fixed_norm": "statistics are constants",
}

# Rules that `explain` describes by what they use.
DESCRIBED = set()

# Kernels of operations that have samples of their own, which work on NumPy's memory alone, and functions that CuPy does not have.
NOT_ELSEWHERE = set()

# Neither samples of their own, nor a row of the table of gradients: their functions are compared with torch alone.
UNCOVERED = {
    "activation.hardshrink", "activation.hardsigmoid", "activation.hardtanh", "activation.rrelu",
    "activation.rrelu_with_noise", "activation.softshrink", "activation.threshold", "casting.clone_in",
    "casting.complex_pairs", "casting.copied", "casting.imag", "casting.real_pairs", "casting.view_as_complex",
    "casting.view_as_real", "convolution.convolution_input_biased", "convolution.convolution_keeping", "counting.any_axes",
    "counting.argmax", "counting.argmin", "counting.argwhere", "counting.bincount", "counting.count_nonzero",
    "counting.hash_bits", "counting.histc", "counting.histogram", "counting.isin", "counting.nonzero_rows",
    "counting.nonzero_static", "counting.searchsorted", "cumulative.products_before", "decompositions.eig",
    "embedding.lookup_rows", "embedding.max_bags", "embedding.mean_bags", "embedding.sum_bags", "fft.frames",
    "fft.overlap_add", "fft.resize", "indexing.masked_fill_from", "linalg.cholesky_inverse", "linalg.cholesky_solve",
    "linalg.lu_factor", "linalg.permutation", "linalg.solve_vector", "linalg.unit_diagonal", "loss.cross_entropy_2d",
    "loss.pick_classes_2d", "loss.smooth_l1", "matmul.addbmm", "matmul.addmm", "matmul.addmv", "matmul.addr",
    "matmul.baddbmm", "matmul.bmm", "matmul.linear_map", "matmul.trace", "matmul.vdot", "matmul.vm", "norms.distance",
    "norms.euclidean_distances", "norms.pair_distances", "norms.pairs_of", "norms.symmetric", "pairs.copysign_scalar",
    "pairs.divide_floor", "pairs.divide_trunc", "pairs.floor_divide", "pairs.fmod", "pairs.fmod_scalar", "pairs.heaviside",
    "pairs.ldexp", "pairs.lerp_scalar", "pairs.nextafter", "pairs.remainder", "pointwise.ceil", "pointwise.clamp_above",
    "pointwise.clamp_below", "pointwise.clamp_between", "pointwise.clamp_max", "pointwise.clamp_max_scalar",
    "pointwise.clamp_min", "pointwise.conj_physical", "pointwise.divide_by", "pointwise.fill", "pointwise.fill_from",
    "pointwise.fmax", "pointwise.frexp", "pointwise.identity", "pointwise.minimum", "pointwise.multiply_by",
    "pointwise.multiply_itself", "pointwise.reverse_subtract_scaled", "pointwise.reverse_subtract_tensors",
    "pointwise.round_", "pointwise.round_to", "pointwise.subtract_scaled", "pointwise.trunc", "pointwise.zero",
    "pooling.adaptive_avg_pool[2]", "pooling.adaptive_avg_pool[3]", "pooling.adaptive_max_pool[1]",
    "pooling.adaptive_max_pool[2]", "pooling.adaptive_max_pool[3]", "pooling.avg_pool[3]", "pooling.fractional_max_pool[2]",
    "pooling.fractional_max_pool[3]", "pooling.gather_planes", "pooling.max_pool[1]", "pooling.max_pool[3]",
    "pooling.max_unpool2d", "pooling.max_unpool3d", "pooling.max_values", "quantization.fake_quantize",
    "quantization.fake_quantize_by_tensors", "quantization.fake_quantize_channels", "rearranging.block_diagonal",
    "rearranging.empty_sum", "rearranging.pad", "rearranging.pad_with", "rearranging.rotate", "recurrence.gru_cell",
    "recurrence.layer", "recurrence.lstm_cell", "recurrence.rnn_cell", "reductions.amin", "reductions.aminmax",
    "reductions.max_all", "reductions.min_all", "scatter.clear_flat", "scatter.index_fill", "scatter.index_fill_from",
    "scatter.masked_scatter", "scatter.place_flat", "scatter.place_slices", "scatter.put", "scatter.scatter_src",
    "scatter.scatter_value", "scatter.scatter_zero", "scatter.take", "scatter_reduce.count", "scatter_reduce.index_reduce",
    "scatter_reduce.tie_count", "shape.clear", "shape.clear_diagonal", "shape.copied_diagonal",
    "shape.matrix_transpose_in_place", "shape.replace_diagonal", "shape.replace_selected", "shape.replace_slice",
    "shape.squeeze_all_in_place", "shape.squeeze_in_place", "shape.squeeze_several", "shape.squeeze_several_in_place",
    "shape.transpose_in_place", "shape.unsqueeze_in_place", "sorting.cummin", "sorting.distinct", "sorting.distinct_slices",
    "sorting.min_index", "sorting.mode", "sorting.nanmedian", "sorting.runs", "special.airy_ai", "special.airy_ai_derivative",
    "special.chebyshev_polynomial_t", "special.chebyshev_polynomial_u", "special.chebyshev_polynomial_v",
    "special.chebyshev_polynomial_w", "special.hermite_polynomial_h", "special.hermite_polynomial_he", "special.igamma",
    "special.igammac", "special.k0e", "special.k1e", "special.laguerre_polynomial_l", "special.legendre_polynomial_p",
    "special.modified_bessel_i0", "special.modified_bessel_i1", "special.recurrence_slope",
    "special.shifted_chebyshev_polynomial_t", "special.shifted_chebyshev_polynomial_u",
    "special.shifted_chebyshev_polynomial_v", "special.shifted_chebyshev_polynomial_w", "special.spherical_bessel_j0",
    "special.zeta", "special.zeta_of_number", "splitting.split_sizes", "square_roots.matrix_sqrth", "square_roots.polar",
    "square_roots.sylvester", "statistics.deviation_mean", "statistics.median_of_all", "statistics.nanmedian_of_all",
    "statistics.nansum", "statistics.variance_mean", "striding.clear_strided", "striding.replace_strided",
    "vision.affine_maps", "vision.affine_points", "vision.points_of_volumes",
}  # fmt: skip
