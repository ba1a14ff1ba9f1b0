"""The state-dict half of `Module`: writing a module's tensors to a dictionary and reading them back.

`load_state_dict` is all-or-nothing: every change is entered in an `Undo` journal, and any failure (a wrong shape, a
missing key, an exception in a hook, Ctrl-C) rolls the module back before the error leaves.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pullback

from ...core.basics.interrupts import uninterrupted
from ...core.basics.notices import warn_user
from ...utils.hooks import HookDict  # annotations are looked up by programs that ask for type hints
from ..parameter import Parameter, is_lazy

EXTRA_STATE_KEY: str = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The result of `load_state_dict`: the keys that did not match on either side."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class Undo:
    """Journal of changes; `roll_back` reverts them, newest first."""

    def __init__(self) -> None:
        self._actions: list[Callable[[], Any]] = []

    def will_overwrite(self, tensor: Any) -> None:
        old = tensor.detach().clone()
        if not tensor.is_meta and tensor.detach()._array.flags.writeable:  # else nothing will be
            self._actions.append(lambda: tensor.detach().copy_(old))

    def will_replace(self, registry: dict[Any, Any], name: str) -> None:
        old = registry[name]
        self._actions.append(lambda: registry.__setitem__(name, old))

    def will_set_extra_state(self, module: Any) -> None:
        if type(module).get_extra_state is not StateDictMixin.get_extra_state:
            old = module.get_extra_state()
            self._actions.append(lambda: module.set_extra_state(old))

    def will_change(self, revert: Callable[[], Any]) -> None:
        self._actions.append(revert)

    def roll_back(self) -> None:
        with uninterrupted():
            for action in reversed(self._actions):
                action()
            self._actions.clear()


class StateDictMixin:
    """`state_dict`, `load_state_dict` and what a subclass may override about them."""

    _version: int = 1
    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]
    _non_persistent_buffers_set: set[str]
    _state_dict_pre_hooks: HookDict
    _state_dict_hooks: HookDict
    _state_dict_hooks_public: HookDict
    _load_state_dict_pre_hooks: HookDict

    def get_extra_state(self) -> Any:
        """Override together with `set_extra_state` to store something besides tensors in the state dict."""
        raise RuntimeError(
            "Reached a code path in Module.get_extra_state() that should never be called. "
            "Define get_extra_state() and set_extra_state() in your module to store extra state."
        )

    def set_extra_state(self, state: Any) -> None:
        """Override together with `get_extra_state`; receives what that returned."""
        raise RuntimeError(
            "Reached a code path in Module.set_extra_state() that should never be called. "
            "Define get_extra_state() and set_extra_state() in your module to store extra state."
        )

    def state_dict(
        self, *args: Any, destination: dict[Any, Any] | None = None, prefix: str = "", keep_vars: bool = False
    ) -> dict[str, Any]:
        """All parameters and persistent buffers by dotted name, detached unless `keep_vars`."""
        if args:
            warn_user("Positional args are being deprecated, use kwargs instead.", FutureWarning)
            destination = args[0] if destination is None else destination
            prefix = args[1] if len(args) > 1 and prefix == "" else prefix
            keep_vars = args[2] if len(args) > 2 and keep_vars is False else keep_vars
        if destination is None:
            created: Any = OrderedDict()
            created._metadata = OrderedDict()
            destination = created
        local_metadata: dict[str, Any] = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = local_metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, module in self._modules.items():
            if module is not None:
                module.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for identity, hook in self._state_dict_hooks.items():
            changed = hook(self, destination, prefix, local_metadata)
            if identity in self._state_dict_hooks_public:
                if changed is not None:
                    raise RuntimeError("state_dict post-hook must return None")
            elif changed is not None:
                destination = changed
        return destination

    def _save_to_state_dict(self, destination: dict, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._local_state().items():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not StateDictMixin.get_extra_state:
            destination[prefix + EXTRA_STATE_KEY] = self.get_extra_state()

    def _local_state(self) -> dict[str, Any]:
        """This module's own parameters and persistent buffers that are not None."""
        state = {name: tensor for name, tensor in self._parameters.items() if tensor is not None}
        for name, tensor in self._buffers.items():
            if tensor is not None and name not in self._non_persistent_buffers_set:
                state[name] = tensor
        return state

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy tensors into parameters and buffers of the same names; with `assign`, put the tensors themselves in.

        When anything is wrong a RuntimeError lists all of it and the module is left as it was.
        """
        if not isinstance(state_dict, Mapping):
            help = " Give its state_dict()." if hasattr(state_dict, "state_dict") else ""
            if isinstance(state_dict, (str, os.PathLike)):
                help = " A file has to be read first: torch.load(path)."
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.{help}")
        metadata = getattr(state_dict, "_metadata", None)
        own: Any = OrderedDict(state_dict)  # hooks may change it
        if metadata is not None:
            own._metadata = metadata
        keys = _IncompatibleKeys([], [])
        errors: list[str] = []
        undo = Undo()
        try:
            _load_tree(self, own, "", metadata or {}, assign, keys, errors, undo)
            if strict:
                errors[:0] = _key_errors(keys)
            if errors:
                error = RuntimeError(
                    f"Error(s) in loading state_dict for {type(self).__name__}:\n\t" + "\n\t".join(errors)
                )
                _note_wrapper(error, keys)
                raise error
        except BaseException:
            undo.roll_back()
            raise
        return keys

    def _load_from_state_dict(
        self,
        state_dict: dict,
        prefix: str,
        local_metadata: dict,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own tensors, not its children's; the place for subclasses to handle old formats."""
        for hook in self._load_state_dict_pre_hooks.values():
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        undo = local_metadata.get("undo") or Undo()
        assign = local_metadata.get("assign_to_params_buffers", False)
        local_state = self._local_state()
        for name, tensor in local_state.items():
            key = prefix + name
            if key in state_dict:
                problem = self._load_one(name, key, tensor, state_dict[key], assign, undo)
                if problem:
                    error_msgs.append(problem)
            elif strict:
                missing_keys.append(key)
        extra_key = prefix + EXTRA_STATE_KEY
        takes_extra = type(self).set_extra_state is not StateDictMixin.set_extra_state
        if takes_extra and extra_key in state_dict:
            undo.will_set_extra_state(self)
            self.set_extra_state(state_dict[extra_key])
        elif strict and takes_extra:
            missing_keys.append(extra_key)
        elif strict and extra_key in state_dict:
            unexpected_keys.append(extra_key)
        if strict:
            for key in state_dict:
                if key.startswith(prefix) and key != extra_key:
                    name, dot, _ = key[len(prefix) :].partition(".")
                    if name not in (self._modules if dot else local_state):
                        unexpected_keys.append(key)

    def _load_one(self, name: str, key: str, tensor: Any, value: Any, assign: bool, undo: Undo) -> str | None:
        """Load one tensor; returns what is wrong with it, if anything."""
        if not isinstance(value, pullback.Tensor):
            return (
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from '
                f"checkpoint but received {type(value)}"
            )
        lazy = is_lazy(tensor)
        if lazy and is_lazy(value):
            return None  # there is nothing to copy yet
        if not lazy:
            if len(tensor.shape) == 0 and tuple(value.shape) == (1,):  # scalars were saved with one dimension once
                value = value[0]
            if value.shape != tensor.shape:
                return (
                    f"size mismatch for {key}: copying a param with shape {value.shape} from checkpoint, "
                    f"the shape in current model is {tensor.shape}."
                )
        try:
            with pullback.no_grad():
                if assign:
                    self._assign_loaded(name, tensor, value, undo)
                else:
                    if not lazy and tensor.is_meta and not value.is_meta:
                        warn_user(
                            f"for {key}: copying from a non-meta parameter in the checkpoint to a meta parameter in "
                            "the current model, which is a no-op. (Did you mean to pass `assign=True` to assign items "
                            "in the state dictionary to their corresponding key in the module instead of copying "
                            "them in place?)"
                        )
                    if not lazy:
                        undo.will_overwrite(tensor)
                    tensor.copy_(value)
        except Exception as error:
            return (
                f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} '
                f"and whose dimensions in the checkpoint are {value.size()}, an exception occurred : {error.args}."
            )
        return None

    def _assign_loaded(self, name: str, tensor: Any, value: Any, undo: Undo) -> None:
        if isinstance(tensor, Parameter):
            if not isinstance(value, Parameter):
                value = Parameter(value, requires_grad=tensor.requires_grad)
            elif value.requires_grad != tensor.requires_grad:
                old = value.requires_grad
                undo.will_change(lambda: value.requires_grad_(old))
                value.requires_grad_(tensor.requires_grad)
        undo.will_replace(self._parameters if name in self._parameters else self._buffers, name)
        setattr(self, name, value)


def _note_wrapper(error: RuntimeError, keys: _IncompatibleKeys) -> None:
    """Say so if all names would fit without the name of a wrapper in front, such as that of DataParallel."""
    prefix = keys.unexpected_keys[0].partition(".")[0] + "." if keys.unexpected_keys else ""
    if {name.removeprefix(prefix) for name in keys.unexpected_keys} == set(keys.missing_keys) != set():
        error.add_note(
            f'The state is that of a module around this one. Take "{prefix}" off its names: '
            f'{{name.removeprefix("{prefix}"): value for name, value in state_dict.items()}}.'
        )


def _key_errors(keys: _IncompatibleKeys) -> list[str]:
    """Return the complaints of a strict load about keys that do not match."""
    errors = []
    for kind, names in (("Missing", keys.missing_keys), ("Unexpected", keys.unexpected_keys)):
        if names:
            quoted = ", ".join(f'"{name}"' for name in names)
            errors.append(f"{kind} key(s) in state_dict: {quoted}. ")
    return errors


def _load_tree(
    module: Any,
    state_dict: dict,
    prefix: str,
    metadata: Mapping,
    assign: bool,
    keys: _IncompatibleKeys,
    errors: list[str],
    undo: Undo,
) -> None:
    local_metadata = dict(metadata.get(prefix[:-1], {}))
    local_metadata["undo"] = undo
    if assign:
        local_metadata["assign_to_params_buffers"] = True
    module._load_from_state_dict(
        state_dict, prefix, local_metadata, True, keys.missing_keys, keys.unexpected_keys, errors
    )
    for name, child in module._modules.items():
        if child is not None:
            child_prefix = f"{prefix}{name}."
            child_state = {key: value for key, value in state_dict.items() if key.startswith(child_prefix)}
            _load_tree(child, child_state, child_prefix, metadata, assign, keys, errors, undo)
    for hook in module._load_state_dict_post_hooks.values():
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                "if incompatible_keys need to be modified, it should be done inplace."
            )
