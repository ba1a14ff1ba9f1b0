"""How a recurrent layer runs: one step of each kind of cell, and the loop over steps.

States are tuples whose first entry is what the layer puts out: `(h,)`, or `(h, c)` for an LSTM. A step takes the
input's share of the gates, which is computed for all steps in one product, and the state. What is cut into pieces is
cut before the loop where possible: in the loop every operation counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pullback

from .. import functional as F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pullback import Tensor

    State = tuple[Tensor, ...]
    Gates = tuple[Tensor, ...]
    Step = Callable[[Gates, State], State]


class Weights(NamedTuple):
    """The parameters of one layer in one direction."""

    ih: Any
    hh: Any
    bias_ih: Any = None
    bias_hh: Any = None
    projection: Any = None


def prepare(mode: str, weights: Weights) -> tuple[Tensor | None, Step]:
    """The bias to add to the input's share of the gates, and the step."""
    recurrent = weights.hh.t()
    if mode == "GRU":
        return _gru_step(weights, recurrent)
    # Elsewhere the two biases only ever occur as their sum.
    bias = None if weights.bias_ih is None else weights.bias_ih + weights.bias_hh
    if mode == "LSTM":
        return bias, _lstm_step(recurrent, weights.projection)
    return bias, _rnn_step(recurrent, pullback.tanh if mode == "RNN_TANH" else pullback.relu)


def _rnn_step(recurrent: Tensor, activation: Callable[[Tensor], Tensor]) -> Step:
    addmm = pullback.addmm

    def step(gates: Gates, state: State) -> State:
        return (activation(addmm(gates[0], state[0], recurrent)),)

    return step


def _lstm_step(recurrent: Tensor, projection: Tensor | None) -> Step:
    addmm, sigmoid, tanh = pullback.addmm, pullback.sigmoid, pullback.tanh

    def step(gates: Gates, state: State) -> State:
        hidden, cell = state
        enter, forget, candidate, leave = addmm(gates[0], hidden, recurrent).chunk(4, 1)
        cell = sigmoid(forget) * cell + sigmoid(enter) * tanh(candidate)
        hidden = sigmoid(leave) * tanh(cell)
        return (hidden if projection is None else F.linear(hidden, projection)), cell

    return step


def _gru_step(weights: Weights, recurrent: Tensor) -> tuple[Tensor | None, Step]:
    addmm, sigmoid, tanh = pullback.addmm, pullback.sigmoid, pullback.tanh
    width = recurrent.shape[0]
    to_switches, to_new = recurrent[:, :2 * width], recurrent[:, 2 * width:]
    bias = weights.bias_ih
    new_bias = None
    if bias is not None:
        # The reset gate acts on the hidden state's share of the new state, bias included: that one stays apart.
        new_bias = weights.bias_hh[2 * width:]
        bias = pullback.cat([bias[:2 * width] + weights.bias_hh[:2 * width], bias[2 * width:]])

    def step(gates: Gates, state: State) -> State:
        hidden = state[0]
        reset, update = sigmoid(addmm(gates[0], hidden, to_switches)).chunk(2, 1)
        from_hidden = hidden @ to_new if new_bias is None else addmm(new_bias, hidden, to_new)
        new = tanh(gates[1] + reset * from_hidden)
        return (new + update * (hidden - new),)

    return bias, step


def _cut(mode: str, gates: Tensor) -> Gates:
    """The input's share of the gates in the pieces that a step wants."""
    if mode != "GRU":
        return (gates,)
    width = gates.shape[-1] // 3
    return gates.split([2 * width, width], dim=-1)


def cell_step(mode: str, input: Tensor, state: State, weights: Weights) -> State:
    """One step on its own, for the cell modules."""
    bias, step = prepare(mode, weights)
    return step(_cut(mode, F.linear(input, weights.ih, bias)), state)


def run_layer(mode: str, weights: Weights, inputs: Tensor, state: State, sizes: list[int] | None,
              reverse: bool) -> tuple[Tensor, State]:
    """Outputs of all steps and the last state. `inputs` is `(time, batch, features)`, or packed if `sizes` is given."""
    bias, step = prepare(mode, weights)
    pieces = _cut(mode, F.linear(inputs, weights.ih, bias))
    if sizes is None:
        gates = list(zip(*[piece.unbind(0) for piece in pieces]))
        outputs, state = _run_plain(step, gates, state, reverse)
        return pullback.stack(outputs, dim=0), state
    run = _run_packed_backwards if reverse else _run_packed
    outputs, state = run(step, list(zip(*[piece.split(sizes, dim=0) for piece in pieces])), state, sizes)
    return pullback.cat(outputs, dim=0), state


def _run_plain(step: Step, gates: Sequence[Gates], state: State, reverse: bool) -> tuple[list[Tensor], State]:
    outputs = []
    for gate in reversed(gates) if reverse else gates:
        state = step(gate, state)
        outputs.append(state[0])
    if reverse:
        outputs.reverse()
    return outputs, state


def _run_packed(step: Step, gates: Sequence[Gates], state: State, sizes: list[int]) -> tuple[list[Tensor], State]:
    """Sequences leave at the end of the batch as they finish."""
    outputs = []
    finished: list[State] = []
    active = sizes[0]
    for gate, size in zip(gates, sizes):
        if size < active:
            finished.append(tuple(part[size:] for part in state))
            state = tuple(part[:size] for part in state)
            active = size
        state = step(gate, state)
        outputs.append(state[0])
    finished.append(state)
    finished.reverse()
    return outputs, tuple(pullback.cat(parts, dim=0) if len(parts) > 1 else parts[0] for parts in zip(*finished))


def _run_packed_backwards(step: Step, gates: Sequence[Gates], state: State,
                          sizes: list[int]) -> tuple[list[Tensor], State]:
    """Sequences join at the end of the batch, in their initial state, at their last step."""
    initial = state
    active = sizes[-1]
    state = tuple(part[:active] for part in initial)
    outputs = []
    for gate, size in zip(reversed(gates), reversed(sizes)):
        if size > active:
            state = tuple(pullback.cat([part, start[active:size]], dim=0) for part, start in zip(state, initial))
            active = size
        state = step(gate, state)
        outputs.append(state[0])
    outputs.reverse()
    return outputs, state
