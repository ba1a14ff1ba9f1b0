"""Ways to call: positional, keyword, NumPy's names, methods, `out=`. Each line must do what it does in torch."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from against_torch import assert_same, outputs, torch

import pullback

RANDOM = np.random.default_rng(6)
A, B = RANDOM.normal(size=(3, 4)), RANDOM.normal(size=(3, 4))

CALLS = """
x.flip(0,wrong=1)
x.flip(0,dims=(0,))
x.permute(1,0,wrong=1)
x.reshape(12,wrong=1)
x.reshape(12,shape=(12,))
x.view(12,wrong=1)
x.tile(2,wrong=1)
x.repeat(2,1,wrong=1)
x.random_(wrong=1)
x.uniform_(wrong=1)
x.to_sparse(wrong=1)
x.to_sparse(layout=t.sparse_csr).layout
x.to_sparse(dense_dim=1).sparse_dim()
x.type(t.float32,wrong=1)
t.logspace(0,1,3,wrong=1)
t.scalar_tensor(1.,wrong=1)
t.scalar_tensor(1.,layout=t.strided,pin_memory=False)
x.new_tensor([1.],wrong=1)
t.range(0,2,wrong=1)
t.tril_indices(2,2,wrong=1)
t.tril_indices(2,2,requires_grad=False,pin_memory=False)
t.sum(input=x,dim=1)
t.sum(x,axis=1,keepdims=True)
x.sum(axis=0)
x.sum(0,1)
x.sum(dim=(0,1))
t.max(input=x,dim=1)
t.max(x,axis=1)
x.max(dim=1,keepdim=True)
t.max(x,other=y)
t.max(x,1,True)
t.min(x,dim=-1)
t.clamp(input=x,min=0)
x.clip(max=0.5)
x.clip(-1,1)
t.where(condition=x>0,input=x,other=y)
t.where(x>0,x,0)
t.where(x>0,1,2)
t.sort(x,dim=0,descending=True)
t.sort(x,0,True)
x.sort(descending=True)
t.sort(x,stable=True)
t.std(x,dim=1,unbiased=False)
t.std(x,unbiased=False)
t.var(x,1,True,True)
x.std(axis=0)
x.var(1)
x.std(0,keepdim=True)
t.var_mean(x,dim=0,correction=0)
t.randint(low=0,high=5,size=(2,)).shape
t.norm(x,p=2,dim=1)
x.norm(2)
x.norm(p='fro')
x.norm(dim=1,keepdim=True)
t.topk(input=x,k=2)
x.topk(2,dim=0,largest=False,sorted=True)
t.argmax(x,dim=1,keepdim=True)
x.argsort(dim=0,descending=True)
t.cumsum(input=x,dim=0)
x.cumsum(axis=1)
x.softmax(dim=0)
t.softmax(x,-1,dtype=t.float64)
t.softmax(x,1,t.float64)
x.log_softmax(1)
t.logsumexp(x,dim=(0,1))
x.logsumexp(0)
t.quantile(x,q=0.5,dim=0)
t.median(x,dim=0)
x.median(0)
t.lerp(input=x,end=y,weight=0.5)
x.lerp(y,0.5)
t.addcmul(x,y,y,value=2)
x.addcmul(y,y)
x.addcdiv(y,y,value=0.5)
t.pow(input=x.abs(),exponent=2)
t.pow(2,x)
t.div(x,y,rounding_mode="trunc")
t.remainder(x,2)
x.fmod(2)
t.round(x,decimals=2)
x.nan_to_num(nan=1.0)
t.diff(x,n=1,dim=0)
t.unique(x>0,return_counts=True)
t.isclose(x,y,atol=0.5)
t.allclose(x,y)
x.allclose(x)
t.equal(x,y)
t.all(x>0,dim=1)
t.any(x>0,1,keepdim=True)
(x>0).all()
t.nonzero(x>0,as_tuple=False).shape
t.prod(x,dim=0,keepdim=True)
x.prod(0)
t.mean(x,dtype=t.float64)
t.mean(x,(0,1))
x.mean(dim=-1,keepdim=True)
t.amax(x,dim=(0,1))
t.amax(x)
t.aminmax(x,dim=0,keepdim=True)
t.cov(x,correction=0)
t.histc(x,bins=4,min=-1,max=1)
t.bincount(t.tensor([1,2,2]))
t.gradient(x,dim=0)
t.cummax(x,dim=1)
t.kthvalue(x,k=2,dim=1)
t.mode(x,dim=0)
t.dist(x,y,p=1)
t.renorm(x,p=2,dim=0,maxnorm=1.)
t.count_nonzero(x,dim=0)
x.count_nonzero()
t.polygamma(1,x.abs())
t.special.logit(x.abs()/9,eps=0.1)
t.mvlgamma(x.abs()+5,p=2)
t.heaviside(x,values=y)
t.atan2(input=x,other=y)
t.bitwise_and(t.tensor([3]),t.tensor([1]))
t.tensor([3])&1
~t.tensor([True])
t.tensor([4])<<1
t.floor_divide(x,2)
x//1
x%1
-x
+x
abs(x)
x**2
2**x
x>y
x==1
t.logical_not(x)
t.sum(x,[0])
x.sum([])
t.tensor([1,2]).sum()
t.tensor([True,False]).sum()
t.tensor([1,2]).prod()
t.tensor([1,2]).float().mean()
t.bucketize(x,boundaries=t.tensor([0.,1.]))
t.searchsorted(t.tensor([0.,1.]),x,right=True)
x.nansum()
x.nanmean(0)
x.nanmedian()
x.nanquantile(0.3)
x.trunc()
x.fix()
x.frac()
x.erf()
x.sgn()
x.absolute()
x.arcsin()
x.arctan2(y)
x.negative()
x.multiply(y)
x.subtract(y)
x.divide(y)
x.greater(y)
x.less_equal(y)
x.not_equal(y)
x.true_divide(y)
x.square()
x.logaddexp(y)
x.xlogy(y.abs())
x.float_power(2).dtype
x.hypot(y)
x.copysign(y)
x.maximum(y)
x.fmax(y)
x.std(unbiased=True)
x.dist(y)
x.isnan()
x.isinf().any()
x.isfinite().all()
x.signbit()
x.view(-1).msort()
x.sum().item()
x.max().item()
t.trapz(y,x,dim=1)
t.cumulative_trapezoid(x,dx=2.)
t.corrcoef(x)
x.ravel().unique()
t.clamp(x,y,y+1)
t.clamp_(x.clone(),0,1)
t.square_(x.clone())
t.exp_(x.clone())
t.relu_(x.clone())
x.sum(0, 1)
""".strip().splitlines()

OUT = """
add(x,y,out=o)
exp(x,out=o)
max(x,1,out=(v,i))
min(x,dim=1,out=(v,i))
sort(x,out=(o,j))
topk(x,2,out=(o2,j2))
sum(x,1,out=v)
mean(x,1,out=v)
prod(x,1,out=v)
std(x,1,out=v)
cumsum(x,0,out=o)
clamp(x,0,1,out=o)
where(x>0,x,y,out=o)
maximum(x,y,out=o)
erf(x,out=o)
norm(x,2,1,out=v)
logsumexp(x,1,out=v)
argmax(x,1,out=i)
all(x>0,1,out=bo)
eq(x,y,out=ob)
median(x,1,out=(v,i))
kthvalue(x,2,1,out=(v,i))
cummax(x,0,out=(o,j))
histogram(x,3,out=(h,he))
aminmax(x,dim=1,out=(v,v2))
searchsorted(s,x,out=j)
quantile(x,0.5,1,out=v)
amax(x,1,out=v)
nansum(x,1,out=v)
lerp(x,y,0.5,out=o)
addcmul(x,y,y,out=o)
pow(x,2,out=o)
atan2(x,y,out=o)
diff(x,out=o3)
bernoulli(x.abs()/9,out=o)
normal(x,1.,out=o).shape
rand(2,2,out=o4).shape
special.i0e(x,out=o)
mode(x,1,out=(v,i))
polygamma(1,x,out=o)
round(x,out=o)
float_power(x,2,out=o)
""".strip().splitlines()


# Of tensors and of modules: what torch takes, and what it refuses.
TO = """
(t.float32) ('cpu') ('cpu',t.float32) (None,t.float32) (y) (y,True,True) (y,True,True,True) (t.float32,'cpu') ('cpu',True)
('cpu',None,True) (t.float32,device='cpu') (float) (int) (dtype=float) ('cpu',float) (tensor=y) (other=y) (y,dtype=t.float32)
(y,'cpu') (t.float32,t.float64) (t.float32,1) ([1]) (foo=1) (dtype='float64') (device=1.5) (non_blocking=True) ()
""".split()
CALLS += [f"x.to{form}.dtype" for form in TO] + [f"t.nn.Linear(1,1).to{form}.weight.dtype" for form in TO]


def attempt(line: str, names: dict[str, Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return eval(line, names)
        except Exception as error:  # which one is what the test compares
            return error


@pytest.mark.parametrize("line", CALLS)
def test_calls(line: str) -> None:
    want = attempt(line, {"t": torch, "x": torch.tensor(A), "y": torch.tensor(B)})
    got = attempt(line, {"t": pullback, "x": pullback.tensor(A), "y": pullback.tensor(B)})
    if isinstance(want, Exception):
        assert type(got) is type(want), got
        return
    for number, (a, b) in enumerate(zip(outputs(got), outputs(want), strict=True)):
        if isinstance(b, float):
            assert a == pytest.approx(b)
        elif isinstance(b, torch.Tensor):
            assert_same(a, b, f"{line}, output {number}")
        else:
            assert str(a) == str(b)


def targets(t: Any) -> dict[str, Any]:
    """Tensors to write to, by the names the lines use."""
    shapes = {"o": (3, 4), "v": (3,), "v2": (3,), "o2": (3, 2), "h": (3,), "he": (4,), "o3": (3, 3)}
    made = {name: t.zeros(shape, dtype=t.float64) for name, shape in shapes.items()}
    made |= {name: t.zeros(shape, dtype=t.int64) for name, shape in {"i": (3,), "j": (3, 4), "j2": (3, 2)}.items()}
    made |= {"bo": t.zeros(3, dtype=t.bool), "ob": t.zeros(3, 4, dtype=t.bool), "o4": t.zeros(2, 2)}
    return made


@pytest.mark.parametrize("line", OUT)
def test_out(line: str) -> None:
    found = []
    for t in (torch, pullback):
        written = targets(t)
        t.manual_seed(0)
        names = {"t": t, "x": t.tensor(A), "y": t.tensor(B), "s": t.tensor(np.array([-1.0, 0.0, 1.0])), **written}
        result = attempt("t." + line, names)
        assert not isinstance(result, Exception), (t.__name__, result)
        found.append(written)
    for name, want in found[0].items():
        assert_same(found[1][name], want, f"{line}: {name}")


def test_out_refuses_gradients() -> None:
    x = pullback.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        pullback.exp(x, out=pullback.zeros(3))
    with pytest.raises(RuntimeError, match="can't be cast"):
        pullback.exp(pullback.ones(3), out=pullback.zeros(3, dtype=pullback.int64))


def test_segment_reduce() -> None:
    data = RANDOM.normal(size=(6, 3))
    for reduce in ("sum", "mean", "max", "min", "prod"):
        found = []
        for t in (torch, pullback):
            x = t.tensor(data, requires_grad=True)
            y = t.segment_reduce(x, reduce, lengths=t.tensor([1, 3, 2]), initial=0.5)
            z = t.segment_reduce(x.t().contiguous(), reduce, lengths=t.tensor([[2, 4], [1, 5], [3, 3]]), axis=1)
            gradient = t.autograd.grad((y * y).sum(), x)[0]
            found.append((y, z, gradient))
        for want, got in zip(*found, strict=True):
            assert_same(got, want, reduce)


ORDERED = {
    "zeros_like": lambda t, x, order: t.zeros_like(x, memory_format=order),
    "full_like": lambda t, x, order: t.full_like(x, 2.0, memory_format=order),
    "rand_like": lambda t, x, order: t.rand_like(x, memory_format=order),
    "randint_like": lambda t, x, order: t.randint_like(x, 3, memory_format=order),
    "clone": lambda t, x, order: x.clone(memory_format=order),
    "to": lambda t, x, order: x.to(memory_format=order),
    "to another dtype": lambda t, x, order: x.to(t.float64, memory_format=order),
    "double": lambda t, x, order: x.double(memory_format=order),
    "float": lambda t, x, order: x.float(memory_format=order),
    "empty_like": lambda t, x, order: t.empty_like(x, memory_format=order).zero_(),
}
IMAGES = {
    **ORDERED,
    "empty": lambda t, x, order: t.empty(x.shape, memory_format=order).zero_(),
    "contiguous": lambda t, x, order: x.contiguous(memory_format=order),
    "twice": lambda t, x, order: x.contiguous(memory_format=order).contiguous(memory_format=order) + 1,
    "and back": lambda t, x, order: x.contiguous(memory_format=order).to(memory_format=t.contiguous_format),
    "is it so": lambda t, x, order: t.tensor(x.contiguous(memory_format=order).is_contiguous(memory_format=order)),
    "was it so": lambda t, x, order: t.tensor(x.is_contiguous(memory_format=order)),
    "a module": lambda t, x, order: (
        (t.nn.Conv2d if x.dim() == 4 else t.nn.Conv3d)(3, 2, 2).to(memory_format=order).weight
    ),
    "a result": lambda t, x, order: x.contiguous(memory_format=order).relu().sum(2, keepdim=True),
}


@pytest.mark.parametrize("order", ["contiguous_format", "preserve_format"])
@pytest.mark.parametrize("name", ORDERED)
def test_the_order_in_memory_is_as_asked_for(name, order):
    found = []
    for library in (torch, pullback):
        library.manual_seed(0)
        turned = library.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
        result = ORDERED[name](library, turned, getattr(library, order))
        found.append((tuple(result.stride()), result.tolist()))
    assert found[0] == found[1]


@pytest.mark.parametrize("order", ["channels_last", "channels_last_3d"])
@pytest.mark.parametrize("name", IMAGES)
def test_channels_lie_last_where_that_is_asked_for(name, order):
    wanted = {"channels_last": (2, 3, 4, 5), "channels_last_3d": (2, 3, 4, 5, 2)}[order]
    for dims in (wanted, wanted[1:], (*wanted, 2)):
        found = []
        for library in (torch, pullback):
            library.manual_seed(0)
            image = library.arange(float(math.prod(dims))).reshape(dims)
            try:
                result = IMAGES[name](library, image, getattr(library, order))
                found.append((tuple(result.stride()), result.tolist()))
            except RuntimeError as error:
                found.append(str(error)[:50])
        assert found[0] == found[1] or name == "a module" and dims != wanted


def test_gradients_pass_a_copy_in_another_order():
    x = pullback.rand(2, 3, 4, 5, requires_grad=True)
    y = x.contiguous(memory_format=pullback.channels_last)
    assert y.grad_fn.name() == "CloneBackward0" and y.contiguous(memory_format=pullback.channels_last) is y
    (y * y).sum().backward()
    assert pullback.equal(x.grad, 2 * x.detach())
    rows = pullback.vmap(lambda image: image.contiguous(memory_format=pullback.channels_last) * 2)(x.detach()[None])
    assert pullback.equal(rows[0], 2 * x.detach())
