"""Roots, fixed points and linear solves: values, first and second derivatives, against formulas and finite
differences.
"""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback import implicit
from pullback.autograd import gradcheck, gradgradcheck


def _tensor(*shape, seed=0, shift=0.0):
    return P.tensor(np.random.default_rng(seed).standard_normal(shape) + shift).requires_grad_()


def test_square_root_as_a_root_to_third_order():
    p = P.tensor(4.0, dtype=P.float64, requires_grad=True)
    x = implicit.root(lambda x, p: x * x - p, P.tensor(1.0, dtype=P.float64), p)
    expected = [2.0, 1 / 4, -1 / 32, 3 / 256]
    value = x
    for wanted in expected:
        np.testing.assert_allclose(value.item(), wanted, rtol=1e-9)
        (value,) = P.autograd.grad(value, p, create_graph=True)


@pytest.mark.parametrize("method", ["auto", "gmres", "dense"])
def test_system_of_equations(method):
    a, b = _tensor(3, 3), _tensor(3, seed=1)

    def f(x, a, b):
        return x**3 + x + a.sin() @ x * 0.1 - b

    def solution(a, b):
        return implicit.root(f, P.zeros(3, dtype=P.float64), a, b, method=method)

    x = solution(a, b)
    assert float(f(x, a, b).abs().max().detach()) < 1e-10
    assert gradcheck(solution, (a, b))
    assert gradgradcheck(solution, (a, b), atol=1e-4)


def test_structures_captured_constants_and_own_solvers():
    weights = {"a": _tensor(2), "more": [_tensor(2, seed=1, shift=3.0)]}
    constant = P.tensor([1.0, 2.0], dtype=P.float64)

    def f(x, weights):
        return x * weights["more"][0] - weights["a"] * constant

    calls = []

    def solver(f, x0, weights):
        calls.append(x0)
        return weights["a"] * constant / weights["more"][0]

    for chosen in (None, solver):
        x = implicit.root(f, P.zeros(2, dtype=P.float64), weights, solver=chosen)
        found = P.autograd.grad(x.sum(), [weights["a"], weights["more"][0]])
        np.testing.assert_allclose(found[0].numpy(), (constant / weights["more"][0]).detach().numpy())
        np.testing.assert_allclose(
            found[1].numpy(), (-weights["a"] * constant / weights["more"][0] ** 2).detach().numpy()
        )
    assert len(calls) == 1


@pytest.mark.parametrize("shape", [(3,), (2, 2)])
def test_fixed_point(shape):
    w, b = _tensor(shape[-1], shape[-1]), _tensor(*shape, seed=1)

    def f(x, w, b):
        return (x @ w * 0.3 + b).tanh()

    def solution(w, b):
        return implicit.fixed_point(f, P.zeros(*shape, dtype=P.float64), w, b)

    x = solution(w, b)
    np.testing.assert_allclose(f(x, w, b).detach().numpy(), x.detach().numpy(), atol=1e-10)
    assert gradcheck(solution, (w, b))
    assert gradgradcheck(solution, (w, b), atol=1e-4)


@pytest.mark.parametrize("method", ["gmres", "cg", "dense"])
def test_linear_solve(method):
    a, b = _tensor(4, 4), _tensor(4, seed=1)

    def matvec(x, a):
        matrix = a @ a.t() + P.eye(4, dtype=P.float64) if method == "cg" else a + 3 * P.eye(4, dtype=P.float64)
        return matrix @ x

    def solution(a, b):
        return implicit.linear_solve(matvec, b, a, method=method)

    x = solution(a, b)
    np.testing.assert_allclose(matvec(x, a).detach().numpy(), b.detach().numpy(), atol=1e-9)
    assert gradcheck(solution, (a, b))
    assert gradgradcheck(solution, (a, b), atol=1e-4)


def test_large_operator_without_a_matrix():
    count = 2000
    d = P.full((count,), 4.0, dtype=P.float64, requires_grad=True)
    b = P.ones(count, dtype=P.float64, requires_grad=True)

    def matvec(x, d):
        padded = P.nn.functional.pad(x, (1, 1))
        return d * x - padded[2:] - padded[:-2]

    x = implicit.linear_solve(matvec, b, d, method="cg")
    np.testing.assert_allclose(matvec(x, d).detach().numpy(), 1, atol=1e-8)
    (slope,) = P.autograd.grad(x.sum(), d)
    np.testing.assert_allclose(slope.numpy(), -(x.detach().numpy() ** 2), rtol=1e-6)  # the operator is symmetric


def test_failures_are_reported():
    p = P.tensor([1.0], dtype=P.float64, requires_grad=True)
    with pytest.raises(RuntimeError, match="did not converge"):
        implicit.root(lambda x, p: x**2 + p, P.tensor([1.0], dtype=P.float64), p)
    with pytest.raises(RuntimeError, match="did not converge"):
        implicit.fixed_point(lambda x, p: x * x + p, P.tensor([3.0], dtype=P.float64), p, max_iters=30)
    with pytest.raises(ValueError, match="as many equations"):
        implicit.root(lambda x, p: P.cat([x, x]), P.tensor([1.0], dtype=P.float64), p)
    with pytest.raises(ValueError, match="method"):
        implicit.linear_solve(lambda x: x, p, method="magic")
    with pytest.raises(RuntimeError, match="did not converge"):
        implicit.linear_solve(lambda x: 0 * x, p)


def test_no_gradients_asked_for():
    x = implicit.root(lambda x, p: x - p, P.zeros(2), P.ones(2))
    assert not x.requires_grad and x.dtype == P.float32


def test_transforms_of_functions_see_through_solutions():
    from pullback.func import grad, jacrev, jvp, vmap

    p, b = P.tensor([4.0, 9.0], dtype=P.float64), P.tensor([1.0, 2.0], dtype=P.float64)

    def by_root(p):
        return implicit.root(lambda x, p: x * x - p, P.ones(2, dtype=P.float64), p)

    def by_steps(p):
        return implicit.fixed_point(lambda x, p: (x + p / x) / 2, P.ones(2, dtype=P.float64), p)

    def by_products(p):
        return implicit.linear_solve(lambda x, p: p.sqrt() * x, b, p) * p / b  # p / sqrt(p)

    for function in (by_root, by_steps, by_products):
        slope = 0.5 / np.sqrt(p.numpy())
        np.testing.assert_allclose(grad(lambda p, f=function: f(p).sum())(p).numpy(), slope, rtol=1e-7)
        np.testing.assert_allclose(jvp(function, (p,), (P.ones_like(p),))[1].numpy(), slope, rtol=1e-7)
        np.testing.assert_allclose(jacrev(function)(p[:2]).numpy(), np.diag(slope), rtol=1e-7, atol=1e-12)
        many = vmap(function)(P.stack([p, 2 * p]))
        np.testing.assert_allclose(many.numpy(), np.sqrt(np.stack([p.numpy(), 2 * p.numpy()])), rtol=1e-7)
        bend = np.diag(-0.25 * p.numpy() ** -1.5)
        second = jacrev(jacrev(lambda p, f=function: f(p).sum()))(p)
        np.testing.assert_allclose(second.numpy(), bend, rtol=1e-6, atol=1e-10)


# --- nested unknowns, second derivatives, batches ---

A = P.tensor([[3.0, 1.0], [0.5, 2.0]], dtype=P.float64)


def _circle_and_line(x, p):
    """x = {"u": u, "v": [v]} on the circle of radius p["r"] and the line u = p["k"] v."""
    u, v = x["u"], x["v"][0]
    return {"u": u * u + v * v - p["r"] ** 2, "v": [u - p["k"] * v]}


def _solved(p):
    start = {"u": P.ones(1, dtype=P.float64), "v": [P.ones(1, dtype=P.float64)]}
    return P.implicit.root(_circle_and_line, start, p)


def _closed(p):
    v = p["r"] / (1 + p["k"] ** 2).sqrt()
    return {"u": p["k"] * v, "v": [v]}


def _radius_and_slope(r=2.0, k=0.7):
    return {"r": P.tensor([r], dtype=P.float64), "k": P.tensor([k], dtype=P.float64)}


def _settled(p):
    return P.implicit.fixed_point(lambda x, p: [0.3 * x[0].cos() + p, 0.2 * x[0] * x[1] + 1], [0 * p, 0 * p], p)


def _linear(p):
    def product(x, p):
        return {"a": A @ x["a"] + p * x["b"], "b": 2 * x["b"] - 0.1 * x["a"]}

    return P.implicit.linear_solve(product, {"a": p, "b": p * p}, p, method="dense")


def _leaves(tree):
    return [np.asarray(leaf.detach()) for leaf in P.utils._pytree.tree_leaves(tree)]


def test_nested_unknowns_and_their_derivatives():
    from pullback.func import jacfwd, jacrev, jvp

    p = _radius_and_slope()
    along = {"r": P.ones(1, dtype=P.float64), "k": 2 * P.ones(1, dtype=P.float64)}
    for transformed in (
        lambda f: f(p), lambda f: jacrev(f)(p), lambda f: jacfwd(f)(p), lambda f: jvp(f, (p,), (along,)),
        lambda f: jacrev(jacrev(f))(p), lambda f: jacfwd(jacrev(f))(p), lambda f: jacfwd(jacfwd(f))(p),
    ):  # fmt: skip
        for got, want in zip(_leaves(transformed(_solved)), _leaves(transformed(_closed)), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("solve", [_settled, _linear], ids=["fixed point", "linear"])
def test_gradients_of_second_order_of_nested_unknowns(solve):
    p = P.tensor([0.4, 0.9], dtype=P.float64, requires_grad=True)

    def total(p):
        return sum((leaf * leaf).sum() for leaf in P.utils._pytree.tree_leaves(solve(p)))

    assert P.autograd.gradcheck(total, (p,))
    assert P.autograd.gradgradcheck(total, (p,))


@pytest.mark.parametrize("solve", [_settled, _linear], ids=["fixed point", "linear"])
def test_batches_of_problems(solve):
    from pullback.func import grad, vmap

    points = P.tensor([[0.4, 0.9], [0.1, 0.2], [0.7, -0.3]], dtype=P.float64)

    def total(p):
        return sum((leaf * leaf).sum() for leaf in P.utils._pytree.tree_leaves(solve(p)))

    for function in (solve, grad(total), lambda p: grad(lambda q: grad(total)(q).sum())(p)):
        found = _leaves(vmap(function)(points))
        loop = [_leaves(function(p)) for p in points]
        for got, want in zip(found, zip(*loop, strict=True), strict=True):
            np.testing.assert_allclose(got, np.stack(want), rtol=1e-8, atol=1e-9)


def test_a_start_that_is_the_solution():
    start = P.ones(2, dtype=P.float64)
    slope = P.func.jacrev(lambda p: implicit.root(lambda x, p: x * x - p, start, p))(P.ones(2, dtype=P.float64))
    np.testing.assert_allclose(slope.numpy(), 0.5 * np.eye(2))
    found = implicit.fixed_point(lambda x: x * x, start).zero_()
    assert (start == 1).all() and not found.any()  # the result has memory of its own
    b = P.ones(2, dtype=P.float64)
    implicit.linear_solve(lambda x: x, b, x0=b).zero_()
    assert (b == 1).all()


@pytest.mark.parametrize(
    "program, words",
    [
        (lambda: implicit.root(lambda x: 3, P.ones(2)), "a tensor, not a int"),
        (lambda: implicit.fixed_point(lambda x: None, P.ones(2)), "a tensor, not a NoneType"),
        (lambda: implicit.root(lambda x: x - 2, P.tensor(1)), "start from floating point numbers"),
        (lambda: implicit.root(lambda x: x - 2, 1.0), "nestings of tensors; this has a float"),
    ],
)
def test_what_is_no_equation_of_tensors(program, words):
    with pytest.raises(TypeError, match=words):
        program()
