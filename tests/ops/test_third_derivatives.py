"""Third derivatives of all operations by finite differences, and those of pullbacks that are operations against torch."""

from __future__ import annotations

import numpy as np
import pytest

import pullback
import pullback.func
import pullback.nn.functional
import pullback.special
import pullback.utils._pytree
from tests.ops.test_gradients import CHECKED, ROWS, inputs

torch = pytest.importorskip("torch")

THIRD = {
    "mm": (lambda T, a, b: T.mm(a, b).tanh(), ((3, 4), (4, 2))),
    "linear": (lambda T, a, b: T.nn.functional.linear(a, b).sigmoid(), ((3, 4), (2, 4))),
    "tanh": (lambda T, a, b: T.tanh(a) * b, ((5,), (5,))),
    "sigmoid": (lambda T, a, b: T.sigmoid(a) * b, ((5,), (5,))),
}


@pytest.mark.parametrize("code", ["float64", "complex128"])
@pytest.mark.parametrize("name", THIRD)
def test_third_derivatives(name, code):
    """Products and activations whose pullbacks are operations of their own: derivatives of these, and of those."""
    function, shapes = THIRD[name]
    rng = np.random.default_rng(0)
    arrays = [
        rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if code == "complex128" else 0)
        for shape in shapes
    ]
    found = []
    for library in (pullback, torch):
        tensors = [library.tensor(array, requires_grad=True) for array in arrays]
        value, orders = function(library, *tensors), []
        for _ in range(3):
            value = (value * value.conj()).real.sum() if code == "complex128" else (value * value).sum()
            gradients = library.autograd.grad(value, tensors, create_graph=True)
            orders += gradients
            value = sum(gradient.sum() for gradient in gradients)
        found.append(orders)
    for got, want in zip(*found):
        np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=1e-9, atol=1e-9)


def test_second_derivatives_in_batches():
    """The same under vmap: each example as it is alone."""
    rng = np.random.default_rng(0)
    X, W = pullback.tensor(rng.standard_normal((3, 2, 4))), pullback.tensor(rng.standard_normal((4, 4)))
    inner = pullback.func.grad(lambda x: (pullback.sigmoid(pullback.tanh(x @ W) @ W) ** 2).sum())
    outer = pullback.func.grad(lambda x: (inner(x) ** 2).sum())
    both = pullback.func.vmap(outer)(X)
    for number in range(3):
        np.testing.assert_allclose(both[number].numpy(), outer(X[number]).numpy(), rtol=1e-10)


@pytest.mark.parametrize("power", ["x**1", "x**2", "x**3", "x**4", "x.square()", "t.pow(x, 2)", "2 * x**2 - x"])
def test_derivatives_of_powers_end_where_those_of_torch_do(power):
    """The derivative of a constant slope is 0, and is there to be asked for."""
    answers = []
    for t in (torch, pullback):
        x = t.tensor([0.0, 1.0, 2.0, -1.5], requires_grad=True)
        slope, found = eval(power, {"t": t, "x": x}), []
        while slope.requires_grad:
            (slope,) = t.autograd.grad(slope.sum(), x, create_graph=True)
            found.append(slope.tolist())
        answers.append(found)
    assert answers[0] == answers[1]


# --- all operations: the second derivative that was recorded, differentiated by the engine and by numbers ---

STEP = 1e-5


def along(function, values, directions):
    """A weighted sum of the results, differentiated along one direction after the other, each time recorded."""
    rng = np.random.default_rng(7)
    total = 0.0
    for result in pullback.utils._pytree.tree_leaves(function(*values)):
        if result.is_floating_point() or result.is_complex():
            result = pullback.view_as_real(result.resolve_conj()) if result.is_complex() else result
            total = total + (result * pullback.tensor(rng.uniform(0.5, 1.5, tuple(result.shape)))).sum()
    for direction in directions:
        if not isinstance(total, float) and total.requires_grad:
            slopes = pullback.autograd.grad(total, values, create_graph=True, allow_unused=True)
            parts = [(g * d.conj()).real.sum() for g, d in zip(slopes, direction, strict=True) if g is not None]
            total = sum(parts, pullback.zeros((), dtype=pullback.float64))
        else:
            total = 0.0
    return total if isinstance(total, float) else total.item()


def third_derivatives(function, values):
    """Along three random directions: from the engine, and from differences of second derivatives."""
    rng = np.random.default_rng(3)
    first, second, third = (
        [
            pullback.tensor(rng.uniform(-1, 1, x.shape) + (1j * rng.uniform(-1, 1, x.shape) if x.is_complex() else 0))
            for x in values
        ]
        for _ in range(3)
    )

    def at(step):
        moved = [(x.detach() + step * d).requires_grad_() for x, d in zip(values, third, strict=True)]
        return along(function, moved, (first, second))

    differences = 8 * (at(STEP) - at(-STEP)) - (at(2 * STEP) - at(-2 * STEP))
    return along(function, values, (first, second, third)), differences / (12 * STEP)


@pytest.fixture
def doubles():
    pullback.set_default_dtype(pullback.float64)
    yield
    pullback.set_default_dtype(pullback.float32)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("name", "complex_"), CHECKED, ids=[f"{n}-{'complex' if c else 'real'}" for n, c in CHECKED])
def test_third_derivatives_by_finite_differences(name, complex_, doubles):
    function, shapes, domain, _ = ROWS[name]
    got, want = third_derivatives(function, inputs(name, shapes, domain, complex_))
    assert got == pytest.approx(want, rel=1e-5, abs=1e-5)


# Special functions where their formulas divide by what is 0, and close to that; others have poles or kinks there.
SMOOTH = """i0 i1 modified_bessel_i0 modified_bessel_i1 bessel_j0 bessel_j1 spherical_bessel_j0 sinc erf erfc erfcx ndtr log_ndtr
    expit expm1 exp2 airy_ai""".split()
POLYNOMIALS = [
    *(f"{shifted}chebyshev_polynomial_{kind}" for kind in "tuvw" for shifted in ("", "shifted_")),
    *("hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p"),
]
PLACES = [0.0, 1e-8, -1e-4, 1e-3, 0.5, 1.0, -1.0, 1 - 1e-8, 2.0, 5.0, -7.5]


@pytest.mark.parametrize("name", SMOOTH + POLYNOMIALS)
def test_third_derivatives_where_formulas_are_singular(name, doubles):
    function = getattr(pullback.special, name)
    for order in (-1, 0, 1, 2, 3, 6) if name in POLYNOMIALS else (None,):
        x = pullback.tensor(PLACES, requires_grad=True)
        got, want = third_derivatives(lambda x, n=order: function(x) if n is None else function(x, n), [x])
        assert got == pytest.approx(want, rel=1e-5, abs=1e-4), order
        for place in PLACES:  # alone, small terms show
            x = pullback.tensor([place], requires_grad=True)
            got, want = third_derivatives(lambda x, n=order: function(x) if n is None else function(x, n), [x])
            assert got == pytest.approx(want, rel=1e-5, abs=1e-4), (order, place)
