"""Parts of the loader: `collate` turns samples into batches, `fetch` gets them, `worker` does so elsewhere."""

from __future__ import annotations

from . import collate, fetch, worker

__all__ = ["collate", "fetch", "worker"]
