"""How tensors print inside `vmap`: with all their examples."""

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")
X = np.array([[0.3, 0.9, -0.4], [1.3, -1.7, 0.8]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_printed_inside_vmap(dtype):
    def shown(M):
        texts = []
        M.func.vmap(lambda x: texts.append(str(x)) or x)(M.tensor(X).to(getattr(M, dtype)))
        M.func.vmap(M.func.vmap(lambda x: texts.append(repr(x)) or x))(M.tensor(X).to(getattr(M, dtype)))
        return texts

    assert shown(pullback) == shown(torch)
