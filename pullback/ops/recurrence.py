"""Recurrent layers and cells as one operation each, for plain arrays, and as compositions for everything else.

`layer` runs all steps of one layer in one direction, `cell` a single step. Their pullbacks are kernels; a pass that is
itself recorded differentiates the composition instead. Forward mode starts from the composition, and so does `vmap`
where examples have weights of their own (see `functional/recurrence.py`, `arrays/recurrence_rules.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..autograd.op import Op, fused, op
from ..kernels import recurrence, recurrent_cells
from .fusing import plain, recorded_pullback
from .layouts import STEP, STEPS
from .matmul import linear_layer, linear_map
from .pointwise import relu, sigmoid, tanh


def _weighed(x: Any, weight: Any, bias: Any) -> Any:
    return linear_map(x, weight) if bias is None else linear_layer(x, weight, bias)


def _step(
    mode: str, share: Any, hidden: Any, cell: Any, weight_hh: Any, bias_hh: Any, weight_hr: Any
) -> tuple[Any, Any]:
    """The next state, given the input's share of the gates."""
    gates, units = _weighed(hidden, weight_hh, bias_hh), weight_hh.shape[0] // recurrence.LAYERS[mode].gates
    if mode == "GRU":
        switches = sigmoid(share[:, : 2 * units] + gates[:, : 2 * units])
        new = tanh(share[:, 2 * units :] + switches[:, :units] * gates[:, 2 * units :])
        return new + switches[:, units:] * (hidden - new), None
    gates = share + gates
    if mode != "LSTM":
        return tanh(gates) if mode == "RNN_TANH" else relu(gates), None
    switches = sigmoid(gates[:, : 2 * units])
    cell = switches[:, units:] * cell + switches[:, :units] * tanh(gates[:, 2 * units : 3 * units])
    hidden = sigmoid(gates[:, 3 * units :]) * tanh(cell)
    return hidden if weight_hr is None else linear_map(hidden, weight_hr), cell


def composed_cell(
    x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, *, mode: str
) -> tuple[Any, ...]:
    """One step: the next state."""
    return _step(mode, _weighed(x, weight_ih, bias_ih), hidden, cell, weight_hh, bias_hh, None)


def composed_layer(
    x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, weight_hr: Any, *,
    mode: str, sizes: Any, reverse: bool
) -> tuple[Any, ...]:  # fmt: skip
    """All steps: outputs, and the parts of the last state."""
    shares = _weighed(x, weight_ih, bias_ih)
    if sizes is None:
        pieces, sizes = [shares[step] for step in range(x.shape[0])], (x.shape[1],) * x.shape[0]
    else:
        ends = np.cumsum(sizes).tolist()
        pieces = [shares[end - size : end] for end, size in zip(ends, sizes)]
    # The state is kept in blocks of rows that begin or end together: (hidden, cell), last rows last.
    active, first, ended = (0 if reverse else sizes[0]), (hidden, cell), []
    state: Any = None if reverse else first
    outputs: list[Any] = []
    for piece, size in zip(pieces[::-1] if reverse else pieces, sizes[::-1] if reverse else sizes):
        if size < active:
            ended.append(_rows(state, size, active))
            state = _rows(state, 0, size)
        elif size > active:
            joining = _rows(first, active, size)
            state = joining if state is None else _joined([state, joining])
        active = size
        state = _step(mode, piece, state[0], state[1], weight_hh, bias_hh, weight_hr)
        outputs.append(state[0])
    if ended:
        state = _joined([state, *ended[::-1]])
    outputs = outputs[::-1] if reverse else outputs
    joined = np.stack(outputs) if len(x.shape) == 3 else np.concatenate(outputs)
    return joined, state[0], state[1]


def _rows(state: tuple[Any, Any], start: int, stop: int) -> tuple[Any, Any]:
    return state[0][start:stop], None if state[1] is None else state[1][start:stop]


def _joined(states: list[tuple[Any, Any]]) -> tuple[Any, Any]:
    hidden, cells = zip(*states)
    return np.concatenate(hidden), None if cells[0] is None else np.concatenate(cells)


# --- operations ------------------------------------------------------------------------------------------------------


def _layer(
    x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, weight_hr: Any,
    mode: str, sizes: Any, reverse: bool
) -> tuple[Any, ...]:  # fmt: skip
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    return recurrence.forward(*arrays, mode=mode, sizes=sizes, reverse=reverse)


def _layer_pullback(
    g: Any, x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, weight_hr: Any,
    extras: Any, needs: tuple, mode: str, sizes: Any, reverse: bool
) -> tuple[Any, ...]:  # fmt: skip
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    slopes = (g[0], g[4], g[5] if mode == "LSTM" else None)
    params = {"mode": mode, "sizes": sizes, "reverse": reverse}
    if plain(*slopes, *arrays):
        return recurrence.backward(slopes, arrays, extras[:3], needs=needs, **params)
    from ..arrays.recurrence_rules import folded_pullback

    found = folded_pullback(slopes, arrays, extras[:3], needs, params)
    return found if found is not None else recorded_pullback(composed_layer, slopes, arrays, params, needs)


layer: Op = op(
    "MkldnnRnnLayerBackward0",
    _layer,
    inputs=("x", "hidden", "cell", "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"),
    joint=_layer_pullback,
    outputs=0,
    undefined_allowed=True,
    batch=STEPS,
)


_STEP = ("x", "hidden", "cell", "weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _rnn_pullback(
    g: Any, x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, out: Any,
    needs: tuple, mode: str
) -> tuple[Any, ...]:  # fmt: skip
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh)
    if type(g) is np.ndarray:  # then all is: only plain arrays come here in a forward pass
        return recurrent_cells.rnn_backward(g, arrays, out, needs, mode)
    return recorded_pullback(composed_cell, (g,), arrays, {"mode": mode}, needs)


rnn_cell: Op = op(
    "ThnnFusedCellBackward0",
    recurrent_cells.rnn,
    inputs=_STEP,
    joint=_rnn_pullback,
    batch=STEP,
    aten="_thnn_fused_lstm_cell",
)


def _gru_pullback(
    g: Any, x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, extras: Any,
    needs: tuple
) -> tuple[Any, ...]:  # fmt: skip
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh)
    if type(g) is np.ndarray:
        return recurrent_cells.gru_backward(g, arrays, extras, needs)
    return recorded_pullback(composed_cell, (g,), arrays, {"mode": "GRU"}, needs)


gru_cell: Op = fused(
    "ThnnFusedCellBackward0",
    recurrent_cells.gru,
    inputs=_STEP,
    joint=_gru_pullback,
    batch=STEP,
    aten="_thnn_fused_lstm_cell",
)


def _lstm_pullback(
    g: Any, x: Any, hidden: Any, cell: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, extras: Any,
    needs: tuple
) -> tuple[Any, ...]:  # fmt: skip
    arrays, slopes = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh), g[:2]
    if plain(*slopes):
        return recurrent_cells.lstm_backward(slopes, arrays, extras, needs)
    return recorded_pullback(composed_cell, slopes, arrays, {"mode": "LSTM"}, needs)


lstm_cell: Op = op(
    "ThnnFusedCellBackward0",
    recurrent_cells.lstm,
    inputs=_STEP,
    joint=_lstm_pullback,
    outputs=0,
    undefined_allowed=True,
    batch=STEP,
    # programs write to states between steps (`c[done] = 0`), so neither of them is saved
    extras_from=2,
    aten="_thnn_fused_lstm_cell",
)
