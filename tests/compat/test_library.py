"""`torch.ops`: what its names mean here. Operators of one's own are compared with torch in `programs/library.py`."""

import pytest

import pullback
from pullback.shell.torch_names import operators
from pullback.shell.torch_names.lookup import find_torch_name, has_torch_name


@pytest.mark.parametrize(
    "name",
    "add mm view expand permute relu_ sum.dim_IntList linalg_norm fft_fft special_erf slice index _to_copy".split(),
)
def test_operators_of_the_core_are_the_functions_of_that_name(name):
    assert callable(find_torch_name(f"torch.ops.aten.{name}"))


def test_the_name_ops_means_torchs_operators_under_the_alias_only():
    assert pullback.ops.__name__ == "pullback.ops"
    assert find_torch_name("torch.ops") is operators
    assert not has_torch_name("torch.ops.aten.no_such_operator")


def test_private_operators_can_be_mentioned_and_say_so_when_called():
    assert operators.aten._embedding_bag.default is operators.aten._embedding_bag.default
    with pytest.raises(NotImplementedError, match="aten._embedding_bag"):
        operators.aten._embedding_bag(pullback.ones(1))


@pytest.mark.parametrize("call", [lambda: operators.load_library("x.so"), lambda: operators.some.operator])
def test_compiled_operators_are_refused_with_a_way_out(call):
    with pytest.raises((OSError, AttributeError), match="torch.library.custom_op"):
        call()


@pytest.mark.parametrize("transposed", [False, True])
def test_the_backward_operator_of_convolutions(transposed):
    x, weight = pullback.randn(2, 4, 7, 7, requires_grad=True), pullback.randn(4, 4, 3, 3, requires_grad=True)
    bias = pullback.zeros(4, requires_grad=True)
    function = pullback.nn.functional.conv_transpose2d if transposed else pullback.nn.functional.conv2d
    out = function(x, weight, bias, stride=2, padding=1)
    grad = pullback.randn_like(out)
    expected = pullback.autograd.grad(out, (x, weight, bias), grad)
    arguments = (grad, x, weight, [4], [2], [1, 1], [1, 1], transposed, [0, 0], 1)
    for mask in ((True, True, True), (False, True, False), (True, False, True)):
        found = operators.aten.convolution_backward(*arguments, mask)
        for one, other, wanted in zip(found, expected, mask, strict=True):
            assert one is None if not wanted else pullback.allclose(one, other, atol=1e-5)


def test_blocks_of_a_profile_by_their_operators():
    with pullback.profiler.profile() as profiler:
        block = operators.profiler._record_function_enter("mine", None)
        pullback.ones(2).exp()
        operators.profiler._record_function_exit(block)
    assert [event.name for event in profiler.events()] == ["mine", "aten::exp"]


def _library_with(name, body, kind="CPU"):
    library = pullback.library.Library("library_tests", "FRAGMENT")
    library.define(f"{name}(Tensor a, Tensor b) -> Tensor")
    library.impl(name, body, kind)
    return getattr(operators.library_tests, name).default


def test_a_body_without_a_derivative_is_differentiated_through_and_warned_of():
    operator = _library_with("product", lambda a, b: a * b)
    a, b = pullback.ones(3, requires_grad=True), pullback.full((3,), 2.0)
    with pytest.warns(UserWarning, match="library_tests::product: an autograd kernel was not registered"):
        operator(a, b).sum().backward()
    assert a.grad.tolist() == [2, 2, 2]


def test_results_without_history_lead_to_a_warning_and_no_gradient():
    operator = _library_with("detached", lambda a, b: pullback.tensor((a + b).tolist()))
    a, b = pullback.ones(3, requires_grad=True), pullback.ones(3)
    result = operator(a, b)
    assert result.grad_fn.name() == "WarnNotImplemented"
    with pytest.warns(UserWarning, match="an autograd kernel was not registered"):
        result.sum().backward()
    assert a.grad is None
    with pullback.no_grad():
        assert not operator(a, b).requires_grad
    assert not operator(b, b).requires_grad


def test_a_composite_body_is_not_warned_of(recwarn):
    operator = _library_with("sine", lambda a, b: a.sin() + b, "CompositeImplicitAutograd")
    a = pullback.zeros(3, requires_grad=True)
    operator(a, a.detach()).sum().backward()
    assert a.grad.tolist() == [1, 1, 1]
    assert not recwarn
