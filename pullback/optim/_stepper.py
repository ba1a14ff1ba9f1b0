"""The base of the optimizers of this package: one step in two phases.

First everything is collected and checked (gradients, state, shapes), without changing anything; then, while signals wait,
the arrays are updated by the kernels of `_updates`, which have no reason left to fail. So an exception leaves parameters
and state as they were, and Ctrl-C comes when all are updated, or before any is. With `differentiable=True` the same
formulas run on tensors and are recorded on the tape: new values are computed beside the old ones, which a graph may
still need, and copied in at the end.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from numpy import ndarray

import pullback

from ..core.basics.interrupts import hold, release, uninterrupted
from ..core.basics.quiet import restore, silence, warning_settings
from ..core.tensor import Tensor
from ..core.writes import check_no_overlap
from ..transforms.arrays.without_elements import is_form
from . import _updates
from ._arrays import array_of, counter_dtype, touch
from .optimizer import Optimizer

# Options that checkpoints of older optimizers may lack, and what these did.
_ADDED_LATER = {
    "amsgrad": False, "capturable": False, "centered": False, "decoupled_weight_decay": False, "differentiable": False,
    "foreach": None, "fused": None, "maximize": False, "momentum": 0, "nesterov": False,
}  # fmt: skip
_CAPTURE_DEVICES = ["cuda", "xpu", "hpu", "privateuseone", "xla"]


class ArrayOptimizer(Optimizer):
    """An optimizer given by a kernel, the names of its state buffers and the constants of a step."""

    _kernel: Callable[..., None]
    _counts_steps: bool = True
    _accepts_sparse: bool = False
    _state_names: tuple[str, ...]
    """State entries of the parameter's shape, in the order the kernel takes them."""
    _tensor_state: tuple[str, ...] = ("step",)
    """Scalar state kept as tensors; older checkpoints may hold numbers."""

    def _buffers(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        """`_state_names`, for optimizers with options: None for one that this group does not use."""
        return self._state_names

    def _fresh_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """The state of a parameter before its first step: a counter, where steps are counted, and zero buffers."""
        state = {"step": step_counter(param, group)} if self._counts_steps else {}
        for name in self._buffers(group):
            if name is not None:
                state[name] = zeros_like(param)
        return state

    def _constants(self, group: dict[str, Any], step: float) -> tuple[Any, ...]:
        """The kernel's constants: Python floats, None and booleans."""
        raise NotImplementedError

    def _trace(self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float) -> Tensor:
        """The new value of a parameter, from tensor operations; may replace entries of `state`."""
        raise NotImplementedError

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        is_differentiable = type(self)._trace is not ArrayOptimizer._trace  # all have it among their defaults now
        for group in self.param_groups:
            for name in _ADDED_LATER.keys() & self.defaults:
                if name != "differentiable" or is_differentiable:
                    group.setdefault(name, _ADDED_LATER[name])
            for param in group["params"]:
                held: Any = self.state.get(param)
                for name in self._tensor_state if held else ():
                    if not isinstance(held[name], pullback.Tensor):
                        held[name] = pullback.tensor(float(held[name]), dtype=counter_dtype(group.get("fused")))

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update all parameters that have a gradient; returns what `closure` returned, if there is one."""
        loss = None
        if closure is not None:
            with pullback.enable_grad():
                loss = closure()
        if self.defaults.get("differentiable"):
            with pullback.enable_grad():
                self._step_on_tape()
        elif self._holds_wrappers():
            with pullback.no_grad():
                self._step_on_tape()
        else:
            self._step_on_arrays()
        return loss

    def _holds_wrappers(self) -> bool:
        """True if parameters are tensors without elements of their own, whose classes answer operations on them."""
        return "pullback.shell.dispatch_subclasses" in sys.modules and any(
            is_form(param._array) for group in self.param_groups for param in group["params"]
        )

    # -- arrays

    def _step_on_arrays(self) -> None:
        fresh: list[tuple[Tensor, dict[str, Any]]] = []
        written: list[Tensor] = []
        work = []
        for group in self.param_groups:
            rows = self._collect(group, fresh, written)
            if rows:
                work.append((group, rows))
        # Constants are worked out before the first write as well: a bad hyperparameter shows up here.
        plans = [self._plan(group, rows) for group, rows in work]
        self._commit(plans, written, fresh)

    def _commit(self, plans: list[list[tuple[Any, ...]]], written: list[Tensor], fresh: list[Any]) -> None:
        """Update everything; Ctrl-C waits until that is done."""
        settings = warning_settings()
        held = hold()
        try:
            silence()
            for param, state in fresh:
                self.state[param] = state
            if written:
                touch(written)  # first: should memory run out while it is written, graphs that saved it know
            self._run(plans)
        finally:
            restore(settings)
            release(held)

    def _run(self, plans: list[list[tuple[Any, ...]]]) -> None:
        kernel, update = type(self)._kernel, _updates.update
        for plan in plans:
            for arrays, scalars, values, prepared in plan:
                for scalar, value in scalars:
                    scalar[...] = value
                update(kernel, arrays, values, prepared)

    def _collect(
        self, group: dict[str, Any], fresh: list[Any], written: list[Tensor]
    ) -> list[tuple[list[Any], Any, dict[str, Any], bool]]:
        """Arrays, step counter, state and its novelty for each parameter with a gradient; changes nothing."""
        names, counting = self._buffers(group), self._counts_steps
        rows = []
        for param in group["params"]:
            grad = param.grad
            if grad is None:
                continue
            state: Any = self.state.get(param)
            is_new = not state
            if is_new:
                state = self._fresh_state(param, group)
                if state:
                    fresh.append((param, state))
            counter = self._counter(param, state, group) if counting else None
            rows.append((self._row(param, grad, state, names, written), counter, state, is_new))
        return rows

    def _row(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], names: tuple[str | None, ...], written: list[Tensor]
    ) -> list[Any]:
        """The kernel's arrays for one parameter, checked."""
        if grad.is_sparse:
            grad = self._dense(grad)
        first, second = param._array, grad._array
        if type(first) is not ndarray or type(second) is not ndarray:
            first, second = param.memory(), grad.memory()
        shape = first.shape
        written.append(param)
        if second.shape != shape:
            raise RuntimeError(mismatch(type(self).__name__, shape, second.shape, True))
        if second.dtype is not first.dtype and second.dtype != first.dtype:
            second = second.astype(first.dtype)
        arrays: list[Any] = [first, second]
        for name in names:
            if name is None:
                arrays.append(None)
                continue
            buffer = state[name]
            array = buffer._array
            if type(array) is not ndarray:
                array = buffer.memory()
            if array.shape != shape:
                raise RuntimeError(mismatch(type(self).__name__, shape, array.shape, False))
            arrays.append(array)
            if buffer._storage is not None:  # else its version was never read, and it was never saved
                written.append(buffer)
        if type(first) is not ndarray or not first.flags.carray:
            _check_memory(first)
        return arrays

    def _dense(self, grad: Tensor) -> Tensor:
        """A sparse gradient with its zeros, where these change nothing."""
        if not self._accepts_sparse:
            name = type(self).__name__
            raise RuntimeError(f"{name} does not support sparse gradients, please consider SparseAdam instead")
        return grad.to_dense()

    def _counter(self, param: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Any:
        if not self._counts_steps:
            return None
        counter = state["step"]
        if not isinstance(counter, pullback.Tensor):
            raise RuntimeError("API has changed, `state_steps` argument must contain a list of singleton tensors")
        if group.get("capturable"):
            _check_capturable(param)
        return array_of(counter)

    def _plan(self, group: dict[str, Any], rows: list[Any]) -> list[tuple[Any, ...]]:
        """Arrays, scalar state with its new values, constants, and the prepared constants of equal steps."""
        shared: dict[Any, tuple[tuple[Any, ...], dict[str, Any]]] = {}
        plan = []
        for arrays, counter, _, is_new in rows:
            # Without a counter only the first step is told apart from the others.
            step = float(is_new) if counter is None else counter.item() + 1.0
            entry = shared.get(step)
            if entry is None:
                entry = shared[step] = (self._constants(group, step), {})
            plan.append((arrays, () if counter is None else ((counter, step),), *entry))
        return plan

    # -- tape

    def _step_on_tape(self) -> None:
        results = []
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    held: Any = self.state.get(param)
                    state = dict(held or self._fresh_state(param, group))
                    results.append((param, self._new_value(param, param.grad, state, group, not held), state))
        with uninterrupted():
            for param, value, state in results:
                param.copy_(value)
                if state:
                    self.state[param] = state

    def _new_value(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], is_new: bool
    ) -> Tensor:
        """The parameter after a step, recorded on the tape; entries of `state` are replaced."""
        step = float(is_new)
        if self._counts_steps:
            if state["step"].requires_grad:
                raise RuntimeError("`requires_grad` is not supported for `step` in differentiable mode")
            if group.get("capturable"):
                _check_capturable(param)
            state["step"] = state["step"] + 1
            step = state["step"].item()
        return self._trace_real(param, -grad if group["maximize"] else grad, state, group, step)

    def _trace_real(
        self, param: Tensor, grad: Tensor, state: dict[str, Any], group: dict[str, Any], step: float
    ) -> Tensor:
        """`_trace`, with complex tensors seen as pairs of real numbers."""
        if not param.is_complex():
            return self._trace(param.clone(), grad, state, group, step)
        for name, value in state.items():
            if isinstance(value, pullback.Tensor) and value.is_complex():
                state[name] = pullback.view_as_real(value)
        new = self._trace(pullback.view_as_real(param.clone()), pullback.view_as_real(grad), state, group, step)
        for name, value in state.items():
            if isinstance(value, pullback.Tensor) and value.dim() > param.dim():
                state[name] = pullback.view_as_complex(value)
        return pullback.view_as_complex(new)


def _check_memory(array: Any) -> None:
    """Refuse a parameter that cannot be written, before any is."""
    if type(array) is ndarray and not array.flags.writeable:
        raise RuntimeError(
            "a parameter lies in read-only memory, so the step cannot write to it; nothing was updated. Give it memory of "
            "its own first: param.data = param.data.clone()."
        )
    check_no_overlap(array)


def _check_capturable(param: Tensor) -> None:
    if param.device.type not in _CAPTURE_DEVICES:
        raise AssertionError(
            f"If capturable=True, params and state_steps must be on supported devices: {_CAPTURE_DEVICES}. "
            "Leave capturable at False on the CPU, where there is no graph to capture."
        )


def mismatch(optimizer: str, shape: tuple[int, ...], other: tuple[int, ...], is_gradient: bool) -> str:
    """The complaint about a gradient, or a piece of state, of another shape than its parameter."""
    what = "gradient" if is_gradient else "optimizer state"
    for axis in range(1, max(len(shape), len(other)) + 1):
        a = shape[-axis] if axis <= len(shape) else 1
        b = other[-axis] if axis <= len(other) else 1
        if a != b:
            dim = max(len(shape), len(other)) - axis
            return (
                f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}. "
                f"{optimizer}: a parameter of shape {tuple(shape)} has {what} of shape {tuple(other)}; "
                "nothing was updated."
            )
    return f"{optimizer}: a parameter of shape {tuple(shape)} has {what} of shape {tuple(other)}; nothing was updated."


def zeros_like(param: Tensor) -> Tensor:
    """A zero buffer with the parameter's shape, dtype, device and memory layout."""
    return pullback.zeros_like(param)


def step_counter(param: Tensor, group: dict[str, Any]) -> Tensor:
    """A step counter at zero; on the parameter's device where a graph may capture it."""
    dtype = counter_dtype(group.get("fused"))
    if group.get("capturable") or group.get("fused"):
        return pullback.zeros((), dtype=dtype, device=param.device)
    return pullback.zeros((), dtype=dtype)
