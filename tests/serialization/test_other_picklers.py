"""`save(..., pickle_module=...)`: pickles by other modules, which know how to write local functions and classes."""

import io
import pickle
import subprocess
import sys
from types import SimpleNamespace

import pytest

import pullback
from pullback.serialization import load, save

MODULES = {
    "in Python": lambda: SimpleNamespace(__name__="own", Pickler=pickle._Pickler, Unpickler=pickle._Unpickler),
    "cloudpickle": lambda: pytest.importorskip("cloudpickle"),
    "dill": lambda: pytest.importorskip("dill"),
}


@pytest.mark.parametrize("is_zip", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_tensors_come_back(name, is_zip):
    layer = pullback.nn.Linear(2, 3)
    base = pullback.arange(6.0)
    value = {
        "layer": layer, "same": layer.weight, "base": base, "view": base.view(2, 3).t(), "size": base.shape,
        "dtype": pullback.int8, "device": base.device, "kept": layer.weight, "bits": pullback.ones(2, dtype=pullback.bool),
        "storage": pullback.arange(3, dtype=pullback.uint8).untyped_storage(), "empty": pullback.empty(0, 3),
        "plain": [1, "a", 2.5, None],
    }  # fmt: skip
    file = io.BytesIO()
    save(value, file, pickle_module=MODULES[name](), _use_new_zipfile_serialization=is_zip)
    file.seek(0)
    found = load(file, weights_only=False)
    assert found["same"] is found["kept"] is found["layer"].weight
    assert isinstance(found["same"], pullback.nn.Parameter) and pullback.equal(found["same"], layer.weight)
    assert pullback.equal(found["layer"](pullback.ones(1, 2)), layer(pullback.ones(1, 2)))
    found["base"][1] = 9.0
    assert found["view"][1, 0] == 9 and found["view"].stride() == (1, 3)  # views of one memory stay so
    assert type(found["size"]) is pullback.Size and found["dtype"] is pullback.int8 and found["device"] == base.device
    assert found["bits"].tolist() == [True, True] and found["empty"].shape == (0, 3)
    assert found["plain"] == [1, "a", 2.5, None]
    assert found["storage"].tolist() == [0, 1, 2]


def test_the_file_can_be_loaded_by_the_same_module():
    module = MODULES["in Python"]()
    file = io.BytesIO()
    save([pullback.ones(2)], file, pickle_module=module, pickle_protocol=4)
    file.seek(0)
    assert load(file, pickle_module=module)[0].tolist() == [1.0, 1.0]
    file.seek(0)
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        load(file)


def test_local_functions_and_classes_by_cloudpickle(tmp_path):
    cloudpickle = pytest.importorskip("cloudpickle")
    scale = pullback.full((2,), 3.0)

    class Scaled(pullback.nn.Module):
        def __init__(self):
            super().__init__()
            self.change = lambda x: pullback.relu(x) * scale

        def forward(self, x):
            return self.change(x)

    with pytest.raises(AttributeError, match="Can't pickle"):
        save(Scaled(), tmp_path / "no.pt")
    save(Scaled(), tmp_path / "yes.pt", pickle_module=cloudpickle)
    program = "import sys, pullback; print(pullback.load(sys.argv[1], weights_only=False)(pullback.tensor([-1.0, 2])).tolist())"
    run = subprocess.run(
        [sys.executable, "-c", program, tmp_path / "yes.pt"], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[0.0, 6.0]"
