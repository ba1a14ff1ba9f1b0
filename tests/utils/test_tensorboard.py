"""`SummaryWriter` hands numbers and arrays to tensorboardX; its methods are on the class, where mocks look for them."""

import sys
from types import ModuleType
from unittest.mock import Mock

import numpy as np
import pytest

import pullback
from pullback.utils.tensorboard import SummaryWriter


class Recorder:
    def __init__(self, logdir=None, comment="", **options):
        self.logdir, self.calls = logdir, []

    def __getattr__(self, name):
        return lambda *args, **kwargs: self.calls.append((name, args, kwargs))


@pytest.fixture
def writer(monkeypatch):
    module = ModuleType("tensorboardX")
    module.SummaryWriter = Recorder
    monkeypatch.setitem(sys.modules, "tensorboardX", module)
    return SummaryWriter("somewhere")


def test_tensors_arrive_as_numbers_and_arrays(writer):
    weight = pullback.ones(2, requires_grad=True)
    with writer:
        writer.add_scalar("loss", weight.sum(), global_step=3)
        writer.add_scalars("both", {"a": pullback.tensor(1), "b": 2.0})
        writer.add_histogram("weight", weight.bfloat16())
        writer.export_scalars_to_json("file")
    names, arguments, options = zip(*writer._writer.calls)
    assert names == ("add_scalar", "add_scalars", "add_histogram", "export_scalars_to_json", "close")
    assert arguments[0] == ("loss", 2.0) and type(arguments[0][1]) is float and options[0] == {"global_step": 3}
    assert arguments[1] == ("both", {"a": 1, "b": 2.0}) and arguments[3] == ("file",)
    assert type(arguments[2][1]) is np.ndarray and arguments[2][1].tolist() == [1.0, 1.0]
    assert writer.log_dir == writer.get_logdir() == "somewhere"


def test_methods_are_on_the_class():
    imitation = Mock(spec=SummaryWriter)
    imitation.add_scalar("loss", 1.0)
    imitation.close()
    assert imitation.add_scalar.call_args.args == ("loss", 1.0)
    with pytest.raises(AttributeError):
        imitation.add_nothing("loss")
    assert all(getattr(SummaryWriter, name).__doc__ for name in dir(SummaryWriter) if name.startswith("add_"))
