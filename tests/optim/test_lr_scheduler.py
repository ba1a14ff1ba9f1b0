"""Schedules against torch: rates, momenta, checkpoints, warnings and errors."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")


class Decay:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, epoch):
        return self.factor**epoch


SCHEDULES = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda e: 1 / (1 + e)),
    "LambdaLR list": lambda s, o: s.LambdaLR(o, [Decay(0.9), lambda e: 0.5]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, [Decay(0.9), lambda e: 0.5]),
    "StepLR": lambda s, o: s.StepLR(o, 3, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], 0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.25, 4),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.2, 0.9, 6),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.8),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 8, 2.0),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 6, 0.05),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 3),
    "CyclicLR triangular2": lambda s, o: s.CyclicLR(o, [0.1, 0.2], 1.0, 2, 3, mode="triangular2"),
    "CyclicLR exp_range": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 3, mode="exp_range", gamma=0.9),
    "CyclicLR own": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 3, scale_fn=Decay(0.9), scale_mode="iterations"),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 1.0, total_steps=20),
    "OneCycleLR linear": lambda s, o: s.OneCycleLR(
        o, [1.0, 0.3], epochs=5, steps_per_epoch=4, anneal_strategy="linear", three_phase=True
    ),
    "OneCycleLR no momentum": lambda s, o: s.OneCycleLR(o, 1.0, total_steps=20, cycle_momentum=False),
    "SequentialLR": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9), s.LinearLR(o)], milestones=[4, 7]
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]),
    "SequentialLR of chained": lambda s, o: s.SequentialLR(
        o, [s.ChainedScheduler([s.ConstantLR(o, 0.1, 3), s.ExponentialLR(o, 0.9)]), s.StepLR(o, 2)], milestones=[4]
    ),
    "ReduceLROnPlateau": lambda s, o: s.ReduceLROnPlateau(o, factor=0.5, patience=1, cooldown=1, threshold=0.01),
    "ReduceLROnPlateau max abs": lambda s, o: s.ReduceLROnPlateau(
        o, "max", 0.5, 0, threshold=0.05, threshold_mode="abs", min_lr=[0.1, 0.01]
    ),
}


def announced_plateau(library_schedules, optimizer):
    """As libraries follow a plateau: they overwrite the step that lowers the rate."""

    class Announced(library_schedules.ReduceLROnPlateau):
        lowered = ()

        def _reduce_lr(self, epoch):
            self.lowered = (*self.lowered, epoch)
            super()._reduce_lr(epoch)

    return Announced(optimizer, factor=0.5, patience=0)


SCHEDULES["ReduceLROnPlateau overwritten"] = announced_plateau
METRICS = [1.0, 0.9, 0.91, 0.905, 0.92, 0.8, 0.8, 0.8, 0.8, 0.7, 0.9, 0.9, 0.9, 0.9]


def optimizer_of(library, kind="SGD"):
    params = [library.ones(2, requires_grad=True) for _ in range(2)]
    options = {"SGD": {"lr": 0.5, "momentum": 0.9}, "Adam": {"lr": 0.5}}[kind]
    optimizer = getattr(library.optim, kind)([{"params": [params[0]]}, {"params": [params[1]], "lr": 0.2}], **options)
    for param in params:
        param.grad = library.zeros(2)
    return optimizer


def advance(name, optimizer, scheduler, index):
    optimizer.step()
    if name.startswith("ReduceLROnPlateau"):
        scheduler.step(METRICS[index])
    else:
        scheduler.step()


def numbers(optimizer, scheduler):
    row = [float(v) for v in scheduler.get_last_lr()]
    for group in optimizer.param_groups:
        row += [float(group["lr"]), float(group.get("momentum", 0)), float(group.get("betas", (0,))[0])]
    return row


def track(library, name, kind, resume=None):
    optimizer = optimizer_of(library, kind)
    scheduler = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
    rows = [numbers(optimizer, scheduler)]
    for index in range(14):
        if index == resume:
            saved = copy.deepcopy((optimizer.state_dict(), scheduler.state_dict()))
            optimizer = optimizer_of(library, kind)
            scheduler = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
            optimizer.load_state_dict(saved[0])
            scheduler.load_state_dict(saved[1])
        advance(name, optimizer, scheduler, index)
        rows.append(numbers(optimizer, scheduler))
    return np.array(rows), scheduler.state_dict()


@pytest.mark.filterwarnings("ignore:Detected call")
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_rates_follow_torch(name, kind):
    ours, our_state = track(pullback, name, kind)
    theirs, their_state = track(torch, name, kind)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    assert our_state.keys() == their_state.keys()


@pytest.mark.filterwarnings("ignore:Detected call")
@pytest.mark.parametrize("name", [n for n in SCHEDULES if "Cycl" not in n])  # those set momenta when they are made
def test_resumed_schedules_go_on(name):
    np.testing.assert_allclose(track(pullback, name, "SGD", resume=6)[0], track(pullback, name, "SGD")[0], rtol=1e-12)


@pytest.mark.parametrize(
    "name", [n for n in SCHEDULES if not n.startswith(("Sequential", "Chained", "Reduce", "Multiplicative", "Lambda"))]
)
def test_epochs_can_be_given(name):
    rows = []
    for library in (pullback, torch):
        optimizer = optimizer_of(library)
        scheduler = SCHEDULES[name](library.optim.lr_scheduler, optimizer)
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = []
            for epoch in (3, 1, 9):
                scheduler.step(epoch)
                row += numbers(optimizer, scheduler)
        rows.append(row)
    np.testing.assert_allclose(rows[0], rows[1], rtol=1e-12)


def test_tensor_rates_are_changed_in_place():
    param = pullback.ones(1, requires_grad=True)
    lr = pullback.tensor(0.5)
    optimizer = pullback.optim.SGD([param], lr=lr)
    scheduler = pullback.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)
    optimizer.step()
    scheduler.step()
    assert optimizer.param_groups[0]["lr"] is lr and lr.item() == 0.25
    assert scheduler.get_last_lr()[0] is not lr


def test_wrong_order_warns_as_in_torch():
    for library in (torch, pullback):
        optimizer = optimizer_of(library)
        scheduler = library.optim.lr_scheduler.StepLR(optimizer, 2)
        with pytest.warns(UserWarning, match="before `optimizer.step"):
            scheduler.step()
        with pytest.warns(UserWarning, match="get_last_lr"):
            scheduler.get_lr()
        optimizer = optimizer_of(library)
        scheduler = library.optim.lr_scheduler.StepLR(optimizer, 2)
        optimizer.step = lambda: None
        with pytest.warns(UserWarning, match="overridden after"):
            scheduler.step()
        with pytest.warns(UserWarning, match="epoch parameter"):
            scheduler.step(5)


def test_right_order_does_not_warn(recwarn):
    optimizer = optimizer_of(pullback)
    scheduler = pullback.optim.lr_scheduler.StepLR(optimizer, 2)
    for _ in range(4):
        optimizer.step()
        scheduler.step()
    assert not recwarn.list


MISTAKES = {
    "not an optimizer": lambda t, s, o: s.StepLR(3, 1),
    "no initial": lambda t, s, o: s.StepLR(o, 1, last_epoch=3),
    "lambdas": lambda t, s, o: s.LambdaLR(o, [lambda e: 1]),
    "no function": lambda t, s, o: s.MultiplicativeLR(o, [1, 2]),
    "factor": lambda t, s, o: s.ConstantLR(o, 2.0),
    "start": lambda t, s, o: s.LinearLR(o, 0.0),
    "end": lambda t, s, o: s.LinearLR(o, 0.5, 1.5),
    "empty": lambda t, s, o: s.ChainedScheduler([]),
    "none": lambda t, s, o: s.SequentialLR(o, [], []),
    "milestones": lambda t, s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [1]),
    "plateau inside": lambda t, s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "other optimizer": lambda t, s, o: s.SequentialLR(o, [s.StepLR(optimizer_of(t), 1)], []),
    "plateau factor": lambda t, s, o: s.ReduceLROnPlateau(o, factor=1.5),
    "plateau mode": lambda t, s, o: s.ReduceLROnPlateau(o, mode="mid"),
    "plateau threshold": lambda t, s, o: s.ReduceLROnPlateau(o, threshold_mode="mid"),
    "plateau min": lambda t, s, o: s.ReduceLROnPlateau(o, min_lr=[1]),
    "cyclic mode": lambda t, s, o: s.CyclicLR(o, 0.1, 1, mode="x"),
    "cyclic length": lambda t, s, o: s.CyclicLR(o, [0.1], 1),
    "cyclic momentum": lambda t, s, o: s.CyclicLR(t.optim.Adagrad([t.ones(1)]), 0.1, 1),
    "one cycle": lambda t, s, o: s.OneCycleLR(o, 1.0),
    "one cycle steps": lambda t, s, o: s.OneCycleLR(o, 1.0, total_steps=-1),
    "one cycle epochs": lambda t, s, o: s.OneCycleLR(o, 1.0, epochs=0, steps_per_epoch=1),
    "one cycle pct": lambda t, s, o: s.OneCycleLR(o, 1.0, total_steps=4, pct_start=2.0),
    "one cycle anneal": lambda t, s, o: s.OneCycleLR(o, 1.0, total_steps=4, anneal_strategy="x"),
    "one cycle over": lambda t, s, o: [s2.step() for s2 in [s.OneCycleLR(o, 1.0, total_steps=2)] for _ in range(4)],
    "restarts": lambda t, s, o: s.CosineAnnealingWarmRestarts(o, 0),
    "restarts mult": lambda t, s, o: s.CosineAnnealingWarmRestarts(o, 1, 0),
    "restarts epoch": lambda t, s, o: s.CosineAnnealingWarmRestarts(o, 2).step(-3),
    "abstract": lambda t, s, o: s.LRScheduler(o),
}


@pytest.mark.filterwarnings("ignore:Detected call")
@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_raise_what_torch_raises(name):
    with pytest.raises(Exception) as expected:
        MISTAKES[name](torch, torch.optim.lr_scheduler, optimizer_of(torch))
    with pytest.raises(type(expected.value)) as got:
        MISTAKES[name](pullback, pullback.optim.lr_scheduler, optimizer_of(pullback))
    assert str(expected.value).split("\\n")[0].split("\n")[0][:60].strip("'\"") in str(got.value)


def test_one_cycle_goes_on_from_a_checkpoint_that_names_its_function_as_older_ones_do():
    def made(strategy):
        optimizer = pullback.optim.SGD([pullback.ones(1)], lr=0.1, momentum=0.9)
        return pullback.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10, anneal_strategy=strategy)

    linear, other = made("linear"), made("cos")
    state = linear.state_dict()
    del state["_anneal_func_type"]
    del other._anneal_func_type
    other.load_state_dict({**state, "anneal_func": type(linear)._annealing_linear})
    for schedule in (linear, other):
        schedule.optimizer.step()
        schedule.step()
    assert linear.get_last_lr() == other.get_last_lr() != made("cos").get_last_lr()
