"""Every layer against torch: how it prints, what it draws, its output and its gradients, in both modes."""

import warnings

import numpy as np
import pytest
from nn.layer_cases import CASES

import pullback

torch = pytest.importorskip("torch")


def make_array(rng, spec):
    if spec[0] == "index":
        return rng.integers(0, spec[2], spec[1])
    if spec[0] == "positive":
        return np.abs(rng.normal(size=spec[1])) + 0.1
    if spec[0] == "unit":
        return rng.uniform(0.05, 0.95, spec[1])
    return rng.normal(size=spec[1] if spec[0] == "fixed" else spec)


def leaves(value):
    if isinstance(value, (tuple, list)):
        return [leaf for part in value for leaf in leaves(part)]
    return [] if value is None else [value]


def to_numpy(tensor):
    return None if tensor is None else tensor.detach().numpy()


def build(lib, source):
    lib.manual_seed(17)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(source, {"nn": lib.nn, "torch": lib})


def run(lib, source, specs, training):
    """Everything a program could see of one layer: printed form, states before and after, outputs, gradients."""
    seen = {}
    module = build(lib, source)
    seen["repr"] = repr(module)
    rng = np.random.default_rng(5)
    arrays = [make_array(rng, spec) for spec in specs]
    if source.startswith("nn.Lazy"):
        module(lib.tensor(arrays[0].astype("float32")))
        seen["repr"] += repr(module)
    seen["drawn"] = {name: to_numpy(tensor) for name, tensor in module.state_dict().items()}
    module = module.double().train(training)
    inputs = [
        lib.tensor(array, requires_grad=array.dtype.kind == "f" and spec[0] != "fixed")
        for array, spec in zip(arrays, specs)
    ]
    lib.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs = leaves(module(*inputs))
    differentiable = [output for output in outputs if output.requires_grad]
    seen["outputs"] = [to_numpy(output) for output in outputs]
    if differentiable:
        total = sum((output * lib.tensor(rng.normal(size=tuple(output.shape)))).sum() for output in differentiable)
        total.backward()
    seen["gradients"] = [to_numpy(tensor.grad) for tensor in inputs]
    seen["gradients"] += [to_numpy(parameter.grad) for parameter in module.parameters()]
    seen["state"] = {name: to_numpy(tensor) for name, tensor in module.state_dict().items()}
    return seen


def check_close(got, want, label):
    assert len(got) == len(want), label
    for index, (ours, theirs) in enumerate(zip(got, want)):
        assert (ours is None) == (theirs is None), (label, index)
        if theirs is not None:
            assert ours.dtype == theirs.dtype and ours.shape == theirs.shape, (label, index)
            # a lazy module starts from float32 statistics, equal only to their rounding
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-7, err_msg=f"{label} {index}")


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize(("source", "specs"), [case for case in CASES if case[1]], ids=lambda value: str(value)[:70])
def test_same_as_torch(source, specs, training):
    ours = run(pullback, source, specs, training)
    theirs = run(torch, source, specs, training)
    assert ours["repr"] == theirs["repr"]
    assert list(ours["drawn"]) == list(theirs["drawn"])
    for name, value in theirs["drawn"].items():
        assert ours["drawn"][name].dtype == value.dtype
        if "running" in name:  # a lazy module has already seen a batch: the same to rounding
            np.testing.assert_allclose(ours["drawn"][name], value, rtol=1e-6, atol=1e-8, err_msg=name)
        else:
            np.testing.assert_array_equal(ours["drawn"][name], value, err_msg=name)
    check_close(ours["outputs"], theirs["outputs"], "output")
    check_close(ours["gradients"], theirs["gradients"], "gradient")
    check_close(list(ours["state"].values()), list(theirs["state"].values()), "state")


@pytest.mark.parametrize("source", [case[0] for case in CASES if not case[1]])
def test_prints_as_torch(source):
    assert repr(build(pullback, source)) == repr(build(torch, source))


def test_every_public_name_exists():
    missing = [name for name in torch.nn.modules.__all__ if not hasattr(pullback.nn, name)]
    assert missing == []
    untested = {name for name in torch.nn.modules.__all__ if not any(f"nn.{name}(" in case[0] for case in CASES)}
    elsewhere = {"Module", "Container", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "RNNBase",
                 "RNNCellBase", "NLLLoss2d", "CTCLoss", "LinearCrossEntropyOptions"}  # fmt: skip
    assert untested == elsewhere


EMPTY = """
nn.BatchNorm1d(3)(z(0, 3))
nn.BatchNorm2d(3)(z(2, 3, 0, 2))
nn.BatchNorm2d(3, momentum=None)(z(0, 3, 2, 2))
nn.MultiheadAttention(8, 2)(z(4, 0, 8), z(3, 0, 8), z(3, 0, 8))[0]
nn.MultiheadAttention(8, 2, batch_first=True)(z(0, 4, 8), z(0, 3, 8), z(0, 3, 8), need_weights=False)[0]
nn.TransformerEncoderLayer(8, 2, batch_first=True)(z(0, 3, 8))
nn.TransformerDecoderLayer(8, 2)(z(4, 0, 8), z(3, 0, 8))
nn.Transformer(8, 2, 1, 1, 4)(z(4, 0, 8), z(3, 0, 8))
nn.Conv2d(2, 3, 3, padding=1)(z(0, 2, 4, 4))
nn.ConvTranspose1d(2, 3, 2)(z(0, 2, 4))
nn.MaxPool2d(2)(z(0, 2, 4, 4))
nn.AvgPool2d(2)(z(0, 2, 4, 4))
nn.AdaptiveAvgPool2d(2)(z(0, 2, 4, 4))
nn.GroupNorm(2, 4)(z(0, 4, 3))
nn.LayerNorm(4)(z(0, 4))
nn.Upsample(scale_factor=2)(z(0, 2, 4, 4))
nn.PReLU(3)(z(0, 3))
nn.Bilinear(2, 3, 4)(z(0, 2), z(0, 3))
nn.Linear(2, 3)(z(0, 2))
nn.ReflectionPad2d(1)(z(0, 2, 4, 4))
nn.Flatten()(z(0, 2, 4, 4))
nn.Unfold(2)(z(0, 2, 4, 4))
nn.MSELoss()(z(0, 2), z(0, 2))
nn.CrossEntropyLoss(reduction="sum")(z(0, 2), z(0).long())
nn.CosineSimilarity()(z(0, 2), z(0, 2))
nn.GLU()(z(0, 4))
nn.Softmax(1)(z(0, 4))
"""


@pytest.mark.parametrize("line", EMPTY.strip().splitlines())
def test_a_batch_of_nothing_goes_through(line):
    """The shape, and that statistics and gradients stay what they are."""

    def outcome(module):
        made, inputs = [], []

        def z(*shape):
            inputs.append(module.zeros(*shape, requires_grad=True))
            return inputs[-1]

        class Names:
            def __getattr__(self, name):
                def make(*args, **kwargs):
                    made.append(getattr(module.nn, name)(*args, **kwargs))
                    return made[-1]

                return make

        out = eval(line, {"nn": Names(), "z": z})
        if out.requires_grad:
            out.sum().backward()
        state = [value.tolist() for name, value in made[0].state_dict().items() if "running" in name or "num" in name]
        return tuple(out.shape), state, [None if x.grad is None else tuple(x.grad.shape) for x in inputs]

    assert outcome(pullback) == outcome(pytest.importorskip("torch"))
