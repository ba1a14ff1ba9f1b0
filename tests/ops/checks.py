"""What is checked of an operation on a sample: two derivatives, forward mode, batches, explanation, autocast, other arrays.

Torch takes no part here. `test_samples.py` runs these on the samples that operations have; `python -m tools.check tanh`, on
one operation.
"""

import warnings

import numpy as np

import pullback
from pullback.autograd import grad, gradcheck, gradgradcheck
from pullback.core.tape import apply, wrap
from pullback.func import vmap
from tests.core.another_library import Elsewhere
from tests.explain.test_rules import check as check_explanation

FEW, FAR = 40, 1e6  # elements, for difference quotients of each; and how large numbers may be for them


# Reasons that lie in what an operation is, and not in the samples.
FOR_OTHERS = {
    "no rules", "nothing to differentiate by", "nothing to batch", "nothing to compute with", "the result has no gradient",
}  # fmt: skip


class DoesNotApply(Exception):
    """A check says nothing about a sample, and this is why."""


def is_inexact(value):
    return isinstance(value, np.ndarray) and value.dtype in (np.float64, np.complex128)


def positions(op, inputs):
    """The inputs that derivatives are taken by."""
    if op.pushforward is None and op.joint is None and not any(op.rules.values()):
        raise DoesNotApply("no rules")
    found = [number for number, value in enumerate(inputs) if is_inexact(value) and op.differentiable(number)]
    if not found or sum(inputs[number].size for number in found) > FEW:
        raise DoesNotApply("nothing to differentiate by" if not found else "too many elements")
    if not all(np.abs(inputs[number]).max(initial=0) <= FAR for number in found):  # or there is none
        raise DoesNotApply("numbers so large that difference quotients say nothing")
    return found


def call_of(op, inputs, params, moving):
    """A function of the inputs at some positions alone. Others are constants."""

    def call(*tensors):
        given = [wrap(x.copy()) if isinstance(x, np.ndarray) else x for x in inputs]
        for number, tensor in zip(moving, tensors, strict=True):
            given[number] = tensor
        return apply(op, tuple(given), params or None)

    return call


def floats(result):
    """The results that have gradients."""
    results = result if isinstance(result, (tuple, list)) else (result,)
    return tuple(part for part in results if part.requires_grad)


def need_slope(call, inputs, moving):
    """Not where slopes to both sides differ, as where several elements are the largest."""
    rng, step = np.random.default_rng(0), 1e-6
    ways = [rng.standard_normal(inputs[number].shape) for number in moving]

    def at(factor):
        moved = [wrap(inputs[number] + factor * step * way) for number, way in zip(moving, ways, strict=True)]
        found = call(*moved)
        found = found if isinstance(found, (tuple, list)) else (found,)
        return [part.detach().numpy() for part in found if part.dtype.is_floating_point or part.dtype.is_complex]

    for before, here, after in zip(*map(at, (-1, 0, 1)), strict=True):
        right, left = (after - here) / step, (here - before) / step
        if np.abs(right - left).max(initial=0) > 1e-3 * (1 + np.abs(right).max(initial=0)):
            raise DoesNotApply("slopes to both sides differ")


def leaves(inputs, moving, kind=np.array):
    return [wrap(kind(inputs[number])).requires_grad_() for number in moving]


def derivatives(op, inputs, params):
    """Value to slope and slope to bend, by difference quotients; forward mode, and batches of cotangents, on the way."""
    moving = positions(op, inputs)
    call = call_of(op, inputs, params, moving)
    values = leaves(inputs, moving)
    if not floats(call(*values)):
        raise DoesNotApply("the result has no gradient")
    need_slope(call, inputs, moving)
    assert gradcheck(lambda *x: floats(call(*x)), values, check_undefined_grad=False, check_batched_grad=True)
    assert gradgradcheck(lambda *x: floats(call(*x)), values, check_undefined_grad=False, atol=1e-4)


def forward_mode(op, inputs, params):
    """Tangents of results are what their difference quotients say."""
    moving = positions(op, inputs)
    call = call_of(op, inputs, params, moving)
    if not floats(call(*leaves(inputs, moving))):
        raise DoesNotApply("the result has no gradient")
    need_slope(call, inputs, moving)
    count = len(floats(call(*leaves(inputs, moving))))
    first = lambda *x: (lambda r: tuple(r)[:count] if isinstance(r, (tuple, list)) else (r,))(call(*x))  # noqa: E731
    assert gradcheck(
        first, leaves(inputs, moving), check_undefined_grad=False, check_forward_ad=True, check_backward_ad=False
    )


def batches(op, inputs, params):
    """`vmap` gives what a loop over the examples gives."""
    moving = [number for number, value in enumerate(inputs) if is_inexact(value)]
    if not moving or sum(inputs[number].size for number in moving) > 1000:
        raise DoesNotApply("nothing to batch" if not moving else "too many elements")
    call = call_of(op, inputs, params, moving)
    stacks = [np.stack([inputs[number] * factor for factor in (1, 0.9, 0.95)]) for number in moving]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = vmap(call)(*map(wrap, stacks))
    examples = [call(*[wrap(stack[number].copy()) for stack in stacks]) for number in range(3)]
    if op.first_only:  # what follows is for rules alone
        found, examples = found[0], [example[0] for example in examples]
    several = isinstance(found, (tuple, list))
    for part, expected in zip(found, zip(*examples, strict=True)) if several else [(found, examples)]:
        pullback.testing.assert_close(part, pullback.stack(list(expected)), equal_nan=True)


def explanation(op, inputs, params):
    """What `explain` shows evaluates to the gradient."""
    moving = positions(op, inputs)
    outs = floats(call_of(op, inputs, params, moving)(*leaves(inputs, moving)))
    if not outs:
        raise DoesNotApply("the result has no gradient")
    silent = check_explanation(outs[0])
    if silent:
        raise DoesNotApply("described by what it uses")


def autocast(op, inputs, params):
    """Inputs are cast as the field `autocast` says, and the operation takes them so."""
    if not any(map(is_inexact, inputs)) or sum(x.size for x in inputs if isinstance(x, np.ndarray)) > 1000:
        raise DoesNotApply("too many elements" if any(map(is_inexact, inputs)) else "nothing to compute with")
    single = [x.astype(np.float32) if is_inexact(x) and x.dtype.kind == "f" else x for x in inputs]
    call = call_of(op, single, params, ())
    with pullback.autocast("cpu", dtype=pullback.bfloat16):
        found = call()
    wanted = pullback.bfloat16 if op.autocast == "short" else pullback.float32
    given = [wrap(x).to(wanted) if isinstance(x, np.ndarray) and x.dtype == np.float32 else x for x in single]
    expected = apply(op, tuple(wrap(x) if isinstance(x, np.ndarray) else x for x in given), params or None)
    several = isinstance(found, (tuple, list))
    for ours, true in zip(found, expected, strict=True) if several else [(found, expected)]:
        assert ours.dtype == true.dtype
        pullback.testing.assert_close(ours, true, equal_nan=True)


def other_arrays(op, inputs, params):
    """On arrays of another library: the same value and gradient, in its memory."""
    moving = [number for number, value in enumerate(inputs) if is_inexact(value) and op.differentiable(number)]
    if not moving or not 0 < sum(inputs[number].size for number in moving) <= 1000:
        raise DoesNotApply("nothing to compute with" if not moving else "too many elements, or none")

    def values(kind, ones):
        given = [wrap(kind(x.copy())) if isinstance(x, np.ndarray) else x for x in inputs]
        for number in moving:
            given[number].requires_grad_()
        outs = apply(op, tuple(given), params or None)
        outs = outs if isinstance(outs, (tuple, list)) else (outs,)
        kept = [out for out in outs if out.requires_grad]
        weights = [wrap(kind(ones(tuple(out.shape), out._array.dtype))) for out in kept]
        gradients = grad(kept, [given[number] for number in moving], weights, allow_unused=True) if kept else ()
        shown = outs[:1] if op.first_only else outs  # what follows is for rules alone
        return [each._array for each in (*shown, *gradients) if each is not None]

    for ours, true in zip(values(Elsewhere, np.ones), values(np.asarray, np.ones), strict=True):
        assert type(ours) is Elsewhere and ours.dtype == true.dtype
        np.testing.assert_allclose(ours.there, true, rtol=1e-10, atol=1e-10)


CHECKS = {check.__name__: check for check in (derivatives, forward_mode, batches, explanation, autocast, other_arrays)}


def run(name, op, samples):
    """Run a check on samples: on how many it ran, and why it did not run on others."""
    ran, reasons = 0, set()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for inputs, params in samples:
            pullback.manual_seed(0)
            try:
                CHECKS[name](op, inputs, params)
                ran += 1
            except DoesNotApply as reason:
                reasons.add(str(reason))
    return ran, reasons
