"""Selective checkpointing: of a checkpointed function, keep the results of some operations and compute the others again.

Two dispatch modes share one store. The first, around the forward pass, asks a policy about each operation and keeps what
it says; the second, around the second run, answers from the store. Part of `torch.utils.checkpoint`.
"""

from __future__ import annotations

import enum
from collections import defaultdict
from typing import Any

from ..core.tensor import Tensor
from ..shell.torch_names.operators import Overload, Packet, overload_of
from ._python_dispatch import TorchDispatchMode
from ._pytree import tree_map


class CheckpointPolicy(enum.Enum):
    """The answers that a policy can give about one operation."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


SAC_IGNORED_OPS: set[Overload] = {overload_of("aten", "detach", "default")}
_SAVES = (True, CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)


class SelectiveCheckpointContext:
    """The context that a policy gets besides the operation and its arguments."""

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute: bool = is_recompute  # always False: policies are asked in the forward pass
        self.op_output: Any = op_output


class _Kept:
    """A kept value; of a tensor, without its history, which would keep the graph alive."""

    def __init__(self, value: Any) -> None:
        self.val: Any = value.detach() if isinstance(value, Tensor) else value
        self.version: int | None = self.val._version if isinstance(value, Tensor) else None

    def get(self, mutable: bool) -> Any:
        """The value, which must not have been written since."""
        if self.version is not None and not mutable and self.val._version != self.version:
            raise RuntimeError(
                "Tensor cached during selective activation checkpoint has been mutated. It was written in place after "
                "the operation that made it: write to a copy, or pass allow_cache_entry_mutation=True."
            )
        return self.val


_RECOMPUTE = object()  # in the place of a value: not kept
_CONSUMED = object()  # the same: it has been handed out


class _CachingTorchDispatchMode(TorchDispatchMode):
    """Around the forward pass: keeps what the policy says."""

    def __init__(self, policy_fn: Any, storage: dict[Any, dict[int, Any]]) -> None:
        self.policy_fn: Any = policy_fn
        self.storage: dict[Any, dict[int, Any]] = storage

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if func in SAC_IGNORED_OPS:
            return out
        context = SelectiveCheckpointContext(is_recompute=False, op_output=out)
        saved = self.policy_fn(context, func, *args, **kwargs) in _SAVES
        kept = self.storage[func]
        kept[len(kept)] = tree_map(_Kept, out) if saved else _RECOMPUTE
        return out


class _CachedTorchDispatchMode(TorchDispatchMode):
    """Around the second run: the n-th call of an operator gets what the n-th call kept."""

    def __init__(
        self, policy_fn: Any, storage: dict[Any, dict[int, Any]], allow_cache_entry_mutation: bool = False
    ) -> None:
        self.storage: dict[Any, dict[int, Any]] = storage
        self.allow_cache_entry_mutation: bool = allow_cache_entry_mutation
        self.calls: dict[Any, int] = {}

    def __enter__(self) -> Any:
        self.calls = {}
        return super().__enter__()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in SAC_IGNORED_OPS:
            return func(*args, **(kwargs or {}))
        number = self.calls.get(func, 0)
        self.calls[func] = number + 1
        kept = self.storage.get(func, {})
        entry = kept.get(number)
        if entry is None:
            raise RuntimeError(
                f"{func} invocation index {number} encountered during backward but not found in storage. The function "
                "must do the same both times: look for changing state, and for random numbers drawn outside it."
            )
        if entry is _CONSUMED:
            raise RuntimeError(
                "Trying to backward an extra time. You are only allowed to backward once on any region computed under "
                "selective activation checkpoint: kept values are handed out once and forgotten."
            )
        if entry is _RECOMPUTE:
            return func(*args, **(kwargs or {}))
        kept[number] = _CONSUMED
        return tree_map(lambda value: value.get(self.allow_cache_entry_mutation), entry)


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[TorchDispatchMode, TorchDispatchMode]:
    """The two contexts for `checkpoint(context_fn=)`: keep what a policy function says, or the operators in a list.

    A policy gets a `SelectiveCheckpointContext`, the operator (`torch.ops.aten.mm.default`) and its arguments, and
    returns a `CheckpointPolicy`.
    """
    if isinstance(policy_fn_or_list, list):
        for op in policy_fn_or_list:
            if not isinstance(op, Overload):
                packet = isinstance(op, Packet)
                raise ValueError(
                    f"Expected op in `op_list` to be an OpOverload but got: {op} of type {type(op)}."
                    + (
                        f" Please update the OpOverloadPacket to a specific OpOverload, such as {op}.default."
                        if packet
                        else ""
                    )
                )
        chosen = frozenset(policy_fn_or_list)

        def policy(context: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            return CheckpointPolicy.MUST_SAVE if op in chosen else CheckpointPolicy.PREFER_RECOMPUTE

    elif callable(policy_fn_or_list):
        policy = policy_fn_or_list
    else:
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    storage: dict[Any, dict[int, Any]] = defaultdict(dict)
    return (
        _CachingTorchDispatchMode(policy, storage),
        _CachedTorchDispatchMode(policy, storage, allow_cache_entry_mutation),
    )
