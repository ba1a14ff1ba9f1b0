"""Random training loops, with and without passes written out as code: the same bits, whatever happens in between.

A model is a random cell that is run several times over; now and then a step is not like the others (a hook, a parameter
that is replaced, a value written to, another length). Each loop runs twice, once with `core/written_out/repeats.py` kept from
working, and every gradient is compared bit for bit. Then faults are planted at each function that a program calls.
"""

from __future__ import annotations

import random
from contextlib import ExitStack

import numpy as np
import pytest

import pullback
from pullback.core import passes
from pullback.core.engine import Hooks, walk
from pullback.core.plan import Repeats
from pullback.core.written_out import forms, repeats

F = pullback.nn.functional
ROWS, COLUMNS = 2, 4


def matrix(value):
    """Any value as a matrix of the usual size."""
    return value if value.shape == (ROWS, COLUMNS) else value.expand(ROWS, COLUMNS)


ONE = {  # functions of a matrix
    "tanh": lambda x: x.tanh(),
    "relu": lambda x: x.relu() - 0.3,
    "softmax": lambda x: x.softmax(-1),
    "norm": lambda x: F.layer_norm(x, (COLUMNS,)),
    "scaled": lambda x: x * -1.37 + 0.1,
    "nothing": lambda x: x - x * 0.0,
    "turned": lambda x: x.T.contiguous().T,
    "slices": lambda x: pullback.cat([x[:, 1:], x[:, :1]], 1),
    "row": lambda x: x[0].expand(ROWS, COLUMNS),
    "parts": lambda x: (lambda a, b: pullback.cat([a * b, a + b], 1))(*x.chunk(2, 1)),
    "part of a part": lambda x: x.chunk(2, 1)[0][0, 1] * x,
    "columns": lambda x: (lambda a, b, c, d: pullback.stack([b, a * b, d, c], 1))(*x.unbind(1)),
    "element": lambda x: x[0, 1] * x + x[1, 2],
    "largest": lambda x: x + x.max(1, keepdim=True)[0],
    "mean": lambda x: x - x.mean(0, keepdim=True),
    "written": lambda x: (x * 1).relu_(),
    "wider": lambda x: (x.double() * 1.1).to(x.dtype),
    "looked up": lambda x: F.embedding(pullback.tensor([1, 0]), x),
}
TWO = {  # functions of two values, which may be parameters of any shape
    "sum": lambda a, b: a + matrix(b),
    "difference": lambda a, b: a - 0.5 * matrix(b),
    "product": lambda a, b: a * matrix(b),
    "quotient": lambda a, b: a / (matrix(b).abs() + 1),
    "choice": lambda a, b: pullback.where(a.detach() > 0, a, matrix(b)),
    "matrices": lambda a, b: a @ (matrix(b).T @ matrix(b)),
    "halves": lambda a, b: pullback.cat([a[:, :2], matrix(b)[:, 2:]], 1),
}
SHAPES = [(COLUMNS,), (1, COLUMNS), (ROWS, COLUMNS), ()]
EVENTS = (
    "length", "hook", "retained", "detached", "extra", "written since", "cast", "frozen", "frozen late", "replaced", "tied",
    "resized", "view", "turned", "accumulate", "twice", "second time", "recorded", "some", "asked", "order", "crossed",
    "saved", "anomaly", "no grad",
)  # fmt: skip


class Training:
    """One training loop; everything in it follows from the seed."""

    def __init__(self, seed, written_out):
        self.choose, self.draw = random.Random(seed), np.random.default_rng(seed)
        self.written_out, self.plans, self.passes, self.seen = written_out, set(), 0, []
        self.dtype, self.turns = self.choose.choice([pullback.float32, pullback.float64]), self.choose.randint(3, 8)
        self.parameters = [self.parameter(self.choose.choice(SHAPES)) for _ in range(self.choose.randint(1, 3))]
        count = 2 + len(self.parameters)
        self.cell = []
        for step in range(self.choose.randint(1, 4)):
            table = self.choose.choice([ONE, TWO])
            name = self.choose.choice(list(table))
            self.cell.append((table[name], [self.choose.randrange(count + step) for _ in range(1 + (table is TWO))]))

    def parameter(self, shape):
        return pullback.tensor(0.5 * self.draw.standard_normal(shape), dtype=self.dtype, requires_grad=True)

    def forward(self, event):
        """The loss, and a value from the middle."""
        inputs = pullback.tensor(self.draw.standard_normal((self.turns, ROWS, COLUMNS)), dtype=self.dtype)
        inputs = inputs + matrix(self.parameters[0])
        state = middle = first = matrix(self.parameters[-1]) * 1.0
        at = self.choose.randrange(self.turns)
        for turn in range(self.turns):
            values = [first if event == "crossed" and turn == at else state, inputs[turn], *self.parameters]
            for function, places in self.cell:
                values.append(function(matrix(values[places[0]]), *[values[place] for place in places[1:]]))
            state = (matrix(values[-1]) + 0.5 * state).tanh()
            if turn == at:
                state = state.sin() if event == "extra" else state.detach() if event == "detached" else state
                middle = state
        ends = {}  # gradients of the last state are added in the reverse of the order in which these are made
        for number in (2, 1, 0) if event == "order" else (0, 1, 2):
            ends[number] = (pullback.sin, pullback.exp, pullback.sigmoid)[number](state)
        return (ends[0] + ends[1] + ends[2]).mean(), middle

    def prepare(self, event):
        """What may happen to parameters before a step."""
        number = self.choose.randrange(len(self.parameters))
        one = self.parameters[number]
        if event == "length":
            self.turns = self.choose.randint(1, 9)
        elif event == "cast":
            self.dtype = pullback.float32 if self.dtype is pullback.float64 else pullback.float64
            for parameter in self.parameters:
                parameter.grad, parameter.data = None, parameter.data.to(self.dtype)
        elif event == "frozen":
            one.requires_grad_(not one.requires_grad)
        elif event == "replaced":
            self.parameters[number] = self.parameter(one.shape)
        elif event == "tied":
            self.parameters[number] = self.parameters[0]
        elif event == "resized":
            one.grad, one.data = None, self.parameter(self.choose.choice(SHAPES)).detach()
        elif event == "turned":
            one.data = one.data.T.contiguous().T if one.dim() == 2 else one.data
        elif event == "view":
            one.grad = pullback.zeros(*one.shape, 2, dtype=one.dtype)[..., 0]

    def backward(self, loss, middle, event):
        if event == "hook":
            middle.register_hook(lambda gradient: gradient * 2)
        elif event == "retained":
            middle.retain_grad()
        elif event == "written since":
            with pullback.no_grad():
                middle.add_(1)
        elif event == "frozen late":
            self.choose.choice(self.parameters).requires_grad_(False)
        known = [parameter for parameter in dict.fromkeys(self.parameters) if parameter.requires_grad]
        if event == "asked":
            self.seen += [bits(gradient) for gradient in pullback.autograd.grad(loss, known, allow_unused=True)]
        elif event == "some":
            loss.backward(inputs=known[:1])
        elif event == "recorded":
            loss.backward(create_graph=True)
        elif event == "no grad":
            with pullback.no_grad():
                loss.backward()
        else:
            loss.backward(retain_graph=event == "twice")
        if event in ("twice", "second time"):
            loss.backward()

    def step(self, event):
        self.prepare(event)
        with ExitStack() as stack:
            if event == "saved":
                stack.enter_context(pullback.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t))
            elif event == "anomaly":
                stack.enter_context(pullback.autograd.set_detect_anomaly(True))
            try:
                loss, middle = self.forward(event)
                plan = loss.grad_fn.plan
                if plan not in self.plans or not self.written_out:
                    plan.repeats = Repeats(first_look=1)
                    self.plans.add(plan)
                self.passes += 1
                self.backward(loss, middle, event)
            except (
                RuntimeError,
                AttributeError,
            ) as error:  # a value that was written to, a graph that is gone, no graph
                self.seen.append(str(error))
        self.seen += [bits(parameter.grad) for parameter in self.parameters]
        with pullback.no_grad():
            for parameter in dict.fromkeys(self.parameters):
                if parameter.grad is not None:
                    parameter.grad.clamp_(-1, 1).mul_(0.01)  # another's gradient is not to change by that
                    parameter.sub_(parameter.grad)
            self.seen += [bits(parameter.grad) for parameter in self.parameters]
            for parameter in self.parameters:
                if event != "accumulate":
                    parameter.grad = None


def bits(gradient):
    """Everything there is to compare."""
    return gradient if gradient is None else (gradient.dtype, gradient.stride(), gradient.detach().numpy().tobytes())


@pytest.fixture
def soon(monkeypatch):
    """Programs are written at the second look, loops in small graphs; counts the passes that were walked."""
    walked = []
    monkeypatch.setattr(repeats, "FIRST_LOOK", 1)
    monkeypatch.setattr(forms, "LONG", 20)
    monkeypatch.setattr(Hooks, "in_use", False)
    monkeypatch.setattr(passes, "walk", lambda *arguments: walked.append(1) or walk(*arguments))
    return walked


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(40))
def test_programs_give_the_bits_of_the_walk(seed, soon, monkeypatch):
    results = []
    for written_out in True, False:
        training, choose = Training(seed, written_out), random.Random(seed)
        if not written_out:
            monkeypatch.setattr(repeats, "write_out_if_repeated", lambda *_: None)
        soon.clear()
        for number in range(24):
            training.step(choose.choice(EVENTS) if number > 4 and choose.random() < 0.4 else "")
            if number == 4 and written_out and not any(function is ONE["written"] for function, _ in training.cell):
                assert len(soon) < training.passes, "no pass went through a program"
        results.append(training.seen)
    assert results[0] == results[1]


ERRORS = [KeyboardInterrupt, MemoryError, ZeroDivisionError]


@pytest.mark.parametrize("seed", range(12))
def test_a_program_that_fails_anywhere_changes_nothing(seed, soon, monkeypatch):
    training = Training(seed, True)
    for _ in range(4):
        training.step("")
    leaves = list(dict.fromkeys(training.parameters))
    held = seed % 2  # some gradients are there already, and are added to
    root = training.forward("")[0]
    names = {name for program in root.grad_fn.plan.repeats.programs for name in program.__globals__}
    assert names or any(function is ONE["written"] for function, _ in training.cell)
    for name in sorted(names):
        for call in 0, 2:
            for leaf in leaves:
                leaf.grad = pullback.ones_like(leaf) if held else None
            root = training.forward("")[0]
            calls = []
            with monkeypatch.context() as patch:
                for program in root.grad_fn.plan.repeats.programs:
                    usual = program.__globals__.get(name)
                    if not callable(usual) or isinstance(usual, type) or name in ("free", "program"):
                        continue

                    def fails(*arguments, usual=usual):
                        calls.append(1)
                        if len(calls) > call:
                            raise ERRORS[call]
                        return usual(*arguments)

                    patch.setitem(program.__globals__, name, fails)
                try:
                    root.backward()
                    continue  # it was not called so often
                except ERRORS[call]:
                    pass
            for leaf in leaves:
                assert leaf.grad is None if not held else leaf.grad.eq(1).all()
            root.backward()
            got = [bits(leaf.grad) for leaf in leaves]
            with pytest.raises(RuntimeError, match="second time"):
                root.backward()
            assert got == [bits(leaf.grad) for leaf in leaves]
