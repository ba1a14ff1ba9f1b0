"""Evenly spaced numbers, to the last bit as torch rounds them."""

from __future__ import annotations

from typing import Any

import numpy as np


def evenly(first: Any, last: Any, steps: int, kind: np.dtype) -> np.ndarray:
    """Numbers from `first` to `last`: as torch counts, from both ends, so that these are exact and the middle symmetric."""
    if steps == 1:
        return np.array([first]).astype(kind)
    if kind.kind in "iu":
        first, last = int(first), int(last)
        step = (float(last) - float(first)) / max(steps - 1, 1)
        index = np.arange(steps)
        values = np.where(index < steps // 2, first + step * index, last - step * (steps - 1 - index))
        return np.trunc(values).astype(kind)
    work = kind if kind.itemsize >= 4 and kind.kind != "V" else np.dtype(np.float32)
    first, last = work.type(first), work.type(last)
    step = (last - first) / work.type(max(steps - 1, 1))
    half = steps // 2
    numbers = np.arange(steps - half).astype(work)
    values = np.concatenate((_plus_product(first, numbers[:half], step), _plus_product(last, numbers[::-1], -step)))
    return values if work is kind else values.astype(kind)


def _plus_product(start: Any, numbers: np.ndarray, step: Any) -> np.ndarray:
    """start + numbers * step, rounded once, as the instruction has it that torch uses."""
    kind = numbers.dtype
    if kind.kind == "c":
        return start + numbers * step
    if kind.itemsize == 4:
        return (np.float64(start) + numbers.astype(np.float64) * np.float64(step)).astype(kind)
    # What the product's rounding lost: a number below 2^26 times each half of the step is exact.
    top = step * 134217729.0
    top = top - (top - step)
    product = numbers * step
    lost = (numbers * top - product) + numbers * (step - top)
    total = start + product
    back = total - start
    return total + (((start - (total - back)) + (product - back)) + lost)
