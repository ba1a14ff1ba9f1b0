"""What `vmap` returns of a view is a view of the input: the same memory, and versions that count writes to it."""

from __future__ import annotations

import numpy as np
import pytest

import pullback as P
from pullback.func import vmap

VIEWS = {
    "t": lambda x: x.t(),
    "select": lambda x: x[0],
    "slice": lambda x: x[1:, ::2],
    "identity": lambda x: x,
    "diagonal": lambda x: x.diagonal(),
    "expand": lambda x: x.unsqueeze(0).expand(2, -1, -1),
    "copy": lambda x: x * 2,
    "flip": lambda x: x.flip(0),
}


def _source(library, kind):
    x = library.arange(60.0).reshape(3, 4, 5)
    return {"reshaped": x, "plain": x.clone(), "part": x[:, 1:, 1:], "array": library.from_numpy(x.numpy()[1:, 1:])}[
        kind
    ]


@pytest.mark.parametrize("kind", ["reshaped", "plain", "part", "array"])
@pytest.mark.parametrize("name", VIEWS)
def test_as_in_torch(name, kind):
    torch = pytest.importorskip("torch")
    for dim in (0, 1, 2):
        answers = []
        for library in (P, torch):
            x = _source(library, kind)
            base = x if x._base is None else x._base
            y = library.vmap(VIEWS[name], in_dims=dim)(x)
            is_view, before = y._base is base, x._version
            if is_view and name != "expand":
                y.mul_(2)
            offset = y.storage_offset() - x.storage_offset() if is_view else 0
            answers.append((is_view, tuple(y.shape), offset, x._version - before, x.tolist()))
            if is_view:
                assert y.data_ptr() >= base.data_ptr()
        assert answers[0] == answers[1], dim


def test_a_write_to_the_result_is_a_write_to_the_input():
    x = P.zeros(3, 4)
    vmap(lambda row: row[1])(x).fill_(5)
    np.testing.assert_array_equal(x.numpy()[:, 1], 5)
    weight = P.ones(3, 4, requires_grad=True)
    loss = (weight * x).sum()
    vmap(lambda row: row[0])(x).fill_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()
