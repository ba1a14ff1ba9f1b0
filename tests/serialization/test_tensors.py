"""Checkpoints of real tensors: the bridge between files and the tensor class."""

import copy
import io
import pickle
import re

import numpy as np
import pytest

import pullback
from pullback.serialization import CheckpointError, bridge, load, safetensors, save
from pullback.shell.torch_names.lookup import find_torch_name


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


def test_safetensors_of_tensors(tmp_path):
    value = {"a": pullback.arange(6.0).reshape(2, 3), "b": pullback.ones(2, dtype=pullback.int8)}
    safetensors.save_file(value, tmp_path / "x.safetensors")
    result = load(tmp_path / "x.safetensors")
    assert all(np.array_equal(result[name].numpy(), value[name].numpy()) for name in value)
    with pytest.raises(RuntimeError, match="share memory"):
        safetensors.save({"a": value["a"], "b": value["a"][0]})
    assert len(safetensors.save({"a": value["a"][0], "b": value["a"][1]})) > 24


SPARSE = {
    "coalesced": lambda t: t.eye(3).to_sparse(),
    "twice at one place": lambda t: t.sparse_coo_tensor(
        t.tensor([[0, 2, 0], [1, 0, 1]]), t.tensor([1.0, 2.0, 4.0]), (3, 4)
    ),
    "dense dims": lambda t: t.sparse_coo_tensor(t.tensor([[0, 2]]), t.ones(2, 5), (3, 5)),
    "rows": lambda t: t.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]]).to_sparse_csr(),
    "nothing": lambda t: t.sparse_coo_tensor(size=(2, 3)),
}


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("weights_only", [True, False])
def test_sparse_tensors_travel_between_the_libraries(name, weights_only):
    torch = pytest.importorskip("torch")
    for writer, reader in ((pullback, pullback), (torch, pullback), (pullback, torch)):
        before = SPARSE[name](writer)
        writer.save({"a": before, "b": before}, buffer := io.BytesIO())
        loaded = reader.load(io.BytesIO(buffer.getvalue()), weights_only=weights_only)
        after = loaded["a"]
        assert after is loaded["b"] and str(after.layout) == str(before.layout) and after.dtype is reader.float32
        assert after.to_dense().tolist() == before.to_dense().tolist()
        assert name == "rows" or after.is_coalesced() == before.is_coalesced()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))], ids=["deepcopy", "pickle"])
def test_copies_of_sparse_tensors_are_sparse(copied):
    for make in SPARSE.values():
        before = make(pullback)
        after = copied(before)
        assert after.layout is before.layout and (after.to_dense() == before.to_dense()).all()
        assert not after._values().numel() or after._values().data_ptr() != before._values().data_ptr()


def test_sparse_tensors_whose_places_lie_outside_are_refused():
    from pullback.sparse.tensor import make

    wrong = make(pullback.tensor([[5]]), pullback.ones(1), (3,))
    with pytest.raises(CheckpointError, match="does not hold together"):
        round_trip(wrong)


def test_layouts_are_saved_by_torchs_names():
    torch = pytest.importorskip("torch")
    save([pullback.strided, pullback.sparse_csr], buffer := io.BytesIO())
    assert torch.load(io.BytesIO(buffer.getvalue())) == [torch.strided, torch.sparse_csr]
    assert load(io.BytesIO(buffer.getvalue())) == [pullback.strided, pullback.sparse_csr]


def test_a_whole_layer_in_the_format_before_1_6():
    torch = pytest.importorskip("torch")
    torch.save(layer := torch.nn.Linear(2, 3), buffer := io.BytesIO(), _use_new_zipfile_serialization=False)
    loaded = load(io.BytesIO(buffer.getvalue()), weights_only=False)
    assert type(loaded) is pullback.nn.Linear and loaded.weight.tolist() == layer.weight.tolist()


def test_the_format_before_1_6_is_written_for_torch_and_for_us():
    torch = pytest.importorskip("torch")
    base = pullback.arange(12.0).reshape(3, 4)
    layer = pullback.nn.Linear(4, 2)
    value = {
        "base": base, "view": base[1:, ::2], "again": base, "state": layer.state_dict(), "empty": pullback.zeros(0, 2),
        "parameter": layer.weight, "numbers": [1, 2.5, None, "text"], "half": pullback.ones(3).bfloat16(),
        "flags": pullback.tensor([True, False]), "complex": pullback.ones(2, dtype=pullback.complex64),
    }  # fmt: skip
    save(value, buffer := io.BytesIO(), _use_new_zipfile_serialization=False)
    assert buffer.getvalue()[:2] == b"\x80\x02"
    for library in (torch, pullback):
        loaded = library.load(io.BytesIO(buffer.getvalue()))
        assert loaded["numbers"] == value["numbers"] and loaded["again"] is loaded["base"]
        for name in ("base", "view", "empty", "parameter", "half", "flags", "complex"):
            assert loaded[name].tolist() == value[name].tolist() and str(loaded[name].dtype) == str(value[name].dtype)
        assert loaded["state"]["bias"].tolist() == layer.bias.tolist()
        loaded["base"][1, 0] = -1
        assert loaded["view"][0, 0] == -1 and type(loaded["parameter"]) is library.nn.Parameter
    with pytest.raises(RuntimeError, match="before torch 1.6 cannot hold a tensor of uint16"):
        save(pullback.ones(2).to(pullback.uint16), io.BytesIO(), _use_new_zipfile_serialization=False)


@pytest.mark.parametrize("weights_only", [True, False])
def test_tensors_without_elements_travel_between_the_libraries(weights_only):
    torch = pytest.importorskip("torch")
    for writer, reader in ((pullback, pullback), (torch, pullback), (pullback, torch)):
        layer = writer.nn.Linear(2, 3, device="meta")
        writer.save({**layer.state_dict(), "parameter": layer.weight}, buffer := io.BytesIO())
        loaded = reader.load(io.BytesIO(buffer.getvalue()), weights_only=weights_only)
        assert (
            loaded["weight"].is_meta and loaded["weight"].shape == (3, 2) and loaded["weight"].dtype is reader.float32
        )
        assert loaded["parameter"].requires_grad and loaded["parameter"].is_meta


def test_weights_are_loaded_as_their_outlines():
    torch = pytest.importorskip("torch")
    for writer in (pullback, torch):
        writer.save({"a": writer.ones(3, 4)[1:], "b": writer.ones(2, dtype=writer.int64)}, buffer := io.BytesIO())
        loaded = load(io.BytesIO(buffer.getvalue()), map_location="meta")
        assert loaded["a"].is_meta and loaded["a"].shape == (2, 4) and loaded["b"].dtype is pullback.int64


class _TorchNames(pickle.Unpickler):
    """Reads a pickle that names torch's classes and functions."""

    def find_class(self, module, name):
        return find_torch_name(f"{module}.{name}") if module.startswith("torch") else super().find_class(module, name)


def test_pickles_that_torch_made_without_save():
    torch = pytest.importorskip("torch")
    base = torch.arange(12.0).reshape(3, 4)
    parameter = torch.nn.Parameter(torch.ones(2))
    parameter.tag = "mine"
    values = {
        "columns": base[1:, ::2], "transposed": base.t(), "half": base.bfloat16(), "integers": torch.arange(3),
        "empty": torch.empty(0, 3), "number": torch.tensor(5.0), "leaf": torch.ones(2, requires_grad=True),
        "conjugate": torch.tensor([1 + 2j]).conj(), "negative": torch.tensor([1 + 2j]).conj().imag,
        "parameter": parameter, "layer": torch.nn.Linear(2, 1),
    }  # fmt: skip
    loaded = _TorchNames(io.BytesIO(pickle.dumps(values))).load()
    assert isinstance(loaded["parameter"], pullback.nn.Parameter) and loaded["parameter"].tag == "mine"
    x = pullback.ones(1, 2)
    layer = values.pop("layer")
    np.testing.assert_allclose(loaded["layer"](x).tolist(), layer(torch.ones(1, 2)).tolist(), rtol=1e-6)
    for name, value in values.items():
        mine = loaded[name]
        assert (mine.tolist(), str(mine.dtype), mine.requires_grad) == (
            value.tolist(), str(value.dtype), value.requires_grad
        ), name  # fmt: skip
        assert name in ("conjugate", "negative") or mine.stride() == value.stride()


def test_what_follows_in_a_file_of_the_format_before_1_6():
    pickle.dump("first", buffer := io.BytesIO())
    for value in (pullback.arange(3.0), pullback.ones(2, 2)):
        save(value, buffer, _use_new_zipfile_serialization=False)
        pickle.dump("between", buffer)
    buffer.seek(0)
    assert pickle.load(buffer) == "first"
    assert load(buffer).tolist() == [0, 1, 2] and pickle.load(buffer) == "between"
    assert load(buffer, weights_only=False).tolist() == [[1, 1], [1, 1]] and pickle.load(buffer) == "between"


@pytest.mark.filterwarnings("ignore:pickle_load_args")
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "latin1", "bytes"])
def test_files_of_python_2(encoding, weights_only):
    """Its strings were bytes, those that name storages too; `encoding` says what to make of them, as in torch."""
    torch = pytest.importorskip("torch")

    def as_python_2(match):
        text = match[1]
        return b"U" + bytes((len(text),)) + text

    word, file = "żó", io.BytesIO()
    torch.save([word, torch.arange(2.0)], file, _use_new_zipfile_serialization=False)
    content = re.sub(rb"(?s:X.)\0\0\0((?:storage|cpu|\d+|" + word.encode() + rb"))", as_python_2, file.getvalue())
    assert content.count(b"U") >= 4
    text = word.encode() if encoding == "bytes" else word.encode().decode(encoding)
    for library in (torch, pullback):
        loaded = library.load(io.BytesIO(content), weights_only=weights_only, encoding=encoding)
        assert loaded[0] == text and loaded[1].tolist() == [0, 1], library


def pickled(value):
    return pickle.loads(pickle.dumps(value))


ROADS = {  # from a pickle to a tensor
    "tensor": lambda array: pickled(pullback.from_numpy(array)),
    "parameter": lambda array: pickled(pullback.nn.Parameter(pullback.from_numpy(array))),
    "module": lambda array: pickled(pullback.nn.Linear(3, 2, dtype=pullback.from_numpy(array).dtype)).weight,
    "shared": lambda array: pullback.from_numpy(pickled(array)),
    "as tensor": lambda array: pullback.as_tensor(pickled(array)),
    "copied": lambda array: pullback.tensor(pickled(array)),
    "other order": lambda array: pullback.tensor(array.astype(array.dtype.newbyteorder())),
    "part": lambda array: pullback.from_numpy(pickled(array)[1:, ::2]),
}


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("name", ROADS)
def test_dtypes_out_of_pickles_are_the_usual_objects(name, kind):
    """Operations know them by identity, and would take the long way with others."""
    array = np.arange(12, dtype=kind).reshape(3, 4)
    found = ROADS[name](array)._array
    assert found.dtype is np.dtype(kind)
    if name != "module":
        assert found.tolist() == (array[1:, ::2] if name == "part" else array).tolist()
    assert found.flags.writeable
