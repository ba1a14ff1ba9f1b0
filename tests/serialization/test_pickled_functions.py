"""Functions are pickled by the name under which programs know them, alone and as attributes of a module that is saved."""

import io
import pickle

import pytest

import pullback
from pullback import nn

# Torch makes these of others when they are called by name; they have no place of their own here.
WITHOUT_A_PLACE = ("_copy", "_", "dropout", "split", "chunk")
SPACES = {
    "torch": pullback, "functional": nn.functional, "linalg": pullback.linalg, "fft": pullback.fft,
    "special": pullback.special,
}  # fmt: skip


@pytest.mark.parametrize("space", SPACES)
def test_functions_are_found_again(space):
    lost, found = [], 0
    for name in getattr(SPACES[space], "__all__", dir(SPACES[space])):
        function = getattr(SPACES[space], name)
        if (
            name.startswith("_")
            or name.endswith(WITHOUT_A_PLACE)
            or not callable(function)
            or isinstance(function, type)
        ):
            continue
        try:
            found += pickle.loads(pickle.dumps(function)) is function
        except (pickle.PicklingError, AttributeError):
            lost.append(name)
    assert found > 12
    assert len(lost) <= found // 20, lost


class Chosen(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss, self.activation, self.compare = nn.functional.cross_entropy, pullback.abs, pullback.gt


def test_a_module_that_holds_functions_is_saved_whole():
    buffer = io.BytesIO()
    pullback.save(Chosen(), buffer)
    buffer.seek(0)
    found = pullback.load(buffer, weights_only=False)
    assert (found.loss, found.activation, found.compare) == (nn.functional.cross_entropy, pullback.abs, pullback.gt)
