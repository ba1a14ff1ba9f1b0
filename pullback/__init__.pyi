# ruff: noqa: E402, E501, F401, F811, I001
"""The names of the package. Written by `python -m tools.stubs`."""

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, Self, overload

from numpy.typing import NDArray as _NDArray

from pullback.core.basics.device import device as _device
from pullback.core.basics.dtypes import dtype as _dtype
from pullback.core.basics.size import ElementCount as ElementCount
from pullback.core.basics.size import Size as Size
from pullback.functional.reductions import AminmaxResult as _AminmaxResult
from pullback.explaining import Explanation as _Explanation
from pullback.functional.elementary import FrexpResult as _FrexpResult
from pullback.random import Generator as _Generator
from pullback.functional.searching import HistogramResult as _HistogramResult
from pullback.functional.searching import HistogramddResult as _HistogramddResult
from pullback.explaining import MemoryReport as _MemoryReport
from pullback.utils.hooks import RemovableHandle as _RemovableHandle
from pullback.functional.reductions import ValuesIndices as _ValuesIndices
from pullback.core.basics.layout import layout as _layout
from pullback.core.basics.layout import memory_format as _memory_format

from .shell.stand_ins import _C as _C
from .shell.stand_ins import __config__ as __config__
from .shell.stand_ins import __future__ as __future__
from .shell.stand_ins import _dynamo as _dynamo
from .shell.stand_ins import _subclasses as _subclasses
from .shell.stand_ins import _utils as _utils
from .shell.stand_ins import _utils_internal as _utils_internal
from .shell.stand_ins import accelerator as accelerator
from . import amp as amp
from . import array_api as array_api
from . import autograd as autograd
from .shell.stand_ins import backends as backends
from .shell.stand_ins import compiler as compiler
from .shell.stand_ins import cpu as cpu
from .shell.stand_ins import cuda as cuda
from . import distributed as distributed
from . import distributions as distributions
from . import explaining as explaining
from . import fft as fft
from . import func as func
from .shell.stand_ins import futures as futures
from . import fx as fx
from .shell.stand_ins import hub as hub
from . import implicit as implicit
from .shell.stand_ins import jit as jit
from . import library as library
from . import linalg as linalg
from . import masked as masked
from .shell.stand_ins import mps as mps
from . import multi as multi
from . import multiprocessing as multiprocessing
from . import nn as nn
from .shell.stand_ins import onnx as onnx
from . import optim as optim
from . import optimize as optimize
from . import overrides as overrides
from . import profiler as profiler
from . import quasirandom as quasirandom
from . import random as random
from . import serialization as serialization
from . import signal as signal
from . import sparse as sparse
from . import special as special
from . import storage as storage
from . import testing as testing
from .shell.stand_ins import types as types
from . import utils as utils
from . import version as version
from .shell.stand_ins import xpu as xpu
from .core.basics.device import device as device
from .core.basics.dtypes import dtype as dtype
from .core.tensor import Tensor as Tensor

__version__: str
bool: _dtype
uint8: _dtype
uint16: _dtype
uint32: _dtype
uint64: _dtype
int8: _dtype
int16: _dtype
int32: _dtype
int64: _dtype
float16: _dtype
bfloat16: _dtype
float32: _dtype
float64: _dtype
complex64: _dtype
complex128: _dtype
float8_e4m3fn: _dtype
float8_e5m2: _dtype
half: _dtype
float: _dtype
double: _dtype
cfloat: _dtype
cdouble: _dtype
short: _dtype
int: _dtype
long: _dtype
AcceleratorError: Any
BFloat16Storage: Any
BFloat16Tensor: Any
BoolStorage: Any
BoolTensor: Any
ByteStorage: Any
ByteTensor: Any
CharStorage: Any
CharTensor: Any
ComplexDoubleStorage: Any
ComplexDoubleTensor: Any
ComplexFloatStorage: Any
ComplexFloatTensor: Any
DoubleStorage: Any
DoubleTensor: Any
FloatStorage: Any
FloatTensor: Any
from .shell.stand_ins.futures import Future as Future
from .random import Generator as Generator
from .amp.grad_scaler import GradScaler as GradScaler
HalfStorage: Any
HalfTensor: Any
IntStorage: Any
IntTensor: Any
LongStorage: Any
LongTensor: Any
from .shell.torch_names.legacy_types import OutOfMemoryError as OutOfMemoryError
ShortStorage: Any
ShortTensor: Any
Storage: Any
from .torch_version import TorchVersion as TorchVersion
from .storage import TypedStorage as TypedStorage
from .storage import UntypedStorage as UntypedStorage
def abs(input: Any, *, out: Any = ...) -> Tensor: """Absolute value (modulus of complex numbers)."""
def abs_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`abs`, written over this tensor."""
def absolute(input: Any, *, out: Any = ...) -> Tensor: """Absolute value (modulus of complex numbers)."""
def absolute_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`absolute`, written over this tensor."""
def acos(input: Any, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose cosine each element is."""
def acos_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`acos`, written over this tensor."""
def acosh(input: Any, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic cosine of each element."""
def acosh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`acosh`, written over this tensor."""
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor: """Mean of windows that divide the length into `output_size` parts."""
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]: """(values, indices) of `nn.functional.adaptive_max_pool1d`."""
def add(input: Any, other: Any, *legacy: Any, alpha: Any = ..., out: Any = ...) -> Tensor: """`input + alpha * other`."""
def add_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`add`, written over this tensor."""
def addbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: """beta * input + alpha * (sum of the products of two batches)."""
def addcdiv(input: Any, tensor1: Any, tensor2: Any, *legacy: Any, value: Any = ..., out: Any = ...) -> Tensor: """`input + value * tensor1 / tensor2`."""
def addcdiv_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`addcdiv`, written over this tensor."""
def addcmul(input: Any, tensor1: Any, tensor2: Any, *legacy: Any, value: Any = ..., out: Any = ...) -> Tensor: """`input + value * tensor1 * tensor2`."""
def addcmul_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`addcmul`, written over this tensor."""
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: """beta * input + alpha * (mat1 @ mat2)."""
def addmm_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`addmm`, written over this tensor."""
def addmv(input: Tensor, mat: Tensor, vec: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: """beta * input + alpha * (mat @ vec)."""
def addmv_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`addmv`, written over this tensor."""
def addr(input: Tensor, vec1: Tensor, vec2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: """beta * input + alpha * (outer product of two vectors)."""
def addr_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`addr`, written over this tensor."""
def adjoint(input: Tensor) -> Tensor: """The conjugate transpose of a matrix, or of a batch of matrices."""
def affine_grid_generator(theta: Tensor, size: Sequence[_int], align_corners: _bool) -> Tensor: """`nn.functional.affine_grid`."""
def alias_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `alias` gives."""
def all(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: """True where all elements (along dims) are non-zero."""
def allclose(input: Any, other: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool: """True if two tensors agree everywhere to within atol + rtol * |other|."""
def alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: """`nn.functional.alpha_dropout` with p and train required."""
def alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: """`nn.functional.alpha_dropout` with p and train required."""
def amax(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: """Largest element over dims; the gradient is shared among ties."""
def amin(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: """Smallest element over dims; the gradient is shared among ties."""
def aminmax(input: Tensor, *, dim: _int | None = ..., keepdim: _bool = ..., out: Any = ...) -> _AminmaxResult: """Smallest and largest elements, of the whole tensor or along a dim."""
def angle(input: Any, *, out: Tensor | None = ...) -> Tensor: """The angle of each number, in radians; pi for negative reals."""
def any(input: Any, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: """True where any element (along dims) is non-zero."""
def arange(start: Any, end: Any = ..., step: Any = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ...) -> Tensor: """Numbers from `start` (0) up to, not including, `end`, in steps."""
def arccos(input: Any, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose cosine each element is."""
def arccos_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`arccos`, written over this tensor."""
def arccosh(input: Any, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic cosine of each element."""
def arccosh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`arccosh`, written over this tensor."""
def arcsin(input: Any, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose sine each element is."""
def arcsin_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`arcsin`, written over this tensor."""
def arcsinh(input: Any, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic sine of each element."""
def arcsinh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`arcsinh`, written over this tensor."""
def arctan(input: Any, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose tangent each element is."""
def arctan2(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The angle of the point (other, input), from -pi to pi."""
def arctan2_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`arctan2`, written over this tensor."""
def arctan_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`arctan`, written over this tensor."""
def arctanh(input: Any, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic tangent of each element."""
def arctanh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`arctanh`, written over this tensor."""
def are_deterministic_algorithms_enabled() -> _bool: """Return what `use_deterministic_algorithms` was last told; results are deterministic either way."""
def argmax(input: Any, dim: _int | None = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: """Index of the largest element, of the flattened tensor or along a dim."""
def argmin(input: Any, dim: _int | None = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: """Index of the smallest element, of the flattened tensor or along a dim."""
def argsort(input: Tensor, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., *, out: Any = ...) -> Tensor: """The indices that would sort the tensor along a dim."""
def argwhere(input: Any) -> Tensor: """The indices of the elements that are not zero, one row each."""
def as_strided(input: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor: """A view of this tensor's memory with the given sizes, strides and offset, within the memory it has."""
def as_strided_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `as_strided` gives."""
def as_strided_scatter(input: Tensor, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor: """A copy in which what `as_strided` would look at is `src`."""
def as_tensor(data: Any, dtype: _dtype | None = ..., device: Any = ...) -> Tensor: """`data` as a tensor, sharing memory where possible: a tensor of this dtype is returned as it is."""
def asarray(obj: Any, *, dtype: _dtype | None = ..., device: Any = ..., copy: _bool | None = ..., requires_grad: _bool | None = ...) -> Tensor:
    """`obj` as a tensor; `copy=True` never shares memory, `copy=False` must.

    A tensor keeps its history unless `requires_grad=False`.
    """
def asin(input: Any, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose sine each element is."""
def asin_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`asin`, written over this tensor."""
def asinh(input: Any, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic sine of each element."""
def asinh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`asinh`, written over this tensor."""
def atan(input: Any, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose tangent each element is."""
def atan2(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The angle of the point (other, input), from -pi to pi."""
def atan2_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`atan2`, written over this tensor."""
def atan_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`atan`, written over this tensor."""
def atanh(input: Any, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic tangent of each element."""
def atanh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`atanh`, written over this tensor."""
@overload
def atleast_1d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_1d(*tensors: Any) -> Any: """Tensors with at least 1 dims; several give a tuple."""
@overload
def atleast_2d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_2d(*tensors: Any) -> Any: """Tensors with at least 2 dims; several give a tuple."""
@overload
def atleast_3d(tensor: Tensor, /) -> Tensor: ...
@overload
def atleast_3d(*tensors: Any) -> Any: """Tensors with at least 3 dims; several give a tuple."""
from .amp.autocast_mode import autocast as autocast
def avg_pool1d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., ceil_mode: _bool = ..., count_include_pad: _bool = ...) -> Tensor:
    """Mean of each window.

    `kernel_size`, `stride` (the kernel size unless given) and `padding` are a number, or one for each axis;
    `ceil_mode` keeps a window that hangs over the edge. `count_include_pad` says whether padding counts as zeros.
    """
def backward_batched(losses: Any, weightings: Any, inputs: Any, *, create_graph: _bool = ..., retain_graph: _bool | None = ...) -> Any:
    """The gradients of many weightings of the losses in one pass: `backward(gradient=w)` for each w, without `.grad`.

    `weightings` has the shape (K, *losses.shape), for nested losses one such tensor for each. The result has the
    structure of `inputs`, each leaf with K gradients along a new first axis.
    """
def baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ..., out: Any = ...) -> Tensor: """beta * input + alpha * (products of two batches)."""
def baddbmm_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`baddbmm`, written over this tensor."""
def bartlett_window(window_length: _int, periodic: _bool = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor: """A triangle that starts at zero."""
def batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool = ...) -> Tensor: """`nn.functional.batch_norm` with torch.batch_norm's order of arguments."""
def bernoulli(input: Tensor, p: _float | None = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor: """Ones and zeros: ones with the probabilities in `input` (or all with probability p)."""
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = ...) -> Tensor: """input1 @ weight[k] @ input2 for each output k, plus bias."""
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Tensor | None = ..., pos_weight: Tensor | None = ..., reduction: _int = ...) -> Tensor: """`nn.functional.binary_cross_entropy_with_logits` with a number for the reduction."""
def bincount(input: Tensor, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor: """How often each non-negative integer occurs, or the sum of its weights."""
def binomial(count: Tensor, prob: Tensor, generator: Any = ...) -> Tensor: """Successes among `count` trials of probability `prob`."""
def bitwise_and(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Bitwise and of each pair of integers or booleans."""
def bitwise_and_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`bitwise_and`, written over this tensor."""
def bitwise_left_shift(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Bitwise left shift of each pair of integers or booleans."""
def bitwise_left_shift_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`bitwise_left_shift`, written over this tensor."""
def bitwise_not(input: Any, *, out: Any = ...) -> Tensor: """Every bit turned over: the complement of integers, the negation of booleans."""
def bitwise_not_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`bitwise_not`, written over this tensor."""
def bitwise_or(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Bitwise or of each pair of integers or booleans."""
def bitwise_or_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`bitwise_or`, written over this tensor."""
def bitwise_right_shift(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Bitwise right shift of each pair of integers or booleans."""
def bitwise_right_shift_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`bitwise_right_shift`, written over this tensor."""
def bitwise_xor(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Bitwise xor of each pair of integers or booleans."""
def bitwise_xor_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`bitwise_xor`, written over this tensor."""
def blackman_window(window_length: _int, periodic: _bool = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor: """The Blackman window."""
def block_diag(*tensors: Any) -> Tensor: """A matrix with these matrices on its diagonal; vectors are rows."""
def bmm(input: Tensor, mat2: Tensor, *, out: Any = ...) -> Tensor: """Products of two batches of matrices."""
def broadcast_shapes(*shapes: Any) -> Size: """The shape that tensors of these shapes broadcast to."""
def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]: """All tensors expanded to their common shape."""
def broadcast_to(input: Tensor, size: Sequence[_int]) -> Tensor: """A view of this shape in which dims of size 1 are repeated without a copy."""
def bucketize(input: Any, boundaries: Tensor, *, out_int32: _bool = ..., right: _bool = ..., out: Any = ...) -> Tensor: """The number of the bucket, between sorted boundaries, that each value lies in."""
def can_cast(from_: _dtype, to: _dtype) -> _bool: """Return True if torch's casting rules let a result of type `from_` be stored in an output of type `to`."""
def cartesian_prod(*tensors: Tensor) -> Tensor: """All combinations of one element from each vector, one row for each."""
def cat(tensors: Sequence[Tensor], dim: Any = ..., *, axis: Any = ..., out: Tensor | None = ...) -> Tensor: """Join tensors along a dim they have: (2, 3) and (4, 3) become (6, 3) for dim 0."""
def cdist(x1: Tensor, x2: Tensor, p: _float = ..., compute_mode: str | _int | None = ...) -> Tensor:
    """p-norm distances between all pairs of rows.

    (..., n, d) and (..., m, d) give (..., n, m). `compute_mode` says whether Euclidean distances may be computed by a
    matrix product, which is quicker and less exact.
    """
def ceil(input: Any, *, out: Any = ...) -> Tensor: """The smallest integer that is not below each element. Integers stay as they are."""
def ceil_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`ceil`, written over this tensor."""
def celu(input: Tensor, alpha: _float = ..., inplace: _bool = ...) -> Tensor: """x where positive, alpha * (exp(x / alpha) - 1) elsewhere."""
def celu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`celu`, written over the input."""
def chain_matmul(*matrices: Tensor, out: Any = ...) -> Tensor: """Product of several matrices (the older name of `linalg.multi_dot`)."""
chalf: _dtype
def channel_shuffle(input: Tensor, groups: _int) -> Tensor: """Channels taken from the groups in turn: (N, g * k, ...) read as (N, g, k, ...) and transposed."""
channels_last: _memory_format
channels_last_3d: _memory_format
def cholesky(input: Tensor, upper: _bool = ..., *, out: Any = ...) -> Tensor: """L with L L^H = input (or U with U^H U = input)."""
def cholesky_inverse(input: Tensor, upper: _bool = ..., *, out: Any = ...) -> Tensor: """The inverse of A, from its Cholesky factor."""
def cholesky_solve(input: Tensor, input2: Tensor, upper: _bool = ..., *, out: Any = ...) -> Tensor: """X with A X = input, from the Cholesky factor of A."""
def chunk(input: Tensor, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]: """Views of at most `chunks` equal pieces."""
def clamp(input: Any, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor: """Limit elements to [min, max]; either bound may be a number, a tensor or None."""
def clamp_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`clamp`, written over this tensor."""
def clamp_max(input: Any, max: Any, *, out: Any = ...) -> Tensor: """Elements not above `max`."""
def clamp_max_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`clamp_max`, written over this tensor."""
def clamp_min(input: Any, min: Any, *, out: Any = ...) -> Tensor: """Elements not below `min`."""
def clamp_min_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`clamp_min`, written over this tensor."""
def clear_autocast_cache() -> None: """Casts are not cached."""
def clip(input: Any, min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor: """Limit elements to [min, max]; either bound may be a number, a tensor or None."""
def clip_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`clip`, written over this tensor."""
def clone(input: Tensor, *, memory_format: Any = ...) -> Tensor: """A copy with its own memory; gradients flow through it."""
def column_stack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor: """Join tensors side by side; vectors are columns."""
def combinations(input: Tensor, r: _int = ..., with_replacement: _bool = ...) -> Tensor: """All choices of `r` elements of a vector, one row for each."""
def compile(model: Any = ..., *, fullgraph: _bool = ..., dynamic: _bool | None = ..., backend: Any = ..., mode: str | None = ..., options: dict[str, Any] | None = ..., disable: _bool = ..., **others: Any) -> Any:
    """The function itself, or the module as `_orig_mod` of another, as in torch, whose checkpoints of compiled models
    have that in their keys. All of torch's arguments are accepted; also a decorator.
    """
def compiled_with_cxx11_abi() -> _bool: """True, as in torch's builds; there is no C++ here."""
def complex(real: Any, imag: Any, *, out: Tensor | None = ...) -> Tensor: """Complex numbers from real and imaginary parts."""
complex32: _dtype
def concat(tensors: Sequence[Tensor], dim: Any = ..., *, axis: Any = ..., out: Tensor | None = ...) -> Tensor: """Join tensors along a dim they have: (2, 3) and (4, 3) become (6, 3) for dim 0."""
def concatenate(tensors: Sequence[Tensor], dim: Any = ..., *, axis: Any = ..., out: Tensor | None = ...) -> Tensor: """Join tensors along a dim they have: (2, 3) and (4, 3) become (6, 3) for dim 0."""
def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ...) -> Any: """The result of one of two functions."""
def conj(input: Tensor) -> Tensor: """The complex conjugate; real tensors are returned as they are."""
def conj_physical(input: Tensor, *, out: Any = ...) -> Tensor: """The complex conjugate in memory of its own; real tensors are returned as they are."""
def conj_physical_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`conj_physical`, written over this tensor."""
def constant_pad_nd(input: Tensor, pad: Sequence[_int], value: Any = ...) -> Tensor: """A constant put around the last dims: `pad` has the amounts before and after, last dim first."""
contiguous_format: _memory_format
def conv1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ...) -> Tensor: """Cross-correlation of (N, C, L) with weights (out, C / groups, taps)."""
def conv2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ...) -> Tensor: """Cross-correlation of (N, C, H, W) with weights (out, C / groups, height, width)."""
def conv3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: _int = ...) -> Tensor: """Cross-correlation of (N, C, D, H, W) with weights (out, C / groups, depth, height, width)."""
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: _int = ...) -> Tensor: """One-dimensional convolution of (time, batch, channels) with weights (taps, channels, out)."""
def conv_transpose1d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ...) -> Tensor: """The transpose of conv1d: (N, C, L) with weights (C, out / groups, taps)."""
def conv_transpose2d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ...) -> Tensor: """The transpose of conv2d: (N, C, H, W) with weights (C, out / groups, height, width)."""
def conv_transpose3d(input: Tensor, weight: Tensor, bias: Tensor | None = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., groups: _int = ..., dilation: Any = ...) -> Tensor: """The transpose of conv3d: (N, C, D, H, W) with weights (C, out / groups, depth, height, width)."""
def convolution(input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sequence[_int], padding: Sequence[_int], dilation: Sequence[_int], transposed: _bool, output_padding: Sequence[_int], groups: _int) -> Tensor: """Convolution or transposed convolution over as many dims as the weight has."""
def copysign(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The size of `input` with the sign of `other`."""
def copysign_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`copysign`, written over this tensor."""
def corrcoef(input: Tensor) -> Tensor: """Matrix of correlation coefficients of variables in rows."""
def cos(input: Any, *, out: Tensor | None = ...) -> Tensor: """The cosine of each element, in radians."""
def cos_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`cos`, written over this tensor."""
def cosh(input: Any, *, out: Tensor | None = ...) -> Tensor: """The hyperbolic cosine of each element."""
def cosh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`cosh`, written over this tensor."""
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., reduction: _int = ...) -> Tensor: """`nn.functional.cosine_embedding_loss` with a number for the reduction."""
def cosine_similarity(x1: Tensor, x2: Tensor, dim: _int = ..., eps: _float = ...) -> Tensor: """Cosine of the angle between vectors along a dim; lengths below eps count as eps."""
def count_nonzero(input: Any, dim: Any = ...) -> Tensor: """How many elements (along dims) are not zero."""
def cov(input: Tensor, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
    """Covariance matrix of variables in rows, observations in columns, optionally weighted.

    `correction` (1) is subtracted from the number of observations; `fweights` says how often each was made,
    `aweights` how much it counts.
    """
def cross(input: Tensor, other: Tensor, dim: _int | None = ..., *, out: Any = ...) -> Tensor: """Cross product along a dim of size 3 (the first such dim if none is given)."""
def ctc_loss(log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: _int = ..., reduction: _int = ..., zero_infinity: _bool = ...) -> Tensor: """`nn.functional.ctc_loss` with a number for the reduction."""
def cummax(input: Tensor, dim: _int, *, out: Any = ...) -> _ValuesIndices: """Running maxima along a dim and their indices."""
def cummin(input: Tensor, dim: _int, *, out: Any = ...) -> _ValuesIndices: """Running minima along a dim and their indices."""
def cumprod(input: Any, dim: _int, *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: """Running products along a dim; integers are multiplied in int64."""
def cumprod_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`cumprod`, written over this tensor."""
def cumsum(input: Any, dim: _int, *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: """Running sums along a dim; integers are summed in int64."""
def cumsum_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`cumsum`, written over this tensor."""
def cumulative_trapezoid(y: Tensor, x: Any = ..., *, dx: Any = ..., dim: _int = ...) -> Tensor: """Running integrals along a dim by the trapezoidal rule."""
default_generator: _Generator
def deg2rad(input: Any, *, out: Tensor | None = ...) -> Tensor: """Angles in degrees, as radians."""
def deg2rad_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`deg2rad`, written over this tensor."""
def det(input: Tensor, *, out: Any = ...) -> Tensor: """Determinants."""
def detach(input: Tensor) -> Tensor: """The same memory without the history."""
def detach_(input: Tensor) -> Tensor: """Forget this tensor's history."""
def detach_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `detach` gives."""
def diag(input: Tensor, diagonal: _int = ..., *, out: Any = ...) -> Tensor: """A matrix with this vector as its diagonal, or the diagonal of this matrix as a copy."""
def diag_embed(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: """Zeros with the last dim of this tensor as the diagonal of two new dims."""
def diagflat(input: Tensor, offset: _int = ...) -> Tensor: """A matrix with all elements of this tensor on its diagonal."""
def diagonal(input: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
    """A view of the diagonal of two dims.

    It becomes the last dim. `offset` counts diagonals from the main one: above it for positive numbers, below for
    negative.
    """
def diagonal_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `diagonal` gives."""
def diagonal_scatter(input: Tensor, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: """A copy in which the diagonal is `src`."""
def diff(input: Tensor, n: _int = ..., dim: _int = ..., prepend: Any = ..., append: Any = ..., *, out: Any = ...) -> Tensor: """The n-th differences of neighbours along a dim."""
def digamma(input: Any, *, out: Any = ...) -> Tensor: """The derivative of `lgamma`."""
def digamma_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`digamma`, written over this tensor."""
def dist(input: Tensor, other: Tensor, p: _float = ...) -> Tensor: """The p-norm of `input - other`."""
def div(input: Any, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor: """`input / other`, optionally rounded towards zero ("trunc") or down ("floor")."""
def div_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`div`, written over this tensor."""
def divide(input: Any, other: Any, *, rounding_mode: str | None = ..., out: Any = ...) -> Tensor: """`input / other`, optionally rounded towards zero ("trunc") or down ("floor")."""
def divide_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`div`, written over this tensor."""
def dot(input: Tensor, tensor: Tensor, *, out: Any = ...) -> Tensor: """Sum of the products of two vectors' elements (no conjugation)."""
def dropout(input: Tensor, p: _float, train: _bool) -> Tensor: """`nn.functional.dropout` with p and train required."""
def dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: """`nn.functional.dropout` with p and train required."""
def dsmm(mat1: Any, mat2: Any, reduce: str = ...) -> Tensor:
    """The product of a sparse and a dense matrix; gradients reach both.

    With another `reduce` than "sum", what would be added up for an element is brought together by "mean", "amax" or "amin".
    """
def dsplit(input: Tensor, indices_or_sections: Any = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]: """`tensor_split` along dim 2."""
def dstack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor: """Join tensors along a third dim."""
e: _float
def einsum(equation: Any, *operands: Any) -> Tensor: """Sum products of elements as an equation such as "bij,bjk->bik" says."""
def embedding(weight: Tensor, indices: Tensor, padding_idx: _int = ..., scale_grad_by_freq: _bool = ..., sparse: _bool = ...) -> Tensor: """Rows of `weight`; a negative `padding_idx` means there is none."""
def embedding_bag(weight: Tensor, indices: Tensor, offsets: Tensor, scale_grad_by_freq: _bool = ..., mode: _int = ..., sparse: _bool = ..., per_sample_weights: Tensor | None = ..., include_last_offset: _bool = ..., padding_idx: _int | None = ...) -> tuple[Tensor, Tensor, Tensor, Tensor]: """Sums, means or maxima (mode 0, 1, 2) of bags of rows, and what backward needs besides, which is empty here."""
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: _float, norm_type: _float) -> Tensor: """Rows in use scaled down to `max_norm`, in place."""
def empty(*args: Any, size: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., memory_format: Any = ..., out: Tensor | None = ..., names: Any = ...) -> Tensor: """A tensor whose elements are whatever was in memory, to be filled: `empty(2, 3)`."""
def empty_like(input: Tensor, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., memory_format: Any = ..., pin_memory: _bool = ...) -> Tensor: """An uninitialised tensor in the shape and dtype of another."""
def empty_permuted(size: Any, physical_layout: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor: """An uninitialised tensor whose dims lie in memory in the given order."""
def empty_strided(size: Any, stride: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor: """An uninitialised tensor with the given sizes and strides."""
from .core.grad_mode import enable_grad as enable_grad
def eq(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is equal to that of `other`."""
def eq_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`eq`, written over this tensor."""
def equal(input: Tensor, other: Tensor) -> _bool: """True if two tensors have the same shape and elements."""
def erf(input: Any, *, out: Any = ...) -> Tensor: """The error function."""
def erf_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`erf`, written over this tensor."""
def erfc(input: Any, *, out: Any = ...) -> Tensor: """One minus the error function."""
def erfc_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`erfc`, written over this tensor."""
def erfinv(input: Any, *, out: Any = ...) -> Tensor: """The inverse of the error function."""
def erfinv_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`erfinv`, written over this tensor."""
def exp(input: Any, *, out: Tensor | None = ...) -> Tensor: """e to the power of each element."""
def exp2(input: Any, *, out: Tensor | None = ...) -> Tensor: """2 to the power of each element."""
def exp2_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`exp2`, written over this tensor."""
def exp_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`exp`, written over this tensor."""
def expand_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `expand` gives."""
def explain(loss: Any, gradient: Any = ..., *, inputs: Any = ..., model: Any = ..., elements: _int = ..., title: str | None = ...) -> _Explanation:
    """Show step by step what `loss.backward(gradient)` would do, without doing it.

    `loss` is a tensor or several; `gradient` the weights of its elements, as for backward(). Leaves are named after the
    variables of the caller, or after the parameters of `model`; `inputs` lists (or names, as a dict) tensors that
    should get a gradient, and those that do not are reported. `elements` limits how many parts of the loss are followed
    one by one. Made inside `with explaining.record()`, the graph also knows lines of code and modules.
    """
def expm1(input: Any, *, out: Tensor | None = ...) -> Tensor: """`exp(x) - 1` of each element, exact near 0."""
def expm1_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`expm1`, written over this tensor."""
def eye(n: _int, m: _int | None = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ...) -> Tensor: """The identity matrix (n by m)."""
def fake_quantize_per_channel_affine(input: Tensor, scale: Tensor, zero_point: Tensor, axis: _int, quant_min: _int, quant_max: _int) -> Tensor: """`fake_quantize_per_tensor_affine` with a scale and a zero point for each place along `axis`."""
def fake_quantize_per_tensor_affine(input: Tensor, scale: _float | Tensor, zero_point: _int | Tensor, quant_min: _int, quant_max: _int) -> Tensor: """Numbers rounded to multiples of `scale` whose steps, counted from `zero_point`, lie in a range."""
def feature_alpha_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: """`nn.functional.feature_alpha_dropout` with p and train required."""
def feature_alpha_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: """`nn.functional.feature_alpha_dropout` with p and train required."""
def feature_dropout(input: Tensor, p: _float, train: _bool) -> Tensor: """`nn.functional.feature_dropout` with p and train required."""
def feature_dropout_(input: Tensor, p: _float, train: _bool) -> Tensor: """`nn.functional.feature_dropout` with p and train required."""
def fill(input: Tensor, value: Any) -> Tensor: """A tensor of one value in the shape of this one."""
def fill_(input: Tensor, value: Any) -> Tensor: """Write one value everywhere."""
from .core.basics.dtypes import finfo as finfo
def fix(input: Any, *, out: Any = ...) -> Tensor: """Each element without its fractional part. Integers stay as they are."""
def fix_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`fix`, written over this tensor."""
def flatten(input: Tensor, start_dim: _int = ..., end_dim: _int = ...) -> Tensor: """Merge the dims from `start_dim` to `end_dim` into one."""
def flip(input: Tensor, *dims: Any, **named: Any) -> Tensor: """The order along dims reversed."""
def fliplr(input: Tensor) -> Tensor: """Columns in reverse order."""
def flipud(input: Tensor) -> Tensor: """Rows in reverse order."""
float4_e2m1fn_x2: _dtype
float8_e4m3fnuz: _dtype
float8_e5m2fnuz: _dtype
float8_e8m0fnu: _dtype
def float_power(input: Any, exponent: Any, *, out: Tensor | None = ...) -> Tensor: """`input ** exponent` in double precision."""
def floor(input: Any, *, out: Any = ...) -> Tensor: """The largest integer that is not above each element. Integers stay as they are."""
def floor_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`floor`, written over this tensor."""
def floor_divide(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Division rounded down."""
def floor_divide_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`floor_divide`, written over this tensor."""
def fmax(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The larger of two elements; if one is NaN, the other."""
def fmin(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The smaller of two elements; if one is NaN, the other."""
def fmod(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The remainder of truncated division: it has the sign of the dividend."""
def fmod_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`fmod`, written over this tensor."""
def frac(input: Any, *, out: Any = ...) -> Tensor: """The fractional part, with the sign of the number."""
def frac_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`frac`, written over this tensor."""
def frexp(input: Tensor, *, out: Any = ...) -> _FrexpResult: """Mantissas in [0.5, 1) and integer exponents with `input = mantissa * 2**exponent`."""
def frobenius_norm(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: """The square root of the sum of squares over dims."""
def from_dlpack(ext_tensor: Any, /, *, device: Any = ..., copy: _bool | None = ...) -> Tensor: """A tensor that shares the memory of any object that speaks DLPack, or a copy of it if asked for."""
def from_file(filename: Any, shared: _bool | None = ..., size: _int = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor: """The first elements of a file, in the file's own memory: of a shared one (made if need be) writes go to the file."""
def from_numpy(array: _NDArray[Any]) -> Tensor:
    """A tensor that shares the memory of an ndarray.

    NumPy's functions of tensors give tensors: `from_numpy(np.stack(tensors))` is one without history, as in torch.
    """
def frombuffer(buffer: Any, *, dtype: Any, count: _int = ..., offset: _int = ..., requires_grad: _bool = ...) -> Tensor: """A tensor that shares the memory of an object with a buffer (bytes, bytearray, memoryview)."""
def full(size: Any, fill_value: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ..., names: Any = ...) -> Tensor: """A tensor of one value; its dtype follows the value: `full((2, 3), 1.0)`."""
def full_like(input: Tensor, fill_value: Any, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., memory_format: Any = ..., pin_memory: _bool = ...) -> Tensor: """One value in the shape and dtype of another tensor."""
def gather(input: Tensor, dim: _int, index: Tensor, *, sparse_grad: _bool = ..., out: Any = ...) -> Tensor:
    """The elements at `index` along a dim, one for each index.

    The result has the shape of `index`; for a matrix and dim 1, `result[i][j] = input[i][index[i][j]]`. So
    `scores.gather(1, labels[:, None])` picks one score of each row.
    """
def gcd(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The greatest common divisor of two integers."""
def gcd_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`gcd`, written over this tensor."""
def ge(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is greater than or equal to that of `other`."""
def ge_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`ge`, written over this tensor."""
def geqrf(input: Tensor, *, out: Any = ...) -> Any: """QR in LAPACK's compact form."""
def ger(input: Tensor, vec2: Tensor, *, out: Any = ...) -> Tensor: """All products of the elements of two vectors."""
def get_autocast_cpu_dtype() -> _dtype: """The dtype products take under autocast on the CPU."""
def get_autocast_dtype(device_type: str) -> _dtype: """The dtype products take under autocast."""
def get_autocast_gpu_dtype() -> _dtype: """The dtype products would take under autocast on a GPU."""
def get_default_device() -> _device: """Where new tensors go."""
def get_default_dtype() -> _dtype: """The dtype that Python floats become: float32 unless changed by `set_default_dtype`."""
def get_deterministic_debug_mode() -> _int: """Return the mode that `set_deterministic_debug_mode` was last told, as a number."""
def get_device(input: Tensor) -> _int: """-1: main memory has no number."""
def get_device_module(device: Any = ...) -> Any: """The module of a device type, as in `torch.get_device_module("cuda")`."""
def get_float32_matmul_precision() -> str: """Return what `set_float32_matmul_precision` was last told; products have full precision either way."""
def get_num_interop_threads() -> _int: """Accepted for compatibility: operations are started from one thread."""
def get_num_threads() -> _int: """The number of threads large operations are split over."""
def get_rng_state() -> Tensor: """The state of the default stream as a tensor of bytes."""
def gradient(input: Tensor, *, spacing: Any = ..., dim: _int | Sequence[_int] | None = ..., edge_order: _int = ...) -> tuple[Tensor, ...]: """Numerical derivatives along dims of samples at points `spacing` (or `spacing` apart)."""
def greater(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is greater than that of `other`."""
def greater_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`greater`, written over this tensor."""
def greater_equal(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is greater than or equal to that of `other`."""
def greater_equal_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`greater_equal`, written over this tensor."""
def grid_sampler(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor: """`nn.functional.grid_sample` with numbers for the modes."""
def grid_sampler_2d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor: """`nn.functional.grid_sample` with numbers for the modes."""
def grid_sampler_3d(input: Tensor, grid: Tensor, interpolation_mode: _int, padding_mode: _int, align_corners: _bool) -> Tensor: """`nn.functional.grid_sample` with numbers for the modes."""
def group_norm(input: Tensor, num_groups: _int, weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enabled: _bool = ...) -> Tensor: """`nn.functional.group_norm`."""
def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: """Outputs and hidden state of a GRU; arguments as for `lstm`, with one tensor as state."""
def gru_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor: """One step of a recurrent network: the next hidden state (gru)."""
def gt(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is greater than that of `other`."""
def gt_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`gt`, written over this tensor."""
def hamming_window(window_length: _int, periodic: _bool = ..., alpha: _float = ..., beta: _float = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor: """The Hamming window, alpha - beta cos."""
def hann_window(window_length: _int, periodic: _bool = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor: """The Hann window."""
def hardshrink(input: Tensor, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor: """0 where |x| <= lambd, x elsewhere."""
def hash_tensor(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, mode: _int = ..., out: Any = ...) -> Tensor: """Exclusive-or of the bits of all elements (or along dims), as uint64."""
def heaviside(input: Any, values: Any, *, out: Any = ...) -> Tensor: """0 below zero, 1 above, `values` at zero. Both tensors have one dtype."""
def heaviside_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`heaviside`, written over this tensor."""
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: _float = ..., reduction: _int = ...) -> Tensor: """`nn.functional.hinge_embedding_loss` with a number for the reduction."""
def histc(input: Tensor, bins: _int = ..., min: Any = ..., max: Any = ..., *, out: Any = ...) -> Tensor: """Counts in `bins` equal bins between min and max (of the data, if equal)."""
def histogram(input: Tensor, bins: Any = ..., *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ..., out: Any = ...) -> _HistogramResult:
    """Counts in bins, given by number or by edges, and the edges.

    `range` is (lowest, highest) of evenly spaced bins, those of the data unless given. `weight` has a number for each
    element, which counts in place of 1. `density` divides by the sum and by the widths of the bins.
    """
def histogramdd(input: Tensor, bins: Any, *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> _HistogramddResult: """Counts of points (rows of coordinates) in a grid of bins, and the edges along each axis."""
def hsplit(input: Tensor, indices_or_sections: Any = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]: """`tensor_split` along dim 1."""
def hstack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor: """Join tensors side by side: along dim 1, vectors along dim 0."""
def hypot(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The length of the hypotenuse: `sqrt(input**2 + other**2)`."""
def hypot_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`hypot`, written over this tensor."""
def i0(input: Any, *, out: Any = ...) -> Tensor: """The modified Bessel function of the first kind, of order 0."""
def i0_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`i0`, written over this tensor."""
def igamma(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Regularized lower incomplete gamma function."""
def igamma_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`igamma`, written over this tensor."""
def igammac(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Regularized upper incomplete gamma function."""
def igammac_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`igammac`, written over this tensor."""
from .core.basics.dtypes import iinfo as iinfo
def imag(input: Tensor) -> Tensor: """The imaginary part of a complex tensor, as a view."""
def index_add(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = ..., out: Any = ...) -> Tensor:
    """A copy with the slices of `source`, times `alpha`, added at `index` of a dim: `result[index[i]] += source[i]` for
    dim 0.
    """
def index_copy(input: Tensor, dim: _int, index: Tensor, source: Tensor, *, out: Any = ...) -> Tensor: """A copy with the slices of `source` written at `index` of a dim."""
def index_copy_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`index_copy`, written over this tensor."""
def index_fill(input: Tensor, dim: _int, index: Tensor, value: Any) -> Tensor: """A copy with one value in the slices at `index` of a dim."""
def index_put(input: Tensor, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor: """A copy with `values` written (or added) at the indices, one tensor of indices for each dim."""
def index_put_(self: Tensor, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor: """Write (or add) `values` at the indices, one tensor of indices for each dim."""
def index_reduce(input: Tensor, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ..., out: Any = ...) -> Tensor: """A copy in which the slices of `source` that go to one place are reduced there: prod, mean, amax or amin."""
def index_reduce_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`index_reduce`, written over this tensor."""
def index_select(input: Tensor, dim: _int, index: Tensor, *, out: Any = ...) -> Tensor: """The slices of a dim at `index`, a vector of integers, in its order and as often: `x[:, index]` for dim 1."""
inf: _float
from .core.grad_mode import inference_mode as inference_mode
def init_num_threads() -> None: """Accepted: threads are counted when they are first used."""
def initial_seed() -> _int: """The seed the default stream was last started from."""
def inner(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor: """Sums of products over the last dims of both."""
def install_as_torch() -> None: """Make `import torch`, in this process and from now on, mean Pullback. Calling it again changes nothing."""
def instance_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, use_input_stats: _bool, momentum: _float, eps: _float, cudnn_enabled: _bool = ...) -> Tensor: """`nn.functional.instance_norm` with torch.instance_norm's order of arguments."""
def inverse(input: Tensor, *, out: Any = ...) -> Tensor: """Inverses of square matrices."""
def is_anomaly_check_nan_enabled() -> _bool: """True if anomaly mode, when it is on, checks for NaN."""
def is_anomaly_enabled() -> _bool: """True if anomaly mode is on."""
def is_autocast_cache_enabled() -> _bool: """Return what `set_autocast_cache_enabled` was last told. Nothing else depends on it: casts are not cached."""
def is_autocast_cpu_enabled() -> _bool: """True if autocast is on for the CPU."""
def is_autocast_enabled(device_type: str | None = ...) -> _bool: """True if autocast is on for a type of device (a GPU unless given)."""
def is_complex(input: Tensor) -> _bool: """True if the elements are complex numbers."""
def is_conj(input: Tensor) -> _bool: """False: conjugation is done at once."""
def is_deterministic_algorithms_warn_only_enabled() -> _bool: """Return the `warn_only` that `use_deterministic_algorithms` was last told."""
def is_distributed(input: Any) -> _bool: """False: every tensor lives in one process."""
def is_floating_point(input: Tensor) -> _bool: """True if the elements are floats."""
def is_grad_enabled() -> _bool: """Return True if operations are being recorded in this context."""
def is_inference(input: Tensor) -> _bool: """True if the tensor was made under `inference_mode`."""
def is_inference_mode_enabled() -> _bool: """Return True if `inference_mode` is on in this context."""
def is_neg(input: Tensor) -> _bool: """False: negation is done at once."""
def is_nonzero(input: Tensor) -> _bool: """True if the one element differs from zero."""
def is_same_size(input: Tensor, other: Tensor) -> _bool: """True if the shapes are equal."""
def is_signed(input: Tensor) -> _bool: """True if the dtype has negative numbers."""
def is_storage(obj: Any, /) -> _bool: """True if an object is a storage."""
def is_tensor(obj: Any) -> _bool: """True if an object is a Tensor."""
def is_warn_always_enabled() -> _bool: """Return what `set_warn_always` was last told."""
def isclose(input: Any, other: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor: """Where two tensors agree to within atol + rtol * |other|."""
def isfinite(input: Any) -> Tensor: """True where the element is neither infinite nor NaN."""
def isin(elements: Any, test_elements: Any, *, assume_unique: _bool = ..., invert: _bool = ..., out: Any = ...) -> Tensor:
    """Which elements are among the test elements.

    `invert` asks for those that are not. `assume_unique` is accepted: it promises that neither has equal elements.
    """
def isinf(input: Any) -> Tensor: """True where the element is infinite."""
def isnan(input: Any) -> Tensor: """True where the element is NaN."""
def isneginf(input: Any, *, out: Any = ...) -> Tensor: """True where the element is minus infinity."""
def isposinf(input: Any, *, out: Any = ...) -> Tensor: """True where the element is plus infinity."""
def isreal(input: Any) -> Tensor: """True where the element is a real number (has no imaginary part)."""
def istft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
    """The signal whose `stft` is closest to the input: windows transformed back, added up, divided by their weights.

    The arguments are those of `stft`; `length` is that of the signal, which the windows do not tell exactly.
    """
def jacobian(outputs: Any, inputs: Any, *, create_graph: _bool = ..., retain_graph: _bool = ..., chunk_size: _int | None = ...) -> Any:
    """The derivatives of all elements of `outputs` with respect to `inputs`, from the graph that computed them.

    Both may be a tensor or any nesting of lists, tuples and dicts. The result has the structure of `outputs`, each
    entry that of `inputs`, each leaf the shape (*output.shape, *input.shape); zeros where nothing depends. `chunk_size`
    limits how many rows are computed in one pass.
    """
jagged: _layout
def kaiser_window(window_length: _int, periodic: _bool = ..., beta: _float = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor: """The Kaiser window of shape `beta`."""
def kl_div(input: Tensor, target: Tensor, reduction: _int = ..., *, log_target: _bool = ...) -> Tensor: """`nn.functional.kl_div` with a number for the reduction (and no warning about the mean)."""
def kron(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor: """Kronecker product: every element of the first times all of the second."""
def kthvalue(input: Tensor, k: _int, dim: _int = ..., keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The k-th smallest element (from 1) along a dim and its index."""
def layer_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., bias: Tensor | None = ..., eps: _float = ..., cudnn_enable: _bool = ...) -> Tensor: """`nn.functional.layer_norm`."""
from .core.basics.layout import layout as layout
def lcm(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The least common multiple of two integers."""
def lcm_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`lcm`, written over this tensor."""
def ldexp(input: Any, other: Any, *, out: Any = ...) -> Tensor: """`input * 2**other`."""
def ldexp_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`ldexp`, written over this tensor."""
def le(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is less than or equal to that of `other`."""
def le_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`le`, written over this tensor."""
legacy_contiguous_format: _memory_format
def lerp(input: Any, end: Any, weight: Any, *, out: Any = ...) -> Tensor: """`input + weight * (end - input)`."""
def lerp_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`lerp`, written over this tensor."""
def less(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is less than that of `other`."""
def less_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`less`, written over this tensor."""
def less_equal(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is less than or equal to that of `other`."""
def less_equal_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`less_equal`, written over this tensor."""
def lgamma(input: Any, *, out: Any = ...) -> Tensor: """The logarithm of the absolute value of the gamma function."""
def lgamma_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`lgamma`, written over this tensor."""
def linspace(start: Any, end: Any, steps: _int, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ...) -> Tensor: """`steps` evenly spaced numbers from `start` to `end`, both included."""
def load(f: Any, map_location: Any = ..., pickle_module: Any = ..., *, weights_only: _bool | None = ..., mmap: _bool | None = ..., **pickle_load_args: Any) -> Any:
    """Read what `save` (ours or torch's) wrote to a path or a file object.

    Unless `weights_only=False` (or a `pickle_module`) is given, only data, tensors and classes passed to
    `add_safe_globals` can come out, and no code from the file can run. Checksums are verified, except of tensors
    with `mmap=True`, which are read from disk when first used.
    """
def lobpcg(A: Tensor, k: _int | None = ..., B: Tensor | None = ..., X: Tensor | None = ..., n: _int | None = ..., iK: Tensor | None = ..., niter: _int | None = ..., tol: _float | None = ..., largest: _bool | None = ..., method: str | None = ..., tracker: Any = ..., ortho_iparams: Any = ..., ortho_fparams: Any = ..., ortho_bparams: Any = ...) -> tuple[Tensor, Tensor]: """The k largest (or smallest) eigenvalues and eigenvectors of symmetric matrices."""
def log(input: Any, *, out: Tensor | None = ...) -> Tensor: """The natural logarithm of each element."""
def log10(input: Any, *, out: Tensor | None = ...) -> Tensor: """The logarithm to base 10 of each element."""
def log10_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`log10`, written over this tensor."""
def log1p(input: Any, *, out: Tensor | None = ...) -> Tensor: """`log(1 + x)` of each element, exact near 0."""
def log1p_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`log1p`, written over this tensor."""
def log2(input: Any, *, out: Tensor | None = ...) -> Tensor: """The logarithm to base 2 of each element."""
def log2_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`log2`, written over this tensor."""
def log_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`log`, written over this tensor."""
def log_softmax(input: Any, dim: _int, dtype: _dtype | None = ..., *, out: Any = ...) -> Tensor: """log(softmax(x)) along a dim, computed without overflow."""
def logaddexp(input: Any, other: Any, *, out: Any = ...) -> Tensor: """`log(exp(input) + exp(other))`, without overflow."""
def logaddexp2(input: Any, other: Any, *, out: Any = ...) -> Tensor: """`log2(2**input + 2**other)`, without overflow."""
def logcumsumexp(input: Tensor, dim: _int, *, out: Any = ...) -> Tensor: """Logarithm of the running sums of exponentials along a dim."""
def logdet(input: Tensor) -> Tensor: """Logarithms of determinants: NaN where the determinant is negative."""
def logical_and(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Logical and of each pair of elements, as a boolean; 0 is False."""
def logical_and_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`logical_and`, written over this tensor."""
def logical_not(input: Any, *, out: Any = ...) -> Tensor: """True where the element is 0 or False."""
def logical_not_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`logical_not`, written over this tensor."""
def logical_or(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Logical or of each pair of elements, as a boolean; 0 is False."""
def logical_or_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`logical_or`, written over this tensor."""
def logical_xor(input: Any, other: Any, *, out: Any = ...) -> Tensor: """Logical xor of each pair of elements, as a boolean; 0 is False."""
def logical_xor_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`logical_xor`, written over this tensor."""
def logit(input: Any, eps: _float | None = ..., *, out: Any = ...) -> Tensor: """log(x / (1 - x)); with `eps`, of x limited to [eps, 1 - eps]."""
def logit_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`logit`, written over this tensor."""
def logspace(start: Any, end: Any, steps: _int, base: _float = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ...) -> Tensor: """`base` to the powers that `linspace` gives."""
def logsumexp(input: Any, dim: Any, keepdim: _bool = ..., *, out: Any = ...) -> Tensor: """log(sum(exp(x))) over dims, computed without overflow."""
def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs, hidden and cell state of an LSTM: `(input, (h, c), params, has_biases, num_layers, dropout, train,
    bidirectional, batch_first)`, or `(data, batch_sizes, (h, c), ...)` of a packed sequence.
    """
def lstm_cell(input: Tensor, hx: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> tuple[Tensor, ...]: """One step of an LSTM: the next hidden and cell state."""
def lt(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is less than that of `other`."""
def lt_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`lt`, written over this tensor."""
def lu(A: Tensor, pivot: _bool = ..., get_infos: _bool = ..., out: Any = ...) -> tuple[Any, ...]: """L and U in one matrix, and pivots (and info)."""
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = ...) -> Tensor: """X with A X = input, from the LU factorization of A."""
def lu_unpack(LU_data: Tensor, LU_pivots: Tensor, unpack_data: _bool = ..., unpack_pivots: _bool = ..., *, out: Any = ...) -> Any: """P, L and U from the compact form of `lu_factor`."""
def manual_seed(seed: Any) -> _Generator: """Restart the default stream from a seed. The same seed gives torch's numbers."""
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: _float = ..., reduction: _int = ...) -> Tensor: """`nn.functional.margin_ranking_loss` with a number for the reduction."""
def masked_fill(input: Tensor, mask: Tensor, value: Any) -> Tensor: """A copy with one value where the mask is true."""
def masked_scatter(input: Tensor, mask: Tensor, source: Tensor) -> Tensor: """A copy with the elements of `source`, in order, where the mask is true."""
def masked_scatter_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`masked_scatter`, written over this tensor."""
def masked_select(input: Tensor, mask: Tensor, *, out: Any = ...) -> Tensor: """The elements where the mask is true, in one dim."""
def matmul(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor: """Matrix product; 1-d tensors are vectors, leading dims are batches."""
def matrix_exp(input: Tensor) -> Tensor: """The exponential of square matrices."""
def matrix_power(input: Tensor, n: _int, *, out: Any = ...) -> Tensor: """A matrix multiplied by itself n times."""
@overload
def max(input: Tensor, *, out: Any = ...) -> Tensor: ...
@overload
def max(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor: ...
@overload
def max(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The largest element; with a dim, (values, indices) along it; with another tensor, the larger of the two."""
def max_pool1d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any:
    """Largest value in each window.

    `kernel_size`, `stride` (the kernel size unless given), `padding` and `dilation` are a number, or one for each
    axis; `ceil_mode` keeps a window that hangs over the edge. `return_indices` gives the places of the values, too,
    which `max_unpool1d` takes.
    """
def max_pool1d_with_indices(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any: """(values, indices) of `max_pool1d`."""
def max_pool2d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any:
    """Largest value in each window.

    `kernel_size`, `stride` (the kernel size unless given), `padding` and `dilation` are a number, or one for each
    axis; `ceil_mode` keeps a window that hangs over the edge. `return_indices` gives the places of the values, too,
    which `max_unpool2d` takes.
    """
def max_pool3d(input: Tensor, kernel_size: Any, stride: Any = ..., padding: Any = ..., dilation: Any = ..., ceil_mode: _bool = ..., return_indices: _bool = ...) -> Any:
    """Largest value in each window.

    `kernel_size`, `stride` (the kernel size unless given), `padding` and `dilation` are a number, or one for each
    axis; `ceil_mode` keeps a window that hangs over the edge. `return_indices` gives the places of the values, too,
    which `max_unpool3d` takes.
    """
def maximum(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The larger of two elements; NaN if either is NaN."""
def mean(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: """Mean of all elements, or over the dims given. Needs a floating point dtype."""
@overload
def median(input: Tensor) -> Tensor: ...
@overload
def median(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The lower median, of everything or along a dim; NaN if there is one."""
def memory(loss: Any, *, model: Any = ...) -> _MemoryReport: """List what the graph of a tensor (or several) keeps alive: operation, tensor, bytes and line, largest first."""
from .core.basics.layout import memory_format as memory_format
def meshgrid(*tensors: Any, indexing: str | None = ...) -> tuple[Tensor, ...]: """Coordinates of a grid: each vector expanded over the dims of the others."""
@overload
def min(input: Tensor, *, out: Any = ...) -> Tensor: ...
@overload
def min(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor: ...
@overload
def min(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The smallest element; with a dim, (values, indices) along it; with another tensor, the smaller of the two."""
def minimum(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The smaller of two elements; NaN if either is NaN."""
def mm(input: Tensor, mat2: Tensor, *, out: Any = ...) -> Tensor: """Product of two matrices."""
def mode(input: Tensor, dim: _int = ..., keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The most frequent value along a dim (the smallest of several) and the index of one occurrence."""
def moveaxis(input: Tensor, source: Any, destination: Any) -> Tensor: """Dims moved to other places, the rest in order."""
def movedim(input: Tensor, source: Any, destination: Any) -> Tensor: """Dims moved to other places, the rest in order."""
def msort(input: Tensor, *, out: Any = ...) -> Tensor: """The elements in order along the first dim."""
def mul(input: Any, other: Any, *, out: Any = ...) -> Tensor: """`input * other`."""
def mul_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`mul`, written over this tensor."""
def multinomial(input: Tensor, num_samples: _int, replacement: _bool = ..., *, generator: Any = ..., out: Any = ...) -> Tensor: """Indices drawn with the weights in each row of `input`."""
def multiply(input: Any, other: Any, *, out: Any = ...) -> Tensor: """`input * other`."""
def multiply_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`mul`, written over this tensor."""
def mv(input: Tensor, vec: Tensor, *, out: Any = ...) -> Tensor: """A matrix times a vector."""
def mvlgamma(input: Any, p: _int, *, out: Any = ...) -> Tensor: """Log of the multivariate gamma function of dimension p."""
def mvlgamma_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`mvlgamma`, written over this tensor."""
nan: _float
def nan_to_num(input: Any, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ..., *, out: Any = ...) -> Tensor: """NaN and infinities replaced: by 0 and the largest finite numbers unless given."""
def nan_to_num_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`nan_to_num`, written over this tensor."""
def nanmean(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: """Mean of the elements that are not NaN."""
@overload
def nanmedian(input: Tensor) -> Tensor: ...
@overload
def nanmedian(input: Tensor, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The lower median of what is not NaN."""
def nanquantile(input: Tensor, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Any = ...) -> Tensor: """Quantiles of what is not NaN."""
def nansum(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: """Sum of the elements that are not NaN."""
def narrow(input: Tensor, dim: _int, start: Any, length: _int) -> Tensor: """A view of `length` slices of a dim from `start`."""
def narrow_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `narrow` gives."""
def native_batch_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None, running_var: Tensor | None, training: _bool, momentum: _float, eps: _float) -> tuple[Tensor, Tensor, Tensor]: """Batch norm, and in training the mean and the inverse standard deviation it used; else two empty tensors."""
def native_channel_shuffle(input: Tensor, groups: _int) -> Tensor: """`channel_shuffle` under the name of the kernel that torch has for it."""
def native_dropout(input: Tensor, p: _float, train: _bool | None) -> tuple[Tensor, Tensor]: """Dropout, and the mask of what it kept."""
def native_group_norm(input: Tensor, weight: Tensor | None, bias: Tensor | None, N: _int, C: _int, HxW: _int, group: _int, eps: _float) -> tuple[Tensor, Tensor, Tensor]: """Group norm, and the mean and the inverse standard deviation it used, (N, group)."""
def native_layer_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None, bias: Tensor | None, eps: _float) -> tuple[Tensor, Tensor, Tensor]: """Layer norm, and the mean and the inverse standard deviation it used."""
def ne(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is not equal to that of `other`."""
def ne_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`ne`, written over this tensor."""
def neg(input: Any, *, out: Any = ...) -> Tensor: """`-input`."""
def neg_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`neg`, written over this tensor."""
def negative(input: Any, *, out: Any = ...) -> Tensor: """`-input`."""
def negative_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`negative`, written over this tensor."""
def nextafter(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The next float after each element on the way to `other`."""
def nextafter_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`nextafter`, written over this tensor."""
from .core.grad_mode import no_grad as no_grad
@overload
def nonzero(input: Tensor, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
@overload
def nonzero(input: Tensor, *, out: Tensor | None = ..., as_tuple: Literal[False] = ...) -> Tensor: """Where elements are not zero: a matrix of indices, or one index tensor for each dim."""
def nonzero_static(input: Any, *, size: _int, fill_value: _int = ..., out: Tensor | None = ...) -> Tensor: """The first `size` rows of `nonzero`, filled up with `fill_value`."""
def norm(input: Tensor, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., dtype: _dtype | None = ..., out: Any = ...) -> Tensor: """Norm of a tensor as one vector, or over dims; p is a number, "fro" or "nuc"."""
def norm_except_dim(v: Tensor, pow: _int = ..., dim: _int = ...) -> Tensor: """The norm over all dims but one, which keeps its size (-1: over all)."""
def normal(mean: Any, std: Any = ..., size: Any = ..., *, generator: Any = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor: """Normal numbers with means and deviations given by numbers (and a size) or tensors."""
def not_equal(input: Any, other: Any, *, out: Any = ...) -> Tensor: """True where the element is not equal to that of `other`."""
def not_equal_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`not_equal`, written over this tensor."""
def nuclear_norm(input: Tensor, dim: Any = ..., keepdim: _bool = ..., *, out: Any = ...) -> Tensor: """The sum of the singular values of a matrix."""
def numel(input: Tensor) -> _int: """The number of elements."""
def ones(*args: Any, size: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ..., names: Any = ...) -> Tensor: """A tensor of ones: `ones(2, 3)` or `ones((2, 3))`."""
def ones_like(input: Tensor, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., memory_format: Any = ..., pin_memory: _bool = ...) -> Tensor: """Ones in the shape and dtype of another tensor."""
def orgqr(input: Tensor, tau: Tensor, *, out: Any = ...) -> Tensor: """The first columns of a product of Householder reflections."""
def ormqr(input: Tensor, tau: Tensor, other: Tensor, left: _bool = ..., transpose: _bool = ..., *, out: Any = ...) -> Tensor: """A product of Householder reflections times `other`."""
def outer(input: Tensor, vec2: Tensor, *, out: Any = ...) -> Tensor: """All products of the elements of two vectors."""
def pairwise_distance(x1: Tensor, x2: Tensor, p: _float = ..., eps: _float = ..., keepdim: _bool = ...) -> Tensor: """p-norm of x1 - x2 + eps over the last dim."""
def pca_lowrank(A: Tensor, q: _int | None = ..., center: _bool = ..., niter: _int = ...) -> tuple[Any, ...]: """Principal components, approximately."""
def pdist(input: Tensor, p: _float = ...) -> Tensor: """Distances between all pairs of rows, the pair (i, j) with i < j in the order of i, then j."""
def per_sample_gradients(losses: Tensor, params: Any, *, retain_graph: _bool = ...) -> Any:
    """The gradient of every sample's loss: for each parameter, a tensor of shape (N, *parameter.shape).

    `losses` comes from an ordinary forward pass over a batch, with the samples along axis 0 (`reduction="none"`). If
    it has more axes, a sample's loss is the sum over them. The model need not be written for one sample. Where
    samples are treated one by one, as most layers do, this costs about one backward pass and the memory of the
    result; where they meet (batch norm), it is still right, and costs N backward passes from there on.
    """
def per_sample_norms(losses: Tensor, params: Any = ..., *, retain_graph: _bool = ...) -> Tensor:
    """The length of every sample's gradient, over all parameters together.

    For the weights of linear layers it follows from the lengths of the layer's inputs and cotangents; their gradients
    are not formed.
    """
def permute(input: Tensor, *dims: Any, **named: Any) -> Tensor: """Dims in another order: `x.permute(2, 0, 1)` has the last one first. A view."""
def permute_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `permute` gives."""
pi: _float
def pinverse(input: Tensor, rcond: _float = ...) -> Tensor: """The pseudo-inverse."""
def pixel_shuffle(input: Tensor, upscale_factor: _int) -> Tensor: """(*, C * r * r, H, W) as (*, C, H * r, W * r)."""
def pixel_unshuffle(input: Tensor, downscale_factor: _int) -> Tensor: """(*, C, H * r, W * r) as (*, C * r * r, H, W)."""
def poisson(input: Tensor, generator: Any = ...) -> Tensor: """Poisson counts with the rates in `input`."""
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: _bool, full: _bool, eps: _float, reduction: _int) -> Tensor: """`nn.functional.poisson_nll_loss` with a number for the reduction."""
def polar(abs: Any, angle: Any, *, out: Tensor | None = ...) -> Tensor: """Complex numbers from their size and angle."""
def polygamma(n: _int, input: Any, *, out: Any = ...) -> Tensor: """The n-th derivative of digamma."""
def polygamma_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`polygamma`, written over this tensor."""
def positive(input: Tensor) -> Tensor: """The tensor itself; bool tensors have no sign."""
def pow(input: Any, exponent: Any, *, out: Any = ...) -> Tensor: """`input ** exponent`; either may be a number."""
def pow_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`pow`, written over this tensor."""
def prelu(input: Tensor, weight: Tensor) -> Tensor: """x where positive, weight * x elsewhere; one weight for all, or one for each channel (dim 1)."""
preserve_format: _memory_format
def prod(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: """Product of all elements, or along a dim. The gradient is right where elements are zero."""
def promote_types(type1: _dtype, type2: _dtype) -> _dtype: """The smallest dtype that both can be converted to, by torch's table."""
def put(input: Tensor, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor: """A copy with elements written (or added) at indices of the tensor as one long row."""
def put_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`put`, written over this tensor."""
qint32: _dtype
qint8: _dtype
def qr(input: Tensor, some: _bool = ..., *, out: Any = ...) -> tuple[Tensor, Tensor]: """The QR decomposition."""
def quantile(input: Tensor, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ..., out: Any = ...) -> Tensor:
    """Quantiles of everything or along a dim, interpolated between neighbours; NaN if there is one.

    `q` is a number from 0 to 1, or a tensor of several, which makes a first dim. `interpolation` is "linear",
    "lower", "higher", "midpoint" or "nearest".
    """
quint2x4: _dtype
quint4x2: _dtype
quint8: _dtype
def rad2deg(input: Any, *, out: Tensor | None = ...) -> Tensor: """Angles in radians, as degrees."""
def rad2deg_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`rad2deg`, written over this tensor."""
def rand(*args: Any, size: Any = ..., generator: Any = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., names: Any = ...) -> Tensor: """Uniform numbers in [0, 1): `rand(2, 3)`."""
def rand_like(input: Tensor, *, generator: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., memory_format: Any = ...) -> Tensor: """Uniform numbers in [0, 1) in the shape of another tensor."""
def randint(*args: Any, low: _int | None = ..., high: _int | None = ..., size: Any = ..., generator: Any = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor: """Integers in [low, high), with low 0 unless given: `randint(high, size)` or `randint(low, high, size)`."""
def randint_like(input: Tensor, *args: Any, low: _int | None = ..., high: _int | None = ..., generator: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., memory_format: Any = ...) -> Tensor: """Integers in [low, high) in the shape of another tensor."""
def randn(*args: Any, size: Any = ..., generator: Any = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., names: Any = ...) -> Tensor: """Normal numbers of mean 0 and variance 1: `randn(2, 3)`."""
def randn_like(input: Tensor, *, generator: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., memory_format: Any = ...) -> Tensor: """Normal numbers in the shape of another tensor."""
def randperm(n: _int, *, generator: Any = ..., out: Tensor | None = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor: """The numbers from 0 to n - 1 in random order."""
def range(start: Any = ..., end: Any = ..., step: Any = ..., *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., out: Tensor | None = ...) -> Tensor: """Like `arange`, but including the end (deprecated in torch, kept for old programs)."""
def ravel(input: Tensor) -> Tensor: """All elements in one dim."""
def real(input: Tensor) -> Tensor: """The real part: a view of complex tensors, real ones as they are."""
def reciprocal(input: Any, *, out: Tensor | None = ...) -> Tensor: """One over each element."""
def reciprocal_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`reciprocal`, written over this tensor."""
def relu(input: Any, *, out: Tensor | None = ...) -> Tensor: """Each element, or 0 where that is larger."""
def relu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`relu`, written over the input."""
def remainder(input: Any, other: Any, *, out: Any = ...) -> Tensor: """The remainder of floor division: it has the sign of the divisor."""
def remainder_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`remainder`, written over this tensor."""
def renorm(input: Tensor, p: _float, dim: _int, maxnorm: _float, *, out: Any = ...) -> Tensor: """Scale down each slice along `dim` whose p-norm exceeds `maxnorm`."""
def renorm_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`renorm`, written over this tensor."""
def repeat_interleave(input: Tensor, repeats: Any = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor: """Each element (or slice of a dim) repeated, copies next to each other."""
def reshape(input: Tensor, *shape: Any, **named: Any) -> Tensor: """The elements in another shape: a view when memory allows, else a copy."""
def resolve_conj(input: Tensor) -> Tensor: """Itself: nothing is conjugated later here."""
def resolve_neg(input: Tensor) -> Tensor: """Itself: nothing is negated later here."""
def result_type(tensor1: Any, tensor2: Any) -> _dtype: """The dtype that arithmetic on two tensors or numbers gives."""
def rms_norm(input: Tensor, normalized_shape: Sequence[_int], weight: Tensor | None = ..., eps: _float | None = ...) -> Tensor: """Divided by the root of the mean square over the trailing dims, then times weight."""
def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: """Outputs and hidden state of a plain recurrent network with relu; arguments as for `gru`."""
def rnn_relu_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor: """One step of a recurrent network: the next hidden state (rnn relu)."""
def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]: """Outputs and hidden state of a plain recurrent network with tanh; arguments as for `gru`."""
def rnn_tanh_cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = ..., b_hh: Tensor | None = ...) -> Tensor: """One step of a recurrent network: the next hidden state (rnn tanh)."""
def roll(input: Tensor, shifts: Any, dims: Any = ...) -> Tensor: """Elements moved along dims; what leaves at one end comes in at the other."""
def rot90(input: Tensor, k: _int = ..., dims: Sequence[_int] = ...) -> Tensor: """Rotated in the plane of two dims, `k` times 90 degrees."""
def round(input: Any, *, decimals: _int = ..., out: Any = ...) -> Tensor: """Round to the nearest integer (ties to even), or to `decimals` places."""
def round_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`round`, written over this tensor."""
def row_stack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor: """Join tensors on top of each other; vectors are rows."""
def rrelu(input: Tensor, lower: _float = ..., upper: _float = ..., training: _bool = ..., inplace: _bool = ...) -> Tensor: """leaky_relu whose slopes are drawn from [lower, upper] in training, and their mean otherwise."""
def rrelu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`rrelu`, written over the input."""
def rsqrt(input: Any, *, out: Tensor | None = ...) -> Tensor: """One over the square root of each element."""
def rsqrt_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`rsqrt`, written over this tensor."""
def rsub(input: Any, other: Any, *, alpha: Any = ...) -> Tensor: """`other - alpha * input`."""
def saddmm(mat: Any, mat1: Any, mat2: Any, *, beta: Any = ..., alpha: Any = ...) -> Tensor: """`beta * mat + alpha * (mat1 @ mat2)`."""
from .transforms.safe_mode import safe_gradients as safe_gradients
def save(obj: object, f: Any, pickle_module: Any = ..., pickle_protocol: _int = ..., _use_new_zipfile_serialization: _bool = ..., _disable_byteorder_record: _bool = ...) -> None:
    """Write `obj` (tensors, containers, state dicts, picklable objects) to a path or a file object.

    At a path, the old file is replaced in one step once the new one is complete and on disk. The archive is of the zip
    kind, which every torch since 1.6 reads, or of the kind before (which has no checksums); its pickle is of protocol 2.
    With a `pickle_module` such as dill or cloudpickle, that module's pickler writes it, for Pullback alone to read.
    """
def scalar_tensor(s: Any, *, dtype: _dtype | None = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor: """A 0-d tensor of the default dtype."""
def scatter(input: Tensor, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: str | None = ..., out: Any = ...) -> Tensor:
    """A copy with the elements of `src` (or one value) written at `index` along a dim.

    The reverse of `gather`: for a matrix and dim 1, `result[i][index[i][j]] = src[i][j]`. Where an index occurs twice,
    one of the values stays; `scatter_add` and `scatter_reduce` keep all.
    """
def scatter_add(input: Tensor, dim: _int, index: Tensor, src: Tensor, *, out: Any = ...) -> Tensor:
    """A copy with the elements of `src` added at `index` along a dim.

    For a matrix and dim 1, `result[i][index[i][j]] += src[i][j]`, for all i and j.
    """
def scatter_add_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`scatter_add`, written over this tensor."""
def scatter_reduce(input: Tensor, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ..., out: Any = ...) -> Tensor: """A copy in which the elements of `src` that go to one place are reduced there: sum, prod, mean, amax or amin."""
def scatter_reduce_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`scatter_reduce`, written over this tensor."""
def searchsorted(sorted_sequence: Tensor, input: Any, *, out_int32: _bool = ..., right: _bool = ..., side: str | None = ..., sorter: Tensor | None = ..., out: Any = ...) -> Tensor:
    """Where to insert values into sorted rows so that they stay sorted.

    `right=True` (or `side="right"`) inserts after equal elements, otherwise before. `sorter` has the indices that
    sort an unsorted sequence; `out_int32` makes the answer int32.
    """
def seed() -> _int: """Restart the default stream from a seed of the operating system, and return that seed."""
def segment_reduce(data: Tensor, reduce: str, *, lengths: Tensor | None = ..., indices: Tensor | None = ..., offsets: Tensor | None = ..., axis: _int = ..., unsafe: _bool = ..., initial: Any = ...) -> Tensor:
    """Reduce segments, given by their lengths or by the offsets of their ends, along an axis of `data`.

    With an axis beyond the first, each index of the axes before it has segments of its own.
    """
def select(input: Tensor, dim: _int, index: _int) -> Tensor: """One slice of a dim, without that dim."""
def select_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `select` gives."""
def select_scatter(input: Tensor, src: Tensor, dim: _int, index: _int) -> Tensor: """A copy in which one slice of a dim is `src`."""
def selu(input: Tensor, inplace: _bool = ...) -> Tensor: """elu with the constants that keep mean 0 and variance 1."""
def selu_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`selu`, written over the input."""
def set_autocast_cache_enabled(enabled: _bool) -> None: """Accepted: casts are not cached."""
def set_autocast_cpu_dtype(dtype: _dtype) -> None: """Choose the dtype products take under autocast on the CPU."""
def set_autocast_cpu_enabled(enabled: _bool) -> None: """Switch autocast for the CPU."""
def set_autocast_dtype(device_type: str, dtype: _dtype) -> None: """Choose the dtype products take under autocast."""
def set_autocast_enabled(device_type: Any, enabled: _bool | None = ...) -> None: """Switch autocast for a type of device."""
def set_autocast_gpu_dtype(dtype: _dtype) -> None: """Choose the dtype products would take under autocast on a GPU."""
def set_default_device(device: Any) -> None: """Let new tensors go there, "cpu" or "meta", outside of `with torch.device(...)`."""
def set_default_dtype(d: _dtype, /) -> None: """Make `d` (a floating point dtype) the type of tensors built from Python floats."""
def set_default_tensor_type(t: Any) -> None: """The old way to say `set_default_dtype`."""
def set_deterministic_debug_mode(debug_mode: _int | str) -> None: """`use_deterministic_algorithms` in one word or number: 0 or "default", 1 or "warn", 2 or "error"."""
def set_float32_matmul_precision(precision: str) -> None: """Accepted: products are always computed in full precision."""
def set_flush_denormal(mode: _bool) -> _bool: """Not available: NumPy keeps denormal numbers. False says so, as in torch."""
from .core.grad_mode import set_grad_enabled as set_grad_enabled
def set_num_interop_threads(int: _int, /) -> None: """Accepted for compatibility."""
def set_num_threads(int: _int, /) -> None: """Split large operations over at most this many threads."""
def set_printoptions(precision: _int | None = ..., threshold: _float | None = ..., edgeitems: _int | None = ..., linewidth: _int | None = ..., profile: str | None = ..., sci_mode: _bool | None = ...) -> None:
    """Change how tensors are printed; arguments left out keep their value, except ``sci_mode``.

    ``precision``: digits after the point. ``threshold``: tensors with more elements are shown with "...".
    ``edgeitems``: elements kept at both ends of a shortened dimension. ``linewidth``: characters in a line.
    ``profile``: "default", "short" or "full" (other names do nothing), applied before the arguments beside it.
    ``sci_mode``: True or False forces the notation. As in torch, each call that does not say ``sci_mode`` hands the
    choice back to the values.
    """
def set_rng_state(new_state: Tensor) -> None: """Continue the default stream from a state that `get_rng_state` returned."""
def set_warn_always(b: _bool) -> None: """Accepted: how often a warning appears is decided by Python's filters (`warnings.simplefilter`)."""
def sgn(input: Any, *, out: Tensor | None = ...) -> Tensor: """The sign of each element; of complex z, `z / |z|`."""
def sgn_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`sgn`, written over this tensor."""
def sigmoid(input: Any, *, out: Tensor | None = ...) -> Tensor: """`1 / (1 + exp(-x))` of each element."""
def sigmoid_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`sigmoid`, written over this tensor."""
def sign(input: Any, *, out: Tensor | None = ...) -> Tensor: """-1, 0 or 1: the sign of each element."""
def sign_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`sign`, written over this tensor."""
def signbit(input: Any, *, out: Any = ...) -> Tensor: """True where the sign bit is set (also for -0.0)."""
def sin(input: Any, *, out: Tensor | None = ...) -> Tensor: """The sine of each element, in radians."""
def sin_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`sin`, written over this tensor."""
def sinc(input: Any, *, out: Any = ...) -> Tensor: """sin(pi x) / (pi x), and 1 at 0."""
def sinc_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`sinc`, written over this tensor."""
def sinh(input: Any, *, out: Tensor | None = ...) -> Tensor: """The hyperbolic sine of each element."""
def sinh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`sinh`, written over this tensor."""
def slice_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `slice` gives."""
def slice_scatter(input: Tensor, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ..., *, out: Any = ...) -> Tensor: """A copy in which a slice of a dim is `src`."""
def slogdet(input: Tensor, *, out: Any = ...) -> tuple[Tensor, Tensor]: """Signs and logarithms of the absolute values of determinants."""
def smm(mat1: Any, mat2: Any, reduce: str = ...) -> Tensor:
    """The product of a sparse and a dense matrix; gradients reach both.

    With another `reduce` than "sum", what would be added up for an element is brought together by "mean", "amax" or "amin".
    """
def softmax(input: Any, dim: _int, dtype: _dtype | None = ..., *, out: Any = ...) -> Tensor: """exp(x) / sum(exp(x)) along a dim."""
def sort(input: Tensor, *args: Any, dim: _int = ..., descending: _bool = ..., stable: _bool = ..., out: Any = ...) -> _ValuesIndices: """The elements in order along a dim, and where they came from. Always stable."""
sparse_bsc: _layout
def sparse_bsc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = ..., *, dtype: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., check_invariants: _bool | None = ...) -> Any: """A matrix by columns of blocks: as `sparse_csc_tensor`, with a small matrix for each value."""
sparse_bsr: _layout
def sparse_bsr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = ..., *, dtype: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., check_invariants: _bool | None = ...) -> Any: """A matrix by rows of blocks: as `sparse_csr_tensor`, with a small matrix for each value."""
def sparse_compressed_tensor(compressed_indices: Any, plain_indices: Any, values: Any, size: Any = ..., *, layout: Any = ..., dtype: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., check_invariants: _bool | None = ...) -> Any: """A matrix in one of the layouts by rows or columns."""
sparse_coo: _layout
def sparse_coo_tensor(indices: Any = ..., values: Any = ..., size: Any = ..., *, dtype: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., check_invariants: _bool | None = ..., is_coalesced: _bool | None = ...) -> Any: """A tensor with the given values at the given places: `indices` has a row for each dim and a column for each value."""
sparse_csc: _layout
def sparse_csc_tensor(ccol_indices: Any, row_indices: Any, values: Any, size: Any = ..., *, dtype: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., check_invariants: _bool | None = ...) -> Any: """A matrix by columns: where each column begins among the rows and values."""
sparse_csr: _layout
def sparse_csr_tensor(crow_indices: Any, col_indices: Any, values: Any, size: Any = ..., *, dtype: Any = ..., device: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ..., check_invariants: _bool | None = ...) -> Any: """A matrix by rows: where each row begins among the columns and values."""
def sparse_hessian(f: Callable[[Tensor], Tensor], x: Tensor, *, pattern: Any = ...) -> Any: """The Hessian at `x` of a function with one number as result; `pattern` as for `sparse_jacobian`."""
def sparse_jacobian(f: Callable[[Tensor], Tensor], x: Tensor, *, pattern: Any = ...) -> Any:
    """The Jacobian of `f` at `x`, a row for each element of the result, a column for each element of `x`.

    The pattern holds for the path the program took at `x`. Pass that of an earlier result (`result.pattern`) to skip
    detection and colouring when the path is the same.
    """
def split(input: Any = ..., split_size_or_sections: Any = ..., dim: _int = ..., *, split_size: Any = ..., tensor: Any = ...) -> tuple[Tensor, ...]:
    """Views of consecutive pieces: of one size (the last may be smaller), or of the sizes given.

    The method calls its argument `split_size` in torch, and the function its first one `tensor`.
    """
def split_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `split` gives."""
def split_with_sizes(input: Tensor, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]: """Views of consecutive pieces of the sizes given."""
def split_with_sizes_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `split_with_sizes` gives."""
def spmm(mat1: Any, mat2: Any, reduce: str = ...) -> Tensor:
    """The product of a sparse and a dense matrix; gradients reach both.

    With another `reduce` than "sum", what would be added up for an element is brought together by "mean", "amax" or "amin".
    """
def sqrt(input: Any, *, out: Tensor | None = ...) -> Tensor: """The square root of each element."""
def sqrt_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`sqrt`, written over this tensor."""
def square(input: Any, *, out: Any = ...) -> Tensor: """`input * input`; booleans become integers."""
def square_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`square`, written over this tensor."""
def squeeze(input: Tensor, dim: Any = ..., *, axis: Any = ...) -> Tensor: """Without dims of size 1 (all, or those given): (1, 3, 1) becomes (3,). A view."""
def squeeze_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `squeeze` gives."""
def stack(tensors: Sequence[Tensor], dim: Any = ..., *, axis: Any = ..., out: Tensor | None = ...) -> Tensor: """Join tensors of one shape along a new dim: two of (3,) become (2, 3) for dim 0, (3, 2) for dim 1."""
def std(input: Tensor, *args: Any, dim: Any = ..., unbiased: Any = ..., correction: Any = ..., keepdim: _bool = ..., out: Any = ...) -> Tensor: """Standard deviation over dims; `correction` (1) is subtracted from the count."""
def std_mean(input: Tensor, *args: Any, dim: Any = ..., unbiased: Any = ..., correction: Any = ..., keepdim: _bool = ...) -> tuple[Any, ...]: """Standard deviation and mean over dims."""
def stft(input: Tensor, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
    """Fourier transforms of overlapping windows of a signal, as (frequency, window).

    Windows of `n_fft` samples begin every `hop_length` (a quarter of that, unless given) and are weighted by
    `window`, of `win_length` samples, ones unless given. `center` puts window t around sample t * hop_length, with
    the ends padded as `pad_mode` says. `onesided` leaves out the frequencies that mirror others, as it does for real
    signals unless told otherwise; `normalized` divides by sqrt(n_fft). Pass `return_complex=True`: False, which puts
    real and imaginary parts into a last dim, is out of use.
    """
strided: _layout
def sub(input: Any, other: Any, *legacy: Any, alpha: Any = ..., out: Any = ...) -> Tensor: """`input - alpha * other`."""
def sub_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`sub`, written over this tensor."""
def subtract(input: Any, other: Any, *legacy: Any, alpha: Any = ..., out: Any = ...) -> Tensor: """`input - alpha * other`."""
def subtract_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`sub`, written over this tensor."""
def sum(input: Any, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ..., out: Any = ...) -> Tensor: """Sum of all elements, or over the dims given."""
def svd(input: Tensor, some: _bool = ..., compute_uv: _bool = ..., *, out: Any = ...) -> Any: """The singular value decomposition, with V instead of its adjoint."""
def svd_lowrank(A: Tensor, q: _int | None = ..., niter: _int | None = ..., M: Tensor | None = ...) -> tuple[Any, ...]: """An approximate singular value decomposition of rank q."""
def swapaxes(input: Tensor, dim0: Any = ..., dim1: Any = ..., axis0: Any = ..., axis1: Any = ...) -> Tensor: """Two dims exchanged (or, as in NumPy, all dims in the order of one tuple)."""
def swapdims(input: Tensor, dim0: Any = ..., dim1: Any = ..., axis0: Any = ..., axis1: Any = ...) -> Tensor: """Two dims exchanged (or, as in NumPy, all dims in the order of one tuple)."""
sym_float: Any
sym_int: Any
def sym_ite(b: Any, t: Any, f: Any) -> Any: """One of two numbers."""
def sym_max(*args: Any, **kwargs: Any) -> Any:
    """max(iterable, *[, default=obj, key=func]) -> value
    max(arg1, arg2, *args, *[, key=func]) -> value

    With a single iterable argument, return its biggest item. The
    default keyword-only argument specifies an object to return if
    the provided iterable is empty.
    With two or more arguments, return the largest argument.
    """
def sym_min(*args: Any, **kwargs: Any) -> Any:
    """min(iterable, *[, default=obj, key=func]) -> value
    min(arg1, arg2, *args, *[, key=func]) -> value

    With a single iterable argument, return its smallest item. The
    default keyword-only argument specifies an object to return if
    the provided iterable is empty.
    With two or more arguments, return the smallest argument.
    """
def sym_not(a: Any) -> _bool: """`not a`."""
def sym_sqrt(x: Any, /) -> Any: """Return the square root of x."""
def sym_sum(args: Any) -> Any: """The sum of numbers."""
def t(input: Tensor) -> Tensor: """The transpose of a matrix (vectors as they are)."""
def t_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `t` gives."""
def take(input: Tensor, index: Tensor, *, out: Any = ...) -> Tensor: """The elements at `index` of the tensor as one long row."""
def take_along_dim(input: Tensor, indices: Tensor, dim: _int | None = ..., *, out: Any = ...) -> Tensor: """The elements at `indices` along a dim; both tensors are broadcast along the other dims."""
def tan(input: Any, *, out: Tensor | None = ...) -> Tensor: """The tangent of each element, in radians."""
def tan_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`tan`, written over this tensor."""
def tanh(input: Any, *, out: Tensor | None = ...) -> Tensor: """The hyperbolic tangent of each element."""
def tanh_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`tanh`, written over this tensor."""
def taylor(f: Any, x: Any, direction: Any, order: _int) -> Any:
    """[f(x), f'(x)[d], f''(x)[d, d], ...]: the derivatives of f(x + t d) at t = 0, up to `order`.

    `x` and `direction` are tensors, or equal nestings of them; each entry of the answer has the structure of f's
    result. The derivatives are values: they have no history of their own.
    """
def tensor(data: Any, *, dtype: _dtype | None = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ...) -> Tensor:
    """A new tensor that copies `data`: a number, nested lists, an array.

    Floats become float32 (the default dtype), integers int64; arrays keep their dtype. `requires_grad=True` asks for
    gradients. `as_tensor` and `from_numpy` share memory instead of copying.
    """
def tensor_split(input: Tensor, indices_or_sections: Any = ..., dim: _int = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]: """Views of pieces as equal as possible, or cut at the indices given."""
def tensordot(a: Tensor, b: Tensor, dims: Any = ..., *, out: Any = ...) -> Tensor: """Sum products over pairs of dims: the last `dims` of a with the first of b, or two lists of dims."""
def threshold(input: Tensor, threshold: _float, value: _float, *, out: Any = ...) -> Tensor: """x where it exceeds the threshold, `value` elsewhere."""
def threshold_(input: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`threshold`, written over the input."""
def tile(input: Tensor, *dims: Any, **named: Any) -> Tensor: """Copies of the tensor along its last dims."""
def to_dlpack(tensor: Tensor) -> Any: """A DLPack capsule of a tensor."""
def topk(input: Tensor, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The k largest (or smallest) elements along a dim, in order, and their indices."""
def trace(input: Tensor) -> Tensor: """Sum of the diagonal of a matrix."""
def transpose(input: Tensor, dim0: Any = ..., dim1: Any = ..., axis0: Any = ..., axis1: Any = ...) -> Tensor: """Two dims exchanged (or, as in NumPy, all dims in the order of one tuple)."""
def transpose_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `transpose` gives."""
def trapezoid(y: Tensor, x: Any = ..., *, dx: Any = ..., dim: _int = ...) -> Tensor: """The integral along a dim by the trapezoidal rule, at points `x` or spaced by `dx`."""
def trapz(y: Tensor, x: Any = ..., *, dx: Any = ..., dim: _int = ...) -> Tensor: """The integral along a dim by the trapezoidal rule, at points `x` or spaced by `dx`."""
def triangular_solve(input: Tensor, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ..., *, out: Any = ...) -> Any: """X with A X = input for triangular A."""
def tril(input: Tensor, diagonal: _int = ..., *, out: Any = ...) -> Tensor: """The part on and below a diagonal; the rest is zero."""
def tril_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`tril`, written over this tensor."""
def tril_indices(row: _int, col: _int, offset: _int = ..., *, dtype: Any = ..., device: Any = ..., layout: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor: """The rows and columns of the lower triangle."""
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: _float = ..., p: _float = ..., eps: _float = ..., swap: _bool = ..., reduction: _int = ...) -> Tensor: """`nn.functional.triplet_margin_loss` with a number for the reduction."""
def triu(input: Tensor, diagonal: _int = ..., *, out: Any = ...) -> Tensor: """The part on and above a diagonal; the rest is zero."""
def triu_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`triu`, written over this tensor."""
def triu_indices(row: _int, col: _int, offset: _int = ..., *, dtype: Any = ..., device: Any = ..., layout: Any = ..., pin_memory: _bool = ..., requires_grad: _bool = ...) -> Tensor: """The rows and columns of the upper triangle."""
def true_divide(input: Any, other: Any, *, out: Any = ...) -> Tensor: """`input / other`."""
def true_divide_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`true_divide`, written over this tensor."""
def trunc(input: Any, *, out: Any = ...) -> Tensor: """Each element without its fractional part. Integers stay as they are."""
def trunc_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`trunc`, written over this tensor."""
def typename(obj: Any, /) -> str: """The name of an object's type, with its module; of a tensor, its legacy type."""
def unbind(input: Tensor, dim: _int = ...) -> tuple[Tensor, ...]: """Views of all slices of a dim."""
def unbind_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `unbind` gives."""
def unflatten(input: Tensor, dim: _int, sizes: Sequence[_int]) -> Tensor: """Split one dim into several: (4, 6) becomes (4, 2, 3) for dim 1 and sizes (2, 3). One size may be -1."""
def unfold_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `unfold` gives."""
def uninstall_as_torch() -> None: """Undo `install_as_torch()`: the next `import torch` finds whatever is installed under that name."""
@overload
def unique(input: Tensor, sorted: _bool = ..., return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor: ...
@overload
def unique(input: Tensor, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
    """The distinct elements (or slices along a dim) in order, optionally with inverse indices and counts.

    `return_inverse` adds, for each element of the input, its place among the distinct ones; `return_counts` how often
    each occurs. The answer is then a tuple. They are sorted with `sorted=False`, too.
    """
@overload
def unique_consecutive(input: Tensor, return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor: ...
@overload
def unique_consecutive(input: Tensor, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: """The elements (or slices along a dim) with repeats that follow each other removed."""
def unravel_index(indices: Tensor, shape: Any) -> tuple[Tensor, ...]: """Flat indices as one tensor of indices for each dim of `shape`."""
def unsafe_chunk(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `chunk` gives."""
def unsafe_split(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `split` gives."""
def unsafe_split_with_sizes(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `split_with_sizes` gives."""
def unsqueeze(input: Tensor, dim: Any = ..., *, axis: Any = ...) -> Tensor: """With a new dim of size 1 at this place: (3,) becomes (1, 3) for dim 0, (3, 1) for dim 1. A view."""
def unsqueeze_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `unsqueeze` gives."""
def use_deterministic_algorithms(mode: _bool, *, warn_only: _bool = ...) -> None: """Every algorithm here is deterministic; memory that has not been written is filled, too (`utils.deterministic`)."""
def vander(x: Tensor, N: _int | None = ..., increasing: _bool = ...) -> Tensor: """The powers of a vector's elements as columns, highest first unless `increasing`."""
def var(input: Tensor, *args: Any, dim: Any = ..., unbiased: Any = ..., correction: Any = ..., keepdim: _bool = ..., out: Any = ...) -> Tensor: """Variance over dims; `correction` (1) is subtracted from the count."""
def var_mean(input: Tensor, *args: Any, dim: Any = ..., unbiased: Any = ..., correction: Any = ..., keepdim: _bool = ...) -> tuple[Any, ...]: """Variance and mean over dims."""
def vdot(input: Tensor, other: Tensor, *, out: Any = ...) -> Tensor: """Inner product of two vectors: the first is conjugated."""
def view_as_complex(input: Tensor) -> Tensor: """A view of pairs of real numbers (the last dim) as complex ones."""
def view_as_complex_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `view_as_complex` gives."""
def view_as_real(input: Tensor) -> Tensor: """A view of complex numbers as pairs of real ones."""
def view_as_real_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `view_as_real` gives."""
def view_copy(input: Tensor, *args: Any, out: Any = ..., **kwargs: Any) -> Any: """A copy of what `view` gives."""
def vmap(func: Any, in_dims: Any = ..., out_dims: Any = ..., randomness: str = ..., *, chunk_size: _int | None = ..., fallback: str = ...) -> Any:
    """The function that maps `func` over a dim of its inputs: `func` sees one example, the result works on all at once.

    `in_dims` and `out_dims` say which dim is the batch (None: not batched), as trees that match inputs and outputs:
    `vmap(torch.dot, in_dims=(0, None))(rows, vector)` is one product for each row. `randomness` is "error", "same" or
    "different". `chunk_size` limits how many examples are worked on at once. `fallback="loop"` runs functions that look
    at values example by example.
    """
def vsplit(input: Tensor, indices_or_sections: Any = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]: """`tensor_split` along dim 0."""
def vstack(tensors: Sequence[Tensor], *, out: Any = ...) -> Tensor: """Join tensors on top of each other; vectors are rows."""
@overload
def where(condition: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(condition: Tensor, input: Any, other: Any, *, out: Tensor | None = ...) -> Tensor: """`input` where the condition holds, `other` elsewhere; with only a condition, the indices where it holds."""
def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any: """Apply `body_fn` to its own results while `cond_fn` of them holds."""
def xlogy(input: Any, other: Any, *, out: Any = ...) -> Tensor: """`input * log(other)`, and 0 where input is 0."""
def xlogy_(self: Tensor, *args: Any, **kwargs: Any) -> Tensor: """`xlogy`, written over this tensor."""
def zero_(input: Tensor) -> Tensor: """Write zeros everywhere."""
def zeros(*args: Any, size: Any = ..., dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., pin_memory: _bool = ..., out: Tensor | None = ..., names: Any = ...) -> Tensor: """A tensor of zeros: `zeros(2, 3)` or `zeros((2, 3))`."""
def zeros_like(input: Tensor, *, dtype: Any = ..., layout: Any = ..., device: Any = ..., requires_grad: _bool = ..., memory_format: Any = ..., pin_memory: _bool = ...) -> Tensor: """Zeros in the shape and dtype of another tensor."""
def __getattr__(name: str) -> Any: ...
