"""Optimizer updates in place: SGD and the Adam family as one blocked, threaded pass over each parameter.

The order of the roundings is torch's, so that trajectories agree. State arrays are created by the caller, have the
parameter's shape and type, and are written in place. Schedules, groups and sparse gradients live elsewhere.
"""

from __future__ import annotations

import math

import numpy as np

from .threads import parallel_elements


def _decayed(gradient: np.ndarray, parameter: np.ndarray, weight_decay: float, maximize: bool) -> np.ndarray:
    """The gradient with its sign and the L2 term, in a new array where anything changes."""
    if maximize:
        gradient = np.negative(gradient)
    if weight_decay:
        gradient = gradient + np.multiply(parameter, weight_decay)
    return gradient


def sgd_update(
    parameter: np.ndarray,
    gradient: np.ndarray,
    momentum_buffer: np.ndarray | None = None,
    *,
    lr: float,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
    maximize: bool = False,
    first: bool = False,
) -> None:
    """One step of stochastic gradient descent; at the `first` step the momentum buffer is filled, not read."""

    def chain(gradient: np.ndarray, parameter: np.ndarray, buffer: np.ndarray | None = None) -> None:
        step = _decayed(gradient, parameter, weight_decay, maximize)
        if buffer is not None:
            if first:
                np.copyto(buffer, step)
            else:
                np.multiply(buffer, momentum, out=buffer)
                np.add(buffer, np.multiply(step, 1 - dampening) if dampening else step, out=buffer)
            step = step + np.multiply(buffer, momentum) if nesterov else buffer
        np.add(parameter, np.multiply(step, -lr), out=parameter)

    state = [] if momentum_buffer is None else [momentum_buffer]
    parallel_elements(chain, [gradient], [parameter, *state], temporaries=2)


def adam_update(
    parameter: np.ndarray,
    gradient: np.ndarray,
    average: np.ndarray,
    average_square: np.ndarray,
    largest_square: np.ndarray | None = None,
    *,
    step: float,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    weight_decay: float = 0.0,
    decoupled: bool = False,
    maximize: bool = False,
) -> None:
    """One Adam step (AdamW where `decoupled`, AMSGrad with `largest_square`); `step` counts from 1."""
    step_size = lr / (1 - beta1**step)
    root_correction = math.sqrt(1 - beta2**step)

    def chain(
        gradient: np.ndarray,
        parameter: np.ndarray,
        average: np.ndarray,
        square: np.ndarray,
        largest: np.ndarray | None = None,
    ) -> None:
        if decoupled and weight_decay:
            np.multiply(parameter, 1 - lr * weight_decay, out=parameter)
        gradient = _decayed(gradient, parameter, 0.0 if decoupled else weight_decay, maximize)
        scratch = np.subtract(gradient, average)
        if beta1 > 0.5:
            np.multiply(scratch, 1 - beta1, out=scratch)
            np.add(average, scratch, out=average)
        else:
            # Interpolation starts from the nearer end, so that weight 1 gives the gradient exactly.
            np.multiply(scratch, beta1, out=scratch)
            np.subtract(gradient, scratch, out=average)
        np.multiply(square, beta2, out=square)
        np.multiply(gradient, 1 - beta2, out=scratch)
        np.multiply(scratch, gradient, out=scratch)
        np.add(square, scratch, out=square)
        if largest is not None:
            np.maximum(largest, square, out=largest)
            square = largest
        np.sqrt(square, out=scratch)
        np.divide(scratch, root_correction, out=scratch)
        np.add(scratch, eps, out=scratch)
        np.divide(np.multiply(average, -step_size), scratch, out=scratch)
        np.add(parameter, scratch, out=parameter)

    state = [average, average_square] + ([] if largest_square is None else [largest_square])
    parallel_elements(chain, [gradient], [parameter, *state], temporaries=3)
