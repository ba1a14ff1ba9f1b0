"""Muon: momentum whose matrix updates are made nearly orthogonal by a Newton-Schulz iteration.

The iteration runs in bfloat16 as in torch. NumPy has no such type, so single precision arrays are rounded to
bfloat16's eight bits after each operation.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..kernels.thresholds import EXACT_BY_DOUBLE
from . import _updates
from ._arrays import scalar_of
from ._checks import check_lr, check_nonnegative
from ._stepper import ArrayOptimizer
from .optimizer import ParamsT


class Muon(ArrayOptimizer):
    """Momentum, orthogonalized, for matrices; use another optimizer for vectors and embeddings."""

    _counts_steps: bool = False
    _tensor_state: tuple[Any, ...] = ()

    def __init__(
        self,
        params: ParamsT,
        lr: float = 0.001,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-07,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        check_nonnegative(momentum, "momentum should be >= 0 but is: {}")
        check_nonnegative(weight_decay, "weight decay should be >= 0 but is: {}")
        if adjust_lr_fn is not None and adjust_lr_fn not in ("original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    def _buffers(self, group: dict[str, Any]) -> tuple[str | None, ...]:
        _check_iteration(group)
        return ("momentum_buffer",)

    def _row(self, param: Tensor, grad: Tensor, *rest: Any) -> list[Any]:
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if grad.ndim != 2:
            raise ValueError("Param gradient must be a 2D matrix")
        return super()._row(param, grad, *rest)

    def _plan(self, group: dict[str, Any], rows: list[Any]) -> list[tuple[Any, ...]]:
        lr = scalar_of(group["lr"])  # of a tensor in its precision, in which torch scales and decays
        float(lr)  # what is no number is refused before anything is written
        return [(arrays, group, lr) for arrays, *_ in rows]

    def _run(self, plans: list[list[tuple[Any, ...]]]) -> None:
        for plan in plans:
            for (values, grad, buffer), group, lr in plan:
                _update(values, grad, buffer, group, lr)


def _check_iteration(group: dict[str, Any]) -> None:
    if group["ns_steps"] >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(group["ns_coefficients"]) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")


def _update(values: np.ndarray, grad: np.ndarray, buffer: np.ndarray, group: dict[str, Any], lr: Any) -> None:
    momentum = group["momentum"]
    _updates.lerp(buffer, grad, *_updates.lerp_weight(1 - momentum))
    move = buffer
    if group["nesterov"]:
        move = grad.copy()
        _updates.lerp(move, buffer, *_updates.lerp_weight(momentum))
    move = orthogonalize(move, group["ns_coefficients"], group["ns_steps"], group["eps"])
    rows, columns = values.shape
    scale = math.sqrt(max(1, rows / columns))
    if group["adjust_lr_fn"] == "match_rms_adamw":
        scale = 0.2 * math.sqrt(max(rows, columns))
    values *= float(1 - lr * group["weight_decay"])
    values += move * np.asarray(float(-lr * scale), values.dtype)


def orthogonalize(matrix: np.ndarray, coefficients: tuple[float, ...], steps: int, eps: float) -> np.ndarray:
    """A matrix with the same singular vectors and singular values near one, in bfloat16 steps."""
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = round_bfloat16(matrix.T if is_tall else matrix)
    norm = round_bfloat16(np.sqrt(np.sum(x * x, dtype=np.float32)))
    x = round_bfloat16(x / np.maximum(norm, round_bfloat16(eps)))
    # Torch accumulates with fused multiply-adds; doubles come closest to that, but cost twice the time.
    exact: type[Any] = np.float64 if x.size <= EXACT_BY_DOUBLE else np.float32
    a, b, c = (exact(np.float32(value)) for value in coefficients)
    for _ in range(steps):
        x = x.astype(exact)
        gram = round_bfloat16(x @ x.T).astype(exact)
        gram = round_bfloat16(b * gram + c * (gram @ gram))
        x = round_bfloat16(a * x + gram @ x)
    return x.T if is_tall else x


def round_bfloat16(values: Any) -> np.ndarray:
    """Single precision values with the eight significant bits of bfloat16, rounded to nearest even."""
    bits = np.array(values, np.float32, order="C").view(np.uint32)
    bits += np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
    bits &= np.uint32(0xFFFF0000)
    return bits.view(np.float32)
