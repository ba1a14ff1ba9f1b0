"""Names that modules register: a program's own `__getattr__`, properties and second bases come first, as in torch."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from nn.layer_cases import CASES
from nn.test_layers import build, make_array

import pullback

torch = pytest.importorskip("torch")


def asked_by(lib, source, specs, do):
    """What `Module.__getattr__` is asked for while `do(module, inputs)` runs, as names of classes and attributes."""
    module = build(lib, source)
    arrays = [make_array(np.random.default_rng(5), spec) for spec in specs]
    inputs = [lib.tensor(array.astype("float32") if array.dtype.kind == "f" else array) for array in arrays]
    names, plain = set(), lib.nn.Module.__getattr__

    def asking(self, name):
        names.add((type(self).__name__, name))
        return plain(self, name)

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(lib.nn.Module, "__getattr__", asking)
        do(module, inputs)
    return names


CALLED = [case for case in CASES if case[1]]


@pytest.mark.parametrize("source, specs", CALLED, ids=[source for source, _ in CALLED])
def test_a_call_asks_for_every_name_that_torch_asks_for(source, specs):
    def call(module, inputs):
        try:
            module(*inputs)
        except RuntimeError:
            pass  # some want other dtypes: in both libraries

    got, want = (asked_by(lib, source, specs, call) for lib in (pullback, torch))
    assert got >= want


class Mixin:
    norm = "none"


def program(lib):
    """What a program sees of registered names, as text that has to be the same for both libraries."""
    nn, seen = lib.nn, []

    class Base(nn.Module):
        def __init__(self, with_norm=True):
            super().__init__()
            if with_norm:
                self.norm = nn.LayerNorm(2)
                self.scale = nn.Parameter(lib.ones(2))
                self.register_buffer("count", lib.zeros(1))

    class Both(Base, Mixin):
        pass

    class Property(Base):
        @property
        def scale(self):
            return "of the property"

        @scale.setter
        def scale(self, value):
            raise RuntimeError("never called for parameters")

    class Asking(Base):
        def __getattr__(self, name):
            seen.append(("asked", name))
            return super().__getattr__(name)

    class Answering(Base):
        def __getattr__(self, name):
            value = super().__getattr__(name)
            return value * 3 if isinstance(value, nn.Parameter) else value

    base = Base()
    seen.append(Both(False).norm)  # after another instance registered the name
    seen.append(type(Both().norm).__name__)
    seen.append([name in vars(Base) or hasattr(Base, name) for name in ("norm", "scale", "count")])
    seen.append(sorted(name for name in dir(base) if name in ("norm", "scale", "count")))
    seen.append(sorted(vars(base).keys() & {"norm", "scale", "count"}))
    asking = Asking()
    asking.norm, asking.scale, asking.count  # noqa: B018
    seen.append(Answering().scale.tolist())
    try:
        seen.append(Property().scale)
    except Exception as error:
        seen.append(type(error).__name__)
    base._parameters["scale"] = nn.Parameter(lib.full((2,), 7.0))  # written past the module, as programs do
    base._buffers["late"] = lib.ones(1)
    seen += [base.scale.tolist(), base.late.tolist()]
    base.__dict__["scale"] = "of the instance"
    seen.append(base.scale)
    del base.__dict__["scale"], base._parameters["scale"]
    seen.append(hasattr(base, "scale"))
    again = copy.deepcopy(asking)
    seen.append((again.scale is not asking.scale, again.norm.weight.tolist()))
    layer = pickle.loads(pickle.dumps(nn.Linear(2, 1)))
    seen.append(sorted(vars(layer).keys() - {"_state_dict_hooks_public"}))  # torch marks the hooks themselves
    del layer.bias
    seen.append((hasattr(layer, "bias"), "bias" in dir(layer)))
    return seen


def test_programs_see_what_torch_shows():
    got, want = program(pullback), program(torch)
    got, want = ([str(one) for one in seen] for seen in (got, want))
    assert got == want


def test_a_call_goes_through_call_impl():
    """Of a subclass, or of one instance, and of a compiled module too."""
    for lib in (pullback, torch):
        calls = []

        class Counted(lib.nn.Linear):
            def _call_impl(self, *args, calls=calls, **kwargs):
                calls.append("class")
                return super()._call_impl(*args, **kwargs)

        layer = Counted(2, 2)
        layer(lib.ones(2))
        layer._call_impl = lambda *args, layer=layer: calls.append("instance") or layer.forward(*args)
        layer(lib.ones(2))
        layer._compiled_call_impl = lambda *args, layer=layer: calls.append("compiled")
        layer(lib.ones(2))
        assert calls == ["class", "instance", "compiled"]
