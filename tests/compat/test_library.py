"""`torch.ops`: what its names mean here. Operators of one's own are compared with torch in `programs/library.py`."""

import pytest

import pullback
from pullback.torch_names import operators
from pullback.torch_names.lookup import find_torch_name, has_torch_name


@pytest.mark.parametrize(
    "name", "add mm view expand permute relu_ sum.dim_IntList linalg_norm fft_fft special_erf slice index _to_copy".split()
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
