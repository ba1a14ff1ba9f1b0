"""Fetchers: from what a sampler gives to the data a loader yields.

Rows of a TensorDataset that are collated in the default way are gathered by one index operation for each tensor,
which gives what stacking single rows would give, many times faster.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any

from ..dataset import Subset, TensorDataset
from .collate import default_collate


def _rows(dataset: Any, index: list[Any]) -> list[Any] | None:
    """The collated batch of a plain TensorDataset, or a part of one; None for other datasets and indices."""
    while type(dataset) is Subset:
        index = [dataset.indices[i] for i in index]
        dataset = dataset.dataset
    if type(dataset) is not TensorDataset or not all(type(i) is int for i in index):
        return None
    index = list(index)  # a tuple would be a place, not several rows
    return [tensor[index] for tensor in dataset.tensors]


class MapFetcher:
    """Looks samples up by index."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., Any], drop_last: bool) -> None:
        self.dataset: Any = dataset
        self.auto_collation: bool = auto_collation
        self.collate_fn: Callable[..., Any] = collate_fn

    def fetch(self, index: Any) -> Any:
        """The batch of a list of indices, or the one sample of a single index."""
        if not self.auto_collation:
            return self.collate_fn(self.dataset[index])
        if self.collate_fn is default_collate and index:
            rows = _rows(self.dataset, index)
            if rows is not None:
                return rows
        if getattr(self.dataset, "__getitems__", None):
            return self.collate_fn(self.dataset.__getitems__(index))
        return self.collate_fn([self.dataset[i] for i in index])


class IterableFetcher:
    """Takes the next samples of a stream."""

    def __init__(self, dataset: Any, auto_collation: bool, collate_fn: Callable[..., Any], drop_last: bool) -> None:
        self.stream = iter(dataset)
        self.auto_collation: bool = auto_collation
        self.collate_fn: Callable[..., Any] = collate_fn
        self.drop_last: bool = drop_last
        self.ended: bool = False

    def fetch(self, index: Any) -> Any:
        """As many samples as `index` is long, or one; raises StopIteration at the end."""
        if self.ended:
            raise StopIteration
        wanted = len(index) if self.auto_collation else 1
        samples = list(islice(self.stream, wanted))
        self.ended = len(samples) < wanted
        if not samples or (self.drop_last and self.ended):
            raise StopIteration
        return self.collate_fn(samples if self.auto_collation else samples[0])
