"""The checks of `gradcheck` beyond the gradient itself: forward mode, missing gradients and tangents, batches.

Each check is given the run it belongs to (function, inputs, tolerances), which is made in `gradcheck.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import roots
from ..core.basics.notices import warn_user
from ..core.grad_mode import enable_grad
from ..core.special_nodes import UndefinedGrad
from ..core.tape import wrap
from ..core.tensor import Tensor
from .forward_ad import dual_level, make_dual, unpack_dual
from .numerical import GradcheckError, allclose

if TYPE_CHECKING:
    from .gradcheck import _Check


def floating_outputs(result: Any) -> tuple[Tensor, ...]:
    """The outputs that can have a gradient."""
    values = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return tuple(value for value in values if isinstance(value, Tensor) and value._array.dtype.kind in "fcV")


# --- forward mode ---


def check_forward(check: _Check) -> None:
    """Tangents of all outputs, element by element of each input, against difference quotients."""
    for place, position in enumerate(check.wanted):
        target = check.inputs[position]._array
        parts = (("imaginary", 1j), ("real", 1.0)) if target.dtype.kind == "c" else (("", 1.0),)
        for part, unit in parts:
            rows = []
            for element in range(target.size):
                tangent = np.zeros(target.size, target.dtype)
                tangent[element] = unit
                rows.append(_tangents(check, {position: tangent.reshape(target.shape)}))
            for number, columns in enumerate(zip(*rows, strict=True)):
                jacobian = check.numerical(number, place)[1 if unit == 1j else 0]
                found = [np.zeros(jacobian.shape[1:]) if one is None else one.reshape(-1) for one in columns]
                check.report(jacobian, np.stack(found), number, place, part, "inputs", True)


def _tangents(check: _Check, given: dict[int, np.ndarray], without: int | None = None) -> list[np.ndarray | None]:
    """The outputs' tangents for some inputs' tangents, zero for the others; one input may go without."""
    with dual_level(nested=True):
        values = list(check.inputs)
        for position in check.wanted:
            value = check.inputs[position].detach()
            if position != without:
                tangent = given.get(position)
                array = np.zeros(value._array.shape, value._array.dtype) if tangent is None else tangent
                value = make_dual(value, wrap(array))
            values[position] = value
        tangents = [unpack_dual(output).tangent for output in floating_outputs(check.func(*values))]
        return [None if one is None else np.asarray(one.detach()._array) for one in tangents]


def check_forward_without_tangents(check: _Check) -> None:
    """An input whose tangent is zero, and one that has none, must give the same."""
    rng = np.random.default_rng(0)
    drawn = {position: _random_like(check.inputs[position]._array, rng) for position in check.wanted}
    for position in check.wanted:
        others = {other: tangent for other, tangent in drawn.items() if other != position}
        pairs = zip(_tangents(check, others), _tangents(check, others, without=position), strict=True)
        for number, (zero, missing) in enumerate(pairs):
            if zero is not None and missing is not None and not np.allclose(zero, missing, equal_nan=True):
                raise GradcheckError(
                    f"Mismatch in tangent values for output with index: {number} when input with index: {position} has "
                    f"a tangent of zeros, and when it has none.\nzeros: {wrap(zero)}\nnone: {wrap(missing)}"
                )


def _random_like(array: np.ndarray, rng: np.random.Generator, *batch: int) -> np.ndarray:
    return np.asarray(rng.standard_normal((*batch, *array.shape))).astype(array.dtype)


# --- missing gradients ---

_UNDEFINED_NOTE = "Please look at 'Notes about undefined output gradients' in the documentation of custom functions."


def check_undefined(check: _Check) -> None:
    """Backward must cope when no gradient arrives from one of the outputs, or from any of them."""
    with enable_grad():
        outputs = [output for output in floating_outputs(check.func(*check.inputs)) if output.requires_grad]
    targets = [check.inputs[position] for position in check.wanted]
    missing = [{number} for number in range(len(outputs))]
    if len(outputs) > 1:
        missing.append(set(range(len(outputs))))
    for numbers in missing:
        cut = [UndefinedGrad()(output) if number in numbers else output for number, output in enumerate(outputs)]
        zeros = [wrap(np.zeros(output._array.shape, output._array.dtype)) for output in outputs]
        try:
            found = roots.grad(cut, targets, zeros, retain_graph=True, allow_unused=True)
        except Exception as error:
            warn_user(
                "Backwards compatibility: New undefined gradient support checking feature is enabled by default, but "
                "it may break existing callers of this function. If this is true for you, you can call this function "
                'with "check_undefined_grad=False" to disable the feature',
            )
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads. {_UNDEFINED_NOTE}"
            ) from error
        if any(gradient is not None and np.any(np.asarray(gradient.detach()._array) != 0) for gradient in found):
            raise GradcheckError(
                "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                + _UNDEFINED_NOTE
            )


# --- batches ---


def check_batched(check: _Check, outputs: tuple[Tensor, ...], targets: list[int]) -> None:
    """One pass with a batch of cotangents must give what single passes give."""
    rng = np.random.default_rng(0)
    for number, output in enumerate(outputs):
        if not output.requires_grad:
            continue
        weights = _random_like(output._array, rng, 2)
        try:
            together = roots.grad(
                output, targets, wrap(weights), retain_graph=True, allow_unused=True, is_grads_batched=True
            )
        except RuntimeError as error:
            raise _cannot_batch(error) from error
        singly = [roots.grad(output, targets, wrap(weight), retain_graph=True, allow_unused=True) for weight in weights]
        for place, batch in enumerate(together):
            if batch is None:
                continue
            expected = np.stack([np.asarray(one[place]._array) for one in singly])
            if not allclose(np.asarray(batch._array), expected, check.rtol, check.atol):
                raise GradcheckError(_batched_message(number, check.wanted[place], batch, wrap(expected), False))


def check_batched_forward(check: _Check) -> None:
    """A batch of tangents must give what single ones give."""
    from ..func.batching import vmap
    from ..func.forward import jvp

    rng = np.random.default_rng(0)
    for position in check.wanted:
        target = check.inputs[position]

        def along(tangent: Tensor, position: int = position, target: Tensor = target) -> tuple:
            def of(value: Tensor) -> tuple:
                given = (*check.inputs[:position], value, *check.inputs[position + 1 :])
                return floating_outputs(check.func(*given))

            return jvp(of, (target.detach(),), (tangent,))[1]

        tangents = wrap(_random_like(target._array, rng, 2))
        singly = [along(tangents[0]), along(tangents[1])]
        try:
            together = vmap(along)(tangents)
        except RuntimeError as error:
            raise _cannot_batch(error) from error
        for number, batch in enumerate(together):
            expected = np.stack([np.asarray(one[number].detach()._array) for one in singly])
            if not allclose(np.asarray(batch.detach()._array), expected, check.rtol, check.atol):
                raise GradcheckError(_batched_message(number, position, batch, wrap(expected), True))


def _cannot_batch(error: Exception) -> GradcheckError:
    return GradcheckError(
        f"While computing batched gradients, got: {error}\n\ngradcheck or gradgradcheck failed while testing batched "
        "gradient computation. It runs the passes of several gradients as one, by vmap. Pass check_batched_grad=False "
        "(check_batched_forward_grad=False) if the function need not work that way."
    )


def _batched_message(number: int, position: int, got: Tensor, expected: Tensor, forward: bool) -> str:
    kind = "batched forward gradients" if forward else "batched gradients"
    return (
        f"For output {number} and input {position}, the {kind} computed in one batched pass do not agree with those "
        "computed one by one.\n"
        f"got:\n{got}\nexpected:\n{expected}\n"
    )
