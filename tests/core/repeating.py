"""What the tests of repeated passes share: tensors to start from, and passes with and without a program."""

from __future__ import annotations

import numpy as np

import pullback
from pullback.core.plan import FIRST_LOOK, Repeats

ROUNDS = 2 * FIRST_LOOK + 4  # after the second look a program is there


def forget(root):
    """Take away what is known about passes that begin as this one does."""
    plan = root._node.plan
    plan.repeats = Repeats()
    return plan


def leaf(*shape, seed=0, dtype=np.float64):
    array = np.random.default_rng(seed).standard_normal(shape).astype(dtype)
    return pullback.tensor(array, requires_grad=True)


def gradients(root, leaves, **options):
    for tensor in leaves:
        tensor.grad = None
    root.backward(**options)
    return [None if tensor.grad is None else tensor.grad.numpy().copy() for tensor in leaves]


def by_walk(function, leaves, plan):
    programs, plan.repeats.programs = plan.repeats.programs, ()
    try:
        return gradients(function(*leaves), leaves)
    finally:
        plan.repeats.programs = programs
