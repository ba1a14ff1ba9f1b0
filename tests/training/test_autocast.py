"""Which dtypes come out under autocast, function by function, as in torch; values and gradients follow."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# x and y are matrices of the dtype in question, full is a float32 one.
CASES = """
torch.cat([x, full])
torch.stack([x, full])
x @ full
torch.mv(x, x[0])
torch.addmv(x[0], x, x[0])
torch.addmm(x, x, y)
torch.bmm(x[None], y[None])
torch.baddbmm(x[None], x[None], y[None])
torch.addbmm(x, x[None], y[None])
torch.einsum('ij,jk->ik', x, y)
torch.outer(x[0], y[0])
torch.tensordot(x, y, 1)
torch.tensordot(x, y, 2)
F.prelu(x, y[0])
F.prelu(x, full[0, :1])
F.linear(x, y)
F.bilinear(x, y, x[None])
F.conv1d(x[None], y[None])
F.conv2d(x[None, None], y[None, None])
F.conv_transpose2d(x[None, None], y[None, None])
F.scaled_dot_product_attention(x[None, None], y[None, None], x[None, None])
F.softmax(x, -1)
F.layer_norm(x, (4,))
F.group_norm(x, 2)
F.gelu(x)
x.sum()
x.exp()
x.prod()
torch.trace(x)
torch.cdist(x, y)
torch.quantile(x, 0.5)
F.avg_pool3d(x[None, None], 1)
F.avg_pool2d(x[None], 2)
F.max_pool3d(x[None, None], 1)
F.max_pool2d(x[None], 2)
F.adaptive_avg_pool3d(x[None, None], 1)
F.adaptive_max_pool3d(x[None, None], 1)
F.grid_sample(x[None, None], torch.zeros(1, 2, 2, 2, dtype=x.dtype), align_corners=False)
F.pad(x, (1, 1), mode='reflect')
F.pad(x[None], (1, 1, 1, 1), mode='replicate')
F.pad(x, (1, 1), mode='circular')
F.pad(x, (1, 1))
F.interpolate(x[None], scale_factor=2)
torch.inverse(x)
x.inverse()
torch.linalg.inv(x)
torch.linalg.solve(x, y)
torch.linalg.svdvals(x)
torch.linalg.qr(x)[0].abs()
torch.linalg.eigvalsh(x)
torch.pinverse(x)
torch.cholesky_inverse(x)
torch.linalg.lstsq(x, y)[0]
torch.linalg.matrix_norm(x)
torch.fft.fft(x)
torch.fft.rfft(x)
torch.view_as_complex(x[:, :2].contiguous())
F.mse_loss(x, y)
F.l1_loss(x, y)
F.l1_loss(x, y, reduction='none')
F.smooth_l1_loss(x, y)
F.huber_loss(x, y)
F.kl_div(x, y, reduction='sum')
F.poisson_nll_loss(x, y)
F.gaussian_nll_loss(x, y, y.abs())
F.hinge_embedding_loss(x, y.sign())
F.cosine_embedding_loss(x, y, torch.ones(4))
F.margin_ranking_loss(x, y, x)
F.triplet_margin_loss(x, y, full)
F.soft_margin_loss(x, y)
F.multi_margin_loss(x, torch.arange(4))
F.multilabel_margin_loss(x, torch.zeros(4, 4, dtype=torch.int64))
F.multilabel_soft_margin_loss(x, y)
F.nll_loss(x, torch.arange(4))
F.cross_entropy(x, torch.arange(4))
F.cross_entropy(x, y)
F.binary_cross_entropy_with_logits(x, y)
torch.nn.L1Loss()(x, y)
torch.nn.CrossEntropyLoss(label_smoothing=0.1)(x, torch.arange(4))
F.ctc_loss(F.log_softmax(x, -1)[:, None], torch.tensor([[1, 2]]), torch.tensor([4]), torch.tensor([2]))
F.cosine_similarity(x, y)
F.pairwise_distance(x, y)
x + full
""".strip().splitlines()


def outcome(library: object, code: str, dtype: str) -> tuple[str, np.ndarray, str]:
    """Dtype and value of the result, and the dtype of the gradient of x."""
    kind = getattr(library, dtype)
    x = (library.eye(4) * 2 + 0.25).to(kind).requires_grad_()
    y = (library.eye(4).flip(0) + 0.5).to(kind)
    names = {"torch": library, "F": library.nn.functional, "x": x, "y": y, "full": library.ones(4, 4)}
    with library.autocast("cpu"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = eval(code, names)
    total = (result if result.dtype.is_floating_point else result.abs()).float().sum()
    total.backward()
    return str(result.dtype).split(".")[-1], total.item(), str(x.grad.dtype).split(".")[-1]


# Torch asks for one dtype here, and autocast leaves float64 alone; Pullback promotes.
REFUSED_BY_TORCH = {("x @ full", "float64"), ("F.prelu(x, full[0, :1])", "float64")}
ROWS = [(code, dtype) for code in CASES for dtype in ("bfloat16", "float32", "float64")]


@pytest.mark.parametrize(("code", "dtype"), [row for row in ROWS if row not in REFUSED_BY_TORCH])
def test_dtypes(code: str, dtype: str) -> None:
    expected, found = outcome(torch, code, dtype), outcome(pullback, code, dtype)
    assert found[0] == expected[0] and found[2] == expected[2]
    np.testing.assert_allclose(found[1], expected[1], rtol=0.005, atol=1e-5)


def test_functions_inside_a_loss_run_without_autocast() -> None:
    with pullback.autocast("cpu"):
        pullback.nn.functional.l1_loss(pullback.ones(2), pullback.zeros(2))
        assert pullback.is_autocast_enabled("cpu")
        with pytest.raises(RuntimeError):
            pullback.linalg.inv(pullback.zeros(2, 2))
        assert pullback.is_autocast_enabled("cpu")
    assert not pullback.is_autocast_enabled("cpu")


def test_whether_autocast_is_there_for_a_device_is_asked_by_its_name():
    assert pullback.amp.is_autocast_available("cpu") and pullback.amp.is_autocast_available("cuda")
    with pytest.raises(RuntimeError, match="device"):
        pullback.amp.is_autocast_available("not a real device")
