"""Where torch is silent about overflow and division by zero we are too, even when a program makes errors of warnings."""

import importlib
import warnings

import numpy as np
import pytest

import pullback
from pullback.core.basics import quiet
from pullback.core.plan import Repeats

LINES = """
t.exp(x * 1000)
t.log(x * 0)
x / (x * 0)
x / 0
x * 1e38 * 1e38
t.sqrt(-x)
(x * 1e38).half()
t.log((x * 0).requires_grad_()).sum().backward()
t.pow(x * 0, -1)
(x.half() * 60000).sum()
x // (x * 0)
(x * float("nan")).int()
t.logsumexp(x - float("inf"), 0)
t.softmax(x - float("inf"), 0)
x.clone().div_(0)
x.clone().mul_(1e38).mul_(1e38)
x.pow(1000)
t.func.vmap(t.log)(x * 0)
t.func.jvp(t.log, (x * 0,), (x,))
t.allclose(x / 0, x / 0)
t.isclose(x - x / 0, x / 0)
x.half().add_(x * 1e38)
x.half().copy_(x * 1e38)
x.half().hypot_(x * 1e38)
t.special.legendre_polynomial_p(x, x / 0)
t.linalg.norm(x * 1e38 * 10)
t.cov(x[:1])
x[:0].mean()
""".strip().splitlines()


@pytest.mark.parametrize("line", LINES)
def test_nothing_is_raised(line):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eval(line, {"t": pullback, "x": pullback.tensor([1.0, 2.0])})


@pytest.mark.parametrize("line", LINES)
def test_nothing_is_raised_where_numpy_is_told_to(line):
    with np.errstate(all="raise"):
        eval(line, {"t": pullback, "x": pullback.tensor([1.0, 2.0])})


@pytest.mark.parametrize("line", LINES)
def test_nothing_is_recorded(line):
    """Whoever records all warnings, as `pytest.warns` does, sees none of NumPy's; torch has some of its own."""
    for change in (lambda: warnings.simplefilter("always"), warnings.resetwarnings):
        with warnings.catch_warnings(record=True) as heard:
            change()
            eval(line, {"t": pullback, "x": pullback.tensor([1.0, 2.0])})
        assert not [warning for warning in heard if warning.category is RuntimeWarning]


def test_the_warnings_of_other_code_are_heard():
    """Of a program's own calls of NumPy, of NumPy's Python code under them, and of a program's rules."""

    class Function(pullback.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return pullback.from_numpy(np.log(x.numpy()))

    calls = [
        lambda: np.log(np.zeros(2)),
        lambda: np.zeros(0).mean(),
        lambda: Function.apply(pullback.zeros(2)),
        lambda: warnings.warn("mine", RuntimeWarning, stacklevel=1),
    ]
    for call in calls:
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            call()
        assert heard and {warning.category for warning in heard} == {RuntimeWarning}


def test_a_write_happens_once():
    x = pullback.tensor([3.0, 1e38])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.mul_(10)
        with pullback.no_grad():
            x *= pullback.tensor([2.0, 2.0])
        half = pullback.zeros(3).half()
        half.copy_(pullback.tensor([1.0, 1e30, 2.0]))
    assert x.tolist() == [60.0, float("inf")] and half.tolist() == [1.0, float("inf"), 2.0]


FILTERS = {
    "none": lambda: None,
    "always": lambda: warnings.simplefilter("always"),
    "default": lambda: warnings.simplefilter("default"),
    "error": lambda: warnings.simplefilter("error"),
    "reset": warnings.resetwarnings,
    "others": lambda: warnings.filterwarnings("always", category=UserWarning),
    "ignored": lambda: warnings.simplefilter("ignore"),
}


@pytest.mark.parametrize("name", FILTERS)
def test_passes_that_repeat_are_silent_as_well(name, monkeypatch):
    monkeypatch.setattr("pullback.core.written_out.repeats.FIRST_LOOK", 1)
    monkeypatch.setattr("pullback.core.engine.Hooks.in_use", False)
    x, weight = pullback.tensor([1e30, 0.0, 1.0], requires_grad=True), pullback.tensor(3e38)
    plan = x.sum().grad_fn.plan
    plan.repeats = Repeats(first_look=1)
    with warnings.catch_warnings(record=True) as heard:
        quiet.drop_warnings()
        for _ in range(8):
            x.grad, root = None, (pullback.fft.rfft(x * 1.5).abs().log() / x[:2]).sum()
            heard.clear()
            FILTERS[name]()
            root.backward(weight, retain_graph=True)
            pullback.autograd.grad(root, x, weight)
            assert not heard
    assert plan.repeats.programs


NAMED_TWICE = """
utils._pytree optim.optimizer optim._functional nn.functional sparse core.basics.dtypes storage return_types func.older
"""


@pytest.mark.parametrize("name", NAMED_TWICE.split())
def test_a_module_imports_nothing_while_it_is_given_another_name(name, monkeypatch):
    """`import torch.utils._pytree` gives a module its second spec, and asks it for `__path__` before its package agrees."""
    module = importlib.import_module(f"pullback.{name}")
    monkeypatch.setattr(module, "__package__", "elsewhere")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not any(hasattr(module, asked) for asked in ("__wrapped__", "__origin__", "__nothing__"))
