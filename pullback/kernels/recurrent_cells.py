"""One step of an RNN, GRU or LSTM, forward and backward, for programs that write the loop over steps themselves.

Within a step gates are (gate and unit, sequence): then the weights are used as they are, in the faster kind of
product, and each gate is one piece of memory. Sigmoids are computed as (1 + tanh(v / 2)) / 2.
Whole sequences: `recurrence.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.basics.quiet import quiet
from .activations import CONSTANTS
from .normalization import column_of_ones


def _share(x: np.ndarray, weight: np.ndarray, bias: Any) -> np.ndarray:
    out = weight.dot(x.T)
    return out if bias is None else np.add(out, bias[:, None], out)


def _sigmoid(values: np.ndarray) -> None:
    half = CONSTANTS[values.dtype.char].half
    np.multiply(values, half, values)
    np.tanh(values, values)
    np.multiply(values, half, values)
    np.add(values, half, values)


def _gradients(into: np.ndarray, through: np.ndarray, inputs: tuple, cell_slope: Any, needs: tuple) -> tuple[Any, ...]:
    """For all inputs, from the cotangents of the gates as the hidden state and as the input sees them."""
    x, hidden, _, weight_ih, weight_hh = inputs[:5]
    for_bias = for_other = None
    if needs[5] or needs[6]:
        ones = column_of_ones(len(x), x.dtype.char)[0]
        for_bias = through.dot(ones)
        for_other = for_bias.copy() if into is through else into.dot(ones)
    return (
        through.T.dot(weight_ih) if needs[0] else None,
        into.T.dot(weight_hh) if needs[1] else None,
        cell_slope,
        through.dot(x) if needs[3] else None,
        into.dot(hidden) if needs[4] else None,
        for_bias,
        for_other,
    )


@quiet
def rnn(
    x: Any, hidden: Any, cell: None, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, mode: str
) -> np.ndarray:
    """The next hidden state of a plain recurrent network; `mode` is RNN_TANH or RNN_RELU."""
    shares = weight_ih.dot(x.T)
    np.add(shares, weight_hh.dot(hidden.T), shares)
    out = shares.T.copy()
    if bias_ih is not None:
        np.add(out, bias_ih, out)
        np.add(out, bias_hh, out)
    return np.tanh(out, out) if mode == "RNN_TANH" else np.maximum(out, 0, out=out)


def rnn_backward(g: Any, inputs: tuple[Any, ...], out: Any, needs: tuple[bool, ...], mode: str) -> tuple[Any, ...]:
    """The gradients of all inputs of `rnn`."""
    if mode == "RNN_TANH":
        into = np.multiply(out, out)
        np.subtract(CONSTANTS[out.dtype.char].one, into, into)
        np.multiply(into, g, into)
    else:
        into = np.multiply(g, out > 0)
    into = into.T
    return _gradients(into, into, inputs, None, needs)


@quiet
def gru(
    x: Any, hidden: Any, cell: None, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any
) -> tuple[np.ndarray, ...]:
    """The next hidden state of a GRU, and what `gru_backward` needs."""
    units = hidden.shape[1]
    gates, own = _share(x, weight_ih, bias_ih), _share(hidden, weight_hh, bias_hh)
    switches, new, own_new = gates[: 2 * units], gates[2 * units :], own[2 * units :]
    np.add(switches, own[: 2 * units], switches)
    _sigmoid(switches)
    out = gates[:units] * own_new
    np.add(new, out, new)
    np.tanh(new, new)
    ahead = np.subtract(hidden.T, new, np.empty_like(new))
    np.multiply(ahead, gates[units : 2 * units], out)
    return np.add(out, new, out).T.copy(), gates, own_new, ahead


def gru_backward(g: Any, inputs: tuple[Any, ...], kept: tuple[Any, ...], needs: tuple[bool, ...]) -> tuple[Any, ...]:
    """The gradients of all inputs of `gru`."""
    gates, own_new, ahead = kept
    units = len(own_new)
    reset, update, new = gates[:units], gates[units : 2 * units], gates[2 * units :]
    into, through = np.empty_like(gates), np.empty_like(gates)
    into_reset, into_update, into_own = into[:units], into[units : 2 * units], into[2 * units :]
    into_new, one, slope = through[2 * units :], CONSTANTS[gates.dtype.char].one, g.T.copy()
    stays = slope * update
    np.subtract(slope, stays, into_own)
    np.multiply(into_own, one - new * new, into_new)
    np.multiply(into_new, reset, into_own)
    np.multiply(into_own, (one - reset) * own_new, into_reset)
    np.multiply(ahead, stays * (one - update), into_update)
    through[: 2 * units] = into[: 2 * units]
    gradients = _gradients(into, through, inputs, None, needs)
    if gradients[1] is not None:
        np.add(gradients[1], stays.T, gradients[1])
    return gradients


@quiet
def lstm(
    x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any
) -> tuple[np.ndarray, ...]:
    """The next hidden and cell state of an LSTM, and what `lstm_backward` needs."""
    units = hidden.shape[1]
    gates = _share(x, weight_ih, None if bias_ih is None else bias_ih + bias_hh)
    np.add(gates, weight_hh.dot(hidden.T), gates)
    candidate = np.tanh(gates[2 * units : 3 * units])
    _sigmoid(gates)  # all in one piece; the candidate's place is not used
    squashed = np.multiply(gates[units : 2 * units], cell.T, np.empty(candidate.shape, candidate.dtype))
    np.add(squashed, gates[:units] * candidate, squashed)
    new_cell = squashed.T.copy()
    np.tanh(squashed, squashed)
    return (gates[3 * units :] * squashed).T.copy(), new_cell, gates, squashed, candidate


def lstm_backward(
    g: tuple[Any, ...], inputs: tuple[Any, ...], kept: tuple[Any, ...], needs: tuple[bool, ...]
) -> tuple[Any, ...]:
    """The gradients of all inputs of `lstm`."""
    gates, squashed, candidate = kept
    cell = inputs[2]
    units = cell.shape[1]
    one = CONSTANTS[gates.dtype.char].one
    into = np.subtract(one, gates)
    np.multiply(into, gates, into)  # the slopes of all sigmoids
    into_enter, into_forget = into[:units], into[units : 2 * units]
    into_candidate, into_leave = into[2 * units : 3 * units], into[3 * units :]
    if g[0] is None:
        cell_slope = g[1].T.copy()
        into_leave[:] = 0
    else:
        slope = g[0].T
        cell_slope = np.multiply(squashed, squashed)
        np.subtract(one, cell_slope, cell_slope)
        np.multiply(cell_slope, gates[3 * units :], cell_slope)
        np.multiply(cell_slope, slope, cell_slope)
        if g[1] is not None:
            np.add(cell_slope, g[1].T, cell_slope)
        np.multiply(into_leave, squashed, into_leave)
        np.multiply(into_leave, slope, into_leave)
    np.multiply(candidate, candidate, into_candidate)
    np.subtract(one, into_candidate, into_candidate)
    np.multiply(into_candidate, gates[:units], into_candidate)
    np.multiply(into_candidate, cell_slope, into_candidate)
    np.multiply(into_enter, candidate, into_enter)
    np.multiply(into_enter, cell_slope, into_enter)
    np.multiply(into_forget, cell.T, into_forget)
    np.multiply(into_forget, cell_slope, into_forget)
    np.multiply(cell_slope, gates[units : 2 * units], cell_slope)
    return _gradients(into, into, inputs, cell_slope.T.copy() if needs[2] else None, needs)
