"""Helpers of test files of layers: a test case that runs modules, small networks. torch's tables of layers are not here."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from .common_utils import TestCase, _torch, freeze_rng_state

__all__ = ["NNTestCase", "freeze_rng_state"]

module_tests: list[Any] = []
criterion_tests: list[Any] = []
new_module_tests: list[Any] = []
loss_reference_fns: dict[str, Any] = {}


class NewModuleTest:
    """A test of one module: it is made, and gradients of its output reach its input."""

    with_tf32: bool = False

    def __init__(self, **facts: Any) -> None:
        self.facts: dict[str, Any] = facts

    def get_name(self) -> str:
        """The name of the test."""
        facts = self.facts
        name = facts.get("fullname") or facts.get("module_name") or facts["constructor"].__name__
        return f"test_{name}_{facts['desc']}" if facts.get("desc") else f"test_{name}"

    def __call__(self, test_case: Any) -> None:
        facts = self.facts
        module = facts["constructor"](*facts.get("constructor_args", ()))
        input = facts["input_fn"]() if "input_fn" in facts else _torch().randn(facts["input_size"])
        module(input.requires_grad_()).sum().backward()
        test_case.assertEqual(input.grad.shape, input.shape)

    def test_cuda(self, test_case: Any) -> None:
        """The same elsewhere: there is no such place."""
        test_case.skipTest("for another device")


CriterionTest = NewModuleTest


class NNTestCase(TestCase):
    """A test case that runs modules forwards and backwards."""

    def _forward(self, module: Any, input: Any) -> Any:
        with freeze_rng_state():
            return module(*input) if isinstance(input, tuple) else module(input)

    def _backward(self, module: Any, input: Any, output: Any, grad_output: Any, create_graph: bool = False) -> Any:
        output.backward(grad_output, retain_graph=True, create_graph=create_graph)
        inputs = input if isinstance(input, tuple) else (input,)
        found = tuple(None if each.grad is None else each.grad.data for each in inputs)
        return found if isinstance(input, tuple) else found[0]

    def _forward_criterion(self, criterion: Any, input: Any, target: Any, extra_args: tuple[Any, ...] = ()) -> Any:
        inputs = input if isinstance(input, tuple) else (input,)
        return criterion(*inputs, target, *extra_args)

    def _zero_grad_input(self, input: Any) -> None:
        for each in input if isinstance(input, (list, tuple)) else (input,):
            if isinstance(each, Tensor):
                each.grad = None

    def _zero_grad_parameters(self, module: Any) -> None:
        for parameter in module.parameters():
            parameter.grad = None

    def _get_parameters(self, module: Any) -> tuple[list[Any], list[Any]]:
        parameters = list(module.parameters())
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = _torch().zeros_like(parameter)
        return parameters, [parameter.grad for parameter in parameters]

    def _flatten_tensors(self, x: Any) -> Tensor:
        if isinstance(x, Tensor):
            return x.to_dense().view(-1) if x.is_sparse else x.view(-1)
        return _torch().cat([self._flatten_tensors(each) for each in x])


def _create_basic_net() -> tuple[Any, Any, Any]:
    """A layer with a parameter and a buffer, a net that has it, and two of that net in a row."""
    torch = _torch()

    class Layer(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.layer_dummy_param = torch.nn.Parameter(torch.empty(3, 5))
            self.layer_dummy_buf = torch.nn.Buffer(torch.zeros(1, 3, 3, 7))

    class Net(torch.nn.Module):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.l1 = Layer()
            self.dummy_param = torch.nn.Parameter(torch.empty(3, 5))
            self.dummy_buf = torch.nn.Buffer(torch.zeros(7, 3, 3, 1))

    net = Net()
    return Layer(), net, torch.nn.Sequential(net, net)


def _test_module_empty_input(
    test_case: Any, module: Any, inp: Any, check_size: bool = True, inference: bool = False
) -> None:
    """A module takes a batch of nothing, forwards and backwards."""
    inp.requires_grad_(not inference)
    out = module(inp)
    if not inference:
        out.backward(_torch().rand_like(out))
        for parameter in module.parameters():
            if parameter.requires_grad:
                test_case.assertEqual(parameter.grad, _torch().zeros_like(parameter.grad))
        test_case.assertEqual(inp.grad, _torch().zeros_like(inp))
    if check_size:
        test_case.assertEqual(out.size(), inp.size())
