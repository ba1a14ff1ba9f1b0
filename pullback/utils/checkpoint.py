"""`torch.utils.checkpoint`: trade computing for memory by running parts of a forward pass again in the backward pass.

Without reentrance (recommended) saved values are replaced by placeholders through saved-tensor hooks; the first one
that is needed runs the function again, and stops when all values have been seen. The reentrant form is a custom
function. Keeping the results of chosen operations is in `selective_checkpoint.py`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

from ..autograd import backward as run_backward
from ..autograd.function import CustomNode, Function
from ..autograd.graph import saved_tensors_hooks
from ..core.basics.notices import warn_user
from ..core.basics.storage import Storage, storage_of
from ..core.engine import Hooks, running
from ..core.grad_mode import enable_grad, no_grad
from ..core.mode import current_mode, is_grad_enabled, set_mode
from ..core.running import pass_number
from ..core.tensor import Tensor
from ._pytree import tree_leaves
from .selective_checkpoint import (
    SAC_IGNORED_OPS,
    CheckpointPolicy,
    SelectiveCheckpointContext,
    _CachedTorchDispatchMode,
    _CachingTorchDispatchMode,
    create_selective_checkpoint_contexts,
)

__all__ = [
    "CheckpointError", "CheckpointPolicy", "GraphExecGroup", "SAC_IGNORED_OPS", "SelectiveCheckpointContext",
    "checkpoint", "checkpoint_sequential", "noop_context_fn", "set_checkpoint_debug_enabled", "set_checkpoint_early_stop",
    "create_selective_checkpoint_contexts", "_CachedTorchDispatchMode", "_CachingTorchDispatchMode",
]  # fmt: skip


class CheckpointError(RuntimeError):
    """Running a function again gave something else than the first time."""


CheckpointError.__module__ = "torch.utils.checkpoint"


class _AllSeen(Exception):
    """Ends a second run early."""


_debug: ContextVar[bool | None] = ContextVar("pullback_checkpoint_debug", default=None)
_group: ContextVar[Any] = ContextVar("pullback_checkpoint_group", default=None)
_early_stop: ContextVar[bool | None] = ContextVar("pullback_checkpoint_early_stop", default=None)


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """Which devices the arguments are on, and the states of their generators, the CPU left out: none."""
    return [], []


def _infer_device_type(*args: Any) -> str:
    """The kind of device that the arguments are on."""
    return "cpu"


def set_device_states(devices: list[int], states: list[Tensor], *, device_type: str | None = None) -> None:
    """Give the generators of devices their states back: there is only the CPU's, which is not among them."""


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn if no tensor among the inputs requires grad."""
    if not any(isinstance(value, Tensor) and value.requires_grad for value in inputs):
        warn_user("None of the inputs have requires_grad=True. Gradients will be None")


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs with tensors as leaves that require grad where the originals do."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"Only tuple of tensors is supported. Got Unsupported input type: {type(inputs).__name__}")
    return tuple(
        value.detach().requires_grad_(value.requires_grad) if isinstance(value, Tensor) else value for value in inputs
    )


@contextmanager
def _set(variable: ContextVar[Any], value: Any) -> Iterator[None]:
    token = variable.set(value)
    try:
        yield
    finally:
        variable.reset(token)


def set_checkpoint_debug_enabled(enabled: bool | None) -> AbstractContextManager[None]:
    """Let errors say which values differ, or not, in a `with` block (overrides `checkpoint(debug=)`)."""
    return _set(_debug, enabled)


def set_checkpoint_early_stop(enable: bool) -> AbstractContextManager[None]:
    """Let second runs stop when all values have been seen, or not, in a `with` block (overrides `checkpoint(early_stop=)`)."""
    return _set(_early_stop, enable)


class GraphExecGroup:
    """Backward passes inside that need different parts of a checkpointed function share one second run of it."""

    def __enter__(self) -> GraphExecGroup:
        if _group.get() is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested.")
        self._token = _group.set(self)
        return self

    def __exit__(self, *args: object) -> None:
        _group.reset(self._token)


def noop_context_fn() -> tuple[Any, Any]:
    """No context around the first run, none around the second."""
    return nullcontext(), nullcontext()


def _decorator(args: tuple, reentrant: Any, context_fn: Any, check: str, debug: bool, early: bool, others: dict) -> Any:
    """Return the decorator that `checkpoint` is where it is given no function; it takes only its own arguments."""
    if args or others.keys() - {"preserve_rng_state"}:
        raise TypeError(
            "checkpoint() without a function is a decorator: arguments are those of the function it decorates"
        )

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def checkpointed(*given: Any, **named: Any) -> Any:
            return checkpoint(
                function, *given, use_reentrant=reentrant, context_fn=context_fn, determinism_check=check, debug=debug,
                early_stop=early, **others, **named,
            )  # fmt: skip

        return checkpointed

    return decorate


def checkpoint(
    function: Callable[..., Any] | None = None, *args: Any, use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, ...]] = noop_context_fn, determinism_check: str = "default",
    debug: bool = False, early_stop: bool = True, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call `function` without keeping what its backward pass needs; it runs again when that is needed.

    Pass `use_reentrant=False`: it is the form without restrictions. `context_fn` returns two context managers, for
    the first run and for the second: `create_selective_checkpoint_contexts` makes such that keep some results.
    `determinism_check="none"` does not compare what the runs saved; `early_stop=False` runs the function to its end;
    `preserve_rng_state=False` lets it draw other random numbers the second time. Without a function, `checkpoint`
    returns a decorator: `@checkpoint(use_reentrant=False)`.
    """
    if function is None:
        return _decorator(args, use_reentrant, context_fn, determinism_check, debug, early_stop, kwargs)
    if use_reentrant is None:
        warn_user(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. Starting in PyTorch "
            "2.9, calling checkpoint without use_reentrant will raise an exception. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError("Passing `context_fn` or `debug` is only supported when use_reentrant=False.")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be one of ['default', 'none'], but got {determinism_check}")
    first, second = context_fn()
    if not is_grad_enabled():
        with first:
            return function(*args, **kwargs)
    again = _Rerun(function, preserve, second).given(args, kwargs)
    early = _early_stop.get()
    frame = _Frame(again, early_stop if early is None else early, determinism_check, debug)
    frame.caches = context_fn is not noop_context_fn
    with frame.hooks(), first:
        result = function(*args, **kwargs)
    frame.finished = True
    return result


class _Arguments(CustomNode):
    """Keeps the arguments of a checkpointed function, as a custom function keeps what it saves. It is in no graph."""

    forward_class = Function


class _Rerun:
    """The function with the state of the random numbers and autocast as they are now, to be run again."""

    def __init__(self, function: Callable[..., Any], preserve: bool, context: Any) -> None:
        from .. import random

        self.function, self.context = function, context
        self.state = random.get_rng_state() if preserve else None
        self.autocast = current_mode().autocast

    def given(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
        """The second run with these arguments, of which tensors are kept as saved values: watched for writes."""
        saved, count, names = _Arguments(), len(args), tuple(kwargs)
        values: list[Any] = [*args, *kwargs.values()]
        places = [place for place, value in enumerate(values) if isinstance(value, Tensor)]
        given = set(map(id, values))
        inside = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor) and id(x) not in given]
        saved.save_for_backward(*[values[place] for place in places])
        saved.keep(())
        for place in places:
            values[place] = None
        versions = [storage_of(x).version for x in inside]

        def again() -> Any:
            if [storage_of(x).version for x in inside] != versions:
                raise RuntimeError(_WRITTEN.format("a tensor among its arguments"))
            whole = list(values)
            for place, x in zip(places, saved.saved_tensors, strict=True):
                whole[place] = x
            return self(*whole[:count], **dict(zip(names, whole[count:], strict=True)))

        return again

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        with _with_random_state(self.state), _with_autocast(self.autocast), self.context:
            return self.function(*args, **kwargs)


@contextmanager
def _with_random_state(state: Any) -> Iterator[None]:
    if state is None:
        yield
        return
    from .. import random

    before = random.get_rng_state()
    random.set_rng_state(state)
    try:
        yield
    finally:
        random.set_rng_state(before)


@contextmanager
def _with_autocast(dtype: Any) -> Iterator[None]:
    mode = current_mode()
    set_mode(mode.replace(autocast=dtype))
    try:
        yield
    finally:
        set_mode(current_mode().replace(autocast=mode.autocast))


# --- without reentrance ---


class _Holder:
    """Stands for a saved value."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number: int = number


def _metadata(x: Tensor) -> dict:
    return {"shape": x.shape, "dtype": x.dtype, "device": x.device}


def _version_of(x: Tensor) -> tuple[Storage, int]:
    storage = storage_of(x)
    return storage, storage.version


class _Frame:
    """The saved values of one checkpointed call."""

    def __init__(self, again: Callable[[], Any], early_stop: bool, determinism_check: str, debug: bool) -> None:
        self.again, self.early_stop, self.check = again, early_stop, determinism_check != "none"
        self.caches: bool = False  # contexts may hand results of the first run out again, and look after writes to them
        chosen = _debug.get()
        self.debug = debug if chosen is None else chosen
        self.finished: bool = False  # a function may differentiate inside itself, and so run again before it has ended
        self.metadata: list[dict[Any, Any]] = []
        self.versions: list[tuple[Storage, int]] = []  # of what was saved: where it was, and how often written
        self.values: dict[Any, dict[int, Tensor]] = {}  # for each pass that ran the function again: what is left

    def hooks(self) -> Any:
        return saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, x: Tensor) -> _Holder:
        holder = _Holder(len(self.metadata))
        self.metadata.append(_metadata(x))
        self.versions.append(_version_of(x))
        return holder

    def unpack(self, holder: _Holder) -> Tensor:
        group = _group.get()
        number = group if group is not None else pass_number()
        key = object() if number == -1 else number  # outside of a pass, each look runs the function again
        values = self.values.get(key)
        if values is None:
            if key is number and len(self.values) >= 4:  # passes that ended without taking everything
                del self.values[next(iter(self.values))]
            values = self.recompute()
            if key is number:
                self.values[key] = values
        if holder.number not in values:
            raise CheckpointError(_OVERLAP if group is not None else _TWICE)
        return values.pop(holder.number)

    def recompute(self) -> dict[int, Tensor]:
        seen: list[Tensor] = []
        versions: list[tuple[Storage, int]] = []
        total = len(self.metadata)
        early = self.early_stop or not self.finished

        def keep(x: Tensor) -> Tensor:
            if len(seen) >= total:
                if early:
                    raise _AllSeen
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than during the original "
                    f"forward pass.{_TIP}"
                )
            seen.append(x.data if self.caches else x.detach() if x.requires_grad else x)
            versions.append(_version_of(x))
            if len(seen) == total and early:
                raise _AllSeen
            return x.detach()

        with enable_grad(), saved_tensors_hooks(keep, lambda x: x):
            try:
                self.again()
            except _AllSeen:
                pass
        self.compare(seen)
        if not self.caches:
            self.compare_versions(versions)
        return dict(enumerate(seen))

    def compare(self, seen: list[Tensor]) -> None:
        if len(seen) != len(self.metadata):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the original forward and "
                "recomputation.\n"
                f"Number of tensors saved during forward: {len(self.metadata)}\nNumber of tensors saved during "
                "recomputation: "
                f"{len(seen)}.{_TIP}"
            )
        if not self.check:
            return
        lines = []
        for number, (before, x) in enumerate(zip(self.metadata, seen, strict=True)):
            after = _metadata(x)
            if before != after:
                lines.append(f"tensor at position {number}:\nsaved metadata: {before}\nrecomputed metadata: {after}")
        if lines:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have different metadata than "
                "during the forward pass.\n" + "\n".join(lines) + (_DEBUG if self.debug else _TIP)
            )

    def compare_versions(self, seen: list[tuple[Storage, int]]) -> None:
        """Both runs must have saved the same values; memory that outlives a run shows by its count of writes if not."""
        for (before, first), (after, second) in zip(self.versions, seen, strict=True):
            if after is before and first != second:
                raise RuntimeError(_WRITTEN.format("a tensor that it uses"))
            if after.version != second:
                raise RuntimeError(_WRITTEN.format("a value that one of its operations had saved"))


_WRITTEN = (
    "one of the variables needed for gradient computation has been modified by an inplace operation. A checkpointed "
    "function was run again, and cannot give the same values: {} was written since, or by the function itself. Write "
    "out of place (y = y + 1 instead of y += 1), or to a clone()."
)
_TWICE = (
    "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already unpacked once. If you are calling "
    "ctx.saved_tensors in backward, make sure to do so only once. The values of a second run are handed out once and "
    "forgotten."
)
_OVERLAP = (
    "torch.utils.checkpoint: Performing two backward calls that overlap (i.e. require the same saved activations) "
    "inside one GraphExecGroup is not supported: the group runs a checkpointed function again only once."
)
_DEBUG = (
    "\n\nYou are seeing this error because you passed `debug=True` to checkpoint and some tensors to be saved during "
    "the original forward differ from those saved during recomputation. The function must do the same both times: "
    "look for changing state, and for random numbers drawn outside it.\n"
)
_TIP = (
    "\n\nTip: To see a more detailed error message, either pass `debug=True` "
    "to\n`torch.utils.checkpoint.checkpoint(...)` or wrap the code block\nwith `with "
    "torch.utils.checkpoint.set_checkpoint_debug_enabled(True):` to\nenable checkpoint-debug mode globally. The "
    "function must do the same both times: look for changing state, and for random numbers drawn outside it.\n"
)


# --- with reentrance ---


class CheckpointFunction(Function):
    """Forward without recording; backward runs the function again, recorded, and a pass through that."""

    @staticmethod
    def forward(ctx: Any, run_function: Callable[..., Any], preserve_rng_state: bool, *args: Any) -> Any:
        Hooks.in_use = True  # from now on passes say what they are, which `backward` asks
        ctx.again = _Rerun(run_function, preserve_rng_state, nullcontext())
        ctx.args = [None if isinstance(value, Tensor) else value for value in args]
        ctx.places = [number for number, value in enumerate(args) if isinstance(value, Tensor)]
        ctx.save_for_backward(*[args[number] for number in ctx.places])
        check_backward_validity(args)
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        sweep = running()
        if sweep is not None and sweep.reach is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or passing an `inputs` "
                "parameter to .backward(). To resolve this error, you can either set use_reentrant=False, or call "
                ".backward() without passing the `inputs` argument."
            )
        inputs = list(ctx.args)
        for number, value in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[number] = value.detach().requires_grad_(value.requires_grad)
        with enable_grad():
            outputs = ctx.again(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if isinstance(output, Tensor) and output.requires_grad
        ]
        if not pairs:
            raise RuntimeError("none of output has requires_grad=True, this checkpoint() is not necessary")
        run_backward([output for output, _ in pairs], [grad for _, grad in pairs])
        return (None, None, *(value.grad if isinstance(value, Tensor) else None for value in inputs))


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run a sequence of functions (or a Sequential) in `segments` parts, all but the last of them checkpointed."""
    if use_reentrant is None:
        warn_user(
            "torch.utils.checkpoint.checkpoint_sequential: the use_reentrant parameter should be passed explicitly. "
            "In version 2.9 we will raise an exception if use_reentrant is not passed. use_reentrant=False is "
            "recommended, but if you need to preserve the current default behavior, you can pass use_reentrant=True. "
            "Refer to docs for more details on the differences between the two variants.",
        )
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments

    def part(start: int, stop: int) -> Callable:
        def run(value: Any) -> Any:
            for step in steps[start:stop]:
                value = step(value)
            return value

        return run

    stop = 0
    for start in range(0, size * (segments - 1), size):
        stop = start + size
        input = checkpoint(part(start, stop), input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(stop, len(steps))(input)
