"""The functions of `nn.functional` as a table: name, shapes of the float operands, other arguments.

An operand is a tuple (a shape; drawn from a normal distribution), an `Index` (class numbers below a bound), or a value
passed as it is. `Positive` and `Unit` are operands that must lie above 0, or between 0 and 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Index(NamedTuple):
    """Whole numbers from 0 up to a bound."""

    shape: tuple
    below: int


class Positive(NamedTuple):
    """Numbers above 0.1."""

    shape: tuple


class Unit(NamedTuple):
    """Numbers between 0.05 and 0.95."""

    shape: tuple


class Signs(NamedTuple):
    """Numbers 1 and -1."""

    shape: tuple


class Weights(NamedTuple):
    """Positive numbers that get no gradient."""

    shape: tuple


class Plain(NamedTuple):
    """Something passed as it is."""

    value: Any


X = (3, 4)
IMAGE = (2, 4, 6, 7)
LINE = (2, 4, 9)
VOLUME = (2, 4, 4, 5, 6)

ACTIVATIONS = [
    ("relu", [X], {}), ("relu6", [X], {}), ("leaky_relu", [X], {}), ("leaky_relu", [X], {"negative_slope": 1.5}),
    ("leaky_relu", [X], {"negative_slope": -0.5}), ("elu", [X], {}), ("elu", [X], {"alpha": 0.7}), ("selu", [X], {}),
    ("celu", [X], {"alpha": 1.3}), ("gelu", [X], {}), ("gelu", [X], {"approximate": "tanh"}), ("silu", [X], {}),
    ("mish", [X], {}), ("softplus", [X], {}), ("softplus", [X], {"beta": 2.0, "threshold": 1.0}),
    ("logsigmoid", [X], {}),
    ("hardtanh", [X], {"min_val": -0.4, "max_val": 0.9}), ("hardsigmoid", [X], {}), ("hardswish", [X], {}),
    ("hardshrink", [X], {}), ("softshrink", [X], {"lambd": 0.3}), ("threshold", [X], {"threshold": 0.1, "value": 2.0}),
    ("prelu", [X, (4,)], {}), ("prelu", [X, (1,)], {}), ("rrelu", [X], {}), ("glu", [X], {}),
    ("glu", [(4, 3)], {"dim": 0}),
    ("softsign", [X], {}), ("tanhshrink", [X], {}), ("tanh", [X], {}), ("sigmoid", [X], {}),
    ("softmax", [X], {"dim": 0}),
    ("log_softmax", [X], {"dim": 1}), ("softmin", [X], {"dim": -1}), ("softmax", [(2, 3, 4)], {"dim": 1}),
]  # fmt: skip

_PAIRS = [
    ("mse_loss", [X, X], {}), ("l1_loss", [X, X], {}), ("smooth_l1_loss", [X, X], {"beta": 0.6}),
    ("huber_loss", [X, X], {"delta": 0.7}), ("soft_margin_loss", [X, Signs(X)], {}),
    ("binary_cross_entropy", [Unit(X), Unit(X)], {}),
    ("binary_cross_entropy", [Unit(X), Unit(X), Weights(X)], {}),
    ("binary_cross_entropy_with_logits", [X, Unit(X)], {}),
    ("kl_div", [X, Unit(X)], {}), ("kl_div", [X, X], {"log_target": True}), ("poisson_nll_loss", [X, Positive(X)], {}),
    ("poisson_nll_loss", [Positive(X), Positive(X)], {"log_input": False, "full": True}),
    ("gaussian_nll_loss", [X, X, Positive(X)], {}), ("gaussian_nll_loss", [X, X, Positive((3, 1))], {"full": True}),
    ("margin_ranking_loss", [(5,), (5,), Signs((5,))], {"margin": 0.2}), ("hinge_embedding_loss", [X, Signs(X)], {}),
    ("cosine_embedding_loss", [X, X, Signs((3,))], {"margin": 0.1}), ("triplet_margin_loss", [X, X, X], {"swap": True}),
    ("triplet_margin_loss", [X, X, X], {"p": 3.0}), ("triplet_margin_with_distance_loss", [X, X, X], {}),
    ("multilabel_soft_margin_loss", [X, Unit(X)], {}), ("nll_loss", [X, Index((3,), 4)], {}),
    ("nll_loss", [(2, 4, 3, 3), Index((2, 3, 3), 4)], {}), ("nll_loss", [X, Index((3,), 4)], {"ignore_index": 1}),
    ("cross_entropy", [X, Index((3,), 4)], {}), ("cross_entropy", [X, Unit(X)], {}),
    ("cross_entropy", [X, Unit(X)], {"label_smoothing": 0.2}), ("cross_entropy", [(4,), Index((), 4)], {}),
    ("cross_entropy", [(2, 4, 3), Index((2, 3), 4)], {"ignore_index": 0, "label_smoothing": 0.3}),
    ("multi_margin_loss", [X, Index((3,), 4)], {}), ("multi_margin_loss", [X, Index((3,), 4)], {"p": 2, "margin": 0.6}),
    ("multilabel_margin_loss", [X, Index(X, 4)], {}),
]  # fmt: skip
LOSSES = [
    (name, operands, {**options, "reduction": reduction})
    for name, operands, options in _PAIRS
    for reduction in ("none", "mean", "sum")
]

LAYERS = [
    ("linear", [X, (5, 4), (5,)], {}), ("linear", [(4,), (5, 4)], {}), ("bilinear", [X, (3, 2), (5, 4, 2), (5,)], {}),
    ("layer_norm", [X, Plain((4,)), (4,), (4,)], {}), ("layer_norm", [(2, 3, 4), Plain((3, 4))], {"eps": 0.1}),
    ("rms_norm", [X, Plain((4,)), (4,)], {}), ("group_norm", [IMAGE, Plain(2), (4,), (4,)], {}),
    ("instance_norm", [IMAGE], {}), ("local_response_norm", [IMAGE, Plain(3)], {}), ("normalize", [X], {"p": 3.0}),
    ("batch_norm", [IMAGE, Plain(None), Plain(None), (4,), (4,)], {"training": True}),
    ("cosine_similarity", [X, X], {"dim": 1}), ("pairwise_distance", [X, X], {}), ("pdist", [X], {}),
    ("pairwise_distance", [X, X], {"p": 1.0, "keepdim": True}),
    ("scaled_dot_product_attention", [(2, 3, 4), (2, 5, 4), (2, 5, 6)], {}),
    ("scaled_dot_product_attention", [(2, 4, 4), (2, 4, 4), (2, 4, 4)], {"is_causal": True, "scale": 0.3}),
    ("scaled_dot_product_attention", [(2, 3, 4), (2, 5, 4), (2, 5, 6), (3, 5)], {}),
    ("scaled_dot_product_attention", [(1, 4, 3, 4), (1, 2, 5, 4), (1, 2, 5, 4)], {"enable_gqa": True}),
    ("embedding", [Index((3, 2), 5), (5, 3)], {}), ("embedding", [Index((6,), 3), (5, 3)], {"padding_idx": 1}),
    ("embedding", [Index((6,), 3), (5, 3)], {"scale_grad_by_freq": True}),
    ("embedding_bag", [Index((3, 4), 5), (5, 3)], {"mode": "sum"}), ("embedding_bag", [Index((3, 4), 5), (5, 3)], {}),
    ("embedding_bag", [Index((3, 4), 5), (5, 3)], {"mode": "max"}),
    ("embedding_bag", [Index((3, 4), 5), (5, 3)], {"padding_idx": 2}),
]  # fmt: skip

_WINDOWS = [
    ("conv1d", [LINE, (6, 4, 3), (6,)], {"padding": 1}), ("conv1d", [LINE, (6, 2, 3)], {"groups": 2, "stride": 2}),
    ("conv2d", [IMAGE, (6, 4, 3, 3), (6,)], {}), ("conv2d", [IMAGE, (6, 4, 2, 3)], {"padding": "same"}),
    ("conv2d", [IMAGE, (8, 1, 3, 3)], {"groups": 4, "padding": (1, 2), "stride": (2, 1)}),
    ("conv2d", [IMAGE, (2, 4, 3, 2)], {"dilation": (2, 3)}), ("conv2d", [(4, 6, 7), (2, 4, 1, 1)], {}),
    ("conv3d", [VOLUME, (3, 4, 2, 2, 2), (3,)], {"padding": 1}),
    ("conv_transpose1d", [LINE, (4, 3, 3), (3,)], {"stride": 2, "output_padding": 1}),
    ("conv_transpose2d", [IMAGE, (4, 3, 3, 3)], {"padding": 1, "stride": (1, 3)}),
    ("conv_transpose2d", [IMAGE, (4, 2, 2, 2), (4,)], {"groups": 2, "dilation": 3, "output_padding": 2}),
    ("conv_transpose3d", [(1, 2, 3, 3, 3), (2, 3, 2, 2, 2)], {}),
    ("unfold", [IMAGE, Plain((2, 3))], {"padding": 1, "stride": 2}),
    ("fold", [(2, 12, 20), Plain((5, 6)), Plain(2)], {}),
    ("max_pool1d", [LINE, Plain(2)], {}), ("max_pool2d", [IMAGE, Plain(3)], {"stride": 2, "padding": 1}),
    ("max_pool2d", [IMAGE, Plain((2, 3))], {"ceil_mode": True, "dilation": (2, 1)}),
    ("max_pool3d", [VOLUME, Plain(2)], {}),
    ("avg_pool1d", [LINE, Plain(3)], {"stride": 1, "padding": 1}),
    ("avg_pool2d", [IMAGE, Plain(2)], {"ceil_mode": True, "count_include_pad": False, "padding": 1}),
    ("avg_pool2d", [IMAGE, Plain(2)], {"divisor_override": 3}), ("avg_pool3d", [VOLUME, Plain(2)], {}),
    ("lp_pool1d", [Positive(LINE), Plain(2), Plain(3)], {}), ("lp_pool2d", [Positive(IMAGE), Plain(3.0), Plain(2)], {}),
    ("adaptive_avg_pool1d", [LINE, Plain(4)], {}), ("adaptive_avg_pool2d", [IMAGE, Plain((3, None))], {}),
    ("adaptive_avg_pool3d", [VOLUME, Plain(2)], {}), ("adaptive_max_pool1d", [LINE, Plain(4)], {}),
    ("adaptive_max_pool2d", [IMAGE, Plain((5, 2))], {}), ("adaptive_max_pool3d", [VOLUME, Plain(1)], {}),
]  # fmt: skip

_VISION = [
    ("pad", [IMAGE, Plain((1, 2, 0, 1))], {"mode": mode}) for mode in ("constant", "reflect", "replicate", "circular")
] + [
    ("pad", [IMAGE, Plain((2, -1, -2, 1))], {"mode": mode}) for mode in ("constant", "reflect", "replicate", "circular")
] + [
    ("interpolate", [IMAGE], {"scale_factor": 1.7, "mode": mode})
    for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic")
] + [
    ("interpolate", [IMAGE], {"size": (4, 9), "mode": mode, "align_corners": corners})
    for mode in ("bilinear", "bicubic") for corners in (False, True)
] + [
    ("interpolate", [IMAGE], {"size": (3, 9), "mode": mode, "antialias": True}) for mode in ("bilinear", "bicubic")
] + [
    ("interpolate", [LINE], {"size": 5, "mode": "linear"}),
    ("interpolate", [VOLUME], {"scale_factor": 2, "mode": "trilinear"}),
    ("interpolate", [IMAGE], {"scale_factor": (0.6, 1.3), "mode": "bilinear", "recompute_scale_factor": True}),
    ("pixel_shuffle", [(2, 8, 3, 3), Plain(2)], {}), ("pixel_unshuffle", [(2, 2, 4, 6), Plain(2)], {}),
    ("channel_shuffle", [IMAGE, Plain(2)], {}),
    ("affine_grid", [(2, 2, 3), Plain((2, 1, 3, 4))], {"align_corners": False}),
    ("affine_grid", [(2, 3, 4), Plain((2, 1, 3, 4, 2))], {"align_corners": True}),
]  # fmt: skip
_GRIDS = [
    ("grid_sample", [IMAGE, (2, 3, 4, 2)], {"mode": mode, "padding_mode": padding, "align_corners": corners})
    for mode in ("bilinear", "nearest", "bicubic")
    for padding in ("zeros", "border", "reflection")
    for corners in (False, True)
] + [("grid_sample", [VOLUME, (2, 3, 2, 2, 3)], {"align_corners": True})]

SPATIAL = _WINDOWS + _VISION + _GRIDS
ALL = ACTIVATIONS + LOSSES + LAYERS + SPATIAL
# Where torch has no second derivative, or one without the frequencies (embedding).
ONCE_ONLY = {
    "embedding", "embedding_bag", "grid_sample", "hardsigmoid", "multi_margin_loss", "multilabel_margin_loss", "pdist",
    "scaled_dot_product_attention",
}  # fmt: skip
