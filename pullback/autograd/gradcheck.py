"""`gradcheck` and `gradgradcheck`: compare gradients with difference quotients.

In slow mode the whole Jacobian of every output by every input, in fast mode one random projection of it. Complex values
are checked for their real and imaginary parts. The checks beyond first-order backward (forward mode, batched passes,
zero cotangents) are asked for by keyword, as in torch.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from ..tensor import Tensor
from . import roots
from .grad_mode import enable_grad
from .numerical import Step, allclose, directional, numerical_jacobian
from .tape import wrap

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A gradient does not agree with what it was compared to."""


GradcheckError.__module__ = "torch.autograd.gradcheck"


def gradcheck(
    func: Callable[..., Any], inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False, check_forward_ad: bool = False, check_backward_ad: bool = True,
    fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Whether the gradients of `func` at `inputs` agree with difference quotients; GradcheckError, or False, if not."""
    assert check_forward_ad or check_backward_ad, (
        "Expected at least one of check_forward_ad or check_backward_ad to be True"
    )
    assert not (check_batched_grad and not check_backward_ad), (
        "Setting check_batched_grad=True requires check_backward_ad to be True"
    )
    assert not (check_batched_forward_grad and not check_forward_ad), (
        "Setting check_batched_forward_grad=True requires check_forward_ad to be True"
    )
    values = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    check = _Check(func, values, Step(eps), atol, rtol, nondet_tol)
    try:
        check.run(
            check_forward_ad,
            check_backward_ad,
            fast_mode,
            check_undefined_grad,
            check_batched_grad,
            check_batched_forward_grad,
            check_grad_dtypes,
        )
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _outputs(result: Any) -> tuple:
    values = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return tuple(value for value in values if isinstance(value, Tensor) and value._array.dtype.kind in "fcV")


class _Check:
    """One run: the function, where, and how closely."""

    def __init__(
        self, func: Callable[..., Any], inputs: tuple[Any, ...], step: Step, atol: float, rtol: float, nondet_tol: float
    ) -> None:
        self.func, self.inputs, self.step, self.atol, self.rtol, self.nondet_tol = (
            func,
            inputs,
            step,
            atol,
            rtol,
            nondet_tol,
        )
        self.wanted = [position for position, value in enumerate(inputs) if _differentiable(value)]

    def run(
        self,
        forward: bool,
        backward: bool,
        fast: bool,
        undefined: bool,
        batched: bool,
        batched_forward: bool,
        dtypes: bool,
    ) -> None:
        self.check_inputs()
        with enable_grad():
            outputs = _outputs(self.func(*self.inputs))
        targets = [self.inputs[position] for position in self.wanted]
        if not any(output.requires_grad for output in outputs):
            self.check_no_dependence(outputs)
            return
        for number, output in enumerate(outputs):
            for place, _ in enumerate(targets):
                self.check_pair(number, output, place, backward, forward, fast)
        if backward:
            self.check_linear_in_cotangent(outputs, targets, dtypes)
            if undefined:
                self.check_undefined(outputs, targets)
        if batched:
            self.check_batched(outputs, targets)
        if batched_forward:
            self.check_batched_forward(targets)

    def check_inputs(self) -> None:
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True."
            )
        for position in self.wanted:
            value = self.inputs[position]
            if value._array.dtype not in (np.float64, np.complex128):
                warnings.warn(
                    f"Input #{position} requires gradient and is not a double precision floating point or complex. "
                    "This check will "
                    "likely fail if all the inputs are not of double precision floating point or complex. ",
                    UserWarning,
                    stacklevel=5,
                )
            array = value.memory()
            if any(step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True)):
                raise RuntimeError(
                    f"The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be "
                    "able to compute the numerical gradients correctly. You should call .contiguous on the input "
                    "before passing it to "
                    "gradcheck."
                )

    def check_no_dependence(self, outputs: tuple[Any, ...]) -> None:
        for number in range(len(outputs)):
            for place in range(len(self.wanted)):
                if np.any(self.numerical(number, place) != 0):
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    # --- numbers ---

    def values_at(self, number: int) -> np.ndarray:
        return np.array(_outputs(self.func(*self.inputs))[number].detach()._array)

    def numerical(self, number: int, place: int) -> np.ndarray:
        array = self.inputs[self.wanted[place]].memory()
        return numerical_jacobian(lambda: self.values_at(number), array, self.step)

    def pulled(self, output: Tensor, place: int, cotangent: np.ndarray) -> np.ndarray:
        target = self.inputs[self.wanted[place]]
        if not output.requires_grad:
            return np.zeros(target._array.shape, target._array.dtype)
        (gradient,) = roots.grad(output, target, wrap(cotangent), retain_graph=True, allow_unused=True)
        return (
            np.zeros(target._array.shape, target._array.dtype)
            if gradient is None
            else np.asarray(gradient.detach()._array)
        )

    def analytical(self, output: Tensor, place: int, unit: complex) -> np.ndarray:
        """Rows are input elements, columns output elements, as torch prints them."""
        array = output._array
        columns = []
        for number in range(array.size):
            cotangent = np.zeros(array.size, array.dtype)
            cotangent[number] = unit
            columns.append(self.pulled(output, place, cotangent.reshape(array.shape)).reshape(-1))
        size = self.inputs[self.wanted[place]]._array.size
        return np.stack(columns, 1) if columns else np.zeros((size, 0))

    # --- checks ---

    def check_pair(self, number: int, output: Tensor, place: int, backward: bool, forward: bool, fast: bool) -> None:
        if backward:
            parts = (("real", 1.0), ("imaginary", 1j)) if output._array.dtype.kind == "c" else (("", 1.0),)
            for part, unit in parts:
                (self.compare_fast if fast else self.compare)(number, output, place, part, unit)
        if forward:
            self.compare_forward(number, output, place)

    def compare(self, number: int, output: Tensor, place: int, part: str, unit: complex) -> None:
        numerical = gradient_matrix(
            self.numerical(number, place), part, self.inputs[self.wanted[place]]._array.dtype.kind == "c"
        )
        analytical = self.analytical(output, place, unit)
        self.report(numerical, analytical, number, place, part, "outputs", False)
        again = self.analytical(output, place, unit)
        if not np.all(np.abs(again - analytical) <= self.nondet_tol):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different "
                "values, although analytical gradient matches numerical gradient.The tolerance for nondeterminism "
                f"was {self.nondet_tol}."
            )

    def report(
        self,
        numerical: np.ndarray,
        analytical: np.ndarray,
        number: int,
        place: int,
        part: str,
        element: str,
        forward: bool,
        hint: str = "",
    ) -> None:
        if allclose(analytical, numerical, self.rtol, self.atol):
            return
        prefix = f"While considering the {part} part of complex {element} only, " if part else ""
        mode = "computed with forward mode " if forward else ""
        position = self.wanted[place]
        dtype = self.inputs[position]._array.dtype
        shown = [wrap(np.asarray(matrix).astype(_shown_dtype(matrix, dtype))) for matrix in (numerical, analytical)]
        raise GradcheckError(
            f"{prefix}Jacobian {mode}mismatch for output {number} with respect to input "
            f"{position},\nnumerical:{shown[0]}\n"
            f"analytical:{shown[1]}\n{hint}"
        )

    def compare_fast(self, number: int, output: Tensor, place: int, part: str, unit: complex) -> None:
        target = self.inputs[self.wanted[place]].memory()
        rng = np.random.default_rng(0)
        cotangent = rng.standard_normal(output._array.shape).astype(output._array.real.dtype)
        direction = rng.standard_normal(target.shape).astype(target.real.dtype)
        directions = [direction] if target.dtype.kind != "c" else [direction, 1j * rng.standard_normal(target.shape)]
        slopes = sum(directional(lambda: self.values_at(number), target, one, self.step) for one in directions)
        picked = slopes.imag if part == "imaginary" else slopes.real
        numerical = np.sum(picked * cotangent)
        pulled = self.pulled(output, place, np.asarray(unit * cotangent).astype(output._array.dtype))
        analytical = np.sum(np.real(np.conj(pulled) * sum(directions)))
        hint = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode: they "
            "are projections of the "
            "Jacobians on random vectors. Run with fast_mode=False to see the Jacobians themselves.\n"
        )
        self.report(np.asarray(numerical), np.asarray(analytical), number, place, part, "outputs", False, hint)

    def compare_forward(self, number: int, output: Tensor, place: int) -> None:
        from .forward_ad import dual_at, next_level
        from .mode import current_mode, set_mode

        position = self.wanted[place]
        target = self.inputs[position]
        kind = target._array.dtype
        jacobian = self.numerical(number, place)
        units = (("real", 1.0), ("imaginary", 1j)) if kind.kind == "c" else (("", 1.0),)
        for part, unit in units:
            rows = []
            for element in range(target._array.size):
                tangent = np.zeros(target._array.size, kind)
                tangent[element] = unit
                mode = current_mode()
                level = next_level()
                set_mode(mode.replace(dual_level=level))
                try:
                    dual = dual_at(target.detach(), wrap(tangent.reshape(target._array.shape)), level)
                    given = (*self.inputs[:position], dual, *self.inputs[position + 1 :])
                    result = _outputs(self.func(*given))[number]
                    found = (result._tangent or {}).get(level)
                finally:
                    set_mode(mode)
                rows.append(
                    np.zeros(output._array.size, output._array.dtype)
                    if found is None
                    else np.asarray(found.detach()._array).reshape(-1)
                )
            analytical = np.stack(rows) if rows else np.zeros(jacobian.shape[1:])
            self.report(jacobian[1 if unit == 1j else 0], analytical, number, place, part, "inputs", True)

    def check_linear_in_cotangent(self, outputs: tuple[Any, ...], targets: list[Any], dtypes: bool) -> None:
        """A cotangent of zeros must give gradients of zeros, of the right shape and dtype."""
        live = [output for output in outputs if output.requires_grad]
        zeros = [wrap(np.zeros(output._array.shape, output._array.dtype)) for output in live]
        for gradient, target in zip(
            roots.grad(live, targets, zeros, retain_graph=True, allow_unused=True), targets, strict=True
        ):
            if gradient is None:
                continue
            if np.any(np.asarray(gradient.detach()._array) != 0):
                raise GradcheckError("backward not multiplied by grad_output")
            if dtypes and gradient.dtype is not target.dtype:
                raise GradcheckError("grad has incorrect dtype")
            if gradient.shape != target.shape:
                raise GradcheckError("grad has incorrect size")

    def check_undefined(self, outputs: tuple[Any, ...], targets: list[Any]) -> None:
        """With several outputs, each may be left out of the pass: the others' gradients must not need it."""
        live = [output for output in outputs if output.requires_grad]
        for output in live if len(live) > 1 else ():
            zeros = wrap(np.zeros(output._array.shape, output._array.dtype))
            try:
                found = roots.grad(output, targets, zeros, retain_graph=True, allow_unused=True)
            except Exception as error:
                raise GradcheckError(_UNDEFINED) from error
            if any(gradient is not None and np.any(np.asarray(gradient.detach()._array) != 0) for gradient in found):
                raise GradcheckError(
                    "Expected all input grads to be undefined or zero when all output grads are undefined or zero. "
                    + _UNDEFINED_NOTE
                )

    def check_batched(self, outputs: tuple[Any, ...], targets: list[Any]) -> None:
        rng = np.random.default_rng(0)
        for number, output in enumerate(outputs):
            if not output.requires_grad:
                continue
            weights = rng.standard_normal((2, *output._array.shape)).astype(output._array.dtype)
            together = roots.grad(
                output, targets, wrap(weights), retain_graph=True, allow_unused=True, is_grads_batched=True
            )
            singly = [
                roots.grad(output, targets, wrap(weight), retain_graph=True, allow_unused=True) for weight in weights
            ]
            for place, batch in enumerate(together):
                if batch is None:
                    continue
                expected = np.stack([np.asarray(one[place]._array) for one in singly])
                if not allclose(np.asarray(batch._array), expected, self.rtol, self.atol):
                    raise GradcheckError(_batched_message(number, self.wanted[place], batch, wrap(expected), False))

    def check_batched_forward(self, targets: list[Any]) -> None:
        from ..func.batching import vmap
        from ..func.forward import jvp

        rng = np.random.default_rng(0)
        for place, target in enumerate(targets):
            position = self.wanted[place]

            def along(tangent: Tensor, position: int = position, target: Tensor = target) -> tuple:
                def of(value: Tensor) -> tuple:
                    return _outputs(self.func(*self.inputs[:position], value, *self.inputs[position + 1 :]))

                return jvp(of, (target.detach(),), (tangent,))[1]

            tangents = wrap(rng.standard_normal((2, *target._array.shape)).astype(target._array.dtype))
            together = vmap(along)(tangents)
            singly = [along(tangents[0]), along(tangents[1])]
            for number, batch in enumerate(together):
                expected = np.stack([np.asarray(one[number].detach()._array) for one in singly])
                if not allclose(np.asarray(batch.detach()._array), expected, self.rtol, self.atol):
                    raise GradcheckError(_batched_message(number, position, batch, wrap(expected), True))


_UNDEFINED_NOTE = "Please look at 'Notes about undefined output gradients' in the documentation of custom functions."
_UNDEFINED = "Expected backward function to handle undefined output grads. " + _UNDEFINED_NOTE


def _batched_message(number: int, position: int, got: Tensor, expected: Tensor, forward: bool) -> str:
    kind = "batched forward gradients" if forward else "batched gradients"
    return (
        f"For output {number} and input {position}, the {kind} computed in one batched pass do not agree with those "
        "computed one by one.\n"
        f"got:\n{got}\nexpected:\n{expected}\n"
    )


def _shown_dtype(matrix: Any, dtype: np.dtype) -> Any:
    return matrix.dtype if matrix.dtype.kind == "c" or dtype.kind == "c" else dtype


def gradient_matrix(jacobian: np.ndarray, part: str, complex_input: bool) -> np.ndarray:
    """Slopes of an output's part by the real (and imaginary) part of inputs, in torch's convention of a gradient."""
    picked = jacobian.imag if part == "imaginary" else jacobian.real
    return picked[0] + 1j * picked[1] if complex_input else picked[0]


def gradgradcheck(
    func: Callable[..., Any], inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True, nondet_tol: float = 0.0,
    check_undefined_grad: bool = True, check_grad_dtypes: bool = False, check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True, fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """`gradcheck` of the gradient: whether second derivatives agree with difference quotients of first ones."""
    assert check_fwd_over_rev or check_rev_over_rev, (
        "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
    )
    values = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    if grad_outputs is None:
        weights = _random_weights(func, values, gen_non_contig_grad_outputs)
    else:
        weights = tuple(grad_outputs) if isinstance(grad_outputs, (tuple, list)) else (grad_outputs,)
    count = len(values)

    def gradient(*args: Any) -> tuple:
        given, cotangents = args[:count], args[count:]
        with enable_grad():
            given = tuple(_recorded(value, values[i]) for i, value in enumerate(given))
            outputs = [output for output in _outputs(func(*given)) if output.requires_grad]
            targets = [value for value in given if _differentiable(value)]
            found = roots.grad(outputs, targets, list(cotangents[: len(outputs)]), create_graph=True, allow_unused=True)
        return tuple(one for one in found if one is not None)

    return gradcheck(
        gradient, (*values, *weights), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode, check_forward_ad=check_fwd_over_rev, check_backward_ad=check_rev_over_rev, masked=masked,
    )  # fmt: skip


def _recorded(value: Any, original: Any) -> Any:
    if _differentiable(original) and not value.requires_grad:
        tangents = value._tangent
        value = value.detach().requires_grad_()
        if tangents is not None:
            from ..tensor import anchor_of

            value._tangent = tangents
            anchor_of(value)._tangent = tangents
    return value


def _random_weights(func: Callable, values: tuple, strided: bool) -> tuple:
    rng = np.random.default_rng(0)
    with enable_grad():
        outputs = [output for output in _outputs(func(*values)) if output.requires_grad]
    weights = []
    for output in outputs:
        kind = output._array.dtype
        drawn = rng.standard_normal(output._array.shape)
        if kind.kind == "c":
            drawn = drawn + 1j * rng.standard_normal(output._array.shape)
        array = np.asarray(drawn).astype(kind)
        if strided and array.ndim:
            array = np.repeat(array, 2, -1)[..., ::2]
        weight = wrap(array)
        weight._requires_grad = True
        weights.append(weight)
    return tuple(weights)


class _CallableModule(ModuleType):
    """`torch.autograd.gradcheck` is the function, and the module is imported under the same name: it is both."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
