"""A pass that begins at a leaf gives it a gradient if all leaves are asked for, or this one."""

import pytest
from against_torch import torch

import pullback

CASES = {
    "not asked for": lambda T, s, v, w: s.backward(inputs=[v]),
    "asked for": lambda T, s, v, w: s.backward(inputs=[s]),
    "all": lambda T, s, v, w: s.backward(),
    "beside another root": lambda T, s, v, w: T.autograd.backward([s, (w * v).sum()], inputs=[v]),
    "beside what is made of it": lambda T, s, v, w: T.autograd.backward([s, s * 2], inputs=[v]),
    "beside what is made of it, asked for": lambda T, s, v, w: T.autograd.backward([s, s * 2], inputs=[v, s]),
    "recorded": lambda T, s, v, w: T.autograd.backward([s, (w * v).sum()], inputs=[v], create_graph=True),
    "of what leads elsewhere": lambda T, s, v, w: T.autograd.backward([s, (w * v).sum()], inputs=[s]),
    "all that leads elsewhere": lambda T, s, v, w: T.autograd.backward((w * v).sum(), inputs=[s]),
    "several outputs that lead elsewhere": lambda T, s, v, w: T.autograd.backward(list((w * v).unbind()), inputs=[s]),
    "grad": lambda T, s, v, w: T.autograd.grad([s, (w * v).sum()], [v, s]),
}


@pytest.mark.filterwarnings("ignore:Using backward")
@pytest.mark.parametrize("name", CASES)
def test_leaves_as_roots(name):
    found = []
    for library in (torch, pullback):
        leaves = [library.tensor(2.0), library.ones(2), library.tensor([3.0, 4.0])]
        for leaf in leaves:
            leaf.requires_grad_()
        CASES[name](library, *leaves)
        found.append([None if leaf.grad is None else leaf.grad.tolist() for leaf in leaves])
    assert found[0] == found[1]
