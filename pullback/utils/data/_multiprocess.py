"""The loader's iterator over worker processes: hand out requests in turn, put the answers back in order.

Every worker has a pipe for requests and one for answers. Waiting on the answers together with the processes
themselves shows at once when a worker dies.
"""

from __future__ import annotations

import multiprocessing
import os
import pickle
import time
from contextlib import suppress
from multiprocessing.connection import wait
from typing import Any

from ...core.basics.notices import warn_user
from ._utils.worker import EndOfStream, ExceptionWrapper, NewEpoch, worker_loop
from .dataloader import DataLoader, _BaseDataLoaderIter

JOIN_SECONDS: float = 2.0
"""How long a worker may take to end by itself before it is stopped."""


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """One epoch, or with persistent workers every epoch, of a loader with worker processes."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._workers: list[Any] = []
        self._requests: list[Any] = []
        self._answers: list[Any] = []
        self._process_id = os.getpid()
        super().__init__(loader)
        self._prefetch_factor = loader.prefetch_factor
        if not self._prefetch_factor or self._prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._persistent_workers = loader.persistent_workers
        self._in_order = loader.in_order
        context = loader.multiprocessing_context or multiprocessing.get_context()
        for worker_id in range(self._num_workers):
            self._start(context, worker_id, loader.worker_init_fn)
        self._reset(loader, first_iter=True)

    def _start(self, context: Any, worker_id: int, worker_init_fn: Any) -> None:
        requests, request_writer = context.Pipe(duplex=False)
        answer_reader, answers = context.Pipe(duplex=False)
        process = context.Process(
            target=worker_loop,
            args=(
                self._fetcher_arguments,
                requests,
                answers,
                (request_writer, answer_reader),
                self._base_seed,
                worker_init_fn,
                worker_id,
                self._num_workers,
            ),  # fmt: skip
            daemon=True,
        )
        try:
            process.start()
        except (TypeError, AttributeError, pickle.PicklingError):
            warn_user(
                "Got pickle error when attempting to start a worker Process. This might be because the worker Process "
                "arguments are not picklable: the dataset, collate_fn and worker_init_fn have to be, unless processes "
                "are forked (multiprocessing_context='fork').",
            )
            raise
        requests.close()
        answers.close()
        self._workers.append(process)
        self._requests.append(request_writer)
        self._answers.append(answer_reader)

    def _reset(self, loader: DataLoader[Any], first_iter: bool = False) -> None:
        super()._reset(loader, first_iter)
        if not first_iter:
            self._restart_workers()
        self._sent = 0
        self._expected = 0
        self._owner: dict[int, int] = {}
        self._arrived: dict[int, Any] = {}
        self._is_open = [True] * self._num_workers
        self._load = [0] * self._num_workers
        self._turn = 0
        for _ in range(self._prefetch_factor * self._num_workers):
            self._hand_out()

    def _restart_workers(self) -> None:
        """Have persistent workers begin again, and drop what they still had to say about the last epoch."""
        for requests in self._requests:
            requests.send(NewEpoch())
        waiting = self._num_workers
        while waiting:
            task, _, _ = self._receive()
            waiting -= isinstance(task, NewEpoch)

    # -- requests

    def _hand_out(self) -> None:
        """Send the sampler's next indices to the next worker in turn that can take them."""
        try:
            index = next(self._sampler_iter)
        except StopIteration:
            return
        limit = self._prefetch_factor * self._num_workers // max(1, sum(self._is_open))
        for _ in range(self._num_workers):
            worker = self._turn
            self._turn = (self._turn + 1) % self._num_workers
            if self._is_open[worker] and (self._in_order or self._load[worker] < limit):
                break
        else:
            return
        try:
            self._requests[worker].send((self._sent, index))
        except OSError:
            self._check_alive()
            raise
        self._owner[self._sent] = worker
        self._load[worker] += 1
        self._sent += 1

    # -- answers

    def _receive(self) -> tuple[Any, Any, int]:
        """The next answer of any worker: task, data and the worker's number."""
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        sentinels = [worker.sentinel for worker in self._workers]
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            ready = wait([*self._answers, *sentinels], left)
            if not ready:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            for number, pipe in enumerate(self._answers):
                if pipe in ready:
                    try:
                        return (*pickle.loads(pipe.recv_bytes()), number)
                    except EOFError:
                        continue
            self._check_alive()

    def _check_alive(self) -> None:
        dead = [worker for worker in self._workers if not worker.is_alive()]
        if dead:
            codes = ", ".join(str(worker.exitcode) for worker in dead)
            pids = ", ".join(str(worker.pid) for worker in dead)
            self._shutdown_workers()
            raise RuntimeError(
                f"DataLoader worker (pid(s) {pids}) exited unexpectedly with exit code {codes}. A negative code is "
                "the signal that killed it; -9 often means that memory ran out."
            )

    def _next_data(self) -> Any:
        while True:
            while self._expected < self._sent and self._expected not in self._owner:
                self._expected += 1
            if self._expected == self._sent:
                if not self._persistent_workers:
                    self._shutdown_workers()
                raise StopIteration
            if self._expected in self._arrived:
                return self._deliver(self._expected, self._arrived.pop(self._expected))
            task, data, worker = self._receive()
            if isinstance(data, EndOfStream):
                self._close_stream(task, worker)
            elif task == self._expected or not self._in_order:
                return self._deliver(task, data)
            else:
                self._arrived[task] = data

    def _close_stream(self, task: int, worker: int) -> None:
        """Forget what a worker at its stream's end was still asked for, and let the others go on."""
        del self._owner[task]
        if self._is_open[worker]:
            self._is_open[worker] = False
        self._hand_out()

    def _deliver(self, task: int, data: Any) -> Any:
        self._load[self._owner.pop(task)] -= 1
        self._hand_out()
        if isinstance(data, ExceptionWrapper):
            data.reraise()
        return data

    # -- the end

    def _shutdown_workers(self) -> None:
        workers, self._workers = self._workers, []
        # Other loaders' workers may hold copies of these pipes, so closing them would not be noticed.
        for requests in self._requests:
            with suppress(OSError):
                requests.send(None)
        _drain([pipe for pipe in self._answers if not pipe.closed], workers)
        for pipe in [*self._requests, *self._answers]:
            pipe.close()
        for worker in workers:
            if worker.is_alive():
                worker.terminate()
            worker.join(JOIN_SECONDS)
        self._requests, self._answers = [], []

    def __del__(self) -> None:
        # A forked process gets a copy of this iterator, whose workers are not its own to stop.
        if self._workers and self._process_id == os.getpid():
            self._shutdown_workers()


def _drain(answers: list[Any], workers: list[Any]) -> None:
    """Throw answers away until the workers have ended, or had time enough: one that is sending cannot stop."""
    deadline = time.monotonic() + JOIN_SECONDS
    while alive := [worker.sentinel for worker in workers if worker.is_alive()]:
        ready = wait([*answers, *alive], max(0.0, deadline - time.monotonic()))
        if not ready:
            return
        for pipe in [pipe for pipe in answers if pipe in ready]:
            try:
                pipe.recv_bytes()
            except (EOFError, OSError):
                answers.remove(pipe)
