"""Blocked and threaded execution: the one place where kernels meet the processor's cores and caches.

NumPy's loops release the interpreter lock, so row blocks handed to a few threads run on all cores, and a chain
of ufuncs run block by block over rows that fit the second-level cache makes one trip through memory.
`parallel_rows` splits rows, `parallel_elements` splits elementwise chains, `parallel_tasks` takes a list of calls.
How many threads share some work is decided here (`threads_worth`), by what was measured on 16 cores: as many as pay.
Threads are created on first use, never at import; small inputs run inline on the calling thread.
Blocks run with floating-point warnings off, as overflow and nan are ordinary values to a tensor program.
"""

from __future__ import annotations

import itertools
import os
import threading
from contextlib import nullcontext
from time import monotonic
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.basics.quiet import restore, silence, use_short_buffer, warning_settings
from .memory import keep_freed_memory
from .thresholds import (
    BLOCK_BYTES,
    HEAD_START_BYTES,
    INLINE_BYTES,
    INLINE_ROW_BYTES,
    LONG_CALL_BYTES,
    MOST_BLAS_THREADS,
    MOST_THREADS,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PIECES = MOST_THREADS
"""Into how many pieces work is cut whose results depend on the cut: its shape decides, never the number of threads."""

REST_SECONDS = 1.0
"""After this time without work our threads are taken to be out of use."""

_thread_count: int | None = None
_last_shared = -REST_SECONDS
_pool: _Pool | None = None
_pool_lock = threading.Lock()
_local = threading.local()


def get_num_threads() -> int:
    """Number of threads used by large kernels, the calling thread included: OMP_NUM_THREADS, or all cores."""
    global _thread_count
    if _thread_count is None:
        wished = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
        if wished.isdecimal() and int(wished):
            _thread_count = int(wished)
        else:
            _thread_count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return _thread_count


def threads_to_share(most: int | None = MOST_THREADS) -> int:
    """How many threads a kernel may spread its work over: within a piece of such work, only the one it runs on.

    `most` is None for work of a few long calls, which all threads may share.
    """
    if getattr(_local, "inside", False):
        return 1
    count = get_num_threads()
    return count if most is None or count < most else most


def pieces_worth(work: int, share: int) -> int:
    """Pieces for `work` on any number of threads: two or PIECES, which two threads, too, can share evenly."""
    return 2 if work <= 2 * share else PIECES


def threads_worth(work: int, share: int, most: int | None = MOST_THREADS) -> int:
    """How many threads pay for `work`, if `share` of it keeps one busy for as long as waking it takes.

    Of work with `most` threads, a third and a fourth pay for four times as much: they wait for the interpreter as well.
    """
    count = -(-work // max(share, 1))
    if most is not None and count > 2:
        count = max(2, -(-work // max(4 * share, 1)))
    return min(threads_to_share(most), max(count, 1))


def set_num_threads(count: int) -> None:
    """Use `count` threads for large kernels; 1 keeps all work on the calling thread."""
    global _thread_count
    if isinstance(count, bool) or not isinstance(count, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(count).__name__}")
    if count < 1:
        raise RuntimeError(f"set_num_threads expects a positive integer, but got {count}")
    _thread_count = count


class _Job:
    """Blocks of one call, taken one after another by whichever thread is free."""

    def __init__(self, function: Callable[..., object], items: Sequence[tuple[Any, ...]]) -> None:
        self.function: Any = function
        self.items: Sequence[tuple[Any, ...]] = items
        # itertools.count is advanced in one step of the interpreter, so no lock is needed to share it.
        self.next_index = itertools.count().__next__
        self.failure: BaseException | None = None
        self.gate = threading.Lock()
        self.left = threading.Lock()  # free when the last helper has left a closed job
        self.left.acquire()
        self.helpers: int = 0
        self.closed: bool = False

    def work(self) -> None:
        """Run blocks until none is left or a thread has failed."""
        function, items = self.function, self.items
        total = len(items)
        try:
            while self.failure is None:
                index = self.next_index()
                if index >= total:
                    return
                function(*items[index])
        except BaseException as error:
            if self.failure is None:
                self.failure = error

    def help(self) -> None:
        """Work on the job from another thread, unless its owner has already finished without help."""
        with self.gate:
            if self.closed:
                return
            self.helpers += 1
        self.work()
        with self.gate:
            self.helpers -= 1
            if self.closed and not self.helpers:
                self.left.release()

    def close(self) -> None:
        """Turn late helpers away and wait for those inside, who still write into the owner's arrays."""
        while True:
            try:
                with self.gate:
                    self.closed = True
                    if not self.helpers:
                        self.function = None
                        return
                self.left.acquire()
            except BaseException as interruption:
                self.failure = interruption


class _Pool:
    """Daemon threads that wait for jobs; they belong to one process and are never joined."""

    def __init__(self) -> None:
        from queue import SimpleQueue

        self.process = os.getpid()
        self.size: int = 0
        self.jobs: SimpleQueue[_Job] = SimpleQueue()

    def grow(self, size: int) -> None:
        """Start threads until `size` of them wait for jobs."""
        while self.size < size:
            threading.Thread(target=self._serve, name=f"pullback-{self.size}", daemon=True).start()
            self.size += 1

    def _serve(self) -> None:
        _local.inside = True
        np.seterr(all="ignore")
        while True:
            job = self.jobs.get()
            job.help()
            # A waiting thread must not keep the arrays of its last job alive.
            del job


def _helpers(count: int) -> _Pool:
    """The pool of this process, with at least `count` threads (a fork leaves the parent's threads behind)."""
    global _pool
    with _pool_lock:
        if _pool is None or _pool.process != os.getpid():
            _pool = _Pool()
        _pool.grow(count)
        return _pool


def _forget_after_fork() -> None:
    global _pool, _pool_lock
    _pool = None
    # The locks may have been held by a thread that does not exist in the child.
    _pool_lock = threading.Lock()
    single_threaded_blas.begin_afresh()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


class _SingleThreadedBlas:
    """Keeps the BLAS that NumPy is linked with on the calling thread while pieces of a product run on ours.

    Two layers of threads wait for each other: products from several threads would queue for OpenBLAS's own pool.
    Only OpenBLAS is known here; with any other library entering does nothing, which is slower but never wrong.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.depth: int = 0
        self.saved: int = 1
        self.functions: tuple[Any, ...] | None = None

    def find(self) -> tuple[Any, ...]:
        """(getter, setter) of the library's thread count, found through NumPy's own extension module."""
        from .blas import library  # on first use, as all of this

        for name in ("scipy_openblas_%s64_", "scipy_openblas_%s", "openblas_%s64_", "openblas_%s"):
            if hasattr(library(), name % "get_num_threads"):
                return getattr(library(), name % "get_num_threads"), getattr(library(), name % "set_num_threads")
        return ()

    def begin_afresh(self) -> None:
        """Forget who is inside: they were threads of another process."""
        self.lock = threading.Lock()
        if self.depth and self.functions:
            self.functions[1](self.saved)
        self.depth = 0

    def known(self) -> bool:
        """True if entering has an effect."""
        if self.functions is None:
            self.functions = self.find()
        return bool(self.functions)

    def is_not_needed(self) -> bool:
        """True if the library may use a few threads of its own: as many as we would, while ours have nothing to do.

        They spin for some milliseconds after each product, ready for the next, but in the way of everybody else.
        """
        if monotonic() - _last_shared < REST_SECONDS or not self.known() or self.depth:
            return False
        return 1 < self.functions[0]() == get_num_threads() <= MOST_BLAS_THREADS  # type: ignore[index]

    def threads_for(self, count: int) -> _BlasThreads | None:
        """A context in which the library uses `count` threads of its own, more than ours would be of use; else None."""
        if count <= MOST_THREADS or not self.known() or self.depth or self.functions[0]() < count:  # type: ignore[index]
            return None
        return _BlasThreads(self, count)

    def __enter__(self) -> None:
        with self.lock:
            self.known()
            self.depth += 1
            if self.depth == 1 and self.functions:
                self.saved = self.functions[0]()
                self.functions[1](1)

    def __exit__(self, *exception: object) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0 and self.functions:
                self.functions[1](self.saved)


class _BlasThreads:
    """Lets BLAS use a number of its own threads for one product, if nobody holds it to one meanwhile."""

    def __init__(self, blas: _SingleThreadedBlas, count: int) -> None:
        self.blas, self.count = blas, count

    def _set(self, count: int) -> int:
        with self.blas.lock:
            getter, setter = self.blas.functions  # type: ignore[misc]
            before = getter()
            if not self.blas.depth and before != count:
                setter(count)
            return before

    def __enter__(self) -> None:
        self.before = self._set(self.count)

    def __exit__(self, *exception: object) -> None:
        self._set(self.before)


single_threaded_blas = _SingleThreadedBlas()


def parallel_tasks(
    function: Callable[..., object],
    arguments: Sequence[tuple[Any, ...]],
    *,
    products: bool = False,
    threads: int | None = None,
) -> None:
    """Call `function(*item)` for each item of `arguments`, on several threads; the first exception is raised here.

    `products` says that the calls spend their time in matrix products, whose library then must not thread as well.
    `threads` is how many pay, where the caller knows.
    """
    keep_freed_memory()
    helpers = min(threads_to_share() if threads is None else threads, len(arguments)) - 1
    with np.errstate(all="ignore"):
        with single_threaded_blas if products else nullcontext():
            if helpers > 0:
                _share(function, arguments, helpers)
            else:
                for item in arguments:
                    function(*item)


def _share(function: Callable[..., object], arguments: Sequence[tuple], helpers: int) -> None:
    global _last_shared
    _last_shared = monotonic()
    pool = _helpers(helpers)
    job = _Job(function, arguments)
    try:
        for _ in range(helpers):
            pool.jobs.put(job)
        _local.inside = True
        job.work()
    finally:
        _local.inside = False
        job.close()
    failure, job.failure = job.failure, None
    if failure is not None:
        # Its traceback holds this frame and the job's: both let go of the error, to leave no cycle.
        try:
            raise failure
        finally:
            del failure


def row_blocks(
    n_rows: int, bytes_per_row: int, block_bytes: int = BLOCK_BYTES, threads: int | None = None
) -> list[tuple[int, int]]:
    """Ranges (start, stop) of nearly equal length whose rows take about `block_bytes`, enough for every thread."""
    threads = threads_to_share() if threads is None else threads
    blocks = -(-n_rows * max(bytes_per_row, 1) // block_bytes)
    # Whole rounds: a last block left over would keep one thread busy while the others wait.
    blocks = min(n_rows, max(-(-blocks // threads), 1) * threads)
    # Blocks of single elements begin with a cache line, where the array does.
    return shares(n_rows, blocks, HEAD_START_BYTES // max(bytes_per_row, 1), 64 if n_rows > 1024 * blocks else 1)


def shares(length: int, count: int, head_start: int, multiple: int = 1) -> list[tuple[int, int]]:
    """`length` things in `count` ranges of equal size, but for the first, which the calling thread takes: it has more.

    All but the last are of a length divisible by `multiple`.
    """
    others = count - 1
    first = (length + others * min(head_start, length // (2 * count))) // count
    first = max(first // multiple, 1) * multiple
    if not others or first >= length:
        return [(0, length)]
    step = -(-(length - first) // others // multiple) * multiple
    return [(0, first), *((start, min(start + step, length)) for start in range(first, length, step))]


def parallel_rows(
    function: Callable[[int, int], object],
    n_rows: int,
    bytes_per_row: int,
    *,
    block_bytes: int = BLOCK_BYTES,
    inline_bytes: int = INLINE_ROW_BYTES,
    products: bool = False,
    long_calls: bool = False,
) -> None:
    """Call `function(start, stop)` over blocks of rows that cover `range(n_rows)`, on as many threads as pay.

    `bytes_per_row` counts everything a row touches (inputs, outputs and temporaries). Blocks must be independent.
    `long_calls` says that a block is a single call of NumPy's: then there may be more threads. With `products` blocks
    depend on the shape alone.
    """
    if n_rows * bytes_per_row <= inline_bytes or n_rows <= 1:
        if n_rows > 0:
            _run_here(function, n_rows, products)
        return
    work = n_rows * bytes_per_row
    threads = threads_worth(work, LONG_CALL_BYTES, None) if long_calls else threads_worth(work, inline_bytes)
    # BLAS sums the rows at the end of a block in another order, and sums over rows are added up block by block.
    blocks = row_blocks(n_rows, bytes_per_row, block_bytes, pieces_worth(work, inline_bytes) if products else threads)
    parallel_tasks(function, blocks, products=products, threads=threads)


def _run_here(function: Callable[[int, int], object], n_rows: int, products: bool) -> None:
    """`parallel_tasks` for one block of all rows."""
    keep_freed_memory()
    settings = warning_settings()
    try:
        silence()
        with single_threaded_blas if products else nullcontext():
            function(0, n_rows)
    finally:
        restore(settings)


def prepare_broadcast(row_length: int) -> None:
    """Called first in a block that combines a column with rows: keeps NumPy from expanding the column in its buffer.

    A ufunc copies a broadcast operand into the iteration buffer when a row is shorter than the buffer, which costs
    three times the operation itself. The setting ends with the block, together with the warnings' state.
    """
    use_short_buffer(row_length >= 192)  # below, a call of the inner loop for each row costs more


def flat_view(array: np.ndarray) -> np.ndarray | None:
    """One-dimensional view of the elements in memory order, or None where the array has gaps."""
    if array.flags.c_contiguous:
        return array.reshape(-1)
    if array.flags.f_contiguous:
        return array.T.reshape(-1)
    return None


def parallel_elements(
    chain: Callable[..., object],
    inputs: Sequence[np.ndarray],
    outputs: Sequence[np.ndarray],
    *,
    temporaries: int = 1,
    long_calls: bool = False,
) -> None:
    """Run an elementwise chain `chain(*input_blocks, *output_blocks)` over blocks of arrays of one shape.

    The chain writes its results into the output blocks; `temporaries` is how many blocks it allocates meanwhile, and
    `long_calls` says that it is a single function of NumPy's.
    Arrays of one memory layout are walked flat; otherwise the first axis is split and strides are left to NumPy.
    """
    arrays = [*inputs, *outputs]
    if outputs[0].ndim == 0:
        # Ufuncs give scalars for 0-d arrays, which a chain could not write into.
        arrays = [array.reshape(1) for array in arrays]
    size = outputs[0].size
    width = sum(array.itemsize for array in arrays) + temporaries * outputs[0].itemsize
    if size * width <= INLINE_BYTES:
        with np.errstate(all="ignore"):
            chain(*arrays)
        return
    strides = outputs[0].strides
    same = all(a.strides == strides and a.itemsize == outputs[0].itemsize for a in arrays)
    dense = same or all(a.flags.c_contiguous for a in arrays)
    flat: list[Any] = [flat_view(a) for a in arrays] if dense else arrays
    if any(a is None for a in flat):
        flat = arrays
    length = len(flat[0])
    block = width * (size // length)
    parallel_rows(
        lambda start, stop: chain(*[a[start:stop] for a in flat]),
        length,
        block,
        inline_bytes=INLINE_BYTES,
        long_calls=long_calls,
    )
