"""NumPy's functions on the batches that rules see: one table says what stands for them, that of tensors."""

import numpy as np
import pytest

import pullback
from pullback.transforms.arrays.batched import Batched
from tests.compat.test_numpy_calls import CALLS

# Of each example alone: the results differ in size, or are no arrays.
SAID_OF_ARRAYS = {
    "shape": np.shape, "ndim": np.ndim, "size": np.size, "iscomplexobj": np.iscomplexobj, "result_type": np.result_type,
}  # fmt: skip
MORE = {
    "where": (lambda x: np.where(x > 0, x, 0.0), (3, 4)),
    "reshape": (lambda x: np.reshape(x, (4, 3)), (3, 4)),
    "transpose": (np.transpose, (3, 4)),
    "transpose axes": (lambda x: np.transpose(x, (1, 0, 2)), (2, 3, 4)),
    "swapaxes": (lambda x: np.swapaxes(x, 0, -1), (2, 3, 4)),
    "moveaxis": (lambda x: np.moveaxis(x, 0, -1), (2, 3, 4)),
    "expand_dims": (lambda x: np.expand_dims(x, (0, 2)), (3, 4)),
    "squeeze": (np.squeeze, (1, 3, 1)),
    "broadcast_to": (lambda x: np.broadcast_to(x, (2, 3, 4)), (3, 1)),
    "concatenate": (lambda x: np.concatenate([x, x * 2, np.ones((1, 4))]), (3, 4)),
    "stack": (lambda x: np.stack([x, -x], 1), (3, 4)),
    "ravel": (np.ravel, (3, 4)),
    "copy": (np.copy, (3, 4)),
    "clip": (lambda x: np.clip(x, -0.5, 0.5), (3, 4)),
    "zeros_like": (np.zeros_like, (3, 4)),
    "full_like": (lambda x: np.full_like(x, 7.0), (3, 4)),
    "flip": (lambda x: np.flip(x, 1), (3, 4)),
    "argmax": (lambda x: np.argmax(x, 1), (3, 4)),
    "argsort": (np.argsort, (3, 4)),
    "any": (lambda x: np.any(x > 0.5, axis=0), (3, 4)),
    "all of it": (lambda x: np.all(x > 0.5), (3, 4)),
    "sum of one axis, kept": (lambda x: np.sum(x, axis=-1, keepdims=True), (3, 4)),
    "sum of a number": (np.sum, ()),
    "diagonal": (lambda x: np.diagonal(x, 1), (3, 4)),
    "qr": (lambda x: np.linalg.qr(x)[1], (3, 3)),
    "qr raw": (lambda x: np.linalg.qr(x, "raw")[1], (3, 3)),
    "a method": (lambda x: x.cumsum(1), (3, 4)),
    "a method that reduces": (lambda x: x.max(0), (3, 4)),
    "a loop: isposinf": (np.isposinf, (3, 4)),
}


def batched(call, examples):
    """What a function gives for a batch, as rules that run under vmap have it."""
    seen = []

    def look(x):
        inside = x._array
        assert type(inside) is Batched
        found = call(inside)
        seen.append((found, np.asarray(found.array) if type(found) is Batched else found))
        return x

    pullback.func.vmap(look)(pullback.tensor(examples))
    return seen[0]


@pytest.mark.parametrize("name", CALLS)
def test_a_batch_is_its_examples(name):
    call, example = CALLS[name]
    examples = np.stack([example, example * 1.5, example + 0.25])
    compare(call, examples)


@pytest.mark.parametrize("name", MORE)
def test_shapes_and_elements_of_a_batch(name):
    call, shape = MORE[name]
    compare(call, np.random.default_rng(0).standard_normal((3, *shape)))


def compare(call, examples):
    found, values = batched(call, examples)
    expected = [np.asarray(call(one)) for one in examples]
    if isinstance(found, Batched):
        assert found.dtype == expected[0].dtype and tuple(found.shape) == expected[0].shape
    np.testing.assert_allclose(values, np.stack(expected), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SAID_OF_ARRAYS)
def test_what_is_said_of_one_example(name):
    found, _ = batched(SAID_OF_ARRAYS[name], np.ones((5, 2, 3)))
    assert found == SAID_OF_ARRAYS[name](np.ones((2, 3))) and type(found) is not Batched
