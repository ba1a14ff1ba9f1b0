"""The program of a worker process: seed everything, then answer requests for data until told to stop.

A worker has one pipe for requests and one for answers. A thread empties the first all the time, so that the main
process never waits to make a request, and its end means that the main process has gone. Answers are pickled before
they are sent, so that data that cannot be pickled becomes an error in the main process and not silence.
"""

from __future__ import annotations

import queue
import random
import sys
import threading
import traceback
from typing import Any, NamedTuple

import numpy as np

import pullback

from .fetch import IterableFetcher, MapFetcher


class WorkerInfo(NamedTuple):
    """The answer of `get_worker_info` inside a worker: its number, how many there are, its seed and its dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    worker_method: str = "multiprocessing"


_worker_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Inside a loader's worker, what it is; None in the main process."""
    return _worker_info


class EndOfStream:
    """Answer of a worker whose stream has ended."""


class NewEpoch:
    """Request to start over, for workers that are kept; also the answer to it."""


class KeyErrorMessage(str):
    """Text that a KeyError shows as it is, with its line breaks."""

    def __repr__(self) -> str:
        return str(self)


class ExceptionWrapper:
    """An exception on its way to another process or thread: its type, and its traceback as text."""

    def __init__(self, exc_info: tuple[Any, ...] | None = None, where: str = "in background") -> None:
        kind, error, trace = sys.exc_info() if exc_info is None else exc_info
        self.exc_type: Any = kind
        self.exc_msg: str = "".join(traceback.format_exception(kind, error, trace))
        self.where: str = where

    def reraise(self) -> None:
        """Raise an exception of the same type that shows the original traceback."""
        text = f"Caught {self.exc_type.__name__} {self.where}.\nOriginal {self.exc_msg}"
        if self.exc_type is KeyError:
            text = KeyErrorMessage(text)
        try:
            error = self.exc_type(text)
        except Exception:
            # Not every exception type can be made from one string.
            error = RuntimeError(text)
        try:
            raise error
        finally:
            # The traceback holds this frame: without the name there is no cycle, and the iterator ends at once.
            del error


def make_fetcher(is_stream: bool, dataset: Any, auto_collation: bool, collate_fn: Any, drop_last: bool) -> Any:
    """The fetcher for a kind of dataset."""
    kind = IterableFetcher if is_stream else MapFetcher
    return kind(dataset, auto_collation, collate_fn, drop_last)


def seed_everything(base_seed: int, worker_id: int) -> int:
    """Seed Python's, NumPy's and our generator as torch's workers do; returns the worker's seed."""
    seed = base_seed + worker_id
    random.seed(seed)
    pullback.manual_seed(seed)
    np.random.seed(_generate_state(base_seed, worker_id))
    return seed


def _generate_state(base_seed: int, worker_id: int) -> list[int]:
    """Four words for a worker's NumPy generator, far from those of other workers."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()


def worker_loop(
    fetcher_arguments: tuple[Any, ...],
    requests: Any,
    answers: Any,
    other_ends: tuple[Any, ...],
    base_seed: int,
    worker_init_fn: Any,
    worker_id: int,
    num_workers: int,
) -> None:
    """The life of a worker process."""
    global _worker_info
    from ....kernels.threads import set_num_threads

    try:
        # With our copies of the other ends closed, a pipe is broken once the main process has closed its own.
        for end in other_ends:
            end.close()
        inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        threading.Thread(target=_listen, args=(requests, inbox), daemon=True).start()
        set_num_threads(1)
        seed = seed_everything(base_seed, worker_id)
        _worker_info = WorkerInfo(worker_id, num_workers, seed, fetcher_arguments[1])
        where = f"in DataLoader worker process {worker_id}"
        fetcher = None
        failure: ExceptionWrapper | None = None
        try:
            if worker_init_fn is not None:
                worker_init_fn(worker_id)
            fetcher = make_fetcher(*fetcher_arguments)
        except Exception:
            failure = ExceptionWrapper(where=where)
        while (request := inbox.get()) is not None:
            if isinstance(request, NewEpoch):
                fetcher = make_fetcher(*fetcher_arguments)
                answers.send((request, None))
                continue
            task, index = request
            if failure is not None:
                answer, failure = failure, None
            else:
                answer = _answer(fetcher, index, where)
            _send(answers, task, answer, where)
    except (KeyboardInterrupt, BrokenPipeError):
        # The main process is on its way out and says so itself.
        pass


def _listen(requests: Any, inbox: queue.SimpleQueue[Any]) -> None:
    """Move requests to where they wait without filling the pipe; None at its end."""
    try:
        while True:
            inbox.put(requests.recv())
    except (EOFError, OSError):
        inbox.put(None)


def _answer(fetcher: Any, index: Any, where: str) -> Any:
    try:
        return fetcher.fetch(index)
    except StopIteration:
        return EndOfStream() if isinstance(fetcher, IterableFetcher) else ExceptionWrapper(where=where)
    except Exception:
        return ExceptionWrapper(where=where)


def _send(answers: Any, task: int, answer: Any, where: str) -> None:
    from multiprocessing.reduction import ForkingPickler

    try:
        data = ForkingPickler.dumps((task, answer))
    except Exception:
        if isinstance(answer, ExceptionWrapper):
            # Its type is the only part that can refuse to be pickled.
            answer.exc_type = RuntimeError
        else:
            answer = ExceptionWrapper(where=where)
        data = ForkingPickler.dumps((task, answer))
    answers.send_bytes(data)
