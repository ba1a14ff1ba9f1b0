"""Mistakes people make: the same exception as torch's, its first words, and help after them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# Each line is run with the names of `scene`; what torch says first must be said here too.
NOT_TENSORS = """
layer((x, x))
layer(None)
layer(x.numpy())
t.nn.ReLU()((x,))
t.nn.Dropout()((x,))
t.nn.LayerNorm(10)((x,))
t.nn.MaxPool2d(2)((x,))
t.nn.AvgPool2d(2)(None)
t.nn.GELU()((x,))
t.nn.LSTM(10, 2)((x,))
t.nn.BatchNorm1d(10)(None)
t.nn.CrossEntropyLoss()((x,), x)
t.mean(None)
t.argmax(None)
t.abs("a")
t.sqrt((x, x))
t.softmax(None, 0)
t.stack(None)
t.mm(x, 5)
t.cat((x, None))
F.gelu((x, x))
F.layer_norm(None, (10,))
F.cosine_similarity(x, None)
t.relu([x])
"""


def scene(t: Any) -> dict[str, Any]:
    t.manual_seed(0)
    return {"t": t, "F": t.nn.functional, "nn": t.nn, "np": np, "x": t.randn(4, 10), "layer": t.nn.Linear(10, 5)}


def failure(t: Any, line: str) -> Exception:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as caught:
            exec(line, scene(t))
    return caught.value


@pytest.mark.parametrize("line", NOT_TENSORS.strip().splitlines())
def test_what_is_no_tensor(line: str) -> None:
    theirs, ours = failure(torch, line), failure(pullback, line)
    assert type(ours) is type(theirs)
    words = str(theirs).partition("\n")[0].rstrip(".")
    assert str(ours).startswith(words)


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
