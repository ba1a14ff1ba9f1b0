"""Fractions where whole numbers belong, and numbers out of range: refused, with torch's kind of error."""

from __future__ import annotations

import pytest

import pullback

torch = pytest.importorskip("torch")

# `t` is the library, `f` its nn.functional, `x` three ones, `m` a matrix of ones.
REFUSED = """
t.randint(2.5, (2,))
t.randint(0, 2.5, (2,))
t.randint(0, True, (2,))
t.randint(0, 2, 2)
t.randint_like(x, 2.5)
t.randperm(2.5)
t.eye(2.5)
t.tril_indices(2.0, 2)
t.linspace(0, 1, 2.5)
x.narrow(0, 0, 1.0)
x.unfold(0, 1.0, 1)
x.roll(1.0)
x.chunk(1.5)
x.repeat(2.0)
x.topk(1.0)
x.kthvalue(1.0)
m.diag(1.0)
m.tril(1.0)
m.triu(1.0)
m.rot90(1.0)
x.round(decimals=1.5)
x[1.0]
t.bincount(t.tensor([1]), minlength=2.0)
t.histc(x, 2.5)
t.quantile(x, 1.5)
t.renorm(m, -1, 0, 1.0)
t.cdist(m, m, -1)
t.bernoulli(x * 2)
t.where(x > 0, x.to(t.int8), 300)
t.full((2,), 300, dtype=t.int8)
x.to(t.int8).clamp(0, 300)
f.max_pool1d(m[None], 2.0)
f.one_hot(t.tensor([1]), 2.5)
f.dropout(x, 1.5)
f.cosine_similarity(m, m, eps=-1.0)
f.softshrink(x.half(), 65507.0)
f.softshrink(x, -1.0)
f.huber_loss(x, x, delta=0.0)
f.margin_ranking_loss(x, x, x, margin="a")
"""


@pytest.mark.parametrize("row", REFUSED.strip().splitlines())
def test_refused_with_the_same_kind_of_error(row):
    kinds = []
    for t in (torch, pullback):
        with pytest.raises(Exception) as caught:
            eval(row, {"t": t, "f": t.nn.functional, "x": t.ones(3), "m": t.ones(3, 3)})
        kinds.append(caught.type.__name__)
    assert kinds[0] == kinds[1]


def test_whole_numbers_of_other_types_are_taken():
    import numpy as np

    two = np.int64(2)
    assert pullback.randint(two, (3,)).max() < 2
    assert pullback.ones(3, 3).diag(np.int64(1)).tolist() == [1.0, 1.0]
    assert pullback.ones(3).narrow(0, pullback.tensor(1), two).tolist() == [1.0, 1.0]
    assert pullback.ones(3, 3).triu(pullback.tensor(1)).sum() == 3
