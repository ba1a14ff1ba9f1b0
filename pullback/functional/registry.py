"""Where torch-level functions are announced: as names of the package, as Tensor methods, as in-place methods.

`@public()` marks a function of a family module; `methods.py` and the package's `__init__` read the tables.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import CellType, FunctionType
from typing import Any, TypeVar

import numpy as np

from ..arrays.batched import NotBatchable
from ..autograd.autocast import around_autocast
from ..autograd.grad_mode import no_grad
from ..autograd.mode import current_mode
from ..autograd.writes import bump, check_no_overlap, check_writable
from ..dtypes import can_cast
from ..notices import warn_user
from ..storage import storage_of
from ..tensor import Tensor
from . import names
from .refusals import blame_argument, suggest

F = TypeVar("F", bound=Callable[..., Any])


class Table(dict[str, Any]):
    """Functions by name. One that belongs to a module that is not loaded yet is loaded when it is looked up."""

    def __init__(self, names_in: dict[str, str]) -> None:
        super().__init__()
        self.homes: dict[str, str] = {name: home for home, names in names_in.items() for name in names.split()}

    def __missing__(self, name: str) -> Callable[..., Any]:
        load(self.homes[name])
        if name not in self:
            raise KeyError(f"{name} is not in functional.{self.homes[name]}: run python -m pullback.functional.late")
        return dict.__getitem__(self, name)


class Functions(Table):
    """Functions of the package, each under its own name."""

    def __setitem__(self, name: str, function: Any) -> None:
        """Announce a function; one that has another name already becomes an object of its own under this one."""
        same = type(function) is not FunctionType or function.__name__ == name
        super().__setitem__(name, function if same else under_name(function, name))

    def update(self, functions: dict[str, Any]) -> None:  # type: ignore[override]
        """Announce several."""
        for name, function in functions.items():
            self[name] = function

    def find(self, name: str) -> Callable[..., Any] | None:
        """The function of this name, None if there is none."""
        return self[name] if name in self or name in self.homes else None


def under_name(function: Any, name: str, place: str = "") -> FunctionType:
    """The same function as another object, with another name: who implements `__torch_function__` tells aliases apart.

    It is pickled as the name `place` of its module.
    """
    own = CellType()
    closure = tuple(own if cell.cell_contents is function else cell for cell in function.__closure__ or ())
    twin = FunctionType(function.__code__, function.__globals__, name, function.__defaults__, closure)
    own.cell_contents = twin  # it calls itself again once a foreign object has been found among its arguments
    twin.__kwdefaults__, twin.__doc__ = function.__kwdefaults__, function.__doc__
    twin.__annotations__ = function.__annotations__
    twin.__module__, twin.__qualname__ = function.__module__, place or name
    twin.__dict__.update(function.__dict__)
    return twin


def load(module: str) -> None:
    """Import one family and give Tensor its methods."""
    importlib.import_module(f"{__package__}.{module}")
    for attach in on_load:
        attach()


on_load: list[Callable[[], None]] = []  # called after a family was imported late

FUNCTIONS = Functions(names.FUNCTIONS)  # torch.name
METHODS = Table(names.METHODS)  # Tensor.name
IN_PLACE = Table(names.IN_PLACE)  # Tensor.name_, given as the out-of-place function

# Functions whose `out=` must have the result's dtype; others take any dtype that the result can be cast to.
SAME_DTYPE_OUT: frozenset[str] = frozenset(
    """abs addbmm addmm addmv alias_copy argmax argmin as_strided_copy baddbmm bmm ceil conj_physical cross cummax cummin diag
    diagonal_copy dot expand_copy floor frac gather heaviside index_select inverse isin isneginf isposinf kthvalue lu_solve
    lu_unpack masked_select matmul max median min mm mode multinomial mv nan_to_num nanmedian nanquantile narrow_copy neg ormqr
    permute_copy qr quantile round scatter scatter_add sgn sign signbit sort split_with_sizes_copy svd take topk triangular_solve
    tril triu trunc vdot view_copy where index_add index_copy softmax frexp slice_scatter hash_tensor norm amax amin clamp
    clamp_min clamp_max logcumsumexp msort slogdet histc inner tensordot searchsorted bucketize take_along_dim scatter_reduce
    renorm matrix_power det inv svdvals eigh eigvalsh cholesky matrix_norm vector_norm inv_ex cholesky_ex lu_factor ldl_factor
    solve multi_dot chain_matmul solve_triangular vecdot linear avg_pool2d avg_pool3d gelu softplus softshrink hardshrink
    log_sigmoid log_softmax""".split()
)

_JOINING = frozenset("cat stack hstack vstack row_stack dstack column_stack concat".split())

# NumPy's spellings, which torch accepts as well.
_RENAMED = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}
_as_they_are = frozenset((*_RENAMED, "out")).isdisjoint  # keyword arguments that can be handed on


def public(
    *names: str,
    function: bool = True,
    method: bool = True,
    in_place: bool = False,
    out: bool = False,
    wrap: bool = True,
) -> Callable[[F], F]:
    """Announce a function under its own name and `names`.

    `in_place` adds the method with a trailing underscore; `out` lets callers pass `out=` a tensor for the result.
    """

    def announce(f: F) -> F:
        own = f.__name__
        exposed: Callable = around_autocast(own, f)
        if out or wrap:
            exposed = with_numpy_names(exposed, takes_out=out)
        if function and exposed is not f:
            exposed.__module__ = "pullback"  # where it is found by its name: pickles ask
        for name in (own.rstrip("_") if own.endswith("_") and not own.endswith("__") else own, *names):
            if function:
                FUNCTIONS[name] = exposed
            if method:
                METHODS[name] = exposed
            if in_place:
                IN_PLACE[name + "_"] = f
        return f

    return announce


def with_numpy_names(f: Callable[..., Any], takes_out: bool = False) -> Callable[..., Any]:
    """What programs call: accepts `axis=` for `dim=`, `keepdims=` for `keepdim=`, and so on."""

    @functools.wraps(f)
    def function(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not _as_they_are(kwargs):
            kwargs = renamed(f, kwargs)
            if takes_out and (out := kwargs.pop("out", None)) is not None:
                return store(f.__name__, f, args, kwargs, out)
        try:
            return f(*args, **kwargs)
        except NotBatchable as error:
            return looped(f, args, kwargs, error)
        except (TypeError, AttributeError) as error:
            if not claimed(args, kwargs):
                blame_argument(error, f)
                if kwargs:
                    suggest(error, f, kwargs)
                raise
            return function(*args, **kwargs)
        except OverflowError as error:
            raise ValueError(
                f"Overflow when unpacking long long: {f.__name__}() was given a number that is too large ({error})"
            ) from None

    return function


def with_out(f: Callable[..., Any]) -> Callable[..., Any]:
    """The same, with `out=` too: the result is written there, with torch's checks."""
    return with_numpy_names(f, takes_out=True)


def looped(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any], error: NotBatchable) -> Any:
    """Inside vmap, a function that asks for the values of a batch runs example by example."""
    from ..arrays.fallback import call_example_by_example

    return call_example_by_example(f, args, kwargs, error)


def claimed(args: tuple[Any, ...], kwargs: dict[Any, Any]) -> bool:
    """Whether a function failed because of an object with a `__torch_function__`, which is asked from now on."""
    from .. import torch_function

    return torch_function.claimed(args, kwargs)


def renamed(f: Callable[..., Any], kwargs: dict[Any, Any]) -> dict[Any, Any]:
    """Keyword arguments under torch's names where NumPy's were given."""
    f = getattr(f, "__wrapped__", f)
    names = f.__code__.co_varnames[: f.__code__.co_argcount + f.__code__.co_kwonlyargcount]
    return {
        _RENAMED[key] if key in _RENAMED and key not in names and _RENAMED[key] in names else key: value
        for key, value in kwargs.items()
    }


def store(name: str, f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[Any, Any], out: Any) -> Any:
    """Compute without recording and write the result(s) into `out`."""
    targets = out if isinstance(out, (tuple, list)) else (out,)
    refuse_gradients(name, *_flat(args), *kwargs.values(), *targets)
    if (
        kwargs.get("dtype") is not None and isinstance(out, Tensor) and out.dtype is not kwargs["dtype"]
        and not ("norm" in name and kwargs["dtype"].is_complex)  # which is real all the same
    ):  # fmt: skip
        raise _other_dtype(kwargs["dtype"], out.dtype)
    with no_grad():
        result = f(*args, **kwargs)
    results = result if isinstance(result, tuple) else (result,)
    for target, value in zip(targets, results, strict=True):
        write_out(name, target, value)
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*targets)
    return out


def refuse_gradients(name: str, *values: Any) -> None:
    """Refuse `out=` where a derivative is wanted of one of the arguments, or of what is written to."""
    mode = current_mode()
    involved = [value for value in values if isinstance(value, Tensor)]
    if mode.dual_level and any(value._tangent is not None for value in involved):
        raise RuntimeError(
            f"Trying to use forward AD with {name.rstrip('_')}_out that does not support it because it is an out= "
            "function"
        )
    if mode.grad and any(value.requires_grad for value in involved):
        raise RuntimeError(
            f"{name.rstrip('_')}(): functions with out=... arguments don't support automatic differentiation, but one "
            "of the arguments requires grad."
        )


def _flat(args: tuple) -> list:
    values: list[Any] = []
    for value in args:
        values.extend(value) if isinstance(value, (tuple, list)) else values.append(value)
    return values


def _other_dtype(wanted: Any, given: Any) -> RuntimeError:
    names = {"Long": "long int", "ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>"}
    expected, found = (names.get(dtype.type_name, dtype.type_name.lower()) for dtype in (wanted, given))
    return RuntimeError(f"Expected out tensor to have dtype {expected}, but got {found} instead")


def write_out(name: str, target: Any, value: Tensor) -> None:
    """Write a result into the tensor passed as `out=`, with torch's checks."""
    if not isinstance(target, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}")
    _check_out_dtype(name, target, value)
    if target.is_sparse or value.is_sparse:
        from ..sparse.writing import write_sparse

        return write_sparse(name, target, value)
    if target._array.shape != value._array.shape:
        if target._array.size != 0:
            _warn_of_resize(target, value)
        target._array = np.empty(value._array.shape, target._array.dtype)
    else:
        check_no_overlap(target._array)
    mode = current_mode()
    if mode.saved_hooks:
        from ..autograd.mutation import keep_saved

        keep_saved(target)
    if target._inference and not mode.inference:
        check_writable(target, mode, False)
    bump(storage_of(target))
    np.copyto(target.memory(), value._array, casting="unsafe")


def _check_out_dtype(name: str, target: Tensor, value: Tensor) -> None:
    if value.dtype is not target.dtype and name.rstrip("_") in SAME_DTYPE_OUT:
        if name.startswith("is"):
            raise RuntimeError(f"{name} does not support non-boolean outputs.")
        if not (name == "abs" and target.dtype.is_complex):
            raise _other_dtype(value.dtype, target.dtype)
    if name in ("all", "any") and target.dtype._name not in ("bool", "uint8"):
        raise RuntimeError(f"{name} only supports bool tensor for result, got: {target.dtype.type_name}")
    if not can_cast(value.dtype, target.dtype):
        if name in _JOINING:
            raise TypeError(
                f"torch.cat(): input types can't be cast to the desired output type {target.dtype.type_name}"
            )
        raise RuntimeError(
            f"result type {value.dtype.type_name} can't be cast to the desired output type {target.dtype.type_name}"
        )


def _warn_of_resize(target: Tensor, value: Tensor) -> None:
    warn_user(
        f"An output with one or more elements was resized since it had shape {list(target.shape)}, which does not match "
        f"the required output shape {list(value.shape)}. This behavior is deprecated, and in a future PyTorch release "
        "outputs will not be resized unless they have zero elements. You can explicitly reuse an out tensor t by "
        "resizing it, inplace, to zero elements with t.resize_(0).",
    )


def alias(function: Callable[..., Any], *names: str, method: bool = True, in_place: bool = False) -> None:
    """Further names for a function that is already announced."""
    for name in names:
        FUNCTIONS[name] = function
        if method:
            METHODS[name] = function
        if in_place:
            IN_PLACE[name + "_"] = function
