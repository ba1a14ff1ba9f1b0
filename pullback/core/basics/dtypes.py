"""Element types and the rules that combine them.

`dtype` objects carry torch's names and NumPy's types; `promote_types` and `result_type` are torch's promotion
rules (0-d tensors and Python numbers are weak). bfloat16 comes from the optional package `ml_dtypes`, imported
when somebody first asks for it. Nothing here knows about tensors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .on_demand import names_on_demand

if TYPE_CHECKING:
    from .types import DType, Operand

BOOL, INTEGER, FLOAT, COMPLEX = range(4)  # the categories of promotion, narrowest first


class dtype:
    """The type of a tensor's elements: `float32`, `int64`, `bool`, ..."""

    __slots__ = ("_name", "short_name", "type_name", "_category", "itemsize", "is_signed", "_numpy")

    def __init__(self, name: str, type_name: str, short_name: str, category: int, itemsize: int, signed: bool) -> None:
        self._name: str = name
        self.type_name: str = type_name  # 'Float' of torch.FloatTensor, as error messages spell it
        self.short_name: str = short_name  # 'float', the legacy alias some messages use
        self._category: int = category
        self.itemsize: int = itemsize
        self.is_signed: bool = signed
        if name not in _FROM_ML_DTYPES and name not in NAMED_ONLY:
            self._numpy: np.dtype = np.dtype(name)  # the NumPy type that holds these elements

    def __getattr__(self, name: str) -> Any:
        if name != "_numpy":
            raise AttributeError(f"'torch.dtype' object has no attribute {name!r}")
        self._numpy = _load_extension_dtype(self)  # asked for the first time
        return self._numpy

    @property
    def is_floating_point(self) -> bool:
        return self._category == FLOAT

    @property
    def is_complex(self) -> bool:
        return self._category == COMPLEX

    @property
    def abbr(self) -> str:
        """A name of a few letters: 'f32', 'i64', 'b8'."""
        if self._name[:1] == "q":
            return self._name
        letters = {"bool": "b8", "bfloat": "bf", "float": "f", "complex": "c", "uint": "u", "int": "i"}
        word = self._name.rstrip("0123456789") if "_" not in self._name else "float"
        return (letters[word] + self._name[len(word) :]).replace("_", "")

    def to_real(self) -> dtype:
        """The dtype of the parts of a complex one; a real dtype itself."""
        return _REAL_OF.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype whose parts have this dtype."""
        found = _COMPLEX_OF.get(self)
        if found is None:
            raise RuntimeError(f"Unknown Complex ScalarType for {self.type_name}")
        return found

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> tuple[Any, ...]:
        return _dtype_by_name, (self._name,)

    def __copy__(self) -> dtype:
        return self

    def __deepcopy__(self, memo: dict[int, object]) -> dtype:
        return self


_FROM_ML_DTYPES = frozenset({"bfloat16", "float8_e4m3fn", "float8_e5m2"})
NAMED_ONLY = {  # programs compare with them, no tensor has them: (name of the type, category, bytes, signed)
    "complex32": ("ComplexHalf", COMPLEX, 4, True),
    "qint8": ("QInt8", INTEGER, 1, True),
    "quint8": ("QUInt8", INTEGER, 1, False),
    "qint32": ("QInt32", INTEGER, 4, True),
    "quint4x2": ("QUInt4x2", INTEGER, 1, False),
    "quint2x4": ("QUInt2x4", INTEGER, 1, False),
    "float8_e4m3fnuz": ("Float8_e4m3fnuz", FLOAT, 1, True),
    "float8_e5m2fnuz": ("Float8_e5m2fnuz", FLOAT, 1, True),
    "float8_e8m0fnu": ("Float8_e8m0fnu", FLOAT, 1, False),
    "float4_e2m1fn_x2": ("Float4_e2m1fn_x2", FLOAT, 1, True),
}

bool_: dtype = dtype("bool", "Bool", "bool", BOOL, 1, False)
uint8: dtype = dtype("uint8", "Byte", "unsigned char", INTEGER, 1, False)
uint16: dtype = dtype("uint16", "UInt16", "uint16_t", INTEGER, 2, False)
uint32: dtype = dtype("uint32", "UInt32", "uint32_t", INTEGER, 4, False)
uint64: dtype = dtype("uint64", "UInt64", "uint64_t", INTEGER, 8, False)
int8: dtype = dtype("int8", "Char", "signed char", INTEGER, 1, True)
int16: dtype = dtype("int16", "Short", "short int", INTEGER, 2, True)
int32: dtype = dtype("int32", "Int", "int", INTEGER, 4, True)
int64: dtype = dtype("int64", "Long", "long int", INTEGER, 8, True)
float16: dtype = dtype("float16", "Half", "c10::Half", FLOAT, 2, True)
bfloat16: dtype = dtype("bfloat16", "BFloat16", "c10::BFloat16", FLOAT, 2, True)
float32: dtype = dtype("float32", "Float", "float", FLOAT, 4, True)
float64: dtype = dtype("float64", "Double", "double", FLOAT, 8, True)
complex64: dtype = dtype("complex64", "ComplexFloat", "c10::complex<float>", COMPLEX, 8, True)
complex128: dtype = dtype("complex128", "ComplexDouble", "c10::complex<double>", COMPLEX, 16, True)
float8_e4m3fn: dtype = dtype("float8_e4m3fn", "Float8_e4m3fn", "c10::Float8_e4m3fn", FLOAT, 1, True)
float8_e5m2: dtype = dtype("float8_e5m2", "Float8_e5m2", "c10::Float8_e5m2", FLOAT, 1, True)

ALL_DTYPES: tuple[dtype, ...] = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32, float64,
    complex64, complex128, float8_e4m3fn, float8_e5m2,
)  # fmt: skip

ALIASES: dict[str, dtype] = {
    "bool": bool_, "half": float16, "float": float32, "double": float64, "cfloat": complex64, "cdouble": complex128,
    "short": int16, "int": int32, "long": int64,
}  # fmt: skip

_BY_NAME = {d._name: d for d in ALL_DTYPES}
_BY_NUMPY: dict[np.dtype, dtype] = {
    d._numpy: d for d in ALL_DTYPES if d._name not in _FROM_ML_DTYPES and d._name not in NAMED_ONLY
}
_REAL_OF = {complex64: float32, complex128: float64}
_COMPLEX_OF = {
    float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128,
    complex64: complex64, complex128: complex128,
}  # fmt: skip


LARGEST_HALF = 65504.0  # of float16: a number within fits every floating point dtype
_LARGEST = {"float16": LARGEST_HALF, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}


def number_in(value: Operand, kind: DType) -> Operand:
    """A Python number as a NumPy scalar. What does not fit is an error, as in torch; negatives wrap in unsigned dtypes."""
    if isinstance(value, complex) and kind.kind not in "cb":
        if value.imag:
            raise RuntimeError(
                f"value cannot be converted to type {_BY_NUMPY[kind].short_name} without overflow: it is complex"
            )
        value = value.real
    if kind.kind in "iu":
        largest = (1 << 8 * kind.itemsize - (kind.kind == "i")) - 1
        smallest = -largest - 1 if kind.kind == "i" else -largest if isinstance(value, int) else 0
        if not smallest <= value <= largest:  # nan is not either
            raise RuntimeError(f"value cannot be converted to type {_BY_NUMPY[kind]._name}_t without overflow")
        value = int(value) & largest if kind.kind == "u" else int(value)
    elif abs(value) > LARGEST_HALF and kind.name in _LARGEST and _LARGEST[kind.name] < abs(value) < float("inf"):
        raise RuntimeError(f"value cannot be converted to type {from_numpy_dtype(kind).short_name} without overflow")
    return kind.type(value)


def kind_of(x: Operand) -> str:
    """NumPy's letter for the kind of elements, "c" for complex numbers: for rules, which run on arrays and tensors alike."""
    kind = x.dtype
    return (kind._numpy if type(kind) is dtype else kind).kind


def _dtype_by_name(name: str) -> dtype:
    return _BY_NAME[name] if name not in NAMED_ONLY else named_only(name)


def named_only(name: str) -> dtype:
    """A dtype that programs mention in tables and comparisons and that no array can have."""
    if name not in _BY_NAME:
        type_name, category, itemsize, signed = NAMED_ONLY[name]
        _BY_NAME[name] = dtype(name, type_name, name, category, itemsize, signed)
    return _BY_NAME[name]


def _mentioned(name: str) -> dtype | None:
    name = "complex32" if name == "chalf" else name
    return named_only(name) if name in NAMED_ONLY else None


names_on_demand(__name__, made=_mentioned)


def _load_extension_dtype(wanted: dtype) -> np.dtype:
    if wanted._name in NAMED_ONLY:
        advice = {COMPLEX: "torch.complex64", FLOAT: "torch.float8_e4m3fn, torch.float8_e5m2 or torch.bfloat16"}.get(
            wanted._category, "torch.int8, torch.float16 or torch.bfloat16"
        )
        raise RuntimeError(f"Pullback has no tensors of dtype {wanted!r}. Use {advice}.")
    try:
        import ml_dtypes
    except ImportError:
        raise RuntimeError(
            f"{wanted!r} needs the optional package ml_dtypes. Install it with: pip install 'pullback[bfloat16]'."
        ) from None
    numpy_dtype = np.dtype(getattr(ml_dtypes, wanted._name))
    _BY_NUMPY[numpy_dtype] = wanted
    return numpy_dtype


def from_numpy_dtype(numpy_dtype: np.dtype) -> dtype:
    """The dtype of an array's elements; TypeError when torch has no such type."""
    found = _BY_NUMPY.get(numpy_dtype)
    if found is not None:
        return found
    native = numpy_dtype.newbyteorder("=")
    if native in _BY_NUMPY:
        return _BY_NUMPY[native]
    by_name = _BY_NAME.get(numpy_dtype.name)
    if by_name is not None and by_name._numpy == numpy_dtype:
        return by_name
    raise TypeError(
        f"can't convert np.ndarray of type numpy.{numpy_dtype.type.__name__}. The only supported types are: float64, float32, "
        "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
    )


def as_dtype(value: object) -> dtype:
    """Accept a dtype, a Python type (`float`, `int`, `bool`, `complex`) or anything NumPy calls a dtype."""
    if type(value) is dtype:
        return value
    if value is float:  # Python's own precision, not the default dtype
        return float64
    if value is complex:
        return complex128
    if value is int:
        return int64
    if value is bool:
        return bool_
    if isinstance(value, (np.dtype, type)):
        return from_numpy_dtype(np.dtype(value))
    raise TypeError(f"dtype must be a torch.dtype such as torch.float32, not {type(value).__name__}")


# --- default dtype --------------------------------------------------------------------------------------------------

default = float32


def default_dtype() -> dtype:
    return default


def get_default_dtype() -> dtype:
    """The dtype that Python floats become: float32 unless changed by `set_default_dtype`."""
    return default


def set_default_dtype(d: dtype, /) -> None:
    """Make `d` (a floating point dtype) the type of tensors built from Python floats."""
    global default
    d = as_dtype(d)
    if not d.is_floating_point:
        raise TypeError(f"only floating-point types are supported as the default type, but got {d!r}")
    default = d
    _result_types.clear()


# --- promotion ------------------------------------------------------------------------------------------------------


def _promote_integers(a: dtype, b: dtype) -> dtype:
    if a.is_signed == b.is_signed:
        return a if a.itemsize >= b.itemsize else b
    signed = a if a.is_signed else b
    return signed if signed.itemsize > 1 else int16


_UNPROMOTED = frozenset({uint16, uint32, uint64, float8_e4m3fn, float8_e5m2})


def _check_promotable(a: dtype, b: dtype) -> None:
    """Float8 meets no other dtype, the wide unsigned integers meet only floating point."""
    tiny = not {a, b}.isdisjoint((float8_e4m3fn, float8_e5m2))
    if not tiny and FLOAT in (a._category, b._category):
        return
    family = "Float8 Types" if tiny else "uint16, uint32, uint64 types"
    raise RuntimeError(
        f"Promotion for {family} is not supported, attempted to promote {a.type_name} and {b.type_name}. Convert one of "
        "them first, for example with .to(torch.int64) or .to(torch.float32)."
    )


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that both can be converted to, by torch's table."""
    type1, type2 = as_dtype(type1), as_dtype(type2)
    if type1 is type2:
        return type1
    if type1 in _UNPROMOTED or type2 in _UNPROMOTED:
        _check_promotable(type1, type2)
    low, high = (type1, type2) if type1._category <= type2._category else (type2, type1)
    if low._category == high._category:
        if low._category == INTEGER:
            return _promote_integers(type1, type2)
        if {low, high} == {float16, bfloat16}:
            return float32
        return low if low.itemsize >= high.itemsize else high
    if high._category == COMPLEX and low._category == FLOAT:
        return promote_types(high.to_real(), low).to_complex()
    return high


def scalar_dtype(value: object) -> dtype:
    """The dtype a Python number has when it stands alone."""
    if isinstance(value, bool):
        return bool_
    if isinstance(value, int):
        return int64
    if isinstance(value, float):
        return default
    if isinstance(value, complex):
        return default.to_complex()
    raise TypeError(f"expected a number, got {type(value).__name__}")


def _combine(higher: dtype | None, lower: dtype | None) -> dtype | None:
    """Let a group of weaker operands change the category of the stronger group's type, never its width."""
    if higher is None:
        return lower
    if lower is None or lower._category <= higher._category and higher._category != BOOL:
        return higher
    if lower._category == COMPLEX:
        return higher.to_complex() if higher._category == FLOAT else lower
    return promote_types(higher, lower)


_result_types: dict[tuple[object, ...], dtype] = {}


def result_dtype(*operands: tuple[dtype, int]) -> dtype:
    """Torch's result type for operands given as (dtype, strength): 2 = has dimensions, 1 = 0-d, 0 = Python number."""
    cached = _result_types.get(operands)
    if cached is not None:
        return cached
    groups: list[dtype | None] = [None, None, None]
    for operand, strength in operands:
        present = groups[strength]
        groups[strength] = operand if present is None else promote_types(present, operand)
    result = _combine(groups[2], _combine(groups[1], groups[0]))
    assert result is not None
    _result_types[operands] = result
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Return True if torch's casting rules let a result of type `from_` be stored in an output of type `to`."""
    from_, to = as_dtype(from_), as_dtype(to)
    if from_._category == COMPLEX and to._category != COMPLEX:
        return False
    if from_._category == FLOAT and to._category < FLOAT:
        return False
    return not (from_._category == INTEGER and to._category == BOOL)


# --- limits ---------------------------------------------------------------------------------------------------------


class _Limits:
    """The base class of `finfo` and `iinfo`: two of the same dtype are equal."""

    dtype: str

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.dtype == self.dtype

    __hash__: Any = None


class finfo(_Limits):
    """Machine limits of a floating point dtype."""

    def __init__(self, type: dtype | None = None) -> None:
        d = default if type is None else as_dtype(type)
        if d._category < FLOAT:
            raise TypeError(f"torch.finfo() requires a floating point input type. Use torch.iinfo to handle {d!r}")
        real = d.to_real()
        numbers = np.finfo(real._numpy) if real not in (bfloat16, float8_e4m3fn, float8_e5m2) else _ml_finfo(real)
        self.bits: int = real.itemsize * 8
        self.eps: float = float(numbers.eps)
        self.max: float = float(numbers.max)
        self.min: float = float(numbers.min)
        self.tiny: float = float(numbers.tiny)
        self.smallest_normal: float = self.tiny
        self.resolution: float = float(f"1e-{numbers.precision}")
        self.dtype: str = real._name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


def _ml_finfo(real: dtype) -> Any:  # ml_dtypes.finfo, an optional type
    import ml_dtypes

    finfo: Any = ml_dtypes.finfo
    return finfo(real._numpy)


class iinfo(_Limits):
    """Limits of an integer dtype."""

    def __init__(self, type: dtype) -> None:
        d = as_dtype(type)
        if d._category > INTEGER:
            raise TypeError(f"torch.iinfo() requires an integer input type. Use torch.finfo to handle {d!r}")
        if d is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        limits = np.iinfo(d._numpy)
        self.bits: int = limits.bits
        self.min: int = int(limits.min)
        self.max: int = int(limits.max)
        self.dtype: str = d._name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
