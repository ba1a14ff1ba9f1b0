"""Lists, arrays and other objects where a tensor belongs: torch's TypeError, or the result; never an AttributeError."""

import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

M = np.arange(1, 10, dtype=np.float32).reshape(3, 3) / 10
V = M[0]
SPD = (M @ M.T + np.eye(3)).astype(np.float32)
PLACES = np.array([0, 2, 1])
SEQ, IMAGE, VOLUME = (
    np.arange(np.prod(s), dtype=np.float32).reshape(s) for s in ((1, 2, 6), (1, 2, 6, 6), (1, 2, 4, 4, 4))
)
# A function, and what it is called with: arrays stand for tensors, and are exchanged one by one.
CALLS = [
    *((name, M) for name in "abs t triu tril squeeze flatten unbind aminmax atleast_1d atleast_2d atleast_3d max sum sort det "
      "rand_like randn_like ones_like cumsum0 inverse exp diagonal logdet var meshgrid1 std".split() if name[-1] not in "01"),
    ("atleast_1d", M), ("atleast_2d", M), ("atleast_3d", M), ("cumsum", M, 0), ("meshgrid", V, V), ("broadcast_tensors", V, M),
    ("cartesian_prod", V, V), ("flip", M, (0,)), ("unsqueeze", M, 0), ("swapaxes", M, 0, 1), ("transpose", M, 0, 1),
    ("permute", M, (1, 0)), ("reshape", M, (9,)), ("narrow", M, 0, 0, 1), ("select", M, 0, 0), ("chunk", M, 2), ("split", M, 2),
    ("tensor_split", M, 2), ("hsplit", M, 3), ("vsplit", M, 3), ("dropout", M, 0.5, True), ("full_like", M, 3),
    ("softmax", M, 0), ("clamp", M, 0.2, 0.5), ("matmul", M, M), ("add", M, M), ("where", M > 0.3, M, M), ("addmm", M, M, M),
    ("gather", M, 0, PLACES[None]), ("index_select", M, 0, PLACES), ("outer", V, V), ("dot", V, V), ("cat", [M, M]),
    ("stack", [M, M]),
    ("vstack", [M, M]), ("hstack", [M, M]), ("block_diag", M, M), ("einsum", "ij,jk->ik", M, M), ("searchsorted", V, V),
    ("lstm_cell", SEQ[0, :1, :3], (M[:1, :2], M[:1, :2]), np.ones((8, 3), "f"), np.ones((8, 2), "f")),
    ("gru_cell", M[:1], M[:1, :2], np.ones((6, 3), "f"), np.ones((6, 2), "f")),
    ("rnn_tanh_cell", M[:1], M[:1, :2], np.ones((2, 3), "f"), np.ones((2, 2), "f")),
    ("linalg.solve", SPD, M), ("linalg.lstsq", SPD, M), ("linalg.tensorsolve", SPD, V), ("linalg.tensorinv", SPD, 1),
    ("linalg.householder_product", M, V), ("linalg.inv", SPD), ("linalg.norm", M),
    ("linalg.svd", M), ("linalg.multi_dot", [M, M]),
    ("linalg.qr", M), ("linalg.cholesky", SPD), ("linalg.det", M), ("linalg.matrix_power", M, 2), ("fft.fft", M),
    ("fft.fftshift", M), ("fft.ifftshift", M), ("fft.rfft", M), ("special.expit", M), ("special.xlogy", M, M),
    ("F.linear", M, M, V), ("F.dropout", M), ("F.alpha_dropout", M), ("F.feature_alpha_dropout", M), ("F.relu", M), ("F.gelu", M),
    ("F.softmax", M, 0), ("F.max_pool1d", SEQ, 2), ("F.max_pool2d", IMAGE, 2), ("F.max_pool3d", VOLUME, 2),
    ("F.avg_pool1d", SEQ, 2), ("F.avg_pool2d", IMAGE, 2), ("F.avg_pool3d", VOLUME, 2), ("F.adaptive_avg_pool1d", SEQ, 2),
    ("F.adaptive_avg_pool2d", IMAGE, 2), ("F.adaptive_avg_pool3d", VOLUME, 2), ("F.adaptive_max_pool1d", SEQ, 2),
    ("F.adaptive_max_pool2d", IMAGE, 2), ("F.adaptive_max_pool3d", VOLUME, 2), ("F.lp_pool2d", IMAGE, 2.0, 2),
    ("F.conv1d", SEQ, SEQ[:, :, :3]), ("F.conv2d", IMAGE, IMAGE[..., :3, :3]),
    ("F.conv_transpose1d", SEQ, np.ones((2, 1, 3), "f")),
    ("F.conv_transpose2d", IMAGE, np.ones((2, 1, 3, 3), "f")), ("F.conv_transpose3d", VOLUME, np.ones((2, 1, 2, 2, 2), "f")),
    ("F.pad", M, (1, 1)), ("F.unfold", IMAGE, 2), ("F.fold", np.ones((1, 8, 25), "f"), (6, 6), 2),
    ("F.pixel_shuffle", np.ones((1, 4, 2, 2), "f"), 2), ("F.pixel_unshuffle", IMAGE, 2),
    ("F.grid_sample", IMAGE, IMAGE[:, :, :2, :2]),
    ("F.batch_norm", M, V, V), ("F.layer_norm", M, (3,)), ("F.group_norm", IMAGE, 2), ("F.pdist", M),
    ("F.scaled_dot_product_attention", M[None], M[None], M[None]), ("F.mse_loss", M, M), ("F.cross_entropy", M, PLACES),
    ("F.gaussian_nll_loss", M, M, M), ("F.kl_div", M, M), ("F.embedding", PLACES, M), ("F.one_hot", PLACES),
    ("F.bilinear", M, M, np.ones((2, 3, 3), "f")),
    ("F.channel_shuffle", IMAGE, 2), ("channel_shuffle", IMAGE, 2), ("native_channel_shuffle", IMAGE, 2), ("tile", M, (2, 1)),
    ("randint_like", M, 3), ("F.max_pool2d_with_indices", IMAGE, 2), ("F.adaptive_max_pool2d_with_indices", IMAGE, 2),
    ("F.adaptive_max_pool3d_with_indices", VOLUME, 2), ("F.max_pool3d_with_indices", VOLUME, 2),
    ("F.conv_tbc", SEQ, np.ones((1, 6, 3), "f"), V),
    ("F.cosine_embedding_loss", M, M, V), ("F.gumbel_softmax", M), ("F.multi_margin_loss", M, PLACES), ("F.nll_loss", M, PLACES),
    ("F.multilabel_margin_loss", M, PLACES[None].repeat(3, 0)), ("F.pairwise_distance", M, M), ("F.poisson_nll_loss", M, M),
    ("relu_", M), ("zero_", M), ("fill_", M, 2.0), ("F.soft_margin_loss", M, M), ("F.triplet_margin_loss", M, M, M),
    ("native_dropout", M, 0.5, True), ("F.affine_grid", np.ones((1, 2, 3), "f"), (1, 1, 2, 2)),
    ("F.ctc_loss", SEQ.transpose(2, 0, 1), np.ones((1, 2), int), np.array([6]), np.array([2])),
]  # fmt: skip
KINDS = {"list": lambda a: a.tolist(), "array": lambda a: a, "text": lambda a: "abc", "object": lambda a: object()}


def cases():
    for name, *arguments in CALLS:
        for place, argument in enumerate(arguments):
            inside = isinstance(argument, (list, tuple)) and isinstance(argument[0], np.ndarray)
            if isinstance(argument, np.ndarray) or inside:
                yield from ((name, arguments, place, kind) for kind in KINDS)


def tensors(value):
    if isinstance(value, np.ndarray):
        return pullback.tensor(value)
    several = isinstance(value, (list, tuple)) and isinstance(value[0], np.ndarray)
    return type(value)(map(tensors, value)) if several else value


def function(name):
    found = pullback.nn if name.startswith("F.") else pullback
    for part in name.replace("F.", "functional.").split("."):
        found = getattr(found, part)
    return found


def values(result):
    if isinstance(result, (list, tuple)):
        return [part for each in result for part in values(each)]
    return [result.detach().numpy() if isinstance(result, pullback.Tensor) else result]


@pytest.mark.parametrize(
    ("name", "arguments", "place", "kind"), list(cases()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_an_object_that_is_no_tensor(name, arguments, place, kind):
    given = [tensors(value) for value in arguments]
    taken = arguments[place]
    foreign = KINDS[kind](taken) if isinstance(taken, np.ndarray) else type(taken)(map(KINDS[kind], taken))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pullback.manual_seed(0)
        want = function(name)(*given)
        given[place] = foreign
        pullback.manual_seed(0)
        try:
            got = function(name)(*given)
        except (TypeError, ValueError, RuntimeError) as error:
            assert kind in ("text", "object") or isinstance(error, TypeError), error
            return
    assert kind in ("list", "array")
    for one, other in zip(values(got), values(want), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


SAID = [
    ("reshape([1, 2], (2,))", "reshape(): argument 'input' (position 1) must be Tensor, not list"),
    ("transpose(np.ones((2, 2)), 0, 1)", "transpose(): argument 'input' (position 1) must be Tensor, not numpy.ndarray"),
    ("triu([[1.0]])", "triu(): argument 'input' (position 1) must be Tensor, not list"),
    ("nn.functional.max_pool2d(np.ones((1, 2, 2)), 2)", "max_pool2d(): argument 'input' (position 1) must be Tensor"),
    ("nn.functional.linear(x, x, [1.0, 2.0])", "linear(): argument 'bias' (position 3) must be Tensor, not list"),
    ("nn.functional.scaled_dot_product_attention(x, [1.0], x)", "argument 'key' (position 2) must be Tensor, not list"),
    ("x.matmul(None)", "matmul(): argument"),
    ("cartesian_prod(x[0], [1.0])", "cartesian_prod(): argument 'tensors' (position 2) must be Tensor, not list"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words"), SAID)
def test_the_argument_is_named(call, words):
    with pytest.raises(TypeError) as caught:
        eval(f"t.{call}" if not call.startswith("x.") else call, {"t": pullback, "np": np, "x": pullback.ones(2, 2)})
    assert words in str(caught.value)


LAYERS = ["Linear(2, 2)", "Conv2d(1, 1, 1)", "ConvTranspose2d(1, 1, 1)", "MaxPool2d(1)", "AvgPool2d(1)", "BatchNorm1d(2)",
          "LayerNorm(2)", "Dropout()", "ReLU()", "GELU()", "Softmax(0)", "Flatten()", "ZeroPad2d(1)", "PixelShuffle(1)",
          "Unfold(1)", "Embedding(2, 2)", "LSTM(2, 2)", "GRU(2, 2)", "Upsample(2)", "AdaptiveAvgPool2d(1)",
          "Sequential(t.nn.Flatten())"]  # fmt: skip


VALUES = {"list": [[1.0, 2.0]], "array": np.ones((1, 1, 2, 2), "f"), "nothing": None, "text": "abc"}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("layer", LAYERS)
def test_layers(layer, value):
    raised = []
    for t in (torch, pullback):
        try:
            eval(f"t.nn.{layer}", {"t": t})(VALUES[value])
        except Exception as error:
            raised.append(error)
    assert len(raised) < 2 or not isinstance(raised[1], AttributeError) or isinstance(raised[0], AttributeError)


def test_an_error_of_a_program_stays_its_own():
    class Broken(pullback.nn.Module):
        def forward(self, x):
            return x.no_such_thing

    with pytest.raises(AttributeError, match="no_such_thing"):
        Broken()(pullback.ones(1))
