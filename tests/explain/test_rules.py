"""The formulas say what the rules compute: each is evaluated and compared with the operation's own gradient."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

import pullback

rng = np.random.default_rng(0)
POSITIVE, UNIT, ANY = (0.3, 2.0), (-0.8, 0.8), (-2.0, 2.0)


def python_of(rule: str) -> str:
    """Mathematical notation as a Python expression."""
    rule = rule.removesuffix(", summed over broadcast axes")
    rule = re.sub(r"(.*) where (.*), else (.*)", r"where(\2, \1, \3)", rule)
    rule = re.sub(r"\|(\w+)\|", r"abs(\1)", rule)
    rule = (
        rule.replace("−", "-")
        .replace("·", "*")
        .replace("²", "**2")
        .replace("³", "**3")
        .replace("≤", "<=")
        .replace("≥", ">=")
    )
    rule = (
        rule.replace("√π", "sqrt(pi)")
        .replace("√", "sqrt")
        .replace("2/sqrt", "2/sqrt")
        .replace("ln 2", "log(2.0)")
        .replace("ln 10", "log(10.0)")
    )
    rule = (
        rule.replace("aᵇ⁻¹", "a**(b-1)").replace("log a", "log(a)").replace("log y", "log(y)").replace("σ", "sigmoid")
    )
    rule = rule.replace("Φ", "Phi").replace("φ", "phi")
    rule = re.sub(r"(\w)ᵀ", r"\1.T", rule)
    rule = re.sub(r"(\d) \(", r"\1*(", rule)
    return rule


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


NAMES = {
    "sin": np.sin, "cos": np.cos, "sinh": np.sinh, "cosh": np.cosh, "exp": np.exp, "log": np.log, "sqrt": np.sqrt,
    "sign": np.sign,
    "abs": np.abs, "where": lambda c, a, b: np.where(c, a, b), "sigmoid": sigmoid, "pi": math.pi,
    "Phi": np.vectorize(lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2)))),
    "phi": lambda x: np.exp(-x * x / 2) / math.sqrt(2 * math.pi),
}  # fmt: skip

UNARY = {
    "abs": ANY, "acos": UNIT, "asin": UNIT, "atan": ANY, "asinh": ANY, "atanh": UNIT, "cos": ANY, "cosh": ANY,
    "erf": ANY, "erfc": ANY,
    "erfinv": UNIT, "exp": ANY, "exp2": ANY, "expm1": ANY, "log": POSITIVE, "log10": POSITIVE, "log1p": POSITIVE,
    "log2": POSITIVE,
    "neg": ANY, "reciprocal": POSITIVE, "rsqrt": POSITIVE, "sigmoid": ANY, "sin": ANY, "sinh": ANY, "sqrt": POSITIVE,
    "tan": UNIT,
    "tanh": ANY, "clone": ANY, "relu": ANY, "square": ANY, "acosh": (1.2, 3.0), "logit": (0.1, 0.9), "frac": POSITIVE,
    "nn.functional.silu": ANY, "nn.functional.logsigmoid": ANY, "nn.functional.gelu": ANY,
    "nn.functional.softplus": ANY,
    "nn.functional.leaky_relu": ANY,
}  # fmt: skip
BINARY = {
    "add": ANY, "sub": ANY, "mul": ANY, "div": POSITIVE, "pow": POSITIVE, "atan2": POSITIVE, "hypot": POSITIVE,
    "xlogy": POSITIVE,
    "logaddexp": ANY, "matmul": ANY, "rsub": ANY,
}  # fmt: skip


def find(name):
    found = pullback
    for part in name.split("."):
        found = getattr(found, part)
    return found


def check(out, inputs):
    g = pullback.tensor(rng.normal(size=tuple(out.shape)))
    explanation = pullback.explain(out, g)
    (operation,) = explanation.operations
    out_value = out.detach().numpy()
    node = out.grad_fn
    values = dict(zip(node.op.inputs, (x.detach().numpy() for x in inputs), strict=True))
    expected = pullback.autograd.grad(out, inputs, g)
    assert len(operation.arrows) == len(inputs)
    for arrow, want in zip(operation.arrows, expected, strict=True):
        got = eval(python_of(arrow.rule), {**NAMES, **values, "g": g.numpy(), "out": out_value})
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-6, atol=1e-9, err_msg=arrow.rule)


@pytest.mark.parametrize("name", UNARY)
def test_formulas_of_one_input(name):
    x = pullback.tensor(rng.uniform(*UNARY[name], size=5)).requires_grad_()
    check(find(name)(x), [x])


@pytest.mark.parametrize("name", BINARY)
def test_formulas_of_two_inputs(name):
    a, b = (pullback.tensor(rng.uniform(*BINARY[name], size=(3, 3))).requires_grad_() for _ in range(2))
    check(find(name)(a, b), [a, b])


@pytest.mark.parametrize("exponent", [2, 3, 0.5, -1.5])
def test_powers_show_their_exponent(exponent):
    x = pullback.tensor(rng.uniform(*POSITIVE, size=4)).requires_grad_()
    y = x**exponent
    (operation,) = y.explain(pullback.ones(4)).operations
    (arrow,) = operation.arrows
    assert arrow.rule.startswith(f"{exponent:g} · g · x") or exponent in (0.5, -1)


def test_linear_layers_and_broadcasting():
    x, w, b = (pullback.tensor(rng.normal(size=s)).requires_grad_() for s in ((4, 3), (2, 3), (2,)))
    rules = [
        arrow.rule for arrow in pullback.nn.functional.linear(x, w, b).explain(pullback.ones(4, 2)).operations[0].arrows
    ]
    assert rules == ["g @ weight", "gᵀ @ x", "sum of g over the batch"]
    (operation,) = (x * w[0].detach() + 0).explain(pullback.ones(4, 3)).operations[1:]
    assert operation.constants == ["b"]
    rules = [
        arrow.rule for arrow in (x * b[0].detach().requires_grad_()).explain(pullback.ones(4, 3)).operations[0].arrows
    ]
    assert rules[1].endswith("summed over broadcast axes")


def test_an_operation_without_a_formula_is_described():
    x = pullback.tensor(rng.normal(size=(3, 3))).requires_grad_()
    rule = pullback.linalg.matrix_exp(x).sum().explain().operations[1].arrows[0].rule
    assert "uses x" in rule
