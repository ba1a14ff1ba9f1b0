"""Recurrent layers and cells as one operation each, for plain arrays, and as compositions for everything else.

`layer` runs all steps of one layer in one direction, `cell` a single step. Their pullbacks are kernels; a pass that is
itself recorded differentiates the composition instead. Forward mode starts from the composition, and so does `vmap`
where examples have weights of their own (see `functional/recurrence.py`, `transforms/arrays/recurrence_rules.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import seams
from ..core.kernel import kernel
from ..core.op import Op, fused, op
from ..kernels import recurrence, recurrent_cells
from .layouts import STEP, STEPS
from .matmul import linear_layer, linear_map
from .piecewise import relu
from .pointwise import sigmoid, tanh
from .samples import Draw, Sample

if TYPE_CHECKING:
    from ..core.basics.types import NumPyArray as Array


def _weighed(x: Array, weight: Array, bias: Array | None) -> Array:
    return linear_map(x, weight) if bias is None else linear_layer(x, weight, bias)


def _step(
    mode: str,
    share: Array,
    hidden: Array,
    cell: Array | None,
    weight_hh: Array,
    bias_hh: Array | None,
    weight_hr: Array | None,
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
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    *,
    mode: str,
) -> tuple[Any, ...]:
    """One step: the next state."""
    return _step(mode, _weighed(x, weight_ih, bias_ih), hidden, cell, weight_hh, bias_hh, None)


def composed_layer(
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    weight_hr: Array | None,
    *,
    mode: str,
    sizes: tuple[int, ...] | None,
    reverse: bool,
) -> tuple[Any, ...]:
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
        elif size > active or state is None:
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


def _cell_samples(draw: Draw, gates: int, cell: bool = False) -> Iterator[tuple[Any, ...]]:
    """The operands of one step, with biases and without; few samples, none and many."""
    for samples, size, units in ((2, 1, 1), (3, 2, 2), (0, 2, 3), (300, 20, 40)):
        for biases in (True, False):
            bias = [draw(gates * units) if biases else None for _ in range(2)]
            state = draw(samples, units), draw(samples, units) if cell else None
            yield draw(samples, size), *state, draw(gates * units, size), draw(gates * units, units), *bias


def _layer_samples(draw: Draw) -> Iterator[Sample]:
    """Several steps, forwards and backwards; all samples of one length, or longer ones first."""
    for mode, gates in (("RNN_TANH", 1), ("GRU", 3), ("LSTM", 4)):
        for x, hidden, cell, *weights in _cell_samples(draw, gates, mode == "LSTM"):
            steps = draw(4, *x.shape)
            for reverse in (False, True):
                params = {"mode": mode, "sizes": None, "reverse": reverse}
                yield (steps, hidden, cell, *weights, None), params
                if len(x) > 2:
                    sizes = (len(x), len(x), 2)
                    packed = draw(sum(sizes), x.shape[1])
                    yield (packed, hidden, cell, *weights, None), {**params, "sizes": sizes}


# --- operations ------------------------------------------------------------------------------------------------------


def _layer(
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    weight_hr: Array | None,
    mode: str,
    sizes: tuple[int, ...] | None,
    reverse: bool,
) -> tuple[Any, ...]:
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    return recurrence.forward(*arrays, mode=mode, sizes=sizes, reverse=reverse)


def _layer_pullback(
    g: Array,
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    weight_hr: Array | None,
    extras: tuple[Any, ...],
    needs: tuple[bool, ...],
    mode: str,
    sizes: tuple[int, ...] | None,
    reverse: bool,
) -> tuple[Any, ...]:
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    slopes, params = _layer_slopes(g, mode), {"mode": mode, "sizes": sizes, "reverse": reverse}
    found = seams.batch_recurrence_pullback(slopes, arrays, extras[:3], needs, params)
    return found if found is not None else seams.recorded_pullback(composed_layer, slopes, arrays, params, needs)


def _layer_slopes(g: Array, mode: str) -> tuple[Any, Any, Any]:
    return g[0], g[4], g[5] if mode == "LSTM" else None


def _layer_backward(
    g: Array,
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    weight_hr: Array | None,
    extras: tuple[Any, ...],
    needs: tuple[bool, ...],
    mode: str,
    sizes: tuple[int, ...] | None,
    reverse: bool,
) -> tuple[Any, ...]:
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh, weight_hr)
    params = {"mode": mode, "sizes": sizes, "reverse": reverse}
    return recurrence.backward(_layer_slopes(g, mode), arrays, extras[:3], needs=needs, **params)


layer: Op = op(
    "MkldnnRnnLayerBackward0",
    _layer,
    inputs=("x", "hidden", "cell", "weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr"),
    joint=_layer_pullback,
    kernel=kernel(joint=_layer_backward),
    samples=_layer_samples,
    outputs=0,
    undefined_allowed=True,
    batch=STEPS,
)


_STEP = ("x", "hidden", "cell", "weight_ih", "weight_hh", "bias_ih", "bias_hh")


def _rnn_pullback(
    g: Array,
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    needs: tuple[bool, ...],
    mode: str,
) -> tuple[Any, ...]:
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh)
    return seams.recorded_pullback(composed_cell, (g,), arrays, {"mode": mode}, needs)


def _rnn_backward(
    g: Array,
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    out: Array,
    needs: tuple[bool, ...],
    mode: str,
) -> tuple[Any, ...]:
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh)
    return recurrent_cells.rnn_backward(g, arrays, out, needs, mode)


rnn_cell: Op = op(
    "ThnnFusedCellBackward0",
    recurrent_cells.rnn,
    inputs=_STEP,
    joint=_rnn_pullback,
    kernel=kernel(joint=_rnn_backward),
    samples=lambda draw: [
        (given, {"mode": mode}) for given in _cell_samples(draw, 1) for mode in ("RNN_TANH", "RNN_RELU")
    ],
    batch=STEP,
    aten="_thnn_fused_lstm_cell",
)


def _gru_pullback(
    g: Array,
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh)
    return seams.recorded_pullback(composed_cell, (g,), arrays, {"mode": "GRU"}, needs)


def _gru_backward(
    g: Array,
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    extras: tuple[Any, ...],
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh)
    return recurrent_cells.gru_backward(g, arrays, extras, needs)


gru_cell: Op = fused(
    "ThnnFusedCellBackward0",
    recurrent_cells.gru,
    inputs=_STEP,
    joint=_gru_pullback,
    kernel=kernel(joint=_gru_backward),
    samples=lambda draw: [(given, {}) for given in _cell_samples(draw, 3)],
    batch=STEP,
    aten="_thnn_fused_lstm_cell",
)


def _lstm_pullback(
    g: Array,
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh)
    return seams.recorded_pullback(composed_cell, g[:2], arrays, {"mode": "LSTM"}, needs)


def _lstm_backward(
    g: tuple[Array | None, ...],
    x: Array,
    hidden: Array,
    cell: Array | None,
    weight_ih: Array,
    weight_hh: Array,
    bias_ih: Array | None,
    bias_hh: Array | None,
    extras: tuple[Any, ...],
    needs: tuple[bool, ...],
) -> tuple[Any, ...]:
    arrays = (x, hidden, cell, weight_ih, weight_hh, bias_ih, bias_hh)
    return recurrent_cells.lstm_backward(g[:2], arrays, extras, needs)


lstm_cell: Op = op(
    "ThnnFusedCellBackward0",
    recurrent_cells.lstm,
    inputs=_STEP,
    joint=_lstm_pullback,
    kernel=kernel(joint=_lstm_backward),
    samples=lambda draw: [(given, {}) for given in _cell_samples(draw, 4, cell=True)],
    outputs=0,
    undefined_allowed=True,
    batch=STEP,
    # programs write to states between steps (`c[done] = 0`), so neither of them is saved
    extras_from=2,
    aten="_thnn_fused_lstm_cell",
)
