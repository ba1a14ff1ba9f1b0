"""Writes random programs of operations, views, writes in place, hooks and modes, and a backward pass of some kind.

A program grows line by line while torch runs it, so that what is written next knows the shapes there are.
"""

from __future__ import annotations

import random
import re
from typing import Any

import torch

from . import expressions as tables
from .running import Difference, Pair

SIZES = [(), (1,), (3,), (4,), (2, 3), (3, 3), (3, 2), (1, 3), (2, 2), (4, 4), (2, 3, 3), (2, 1, 3), (0,), (0, 3), (2, 0),
         (1, 1), (5,), (2, 2, 2), (2, 3, 2, 2)]  # fmt: skip
SIZE_WEIGHTS = [2, 1, 4, 3, 5, 5, 3, 2, 4, 3, 3, 2, 1, 1, 1, 1, 2, 2, 1]
DTYPES = ["float64", "float32", "complex128", "int64", "bool", "float16", "bfloat16", "complex64", "uint8"]
DTYPE_WEIGHTS = [70, 9, 6, 3, 2, 2, 2, 1, 1]
LAYOUTS = ["rows", "columns", "swapped", "gaps", "expanded", "offset"]
LAYOUT_WEIGHTS = [60, 10, 10, 8, 6, 6]
LARGEST = 400
"""Elements of a tensor that later lines may still use."""

KINDS_OF_LINES = {
    "new": 3, "one": 20, "two": 22, "reduction": 9, "along": 9, "shape": 12, "matrix": 2, "layer": 5, "write": 12,
    "mode": 3, "listener": 3,
}  # fmt: skip


def put(expression: str, **names: Any) -> str:
    """An expression with names of variables for its letters."""
    return re.sub(r"\b([a-z])\b(?!')", lambda found: str(names.get(found[1], found[1])), expression)


def new_tensor(draw: random.Random, name: str, dtype: str | None = None, gradient: float = 0.8) -> str:
    """A line that makes a tensor of random numbers."""
    shape = draw.choices(SIZES, SIZE_WEIGHTS)[0]
    dtype = dtype or draw.choices(DTYPES, DTYPE_WEIGHTS)[0]
    words = [f"{name} = leaf({draw.randrange(10**6)}, {shape}"]
    if dtype != "float64":
        words.append(f"dtype={dtype!r}")
    kind = draw.choices(["normal", "ties", "edges"], [88, 9, 3])[0]
    if kind != "normal":
        words.append(f"kind={kind!r}")
    layout = draw.choices(LAYOUTS, LAYOUT_WEIGHTS)[0]
    if layout != "rows":
        words.append(f"layout={layout!r}")
    if "int" not in dtype and dtype != "bool" and draw.random() < gradient:
        words.append("requires_grad=True")
    return ", ".join(words) + ")"


class GraphWriter:
    """One random program while it grows."""

    def __init__(self, seed: int, pair: Pair) -> None:
        self.draw = random.Random(seed)
        self.pair = pair
        self.count = 0
        self.usable: list[str] = []
        self.leaves: list[str] = []

    def name(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def value(self, name: str) -> Any:
        return self.pair.torch.get(name)

    def pick(self) -> str:
        """A variable, mostly one of the latest."""
        pool = self.usable
        if self.draw.random() < 0.45:
            return self.draw.choice(pool)
        return pool[-1 - int(len(pool) * self.draw.random() ** 2.5)]

    def lines(self) -> list[str]:
        """The next line, or two that belong together."""
        draw = self.draw
        kind = draw.choices(list(KINDS_OF_LINES), list(KINDS_OF_LINES.values()))[0]
        if kind == "new" or not self.usable:
            name = self.name()
            self.leaves.append(name)
            return [new_tensor(draw, name)]
        x, y = self.pick(), self.pick()
        if kind == "write":
            return self.write(x, y)
        if kind == "listener":
            return [put(draw.choice(tables.LISTENERS), x=x)]
        expression = self.expression(kind, x, y)
        name = self.name()
        if kind == "mode":
            mode = draw.choice(["T.no_grad()", "T.no_grad()", "T.enable_grad()", "T.set_grad_enabled(False)"])
            return [f"with {mode}: {name} = ({expression}).clone()"]  # views follow their base (docs/differences.md)
        return [f"{name} = {expression}"]

    def expression(self, kind: str, x: str, y: str) -> str:
        draw, value = self.draw, self.value(x)
        if value.is_complex() and draw.random() < 0.7:
            return put(draw.choice(tables.COMPLEX), x=x)
        if kind == "matrix" and value.dim() > 1 and value.shape[-1] == value.shape[-2] and not value.is_complex():
            positive = f"({x}@{x}.mT+T.eye({value.shape[-1]}).to({x}))"
            return put(draw.choice(tables.MATRICES), x=x, s=positive)
        table = {
            "two": tables.TWO, "reduction": tables.REDUCTIONS, "along": tables.ALONG, "shape": tables.SHAPES,
            "layer": tables.LAYERS,
        }.get(kind, tables.ONE)  # fmt: skip
        return put(draw.choice(table), x=x, y=y, d=draw.randrange(-value.dim(), value.dim()) if value.dim() else 0)

    def write(self, x: str, y: str) -> list[str]:
        """A write in place, often to something new or to a view of it, where it is legal."""
        draw = self.draw
        write = draw.choice(tables.WRITES)
        if draw.random() < 0.4:
            return [put(write, x=x, y=y)]
        name = self.name()
        return [
            f"{name} = " + put(draw.choice(tables.FRESH), x=x),
            put(write, x=name, y=y if draw.random() < 0.8 else name),
        ]

    def note(self) -> None:
        """Look at the latest variable: may others be made of it? Large values are made small, as torch's rounding would tell."""
        name = f"v{self.count}"
        value = self.value(name)
        if name in self.usable or not isinstance(value, torch.Tensor):
            return
        if value.numel() > LARGEST or value.layout is not torch.strided:
            return
        if value.is_floating_point() and value.numel():
            largest = value.detach().abs().max().item()
            if not largest < 30:
                if largest == largest and self.draw.random() < 0.9:
                    small = self.name()
                    self.pair.run(f"{small} = T.nan_to_num({name}, 0.1, 2., -2.).tanh()")
                    self.usable.append(small)
                return
        self.usable.append(name)

    def passes(self) -> list[str]:
        """A backward pass of some kind, of something that needs gradients."""
        draw = self.draw
        found = [name for name in self.usable if self.value(name).requires_grad and self.value(name).numel()]
        if not found:
            return []
        roots = list(dict.fromkeys([found[-1], *draw.sample(found, min(len(found), draw.choice([0, 1, 2])))]))
        inputs = ", ".join(draw.sample(found, min(len(found), 3)))
        leaves = ", ".join(name for name in self.leaves if self.value(name).requires_grad) or inputs
        loss = "s1 = " + " + ".join(self.weighted(name) for name in roots)
        root = roots[0]
        seed, shape = draw.randrange(10**5), tuple(self.value(root).shape)
        first = f"g1 = T.autograd.grad(s1, [{leaves}], allow_unused=True"
        squares = "s2 = sum([(g.abs()**2).sum() for g in g1 if g is not None], 0*s1.abs())"
        second = f"g2 = T.autograd.grad(s2, [{leaves}], allow_unused=True, create_graph=True)"
        more_squares = squares.replace("g1", "g2").replace("s2", "s3")
        batch = f"leaf({seed}, {(3, *shape)}).to({root}.dtype), is_grads_batched=True, allow_unused=True"
        return draw.choice([
            [loss, "s1.backward()"],
            [loss, "s1.backward()"],
            [loss, "s1.backward(retain_graph=True)", "s1.backward()"],
            [f"{root}.backward(leaf({seed}, {shape}).to({root}.dtype))"],
            [loss, f"g1 = T.autograd.grad(s1, [{inputs}], allow_unused=True)"],
            [loss, first + ", materialize_grads=True)"],
            [loss, first + ", create_graph=True)", squares, "s2.backward()"],
            [loss, first + ", create_graph=True)", squares, second, more_squares, "s3.backward()"],
            [loss, f"s1.backward(inputs=[{inputs}])"],
            [f"g1 = T.autograd.grad({root}, [{inputs}], {batch})"],
            [f"T.autograd.backward([{', '.join(roots)}], [{', '.join(f'T.ones_like({name})' for name in roots)}])"],
            [loss, "s1.backward(create_graph=True)"],
        ])  # fmt: skip

    def weighted(self, name: str) -> str:
        """A number made of a tensor."""
        value, seed = self.value(name), self.draw.randrange(10**5)
        if value.is_complex():
            return f"({name}*leaf({seed}, {tuple(value.shape)}, 'complex128')).real.sum()"
        return f"{name}.sum()" if self.draw.random() < 0.3 else f"({name}*leaf({seed}, {tuple(value.shape)})).sum()"


def run_random_graph(seed: int, pair: Pair) -> Difference | None:
    """Write and run one program; its lines are those of `pair` afterwards."""
    writer = GraphWriter(seed, pair)
    wanted = writer.draw.randint(4, 30)
    for _ in range(2 * wanted):
        if len(pair.lines) >= wanted:
            break
        for line in writer.lines():
            error, difference = pair.run(line)
            if difference is not None:
                return difference
            if error is not None:
                if " = leaf" in line or writer.draw.random() < 0.7:
                    pair.lines.pop()
                break
        writer.note()
    for line in writer.passes():
        error, difference = pair.run(line)
        if difference is not None:
            return difference
        if error is not None:
            break
    return pair.at_the_end()
