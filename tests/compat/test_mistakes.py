"""Mistakes people make: the same exception as torch's, its first words, and help after them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

LINES = (Path(__file__).parent / "mistakes.txt").read_text().splitlines()  # each is run with the names of `scene`


def scene(t: Any) -> dict[str, Any]:
    t.manual_seed(0)
    names = {"t": t, "F": t.nn.functional, "nn": t.nn, "np": np, "layer": t.nn.Linear(10, 5)}
    return names | {"x": t.randn(4, 10), "y": t.randint(0, 5, (4,)), "w": t.randn(3, requires_grad=True)}


def failure(t: Any, line: str) -> Exception:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as caught:
            exec(line, scene(t))
    return caught.value


@pytest.mark.parametrize("line", LINES)
def test_the_same_words(line: str) -> None:
    theirs, ours = failure(torch, line), failure(pullback, line)
    assert type(ours).__name__ == type(theirs).__name__ or isinstance(ours, type(theirs))
    words = str(theirs).partition("\n")[0].rstrip(".")
    assert str(ours).replace("pullback.", "torch.").startswith(words)


def test_tensors_in_a_list_are_not_joined_without_a_word() -> None:
    x = pullback.ones(2, requires_grad=True)
    for call in (lambda: pullback.exp([x, x]), lambda: x + [x], lambda: pullback.nn.Tanh()((x, (x, x)))):
        with pytest.raises(TypeError):
            call()
    assert pullback.exp([0.0, 0.0]).tolist() == [1.0, 1.0]


def test_errors_of_the_program_stay_what_they_are() -> None:
    class Net(pullback.nn.Module):
        def forward(self, x: Any) -> Any:
            return pullback.relu(x.features)

    with pytest.raises(AttributeError, match="'int' object has no attribute 'features'"):
        Net()(5)


OLDER = {
    "t.cross(t.ones(2, 3), t.ones(2, 3))": "Using torch.cross without specifying the dim arg is deprecated.",
    "t.cholesky(t.eye(2))": "torch.cholesky is deprecated in favor of torch.linalg.cholesky and will be removed",
    "t.qr(t.eye(2))": "torch.qr is deprecated in favor of torch.linalg.qr",
    "t.lu(t.eye(2))": "torch.lu is deprecated in favor of torch.linalg.lu_factor",
    "t.triangular_solve(t.ones(2, 1), t.eye(2))": "torch.triangular_solve is deprecated in favor of torch.linalg.solve",
    "t.cuda.amp.autocast(enabled=False)": "`torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast",
    "t.cuda.amp.GradScaler(enabled=False)": "`torch.cuda.amp.GradScaler(args...)` is deprecated. Please use `torch.amp.Grad",
    "t.cpu.amp.autocast(enabled=False)": "`torch.cpu.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast",
}


@pytest.mark.parametrize("line", OLDER)
def test_older_names_warn_in_torchs_words_at_the_users_line(line: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(line, {"t": pullback})
    assert [(str(each.message)[: len(OLDER[line])], each.filename) for each in caught] == [(OLDER[line], "<string>")]


SECOND_DIMS = [
    "std(0, 1)",
    "var(0, False, 1)",
    "median(0, 1)",
    "nanmedian(0, 1)",
    "mode(0, 1)",
    "norm(2, 0, 1)",
    "sort(0, 1)",
]
SECOND_DIMS += [
    f"{name}(0, 1)" for name in "sum mean prod nansum nanmean logsumexp amax amin max min argmax argmin any all".split()
]
SECOND_DIMS += ["topk(1, 0, 1)", "quantile(0.5, 0, 1)", "unique(0)"]


@pytest.mark.parametrize("call", SECOND_DIMS)
def test_a_dim_in_the_place_of_a_switch_is_refused(call: str) -> None:
    for library in (torch, pullback):
        with pytest.raises(TypeError):
            eval(f"x.{call}", {"x": library.ones(2, 3)})
