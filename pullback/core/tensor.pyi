# ruff: noqa: E402, E501, F401, F811, I001
"""The Tensor class with all its methods. Written by `python -m tools.stubs`."""

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

class Tensor:
    _array: Any
    _requires_grad: _bool
    _node: Any
    _output_nr: _int
    _grad: Tensor | None
    _grad_dtype: Any
    _storage: Any
    _view: Any
    _anchor: Any
    _tangent: Any
    _tangents_moved: _int
    _is_written: Any
    _is_param: _bool
    _inference: _bool
    _detached: _bool
    _moves: Any
    _name: str | None
    _lender: Any
    is_node: _bool
    __array_priority__: _int
    @property
    def H(self) -> Tensor: """The conjugate transpose of one matrix."""
    @property
    def T(self) -> Tensor: """All dims reversed."""
    def __abs__(self) -> Tensor: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __array__(self, dtype: Any = ..., copy: _bool | None = ...) -> _NDArray[Any]: ...
    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[Any, Any]) -> Any: ...
    def __array_namespace__(self, *, api_version: str | None = ...) -> Any: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any: ...
    def __array_wrap__(self, array: _NDArray[Any], context: Any = ..., return_scalar: _bool = ...) -> Any: ...
    def __bool__(self) -> _bool: ...
    def __complex__(self) -> _complex: ...
    def __contains__(self, element: Any) -> _bool: ...
    def __copy__(self) -> Any: ...
    def __deepcopy__(self, memo: dict[Any, Any]) -> Tensor: ...
    def __delitem__(self, index: Any) -> None: ...
    def __dlpack__(self, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: _bool | None = ...) -> Any: ...
    def __dlpack_device__(self) -> tuple[_int, _int]: ...
    def __eq__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __float__(self) -> _float: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __format__(self, specification: str) -> str: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __getitem__(self, index: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __hash__(self) -> _int: ...
    def __iadd__(self, other: Any) -> Tensor: ...
    def __iand__(self, other: Any) -> Tensor: ...
    def __ifloordiv__(self, other: Any) -> Tensor: ...
    def __ilshift__(self, other: Any) -> Tensor: ...
    def __imod__(self, other: Any) -> Tensor: ...
    def __imul__(self, other: Any) -> Tensor: ...
    def __index__(self) -> _int: ...
    def __int__(self) -> _int: ...
    def __invert__(self) -> Tensor: ...
    def __ior__(self, other: Any) -> Tensor: ...
    def __ipow__(self, other: Any) -> Tensor: ...
    def __irshift__(self, other: Any) -> Tensor: ...
    def __isub__(self, other: Any) -> Tensor: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __itruediv__(self, other: Any) -> Tensor: ...
    def __ixor__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __len__(self) -> _int: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __ne__(self, other: object) -> Tensor: ...  # type: ignore[override]
    def __neg__(self) -> Tensor: ...
    def __new__(cls, *args: Any, **kwargs: Any) -> Self: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __pos__(self) -> Tensor: ...
    def __pow__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __rdiv__(self, number: Any) -> Tensor: ...
    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]: ...
    def __repr__(self) -> str: ...
    def __reversed__(self) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __rpow__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __setitem__(self, index: Any, value: Any) -> None: ...
    def __str__(self) -> str: ...
    def __sub__(self, other: Any) -> Tensor: ...
    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    @property
    def _backward_hooks(self) -> dict[Any, Any] | None: ...
    @_backward_hooks.setter
    def _backward_hooks(self, value: Any) -> None: ...
    @property
    def _base(self) -> Tensor | None: ...
    @property
    def _cdata(self) -> Any: ...
    def _check_grad(self, value: Any) -> None: ...
    @property
    def _grad_fn(self) -> Any: ...
    def _indices(self) -> Any: ...
    def _is_view(self) -> _bool: ...
    @staticmethod
    def _make_subclass(cls: _type[Any], data: Tensor, require_grad: _bool = ...) -> Any: ...
    @staticmethod
    def _make_wrapper_subclass(cls: _type[Any], size: Any, *args: Any, **kwargs: Any) -> Any: ...
    def _nnz(self) -> Any: ...
    def _pullback_apply(self, op: Any, inputs: tuple[Any, ...], params: dict[Any, Any]) -> Any: ...
    def _set_requires_grad(self, value: _bool, complaint: str) -> None: ...
    def _typed_storage(self) -> Any: ...
    def _use_count(self) -> _int: ...
    def _values(self) -> Any: ...
    @property
    def _version(self) -> _int: ...
    def abs(self) -> Tensor: """Absolute value (modulus of complex numbers)."""
    def abs_(self) -> Tensor: """`abs`, written over this tensor."""
    def absolute(self) -> Tensor: """Absolute value (modulus of complex numbers)."""
    def absolute_(self) -> Tensor: """`absolute`, written over this tensor."""
    def acos(self, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose cosine each element is."""
    def acos_(self, *, out: Tensor | None = ...) -> Tensor: """`acos`, written over this tensor."""
    def acosh(self, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic cosine of each element."""
    def acosh_(self, *, out: Tensor | None = ...) -> Tensor: """`acosh`, written over this tensor."""
    def add(self, other: Any, *legacy: Any, alpha: Any = ...) -> Tensor: """`input + alpha * other`."""
    def add_(self, other: Any, *legacy: Any, alpha: Any = ...) -> Tensor: """`add`, written over this tensor."""
    def addbmm(self, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """beta * input + alpha * (sum of the products of two batches)."""
    def addbmm_(self, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """`addbmm`, written over this tensor; alone among its kind it lets a tensor that broadcasts grow."""
    def addcdiv(self, tensor1: Any, tensor2: Any, *legacy: Any, value: Any = ...) -> Tensor: """`input + value * tensor1 / tensor2`."""
    def addcdiv_(self, tensor1: Any, tensor2: Any, *legacy: Any, value: Any = ...) -> Tensor: """`addcdiv`, written over this tensor."""
    def addcmul(self, tensor1: Any, tensor2: Any, *legacy: Any, value: Any = ...) -> Tensor: """`input + value * tensor1 * tensor2`."""
    def addcmul_(self, tensor1: Any, tensor2: Any, *legacy: Any, value: Any = ...) -> Tensor: """`addcmul`, written over this tensor."""
    def addmm(self, mat1: Tensor, mat2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """beta * input + alpha * (mat1 @ mat2)."""
    def addmm_(self, mat1: Tensor, mat2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """`addmm`, written over this tensor."""
    def addmv(self, mat: Tensor, vec: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """beta * input + alpha * (mat @ vec)."""
    def addmv_(self, mat: Tensor, vec: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """`addmv`, written over this tensor."""
    def addr(self, vec1: Tensor, vec2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """beta * input + alpha * (outer product of two vectors)."""
    def addr_(self, vec1: Tensor, vec2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """`addr`, written over this tensor."""
    def adjoint(self) -> Tensor: """The conjugate transpose of a matrix, or of a batch of matrices."""
    def all(self, dim: Any = ..., keepdim: _bool = ...) -> Tensor: """True where all elements (along dims) are non-zero."""
    def allclose(self, other: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> _bool: """True if two tensors agree everywhere to within atol + rtol * |other|."""
    def amax(self, dim: Any = ..., keepdim: _bool = ...) -> Tensor: """Largest element over dims; the gradient is shared among ties."""
    def amin(self, dim: Any = ..., keepdim: _bool = ...) -> Tensor: """Smallest element over dims; the gradient is shared among ties."""
    def aminmax(self, *, dim: _int | None = ..., keepdim: _bool = ..., out: Any = ...) -> _AminmaxResult: """Smallest and largest elements, of the whole tensor or along a dim."""
    def angle(self, *, out: Tensor | None = ...) -> Tensor: """The angle of each number, in radians; pi for negative reals."""
    def any(self, dim: Any = ..., keepdim: _bool = ...) -> Tensor: """True where any element (along dims) is non-zero."""
    def apply_(self, callable: Callable[[Any], Any]) -> Tensor: """Replace every element by `callable(element)`. Slow: for small tensors."""
    def arccos(self, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose cosine each element is."""
    def arccos_(self, *, out: Tensor | None = ...) -> Tensor: """`arccos`, written over this tensor."""
    def arccosh(self, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic cosine of each element."""
    def arccosh_(self, *, out: Tensor | None = ...) -> Tensor: """`arccosh`, written over this tensor."""
    def arcsin(self, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose sine each element is."""
    def arcsin_(self, *, out: Tensor | None = ...) -> Tensor: """`arcsin`, written over this tensor."""
    def arcsinh(self, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic sine of each element."""
    def arcsinh_(self, *, out: Tensor | None = ...) -> Tensor: """`arcsinh`, written over this tensor."""
    def arctan(self, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose tangent each element is."""
    def arctan2(self, other: Any) -> Tensor: """The angle of the point (other, input), from -pi to pi."""
    def arctan2_(self, other: Any) -> Tensor: """`arctan2`, written over this tensor."""
    def arctan_(self, *, out: Tensor | None = ...) -> Tensor: """`arctan`, written over this tensor."""
    def arctanh(self, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic tangent of each element."""
    def arctanh_(self, *, out: Tensor | None = ...) -> Tensor: """`arctanh`, written over this tensor."""
    def argmax(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor: """Index of the largest element, of the flattened tensor or along a dim."""
    def argmin(self, dim: _int | None = ..., keepdim: _bool = ...) -> Tensor: """Index of the smallest element, of the flattened tensor or along a dim."""
    def argsort(self, dim: _int = ..., descending: _bool = ..., stable: _bool = ...) -> Tensor: """The indices that would sort the tensor along a dim."""
    def argwhere(self) -> Tensor: """The indices of the elements that are not zero, one row each."""
    def as_strided(self, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor: """A view of this tensor's memory with the given sizes, strides and offset, within the memory it has."""
    def as_strided_(self, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor: """Look at the memory with other sizes and strides from now on."""
    def as_strided_scatter(self, src: Tensor, size: Any, stride: Any, storage_offset: _int | None = ...) -> Tensor: """A copy in which what `as_strided` would look at is `src`."""
    def as_subclass(self, cls: _type[Any]) -> Any: """The same memory and history as an object of a subclass of Tensor."""
    def asin(self, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose sine each element is."""
    def asin_(self, *, out: Tensor | None = ...) -> Tensor: """`asin`, written over this tensor."""
    def asinh(self, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic sine of each element."""
    def asinh_(self, *, out: Tensor | None = ...) -> Tensor: """`asinh`, written over this tensor."""
    def astype(self, dtype: Any, copy: _bool = ...) -> _NDArray[Any]: """The elements as an array of a NumPy dtype: programs ask it of what NumPy's functions return, here a tensor."""
    def atan(self, *, out: Tensor | None = ...) -> Tensor: """The angle, in radians, whose tangent each element is."""
    def atan2(self, other: Any) -> Tensor: """The angle of the point (other, input), from -pi to pi."""
    def atan2_(self, other: Any) -> Tensor: """`atan2`, written over this tensor."""
    def atan_(self, *, out: Tensor | None = ...) -> Tensor: """`atan`, written over this tensor."""
    def atanh(self, *, out: Tensor | None = ...) -> Tensor: """The inverse hyperbolic tangent of each element."""
    def atanh_(self, *, out: Tensor | None = ...) -> Tensor: """`atanh`, written over this tensor."""
    def backward(self, gradient: Any = ..., retain_graph: _bool | None = ..., create_graph: _bool = ..., inputs: Any = ..., *, batched: _bool = ...) -> None:
        """Add the gradients of this tensor's elements, weighted by `gradient`, to the `.grad` of the leaves.

        A tensor with one element needs no `gradient` (the weight is 1). Any other needs weights of its own shape:
        the result is the vector-Jacobian product of `gradient` with the Jacobian of this tensor.

        The graph is freed afterwards, unless `retain_graph`; `create_graph` records the pass itself, for derivatives
        of derivatives. With `inputs`, only the `.grad` of these tensors is added to.

        With `batched`, `gradient` holds many weightings along a new first axis, and one pass adds a row for each to
        the `.jac` of the leaves, of shape (weightings, *leaf.shape). Without `gradient` the rows are the Jacobian's.
        """
    def baddbmm(self, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """beta * input + alpha * (products of two batches)."""
    def baddbmm_(self, batch1: Tensor, batch2: Tensor, *legacy: Any, beta: Any = ..., alpha: Any = ...) -> Tensor: """`baddbmm`, written over this tensor."""
    def bernoulli(self, p: _float | None = ..., *, generator: Any = ..., out: Tensor | None = ...) -> Tensor: """Ones and zeros: ones with the probabilities in `input` (or all with probability p)."""
    def bernoulli_(self, p: Any = ..., *, generator: Any = ...) -> Tensor: """Fill with ones, each with probability p (a number or a tensor), and zeros."""
    def bfloat16(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.bfloat16."""
    def bincount(self, weights: Tensor | None = ..., minlength: _int = ...) -> Tensor: """How often each non-negative integer occurs, or the sum of its weights."""
    def bitwise_and(self, other: Any) -> Tensor: """Bitwise and of each pair of integers or booleans."""
    def bitwise_and_(self, other: Any) -> Tensor: """`bitwise_and`, written over this tensor."""
    def bitwise_left_shift(self, other: Any) -> Tensor: """Bitwise left shift of each pair of integers or booleans."""
    def bitwise_left_shift_(self, other: Any) -> Tensor: """`bitwise_left_shift`, written over this tensor."""
    def bitwise_not(self) -> Tensor: """Every bit turned over: the complement of integers, the negation of booleans."""
    def bitwise_not_(self) -> Tensor: """`bitwise_not`, written over this tensor."""
    def bitwise_or(self, other: Any) -> Tensor: """Bitwise or of each pair of integers or booleans."""
    def bitwise_or_(self, other: Any) -> Tensor: """`bitwise_or`, written over this tensor."""
    def bitwise_right_shift(self, other: Any) -> Tensor: """Bitwise right shift of each pair of integers or booleans."""
    def bitwise_right_shift_(self, other: Any) -> Tensor: """`bitwise_right_shift`, written over this tensor."""
    def bitwise_xor(self, other: Any) -> Tensor: """Bitwise xor of each pair of integers or booleans."""
    def bitwise_xor_(self, other: Any) -> Tensor: """`bitwise_xor`, written over this tensor."""
    def bmm(self, mat2: Tensor) -> Tensor: """Products of two batches of matrices."""
    def bool(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.bool."""
    def broadcast_to(self, size: Sequence[_int]) -> Tensor: """A view of this shape in which dims of size 1 are repeated without a copy."""
    def byte(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.uint8."""
    def cauchy_(self, median: _float = ..., sigma: _float = ..., *, generator: Any = ...) -> Tensor: """Fill with Cauchy numbers."""
    def ccol_indices(self) -> Any: """Where each column of a CSC matrix begins among `row_indices`. Only sparse tensors have it."""
    def cdouble(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.complex128."""
    def ceil(self) -> Tensor: """The smallest integer that is not below each element. Integers stay as they are."""
    def ceil_(self) -> Tensor: """`ceil`, written over this tensor."""
    def cfloat(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.complex64."""
    def chalf(self, memory_format: Any = ...) -> Tensor: """Refused: NumPy has no complex numbers of half precision."""
    def char(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.int8."""
    def cholesky(self, upper: _bool = ...) -> Tensor: """L with L L^H = input (or U with U^H U = input)."""
    def cholesky_inverse(self, upper: _bool = ...) -> Tensor: """The inverse of A, from its Cholesky factor."""
    def cholesky_solve(self, input2: Tensor, upper: _bool = ...) -> Tensor: """X with A X = input, from the Cholesky factor of A."""
    def chunk(self, chunks: _int, dim: _int = ...) -> tuple[Tensor, ...]: """Views of at most `chunks` equal pieces."""
    def clamp(self, min: Any = ..., max: Any = ...) -> Tensor: """Limit elements to [min, max]; either bound may be a number, a tensor or None."""
    def clamp_(self, min: Any = ..., max: Any = ...) -> Tensor: """`clamp`, written over this tensor."""
    def clamp_max(self, max: Any) -> Tensor: """Elements not above `max`."""
    def clamp_max_(self, max: Any) -> Tensor: """`clamp_max`, written over this tensor."""
    def clamp_min(self, min: Any) -> Tensor: """Elements not below `min`."""
    def clamp_min_(self, min: Any) -> Tensor: """`clamp_min`, written over this tensor."""
    def clip(self, min: Any = ..., max: Any = ...) -> Tensor: """Limit elements to [min, max]; either bound may be a number, a tensor or None."""
    def clip_(self, min: Any = ..., max: Any = ...) -> Tensor: """`clip`, written over this tensor."""
    def clone(self, *, memory_format: Any = ...) -> Tensor: """A copy with its own memory; gradients flow through it."""
    def coalesce(self) -> Any: """The tensor with places that occur several times summed up, in order. Only sparse tensors have it."""
    def col_indices(self) -> Any: """The columns of the elements of a CSR matrix. Only sparse tensors have it."""
    def conj(self) -> Tensor: """The complex conjugate; real tensors are returned as they are."""
    def conj_physical(self) -> Tensor: """The complex conjugate in memory of its own; real tensors are returned as they are."""
    def conj_physical_(self) -> Tensor: """`conj_physical`, written over this tensor."""
    def const_data_ptr(self) -> _int: """The address of the first element, 0 if there is none."""
    def contiguous(self, memory_format: Any = ...) -> Tensor: """Itself if its elements lie in order in memory, else a copy that does."""
    def copy_(self, src: Any, non_blocking: _bool = ...) -> Tensor: """Write the elements of `src` (broadcast, cast) over this tensor."""
    def copysign(self, other: Any) -> Tensor: """The size of `input` with the sign of `other`."""
    def copysign_(self, other: Any) -> Tensor: """`copysign`, written over this tensor."""
    def corrcoef(self) -> Tensor: """Matrix of correlation coefficients of variables in rows."""
    def cos(self, *, out: Tensor | None = ...) -> Tensor: """The cosine of each element, in radians."""
    def cos_(self, *, out: Tensor | None = ...) -> Tensor: """`cos`, written over this tensor."""
    def cosh(self, *, out: Tensor | None = ...) -> Tensor: """The hyperbolic cosine of each element."""
    def cosh_(self, *, out: Tensor | None = ...) -> Tensor: """`cosh`, written over this tensor."""
    def count_nonzero(self, dim: Any = ...) -> Tensor: """How many elements (along dims) are not zero."""
    def cov(self, *, correction: _int = ..., fweights: Tensor | None = ..., aweights: Tensor | None = ...) -> Tensor:
        """Covariance matrix of variables in rows, observations in columns, optionally weighted.

        `correction` (1) is subtracted from the number of observations; `fweights` says how often each was made,
        `aweights` how much it counts.
        """
    def cpu(self, memory_format: Any = ...) -> Tensor: """The tensor itself."""
    def cross(self, other: Tensor, dim: _int | None = ...) -> Tensor: """Cross product along a dim of size 3 (the first such dim if none is given)."""
    def crow_indices(self) -> Any: """Where each row of a CSR matrix begins among `col_indices`. Only sparse tensors have it."""
    def cuda(self, device: Any = ..., non_blocking: _bool = ..., memory_format: Any = ...) -> Any: """There is no GPU: raises what torch's CPU build raises."""
    def cummax(self, dim: _int) -> _ValuesIndices: """Running maxima along a dim and their indices."""
    def cummin(self, dim: _int) -> _ValuesIndices: """Running minima along a dim and their indices."""
    def cumprod(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor: """Running products along a dim; integers are multiplied in int64."""
    def cumprod_(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor: """`cumprod`, written over this tensor."""
    def cumsum(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor: """Running sums along a dim; integers are summed in int64."""
    def cumsum_(self, dim: _int, *, dtype: _dtype | None = ...) -> Tensor: """`cumsum`, written over this tensor."""
    @property
    def data(self) -> Tensor: """The same memory without history and with a version counter of its own (writes to it are not noticed)."""
    @data.setter
    def data(self, value: Any) -> None: ...
    def data_ptr(self) -> _int: """The address of the first element, 0 if there is none."""
    def deg2rad(self, *, out: Tensor | None = ...) -> Tensor: """Angles in degrees, as radians."""
    def deg2rad_(self, *, out: Tensor | None = ...) -> Tensor: """`deg2rad`, written over this tensor."""
    def dense_dim(self) -> _int: """The number of dims, all of which are dense."""
    def det(self) -> Tensor: """Determinants."""
    def detach(self) -> Tensor: """The same memory without the history. Writes to it count as writes to this tensor."""
    def detach_(self) -> Tensor: """Forget this tensor's history."""
    @property
    def device(self) -> _device: """Where the elements live: always the CPU."""
    def diag(self, diagonal: _int = ...) -> Tensor: """A matrix with this vector as its diagonal, or the diagonal of this matrix as a copy."""
    def diag_embed(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: """Zeros with the last dim of this tensor as the diagonal of two new dims."""
    def diagflat(self, offset: _int = ...) -> Tensor: """A matrix with all elements of this tensor on its diagonal."""
    def diagonal(self, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor:
        """A view of the diagonal of two dims.

        It becomes the last dim. `offset` counts diagonals from the main one: above it for positive numbers, below for
        negative.
        """
    def diagonal_scatter(self, src: Tensor, offset: _int = ..., dim1: _int = ..., dim2: _int = ...) -> Tensor: """A copy in which the diagonal is `src`."""
    def diff(self, n: _int = ..., dim: _int = ..., prepend: Any = ..., append: Any = ...) -> Tensor: """The n-th differences of neighbours along a dim."""
    def digamma(self) -> Tensor: """The derivative of `lgamma`."""
    def digamma_(self) -> Tensor: """`digamma`, written over this tensor."""
    def dim(self) -> _int: """The number of dims."""
    def dim_order(self, *, ambiguity_check: Any = ...) -> tuple[_int, ...]:
        """The dims from the outermost to the innermost, as they lie in memory.

        Dims of size 1 could lie anywhere: with `ambiguity_check` an error says so, unless a list of memory formats is given
        and the order is that of one of them.
        """
    def dist(self, other: Tensor, p: _float = ...) -> Tensor: """The p-norm of `input - other`."""
    def div(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor: """`input / other`, optionally rounded towards zero ("trunc") or down ("floor")."""
    def div_(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor: """`div`, written over this tensor."""
    def divide(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor: """`input / other`, optionally rounded towards zero ("trunc") or down ("floor")."""
    def divide_(self, other: Any, *, rounding_mode: str | None = ...) -> Tensor: """`div`, written over this tensor."""
    def dot(self, tensor: Tensor) -> Tensor: """Sum of the products of two vectors' elements (no conjugation)."""
    def double(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.float64."""
    def dsplit(self, indices_or_sections: Any = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]: """`tensor_split` along dim 2."""
    @property
    def dtype(self) -> _dtype: """The type of the elements."""
    def element_size(self) -> _int: """The size of one element, in bytes."""
    def eq(self, other: Any) -> Tensor: """True where the element is equal to that of `other`."""
    def eq_(self, other: Any) -> Tensor: """`eq`, written over this tensor."""
    def equal(self, other: Tensor) -> _bool: """True if two tensors have the same shape and elements."""
    def erf(self) -> Tensor: """The error function."""
    def erf_(self) -> Tensor: """`erf`, written over this tensor."""
    def erfc(self) -> Tensor: """One minus the error function."""
    def erfc_(self) -> Tensor: """`erfc`, written over this tensor."""
    def erfinv(self) -> Tensor: """The inverse of the error function."""
    def erfinv_(self) -> Tensor: """`erfinv`, written over this tensor."""
    def exp(self, *, out: Tensor | None = ...) -> Tensor: """e to the power of each element."""
    def exp2(self, *, out: Tensor | None = ...) -> Tensor: """2 to the power of each element."""
    def exp2_(self, *, out: Tensor | None = ...) -> Tensor: """`exp2`, written over this tensor."""
    def exp_(self, *, out: Tensor | None = ...) -> Tensor: """`exp`, written over this tensor."""
    def expand(self, *sizes: Any, implicit: _bool = ..., size: Any = ...) -> Tensor: """A view in which dims of size 1 are repeated without a copy; -1 keeps a size, new dims come first."""
    def expand_as(self, other: Tensor) -> Tensor: """Expanded to the shape of another tensor."""
    def explain(self, gradient: Any = ..., **options: Any) -> _Explanation: """Show step by step what `backward(gradient)` would do from here; see `pullback.explain`."""
    def expm1(self, *, out: Tensor | None = ...) -> Tensor: """`exp(x) - 1` of each element, exact near 0."""
    def expm1_(self, *, out: Tensor | None = ...) -> Tensor: """`expm1`, written over this tensor."""
    def exponential_(self, lambd: _float = ..., *, generator: Any = ...) -> Tensor: """Fill with exponential numbers of rate `lambd`."""
    def fill(self, value: Any) -> Tensor: """A tensor of one value in the shape of this one."""
    def fill_(self, value: Any) -> Tensor: """Write one value everywhere."""
    def fill_diagonal_(self, fill_value: Any, wrap: _bool = ...) -> Tensor: """Write one value to the main diagonal; with `wrap`, a tall matrix has it again below."""
    def fix(self) -> Tensor: """Each element without its fractional part. Integers stay as they are."""
    def fix_(self) -> Tensor: """`fix`, written over this tensor."""
    def flatten(self, start_dim: _int = ..., end_dim: _int = ...) -> Tensor: """Merge the dims from `start_dim` to `end_dim` into one."""
    def flip(self, *dims: Any, **named: Any) -> Tensor: """The order along dims reversed."""
    def fliplr(self) -> Tensor: """Columns in reverse order."""
    def flipud(self) -> Tensor: """Rows in reverse order."""
    def float(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.float32."""
    def float_power(self, exponent: Any, *, out: Tensor | None = ...) -> Tensor: """`input ** exponent` in double precision."""
    def float_power_(self, exponent: Any) -> Tensor: """`float_power`, written over this tensor, which has to be of double precision."""
    def floor(self) -> Tensor: """The largest integer that is not above each element. Integers stay as they are."""
    def floor_(self) -> Tensor: """`floor`, written over this tensor."""
    def floor_divide(self, other: Any) -> Tensor: """Division rounded down."""
    def floor_divide_(self, other: Any) -> Tensor: """`floor_divide`, written over this tensor."""
    def fmax(self, other: Any) -> Tensor: """The larger of two elements; if one is NaN, the other."""
    def fmin(self, other: Any) -> Tensor: """The smaller of two elements; if one is NaN, the other."""
    def fmod(self, other: Any) -> Tensor: """The remainder of truncated division: it has the sign of the dividend."""
    def fmod_(self, other: Any) -> Tensor: """`fmod`, written over this tensor."""
    def frac(self) -> Tensor: """The fractional part, with the sign of the number."""
    def frac_(self) -> Tensor: """`frac`, written over this tensor."""
    def frexp(self) -> _FrexpResult: """Mantissas in [0.5, 1) and integer exponents with `input = mantissa * 2**exponent`."""
    def gather(self, dim: _int, index: Tensor, *, sparse_grad: _bool = ...) -> Tensor:
        """The elements at `index` along a dim, one for each index.

        The result has the shape of `index`; for a matrix and dim 1, `result[i][j] = input[i][index[i][j]]`. So
        `scores.gather(1, labels[:, None])` picks one score of each row.
        """
    def gcd(self, other: Any) -> Tensor: """The greatest common divisor of two integers."""
    def gcd_(self, other: Any) -> Tensor: """`gcd`, written over this tensor."""
    def ge(self, other: Any) -> Tensor: """True where the element is greater than or equal to that of `other`."""
    def ge_(self, other: Any) -> Tensor: """`ge`, written over this tensor."""
    def geometric_(self, p: _float, *, generator: Any = ...) -> Tensor: """Fill with numbers of trials up to the first success, of probability p."""
    def geqrf(self) -> Any: """QR in LAPACK's compact form."""
    def ger(self, vec2: Tensor) -> Tensor: """All products of the elements of two vectors."""
    def get_device(self) -> _int: """-1: main memory has no number."""
    @property
    def grad(self) -> Tensor | None: """The gradient that backward passes have added up so far, None before the first."""
    @grad.setter
    def grad(self, value: Any) -> None: ...
    @property
    def grad_dtype(self) -> Any: """The dtype that `.grad` of this leaf has; None allows any."""
    @grad_dtype.setter
    def grad_dtype(self, value: Any) -> None: ...
    @property
    def grad_fn(self) -> Any: """The node of the operation that made this tensor, None for a leaf."""
    def greater(self, other: Any) -> Tensor: """True where the element is greater than that of `other`."""
    def greater_(self, other: Any) -> Tensor: """`greater`, written over this tensor."""
    def greater_equal(self, other: Any) -> Tensor: """True where the element is greater than or equal to that of `other`."""
    def greater_equal_(self, other: Any) -> Tensor: """`greater_equal`, written over this tensor."""
    def gt(self, other: Any) -> Tensor: """True where the element is greater than that of `other`."""
    def gt_(self, other: Any) -> Tensor: """`gt`, written over this tensor."""
    def half(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.float16."""
    def hardshrink(self, lambd: _float = ..., *, out: Tensor | None = ...) -> Tensor: """0 where |x| <= lambd, x elsewhere."""
    def hash_tensor(self, dim: Any = ..., keepdim: _bool = ..., *, mode: _int = ...) -> Tensor: """Exclusive-or of the bits of all elements (or along dims), as uint64."""
    def heaviside(self, values: Any) -> Tensor: """0 below zero, 1 above, `values` at zero. Both tensors have one dtype."""
    def heaviside_(self, values: Any) -> Tensor: """`heaviside`, written over this tensor."""
    def histc(self, bins: _int = ..., min: Any = ..., max: Any = ...) -> Tensor: """Counts in `bins` equal bins between min and max (of the data, if equal)."""
    def histogram(self, bins: Any = ..., *, range: Sequence[_float] | None = ..., weight: Tensor | None = ..., density: _bool = ...) -> _HistogramResult:
        """Counts in bins, given by number or by edges, and the edges.

        `range` is (lowest, highest) of evenly spaced bins, those of the data unless given. `weight` has a number for each
        element, which counts in place of 1. `density` divides by the sum and by the widths of the bins.
        """
    def hsplit(self, indices_or_sections: Any = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]: """`tensor_split` along dim 1."""
    def hypot(self, other: Any) -> Tensor: """The length of the hypotenuse: `sqrt(input**2 + other**2)`."""
    def hypot_(self, other: Any) -> Tensor: """`hypot`, written over this tensor."""
    def i0(self) -> Tensor: """The modified Bessel function of the first kind, of order 0."""
    def i0_(self) -> Tensor: """`i0`, written over this tensor."""
    def igamma(self, other: Any) -> Tensor: """Regularized lower incomplete gamma function."""
    def igamma_(self, other: Any) -> Tensor: """`igamma`, written over this tensor."""
    def igammac(self, other: Any) -> Tensor: """Regularized upper incomplete gamma function."""
    def igammac_(self, other: Any) -> Tensor: """`igammac`, written over this tensor."""
    @property
    def imag(self) -> Tensor: """The imaginary part of a complex tensor, as a view."""
    @imag.setter
    def imag(self, value: Any) -> None: ...
    def index_add(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = ...) -> Tensor:
        """A copy with the slices of `source`, times `alpha`, added at `index` of a dim: `result[index[i]] += source[i]` for
        dim 0.
        """
    def index_add_(self, dim: _int, index: Tensor, source: Tensor, *, alpha: Any = ...) -> Tensor: """Add the slices of `source` at `index` of a dim."""
    def index_copy(self, dim: _int, index: Tensor, source: Tensor) -> Tensor: """A copy with the slices of `source` written at `index` of a dim."""
    def index_copy_(self, dim: _int, index: Tensor, source: Tensor) -> Tensor: """`index_copy`, written over this tensor."""
    def index_fill(self, dim: _int, index: Tensor, value: Any) -> Tensor: """A copy with one value in the slices at `index` of a dim."""
    def index_fill_(self, dim: _int, index: Tensor, value: Any) -> Tensor: """Write one value to the slices at `index` of a dim."""
    def index_put(self, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor: """A copy with `values` written (or added) at the indices, one tensor of indices for each dim."""
    def index_put_(self, indices: Any, values: Tensor, accumulate: _bool = ...) -> Tensor: """Write (or add) `values` at the indices, one tensor of indices for each dim."""
    def index_reduce(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor: """A copy in which the slices of `source` that go to one place are reduced there: prod, mean, amax or amin."""
    def index_reduce_(self, dim: _int, index: Tensor, source: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor: """`index_reduce`, written over this tensor."""
    def index_select(self, dim: _int, index: Tensor) -> Tensor: """The slices of a dim at `index`, a vector of integers, in its order and as often: `x[:, index]` for dim 1."""
    def indices(self) -> Any: """The places of the elements: a row for each sparse dim. Only sparse tensors have it."""
    def inner(self, other: Tensor) -> Tensor: """Sums of products over the last dims of both."""
    def int(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.int32."""
    def inverse(self) -> Tensor: """Inverses of square matrices."""
    def is_coalesced(self) -> _bool: """True if no place of a sparse tensor occurs twice; False for a dense one."""
    def is_complex(self) -> _bool: """True if the elements are complex numbers."""
    def is_conj(self) -> _bool: """False: conjugation is done at once."""
    def is_contiguous(self, memory_format: Any = ...) -> _bool: """True if the elements lie in memory in order: that of the dims, or the one of a memory format."""
    @property
    def is_cpu(self) -> _bool: """True: every tensor lives in main memory."""
    @property
    def is_cuda(self) -> _bool: """False: every tensor lives in main memory."""
    def is_distributed(self) -> _bool: """False: a tensor is in one process."""
    def is_floating_point(self) -> _bool: """True if the elements are floats."""
    def is_inference(self) -> _bool: """Return True if this tensor was made under `inference_mode`."""
    @property
    def is_ipu(self) -> _bool: """False: every tensor lives in main memory."""
    @property
    def is_leaf(self) -> _bool: """True if no recorded operation made this tensor: gradients end here, in `.grad`."""
    @property
    def is_maia(self) -> _bool: """False: every tensor lives in main memory."""
    @property
    def is_meta(self) -> _bool: """False: every tensor lives in main memory."""
    @property
    def is_mkldnn(self) -> _bool: """False: every tensor lives in main memory."""
    @property
    def is_mps(self) -> _bool: """False: every tensor lives in main memory."""
    @property
    def is_mtia(self) -> _bool: """False: every tensor lives in main memory."""
    def is_neg(self) -> _bool: """False: negation is done at once."""
    @property
    def is_nested(self) -> _bool: """False: every tensor is a plain dense one."""
    def is_nonzero(self) -> _bool: """True if the one element differs from zero."""
    def is_pinned(self, device: Any = ...) -> _bool: """False: there is no pinned memory."""
    @property
    def is_quantized(self) -> _bool: """False: every tensor is a plain dense one."""
    def is_same_size(self, other: Tensor) -> _bool: """True if the shapes are equal."""
    def is_set_to(self, tensor: Tensor) -> _bool: """True if both look at the same memory in the same way."""
    def is_shared(self) -> _bool: """True if the elements lie in memory that forked processes share."""
    def is_signed(self) -> _bool: """True if the dtype has negative numbers."""
    @property
    def is_sparse(self) -> _bool: """False: every tensor is a plain dense one."""
    @property
    def is_sparse_csr(self) -> _bool: """False: every tensor is a plain dense one."""
    @property
    def is_vulkan(self) -> _bool: """False: every tensor lives in main memory."""
    @property
    def is_xla(self) -> _bool: """False: every tensor lives in main memory."""
    @property
    def is_xpu(self) -> _bool: """False: every tensor lives in main memory."""
    def isclose(self, other: Any, rtol: _float = ..., atol: _float = ..., equal_nan: _bool = ...) -> Tensor: """Where two tensors agree to within atol + rtol * |other|."""
    def isfinite(self) -> Tensor: """True where the element is neither infinite nor NaN."""
    def isinf(self) -> Tensor: """True where the element is infinite."""
    def isnan(self) -> Tensor: """True where the element is NaN."""
    def isneginf(self) -> Tensor: """True where the element is minus infinity."""
    def isposinf(self) -> Tensor: """True where the element is plus infinity."""
    def isreal(self) -> Tensor: """True where the element is a real number (has no imaginary part)."""
    def istft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., normalized: _bool = ..., onesided: _bool | None = ..., length: _int | None = ..., return_complex: _bool = ...) -> Tensor:
        """The signal whose `stft` is closest to the input: windows transformed back, added up, divided by their weights.

        The arguments are those of `stft`; `length` is that of the signal, which the windows do not tell exactly.
        """
    def item(self) -> Any: """The one element as a Python number."""
    @property
    def itemsize(self) -> _int: """The size of one element, in bytes."""
    def kron(self, other: Tensor) -> Tensor: """Kronecker product: every element of the first times all of the second."""
    def kthvalue(self, k: _int, dim: _int = ..., keepdim: _bool = ...) -> _ValuesIndices: """The k-th smallest element (from 1) along a dim and its index."""
    @property
    def layout(self) -> Any: """`torch.strided`, always."""
    def lcm(self, other: Any) -> Tensor: """The least common multiple of two integers."""
    def lcm_(self, other: Any) -> Tensor: """`lcm`, written over this tensor."""
    def ldexp(self, other: Any) -> Tensor: """`input * 2**other`."""
    def ldexp_(self, other: Any) -> Tensor: """`ldexp`, written over this tensor."""
    def le(self, other: Any) -> Tensor: """True where the element is less than or equal to that of `other`."""
    def le_(self, other: Any) -> Tensor: """`le`, written over this tensor."""
    def lerp(self, end: Any, weight: Any) -> Tensor: """`input + weight * (end - input)`."""
    def lerp_(self, end: Any, weight: Any) -> Tensor: """`lerp`, written over this tensor."""
    def less(self, other: Any) -> Tensor: """True where the element is less than that of `other`."""
    def less_(self, other: Any) -> Tensor: """`less`, written over this tensor."""
    def less_equal(self, other: Any) -> Tensor: """True where the element is less than or equal to that of `other`."""
    def less_equal_(self, other: Any) -> Tensor: """`less_equal`, written over this tensor."""
    def lgamma(self) -> Tensor: """The logarithm of the absolute value of the gamma function."""
    def lgamma_(self) -> Tensor: """`lgamma`, written over this tensor."""
    def log(self, *, out: Tensor | None = ...) -> Tensor: """The natural logarithm of each element."""
    def log10(self, *, out: Tensor | None = ...) -> Tensor: """The logarithm to base 10 of each element."""
    def log10_(self, *, out: Tensor | None = ...) -> Tensor: """`log10`, written over this tensor."""
    def log1p(self, *, out: Tensor | None = ...) -> Tensor: """`log(1 + x)` of each element, exact near 0."""
    def log1p_(self, *, out: Tensor | None = ...) -> Tensor: """`log1p`, written over this tensor."""
    def log2(self, *, out: Tensor | None = ...) -> Tensor: """The logarithm to base 2 of each element."""
    def log2_(self, *, out: Tensor | None = ...) -> Tensor: """`log2`, written over this tensor."""
    def log_(self, *, out: Tensor | None = ...) -> Tensor: """`log`, written over this tensor."""
    def log_normal_(self, mean: _float = ..., std: _float = ..., *, generator: Any = ...) -> Tensor: """Fill with exponentials of normal numbers."""
    def log_softmax(self, dim: _int, dtype: _dtype | None = ...) -> Tensor: """log(softmax(x)) along a dim, computed without overflow."""
    def logaddexp(self, other: Any) -> Tensor: """`log(exp(input) + exp(other))`, without overflow."""
    def logaddexp2(self, other: Any) -> Tensor: """`log2(2**input + 2**other)`, without overflow."""
    def logcumsumexp(self, dim: _int) -> Tensor: """Logarithm of the running sums of exponentials along a dim."""
    def logdet(self) -> Tensor: """Logarithms of determinants: NaN where the determinant is negative."""
    def logical_and(self, other: Any) -> Tensor: """Logical and of each pair of elements, as a boolean; 0 is False."""
    def logical_and_(self, other: Any) -> Tensor: """`logical_and`, written over this tensor."""
    def logical_not(self) -> Tensor: """True where the element is 0 or False."""
    def logical_not_(self) -> Tensor: """`logical_not`, written over this tensor."""
    def logical_or(self, other: Any) -> Tensor: """Logical or of each pair of elements, as a boolean; 0 is False."""
    def logical_or_(self, other: Any) -> Tensor: """`logical_or`, written over this tensor."""
    def logical_xor(self, other: Any) -> Tensor: """Logical xor of each pair of elements, as a boolean; 0 is False."""
    def logical_xor_(self, other: Any) -> Tensor: """`logical_xor`, written over this tensor."""
    def logit(self, eps: _float | None = ...) -> Tensor: """log(x / (1 - x)); with `eps`, of x limited to [eps, 1 - eps]."""
    def logit_(self, eps: _float | None = ...) -> Tensor: """`logit`, written over this tensor."""
    def logsumexp(self, dim: Any, keepdim: _bool = ...) -> Tensor: """log(sum(exp(x))) over dims, computed without overflow."""
    def long(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.int64."""
    def lt(self, other: Any) -> Tensor: """True where the element is less than that of `other`."""
    def lt_(self, other: Any) -> Tensor: """`lt`, written over this tensor."""
    def lu(self, pivot: _bool = ..., get_infos: _bool = ..., out: Any = ...) -> tuple[Any, ...]: """L and U in one matrix, and pivots (and info)."""
    def lu_solve(self, LU_data: Tensor, LU_pivots: Tensor) -> Tensor: """X with A X = input, from the LU factorization of A."""
    @property
    def mH(self) -> Tensor: """The conjugate transpose of a matrix (or of a batch of them)."""
    @property
    def mT(self) -> Tensor: """The last two dims exchanged."""
    def map_(self, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor: """Replace every element by `callable(element, element of tensor)`. Slow: for small tensors."""
    def masked_fill(self, mask: Tensor, value: Any) -> Tensor: """A copy with one value where the mask is true."""
    def masked_fill_(self, mask: Tensor, value: Any) -> Tensor: """Write one value where the mask is true."""
    def masked_scatter(self, mask: Tensor, source: Tensor) -> Tensor: """A copy with the elements of `source`, in order, where the mask is true."""
    def masked_scatter_(self, mask: Tensor, source: Tensor) -> Tensor: """`masked_scatter`, written over this tensor."""
    def masked_select(self, mask: Tensor) -> Tensor: """The elements where the mask is true, in one dim."""
    def matmul(self, other: Tensor) -> Tensor: """Matrix product; 1-d tensors are vectors, leading dims are batches."""
    def matrix_exp(self) -> Tensor: """The exponential of square matrices."""
    def matrix_power(self, n: _int) -> Tensor: """A matrix multiplied by itself n times."""
    @overload
    def max(self, *, out: Any = ...) -> Tensor: ...
    @overload
    def max(self, other: Tensor, *, out: Any = ...) -> Tensor: ...
    @overload
    def max(self, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The largest element; with a dim, (values, indices) along it; with another tensor, the larger of the two."""
    def maximum(self, other: Any) -> Tensor: """The larger of two elements; NaN if either is NaN."""
    def mean(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor: """Mean of all elements, or over the dims given. Needs a floating point dtype."""
    @overload
    def median(self) -> Tensor: ...
    @overload
    def median(self, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The lower median, of everything or along a dim; NaN if there is one."""
    def memory(self) -> Any: """The array as real memory that views can look at and operations can write to."""
    @overload
    def min(self, *, out: Any = ...) -> Tensor: ...
    @overload
    def min(self, other: Tensor, *, out: Any = ...) -> Tensor: ...
    @overload
    def min(self, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The smallest element; with a dim, (values, indices) along it; with another tensor, the smaller of the two."""
    def minimum(self, other: Any) -> Tensor: """The smaller of two elements; NaN if either is NaN."""
    def mm(self, mat2: Tensor) -> Tensor: """Product of two matrices."""
    def mode(self, dim: _int = ..., keepdim: _bool = ...) -> _ValuesIndices: """The most frequent value along a dim (the smallest of several) and the index of one occurrence."""
    def moveaxis(self, source: Any, destination: Any) -> Tensor: """Dims moved to other places, the rest in order."""
    def movedim(self, source: Any, destination: Any) -> Tensor: """Dims moved to other places, the rest in order."""
    def msort(self) -> Tensor: """The elements in order along the first dim."""
    def mul(self, other: Any) -> Tensor: """`input * other`."""
    def mul_(self, other: Any) -> Tensor: """`mul`, written over this tensor."""
    def multinomial(self, num_samples: _int, replacement: _bool = ..., *, generator: Any = ...) -> Tensor: """Indices drawn with the weights in each row of `input`."""
    def multiply(self, other: Any) -> Tensor: """`input * other`."""
    def multiply_(self, other: Any) -> Tensor: """`mul`, written over this tensor."""
    def mv(self, vec: Tensor) -> Tensor: """A matrix times a vector."""
    def mvlgamma(self, p: _int) -> Tensor: """Log of the multivariate gamma function of dimension p."""
    def mvlgamma_(self, p: _int) -> Tensor: """`mvlgamma`, written over this tensor."""
    @property
    def name(self) -> str | None: """A name of your choice that error messages and `explain` use."""
    @name.setter
    def name(self, value: Any) -> None: ...
    def nan_to_num(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor: """NaN and infinities replaced: by 0 and the largest finite numbers unless given."""
    def nan_to_num_(self, nan: _float | None = ..., posinf: _float | None = ..., neginf: _float | None = ...) -> Tensor: """`nan_to_num`, written over this tensor."""
    def nanmean(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor: """Mean of the elements that are not NaN."""
    @overload
    def nanmedian(self) -> Tensor: ...
    @overload
    def nanmedian(self, dim: _int, keepdim: _bool = ..., *, out: Any = ...) -> _ValuesIndices: """The lower median of what is not NaN."""
    def nanquantile(self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor: """Quantiles of what is not NaN."""
    def nansum(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor: """Sum of the elements that are not NaN."""
    def narrow(self, dim: _int, start: Any, length: _int) -> Tensor: """A view of `length` slices of a dim from `start`."""
    def narrow_copy(self, *args: Any, **kwargs: Any) -> Any: """A copy of what `narrow` gives."""
    @property
    def nbytes(self) -> _int: """The size of all elements, in bytes."""
    @property
    def ndim(self) -> _int: """The number of dims."""
    def ndimension(self) -> _int: """The number of dims."""
    def ne(self, other: Any) -> Tensor: """True where the element is not equal to that of `other`."""
    def ne_(self, other: Any) -> Tensor: """`ne`, written over this tensor."""
    def neg(self) -> Tensor: """`-input`."""
    def neg_(self) -> Tensor: """`neg`, written over this tensor."""
    def negative(self) -> Tensor: """`-input`."""
    def negative_(self) -> Tensor: """`negative`, written over this tensor."""
    def nelement(self) -> _int: """The number of elements."""
    def new(self, *args: Any, **kwargs: Any) -> Tensor: """A tensor from sizes or data, in the dtype of this one, as the oldest constructor made it."""
    def new_empty(self, *args: Any, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., **kwargs: Any) -> Tensor: """`empty` in the dtype of this tensor unless told otherwise."""
    def new_empty_strided(self, size: Any, stride: Any, *, dtype: Any = ..., **options: Any) -> Tensor: """An uninitialised tensor with the given sizes and strides, in the dtype of this one."""
    def new_full(self, *args: Any, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., **kwargs: Any) -> Tensor: """`full` in the dtype of this tensor unless told otherwise."""
    def new_ones(self, *args: Any, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., **kwargs: Any) -> Tensor: """`ones` in the dtype of this tensor unless told otherwise."""
    def new_tensor(self, data: Any, *, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ...) -> Tensor: """A tensor from data, in the dtype of this one."""
    def new_zeros(self, *args: Any, dtype: Any = ..., device: Any = ..., requires_grad: _bool = ..., **kwargs: Any) -> Tensor: """`zeros` in the dtype of this tensor unless told otherwise."""
    def nextafter(self, other: Any) -> Tensor: """The next float after each element on the way to `other`."""
    def nextafter_(self, other: Any) -> Tensor: """`nextafter`, written over this tensor."""
    @overload
    def nonzero(self, *, as_tuple: Literal[True]) -> tuple[Tensor, ...]: ...
    @overload
    def nonzero(self, *, out: Tensor | None = ..., as_tuple: Literal[False] = ...) -> Tensor: """Where elements are not zero: a matrix of indices, or one index tensor for each dim."""
    def nonzero_static(self, *, size: _int, fill_value: _int = ..., out: Tensor | None = ...) -> Tensor: """The first `size` rows of `nonzero`, filled up with `fill_value`."""
    def norm(self, p: Any = ..., dim: Any = ..., keepdim: _bool = ..., dtype: _dtype | None = ..., out: Any = ...) -> Tensor: """Norm of a tensor as one vector, or over dims; p is a number, "fro" or "nuc"."""
    def normal_(self, mean: _float = ..., std: _float = ..., *, generator: Any = ...) -> Tensor: """Fill with normal numbers."""
    def not_equal(self, other: Any) -> Tensor: """True where the element is not equal to that of `other`."""
    def not_equal_(self, other: Any) -> Tensor: """`not_equal`, written over this tensor."""
    def numel(self) -> _int: """The number of elements."""
    def numpy(self, *, force: _bool = ...) -> _NDArray[Any]: """An ndarray that shares this tensor's memory."""
    def orgqr(self, tau: Tensor) -> Tensor: """The first columns of a product of Householder reflections."""
    def ormqr(self, tau: Tensor, other: Tensor, left: _bool = ..., transpose: _bool = ...) -> Tensor: """A product of Householder reflections times `other`."""
    def outer(self, vec2: Tensor) -> Tensor: """All products of the elements of two vectors."""
    @property
    def output_nr(self) -> _int: """Which of the outputs of `grad_fn` this tensor is."""
    def permute(self, *dims: Any, **named: Any) -> Tensor: """Dims in another order: `x.permute(2, 0, 1)` has the last one first. A view."""
    def pin_memory(self, device: Any = ...) -> Tensor: """The tensor itself."""
    def pinverse(self, rcond: _float = ...) -> Tensor: """The pseudo-inverse."""
    def polygamma(self, n: _int) -> Tensor: """The n-th derivative of digamma at this tensor."""
    def polygamma_(self, n: _int) -> Tensor: """`polygamma`, written over this tensor."""
    def positive(self) -> Tensor: """The tensor itself; bool tensors have no sign."""
    def pow(self, exponent: Any) -> Tensor: """`input ** exponent`; either may be a number."""
    def pow_(self, exponent: Any) -> Tensor: """`pow`, written over this tensor."""
    def prelu(self, weight: Tensor) -> Tensor: """x where positive, weight * x elsewhere; one weight for all, or one for each channel (dim 1)."""
    def prod(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor: """Product of all elements, or along a dim. The gradient is right where elements are zero."""
    def put(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor: """A copy with elements written (or added) at indices of the tensor as one long row."""
    def put_(self, index: Tensor, source: Tensor, accumulate: _bool = ...) -> Tensor: """`put`, written over this tensor."""
    def qr(self, some: _bool = ...) -> tuple[Tensor, Tensor]: """The QR decomposition."""
    def quantile(self, q: Any, dim: _int | None = ..., keepdim: _bool = ..., *, interpolation: str = ...) -> Tensor:
        """Quantiles of everything or along a dim, interpolated between neighbours; NaN if there is one.

        `q` is a number from 0 to 1, or a tensor of several, which makes a first dim. `interpolation` is "linear",
        "lower", "higher", "midpoint" or "nearest".
        """
    def rad2deg(self, *, out: Tensor | None = ...) -> Tensor: """Angles in radians, as degrees."""
    def rad2deg_(self, *, out: Tensor | None = ...) -> Tensor: """`rad2deg`, written over this tensor."""
    def random_(self, *args: Any, generator: Any = ..., **bounds: Any) -> Tensor: """Fill with integers: in [from, to), in [0, to), or over the range the dtype holds exactly."""
    def ravel(self) -> Tensor: """All elements in one dim."""
    @property
    def real(self) -> Tensor: """The real part: a view of complex tensors, real ones as they are."""
    @real.setter
    def real(self, value: Any) -> None: ...
    def reciprocal(self, *, out: Tensor | None = ...) -> Tensor: """One over each element."""
    def reciprocal_(self, *, out: Tensor | None = ...) -> Tensor: """`reciprocal`, written over this tensor."""
    def record_stream(self, stream: Any) -> None: """Nothing: there are no streams."""
    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> _RemovableHandle: """Call `hook(grad)` whenever the gradient of this tensor is computed; what it returns replaces the gradient."""
    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> _RemovableHandle: """Call `hook(tensor)` right after a backward pass has updated `.grad` of this leaf."""
    def relu(self, *, out: Tensor | None = ...) -> Tensor: """Each element, or 0 where that is larger."""
    def relu_(self, *, out: Tensor | None = ...) -> Tensor: """`relu`, written over this tensor."""
    def remainder(self, other: Any) -> Tensor: """The remainder of floor division: it has the sign of the divisor."""
    def remainder_(self, other: Any) -> Tensor: """`remainder`, written over this tensor."""
    def renorm(self, p: _float, dim: _int, maxnorm: _float) -> Tensor: """Scale down each slice along `dim` whose p-norm exceeds `maxnorm`."""
    def renorm_(self, p: _float, dim: _int, maxnorm: _float) -> Tensor: """`renorm`, written over this tensor."""
    def repeat(self, *repeats: Any, **named: Any) -> Tensor: """Copies of the tensor side by side, so many along each dim: `x.repeat(2, 1)` puts a matrix below itself."""
    def repeat_interleave(self, repeats: Any = ..., dim: _int | None = ..., *, output_size: _int | None = ...) -> Tensor: """Each element (or slice of a dim) repeated, copies next to each other."""
    @property
    def requires_grad(self) -> _bool: """True if operations on this tensor are recorded, so that a backward pass reaches it."""
    @requires_grad.setter
    def requires_grad(self, value: Any) -> None: ...
    def requires_grad_(self, requires_grad: _bool = ...) -> Tensor: """Ask for gradients (or stop asking) and return this tensor."""
    def reshape(self, *shape: Any, **named: Any) -> Tensor: """The elements in another shape: a view when memory allows, else a copy."""
    def reshape_as(self, other: Tensor) -> Tensor: """The elements in the shape of another tensor."""
    def resize_(self, *sizes: Any, memory_format: Any = ...) -> Tensor: """Give this tensor another size, on the memory it has if that is enough; new elements are uninitialised."""
    def resize_as_(self, the_template: Tensor, *, memory_format: Any = ...) -> Tensor: """Give this tensor the size of another."""
    def resolve_conj(self) -> Tensor: """Itself: nothing is conjugated later here."""
    def resolve_neg(self) -> Tensor: """Itself: nothing is negated later here."""
    def retain_grad(self) -> None: """Keep the gradient of this non-leaf tensor in `.grad` when a backward pass computes it."""
    @property
    def retains_grad(self) -> _bool: """True if `retain_grad()` was called on this non-leaf tensor."""
    def roll(self, shifts: Any, dims: Any = ...) -> Tensor: """Elements moved along dims; what leaves at one end comes in at the other."""
    def rot90(self, k: _int = ..., dims: Sequence[_int] = ...) -> Tensor: """Rotated in the plane of two dims, `k` times 90 degrees."""
    def round(self, *, decimals: _int = ...) -> Tensor: """Round to the nearest integer (ties to even), or to `decimals` places."""
    def round_(self, *, decimals: _int = ...) -> Tensor: """`round`, written over this tensor."""
    def row_indices(self) -> Any: """The rows of the elements of a CSC matrix. Only sparse tensors have it."""
    def rsqrt(self, *, out: Tensor | None = ...) -> Tensor: """One over the square root of each element."""
    def rsqrt_(self, *, out: Tensor | None = ...) -> Tensor: """`rsqrt`, written over this tensor."""
    def rsub(self, other: Any, *, alpha: Any = ...) -> Tensor: """`other - alpha * input`."""
    def scatter(self, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: str | None = ...) -> Tensor:
        """A copy with the elements of `src` (or one value) written at `index` along a dim.

        The reverse of `gather`: for a matrix and dim 1, `result[i][index[i][j]] = src[i][j]`. Where an index occurs twice,
        one of the values stays; `scatter_add` and `scatter_reduce` keep all.
        """
    def scatter_(self, dim: _int, index: Tensor, src: Any = ..., *, value: Any = ..., reduce: str | None = ...) -> Tensor: """Write the elements of `src` (or one value) at `index` along a dim."""
    def scatter_add(self, dim: _int, index: Tensor, src: Tensor) -> Tensor:
        """A copy with the elements of `src` added at `index` along a dim.

        For a matrix and dim 1, `result[i][index[i][j]] += src[i][j]`, for all i and j.
        """
    def scatter_add_(self, dim: _int, index: Tensor, src: Tensor) -> Tensor: """`scatter_add`, written over this tensor."""
    def scatter_reduce(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor: """A copy in which the elements of `src` that go to one place are reduced there: sum, prod, mean, amax or amin."""
    def scatter_reduce_(self, dim: _int, index: Tensor, src: Tensor, reduce: str, *, include_self: _bool = ...) -> Tensor: """`scatter_reduce`, written over this tensor."""
    def searchsorted(self, input: Any, *, out_int32: _bool = ..., right: _bool = ..., side: str | None = ..., sorter: Tensor | None = ...) -> Tensor:
        """Where to insert values into sorted rows so that they stay sorted.

        `right=True` (or `side="right"`) inserts after equal elements, otherwise before. `sorter` has the indices that
        sort an unsorted sequence; `out_int32` makes the answer int32.
        """
    def select(self, dim: _int, index: _int) -> Tensor: """One slice of a dim, without that dim."""
    def select_scatter(self, src: Tensor, dim: _int, index: _int) -> Tensor: """A copy in which one slice of a dim is `src`."""
    def set_(self, source: Any = ..., storage_offset: _int = ..., size: Any = ..., stride: Any = ...) -> Tensor: """Look at the memory of another tensor from now on (or at none)."""
    def sgn(self, *, out: Tensor | None = ...) -> Tensor: """The sign of each element; of complex z, `z / |z|`."""
    def sgn_(self, *, out: Tensor | None = ...) -> Tensor: """`sgn`, written over this tensor."""
    @property
    def shape(self) -> Size: """The sizes of the dims."""
    def share_memory_(self) -> Tensor: """Move the elements to memory that processes forked from now on share; the tensor itself."""
    def short(self, memory_format: Any = ...) -> Tensor: """The tensor as torch.int16."""
    def sigmoid(self, *, out: Tensor | None = ...) -> Tensor: """`1 / (1 + exp(-x))` of each element."""
    def sigmoid_(self, *, out: Tensor | None = ...) -> Tensor: """`sigmoid`, written over this tensor."""
    def sign(self, *, out: Tensor | None = ...) -> Tensor: """-1, 0 or 1: the sign of each element."""
    def sign_(self, *, out: Tensor | None = ...) -> Tensor: """`sign`, written over this tensor."""
    def signbit(self) -> Tensor: """True where the sign bit is set (also for -0.0)."""
    def sin(self, *, out: Tensor | None = ...) -> Tensor: """The sine of each element, in radians."""
    def sin_(self, *, out: Tensor | None = ...) -> Tensor: """`sin`, written over this tensor."""
    def sinc(self) -> Tensor: """sin(pi x) / (pi x), and 1 at 0."""
    def sinc_(self) -> Tensor: """`sinc`, written over this tensor."""
    def sinh(self, *, out: Tensor | None = ...) -> Tensor: """The hyperbolic sine of each element."""
    def sinh_(self, *, out: Tensor | None = ...) -> Tensor: """`sinh`, written over this tensor."""
    @property
    def size(self) -> ElementCount: """The attribute `size` of tensors. On the class, `Tensor.size(x, dim)` is torch's method."""
    def slice_scatter(self, src: Tensor, dim: _int = ..., start: _int | None = ..., end: _int | None = ..., step: _int = ...) -> Tensor: """A copy in which a slice of a dim is `src`."""
    def slogdet(self) -> tuple[Tensor, Tensor]: """Signs and logarithms of the absolute values of determinants."""
    def softmax(self, dim: _int, dtype: _dtype | None = ...) -> Tensor: """exp(x) / sum(exp(x)) along a dim."""
    def sort(self, *args: Any, dim: _int = ..., descending: _bool = ..., stable: _bool = ...) -> _ValuesIndices: """The elements in order along a dim, and where they came from. Always stable."""
    def sparse_dim(self) -> _int: """0: no dim is sparse."""
    def sparse_mask(self, mask: Any) -> Any: """The elements of this tensor at the places of a sparse one; twice at a place that it has twice."""
    def split(self, split_size_or_sections: Any = ..., dim: _int = ..., *, split_size: Any = ..., tensor: Any = ...) -> tuple[Tensor, ...]:
        """Views of consecutive pieces: of one size (the last may be smaller), or of the sizes given.

        The method calls its argument `split_size` in torch, and the function its first one `tensor`.
        """
    def split_with_sizes(self, split_sizes: Sequence[_int], dim: _int = ...) -> tuple[Tensor, ...]: """Views of consecutive pieces of the sizes given."""
    def sqrt(self, *, out: Tensor | None = ...) -> Tensor: """The square root of each element."""
    def sqrt_(self, *, out: Tensor | None = ...) -> Tensor: """`sqrt`, written over this tensor."""
    def square(self) -> Tensor: """`input * input`; booleans become integers."""
    def square_(self) -> Tensor: """`square`, written over this tensor."""
    def squeeze(self, dim: Any = ..., *, axis: Any = ...) -> Tensor: """Without dims of size 1 (all, or those given): (1, 3, 1) becomes (3,). A view."""
    def squeeze_(self, dim: Any = ...) -> Tensor: """Take dims of size 1 away from this tensor."""
    def std(self, *args: Any, dim: Any = ..., unbiased: Any = ..., correction: Any = ..., keepdim: _bool = ...) -> Tensor: """Standard deviation over dims; `correction` (1) is subtracted from the count."""
    def stft(self, n_fft: _int, hop_length: _int | None = ..., win_length: _int | None = ..., window: Tensor | None = ..., center: _bool = ..., pad_mode: str = ..., normalized: _bool = ..., onesided: _bool | None = ..., return_complex: _bool | None = ..., align_to_window: _bool | None = ...) -> Tensor:
        """Fourier transforms of overlapping windows of a signal, as (frequency, window).

        Windows of `n_fft` samples begin every `hop_length` (a quarter of that, unless given) and are weighted by
        `window`, of `win_length` samples, ones unless given. `center` puts window t around sample t * hop_length, with
        the ends padded as `pad_mode` says. `onesided` leaves out the frequencies that mirror others, as it does for real
        signals unless told otherwise; `normalized` divides by sqrt(n_fft). Pass `return_complex=True`: False, which puts
        real and imaginary parts into a last dim, is out of use.
        """
    def storage(self) -> Any: """The memory under this tensor, as elements of its dtype."""
    def storage_offset(self) -> _int: """Where in its memory the first element lies."""
    def storage_type(self) -> Any: """The class of storages of this dtype."""
    def stride(self, dim: _int | None = ...) -> Any: """How many elements apart neighbours lie in memory, for each dim."""
    def sub(self, other: Any, *legacy: Any, alpha: Any = ...) -> Tensor: """`input - alpha * other`."""
    def sub_(self, other: Any, *legacy: Any, alpha: Any = ...) -> Tensor: """`sub`, written over this tensor."""
    def subtract(self, other: Any, *legacy: Any, alpha: Any = ...) -> Tensor: """`input - alpha * other`."""
    def subtract_(self, other: Any, *legacy: Any, alpha: Any = ...) -> Tensor: """`sub`, written over this tensor."""
    def sum(self, dim: Any = ..., keepdim: _bool = ..., *, dtype: _dtype | None = ...) -> Tensor: """Sum of all elements, or over the dims given."""
    def sum_to_size(self, *size: Any) -> Tensor: """Sum over dims so that the result has the given size, which must broadcast to this tensor's."""
    def svd(self, some: _bool = ..., compute_uv: _bool = ...) -> Any: """The singular value decomposition, with V instead of its adjoint."""
    def swapaxes(self, dim0: Any = ..., dim1: Any = ..., axis0: Any = ..., axis1: Any = ...) -> Tensor: """Two dims exchanged (or, as in NumPy, all dims in the order of one tuple)."""
    def swapaxes_(self, dim0: _int, dim1: _int) -> Tensor: """Exchange two dims of this tensor."""
    def swapdims(self, dim0: Any = ..., dim1: Any = ..., axis0: Any = ..., axis1: Any = ...) -> Tensor: """Two dims exchanged (or, as in NumPy, all dims in the order of one tuple)."""
    def swapdims_(self, dim0: _int, dim1: _int) -> Tensor: """Exchange two dims of this tensor."""
    def t(self) -> Tensor: """The transpose of a matrix (vectors as they are)."""
    def t_(self) -> Tensor: """Transpose this matrix."""
    def take(self, index: Tensor) -> Tensor: """The elements at `index` of the tensor as one long row."""
    def take_along_dim(self, indices: Tensor, dim: _int | None = ...) -> Tensor: """The elements at `indices` along a dim; both tensors are broadcast along the other dims."""
    def tan(self, *, out: Tensor | None = ...) -> Tensor: """The tangent of each element, in radians."""
    def tan_(self, *, out: Tensor | None = ...) -> Tensor: """`tan`, written over this tensor."""
    def tanh(self, *, out: Tensor | None = ...) -> Tensor: """The hyperbolic tangent of each element."""
    def tanh_(self, *, out: Tensor | None = ...) -> Tensor: """`tanh`, written over this tensor."""
    def tensor_split(self, indices_or_sections: Any = ..., dim: _int = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]: """Views of pieces as equal as possible, or cut at the indices given."""
    def tile(self, *dims: Any, **named: Any) -> Tensor: """Copies of the tensor along its last dims."""
    def to(self, *args: Any, **kwargs: Any) -> Tensor: """To another dtype, device or both, given as dtype, device, or a tensor to be like."""
    def to_dense(self, dtype: Any = ..., masked_grad: Any = ...) -> Tensor: """The tensor itself, in another dtype if one is given."""
    def to_device(self, device: Any, /, *, stream: Any = ...) -> Tensor: """This tensor, which is on the only device there is."""
    def to_sparse(self, sparse_dim: _int | None = ..., *, layout: Any = ..., blocksize: Any = ..., dense_dim: _int | None = ...) -> Any: """A sparse tensor of the elements that are not zero; the last dims stay dense if `sparse_dim` says so."""
    def to_sparse_bsc(self, blocksize: Any, dense_dim: _int | None = ...) -> Any: """A sparse matrix by columns of blocks of this size."""
    def to_sparse_bsr(self, blocksize: Any, dense_dim: _int | None = ...) -> Any: """A sparse matrix by rows of blocks of this size."""
    def to_sparse_coo(self, sparse_dim: _int | None = ..., *, layout: Any = ..., blocksize: Any = ..., dense_dim: _int | None = ...) -> Any: """A sparse tensor of the elements that are not zero; the last dims stay dense if `sparse_dim` says so."""
    def to_sparse_csc(self, dense_dim: _int | None = ...) -> Any: """A sparse matrix by columns."""
    def to_sparse_csr(self, dense_dim: _int | None = ...) -> Any: """A sparse matrix by rows."""
    def tolist(self) -> Any: """Nested lists of Python numbers."""
    def topk(self, k: _int, dim: _int = ..., largest: _bool = ..., sorted: _bool = ...) -> _ValuesIndices: """The k largest (or smallest) elements along a dim, in order, and their indices."""
    def trace(self) -> Tensor: """Sum of the diagonal of a matrix."""
    def transpose(self, dim0: Any = ..., dim1: Any = ..., axis0: Any = ..., axis1: Any = ...) -> Tensor: """Two dims exchanged (or, as in NumPy, all dims in the order of one tuple)."""
    def transpose_(self, dim0: _int, dim1: _int) -> Tensor: """Exchange two dims of this tensor."""
    def triangular_solve(self, A: Tensor, upper: _bool = ..., transpose: _bool = ..., unitriangular: _bool = ...) -> Any: """X with A X = input for triangular A."""
    def tril(self, diagonal: _int = ...) -> Tensor: """The part on and below a diagonal; the rest is zero."""
    def tril_(self, diagonal: _int = ...) -> Tensor: """`tril`, written over this tensor."""
    def triu(self, diagonal: _int = ...) -> Tensor: """The part on and above a diagonal; the rest is zero."""
    def triu_(self, diagonal: _int = ...) -> Tensor: """`triu`, written over this tensor."""
    def true_divide(self, other: Any) -> Tensor: """`input / other`."""
    def true_divide_(self, other: Any) -> Tensor: """`true_divide`, written over this tensor."""
    def trunc(self) -> Tensor: """Each element without its fractional part. Integers stay as they are."""
    def trunc_(self) -> Tensor: """`trunc`, written over this tensor."""
    def type(self, dtype: Any = ..., non_blocking: _bool = ...) -> Any: """The legacy name of the tensor's type, or the tensor in another type."""
    def type_as(self, other: Tensor) -> Tensor: """In the dtype of another tensor."""
    def unbind(self, dim: _int = ...) -> tuple[Tensor, ...]: """Views of all slices of a dim."""
    def unflatten(self, dim: _int, sizes: Sequence[_int]) -> Tensor: """Split one dim into several: (4, 6) becomes (4, 2, 3) for dim 1 and sizes (2, 3). One size may be -1."""
    def unfold(self, dimension: _int, size: _int, step: _int) -> Tensor: """A view of all windows of `size` elements along a dim, `step` apart, in a new last dim."""
    def uniform_(self, *args: Any, generator: Any = ..., **bounds: Any) -> Tensor: """Fill with uniform numbers in [from, to)."""
    @overload
    def unique(self, sorted: _bool = ..., return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor: ...
    @overload
    def unique(self, sorted: _bool = ..., return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any:
        """The distinct elements (or slices along a dim) in order, optionally with inverse indices and counts.

        `return_inverse` adds, for each element of the input, its place among the distinct ones; `return_counts` how often
        each occurs. The answer is then a tuple. They are sorted with `sorted=False`, too.
        """
    @overload
    def unique_consecutive(self, return_inverse: Literal[False] = ..., return_counts: Literal[False] = ..., dim: _int | None = ...) -> Tensor: ...
    @overload
    def unique_consecutive(self, return_inverse: _bool = ..., return_counts: _bool = ..., dim: _int | None = ...) -> Any: """The elements (or slices along a dim) with repeats that follow each other removed."""
    def unsafe_chunk(self, *args: Any, **kwargs: Any) -> Any: """A copy of what `chunk` gives."""
    def unsafe_split(self, *args: Any, **kwargs: Any) -> Any: """A copy of what `split` gives."""
    def unsafe_split_with_sizes(self, *args: Any, **kwargs: Any) -> Any: """A copy of what `split_with_sizes` gives."""
    def unsqueeze(self, dim: Any = ..., *, axis: Any = ...) -> Tensor: """With a new dim of size 1 at this place: (3,) becomes (1, 3) for dim 0, (3, 1) for dim 1. A view."""
    def unsqueeze_(self, dim: _int) -> Tensor: """Give this tensor a new dim of size 1."""
    def untyped_storage(self) -> Any: """The memory under this tensor, as bytes."""
    def values(self) -> Any: """The elements at the places in `indices`. Only sparse tensors have it."""
    def var(self, *args: Any, dim: Any = ..., unbiased: Any = ..., correction: Any = ..., keepdim: _bool = ...) -> Tensor: """Variance over dims; `correction` (1) is subtracted from the count."""
    def vdot(self, other: Tensor) -> Tensor: """Inner product of two vectors: the first is conjugated."""
    def view(self, *shape: Any, **named: Any) -> Tensor: """The same memory in another shape (or, given a dtype, the same bytes in another type)."""
    def view_as(self, other: Tensor) -> Tensor: """The same memory in the shape of another tensor."""
    def vsplit(self, indices_or_sections: Any = ..., *, indices: Any = ..., sections: Any = ...) -> tuple[Tensor, ...]: """`tensor_split` along dim 0."""
    def where(self, condition: Tensor, other: Any) -> Tensor: """This tensor where the condition holds, `other` elsewhere."""
    def xlogy(self, other: Any) -> Tensor: """`input * log(other)`, and 0 where input is 0."""
    def xlogy_(self, other: Any) -> Tensor: """`xlogy`, written over this tensor."""
    def xpu(self, device: Any = ..., non_blocking: _bool = ..., memory_format: Any = ...) -> Any: """There is no GPU: raises what torch's CPU build raises."""
    def zero_(self) -> Tensor: """Write zeros everywhere."""

class Anchor(Tensor):
    _owner: Any
    _hooks: Any
    def owner(self) -> Tensor | None: ...
    def owner_or_self(self) -> Tensor: ...

def anchor_of(leaf: Tensor) -> Anchor: ...
def leaf_hooks(leaf: Tensor) -> Any: ...
def plain(tensor: Any) -> Any: ...
def disabled_torch_function(func: Any, types: Any, args: Any = ..., kwargs: Any = ...) -> Any: ...

new_object: Callable[..., Any]

def wrap(array: Any, kind: Any = None) -> Any: ...

class TensorBase: ...

def fields(tensor: Any) -> dict[str, Any]: ...
