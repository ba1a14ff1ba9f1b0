"""`FlopCounterMode` counts what torch counts, by operator and by module."""

from __future__ import annotations

from typing import Any

import pytest

import pullback
from pullback.shell.torch_names import operators as torch_ops
from pullback.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula
from pullback.utils.module_tracker import ModuleTracker

aten = torch_ops.aten


def made(t: Any, *shape: int) -> Any:
    return t.ones(shape, requires_grad=True)


def layers(t: Any) -> None:
    net = t.nn.Sequential(t.nn.Linear(4, 5), t.nn.ReLU(), t.nn.Linear(5, 2))
    net(t.ones(3, 7, 4)).sum().backward()


def convolutions(t: Any) -> None:
    net = t.nn.Sequential(
        t.nn.Conv2d(3, 8, 3, padding=1, stride=2), t.nn.Conv2d(8, 4, 3, groups=2),
        t.nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1),
    )  # fmt: skip
    net(made(t, 2, 3, 9, 9)).sum().backward()


PROGRAMS = {
    "layers": layers,
    "convolutions": convolutions,
    "conv1d without a gradient for the input": lambda t: (
        t.nn.functional.conv1d(t.ones(2, 3, 9), made(t, 4, 3, 3)).sum().backward()
    ),
    "mm": lambda t: (made(t, 3, 4) @ made(t, 4, 5)).sum().backward(),
    "matmul of batches": lambda t: (made(t, 2, 3, 4, 5) @ made(t, 5, 6)).sum().backward(),
    "products of batches": lambda t: (made(t, 2, 3, 4, 5) @ made(t, 3, 5, 6)).sum().backward(),
    "bmm": lambda t: t.bmm(made(t, 2, 3, 4), made(t, 2, 4, 5)).sum().backward(),
    "baddbmm": lambda t: t.baddbmm(made(t, 2, 3, 5), made(t, 2, 3, 4), made(t, 2, 4, 5)).sum().backward(),
    "addmm": lambda t: t.addmm(made(t, 5), made(t, 3, 4), made(t, 4, 5)).sum().backward(),
    "einsum": lambda t: t.einsum("bhij,bhkj->bhik", made(t, 2, 3, 4, 5), made(t, 2, 3, 6, 5)).sum().backward(),
    "nothing to count": lambda t: made(t, 3, 4).sin().sum().backward(),
    "forward alone": lambda t: t.nn.Linear(4, 5)(t.ones(3, 4)),
}


def named(counts: dict[str, dict[Any, int]]) -> dict[str, dict[str, int]]:
    return {name: {str(operator): count for operator, count in inner.items()} for name, inner in counts.items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_counts_are_torchs(name: str) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode as TheirMode

    with FlopCounterMode(display=False) as ours:
        PROGRAMS[name](pullback)
    with TheirMode(display=False) as theirs:
        PROGRAMS[name](torch)
    assert named(ours.get_flop_counts()) == named(theirs.get_flop_counts())
    assert ours.get_total_flops() == theirs.get_total_flops()


def test_attention_counts_as_on_other_devices() -> None:
    query = made(pullback, 1, 2, 3, 4)
    with FlopCounterMode(display=False) as counter:
        out = pullback.nn.functional.scaled_dot_product_attention(query, query, query)
    product = 2 * 3 * 4 * 3 * 2
    assert counter.get_total_flops() == 2 * product
    with FlopCounterMode(display=False) as counter:
        out.sum().backward()
    assert counter.get_total_flops() == 5 * product  # the scores again, and a product for each side of both


def test_formulas_of_ones_own() -> None:
    with FlopCounterMode(
        display=False, custom_mapping={aten.sin: lambda x_shape, out_shape: 10 * x_shape[0]}
    ) as counter:
        pullback.ones(3).sin()
    assert counter.get_flop_counts() == {"Global": {aten.sin: 30}}
    try:

        @register_flop_formula(aten.cos, get_raw=True)
        def cosine(x: Any, out_val: Any) -> int:
            return out_val.numel()

        with FlopCounterMode(display=False) as counter:
            pullback.ones(3).cos()
        assert counter.get_total_flops() == 3
    finally:
        del flop_registry[aten.cos]
    with pytest.raises(ValueError, match="expected each target to be OpOverloadPacket"):
        register_flop_formula(aten.cos.default)(len)


def test_the_table(capsys: Any) -> None:
    net = pullback.nn.Sequential(pullback.nn.Linear(64, 32), pullback.nn.Linear(32, 16))
    with FlopCounterMode():
        net(pullback.ones(100, 64))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["Module", "FLOP", "%", "Total"]
    assert [line.split() for line in lines[2:]] == [
        ["Sequential", "512.000K", "100.00%"], ["-", "aten.addmm", "512.000K", "100.00%"],
        ["Sequential.0", "409.600K", "80.00%"], ["-", "aten.addmm", "409.600K", "80.00%"],
        ["Sequential.1", "102.400K", "20.00%"], ["-", "aten.addmm", "102.400K", "20.00%"],
    ]  # fmt: skip
    assert len({len(line) for line in lines}) == 1


def test_which_modules_are_at_work() -> None:
    seen: list[tuple[bool, set[str]]] = []

    class Noting(pullback.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            seen.append((tracker.is_bw, set(tracker.parents)))
            return x.clone()

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            seen.append((tracker.is_bw, set(tracker.parents)))
            return grad

    class Part(pullback.nn.Module):
        def forward(self, x: Any) -> Any:
            return Noting.apply(x)

    with ModuleTracker() as tracker:
        pullback.nn.Sequential(Part())(made(pullback, 2)).sum().backward()
    working = {"Global", "Sequential", "Sequential.0"}
    assert seen == [(False, working), (True, working)]
    assert tracker.parents == {"Global"}
