"""The operator table: every differentiable operation checked by finite differences, to second order and forwards.

A row is a call on tensors `x`, `y`, ... of the shapes and domains given. `c` rows are checked with complex inputs too.
Torch takes no part here: this is the witness that would notice if torch itself were wrong.
"""

import zlib

import numpy as np
import pytest

import pullback as torch
import pullback.nn.functional as F
from pullback.autograd import gradcheck, gradgradcheck

# domain -> (low, high) of the inputs' elements
DOMAINS = {"any": (-2.0, 2.0), "pos": (0.3, 2.0), "unit": (-0.8, 0.8), "one+": (1.2, 3.0), "prob": (0.1, 0.9)}

UNARY = {  # name: domain, complex too
    "abs": ("pos", True), "acos": ("unit", True), "acosh": ("one+", True), "asin": ("unit", True), "asinh": ("any", True),
    "atan": ("any", True), "atanh": ("unit", True), "cos": ("any", True), "cosh": ("any", True), "digamma": ("pos", False),
    "erf": ("any", False), "erfc": ("any", False), "erfinv": ("unit", False), "exp": ("any", True), "exp2": ("any", True),
    "expm1": ("any", True), "i0": ("any", False), "lgamma": ("pos", False), "log": ("pos", True), "log10": ("pos", True),
    "log1p": ("pos", True), "log2": ("pos", True), "logit": ("prob", False), "neg": ("any", True), "reciprocal": ("pos", True),
    "rsqrt": ("pos", True), "sgn": ("pos", True), "sigmoid": ("any", True), "sin": ("any", True), "sinc": ("pos", True),
    "sinh": ("any", True), "sqrt": ("pos", True), "square": ("any", True), "tan": ("unit", True), "tanh": ("any", True),
    "deg2rad": ("any", False), "rad2deg": ("any", False), "frac": ("pos", False), "nan_to_num": ("any", False),
    "angle": ("pos", False), "real": ("any", True), "conj": ("any", True), "relu": ("any", False),
    "special.entr": ("pos", False), "special.erfcx": ("any", False), "special.i0e": ("pos", False), "special.i1": ("any", False),
    "special.i1e": ("pos", False), "special.log_ndtr": ("any", False), "special.ndtr": ("any", False), "special.ndtri": ("prob", False),
    "special.bessel_j0": ("pos", False), "special.bessel_j1": ("pos", False), "special.bessel_y0": ("pos", False),
    "special.bessel_y1": ("pos", False), "special.modified_bessel_k0": ("pos", False), "special.modified_bessel_k1": ("pos", False),
    "nn.functional.celu": ("any", False), "nn.functional.elu": ("any", False), "nn.functional.gelu": ("any", False),
    "nn.functional.hardswish": ("any", False), "nn.functional.leaky_relu": ("any", False), "nn.functional.logsigmoid": ("any", False),
    "nn.functional.mish": ("any", False), "nn.functional.selu": ("any", False), "nn.functional.silu": ("any", False),
    "nn.functional.softplus": ("any", False), "nn.functional.softsign": ("any", False), "nn.functional.tanhshrink": ("any", False),
}  # fmt: skip

# name: (call, shapes, domain, complex too)
CALLS = {
    # arithmetic
    "add": (lambda x, y: x + y, [(2, 3), (3,)], "any", True),
    "add alpha": (lambda x, y: torch.add(x, y, alpha=3), [(2, 3), (2, 1)], "any", True),
    "sub": (lambda x, y: x - y, [(2, 3), (2, 1)], "any", True),
    "rsub": (lambda x: 2 - x, [(3,)], "any", True),
    "mul": (lambda x, y: x * y, [(2, 3), (3,)], "any", True),
    "div": (lambda x, y: x / y, [(2, 3), (3,)], "pos", True),
    "reverse div": (lambda x: 2 / x, [(3,)], "pos", True),
    "pow": (lambda x, y: x**y, [(3,), (2, 3)], "pos", True),
    "pow scalar": (lambda x: x**3, [(3,)], "any", True),
    "scalar pow": (lambda x: 2**x, [(3,)], "any", True),
    "remainder": (lambda x: torch.remainder(x, 0.7), [(3,)], "pos", False),
    "atan2": (torch.atan2, [(2, 3), (3,)], "pos", False),
    "hypot": (torch.hypot, [(2, 3), (3,)], "pos", False),
    "logaddexp": (torch.logaddexp, [(2, 3), (3,)], "any", False),
    "logaddexp2": (torch.logaddexp2, [(2, 3), (3,)], "any", False),
    "maximum": (torch.maximum, [(2, 3), (3,)], "any", False),
    "fmin": (torch.fmin, [(2, 3), (3,)], "any", False),
    "lerp": (torch.lerp, [(3,), (3,), (3,)], "any", True),
    "addcmul": (lambda x, y, z: torch.addcmul(x, y, z, value=2), [(3,), (2, 3), (3,)], "any", True),
    "addcdiv": (lambda x, y, z: torch.addcdiv(x, y, z, value=2), [(3,), (2, 3), (3,)], "pos", True),
    "xlogy": (torch.xlogy, [(2, 3), (3,)], "pos", False),
    "xlog1py": (torch.special.xlog1py, [(2, 3), (3,)], "pos", False),
    "copysign": (torch.copysign, [(3,), (3,)], "pos", False),
    "polar": (torch.polar, [(3,), (3,)], "pos", False),
    "complex": (torch.complex, [(3,), (3,)], "any", False),
    "where": (lambda x, y: torch.where(x > y, x * y, y), [(2, 3), (3,)], "any", False),
    "clamp": (lambda x: x.clamp(-1, 1), [(5,)], "any", False),
    "polygamma": (lambda x: torch.polygamma(1, x), [(3,)], "pos", False),
    "mvlgamma": (lambda x: torch.mvlgamma(x, 2), [(3,)], "one+", False),
    # reductions
    "sum": (lambda x: x.sum(1, keepdim=True), [(2, 3)], "any", True),
    "mean": (lambda x: x.mean((0, 2)), [(2, 3, 2)], "any", True),
    "prod": (lambda x: x.prod(1), [(2, 3)], "any", True),
    "prod all": (lambda x: x.prod(), [(4,)], "any", True),
    "std": (lambda x: x.std(1), [(2, 4)], "any", True),
    "var": (lambda x: torch.var(x, 0, correction=0), [(3, 4)], "any", True),
    "logsumexp": (lambda x: torch.logsumexp(x, 1), [(2, 3)], "any", False),
    "softmax": (lambda x: F.softmax(x, 1), [(2, 3)], "any", False),
    "log_softmax": (lambda x: F.log_softmax(x, 0), [(3, 2)], "any", False),
    "amax": (lambda x: x.amax(1), [(2, 3)], "any", False),
    "max": (lambda x: x.max(1).values, [(2, 3)], "any", False),
    "median": (lambda x: x.median(1).values, [(2, 3)], "any", False),
    "norm 2": (lambda x: x.norm(), [(2, 3)], "any", True),
    "norm 3": (lambda x: torch.linalg.vector_norm(x, 3, dim=1), [(2, 3)], "pos", True),
    "cumsum": (lambda x: x.cumsum(1), [(2, 3)], "any", True),
    "cumprod": (lambda x: x.cumprod(1), [(2, 3)], "any", True),
    "logcumsumexp": (lambda x: torch.logcumsumexp(x, 0), [(4,)], "any", False),
    "cummax": (lambda x: torch.cummax(x, 0).values, [(4,)], "any", False),
    "sort": (lambda x: x.sort(1).values, [(2, 4)], "any", False),
    "topk": (lambda x: x.topk(2).values, [(5,)], "any", False),
    "kthvalue": (lambda x: x.kthvalue(2).values, [(5,)], "any", False),
    "quantile": (lambda x: torch.quantile(x, 0.3), [(5,)], "any", False),
    "diff": (lambda x: torch.diff(x), [(5,)], "any", True),
    "trapezoid": (lambda x: torch.trapezoid(x), [(5,)], "any", True),
    "gradient": (lambda x: torch.gradient(x)[0], [(5,)], "any", True),
    "cov": (lambda x: torch.cov(x), [(2, 5)], "any", True),
    "renorm": (lambda x: torch.renorm(x, 2, 0, 1.0), [(2, 3)], "pos", False),
    # shapes and indices
    "permute": (lambda x: x.permute(1, 2, 0), [(2, 3, 2)], "any", True),
    "reshape": (lambda x: x.t().reshape(6), [(2, 3)], "any", True),
    "expand": (lambda x: x.expand(4, 2, 3), [(2, 1)], "any", True),
    "index": (lambda x: x[[0, 1, 1], [2, 0, 0]], [(2, 3)], "any", True),
    "slice": (lambda x: x[:, 1:, None], [(2, 3)], "any", True),
    "flip roll": (lambda x: x.flip(0).roll(1, 1), [(2, 3)], "any", True),
    "tril triu": (lambda x: x.tril() + x.triu(1) * 2, [(3, 3)], "any", True),
    "diagonal": (lambda x: x.diagonal(1), [(3, 4)], "any", True),
    "diag_embed": (lambda x: torch.diag_embed(x), [(2, 3)], "any", True),
    "repeat": (lambda x: x.repeat(2, 3), [(2, 2)], "any", True),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), [(2, 2)], "any", True),
    "unfold": (lambda x: x.unfold(0, 3, 2), [(7,)], "any", True),
    "as_strided": (lambda x: x.as_strided((2, 2), (1, 2)), [(5,)], "any", True),
    "split": (lambda x: x.split(2)[1] * 2, [(5,)], "any", True),
    "unbind": (lambda x: x.unbind(1)[2], [(2, 3)], "any", True),
    "cat": (lambda x, y: torch.cat([x, y, x], 1), [(2, 3), (2, 1)], "any", True),
    "stack": (lambda x, y: torch.stack([x, y], 1), [(2, 3), (2, 3)], "any", True),
    "gather": (lambda x: x.gather(1, torch.tensor([[0, 2, 2], [1, 0, 1]])), [(2, 3)], "any", True),
    "scatter_add": (lambda x, y: x.scatter_add(0, torch.tensor([0, 2, 2]), y), [(4,), (3,)], "any", True),
    "scatter prod": (
        lambda x, y: x.scatter_reduce(0, torch.tensor([0, 2, 2]), y, "prod"), [(4,), (3,)], "pos", False),
    "index_add": (lambda x, y: x.index_add(0, torch.tensor([1, 1]), y), [(3, 2), (2, 2)], "any", True),
    "index_copy": (lambda x, y: x.index_copy(0, torch.tensor([2, 0]), y), [(3, 2), (2, 2)], "any", True),
    "index_put": (lambda x, y: x.index_put((torch.tensor([0, 2]),), y), [(3,), (2,)], "any", True),
    "take_along_dim": (lambda x: torch.take_along_dim(x, torch.tensor([[0], [2]]), 1), [(2, 3)], "any", True),
    "masked_fill": (lambda x: x.masked_fill(torch.tensor([True, False, True]), 0.5), [(2, 3)], "any", True),
    "masked_select": (lambda x: x.masked_select(torch.tensor([True, False, True])), [(2, 3)], "any", True),
    "in place": (lambda x, y: x.clone().mul_(y).add_(x), [(3,), (3,)], "any", True),
    "view in place": (lambda x, y: _write(x, y), [(2, 3), (3,)], "any", True),
    # products and linear algebra
    "mm": (lambda x, y: x @ y, [(2, 3), (3, 2)], "any", True),
    "mv": (lambda x, y: x @ y, [(2, 3), (3,)], "any", True),
    "dot": (lambda x, y: x @ y, [(3,), (3,)], "any", True),
    "bmm": (lambda x, y: x @ y, [(2, 2, 3), (3, 2)], "any", True),
    "einsum": (lambda x, y: torch.einsum("bij,jk->bik", x, y), [(2, 2, 3), (3, 2)], "any", True),
    "tensordot": (lambda x, y: torch.tensordot(x, y, 1), [(2, 3), (3, 2)], "any", True),
    "kron": (torch.kron, [(2, 2), (1, 3)], "any", True),
    "cross": (lambda x, y: torch.linalg.cross(x, y), [(2, 3), (2, 3)], "any", True),
    "cdist": (torch.cdist, [(3, 2), (2, 2)], "any", False),
    "inv": (lambda x: torch.linalg.inv(x + 3 * torch.eye(3)), [(3, 3)], "any", True),
    "det": (lambda x: torch.linalg.det(x + 2 * torch.eye(3)), [(3, 3)], "any", True),
    "slogdet": (lambda x: torch.linalg.slogdet(x + 4 * torch.eye(3))[1], [(3, 3)], "any", True),
    "solve": (lambda x, y: torch.linalg.solve(x + 3 * torch.eye(3), y), [(3, 3), (3, 2)], "any", True),
    "cholesky": (lambda x: torch.linalg.cholesky(x @ x.mH + 2 * torch.eye(2)), [(2, 2)], "any", True),
    "eigvalsh": (lambda x: torch.linalg.eigvalsh(x + x.mH), [(3, 3)], "any", True),
    "svdvals": (lambda x: torch.linalg.svdvals(x), [(3, 2)], "any", True),
    "qr": (lambda x: torch.linalg.qr(x)[1], [(3, 2)], "any", False),
    "pinv": (lambda x: torch.linalg.pinv(x), [(3, 2)], "any", True),
    "matrix_exp": (lambda x: torch.matrix_exp(x), [(2, 2)], "any", True),
    "matrix_power": (lambda x: torch.linalg.matrix_power(x, 3), [(2, 2)], "any", True),
    "triangular": (
        lambda x, y: torch.linalg.solve_triangular(x.triu() + 3 * torch.eye(3), y, upper=True), [(3, 3), (3, 2)], "any", True),
    "fft": (lambda x: torch.fft.fft(x), [(4,)], "any", True),
    "rfft": (lambda x: torch.fft.rfft(x), [(2, 5)], "any", False),
    "irfft": (lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, n=5), [(2, 5)], "any", False),
    "fft2": (lambda x: torch.fft.ifft2(x), [(3, 4)], "any", True),
    # networks
    "linear": (F.linear, [(2, 3), (4, 3), (4,)], "any", True),
    "bilinear": (F.bilinear, [(2, 3), (2, 2), (4, 3, 2), (4,)], "any", False),
    "conv1d": (lambda x, w, b: F.conv1d(x, w, b, stride=2, padding=1), [(2, 2, 5), (3, 2, 3), (3,)], "any", True),
    "conv2d": (lambda x, w: F.conv2d(x, w, padding=1, groups=2), [(1, 2, 4, 4), (2, 1, 3, 3)], "any", False),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w, stride=2), [(1, 2, 2, 3), (2, 1, 2, 2)], "any", False),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), [(1, 1, 4, 4)], "any", False),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2, 1), [(1, 1, 3, 4)], "any", False),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 3), [(1, 2, 7)], "any", False),
    "lp_pool1d": (lambda x: F.lp_pool1d(x, 3, 2), [(1, 1, 6)], "pos", False),
    "layer_norm": (lambda x, w, b: F.layer_norm(x, (4,), w, b), [(2, 4), (4,), (4,)], "any", False),
    "rms_norm": (lambda x, w: F.rms_norm(x, (4,), w), [(2, 4), (4,)], "any", False),
    "group_norm": (lambda x: F.group_norm(x, 2), [(2, 4, 3)], "any", False),
    "batch_norm": (lambda x, w: F.batch_norm(x, None, None, w, training=True), [(4, 3), (3,)], "any", False),
    "embedding": (lambda w: F.embedding(torch.tensor([[0, 2], [2, 1]]), w), [(3, 2)], "any", False),
    "attention": (F.scaled_dot_product_attention, [(1, 2, 3, 2)] * 3, "any", False),
    "gelu tanh": (lambda x: F.gelu(x, approximate="tanh"), [(4,)], "any", False),
    "prelu": (F.prelu, [(2, 3), (1,)], "any", False),
    "glu": (F.glu, [(2, 4)], "any", False),
    "normalize": (lambda x: F.normalize(x, dim=1), [(2, 3)], "pos", False),
    "cosine_similarity": (F.cosine_similarity, [(2, 3), (2, 3)], "pos", False),
    "pairwise_distance": (F.pairwise_distance, [(2, 3), (2, 3)], "any", False),
    "interpolate": (lambda x: F.interpolate(x, scale_factor=2, mode="bilinear"), [(1, 1, 2, 3)], "any", False),
    "bicubic": (lambda x: F.interpolate(x, size=(3, 5), mode="bicubic"), [(1, 1, 2, 3)], "any", False),
    "grid_sample": (lambda x, g: F.grid_sample(x, g, align_corners=False), [(1, 1, 3, 3), (1, 2, 2, 2)], "unit", False),
    "pad": (lambda x: F.pad(x, (1, 2), mode="reflect"), [(1, 1, 4)], "any", False),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), [(1, 4, 2, 2)], "any", False),
    "fold unfold": (lambda x: F.fold(F.unfold(x, 2), (3, 3), 2), [(1, 1, 3, 3)], "any", False),
    # losses, unreduced: vectors are first class
    "mse": (lambda x, y: F.mse_loss(x, y, reduction="none"), [(2, 3), (2, 3)], "any", False),
    "huber": (lambda x, y: F.huber_loss(x, y, delta=0.5), [(4,), (4,)], "any", False),
    "bce": (lambda x: F.binary_cross_entropy(x, torch.tensor([0.2, 1.0, 0.0])), [(3,)], "prob", False),
    "bce logits": (
        lambda x: F.binary_cross_entropy_with_logits(x, torch.tensor([0.2, 1.0, 0.0]), reduction="none"), [(3,)], "any", False),
    "cross_entropy": (lambda x: F.cross_entropy(x, torch.tensor([0, 2]), reduction="none"), [(2, 3)], "any", False),
    "label smoothing": (lambda x: F.cross_entropy(x, torch.tensor([0, 2]), label_smoothing=0.1), [(2, 3)], "any", False),
    "nll": (lambda x: F.nll_loss(x, torch.tensor([0, 2])), [(2, 3)], "any", False),
    "kl_div": (lambda x, y: F.kl_div(x, y, reduction="batchmean"), [(2, 3), (2, 3)], "prob", False),
    "poisson_nll": (lambda x, y: F.poisson_nll_loss(x, y), [(3,), (3,)], "pos", False),
    "gaussian_nll": (F.gaussian_nll_loss, [(3,), (3,), (3,)], "pos", False),
    "ctc": (
        lambda x: F.ctc_loss(
            F.log_softmax(x, 2), torch.tensor([[1, 1], [2, 0], [0, 0]]), torch.tensor([4, 2, 3]), torch.tensor([2, 1, 0]),
            reduction="none"),
        [(4, 3, 3)], "any", False),
    "triplet": (F.triplet_margin_loss, [(2, 3)] * 3, "any", False),
    "soft_margin": (lambda x: F.soft_margin_loss(x, torch.tensor([1.0, -1.0, 1.0])), [(3,)], "any", False),
}  # fmt: skip


def _write(x, y):
    base = x.clone()
    base[1].mul_(y)
    base[:, 0] = y[:2] * y[2]
    return base


def _function(name):
    found = torch
    for part in name.split("."):
        found = getattr(found, part)
    return found


ROWS = {name: (_function(name), [(3,)], domain, c) for name, (domain, c) in UNARY.items()} | CALLS


def inputs(name: str, shapes: list, domain: str, complex_: bool) -> list:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    low, high = DOMAINS[domain]
    arrays = []
    for shape in shapes:
        array = rng.uniform(low, high, shape)
        arrays.append(array + 1j * rng.uniform(0.1, 0.6, shape) if complex_ else array)
    return [torch.tensor(array, requires_grad=True) for array in arrays]


CHECKED = [(name, False) for name in ROWS] + [(name, True) for name, row in ROWS.items() if row[3]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "complex_"), CHECKED, ids=[f"{n}-{'complex' if c else 'real'}" for n, c in CHECKED])
def test_derivatives_by_finite_differences(name, complex_):
    function, shapes, domain, _ = ROWS[name]
    torch.set_default_dtype(torch.float64)
    try:
        values = inputs(name, shapes, domain, complex_)
        assert gradcheck(function, values, check_undefined_grad=False, check_forward_ad=True)
        torch.manual_seed(0)
        assert gradgradcheck(function, values, check_undefined_grad=False, atol=1e-4)
    finally:
        torch.set_default_dtype(torch.float32)


def other_shapes(shapes: list) -> list[list]:
    """The same call on less: first axes of one, no first axes, elements alone."""
    return [[(1, *s[1:]) if s else s for s in shapes], [s[1:] for s in shapes], [(1,) * len(s) for s in shapes]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ROWS)
def test_a_recorded_pass_has_the_gradients_of_a_plain_one(name):
    """Rules run on arrays in one and on tensors in the other: also where axes are missing or have one element."""
    function, shapes, domain, _ = ROWS[name]
    torch.set_default_dtype(torch.float64)
    try:
        for variant in other_shapes(shapes):
            values = inputs(name, variant, domain, False)
            try:
                out = function(*values)
            except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError):
                continue  # no such call
            if out.requires_grad:
                plain, recorded = (
                    torch.autograd.grad(out, values, torch.ones_like(out) * 0.7, True, create_graph, allow_unused=True)
                    for create_graph in (False, True)
                )
                torch.testing.assert_close(
                    *([g for g in found if g is not None] for found in (plain, recorded)), equal_nan=True
                )
    finally:
        torch.set_default_dtype(torch.float32)


PRODUCTS = {
    "linear": F.linear, "matmul": torch.matmul, "inner": torch.inner, "outer": torch.outer, "dot": torch.dot, "mv": torch.mv,
    "mm": torch.mm, "bmm": torch.bmm, "kron": torch.kron, "tensordot": lambda x, y: torch.tensordot(x, y, 1),
    "linear with a bias": lambda x, y: F.linear(x, y, y.sum()),
    "addmm": lambda x, y: torch.addmm(x.sum(), x, y, beta=2, alpha=3), "addmv": lambda x, y: torch.addmv(x.sum(), x, y),
    "addr": lambda x, y: torch.addr(x.sum(), x, y), "vecdot": torch.linalg.vecdot,
    "einsum": lambda x, y: torch.einsum("...i,...i->...", x, y),
}  # fmt: skip
SHAPES = [(), (1,), (3,), (1, 3), (3, 1), (2, 3), (3, 2), (3, 3), (2, 3, 3), (2, 1, 3), (0,), (0, 3), (3, 0)]


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_all_ranks(name):
    """Plain, recorded and forward derivatives agree, and the second derivatives agree with finite differences."""
    rng = np.random.default_rng(0)
    taken = 0
    for first in SHAPES:
        for second in SHAPES:
            values = [torch.tensor(rng.uniform(0.5, 2, shape), requires_grad=True) for shape in (first, second)]
            try:
                out = PRODUCTS[name](*values)
            except (RuntimeError, IndexError, ValueError):
                continue  # these do not fit
            taken += 1
            weights = torch.tensor(rng.uniform(0.5, 2, tuple(out.shape)))
            plain = torch.autograd.grad(out, values, weights, retain_graph=True)
            recorded = torch.autograd.grad(out, values, weights, create_graph=True)
            torch.testing.assert_close(plain, recorded, msg=f"{first} {second}")
            directions = tuple(torch.tensor(rng.uniform(0.5, 2, shape)) for shape in (first, second))
            _, slope = torch.func.jvp(PRODUCTS[name], tuple(x.detach() for x in values), directions)
            along = sum((g * d).sum() for g, d in zip(plain, directions, strict=True))
            torch.testing.assert_close(along, (slope * weights).sum())
            if out.numel() and values[0].numel() <= 6 and values[1].numel() <= 6:
                assert gradgradcheck(PRODUCTS[name], values, check_undefined_grad=False)
    assert taken >= 2


@pytest.mark.filterwarnings("ignore")
def test_far_apart_and_impossible():
    """No derivative of any order overflows where one operand is far larger, or a CTC target cannot be emitted."""
    a = torch.tensor([0.0, 900.0, -900.0], dtype=torch.float64, requires_grad=True)
    for function in (torch.logaddexp, torch.logaddexp2):
        result = function(a, torch.zeros_like(a))
        for _ in range(3):
            (result,) = torch.autograd.grad(result.sum(), a, create_graph=True)
            assert torch.isfinite(result).all()
    x = torch.ones(3, 2, 3, requires_grad=True)
    for zero_infinity, row in ((False, torch.nan), (True, 0.0)):
        losses = F.ctc_loss(
            x.log_softmax(2),
            torch.tensor([[1, 1], [2, 1]]),
            (2, 3),
            (2, 2),
            reduction="none",
            zero_infinity=zero_infinity,
        )
        (plain,) = torch.autograd.grad(losses.sum(), x, retain_graph=True)
        (recorded,) = torch.autograd.grad(losses.sum(), x, create_graph=True)
        torch.testing.assert_close(plain, recorded, equal_nan=True)
        torch.testing.assert_close(plain[:2, 0], torch.full((2, 3), row), equal_nan=True)
        assert torch.isfinite(recorded[:, 1]).all()
