"""Results and gradients lie in memory as torch's do, whatever the layouts of the operands: random fills run along memory."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pullback

from .layouts import layouts, placed, steps, tensors_in

torch = pytest.importorskip("torch")

SHAPE = (2, 3, 4)
VALUES = [np.random.RandomState(seed).randn(*SHAPE) for seed in range(3)]

PAIRS = """
x + y; x - y; x * y; x / y; t.add(x, y, alpha=0.3); t.maximum(x, y); t.fmin(x, y); t.atan2(x, y); t.hypot(x, y)
t.logaddexp(x, y); t.copysign(x, y); t.lerp(x, y, 0.3); t.lerp(x, y, y); t.xlogy(x, y.abs()); t.pow(x.abs(), y)
t.fmod(x, y); t.remainder(x, y); t.div(x, y, rounding_mode="floor"); t.div(x, y, rounding_mode="trunc")
t.heaviside(x, y); t.where(x > y, x, y); t.where(x > 0, x, 0.5); t.where(x > y, x * 2, 0.5); t.float_power(x.abs(), y)
t.ldexp(x, y); t.addcmul(x, y, y); t.addcdiv(x, y, y); x.clamp(min=y); x.clamp(y, y + 1); x.clamp(max=y)
t.special.xlog1py(x, y.abs()); F.l1_loss(x, y, reduction="none"); F.mse_loss(x, y, reduction="none")
F.smooth_l1_loss(x, y, reduction="none"); F.huber_loss(x, y, reduction="none")
t.special.zeta(x.abs() + 2, y.abs() + 1); F.binary_cross_entropy(x.sigmoid(), y.sigmoid(), reduction="none")
F.kl_div(x, y.sigmoid(), reduction="none"); F.binary_cross_entropy_with_logits(x, y.sigmoid(), reduction="none")
F.soft_margin_loss(x, y.sign(), reduction="none"); F.poisson_nll_loss(x, y.abs(), reduction="none")
F.gaussian_nll_loss(x, y, y.abs() + 1, reduction="none"); x > y; x == y; t.isclose(x, y); t.logical_and(x > 0, y > 0)
(x > 0) | (y > 0); t.complex(x, y); t.polar(x, y); x.float() + y; x.long() * y.long(); x + y.float()
x.half() * y.half(); t.igamma(x.abs(), y.abs()); t.gcd(x.long(), y.long()); t.nextafter(x, y)
x.bfloat16() - y.bfloat16(); x.cdouble() * y; x.flatten()[0] + y; y[0] * x; x[:, :1] * y; x * y[..., :1]
x.clone().add_(y); x.masked_fill(y > 0, 1.0); t.cat([x, y]); t.stack([x, y], 1); t.kron(x, y); t.tensordot(x, y, 0)
t.einsum("abc,abc->abc", x, y); t.einsum("abc,abc->cab", x, y); t.einsum("abc,c->bac", x, y[0, 0]); x @ y.mT
t.einsum("abc,adc->bda", x, y); t.einsum("ab,cd->acbd", x[0], y[0]); F.scaled_dot_product_attention(x, y, y)
F.prelu(x, y[0, :, 0]); F.cosine_similarity(x, y, -1); t.cdist(x, y); F.normalize(x) * y; x.dist(y)
""".replace("\n", "; ").split("; ")


def found(library, call, tensors, gradients):
    """The steps of what a call gives, or of the gradients that its operands get."""
    names = dict(zip("xyz", tensors)) | {"t": library, "F": library.nn.functional}
    library.manual_seed(1)
    results = tensors_in(eval(call, names))
    if not gradients:
        return [steps(one) for one in results]
    for one in results:
        if one.requires_grad:
            (one * library.tensor(np.cos(np.arange(one.numel()).reshape(tuple(one.shape))))).sum().abs().backward()
            return [None if x.grad is None else steps(x.grad) for x in tensors]
    return None


def differences(call, ways, gradients=False):
    code, wrong = compile(call, call, "eval"), []
    for way in ways:
        answers = []
        for library in (torch, pullback):
            tensors = [placed(library, values, layout) for values, layout in zip(VALUES, way)]
            if gradients:
                tensors = [tensor.detach().requires_grad_() for tensor in tensors]
            try:
                answers.append(found(library, code, tensors, gradients))
            except RuntimeError:  # torch refuses a few layouts
                if library is pullback:
                    raise
                break
        if len(answers) == 2 and answers[0] != answers[1]:
            wrong.append((way, *answers))
    return wrong


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", filter(None, map(str.strip, PAIRS)))
def test_results_of_two_operands_lie_in_memory_as_torchs_do(call):
    assert not differences(call, itertools.product(layouts(3), repeat=2))


ONES = """
x.exp(); x.erf(); x.lgamma(); x.abs().digamma(); t.special.i0e(x); t.special.ndtr(x); t.nan_to_num(x); t.sinc(x)
x.sigmoid(); t.logit(x.sigmoid()); F.mish(x); F.gelu(x); F.elu(x); F.softplus(x); F.logsigmoid(x); F.hardshrink(x)
t.polygamma(1, x.abs()); t.mvlgamma(x.abs() + 2, 2); t.pow(2.0, x); x**2; x**0.5; 2 / x; 1 - x; x % 0.7
x.clamp(-1, 1); t.frexp(x); x > 0; x.isnan(); x.half(); x.long(); x.float(); x.cdouble(); x.clone(); x.contiguous()
x.bfloat16().double(); x.bool(); x.long().isnan(); x.sgn(); t.zeros_like(x); t.ones_like(x); t.empty_like(x)
t.full_like(x, 2.0); t.rand_like(x); t.randn_like(x); t.randint_like(x, 5); F.dropout(x); F.alpha_dropout(x)
F.feature_alpha_dropout(x); F.dropout1d(x); t.bernoulli(x.sigmoid()); F.rrelu(x, training=True); t.normal(x, 1.0)
t.poisson(x.abs()); x.clone().normal_(); x.flip(0); x.flip(0, 2); t.fliplr(x); t.rot90(x); t.rot90(x, 2)
t.rot90(x, 3); x.roll(1, 0); x.sort(0); x.sort(-1, True); x.argsort(1); t.msort(x); x.topk(2); x.kthvalue(1, 0)
x.median(0); x.mode(0); x.cummax(0); x.cumsum(1); x.cumprod(0); x.logcumsumexp(2); x.diff(dim=0); x.softmax(1)
x.log_softmax(0); F.normalize(x); F.normalize(x, p=1, dim=0); x.sum(1); x.mean(0); x.amax(2); x.var(1); x.std((0, 1))
x.norm(dim=1); x.logsumexp(0); x.any(1); x.prod(0); x.argmax(0); x.nansum(1); x[[0, 1]]; x[:, [0, 2]]; x[..., [0, 0]]
x[[0, 1], :, [1, 2]]; x[t.tensor([[0, 1], [1, 0]])]; x[x > 0]; x[:, t.tensor([[0, 1], [1, 2]])]
x[t.tensor([True, False])]; x[:, 1:, [0]]; x[None, [0]]; x.index_select(1, t.tensor([0, 2]))
x.gather(1, t.zeros(2, 1, 4).long()); x.take(t.tensor([[0, 1]])); x.take_along_dim(x.argsort(1), 1)
x.masked_select(x > 0); x.masked_fill(x > 0, 1.0); x.tril(); x.triu(1); x.index_fill(1, t.tensor([0]), 0.3)
x.index_put((t.tensor([0]),), x[:1]); x.put(t.tensor([0]), x.reshape(-1)[:1]); x.index_add(0, t.tensor([0]), x[:1])
x.index_copy(0, t.tensor([0]), x[:1]); x.scatter(1, t.zeros(2, 1, 4).long(), 0.5)
x.scatter_add(0, t.zeros(1, 3, 4).long(), x); x.scatter_reduce(0, t.zeros(1, 3, 4).long(), x, "amax")
x.renorm(2, 0, 1.0); t.select_scatter(x, x[0] * 2, 0, -1); t.slice_scatter(x, x[:, :1] * 3, 1, 0, 1)
t.diagonal_scatter(x, x.diagonal() * 2); t.diag_embed(x); t.repeat_interleave(x, 2, 1); x.repeat(2, 1, 1); x.tile(2)
F.pad(x, (1, 1)); F.pad(x, (1, 1), "reflect"); F.one_hot(x.argmax(1)); t.cov(x[0]); x.unfold(1, 2, 1); x.unbind(1)
x.split(2, 1); t.gradient(x); t.quantile(x, 0.4, dim=1); t.trapezoid(x, dim=1); t.cumulative_trapezoid(x, dim=1)
t.nn.functional.glu(x, 2); t.histc(x); t.bucketize(x, t.tensor([0.0, 1.0])); t.fft.fft(x); t.fft.fft(x, dim=0)
t.fft.ifft(x, dim=1); t.fft.rfft(x); t.fft.rfft(x, dim=1); t.fft.irfft(x); t.fft.irfft(x, dim=0); t.fft.fft2(x)
t.fft.fftn(x); t.fft.rfft2(x); t.fft.irfftn(x); t.fft.ifftn(x.cdouble(), dim=(0, 2)); t.fft.hfft(x)
t.fft.ihfft(x, dim=0); t.fft.fftshift(x); t.fft.irfft2(x.cdouble(), dim=(2, 0)); x.cdouble().angle()
x.cdouble().abs(); t.view_as_real(x.cdouble()); F.layer_norm(x, (4,)); F.rms_norm(x, (4,))
F.batch_norm(x, None, None, training=True); F.group_norm(x, 1); F.local_response_norm(x, 2); F.instance_norm(x)
F.batch_norm(x, t.zeros(3).double(), t.ones(3).double()); F.max_pool1d(x, 2); F.avg_pool1d(x, 2); F.lp_pool1d(x, 2, 2)
F.adaptive_avg_pool1d(x, 2); F.adaptive_max_pool1d(x, 2); F.interpolate(x, scale_factor=2)
F.conv1d(x, t.ones(2, 3, 2).double()); F.interpolate(x, scale_factor=2, mode="linear")
F.conv_transpose1d(x, t.ones(3, 2, 2).double()); F.embedding(x.argmax(1), x[0]); F.linear(x, t.ones(2, 4).double())
F.linear(x, t.ones(2, 4).double(), t.ones(2).double()); x @ t.ones(4).double(); x @ x.mT; t.outer(x[0, 0], x[1, 0])
t.linalg.qr(x); t.linalg.svd(x); t.svd(x); t.linalg.pinv(x); t.linalg.lu_factor(x); t.linalg.lu(x); t.geqrf(x)
t.linalg.svdvals(x); t.linalg.inv(x @ x.mT); t.linalg.eigh(x @ x.mT); t.linalg.eig(x @ x.mT)
t.linalg.cholesky(x @ x.mT + t.eye(3).double()); t.linalg.cholesky(x @ x.mT + t.eye(3).double(), upper=True)
t.cholesky_inverse(x @ x.mT); t.linalg.matrix_exp(x[:, :, :3]); t.linalg.solve(x @ x.mT + t.eye(3).double(), x)
t.linalg.solve_triangular(x @ x.mT, x, upper=True); t.cholesky_solve(x, x @ x.mT)
t.linalg.solve(x @ x.mT + t.eye(3).double(), x[:, :, :3], left=False); t.linalg.det(x @ x.mT)
t.linalg.matrix_norm(x, 1); t.einsum("aij->aji", x); t.einsum("aij->ai", x); t.vmap(lambda v: v.sin())(x)
t.func.vmap(lambda v: v + 1, in_dims=1)(x)
""".replace("\n", "; ").split("; ")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", filter(None, map(str.strip, ONES)))
def test_results_of_one_operand_lie_in_memory_as_torchs_do(call):
    assert not differences(call, [(layout,) for layout in layouts(3)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", filter(None, map(str.strip, ONES)))
def test_gradients_lie_in_memory_as_their_leaves(call):
    assert not differences(call, [(layout,) for layout in layouts(3)], gradients=True)


IMAGES = """
F.conv2d(x, w); F.conv2d(x, w, t.ones(2).double(), padding=1); F.conv2d(x, w, stride=2); F.conv2d(x[0], w)
F.conv2d(x[:1], w); F.conv2d(x, t.ones(8, 1, 2, 2).double(), groups=4)
F.conv_transpose2d(x, t.ones(4, 2, 2, 2).double()); F.conv1d(x[:, :, 0], w[:, :, 0]); F.max_pool2d(x, 2)
F.max_pool2d(x, 2, return_indices=True); F.max_pool2d(x[0], 2); F.max_pool3d(x[:, :, None], (1, 2, 2))
F.avg_pool2d(x, 2); F.avg_pool1d(x[:, :, 0], 2); F.avg_pool3d(x[:, :, None], (1, 2, 2)); F.lp_pool2d(x, 2, 2)
F.adaptive_avg_pool2d(x, 2); F.adaptive_avg_pool2d(x[0], 2); F.adaptive_max_pool2d(x, 2)
F.adaptive_avg_pool3d(x[:, :, None], (1, 2, 2)); F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2)
F.batch_norm(x, None, None, training=True); F.instance_norm(x)
F.batch_norm(x, t.zeros(4).double(), t.ones(4).double()); F.group_norm(x, 2); F.layer_norm(x, (4,))
F.rms_norm(x, (4,)); F.local_response_norm(x, 2); F.interpolate(x, scale_factor=2)
F.interpolate(x, scale_factor=2, mode="bilinear"); F.interpolate(x, scale_factor=2, mode="bicubic")
F.interpolate(x[:, :, 0], scale_factor=2, mode="linear"); F.pixel_shuffle(x, 2); F.pixel_shuffle(x, 1)
F.pixel_unshuffle(x, 2); F.pixel_unshuffle(x, 1); F.channel_shuffle(x, 2); F.channel_shuffle(x, 1)
F.grid_sample(x, t.zeros(2, 3, 3, 2).double()); F.unfold(x, 2); F.pad(x, (1, 1)); F.pad(x, (1, 1, 1, 1), "reflect")
F.pad(x, (0, 0)); F.pad(x, (1, 1, 1, 1), "replicate"); F.pad(x, (1, 1, 1, 1), "circular"); F.pad(x, (-1, 1))
F.pad(x, (-1, 0)); F.dropout2d(x); F.dropout(x); F.alpha_dropout(x); F.softmax(x, 1); F.log_softmax(x, 1); F.glu(x, 1)
F.prelu(x, t.ones(4).double()); F.normalize(x); t.cat([x, x], 1); t.cat([x, x]); t.cat([x, x + 1], -1)
t.stack([x, x]); t.stack([x, x], 1); t.stack([x, x], -1); x.mean((2, 3)); x.sum(1, keepdim=True); x.amax((2, 3))
x.var(1); x.max(1); x[:, [0, 1]]; x.index_select(3, t.tensor([0, 1])); x.roll(1, 1); x.flip(3)
F.cross_entropy(x, x.softmax(1), reduction="none"); F.cross_entropy(x, x.argmax(1), reduction="none")
t.where(x > 0, x, 0.0); x @ x; F.scaled_dot_product_attention(x, x, x); t.fft.fft2(x); t.fft.rfftn(x, dim=(0, 2))
t.linalg.inv(x + 9 * t.eye(4).double()); x.std(0)
""".replace("\n", "; ").split("; ")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", filter(None, map(str.strip, IMAGES)))
def test_results_of_images_lie_in_memory_as_torchs_do(call):
    values = np.random.RandomState(5).randn(2, 4, 4, 4)
    for layout in layouts(4):
        answers = []
        for t in (torch, pullback):
            names = {"t": t, "F": t.nn.functional, "x": placed(t, values, layout), "w": t.ones(2, 4, 2, 2).double()}
            answers.append([steps(one) for one in tensors_in(eval(call, names))])
        assert answers[0] == answers[1], (layout, *answers)


LARGE = """
x.relu(); x.sin(); x * 2; x + y; x * y; x > y; F.gelu(x); F.gelu(x, approximate="tanh"); F.softplus(x)
F.logsigmoid(x); x.sigmoid(); F.silu(x); F.elu(x); F.leaky_relu(x); x.clamp(-1, 1); t.where(x > 0, x, y)
t.lerp(x, y, 0.3); x.erf(); x.float().relu(); F.dropout(x); x.half() * 2; x.half().exp(); x.half(); x.long() + 1
t.addcmul(x, y, y); F.mse_loss(x, y, reduction="none"); x.softmax(1); x.flip(0)
""".replace("\n", "; ").split("; ")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", filter(None, map(str.strip, LARGE)))
def test_results_of_many_elements_lie_in_memory_as_torchs_do(call):
    ways = [("order", (0, 2, 1)), ("order", (2, 1, 0)), ("gaps", True), ("expanded", 1)]
    values = np.random.RandomState(3).randn(8, 100, 110)
    for first, second in zip(ways, [("order", (0, 1, 2)), *ways], strict=False):
        answers = []
        for t in (torch, pullback):
            names = {"t": t, "F": t.nn.functional, "x": placed(t, values, first), "y": placed(t, values, second)}
            answers.append(steps(eval(call, names)))
        assert answers[0] == answers[1], (first, second)


DRAWN = """
F.dropout(x); F.dropout(x + y); F.dropout(y * x); F.alpha_dropout(x); F.feature_alpha_dropout(x); F.dropout1d(x)
F.rrelu(x, training=True); t.rand_like(x); t.randn_like(x + y); t.randint_like(x, 9); t.bernoulli((x + y).sigmoid())
(x + y).bernoulli_(0.4); (x * y).normal_(); x.clone().uniform_(); x.clone().exponential_()
t.empty_like(x).bernoulli_(0.3); t.normal(x, 1.0); t.normal(x, y.abs()); t.poisson(x.abs())
x.clone().bernoulli_(y.sigmoid()); t.empty_like(x).random_(9); F.gumbel_softmax(x); F.dropout(t.fft.rfft(x).real)
F.dropout(x.flip(0)); F.dropout(x.sort(1)[0]); F.dropout(F.normalize(x)); F.dropout(x[:, [0, 2]])
F.dropout(F.avg_pool1d(x, 2)); F.dropout(x.softmax(1)); F.dropout(t.lerp(x, y, 0.5)); F.dropout(t.where(x > y, x, y))
F.dropout(t.addcmul(x, y, y)); F.dropout(x.clamp(min=y)); F.dropout(x @ y.mT)
""".replace("\n", "; ").split("; ")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", filter(None, map(str.strip, DRAWN)))
def test_the_same_elements_are_drawn_in_every_layout(call):
    for way in itertools.product(layouts(3), repeat=2) if "y" in call else ((layout,) for layout in layouts(3)):
        drawn = []
        for t in (torch, pullback):
            names = {"t": t, "F": t.nn.functional} | {
                name: placed(t, values, layout) for name, values, layout in zip("xy", VALUES, way)
            }
            t.manual_seed(7)
            drawn.append(eval(call, names))
        theirs, ours = (one.numpy() for one in drawn)
        assert np.array_equal(theirs == 0, ours == 0), way
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, err_msg=str(way))


TRIVIAL = """
F.pixel_shuffle(x, 1); F.pixel_unshuffle(x, 1); F.channel_shuffle(x, 1); t.chain_matmul(x[0]); t.quantile(x, 0.5)
t.quantile(x, 0.5, dim=0); t.nanquantile(x, 0.5, dim=0, keepdim=True); t.kron(x, t.ones(1))
t.linalg.matrix_norm(x, 1); x.roll(0); x.sum_to_size(1); t.cat([x]); t.stack([x]); t.hstack([x]); t.column_stack([x])
t.block_diag(x[0]); t.einsum("...", x); t.atleast_1d(x); x.reshape(x.shape); x.flatten(); x.squeeze()
x.expand(x.shape); x.movedim(0, 0); x[:]; x[...]; x[[0]]; x[True]; x.index_select(0, t.arange(len(x)))
x.split(len(x)); x.unfold(0, 1, 1); x.diagonal(); x.tril(); x.flip(()); x.rot90(4); x.roll(0, 0); x.repeat(1, 1, 1)
x.tile(1); x.contiguous(); x.clone(); x.to(x.dtype); x.float(); x.type_as(x); x.to(x, copy=True); x.detach(); x.real
x.resolve_conj(); +x; x.clamp(min=-9); x**1; x * 1; x.sum(()); x.amax(()); x.sum_to_size(x.shape)
t.view_copy(x, x.shape); t.detach_copy(x); t.expand_copy(x, x.shape); F.pad(x, (0, 0)); F.pad(x, ())
F.dropout(x, 0.0); F.dropout(x, training=False); F.alpha_dropout(x, training=False); F.interpolate(x, scale_factor=1)
F.avg_pool1d(x, 1); F.max_pool1d(x, 1); F.adaptive_avg_pool2d(x, (None, None)); t.nn.Flatten(0)(x); t.nn.Identity()(x)
t.fft.fftn(x, dim=()); t.linalg.matrix_power(x[..., :1, :1], 1); t.broadcast_to(x, x.shape); t.as_tensor(x)
t.linalg.cholesky(x[..., :1, :1].abs(), upper=True); t.nn.GRU(x.shape[-1], 2, batch_first=True)(x)[0]; t.diff(x, n=0)
t.unbind_copy(x); x.take(t.arange(x.numel())); t.select_scatter(x, x[0], 0, 0)
""".replace("\n", "; ").split("; ")
ONLY_THERE = (
    "avg_pool1d",
    "max_pool1d",
)  # torch computes these in a view of its own, which nobody can tell but by asking


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", filter(None, map(str.strip, TRIVIAL)))
def test_memory_is_shared_where_torch_shares_it(call):
    for shape in ((2, 3, 3), (1, 1, 1), (2, 3, 1)):
        answers = []
        for t in (torch, pullback):
            x = t.arange(1.0, 1 + np.prod(shape)).reshape(shape).clone()
            results = tensors_in(eval(call, {"t": t, "F": t.nn.functional, "x": x}))
            memory = x.untyped_storage().data_ptr()
            shared = [one is x or one.untyped_storage().data_ptr() == memory for one in results]
            views = [one._is_view() for one in results if not any(name in call for name in ONLY_THERE)]
            answers.append((shared, views, [one is x for one in results]))
        assert answers[0] == answers[1], shape


@pytest.mark.parametrize(
    "given",
    [
        "t.zeros(0, 4, 8)", "t.zeros(4, 0, 8)", "t.zeros(5, 4, 8)[:0].transpose(0, 1)", "t.zeros(1, 4, 8)", "t.zeros(4, 1, 8)",
        "t.zeros(4, 5, 8).permute(1, 0, 2)", "t.zeros(1, 4, 1).expand(3, 4, 8)", "t.zeros(3, 4, 8)[1:2, ::2]",
        "t.zeros(3, 0)", "t.zeros(8)",
    ],
)  # fmt: skip
def test_bytes_read_as_another_dtype_lie_where_they_lay(given):
    def steps_of_views(library):
        x = eval(given, {"t": library})
        for dtype in (library.int8, library.float16, library.int32, library.float64):
            try:
                view = x.view(dtype)
            except RuntimeError as error:
                yield str(error)[:60]
            else:
                yield view.shape, view.stride()

    assert list(map(str, steps_of_views(pullback))) == list(map(str, steps_of_views(torch)))
