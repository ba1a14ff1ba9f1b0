"""`gradcheck` and `gradgradcheck`: compare gradients with difference quotients.

In slow mode the whole Jacobian of every output by every input, in fast mode one random projection of it. Complex values
are checked for their real and imaginary parts. What else is checked of passes (forward mode, missing gradients, batches)
is in `gradcheck_passes.py`, difference quotients are in `numerical.py`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import roots
from ..core.basics.notices import warn_user
from ..core.grad_mode import enable_grad
from ..core.tape import wrap
from ..core.tensor import Tensor, anchor_of
from .gradcheck_passes import (
    check_batched,
    check_batched_forward,
    check_forward,
    check_forward_without_tangents,
    check_undefined,
    floating_outputs,
)
from .numerical import GradcheckError, allclose, directional, numerical_jacobians

if TYPE_CHECKING:
    from ..core.basics.types import Function

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


def gradcheck(
    func: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3,
    raise_exception: bool = True, nondet_tol: float = 0.0, check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False, check_batched_grad: bool = False, check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False, check_backward_ad: bool = True, fast_mode: bool = False, masked: bool | None = None,
) -> bool:  # fmt: skip
    """Compare the gradients of `func` at `inputs` with difference quotients: True if they agree, else GradcheckError or False.

    `inputs` should be float64 and require grad. Each element is moved by `eps`; derivatives may differ by `atol` plus
    `rtol` times their size. `check_forward_ad`, `check_batched_grad` and `check_batched_forward_grad` also check
    forward mode and batches, `check_undefined_grad` passes without some of the outputs' gradients,
    `check_grad_dtypes` dtypes; `nondet_tol` is how much two equal passes may differ. `fast_mode` compares products
    with random vectors in place of all elements; `masked` is about sparse inputs. With `raise_exception=False` the
    answer is False where an error would be raised.
    """
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
    func, values = _of_elements(func, values)
    check = _Check(func, values, eps, atol, rtol, nondet_tol)
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


def _of_elements(func: Function, values: tuple) -> tuple[Callable[..., Any], tuple]:
    """The function of the elements that sparse inputs have: these are what varies."""
    sparse: dict[int, Any] = {
        position: value for position, value in enumerate(values) if isinstance(value, Tensor) and value.is_sparse
    }
    if not sparse:
        return func, values

    def of_elements(*given: Any) -> Any:
        return func(*[sparse[at].with_values(value) if at in sparse else value for at, value in enumerate(given)])

    return of_elements, tuple(value._values() if at in sparse else value for at, value in enumerate(values))


def _differentiable(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


class _Check:
    """One run: the function, where, and how closely."""

    def __init__(
        self, func: Function, inputs: tuple[Any, ...], eps: float, atol: float, rtol: float, nondet_tol: float
    ) -> None:
        self.func: Callable[..., Any] = func
        self.inputs: tuple[Any, ...] = inputs
        self.eps: float = eps
        self.atol: float = atol
        self.rtol: float = rtol
        self.nondet_tol: float = nondet_tol
        self.wanted: list[int] = [position for position, value in enumerate(inputs) if _differentiable(value)]
        self.slopes: dict[int, list[np.ndarray]] = {}

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
            outputs = floating_outputs(self.func(*self.inputs))
        targets = [self.inputs[position] for position in self.wanted]
        if not any(output.requires_grad for output in outputs):
            self.check_no_dependence(outputs)
            return
        if backward:
            for number, output in enumerate(outputs):
                for place, _ in enumerate(targets):
                    self.check_pair(number, output, place, fast)
        if forward:
            check_forward(self)
            if undefined:
                check_forward_without_tangents(self)
        if batched_forward:
            check_batched_forward(self)
        if batched:
            check_batched(self, outputs, targets)
        if backward:
            self.check_linear_in_cotangent(outputs, targets, dtypes)
            if undefined:
                check_undefined(self)

    def check_inputs(self) -> None:
        if not self.wanted:
            raise ValueError(
                "gradcheck expects at least one input tensor to require gradient, but none of them have "
                "requires_grad=True."
            )
        for position in self.wanted:
            value = self.inputs[position]
            if value._array.dtype not in (np.float64, np.complex128):
                warn_user(
                    f"Input #{position} requires gradient and is not a double precision floating point or complex. "
                    "This check will likely fail if all the inputs are not of double precision floating point or "
                    "complex. ",
                )
            array = value.memory()
            if array.size and any(step == 0 and n > 1 for step, n in zip(array.strides, array.shape, strict=True)):
                raise RuntimeError(
                    f"The {position}th input has a dimension with stride 0. gradcheck only supports inputs that are "
                    "non-overlapping to be able to compute the numerical gradients correctly. You should call "
                    ".contiguous on the input before passing it to gradcheck."
                )

    def check_no_dependence(self, outputs: tuple[Any, ...]) -> None:
        for number in range(len(outputs)):
            for place in range(len(self.wanted)):
                if np.any(self.numerical(number, place) != 0):
                    raise GradcheckError("Numerical gradient for function expected to be zero")

    # --- numbers ---

    def values(self) -> tuple[np.ndarray, ...]:
        return tuple(np.array(output.detach()._array) for output in floating_outputs(self.func(*self.inputs)))

    def numerical(self, number: int, place: int) -> np.ndarray:
        if place not in self.slopes:
            array = self.inputs[self.wanted[place]].memory()
            self.slopes[place] = numerical_jacobians(self.values, array, self.eps)
        return self.slopes[place][number]

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

    def check_pair(self, number: int, output: Tensor, place: int, fast: bool) -> None:
        parts = (("imaginary", 1j), ("real", 1.0)) if output._array.dtype.kind == "c" else (("", 1.0),)
        for part, unit in parts:
            (self.compare_fast if fast else self.compare)(number, output, place, part, unit)

    def compare(self, number: int, output: Tensor, place: int, part: str, unit: complex) -> None:
        numerical = gradient_matrix(
            self.numerical(number, place), part, self.inputs[self.wanted[place]]._array.dtype.kind == "c"
        )
        analytical = self.analytical(output, place, unit)
        self.report(numerical, analytical, number, place, part, "outputs", False)
        self.check_repeatable(analytical, self.analytical(output, place, unit))

    def check_repeatable(self, once: Any, again: Any) -> None:
        if not np.all(np.abs(again - once) <= self.nondet_tol):
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                "gives different values, although analytical gradient matches numerical gradient.The tolerance for "
                f"nondeterminism was {self.nondet_tol}."
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
        slopes: Any = sum(directional(self.values, target, one, self.eps)[number] for one in directions)
        picked = slopes.imag if part == "imaginary" else slopes.real
        numerical = np.sum(picked * cotangent)
        cotangent = np.asarray(unit * cotangent).astype(output._array.dtype)
        pulled = self.pulled(output, place, cotangent)
        analytical = np.sum(np.real(np.conj(pulled) * sum(directions)))
        hint = (
            "\nThe above quantities relating the numerical and analytical jacobians are computed in fast mode: they "
            "are projections of the Jacobians on random vectors. Run with fast_mode=False to see the Jacobians "
            "themselves.\n"
        )
        self.report(np.asarray(numerical), np.asarray(analytical), number, place, part, "outputs", False, hint)
        self.check_repeatable(pulled, self.pulled(output, place, cotangent))

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


def _shown_dtype(matrix: Any, dtype: np.dtype) -> Any:
    return matrix.dtype if matrix.dtype.kind == "c" or dtype.kind == "c" else dtype


def gradient_matrix(jacobian: np.ndarray, part: str, complex_input: bool) -> np.ndarray:
    """Slopes of an output's part by the real (and imaginary) part of inputs, in torch's convention of a gradient."""
    picked = jacobian.imag if part == "imaginary" else jacobian.real
    return picked[0] + 1j * picked[1] if complex_input else picked[0]


def gradgradcheck(
    func: Function, inputs: Any, grad_outputs: Any = None, *, eps: float = 1e-6, atol: float = 1e-5,
    rtol: float = 1e-3, gen_non_contig_grad_outputs: bool = False, raise_exception: bool = True,
    nondet_tol: float = 0.0, check_undefined_grad: bool = True, check_grad_dtypes: bool = False,
    check_batched_grad: bool = False, check_fwd_over_rev: bool = False, check_rev_over_rev: bool = True,
    fast_mode: bool = False, masked: bool = False,
) -> bool:  # fmt: skip
    """`gradcheck` of the gradient: whether second derivatives agree with difference quotients of first ones.

    `grad_outputs` are the weights of the first pass, random unless given (`gen_non_contig_grad_outputs`: in memory
    with gaps). `check_rev_over_rev` differentiates the backward pass backwards, `check_fwd_over_rev` forwards. The
    other arguments are those of `gradcheck`.
    """
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
            outputs = [output for output in floating_outputs(func(*given)) if output.requires_grad]
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
            value._tangent = tangents
            anchor_of(value)._tangent = tangents
    return value


def _random_weights(func: Function, values: tuple, strided: bool) -> tuple:
    """Weights for all outputs, from the generator and in the way that torch draws them."""
    from ..testing import make_tensor

    with enable_grad():
        outputs = [output for output in floating_outputs(func(*values)) if output.requires_grad]
    return tuple(
        make_tensor(output.shape, dtype=output.dtype, low=-1, high=1, requires_grad=True, noncontiguous=strided)
        for output in outputs
    )


# --- torch's former names for the two Jacobians, still imported by old programs ---


def _warn_of_old_name(name: str, grad_out: float) -> None:
    warn_user(
        f"`{name}` was part of PyTorch's private API and not meant to be exposed. We are deprecating it and it will be "
        "removed in a future version of PyTorch. Use torch.autograd.gradcheck, or torch.autograd.functional.jacobian.",
        FutureWarning,
    )
    if grad_out != 1.0:
        raise ValueError(f"Expected grad_out to be 1.0. {name} no longer supports other values of grad_out.")


def get_numerical_jacobian(
    fn: Callable[..., Any], inputs: Any, target: Any = None, eps: float = 1e-3, grad_out: float = 1.0
) -> Any:
    """Difference quotients of the first output of `fn(inputs)` by each input, or by those in `target`."""
    _warn_of_old_name("get_numerical_jacobian", grad_out)
    values = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    by = values if target is None else target if isinstance(target, (tuple, list)) else (target,)
    check = _Check(lambda *given: fn(given), values, eps, 0.0, 0.0, 0.0)
    picked = [place for place, position in enumerate(check.wanted) if any(values[position] is one for one in by)]
    return tuple(wrap(check.numerical(0, place)[0]) for place in picked)


def get_analytical_jacobian(
    inputs: Any, output: Tensor, nondet_tol: float = 0.0, grad_out: float = 1.0
) -> tuple[tuple[Tensor, ...], bool, bool, bool]:
    """Jacobians by backward passes: (of each input, whether they came out the same twice, sizes and dtypes right)."""
    _warn_of_old_name("get_analytical_jacobian", grad_out)
    values = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
    check = _Check(lambda: None, values, 0.0, 0.0, 0.0, nondet_tol)
    once, again = ([check.analytical(output, place, 1.0) for place in range(len(check.wanted))] for _ in range(2))
    same = all(np.all(np.abs(a - b) <= nondet_tol) for a, b in zip(once, again, strict=True))
    return tuple(wrap(matrix) for matrix in once), same, True, True


class _CallableModule(ModuleType):
    """`torch.autograd.gradcheck` is the function, and the module is imported under the same name: it is both."""

    def __call__(self, *args: Any, **kwargs: Any) -> bool:
        return gradcheck(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
