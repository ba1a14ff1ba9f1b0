"""Recurrent layers, all steps in one kernel: RNN, GRU and LSTM in one direction, forward and backward.

Rows are the sequences of the first step, of the second, and so on, as in a packed sequence; `sizes` says how many
each step has. Within a step the gates lie one after another (gate, sequence, unit): what runs in the loop over steps
is a product and a few ufuncs on contiguous memory. All else is done for a chunk of steps at a time, in the cache.
Sigmoids are computed as (1 + tanh(v / 2)) / 2, with v halved in the weights. Single steps: `recurrent_cells.py`.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import numpy as np

from ..core.basics.quiet import quiet
from .thresholds import STEP_BYTES

Chunk = tuple[int, int, int]  # first row, steps, sequences in each step


class Layer:
    """One layer in one direction. Subclasses know what happens in a step."""

    gates: int = 1
    sigmoids: int = 0  # so many gates are sigmoids, and come first in memory
    keeps_more: bool = False  # whether backward needs more than gates and outputs
    samples: int | None = None  # sequences come in so many groups, of which each wants a gradient of the weights

    def __init__(
        self, x: np.ndarray, hidden: np.ndarray, cell: Any, weight_ih: np.ndarray, weight_hh: np.ndarray, bias_ih: Any,
        bias_hh: Any, weight_hr: Any, *, sizes: Any, reverse: bool
    ) -> None:  # fmt: skip
        self.shape: tuple[int, ...] = x.shape
        self.inputs: np.ndarray = x.reshape(-1, x.shape[-1])
        self.hidden: np.ndarray = hidden
        self.cell: Any = cell
        self.weight_ih: np.ndarray = weight_ih
        self.weight_hh: np.ndarray = weight_hh
        self.bias_ih: Any = bias_ih
        self.bias_hh: Any = bias_hh
        self.weight_hr: Any = weight_hr
        self.units: int = weight_hh.shape[0] // self.gates
        self.flipped: bool = reverse
        self.chunks: list[Chunk] = self.in_chunks(sizes or (x.shape[1],) * x.shape[0])

    def in_chunks(self, sizes: Any) -> list[Chunk]:
        """The steps in the order in which they run; a chunk has steps of one size, and fits the cache."""
        found, start = [], 0
        row_bytes = self.weight_hh.shape[0] * self.inputs.itemsize
        for size, group in groupby(sizes):
            left = sum(1 for _ in group)
            most = max(STEP_BYTES // max(size * row_bytes, 1), 1)
            while left:
                steps = min(left, most)
                found.append((start, steps, size))
                start += steps * size
                left -= steps
        return found[::-1] if self.flipped else found

    def cut(self, array: np.ndarray, chunk: Chunk) -> np.ndarray:
        """The rows of a chunk as (step, sequence, feature), in the order in which the steps run."""
        start, steps, size = chunk
        part = array[start : start + steps * size].reshape(steps, size, array.shape[1])
        return part[::-1] if self.flipped else part

    def cut_gates(self, array: np.ndarray, chunk: Chunk) -> np.ndarray:
        """The gates of a chunk as (step, gate, sequence, unit)."""
        start, steps, size = chunk
        part = array[start : start + steps * size].reshape(steps, self.gates, size, self.units)
        return part[::-1] if self.flipped else part

    def arranged(self, weight: np.ndarray) -> np.ndarray:
        """A copy of weights as (gate, unit, input) in the order of memory, with those before a sigmoid halved."""
        gates = weight.reshape(self.gates, self.units, -1).copy()
        gates[: self.sigmoids] *= 0.5
        return gates

    def bias(self) -> np.ndarray:
        """The sum of both biases of the gates."""
        return self.bias_ih + self.bias_hh

    # --- forward ---

    def forward(self) -> tuple[Any, ...]:
        """Outputs; what `backward` asks for: gates, outputs once more, and what a subclass keeps; the last state."""
        rows, kind = len(self.inputs), self.inputs.dtype
        to_gates = self.arranged(self.weight_ih).transpose(0, 2, 1).copy()
        self.recurrent: np.ndarray = self.arranged(self.weight_hh).transpose(0, 2, 1).copy()
        bias = None if self.bias_ih is None else self.arranged(self.bias()).transpose(0, 2, 1)
        gates = np.empty((rows, self.gates * self.units), kind)
        outputs = np.empty((rows, self.hidden.shape[1]), kind)
        more = np.empty((rows if self.keeps_more else 0, self.units), kind)
        # Sequences that have ended, or not begun, keep their rows of the state: both directions follow from that.
        self.hidden = self.hidden.copy()
        self.cell = None if self.cell is None else self.cell.copy()
        for chunk in self.chunks:
            size = chunk[2]
            part = self.cut_gates(gates, chunk)
            np.matmul(self.cut(self.inputs, chunk)[:, None], to_gates, part)
            if bias is not None:
                np.add(part, bias, part)
            after = self.cut(outputs, chunk)
            self.steps(part, after, self.cut(more, chunk) if self.keeps_more else None)
            self.hidden[:size] = after[-1]
        state = (self.hidden,) if self.cell is None else (self.hidden, self.cell)
        return outputs.copy().reshape(*self.shape[:-1], outputs.shape[1]), gates, outputs, more, *state

    def steps(self, gates: np.ndarray, outputs: np.ndarray, more: Any) -> None:
        """Run the steps of a chunk: `gates` holds the input's share and is left with the gates' values."""
        raise NotImplementedError

    # --- backward ---

    def backward(self, cotangents: tuple[Any, ...], saved: tuple[Any, ...], needs: tuple[bool, ...]) -> tuple[Any, ...]:
        """Gradients of the inputs in the order of `__init__`; the cotangents (of outputs, last state) may be None."""
        upstream, last, last_cell = cotangents
        gates, outputs, more = saved
        kind = outputs.dtype
        upstream = np.zeros(outputs.shape, kind) if upstream is None else upstream.reshape(outputs.shape)
        self.before: np.ndarray = self.states_before(outputs, self.hidden)
        self.slope: np.ndarray = np.zeros(self.hidden.shape, kind) if last is None else np.array(last, order="C")
        self.cell_slope: Any = None
        # Cotangents of the gates as the hidden state sees them, and as the input does; rows as in the weights.
        self.into_gates: np.ndarray = np.empty_like(gates)
        self.into_inputs: np.ndarray = self.into_gates
        self.begin_backward(more, last_cell)
        self.flipped = not self.flipped
        for chunk in reversed(self.chunks):
            self.slopes(chunk, self.cut_gates(gates, chunk), self.cut(upstream, chunk), self.cut(outputs, chunk))
        return self.gradients(needs)

    def states_before(self, after: np.ndarray, initial: np.ndarray) -> np.ndarray:
        """The state that each row's step began with, from the states that the steps left."""
        state, found = initial.copy(), np.empty_like(after)
        for chunk in self.chunks:
            left, begun = self.cut(after, chunk), self.cut(found, chunk)
            begun[0] = state[: chunk[2]]
            begun[1:] = left[:-1]
            state[: chunk[2]] = left[-1]
        return found

    def begin_backward(self, more: np.ndarray, last_cell: Any) -> None:
        """Set up what a subclass needs beyond the common."""

    def slopes(self, chunk: Chunk, gates: np.ndarray, upstream: np.ndarray, outputs: np.ndarray) -> None:
        """Run the steps of a chunk backwards: fill `into_gates`, carry `slope` on."""
        raise NotImplementedError

    def gradients(self, needs: tuple[bool, ...]) -> tuple[Any, ...]:
        """All gradients, when the steps are done."""
        into, through = self.into_gates, self.into_inputs
        for_input = np.dot(through, self.weight_ih).reshape(self.shape) if needs[0] else None
        inputs, before = self.inputs, self.before
        product: Any = np.dot
        if self.samples is not None:
            same, product = into is through, np.matmul
            through, inputs, before = (self.apart(rows, self.samples) for rows in (through, inputs, before))
            into = through if same else self.apart(into, self.samples)
        for_bias = np.add.reduce(through, axis=-2) if needs[5] or needs[6] else None
        for_other = for_bias
        if for_bias is not None:
            for_other = for_bias.copy() if into is through else np.add.reduce(into, axis=-2)
        return (
            for_input,
            self.slope,
            self.cell_slope,
            product(through.swapaxes(-1, -2), inputs) if needs[3] else None,
            product(into.swapaxes(-1, -2), before) if needs[4] else None,
            for_bias,
            for_other,
        )

    def apart(self, rows: np.ndarray, samples: int) -> np.ndarray:
        """The rows of each sample."""
        steps, sequences = self.shape[:2]
        parts = rows.reshape(steps, samples, sequences // samples, rows.shape[1]).swapaxes(0, 1)
        return parts.reshape(samples, steps * (sequences // samples), rows.shape[1])


class TanhLayer(Layer):
    """`h = tanh(input's share + h @ W)`."""

    def steps(self, gates: np.ndarray, outputs: np.ndarray, more: Any) -> None:
        dot, add = np.dot, np.add
        hidden, recurrent = self.hidden[: outputs.shape[1]], self.recurrent[0]
        for gate, out in zip(gates[:, 0], outputs):
            dot(hidden, recurrent, out)
            add(gate, out, out)
            self.activate(out)
            hidden = out

    def activate(self, values: np.ndarray) -> None:
        np.tanh(values, values)

    def derivative(self, outputs: np.ndarray) -> np.ndarray:
        """Of the activation, from its value."""
        return 1 - outputs * outputs

    def slopes(self, chunk: Chunk, gates: np.ndarray, upstream: np.ndarray, outputs: np.ndarray) -> None:
        dot, add, multiply, weight = np.dot, np.add, np.multiply, self.weight_hh
        slope = self.slope[: chunk[2]]
        for factor, up, into in zip(self.derivative(outputs), upstream, self.cut(self.into_gates, chunk)):
            add(slope, up, slope)
            multiply(factor, slope, into)
            dot(into, weight, slope)


class ReluLayer(TanhLayer):
    """`h = relu(input's share + h @ W)`."""

    def activate(self, values: np.ndarray) -> None:
        np.maximum(values, 0, out=values)

    def derivative(self, outputs: np.ndarray) -> np.ndarray:
        return outputs > 0


class GruLayer(Layer):
    """Gated recurrent units. Kept besides: the hidden state's share of the new state, which the reset gate acts on."""

    gates: int = 3
    sigmoids: int = 2
    keeps_more: bool = True

    def bias(self) -> np.ndarray:
        new = 2 * self.units  # there the hidden state's bias stays with its share
        return np.concatenate((self.bias_ih[:new] + self.bias_hh[:new], self.bias_ih[new:]))

    def steps(self, gates: np.ndarray, outputs: np.ndarray, more: Any) -> None:
        matmul, add, multiply, subtract, tanh = np.matmul, np.add, np.multiply, np.subtract, np.tanh
        half = np.array(0.5, gates.dtype)
        bias = np.zeros((), gates.dtype) if self.bias_hh is None else self.bias_hh[2 * self.units :]
        hidden, recurrent = self.hidden[: outputs.shape[1]], self.recurrent
        share = np.empty_like(gates[0])
        to_switches, to_new = share[:2], share[2]
        views = (gates[:, :2], gates[:, 0], gates[:, 1], gates[:, 2], more, outputs)
        for switches, reset, update, new, own, out in zip(*views):
            matmul(hidden, recurrent, share)
            add(switches, to_switches, switches)
            tanh(switches, switches)
            multiply(switches, half, switches)
            add(switches, half, switches)
            add(to_new, bias, own)
            multiply(reset, own, to_new)
            add(new, to_new, new)
            tanh(new, new)
            subtract(hidden, new, out)
            multiply(out, update, out)
            add(out, new, out)
            hidden = out

    def begin_backward(self, more: np.ndarray, last_cell: Any) -> None:
        self.own: np.ndarray = more
        self.into_inputs = np.empty_like(self.into_gates)

    def slopes(self, chunk: Chunk, gates: np.ndarray, upstream: np.ndarray, outputs: np.ndarray) -> None:
        dot, add, multiply, weight = np.dot, np.add, np.multiply, self.weight_hh
        steps, size = chunk[1:]
        reset, update, new = gates.transpose(1, 0, 2, 3)
        # Every gate's cotangent is a multiple of the state's.
        to_new = (1 - update) * (1 - new * new)
        factors = np.empty_like(gates)
        multiply(to_new, reset, factors[:, 2])
        multiply(factors[:, 2], (1 - reset) * self.cut(self.own, chunk), factors[:, 0])
        multiply(update * (1 - update), self.cut(self.before, chunk) - new, factors[:, 1])
        slope = self.slope[:size]
        kept = np.empty_like(slope)
        rows = self.cut(self.into_gates, chunk)
        into = rows.reshape(steps, size, 3, self.units).transpose(0, 2, 1, 3)
        through = self.cut(self.into_inputs, chunk).reshape(steps, size, 3, self.units).transpose(0, 2, 1, 3)
        views = (factors, to_new, update, upstream, into, through[:, 2], rows)
        for factor, factor_new, stays, up, gate_slopes, new_slope, row in zip(*views):
            add(slope, up, slope)
            multiply(factor, slope, gate_slopes)
            multiply(factor_new, slope, new_slope)
            multiply(slope, stays, kept)
            dot(row, weight, slope)
            add(slope, kept, slope)
        through[:, :2] = into[:, :2]


class LstmLayer(Layer):
    """Long short-term memory. Kept besides: the cells."""

    gates: int = 4
    sigmoids: int = 3
    keeps_more: bool = True

    def arranged(self, weight: np.ndarray) -> np.ndarray:
        gates = weight.reshape(4, self.units, -1)[[0, 1, 3, 2]]  # the candidate comes last
        gates[:3] *= 0.5
        return gates

    def steps(self, gates: np.ndarray, outputs: np.ndarray, more: Any) -> None:
        matmul, add, multiply, tanh = np.matmul, np.add, np.multiply, np.tanh
        half = np.array(0.5, gates.dtype)
        size = outputs.shape[1]
        hidden, cell, recurrent = self.hidden[:size], self.cell[:size], self.recurrent
        projection = None if self.weight_hr is None else self.weight_hr.T
        share, squashed = np.empty_like(gates[0]), np.empty_like(cell)
        views = (gates, gates[:, :3], gates[:, 0], gates[:, 1], gates[:, 2], gates[:, 3], more, outputs)
        for every, sigmoids, enter, forget, leave, candidate, new_cell, out in zip(*views):
            matmul(hidden, recurrent, share)
            add(every, share, every)
            tanh(every, every)
            multiply(sigmoids, half, sigmoids)
            add(sigmoids, half, sigmoids)
            multiply(forget, cell, new_cell)
            multiply(enter, candidate, squashed)
            add(new_cell, squashed, new_cell)
            tanh(new_cell, squashed)
            if projection is None:
                multiply(leave, squashed, out)
            else:
                multiply(leave, squashed, squashed)
                np.dot(squashed, projection, out)
            hidden, cell = out, new_cell
        self.cell[:size] = more[-1]

    def begin_backward(self, more: np.ndarray, last_cell: Any) -> None:
        self.cells: np.ndarray = more
        self.cells_before: np.ndarray = self.states_before(more, self.cell)
        self.cell_slope = np.zeros(self.cell.shape, more.dtype) if last_cell is None else np.array(last_cell, order="C")
        self.for_projection: Any = None if self.weight_hr is None else np.zeros_like(self.weight_hr)

    def slopes(self, chunk: Chunk, gates: np.ndarray, upstream: np.ndarray, outputs: np.ndarray) -> None:
        dot, add, multiply, weight, projection = np.dot, np.add, np.multiply, self.weight_hh, self.weight_hr
        steps, size = chunk[1:]
        enter, forget, leave, candidate = gates.transpose(1, 0, 2, 3)
        squashed = np.tanh(self.cut(self.cells, chunk))
        factors = np.empty_like(gates)  # in the order of the weights; the first three multiply the cell's cotangent
        multiply(enter * (1 - enter), candidate, factors[:, 0])
        multiply(forget * (1 - forget), self.cut(self.cells_before, chunk), factors[:, 1])
        multiply(1 - candidate * candidate, enter, factors[:, 2])
        shown = leave * squashed
        multiply(1 - leave, shown, factors[:, 3])
        to_cell = leave - shown * squashed
        slope, cell_slope = self.slope[:size], self.cell_slope[:size]
        inner, scratch = slope, np.empty_like(cell_slope)
        if projection is not None:
            inner, kept = np.empty_like(cell_slope), np.empty((steps, *slope.shape), slope.dtype)
        rows = self.cut(self.into_gates, chunk)
        into = rows.reshape(steps, size, 4, self.units).transpose(0, 2, 1, 3)
        views = (factors, factors[:, :3], factors[:, 3], to_cell, forget, upstream, into, rows, range(steps))
        for every, by_cell, by_hidden, passing, stays, up, placed, row, step in zip(*views):
            add(slope, up, slope)
            if projection is not None:
                kept[step] = slope
                dot(slope, projection, inner)
            multiply(inner, passing, scratch)
            add(cell_slope, scratch, cell_slope)
            multiply(by_cell, cell_slope, by_cell)
            multiply(by_hidden, inner, by_hidden)
            multiply(cell_slope, stays, cell_slope)
            placed[:] = every
            dot(row, weight, slope)
        if projection is not None:
            self.for_projection += np.tensordot(kept, shown, ((0, 1), (0, 1)))

    def gradients(self, needs: tuple[bool, ...]) -> tuple[Any, ...]:
        return *super().gradients(needs), self.for_projection


LAYERS: dict[str, type[Layer]] = {"RNN_TANH": TanhLayer, "RNN_RELU": ReluLayer, "GRU": GruLayer, "LSTM": LstmLayer}


@quiet
def forward(*arrays: Any, mode: str, sizes: Any, reverse: bool) -> tuple[Any, ...]:
    """All steps of a layer: outputs, three arrays for `backward`, and the last state."""
    return LAYERS[mode](*arrays, sizes=sizes, reverse=reverse).forward()


@quiet
def backward(
    cotangents: tuple[Any, ...], arrays: tuple[Any, ...], saved: tuple[Any, ...], *, mode: str, sizes: Any, reverse: bool,
    needs: tuple[bool, ...], samples: int | None = None
) -> tuple[Any, ...]:  # fmt: skip
    """Gradients of the arrays that `forward` was given; those of the weights for each of several samples, if asked to."""
    layer = LAYERS[mode](*arrays, sizes=sizes, reverse=reverse)
    layer.samples = samples
    return layer.backward(cotangents, saved, needs)
