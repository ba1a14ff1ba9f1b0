"""The sampler that gives each of several processes its own share of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pullback

from .sampler import Sampler


class DistributedSampler(Sampler[int]):
    """Every `num_replicas`-th index from `rank` on, in an order that all processes share."""

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        if num_replicas is None or rank is None:
            raise RuntimeError(
                "Requires distributed package to be available. There is none here: give num_replicas and rank."
            )
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset: Any = dataset
        self.num_replicas: int | None = num_replicas
        self.rank: int | None = rank
        self.epoch: int = 0
        self.drop_last: bool = drop_last
        size = len(dataset)
        if drop_last and size % num_replicas != 0:
            size -= num_replicas
        self.num_samples: int = math.ceil(size / num_replicas)
        self.total_size: int = self.num_samples * num_replicas
        self.shuffle: bool = shuffle
        self.seed: int = seed

    def __iter__(self) -> Iterator[int]:
        size = len(self.dataset)
        if self.shuffle:
            generator = pullback.Generator()
            generator.manual_seed(self.seed + self.epoch)
            indices = pullback.randperm(size, generator=generator).tolist()
        else:
            indices = list(range(size))
        if not self.drop_last and indices:
            # Repeat from the start, so that every process gets equally many.
            indices *= math.ceil(self.total_size / len(indices))
        indices = indices[: self.total_size]
        if len(indices) != self.total_size:
            raise AssertionError(f"Number of indices ({len(indices)}) does not match total_size ({self.total_size})")
        return iter(indices[self.rank : self.total_size : self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Choose another order; call this at the start of each epoch, in every process alike."""
        self.epoch = epoch
