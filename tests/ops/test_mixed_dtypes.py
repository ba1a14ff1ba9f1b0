"""Operands of several dtypes, with and without dims: the dtype of the result and its values are torch's.

Beside operands with dims, one without has little say about the dtype, unless torch gives it dims first.
"""

from __future__ import annotations

import itertools
import random
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

DTYPES = ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64")
SHAPES = (((3,), (3,)), ((3,), ()), ((), (3,)), ((), ()), ((3,), (1,)), ((1,), ()))
# `t` is the library, `f` its nn.functional, `a` and `b` the operands.
ROWS = """
a + b
a * b
t.where(a > 1, a, b)
t.kron(a, b)
t.hstack([a, b])
t.vstack([a, b])
t.dstack([a, b])
t.column_stack([a, b])
t.block_diag(a, b)
t.outer(a, b)
t.einsum("i,i->i", a, b)
t.einsum("i,j->ij", a, b)
t.einsum("...,...->...", a, b)
t.einsum(",i->i", b, a)
t.einsum("i,->", a, b)
t.einsum("i->", a)
f.mse_loss(a, b)
f.mse_loss(a, b, reduction="none")
f.l1_loss(a, b)
f.smooth_l1_loss(a, b)
f.smooth_l1_loss(a, b, beta=0.0)
f.huber_loss(a, b)
f.soft_margin_loss(a.float(), b)
f.soft_margin_loss(a, b.double())
f.binary_cross_entropy_with_logits(a, b)
f.binary_cross_entropy_with_logits(a, a, weight=b)
f.binary_cross_entropy(a.float() / 4, a.float() / 4, weight=b)
f.poisson_nll_loss(a, b)
f.kl_div(a, b)
f.margin_ranking_loss(a, b, a)
f.cosine_similarity(a, b, 0)
f.pairwise_distance(a, b)
"""


def operand(library, dtype, shape):
    values = (np.arange(int(np.prod(shape))) % 3 + 1).reshape(shape)
    return library.tensor(values).to(getattr(library, dtype))


def outcome(library, code, dtypes, shapes):
    names = {"t": library, "f": library.nn.functional}
    a, b = (operand(library, dtype, shape) for dtype, shape in zip(dtypes, shapes))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(code, names, {"a": a, "b": b})
    except (RuntimeError, ValueError, TypeError, IndexError):
        return None
    return str(result.dtype), tuple(result.shape), np.asarray(result.tolist())


CASES = list(itertools.product(SHAPES, itertools.product(DTYPES, DTYPES)))


@pytest.mark.parametrize("number, row", enumerate(ROWS.strip().splitlines()))
def test_result_of_mixed_operands(number, row):
    """Every fifth case, and others in each row."""
    for shapes, dtypes in CASES[number % 5 :: 5]:
        want = outcome(torch, row, dtypes, shapes)
        if want is None:
            continue
        got = outcome(pullback, row, dtypes, shapes)
        assert got is not None and got[:2] == want[:2], (dtypes, shapes, got, want)
        coarse = {"torch.float16": 5e-3, "torch.bfloat16": 3e-2}.get(want[0], 1e-6)
        # half precision is rounded less often here
        loose = 5e-2 if {"float16", "bfloat16"}.intersection(dtypes) else coarse
        np.testing.assert_allclose(got[2], want[2], rtol=loose, atol=loose)


def test_random_equations():
    """Labels of size 1, missing dims, dots and mixed dtypes in sums of products."""
    answered = 0
    for seed in range(300):
        draw = random.Random(seed)
        sizes = {letter: draw.choice((1, 1, 2, 3)) for letter in "abc"}
        sides = ["".join(draw.sample("abc", draw.choice((0, 1, 2)))) for _ in range(draw.choice((1, 2, 2)))]
        operands = [
            (draw.choice(DTYPES), tuple(sizes[letter] if draw.random() < 0.8 else 1 for letter in side))
            for side in sides
        ]
        used = sorted(set("".join(sides)))
        equation = f"{','.join(sides)}->{''.join(draw.sample(used, draw.randint(0, len(used))))}"
        results = []
        for library in (torch, pullback):
            numbers = np.random.default_rng(seed)
            tensors = [
                library.tensor(numbers.integers(1, 4, shape)).to(getattr(library, dtype)) for dtype, shape in operands
            ]
            try:
                result = library.einsum(equation, *tensors)
            except RuntimeError:
                results.append(None)
            else:
                results.append((str(result.dtype), result.tolist()))
        if results[0] is not None:
            answered += 1
            assert results[0] == results[1], (equation, operands)
    assert answered > 200


@pytest.mark.parametrize("wide", ["uint16", "uint32", "uint64"])
@pytest.mark.parametrize("other", ["int64", "uint8", "float32", "uint16", "uint64"])
def test_wide_unsigned_integers_are_compared_with_others(wide, other):
    for library in (pullback, torch):
        a, b = (library.tensor([1, 2]).to(getattr(library, name)) for name in (wide, other))
        library.testing.assert_close(a, b, check_dtype=False)
        if wide != other:
            with pytest.raises(AssertionError):
                library.testing.assert_close(a, library.tensor([1, 3]).to(b.dtype), check_dtype=False)
    large = pullback.tensor([2**64 - 1], dtype=pullback.uint64)
    with pytest.raises(AssertionError):
        pullback.testing.assert_close(large, large - 1)
