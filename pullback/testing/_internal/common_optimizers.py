"""The table of optimizers that test files go through: with which arguments each is made, and which it refuses.

`optims(optim_db)` marks a test that is called once for each row. The rows are ours: keyword sets, wrong values and what
the optimizer can do. Capturing on a GPU is not among them.
"""

from __future__ import annotations

import itertools
import unittest
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import Enum
from typing import Any

from ...core.tensor import Tensor
from ...optim import lr_scheduler
from .common_device_type import tol, toleranceOverride
from .common_methods_invocations import DecorateInfo
from .common_utils import _torch
from .parametrization import _TestParametrizer

Options = dict[str, Any]
Schedules = Sequence[list[Callable[[Any], Any]]]


class OptimizerInput:
    """Arguments of an optimizer, and a word on what is special about them."""

    def __init__(self, params: Any, kwargs: Options, desc: str = "") -> None:
        self.params: Any = params
        self.kwargs: Options = kwargs
        self.desc: str = desc

    def __repr__(self) -> str:
        return f"params={self.params}, kwargs={self.kwargs}, desc={self.desc}"


class OptimizerErrorEnum(Enum):
    """When an error comes: as the optimizer is made, or at its step."""

    CONSTRUCTION_ERROR = 0
    STEP_ERROR = 1


class ErrorOptimizerInput:
    """Arguments that an optimizer refuses, with the type and text of the error."""

    def __init__(
        self, optimizer_error_input: OptimizerInput, *, error_type: type[Exception] = RuntimeError,
        error_regex: str = "", error_on: OptimizerErrorEnum = OptimizerErrorEnum.CONSTRUCTION_ERROR,
    ) -> None:  # fmt: skip
        self.optimizer_error_input: OptimizerInput = optimizer_error_input
        self.error_on: OptimizerErrorEnum = error_on
        self.error_type: type[Exception] = error_type
        self.error_regex: str = error_regex


_TWO_SCHEDULES: Schedules = (
    [lambda opt: lr_scheduler.StepLR(opt, gamma=0.9, step_size=10), lambda opt: lr_scheduler.ReduceLROnPlateau(opt)],
)
_MANY_SCHEDULES: Schedules = (
    *_TWO_SCHEDULES,
    [lambda opt: lr_scheduler.ExponentialLR(opt, gamma=0.9)],
    [lambda opt: lr_scheduler.LinearLR(opt, start_factor=0.4, total_iters=4)],
    [lambda opt: lr_scheduler.PolynomialLR(opt, power=0.9, total_iters=4)],
    [
        lambda opt: lr_scheduler.ConstantLR(opt, factor=0.4, total_iters=4),
        lambda opt: lr_scheduler.ExponentialLR(opt, 0.9),
    ],
)


class OptimizerInfo:
    """One row of the table."""

    def __init__(
        self, optim_cls: type, *, inputs: Iterable[Options], refused: Iterable[tuple[Options, str]] = (),
        scheduler_inputs: Schedules = _TWO_SCHEDULES, supported_impls: tuple[str, ...] = ("foreach", "differentiable"),
        not_og_supported_flags: tuple[str, ...] = ("foreach", "differentiable", "maximize", "capturable"),
        has_capturable_arg: bool = False, supports_sparse: bool = False, only_supports_sparse_grads: bool = False,
        metadata_for_sparse: tuple[Options, list[Any]] = ({}, []), supports_complex: bool = True,
        step_requires_closure: bool = False, supports_param_groups: bool = True, supports_multiple_devices: bool = True,
        supports_fused_on: tuple[str, ...] = (), decorators: tuple[Any, ...] = (),
    ) -> None:  # fmt: skip
        self.optim_cls: type = optim_cls
        self._inputs: list[Options] = list(inputs)
        self._refused: list[tuple[Options, str]] = list(refused)
        self.scheduler_inputs: Schedules = scheduler_inputs
        self.supported_impls: tuple[str, ...] = supported_impls
        self.not_og_supported_flags: tuple[str, ...] = not_og_supported_flags
        self.has_capturable_arg: bool = has_capturable_arg
        self.supports_sparse: bool = supports_sparse
        self.only_supports_sparse_grads: bool = only_supports_sparse_grads
        self.metadata_for_sparse: tuple[Options, list[Any]] = metadata_for_sparse
        self.supports_complex: bool = supports_complex
        self.step_requires_closure: bool = step_requires_closure
        self.supports_param_groups: bool = supports_param_groups
        self.supports_multiple_devices: bool = supports_multiple_devices
        self.supports_fused_on: tuple[str, ...] = supports_fused_on
        self.decorators: tuple[Any, ...] = decorators

    @property
    def name(self) -> str:
        return self.optim_cls.__name__

    def optim_inputs_func(self, device: Any = None, dtype: Any = None) -> list[OptimizerInput]:
        """The keyword sets of this optimizer; half precision needs an epsilon that it can hold."""
        small = {"eps": 0.1} if dtype is _torch().float16 and "Adam" in self.name else {}
        return [
            OptimizerInput(
                None, {**given, **small}, ", ".join(f"{key}={value}" for key, value in given.items()) or "default"
            )
            for given in self._inputs
        ]

    def optim_error_inputs_func(self, device: Any, dtype: Any) -> list[ErrorOptimizerInput]:
        """Return inputs that this optimizer refuses, and those that all of them refuse."""
        own = [
            ErrorOptimizerInput(OptimizerInput(None, given, text), error_type=ValueError, error_regex=text)
            for given, text in self._refused
        ]
        return [*_refused_by_all(device, dtype), *own]

    def get_decorators(
        self, test_class: str, test_name: str, device: str, dtype: Any, param_kwargs: Options
    ) -> list[Any]:
        """Return the decorators for a test of this optimizer."""
        fitting = (
            info for info in self.decorators if info.is_active(test_class, test_name, device, dtype, param_kwargs)
        )
        return [decorator for info in fitting for decorator in info.decorators]


class optims(_TestParametrizer):
    """Mark a test to be called with each of these rows, and each dtype."""

    def __init__(self, optim_info_iterable: Iterable[OptimizerInfo], dtypes: Iterable[Any] | None = None) -> None:
        self.optim_info_list: list[OptimizerInfo] = list(optim_info_iterable)
        self.dtypes: list[Any] = [_torch().float32] if dtypes is None else list(dtypes)

    def _parametrize_test(self, test: Any, generic_cls: Any, device_cls: Any) -> Iterator[Any]:
        if device_cls is None:
            raise RuntimeError("@optims is for classes of tests that instantiate_device_type_tests() makes real")
        for info, dtype in itertools.product(self.optim_info_list, self.dtypes):

            def decorators(kwargs: Options, info: OptimizerInfo = info, dtype: Any = dtype) -> list[Any]:
                return info.get_decorators(generic_cls.__name__, test.__name__, device_cls.device_type, dtype, kwargs)

            yield test, info.name, {"optim_info": info, "dtype": dtype}, decorators


def _get_device_type(device: Any) -> str:
    return (device if isinstance(device, str) else device.type).partition(":")[0]


def _get_optim_inputs_including_global_cliquey_kwargs(
    device: Any, dtype: Any, optim_info: OptimizerInfo, skip: tuple[str, ...] = ()
) -> list[OptimizerInput]:
    """Every keyword set without and with each way to carry out a step, of which at most one can be asked for."""
    ways = [way for way in optim_info.supported_impls if way not in (*skip, "foreach")]
    found = []
    for given in optim_info.optim_inputs_func(device=device, dtype=dtype):
        off = {**given.kwargs, **dict.fromkeys(ways, False)}
        found.append(OptimizerInput(None, off, given.desc))
        found += [OptimizerInput(None, {**off, way: True}, f"{given.desc} & {way}") for way in ways]
    return found


class TensorTracker:
    """Copies of tensors in a row, each to be compared with what a second computation has at the same point."""

    def __init__(self, assert_eq_kwargs: Options | None = None) -> None:
        self.assert_eq_kwargs: Options = assert_eq_kwargs or {}
        self.tensors: list[Tensor] = []

    def add(self, tensor: Tensor) -> None:
        """Keep a copy."""
        self.tensors.append(tensor.detach().clone())

    def pop_check_set(self, tensor_to_set: Tensor, testcase: Any) -> None:
        """Compare with the oldest copy and go on from there, so that roundings do not add up."""
        testcase.assertGreater(len(self.tensors), 0, "no tensors to pop")
        kept = self.tensors.pop(0)
        testcase.assertEqual(tensor_to_set, kept, **self.assert_eq_kwargs)
        with _torch().no_grad():
            tensor_to_set.copy_(kept)

    def all_popped(self) -> bool:
        return not self.tensors


def _refused_by_all(device: Any, dtype: Any) -> list[ErrorOptimizerInput]:
    torch = _torch()
    one, two = (torch.nn.Parameter(torch.randn(1, dtype=dtype)) for _ in range(2))
    named, both = [("weight", two)], "all optimizer params should be with/without names"
    rows: list[tuple[Any, Options, type[Exception], str]] = [
        (one, {}, TypeError, "params argument given to the optimizer should be an iterable of Tensors or dicts"),
        ([one, one], {}, UserWarning, ".*a parameter group with duplicate parameters.*"),
        ([{"params": one}, {"params": one}], {}, ValueError, "some parameters appear in more than one parameter group"),
        (None, {"lr": torch.tensor([0.001, 0.001])}, ValueError, "Tensor lr must be 1-element"),
        ([("weight", one), two], {}, ValueError, f"{both}. Some param names are missing"),
        ([{"params": [one], "lr": 1e-2}, {"params": named}], {}, ValueError,
         "all optimizer param groups should be with/without names. cannot add param group with names to the optimizer"),
    ]  # fmt: skip
    return [
        ErrorOptimizerInput(OptimizerInput(params, kwargs, text), error_type=kind, error_regex=text)
        for params, kwargs, kind, text in rows
    ]


# --- the table ---


def _sets(*own: Options, decay: str = "weight_decay") -> list[Options]:
    common: list[Options] = [{}, {"lr": 0.01}, {decay: 0.1}, {decay: 0.1, "maximize": True}]
    return [*common, *own]


def _skipped(test_name: str, reason: str) -> DecorateInfo:
    return DecorateInfo(unittest.skip(reason), None, test_name)


def _table() -> list[OptimizerInfo]:
    torch = _torch()
    optim, tensor = torch.optim, torch.tensor
    fused: Options = {"supported_impls": ("foreach", "differentiable", "fused"), "supports_fused_on": ("cpu",)}
    fused["not_og_supported_flags"] = ("foreach", "differentiable", "fused", "maximize", "capturable")
    two_numbers = "betas must be either both floats or both Tensors"
    adam_refuses: list[tuple[Options, str]] = [
        ({"betas": (1.0, 0.0)}, "Invalid beta parameter at index 0: 1.0"),
        ({"weight_decay": -1}, "Invalid weight_decay value: -1"),
        (
            {"lr": tensor(0.001), "foreach": True},
            "lr as a Tensor is not supported for capturable=False and foreach=True",
        ),
        ({"betas": (0.9, tensor(0.99))}, two_numbers),
        ({"betas": (tensor(0.9), 0.99)}, two_numbers),
    ]
    plain_betas: list[tuple[Options, str]] = [({"betas": (0.0, 1.0)}, "Invalid beta parameter at index 1: 1.0")]
    loose = {torch.float32: tol(atol=1e-4, rtol=5e-3)}
    apart = (DecorateInfo(toleranceOverride(loose), None, "test_foreach_matches_forloop"),)
    one_group = (
        "test_param_groups_lr test_param_groups_weight_decay test_param_group_with_lrscheduler_goes_right_direction"
    )
    no_groups = tuple(_skipped(name, "takes one group of parameters") for name in one_group.split())
    slow = {"lr": 0.1, "weight_decay": 0, "lr_decay": 0}
    step = [lambda opt: lr_scheduler.StepLR(opt, gamma=1 - 1e-5, step_size=500)]
    return [
        OptimizerInfo(
            optim.Adadelta, inputs=_sets({"rho": 0.95, "weight_decay": 0.9}), has_capturable_arg=True,
            refused=[({"rho": 1.1}, "Invalid rho value: 1.1")],
        ),
        OptimizerInfo(
            optim.Adafactor, inputs=_sets({"beta2_decay": -1.0}, {"d": 1.5}), supports_complex=False, decorators=apart,
            supported_impls=("foreach",), not_og_supported_flags=("foreach",),
            refused=[({"eps": (-1e-30, 1e-3)}, "epsilon1 should be >= 0"), ({"d": 0.0}, "Clipping threshold d should be >= 1"),
                     ({"beta2_decay": 0.8}, "beta2_decay should be <= 0")],
        ),
        OptimizerInfo(
            optim.Adagrad, inputs=_sets({"initial_accumulator_value": 0.1}, {"lr_decay": 0.5}, {"lr": tensor(0.001)}),
            supports_sparse=True, metadata_for_sparse=(slow, step), **fused,
            refused=[({"lr_decay": -0.5}, "Invalid lr_decay value: -0.5")],
        ),
        OptimizerInfo(
            optim.Adam, inputs=_sets({"amsgrad": True}), scheduler_inputs=_MANY_SCHEDULES, refused=adam_refuses,
            has_capturable_arg=True, **fused,
        ),
        OptimizerInfo(
            optim.AdamW, inputs=_sets({"amsgrad": True}), refused=adam_refuses, has_capturable_arg=True, **fused,
        ),
        OptimizerInfo(optim.Adamax, inputs=_sets(), refused=plain_betas, has_capturable_arg=True),
        OptimizerInfo(
            optim.ASGD, inputs=_sets({"alpha": 0.5}, {"t0": 100}), has_capturable_arg=True,
            refused=[({"weight_decay": -0.5}, "Invalid weight_decay value: -0.5")],
        ),
        OptimizerInfo(
            optim.LBFGS, inputs=[{}, {"lr": 0.01}, {"tolerance_grad": 1e-6}, {"line_search_fn": "strong_wolfe"}],
            supported_impls=(), step_requires_closure=True, supports_param_groups=False, supports_multiple_devices=False,
            decorators=no_groups,
        ),
        OptimizerInfo(
            optim.NAdam, inputs=_sets({"momentum_decay": 6e-3}, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
            has_capturable_arg=True,
            refused=[*plain_betas, ({"momentum_decay": -0.2}, "Invalid momentum_decay value: -0.2")],
        ),
        OptimizerInfo(
            optim.RAdam, inputs=_sets({"eps": 1e-6}, {"weight_decay": 0.1, "decoupled_weight_decay": True}),
            refused=plain_betas, has_capturable_arg=True,
        ),
        OptimizerInfo(
            optim.RMSprop, inputs=_sets({"momentum": 0.1}, {"momentum": 0.1, "centered": True}), has_capturable_arg=True,
            refused=[({"momentum": -1.0}, "Invalid momentum value: -1.0")],
        ),
        OptimizerInfo(
            optim.Rprop, inputs=[{}, {"lr": 2e-4}, {"etas": (0.5, 1.5)}, {"step_sizes": (2e-6, 100)}, {"maximize": True}],
            has_capturable_arg=True, refused=[({"etas": (1.0, 0.5)}, "Invalid eta values: 1.0, 0.5")],
        ),
        OptimizerInfo(
            optim.SGD, inputs=_sets({"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.5}, {"momentum": 0.9, "nesterov": True}),
            scheduler_inputs=_MANY_SCHEDULES, supports_sparse=True, **fused,
            metadata_for_sparse=({"lr": 4.8e-3, "maximize": False, "momentum": 0, "nesterov": False, "weight_decay": 0}, step),
            refused=[({"momentum": -0.5}, "Invalid momentum value: -0.5")],
        ),
        OptimizerInfo(
            optim.SparseAdam, inputs=[{}, {"lr": 0.01}, {"maximize": True}, {"lr": tensor(0.001)}], supported_impls=(),
            only_supports_sparse_grads=True, metadata_for_sparse=({"lr": 4e-2}, []), supports_complex=False,
            decorators=(_skipped("test_can_load_older_state_dict", "steps with dense gradients"),),
            refused=[({"betas": (1.0, 0.0)}, "Invalid beta parameter at index 0: 1.0")],
        ),
    ]  # fmt: skip


optim_db: list[OptimizerInfo] = _table()
