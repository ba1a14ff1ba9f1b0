"""What programs attach to tensors goes through files, ours and torch's; file objects are left complete."""

from __future__ import annotations

import io

import pytest

import pullback

torch = pytest.importorskip("torch")


def attached(library):
    tensor, parameter = library.arange(3.0), library.nn.Parameter(library.ones(2), requires_grad=False)
    tensor.note, tensor.list, parameter._mark = "hey", [1], True
    return [tensor, parameter]


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("writer, reader", [(pullback, torch), (torch, pullback), (pullback, pullback)])
def test_what_is_attached_to_tensors_travels(writer, reader, weights_only):
    buffer = io.BytesIO()
    writer.save(attached(writer), buffer)
    buffer.seek(0)
    tensor, parameter = reader.load(buffer, weights_only=weights_only)
    assert (tensor.note, tensor.list, parameter._mark) == ("hey", [1], True)
    assert tensor.tolist() == [0, 1, 2] and type(parameter) is reader.nn.Parameter and not parameter.requires_grad


def test_attributes_of_a_file_do_not_change_the_tensor_itself():
    tensor = torch.ones(2)
    tensor._array, tensor._requires_grad, tensor.backward, tensor.fine = [1], True, "no", 1
    buffer = io.BytesIO()
    torch.save(tensor, buffer)
    buffer.seek(0)
    loaded = pullback.load(buffer)
    assert loaded.tolist() == [1, 1] and not loaded.requires_grad and callable(loaded.backward) and loaded.fine == 1


def test_a_saved_file_can_be_read_by_its_name_before_it_is_closed(tmp_path):
    with open(tmp_path / "weights.pt", "wb") as file:
        pullback.save(pullback.ones(2), file)
        assert pullback.load(file.name).tolist() == [1, 1]


def test_what_belongs_to_a_pass_is_not_saved():
    """Neither a `.grad` nor a `.jac`, nor hooks that wait for a gradient: these cannot be written at all."""
    weight = pullback.ones(2, requires_grad=True)
    (weight * 3).backward(batched=True)
    idle = pullback.ones(2)
    idle._backward_hooks = {0: lambda gradient: gradient}
    buffer = io.BytesIO()
    pullback.save([weight, idle], buffer)
    buffer.seek(0)
    for tensor in pullback.load(buffer):
        assert not hasattr(tensor, "jac") and not tensor._backward_hooks
