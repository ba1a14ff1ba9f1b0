"""Corners that torch's own tests visit: values, dtypes, strides, and what is refused with which words, each as torch has it.

A row is an expression, and behind `##` what the message of the error has to say in both libraries.
"""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

# `t` is the library, `x` the numbers 0 to 5 as a 2 by 3 matrix, `n` not a number.
LINES = """
x.topk(1, True)  ## must be int, not bool
x.softmax(True)  ## must be int, not bool
x.transpose(True, 0)  ## must be int, not bool
x.cumsum(True)  ## must be int, not bool
x.argmax(True)  ## must be int, not bool
x.kthvalue(1, True)  ## must be int, not bool
x.unsqueeze(True)  ## must be int, not bool
x.flatten(True)  ## must be int, not bool
t.cat([x, x], True)  ## must be int, not bool
x.sum(True)
x.max(True)
x.mean(False)
x.narrow(True, 0, 1)
t.zeros(True)
x.reshape(True, 6)
x.expand(True, 3)
t.segment_reduce(t.ones(6), "sum", lengths=t.tensor([0, 2, 3, 0]))  ## Expected all rows of lengths along axis
t.segment_reduce(x, "sum", lengths=t.tensor([[0, 3], [2, 3]]), axis=1)  ## Expected all rows of lengths along axis
t.segment_reduce(t.ones(2), "sum", lengths=t.tensor([-1, 3]))  ## lengths contains negative value
t.segment_reduce(t.ones(6), "sum", lengths=t.tensor([1, 2]), unsafe=True)
""".strip().splitlines()


def outcome(t, expression):
    names = {"t": t, "x": t.arange(6.0).reshape(2, 3), "n": float("nan")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = eval(expression, names)  # noqa: S307
    except Exception as error:  # noqa: BLE001
        return type(error), str(error)
    return [described(one, t) for one in (result if isinstance(result, (tuple, list)) else (result,))], ""


def described(value, t):
    if isinstance(value, t.Tensor):
        return str(value.dtype), tuple(value.shape), value.stride(), value.tolist()
    return str(value) if isinstance(value, (t.dtype, t.device)) or value is None else value


@pytest.mark.parametrize("line", LINES)
def test_as_torch(line):
    expression, _, phrase = line.partition("##")
    (want, complaint), (got, text) = outcome(torch, expression), outcome(pullback, expression)
    if isinstance(want, type):
        assert got is want and phrase.strip() in complaint and phrase.strip() in text, text
        return
    assert not phrase and not text, text
    for found, expected in zip(got, want, strict=True):
        if isinstance(expected, tuple) and expected[0].startswith("torch."):
            assert found[:3] == expected[:3]
            np.testing.assert_allclose(found[3], expected[3], rtol=1e-6)
        else:
            assert found == expected and type(found) is type(expected)


PRINTED = """
x.max(1)
x.sort()
x.aminmax()
t.frexp(x)
t.histogram(x, 2)
t.histogramdd(x, 1)
t.svd(e)
t.geqrf(e)
t.lu_unpack(*t.linalg.lu_factor(e))
t.linalg.svd(e)
t.linalg.eigh(e)
t.linalg.eig(e)
t.linalg.qr(e)
t.linalg.slogdet(e)
t.linalg.inv_ex(e)
t.linalg.cholesky_ex(e)
t.linalg.solve_ex(e, e)
t.linalg.lu(e)
t.linalg.lu_factor(e)
t.linalg.lu_factor_ex(e)
t.linalg.ldl_factor(e)
t.linalg.ldl_factor_ex(e)
t.linalg.lstsq(e, e)
""".strip().splitlines()


@pytest.mark.parametrize("line", PRINTED)
def test_named_results(line):
    """They print as torch's do, are found in `return_types` and can be pickled."""
    results = [eval(line, {"t": t, "x": t.arange(4.0).reshape(2, 2), "e": t.eye(1)}) for t in (torch, pullback)]  # noqa: S307
    assert repr(results[1]) == repr(results[0])
    assert type(results[1]) is getattr(pullback.return_types, type(results[0]).__name__)
    assert repr(pickle.loads(pickle.dumps(results[1]))) == repr(results[1])


def test_a_result_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pullback.return_types.nothing  # noqa: B018
