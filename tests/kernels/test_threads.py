"""The thread pool of large kernels: coverage, failures, interruption, fork, nesting, restored state."""

import gc
import math
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from pullback.kernels import products, threads


@pytest.fixture(autouse=True)
def two_threads(set_threads):
    set_threads(2)


@pytest.mark.parametrize("rows", [0, 1, 2, 3, 17, 1000, 4097])
@pytest.mark.parametrize("row_bytes", [0, 1, 4000, 10**7])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_blocks_cover_every_row_once(rows, row_bytes, count):
    threads.set_num_threads(count)
    seen = np.zeros(rows, int)

    def block(start, stop):
        assert start < stop
        seen[start:stop] += 1

    threads.parallel_rows(block, rows, row_bytes)
    assert (seen == 1).all()


@pytest.mark.parametrize("length", [0, 1, 2, 5, 33, 512, 524288])
@pytest.mark.parametrize("count", [1, 2, 3, 8])
@pytest.mark.parametrize("head_start", [0, 1, 10, 1 << 20])
@pytest.mark.parametrize("multiple", [1, 16])
def test_the_first_share_is_the_largest_and_all_are_dealt_out(length, count, head_start, multiple):
    ranges = threads.shares(length, count, head_start, multiple)
    assert ranges[0][0] == 0 and ranges[-1][1] == length and len(ranges) <= count
    assert all(stop == start for (_, stop), (start, _) in zip(ranges, ranges[1:], strict=False))
    sizes = [stop - start for start, stop in ranges]
    assert all(size % multiple == 0 for size in sizes[:-1])
    assert sizes[0] + multiple >= max(sizes)
    if length >= 4 * count * multiple and count > 1:
        wished = min(head_start, length // (2 * count))
        assert abs(sizes[0] - sizes[1] - wished) <= 2 * multiple + count


def test_small_input_stays_on_the_calling_thread():
    callers = []
    threads.parallel_rows(lambda start, stop: callers.append((start, stop, threading.get_ident())), 10, 100)
    assert callers == [(0, 10, threading.get_ident())]


def test_large_input_is_shared():
    callers = set()
    barrier = threading.Barrier(2, timeout=20)

    def task(number):
        barrier.wait()
        callers.add(threading.get_ident())

    threads.parallel_tasks(task, [(0,), (1,)])
    assert len(callers) == 2


@pytest.mark.parametrize("bad", [0, 7, 63])
def test_exception_reaches_the_caller_and_the_pool_survives(bad):
    def task(number):
        if number == bad:
            raise ValueError(f"task {number}")
        time.sleep(0.0005)

    with pytest.raises(ValueError, match=f"task {bad}"):
        threads.parallel_tasks(task, [(number,) for number in range(64)])
    test_large_input_is_shared()


def test_a_failure_leaves_no_reference_cycle():
    class Marker:
        alive = 0

        def __init__(self):
            Marker.alive += 1

        def __del__(self):
            Marker.alive -= 1

    def run():
        marker = Marker()

        def task(number):
            raise ValueError(marker.alive)

        try:
            threads.parallel_tasks(task, [(0,), (1,)])
        except ValueError:
            pass

    gc.disable()
    try:
        run()
        deadline = time.monotonic() + 5
        while Marker.alive and time.monotonic() < deadline:
            time.sleep(0.001)
        assert Marker.alive == 0
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs interval timers")
def test_interrupt_waits_for_helpers_and_is_raised():
    running = []

    def task(number):
        running.append(number)
        time.sleep(0.02)
        running.remove(number)

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            threads.parallel_tasks(task, [(number,) for number in range(500)])
    finally:
        signal.signal(signal.SIGALRM, before)
    # The interrupted call itself leaves its entry; no helper may still be at work.
    left = list(running)
    time.sleep(0.06)
    assert len(left) <= 1 and running == left


def test_nested_calls_run_inline():
    inner = []

    def task(number):
        def nested(other):
            inner.append((number, other, threading.get_ident()))

        threads.parallel_tasks(nested, [(0,), (1,), (2,)])

    threads.parallel_tasks(task, [(0,), (1,)])
    assert sorted(item[:2] for item in inner) == [(a, b) for a in (0, 1) for b in (0, 1, 2)]
    for number in (0, 1):
        assert len({item[2] for item in inner if item[0] == number}) == 1


def test_concurrent_callers_do_not_mix():
    results = {}

    def caller(name):
        out = np.zeros(2000)

        def block(start, stop):
            out[start:stop] = name

        for _ in range(20):
            threads.parallel_rows(block, 2000, 4000)
        results[name] = (out == name).all()

    callers = [threading.Thread(target=caller, args=(name,)) for name in (1, 2, 3)]
    for thread in callers:
        thread.start()
    for thread in callers:
        thread.join()
    assert results == {1: True, 2: True, 3: True}


def test_warnings_are_off_inside_and_numpy_state_is_restored():
    state, size = np.geterr(), np.getbufsize()

    def block(start, stop):
        threads.prepare_broadcast(1000)
        np.divide(np.ones(stop - start), 0)

    with np.errstate(all="raise"):
        inside = np.geterr()
        threads.parallel_rows(block, 10, 1)
        threads.parallel_rows(block, 4000, 4000)
        assert np.geterr() == inside and np.getbufsize() == size
    assert np.geterr() == state


def test_products_leave_the_blas_setting_as_it_was():
    functions = threads._SingleThreadedBlas().find()
    if not functions:
        pytest.skip("NumPy is not linked with OpenBLAS")
    before = functions[0]()
    during = []
    threads.parallel_tasks(lambda number: during.append(functions[0]()), [(0,), (1,)], products=True)
    assert set(during) == {1} and functions[0]() == before


def test_blas_may_use_threads_of_its_own_only_while_ours_rest(monkeypatch):
    blas = threads.single_threaded_blas
    monkeypatch.setattr(blas, "functions", (lambda: 2, lambda count: None))
    monkeypatch.setattr(threads, "_last_shared", -1e9)
    monkeypatch.setattr(threads, "_thread_count", 2)
    assert blas.is_not_needed()
    with blas:
        assert not blas.is_not_needed()
    threads.set_num_threads(3)  # not what BLAS would use
    assert not blas.is_not_needed()
    threads.set_num_threads(2)
    threads.parallel_tasks(lambda number: None, [(0,), (1,)])
    assert not blas.is_not_needed()
    monkeypatch.setattr(threads, "REST_SECONDS", 0.0)
    assert blas.is_not_needed()


@pytest.mark.parametrize(
    ("megabytes", "long_calls", "expected"),
    [(1, False, 1), (3, False, 2), (8, False, 2), (64, False, 4), (64, True, 8), (6, True, 2)],
)
def test_as_many_threads_work_as_pay(monkeypatch, megabytes, long_calls, expected):
    asked = [1]
    monkeypatch.setattr(threads, "_share", lambda function, arguments, helpers: asked.append(1 + helpers))
    threads.set_num_threads(8)
    threads.parallel_rows(lambda start, stop: None, megabytes << 4, 1 << 16, long_calls=long_calls)
    assert asked[-1] == expected


def test_a_piece_of_shared_work_is_not_shared_again():
    threads.set_num_threads(8)
    inner = []
    threads.parallel_tasks(
        lambda number: inner.append(threads.threads_worth(1 << 40, 1, None)), [(n,) for n in range(8)]
    )
    assert set(inner) == {1} and threads.threads_worth(1 << 40, 1, None) == 8


def test_large_products_are_left_to_blas_where_it_has_more_threads_than_ours_can_use(monkeypatch):
    blas, set_to = threads.single_threaded_blas, []
    monkeypatch.setattr(blas, "functions", (lambda: set_to[-1] if set_to else 16, set_to.append))
    assert blas.threads_for(threads.MOST_THREADS) is None  # ours compute it
    with blas.threads_for(8):
        assert set_to == [8]
    assert set_to == [8, 16]
    with blas:  # somebody's pieces are running
        assert blas.threads_for(8) is None
    monkeypatch.setattr(blas, "functions", (lambda: 1, set_to.append))
    assert blas.threads_for(8) is None  # it was told to use one


@pytest.mark.parametrize("count", [1, 2, 3, 6, 8])
@pytest.mark.parametrize("lead", [(16,), (3,), (4, 4), (2, 3, 5)])
def test_batches_are_dealt_out_evenly_and_completely(lead, count):
    pieces = products._batch_pieces(lead, 64, count, 1 << 30)
    done = np.zeros((*lead, 64), int)
    for piece in pieces:
        done[piece] += 1
    assert (done == 1).all()
    if math.prod(lead) % threads.PIECES == 0 or math.prod(lead) >= 4 * threads.PIECES:
        assert len(pieces) <= math.prod(lead)  # whole matrices
    if math.prod(lead) < 4 * threads.PIECES and math.prod(lead) % threads.PIECES:
        assert pieces == products._batch_pieces(lead, 64, 1, 1 << 30)  # the shape alone decides how matrices are cut


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_of_a_fork_has_its_own_threads():
    program = (
        "import os, sys, numpy as np\n"
        "from pullback.kernels import threads\n"
        "threads.set_num_threads(3)\n"
        "def total():\n"
        "    out = np.zeros(5000)\n"
        "    def block(a, b): out[a:b] = 1\n"
        "    threads.parallel_rows(block, 5000, 4000)\n"
        "    return out.sum()\n"
        "assert total() == 5000\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    os._exit(0 if total() == 5000 else 1)\n"
        "sys.exit(os.waitpid(child, 0)[1])\n"
    )
    assert subprocess.run([sys.executable, "-W", "ignore", "-c", program], timeout=60).returncode == 0


def test_import_starts_no_thread():
    program = (
        "import threading\nfrom pullback.kernels import threads\n"
        "assert threading.active_count() == 1 and threads._pool is None\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


@pytest.mark.parametrize("count", [0, -1])
def test_thread_count_must_be_positive(count):
    with pytest.raises(RuntimeError, match="positive"):
        threads.set_num_threads(count)
    with pytest.raises(TypeError):
        threads.set_num_threads(True)
