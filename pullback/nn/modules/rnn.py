"""Recurrent layers `RNN`, `LSTM`, `GRU` and their cells: arguments, parameters and checks.

The arithmetic lives in `functional/recurrence.py`, sequences of different lengths in `nn.utils.rnn`.
"""

from __future__ import annotations

import math
from typing import Any

import pullback

from ...core.basics.notices import warn_user
from ...core.tensor import Tensor
from ...core.views import as_own
from ...functional.recurrence import run_cell, run_layers
from ...transforms import autocast
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module
from .utils import _unusual

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]

_WEIGHTS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """The slices of a tensor along `dim`, in another order."""
    return tensor.index_select(dim, permutation)


def _draw_parameters(module: Any) -> None:
    bound = 1.0 / math.sqrt(module.hidden_size) if module.hidden_size > 0 else 0
    for weight in module.parameters():
        init.uniform_(weight, -bound, bound)


class RNNBase(Module):
    """Layers and directions of recurrent cells; `mode` is LSTM, GRU, RNN_TANH or RNN_RELU."""

    __constants__: list[str] = ["mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
                     "bidirectional", "proj_size"]  # fmt: skip

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.mode: str = mode
        self.input_size: int = input_size
        self.hidden_size: int = hidden_size
        self.num_layers: int = num_layers
        self.bias: bool = bias
        self.batch_first: bool = batch_first
        self.dropout: float = float(dropout)
        self.bidirectional: bool = bidirectional
        self.proj_size: int = proj_size
        self._check_arguments(dropout)
        self._all_weights: list[list[str]] = []
        gate_size = _GATES[mode] * hidden_size
        state_size = proj_size or hidden_size
        for layer in range(num_layers):
            for suffix in ("", "_reverse") if bidirectional else ("",):
                width = input_size if layer == 0 else state_size * (2 if bidirectional else 1)
                shapes: dict[str, Any] = {"weight_ih": (gate_size, width), "weight_hh": (gate_size, state_size)}
                if bias:
                    shapes |= {"bias_ih": gate_size, "bias_hh": gate_size}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(pullback.empty(shape, device=device, dtype=dtype)))
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_arguments(self, dropout: Any) -> None:
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(
                "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warn_user(
                "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
                f"expects num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={self.num_layers}"
            )
        for name, kind in (("bias", bool), ("batch_first", bool), ("input_size", int), ("hidden_size", int)):
            value = getattr(self, name)
            if not isinstance(value, kind):
                raise TypeError(f"{name} should be of type {kind.__name__}, got: {type(value).__name__}")
            if kind is int and value <= 0:
                raise ValueError(f"{name} must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError("proj_size should be a positive integer or zero to disable projections")
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")
        if self.mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {self.mode}")

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        _draw_parameters(self)

    def flatten_parameters(self) -> None:
        """For torch's GPU library, which wants the weights in one piece; there is nothing to do here."""

    @property
    def all_weights(self) -> list[list[Any]]:
        """The parameters, a list for each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self) -> list[Any]:
        return [weight for weights in self.all_weights for weight in weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    def extra_repr(self) -> str:
        options = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0,
            "bidirectional": False,
        }
        return f"{self.input_size}, {self.hidden_size}{_unusual(self, **options)}"

    # -- running ---------------------------------------------------------------------------------------------

    def _state_sizes(self) -> tuple[int, ...]:
        """The width of each part of the state."""
        return (self.hidden_size,)

    def _forward(self, input: Any, state: tuple | None) -> tuple[Any, tuple]:
        """Output and last state for any kind of input; states are tuples here, also of one."""
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, state)
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        batched = input.dim() == 3
        if state is not None:
            self._check_state_dims(state, batched)
        if not batched:
            input = input.unsqueeze(0 if self.batch_first else 1)
            state = None if state is None else tuple(part.unsqueeze(1) for part in state)
        self.check_input(input, None)
        if self.batch_first:
            input = input.transpose(0, 1)
        if input.shape[0] == 0:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        state = self._initial_state(input, input.shape[1], state)
        output, state = self._run(input, state, None)
        if self.batch_first:
            output = as_own(output.transpose(0, 1))
        if not batched:
            output = output.squeeze(0 if self.batch_first else 1)
            state = tuple(part.squeeze(1) for part in state)
        return output, state

    def _forward_packed(self, packed: PackedSequence, state: tuple | None) -> tuple[PackedSequence, tuple]:
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        self.check_input(data, batch_sizes)
        if state is not None and sorted_indices is not None:
            state = tuple(apply_permutation(part, sorted_indices) for part in state)
        sizes = batch_sizes.tolist()
        state = self._initial_state(data, sizes[0], state)
        output, state = self._run(data, state, sizes)
        if unsorted_indices is not None:
            state = tuple(apply_permutation(part, unsorted_indices) for part in state)
        return PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices), state

    def _run(self, inputs: Tensor, state: tuple, sizes: list[int] | None) -> tuple[Tensor, tuple]:
        weights = []
        for names in self._all_weights:
            named = {name.split("_l", 1)[0]: getattr(self, name) for name in names}
            weights.append([named.get(name) for name in _WEIGHTS])
        return run_layers(
            self.mode,
            inputs,
            state,
            weights,
            None if sizes is None else tuple(sizes),
            self.dropout if self.training else 0.0,
            self.bidirectional,
        )

    def _initial_state(self, input: Tensor, batch: int, given: tuple | None) -> tuple:
        shapes = [(len(self._all_weights), batch, width) for width in self._state_sizes()]
        if given is None:
            return tuple(pullback.zeros(shape, dtype=input.dtype, device=input.device) for shape in shapes)
        for index, (part, shape) in enumerate(zip(given, shapes)):
            if tuple(part.shape) != shape:
                which = f"hidden[{index}]" if len(shapes) > 1 else "hidden"
                raise RuntimeError(f"Expected {which} size {shape}, got {list(part.shape)}")
        return tuple(given)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise if the input's dtype or shape does not fit."""
        dtype = self._flat_weights[0].dtype
        if input.dtype != dtype and not autocast.is_active():
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: "
                f"input.to({dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 3 if batch_sizes is None else 2
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}"
            )

    def _check_state_dims(self, state: tuple, batched: bool) -> None:
        expected = 3 if batched else 2
        found = [part.dim() for part in state]
        if all(dim == expected for dim in found):
            return
        kind = "batched 3-D" if batched else "unbatched 2-D"
        if len(state) == 1:
            raise RuntimeError(f"For {kind} input, hx should also be {expected}-D but got {found[0]}-D tensor")
        raise RuntimeError(
            f"For {kind} input, hx and cx should also be {expected}-D but got ({found[0]}-D, {found[1]}-D) tensors"
        )


class _OneStateRNN(RNNBase):
    def forward(self, input: Any, hx: Tensor | None = None) -> tuple[Any, Tensor]:
        output, (hidden,) = self._forward(input, None if hx is None else (hx,))
        return output, hidden


class RNN(_OneStateRNN):
    """A recurrent layer: `h = tanh(x @ W_ih.T + b_ih + h @ W_hh.T + b_hh)`, or with relu, over the steps of a sequence.

    Arguments: `input_size, hidden_size, num_layers=1, nonlinearity='tanh', bias=True, batch_first=False, dropout=0.0,
    bidirectional=False, device=None, dtype=None`.

    `output, h_n = rnn(input, h_0)`. `input` has shape (length, batch, input_size), or (batch, length, input_size) with
    `batch_first`, or no batch, or is a packed sequence. `output` has the states of the last layer at every step, `h_n`
    those of every layer after the last step: (num_layers * directions, batch, hidden_size). `h_0` is zeros unless
    given.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__("RNN_TANH" if nonlinearity == "tanh" else "RNN_RELU", *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(_OneStateRNN):
    """Gated recurrent units. Arguments and shapes as for `RNN`, without `nonlinearity`.

    `output, h_n = gru(input, h_0)`.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory. Arguments and shapes as for `RNN`, without `nonlinearity` and with `proj_size=0`.

    `output, (h_n, c_n) = lstm(input, (h_0, c_0))`: next to the hidden states there are cell states. With `proj_size`,
    hidden states are projected to that size.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def _state_sizes(self) -> tuple[int, ...]:
        return self.proj_size or self.hidden_size, self.hidden_size

    def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]:
        return self._forward(input, hx)


class RNNCellBase(Module):
    """One step of a recurrent layer."""

    __constants__: list[str] = ["input_size", "hidden_size", "bias"]

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size: int = input_size
        self.hidden_size: int = hidden_size
        self.bias: bool = bias
        gate_size = num_chunks * hidden_size
        self.weight_ih: Parameter = Parameter(pullback.empty((gate_size, input_size), device=device, dtype=dtype))
        self.weight_hh: Parameter = Parameter(pullback.empty((gate_size, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            value = Parameter(pullback.empty(gate_size, device=device, dtype=dtype)) if bias else None
            self.register_parameter(name, value)
        self.reset_parameters()

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}{_unusual(self, bias=True)}"
        nonlinearity = self.__dict__.get("nonlinearity", "tanh")
        return text if nonlinearity == "tanh" else f"{text}, nonlinearity={nonlinearity}"

    def reset_parameters(self) -> None:
        """Draw the parameters anew."""
        _draw_parameters(self)

    def _mode(self) -> str:
        raise NotImplementedError(f"{type(self).__name__} does not say which cell it is")

    def _step(self, input: Tensor, state: tuple | None, parts: int) -> tuple:
        weights = self._weights()
        if state is not None and self._fits(input, state):
            return run_cell(self._mode(), input, state, weights)
        name = self._get_name()
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for index, part in enumerate(state or ()):
            if part.dim() not in (1, 2):
                which = "hidden" if parts == 1 else f"hx[{index}]"
                raise ValueError(f"{name}: Expected {which} to be 1D or 2D, got {part.dim()}D instead")
        batched = input.dim() == 2
        if not batched:
            input = input.unsqueeze(0)
            state = None if state is None else tuple(part.unsqueeze(0) for part in state)
        if state is None:
            zeros = pullback.zeros((input.shape[0], self.hidden_size), dtype=input.dtype, device=input.device)
            state = (zeros,) * parts
        self._check_shapes(input, state)
        state = run_cell(self._mode(), input, state, weights)
        return state if batched else tuple(part.squeeze(0) for part in state)

    def _weights(self) -> tuple:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def _fits(self, input: Tensor, state: tuple) -> bool:
        """True if there is nothing to check or to reshape, as in most steps of a loop."""
        shape = input._array.shape
        if len(shape) != 2 or shape[1] != self.input_size:
            return False
        wanted = (shape[0], self.hidden_size)
        for part in state:
            if part._array.shape != wanted:
                return False
        return True

    def _check_shapes(self, input: Tensor, state: tuple) -> None:
        if input.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {input.shape[1]} expected {self.input_size}")
        for index, part in enumerate(state):
            if part.shape[0] != input.shape[0]:
                raise RuntimeError(
                    f"Input batch size {input.shape[0]} doesn't match hidden{index} batch size {part.shape[0]}"
                )
            if part.shape[1] != self.hidden_size:
                raise RuntimeError(
                    f"hidden{index} has inconsistent hidden_size: got {part.shape[1]}, expected {self.hidden_size}"
                )


class RNNCell(RNNCellBase):
    """One step of `RNN`: `h = cell(x, h)`, with x of shape (batch, input_size) and h (batch, hidden_size)."""

    __constants__: list[str] = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=1, device=device, dtype=dtype)
        self.nonlinearity: str = nonlinearity

    def _mode(self) -> str:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return "RNN_TANH" if self.nonlinearity == "tanh" else "RNN_RELU"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, None if hx is None else (hx,), 1)[0]


class GRUCell(RNNCellBase):
    """One step of `GRU`: `h = cell(x, h)`, with x of shape (batch, input_size) and h (batch, hidden_size)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=3, device=device, dtype=dtype)

    def _mode(self) -> str:
        return "GRU"

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step(input, None if hx is None else (hx,), 1)[0]


class LSTMCell(RNNCellBase):
    """One step of `LSTM`: `h, c = cell(x, (h, c))`, with x (batch, input_size), h and c (batch, hidden_size)."""

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, num_chunks=4, device=device, dtype=dtype)

    def _mode(self) -> str:
        return "LSTM"

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        if hx is not None and len(hx) != 2:
            raise RuntimeError("lstm_cell expects two hidden states")
        return self._step(input, hx, 2)
