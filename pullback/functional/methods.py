"""The parts of Tensor that need operations: operators, methods, indexing, conversion to Python, printing, pickling.

Importing this module completes the class. Functions announced in `functional/` become methods as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numpy as np

from ..core.basics.dtypes import ALL_DTYPES, default_dtype, from_numpy_dtype, get_default_dtype
from ..core.basics.layout import channels_last, contiguous_format, preserve_format
from ..core.basics.notices import warn_history_lost, warn_user
from ..core.basics.size import SizeAttribute, element_count
from ..core.tape import apply, wrap
from ..core.tensor import Tensor, fields
from ..core.views import is_broken
from ..kernels.order import lies_in
from ..ops import casting, pointwise
from ..ops.striding import address, copied_memory, owner_of, plain_strides
from ..shell import interop
from ..transforms.arrays.without_elements import is_form
from . import (
    arithmetic,
    comparison,
    copying,
    division,
    elementary,
    gate,
    indexing,
    matmul,
    shape,
    tensor_facts,
    writing,
)
from .gate import Facts
from .operands import wrap_dim
from .registry import IN_PLACE, METHODS, load, on_load


class _LateMethod:
    """Stands for a method whose family is not loaded yet. Who looks at it gets the method: `help` has something to say."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, tensor: Tensor | None, kind: type) -> Any:
        load(METHODS.homes.get(self.name) or IN_PLACE.homes[self.name])
        method = Tensor.__dict__[self.name]
        return method if tensor is None else method.__get__(tensor, kind)


def attach() -> None:
    """Give Tensor all it has that needs operations: operators, protocols, and the methods announced so far."""
    if attach not in on_load:
        for table in (*[family.OPERATORS for family in _FAMILIES], PROTOCOL, interop.PROTOCOLS):
            set_members({name: _as_member(member, name) for name, member in table.items()})
        set_members(tensor_facts.MEMBERS)
        set_members({name: vars(Tensor)[other] for name, other in _SAME.items()})
        on_load.append(attach)
    own = Tensor.__dict__
    set_members({name: _LateMethod(name) for name in (*METHODS.homes, *IN_PLACE.homes) if name not in own})
    set_members({
        name: gate.with_own_name(function, name, "torch.Tensor", f"Tensor.{name}")
        for name, function in METHODS.items() if _is_missing(own.get(name))
    })  # fmt: skip
    set_members({
        name: gate.announce(Facts(name, function, "torch.Tensor", made_by=gate.gated_in_place))
        for name, function in IN_PLACE.items() if _is_missing(own.get(name))
    })  # fmt: skip


_FAMILIES = (arithmetic, writing, comparison, matmul, division, elementary)
_CALLED = {"__pow__": "pow", "__ipow__": "pow_", "__rtruediv__": "__rdiv__"}  # torch's names of operators
# One method under two names.
_SAME = {"__str__": "__repr__", "__rdiv__": "__rtruediv__", "nelement": "numel", "ndimension": "dim"}


def _is_missing(member: Any) -> bool:
    return member is None or type(member) is _LateMethod


def _as_member(member: Any, name: str) -> Any:
    """An operator or attribute that is Tensor's own: what asks `__torch_function__` is it alone, and not what it is made of."""
    if isinstance(member, property):
        own: Any = [function and gate.copied(function, name) for function in (member.fget, member.fset, member.fdel)]
        kind: Any = type(member)
        return kind(*own, member.__doc__)
    if type(member) is not FunctionType:
        return member
    method = gate.copied(member, _CALLED.get(name, name), f"Tensor.{name}")
    method.__module__ = "pullback"
    return method


def set_members(members: Mapping[str, Any]) -> None:
    """Write members of the class Tensor. This is the only place that does."""
    for name, member in members.items():
        setattr(Tensor, name, member)


@contextmanager
def replace_members(members: Mapping[str, Any]) -> Iterator[None]:
    """Within this context, Tensor has these members in place of its own."""
    before = {name: vars(Tensor)[name] for name in members}
    set_members(members)
    try:
        yield
    finally:
        set_members(before)


# --- sizes ---


def numel(self: Tensor) -> int:
    """The number of elements."""
    return int(self._array.size)


def stride(self: Tensor, dim: int | None = None) -> Any:
    """How many elements apart neighbours lie in memory, for each dim."""
    array = self.memory()
    strides = tuple(step // array.itemsize for step in array.strides)
    is_open = 1 in array.shape if array.size else not any(strides)  # what NumPy need not know of memory in order
    if is_open and array.flags.c_contiguous:
        strides = plain_strides(array.shape)
    return strides if dim is None else strides[wrap_dim(dim, len(strides), scalar_ok=False)]


def storage_offset(self: Tensor) -> int:
    """Where in its memory the first element lies."""
    array = self.memory()
    return (address(array) - address(owner_of(array))) // array.itemsize


def is_contiguous(self: Tensor, memory_format: Any = None) -> bool:
    """True if the elements lie in memory in order: that of the dims, or the one of a memory format."""
    array = self._array
    if memory_format is not None and memory_format is not contiguous_format and type(array) is np.ndarray:
        if memory_format is preserve_format:
            raise RuntimeError("preserve memory format is unsupported by the is_contiguous operator")
        fits = array.ndim == (4 if memory_format is channels_last else 5)
        return fits and lies_in(array, (0, *range(2, array.ndim), 1))
    return isinstance(array, np.generic) or bool(array.flags.c_contiguous)


# --- Python numbers ---


def item(self: Tensor) -> Any:
    """The one element as a Python number."""
    if self._array.size != 1:
        raise RuntimeError(
            f"a Tensor with {self._array.size} elements cannot be converted to Scalar. x.tolist() gives all of them; reduce "
            "it first, as in x.mean(), for one."
        )
    array = self._array
    return array.item() if array.dtype.kind != "V" else float(array.astype(np.float32).item())


def tolist(self: Tensor) -> Any:
    """Nested lists of Python numbers."""
    array = self._array
    return array.tolist() if array.dtype.kind != "V" else array.astype(np.float32).tolist()


def astype(self: Tensor, dtype: Any, copy: bool = True) -> np.ndarray:
    """The elements as an array of a NumPy dtype: programs ask it of what NumPy's functions return, here a tensor."""
    return self.numpy().astype(dtype, copy=copy)


def _scalar(self: Tensor, kind: Callable) -> Any:
    if self._array.size != 1:
        raise ValueError("only one element tensors can be converted to Python scalars")
    if self._requires_grad and kind is not int:
        warn_history_lost()
    number = item(self)
    if type(number) is complex and kind is not complex:
        if number.imag:
            name = "double" if kind is float else "int64_t"
            raise RuntimeError(
                f"value cannot be converted to type {name} without overflow: its imaginary part is not zero"
            )
        number = number.real
    return kind(number)


# --- memory of several processes ---


def is_shared(self: Tensor) -> bool:
    """True if the elements lie in memory that forked processes share."""
    from ..multiprocessing import sharing

    return sharing.is_shared(self)


def share_memory_(self: Tensor) -> Tensor:
    """Move the elements to memory that processes forked from now on share; the tensor itself."""
    from ..multiprocessing import sharing

    return sharing.share_memory_(self)


def to_bool(self: Tensor) -> bool:
    count = self._array.size
    if count != 1:
        which = "no values" if count == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {which} is ambiguous. Ask for x.any() or x.all().")
    return bool(self._array)


def to_index(self: Tensor) -> int:
    if self._array.size != 1 or self._array.dtype.kind not in "iub":
        raise TypeError("only integer tensors of a single element can be converted to an index")
    return int(self._array.item())


def reverse(self: Tensor) -> Tensor:
    """`reversed(x)`: the last slice first."""
    return self.flip(0) if self._array.ndim else self


def length(self: Tensor) -> int:
    if not self._array.ndim:
        raise TypeError("len() of a 0-d tensor")
    return self._array.shape[0]


def iterate(self: Tensor) -> Iterator[Tensor]:
    if not self._array.ndim:
        raise TypeError("iteration over a 0-d tensor")
    return iter(shape.unbind(self, 0))


def contains(self: Tensor, element: Any) -> bool:
    if isinstance(element, (Tensor, int, float, complex, np.number)):
        return bool(np.any((self == element)._array))
    raise RuntimeError(f"Tensor.__contains__ only supports Tensor or scalar, but you passed in a {type(element)}.")


# --- text, copies ---


def text(self: Tensor, *, tensor_contents: str | None = None) -> str:
    from ..core.basics.printing import tensor_text

    broken = self._view is not None and self.requires_grad and is_broken(self)
    node = None if broken or self.is_leaf else self._node
    tangent = None
    if self._tangent:
        tangent = f"{self._tangent[max(self._tangent)]}"
    array = self._array
    if not isinstance(array, (np.ndarray, np.generic)):
        if is_form(array):
            return _wrapper_text(self, tensor_contents)
        return _batch_text(array) if hasattr(array, "batched") else repr(array)
    described = tensor_text(
        np.asarray(array), self.dtype._name, requires_grad=self._requires_grad and node is None,
        grad_fn_name="Invalid" if broken else None if node is None else node.name_in_text().split("::")[-1],
        tangent=tangent,
        default_dtype_name=get_default_dtype()._name,
        prefix=f"{_name_in_text(self)}(",
    )  # fmt: skip
    return f"Parameter({described})" if hasattr(self, "_is_param") else described


def _wrapper_text(self: Tensor, contents: str | None) -> str:
    """A tensor without elements of its own; its class may say what it contains."""
    ending = "" if self.dtype is get_default_dtype() else f", dtype={self.dtype}"
    if not self.is_leaf:
        ending += f", grad_fn=<{self._node.name_in_text()}>"
    elif self._requires_grad:
        ending += ", requires_grad=True"
    text = f"{type(self).__name__}({'...' if contents is None else contents}{ending})"
    return f"Parameter({text})" if hasattr(self, "_is_param") else text


def _batch_text(array: Any) -> str:
    """A tensor inside vmap: all examples, which lie along dim 0, or the value that all of them share."""
    from textwrap import indent

    inside = text(array.array if isinstance(array.array, Tensor) else wrap(array.array))
    if not array.batched:
        return inside
    return f"BatchedTensor(lvl={array.level}, bdim=0, value=\n{indent(inside, '    ')}\n)"


def _name_in_text(self: Tensor) -> str:
    name = type(self).__name__
    return "tensor" if name in ("Tensor", "Parameter", "Anchor") else name


def formatted(self: Tensor, specification: str) -> str:
    if self._array.ndim == 0 and type(self) is Tensor and not self._tangent:
        return item(self).__format__(specification)
    try:
        return object.__format__(self, specification)
    except TypeError as error:
        error.add_note("A number has a format, a tensor has not: x.item() of one element, x.mean().item() of several.")
        raise


def deepcopy(self: Tensor, memo: dict[Any, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]
    if not self.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  "
            "If you were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    import copy

    if is_form(self._array):
        from ..shell.dispatch_subclasses import copy_of_wrapper

        return copy_of_wrapper(self, memo)
    result = object.__new__(type(self))
    result._array = copied_memory(self._array, memo)
    result._requires_grad = self._requires_grad
    memo[id(self)] = result
    if self._grad is not None:
        result._grad = deepcopy(self._grad, memo)
    result.__dict__ = copy.deepcopy(self.__dict__, memo)
    return result


def reduce_(self: Tensor, protocol: int) -> tuple[Any, ...]:
    if is_form(self._array):
        from ..shell.dispatch_subclasses import reduce_wrapper

        return reduce_wrapper(self)
    return rebuild, (type(self), np.array(self._array), self.requires_grad, self.__dict__.copy())


def rebuild(cls: type[Any], array: np.ndarray, requires_grad: bool, attributes: dict[Any, Any] | None = None) -> Tensor:
    """A pickled tensor again."""
    result = object.__new__(cls)
    # Operations know dtypes by NumPy's own objects for them, and pickles make new ones.
    result._array = array.view(from_numpy_dtype(array.dtype)._numpy)
    result._requires_grad = requires_grad
    if attributes:
        result.__dict__.update(attributes)
    return result


# --- complex parts ---


def real(self: Tensor) -> Tensor:
    """The real part: a view of complex tensors, real ones as they are."""
    return apply(casting.real, (self,)) if self._array.dtype.kind == "c" else self


def imag(self: Tensor) -> Tensor:
    """The imaginary part of a complex tensor, as a view."""
    if self._array.dtype.kind != "c":
        raise RuntimeError(f"imag is not implemented for tensors with non-complex dtypes. Got dtype {self.dtype!r}.")
    return apply(casting.imag, (self,))


def transposed(self: Tensor) -> Tensor:
    """All dims reversed."""
    ndim = self._array.ndim
    if ndim not in (0, 2):
        warn_user(
            "The use of `x.T` on tensors of dimension other than 2 to reverse their shape is deprecated and it will throw an "
            "error in a future release. Consider `x.mT` to transpose batches of matrices or `x.permute(*torch.arange(x.ndim - "
            "1, -1, -1))` to reverse the dimensions of a tensor.",
        )
    return shape.permuted(shape.ops.permute, self, (1, 0) if ndim == 2 else tuple(range(ndim - 1, -1, -1)))


def matrix_transposed(self: Tensor) -> Tensor:
    """The last two dims exchanged."""
    return _matrices_transposed(self, "mT")


def _matrices_transposed(self: Tensor, name: str) -> Tensor:
    ndim = self._array.ndim
    if ndim == 1:
        raise RuntimeError(f"tensor.{name} is only supported on matrices or batches of matrices. Got 1-D tensor.")
    if ndim == 0:
        warn_user(f"Tensor.{name} is deprecated on 0-D tensors. It is the tensor itself.")
        return self
    return shape.transpose(self, -2, -1)


def adjoint(self: Tensor) -> Tensor:
    """The conjugate transpose of a matrix (or of a batch of them)."""
    result = _matrices_transposed(self, "mH")
    return apply(casting.conj, (result,)) if self._array.dtype.kind == "c" else result


def hermitian(self: Tensor) -> Tensor:
    """The conjugate transpose of one matrix."""
    ndim = self._array.ndim
    if ndim not in (0, 2):
        batches = ". For batches of matrices, consider using tensor.mH" if ndim > 2 else "."
        raise RuntimeError(f"tensor.H is only supported on matrices (2-D tensors). Got {ndim}-D tensor{batches}")
    return adjoint(self)


def type_(self: Tensor, dtype: Any = None, non_blocking: bool = False) -> Any:
    """The legacy name of the tensor's type, or the tensor in another type."""
    from ..core.basics.dtypes import dtype as dtype_type

    if dtype is None:
        return f"torch.{self.dtype.type_name}Tensor"
    if isinstance(dtype, dtype_type):
        return copying.to_dtype(self, dtype)
    if dtype is Tensor or dtype == "torch.Tensor":
        return copying.to_dtype(self, default_dtype())
    name = dtype if isinstance(dtype, str) else getattr(dtype, "__name__", "")
    for known in ALL_DTYPES:
        if name.split(".")[-1] == f"{known.type_name}Tensor":
            return copying.to_dtype(self, known)
    raise ValueError(f"invalid type: {dtype!r}")


_OTHER_PLACES = "is_cuda is_mps is_xpu is_mtia is_ipu is_xla is_vulkan is_maia is_meta is_mkldnn"
_OTHER_KINDS = "is_sparse is_sparse_csr is_quantized is_nested"
PROTOCOL: dict[str, Any] = {
    "size": SizeAttribute(element_count), "numel": numel, "stride": stride, "storage_offset": storage_offset,
    "is_contiguous": is_contiguous, "item": item, "tolist": tolist, "astype": astype, "type": type_,
    "dim": lambda self: self._array.ndim,
    "element_size": lambda self: self._array.dtype.itemsize,
    "data_ptr": lambda self: address(self.memory()) if self._array.size else 0,
    "const_data_ptr": lambda self: self.data_ptr(),
    "itemsize": property(lambda self: self._array.dtype.itemsize),
    "nbytes": property(lambda self: self._array.nbytes),
    "is_floating_point": lambda self: self._array.dtype.kind in "fV",
    "is_complex": lambda self: self._array.dtype.kind == "c",
    "is_signed": lambda self: self._array.dtype.kind not in "bu",
    "is_conj": lambda self: False, "is_neg": lambda self: False,
    "is_cpu": property(lambda self: True),
    **dict.fromkeys(_OTHER_PLACES.split(), property(lambda self: False)),
    **dict.fromkeys(_OTHER_KINDS.split(), property(lambda self: False)),
    "dense_dim": lambda self: self._array.ndim, "sparse_dim": lambda self: 0,
    "get_device": lambda self: -1, "is_pinned": lambda self, device=None: False, "is_shared": is_shared,
    "pin_memory": lambda self, device=None: self, "share_memory_": share_memory_,
    "cpu": lambda self, memory_format=None: self,
    "T": property(transposed), "mT": property(matrix_transposed), "mH": property(adjoint), "H": property(hermitian),
    "real": property(real, lambda self, value: set_part(real(self), value)),
    "imag": property(imag, lambda self, value: set_part(imag(self), value)),
    "__getitem__": indexing.getitem, "__setitem__": indexing.setitem, "__delitem__": indexing.delitem,
    "__len__": length, "__iter__": iterate,
    "__reversed__": reverse, "__contains__": contains, "__bool__": to_bool, "__index__": to_index,
    "__float__": lambda self: _scalar(self, float), "__int__": lambda self: _scalar(self, int),
    "__complex__": lambda self: _scalar(self, complex),
    "__repr__": text, "__format__": formatted, "__deepcopy__": deepcopy, "__reduce_ex__": reduce_,
    "__copy__": lambda self: self if type(self) is Tensor and self._node is not None else _shallow(self),
    "_cdata": property(lambda self: id(fields(self))),
}  # fmt: skip
# What those of them are that are too short for a docstring.
_SENTENCES = {
    "dim": "The number of dims.", "element_size itemsize": "The size of one element, in bytes.",
    "nbytes": "The size of all elements, in bytes.",
    "data_ptr const_data_ptr": "The address of the first element, 0 if there is none.",
    "is_floating_point": "True if the elements are floats.", "is_complex": "True if the elements are complex numbers.",
    "is_signed": "True if the dtype has negative numbers.", "is_conj": "False: conjugation is done at once.",
    "is_neg": "False: negation is done at once.", "is_cpu": "True: every tensor lives in main memory.",
    _OTHER_PLACES: "False: every tensor lives in main memory.", _OTHER_KINDS: "False: every tensor is a plain dense one.",
    "dense_dim": "The number of dims, all of which are dense.", "sparse_dim": "0: no dim is sparse.",
    "get_device": "-1: main memory has no number.", "is_pinned": "False: there is no pinned memory.",
    "pin_memory cpu": "The tensor itself.",
    "_cdata": "A number for what the tensor has, which `swap_tensors` gives to another.",
}  # fmt: skip
for _names, _sentence in _SENTENCES.items():
    for _name in _names.split():
        PROTOCOL[_name].__doc__ = _sentence


def _shallow(self: Tensor) -> Tensor:
    result = object.__new__(type(self))
    fields(result).update({name: value for name, value in fields(self).items() if name != "_anchor"})
    return result


def alias_of(x: Tensor) -> Tensor:
    """A view of the whole tensor."""
    return apply(pointwise.identity, (x,))


def set_part(part: Tensor, value: Any) -> None:
    """`x.real = value`: write over the real (or imaginary) numbers of a tensor."""
    indexing.setitem(part, ..., value.real if isinstance(value, Tensor) and value.is_complex() else value)
