"""Groups of dtypes by kind, as test files ask for them."""

from __future__ import annotations

from typing import Any


def _named(names: str) -> tuple[Any, ...]:
    from ...core.basics import dtypes

    return tuple(getattr(dtypes, name) for name in names.split())


_FLOATING, _COMPLEX = "float32 float64", "complex64 complex128"
_INTEGRAL = "uint8 int8 int16 int32 int64"


def floating_types() -> tuple[Any, ...]:
    return _named(_FLOATING)


def floating_types_and(*dtypes: Any) -> tuple[Any, ...]:
    return floating_types() + dtypes


def floating_types_and_half() -> tuple[Any, ...]:
    return _named(_FLOATING + " float16")


def complex_types() -> tuple[Any, ...]:
    return _named(_COMPLEX)


def complex_types_and(*dtypes: Any) -> tuple[Any, ...]:
    return complex_types() + dtypes


def floating_and_complex_types() -> tuple[Any, ...]:
    return floating_types() + complex_types()


def floating_and_complex_types_and(*dtypes: Any) -> tuple[Any, ...]:
    return floating_and_complex_types() + dtypes


def integral_types() -> tuple[Any, ...]:
    return _named(_INTEGRAL)


def integral_types_and(*dtypes: Any) -> tuple[Any, ...]:
    return integral_types() + dtypes


def all_types() -> tuple[Any, ...]:
    return floating_types() + integral_types()


def all_types_and(*dtypes: Any) -> tuple[Any, ...]:
    return all_types() + dtypes


def all_types_and_half() -> tuple[Any, ...]:
    return all_types() + _named("float16")


def all_types_and_complex() -> tuple[Any, ...]:
    return all_types() + complex_types()


def all_types_and_complex_and(*dtypes: Any) -> tuple[Any, ...]:
    return all_types_and_complex() + dtypes


def float8_types() -> tuple[Any, ...]:
    return _named("float8_e4m3fn float8_e5m2")


def all_types_complex_float8_and(*dtypes: Any) -> tuple[Any, ...]:
    return all_types_and_complex() + float8_types() + dtypes


def get_all_int_dtypes() -> list[Any]:
    return list(integral_types())


def get_all_fp_dtypes(include_half: bool = True, include_bfloat16: bool = True) -> list[Any]:
    return list(floating_types()) + list(_named("float16" * include_half + " bfloat16" * include_bfloat16))


def get_all_complex_dtypes(include_complex32: bool = False) -> list[Any]:
    return list(complex_types())


def get_all_math_dtypes(device: Any) -> list[Any]:
    return (
        get_all_int_dtypes() + get_all_fp_dtypes(include_half=False, include_bfloat16=False) + get_all_complex_dtypes()
    )


def get_all_dtypes(
    include_half: bool = True, include_bfloat16: bool = True, include_bool: bool = True, include_complex: bool = True,
    include_complex32: bool = False, include_qint: bool = False,
) -> list[Any]:  # fmt: skip
    dtypes = get_all_int_dtypes() + get_all_fp_dtypes(include_half, include_bfloat16)
    return dtypes + list(_named("bool_")) * include_bool + get_all_complex_dtypes() * include_complex


def get_all_qint_dtypes() -> list[Any]:
    return []


def empty_types() -> tuple[Any, ...]:
    return ()


def __getattr__(name: str) -> Any:
    if name in ("float_to_corresponding_complex_type_map", "complex_to_corresponding_float_type_map"):
        pairs = zip(floating_types(), complex_types(), strict=True)
        return dict(pairs) if name.startswith("float") else {value: key for key, value in pairs}
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
