"""Operations that some check says nothing about, with the reason."""

# Difference quotients by all elements of an input mislead: not every input is one that the operation is for.
DIFFERENCES_MISLEAD = {
    "decompositions.eigh": "its input is symmetric",
    "linalg.cholesky": "its input is symmetric",
    "ctc.ctc": "its input holds logarithms of probabilities",
    "normalization.fixed_norm": "statistics are constants",
    "embedding.lookup_rows": "its gradient is sparse",
    "recurrence.layer": "some of its results are for rules alone",
    "recurrence.lstm_cell": "some of its results are for rules alone",
    "class_losses.cross_entropy": "weights of classes are constants",
    "class_losses.cross_entropy_2d": "weights of classes are constants",
    "linalg.cholesky_inverse": "its input is triangular",
    "linalg.cholesky_solve": "its second input is triangular",
    "linalg.unit_diagonal": "its input is triangular",
}

# Rules that `explain` describes by what they use.
DESCRIBED = {"recurrence.layer", "recurrence.lstm_cell", "recurrence.gru_cell", "recurrence.rnn_cell"}

# Kernels of operations that have samples of their own, which work on NumPy's memory alone, and functions that CuPy does not have.
_NOT_ELSEWHERE = {
    "ctc": "ctc",
    "casting": "clone_in",
    "embedding": "lookup_rows",  # its gradient is dense there
    "linalg": "solve_vector",  # it answers with NumPy's array of which matrices are singular
    "recurrence": "gru_cell layer lstm_cell",
}
NOT_ELSEWHERE = {f"{place}.{name}" for place, names in _NOT_ELSEWHERE.items() for name in names.split()}

# By file of pullback/ops/. Neither samples of their own, nor a row of the table of gradients: compared with torch alone.
_UNCOVERED = {
    "counting": "argwhere bincount hash_bits histc histogram isin nonzero_rows nonzero_static searchsorted",
    "decompositions": "eig",
    "linalg": "lu_factor permutation",
    "pointwise": "divide_by multiply_by multiply_itself",
    "pooling": "fractional_max_pool[2] fractional_max_pool[3]",
    "quantization": "fake_quantize fake_quantize_by_tensors fake_quantize_channels",
    "rearranging": "empty_sum",
    "scatter_reduce": "count tie_count",
    "shape": "replace_selected replace_slice unsqueeze_in_place",
    "sorting": "distinct distinct_slices runs",
    "square_roots": "matrix_sqrth sylvester",
    "striding": "clear_strided replace_strided",
    "vision": "affine_maps affine_points",
}
UNCOVERED = {f"{place}.{name}" for place, names in _UNCOVERED.items() for name in names.split()}
