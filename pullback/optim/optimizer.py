"""The base class of all optimizers: parameter groups, per-parameter state, checkpoints and hooks.

How parameters change is up to the subclasses: those of this package share `_stepper.ArrayOptimizer`, and a
subclass written elsewhere only has to define `step`. Hooks for every optimizer are registered at the end.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Hashable, Iterable
from copy import deepcopy
from functools import wraps
from typing import Any, TypeAlias

import pullback

from ..core.accumulate import forget
from ..core.basics.notices import warn_user
from ..core.basics.on_demand import names_on_demand
from ..utils.hooks import RemovableHandle

StateDict: TypeAlias = dict[str, Any]
ParamsT: TypeAlias = Iterable[Any]

_global_optimizer_pre_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()
_global_optimizer_post_hooks: OrderedDict[int, Callable[..., Any]] = OrderedDict()

_HOOK_TABLES = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class _RequiredParameter:
    """Marks an option that every parameter group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: _RequiredParameter = _RequiredParameter()


class Optimizer:
    """Holds parameter groups and state; `step` is left to subclasses.

    `params` are tensors, `(name, tensor)` pairs, or dicts with a `"params"` entry and options of their own; `defaults`
    are the options of groups that do not name them.

    A step of training is `optimizer.zero_grad()`, `loss.backward()`, `optimizer.step()`.
    """

    _optimizer_step_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_step_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults: dict[str, Any] = defaults
        for table in _HOOK_TABLES:
            setattr(self, table, OrderedDict())
        self._patch_step_function()
        if isinstance(params, pullback.Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                f"{pullback.typename(params)}. Put a single tensor into a list: [tensor]."
            )
        if not hasattr(params, "__iter__") and callable(params):  # the module, or its method
            raise TypeError(
                f"{type(params).__name__!r} object is not iterable. Give its parameters: model.parameters()."
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError(
                "optimizer got an empty parameter list. An iterator such as model.parameters() is exhausted after "
                "its first use; a module does not find layers in a Python list: use nn.ModuleList."
            )
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _HOOK_TABLES:
            if table not in self.__dict__:
                setattr(self, table, OrderedDict())
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = f"{type(self).__name__} ("
        for index, group in enumerate(self.param_groups):
            settings = [f"    {key}: {group[key]}\n" for key in sorted(group) if key != "params"]
            text += f"\nParameter Group {index}\n" + "".join(settings)
        return text + ")"

    # -- stepping

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters once; `closure` recomputes the loss and is called first."""
        raise NotImplementedError

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """Wrap a `step` method so that the registered hooks run before and after it."""

        @wraps(func)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            self = args[0]
            if _global_optimizer_pre_hooks or self._optimizer_step_pre_hooks:
                for hook in [*_global_optimizer_pre_hooks.values(), *self._optimizer_step_pre_hooks.values()]:
                    result = hook(self, args, kwargs)
                    if result is None:
                        continue
                    if not (isinstance(result, tuple) and len(result) == 2):
                        raise RuntimeError(
                            f"{func} must return None or a tuple of (new_args, new_kwargs), but got {result}."
                        )
                    args, kwargs = result
            out = func(*args, **kwargs)
            if _global_optimizer_post_hooks or self._optimizer_step_post_hooks:
                for hook in [*self._optimizer_step_post_hooks.values(), *_global_optimizer_post_hooks.values()]:
                    hook(self, args, kwargs)
            return out

        return wrapper

    def _patch_step_function(self) -> None:
        """Wrap the class's `step` once, so that hooks also work for subclasses that know nothing of them."""
        owner = type(self)
        if not getattr(owner.step, "hooked", False):
            owner.step = self.profile_hook_step(owner.step)  # type: ignore[method-assign]
            owner.step.hooked = True  # type: ignore[attr-defined]

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters, or fill them with zeros where `set_to_none` is False."""
        forget([param for group in self.param_groups for param in group["params"]], set_to_none)

    # -- parameter groups

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: a dict with `"params"` and the options in which it differs from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _normalise_params(param_group)
        for param in param_group["params"]:
            self._check_param(param)
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        ids = {id(param) for param in param_group["params"]}
        if len(ids) != len(param_group["params"]):
            warn_user(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an "
                "error; see github.com/pytorch/pytorch/issues/40967 for more information",
            )
        named = "param_names" in param_group
        for group in self.param_groups:
            if named != ("param_names" in group):
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param group "
                    f"{'with names' if named else 'without names'} to the optimizer"
                )
            if not ids.isdisjoint(id(param) for param in group["params"]):
                raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def _check_param(self, param: Any) -> None:
        if not isinstance(param, pullback.Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {pullback.typename(param)}")
        if not self.defaults.get("differentiable", None) and not (param.is_leaf or param.retains_grad):
            raise ValueError(
                "can't optimize a non-leaf Tensor. It is the result of an operation, so a step would not reach the "
                "tensors it came from: optimize those, or a copy made with .detach().requires_grad_()."
            )

    # -- checkpoints

    def state_dict(self) -> StateDict:
        """Options and state as plain containers, with parameters replaced by their position."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        index: dict[int, int] = {}
        start = 0
        packed_groups = []
        for group in self.param_groups:
            packed = {key: value for key, value in group.items() if key != "params"}
            for position, param in enumerate(group["params"], start):
                index.setdefault(id(param), position)
            packed["params"] = [index[id(param)] for param in group["params"]]
            start += len(packed["params"])
            packed_groups.append(packed)
        state = {
            index[id(key)] if isinstance(key, pullback.Tensor) else key: value for key, value in self.state.items()
        }
        result: StateDict = {"state": state, "param_groups": packed_groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            replaced = hook(self, result)
            if replaced is not None:
                result = replaced
        return result

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take options and state from another optimizer's `state_dict()`; parameters are matched by position."""
        state_dict = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            replaced = hook(self, state_dict)
            if replaced is not None:
                state_dict = replaced
        saved_groups = deepcopy(state_dict["param_groups"])
        if len(self.param_groups) != len(saved_groups):
            raise ValueError(
                "loaded state dict has a different number of parameter groups: "
                f"{len(saved_groups)}, this optimizer has {len(self.param_groups)}"
            )
        params: dict[Any, Any] = {}
        for group, saved in zip(self.param_groups, saved_groups):
            if len(group["params"]) != len(saved["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of optimizer's group: "
                    f"{len(saved['params'])} parameters, this optimizer's group has {len(group['params'])}"
                )
            params.update(zip(saved["params"], group["params"]))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            if key in params:
                state[params[key]] = _adapt(params[key], value, key, state_dict["param_groups"])
            else:
                state[key] = value
        for group, saved in zip(self.param_groups, saved_groups):
            saved["params"] = group["params"]
            if "param_names" in group:
                saved.setdefault("param_names", group["param_names"])
        before = self.state, self.param_groups
        try:
            self.__setstate__({"state": state, "param_groups": saved_groups})
            for hook in self._optimizer_load_state_dict_post_hooks.values():
                hook(self)
        except BaseException:
            self.state, self.param_groups = before
            raise

    @staticmethod
    def _process_value_according_to_param_policy(
        param: pullback.Tensor,
        value: pullback.Tensor,
        param_id: int,
        param_groups: list[dict[Any, Any]],
        key: Hashable = None,
    ) -> pullback.Tensor:
        """A saved tensor with the parameter's dtype and device; step counters keep their own."""
        if key == "step":
            for group in param_groups:
                if param_id in group["params"] and (group.get("capturable") or group.get("fused")):
                    return value.to(dtype=pullback.float32, device=param.device)
            return value
        if param.is_floating_point():
            return value.to(dtype=param.dtype, device=param.device)
        return value.to(device=param.device)

    # -- hooks

    def _register(self, table: str, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        hooks = getattr(self, table)
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new `(args, kwargs)`."""
        return self._register("_optimizer_step_pre_hooks", hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._register("_optimizer_step_post_hooks", hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before `state_dict()` is put together."""
        return self._register("_optimizer_state_dict_pre_hooks", hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` on the result of `state_dict()`; it may return another one."""
        return self._register("_optimizer_state_dict_post_hooks", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another state dict."""
        return self._register("_optimizer_load_state_dict_pre_hooks", hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` after a state dict was loaded."""
        return self._register("_optimizer_load_state_dict_post_hooks", hook, prepend)


def _normalise_params(param_group: dict[str, Any]) -> None:
    """Turn a group's params into a list of tensors, moving the names of named ones to `param_names`."""
    params = param_group["params"]
    if isinstance(params, pullback.Tensor):
        params = [params]
    elif isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
            "will change between runs. Please use a list instead."
        )
    params = list(params)
    names = [param[0] for param in params if isinstance(param, tuple)]
    if names:
        if len(names) != len(params):
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        param_group["param_names"] = names
        params = [param[1] for param in params]
    param_group["params"] = params


def _adapt(param: Any, value: Any, param_id: Any, param_groups: list[dict[Any, Any]], key: Any = None) -> Any:
    """Saved state with every tensor brought to the parameter's dtype and device."""
    if isinstance(value, pullback.Tensor):
        return Optimizer._process_value_according_to_param_policy(param, value, param_id, param_groups, key)
    if isinstance(value, dict):
        return {name: _adapt(param, item, param_id, param_groups, name) for name, item in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_adapt(param, item, param_id, param_groups) for item in value)  # type: ignore[call-arg]
    return value


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before every step of every optimizer."""
    handle = RemovableHandle(_global_optimizer_pre_hooks)
    _global_optimizer_pre_hooks[handle.id] = hook
    return handle


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after every step of every optimizer."""
    handle = RemovableHandle(_global_optimizer_post_hooks)
    _global_optimizer_post_hooks[handle.id] = hook
    return handle


def _other(name: str) -> Any:
    """Return a name that optimizers of other libraries import from here; None if there is no such name."""
    from . import _for_others

    return vars(_for_others).get(name)


names_on_demand(__name__, made=_other)
