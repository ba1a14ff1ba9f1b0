"""Recurrent layers and cells against torch: values, gradients, second derivatives, transformations, autocast."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

OPTIONS = [
    {}, {"bias": False}, {"bidirectional": True}, {"num_layers": 2}, {"batch_first": True},
    {"num_layers": 2, "bidirectional": True, "bias": False}, {"dtype": "float32"},
]  # fmt: skip
LAYERS = [
    *itertools.product(("RNN", "GRU", "LSTM"), OPTIONS),
    ("RNN", {"nonlinearity": "relu"}),
    ("LSTM", {"proj_size": 2}),
    ("LSTM", {"proj_size": 3, "bidirectional": True, "num_layers": 2}),
]
INPUTS = ["plain", "unbatched", "packed", "one step", "one sequence", "given state"]


def twin(kind: str, arguments: tuple, options: dict) -> tuple:
    """The same layer in both libraries, with the same weights."""
    options = {"dtype": "float64", **options}
    layers = []
    for library in (torch, pullback):
        named = {**options, "dtype": getattr(library, options["dtype"])}
        layers.append(getattr(library.nn, kind)(*arguments, **named))
    generator = np.random.default_rng(3)
    for theirs, ours in zip(layers[0].parameters(), layers[1].parameters(), strict=True):
        values = generator.standard_normal(theirs.shape) * 0.5
        with torch.no_grad(), pullback.no_grad():
            theirs.copy_(torch.from_numpy(values))
            ours.copy_(pullback.from_numpy(values))
    return tuple(layers)


def both(array: np.ndarray, kind: str) -> tuple:
    tensors = [library.tensor(array, dtype=getattr(library, kind), requires_grad=True) for library in (torch, pullback)]
    return tensors[0], tensors[1]


def run(library: object, layer: object, x: object, state: tuple | None, form: str) -> list:
    """All results as a flat list of tensors."""
    if form == "packed":
        first = layer.batch_first
        x = library.nn.utils.rnn.pack_padded_sequence(x, [3, 5, 1, 3], batch_first=first, enforce_sorted=False)
    given = state if state is None or len(state) > 1 else state[0]
    output, last = layer(x) if state is None else layer(x, given)
    return [output.data if form == "packed" else output, *(last if isinstance(last, tuple) else (last,))]


def values(tensors: list) -> list[np.ndarray]:
    return [np.zeros(()) if t is None else t.detach().numpy() for t in tensors]


def compare(ours: list, theirs: list, tolerance: float) -> None:
    for mine, other in zip(values(ours), values(theirs), strict=True):
        np.testing.assert_allclose(mine, other, rtol=tolerance, atol=tolerance)


def sample(kind: str, options: dict, form: str) -> tuple:
    """Input and state, with tolerance, for one row of the tables."""
    generator = np.random.default_rng(5)
    batch, steps = (1 if form == "one sequence" else 4), (1 if form == "one step" else 5)
    shape = (
        (steps, 3) if form == "unbatched" else (batch, steps, 3) if options.get("batch_first") else (steps, batch, 3)
    )
    dtype = options.get("dtype", "float64")
    x = both(generator.standard_normal(shape), dtype)
    if form != "given state":
        return x, (None, None), 1e-11 if dtype == "float64" else 3e-5
    rows = options.get("num_layers", 1) * (2 if options.get("bidirectional") else 1)
    widths = (options.get("proj_size") or 4, 4) if kind == "LSTM" else (4,)
    pairs = [both(generator.standard_normal((rows, batch, width)), dtype) for width in widths]
    return x, tuple(zip(*pairs)), 1e-11 if dtype == "float64" else 3e-5


@pytest.mark.parametrize("form", INPUTS)
@pytest.mark.parametrize("kind, options", LAYERS, ids=str)
def test_layers(kind: str, options: dict, form: str) -> None:
    layers = twin(kind, (3, 4), options)
    x, states, tolerance = sample(kind, options, form)
    found = []
    for library, layer, inputs, state in zip((torch, pullback), layers, x, states):
        results = run(library, layer, inputs, state, form)
        weights = [library.cos(library.arange(r.numel(), dtype=r.dtype)).reshape(r.shape) for r in results]
        sum((r * w).sum() for r, w in zip(results, weights)).backward()
        leaves = [inputs, *(state or ()), *layer.parameters()]
        found.append((results, [leaf.grad for leaf in leaves]))
    compare(found[1][0], found[0][0], tolerance)
    compare(found[1][1], found[0][1], tolerance * 10)


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("form", ["given state", "packed"])
@pytest.mark.parametrize(
    "kind, options",
    [
        *((k, {"bidirectional": True}) for k in ("RNN", "GRU", "LSTM")),
        ("LSTM", {"proj_size": 2}),
        ("RNN", {"nonlinearity": "relu"}),
    ],
    ids=str,
)
def test_second_derivatives(kind: str, options: dict, form: str, part: int) -> None:
    if part == 2 and kind != "LSTM":
        return
    layers = twin(kind, (3, 4), options)
    x, states, tolerance = sample(kind, options, form)
    found = []
    for library, layer, inputs, state in zip((torch, pullback), layers, x, states):
        leaves = [inputs, *(state or ()), *layer.parameters()]
        # Of one result only: the cotangents of the others are undefined then.
        loss = (run(library, layer, inputs, state, form)[part] ** 2).sum()
        first = library.autograd.grad(loss, leaves, create_graph=True, allow_unused=True)
        total = sum((g**2).sum() for g in first if g is not None)
        found.append(list(library.autograd.grad(total, leaves, allow_unused=True)))
    compare(found[1], found[0], tolerance * 100)


CELLS = [("RNNCell", {}), ("RNNCell", {"nonlinearity": "relu"}), ("RNNCell", {"bias": False}), ("GRUCell", {}),
         ("GRUCell", {"bias": False}), ("LSTMCell", {}), ("LSTMCell", {"bias": False}), ("GRUCell", {"dtype": "float32"}),
         ("LSTMCell", {"dtype": "float32"})]  # fmt: skip


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("kind, options", CELLS, ids=str)
def test_cells(kind: str, options: dict, batched: bool, create_graph: bool) -> None:
    layers = twin(kind, (3, 4), options)
    dtype = options.get("dtype", "float64")
    x = both(np.random.default_rng(5).standard_normal((6, 2, 3) if batched else (6, 3)), dtype)
    found = []
    for library, layer, inputs in zip((torch, pullback), layers, x):
        state = None
        for step in inputs.unbind(0):
            state = layer(step, state)
        leaves = [inputs, *layer.parameters()]
        parts = list(state) if isinstance(state, tuple) else [state]
        loss = sum((part**3).sum() for part in parts)
        grads = library.autograd.grad(loss, leaves, create_graph=create_graph)
        if create_graph:
            grads = library.autograd.grad(sum((g**2).sum() for g in grads), leaves)
        found.append([*parts, *grads])
    compare(found[1], found[0], 1e-10 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_transformations(kind: str) -> None:
    """vmap, forward mode and batches of cotangents give what a loop, or reverse mode, gives."""
    layer = twin(kind, (3, 4), {"bidirectional": True})[1]
    x = pullback.randn(4, 5, 2, 3, dtype=pullback.float64)
    func = pullback.func
    rows = pullback.stack([layer(example)[0] for example in x])
    compare([func.vmap(lambda example: layer(example)[0])(x)], [rows], 1e-12)
    per_example = func.vmap(func.grad(lambda example: layer(example)[0].sin().sum()))(x)
    looped = pullback.stack([func.grad(lambda example: layer(example)[0].sin().sum())(example) for example in x])
    compare([per_example], [looped], 1e-12)
    backwards = func.jacrev(lambda example: layer(example)[0][1])(x[0])
    forwards = func.jacfwd(lambda example: layer(example)[0][1])(x[0])
    compare([forwards], [backwards], 1e-12)
    inputs = x[0].clone().requires_grad_()
    output = layer(inputs)[0]
    weights = pullback.randn(3, *output.shape, dtype=pullback.float64)
    batched = pullback.autograd.grad(output, inputs, weights, is_grads_batched=True, retain_graph=True)[0]
    single = [pullback.autograd.grad(output, inputs, weight, retain_graph=True)[0] for weight in weights]
    compare([batched], [pullback.stack(single)], 1e-12)


@pytest.mark.parametrize("kind", ["GRU", "LSTM", "RNN"])
def test_states_may_be_written_to(kind: str) -> None:
    """Programs clear the states of finished episodes in place, between steps and after a sequence."""
    found = []
    for library, cell in zip((torch, pullback), twin(f"{kind}Cell", (3, 4), {})):
        x = library.arange(24, dtype=library.float64).reshape(4, 2, 3).div(24).requires_grad_()
        state = None
        for step in x.unbind(0):
            state = cell(step, state)
            if kind == "LSTM":
                for part in state:
                    part[0] = 0
            elif kind == "GRU":
                state[0] = 0
        (state[1] if kind == "LSTM" else state).sum().backward()
        found.append([x.grad, *(p.grad for p in cell.parameters())])
    compare(found[1], found[0], 1e-12)
    for library, layer in zip((torch, pullback), twin(kind, (3, 4), {})):
        output, state = layer(library.ones(3, 2, 3, dtype=library.float64))
        output.mul_(2)
        for part in state if kind == "LSTM" else (state,):
            part.zero_()
        output.sum().backward()
        found.append([p.grad for p in layer.parameters()])
    compare(found[3], found[2], 1e-12)


@pytest.mark.parametrize("kind, name", [("GRU", "gru"), ("LSTM", "lstm"), ("RNN", "rnn_tanh")])
def test_functions(kind: str, name: str) -> None:
    layers = twin(kind, (3, 4), {"num_layers": 2, "bidirectional": True})
    x, states, _ = sample(kind, {"num_layers": 2, "bidirectional": True}, "given state")
    found = []
    for library, layer, inputs, state in zip((torch, pullback), layers, x, states):
        function, flat = getattr(library, name), list(layer.parameters())
        hx = state if kind == "LSTM" else state[0]
        padded = function(inputs, hx, flat, True, 2, 0.0, False, True, False)
        packed = library.nn.utils.rnn.pack_padded_sequence(inputs, [5, 3, 2, 2])
        found.append([*padded, *function(packed.data, packed.batch_sizes, hx, flat, True, 2, 0.0, False, True)])
        assert len(padded) == len(state) + 1
        cell = getattr(library, f"{name}_cell")
        stepped = cell(inputs[0], tuple(part[0] for part in state) if kind == "LSTM" else hx[0], *flat[:4])
        found[-1].extend(stepped if kind == "LSTM" else [stepped])
    compare(found[1], found[0], 1e-12)


@pytest.mark.parametrize("form", ["plain", "packed", "projected", "cell", "short input"])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_dtypes_under_autocast(kind: str, form: str) -> None:
    if form == "projected" and kind != "LSTM":
        return
    found = []
    for library in (torch, pullback):
        options = {"proj_size": 2} if form == "projected" else {}
        layer = getattr(library.nn, f"{kind}Cell" if form == "cell" else kind)(3, 4, **options)
        x = library.ones(5, 2, 3, dtype=library.bfloat16 if form == "short input" else library.float32)
        with library.autocast("cpu"):
            if form == "cell":
                results = layer(x[0])
                results = results if isinstance(results, tuple) else (results,)
            elif form == "short input":
                state = library.zeros(1, 2, 4)
                output, state = layer(x, (state, state) if kind == "LSTM" else state)
                results = [output, *(state if isinstance(state, tuple) else (state,))]
            else:
                lengths = [5, 2]
                given = library.nn.utils.rnn.pack_padded_sequence(x, lengths) if form == "packed" else x
                output, state = layer(given)
                results = [
                    output.data if form == "packed" else output,
                    *(state if isinstance(state, tuple) else (state,)),
                ]
        sum(result.float().sum() for result in results).backward()
        found.append([str(result.dtype).split(".")[-1] for result in results])
        assert all(p.grad.dtype == p.dtype for p in layer.parameters() if p.grad is not None)
    assert found[0] == found[1]


def test_no_gradient_keeps_nothing() -> None:
    layer = pullback.nn.LSTM(3, 4)
    with pullback.no_grad():
        output, (hidden, cell) = layer(pullback.ones(2, 2, 3))
    assert output.grad_fn is None and not hidden.requires_grad and not cell.requires_grad
    assert output.is_contiguous()


@pytest.mark.parametrize("kind", ["GRUCell", "GRU"])
def test_computed_weights(kind: str) -> None:
    """A weight that something computes (here: its double) is the one that counts."""
    found = []
    for library, layer in zip((torch, pullback), twin(kind, (3, 4), {})):

        class Double(library.nn.Module):
            def forward(self, weight: object) -> object:
                return weight * 2

        name = "weight_hh" if kind == "GRUCell" else "weight_hh_l0"
        library.nn.utils.parametrize.register_parametrization(layer, name, Double())
        x = library.ones(2, 3, dtype=library.float64)
        hidden = library.ones(2, 4, dtype=library.float64)
        result = layer(x, hidden) if kind == "GRUCell" else layer(x[None], hidden[None])[0]
        result.sum().backward()
        found.append([result, *(p.grad for p in layer.parameters())])
    compare(found[1], found[0], 1e-12)


@pytest.mark.parametrize("options", [{}, {"bidirectional": True, "num_layers": 2}, {"batch_first": True}])
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_a_batch_of_nothing_goes_through(kind, options):
    for library, layer in zip((torch, pullback), twin(kind, (3, 4), options), strict=True):
        shape = (0, 5, 3) if "batch_first" in options else (5, 0, 3)
        x = library.zeros(shape, dtype=library.float64, requires_grad=True)
        out, state = layer(x)
        out.sum().backward()
        state = state[0] if kind == "LSTM" else state
        layers = 4 if options.get("bidirectional") else 1
        assert tuple(out.shape) == (*shape[:2], 8 if layers == 4 else 4) and tuple(state.shape) == (layers, 0, 4)
        assert x.grad.shape == shape and not layer.weight_ih_l0.grad.any()
