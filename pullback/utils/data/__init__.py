"""Datasets, samplers and the loader that batches them, with torch's names, order and random streams.

`dataset` has the datasets, `sampler` and `distributed` the orders to visit them in, `dataloader` the loader.
How samples become batches, and what runs in worker processes, is in `_utils`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ...core.basics.on_demand import names_on_demand
from ._utils.collate import default_collate, default_convert
from ._utils.worker import get_worker_info
from .dataloader import DataLoader, _DatasetKind
from .dataset import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from .distributed import DistributedSampler
from .sampler import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

__all__ = [
    "BatchSampler", "ChainDataset", "ConcatDataset", "DataLoader", "Dataset", "DistributedSampler", "IterableDataset",
    "RandomSampler", "Sampler", "SequentialSampler", "StackDataset", "Subset", "SubsetRandomSampler",
    "TensorDataset", "WeightedRandomSampler", "_DatasetKind", "default_collate", "default_convert", "get_worker_info",
    "random_split",
]  # fmt: skip

names_on_demand(__name__)
