"""Checkpoints of real tensors: the bridge between files and the tensor class."""

import io

import numpy as np
import pytest

import pullback
from pullback.serialization import bridge, load, safetensors, save

needs_tensor = pytest.mark.skipif(not hasattr(pullback, "Tensor"), reason="needs the tensor class")


def round_trip(value, **options):
    buffer = io.BytesIO()
    save(value, buffer)
    buffer.seek(0)
    return load(buffer, **options)


BASE = np.arange(24.0).reshape(4, 6)
VIEWS = {
    "itself": BASE, "rows": BASE[1:3], "columns": BASE[:, 2:4], "transposed": BASE.T, "element": BASE[2, 3, ...],
    "steps": BASE[::2, ::3], "repeated": np.broadcast_to(BASE[1], (3, 6)), "reshaped": BASE.reshape(2, 12)[1],
    "bytes": BASE.view(np.uint8)[1], "strided": np.lib.stride_tricks.as_strided(BASE[0, 1:], (2, 2), (48, 8)),
    "empty": BASE[4:],
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
def test_whole_storage_is_found_from_any_view(name):
    storage = bridge.whole_storage(VIEWS[name])
    assert storage.nbytes == BASE.nbytes and np.shares_memory(storage, BASE)
    assert storage.tobytes() == BASE.tobytes()


def test_whole_storage_of_strangers():
    assert bridge.whole_storage(np.asfortranarray(BASE)).tobytes() == BASE.T.tobytes()
    assert bridge.whole_storage(np.frombuffer(b"12345678", np.int8)[2:]).tobytes() == b"12345678"
    assert bridge.whole_storage(np.array(3.0)).nbytes == 8
    assert bridge.whole_storage(np.ones(0)).nbytes == 0
    assert bridge.whole_storage(BASE[::-1]) is None
    assert bridge.whole_storage(np.zeros(2, "i1,f8")["f1"]) is None  # elements at no multiple of their size


@needs_tensor
def test_tensors_come_back_as_they_were():
    base = pullback.arange(24.0).reshape(4, 6)
    value = {
        "base": base, "row": base[1], "turned": base.t(), "scalar": pullback.tensor(2), "empty": pullback.zeros(0, 3),
        "wanted": pullback.ones(2, requires_grad=True), "parameter": pullback.nn.Parameter(pullback.ones(2)),
        "fixed": pullback.nn.Parameter(pullback.ones(2), requires_grad=False), "repeated": base[0].expand(3, 6),
        "shape": base.shape, "dtype": pullback.float16, "device": pullback.device("cpu"),
    }  # fmt: skip
    result = round_trip(value)
    for name, expected in value.items():
        found = result[name]
        assert type(found) is type(expected)
        if not isinstance(expected, pullback.Tensor):
            assert found == expected
            continue
        assert found.dtype == expected.dtype and found.shape == expected.shape and found.stride() == expected.stride()
        assert found.requires_grad == expected.requires_grad and found.is_leaf
        assert np.array_equal(found.detach().numpy(), expected.detach().numpy())
    result["base"].fill_(7)
    assert (result["row"] == 7).all() and (result["turned"] == 7).all() and (result["repeated"] == 7).all()
    result["wanted"].sum().backward()
    assert result["wanted"].grad is not None


@needs_tensor
def test_modules_and_optimizers_go_both_ways():
    torch = pytest.importorskip("torch")

    def trained(library):
        model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.ReLU(), library.nn.Linear(4, 2))
        optimizer = library.optim.Adam(model.parameters(), lr=0.1)
        model(library.ones(5, 3)).sum().backward()
        optimizer.step()
        return model, optimizer

    ours, theirs = trained(pullback), trained(torch)
    buffer = io.BytesIO()
    torch.save([part.state_dict() for part in theirs], buffer)
    buffer.seek(0)
    for part, state in zip(ours, load(buffer)):
        part.load_state_dict(state)
    buffer = io.BytesIO()
    save([part.state_dict() for part in ours], buffer)
    buffer.seek(0)
    for part, state in zip(theirs, torch.load(buffer, weights_only=True)):
        part.load_state_dict(state)
    for mine, other in zip(ours[0].parameters(), theirs[0].parameters()):
        assert np.array_equal(mine.detach().numpy(), other.detach().numpy())
    whole = round_trip(ours[0], weights_only=False)
    assert np.array_equal(whole(pullback.ones(1, 3)).detach().numpy(), ours[0](pullback.ones(1, 3)).detach().numpy())


@needs_tensor
def test_safetensors_of_tensors(tmp_path):
    value = {"a": pullback.arange(6.0).reshape(2, 3), "b": pullback.ones(2, dtype=pullback.int8)}
    safetensors.save_file(value, tmp_path / "x.safetensors")
    result = load(tmp_path / "x.safetensors")
    assert all(np.array_equal(result[name].numpy(), value[name].numpy()) for name in value)
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save({"a": value["a"], "b": value["a"][0]})
    assert len(safetensors.save({"a": value["a"][0], "b": value["a"][1]})) > 24
