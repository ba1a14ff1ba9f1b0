"""Programs ask classes for their type hints (`typing.get_type_hints`): every name in an annotation can be looked up."""

import inspect
import typing

import pytest

import pullback
from pullback import distributions, nn, optim
from pullback.utils import data

CLASSES = sorted(
    {
        value
        for module in (nn, optim, optim.lr_scheduler, data, distributions)
        for value in vars(module).values()
        if inspect.isclass(value) and not issubclass(value, pullback.Tensor)
    },
    key=lambda kind: (kind.__module__, kind.__qualname__),
)


@pytest.mark.parametrize("kind", [CLASSES[start : start + 40] for start in range(0, len(CLASSES), 40)])
def test_type_hints_can_be_had(kind):
    for each in kind:
        typing.get_type_hints(each)
