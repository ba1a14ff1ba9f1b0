"""Ctrl-C at every line of a step: all parameters and all state are updated, or none is."""

import os
import signal
import sys
import threading
from contextvars import copy_context
from itertools import count

import numpy as np
import pytest

import pullback
from pullback.core.basics.interrupts import hold, release, uninterrupted

NAMES = {
    "SGD": {}, "SGD, momentum": {"momentum": 0.9, "dampening": 0.5}, "Adam": {}, "Adam, amsgrad": {"amsgrad": True}, "AdamW": {},
    "Adam, differentiable": {"differentiable": True}, "Adam, foreach": {"foreach": True}, "Adam, fused": {"fused": True},
    "NAdam": {}, "RAdam": {}, "Adamax": {}, "Adagrad": {}, "Adadelta": {}, "RMSprop": {"centered": True, "momentum": 0.9},
    "Rprop": {}, "ASGD": {}, "Adafactor": {}, "Muon": {}, "SparseAdam": {}, "LBFGS": {"max_iter": 2},
}  # fmt: skip


class Program:
    """Two parameters, an optimizer that has made a step or none, and what can be seen of both."""

    def __init__(self, name, options, steps=0):
        pullback.manual_seed(0)
        self.params = [pullback.randn(2, 2, requires_grad=True) for _ in range(2)]
        if "differentiable" in options:
            self.params = [param.clone() for param in self.params]
        self.optimizer = getattr(pullback.optim, name.partition(",")[0])(self.params, **options)
        self.is_sparse = name == "SparseAdam"
        for _ in range(steps):
            self.step()

    def closure(self):
        loss = sum((p * p).sum() for p in self.params)
        for param in self.params:
            grad = 2 * param.detach()
            param.grad = grad.to_sparse() if self.is_sparse else grad
        return loss

    def step(self):
        if isinstance(self.optimizer, pullback.optim.LBFGS):
            self.optimizer.step(self.closure)
        else:
            self.closure()
            self.optimizer.step()

    def seen(self):
        state = self.optimizer.state_dict()["state"]
        return repr([[p.detach() for p in self.params], sorted((k, sorted(s.items())) for k, s in state.items() if s)])


def interrupted_everywhere(make, act, see, folders=("optim",)):
    """What is seen after a signal at each line of `act(make())`."""
    seen = set()
    folders = tuple(f"pullback{os.sep}{folder}{os.sep}" for folder in folders)
    for end in range(100_000):
        thing, lines, usual = make(), count(), sys.gettrace()

        def trace(frame, event, _):
            if event == "line" and next(lines) == end:  # noqa: B023
                sys.settrace(None)
                signal.raise_signal(signal.SIGINT)
            return trace if any(f in frame.f_code.co_filename for f in folders) else None  # noqa: B023

        came = False
        sys.settrace(trace)
        try:
            copy_context().run(act, thing)  # a mode that a `with` was about to end must not reach other tests
        except KeyboardInterrupt:
            came = True
        finally:
            sys.settrace(usual)
        seen.add(see(thing))
        if next(lines) <= end:
            assert end > 3 and not came
            return seen
        assert came, "Ctrl-C was lost"
    raise AssertionError("a step has no end")


@pytest.mark.parametrize("steps", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_a_step_is_made_or_not(name, steps):
    before, after = (Program(name, NAMES[name], steps + more).seen() for more in (0, 1))
    seen = interrupted_everywhere(lambda: Program(name, NAMES[name], steps), Program.step, Program.seen)
    assert before != after and seen <= {before, after}
    assert seen == {before, after}


def test_a_functional_step_is_made_or_not():
    def make():
        return [[pullback.ones(2) * k for k in (1, 2)] for _ in range(2)]

    def act(lists):
        pullback.optim.sgd.sgd(*lists, [None, None], weight_decay=0, momentum=0, lr=0.5, dampening=0, nesterov=False,
                               maximize=False, foreach=False)  # fmt: skip

    seen = interrupted_everywhere(make, act, lambda lists: repr(lists[0]))
    assert seen == {repr([pullback.ones(2), pullback.ones(2) * 2]), repr([pullback.full((2,), 0.5), pullback.ones(2)])}


def with_gradients(kind):
    model = pullback.nn.Sequential(pullback.nn.Linear(2, 2), pullback.nn.Linear(2, 2))
    for number, param in enumerate(model.parameters()):
        pullback.nn.init.ones_(param)
        param.grad = pullback.full_like(param, 2.0 + number)
    return model, kind(model)


def clip(thing):
    pullback.nn.utils.clip_grad_norm_(thing[0].parameters(), 1.0)


def clip_value(thing):
    pullback.nn.utils.clip_grad_value_(thing[0].parameters(), 1.0)


def unscale(thing):
    model, (scaler, optimizer) = thing
    scaler.unscale_(optimizer)


def scaler_of(model):
    scaler = pullback.amp.GradScaler("cpu", init_scale=4.0)
    scaler.scale(pullback.ones(1))
    return scaler, pullback.optim.SGD(model.parameters())


def load(thing):
    thing[0].load_state_dict({name: value * 3 for name, value in thing[1].items()})


def average(thing):
    thing[1].update_parameters(thing[0])


def whole_vector(thing):
    pullback.nn.utils.vector_to_parameters(pullback.arange(12.0), thing[0].parameters())


NONE = {"set_to_none": False}
CHANGES = {
    "zero_grad": (lambda model: None, lambda thing: thing[0].zero_grad(), ("core",)),
    "zero_grad, zeros": (lambda model: None, lambda thing: thing[0].zero_grad(**NONE), ("core",)),
    "optimizer.zero_grad": (
        lambda m: pullback.optim.SGD(m.parameters()),
        lambda t: t[1].zero_grad(),
        ("optim", "core"),
    ),
    "optimizer.zero_grad, zeros": (
        lambda m: pullback.optim.SGD(m.parameters()),
        lambda t: t[1].zero_grad(**NONE),
        ("optim", "core"),
    ),
    "vector_to_parameters": (lambda model: None, whole_vector, ("nn/utils",)),
    "requires_grad_": (lambda model: None, lambda thing: thing[0].requires_grad_(False), ("nn/modules",)),
    "clip_grad_norm_": (lambda model: None, clip, ("nn/utils",)),
    "clip_grad_value_": (lambda model: None, clip_value, ("nn/utils",)),
    "unscale_": (scaler_of, unscale, ("amp",)),
    "load_state_dict": (lambda model: {k: v.clone() for k, v in model.state_dict().items()}, load, ("nn/modules",)),
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_changes_of_many_tensors_are_made_or_not(name):
    kind, act, folders = CHANGES[name]

    def see(thing):
        return repr([(param.detach(), param.requires_grad, param.grad) for param in thing[0].parameters()])

    folders = tuple(folder.replace("/", os.sep) for folder in folders)
    seen = interrupted_everywhere(lambda: with_gradients(kind), act, see, folders)
    assert len(seen) == 2


def test_an_average_is_updated_or_not():
    def make():
        model, averaged = with_gradients(pullback.optim.swa_utils.AveragedModel)
        averaged.update_parameters(model)
        with pullback.no_grad():
            for param in model.parameters():
                param.add_(1)
        return model, averaged

    seen = interrupted_everywhere(make, average, lambda thing: repr(list(thing[1].state_dict().items())))
    assert len(seen) == 2


S = pullback.optim.lr_scheduler
SCHEDULES = {
    "StepLR": lambda o: S.StepLR(o, 1),
    "LambdaLR": lambda o: S.LambdaLR(o, [lambda e: 0.5**e, lambda e: 0.1**e]),
    "CyclicLR": lambda o: S.CyclicLR(o, 0.1, 0.2, step_size_up=2),
    "OneCycleLR": lambda o: S.OneCycleLR(o, 0.2, total_steps=9),
    "CosineAnnealingWarmRestarts": lambda o: S.CosineAnnealingWarmRestarts(o, 2),
    "ReduceLROnPlateau": lambda o: S.ReduceLROnPlateau(o, patience=0),
    "ChainedScheduler": lambda o: S.ChainedScheduler([S.StepLR(o, 1), S.ExponentialLR(o, 0.9)]),
    "SequentialLR": lambda o: S.SequentialLR(o, [S.ConstantLR(o), S.StepLR(o, 1)], [1]),
}


@pytest.mark.parametrize("tensor", [False, True], ids=["number", "tensor"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_a_schedule_goes_on_or_not(name, tensor):
    def make():
        rates = [pullback.tensor(0.5), pullback.tensor(0.25)] if tensor else [0.5, 0.25]
        groups = [{"params": [pullback.ones(2, requires_grad=True)], "lr": rate} for rate in rates]
        optimizer = pullback.optim.SGD(groups, momentum=0.9)
        scheduler = SCHEDULES[name](optimizer)
        optimizer.step()
        if name == "ReduceLROnPlateau":
            scheduler.step(1.0)
        return optimizer, scheduler

    def act(thing):
        thing[1].step(2.0) if name == "ReduceLROnPlateau" else thing[1].step()

    def see(thing):
        optimizer, scheduler = thing
        hidden = [vars(each) for each in (scheduler, *getattr(scheduler, "_schedulers", ()))]
        shown = [{k: v for k, v in each.items() if isinstance(v, (int, float)) or k == "_last_lr"} for each in hidden]
        return repr([[{**group, "params": 0} for group in optimizer.param_groups], shown])

    changed = make()
    usual, before = see(changed), see(make())
    act(changed)
    assert usual == before != see(changed)
    assert interrupted_everywhere(make, act, see) == {before, see(changed)}


def test_a_schedule_whose_function_fails_stays_where_it_was():
    optimizer = pullback.optim.SGD([pullback.ones(2, requires_grad=True)], lr=1.0)
    scheduler = S.LambdaLR(optimizer, lambda epoch: 1 / (1 - epoch))
    optimizer.step()
    with pytest.raises(ZeroDivisionError):
        scheduler.step()
    assert (scheduler.last_epoch, scheduler.get_last_lr(), optimizer.param_groups[0]["lr"]) == (0, [1.0], 1.0)


def test_signals_wait_and_handlers_come_back():
    seen = []
    usual = signal.signal(signal.SIGTERM, lambda *_: seen.append("term"))
    try:
        handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        with pytest.raises(KeyboardInterrupt), uninterrupted():
            with uninterrupted():
                signal.raise_signal(signal.SIGTERM)
                signal.raise_signal(signal.SIGINT)
                signal.raise_signal(signal.SIGINT)
            seen.append("done")
        assert seen in (["done", "term"], ["done"])  # Ctrl-C may be answered before the other
        assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
        release(hold())
        assert "term" in seen
    finally:
        signal.signal(signal.SIGTERM, usual)
    with pytest.raises(ValueError), uninterrupted():
        raise ValueError


@pytest.mark.parametrize("handler", [signal.SIG_IGN, signal.SIG_DFL])
def test_handlers_that_are_none_of_pythons_are_left_alone(handler):
    usual = signal.signal(signal.SIGINT, handler)
    try:
        with uninterrupted():
            assert signal.getsignal(signal.SIGINT) is handler
        assert signal.getsignal(signal.SIGINT) is handler
    finally:
        signal.signal(signal.SIGINT, usual)


def test_other_threads_step_as_well():
    program, errors = Program("Adam", {}), []

    def run():
        try:
            program.step()
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not errors and program.seen() == Program("Adam", {}, 1).seen()
    assert np.isfinite(program.params[0].detach().numpy()).all()
