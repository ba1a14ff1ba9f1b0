"""What is known of an operation stands on its `Op`, as a field of its constructor: what is no field is refused at once."""

import numpy as np
import pytest

from pullback.autograd.op import FIELDS, elementwise, fused, linear, op
from pullback.ops import matmul, shape


def test_constructors_share_their_fields():
    """Each takes what `Op` takes, and hands it on."""
    known = {"view": True, "keeps_params": True}
    for make in (elementwise, linear, op):
        made = make("KnownBackward0", lambda x: x, x=lambda: 1, **known)
        assert all(getattr(made, name) == value for name, value in known.items())
    made = fused("KnownBackward0", lambda x: (x, x), inputs=("x",), joint=lambda g: (g,))
    assert made.first_only and made.outputs == 0 and {"first_only", "outputs", "joint"} <= FIELDS


@pytest.mark.parametrize("make", [elementwise, linear, op])
@pytest.mark.parametrize(
    "wrong", [{"viw": True}, {"kinds": "op"}, {"unseen_inputs": (1,)}, {"pushfoward": lambda t: t}]
)
@pytest.mark.parametrize("forward", [lambda x: x, np.sin])
def test_unknown_fields_are_refused(make, wrong, forward):
    (name,) = wrong
    with pytest.raises(TypeError, match=f"{name}.* field"):
        make("WrongBackward0", forward, x=lambda: 1, **wrong)


def test_rules_are_of_inputs_that_are_named():
    with pytest.raises(TypeError, match="'y' of WrongBackward0"):
        op("WrongBackward0", np.zeros_like, inputs=("x",), y=lambda g: g)


def test_autocast_is_one_of_three():
    """What is cast is said by the operation, not by the name of its node, which others may share."""
    assert op("MmBackward0", lambda x: x, x=lambda g: g).autocast == "as given"
    assert (matmul.mm.autocast, matmul.vm.autocast, shape.unsafe_reshape.autocast) == ("short", "short", "as given")
    with pytest.raises(TypeError, match="autocast of WrongBackward0 is 'half'.*'full'"):
        op("WrongBackward0", lambda x: x, x=lambda g: g, autocast="half")
