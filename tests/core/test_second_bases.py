"""Classes with a second base: `__init__` is passed on to it by every public class that passes it on in torch."""

import inspect
import warnings

import pytest

import pullback
from pullback.core.mode import current_mode, set_mode

torch = pytest.importorskip("torch")

SPACES = (
    "nn.parameter distributions distributions.constraints distributions.constraint_registry utils.data autograd "
    "autograd.graph amp utils.hooks"
).split()


def arguments(lib):
    """Arguments that some class or other takes; each class is made with all that it takes."""
    D, data, nn = lib.distributions, lib.utils.data, lib.nn  # noqa: N806
    ones = lib.ones(2)
    normal, affine = D.Normal(lib.zeros(2), ones), D.AffineTransform(0.0, 1.0)
    return [
        (), (1,), (0.0, 1.0), (ones,), (ones, ones), (lib.zeros(2), lib.eye(2)), (2, lib.tensor([0.3, 0.7])), ([[1]],),
        (data.TensorDataset(lib.ones(4, 2)),),
        (normal, 1), (normal, [affine]), (D.Categorical(ones), normal), ([1, 2],),
        (range(3), 2, False), ([D.constraints.positive],), (D.constraints.positive, 1), (affine, 1), ((1, 2), (2, 1)),
        ([affine],), (nn.Linear(2, 2),), (2, 2), (2, 2, 1), (3, 1.0), (4.0, lib.eye(2)), (D.constraints.positive,),
        (5.0, lib.tensor([1.0, 1.0])), (ones, lib.ones(2, 1), ones), (normal,), ({},), (True,), ("cpu",),
    ]  # fmt: skip


def passed_on(lib):
    """For each public class and each of the arguments that it takes: whether a second base was initialized."""
    found, known = {}, {object}
    given = arguments(lib)
    for space in SPACES:
        names = lib
        for part in space.split("."):
            names = getattr(names, part)
        for name in sorted(dir(names)):
            kind = getattr(names, name)
            if name.startswith("_") or not inspect.isclass(kind) or kind in known or issubclass(kind, BaseException):
                continue
            known.add(kind)
            try:
                both = type("Both", (kind, Second), {})
            except Exception:
                continue
            for number, values in enumerate(given):
                try:
                    found[f"{space}.{name}", number] = hasattr(both(*values), "initialized")
                except Exception:
                    continue
    return found


class Second:
    def __init__(self, *args, **kwargs):
        self.initialized = True


@pytest.fixture
def settings_restored():
    """Some of the classes switch a setting of the library when they are made: anomaly mode, safe gradients, others."""
    before = current_mode()
    yield
    set_mode(before)
    torch.autograd.set_detect_anomaly(False)
    torch.set_grad_enabled(True)
    for lib in (pullback, torch):
        lib.autograd.set_multithreading_enabled(True)


@pytest.mark.usefixtures("settings_restored")
def test_second_bases_are_initialized_where_torch_does():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = passed_on(pullback), passed_on(torch)
    both = ours.keys() & theirs.keys()
    assert len({name for name, _ in both}) > 90
    assert {each for each in both if theirs[each] and not ours[each]} == set()


def test_a_transform_that_learns():
    for lib in (pullback, torch):

        class Learning(lib.distributions.Transform, lib.nn.Module):
            def __init__(self):
                super().__init__(cache_size=1)
                self.layer = lib.nn.Linear(2, 2)  # noqa: B023

            __hash__ = lib.nn.Module.__hash__

        assert len(list(Learning().parameters())) == 2
