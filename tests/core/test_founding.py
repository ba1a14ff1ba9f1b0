"""The claims of the founding document: what `gradient` does for scalar and for tensor losses."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pullback
from pullback import autograd, tensor

EXAMPLES = Path(__file__).parents[2] / "examples"

PRINTED = {
    "founding_1_scalar.py": "Gradient of x with scalar loss: 12.0\n",
    "founding_2_no_gradient.py": (
        "RuntimeError: grad can be implicitly created only for scalar outputs\n"
        "Gradient of x without explicit gradient: x.grad is None.\n"
    ),
    "founding_3_gradient.py": "Gradient of x with explicit gradient: tensor([4., 3.])\n",
}


@pytest.mark.parametrize("name", PRINTED)
def test_the_three_programs_print_what_torch_prints(name):
    done = subprocess.run(
        [sys.executable, "-m", "pullback", "run", str(EXAMPLES / name)], capture_output=True, text=True, check=True
    )  # fmt: skip
    assert done.stdout == PRINTED[name]
    assert done.stderr == ""


@pytest.mark.parametrize("shape", [(), (1,), (1, 1, 1)])
def test_one_element_needs_no_gradient(shape):
    x = pullback.full(shape, 3.0).requires_grad_()
    (x * x).backward()
    assert x.grad.shape == shape
    assert x.grad.item() == 6.0


@pytest.mark.parametrize("shape", [(2,), (0,), (2, 1), (1, 3)])
def test_any_other_number_of_elements_does(shape):
    x = pullback.ones(shape, requires_grad=True)
    with pytest.raises(RuntimeError, match="grad can be implicitly created only for scalar outputs") as raised:
        (x * x).backward()
    assert x.grad is None
    assert any("gradient=" in note and str(shape) in note for note in raised.value.__notes__)


@pytest.mark.parametrize("wrong", [(2,), (1,), (), (3, 1), (1, 3)])
def test_gradient_must_have_the_exact_shape(wrong):
    x = pullback.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="Mismatch in shape: grad_output"):
        (x * 2).backward(gradient=pullback.ones(wrong))
    assert x.grad is None


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "uint8", "bool"])
def test_any_real_dtype_is_cast(dtype):
    x = pullback.ones(3, requires_grad=True)
    (x * 2).backward(gradient=pullback.ones(3, dtype=getattr(pullback, dtype)))
    assert x.grad.dtype is pullback.float32
    assert x.grad.tolist() == [2.0, 2.0, 2.0]


def test_ones_give_the_plain_derivative():
    x = tensor([2.0, 3.0], requires_grad=True)
    (x * x).backward(gradient=tensor([1.0, 1.0]))
    assert x.grad.tolist() == [4.0, 6.0]


@pytest.mark.parametrize("weights", [[1.0, 0.5], np.array([1.0, 0.5]), (1.0, 0.5)])
def test_weights_may_be_lists_and_arrays(weights):
    x = tensor([2.0, 3.0], requires_grad=True)
    (x * x).backward(gradient=weights)
    assert x.grad.tolist() == [4.0, 3.0]


def test_a_number_weights_a_scalar():
    x = tensor(2.0, requires_grad=True)
    (x * x).backward(gradient=0.5)
    assert x.grad.item() == 2.0


def test_the_gradient_is_never_aliased():
    x = pullback.ones(3, requires_grad=True)
    weights = pullback.ones(3)
    x.view(3).backward(gradient=weights)
    weights.mul_(100)
    assert x.grad.tolist() == [1.0, 1.0, 1.0]
    a, b = pullback.ones(3, requires_grad=True), pullback.ones(3, requires_grad=True)
    (a + b).backward(gradient=weights)
    a.grad.zero_()
    assert b.grad.tolist() == [100.0] * 3


def random_program(seed: int):
    """A function of a vector made of random steps, and a start."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 6, size=rng.integers(2, 7))
    matrix = tensor(rng.standard_normal((4, 4)))

    def program(x):
        for step in steps:
            if step == 0:
                x = x * x
            elif step == 1:
                x = pullback.tanh(x)
            elif step == 2:
                x = matrix @ x
            elif step == 3:
                x = x + x[0]
            elif step == 4:
                x = pullback.exp(x * 0.1)
            else:
                x = x.reshape(2, 2).t().reshape(4)
        return x

    return program, rng.uniform(-1, 1, 4), rng.standard_normal(4)


@pytest.mark.parametrize("seed", range(40))
def test_grad_is_the_jacobian_transposed_times_gradient(seed):
    program, start, weights = random_program(seed)
    x = tensor(start, requires_grad=True)
    y = program(x)
    if not y.requires_grad:
        pytest.skip("the random program does not depend on x")
    rows = [autograd.grad(y[i], x, retain_graph=True)[0].numpy() for i in range(4)]
    y.backward(gradient=tensor(weights))
    np.testing.assert_allclose(x.grad.numpy(), np.stack(rows).T @ weights, rtol=1e-12, atol=1e-12)
    step = 1e-6
    numeric = np.stack(
        [
            (program(tensor(start + step * e)) - program(tensor(start - step * e))).numpy() / (2 * step)
            for e in np.eye(4)
        ]
    )
    np.testing.assert_allclose(x.grad.numpy(), numeric @ weights, rtol=1e-6, atol=1e-6)
