"""Arguments by their names: inputs of passes in a dict, keywords of custom functions. Torch says the same, errors included."""

from collections import OrderedDict, UserDict

import pytest

import pullback

torch = pytest.importorskip("torch")


def answer(case, library):
    """What a case gives, as numbers and texts that can be compared between libraries."""
    x = library.tensor([1.0, 2.0], requires_grad=True)
    y = library.tensor([3.0, 4.0], requires_grad=True)
    try:
        return plain(case(library, x, y))
    except (TypeError, RuntimeError) as error:
        return type(error).__name__, str(error).split(". ")[0].rstrip(".")


def plain(value):
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def after_backward(x, y, **arguments):
    (x * y).sum().backward(**arguments)
    return x.grad, y.grad


def kind_of(answers):
    return type(answers).__name__, list(answers)


PASSES = {
    "grad": lambda t, x, y: t.autograd.grad((x * y).sum(), {"first": x, "second": y}),
    "grad, any keys": lambda t, x, y: t.autograd.grad((x * y).sum(), {1: x, (2, 3): y}),
    "grad, unused": lambda t, x, y: t.autograd.grad((x * 2).sum(), {"a": x, "b": y}, allow_unused=True),
    "grad, unused and not allowed": lambda t, x, y: t.autograd.grad((x * 2).sum(), {"a": x, "b": y}),
    "grad, zeros": lambda t, x, y: t.autograd.grad((x * 2).sum(), {"a": x, "b": y}, materialize_grads=True),
    "grad, recorded": lambda t, x, y: t.autograd.grad((x * x).sum(), {"a": x}, create_graph=True)["a"].requires_grad,
    "grad, batched": lambda t, x, y: t.autograd.grad(x * 2, {"a": x}, t.eye(2), is_grads_batched=True),
    "grad, ordered": lambda t, x, y: kind_of(t.autograd.grad((x * y).sum(), OrderedDict(a=x))),
    "grad, other mapping": lambda t, x, y: t.autograd.grad((x * y).sum(), UserDict(a=x)),
    "grad, empty dict": lambda t, x, y: t.autograd.grad(x.sum(), {}),
    "grad, empty list": lambda t, x, y: t.autograd.grad(x.sum(), []),
    "grad, a text": lambda t, x, y: t.autograd.grad(x.sum(), ["x"]),
    "grad, a number in a dict": lambda t, x, y: t.autograd.grad(x.sum(), {"a": 3}),
    "backward": lambda t, x, y: after_backward(x, y, inputs={"a": x}),
    "backward, both": lambda t, x, y: after_backward(x, y, inputs={"a": x, "b": y}),
    "backward, ordered": lambda t, x, y: after_backward(x, y, inputs=OrderedDict(a=x)),
    "backward, other mapping": lambda t, x, y: after_backward(x, y, inputs=UserDict(a=x)),
    "backward, empty dict": lambda t, x, y: after_backward(x, y, inputs={}),
}


def scaled(t):
    class Scaled(t.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale=2.0, shift=0.0, *, rounds=1):
            ctx.scale = scale
            return x * scale * rounds + shift

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.scale, None, None

    return Scaled.apply


def product(t):
    class Product(t.autograd.Function):
        @staticmethod
        def forward(left, right, times=1):
            return left * right * times

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs[:2])
            ctx.times = inputs[2]

        @staticmethod
        def backward(ctx, grad):
            left, right = ctx.saved_tensors
            return grad * right * ctx.times, grad * left * ctx.times, None

    return Product.apply


def keyword_only(t):
    class OnlyByName(t.autograd.Function):
        @staticmethod
        def forward(x, *, power=2):
            return x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

    return OnlyByName.apply


def collecting(t):
    class Collecting(t.autograd.Function):
        @staticmethod
        def forward(ctx, *args, **kwargs):
            return args[0] * len(args)

    return Collecting.apply


CUSTOM = {
    "default": lambda t, x, y: scaled(t)(x),
    "second by name": lambda t, x, y: scaled(t)(x, scale=5.0),
    "all by name": lambda t, x, y: scaled(t)(shift=1.0, scale=5.0, x=x),
    "a gap": lambda t, x, y: scaled(t)(x, shift=1.0),
    "the first is missing": lambda t, x, y: scaled(t)(scale=5.0),
    "unknown": lambda t, x, y: scaled(t)(x, size=5.0),
    "twice": lambda t, x, y: scaled(t)(x, x=x),
    "only by name": lambda t, x, y: scaled(t)(x, rounds=3),
    "ctx": lambda t, x, y: scaled(t)(x, ctx=3),
    "collected names": lambda t, x, y: collecting(t)(x, size=5.0),
    "collected places": lambda t, x, y: collecting(t)(x, 5.0),
    "gradient": lambda t, x, y: t.autograd.grad(scaled(t)(x=x, scale=5.0).sum(), x),
    "setup": lambda t, x, y: t.autograd.grad(product(t)(right=y, left=x).sum(), (x, y)),
    "setup, default": lambda t, x, y: t.autograd.grad(product(t)(x, right=y, times=3).sum(), (x, y)),
    "setup, unknown": lambda t, x, y: product(t)(x, y, size=5.0),
    "setup, missing": lambda t, x, y: product(t)(right=y),
    "setup, only by name": lambda t, x, y: keyword_only(t)(x, power=3),
}


@pytest.mark.parametrize("name", [*PASSES, *CUSTOM])
def test_as_torch_does_it(name):
    case = {**PASSES, **CUSTOM}[name]
    assert answer(case, pullback) == answer(case, torch)
