"""Writing gradients to leaves: all of them or none.

Everything that can fail (copies, casts, allocation) is prepared first. The writing itself is one call into C that
runs no Python code, so not even Ctrl-C can come between two leaves; a lock keeps threads that share leaves apart.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy import ndarray

from ..kernels.like import is_elsewhere
from ..kernels.order import beside
from . import seams
from .basics.interrupts import hold, release
from .basics.quiet import restore, silence, warning_settings
from .basics.storage import storage_of
from .mostly_zeros import Rows
from .tape import wrap
from .tensor import Anchor, Tensor
from .writes import check_no_overlap, check_result

if TYPE_CHECKING:
    from .basics.types import Array, Gradient

lock = threading.RLock()
DONE: Any = ()  # the answer of a pass that has also written its gradients


def commit(gradients: dict[Anchor, Gradient], owned: dict[Anchor, Any], record: bool) -> None:
    """Add the collected gradients to the `.grad` of their leaves."""
    leaves: list[Tensor] = []
    values: list[Tensor] = []
    sums: list[tuple[Array, Gradient]] = []
    with lock:
        for anchor, gradient in gradients.items():
            leaf = anchor._owner()
            if leaf is None or not leaf._requires_grad:
                continue
            if (
                leaf._grad is None and anchor in owned and type(gradient) is ndarray and anchor._grad_dtype is False
                and (gradient.ndim < 2 or gradient.strides == leaf._array.strides)
            ):  # fmt: skip
                value = wrap(gradient)  # nobody else's, and laid out as its leaf (one axis lies densely in one way)
            else:
                new = prepared(leaf, gradient, record, sums)
                if new is None:
                    continue
                value = new
            if len(gradients) == 1:
                leaf._grad = value
                return
            leaves.append(leaf)
            values.append(value)
        writes = map(setattr, leaves, repeat("_grad"), values)
        if sums:
            present, additions = zip(*sums, strict=True)
            settings = warning_settings()
            try:
                silence()
                deque(chain(map(np.add, present, additions, present), writes), maxlen=0)
            finally:
                restore(settings)
        else:
            any(writes)  # `setattr` returns None, so this runs through them all


def forget(leaves: Iterable[Tensor], set_to_none: bool) -> None:
    """Take the gradients of all these away, or fill them with zeros: of all or of none, whatever signals come."""
    holders = [leaf for leaf in leaves if leaf.grad is not None]
    if not holders:
        return
    if set_to_none and not any(leaf.is_sparse for leaf in holders):
        any(map(setattr, holders, repeat("_grad"), repeat(None)))  # one call into C, as above
        return
    held = hold()
    try:
        for leaf in holders:
            if set_to_none:
                leaf.grad = None
                continue
            grad: Any = leaf.grad
            if grad.grad_fn is not None:
                grad.detach_()
            else:
                grad.requires_grad_(False)
            grad.zero_()
    finally:
        release(held)


def prepared(leaf: Tensor, gradient: Gradient, record: bool, sums: list[tuple[Array, Gradient]]) -> Tensor | None:
    """The new `.grad` of a leaf. None if the present one stays: then it and what is added to it are appended to `sums`."""
    present = leaf._grad
    if present is not None and type(present) is not Tensor and present.is_sparse and type(gradient) is not Rows:
        present = leaf._grad = present.to_dense()  # as what is added to it is
    if record:
        return recorded_sum(leaf, present, gradient)
    if leaf._grad_dtype is not False:
        gradient = cast_to_grad_dtype(gradient, leaf)
    if type(gradient) is Rows:
        if present is None:
            return gradient.sparse()
        if present.is_sparse:
            return present + gradient.sparse()
        gradient = gradient.dense()
    if present is None:
        return wrap(fresh_copy(gradient, leaf))
    memory = present.memory()
    if (
        memory.shape != gradient.shape or memory.dtype is not gradient.dtype or 0 in memory.strides
        or type(memory) is ndarray and not memory.flags.writeable
    ):  # fmt: skip
        check_sum(present, gradient)
    sums.append((memory, gradient))
    storage_of(present).bump()
    return None


def check_sum(present: Tensor, gradient: Gradient) -> None:
    """Refuse what cannot be added to a `.grad` that somebody has set or changed, before anything is written."""
    memory = present._array
    if type(memory) is ndarray and not memory.flags.writeable:
        raise RuntimeError("A gradient cannot be added to a .grad in read-only memory. Set .grad to None or to a copy.")
    try:
        shape = np.broadcast_shapes(memory.shape, gradient.shape)
    except ValueError:
        raise seams.broadcast_error(memory.shape, gradient.shape) from None
    check_no_overlap(memory)
    check_result(present, wrap(np.broadcast_to(gradient, shape)))


def fresh_copy(gradient: Gradient, leaf: Tensor) -> Array:
    """A copy that shares memory with nobody and is laid out as the leaf is, if that is dense."""
    if type(gradient) is ndarray:
        if gradient.strides == leaf._array.strides and gradient.flags.c_contiguous:
            return gradient.copy()
    elif not isinstance(gradient, np.generic) and not is_elsewhere(gradient):
        return gradient
    if type(leaf._array) is ndarray:
        return beside(gradient, leaf._array)
    copy = np.empty_like(leaf._array, dtype=gradient.dtype)
    copy[...] = gradient
    return copy


def cast_to_grad_dtype(gradient: Gradient, leaf: Tensor) -> Gradient:
    """The gradient in the dtype a leaf has asked for."""
    wanted = leaf._grad_dtype
    return gradient if wanted is None else gradient.astype(wanted._numpy)


def recorded_sum(leaf: Tensor, present: Tensor | None, gradient: Gradient) -> Tensor:
    """The new `.grad` of a recorded pass, out of place so that the old one's history stays true."""
    from ..ops.casting import copied
    from ..ops.pointwise import add

    return copied(leaf._array, gradient) if present is None else add(present, gradient)
