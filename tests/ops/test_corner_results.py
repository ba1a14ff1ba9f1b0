"""Corners that torch's own tests visit: values, dtypes, strides, and what is refused with which words, each as torch has it.

A row is an expression, and behind `##` what the message of the error has to say in both libraries.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# `t` is the library, `x` the numbers 0 to 5 as a 2 by 3 matrix, `n` not a number.
LINES = """
x.sum(dtype=t.bool)
x.sum(1, dtype=t.bool)
x.sum(0, True, dtype=t.bool)
(x * 0).sum(dtype=t.bool)
t.nansum(t.tensor([1.5, n, 2.7]), dtype=t.int32)
t.nansum(t.tensor([[1.5, n], [2.0, 3.0]]), 1, True, dtype=t.uint8)
t.nansum(t.tensor([n]), dtype=t.bool)
t.nansum(x.long(), dtype=t.int16)
t.nansum(x + 1j)  ## nansum on CPU does not support complex inputs
t.nanmean(x, dtype=t.int64)  ## Optional dtype must be either a floating point or complex dtype. Got: Long
t.nanmean(t.tensor([1.0, n]), dtype=t.float64)
t.nn.functional.scaled_dot_product_attention(x[:, :0], x[:, :0], x)
t.nn.functional.nll_loss(x[0], t.tensor([1]))
t.nn.functional.nll_loss(x[0], t.tensor([1, 2]))  ## For 1D input, 1D target must have size 1
t.nn.functional.cross_entropy(x[0], t.tensor([1, 2]))  ## For 1D input, 1D target must have size 1
t.binomial(x.long(), x / 10)  ## binomial only supports floating-point dtypes for count
t.binomial(x, x.long())  ## binomial only supports floating-point dtypes for prob
t.nn.functional.batch_norm(x, x[0], x[1], eps=0.0)
t.nn.functional.batch_norm(x, x[0], x[1], eps=-1.0)  ## batch_norm eps must be non-negative
t.nn.functional.batch_norm(x, x[0], x[1], training=True, eps=0.0)  ## batch_norm eps must be positive during training
t.nn.functional.scaled_dot_product_attention(x[:, :0], x[:, :0], x, is_causal=True)
t.nn.functional.scaled_dot_product_attention(x[:, :0], x[:, :0], x, scale=2.0)
x.topk(1, True)  ## must be int, not bool
x.softmax(True)  ## must be int, not bool
x.transpose(True, 0)  ## must be int, not bool
x.cumsum(True)  ## must be int, not bool
x.argmax(True)  ## must be int, not bool
x.kthvalue(1, True)  ## must be int, not bool
x.unsqueeze(True)  ## must be int, not bool
x.flatten(True)  ## must be int, not bool
t.cat([x, x], True)  ## must be int, not bool
x.sum(True)
x.max(True)
x.mean(False)
x.narrow(True, 0, 1)
t.zeros(True)
x.reshape(True, 6)
x.expand(True, 3)
t.segment_reduce(t.ones(6), "sum", lengths=t.tensor([0, 2, 3, 0]))  ## Expected all rows of lengths along axis
t.segment_reduce(x, "sum", lengths=t.tensor([[0, 3], [2, 3]]), axis=1)  ## Expected all rows of lengths along axis
t.segment_reduce(t.ones(2), "sum", lengths=t.tensor([-1, 3]))  ## lengths contains negative value
t.segment_reduce(t.ones(6), "sum", lengths=t.tensor([1, 2]), unsafe=True)
t.histc(t.tensor([1.0, float("inf")]))  ## range of [1, inf] is not finite
t.histc(t.tensor([1, 2]), bins=3, min=5, max=1)  ## max must be larger than min
t.histc(t.tensor([]), 3)
t.histogram(t.tensor([1.0, 4.0]), 2, range=(3.0, 3.0))
t.zeros((2, 3), out=t.empty(6))
t.full((2, 3), 1.0, out=t.empty(3, 2))
t.eye(2, out=t.empty(4))
t.arange(6, out=t.empty(2, 3))
t.zeros(2, out=t.empty(2), dtype=t.int64)  ## dtype Long does not match dtype of out parameter (Float)
t.arange(3, out=t.empty(0), dtype=t.int64)  ## dtype Long does not match dtype of out parameter (Float)
t.logspace(0, 1j, 5)
t.logspace(0, 1j, 5, dtype=t.float32)  ## can't be safely cast to passed dtype Float
t.linspace(t.tensor([1.0]), 2, 3)  ## only supports 0-dimensional start and end tensors
t.vander(t.tensor([-3, 2, 5], dtype=t.int8), 9)
t.vander(t.tensor([True, False]))
t.vander(t.tensor([True, False]), 0)
t.vander(t.tensor([0.5, -2.0, 3.0]), 5, increasing=True)
t.vander(t.tensor([0.5, -2.0, 3.0]), 1)
t.ones(2, 3, dtype=t.bool).tril()
t.ones(3, 2, dtype=t.uint8).triu()
float(t.tensor(1.5j))  ## value cannot be converted to type double without overflow
int(t.tensor(1.7 + 0j))
t.frombuffer(bytearray(b"abcd"), dtype=t.float32, count=0)  ## must not be 0
t.frombuffer(bytearray(b"abcd"), dtype=t.float32, count=2)  ## must not be greater than actual buffer length (4 bytes)
t.frombuffer(bytearray(b"abcd"), dtype=t.float32, offset=4)  ## must be non-negative and no greater than buffer length (4 bytes)
t.frombuffer([1, 2, 3], dtype=t.float32)  ## object does not implement Python buffer protocol
t.asarray(bytearray(b"abcdefgh"))
t.asarray(bytearray(b"abcdefgh"), copy=True, dtype=t.int32)
t.asarray([1, 2], copy=False)  ## can't alias arbitrary sequence into a tensor
t.asarray(t.ones(2), dtype=t.float64, copy=False)  ## can't alias tensor with dtype 'Float' into dtype 'Double'
t.asarray(t.ones(2, requires_grad=True), copy=True).requires_grad
t.asarray(t.ones(2, requires_grad=True), requires_grad=False).requires_grad
t.asarray(t.ones(2), requires_grad=True).requires_grad
reversed(t.arange(6).reshape(2, 3))
reversed(t.tensor(3))
t.device("cuda:")  ## Invalid device string: 'cuda:'
t.device("cuda:01")  ## Invalid device string: 'cuda:01'
t.device("not a device")  ## Invalid device string: 'not a device'
t.device("")  ## Device string must not be empty
x.new(size=(3, 4)).shape
x.int().type(t.Tensor).dtype
x.apply_(lambda a: "word")
t.diff(x, prepend=t.ones(2))  ## diff expects prepend or append to be the same dimension as input
t.diff(x, prepend=t.ones(3, 2))  ## match that of input except along the differencing dimension
t.all(x, out=t.empty(()))  ## all only supports bool tensor for result, got: Float
t.any(x, 0, out=t.empty(3, dtype=t.uint8))
t.sum(x, 0, out=t.empty(3, dtype=t.float64))
t.sum(x, 0, out=t.empty(3, dtype=t.float64), dtype=t.float32)  ## Expected out tensor to have dtype float, but got double
t.cumsum(x, 0, out=t.empty(2, 3, dtype=t.float64), dtype=t.float32)  ## Expected out tensor to have dtype float, but got double
t.arange(3).apply_(lambda value: value + 1.7)
t.arange(6.0).reshape(2, 3).t().apply_(lambda value: value + 1)
t.bitwise_and(x, 1)  ## "bitwise_and_cpu" not implemented for 'Float'
t.tensor([1, 2]) << 1.5  ## "lshift_cpu" not implemented for 'Float'
t.bitwise_not(x)  ## "bitwise_not_cpu" not implemented for 'Float'
~x  ## only implemented on integer and Boolean-type tensors
x.to(dtype=bool)
x.to(dtype=int)
t.add(t.tensor([True]), t.tensor([True]), alpha=2)
x.float_power_(2)  ## the operation's result requires dtype Double
t.float_power(x, 2, out=t.empty(2, 3))  ## the operation's result requires dtype Double
t.float_power(x, 2, out=t.empty(2, 3, dtype=t.float64))
x.double().float_power_(2)
t.lerp(x, x + 1, t.tensor(0.3, dtype=t.float64))
t.cumulative_trapezoid(t.ones(3, 0))
t.nan_to_num(t.tensor([n, float("inf"), -float("inf"), 1.0], dtype=t.bfloat16))
t.tensor([0.3, 0.1], dtype=t.bfloat16) == 0.3
t.tensor(100.0, dtype=t.float16).div(1e5)
t.tensor([0.5], dtype=t.float16) * 65536
t.rand(6, out=t.empty(2, 3)).shape
t.rand(2, out=t.empty(2), dtype=t.float64)  ## dtype Double does not match dtype of out parameter (Float)
t.bernoulli(t.tensor([0.0, 1.0]), out=t.empty(2, dtype=t.bool))
t.bernoulli(t.tensor([0.0, 1.0]), out=t.empty(2, dtype=t.int64))
t.empty(3, dtype=t.bool).random_(0, 3)  ## to - 1 is out of bounds for bool
t.empty(3, dtype=t.float16).random_(0, 10000)
t.empty(3).random_(0, 2**30)
t.empty(3, dtype=t.float64).random_(-(2**60), 2**60)
t.empty(3, dtype=t.float16).random_(4095, 4096)  ## to be less than 'to' casted to dtype
t.empty(3, dtype=t.float16).random_(-70000, 5)  ## from is out of bounds for c10::Half
t.empty(3, dtype=t.complex64).random_(0, 5)  ## handles only integral, floating-point and boolean types
t.randint(6, (2,), dtype=t.bool)  ## to - 1 is out of bounds for bool
t.randperm(257, dtype=t.uint8)  ## without overflow
t.randperm(3, dtype=t.bool)  ## "randperm" not implemented for 'Bool'
t.empty(3).uniform_(-3e38, 3e38)  ## to-from <= std::numeric_limits<Float>::max()
t.empty(3).uniform_(0, 1e39)  ## to is out of bounds for float
t.empty(3).uniform_(n, 1)  ## from is out of bounds for float
t.normal(t.zeros(5), t.ones(2, 3))  ## The size of tensor a (5) must match the size of tensor b (3)
t.isposinf(x, out=t.empty(2, 3))  ## isposinf does not support non-boolean outputs
t.abs(t.tensor([3 + 4j]), out=t.empty(1, dtype=t.complex64))
t.abs(t.tensor([-1.0]), out=t.empty(1, dtype=t.float64))
t.trunc(t.tensor([1j]))  ## trunc is not supported for complex inputs
t.signbit(t.tensor([1j]))  ## signbit is not implemented for complex tensors
t.tensor([1j]) // 2  ## "div_floor_cpu" not implemented for 'ComplexFloat'
t.tensor([True]) // t.tensor([True])  ## "div_floor_cpu" not implemented for 'Bool'
t.tensor([1j]) % 2  ## "remainder_cpu" not implemented for 'ComplexFloat'
t.atan2(t.tensor([1j]), t.tensor([1j]))  ## "atan2_cpu" not implemented for 'ComplexFloat'
t.hypot(t.tensor([1j]), t.tensor([1j]))  ## "hypot_cpu" not implemented for 'ComplexFloat'
t.tensor([1j]).clamp(0, 1)  ## clamp is not supported for complex types
t.nn.functional.relu6(t.tensor([1j]))  ## clamp is not supported for complex types
t.tensor([448.0, 463, 465, 500, 1e9, -1e9, float("inf"), n]).to(t.float8_e4m3fn).float()
t.tensor([464.5, 3.3], dtype=t.bfloat16).to(t.float8_e4m3fn).float()
t.tensor([61439.0, 61440, -1e9]).to(t.float8_e5m2).float()
t.zeros(4, dtype=t.float8_e4m3fn).copy_(t.tensor([450.0, 500, -1e9, n])).float()
[h := t.zeros(2, dtype=t.float8_e4m3fn), h.__setitem__(slice(2), t.tensor([500.0, 3.3], dtype=t.float64)), h.float()][1:]
t.tensor([500.0, 3.3, -1e9], dtype=t.float8_e4m3fn).float()
[h := t.zeros(1, dtype=t.float16), h.__setitem__(slice(1), t.tensor([2.0**-24 * (1.5 - 2**-40)], dtype=t.float64)), h]
t.tensor([2.0**-24 * (1.5 - 2**-40)], dtype=t.float16)
t.tensor(True).sum_to_size(())
t.poisson(t.tensor([1.0, n]))  ## invalid Poisson rate
str(t.slogdet(t.eye(2)))
type(t.slogdet(t.eye(2))) is t.return_types.slogdet
t.nn.functional.one_hot(None)  ## argument 'input' (position 1) must be Tensor, not NoneType
t.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=t.ones(2, 2), is_causal=True)  ## Explicit attn_mask should not
t.empty(3, 1, 2).permute(2, 0, 1).dim_order()
t.empty(3, 4).t().dim_order(ambiguity_check=True)
t.empty(2, 2, 1, 2).dim_order(ambiguity_check=[t.contiguous_format])
f"{t.empty((), device='meta')}"
t.from_numpy(np.stack([t.ones(2), t.zeros(2)]))
t.arange(5.0).histogram().hist.shape
t.div(x, "a", rounding_mode="floor")  ## received an invalid combination of arguments
t.fft.rfft2(t.ones(3, 3, dtype=t.complex64))  ## rfftn expects a real-valued input tensor
t.log1p(t.tensor([1e-19 + 1e-18j, 1e-10 + 1e-5j, 3 + 4j, -1 + 0j, 0.3 - 0.4j], dtype=t.complex128))
t.addr(t.ones(2, 2), t.ones(2), t.ones(2), beta=True)  ## Boolean beta only supported for Boolean results
t.linalg.svd(t.tensor([[n]]))  ## the input matrix contained non-finite values
t._check(1)  ## cond must be a bool
t.utils.dlpack.from_dlpack(t.utils.dlpack.to_dlpack(x))
t.tensor({})  ## Could not infer dtype of dict
t.tensor(set())  ## Could not infer dtype of set
t.tensor(n, dtype=t.int64)  ## value cannot be converted to type int64 without overflow
t.tensor([1j], dtype=t.float32)  ## must be real number, not complex
t.tensor(1j, dtype=t.float32)  ## must be real number, not complex
t.tensor(1e39)
t.tensor(1e6, dtype=t.float16)
t.linalg.norm(t.ones(2, dtype=t.complex64), dtype=t.complex128, out=t.empty((), dtype=t.float64))
t.addbmm(t.ones(0, 2), t.ones(3, 0, 4), t.ones(3, 4, 2))
t.addbmm(t.ones(2, 2), t.ones(0, 2, 4), t.ones(0, 4, 2))
t.addbmm(t.ones(2, 2), t.ones(3, 2, 0), t.ones(3, 0, 2))
t.einsum("a")  ## must specify the equation string and at least one operand
t.lu_unpack(t.eye(2), t.tensor([0, 3], dtype=t.int32))  ## must be between 1 and LU.size(-2) inclusive
[t.finfo(kind).resolution for kind in (t.float16, t.bfloat16, t.float32, t.float64)]
[t.finfo(t.float32) == t.finfo(), t.finfo(t.float64) == t.finfo(), t.iinfo(t.int8) == t.iinfo(t.int8)]
[t.finfo(t.complex64) == t.finfo(t.float32), t.finfo(t.float32) != 3, t.finfo(t.float32) == t.iinfo(t.int32)]
hash(t.finfo(t.float32))  ## unhashable type
hash(t.iinfo(t.int8))  ## unhashable type
str([kind.to_complex() for kind in (t.float32, t.float64, t.bfloat16, t.complex64, t.complex128)])
t.int64.to_complex()  ## Unknown Complex ScalarType for Long
t.bool.to_complex()  ## Unknown Complex ScalarType for Bool
t.ones(2, 2, 2).to_sparse().t()  ## t() expects a tensor with <= 2 sparse and 0 dense dimensions, but got 3 sparse
t.ones(2, 2).to_sparse(1).t()  ## but got 1 sparse and 1 dense dimensions
[list(a.stride()) for a in (x[:, 1:1], x[1, :0], x.t()[3:], x[:0, ::2], t.empty(2, 0, 4))]
x.stride(2)  ## Dimension out of range (expected to be in range of [-2, 1], but got 2)
t.logcumsumexp(t.tensor([-inf, -inf, 1.2 + 2.1j, inf, inf + 1j]), 0)
t.logaddexp(t.tensor([-inf + 4j, inf + 0j, -inf]), t.tensor([-inf + 1j, inf + 1j, 2 + 1j]))
t.empty_strided([8, 8], [2**61, 1], dtype=t.float64)  ## Storage size calculation overflowed with sizes=[8, 8] and strides
t.ones(2).as_subclass(dict)  ## Creating a Tensor subclass from a class that does not inherit from Tensor is not possible
t.tensor({1: 2.0}.items())  ## Could not infer dtype of dict_items
t.tensor([{0: 1}])  ## Could not infer dtype of dict
t.tensor([[1], {2}])  ## Could not infer dtype of set
t.as_tensor([1, {2}])  ## Could not infer dtype of set
t.tensor([b"ab"])  ## new(): invalid data type 'bytes'
t.tensor(t.nn.ModuleDict({"a": t.nn.ReLU()}))  ## could not determine the shape of object type 'ModuleDict'
t.log1p(t.tensor(1e-10 + 1e-5j, dtype=t.complex128))
t.nn.functional.hardshrink(t.tensor([1, 0.5, 0.3, 0, -0.3, -1], dtype=t.bfloat16), 0.3)
t.nonzero_static(x, size=2)
t.nonzero_static(x, size=2, out=t.empty(0, 2, dtype=t.int64))
t.nonzero_static(x, size=2, out=t.empty(2, 2))  ## nonzero_static: Expected out tensor to have scalar type Long
t.sum(x, 0, out=t.empty(3), dtype=t.complex64)  ## Expected out tensor to have dtype c10::complex<float>, but got float
t.linalg.cholesky(t.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [n, 0.0, 1.0]]))  ## the leading minor of order 3 is not positive
t.linalg.cholesky_ex(t.tensor([[[1.0, 0.0], [n, 1.0]], [[n, 0.0], [0.0, 1.0]], [[1.0, n], [0.0, 1.0]]]))[1]
t.linalg.svdvals(t.tensor([[n, 1.0], [2.0, 3.0]]))  ## linalg.svd: The algorithm failed to converge
t.linalg.cond(t.tensor([[n, 1.0], [2.0, 3.0]]))  ## the input matrix contained non-finite values
t.tensor([n, 1, n, 0.0, -0.0, 2, 2]).bfloat16().unique(return_inverse=True, return_counts=True)
t.bucketize(t.tensor([n, 1, 5]).bfloat16(), t.tensor([0.0, 2, 4]).bfloat16())
t.bucketize(t.tensor([n, 1, 4, 5]), t.tensor([0.0, 2, 4, n]))
t.bucketize(t.tensor([n, 1, 4, 5]), t.tensor([0.0, 2, 4, n, n]), right=True)
t.searchsorted(t.tensor([[0.0, 2, n], [1, 3, 5]]), t.tensor([[n, 1, 5], [n, 1, 5]]))
t.isin(t.tensor([n, 1, 2]).bfloat16(), t.tensor([n, 2, 0.0]).bfloat16())
t.zeros(3).index_add(0, t.tensor([5]), t.ones(1))  ## out of
t.zeros(3, 2).index_add(0, t.tensor([5]), t.ones(1, 2))  ## out of
t.quantile(t.tensor([1.0, 2.0]), n)  ## q must be in the range [0, 1] but got nan
t.normal(t.zeros(2), t.tensor([1.0, n]))  ## normal expects all elements of std >= 0.0
x.all(dim=[])
t.any(x, dim=[], keepdim=True)
t.tensor([], dtype=t.int8).median()
t.lu(t.ones(2, 2))[1]
t.tensor([1.5, np.float64(2)])
t.tensor([1, np.float64(2)])
t.tensor([1, np.float16(2)])
t.tensor([1.5, np.complex128(2 + 1j)])
t.tensor([[1.0, 2.0], [3.0, np.float64(4)]])
t.tensor([1.5, t.tensor(2.0, dtype=t.float64)])
t.tensor(((7, 5), (9, np.array(5.0))))
t.tensor([1.0] * 40 + [np.float64(1)])
t.tensor([1e10], dtype=t.int32)  ## value cannot be converted to type int32 without overflow
t.tensor([n], dtype=t.int32)  ## value cannot be converted to type int32 without overflow
t.tensor([255.9], dtype=t.uint8)  ## value cannot be converted to type uint8 without overflow
t.tensor(300.0, dtype=t.uint8)  ## value cannot be converted to type uint8 without overflow
t.tensor([-1.5], dtype=t.int8)
t.tensor(np.array([300, -1]), dtype=t.uint8)
t.tensor(t.tensor([300, -1]), dtype=t.uint8)
t.asarray(t.utils.dlpack.to_dlpack(x))
t.asarray(t.utils.dlpack.to_dlpack(x), dtype=t.int64)
t.ldexp(t.tensor([0.0, 1e-30, 1.0, 3.0, 1e30]), t.tensor([200, 150, -140, 5, -180]))
t.ldexp(t.tensor([1.5, 2.0]), t.tensor([1.5, -0.5]))
t.ldexp(t.tensor([inf, -inf, 1.0, 0.0, 1.0, nan]), t.tensor([inf, inf, inf, inf, -inf, inf]))
t.ldexp(t.tensor([3, 4]), t.tensor([1, 2]))
t.ldexp(t.tensor([0.4], dtype=t.float16), t.tensor([16]))
t.ldexp(t.tensor([1 + 1j]), t.tensor([2]))
t.round(t.tensor([10000.0, 1.238], dtype=t.float16), decimals=2)
t.round(t.tensor([1.2345, 0.125, -2.675], dtype=t.bfloat16), decimals=2)
t.add(x, 1, alpha=2)
t.add(x, t.ones(2), alpha=2)  ## The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 1
t.ones(2, 3).sub_(t.ones(4, 3), alpha=0.5)  ## The size of tensor a (2) must match the size of tensor b (4)
t.add(input=x.int(), other=2.5, alpha=2)
t.sub(x, 1, alpha=0.5)
t.addmm(2, t.ones(2, 2), 3, t.ones(2, 2), t.ones(2, 2))
t.ones(2, 2).addmm_(2, t.ones(2, 2), t.ones(2, 2))
t.addmv(2, t.ones(2), t.ones(2, 2), t.ones(2))
t.ones(2, 2).addr_(2, 3, t.ones(2), t.ones(2))
t.ones(2, 2).addbmm_(2, 3, t.ones(1, 2, 2), t.ones(1, 2, 2))
t.baddbmm(2, t.ones(1, 2, 2), t.ones(1, 2, 2), t.ones(1, 2, 2))
t.linalg.lstsq(t.tensor([[2.0]]), t.ones(1), rcond=1.0, driver="gelsd")[::2]
t.linalg.lstsq(t.diag(t.tensor([2.0, 1.0])), t.ones(2), rcond=1.0, driver="gelsd")[::2]
t.linalg.lstsq(t.diag(t.tensor([2.0, 1.0])), t.ones(2), rcond=1.0, driver="gelss")[::2]
t.linalg.lstsq(t.tensor([[2.0, 0.0], [0.0, 0.0]]), t.ones(2), rcond=-1.0, driver="gelsd")[::2]
t.linalg.lstsq(t.diag(t.tensor([2.0, 1.0])), t.ones(2), rcond=0.5, driver="gelsd")[::2]
t._segment_reduce(x.flatten(), "max", lengths=t.tensor([1, 2, 3, 0]), initial=3)
t.Tensor(x.requires_grad_() * 2).requires_grad
(lambda base, alias: (alias.add_(1), base, base._version, alias._version)[1:])(*(lambda b: (b, t.Tensor(b)))(t.ones(2)))
t.einsum("ij->i", t.full((2, 3), 100, dtype=t.uint8))
t.einsum("ij,j->i", t.full((2, 3), 100, dtype=t.int16), t.ones(3, dtype=t.int16))
t.einsum("ij,k->ik", t.full((2, 3), 100, dtype=t.int8), t.ones(2, dtype=t.int8))
t.einsum("i,j->ij", t.arange(3), t.ones(2))
t.einsum("i,i->i", t.arange(3), t.ones(3, dtype=t.float64))
t.einsum("ij,l->i", t.ones(2, 3), t.arange(4))
t.einsum("i,i->", t.arange(3), t.ones(3))  ## expected scalar type Long but found Float
t.einsum("ij,j->i", t.ones(2, 3), t.arange(3))  ## expected scalar type Float but found Long
t.tensor([[1, 2, 4], [3, 5, 1]]).cov()
t.tensor([[1, 2, 4], [3, 5, 1]]).corrcoef()
t.empty(3, dtype=t.complex64).normal_(2.0, 0.5)
t.cumulative_trapezoid(t.zeros(0))
t.cumulative_trapezoid(t.zeros(0, 2, dtype=t.int64), dim=0)
t.cumulative_trapezoid(t.zeros(2, 0), t.zeros(2, 0))
t.cumulative_trapezoid(t.zeros(0), t.ones(1))  ## There must be one `x` value for each sample point
t.cumulative_trapezoid(t.zeros(()))  ## slice() cannot be applied to a 0-dim tensor
t.cumulative_trapezoid(t.ones(3) > 0)  ## received a bool input for `y`
t.trapezoid(t.ones(3) > 0, t.ones(3))  ## received a bool input for `x` or `y`
t.cumulative_trapezoid(t.zeros(2, 0, requires_grad=True)).requires_grad
t.cat([t.zeros(0, requires_grad=True), x]).requires_grad
t.cat([x, t.zeros(0, dtype=t.float64)], 1)
t.hstack([t.zeros(0, dtype=t.float64, requires_grad=True), x[0]]).requires_grad
t.cat([t.zeros(0), t.zeros(())])  ## zero-dimensional tensor (at position 1) cannot be concatenated
t.autograd.grad(t.cat([e := t.zeros(0, requires_grad=True), x], 1).sum(), e)
t.nn.functional.soft_margin_loss(x.cfloat(), x.sign())
x[:0].norm(-1)  ## cannot compute the -1 norm on an empty tensor
x[:0].norm(float("inf"))  ## cannot compute the inf norm on an empty tensor
x[:, :0].norm(-2.0, dim=1)  ## cannot compute the -2 norm on the dimension 1
x[:0].norm(-1, dim=1)
t.dist(x[:0], x[:0], float("inf"))  ## cannot compute the inf norm on an empty tensor
t.dist(x[:0], x[:0])
t.nn.functional.gaussian_nll_loss(x, x * 2, x[:1] + 1, reduction="none")
t.nn.functional.gaussian_nll_loss(x, x * 2, x[:, :1] + 1, reduction="none")
t.nn.functional.gaussian_nll_loss(x, x * 2, x[:, 0] + 1, reduction="none")
t.nn.functional.gaussian_nll_loss(x, x * 2, x[:1, :1] + 1, reduction="none")  ## var is of incorrect size
t.einsum("ij,ij->i", x[:, :0], x[:, :0].double())
t.einsum("i,i", x[0], x[0].double())  ## expected scalar type
t.cov(x > 1)  ## bool dtype is not supported for input
t.corrcoef(x > 1)  ## bool dtype is not supported for input
t.poisson(x.long())  ## "poisson_cpu" not implemented for 'Long'
x.put(t.tensor([0, 1]), t.ones(1))  ## Expected source and index to have the same number of elements
x[:0].put_(t.tensor([0]), t.ones(0))  ## Expected source and index to have the same number of elements
t.set_num_interop_threads(-1)  ## set_num_interop_threads expects a positive integer
""".strip().splitlines()


def outcome(t, expression):
    t.manual_seed(5)
    names = {"t": t, "np": np, "x": t.arange(6.0).reshape(2, 3), "n": float("nan")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(expression, names)
    except Exception as error:
        return type(error), str(error)
    return [described(one, t) for one in (result if isinstance(result, (tuple, list)) else (result,))], ""


def described(value, t):
    if isinstance(value, t.Tensor):
        return str(value.dtype), tuple(value.shape), value.stride(), value.tolist()
    return str(value) if isinstance(value, (t.dtype, t.device)) or value is None else value


@pytest.mark.parametrize("line", LINES)
def test_as_torch(line):
    expression, _, phrase = line.partition("##")
    (want, complaint), (got, text) = outcome(torch, expression), outcome(pullback, expression)
    if isinstance(want, type):
        assert got.__name__ == want.__name__ and phrase.strip() in complaint and phrase.strip() in text, text
        return
    assert not phrase and not text, text
    for found, expected in zip(got, want, strict=True):
        if isinstance(expected, tuple) and expected[0].startswith("torch."):
            assert found[:3] == expected[:3]
            np.testing.assert_allclose(found[3], expected[3], rtol=1e-6)
        else:
            assert found == expected and type(found) is type(expected)


PRINTED = """
x.max(1)
x.sort()
x.aminmax()
t.frexp(x)
t.histogram(x, 2)
t.histogramdd(x, 1)
t.svd(e)
t.qr(e)
t.geqrf(e)
t.lu_unpack(*t.linalg.lu_factor(e))
t.linalg.svd(e)
t.linalg.eigh(e)
t.linalg.eig(e)
t.linalg.qr(e)
t.linalg.slogdet(e)
t.linalg.inv_ex(e)
t.linalg.cholesky_ex(e)
t.linalg.solve_ex(e, e)
t.linalg.lu(e)
t.linalg.lu_factor(e)
t.linalg.lu_factor_ex(e)
t.linalg.ldl_factor(e)
t.linalg.ldl_factor_ex(e)
t.linalg.lstsq(e, e)
""".strip().splitlines()


@pytest.mark.parametrize("line", PRINTED)
def test_named_results(line):
    """They print as torch's do, are found in `return_types` and can be pickled."""
    results = [eval(line, {"t": t, "x": t.arange(4.0).reshape(2, 2), "e": t.eye(1)}) for t in (torch, pullback)]
    assert repr(results[1]) == repr(results[0])
    assert type(results[1]) is getattr(pullback.return_types, type(results[0]).__name__)
    assert repr(pickle.loads(pickle.dumps(results[1]))) == repr(results[1])
    again = [type(result)(list(range(len(result)))) for result in results]  # of one sequence, as torch makes them
    assert repr(again[1]) == repr(again[0])
    for wrong in ((), (3,), (range(9),), (1, 2, 3, 4, 5, 6, 7)):
        for result in results:
            with pytest.raises(TypeError):
                type(result)(*wrong)


def test_a_result_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pullback.return_types.nothing


WRITES = {
    "and": lambda t, x, other: x.__iand__(other),
    "or": lambda t, x, other: x.__ior__(other),
    "xor": lambda t, x, other: x.__ixor__(other),
    "lshift": lambda t, x, other: x.__ilshift__(other),
    "rshift": lambda t, x, other: x.__irshift__(other),
}


@pytest.mark.parametrize("name", WRITES)
def test_bits_are_written_in_place(name):
    """`mask &= other` changes the mask that others hold, not a copy of it."""
    found = []
    for t in (torch, pullback):
        whole = t.tensor([1, 2, 30], dtype=t.int16)
        part = whole[1:]
        for other in (3, t.tensor([1, 2], dtype=t.int16)):
            assert WRITES[name](t, part, other) is part
        found.append(whole.tolist())
    assert found[0] == found[1]


FRESH = """
x.bool().sign()
x.bool().sgn()
t.histogram(x, x.diagonal())[1]
t.linalg.solve_triangular(x, x, upper=False)
""".strip().splitlines()


@pytest.mark.parametrize("line", FRESH)
def test_a_result_has_memory_of_its_own(line):
    for t in (torch, pullback):
        x = t.arange(1.0, 10.0).reshape(3, 3)
        x = x.bool() if "bool" in line else x
        kept = x.clone()
        eval(line, {"t": t, "x": x}).zero_()
        assert x.equal(kept)


HALF = """
x * 0.3
0.3 * x
x / 0.3
0.3 / x
x * 3
x ** 0.3
x ** 3
x ** 2.5
x.sigmoid()
t.addcmul(x, x, x, value=0.3)
t.addcdiv(x, x, x + 5, value=0.3)
x.mul_(0.3)
x * t.tensor(0.3)
x / t.tensor(0.3, dtype=t.float64)
x.mul_(t.tensor(0.3)).div_(t.tensor(0.7))
""".strip().splitlines()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("expression", HALF)
def test_half_precision_is_rounded_once(expression, dtype):
    """A number beside half precision keeps its own precision, and the sum of what is computed is rounded at the end."""
    values = np.random.default_rng(0).standard_normal(500).tolist()
    results = [eval(expression, {"t": t, "x": t.tensor(values, dtype=getattr(t, dtype))}) for t in (torch, pullback)]
    np.testing.assert_array_equal(results[1].double().numpy(), results[0].double().numpy())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_half_precision_times_a_number(dtype):
    found = []
    for t in (torch, pullback):
        x = t.tensor([0.1, 0.7, -3.0], dtype=getattr(t, dtype), requires_grad=True)
        (x * 0.3 + x / 0.7).sum().backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("strided", [False, True])
def test_a_capsule_shares_memory_that_can_be_written(strided):
    x = pullback.arange(12.0).reshape(3, 4)
    x = x[:, ::2] if strided else x
    y = pullback.from_dlpack(pullback.utils.dlpack.to_dlpack(x))
    y[0, 0] = 7
    assert x[0, 0] == 7 and y.stride() == x.stride()
    del x
    assert y.tolist()[2][-1] == (10.0 if strided else 11.0)


class Stranger:
    """Knows how to be the other operand of anything."""


for _operator in "add sub mul truediv floordiv mod and or xor lshift rshift matmul".split():
    setattr(Stranger, f"__r{_operator}__", lambda self, other: "asked")


@pytest.mark.parametrize("operator", "+ - * / // % & | ^ << >>".split())
@pytest.mark.parametrize("in_place", [False, True])
def test_a_stranger_is_asked(operator, in_place):
    """`x += other` gives an object that is neither tensor nor number its say, as `x + other` does."""
    for t in (torch, pullback):
        names = {"x": t.ones(2, dtype=t.int64), "other": Stranger()}
        exec(f"x {operator}= other" if in_place else f"x = x {operator} other", names)
        assert names["x"] == "asked"


OLDER_FORMS = {
    "add": lambda t: t.ones(2).add(2, t.ones(2)),
    "sub": lambda t: t.ones(2).sub_(2, t.ones(2)),
    "addcmul": lambda t: t.addcmul(t.ones(2), 2, t.ones(2), t.ones(2)),
    "addcdiv": lambda t: t.ones(2).addcdiv_(2, t.ones(2), t.ones(2)),
    "addmv": lambda t: t.addmv(2, t.ones(2), t.ones(2, 2), t.ones(2)),
}


@pytest.mark.parametrize("name", OLDER_FORMS)
def test_older_forms_work_with_a_warning(name):
    with pytest.warns(UserWarning, match=f"This overload of {name} is deprecated"):
        found = OLDER_FORMS[name](pullback)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found.tolist() == OLDER_FORMS[name](torch).tolist()


def test_which_results_are_the_operand_itself():
    """Broadcasting gives back what has the shape already; an equation gives a view at least."""
    answers = []
    for t in (torch, pullback):
        a, b, c = t.ones(3), t.ones(2, 3), t.ones(1)
        answers.append([
            [x is y for x, y in zip(t.broadcast_tensors(a, b, c), (a, b, c), strict=True)], t.broadcast_tensors(a)[0] is a,
            *[(found is b, found._base is b) for found in (t.einsum("ij->ij", b), t.einsum("ij", b), t.einsum("ij->ji", b))],
        ])  # fmt: skip
    assert answers[0] == answers[1]
