"""Elementwise functions of one, two and three operands against torch: a table of names and domains."""

from __future__ import annotations

import numpy as np
import pytest
from against_torch import both_refuse, compare

RANDOM = np.random.default_rng(1)


def sample(domain: str, shape: tuple = (3, 4)) -> np.ndarray:
    """Numbers from a domain, away from the kinks of the functions."""
    values = RANDOM.uniform(0.15, 0.85, shape)
    drawn = {
        "real": values * 6 - 3.03,
        "positive": values * 3 + 0.1,
        "unit": values,
        "ball": values * 1.8 - 0.9,
        "large": values + 1.2,
        "complex": values + 1j * RANDOM.uniform(-0.8, 0.7, shape),
    }[domain]
    return np.asarray(drawn)


UNARY = [
    *(
        (name, "real")
        for name in (
            "abs",
            "angle",
            "asinh",
            "atan",
            "ceil",
            "cos",
            "cosh",
            "deg2rad",
            "exp",
            "exp2",
            "expm1",
            "floor",
            "frac",
            "nan_to_num",
            "neg",
            "rad2deg",
            "reciprocal",
            "round",
            "sgn",
            "sigmoid",
            "sign",
            "sin",
            "sinc",
            "sinh",
            "square",
            "tan",
            "tanh",
            "trunc",
            "relu",
            "erf",
            "erfc",
            "i0",
            "positive",
            "frexp",
            "signbit",
            "isreal",
            "logical_not",
            "isposinf",
        )
    ),
    *((name, "positive") for name in ("digamma", "lgamma", "log", "log10", "log1p", "log2", "rsqrt", "sqrt")),
    *((name, "unit") for name in ("logit",)),
    *((name, "ball") for name in ("acos", "asin", "atanh", "erfinv")),
    ("acosh", "large"),
]
COMPLEX_UNARY = (
    "abs",
    "angle",
    "conj_physical",
    "cos",
    "cosh",
    "exp",
    "log",
    "log10",
    "log2",
    "neg",
    "reciprocal",
    "rsqrt",
    "sgn",
    "sigmoid",
    "sin",
    "sinc",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "acos",
    "asin",
    "atan",
    "asinh",
    "acosh",
    "atanh",
)


@pytest.mark.parametrize(("name", "domain"), UNARY)
def test_unary(name: str, domain: str) -> None:
    def call(library, x):
        return getattr(library, name)(x)

    x = sample(domain)
    compare(call, x)
    compare(call, x.astype(np.float32), order=1)
    compare(call, sample(domain, ()))
    compare(call, sample(domain, (0, 3)), order=1)
    compare(lambda library, x: getattr(library, name)(x.t()[1:]), x)


@pytest.mark.parametrize("name", COMPLEX_UNARY)
def test_complex_unary(name: str) -> None:
    compare(lambda library, z: getattr(library, name)(z), sample("complex"), order=2)


@pytest.mark.parametrize("kind", ["int64", "uint8", "bool", "float16", "bfloat16"])
@pytest.mark.parametrize(
    "name", ["abs", "exp", "floor", "sign", "sigmoid", "square", "sqrt", "relu", "erf", "round", "frac"]
)
def test_dtypes(name: str, kind: str) -> None:
    """Integers become floats where they must; what torch refuses is refused."""
    from against_torch import assert_same, torch

    import pullback

    x = RANDOM.integers(0, 3, (3, 4)).astype(float)
    try:
        want = getattr(torch, name)(torch.tensor(x).to(getattr(torch, kind)))
    except (RuntimeError, NotImplementedError) as error:
        with pytest.raises(type(error)):
            getattr(pullback, name)(pullback.tensor(x).to(getattr(pullback, kind)))
        return
    assert_same(getattr(pullback, name)(pullback.tensor(x).to(getattr(pullback, kind))), want)


BINARY = [
    *(
        (name, "real", "real")
        for name in (
            "add",
            "sub",
            "mul",
            "rsub",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "atan2",
            "hypot",
            "copysign",
            "logaddexp",
            "logaddexp2",
            "nextafter",
            "heaviside",
            "dist",
            "clamp_min",
            "clamp_max",
            "eq",
            "lt",
            "logical_xor",
            "isclose",
        )
    ),
    *(
        (name, "real", "positive")
        for name in ("div", "true_divide", "fmod", "remainder", "xlogy", "floor_divide", "ldexp")
    ),
    *((name, "positive", "real") for name in ("pow", "float_power")),
    ("complex", "real", "real"),
    ("polar", "positive", "real"),
]


@pytest.mark.parametrize(("name", "first", "second"), BINARY)
def test_binary(name: str, first: str, second: str) -> None:
    def call(library, a, b):
        return getattr(library, name)(a, b)

    order = 0 if name in ("heaviside", "floor_divide") else 2  # torch has no derivative for these
    compare(call, sample(first), sample(second), order=order)
    if name != "dist":
        compare(call, sample(first), sample(second, (4,)), order=order)
        compare(call, sample(first, (3, 1)), sample(second, (2, 1, 4)), order=min(order, 1))
        compare(call, sample(first, ()), sample(second, ()), order=order)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "logaddexp", "ldexp"])
def test_complex_binary(name: str) -> None:
    compare(lambda library, a, b: getattr(library, name)(a, b), sample("complex"), sample("complex"))


NUMBERS = [
    ("x + 2", lambda t, x: x + 2),
    ("2 - x", lambda t, x: 2 - x),
    ("2 / x", lambda t, x: 2 / x),
    ("x ** 3", lambda t, x: x**3),
    ("x ** 0", lambda t, x: x**0),
    ("x ** -1.5", lambda t, x: x**-1.5),
    ("2 ** x", lambda t, x: 2**x),
    ("x % 0.7", lambda t, x: x % 0.7),
    ("x // 0.7", lambda t, x: x // 0.7),
    ("0.9 % x", lambda t, x: 0.9 % x),
    ("clamp", lambda t, x: x.clamp(0.3, 0.6)),
    ("clamp low", lambda t, x: x.clamp(min=0.3)),
    ("clamp_max", lambda t, x: x.clamp_max(0.5)),
    ("fmod", lambda t, x: t.fmod(x, 0.3)),
    ("remainder", lambda t, x: t.remainder(x, 0.3)),
    ("copysign", lambda t, x: t.copysign(x, -1.0)),
    ("float_power", lambda t, x: t.float_power(x, 2)),
    ("xlogy", lambda t, x: t.xlogy(x, 2.0)),
    ("round", lambda t, x: x.round(decimals=1)),
    ("div floor", lambda t, x: t.div(x, 0.3, rounding_mode="floor")),
    ("div trunc", lambda t, x: t.div(x, 0.3, rounding_mode="trunc")),
    ("logit", lambda t, x: t.logit(x, 0.2)),
    ("nan_to_num", lambda t, x: t.nan_to_num(x / 0, 1.0, 2.0, 3.0)),
    ("add alpha", lambda t, x: t.add(x, x, alpha=3)),
    ("sub alpha", lambda t, x: t.sub(x, x * x, alpha=0.5)),
]


@pytest.mark.parametrize(("label", "call"), NUMBERS, ids=[row[0] for row in NUMBERS])
def test_numbers_as_operands(label: str, call) -> None:
    names = label not in ("xlogy", "nan_to_num")  # torch has nodes of their own for numbers
    order = 0 if label in ("0.9 % x", "x // 0.7") else 2  # torch has no derivative for these
    compare(call, sample("unit"), order=order, names=names)
    compare(call, sample("unit").astype(np.float32), order=min(order, 1), names=names)


TERNARY = [
    ("lerp number", lambda t, a, b, c: t.lerp(a, b, 0.3)),
    ("lerp far", lambda t, a, b, c: t.lerp(a, b, 0.8)),
    ("lerp", lambda t, a, b, c: t.lerp(a, b, c)),
    ("addcmul", lambda t, a, b, c: t.addcmul(a, b, c, value=0.7)),
    ("addcdiv", lambda t, a, b, c: t.addcdiv(a, b, c + 3, value=-2)),
    ("clamp", lambda t, a, b, c: t.clamp(a, b, b + 0.4)),
    ("clamp crossed", lambda t, a, b, c: t.clamp(a, b, b - 0.4)),
    ("clamp low", lambda t, a, b, c: t.clamp(a, min=b)),
    ("where", lambda t, a, b, c: t.where(c > 0.5, a, b)),
    ("where number", lambda t, a, b, c: t.where(c > 0.5, a * b, 2.0)),
    ("method", lambda t, a, b, c: (a * b).where(c > 0.5, c)),
]


@pytest.mark.parametrize(("label", "call"), TERNARY, ids=[row[0] for row in TERNARY])
def test_three_operands(label: str, call) -> None:
    compare(call, sample("unit"), sample("unit"), sample("unit"))
    compare(call, sample("unit"), sample("unit", (4,)), sample("unit", (3, 1)))


def test_subgradients() -> None:
    """Torch's choices where a derivative does not exist."""
    x = np.array([-1.0, 0.0, 0.0, 2.0])
    for call in (
        lambda t, x: x.abs(),
        lambda t, x: t.relu(x),
        lambda t, x: x.clamp(0, 2),
        lambda t, x: t.maximum(x, x * 2),
        lambda t, x: x.sign(),
        lambda t, x: x**0,
        lambda t, x: x**2,
        lambda t, x: t.fmax(x, -x),
        lambda t, x: t.atan2(x, x),
        lambda t, x: t.sinc(x),
        lambda t, x: t.copysign(x, x),
        lambda t, x: t.clamp_min(x, x.detach()),
        lambda t, x: t.minimum(x, t.zeros_like(x)),
    ):
        compare(call, x, order=1)


def test_powers_of_zero() -> None:
    a, b = np.array([0.0, 0.0, 2.0, 0.0]), np.array([0.0, 2.0, 0.0, 1.0])
    compare(lambda t, a, b: a**b, a, b, order=1)


def test_integer_powers() -> None:
    compare(lambda t, a, b: a**b, np.array([2, -1, 1, 3, -1]), np.array([-1, -3, -2, 2, -2]))
    compare(lambda t, b: t.pow(2, b), np.array([3, -1, 0]))


MISTAKES = [
    (TypeError, lambda t: t.maximum(t.ones(2), 2)),
    (TypeError, lambda t: t.atan2(2, 3)),
    (TypeError, lambda t: t.eq(2, t.ones(2))),
    (TypeError, lambda t: t.pow(2, 3)),
    (TypeError, lambda t: t.clamp_min(2, t.ones(2))),
    (RuntimeError, lambda t: t.ones(2).clamp()),
    (RuntimeError, lambda t: t.ones(2).bool() - t.ones(2)),
    (RuntimeError, lambda t: -t.ones(2).bool()),
    (RuntimeError, lambda t: t.lerp(t.ones(2), t.ones(2).double(), 0.1)),
    (RuntimeError, lambda t: t.ones(2, 3) + t.ones(2, 2)),
    (RuntimeError, lambda t: t.isclose(t.ones(1), t.ones(1), rtol=-1)),
    (RuntimeError, lambda t: t.arange(3) // 0),
    (RuntimeError, lambda t: t.complex(t.ones(2), t.ones(2).int())),
    (NotImplementedError, lambda t: t.ones(2, dtype=t.complex64) < 1),
]


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_mistakes(number: int) -> None:
    both_refuse(*MISTAKES[number])


def test_complex_numbers_as_operands() -> None:
    for call in (
        lambda t, z: t.float_power(z, 2),
        lambda t, z: t.pow(2j, z),
        lambda t, z: z**1.5,
        lambda t, z: 1j * z + 2,
    ):
        compare(call, sample("complex"))
    compare(lambda t, x: x * (1 + 2j), sample("real"))


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_lerp_rounds_its_weight_as_torch_does(weight: float) -> None:
    from against_torch import torch

    import pullback

    start, end = (sample("real", (2000,)).astype(np.float32) for _ in range(2))
    results = []
    for library in (torch, pullback):
        x, y = library.tensor(start), library.tensor(end)
        apart = library.lerp(x, y, weight)
        assert library.equal(apart, x.clone().lerp_(y, weight))
        results.append(apart.numpy())
    np.testing.assert_allclose(*results, rtol=0, atol=3e-7)
    assert np.mean(results[0] == results[1]) > 0.7  # not all: torch may multiply and add at once


def test_writing_in_place_is_silent(recwarn: pytest.WarningsRecorder) -> None:
    import pullback

    x = pullback.tensor([-3.0, 0.5, 3.0])
    assert x.clamp_(-1, 1).tolist() == [-1, 0.5, 1]
    assert x.clamp_(min=0).lerp_(pullback.ones(3), 0.5).fill_(2).tolist() == [2, 2, 2]
    assert not recwarn.list
