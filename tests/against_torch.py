"""Run one call on Pullback and on torch, and compare values, dtypes, node names, gradients and second gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pullback

torch = pytest.importorskip("torch")

TOLERANCE = {"float64": 1e-9, "complex128": 1e-9, "float32": 2e-5, "complex64": 2e-5, "float16": 4e-3, "bfloat16": 2e-2}


def tensors(library: Any, arrays: tuple, requires_grad: bool) -> list:
    made = []
    for array in arrays:
        tensor = library.tensor(array.copy()) if isinstance(array, np.ndarray) else array
        if requires_grad and isinstance(array, np.ndarray) and array.dtype.kind in "fc":
            tensor.requires_grad_()
        made.append(tensor)
    return made


def outputs(result: Any) -> list:
    return [part for one in result for part in outputs(one)] if isinstance(result, (tuple, list)) else [result]


def assert_same(got: Any, want: Any, what: str = "value") -> None:
    if not hasattr(want, "dtype"):
        assert got == want, what
        return
    assert str(got.dtype) == str(want.dtype), (what, got.dtype, want.dtype)
    assert tuple(got.shape) == tuple(want.shape), (what, got.shape, want.shape)
    name = str(want.dtype).removeprefix("torch.")
    if name == "bfloat16":
        got, want = got.float(), want.float()
    a, b = got.detach().numpy(), want.detach().numpy(force=True)
    tolerance = TOLERANCE.get(name, 0)
    scale = np.max(np.abs(b[np.isfinite(b)]), initial=0) if b.dtype.kind in "fc" else 0
    np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1, scale), err_msg=what)


def weights(out: list, library: Any) -> list:
    """The same cotangents for both libraries, one for each differentiable output."""
    made = []
    for number, one in enumerate(out):
        count = int(np.prod(tuple(one.shape)))
        values = np.cos(np.arange(1, count + 1) * (number + 1.3)).reshape(tuple(one.shape))
        made.append(library.tensor(values).to(one.dtype))
    return made


def run(library: Any, call: Callable, arrays: tuple, order: int) -> dict[str, Any]:
    inputs = tensors(library, arrays, order > 0)
    result = call(library, *inputs)
    found: dict[str, Any] = {"out": outputs(result)}
    out = [one for one in found["out"] if getattr(one, "requires_grad", False)]
    found["names"] = [one.grad_fn.name() for one in out if one.grad_fn is not None]
    leaves = [one for one in inputs if getattr(one, "requires_grad", False)]
    if order > 0 and out:
        first = library.autograd.grad(out, leaves, weights(out, library), create_graph=order > 1, allow_unused=True)
        found["first"] = [zeros_for(library, g, leaf) for g, leaf in zip(first, leaves)]
        chosen = [g for g in first if g is not None and g.requires_grad]
        if order > 1 and chosen:
            again = library.autograd.grad(chosen, leaves, weights(chosen, library), allow_unused=True)
            found["second"] = [zeros_for(library, g, leaf) for g, leaf in zip(again, leaves)]
    return found


def zeros_for(library: Any, gradient: Any, leaf: Any) -> Any:
    return library.zeros_like(leaf) if gradient is None else gradient


def compare(call: Callable, *arrays: Any, order: int = 2, names: bool = True) -> None:
    """Assert that `call(library, *tensors)` does the same in both libraries, up to derivatives of the given order."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        want = run(torch, call, arrays, order)
        got = run(pullback, call, arrays, order)
    assert len(got["out"]) == len(want["out"])
    for number, (a, b) in enumerate(zip(got["out"], want["out"])):
        assert_same(a, b, f"output {number}")
    if names:
        assert got["names"] == [name.split("::")[-1] for name in want["names"]]
    for level in ("first", "second"):
        if level not in want:
            continue
        if level not in got:  # nothing depends on the inputs any more: torch's zeros
            assert all(not np.any(one.detach().numpy(force=True)) for one in want[level])
            continue
        for number, (a, b) in enumerate(zip(got[level], want[level])):
            assert_same(a, b, f"{level} derivative, input {number}")


def both_refuse(kind: type[Exception], call: Callable, match: str | None = None) -> None:
    """Assert that `call(library)` raises this error in both libraries."""
    for library in (torch, pullback):
        with pytest.raises(kind, match=match):
            call(library)
