"""Kernels give what formulas give, forward and backward: for every operation that has a kernel, on all its samples."""

import numpy as np
import pytest

from pullback.autograd import grad
from pullback.core.kernel import kernel
from pullback.core.op import op as op_of
from pullback.core.recording import value_of
from pullback.core.tape import apply, wrap
from pullback.ops.samples import Draw
from tests.ops.operations import operations

OPS = {name: op for name, op in operations() if op.kernel is not None}
CASES = [
    pytest.param(op, dtype, layout, id=f"{name.removeprefix('pullback.ops.')}-{dtype.__name__}-{layout}")
    for name, op in OPS.items()
    for dtype in (np.float64, np.float32)
    for layout in ("in order", "with gaps", "turned")
]
TOLERANCES = {np.float64: 1e-10, np.float32: 1e-4}


def laid_out(value, layout):
    """The same numbers, elsewhere in memory."""
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f" or value.ndim == 0 or layout == "in order":
        return value
    return np.repeat(value, 2, -1)[..., ::2] if layout == "with gaps" else np.array(value.T, order="C").T


def parts(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def close(fast, true, dtype):
    assert (fast is None) == (true is None)
    if fast is not None:
        fast, true = np.asarray(fast), np.asarray(true)
        assert fast.shape == true.shape and fast.dtype == true.dtype
        scale = np.max(np.abs(true), initial=1, where=np.isfinite(true)) if true.dtype.kind == "f" else 1
        tolerance = TOLERANCES[dtype]
        np.testing.assert_allclose(fast, true, rtol=tolerance, atol=tolerance * scale)


def is_real(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("op", "dtype", "layout"), CASES)
def test_a_kernel_gives_what_the_formula_gives(op, dtype, layout):
    served = set()
    for inputs, params in op.samples(Draw(dtype)):
        inputs = tuple(laid_out(value, layout) for value in inputs)
        if op.kernel.forward is not None:
            fast = op.kernel.forward(*inputs, **params)
            if fast is not NotImplemented:
                served.add("forward")
                true = op.formula(*inputs, **params)
                for number, (ours, theirs) in enumerate(zip(parts(fast), parts(true))):
                    # What follows the first output may be for the kernel's rules alone.
                    if not (op.first_only and number) or ours.shape == theirs.shape and inputs[0].size:
                        close(ours, theirs, dtype)
        check_rules(op, inputs, params, dtype, layout, served)
    assert served == {name for name in ("forward", "joint") if getattr(op.kernel, name)} | op.kernel.rules.keys()


def check_rules(op, inputs, params, dtype, layout, served):
    """Rules and their kernels, given the results that a forward pass of arrays saves."""
    outs = tuple(parts(op.forward(*inputs, **params)))
    draw = Draw(dtype, 1)
    slopes = tuple(laid_out(draw(*out.shape), layout) if out.dtype.kind == "f" else None for out in outs)
    g = slopes[0] if op.outputs == 1 or op.first_only else slopes
    needs = tuple(map(is_real, inputs))

    def arguments(rule):
        names = getattr(rule, "names", rule.__code__.co_varnames[1 : rule.__code__.co_argcount])
        saved = {name: op.save_code(name) for name in names}
        return [
            needs if name == "needs" else params[name] if code is None else value_of(code, op, inputs, outs)
            for name, code in saved.items()
        ]

    for name in ("joint", *op.kernel.rules):
        quick = op.kernel.joint if name == "joint" else op.kernel.rules[name]
        rule = op.joint if name == "joint" else op.real_rules[name]
        fast = NotImplemented if quick is None else quick(g, *arguments(quick))
        if fast is not NotImplemented:
            served.add(name)
            true = rule(g, *arguments(rule))
            pairs = [(fast, true)] if name != "joint" else list(zip(fast, true))
            for number, (ours, theirs) in enumerate(pairs):
                if name != "joint" or needs[number]:  # gradients get their dtype from the tape
                    close(ours, None if theirs is None else np.asarray(theirs).astype(np.asarray(ours).dtype), dtype)


@pytest.mark.filterwarnings("ignore")
def test_kernels_have_samples():
    """Large enough that work is cut, and without elements; without samples, nothing above would be tested."""
    for name, op in OPS.items():
        assert op.samples is not None, f"{name} has a kernel and no samples"
        samples = list(op.samples(Draw()))
        arrays = [(*inputs, *parts(op.forward(*inputs, **params))) for inputs, params in samples]
        sizes = [value.size for values in arrays for value in values if is_real(value)]
        assert max(sizes) >= 1 << 13 and min(sizes) == 0, f"{name} has samples of {sorted(set(sizes))} elements"


def test_where_a_kernel_cannot_serve_the_formula_runs():
    """On arrays of others, on numbers of Python's, of complex results, and where it says so."""
    ran = []

    def noted(name, value):
        ran.append(name)
        return value

    def fast(x, factor):
        return NotImplemented if factor == 0 else noted("kernel", x * factor)

    scaled = op_of(
        "ScaledBackward0",
        lambda x, factor: noted("formula", x * factor),
        x=lambda g, factor: noted("rule", g * factor),
        kernel=kernel(fast, x=lambda g, x, factor: NotImplemented if factor == 0 else noted("its kernel", g * factor)),
    )

    def run(x, factor):
        ran.clear()
        x = wrap(np.asarray(x)).requires_grad_()
        apply(scaled, (x,), {"factor": factor}).sum().backward()
        return list(ran), x.grad.tolist()

    assert run([1.0, 2.0], 3) == (["kernel", "its kernel"], [3.0, 3.0])
    assert run(2.0, 3) == (["kernel", "its kernel"], 3.0)
    assert run([1.0, 2.0], 0) == (["formula", "rule"], [0.0, 0.0])
    ran.clear()
    x = wrap(np.ones(2, complex)).requires_grad_()
    apply(scaled, (x,), {"factor": 3}).sum().backward(gradient=wrap(np.array(1 + 0j)))
    assert ran == ["kernel", "rule"]
    ran.clear()
    x = wrap(np.ones(2)).requires_grad_()
    grad((apply(scaled, (x,), {"factor": 3}) ** 2).sum(), x, create_graph=True)
    assert ran == ["kernel", "rule"]
    assert scaled.forward(2.0, factor=3) == 6.0 and ran[-1] == "formula"


def test_a_kernel_asks_for_what_there_is():
    with pytest.raises(TypeError, match="asks for 'stars'"):
        op_of("WrongBackward0", lambda x: x, x=lambda g: g, kernel=kernel(x=lambda g, stars: g))
    with pytest.raises(TypeError, match="without a rule"):
        op_of("WrongBackward0", lambda x, y: x, x=lambda g: g, y=None, kernel=kernel(y=lambda g: g, z=lambda g: g))
