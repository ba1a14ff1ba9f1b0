"""The expressions that programs are made of: `x`, `y` stand for tensors, `d` for a dimension, `s` for a positive matrix.

Arguments are kept where functions are smooth and moderate, so that what differs is not merely rounding. Most lines hold several
expressions, separated by two spaces.
"""

from __future__ import annotations

import re


def table(text: str) -> list[str]:
    """Expressions from a text, where two spaces or a new line stand between them."""
    return [part for part in re.split(r"\n| {2,}", text.strip()) if part]


FUNCTIONS = """sin cos tanh sigmoid erf erfc atan asinh square abs neg sign floor ceil round trunc frac sinc exp2 expm1 deg2rad
rad2deg nan_to_num positive relu selu sgn special.i0e special.i1e special.ndtr special.erfcx special.log_ndtr angle signbit isnan
isfinite logical_not clone ravel atleast_1d atleast_2d atleast_3d special.expit conj_physical special.sinc fix arctan
nn.functional.softsign nn.functional.silu nn.functional.mish nn.functional.gelu nn.functional.elu nn.functional.celu
nn.functional.hardtanh nn.functional.hardswish nn.functional.hardsigmoid nn.functional.hardshrink nn.functional.tanhshrink
nn.functional.softshrink nn.functional.leaky_relu nn.functional.relu6 nn.functional.logsigmoid nn.functional.softplus""".split()

ONE = [f"T.{name}(x)" for name in FUNCTIONS] + table("""
x.clamp(max=3).exp()  (x.abs()+0.1).log()  x.abs().log1p()  (x.abs()+0.1).sqrt()  (x.abs()+0.1).rsqrt()  (x.abs()+0.3).reciprocal()
T.lgamma(x.abs()+0.5)  T.digamma(x.abs()+0.5)  T.logit(T.sigmoid(x))  T.erfinv(T.tanh(x)*0.9)  T.asin(T.tanh(x)*0.9)
T.acos(T.tanh(x)*0.9)  T.atanh(T.tanh(x)*0.9)  T.acosh(x.abs()+1.1)  x.clamp(-3, 3).sinh()  x.clamp(-3, 3).cosh()  x.clamp(-1, 1).tan()
T.log2(x.abs()+0.1)  T.log10(x.abs()+0.1)  T.special.i0(x.clamp(-3, 3))  T.special.i1(x.clamp(-3, 3))  T.special.ndtri(T.sigmoid(x))
T.special.entr(x.abs())  T.polygamma(1, x.abs()+0.5)  T.mvlgamma(x.abs()+2, 2)  T.clamp(x, -0.5, 0.7)  T.clamp(x, min=0.1)
T.nn.functional.gelu(x, approximate='tanh')  T.nn.functional.threshold(x, 0.1, 0.3)  T.pow(x, 2)  x**3  (x.abs()+0.1)**-1.5
2.0**x.clamp(-3, 3)  x**0  1-x  2/(x.abs()+1)  x*0.5  x+1  x%0.7  x//0.7  T.zeros_like(x)+x  x*T.ones_like(x)  T.full_like(x, 0.3)
T.nn.functional.dropout(x, 0.5)  T.nn.functional.dropout(x, 0.5, training=False)  x.double()  x.contiguous()  x.detach()
x.detach().requires_grad_()  x.data  T.frexp(x)[0]  T.special.xlog1py(x, x.abs())  x.to(T.float32)  x.float().double()  x.long()
x.to(T.int32)  x.bool()  x.half()  x*2  x.cdouble()  x.numpy(force=True)*1  T.as_tensor(np.abs(x.detach().numpy()))  x*x.numel()
T.rand_like(x)*x  T.bernoulli(x.detach().sigmoid())*x  T.empty_like(x).fill_(0.2)  x.new_zeros(2)  T.nn.functional.alpha_dropout(x, 0.3)
""")

TWO = table("""
x+y  x-y  x*y  x/(y.abs()+0.5)  T.maximum(x, y)  T.minimum(x, y)  T.fmax(x, y)  T.fmin(x, y)  T.atan2(x, y)  T.hypot(x, y)  x*y+x
T.logaddexp(x, y)  T.logaddexp2(x, y)  T.copysign(x, y)  T.lerp(x, y, 0.3)  T.xlogy(x, y.abs()+0.1)  (x.abs()+0.1)**y.clamp(-2, 2)
T.fmod(x, y.abs()+0.5)  T.remainder(x, y.abs()+0.5)  T.div(x, y.abs()+0.5, rounding_mode='floor')  T.add(x, y, alpha=0.3)
T.div(x, y.abs()+0.5, rounding_mode='trunc')  T.sub(x, y, alpha=2)  T.rsub(x, y)  T.heaviside(x, y)  T.where(x > 0, x, y)
T.where(x > y, x*2, 0.5)  T.float_power(x.abs()+0.1, y.clamp(-2, 2))  T.ldexp(x, y.clamp(-2, 2))  x.clamp(min=y)  x.clamp(y, y+1)
T.addcmul(x, y, y, value=0.3)  T.addcdiv(x, y, y.abs()+1, value=0.3)  T.special.zeta(x.abs()+1.5, y.abs()+0.5)  x > y  x <= y  x == y
T.isclose(x, y)  T.logical_and(x > 0, y > 0)  (x > 0) | (y > 0)  T.nn.functional.mse_loss(x, y)  T.nn.functional.l1_loss(x, y)
T.nn.functional.smooth_l1_loss(x, y)  T.nn.functional.huber_loss(x, y, delta=0.7)  T.nn.functional.kl_div(x, y.sigmoid(), reduction='sum')
T.nn.functional.binary_cross_entropy(x.sigmoid(), y.sigmoid())  T.nn.functional.binary_cross_entropy_with_logits(x, y.sigmoid())
T.nn.functional.soft_margin_loss(x, y.sign().detach())  T.nn.functional.poisson_nll_loss(x.clamp(max=2), y.abs())
T.nn.functional.gaussian_nll_loss(x, y, y.abs()+0.3)  T.nn.functional.cosine_similarity(x, y, dim=-1)  T.nn.functional.pairwise_distance(x, y)
T.nn.functional.hinge_embedding_loss(x, y.sign().detach())  T.nn.functional.l1_loss(x, y, reduction='none')  x.expand_as(y)  x*y.float()
T.matmul(x, y)  T.matmul(x, y.mT)  T.outer(x, y)  T.dot(x, y)  T.mv(x, y)  T.mm(x, y)  T.bmm(x, y)  T.inner(x, y)  T.kron(x, y)
T.tensordot(x, y, 1)  T.einsum('...i,...i->...', x, y)  T.einsum('ij,jk->ik', x, y)  T.einsum('ij,kj->k', x, y)  T.einsum('i,j->ji', x, y)
T.cdist(x, y)  T.nn.functional.linear(x, y)  T.cat([x, y])  T.cat([x, y], -1)  T.stack([x, y])  T.linalg.multi_dot([x, y.mT])
T.linalg.vecdot(x, y)  T.addmm(x, x, y)  T.nn.functional.scaled_dot_product_attention(x, y, y)  T.nn.functional.triplet_margin_loss(x, y, x*0.5)
T.nn.functional.conv1d(x.reshape(1, 1, -1), y.reshape(1, 1, -1)[..., :2])  T.nn.functional.embedding((x.reshape(-1)[:3] > 0).long(), y)
T.searchsorted(x.detach().reshape(-1).sort()[0], y.detach())  T.complex(x, y)  T.polar(x.abs(), y)  T.nn.functional.prelu(x, y.reshape(-1)[:1])
Product.apply(x, y)  T.broadcast_tensors(x, y)[0]  x.view_as(y)  x.to(y)  x.type_as(y)  T.bucketize(x.detach(), y.detach().reshape(-1).sort()[0])
""")

REDUCTIONS = [
    f"T.{name}(x, dim=d)" for name in "sum mean prod std var amax amin logsumexp nansum nanmean norm all any".split()
]
REDUCTIONS += [f"T.{name}(x, dim=d, keepdim=True)" for name in "sum mean std var amax logsumexp".split()]
REDUCTIONS += [f"T.{name}(x, dim=d)[0]" for name in "max min median nanmedian std_mean var_mean aminmax".split()]
REDUCTIONS += table("""
T.sum(x)  T.mean(x)  T.prod(x)  T.std(x)  T.var(x)  T.max(x)  T.min(x)  T.amax(x)  T.norm(x)  T.norm(x, p=1)  T.norm(x, p=3)  T.median(x)
T.norm(x, p=float('inf'))  T.linalg.vector_norm(x, ord=3)  T.quantile(x, 0.3)  T.logsumexp(x, tuple(range(x.dim())))  x.item()*x  T.argmax(x)
T.var(x, correction=0)  T.aminmax(x)[0]  T.nansum(x)  T.count_nonzero(x)  T.linalg.norm(x)  T.count_nonzero(x, dim=d)  T.trace(x)
T.linalg.vector_norm(x, 1.5, dim=d)  T.norm(x, p=2, dim=d, keepdim=True)  T.linalg.vector_norm(x, float('-inf'), dim=d)  T.quantile(x, 0.4, dim=d)
""")

ALONG = table("""
T.cumsum(x, d)  T.cumprod(x.tanh(), d)  T.cummax(x, d)[0]  T.cummin(x, d)[0]  T.logcumsumexp(x, d)  T.softmax(x, d)  T.log_softmax(x, d)
T.nn.functional.normalize(x, dim=d)  T.flip(x, (d,))  T.roll(x, 1, d)  T.diff(x, dim=d)  T.unsqueeze(x, d)  T.squeeze(x, d)
T.sort(x, dim=d, stable=True)[0]  T.sort(x, dim=d, descending=True, stable=True)[0]  T.argsort(x, dim=d, stable=True)  T.unbind(x, d)[-1]
T.split(x, 2, d)[0]  T.chunk(x, 2, d)[-1]  T.tensor_split(x, 2, d)[0]  T.select(x, d, -1)  T.narrow(x, d, 0, 1)  T.trapezoid(x, dim=d)
T.index_select(x, d, T.tensor([0, 0]))  T.repeat_interleave(x, 2, d)  T.cat([x, x], d)  T.stack([x, x], d)  T.renorm(x, 2, d, 1.0)
T.kthvalue(x, 1, d)[0]  x.unfold(d, 2, 1)  T.movedim(x, d, 0)  T.nn.functional.glu(x, d)  T.topk(x, 1, dim=d)[0]  T.argmax(x, d)
T.gather(x, d, T.zeros_like(x, dtype=T.int64))  T.take_along_dim(x, T.argsort(x, dim=d, stable=True), d)  T.index_fill(x, d, T.tensor([0]), 0.3)
T.scatter(x, d, T.zeros_like(x, dtype=T.int64), 0.5)  T.scatter_add(x, d, T.zeros_like(x, dtype=T.int64), x)  T.cumulative_trapezoid(x, dim=d)
T.scatter_reduce(x, d, T.zeros_like(x, dtype=T.int64), x, 'prod')  T.scatter_reduce(x, d, T.zeros_like(x, dtype=T.int64), x, 'amax')
T.index_add(x, d, T.tensor([0, 0]), T.index_select(x, d, T.tensor([0, 0])), alpha=0.5)  T.select_scatter(x, T.select(x, d, 0)*2, d, -1)
T.index_copy(x, d, T.tensor([0]), T.index_select(x, d, T.tensor([0]))*2)  T.slice_scatter(x, T.narrow(x, d, 0, 1)*3, d, 0, 1)
T.unflatten(x, d, (-1, 1))  T.mode(x, d)[0]  T.fft.fft(x, dim=d)  T.fft.rfft(x, dim=d)  T.fft.irfft(x, dim=d)  T.fft.fftshift(x, d)
T.gradient(x, dim=d)[0]  T.swapaxes(x, 0, d)  T.nn.functional.softmin(x, d)
""")

SHAPES = table("""
x.t()  x.mT  x.T  x.expand(2, *x.shape)  x.repeat(2, *([1]*x.dim()))  x.tile((2,))  T.flatten(x)  x.view(-1)  x.view(x.shape+(1,))
x.transpose(0, -1)  x.permute(list(range(x.dim()-1, -1, -1)))  x.squeeze()  x[None]  x[..., None]  x[0]  x[-1]  x[..., 0]  x[1:]  x[..., 1:]
x[:0]  x[::2]  x[..., ::2]  x[:, None]  x[x > 0]  x[[0, -1]]  x[..., [0, 0]]  x[T.tensor([0, -1])]  x[[0, -1], ..., [0, 0]]  x[:, [0]]
x[()]  T.diagonal(x)  T.diag(x)  T.diag_embed(x)  T.tril(x)  T.triu(x, 1)  T.fliplr(x)  T.rot90(x)  T.masked_select(x, x > 0)
T.masked_fill(x, x > 0, 0.3)  T.as_strided(x.reshape(-1)+0, (2, 2), (1, 1))  T.as_strided(x.reshape(-1)+0, (3,), (0,))  T.take(x, T.tensor([0, 0]))
T.nn.functional.pad(x, (1, 1))  T.nn.functional.pad(x, (1, 0), value=0.5)  T.nn.functional.pad(x, (-1, 1))  T.meshgrid(x, x, indexing='ij')[0]
T.combinations(x)  T.cartesian_prod(x, x)  T.block_diag(x, x)  T.hstack([x, x])  T.column_stack([x, x])  T.cov(x)  T.nonzero(x)
T.put(x, T.tensor([0]), x.reshape(-1)[:1]*2)  T.index_put(x, (T.tensor([0, 0]),), x[:1], accumulate=True)  T.diagonal_scatter(x, T.diagonal(x)*2)
T.masked_scatter(x, x > 0, x*2)  x.reshape(x.shape[::-1])  T.nn.functional.one_hot(T.argmax(x, -1))  x.T.contiguous()  x.swapdims(0, -1).reshape(-1)
x.unsqueeze(0).expand(3, *x.shape)  T.narrow_copy(x, 0, 0, 1)  T.histc(x.detach())  x.contiguous(memory_format=T.channels_last)
""")

MATRICES = table("""
T.linalg.inv(s)  T.linalg.det(s)  T.linalg.slogdet(s)[1]  T.logdet(s)  T.linalg.cholesky(s)  T.linalg.eigvalsh(s)  T.linalg.svdvals(s)
T.linalg.matrix_exp(x.tanh())  T.linalg.matrix_power(x.tanh(), 3)  T.linalg.pinv(s)  T.linalg.solve(s, x)  T.linalg.matrix_norm(x)
T.linalg.solve_triangular(s.tril(), x, upper=False)  T.cholesky_solve(x, T.linalg.cholesky(s))  T.linalg.qr(s)[1].abs()  T.linalg.eigh(s)[0]
T.linalg.matrix_norm(s, ord='nuc')  T.linalg.lu_factor(s)[0]  T.linalg.matrix_norm(x, ord=1)  T.linalg.householder_product(x.tanh()*0.1, x[..., 0, :].tanh())
""")

LAYERS = table("""
T.nn.functional.layer_norm(x, x.shape[-1:])  T.nn.functional.cross_entropy(x, T.zeros(x.shape[0], dtype=T.int64))  T.nn.functional.rms_norm(x, x.shape[-1:])
T.nn.functional.nll_loss(x.log_softmax(-1), T.zeros(x.shape[0], dtype=T.int64))  T.nn.functional.max_pool1d(x.reshape(1, 1, -1), 2)
T.nn.functional.avg_pool1d(x.reshape(1, 1, -1), 2)  T.nn.functional.adaptive_avg_pool1d(x.reshape(1, 1, -1), 2)
T.nn.functional.batch_norm(x, None, None, training=True)  T.nn.functional.group_norm(x.reshape(1, 2, -1), 1)  T.nn.functional.instance_norm(x.reshape(1, 1, -1))
T.nn.functional.interpolate(x.reshape(1, 1, -1), scale_factor=2, mode='linear')  T.nn.functional.unfold(x.reshape(1, 1, 2, -1), (2, 1))
T.nn.functional.pixel_shuffle(x.reshape(1, 4, 1, -1), 2)  T.nn.functional.conv2d(x.reshape(1, 1, 2, -1), x.reshape(1, 1, 2, -1)[..., :1])
T.nn.functional.conv_transpose1d(x.reshape(1, 1, -1), x.reshape(1, 1, -1)[..., :2], stride=2)  T.nn.functional.max_pool2d(x.reshape(1, 1, 2, -1), (2, 1))
T.utils.checkpoint.checkpoint(lambda a: T.sin(a)*a, x, use_reentrant=False)  T.utils.checkpoint.checkpoint(lambda a: T.sin(a)*a, x, use_reentrant=True)
T.utils.checkpoint.checkpoint(lambda a: T.nn.functional.dropout(a, 0.4)*a, x, use_reentrant=False)  Sine.apply(x)  Masked.apply(x)[0]  Tripled.apply(x*1)
WithNumpy.apply(x)
""")

COMPLEX = table("""
x.abs()  T.real(x)  T.imag(x)  x.conj()  x.angle()  T.view_as_real(x)  x*x  x.exp()/(x.exp().abs()+1)  x.sum()  x.mean(-1)  x/(x.abs()+1)
x@x.mH  x.mH  x.prod()  T.fft.ifft(x)  T.fft.fft2(x)  x.sgn()  x.cumsum(0)  T.sqrt(x+3)  T.log(x+3)  x**2  x.reciprocal()  T.tanh(x*0.1)
T.linalg.vector_norm(x)  x*(1+2j)  x.real*x  x.var()  x.square()  x[0]  x.t()  x.reshape(-1)  T.fft.irfft(x)  T.linalg.det(x)  x.diff()
T.resolve_conj(x)  x.pow(1.5)  x.cumprod(0)  x.flip(0)  x.masked_fill(x.abs() > 1, 0.5)  x.real  x.imag  x.to(T.complex64)
""")

WRITES = table("""
x.add_(y)  x.mul_(y)  x.sub_(y, alpha=0.5)  x.div_(y.abs()+0.5)  x.neg_()  x.sin_()  x.tanh_()  x.sigmoid_()  x.relu_()  x.zero_()  x.fill_(0.4)
x.copy_(y)  x.clamp_(-0.5, 0.5)  x.masked_fill_(x > 0.2, 0.1)  x.square_()  x.pow_(2)  x.addcmul_(y, y, value=0.2)  x.lerp_(y, 0.4)  x.abs_()
x.add_(1)  x.mul_(0.7)  x.cos_()  x.atan_()  x.floor_()  x.round_()  x.clamp_(min=0)  x.erf_()  x[0] = y  x[..., 0] = y  x[1:] = y  x[0] *= 2
x[..., -1] += y  x[x > 0] = 0.3  x[[0]] = y  x[::2] *= y  x[0].mul_(3)  x[..., 0].add_(y)  x.view(-1).mul_(2)  x.t().add_(y)
x.unsqueeze(0).mul_(y)  x.diagonal().mul_(2)  x.index_fill_(0, T.tensor([0]), 0.2)  x.index_add_(0, T.tensor([0]), x[:1].clone())
x.index_copy_(0, T.tensor([0]), x[-1:].clone())  x.index_put_((T.tensor([0]),), y)  x.scatter_(0, T.zeros_like(x, dtype=T.int64), 0.5)
x.scatter_add_(0, T.zeros_like(x, dtype=T.int64), x.clone())  x.fill_diagonal_(0.3)  x.t_()  x.unsqueeze_(0)  x.squeeze_()  x.transpose_(0, -1)
x.cumsum_(0)  x.select(0, 0).copy_(x.select(0, -1).clone())  x.narrow(0, 0, 1).sigmoid_()  x.masked_scatter_(x > 0, x.clone()*2)
x.detach().mul_(1.5)  x.data.mul_(1.5)  x.requires_grad_(False)  x.detach_()  x.reciprocal_()  x.unbind(0)[0].mul_(2)  x.chunk(2)[0].mul_(2)
x.swapaxes_(0, -1)  T.relu_(x)  T.nn.functional.elu(x, inplace=True)  T.nn.functional.leaky_relu_(x, 0.1)  x += y  x *= x  x -= y
x.detach().numpy()[...] *= 1.5  x.exponential_()  x.uniform_(-1, 1)  x.bernoulli_(0.5)  T.nn.functional.dropout(x, 0.3, inplace=True)
""")

FRESH = table("""
x.clone()  x*1  x.clone()[0]  x.clone().view(-1)  x.clone().t()  (x+0).unsqueeze(0)  (x*2)[..., :1]  (x*2).squeeze()  (x*1).expand(2, *x.shape)
x.detach().clone()  (x*2).diagonal()  (x*2)[::2]  x.clone().transpose(0, -1)[..., 1:]  x.sin().chunk(2)[0]  x.detach()*2  T.sigmoid(x)
(x.reshape(-1)*1).as_strided((2,), (1,))
""")

LISTENERS = table("""
x.register_hook(lambda g: g*2)  x.register_hook(lambda g: None)  x.retain_grad()  x.register_hook(lambda g: g.clone().add_(1))
x.grad_fn.register_hook(lambda inputs, outputs: None)  x.register_post_accumulate_grad_hook(double_gradient)
""")

# Smooth functions of one tensor, for transforms: their derivatives of every order are compared.
SMOOTH = table("""
a.sin()*a  a.tanh()*a.sum()  (a**3).sum(-1)  a.exp().clamp(max=3)  T.where(a > 0, a, a*2).cumsum(-1)  a.softmax(-1)  a.logsumexp(-1)*a.sum()
(a*a).mean()*a  T.nn.functional.gelu(a)  T.nn.functional.layer_norm(a, a.shape[-1:])  a.flatten().outer(a.flatten())  T.linalg.vector_norm(a)
a.sigmoid().prod(-1)  a@a.mT  a.var(-1)  T.nn.functional.silu(a).flip(-1)  a.roll(1, -1)*a  a.sort(-1)[0]*a  a.amax(-1)*a.sum(-1)  a[..., 0]*a[..., -1]
T.einsum('...i,...i->...', a, a.cos())  a.unsqueeze(-1)*a.unsqueeze(-2)  T.cat([a, a*a], -1)  a.clone().mul_(a)  a.atan2(a*a+1)  a.erf()*a.detach()
T.stack([a.cumprod(-1), a])  a.reshape(-1).cumsum(0)  T.log1p(a*a)  a.index_select(-1, T.tensor([0, 0]))*a[..., :1]  a.clamp(-0.5, 0.5)*a
""")

TRANSFORMS = table("""
T.vmap(F)(x)  T.vmap(F, in_dims=-1, out_dims=-1)(x)  T.func.jacrev(F)(x)  T.func.jacfwd(F)(x)  T.func.grad(lambda a: F(a).sum())(x)
T.func.hessian(lambda a: F(a).sum())(x)  T.vmap(T.func.grad(lambda a: F(a).sum()))(x)  T.func.jvp(F, (x,), (x*2,))[1]  T.func.vjp(F, x)[0]
T.func.jacrev(T.func.jacrev(F))(x)  T.func.jacfwd(T.func.jacrev(F))(x)  T.autograd.functional.jacobian(F, x)  T.vmap(T.func.jacrev(F))(x)
T.autograd.functional.hessian(lambda a: F(a).sum(), x)  T.vmap(T.vmap(F))(x)  T.vmap(F, chunk_size=1)(x)  T.func.vjp(F, x)[1](T.ones_like(F(x)))[0]
T.autograd.functional.jacobian(F, x, vectorize=True)  T.func.grad_and_value(lambda a: F(a).sum())(x)  T.vmap(T.func.hessian(lambda a: F(a).sum()))(x)
T.autograd.functional.jvp(F, x, x*2)[1]  T.func.linearize(F, x)[1](x*3)  T.func.grad(lambda a: T.func.grad(lambda b: F(b).sum())(a).sum())(x)
T.utils.checkpoint.checkpoint(F, x, use_reentrant=False)  T.func.functionalize(F)(x)
""")
