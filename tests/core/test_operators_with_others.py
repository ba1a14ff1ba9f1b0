"""Operators leave to other classes what those know better."""

import math

import numpy as np
import pytest

import pullback


class Bundle(tuple):
    """Several values that are multiplied and added as one."""

    def __rmul__(self, factor):
        return Bundle(factor * value for value in self)

    def __radd__(self, term):
        return Bundle(term + value for value in self)

    def __rpow__(self, base):
        return Bundle(base**value for value in self)


def test_a_class_made_from_a_tuple_is_asked():
    bundle = Bundle((pullback.ones(1), pullback.ones(2)))
    scaled = pullback.tensor(2.0) * bundle
    assert isinstance(scaled, Bundle)
    assert [value.tolist() for value in scaled] == [[2.0], [2.0, 2.0]]
    assert [value.tolist() for value in pullback.tensor(1.0) + bundle] == [[2.0], [2.0, 2.0]]


def test_a_class_is_asked_whether_it_can_be_an_exponent():
    assert [value.tolist() for value in pullback.tensor(3.0) ** Bundle((pullback.ones(1), 2))] == [[3.0], 9.0]
    with pytest.raises(TypeError, match="unsupported operand"):
        pullback.ones(2) ** object()


def test_plain_sequences_are_arrays():
    assert (pullback.ones(2) * [1.0, 2.0]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_a_number_in_front_keeps_its_digits(name):
    """It is not rounded to the default dtype on its way to a float64 tensor."""
    x = np.array([0.3, 1.7])
    ours = getattr(pullback, name)(0.7, pullback.from_numpy(x))
    assert (
        ours.tolist()
        == getattr(np, {"sub": "subtract", "mul": "multiply", "div": "divide"}.get(name, name))(0.7, x).tolist()
    )


def test_python_types_as_dtypes():
    """`float` is Python's float, 64 bits wide, whatever the default dtype is."""
    assert pullback.zeros(1, dtype=float).dtype is pullback.float64
    assert pullback.zeros(1, dtype=complex).dtype is pullback.complex128
    assert pullback.ones(1).to(float).dtype is pullback.float64
    assert pullback.arange(3, dtype=int).dtype is pullback.int64


def test_transposes_of_vectors_are_refused():
    for name in ("H", "mT", "mH"):
        with pytest.raises(RuntimeError, match="only supported on matrices"):
            getattr(pullback.ones(2), name)
    with pytest.raises(RuntimeError, match="consider using tensor.mH"):
        pullback.ones(2, 3, 4).H


@pytest.mark.parametrize("name", ["floor", "ceil", "sqrt", "isnan", "fabs"])
def test_pythons_mathematics_gives_numbers(name):
    torch = pytest.importorskip("torch")
    theirs, ours = (getattr(math, name)(t.tensor(2.75)) for t in (torch, pullback))
    assert ours == theirs and type(ours) is type(theirs)
    assert list(range(math.ceil(pullback.tensor(5) / 2))) == [0, 1, 2]


def test_a_tensor_is_not_equal_to_a_list():
    torch = pytest.importorskip("torch")
    for t in (torch, pullback):
        x = t.tensor([1.0, 2.0])
        assert (x == [1.0, 2.0]) is False and (x != (1.0, 2.0)) is True and (x == []) is False and ([] == x) is False
        assert np.float32(1) in x and np.int64(2) in x and np.float64(3) not in x
    assert pullback.eq(x, [1.0, 5.0]).tolist() == [True, False]
