"""`TorchDispatchMode`: what modes are shown, in which order, and what their answers do. Torch says what is right."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from typing import Any

import pytest
from against_torch import torch

import pullback
from pullback.core.mode import RECORD, current_mode
from pullback.core.op import Op
from pullback.shell.torch_names import operators as torch_ops
from pullback.shell.torch_names.aten import name_of
from pullback.utils._python_dispatch import (
    TorchDispatchMode,
    _disable_current_modes,
    _get_current_dispatch_mode,
    _get_current_dispatch_mode_stack,
    _pop_mode_temporarily,
)

aten = torch_ops.aten


def log_of(lib: Any, mode_class: Any, program: Any, *args: Any) -> list[str]:
    """The operators that a mode sees, but for those torch adds of its own."""
    seen: list[str] = []

    class Log(mode_class):  # type: ignore[misc]
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            assert types in ((), (lib.Tensor,))
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Log():
        program(lib, *args)
    return [name for name in seen if name not in ("aten.detach.default", "aten.ones_like.default")]


def tensors(lib: Any) -> tuple[Any, ...]:
    def made(*shape: int) -> Any:
        return (lib.arange(float(lib.Size(shape).numel())).reshape(shape) / 7 - 1).requires_grad_()

    return made(3, 4), made(5, 4), made(5), made(2, 3, 4), made(2, 1, 5, 5), made(3, 1, 3, 3)


FORWARD = {
    "linear": lambda t, x, w, b, y, i, k: t.nn.functional.linear(x, w, b),
    "linear of batches": lambda t, x, w, b, y, i, k: t.nn.functional.linear(y, w, b),
    "linear without bias": lambda t, x, w, b, y, i, k: t.nn.functional.linear(y, w),
    "mm": lambda t, x, w, b, y, i, k: t.mm(x, w.t()) + x @ w.T,
    "matmul of batches": lambda t, x, w, b, y, i, k: y @ w.T,
    "bmm": lambda t, x, w, b, y, i, k: y @ y.transpose(1, 2),
    "addmm": lambda t, x, w, b, y, i, k: t.addmm(b, x, w.t()),
    "arithmetic": lambda t, x, w, b, y, i, k: ((x * 2 + 1) * x - x) / 3 + (2 - x) ** 2,
    "elementwise": lambda t, x, w, b, y, i, k: x.sin().cos().exp().tanh().sigmoid().relu().neg().abs().sqrt(),
    "sums": lambda t, x, w, b, y, i, k: x.sum() + x.sum(1).mean() + x.sum((0, 1)) + x.mean(0, keepdim=True).sum(),
    "softmax": lambda t, x, w, b, y, i, k: x.softmax(-1) + x.log_softmax(1),
    "conv": lambda t, x, w, b, y, i, k: t.nn.functional.conv2d(i, k, padding=1),
    "views": lambda t, x, w, b, y, i, k: (x.t(), x.view(-1), x.reshape(4, 3), x.transpose(0, 1), x[:, 1:2], x[0]),
    "more views": lambda t, x, w, b, y, i, k: (y.permute(2, 0, 1), x.unsqueeze(0), b.expand(2, 5), i.squeeze(1)),
    "joining": lambda t, x, w, b, y, i, k: t.cat([x, w]),
    "extrema": lambda t, x, w, b, y, i, k: (x.max(1), x.amax(1), x.max(), t.maximum(x, x.neg())),
    "statistics": lambda t, x, w, b, y, i, k: (x.std(), x.var(0), x.logsumexp(1), x.cumsum(0)),
    "copies": lambda t, x, w, b, y, i, k: x.clone().to(t.float64),
    "powers": lambda t, x, w, b, y, i, k: (x**2, x**0.5, 2**x, x**x),
    "in place": lambda t, x, w, b, y, i, k: x.clone().mul_(2).add_(1).exp_().zero_(),
    "norm": lambda t, x, w, b, y, i, k: t.nn.functional.layer_norm(x, (4,)),
    "activations": lambda t, x, w, b, y, i, k: (t.nn.functional.gelu(x), t.nn.functional.silu(x)),
}


@pytest.mark.parametrize("name", FORWARD)
def test_modes_see_the_operators_that_torch_shows(name: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode as TheirMode

    ours = log_of(pullback, TorchDispatchMode, FORWARD[name], *tensors(pullback))
    assert ours == log_of(torch, TheirMode, FORWARD[name], *tensors(torch))
    assert ours


BACKWARD = {
    "linear": (lambda t, x, w, b, y, i, k: t.nn.functional.linear(x, w, b).sum().backward(), ("mm", "addmm")),
    "linear of batches": (lambda t, x, w, b, y, i, k: t.nn.functional.linear(y, w).sum().backward(), ("mm",)),
    "products": (lambda t, x, w, b, y, i, k: ((x @ w.T) @ w).sum().backward(), ("mm",)),
    "bmm": (lambda t, x, w, b, y, i, k: (y @ y.transpose(1, 2)).sum().backward(), ("bmm", "add")),
    "sin": (lambda t, x, w, b, y, i, k: (x.sin() * x).sum().backward(), ("cos", "mul", "add", "expand")),
    "grad": (lambda t, x, w, b, y, i, k: t.autograd.grad((x * x).sum(), x), ("mul",)),
}


@pytest.mark.parametrize("name", BACKWARD)
def test_modes_see_backward_passes(name: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode as TheirMode

    program, counted = BACKWARD[name]
    ours = log_of(pullback, TorchDispatchMode, program, *tensors(pullback))
    theirs = log_of(torch, TheirMode, program, *tensors(torch))
    for operator in counted:
        number = sum(each.split(".")[1] == operator for each in theirs)
        if name != "grad":  # torch multiplies twice and adds, we know the square
            assert sum(each.split(".")[1] == operator for each in ours) == number > 0, operator
        else:
            assert any(each.split(".")[1] == operator for each in ours)


STRAIGHT = {
    "relu": lambda F, x: F.relu(x),
    "leaky_relu": lambda F, x: F.leaky_relu(x),
    "leaky_relu with a slope": lambda F, x: F.leaky_relu(x, 0.2),
    "hardtanh": lambda F, x: F.hardtanh(x, -0.5, 0.5),
    "threshold": lambda F, x: F.threshold(x, 0.1, 0.2),
    "softshrink": lambda F, x: F.softshrink(x),
    "hardshrink": lambda F, x: F.hardshrink(x, 0.3),
}


@pytest.mark.parametrize("name", STRAIGHT)
def test_pullbacks_of_activations_are_operators_with_torchs_arguments(name: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils._python_dispatch import TorchDispatchMode as TheirMode

    logs = []
    for lib, mode_class in ((torch, TheirMode), (pullback, TorchDispatchMode)):
        calls: list[tuple[Any, ...]] = []

        class Log(mode_class):  # type: ignore[misc]
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                if func.__name__.split(".")[0] not in ("detach", "ones_like"):
                    calls.append((str(func), [value for value in args if not hasattr(value, "shape")], kwargs))  # noqa: B023
                return func(*args, **(kwargs or {}))

        x = tensors(lib)[0]
        with Log():
            STRAIGHT[name](lib.nn.functional, x).sum().backward()
        logs.append(calls)
    assert logs[0] == logs[1]


class Passing(TorchDispatchMode):
    """Runs everything as it is, and remembers what it saw."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, Any, Any]] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.calls.append((func, args, kwargs))
        return func(*args, **(kwargs or {}))


def test_results_and_gradients_are_those_without_the_mode() -> None:
    def run() -> list[Any]:
        x, w, b, y, i, k = tensors(pullback)
        parts = [program(pullback, x, w, b, y, i, k) for program in FORWARD.values()]
        flat = [each for part in parts for each in (part if isinstance(part, tuple) else (part,))]
        flat = [each if isinstance(each, pullback.Tensor) else each.values for each in flat]
        loss = sum(
            (each.double().nan_to_num(0, 0, 0).sum() for each in flat), pullback.zeros((), dtype=pullback.float64)
        )
        loss.backward()
        return [loss.detach(), *(each.grad for each in (x, w, b, y, i, k))]

    plain = run()
    with Passing():
        watched = run()
    for before, after in zip(plain, watched, strict=True):
        assert pullback.allclose(before, after, equal_nan=True)


def test_arguments_are_torchs() -> None:
    x, w, b, _, image, kernel = tensors(pullback)
    with Passing() as mode:
        pullback.add(x, x, alpha=2)
        x.sum(1, keepdim=True)
        x.view(-1)
        x[1]
        x.transpose(0, 1)
        pullback.nn.functional.conv2d(image, kernel, stride=2)
    found = {str(func): (args, kwargs) for func, args, kwargs in mode.calls}
    assert found["aten.add.Tensor"][0][0] is x
    assert found["aten.add.Tensor"][1] == {"alpha": 2}
    assert found["aten.sum.dim_IntList"][0][1:] == ([1], True)
    assert found["aten.view.default"][0][1:] == ([12],)
    assert found["aten.select.int"][0][1:] == (0, 1)
    assert found["aten.transpose.int"][0][1:] == (0, 1)
    assert found["aten.convolution.default"][0][2:] == (None, [2, 2], [0, 0], [1, 1], False, [0, 0], 1)


def test_modes_warn_of_invalid_values_no_more_than_operations_do() -> None:
    with Passing(), warnings.catch_warnings():
        warnings.simplefilter("error")
        x = pullback.tensor([-1.0, 0.0], requires_grad=True)
        (x.sqrt() + x.log() + x / x).sum().backward()
    assert x.grad is not None and x.grad.isnan().any()


def test_an_answer_becomes_the_result_and_is_recorded() -> None:
    class Doubled(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            assert not out.requires_grad
            return out * 2 if func is aten.sin.default else out

    x = pullback.ones(2, requires_grad=True)
    with Doubled():
        y = x.sin()
    assert y.grad_fn.name() == "SinBackward0"
    assert pullback.allclose(y, 2 * pullback.ones(2).sin())


def test_other_tensors_can_be_given_to_the_operator() -> None:
    class Swapped(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*reversed(args)) if func is aten.sub.Tensor else func(*args, **(kwargs or {}))

    with Swapped():
        assert (pullback.tensor([5.0]) - pullback.tensor([2.0])).item() == -3


def test_an_operator_called_with_something_else_is_the_function_of_its_name() -> None:
    class Other(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is aten.sum.dim_IntList:
                return aten.sum.dim_IntList(args[0], [0])
            return aten.mul.Tensor(args[0], 10) if func is aten.exp.default else func(*args, **(kwargs or {}))

    x = pullback.ones(2, 3)
    with Other():
        assert x.sum(1).shape == (3,)
        assert x.exp().sum().item() == 60


def test_nested_modes_are_asked_inside_out() -> None:
    order: list[str] = []

    class Named(TorchDispatchMode):
        def __init__(self, name: str) -> None:
            self.name = name

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            order.append(f"{self.name}:{func}")
            assert _get_current_dispatch_mode() is (outer if self is inner else None)
            return func(*args, **(kwargs or {}))

    outer, inner = Named("outer"), Named("inner")
    with outer, inner:
        assert _get_current_dispatch_mode_stack() == [outer, inner]
        pullback.ones(2).sin()
    assert order == ["inner:aten.sin.default", "outer:aten.sin.default"]


def test_an_exception_inside_leaves_no_mode_behind() -> None:
    class Failing(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise ValueError("no")

    x = pullback.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="no"), Failing():
        x.sin()
    assert current_mode() is RECORD
    loss = x.sin().sum()
    with pytest.raises(ValueError, match="no"), Failing():
        loss.backward()
    assert current_mode() is RECORD
    assert x.grad is None
    loss.backward()
    assert x.grad is not None


def test_refusing_an_operation_is_an_error() -> None:
    class Refusing(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return NotImplemented

    with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"), Refusing():
        pullback.ones(1).exp()


def test_modes_can_be_left_for_a_while() -> None:
    x = pullback.ones(2)
    with Passing() as outer, Passing() as inner:
        with _disable_current_modes():
            x.sin()
        with _pop_mode_temporarily() as popped:
            assert popped is inner
            x.cos()
        x.exp()
    assert [str(call[0]) for call in outer.calls] == ["aten.cos.default", "aten.exp.default"]
    assert [str(call[0]) for call in inner.calls] == ["aten.exp.default"]


def test_forward_mode_recorded_passes_and_hooks_go_through_modes() -> None:
    x = pullback.tensor([0.5, 2.0], requires_grad=True)
    seen = []
    x.register_hook(seen.append)
    with Passing() as mode:
        (first,) = pullback.autograd.grad((x**3).sum(), x, create_graph=True)
        first.sum().backward()
        _, tangent = pullback.func.jvp(pullback.sin, (x.detach(),), (pullback.ones(2),))
    assert pullback.allclose(x.grad, 6 * x.detach())
    assert len(seen) == 2
    assert pullback.allclose(tangent, x.detach().cos())
    assert aten.sin.default in [call[0] for call in mode.calls]


def test_what_depends_on_the_plain_path_holds_with_a_mode_as_well() -> None:
    x = pullback.tensor([0.0, 0.0, 3.0], requires_grad=True)
    index = pullback.tensor([0, 0, 0])
    with Passing():
        assert pullback.zeros(1, dtype=pullback.uint8).fill_(-3).item() == 253
        with pytest.raises(RuntimeError, match="without overflow"):
            pullback.ones(2).fill_(1e39)
        pullback.ones(1).scatter_reduce(
            0, index, x, "prod"
        ).sum().backward()  # not recorded: no second derivative is asked
        assert x.grad.tolist() == [0, 0, 0]
        assert pullback.ones(()).prod(0).item() == 1


def test_custom_operators_are_shown_as_such() -> None:
    @pullback.library.custom_op("dispatch_tests::twice", mutates_args=())
    def twice(x: pullback.Tensor) -> pullback.Tensor:
        return x * 2

    with Passing() as mode:
        twice(pullback.ones(2))
    assert [call[0] for call in mode.calls] == [torch_ops.dispatch_tests.twice.default]


NEWER = {"LinalgMatrixSqrthBackward0", "LinalgPolarBackward0", "SylvesterBackward0"}
"""Operations that torch has from 2.14 on, and what their rules are written in."""


def test_all_operations_have_a_name_that_torch_knows() -> None:
    torch = pytest.importorskip("torch")
    unknown = []
    for module in pkgutil.iter_modules(pullback.ops.__path__, "pullback.ops."):
        for op in vars(importlib.import_module(module.name)).values():
            if isinstance(op, Op) and op.node_name not in NEWER:
                name, overload = name_of(op)
                if not hasattr(getattr(torch.ops.aten, name, None), overload):
                    unknown.append((op.node_name, name, overload))
    assert not unknown, "a name that does not follow from the node's belongs into the operation's field aten"


@pytest.mark.parametrize("library", [torch, pullback])
def test_a_class_is_asked_for_the_data_of_its_objects(library):
    seen = []

    class Wrapper(library.Tensor):
        @staticmethod
        def __new__(cls, inner):
            return library.Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)

        def __init__(self, inner):
            self.inner = inner

        @classmethod
        def __torch_dispatch__(cls, func, types, args, kwargs=None):
            seen.append(str(func))
            return cls(func(*[x.inner if isinstance(x, cls) else x for x in args], **(kwargs or {})))

    data = Wrapper(library.ones(2)).data  # of a wrapper that is gone by now
    assert type(data) is Wrapper
    assert (data * 3).inner.tolist() == [3.0, 3.0]
    assert seen == ["aten.detach.default", "aten.mul.Tensor"]
