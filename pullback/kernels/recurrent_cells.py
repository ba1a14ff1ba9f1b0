"""One step of an RNN, GRU or LSTM, forward and backward, for programs that write the loop over steps themselves.

Within a step everything is (gate and unit, sequence): then the weights are used as they are, in the faster kind of
product, and each gate is one piece of memory. Sigmoids are computed as (1 + tanh(v / 2)) / 2.
Whole sequences: `recurrence.py`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..quiet import quiet
from .activations import CONSTANTS
from .normalization import column_of_ones


def _share(x: np.ndarray, weight: np.ndarray, bias: Any) -> np.ndarray:
    out = np.dot(weight, x.T)
    return out if bias is None else np.add(out, bias[:, None], out)


def _both_shares(x: Any, hidden: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any) -> np.ndarray:
    """What the gates are functions of, where input and hidden state are simply added."""
    out = _share(x, weight_ih, None if bias_ih is None else bias_ih + bias_hh)
    return np.add(out, np.dot(weight_hh, hidden.T), out)


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
        for_bias = np.dot(through, ones)
        for_other = for_bias.copy() if into is through else np.dot(into, ones)
    return (
        np.dot(through.T, weight_ih) if needs[0] else None,
        np.dot(into.T, weight_hh) if needs[1] else None,
        cell_slope,
        np.dot(through, x) if needs[3] else None,
        np.dot(into, hidden) if needs[4] else None,
        for_bias,
        for_other,
    )


@quiet
def _rnn(x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, mode: str) -> tuple:
    out = _both_shares(x, hidden, weight_ih, weight_hh, bias_ih, bias_hh)
    np.tanh(out, out) if mode == "RNN_TANH" else np.maximum(out, 0, out=out)
    return out.T.copy(), out


@quiet
def _rnn_backward(g: Any, inputs: tuple, kept: tuple, needs: tuple, mode: str) -> tuple[Any, ...]:
    out = kept[0]
    into = (1 - out * out if mode == "RNN_TANH" else out > 0) * g[0].T
    return _gradients(into, into, inputs, None, needs)


@quiet
def _gru(x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, mode: str) -> tuple:
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


@quiet
def _gru_backward(g: Any, inputs: tuple, kept: tuple, needs: tuple, mode: str) -> tuple[Any, ...]:
    gates, own_new, ahead = kept
    units = len(own_new)
    reset, update, new = gates[:units], gates[units : 2 * units], gates[2 * units :]
    into, through = np.empty_like(gates), np.empty_like(gates)
    into_reset, into_update, into_own = into[:units], into[units : 2 * units], into[2 * units :]
    into_new, one, slope = through[2 * units :], CONSTANTS[gates.dtype.char].one, g[0].T.copy()
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
def _lstm(x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, mode: str) -> tuple:
    units = hidden.shape[1]
    gates = _both_shares(x, hidden, weight_ih, weight_hh, bias_ih, bias_hh)
    candidate = np.tanh(gates[2 * units : 3 * units])
    _sigmoid(gates)  # all in one piece; the candidate's place is not used
    new_cell = np.multiply(gates[units : 2 * units], cell.T, np.empty_like(candidate))
    squashed = gates[:units] * candidate
    np.add(new_cell, squashed, new_cell)
    np.tanh(new_cell, squashed)
    return (gates[3 * units :] * squashed).T.copy(), gates, squashed, new_cell.T.copy(), candidate


@quiet
def _lstm_backward(g: Any, inputs: tuple, kept: tuple, needs: tuple, mode: str) -> tuple[Any, ...]:
    gates, squashed, _, candidate = kept
    cell = inputs[2]
    units = cell.shape[1]
    enter, forget, _, leave = gates.reshape(4, units, -1)
    into = np.empty_like(gates)
    into_enter, into_forget, into_candidate, into_leave = into.reshape(4, units, -1)
    one = CONSTANTS[gates.dtype.char].one
    cell_slope = np.zeros_like(leave) if g[3] is None else g[3].T.copy()
    if g[0] is None:
        into_leave[:] = 0
    else:
        np.multiply(g[0].T, leave, into_leave)
        cell_slope += into_leave * (one - squashed * squashed)
        np.multiply(into_leave, (one - leave) * squashed, into_leave)
    np.multiply(cell_slope, enter, into_candidate)
    np.multiply(into_candidate, (one - enter) * candidate, into_enter)
    np.multiply(into_candidate, one - candidate * candidate, into_candidate)
    np.multiply(cell_slope, forget, cell_slope)
    np.multiply(cell_slope, cell.T, into_forget)
    np.multiply(into_forget, one - forget, into_forget)
    return _gradients(into, into, inputs, cell_slope.T.copy(), needs)


FORWARD: dict[str, Any] = {"RNN_TANH": _rnn, "RNN_RELU": _rnn, "GRU": _gru, "LSTM": _lstm}
BACKWARD: dict[str, Any] = {"RNN_TANH": _rnn_backward, "RNN_RELU": _rnn_backward, "GRU": _gru_backward, "LSTM": _lstm_backward}
