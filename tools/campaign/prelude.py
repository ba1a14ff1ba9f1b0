"""What the programs of a campaign may use; scripts of minimal programs begin with it.

`T` is the library: whoever runs this has set it, or the script's first argument names it.
"""

import importlib
import sys

import numpy as np

T = globals().get("T") or importlib.import_module(sys.argv[1])
NUDGE = globals().get("NUDGE", 0.0)  # every random number is moved by so much of itself, to see what rounding does

EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, 1e30, np.inf, -np.inf, np.nan]
TIES = [0.0, 1.0, -1.0, 0.5, 2.0, -2.0]


def numbers(seed, shape, dtype="float64", kind="normal"):
    """Random numbers as an array: normal ones, some that are often equal, or those at the edges of functions."""
    draw = np.random.RandomState(seed)
    if dtype == "bool":
        return np.asarray(draw.rand(*shape) > 0.5)
    if "int" in dtype:
        return np.asarray(draw.randint(0, 3, size=shape)).astype(dtype)
    values = (
        np.asarray(draw.randn(*shape)) if kind == "normal" else draw.choice(TIES if kind == "ties" else EDGES, shape)
    )
    if dtype.startswith("complex"):
        values = values + 1j * np.asarray(draw.randn(*shape))
    return np.asarray(values * (1 + NUDGE)).astype(dtype)


def leaf(seed, shape, dtype="float64", kind="normal", layout="rows", requires_grad=False):
    """A tensor of random numbers that lie in memory as `layout` says."""
    values = T.tensor(numbers(seed, shape, "float32" if dtype == "bfloat16" else dtype, kind))
    if dtype == "bfloat16":
        values = values.to(T.bfloat16)
    backwards = list(reversed(range(len(shape))))
    if layout == "columns":
        values = values.permute(backwards).contiguous().permute(backwards)
    elif layout == "swapped" and len(shape) > 1:
        values = values.transpose(-1, -2).contiguous().transpose(-1, -2)
    elif layout == "gaps" and len(shape):
        values = T.stack([values, values], -1)[..., 0]
    elif layout == "expanded" and len(shape):
        values = values[:1].expand(shape)
    elif layout == "offset":
        values = T.stack([values, values])[1]
    return values.detach().requires_grad_(requires_grad)


def double_gradient(parameter):
    """A hook, which must return nothing."""
    parameter.grad.mul_(2)


class Sine(T.autograd.Function):
    """Keeps its input; its gradient is one and a half times the right one."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sin()

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0].cos() * 1.5


class Product(T.autograd.Function):
    """Two inputs, of which only what is asked for gets a gradient."""

    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        first = (g * y).sum_to_size(x.shape) if ctx.needs_input_grad[0] else None
        return first, (g * x).sum_to_size(y.shape) if ctx.needs_input_grad[1] else None


class Masked(T.autograd.Function):
    """Two outputs, of which one has no gradient; missing cotangents stay None."""

    @staticmethod
    def forward(ctx, x):
        mask = x > 0
        ctx.mark_non_differentiable(mask)
        ctx.set_materialize_grads(False)
        return x * 2, mask

    @staticmethod
    def backward(ctx, g, of_mask):
        return None if g is None else g * 2


class Tripled(T.autograd.Function):
    """Writes to its input."""

    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(3)

    @staticmethod
    def backward(ctx, g):
        return g * 3


class WithNumpy(T.autograd.Function):
    """Leaves for NumPy and returns."""

    @staticmethod
    def forward(ctx, x):
        array = x.detach().numpy()
        ctx.slope = np.cos(array) * 2
        return T.as_tensor(np.sin(array) * 2)

    @staticmethod
    def backward(ctx, g):
        return g * T.as_tensor(ctx.slope)
