"""Random expressions, run again and again: every pass that goes through a program is walked too, and compared in everything.

The training loops of test_repeated_random_programs.py have one size; here shapes, layouts, dtypes and numbers are of all
kinds, and leaves get other memory between a forward pass and its backward pass.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

import pullback
from pullback.core.accumulate import DONE
from pullback.core.engine import Hooks, free, walk
from pullback.core.plan import Repeats
from pullback.core.written_out import repeats

NUMBERS = [0.0, -0.0, 1, 2, True, -1, 0.5, float("nan"), float("inf"), 1e300, 10**20, np.float32(0.3), np.float64(0.7)]
SHAPES = [(), (1,), (3,), (1, 3), (4, 1), (4, 3), (3, 4), (3, 3), (2, 4, 3), (2, 1, 3), (0,), (0, 3), (1, 1), (70, 70)]
ONE = {  # functions of one value
    "tanh": lambda x: x.tanh(), "sigmoid": lambda x: x.sigmoid(), "exp": lambda x: x.exp(), "relu": lambda x: x.relu(),
    "negative": lambda x: -x, "square": lambda x: x * x, "twice": lambda x: x + x, "nothing": lambda x: x - x,
    "power": lambda x: x**2, "logarithm": lambda x: x.log(), "sum": lambda x: x.sum(), "mean": lambda x: x.mean(),
    "rows": lambda x: x.sum(0), "columns": lambda x: x.mean(-1, keepdim=True), "turned": lambda x: x.mT,
    "backwards": lambda x: x.permute(*range(x.dim())[::-1]), "flat": lambda x: x.reshape(-1), "first": lambda x: x[0],
    "rest": lambda x: x[1:], "softmax": lambda x: x.softmax(-1), "wider": lambda x: x.expand(2, *x.shape),
    "cast": lambda x: x.double() if x.dtype is pullback.float32 else x.float(), "written": lambda x: (x * 1).relu_(),
    "parts": lambda x: (lambda a, b: a * b)(*x.chunk(2)), "ends": lambda x: x.unbind(-1)[0] + x.unbind(-1)[-1],
    "largest": lambda x: x.max(-1)[0], "itself": lambda x: x @ x, "fixed": lambda x: x * x.detach(),
}  # fmt: skip
TWO = {  # functions of two values
    "sum": lambda a, b: a + b, "difference": lambda a, b: a - b, "product": lambda a, b: a * b,
    "quotient": lambda a, b: a / b, "matrices": lambda a, b: a @ b, "layer": pullback.nn.functional.linear,
    "larger": pullback.maximum, "joined": lambda a, b: pullback.cat([a, b]),
    "choice": lambda a, b: pullback.where(a.detach() > 0, a, b),
}  # fmt: skip
NUMBER = {  # functions of a value and a number
    "sum": lambda a, b: a + b, "product": lambda a, b: a * b, "quotient": lambda a, b: a / b, "ratio": lambda a, b: b / a,
    "rest": lambda a, b: b - a,
}  # fmt: skip
EVENTS = (
    "", "", "data", "resized", "data late", "resized late", "data inside", "resized inside", "numbers", "tied", "frozen",
    "again", "asked", "asked", "added", "replaced",
)  # fmt: skip


def bits(value):
    """Everything there is to compare of an array but its layout; one NaN is as good as another."""
    value = np.asarray(value)
    return value.dtype, value.shape, np.where(np.isnan(value), np.nan, value).astype(value.dtype).tobytes()


def compare(found, root, cotangent):
    """See that the answer of a program is what the walk gives, in memory of its own."""
    leaves, owned, executed, sweep = walk(root, cotangent)
    assert sweep is None
    if type(found) is tuple and found is not DONE:
        assert set(found[0]) == set(leaves) and set(found[1]) == set(owned)
        assert all(bits(found[0][leaf]) == bits(gradient) for leaf, gradient in leaves.items())
        return executed
    gradients = {leaf: leaf._owner()._grad for leaf in leaves} if found is DONE else found
    assert set(gradients) == set(leaves)
    known = [cotangent, *[leaf._array for leaf in leaves], *[value for node in executed for value in node.arrays]]
    for leaf, gradient in gradients.items():
        array = gradient._array
        assert bits(array) == bits(leaves[leaf])
        assert type(array) is np.ndarray and array.base is None and array.flags.writeable
        assert array.ndim < 2 or array.strides == (leaf._array if found is DONE else leaves[leaf]).strides
        assert not any(type(value) is np.ndarray and np.shares_memory(array, value) for value in known)
        known.append(array)
    return executed


@pytest.fixture
def programs(monkeypatch):
    """Programs are written at the second look, and compared whenever one is used: counts how often that is."""
    used = Counter()
    looking = [True]  # programs stay where they are when a test ends, and then nobody compares
    write_out = repeats.write_out

    def followed(form):
        program = write_out(form)

        def run(root, cotangent, last_write, wanted, retain):
            if not looking:
                return program(root, cotangent, last_write, wanted, retain)
            found = program(root, cotangent, last_write, wanted, True)
            if found is not None:
                executed = compare(found, root, cotangent)
                used[type(found), found is DONE] += 1
                if not retain and (found is DONE or type(found) is dict):
                    free(executed)
            return found

        return run

    monkeypatch.setattr(repeats, "write_out", followed)
    monkeypatch.setattr(repeats, "FIRST_LOOK", 1)
    monkeypatch.setattr(Hooks, "in_use", False)
    yield used
    looking.clear()


class Expression:
    """Random functions of random leaves; everything in it follows from the seed."""

    def __init__(self, seed):
        self.choose, self.draw = random.Random(seed), np.random.default_rng(seed)
        kinds = self.choose.choice([[np.float32], [np.float64], [np.float32, np.float64]])
        self.leaves = []
        for _ in range(self.choose.randint(1, 3)):
            self.leaves.append(self.memory(self.choose.choice(SHAPES), self.choose.choice(kinds)).requires_grad_())
        self.shift, self.steps, self.plans = 0, [], set()
        for _ in range(30):
            if len(self.steps) < self.choose.randint(1, 8):
                self.extend()
        self.ends_in_a_sum = self.choose.random() < 0.6

    def memory(self, shape, dtype):
        """Values laid out in one of the ways there are."""
        array = np.asarray(self.draw.standard_normal(shape), dtype)
        way = self.choose.randrange(10)
        if not shape or way < 5:
            return pullback.from_numpy(array)
        if way == 5:
            return pullback.from_numpy(np.asfortranarray(array))
        if way == 6:
            return pullback.from_numpy(np.stack([array, array], -1)[..., 0])
        if way == 7:
            return pullback.from_numpy(array[:1]).expand(shape).detach() if len(array) else pullback.from_numpy(array)
        return pullback.from_numpy(array).flip(0) if way == 8 else pullback.from_numpy(array.T.copy().T)

    def extend(self):
        """One more step, if there is one for these shapes."""
        values = self.values()
        first, second = self.choose.randrange(len(values)), self.choose.randrange(len(values))
        table = self.choose.choice([ONE, TWO, NUMBER])
        step = table, self.choose.choice(list(table)), first, second
        try:
            self.steps.append(step)
            assert max(self.values()[-1].shape, default=0) < 100
        except (RuntimeError, IndexError, ValueError, TypeError, AssertionError):
            self.steps.pop()

    def values(self, event=""):
        values, at = list(self.leaves), self.choose.randrange(len(self.steps) or 1)
        for number, (table, name, first, second) in enumerate(self.steps):
            if table is ONE:
                value = ONE[name](values[first])
            elif table is TWO:
                value = TWO[name](values[first], values[second])
            else:
                value = NUMBER[name](values[first], NUMBERS[(second + self.shift) % len(NUMBERS)])
            if number == at and event.endswith("inside") and value.grad_fn is not None:
                value.data = self.other_memory(value, event)
            values.append(value)
        return values

    def other_memory(self, tensor, event):
        shape = self.choose.choice(SHAPES[:12]) if event.startswith("resized") else tuple(tensor.shape)
        return self.memory(shape, tensor.detach().numpy().dtype)

    def step(self, event):
        number = self.choose.randrange(len(self.leaves))
        leaf = self.leaves[number]
        for one in self.leaves:
            one.grad = None if event != "added" or not one.requires_grad else pullback.ones_like(one)
        if event in ("data", "resized"):
            leaf.data = self.other_memory(leaf, event)
        elif event == "numbers":
            self.shift += 1
        elif event == "tied":
            self.leaves[number] = self.leaves[0]
        elif event == "frozen":
            leaf.requires_grad_(not leaf.requires_grad)
        elif event == "replaced":
            self.leaves[number] = self.other_memory(leaf, event).requires_grad_()
        root = self.values(event)[-1]
        root = root.sum() if self.ends_in_a_sum else root
        if root.grad_fn is None:
            return
        plan = root.grad_fn.plan
        if plan not in self.plans:
            self.plans.add(plan)
            plan.repeats = Repeats(first_look=1)
        if event.endswith("late"):
            leaf.data = self.other_memory(leaf, event)
        weight = self.memory(tuple(root.shape), root.detach().numpy().dtype)
        if event == "asked":
            known = [one for one in dict.fromkeys(self.leaves) if one.requires_grad]
            pullback.autograd.grad(root, known, weight, allow_unused=True)
        else:
            root.backward(weight, retain_graph=event == "again")
        if event == "again":
            root.backward(weight)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("group", range(8))
def test_programs_answer_as_the_walk_does(group, programs):
    for seed in range(150 * group, 150 * group + 150):
        expression, choose = Expression(seed), random.Random(seed)
        for number in range(12):
            try:
                expression.step("" if number < 4 else choose.choice(EVENTS))
            except (RuntimeError, ValueError, IndexError, TypeError, AttributeError):
                pass  # shapes that no longer go together, or that a graph was recorded with
    assert programs[tuple, True] > 200 and programs[tuple, False] > 100 and programs[dict, False] > 10
