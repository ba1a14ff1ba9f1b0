"""Recurrent networks as functions: `lstm`, `gru`, `rnn_tanh`, `rnn_relu` over sequences, and their `_cell`s for one step.

`nn.LSTM` and its relatives hold the parameters and check arguments; what they run is `run_layers` and `run_cell` here.
States are tuples whose first entry is what a layer puts out: `(h,)`, or `(h, c)` for an LSTM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numpy import ndarray

from ..core.basics.constants import FLOAT32, FLOAT64
from ..core.mode import current_mode
from ..core.tape import apply
from ..core.tensor import Tensor
from ..ops import recurrence as ops
from ..transforms.arrays.batched import Batched
from ..transforms.autocast import is_active
from .joining import cat, stack
from .registry import public

State = tuple[Tensor, ...]
Weights = Sequence[Any]  # weight_ih, weight_hh, bias_ih, bias_hh, weight_hr; None for what there is not


def _fusible(tensors: Sequence[Any], batches: bool = False) -> bool:
    """True if the kernels can take these: arrays (or batches) of one dtype, float32 or float64, and no special mode."""
    mode = current_mode()
    if mode.special and (mode.dual_level or mode.autocast is not None or mode.batch_level and not batches):
        return False
    kind = tensors[0]._array.dtype
    if kind is not FLOAT32 and kind is not FLOAT64:
        return False
    for tensor in tensors:
        if tensor is not None:
            array = tensor._array
            if type(array) is not ndarray and not (batches and type(array) is Batched) or array.dtype is not kind:
                return False
    return True


def _foldable(inputs: tuple[Any, ...], sizes: Any) -> bool:
    """The function of that name in `transforms/arrays/recurrence_rules.py`."""
    from ..transforms.arrays.recurrence_rules import can_fold_batch

    return can_fold_batch(inputs, sizes)


def run_cell(mode: str, input: Tensor, state: State, weights: Weights) -> State:
    """One step: the next state."""
    inputs = (input, state[0], state[1] if len(state) > 1 else None, *weights[:4])
    if not _fusible(inputs):
        return ops.composed_cell(*inputs, mode=mode)[: len(state)]
    if mode == "LSTM":
        return apply(ops.lstm_cell, inputs)[:2]
    return (apply(ops.gru_cell, inputs)[0] if mode == "GRU" else apply(ops.rnn_cell, inputs, {"mode": mode}),)


def run_layer(
    mode: str, input: Tensor, state: State, weights: Weights, sizes: tuple[int, ...] | None, reverse: bool
) -> tuple[Tensor, State]:
    """Outputs of all steps and the last state. `input` is `(time, batch, features)`, or packed if `sizes` is given."""
    inputs = (input, state[0], state[1] if len(state) > 1 else None, *weights)
    params: dict[str, Any] = {"mode": mode, "sizes": sizes, "reverse": reverse}
    batches = current_mode().batch_level > 0
    if _fusible(inputs, batches) and (not batches or _foldable(inputs, sizes)):
        results = apply(ops.layer, inputs, params)
        return results[0], results[4:]
    output, *last = ops.composed_layer(*inputs, **params)
    return output, tuple(last[: len(state)])


def run_layers(
    mode: str, input: Tensor, state: State, weights: Sequence[Weights], sizes: tuple[int, ...] | None, dropout: float,
    bidirectional: bool
) -> tuple[Tensor, State]:  # fmt: skip
    """All layers. The state and `weights` have one entry for each layer and direction; `dropout` is between layers."""
    autocast = current_mode().autocast
    if (
        autocast is not None
        and mode == "LSTM"
        and sizes is None
        and weights[0][4] is None
        and input.dtype.itemsize <= 4
    ):
        # torch runs these, and only these, as a whole in the short dtype.
        input, state = input.to(autocast), tuple(part.to(autocast) for part in state)
        weights = [[None if part is None else part.to(autocast) for part in parts] for parts in weights]
    directions = (False, True) if bidirectional else (False,)
    last: list[State] = []
    for layer in range(len(weights) // len(directions)):
        if layer and dropout:
            from ..nn.functional import dropout as drop

            input = drop(input, dropout, True)
        outputs = []
        for reverse in directions:
            index = len(last)
            output, final = run_layer(mode, input, tuple(part[index] for part in state), weights[index], sizes, reverse)
            outputs.append(output)
            last.append(final)
        input = outputs[0] if len(outputs) == 1 else cat(outputs, dim=-1)
    return input, tuple(stack(parts, dim=0) for parts in zip(*last))


# --- torch's names ---------------------------------------------------------------------------------------------------


def _grouped(params: Sequence[Tensor], has_biases: bool, projected: bool) -> list[Weights]:
    """The flat list of parameters by layer and direction."""
    each = 2 + 2 * has_biases + projected
    groups = [list(params[start : start + each]) for start in range(0, len(params), each)]
    return [
        [*group[:2], *(group[2:4] if has_biases else (None, None)), group[-1] if projected else None]
        for group in groups
    ]


def _network(mode: str, given: tuple, named: dict[str, Any]) -> tuple:
    """The two signatures of torch's functions: padded input, or the data of a packed sequence and its batch sizes."""
    packed = "batch_sizes" in named or len(given) > 3 and not isinstance(given[3], bool)
    tail = ("params", "has_biases", "num_layers", "dropout", "train", "bidirectional")
    names = ("data", "batch_sizes", "hx", *tail) if packed else ("input", "hx", *tail, "batch_first")
    values = {**dict(zip(names, given)), **named}
    missing = [name for name in names if name not in values]
    if missing or len(given) > len(names) or len(values) > len(names):
        raise TypeError(
            f"{mode.lower()}() received an invalid combination of arguments: it takes ({', '.join(names)}), "
            f"and {missing or 'more than these'} was the difference."
        )
    state: Any = values["hx"] if mode == "LSTM" else (values["hx"],)
    params = values["params"]
    projected = mode == "LSTM" and state[0].shape[-1] != state[1].shape[-1]
    weights = _grouped(params, values["has_biases"], projected)
    dropout = values["dropout"] if values["train"] else 0.0
    if packed:
        sizes = tuple(values["batch_sizes"].tolist())
        output, last = run_layers(mode, values["data"], state, weights, sizes, dropout, values["bidirectional"])
        return output, *last
    input = values["input"].transpose(0, 1) if values["batch_first"] else values["input"]
    output, last = run_layers(mode, input, state, weights, None, dropout, values["bidirectional"])
    return output.transpose(0, 1) if values["batch_first"] else output, *last


@public(method=False, direct=True)
def lstm(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Outputs, hidden and cell state of an LSTM: `(input, (h, c), params, has_biases, num_layers, dropout, train,
    bidirectional, batch_first)`, or `(data, batch_sizes, (h, c), ...)` of a packed sequence."""
    return _network("LSTM", args, kwargs)


@public(method=False, direct=True)
def gru(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Outputs and hidden state of a GRU; arguments as for `lstm`, with one tensor as state."""
    return _network("GRU", args, kwargs)


@public(method=False, direct=True)
def rnn_tanh(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Outputs and hidden state of a plain recurrent network with tanh; arguments as for `gru`."""
    return _network("RNN_TANH", args, kwargs)


@public(method=False, direct=True)
def rnn_relu(*args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
    """Outputs and hidden state of a plain recurrent network with relu; arguments as for `gru`."""
    return _network("RNN_RELU", args, kwargs)


@public(method=False)
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, ...]:
    """One step of an LSTM: the next hidden and cell state."""
    if not isinstance(hx, (tuple, list)):
        raise TypeError(f"lstm_cell(): argument 'hx' (position 2) must be tuple of Tensors, not {type(hx).__name__}")
    for place, state in enumerate(hx):
        if not isinstance(state, Tensor):
            raise TypeError(f"expected Tensor as element {place} in argument 1, but got {type(state).__name__}")
    if len(hx) != 2:
        raise RuntimeError("lstm_cell expects two hidden states")
    _check_cell(input, hx, w_ih, w_hh)
    return run_cell("LSTM", input, tuple(hx), (w_ih, w_hh, *_both(b_ih, b_hh, w_ih)))


def _check_cell(input: Tensor, states: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor) -> None:
    """Complain where the sizes or dtypes of a step do not fit together."""
    batch, features = input.size(0), input.size(1)
    if features != w_ih.size(1):
        raise RuntimeError(f"input has inconsistent input_size: got {features} expected {w_ih.size(1)}")
    for place, state in enumerate(states):
        if state.size(0) != batch:
            raise RuntimeError(f"Input batch size {batch} doesn't match hidden{place} batch size {state.size(0)}")
        if state.size(1) != w_hh.size(1):
            raise RuntimeError(
                f"hidden{place} has inconsistent hidden_size: got {state.size(1)}, expected {w_hh.size(1)}"
            )
    for factor, weights in ((input, w_ih), (states[0], w_hh)):
        if factor.dtype is not weights.dtype and not is_active():
            raise RuntimeError(
                f"expected m1 and m2 to have the same dtype, but got: {factor.dtype.short_name} != "
                f"{weights.dtype.short_name}"
            )


def _both(b_ih: Tensor | None, b_hh: Tensor | None, weights: Tensor) -> tuple[Tensor | None, Tensor | None]:
    """Two biases, or none: one that is missing adds nothing."""
    if (b_ih is None) == (b_hh is None):
        return b_ih, b_hh
    nothing = weights.new_zeros(weights.shape[0])
    return (nothing if b_ih is None else b_ih), (nothing if b_hh is None else b_hh)


def _one_state_cell(name: str, mode: str) -> Callable[..., Tensor]:
    def cell(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Tensor:
        _check_cell(input, (hx,), w_ih, w_hh)
        return run_cell(mode, input, (hx,), (w_ih, w_hh, *_both(b_ih, b_hh, w_ih)))[0]

    cell.__name__ = cell.__qualname__ = name
    cell.__doc__ = f"One step of a recurrent network: the next hidden state ({mode.replace('_', ' ').lower()})."
    return public(method=False)(cell)


gru_cell: Callable[..., Tensor] = _one_state_cell("gru_cell", "GRU")
rnn_tanh_cell: Callable[..., Tensor] = _one_state_cell("rnn_tanh_cell", "RNN_TANH")
rnn_relu_cell: Callable[..., Tensor] = _one_state_cell("rnn_relu_cell", "RNN_RELU")
